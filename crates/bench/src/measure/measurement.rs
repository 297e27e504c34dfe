//! Counts, bytes, latencies and causes, per operation.

use ssdlab_core::{Breakdown, Histogram, Nanos, Op, SECOND};
use ssdlab_device::Completion;

use super::{CausesByLatency, Meter, Slowest};

/// How many of the slowest requests are kept.
const SLOWEST: usize = 10;

/// One operation's share of a measurement.
#[derive(Clone, Debug, Default)]
pub struct OpStats {
    pub latency: Histogram,
    pub bytes: u64,
    pub causes: CausesByLatency,
}

impl OpStats {
    /// Sums over all requests; divided by their number, where the average request's time went.
    #[must_use]
    pub fn breakdown(&self) -> Breakdown {
        self.causes.sum()
    }

    pub fn merge(&mut self, other: &OpStats) {
        self.latency.merge(&other.latency);
        self.bytes += other.bytes;
        self.causes.merge(&other.causes);
    }
}

/// The usual measurement of a stretch of time.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// By command.
    ops: [OpStats; Op::ALL.len()],
    slowest: Slowest,
    began: Nanos,
    ended: Nanos,
}

impl Default for Measurement {
    fn default() -> Self {
        Measurement {
            ops: std::array::from_fn(|_| OpStats::default()),
            slowest: Slowest::new(SLOWEST),
            began: Nanos::MAX,
            ended: 0,
        }
    }
}

impl Meter for Measurement {
    fn begin(&mut self, _job: usize, at: Nanos) {
        self.began = self.began.min(at);
    }

    #[inline]
    fn record(&mut self, _job: usize, io: &Completion) {
        let stats = &mut self.ops[io.op as usize];
        stats.latency.record(io.latency());
        stats.bytes += io.length_bytes;
        stats.causes.record(io.latency(), &io.breakdown);
        self.slowest.record(io);
    }

    fn end(&mut self, _job: usize, at: Nanos) {
        self.ended = self.ended.max(at);
    }
}

impl Measurement {
    #[must_use]
    pub fn op(&self, op: Op) -> &OpStats {
        &self.ops[op as usize]
    }

    /// The operations that occurred, with their figures.
    pub fn ops(&self) -> impl Iterator<Item = (Op, &OpStats)> + '_ {
        Op::ALL.iter().map(|&op| (op, self.op(op))).filter(|(_, s)| s.latency.count() > 0)
    }

    #[must_use]
    pub fn requests(&self) -> u64 {
        self.ops.iter().map(|s| s.latency.count()).sum()
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.ops.iter().map(|s| s.bytes).sum()
    }

    /// When measuring began, on the device's clock.
    #[must_use]
    pub fn began(&self) -> Nanos {
        if self.began == Nanos::MAX { 0 } else { self.began }
    }

    /// The measured stretch of time.
    #[must_use]
    pub fn elapsed(&self) -> Nanos {
        self.ended.saturating_sub(self.began)
    }

    /// Requests a second; zero if no time was measured.
    #[must_use]
    pub fn iops(&self) -> f64 {
        per_second(self.requests(), self.elapsed())
    }

    /// Decimal megabytes read and written a second; zero if no time was measured. What is trimmed, or told to be zero, is
    /// not transferred.
    #[must_use]
    pub fn mb_per_s(&self) -> f64 {
        let moved: u64 = [Op::Read, Op::Write].iter().map(|&op| self.op(op).bytes).sum();
        per_second(moved, self.elapsed()) / 1e6
    }

    /// The latencies of all operations together.
    #[must_use]
    pub fn latency(&self) -> Histogram {
        let mut all = Histogram::new();
        for (_, stats) in self.ops() {
            all.merge(&stats.latency);
        }
        all
    }

    /// The slowest requests, slowest first.
    #[must_use]
    pub fn slowest(&self) -> &[Completion] {
        self.slowest.as_slice()
    }

    /// Adds another measurement: of another job at the same time, or of the time before or after.
    pub fn merge(&mut self, other: &Measurement) {
        for (mine, theirs) in self.ops.iter_mut().zip(&other.ops) {
            mine.merge(theirs);
        }
        self.slowest.merge(&other.slowest);
        self.began = self.began.min(other.began);
        self.ended = self.ended.max(other.ended);
    }

    /// Whether every nanosecond has a cause: the breakdowns sum to the latencies. A device that does not measure
    /// causes (all zero) passes.
    ///
    /// # Errors
    /// The two sums, if they differ.
    pub fn check_causes(&self) -> Result<(), String> {
        for (op, stats) in self.ops() {
            let causes = stats.breakdown().sum();
            if causes != 0 && u128::from(causes) != stats.latency.sum() {
                return Err(format!(
                    "the causes of {} {op:?} requests sum to {causes} ns, their latencies to {} ns",
                    stats.latency.count(),
                    stats.latency.sum()
                ));
            }
        }
        Ok(())
    }
}

fn per_second(count: u64, elapsed: Nanos) -> f64 {
    if elapsed == 0 { 0.0 } else { count as f64 / (elapsed as f64 / SECOND as f64) }
}
