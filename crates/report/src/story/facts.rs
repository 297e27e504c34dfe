//! What the sentences about a drive are made of: its figures beside those of others.

use std::ops::Deref;

use super::drive::{Drive, not_settled};
use super::steady::Steady;
use crate::headline::{ByCache, Headline};
use crate::name;
use crate::reach::Reach;
use crate::reference::{ReferenceDrive, beside};
use crate::review::{Review, ReviewedDevice};

/// A drive, and those that it is set beside.
pub(super) struct Facts<'a> {
    drive: Drive<'a>,
    pub others: Vec<Other<'a>>,
}

/// A drive that one is set beside.
pub(super) struct Other<'a> {
    /// As it is written.
    pub name: String,
    source: Source<'a>,
}

/// Where its figures are from.
enum Source<'a> {
    Shipped(&'static ReferenceDrive),
    Reviewed(Drive<'a>),
}

/// A rate at which another drive goes on writing in sequence.
pub(super) struct Sustained<'f> {
    pub name: &'f str,
    pub rate: f64,
    /// Whether its writes were watched for long enough to say so.
    pub is_seen: bool,
}

/// Of a drive whose figure is in no order with that of another.
const OF_ANOTHER: &str = "run over another span or time";

impl<'a> Other<'a> {
    /// If it is one of the review.
    fn reviewed(&self) -> Option<&Drive<'a>> {
        match &self.source {
            Source::Shipped(_) => None,
            Source::Reviewed(drive) => Some(drive),
        }
    }

    /// A headline figure of it.
    fn figure(&self, headline: &Headline) -> Option<f64> {
        match &self.source {
            Source::Shipped(drive) => drive.figure(headline),
            Source::Reviewed(drive) => headline.of(&drive.review.outcomes, drive.name()).map(|m| m.value),
        }
    }

    /// What the run that this figure is from covered.
    fn reach(&self, headline: &Headline) -> Option<Reach> {
        match &self.source {
            Source::Shipped(_) => Some(Reach::published(headline)),
            Source::Reviewed(drive) => Reach::of_headline(drive.review, headline, drive.name()),
        }
    }

    /// Whether its random writes had settled when their run ended.
    fn has_settled(&self) -> bool {
        match &self.source {
            Source::Shipped(drive) => drive.has_settled(),
            Source::Reviewed(drive) => drive.has_settled(),
        }
    }

    /// How it writes at random in the last part of that run.
    fn tail(&self) -> Option<Steady> {
        match &self.source {
            Source::Shipped(drive) => Steady::of(drive.tail()),
            Source::Reviewed(drive) => drive.tail(),
        }
    }
}

impl<'a> Deref for Facts<'a> {
    type Target = Drive<'a>;

    fn deref(&self) -> &Drive<'a> {
        &self.drive
    }
}

impl<'a> Facts<'a> {
    pub fn of(review: &'a Review, device: &'a ReviewedDevice) -> Facts<'a> {
        let others = if review.devices.len() > 1 {
            let rest = review.devices.iter().filter(|d| d.facts.name != device.facts.name);
            let other = |device: &'a ReviewedDevice| Other {
                name: name::pretty(&device.facts.name),
                source: Source::Reviewed(Drive { review, device }),
            };
            rest.map(other).collect()
        } else {
            let shipped = beside(&device.facts.name, device.facts.supports_trim).into_iter();
            shipped.map(|d| Other { name: name::pretty(&d.name), source: Source::Shipped(d) }).collect()
        };
        Facts { drive: Drive { review, device }, others }
    }

    /// The best of the others in a headline figure, by name.
    pub fn best_other(&self, headline: &Headline) -> Option<(&str, f64)> {
        self.others_by(headline).first().map(|&(other, theirs)| (other.name.as_str(), theirs))
    }

    /// The best rate of sequential writes that another drive keeps, as far as is known.
    pub fn best_other_sustained(&self, headline: &Headline) -> Option<Sustained<'_>> {
        let rates = self.others_by(headline).into_iter().map(|(other, rate)| {
            let slowest = other.reviewed().and_then(Drive::long_write).map(|(_, slowest)| slowest);
            // A test of a minute says nothing of the time after it.
            let is_seen = || other.reviewed().is_some_and(|drive| drive.outcome("slc-cache", "").is_some());
            Sustained { name: &other.name, rate: slowest.unwrap_or(rate), is_seen: slowest.is_some() || is_seen() }
        });
        rates.reduce(|best, other| if other.rate > best.rate { other } else { best })
    }

    /// How the other drive whose bar of sequential writes is the longest writes: at a rate that it keeps, or at several.
    pub fn best_other_writes(&self, headline: &Headline) -> Option<String> {
        let (other, rate) = self.others_by(headline).into_iter().next()?;
        Some(match other.reviewed().and_then(Drive::long_write) {
            // Its bar is of a run that may have gone on past the cache, and then is none of these rates.
            Some((rates, _)) => format!("{} goes at {rates}", other.name),
            None => format!("{} reaches {rate:.0}", other.name),
        })
    }

    /// Whether a headline figure puts the drives in an order: not the rate of the first gigabytes where the sequential writes of
    /// this drive or of one beside it are known to fall.
    pub fn puts_in_order(&self, key: &str) -> bool {
        let mut drives = self.others.iter().filter_map(Other::reviewed).chain([&self.drive]);
        key != "sequential-write" || drives.all(|drive| drive.long_write().is_none())
    }

    /// Others whose figure is better than this drive's but [carries](Drive::carries) nothing: whoever sees their bar must hear of
    /// it where this drive is said to be ahead.
    pub fn but_for(&self, headline: &Headline, ours: f64) -> String {
        let is_better = |other: &&Other<'_>| other.figure(headline).is_some_and(|a| headline.order(a, ours).is_lt());
        let better = self.others.iter().filter(is_better).filter_map(Other::reviewed);
        let left_out: Vec<&Drive<'_>> = better.filter(|drive| !drive.carries(headline)).collect();
        let names: Vec<String> = left_out.iter().map(|drive| name::pretty(drive.name())).collect();
        let unlike = self.unlike(headline);
        if names.is_empty() {
            let unlike = unlike.join(" and ");
            return if unlike.is_empty() { unlike } else { format!(" but for {unlike}, {OF_ANOTHER}") };
        }
        let cached = left_out.iter().all(|drive| drive.kept_by_a_cache(headline.test).is_some());
        let by_cache = if cached { ByCache::TakesAll } else { headline.by_cache };
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
        let others: Vec<Steady> = self.others.iter().filter(|o| o.has_settled()).filter_map(Other::tail).collect();
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

    /// Whether the run that a figure of another drive is from covered the same as that of this one.
    fn is_like(&self, headline: &Headline, other: &Other<'_>) -> bool {
        let ours = Reach::of_headline(self.review, headline, self.name());
        ours.zip(other.reach(headline)).is_none_or(|(ours, theirs)| ours.is_like(&theirs))
    }

    /// Whether others have this figure, and all of them of runs that covered something else: then it is told by itself.
    pub fn stands_alone(&self, headline: &Headline) -> bool {
        let mut others = self.others.iter().filter(|other| other.figure(headline).is_some()).peekable();
        others.peek().is_some() && others.all(|other| !self.is_like(headline, other))
    }

    /// Others of the review whose figure is of a run that covered something else.
    fn unlike(&self, headline: &Headline) -> Vec<String> {
        let reviewed = self.others.iter().filter(|other| other.reviewed().is_some());
        let unlike = reviewed.filter(|other| other.figure(headline).is_some() && !self.is_like(headline, other));
        unlike.map(|other| other.name.clone()).collect()
    }

    /// The others that have this figure of runs that covered the same, and whose figure [carries](Drive::carries), the best
    /// first.
    pub fn others_by(&self, headline: &Headline) -> Vec<(&Other<'a>, f64)> {
        let carries = |other: &&Other<'_>| other.reviewed().is_none_or(|drive| drive.carries(headline));
        let comparable = self.others.iter().filter(|other| self.is_like(headline, other)).filter(carries);
        let mut all: Vec<_> = comparable.filter_map(|other| Some((other, other.figure(headline)?))).collect();
        all.sort_by(|a, b| headline.order(a.1, b.1));
        all
    }

    /// The other drive of whose last part of a run of random writes this is the highest: a median, a mean. `settled`: only of
    /// those that had settled by then.
    pub fn best_other_by(&self, settled: bool, figure: impl Fn(&Steady) -> f64) -> Option<(&str, f64)> {
        let meant = self.others.iter().filter(|other| !settled || other.has_settled());
        let figures = meant.filter_map(|other| Some((other.name.as_str(), figure(&other.tail()?))));
        figures.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Other drives of the review whose writes at random were measured and came to no steady state, and where they were.
    pub fn unsettled(&self) -> Vec<String> {
        let so_far = |other: &Other<'_>| {
            let tail = other.reviewed().filter(|drive| !drive.has_settled())?.tail()?;
            Some(format!("{} {}", other.name, not_settled(&tail)))
        };
        self.others.iter().filter_map(so_far).collect()
    }

    /// Whether some drive beside it, shipped ones among them, came to no steady state.
    pub fn some_other_is_unsettled(&self) -> bool {
        let is_shipped = |other: &&Other<'_>| other.reviewed().is_none();
        !self.unsettled().is_empty() || self.others.iter().filter(is_shipped).any(|other| !other.has_settled())
    }
}
