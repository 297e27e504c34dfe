//! A simulated drive as any device: what it refuses, and what a copy of it does.

use std::num::NonZeroU32;

use ssdlab_core::{Nanos, Op, SECOND};
use ssdlab_device::{Device, PayloadId, Refusal, Request};
use ssdlab_ssd::{DriveSpec, Ssd};
use ssdlab_testkit::ideal_die;

const CAPACITY_BYTES: u64 = 8 << 20;

fn drive() -> Ssd {
    let mut die = ideal_die();
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (60, 16);
    Ssd::new("small", &DriveSpec::plain("ideal", 4, CAPACITY_BYTES), &die, 1).expect("it is valid")
}

#[test]
fn a_drive_without_trim_says_so_and_refuses_it() {
    let mut die = ideal_die();
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (60, 16);
    let spec = DriveSpec { supports_trim: false, ..DriveSpec::plain("ideal", 4, CAPACITY_BYTES) };
    let mut drive = Ssd::new("small", &spec, &die, 1).expect("it is valid");
    assert!(!drive.info().supports_trim);
    assert_eq!(drive.submit(0, Request::trim(1, 0, 4096)), Err(Refusal::Unsupported { op: Op::Trim }));
}

#[test]
fn a_command_that_is_refused_has_not_happened() {
    let mut drive = drive();
    drive.advance(SECOND, &mut Vec::new());
    let before = (drive.counters(), drive.next_event());
    let payload = PayloadId(NonZeroU32::MIN);
    for (request, rule) in [
        (Request::read(1, 0, 0), Refusal::Empty { op: Op::Read, offset_bytes: 0 }),
        (
            Request::write(1, 100, 512),
            Refusal::NotWholeSectors { op: Op::Write, offset_bytes: 100, length_bytes: 512, sector_bytes: 512 },
        ),
        (
            Request::trim(1, CAPACITY_BYTES, 512),
            Refusal::BeyondCapacity {
                op: Op::Trim,
                offset_bytes: CAPACITY_BYTES,
                length_bytes: 512,
                capacity_bytes: CAPACITY_BYTES,
            },
        ),
        (Request::write(1, 0, 512).with_stream(1), Refusal::NoSuchStream { stream: 1, streams: 1 }),
        (Request::write_zeroes(1, 0, 512), Refusal::Unsupported { op: Op::WriteZeroes }),
        (Request::write(1, 0, 512).with_payload(payload), Refusal::NoContents { op: Op::Write, offset_bytes: 0 }),
    ] {
        assert_eq!(drive.submit(SECOND, request), Err(rule));
        assert_eq!((drive.counters(), drive.next_event()), before, "{request:?}");
    }
    assert_eq!(drive.submit(SECOND, Request::flush(2)), Ok(()));
    let mut done = Vec::new();
    drive.advance_to_completion(Nanos::MAX, &mut done);
    assert_eq!(done.iter().map(|c| c.tag).collect::<Vec<_>>(), [2]);
    assert_eq!(drive.check_books(), Ok(()));
}

#[test]
fn a_snapshot_goes_on_as_the_drive_does_and_neither_disturbs_the_other() {
    let mut drive = drive();
    for tag in 0..64 {
        drive.submit(0, Request::write(tag, tag * 65_536, 65_536)).unwrap();
    }
    let mut before = Vec::new();
    drive.advance_to_completion(Nanos::MAX, &mut before);
    let mut copy = Device::snapshot(&drive).expect("a simulated drive can be copied");
    let (mut own, mut copied) = (Vec::new(), Vec::new());
    drive.advance(SECOND, &mut own);
    copy.advance(SECOND, &mut copied);
    assert_eq!((own.len() + before.len(), &own), (64, &copied));
    assert_eq!(drive.counters(), copy.counters());
    copy.submit(SECOND, Request::trim(99, 0, CAPACITY_BYTES)).unwrap();
    copy.advance(2 * SECOND, &mut copied);
    assert_eq!((copy.counters().host.trim_bytes, drive.counters().host.trim_bytes), (CAPACITY_BYTES, 0));
    assert_eq!((drive.check_books(), copy.check_books()), (Ok(()), Ok(())));
}
