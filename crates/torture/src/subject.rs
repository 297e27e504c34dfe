//! What is tortured: a drive that lets the ledger look inside.

use ssdlab_core::Nanos;
use ssdlab_core::Rng;
use std::ops::Range;

use ssdlab_device::{Completion, DeviceInfo, Plug, Recorder, Refusal, Request, Security};
use ssdlab_device::{Counters, Device, FlashCounters};
use ssdlab_ftl::{LogBlock, LogBlockFault, RecoveryFault, Translation, TranslationCounters};
use ssdlab_nand::{LogicalPage, SpecError};
use ssdlab_ssd::{Loss, SimulatedSsd, Ssd};

use crate::case::Case;

/// A drive under torture. Tests put a broken one in the real one's place, to see that torture finds out.
pub trait Subject: Device {
    /// The write count in the tag of a logical page as the drive would return it; `None` if it holds nothing.
    fn write_count(&self, page: u32) -> Option<u8>;

    /// The greatest write count; after it comes 1.
    fn max_write_count(&self) -> u8;

    /// Whether the drive has run out of good blocks.
    fn is_read_only(&self) -> bool;

    fn facts(&self) -> Facts;

    /// What reads have found lost since this was last asked for.
    fn take_losses(&mut self) -> Vec<Loss>;

    /// Whether the drive counts a logical page as lost, and all that it does, in order.
    fn is_lost(&self, page: u32) -> bool;
    fn lost_pages(&self) -> Vec<u32>;

    /// Lets time pass in which nothing happens but that data grow old.
    fn age(&mut self, seconds: u64);

    /// Ranges of pages whose trims a power cut would forget now; `None`: any trim.
    fn unsaved_trims(&self) -> Option<Vec<Range<u32>>>;
}

/// What the ledger balances against what the host knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    pub counters: Counters,
    pub ftl: TranslationCounters,
    /// Units of flash in a row; their bytes, and how many of them make a logical page.
    pub row_units: u64,
    pub unit_bytes: u64,
    pub units_of_page: u64,
    pub planes: u64,
    /// Rows whose programs have been queued, as the medium counts them.
    pub rows_queued: u64,
    /// Sum of the erase counts of all blocks, plane by plane.
    pub erases: u64,
    pub bad_blocks: u64,
    pub mapped_units: u64,
    pub accepted_units: u64,
    pub waiting_units: u64,
    pub buffered_units: u64,
    /// What is in the buffer stays there at a FLUSH, and survives a cut.
    pub safe_in_buffer: bool,
    pub read_only: bool,
    pub frozen: bool,
}

impl Facts {
    /// Bytes of a logical page.
    #[must_use]
    pub fn page_bytes(&self) -> u64 {
        self.unit_bytes * self.units_of_page
    }

    /// What the flash has done.
    #[must_use]
    pub fn flash(&self) -> FlashCounters {
        self.counters.flash.unwrap_or_default()
    }
}

/// Builds the drive of a case, of either kind.
///
/// # Errors
/// If it cannot be built.
pub fn build_ssd(case: &Case) -> Result<Box<dyn Subject>, SpecError> {
    Ok(if case.drive.log_blocks.is_some() {
        Box::new(build_log_blocks(case)?)
    } else {
        Box::new(build_page_map(case)?)
    })
}

fn build_log_blocks(case: &Case) -> Result<SimulatedSsd<true, true, LogBlock>, SpecError> {
    SimulatedSsd::with_log_blocks("torture", &case.drive, &case.die, case.seed)
}

/// The same, where drives that translate by blocks have firmware that recovers wrongly from power cuts: for tests of the
/// torture itself.
///
/// # Errors
/// If it cannot be built.
pub fn build_ssd_with_log_block_fault(case: &Case, fault: LogBlockFault) -> Result<Box<dyn Subject>, SpecError> {
    if case.drive.log_blocks.is_none() {
        return build_ssd(case);
    }
    let mut drive = build_log_blocks(case)?;
    drive.break_recovery(fault);
    Ok(Box::new(drive))
}

/// The same, where drives with a map of pages have such firmware.
///
/// # Errors
/// If it cannot be built.
pub fn build_ssd_with_fault(case: &Case, fault: RecoveryFault) -> Result<Box<dyn Subject>, SpecError> {
    if case.drive.log_blocks.is_some() {
        return build_ssd(case);
    }
    let mut drive = build_page_map(case)?;
    drive.break_recovery(fault);
    Ok(Box::new(drive))
}

fn build_page_map(case: &Case) -> Result<Ssd, SpecError> {
    let mut drive = Ssd::new("torture", &case.drive, &case.die, case.seed)?;
    drive.inject(case.faults, Rng::new(case.seed).stream("faults").next_u64());
    drive.note_losses();
    Ok(drive)
}

impl Device for Box<dyn Subject> {
    fn info(&self) -> &DeviceInfo {
        (**self).info()
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        (**self).submit(now, request)
    }

    fn next_event(&self) -> Option<Nanos> {
        (**self).next_event()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        (**self).advance(to, done);
    }

    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        (**self).advance_to_completion(limit, done)
    }

    fn snapshot(&self) -> Option<Box<dyn Device>> {
        (**self).snapshot()
    }

    fn counters(&self) -> Counters {
        (**self).counters()
    }

    fn check_books(&self) -> Result<(), String> {
        (**self).check_books()
    }

    fn celsius(&self) -> Option<f64> {
        (**self).celsius()
    }

    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        (**self).recorder()
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        (**self).security()
    }

    fn plug(&mut self) -> Option<&mut dyn Plug> {
        (**self).plug()
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        (**self).plug_seen()
    }
}

impl Subject for Box<dyn Subject> {
    fn write_count(&self, page: u32) -> Option<u8> {
        (**self).write_count(page)
    }

    fn max_write_count(&self) -> u8 {
        (**self).max_write_count()
    }

    fn is_read_only(&self) -> bool {
        (**self).is_read_only()
    }

    fn facts(&self) -> Facts {
        (**self).facts()
    }

    fn take_losses(&mut self) -> Vec<Loss> {
        (**self).take_losses()
    }

    fn is_lost(&self, page: u32) -> bool {
        (**self).is_lost(page)
    }

    fn lost_pages(&self) -> Vec<u32> {
        (**self).lost_pages()
    }

    fn age(&mut self, seconds: u64) {
        (**self).age(seconds);
    }

    fn unsaved_trims(&self) -> Option<Vec<Range<u32>>> {
        (**self).unsaved_trims()
    }
}

impl<T: Translation> Subject for SimulatedSsd<true, true, T> {
    fn write_count(&self, page: u32) -> Option<u8> {
        self.translation().write_number(LogicalPage::new(page))
    }

    fn max_write_count(&self) -> u8 {
        self.translation().medium().format().max_generation()
    }

    fn is_read_only(&self) -> bool {
        self.translation().is_read_only()
    }

    fn take_losses(&mut self) -> Vec<Loss> {
        SimulatedSsd::take_losses(self)
    }

    fn is_lost(&self, page: u32) -> bool {
        self.has_lost(LogicalPage::new(page).run(1))
    }

    fn lost_pages(&self) -> Vec<u32> {
        SimulatedSsd::lost_pages(self).into_iter().map(LogicalPage::number).collect()
    }

    fn age(&mut self, seconds: u64) {
        SimulatedSsd::age(self, seconds);
    }

    fn unsaved_trims(&self) -> Option<Vec<Range<u32>>> {
        let ranges = self.translation().unsaved_trims()?;
        Some(ranges.into_iter().map(|pages| pages.start.number()..pages.end.number()).collect())
    }

    fn facts(&self) -> Facts {
        let (ftl, medium) = (self.translation(), self.translation().medium());
        let layout = medium.layout();
        let blocks = layout.all_blocks();
        Facts {
            counters: self.counters(),
            ftl: ftl.counters(),
            row_units: layout.row_units.into(),
            unit_bytes: layout.unit_bytes.into(),
            units_of_page: 1 << ftl.unit_shift(),
            planes: layout.planes.into(),
            rows_queued: medium.rows_queued(),
            erases: layout.all_blocks().map(|b| u64::from(medium.erases(b) * layout.planes)).sum(),
            bad_blocks: blocks.filter(|&b| medium.is_bad(b)).count() as u64,
            mapped_units: ftl.mapped_units(),
            accepted_units: ftl.accepted_units(),
            waiting_units: ftl.waiting_units().into(),
            buffered_units: ftl.buffered_units().into(),
            safe_in_buffer: self.is_safe_in_buffer(),
            read_only: ftl.is_read_only(),
            frozen: ftl.is_frozen(),
        }
    }
}
