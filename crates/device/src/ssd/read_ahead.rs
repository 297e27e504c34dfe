//! Reading ahead of a sequential stream.
//!
//! When a read begins where the one before it ended, the units that follow are read into DRAM. One stream is
//! followed at a time, as small controllers do.

const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    lpn: u32,
    here: bool,
    /// Command slot that waits for this unit, or [`NOBODY`].
    waiter: u32,
}

/// What a command finds when it asks for a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    Absent,
    Here,
    /// On its way; the asker has been noted.
    Coming,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct ReadAhead {
    entries: Vec<Entry>,
    mask: u32,
    window: u32,
    /// End of the last read command, in units.
    stream_end: u32,
    /// Read ahead up to here.
    fetched: u32,
    following: bool,
}

impl ReadAhead {
    #[must_use]
    pub fn new(window_units: u32) -> Self {
        // Room for a window ahead, a window behind, and the command in between.
        let len = (window_units * 4).next_power_of_two().max(1);
        let empty = Entry { lpn: NOBODY, here: false, waiter: NOBODY };
        ReadAhead {
            entries: vec![empty; len as usize],
            mask: len - 1,
            window: window_units,
            stream_end: 0,
            fetched: 0,
            following: false,
        }
    }

    #[inline]
    #[must_use]
    pub fn is_following(&self) -> bool {
        self.following
    }

    /// Notes a read of units `from..to`, and returns the units that should be read ahead now.
    #[inline]
    pub fn observe(&mut self, from: u32, to: u32, end_of_drive: u32) -> std::ops::Range<u32> {
        let sequential = from == self.stream_end && from != 0 && self.window > 0;
        self.stream_end = to;
        if !sequential {
            self.following = false;
            self.fetched = to;
            return 0..0;
        }
        self.following = true;
        let start = self.fetched.max(to);
        let end = (to + self.window).min(end_of_drive);
        // In steps of half a window, so that reads ahead fill whole rows.
        if start + self.window / 2 > end && end != end_of_drive {
            return 0..0;
        }
        self.fetched = end.max(start);
        start..end.max(start)
    }

    /// Notes that a unit is being read, or is here already.
    #[inline]
    pub fn expect(&mut self, lpn: u32, here: bool) {
        let entry = &mut self.entries[(lpn & self.mask) as usize];
        debug_assert_eq!(entry.waiter, NOBODY, "a unit that is waited for must not be replaced");
        *entry = Entry { lpn, here, waiter: NOBODY };
    }

    /// Whether a unit's place may be taken by another.
    #[inline]
    #[must_use]
    pub fn may_replace(&self, lpn: u32) -> bool {
        self.entries[(lpn & self.mask) as usize].waiter == NOBODY
    }

    /// Asks for a unit on behalf of a command slot.
    #[inline]
    pub fn lookup(&mut self, lpn: u32, slot: u32) -> Lookup {
        let entry = &mut self.entries[(lpn & self.mask) as usize];
        if entry.lpn != lpn {
            return Lookup::Absent;
        }
        if entry.here {
            return Lookup::Here;
        }
        if entry.waiter != NOBODY {
            return Lookup::Absent;
        }
        entry.waiter = slot;
        Lookup::Coming
    }

    /// A unit has arrived; returns the command slot that waits for it.
    #[inline]
    pub fn arrived(&mut self, lpn: u32) -> Option<u32> {
        let entry = &mut self.entries[(lpn & self.mask) as usize];
        if entry.lpn != lpn {
            return None;
        }
        entry.here = true;
        let waiter = std::mem::replace(&mut entry.waiter, NOBODY);
        (waiter != NOBODY).then_some(waiter)
    }

    /// A unit was written or trimmed: what was read of it is out of date. A command that already waits for it still
    /// gets the old data, as it was sent first.
    #[inline]
    pub fn forget(&mut self, lpn: u32) {
        let entry = &mut self.entries[(lpn & self.mask) as usize];
        if entry.lpn == lpn && entry.waiter == NOBODY {
            entry.lpn = NOBODY;
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = ReadAhead::new(self.window);
    }
}
