//! One collection domain: a group of superblocks that is collected by itself, and how far its collection is.
//!
//! ```text
//!        free superblocks run low, a fold or a refresh is due, or the drive is idle
//!   Idle ------------------------------------------------------------------------> Collecting { quota: victims }
//!    ^                                                                                   |
//!    |   nothing is left that it has to read or write                                    | enough is free or coming,
//!    |                                                                                   | the host is back,
//!    +------------------------------- Collecting { quota: over } <-----------------------+ or nothing can be gained
//! ```
//!
//! The life of a victim within it: *reading*, row by row over its dies; *moving*, once read to its end, while valid units
//! of it still wait in the collector's buffer; *finishing*, when every valid unit has a place elsewhere, until those
//! programs (and the host programs that replaced the rest) have ended, so that a power cut at any instant finds every
//! promised unit on flash; erased; free.

use std::collections::VecDeque;

use ssdlab_nand::{DieId, Dies, SequenceNumber};

use super::staging::Staging;
use crate::page_map::gc::{Selector, VictimSelector};
use crate::page_map::pacing::Credit;
use crate::page_map::program_window::ProgramWindow;
use crate::page_map::superblock::SuperblockId;

/// What a domain is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing is collected; units that did not fill a row may wait in the buffer for the next collection.
    Idle,
    Collecting(Collection),
}

/// A collection: what it is for, why it began, and how many victims it may still choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    pub purpose: Purpose,
    pub trigger: Trigger,
    pub quota: Quota,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Victims are chosen by the policy, or by wear levelling.
    FreesSpace,
    /// Victims come from the SLC cache, whatever the policy would pick.
    FoldsCache,
    /// Victims are superblocks whose data are old, or have been read often.
    RefreshesData,
}

/// A superblock whose data are to be moved, whatever is dead in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refresh {
    pub superblock: SuperblockId,
    /// The number of its first row when this was asked for: it may have been collected since. A block that takes the place
    /// of another keeps it.
    pub first_row: SequenceNumber,
    /// Even while the host is busy; otherwise only while the drive is idle.
    pub urgent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Space is needed now.
    Need,
    /// The drive is idle, and works ahead of need.
    DriveIdle,
    /// It began so, but the host has come back since: it ends with what it holds.
    HostIsBack,
}

/// Victims that a collection may still choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quota {
    /// As many as it takes until enough superblocks are free.
    Unlimited,
    /// So many, at least one.
    Victims(u32),
    Over,
}

impl Quota {
    /// `victims`; 0: no limit.
    #[must_use]
    pub fn of(victims: u32) -> Self {
        if victims == 0 { Quota::Unlimited } else { Quota::Victims(victims) }
    }

    /// One victim has been chosen.
    #[must_use]
    fn less_one(self) -> Self {
        match self {
            Quota::Victims(n) if n > 1 => Quota::Victims(n - 1),
            Quota::Unlimited => Quota::Unlimited,
            Quota::Victims(_) | Quota::Over => Quota::Over,
        }
    }
}

/// Stop-and-wait: what the collector does with its buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    #[default]
    Filling,
    /// It is written out, and nothing is read meanwhile.
    Draining,
}

/// Where the collector reads.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub superblock: SuperblockId,
    /// First page of the stretch of rows that is read, and the die that comes next.
    pub page: u32,
    pub die: DieId,
    pub end_die: DieId,
}

impl Reading {
    #[must_use]
    pub fn new(superblock: SuperblockId, dies: Dies) -> Self {
        Reading { superblock, page: 0, die: dies.first, end_die: dies.end }
    }
}

/// A victim on its way from "all moved" to "free".
#[derive(Clone, Copy, Debug)]
pub struct Finishing {
    pub superblock: SuperblockId,
    /// Collector programs that must have ended: they hold the copies.
    pub programs: u64,
    /// Host programs that must have ended: they replaced what the victim held.
    pub host_programs: u64,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Domain {
    pub(super) state: State,
    pub(super) phase: Phase,
    pub(super) reading: Option<Reading>,
    /// Victims that are read to their end but hold units that are not yet written elsewhere.
    pub(super) moving: VecDeque<SuperblockId>,
    pub(super) finishing: VecDeque<Finishing>,
    /// The superblock that is erased because TRIM has emptied it.
    pub(super) emptying: Option<SuperblockId>,
    /// Units that reads under way will bring.
    pub(super) units_reading: u32,
    /// Units read, not yet given to a program.
    pub(super) staged: Staging,
    /// Units in programs under way.
    pub(super) units_writing: u32,
    pub(super) programs: ProgramWindow,
    pub(super) selector: Selector,
    /// Dead units of the closed superblocks.
    pub(super) dead: u64,
    /// Units that were dead in the victims since a row was last written that was not full.
    pub(super) gained: u32,
    pub(super) credit: Credit,
    /// In the order in which they were asked for.
    pub(super) refreshes: VecDeque<Refresh>,
    /// Victims chosen for space since the spread of wear was last looked at.
    pub(super) victims_since_look: u32,
    /// Victims chosen since the host last changed anything, and how many pages it had changed then.
    victims_since_change: u32,
    changes_seen: u64,
}

impl Domain {
    #[must_use]
    pub(super) fn new(selector: Selector) -> Self {
        Domain {
            state: State::Idle,
            phase: Phase::Filling,
            reading: None,
            moving: VecDeque::new(),
            finishing: VecDeque::new(),
            emptying: None,
            units_reading: 0,
            staged: Staging::default(),
            units_writing: 0,
            programs: ProgramWindow::default(),
            selector,
            dead: 0,
            gained: 0,
            credit: Credit::default(),
            refreshes: VecDeque::new(),
            victims_since_look: 0,
            victims_since_change: 0,
            changes_seen: 0,
        }
    }

    /// The collection that runs.
    #[inline]
    #[must_use]
    pub fn collection(&self) -> Option<&Collection> {
        match &self.state {
            State::Idle => None,
            State::Collecting(collection) => Some(collection),
        }
    }

    #[inline]
    #[must_use]
    pub fn is_collecting(&self) -> bool {
        self.state != State::Idle
    }

    /// Whether the collection that runs empties the SLC cache.
    #[inline]
    #[must_use]
    pub fn is_folding(&self) -> bool {
        self.collection().is_some_and(|c| c.purpose == Purpose::FoldsCache)
    }

    /// Whether the collection that runs has victims of its own, whatever they gain: then it sets the host no limit, and does not
    /// keep their last units.
    #[inline]
    #[must_use]
    pub fn chooses_none(&self) -> bool {
        self.collection().is_some_and(|c| c.purpose != Purpose::FreesSpace)
    }

    /// Whether a collection runs because the drive is idle.
    #[inline]
    #[must_use]
    pub fn works_ahead(&self) -> bool {
        self.collection().is_some_and(|c| c.trigger == Trigger::DriveIdle)
    }

    pub(super) fn begin(&mut self, purpose: Purpose, trigger: Trigger, quota: Quota) {
        self.state = State::Collecting(Collection { purpose, trigger, quota });
        self.credit.begin();
    }

    /// No further victim is chosen in this collection.
    pub(super) fn choose_no_more(&mut self) {
        if let State::Collecting(collection) = &mut self.state {
            collection.quota = Quota::Over;
        }
    }

    /// The host is back: a collection that worked ahead of need ends with what it holds. Returns whether there was one.
    pub(super) fn stop_working_ahead(&mut self) -> bool {
        match &mut self.state {
            State::Collecting(collection) if collection.trigger == Trigger::DriveIdle => {
                collection.trigger = Trigger::HostIsBack;
                collection.quota = Quota::Over;
                true
            }
            _ => false,
        }
    }

    /// Notes that another victim is wanted, `changes` pages having been written or trimmed by the host. Returns how many have
    /// been since it last changed anything.
    pub(super) fn want_victim(&mut self, changes: u64) -> u32 {
        if std::mem::replace(&mut self.changes_seen, changes) != changes {
            self.victims_since_change = 0;
        }
        self.victims_since_change += 1;
        self.victims_since_change
    }

    /// A victim begins to be read.
    pub(super) fn begin_victim(&mut self, reading: Reading) {
        self.reading = Some(reading);
        if let State::Collecting(collection) = &mut self.state {
            collection.quota = collection.quota.less_one();
        }
    }

    /// Units that occupy the collector's buffer.
    #[inline]
    #[must_use]
    pub fn units_held(&self) -> u32 {
        self.units_reading + self.staged.len() + self.units_writing
    }

    /// Units of its reads under way.
    #[must_use]
    pub fn units_reading(&self) -> u32 {
        self.units_reading
    }

    /// Units of its reads and programs under way.
    #[must_use]
    pub fn units_under_way(&self) -> u32 {
        self.units_reading + self.units_writing
    }

    /// What the victims that are not read to their end, or not moved as a whole, are.
    pub(super) fn in_progress(&self) -> impl Iterator<Item = SuperblockId> + '_ {
        self.moving.iter().copied().chain(self.reading.map(|r| r.superblock))
    }

    /// Programs of the collector.
    #[must_use]
    pub fn programs(&self) -> &ProgramWindow {
        &self.programs
    }

    /// Dead units of the closed superblocks.
    #[must_use]
    pub fn dead(&self) -> u64 {
        self.dead
    }

    /// A superblock has been written to its end.
    #[inline]
    pub(super) fn closed(&mut self, local: u32, valid: u32, dead: u32, clock: u64) {
        self.dead += u64::from(dead);
        self.selector.close(local, valid, clock);
    }

    /// Units of a closed superblock have died.
    #[inline]
    pub(super) fn units_died(&mut self, local: u32, units: u32, left: u32) {
        self.dead += u64::from(units);
        self.selector.invalidate(local, left);
    }
}
