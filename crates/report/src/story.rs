//! Sentences about a drive, composed from its figures: what it is, what was found and why, for whom it is, for whom not.
//!
//! Nothing here knows a drive. The same rules write about every one, so opposite figures give opposite sentences.

mod apart;
mod causes;
mod drive;
mod facts;
mod steady;
mod words;

use ssdlab_bench::suite::{FELT_FIGURES, cause_of_longest_gap};
use ssdlab_bench::{Outcome, SlowIo, TimeShare, Unsettled};
use ssdlab_core::Cause;

use crate::headline::{HEADLINES, Headline, are_level};
use crate::number;
use crate::random_writes;
use crate::reference::beside;
use crate::review::{Review, ReviewedDevice};
use apart::{Fresh, capital};
use causes::{MOST, Times, awaited};
use drive::not_settled;
use facts::{Facts, Sustained};
use steady::NEAR;
use words::{iops, rounded, seconds, times};

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
/// Small writes that take so many times as long as small reads are what a drive is known for.
const STALLING: f64 = 10.0;

/// The share of a request's time, in per cent, from which on the link is the limit.
const LINK_IS_FULL: f64 = 90.0;

/// Random writes a second of a full drive that databases ask for at the least.
const DATABASE: f64 = 500.0;

/// A commit that takes as long is one that somebody notices.
const LONG_COMMIT_US: f64 = 100_000.0;

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

/// Whether a run ended before its writes had settled, and not because that is left to a full one.
pub(crate) fn drifts(run: &Outcome) -> bool {
    !run.has_settled() && !run.is_unsettled_by(Unsettled::LeftToFullRun)
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
            return Some(format!("{}: {}.", crate::name::pretty(facts.name()), not_settled(&facts.last_part()?)));
        }
        let said = match headline.key {
            "sequential-write" => facts.bar_of_long_write()?,
            "steady-write" => of_bursts(facts.steady()?)?,
            "random-write" => {
                format!("{} IOPS at first; the mean is of what came after, too", iops(facts.first_random_writes()?))
            }
            _ => facts.made_by_cache(headline).or_else(|| facts.cache_was_full(headline))?,
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
    let why = match (cause, unit) {
        (Some(_), Some(bytes)) => {
            format!(", while one superblock of {} is collected", number::transfer(bytes))
        }
        (Some(cause), None) => format!("; the slowest requests wait for {}", awaited(cause)),
        _ => String::new(),
    };
    let waits = waits_of_the_last_part(facts).unwrap_or_default();
    // Where the cause of the slowest is told, that is enough.
    let waits_untold = if why.is_empty() { waits.as_str() } else { "" };
    Some(if s.is_flat() {
        // Rounded up: the lowest second is no lower than is said.
        let within = (100.0 * (s.figure() - s.lowest) / s.figure().max(1.0)).ceil();
        finding(
            "Random writes settle to a flat line: ",
            format!("{} IOPS, and no second is more than {} % below", iops(s.figure()), number::trimmed(within, 0)),
            format!(".{waits}"),
            random_writes::TEST,
        )
    } else if s.stalls() {
        stalls_of_writes(s, &why, waits_untold)
    } else if s.bursts() {
        bursts_of_writes(s, &why, "seconds", waits_untold)
    } else {
        finding(
            "Random writes settle around ",
            format!("{} IOPS, from then on never below {}", iops(s.level), iops(s.lowest)),
            format!("; {:.0} % of the seconds lie within {:.0} % of that.{waits}", s.on_the_line, NEAR * 100.0),
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
    let period = s.period.map_or_else(|| "now and then".to_owned(), seconds);
    let share = number::value((s.deep * 10.0).round() / 10.0, "%");
    finding(
        "",
        format!("Random writes run at {} IOPS and drop to {} {period}", iops(s.level), iops(s.lowest)),
        format!("{why}. For {share} of the time the rate is below a quarter of that.{more}"),
        random_writes::TEST,
    )
}

/// Of a drive whose median says one thing and whose mean another: both, and what each is of.
fn bursts_of_writes(s: &Steady, why: &str, of: &str, more: &str) -> Finding {
    finding(
        "",
        format!("Random writes run at {} IOPS most of the time, with bursts up to {}", iops(s.level), iops(s.highest)),
        format!(
            "{why}. The bursts lift the mean to {}; in {:.0} % of the {of} the rate is below half of that.{more}",
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
    let parts = format!("the means of its five parts run from {} to {} IOPS", iops(s.parts.0), iops(s.parts.1));
    let waits = waits_of_the_last_part(facts).unwrap_or_default();
    Some(if s.stalls() {
        stalls_of_writes(
            &s,
            "",
            &format!(" The mean of the last {length:.0} s is {}. That had not settled: {parts}.{waits}", iops(s.mean)),
        )
    } else if s.bursts() {
        bursts_of_writes(&s, "", &format!("last {length:.0} s"), &format!(" That had not settled: {parts}.{waits}"))
    } else {
        // Beside means, a median that lies outside of them needs the mean.
        let is_within = s.parts.0 <= s.level && s.level <= s.parts.1;
        let mean = if is_within { String::new() } else { format!(", whose mean is {}", iops(s.mean)) };
        finding(
            "Random writes had not settled: ",
            format!("{} IOPS", iops(s.level)),
            format!(" is the median of the last {length:.0} s{mean}, and {parts}.{waits}"),
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

fn spare_area(facts: &Facts<'_>) -> Option<Finding> {
    let mean = |run: &Outcome| Some(run.metrics.get("iops_mean_tail")?.value);
    let all = facts.random_writes()?;
    let part = facts.outcome(random_writes::TEST, random_writes::SPACIOUS)?;
    let (stock, spacious) = (mean(all)?, mean(part)?);
    if stock == 0.0 {
        return None;
    }
    // Means of runs that still drift are those of an arbitrary moment.
    let drifting = |run: &Outcome, which: &str| {
        run.not_steady.first().map(|not_steady| format!("{which} that they had not settled ({})", not_steady.why))
    };
    let drifting: Vec<String> = [drifting(all, "without"), drifting(part, "with")].into_iter().flatten().collect();
    if !drifting.is_empty() {
        return Some(finding(
            "What leaving a fifth of its flash unused does for random writes ",
            "cannot be said".to_owned(),
            format!(": {}.", drifting.join(", and ")),
            random_writes::TEST,
        ));
    }
    let ratio = spacious / stock;
    Some(if ratio >= 1.5 {
        finding(
            "Leaving a fifth of its flash unused lifts the mean ",
            format!("{}, to {} IOPS", times(ratio), iops(spacious)),
            ": worth it for anyone who writes at random.".to_owned(),
            random_writes::TEST,
        )
    } else {
        finding(
            "Leaving a fifth of its flash unused changes little: ",
            format!("{} IOPS with it, {} without", iops(spacious), iops(stock)),
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
        &format!("In the {of}, "),
        format!("requests wait {limit} in {:.0} % of the seconds", share(key)?),
        format!("{longest}."),
        test,
    ))
}

fn against_the_best(facts: &Facts<'_>) -> Option<Finding> {
    let (headline, ours) = facts.headline("steady-write").or_else(|| facts.headline("file-server"))?;
    let (other, theirs) = facts.best_other(&headline)?;
    if !facts.carries(&headline) {
        return None;
    }
    if ours == 0.0 || theirs == 0.0 {
        // A ratio to nothing says nothing.
        return None;
    }
    let is_mean = headline.key == "steady-write" && facts.steady().is_some_and(|s| s.bursts());
    let what = format!("{}{}", headline.in_words, if is_mean { ", as a mean" } else { "" });
    // The only other one is the best of nothing: beside it stand the figures.
    let ahead = match facts.others.len() {
        1 => format!(" in {what}: {} against {} IOPS.", iops(ours), iops(theirs)),
        _ if headline.settles && facts.some_other_is_unsettled() => {
            format!(" in {what}, and {other} is the best of the others that had settled.")
        }
        _ => format!(" in {what}, and {other} is the best of the others here."),
    };
    Some(if ours >= 1.5 * theirs {
        finding("", format!("{} as fast as {other}", times(ours / theirs)), ahead, headline.test)
    } else if are_level(ours, theirs) {
        finding(
            "",
            format!("Level with {other}"),
            format!(" in {what}: {} and {} {}.", iops(ours), iops(theirs), "IOPS"),
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
            format!(" in {what}: {} against {} {}.", iops(ours), iops(theirs), "IOPS"),
            headline.test,
        )
    } else {
        finding(
            "",
            format!("{other} is {} as fast", times(theirs / ours)),
            format!(" in {what}: {} against {} {}.", iops(theirs), iops(ours), "IOPS"),
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
            _ if !cached => "",
            // Of an adapter it is its memory.
            _ if facts.device.facts.kind != "ssd" => ": the first go to a cache, in an adapter or in the drives",
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
    let (cause, percent) = times.largest_but(&[Cause::Link])?;
    let what = awaited(cause);
    if link > percent {
        return Some(format!(
            "a write spends {link:.0} % of its time on the host link, and waits {percent:.0} % of it for {what}"
        ));
    }
    (cause != Cause::Queue && percent >= MOST).then(|| format!("a write waits {percent:.0} % of its time for {what}"))
}

/// Of a disk: the rate falls from the outer tracks to the inner ones.
fn outer_and_inner(facts: &Facts<'_>) -> Option<Finding> {
    let begin = facts.metric("disk-inspection", "", "rate_begin")?;
    let end = facts.metric("disk-inspection", "", "rate_end")?;
    (end < 0.8 * begin).then(|| {
        finding(
            "The transfer rate falls ",
            format!("from {begin:.0} MB/s at the first address to {end:.0} at the last"),
            ": inner tracks are shorter.".to_owned(),
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
            format!(", at worst {short} % below the clean drive (up to {limit} % counts as restored)")
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
    let (_, write) = facts.headline("write-access").filter(|&(_, write)| (write > STALLING * read) == stalling)?;
    let (a, b) = (number::latency(read), number::latency(write));
    Some(if write > 2.0 * read {
        finding(
            "A small write takes ",
            b,
            format!(", {} as long as a small read ({a}).", times(write / read)),
            "analyzedisk",
        )
    } else {
        finding("A small read takes ", a, format!(", a small write {b}."), "analyzedisk")
    })
}

fn bursts(facts: &Facts<'_>) -> Option<Finding> {
    let (headline, ours) = facts.headline("random-write")?;
    let first = facts.first_random_writes().map_or(String::new(), |first| format!("; it begins at {}", iops(first)));
    let after = match facts.best_other(&headline) {
        Some((other, theirs)) => format!(" in the mean of the run, against {} of {other}{first}.", iops(theirs)),
        None if facts.stands_alone(&headline) => format!(" in the mean of the run{first}.{}", unlike(facts)),
        None => return None,
    };
    Some(finding("Random writes to the fresh drive go at ", format!("{} IOPS", iops(ours)), after, "random-write"))
}

/// Who should want the drive, and who should not.
fn conclusion(facts: &Facts<'_>, steady: Option<&Steady>) -> (String, String) {
    let (mut suits, mut unsuited): (Vec<String>, Vec<String>) = Default::default();
    databases(facts, steady, &mut suits, &mut unsuited);
    if let Some((_, p99)) = facts.headline("heavy-p99") {
        let wait = number::latency(p99);
        if p99 <= 20_000.0 {
            suits.push(format!("Desktops: under heavy use 99 of 100 requests take less than {wait}."));
        } else {
            unsuited.push(format!("Busy desktops: one request in a hundred takes over {wait}."));
        }
    }
    // What it does with a file that is longer than what was written, nobody has seen.
    let in_order = |(headline, _): &(Headline, f64)| !facts.stands_alone(headline);
    if let Some((headline, rate)) = facts.headline("sequential-write").filter(in_order) {
        let best = facts.best_other(&headline).map_or(rate, |o| o.1);
        // The first gigabytes of another drive whose rate falls are no measure of a long copy.
        let other = facts.best_other_sustained(&headline);
        let kept = other.as_ref().map_or(rate, |other| other.rate);
        if let Some((rates, slowest)) = facts.long_write() {
            let goes_on =
                other.filter(|other| other.is_seen && other.rate > slowest && !are_level(other.rate, slowest));
            if slowest < 0.5 * kept.max(rate) {
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
            } else {
                suits.push(format!("Copies and video: {rates}."));
            }
        } else if facts.outcome("slc-cache", "").is_some() && rate >= 0.8 * kept {
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
            unsuited.push(format!("{what} takes {}.", number::latency(read)));
        } else if suits.is_empty() {
            suits.push(format!("Reading: an answer in {}.", number::latency(read)));
        }
    }
    // Where no rule has a word, the figure that stands out most among the drives here has one.
    let relative = relative(facts);
    let compared = !relative.is_empty();
    if suits.is_empty() {
        // What all do alike speaks for none of them.
        // Nor does a rate speak for it that falls.
        let falls = |r: &Relative| match r.key {
            "sequential-write" => facts.long_write().is_some(),
            "random-write" => facts.first_random_writes().is_some(),
            _ => false,
        };
        let best = relative.iter().rfind(|r| r.ratio >= 0.95 && r.sets_apart && !falls(r));
        suits.extend(best.map(|r| {
            let place = match r.ratio {
                // Level with another, it is not the best by anything that a reader should choose by.
                ratio if are_level(ratio, 1.0) => "level with the best here".to_owned(),
                ratio if ratio > 1.0 => format!("the best here{}", r.but_for),
                ratio => format!("{} % behind the best here", number::trimmed(100.0 * (1.0 - ratio), 0)),
            };
            format!("{}, {place}.", r.what)
        }));
    }
    if unsuited.is_empty() {
        // Rates that another drive does not keep put nobody behind it.
        let worst = relative.into_iter().find(|r| facts.puts_in_order(r.key)).filter(|r| r.ratio < 0.8);
        unsuited.extend(worst.map(|r| {
            if r.lower_is_better {
                format!("{}, {} the best here.", r.what, times(1.0 / r.ratio))
            } else {
                let percent = 100.0 * r.ratio;
                format!("{}, {} % of the best here.", r.what, number::trimmed(percent, usize::from(percent < 10.0)))
            }
        }));
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
    let said = |sentences: Vec<String>, none: &str| match sentences.is_empty() {
        false => sentences.join(" "),
        true if compared => none.to_owned(),
        true if stands_alone(facts) => {
            let those = if facts.others.len() == 1 { "the one beside it was" } else { "those beside it were" };
            format!("No verdict: {those} run over other spans or for other times.")
        }
        true => "None of the figures that drives are compared by was measured.".to_owned(),
    };
    (
        said(suits, "It leads in none of the figures compared here."),
        said(unsuited, "It falls far behind in none of the figures compared here."),
    )
}

/// Whether some figure of it is told by itself, since those beside it are of runs that covered something else.
fn stands_alone(facts: &Facts<'_>) -> bool {
    HEADLINES.iter().any(|h| facts.headline(h.key).is_some_and(|(h, _)| facts.stands_alone(&h)))
}

/// Whether it is for those who wait for each write, by how random writes went when the drive was full.
fn databases(facts: &Facts<'_>, steady: Option<&Steady>, suits: &mut Vec<String>, unsuited: &mut Vec<String>) {
    // Slow while it is empty, it is no faster when it is full.
    let slow_when_fresh = |unsuited: &mut Vec<String>| {
        if let Some((_, rate)) = facts.headline("random-write").filter(|_| Fresh::of(facts) == Some(Fresh::NoDrive)) {
            unsuited.push(format!("Whatever writes at random: {} a second to a fresh drive.", iops(rate)));
        }
    };
    let Some(last) = facts.last_part() else { return slow_when_fresh(unsuited) };
    let longest = facts.of_random_writes("latency_max_tail").map(number::latency);
    let wait = longest.map_or(String::new(), |l| format!(": a commit may wait {l}"));
    let drops = format!(": {} writes a second drop to {}", iops(last.level), iops(last.lowest));
    // A fault that holds most of the last part of a run speaks against a drive even if its means still drift.
    if last.stalls() {
        let why = if wait.is_empty() { &drops } else { &wait };
        unsuited.push(format!("Databases, and random writes to a full drive{why}."));
        return;
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
        return;
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
        return;
    };
    if s.level < DATABASE {
        unsuited.push(format!("Databases, and random writes to a full drive{wait}."));
        return;
    }
    // What is no drive for random writes while it is empty is none for databases when it is full.
    if Fresh::of(facts) == Some(Fresh::NoDrive) {
        unsuited.push(format!("Databases, and random writes to a full drive: {} a second.", iops(s.level)));
        return;
    }
    // Who reads one drive's page takes it for the better one of those beside it.
    let unsettled: String = facts.unsettled().iter().map(|other| format!("; {other}")).collect();
    let told = format!("{} writes a second, and no second below {}", iops(s.figure()), iops(s.lowest));
    match facts.of_random_writes("latency_p99_9_tail") {
        Some(us) if us >= LONG_COMMIT_US => unsuited.push(format!(
            "Databases whose users wait for each commit: {told}, but one write in a thousand takes over {}.",
            number::latency(us)
        )),
        Some(us) => suits
            .push(format!("Databases: {told}; one write in a thousand takes over {}{unsettled}.", number::latency(us))),
        None => suits.push(format!("Databases: {told}{unsettled}.")),
    }
}

/// A headline figure in words, and as a share of the best of the others.
struct Relative {
    key: &'static str,
    ratio: f64,
    what: String,
    lower_is_better: bool,
    /// Another drive is behind, and not level.
    sets_apart: bool,
    /// Better ones that are not compared, with a reason.
    but_for: String,
}

/// Every headline figure, the lowest share first.
fn relative(facts: &Facts<'_>) -> Vec<Relative> {
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
        // With the state that it is of.
        let what = format!("{}: {}", capital(headline.in_words), number::value(rounded(value.value), &value.unit));
        let is_behind = |worst: f64| headline.order(ours, worst).is_lt() && !are_level(ours, worst);
        let sets_apart = facts.others_by(&headline).last().is_some_and(|&(_, worst)| is_behind(worst));
        let but_for = facts.but_for(&headline, ours);
        Some(Relative {
            key: headline.key,
            ratio,
            what,
            lower_is_better: headline.lower_is_better(),
            sets_apart,
            but_for,
        })
    };
    let mut all: Vec<Relative> = HEADLINES.into_iter().filter_map(share).collect();
    all.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    all
}

#[cfg(test)]
mod tests;
