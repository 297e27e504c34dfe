//! The file of `--timeline`: what the parts of a device did while its slowest request waited.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use ssdlab_bench::host::SlowestSeen;
use ssdlab_report::{PICTURE_BEGINS, TIMELINE_BEGINS, slowest_text, timeline_json, timeline_svg};

use crate::apart::try_to_write;
use crate::failure::Failure;

/// Where a timeline is written in the end.
pub struct TimelineFile {
    path: Option<PathBuf>,
}

impl TimelineFile {
    /// Sees before anything runs whether a timeline could be written there. Another one is replaced.
    ///
    /// # Errors
    /// If there is something else, or no folder.
    pub fn at(path: Option<&Path>) -> Result<Self, Failure> {
        if let Some(path) = path {
            let refused = |why: &str| {
                Err(Failure::bad_input(format!("cannot write a timeline to {}: {why}", path.display()))
                    .help("choose another name or folder"))
            };
            match std::fs::symlink_metadata(path) {
                Ok(meta) if !meta.is_file() => return refused("it is no file"),
                Ok(_) if !is_timeline(path) => return refused("it is there already, and no timeline"),
                Ok(_) => {}
                Err(_) => {
                    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                    if folder.is_some_and(|folder| !folder.is_dir()) {
                        return refused("there is no such folder");
                    }
                }
            }
            if let Err(e) = try_to_write(path) {
                return refused(&e.to_string());
            }
        }
        Ok(TimelineFile { path: path.map(Path::to_owned) })
    }

    /// Whether one is.
    pub fn is_asked_for(&self) -> bool {
        self.path.is_some()
    }

    /// Writes it, and returns what is to be said of it; nothing if none is asked for.
    ///
    /// # Errors
    /// If it cannot be written, or there is nothing to write.
    pub fn write(&self, seen: Option<&SlowestSeen>, device: &str) -> Result<Option<String>, Failure> {
        let Some(path) = &self.path else { return Ok(None) };
        let Some(seen) = seen else {
            return Err(Failure::run(format!(
                "no request that took time was measured: there is no timeline for {}",
                path.display()
            )));
        };
        let (text, how) = if is_picture(path) {
            (timeline_svg(seen, device), "")
        } else {
            let text = timeline_json(seen, device, env!("CARGO_PKG_VERSION"));
            (text, ". Open it in a viewer of traces, such as ui.perfetto.dev")
        };
        ssdlab_sweep::write_whole(path, text.as_bytes()).map_err(|e| Failure::run(e.to_string()))?;
        Ok(Some(format!(
            "{} shows what {device} did while its slowest request waited ({}){how}",
            path.display(),
            slowest_text(seen)
        )))
    }
}

fn is_picture(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("svg"))
}

fn is_timeline(path: &Path) -> bool {
    [TIMELINE_BEGINS, PICTURE_BEGINS].into_iter().any(|text| {
        let mut begins = vec![0; text.len()];
        let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begins));
        read.is_ok() && begins == text.as_bytes()
    })
}
