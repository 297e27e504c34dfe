//! What a collector does: start, read victims, write their valid units elsewhere, erase, stop.
//!
//! The life of a victim: chosen by the policy; *reading*, row by row over its dies; *moving*, once read to its end,
//! while valid units of it still wait in the collector's buffer; *finishing*, when every valid unit has a place
//! elsewhere, until those programs (and the host programs that replaced the rest) have ended, so that a power cut at
//! any instant finds every promised unit on flash; erased; free. Which one is chosen and when it is erased: `victims.rs`;
//! how its units are written elsewhere: `moving.rs`.

use ssdlab_nand::{BlockId, UnitAddress};

use crate::collector::Reading;
use crate::op::{FlashOp, OpKind, OpSink};
use crate::rounds::Round;
use crate::spec::{Buffering, HostShare};
use crate::staging::Run;
use crate::superblock::State;
use crate::translation::Ftl;

/// Rows of one die that one operation reads.
struct NextRead {
    die: u32,
    block: BlockId,
    first: UnitAddress,
    /// Rows, and how many valid units they hold.
    count: u32,
    units: u32,
}

impl Ftl {
    /// Starts a collection if free superblocks have run low.
    #[inline]
    pub(crate) fn start_if_due(&mut self, s: usize, sink: &mut impl OpSink) {
        let set = &self.sets[s];
        let due = set.free.len() as u32 + set.coming <= self.gc.start_free_superblocks;
        if !set.active && due && self.stalled >> s & 1 == 0 {
            self.start(s, false);
            self.collector_step(s, sink);
        } else if self.slc_cache.is_some() && self.fold_if_due(s, sink) {
            // The cache needs room, and folding has begun.
        } else if !self.sets[s].moving.is_empty() {
            self.release_last_units(s, sink);
        }
    }

    /// A collector may keep the units that do not fill a row until the next collection, and with them their victim.
    /// If the host waits for just that victim, they go out in a row of their own; but where that row would cost as
    /// much as the victim gains, another victim's units join them, if there is one worth collecting.
    fn release_last_units(&mut self, s: usize, sink: &mut impl OpSink) {
        let set = &self.sets[s];
        if set.active || set.moving.is_empty() || self.host_has_room_everywhere(s) {
            return;
        }
        if !self.host_waits() {
            self.held |= 1 << s;
            return;
        }
        // A superblock of the cache is worth a row whatever has been gained.
        let of_cache = set.moving.iter().any(|&sb| self.blocks.in_pool(sb));
        if set.gained < self.row_units && !of_cache && self.can_gain(s) {
            if self.gc.victims_per_start == 0 && self.ahead(s) > self.gc.start_free_superblocks {
                return; // Another is being erased, and will do.
            }
            self.start(s, false);
            self.collector_step(s, sink);
        } else {
            self.write_row(s, true, sink);
            self.retire_victims(s, sink);
        }
    }

    /// Superblocks that are free, or will be without another victim. A victim that waits only for a few units, too
    /// few for a row, will not be.
    #[inline]
    pub(crate) fn ahead(&self, s: usize) -> u32 {
        let set = &self.sets[s];
        let rests = set.reading.is_none() && set.units_reading == 0 && set.units_writing == 0;
        let few = set.staged.len() < self.row_units && set.gained < self.row_units;
        let stuck = !set.moving.is_empty() && rests && few && !self.host_has_room_everywhere(s);
        let waiting = || set.moving.iter().filter(|&&sb| !self.blocks.in_pool(sb)).count() as u32;
        set.free.len() as u32 + set.coming - if stuck { waiting() } else { 0 }
    }

    pub(crate) fn start(&mut self, s: usize, background: bool) {
        let set = &mut self.sets[s];
        set.active = true;
        set.background = background;
        set.ahead_of_need = background;
        set.victims_left = if self.gc.victims_per_start == 0 { u32::MAX } else { self.gc.victims_per_start };
        set.credit_micro = 0;
        set.collections += 1;
        self.counters.collections += 1;
    }

    /// The drive is idle: collects ahead of need, if the firmware does so. Returns whether a collection runs.
    pub fn collect_in_background(&mut self, sink: &mut impl OpSink) -> bool {
        let mut any = false;
        if self.is_read_only() {
            return false;
        }
        for s in 0..self.sets.len() {
            let set = &self.sets[s];
            if !set.active && self.background_wanted(s) {
                self.start(s, true);
                self.collector_step(s, sink);
            }
            any |= self.sets[s].active;
        }
        any
    }

    /// The host is back: background collections end after what they hold.
    pub fn stop_background(&mut self, sink: &mut impl OpSink) {
        if self.retirement.frozen {
            return;
        }
        for s in 0..self.sets.len() {
            if self.sets[s].background {
                self.sets[s].victims_left = 0;
                self.sets[s].background = false;
                self.end_if_done(s);
                self.start_if_due(s, sink);
                self.note_writable(s);
            }
        }
    }

    /// Free superblocks are below the background target, and something can be gained.
    fn background_wanted(&self, s: usize) -> bool {
        let set = &self.sets[s];
        if set.free.len() as u32 + set.coming >= self.gc.background_free_superblocks {
            return false;
        }
        self.can_gain(s)
    }

    /// The host waits again: victims that are held up by their last units.
    #[cold]
    pub(crate) fn release_held(&mut self, sink: &mut impl OpSink) {
        while self.held != 0 {
            let s = self.held.trailing_zeros() as usize;
            self.held &= self.held - 1;
            self.release_last_units(s, sink);
            self.note_writable(s);
        }
    }

    /// Units have died in sets whose collection had found nothing to gain.
    #[cold]
    pub(crate) fn revive(&mut self, sink: &mut impl OpSink) {
        while self.revived != 0 {
            let s = self.revived.trailing_zeros();
            self.revived &= self.revived - 1;
            self.stalled &= !(1 << s);
            self.start_if_due(s as usize, sink);
            self.note_writable(s as usize);
        }
    }

    /// Moves a collection on as far as buffer, space and policy allow.
    pub(crate) fn collector_step(&mut self, s: usize, sink: &mut impl OpSink) {
        let stop_and_wait = self.gc.buffering == Buffering::StopAndWait;
        loop {
            let mut moved = false;
            if !stop_and_wait || self.sets[s].draining {
                while self.sets[s].staged.len() >= self.row_units && self.write_row(s, false, sink) {
                    moved = true;
                }
                // A collection that ends for good does not sit on the last few units, if it has gained a row.
                if stop_and_wait && !self.sets[s].staged.is_empty() && self.pads_at_end(s) {
                    moved |= self.write_row(s, true, sink);
                }
            }
            if stop_and_wait {
                // At the end nothing stays behind, even if the rest has to wait for a free superblock.
                let rest_waits = !self.sets[s].staged.is_empty() && self.pads_at_end(s);
                let set = &mut self.sets[s];
                let short = set.staged.len() < self.row_units;
                if set.draining && set.units_writing == 0 && short && !rest_waits {
                    set.draining = false;
                    self.round = Round::None;
                    moved = true;
                }
            }
            if !stop_and_wait || !self.sets[s].draining && self.may_collect(s) {
                moved |= self.read_on(s, sink);
            }
            if self.sets[s].fold && !stop_and_wait {
                // Nor does a fold; its last rows may have held nothing, so that no read is left to end.
                while !self.sets[s].staged.is_empty() && self.pads_at_end(s) && self.write_row(s, true, sink) {}
            }
            self.retire_victims(s, sink);
            if stop_and_wait {
                let most = self.gc.rows_per_read * self.row_units;
                let full = self.sets[s].units_held() + most > self.gc_buffer_units;
                let rows_staged = self.sets[s].staged.len() >= self.row_units;
                let end = self.nothing_left_to_read(s) && (rows_staged || self.pads_at_end(s));
                let set = &mut self.sets[s];
                if !set.draining && set.units_reading == 0 && !set.staged.is_empty() && (full || end) {
                    set.draining = true;
                    moved = true;
                }
            }
            // A streaming collector is through: what it holds changes only when an operation ends.
            if !moved || !stop_and_wait {
                break;
            }
        }
        if stop_and_wait && self.in_rounds {
            self.end_round_if_stuck();
        }
        self.end_if_done(s);
        self.start_if_due_again(s, sink);
        self.note_writable(s);
    }

    /// Whether a collection is through with reading and has gained enough to write out a row that is not full.
    fn pads_at_end(&self, s: usize) -> bool {
        self.nothing_left_to_read(s) && self.sets[s].gained >= self.row_units
    }

    fn nothing_left_to_read(&self, s: usize) -> bool {
        let set = &self.sets[s];
        set.reading.is_none() && set.units_reading == 0 && !self.more_victims(s)
    }

    /// Whether [`Ftl::next_victim`] would look for one.
    fn more_victims(&self, s: usize) -> bool {
        let set = &self.sets[s];
        let ahead = self.ahead(s);
        set.active
            && set.victims_left > 0
            && if set.fold {
                self.fold_candidate(s).is_some()
            } else if set.background {
                ahead < self.gc.background_free_superblocks
            } else {
                self.gc.victims_per_start != 0 || ahead <= self.gc.start_free_superblocks
            }
    }

    fn end_if_done(&mut self, s: usize) {
        let set = &self.sets[s];
        if !set.active || set.reading.is_some() || self.more_victims(s) {
            return;
        }
        // Streaming collectors may keep a few units until the next collection; others only if all that they have
        // gained is less than a row.
        let holding = set.units_reading + set.units_writing;
        let streaming = self.gc.buffering == Buffering::Streaming && !set.fold;
        let may_keep = streaming || set.gained < self.row_units;
        if holding == 0 && (set.staged.is_empty() || may_keep && set.staged.len() < self.row_units) {
            let set = &mut self.sets[s];
            set.active = false;
            set.background = false;
            set.fold = false;
            self.round = Round::None;
        }
    }

    fn start_if_due_again(&mut self, s: usize, sink: &mut impl OpSink) {
        let set = &self.sets[s];
        if !set.active
            && set.free.len() as u32 + set.coming <= self.gc.start_free_superblocks
            && self.blocks_closed(s)
            && self.stalled >> s & 1 == 0
        {
            self.start(s, false);
            self.collector_step(s, sink);
        } else if self.slc_cache.is_none() || !self.fold_if_due(s, sink) {
            self.release_last_units(s, sink);
        }
    }

    fn blocks_closed(&self, s: usize) -> bool {
        let count = self.blocks.per_set();
        (0..count).any(|l| self.blocks.state[self.blocks.global(l, s as u32) as usize] == State::Closed)
    }

    /// Asks for reads while the buffer has room; returns whether any was asked for.
    fn read_on(&mut self, s: usize, sink: &mut impl OpSink) -> bool {
        let mut any = false;
        loop {
            if self.sets[s].units_held() >= self.gc_buffer_units {
                return any;
            }
            if self.sets[s].reading.is_none() && !(self.sets[s].active && self.next_victim(s)) {
                return any;
            }
            let Some(reading) = self.sets[s].reading else { return any };
            let NextRead { die, block, first, count, units } = self.next_read(&reading);
            if units > 0 {
                if self.sets[s].units_held() + units > self.gc_buffer_units {
                    return any;
                }
                self.sets[s].units_reading += units;
                self.counters.gc_read_units += u64::from(units);
                let rows = self.valid_rows_from(first, count);
                self.medium.prefetch_tags(first, count * self.row_units);
                let kind = if self.slc_cache.is_some() { self.read_kind(block) } else { OpKind::GcRead };
                sink.enqueue(FlashOp {
                    kind,
                    die: die as u8,
                    rows,
                    units: units as u8,
                    block,
                    page: reading.page as u16,
                    tag: 0,
                    ready: 0,
                });
                any = true;
            }
            self.advance_reading(s, reading, self.gc.rows_per_read, self.medium.layout().pages);
        }
    }

    /// Valid units of `count` rows from a unit on.
    #[inline]
    fn valid_units_from(&self, first: UnitAddress, count: u32) -> u32 {
        let mut units = 0;
        let (mut at, mut left) = (first, count * self.row_units);
        while left > 0 {
            let width = left.min(64);
            units += (self.validity.span(at) & (u64::MAX >> (64 - width))).count_ones();
            at += width;
            left -= width;
        }
        units
    }

    /// Which of `count` rows from a unit on hold anything valid, one bit each.
    #[inline]
    fn valid_rows_from(&self, first: UnitAddress, count: u32) -> u8 {
        (0..count).fold(0, |rows, k| rows | u8::from(self.validity.row(first + k * self.row_units) != 0) << k)
    }

    fn advance_reading(&mut self, s: usize, mut reading: Reading, stretch: u32, pages: u32) {
        reading.left &= reading.left - 1;
        if reading.left == 0 {
            reading.left = self.blocks.dies_of_set(s as u32);
            reading.page += stretch;
        }
        let set = &mut self.sets[s];
        if reading.page >= pages {
            set.moving.push_back(reading.superblock);
            set.reading = None;
        } else {
            set.reading = Some(reading);
            let block = self.blocks.block_on(reading.superblock, reading.left.trailing_zeros());
            self.validity.prefetch(self.medium.layout().row_start(block, reading.page));
        }
    }

    /// A read has brought its units: those that are still valid are staged.
    #[inline]
    pub(crate) fn collector_read(&mut self, op: &FlashOp, sink: &mut impl OpSink) {
        let layout = self.medium.layout();
        let sb = self.blocks.of_block(op.block);
        let (_, s) = self.blocks.local(sb, layout);
        let s = s as usize;
        let page = u32::from(op.page);
        let last = page + op.rows.ilog2();
        if last >= self.medium.finished_pages(op.block) {
            panic!("firmware collected die {} page {last} before its program ended", op.die);
        }
        let set = &mut self.sets[s];
        set.units_reading -= u32::from(op.units);
        // Rows that were left out had nothing valid, and nothing comes to life in a victim.
        let mut start = layout.row_start(op.block, page);
        let end = layout.row_start(op.block, last) + self.row_units;
        while start < end {
            let width = (self.rows_per_span * self.row_units).min(end - start);
            let units = self.validity.span(start) & (u64::MAX >> (64 - width));
            set.staged.push(Run { start, units });
            start += width;
        }
        self.collector_step(s, sink);
    }

    /// A program of the collector has ended. Returns whether that may let the host write.
    #[inline]
    pub(crate) fn collector_wrote(&mut self, op: &FlashOp, sink: &mut impl OpSink) -> bool {
        let layout = self.medium.layout();
        let sb = self.blocks.of_block(op.block);
        let (_, s) = self.blocks.local(sb, layout);
        let set = &mut self.sets[s as usize];
        let units = u32::from(op.units);
        set.units_writing -= units;
        set.credit_micro += i64::from(units) * set.credit_rate_micro;
        set.programs.end(op.tag);
        if self.finishing >> s & 1 != 0 {
            self.erase_where_finished(s as usize, sink);
        }
        if self.waits_for_room(s as usize) {
            return false;
        }
        self.collector_step(s as usize, sink);
        true
    }

    /// Whether a collector waits for room in its buffer, and for nothing else that [`Ftl::collector_step`] looks after:
    /// so it is after most of its programs.
    #[inline]
    fn waits_for_room(&self, s: usize) -> bool {
        let set = &self.sets[s];
        let Some(reading) = &set.reading else { return false };
        let plain = self.gc.buffering == Buffering::Streaming && self.gc.host_share == HostShare::Unlimited;
        plain
            && self.slc_cache.is_none()
            && self.revived | self.held == 0
            && set.staged.len() < self.row_units
            && set.moving.iter().all(|&sb| self.blocks.valid[sb as usize] > 0)
            && set.units_held() + self.next_read(reading).units > self.gc_buffer_units
    }

    /// What a collector reads next.
    #[inline(always)]
    fn next_read(&self, reading: &Reading) -> NextRead {
        let die = reading.left.trailing_zeros();
        let block = self.blocks.block_on(reading.superblock, die);
        let layout = self.medium.layout();
        let first = layout.row_start(block, reading.page);
        let count = self.gc.rows_per_read.min(layout.pages - reading.page);
        NextRead { die, block, first, count, units: self.valid_units_from(first, count) }
    }
}
