//! `ssdlab list`: what there is.

use serde_json::{Value, json};
use ssdlab_bench::suite::{COMMON_PARAMS, MetricDef, STALL_METRICS, STANDARD_METRICS, TESTS, TestDef};
use ssdlab_bench::{Kind, ParamDef};
use ssdlab_catalog::{adapter, adapter_names, array_names, device, die, die_names, disk_names, drive_names};

use crate::args::{ListArgs, ListWhat};
use crate::failure::Failure;
use crate::output::{print, print_json, table};

pub fn run(args: &ListArgs) -> Result<(), Failure> {
    if args.json {
        return print_json(&document(args.what)?);
    }
    let text = match args.what {
        ListWhat::Devices => table(&devices()?),
        ListWhat::Adapters => table(&adapters()?),
        ListWhat::Tests => tests(),
        ListWhat::Nand => table(&dies()?),
    };
    print(&text)
}

/// What there is, as `--json` prints it.
///
/// # Errors
/// If a file of the catalog cannot be read.
pub fn document(what: ListWhat) -> Result<Value, Failure> {
    Ok(match what {
        ListWhat::Devices => json!({ "schema": SCHEMA, "devices": devices_json()? }),
        ListWhat::Tests => tests_json(),
        ListWhat::Adapters => json!({ "schema": SCHEMA, "adapters": adapters_json()? }),
        ListWhat::Nand => json!({ "schema": SCHEMA, "dies": dies_json()? }),
    })
}

/// Name and version of the shape of the document.
const SCHEMA: &str = "ssdlab.list/1";

fn devices_json() -> Result<Vec<Value>, Failure> {
    let names = drive_names().chain(disk_names()).chain(array_names());
    names
        .map(|name| {
            let device = device(name)?;
            let (capacity, description) = (device.capacity_bytes(), device.description);
            Ok(json!({ "name": name, "capacity_bytes": capacity, "description": description }))
        })
        .collect()
}

fn adapters_json() -> Result<Vec<Value>, Failure> {
    adapter_names()
        .map(|name| {
            let spec = adapter(name).expect("names of the catalog are in the catalog")?.spec;
            let cache = spec.cache.as_ref().map(|cache| cache.capacity_mib);
            Ok(json!({ "name": name, "ports": spec.ports, "cache_mib": cache, "description": spec.description }))
        })
        .collect()
}

fn dies_json() -> Result<Vec<Value>, Failure> {
    die_names()
        .map(|name| {
            let die = die(name)?;
            let g = &die.spec.geometry;
            let description = &die.spec.description;
            Ok(json!({ "name": name, "planes": g.planes, "page_bytes": g.page_bytes, "description": description }))
        })
        .collect()
}

fn tests_json() -> Value {
    let params = |params: &[ParamDef]| -> Vec<Value> {
        let choices = |p: &ParamDef| match p.kind {
            Kind::Choice(choices) => json!(choices),
            _ => Value::Null,
        };
        let one = |p: &ParamDef| json!({ "key": p.key, "default": p.default, "unit": p.unit, "choices": choices(p), "meaning": p.doc });
        params.iter().map(one).collect()
    };
    let metrics = |metrics: &[MetricDef]| -> Vec<Value> {
        metrics
            .iter()
            .map(|m| json!({ "key": m.key, "unit": m.unit, "meaning": m.doc, "likewise": m.likewise }))
            .collect()
    };
    let test = |t: &&TestDef| {
        let variants: Vec<Value> = t
            .variants
            .iter()
            .map(|v| json!({ "name": v.name, "settings": v.settings(), "in_review": v.in_review }))
            .collect();
        json!({
            "name": t.name, "title": t.title, "summary": t.summary, "variants": variants,
            "parameters": params(t.params), "metrics": metrics(t.metrics),
        })
    };
    json!({
        "schema": SCHEMA,
        "tests": TESTS.iter().map(test).collect::<Vec<_>>(),
        "parameters": params(COMMON_PARAMS),
        "metrics": metrics(STANDARD_METRICS),
        "stall_metrics": metrics(STALL_METRICS),
    })
}

fn devices() -> Result<Vec<Vec<String>>, Failure> {
    drive_names()
        .chain(disk_names())
        .chain(array_names())
        .map(|name| {
            let device = device(name)?;
            Ok(vec![name.to_owned(), format!("{:.1} GB", device.capacity_bytes() as f64 / 1e9), device.description])
        })
        .collect()
}

fn adapters() -> Result<Vec<Vec<String>>, Failure> {
    adapter_names()
        .map(|name| {
            let adapter = adapter(name).expect("names of the catalog are in the catalog")?;
            let spec = adapter.spec;
            let cache = match &spec.cache {
                Some(cache) => format!("{} MiB of cache", cache.capacity_mib),
                None => "no cache".to_owned(),
            };
            let ports = format!("{} port(s)", spec.ports);
            Ok(vec![name.to_owned(), ports, cache, spec.description])
        })
        .collect()
}

fn dies() -> Result<Vec<Vec<String>>, Failure> {
    die_names()
        .map(|name| {
            let die = die(name)?;
            let g = &die.spec.geometry;
            Ok(vec![
                name.to_owned(),
                format!("{} plane(s)", g.planes),
                format!("{} KiB pages", g.page_bytes / 1024),
                die.spec.description,
            ])
        })
        .collect()
}

/// Every test with its parameters and the figures that it adds to the usual ones.
fn tests() -> String {
    let names: Vec<Vec<String>> = TESTS.iter().map(|t| vec![t.name.to_owned(), t.title.to_owned()]).collect();
    let mut text = table(&names);
    for test in TESTS {
        text.push_str(&test_text(test));
    }
    text.push_str("\nevery test takes\n");
    text.push_str(&params(COMMON_PARAMS));
    text.push_str("\nevery test measures, where it applies\n");
    text.push_str(&metrics(STANDARD_METRICS));
    text.push_str("\ntests that look for stalls measure\n");
    text.push_str(&metrics(STALL_METRICS));
    text
}

fn test_text(test: &TestDef) -> String {
    let mut text = format!("\n{}: {}\n", test.name, test.summary);
    for variant in test.variants.iter().filter(|v| !v.name.is_empty()) {
        let settings: Vec<String> = variant.settings.iter().map(|(k, v)| format!("--set {k}={v}")).collect();
        let when = if variant.in_review { "in a review" } else { "on request" };
        text.push_str(format!("  {when}: {}  {}", variant.name, settings.join(" ")).trim_end());
        text.push('\n');
    }
    text.push_str(&params(test.params));
    text.push_str(&metrics(test.metrics));
    text
}

fn params(params: &[ParamDef]) -> String {
    let row = |p: &ParamDef| {
        let choices = match p.kind {
            Kind::Choice(choices) => format!("; one of {}", choices.join(", ")),
            _ => String::new(),
        };
        let default = format!("{}={} {}", p.key, p.default, p.unit);
        vec![format!("  {}", default.trim_end()), format!("{}{choices}", p.doc)]
    };
    table(&params.iter().map(row).collect::<Vec<_>>())
}

fn metrics(metrics: &[MetricDef]) -> String {
    let row = |m: &MetricDef| vec![format!("  -> {} {}", m.key, m.unit), m.meaning()];
    table(&metrics.iter().map(row).collect::<Vec<_>>())
}
