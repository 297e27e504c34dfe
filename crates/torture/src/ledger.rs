//! The host's own books: commands, bytes and times as it saw them, balanced against what the drive says of itself.

use ssdlab_core::{Nanos, Op};
use ssdlab_device::{Completion, FlashCounters, Status};

use crate::subject::Facts;

/// See the module's own page.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    reads: u64,
    writes: u64,
    read_bytes: u64,
    write_bytes: u64,
    trim_bytes: u64,
    /// Mapping units touched by the writes that were done.
    units: u64,
    refused_writes: u64,
    in_flight: u64,
    in_flight_since: Nanos,
    in_flight_time: u128,
    latencies: u128,
    /// Erases that blocks had seen before the first command: those of an earlier life.
    erases_before: u64,
    bad_blocks_at_first: Option<u64>,
    last: Facts,
    /// Power cuts have taken commands away, and rows that were decided on.
    was_cut: bool,
}

macro_rules! balance {
    ($left:expr, $right:expr, $($what:tt)+) => {
        if $left != $right {
            return Err(format!("{}: {} against {}", format_args!($($what)+), $left, $right));
        }
    };
}

impl Ledger {
    /// `facts` of the drive before the first command.
    #[must_use]
    pub fn new(facts: &Facts) -> Self {
        Ledger { erases_before: facts.erases, ..Self::default() }
    }

    pub fn submitted(&mut self, now: Nanos) {
        self.advance(now);
        self.in_flight += 1;
    }

    /// A command has come back; `units` are the mapping units that it touched.
    pub fn completed(&mut self, c: &Completion, units: u64) {
        self.advance(c.completed);
        self.in_flight -= 1;
        self.latencies += u128::from(c.completed - c.submitted);
        match (c.op, c.status) {
            (Op::Write, Status::Ok) => {
                self.writes += 1;
                self.write_bytes += c.length_bytes;
                self.units += units;
            }
            (Op::Write, Status::ReadOnly) => self.refused_writes += 1,
            (Op::Read, Status::Ok) => {
                self.reads += 1;
                self.read_bytes += c.length_bytes;
            }
            (Op::Trim, Status::Ok) => self.trim_bytes += c.length_bytes,
            _ => {}
        }
    }

    fn advance(&mut self, now: Nanos) {
        self.in_flight_time += u128::from(now - self.in_flight_since) * u128::from(self.in_flight);
        self.in_flight_since = now;
    }

    /// Balances the books with no command in flight.
    ///
    /// # Errors
    /// The first entry that does not balance.
    pub fn check(&mut self, facts: &Facts) -> Result<(), String> {
        if self.was_cut {
            Self::check_corrections(&facts.flash())?;
            self.check_monotone(&facts.flash())?;
            self.last = *facts;
            return Ok(());
        }
        balance!(self.in_flight_time, self.latencies, "Little's law, ns in flight against latencies");
        let c = &facts.counters.host;
        balance!(c.reads, self.reads, "reads counted");
        balance!(c.writes, self.writes, "writes counted");
        balance!(c.read_bytes, self.read_bytes, "bytes read");
        balance!(c.write_bytes, self.write_bytes, "bytes written");
        balance!(c.trim_bytes, self.trim_bytes, "bytes trimmed");
        self.check_conservation(facts)?;
        self.check_wear(facts)?;
        Self::check_corrections(&facts.flash())?;
        self.check_monotone(&facts.flash())?;
        self.last = *facts;
        Ok(())
    }

    /// What the host wrote is what entered the buffer; what left it is what was programmed; rows are made of units
    /// and padding.
    fn check_conservation(&self, facts: &Facts) -> Result<(), String> {
        let f = &facts.ftl;
        if self.refused_writes == 0 {
            balance!(facts.accepted_units + f.overwrites_in_buffer, self.units, "units accepted or overwritten");
        }
        balance!(f.host_units + facts.waiting_units, facts.accepted_units, "units programmed or waiting");
        let rows = f.host_rows + f.gc_rows + f.fold_rows;
        let moved = f.gc_units + f.fold_units;
        let units = (f.host_units + moved) * facts.units_of_page + f.padding_units;
        let filled = rows * facts.row_units + f.saved_units + f.saved_moving_units;
        balance!(units, filled, "units and padding in rows, and what compression saved");
        balance!(facts.rows_queued, rows + f.metadata_rows, "rows that the medium was asked to program");
        let row_bytes = facts.row_units * facts.unit_bytes;
        let all_rows = rows + f.metadata_rows + f.retire_rows + f.safety_rows;
        balance!(facts.flash().program_bytes(), all_rows * row_bytes, "bytes programmed");
        let moved = moved * facts.units_of_page - f.saved_moving_units;
        if moved > f.gc_read_units {
            return Err(format!("{moved} units were moved, but only {} read to be moved", f.gc_read_units));
        }
        Ok(())
    }

    fn check_wear(&mut self, facts: &Facts) -> Result<(), String> {
        balance!(facts.erases, self.erases_before + facts.flash().block_erases, "erases that the blocks have seen");
        let failures = facts.ftl.program_failures + facts.ftl.erase_failures;
        let at_first = *self.bad_blocks_at_first.get_or_insert(facts.bad_blocks - failures);
        balance!(facts.bad_blocks - at_first, failures, "blocks that went bad");
        Ok(())
    }

    /// A unit that is rebuilt or lost was sensed softly before, where that is possible, and one such reread.
    fn check_corrections(c: &FlashCounters) -> Result<(), String> {
        let (reread, soft, end) = (c.reread_units, c.soft_units, c.rebuilt_units + c.lost_units);
        if end > soft || soft > reread {
            return Err(format!(
                "{end} units were rebuilt or lost, {soft} needed a soft decision, {reread} a second read"
            ));
        }
        Ok(())
    }

    fn check_monotone(&self, now: &FlashCounters) -> Result<(), String> {
        let before = self.last.flash().named();
        match before.into_iter().zip(now.named()).find(|(before, now)| now.1 < before.1) {
            Some(((name, before), (_, now))) => Err(format!("{name} of the flash went down, from {before} to {now}")),
            None => Ok(()),
        }
    }

    /// The power was cut: commands in flight are gone, and what was counted of them balances no more. What only grows is
    /// still watched.
    pub fn power_cut(&mut self) {
        self.was_cut = true;
        self.in_flight = 0;
    }
}
