//! What the parts of a drive did while the slowest request waited.

use ssdlab_bench::Monitor;
use ssdlab_bench::host::{Host, Job};
use ssdlab_bench::measure::Measurement;
use ssdlab_core::{MILLISECOND, Nanos, Rng};
use ssdlab_ssd::Ssd;
use ssdlab_testkit::{ideal_die, ideal_drive};
use ssdlab_workload::{Mix, Pattern};

/// Random writes for so long, at a depth at which they wait for each other.
fn slowest_of(duration: Nanos) -> (Measurement, Option<Nanos>) {
    let drive = ideal_drive();
    let mut ssd = Ssd::new("ideal", &drive, &ideal_die(), 1).expect("a valid drive");
    let monitor = Monitor::silent();
    let mut host = Host::new(&mut ssd, &monitor);
    assert!(host.watch_slowest());
    let source = Pattern::random(Mix::Write, drive.capacity_bytes, 4096).build(&Rng::new(1)).expect("a pattern");
    let mut measured = Measurement::default();
    host.run(&mut [Job::new(source, 256).for_nanos(duration)], &mut measured).expect("it ends");
    (measured, host.slowest_seen().map(|seen| seen.request.latency()))
}

/// What ends after the time of a run is waited for, and is in no report.
#[test]
fn the_slowest_request_is_one_that_was_measured() {
    assert_eq!(slowest_of(1).1, None);
    for milliseconds in 1..20 {
        let (measured, seen) = slowest_of(milliseconds * MILLISECOND);
        assert_eq!(seen, measured.slowest().first().map(|c| c.latency()), "{milliseconds} ms");
    }
}
