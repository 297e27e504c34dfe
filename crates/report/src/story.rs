//! Sentences about a drive, composed from its figures: what it is, what was found and why, for whom it is, for whom not.
//!
//! Nothing here knows a drive. The same rules write about every one, so opposite figures give opposite sentences.

use ssdlab_bench::suite::LONGEST_GAPS;
use ssdlab_bench::{Outcome, SlowIo};

use crate::felt::LIMITS;
use crate::headline::{HEADLINES, Headline, are_level};
use crate::name;
use crate::number;
use crate::reference::{ReferenceDrive, beside, consistency_curve};
use crate::review::{Review, ReviewedDevice};

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
    /// The sentence under the name.
    pub deck: String,
    pub findings: Vec<Finding>,
    pub suits: String,
    pub unsuited: String,
}

/// How many findings the first screen has room for.
const FINDINGS: usize = 5;
/// Seconds below this share of the usual rate are a stall.
const DEEP: f64 = 0.25;
/// Seconds within this share of the usual rate are on the line.
const NEAR: f64 = 0.15;
/// Small writes that take so many times as long as small reads are what a drive is known for.
const STALLING: f64 = 10.0;

/// A commit that takes as long is one that somebody notices.
const LONG_COMMIT_US: f64 = 100_000.0;

/// How random writes go once the drive has settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Steady {
    /// The median of the seconds.
    pub level: f64,
    pub lowest: f64,
    /// Shares of the seconds, in per cent.
    pub on_the_line: f64,
    pub deep: f64,
    /// Seconds from one stall to the next, if they come regularly.
    pub period: Option<f64>,
}

impl Steady {
    /// Of the values of each second.
    pub fn of(iops: &[f64]) -> Option<Steady> {
        let mut sorted = iops.to_vec();
        sorted.sort_by(f64::total_cmp);
        let level = *sorted.get(sorted.len() / 2)?;
        let share = |count: usize| 100.0 * count as f64 / iops.len() as f64;
        let on = iops.iter().filter(|v| (**v - level).abs() <= NEAR * level).count();
        let deep: Vec<usize> = (0..iops.len()).filter(|&i| iops[i] < DEEP * level).collect();
        // From the begin of one dip to the begin of the next.
        let begins: Vec<usize> = deep.iter().copied().filter(|&i| i == 0 || iops[i - 1] >= DEEP * level).collect();
        let gaps: Vec<f64> = begins.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
        let spread = gaps.iter().map(|g| (g - mean).abs()).sum::<f64>() / gaps.len().max(1) as f64;
        let period = (gaps.len() >= 5 && spread <= 0.35 * mean).then_some(mean);
        Some(Steady { level, lowest: sorted[0], on_the_line: share(on), deep: share(deep.len()), period })
    }

    pub fn is_flat(&self) -> bool {
        self.on_the_line >= 95.0 && self.deep == 0.0
    }

    pub fn stalls(&self) -> bool {
        self.deep >= 0.5
    }
}

/// What the sentences are made of.
struct Facts<'a> {
    review: &'a Review,
    device: &'a ReviewedDevice,
    others: Vec<(String, &'a str, Values)>,
}

/// Headline values of another drive.
enum Values {
    Shipped(&'static ReferenceDrive),
    Reviewed,
}

impl<'a> Facts<'a> {
    fn of(review: &'a Review, device: &'a ReviewedDevice) -> Facts<'a> {
        let others = if review.devices.len() > 1 {
            let rest = review.devices.iter().filter(|d| d.facts.name != device.facts.name);
            rest.map(|d| (name::short(&d.facts.name), d.facts.name.as_str(), Values::Reviewed)).collect()
        } else {
            let shipped = beside(&device.facts.name, device.facts.supports_trim);
            shipped.into_iter().map(|d| (name::short(&d.name), d.name.as_str(), Values::Shipped(d))).collect()
        };
        Facts { review, device, others }
    }

    /// Whether it is made of flash, as far as it says: only such drives have a spare area.
    fn has_flash(&self) -> bool {
        self.device.facts.over_provisioning_percent.is_some()
    }

    fn name(&self) -> &str {
        &self.device.facts.name
    }

    fn outcome(&self, test: &str, variant: &str) -> Option<&'a Outcome> {
        self.outcome_of(self.name(), test, variant)
    }

    fn outcome_of(&self, device: &str, test: &str, variant: &str) -> Option<&'a Outcome> {
        let mut of_device = self.review.outcomes.iter().filter(|o| o.device == device);
        of_device.find(|o| o.test == test && o.variant.starts_with(variant))
    }

    fn metric(&self, test: &str, variant: &str, key: &str) -> Option<f64> {
        self.outcome(test, variant)?.metrics.get(key).map(|m| m.value)
    }

    fn headline(&self, key: &str) -> Option<(Headline, f64)> {
        let headline = HEADLINES.into_iter().find(|h| h.key == key && h.is_shown(self.review.quick))?;
        Some((headline, headline.of(&self.review.outcomes, self.name())?.value))
    }

    /// The best of the others in a headline figure, by name.
    fn best_other(&self, headline: &Headline) -> Option<(&str, f64)> {
        let best = *self.others_by(headline).first()?;
        Some((self.others[best.0].0.as_str(), best.1))
    }

    /// The others that have this figure, the best first, by their places.
    fn others_by(&self, headline: &Headline) -> Vec<(usize, f64)> {
        let value = |(label, device, values): &'_ (String, &str, Values)| {
            let value = match values {
                Values::Shipped(drive) => drive.figures.get(headline.key).copied(),
                Values::Reviewed => headline.of(&self.review.outcomes, device).map(|m| m.value),
            };
            value.map(|v| (label.clone(), v))
        };
        let mut all: Vec<(usize, f64)> =
            self.others.iter().enumerate().filter_map(|(i, o)| Some((i, value(o)?.1))).collect();
        all.sort_by(|a, b| headline.order(a.1, b.1));
        all
    }

    fn steady(&self) -> Option<Steady> {
        // A run that has not settled has no steady state to describe.
        self.outcome("consistency", "2013")?.metrics.get("iops_mean_tail")?;
        Steady::of(&self.tail_of(self.name())?)
    }

    /// Writes at random of a device in the last part of the run, second by second.
    fn tail_of(&self, device: &str) -> Option<Vec<f64>> {
        let outcome = self.outcome_of(device, "consistency", "2013")?;
        let from = outcome.params.get("tail_from_seconds").and_then(serde_json::Value::as_f64)?;
        let curve = consistency_curve(self.review, device);
        Some(curve.iter().filter(|p| p[0] > from).map(|p| p[1]).collect())
    }

    /// Other drives of the review whose writes at random were measured and came to no steady state, and where they were.
    fn unsettled(&self) -> Vec<String> {
        let so_far = |(label, device, _): &(String, &str, Values)| {
            let outcome = self.outcome_of(device, "consistency", "2013")?;
            if outcome.metrics.contains_key("iops_mean_tail") {
                return None;
            }
            let tail = self.tail_of(device).unwrap_or_default();
            let part = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
            let means: Vec<f64> = tail.chunks(tail.len().div_ceil(5).max(1)).map(part).collect();
            let (least, most) = (means.iter().copied().reduce(f64::min)?, means.into_iter().reduce(f64::max)?);
            Some(format!("{label} had not settled, at {} to {} so far", iops(least), iops(most)))
        };
        let reviewed = self.others.iter().filter(|o| matches!(o.2, Values::Reviewed));
        reviewed.filter_map(so_far).collect()
    }

    /// The rates of a write over the whole drive, into an SLC cache and past it, in MB/s, if they fall by more than a fifth.
    fn rates_of_cache(&self) -> Option<Vec<f64>> {
        let rate = |key: &str| self.metric("slc-cache", "", key);
        let stages = rate("stages").filter(|_| self.has_flash())? as u32;
        let rates: Vec<f64> = (1..=stages).map_while(|k| rate(&format!("stage{k}_bandwidth"))).collect();
        let slowest = rates.iter().copied().reduce(f64::min)?;
        (slowest < 0.8 * rates[0]).then_some(rates)
    }
}

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
    Story { deck: deck(&facts, steady.as_ref()), findings, suits, unsuited }
}

fn iops(value: f64) -> String {
    number::grouped(rounded(value), 0)
}

/// Two significant digits from a hundred on: more would pretend.
fn rounded(value: f64) -> f64 {
    let step = match value {
        v if v >= 10_000.0 => 100.0,
        v if v >= 1_000.0 => 10.0,
        _ => 1.0,
    };
    (value / step).round() * step
}

fn times(ratio: f64) -> String {
    let number = if ratio < 10.0 { number::trimmed(ratio, 1) } else { number::grouped(ratio, 0) };
    format!("{number} times")
}

fn seconds(value: f64) -> String {
    match value.round() as u64 {
        0 | 1 => "every second".to_owned(),
        n => format!("every {n} s"),
    }
}

/// The cause that weighs most in the slowest requests, by name.
fn main_cause(slowest: &[SlowIo]) -> Option<&'static str> {
    let heaviest = |io: &SlowIo| io.causes_us.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|c| c.0.clone());
    let causes: Vec<String> = slowest.iter().filter_map(heaviest).collect();
    let most = causes.iter().max_by_key(|c| causes.iter().filter(|d| d == c).count())?;
    ssdlab_core::CAUSES.iter().find(|c| c.key() == most).map(|c| c.label())
}

fn finding(before: &str, bold: String, after: String, test: &'static str) -> Finding {
    Finding { before: before.to_owned(), bold, after, test }
}

fn steady_state(facts: &Facts<'_>, steady: Option<&Steady>) -> Option<Finding> {
    let Some(s) = steady else {
        let run = facts.outcome("consistency", "2013")?;
        let why = run.notes.iter().find(|n| n.starts_with("Not steady yet"))?;
        return Some(finding(
            "Random writes are ",
            "not steady yet".to_owned(),
            why.trim_start_matches("Not steady yet").to_owned(),
            "consistency",
        ));
    };
    let cause = facts.outcome("consistency", "2013").and_then(|o| main_cause(&o.slowest));
    let unit = facts.device.superblock_bytes.filter(|_| cause == Some("garbage collection"));
    let why = match (cause, unit) {
        (Some(_), Some(bytes)) => {
            format!(", while one superblock of {} is collected", number::transfer(bytes))
        }
        (Some(cause), None) => format!("; the slowest requests wait for {cause}"),
        _ => String::new(),
    };
    Some(if s.is_flat() {
        let within = 100.0 * (s.level - s.lowest) / s.level.max(1.0);
        finding(
            "Random writes settle to a flat line: ",
            format!("{} IOPS, and no second is more than {} % below", iops(s.level), number::trimmed(within, 0)),
            ".".to_owned(),
            "consistency",
        )
    } else if s.stalls() {
        let period = s.period.map_or_else(|| "now and then".to_owned(), seconds);
        finding(
            "",
            format!("Random writes run at {} IOPS and drop to {} {period}", iops(s.level), iops(s.lowest)),
            format!("{why}. {} of the seconds are stalls.", number::value((s.deep * 10.0).round() / 10.0, "%")),
            "consistency",
        )
    } else {
        finding(
            "Random writes settle around ",
            format!("{} IOPS, from then on never below {}", iops(s.level), iops(s.lowest)),
            format!("; {:.0} % of the seconds lie within {:.0} % of that.", s.on_the_line, NEAR * 100.0),
            "consistency",
        )
    })
}

fn spare_area(facts: &Facts<'_>) -> Option<Finding> {
    let key = "iops_mean_tail";
    let stock = facts.outcome("consistency", "2013").filter(|o| !o.variant.contains('%'))?.metrics.get(key)?.value;
    let spacious = facts.metric("consistency", "2013, 25 %", key)?;
    let ratio = spacious / stock;
    Some(if ratio >= 1.5 {
        finding(
            "Leaving a fifth of the drive unused lifts that ",
            format!("{}, to {} IOPS", times(ratio), iops(spacious)),
            ": worth it for anyone who writes at random.".to_owned(),
            "consistency",
        )
    } else {
        finding(
            "Leaving a fifth of the drive unused changes little: ",
            format!("{} IOPS with it, {} without", iops(spacious), iops(stock)),
            ". Spare area is not what it lacks.".to_owned(),
            "consistency",
        )
    })
}

/// What a user of a drive that stalls would notice.
fn felt(facts: &Facts<'_>) -> Option<Finding> {
    let (test, of) = [("storagemark-desktop", "desktop mix"), ("fileserver", "file server")]
        .into_iter()
        .find(|(test, _)| facts.metric(test, "", LIMITS[0].0).is_some())?;
    let share = |key: &str| facts.metric(test, "", key).filter(|&share| share >= 1.0);
    // The longest wait that is no exception.
    let (key, limit) = LIMITS.into_iter().rev().find(|(key, _)| share(key).is_some())?;
    let longest = facts.metric(test, "", "stall_longest").map_or_else(String::new, |gap| {
        let row = facts.outcome(test, "").and_then(|o| o.tables.iter().find(|t| t.title == LONGEST_GAPS)?.rows.first());
        let what = row.and_then(|cells| cells.last()).and_then(|cell| cell.split_once("% "));
        let cause = what.map_or_else(String::new, |(percent, cause)| format!(", {percent}% of it {cause}"));
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
    let what = headline.title.to_lowercase();
    Some(if ours >= 1.5 * theirs {
        finding(
            "",
            format!("{} as fast as {other}", times(ours / theirs.max(1e-9))),
            format!(" in {what}, and {other} is the best of the others here."),
            headline.test,
        )
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
            format!(" in {what}, and {other} is the best of the others here."),
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
            format!("{other} is {} as fast", times(theirs / ours.max(1e-9))),
            format!(" in {what}: {} against {} {}.", iops(theirs), iops(ours), "IOPS"),
            headline.test,
        )
    })
}

fn sequential_writes(facts: &Facts<'_>) -> Option<Finding> {
    let stages = facts.metric("slc-cache", "", "stages");
    if let Some(rates) = facts.rates_of_cache() {
        let later: String = rates[1..].iter().map(|rate| format!(", then at {rate:.0}")).collect();
        let amount = facts
            .metric("slc-cache", "", "stage1_amount")
            .map_or(String::new(), |gb| format!(" for {}", number::value(gb, "GB")));
        return Some(finding(
            "Sequential writes go at ",
            format!("{:.0} MB/s{amount}{later}", rates[0]),
            ": the first go to a cache of one bit a cell, which must be emptied.".to_owned(),
            "slc-cache",
        ));
    }
    let (headline, ours) = facts.headline("sequential-write")?;
    let (other, theirs) = facts.best_other(&headline)?;
    let share = facts.outcome("sequential-write", "").and_then(|o| o.time_shares.first()).and_then(|share| {
        let (key, us) = share.mean_us.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        let label = ssdlab_core::CAUSES.iter().find(|c| c.key() == key)?.label();
        Some(format!("; {:.0} % of a write's time is {label}", 100.0 * us / share.latency_mean_us.max(1e-9)))
    });
    Some(finding(
        "Sequential writes go at ",
        format!("{ours:.0} MB/s{}", if stages.is_some() && facts.has_flash() { " from beginning to end" } else { "" }),
        format!("{}. {other} reaches {theirs:.0}.", share.unwrap_or_default()),
        "sequential-write",
    ))
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
    let verdict = facts.outcome("trim", "")?.verdict.as_ref()?;
    let restored = facts.metric("trim", "", "trimmed_bandwidth");
    let dirty = facts.metric("trim", "", "dirty_bandwidth");
    let rates = match (dirty, restored) {
        (Some(d), Some(t)) => format!(": {d:.0} MB/s after torture, {t:.0} after TRIM."),
        _ => ".".to_owned(),
    };
    let bold = match verdict.pass {
        Some(true) => "TRIM restores the drive",
        Some(false) => "TRIM does not restore the drive",
        None => "Whether TRIM works cannot be said",
    };
    Some(finding("", bold.to_owned(), rates, "trim"))
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
    let (other, theirs) = facts.best_other(&headline)?;
    Some(finding(
        "A burst of random writes goes at ",
        format!("{} IOPS", iops(ours)),
        format!(", against {} of {other}.", iops(theirs)),
        "random-write",
    ))
}

/// The sentence under the name.
fn deck(facts: &Facts<'_>, steady: Option<&Steady>) -> String {
    let mut clauses = Vec::new();
    if let Some((headline, ours)) = facts.headline("random-write") {
        let best = facts.best_other(&headline).map_or(ours, |o| o.1);
        clauses.push(if ours >= 0.5 * best && facts.has_flash() {
            "Quick while it has clean blocks"
        } else if ours >= 0.5 * best {
            "Quick at random writes"
        } else if ours >= 0.05 * best {
            "Slow at random writes even when empty"
        } else {
            "No drive for random writes"
        });
    }
    let zero = facts.metric("consistency", "2013", "zero_iops_seconds");
    match steady {
        Some(s) if s.is_flat() => clauses.push("and once full it holds its rate"),
        Some(s) if s.stalls() => clauses.push("but once full it stalls"),
        Some(_) => clauses.push("and once full it stays in motion"),
        None if facts.review.quick && facts.outcome("consistency", "2013").is_some() => {
            clauses.push("and a quick run is too short to say how it settles");
        }
        None => {}
    }
    let mut text = clauses.join(", ");
    if let Some(s) = steady {
        text.push_str(&format!(": {} random writes a second", iops(s.level)));
        text.push_str(&match (s.stalls(), s.period) {
            (true, Some(p)) => format!(", {} a stall", seconds(p)),
            (true, None) => ", with stalls between".to_owned(),
            (false, _) => String::new(),
        });
    }
    if let Some(zero) = zero {
        text.push_str(&if zero == 0.0 {
            "; no second passes without an answer".to_owned()
        } else {
            format!("; {} seconds pass without an answer", number::grouped(zero, 0))
        });
    }
    if text.is_empty() { facts.device.facts.description.clone() } else { format!("{}.", text.trim_start_matches("; ")) }
}

/// Who should want the drive, and who should not.
fn conclusion(facts: &Facts<'_>, steady: Option<&Steady>) -> (String, String) {
    let (mut suits, mut unsuited): (Vec<String>, Vec<String>) = Default::default();
    if let Some(s) = steady {
        let longest = facts.metric("consistency", "2013", "latency_max_tail").map(number::latency);
        if s.stalls() || s.level < 500.0 {
            let wait = longest.map_or(String::new(), |l| format!(": a commit may wait {l}"));
            unsuited.push(format!("Databases and anything that fills it{wait}."));
        } else {
            // Who reads one drive's page takes it for the better one of those beside it.
            let unsettled: String = facts.unsettled().iter().map(|other| format!("; {other}")).collect();
            let told = format!("{} writes a second, and no second below {}", iops(s.level), iops(s.lowest));
            match facts.metric("consistency", "2013", "latency_p99_9_tail") {
                Some(us) if us >= LONG_COMMIT_US => unsuited.push(format!(
                    "Databases whose users wait for each commit: {told}, but one write in a thousand takes over {}.",
                    number::latency(us)
                )),
                Some(us) => suits.push(format!(
                    "Databases: {told}; one write in a thousand takes over {}{unsettled}.",
                    number::latency(us)
                )),
                None => suits.push(format!("Databases: {told}{unsettled}.")),
            }
        }
    }
    if let Some((_, p99)) = facts.headline("heavy-p99") {
        let wait = number::latency(p99);
        if p99 <= 20_000.0 {
            suits.push(format!("Desktops: under heavy use 99 of 100 requests take less than {wait}."));
        } else {
            unsuited.push(format!("Busy desktops: one request in a hundred takes over {wait}."));
        }
    }
    if let Some((headline, rate)) = facts.headline("sequential-write") {
        let best = facts.best_other(&headline).map_or(rate, |o| o.1);
        if let Some(rates) = facts.rates_of_cache() {
            let later: String = rates[1..].iter().map(|rate| format!(", then {rate:.0}")).collect();
            let said = format!("opies and video: {:.0} MB/s at first{later}.", rates[0]);
            let slowest = rates.iter().copied().fold(f64::MAX, f64::min);
            if slowest < 0.5 * best.max(rates[0]) {
                unsuited.push(format!("Long c{said}"));
            } else {
                suits.push(format!("C{said}"));
            }
        } else if rate >= 0.8 * best {
            // A test of a minute says nothing of the time after it.
            let long = if facts.outcome("slc-cache", "").is_some() { " for as long as it takes" } else { "" };
            suits.push(format!("Copies and video: {rate:.0} MB/s{long}."));
        } else if rate < 0.5 * best {
            unsuited.push(format!("Long copies and video: {rate:.0} MB/s, {:.0} elsewhere.", best.max(rate)));
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
    if suits.is_empty() {
        // What all do alike speaks for none of them.
        let best = relative.iter().rfind(|r| r.ratio >= 0.95 && r.sets_apart);
        suits.extend(best.map(|r| format!("{}, at the level of the best here.", r.what)));
    }
    if unsuited.is_empty() {
        let worst = relative.into_iter().next().filter(|r| r.ratio < 0.8);
        unsuited.extend(worst.map(|r| {
            if r.lower_is_better {
                format!("{}, {} the best here.", r.what, times(1.0 / r.ratio))
            } else {
                let percent = 100.0 * r.ratio;
                format!("{}, {} % of the best here.", r.what, number::trimmed(percent, usize::from(percent < 10.0)))
            }
        }));
    }
    let said = |sentences: Vec<String>, none: &str| {
        if sentences.is_empty() { none.to_owned() } else { sentences.join(" ") }
    };
    (
        said(suits, "Nothing that was measured here speaks for it."),
        said(unsuited, "Nothing that was measured here speaks against it."),
    )
}

/// A headline figure in words, and as a share of the best of the others.
struct Relative {
    ratio: f64,
    what: String,
    lower_is_better: bool,
    /// Another drive is behind, and not level.
    sets_apart: bool,
}

/// Every headline figure, the lowest share first.
fn relative(facts: &Facts<'_>) -> Vec<Relative> {
    let share = |headline: Headline| {
        let (_, ours) = facts.headline(headline.key)?;
        let (_, theirs) = facts.best_other(&headline)?;
        let ratio = if headline.lower_is_better { theirs / ours } else { ours / theirs };
        let value = headline.of(&facts.review.outcomes, facts.name())?;
        let what = format!("{}: {}", headline.title, number::value(rounded(value.value), &value.unit));
        let is_behind = |worst: f64| headline.order(ours, worst).is_lt() && !are_level(ours, worst);
        let sets_apart = facts.others_by(&headline).last().is_some_and(|&(_, worst)| is_behind(worst));
        Some(Relative { ratio, what, lower_is_better: headline.lower_is_better, sets_apart })
    };
    let mut all: Vec<Relative> = HEADLINES.into_iter().filter_map(share).collect();
    all.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    all
}

#[cfg(test)]
mod tests;
