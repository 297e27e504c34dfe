//! `docs/drive-files.md` says everything about drive files, and nothing that is not so.

use std::collections::BTreeSet;
use std::fs;

use ssdlab_catalog::resolve;

const DOCUMENT: &str = include_str!("../../../../docs/drive-files.md");

fn documented(heading: &str) -> BTreeSet<String> {
    let section = DOCUMENT.split("\n## ").find(|section| section.starts_with(heading)).expect("the section is there");
    section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(key, _)| key.to_owned())
        .collect()
}

fn keys(value: &toml::Value, prefix: &str, into: &mut BTreeSet<String>) {
    for (key, value) in value.as_table().expect("a table") {
        if value.is_table() {
            keys(value, &format!("{prefix}{key}."), into);
        } else {
            into.insert(format!("{prefix}{key}"));
        }
    }
}

#[test]
fn every_key_of_a_drive_file_is_documented_and_no_other() {
    let mut spec = resolve("wd-black2-120gb").unwrap().spec;
    // Keys that are absent by default are there when set.
    spec.flash.exact_spare_per_10000 = Some(1);
    spec.mapping.map_cache_kib = Some(1);
    spec.gc.background_after_idle_ms = Some(1.0);
    spec.wear_levelling.static_spread_erases = Some(1);
    let mut cache = resolve("m600-128gb").unwrap().spec.slc_cache.unwrap();
    cache.capacity_gb = Some(1.0);
    cache.blocks_per_1000 = Some(1);
    cache.when_full = Some(ssdlab_ftl::WhenFull::Direct);
    cache.largest_write_kib = Some(16);
    spec.slc_cache = Some(cache);
    let mut ecc = resolve("m600-128gb").unwrap().spec.ecc.unwrap();
    (ecc.ldpc, ecc.parity_stripe) = (resolve("sm2256-500gb").unwrap().spec.ecc.unwrap().ldpc, Some(1));
    spec.ecc = Some(ecc);
    spec.compression = resolve("intel-530-240gb").unwrap().spec.compression;
    let mut real = BTreeSet::from(["base".to_owned()]);
    keys(&toml::Value::try_from(&spec).unwrap(), "", &mut real);
    assert_eq!(documented("Keys of a drive file"), real);
}

#[test]
fn every_key_of_a_die_file_is_documented_and_no_other() {
    let mut die = resolve("wd-black2-120gb").unwrap().die.spec;
    // Keys that only dies of three bits per cell have.
    die.modes.mlc.clone_from(&die.modes.slc);
    // What errs at one bit per cell errs at two and three by the same keys.
    let errors = ssdlab_nand::rber::ErrorSpec::planar_estimate();
    die.errors = Some(ssdlab_nand::rber::ErrorSpec { mlc: None, tlc: None, ..errors });
    let mut real = BTreeSet::from(["base".to_owned()]);
    keys(&toml::Value::try_from(&die).unwrap(), "", &mut real);
    assert_eq!(documented("Keys of a die file"), real);
}

#[test]
fn the_first_drive_of_one_s_own_can_be_built() {
    let example = DOCUMENT.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let path = std::env::temp_dir().join(format!("ssdlab-docs-{}.toml", std::process::id()));
    fs::write(&path, example).unwrap();
    let drive = resolve(path.to_str().unwrap());
    fs::remove_file(&path).unwrap();
    let drive = drive.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(drive.spec.flash.dies, 16);
}
