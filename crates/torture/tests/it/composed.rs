//! Devices made of devices: the real ones pass, those with something broken in the middle are found out.

use ssdlab_core::{Nanos, Op, SECTOR_BYTES, catch_panic};
use ssdlab_device::{
    Completion, Counters, Destroyed, Device, DeviceInfo, Held, LoadError, Plug, Refusal, Request, Status,
};
use ssdlab_torture::{Between, Tally, build_ssd, cut_composed, is_composed, run_composed, run_seed};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// A write goes to the sector behind the one that was asked for.
    WriteBeside,
    /// So does a read.
    ReadBeside,
    /// A write is acknowledged and never done.
    LostWrite,
    /// A write is done twice.
    DoneTwice,
    /// The last sector of a long write is left out.
    CutShort,
    /// A command takes longer than it says.
    WrongTime,
    /// Causes do not add up to what it took.
    WrongCauses,
}

const BUGS: [Bug; 7] = [
    Bug::WriteBeside,
    Bug::ReadBeside,
    Bug::LostWrite,
    Bug::DoneTwice,
    Bug::CutShort,
    Bug::WrongTime,
    Bug::WrongCauses,
];

/// Between a device and its member, with a bug that shows once in a while.
struct Broken {
    inner: Box<dyn Device>,
    bug: Bug,
    commands: u64,
    /// As they were asked.
    changed: Vec<Request>,
}

/// The tag of a write that nobody asked for.
const NOBODYS: u64 = u64::MAX;

impl Device for Broken {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.commands += 1;
        if !self.commands.is_multiple_of(40) {
            return self.inner.submit(now, request);
        }
        let end = request.offset_bytes + request.length_bytes;
        let beside = end < self.inner.info().capacity_bytes;
        let moved = Request { offset_bytes: request.offset_bytes + SECTOR_BYTES, ..request };
        let changed = match (self.bug, request.op) {
            (Bug::WriteBeside, Op::Write) | (Bug::ReadBeside, Op::Read) if beside => moved,
            (Bug::LostWrite, Op::Write) => Request { op: Op::Read, fua: false, ..request },
            (Bug::CutShort, Op::Write) if request.length_bytes > SECTOR_BYTES => {
                Request { length_bytes: request.length_bytes - SECTOR_BYTES, ..request }
            }
            (Bug::DoneTwice, Op::Write) => {
                self.inner.submit(now, Request { tag: NOBODYS, ..request })?;
                request
            }
            _ => request,
        };
        self.changed.push(request);
        self.inner.submit(now, changed)
    }

    fn next_event(&self) -> Option<Nanos> {
        self.inner.next_event()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let from = done.len();
        self.inner.advance(to, done);
        let mut k = from;
        while k < done.len() {
            if done[k].tag == NOBODYS {
                done.remove(k);
                continue;
            }
            let c = &mut done[k];
            if let Some(at) = self.changed.iter().position(|request| request.tag == c.tag) {
                let request = self.changed.swap_remove(at);
                (c.op, c.offset_bytes, c.length_bytes) = (request.op, request.offset_bytes, request.length_bytes);
                match self.bug {
                    Bug::WrongTime => {
                        c.completed -= c.breakdown.nanos[1].min(1);
                        c.breakdown.nanos[1] -= c.breakdown.nanos[1].min(1);
                    }
                    Bug::WrongCauses => c.breakdown.nanos[1] += 1,
                    _ => {}
                }
            }
            k += 1;
        }
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn check_books(&self) -> Result<(), String> {
        Ok(())
    }
}

fn try_run(seed: u64, between: Between<'_>) -> Result<Tally, String> {
    catch_panic(|| run_composed(seed, &build_ssd, between)).and_then(|result| result)
}

#[test]
fn one_seed_in_nine_is_a_device_of_devices() {
    assert_eq!((0..900).filter(|&seed| is_composed(seed)).count(), 100);
}

#[test]
fn they_pass_and_are_of_every_kind() {
    let mut passed = Tally::default();
    for seed in 0..150 {
        match try_run(seed, &|device| device) {
            Ok(tally) => passed.add(&tally),
            Err(what) => panic!("seed {seed}: {what}"),
        }
    }
    let (_, kinds) = passed.coverage.iter().find(|((_, subject), _)| *subject == "made of").expect("they are counted");
    assert_eq!(kinds.len(), 7, "{kinds:?}");
    assert!(kinds.values().all(|&times| times > 10), "{kinds:?}");
    assert!(passed.copies > 100, "{} copies were followed", passed.copies);
}

#[test]
fn what_is_broken_in_the_middle_is_found_out() {
    for bug in BUGS {
        let between = |inner| Box::new(Broken { inner, bug, commands: 0, changed: Vec::new() }) as Box<dyn Device>;
        let found = (0..40).filter(|&seed| try_run(seed, &between).is_err()).count();
        assert!(found >= 10, "{bug:?} is found in {found} runs of 40");
    }
}

#[test]
#[ignore = "minutes; `make properties` runs it, and 150 runs of the like run always"]
fn thousands_more_runs_of_composed_devices_pass() {
    let mut passed = Tally::default();
    for number in 0..10_000 {
        let seed = run_seed(1, number + 1) / 9 * 9;
        match try_run(seed, &|device| device) {
            Ok(tally) => passed.add(&tally),
            Err(what) => panic!("seed {seed}: {what}"),
        }
    }
    println!("{passed}");
}

/// What is wrong with a device, or its plug, between a device and its member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlugBug {
    /// A flush is acknowledged and never done.
    LosesFlush,
    /// A write that is to be on the medium when it is answered need not be.
    IgnoresForce,
    /// Of two units of 4 KiB each is said to hold what the other one does.
    MixesUpUnits,
    /// Now and then a cut takes the write before the last along.
    LosesMore,
    /// STANDBY IMMEDIATE does nothing.
    DoesNotStandBy,
    /// Cuts are not counted.
    CountsNothing,
    /// A read of what a cut has destroyed ends without an error.
    HidesDestroyed,
    /// A read is refused as writes of a drive without room are.
    RefusesRead,
    /// A cut destroys all that a drive may lose to one, a clean shutdown or not.
    DestroysAll,
}

struct BrokenPlug {
    inner: Box<dyn Device>,
    bug: PlugBug,
    flushes: Vec<u64>,
}

impl BrokenPlug {
    fn plug_inside(&self) -> &dyn Plug {
        self.inner.plug_seen().expect("it is asked only if it has one")
    }

    fn plug_inside_mut(&mut self) -> &mut dyn Plug {
        self.inner.plug().expect("it is asked only if it has one")
    }

    fn spoilt(&self, held: Held) -> Held {
        match held {
            Held::Write(number) if self.bug == PlugBug::LosesMore && number == 3 => Held::Write(1),
            Held::Write(_) | Held::Mixed(_) if self.bug == PlugBug::DestroysAll => Held::Unreadable,
            held => held,
        }
    }

    fn other(&self, unit: u64) -> u64 {
        let last = self.inner.info().capacity_bytes / 4096 - 1;
        if self.bug == PlugBug::MixesUpUnits { (unit ^ 1).min(last) } else { unit }
    }
}

impl Device for BrokenPlug {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        let request = match (self.bug, request.op) {
            (PlugBug::LosesFlush, Op::Flush) => {
                self.flushes.push(request.tag);
                Request::read(request.tag, 0, SECTOR_BYTES)
            }
            (PlugBug::IgnoresForce, Op::Write) => request.with_fua(false),
            _ => request,
        };
        self.inner.submit(now, request)
    }

    fn next_event(&self) -> Option<Nanos> {
        self.inner.next_event()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let from = done.len();
        self.inner.advance(to, done);
        for c in &mut done[from..] {
            match self.bug {
                PlugBug::HidesDestroyed if c.status == Status::MediaError => c.status = Status::Ok,
                PlugBug::RefusesRead if c.op == Op::Read && c.status == Status::Ok => c.status = Status::ReadOnly,
                _ => {}
            }
            if self.flushes.contains(&c.tag) {
                self.flushes.retain(|&tag| tag != c.tag);
                (c.op, c.offset_bytes, c.length_bytes) = (Op::Flush, 0, 0);
            }
        }
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn check_books(&self) -> Result<(), String> {
        self.inner.check_books()
    }

    fn plug(&mut self) -> Option<&mut dyn Plug> {
        self.inner.plug().is_some().then_some(self as &mut dyn Plug)
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        self.inner.plug_seen().is_some().then_some(self as &dyn Plug)
    }
}

impl Plug for BrokenPlug {
    fn has_power(&self) -> bool {
        self.plug_inside().has_power()
    }

    fn cut(&mut self, now: Nanos) {
        self.flushes.clear();
        self.plug_inside_mut().cut(now);
    }

    fn restore(&mut self, now: Nanos) -> Nanos {
        self.plug_inside_mut().restore(now)
    }

    fn stand_by(&mut self, now: Nanos) -> Nanos {
        if self.bug == PlugBug::DoesNotStandBy { now } else { self.plug_inside_mut().stand_by(now) }
    }

    fn save(&self) -> Vec<u8> {
        self.plug_inside().save()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), LoadError> {
        self.plug_inside_mut().load(saved)
    }

    fn unclean_shutdowns(&self) -> u64 {
        if self.bug == PlugBug::CountsNothing { 0 } else { self.plug_inside().unclean_shutdowns() }
    }

    fn power_cycles(&self) -> u64 {
        self.plug_inside().power_cycles()
    }

    fn time_powered(&self, now: Nanos) -> Nanos {
        self.plug_inside().time_powered(now)
    }

    fn unit_bytes(&self) -> u64 {
        self.plug_inside().unit_bytes()
    }

    fn held(&self, unit: u64) -> Held {
        self.spoilt(self.plug_inside().held(self.other(unit)))
    }

    fn sectors(&self, unit: u64) -> [Held; 8] {
        self.plug_inside().sectors(self.other(unit)).map(|held| self.spoilt(held))
    }

    fn keeps_flushes(&self) -> bool {
        self.plug_inside().keeps_flushes()
    }

    fn destroyed(&self) -> Vec<Destroyed> {
        self.plug_inside().destroyed()
    }

    fn unreadable(&self) -> Vec<u64> {
        self.plug_inside().unreadable()
    }

    fn greatest_write_number(&self) -> u8 {
        self.plug_inside().greatest_write_number()
    }
}

/// The first runs with power cuts of the campaign with this seed, of devices made of devices.
fn cuts(campaign: u64, runs: u64, between: Between<'_>) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for number in 0..runs {
        let seed = run_seed(campaign, number) / 9 * 9;
        let passed = catch_panic(|| cut_composed(seed, &build_ssd, between)).and_then(|result| result);
        tally.add(&passed.map_err(|what| format!("run {number}, seed {seed}: {what}"))?);
    }
    Ok(tally)
}

#[test]
fn composed_devices_keep_what_they_promised_through_power_cuts() {
    let tally = cuts(1, 120, &|device| device).expect("all runs pass");
    assert!(tally.power_cuts > 1000 && tally.drives_loaded > 100, "{tally}");
    assert!(tally.read_only < tally.runs / 20, "{tally}");
    let kinds = &tally.coverage[&(u8::MAX - 1, "made of")];
    assert!(kinds.len() == 7 && kinds.values().all(|&runs| runs > 20), "{kinds:?}");
}

#[test]
fn a_member_that_keeps_less_than_it_promised_is_found_out() {
    let bugs = [
        PlugBug::LosesFlush,
        PlugBug::IgnoresForce,
        PlugBug::MixesUpUnits,
        PlugBug::LosesMore,
        PlugBug::DoesNotStandBy,
        PlugBug::CountsNothing,
        PlugBug::HidesDestroyed,
        PlugBug::RefusesRead,
        PlugBug::DestroysAll,
    ];
    for bug in bugs {
        let between =
            |inner: Box<dyn Device>| -> Box<dyn Device> { Box::new(BrokenPlug { inner, bug, flushes: Vec::new() }) };
        // Some ten cuts each.
        let found = cuts(1, 100, &between);
        println!("{bug:?}: {found:?}");
        assert!(found.is_err(), "{bug:?} goes unnoticed");
    }
}

#[test]
#[ignore = "minutes; `make properties` runs it, and 120 runs of the like run always"]
fn thousands_more_power_cuts_of_composed_devices_pass() {
    let tally = cuts(2, 10_000, &|device| device).unwrap_or_else(|what| panic!("{what}"));
    println!("{tally}");
    assert!(tally.power_cuts > 95_000, "{tally}");
}
