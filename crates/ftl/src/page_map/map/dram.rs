//! The map from logical pages to flash, as the simulator always knows it: four bytes a logical page.

use std::ops::Range;

use ssdlab_nand::{LogicalPage, LogicalPages, UnitAddress, memory, memory::Table};

/// A logical page that was never written, or was trimmed. Zero, so that what was never written takes no memory.
const UNMAPPED: u32 = 0;
/// Set in an entry that points at a slot of the write buffer rather than at flash.
const BUFFERED: u32 = 1 << 31;

/// Where a logical page lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Unmapped,
    /// Slot of the write buffer.
    Buffer(u32),
    Flash(UnitAddress),
}

/// What stands in an entry that points at flash.
#[inline(always)]
fn entry_of(unit: UnitAddress) -> u32 {
    unit.number() + 1
}

#[inline(always)]
fn unit_of(entry: u32) -> UnitAddress {
    UnitAddress::new(entry - 1)
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Map {
    entries: Table<u32>,
    /// Logical pages that hold data.
    mapped: u64,
}

impl Map {
    #[must_use]
    pub fn new(logical_pages: u32) -> Self {
        Map { entries: Table::zeroed(logical_pages as usize), mapped: 0 }
    }

    #[must_use]
    pub fn logical_pages(&self) -> u32 {
        self.entries.len() as u32
    }

    #[inline]
    #[must_use]
    pub fn get(&self, lpn: LogicalPage) -> Place {
        let e = self.entries[lpn.index()];
        if e == UNMAPPED {
            Place::Unmapped
        } else if e & BUFFERED != 0 {
            Place::Buffer(e & !BUFFERED)
        } else {
            Place::Flash(unit_of(e))
        }
    }

    /// The same for a number that may be no page at all.
    #[must_use]
    pub fn get_checked(&self, lpn: LogicalPage) -> Option<Place> {
        (lpn.number() < self.logical_pages()).then(|| self.get(lpn))
    }

    #[inline]
    pub fn set_flash(&mut self, lpn: LogicalPage, unit: UnitAddress) {
        self.entries[lpn.index()] = entry_of(unit);
    }

    /// Points up to 64 pages, none of which is in the write buffer, at as many units from `unit` on. Returns where those
    /// were that held data, in `old`.
    #[inline]
    pub fn replace_run<'a>(
        &mut self,
        lpns: Range<LogicalPage>,
        unit: UnitAddress,
        old: &'a mut [UnitAddress; 64],
    ) -> &'a [UnitAddress] {
        let mut replaced = 0;
        let pages = lpns.count() as usize;
        for (entry, new) in self.entries[lpns.start.index()..lpns.end.index()].iter_mut().zip(entry_of(unit)..) {
            debug_assert!(*entry == UNMAPPED || *entry & BUFFERED == 0);
            if *entry != UNMAPPED {
                old[replaced & 63] = unit_of(*entry);
                replaced += 1;
            }
            *entry = new;
        }
        self.mapped += (pages - replaced) as u64;
        &old[..replaced]
    }

    /// A page that held nothing is about to hold data.
    #[inline]
    pub fn count_new_page(&mut self) {
        self.mapped += 1;
    }

    /// Logical pages that hold data.
    #[must_use]
    pub fn mapped(&self) -> u64 {
        self.mapped
    }

    #[inline]
    pub fn set_buffer(&mut self, lpn: LogicalPage, slot: u32) {
        self.entries[lpn.index()] = BUFFERED | slot;
    }

    /// Points a page that lives at `from` at its copy; returns whether it did live there.
    #[inline]
    pub fn move_flash(&mut self, lpn: LogicalPage, from: UnitAddress, to: UnitAddress) -> bool {
        match self.entries.get_mut(lpn.index()) {
            Some(entry) if *entry == entry_of(from) => {
                *entry = entry_of(to);
                true
            }
            _ => false,
        }
    }

    #[inline]
    pub fn unmap(&mut self, lpn: LogicalPage) {
        self.entries[lpn.index()] = UNMAPPED;
        self.mapped -= 1;
    }

    /// A recovery has found a page that nothing was known of.
    pub fn found(&mut self, lpn: LogicalPage, unit: UnitAddress) {
        debug_assert!(self.entries[lpn.index()] == UNMAPPED);
        self.entries[lpn.index()] = entry_of(unit);
        self.mapped += 1;
    }

    #[inline]
    pub fn prefetch(&self, lpn: LogicalPage) {
        memory::prefetch(&self.entries, lpn.index());
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.mapped = 0;
    }
}
