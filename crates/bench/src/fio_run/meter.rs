//! What is measured of each entry of the report: a clone, or the clones of a group.

use ssdlab_core::{MICROSECOND, MILLISECOND, Nanos, Op};
use ssdlab_device::{Completion, Counters};

use super::logs::DIRECTIONS;
use super::task::Passes;
use crate::measure::{CountedRun, Measurement, Meter as _};

/// fio samples bandwidth and IOPS in windows of this length.
const WINDOW: Nanos = 500 * MILLISECOND;
/// Windows that the entries of a run keep together. Where more would be needed, they become twice as long: a single
/// entry keeps those of 500 ms for six days.
const MAX_WINDOWS: usize = 1 << 20;

/// Upper ends of fio's latency bins below a microsecond and, times 1000, below a millisecond.
pub(super) const BINS_1000: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// The same for milliseconds; what is slower goes to one more bin.
pub(super) const BINS_MS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];

/// Requests by latency, in fio's bins.
#[derive(Clone, Debug, Default)]
pub(super) struct LatencyBins {
    pub(super) ns: [u64; 10],
    pub(super) us: [u64; 10],
    pub(super) ms: [u64; 12],
}

impl LatencyBins {
    fn record(&mut self, latency: Nanos) {
        // A value that is equal to an upper end belongs to the next bin, as in fio.
        let bin = |bins: &[u64], v: u64| bins.partition_point(|&upper| upper <= v);
        if latency < MICROSECOND {
            self.ns[bin(&BINS_1000, latency)] += 1;
        } else if latency < MILLISECOND {
            self.us[bin(&BINS_1000, latency / MICROSECOND)] += 1;
        } else {
            self.ms[bin(&BINS_MS, latency / MILLISECOND)] += 1;
        }
    }

    fn merge(&mut self, other: &LatencyBins) {
        add_each(&mut self.ns, &other.ns);
        add_each(&mut self.us, &other.us);
        add_each(&mut self.ms, &other.ms);
    }
}

fn add_each(to: &mut [u64], more: &[u64]) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to += more);
}

/// Requests and bytes that completed in a window.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    ios: u64,
    bytes: u64,
}

impl Window {
    fn and(self, other: Window) -> Window {
        Window { ios: self.ios + other.ios, bytes: self.bytes + other.bytes }
    }
}

/// Smallest, largest, mean and deviation of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) mean: f64,
    pub(super) stddev: f64,
    pub(super) samples: u64,
}

impl Spread {
    fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Spread::default();
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        // Of a sample, as fio computes it.
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let stddev = if values.len() < 2 { 0.0 } else { libm::sqrt(squares / (n - 1.0)) };
        Spread {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean,
            stddev,
            samples: values.len() as u64,
        }
    }
}

/// Of those that have one.
fn joined(runs: impl IntoIterator<Item = Option<CountedRun>>) -> Option<CountedRun> {
    runs.into_iter().flatten().reduce(CountedRun::joined)
}

/// The shortest and the longest of some times.
type Range = (Nanos, Nanos);

fn wider(range: Option<Range>, time: Nanos) -> Option<Range> {
    let (min, max) = range.unwrap_or((time, time));
    Some((min.min(time), max.max(time)))
}

fn widest(one: Option<Range>, other: Option<Range>) -> Option<Range> {
    other.map_or(one, |(min, max)| wider(wider(one, min), max))
}

/// The measurement of an entry.
#[derive(Clone, Debug)]
pub(super) struct EntryMeter {
    /// Index of its first job in the file.
    pub(super) job: usize,
    /// The index and the number of clones of each of its jobs.
    pub(super) jobs: Vec<(usize, u32)>,
    pub(super) group: u32,
    pub(super) clones: u32,
    pub(super) depth: u32,
    /// The depth that the search of `latency_target` has come to, if the last job has one, behind the number of the clone.
    pub(super) searched_depth: Option<(u32, u32)>,
    /// Index of the job of a clone whose search had not ended when the clone did, and the depth that it was trying.
    pub(super) still_searched: Option<(usize, u32)>,
    /// The same of a clone for which not even depth 1 was good.
    pub(super) missed_target: Option<usize>,
    pub(super) all: Measurement,
    pub(super) bins: LatencyBins,
    /// Submissions by commands in flight: 1, 2, 4, 8, 16, 32, 64 and more.
    pub(super) depths: [u64; 7],
    /// Commands that their rate had due while the queue was full, and how long the longest of them waited.
    pub(super) delayed: u64,
    pub(super) longest_delay: Nanos,
    /// Wake-ups by completions reaped: 0, to 4, to 8, to 16, to 32, to 64, more.
    pub(super) reaps: [u64; 7],
    /// The shortest and the longest measured run of a clone.
    pub(super) runtimes: Option<Range>,
    /// What reads, writes and trims took of the clones that did them.
    times: [Option<Range>; 3],
    /// When the last of these clones had ended them.
    ends: [Nanos; 3],
    /// The longest time that a clone was not in a pass of verification.
    outside: Nanos,
    /// When the first of these passes began.
    verified_from: Option<Nanos>,
    /// What they have read: commands and bytes.
    verified: (u64, u64),
    /// A clone was stopped before its time.
    pub(super) is_cut: bool,
    /// A clone never began, since the run was stopped.
    pub(super) lacks_some: bool,
    /// What the device has counted from when a clone was first measured until one ended last. `None`: no ramp was ever over.
    run: Option<CountedRun>,
    /// Reads, writes and trims of each window from the beginning.
    windows: Vec<[Window; 3]>,
    /// Length of a window.
    window: Nanos,
    max_windows: usize,
}

impl EntryMeter {
    /// Of jobs with so many clones each, at least one. `entries` is the number of entries in the run.
    pub(super) fn new(jobs: Vec<(usize, u32)>, group: u32, depth: u32, entries: usize) -> Self {
        EntryMeter {
            job: jobs[0].0,
            group,
            clones: jobs.iter().map(|job| job.1).sum(),
            jobs,
            depth,
            searched_depth: None,
            still_searched: None,
            missed_target: None,
            all: Measurement::default(),
            bins: LatencyBins::default(),
            depths: [0; 7],
            delayed: 0,
            longest_delay: 0,
            reaps: [0; 7],
            runtimes: None,
            times: [None; 3],
            ends: [0; 3],
            outside: 0,
            verified_from: None,
            verified: (0, 0),
            is_cut: false,
            lacks_some: false,
            run: None,
            windows: Vec::new(),
            window: WINDOW,
            max_windows: (MAX_WINDOWS / entries.max(1)).max(2),
        }
    }

    /// Index of its last job in the file.
    pub(super) fn last_job(&self) -> usize {
        self.jobs.last().map_or(self.job, |job| job.0)
    }

    /// A clone will be measured from `at` on. Every clone says so before any has run.
    pub(super) fn begin(&mut self, at: Nanos) {
        self.all.begin(0, at);
    }

    /// What was measured so far is left out: an empty meter of the same jobs.
    pub(super) fn emptied(&self) -> Self {
        EntryMeter { max_windows: self.max_windows, ..EntryMeter::new(self.jobs.clone(), self.group, self.depth, 1) }
    }

    /// An empty meter for one of its clones: all of its clones together keep as many windows as it does.
    pub(super) fn for_one_clone(&self) -> Self {
        let max_windows = (self.max_windows / self.clones as usize).max(2);
        EntryMeter { max_windows, ..self.emptied() }
    }

    /// Adds what one of its clones did that was measured apart until it had ended.
    pub(super) fn merge(&mut self, mut other: EntryMeter) {
        let begins = [self.all.began(), other.all.began()];
        self.all.merge(&other.all);
        self.merge_windows(begins, &mut other);
        self.bins.merge(&other.bins);
        add_each(&mut self.depths, &other.depths);
        self.delayed += other.delayed;
        self.longest_delay = self.longest_delay.max(other.longest_delay);
        add_each(&mut self.reaps, &other.reaps);
        self.runtimes = widest(self.runtimes, other.runtimes);
        for op in 0..DIRECTIONS.len() {
            self.times[op] = widest(self.times[op], other.times[op]);
            self.ends[op] = self.ends[op].max(other.ends[op]);
        }
        self.outside = self.outside.max(other.outside);
        self.verified_from = [self.verified_from, other.verified_from].into_iter().flatten().min();
        self.verified.0 += other.verified.0;
        self.verified.1 += other.verified.1;
        self.run = joined([self.run.take(), other.run]);
    }

    /// Adds windows to those that are nearest in time. `begins`: when those of both began, before they were put together.
    fn merge_windows(&mut self, begins: [Nanos; 2], other: &mut EntryMeter) {
        while self.window < other.window {
            self.widen();
        }
        while other.window < self.window {
            other.widen();
        }
        let began = self.all.began();
        let first = |at: Nanos, window: Nanos| ((at - began + window / 2) / window) as usize;
        let end = |at: Nanos, of: &EntryMeter| match of.windows.len() {
            0 => 0,
            windows => first(at, of.window) + windows,
        };
        // They may have begun years apart: windows are made long enough before there is room for all that lie between.
        let windows = loop {
            let windows = end(begins[0], self).max(end(begins[1], other));
            if windows <= self.max_windows {
                break windows;
            }
            self.widen();
            other.widen();
        };
        let mut both = vec![[Window::default(); 3]; windows];
        for (at, of) in begins.into_iter().zip([&*self, &*other]).filter(|(_, of)| !of.windows.is_empty()) {
            for (to, more) in both[first(at, of.window)..].iter_mut().zip(&of.windows) {
                *to = std::array::from_fn(|op| to[op].and(more[op]));
            }
        }
        self.windows = both;
    }

    /// The time has come from which a clone is measured.
    pub(super) fn count_from(&mut self, at: Nanos, counters: impl FnOnce() -> Counters) {
        self.run.get_or_insert_with(|| CountedRun::from(at, &counters()));
    }

    /// A clone has ended.
    pub(super) fn count_to(&mut self, at: Nanos, counters: impl FnOnce() -> Counters) {
        if let Some(run) = &mut self.run {
            run.end(at, &counters());
        }
    }

    /// What the device counted while the entry was measured, whoever's it was, and for how long: a job's last pause is in that, and
    /// not in what it measured. `None`: its ramp was never over.
    pub(super) fn counted(&self) -> Option<(Counters, Nanos)> {
        self.run.as_ref()?.counted()
    }

    /// From when the first of these entries was measured until the last of them has ended. `None`: no ramp was ever over.
    pub(super) fn run_of_all<'a>(entries: impl Iterator<Item = &'a EntryMeter>) -> Option<CountedRun> {
        joined(entries.map(|entry| entry.run.clone()))
    }

    /// A command was sent and made so many in flight; `waited`: how long it had been due, while the queue was full.
    #[inline]
    pub(super) fn submitted(&mut self, in_flight: u32, waited: Option<Nanos>) {
        self.depths[(in_flight.max(1).ilog2() as usize).min(6)] += 1;
        if let Some(waited) = waited {
            self.delayed += 1;
            self.longest_delay = self.longest_delay.max(waited);
        }
    }

    /// So many commands completed at once.
    #[inline]
    pub(super) fn reaped(&mut self, count: u32) {
        let bin = count.saturating_sub(1) / 4;
        let bin = if bin == 0 { 1 } else { bin.ilog2() as usize + 2 };
        self.reaps[bin.min(6)] += 1;
    }

    /// A command has completed; `verifies`: in a pass of verification.
    #[inline]
    pub(super) fn record(&mut self, c: &Completion, verifies: bool) {
        self.all.record(0, c);
        if c.op == Op::Flush {
            return;
        }
        if verifies && c.op == Op::Read {
            self.verified.0 += 1;
            self.verified.1 += c.length_bytes;
        }
        self.bins.record(c.latency());
        // What completes at the very end of a window still belongs to it.
        let since = c.completed.saturating_sub(self.all.began());
        let mut index = (since.saturating_sub(1) / self.window) as usize;
        while index >= self.max_windows {
            self.widen();
            index /= 2;
        }
        if self.windows.len() <= index {
            self.windows.resize(index + 1, [Window::default(); 3]);
        }
        let window = &mut self.windows[index][c.op as usize];
        window.ios += 1;
        window.bytes += c.length_bytes;
    }

    /// Makes of two windows each one.
    fn widen(&mut self) {
        let both = |pair: &[[Window; 3]]| {
            let (first, second) = (pair[0], pair.get(1).copied().unwrap_or_default());
            std::array::from_fn(|op| first[op].and(second[op]))
        };
        self.windows = self.windows.chunks(2).map(both).collect();
        self.window *= 2;
    }

    /// A clone was measured between two times. In these it made these passes of verification, and `did` reads, writes and trims
    /// beside them. As in fio, what verification takes is none of the writes' time, and all of the reads' if there are no
    /// others; and a clone has no time of what it never did.
    pub(super) fn end(&mut self, (from, to): (Nanos, Nanos), passes: &Passes, did: [bool; 3]) {
        self.all.end(0, to);
        let time = to.saturating_sub(from);
        let outside = time.saturating_sub(passes.took);
        self.runtimes = wider(self.runtimes, time);
        self.outside = self.outside.max(outside);
        if let Some(first) = passes.begins {
            self.verified_from = Some(self.verified_from.map_or(first, |at| at.min(first)));
        }
        for (op, did) in DIRECTIONS.into_iter().zip(did) {
            let (took, end) = match (op, did, passes.begins) {
                (Op::Read, false, Some(_)) => (passes.took, to),
                (_, false, _) => continue,
                (Op::Read, true, _) | (_, true, None) => (time, to),
                (_, true, Some(_)) => (outside, passes.others_until),
            };
            self.times[op as usize] = wider(self.times[op as usize], took);
            self.ends[op as usize] = self.ends[op as usize].max(end);
        }
    }

    /// Whether all that it reads is what it has written before, when everything is written.
    pub(super) fn only_verifies(&self, ops: &[Op]) -> bool {
        ops == [Op::Read] && self.verified.0 > 0 && self.verified.0 == self.all.op(Op::Read).latency.count()
    }

    /// The shortest and the longest time of a clone that rates of these operations are by: of one, of the clones that did it.
    pub(super) fn times_of(&self, ops: &[Op]) -> (Nanos, Nanos) {
        let times = match *ops {
            [op] => self.times[op as usize],
            _ => self.runtimes,
        };
        times.unwrap_or_default()
    }

    /// Commands and bytes a second of what the job does beside verifying; `None`: it does not verify.
    pub(super) fn rates_without_verification(&self) -> Option<(f64, f64)> {
        self.verified_from?;
        let time = self.outside.max(1) as f64 / 1e9;
        let bytes: u64 = [Op::Read, Op::Write].iter().map(|&op| self.all.op(op).bytes).sum();
        let ios: u64 = DIRECTIONS.iter().map(|&op| self.all.op(op).latency.count()).sum();
        Some(((ios - self.verified.0) as f64 / time, (bytes - self.verified.1) as f64 / time))
    }

    /// Whether a clone has begun.
    pub(super) fn has_run(&self) -> bool {
        self.runtimes.is_some()
    }

    /// The longest measured run of a clone.
    pub(super) fn runtime(&self) -> Nanos {
        self.runtimes.map_or(0, |r| r.1)
    }

    /// Length of the windows that rates are sampled in.
    pub(super) fn window(&self) -> Nanos {
        self.window
    }

    /// Commands a second of an operation, by the seconds at the end of each whole window until it had ended.
    pub(super) fn iops_over_time(&self, op: Op) -> Vec<[f64; 2]> {
        let seconds = self.window as f64 / 1e9;
        let ios = |i: usize| self.windows.get(i).map_or(0, |window| window[op as usize].ios);
        (0..self.windows_until(&[op])).map(|i| [(i + 1) as f64 * seconds, ios(i) as f64 / seconds]).collect()
    }

    /// The window in which a time lies.
    fn window_at(&self, at: Nanos) -> usize {
        (at.saturating_sub(self.all.began()) / self.window) as usize
    }

    /// The whole windows until the last clone had ended these operations.
    fn windows_until(&self, ops: &[Op]) -> usize {
        self.window_at(ops.iter().map(|&op| self.ends[op as usize]).max().unwrap_or(0))
    }

    /// The whole windows in which these operations could be.
    fn windows_of(&self, ops: &[Op]) -> std::ops::Range<usize> {
        let from = self.verified_from.filter(|_| self.only_verifies(ops));
        from.map_or(0, |first| self.window_at(first + self.window - 1))..self.windows_until(ops)
    }

    /// Bytes a second and commands a second of some operations together over all whole windows; where none has any, over the
    /// time that rates are by.
    pub(super) fn samples(&self, ops: &[Op]) -> (Spread, Spread) {
        let count: u64 = ops.iter().map(|&op| self.all.op(op).latency.count()).sum();
        if count == 0 {
            return Default::default();
        }
        let window = |i: usize| {
            let all = |w: &[Window; 3]| ops.iter().map(|&op| w[op as usize]).fold(Window::default(), Window::and);
            self.windows.get(i).map_or(Window::default(), all)
        };
        let per_second = 1e9 / self.window as f64;
        // As in fio, a window without a command is no sample.
        let windows: Vec<Window> = self.windows_of(ops).map(window).filter(|w| w.ios > 0).collect();
        if windows.is_empty() {
            let time = self.times_of(ops).1.max(1);
            let over_all = |n: u64| Spread::of(&[n as f64 * 1e9 / time as f64]);
            let bytes = ops.iter().map(|&op| self.all.op(op).bytes).sum();
            return (over_all(bytes), over_all(count));
        }
        let bytes: Vec<f64> = windows.iter().map(|w| w.bytes as f64 * per_second).collect();
        let ios: Vec<f64> = windows.iter().map(|w| w.ios as f64 * per_second).collect();
        (Spread::of(&bytes), Spread::of(&ios))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_into_fios_bins() {
        let mut bins = LatencyBins::default();
        for v in [0, 1, 2, 999, 1_000, 1_999, 2_000, 749_999, 750_000, 999_999, 1_000_000, 2_000_000_000, u64::MAX] {
            bins.record(v);
        }
        assert_eq!(bins.ns, [2, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(bins.us, [2, 1, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(bins.ms, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
    }

    #[test]
    fn a_run_of_a_year_is_sampled_in_wider_windows_that_count_the_same() {
        let mut m = EntryMeter::new(vec![(0, 1)], 0, 1, 1 << 10);
        m.begin(0);
        let year = 366 * 86_400 * 1_000 * MILLISECOND;
        let spacing = 600 * 1_000 * MILLISECOND;
        for i in 1..=year / spacing {
            m.record(&write_at(i * spacing), false);
        }
        m.end((0, year), &Passes::default(), [false, true, false]);
        assert!(m.windows.len() <= 1 << 10 && m.windows.len() > 1 << 9, "{}", m.windows.len());
        let (bytes, ios) = m.samples(&[Op::Write]);
        assert!((ios.mean * 600.0 - 1.0).abs() < 0.01, "{ios:?}");
        assert!((bytes.mean / 4096.0 - ios.mean).abs() < 1e-9);
    }

    /// A write of 4 KiB that completes then.
    fn write_at(completed: Nanos) -> Completion {
        Completion {
            op: Op::Write,
            length_bytes: 4096,
            submitted: completed - 100,
            completed,
            tag: 0,
            status: ssdlab_device::Status::Ok,
            offset_bytes: 0,
            breakdown: ssdlab_core::Breakdown::default(),
        }
    }

    /// Windows are as long as all of them need before they are laid beside each other: no more are ever kept than is said.
    #[test]
    fn what_began_far_apart_is_merged_in_windows_that_hold_both() {
        let merged = |max_windows: usize, later: Nanos| {
            let mut first = EntryMeter { max_windows, ..EntryMeter::new(vec![(0, 2)], 0, 1, 1) };
            let mut second = first.for_one_clone();
            for (meter, from) in [(&mut first, 0), (&mut second, later)] {
                meter.begin(from);
                meter.record(&write_at(from + MILLISECOND), false);
            }
            first.merge(second);
            let ios: Vec<u64> = first.windows.iter().map(|window| window[Op::Write as usize].ios).collect();
            (first.window, ios)
        };
        assert_eq!(merged(4, 1_700 * MILLISECOND), (WINDOW, vec![1, 0, 0, 1]));
        // The window that is nearest is that of 1 s which begins after 2 s, and not the one before.
        assert_eq!(merged(3, 1_700 * MILLISECOND), (2 * WINDOW, vec![1, 0, 1]));
        let (window, ios) = merged(1 << 10, 30 * 86_400 * 1_000 * MILLISECOND);
        assert!(window == WINDOW << 13 && ios.len() == 634, "{window} {}", ios.len());
    }

    #[test]
    fn clones_that_are_measured_apart_keep_the_windows_of_one_entry_together() {
        let clones = 4_096;
        let entry = EntryMeter::new(vec![(0, clones)], 0, 1, 1);
        let mut clone = entry.for_one_clone();
        clone.begin(0);
        (1..=1_000).for_each(|second| clone.record(&write_at(second * 1_000 * MILLISECOND), false));
        assert!(clone.windows.len() * clones as usize <= MAX_WINDOWS, "{}", clone.windows.len());
        assert_eq!(entry.emptied().max_windows, entry.max_windows);
    }

    #[test]
    fn depths_and_reaps_fall_into_fios_levels() {
        let mut m = EntryMeter::new(vec![(0, 1)], 0, 1, 1);
        for depth in [1, 2, 3, 4, 31, 32, 63, 64, 5000] {
            m.submitted(depth, None);
        }
        assert_eq!(m.depths, [1, 2, 1, 0, 1, 2, 2]);
        for count in [1, 4, 5, 8, 9, 16, 17, 33, 64, 65] {
            m.reaped(count);
        }
        assert_eq!(m.reaps, [0, 2, 2, 2, 1, 2, 1]);
    }
}
