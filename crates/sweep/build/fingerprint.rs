//! Finds the code that a package is built of, and hashes it.
//!
//! The packages are those of the workspace that the manifests name as dependencies, directly or through others;
//! packages of the registry are pinned by `Cargo.lock`. Of each package every file counts, its data included, except
//! those that are not built into it (tests, examples, benchmarks). Drives and dies of the catalog do not count: every
//! point is known by the values of its own drive and die, and of the device that its test measures others by.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use toml::Table;

/// Folders of a package that are not built into it.
const NOT_BUILT_IN: [&str; 4] = ["tests", "examples", "benches", "target"];

/// The code that a package is built of.
#[derive(Debug)]
pub struct Code {
    /// Every file, in alphabetical order.
    pub files: Vec<PathBuf>,
    /// Files and folders that cargo must watch. New files show in their folders.
    pub watched: Vec<PathBuf>,
    workspace: PathBuf,
}

impl Code {
    /// The code of the package whose manifest lies in `folder`.
    ///
    /// # Errors
    /// A manifest or folder that cannot be read.
    pub fn of(folder: &Path) -> Result<Code, String> {
        let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
        let workspace = workspace_of(&folder)?;
        let shared = manifest(&workspace)?;
        let mut packages = BTreeSet::new();
        let mut waiting = vec![folder];
        while let Some(folder) = waiting.pop() {
            if packages.insert(folder.clone()) {
                waiting.extend(local_dependencies(&manifest(&folder)?, &folder, &shared, &workspace));
            }
        }
        let mut files = BTreeSet::from([workspace.join("Cargo.toml"), workspace.join("Cargo.lock")]);
        let mut watched = files.clone();
        for folder in &packages {
            collect(folder, true, &mut files, &mut watched)?;
        }
        Ok(Code { files: files.into_iter().collect(), watched: watched.into_iter().collect(), workspace })
    }

    /// FNV-1a of every file's path within the workspace and of its bytes.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn hash(&self) -> Result<u64, String> {
        let mut hash = 0xCBF2_9CE4_8422_2325u64;
        for file in &self.files {
            let name = file.strip_prefix(&self.workspace).unwrap_or(file).to_string_lossy();
            let text = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
            for byte in name.bytes().chain([0]).chain(text).chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
            }
        }
        Ok(hash)
    }
}

fn manifest(folder: &Path) -> Result<Table, String> {
    let path = folder.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// The nearest folder above whose manifest has a `[workspace]`.
fn workspace_of(folder: &Path) -> Result<PathBuf, String> {
    let has_workspace = |folder: &&Path| manifest(folder).is_ok_and(|m| m.contains_key("workspace"));
    let found = folder.ancestors().find(has_workspace);
    found.map(Path::to_owned).ok_or_else(|| format!("{} lies in no workspace", folder.display()))
}

/// Folders of the packages that a manifest names by their path, or by a workspace dependency that has one.
fn local_dependencies(manifest: &Table, folder: &Path, shared: &Table, workspace: &Path) -> Vec<PathBuf> {
    let mut tables: Vec<&Table> = vec![manifest];
    if let Some(targets) = manifest.get("target").and_then(toml::Value::as_table) {
        tables.extend(targets.values().filter_map(toml::Value::as_table));
    }
    let lists = tables.iter().flat_map(|t| ["dependencies", "build-dependencies"].map(|list| t.get(list)));
    let dependencies = lists.flatten().filter_map(toml::Value::as_table).flatten();
    let path_of = |dependency: &toml::Value, from: &Path| {
        let path = dependency.get("path").and_then(toml::Value::as_str)?;
        from.join(path).canonicalize().ok()
    };
    dependencies
        .filter_map(|(name, dependency)| {
            if dependency.get("workspace").is_some() {
                path_of(shared.get("workspace")?.get("dependencies")?.get(name)?, workspace)
            } else {
                path_of(dependency, folder)
            }
        })
        .collect()
}

fn collect(
    folder: &Path,
    of_package: bool,
    files: &mut BTreeSet<PathBuf>,
    watched: &mut BTreeSet<PathBuf>,
) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let entry = entry.map_err(|e| format!("{}: {e}", folder.display()))?;
        let (path, name) = (entry.path(), entry.file_name());
        if !path.is_dir() {
            files.insert(path.clone());
        } else if of_package && NOT_BUILT_IN.iter().any(|not| name == *not) {
            continue;
        } else {
            collect(&path, false, files, watched)?;
        }
        if of_package {
            watched.insert(path);
        }
    }
    Ok(())
}
