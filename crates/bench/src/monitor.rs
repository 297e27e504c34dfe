//! Progress out, cancellation in.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells whoever waits how far a test is, and tells the test when to stop.
///
/// A test of several steps gives each its share of the whole by [`Monitor::step`]; the host drivers report within
/// the step, once per simulated second.
pub struct Monitor<'a> {
    report: &'a dyn Fn(f64),
    cancel: &'a AtomicBool,
    from: Cell<f64>,
    to: Cell<f64>,
    last: Cell<f64>,
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Monitor<'static> {
    /// For runs that nobody watches.
    #[must_use]
    pub fn silent() -> Self {
        Monitor::new(&|_| {}, &NEVER)
    }
}

impl<'a> Monitor<'a> {
    /// `report` is called with the share of the test that is done, 0 to 1, never falling, at least once per
    /// simulated second; it should be cheap. Setting `cancel` ends the test within a simulated second.
    #[must_use]
    pub fn new(report: &'a dyn Fn(f64), cancel: &'a AtomicBool) -> Self {
        Monitor { report, cancel, from: Cell::new(0.0), to: Cell::new(1.0), last: Cell::new(0.0) }
    }

    /// From here on, what the drivers report is this stretch of the whole test.
    pub fn step(&self, from: f64, to: f64) {
        debug_assert!((0.0..=1.0).contains(&from) && from <= to && to <= 1.0, "a step from {from} to {to}");
        self.from.set(from);
        self.to.set(to);
    }

    /// Step `index` of `count` equal ones.
    pub fn step_of(&self, index: usize, count: usize) {
        self.step(index as f64 / count as f64, (index + 1) as f64 / count as f64);
    }

    /// Does `work` as this part of the present step, from and to so much of it: what the drivers report meanwhile is a share of that.
    pub fn part<T>(&self, part: Range<f64>, work: impl FnOnce() -> T) -> T {
        let (from, to) = (self.from.get(), self.to.get());
        let at = |share: f64| (from + (to - from) * share.clamp(0.0, 1.0)).min(to);
        self.step(at(part.start), at(part.end));
        let done = work();
        self.step(from, to);
        done
    }

    /// Reports `fraction` of the present step, and answers whether to go on.
    #[must_use]
    pub fn go_on(&self, fraction: f64) -> bool {
        let (from, to) = (self.from.get(), self.to.get());
        // A step's preparations may report less than was reached before; the bar never goes back.
        self.last.set(self.last.get().max(from + (to - from) * fraction.clamp(0.0, 1.0)));
        (self.report)(self.last.get());
        !self.cancel.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_reports_its_share_of_the_whole() {
        let seen = Cell::new(0.0);
        let report = |f| seen.set(f);
        let cancel = AtomicBool::new(false);
        let monitor = Monitor::new(&report, &cancel);
        monitor.step(0.5, 0.75);
        assert!(monitor.go_on(0.5));
        assert_eq!(seen.get(), 0.625);
        cancel.store(true, Ordering::Relaxed);
        assert!(!monitor.go_on(2.0));
        assert_eq!(seen.get(), 0.75);
        monitor.step(0.0, 0.5);
        assert!(!monitor.go_on(0.5));
        assert_eq!(seen.get(), 0.75, "progress never falls");
    }

    #[test]
    fn what_is_done_in_parts_reports_the_step_part_by_part() {
        let (seen, cancel) = (Cell::new(0.0), AtomicBool::new(false));
        let report = |f| seen.set(f);
        let monitor = Monitor::new(&report, &cancel);
        monitor.step(0.5, 1.0);
        let ends = [(0.0, 0.5), (0.5, 1.0)].map(|(from, to)| {
            monitor.part(from..to, || monitor.part(0.0..0.5, || monitor.go_on(1.0)));
            seen.get()
        });
        assert_eq!(ends, [0.625, 0.875]);
        assert!(monitor.go_on(1.0));
        assert_eq!(seen.get(), 1.0, "the step is as it was");
    }
}
