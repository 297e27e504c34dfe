//! The requests of a trace, placed on the drive.

use std::cell::RefCell;
use std::io::Read;

use ssdlab_core::Nanos;
use ssdlab_workload::trace::{Placement, PlacementReport, TraceError, TraceReader, TraceSummary};
use ssdlab_workload::{Command, Source};

/// The commands of a trace with their recorded times.
pub(super) struct Commands<R> {
    reader: TraceReader<R>,
    placement: Placement,
    /// The second half of a request that was split at the end of the drive.
    second: Option<(Nanos, Command)>,
    /// Requests that the trace held when it was read first. One with more of them is another.
    limit: u64,
    /// What was read this time.
    seen: TraceSummary,
    fault: Option<TraceError>,
}

/// What the second reading found.
pub(super) struct Second {
    /// What was adjusted.
    pub(super) placement: PlacementReport,
    pub(super) seen: TraceSummary,
    pub(super) fault: Option<TraceError>,
    /// There are more requests than at the first reading.
    pub(super) has_more: bool,
}

impl<R: Read> Commands<R> {
    pub(super) fn new(reader: TraceReader<R>, placement: Placement, limit: u64) -> Self {
        Commands { reader, placement, second: None, limit, seen: TraceSummary::default(), fault: None }
    }

    /// The next command; `None` at the end or at a fault.
    pub(super) fn next(&mut self) -> Option<(Nanos, Command)> {
        if let Some(second) = self.second.take() {
            return Some(second);
        }
        if self.seen.requests == self.limit {
            return None;
        }
        match self.reader.next()? {
            Ok(record) => {
                self.seen.add(&record);
                let placed = self.placement.place(&record);
                self.second = placed.second.map(|command| (record.at, command));
                Some((record.at, placed.first))
            }
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
    }

    pub(super) fn finish(mut self) -> Second {
        let has_more = self.fault.is_none() && self.seen.requests == self.limit && self.reader.next().is_some();
        Second { placement: self.placement.report().clone(), seen: self.seen, fault: self.fault, has_more }
    }
}

/// Requests between two reports of progress.
const REPORT_EVERY: u64 = 4096;

/// The commands without their times. It reports progress itself: the host does not know how many are to come.
pub(super) struct InOrder<'a, R> {
    commands: &'a RefCell<Commands<R>>,
    progress: &'a dyn Fn(u64) -> bool,
    reported: u64,
}

impl<'a, R> InOrder<'a, R> {
    pub(super) fn new(commands: &'a RefCell<Commands<R>>, progress: &'a dyn Fn(u64) -> bool) -> Self {
        InOrder { commands, progress, reported: 0 }
    }
}

impl<R: Read> Source for InOrder<'_, R> {
    fn next(&mut self) -> Option<Command> {
        let mut commands = self.commands.borrow_mut();
        let requests = commands.placement.report().requests;
        if requests >= self.reported + REPORT_EVERY {
            self.reported = requests;
            // Whether to go on, the host asks by itself.
            let _ = (self.progress)(requests);
        }
        commands.next().map(|(_, command)| command)
    }
}
