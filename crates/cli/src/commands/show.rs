//! `ssdlab show`: every value of a drive or die type, with its source; estimates marked.

use serde_json::{Value, json};
use ssdlab_catalog::{Die, Drive, Origin, SpecRow, die, die_names, resolve};

use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::output::{print, print_json, table};

pub fn run(args: &ShowArgs) -> Result<(), Failure> {
    if die_names().any(|name| name == args.name) {
        let die = die(&args.name)?;
        return if args.json {
            print_json(&json!({"schema": "ssdlab.show/1", "die": die_json(&die)}))
        } else {
            print(&die_text(&die))
        };
    }
    let drive = resolve(&args.name)?;
    if args.json {
        print_json(&drive_json(&drive))
    } else {
        print(&format!("{}\n{}", drive_text(&drive), die_text(&drive.die)))
    }
}

fn drive_text(drive: &Drive) -> String {
    let title = format!("{}: {}\n", drive.name, drive.spec.description);
    title + &rows_text(&drive.rows)
}

fn die_text(die: &Die) -> String {
    let title = format!("{}: {}\n", die.name, die.spec.description);
    title + &rows_text(&die.rows)
}

/// Sections as in the file; the description is already the title.
fn rows_text(rows: &[SpecRow]) -> String {
    let mut lines = Vec::new();
    let mut section = "";
    for row in rows.iter().filter(|row| row.key != "description") {
        let (of_section, key) = row.key.rsplit_once('.').unwrap_or(("", &row.key));
        if of_section != section {
            section = of_section;
            lines.push(vec![format!("[{section}]")]);
        }
        let source = match &row.origin {
            Origin::Source(text) => text.clone(),
            Origin::Estimate(reason) => format!("ESTIMATE: {reason}"),
            Origin::Unstated => "source not stated".to_owned(),
        };
        lines.push(vec![format!("  {key}"), row.value.clone(), source]);
    }
    table(&lines)
}

fn drive_json(drive: &Drive) -> Value {
    json!({
        "schema": "ssdlab.show/1",
        "device": {
            "name": drive.name,
            "kind": "ssd",
            "description": drive.spec.description,
            "capacity_bytes": drive.spec.capacity_bytes,
        },
        "values": rows_json(&drive.rows),
        "die": die_json(&drive.die),
    })
}

fn die_json(die: &Die) -> Value {
    json!({
        "name": die.name,
        "description": die.spec.description,
        "values": rows_json(&die.rows),
    })
}

fn rows_json(rows: &[SpecRow]) -> Value {
    rows.iter()
        .map(|row| {
            let (source, estimate) = match &row.origin {
                Origin::Source(text) => (Some(text), false),
                Origin::Estimate(reason) => (Some(reason), true),
                Origin::Unstated => (None, false),
            };
            json!({"key": row.key, "value": row.value, "source": source, "estimate": estimate})
        })
        .collect()
}
