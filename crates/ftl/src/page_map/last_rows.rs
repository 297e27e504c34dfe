//! The power has gone, and capacitors feed the drive: the buffer goes to flash while the energy lasts.
//!
//! Firmware does nothing else then. The collector begins nothing more, and the host's rows do not wait for it: neither for credit
//! nor for the room that it leaves. Where the host has no superblock open it takes the last free one, then what the collector
//! writes into. A cut follows in any case, and a recovery sees to it that a collection can gain something again
//! (`recovery/superblocks.rs`).
//!
//! Where there is not room enough for all even so, the collector goes on until there is: what it has begun leaves a superblock, and
//! holds less than the buffer does, or there would be room. Where streams have superblocks of their own, where pieces of the map
//! are on flash only, and where older pages are kept, it goes on in any case.

use super::PageMap;
use super::allocator::Writer;
use crate::op::OpSink;

/// What a drive does whose power has gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastRows {
    /// It has power.
    #[default]
    None,
    /// It writes the host's rows and nothing else.
    HostAlone,
    /// The collector makes room for them.
    BesideCollector,
}

impl PageMap {
    /// See [`crate::Translation::save_on_capacitors`].
    pub(super) fn save_on_capacitors(&mut self, sink: &mut impl OpSink) {
        if self.is_frozen() {
            return;
        }
        let before = self.last_rows;
        let alone = before == LastRows::HostAlone || self.needs_nothing_first() && self.has_room_for_all();
        self.last_rows = if alone { LastRows::HostAlone } else { LastRows::BesideCollector };
        if before != self.last_rows {
            if self.last_rows == LastRows::BesideCollector {
                self.stop_background(sink);
            }
            (0..self.allocator.domains()).for_each(|domain| self.note_change(domain));
        }
        self.log.save_trims(&mut self.medium, sink);
        self.force(self.buffer.accepted(), sink);
    }

    fn needs_nothing_first(&self) -> bool {
        self.allocator.streams() == 1 && self.copies.is_none() && !self.log.loads_on_demand()
    }

    /// Whether the host's rows go out, and nothing else is begun.
    #[inline]
    pub(super) fn writes_last_rows_alone(&self) -> bool {
        self.last_rows == LastRows::HostAlone
    }

    /// Whether what waits in the buffer has room without anything being collected.
    fn has_room_for_all(&self) -> bool {
        let superblock = self.superblock_units / self.row_units;
        let rows: u32 = (0..self.allocator.domains()).map(|domain| self.allocator.last_rows(domain, superblock)).sum();
        let waiting = |stream| self.buffer.units_of(stream).div_ceil(self.row_units);
        (0..self.buffer.streams()).map(waiting).sum::<u32>() <= rows
    }

    /// Whether there is a place for a row of the host after all, now that nobody else writes.
    #[cold]
    pub(super) fn finds_last_room(&mut self, domain: usize, stream: u8) -> bool {
        if self.host_writer(domain, stream) == Writer::HostCache {
            return self.room_for_host(domain, stream).is_ok();
        }
        self.allocator.finds_last_room(domain, stream, &mut self.superblocks)
    }
}

#[cfg(test)]
mod tests {
    use crate::page_map::small;
    use crate::page_map::superblock::Role;

    #[test]
    fn what_the_collector_gives_the_host_is_the_host_s_after_the_cut_too() {
        let mut map = small::map(false);
        small::leave_free(&mut map, 0);
        let lent = map.allocator.open_superblocks(0).next().expect("the collector writes the last one");
        assert_eq!(map.superblocks.role(lent), Role::Collector);
        assert!(map.finds_last_room(0, 0));
        assert_eq!(map.allocator.host_superblock(0, 0), Some(lent));
        assert_eq!(map.superblocks.role(lent), Role::Host);
    }
}
