//! The crates of a workspace and their normal dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::{Table, Value};

use super::{entries, read};

/// Crates that know a device only by its face.
pub const AT_THE_FACE: [&str; 3] = ["bench", "report", "workload"];
/// What they may not reach: the inside of the simulated drive.
pub const INSIDE: [&str; 4] = ["ssd", "ftl", "nand", "ecc"];
/// What nothing may depend on but [`PACKAGE`].
pub const TOP: &str = "cli";
/// The Python package, which the command is installed with.
pub const PACKAGE: &str = "python";

/// A crate of the workspace. Crates go by the names of their folders: `core` is `ssdlab-core`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    /// What it is for: the description in its manifest, else the first sentence of its documentation.
    pub purpose: String,
    /// Crates of the workspace in its `[dependencies]`.
    pub depends_on: BTreeSet<String>,
}

/// The crates by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crates(pub BTreeMap<String, Crate>);

impl Crates {
    /// Reads the manifests below `workspace/crates`.
    ///
    /// # Errors
    /// The file that cannot be read, and why.
    pub fn read(workspace: &Path) -> Result<Crates, String> {
        let shared = manifest(&workspace.join("Cargo.toml"))?;
        let mut manifests = Vec::new();
        for folder in entries(&workspace.join("crates"))? {
            if folder.join("Cargo.toml").is_file() {
                let name = folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
                manifests.push((name, manifest(&folder.join("Cargo.toml"))?, folder));
            }
        }
        let folders: BTreeMap<&str, &str> =
            manifests.iter().filter_map(|(name, m, _)| Some((package(m, "name")?, name.as_str()))).collect();
        let mut crates = BTreeMap::new();
        for (name, manifest, folder) in &manifests {
            let purpose = match package(manifest, "description") {
                Some(text) => text.to_owned(),
                None => first_sentence(&folder.join("src"))?,
            };
            let named = dependencies(manifest, &shared);
            let depends_on = named.iter().filter_map(|n| folders.get(n.as_str())).map(|&n| n.to_owned()).collect();
            crates.insert(name.clone(), Crate { purpose, depends_on });
        }
        Ok(Crates(crates))
    }

    /// Everything that a crate depends on, directly or not.
    #[must_use]
    pub fn reached_from(&self, name: &str) -> BTreeSet<&str> {
        let direct = |name: &str| self.0.get(name).into_iter().flat_map(|c| &c.depends_on).map(String::as_str);
        let mut reached = BTreeSet::new();
        let mut left: Vec<&str> = direct(name).collect();
        while let Some(next) = left.pop() {
            if reached.insert(next) {
                left.extend(direct(next));
            }
        }
        reached
    }

    /// Direct dependencies of a crate that it does not reach by way of another: what a drawing needs.
    #[must_use]
    pub fn drawn_from(&self, name: &str) -> BTreeSet<&str> {
        let Some(of) = self.0.get(name) else { return BTreeSet::new() };
        let by_way: BTreeSet<&str> = of.depends_on.iter().flat_map(|d| self.reached_from(d)).collect();
        of.depends_on.iter().map(String::as_str).filter(|d| !by_way.contains(d)).collect()
    }

    /// What breaks the rules of the house: who reaches what it may not.
    #[must_use]
    pub fn trespasses(&self) -> Vec<String> {
        let mut found = Vec::new();
        for name in AT_THE_FACE {
            let reached = self.reached_from(name);
            found.extend(INSIDE.iter().filter(|i| reached.contains(*i)).map(|i| format!("{name} reaches {i}")));
        }
        let above = self.0.iter().filter(|(name, c)| *name != PACKAGE && c.depends_on.contains(TOP));
        found.extend(above.map(|(name, _)| format!("{name} depends on {TOP}")));
        found
    }
}

fn manifest(path: &Path) -> Result<Table, String> {
    read(path)?.parse().map_err(|e| format!("{}: {e}", path.display()))
}

fn package<'a>(manifest: &'a Table, key: &str) -> Option<&'a str> {
    manifest.get("package")?.get(key)?.as_str()
}

/// Names of the packages in `[dependencies]` and `[target.….dependencies]`.
fn dependencies(manifest: &Table, shared: &Table) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let own = manifest.get("dependencies").into_iter().chain(targets.filter_map(|t| t.get("dependencies")));
    let in_workspace = |name: &str| shared.get("workspace")?.get("dependencies")?.get(name)?.get("package")?.as_str();
    own.filter_map(Value::as_table)
        .flatten()
        .map(|(name, what)| {
            let renamed = what.get("package").and_then(Value::as_str).or_else(|| in_workspace(name));
            renamed.unwrap_or(name).to_owned()
        })
        .collect()
}

/// The first sentence of the documentation at the root of a crate.
fn first_sentence(src: &Path) -> Result<String, String> {
    let root = ["lib.rs", "main.rs"].map(|f| src.join(f)).into_iter().find(|f| f.is_file());
    let Some(root) = root else { return Ok(String::new()) };
    let text = read(&root)?;
    let lines = text.lines().map_while(|l| l.strip_prefix("//!")).map(str::trim).take_while(|l| !l.is_empty());
    let paragraph = lines.collect::<Vec<_>>().join(" ");
    let sentence = paragraph.split_once(". ").map_or(paragraph.as_str(), |(first, _)| first);
    // Links of rustdoc lead nowhere in a page.
    Ok(sentence.trim_end_matches('.').replace("[`", "`").replace("`]", "`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crates(of: &[(&str, &[&str])]) -> Crates {
        let one = |(name, depends_on): &(&str, &[&str])| {
            let depends_on = depends_on.iter().map(|&d| d.to_owned()).collect();
            ((*name).to_owned(), Crate { purpose: String::new(), depends_on })
        };
        Crates(of.iter().map(one).collect())
    }

    #[test]
    fn what_is_reached_by_way_of_another_is_not_drawn() {
        let crates = crates(&[("cli", &["bench", "core"]), ("bench", &["core"]), ("core", &[])]);
        assert_eq!(crates.reached_from("cli").into_iter().collect::<Vec<_>>(), ["bench", "core"]);
        assert_eq!(crates.drawn_from("cli").into_iter().collect::<Vec<_>>(), ["bench"]);
        assert_eq!(crates.drawn_from("bench").into_iter().collect::<Vec<_>>(), ["core"]);
    }

    #[test]
    fn a_trespass_is_found_however_long_the_way() {
        let crates = crates(&[("report", &["catalog"]), ("catalog", &["nand", "cli"]), ("nand", &[]), ("cli", &[])]);
        assert_eq!(crates.trespasses(), ["report reaches nand", "catalog depends on cli"]);
    }

    #[test]
    fn dependencies_of_tests_do_not_count_and_renamed_ones_do() {
        let shared: Table =
            "[workspace.dependencies]\nshort = { package = \"ssdlab-nand\", path = \"n\" }".parse().unwrap();
        let manifest: Table = "[dependencies]\nshort.workspace = true\nserde = \"1\"\n[dev-dependencies]\nssdlab-ssd = \"1\"\n\
                               [target.'cfg(unix)'.dependencies]\nlinks = { package = \"ssdlab-core\", version = \"1\" }"
            .parse()
            .unwrap();
        let named = dependencies(&manifest, &shared);
        assert_eq!(named.into_iter().collect::<Vec<_>>(), ["serde", "ssdlab-core", "ssdlab-nand"]);
    }
}
