//! The few slowest requests of a run, kept whole.

use std::cmp::Reverse;

use ssdlab_core::Nanos;
use ssdlab_device::Completion;

/// The `limit` slowest requests. Among equally slow ones the earlier submitted stays, then the lower tag, so that the
/// choice does not depend on the order in which they were seen.
#[derive(Clone, Debug)]
pub struct Slowest {
    limit: usize,
    /// Slowest first.
    kept: Vec<Completion>,
    /// Latency, time of submission and tag of the last that is kept: what ranks behind it cannot get in.
    threshold: (Nanos, Nanos, u64),
}

fn rank(c: &Completion) -> (Reverse<Nanos>, Nanos, u64) {
    (Reverse(c.latency()), c.submitted, c.tag)
}

impl Slowest {
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Slowest { limit, kept: Vec::with_capacity(limit + 1), threshold: (0, Nanos::MAX, u64::MAX) }
    }

    #[inline]
    pub fn record(&mut self, c: &Completion) {
        let (latency, submitted, tag) = self.threshold;
        // Ties are common (a device with fixed times has nothing else) and must not cost an insertion.
        if c.latency() > latency || c.latency() == latency && (c.submitted, c.tag) < (submitted, tag) {
            self.insert(c);
        }
    }

    #[cold]
    fn insert(&mut self, c: &Completion) {
        let at = self.kept.partition_point(|k| rank(k) < rank(c));
        self.kept.insert(at, *c);
        self.kept.truncate(self.limit);
        if self.kept.len() == self.limit {
            let last = &self.kept[self.limit - 1];
            self.threshold = (last.latency(), last.submitted, last.tag);
        }
    }

    pub fn merge(&mut self, other: &Slowest) {
        for c in &other.kept {
            self.record(c);
        }
    }

    /// Slowest first.
    #[must_use]
    pub fn as_slice(&self) -> &[Completion] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::{Breakdown, Op};
    use ssdlab_device::Status;

    fn io(tag: u64, submitted: Nanos, latency: Nanos) -> Completion {
        Completion {
            tag,
            op: Op::Read,
            status: Status::Ok,
            offset_bytes: 0,
            length_bytes: 512,
            submitted,
            completed: submitted + latency,
            breakdown: Breakdown::default(),
        }
    }

    #[test]
    fn ties_go_to_the_earlier_and_then_to_the_lower_tag_in_whatever_order_they_come() {
        let all = [io(1, 0, 5), io(2, 0, 9), io(3, 7, 9), io(4, 7, 9), io(5, 9, 9)];
        let want = [2, 3, 4];
        for rotation in 0..all.len() {
            for reverse in [false, true] {
                let mut order = all.to_vec();
                order.rotate_left(rotation);
                if reverse {
                    order.reverse();
                }
                let mut s = Slowest::new(3);
                order.iter().for_each(|c| s.record(c));
                assert_eq!(s.as_slice().iter().map(|c| c.tag).collect::<Vec<_>>(), want);
            }
        }
    }

    #[test]
    fn merging_two_halves_equals_recording_the_whole() {
        let all: Vec<_> = (0..100).map(|i| io(i, i, (i * 37) % 101)).collect();
        let (mut whole, mut a, mut b) = (Slowest::new(10), Slowest::new(10), Slowest::new(10));
        for (i, c) in all.iter().enumerate() {
            whole.record(c);
            if i % 2 == 0 { a.record(c) } else { b.record(c) }
        }
        a.merge(&b);
        let tags = |s: &Slowest| s.as_slice().iter().map(|c| c.tag).collect::<Vec<_>>();
        assert_eq!(tags(&a), tags(&whole));
        assert_eq!(tags(&a).len(), 10);
    }
}
