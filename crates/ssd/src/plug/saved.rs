//! What a drive keeps without power, in a form that goes into a file.
//!
//! Its flash with all that the translation layer has there, what it counts for SMART, and what its reads know of errors. Not
//! kept: what was drawn of energy, and the warmth of its case. A drive that has loaded it is one whose plug is out.

use serde::{Deserialize, Serialize};
use ssdlab_core::Nanos;
use ssdlab_device::{FlashCounters, HostCounters, LoadError, Specimen, is_plausible, is_plausible_time};
use ssdlab_ftl::Translation;
use ssdlab_nand::{DieSpec, die_keys};

use crate::SimulatedSsd;
use crate::backend::SavedCorrection;
use crate::power::link_bytes;
use crate::spec::{DriveSpec, drive_keys};

/// Raised whenever what is saved changes its form: a test tells when.
const FORMAT: u32 = 11;

/// See the module's own page.
#[derive(Serialize, Deserialize)]
pub struct SavedDrive {
    specimen: Specimen,
    translation: Vec<u8>,
    correction: Option<SavedCorrection>,
    host: HostCounters,
    flash: FlashCounters,
    /// What the drive has told of all that its flash has done.
    said: FlashCounters,
    clean: bool,
    unclean: u64,
    cycles: u64,
    powered: Nanos,
    /// Of the media key; and time that an erase still takes which was cut short.
    key_changes: u64,
    erase_left: Nanos,
}

impl SavedDrive {
    /// Whether a drive can have lived so long.
    fn is_plausible(&self) -> bool {
        self.host.is_plausible()
            && self.flash.is_plausible()
            && self.said.is_plausible()
            && self.cycles > 0
            && self.unclean <= self.cycles
            && is_plausible(self.cycles)
            && is_plausible_time(self.powered)
            && is_plausible(self.key_changes)
            && is_plausible_time(self.erase_left)
    }
}

/// Which drive it is: of what file, and which one of its kind.
#[must_use]
pub fn specimen(name: &str, drive: &DriveSpec, die: &DieSpec, seed: u64) -> Specimen {
    // All values, and the name, from which follows what chance has given it.
    let files = drive_keys().identity(drive) + &die_keys().identity(die);
    Specimen::new(FORMAT, name, &files, seed)
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// See [`ssdlab_device::Plug::save`].
    pub(super) fn save_state(&self) -> Vec<u8> {
        assert!(self.plug.out, "a drive is saved while its power is off");
        let saved = SavedDrive {
            specimen: self.plug.specimen,
            translation: self.translation.save(),
            correction: self.backend.correction().map(|correction| correction.save(self.now)),
            host: self.host,
            flash: self.flash,
            said: self.plug.said,
            clean: self.plug.clean,
            unclean: self.plug.unclean,
            cycles: self.plug.cycles,
            powered: self.plug.time_powered(self.now),
            key_changes: self.security.key_changes,
            erase_left: self.security.left,
        };
        postcard::to_stdvec(&saved).expect("a vector takes everything")
    }

    /// See [`ssdlab_device::Plug::load`].
    pub(super) fn load_state(&mut self, saved: &[u8]) -> Result<(), LoadError> {
        assert!(self.now == 0 && !self.plug.out, "a drive that has worked cannot become another one");
        let (specimen, _) = postcard::take_from_bytes::<Specimen>(saved).map_err(|_| LoadError::Damaged)?;
        self.plug.specimen.check(&specimen)?;
        let saved: SavedDrive = postcard::from_bytes(saved).map_err(|_| LoadError::Damaged)?;
        if !saved.is_plausible() {
            return Err(LoadError::Damaged);
        }
        self.translation.load(&saved.translation).map_err(|_| LoadError::Damaged)?;
        let pages = self.translation.logical_pages();
        let blocks = self.translation.medium().layout().block_count() as usize;
        match (self.backend.correction_mut(), saved.correction) {
            (Some(own), Some(correction)) if correction.is_sound(pages, blocks) => own.load(correction),
            (None, None) => {}
            _ => return Err(LoadError::Damaged),
        }
        (self.host, self.flash, self.plug.said) = (saved.host, saved.flash, saved.said);
        self.plug.link_bytes_before = link_bytes(&self.host);
        (self.plug.clean, self.plug.unclean) = (saved.clean, saved.unclean);
        (self.plug.cycles, self.plug.powered_before) = (saved.cycles, saved.powered);
        (self.security.key_changes, self.security.left) = (saved.key_changes, saved.erase_left);
        self.forget_all(0);
        self.plug.out = true;
        Ok(())
    }
}
