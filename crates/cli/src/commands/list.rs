//! `ssdlab list`: what there is.

use ssdlab_bench::suite::{COMMON_PARAMS, MetricDef, STANDARD_METRICS, TESTS, TestDef};
use ssdlab_bench::{Kind, ParamDef};
use ssdlab_catalog::{adapter, adapter_names, array_names, device, die, die_names, disk_names, drive_names};

use crate::args::{ListArgs, ListWhat};
use crate::failure::Failure;
use crate::output::{print, table};

pub fn run(args: &ListArgs) -> Result<(), Failure> {
    let text = match args.what {
        ListWhat::Devices => table(&devices()?),
        ListWhat::Adapters => table(&adapters()?),
        ListWhat::Tests => tests(),
        ListWhat::Nand => table(&dies()?),
    };
    print(&text)
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
    let row = |m: &MetricDef| vec![format!("  -> {} {}", m.key, m.unit), m.doc.to_owned()];
    table(&metrics.iter().map(row).collect::<Vec<_>>())
}
