//! Writing a review so that nobody ever sees half of it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::compare::{self, TestGroup, Timeline};
use crate::csv::{chart_csv, time_csv};
use crate::json::results_json;
use crate::png::PngPainter;
use crate::review::Review;
use crate::svg::{self, Layout, Skin};
use crate::timeline::timeline_svg;
use crate::{ReportError, html};

/// What a review consists of on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The folder.
    pub dir: PathBuf,
    /// The page.
    pub index: PathBuf,
    /// The figures.
    pub results: PathBuf,
    /// Every file, relative to `dir`, in the order written.
    pub files: Vec<PathBuf>,
}

/// Writes `index.html`, `results.json`, `series/` and `charts/` into `dir`.
///
/// Everything is first written beside its destination, and moved there when it is complete; the page comes last. After that
/// all of it is there even if the machine loses power.
/// A folder that exists keeps what else is in it; files of the same names are replaced, no others are touched.
///
/// # Errors
/// If the review does not pass [`Review::validate`], or the file system refuses; nothing has been moved then, or,
/// if it refuses in the middle of moving, the error names the file.
pub fn write_review(dir: &Path, review: &Review) -> Result<Written, ReportError> {
    // What can be wrong with the folder is found before the work is done.
    let staging = Staging::beside(dir)?;
    let mut files = Vec::new();
    for (path, bytes) in contents(review)? {
        staging.write(&path, &bytes)?;
        files.push(path);
    }
    staging.publish(dir, &files)?;
    Ok(Written { index: dir.join("index.html"), results: dir.join("results.json"), dir: dir.to_owned(), files })
}

/// Every file of a review with its bytes; the page is the last.
fn contents(review: &Review) -> Result<Vec<(PathBuf, Vec<u8>)>, ReportError> {
    review.validate()?;
    let groups = compare::groups(review);
    let mut out: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for group in &groups {
        series(group, &mut out);
    }
    if groups.iter().any(|g| g.time.is_some()) {
        out.push(("series/time.csv".into(), time_csv(review).into_bytes()));
    }
    let painter = PngPainter::new();
    for figure in groups.iter().flat_map(TestGroup::figures) {
        let svg = svg::draw(figure, Layout::File, Skin::File);
        let png = painter.paint(&figure.stem, &svg)?;
        out.push((format!("charts/{}.svg", figure.stem).into(), svg.into_bytes()));
        out.push((format!("charts/{}.png", figure.stem).into(), png));
    }
    for group in &groups {
        for Timeline { device, seen, stem } in &group.timelines {
            let svg = timeline_svg(seen, device);
            let png = painter.paint(stem, &svg)?;
            out.push((format!("charts/{stem}.svg").into(), svg.into_bytes()));
            out.push((format!("charts/{stem}.png").into(), png));
        }
    }
    out.push(("results.json".into(), results_json(review)?.into_bytes()));
    out.push(("index.html".into(), html::page(review, &groups).into_bytes()));
    // Only one of two could be moved to its place, and what comes after it, the page with it, would not be.
    let paths: BTreeSet<&PathBuf> = out.iter().map(|(path, _)| path).collect();
    debug_assert_eq!(paths.len(), out.len(), "two files of a review have the same name");
    Ok(out)
}

fn series(group: &TestGroup, out: &mut Vec<(PathBuf, Vec<u8>)>) {
    for panel in &group.panels {
        let charts = group.outcomes.iter().filter_map(|outcome| {
            let chart = outcome.charts.iter().find(|c| c.id == panel.chart_id)?;
            Some(compare::of_drive(outcome, chart))
        });
        for (path, chart) in panel.csv.iter().zip(charts) {
            out.push((path.into(), chart_csv(&chart).into_bytes()));
        }
    }
}

/// What the name of a folder begins with in which results for `dir` grow; `.partial-` and a number follow. Short where that of `dir` is as
/// long as names may be.
#[must_use]
pub fn unfinished_name(dir: &Path) -> String {
    let name = dir.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    format!(".{}", name.chars().take(50).collect::<String>())
}

/// A folder of our own in which a review grows. Removed when dropped.
struct Staging {
    path: PathBuf,
}

impl Staging {
    /// Inside `dir` if that exists (its parent may be read-only, or another file system), else beside it.
    fn beside(dir: &Path) -> Result<Staging, ReportError> {
        let home = match fs::metadata(dir) {
            Ok(meta) if !meta.is_dir() => {
                return Err(ReportError::NotAFolder { path: dir.to_owned() });
            }
            Ok(_) => dir.to_owned(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let parent = match dir.parent() {
                    Some(p) if !p.as_os_str().is_empty() => p.to_owned(),
                    _ => PathBuf::from("."),
                };
                fs::create_dir_all(&parent).map_err(|e| refused("create the folder", &parent, e))?;
                parent
            }
            Err(e) => return Err(refused("look into", dir, e)),
        };
        let name = unfinished_name(dir);
        for n in 1..1000 {
            let path = home.join(format!("{name}.partial-{n}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Staging { path }),
                // Another run is at work, or was killed: its files are not ours.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(refused("write into", &home, e)),
            }
        }
        let full =
            io::Error::new(io::ErrorKind::AlreadyExists, "a thousand unfinished reviews (.*.partial-*) lie there");
        Err(refused("write into", &home, full))
    }

    fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), ReportError> {
        let path = self.path.join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|e| refused("create the folder", parent, e))?;
        }
        let write = || {
            let mut out = fs::File::create(&path)?;
            out.write_all(bytes)?;
            out.sync_all()
        };
        write().map_err(|e| refused("write", &path, e))
    }

    /// Moves everything to `dir`: in one step if there is no such folder yet, else file by file.
    fn publish(self, dir: &Path, files: &[PathBuf]) -> Result<(), ReportError> {
        if !dir.exists() {
            folders_of(files).for_each(|folder| keep_names(&self.path.join(folder)));
            fs::rename(&self.path, dir).map_err(|e| refused("create the folder", dir, e))?;
            dir.parent().into_iter().for_each(keep_names);
            return Ok(());
        }
        for file in files {
            let to = dir.join(file);
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(|e| refused("create the folder", parent, e))?;
            }
            fs::rename(self.path.join(file), &to).map_err(|e| refused("replace", &to, e))?;
        }
        folders_of(files).for_each(|folder| keep_names(&dir.join(folder)));
        Ok(())
    }
}

/// The folders that these files stand in, and those around them, each once.
fn folders_of(files: &[PathBuf]) -> impl Iterator<Item = &Path> {
    files.iter().flat_map(|file| file.ancestors().skip(1)).collect::<BTreeSet<_>>().into_iter()
}

/// After this the names in a folder are there even if the machine loses power; without, only their files' bytes are.
fn keep_names(folder: &Path) {
    // Not every system can be asked for that, and none has lost anything by then.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
}

impl Drop for Staging {
    fn drop(&mut self) {
        // After a move there is nothing left; after an error, what is left is ours alone. A failure here has no
        // reader: the error that led here is already on its way.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn refused(action: &'static str, path: &Path, source: io::Error) -> ReportError {
    let advice = match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a folder that you may write to, or change its permissions"
        }
        io::ErrorKind::StorageFull => "free some space, or choose a folder on another disk",
        io::ErrorKind::NotADirectory => "a part of this path is a file: choose another folder",
        _ => "choose another folder",
    };
    ReportError::Io { action, path: path.to_owned(), advice, source }
}
