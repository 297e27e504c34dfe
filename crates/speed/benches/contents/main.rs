//! What it costs to hold the bytes of a drive in memory, beside simulating it.
//!
//! A drive of 4 GiB with 7 % spare in steady state, explained and checked as `attach` serves it: 4 KiB uniform random writes at
//! queue depth 32 over all addresses, once without contents and once with ([`ContentDevice`]): each write brings 4 KiB of its
//! own, and what it overwrites is kept within the usual limit. Every page was written before, in order and then at random, so
//! that memory on which that depends is all in use. The two are alternated in one process, a quarter of a million writes each,
//! and the median of the pairwise ratios is what counts. Times are processor times of the thread. Aimed at: at most twice.
//! Beside it stands the same with a FLUSH after every 1,000 writes.
//!
//! What holding bytes costs at least is measured as well: 4 KiB copied from one of 32 buffers into a page at random of as much
//! memory: on pages as the system gives them, on huge pages, and on these past the caches.
//!
//! `cargo bench --bench contents [-- PAIRS]`

#[path = "../pairs.rs"]
mod pairs;
#[path = "../processor.rs"]
mod processor;

use pairs::quartiles;
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
    /// Pages written in order so far: these come first.
    in_order: u64,
}

impl<T: Target> Host<T> {
    /// Every page written in order, and as many pages twice over at random.
    fn new(target: T, flush_after: Option<u64>) -> Self {
        let mut host = Host { target, rng: Rng::new(5), now: 0, done: Vec::new(), flush_after, sent: 0, in_order: 0 };
        (0..QUEUE_DEPTH).for_each(|tag| host.send(tag));
        host.writes(3 * CAPACITY_BYTES / PAGE_BYTES);
        host
    }

    fn page(&mut self) -> u64 {
        if self.in_order < CAPACITY_BYTES / PAGE_BYTES {
            self.in_order += 1;
            self.in_order - 1
        } else {
            self.rng.below(CAPACITY_BYTES / PAGE_BYTES)
        }
    }

    fn send(&mut self, tag: u64) {
        self.sent += 1;
        let request = match self.flush_after {
            Some(every) if self.sent.is_multiple_of(every) => Request::flush(tag),
            _ => {
                let offset_bytes = self.page() * PAGE_BYTES;
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
    assert_eq!(store.stored_pages(), CAPACITY_BYTES / PAGE_BYTES);
    assert_eq!(bare.now, with.now, "contents change no time");
    let [low, ratio, high] = quartiles(&mut ratios);
    let [a_low, a, a_high] = quartiles(&mut without_ns);
    let [b_low, b, b_high] = quartiles(&mut with_ns);
    println!(
        "{name:<28} {ratio:.2} times ({low:.2} to {high:.2})   {b:.0} ns a host write ({b_low:.0} to {b_high:.0}), without \
         contents {a:.0} ({a_low:.0} to {a_high:.0})",
    );
}

/// Copies a page past the caches, where the processor is known to be able to.
fn copy_past_caches(from: &[u8], to: &mut [u8]) {
    assert_eq!((from.len(), to.len(), to.as_ptr().addr() % 16), (PAGE_BYTES as usize, PAGE_BYTES as usize, 0));
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has these instructions; lengths and alignment were looked at, and the fence puts the
    // stores before whatever comes after.
    unsafe {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
        let (from, to) = (from.as_ptr().cast::<__m128i>(), to.as_mut_ptr().cast::<__m128i>());
        (0..PAGE_BYTES as usize / 16).for_each(|at| _mm_stream_si128(to.add(at), _mm_loadu_si128(from.add(at))));
        _mm_sfence();
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// What a copy of 4 KiB costs by itself.
fn measure_copies(name: &str, times: usize, memory: &mut [u8], copy: impl Fn(&[u8], &mut [u8])) {
    let pages = memory.len() as u64 / PAGE_BYTES;
    let place = |page: u64| (page * PAGE_BYTES) as usize..((page + 1) * PAGE_BYTES) as usize;
    let buffers = vec![vec![0xA7; PAGE_BYTES as usize]; QUEUE_DEPTH as usize];
    let mut rng = Rng::new(6);
    let mut copies_ns: Vec<f64> = Vec::new();
    for _ in 0..times {
        copies_ns.push(nanoseconds(|n| {
            for buffer in buffers.iter().cycle().take(n as usize) {
                copy(buffer, &mut memory[place(rng.below(pages))]);
            }
        }));
    }
    std::hint::black_box(&memory);
    let [low, copy, high] = quartiles(&mut copies_ns);
    println!("{name:<28} {copy:.0} ns a copy ({low:.0} to {high:.0})");
}

fn main() {
    let pairs = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(11);
    println!("processor: {}", processor());
    measure("random writes", pairs, None);
    measure("a FLUSH every 1,000 writes", pairs, Some(1000));
    let bytes = CAPACITY_BYTES + ContentOptions::default().superseded_limit_bytes;
    let plain = |from: &[u8], to: &mut [u8]| to.copy_from_slice(from);
    measure_copies("copies", pairs, &mut vec![1; bytes as usize], plain);
    let mut huge: Vec<u8> = ssdlab_nand::memory::zeroed(bytes as usize);
    huge.fill(1);
    measure_copies("copies, huge pages", pairs, &mut huge, plain);
    measure_copies("the same past the caches", pairs, &mut huge, copy_past_caches);
}
