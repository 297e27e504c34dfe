//! What the host driver adds to each simulated I/O: a device that does nothing but remember, driven at QD32, with
//! and without measuring, alternated. Run with `cargo bench -p ssdlab-bench`.

use ssdlab_bench::Monitor;
use ssdlab_bench::host::{Host, Job};
use ssdlab_bench::measure::{Measurement, Meter, PerSecond};
use ssdlab_core::{Breakdown, Completion, Nanos, Request, Rng, Status};
use ssdlab_ssd::{Counters, Device, DeviceInfo};
use ssdlab_workload::{Pattern, Source};

/// Completes every command a fixed time after its submission, in order.
struct Null {
    info: DeviceInfo,
    ring: [(Nanos, u64, u64); 64],
    head: usize,
    tail: usize,
}

const SERVICE: Nanos = 100_000;

impl Null {
    fn new() -> Self {
        let info = DeviceInfo {
            name: "null".to_owned(),
            kind: "model",
            description: String::new(),
            capacity_bytes: 128_035_676_160,
            queue_depth: 32,
            supports_trim: false,
            over_provisioning_percent: 7.0,
        };
        Null { info, ring: [(0, 0, 0); 64], head: 0, tail: 0 }
    }
}

impl Device for Null {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    #[inline]
    fn submit(&mut self, now: Nanos, r: Request) {
        self.ring[self.tail & 63] = (now, r.tag, r.offset_bytes);
        self.tail += 1;
    }
    fn next_event(&self) -> Option<Nanos> {
        (self.head < self.tail).then(|| self.ring[self.head & 63].0 + SERVICE)
    }
    #[inline]
    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        while self.head < self.tail {
            let (submitted, tag, offset_bytes) = self.ring[self.head & 63];
            if submitted + SERVICE > to {
                break;
            }
            self.head += 1;
            let mut breakdown = Breakdown::default();
            breakdown.nanos[6] = SERVICE;
            done.push(Completion {
                tag,
                op: ssdlab_core::Op::Write,
                status: Status::Ok,
                offset_bytes,
                length_bytes: 4096,
                submitted,
                completed: submitted + SERVICE,
                breakdown,
            });
        }
    }
    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        now
    }
    fn counters(&self) -> Counters {
        Counters::default()
    }
    fn check_books(&self) -> Result<(), String> {
        Ok(())
    }
}

const REQUESTS: u64 = 5_000_000;

/// Nanoseconds a request.
#[allow(clippy::disallowed_methods)] // This is what the wall clock is for.
fn time<M: Meter>(meter: &mut M) -> f64 {
    let mut device = Null::new();
    let monitor = Monitor::silent();
    let source = Pattern::random_write(128_035_676_160, 4096).build(&Rng::new(1)).unwrap();
    let started = std::time::Instant::now();
    let mut host = Host::new(&mut device, &monitor);
    // Spread the start, so that completions come one at a time as a real device's do.
    let mut jobs = [Job::new(source, 32).for_requests(REQUESTS)];
    host.run(&mut jobs, meter).unwrap();
    started.elapsed().as_nanos() as f64 / REQUESTS as f64
}

#[allow(clippy::disallowed_methods)]
fn time_source() -> f64 {
    let mut source = Pattern::random_write(128_035_676_160, 4096).build(&Rng::new(1)).unwrap();
    let started = std::time::Instant::now();
    let sum = (0..REQUESTS).fold(0u64, |s, _| s ^ source.next().map_or(0, |c| c.offset_bytes));
    let t = started.elapsed().as_nanos() as f64 / REQUESTS as f64;
    assert!(sum != 1);
    t
}

fn main() {
    let mut rows = [[0.0; 5]; 3];
    for i in 0..5 {
        rows[0][i] = time_source();
        rows[1][i] = time(&mut ());
        rows[2][i] = time(&mut (PerSecond::default(), Measurement::default()));
    }
    for (name, row) in ["source alone", "driver, no measuring", "driver, measuring"].iter().zip(&mut rows) {
        row.sort_by(f64::total_cmp);
        println!("{name:<24}{:>8.1} ns per I/O (median of 5; a null device included)", row[2]);
    }
}
