//! Fits unknowns of the firmware to measurements: named keys, within named bounds, and nothing else.
//!
//! What may be fitted is what nobody publishes and no die decides: the processor's times and the pacing of
//! background work. A fitted value is marked as such in the drive file, and the figures that it was fitted to count as
//! calibration from then on.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use ssdlab_bench::suite::find_test;
use ssdlab_catalog::{DeviceRecipe, DeviceTemplate, Diagnostic, Refusal, parse};
use ssdlab_keys::Kind;
use ssdlab_report::ResultsDocument;
use ssdlab_ssd::drive_keys;
use toml::Value;

use crate::changed::Changed;
use crate::figures::Figure;
use crate::from_results;
use crate::runs::{Bench, Stopped, Subject, place, tests_of};

const MANUAL: &str = "docs/blind-predictions.md";
/// Sections of which any number may be fitted …
const PACING: &[&str] = &["gc.", "slc_cache."];
/// … but for how much flash the cache has.
const NO_PACING: &[&str] = &["slc_cache.capacity_gb", "slc_cache.blocks_per_1000", "slc_cache.keep_free_per_1000"];
/// How many dies may program at once is what supply and firmware allow.
const LIMITS: &[&str] = &["controller.programs_at_once"];
/// Of others, times. Those of the link and of power states are published.
const TIMES: &[&str] = &["controller.", "write_buffer."];

/// What a measurement may be, and be good for: beyond, the misfit is no number.
const VALUES: std::ops::RangeInclusive<f64> = 1e-12..=1e18;
const TOLERANCES: std::ops::RangeInclusive<f64> = 1e-3..=1e3;

/// An interval that would be so many times as wide with the other unknowns free is told of.
const TRADED: f64 = 2.0;
/// Beyond it, one unknown cannot be told from the others.
const NOT_TOLD_APART: f64 = 10.0;

/// The search ends when an unknown is known to this factor.
const FINEST_STEP: f64 = 1.01;
const FIRST_STEP: f64 = 1.6;
/// Steps by which an interval's end is narrowed down.
const HALVINGS: usize = 4;

/// Measurements, and what is to be fitted to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    pub drive: String,
    pub unknown: Vec<Unknown>,
    pub measurement: Vec<Measured>,
}

/// A file of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasurementsFile {
    drive: String,
    /// Results of a real drive, which have the values that the file does not give.
    results: Option<String>,
    #[serde(default)]
    unknown: Vec<Unknown>,
    #[serde(default)]
    measurement: Vec<MeasuredText>,
}

/// A measurement as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredText {
    test: String,
    #[serde(default)]
    set: BTreeMap<String, Value>,
    metric: String,
    value: Option<f64>,
    /// If it is given, it must be that of the test's figure.
    unit: Option<String>,
    tolerance_percent: f64,
    source: Option<String>,
}

/// Reads the results of this name.
pub type ReadResults<'a> = dyn Fn(&str) -> Result<ResultsDocument, Diagnostic> + 'a;

/// A key to be fitted, and where to look.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unknown {
    pub key: String,
    pub least: f64,
    pub most: f64,
}

/// A figure of the real drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub test: String,
    pub set: BTreeMap<String, Value>,
    pub metric: String,
    pub value: f64,
    /// In which the test gives the figure, and in which `value` is taken to be.
    pub unit: String,
    /// What the figure is good for: it is taken to be off by no more.
    pub tolerance_percent: f64,
    pub source: String,
    /// Why the run that gave it had not settled, if results say that.
    pub not_settled: Option<String>,
}

/// What came of a calibration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    pub device: String,
    pub unknowns: Vec<Fitted>,
    pub measurements: Vec<Reached>,
    /// Sum of the squares of how far each measurement is missed, in tolerances.
    pub misfit: f64,
    /// Drives that were run.
    pub runs: usize,
    /// Whether the search ended by itself rather than for want of runs.
    pub ended: bool,
    /// What keeps the values from being taken for more than they are, in sentences.
    pub notes: Vec<String>,
}

/// A fitted key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fitted {
    pub key: String,
    pub before: f64,
    pub value: f64,
    /// Where the misfit is larger than at the best value by one, all other unknowns kept.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Whether the misfit does not grow by one downwards, and upwards, within the bounds given. An end that is neither given nor
    /// open was not looked for.
    pub open: [bool; 2],
    /// Whether any measured figure changes with it.
    pub moves: bool,
}

/// A measurement, and what the fitted drive shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reached {
    pub test: String,
    pub metric: String,
    pub unit: String,
    pub measured: f64,
    pub tolerance_percent: f64,
    pub fitted: f64,
    pub source: String,
}

impl Measurements {
    /// Reads and checks a file of measurements; `file` is its name in messages. What it leaves to results is read by `read`.
    ///
    /// # Errors
    /// What is wrong with it, or with the results.
    pub fn parse(file: &str, text: &str, read: &ReadResults<'_>) -> Result<Self, Diagnostic> {
        let MeasurementsFile { drive, results, unknown, measurement } = parse(file, text, MANUAL)?;
        let refuse = |what: String| Diagnostic::new(format!("{file}: {what}"));
        let results = match &results {
            Some(path) => Some((path.as_str(), read(path)?)),
            None => None,
        };
        let whole = |m: MeasuredText| m.whole(results.as_ref().map(|(path, all)| (*path, all))).map_err(refuse);
        let measurement = measurement.into_iter().map(whole).collect::<Result<_, _>>()?;
        let all = Measurements { drive, unknown, measurement };
        if all.unknown.is_empty() || all.measurement.is_empty() {
            return Err(refuse("nothing to fit, or nothing to fit it to".to_owned())
                .help("give [[unknown]] and [[measurement]]"));
        }
        if all.unknown.len() > all.measurement.len() {
            return Err(refuse(format!(
                "{} unknowns cannot be told from {} measurements",
                all.unknown.len(),
                all.measurement.len()
            ))
            .help("give at least as many measurements"));
        }
        for (k, unknown) in all.unknown.iter().enumerate() {
            if all.unknown[..k].iter().any(|earlier| earlier.key == unknown.key) {
                return Err(refuse(format!("[[unknown]] {} is there twice", unknown.key)).help("give each key once"));
            }
            unknown.check().map_err(|what| refuse(what).help(format!("{MANUAL} says what may be fitted")))?;
        }
        let mut earlier = Vec::new();
        for measured in &all.measurement {
            let test = find_test(&measured.test).map_err(|e| refuse(e.to_string()))?;
            let settings = figure(measured).map_err(|e| refuse(e.what))?.settings_list();
            let what = format!("{} {}", measured.test, measured.metric);
            // What one says and the other leaves to the test may be the same.
            let params = test.resolve(&settings, false).map_err(|e| refuse(format!("{what}: {e}")))?.to_json();
            let run = (&measured.test, &measured.metric, params);
            if earlier.contains(&run) {
                let what = format!("[[measurement]] {} of {} is there twice", measured.metric, measured.test);
                return Err(refuse(what).help("give each figure once: one that is there twice would count twice"));
            }
            earlier.push(run);
            let tolerance = measured.tolerance_percent;
            if !TOLERANCES.contains(&tolerance) {
                let (least, most) = (TOLERANCES.start(), TOLERANCES.end());
                return Err(refuse(format!("{what}: a tolerance of {tolerance:e} %"))
                    .help(format!("use a tolerance_percent from {least} to {most}")));
            }
            if !VALUES.contains(&measured.value) {
                return Err(refuse(format!("{what}: a measurement of {:e}", measured.value))
                    .help("use a value above 0, in the unit in which the test gives the figure"));
            }
        }
        Ok(all)
    }
}

impl MeasuredText {
    /// With what the results say of it, if the file leaves its value to them.
    fn whole(self, results: Option<(&str, &ResultsDocument)>) -> Result<Measured, String> {
        let MeasuredText { test, set, metric, value, unit, tolerance_percent, source } = self;
        let what = format!("{test} {metric}");
        let def = find_test(&test).map_err(|e| e.to_string())?;
        let Some(known) = def.metric(&metric) else {
            return Err(format!(
                "{test} has no figure `{metric}`: `ssdlab list tests --json` names those of each test"
            ));
        };
        let in_its_unit = |given: &str| match given == known.unit {
            true => Ok(()),
            false => Err(format!("{what}: its unit is {}, not {given}", known.unit)),
        };
        unit.as_deref().map_or(Ok(()), in_its_unit)?;
        let unit = known.unit.to_owned();
        match (value, source, results) {
            (Some(value), Some(source), _) => {
                Ok(Measured { test, set, metric, value, unit, tolerance_percent, source, not_settled: None })
            }
            (Some(_), None, _) => Err(format!("{what}: a value needs its `source`")),
            (None, source, Some((path, results))) => {
                let found =
                    from_results::find(results, def, &set, &metric).map_err(|e| format!("{what}: {path}: {e}"))?;
                in_its_unit(&found.unit)?;
                let source = source.unwrap_or_else(|| format!("{} in {path}", found.device));
                let (set, value, not_settled) = (found.set, found.value, found.not_settled);
                Ok(Measured { test, set, metric, value, unit, tolerance_percent, source, not_settled })
            }
            (None, _, None) => Err(format!("{what}: give its `value` and `source`, or `results` of a real drive")),
        }
    }
}

impl Unknown {
    /// Only what nobody publishes and no die decides.
    fn check(&self) -> Result<(), String> {
        let key = &self.key;
        let known = drive_keys().key(key).ok_or_else(|| format!("a drive has no key `{key}`"))?;
        let number = matches!(known.kind, Kind::Number | Kind::Whole);
        let pacing = PACING.iter().any(|s| key.starts_with(s)) && !NO_PACING.contains(&key.as_str());
        let limit = LIMITS.contains(&key.as_str());
        let time = TIMES.iter().any(|s| key.starts_with(s)) && (key.ends_with("_us") || key.ends_with("_ms"));
        if !number || !(pacing || limit || time) {
            return Err(format!("{key} is neither a time of the firmware nor pacing"));
        }
        if !(self.least > 0.0 && self.least < self.most && self.most.is_finite()) {
            return Err(format!("{key}: {} to {} is no range above 0", self.least, self.most));
        }
        let (least, most) = self.bounds();
        if least > most {
            return Err(format!("{key}: there is no whole number from {} to {}", self.least, self.most));
        }
        let (lowest, highest) = (known.range.least.unwrap_or(0.0), known.range.most.unwrap_or(f64::INFINITY));
        if self.least < lowest || self.most > highest {
            return Err(format!(
                "{key}: {} to {} is beyond what the key allows, {lowest} to {highest}",
                self.least, self.most
            ));
        }
        Ok(())
    }

    fn is_whole(&self) -> bool {
        drive_keys().key(&self.key).is_some_and(|key| key.kind == Kind::Whole)
    }

    /// The lowest and the highest value that it can have.
    fn bounds(&self) -> (f64, f64) {
        if self.is_whole() { (libm::ceil(self.least), libm::floor(self.most)) } else { (self.least, self.most) }
    }

    fn value(&self, number: f64) -> Value {
        if self.is_whole() { Value::Integer(libm::round(number) as i64) } else { Value::Float(number) }
    }

    /// Three digits for times, a whole number for counts: what a drive file would say.
    fn rounded(&self, number: f64) -> f64 {
        let (least, most) = self.bounds();
        let number = number.clamp(least, most);
        if self.is_whole() {
            return libm::round(number);
        }
        let digits = libm::pow(10.0, 2.0 - libm::floor(libm::log10(number)));
        (libm::round(number * digits) / digits).clamp(least, most)
    }

    /// A number times `factor`; whole numbers move by one at least. The same at an end of what may be.
    fn stepped(&self, from: f64, factor: f64) -> f64 {
        let to = self.rounded(from * factor);
        if to != from || !self.is_whole() {
            return to;
        }
        self.rounded(if factor > 1.0 { from + 1.0 } else { from - 1.0 })
    }
}

/// Everything that the search needs, with every drive that was run.
struct Search<'a> {
    template: DeviceTemplate,
    given: &'a Measurements,
    figures: Vec<Figure>,
    bench: &'a Bench<'a>,
    /// Figures by the unknowns' values.
    known: Vec<(Vec<f64>, Shown)>,
    most_runs: usize,
}

/// What a drive shows.
enum Shown {
    /// Beside each, whether its run had not settled.
    Figures(Vec<f64>, Vec<bool>),
    /// One of the measured figures is none of its.
    NotAll,
    /// It cannot be.
    NoDrive,
}

/// Points around one, at a step's distance.
type Look<'a> = fn(&Search<'a>, &[f64], f64) -> Vec<Vec<f64>>;

/// Why the search goes no further.
enum End {
    Stopped,
    NoRunsLeft,
    Refused(Diagnostic),
}

impl<'a> Search<'a> {
    fn recipe(&self, at: &[f64]) -> Result<DeviceRecipe, String> {
        let changes: Vec<(String, Value)> =
            self.given.unknown.iter().zip(at).map(|(u, &v)| (u.key.clone(), u.value(v))).collect();
        let recipe = self.template.with(&changes).map_err(|refusal| match refusal {
            Refusal::Value { problem, .. } => problem.what,
            Refusal::Impossible(e) => e.to_string(),
        })?;
        // A drive that is told of may still not be buildable, such as one without room for what it shall keep free.
        recipe.build(self.bench.seed).map(|_| recipe).map_err(|e| e.what)
    }

    /// Drives that were run: what cannot be was not.
    fn runs(&self) -> usize {
        self.known.iter().filter(|(_, shown)| !matches!(shown, Shown::NoDrive)).count()
    }

    /// Figures of all measurements at each of `points`, which run at the same time.
    fn run(&mut self, points: &[Vec<f64>]) -> Result<(), End> {
        let new: Vec<&Vec<f64>> = points.iter().filter(|p| self.known.iter().all(|(known, _)| known != *p)).collect();
        let mut drives: Vec<(Vec<f64>, Option<Changed>)> = Vec::new();
        for point in new {
            if drives.iter().all(|(known, _)| known != point) {
                drives.push((point.clone(), self.recipe(point).ok().map(Changed::new)));
            }
        }
        let possible: Vec<&Changed> = drives.iter().filter_map(|(_, drive)| drive.as_ref()).collect();
        if self.runs() + possible.len() > self.most_runs {
            return Err(End::NoRunsLeft);
        }
        let subjects: Vec<Subject<'_>> =
            possible.iter().map(|&drive| Subject { drive, seed: self.bench.seed }).collect();
        let tests = tests_of(&self.figures);
        let mut results = self.bench.run(&subjects, &tests).map_err(|Stopped| End::Stopped)?.into_iter();
        for (point, drive) in drives {
            let shown = match drive {
                None => Shown::NoDrive,
                Some(_) => {
                    let row = results.next().expect("there is a result for each drive");
                    match self.figures_of(&tests, row) {
                        Ok((figures, drift)) => Shown::Figures(figures, drift),
                        // The first drive must have them all. Another without is no better than it.
                        Err(why) if self.known.is_empty() => return Err(End::Refused(why)),
                        Err(_) => Shown::NotAll,
                    }
                }
            };
            self.known.push((point, shown));
        }
        Ok(())
    }

    fn figures_of(
        &self,
        tests: &[&Figure],
        row: Vec<crate::figures::Metrics>,
    ) -> Result<(Vec<f64>, Vec<bool>), Diagnostic> {
        let figure = |figure: &Figure| {
            let metrics = row[place(tests, figure)].as_ref().map_err(|why| Diagnostic::new(why.clone()))?;
            let drifts = metrics.get("steady").is_some_and(|steady| steady.value == 0.0);
            metrics.get(&figure.metric).map(|m| (m.value, drifts)).ok_or_else(|| {
                Diagnostic::new(format!("{} has no figure `{}` on this drive", figure.test.name, figure.metric))
                    .help("`ssdlab test` prints the figures of a test")
            })
        };
        self.figures.iter().map(figure).collect()
    }

    fn figures_at(&self, at: &[f64]) -> Option<&Vec<f64>> {
        match self.known.iter().find(|(known, _)| known == at) {
            Some((_, Shown::Figures(figures, _))) => Some(figures),
            _ => None,
        }
    }

    /// Whether the run of a measurement had not settled there.
    fn drifts(&self, at: &[f64], measurement: usize) -> bool {
        let here = self.known.iter().find(|(known, _)| known == at);
        matches!(here, Some((_, Shown::Figures(_, drift))) if drift[measurement])
    }

    fn misfit(&self, at: &[f64]) -> f64 {
        let Some(figures) = self.figures_at(at) else { return f64::INFINITY };
        let missed = |(m, &figure): (&Measured, &f64)| {
            let by = (figure - m.value) / (m.value * m.tolerance_percent / 100.0);
            by * by
        };
        self.given.measurement.iter().zip(figures).map(missed).sum()
    }

    /// A point with one unknown times `factor`.
    fn moved(&self, from: &[f64], unknown: usize, factor: f64) -> Vec<f64> {
        let mut to = from.to_vec();
        to[unknown] = self.given.unknown[unknown].stepped(from[unknown], factor);
        to
    }

    /// How much too large each measured figure is there, as a share of what was measured.
    fn residuals(&self, at: &[f64]) -> Option<Vec<f64>> {
        let figures = self.figures_at(at)?;
        Some(self.given.measurement.iter().zip(figures).map(|(m, &figure)| figure / m.value - 1.0).collect())
    }

    /// Where a figure that is too small on one side of an unknown, and too large on the other, should be right: between
    /// drives that differ from `at` in this unknown alone. A step may lead from one side to the other, to where something
    /// else holds the figure and all places are as wrong.
    fn crossings(&self, at: &[f64]) -> Vec<Vec<f64>> {
        let mut points = Vec::new();
        for u in 0..at.len() {
            let line = self.along(at, u);
            for ((low, below), (high, above)) in line.iter().zip(line.iter().skip(1)) {
                for (r0, r1) in below.iter().zip(above).filter(|(r0, r1)| *r0 * *r1 < 0.0) {
                    points.push(self.moved(at, u, low / at[u] * libm::pow(high / low, r0 / (r0 - r1))));
                }
            }
        }
        points
    }

    /// Where the figures' slopes at `at` lead, if they were straight lines: how far along the logarithm of each unknown, to a value that
    /// it can have, and what each figure would then be too large by, in its tolerances.
    fn straight_ahead(&self, at: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        let slopes: Vec<Vec<f64>> = (0..at.len()).map(|u| self.slopes(at, u)).collect();
        let residuals = self.residuals(at)?;
        let in_tolerances = residuals.iter().zip(&self.given.measurement);
        let off: Vec<f64> = in_tolerances.map(|(r, m)| r / (m.tolerance_percent / 100.0)).collect();
        let wanted: Vec<f64> = off.iter().map(|off| -off).collect();
        let steps: Vec<f64> = least_squares(&slopes, &wanted)
            .into_iter()
            .zip(at.iter().zip(&self.given.unknown))
            .map(|(step, (from, unknown))| libm::log(unknown.rounded(from * libm::exp(step)) / from))
            .collect();
        let left = |m: usize| off[m] + slopes.iter().zip(&steps).map(|(slope, step)| slope[m] * step).sum::<f64>();
        let left = (0..off.len()).map(left).collect();
        Some((steps, left))
    }

    /// Where the slopes lead: for figures that go with the logarithms of the unknowns, for such as go with the unknowns, and half
    /// as far.
    fn ahead(&self, at: &[f64]) -> Vec<Vec<f64>> {
        let Some((steps, _)) = self.straight_ahead(at) else { return Vec::new() };
        let by = |factor: &dyn Fn(f64) -> f64| -> Vec<f64> {
            let to = |((unknown, from), step): ((&Unknown, &f64), &f64)| unknown.rounded(from * factor(*step));
            self.given.unknown.iter().zip(at).zip(&steps).map(to).collect()
        };
        vec![by(&libm::exp), by(&|step| 1.0 + step), by(&|step| 1.0 + step / 2.0)]
    }

    /// A step along each unknown, with another one following so that the figures change least: along a valley, across which steps
    /// along one unknown alone lead out of it.
    fn pairs(&self, at: &[f64], step: f64) -> Vec<Vec<f64>> {
        let slopes: Vec<Vec<f64>> = (0..at.len()).map(|u| self.slopes(at, u)).collect();
        let mut points = Vec::new();
        for (u, v) in (0..at.len()).flat_map(|u| (0..at.len()).map(move |v| (u, v))).filter(|(u, v)| u != v) {
            let against = dot(&slopes[v], &slopes[v]);
            if against > 0.0 {
                let follows = -dot(&slopes[u], &slopes[v]) / against;
                for factor in [step, 1.0 / step] {
                    let point = self.moved(at, u, factor);
                    points.push(self.moved(&point, v, libm::pow(factor, follows)));
                }
            }
        }
        points
    }

    /// Looks up and down along each unknown by a step, and where a figure crosses what was measured, goes to the best place,
    /// and halves the step where nothing is better: neither there nor, with several unknowns, where slopes lead or along two at once.
    fn descend(&mut self, start: Vec<f64>) -> Result<Vec<f64>, (Vec<f64>, End)> {
        let mut best = start;
        let mut step = FIRST_STEP;
        if let Err(end) = self.run(std::slice::from_ref(&best)) {
            return Err((best, end));
        }
        // Of what the ones before did not better, each is asked in turn.
        let looks: &[Look<'a>] = match best.len() {
            1 => &[Self::around],
            _ => &[Self::around, |search, at, _| search.ahead(at), Self::pairs],
        };
        'steps: while step > FINEST_STEP {
            for look in looks {
                let mut points = look(self, &best, step);
                points.retain(|point| *point != best);
                if let Err(end) = self.run(&points) {
                    return Err((best, end));
                }
                let next = points.into_iter().min_by(|a, b| self.misfit(a).total_cmp(&self.misfit(b)));
                if let Some(next) = next.filter(|next| self.misfit(next) < self.misfit(&best)) {
                    best = next;
                    continue 'steps;
                }
            }
            step = libm::sqrt(step);
        }
        Ok(best)
    }

    /// A step up and down along each unknown, and where figures cross what was measured.
    fn around(&self, at: &[f64], step: f64) -> Vec<Vec<f64>> {
        let steps = (0..at.len()).flat_map(|u| [step, 1.0 / step].map(|factor| self.moved(at, u, factor)));
        steps.chain(self.crossings(at)).collect()
    }

    /// Where the misfit passes the best one by one, in one direction along one unknown.
    fn end_of(&mut self, best: &[f64], unknown: usize, up: bool) -> Result<Option<f64>, End> {
        let limit = self.misfit(best) + 1.0;
        let (mut inside, mut outside, mut step) = (best[unknown], None, 1.05);
        while outside.is_none() {
            let mut point = best.to_vec();
            point[unknown] = self.given.unknown[unknown].stepped(inside, if up { step } else { 1.0 / step });
            if point[unknown] == inside {
                return Ok(None);
            }
            self.run(std::slice::from_ref(&point))?;
            if self.misfit(&point) > limit {
                outside = Some(point[unknown])
            } else {
                inside = point[unknown]
            }
            step = step * step;
        }
        let mut outside = outside.unwrap_or(inside);
        for _ in 0..HALVINGS {
            let mut point = best.to_vec();
            point[unknown] = self.given.unknown[unknown].rounded(libm::sqrt(inside * outside));
            if point[unknown] == inside || point[unknown] == outside {
                break;
            }
            self.run(std::slice::from_ref(&point))?;
            if self.misfit(&point) > limit { outside = point[unknown] } else { inside = point[unknown] }
        }
        // Where no drive can be, the measurements have not ended the interval.
        let mut point = best.to_vec();
        point[unknown] = outside;
        let is_drive = !self.known.iter().any(|(known, shown)| *known == point && matches!(shown, Shown::NoDrive));
        Ok(is_drive.then_some(inside))
    }

    /// Drives that were run and differ from `best` in this unknown alone, itself included: its value there, and how far each
    /// figure is off.
    fn along(&self, best: &[f64], unknown: usize) -> Vec<(f64, Vec<f64>)> {
        let on_the_line = |point: &[f64]| (0..best.len()).all(|v| v == unknown || point[v] == best[v]);
        let mut line: Vec<(f64, Vec<f64>)> = self
            .known
            .iter()
            .filter(|(point, _)| on_the_line(point))
            .filter_map(|(point, _)| Some((point[unknown], self.residuals(point)?)))
            .collect();
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        line
    }

    /// What each figure, in its tolerances, does with the logarithm of an unknown around `best`: within the interval, or from it
    /// to the nearest drives that were run.
    fn slopes(&self, best: &[f64], unknown: usize) -> Vec<f64> {
        let line = self.along(best, unknown);
        let limit = self.misfit(best) + 1.0;
        let here = line.iter().position(|(value, _)| *value == best[unknown]).unwrap_or(0);
        let inside = |(value, _): &&(f64, Vec<f64>)| {
            let mut point = best.to_vec();
            point[unknown] = *value;
            self.misfit(&point) <= limit
        };
        let (mut low, mut high) =
            (line.iter().find(inside).unwrap_or(&line[here]), line.iter().rfind(inside).unwrap_or(&line[here]));
        if low.0 == high.0 {
            (low, high) = (&line[here.saturating_sub(1)], &line[(here + 1).min(line.len() - 1)]);
        }
        let (from, to) = (libm::log(low.0), libm::log(high.0));
        let slope = |((a, b), m): ((&f64, &f64), &Measured)| match to - from {
            0.0 => 0.0,
            apart => (b - a) / (m.tolerance_percent / 100.0) / apart,
        };
        low.1.iter().zip(&high.1).zip(&self.given.measurement).map(slope).collect()
    }

    /// What a reader must know of the fit.
    fn notes(&self, best: &[f64], unknowns: &[Fitted], reached: &[Reached], ended: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let missed = |m: &&Reached| (m.fitted / m.measured - 1.0).abs() * 100.0 > m.tolerance_percent;
        let missed: Vec<String> = reached
            .iter()
            .filter(missed)
            .map(|m| {
                let off = (m.fitted / m.measured - 1.0) * 100.0;
                format!("{} {} by {off:+.1} %, good for {} %", m.test, m.metric, m.tolerance_percent)
            })
            .collect();
        let missed = missed.join("; ");
        // If slopes lead to where all would be met, it is the search that did not get there.
        let met_ahead = || self.straight_ahead(best).is_some_and(|(_, left)| left.iter().all(|off| off.abs() <= 1.0));
        if !missed.is_empty() && ended && met_ahead() {
            notes.push(format!(
                "No values that were tried meet all measurements ({missed}): the search found nothing better from here, and nothing \
                 says that there is none. Start elsewhere, with other values in the drive file; the intervals of these say nothing of \
                 the real drive."
            ));
        } else if !missed.is_empty() && ended {
            notes.push(format!(
                "No values that were tried meet all measurements ({missed}): they contradict each other, or the model, or lie \
                 beyond the bounds. These values are the least wrong, and their intervals say nothing of the real drive."
            ));
        } else if !missed.is_empty() {
            notes.push(format!("No values that were tried so far meet all measurements ({missed})."));
        }
        for (k, m) in self.given.measurement.iter().enumerate() {
            if let Some(why) = &m.not_settled {
                notes.push(format!(
                    "{} {} was measured in a run that had not settled ({why}): it is no figure of a steady state.",
                    m.test, m.metric
                ));
            }
            if self.drifts(best, k) {
                notes.push(format!(
                    "{} {} of the fitted drive is of a run that had not settled: a longer run may show another figure.",
                    m.test, m.metric
                ));
            }
        }
        let slopes: Vec<Vec<f64>> = (0..best.len()).map(|u| self.slopes(best, u)).collect();
        for (u, (fitted, unknown)) in unknowns.iter().zip(&self.given.unknown).enumerate() {
            let key = &fitted.key;
            let (least, most) = unknown.bounds();
            let is_outside = !(least..=most).contains(&fitted.before);
            if !fitted.moves {
                notes.push(match is_outside {
                    true => format!(
                        "{key} moves none of the measured figures: it was not fitted. What is shown was run with {}; the drive's own \
                         {} lies outside the bounds given.",
                        fitted.value, fitted.before
                    ),
                    false => format!(
                        "{key} moves none of the measured figures: it was not fitted, and stays at {}.",
                        fitted.value
                    ),
                });
                continue;
            }
            if is_outside {
                notes.push(format!("{key} of the drive is {}, outside the bounds given.", fitted.before));
            }
            if [least, most].contains(&fitted.value) {
                notes.push(format!(
                    "{key} ends at a bound that was given: what fits better may lie beyond {}.",
                    fitted.value
                ));
            }
            let times = times_as_wide(&slopes, u);
            if times > NOT_TOLD_APART {
                notes.push(format!(
                    "{key} cannot be told from the other unknowns by these measurements: what it does to them, others do as well. \
                     The value is one of many, and its interval holds only with the others kept."
                ));
            } else if times > TRADED {
                notes.push(format!(
                    "{key} can be traded for other unknowns: with them free, its interval would be some {times:.0} times as wide."
                ));
            }
        }
        notes
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// How much of each of `directions` makes up `wanted` together, as nearly as they can. Of those that do the same, each has a part.
fn least_squares(directions: &[Vec<f64>], wanted: &[f64]) -> Vec<f64> {
    /// Added to the diagonal, so that directions which are nearly the same do not lead far to and fro.
    const DAMPING: f64 = 1e-4;
    let n = directions.len();
    let mut rows: Vec<Vec<f64>> = directions
        .iter()
        .map(|row| directions.iter().map(|column| dot(row, column)).chain([dot(row, wanted)]).collect())
        .collect();
    for (i, row) in rows.iter_mut().enumerate() {
        // What moves nothing stays.
        row[i] = if row[i] > 0.0 { row[i] * (1.0 + DAMPING) } else { 1.0 };
    }
    // The matrix is symmetric, and its diagonal the larger: no row must be looked for.
    for i in 0..n {
        for j in (0..n).filter(|&j| j != i) {
            let part = rows[j][i] / rows[i][i];
            for k in i..=n {
                rows[j][k] -= part * rows[i][k];
            }
        }
    }
    rows.iter().enumerate().map(|(i, row)| row[n] / row[i]).collect()
}

/// How many times as wide the interval of an unknown is with all others free as with them kept, where figures are straight lines:
/// by the share of its slopes that the others' do not make up.
fn times_as_wide(slopes: &[Vec<f64>], unknown: usize) -> f64 {
    let without = |from: &[f64], directions: &[Vec<f64>]| {
        let mut rest = from.to_vec();
        for direction in directions {
            let along = dot(&rest, direction);
            rest.iter_mut().zip(direction).for_each(|(r, d)| *r -= along * d);
        }
        rest
    };
    let length = |v: &[f64]| libm::sqrt(dot(v, v));
    let mut others: Vec<Vec<f64>> = Vec::new();
    for slope in slopes.iter().enumerate().filter(|(u, _)| *u != unknown).map(|(_, slope)| slope) {
        let rest = without(slope, &others);
        let rest_length = length(&rest);
        if rest_length > 1e-6 * length(slope) {
            others.push(rest.iter().map(|r| r / rest_length).collect());
        }
    }
    let whole = length(&slopes[unknown]);
    if whole == 0.0 { 1.0 } else { whole / length(&without(&slopes[unknown], &others)).max(1e-9 * whole) }
}

/// Fits the unknowns to the measurements, running `most_runs` drives at the most.
///
/// # Errors
/// Outer: if there is no such drive, or no such figure. Inner: if the run was stopped.
pub fn calibrate(
    given: &Measurements,
    most_runs: usize,
    bench: &Bench<'_>,
) -> Result<Result<Calibration, Stopped>, Diagnostic> {
    let template = DeviceTemplate::open(&given.drive, Path::new(""))?;
    let device = template.recipe.name.clone();
    let table: toml::Table = match &template.recipe.parts {
        ssdlab_catalog::Parts::Ssd(drive) => {
            toml::Table::try_from(&drive.spec).map_err(|e| Diagnostic::new(e.to_string()))?
        }
        _ => return Err(Diagnostic::new(format!("{device} is no single SSD"))),
    };
    let before: Vec<f64> = given
        .unknown
        .iter()
        .map(|unknown| {
            let (section, key) = unknown.key.split_once('.').unwrap_or(("", &unknown.key));
            let value = table.get(section).and_then(|s| s.get(key));
            value.and_then(|v| v.as_float().or_else(|| v.as_integer().map(|i| i as f64))).ok_or_else(|| {
                Diagnostic::new(format!("{device} has no {}", unknown.key))
                    .help("give it a first value in the drive file")
            })
        })
        .collect::<Result<_, _>>()?;
    let figures = given.measurement.iter().map(figure).collect::<Result<_, _>>()?;
    let mut search = Search { template, given, figures, bench, known: Vec::new(), most_runs };
    let start: Vec<f64> = given.unknown.iter().zip(&before).map(|(u, &v)| u.rounded(v)).collect();
    if let Err(why) = search.recipe(&start) {
        let values: Vec<String> = given.unknown.iter().zip(&start).map(|(u, v)| format!("{} = {v}", u.key)).collect();
        return Err(Diagnostic::new(format!("{device} cannot be built with {}: {why}", values.join(", ")))
            .help("begin with values in the drive file, and bounds, with which it can"));
    }
    let (best, mut ended) = match search.descend(start) {
        Ok(best) => (best, true),
        Err((best, End::NoRunsLeft)) if search.figures_at(&best).is_some() => (best, false),
        Err((_, End::NoRunsLeft)) => return Err(Diagnostic::new("not even one drive may be run")),
        Err((_, End::Stopped)) => return Ok(Err(Stopped)),
        Err((_, End::Refused(problem))) => return Err(problem),
    };
    let Some(reached) = search.figures_at(&best).cloned() else {
        return Err(Diagnostic::new(format!("{device} cannot be built with any value that was tried"))
            .help("begin with values in the drive file with which it can"));
    };
    let mut unknowns = Vec::new();
    for (place, unknown) in given.unknown.iter().enumerate() {
        let (mut ends, mut open) = ([None, None], [false, false]);
        for ((end, open), up) in ends.iter_mut().zip(&mut open).zip([false, true]) {
            match search.end_of(&best, place, up) {
                Ok(found) => (*end, *open) = (found, found.is_none()),
                Err(End::NoRunsLeft) => ended = false,
                Err(End::Stopped) => return Ok(Err(Stopped)),
                Err(End::Refused(problem)) => return Err(problem),
            }
        }
        let [low, high] = ends;
        let line = search.along(&best, place);
        // Of one drive alone there is no saying.
        let moves = line.len() < 2 || line.iter().any(|(_, residuals)| *residuals != line[0].1);
        let (key, before, value) = (unknown.key.clone(), before[place], best[place]);
        unknowns.push(Fitted { key, before, value, low, high, open, moves });
    }
    let measurements: Vec<Reached> = given
        .measurement
        .iter()
        .zip(&reached)
        .map(|(m, &fitted)| Reached {
            test: m.test.clone(),
            metric: m.metric.clone(),
            unit: m.unit.clone(),
            measured: m.value,
            tolerance_percent: m.tolerance_percent,
            fitted,
            source: m.source.clone(),
        })
        .collect();
    let misfit = search.misfit(&best);
    let notes = search.notes(&best, &unknowns, &measurements, ended);
    Ok(Ok(Calibration { device, unknowns, measurements, misfit, runs: search.runs(), ended, notes }))
}

fn figure(measured: &Measured) -> Result<Figure, Diagnostic> {
    let test = find_test(&measured.test).map_err(|e| Diagnostic::new(e.to_string()))?;
    Ok(Figure {
        title: measured.metric.clone(),
        test,
        settings: measured.set.iter().map(|(k, v)| (k.clone(), from_results::text(v))).collect(),
        metric: measured.metric.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: &str = "[[measurement]]\ntest = \"random-read\"\nmetric = \"iops\"\nvalue = 5e4\n\
                            tolerance_percent = 5\nsource = \"a review\"\n";

    fn file(unknown: &str) -> String {
        format!("drive = \"sm2256-500gb\"\n[[unknown]]\n{unknown}\n{MEASURED}")
    }

    fn no_results(path: &str) -> Result<ResultsDocument, Diagnostic> {
        panic!("the file names no results, and {path} least")
    }

    fn refused(unknown: &str) -> String {
        Measurements::parse("m.toml", &file(unknown), &no_results).unwrap_err().what
    }

    #[test]
    fn only_times_of_the_firmware_and_pacing_may_be_fitted() {
        for key in ["controller.read_unit_us", "gc.start_free_superblocks", "slc_cache.fold_pause_ms"] {
            let given =
                Measurements::parse("m.toml", &file(&format!("key = \"{key}\"\nleast = 1\nmost = 9")), &no_results);
            assert!(given.is_ok(), "{key}: {given:?}");
        }
        for key in ["flash.dies", "slc_cache.capacity_gb", "controller.channels", "mapping.reserved_blocks_per_1000"] {
            let why = refused(&format!("key = \"{key}\"\nleast = 1\nmost = 9"));
            assert!(why.contains("neither a time of the firmware nor pacing"), "{why}");
        }
        assert!(refused("key = \"die.timing.erase_ms\"\nleast = 1\nmost = 9").contains("no key"));
        assert!(refused("key = \"gc.choices\"\nleast = 3\nmost = 2").contains("is no range"));
    }

    #[test]
    fn more_unknowns_than_measurements_are_refused() {
        let two = "key = \"controller.read_unit_us\"\nleast = 1\nmost = 9\n[[unknown]]\n\
                   key = \"controller.write_unit_us\"\nleast = 1\nmost = 9";
        assert!(refused(two).contains("2 unknowns cannot be told from 1"));
    }

    #[test]
    fn a_measurement_that_says_what_the_test_does_anyway_is_no_other_one() {
        let again = MEASURED.replace("value", "set.queue_depth = 32\nvalue");
        let other = MEASURED.replace("value", "set.queue_depth = 1\nvalue");
        let unknown = "[[unknown]]\nkey = \"controller.read_unit_us\"\nleast = 1\nmost = 9\n";
        let parse = |more: &str| {
            let text = format!("drive = \"sm2256-500gb\"\n{unknown}{MEASURED}{more}");
            Measurements::parse("m.toml", &text, &no_results).map(|all| all.measurement.len()).map_err(|e| e.what)
        };
        assert_eq!(parse(&again).unwrap_err(), "m.toml: [[measurement]] iops of random-read is there twice");
        assert_eq!(parse(&other), Ok(2));
    }

    #[test]
    fn fitted_times_have_three_digits_and_stay_within_their_bounds() {
        let unknown = Unknown { key: "controller.read_unit_us".into(), least: 0.5, most: 12.0 };
        assert_eq!(unknown.rounded(5.6789), 5.68);
        assert_eq!(unknown.rounded(0.1), 0.5);
        let whole = Unknown { key: "gc.start_free_superblocks".into(), least: 1.0, most: 12.0 };
        assert_eq!(whole.rounded(2.6), 3.0);
    }

    #[test]
    fn least_squares_are_found_also_of_directions_that_do_the_same_or_nothing() {
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.01);
        let found = least_squares(&[vec![1.0, 1.0], vec![1.0, 2.0]], &[3.0, 5.0]);
        assert!(near(&found, &[1.0, 2.0]), "{found:?}");
        let found = least_squares(&[vec![1.0, 1.0], vec![1.0, 1.0], vec![0.0, 0.0]], &[3.0, 1.0]);
        assert!(near(&found, &[1.0, 1.0, 0.0]), "{found:?}");
    }

    #[test]
    fn whole_numbers_stay_within_bounds_that_are_none() {
        let whole = Unknown { key: "gc.start_free_superblocks".into(), least: 2.6, most: 4.4 };
        assert_eq!([1.0, 2.7, 4.4, 9.0].map(|number| whole.rounded(number)), [3.0, 3.0, 4.0, 4.0]);
        assert_eq!(Unknown { least: 1.6, most: 2.5, ..whole }.rounded(2.5), 2.0);
        let why = refused("key = \"gc.start_free_superblocks\"\nleast = 2.2\nmost = 2.8");
        assert!(why.contains("there is no whole number from 2.2 to 2.8"), "{why}");
    }
}
