//! A folder of predictions: what their files are called, how one comes to be there, and what is wrong with those that were moved.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ssdlab_core::input;
use ssdlab_sweep::write_whole;

use super::{Prediction, PredictionError};

impl Prediction {
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

/// Writes a file that is whole as soon as it has its name, whenever the program is killed, and replaces none: of two programs that
/// predict a drive, one must not take the place of what the other wrote.
pub(super) fn place_new(path: &Path, bytes: &[u8]) -> Result<(), PredictionError> {
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
pub(super) fn slug(name: &str) -> String {
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
