//! Finished points on disk: one file each, complete or not there.
//!
//! A file is written beside its place and moved there when it is whole, so a kill at any moment leaves finished
//! points and at most one unfinished file that nobody reads. Each file carries the digest of its content: what was cut
//! short, edited or belongs to another point is noticed, and the point is run again.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::SCHEMA;
use crate::point::{PointResult, hex};

/// A folder of finished points.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// The file system refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct StoreError {
    pub action: &'static str,
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PointFile {
    schema: String,
    key: String,
    /// For people: which point this was.
    point: String,
    result: PointResult,
    digest: String,
}

impl PointFile {
    /// Over everything but itself.
    fn digest(&self) -> Result<String, serde_json::Error> {
        Ok(hex(&format!("{}\n{}\n{}\n{}", self.schema, self.key, self.point, serde_json::to_string(&self.result)?)))
    }
}

/// What the store has of a point.
#[derive(Debug, PartialEq)]
pub(crate) enum Found {
    Result(PointResult),
    Nothing,
    /// A file that cannot be used, and why.
    Spoilt(String),
}

impl Store {
    /// Opens the folder `points` within `out`, and makes it if need be.
    ///
    /// # Errors
    /// If that is refused.
    pub fn open(out: &Path) -> Result<Store, StoreError> {
        let folder = out.join("points");
        fs::create_dir_all(&folder).map_err(|e| refused("create the folder", &folder, e))?;
        Ok(Store { folder })
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    pub(crate) fn get(&self, key: &str) -> Found {
        let text = match fs::read_to_string(self.path(key)) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Found::Nothing,
            Err(e) => return Found::Spoilt(e.to_string()),
        };
        match read_point(key, &text) {
            Ok(result) => Found::Result(result),
            Err(why) => Found::Spoilt(why),
        }
    }

    /// Keeps a finished point; after this it is there even if the machine loses power.
    pub(crate) fn put(&self, key: &str, point: &str, result: &PointResult) -> Result<(), StoreError> {
        let path = self.path(key);
        let text = point_text(key, point, result).map_err(|e| refused("put into JSON", &path, io::Error::other(e)))?;
        write_whole(&path, text.as_bytes())
    }
}

/// A finished point as the store keeps it; `point` says for people which it is.
///
/// # Errors
/// If a figure has no place in JSON.
pub fn point_text(key: &str, point: &str, result: &PointResult) -> Result<String, serde_json::Error> {
    let mut file = PointFile {
        schema: SCHEMA.to_owned(),
        key: key.to_owned(),
        point: point.to_owned(),
        result: result.clone(),
        digest: String::new(),
    };
    file.digest = file.digest()?;
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

/// Reads what [`point_text`] wrote of the point `key`.
///
/// # Errors
/// Why the text cannot be used: it was cut short or changed, or is of another point.
pub fn read_point(key: &str, text: &str) -> Result<PointResult, String> {
    let file: PointFile = serde_json::from_str(text).map_err(|e| format!("not a finished point: {e}"))?;
    if file.schema != SCHEMA || file.key != key {
        return Err("the file of another point".to_owned());
    }
    match file.digest() {
        Ok(digest) if digest == file.digest => Ok(file.result),
        _ => Err("its content was changed".to_owned()),
    }
}

/// Writes a file so that it is there whole or not at all.
///
/// # Errors
/// If the file system refuses.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    // Two programs at work in one folder must not write into one file.
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".partial-{}", std::process::id()));
    let partial = PathBuf::from(partial);
    let written = File::create(&partial)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&partial, path));
    written.map_err(|e| {
        // What is left is of no use to anyone; if it cannot be removed either, the first error says why.
        let _ = fs::remove_file(&partial);
        refused("write", path, e)
    })
}

pub(crate) fn refused(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ssdlab_bench::Metric;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ssdlab-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    fn result() -> PointResult {
        // Figures that a careless reader of numbers gets wrong in the last place.
        let metrics = [0.1 + 0.2, 1.0 / 3.0, 7.596_949_999_999_999e-5, f64::MAX, 5e-324];
        let metrics: BTreeMap<String, Metric> =
            metrics.iter().enumerate().map(|(i, &v)| (format!("m{i}"), Metric::new(v, "us"))).collect();
        PointResult::Finished {
            capacity_bytes: 4096,
            spare_percent: Some(7.0 / 3.0),
            metrics,
            notes: vec!["ä \"b\"".into()],
        }
    }

    #[test]
    fn what_was_put_is_got_to_the_last_bit() {
        let out = folder("same");
        let store = Store::open(&out).unwrap();
        assert_eq!(store.get("k"), Found::Nothing);
        for result in [result(), PointResult::Impossible { reason: "no spare".into() }] {
            store.put("k", "a point", &result).unwrap();
            assert_eq!(store.get("k"), Found::Result(result));
        }
        assert_eq!(fs::read_dir(out.join("points")).unwrap().count(), 1, "nothing else is left behind");
        fs::remove_dir_all(out).unwrap();
    }

    #[test]
    fn a_file_that_was_cut_edited_or_moved_is_not_believed() {
        let out = folder("spoilt");
        let store = Store::open(&out).unwrap();
        store.put("k", "a point", &result()).unwrap();
        let path = out.join("points/k.json");
        let whole = fs::read_to_string(&path).unwrap();
        let spoil = |text: &str| {
            fs::write(&path, text).unwrap();
            assert!(matches!(store.get("k"), Found::Spoilt(_)), "{text}");
        };
        for cut in [0, 1, whole.len() / 2, whole.len() - 3] {
            spoil(&whole[..cut]);
        }
        spoil(&whole.replace("0.30000000000000004", "0.3"));
        spoil(&whole.replace("a point", "another"));
        spoil(&whole.replace(SCHEMA, "ssdlab.sweep-point/0"));
        fs::write(out.join("points/other.json"), &whole).unwrap();
        assert!(matches!(store.get("other"), Found::Spoilt(_)));
        fs::write(&path, &whole).unwrap();
        assert_eq!(store.get("k"), Found::Result(result()));
        fs::remove_dir_all(out).unwrap();
    }
}
