//! The tables of `docs/theory.md`.

use std::fmt::Write;

use ssdlab_ftl::VictimPolicy::{self, DChoices, Fifo, Greedy, Random};

use super::formulas;
use super::measure::{self, Length};
use super::rig::{Build, READ_NANOS};

const OPS: [f64; 4] = [0.07, 0.12, 0.25, 0.28];
/// Blocks of each of two dies.
const BLOCKS: u32 = 2048;
const LENGTH: Length = Length { warm_up: 6.0, measured: 6.0 };

/// Cold pages are rewritten once in many drive writes, and until then lie where the fill has put them.
const MIXED: Length = Length { warm_up: 60.0, measured: 10.0 };

#[derive(Default)]
pub struct Page {
    pub text: String,
    /// Points out of tolerance.
    pub misses: Vec<String>,
}

const INTRODUCTION: &str = "\
# Theory

What a drive must do can be computed for some drives and workloads. This page lays the theory beside what the
simulated drive does: the same code as in every review (command queue, buffer, translation layer, scheduler, dies),
on dies with 4 KiB pages, a bus and a link that take no time, and one superblock a die and block. Every figure on the
left is computed from its formula (`crates/device/examples/theory/formulas.rs`, which names the sources), none is
stored, except where a table says so. After every run the drive's books are checked: map against spare areas, counts
of valid pages, host writes against what the flash holds, and Little's law to the nanosecond.

This page is written by

    cargo run --release -p ssdlab-device --example theory > docs/theory.md

The over-provisioning that theory means is that of the blocks which are full when a victim is picked. A drive has a
free block and an open one besides; `exact_spare_per_10000` in a drive file adds them (see `DriveSpec::blocks_per_die`).
Where host and collector share the open block and the collector paces the host, their number is exact.

";

struct Table<'a> {
    page: &'a mut Page,
    name: &'static str,
    tolerance_percent: f64,
    worst: f64,
}

impl Page {
    fn table(&mut self, name: &'static str, about: &str, first: &str, tolerance_percent: f64) -> Table<'_> {
        let text = &mut self.text;
        let _ = write!(
            text,
            "## {name}\n\n{about} Tolerance {tolerance_percent} %.\n\n| {first} | theory | ssdlab | error |\n|---|---:|---:|---:|\n"
        );
        Table { page: self, name, tolerance_percent, worst: 0.0 }
    }
}

impl Table<'_> {
    fn row(&mut self, label: &str, theory: f64, ours: f64, digits: usize) {
        let error = (ours / theory - 1.0) * 100.0;
        eprintln!("{}: {label}: {error:+.2} %", self.name);
        self.worst = self.worst.max(error.abs());
        let _ = writeln!(self.page.text, "| {label} | {theory:.digits$} | {ours:.digits$} | {error:+.2} % |");
        if error.abs() > self.tolerance_percent {
            let name = self.name;
            self.page.misses.push(format!("{name}: {label}: theory {theory:.4}, ours {ours:.4}, {error:+.2} %"));
        }
    }

    fn end(self) {
        let _ = writeln!(self.page.text, "\nGreatest error: {:.2} %.\n", self.worst);
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn build(policy: VictimPolicy, op: f64, pages: u32) -> Build {
    measure::build(policy, op, pages, BLOCKS)
}

pub fn page() -> Page {
    let mut page = Page { text: INTRODUCTION.to_owned(), ..Page::default() };
    write_amplification(&mut page);
    temperature(&mut page);
    trim(&mut page);
    queues(&mut page);
    page
}

fn write_amplification(page: &mut Page) {
    let about = "Uniform random writes; the block with the fewest valid pages goes. Exact for many blocks.";
    let mut t = page.table("Write amplification: greedy", about, "over-provisioning, pages per block", 0.3);
    for op in OPS {
        for b in [64, 128, 256, 512] {
            let ours = measure::uniform(&build(Greedy, op, b), LENGTH);
            t.row(&format!("{}, {b}", percent(op)), formulas::greedy(op, b), ours, 4);
        }
    }
    t.end();
    let about = "Uniform random writes; the block closed longest ago goes.";
    let mut t = page.table("Write amplification: FIFO", about, "over-provisioning, pages per block", 0.3);
    for op in OPS {
        for b in [64, 256] {
            t.row(
                &format!("{}, {b}", percent(op)),
                formulas::fifo(op),
                measure::uniform(&build(Fifo, op, b), LENGTH),
                4,
            );
        }
    }
    t.end();
    let about = "Uniform random writes, 64 pages per block; the best of d blocks drawn at random goes (d = 1: random).";
    let mut t = page.table("Write amplification: d-choices and random", about, "over-provisioning, d", 0.5);
    for op in OPS {
        t.row(
            &format!("{}, 1", percent(op)),
            formulas::random(op),
            measure::uniform(&build(Random, op, 64), LENGTH),
            4,
        );
        for choices in [2, 3, 10] {
            let build = Build { choices, ..build(DChoices, op, 64) };
            let ours = measure::uniform(&build, LENGTH);
            t.row(&format!("{}, {choices}", percent(op)), formulas::d_choices(op, 64, choices), ours, 4);
        }
    }
    t.end();
}

fn temperature(page: &mut Page) {
    let about = "A share r of the writes goes to a share f of the pages; one stream, FIFO, 64 pages per block.";
    let mut t = page.table("Hot and cold data, FIFO", about, "over-provisioning, r/f", 0.5);
    for op in [0.07, 0.12, 0.28] {
        for (r, f) in [(0.8, 0.2), (0.9, 0.1)] {
            let ours = measure::hot_cold(&build(Fifo, op, 64), r, f, MIXED);
            t.row(
                &format!("{}, {:.0}/{:.0}", percent(op), r * 100.0, f * 100.0),
                formulas::fifo_hot_cold(op, r, f),
                ours,
                4,
            );
        }
    }
    t.end();
    let about = "As before with greedy. The left side is a stored mean-field result, as there is no closed form.";
    let mut t = page.table("Hot and cold data, greedy", about, "over-provisioning, r/f", 0.5);
    for (op, r, f, theory) in formulas::GREEDY_HOT_COLD_64 {
        let ours = measure::hot_cold(&build(Greedy, op, 64), r, f, MIXED);
        t.row(&format!("{}, {:.0}/{:.0}", percent(op), r * 100.0, f * 100.0), theory, ours, 4);
    }
    t.end();
}

fn trim(page: &mut Page) {
    let about = "A share q of the requests trims a random page in use, the others write random pages; greedy, 64 pages \
        per block. Exactly as a drive with the share (1 - 2q)/(1 - q) of its pages.";
    let mut t = page.table("TRIM under load", about, "over-provisioning, q", 0.5);
    let mut in_use = Vec::new();
    for op in [0.07, 0.12, 0.28] {
        for q in [0.1, 0.2, 0.3] {
            let (ours, used) = measure::trim_under_load(&build(Greedy, op, 64), q, LENGTH);
            let x = formulas::in_use_under_trim(q);
            in_use.push((op, q, x, used));
            t.row(&format!("{}, {q}", percent(op)), formulas::greedy(formulas::effective_op(op, x), 64), ours, 4);
        }
    }
    t.end();
    let mut t = page.table(
        "TRIM under load: share in use",
        "At the end of the runs above; one instant, which varies.",
        "over-provisioning, q",
        1.0,
    );
    for (op, q, theory, ours) in in_use {
        t.row(&format!("{}, {q}", percent(op)), theory, ours, 4);
    }
    t.end();
    let about = "A share of the drive is trimmed and never written again; greedy, 256 pages per block.";
    let mut t = page.table("Static TRIM", about, "over-provisioning, share trimmed", 0.5);
    for op in [0.07, 0.28] {
        for share in [0.1, 0.2, 0.5] {
            let theory = formulas::greedy(formulas::effective_op(op, 1.0 - share), 256);
            t.row(
                &format!("{}, {share}", percent(op)),
                theory,
                measure::static_trim(&build(Greedy, op, 256), share, LENGTH),
                4,
            );
        }
    }
    t.end();
}

fn queues(page: &mut Page) {
    let about = "Thousand random 4 KiB reads a second over 32 dies of 50 us. As all reads take the same time, the dies \
        move in step; the chain on how the reads are spread over them is solved exactly.";
    let mut t = page.table("Queue depth", about, "commands under way", 0.3);
    let mut lab = measure::drive_for_reads(32);
    let mut little = Vec::new();
    for depth in [1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32] {
        let (rate, latency) = measure::random_reads(&mut lab, depth, 1_000_000);
        let theory = formulas::busy_dies_deterministic(32, depth as u32) / (READ_NANOS as f64 / 1e9);
        t.row(&depth.to_string(), theory / 1e3, rate / 1e3, 2);
        little.push((depth, rate * latency / 1e9));
    }
    t.end();
    let about = "Rate times mean latency of the runs above is the number of commands under way.";
    let mut t = page.table("Little's law", about, "commands under way", 0.1);
    for (depth, product) in little {
        t.row(&depth.to_string(), depth as f64, product, 4);
    }
    t.end();
    let about = "Reads of one die arrive at random; mean response in us (M/D/1: s (1 + rho / (2 (1 - rho)))).";
    let mut t = page.table("Open arrivals", about, "utilisation", 1.5);
    for rho in [0.1, 0.3, 0.5, 0.7, 0.8, 0.9] {
        let theory = READ_NANOS as f64 / 1e3 * formulas::m_d_1(rho);
        // Near saturation a queue takes (1 - rho)^-2 services to forget.
        let count = (200_000.0 / ((1.0 - rho) * (1.0 - rho))) as u64;
        t.row(&rho.to_string(), theory, measure::open_arrivals(rho, count) / 1e3, 2);
    }
    t.end();
}
