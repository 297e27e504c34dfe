//! `ssdlab show`: every value of a drive or die type, with its source; estimates marked.

use serde_json::{Value, json};
use ssdlab_catalog::{DeviceRecipe, Die, Drive, Origin, Parts, SpecRow, device, die, die_names};

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
    let recipe = device(&args.name)?;
    if args.json { print_json(&device_json(&recipe)) } else { print(&device_text(&recipe)) }
}

/// A drive and its die; of an array, the array and each kind of member once.
fn device_text(recipe: &DeviceRecipe) -> String {
    if let Parts::Ssd(drive) = &recipe.parts {
        return format!("{}\n{}", drive_text(drive), die_text(&drive.die));
    }
    let mut text = format!("{}: {}\n{}", recipe.name, recipe.description, rows_text(&recipe.rows()));
    let mut shown: Vec<&str> = Vec::new();
    for member in recipe.members() {
        if !shown.contains(&member.name.as_str()) {
            shown.push(&member.name);
            text.push('\n');
            text.push_str(&device_text(member));
        }
    }
    text
}

fn drive_text(drive: &Drive) -> String {
    let title = format!("{}: {}\n", drive.name, drive.spec.description);
    title + &rows_text(&drive.rows)
}

fn die_text(die: &Die) -> String {
    let title = format!("{}: {}\n", die.name, die.spec.description);
    title + &rows_text(&die.rows)
}

/// Keys as in the file, each section with its heading. The description is already the title.
fn rows_text(rows: &[SpecRow]) -> String {
    let rows: Vec<&SpecRow> = rows.iter().filter(|row| row.key != "description").collect();
    let cells = rows.iter().map(|row| {
        let source = match &row.origin {
            Origin::Source(text) => text.clone(),
            Origin::Estimate(reason) => format!("ESTIMATE: {reason}"),
            Origin::Unstated => "source not stated".to_owned(),
        };
        vec![format!("  {}", section_and_key(row).1), row.value.clone(), source]
    });
    let mut text = String::new();
    let mut present = "";
    for (row, line) in rows.iter().zip(table(&cells.collect::<Vec<_>>()).lines()) {
        let section = section_and_key(row).0;
        if section != present {
            text.push_str(&format!("[{section}] {}\n", row.section));
            present = section;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// The section of the file and the key in it. What stands in no file has none, though the name of a member may have dots.
fn section_and_key(row: &SpecRow) -> (&str, &str) {
    if row.section == "Ranges" {
        return ("", &row.key);
    }
    row.key.rsplit_once('.').unwrap_or(("", &row.key))
}

/// Every value of a device with its source, as `--json` prints them.
pub fn device_json(recipe: &DeviceRecipe) -> Value {
    if let Parts::Ssd(drive) = &recipe.parts {
        return drive_json(drive);
    }
    let members = recipe.counted_members().into_iter().map(|(count, member)| {
        let mut member = device_json(member);
        member["count"] = json!(count);
        member
    });
    json!({
        "schema": "ssdlab.show/1",
        "device": {
            "name": recipe.name,
            "kind": kind(recipe),
            "description": recipe.description,
            "capacity_bytes": recipe.capacity_bytes(),
        },
        "values": rows_json(&recipe.rows()),
        "members": members.collect::<Vec<Value>>(),
    })
}

/// As results.json has it.
fn kind(recipe: &DeviceRecipe) -> &'static str {
    match recipe.parts {
        Parts::Ssd(_) => "ssd",
        Parts::Disk(_) => "hdd",
        Parts::Raid0 { .. } | Parts::Adapter(..) | Parts::Ranges(_) => "array",
    }
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

#[cfg(test)]
mod tests {
    use ssdlab_catalog::{drive_names, resolve};

    use super::*;

    #[test]
    fn a_device_is_of_the_kind_that_results_have() {
        for name in ["m550-256gb", "spinpoint-f1-1tb", "a-data-and-spinpoint", "arc-1280ml(m550-256gb)"] {
            let recipe = device(name).unwrap();
            assert_eq!(device_json(&recipe)["device"]["kind"], recipe.build(1).unwrap().info().kind, "{name}");
        }
    }

    #[test]
    fn every_section_of_every_drive_and_die_has_its_heading() {
        let drives = drive_names().map(|name| drive_text(&resolve(name).unwrap()));
        let dies = die_names().map(|name| die_text(&die(name).unwrap()));
        for text in drives.chain(dies) {
            for line in text.lines().filter(|line| line.starts_with('[')) {
                let heading = line.split_once("] ").map_or("", |(_, heading)| heading);
                assert!(heading.starts_with(char::is_uppercase) && !heading.contains(['_', '.']), "{line}");
            }
        }
    }
}
