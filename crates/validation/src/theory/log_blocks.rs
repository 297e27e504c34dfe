//! Drives that translate by blocks: how often random writes make them merge, and what that takes.
//!
//! One die of one channel, so that a superblock is a block. `L` logs of `b` pages over `D` blocks of data; `c` is the time
//! to copy a page: it is read, crosses the bus once, and is programmed.

use std::collections::VecDeque;

use ssdlab_core::{Rng, SECTOR_BYTES, UNIT_BYTES};
use ssdlab_device::Device;
use ssdlab_ftl::{LogBlock, LogBlockSpec, LogScheme};
use ssdlab_nand::{Bus, DieSpec, Geometry, PageOrder, Timing, Wear};
use ssdlab_ssd::{ControllerSpec, DriveSpec, SimulatedSsd, WriteBufferSpec};

use super::measure::Effort;
use super::rig::{Ask, Lab, Measured};

pub const ERASE_MS: f64 = 2.0;
/// Where a sum of chances that fall ever faster is left.
const NO_CHANCE: f64 = 1e-12;

/// Bits of a cell, by what they take to read and to program in the review of JMF602B drives that this project follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    Slc,
    Mlc,
}

impl Cell {
    /// Microseconds of a read and of a program.
    fn times(self) -> (f64, f64) {
        match self {
            Cell::Slc => (25.0, 250.0),
            Cell::Mlc => (50.0, 900.0),
        }
    }
}

/// What such a drive is made of.
#[derive(Clone, Copy, Debug)]
pub struct LogBuild {
    pub scheme: LogScheme,
    pub cell: Cell,
    pub pages: u32,
    pub data_blocks: u32,
    pub logs: u32,
    /// Microseconds that a page takes on the bus.
    pub bus_us: u32,
}

impl LogBuild {
    /// Milliseconds to copy a page.
    fn copy_ms(&self) -> f64 {
        let (read, program) = self.cell.times();
        (read + program + f64::from(self.bus_us)) / 1e3
    }

    /// Milliseconds to program a page of the host.
    fn program_ms(&self) -> f64 {
        (self.cell.times().1 + f64::from(self.bus_us)) / 1e3
    }

    /// Chance that a block has one of the logs when it is written, of which there are fewer than blocks.
    fn open_share(&self) -> f64 {
        f64::from(self.logs) / f64::from(self.data_blocks)
    }

    /// BAST, merges for each random write. A write finds its block's log with the chance `h = L/D`, so that a log would take
    /// `1/(1 - h)` pages; but with `b` of them it is full, and the next write to its block closes it: `(1 - h)/(1 - h^b)`.
    /// Of few logs that is `1 - h`.
    pub fn bast_merges(&self) -> f64 {
        let h = self.open_share();
        (1.0 - h) / (1.0 - libm::pow(h, f64::from(self.pages)))
    }

    /// BAST, milliseconds of a random write: `b c + 2 tE` for a merge, and the page. A log of `k` pages, as many as have the
    /// share `(1 - h) h^(k-1)` of all, holds the first of its block in order with the chance `b^-k` and then becomes the
    /// block: `k` copies less, and one erase.
    pub fn bast_ms(&self) -> f64 {
        let (b, h) = (f64::from(self.pages), self.open_share());
        let in_order = 1.0 - h / b;
        let saved = (1.0 - h) / b * (self.copy_ms() / in_order + ERASE_MS) / in_order;
        self.bast_merges() * (b * self.copy_ms() + 2.0 * ERASE_MS - saved) + self.program_ms()
    }

    /// FAST, merges for each random write: a block is merged once it has a page in the log that is closed next, and then
    /// has none in any. A renewal: after a merge it waits `D` writes for its first page, and `L b` writes for that one's log.
    /// Of first order in `b/D` and `L/D`: see [`LogBuild::fast_merges_too_many_percent`].
    pub fn fast_merges(&self) -> f64 {
        1.0 / (1.0 + f64::from(self.logs * self.pages) / f64::from(self.data_blocks))
    }

    /// How much more [`LogBuild::fast_merges`] says than [`LogBuild::fast_merges_mean_wait`], per cent. With one log it is `b/2D`
    /// too little; with many it is too much.
    pub fn fast_merges_too_many_percent(&self) -> f64 {
        (self.fast_merges() / self.fast_merges_mean_wait() - 1.0) * 100.0
    }

    /// The same with the wait as it is. Logs are closed whole, and the log for which a block is merged is closed `L - 1` logs
    /// after it was written. Of no more logs than blocks.
    pub fn fast_merges_mean_wait(&self) -> f64 {
        let (b, d) = (f64::from(self.pages), f64::from(self.data_blocks));
        d / (b * (self.fast_log_to_merge() + f64::from(self.logs) - 1.0))
    }

    /// Which log after a merge is the next one for which the block is merged, in the mean.
    ///
    /// A log merges a block of which it holds a page that none of the `L - 1` logs behind it has: a page written again since
    /// is not valid there, and its block waits on. Let a log have a given page with the chance `p = 1/D`, whatever it has of
    /// others. It has none of the block with `(1 - p)^b` then, as it must; that pages come independently of each other is all
    /// that is approximate. Let `g(n)` be the chance that none of the first `n` logs merges the block for a given page. The `n`th does
    /// with the chance `p (1 - p)^(L-1)`; then the `L - 1` before it do not, as it has the page, and what came before them is
    /// independent of it: `g(n) = g(n-1) - p (1 - p)^(L-1) g(n-L)`, with 1 up to `n = 0`. The mean is the sum of `g(n)^b` from
    /// 0 on. With one log that is `1/(1 - (1 - p)^b)`. Beside a model in a program of its own, from 16 blocks on, merges come out
    /// within 0.1 % where there are half as many logs as blocks, and within 0.3 % where there are as many.
    fn fast_log_to_merge(&self) -> f64 {
        assert!(self.logs <= self.data_blocks, "with more logs than blocks the sum may never end");
        let (b, p) = (f64::from(self.pages), 1.0 / f64::from(self.data_blocks));
        let merges = p * libm::pow(1.0 - p, f64::from(self.logs) - 1.0);
        // From g(n - L) to g(n - 1).
        let mut before: VecDeque<f64> = (0..self.logs).map(|_| 1.0).collect();
        let (mut of_page, mut mean) = (1.0, 0.0);
        loop {
            let of_block = libm::pow(of_page, b);
            mean += of_block;
            if of_block < NO_CHANCE {
                return mean;
            }
            of_page -= merges * before.pop_front().unwrap_or(1.0);
            before.push_back(of_page);
        }
    }

    /// FAST, milliseconds of a random write in the mean: `b c + tE` for each merge, the erase of a log every `b` writes, and
    /// the page.
    pub fn fast_ms(&self) -> f64 {
        let merge = f64::from(self.pages) * self.copy_ms() + ERASE_MS;
        self.fast_merges_mean_wait() * merge + ERASE_MS / f64::from(self.pages) + self.program_ms()
    }

    /// A fixed map of many blocks, milliseconds of a random write of one sector: the block is read, erased and programmed. The
    /// page of the sector crosses the bus twice: what is left of it must reach the controller before it can be programmed.
    pub fn fixed_map_ms(&self) -> f64 {
        f64::from(self.pages) * self.copy_ms() + f64::from(self.bus_us) / 1e3 + ERASE_MS
    }

    /// The same, bytes programmed for each byte of the host.
    pub fn fixed_map_amplification(&self) -> f64 {
        f64::from(self.pages) * UNIT_BYTES as f64 / SECTOR_BYTES as f64
    }

    fn die(&self) -> DieSpec {
        let (read, program) = self.cell.times();
        let geometry = Geometry {
            planes: 1,
            // Those of the data, open logs, and one to merge into.
            blocks_per_plane: self.data_blocks + self.logs + 1,
            pages_per_block: self.pages,
            page_bytes: UNIT_BYTES as u32,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        };
        let mega_transfers_per_s = if self.bus_us == 0 { 0.0 } else { UNIT_BYTES as f64 / f64::from(self.bus_us) };
        DieSpec {
            timing: Timing { read_us: vec![read], program_us: vec![program], erase_ms: ERASE_MS },
            bus: Bus { mega_transfers_per_s, command_us: 0.0 },
            wear: Wear { rated_program_erase_cycles: 10_000, factory_bad_blocks_per_10000: 0 },
            ..DieSpec::plain(geometry)
        }
    }

    fn spec(&self) -> DriveSpec {
        let capacity_bytes = u64::from(self.data_blocks) * u64::from(self.pages) * UNIT_BYTES;
        let plain = DriveSpec::plain("theory", 1, capacity_bytes);
        DriveSpec {
            controller: ControllerSpec { reads_first: false, ..plain.controller },
            // A write is answered when its page has been programmed.
            write_buffer: WriteBufferSpec {
                capacity_kib: 64,
                write_cache: false,
                joins_waiting_writes: false,
                flush_after_idle_ms: 100.0,
            },
            log_blocks: Some(LogBlockSpec::plain(self.scheme, self.logs)),
            ..plain
        }
    }

    fn full_drive(&self) -> Lab<LogBlock> {
        let drive = SimulatedSsd::with_log_blocks("theory", &self.spec(), &self.die(), 1).expect("a valid drive");
        let mut lab = Lab::with_drive(drive, 1);
        lab.fill();
        lab
    }
}

/// What is measured of random writes, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    Merges,
    Milliseconds,
    /// Bytes programmed for each byte of the host.
    Amplification,
}

/// Random writes of `bytes` at a time to a drive that is full.
pub fn random_writes(build: &LogBuild, bytes: u64, figure: Figure, effort: Effort) -> Measured {
    let mut lab = build.full_drive();
    // So many pages are copied, about. Blocks whose merges fell together while the drive was filled take long to drift apart
    // where logs are shared.
    let (merges_per_write, copies, warm_up_logs) = match build.scheme {
        LogScheme::Fast => (build.fast_merges(), 4.0 * effort.measured_units, 16),
        LogScheme::Replacement | LogScheme::Bast => (1.0, effort.measured_units, 1),
    };
    let warm_up = warm_up_logs * u64::from(build.logs * build.pages);
    let writes = (copies / f64::from(build.pages) / merges_per_write) as u64;
    let places = lab.units * UNIT_BYTES / bytes;
    let next = |rng: &mut Rng| Ask { length_bytes: bytes, offset_bytes: rng.below(places) * bytes, ..Ask::write(0) };
    lab.closed_loop(warm_up, 1, next);
    let (merges, latencies, counters) = (lab.drive.translation().merges(), lab.latency_sum, lab.drive.counters());
    lab.closed_loop(writes, 1, next);
    let value = match figure {
        Figure::Merges => (lab.drive.translation().merges().total() - merges.total()) as f64 / writes as f64,
        Figure::Milliseconds => (lab.latency_sum - latencies) as f64 / writes as f64 / 1e6,
        Figure::Amplification => lab.drive.counters().since(&counters).waf().expect("the host has written"),
    };
    Measured { value, ..lab.settle() }
}
