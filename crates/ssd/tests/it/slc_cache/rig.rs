//! A small drive with a cache, and a host that writes to it.

use ssdlab_core::{Nanos, Op, UNIT_BYTES};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_ftl::{HostTarget, MappingSpec, Place, SlcCachePolicy, SlcCacheSpec, SuperblockSpan, Translation, WhenFull};
use ssdlab_nand::{Bus, CellMode, CellModes, DieSpec, Geometry, LogicalPage, PageOrder, ReducedMode, Timing, Wear};
use ssdlab_ssd::{DriveSpec, Ssd};

pub const BLOCK: u64 = 128 << 10;
/// Of the die below, bytes of one row: two pages of 16 KiB.
pub const ROW: f64 = 32_768.0;

/// The times of a 16 nm MLC die in blocks of 64 pages, half of them at one bit per cell.
pub fn die() -> DieSpec {
    let geometry = Geometry {
        planes: 2,
        blocks_per_plane: 64,
        pages_per_block: 64,
        page_bytes: 16_384,
        spare_bytes: 1872,
        bits_per_cell: 2,
        page_order: PageOrder::Alternating,
    };
    DieSpec {
        timing: Timing { read_us: vec![48.0, 64.0], program_us: vec![850.0, 2300.0], erase_ms: 3.0 },
        bus: Bus { mega_transfers_per_s: 166.0, command_us: 2.0 },
        wear: Wear { rated_program_erase_cycles: 3000, factory_bad_blocks_per_10000: 0 },
        modes: CellModes {
            slc: Some(ReducedMode {
                read_us: vec![35.0],
                program_us: vec![450.0],
                erase_ms: 3.0,
                rated_program_erase_cycles: 20_000,
            }),
            mlc: None,
            tlc: None,
        },
        ..DieSpec::plain(geometry)
    }
}

pub fn cache(policy: SlcCachePolicy) -> SlcCacheSpec {
    let dynamic = policy == SlcCachePolicy::Dynamic;
    SlcCacheSpec {
        policy,
        keep_free_per_1000: dynamic.then_some(150),
        host_while_folding: dynamic.then_some(HostTarget::Slc),
        // Six superblocks of 8 dies.
        capacity_gb: (policy == SlcCachePolicy::Fixed).then_some(0.05),
        blocks_per_1000: (policy == SlcCachePolicy::OnDie).then_some(100),
        when_full: (!dynamic).then_some(WhenFull::Direct),
        largest_write_kib: None,
        fold_after_idle_ms: Some(50.0),
        fold_pause_ms: 10.0,
    }
}

/// Eight dies on eight channels, `superblocks` of them sold.
pub fn drive(slc_cache: Option<SlcCacheSpec>, sold: u64) -> DriveSpec {
    let on_die = slc_cache.as_ref().is_some_and(|c| c.policy == SlcCachePolicy::OnDie);
    let plain = DriveSpec::plain("small", 8, sold * 8 * 64 * 32_768);
    let superblock = if on_die { SuperblockSpan::OneDie } else { SuperblockSpan::AllDies };
    DriveSpec { mapping: MappingSpec { superblock, ..plain.mapping }, slc_cache, ..plain }
}

#[derive(Clone)]
pub struct Run {
    pub ssd: Ssd,
    now: Nanos,
    in_flight: usize,
    done: Vec<Completion>,
    pub capacity: u64,
}

impl Run {
    pub fn new(spec: &DriveSpec) -> Run {
        Run::of(Ssd::new("small", spec, &die(), 1).unwrap())
    }

    pub fn of(ssd: Ssd) -> Run {
        let capacity = ssd.info().capacity_bytes;
        Run { ssd, now: 0, in_flight: 0, done: Vec::new(), capacity }
    }

    pub fn now(&self) -> Nanos {
        self.now
    }

    /// Writes `[from, to)` in sequence; returns MB/s.
    pub fn write(&mut self, from: u64, to: u64) -> f64 {
        self.write_by(BLOCK, from, to)
    }

    /// The same with commands of this length.
    pub fn write_by(&mut self, length: u64, from: u64, to: u64) -> f64 {
        let start = self.now;
        for offset in (from..to).step_by(length as usize) {
            self.send(Op::Write, offset, length);
        }
        self.drain();
        (to - from) as f64 / 1e6 / ((self.now - start) as f64 / 1e9)
    }

    pub fn trim(&mut self, from: u64, to: u64) {
        self.send(Op::Trim, from, to - from);
        self.drain();
    }

    /// Sends a command once fewer than eight are under way.
    pub fn send(&mut self, op: Op, offset_bytes: u64, length_bytes: u64) {
        while self.in_flight == 8 {
            self.complete();
        }
        self.ssd.submit(self.now, Request::new(0, op, offset_bytes, length_bytes)).unwrap();
        self.in_flight += 1;
    }

    /// Waits for all that are under way.
    pub fn drain(&mut self) {
        while self.in_flight > 0 {
            self.complete();
        }
    }

    fn complete(&mut self) {
        self.done.clear();
        self.now = self.ssd.advance_to_completion(Nanos::MAX, &mut self.done);
        self.in_flight -= self.done.len();
    }

    /// What the drive has answered last.
    pub fn answers(&self) -> &[Completion] {
        &self.done
    }

    pub fn idle(&mut self, time: Nanos) {
        self.now += time;
        self.done.clear();
        self.ssd.advance(self.now, &mut self.done);
    }

    /// Bytes of `[0, to)` that lie in blocks of one bit per cell.
    pub fn in_slc(&self, to: u64) -> u64 {
        self.in_slc_of(0, to)
    }

    /// The same of `[from, to)`.
    pub fn in_slc_of(&self, from: u64, to: u64) -> u64 {
        let (ftl, medium) = (self.ssd.translation(), self.ssd.translation().medium());
        let slc = |lpn: &u32| match ftl.place(LogicalPage::new(*lpn)) {
            Place::Flash(unit) => medium.mode(medium.layout().block_of(unit)) == CellMode::Slc,
            Place::Buffer(_) | Place::Unmapped => false,
        };
        ((from / UNIT_BYTES) as u32..(to / UNIT_BYTES) as u32).filter(slc).count() as u64 * UNIT_BYTES
    }

    pub fn folded(&self) -> u64 {
        self.ssd.counters().flash.unwrap().fold_program_bytes
    }

    /// Writes from the first address on until the drive folds; returns how much was written.
    pub fn write_until_it_folds(&mut self) -> u64 {
        let mut at = 0;
        while self.folded() == 0 && at < self.capacity {
            self.write(at, at + BLOCK);
            at += BLOCK;
        }
        at
    }
}
