//! Published figures of one's own (`--figures`), beside those of the catalog.

use std::path::Path;

use ssdlab_catalog::claims::{self, Check, Claim};
use ssdlab_catalog::{Diagnostic, as_written, device, one_spelling};
use ssdlab_core::input;

use crate::failure::Failure;
use crate::real::is_real;

/// Published figures.
#[derive(Debug, Default)]
pub struct Figures {
    /// Of the file that the user gave.
    pub own: Vec<Claim>,
}

impl Figures {
    /// Those of a file; none without one.
    ///
    /// # Errors
    /// What is wrong with the file, and if it speaks of a device that there is not.
    pub fn read(file: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = file else { return Ok(Figures::default()) };
        let name = path.display().to_string();
        let text = input::read_text(path).map_err(|e| {
            Failure::bad_input(format!("cannot read {name}: {e}")).help("give the path of a file with [[claim]]")
        })?;
        let own = claims::own(&name, &text)?;
        for claim in &own {
            let of_figure =
                |e: Diagnostic| Diagnostic { what: format!("{name}: figure {}: {}", claim.id, e.what), ..e };
            for drive in claim.drives() {
                if !is_real(drive) {
                    device(drive).map_err(of_figure)?;
                } else if matches!(claim.check, Check::Fact(_)) {
                    let error = Diagnostic::new(format!("{drive} is a real drive, and facts are what drive files say"));
                    return Err(of_figure(error.help("check a figure of a test instead")).into());
                }
            }
            could_be_missed(claim).map_err(of_figure)?;
        }
        Ok(Figures { own: own.into_iter().map(|claim| claim.renamed(as_written)).collect() })
    }

    /// These about devices as they were named in the command: a file has several paths, also in an expression.
    #[must_use]
    pub fn about(self, named: &[String]) -> Self {
        let spelled: Vec<String> = named.iter().map(|name| one_spelling(name)).collect();
        let name = |drive: &str| {
            let one = one_spelling(drive);
            let place = spelled.iter().position(|known| *known == one);
            place.map_or_else(|| drive.to_owned(), |place| as_written(&named[place]))
        };
        Figures { own: self.own.into_iter().map(|claim| claim.renamed(name)).collect() }
    }

    /// Refuses figures of which none is about the devices that were named.
    ///
    /// # Errors
    /// If there are some, and none of these devices'.
    pub fn concern(&self, named: &[String]) -> Result<(), Failure> {
        let is_about_one = |claim: &Claim| named.iter().any(|name| claim.concerns(&as_written(name)));
        if self.own.is_empty() || self.own.iter().any(is_about_one) {
            return Ok(());
        }
        Err(Failure::bad_input(format!("no figure of the file is about {}", named.join(", ")))
            .help(format!("they are about {}", self.devices().join(", "))))
    }

    /// The devices that one's own figures are about, in the order of the file.
    pub fn devices(&self) -> Vec<String> {
        let mut devices: Vec<String> = Vec::new();
        for device in self.own.iter().flat_map(Claim::drives) {
            if !devices.iter().any(|known| known == device) {
                devices.push(device.to_owned());
            }
        }
        devices
    }

    /// All that was published: the catalog's figures, and one's own.
    pub fn all(self) -> Vec<Claim> {
        let mut all = claims::all();
        all.extend(self.own);
        all
    }
}

/// Whether drives could still miss a figure once each file has one path.
fn could_be_missed(claim: &Claim) -> Result<(), Diagnostic> {
    if let Check::Ranking(ranking) = &claim.check {
        let drives: Vec<&String> = ranking.published.keys().collect();
        for (k, drive) in drives.iter().enumerate() {
            if let Some(other) = drives[..k].iter().find(|other| one_spelling(other) == one_spelling(drive)) {
                return Err(Diagnostic::new(format!("{other} and {drive} are one drive")).help("name each drive once"));
            }
        }
    }
    claim.clone().renamed(one_spelling).can_be_checked()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_real_drive_has_no_facts() {
        let folder = std::env::temp_dir().join(format!("ssdlab-facts-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (drive, file) = (folder.join("drive"), folder.join("figures.toml"));
        fs::write(&drive, [0; 4096]).unwrap();
        let told = |check: &str| {
            let head = "[[claim]]\nid = \"mine\"\nquantity = \"q\"\npublished = \"p\"\nsource = \"s\"\n";
            fs::write(&file, format!("{head}devices = [{:?}]\ncheck.{check}\n", drive.display().to_string())).unwrap();
            Figures::read(Some(&file)).err().map(|e| e.to_string())
        };
        let of_fact = told("fact = { capacity_bytes = 4096 }").unwrap_or_default();
        assert!(
            of_fact.contains("figure mine: ") && of_fact.contains("drive is a real drive, and facts are"),
            "{of_fact}"
        );
        let of_test = "range = { test = \"random-read\", metric = \"iops\", unit = \"IOPS\", at_least = 1.0 }";
        assert_eq!(told(of_test), None);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_by_two_paths_is_one_drive() {
        let folder = std::env::temp_dir().join(format!("ssdlab-figures-{}", std::process::id()));
        fs::create_dir_all(folder.join("sub")).unwrap();
        for name in ["a", "b"] {
            fs::write(folder.join(format!("{name}.toml")), "base = \"ideal-32die\"\n").unwrap();
        }
        let path = |name: &str| folder.join(name).display().to_string();
        let refused = |check: &str| {
            let file = folder.join("figures.toml");
            let head = "[[claim]]\nid = \"mine\"\nquantity = \"q\"\npublished = \"p\"\nsource = \"s\"\n";
            fs::write(&file, format!("{head}check.{check}\n")).unwrap();
            Figures::read(Some(&file)).err().map(|e| e.to_string())
        };
        let ranking = |other: &str| {
            format!(
                "ranking = {{ test = \"random-read\", metric = \"iops\", wrong_pairs_at_most_percent = 10, published = {{ \
                 {:?} = 1.0, {:?} = 2.0 }} }}",
                path("a.toml"),
                path(other)
            )
        };
        let order = |other: &str| {
            let side = |name: &str, params: &str| {
                let device = path(name);
                format!("{{ device = {device:?}, test = \"random-read\", metric = \"iops\", params = {{ {params} }} }}")
            };
            let (higher, lower) = (side("a.toml", ""), side(other, "queue_depth = 32"));
            format!("order = {{ higher = {higher}, lower = {lower}, ratio_above = 0.5 }}")
        };
        let told = refused(&ranking("sub/../a.toml")).unwrap();
        assert!(told.contains("figure mine: ") && told.contains("are one drive"), "{told}");
        // Also as parts of arrays.
        let arrays = ranking("sub/../a.toml").replace(".toml\" =", ".toml*2)\" =").replace("= { \"", "= { \"raid0(");
        let arrays = arrays.replace(", \"", ", \"raid0(");
        let told = refused(&arrays).unwrap();
        assert!(told.contains("raid0(") && told.contains("are one drive"), "{told}");
        let told = refused(&order("sub/../a.toml")).unwrap();
        assert!(told.contains("figure mine: it compares a figure with itself"), "{told}");
        assert_eq!([ranking("b.toml"), order("b.toml")].map(|check| refused(&check)), [None, None]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
