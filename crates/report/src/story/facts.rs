//! What the sentences are made of: the figures of a drive and of those beside it.

use ssdlab_bench::suite::{FOLDING_SHARE, is_as_declared};
use ssdlab_bench::{Outcome, Unsettled};

use super::steady::Steady;
use super::words::{iops, rounded};
use crate::headline::{ByCache, HEADLINES, Headline, are_level};
use crate::name;
use crate::number;
use crate::random_writes;
use crate::reach::Reach;
use crate::reference::{ReferenceDrive, beside};
use crate::review::{Review, ReviewedDevice};

/// What the sentences about a drive are made of.
pub(super) struct Facts<'a> {
    pub review: &'a Review,
    pub device: &'a ReviewedDevice,
    /// By name, as it is written.
    pub others: Vec<(String, &'a str, Values)>,
}

/// Whether the last part of a run of random writes is a steady state.
fn is_steady(run: &Outcome) -> bool {
    run.has_settled() && run.metrics.contains_key("iops_mean_tail")
}

/// The second from which on a run of random writes is taken for the steady state.
fn tail_from(run: &Outcome) -> Option<f64> {
    run.params.get("tail_from_seconds").and_then(serde_json::Value::as_f64)
}

/// A rate at which another drive goes on writing in sequence.
pub(super) struct Sustained<'f> {
    pub name: &'f str,
    pub rate: f64,
    /// Whether its writes were watched for long enough to say so.
    pub is_seen: bool,
}

/// Where the figures of another drive are from.
pub(super) enum Values {
    Shipped(&'static ReferenceDrive),
    Reviewed,
}

/// Of a drive whose figure is in no order with that of another.
const OF_ANOTHER: &str = "run over another span or time";

/// A rate that begins so many times above its mean has fallen on the way.
const FALLS_FROM: f64 = 1.3;

impl<'a> Facts<'a> {
    pub fn of(review: &'a Review, device: &'a ReviewedDevice) -> Facts<'a> {
        let others = if review.devices.len() > 1 {
            let rest = review.devices.iter().filter(|d| d.facts.name != device.facts.name);
            rest.map(|d| (name::pretty(&d.facts.name), d.facts.name.as_str(), Values::Reviewed)).collect()
        } else {
            let shipped = beside(&device.facts.name, device.facts.supports_trim);
            shipped.into_iter().map(|d| (name::pretty(&d.name), d.name.as_str(), Values::Shipped(d))).collect()
        };
        Facts { review, device, others }
    }

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

    /// The best of the others in a headline figure, by name.
    pub fn best_other(&self, headline: &Headline) -> Option<(&str, f64)> {
        let best = *self.others_by(headline).first()?;
        Some((self.others[best.0].0.as_str(), best.1))
    }

    /// The rate at which random writes to the fresh drive begin, if they do not keep it.
    pub fn first_random_writes(&self) -> Option<f64> {
        let (headline, mean) = self.headline("random-write")?;
        let first = self.metric(headline.test, headline.variant, "iops_max")?;
        (first >= FALLS_FROM * mean).then_some(first)
    }

    /// The best rate of sequential writes that another drive keeps, as far as is known.
    pub fn best_other_sustained(&self, headline: &Headline) -> Option<Sustained<'_>> {
        let rates = self.others_by(headline).into_iter().map(|(other, rate)| {
            let name = self.others[other].0.as_str();
            let Some(device) = self.review.device(self.others[other].1) else {
                return Sustained { name, rate, is_seen: false };
            };
            let facts = Facts::of(self.review, device);
            match facts.long_write() {
                Some((_, slowest)) => Sustained { name, rate: slowest, is_seen: true },
                // A test of a minute says nothing of the time after it.
                None => Sustained { name, rate, is_seen: facts.outcome("slc-cache", "").is_some() },
            }
        });
        rates.reduce(|best, other| if other.rate > best.rate { other } else { best })
    }

    /// How the other drive whose bar of sequential writes is the longest writes: at a rate that it keeps, or at several.
    pub fn best_other_writes(&self, headline: &Headline) -> Option<String> {
        let (other, rate) = self.others_by(headline).into_iter().next()?;
        let (name, key, _) = &self.others[other];
        let device = self.review.device(key);
        Some(match device.and_then(|device| Facts::of(self.review, device).long_write()) {
            // Its bar is of a run that may have gone on past the cache, and then is none of these rates.
            Some((rates, _)) => format!("{name} goes at {rates}"),
            None => format!("{name} reaches {rate:.0}"),
        })
    }

    /// Whether a headline figure puts the drives in an order: not the rate of the first gigabytes where the sequential writes of
    /// this drive or of one beside it are known to fall.
    pub fn puts_in_order(&self, key: &str) -> bool {
        let falls = |device| Facts::of(self.review, device).long_write().is_some();
        key != "sequential-write" || !self.review.devices.iter().any(falls)
    }

    /// Whether a quick run leaves the steady state to a full one, as of a set.
    pub fn is_left_to_a_full_run(&self) -> bool {
        self.random_writes().is_some_and(|o| o.is_unsettled_by(Unsettled::LeftToFullRun))
    }

    /// For how many seconds a device wrote back what it took of small writes, if a reader should know.
    fn writes_back_for(&self) -> Option<f64> {
        self.metric("analyzedisk", "", "flush_seconds").filter(|&seconds| seconds >= LONG_FLUSH)
    }

    /// What half of the small writes waited for longer, if a user notices it.
    fn noticed_wait(&self) -> Option<f64> {
        self.metric("analyzedisk", "", "latency_p50_write").filter(|&us| us >= NOTICED_US)
    }

    /// Of a device that took small writes into a cache and wrote them back for long after: until when it was busy.
    fn written_back(&self) -> Option<String> {
        let flush = self.writes_back_for().filter(|_| self.noticed_wait().is_none())?;
        Some(format!("into its cache; then it writes back for {flush:.0} s"))
    }

    /// The same of one whose cache was full by then for most of the writes: its figure is its own.
    pub fn cache_was_full(&self, headline: &Headline) -> Option<String> {
        let takes_all = headline.by_cache == ByCache::TakesAll;
        let (flush, wait) = self.writes_back_for().zip(self.noticed_wait()).filter(|_| takes_all)?;
        Some(format!(
            "half of the writes wait longer than {}, with a full cache; then it writes back for {flush:.0} s",
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

    /// Of a set or an adapter in the file server, whose writes are scattered over all of a full drive: the share of them, in per
    /// cent, that had not come to flash when the run ended, if it is most of them. How much a cache takes until it is full
    /// depends on the length of the run, not on the drives.
    fn kept_by_a_cache(&self, test: &str) -> Option<f64> {
        let scattered = test == "fileserver" && self.device.facts.kind == "array";
        let on_flash = self.metric(test, "", "waf_host").filter(|_| scattered)?;
        let kept = 100.0 * (1.0 - on_flash);
        (kept > MOSTLY).then_some(kept)
    }

    /// Whether a figure of this drive may be set against others': not what a cache took in a moment, and had still to write.
    pub fn carries(&self, headline: &Headline) -> bool {
        self.made_by_cache(headline).is_none()
    }

    /// Others whose figure is better than this drive's but [carries](Facts::carries) nothing: whoever sees their bar must hear of
    /// it where this drive is said to be ahead.
    pub fn but_for(&self, headline: &Headline, ours: f64) -> String {
        let is_left_out = |device: &&ReviewedDevice| {
            let better = headline.of(&self.review.outcomes, &device.facts.name).map(|m| m.value);
            device.facts.name != self.name()
                && better.is_some_and(|theirs| headline.order(theirs, ours).is_lt())
                && !Facts::of(self.review, device).carries(headline)
        };
        let left_out = self.review.devices.iter().filter(is_left_out);
        let left_out: Vec<&ReviewedDevice> = left_out.collect();
        let cached = |device: &&ReviewedDevice| Facts::of(self.review, device).kept_by_a_cache(headline.test).is_some();
        let names: Vec<String> = left_out.iter().map(|device| name::pretty(&device.facts.name)).collect();
        let unlike = self.unlike(headline);
        if names.is_empty() {
            let unlike = unlike.join(" and ");
            return if unlike.is_empty() { unlike } else { format!(" but for {unlike}, {OF_ANOTHER}") };
        }
        let by_cache = if left_out.iter().all(cached) { ByCache::TakesAll } else { headline.by_cache };
        let how = by_cache.in_words(names.len() > 1);
        let also =
            if unlike.is_empty() { String::new() } else { format!(", and {}, {OF_ANOTHER}", unlike.join(" and ")) };
        format!(" but for {}, which {how}{also}", names.join(" and "))
    }

    /// The same where it is said to be behind, which those that carry nothing do not change.
    pub fn but_for_unlike(&self, headline: &Headline) -> String {
        let unlike = self.unlike(headline);
        match unlike.is_empty() {
            true => String::new(),
            false => format!(", but for {}, {OF_ANOTHER}", unlike.join(" and ")),
        }
    }

    /// Steady random writes as a share of the best (`false`: the worst) of the others, by the means and by the medians of the
    /// seconds: the milder of both. `None` where one has this drive ahead and the other behind, as of a drive that writes in
    /// bursts: then neither is an order.
    pub fn steady_share(&self, of_best: bool) -> Option<f64> {
        let ours = self.steady()?;
        // Of one that has not settled there is no steady state to compare with.
        let others = self.others.iter().filter(|(_, device, values)| self.has_settled(device, values));
        let others: Vec<Steady> = others.filter_map(|(_, device, v)| self.steady_of_other(device, v)).collect();
        let share = |figure: fn(&Steady) -> f64| {
            let theirs = others.iter().map(figure).reduce(|a, b| if of_best { a.max(b) } else { a.min(b) })?;
            Some(figure(&ours) / theirs)
        };
        let (mean, level) = (share(|s| s.mean)?, share(|s| s.level)?);
        match (mean > 1.0, level > 1.0) {
            (true, true) => Some(mean.min(level)),
            (false, false) => Some(mean.max(level)),
            _ => None,
        }
    }

    fn has_settled(&self, device: &str, values: &Values) -> bool {
        match values {
            Values::Shipped(drive) => drive.has_settled(),
            Values::Reviewed => random_writes::compared(self.review, device).is_some_and(is_steady),
        }
    }

    /// How another drive writes at random in the last part of its run.
    fn steady_of_other(&self, device: &str, values: &Values) -> Option<Steady> {
        match values {
            Values::Shipped(drive) => Steady::of(drive.tail()),
            Values::Reviewed => Steady::of(&self.tail_of(device)?),
        }
    }

    /// Whether the run that a figure of another drive is from covered the same as that of this one.
    fn is_like(&self, headline: &Headline, device: &str, values: &Values) -> bool {
        let of = |device: &str| Reach::of_headline(self.review, headline, device);
        let theirs = match values {
            Values::Shipped(_) => Some(Reach::published(headline)),
            Values::Reviewed => of(device),
        };
        of(self.name()).zip(theirs).is_none_or(|(ours, theirs)| ours.is_like(&theirs))
    }

    /// Whether others have this figure, and all of them of runs that covered something else: then it is told by itself.
    pub fn stands_alone(&self, headline: &Headline) -> bool {
        let has = |(_, device, values): &(String, &str, Values)| match values {
            Values::Shipped(drive) => drive.figure(headline).is_some(),
            Values::Reviewed => headline.of(&self.review.outcomes, device).is_some(),
        };
        let mut others = self.others.iter().filter(|other| has(other)).peekable();
        others.peek().is_some() && others.all(|(_, device, values)| !self.is_like(headline, device, values))
    }

    /// Others of the review whose figure is of a run that covered something else.
    fn unlike(&self, headline: &Headline) -> Vec<String> {
        let is_unlike = |(_, device, values): &&(String, &str, Values)| {
            matches!(values, Values::Reviewed)
                && headline.of(&self.review.outcomes, device).is_some()
                && !self.is_like(headline, device, values)
        };
        self.others.iter().filter(is_unlike).map(|(label, ..)| label.clone()).collect()
    }

    /// The others that have this figure of runs that covered the same, the best first, by their places.
    pub fn others_by(&self, headline: &Headline) -> Vec<(usize, f64)> {
        let value = |(_, device, values): &'_ (String, &str, Values)| match values {
            Values::Shipped(drive) => drive.figure(headline),
            Values::Reviewed => {
                let other = || self.review.device(device);
                let carries = other().is_none_or(|d| Facts::of(self.review, d).carries(headline));
                headline.of(&self.review.outcomes, device).map(|m| m.value).filter(|_| carries)
            }
        };
        let comparable = self.others.iter().enumerate().filter(|(_, o)| self.is_like(headline, o.1, &o.2));
        let mut all: Vec<(usize, f64)> = comparable.filter_map(|(i, o)| Some((i, value(o)?))).collect();
        all.sort_by(|a, b| headline.order(a.1, b.1));
        all
    }

    pub fn steady(&self) -> Option<Steady> {
        // A run that has not settled has no steady state to describe.
        self.random_writes().filter(|run| is_steady(run))?;
        self.last_part()
    }

    /// Writes at random in the last part of the run, whether or not they had settled.
    pub fn last_part(&self) -> Option<Steady> {
        let last = Steady::of(&self.tail_of(self.name())?)?;
        // A smaller drive has smaller superblocks, and stalls more often for each.
        let in_small = self.review.outcomes.iter().any(|o| o.device == self.name() && o.small_by.is_some());
        Some(if in_small { Steady { period: None, ..last } } else { last })
    }

    /// How long that part is.
    pub fn last_part_seconds(&self) -> Option<f64> {
        let run = self.random_writes()?;
        Some(random_writes::curve_of(run).last()?[0] - tail_from(run)?)
    }

    /// Writes at random of a device in the last part of the run, second by second.
    fn tail_of(&self, device: &str) -> Option<Vec<f64>> {
        let run = random_writes::compared(self.review, device)?;
        let (from, curve) = (tail_from(run)?, random_writes::curve_of(run));
        let tail: Vec<f64> = curve.iter().filter(|p| p[0] > from).map(|p| p[1]).collect();
        let moment = curve.get(1).map_or(1.0, |second| second[0] - curve[0][0]);
        Some(pooled(&tail, moment))
    }

    /// The other drive of whose last part of a run of random writes this is the highest: a median, a mean. `settled`: only of
    /// those that had settled by then.
    pub fn best_other_by(&self, settled: bool, figure: impl Fn(&Steady) -> f64) -> Option<(&str, f64)> {
        let of = |(_, device, values): &'_ (String, &str, Values)| {
            let is_meant = !settled || self.has_settled(device, values);
            self.steady_of_other(device, values).filter(|_| is_meant).map(|steady| figure(&steady))
        };
        let figures = self.others.iter().enumerate().filter_map(|(i, o)| Some((i, of(o)?)));
        let (best, figure) = figures.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((self.others[best].0.as_str(), figure))
    }

    /// Other drives of the review whose writes at random were measured and came to no steady state, and where they were.
    pub fn unsettled(&self) -> Vec<String> {
        let so_far = |(label, device, _): &(String, &str, Values)| {
            random_writes::compared(self.review, device).filter(|run| !is_steady(run))?;
            let tail = Steady::of(&self.tail_of(device)?)?;
            Some(format!("{label} {}", not_settled(&tail)))
        };
        let reviewed = self.others.iter().filter(|o| matches!(o.2, Values::Reviewed));
        reviewed.filter_map(so_far).collect()
    }

    /// Whether some drive beside it, shipped ones among them, came to no steady state.
    pub fn some_other_is_unsettled(&self) -> bool {
        let is_shipped = |values: &Values| matches!(values, Values::Shipped(_));
        !self.unsettled().is_empty() || self.others.iter().any(|o| is_shipped(&o.2) && !self.has_settled(o.1, &o.2))
    }

    /// The rates of a write over the whole drive, into an SLC cache and past it, in MB/s, if they fall by more than a fifth.
    pub fn rates_of_cache(&self) -> Option<Vec<f64>> {
        let rate = |key: &str| self.metric("slc-cache", "", key);
        let stages = rate("stages").filter(|_| self.has_flash())? as u32;
        let rates: Vec<f64> = (1..=stages).map_while(|k| rate(&format!("stage{k}_bandwidth"))).collect();
        let slowest = rates.iter().copied().reduce(f64::min)?;
        (slowest < FALLS * rates[0]).then_some(rates)
    }

    /// Whether the cache is emptied while the host writes past it; `None` if that was not measured.
    pub fn folds_past_cache(&self) -> Option<bool> {
        let of = |key: &str| self.metric("slc-cache", "", key);
        let folded: Vec<f64> = (2..=of("stages")? as u32).map_while(|k| of(&format!("stage{k}_folded"))).collect();
        (!folded.is_empty()).then(|| folded.iter().any(|&folded| folded >= FOLDING_SHARE))
    }

    /// How much is written at the first of them: in GB, or as a share where the drive was measured in small, whose parts are in
    /// the proportions of the drive.
    fn first_stretch(&self) -> String {
        let of = |key: &str| self.metric("slc-cache", "", key);
        match (of("stage1_amount"), of("stage1_end")) {
            (Some(gb), _) => format!(" for the first {}", number::value(gb, "GB")),
            (None, Some(percent)) => {
                let of_drive =
                    number::bytes(rounded(percent / 100.0 * self.device.facts.capacity_bytes as f64 / 1e9) * 1e9);
                let percent = number::trimmed(percent, usize::from(percent < 10.0));
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
        if let Some(rates) = self.rates_of_cache() {
            let later: String = rates[1..].iter().map(|rate| format!(", then {rate:.0}")).collect();
            let slowest = rates.iter().copied().fold(f64::MAX, f64::min);
            return Some((format!("{:.0} MB/s{}{later}", rates[0], self.first_stretch()), slowest));
        }
        // The fill before the random writes tells the mean, and so does not say where the rate falls.
        if self.outcome("slc-cache", "").is_some() || !self.has_flash() {
            return None;
        }
        let (_, rate) = self.headline("sequential-write")?;
        let whole = self.of_random_writes("fill_bandwidth").filter(|&whole| whole < FALLS * rate)?;
        let means = format!(
            "{rate:.0} MB/s in the mean over the first part of the drive, {whole:.0} in the mean over all of it"
        );
        Some((means, whole))
    }
}

/// Of writes at random that came to no steady state: where they were.
pub(super) fn not_settled(tail: &Steady) -> String {
    format!("had not settled, at {} to {} so far", iops(tail.parts.0), iops(tail.parts.1))
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

/// A moment of a run must have so many completions in the mean, or its rate tells of nothing but when they were counted.
const ENOUGH: f64 = 8.0;

/// The rates of moments of so many seconds, of as many joined as have enough completions.
fn pooled(rates: &[f64], moment: f64) -> Vec<f64> {
    let each = moment * rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    // Of a drive that has stopped there is nothing to join.
    let joined = if each > 0.0 { (ENOUGH / each).ceil().max(1.0) as usize } else { 1 };
    if joined > rates.len() {
        return rates.to_vec();
    }
    rates.chunks_exact(joined).map(|part| part.iter().sum::<f64>() / joined as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_with_few_completions_are_joined() {
        // One write every 0.2 s, counted in eighths of a second: 8 a second or none.
        let counted: Vec<f64> = (0..80).map(|k| if k * 125 % 200 < 125 { 8.0 } else { 0.0 }).collect();
        let rates = pooled(&counted, 0.125);
        assert!(rates.len() >= 5 && rates.iter().all(|rate| (4.5..5.6).contains(rate)), "{rates:?}");
        for enough in [vec![100.0, 0.0, 90.0], vec![0.0, 0.0]] {
            assert_eq!(pooled(&enough, 1.0), enough);
        }
    }
}
