//! What is measured, what is to be fitted to it, and what may be.

use std::collections::BTreeMap;

use serde::Deserialize;
use ssdlab_bench::suite::find_test;
use ssdlab_catalog::claims::setting;
use ssdlab_catalog::{Diagnostic, parse};
use ssdlab_keys::Kind;
use ssdlab_report::ResultsDocument;
use ssdlab_ssd::drive_keys;
use toml::Value;

use crate::figures::Figure;
use crate::from_results;

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
/// No unknown is looked for more coarsely, as a share of it, whatever its measurements are good for.
const COARSEST: f64 = 0.01;
/// What is left of the way to the best value is at the end no more than this share of what all measurements are good for together.
const SHARE_LEFT: f64 = 0.2;
/// Digits behind the first one that tell doubles of one decade apart.
const MOST_DIGITS: i32 = 14;

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
    /// What the figure is good for, in per cent of it: the standard deviation of what it is off by, for all that is said of chance.
    pub tolerance_percent: f64,
    pub source: String,
    /// Why the run that gave it had not settled, if results say that.
    pub not_settled: Option<String>,
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
        for (k, measured) in all.measurement.iter().enumerate() {
            let figure = measured.figure().map_err(|e| refuse(e.what))?;
            let what = format!("{} {}", measured.test, measured.metric);
            figure.test.resolve(&figure.settings_list(), false).map_err(|e| refuse(format!("{what}: {e}")))?;
            for earlier in &all.measurement[..k] {
                if measured.is_again(earlier) {
                    let what = format!("[[measurement]] {} of {} is there twice", measured.metric, measured.test);
                    return Err(refuse(what).help("give each figure once: one that is there twice would count twice"));
                }
            }
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

    /// How finely unknowns are looked for, as a share of them: what changes in proportion then steps over no measurement.
    pub(super) fn resolution(&self) -> f64 {
        self.measurement.iter().map(|m| m.tolerance_percent / 100.0).fold(COARSEST, f64::min)
    }

    /// How finely the best values are told, as a share of them: by a part of half the interval of an unknown with which all figures go in
    /// proportion. It is the narrower the more measurements there are: on a grid as coarse as it, the best value would lie beside it.
    pub(super) fn last_resolution(&self) -> f64 {
        let weights = self.measurement.iter().map(|m| libm::pow(m.tolerance_percent / 100.0, -2.0));
        f64::min(self.resolution(), SHARE_LEFT / libm::sqrt(weights.sum()))
    }
}

impl Measured {
    /// The figure of the test that is the measured one.
    ///
    /// # Errors
    /// If there is no such test.
    pub(super) fn figure(&self) -> Result<Figure, Diagnostic> {
        let test = find_test(&self.test).map_err(|e| Diagnostic::new(e.to_string()))?;
        Ok(Figure {
            title: self.metric.clone(),
            test,
            settings: self.set.iter().map(|(k, v)| (k.clone(), setting(v))).collect(),
            metric: self.metric.clone(),
        })
    }

    /// Whether another one is the same figure of the same run.
    fn is_again(&self, other: &Measured) -> bool {
        self.metric == other.metric && self.is_of_one_run_with(other)
    }

    pub(super) fn is_of_one_run_with(&self, other: &Measured) -> bool {
        let (Ok(this), Ok(that)) = (self.figure(), other.figure()) else { return false };
        self.test == other.test && this.test.is_one_run(&this.settings_list(), &that.settings_list())
    }

    /// How far `figure` is from what was measured, in tolerances.
    pub(super) fn off(&self, figure: f64) -> f64 {
        (figure - self.value) / (self.value * self.tolerance_percent / 100.0)
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

    pub(super) fn is_whole(&self) -> bool {
        drive_keys().key(&self.key).is_some_and(|key| key.kind == Kind::Whole)
    }

    /// The lowest and the highest value that it can have.
    pub(super) fn bounds(&self) -> (f64, f64) {
        if self.is_whole() { (libm::ceil(self.least), libm::floor(self.most)) } else { (self.least, self.most) }
    }

    pub(super) fn value(&self, number: f64) -> Value {
        if self.is_whole() { Value::Integer(libm::round(number) as i64) } else { Value::Float(number) }
    }

    /// The number, or the nearest one that it can be.
    pub(super) fn allowed(&self, number: f64) -> f64 {
        let (least, most) = self.bounds();
        let number = number.clamp(least, most);
        if self.is_whole() { libm::round(number) } else { number }
    }

    /// A whole number for counts, and for times so many digits that a step of the last is no more than `resolution` of any: three,
    /// as a drive file would say, at [`COARSEST`].
    pub(super) fn rounded(&self, number: f64, resolution: f64) -> f64 {
        let number = self.allowed(number);
        if self.is_whole() {
            return number;
        }
        let is_fine = |digits: &i32| libm::pow(10.0, -f64::from(*digits)) <= resolution;
        let behind_the_first = f64::from((2..MOST_DIGITS).find(is_fine).unwrap_or(MOST_DIGITS));
        let digits = libm::pow(10.0, behind_the_first - libm::floor(libm::log10(number)));
        self.allowed(libm::round(number * digits) / digits)
    }

    /// A number times `factor`, [rounded](Self::rounded); whole numbers move by one at least. The same at an end of what may be.
    pub(super) fn stepped(&self, from: f64, factor: f64, resolution: f64) -> f64 {
        let to = self.rounded(from * factor, resolution);
        if to != from || !self.is_whole() {
            return to;
        }
        self.allowed(if factor > 1.0 { from + 1.0 } else { from - 1.0 })
    }
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
        let other = MEASURED.replace("value", "set.queue_depth = 1.0\nvalue");
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
        assert_eq!(unknown.rounded(5.6789, COARSEST), 5.68);
        assert_eq!(unknown.rounded(0.1, COARSEST), 0.5);
        let whole = Unknown { key: "gc.start_free_superblocks".into(), least: 1.0, most: 12.0 };
        assert_eq!(whole.rounded(2.6, COARSEST), 3.0);
    }

    #[test]
    fn a_finer_tolerance_asks_for_more_digits() {
        let resolution = |percent: &str| {
            let text = file("key = \"controller.read_unit_us\"\nleast = 1\nmost = 900")
                .replace("tolerance_percent = 5", &format!("tolerance_percent = {percent}"));
            Measurements::parse("m.toml", &text, &no_results).unwrap().resolution()
        };
        let unknown = Unknown { key: "controller.read_unit_us".into(), least: 0.5, most: 900.0 };
        for (percent, rounded) in [("5", 101.0), ("1", 101.0), ("0.5", 101.5), ("0.1", 101.5), ("0.001", 101.456)] {
            assert_eq!(unknown.rounded(101.4561, resolution(percent)), rounded, "{percent} %");
        }
        assert_eq!(unknown.rounded(101.456_123_4, 1e-8), 101.456_123);
    }

    #[test]
    fn the_best_value_is_told_more_finely_than_its_interval() {
        let last = |tolerances: &[&str]| {
            let measured = tolerances.iter().enumerate().map(|(k, percent)| {
                MEASURED
                    .replace("value", &format!("set.queue_depth = {}\nvalue", k + 1))
                    .replace(" = 5\nsource", &format!(" = {percent}\nsource"))
            });
            let unknown =
                "drive = \"sm2256-500gb\"\n[[unknown]]\nkey = \"controller.read_unit_us\"\nleast = 1\nmost = 9\n";
            let text = unknown.to_owned() + &measured.collect::<String>();
            Measurements::parse("m.toml", &text, &no_results).unwrap().last_resolution()
        };
        // Four of 2 % are good for 1 % together, and one of 20 % is good for less than what is always told.
        assert!((last(&["2"; 4]) - 0.002).abs() < 1e-12);
        assert!((last(&["1"]) - 0.002).abs() < 1e-12);
        assert!((last(&["20"]) - COARSEST).abs() < 1e-12);
    }

    #[test]
    fn whole_numbers_stay_within_bounds_that_are_none() {
        let whole = Unknown { key: "gc.start_free_superblocks".into(), least: 2.6, most: 4.4 };
        assert_eq!([1.0, 2.7, 4.4, 9.0].map(|number| whole.allowed(number)), [3.0, 3.0, 4.0, 4.0]);
        assert_eq!(Unknown { least: 1.6, most: 2.5, ..whole }.allowed(2.5), 2.0);
        let why = refused("key = \"gc.start_free_superblocks\"\nleast = 2.2\nmost = 2.8");
        assert!(why.contains("there is no whole number from 2.2 to 2.8"), "{why}");
    }
}
