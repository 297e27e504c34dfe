//! What a campaign has done, and which parts of the drive it has reached.

use std::collections::BTreeMap;
use std::fmt;

use crate::case::Case;
use crate::choices::{self, Choice};
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
    /// Copies of composed devices, made on the way and held against them.
    pub copies: u64,
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
        self.took(0, choices::of_drive(case));
    }

    /// What such a run of a drive that is cut has to do with cuts.
    pub fn plug(&mut self, case: &Case) {
        self.took(OF_CUTS, choices::of_cuts(case));
    }

    /// Choices whose subjects are numbered from here on.
    fn took(&mut self, first: u8, choices: impl IntoIterator<Item = Choice>) {
        for (subject, (name, choice)) in (first..).zip(choices) {
            *self.coverage.entry((subject, name)).or_default().entry(choice).or_default() += 1;
        }
    }

    /// An erase of everything that the power was cut in, or after.
    pub fn erase_cut(&mut self, kind: &'static str) {
        self.erases_cut += 1;
        *self.coverage.entry((u8::MAX - 2, "erase cut")).or_default().entry(kind).or_default() += 1;
    }

    /// A run of a device made of devices: of these kinds, each counted once.
    pub fn composed(&mut self, mut kinds: Vec<&'static str>) {
        self.runs += 1;
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
        self.copies += other.copies;
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
        if self.copies > 0 {
            writeln!(f, "{:<24}{:>12}", "copies followed", self.copies)?;
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
