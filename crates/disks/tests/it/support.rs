//! Hosts for the tests.

use ssdlab_core::{Nanos, Rng, SECTOR_BYTES};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_disks::{Disk, DiskSpec};

/// The first seed will do wherever none is asked for.
pub fn build(spec: DiskSpec) -> Disk {
    Disk::new("d", spec, 1).unwrap_or_else(|e| panic!("{e}"))
}

pub fn of_catalog(name: &str) -> DiskSpec {
    ssdlab_catalog::disk(name).unwrap_or_else(|e| panic!("{e}")).spec
}

/// Commands of one sector anywhere on the disk.
pub fn anywhere(disk: &Disk, seed: u64, write: bool) -> impl Iterator<Item = Request> + use<> {
    let sectors = disk.info().capacity_bytes / SECTOR_BYTES;
    let mut rng = Rng::new(seed).stream("anywhere");
    (0..).map(move |tag| {
        let at = rng.below(sectors) * SECTOR_BYTES;
        if write { Request::write(tag, at, SECTOR_BYTES) } else { Request::read(tag, at, SECTOR_BYTES) }
    })
}

/// Keeps `depth` commands in the disk until `count` have ended. Returns them, in the order of their ends.
pub fn keep_busy(
    disk: &mut Disk,
    from: Nanos,
    depth: usize,
    count: usize,
    mut requests: impl Iterator<Item = Request>,
) -> Vec<Completion> {
    let mut all = Vec::with_capacity(count + depth);
    for request in requests.by_ref().take(depth) {
        disk.submit(from, request).expect("a command within the disk");
    }
    let mut done = Vec::new();
    while all.len() < count {
        let now = disk.advance_to_completion(Nanos::MAX, &mut done);
        assert!(!done.is_empty(), "commands wait for ever");
        for completion in done.drain(..) {
            all.push(completion);
            if let Some(request) = requests.next() {
                disk.submit(now, request).expect("a command within the disk");
            }
        }
    }
    disk.check_books().unwrap_or_else(|e| panic!("{e}"));
    all
}

/// Lets the disk finish what it does; returns when it is at rest.
pub fn rest(disk: &mut Disk) -> Nanos {
    let (mut done, mut now) = (Vec::new(), 0);
    while let Some(at) = disk.next_event() {
        disk.advance(at, &mut done);
        now = at;
    }
    now
}

pub fn mean_ms(completions: &[Completion]) -> f64 {
    completions.iter().map(|c| c.latency() as f64).sum::<f64>() / completions.len() as f64 / 1e6
}
