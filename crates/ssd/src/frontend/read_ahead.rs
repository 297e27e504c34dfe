//! Reading ahead of a sequential stream.
//!
//! When a read begins at the sector where the one before it ended, the units that follow are read into DRAM: as many as the
//! stream has had so far, up to a window, so that a stream that soon ends costs little. One stream is followed at a time, as
//! small controllers do.

use std::ops::Range;

use ssdlab_nand::{LogicalPage, UnitAddress};

use crate::slot::Slot;

/// Where a unit is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is in DRAM already.
    Ram,
    /// A unit of flash. Of several operations that read its row, which one: the first logical page that it brings.
    Flash { unit: UnitAddress, first: LogicalPage },
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    lpn: LogicalPage,
    /// Command slot that waits for this unit, or [`Slot::NONE`].
    waiter: Slot,
    /// Where it comes from; [`Source::Ram`] once it is here.
    source: Source,
    /// The write of the unit that is read, as far as writes are counted.
    generation: u8,
    /// Written or trimmed since: for whoever waits, and for nobody else.
    outdated: bool,
}

const EMPTY: Entry =
    Entry { lpn: LogicalPage::NONE, waiter: Slot::NONE, source: Source::Ram, generation: 0, outdated: false };

/// No read begins here.
const NOWHERE: u64 = u64::MAX;

/// What a command finds when it asks for a unit; of what is found, which write it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    Absent,
    Here(u8),
    /// On its way; the asker has been noted.
    Coming(u8),
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct ReadAhead {
    entries: Vec<Entry>,
    mask: u32,
    window: u32,
    /// Where the stream began, and where its last read ended; nowhere before the first.
    stream: Range<u64>,
    /// Read ahead up to here.
    fetched: LogicalPage,
    /// Anything has been read ahead.
    holds_data: bool,
}

impl ReadAhead {
    #[must_use]
    pub fn new(window_units: u32) -> Self {
        // Room for a window ahead, a window behind, and the command in between.
        let len = (window_units * 4).next_power_of_two().max(1);
        ReadAhead {
            entries: vec![EMPTY; len as usize],
            mask: len - 1,
            window: window_units,
            stream: NOWHERE..NOWHERE,
            fetched: LogicalPage::FIRST,
            holds_data: false,
        }
    }

    /// Whether there may be anything for [`ReadAhead::forget`].
    #[inline]
    #[must_use]
    pub fn holds_data(&self) -> bool {
        self.holds_data
    }

    /// Notes a read of these bytes, the last of which lies before unit `to`, and returns the units that should be read ahead
    /// now. `unit_bytes`: of a unit.
    #[inline]
    pub fn observe(
        &mut self,
        bytes: Range<u64>,
        unit_bytes: u64,
        to: LogicalPage,
        end_of_drive: LogicalPage,
    ) -> Range<LogicalPage> {
        let sequential = bytes.start == self.stream.end && self.window > 0;
        self.stream.end = bytes.end;
        if !sequential {
            self.stream.start = bytes.start;
            self.fetched = to;
            return LogicalPage::all(0);
        }
        let had = (self.stream.end - self.stream.start).div_ceil(unit_bytes);
        let window = had.min(self.window.into()) as u32;
        let start = self.fetched.max(to);
        let end = (to + window).min(end_of_drive);
        // In steps of half a window, so that reads ahead fill whole rows.
        if start + window / 2 > end && end != end_of_drive {
            return LogicalPage::all(0);
        }
        self.fetched = end.max(start);
        start..end.max(start)
    }

    /// Notes that a unit, as it was written last, is being read or is here already.
    #[inline]
    pub fn expect(&mut self, lpn: LogicalPage, source: Source, generation: u8) {
        let entry = &mut self.entries[(lpn.number() & self.mask) as usize];
        debug_assert_eq!(entry.waiter, Slot::NONE, "a unit that is waited for must not be replaced");
        *entry = Entry { lpn, source, generation, ..EMPTY };
        self.holds_data = true;
    }

    /// Whether a unit is to be read ahead: it is not here or on its way, as of a stream that was left and goes on, and no command
    /// waits for the one in its place.
    #[inline]
    #[must_use]
    pub fn wants(&self, lpn: LogicalPage) -> bool {
        let entry = &self.entries[(lpn.number() & self.mask) as usize];
        entry.waiter == Slot::NONE && entry.lpn != lpn
    }

    /// Asks for a unit on behalf of a command slot.
    #[inline]
    pub fn lookup(&mut self, lpn: LogicalPage, slot: Slot) -> Lookup {
        let entry = &mut self.entries[(lpn.number() & self.mask) as usize];
        if entry.lpn != lpn || entry.waiter != Slot::NONE {
            return Lookup::Absent;
        }
        if entry.source == Source::Ram {
            return Lookup::Here(entry.generation);
        }
        entry.waiter = slot;
        Lookup::Coming(entry.generation)
    }

    /// Whether a command waits for an operation to bring a logical unit; see [`ReadAhead::arrived`].
    #[must_use]
    pub fn awaits(&self, lpn: LogicalPage, unit: UnitAddress, first: LogicalPage) -> bool {
        let entry = &self.entries[(lpn.number() & self.mask) as usize];
        entry.lpn == lpn && entry.waiter != Slot::NONE && entry.source == (Source::Flash { unit, first })
    }

    /// An operation has brought a logical unit from a unit of flash; returns the command slot that waits for it, and the
    /// write that it waits for.
    #[inline]
    pub fn arrived(&mut self, lpn: LogicalPage, unit: UnitAddress, first: LogicalPage) -> Option<(Slot, u8)> {
        let entry = &mut self.entries[(lpn.number() & self.mask) as usize];
        // Other units of the row may be older copies, or not what this operation was for.
        if entry.lpn != lpn || entry.source != (Source::Flash { unit, first }) {
            return None;
        }
        let (waiter, generation) = (entry.waiter, entry.generation);
        *entry = if entry.outdated { EMPTY } else { Entry { source: Source::Ram, waiter: Slot::NONE, ..*entry } };
        (waiter != Slot::NONE).then_some((waiter, generation))
    }

    /// A unit was written or trimmed: what was read of it is out of date. A command that already waits for it still
    /// gets the old data, as it was sent first.
    #[inline]
    pub fn forget(&mut self, lpn: LogicalPage) {
        let entry = &mut self.entries[(lpn.number() & self.mask) as usize];
        if entry.lpn != lpn {
            return;
        }
        if entry.waiter == Slot::NONE {
            *entry = EMPTY;
        } else {
            entry.outdated = true;
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = ReadAhead::new(self.window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: LogicalPage = LogicalPage::new(40);

    /// Pages 40 and 41 are on their way from units 500 and 501.
    fn fetching() -> ReadAhead {
        let mut ahead = ReadAhead::new(16);
        for k in 0..2 {
            ahead.expect(FIRST + k, Source::Flash { unit: UnitAddress::new(500 + k), first: FIRST }, 7);
        }
        ahead
    }

    #[test]
    fn only_the_read_that_was_asked_for_brings_a_page() {
        let mut ahead = fetching();
        assert_eq!(ahead.lookup(FIRST, Slot::new(3)), Lookup::Coming(7));
        // An older copy in another row, and another read of the same row.
        assert_eq!(ahead.arrived(FIRST, UnitAddress::new(90), FIRST), None);
        assert_eq!(ahead.arrived(FIRST, UnitAddress::new(500), LogicalPage::new(38)), None);
        assert_eq!(ahead.arrived(FIRST, UnitAddress::new(500), FIRST), Some((Slot::new(3), 7)));
        assert_eq!(ahead.lookup(FIRST, Slot::new(4)), Lookup::Here(7));
        assert_eq!(ahead.arrived(FIRST + 1, UnitAddress::new(501), FIRST), None);
        assert_eq!(ahead.lookup(FIRST + 1, Slot::new(4)), Lookup::Here(7));
    }

    #[test]
    fn what_is_written_on_its_way_reaches_who_waits_and_nobody_after() {
        let mut ahead = fetching();
        assert_eq!(ahead.lookup(FIRST, Slot::new(3)), Lookup::Coming(7));
        ahead.forget(FIRST);
        ahead.forget(FIRST + 1);
        assert_eq!(ahead.lookup(FIRST + 1, Slot::new(4)), Lookup::Absent);
        assert_eq!(ahead.arrived(FIRST, UnitAddress::new(500), FIRST), Some((Slot::new(3), 7)));
        assert_eq!(ahead.lookup(FIRST, Slot::new(4)), Lookup::Absent);
    }

    #[test]
    fn a_read_goes_on_where_the_last_sector_was_and_not_where_its_unit_ends() {
        let mut ahead = ReadAhead::new(16);
        let mut observe = |bytes: Range<u64>| {
            let to = LogicalPage::new(bytes.end.div_ceil(4096) as u32);
            let range = ahead.observe(bytes, 4096, to, LogicalPage::new(2000));
            if range.is_empty() { 0..0 } else { range.start.number()..range.end.number() }
        };
        assert_eq!(observe(0..512), 0..0);
        assert_eq!(observe(512..1024), 1..2, "as much as it has had");
        assert_eq!(observe(1024..4096), 0..0, "which is on its way");
        assert_eq!(observe(4096..36_352), 9..18);
        assert_eq!(observe(36_352..96_256), 24..40, "a window at the most");
        assert_eq!(observe(96_256..110_592), 0..0, "more than half of which is left");
        assert_eq!(observe(110_592..131_072), 40..48);
        assert_eq!(observe(131_584..132_096), 0..0, "a sector was left out");
    }

    #[test]
    fn what_is_here_or_on_its_way_is_not_read_again() {
        let mut ahead = fetching();
        assert!(!ahead.wants(FIRST));
        ahead.arrived(FIRST, UnitAddress::new(500), FIRST);
        assert!(!ahead.wants(FIRST));
        ahead.forget(FIRST);
        assert!(ahead.wants(FIRST), "it was written");
        assert!(ahead.wants(FIRST + 64), "nobody waits for the one in its place");
        ahead.lookup(FIRST + 1, Slot::new(3));
        assert!(!ahead.wants(FIRST + 65));
    }

    #[test]
    fn a_stream_that_has_ended_leaves_data_that_a_write_must_find() {
        let mut ahead = fetching();
        assert!(ahead.holds_data());
        let end_of_drive = LogicalPage::new(2000);
        assert_eq!(
            ahead.observe(4_096_000..4_100_096, 4096, LogicalPage::new(1001), end_of_drive),
            LogicalPage::all(0)
        );
        assert!(ahead.holds_data());
        ahead.clear();
        assert!(!ahead.holds_data());
    }
}
