//! What was drawn of each subject: for the tally, which prints subjects in the order in which they stand here.

use ssdlab_ftl::{
    Buffering, Frontier, GcSpec, HostShare, KeepsOlderPages, LogScheme, MappingSpec, RowSpan, SlcCachePolicy,
    SlcCacheSpec, SuperblockSpan, TieBreak, VictimPolicy,
};
use ssdlab_nand::PageOrder;
use ssdlab_ssd::{ControllerSpec, Cores, DriveSpec, Protection};

use crate::case::Case;

/// A subject, and what was chosen.
pub type Choice = (&'static str, &'static str);

/// Of the drive of a case.
pub fn of_drive(case: &Case) -> impl Iterator<Item = Choice> {
    let drive = &case.drive;
    gc(&drive.gc)
        .into_iter()
        .chain(map(&drive.mapping))
        .chain(slc_cache(drive.slc_cache.as_ref()))
        .chain(safety(drive))
        .chain(rows_and_units(&drive.mapping))
        .chain(processor(&drive.gc, &drive.controller))
        .chain(flash(case))
        .chain(host_side(drive))
        .chain(faults(case))
        .chain(extras(drive))
}

/// Of what matters to a drive that is cut.
pub fn of_cuts(case: &Case) -> [Choice; 2] {
    let protects = match case.drive.power_loss.as_ref().map(|spec| spec.protects) {
        None | Some(Protection::Nothing) => "nothing",
        Some(Protection::DataAtRest) => "data at rest",
        Some(Protection::Everything) => "everything",
    };
    let keeps = match case.drive.keeps_older_pages() {
        KeepsOlderPages::No => "no",
        KeepsOlderPages::Copies => "copies",
        KeepsOlderPages::PaddingAtFlush => "padding-at-flush",
        KeepsOlderPages::Parity => "parity",
    };
    [("capacitors protect", protects), ("keeps older pages", keeps)]
}

fn on(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn gc(gc: &GcSpec) -> [Choice; 6] {
    let policy = match gc.policy {
        VictimPolicy::Greedy => "greedy",
        VictimPolicy::Fifo => "fifo",
        VictimPolicy::DChoices => "d-choices",
        VictimPolicy::CostBenefit => "cost-benefit",
        VictimPolicy::WindowedGreedy => "windowed-greedy",
        VictimPolicy::Random => "random",
    };
    let frontier = match gc.frontier {
        Frontier::Shared => "shared",
        Frontier::Separate => "separate",
        Frontier::ByStream => "by-stream",
    };
    let host_share = match gc.host_share {
        HostShare::Unlimited => "unlimited",
        HostShare::Balanced => "balanced",
        HostShare::InStep => "in step",
        HostShare::Trickle => "trickle",
        HostShare::BetweenRounds => "between rounds",
    };
    [
        ("gc policy", policy),
        ("tie break", if gc.tie_break == TieBreak::Fifo { "fifo" } else { "lifo" }),
        ("frontier", frontier),
        ("buffering", if gc.buffering == Buffering::Streaming { "streaming" } else { "stop-and-wait" }),
        ("host share", host_share),
        ("background gc", on(gc.background_after_idle_ms.is_some())),
    ]
}

fn map(mapping: &MappingSpec) -> [Choice; 3] {
    let superblock = match mapping.superblock {
        SuperblockSpan::AllDies => "all-dies",
        SuperblockSpan::OneDie => "one-die",
        SuperblockSpan::DieGroup => "die-group",
    };
    [
        ("superblock", superblock),
        ("journal", on(mapping.journal)),
        ("map", if mapping.map_cache_kib.is_some() { "on demand" } else { "in dram" }),
    ]
}

fn slc_cache(cache: Option<&SlcCacheSpec>) -> [Choice; 2] {
    let policy = match cache.map(|cache| (cache.policy, cache.capacity_gb)) {
        None => "none",
        Some((SlcCachePolicy::Dynamic, None)) => "dynamic",
        Some((SlcCachePolicy::Dynamic, Some(_))) => "dynamic up to a size",
        Some((SlcCachePolicy::Fixed, _)) => "fixed",
        Some((SlcCachePolicy::OnDie, _)) => "on-die",
    };
    let writes = match cache.map(|cache| cache.largest_write_kib) {
        None => "none",
        Some(None) => "all",
        Some(Some(_)) => "short ones",
    };
    [("slc cache", policy), ("cached writes", writes)]
}

/// What is done so that data can be read, and how.
fn safety(drive: &DriveSpec) -> [Choice; 6] {
    let correction = match drive.ecc.as_ref().map(|ecc| ecc.bch.is_some()) {
        None => "none",
        Some(true) => "bch",
        Some(false) => "ldpc",
    };
    let refresh = match drive.refresh.as_ref().map(|r| (r.after_days.is_some(), r.after_block_reads.is_some())) {
        None | Some((false, false)) => "none",
        Some((true, _)) => "of old data",
        Some((false, true)) => "of much read data",
    };
    let least_read = match drive.controller.read_granule_bytes {
        None => "a page",
        Some(512) => "a sector",
        Some(_) => "some sectors",
    };
    [
        ("compression", on(drive.compression.is_some())),
        ("error correction", correction),
        ("refresh", refresh),
        ("used before", on(drive.used.is_some())),
        ("parity stripes", on(drive.ecc.as_ref().is_some_and(|ecc| ecc.parity_stripe.is_some()))),
        ("least read", least_read),
    ]
}

fn rows_and_units(mapping: &MappingSpec) -> [Choice; 2] {
    let row = match mapping.row {
        RowSpan::AllPlanes => "all planes",
        RowSpan::OnePlane => "one plane",
        RowSpan::OnePlaneRuns => "one plane, runs together",
    };
    let unit = match mapping.unit_kib {
        4 => "4 KiB",
        8 => "8 KiB",
        _ => "16 KiB",
    };
    [("row", row), ("mapping unit", unit)]
}

fn processor(gc: &GcSpec, controller: &ControllerSpec) -> [Choice; 5] {
    let cores = match controller.cores {
        Cores::One => "one",
        Cores::HostAndFlash => "host and flash",
        Cores::HostMapAndFlash => "host, map and flash",
    };
    [
        ("work beside the host", on(gc.background_beside_host)),
        ("cores", cores),
        ("command latency", on(controller.read_latency_us + controller.write_latency_us > 0.0)),
        ("time of a DMA extent", on(controller.dma_extent_us > 0.0)),
        ("time to move a unit", on(controller.move_unit_us > 0.0)),
    ]
}

fn flash(case: &Case) -> [Choice; 4] {
    let (wear, geometry) = (&case.drive.wear_levelling, &case.die.geometry);
    let levelling = match (wear.dynamic, wear.static_spread_erases.is_some()) {
        (false, false) => "off",
        (true, false) => "dynamic",
        (false, true) => "static",
        (true, true) => "both",
    };
    let page_order = match (geometry.page_order, geometry.bits_per_cell) {
        (PageOrder::Uniform, _) => "uniform",
        (PageOrder::Alternating | PageOrder::PairsL95b, _) => "alternating",
        (PageOrder::Triplets, _) => "triplets",
        (PageOrder::WordLines, 4) => "word lines of four",
        (PageOrder::WordLines, _) => "word lines",
    };
    let dies = match case.drive.flash.dies {
        1 => "1",
        2..=4 => "2-4",
        _ => "5-12",
    };
    [
        ("wear levelling", levelling),
        ("page order", page_order),
        ("planes", ["", "1", "2", "", "4"][geometry.planes as usize]),
        ("dies", dies),
    ]
}

fn host_side(drive: &DriveSpec) -> [Choice; 3] {
    [
        ("write cache", on(drive.write_buffer.write_cache)),
        ("read ahead", on(drive.controller.read_ahead_kib > 0)),
        ("reads first", on(drive.controller.reads_first)),
    ]
}

/// Blocks that fail, and what there is for them.
fn faults(case: &Case) -> [Choice; 4] {
    [
        ("reserve", on(case.drive.mapping.reserved_blocks_per_1000 > 0)),
        ("factory bad blocks", on(case.die.wear.factory_bad_blocks_per_10000 > 0)),
        ("failing programs", on(case.faults.programs_per_failure > 0)),
        ("failing erases", on(case.faults.erases_per_failure > 0)),
    ]
}

fn extras(drive: &DriveSpec) -> [Choice; 3] {
    let translation = match drive.log_blocks.as_ref().map(|spec| spec.scheme) {
        None => "page map",
        Some(LogScheme::Replacement) => "replacement",
        Some(LogScheme::Bast) => "bast",
        Some(LogScheme::Fast) => "fast",
    };
    [("heat", on(drive.heat.is_some())), ("encryption", on(drive.encryption.is_some())), ("translation", translation)]
}
