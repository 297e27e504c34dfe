//! What is published of the disks of the catalog, beside what they do here: `cargo run --release -p ssdlab-disks
//! --example published`.

use ssdlab_core::{MILLISECOND, Nanos, Rng, SECOND, SECTOR_BYTES};
use ssdlab_device::{Completion, Device, Request};

/// WinBench, which measured the reads, counts thousands of bytes by the 1,024.
const WINBENCH: f64 = 1.024;
/// What measured the writes counts 1,048,576 bytes a megabyte (docs/disks.md says why that is thought).
const WRITES: f64 = 1.048576;

fn disk(name: &str) -> Box<dyn Device> {
    ssdlab_catalog::disk(name).unwrap_or_else(|e| panic!("{e}")).build(1).unwrap_or_else(|e| panic!("{e}"))
}

/// One command after the other, each sent when the one before has ended; the time of the last end.
fn one_by_one(disk: &mut dyn Device, from: Nanos, requests: impl Iterator<Item = Request>) -> (Nanos, Vec<Nanos>) {
    let (mut now, mut latencies, mut done) = (from, Vec::new(), Vec::<Completion>::new());
    for request in requests {
        disk.submit(now, request).expect("a command within the disk");
        done.clear();
        now = disk.advance_to_completion(Nanos::MAX, &mut done);
        latencies.push(done[0].latency());
    }
    disk.check_books().expect("books that balance");
    (now, latencies)
}

/// Decimal MB/s of sequential commands of 64 KiB, one at a time, over 128 MiB from `at`; and when the last one ended.
fn sequential(disk: &mut dyn Device, now: Nanos, at: u64, write: bool) -> (f64, Nanos) {
    const BLOCK: u64 = 64 << 10;
    const BYTES: u64 = 128 << 20;
    let at = at.min(disk.info().capacity_bytes - BYTES) / SECTOR_BYTES * SECTOR_BYTES;
    let request = |i: u64| match write {
        true => Request::write(i, at + i * BLOCK, BLOCK),
        false => Request::read(i, at + i * BLOCK, BLOCK),
    };
    // The first half fills the cache.
    let (begins, _) = one_by_one(disk, now, (0..BYTES / BLOCK / 2).map(request));
    let (ends, _) = one_by_one(disk, begins, (BYTES / BLOCK / 2..BYTES / BLOCK).map(request));
    ((BYTES / 2) as f64 / 1e6 / ((ends - begins) as f64 / SECOND as f64), ends)
}

/// Mean of 64 rates, over the whole disk.
fn over_the_disk(disk: &mut dyn Device) -> f64 {
    let capacity = disk.info().capacity_bytes;
    let (mut now, mut sum) = (0, 0.0);
    for i in 0..64 {
        let (rate, ends) = sequential(disk, now, capacity / 64 * i + capacity / 128, false);
        now = ends;
        sum += rate;
    }
    sum / 64.0
}

fn random(disk: &mut dyn Device, write: bool, commands: u64) -> Vec<Nanos> {
    let sectors = disk.info().capacity_bytes / SECTOR_BYTES;
    let mut rng = Rng::new(1).stream("random");
    let requests = (0..commands).map(|i| {
        let at = rng.below(sectors) * SECTOR_BYTES;
        if write { Request::write(i, at, SECTOR_BYTES) } else { Request::read(i, at, SECTOR_BYTES) }
    });
    one_by_one(disk, 0, requests).1
}

fn mean_ms(latencies: &[Nanos]) -> f64 {
    latencies.iter().sum::<Nanos>() as f64 / latencies.len() as f64 / MILLISECOND as f64
}

fn line(name: &str, what: &str, published: f64, measured: f64, unit: &str) {
    let off = (measured / published - 1.0) * 100.0;
    println!("{name:<24} {what:<34} {published:>9.2} {measured:>9.2} {unit:<5} {off:>+6.1} %");
}

fn main() {
    println!("{:<24} {:<34} {:>9} {:>9}", "disk", "figure", "published", "here");
    let known = [
        ("spinpoint-f1-1tb", 118.16, 57.52, 109.90, 5.84),
        ("ultrastar-15k300-73gb", 116.21, 73.63, 113.47, 2.50),
        ("travelstar-7k200-120gb", 58.20, 31.84, 53.10, 7.98),
    ];
    for (name, begin, end, write, buffered) in known {
        let last = disk(name).info().capacity_bytes;
        line(name, "sequential read, begin", begin * WINBENCH, sequential(&mut *disk(name), 0, 0, false).0, "MB/s");
        line(name, "sequential read, end", end * WINBENCH, sequential(&mut *disk(name), 0, last, false).0, "MB/s");
        line(name, "sequential write, begin", write * WRITES, sequential(&mut *disk(name), 0, 0, true).0, "MB/s");
        let writes = random(&mut *disk(name), true, 25_000);
        line(name, "buffered write, 25,000 at random", buffered, mean_ms(&writes), "ms");
        let longest = *writes.iter().max().expect("a write") as f64 / MILLISECOND as f64;
        println!("{name:<24} {:<34} {:>9} {longest:>9.2} ms", "  the longest of them", "");
        let reads = random(&mut *disk(name), false, 25_000);
        println!("{name:<24} {:<34} {:>9} {:>9.2} ms", "random read", "", mean_ms(&reads));
    }
    let reads = random(&mut *disk("spinpoint-f1-1tb"), false, 25_000);
    line("spinpoint-f1-1tb", "access (HD Tune)", 13.6, mean_ms(&reads), "ms");
    line(
        "spinpoint-f1-1tb",
        "mean rate over the disk (HD Tune)",
        89.4,
        over_the_disk(&mut *disk("spinpoint-f1-1tb")),
        "MB/s",
    );
    let raptor = "raptor-wd360gd-36gb";
    line(raptor, "mean rate over the disk", 55.0, over_the_disk(&mut *disk(raptor)), "MB/s");
    println!(
        "{raptor:<24} {:<34} {:>9} {:>9.2} ms",
        "random read",
        "",
        mean_ms(&random(&mut *disk(raptor), false, 25_000))
    );
    println!(
        "{raptor:<24} {:<34} {:>9} {:>9.2} ms",
        "random write",
        "",
        mean_ms(&random(&mut *disk(raptor), true, 25_000))
    );
}
