//! Predictions: what a drive file says of figures that nobody has looked at, kept for later.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use ssdlab_catalog::claims::{self, Check, Claim};
use ssdlab_catalog::{Diagnostic, Origin, SpecRow, resolve};
use ssdlab_core::input;
use ssdlab_report::figure_text;
use ssdlab_sweep::{FINGERPRINT, digest, write_whole};

use crate::figures::Figure;
use crate::runs::{Bench, Stopped};
use crate::sensitivity::{FigureSensitivity, Sensitivity, as_it_is, sensitivity, varied};

const SCHEMA: &str = "ssdlab.prediction/1";
/// Around the table of a page.
const TABLE_BEGINS: &str = "<!-- What `ssdlab predict` prints";
const TABLE_ENDS: &str = "<!-- End of what `make predictions` writes. -->";
/// Estimates that a prediction names as what it hangs on.
const NAMED: usize = 3;

/// What was predicted of a drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Digest of all this.
    pub seal: String,
}

/// A predicted figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    pub title: String,
    pub test: String,
    pub settings: BTreeMap<String, String>,
    pub metric: String,
    pub unit: String,
    pub value: f64,
    /// The lowest and the highest value that estimates and seeds give; absent where the drive in small does not have the
    /// figure.
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
    /// Figures of the drive are in the catalog.
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
                write!(
                    f,
                    "published figures of {device} are in the catalog: another prediction would not be made blind"
                )
            }
            PredictionError::Spoilt { file, why } => write!(f, "{file}: {why}"),
        }
    }
}

/// Whether a drive may be predicted beside what was predicted `before`: the first time, and again when its file has become
/// another, as long as none of its figures is among `claims`.
///
/// # Errors
/// Outer: if there is no such drive. Inner: why it may not.
pub fn may_be_predicted(
    device: &str,
    before: &[Prediction],
    claims: &[Claim],
) -> Result<Result<(), PredictionError>, Diagnostic> {
    let digest = drive_digest(device)?;
    let mut of_it = before.iter().filter(|p| p.device == device).peekable();
    if of_it.peek().is_none() {
        return Ok(Ok(()));
    }
    if of_it.any(|p| p.drive_digest == digest) {
        return Ok(Err(PredictionError::Exists(format!("the prediction of {device}"))));
    }
    let is_measured =
        |claim: &Claim| matches!(claim.check, Check::Value(_)) && claim.devices.iter().any(|d| d == device);
    Ok(if claims.iter().any(is_measured) { Err(PredictionError::NotBlind(device.to_owned())) } else { Ok(()) })
}

/// Predicts `figures` of a drive of the catalog: their values on the drive as `bench` has it, their bands from runs on
/// the drive as `bands` has it, with estimates varied whose key begins with one of `keys` (all, if there is none).
///
/// # Errors
/// Outer: if there is no such drive. Inner: if the run was stopped.
pub fn predict(
    device: &str,
    figures: &[Figure],
    percent: f64,
    keys: &[String],
    bench: &Bench<'_>,
    bands: &Bench<'_>,
) -> Result<Result<Prediction, Stopped>, Diagnostic> {
    let drive_digest = drive_digest(device)?;
    // Said now, and not after the runs.
    varied(device, figures, percent, keys)?;
    let Ok(as_it_is) = as_it_is(device, figures, bench)? else { return Ok(Err(Stopped)) };
    let had: Vec<Figure> = as_it_is.values.iter().map(|(figure, _, _)| figure.clone()).collect();
    let Ok(sensitivity) = sensitivity(device, &had, percent, keys, bands)? else { return Ok(Err(Stopped)) };
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
        seal: String::new(),
    };
    prediction.seal = prediction.digest();
    Ok(Ok(prediction))
}

/// A figure with the band that the sensitivities give, in proportion.
fn predicted(figure: &Figure, value: f64, unit: &str, sensitivity: &Sensitivity) -> Predicted {
    let of_it = |s: &&FigureSensitivity| s.title == figure.title && s.value != 0.0;
    let band = sensitivity.figures.iter().find(of_it);
    Predicted {
        title: figure.title.clone(),
        test: figure.test.name.to_owned(),
        settings: figure.settings.clone(),
        metric: figure.metric.clone(),
        unit: unit.to_owned(),
        value,
        band: band.map(|s| [value * s.low / s.value, value * s.high / s.value]),
        hangs_on: band.into_iter().flat_map(|s| &s.bars).take(NAMED).map(|bar| bar.key.clone()).collect(),
    }
}

/// Of every value of a drive's files and of what stands behind it: another reason for an estimate is another file.
fn drive_digest(device: &str) -> Result<String, Diagnostic> {
    let drive = resolve(device)?;
    let line = |row: &SpecRow| {
        let (kind, text) = match &row.origin {
            Origin::Source(text) => ("source", text.as_str()),
            Origin::Estimate(text) => ("estimate", text.as_str()),
            Origin::Unstated => ("", ""),
        };
        format!("{} = {} # {kind} {text}\n", row.key, row.value)
    };
    let lines: String = drive.rows.iter().chain(&drive.die.rows).map(line).collect();
    Ok(digest(lines.as_bytes()))
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
        let of_it = || before.iter().filter(|p| p.device == self.device);
        let slug = slug(&self.device);
        let path = folder.join(match of_it().count() {
            0 => format!("{slug}.json"),
            others => format!("{slug}.{}.json", others + 1),
        });
        if path.exists() || of_it().any(|p| p.drive_digest == self.drive_digest) {
            return Err(PredictionError::Exists(path.display().to_string()));
        }
        fs::create_dir_all(folder).map_err(|e| PredictionError::Io(format!("{}: {e}", folder.display())))?;
        let text = serde_json::to_string_pretty(self).map_err(|e| PredictionError::Io(e.to_string()))?;
        write_whole(&path, format!("{text}\n").as_bytes()).map_err(|e| PredictionError::Io(e.to_string()))?;
        Ok(path)
    }

    /// Reads a prediction; `file` is its name in messages.
    ///
    /// # Errors
    /// If it is none, or was changed since it was made.
    pub fn parse(file: &str, text: &str) -> Result<Self, PredictionError> {
        let spoilt = |why: String| PredictionError::Spoilt { file: file.to_owned(), why };
        let prediction: Prediction = serde_json::from_str(text).map_err(|e| spoilt(e.to_string()))?;
        if prediction.schema != SCHEMA {
            return Err(spoilt(format!("the schema is not {SCHEMA}")));
        }
        if prediction.seal != prediction.digest() {
            return Err(spoilt("it was changed after it was made".to_owned()));
        }
        Ok(prediction)
    }
}

/// A name that any file system takes.
fn slug(name: &str) -> String {
    let stem = Path::new(name).file_stem().and_then(|s| s.to_str()).unwrap_or(name);
    stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect()
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
/// If one is spoilt, or the file system refuses.
pub fn read_predictions(folder: &Path) -> Result<Vec<Prediction>, PredictionError> {
    let io = |e: std::io::Error| PredictionError::Io(format!("{}: {e}", folder.display()));
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).map_err(io)?.map(|entry| Ok(entry.map_err(io)?.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "json"));
    files.sort_by_cached_key(|path| drive_and_number(path));
    files
        .iter()
        .map(|path| {
            let text = input::read_text(path).map_err(|e| PredictionError::Io(format!("{}: {e}", path.display())))?;
            Prediction::parse(&path.display().to_string(), &text)
        })
        .collect()
}

/// Predictions beside the figures of `claims`, as a Markdown table: every predicted figure has a row, whether or not
/// one was published, met or missed.
#[must_use]
pub fn beside_figures(predictions: &[Prediction], claims: &[Claim]) -> String {
    if predictions.is_empty() {
        return "No prediction has been made yet.\n".to_owned();
    }
    let mut text = String::from(
        "| drive | figure | predicted | band | published | off by | within the band | hangs on |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let (mut within, mut all) = (0, 0);
    for (k, prediction) in predictions.iter().enumerate() {
        let name = match predictions[..k].iter().filter(|p| p.device == prediction.device).count() {
            0 => prediction.device.clone(),
            before => format!("{} ({})", prediction.device, before + 1),
        };
        // As everywhere, a shortened run meets and misses nothing.
        let name = if prediction.quick { format!("{name}, quick") } else { name };
        for figure in &prediction.figures {
            let number = |v: f64| figure_text(v, &figure.unit);
            let published = published(prediction, figure, claims).filter(|_| !prediction.quick);
            let (shown, off, inside) = match published {
                None => ("–".to_owned(), "–".to_owned(), "–"),
                Some(value) => {
                    let inside = figure.band.map(|[low, high]| (low..=high).contains(&value));
                    all += usize::from(inside.is_some());
                    within += usize::from(inside == Some(true));
                    let word = match inside {
                        None => "no band",
                        Some(true) => "yes",
                        Some(false) => "**no**",
                    };
                    (number(value), format!("{:+.0} %", (figure.value / value - 1.0) * 100.0), word)
                }
            };
            let band =
                figure.band.map_or("–".to_owned(), |[low, high]| format!("{} to {}", number(low), number(high)));
            let hangs_on: Vec<String> = figure.hangs_on.iter().map(|key| format!("`{key}`")).collect();
            text.push_str(&format!(
                "| {name} | {} | {} | {band} | {shown} | {off} | {inside} | {} |\n",
                figure.title,
                number(figure.value),
                hangs_on.join(", ")
            ));
        }
    }
    if all > 0 {
        text.push_str(&format!("\nWithin the band: {within} of {all} published figures.\n"));
    }
    text
}

/// A page with `table` between its markers; `None` of a page without them.
#[must_use]
pub fn with_table(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_at_checked(page.find(TABLE_BEGINS)?)?;
    let marker = rest.find("-->")? + "-->".len();
    let end = rest.find(TABLE_ENDS)?;
    Some(format!("{before}{}\n\n{table}\n{}", &rest[..marker], &rest[end..]))
}

/// The published figure that is measured by the same test with the same settings.
fn published(prediction: &Prediction, figure: &Predicted, claims: &[Claim]) -> Option<f64> {
    claims.iter().find_map(|claim| {
        let Check::Value(check) = &claim.check else { return None };
        let same_run = claims::needed(std::slice::from_ref(claim), &[&prediction.device])
            .iter()
            .any(|run| run.test == figure.test && run.settings == figure.settings);
        (same_run && check.metric == figure.metric).then_some(check.value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            seal: String::new(),
        };
        made.seal = made.digest();
        made
    }

    #[test]
    fn a_changed_prediction_is_refused() {
        let text = serde_json::to_string_pretty(&prediction()).unwrap();
        assert_eq!(Prediction::parse("p.json", &text).unwrap(), prediction());
        let changed = text.replace("128.0", "64.0");
        assert_ne!(changed, text);
        let error = Prediction::parse("p.json", &changed).unwrap_err().to_string();
        assert_eq!(error, "p.json: it was changed after it was made");
    }

    #[test]
    fn a_prediction_is_made_once() {
        let folder = std::env::temp_dir().join(format!("ssdlab-prediction-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let path = prediction().write(&folder).unwrap();
        assert!(path.ends_with("bx200-480gb.json"));
        assert!(matches!(prediction().write(&folder), Err(PredictionError::Exists(_))));
        assert_eq!(read_predictions(&folder).unwrap(), [prediction()]);
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
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_drive_is_predicted_again_only_by_another_file_and_only_blind() {
        let may = |device: &str, before: &[Prediction]| may_be_predicted(device, before, &claims::all()).unwrap();
        let older = |device: &str, digest: &str| Prediction {
            device: device.to_owned(),
            drive_digest: digest.to_owned(),
            ..prediction()
        };
        assert!(may("bx200-240gb", &[]).is_ok());
        let same = older("bx200-240gb", &drive_digest("bx200-240gb").unwrap());
        assert!(matches!(may("bx200-240gb", &[same]), Err(PredictionError::Exists(_))));
        assert!(may("bx200-240gb", &[older("bx200-240gb", "another")]).is_ok());
        let known = may("bx200-480gb", &[older("bx200-480gb", "another")]);
        assert!(matches!(known, Err(PredictionError::NotBlind(_))));
    }

    #[test]
    fn hits_misses_and_figures_without_a_publication_all_have_a_row() {
        let table = beside_figures(&[prediction()], &claims::all());
        let row = |title: &str| table.lines().find(|l| l.contains(title)).unwrap_or_else(|| panic!("{table}"));
        assert!(row("write rate at first").contains("| -2 % | yes |"), "{table}");
        assert!(row("write rate after that").contains("| +100 % | **no** |"), "{table}");
        assert!(row("sequential read").contains("| – | – | – |"), "{table}");
        assert!(table.ends_with("Within the band: 1 of 2 published figures.\n"), "{table}");
    }

    #[test]
    fn another_reason_for_an_estimate_is_another_drive_file() {
        assert_ne!(drive_digest("bx200-480gb").unwrap(), drive_digest("bx200-240gb").unwrap());
    }
}
