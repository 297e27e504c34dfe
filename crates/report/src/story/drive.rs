//! What a drive of a review shows by itself.

use ssdlab_bench::suite::{COMPLETIONS_OF_A_MOMENT, FOLDING_SHARE, is_as_declared};
use ssdlab_bench::{Outcome, Unsettled};

use super::steady::{NEAR, Steady};
use super::words::iops;
use crate::headline::{ByCache, HEADLINES, Headline, are_level};
use crate::number;
use crate::random_writes;
use crate::reach;
use crate::review::{Review, ReviewedDevice};

/// A drive of a review with what was measured on it.
#[derive(Clone, Copy)]
pub(super) struct Drive<'a> {
    pub review: &'a Review,
    pub device: &'a ReviewedDevice,
}

/// Whether the last part of a run of random writes is a steady state.
fn is_steady(run: &Outcome) -> bool {
    run.has_settled() && run.metrics.contains_key(random_writes::MEAN)
}

/// The second from which on a run of random writes is taken for the steady state.
fn tail_from(run: &Outcome) -> Option<f64> {
    run.params.get("tail_from_seconds").and_then(serde_json::Value::as_f64)
}

/// A rate that begins so many times above its mean has fallen on the way.
const FALLS_FROM: f64 = 1.3;

impl<'a> Drive<'a> {
    /// Whether it is made of flash, as far as it says: only such drives have a spare area.
    pub fn has_flash(&self) -> bool {
        self.device.facts.over_provisioning_percent.is_some()
    }

    pub fn name(&self) -> &str {
        &self.device.facts.name
    }

    /// A run of a test in this variant, or in any if that is empty. What ran with other parameters than the test's own is
    /// another test, which no sentence is about.
    pub fn outcome(&self, test: &str, variant: &str) -> Option<&'a Outcome> {
        let is_meant =
            |o: &&Outcome| o.test == test && (variant.is_empty() || o.variant == variant) && is_as_declared(o);
        self.review.outcomes.iter().filter(|o| o.device == self.name()).find(is_meant)
    }

    pub fn metric(&self, test: &str, variant: &str, key: &str) -> Option<f64> {
        self.outcome(test, variant)?.metrics.get(key).map(|m| m.value)
    }

    /// Its run of random writes over every address.
    pub fn random_writes(&self) -> Option<&'a Outcome> {
        random_writes::compared(self.review, self.name())
    }

    /// A figure of that run.
    pub fn of_random_writes(&self, key: &str) -> Option<f64> {
        self.random_writes()?.metrics.get(key).map(|m| m.value)
    }

    pub fn headline(&self, key: &str) -> Option<(Headline, f64)> {
        let headline = HEADLINES.into_iter().find(|h| h.key == key && h.is_shown(self.review.quick))?;
        Some((headline, headline.of(&self.review.outcomes, self.name())?.value))
    }

    /// In how much of the desktop mix a request waits over a second, in per cent of its seconds: not of a drive in small, which has
    /// other waits.
    pub fn seconds_of_desktop_over_1s(&self) -> Option<f64> {
        self.metric("storagemark-desktop", "", "seconds_over_1s").filter(|_| !self.review.is_in_small())
    }

    /// The rate at which random writes to the fresh drive begin, if they do not keep it.
    pub fn first_random_writes(&self) -> Option<f64> {
        let (headline, mean) = self.headline("random-write")?;
        let first = self.metric(headline.test, headline.variant, "iops_max")?;
        (first >= FALLS_FROM * mean).then_some(first)
    }

    /// Whether a quick run leaves this figure to a full one, as of a set.
    pub fn is_left(&self, headline: &Headline) -> bool {
        let run = headline.outcome(&self.review.outcomes, self.name());
        run.is_some_and(|o| o.is_unsettled_by(Unsettled::LeftToFullRun))
    }

    /// Whether it leaves the steady state to a full one.
    pub fn is_left_to_a_full_run(&self) -> bool {
        self.random_writes().is_some_and(|o| o.is_unsettled_by(Unsettled::LeftToFullRun))
    }

    /// For how many seconds a device wrote back what it took of small writes, in words, if a reader should know: of one that had
    /// not done so when it was last watched, how long that was.
    fn writes_back_for(&self) -> Option<String> {
        let run = self.outcome("analyzedisk", "")?;
        match (run.metrics.get("flush_seconds"), run.small_by) {
            (Some(flush), None) => (flush.value >= LONG_FLUSH).then(|| format!("{:.0} s", flush.value)),
            // As many requests less take as much less time.
            (Some(flush), Some(by)) => {
                (flush.value >= LONG_FLUSH / f64::from(by)).then(|| "a time that only a full run can tell".to_owned())
            }
            (None, _) => {
                let watched = run.params.get("flush_limit_seconds")?.as_f64()?;
                Some(format!("more than {} s", number::trimmed(watched, 0)))
            }
        }
    }

    /// What half of the small writes waited for longer, if a user notices it.
    fn noticed_wait(&self) -> Option<f64> {
        self.metric("analyzedisk", "", "latency_p50_write").filter(|&us| us >= NOTICED_US)
    }

    /// Whether most of what was written at random lay in no flash yet when the last of it was answered, as far as the device tells: of a
    /// drive that had programmed it, whatever goes on then is of what was written before.
    fn still_in_a_cache(&self) -> bool {
        let on_flash = self.metric("analyzedisk", "", "waf_host").filter(|_| self.device.facts.kind == "ssd");
        on_flash.is_none_or(|on_flash| 100.0 * (1.0 - on_flash) > MOSTLY)
    }

    /// Of a device that took small writes into a cache and wrote them back for long after: until when it was busy.
    fn written_back(&self) -> Option<String> {
        let flush = self.writes_back_for().filter(|_| self.noticed_wait().is_none() && self.still_in_a_cache())?;
        Some(format!("into its cache; then it writes back for {flush}"))
    }

    /// The same of one whose cache was full by then for most of the writes: its figure is its own.
    fn cache_was_full(&self, headline: &Headline) -> Option<String> {
        let takes_all = headline.by_cache == ByCache::TakesAll;
        let (flush, wait) = self.writes_back_for().zip(self.noticed_wait()).filter(|_| takes_all)?;
        Some(format!(
            "half of the writes wait longer than {}, with a full cache; then it writes back for {flush}",
            number::latency(wait)
        ))
    }

    /// Of a test in which most of the time went by without an answer, although most requests had theirs at once: its rate
    /// is of what a cache took in between.
    fn answered_in_bursts(&self, test: &str) -> Option<String> {
        let of = |key| self.metric(test, "", key);
        if let Some(gap) = of("longest_gap_share").filter(|&share| share >= LONG_GAP) {
            return Some(format!(
                "no answer for {gap:.0} % of the run at a stretch; its rate is of what came before or after"
            ));
        }
        if let Some(kept) = self.kept_by_a_cache(test) {
            return Some(format!(
                "{kept:.0} % of what it wrote still lay in a cache when the run ended; its rate is of a cache that fills"
            ));
        }
        // A drive by itself is as slow as that; an adapter's cache answers for it while it has room.
        let silent = of("stall_share").filter(|&share| share >= MOSTLY && self.device.facts.kind == "array")?;
        of("latency_p50").filter(|&us| us < NOTICED_US)?;
        let longest =
            of("stall_longest").map_or(String::new(), |us| format!(", up to {} at a stretch", number::latency(us)));
        Some(format!("nothing is answered in {silent:.0} % of the time{longest}; its rate is of what came in between"))
    }

    /// What a cache did that made this figure of the drive, if one did.
    pub fn made_by_cache(&self, headline: &Headline) -> Option<String> {
        match headline.by_cache {
            ByCache::Never => None,
            ByCache::TakesAll => self.written_back(),
            ByCache::AnswersBetween => self.answered_in_bursts(headline.test),
        }
    }

    /// What a reader has to know of a figure that a cache had a part in.
    pub fn part_of_cache(&self, headline: &Headline) -> Option<String> {
        self.made_by_cache(headline).or_else(|| self.cache_was_full(headline))
    }

    /// Of a set or an adapter in the file server, whose writes are scattered over all of a full drive: the share of them, in per
    /// cent, that had not come to flash when the run ended, if it is most of them. How much a cache takes until it is full
    /// depends on the length of the run, not on the drives.
    pub fn kept_by_a_cache(&self, test: &str) -> Option<f64> {
        let scattered = test == "fileserver" && self.device.facts.kind == "array";
        let on_flash = self.metric(test, "", "waf_host").filter(|_| scattered)?;
        let kept = 100.0 * (1.0 - on_flash);
        (kept > MOSTLY).then_some(kept)
    }

    /// Whether a figure of this drive may be set against others': not what a cache took in a moment, and had still to write.
    pub fn carries(&self, headline: &Headline) -> bool {
        self.made_by_cache(headline).is_none()
    }

    /// Whether the lowest second of its random writes may be told: not of a quick run, whose moments are none, nor where several
    /// seconds were taken together.
    pub fn tells_of_the_lowest(&self, last: &Steady) -> bool {
        let is_told = HEADLINES.iter().any(|h| h.metric == random_writes::LOWEST && h.is_shown(self.review.quick));
        is_told && last.is_of_seconds()
    }

    /// Whether its random writes had settled when the run ended.
    pub fn has_settled(&self) -> bool {
        self.random_writes().is_some_and(is_steady)
    }

    pub fn steady(&self) -> Option<Steady> {
        // A run that has not settled has no steady state to describe.
        self.last_part().filter(|_| self.has_settled())
    }

    /// Writes at random in the last part of the run, whether or not they had settled.
    pub fn last_part(&self) -> Option<Steady> {
        let last = self.tail()?;
        // A smaller drive has smaller superblocks, and stalls more often for each.
        let in_small = self.review.outcomes.iter().any(|o| o.device == self.name() && o.small_by.is_some());
        Some(if in_small { Steady { period: None, ..last } } else { last })
    }

    /// How long that part is.
    pub fn last_part_seconds(&self) -> Option<f64> {
        let run = self.random_writes()?;
        Some(random_writes::curve_of(run).last()?[0] - tail_from(run)?)
    }

    /// Writes at random in the last part of the run, in the seconds of that run.
    pub fn tail(&self) -> Option<Steady> {
        tail_of(self.random_writes()?)
    }

    /// The first stage of a write over the whole drive that is not the write buffer's.
    fn first_past_buffer(&self) -> u32 {
        1 + self.metric("slc-cache", "", "buffer_stages").unwrap_or_default() as u32
    }

    /// The rates of a write over the whole drive, in MB/s, and the stage that the first of them is of, if they fall by more than a
    /// fifth. What the write buffer takes is no part of a copy, unless nothing else falls: then it is what a short test is made by.
    fn falling_stages(&self) -> Option<(u32, Vec<f64>)> {
        let rate = |key: &str| self.metric("slc-cache", "", key);
        let stages = rate("stages")? as u32;
        let from = |first: u32| {
            let rates: Vec<f64> = (first..=stages).map_while(|k| rate(&format!("stage{k}_bandwidth"))).collect();
            let slowest = rates.iter().copied().reduce(f64::min)?;
            (slowest < FALLS * rates[0]).then_some((first, rates))
        };
        from(self.first_past_buffer()).or_else(|| from(1))
    }

    /// The rates of a write over the whole drive, as into a cache and past it, in MB/s, if they fall by more than a fifth.
    pub fn rates_of_cache(&self) -> Option<Vec<f64>> {
        self.falling_stages().map(|(_, rates)| rates)
    }

    /// Whether what they fall from is the rate of the write buffer.
    pub fn falls_with_its_buffer(&self) -> bool {
        self.falling_stages().is_some_and(|(first, _)| first < self.first_past_buffer())
    }

    /// Whether a write over the whole drive was measured: a test of a minute says nothing of the time after it.
    pub fn is_written_whole(&self) -> bool {
        self.outcome("slc-cache", "").is_some() || self.of_random_writes("fill_bandwidth").is_some()
    }

    /// The mean rate of such a write, in MB/s: that of the fill before the random writes only where there is no run that was
    /// made for it.
    pub fn mean_of_whole(&self) -> Option<f64> {
        match self.outcome("slc-cache", "") {
            Some(run) => run.metrics.get("bandwidth").map(|mean| mean.value),
            None => self.of_random_writes("fill_bandwidth"),
        }
    }

    /// Whether the cache is emptied while the host writes past it; `None` if that was not measured.
    pub fn folds_past_cache(&self) -> Option<bool> {
        let of = |key: &str| self.metric("slc-cache", "", key);
        let folded: Vec<f64> = (self.first_past_buffer() + 1..=of("stages")? as u32)
            .map_while(|k| of(&format!("stage{k}_folded")))
            .collect();
        (!folded.is_empty()).then(|| folded.iter().any(|&folded| folded >= FOLDING_SHARE))
    }

    /// How much is written up to the end of this stage: in GB or MB, or as a share where the drive was measured in small,
    /// whose parts are in the proportions of the drive.
    fn first_stretch(&self, first: u32) -> String {
        let of = |stage: u32, key: &str| self.metric("slc-cache", "", &format!("stage{stage}_{key}"));
        let amount = (1..=first).map(|stage| of(stage, "amount")).sum::<Option<f64>>();
        match (amount, of(first, "end")) {
            (Some(gb), _) if gb < 1.0 => format!(" for the first {}", number::value(1e3 * gb, "MB")),
            (Some(gb), _) => format!(" for the first {}", number::value(gb, "GB")),
            (None, Some(percent)) => {
                let of_drive = about(percent / 100.0 * self.device.facts.capacity_bytes as f64);
                let percent = reach::percent(percent);
                format!(" for the first {percent} % of the drive (about {of_drive})")
            }
            (None, None) => " at first".to_owned(),
        }
    }

    /// The same, of a bar that may be none of these rates.
    pub fn bar_of_long_write(&self) -> Option<String> {
        let (rates, _) = self.long_write()?;
        let bar = self.headline("sequential-write").map(|(_, rate)| rate);
        let is_mean =
            self.rates_of_cache().zip(bar).is_some_and(|(rates, bar)| !rates.iter().any(|&r| are_level(r, bar)));
        Some(if is_mean { format!("{rates}; the bar is the mean of its test") } else { rates })
    }

    /// What becomes of sequential writes that go on: "517 MB/s for the first 120 GB, then 64", and the slowest of these
    /// rates; `None` if they do not fall, or if that was not measured.
    pub fn long_write(&self) -> Option<(String, f64)> {
        if let Some((first, rates)) = self.falling_stages() {
            let later: String = rates[1..].iter().map(|rate| format!(", then {rate:.0}")).collect();
            let slowest = rates.iter().copied().fold(f64::MAX, f64::min);
            return Some((format!("{:.0} MB/s{}{later}", rates[0], self.first_stretch(first)), slowest));
        }
        // A mean, which does not say where the rate falls: as of a disk, whose tracks get shorter without a step.
        let (_, rate) = self.headline("sequential-write")?;
        let whole = self.mean_of_whole().filter(|&whole| whole < FALLS * rate)?;
        let first = if self.device.facts.kind == "hdd" {
            "at its outer tracks"
        } else {
            "in the mean over the first part of the drive"
        };
        Some((format!("{rate:.0} MB/s {first}, {whole:.0} in the mean over all of it"), whole))
    }
}

/// Of writes at random that came to no steady state: where they were.
pub(super) fn not_settled(run: &Outcome, tail: &Steady) -> String {
    if run.is_too_short_to_tell() {
        return format!("too few writes to tell, {} a second in the mean so far", iops(tail.mean));
    }
    format!("had not settled, at {} to {} so far", iops(tail.parts.0), iops(tail.parts.1))
}

/// An amount of data that is known to a few digits: to a gigabyte, and of less than ten to two digits.
fn about(bytes: f64) -> String {
    let step = libm::pow(10.0, libm::floor(libm::log10(bytes.max(1.0))) - 1.0).clamp(1.0, 1e9);
    number::bytes((bytes / step).round() * step)
}

/// Seconds of writing back that a reader should know of.
const LONG_FLUSH: f64 = 5.0;

/// A gap of this share of a run, in per cent: what was answered before it is no rate.
const LONG_GAP: f64 = 25.0;

/// Most of the time, in per cent.
const MOSTLY: f64 = 50.0;

/// A wait that a user notices, in microseconds: that of a device's cache is far shorter.
const NOTICED_US: f64 = 10_000.0;

/// Writes that fall to less than this share of their first rate are said to fall.
const FALLS: f64 = 0.8;

/// Writes at random in the last part of a run.
pub(super) fn tail_of(run: &Outcome) -> Option<Steady> {
    let (from, curve) = (tail_from(run)?, random_writes::curve_of(run));
    let length = curve.last()?[0] - from;
    let before = stretch_of(curve, (from - length, from)).filter(|_| from >= length);
    Some(Steady { before: before.map(|s| s.level_or_mean()), ..stretch_of(curve, (from, f64::INFINITY))? })
}

/// The same in a part of the seconds of a run.
fn stretch_of(curve: &[[f64; 2]], (from, to): (f64, f64)) -> Option<Steady> {
    let values: Vec<f64> = curve.iter().filter(|p| p[0] > from && p[0] <= to).map(|p| p[1]).collect();
    let moment = curve.get(1).map_or(1.0, |second| second[0] - curve[0][0]);
    let (rates, joined) = pooled(&values, moment);
    let moment = joined as f64 * moment;
    let of_rates = Steady::of_moments(&rates, moment)?;
    Some(Steady { period: of_rates.period.map(|values| values * moment), ..of_rates })
}

/// Completions that a part of a second must have in the mean for its rate to tell of a drive that varies: one more or less, by when
/// they were counted, is then a fifth of what is still near the usual rate.
const COMPLETIONS_OF_A_PART: f64 = 5.0 / NEAR;

/// The rates of moments of so many seconds, of as many joined as have enough completions in the mean; and how many that are. Of whole
/// seconds no more than must be: a stall shall not be hidden in them.
fn pooled(rates: &[f64], moment: f64) -> (Vec<f64>, usize) {
    let each = moment * rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    // Of a drive that has stopped there is nothing to join.
    let having = |completions: f64| if each > 0.0 { (completions / each).ceil().max(1.0) as usize } else { 1 };
    let of_a_second = (1.0 / moment).floor().max(1.0) as usize;
    let joined = having(COMPLETIONS_OF_A_PART).min(of_a_second).max(having(COMPLETIONS_OF_A_MOMENT));
    if joined > rates.len() {
        return (rates.to_vec(), 1);
    }
    (rates.chunks_exact(joined).map(|part| part.iter().sum::<f64>() / joined as f64).collect(), joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_with_few_completions_are_joined() {
        // One write every 0.2 s, counted in eighths of a second: 8 a second or none.
        let counted: Vec<f64> = (0..80).map(|k| if k * 125 % 200 < 125 { 8.0 } else { 0.0 }).collect();
        let (rates, joined) = pooled(&counted, 0.125);
        assert_eq!(joined, 13);
        assert!(rates.len() >= 5 && rates.iter().all(|rate| (4.5..5.6).contains(rate)), "{rates:?}");
        // 120 writes a second, counted so.
        let counted: Vec<f64> =
            [14.0, 16.0, 15.0].into_iter().cycle().take(600).map(|count: f64| count * 8.0).collect();
        let (rates, joined) = pooled(&counted, 0.125);
        assert!(joined == 3 && rates.iter().all(|rate| (rate / 120.0 - 1.0).abs() < NEAR), "{rates:?}");
        for enough in [vec![100.0, 0.0, 90.0], vec![0.0, 0.0]] {
            assert_eq!(pooled(&enough, 1.0), (enough, 1));
        }
    }
}
