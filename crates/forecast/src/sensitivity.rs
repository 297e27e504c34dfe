//! Which estimates move a figure, and by how much: one run each side of each.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use ssdlab_catalog::{DeviceTemplate, Diagnostic, Parts, Refusal};

use crate::changed::Changed;
use crate::estimates::{Estimate, estimates};
use crate::figures::{Figure, Metrics};
use crate::runs::{Bench, NoResult, Share, Subject, place, tests_of};

/// The bar of runs that differ by nothing but what is drawn.
pub const SEED: &str = "seed";
/// Why a value is left out that makes no other drive of those that are run.
const SAME_IN_SMALL: &str = "an eighth of the drive, which is what was run, is the same with it";
/// Other seeds that are run.
const OTHER_SEEDS: u64 = 2;

/// What the figures of a drive hang on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    pub device: String,
    /// The keys of the estimates that were varied.
    pub varied: Vec<String>,
    pub figures: Vec<FigureSensitivity>,
    /// Values that could not be tried, and why.
    pub left_out: Vec<LeftOut>,
}

/// What one figure hangs on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureSensitivity {
    pub title: String,
    pub test: String,
    /// Parameters of the test that are not its own.
    #[serde(skip)]
    pub settings: BTreeMap<String, String>,
    pub metric: String,
    pub unit: String,
    /// With the estimates as they are.
    pub value: f64,
    /// The band: each estimate's largest effect downwards and upwards, squared, summed and rooted, as for estimates
    /// that are wrong independently of each other.
    pub low: f64,
    pub high: f64,
    /// The widest first. Estimates that do not move the figure are not among them.
    pub bars: Vec<Bar>,
    /// How many estimates were varied in runs that have the figure: what the others do to it is not known.
    #[serde(skip)]
    pub varied: usize,
    /// How many other seeds were run that have it.
    #[serde(skip)]
    pub seeds: usize,
}

/// An estimate that moves a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    pub key: String,
    /// The estimate itself.
    pub value: String,
    pub unit: String,
    pub sides: Vec<Side>,
}

/// A value that was tried, and the figure with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    pub value: String,
    pub figure: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    pub key: String,
    pub value: String,
    pub reason: String,
}

impl Bar {
    /// The lowest and the highest figure, the one with the estimate itself included.
    #[must_use]
    pub fn ends(&self, base: f64) -> (f64, f64) {
        self.sides.iter().fold((base, base), |(low, high), side| (low.min(side.figure), high.max(side.figure)))
    }

    /// Whether it is of no estimate, but of what chance does.
    #[must_use]
    pub fn is_of_seeds(&self) -> bool {
        self.key == SEED
    }

    fn width(&self, base: f64) -> f64 {
        let (low, high) = self.ends(base);
        high - low
    }
}

impl FigureSensitivity {
    /// The figure, its band, and what makes the band: `380 MB/s; with the 9 estimates …`. `number` writes a figure with its unit.
    #[must_use]
    pub fn sentence(&self, number: impl Fn(f64) -> String) -> String {
        let band = format!("{} to {}", number(self.low), number(self.high));
        let (estimates, none) = match self.varied {
            0 => (String::new(), "no run with an estimate varied has this figure".to_owned()),
            1 => {
                ("the estimate that was varied".to_owned(), "the estimate that was varied does not move it".to_owned())
            }
            n => (
                format!("the {n} estimates that were varied"),
                format!("none of the {n} estimates that were varied moves it"),
            ),
        };
        let of_estimates = self.bars.iter().any(|bar| !bar.is_of_seeds());
        let of_seeds = self.bars.iter().any(Bar::is_of_seeds);
        let rest = match (of_estimates, of_seeds) {
            (true, _) => {
                let seeds = if self.seeds > 0 { " and with other seeds," } else { "" };
                format!("with {estimates} as uncertain as taken to be,{seeds} {band}")
            }
            (false, true) => format!("{none}; other seeds alone make it {band}"),
            (false, false) if self.seeds == 0 => none,
            (false, false) if self.varied == 0 => format!("{none}; other seeds do not move it"),
            (false, false) => format!("{none}, nor do other seeds"),
        };
        format!("{}; {rest}", number(self.value))
    }

    /// Band of the figure, from the bars.
    fn of(figure: &Figure, unit: &str, value: f64, mut bars: Vec<Bar>) -> Self {
        let varied = bars.iter().filter(|bar| !bar.is_of_seeds() && !bar.sides.is_empty()).count();
        let seeds = bars.iter().filter(|bar| bar.is_of_seeds()).map(|bar| bar.sides.len()).sum();
        bars.retain(|bar| bar.width(value) > 0.0);
        // Stable: of equally wide bars the one that comes first in the files stays first.
        bars.sort_by(|a, b| b.width(value).total_cmp(&a.width(value)));
        let ends: Vec<(f64, f64)> = bars.iter().map(|bar| bar.ends(value)).collect();
        let (low, high) = band(value, &ends);
        FigureSensitivity {
            title: figure.title.clone(),
            test: figure.test.name.to_owned(),
            settings: figure.settings.clone(),
            metric: figure.metric.clone(),
            unit: unit.to_owned(),
            value,
            low,
            high,
            bars,
            varied,
            seeds,
        }
    }
}

/// The root of the sum of squares of all changes, downwards and upwards apart: of their ratios where all figures are above zero, so
/// that no rate and no latency gets below it.
fn band(value: f64, ends: &[(f64, f64)]) -> (f64, f64) {
    let root =
        |changes: &dyn Fn(&(f64, f64)) -> f64| libm::sqrt(ends.iter().map(changes).map(|change| change * change).sum());
    if value > 0.0 && ends.iter().all(|&(low, _)| low > 0.0) {
        let down = root(&|&(low, _)| libm::log(value / low));
        let up = root(&|&(_, high)| libm::log(high / value));
        return (value * libm::exp(-down), value * libm::exp(up));
    }
    let low = value - root(&|&(low, _)| value - low);
    // What was zero on one side, and never below, has no logarithm, and goes no lower all the same.
    let is_never_below = value >= 0.0 && ends.iter().all(|&(low, _)| low >= 0.0);
    (if is_never_below { low.max(0.0) } else { low }, value + root(&|&(_, high)| high - value))
}

/// A drive with one estimate changed.
struct Variation {
    /// Place in the list of estimates.
    estimate: usize,
    value: String,
    drive: Changed,
}

/// A drive, and those of its estimates that are to be varied: see [`sensitivity`].
///
/// # Errors
/// If there is no such drive, if it is no single SSD, if it has no such estimate, or if a band that its files state cannot be read.
pub(crate) fn varied(
    device: &str,
    figures: &[Figure],
    percent: f64,
    keys: &[String],
) -> Result<(DeviceTemplate, Vec<Estimate>), Diagnostic> {
    let template = DeviceTemplate::open(device, Path::new(""))?;
    let Parts::Ssd(drive) = &template.recipe.parts else {
        return Err(no_single_ssd(device));
    };
    let power = figures.iter().any(|f| f.metric.starts_with("power") || f.metric.starts_with("energy"));
    let mut estimates = estimates(drive, percent, power)?;
    let none = |which: String| {
        Err(Diagnostic::new(format!("{device} has no estimate {which}"))
            .help("`ssdlab show DEVICE` marks the estimates of its files"))
    };
    // A band must not be taken for one of estimates that nobody has varied.
    if let Some(key) = keys.iter().find(|key| !estimates.iter().any(|e| e.key.starts_with(key.as_str()))) {
        return none(format!("whose key begins with `{key}`"));
    }
    estimates.retain(|e| keys.is_empty() || keys.iter().any(|key| e.key.starts_with(key.as_str())));
    if estimates.is_empty() {
        return none("that could be varied".to_owned());
    }
    Ok((template, estimates))
}

pub(crate) fn no_single_ssd(device: &str) -> Diagnostic {
    Diagnostic::new(format!("{device} is no single SSD"))
        .help("name an SSD of the catalog, or the path of a drive file")
}

/// Runs the tests that `figures` need: on the drive as it is, with each estimate at each end of its band, and with other
/// seeds. `percent` is the band of numbers that state none; only estimates whose key begins with one of `keys` are varied
/// (all, if there is none).
///
/// # Errors
/// Outer: if there is no such drive, if it is no single SSD, or if a band that its files state cannot be read. Inner: [`NoResult`].
pub fn sensitivity(
    device: &str,
    figures: &[Figure],
    percent: f64,
    keys: &[String],
    bench: &Bench<'_>,
) -> Result<Result<Sensitivity, NoResult>, Diagnostic> {
    sensitivity_after(0, device, figures, percent, keys, bench)
}

/// Tests that [`sensitivity`] runs at the most if its figures come from so many: fewer where some values make no drive.
pub(crate) fn most_tests(estimates: &[Estimate], tests: usize) -> usize {
    tests * (1 + OTHER_SEEDS as usize + estimates.iter().map(|e| e.band.values().len()).sum::<usize>())
}

/// [`sensitivity`] as a part of work of which so many tests have run `before`.
///
/// # Errors
/// As [`sensitivity`].
pub(crate) fn sensitivity_after(
    before: usize,
    device: &str,
    figures: &[Figure],
    percent: f64,
    keys: &[String],
    bench: &Bench<'_>,
) -> Result<Result<Sensitivity, NoResult>, Diagnostic> {
    let (template, estimates) = varied(device, figures, percent, keys)?;
    let base = Changed::new(template.recipe.clone());
    let all_in_small = bench.quick && figures.iter().all(|figure| !figure.test.on_whole_drive);
    let in_small = if all_in_small { base.identity_in_small() } else { None };
    let (variations, left_out) = variations(&template, &estimates, bench.seed, in_small.as_ref());
    let subject = |drive| Subject { drive, seed: bench.seed };
    let mut out =
        Sensitivity { device: template.recipe.name.clone(), varied: Vec::new(), figures: Vec::new(), left_out };
    // First the drive as it is: what it does not have is not looked for on all the others.
    let tests = tests_of(figures);
    let others = OTHER_SEEDS as usize + variations.len();
    let of = before + tests.len() * (1 + others);
    let as_it_is = match bench.run(&[subject(&base)], &tests, Share { before, of }) {
        Ok(as_it_is) => as_it_is,
        Err(none) => return Ok(Err(none)),
    };
    let mut had: Vec<Figure> = Vec::new();
    for figure in figures {
        match &as_it_is[0][place(&tests, figure)] {
            Ok(metrics) if metrics.contains_key(&figure.metric) => had.push(figure.clone()),
            other => out.left_out.push(no_such_figure(figure, other)),
        }
    }
    if had.is_empty() {
        return Ok(Ok(out));
    }
    let seeds: Vec<u64> = (1..=OTHER_SEEDS).map(|k| bench.seed.wrapping_add(k)).collect();
    let mut subjects: Vec<Subject<'_>> = seeds.iter().map(|&seed| Subject { drive: &base, seed }).collect();
    subjects.extend(variations.iter().map(|v| subject(&v.drive)));
    let tests_of_all = tests_of(&had);
    let before = before + tests.len();
    let of = before + tests_of_all.len() * others;
    let mut results = match bench.run(&subjects, &tests_of_all, Share { before, of }) {
        Ok(results) => results,
        Err(none) => return Ok(Err(none)),
    };
    let of_all = |test: &&Figure| place(&tests, test);
    results.insert(0, tests_of_all.iter().map(of_all).map(|at| as_it_is[0][at].clone()).collect());
    let (figures, tests) = (&had, tests_of_all);

    let (same, changed) = results.split_at(1 + seeds.len());
    out.varied = variations.iter().map(|v| estimates[v.estimate].key.clone()).collect();
    out.varied.dedup();
    for figure in figures {
        let at = place(&tests, figure);
        let value = |row: &[Metrics]| row[at].as_ref().ok().and_then(|metrics| metrics.get(&figure.metric).cloned());
        let metric = value(&same[0]).expect("those that the drive does not have are left out");
        let figure = &figure.said_of(&same[0][at]);
        let side =
            |value_text: String, row: &[Metrics]| value(row).map(|m| Side { value: value_text, figure: m.value });
        let mut bars: Vec<Bar> = estimates
            .iter()
            .map(|e| Bar { key: e.key.clone(), value: e.value.clone(), unit: e.unit.clone(), sides: Vec::new() })
            .collect();
        // A band that leaves out what some value or seed would do must not be taken for one that has it.
        let mut lacking = |key: &str, value: String, row: &[Metrics]| {
            let why = no_such_figure(figure, &row[at]);
            out.left_out.push(LeftOut { key: key.to_owned(), value, reason: format!("{}: {}", why.key, why.reason) });
        };
        for (variation, row) in variations.iter().zip(changed) {
            match side(variation.value.clone(), row) {
                Some(side) => bars[variation.estimate].sides.push(side),
                None => lacking(&estimates[variation.estimate].key, variation.value.clone(), row),
            }
        }
        let mut sides = Vec::new();
        for (seed, row) in seeds.iter().zip(&same[1..]) {
            match side(seed.to_string(), row) {
                Some(side) => sides.push(side),
                None => lacking(SEED, seed.to_string(), row),
            }
        }
        bars.push(Bar { key: SEED.to_owned(), value: bench.seed.to_string(), unit: String::new(), sides });
        out.figures.push(FigureSensitivity::of(figure, &metric.unit, metric.value, bars));
    }
    Ok(Ok(out))
}

/// The figures of a drive as it is, and those that it does not have.
pub(crate) struct AsItIs {
    pub device: String,
    /// Figure, value and unit.
    pub values: Vec<(Figure, f64, String)>,
    pub without: Vec<LeftOut>,
}

/// Runs the tests that `figures` need on the drive as it is, which is this share of the work.
///
/// # Errors
/// As [`sensitivity`].
pub(crate) fn as_it_is(
    device: &str,
    figures: &[Figure],
    bench: &Bench<'_>,
    share: Share,
) -> Result<Result<AsItIs, NoResult>, Diagnostic> {
    let recipe = ssdlab_catalog::device(device)?;
    let drive = Changed::new(recipe.clone());
    let tests = tests_of(figures);
    let results = match bench.run(&[Subject { drive: &drive, seed: bench.seed }], &tests, share) {
        Ok(results) => results,
        Err(none) => return Ok(Err(none)),
    };
    let mut out = AsItIs { device: recipe.name, values: Vec::new(), without: Vec::new() };
    for figure in figures {
        let metrics = &results[0][place(&tests, figure)];
        match metrics.as_ref().ok().and_then(|m| m.get(&figure.metric)) {
            Some(metric) => out.values.push((figure.said_of(metrics), metric.value, metric.unit.clone())),
            None => out.without.push(no_such_figure(figure, metrics)),
        }
    }
    Ok(Ok(out))
}

fn no_such_figure(figure: &Figure, metrics: &Metrics) -> LeftOut {
    let reason = match metrics {
        Err(why) => why.clone(),
        Ok(metrics) if metrics.get("steady").is_some_and(|steady| steady.value == 0.0) => {
            format!("{} has not settled, and has no such figure then; a longer run may", figure.test.name)
        }
        Ok(_) => format!("{} has no such figure on this drive", figure.test.name),
    };
    LeftOut { key: figure.title.clone(), value: figure.metric.clone(), reason }
}

/// A drive for each value of each estimate; values that no drive can have are left out, and where only drives in small are run, those
/// that leave it as it is (`in_small`): that such a run shows no other figure says nothing of the value.
fn variations(
    template: &DeviceTemplate,
    estimates: &[Estimate],
    seed: u64,
    in_small: Option<&serde_json::Value>,
) -> (Vec<Variation>, Vec<LeftOut>) {
    let (mut variations, mut left_out) = (Vec::new(), Vec::new());
    for (place, estimate) in estimates.iter().enumerate() {
        left_out.extend(estimate.without.iter().map(|end| LeftOut {
            key: estimate.key.clone(),
            value: end.value.clone(),
            reason: end.reason.clone(),
        }));
        if estimate.band.values().is_empty() && estimate.without.is_empty() {
            let reason = match estimate.has_stated_band() {
                true => {
                    "there is no other value to try: the band that its comment states holds no other that the key allows"
                }
                false => {
                    "there is no other value to try: its comment states no band, and a share of it changes nothing"
                }
            };
            let (key, value) = (estimate.key.clone(), estimate.value.clone());
            left_out.push(LeftOut { key, value, reason: reason.to_owned() });
        }
        for value in estimate.band.values() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let built = template.with(&[(estimate.key.clone(), value.clone())]).map_err(|refusal| match refusal {
                Refusal::Value { problem, .. } => problem.what,
                Refusal::Impossible(e) => e.to_string(),
            });
            // A drive that is told of may still not be buildable, such as one without room for its bad blocks.
            let built = built.and_then(|recipe| recipe.build(seed).map(|_| recipe).map_err(|e| e.what));
            let tried = built.map(Changed::new).and_then(|drive| {
                let changes_nothing = in_small.is_some() && drive.identity_in_small().as_ref() == in_small;
                if changes_nothing { Err(SAME_IN_SMALL.to_owned()) } else { Ok(drive) }
            });
            match tried {
                Ok(drive) => variations.push(Variation { estimate: place, value: text, drive }),
                Err(reason) => left_out.push(LeftOut { key: estimate.key.clone(), value: text, reason }),
            }
        }
    }
    (variations, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::headlines;

    fn bar(key: &str, figures: &[f64]) -> Bar {
        let sides = figures.iter().map(|&figure| Side { value: String::new(), figure }).collect();
        Bar { key: key.to_owned(), value: String::new(), unit: String::new(), sides }
    }

    #[test]
    fn a_band_says_whose_it_is() {
        let of = |bars| FigureSensitivity::of(&headlines(false)[0], "IOPS", 100.0, bars);
        let said = |bars: &[(&str, &[f64])]| {
            of(bars.iter().map(|(key, figures)| bar(key, figures)).collect()).sentence(|v| format!("{v:.0}"))
        };
        let still: [(&str, &[f64]); 2] = [("row", &[100.0]), ("page", &[100.0, 100.0])];
        assert_eq!(
            said(&[still[0], still[1], ("gc.policy", &[90.0]), (SEED, &[100.0])]),
            "100; with the 3 estimates that were varied as uncertain as taken to be, and with other seeds, 90 to 100"
        );
        let alone = "100; none of the 2 estimates that were varied moves it; other seeds alone make it 99 to 101";
        assert_eq!(said(&[still[0], still[1], (SEED, &[99.0, 101.0])]), alone);
        let one = "100; the estimate that was varied does not move it, nor do other seeds";
        assert_eq!(said(&[still[0], (SEED, &[100.0])]), one);
        // What no run has the figure with is not known to leave it as it is.
        let lost: (&str, &[f64]) = ("gc.policy", &[]);
        assert_eq!(said(&[still[0], lost, (SEED, &[100.0])]), one);
        assert_eq!(
            said(&[lost, (SEED, &[100.0])]),
            "100; no run with an estimate varied has this figure; other seeds do not move it"
        );
        assert_eq!(said(&[lost, (SEED, &[])]), "100; no run with an estimate varied has this figure");
    }

    #[test]
    fn what_changes_nothing_in_small_is_not_taken_for_tried_there() {
        // Its buffer in small is the least that keeps all dies busy, whatever an eighth of it is.
        let keys = ["write_buffer.capacity_kib".to_owned()];
        let (template, estimates) = varied("jmf667h-toshiba-128gb", &headlines(true), 20.0, &keys).unwrap();
        let small = Changed::new(template.recipe.clone()).identity_in_small().unwrap();
        let (tried, left_out) = variations(&template, &estimates, 1, Some(&small));
        assert_eq!((tried.len(), left_out.len()), (0, 2), "{left_out:?}");
        assert!(left_out.iter().all(|l| l.key == keys[0] && l.reason == SAME_IN_SMALL), "{left_out:?}");
        let (tried, left_out) = variations(&template, &estimates, 1, None);
        assert_eq!((tried.len(), left_out.len()), (2, 0), "{left_out:?}");
    }

    #[test]
    fn an_estimate_without_another_value_is_told_whether_it_has_a_band() {
        let told = |comment: &str| {
            let text = format!("base = \"600p-256gb\"\n[link.pcie]\nlanes = 4 # estimate: a guess{comment}\n");
            let recipe = ssdlab_catalog::parse_drive("mine.toml", &text).unwrap();
            let all = estimates(&recipe, 20.0, false).unwrap();
            let lanes: Vec<Estimate> = all.into_iter().filter(|e| e.key == "link.pcie.lanes").collect();
            let template = DeviceTemplate::open("600p-256gb", Path::new("")).unwrap();
            variations(&template, &lanes, 1, None).1.into_iter().map(|l| l.reason).collect::<Vec<_>>()
        };
        let reasons = told("; band 3 to 5");
        assert!(reasons.len() == 1 && reasons[0].ends_with("holds no other that the key allows"), "{reasons:?}");
        assert_eq!(told("; band 2 to 8"), [""; 0]);
    }

    #[test]
    fn bars_are_sorted_and_their_ends_make_the_band() {
        let bars = vec![bar("still", &[100.0]), bar("small", &[97.0, 104.0]), bar("large", &[96.0, 103.0, 90.0])];
        let of = FigureSensitivity::of(&headlines(false)[0], "IOPS", 100.0, bars);
        assert_eq!(of.bars.iter().map(|b| b.key.as_str()).collect::<Vec<_>>(), ["large", "small"]);
        let root = |ratios: [f64; 2]| libm::hypot(libm::log(ratios[0]), libm::log(ratios[1]));
        let (down, up) = (root([0.97, 0.90]), root([1.04, 1.03]));
        assert!((of.low - 100.0 * libm::exp(-down)).abs() < 1e-9 && (of.high - 100.0 * libm::exp(up)).abs() < 1e-9);
        assert!((of.low - 89.6).abs() < 0.5 && (of.high - 105.0).abs() < 0.2, "near the differences: {of:?}");
    }

    #[test]
    fn an_end_of_a_band_that_is_not_tried_is_told_of() {
        let text = "base = \"jmf667h-toshiba-128gb\"\n[gc]\nvictims_per_start = 1 # estimate: a guess\n";
        let recipe = ssdlab_catalog::parse_drive("mine.toml", text).unwrap();
        let mut all = estimates(&recipe, 10.0, false).unwrap();
        all.retain(|e| e.key == "gc.victims_per_start");
        let template = DeviceTemplate::open("jmf667h-toshiba-128gb", Path::new("")).unwrap();
        let (tried, left_out) = variations(&template, &all, 1, None);
        assert_eq!(tried.iter().map(|v| v.value.as_str()).collect::<Vec<_>>(), ["2"]);
        let told: Vec<_> = left_out.iter().map(|l| (l.key.as_str(), l.value.as_str())).collect();
        assert_eq!(told, [("gc.victims_per_start", "0")], "{left_out:?}");
        assert!(left_out[0].reason.contains("a meaning of its own"), "{left_out:?}");
    }

    /// Nor does a figure that can be below zero take one of its ends from a logarithm.
    #[test]
    fn a_band_of_what_is_above_zero_stays_above_it() {
        let halves = [(10.0, 100.0); 4];
        let (low, high) = band(100.0, &halves);
        assert!((low - 1.0).abs() < 1e-9 && high == 100.0, "a hundredth: {low}");
        assert_eq!(band(100.0, &[(0.0, 100.0)]), (0.0, 100.0));
        assert_eq!(band(100.0, &[(0.0, 100.0); 2]), (0.0, 100.0));
        assert_eq!(band(-1.0, &[(-4.0, 3.0)]), (-4.0, 3.0));
    }
}
