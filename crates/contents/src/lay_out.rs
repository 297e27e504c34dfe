//! Brings pages onto a device without their bytes, so that it holds what the store says: all of them onto a new one, or onto
//! one that was saved those that were changed since.

use std::ops::Range;

use ssdlab_core::{Nanos, Op, UNIT_BYTES};
use ssdlab_device::{Completion, Device, Request, Status};

use crate::image::Change;
use crate::store::{Store, Version};

/// Pages of one write: 1 MiB.
const MOST_PAGES: u32 = 256;
/// Commands at the device at once.
const DEPTH: usize = 32;

/// Writes every written page of the store to a new device at time `now`, once, in the order of addresses, and flushes. Of a device
/// that keeps several pages as one, pages beside a written one become written with it. Returns the time at which that was
/// done. `go_on` is asked now and then whether to.
///
/// # Errors
/// If the device fails a command, or stops; if it was not to go on.
pub fn lay_out(
    device: &mut dyn Device,
    store: &mut Store,
    now: Nanos,
    go_on: &dyn Fn() -> bool,
) -> Result<Nanos, String> {
    let unit_pages = device.plug_seen().map_or(1, |plug| (plug.unit_bytes() / UNIT_BYTES) as u32);
    let all = store.capacity_bytes().div_ceil(UNIT_BYTES) as u32;
    let mut loader = Loader::new(device, now, go_on);
    let (mut run, mut beside): (Option<Range<u32>>, Vec<u32>) = (None, Vec::new());
    // What was trimmed and is still read is on no drive.
    for (page, ..) in store.written().filter(|written| written.1 != 0) {
        if run.as_ref().is_some_and(|run| page < run.end) {
            continue;
        }
        let first = page - page % unit_pages;
        let unit = first..(first + unit_pages).min(all);
        if unit_pages > 1 {
            beside.extend(unit.clone().filter(|&page| store.number(page) == 0));
        }
        run = match run {
            Some(pages) if pages.end == unit.start => Some(pages.start..unit.end),
            Some(whole) => {
                loader.change(&Change { pages: whole, written: true })?;
                Some(unit)
            }
            None => Some(unit),
        };
    }
    run.map_or(Ok(()), |pages| loader.change(&Change { pages, written: true }))?;
    let done = loader.finish()?;
    for page in beside {
        let as_it_is = store.page(page).cloned();
        store.replace(page, Version { number: 1, page: as_it_is });
    }
    Ok(done)
}

/// Writes and trims pages once more, in the same order, and flushes. Returns the time at which that was done. Trims count for
/// nothing on a device that has become read-only.
///
/// # Errors
/// As those of [`lay_out`].
pub(crate) fn replay(
    device: &mut dyn Device,
    changes: &[Change],
    now: Nanos,
    go_on: &dyn Fn() -> bool,
) -> Result<Nanos, String> {
    let mut loader = Loader::new(device, now, go_on);
    changes.iter().try_for_each(|change| loader.change(change))?;
    loader.finish()
}

struct Loader<'a> {
    device: &'a mut dyn Device,
    go_on: &'a dyn Fn() -> bool,
    now: Nanos,
    in_flight: usize,
    /// Pages of the commands that were sent since none was in flight.
    sent: Vec<Range<u32>>,
    done: Vec<Completion>,
}

impl<'a> Loader<'a> {
    fn new(device: &'a mut dyn Device, now: Nanos, go_on: &'a dyn Fn() -> bool) -> Self {
        Loader { device, go_on, now, in_flight: 0, sent: Vec::new(), done: Vec::new() }
    }

    fn change(&mut self, change: &Change) -> Result<(), String> {
        let op = if change.written { Op::Write } else { Op::Trim };
        if op == Op::Trim && !self.device.info().supports_trim {
            return Ok(());
        }
        let Range { start, end } = change.pages;
        for first in (start..end).step_by(MOST_PAGES as usize) {
            let pages = first..end.min(first.saturating_add(MOST_PAGES));
            if !(self.go_on)() {
                return Err("it was stopped".to_owned());
            }
            self.wait_for(DEPTH - 1)?;
            // Commands that touch the same pages go one after the other.
            if self.sent.iter().any(|sent| sent.start < pages.end && pages.start < sent.end) {
                self.wait_for(0)?;
            }
            let offset = u64::from(pages.start) * UNIT_BYTES;
            let end = (u64::from(pages.end) * UNIT_BYTES).min(self.device.info().capacity_bytes);
            self.sent.push(pages);
            self.send(Request::new(0, op, offset, end - offset))?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Nanos, String> {
        self.wait_for(0)?;
        self.send(Request::flush(0))?;
        self.wait_for(0)?;
        Ok(self.now)
    }

    fn send(&mut self, request: Request) -> Result<(), String> {
        self.device.submit(self.now, request).map_err(|e| e.to_string())?;
        self.in_flight += 1;
        Ok(())
    }

    /// Until no more than so many commands are at the device.
    fn wait_for(&mut self, in_flight: usize) -> Result<(), String> {
        // So many ranges are looked through for each command.
        let in_flight = if self.sent.len() > 8 * DEPTH { 0 } else { in_flight };
        while self.in_flight > in_flight {
            if self.device.next_event().is_none() {
                return Err(format!("{} commands are at the device, and it is at rest", self.in_flight));
            }
            self.now = self.device.advance_to_completion(Nanos::MAX - 1, &mut self.done);
            self.in_flight -= self.done.len();
            let failed = |c: &&Completion| c.status != Status::Ok && (c.op, c.status) != (Op::Trim, Status::ReadOnly);
            if let Some(c) = self.done.iter().find(failed) {
                return Err(format!("a {} at byte {} ended in {}", c.op.name(), c.offset_bytes, c.status));
            }
            self.done.clear();
        }
        if self.in_flight == 0 {
            self.sent.clear();
        }
        Ok(())
    }
}
