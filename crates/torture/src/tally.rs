//! What a campaign has done, and which parts of the drive it has reached.

use std::collections::BTreeMap;
use std::fmt;

use ssdlab_ftl::{
    Buffering, Frontier, HostShare, KeepsOlderPages, LogScheme, RowSpan, SlcCachePolicy, SuperblockSpan, TieBreak,
    VictimPolicy,
};
use ssdlab_nand::PageOrder;
use ssdlab_ssd::{Cores, Protection};

use crate::case::Case;
use crate::composed::Plan;
use crate::phase::Phase;
use crate::subject::Facts;

/// From this number on subjects are of runs that cut the power.
const OF_CUTS: u8 = 200;

/// Sums over runs; the order in which runs are added does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub runs: u64,
    pub host_commands: u64,
    pub refused_commands: u64,
    pub uncorrectable_commands: u64,
    pub rows_programmed: u64,
    pub units_moved: u64,
    pub block_erases: u64,
    pub program_failures: u64,
    pub erase_failures: u64,
    /// Units that the plain read did not bring; of these: sensed softly or further, rebuilt, and lost.
    pub reread_units: u64,
    pub soft_units: u64,
    pub rebuilt_units: u64,
    pub lost_units: u64,
    /// Runs that ended with a read-only drive.
    pub read_only: u64,
    /// Of these, runs in which not even the last data could be written.
    pub frozen: u64,
    pub phases: u64,
    /// Power cuts, and pages that counted as destroyed by them when the run ended.
    pub power_cuts: u64,
    pub drives_loaded: u64,
    /// Erases of everything that power cuts came into, or after.
    pub erases_cut: u64,
    pub destroyed_pages: u64,
    /// By subject and choice: in how many runs (of phases: how often) it was taken.
    pub coverage: BTreeMap<(u8, &'static str), BTreeMap<&'static str, u64>>,
}

impl Tally {
    pub fn case(&mut self, case: &Case) {
        self.runs += 1;
        let (gc, mapping, wear) = (&case.drive.gc, &case.drive.mapping, &case.drive.wear_levelling);
        let on = |on: bool| if on { "on" } else { "off" };
        let choices = [
            (
                "gc policy",
                match gc.policy {
                    VictimPolicy::Greedy => "greedy",
                    VictimPolicy::Fifo => "fifo",
                    VictimPolicy::DChoices => "d-choices",
                    VictimPolicy::CostBenefit => "cost-benefit",
                    VictimPolicy::Random => "random",
                },
            ),
            ("tie break", if gc.tie_break == TieBreak::Fifo { "fifo" } else { "lifo" }),
            (
                "frontier",
                match gc.frontier {
                    Frontier::Shared => "shared",
                    Frontier::Separate => "separate",
                    Frontier::ByStream => "by-stream",
                },
            ),
            ("buffering", if gc.buffering == Buffering::Streaming { "streaming" } else { "stop-and-wait" }),
            (
                "host share",
                match gc.host_share {
                    HostShare::Unlimited => "unlimited",
                    HostShare::Balanced => "balanced",
                    HostShare::Trickle => "trickle",
                    HostShare::BetweenRounds => "between rounds",
                },
            ),
            ("background gc", on(gc.background_after_idle_ms.is_some())),
            (
                "superblock",
                match mapping.superblock {
                    SuperblockSpan::AllDies => "all-dies",
                    SuperblockSpan::OneDie => "one-die",
                    SuperblockSpan::DieGroup => "die-group",
                },
            ),
            ("journal", on(mapping.journal)),
            ("map", if mapping.map_cache_kib.is_some() { "on demand" } else { "in dram" }),
            (
                "slc cache",
                match case.drive.slc_cache.as_ref().map(|cache| (cache.policy, cache.capacity_gb)) {
                    None => "none",
                    Some((SlcCachePolicy::Dynamic, None)) => "dynamic",
                    Some((SlcCachePolicy::Dynamic, Some(_))) => "dynamic up to a size",
                    Some((SlcCachePolicy::Fixed, _)) => "fixed",
                    Some((SlcCachePolicy::OnDie, _)) => "on-die",
                },
            ),
            (
                "cached writes",
                match case.drive.slc_cache.as_ref().map(|cache| cache.largest_write_kib) {
                    None => "none",
                    Some(None) => "all",
                    Some(Some(_)) => "short ones",
                },
            ),
            ("compression", on(case.drive.compression.is_some())),
            (
                "error correction",
                match case.drive.ecc.as_ref().map(|ecc| ecc.bch.is_some()) {
                    None => "none",
                    Some(true) => "bch",
                    Some(false) => "ldpc",
                },
            ),
            (
                "refresh",
                match case.drive.refresh.as_ref().map(|r| (r.after_days.is_some(), r.after_block_reads.is_some())) {
                    None | Some((false, false)) => "none",
                    Some((true, _)) => "of old data",
                    Some((false, true)) => "of much read data",
                },
            ),
            ("parity stripes", on(case.drive.ecc.as_ref().is_some_and(|ecc| ecc.parity_stripe.is_some()))),
            (
                "least read",
                match case.drive.controller.read_granule_bytes {
                    None => "a page",
                    Some(512) => "a sector",
                    Some(_) => "some sectors",
                },
            ),
            (
                "row",
                match case.drive.mapping.row {
                    RowSpan::AllPlanes => "all planes",
                    RowSpan::OnePlane => "one plane",
                    RowSpan::OnePlaneRuns => "one plane, runs together",
                },
            ),
            (
                "mapping unit",
                match case.drive.mapping.unit_kib {
                    4 => "4 KiB",
                    8 => "8 KiB",
                    _ => "16 KiB",
                },
            ),
            ("work beside the host", on(case.drive.gc.background_beside_host)),
            (
                "cores",
                match case.drive.controller.cores {
                    Cores::One => "one",
                    Cores::HostAndFlash => "host and flash",
                    Cores::HostMapAndFlash => "host, map and flash",
                },
            ),
            (
                "command latency",
                on(case.drive.controller.read_latency_us + case.drive.controller.write_latency_us > 0.0),
            ),
            ("time of a DMA extent", on(case.drive.controller.dma_extent_us > 0.0)),
            ("time to move a unit", on(case.drive.controller.move_unit_us > 0.0)),
            (
                "wear levelling",
                match (wear.dynamic, wear.static_spread_erases.is_some()) {
                    (false, false) => "off",
                    (true, false) => "dynamic",
                    (false, true) => "static",
                    (true, true) => "both",
                },
            ),
            (
                "page order",
                match (case.die.geometry.page_order, case.die.geometry.bits_per_cell) {
                    (PageOrder::Uniform, _) => "uniform",
                    (PageOrder::Alternating | PageOrder::PairsL95b, _) => "alternating",
                    (PageOrder::Triplets, _) => "triplets",
                    (PageOrder::WordLines, 4) => "word lines of four",
                    (PageOrder::WordLines, _) => "word lines",
                },
            ),
            ("planes", ["", "1", "2", "", "4"][case.die.geometry.planes as usize]),
            (
                "dies",
                match case.drive.flash.dies {
                    1 => "1",
                    2..=4 => "2-4",
                    _ => "5-12",
                },
            ),
            ("write cache", on(case.drive.write_buffer.write_cache)),
            ("read ahead", on(case.drive.controller.read_ahead_kib > 0)),
            ("reads first", on(case.drive.controller.reads_first)),
            ("reserve", on(mapping.reserved_blocks_per_1000 > 0)),
            ("factory bad blocks", on(case.die.wear.factory_bad_blocks_per_10000 > 0)),
            ("failing programs", on(case.faults.programs_per_failure > 0)),
            ("failing erases", on(case.faults.erases_per_failure > 0)),
            ("heat", on(case.drive.heat.is_some())),
            ("encryption", on(case.drive.encryption.is_some())),
            (
                "translation",
                match case.drive.log_blocks.as_ref().map(|spec| spec.scheme) {
                    None => "page map",
                    Some(LogScheme::Replacement) => "replacement",
                    Some(LogScheme::Bast) => "bast",
                    Some(LogScheme::Fast) => "fast",
                },
            ),
        ];
        for (k, (subject, choice)) in choices.into_iter().enumerate() {
            *self.coverage.entry((k as u8, subject)).or_default().entry(choice).or_default() += 1;
        }
    }

    /// What such a run of a drive that is cut has to do with cuts.
    pub fn plug(&mut self, case: &Case) {
        let choices = [
            (
                "capacitors protect",
                match case.drive.power_loss.as_ref().map(|spec| spec.protects) {
                    None | Some(Protection::Nothing) => "nothing",
                    Some(Protection::DataAtRest) => "data at rest",
                    Some(Protection::Everything) => "everything",
                },
            ),
            (
                "keeps older pages",
                match case.drive.keeps_older_pages() {
                    KeepsOlderPages::No => "no",
                    KeepsOlderPages::Copies => "copies",
                    KeepsOlderPages::PaddingAtFlush => "padding-at-flush",
                    KeepsOlderPages::Parity => "parity",
                },
            ),
        ];
        for (k, (subject, choice)) in choices.into_iter().enumerate() {
            *self.coverage.entry((OF_CUTS + k as u8, subject)).or_default().entry(choice).or_default() += 1;
        }
    }

    /// An erase of everything that the power was cut in, or after.
    pub fn erase_cut(&mut self, kind: &'static str) {
        self.erases_cut += 1;
        *self.coverage.entry((u8::MAX - 2, "erase cut")).or_default().entry(kind).or_default() += 1;
    }

    /// A run of a device made of devices: of what kinds, each counted once.
    pub fn composed(&mut self, plan: &Plan) {
        self.runs += 1;
        let mut kinds = Vec::new();
        plan.kinds(&mut kinds);
        kinds.sort_unstable();
        kinds.dedup();
        let found = self.coverage.entry((u8::MAX - 1, "made of")).or_default();
        kinds.into_iter().for_each(|kind| *found.entry(kind).or_default() += 1);
    }

    pub fn phase(&mut self, phase: Phase) {
        self.phases += 1;
        *self.coverage.entry((u8::MAX, "phase")).or_default().entry(phase.name()).or_default() += 1;
    }

    pub fn drive(&mut self, facts: &Facts) {
        let f = &facts.ftl;
        self.rows_programmed += f.host_rows + f.gc_rows + f.metadata_rows + f.retire_rows + f.safety_rows;
        self.units_moved += f.gc_units;
        self.block_erases += facts.flash().block_erases;
        self.program_failures += f.program_failures;
        self.erase_failures += f.erase_failures;
        self.reread_units += facts.flash().reread_units;
        self.soft_units += facts.flash().soft_units;
        self.rebuilt_units += facts.flash().rebuilt_units;
        self.lost_units += facts.flash().lost_units;
        self.read_only += u64::from(facts.read_only);
        self.frozen += u64::from(facts.frozen);
    }

    /// Adds the runs of another.
    pub fn add(&mut self, other: &Tally) {
        self.runs += other.runs;
        self.host_commands += other.host_commands;
        self.refused_commands += other.refused_commands;
        self.uncorrectable_commands += other.uncorrectable_commands;
        self.rows_programmed += other.rows_programmed;
        self.units_moved += other.units_moved;
        self.block_erases += other.block_erases;
        self.program_failures += other.program_failures;
        self.erase_failures += other.erase_failures;
        self.reread_units += other.reread_units;
        self.soft_units += other.soft_units;
        self.rebuilt_units += other.rebuilt_units;
        self.lost_units += other.lost_units;
        self.read_only += other.read_only;
        self.frozen += other.frozen;
        self.phases += other.phases;
        self.power_cuts += other.power_cuts;
        self.drives_loaded += other.drives_loaded;
        self.erases_cut += other.erases_cut;
        self.destroyed_pages += other.destroyed_pages;
        for (subject, choices) in &other.coverage {
            let mine = self.coverage.entry(*subject).or_default();
            for (choice, times) in choices {
                *mine.entry(choice).or_default() += times;
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = [
            ("runs", self.runs),
            ("phases checked", self.phases),
            ("host commands", self.host_commands),
            ("  refused, read-only", self.refused_commands),
            ("  uncorrectable", self.uncorrectable_commands),
            ("rows programmed", self.rows_programmed),
            ("units moved", self.units_moved),
            ("plane-block erases", self.block_erases),
            ("grown bad blocks", self.program_failures + self.erase_failures),
            ("  programs failed", self.program_failures),
            ("  erases failed", self.erase_failures),
            ("units read again", self.reread_units),
            ("  sensed softly or more", self.soft_units),
            ("  rebuilt from stripes", self.rebuilt_units),
            ("  lost", self.lost_units),
            ("drives gone read-only", self.read_only),
            ("  without a good block", self.frozen),
        ];
        for (what, count) in lines {
            writeln!(f, "{what:<24}{count:>12}")?;
        }
        if self.power_cuts > 0 {
            writeln!(f, "{:<24}{:>12}", "power cuts", self.power_cuts)?;
            writeln!(f, "{:<24}{:>12}", "  saved and loaded", self.drives_loaded)?;
            writeln!(f, "{:<24}{:>12}", "  into or after erases", self.erases_cut)?;
            writeln!(f, "{:<24}{:>12}", "  pages destroyed", self.destroyed_pages)?;
        }
        writeln!(f, "coverage")?;
        for ((_, subject), choices) in &self.coverage {
            let choices: Vec<String> = choices.iter().map(|(choice, times)| format!("{choice} {times}")).collect();
            writeln!(f, "  {subject:<22}{}", choices.join(", "))?;
        }
        Ok(())
    }
}
