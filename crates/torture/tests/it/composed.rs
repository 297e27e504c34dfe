//! Devices made of devices: the real ones pass, those with something broken in the middle are found out.

use ssdlab_core::{Nanos, Op, SECTOR_BYTES, catch_panic};
use ssdlab_device::{Completion, Counters, Device, DeviceInfo, Refusal, Request};
use ssdlab_torture::{Between, Tally, build_ssd, is_composed, run_composed, run_seed};

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
}

const BUGS: [Bug; 6] =
    [Bug::WriteBeside, Bug::ReadBeside, Bug::LostWrite, Bug::DoneTwice, Bug::CutShort, Bug::WrongTime];

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
                if self.bug == Bug::WrongTime {
                    c.breakdown.nanos[1] += 1;
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
}

#[test]
fn what_is_broken_in_the_middle_is_found_out() {
    for bug in BUGS {
        let between = |inner| Box::new(Broken { inner, bug, commands: 0, changed: Vec::new() }) as Box<dyn Device>;
        let found = (0..40).filter(|&seed| try_run(seed, &between).is_err()).count();
        assert!(found >= 10, "{bug:?} is found in {found} runs of 40");
    }
}

/// Minutes: `cargo test -p ssdlab-torture --test it -- --ignored composed`.
#[test]
#[ignore = "minutes; one run of nine of every campaign has such a device"]
fn ten_thousand_runs_of_composed_devices_pass() {
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
