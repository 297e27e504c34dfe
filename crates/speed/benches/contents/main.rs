//! What it costs to hold the bytes of a drive in memory, beside simulating it.
//!
//! A drive of 4 GiB with 7 % spare in steady state, explained and checked as `attach` serves it: 4 KiB uniform random writes at
//! queue depth 32 over all addresses, once without contents and once with ([`ContentDevice`]): each write brings 4 KiB of its
//! own, and what it overwrites is kept within the usual limit. Memory on which that depends is all in use before. The two are
//! alternated in one process, a quarter of a million writes each, and the median of the pairwise ratios is what counts. Times
//! are processor times of the thread. Aimed at: at most twice. Beside it stands the same with a FLUSH after every 1,000 writes.
//!
//! `cargo bench --bench contents [-- PAIRS]`

#[path = "../processor.rs"]
mod processor;

use processor::{processor, processor_seconds};
use ssdlab_contents::{ContentDevice, ContentOptions};
use ssdlab_core::{Nanos, Rng};
use ssdlab_device::{Completion, Device, PayloadId, Request};
use ssdlab_ssd::Ssd;

const CAPACITY_BYTES: u64 = 4 << 30;
const PAGE_BYTES: u64 = 4096;
const WRITES: u64 = 250_000;
const QUEUE_DEPTH: u64 = 32;

/// A device that random writes are sent to.
trait Target {
    fn device(&mut self) -> &mut dyn Device;

    /// What a write brings, if it brings anything.
    fn payload(&mut self, tag: u64) -> Option<PayloadId>;

    fn ended(&mut self, tag: u64);
}

struct Bare(Ssd);

impl Target for Bare {
    fn device(&mut self) -> &mut dyn Device {
        &mut self.0
    }

    fn payload(&mut self, _: u64) -> Option<PayloadId> {
        None
    }

    fn ended(&mut self, _: u64) {}
}

struct WithContents {
    device: ContentDevice,
    /// By tag: the buffer of the command under way.
    under_way: Vec<Option<PayloadId>>,
    /// Buffers that no command has, as a server would use them again.
    buffers: Vec<Vec<u8>>,
    written: u64,
}

impl Target for WithContents {
    fn device(&mut self) -> &mut dyn Device {
        &mut self.device
    }

    fn payload(&mut self, tag: u64) -> Option<PayloadId> {
        let mut buffer = self.buffers.pop().unwrap_or_else(|| vec![0xA7; PAGE_BYTES as usize]);
        self.written += 1;
        buffer[..8].copy_from_slice(&self.written.to_le_bytes());
        let id = self.device.insert(buffer);
        self.under_way[tag as usize] = Some(id);
        Some(id)
    }

    fn ended(&mut self, tag: u64) {
        if let Some(id) = self.under_way[tag as usize].take() {
            let buffer = self.device.take(id);
            self.buffers.push(buffer);
        }
    }
}

/// A host that keeps the device busy.
struct Host<T> {
    target: T,
    rng: Rng,
    now: Nanos,
    done: Vec<Completion>,
    flush_after: Option<u64>,
    sent: u64,
}

impl<T: Target> Host<T> {
    /// Every page written twice over at random.
    fn new(target: T, flush_after: Option<u64>) -> Self {
        let mut host = Host { target, rng: Rng::new(5), now: 0, done: Vec::new(), flush_after, sent: 0 };
        (0..QUEUE_DEPTH).for_each(|tag| host.send(tag));
        host.writes(2 * CAPACITY_BYTES / PAGE_BYTES);
        host
    }

    fn send(&mut self, tag: u64) {
        self.sent += 1;
        let request = match self.flush_after {
            Some(every) if self.sent.is_multiple_of(every) => Request::flush(tag),
            _ => {
                let offset_bytes = self.rng.below(CAPACITY_BYTES / PAGE_BYTES) * PAGE_BYTES;
                Request { payload: self.target.payload(tag), ..Request::write(tag, offset_bytes, PAGE_BYTES) }
            }
        };
        self.target.device().submit(self.now, request).expect("it lies within the drive");
    }

    fn writes(&mut self, n: u64) {
        let mut ended = 0;
        let mut done = std::mem::take(&mut self.done);
        while ended < n {
            self.now = self.target.device().advance_to_completion(Nanos::MAX - 1, &mut done);
            ended += done.len() as u64;
            for c in done.drain(..) {
                self.target.ended(c.tag);
                self.send(c.tag);
            }
        }
        self.done = done;
    }
}

fn drive() -> Ssd {
    let mut found = ssdlab_catalog::resolve("ideal-16k-32die").expect("a drive of the catalog");
    found.spec.capacity_bytes = CAPACITY_BYTES;
    Ssd::new(&found.name, &found.spec, &found.die.spec, 1).expect("it is valid")
}

/// Nanoseconds a host write.
fn nanoseconds(work: impl FnOnce(u64)) -> f64 {
    let start = processor_seconds();
    work(WRITES);
    (processor_seconds() - start) / WRITES as f64 * 1e9
}

/// Lower quartile, median, upper quartile.
fn quartiles(values: &mut [f64]) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[values.len() * quarter / 4])
}

fn measure(name: &str, pairs: usize, flush_after: Option<u64>) {
    let mut bare = Host::new(Bare(drive()), flush_after);
    let device = ContentDevice::new(Box::new(drive()), ContentOptions::default());
    let under_way = vec![None; QUEUE_DEPTH as usize];
    let mut with = Host::new(WithContents { device, under_way, buffers: Vec::new(), written: 0 }, flush_after);
    let (mut ratios, mut without_ns, mut with_ns) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..pairs {
        let a = nanoseconds(|n| bare.writes(n));
        let b = nanoseconds(|n| with.writes(n));
        ratios.push(b / a);
        without_ns.push(a);
        with_ns.push(b);
    }
    let store = with.target.device.store();
    // Few pages have not been hit by twice as many writes.
    assert!(store.stored_pages() > CAPACITY_BYTES / PAGE_BYTES * 8 / 10, "{} pages", store.stored_pages());
    assert_eq!(bare.now, with.now, "contents change no time");
    let [low, ratio, high] = quartiles(&mut ratios);
    let [a_low, a, a_high] = quartiles(&mut without_ns);
    let [b_low, b, b_high] = quartiles(&mut with_ns);
    println!(
        "{name:<28} {ratio:.2} times ({low:.2} to {high:.2})   {b:.0} ns a host write ({b_low:.0} to {b_high:.0}), without \
         contents {a:.0} ({a_low:.0} to {a_high:.0})",
    );
}

fn main() {
    let pairs = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(11);
    println!("processor: {}", processor());
    measure("random writes", pairs, None);
    measure("a FLUSH every 1,000 writes", pairs, Some(1000));
}
