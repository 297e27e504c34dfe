//! How the workspace is built: which crates there are, what leans on what, and that nothing leans in a circle.
//!
//! - [`manifests`]: the crates and their normal dependencies, from their manifests
//! - [`page`]: `docs/architecture.md`, between its markers (program `house`)
//! - [`imports`]: circles of imports between the files of a crate
//! - [`source`]: the paths that a file names, read from its tokens
//!
//! A normal dependency is one of `[dependencies]`: what tests, benchmarks and build scripts need is not the product.

pub mod imports;
pub mod manifests;
pub mod page;
pub mod source;

use std::path::{Path, PathBuf};

/// The page, below the workspace.
pub const PAGE: &str = "docs/architecture.md";

/// What writes the page anew.
pub const REGENERATE: &str = "make house";

/// The folder of the workspace that this crate was built in.
#[must_use]
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file as text.
///
/// # Errors
/// With the path, if it cannot be read or is not UTF-8.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The entries of a folder in the order of their names.
///
/// # Errors
/// With the path, if it cannot be listed.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let told = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(told)? {
        paths.push(entry.map_err(told)?.path());
    }
    paths.sort();
    Ok(paths)
}
