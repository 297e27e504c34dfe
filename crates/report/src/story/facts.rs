//! What the sentences about a drive are made of: its figures beside those of others.

use std::ops::Deref;

use super::drive::{Drive, not_settled};
use super::steady::Steady;
use super::words::iops;
use crate::figures::doubt;
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
#[derive(Clone)]
pub(super) struct Sustained<'f> {
    pub name: &'f str,
    pub rate: f64,
    /// Whether its writes were watched for long enough to say so.
    pub is_seen: bool,
}

/// Of a drive whose figure is in no order with that of another.
const OF_ANOTHER: &str = "run over another span or time";

impl<'a> Other<'a> {
    pub fn shipped(drive: &'static ReferenceDrive) -> Other<'a> {
        Other { name: name::pretty(&drive.name), source: Source::Shipped(drive) }
    }

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

    /// Where it stood at the end of its run, settled or not.
    fn so_far(&self, headline: &Headline) -> Option<f64> {
        match &self.source {
            Source::Shipped(drive) => drive.figures.get(headline.key).copied(),
            Source::Reviewed(drive) => headline.so_far(&drive.review.outcomes, drive.name()),
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
            beside(&device.facts.name, device.facts.supports_trim).into_iter().map(Other::shipped).collect()
        };
        Facts { drive: Drive { review, device }, others }
    }

    /// The best of the others in a headline figure, by name.
    pub fn best_other(&self, headline: &Headline) -> Option<(&str, f64)> {
        self.others_by(headline).first().map(|&(other, theirs)| (other.name.as_str(), theirs))
    }

    /// How that one writes at random in the last part of its run.
    pub fn best_other_tail(&self, headline: &Headline) -> Option<Steady> {
        self.others_by(headline).first()?.0.tail()
    }

    /// The best rate of sequential writes that another drive keeps, as far as is known. `seen`: without drives of which only the first
    /// part of a write is known, whose rate is no more than the most that they keep.
    pub fn best_other_sustained(&self, headline: &Headline, seen: bool) -> Option<Sustained<'_>> {
        let all = self.others_by(headline).into_iter().map(|(other, rate)| {
            let (slowest, is_seen) = match &other.source {
                Source::Shipped(drive) => (drive.fill_mb_per_s, drive.fill_mb_per_s.is_some()),
                Source::Reviewed(drive) => {
                    let falls_to = drive.long_write().map(|(_, slowest)| slowest);
                    // A rate that does not fall by much, as that of a disk, is still less over all of it than at first.
                    (falls_to.or_else(|| drive.mean_of_whole()), drive.is_written_whole())
                }
            };
            Sustained { name: &other.name, rate: slowest.map_or(rate, |slowest| slowest.min(rate)), is_seen }
        });
        let rates = all.filter(|other| other.is_seen || !seen);
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

    /// Whether this drive has a place before or behind the best (`false`: the worst) of the others by this figure: not by one that
    /// a cache made, nor where it leads by the mean and lags by the median, or the other way round.
    pub fn orders(&self, headline: &Headline, of_best: bool) -> bool {
        let is_one_order = || headline.key != "steady-write" || self.steady_share(of_best).is_some();
        self.puts_in_order(headline.key) && self.carries(headline) && is_one_order()
    }

    /// Whether this drive or one beside it has this figure.
    pub fn is_told_of_any(&self, headline: &Headline) -> bool {
        self.headline(headline.key).is_some() || self.others.iter().any(|other| other.figure(headline).is_some())
    }

    /// Others whose figure is better than this one, and is in no order with it: what a cache made, what is of another run, and
    /// what had not settled. Whoever sees their bar, or what they had come to, must hear of it where a drive is said to be the best.
    pub fn but_for(&self, headline: &Headline, best: f64) -> String {
        let is_better = |other: &&Other<'_>| other.figure(headline).is_some_and(|a| headline.order(a, best).is_lt());
        let better = self.others.iter().filter(is_better).filter_map(Other::reviewed);
        let left_out: Vec<&Drive<'_>> = better.filter(|drive| !drive.carries(headline)).collect();
        let names: Vec<String> = left_out.iter().map(|drive| name::pretty(drive.name())).collect();
        let mut all = Vec::new();
        if !names.is_empty() {
            let cached = left_out.iter().all(|drive| drive.kept_by_a_cache(headline.test).is_some());
            let by_cache = if cached { ByCache::TakesAll } else { headline.by_cache };
            all.push(format!("{}, which {}", names.join(" and "), by_cache.in_words(names.len() > 1)));
        }
        all.extend(self.those_unlike(headline));
        all.extend(self.those_not_settled(headline, |so_far| headline.order(so_far, best).is_lt()));
        if all.is_empty() { String::new() } else { format!(" but for {}", all.join(", and ")) }
    }

    /// The same where it is said to be behind, which those that carry nothing do not change.
    pub fn but_for_behind(&self, headline: &Headline, worst: f64) -> String {
        let unlike = self.those_unlike(headline).into_iter();
        let not_settled = self.those_not_settled(headline, |so_far| headline.order(worst, so_far).is_lt());
        let all: Vec<String> = unlike.chain(not_settled).collect();
        if all.is_empty() { String::new() } else { format!(", but for {}", all.join(", and ")) }
    }

    /// Others whose figure is of a run that covered something else.
    fn those_unlike(&self, headline: &Headline) -> Option<String> {
        let unlike = self.unlike(headline);
        (!unlike.is_empty()).then(|| format!("{}, {OF_ANOTHER}", unlike.join(" and ")))
    }

    /// Others that came to no steady state, and so have no figure of it, of those of whose last part this is so, and those of
    /// which only a full run can tell.
    fn those_not_settled(&self, headline: &Headline, is_so: impl Fn(f64) -> bool) -> Option<String> {
        let of = |other: &Other<'_>| {
            if other.reviewed().is_some_and(|drive| drive.is_left(headline)) {
                return Some(format!("{} (full run only)", other.name));
            }
            if !headline.settles || other.has_settled() {
                return None;
            }
            let so_far = other.so_far(headline).filter(|&so_far| is_so(so_far))?;
            let run = other.reviewed().and_then(Drive::random_writes);
            let doubt = run.and_then(doubt).unwrap_or("not settled");
            Some(format!("{} ({doubt}, {} IOPS so far)", other.name, iops(so_far)))
        };
        let those: Vec<String> = self.others.iter().filter_map(of).collect();
        (!those.is_empty()).then(|| those.join(" and "))
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
        let (mean, level) = (share(|s| s.mean)?, share(Steady::level_or_mean)?);
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

    /// Other drives of the review whose writes at random were measured and came to no steady state, and where they were: without
    /// those of which a run in small cannot tell.
    pub fn unsettled(&self) -> Vec<String> {
        let so_far = |other: &Other<'_>| {
            let drifts = |drive: &&Drive<'_>| !drive.has_settled() && !drive.is_left_to_a_full_run();
            let drive = other.reviewed().filter(drifts)?;
            Some(format!("{} {}", other.name, not_settled(drive.random_writes()?, &drive.tail()?)))
        };
        self.others.iter().filter_map(so_far).collect()
    }

    /// Whether some drive beside it, shipped ones among them, came to no steady state.
    pub fn some_other_is_unsettled(&self) -> bool {
        let is_shipped = |other: &&Other<'_>| other.reviewed().is_none();
        !self.unsettled().is_empty() || self.others.iter().filter(is_shipped).any(|other| !other.has_settled())
    }
}
