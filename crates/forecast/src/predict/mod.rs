//! Predictions: what a drive file says of figures that nobody has looked at, kept for later.

mod beside;
mod folder;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use ssdlab_catalog::claims::{Check, Claim};
use ssdlab_catalog::{Diagnostic, Origin, Parts, SpecRow};
use ssdlab_keys::KeyTable;
use ssdlab_nand::die_keys;
use ssdlab_ssd::drive_keys;
use ssdlab_sweep::{FINGERPRINT, digest};

use crate::estimates::number_of;
use crate::figures::Figure;
use crate::runs::{Bench, NoResult, Share, tests_of};
use crate::sensitivity::{
    FigureSensitivity, LeftOut, Sensitivity, as_it_is, most_tests, no_single_ssd, sensitivity_after, varied,
};
pub use beside::{beside_figures, with_table};
use folder::slug;
pub use folder::{check_folder, read_predictions};

const SCHEMA: &str = "ssdlab.prediction/2";
/// Of those that gave pure numbers a band as well. They say and mean the same otherwise.
const EARLIER_SCHEMA: &str = "ssdlab.prediction/1";
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
