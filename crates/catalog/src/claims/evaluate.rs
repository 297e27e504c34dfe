//! Lays the outcomes of the bench beside what was published.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value as Json;
use ssdlab_bench::suite::{INTERVAL_ENDS, find_test, is_of_small_drive};
use ssdlab_bench::{Metric, Outcome, explain};

use super::ClaimKind;
use super::check::{Band, Check, Figure, Order, RangeCheck, Ranking, ValueCheck, Values};
use super::facts::{drive_with_facts, facts_of};
use super::{Claim, check};

/// How a published figure and ours compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimState {
    Met,
    Missed,
    /// It could be checked, but the test that shows it has not run at full length.
    NotRun,
    /// The test has run, and says nothing about it: a ratio to zero.
    Inconclusive,
    /// It cannot be shown here; the reason says why.
    NotSimulated,
}

impl ClaimState {
    /// Whether a run at full length was laid beside it.
    const fn is_judged(self) -> bool {
        matches!(self, ClaimState::Met | ClaimState::Missed | ClaimState::Inconclusive)
    }

    /// The word in reports: the state must be readable without colour.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            ClaimState::Met => "met",
            ClaimState::Missed => "MISSED",
            ClaimState::NotRun => "not judged",
            ClaimState::Inconclusive => "says nothing",
            ClaimState::NotSimulated => "not simulated",
        }
    }
}

/// A published figure beside ours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimRow {
    pub id: String,
    /// [`Claim::kind`], but for a calibration that is missed: that counts as measured.
    pub kind: ClaimKind,
    /// Another claim that says the same and has a row as well; this one is not counted.
    pub repeats: Option<String>,
    /// Drive that it was checked on; of an order, the one that ought to be ahead.
    pub device: String,
    pub quantity: String,
    /// As published, unit included.
    pub published: String,
    /// `published` as a number in `unit`, where one was checked.
    pub published_value: Option<f64>,
    pub unit: String,
    /// Our figure in `unit`, where it is a number.
    pub ours: Option<f64>,
    /// Our finding for people.
    pub ours_text: String,
    /// What is allowed, for people.
    pub tolerance: String,
    pub state: ClaimState,
    /// By how many per cent our figure could change before it is missed; below zero, by how many it is missed. `None`
    /// where the check has no number.
    pub margin_percent: Option<f64>,
    /// Why it was missed, not run or not simulated; empty if met.
    pub reason: String,
    pub source: String,
    pub headline: bool,
    /// Whether it was missed as the claim says that it will be; `reason` then ends with the claim's.
    pub known_miss: bool,
}

impl ClaimRow {
    /// Whether it was missed and the catalog gives no reason.
    #[must_use]
    pub fn is_unexplained_miss(&self) -> bool {
        self.state == ClaimState::Missed && !self.known_miss
    }

    /// The margin for people: `4.2 % to spare`, `12 % beyond`; empty without one.
    #[must_use]
    pub fn margin(&self) -> String {
        match self.margin_percent {
            None => String::new(),
            Some(m) if m >= 0.0 => format!("{} % to spare", number(m)),
            Some(m) => format!("{} % beyond", number(-m)),
        }
    }
}

/// Judges every claim about `devices` by the outcomes at hand: a row for each claim and drive, in catalog order. A
/// check on a drive that the catalog does not have, and that no outcome is there for, is [`ClaimState::NotSimulated`].
#[must_use]
pub fn evaluate(claims: &[Claim], devices: &[&str], outcomes: &[Outcome]) -> Vec<ClaimRow> {
    let mut rows = Vec::new();
    // Of each row.
    let mut drives_of: Vec<BTreeSet<&str>> = Vec::new();
    for claim in claims {
        let of_several = match &claim.check {
            Check::Order(_) | Check::Ranking(_) => Some(judge_over_interval(claim, "", outcomes)),
            _ => None,
        };
        if let Some(mut judged) = of_several {
            let drives: Vec<&str> = claim.drives().into_iter().collect();
            if drives.iter().any(|d| devices.contains(d)) {
                without_missing(&mut judged, &drives, outcomes);
                count_miss(&mut judged, claim);
                rows.push(judged);
                drives_of.push(claim.drives());
            }
            continue;
        }
        for device in claim.devices.iter().filter(|d| devices.contains(&d.as_str())) {
            let mut judged = judge_over_interval(claim, device, outcomes);
            without_missing(&mut judged, &[device], outcomes);
            count_miss(&mut judged, claim);
            rows.push(judged);
            drives_of.push(BTreeSet::from([device.as_str()]));
        }
    }
    count_repeats_of_nothing(&mut rows, &drives_of);
    rows
}

/// Of those that repeat a figure which has no row here, the first of the same drives is counted in its place; so is the first that was
/// judged where the figure was not, which then repeats it. `drives`: those of each row, all of which are among those of the row that it
/// [repeats](Claim::can_repeat).
fn count_repeats_of_nothing(rows: &mut [ClaimRow], drives: &[BTreeSet<&str>]) {
    let counted: BTreeSet<String> = rows.iter().filter(|row| row.repeats.is_none()).map(|row| row.id.clone()).collect();
    let mut stands_in = BTreeSet::new();
    for k in 0..rows.len() {
        let Some(id) = rows[k].repeats.clone() else { continue };
        let is_judged = rows[k].state.is_judged();
        let is_its = |o: &usize| rows[*o].id == id && rows[*o].repeats.is_none() && drives[k].is_subset(&drives[*o]);
        let originals: Vec<usize> = (0..rows.len()).filter(is_its).collect();
        let is_open = !originals.is_empty() && originals.iter().all(|&o| !rows[o].state.is_judged());
        let is_free = if counted.contains(&id) { is_judged && is_open } else { true };
        if is_free && stands_in.insert((id, &drives[k])) {
            rows[k].repeats = None;
            let own = rows[k].id.clone();
            originals.into_iter().for_each(|o| rows[o].repeats = Some(own.clone()));
        }
    }
}

/// A check that nothing was run for because the catalog does not have a drive is not one that somebody forgot to run.
fn without_missing(row: &mut ClaimRow, drives: &[&str], outcomes: &[Outcome]) {
    if row.state != ClaimState::NotRun {
        return;
    }
    let is_missing = |drive: &&&str| !super::is_known(drive) && outcomes.iter().all(|o| o.device != **drive);
    if let Some(missing) = drives.iter().find(is_missing) {
        row.state = ClaimState::NotSimulated;
        row.reason = format!("{missing} is not in the catalog");
    }
}

/// Says what a miss counts as, and adds the reason that the claim gives for it.
fn count_miss(row: &mut ClaimRow, claim: &Claim) {
    if row.state != ClaimState::Missed {
        return;
    }
    // What is missed although a parameter was chosen for it is a miss like any other.
    if row.kind == ClaimKind::Calibration {
        row.kind = ClaimKind::Measured;
    }
    if let Some(known) = &claim.known_miss {
        row.known_miss = true;
        row.reason = format!("{}; {known}", row.reason);
    }
}

fn row(claim: &Claim, device: &str) -> ClaimRow {
    ClaimRow {
        id: claim.id.clone(),
        kind: claim.kind(),
        repeats: claim.repeats.clone(),
        device: device.to_owned(),
        quantity: claim.quantity.clone(),
        published: claim.published.clone(),
        published_value: None,
        unit: String::new(),
        ours: None,
        ours_text: String::new(),
        tolerance: String::new(),
        state: ClaimState::NotRun,
        margin_percent: None,
        reason: String::new(),
        source: claim.source.clone(),
        headline: claim.headline,
        known_miss: false,
    }
}

/// The judgement that holds all over the interval, where a test has measured one ([`INTERVAL_ENDS`]): met and missed are
/// what is met or missed at each of its choices.
fn judge_over_interval(claim: &Claim, device: &str, outcomes: &[Outcome]) -> ClaimRow {
    let mut row = judge_on(claim, device, outcomes);
    if !matches!(row.state, ClaimState::Met | ClaimState::Missed) {
        return row;
    }
    let state = row.state;
    let mut depends_on: Vec<&str> = Vec::new();
    for (end, choice) in INTERVAL_ENDS {
        let Some(claim) = claim_at(claim, end, outcomes) else { continue };
        let other = judge_on(&claim, device, outcomes);
        if !matches!(other.state, ClaimState::Met | ClaimState::Missed) {
            continue;
        }
        row.ours_text = format!("{}; {}: {}", row.ours_text, end[1..].replace('_', " "), other.ours_text);
        if other.state != state {
            depends_on.extend((!depends_on.contains(&choice)).then_some(choice));
        } else if state == ClaimState::Met {
            // The margin is that of the choice nearest to being missed.
            row.margin_percent = row.margin_percent.zip(other.margin_percent).map(|(a, b)| a.min(b));
        }
    }
    if !depends_on.is_empty() {
        row.state = ClaimState::Inconclusive;
        row.margin_percent = None;
        row.reason =
            format!("what was published of the trace leaves it open: it depends on {}", depends_on.join(" and on "));
    }
    row
}

/// The claim about the figures whose names have this end; `None` of a claim without such figures. A side of an order that has
/// none, of another test or of a chart, is the same at every choice.
fn claim_at(claim: &Claim, end: &str, outcomes: &[Outcome]) -> Option<Claim> {
    let mut claim = claim.clone();
    match &mut claim.check {
        Check::Value(check) => check.metric.push_str(end),
        Check::Range(check) => check.metric.push_str(end),
        Check::Ranking(check) => check.metric.push_str(end),
        Check::Order(order) => {
            let with_end = |side: &Figure| {
                let at_end = Figure { metric: format!("{}{end}", side.metric), ..side.clone() };
                (side.band.is_none() && figure(&at_end, outcomes).is_ok()).then_some(at_end)
            };
            let (higher, lower) = (with_end(&order.higher), with_end(&order.lower));
            if higher.is_none() && lower.is_none() {
                return None;
            }
            order.higher = higher.unwrap_or_else(|| order.higher.clone());
            order.lower = lower.unwrap_or_else(|| order.lower.clone());
        }
        _ => return None,
    }
    Some(claim)
}

fn judge_on(claim: &Claim, device: &str, outcomes: &[Outcome]) -> ClaimRow {
    let mut row = row(claim, device);
    match &claim.check {
        Check::Value(check) => judge_value(&mut row, check, outcomes),
        Check::Range(check) => judge_range(&mut row, check, outcomes),
        Check::Verdict(check) => judge_verdict(&mut row, check, outcomes),
        Check::MainCause(check) => judge_main_cause(&mut row, check, outcomes),
        Check::Method(check) => judge_method(&mut row, check, outcomes),
        Check::Reports(check) => judge_reports(&mut row, check, outcomes),
        Check::Fact(facts) => judge_facts(&mut row, facts),
        Check::NotSimulated(reason) => {
            row.state = ClaimState::NotSimulated;
            row.reason = reason.clone();
        }
        Check::Order(order) => return judge_order(claim, order, outcomes),
        Check::Ranking(ranking) => return judge_ranking(claim, ranking, outcomes),
    }
    row
}

/// The run that was published: all its parameters are those that the test has with `params`. Of runs that were shortened,
/// the one nearest to it; every one that was not comes before them.
fn find<'a>(outcomes: &'a [Outcome], device: &str, test: &str, params: &Values) -> Result<&'a Outcome, String> {
    let mut of_test = outcomes.iter().filter(|o| o.device == device && o.test == test).peekable();
    if of_test.peek().is_none() {
        return Err(format!("`{test}` has not run on {device}"));
    }
    let reads = [false, true].map(|quick| as_the_test_reads(test, params, quick));
    of_test
        .filter_map(|o| shortened(o, params, &reads).map(|keys| (keys, o)))
        .min_by_key(|(keys, _)| *keys)
        .map(|(_, outcome)| outcome)
        .ok_or_else(|| {
            let wanted: Vec<String> = params.iter().map(|(k, v)| format!("{k}={}", super::setting(v))).collect();
            let wanted = if wanted.is_empty() { "its defaults".to_owned() } else { wanted.join(", ") };
            format!("`{test}` has not run on {device} with {wanted}")
        })
}

/// A parameter of which the outcome has what the test then decided, unless somebody set it.
const LEFT_TO_THE_TEST: [&str; 2] = ["auto", "by-form"];

/// How many of its parameters were shortened in another way than by `--quick`, and how many to what `--quick` makes of them,
/// whoever did that; `None` if it is another run than the one with `params`, which the test `reads` so in full and with
/// `--quick`.
fn shortened(outcome: &Outcome, params: &Values, reads: &[BTreeMap<String, Json>; 2]) -> Option<(usize, usize)> {
    let [full, quick] = reads;
    let given = params.iter().all(|(key, value)| {
        outcome.params.get(key).is_some_and(|ours| same(ours, value) || full.get(key) == Some(ours))
    });
    if !given {
        return None;
    }
    let (mut beyond, mut as_quick) = (0, 0);
    for (key, read) in full.iter().filter(|(key, _)| !params.contains_key(*key)) {
        let Some(ours) = outcome.params.get(key) else { continue };
        let is_left = LEFT_TO_THE_TEST.iter().any(|word| read == word) && !outcome.set_params.contains(key);
        if is_left || ours == read {
            continue;
        }
        if quick.get(key) == Some(ours) {
            as_quick += 1;
        } else if is_of_small_drive(outcome, key) || outcome.shortened_params.contains(key) {
            beyond += 1;
        } else {
            return None;
        }
    }
    Some((beyond, as_quick))
}

/// All parameters of a run as they stand in an outcome: `64MB` is a number there.
fn as_the_test_reads(test: &str, params: &Values, quick: bool) -> BTreeMap<String, Json> {
    let settings: Vec<(String, String)> = super::settings(params).into_iter().collect();
    let resolved = find_test(test).and_then(|def| def.resolve(&settings, quick));
    resolved.map(|params| params.to_json()).unwrap_or_default()
}

fn same(ours: &Json, published: &toml::Value) -> bool {
    match published {
        toml::Value::Integer(v) => ours.as_f64() == Some(*v as f64),
        toml::Value::Float(v) => ours.as_f64() == Some(*v),
        toml::Value::String(v) => ours.as_str() == Some(v),
        toml::Value::Boolean(v) => ours.as_bool() == Some(*v),
        toml::Value::Array(list) => {
            ours.as_array().is_some_and(|a| a.len() == list.len() && a.iter().zip(list).all(|(o, p)| same(o, p)))
        }
        _ => false,
    }
}

fn metric<'a>(outcome: &'a Outcome, name: &str) -> Result<&'a Metric, String> {
    outcome.metrics.get(name).ok_or_else(|| format!("`{}` did not measure {name}", outcome.test))
}

fn set_ours(row: &mut ClaimRow, ours: &Metric, unit: &str) -> Result<f64, String> {
    if ours.unit != unit {
        return Err(format!("ours is in {}, not in {unit}", ours.unit));
    }
    row.unit = unit.to_owned();
    row.ours = Some(ours.value);
    row.ours_text = with_unit(ours.value, unit);
    Ok(ours.value)
}

fn verdict(row: &mut ClaimRow, met: bool, why_missed: impl FnOnce() -> String) {
    row.state = if met { ClaimState::Met } else { ClaimState::Missed };
    row.reason = if met { String::new() } else { why_missed() };
}

/// Runs a judgement; what keeps it from being made becomes the reason for "not judged".
fn attempt(row: &mut ClaimRow, judge: impl FnOnce(&mut ClaimRow) -> Result<(), String>) {
    if let Err(reason) = judge(row) {
        row.state = ClaimState::NotRun;
        row.reason = reason;
    }
}

fn judge_value(row: &mut ClaimRow, check: &ValueCheck, outcomes: &[Outcome]) {
    row.published_value = Some(check.value);
    row.unit.clone_from(&check.unit);
    row.tolerance = format!("±{} %", number(check.tolerance_percent));
    attempt(row, |row| {
        let outcome = find(outcomes, &row.device, &check.test, &check.params)?;
        let ours = set_ours(row, metric(outcome, &check.metric)?, &check.unit)?;
        let off = ours - check.value;
        let allowed = check.value * check.tolerance_percent / 100.0;
        verdict(row, off.abs() <= allowed, || format!("off by {:+.1} %", off * 100.0 / check.value));
        row.margin_percent = share_of(allowed - off.abs(), ours);
        note_shortened(row, outcome, &check.params);
        Ok(())
    });
}

fn judge_range(row: &mut ClaimRow, check: &RangeCheck, outcomes: &[Outcome]) {
    row.unit.clone_from(&check.unit);
    row.tolerance = match (check.at_least, check.at_most) {
        (Some(low), Some(high)) if low == high => format!("exactly {}", number(low)),
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        (Some(low), None) => format!("at least {}", number(low)),
        (None, Some(high)) => format!("at most {}", number(high)),
        (None, None) => String::new(),
    };
    attempt(row, |row| {
        let outcome = find(outcomes, &row.device, &check.test, &check.params)?;
        let ours = set_ours(row, metric(outcome, &check.metric)?, &check.unit)?;
        let low = check.at_least.is_none_or(|low| ours >= low);
        let high = check.at_most.is_none_or(|high| ours <= high);
        verdict(row, low && high, || format!("too {}", if low { "high" } else { "low" }));
        let room = [check.at_least.map(|low| ours - low), check.at_most.map(|high| high - ours)];
        row.margin_percent = room.into_iter().flatten().min_by(f64::total_cmp).and_then(|room| share_of(room, ours));
        note_shortened(row, outcome, &check.params);
        Ok(())
    });
}

fn judge_verdict(row: &mut ClaimRow, check: &check::VerdictCheck, outcomes: &[Outcome]) {
    attempt(row, |row| {
        let outcome = find(outcomes, &row.device, &check.test, &check.params)?;
        let Some(ours) = &outcome.verdict else {
            return Err(format!("`{}` came to no verdict", check.test));
        };
        let Some(pass) = ours.pass else {
            row.state = ClaimState::Inconclusive;
            row.reason.clone_from(&ours.sentence);
            return Ok(());
        };
        row.ours_text = if pass { "yes" } else { "no" }.to_owned();
        verdict(row, pass == check.pass, || ours.sentence.clone());
        note_shortened(row, outcome, &check.params);
        Ok(())
    });
}

fn judge_main_cause(row: &mut ClaimRow, check: &check::MainCauseCheck, outcomes: &[Outcome]) {
    row.tolerance = "most of the slowest I/Os".to_owned();
    attempt(row, |row| {
        let outcome = find(outcomes, &row.device, &check.test, &check.params)?;
        let total = outcome.slowest.len();
        if total == 0 {
            return Err(format!("`{}` kept no slow I/Os", check.test));
        }
        let hits = outcome
            .slowest
            .iter()
            .filter(|io| {
                explain::main_cause_of(io).is_some_and(|main| check.causes.iter().any(|cause| cause == main.key()))
            })
            .count();
        row.ours_text = format!("{hits} of {total}");
        verdict(row, hits * 2 > total, || "other causes weigh more in most of the slowest I/Os".to_owned());
        note_shortened(row, outcome, &check.params);
        Ok(())
    });
}

fn judge_method(row: &mut ClaimRow, check: &check::MethodCheck, outcomes: &[Outcome]) {
    row.tolerance = "the same parameters".to_owned();
    attempt(row, |row| {
        let outcome = find(outcomes, &row.device, &check.test, &check.select)?;
        let (mut ours, mut wrong) = (Vec::new(), Vec::new());
        for (key, published) in &check.params {
            let value = outcome.params.get(key).cloned().unwrap_or(Json::Null);
            ours.push(format!("{key}={value}"));
            let alone = BTreeMap::from([(key.clone(), published.clone())]);
            let read = as_the_test_reads(&check.test, &alone, false).remove(key);
            if !same(&value, published) && read.as_ref() != Some(&value) {
                wrong.push(format!("{key} should be {published}"));
            }
        }
        row.ours_text = ours.join(", ");
        verdict(row, wrong.is_empty(), || wrong.join("; "));
        note_shortened(row, outcome, &check.select);
        Ok(())
    });
}

fn judge_reports(row: &mut ClaimRow, check: &check::ReportsCheck, outcomes: &[Outcome]) {
    row.tolerance = "reported".to_owned();
    attempt(row, |row| {
        let outcome = find(outcomes, &row.device, &check.test, &check.params)?;
        let missing: Vec<&str> =
            check.metrics.iter().filter(|m| !outcome.metrics.contains_key(*m)).map(String::as_str).collect();
        row.ours_text = check.metrics.join(", ");
        verdict(row, missing.is_empty(), || format!("{} is not reported", missing.join(", ")));
        note_shortened(row, outcome, &check.params);
        Ok(())
    });
}

fn judge_facts(row: &mut ClaimRow, facts: &Values) {
    row.tolerance = "as built".to_owned();
    attempt(row, |row| {
        let drive = drive_with_facts(&row.device).map_err(|e| e.what)?;
        let known = facts_of(&drive);
        let (mut ours, mut wrong) = (Vec::new(), Vec::new());
        for (key, published) in facts {
            let value = known.get(key).ok_or_else(|| format!("{key} is not in the drive file"))?;
            ours.push(format!("{key} = {value}"));
            if !same(&serde_json::to_value(value).unwrap_or_default(), published) {
                wrong.push(format!("{key} should be {published}"));
            }
        }
        row.ours_text = ours.join(", ");
        verdict(row, wrong.is_empty(), || wrong.join("; "));
        Ok(())
    });
}

fn judge_order(claim: &Claim, order: &Order, outcomes: &[Outcome]) -> ClaimRow {
    let mut row = row(claim, &order.higher.device);
    row.tolerance = if order.ratio_above == 1.0 {
        "higher".to_owned()
    } else {
        format!("more than {} times", number(order.ratio_above))
    };
    attempt(&mut row, |row| {
        let (higher, unit) = figure(&order.higher, outcomes)?;
        let (lower, lower_unit) = figure(&order.lower, outcomes)?;
        if unit != lower_unit {
            return Err(format!("{unit} cannot be compared with {lower_unit}"));
        }
        row.ours_text = format!("{} against {}", with_unit(higher, &unit), with_unit(lower, &unit));
        if lower == 0.0 {
            row.state = ClaimState::Inconclusive;
            row.reason = "the figure that it is compared with is zero: any other is larger".to_owned();
        } else {
            verdict(row, higher > lower * order.ratio_above, || format!("the ratio is {:.2}", higher / lower));
            row.margin_percent = share_of(higher - lower * order.ratio_above, higher);
        }
        for side in [&order.higher, &order.lower] {
            let outcome = find(outcomes, &side.device, &side.test, &side.params)?;
            if is_shortened(outcome, &side.params) {
                note_shortened(row, outcome, &side.params);
                break;
            }
        }
        Ok(())
    });
    row
}

fn judge_ranking(claim: &Claim, ranking: &Ranking, outcomes: &[Outcome]) -> ClaimRow {
    let best = ranking.published.iter().max_by(|a, b| a.1.total_cmp(b.1)).map_or("", |d| d.0.as_str());
    let mut row = row(claim, best);
    row.tolerance =
        format!("at most {} % of the pairs in the wrong order", number(ranking.wrong_pairs_at_most_percent));
    attempt(&mut row, |row| {
        let mut scores = Vec::new();
        let mut shortened = None;
        for (device, published) in &ranking.published {
            let outcome = find(outcomes, device, &ranking.test, &ranking.params)?;
            scores.push((device, *published, metric(outcome, &ranking.metric)?.value));
            shortened = shortened.or(is_shortened(outcome, &ranking.params).then_some(outcome));
        }
        let (mut pairs, mut wrong) = (0, Vec::new());
        for (i, a) in scores.iter().enumerate() {
            // Drives that were published as equal have no order.
            for b in scores[i + 1..].iter().filter(|b| b.1 != a.1) {
                pairs += 1;
                let (first, second) = if a.1 > b.1 { (a, b) } else { (b, a) };
                if first.2 <= second.2 {
                    wrong.push(format!("{} before {}", second.0, first.0));
                }
            }
        }
        row.ours_text = format!("{} of {pairs} pairs in the wrong order", wrong.len());
        if pairs == 0 {
            row.state = ClaimState::Inconclusive;
            row.reason = "no two of the drives were published as different".to_owned();
            return Ok(());
        }
        let allowed = f64::from(pairs) * ranking.wrong_pairs_at_most_percent / 100.0;
        verdict(row, wrong.len() as f64 <= allowed, || wrong.join(", "));
        if let Some(outcome) = shortened {
            note_shortened(row, outcome, &ranking.params);
        }
        Ok(())
    });
    row
}

fn figure(figure: &Figure, outcomes: &[Outcome]) -> Result<(f64, String), String> {
    let outcome = find(outcomes, &figure.device, &figure.test, &figure.params)?;
    if let Some(band) = &figure.band {
        return Ok((share_within(outcome, band)?, "%".to_owned()));
    }
    let metric = metric(outcome, &figure.metric)?;
    Ok((metric.value, metric.unit.clone()))
}

fn share_within(outcome: &Outcome, band: &Band) -> Result<f64, String> {
    let chart = outcome
        .charts
        .iter()
        .find(|c| c.id == band.chart)
        .ok_or_else(|| format!("`{}` drew no chart {}", outcome.test, band.chart))?;
    let points = || chart.series.iter().flat_map(|s| &s.points);
    let total = points().count();
    if total == 0 {
        return Err(format!("chart {} is empty", band.chart));
    }
    let within = points().filter(|p| (band.from..=band.to).contains(&p[1])).count();
    Ok(within as f64 * 100.0 / total as f64)
}

/// Whether a run is shorter than what was published: a length that the figure itself gives is the published one.
fn is_shortened(outcome: &Outcome, given: &Values) -> bool {
    let by_figure = outcome.small_by.is_none()
        && !outcome.shortened_params.is_empty()
        && outcome.shortened_params.iter().all(|key| given.contains_key(key));
    outcome.shortened.is_some() && !by_figure
}

/// A shortened run is laid beside the published figure, and neither meets nor misses it: what was published is about a
/// run of full length.
fn note_shortened(row: &mut ClaimRow, outcome: &Outcome, given: &Values) {
    if !is_shortened(outcome, given) {
        return;
    }
    let how = outcome.shortened.as_deref().unwrap_or_default();
    row.state = ClaimState::NotRun;
    row.margin_percent = None;
    row.reason = format!("shortened run: {how}");
}

/// What `part` is of the size of `whole`, in per cent.
fn share_of(part: f64, whole: f64) -> Option<f64> {
    (whole != 0.0).then(|| 100.0 * part / whole.abs())
}

/// Four significant digits, at most two decimals.
fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value == value.trunc() || magnitude >= 1000.0 {
        format!("{value:.0}")
    } else if magnitude >= 100.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "" | "count" | "ratio" => number(value),
        unit => format!("{} {unit}", number(value)),
    }
}

#[cfg(test)]
mod tests;
