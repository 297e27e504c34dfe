//! Which logical pages have lost their data, and which reads found out.

use std::collections::BTreeMap;
use std::ops::Range;

use ssdlab_ftl::{FlashOp, NOBODY, OpKind};
use ssdlab_nand::{LogicalPage, LogicalPages};

/// Whose read has found that a unit cannot be brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReader {
    /// A read of the host; or one ahead of it, which a command has come to wait for.
    Host,
    /// Reading ahead of the host, which nobody waits for yet.
    ReadAhead,
    /// A write of part of a page, which needs the rest.
    Merge,
    /// The write buffer, which needs the rest of a page.
    Buffer,
    /// The drive's own work: collection, folding, saving what a failed block holds.
    Firmware,
}

impl LossReader {
    /// `awaited`: the unit was read ahead, and a command waits for it.
    pub fn of(op: &FlashOp, awaited: bool) -> Self {
        match op.kind() {
            OpKind::HostRead if op.command() == NOBODY && !awaited => LossReader::ReadAhead,
            OpKind::HostRead => LossReader::Host,
            OpKind::MergeRead if op.is_read_for_buffer() => LossReader::Buffer,
            OpKind::MergeRead => LossReader::Merge,
            _ => LossReader::Firmware,
        }
    }
}

/// A unit of flash that nothing on the ladder could bring. See [`crate::SimulatedSsd::note_losses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The logical 4 KiB page that the unit holds, and which write of it, as its tag has it.
    pub page: LogicalPage,
    pub write_count: u8,
    pub reader: LossReader,
    /// The page lives elsewhere by now: nobody misses the unit.
    pub stale: bool,
    /// The host has written a part of the page since, which waits in the buffer for the rest.
    pub in_part: bool,
}

/// See the module's own page.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// The write of it that is gone, as its tag has it.
    pages: BTreeMap<LogicalPage, u8>,
    /// What was found since it was last asked for, if anybody asks.
    noted: Option<Vec<Loss>>,
}

impl Losses {
    /// Keeps a list of what is found from now on.
    pub fn note(&mut self) {
        self.noted.get_or_insert_default();
    }

    /// What was found since this was last asked for.
    pub fn take_noted(&mut self) -> Vec<Loss> {
        self.noted.as_mut().map_or_else(Vec::new, std::mem::take)
    }

    /// A read has found a unit lost.
    pub fn found(&mut self, loss: Loss) {
        if let Some(noted) = &mut self.noted {
            noted.push(loss);
        }
        if !loss.stale {
            self.pages.insert(loss.page, loss.write_count);
        }
    }

    /// Whether any page of a range has been lost.
    #[inline]
    pub fn any(&self, pages: Range<LogicalPage>) -> bool {
        !self.pages.is_empty() && self.pages.range(pages).next().is_some()
    }

    /// The host has written or trimmed pages: what was lost of them is no longer missed.
    #[inline]
    pub fn forgive(&mut self, pages: Range<LogicalPage>) {
        if !self.pages.is_empty() {
            pages.each().for_each(|page| {
                self.pages.remove(&page);
            });
        }
    }

    /// The drive has started, and these are the writes that it has found of its pages.
    pub fn settle(&mut self, found: impl Fn(LogicalPage) -> Option<u8>) {
        self.pages.retain(|&page, &mut lost| found(page) == Some(lost));
    }

    /// Logical pages whose data are lost, in order, and which write of each.
    pub fn pages(&self) -> &BTreeMap<LogicalPage, u8> {
        &self.pages
    }

    pub fn set_pages(&mut self, pages: BTreeMap<LogicalPage, u8>) {
        self.pages = pages;
    }
}
