//! Where the time of requests went, by their latency: what the slow ones waited for that the fast ones did not.

use ssdlab_core::{Breakdown, CAUSES, HISTOGRAM_BUCKETS, Histogram, Nanos, rank};

/// Sums of causes, for each bucket of a latency histogram apart.
#[derive(Clone, Debug, Default)]
pub struct CausesByLatency {
    /// By bucket: place of its sum, counted from 1; 0 where there is none. Empty before the first request.
    places: Vec<u16>,
    sums: Vec<Breakdown>,
}

/// Requests between two ranks of the latency, and where their time went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailPart {
    /// Shares of the requests, in per cent.
    pub from_percent: f64,
    pub to_percent: f64,
    pub requests: u64,
    /// The least and the largest latency of the buckets that it reaches into.
    pub low: Nanos,
    pub high: Nanos,
    /// Of its average request. Of a bucket that lies in two parts, each request is taken to be the bucket's average one.
    pub mean: Breakdown,
}

impl CausesByLatency {
    #[inline]
    pub fn record(&mut self, latency: Nanos, breakdown: &Breakdown) {
        self.of(Histogram::bucket_of(latency)).merge(breakdown);
    }

    #[inline]
    fn of(&mut self, bucket: usize) -> &mut Breakdown {
        match self.places.get(bucket) {
            Some(&place) if place > 0 => &mut self.sums[usize::from(place) - 1],
            _ => self.first_of(bucket),
        }
    }

    #[cold]
    fn first_of(&mut self, bucket: usize) -> &mut Breakdown {
        self.places.resize(HISTOGRAM_BUCKETS, 0);
        self.sums.push(Breakdown::NOTHING);
        self.places[bucket] = self.sums.len() as u16;
        self.sums.last_mut().expect("it was pushed")
    }

    /// Of all requests.
    #[must_use]
    pub fn sum(&self) -> Breakdown {
        let mut all = Breakdown::NOTHING;
        self.sums.iter().for_each(|sum| all.merge(sum));
        all
    }

    pub fn merge(&mut self, other: &CausesByLatency) {
        for (bucket, &place) in other.places.iter().enumerate().filter(|(_, place)| **place > 0) {
            self.of(bucket).merge(&other.sums[usize::from(place) - 1]);
        }
    }

    /// The requests between each two of `percents`, which ascend, with those below the first and those above the last;
    /// without parts that hold none. `latencies` are those of the same requests.
    #[must_use]
    pub fn parts(&self, latencies: &Histogram, percents: &[f64]) -> Vec<TailPart> {
        let count = latencies.count();
        let rank_at = |percent: f64| if percent > 0.0 { rank(percent, count) } else { 0 };
        let ends: Vec<f64> = std::iter::once(0.0).chain(percents.iter().copied()).chain([100.0]).collect();
        let part = |ends: &[f64]| self.part(latencies, [ends[0], ends[1]], [rank_at(ends[0]), rank_at(ends[1])]);
        if count == 0 { Vec::new() } else { ends.windows(2).filter_map(part).collect() }
    }

    /// The requests of the ranks above `ranks[0]` up to `ranks[1]`.
    fn part(&self, latencies: &Histogram, percents: [f64; 2], ranks: [u64; 2]) -> Option<TailPart> {
        let requests = ranks[1].checked_sub(ranks[0]).filter(|&n| n > 0)?;
        let mut sums = [0_u128; CAUSES.len()];
        let (mut seen, mut low, mut high) = (0, Nanos::MAX, 0);
        for bucket in latencies.buckets() {
            let inside = ranks[1].min(seen + bucket.count).saturating_sub(ranks[0].max(seen));
            if inside > 0 {
                low = low.min(bucket.low);
                high = bucket.high;
                let place = self.places.get(Histogram::bucket_of(bucket.low)).map_or(0, |&place| usize::from(place));
                let of_bucket = place.checked_sub(1).map_or(Breakdown::NOTHING, |at| self.sums[at]);
                for (sum, nanos) in sums.iter_mut().zip(of_bucket.nanos) {
                    *sum += u128::from(nanos) * u128::from(inside) / u128::from(bucket.count);
                }
            }
            seen += bucket.count;
        }
        let mean = Breakdown { nanos: sums.map(|sum| (sum / u128::from(requests)) as Nanos) };
        Some(TailPart { from_percent: percents[0], to_percent: percents[1], requests, low, high, mean })
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Cause;

    use super::*;

    /// 900 of 10 us on the link, 90 that also wait 20 us for the buffer, 10 that wait 1 ms for the collector.
    fn three_modes() -> (CausesByLatency, Histogram) {
        let (mut causes, mut latencies) = (CausesByLatency::default(), Histogram::new());
        let mut record = |of: &[(Cause, Nanos)], times: u64| {
            let mut breakdown = Breakdown::NOTHING;
            of.iter().for_each(|&(cause, nanos)| breakdown.add(cause, nanos));
            for _ in 0..times {
                latencies.record(breakdown.sum());
                causes.record(breakdown.sum(), &breakdown);
            }
        };
        record(&[(Cause::Link, 10_000)], 900);
        record(&[(Cause::Link, 10_000), (Cause::Buffer, 20_000)], 90);
        record(&[(Cause::Link, 10_000), (Cause::GarbageCollection, 1_000_000)], 10);
        (causes, latencies)
    }

    #[test]
    fn each_part_of_the_tail_has_its_own_cause() {
        let (causes, latencies) = three_modes();
        let parts = causes.parts(&latencies, &[50.0, 90.0, 99.0]);
        let told: Vec<_> = parts
            .iter()
            .map(|p| (p.requests, p.low, p.high, p.mean.get(Cause::Buffer), p.mean.get(Cause::GarbageCollection)))
            .collect();
        assert_eq!(
            told,
            [
                (500, 10_000, 10_000, 0, 0),
                (400, 10_000, 10_000, 0, 0),
                (90, 30_000, 30_000, 20_000, 0),
                (10, 1_010_000, 1_010_000, 0, 1_000_000)
            ]
        );
        // A part that begins amid a mode holds some of it.
        let mixed = &causes.parts(&latencies, &[80.0])[1];
        assert_eq!((mixed.requests, mixed.mean.get(Cause::Buffer)), (200, 9_000));
        assert_eq!(mixed.mean.sum(), (100 * 10_000 + 90 * 30_000 + 10 * 1_010_000) / 200);
    }

    #[test]
    fn two_add_without_loss_and_few_requests_have_few_parts() {
        let (causes, latencies) = three_modes();
        let (mut twice, mut all) = (causes.clone(), latencies.clone());
        twice.merge(&causes);
        all.merge(&latencies);
        assert_eq!(twice.sum().sum(), 2 * causes.sum().sum());
        assert_eq!(u128::from(twice.sum().sum()), all.sum());
        let mean = |c: &CausesByLatency, h: &Histogram| c.parts(h, &[99.0])[1].mean;
        assert_eq!(mean(&twice, &all), mean(&causes, &latencies));
        let mut one = Histogram::new();
        one.record(5);
        assert_eq!(CausesByLatency::default().parts(&one, &[50.0, 99.0]).len(), 1);
        assert!(CausesByLatency::default().parts(&Histogram::new(), &[50.0]).is_empty());
    }
}
