//! Where the next row may go, and whether the host may have it now.

use std::collections::VecDeque;

use ssdlab_nand::BlockId;

use crate::gc::VictimSelector;
use crate::superblock::{Frontier, State, SuperblockId};
use crate::translation::Ftl;

impl Ftl {
    /// Whether the host may write a row in this set now.
    #[inline]
    pub(crate) fn host_may_write(&self, s: usize, stream: u8) -> bool {
        let set = &self.sets[s];
        let credit = !set.active
            || set.background
            || set.fold
            || self.free_share
            || set.credit_micro >= i64::from(self.row_units) * 1_000_000;
        credit && self.host_has_room(s, stream)
    }

    /// Whether the host has units that could go out now.
    #[inline]
    pub(crate) fn host_waits(&self) -> bool {
        let least = if self.forced { 1 } else { self.row_units };
        (0..self.buffer_streams).any(|stream| self.buffer.units_of(stream) >= least)
    }

    /// Whether there is room in this set for every stream that the host has used.
    #[inline]
    pub(crate) fn host_has_room_everywhere(&self, s: usize) -> bool {
        (0..self.buffer_streams).all(|stream| self.streams_used >> stream & 1 == 0 || self.host_has_room(s, stream))
    }

    /// The stream whose open superblock of the die's own mode a stream's rows go into: where writes differ only in whether
    /// the cache takes them, there is one.
    #[inline]
    fn open_for(&self, stream: u8) -> u8 {
        if stream < self.streams { stream } else { 0 }
    }

    /// Whether there is a place for a row of the host in this set that the collector does not need.
    #[inline]
    pub(crate) fn host_has_room(&self, s: usize, stream: u8) -> bool {
        let set = &self.sets[s];
        let slc = self.goes_to_slc(s, stream);
        match if slc { &set.slc } else { &set.host[self.open_for(stream) as usize] } {
            Some(open) => !self.shared_frontier || !set.free.is_empty() || self.collector_fits_beside_host(s, open),
            None if slc && self.has_pool() => !set.pool_free.is_empty(),
            None => set.free.len() as u32 >= 2 + set.pool_coming,
        }
    }

    /// On a shared frontier without a free superblock behind it: whether the host may take a row and still leave room
    /// for all that the victims hold. It may in any case if one of them only waits to be erased.
    #[cold]
    fn collector_fits_beside_host(&self, s: usize, open: &Frontier) -> bool {
        let set = &self.sets[s];
        let in_progress = set.moving.iter().copied().chain(set.reading.map(|r| r.superblock));
        let (count, units) = in_progress.fold((0, 0), |(n, units), sb| (n + 1, units + self.blocks.valid[sb as usize]));
        // Where data are compressed, the last units of a victim may not meet others that fill their row.
        let units = units + count * ((1 << self.unit_shift) - 1);
        let rows = open.rows_left(self.blocks.width());
        // A row for the host, and one that the collector may not fill.
        set.coming > count || rows >= units.div_ceil(self.row_units) + 2
    }

    /// Something has changed that decides whether the host may write in this set.
    #[inline]
    pub(crate) fn note_writable(&mut self, s: usize) {
        if self.slc_cache.is_some() {
            self.aim(s);
        }
        for stream in 0..self.buffer_streams {
            let may = u64::from(self.host_may_write(s, stream));
            let writable = &mut self.writable[stream as usize];
            *writable = *writable & !(1 << s) | may << s;
        }
    }

    /// Units became valid in an open superblock, or in one that its last row has just closed.
    #[inline]
    pub(crate) fn add_valid(&mut self, superblock: SuperblockId, units: u32) {
        self.blocks.valid[superblock as usize] += units;
        if self.blocks.state[superblock as usize] == State::Closed {
            let (local, set) = self.blocks.local(superblock, self.medium.layout());
            // What has died in it while it was open can be gained only now.
            self.revived |= self.stalled & (1 << set);
            let clock = self.counters.host_units + self.counters.gc_units;
            let valid = self.blocks.valid[superblock as usize];
            let set = &mut self.sets[set as usize];
            set.dead += u64::from(self.blocks.capacity(self.medium.layout()) - valid);
            set.selector.close(local, valid, clock);
        }
    }

    /// Takes the next row of a set's open superblock, opening one if need be. If it is the superblock's last, its
    /// state turns to closed, and [`Ftl::add_valid`] for that row hands it to the policy.
    #[inline(always)]
    pub(crate) fn take_row(&mut self, s: usize, for_gc: bool, stream: u8) -> Option<(SuperblockId, u32, BlockId, u32)> {
        let apart = for_gc && !self.shared_frontier;
        let slc = !for_gc && self.goes_to_slc(s, stream);
        let stream = self.open_for(stream);
        if self.frontier(s, apart, slc, stream).is_none() {
            let opened = if slc { self.open_slc_superblock(s)? } else { self.open_superblock(s, stream)? };
            *self.frontier(s, apart, slc, stream) = Some(opened);
        }
        let members = self.blocks.dies_of_set(s as u32);
        let place = self.frontier(s, apart, slc, stream);
        let frontier = place.as_mut()?;
        let superblock = frontier.superblock;
        let (die, page, last) = frontier.take(members);
        if last {
            *place = None;
            self.blocks.state[superblock as usize] = State::Closed;
            if slc {
                self.slc_closed(s, superblock);
            }
        }
        Some((superblock, die, self.blocks.block_on(superblock, die), page))
    }

    /// Where a set keeps its open superblock: the collector's own, the one of one bit per cell, or the host's.
    #[inline(always)]
    fn frontier(&mut self, s: usize, apart: bool, slc: bool, stream: u8) -> &mut Option<Frontier> {
        let set = &mut self.sets[s];
        match (apart, slc) {
            (true, _) => &mut set.gc[stream as usize],
            (false, true) => &mut set.slc,
            (false, false) => &mut set.host[stream as usize],
        }
    }

    #[cold]
    fn open_superblock(&mut self, s: usize, stream: u8) -> Option<Frontier> {
        let at = self.next_free(&self.sets[s].free)?;
        let sb = self.sets[s].free.remove(at)?;
        debug_assert_eq!(self.blocks.state[sb as usize], State::Free);
        self.blocks.state[sb as usize] = State::Open;
        self.blocks.stream[sb as usize] = stream;
        Some(Frontier::new(sb, self.blocks.dies_of_set(s as u32), self.medium.layout().pages))
    }

    /// Which of a list of free superblocks is opened next.
    pub(crate) fn next_free(&self, free: &VecDeque<SuperblockId>) -> Option<usize> {
        let wear = |sb: u32| self.medium.erases(self.blocks.any_block(sb));
        if self.wear_levelling.dynamic { (0..free.len()).min_by_key(|&k| wear(free[k])) } else { Some(0) }
    }
}
