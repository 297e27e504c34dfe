//! How random writes go in a part of a run, second by second.

use ssdlab_bench::suite::{STEADY_TOLERANCE, means_of_parts};

use crate::headline::are_level;
use crate::number;

/// Seconds below this share of the usual rate are a stall.
const DEEP: f64 = 0.25;
/// Seconds within this share of the usual rate are on the line.
pub(super) const NEAR: f64 = 0.15;
/// A median below this share of the mean: a few quick seconds make the mean, and most seconds are far below it.
const BURSTS: f64 = 0.5;
/// A rate of fewer completions than this is counted in steps by which no reader should choose: one more or less is two per cent.
const COUNTED_FINELY: f64 = 50.0;

/// How random writes go once the drive has settled, or in the last part of a run that was too short for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Steady {
    /// How many seconds each value is of: of a drive that answers seldom more than one, and then a single second may be lower.
    pub moment: f64,
    /// The median of the values.
    pub level: f64,
    pub mean: f64,
    pub lowest: f64,
    pub highest: f64,
    /// Shares of the values, in per cent. Those near the usual rate, which is the mean where the median is [coarse](Steady::is_coarse).
    pub on_the_line: f64,
    pub deep: f64,
    /// Below half of the mean.
    pub below_half: f64,
    /// The least and the largest mean of the parts that the test judges by.
    pub parts: (f64, f64),
    /// How many of the values come from one stall to the next, if they come regularly; of the last part of a run, seconds.
    pub period: Option<f64>,
    /// Of the last part of a run, the usual rate of the stretch before it that is as long, if the run has one.
    pub before: Option<f64>,
}

impl Steady {
    /// Of the values of each second.
    pub fn of(iops: &[f64]) -> Option<Steady> {
        Steady::of_moments(iops, 1.0)
    }

    /// Of the values of moments of so many seconds. A period is then in moments.
    pub fn of_moments(iops: &[f64], moment: f64) -> Option<Steady> {
        let mut sorted = iops.to_vec();
        sorted.sort_by(f64::total_cmp);
        let level = *sorted.get(sorted.len() / 2)?;
        let mean = iops.iter().sum::<f64>() / iops.len() as f64;
        let share = |count: usize| 100.0 * count as f64 / iops.len() as f64;
        let count = |is: &dyn Fn(f64) -> bool| share(iops.iter().filter(|v| is(**v)).count());
        let deep: Vec<usize> = (0..iops.len()).filter(|&i| iops[i] < DEEP * level).collect();
        // From the begin of one dip to the begin of the next.
        let begins: Vec<usize> = deep.iter().copied().filter(|&i| i == 0 || iops[i - 1] >= DEEP * level).collect();
        let gaps: Vec<f64> = begins.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let gap = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
        let spread = gaps.iter().map(|g| (g - gap).abs()).sum::<f64>() / gaps.len().max(1) as f64;
        let period = (gaps.len() >= 5 && spread <= 0.35 * gap).then_some(gap);
        let parts = means_of_parts(iops);
        let line = if is_coarse(mean, moment) { mean } else { level };
        Some(Steady {
            moment,
            level,
            mean,
            lowest: sorted[0],
            highest: sorted[sorted.len() - 1],
            on_the_line: count(&|v| (v - line).abs() <= NEAR * line),
            deep: share(deep.len()),
            below_half: count(&|v| v < 0.5 * mean),
            parts: (parts.iter().copied().fold(f64::MAX, f64::min), parts.iter().copied().fold(0.0, f64::max)),
            period,
            before: None,
        })
    }

    /// Whether its values are of single seconds, or of parts of one.
    pub fn is_of_seconds(&self) -> bool {
        self.moment <= 1.0
    }

    /// What shares are of, in words.
    pub fn moments(&self) -> String {
        if self.moment == 1.0 {
            "the seconds".to_owned()
        } else {
            format!("all stretches of {} s", number::trimmed(self.moment, if self.moment < 1.0 { 3 } else { 1 }))
        }
    }

    /// Not of a drive that answers in so few of them that the median is none: a line at zero is no rate.
    pub fn is_flat(&self) -> bool {
        self.level > 0.0 && self.on_the_line >= 95.0 && self.deep == 0.0
    }

    /// Whether it is flat, and as far as is known was at that rate before: the last part of a curve that climbs may lie on its top.
    pub fn holds(&self) -> bool {
        let is_near = |before: f64| (before - self.mean).abs() <= STEADY_TOLERANCE * self.mean;
        self.is_flat() && self.before.is_none_or(is_near)
    }

    /// Whether so few completions are in each value that its median comes in steps: of two drives that are level it would tell figures
    /// that are not.
    pub fn is_coarse(&self) -> bool {
        is_coarse(self.mean, self.moment)
    }

    /// The median where it is no matter of one completion more or less; else the mean.
    #[must_use]
    pub fn level_or_mean(&self) -> f64 {
        if self.is_coarse() { self.mean } else { self.level }
    }

    /// Where it has settled: of a flat line the mean, which is the figure of the bars beside it, and where the median is coarse; else the
    /// median.
    pub fn figure(&self) -> f64 {
        if self.is_flat() { self.mean } else { self.level_or_mean() }
    }

    /// The mean, where that is another figure than the one that is told: bars are of it.
    pub fn mean_beside(&self) -> Option<f64> {
        (!are_level(self.figure(), self.mean)).then_some(self.mean)
    }

    pub fn stalls(&self) -> bool {
        self.deep >= 0.5
    }

    /// Whether most seconds are slow and a few so quick that the mean tells of neither.
    pub fn bursts(&self) -> bool {
        self.level < BURSTS * self.mean
    }
}

fn is_coarse(mean: f64, moment: f64) -> bool {
    mean * moment < COUNTED_FINELY
}
