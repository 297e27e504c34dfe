//! A host that writes until the power goes, and looks at what is left.

use std::collections::BTreeMap;
use std::ops::Range;

use ssdlab_core::{Nanos, Op, Rng, SECOND};
use ssdlab_device::{Completion, Device, Held, Plug, Request, Status};

use super::ledger::{Covered, Ledger, Losses};
use crate::error::{BenchError, HostError};

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Bytes of a write, in whole units of the device.
    pub write_bytes: u64,
    /// No more than there are places for such writes: of each one is in flight at most.
    pub depth: usize,
    /// Writes from one flush to the next; 0: none.
    pub writes_per_flush: u64,
}

enum Sent {
    Write(Range<u32>),
    Flush(Covered),
}

/// A unit that was on flash, and that a cut destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtRest {
    pub bits_per_cell: u8,
    /// Whether a flush had covered it, or an earlier write of the same unit.
    pub flushed: bool,
    /// How old it was.
    pub age: Nanos,
}

/// Cuts at moments drawn evenly from time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    pub cuts: u64,
    /// That found answered data which no flush had covered: those that can tell whether such data are kept.
    pub at_stake: u64,
    /// After which anything that had been answered was not there, or could not be read.
    pub lossy: u64,
}

/// What all cuts have done so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub cuts: u64,
    /// Of these, at moments drawn evenly from time.
    pub drawn: Drawn,
    pub losses: Losses,
    pub at_rest: Vec<AtRest>,
    /// From power to ready.
    pub ready: Vec<Nanos>,
}

/// See the module's own page.
pub struct Cutter<'a> {
    device: &'a mut dyn Device,
    load: Load,
    rng: Rng,
    now: Nanos,
    began: Nanos,
    next_tag: u64,
    writes: u64,
    /// See [`Plug::unit_bytes`].
    unit_bytes: u64,
    units: u32,
    ledger: Ledger,
    in_flight: BTreeMap<u64, Sent>,
    done: Vec<Completion>,
    /// By unit: when it was last written, in milliseconds from the beginning, and one.
    written_ms: Vec<u32>,
    /// Of another life.
    unclean_before: u64,
    pub tally: Tally,
}

fn plug(device: &mut dyn Device) -> &mut dyn Plug {
    device.plug().expect("the test has looked for it")
}

impl<'a> Cutter<'a> {
    /// A host on a drive that is at rest; if it is `filled`, all of it was written before and flushed.
    pub fn new(device: &'a mut dyn Device, now: Nanos, filled: bool, load: Load, rng: Rng) -> Self {
        let unit_bytes = plug(device).unit_bytes();
        let units = (device.info().capacity_bytes / unit_bytes) as u32;
        let plug = plug(device);
        let unclean_before = plug.unclean_shutdowns();
        // A drive that was saved has counted other writes of each unit than a new one.
        let number = |unit: u32| match plug.held(unit.into()) {
            Held::Write(number) | Held::Mixed(number) => number,
            Held::Nothing | Held::Unreadable => u8::from(filled),
        };
        let ledger = Ledger::new((0..units).map(number).collect(), plug.greatest_write_number());
        Cutter {
            load,
            rng,
            now,
            began: now,
            next_tag: 0,
            writes: 0,
            unit_bytes,
            units,
            ledger,
            in_flight: BTreeMap::new(),
            done: Vec::new(),
            written_ms: vec![0; units as usize],
            unclean_before,
            tally: Tally::default(),
            device,
        }
    }

    fn submit(&mut self, op: Op, units: Range<u32>, sent: Sent) -> Result<(), BenchError> {
        let (offset, length) = (u64::from(units.start) * self.unit_bytes, units.len() as u64 * self.unit_bytes);
        let request = Request::new(self.next_tag, op, offset, length);
        self.device.submit(self.now, request).map_err(HostError::from)?;
        self.in_flight.insert(self.next_tag, sent);
        self.next_tag += 1;
        Ok(())
    }

    fn keep_busy(&mut self) -> Result<(), BenchError> {
        while self.in_flight.len() < self.load.depth {
            if self.load.writes_per_flush > 0 && self.writes == self.load.writes_per_flush {
                self.writes = 0;
                let covered = self.ledger.flush_sent();
                self.submit(Op::Flush, 0..0, Sent::Flush(covered))?;
                continue;
            }
            let count = (self.load.write_bytes / self.unit_bytes) as u32;
            let first = self.rng.below(u64::from(self.units / count)) as u32 * count;
            if self.ledger.is_busy(first..first + count) {
                continue;
            }
            self.writes += 1;
            self.ledger.sent(first..first + count);
            self.submit(Op::Write, first..first + count, Sent::Write(first..first + count))?;
        }
        Ok(())
    }

    fn take_completions(&mut self) -> Result<(), BenchError> {
        for c in std::mem::take(&mut self.done) {
            if c.status != Status::Ok {
                let (op, offset_bytes, length_bytes) = (c.op, c.offset_bytes, c.length_bytes);
                let (status, trouble) = (c.status, String::new());
                return Err(HostError::Failed { op, offset_bytes, length_bytes, status, trouble, at: self.now }.into());
            }
            match self.in_flight.remove(&c.tag) {
                Some(Sent::Write(units)) => {
                    let ms = ((self.now - self.began) / 1_000_000) as u32 + 1;
                    self.written_ms[units.start as usize..units.end as usize].fill(ms);
                    self.ledger.answered(units);
                }
                Some(Sent::Flush(covered)) => self.ledger.flush_answered(&covered),
                None => {}
            }
        }
        Ok(())
    }

    /// Writes for a time.
    pub fn write_for(&mut self, time: Nanos) -> Result<(), BenchError> {
        let end = self.now + time;
        loop {
            self.keep_busy()?;
            self.now = self.device.advance_to_completion(end, &mut self.done);
            self.take_completions()?;
            if self.now >= end {
                return Ok(());
            }
        }
    }

    /// Writes until so many events have happened in the drive.
    pub fn write_events(&mut self, events: u64) -> Result<(), BenchError> {
        for _ in 0..events {
            self.keep_busy()?;
            let stalled = HostError::Stalled { in_flight: self.in_flight.len() as u64, at: self.now };
            let at = self.device.next_event().ok_or(stalled)?;
            self.now = self.now.max(at);
            self.device.advance(self.now, &mut self.done);
            self.take_completions()?;
        }
        Ok(())
    }

    /// The power goes for a second. Looks at what is there, and waits until the drive is ready. `drawn`: at a moment drawn evenly.
    pub fn cut(&mut self, drawn: bool) {
        let at_stake = self.ledger.any_at_stake();
        plug(self.device).cut(self.now);
        let cut_at = self.now;
        let commands = std::mem::take(&mut self.in_flight);
        let writes: Vec<Range<u32>> = commands
            .into_values()
            .filter_map(|sent| match sent {
                Sent::Write(units) => Some(units),
                Sent::Flush(_) => None,
            })
            .collect();
        let plug = plug(self.device);
        let back = self.now + SECOND;
        self.now = plug.restore(back);
        self.tally.cuts += 1;
        self.tally.ready.push(self.now - back);
        let mut all_destroyed = plug.destroyed();
        // A cache before the drive may still hold what the drive has lost.
        all_destroyed.retain(|destroyed| plug.held(destroyed.unit) == Held::Unreadable);
        for destroyed in &all_destroyed {
            let unit = destroyed.unit as u32;
            let written = match self.written_ms[unit as usize] {
                0 => self.began,
                ms => self.began + u64::from(ms - 1) * 1_000_000,
            };
            self.tally.at_rest.push(AtRest {
                bits_per_cell: destroyed.bits_per_cell,
                flushed: self.ledger.was_flushed(unit),
                age: cut_at.saturating_sub(written),
            });
        }
        self.ledger.destroyed(all_destroyed.iter().map(|destroyed| destroyed.unit as u32));
        let losses = self.ledger.settle(&writes, |unit| plug.held(unit.into()), |unit| plug.sectors(unit.into()));
        if drawn {
            let sum = &mut self.tally.drawn;
            sum.cuts += 1;
            sum.at_stake += u64::from(at_stake);
            sum.lossy += u64::from(losses.acknowledged + losses.flushed > 0 || !all_destroyed.is_empty());
        }
        let sum = &mut self.tally.losses;
        sum.acknowledged += losses.acknowledged;
        sum.flushed += losses.flushed;
        sum.torn += losses.torn;
        sum.mixed += losses.mixed;
        self.writes = 0;
    }

    /// Looks at every unit, right after a cut: what is not as it should be counts as lost although it was flushed.
    pub fn look_at_all(&mut self) {
        let plug = plug(self.device);
        self.tally.losses.flushed += self.ledger.take_stock(|unit| plug.held(unit.into()));
    }

    /// Cuts that the drive counts as unclean.
    pub fn unclean_shutdowns(&mut self) -> u64 {
        plug(self.device).unclean_shutdowns() - self.unclean_before
    }
}
