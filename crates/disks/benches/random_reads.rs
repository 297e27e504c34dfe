//! How fast the simulation is: 4 KiB reads at random over a SpinPoint F1, one at a time and 32 at a time, in millions a
//! second of processor time. `cargo bench -p ssdlab-disks`.

use ssdlab_core::{Nanos, Rng};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_disks::Disk;

const READS: u64 = 4_000_000;

fn main() {
    let spec = ssdlab_catalog::disk("spinpoint-f1-1tb").unwrap_or_else(|e| panic!("{e}")).spec;
    for depth in [1, 32, 1, 32] {
        let mut disk = Disk::new("spinpoint-f1-1tb", spec.clone(), 1).expect("a disk of the catalog");
        let began = processor_seconds();
        let simulated = reads(&mut disk, depth);
        let seconds = processor_seconds() - began;
        let (rate, mean) = (READS as f64 / seconds / 1e6, simulated as f64 / READS as f64 / 1e6);
        println!("queue depth {depth:>2}: {rate:>5.2} million reads a second; {mean:.3} ms a read in the disk's time");
    }
}

fn reads(disk: &mut Disk, depth: u64) -> Nanos {
    let pages = disk.info().capacity_bytes / 4096;
    let mut rng = Rng::new(1).stream("reads");
    let (mut now, mut sent, mut done) = (0, 0, Vec::<Completion>::with_capacity(64));
    let mut send = |disk: &mut Disk, now: Nanos| {
        if sent < READS {
            disk.submit(now, Request::read(sent, rng.below(pages) * 4096, 4096)).expect("a read within the disk");
            sent += 1;
        }
    };
    (0..depth).for_each(|_| send(disk, now));
    let mut ended = 0;
    while ended < READS {
        now = disk.advance_to_completion(Nanos::MAX, &mut done);
        ended += done.len() as u64;
        for _ in done.drain(..) {
            send(disk, now);
        }
    }
    now
}

/// Seconds that this thread has had a processor for.
#[cfg(unix)]
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `time` and nothing else.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert!(result == 0, "the processor time of a thread can be read");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Seconds of the wall clock, where threads have no clock of their own that is known here.
#[cfg(not(unix))]
#[expect(clippy::disallowed_methods, reason = "a benchmark is about the wall clock")]
fn processor_seconds() -> f64 {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed().as_secs_f64()
}
