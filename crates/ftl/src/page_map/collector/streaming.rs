//! Streaming: the collector reads on while data are being written, as far as its buffer reaches.

use crate::op::OpSink;
use crate::page_map::PageMap;

impl PageMap {
    /// Writes what fills rows, and reads on. What the buffer holds changes after that only when an operation ends.
    pub(super) fn step_streaming(&mut self, d: usize, sink: &mut impl OpSink) {
        while self.collector.domains[d].staged.len() >= self.row_units && self.write_row(d, false, sink) {}
        self.read_on(d, sink);
        if self.collector.domains[d].chooses_none() {
            // A fold does not sit on its last few units; its last rows may have held nothing, so that no read is left
            // to end.
            while !self.collector.domains[d].staged.is_empty() && self.pads_at_end(d) && self.write_row(d, true, sink) {
            }
        }
        self.retire_victims(d, sink);
    }

    /// Whether a collector waits for room in its buffer, and for nothing else that a step looks after: so it is after most
    /// of its programs.
    #[inline]
    pub(super) fn waits_for_room(&self, d: usize) -> bool {
        let domain = &self.collector.domains[d];
        let Some(reading) = &domain.reading else { return false };
        self.streams_freely
            && self.collector.needs_no_look()
            && domain.staged.len() < self.row_units
            && domain.moving.iter().all(|&sb| self.superblocks.valid(sb) > 0)
            && domain.units_held() + self.next_read(reading).units > self.collector.buffer_units
    }
}
