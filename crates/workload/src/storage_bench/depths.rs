//! A path of queue depths with a given number of requests at each depth.
//!
//! A host that sends one request at a time deepens its queue by one at most, so a depth of 8 is only reached through
//! 1 to 7. The path is therefore made of hills: up one by one to a peak, along the peak for a while, and down to
//! nothing. From the deepest bin to the shallowest, hills are put in until the bin has its number of requests; the
//! flanks of higher hills count in the bins that they pass. Hills come in random order; the counts are exact.

use ssdlab_core::Rng;

use super::apportion::apportion;
use super::published::{DEPTH_LIMITS, Trace};

/// Peaks of the hills, a bin each; the last is chosen by the mean.
const PEAKS: [u32; 8] = [1, 2, 3, 5, 8, 16, 28, 64];
const DEEPEST: u32 = 400;
/// From here on a queue counts as deep: the quarter or so of the requests of each trace that others are waited with.
pub(super) const DEEP: u32 = 3;

/// Hills of one height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hills {
    peak: u32,
    /// How many there are.
    hills: u64,
    /// Requests on all of their peaks together.
    on_peaks: u64,
}

/// The hills of a path; deterministic. [`Path`] puts them in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hillscape {
    hills: [Hills; 8],
}

impl Hillscape {
    pub(super) fn new(trace: Trace, requests: u64) -> Self {
        let bins = apportion(&trace.depth_percent(), requests);
        match trace.published().mean_depth {
            None => Self::with_peak(&bins, trace.estimate().deepest),
            Some(mean) => (33..=DEEPEST)
                .map(|peak| Self::with_peak(&bins, peak))
                .min_by(|a, b| (a.mean() - mean).abs().total_cmp(&(b.mean() - mean).abs()))
                .unwrap_or_else(|| Self::with_peak(&bins, PEAKS[7])),
        }
    }

    fn with_peak(bins: &[u64], deepest: u32) -> Self {
        let mut left: Vec<u64> = bins.to_vec();
        let mut hills = [Hills::default(); 8];
        for bin in (0..hills.len()).rev() {
            let first = DEPTH_LIMITS[bin].0;
            let peak = if bin == 7 { deepest } else { PEAKS[bin] };
            let flank = u64::from(peak - first);
            // As many requests on the peak as on the flank within the bin, and one more: half of the bin each.
            let each = 2 * flank + if bin < 2 { 1 } else { 2 };
            // What the flanks below can carry.
            let carried = (0..bin)
                .map(|b| left[b] / u64::from(DEPTH_LIMITS[b].1 - DEPTH_LIMITS[b].0 + 1))
                .min()
                .unwrap_or(u64::MAX);
            if left[bin] == 0 {
                continue;
            }
            if carried == 0 {
                // A trace too short to climb so high: the next bin takes these.
                left[bin - 1] += left[bin];
                continue;
            }
            let count = (left[bin] / each).clamp(1, carried);
            // Fewer requests than one hill to its peak would need: a lower hill.
            let peak = peak.min(first + u32::try_from(left[bin] - 1).unwrap_or(u32::MAX));
            let flanks = count * u64::from(peak - first);
            hills[bin] = Hills { peak, hills: count, on_peaks: left[bin] - flanks };
            for b in 0..bin {
                left[b] -= count * u64::from(DEPTH_LIMITS[b].1 - DEPTH_LIMITS[b].0 + 1);
            }
        }
        // Hills of height 1 are single requests.
        hills[0].hills = hills[0].on_peaks;
        Hillscape { hills }
    }

    fn mean(&self) -> f64 {
        let (mut sum, mut requests) = (0.0, 0.0);
        for h in &self.hills {
            let (peak, n) = (f64::from(h.peak), h.hills as f64);
            let flank = (peak - 1.0).max(0.0);
            sum += n * flank * peak / 2.0 + peak * h.on_peaks as f64;
            requests += n * flank + h.on_peaks as f64;
        }
        sum / requests
    }

    /// Share of the requests that are sent at [`DEEP`] or deeper.
    pub(super) fn deep_share(&self) -> f64 {
        let (mut deep, mut all) = (0, 0);
        for h in &self.hills {
            let flank = u64::from(h.peak.saturating_sub(1));
            let deep_flank = u64::from(h.peak.saturating_sub(DEEP));
            all += h.hills * flank + h.on_peaks;
            deep += h.hills * deep_flank + if h.peak >= DEEP { h.on_peaks } else { 0 };
        }
        deep as f64 / all.max(1) as f64
    }

    /// Every hill begins at depth 1: so many requests are sent to a drive at rest.
    pub(super) fn starts(&self) -> u64 {
        self.hills.iter().map(|h| h.hills).sum()
    }
}

/// The depths one after the other.
#[derive(Clone, Debug)]
pub(super) struct Path {
    left: [Hills; 8],
    starts_left: u64,
    depth: u32,
    peak: u32,
    /// Requests still to come on the present peak.
    on_peak: u64,
    rng: Rng,
}

impl Path {
    pub(super) fn new(scape: &Hillscape, rng: Rng) -> Self {
        Path { left: scape.hills, starts_left: scape.starts(), depth: 0, peak: 0, on_peak: 0, rng }
    }

    /// The next request's depth, itself included, and whether the drive is at rest before it. 0 at the end.
    #[inline]
    pub(super) fn next(&mut self) -> (u32, bool) {
        if self.depth < self.peak {
            self.depth += 1;
            if self.depth == self.peak {
                self.on_peak -= 1;
            }
            return (self.depth, false);
        }
        if self.on_peak > 0 {
            self.on_peak -= 1;
            return (self.depth, false);
        }
        self.begin_hill()
    }

    fn begin_hill(&mut self) -> (u32, bool) {
        if self.starts_left == 0 {
            return (0, false);
        }
        let mut draw = self.rng.below(self.starts_left);
        let kind = self.left.iter_mut().find(|h| {
            let here = draw < h.hills;
            if !here {
                draw -= h.hills;
            }
            here
        });
        let hills = kind.expect("the hills left sum to the starts left");
        // An equal share of what is left for the peaks, rounded at random so that nothing piles up at the end.
        let share = hills.on_peaks / hills.hills;
        let on_peak = share + u64::from(self.rng.chance(hills.on_peaks % hills.hills, hills.hills));
        hills.on_peaks -= on_peak;
        hills.hills -= 1;
        self.starts_left -= 1;
        (self.depth, self.peak, self.on_peak) = (1, hills.peak, on_peak);
        if self.peak == 1 {
            self.on_peak -= 1;
        }
        (1, true)
    }

    /// Hills not yet begun, the present one not counted.
    pub(super) fn starts_left(&self) -> u64 {
        self.starts_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage_bench::depth_bin;

    #[test]
    fn the_path_climbs_by_one_and_counts_out_exactly() {
        for trace in Trace::ALL {
            for requests in [10_000u64, 123_457, 1_000_000] {
                let mut path = Path::new(&Hillscape::new(trace, requests), Rng::new(3));
                let mut bins = vec![0u64; 8];
                let mut before = 0;
                loop {
                    let (depth, rested) = path.next();
                    if depth == 0 {
                        break;
                    }
                    assert!(depth <= before + 1, "{before} to {depth}");
                    assert!(!rested || depth == 1);
                    bins[depth_bin(depth)] += 1;
                    before = depth;
                }
                assert_eq!(bins, apportion(&trace.depth_percent(), requests), "{trace:?} {requests}");
            }
        }
    }

    #[test]
    fn a_trace_too_short_for_deep_queues_still_has_all_its_requests() {
        for requests in 1..300 {
            let mut path = Path::new(&Hillscape::new(Trace::Destroyer, requests), Rng::new(3));
            assert_eq!(std::iter::from_fn(|| Some(path.next().0).filter(|&d| d > 0)).count() as u64, requests);
        }
    }
}
