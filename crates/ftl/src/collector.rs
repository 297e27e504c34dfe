//! The state of one garbage collector: what it reads, holds and writes. What it *does* is in `collect.rs`.

use std::collections::VecDeque;

use crate::gc::Selector;
use crate::spec::STREAMS;
use crate::staging::Staging;
use crate::superblock::{Frontier, SuperblockId};
use crate::window::Window;

/// A victim on its way from "all moved" to "free".
#[derive(Clone, Copy, Debug)]
pub struct Finishing {
    pub superblock: SuperblockId,
    /// Collector programs that must have ended: they hold the copies.
    pub programs: u64,
    /// Host programs that must have ended: they replaced what the victim held.
    pub host_programs: u64,
}

/// Where the collector reads.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub superblock: SuperblockId,
    /// First page of the stretch of rows being read.
    pub page: u32,
    /// Dies whose rows at this stretch are still to be read.
    pub left: u64,
}

/// A set of superblocks with their free list, open superblocks and collector.
#[derive(Clone, Debug)]
pub struct Set {
    /// Erased superblocks, the one freed first in front; those set aside for one bit per cell have their own list.
    pub free: VecDeque<SuperblockId>,
    pub pool_free: VecDeque<SuperblockId>,
    /// Victims chosen that are not free yet.
    pub coming: u32,
    pub pool_coming: u32,
    /// Open superblocks by stream.
    pub host: [Option<Frontier>; STREAMS as usize],
    /// Used only where host and collector write apart.
    pub gc: [Option<Frontier>; STREAMS as usize],
    /// The host's open superblock of one bit per cell, and whether its next rows go there.
    pub slc: Option<Frontier>,
    pub to_slc: bool,
    /// Free superblocks have run out while there was something to fold, and are not plenty again yet.
    pub pressed: bool,
    /// Superblocks written to their end with one bit per cell, the oldest in front.
    pub cached: VecDeque<SuperblockId>,
    pub selector: Selector,

    /// A collection runs.
    pub active: bool,
    /// It runs because the drive is idle.
    pub background: bool,
    /// It began because the drive was idle.
    pub ahead_of_need: bool,
    /// Its victims come from the SLC cache, whatever the policy would pick.
    pub fold: bool,
    pub victims_left: u32,
    pub reading: Option<Reading>,
    /// Victims that are read to their end but hold units that are not yet written elsewhere.
    pub moving: VecDeque<SuperblockId>,
    pub finishing: VecDeque<Finishing>,
    /// Units that reads under way will bring.
    pub units_reading: u32,
    /// Units read, not yet given to a program.
    pub staged: Staging,
    /// Units in programs under way.
    pub units_writing: u32,
    /// Dead units of the closed superblocks.
    pub dead: u64,
    /// Units that were dead in the victims since a row was last written that was not full.
    pub gained: u32,
    /// Stop-and-wait: the buffer is being written out.
    pub draining: bool,
    pub programs: Window,
    /// Host units that may be written while the collection runs, in millionths.
    pub credit_micro: i64,
    /// Credit for each unit moved.
    pub credit_rate_micro: i64,
    /// Collections started, for wear levelling.
    pub collections: u64,
}

impl Set {
    #[must_use]
    pub fn new(selector: Selector) -> Self {
        Set {
            free: VecDeque::new(),
            pool_free: VecDeque::new(),
            coming: 0,
            pool_coming: 0,
            host: [None; STREAMS as usize],
            gc: [None; STREAMS as usize],
            slc: None,
            to_slc: false,
            pressed: false,
            cached: VecDeque::new(),
            selector,
            active: false,
            background: false,
            ahead_of_need: false,
            fold: false,
            victims_left: 0,
            reading: None,
            moving: VecDeque::new(),
            finishing: VecDeque::new(),
            units_reading: 0,
            staged: Staging::default(),
            units_writing: 0,
            dead: 0,
            gained: 0,
            draining: false,
            programs: Window::default(),
            credit_micro: 0,
            credit_rate_micro: 0,
            collections: 0,
        }
    }

    /// Every open superblock, whoever writes it.
    pub fn open(&self) -> impl Iterator<Item = &Frontier> {
        self.host.iter().chain(&self.gc).chain([&self.slc]).flatten()
    }

    /// Units that occupy the collector's buffer.
    #[inline]
    #[must_use]
    pub fn units_held(&self) -> u32 {
        self.units_reading + self.staged.len() + self.units_writing
    }
}
