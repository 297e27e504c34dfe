//! Saved drives in which one value is another one, and whose form is right: refused, or drives that work.

use ssdlab_core::{Nanos, Op, Rng, catch_panic};
use ssdlab_device::{Completion, Device, Held, Plug, Request, Status};
use ssdlab_testkit::{altered_drive, difference_of_drives};
use ssdlab_torture::{Case, Subject, build_ssd};

/// Commands, eight at once, then a flush. Returns when all have ended, and whether the drive has refused any.
fn work(drive: &mut dyn Device, rng: &mut Rng, from: Nanos, commands: u64, trims: bool) -> (Nanos, bool) {
    let info = drive.info();
    let (page, trims) = (u64::from(info.sector_bytes).max(4096), trims && info.supports_trim);
    let pages = info.capacity_bytes / page;
    let (mut now, mut left, mut refused, mut done) = (from, 0, false, Vec::<Completion>::new());
    let mut wait = |drive: &mut dyn Device, now: &mut Nanos, left: &mut usize| {
        *now = drive.advance_to_completion(*now + (1 << 45), &mut done);
        assert!(!done.is_empty(), "commands wait for ever");
        refused |= done.iter().any(|c| c.status == Status::ReadOnly);
        *left -= done.drain(..).count();
    };
    for tag in 0..=commands {
        while left >= 8 || tag == commands && left > 0 {
            wait(drive, &mut now, &mut left);
        }
        let count = 1 + rng.below(8.min(pages));
        let op = match rng.below(12) {
            0 if trims => Op::Trim,
            0..=2 => Op::Read,
            _ => Op::Write,
        };
        let request = Request::new(tag, op, rng.below(pages - count + 1) * page, count * page);
        drive.submit(now, if tag == commands { Request::flush(tag) } else { request }).expect("it is within the drive");
        left += 1;
    }
    while left > 0 {
        wait(drive, &mut now, &mut left);
    }
    (now, refused)
}

fn plug(drive: &mut Box<dyn Subject>) -> &mut dyn Plug {
    drive.plug().expect("it has one")
}

fn held(drive: &mut Box<dyn Subject>) -> Vec<Held> {
    let units = drive.info().capacity_bytes / plug(drive).unit_bytes();
    (0..units).map(|unit| plug(drive).held(unit)).collect()
}

/// What cuts and work have left of a drive.
fn battered(case: &Case, rng: &mut Rng) -> Vec<u8> {
    let mut drive = build_ssd(case).expect("it can be built");
    let mut now = 0;
    for _ in 0..2 {
        let commands = rng.below(400);
        (now, _) = work(&mut drive, rng, now, commands, true);
        for tag in 0..8 {
            let page = u64::from(drive.info().sector_bytes).max(4096);
            let write = Request::write(tag, rng.below(drive.info().capacity_bytes / page) * page, page);
            drive.submit(now, write).expect("it is within the drive");
        }
        now += rng.below(10_000_000);
        drive.advance(now, &mut Vec::new());
        plug(&mut drive).cut(now);
        if rng.chance(1, 2) {
            let ready = plug(&mut drive).restore(now);
            // While it repairs what the first cut has left.
            now += rng.below(ready - now + 1);
            plug(&mut drive).cut(now);
        }
        now = plug(&mut drive).restore(now);
    }
    drive.advance(now, &mut Vec::new());
    plug(&mut drive).cut(now);
    plug(&mut drive).save()
}

/// Returns whether it is taken; panics if it is and does not work.
fn tried(case: &Case, state: &[u8], rng: &mut Rng) -> bool {
    let mut drive = build_ssd(case).expect("it can be built");
    if plug(&mut drive).load(state).is_err() {
        return false;
    }
    let ready = plug(&mut drive).restore(0);
    drive.check_books().unwrap_or_else(|e| panic!("{e}"));
    held(&mut drive);
    let (now, refused) = work(&mut drive, rng, ready, 60, false);
    drive.check_books().unwrap_or_else(|e| panic!("{e}"));
    let off = plug(&mut drive).stand_by(now);
    let before = held(&mut drive);
    plug(&mut drive).cut(off);
    let ready = plug(&mut drive).restore(off);
    let differs = before.iter().zip(held(&mut drive)).zip(0..).find(|((before, after), _)| *before != after);
    // A drive without any good block left cannot write out what it had taken.
    if differs.is_some() && !refused && !work(&mut drive, rng, ready, 8, false).1 {
        panic!("an orderly shutdown loses what it should not: {differs:?}");
    }
    drive.check_books().unwrap_or_else(|e| panic!("{e}"));
    true
}

fn nonsense_is_refused_or_harmless(seeds: std::ops::Range<u64>, each: u32) {
    let (mut refused, mut taken, mut faults) = (0, 0, Vec::new());
    for seed in seeds {
        // Every other drive has firmware that keeps older pages, or capacitors, or both.
        let case = if seed % 2 == 0 { Case::draw(seed) } else { Case::draw_for_power_cuts(seed) };
        let mut rng = Rng::new(seed).stream("nonsense");
        let saved = battered(&case, &mut rng);
        let as_it_was = catch_panic(|| tried(&case, &saved, &mut rng));
        if as_it_was != Ok(true) {
            faults.push(format!("seed {seed}: the drive as it was: {as_it_was:?}"));
            continue;
        }
        for _ in 0..each {
            let by_blocks = case.drive.log_blocks.is_some();
            let Some(state) = altered_drive(&saved, by_blocks, &mut rng) else { continue };
            let mut work_rng = rng.stream("work");
            match catch_panic(|| tried(&case, &state, &mut work_rng)) {
                Ok(true) => taken += 1,
                Ok(false) => refused += 1,
                Err(what) => {
                    let change = difference_of_drives(&saved, &state, by_blocks);
                    faults.push(format!("seed {seed}: {change}: {what}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), refused + taken, faults.join("\n"));
    assert!(refused > taken / 4 && taken > refused / 4, "{refused} refused, {taken} taken");
}

#[test]
fn saved_drives_with_a_value_that_is_nonsense_are_refused_or_work() {
    nonsense_is_refused_or_harmless(0..24, 12);
}

#[test]
#[ignore = "half a minute; `make properties` runs it, and some of the same always"]
fn thousands_more_saved_drives_with_nonsense() {
    nonsense_is_refused_or_harmless(100..500, 60);
}
