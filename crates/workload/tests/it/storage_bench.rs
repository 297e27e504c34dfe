//! The stand-ins counted again, by other code and against the figures as printed.

use ssdlab_core::{MILLISECOND, Op, Rng};
use ssdlab_workload::storage_bench::{Joint, Plan, PlanError, Statistics, Trace};

const IDLE_CAP: u64 = 25 * MILLISECOND;

/// What a reader with the trace in hand would count.
#[derive(Default)]
struct Count {
    reads: u64,
    writes: u64,
    read_bytes: u64,
    written_bytes: u64,
    sequential: u64,
    /// Requests of exactly so many KiB, and those below 4 KiB.
    kib: [u64; 7],
    depth: Vec<u64>,
    /// At depths of 1 and 2, and deeper.
    bytes_shallow_deep: [u64; 2],
    shallow_deep: [u64; 2],
    longest_pause: u64,
    pauses: u64,
    highest_byte: u64,
}

fn count(trace: Trace, requests: u64, footprint_bytes: u64, seed: u64) -> Count {
    count_joint(trace, requests, footprint_bytes, seed, Joint::Independent)
}

fn count_joint(trace: Trace, requests: u64, footprint_bytes: u64, seed: u64, joint: Joint) -> Count {
    let plan = Plan::new(trace, requests, footprint_bytes).unwrap().with_joint(joint);
    let mut n = Count { depth: vec![0; 1000], ..Count::default() };
    let (mut read_end, mut write_end) = (u64::MAX, u64::MAX);
    let mut depth_before = 0;
    for step in plan.stream(IDLE_CAP, &Rng::new(seed)) {
        let c = step.command;
        assert!(c.offset_bytes % 512 == 0 && c.length_bytes % 512 == 0 && c.length_bytes > 0);
        let end = match c.op {
            Op::Read => {
                n.reads += 1;
                n.read_bytes += c.length_bytes;
                &mut read_end
            }
            Op::Write => {
                n.writes += 1;
                n.written_bytes += c.length_bytes;
                &mut write_end
            }
            other => panic!("{other:?} is not in the traces"),
        };
        n.sequential += u64::from(*end == c.offset_bytes);
        *end = c.offset_bytes + c.length_bytes;
        n.highest_byte = n.highest_byte.max(*end);
        let named = [4, 8, 16, 32, 64, 128].iter().position(|kib| kib * 1024 == c.length_bytes);
        if c.length_bytes < 4096 {
            n.kib[0] += 1;
        } else if let Some(i) = named {
            n.kib[i + 1] += 1;
        }
        assert!(
            step.depth >= 1 && step.depth <= depth_before + 1,
            "no host reaches {} from {depth_before}",
            step.depth
        );
        depth_before = step.depth;
        n.depth[step.depth as usize] += 1;
        let slot = usize::from(step.depth >= 3);
        n.bytes_shallow_deep[slot] += c.length_bytes;
        n.shallow_deep[slot] += 1;
        if step.pause > 0 {
            assert_eq!(step.depth, 1, "idle means that nothing is in flight");
            n.pauses += 1;
        }
        n.longest_pause = n.longest_pause.max(step.pause);
    }
    n
}

impl Count {
    fn total(&self) -> u64 {
        self.reads + self.writes
    }

    fn percent(&self, part: u64) -> f64 {
        100.0 * part as f64 / self.total() as f64
    }

    fn depth_percent(&self, from: usize, to: usize) -> f64 {
        self.percent(self.depth[from..=to].iter().sum())
    }

    fn mean_depth(&self) -> f64 {
        let sum: u64 = self.depth.iter().enumerate().map(|(d, n)| d as u64 * n).sum();
        sum as f64 / self.total() as f64
    }
}

/// Equal to as many decimals as were printed.
#[track_caller]
fn printed(got: f64, want: f64, half_a_digit: f64) {
    assert!((got - want).abs() <= half_a_digit * 1.000_001, "{got} does not print as {want}");
}

#[test]
fn the_destroyer_meets_every_published_figure_at_full_length() {
    let n = count(Trace::Destroyer, 49_810_000, 200_000_000_000, 1);
    printed(n.reads as f64 / 1e6, 38.83, 0.005);
    printed(n.writes as f64 / 1e6, 10.98, 0.005);
    printed(n.total() as f64 / 1e6, 49.8, 0.05);
    printed(n.read_bytes as f64 / 1e9, 1583.02, 0.005);
    printed(n.written_bytes as f64 / 1e9, 875.62, 0.005);
    printed(n.mean_depth(), 5.5, 0.05);
    printed(n.percent(n.sequential), 67.0, 0.5);
    assert!(n.longest_pause <= IDLE_CAP && n.pauses > 1_000_000);
}

#[test]
fn heavy_meets_every_published_figure() {
    let n = count(Trace::Heavy, 3_950_000, 100_000_000_000, 1);
    printed(n.reads as f64 / 1e6, 2.17, 0.005);
    printed(n.writes as f64 / 1e6, 1.78, 0.005);
    printed(n.read_bytes as f64 / 1e9, 48.63, 0.005);
    printed(n.written_bytes as f64 / 1e9, 106.32, 0.005);
    printed(n.mean_depth(), 4.6, 0.05);
    printed(n.percent(n.sequential), 43.0, 0.5);
    for (i, want) in [7.8, 29.2, 3.5, 10.3, 10.8, 4.1, 21.7].into_iter().enumerate() {
        printed(n.percent(n.kib[i]), want, 0.05);
    }
    assert!(n.longest_pause <= IDLE_CAP);
}

#[test]
fn however_sizes_go_with_depths_the_margins_stay_and_the_means_part() {
    let deep_over_shallow = Joint::ALL.map(|joint| {
        let n = count_joint(Trace::Heavy, 395_000, 10_000_000_000, 1, joint);
        assert_eq!((n.reads, n.writes), (217_000, 178_000), "{joint:?}");
        printed(n.percent(n.kib[1]), 29.2, 0.05);
        printed(n.percent(n.kib[6]), 21.7, 0.05);
        printed(n.depth_percent(1, 1), 59.0, 0.05);
        printed(n.percent(n.sequential), 43.0, 0.5);
        let mean = |slot: usize| n.bytes_shallow_deep[slot] as f64 / n.shallow_deep[slot] as f64;
        mean(1) / mean(0)
    });
    let [independent, small_deep, large_deep] = deep_over_shallow;
    assert!((independent - 1.0).abs() < 0.1, "{deep_over_shallow:?}");
    assert!(small_deep < 0.6 && large_deep > 1.6, "{deep_over_shallow:?}");
}

#[test]
fn light_meets_every_published_figure() {
    for seed in 1..=5 {
        let n = count(Trace::Light, 832_339, 40_000_000_000, seed);
        assert_eq!((n.reads, n.writes), (372_630, 459_709));
        printed(n.read_bytes as f64 / 1e9, 17.97, 0.005);
        printed(n.written_bytes as f64 / 1e9, 23.25, 0.005);
        printed(n.percent(n.sequential), 70.0, 0.5);
        for (i, want) in [6.2, 27.6, 2.4, 8.0, 6.5, 4.8, 26.4].into_iter().enumerate() {
            printed(n.percent(n.kib[i]), want, 0.05);
        }
        for ((from, to), want) in [(1, 1), (2, 2), (3, 3), (4, 5), (6, 10), (11, 20), (21, 32), (33, 999)]
            .into_iter()
            .zip([73.4, 16.8, 2.6, 2.3, 3.1, 1.5, 0.2, 0.2])
        {
            printed(n.depth_percent(from, to), want, 0.05);
        }
        printed(n.mean_depth(), 1.9, 0.05);
        assert!(n.longest_pause <= IDLE_CAP);
    }
}

#[test]
fn a_shortened_trace_keeps_the_proportions_and_stays_within_its_addresses() {
    for trace in Trace::ALL {
        let n = count(trace, 20_000, 64_000_000, 9);
        let p = trace.published();
        let share = 20_000.0 / p.requests() as f64;
        assert_eq!(n.total(), 20_000);
        printed(n.reads as f64, p.reads as f64 * share, 0.5);
        // Every class is rounded to whole requests, the largest of 512 KiB.
        for (got, want) in [(n.read_bytes, p.read_bytes), (n.written_bytes, p.written_bytes)] {
            assert!((got as f64 / (want as f64 * share) - 1.0).abs() < 0.01, "{trace:?}: {got}");
        }
        printed(n.percent(n.sequential), p.sequential_percent, 0.5);
        assert!(n.highest_byte <= 64_000_000, "{trace:?}: {}", n.highest_byte);
    }
}

#[test]
fn the_same_seed_gives_the_same_requests_and_another_seed_others() {
    let plan = Plan::new(Trace::Heavy, 5_000, 1 << 30).unwrap();
    let steps = |seed| plan.stream(IDLE_CAP, &Rng::new(seed)).collect::<Vec<_>>();
    assert_eq!(steps(1), steps(1));
    assert_ne!(steps(1), steps(2));
}

#[test]
fn no_idle_time_is_longer_than_the_cap() {
    let plan = Plan::new(Trace::Light, 50_000, 1 << 30).unwrap();
    for cap in [0, MILLISECOND, 10_000 * MILLISECOND] {
        let mut s = Statistics::default();
        plan.stream(cap, &Rng::new(1)).for_each(|step| s.record(&step));
        assert!(s.pause_longest <= cap);
        assert_eq!(s.pauses > 0, cap > 0);
    }
}

#[test]
fn the_statistics_of_the_crate_agree_with_this_count() {
    let n = count(Trace::Heavy, 100_000, 1 << 34, 4);
    let mut s = Statistics::default();
    Plan::new(Trace::Heavy, 100_000, 1 << 34).unwrap().stream(IDLE_CAP, &Rng::new(4)).for_each(|step| s.record(&step));
    assert_eq!((s.reads, s.writes, s.sequential), (n.reads, n.writes, n.sequential));
    assert_eq!((s.read_bytes, s.written_bytes), (n.read_bytes, n.written_bytes));
    assert_eq!(s.sizes[..7], n.kib);
    assert_eq!(s.depths[5], n.depth[11..=20].iter().sum::<u64>());
    assert_eq!(s.pause_longest, n.longest_pause);
    assert!((s.mean_depth() - n.mean_depth()).abs() < 1e-12);
}

#[test]
fn too_short_and_too_narrow_are_refused() {
    let e = Plan::new(Trace::Light, 10, 1 << 30).unwrap_err();
    assert_eq!(e, PlanError::TooShort { requests: 10 });
    assert!(Plan::new(Trace::Light, 10_000, 4096).unwrap_err().to_string().contains("needs at least 16777216"));
}
