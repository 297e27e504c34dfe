//! The drives of `examples/drives`, and the dies beside them.

use std::path::{Path, PathBuf};

use ssdlab_catalog::{DeviceRecipe, Origin, Parts, SpecRow, device};
use ssdlab_device::Request;

/// Their files, by name.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/drives");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    files
}

#[test]
fn every_value_of_every_example_has_a_source_or_a_reason() {
    for file in files() {
        let recipe = device(&file.to_string_lossy()).unwrap_or_else(|e| panic!("{e}"));
        let Parts::Ssd(drive) = &recipe.parts else { panic!("{recipe:?}") };
        let said = |row: &SpecRow| match &row.origin {
            Origin::Source(text) | Origin::Estimate(text) => text.len() >= 5,
            Origin::Unstated => false,
        };
        let rows = drive.rows.iter().chain(&drive.die.rows);
        for row in rows.filter(|row| row.key != "description") {
            assert!(said(row), "{}: {} has neither", file.display(), row.key);
        }
    }
}

#[test]
fn every_example_takes_writes_and_gives_them_back() {
    for file in files() {
        let whole = device(&file.to_string_lossy()).unwrap_or_else(|e| panic!("{e}"));
        let small = whole.small(8).unwrap_or_else(|| panic!("{} cannot be made small", file.display()));
        let mut drive = small.build(1).unwrap_or_else(|e| panic!("{e}"));
        let (mut now, mut done) = (0, Vec::new());
        for round in 0..256 {
            let request = if round % 2 == 0 { Request::write } else { Request::read };
            drive.submit(now, request(round, (round / 2) << 20, 1 << 20)).unwrap();
            now = drive.advance_to_completion(u64::MAX, &mut done).max(now);
        }
        assert_eq!((done.len(), drive.check_books()), (256, Ok(())), "{}", file.display());
    }
}

/// As many drive writes warm it as far.
#[test]
fn a_drive_in_small_gets_as_hot() {
    let file = files().into_iter().find(|file| file.ends_with("m600-256gb-m2-hot.toml")).expect("it is an example");
    let whole = device(&file.to_string_lossy()).unwrap_or_else(|e| panic!("{e}"));
    let after = |recipe: &DeviceRecipe, seconds: u64| {
        let mut drive = recipe.build(1).unwrap_or_else(|e| panic!("{e}"));
        let (mut now, mut done, mut at) = (0, Vec::new(), 0);
        while now < seconds * 1_000_000_000 {
            drive.submit(now, Request::write(0, at, 131_072)).unwrap();
            now = drive.advance_to_completion(u64::MAX, &mut done);
            at = (at + 131_072) % (drive.info().capacity_bytes / 131_072 * 131_072);
            done.clear();
        }
        drive.celsius().expect("it has a sensor")
    };
    let small = whole.small(8).expect("it can be made small");
    for seconds in [16, 48, 160] {
        let (of_whole, of_small) = (after(&whole, seconds), after(&small, seconds / 8));
        assert!((of_whole - of_small).abs() < 1.0, "after {seconds} s {of_whole} °C, and in small {of_small}");
    }
}
