//! The way of dirty lines to the drives: in ascending order of addresses, neighbours as one write, and past those whose drives
//! have no room.

use ssdlab_core::SECTOR_BYTES;
use ssdlab_device::Device;

use super::drives::Drives;
use super::lines::{Lines, Run};
use super::under_way::UnderWay;

/// Lines that are looked at for one whose drives have room.
const LOOKED_AT: usize = 64;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Sweep {
    merge_bytes: u64,
    /// Line from which the next run is taken.
    cursor: u64,
    runs: UnderWay<Run>,
    drives: Drives,
    /// Nothing that is looked at goes to a drive that has room, until a write ends or something becomes dirty.
    no_room: bool,
}

impl Sweep {
    pub fn new(merge_bytes: u64, drives: Drives) -> Self {
        Sweep { merge_bytes, cursor: 0, runs: UnderWay::default(), drives, no_room: false }
    }

    /// Runs under way.
    pub fn writes(&self) -> usize {
        self.runs.count()
    }

    /// Begins at the lowest address, with what is dirty now.
    pub fn begin(&mut self, lines: &mut Lines) {
        lines.begin_sweep();
        self.cursor = 0;
        self.no_room = false;
    }

    /// Something has become dirty.
    pub fn look_again(&mut self) {
        self.no_room = false;
    }

    /// Goes on to the first line that could be written out, if there is one ahead.
    pub fn find(&mut self, lines: &Lines) -> bool {
        self.find_from(self.cursor, lines)
    }

    /// What lies between is never for this sweep.
    fn find_from(&mut self, line: u64, lines: &Lines) -> bool {
        let found = lines.ready_from(line).next();
        self.cursor = found.unwrap_or(self.cursor);
        found.is_some()
    }

    /// Takes the next run, to be sent under the number that is returned. `round`: begins anew behind the highest address.
    pub fn take(&mut self, round: bool, lines: &mut Lines, device: &dyn Device) -> Option<(usize, Run)> {
        let (line, length_bytes) = self.next(round, lines, device)?;
        let run = lines.take(line, length_bytes);
        if line == self.cursor {
            // The rest of a line that was taken in part is still ahead.
            self.cursor = (run.offset_bytes + run.length_bytes) / lines.line_bytes();
        }
        self.drives.sent(device, run.offset_bytes, run.length_bytes);
        Some((self.runs.begin(run), run))
    }

    /// The line from which the next run is taken, and how long that is: the next in order, or one behind it whose drives have room
    /// where those of the next have not.
    fn next(&mut self, round: bool, lines: &Lines, device: &dyn Device) -> Option<(u64, u64)> {
        if self.no_room || self.drives.are_full() {
            return None;
        }
        let found = self.find(lines) || round && self.find_from(0, lines);
        if !found {
            return None;
        }
        let with_room = |line: u64| {
            let first = lines.first_ready(line);
            // Most have none.
            if !self.drives.have_room(device, first, SECTOR_BYTES) {
                return None;
            }
            let (_, merged) = lines.run_at(line, self.merge_bytes);
            let length_bytes = self.drives.with_the_first(device, first, merged, lines.line_bytes());
            self.drives.have_room(device, first, length_bytes).then_some((line, length_bytes))
        };
        let found = lines.ready_from(self.cursor).take(LOOKED_AT).find_map(with_room);
        self.no_room = found.is_none();
        found
    }

    /// A run has ended, one way or the other.
    pub fn ended(&mut self, number: usize, device: &dyn Device) -> Run {
        let run = self.runs.end(number);
        self.drives.ended(device, run.offset_bytes, run.length_bytes);
        self.no_room = false;
        run
    }

    /// The power has gone: nothing is under way.
    pub fn power_cut(&mut self) {
        self.drives.power_cut();
        self.runs = UnderWay::default();
        self.cursor = 0;
        self.no_room = false;
    }
}
