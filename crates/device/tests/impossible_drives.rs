//! Drives whose parts do not fit together are refused with the key, the reason and what would be right.

use ssdlab_device::{DriveSpec, Ssd};
use ssdlab_nand::{DieSpec, SpecError};

fn drive() -> (DriveSpec, DieSpec) {
    let read =
        |path: &str| std::fs::read_to_string(format!("{}/../../catalog/{path}.toml", env!("CARGO_MANIFEST_DIR")));
    let drive = toml::from_str(&read("drives/ideal-32die").expect("a file")).expect("a drive");
    let die = toml::from_str(&read("nand/ideal").expect("a file")).expect("a die");
    (drive, die)
}

fn refused(change: impl FnOnce(&mut DriveSpec, &mut DieSpec)) -> SpecError {
    let (mut drive, mut die) = drive();
    drive.capacity_bytes = 1 << 30;
    assert!(Ssd::new("possible", &drive, &die, 1).is_ok());
    change(&mut drive, &mut die);
    Ssd::new("impossible", &drive, &die, 1).expect_err("it cannot be built")
}

#[test]
fn a_row_has_a_power_of_two_of_units() {
    let error = refused(|_, die| die.geometry.planes = 3);
    assert_eq!(error.key, "geometry.page_bytes");
}

#[test]
fn one_operation_of_the_collector_moves_no_more_than_it_can_count() {
    let error = refused(|drive, die| {
        (die.geometry.planes, die.geometry.page_bytes) = (4, 65_536);
        (drive.gc.rows_per_read, drive.write_buffer.capacity_kib) = (4, 4096);
    });
    assert_eq!((error.key.as_str(), error.expected.as_str()), ("gc.rows_per_read", "use at most 3"));
}

#[test]
fn the_write_buffer_holds_a_row() {
    let error = refused(|drive, die| {
        (die.geometry.planes, die.geometry.page_bytes) = (4, 65_536);
        drive.write_buffer.capacity_kib = 64;
    });
    assert_eq!((error.key.as_str(), error.expected.as_str()), ("write_buffer.capacity_kib", "use at least 256 KiB"));
}
