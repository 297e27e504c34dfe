//! For whom a drive is, and for whom not.

use super::apart::{Fresh, capital};
use super::facts::{Facts, Sustained};
use super::steady::Steady;
use super::words::{figure, iops, iops_at_least, times};
use crate::headline::{HEADLINES, Headline, are_level};
use crate::number;

/// Random writes a second of a full drive that databases ask for at the least.
const DATABASE: f64 = 500.0;

/// A commit that takes as long is one that somebody notices.
const LONG_COMMIT_US: f64 = 100_000.0;

/// So much of a desktop's time with a request that waits over 1 s, in per cent, is a fault of the drive.
const OFTEN_PERCENT: f64 = 5.0;

/// Who should want the drive, and who should not.
pub(super) fn conclusion(facts: &Facts<'_>, steady: Option<&Steady>) -> (String, String) {
    let (mut suits, mut unsuited): (Vec<String>, Vec<String>) = Default::default();
    let left = databases(facts, steady, &mut suits, &mut unsuited);
    let suits_databases = !suits.is_empty();
    // Figures that it is not to be chosen for, even if those of the others are worse.
    let mut warned: Vec<&str> = Vec::new();
    if !unsuited.is_empty() {
        warned.extend(["steady-write", "worst-second"]);
    }
    let fresh = Fresh::of(facts);
    if matches!(fresh, Some(Fresh::Slow | Fresh::NoDrive)) {
        warned.push("random-write");
    }
    if let Some((_, p99)) = facts.headline("heavy-p99") {
        let wait = number::latency(p99);
        if p99 <= 20_000.0 {
            suits.push(format!("Desktops: under heavy use 99 of 100 requests take less than {wait}."));
        } else {
            warned.push("heavy-p99");
            unsuited.push(format!("Busy desktops: one request in a hundred takes over {wait}."));
        }
    } else if let Some(share) = facts.seconds_of_desktop_over_1s().filter(|&share| share >= OFTEN_PERCENT) {
        unsuited.push(format!("Desktops: in {share:.0} % of the seconds of the desktop mix a request waits over 1 s."));
    }
    // What it does with a file that is longer than what was written, nobody has seen.
    let in_order = |(headline, _): &(Headline, f64)| !facts.stands_alone(headline);
    if let Some((headline, rate)) = facts.headline("sequential-write").filter(in_order) {
        let best = facts.best_other(&headline).map_or(rate, |o| o.1);
        // The first gigabytes of another drive whose rate falls are no measure of a long copy: what is not known to be kept is
        // nothing that this drive is behind, and the most that it can be ahead of.
        let other = facts.best_other_sustained(&headline, true);
        let kept = other.as_ref().map_or(rate, |other| other.rate);
        let at_most = facts.best_other_sustained(&headline, false);
        let most = at_most.as_ref().map_or(rate, |other| other.rate);
        if let Some((rates, slowest)) = facts.long_write() {
            // Where it goes on at the rate of the best, or faster, its fall is no reason to choose another.
            let stays_ahead = (other.as_ref().or(at_most.as_ref()))
                .filter(|other| other.rate <= slowest || are_level(other.rate, slowest))
                .cloned();
            let goes_on =
                other.filter(|other| other.is_seen && other.rate > slowest && !are_level(other.rate, slowest));
            if stays_ahead.is_none() && slowest < 0.5 * kept.max(rate) {
                // Its bar is the longest, since that test ends before the rate falls.
                let leads =
                    facts.best_other(&headline).is_some_and(|(_, theirs)| rate > theirs && !are_level(rate, theirs));
                let lead = if leads { " It leads in sequential write only until its rate falls." } else { "" };
                unsuited.push(format!("Long copies and video: {rates}.{lead}"));
            } else if let Some(Sustained { name, rate: theirs, .. }) = goes_on {
                // What another drive keeps up for longer is not what to choose this one for: only its first part may be.
                let first = facts.rates_of_cache().map_or(rate, |rates| rates[0]);
                let told = format!("{rates}; {name} goes on at {theirs:.0}.");
                if first > theirs && !are_level(first, theirs) {
                    suits.push(format!("Short copies: {told}"));
                } else if slowest < 0.8 * theirs {
                    unsuited.push(format!("Long copies and video: {told}"));
                }
            } else if slowest >= 0.8 * most {
                let behind = stays_ahead.filter(|behind| behind.is_seen && !are_level(behind.rate, slowest));
                let behind = behind
                    .map_or_else(String::new, |Sustained { name, rate, .. }| format!("; {name} goes on at {rate:.0}"));
                suits.push(format!("Copies and video: {rates}{behind}."));
            }
        } else if facts.outcome("slc-cache", "").is_some() && rate >= 0.8 * most {
            suits.push(format!("Copies and video: {rate:.0} MB/s for as long as it takes."));
        } else if rate >= 0.8 * best {
            // A test of a minute says nothing of the time after it.
            suits.push(format!("Copies and video: {rate:.0} MB/s."));
        } else if rate < 0.5 * kept {
            unsuited.push(format!("Long copies and video: {rate:.0} MB/s, {kept:.0} elsewhere."));
        }
    }
    if let Some((_, read)) = facts.headline("read-access") {
        if read >= 2_000.0 {
            // Of a set, programs may lie on the part that is fast.
            let what = if facts.device.members.is_empty() {
                "Starting programs: every read"
            } else {
                "Reads all over it: each"
            };
            warned.push("read-access");
            unsuited.push(format!("{what} takes {}.", number::latency(read)));
        } else if suits.is_empty() {
            suits.push(format!("Reading: an answer in {}.", number::latency(read)));
        }
    }
    // Where no rule has a word, the figure that stands out most among the drives here has one.
    let relative = relative(facts);
    let compared = !relative.is_empty();
    let mut leads = "It leads in none of the figures compared here.".to_owned();
    if suits.is_empty() {
        // What all do alike speaks for none of them.
        // Nor does a rate speak for it that falls.
        let falls = |r: &Relative| match r.key {
            "sequential-write" => facts.long_write().is_some(),
            "random-write" => facts.first_random_writes().is_some(),
            _ => false,
        };
        let speaks = |r: &&Relative| !falls(r) && !warned.contains(&r.key);
        let best = relative.iter().filter(speaks).rfind(|r| r.ratio >= 0.95 && r.sets_apart);
        // Its lead is there all the same, and the line under its name may tell of it.
        let is_ahead = |r: &&Relative| r.ratio > 1.0 && !are_level(r.ratio, 1.0) && facts.puts_in_order(r.key);
        if let Some(r) = relative.iter().rfind(is_ahead) {
            let why = match r.key {
                _ if falls(r) => "the mean of a rate that falls",
                "random-write" if fresh == Some(Fresh::Slow) => "which is slow all the same",
                _ => "but see what it is not for",
            };
            leads = format!("It leads in {}{}: {}, {why}.", r.in_words, r.but_for, r.value);
        }
        suits.extend(best.map(|r| {
            let place = match r.ratio {
                // Level with another, it is not the best by anything that a reader should choose by.
                ratio if are_level(ratio, 1.0) => "level with the best here".to_owned(),
                ratio if ratio > 1.0 => "the best here".to_owned(),
                ratio => format!("{} % behind the best here", number::trimmed(100.0 * (1.0 - ratio), 0)),
            };
            format!("{}, {place}{}.", r.what(), r.but_for)
        }));
    }
    suits.extend(left);
    let mut behind = "It falls far behind in none of the figures compared here.".to_owned();
    if unsuited.is_empty() {
        // Rates that another drive does not keep put nobody behind it.
        let far_behind = |r: &&Relative| facts.puts_in_order(r.key) && r.ratio < 0.8;
        // What was just said to be what it is for is nothing to warn of, but told all the same.
        let (speaks_for_it, others): (Vec<&Relative>, Vec<&Relative>) =
            relative.iter().filter(far_behind).partition(|r| r.key == "steady-write" && suits_databases);
        unsuited.extend(others.first().map(|r| format!("{}, {}.", r.what(), r.behind())));
        if let [r] = speaks_for_it.as_slice() {
            behind =
                format!("It falls far behind in none of the figures compared here but {}: {}.", r.in_words, r.behind());
        }
    }
    unsuited.extend(facts.device.lost_with_power_bytes.map(|bytes| {
        format!(
            "Writes that a power cut must not take: up to {} of them lie in an adapter's cache without a battery, until they \
             are flushed.",
            number::bytes(bytes as f64)
        )
    }));
    if facts.device.loses_flushed {
        unsuited.push(
            "Writes that a power cut must not take: a FLUSH is answered at once, but what drives hold in caches of their own is \
             lost, flushed or not."
                .to_owned(),
        );
    }
    let said = |sentences: Vec<String>, none: String| {
        match sentences.is_empty() {
        false => sentences.join(" "),
        true if compared => none,
        true if stands_alone(facts) => {
            let those = if facts.others.len() == 1 { "the one beside it was" } else { "those beside it were" };
            format!("No verdict: {those} run over other spans or for other times.")
        }
        true if HEADLINES.iter().any(|h| facts.headline(h.key).is_some()) => {
            "No verdict: of the figures that drives are compared by, those measured here stand beside none of another drive."
                .to_owned()
        }
        true if HEADLINES.iter().any(|h| h.is_shown(facts.review.quick) && facts.is_left(h)) => {
            "No verdict: the figures that drives are compared by are left to a full run.".to_owned()
        }
        true if facts.random_writes().is_some() => {
            "No verdict: random writes came to no steady state here, and no other of the figures that drives are compared by was measured."
                .to_owned()
        }
        true => "None of the figures that drives are compared by was measured.".to_owned(),
    }
    };
    (said(suits, leads), said(unsuited, behind))
}

/// Whether some figure of it is told by itself, since those beside it are of runs that covered something else.
fn stands_alone(facts: &Facts<'_>) -> bool {
    HEADLINES.iter().any(|h| facts.headline(h.key).is_some_and(|(h, _)| facts.stands_alone(&h)))
}

/// Whether it is for those who wait for each write, by how random writes went when the drive was full. Returns what there is to say
/// where only a full run can tell.
fn databases(
    facts: &Facts<'_>,
    steady: Option<&Steady>,
    suits: &mut Vec<String>,
    unsuited: &mut Vec<String>,
) -> Option<String> {
    // Slow while it is empty, it is no faster when it is full.
    let slow_when_fresh = |unsuited: &mut Vec<String>| {
        if let Some((_, rate)) = facts.headline("random-write").filter(|_| Fresh::of(facts) == Some(Fresh::NoDrive)) {
            unsuited.push(format!("Whatever writes at random: {} a second to a fresh drive.", iops(rate)));
        }
    };
    // Of a set in small its last part tells nothing.
    let last = facts.last_part().filter(|_| !facts.is_left_to_a_full_run());
    let Some(last) = last else {
        slow_when_fresh(unsuited);
        return None;
    };
    let longest = facts.of_random_writes("latency_max_tail").map(number::latency);
    let wait = longest.map_or(String::new(), |l| format!(": a commit may wait {l}"));
    let drops = format!(": {} writes a second drop to {}", iops(last.figure()), iops(last.lowest));
    // A fault that holds most of the last part of a run speaks against a drive even if its means still drift.
    if last.stalls() {
        let why = if wait.is_empty() { &drops } else { &wait };
        unsuited.push(format!("Databases, and random writes to a full drive{why}."));
        return None;
    }
    if last.bursts() {
        let other = facts.best_other_by(true, |other| other.level).filter(|&(_, level)| level > last.level);
        let beside = other.map_or(String::new(), |(name, level)| format!(", {} with {name}", iops(level)));
        // A mean that is the highest is the other half of the truth.
        let leads = facts.best_other_by(false, |other| other.mean).is_some_and(|(_, mean)| last.mean > mean);
        let lead = if leads { ", the highest here" } else { "" };
        let so_far = if steady.is_some() { "" } else { ", as far as this run went" };
        unsuited.push(format!(
            "Databases that need an even rate: {} writes a second most of the time on a full drive{beside}; bursts lift the \
             mean to {}{lead}{so_far}.",
            iops(last.level),
            iops(last.mean)
        ));
        return None;
    }
    let Some(s) = steady else {
        slow_when_fresh(unsuited);
        // Wherever a drift leads, no part of this was a rate for databases.
        if unsuited.is_empty() && last.parts.1 < DATABASE {
            unsuited.push(format!(
                "Databases, and random writes to a full drive: {} to {} a second, as far as this run went.",
                iops(last.parts.0),
                iops(last.parts.1)
            ));
        }
        return None;
    };
    if s.level < DATABASE {
        unsuited.push(format!("Databases, and random writes to a full drive{wait}."));
        return None;
    }
    // What is no drive for random writes while it is empty is none for databases when it is full.
    if Fresh::of(facts) == Some(Fresh::NoDrive) {
        unsuited.push(format!("Databases, and random writes to a full drive: {} a second.", iops(s.level)));
        return None;
    }
    // Who reads one drive's page takes it for the better one of those beside it.
    let unsettled: String = facts.unsettled().iter().map(|other| format!("; {other}")).collect();
    let mean =
        s.mean_beside().map_or_else(String::new, |mean| format!(" most of the time, {} in the mean", iops(mean)));
    let lowest = match facts.tells_of_the_lowest(s) {
        true => format!(", and no second below {}", iops_at_least(s.lowest)),
        false => String::new(),
    };
    let told = format!("{} writes a second{mean}{lowest}", iops(s.figure()));
    match facts.of_random_writes("latency_p99_9_tail") {
        Some(us) if us >= LONG_COMMIT_US => unsuited.push(format!(
            "Databases whose users wait for each commit: {told}, but one write in a thousand takes over {}.",
            number::latency(us)
        )),
        Some(us) => suits
            .push(format!("Databases: {told}; one write in a thousand takes over {}{unsettled}.", number::latency(us))),
        // How long the rarest writes take depends on the size of the drive.
        None if facts.random_writes().is_some_and(|run| run.small_by.is_some()) => {
            return Some(format!(
                "No verdict on databases: {told}{unsettled}, but how long a commit may wait is left to a full run."
            ));
        }
        None => suits.push(format!("Databases: {told}{unsettled}.")),
    }
    None
}

/// A headline figure in words, and as a share of the best of the others.
pub(super) struct Relative {
    pub key: &'static str,
    ratio: f64,
    in_words: &'static str,
    /// With its unit.
    value: String,
    lower_is_better: bool,
    /// Another drive is behind, and not level.
    sets_apart: bool,
    /// Those better than the best of these that are not compared, with a reason.
    pub but_for: String,
}

impl Relative {
    /// With the state that it is of.
    fn what(&self) -> String {
        format!("{}: {}", capital(self.in_words), self.value)
    }

    /// How much of the best it is.
    fn behind(&self) -> String {
        let share = if self.lower_is_better {
            times(1.0 / self.ratio)
        } else {
            let percent = 100.0 * self.ratio;
            format!("{} % of", number::trimmed(percent, usize::from(percent < 10.0)))
        };
        format!("{share} the best here{}", self.but_for)
    }
}

/// Every headline figure, the lowest share first.
pub(super) fn relative(facts: &Facts<'_>) -> Vec<Relative> {
    let share = |headline: Headline| {
        let (_, ours) = facts.headline(headline.key).filter(|(headline, _)| facts.carries(headline))?;
        let (_, theirs) = facts.best_other(&headline)?;
        let ratio = match headline.key {
            // A mean of bursts and of what lies between them is no order by itself.
            "steady-write" => facts.steady_share(true)?,
            _ if headline.lower_is_better() => theirs / ours,
            _ => ours / theirs,
        };
        let value = headline.of(&facts.review.outcomes, facts.name())?;
        let value = figure(value.value, &value.unit);
        let is_behind = |worst: f64| headline.order(ours, worst).is_lt() && !are_level(ours, worst);
        let sets_apart = facts.others_by(&headline).last().is_some_and(|&(_, worst)| is_behind(worst));
        let best = if headline.order(ours, theirs).is_lt() { ours } else { theirs };
        let but_for = facts.but_for(&headline, best);
        Some(Relative {
            key: headline.key,
            ratio,
            in_words: headline.in_words,
            value,
            lower_is_better: headline.lower_is_better(),
            sets_apart,
            but_for,
        })
    };
    let mut all: Vec<Relative> = HEADLINES.into_iter().filter_map(share).collect();
    all.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    all
}
