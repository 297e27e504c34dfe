//! The sentences under the names: what sets a drive apart from those beside it, and, once, what all have in common.

use ssdlab_bench::{Outcome, Unsettled};

use super::facts::{Facts, Other};
use super::steady::Steady;
use super::words::{figure, iops, seconds};
use crate::headline::{HEADLINES, Headline, are_level};
use crate::number;

/// The sentence under each name, in the order of the drives, and one about all of them; each may be empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Decks {
    pub each: Vec<String>,
    pub all: String,
}

/// Random writes a second that no hard disk of the catalog reaches, with many under way and its cache on: the quickest, at 15,000
/// revolutions a minute, comes to 532; and what is too few for any use.
const OF_DISKS: f64 = 600.0;
const OF_NO_DRIVE: f64 = 100.0;

/// A second in the unit of gaps.
const SECOND_US: f64 = 1e6;

/// How a drive takes random writes that are new to it.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fresh {
    QuickWhenEmpty,
    Quick,
    /// Its cache takes them, and holds fewer than the test writes.
    QuickAtFirst,
    /// Less than half as fast as another, however far behind: that may be fast enough.
    Slower,
    /// As a disk.
    Slow,
    /// Too slow for any use, or as slow as a disk and far behind another.
    NoDrive,
}

impl Fresh {
    pub(super) fn of(facts: &Facts<'_>) -> Option<Fresh> {
        let (headline, ours) = facts.headline("random-write")?;
        // One with a larger cache is a disk all the same.
        let as_a_disk = ours < OF_DISKS || facts.device.facts.kind == "hdd";
        // Neither quick nor slow beside runs over another span or time, but for what is slow beside anything.
        if !as_a_disk && facts.stands_alone(&headline) {
            return None;
        }
        let best = facts.best_other(&headline).map_or(ours, |o| o.1);
        let first = facts.first_random_writes().unwrap_or(0.0);
        // Who reads that it is slow takes it for slower than those that it leads when the run ends.
        let leads_at_last = || {
            let other = facts.best_other_by(false, |other| other.level);
            facts.last_part().zip(other).is_some_and(|(ours, (_, theirs))| ours.level > theirs)
        };
        if !as_a_disk && ours < 0.5 * best && first < 0.5 * best && leads_at_last() {
            return None;
        }
        Some(match ours / best {
            // The best of slow ones is not quick.
            _ if ours < OF_NO_DRIVE => Fresh::NoDrive,
            r if as_a_disk && r >= 0.05 => Fresh::Slow,
            r if r < 0.5 && first / best >= 0.5 => Fresh::QuickAtFirst,
            r if r >= 0.5 && facts.has_flash() => Fresh::QuickWhenEmpty,
            r if r >= 0.5 => Fresh::Quick,
            _ if as_a_disk => Fresh::NoDrive,
            _ => Fresh::Slower,
        })
    }

    const fn of_one(self) -> &'static str {
        match self {
            Fresh::QuickWhenEmpty => "Quick at random writes to an empty drive",
            Fresh::Quick => "Quick at random writes",
            Fresh::QuickAtFirst => "Quick at the first random writes to an empty drive",
            Fresh::Slower => "Slower than others at random writes even when empty",
            Fresh::Slow => "Slow at random writes even when empty",
            Fresh::NoDrive => "No drive for random writes",
        }
    }

    const fn of_all(self) -> &'static str {
        match self {
            Fresh::QuickWhenEmpty => "All are quick at random writes to an empty drive",
            Fresh::Quick => "All are quick at random writes",
            Fresh::QuickAtFirst => "All are quick at the first random writes to an empty drive",
            Fresh::Slower => "Each is slower than another at random writes even when empty",
            Fresh::Slow => "All are slow at random writes even when empty",
            Fresh::NoDrive => "None is a drive for random writes",
        }
    }
}

/// What becomes of random writes on a full drive.
#[derive(Clone, Copy, PartialEq)]
enum Full {
    Holds,
    Stalls,
    Bursts,
    Varies,
    /// The run ended before that.
    Unsettled,
    /// It has too few writes to tell.
    TooFew,
    /// A run in small does not tell.
    Left,
    /// Nothing was answered in the last part of the run.
    Stops,
}

impl Full {
    fn of(facts: &Facts<'_>) -> Option<(Full, Steady)> {
        let last = facts.last_part()?;
        let full = match facts.steady() {
            _ if facts.is_left_to_a_full_run() => Full::Left,
            // What holds most of the last part of a run is seen even if its means still drift.
            _ if last.mean == 0.0 => Full::Stops,
            _ if last.stalls() => Full::Stalls,
            _ if last.bursts() => Full::Bursts,
            Some(s) if s.holds() => Full::Holds,
            Some(_) => Full::Varies,
            None if facts.random_writes().is_some_and(Outcome::is_too_short_to_tell) => Full::TooFew,
            None => Full::Unsettled,
        };
        Some((full, last))
    }

    const fn of_one(self) -> &'static str {
        match self {
            Full::Holds => "and once full it holds its rate",
            Full::Stalls => "but once full it stalls",
            Full::Bursts => "but once full it writes in bursts",
            Full::Varies => "and once full its rate varies",
            Full::Unsettled => "and not yet settled when the run ended",
            Full::TooFew => "and too few writes to tell whether they had settled",
            Full::Left => "and a steady state that only a full run can tell",
            Full::Stops => "but once full it stops answering",
        }
    }
}

/// Clauses about one drive.
struct Told {
    fresh: Option<Fresh>,
    full: Option<(Full, Steady)>,
    /// Seconds without an answer.
    zero: Option<f64>,
    /// Whether no time as long as a second went by without one, wherever it began.
    answers: bool,
    apart: Option<String>,
    /// Whether it is between the others in every figure.
    is_between: bool,
    is_settled: bool,
    /// Whether only a full run can tell its steady state.
    is_left: bool,
    /// How long the last part of the run is.
    last_seconds: Option<f64>,
    /// Whether writes still went to the spare area, so that their rate says nothing of a full drive.
    is_of_spare: bool,
}

impl Told {
    fn of(facts: &Facts<'_>) -> Told {
        let apart = apart(facts);
        let zero = facts.of_random_writes("zero_iops_seconds");
        let longest = facts.of_random_writes("stall_longest");
        Told {
            fresh: Fresh::of(facts),
            full: Full::of(facts),
            zero,
            answers: zero == Some(0.0) && longest.is_none_or(|us| us < SECOND_US),
            is_between: is_between(facts),
            apart,
            is_settled: facts.steady().is_some(),
            is_left: facts.is_left_to_a_full_run(),
            last_seconds: facts.last_part_seconds(),
            is_of_spare: facts.random_writes().is_some_and(|run| run.is_unsettled_by(Unsettled::SpareNotWritten)),
        }
    }

    /// `common`: what is said of all drives, and so not of each.
    fn sentence(&self, common: &Common) -> String {
        let mut clauses: Vec<&str> = Vec::new();
        clauses.extend(self.fresh.filter(|_| common.fresh.is_none()).map(Fresh::of_one));
        clauses
            .extend(self.full.map(|f| f.0).filter(|f| !(common.unsettled && *f == Full::Unsettled)).map(Full::of_one));
        let mut text = clauses.join(", ");
        if clauses.len() == 1 {
            text = text.trim_start_matches("but ").trim_start_matches("and ").to_owned();
        }
        let has_rate = |full: Full| match full {
            Full::Unsettled => !self.is_of_spare,
            Full::Left => false,
            _ => true,
        };
        if let Some((full, s)) = self.full.filter(|(full, _)| has_rate(*full)) {
            // What a drive does while it is empty is not the rate that it had last.
            let separator = match clauses.is_empty() {
                true => "",
                false if full == Full::Unsettled && common.unsettled => "; ",
                false => ": ",
            };
            let rate = match full {
                // A median of few counts is one of these.
                Full::TooFew => s.mean,
                Full::Bursts => s.level,
                _ if self.is_settled || s.is_coarse() => s.figure(),
                _ => s.level,
            };
            text.push_str(&format!("{separator}{} random writes a second", iops(rate)));
            let mean = if s.is_coarse() { " in the mean" } else { "" };
            text.push_str(&match (full, s.period) {
                (Full::Stalls, Some(period)) => format!("{mean}, {} a stall", seconds(period)),
                (Full::Stalls, None) => format!("{mean}, with stalls between"),
                (Full::Unsettled | Full::TooFew, _) => self.last_seconds.map_or(String::new(), |length| {
                    let is_mean = full == Full::TooFew || s.is_coarse();
                    let what = if is_mean { "in the mean" } else { "the median" };
                    format!(", {what} of the last {} s", number::trimmed(length, 0))
                }),
                (Full::Bursts, _) => {
                    format!(" most of the time, up to {} in between, {} in the mean", iops(s.highest), iops(s.mean))
                }
                _ => String::new(),
            });
        }
        text.push_str(&match self.zero {
            Some(0.0) if self.answers && !common.answers => "; no second passes without an answer".to_owned(),
            Some(zero) if zero > 0.0 => format!("; {} seconds pass without an answer", number::grouped(zero, 0)),
            _ => String::new(),
        });
        let text = capital(text.trim_start_matches("; "));
        let text = if text.is_empty() { text } else { format!("{text}.") };
        let apart = match &self.apart {
            Some(apart) => apart.clone(),
            // That it is between the others is worth a word only where there is no other.
            None if text.is_empty() && self.is_between => "Between the others in every figure.".to_owned(),
            None => String::new(),
        };
        [text, apart].join(" ").trim().to_owned()
    }
}

/// What is said once of all drives.
#[derive(Default)]
struct Common {
    fresh: Option<Fresh>,
    unsettled: bool,
    /// Whether each always answers.
    answers: bool,
}

impl Common {
    fn of(told: &[Told]) -> Common {
        let fresh = told.first().and_then(|t| t.fresh).filter(|f| told.iter().all(|t| t.fresh == Some(*f)));
        let is_unsettled = |t: &Told| t.full.is_some_and(|f| f.0 != Full::TooFew) && !t.is_settled && !t.is_left;
        let unsettled = told.iter().all(is_unsettled);
        Common { fresh, unsettled, answers: told.iter().all(|t| t.answers) }
    }

    fn sentence(&self) -> String {
        let mut clauses: Vec<&str> = Vec::new();
        clauses.extend(self.fresh.map(Fresh::of_all));
        clauses.extend(self.unsettled.then_some("none had settled when the run of random writes ended"));
        clauses.extend(self.answers.then_some("with none does a second pass without an answer"));
        let all = capital(&clauses.join("; "));
        if all.is_empty() { all } else { format!("{all}.") }
    }
}

/// The sentences under the names of `drives`; of one alone, `description` where there is nothing else to say.
pub(super) fn decks(drives: &[Facts<'_>]) -> Decks {
    let told: Vec<Told> = drives.iter().map(Told::of).collect();
    if let [one] = told.as_slice() {
        let text = one.sentence(&Common::default());
        let description = &drives[0].device.facts.description;
        return Decks { each: vec![if text.is_empty() { description.clone() } else { text }], all: String::new() };
    }
    if told.is_empty() {
        return Decks::default();
    }
    let common = Common::of(&told);
    let mut each: Vec<String> = told.iter().map(|t| t.sentence(&common)).collect();
    // What two drives have in common sets neither apart.
    let again: Vec<bool> = each.iter().map(|text| each.iter().filter(|other| *other == text).count() > 1).collect();
    each.iter_mut().zip(again).filter(|(_, again)| *again).for_each(|(text, _)| text.clear());
    Decks { each, all: common.sentence() }
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// How many times as good or as bad as the nearest other drive, and in what.
type Apart = (f64, String);

/// The figure in which it is furthest ahead of all others, and the one in which it is furthest behind them.
fn apart(facts: &Facts<'_>) -> Option<String> {
    let is_alone = facts.review.devices.len() == 1;
    let (mut ahead, mut behind): (Option<Apart>, Option<Apart>) = (None, None);
    for headline in HEADLINES {
        let Some((headline, ours)) = facts.headline(headline.key) else { continue };
        let others = facts.others_by(&headline);
        let (Some(&best), Some(&worst)) = (others.first(), others.last()) else { continue };
        let unit = headline.of(&facts.review.outcomes, facts.name()).map_or("", |m| m.unit.as_str());
        let say = |(other, theirs): (&Other<'_>, f64), but: &str| {
            let (ours, theirs) = (figure(ours, unit), figure(theirs, unit));
            // One other has been named before.
            let of = if facts.others.len() > 1 { format!(" of {}", other.name) } else { String::new() };
            format!("in {}{but}: {ours} against {theirs}{of}", headline.in_words)
        };
        let gap = |other: f64| if ours > other { ours / other } else { other / ours };
        let keep = |place: &mut Option<Apart>, other: (&Other<'_>, f64), but: &str| {
            if !are_level(ours, other.1) && place.as_ref().is_none_or(|have| gap(other.1) > have.0) {
                *place = Some((gap(other.1), say(other, but)));
            }
        };
        if headline.order(ours, best.1).is_lt() && facts.orders(&headline, true) {
            let but = facts.but_for(&headline, ours);
            keep(&mut ahead, best, &if but.is_empty() { but } else { format!(",{but}") });
        } else if headline.order(worst.1, ours).is_lt() && facts.orders(&headline, false) {
            keep(&mut behind, worst, &facts.but_for_behind(&headline, ours));
        }
    }
    let others = match facts.others.as_slice() {
        [other] => other.name.clone(),
        _ if is_alone => "the reference drives".to_owned(),
        _ => "the others".to_owned(),
    };
    match (ahead, behind) {
        (Some((_, a)), Some((_, b))) => Some(format!("Ahead of {others} {a}; last {b}.")),
        (Some((_, a)), None) => Some(format!("Ahead of {others} {a}.")),
        (None, Some((_, b))) => Some(format!("Behind {others} {b}.")),
        (None, None) => None,
    }
}

/// Whether in every figure that these drives have one of the others is better and one worse: not of a drive that is level with
/// the first or the last, or that lacks a figure, or in one that puts them in no order.
fn is_between(facts: &Facts<'_>) -> bool {
    let is_between = |headline: &Headline| {
        let Some((_, ours)) = facts.headline(headline.key) else { return false };
        let others = facts.others_by(headline);
        let is_first = |a: f64, b: f64| headline.order(a, b).is_lt() && !are_level(a, b);
        let (Some(&(_, best)), Some(&(_, worst))) = (others.first(), others.last()) else { return false };
        facts.orders(headline, true) && facts.orders(headline, false) && is_first(best, ours) && is_first(ours, worst)
    };
    let mut compared =
        HEADLINES.iter().filter(|h| h.is_shown(facts.review.quick) && facts.is_told_of_any(h)).peekable();
    compared.peek().is_some() && compared.all(is_between)
}
