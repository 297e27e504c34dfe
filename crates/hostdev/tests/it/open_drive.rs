//! The bench on a real drive: requests, times, and what comes back.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::AtomicBool;

use ssdlab_bench::host::{Host, Job};
use ssdlab_bench::measure::Measurement;
use ssdlab_bench::{BenchError, HostError, Monitor};
use ssdlab_core::{MICROSECOND, MILLISECOND, Op, Rng, SECOND};
use ssdlab_device::{Device, Request, Status};
use ssdlab_workload::{AccessPattern, Mix, Pattern};

use crate::place::Place;

const MIB: u64 = 1 << 20;

/// Lets a test use an open drive of a file.
fn on_drive(name: &str, bytes: u64, test: impl FnOnce(&mut Host<'_>, &Place)) {
    let place = Place::new(name);
    let Some(drive) = place.drive("drive", bytes as usize, true) else { return };
    let (cancel, quiet) = (AtomicBool::new(false), |_: f64| {});
    let monitor = Monitor::new(&quiet, &cancel);
    let mut device = drive.open().unwrap();
    test(&mut Host::new(&mut *device, &monitor), &place);
}

fn source(pattern: &Pattern) -> AccessPattern {
    pattern.build(&Rng::new(1)).unwrap()
}

#[test]
fn a_mixed_load_balances_and_every_read_is_what_was_written() {
    on_drive("mixed", 8 * MIB, |host, place| {
        host.fill(0, 8 * MIB, 128 << 10, 32, &mut ()).unwrap();
        let job = |mix, depth| Job::new(source(&Pattern::random(mix, 8 * MIB, 4096)), depth).for_requests(3000);
        let mut jobs = [job(Mix::ReadWrite { read_percent: 50 }, 16), job(Mix::Write, 4)];
        let mut measured = Measurement::default();
        // Fails unless the requests in flight, over time, are the sum of the latencies.
        let run = host.run(&mut jobs, &mut measured).unwrap();
        assert_eq!(run.requests, 6000);
        assert!(measured.latency().min() > 0 && measured.latency().max() < 10 * SECOND);
        host.read_through(0, 8 * MIB, MIB, 8, &mut ()).unwrap();
        host.flush().unwrap();
        host.check_books().unwrap();
        let counters = host.counters().host;
        assert_eq!(counters.write_bytes + counters.read_bytes, 16 * MIB + 6000 * 4096);
        // Each sector of the file says whose it is.
        let file = fs::read(place.path("drive")).unwrap();
        for (k, sector) in file.chunks(512).enumerate() {
            assert_eq!(u64::from_le_bytes(sector[8..16].try_into().unwrap()), k as u64);
        }
    });
}

#[test]
fn a_drive_that_returns_something_else_fails_the_books() {
    on_drive("liar", MIB, |host, place| {
        host.fill(0, MIB, 4096, 4, &mut ()).unwrap();
        host.read_through(0, MIB, 4096, 4, &mut ()).unwrap();
        host.check_books().unwrap();
        let file = OpenOptions::new().write(true).open(place.path("drive")).unwrap();
        file.write_all_at(&[0; 512], 7 * 512).unwrap();
        file.sync_all().unwrap();
        host.read_through(0, MIB, 4096, 4, &mut ()).unwrap();
        let error = host.check_books().unwrap_err();
        let BenchError::Books(told) = &error else { panic!("{error}") };
        assert_eq!(told, "sector 7 did not return what was written to it");
    });
}

/// The wrong bytes have come, and nobody has looked at them, when the next request comes.
#[test]
fn a_wrong_read_that_is_followed_by_a_write_of_the_same_sectors_fails_the_books() {
    for (name, next) in
        [("followed", Request::write(3, 4096, 8192)), ("followed-elsewhere", Request::write(3, 0, 4096))]
    {
        let place = Place::new(name);
        let Some(drive) = place.drive("drive", MIB as usize, true) else { return };
        let mut device = drive.open().unwrap();
        let mut done = Vec::new();
        let mut ended = |device: &mut dyn Device, count: usize| {
            let mut now = 0;
            while done.len() < count {
                now = device.advance_to_completion(u64::MAX, &mut done);
            }
            now
        };
        device.submit(0, Request::write(1, 0, 16384)).unwrap();
        let now = ended(&mut *device, 1);
        let file = OpenOptions::new().write(true).open(place.path("drive")).unwrap();
        file.write_all_at(&[0; 512], 9 * 512).unwrap();
        file.sync_all().unwrap();
        device.submit(now, Request::read(2, 0, 8192)).unwrap();
        let now = ended(&mut *device, 2);
        device.submit(now, next).unwrap();
        ended(&mut *device, 3);
        assert_eq!(device.check_books(), Err("sector 9 did not return what was written to it".to_owned()));
    }
}

#[test]
fn a_read_beside_a_write_of_the_same_sectors_may_bring_either() {
    on_drive("beside", MIB, |host, _| {
        // Nothing is written before, so that each sector changes hands once, with reads of it under way.
        for first in (0..MIB).step_by(64 << 10) {
            let within = |mix| source(&Pattern::random(mix, 64 << 10, 4096).starting_at(first));
            let mut jobs = [Mix::Write, Mix::Read].map(|mix| Job::new(within(mix), 16).for_requests(64));
            host.run(&mut jobs, &mut ()).unwrap();
            host.check_books().unwrap();
        }
        host.read_through(0, MIB, 64 << 10, 4, &mut ()).unwrap();
        host.check_books().unwrap();
    });
}

#[test]
fn a_drive_that_ends_early_fails_the_request() {
    on_drive("short", MIB, |host, place| {
        OpenOptions::new().write(true).open(place.path("drive")).unwrap().set_len(MIB / 2).unwrap();
        host.read_through(0, MIB / 2, 4096, 1, &mut ()).unwrap();
        let error = host.read_through(MIB / 2, 4096, 4096, 1, &mut ()).unwrap_err();
        assert!(matches!(error, BenchError::Host(HostError::Failed { status: Status::Aborted, .. })), "{error}");
        assert!(error.to_string().contains("(0 of 4096 bytes only)"), "{error}");
    });
}

#[test]
fn time_is_the_machines() {
    on_drive("time", MIB, |host, _| {
        let began = host.device().clock().unwrap();
        host.idle(50 * MILLISECOND).unwrap();
        assert!(host.device().clock().unwrap() >= began + 50 * MILLISECOND);
        // What the host is busy with between two runs is no part of a request.
        std::thread::sleep(std::time::Duration::from_millis(300));
        let mut measured = Measurement::default();
        let job = Job::new(source(&Pattern::random(Mix::Read, MIB, 4096)), 1).for_nanos(100 * MILLISECOND);
        let run = host.run(&mut [job], &mut measured).unwrap();
        assert!(run.started >= began + 350 * MILLISECOND);
        assert!(run.ended - run.started >= 100 * MILLISECOND);
        assert!(measured.requests() > 0 && measured.latency().percentile(50.0) < 200 * MILLISECOND);
    });
}

/// Woken from its sleep, a thread is late by the slack of its timer at least, 50 us.
#[test]
fn a_wait_ends_when_it_is_due() {
    on_drive("due", MIB, |host, _| {
        let mut late: Vec<u64> = (0..40)
            .map(|_| {
                host.idle(MILLISECOND).unwrap();
                host.device().clock().unwrap() - host.now()
            })
            .collect();
        late.sort_unstable();
        // A busy machine makes some of them late.
        assert!(late[10] < 20 * MICROSECOND, "{late:?}");
    });
}

#[test]
fn more_requests_than_there_are_places_wait_for_one() {
    on_drive("many", 4 * MIB, |host, _| {
        let job = Job::new(source(&Pattern::random(Mix::Write, 4 * MIB, 4096)), 3000).for_requests(5000);
        let run = host.run(&mut [job], &mut ()).unwrap();
        assert_eq!((run.requests, host.counters().host.write_bytes), (5000, 5000 * 4096));
    });
}

#[test]
fn data_are_as_compressible_as_the_bench_asks() {
    on_drive("compressible", MIB, |host, place| {
        let zeroes = |place: &Place| {
            let file = fs::read(place.path("drive")).unwrap();
            file.iter().filter(|&&b| b == 0).count() * 100 / file.len()
        };
        host.fill(0, MIB, 64 << 10, 4, &mut ()).unwrap();
        assert!(zeroes(place) < 5, "{} % zeroes", zeroes(place));
        host.set_compressibility(75.0);
        host.fill(0, MIB, 64 << 10, 4, &mut ()).unwrap();
        assert!((70..80).contains(&zeroes(place)), "{} % zeroes", zeroes(place));
    });
}

#[test]
fn commands_that_wait_for_the_medium_are_taken() {
    let place = Place::new("fua");
    let Some(drive) = place.drive("drive", MIB as usize, true) else { return };
    let mut device = drive.open().unwrap();
    let mut done = Vec::new();
    device.submit(0, Request::write(1, 0, 4096).with_fua(true)).unwrap();
    device.submit(0, Request::flush(2)).unwrap();
    device.submit(0, Request::read(3, 8192, 512)).unwrap();
    while done.len() < 3 {
        device.advance_to_completion(u64::MAX, &mut done);
    }
    assert!(done.iter().all(|c| c.status == Status::Ok && c.completed > 0), "{done:?}");
    assert_eq!(done.iter().find(|c| c.op == Op::Read).map(|c| c.length_bytes), Some(512));
    assert_eq!(device.next_event(), None);
}

/// A host that is busy while its drive answers is told as soon as it looks, although the time that it asks about is over.
#[test]
fn what_has_ended_is_told_although_the_limit_has_passed() {
    let place = Place::new("passed");
    let Some(drive) = place.drive("drive", MIB as usize, true) else { return };
    let (mut device, mut done) = (drive.open().unwrap(), Vec::new());
    device.submit(0, Request::read(1, 0, 4096)).unwrap();
    for _ in 0..100 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        if device.advance_to_completion(1, &mut done) > 1 {
            break;
        }
    }
    assert!(done.len() == 1 && done[0].completed > 10 * MILLISECOND, "{done:?}");
}

#[test]
fn requests_in_flight_end_before_their_memory_is_given_up() {
    let place = Place::new("dropped");
    let Some(drive) = place.drive("drive", 4 << 20, true) else { return };
    for _ in 0..20 {
        let mut device = drive.open().unwrap();
        for tag in 0..64 {
            device.submit(0, Request::write(tag, tag * 65_536, 65_536)).unwrap();
        }
        device.advance(1, &mut Vec::new());
        drop(device);
    }
}
