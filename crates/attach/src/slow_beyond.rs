//! Which requests are slow: those that take longer than 99 % of the requests of their kind before them.

use ssdlab_core::{Histogram, Nanos, Op};

/// So many requests must have ended to tell, and the limit is looked at anew after so many more.
const ENOUGH: u64 = 512;
const PERCENT: f64 = 99.0;

/// Limits of a while ago. A kind of which too few have ended has that of all kinds together, so that a kind that comes now and
/// then is not remembered in the place of what is slow.
#[derive(Debug, Default)]
pub struct SlowBeyond {
    of_kind: [Option<Nanos>; Op::ALL.len()],
    of_all: Option<Nanos>,
    all: Histogram,
}

impl SlowBeyond {
    /// A request of this kind has ended; `kind` are the latencies of its kind, its own included. Returns whether it is slow.
    pub fn is_slow(&mut self, op: Op, latency: Nanos, kind: &Histogram) -> bool {
        let limit = self.of_kind[op as usize].or(self.of_all);
        self.all.record(latency);
        look_again(&mut self.of_all, &self.all);
        look_again(&mut self.of_kind[op as usize], kind);
        limit.is_none_or(|limit| latency > limit)
    }

    /// Latencies of all kinds together.
    pub fn all(&self) -> &Histogram {
        &self.all
    }

    /// The limits of the kinds of which enough have ended.
    pub fn told(&self) -> impl Iterator<Item = (Op, Nanos)> {
        Op::ALL.into_iter().zip(self.of_kind).filter_map(|(op, limit)| Some((op, limit?)))
    }
}

fn look_again(limit: &mut Option<Nanos>, latencies: &Histogram) {
    if latencies.count().is_multiple_of(ENOUGH) {
        *limit = Some(latencies.percentile(PERCENT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks about so many requests of a kind and latency; returns how many were slow.
    fn ask(beyond: &mut SlowBeyond, kinds: &mut [Histogram; 5], op: Op, latency: Nanos, times: u64) -> u64 {
        let kind = &mut kinds[op as usize];
        let mut is_slow = || {
            kind.record(latency);
            beyond.is_slow(op, latency, kind)
        };
        (0..times).map(|_| u64::from(is_slow())).sum()
    }

    #[test]
    fn each_kind_has_its_own_limit_and_what_always_takes_as_long_is_not_slow() {
        let (mut beyond, mut kinds) = (SlowBeyond::default(), Default::default());
        let mut ask = |op, latency, times| ask(&mut beyond, &mut kinds, op, latency, times);
        assert_eq!(ask(Op::Read, 100, ENOUGH), ENOUGH, "nobody knows yet");
        assert_eq!(ask(Op::Read, 100, ENOUGH), 0);
        // Of flushes there are too few yet: those of all kinds are the measure.
        assert_eq!(ask(Op::Flush, 5_000, ENOUGH), ENOUGH);
        assert_eq!(ask(Op::Flush, 5_000, ENOUGH), 0);
        // Quicker than many flushes, and slow for a read.
        assert_eq!((ask(Op::Read, 3_000, 1), ask(Op::Flush, 3_000, 1)), (1, 0));
        let told: Vec<_> = beyond.told().collect();
        assert_eq!(told, [(Op::Read, 100), (Op::Flush, 5_000)]);
    }
}
