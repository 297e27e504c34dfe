//! Reads for the host: units that lie in one row are read by one operation; and what each read must bring.

use ssdlab_nand::{BlockId, DieId, LogicalPage, Medium, UnitAddress};

use crate::op::{FlashOp, OpKind, OpSink};

/// Where a page comes from that is read for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// It holds nothing.
    Nowhere,
    Ram,
    /// `bytes` of flash. `first`: the first logical page that its operation brings, which tells several operations on one
    /// row apart; 0 where operations do not tell.
    Flash {
        unit: UnitAddress,
        bytes: u32,
        first: LogicalPage,
    },
}

/// Collects units that lie in one row into one operation. [`RowReads::finish`] must follow.
#[derive(Debug)]
pub struct RowReads {
    /// The slot of the command that waits, or [`crate::NOBODY`].
    command: u16,
    pending: Option<(DieId, FlashOp)>,
    /// Units of the pending operation, one bit each, by the last six bits of the address.
    wanted: u64,
    operations: u32,
    /// The drive compresses: operations tell how many logical units they bring, not which comes first.
    packed: bool,
    /// Units whose addresses differ in this bit or in a higher one are read by operations of their own, though they lie in one
    /// row.
    apart_from_bit: u8,
}

impl RowReads {
    #[inline]
    #[must_use]
    pub fn new(command: u16, packed: bool) -> Self {
        // No address has so many bits that count.
        RowReads { command, pending: None, wanted: 0, operations: 0, packed, apart_from_bit: 6 }
    }

    /// Each operation reads one plane, whose page has so many units, a power of two; `None`: all planes of a row together.
    #[inline]
    #[must_use]
    pub fn by_plane(self, page_units: Option<u32>) -> Self {
        RowReads { apart_from_bit: page_units.map_or(6, |units| units.trailing_zeros() as u8), ..self }
    }

    /// Adds a logical page that lives at `unit`, and takes `units` of it, in a row of `at`: die, block and page.
    #[inline(always)]
    pub fn add(
        &mut self,
        page: LogicalPage,
        (unit, units): (UnitAddress, u32),
        (die, block, row): (DieId, BlockId, u32),
        sink: &mut impl OpSink,
    ) {
        let bit = 1 << unit.bit();
        if let Some((_, op)) = &mut self.pending
            && op.block() == block
            && op.page() == row
            && self.wanted.trailing_zeros() >> self.apart_from_bit == unit.bit() >> self.apart_from_bit
        {
            op.take_in(units, self.packed);
            self.wanted |= bit;
            return;
        }
        self.flush(sink);
        self.operations += 1;
        self.wanted = bit;
        let word = if self.packed { 1 } else { page.number() };
        self.pending = Some((die, FlashOp::host_read(block, row, units, self.command, word)));
    }

    #[inline]
    fn flush(&mut self, sink: &mut impl OpSink) {
        if let Some((die, op)) = self.pending.take() {
            sink.enqueue_read(die, op, self.wanted);
        }
    }

    /// The first logical page of the operation that was added to last; 0 where operations do not tell.
    #[inline]
    #[must_use]
    pub fn first_page(&self) -> LogicalPage {
        self.pending.as_ref().map_or(LogicalPage::FIRST, |(_, op)| first_page(op, self.packed))
    }

    /// Hands over what is pending. Returns how many operations there were.
    #[inline(always)]
    pub fn finish(mut self, sink: &mut impl OpSink) -> u32 {
        self.flush(sink);
        self.operations
    }
}

/// The first logical page that a read for the host brings; 0 where it does not tell, on a drive that compresses
/// (`packed`).
#[inline]
#[must_use]
pub fn first_page(op: &FlashOp, packed: bool) -> LogicalPage {
    if packed { LogicalPage::FIRST } else { LogicalPage::new(op.pages_word()) }
}

/// How many logical pages a read for the host brings.
#[inline]
#[must_use]
pub fn pages_brought(op: &FlashOp, packed: bool) -> u32 {
    debug_assert_eq!(op.kind(), OpKind::HostRead);
    if packed { op.pages_word() } else { op.units() }
}

/// A unit of flash, and what it must hold: what the host had written when it asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    pub unit: UnitAddress,
    pub page: LogicalPage,
    /// Write number, where it is checked.
    pub write_number: Option<u8>,
}

impl Promise {
    /// # Panics
    /// If the unit holds something else: firmware has lost the page.
    #[inline]
    pub fn check(self, medium: &Medium) {
        let page = self.page;
        let tag = medium.tag(self.unit);
        let found = medium.format().lpn(tag);
        assert!(found == page, "read of page {page} would return page {found}");
        if let Some(expected) = self.write_number {
            let found = medium.format().generation(tag);
            assert!(found == expected, "read of page {page} would return write {found}, the last was {expected}");
        }
    }
}
