//! Small drives with the keys of large ones: what power cuts do to a drive of the catalog, thousands of times in a minute.

use ssdlab_nand::{DieSpec, GrowingFaults};
use ssdlab_ssd::DriveSpec;

use crate::case::{Case, with_capacity, with_capacity_of_log_blocks};

/// A drive whose keys specimens share.
#[derive(Clone, Debug, PartialEq)]
pub struct Original {
    pub name: String,
    pub die: DieSpec,
    pub drive: DriveSpec,
}

impl Original {
    /// Whether FLUSH and FUA promise nothing, so that nothing of what they cover is held against the drive.
    #[must_use]
    pub fn flush_lies(&self) -> bool {
        self.drive.power_loss.as_ref().is_some_and(|power_loss| power_loss.flush_lies)
    }
}

/// Pages of a block: long enough for every page order, and short enough that blocks fill.
const PAGES_PER_BLOCK: u32 = 48;
/// Blocks of a plane.
const BLOCKS_PER_PLANE: u32 = 28;
const MOST_DIES: u32 = 4;
/// Spare area in addition to the least that a drive may have, per cent: what cuts leave without use is a larger part of a small
/// drive. More where many blocks are bad from the factory.
const SPARE_PERCENTS: [u64; 3] = [20, 35, 50];
const MOST_BUFFER_KIB: u32 = 1024;
/// Of drives that translate by blocks: open logs, for which each die has blocks; and lanes.
const MOST_LOGS: u32 = 8;
const LOG_BLOCK_CHANNELS: u32 = 2;

impl Case {
    /// A specimen of a drive: its keys, but for what makes it large. It has at most 256 MiB of flash. Errors of flash and
    /// their correction are left out, as in all runs with power cuts. `None` if the proportions of the drive cannot be kept.
    #[must_use]
    pub fn specimen(original: &Original, seed: u64) -> Option<Self> {
        let (mut die, mut drive) = (original.die.clone(), original.drive.clone());
        if drive.log_blocks.is_some() {
            return Self::specimen_of_log_blocks(die, drive, seed);
        }
        let (raw, dies) = (die.raw_bytes() * u64::from(drive.flash.dies), drive.flash.dies);
        leave_errors_out(&mut die, &mut drive);
        die.geometry.pages_per_block = die.geometry.pages_per_block.min(PAGES_PER_BLOCK);
        die.geometry.blocks_per_plane = die.geometry.blocks_per_plane.min(BLOCKS_PER_PLANE);
        drive.flash.exact_spare_per_10000 = None;
        drive.flash.dies = dies.min(MOST_DIES);
        drive.controller.channels = drive.controller.channels.min(drive.flash.dies);
        while !drive.flash.dies.is_multiple_of(drive.controller.channels) {
            drive.controller.channels -= 1;
        }
        let small = die.raw_bytes() * u64::from(drive.flash.dies);
        let row_kib = die.geometry.planes * die.units_per_page(4096) * 4;
        drive.write_buffer.capacity_kib = drive.write_buffer.capacity_kib.min(MOST_BUFFER_KIB).max(2 * row_kib);
        if let Some(rows) = &mut drive.mapping.journal_limit_rows {
            *rows = (u64::from(*rows) * small / raw).max(2) as u32;
        }
        if let Some(kib) = &mut drive.mapping.map_cache_kib {
            *kib = (u64::from(*kib) * small / raw).max(1) as u32;
        }
        if let Some(cache) = &mut drive.slc_cache {
            if let Some(gb) = &mut cache.capacity_gb {
                *gb = (*gb * small as f64 / raw as f64).max(drive_superblocks_gb(&die, drive.flash.dies));
            }
            if let Some(blocks) = &mut cache.blocks_per_1000 {
                *blocks = (*blocks).max(2000 / die.geometry.blocks_per_plane);
            }
        }
        let drive = SPARE_PERCENTS.iter().find_map(|&spare| with_capacity(drive.clone(), &die, seed, spare))?;
        Some(Case { seed, die, drive, faults: GrowingFaults::default() })
    }
}

impl Case {
    /// The same of a drive that translates by blocks: one stripe of superblocks, on as few channels as make one.
    fn specimen_of_log_blocks(mut die: DieSpec, mut drive: DriveSpec, seed: u64) -> Option<Self> {
        leave_errors_out(&mut die, &mut drive);
        die.geometry.pages_per_block = die.geometry.pages_per_block.min(PAGES_PER_BLOCK);
        die.geometry.blocks_per_plane = die.geometry.blocks_per_plane.min(BLOCKS_PER_PLANE);
        let spec = drive.log_blocks.as_mut()?;
        spec.open_logs = spec.open_logs.min(MOST_LOGS);
        let planes = if drive.flash.planes_apart { die.geometry.planes } else { 1 };
        drive.controller.channels = drive.controller.channels.min(LOG_BLOCK_CHANNELS);
        drive.flash.dies = (spec.stripe_superblocks * drive.controller.channels).div_ceil(planes);
        drive.write_buffer.capacity_kib = drive.write_buffer.capacity_kib.min(MOST_BUFFER_KIB);
        let drive = with_capacity_of_log_blocks(drive, &die, seed, 0)?;
        Some(Case { seed, die, drive, faults: GrowingFaults::default() })
    }
}

/// Without errors there is nothing to correct, and nothing that is written anew before it has too many.
fn leave_errors_out(die: &mut DieSpec, drive: &mut DriveSpec) {
    (die.errors, drive.ecc, drive.refresh) = (None, None, None);
}

/// What two superblocks over all dies hold at one bit per cell.
fn drive_superblocks_gb(die: &DieSpec, dies: u32) -> f64 {
    let g = &die.geometry;
    let pages = g.pages_per_block / g.bits_per_cell;
    2.0 * f64::from(dies * g.planes * pages * g.page_bytes) / 1e9
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::{Geometry, PageOrder};
    use ssdlab_ssd::PowerLossSpec;

    use super::*;
    use crate::{Campaign, Kind, build_ssd, cut_specimens};

    fn die(planes: u32, pages_per_block: u32) -> DieSpec {
        DieSpec::plain(Geometry {
            planes,
            blocks_per_plane: 1000,
            pages_per_block,
            page_bytes: 16384,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        })
    }

    #[test]
    fn a_specimen_is_small_has_the_keys_of_its_drive_and_survives_cuts() {
        let die = die(2, 256);
        let mut drive = DriveSpec::plain("large", 16, 240_000_000_000);
        drive.mapping.journal = true;
        let original = Original { name: "large".to_owned(), die, drive };
        let specimen = Case::specimen(&original, 7).expect("there is a small drive like it");
        assert!(specimen.die.raw_bytes() * u64::from(specimen.drive.flash.dies) <= 256 << 20);
        assert_eq!((&specimen.drive.gc, &specimen.drive.mapping), (&original.drive.gc, &original.drive.mapping));
        let campaign = Campaign { kind: Kind::PowerCuts, seed: 7, runs: 2, threads: 1 };
        let report = cut_specimens(&campaign, &[original], &build_ssd, &|_| true);
        assert!(report.failures.is_empty() && report.tally.power_cuts > 4, "{:?}", report.failures);
    }

    /// It does what its file says; whether anything else goes wrong is looked at all the same.
    #[test]
    fn a_drive_that_lies_about_flush_is_not_held_to_it() {
        let die = die(2, 64);
        let mut drive = DriveSpec::plain("liar", 4, 1 << 30);
        drive.mapping.journal = true;
        drive.power_loss = Some(PowerLossSpec { flush_lies: true, ..PowerLossSpec::default() });
        let original = Original { name: "liar".to_owned(), die, drive };
        assert!(original.flush_lies());
        let campaign = Campaign { kind: Kind::PowerCuts, seed: 7, runs: 6, threads: 1 };
        let report = cut_specimens(&campaign, &[original], &build_ssd, &|_| true);
        assert!(report.failures.is_empty() && report.tally.power_cuts > 12, "{:?}", report.failures);
    }

    /// Nothing is wrong with such a drive: its runs are left out, beside those of another.
    #[test]
    fn runs_of_a_drive_that_no_small_one_is_like_are_left_out() {
        let die = die(1, 64);
        let original = |name: &str, start_free_superblocks| {
            let mut drive = DriveSpec::plain(name, 4, 1 << 30);
            drive.gc.start_free_superblocks = start_free_superblocks;
            Original { name: name.to_owned(), die: die.clone(), drive }
        };
        // As many free superblocks as a small die has blocks.
        let originals = [original("usual", 4), original("spacious", 28)];
        assert!(originals.iter().all(|original| original.drive.validate(&die).is_ok()));
        let campaign = Campaign { kind: Kind::PowerCuts, seed: 7, runs: 3, threads: 1 };
        let report = cut_specimens(&campaign, &originals, &build_ssd, &|_| true);
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        assert_eq!((report.tally.runs, report.runs()), (2, 3));
        assert_eq!(report.left_out.into_iter().collect::<Vec<_>>(), [("spacious".to_owned(), 1)]);
    }
}
