//! Sentences about a drive, composed from its figures: what it is, what was found and why, for whom it is, for whom not.
//!
//! Nothing here knows a drive. The same rules write about every one, so opposite figures give opposite sentences.

mod apart;
mod causes;
mod drive;
mod facts;
mod for_whom;
mod steady;
mod words;

use ssdlab_bench::suite::{FELT_FIGURES, cause_of_longest_gap};
use ssdlab_bench::{NotSteady, Outcome, SlowIo, TimeShare, Unsettled};
use ssdlab_core::Cause;

use crate::headline::{Headline, are_level};
use crate::number;
use crate::random_writes;
use crate::reference::beside;
use crate::review::{Review, ReviewedDevice};
use causes::{MOST, Times, awaited};
use drive::not_settled;
use facts::Facts;
use for_whom::conclusion;
use steady::NEAR;
use words::{iops, iops_at_least, iops_of_both, seconds, times, times_at_least};

pub(crate) use apart::Decks;
pub(crate) use steady::Steady;

/// A finding: a sentence with what is worth remembering in bold, and the place that shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub before: String,
    pub bold: String,
    pub after: String,
    /// The test that shows it.
    pub test: &'static str,
}

/// All that is said of a drive on the first screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Story {
    pub findings: Vec<Finding>,
    pub suits: String,
    pub unsuited: String,
}

/// How many findings the first screen has room for.
const FINDINGS: usize = 5;
/// A rate that is far too low for this share of the time, in per cent, is so more often than now and then.
const OFTEN: f64 = 10.0;
/// Small writes that take so many times as long as small reads are what a drive is known for.
const STALLING: f64 = 10.0;

/// What spare area changes by less than this share changes little.
const LITTLE: f64 = 0.1;

/// The share of a request's time, in per cent, from which on the link is the limit.
const LINK_IS_FULL: f64 = 90.0;
/// Ranges of rates so many times apart are no matter of where each drift was.
const FAR_APART: f64 = 1.5;

/// Everything that is said of `device`.
pub(crate) fn story(review: &Review, device: &ReviewedDevice) -> Story {
    let facts = Facts::of(review, device);
    let steady = facts.steady();
    let mut findings: Vec<Finding> = [
        steady_state(&facts, steady.as_ref()),
        spare_area(&facts),
        felt(&facts),
        access(&facts, true),
        against_the_best(&facts),
        sequential_writes(&facts),
        outer_and_inner(&facts),
        slow_requests(&facts),
        trim(&facts),
        access(&facts, false),
        bursts(&facts),
    ]
    .into_iter()
    .flatten()
    .collect();
    findings.truncate(FINDINGS);
    let (suits, unsuited) = conclusion(&facts, steady.as_ref());
    Story { findings, suits, unsuited }
}

/// The sentences under the names of the drives.
pub(crate) fn decks(review: &Review) -> Decks {
    let drives: Vec<Facts<'_>> = review.devices.iter().map(|d| Facts::of(review, d)).collect();
    apart::decks(&drives)
}

/// Whether a run ended before its writes had settled, and not because that is left to a full one. Of a life that is not certain it is
/// not the writes that had not.
pub(crate) fn drifts(run: &Outcome) -> bool {
    ![Unsettled::LeftToFullRun, Unsettled::TooLittleWork].iter().any(|&other| run.is_unsettled_by(other))
        && !run.has_settled()
}

/// What a reader of a bar chart has to know of a bar, lest it say more than was measured.
pub(crate) fn bar_notes(review: &Review, headline: &Headline) -> Vec<String> {
    let of_bursts = |s: Steady| {
        s.bursts().then(|| format!("mean of {} most of the time and bursts up to {}", iops(s.level), iops(s.highest)))
    };
    let note = |device: &ReviewedDevice| {
        let facts = Facts::of(review, device);
        // In place of the bar that it does not have.
        let run = facts.random_writes();
        if headline.key == "steady-write" && run.is_some_and(drifts) {
            return Some(format!("{}: {}.", crate::name::pretty(facts.name()), not_settled(run?, &facts.last_part()?)));
        }
        let said = match headline.key {
            "sequential-write" => facts.bar_of_long_write()?,
            "steady-write" => of_bursts(facts.steady()?)?,
            "random-write" => {
                format!("{} IOPS at first; the mean is of what came after, too", iops(facts.first_random_writes()?))
            }
            _ => facts.part_of_cache(headline)?,
        };
        headline.of(&review.outcomes, facts.name())?;
        Some(format!("{}: {said}.", crate::name::pretty(facts.name())))
    };
    let mut notes: Vec<String> = review.devices.iter().filter_map(note).collect();
    if let ([only], "steady-write") = (review.devices.as_slice(), headline.key) {
        notes.extend(beside(&only.facts.name, only.facts.supports_trim).into_iter().filter_map(|drive| {
            let said = match drive.not_steady.first() {
                None => of_bursts(Steady::of(drive.tail())?)?,
                // Of every fourth second that is kept of its run, the means would be others.
                Some(not_steady) => format!("had not settled, {}", not_steady.why),
            };
            Some(format!("{}: {said}.", crate::name::pretty(&drive.name)))
        }));
    }
    notes
}

/// The cause that most of the time of the slowest requests went to. A queue is none: what holds up those in front is.
fn main_cause(slowest: &[SlowIo]) -> Option<Cause> {
    Times::of_slowest(slowest).main_but(&[Cause::Queue]).map(|(cause, _)| cause)
}

/// Whether what most of the time of the slowest requests of a run went to is garbage collection.
pub(crate) fn waits_for_collection(run: &Outcome) -> bool {
    main_cause(&run.slowest) == Some(Cause::GarbageCollection)
}

fn finding(before: &str, bold: String, after: String, test: &'static str) -> Finding {
    Finding { before: before.to_owned(), bold, after, test }
}

fn steady_state(facts: &Facts<'_>, steady: Option<&Steady>) -> Option<Finding> {
    let Some(s) = steady else { return unsettled(facts) };
    let cause = facts.random_writes().and_then(|o| main_cause(&o.slowest));
    if s.mean == 0.0 {
        return Some(no_more_writes());
    }
    let unit = facts.device.superblock_bytes.filter(|_| cause == Some(Cause::GarbageCollection));
    let collecting = unit.map_or_else(String::new, |bytes| {
        format!(", while one superblock of {} is collected", number::transfer(bytes))
    });
    let waiting = cause
        .filter(|_| unit.is_none())
        .map_or_else(String::new, |cause| format!("; the slowest requests wait for {}", awaited(cause)));
    let waits = waits_of_the_last_part(facts).unwrap_or_default();
    // Where the cause of the slowest is told, that is enough.
    let waits_untold = if cause.is_none() { waits.as_str() } else { "" };
    let tells_lowest = facts.tells_of_the_lowest(s);
    Some(if s.holds() {
        // Rounded up: the lowest second is no lower than is said.
        let within = (100.0 * (s.figure() - s.lowest) / s.figure().max(1.0)).ceil();
        let within = format!(", and no second is more than {} % below", number::trimmed(within, 0));
        finding(
            "Random writes settle to a flat line: ",
            format!("{} IOPS{}", iops(s.figure()), if tells_lowest { &within } else { "" }),
            format!(".{waits}"),
            random_writes::TEST,
        )
    } else if let Some((before, length)) = s.before.zip(facts.last_part_seconds()).filter(|_| s.is_flat()) {
        finding(
            "Random writes come to ",
            format!("{} IOPS in the last {length:.0} s", iops(s.figure())),
            format!("; in the {length:.0} s before that they went at {}.{waits}", iops(before)),
            random_writes::TEST,
        )
    } else if s.stalls() {
        stalls_of_writes(s, &format!("{collecting}{waiting}"), waits_untold)
    } else if s.bursts() {
        bursts_of_writes(s, [&collecting, &waiting], &s.moments(), waits_untold)
    } else {
        let lowest = format!(", from then on never below {}", iops_at_least(s.lowest));
        finding(
            "Random writes settle around ",
            format!("{} IOPS{}", iops(s.figure()), if tells_lowest { &lowest } else { "" }),
            format!(
                "; {:.0} % of {} lie within {:.0} % of that{}.{waits}",
                s.on_the_line,
                s.moments(),
                NEAR * 100.0,
                s.mean_beside().map_or_else(String::new, |mean| format!(", and the mean is {}", iops(mean)))
            ),
            random_writes::TEST,
        )
    })
}

/// Of a drive that no request was answered by in the last part of the run.
fn no_more_writes() -> Finding {
    finding(
        "Random writes ",
        "stop".to_owned(),
        ": not one was answered in the last part of the run.".to_owned(),
        random_writes::TEST,
    )
}

fn stalls_of_writes(s: &Steady, why: &str, more: &str) -> Finding {
    let unsteadily = if s.deep >= OFTEN { "again and again" } else { "now and then" };
    let period = s.period.map_or_else(|| unsteadily.to_owned(), seconds);
    let share = number::value((s.deep * 10.0).round() / 10.0, "%");
    let (mean, of) = if s.is_coarse() {
        (" in the mean", format!("{}, the median", iops(s.level)))
    } else {
        ("", "that".to_owned())
    };
    finding(
        "",
        format!("Random writes run at {} IOPS{mean} and drop to {} {period}", iops(s.figure()), iops(s.lowest)),
        format!("{why}. For {share} of the time the rate is below a quarter of {of}.{more}"),
        random_writes::TEST,
    )
}

/// Of a drive whose median says one thing and whose mean another: both, and what each is of. `why`: what goes on meanwhile, which
/// is most of the time and none of the bursts, and what the slowest requests wait for.
fn bursts_of_writes(s: &Steady, why: [&str; 2], of: &str, more: &str) -> Finding {
    let [meanwhile, waiting] = why;
    finding(
        "",
        format!(
            "Random writes run at {} IOPS most of the time{meanwhile}, with bursts up to {}",
            iops(s.level),
            iops(s.highest)
        ),
        format!(
            "{waiting}. The bursts lift the mean to {}; in {:.0} % of {of} the rate is below half of that.{more}",
            iops(s.mean),
            s.below_half
        ),
        random_writes::TEST,
    )
}

/// Of a run that ended before the writes had settled: where they were, and what keeps them from being steady.
fn unsettled(facts: &Facts<'_>) -> Option<Finding> {
    let run = facts.random_writes()?;
    let not_steady = run.not_steady.iter().find(|n| n.reason != Unsettled::LeftToFullRun)?;
    let measured = facts.last_part().zip(facts.last_part_seconds());
    // However flat, what goes to the spare area is not what becomes of the drive.
    let Some((s, length)) = measured.filter(|_| not_steady.reason != Unsettled::SpareNotWritten) else {
        let after = format!(": {}.", not_steady.why);
        return Some(finding("Random writes are ", "not steady yet".to_owned(), after, random_writes::TEST));
    };
    if run.is_too_short_to_tell() {
        return Some(finding(
            "Random writes are too few to say whether they had settled: ",
            format!("{} IOPS", iops(s.mean)),
            format!(" in the mean of the last {length:.0} s.{}", waits_of_the_last_part(facts).unwrap_or_default()),
            random_writes::TEST,
        ));
    }
    let parts = format!("the means of its five parts run from {} to {} IOPS", iops(s.parts.0), iops(s.parts.1));
    let waits = waits_of_the_last_part(facts).unwrap_or_default();
    Some(if s.stalls() {
        stalls_of_writes(
            &s,
            "",
            &if s.is_coarse() {
                format!(" In the last {length:.0} s that had not settled: {parts}.{waits}")
            } else {
                format!(
                    " The mean of the last {length:.0} s is {}. That had not settled: {parts}.{waits}",
                    iops(s.mean)
                )
            },
        )
    } else if s.bursts() {
        bursts_of_writes(
            &s,
            ["", ""],
            &format!("the last {length:.0} s"),
            &format!(" That had not settled: {parts}.{waits}"),
        )
    } else {
        // Beside means, a median that lies outside of them needs the mean.
        let is_within = s.parts.0 <= s.level && s.level <= s.parts.1;
        let (rate, of, mean) = match (s.is_coarse(), is_within) {
            (true, _) => (s.mean, "mean", String::new()),
            (false, true) => (s.level, "median", String::new()),
            (false, false) => (s.level, "median", format!(", whose mean is {}", iops(s.mean))),
        };
        finding(
            "Random writes had not settled: ",
            format!("{} IOPS", iops(rate)),
            format!(" is the {of} of the last {length:.0} s{mean}, and {parts}.{waits}"),
            random_writes::TEST,
        )
    })
}

/// What random writes of the last part of the run wait for, if that is most of their time.
fn waits_of_the_last_part(facts: &Facts<'_>) -> Option<String> {
    let [_, .., share] = facts.random_writes()?.time_shares.as_slice() else { return None };
    let times = Times::of(share);
    let (cause, mostly) = times.main_but(&[Cause::Link])?;
    if cause != Cause::Queue {
        return Some(format!(" A write then waits {mostly:.0} % of its time for {}.", awaited(cause)));
    }
    // A queue is no cause: what holds up those in front is.
    let inside = times.but(&[Cause::Link, Cause::Queue]);
    let of_that = inside
        .main_but(&[])
        .map_or_else(String::new, |(cause, part)| format!(", {part:.0} % of it for {}", awaited(cause)));
    Some(format!(
        " A write then waits {mostly:.0} % of its time for those before it; in the drive it takes {}{of_that}.",
        number::latency(inside.all_us())
    ))
}

/// Of runs without and with spare area that do no more than drift, each in a range of its own far from the other's.
fn far_apart_as_they_drift(all: &Outcome, part: &Outcome) -> Option<Finding> {
    let only_drifts = |run: &&Outcome| run.not_steady.iter().all(|n| n.reason == Unsettled::Drifts);
    let of = |run| drive::tail_of(Some(run).filter(only_drifts)?);
    let (without, with) = (of(all)?.parts, of(part)?.parts);
    let unsettled = match [all, part].map(|run| !run.not_steady.is_empty()) {
        [true, true] => "these runs went, which had not settled",
        [true, false] => "these runs went, of which that without it had not settled",
        [false, _] => "these runs went, of which that with it had not settled",
    };
    let least = with.0 / without.1;
    (least >= FAR_APART && least.is_finite()).then(|| {
        finding(
            "Leaving a fifth of its flash unused lifts the mean of random writes ",
            format!("at least {}", times_at_least(least)),
            format!(
                " as far as {unsettled}: from {} to {} IOPS with it, {} to {} without.",
                iops(with.0),
                iops(with.1),
                iops(without.0),
                iops(without.1)
            ),
            random_writes::TEST,
        )
    })
}

fn spare_area(facts: &Facts<'_>) -> Option<Finding> {
    let mean = |run: &Outcome| random_writes::so_far(run, random_writes::MEAN);
    let all = facts.random_writes()?;
    let part = facts.outcome(random_writes::TEST, random_writes::SPACIOUS)?;
    let (stock, spacious) = (mean(all)?, mean(part)?);
    // A drive that has as much spare area already used as many addresses in both.
    let used = |run: &Outcome| run.metrics.get("used_bytes").map(|used| used.value);
    let are_one = used(all).zip(used(part)).is_some_and(|(all, part)| part >= 0.99 * all);
    if stock == 0.0 || are_one {
        return None;
    }
    // Means of runs that still drift are those of an arbitrary moment.
    let drifting = |run: &Outcome, which: &str| {
        let tells = if run.is_too_short_to_tell() { "the run was too short" } else { "they had not settled" };
        let is_why = |n: &&NotSteady| !run.is_too_short_to_tell() || n.reason.is_too_few();
        run.not_steady.iter().find(is_why).map(|not_steady| format!("{which} that {tells} ({})", not_steady.why))
    };
    let drifting: Vec<String> = [drifting(all, "without"), drifting(part, "with")].into_iter().flatten().collect();
    // A set in small tells of neither.
    if [all, part].iter().any(|run| run.is_unsettled_by(Unsettled::LeftToFullRun)) {
        return None;
    }
    if !drifting.is_empty() {
        if let Some(apart) = far_apart_as_they_drift(all, part) {
            return Some(apart);
        }
        return Some(finding(
            "What leaving a fifth of its flash unused does for random writes ",
            "cannot be said".to_owned(),
            format!(": {}.", drifting.join(", and ")),
            random_writes::TEST,
        ));
    }
    let ratio = spacious / stock;
    let figures = format!("{} IOPS with it, {} without", iops(spacious), iops(stock));
    let percent = |share: f64| number::trimmed(100.0 * share.abs(), 0);
    Some(if ratio >= 1.5 {
        finding(
            "Leaving a fifth of its flash unused lifts the mean ",
            format!("{}, to {} IOPS", times(ratio), iops(spacious)),
            ": worth it for anyone who writes at random.".to_owned(),
            random_writes::TEST,
        )
    } else if ratio >= 1.0 + LITTLE {
        finding(
            "Leaving a fifth of its flash unused lifts the mean ",
            format!("by {} %", percent(ratio - 1.0)),
            format!(": {figures}."),
            random_writes::TEST,
        )
    } else if ratio <= 1.0 - LITTLE {
        finding(
            "With a fifth of its flash left unused the mean is ",
            format!("{} % lower", percent(ratio - 1.0)),
            format!(": {figures}."),
            random_writes::TEST,
        )
    } else {
        finding(
            "Leaving a fifth of its flash unused changes little: ",
            figures,
            ". Spare area is not what it lacks.".to_owned(),
            random_writes::TEST,
        )
    })
}

/// What a user of a drive that stalls would notice.
fn felt(facts: &Facts<'_>) -> Option<Finding> {
    let (test, of) = [("storagemark-desktop", "desktop mix"), ("fileserver", "file-server test")]
        .into_iter()
        .find(|(test, _)| facts.metric(test, "", FELT_FIGURES[0].0).is_some())?;
    // Beside drives that were run in small, which tell nothing of it, it would seem the only one that waits.
    if facts.review.is_in_small() {
        return None;
    }
    let share = |key: &str| facts.metric(test, "", key).filter(|&share| share >= 1.0);
    let load = facts.outcome(test, "").and_then(crate::felt::load);
    let at = load.map_or_else(String::new, |depth| format!(" at QD{depth}"));
    // The longest wait that is no exception.
    let (key, limit) = FELT_FIGURES.into_iter().rev().find(|(key, _)| share(key).is_some())?;
    let longest = facts.metric(test, "", "stall_longest").map_or_else(String::new, |gap| {
        let cause = facts.outcome(test, "").and_then(cause_of_longest_gap);
        // A queue is no cause, and one of several is not why nothing was answered.
        let cause = cause.filter(|&(cause, percent)| cause != Cause::Queue && percent >= MOST);
        let cause =
            cause.map_or_else(String::new, |(cause, percent)| format!(", {percent:.0} % of it {}", cause.label()));
        format!(". The longest time without any answer is {}{cause}", number::latency(gap))
    });
    Some(finding(
        &format!("In the {of}{at}, "),
        format!("requests wait {limit} in {:.0} % of the seconds", share(key)?),
        format!("{longest}."),
        test,
    ))
}

fn against_the_best(facts: &Facts<'_>) -> Option<Finding> {
    let (headline, ours) = facts.headline("steady-write").or_else(|| facts.headline("file-server"))?;
    let (other, theirs) = facts.best_other(&headline)?;
    if !facts.orders(&headline, true) {
        return None;
    }
    if ours == 0.0 || theirs == 0.0 {
        // A ratio to nothing says nothing.
        return None;
    }
    let is_mean = headline.key == "steady-write"
        && [facts.steady(), facts.best_other_tail(&headline)].into_iter().flatten().any(|s| s.bursts());
    let what = format!("{}{}", headline.in_words, if is_mean { ", as a mean" } else { "" });
    let [our_iops, their_iops] = iops_of_both(ours, theirs);
    // The only other one is the best of nothing: beside it stand the figures.
    let ahead = match (facts.others.len(), facts.but_for(&headline, theirs)) {
        (1, _) => format!(" in {what}: {our_iops} against {their_iops} IOPS."),
        (_, but) if but.is_empty() && headline.settles && facts.some_other_is_unsettled() => {
            format!(" in {what}, and {other} is the best of the others that had settled.")
        }
        (_, but) => format!(" in {what}, and {other} is the best of the others here{but}."),
    };
    Some(if ours >= 1.5 * theirs {
        finding("", format!("{} as fast as {other}", times(ours / theirs)), ahead, headline.test)
    } else if are_level(ours, theirs) {
        finding(
            "",
            format!("Level with {other}"),
            format!(" in {what}: {our_iops} and {their_iops} IOPS."),
            headline.test,
        )
    } else if ours >= theirs {
        finding(
            "",
            format!("Ahead of {other} by {} %", number::trimmed(100.0 * (ours / theirs - 1.0), 0)),
            ahead,
            headline.test,
        )
    } else if theirs < 1.5 * ours {
        finding(
            "",
            format!("{} % behind {other}", number::trimmed(100.0 * (1.0 - ours / theirs), 0)),
            format!(" in {what}: {our_iops} against {their_iops} IOPS."),
            headline.test,
        )
    } else {
        finding(
            "",
            format!("{other} is {} as fast", times(theirs / ours)),
            format!(" in {what}: {their_iops} against {our_iops} IOPS."),
            headline.test,
        )
    })
}

/// Of a figure that stands beside none.
fn unlike(facts: &Facts<'_>) -> String {
    let those = if facts.others.len() == 1 { "The one beside it was" } else { "Those beside it were" };
    format!(" {those} run over another span or for another time: they are in no order.")
}

fn sequential_writes(facts: &Facts<'_>) -> Option<Finding> {
    let stages = facts.metric("slc-cache", "", "stages");
    if let Some((rates, _)) = facts.long_write() {
        let cached = facts.rates_of_cache().is_some();
        let why = match facts.folds_past_cache() {
            // Of a device that does not say what it is made of, nobody knows: a disk in a set is no cache.
            _ if !cached || !facts.has_flash() => "",
            // Of an adapter it is its memory.
            _ if facts.device.facts.kind != "ssd" => ": the first go to a cache, in an adapter or in the drives",
            _ if facts.falls_with_its_buffer() => ": the first go to the write buffer, until it is full",
            _ if !facts.device.has_slc_cache => "",
            Some(false) => ": the first go to a pseudo-SLC cache (one bit a cell), the others past it",
            _ => ": the first go to a pseudo-SLC cache (one bit a cell), which then has to be emptied",
        };
        let test = if cached { "slc-cache" } else { "sequential-write" };
        return Some(finding("Sequential writes go at ", rates, format!("{why}."), test));
    }
    let (headline, ours) = facts.headline("sequential-write")?;
    let theirs = facts.best_other_writes(&headline);
    if theirs.is_none() && !facts.stands_alone(&headline) {
        return None;
    }
    let theirs = theirs.map_or_else(|| unlike(facts), |theirs| format!(" {theirs}."));
    let share = facts.outcome("sequential-write", "").and_then(|o| o.time_shares.first());
    let why = share.and_then(limit).map_or_else(String::new, |why| format!("; {why}"));
    Some(finding(
        "Sequential writes go at ",
        format!("{ours:.0} MB/s{}", if stages.is_some() && facts.has_flash() { " from beginning to end" } else { "" }),
        format!("{why}.{theirs}"),
        "sequential-write",
    ))
}

/// What limits writes whose mean time is this. The link is a limit only to a drive that keeps it busy: of another, what it
/// waits for beside the link is what it lacks.
fn limit(share: &TimeShare) -> Option<String> {
    let times = Times::of(share);
    let link = times.percent(Cause::Link);
    if link >= LINK_IS_FULL {
        return Some(format!("the transfer over the host link takes {link:.0} % of a write's time, and is the limit"));
    }
    let (cause, percent) = times.largest_but(&[Cause::Link]).filter(|&(cause, _)| cause != Cause::Queue)?;
    let what = awaited(cause);
    if percent >= MOST {
        return Some(format!("a write waits {percent:.0} % of its time for {what}"));
    }
    // Two that have most of it between them are told together.
    let next = times.largest_but(&[Cause::Link, cause]).map_or(0.0, |(_, percent)| percent);
    (link >= next && link + percent >= MOST).then(|| {
        format!("a write spends {link:.0} % of its time on the host link, and waits {percent:.0} % of it for {what}")
    })
}

/// The rate falls from the first address to the last: of a disk since its tracks get shorter.
fn outer_and_inner(facts: &Facts<'_>) -> Option<Finding> {
    let begin = facts.metric("disk-inspection", "", "rate_begin")?;
    let end = facts.metric("disk-inspection", "", "rate_end")?;
    (end < 0.8 * begin).then(|| {
        finding(
            "The transfer rate falls ",
            format!("from {begin:.0} MB/s at the first address to {end:.0} at the last"),
            if facts.device.facts.kind == "hdd" { ": inner tracks are shorter." } else { "." }.to_owned(),
            "disk-inspection",
        )
    })
}

fn slow_requests(facts: &Facts<'_>) -> Option<Finding> {
    let (headline, ours) = facts.headline("heavy-p99")?;
    let (other, theirs) = facts.best_other(&headline)?;
    let (a, b) = (number::latency(ours), number::latency(theirs));
    let after =
        if ours <= theirs { format!("; with {other} {b}.") } else { format!("; with {other} no more than {b}.") };
    Some(finding("In the Heavy trace one request in a hundred takes over ", a, after, "heavy"))
}

fn trim(facts: &Facts<'_>) -> Option<Finding> {
    let outcome = facts.outcome("trim", "")?;
    let verdict = outcome.verdict.as_ref()?;
    let figure = |key: &str| facts.metric("trim", "", key);
    let rates = match (figure("dirty_bandwidth"), figure("trimmed_bandwidth")) {
        (Some(d), Some(t)) => format!(": {d:.0} MB/s after torture, {t:.0} after TRIM"),
        _ => String::new(),
    };
    let limit = outcome.params.get("tolerance_percent").and_then(serde_json::Value::as_f64);
    let judged = match (figure("trimmed_shortfall"), limit) {
        (Some(short), Some(limit)) if short >= 0.05 => {
            let [short, limit] = [short, limit].map(|percent| number::trimmed(percent, 1));
            format!(", in its worst tenth {short} % below the clean drive (up to {limit} % counts as restored)")
        }
        _ => String::new(),
    };
    let short_of_it = figure("trimmed_shortfall").zip(limit).is_some_and(|(short, limit)| short > limit);
    let bold = match verdict.pass {
        Some(true) if short_of_it => "TRIM frees the drive, but its fast part is not back at once",
        Some(true) => "TRIM restores the drive",
        Some(false) => "TRIM does not restore the drive",
        None => "Whether TRIM works cannot be said",
    };
    Some(finding("", bold.to_owned(), format!("{rates}{judged}."), "trim"))
}

/// Small accesses: of a drive whose writes stall, or of one whose writes do not.
fn access(facts: &Facts<'_>, stalling: bool) -> Option<Finding> {
    let (_, read) = facts.headline("read-access")?;
    let (headline, write) =
        facts.headline("write-access").filter(|&(_, write)| (write > STALLING * read) == stalling)?;
    let (a, b) = (number::latency(read), number::latency(write));
    let by_cache = facts.part_of_cache(&headline).map_or_else(String::new, |note| format!(": {note}"));
    Some(if write > 2.0 * read {
        finding(
            "A small write takes ",
            b,
            format!(", {} as long as a small read ({a}){by_cache}.", times(write / read)),
            "analyzedisk",
        )
    } else {
        finding("A small read takes ", a, format!(", a small write {b}{by_cache}."), "analyzedisk")
    })
}

fn bursts(facts: &Facts<'_>) -> Option<Finding> {
    let (headline, ours) = facts.headline("random-write")?;
    let first = facts.first_random_writes().map_or(String::new(), |first| format!("; it begins at {}", iops(first)));
    let after = match facts.best_other(&headline) {
        Some((other, theirs)) => {
            let beside = if are_level(ours, theirs) { "level with" } else { "against" };
            format!(" in the mean of the run, {beside} {} of {other}{first}.", iops(theirs))
        }
        None if facts.stands_alone(&headline) => format!(" in the mean of the run{first}.{}", unlike(facts)),
        None => return None,
    };
    Some(finding("Random writes to the fresh drive go at ", format!("{} IOPS", iops(ours)), after, "random-write"))
}

#[cfg(test)]
mod tests;
