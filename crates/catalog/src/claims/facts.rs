//! What a drive file says, by key, for claims about how the drives are built.

use std::collections::BTreeMap;

use ssdlab_arrays::adapter_keys;
use ssdlab_core::nearest;
use ssdlab_disks::disk_keys;
use ssdlab_nand::die_keys;
use ssdlab_ssd::drive_keys;

use crate::device::Parts;
use crate::diagnostic::Diagnostic;
use crate::resolve::Drive;
use crate::template::DIE_PREFIX;

/// Values of the drive file, of its die file (with `die.` in front), and what follows from them:
///
/// - `die.nominal_gib`: capacity of one die without the surplus blocks;
/// - `nominal_over_provisioning_percent`: nominal flash beyond the capacity sold, in whole per cent;
/// - `encryption.locking`: `none` also of a drive that does not encrypt;
/// - `map_fits_dram`: whether four bytes for each 4 KiB of the capacity fit into the DRAM.
pub(crate) fn facts_of(drive: &Drive) -> BTreeMap<String, toml::Value> {
    let mut facts = BTreeMap::new();
    flatten(&toml::Value::try_from(&drive.spec), "", &mut facts);
    flatten(&toml::Value::try_from(&drive.die.spec), "die.", &mut facts);
    let g = &drive.die.spec.geometry;
    let blocks = u64::from(g.planes) * u64::from(g.blocks_per_plane);
    let die_bytes = nominal(blocks * u64::from(g.pages_per_block) * u64::from(g.page_bytes));
    let flash_bytes = die_bytes * u64::from(drive.spec.flash.dies);
    let capacity = drive.spec.capacity_bytes;
    let over = flash_bytes.saturating_sub(capacity) * 100 / capacity;
    let map_bytes = capacity / 4096 * 4;
    let fits = map_bytes <= u64::from(drive.spec.controller.dram_mib) << 20;
    let derived = [integer(die_bytes >> 30), integer(over), toml::Value::Boolean(fits)];
    for (key, value) in DERIVED.into_iter().zip(derived) {
        facts.insert(key.to_owned(), value);
    }
    facts.entry("encryption.locking".to_owned()).or_insert_with(|| "none".into());
    facts
}

/// What is no key of a file, in the order of [`facts_of`].
const DERIVED: [&str; 3] = ["die.nominal_gib", "nominal_over_provisioning_percent", "map_fits_dram"];

/// The drive whose file says facts.
///
/// # Errors
/// If there is no such device, or if it is no single SSD.
pub(super) fn drive_with_facts(device: &str) -> Result<Drive, Diagnostic> {
    match crate::device(device)?.parts {
        Parts::Ssd(drive) => Ok(*drive),
        _ => Err(Diagnostic::new(format!("{device} is no single SSD, and facts are of those"))
            .help("check a figure of a test instead")),
    }
}

/// Whether a drive can have such a fact.
///
/// # Errors
/// If none has, with the nearest.
pub(super) fn is_fact(key: &str) -> Result<(), Diagnostic> {
    let mut known = keys_of_drives();
    known.extend(DERIVED.map(str::to_owned));
    is_among(key, &known, "no drive has a fact", "facts are the keys of a drive file")
}

/// Whether a value can be chosen by this key of a drive's, a die's, a disk's or an adapter's file.
///
/// # Errors
/// If there is no such key, with the nearest.
pub(super) fn is_key(key: &str) -> Result<(), Diagnostic> {
    let mut known = keys_of_drives();
    known.extend([disk_keys(), adapter_keys()].into_iter().flat_map(|table| &table.keys).map(|k| k.path.clone()));
    is_among(key, &known, "no file has a key", "there are the keys of drive, disk and adapter files")
}

fn keys_of_drives() -> Vec<String> {
    let of_drive = drive_keys().keys.iter().map(|k| k.path.clone());
    of_drive.chain(die_keys().keys.iter().map(|k| format!("{DIE_PREFIX}{}", k.path))).collect()
}

fn is_among(key: &str, known: &[String], none: &str, which: &str) -> Result<(), Diagnostic> {
    if known.iter().any(|k| k == key) {
        return Ok(());
    }
    let close = nearest(key, known.iter().map(String::as_str));
    Err(Diagnostic::new(format!("{none} `{key}`")).help(if close.is_empty() {
        format!("{which}, and those of a die file with `die.` in front")
    } else {
        format!("did you mean `{}`?", close.join("` or `"))
    }))
}

/// Without the surplus blocks: dies come in powers of two, and in three halves of them (384 Gbit).
fn nominal(bytes: u64) -> u64 {
    let power = 1u64 << bytes.ilog2();
    if bytes >= power / 2 * 3 { power / 2 * 3 } else { power }
}

fn integer(value: u64) -> toml::Value {
    toml::Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

fn flatten(value: &Result<toml::Value, toml::ser::Error>, prefix: &str, facts: &mut BTreeMap<String, toml::Value>) {
    fn walk(table: &toml::Table, prefix: &str, facts: &mut BTreeMap<String, toml::Value>) {
        for (key, value) in table {
            match value {
                toml::Value::Table(inner) => walk(inner, &format!("{prefix}{key}."), facts),
                other => {
                    facts.insert(format!("{prefix}{key}"), other.clone());
                }
            }
        }
    }
    if let Ok(toml::Value::Table(table)) = value {
        walk(table, prefix, facts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::resolve;

    #[test]
    fn a_die_of_three_halves_is_whole_without_its_surplus() {
        let gib = |drive: &str| facts_of(&resolve(drive).unwrap())["die.nominal_gib"].as_integer().unwrap();
        assert_eq!(gib("600p-1tb"), 48, "384 Gbit");
        assert_eq!(gib("jmf667h-toshiba-128gb"), 8, "64 Gbit, and surplus blocks");
        assert_eq!([nominal(3 << 20), nominal((3 << 20) - 1), nominal((4 << 20) + 9)], [3 << 20, 2 << 20, 4 << 20]);
    }

    #[test]
    fn every_fact_is_one_that_drives_can_have() {
        for drive in ["600p-1tb", "mx100-256gb", "ideal-32die"] {
            for key in facts_of(&resolve(drive).unwrap()).keys() {
                is_fact(key).unwrap_or_else(|e| panic!("{drive}: {e}"));
            }
        }
        assert!(is_fact("gc.polcy").is_err_and(|e| e.help == ["did you mean `gc.policy`?"]));
    }
}
