//! Published figures of one's own (`--figures`), beside those of the catalog.

use std::fs;
use std::path::Path;

use ssdlab_catalog::claims::{self, Claim};
use ssdlab_catalog::device;
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
            for drive in claim.drives().into_iter().filter(|drive| !is_real(drive)) {
                let of_figure = |e: ssdlab_catalog::Diagnostic| ssdlab_catalog::Diagnostic {
                    what: format!("{name}: figure {}: {}", claim.id, e.what),
                    ..e
                };
                device(drive).map_err(of_figure)?;
            }
        }
        Ok(Figures { own })
    }

    /// These about devices as they were named in the command: a file has several paths.
    #[must_use]
    pub fn about(self, named: &[String]) -> Self {
        let same =
            |a: &str, b: &str| a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b));
        let name = |drive: &str| named.iter().find(|n| same(n, drive)).map_or(drive, String::as_str).to_owned();
        Figures { own: self.own.into_iter().map(|claim| claim.renamed(name)).collect() }
    }

    /// Refuses figures of which none is about the devices that were named.
    ///
    /// # Errors
    /// If there are some, and none of these devices'.
    pub fn concern(&self, named: &[String]) -> Result<(), Failure> {
        let is_about_one = |claim: &Claim| named.iter().any(|name| claim.concerns(name));
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
