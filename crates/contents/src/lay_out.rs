//! Writes pages onto a device that has none, so that it holds what the store says.

use ssdlab_core::{Nanos, Op, UNIT_BYTES};
use ssdlab_device::{Device, Request, Status};

use crate::store::Store;

/// Pages of one write: 1 MiB.
const MOST_PAGES: u32 = 256;
/// Commands at the device at once.
const DEPTH: usize = 32;

/// Writes every written page of the store to a device at time `now`, once, in the order of addresses, and flushes. Returns
/// the time at which that was done.
///
/// # Errors
/// If the device fails a command, or stops.
pub fn lay_out(device: &mut dyn Device, store: &Store, now: Nanos) -> Result<Nanos, String> {
    let mut loader = Loader { device, now, in_flight: 0, done: Vec::new() };
    let mut run: Option<(u32, u32)> = None;
    for (unit, ..) in store.written() {
        run = match run {
            Some((first, pages)) if first + pages == unit && pages < MOST_PAGES => Some((first, pages + 1)),
            Some(whole) => {
                loader.write(whole)?;
                Some((unit, 1))
            }
            None => Some((unit, 1)),
        };
    }
    if let Some(last) = run {
        loader.write(last)?;
    }
    loader.wait_for(0)?;
    loader.send(Request::flush(0))?;
    loader.wait_for(0)?;
    Ok(loader.now)
}

struct Loader<'a> {
    device: &'a mut dyn Device,
    now: Nanos,
    in_flight: usize,
    done: Vec<ssdlab_device::Completion>,
}

impl Loader<'_> {
    fn write(&mut self, (first, pages): (u32, u32)) -> Result<(), String> {
        let offset = u64::from(first) * UNIT_BYTES;
        let end = (offset + u64::from(pages) * UNIT_BYTES).min(self.device.info().capacity_bytes);
        self.wait_for(DEPTH - 1)?;
        self.send(Request::new(0, Op::Write, offset, end - offset))
    }

    fn send(&mut self, request: Request) -> Result<(), String> {
        self.device.submit(self.now, request).map_err(|e| e.to_string())?;
        self.in_flight += 1;
        Ok(())
    }

    /// Until no more than so many commands are at the device.
    fn wait_for(&mut self, in_flight: usize) -> Result<(), String> {
        while self.in_flight > in_flight {
            if self.device.next_event().is_none() {
                return Err(format!("{} commands are at the device, and it is at rest", self.in_flight));
            }
            self.now = self.device.advance_to_completion(Nanos::MAX - 1, &mut self.done);
            self.in_flight -= self.done.len();
            if let Some(c) = self.done.iter().find(|c| c.status != Status::Ok) {
                return Err(format!("a {} at byte {} ended in {}", c.op.name(), c.offset_bytes, c.status));
            }
            self.done.clear();
        }
        Ok(())
    }
}
