//! What is measured. A meter is a type: what it does not do costs nothing. Meters combine as tuples, and `()`
//! measures nothing.
//!
//! - [`Measurement`]: counts, bytes, latency histogram and causes by latency per operation, and the slowest requests;
//! - [`PerSecond`]: requests, bytes and the highest latency of each second;
//! - [`Split`]: a measurement before and one after a point in time, such as the tail of a long run;
//! - [`ByPosition`]: the rate over the address range;
//! - [`ServiceTimes`]: every single latency;
//! - [`ServiceCurve`]: the mean latency as a trace goes on;
//! - [`Over`]: how many requests took longer than a limit;
//! - [`Stalls`]: the longest gaps without a completion, and the seconds in which a request waited long;
//! - [`Energy`], [`PowerPerSecond`], [`PeakPower`] and [`TemperaturePerSecond`]: joules, watts and degrees, where the device tells
//!   them.

mod by_position;
mod causes;
mod energy;
mod measurement;
mod over;
mod per_second;
mod service_curve;
mod service_times;
mod slowest;
mod split;
mod stalls;

pub use by_position::ByPosition;
pub use causes::{CausesByLatency, TailPart};
pub use energy::{CountedRun, Energy, PeakPower, PowerPerSecond, TemperaturePerSecond};
pub use measurement::{Measurement, OpStats};
pub use over::Over;
pub use per_second::{PerSecond, Second};
pub use service_curve::ServiceCurve;
pub use service_times::ServiceTimes;
pub use slowest::Slowest;
pub use split::Split;
pub use stalls::{FELT, Gap, STALL, Stalls};

use ssdlab_core::Nanos;
use ssdlab_device::{Completion, Counters};

/// Sees every measured request of a run.
pub trait Meter {
    /// Job `job` is measured from `at` on.
    fn begin(&mut self, _job: usize, _at: Nanos) {}

    /// A request of job `job` has completed. Requests come in the order of completion.
    fn record(&mut self, job: usize, io: &Completion);

    /// A simulated second has passed. `counters` reads the device's counters of this moment.
    fn tick(&mut self, _at: Nanos, _counters: &dyn Fn() -> Counters) {}

    /// How often it wants to [`Meter::look`]; [`Nanos::MAX`]: never.
    const LOOKS_EVERY: Nanos = Nanos::MAX;

    /// So much simulated time has passed. Only [`crate::Host::run`] asks for it.
    fn look(&mut self, _at: Nanos, _counters: &Counters) {}

    /// The time of job `job` is over, `at`, before it has sent all that it would: what the device counts from now on belongs to
    /// requests that nothing measures. Only [`crate::Host::run`] says it.
    fn stop(&mut self, _job: usize, _at: Nanos, _counters: &dyn Fn() -> Counters) {}

    /// A request of job `job` was under way when its time was over, at `end`. It is not measured.
    fn outlast(&mut self, _job: usize, _io: &Completion, _end: Nanos) {}

    /// Job `job` was measured up to `at`.
    fn end(&mut self, _job: usize, _at: Nanos) {}
}

impl Meter for () {
    #[inline]
    fn record(&mut self, _job: usize, _io: &Completion) {}
}

const fn sooner(a: Nanos, b: Nanos) -> Nanos {
    assert!(a == b || a == Nanos::MAX || b == Nanos::MAX, "meters that are combined look at the same times");
    if a < b { a } else { b }
}

impl<A: Meter, B: Meter> Meter for (A, B) {
    const LOOKS_EVERY: Nanos = sooner(A::LOOKS_EVERY, B::LOOKS_EVERY);

    fn look(&mut self, at: Nanos, counters: &Counters) {
        self.0.look(at, counters);
        self.1.look(at, counters);
    }
    fn begin(&mut self, job: usize, at: Nanos) {
        self.0.begin(job, at);
        self.1.begin(job, at);
    }
    #[inline]
    fn record(&mut self, job: usize, io: &Completion) {
        self.0.record(job, io);
        self.1.record(job, io);
    }
    fn tick(&mut self, at: Nanos, counters: &dyn Fn() -> Counters) {
        self.0.tick(at, counters);
        self.1.tick(at, counters);
    }
    fn stop(&mut self, job: usize, at: Nanos, counters: &dyn Fn() -> Counters) {
        self.0.stop(job, at, counters);
        self.1.stop(job, at, counters);
    }
    fn outlast(&mut self, job: usize, io: &Completion, end: Nanos) {
        self.0.outlast(job, io, end);
        self.1.outlast(job, io, end);
    }
    fn end(&mut self, job: usize, at: Nanos) {
        self.0.end(job, at);
        self.1.end(job, at);
    }
}

impl<M: Meter> Meter for &mut M {
    const LOOKS_EVERY: Nanos = M::LOOKS_EVERY;

    fn look(&mut self, at: Nanos, counters: &Counters) {
        (**self).look(at, counters);
    }
    fn begin(&mut self, job: usize, at: Nanos) {
        (**self).begin(job, at);
    }
    #[inline]
    fn record(&mut self, job: usize, io: &Completion) {
        (**self).record(job, io);
    }
    fn tick(&mut self, at: Nanos, counters: &dyn Fn() -> Counters) {
        (**self).tick(at, counters);
    }
    fn stop(&mut self, job: usize, at: Nanos, counters: &dyn Fn() -> Counters) {
        (**self).stop(job, at, counters);
    }
    fn outlast(&mut self, job: usize, io: &Completion, end: Nanos) {
        (**self).outlast(job, io, end);
    }
    fn end(&mut self, job: usize, at: Nanos) {
        (**self).end(job, at);
    }
}

/// A meter a job.
impl<M: Meter> Meter for Vec<M> {
    fn begin(&mut self, job: usize, at: Nanos) {
        self[job].begin(0, at);
    }
    #[inline]
    fn record(&mut self, job: usize, io: &Completion) {
        self[job].record(0, io);
    }
    fn stop(&mut self, job: usize, at: Nanos, counters: &dyn Fn() -> Counters) {
        self[job].stop(0, at, counters);
    }
    fn tick(&mut self, at: Nanos, counters: &dyn Fn() -> Counters) {
        for meter in self {
            meter.tick(at, counters);
        }
    }
    fn outlast(&mut self, job: usize, io: &Completion, end: Nanos) {
        self[job].outlast(0, io, end);
    }
    fn end(&mut self, job: usize, at: Nanos) {
        self[job].end(0, at);
    }
}
