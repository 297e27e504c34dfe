//! A device in small: the same proportions, a part of the bytes.
//!
//! Blocks keep their number and lose pages, so that the collector has as many superblocks, as many of them spare, and as
//! many drive writes to the same state. An erase takes as much less time as its block is smaller: the share of the dies'
//! time that erases take stays. Dies, channels, buses, programs and the firmware's times stay, and with them every rate.
//! What changes with the size of a superblock, such as the longest pause, does not stay.
//!
//! The write buffer, which takes the first writes of a run at the speed of the link, holds as much less, but two rows of all
//! dies, which keep them busy.
//!
//! A block is read as often a second, for as much less time: data move for having been read after as many reads less. The
//! errors that these reads make are not scaled.
//!
//! The idle time after which it begins to work by itself stays (`gc.background_after_idle_ms`, `slc_cache.fold_after_idle_ms`): pauses
//! of a trace are its host's and stay too, and one that is too short for the whole drive is not to be long enough here. So less than
//! an eighth of such work is done in a rest that is an eighth as long.
//!
//! Its body warms up in as many drive writes, and its sensor is read as often in them.
//!
//! A drive that maps by log blocks copies whole blocks for a single write. There the blocks stay, and there are fewer, and
//! fewer logs. Its buffer need not hold more than a few pages: merges are what it waits for.
//!
//! No value becomes less than its key can say (`slc_cache.fold_pause_ms` of 0.01 ms stays as it is): there the proportions do not hold.
//!
//! Of drives in an array each is made small, and so is the cache of an adapter before them: it is full after as many drive
//! writes. Stripes, its lines and what it reads ahead are shapes of requests, which stay.

use ssdlab_arrays::adapter_keys;
use ssdlab_keys::KeyTable;
use ssdlab_nand::{DieSpec, Geometry, PageOrder};
use ssdlab_ssd::drive_keys;

use super::{DeviceRecipe, Parts};
use crate::resolve::Drive;

/// `None` if anything in it cannot be divided so. The time that a disk takes to seek does not follow from its size.
pub(super) fn device(recipe: &DeviceRecipe, by: u32) -> Option<DeviceRecipe> {
    let parts = match &recipe.parts {
        Parts::Ssd(whole) => Parts::Ssd(Box::new(drive(whole, by)?)),
        Parts::Disk(_) => return None,
        Parts::Raid0 { stripe_bytes, members } => {
            let members = members.iter().map(|member| device(member, by)).collect::<Option<_>>()?;
            Parts::Raid0 { stripe_bytes: *stripe_bytes, members }
        }
        Parts::Ranges(parts) => {
            let small = |(member, bytes): &(DeviceRecipe, Option<u64>)| {
                let member = device(member, by)?;
                let unit = member.ssds().iter().map(|drive| drive.spec.mapping.unit_bytes()).max()?;
                // Of all that a device has, no more may be left than what it has itself then.
                let most = member.capacity_bytes();
                let bytes = bytes.map(|b| whole_units(b / u64::from(by), unit).min(most));
                Some((member, bytes))
            };
            Parts::Ranges(parts.iter().map(small).collect::<Option<_>>()?)
        }
        Parts::Adapter(adapter, drives) => {
            let mut adapter = adapter.clone();
            if let Some(cache) = &mut adapter.spec.cache {
                cache.capacity_mib = whole_part(adapter_keys(), "cache.capacity_mib", cache.capacity_mib, by);
            }
            // What is read ahead does not shrink: it goes by the stream.
            adapter.spec.validate().ok()?;
            Parts::Adapter(adapter, Box::new(device(drives, by)?))
        }
    };
    let small = DeviceRecipe { parts, ..recipe.clone() };
    small.checked_capacity().is_ok().then_some(small)
}

/// `None` if the pages of a block, or its blocks, cannot be divided so, or the drive cannot be built then.
fn drive(drive: &Drive, by: u32) -> Option<Drive> {
    let mut small = drive.clone();
    let (spec, die) = (&mut small.spec, &mut small.die.spec);
    spec.capacity_bytes = whole_units(spec.capacity_bytes / u64::from(by), spec.mapping.unit_bytes());
    let page_kib = die.geometry.page_bytes / 1024;
    let mut least_kib = 2 * spec.flash.dies * die.geometry.planes * page_kib;
    if let Some(log_blocks) = &mut spec.log_blocks {
        // A stream takes the logs of a stripe, and merges under way hold theirs. They lie in blocks of their own: of the
        // spare area little is left.
        let fewest = log_blocks.stripe_superblocks.max(log_blocks.merges_at_once);
        log_blocks.open_logs = (log_blocks.open_logs / by).max(fewest).min(log_blocks.open_logs);
        die.geometry.blocks_per_plane = die.geometry.blocks_per_plane / by + log_blocks.open_logs;
        least_kib = 4 * page_kib;
    } else {
        if !die.geometry.pages_per_block.is_multiple_of(by) {
            return None;
        }
        die.geometry.pages_per_block /= by;
        level_edges(&drive.die.spec, die);
        die.timing.erase_ms /= f64::from(by);
        for mode in [&mut die.modes.slc, &mut die.modes.mlc, &mut die.modes.tlc].into_iter().flatten() {
            mode.erase_ms /= f64::from(by);
        }
    }
    let of_drive = |key: &str, value: f64| part(drive_keys(), key, value, by);
    let whole_of_drive = |key: &str, value: u32| whole_part(drive_keys(), key, value, by);
    let buffer_kib = &mut spec.write_buffer.capacity_kib;
    *buffer_kib = whole_of_drive("write_buffer.capacity_kib", *buffer_kib).max(least_kib).min(*buffer_kib);
    if let Some(cache) = &mut spec.slc_cache {
        cache.capacity_gb = cache.capacity_gb.map(|gb| gb / f64::from(by));
        cache.fold_pause_ms = of_drive("slc_cache.fold_pause_ms", cache.fold_pause_ms);
    }
    if let Some(reads) = spec.refresh.as_mut().and_then(|refresh| refresh.after_block_reads.as_mut()) {
        *reads = whole_of_drive("refresh.after_block_reads", *reads);
    }
    if let Some(heat) = &mut spec.heat {
        heat.heat_capacity_j_per_k = of_drive("heat.heat_capacity_j_per_k", heat.heat_capacity_j_per_k);
        heat.sample_ms = of_drive("heat.sample_ms", heat.sample_ms);
    }
    let mapping = &mut spec.mapping;
    let rows = mapping.journal_limit_rows;
    mapping.journal_limit_rows = rows.map(|rows| whole_of_drive("mapping.journal_limit_rows", rows));
    mapping.map_cache_kib = mapping.map_cache_kib.map(|kib| whole_of_drive("mapping.map_cache_kib", kib));
    ssdlab_ssd::build(small.model(), &small.spec, &small.die.spec, 1).is_ok().then_some(small)
}

/// A part of what a key says, but no less than it can say: a drive of which a single value cannot be divided so far is made small
/// all the same.
fn part(keys: &KeyTable, key: &str, value: f64, by: u32) -> f64 {
    let least = keys.key(key).and_then(|key| key.range.least).unwrap_or(0.0);
    (value / f64::from(by)).max(least)
}

/// The same of a count, which is rounded down.
fn whole_part(keys: &KeyTable, key: &str, value: u32, by: u32) -> u32 {
    part(keys, key, value.into(), by) as u32
}

/// As much of it as whole units of the map hold.
fn whole_units(bytes: u64, unit_bytes: u32) -> u64 {
    bytes / u64::from(unit_bytes) * u64::from(unit_bytes)
}

/// An order of pages whose edges have more fast pages than the rest would have more of them in a short block: eight of 64
/// instead of eight of 512. There the pages alternate, and their times are such that a block takes its share of the time.
fn level_edges(whole: &DieSpec, small: &mut DieSpec) {
    if whole.geometry.page_order != PageOrder::PairsL95b {
        return;
    }
    small.geometry.page_order = PageOrder::Alternating;
    let (before, now) = (&whole.geometry, &small.geometry);
    for times_us in [&mut small.timing.read_us, &mut small.timing.program_us] {
        let share = mean_us(before, times_us) / mean_us(now, times_us);
        times_us.iter_mut().for_each(|us| *us *= share);
    }
}

/// The mean of a time over the pages of a block.
fn mean_us(g: &Geometry, times_us: &[f64]) -> f64 {
    let of_page = |page| times_us[g.page_order.kind_index(page, g.pages_per_block, g.bits_per_cell)];
    (0..g.pages_per_block).map(of_page).sum::<f64>() / f64::from(g.pages_per_block)
}
