//! What a drive does to its flash before it is ready: how long it takes, and what it draws.

use ssdlab_core::Nanos;
use ssdlab_ftl::ErasedBlock;
use ssdlab_nand::CellMode;

use super::Backend;
use crate::power::{ArrayWork, FlashWork};

/// A row is read or made anew and programmed, or a block is erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepairSteps {
    /// The row that is read first: its mode and page.
    pub reads: Option<(CellMode, u32)>,
    /// Rows of the die's own mode that are read besides.
    pub others: u32,
    pub programs: Option<(CellMode, u32)>,
    pub erases: Option<ErasedBlock>,
}

impl Backend {
    #[must_use]
    pub fn time_to_repair(&self, steps: &RepairSteps) -> Nanos {
        let others = Nanos::from(steps.others) * self.time_to_read(self.times.native(), 0);
        let read = steps.reads.map_or(0, |(mode, page)| self.time_to_read(mode, page));
        let program = steps.programs.map_or(0, |(mode, page)| self.time_to_program(mode, page));
        others + read + program + steps.erases.map_or(0, |erased| self.command_time + self.erase_time(&erased))
    }

    /// A repair is made.
    pub fn count_repair(&mut self, steps: &RepairSteps) {
        self.work = self.work.plus(&self.work_of(steps));
    }

    /// A repair that was counted is not made after all.
    pub fn count_out(&mut self, steps: &RepairSteps) {
        self.work = self.work.minus(&self.work_of(steps));
    }

    fn work_of(&self, steps: &RepairSteps) -> FlashWork {
        let mut work = FlashWork::default();
        let sensing = ArrayWork::sensing(self.planes_of_rows(1));
        if let Some((mode, page)) = steps.reads {
            work.add(sensing, self.times.read(mode)[page as usize]);
            work.read_eighths += 8 * self.row_units;
        }
        work.add(sensing, Nanos::from(steps.others) * self.times.read(self.times.native())[0]);
        work.read_eighths += 8 * u64::from(steps.others) * self.row_units;
        if let Some((mode, page)) = steps.programs {
            let passes = if mode == self.times.native() { self.passes } else { 1 };
            work.add(self.programming(mode, 1), self.times.program(mode)[page as usize]);
            work.sent_units += passes * self.row_units;
            work.encoded_units += self.row_units;
        }
        if let Some(erased) = steps.erases {
            work.add(ArrayWork::erasing(self.planes_of_rows(1)), self.erase_time(&erased));
        }
        work
    }
}
