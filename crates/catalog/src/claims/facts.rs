//! What a drive file says, by key, for claims about how the drives are built.

use std::collections::BTreeMap;

use crate::resolve::Drive;

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
    // Dies come in powers of two; what they have beyond is surplus.
    let die_bytes = 1u64 << (blocks * u64::from(g.pages_per_block) * u64::from(g.page_bytes)).ilog2();
    let flash_bytes = die_bytes * u64::from(drive.spec.flash.dies);
    let capacity = drive.spec.capacity_bytes;
    let over = flash_bytes.saturating_sub(capacity) * 100 / capacity;
    let map_bytes = capacity / 4096 * 4;
    let fits = map_bytes <= u64::from(drive.spec.controller.dram_mib) << 20;
    for (key, value) in [
        ("die.nominal_gib", integer(die_bytes >> 30)),
        ("nominal_over_provisioning_percent", integer(over)),
        ("map_fits_dram", toml::Value::Boolean(fits)),
    ] {
        facts.insert(key.to_owned(), value);
    }
    facts.entry("encryption.locking".to_owned()).or_insert_with(|| "none".into());
    facts
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
