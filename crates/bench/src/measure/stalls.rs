//! Time without a completion, and seconds in which a request waited long: what a mean hides and a user feels.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ssdlab_core::{Breakdown, MILLISECOND, Nanos, SECOND};
use ssdlab_device::Completion;

use super::Meter;

/// Gaps that are kept.
const KEPT: usize = 100;
/// A gap longer than this is a stall.
pub const STALL: Nanos = 100 * MILLISECOND;
/// Limits of a wait that is felt.
pub const FELT: [Nanos; 3] = [100 * MILLISECOND, 500 * MILLISECOND, SECOND];

/// A stretch of time in which nothing completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub start: Nanos,
    pub length: Nanos,
    /// Where the time of the requests went that ended it: their sum.
    pub breakdown: Breakdown,
    /// How many requests ended it, at one instant.
    pub requests: u64,
}

/// The longest gaps, the time in stalls, and the seconds in which a request waited longer than [`FELT`]. For a run in
/// which something is always in flight: a pause of the host would count as a gap.
///
/// A second counts for a limit if at some moment in it a request had been waiting for longer.
#[derive(Clone, Debug)]
pub struct Stalls {
    began: Nanos,
    ended: Nanos,
    /// The last gap, to which requests may still be added that complete at its end.
    open: Gap,
    /// Shortest on top, of equally short ones the latest.
    kept: BinaryHeap<Reverse<(Nanos, Reverse<Nanos>, Kept)>>,
    in_stalls: Nanos,
    /// By second, a bit for each limit.
    felt: Vec<u8>,
    /// Of requests that were under way when the time was over: how many, the longest wait until then, and where the
    /// time went of the first of them.
    outlasted: (u64, Nanos, Breakdown),
}

/// What comes along with a gap and has no part in its rank.
#[derive(Clone, Copy, Debug)]
struct Kept(Gap);

impl PartialEq for Kept {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Kept {}
impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Kept {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Default for Stalls {
    fn default() -> Self {
        Stalls {
            began: Nanos::MAX,
            ended: 0,
            open: Gap { start: 0, length: 0, breakdown: Breakdown::default(), requests: 0 },
            kept: BinaryHeap::with_capacity(KEPT + 1),
            in_stalls: 0,
            felt: Vec::new(),
            outlasted: (0, 0, Breakdown::default()),
        }
    }
}

impl Meter for Stalls {
    fn begin(&mut self, _job: usize, at: Nanos) {
        if self.began == Nanos::MAX {
            self.began = at;
            self.open.start = at;
        }
    }

    #[inline]
    fn record(&mut self, _job: usize, io: &Completion) {
        let last = self.open.start + self.open.length;
        if io.completed > last {
            self.close();
            self.open = Gap { start: last, length: io.completed - last, breakdown: io.breakdown, requests: 1 };
        } else {
            self.open.breakdown.merge(&io.breakdown);
            self.open.requests += 1;
        }
        if io.latency() > FELT[0] {
            self.feel(io.submitted, io.completed);
        }
    }

    fn outlast(&mut self, _job: usize, io: &Completion, end: Nanos) {
        let (requests, longest, first) = &mut self.outlasted;
        if *requests == 0 {
            *first = io.breakdown;
        }
        *requests += 1;
        *longest = (*longest).max(end - io.submitted);
        if end - io.submitted > FELT[0] {
            self.feel(io.submitted, end);
        }
    }

    fn end(&mut self, _job: usize, at: Nanos) {
        self.close();
        // What completes later is not measured, but the wait for it is: a gap that ends with the time.
        let last = self.open.start + self.open.length;
        if at > last {
            let breakdown = self.outlasted.2;
            self.open = Gap { start: last, length: at - last, breakdown, requests: self.outlasted.0.min(1) };
            self.close();
        }
        self.open = Gap { start: at.max(last), length: 0, breakdown: Breakdown::default(), requests: 0 };
        self.ended = self.ended.max(at);
    }
}

impl Stalls {
    /// Takes the last gap into account; nothing more will be added to it.
    #[inline]
    fn close(&mut self) {
        let gap = self.open;
        if gap.length > STALL {
            self.in_stalls += gap.length;
        }
        let shortest = self.kept.peek().map_or(0, |Reverse(k)| k.0);
        // Ties are common and go to the earlier gap.
        if gap.requests > 0 && (self.kept.len() < KEPT || gap.length > shortest) {
            self.keep(gap);
        }
    }

    #[cold]
    fn keep(&mut self, gap: Gap) {
        self.kept.push(Reverse((gap.length, Reverse(gap.start), Kept(gap))));
        if self.kept.len() > KEPT {
            self.kept.pop();
        }
    }

    /// Marks the seconds in which a request from `submitted` to `completed` had been waiting for longer than each limit.
    #[cold]
    fn feel(&mut self, submitted: Nanos, completed: Nanos) {
        for (bit, limit) in FELT.into_iter().enumerate() {
            let late = submitted + limit;
            if late >= completed || completed <= self.began {
                break;
            }
            let first = (late.max(self.began) - self.began) / SECOND;
            let last = (completed - 1 - self.began) / SECOND;
            if self.felt.len() <= last as usize {
                self.felt.resize(last as usize + 1, 0);
            }
            for second in &mut self.felt[first as usize..=last as usize] {
                *second |= 1 << bit;
            }
        }
    }

    /// When measuring began, on the device's clock.
    #[must_use]
    pub fn began(&self) -> Nanos {
        if self.began == Nanos::MAX { 0 } else { self.began }
    }

    /// The longest gaps, longest first, of equally long ones the earlier first.
    #[must_use]
    pub fn longest(&self) -> Vec<Gap> {
        let mut gaps: Vec<Gap> = self.kept.iter().map(|Reverse(k)| k.2.0).collect();
        gaps.sort_by_key(|g| (Reverse(g.length), g.start));
        gaps
    }

    /// How many requests were under way when the time was over, and how long the oldest of them had been waiting.
    #[must_use]
    pub fn outlasted(&self) -> (u64, Nanos) {
        (self.outlasted.0, self.outlasted.1)
    }

    /// Per cent of the measured time that the longest gap took.
    #[must_use]
    pub fn percent_in_longest(&self) -> f64 {
        let elapsed = self.ended.saturating_sub(self.began());
        let longest = self.longest().first().map_or(0, |gap| gap.length);
        if elapsed == 0 { 0.0 } else { 100.0 * longest as f64 / elapsed as f64 }
    }

    /// Per cent of the measured time that lay in gaps longer than [`STALL`].
    #[must_use]
    pub fn percent_in_stalls(&self) -> f64 {
        let elapsed = self.ended.saturating_sub(self.began());
        if elapsed == 0 { 0.0 } else { 100.0 * self.in_stalls as f64 / elapsed as f64 }
    }

    /// Per cent of the seconds in which a request waited longer than each of [`FELT`]. The last second may be a part of
    /// one.
    #[must_use]
    pub fn percent_felt(&self) -> [f64; FELT.len()] {
        let seconds = self.ended.saturating_sub(self.began()).div_ceil(SECOND).max(1) as usize;
        let felt = &self.felt[..self.felt.len().min(seconds)];
        std::array::from_fn(|bit| {
            let count = felt.iter().filter(|s| *s & 1 << bit != 0).count();
            100.0 * count as f64 / seconds as f64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::{Cause, Op};
    use ssdlab_device::Status;

    const MS: Nanos = MILLISECOND;

    fn io(submitted: Nanos, completed: Nanos, cause: Cause) -> Completion {
        let mut breakdown = Breakdown::default();
        breakdown.add(cause, completed - submitted);
        Completion {
            tag: 0,
            op: Op::Write,
            status: Status::Ok,
            offset_bytes: 0,
            length_bytes: 4096,
            submitted,
            completed,
            breakdown,
        }
    }

    fn measured(began: Nanos, ios: &[Completion], ended: Nanos) -> Stalls {
        let mut stalls = Stalls::default();
        stalls.begin(0, began);
        ios.iter().for_each(|c| stalls.record(0, c));
        stalls.end(0, ended);
        stalls
    }

    #[test]
    fn gaps_lie_between_completions_and_the_longest_come_first() {
        let ios = [
            io(0, 10 * MS, Cause::Read),
            io(10 * MS, 310 * MS, Cause::Erase),
            // Ends the same gap.
            io(110 * MS, 310 * MS, Cause::GarbageCollection),
            io(310 * MS, 320 * MS, Cause::Read),
        ];
        let stalls = measured(0, &ios, 1000 * MS);
        let gaps = stalls.longest();
        assert_eq!(
            gaps.iter().map(|g| (g.start / MS, g.length / MS)).collect::<Vec<_>>(),
            [(10, 300), (0, 10), (310, 10)]
        );
        assert_eq!((gaps[0].requests, gaps[0].breakdown.get(Cause::Erase)), (2, 300 * MS));
        // The 300 ms, and the 680 ms to the end in which nothing completed.
        assert_eq!(stalls.percent_in_stalls(), 98.0);
    }

    #[test]
    fn what_is_under_way_when_the_time_is_over_has_been_waited_for() {
        let mut stalls = Stalls::default();
        stalls.begin(0, 0);
        stalls.record(0, &io(0, 500 * MS, Cause::Read));
        stalls.outlast(0, &io(600 * MS, 90 * SECOND, Cause::AdapterFlush), 10 * SECOND);
        stalls.outlast(0, &io(500 * MS, 91 * SECOND, Cause::Read), 10 * SECOND);
        stalls.end(0, 10 * SECOND);
        let gap = stalls.longest()[0];
        assert_eq!((gap.start, gap.length, gap.requests), (500 * MS, 9_500 * MS, 1));
        assert!(gap.breakdown.get(Cause::AdapterFlush) > 0 && gap.breakdown.get(Cause::Read) == 0);
        // From 0.6, 1.0 and 1.5 s on.
        assert_eq!(stalls.percent_felt(), [100.0, 90.0, 90.0]);
        assert_eq!((stalls.percent_in_stalls(), stalls.percent_in_longest()), (100.0, 95.0));
        assert_eq!(stalls.outlasted(), (2, 9_500 * MS));
    }

    #[test]
    fn of_many_equal_gaps_the_first_are_kept() {
        let ios: Vec<_> = (0..1000).map(|i| io(i * MS, (i + 1) * MS, Cause::Read)).collect();
        let gaps = measured(0, &ios, 1000 * MS).longest();
        assert_eq!(gaps.len(), KEPT);
        assert!(gaps.iter().enumerate().all(|(i, g)| (g.start, g.length) == (i as u64 * MS, MS)));
    }

    #[test]
    fn a_second_counts_from_the_moment_at_which_a_request_has_waited_too_long() {
        // Waits from 0.95 s to 2.05 s: over 0.1 s from 1.05 on, over 0.5 s from 1.45, over 1 s from 1.95.
        let stalls = measured(0, &[io(950 * MS, 2050 * MS, Cause::Queue)], 10 * SECOND);
        assert_eq!(stalls.percent_felt(), [20.0, 20.0, 20.0]);
        // Until exactly 2 s: the third second has no part in it.
        let stalls = measured(0, &[io(950 * MS, 2000 * MS, Cause::Queue)], 10 * SECOND);
        assert_eq!(stalls.percent_felt(), [10.0, 10.0, 10.0]);
        // Exactly 0.1 s is not over it.
        let stalls = measured(0, &[io(0, 100 * MS, Cause::Queue)], 10 * SECOND);
        assert_eq!(stalls.percent_felt(), [0.0; 3]);
    }

    #[test]
    fn requests_that_wait_in_the_same_second_count_it_once() {
        let ios = [io(0, 300 * MS, Cause::Queue), io(0, 700 * MS, Cause::Queue)];
        assert_eq!(measured(0, &ios, 4 * SECOND).percent_felt(), [25.0, 25.0, 0.0]);
        // On a clock that does not begin at zero.
        let later = [io(7 * SECOND, 7 * SECOND + 700 * MS, Cause::Queue)];
        assert_eq!(measured(7 * SECOND, &later, 11 * SECOND).percent_felt(), [25.0, 25.0, 0.0]);
    }
}
