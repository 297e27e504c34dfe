//! Stop-and-wait: the collector fills its buffer, writes it out, waits until it is written, and reads on.

use super::domain::Phase;
use crate::op::OpSink;
use crate::page_map::PageMap;
use crate::translation::Round;

impl PageMap {
    /// Goes on until neither filling nor draining moves anything.
    pub(super) fn step_stop_and_wait(&mut self, d: usize, sink: &mut impl OpSink) {
        while self.drain(d, sink) | self.fill(d, sink) {}
        if self.pacing.in_rounds() {
            self.end_round_if_stuck();
        }
    }

    /// Writes the buffer out; returns whether anything has changed.
    fn drain(&mut self, d: usize, sink: &mut impl OpSink) -> bool {
        if self.collector.domains[d].phase == Phase::Filling {
            return false;
        }
        let mut moved = false;
        while self.collector.domains[d].staged.len() >= self.row_units && self.write_row(d, false, sink) {
            moved = true;
        }
        // A collection that ends for good does not sit on the last few units, if it has gained a row.
        if self.rest_goes_out(d) {
            moved |= self.write_row(d, true, sink);
        }
        // At the end nothing stays behind, even if the rest has to wait for a free superblock.
        let domain = &self.collector.domains[d];
        if domain.units_writing == 0 && domain.staged.len() < self.row_units && !self.rest_goes_out(d) {
            self.collector.domains[d].phase = Phase::Filling;
            self.collector.round = Round::None;
            moved = true;
        }
        moved
    }

    /// Whether units are left that go out although they do not fill a row.
    fn rest_goes_out(&self, d: usize) -> bool {
        !self.collector.domains[d].staged.is_empty() && self.pads_at_end(d)
    }

    /// Reads until the buffer is full or nothing is left; returns whether anything has changed.
    fn fill(&mut self, d: usize, sink: &mut impl OpSink) -> bool {
        let filling = |map: &Self| map.collector.domains[d].phase == Phase::Filling;
        let mut moved = filling(self) && self.may_collect(d) && self.read_on(d, sink);
        self.retire_victims(d, sink);
        let most = self.collector.rows_per_read * self.row_units;
        let full = self.collector.domains[d].units_held() + most > self.collector.buffer_units;
        let rows_staged = self.collector.domains[d].staged.len() >= self.row_units;
        let end = self.nothing_left_to_read(d) && (rows_staged || self.pads_at_end(d));
        let domain = &mut self.collector.domains[d];
        if domain.phase == Phase::Filling && domain.units_reading == 0 && !domain.staged.is_empty() && (full || end) {
            domain.phase = Phase::Draining;
            moved = true;
        }
        moved
    }
}
