//! Nothing is written without consent that names the drive.

use std::fs;
use std::path::Path;
use std::process::Command;

use ssdlab_device::{Refusal, Request};
use ssdlab_hostdev::{Consent, OpenError, RealDrive};

use crate::place::Place;

#[test]
fn consent_is_for_the_drive_that_it_names_by_whatever_path() {
    let place = Place::new("consent");
    let (drive, other, link) = (place.file("drive", 4096), place.file("other", 4096), place.path("link"));
    std::os::unix::fs::symlink(&drive, &link).unwrap();
    let hard = place.path("hard");
    fs::hard_link(&drive, &hard).unwrap();
    for named in [&drive, &link, &hard, &place.path("./drive")] {
        assert!(Consent::to_destroy(named).is_for(&drive), "{named:?}");
        assert!(Consent::to_destroy(named).is_for(&link), "{named:?}");
        assert!(!Consent::to_destroy(named).is_for(&other), "{named:?}");
    }
    let nowhere = place.path("nowhere");
    assert!(!Consent::to_destroy(&nowhere).is_for(&nowhere));
}

#[test]
fn consent_for_another_drive_is_none() {
    let place = Place::new("other-drive");
    if place.drive("usable", 4096, false).is_none() {
        return;
    }
    let (drive, other) = (place.file("drive", 4096), place.file("other", 4096));
    let refused = RealDrive::find(&drive, Some(&Consent::to_destroy(&other)));
    assert!(matches!(refused, Err(OpenError::OtherDrive { .. })), "{refused:?}");
}

#[test]
fn without_consent_every_command_that_changes_something_is_refused() {
    let place = Place::new("read-only");
    let Some(drive) = place.drive("drive", 1 << 20, false) else { return };
    assert!(!drive.is_writable() && !drive.begins_trimmed() && drive.info().read_only);
    let mut device = drive.open().unwrap();
    let refused = device.submit(0, Request::write(1, 0, 4096));
    assert!(matches!(refused, Err(Refusal::ReadOnly { .. })), "{refused:?}");
    assert!(device.submit(0, Request::trim(1, 0, 4096)).is_err());
    assert_eq!(device.submit(0, Request::read(1, 0, 4096)), Ok(()));
    drop(device);
    assert!(fs::read(place.path("drive")).unwrap().iter().all(|&b| b == 0xA5));
}

#[test]
fn what_is_no_drive_is_refused_by_what_it_is() {
    let place = Place::new("no-drive");
    let find = |path: &Path| RealDrive::find(path, None);
    assert!(matches!(find(&place.path("")), Err(OpenError::NoDrive { what: "a folder", .. })));
    assert!(matches!(find(&place.path("nowhere")), Err(OpenError::Open { .. })));
    assert!(matches!(find(Path::new("/dev/null")), Err(OpenError::NoDrive { .. })));
    if place.drive("whole", 4096, false).is_some() {
        assert!(matches!(find(&place.file("empty", 0)), Err(OpenError::Size { bytes: 0, .. })));
        assert!(matches!(find(&place.file("odd", 1000)), Err(OpenError::Size { bytes: 1000, .. })));
    }
}

#[test]
fn a_drive_that_is_written_is_nobody_elses() {
    let place = Place::new("alone");
    let Some(drive) = place.drive("drive", 1 << 20, true) else { return };
    let path = place.path("drive");
    let second = RealDrive::find(&path, Some(&Consent::to_destroy(&path)));
    assert!(matches!(second, Err(OpenError::InUse { .. })), "{second:?}");
    assert!(RealDrive::find(&path, None).is_err(), "not even for reading");
    drop(drive);
    assert!(RealDrive::find(&path, None).is_ok());
}

/// A loop device, until it goes.
struct Loop(String);

impl Loop {
    /// `None` where nobody may make one.
    fn of(path: &Path) -> Option<Loop> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(path).output().ok();
        let made = output.filter(|output| output.status.success());
        if made.is_none() {
            println!("left out: no loop device can be made");
        }
        made.map(|output| Loop(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        drop(Command::new("losetup").args(["--detach", &self.0]).output());
    }
}

#[test]
fn a_drive_behind_a_loop_device_is_in_use_whatever_became_of_its_name() {
    let place = Place::new("loop");
    if place.drive("drive", 1 << 20, false).is_none() {
        return;
    }
    let (path, other) = (place.path("drive"), place.path("other"));
    fs::hard_link(&path, &other).unwrap();
    let Some(device) = Loop::of(&other) else { return };
    fs::remove_file(&other).unwrap();
    let refused = RealDrive::find(&path, Some(&Consent::to_destroy(&path)));
    assert!(matches!(&refused, Err(OpenError::InUse { why, .. }) if why.contains(&device.0)), "{refused:?}");
    drop(device);
    assert!(RealDrive::find(&path, Some(&Consent::to_destroy(&path))).is_ok());
}

#[test]
fn a_drive_stays_the_one_that_was_found_whatever_its_path_leads_to_later() {
    let place = Place::new("swapped");
    let Some(drive) = place.drive("drive", 1 << 20, true) else { return };
    fs::rename(place.path("drive"), place.path("found")).unwrap();
    fs::write(place.path("drive"), vec![1; 1 << 20]).unwrap();
    let mut device = drive.open().unwrap();
    device.submit(0, Request::write(1, 0, 4096)).unwrap();
    device.advance_to_completion(u64::MAX, &mut Vec::new());
    assert!(fs::read(place.path("drive")).unwrap().iter().all(|&b| b == 1), "nobody has named it");
    assert!(fs::read(place.path("found")).unwrap().iter().any(|&b| b != 0xA5));
    fs::write(place.path("found"), vec![1; 2 << 20]).unwrap();
    assert!(matches!(drive.open().err(), Some(OpenError::Resized { .. })));
}
