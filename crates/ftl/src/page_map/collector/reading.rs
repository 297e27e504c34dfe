//! What a collector reads: the rows of its victim that hold anything valid, die by die, then the next pages.

use ssdlab_nand::{BlockId, DieId, UnitAddress};

use super::domain::Reading;
use super::staging::Run;
use crate::op::{FlashOp, OpKind, OpSink};
use crate::page_map::PageMap;

/// Rows of one die that one operation reads.
pub(super) struct NextRead {
    die: DieId,
    block: BlockId,
    first: UnitAddress,
    /// Rows, and how many valid units they hold.
    count: u32,
    pub(super) units: u32,
}

impl PageMap {
    /// Asks for reads while the buffer has room; returns whether any was asked for.
    pub(super) fn read_on(&mut self, d: usize, sink: &mut impl OpSink) -> bool {
        let mut any = false;
        loop {
            let room = self.collector.buffer_units;
            if self.collector.domains[d].units_held() >= room {
                return any;
            }
            if self.waits_for_host(d) {
                self.collector.held.insert(d as u32);
                return any;
            }
            if self.collector.domains[d].reading.is_none() && !self.next_victim(d) {
                return any;
            }
            let Some(reading) = self.collector.domains[d].reading else { return any };
            let NextRead { die, block, first, count, units } = self.next_read(&reading);
            if units > 0 {
                let domain = &mut self.collector.domains[d];
                if domain.units_held() + units > room {
                    return any;
                }
                domain.units_reading += units;
                self.counters.gc_read_units += u64::from(units);
                let rows = self.valid_rows_from(first, count);
                self.medium.prefetch_tags(first, count * self.row_units);
                let kind = if self.cache.is_some() { self.read_kind(block) } else { OpKind::GcRead };
                let read = FlashOp::read(kind, block, reading.page, rows, units);
                self.enqueue_for_collection(d, die, read, sink);
                any = true;
            }
            self.advance_reading(d, reading);
        }
    }

    /// What a collector reads next.
    #[inline(always)]
    pub(super) fn next_read(&self, reading: &Reading) -> NextRead {
        let block = self.superblocks.block_on(reading.superblock, reading.die);
        let layout = self.medium.layout();
        let first = layout.row_start(block, reading.page);
        let count = self.collector.rows_per_read.min(layout.pages - reading.page);
        NextRead { die: reading.die, block, first, count, units: self.valid_units_from(first, count) }
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

    fn advance_reading(&mut self, d: usize, mut reading: Reading) {
        reading.die = reading.die.next();
        if reading.die == reading.end_die {
            reading.die = self.superblocks.dies_of(d).first;
            reading.page += self.collector.rows_per_read;
        }
        let domain = &mut self.collector.domains[d];
        if reading.page >= self.medium.layout().pages {
            domain.moving.push_back(reading.superblock);
            domain.reading = None;
        } else {
            domain.reading = Some(reading);
            let block = self.superblocks.block_on(reading.superblock, reading.die);
            self.validity.prefetch(self.medium.layout().row_start(block, reading.page));
        }
    }

    /// A read has brought its units: those that are still valid are staged.
    #[inline]
    pub(in crate::page_map) fn collector_read(&mut self, op: &FlashOp, sink: &mut impl OpSink) {
        let layout = self.medium.layout();
        let d = self.superblocks.domain_of_block(op.block(), layout);
        let page = op.page();
        let last = page + op.rows().ilog2();
        if last >= self.medium.finished_pages(op.block()) {
            panic!("firmware collected block {} page {last} before its program ended", op.block());
        }
        let domain = &mut self.collector.domains[d];
        domain.units_reading -= op.units();
        // Rows that were left out had nothing valid, and nothing comes to life in a victim.
        let mut start = layout.row_start(op.block(), page);
        let end = layout.row_start(op.block(), last) + self.row_units;
        while start < end {
            let width = (self.rows_per_span * self.row_units).min(end - start);
            let units = self.validity.span(start) & (u64::MAX >> (64 - width));
            domain.staged.push(Run { start, units });
            start += width;
        }
        self.collector_step(d, sink);
    }

    /// A program of the collector has ended. Returns whether that may let the host write.
    #[inline]
    pub(in crate::page_map) fn collector_wrote(&mut self, op: &FlashOp, sink: &mut impl OpSink) -> bool {
        let d = self.superblocks.domain_of_block(op.block(), self.medium.layout());
        let domain = &mut self.collector.domains[d];
        let units = op.units();
        domain.units_writing -= units;
        domain.credit.earn(units);
        domain.programs.end(op.number());
        if self.collector.finishing.contains(d as u32) {
            self.erase_where_finished(d, sink);
        }
        if self.waits_for_room(d) {
            return false;
        }
        self.collector_step(d, sink);
        true
    }
}
