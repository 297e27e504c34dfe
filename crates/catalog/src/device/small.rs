//! A drive in small: the same proportions, a part of the bytes.
//!
//! Blocks keep their number and lose pages, so that the collector has as many superblocks, as many of them spare, and as
//! many drive writes to the same state. An erase takes as much less time as its block is smaller: the share of the dies'
//! time that erases take stays. Dies, channels, buses, programs and the firmware's times stay, and with them every rate.
//! What changes with the size of a superblock, such as the longest pause, does not stay.
//!
//! A drive that maps by log blocks copies whole blocks for a single write. There the blocks stay, and there are fewer.

use crate::resolve::Drive;

/// `None` if the pages of a block, or its blocks, cannot be divided so, or the drive cannot be built then.
pub(super) fn drive(drive: &Drive, by: u32) -> Option<Drive> {
    let mut small = drive.clone();
    let (spec, die) = (&mut small.spec, &mut small.die.spec);
    spec.capacity_bytes = spec.capacity_bytes / u64::from(by) / 4096 * 4096;
    if spec.log_blocks.is_some() {
        die.geometry.blocks_per_plane /= by;
    } else {
        if !die.geometry.pages_per_block.is_multiple_of(by) {
            return None;
        }
        die.geometry.pages_per_block /= by;
        die.timing.erase_ms /= f64::from(by);
        for mode in [&mut die.modes.slc, &mut die.modes.mlc, &mut die.modes.tlc].into_iter().flatten() {
            mode.erase_ms /= f64::from(by);
        }
    }
    if let Some(cache) = &mut spec.slc_cache {
        cache.capacity_gb = cache.capacity_gb.map(|gb| gb / f64::from(by));
        cache.fold_pause_ms /= f64::from(by);
    }
    spec.mapping.journal_limit_rows = spec.mapping.journal_limit_rows.map(|rows| (rows / by).max(2));
    spec.mapping.map_cache_kib = spec.mapping.map_cache_kib.map(|kib| kib / by);
    ssdlab_ssd::build(&small.name, &small.spec, &small.die.spec, 1).is_ok().then_some(small)
}
