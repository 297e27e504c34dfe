//! How units are written: into the buffer, and from there, by rows, to dies.

use ssdlab_core::Nanos;
use ssdlab_nand::{NO_LPN, UnitAddress};

use crate::buffer::Slot;
use crate::gc::VictimSelector;
use crate::map::{Place, UNMAPPED};
use crate::op::{FlashOp, OpKind, OpSink};
use crate::superblock::{State, SuperblockId};
use crate::translation::{Ftl, HostRow};

/// Programs of host data that one die may have waiting or under way.
const HOST_PROGRAMS_PER_DIE: u8 = 2;

impl Ftl {
    /// Accepts a unit into the write buffer; returns whether it took a new slot (or replaced one that waited).
    /// The data are there at `ready`.
    #[inline]
    pub fn write(&mut self, lpn: u32, generation: u8, ready: Nanos) -> bool {
        self.write_to_stream(lpn, generation, ready, 0)
    }

    /// [`Ftl::write`] to one of the drive's streams: one that the host may name, or [`crate::PAST_CACHE`]. A unit that
    /// replaces one which waits goes with that one's.
    ///
    /// # Panics
    /// If there is no such stream.
    #[inline]
    pub fn write_to_stream(&mut self, lpn: u32, generation: u8, ready: Nanos, stream: u8) -> bool {
        self.streams_used |= 1 << stream;
        self.take_in(lpn, generation, ready, stream)
    }

    /// [`Ftl::write_to_stream`], to one that is known to be used.
    #[inline]
    pub(crate) fn take_in(&mut self, lpn: u32, generation: u8, ready: Nanos, stream: u8) -> bool {
        let tag = self.medium.format().pack(lpn, generation);
        let old = match self.map.get(lpn) {
            Place::Buffer(at) => {
                let slot = self.buffer.slot_mut(at);
                slot.tag = tag;
                slot.ready = ready;
                self.counters.overwrites_in_buffer += 1;
                if let Some(compression) = &mut self.compression {
                    self.buffer.resize(at, compression.draw());
                }
                return false;
            }
            Place::Flash(unit) => {
                if self.buffer.units() < self.row_units {
                    self.validity.prefetch(unit);
                }
                unit
            }
            Place::Unmapped => {
                self.valid_units += 1;
                UNMAPPED
            }
        };
        let size = self.compression.as_mut().map_or(1, |compression| compression.draw());
        let at = self.buffer.push(stream, Slot { tag, old, ready }, size);
        self.map.set_buffer(lpn, at);
        true
    }

    /// Forgets pages. The journal takes the whole range as one change.
    pub fn trim(&mut self, lpns: std::ops::Range<u32>, sink: &mut impl OpSink) {
        let before = self.counters.trimmed_units;
        for lpn in lpns {
            self.forget(lpn, sink);
        }
        if self.counters.trimmed_units > before
            && let Some(journal) = &mut self.journal
        {
            journal.note(1, &mut self.medium, sink);
        }
    }

    fn forget(&mut self, lpn: u32, sink: &mut impl OpSink) {
        let old = match self.map.get(lpn) {
            Place::Unmapped => return,
            Place::Buffer(at) => {
                let slot = self.buffer.slot_mut(at);
                slot.tag = NO_LPN;
                std::mem::replace(&mut slot.old, UNMAPPED)
            }
            Place::Flash(unit) => unit,
        };
        self.map.unmap(lpn);
        self.valid_units -= 1;
        self.counters.trimmed_units += 1;
        if old != UNMAPPED {
            self.invalidate(old);
        }
        if let Some(demand) = &mut self.demand_map {
            demand.change(lpn, &mut self.medium, sink);
        }
    }

    /// Units that a row of the host replaces. Their valid bits lie far apart: looked at one after the other, before
    /// anything that depends on them.
    #[inline]
    fn invalidate_row(&mut self, old: &[UnitAddress]) {
        if self.compression.is_some() {
            return old.iter().filter(|&&unit| unit != UNMAPPED).for_each(|&unit| self.invalidate(unit));
        }
        let mut superblocks = [0; 64];
        let mut n = 0;
        for &unit in old {
            if unit != UNMAPPED {
                self.validity.clear(unit);
                superblocks[n & 63] = self.blocks.of_block(self.medium.layout().block_of(unit));
                n += 1;
            }
        }
        for &sb in &superblocks[..n] {
            self.lose_units(sb, 1);
        }
    }

    /// What lives in flash from this unit on is no longer what the host wants.
    #[inline]
    pub(crate) fn invalidate(&mut self, unit: UnitAddress) {
        let units = self.units_at(unit);
        self.validity.clear_span(unit, u64::MAX >> (64 - units));
        self.lose_units(self.blocks.of_block(self.medium.layout().block_of(unit)), units);
    }

    #[inline]
    fn lose_units(&mut self, sb: SuperblockId, units: u32) {
        let layout = self.medium.layout();
        self.blocks.valid[sb as usize] -= units;
        if self.blocks.state[sb as usize] == State::Closed {
            let (local, set) = self.blocks.local(sb, layout);
            let set = &mut self.sets[set as usize];
            set.dead += u64::from(units);
            set.selector.invalidate(local, self.blocks.valid[sb as usize]);
        }
        if self.stalled != 0 {
            let (_, set) = self.blocks.local(sb, self.medium.layout());
            self.revived |= self.stalled & (1 << set);
        }
    }

    /// Gives waiting units to dies as far as policy, space and queues allow.
    #[inline]
    pub fn dispatch(&mut self, sink: &mut impl OpSink) {
        if self.revived != 0 {
            self.revive(sink);
        }
        if self.held != 0 && self.host_waits() {
            self.release_held(sink);
        }
        for stream in 0..self.buffer_streams {
            while self.buffer.units_of(stream) >= self.row_units {
                let Some(s) = self.choose_set(stream) else { break };
                self.dispatch_row(s, stream, sink);
            }
            if self.forced
                && (1..self.row_units).contains(&self.buffer.units_of(stream))
                && let Some(s) = self.choose_set(stream)
            {
                self.dispatch_row(s, stream, sink);
            }
        }
    }

    /// Sees to it that everything accepted so far gets written, partly filled rows included.
    pub fn force(&mut self, sink: &mut impl OpSink) {
        if self.retirement.frozen {
            return;
        }
        self.forced = true;
        self.dispatch(sink);
    }

    /// Ends what [`Ftl::force`] began.
    pub fn unforce(&mut self) {
        self.forced = false;
    }

    /// The next set in turn that the host may write in and whose die is not full.
    #[inline]
    pub(crate) fn choose_set(&self, stream: u8) -> Option<usize> {
        let open = self.writable[stream as usize] & self.unfilled;
        let later = open & (u64::MAX << self.next_set);
        let choice = if later != 0 { later } else { open };
        (choice != 0).then(|| choice.trailing_zeros() as usize)
    }

    /// Notes how many host programs a die has waiting or under way. With superblocks over all dies their order is
    /// fixed, and the buffer is limit enough.
    #[inline]
    pub(crate) fn note_outstanding(&mut self, die: u32, change: i8) {
        if self.sets.len() > 1 {
            let n = &mut self.host_outstanding[die as usize];
            *n = n.wrapping_add_signed(change);
            self.unfilled = self.unfilled & !(1 << die) | u64::from(*n < HOST_PROGRAMS_PER_DIE) << die;
        }
    }

    fn dispatch_row(&mut self, s: usize, stream: u8, sink: &mut impl OpSink) {
        if self.compression.is_some() {
            return self.dispatch_packed_row(s, stream, sink);
        }
        let n = self.buffer.waiting_of(stream).min(self.row_units);
        let taken = self.take_host_row(s, stream);
        let format = self.medium.format();
        let row = self.medium.begin_program(taken.block, taken.page).expect("rows are taken in order");
        let mut valid = 0u64;
        let mut ready: Nanos = 0;
        let mut old = [UNMAPPED; 64];
        let (first, second) = self.buffer.fronts(stream, n);
        let slots = first.iter().chain(second);
        slots.zip(row.tags.iter_mut().zip(&mut old)).zip(row.start..).for_each(|((slot, (tag, old)), unit)| {
            *tag = slot.tag;
            if slot.tag != NO_LPN {
                valid |= 1 << (unit - row.start);
                self.map.set_flash(format.address(slot.tag), unit);
            }
            *old = slot.old;
            ready = ready.max(slot.ready);
        });
        row.tags[n as usize..].fill(NO_LPN);
        let start = row.start;
        self.buffer.drop_front(stream, n);
        // What the next row replaces, just in time: asked for when it came into the buffer, it would be gone again.
        let soon = self.buffer.waiting_of(stream).min(self.row_units);
        let (first, second) = self.buffer.fronts(stream, soon);
        for slot in first.iter().chain(second).filter(|slot| slot.old != UNMAPPED) {
            self.validity.prefetch(slot.old);
        }
        self.validity.set_row(start, valid);
        self.add_valid(taken.superblock, valid.count_ones());
        self.host_row_filled(taken, &old[..n as usize], n, ready, sink);
    }

    /// Takes the next row for the host in a set that was checked for room.
    #[inline(always)]
    pub(crate) fn take_host_row(&mut self, s: usize, stream: u8) -> HostRow {
        self.next_set = if s + 1 == self.sets.len() { 0 } else { s as u32 + 1 };
        let cost_micro = self.host_cost_micro(s, stream);
        let (superblock, die, block, page) = self.take_row(s, false, stream).expect("the set was checked for room");
        HostRow { set: s, superblock, die, block, page, cost_micro }
    }

    /// Gives a row of the host, whose tags and map entries are in place, to its die. `old`: what each of its logical
    /// units replaces; `units`: what they take of flash.
    #[inline]
    pub(crate) fn host_row_filled(
        &mut self,
        row: HostRow,
        old: &[u32],
        units: u32,
        ready: Nanos,
        sink: &mut impl OpSink,
    ) {
        let (n, s) = (old.len() as u32, row.set);
        self.medium.prefetch_tags(self.medium.layout().row_start(row.block, row.page) + 16, 1);
        self.invalidate_row(old);
        self.counters.host_units += u64::from(n);
        self.counters.host_rows += 1;
        self.counters.padding_units += u64::from(self.row_units - units);
        let set = &mut self.sets[s];
        if set.active && !set.background && !self.free_share {
            set.credit_micro -= i64::from(self.row_units) * row.cost_micro;
        }
        self.units_writing += units;
        self.note_outstanding(row.die, 1);
        self.note_writable(s);
        let tag = self.host_programs.issue(self.buffer.dispatched());
        sink.enqueue(FlashOp {
            kind: OpKind::HostProgram,
            die: row.die as u8,
            rows: 1,
            units: units as u8,
            block: row.block,
            page: row.page as u16,
            tag,
            ready: sink.ready_code(ready),
        });
        if self.demand_map.is_some() {
            self.note_changed(self.medium.layout().row_start(row.block, row.page), units, sink);
        }
        if let Some(journal) = &mut self.journal {
            journal.note(n, &mut self.medium, sink);
        }
        self.start_if_due(s, sink);
    }

    /// The host's units in a row have new entries in the map.
    fn note_changed(&mut self, start: UnitAddress, units: u32, sink: &mut impl OpSink) {
        for unit in start..start + units {
            let lpn = self.medium.lpn(unit);
            if lpn != NO_LPN
                && let Some(demand) = &mut self.demand_map
            {
                demand.change(lpn, &mut self.medium, sink);
            }
        }
    }
}
