//! Devices made of devices whose plug is pulled: a host that knows, sector by sector, what it was promised.
//!
//! What a composed device keeps is worked out from its parts ([`Promise`]): a drive's capacitors, a disk that writes through, a
//! cache with a battery or without one. The host writes each unit of 4 KiB at most once at a time, so that it knows the number of
//! each write; after a cut every sector must hold one that is not older than the newest that it was promised.

use std::collections::{BTreeMap, BTreeSet};

use ssdlab_core::{Nanos, Op, Rng, SECOND, SECTOR_BYTES, UNIT_BYTES};
use ssdlab_device::{Completion, Device, Held, Plug, Request, Status};
use ssdlab_nand::SpecError;

use super::Between;
use super::plan::{Plan, Promise};
use crate::case::Case;
use crate::draw::one;
use crate::host::PATIENCE;
use crate::subject::Subject;
use crate::tally::Tally;

/// Sectors of a unit.
const SECTORS: usize = (UNIT_BYTES / SECTOR_BYTES) as usize;

/// The writes of a unit since the last cut, counted from 1.
#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    /// The number that the device gave the last write before; of each sector, that of the one that it held.
    before: u8,
    held: [u8; SECTORS],
    sent: u32,
    in_flight: bool,
    /// By sector: the newest write that has it, of those that were answered, and of those that were flushed.
    answered: [u32; SECTORS],
    flushed: [u32; SECTORS],
    /// A cut has destroyed it.
    gone: bool,
}

/// See the module's own page.
struct Host {
    device: Box<dyn Device>,
    promises: Vec<Promise>,
    /// Some of the units may be destroyed: writes of parts of them would need what is gone.
    aligned: bool,
    now: Nanos,
    rng: Rng,
    /// What was written so far.
    units: BTreeMap<u64, Unit>,
    in_flight: BTreeMap<u64, Request>,
    /// Reads in flight of what is gone.
    hopeless: BTreeSet<u64>,
    /// What flushes in flight cover.
    covered: BTreeMap<u64, Vec<(u64, [u32; SECTORS])>>,
    next_tag: u64,
    /// There is a drive of flash in it: what else it is made of always takes writes.
    has_drive: bool,
    /// By an unclean cut.
    most_destroyed: u64,
    /// A drive has taken no more writes: cuts have left it no room.
    read_only: bool,
}

/// Runs the device of `seed`, of drives that `build` makes, through power cuts.
///
/// # Errors
/// The first thing that is wrong.
///
/// # Panics
/// If the device does: its own assertions are part of what is tortured.
pub fn cut_composed<S: Subject + 'static>(
    seed: u64,
    build: &impl Fn(&Case) -> Result<S, SpecError>,
    between: Between<'_>,
) -> Result<Tally, String> {
    let mut plans = Rng::new(seed).stream("composed, with a plug");
    let (plan, built) = loop {
        let plan = Plan::draw(&mut plans);
        let mut built = plan.build_to_cut(build, between)?;
        if built.0.plug().is_some() {
            break (plan, built);
        }
    };
    let mut tally = Tally::default();
    tally.composed(plan.kinds());
    let (device, promises) = built;
    let mut host = Host {
        aligned: promises.iter().any(|promise| promise.may_destroy),
        device,
        promises,
        now: 0,
        rng: Rng::new(seed).stream("host of a composed device that is cut"),
        units: BTreeMap::new(),
        in_flight: BTreeMap::new(),
        hopeless: BTreeSet::new(),
        covered: BTreeMap::new(),
        next_tag: 0,
        has_drive: plan.has_drive(),
        most_destroyed: plan.most_destroyed(),
        read_only: false,
    };
    for round in 1..=4 + host.rng.below(5) {
        let at = |e: String| format!("round {round} (composed): {e}");
        host.work().map_err(at)?;
        let heir = host.rng.chance(1, 5).then(|| plan.build_to_cut(build, between)).transpose().map_err(at)?;
        tally.drives_loaded += u64::from(heir.is_some());
        tally.power_cuts += host.pull_plug(heir.map(|(device, _)| device)).map_err(at)?;
        tally.phases += 1;
        if host.read_only {
            break;
        }
    }
    host.look_at_all()?;
    tally.host_commands = host.next_tag;
    tally.read_only = u64::from(host.read_only);
    Ok(tally)
}

impl Host {
    /// Commands for a while, some of which may be in flight at the end.
    fn work(&mut self) -> Result<(), String> {
        let depth = one(&mut self.rng, &[1, 2, 8, 32]);
        let most = one(&mut self.rng, &[8, 8, 32, 256]);
        let all = self.promises.len() as u64;
        let span = one(&mut self.rng, &[all, all.div_ceil(10), 48.min(all)]) * SECTORS as u64;
        let in_order = self.rng.chance(1, 4);
        let mut next = self.rng.below(span);
        for _ in 0..10 + self.rng.below(120) {
            let (op, fua) = match self.rng.below(16) {
                0 => (Op::Flush, false),
                1 => (Op::Write, true),
                2 | 3 => (Op::Read, false),
                _ => (Op::Write, false),
            };
            let (mut first, mut length) = (self.rng.below(span), 1 + self.rng.below(most.min(span)));
            if in_order && op == Op::Write {
                first = next;
            }
            if self.aligned {
                first = first / SECTORS as u64 * SECTORS as u64;
                length = length.next_multiple_of(SECTORS as u64);
            }
            length = length.min(span - first);
            if op == Op::Write {
                next = (first + length) % span;
            }
            self.send(depth, op, first, length, fua)?;
            if self.rng.chance(1, 12) {
                let pause = one(&mut self.rng, &[20_000, 2_000_000, 1_500_000_000]);
                let until = self.now + self.rng.below(pause);
                self.advance(until)?;
            }
        }
        let events = one(&mut self.rng, &[0, 10, 60, 300]);
        for _ in 0..self.rng.below(events + 1) {
            let Some(at) = self.device.next_event() else { break };
            self.advance(at)?;
        }
        Ok(())
    }

    fn send(&mut self, depth: usize, op: Op, first: u64, length: u64, fua: bool) -> Result<(), String> {
        let touched = first / SECTORS as u64..(first + length).div_ceil(SECTORS as u64);
        let busy = |host: &Host| {
            op == Op::Write && host.units.range(touched.clone()).any(|(_, unit)| unit.in_flight)
                || host.in_flight.len() >= depth
        };
        while busy(self) {
            self.wait()?;
        }
        let tag = self.next_tag;
        self.next_tag += 1;
        let request = match op {
            Op::Flush => Request::flush(tag),
            op => Request::new(tag, op, first * SECTOR_BYTES, length * SECTOR_BYTES).with_fua(fua),
        };
        match op {
            Op::Flush => {
                let covered = self.units.iter().map(|(&unit, state)| (unit, state.answered));
                self.covered.insert(tag, covered.collect());
            }
            Op::Write => {
                for unit in touched {
                    let state = self.units.entry(unit).or_default();
                    (state.sent, state.in_flight) = (state.sent + 1, true);
                }
            }
            _ => {
                if self.units.range(touched).any(|(_, unit)| unit.gone) {
                    self.hopeless.insert(tag);
                }
            }
        }
        self.in_flight.insert(tag, request);
        self.device.submit(self.now, request).map_err(|e| format!("{request:?} was refused: {e}"))
    }

    /// Lets time pass to the next completion.
    fn wait(&mut self) -> Result<(), String> {
        let before = self.in_flight.len();
        for _ in 0..PATIENCE {
            let Some(at) = self.device.next_event() else {
                return Err(format!("deadlock: {before} commands in flight, and the device is at rest"));
            };
            if at < self.now {
                return Err(format!("time runs backwards, from {} to {at} ns", self.now));
            }
            self.advance(at)?;
            if self.in_flight.len() < before {
                return Ok(());
            }
        }
        Err(format!("livelock: {before} commands in flight, {PATIENCE} events completed none"))
    }

    fn advance(&mut self, to: Nanos) -> Result<(), String> {
        let mut done = Vec::new();
        self.now = self.now.max(to);
        self.device.advance(self.now, &mut done);
        done.iter().try_for_each(|c| self.take(c))
    }

    fn take(&mut self, c: &Completion) -> Result<(), String> {
        let request = self.in_flight.remove(&c.tag).ok_or_else(|| format!("no command is in flight for {c:?}"))?;
        let hopeless = self.hopeless.remove(&c.tag);
        let covered = self.covered.remove(&c.tag);
        match c.status {
            Status::Ok => {}
            Status::ReadOnly if self.has_drive && matches!(c.op, Op::Write | Op::Flush) => self.read_only = true,
            Status::MediaError if c.op == Op::Read && hopeless => {}
            _ => return Err(format!("{c:?} from a device that has no reason to")),
        }
        let sound = c.status == Status::Ok;
        if sound && c.op == Op::Read {
            self.can_be_read(&request)?;
        }
        for (unit, answered) in covered.into_iter().flatten().filter(|_| sound) {
            let flushed = &mut self.units.entry(unit).or_default().flushed;
            flushed.iter_mut().zip(answered).for_each(|(flushed, answered)| *flushed = answered.max(*flushed));
        }
        if c.op != Op::Write {
            return Ok(());
        }
        let sectors = request.offset_bytes / SECTOR_BYTES..(request.offset_bytes + request.length_bytes) / SECTOR_BYTES;
        for unit in sectors.start / SECTORS as u64..sectors.end.div_ceil(SECTORS as u64) {
            let state = self.units.entry(unit).or_default();
            state.in_flight = false;
            for k in (0..SECTORS).filter(|&k| sound && sectors.contains(&(unit * SECTORS as u64 + k as u64))) {
                state.answered[k] = state.sent;
                if request.fua {
                    state.flushed[k] = state.sent;
                }
            }
        }
        Ok(())
    }

    /// Nothing is that a cut has destroyed, until it is written.
    fn can_be_read(&self, request: &Request) -> Result<(), String> {
        let units =
            request.offset_bytes / UNIT_BYTES..(request.offset_bytes + request.length_bytes).div_ceil(UNIT_BYTES);
        match self.units.range(units).find(|(_, unit)| unit.gone && unit.sent == 0) {
            Some((unit, _)) => Err(format!("{request:?} brings unit {unit}, which a power cut has destroyed")),
            None => Ok(()),
        }
    }

    fn plug(&mut self) -> &mut dyn Plug {
        self.device.plug().expect("it was drawn so")
    }

    /// The power goes, and comes back; perhaps it goes again before the device is ready. `heir`: a new device, which takes the
    /// place of this one. Returns how many cuts there were.
    fn pull_plug(&mut self, heir: Option<Box<dyn Device>>) -> Result<u64, String> {
        let clean = self.rng.chance(1, 6) && !self.read_only;
        let (now, mut cuts, unclean) = (self.now, 1, self.plug().unclean_shutdowns());
        if clean {
            while !self.in_flight.is_empty() {
                self.wait()?;
            }
            let now = self.now;
            self.now = self.plug().stand_by(now);
        }
        let now = now.max(self.now);
        self.plug().cut(now);
        self.now = now + self.rng.below(SECOND);
        if let Some(heir) = heir {
            let saved = self.plug().save();
            self.device = heir;
            self.plug().load(&saved).map_err(|e| format!("the device could not be loaded: {e}"))?;
            // Its times begin anew.
            self.now = 0;
        }
        let now = self.now;
        let mut ready = self.plug().restore(now);
        (0..2).for_each(|_| {
            if self.rng.chance(1, 3) {
                let now = self.now + self.rng.below(ready.saturating_sub(self.now) + 1);
                self.device.advance(now, &mut Vec::new());
                self.plug().cut(now);
                cuts += 1;
                self.now = now + 1000;
                let now = self.now;
                ready = self.plug().restore(now);
            }
        });
        let counted = self.plug().unclean_shutdowns() - unclean;
        if counted < cuts - u64::from(clean) || counted > cuts {
            return Err(format!("{cuts} cuts, of which {} were clean: {counted} unclean shutdowns", u32::from(clean)));
        }
        self.in_flight.clear();
        self.hopeless.clear();
        self.covered.clear();
        let units: Vec<u64> = self.units.keys().copied().collect();
        let harmless = clean && cuts == 1;
        let mut destroyed = 0;
        for unit in units {
            destroyed += u64::from(self.survived(unit, clean, harmless)?);
        }
        if destroyed > cuts * self.most_destroyed {
            let most = self.most_destroyed;
            return Err(format!("{cuts} cuts have destroyed {destroyed} units; {most} each is the most"));
        }
        self.device.check_books()?;
        Ok(cuts)
    }

    /// `clean`: the device had stood by; `harmless`: and was not cut again while it started. Returns whether it was destroyed.
    fn survived(&mut self, number: u64, clean: bool, harmless: bool) -> Result<bool, String> {
        let (promise, unit) = (self.promises[number as usize], self.units[&number]);
        let plug = self.device.plug_seen().expect("it was drawn so");
        let greatest = u32::from(plug.greatest_write_number());
        let held = plug.held(number);
        let wrong = |what: String| Err(format!("unit {number} {what}: {unit:?}, {promise:?}, clean: {clean}"));
        let mut next = Unit::default();
        match held {
            Held::Unreadable if promise.may_destroy && (unit.gone || !harmless) => next.gone = true,
            Held::Nothing => {}
            Held::Write(write) | Held::Mixed(write) => next.before = write,
            Held::Unreadable => return wrong("was destroyed".to_owned()),
        }
        let count = |writes: u32| match (u32::from(unit.before), writes) {
            (0, 0) => 0,
            (before, writes) => ((before + greatest - 1 + writes) % greatest + 1) as u8,
        };
        for (k, held) in plug.sectors(number).into_iter().enumerate().filter(|_| !next.gone) {
            let found = match held {
                Held::Nothing => 0,
                Held::Write(write) => write,
                other => return wrong(format!("has a sector that holds {other:?}")),
            };
            next.held[k] = found;
            // A unit of several writes stays one until the device has done something.
            let is = |writes: u32| count(writes) == found || writes == 0 && unit.held[k] == found;
            let Some(write) = (0..=unit.sent).rev().find(|&writes| is(writes)) else {
                return wrong(format!("holds write count {found}"));
            };
            let least = match promise {
                _ if clean => unit.answered[k],
                Promise { answered: true, .. } => unit.answered[k],
                Promise { flushed: true, .. } => unit.flushed[k],
                _ => 0,
            };
            if write < least {
                return wrong(format!("holds write {write} in sector {k}, {least} was promised"));
            }
            if unit.gone && write == 0 {
                return wrong("was destroyed by an earlier power cut, and is not now".to_owned());
            }
        }
        self.units.insert(number, next);
        Ok(next.gone && !unit.gone)
    }

    /// What was never written holds nothing, wherever it lies.
    fn look_at_all(&mut self) -> Result<(), String> {
        let plug = self.device.plug_seen().expect("it was drawn so");
        let others = (0..self.promises.len() as u64).filter(|unit| !self.units.contains_key(unit));
        match others.into_iter().find(|&unit| plug.held(unit) != Held::Nothing) {
            Some(unit) => Err(format!("unit {unit} was never written, and holds {:?}", plug.held(unit))),
            None => Ok(()),
        }
    }
}
