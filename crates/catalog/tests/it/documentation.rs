//! `docs/drive-files.md` says everything about drive files, and nothing that is not so.

use std::fs;

use ssdlab_arrays::adapter_keys;
use ssdlab_catalog::documentation::{File, with_tables};
use ssdlab_catalog::resolve;
use ssdlab_disks::disk_keys;
use ssdlab_keys::Kind;
use ssdlab_nand::die_keys;
use ssdlab_ssd::drive_keys;

const DOCUMENT: &str = include_str!("../../../../docs/drive-files.md");
const DISKS: &str = include_str!("../../../../docs/disks.md");
const ARRAYS: &str = include_str!("../../../../docs/arrays.md");

#[test]
fn the_tables_of_keys_are_those_of_the_declarations() {
    let now = with_tables(DOCUMENT, &[File::Drive, File::Die]);
    assert!(now == DOCUMENT, "docs/drive-files.md is not what `make keys` writes");
    assert!(with_tables(ARRAYS, &[File::Adapter]) == ARRAYS, "docs/arrays.md is not what `make keys` writes");
    assert!(with_tables(DISKS, &[File::Disk]) == DISKS, "docs/disks.md is not what `make keys` writes");
}

#[test]
fn the_published_schemas_are_those_of_the_declarations() {
    let published = [
        (File::Drive, include_str!("../../../../docs/schema/drive.json")),
        (File::Die, include_str!("../../../../docs/schema/die.json")),
        (File::Disk, include_str!("../../../../docs/schema/disk.json")),
        (File::Adapter, include_str!("../../../../docs/schema/adapter.json")),
    ];
    for (file, text) in published {
        let now = serde_json::to_string_pretty(&file.schema()).unwrap() + "\n";
        assert!(now == text, "docs/schema is not what `make keys` writes for {file:?}");
    }
}

#[test]
fn every_key_is_declared_with_all_that_is_told_of_it() {
    for table in [drive_keys(), die_keys(), disk_keys(), adapter_keys()] {
        for section in table.sections.iter().filter(|s| !s.path.is_empty()) {
            let has_keys = table.keys.iter().any(|key| key.split().0 == section.path);
            assert!(!has_keys || section.required || !section.doc.is_empty(), "[{}] has no meaning", section.path);
        }
        for key in &table.keys {
            let bounded = key.range.most.is_some() || !key.range.one_of.is_empty();
            assert!(key.doc.ends_with('.'), "{}: `{}` is no sentence", key.path, key.doc);
            assert!(!key.doc.contains("]("), "{}: links lead nowhere outside of Rust", key.path);
            assert!(!matches!(&key.kind, Kind::Number) || bounded, "{} can be any number", key.path);
            assert!(!key.heading.is_empty() && !key.heading.contains('_'), "{}: `{}`", key.path, key.heading);
        }
    }
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
