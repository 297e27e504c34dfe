//! Predictions: what a drive file says of figures that nobody has looked at, kept for later.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use ssdlab_bench::suite::find_test;
use ssdlab_catalog::claims::{self, Check, Claim};
use ssdlab_catalog::{Diagnostic, Origin, Parts, SpecRow};
use ssdlab_core::input;
use ssdlab_keys::KeyTable;
use ssdlab_nand::die_keys;
use ssdlab_report::figure_text;
use ssdlab_ssd::drive_keys;
use ssdlab_sweep::{FINGERPRINT, digest, write_whole};

use crate::estimates::number_of;
use crate::figures::Figure;
use crate::runs::{Bench, NoResult, Share, tests_of};
use crate::sensitivity::{
    FigureSensitivity, LeftOut, Sensitivity, as_it_is, most_tests, no_single_ssd, sensitivity_after, varied,
};

const SCHEMA: &str = "ssdlab.prediction/2";
/// Of those that gave pure numbers a band as well. They say and mean the same otherwise.
const EARLIER_SCHEMA: &str = "ssdlab.prediction/1";
/// Around the table of a page.
const TABLE_BEGINS: &str = "<!-- What `ssdlab predict` prints";
const TABLE_ENDS: &str = "<!-- End of what `make predictions` writes. -->";
/// Estimates that a prediction names as what it hangs on.
const NAMED: usize = 3;

/// What was predicted of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    pub schema: String,
    pub device: String,
    /// Of the program.
    pub version: String,
    /// Of the code that decides on results.
    pub model: String,
    /// Of every value of the drive's and the die's file, with what the files say about it.
    pub drive_digest: String,
    pub seed: u64,
    /// Whether the figures were taken from the drive in small.
    pub quick: bool,
    /// Whether their bands were.
    pub bands_quick: bool,
    /// By how much estimates were varied that state no band.
    pub varied_by_percent: f64,
    /// Beginnings of the keys of the estimates that make the bands; all, if there is none.
    pub varied_keys: Vec<String>,
    pub figures: Vec<Predicted>,
    /// Figures that the drive does not have, and why.
    pub without: BTreeMap<String, String>,
    /// Values that the bands leave out, and why. Predictions that were made before this was written have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_tried: Vec<LeftOut>,
    /// Digest of all this.
    pub seal: String,
}

/// A predicted figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicted {
    pub title: String,
    pub test: String,
    pub settings: BTreeMap<String, String>,
    pub metric: String,
    pub unit: String,
    pub value: f64,
    /// The lowest and the highest value that estimates and seeds give; absent where the drive in small does not have the
    /// figure, and of pure numbers.
    pub band: Option<[f64; 2]>,
    /// The estimates that move it most.
    pub hangs_on: Vec<String>,
}

/// Why a prediction cannot be used.
#[derive(Debug)]
pub enum PredictionError {
    /// The file system's own words.
    Io(String),
    /// It was written before: a prediction of a drive file is made once.
    Exists(String),
    /// Figures of the drive are known.
    NotBlind(String),
    /// It is no prediction, or it was changed.
    Spoilt { file: String, why: String },
}

impl std::fmt::Display for PredictionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PredictionError::Io(why) => f.write_str(why),
            PredictionError::Exists(file) => write!(f, "{file} is there: a prediction is made once and not changed"),
            PredictionError::NotBlind(device) => {
                write!(f, "published figures of {device} are known: a prediction would not be made blind")
            }
            PredictionError::Spoilt { file, why } => write!(f, "{file}: {why}"),
        }
    }
}

/// Whether a drive may be predicted beside what was predicted `before`: as long as none of its figures is among `claims`, and
/// of the same drive file once, and once in small (`quick`). The file is known by its values, and the drive by the name of
/// the file, whatever the path.
///
/// # Errors
/// Outer: if there is no such drive. Inner: why it may not.
pub fn may_be_predicted(
    device: &str,
    quick: bool,
    before: &[Prediction],
    claims: &[Claim],
) -> Result<Result<(), PredictionError>, Diagnostic> {
    let digests = [drive_digest(device)?, drive_digest_as_written(device)?];
    if let Some(made) = before.iter().find(|p| digests.contains(&p.drive_digest) && p.quick == quick) {
        return Ok(Err(PredictionError::Exists(format!("the prediction of {}", made.device))));
    }
    let is_known = by_slug(claims).iter().any(|claim| is_figure(claim) && claim.concerns(&slug(device)));
    Ok(if is_known { Err(PredictionError::NotBlind(device.to_owned())) } else { Ok(()) })
}

/// Whether two names are of one drive file: by its values, whatever the path.
///
/// # Errors
/// If there is no such drive.
pub fn are_one_drive(a: &str, b: &str) -> Result<bool, Diagnostic> {
    Ok(drive_digest(a)? == drive_digest(b)?)
}

/// The same figures, of drives by the names that their predictions have.
fn by_slug(claims: &[Claim]) -> Vec<Claim> {
    claims.iter().map(|claim| claim.clone().renamed(slug)).collect()
}

/// What is checked otherwise says how something was measured, or what the drive file repeats.
fn is_figure(claim: &Claim) -> bool {
    !matches!(claim.check, Check::Fact(_) | Check::Method(_) | Check::Reports(_) | Check::NotSimulated(_))
}

/// Whether predictions can be written into `folder`, which is made.
///
/// # Errors
/// What the file system says.
pub fn check_folder(folder: &Path) -> Result<(), PredictionError> {
    let io = |path: &Path, e: std::io::Error| PredictionError::Io(format!("{}: {e}", path.display()));
    fs::create_dir_all(folder).map_err(|e| io(folder, e))?;
    let probe = folder.join(format!(".ssdlab-probe-{}", std::process::id()));
    fs::File::create_new(&probe).and_then(|_| fs::remove_file(&probe)).map_err(|e| io(folder, e))
}

/// Predicts `figures` of a drive of the catalog: their values on the drive as `bench` has it, their bands from runs on
/// the drive as `bands` has it, with estimates varied whose key begins with one of `keys` (all, if there is none).
///
/// # Errors
/// Outer: if there is no such drive. Inner: [`NoResult`], also if its file was changed meanwhile.
pub fn predict(
    device: &str,
    figures: &[Figure],
    percent: f64,
    keys: &[String],
    bench: &Bench<'_>,
    bands: &Bench<'_>,
) -> Result<Result<Prediction, NoResult>, Diagnostic> {
    let drive_digest = drive_digest(device)?;
    // Said now, and not after the runs.
    let (_, estimates) = varied(device, figures, percent, keys)?;
    let tests = tests_of(figures).len();
    let of = tests + most_tests(&estimates, tests);
    let as_it_is = match as_it_is(device, figures, bench, Share { before: 0, of })? {
        Ok(as_it_is) => as_it_is,
        Err(none) => return Ok(Err(none)),
    };
    let had: Vec<Figure> = as_it_is.values.iter().map(|(figure, _, _)| figure.clone()).collect();
    let sensitivity = match sensitivity_after(tests, device, &had, percent, keys, bands)? {
        Ok(sensitivity) => sensitivity,
        Err(none) => return Ok(Err(none)),
    };
    // Each part of the work reads the file anew: what was begun with one is no prediction of another.
    if self::drive_digest(device)? != drive_digest {
        let changed = Diagnostic::new(format!("{device} was changed while it was predicted: nothing was written"))
            .help("leave the drive's and the die's file alone until the prediction is made");
        return Ok(Err(NoResult::Refused(changed)));
    }
    let figures = as_it_is.values.iter().map(|(figure, value, unit)| predicted(figure, *value, unit, &sensitivity));
    let mut prediction = Prediction {
        schema: SCHEMA.to_owned(),
        device: as_it_is.device,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        model: FINGERPRINT.trim().to_owned(),
        drive_digest,
        seed: bench.seed,
        quick: bench.quick,
        bands_quick: bands.quick,
        varied_by_percent: percent,
        varied_keys: keys.to_vec(),
        figures: figures.collect(),
        without: as_it_is.without.into_iter().map(|l| (l.key, l.reason)).collect(),
        not_tried: {
            // Figures that the drive in small does not have at all have no band.
            let is_of_a_band = |l: &LeftOut| !had.iter().any(|figure| figure.title == l.key);
            sensitivity.left_out.into_iter().filter(is_of_a_band).collect()
        },
        seal: String::new(),
    };
    prediction.seal = prediction.digest();
    Ok(Ok(prediction))
}

/// A figure with the band that the sensitivities give, in proportion.
fn predicted(figure: &Figure, value: f64, unit: &str, sensitivity: &Sensitivity) -> Predicted {
    // By what it is: what it is called depends on whether the run has settled, in small and in full.
    let of_it = |s: &&FigureSensitivity| {
        s.test == figure.test.name && s.metric == figure.metric && s.settings == figure.settings
    };
    let found = sensitivity.figures.iter().find(of_it);
    // What changes its sign is in proportion to nothing; nor is a pure number, which a band in proportion would carry beyond what
    // a share or a correlation can be.
    let band = found.filter(|s| s.value * value > 0.0 && !figure.is_pure_number());
    Predicted {
        title: figure.title.clone(),
        test: figure.test.name.to_owned(),
        settings: figure.settings.clone(),
        metric: figure.metric.clone(),
        unit: unit.to_owned(),
        value,
        band: band.map(|s| [s.low, s.high].map(|end| value * end / s.value)),
        hangs_on: found.into_iter().flat_map(|s| &s.bars).take(NAMED).map(|bar| bar.key.clone()).collect(),
    }
}

/// Of every value of a drive's files and of what stands behind it: another reason for an estimate is another file. A number counts
/// as what it is, however it is written.
fn drive_digest(device: &str) -> Result<String, Diagnostic> {
    digest_of_rows(device, &|row, table| {
        let number = table.key(&row.key).and_then(|key| number_of(&row.value, &key.kind));
        number.map_or_else(|| row.value.clone(), |number| number.to_string())
    })
}

/// The same by the numbers as they are written, which predictions from before 2026-12 may have.
fn drive_digest_as_written(device: &str) -> Result<String, Diagnostic> {
    digest_of_rows(device, &|row, _| row.value.clone())
}

fn digest_of_rows(device: &str, value: &dyn Fn(&SpecRow, &KeyTable) -> String) -> Result<String, Diagnostic> {
    let recipe = ssdlab_catalog::device(device)?;
    let Parts::Ssd(drive) = &recipe.parts else { return Err(no_single_ssd(device)) };
    let line = |row: &SpecRow, table: &KeyTable| {
        let (kind, text) = match &row.origin {
            Origin::Source(text) => ("source", text.as_str()),
            Origin::Estimate(text) => ("estimate", text.as_str()),
            Origin::Unstated => ("", ""),
        };
        format!("{} = {} # {kind} {text}\n", row.key, value(row, table))
    };
    let of_drive = drive.rows.iter().map(|row| line(row, drive_keys()));
    let of_die = drive.die.rows.iter().map(|row| line(row, die_keys()));
    Ok(digest(of_drive.chain(of_die).collect::<String>().as_bytes()))
}

impl Prediction {
    fn digest(&self) -> String {
        let unsealed = Prediction { seal: String::new(), ..self.clone() };
        let text = serde_json::to_string(&unsealed).unwrap_or_else(|e| panic!("a prediction is plain data: {e}"));
        digest(text.as_bytes())
    }

    /// Writes the prediction into `folder` under the drive's name, with a number if the drive was predicted before by
    /// another file of it. What is there stays.
    ///
    /// # Errors
    /// If it is there already, or the file system refuses.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, PredictionError> {
        let before = read_predictions(folder)?;
        let slug = slug(&self.device);
        let path = folder.join(file_name(&slug, before.iter().filter(|p| self::slug(&p.device) == slug).count()));
        if before.iter().any(|p| p.drive_digest == self.drive_digest && p.quick == self.quick) {
            return Err(PredictionError::Exists(format!("a prediction of {} by this file", self.device)));
        }
        fs::create_dir_all(folder).map_err(|e| PredictionError::Io(format!("{}: {e}", folder.display())))?;
        place_new(&path, self.text().as_bytes())?;
        Ok(path)
    }

    /// What the file of it says.
    #[must_use]
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self).unwrap_or_else(|e| panic!("a prediction is plain data: {e}"));
        text + "\n"
    }

    /// Reads a prediction; `file` is its name in messages.
    ///
    /// # Errors
    /// If it is none, or was changed since it was made.
    pub fn parse(file: &str, text: &str) -> Result<Self, PredictionError> {
        let spoilt = |why: String| PredictionError::Spoilt { file: file.to_owned(), why };
        let prediction: Prediction =
            serde_json::from_str(text).map_err(|e| spoilt(format!("it is no prediction: {e}")))?;
        if ![SCHEMA, EARLIER_SCHEMA].contains(&prediction.schema.as_str()) {
            return Err(spoilt(format!("the schema is neither {SCHEMA} nor {EARLIER_SCHEMA}")));
        }
        if prediction.seal != prediction.digest() {
            return Err(spoilt("it was changed after it was made".to_owned()));
        }
        Ok(prediction)
    }
}

/// Writes a file that is whole as soon as it has its name, whenever the program is killed, and replaces none: of two programs that
/// predict a drive, one must not take the place of what the other wrote.
fn place_new(path: &Path, bytes: &[u8]) -> Result<(), PredictionError> {
    // Nobody takes it for a prediction: its name ends otherwise.
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".new-{}", std::process::id()));
    let beside = PathBuf::from(beside);
    write_whole(&beside, bytes).map_err(|e| PredictionError::Io(e.to_string()))?;
    let placed = fs::hard_link(&beside, path).or_else(|e| match e.kind() {
        ErrorKind::AlreadyExists => Err(e),
        // On a file system without links the name is taken first. Empty as it is, it would be taken for one that was spoilt.
        _ => fs::File::create_new(path)
            .and_then(|_| fs::rename(&beside, path).inspect_err(|_| drop(fs::remove_file(path)))),
    });
    let _ = fs::remove_file(&beside);
    placed.map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => PredictionError::Exists(path.display().to_string()),
        _ => PredictionError::Io(format!("{}: {e}", path.display())),
    })
}

/// A name that any file system takes.
fn slug(name: &str) -> String {
    let stem = Path::new(name).file_stem().and_then(|s| s.to_str()).unwrap_or(name);
    stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect()
}

/// What a drive's prediction is called that was predicted so many times before.
fn file_name(slug: &str, before: usize) -> String {
    if before == 0 { format!("{slug}.json") } else { format!("{slug}.{}.json", before + 1) }
}

/// The drive that a file's name stands for, and how many times it was predicted by then.
fn drive_and_number(path: &Path) -> (String, u32) {
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    match stem.rsplit_once('.').and_then(|(drive, n)| Some((drive.to_owned(), n.parse().ok()?))) {
        Some(numbered) => numbered,
        None => (stem, 1),
    }
}

/// Every prediction of a folder, by drive, each drive's in the order in which they were made. A folder that is not there
/// has none.
///
/// # Errors
/// If one is spoilt, was renamed, or is missing before one that was made after it, or if the file system refuses.
pub fn read_predictions(folder: &Path) -> Result<Vec<Prediction>, PredictionError> {
    let io = |e: std::io::Error| PredictionError::Io(format!("{}: {e}", folder.display()));
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).map_err(io)?.map(|entry| Ok(entry.map_err(io)?.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "json"));
    files.sort_by_cached_key(|path| drive_and_number(path));
    let mut all: Vec<Prediction> = Vec::new();
    for path in &files {
        let file = path.display().to_string();
        let text = input::read_text(path).map_err(|e| PredictionError::Io(format!("{file}: {e}")))?;
        let prediction = Prediction::parse(&file, &text)?;
        let drive = slug(&prediction.device);
        let due = file_name(&drive, all.iter().filter(|p| slug(&p.device) == drive).count());
        if path.file_name().is_none_or(|name| name != due.as_str()) {
            let why = format!("it is of {}: it was renamed, or {due} is missing", prediction.device);
            return Err(PredictionError::Spoilt { file, why });
        }
        all.push(prediction);
    }
    Ok(all)
}

/// Predictions beside the figures of `claims`, as a Markdown table: every predicted figure has a row for each figure or bound
/// that was published of it, met or missed, and one if none was. What was said not to be there has a row once it was published.
#[must_use]
pub fn beside_figures(predictions: &[Prediction], claims: &[Claim]) -> String {
    if predictions.is_empty() {
        return "No prediction has been made yet.\n".to_owned();
    }
    let mut text = String::from(
        "| drive | figure | predicted | band | published | off by | within the band | hangs on |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let claims = &by_slug(claims);
    // A figure that a drive is asked about twice is one figure.
    let (mut first, mut again) = (Judged::default(), Judged::default());
    let known = crate::figures::predicted();
    for (k, prediction) in predictions.iter().enumerate() {
        let name = name_among(predictions, k);
        let judged = if made_before(predictions, k) == 0 { &mut first } else { &mut again };
        for figure in &prediction.figures {
            let predicted = figure_text(figure.value, &figure.unit);
            let published = published(prediction, (&figure.test, &figure.settings, &figure.metric), claims);
            let mut rows: Vec<String> =
                published.iter().map(|published| judged.cells(prediction, Some(figure), published)).collect();
            if rows.is_empty() {
                rows.push("– | – | –".to_owned());
            }
            let number = |v: f64| figure_text(v, &figure.unit);
            let band =
                figure.band.map_or("–".to_owned(), |[low, high]| format!("{} to {}", number(low), number(high)));
            let hangs_on: Vec<String> = figure.hangs_on.iter().map(|key| format!("`{key}`")).collect();
            for row in rows {
                let hangs_on = hangs_on.join(", ");
                text.push_str(&format!("| {name} | {} | {predicted} | {band} | {row} | {hangs_on} |\n", figure.title));
            }
        }
        for title in prediction.without.keys() {
            let Some(figure) = known.iter().find(|figure| figure.title == *title) else { continue };
            for published in published(prediction, (figure.test.name, &figure.settings, &figure.metric), claims) {
                let row = judged.cells(prediction, None, &published);
                text.push_str(&format!("| {name} | {title} | none | – | {row} |  |\n"));
            }
        }
    }
    text.push_str(&beside_nothing(predictions, claims));
    text.push_str(&first.told(""));
    text.push_str(&again.told(" of a later prediction of the same drive"));
    text.push_str(&of_few_estimates(predictions));
    text
}

/// Whose bands are of some estimates only, or leave out some values, which the table does not show.
fn of_few_estimates(predictions: &[Prediction]) -> String {
    let mut drives: Vec<(&[String], Vec<String>)> = Vec::new();
    for (k, prediction) in predictions.iter().enumerate().filter(|(_, p)| !p.varied_keys.is_empty()) {
        let name = name_among(predictions, k);
        match drives.iter_mut().find(|(keys, _)| *keys == prediction.varied_keys.as_slice()) {
            Some((_, names)) => names.push(name),
            None => drives.push((&prediction.varied_keys, vec![name])),
        }
    }
    let told = |(keys, names): &(&[String], Vec<String>)| {
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        let (keys, names) = (keys.join(", "), names.join(", "));
        format!("\nBands of {names}: of {keys} alone; they are too narrow by what all other estimates would add.\n")
    };
    let mut text: String = drives.iter().map(told).collect();
    for (k, prediction) in predictions.iter().enumerate().filter(|(_, p)| !p.not_tried.is_empty()) {
        let name = name_among(predictions, k);
        let mut left_out: Vec<String> =
            prediction.not_tried.iter().map(|l| format!("`{}` = {}", l.key, l.value)).collect();
        left_out.sort();
        left_out.dedup();
        text.push_str(&format!("\nBands of {name}: without {}, which could not be tried.\n", left_out.join(", ")));
    }
    text
}

/// What was published of drives that were predicted, but says nothing of what was: it must not be taken for met.
fn beside_nothing(predictions: &[Prediction], claims: &[Claim]) -> String {
    let known = crate::figures::predicted();
    let has = |prediction: &Prediction, claim: &Claim| {
        let claim = std::slice::from_ref(claim);
        let figures = prediction.figures.iter().map(|f| (f.test.as_str(), &f.settings, f.metric.as_str()));
        let without = known.iter().filter(|f| prediction.without.contains_key(&f.title));
        let without = without.map(|f| (f.test.name, &f.settings, f.metric.as_str()));
        figures.chain(without).any(|figure| !published(prediction, figure, claim).is_empty())
    };
    let mut text = String::new();
    for (k, prediction) in predictions.iter().enumerate() {
        let drive = slug(&prediction.device);
        let of_it = || predictions.iter().filter(|p| slug(&p.device) == drive);
        // Once of each drive, whatever predictions there are of it.
        if predictions[..k].iter().any(|p| slug(&p.device) == drive) {
            continue;
        }
        let others: Vec<String> = claims
            .iter()
            .filter(|claim| is_figure(claim) && claim.concerns(&drive) && !of_it().any(|p| has(p, claim)))
            .map(|claim| format!("{}, {}", claim.quantity, claim.published))
            .collect();
        if !others.is_empty() {
            text.push_str(&format!("\nPublished of {drive}, but beside nothing predicted: {}.\n", others.join("; ")));
        }
    }
    text
}

/// How many predictions of the same drive were made before: of quick ones only quick ones count, and of whole ones whole ones, so
/// that who has tried it in small has not predicted it yet.
fn made_before(predictions: &[Prediction], k: usize) -> usize {
    let this = &predictions[k];
    let is_another_of_it = |p: &&Prediction| p.quick == this.quick && slug(&p.device) == slug(&this.device);
    predictions[..k].iter().filter(is_another_of_it).count()
}

/// A drive that was predicted before has a number behind its name.
fn name_among(predictions: &[Prediction], k: usize) -> String {
    let prediction = &predictions[k];
    let name = match made_before(predictions, k) {
        0 => prediction.device.clone(),
        before => format!("{} ({})", prediction.device, before + 1),
    };
    if prediction.quick { format!("{name}, quick") } else { name }
}

/// What was published of a predicted figure.
#[derive(PartialEq)]
enum Published {
    Value(f64, String),
    /// Lowest and highest value that make the published words true.
    Bounds([Option<f64>; 2], String),
}

/// How many published figures were met.
#[derive(Default)]
struct Judged {
    within: usize,
    outside: usize,
    no_band: usize,
    said_not_to_be: usize,
    bounds_met: usize,
    bounds_missed: usize,
}

impl Judged {
    /// A published figure, how far off the predicted one is (if it was not said not to be there), and whether the band has it;
    /// of bounds, whether the predicted figure lies within them.
    fn cells(&mut self, prediction: &Prediction, figure: Option<&Predicted>, published: &Published) -> String {
        let (value, unit) = match published {
            Published::Value(value, unit) => (*value, unit),
            Published::Bounds(bounds, unit) => return self.cells_of_bounds(prediction, figure, *bounds, unit),
        };
        let shown = figure_text(value, unit);
        let Some(figure) = figure else {
            if prediction.quick {
                return format!("{shown} | – | not judged");
            }
            self.said_not_to_be += 1;
            return format!("{shown} | – | **no**");
        };
        let off = format!("{:+.0} %", (figure.value / value - 1.0) * 100.0);
        // As everywhere, a shortened run meets and misses nothing.
        let word = match figure.band.filter(|_| !prediction.quick) {
            _ if prediction.quick => "not judged",
            None => {
                self.no_band += 1;
                "no band"
            }
            Some([low, high]) if (low..=high).contains(&value) => {
                self.within += 1;
                "yes"
            }
            Some(_) => {
                self.outside += 1;
                "**no**"
            }
        };
        format!("{shown} | {off} | {word}")
    }

    fn cells_of_bounds(
        &mut self,
        prediction: &Prediction,
        figure: Option<&Predicted>,
        [low, high]: [Option<f64>; 2],
        unit: &str,
    ) -> String {
        let text = |value: f64| figure_text(value, unit);
        let shown = match (low.map(text), high.map(text)) {
            (Some(low), Some(high)) if low == high => format!("exactly {low}"),
            (Some(low), Some(high)) => format!("{low} to {high}"),
            (Some(low), None) => format!("at least {low}"),
            (None, high) => format!("at most {}", high.unwrap_or_default()),
        };
        let is_met = |value: f64| low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high);
        let word = match figure {
            _ if prediction.quick => "not judged",
            Some(figure) if is_met(figure.value) => {
                self.bounds_met += 1;
                "bound met"
            }
            _ => {
                self.bounds_missed += 1;
                "**bound missed**"
            }
        };
        format!("{shown} | – | {word}")
    }

    /// `of`: what is said of the predictions behind each sentence's subject.
    fn told(&self, of: &str) -> String {
        let Judged { within, outside, no_band, said_not_to_be, bounds_met, bounds_missed } = *self;
        let bounds = match bounds_met + bounds_missed {
            0 => String::new(),
            all => format!("\nBounds met by the figures{of}: {bounds_met} of {all} that were published.\n"),
        };
        let all = within + outside + no_band + said_not_to_be;
        if all == 0 {
            return bounds;
        }
        let mut text = format!("\nWithin the band{of}: {within} of {all} published figures");
        if no_band > 0 {
            text.push_str(&format!("; {no_band} of them had no band"));
        }
        if said_not_to_be > 0 {
            text.push_str(&format!("; {said_not_to_be} of them, it was predicted, would not be there"));
        }
        text.push_str(".\n");
        text + &bounds
    }
}

/// A page with `table` between its markers; `None` of a page without them.
#[must_use]
pub fn with_table(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_at_checked(page.find(TABLE_BEGINS)?)?;
    let marker = rest.find("-->")? + "-->".len();
    let end = rest.find(TABLE_ENDS)?;
    Some(format!("{before}{}\n\n{table}\n{}", &rest[..marker], &rest[end..]))
}

/// Whether a test with these settings is the same run.
fn are_the_same(test: &str, a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> bool {
    let list = |settings: &BTreeMap<String, String>| settings.clone().into_iter().collect::<Vec<_>>();
    // A prediction of long ago may name a test that is no more.
    find_test(test).map_or(a == b, |test| test.is_one_run(&list(a), &list(b)))
}

/// The published figures that are measured by the same test in the same run: `figure` is test, settings and metric.
fn published(
    prediction: &Prediction,
    (test, settings, metric): (&str, &BTreeMap<String, String>, &str),
    claims: &[Claim],
) -> Vec<Published> {
    let drive = slug(&prediction.device);
    let mut all: Vec<Published> = Vec::new();
    for claim in claims {
        let (of, said) = match &claim.check {
            Check::Value(check) => (&check.metric, Published::Value(check.value, check.unit.clone())),
            Check::Range(check) => {
                (&check.metric, Published::Bounds([check.at_least, check.at_most], check.unit.clone()))
            }
            _ => continue,
        };
        if of != metric {
            continue;
        }
        let same_run = claims::needed(std::slice::from_ref(claim), &[&drive])
            .iter()
            .any(|run| run.test == test && are_the_same(test, &run.settings, settings));
        // Two who print the same say it once.
        if same_run && !all.contains(&said) {
            all.push(said);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sensitivity::Bar;

    fn prediction() -> Prediction {
        let figure = |title: &str, test: &str, metric: &str, value: f64, band: Option<[f64; 2]>| Predicted {
            title: title.to_owned(),
            test: test.to_owned(),
            settings: BTreeMap::new(),
            metric: metric.to_owned(),
            unit: "MB/s".to_owned(),
            value,
            band,
            hangs_on: vec!["gc.policy".to_owned()],
        };
        let mut made = Prediction {
            schema: SCHEMA.to_owned(),
            device: "bx200-480gb".to_owned(),
            version: "0.1.0".to_owned(),
            model: "0123456789abcdef".to_owned(),
            drive_digest: drive_digest("bx200-480gb").unwrap(),
            seed: 1,
            quick: false,
            bands_quick: true,
            varied_by_percent: 20.0,
            varied_keys: Vec::new(),
            figures: vec![
                figure("write rate at first", "slc-cache", "stage1_bandwidth", 480.0, Some([450.0, 500.0])),
                figure("write rate after that", "slc-cache", "stage2_bandwidth", 128.0, Some([100.0, 150.0])),
                figure("sequential read", "sequential-read", "bandwidth", 530.0, None),
            ],
            without: BTreeMap::new(),
            not_tried: Vec::new(),
            seal: String::new(),
        };
        made.seal = made.digest();
        made
    }

    #[test]
    fn a_changed_prediction_is_refused() {
        let text = serde_json::to_string_pretty(&prediction()).unwrap();
        assert_eq!(Prediction::parse("p.json", &text).unwrap(), prediction());
        // One that an earlier program made is read as well.
        let earlier = Prediction { schema: EARLIER_SCHEMA.to_owned(), ..prediction() };
        let earlier = Prediction { seal: earlier.digest(), ..earlier };
        assert_eq!(Prediction::parse("p.json", &serde_json::to_string(&earlier).unwrap()).unwrap(), earlier);
        let changed = text.replace("128.0", "64.0");
        assert_ne!(changed, text);
        let error = Prediction::parse("p.json", &changed).unwrap_err().to_string();
        assert_eq!(error, "p.json: it was changed after it was made");
        // What the digest does not know is not its word.
        let added = text.replacen("\"seed\"", "\"measured\": 64.0, \"seed\"", 1);
        let error = Prediction::parse("p.json", &added).unwrap_err().to_string();
        assert!(error.starts_with("p.json: it is no prediction: unknown field `measured`"), "{error}");
    }

    #[test]
    fn a_prediction_is_made_once() {
        let folder = std::env::temp_dir().join(format!("ssdlab-prediction-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let path = prediction().write(&folder).unwrap();
        assert!(path.ends_with("bx200-480gb.json"));
        assert!(matches!(prediction().write(&folder), Err(PredictionError::Exists(_))));
        assert_eq!(read_predictions(&folder).unwrap(), [prediction()]);
        let mut in_small = Prediction { quick: true, ..prediction() };
        in_small.seal = in_small.digest();
        assert!(in_small.write(&folder).unwrap().ends_with("bx200-480gb.2.json"));
        assert!(matches!(in_small.write(&folder), Err(PredictionError::Exists(_))));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_prediction_has_its_name_when_it_is_whole_and_replaces_none() {
        let folder = std::env::temp_dir().join(format!("ssdlab-prediction-placed-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.json");
        // What is written beside it cannot be: then its name is not taken either, not even for a moment.
        let beside = folder.join(format!("a.json.new-{}", std::process::id()));
        fs::create_dir(&beside).unwrap();
        fs::write(&path, "first").unwrap();
        assert!(matches!(place_new(&path, b"second"), Err(PredictionError::Io(_))));
        fs::remove_dir(&beside).unwrap();
        assert!(matches!(place_new(&path, b"second"), Err(PredictionError::Exists(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        fs::remove_file(&path).unwrap();
        place_new(&path, b"third").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "third");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left behind");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_better_drive_file_makes_a_prediction_of_its_own_that_stands_beside_the_first() {
        let folder = std::env::temp_dir().join(format!("ssdlab-prediction-again-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        prediction().write(&folder).unwrap();
        let mut better = Prediction { drive_digest: "another".to_owned(), ..prediction() };
        better.figures[0].value = 490.0;
        better.seal = better.digest();
        let path = better.write(&folder).unwrap();
        assert!(path.ends_with("bx200-480gb.2.json"));
        assert!(matches!(better.write(&folder), Err(PredictionError::Exists(_))));
        let both = read_predictions(&folder).unwrap();
        assert_eq!(both, [prediction(), better]);
        let table = beside_figures(&both, &[]);
        let rows: Vec<&str> = table.lines().filter(|l| l.contains("write rate at first")).collect();
        assert!(rows[0].starts_with("| bx200-480gb | write rate at first | 480 MB/s"), "{table}");
        assert!(rows[1].starts_with("| bx200-480gb (2) | write rate at first | 490 MB/s"), "{table}");
        let judged = beside_figures(&both, &claims::all());
        assert!(judged.contains("\nWithin the band: 1 of 2 published figures.\n"), "{judged}");
        let again = "\nWithin the band of a later prediction of the same drive: 1 of 2 published figures.\n";
        assert!(judged.contains(again), "{judged}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_quick_prediction_made_first_leaves_the_whole_one_the_first() {
        let quick = Prediction { quick: true, ..prediction() };
        let all = [quick, prediction()];
        let table = beside_figures(&all, &claims::all());
        assert!(table.contains("| bx200-480gb, quick | write rate at first |"), "{table}");
        assert!(table.contains("| bx200-480gb | write rate at first |") && !table.contains("(2)"), "{table}");
        assert!(table.contains("\nWithin the band: 1 of 2 published figures.\n"), "{table}");
        assert!(!table.contains("later prediction"), "{table}");
        // What stands beside nothing is told of once.
        let nothing = beside_figures(&all.map(|p| Prediction { figures: Vec::new(), ..p }), &claims::all());
        assert_eq!(nothing.matches("Published of bx200-480gb, but beside nothing predicted").count(), 1, "{nothing}");
    }

    #[test]
    fn a_pure_number_has_no_band_in_proportion() {
        let all = crate::figures::predicted();
        let found = |title: &str, unit: &str| {
            let figure = all.iter().find(|figure| figure.title == title).unwrap();
            let of_it = FigureSensitivity {
                title: title.to_owned(),
                test: figure.test.name.to_owned(),
                settings: figure.settings.clone(),
                metric: figure.metric.clone(),
                unit: unit.to_owned(),
                value: 0.5,
                low: 0.4,
                high: 0.75,
                bars: vec![Bar {
                    key: "gc.policy".into(),
                    value: "greedy".into(),
                    unit: String::new(),
                    sides: Vec::new(),
                }],
                varied: 1,
                seeds: 2,
            };
            let (figures, left_out) = (vec![of_it], Vec::new());
            let all = Sensitivity { device: String::new(), varied: Vec::new(), figures, left_out };
            predicted(figure, 0.8, unit, &all)
        };
        // In proportion it would go on to 1.2.
        let regular = found("how regular it is", "ratio");
        assert_eq!((regular.band, regular.hangs_on), (None, vec!["gc.policy".to_owned()]));
        let [low, high] = found("sequential read", "MB/s").band.unwrap();
        assert!((low - 0.64).abs() < 1e-9 && (high - 1.2).abs() < 1e-9);
    }

    #[test]
    fn a_drive_is_predicted_again_only_by_another_file_and_only_blind() {
        let may =
            |device: &str, before: &[Prediction]| may_be_predicted(device, false, before, &claims::all()).unwrap();
        // A first prediction, too, is none of a drive whose figures stand in the catalog.
        for known in ["bx200-480gb", "sm2256-500gb"] {
            assert!(matches!(may(known, &[]), Err(PredictionError::NotBlind(_))), "{known}");
        }
        let older = |device: &str, digest: &str| Prediction {
            device: device.to_owned(),
            drive_digest: digest.to_owned(),
            ..prediction()
        };
        assert!(may("bx200-240gb", &[]).is_ok());
        let same = older("bx200-240gb", &drive_digest("bx200-240gb").unwrap());
        assert!(matches!(may("bx200-240gb", &[same]), Err(PredictionError::Exists(_))));
        assert!(may("bx200-240gb", &[older("bx200-240gb", "another")]).is_ok());
        // Who has tried it in small may make the prediction still.
        let in_small = Prediction { quick: true, ..older("bx200-240gb", &drive_digest("bx200-240gb").unwrap()) };
        assert!(may("bx200-240gb", &[in_small]).is_ok());
        let known = may("bx200-480gb", &[older("bx200-480gb", "another")]);
        assert!(matches!(known, Err(PredictionError::NotBlind(_))));
    }

    #[test]
    fn the_same_file_is_the_same_drive_by_whatever_path() {
        let folder = std::env::temp_dir().join(format!("ssdlab-prediction-path-{}", std::process::id()));
        fs::create_dir_all(folder.join("sub")).unwrap();
        let text = "base = \"bx200-240gb\"\ndescription = \"mine\" # none\n";
        let (first, second) = (folder.join("mine.toml"), folder.join("sub/other.toml"));
        fs::write(&first, text).unwrap();
        fs::write(&second, text).unwrap();
        let [first, second] = [first, second].map(|path| path.display().to_string());
        let mut made =
            Prediction { device: first.clone(), drive_digest: drive_digest(&first).unwrap(), ..prediction() };
        made.seal = made.digest();
        assert!(made.write(&folder.join("p")).unwrap().ends_with("mine.json"));
        for device in [&first, &second] {
            let again = may_be_predicted(device, false, std::slice::from_ref(&made), &[]).unwrap();
            assert!(matches!(again, Err(PredictionError::Exists(_))), "{device}");
        }
        // Another file of this name makes the second prediction of the drive, and finds its place after the runs.
        let device = folder.join("sub/mine.toml").display().to_string();
        let better = Prediction { device, drive_digest: "another".to_owned(), ..made };
        let better = Prediction { seal: better.digest(), ..better };
        assert!(better.write(&folder.join("p")).unwrap().ends_with("mine.2.json"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_prediction_that_was_renamed_or_whose_first_is_missing_is_told_of() {
        let folder = std::env::temp_dir().join(format!("ssdlab-prediction-renamed-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let path = prediction().write(&folder).unwrap();
        for name in ["bx200-480gb.2.json", "other.json"] {
            fs::rename(&path, folder.join(name)).unwrap();
            let error = read_predictions(&folder).unwrap_err().to_string();
            let told = "it is of bx200-480gb: it was renamed, or bx200-480gb.json is missing";
            assert!(error.ends_with(told), "{error}");
            fs::rename(folder.join(name), &path).unwrap();
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn hits_misses_and_figures_without_a_publication_all_have_a_row() {
        let table = beside_figures(&[prediction()], &claims::all());
        let row = |title: &str| table.lines().find(|l| l.contains(title)).unwrap_or_else(|| panic!("{table}"));
        assert!(row("write rate at first").contains("| -2 % | yes |"), "{table}");
        assert!(row("write rate after that").contains("| +100 % | **no** |"), "{table}");
        assert!(row("sequential read").contains("| – | – | – |"), "{table}");
        let bands = "Bands of bx200-480gb: of `gc.` alone; they are too narrow by what all other estimates would add.";
        assert!(!table.contains("too narrow"), "{table}");
        let few = Prediction { varied_keys: vec!["gc.".to_owned()], ..prediction() };
        assert!(beside_figures(&[few], &[]).contains(bands));
        let left_out = LeftOut { key: "gc.policy".into(), value: "fifo".into(), reason: "no such drive".into() };
        let some = Prediction { not_tried: vec![left_out], ..prediction() };
        let told = "Bands of bx200-480gb: without `gc.policy` = fifo, which could not be tried.";
        assert!(beside_figures(&[some], &[]).contains(told));
        assert!(table.ends_with("Within the band: 1 of 2 published figures.\n"), "{table}");
    }

    #[test]
    fn no_published_figure_goes_without_a_row() {
        let claims = claims::all();
        // Another review of the same, a figure that has no band, and one that was said not to be there.
        let at_first = claims.iter().position(|claim| {
            claim.concerns("bx200-480gb")
                && matches!(&claim.check, Check::Value(c) if c.test == "slc-cache" && c.metric == "stage1_bandwidth")
        });
        let mut other = claims[at_first.unwrap()].clone();
        let Check::Value(check) = &mut other.check else { unreachable!("it is a value") };
        check.value = 400.0;
        let mut claims = claims;
        claims.push(other);
        let mut made = prediction();
        made.figures[1].band = None;
        let table = beside_figures(std::slice::from_ref(&made), &claims);
        let rows: Vec<&str> = table.lines().filter(|l| l.contains("write rate at first")).collect();
        assert!(rows.len() == 2 && rows[0].contains("| yes |") && rows[1].contains("| 400 MB/s | +20 % | **no** |"));
        assert!(table.ends_with("Within the band: 1 of 3 published figures; 1 of them had no band.\n"), "{table}");

        made.figures.remove(1);
        made.without.insert("write rate after that".to_owned(), "the drive has none".to_owned());
        let table = beside_figures(std::slice::from_ref(&made), &claims);
        assert!(table.contains("| write rate after that | none | – | 64 MB/s | – | **no** |"), "{table}");
        assert!(table.contains("1 of 3 published figures; 1 of them, it was predicted, would not be there"), "{table}");

        made.without.clear();
        let table = beside_figures(&[made], &claims);
        let told = "Published of bx200-480gb, but beside nothing predicted: ";
        let line = table.lines().find(|line| line.starts_with(told)).unwrap_or_else(|| panic!("{table}"));
        assert!(line.contains("64 MB/s") && !line.contains("490"), "{line}");

        let quick = Prediction { quick: true, ..prediction() };
        let table = beside_figures(&[quick], &claims);
        assert!(table.contains("| 64 MB/s | +100 % | not judged |") && !table.contains("Within"), "{table}");
    }

    #[test]
    fn a_published_bound_of_a_predicted_figure_is_judged_and_counted_apart() {
        let bounds = |bounds: &str| {
            let file = format!(
                "[[claim]]\nid = \"mine\"\ndevices = [\"bx200-480gb\"]\nquantity = \"sequential read\"\npublished = \"p\"\n\
                 source = \"s\"\ncheck.range = {{ test = \"sequential-read\", metric = \"bandwidth\", unit = \"MB/s\", {bounds} }}"
            );
            claims::parse("f.toml", &file).unwrap()
        };
        let table = |claims: &[Claim]| beside_figures(&[prediction()], claims);
        for (bound, row) in [
            ("at_least = 500.0", "| at least 500 MB/s | – | bound met |"),
            ("at_most = 500.0", "| at most 500 MB/s | – | **bound missed** |"),
            ("at_least = 500.0, at_most = 540.0", "| 500 MB/s to 540 MB/s | – | bound met |"),
        ] {
            let table = table(&bounds(bound));
            assert!(table.contains(row) && !table.contains("beside nothing predicted"), "{table}");
            assert!(!table.contains("Within the band"), "{table}");
        }
        let both = [bounds("at_least = 500.0"), bounds("at_most = 500.0")].concat();
        let table = table(&both);
        assert!(table.ends_with("\nBounds met by the figures: 1 of 2 that were published.\n"), "{table}");
        let quick = beside_figures(&[Prediction { quick: true, ..prediction() }], &both);
        assert!(quick.contains("| at least 500 MB/s | – | not judged |") && !quick.contains("Bounds met"), "{quick}");
        // Of what was said not to be there, a bound was published.
        let mut without = prediction();
        let gone = without.figures.pop().unwrap();
        without.without.insert(gone.title, "the drive has none".to_owned());
        let table = beside_figures(&[without], &both);
        assert!(table.contains("| none | – | at least 500 MB/s | – | **bound missed** |"), "{table}");
    }

    #[test]
    fn a_figure_of_a_file_stands_beside_its_prediction_and_forbids_another() {
        let figure = claims::all().into_iter().find(|claim| {
            claim.concerns("bx200-480gb")
                && matches!(&claim.check, Check::Value(c) if c.test == "slc-cache" && c.metric == "stage1_bandwidth")
        });
        let of_file = [figure.unwrap().renamed(|_| "files/mine.toml".to_owned())];
        let made = Prediction { device: "./files/mine.toml".to_owned(), ..prediction() };
        let table = beside_figures(&[made], &of_file);
        assert!(table.contains("| 490 MB/s | -2 % | yes |"), "{table}");

        let folder = std::env::temp_dir().join(format!("ssdlab-prediction-own-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("mine.toml");
        fs::write(&path, "base = \"bx200-240gb\"\ndescription = \"mine\" # none\n").unwrap();
        let may = may_be_predicted(&path.display().to_string(), false, &[], &of_file).unwrap();
        assert!(matches!(may, Err(PredictionError::NotBlind(_))));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_a_figure_leaves_to_the_test_does_not_keep_it_from_its_prediction() {
        let of_value = |claim: &Claim| claim.concerns("bx200-480gb") && matches!(&claim.check, Check::Value(_));
        let mut own = claims::all().into_iter().find(of_value).expect("it is in the catalog");
        let Check::Value(check) = &mut own.check else { unreachable!("it is a value") };
        (check.test, check.metric, check.unit) = ("random-read".into(), "iops".into(), "IOPS".into());
        check.value = 90_000.0;
        check.params.clear();
        let claims = [own];
        // 32 at a time are what the test does without being told.
        let mut made = prediction();
        let at_depth = |depth: &str| BTreeMap::from([("queue_depth".to_owned(), depth.to_owned())]);
        (made.figures[0].test, made.figures[0].metric) = ("random-read".to_owned(), "iops".to_owned());
        made.figures[0].settings = at_depth("32");
        let table = beside_figures(std::slice::from_ref(&made), &claims);
        assert!(table.contains("90,000 IOPS") && !table.contains("beside nothing predicted"), "{table}");
        made.figures[0].settings = at_depth("1");
        let table = beside_figures(&[made], &claims);
        assert!(table.contains("beside nothing predicted"), "{table}");
    }

    #[test]
    fn a_number_written_otherwise_is_no_other_drive_file() {
        let folder = std::env::temp_dir().join(format!("ssdlab-prediction-number-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = |value: &str| {
            let path = folder.join("mine.toml");
            let text = format!("base = \"bx200-240gb\"\n[controller]\nread_unit_us = {value} # estimate: mine\n");
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let of = |value: &str| drive_digest(&file(value)).unwrap();
        assert_eq!([of("6.0"), of("6.00"), of("0x6")], [of("6"), of("6"), of("6")]);
        assert_ne!(of("6.5"), of("6"));
        // One that was made when the spelling counted is still of its file.
        let older = Prediction { drive_digest: drive_digest_as_written(&file("6")).unwrap(), ..prediction() };
        assert_ne!(older.drive_digest, of("6"));
        let again = may_be_predicted(&file("6"), false, std::slice::from_ref(&older), &[]).unwrap();
        assert!(matches!(again, Err(PredictionError::Exists(_))));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn another_reason_for_an_estimate_is_another_drive_file() {
        assert_ne!(drive_digest("bx200-480gb").unwrap(), drive_digest("bx200-240gb").unwrap());
    }
}
