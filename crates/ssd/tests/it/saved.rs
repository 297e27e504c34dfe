//! What a drive keeps without power goes into a file and comes back: the drive that has loaded it goes on as the one that was
//! saved does, completion by completion.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ssdlab_core::{Fnv1a, Nanos, Op, Rng, SECOND};
use ssdlab_device::{Completion, Device, LoadError, Plug, Request, Status};
use ssdlab_ftl::{LogBlockSpec, LogScheme};
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{DriveSpec, Ssd};
use ssdlab_testkit::{any_drive, ideal_die, ideal_drive};

/// Sends random commands, eight at once, from `now` on, and flushes now and then; returns how each ended, with times since
/// `now`.
fn work(drive: &mut Ssd, rng: &mut Rng, now: Nanos, commands: u64) -> Vec<(u64, Op, Status, Nanos)> {
    let pages = drive.info().capacity_bytes / 4096;
    let (mut at, mut left, mut ended, mut done) = (now, 0, Vec::new(), Vec::new());
    let mut step = |drive: &mut Ssd, at: &mut Nanos, left: &mut u64| {
        *at = drive.advance_to_completion(Nanos::MAX / 2, &mut done);
        *left -= done.len() as u64;
        ended.extend(done.drain(..).map(|c: Completion| (c.tag, c.op, c.status, c.completed - now)));
    };
    for tag in 0..commands {
        while left >= 8 {
            step(drive, &mut at, &mut left);
        }
        let count = 1 + rng.below(8.min(pages / 2));
        let first = rng.below(pages - count + 1) * 4096;
        let request = match rng.below(20) {
            0 => Request::flush(tag),
            1 if drive.info().supports_trim => Request::new(tag, Op::Trim, first, count * 4096),
            2..=5 => Request::read(tag, first, count * 4096),
            _ => Request::write(tag, first, count * 4096),
        };
        drive.submit(at, request).expect("it is within the drive");
        left += 1;
    }
    while left > 0 {
        step(drive, &mut at, &mut left);
    }
    ended
}

fn new(drive: &DriveSpec, die: &DieSpec, seed: u64) -> Ssd {
    Ssd::new("small", drive, die, seed).expect("it can be built")
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(22), failure_persistence: None,
        ..ProptestConfig::with_cases(80) })]

    #[test]
    fn a_drive_that_was_loaded_goes_on_as_the_one_that_was_saved(choice in any_drive()) {
        if let Some((drive, die)) = choice.build() {
            let mut rng = Rng::new(choice.seed).stream("host");
            let (mut first, mut now) = (new(&drive, &die, choice.seed), 0);
            for _ in 0..3 {
                let (commands, clean) = (rng.below(2000), rng.chance(1, 2));
                now += work(&mut first, &mut rng, now, commands).iter().map(|ended| ended.3).max().unwrap_or(0);
                if clean {
                    now = first.stand_by(now);
                }
                first.cut(now);
                let saved = first.save();
                let mut second = new(&drive, &die, choice.seed);
                second.load(&saved).expect("it is of such a drive");
                // The clock of the second begins anew; its flash has aged as the first's.
                let gap = rng.below(SECOND);
                let ready = (first.restore(now + gap), second.restore(gap));
                prop_assert_eq!(ready.0 - now, ready.1);
                let mut again = rng.clone();
                let ended = work(&mut first, &mut rng, ready.0, 500);
                prop_assert_eq!(&ended, &work(&mut second, &mut again, ready.1, 500));
                for drive in [&first, &second] {
                    drive.check_books().expect("the books balance");
                }
                prop_assert_eq!(first.counters().host, second.counters().host);
                prop_assert_eq!(first.counters().flash, second.counters().flash);
                prop_assert_eq!(first.unclean_shutdowns(), second.unclean_shutdowns());
                prop_assert_eq!(first.power_cycles(), second.power_cycles());
                let pages = drive.capacity_bytes / 4096;
                prop_assert!((0..pages).all(|page| first.held(page) == second.held(page)));
                // Whoever was loaded can be saved as well.
                first = second;
                now = ready.1 + ended.iter().map(|ended| ended.3).max().unwrap_or(0);
            }
        }
    }
}

/// A small drive with the ideal drive's policies.
fn small() -> (DriveSpec, DieSpec) {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 16);
    (drive.flash.dies, drive.flash.exact_spare_per_10000) = (4, None);
    drive.capacity_bytes = 1600 * 4096;
    (drive, die)
}

/// A process that is killed may leave a state that is younger than the totals noted beside it.
#[test]
fn totals_that_are_older_than_the_state_take_nothing_from_it() {
    let (drive, die) = small();
    let mut first = new(&drive, &die, 1);
    let totals = first.totals(0);
    let mut state = Vec::new();
    for cycle in 1..5 {
        first.cut(0);
        state = first.save();
        first = new(&drive, &die, 1);
        first.load(&state).unwrap_or_else(|e| panic!("in cycle {cycle}: {e:?}"));
        let ready = first.restore(0);
        first.count_at_least(&totals).expect("they are of such a drive");
        assert_eq!((first.power_cycles(), first.unclean_shutdowns()), (cycle + 1, cycle));
        assert!(first.time_powered(ready) >= ready);
    }
    assert_eq!(new(&drive, &die, 1).load(&state), Ok(()));
}

/// Rows that waited for their dies when the power went are not programmed; those that take their place are.
#[test]
fn cuts_in_a_row_leave_no_more_counted_than_dies_have_programmed() {
    let (drive, die) = small();
    let mut ssd = new(&drive, &die, 1);
    let programmed = |ssd: &Ssd| ssd.counters().flash.expect("it has flash").program_bytes();
    let (mut now, mut done, mut said) = (0, Vec::new(), Vec::new());
    for cycle in 0..40 {
        for tag in 0..16 {
            ssd.submit(now, Request::write(tag, tag * 65_536, 65_536)).expect("it is within the drive");
        }
        ssd.advance(now + 1000, &mut done);
        said.push(programmed(&ssd));
        ssd.cut(now + 1000);
        assert!(programmed(&ssd) >= said[cycle], "no count goes back");
        now = ssd.restore(now + SECOND);
        if cycle == 20 {
            let mut heir = new(&drive, &die, 1);
            ssd.cut(now);
            heir.load(&ssd.save()).expect("it is of such a drive");
            (ssd, now) = (heir, 0);
            now = ssd.restore(now);
        }
    }
    let (first, last) = (said[0], said[39]);
    assert!(first > 0 && last < 3 * first, "{first} bytes in the first cycle, {last} after forty");
}

/// What a drive keeps that nobody has written to.
fn saved(drive: &DriveSpec, seed: u64) -> Vec<u8> {
    let mut ssd = new(drive, &ideal_die(), seed);
    let off = ssd.stand_by(0);
    ssd.cut(off);
    ssd.save()
}

#[test]
fn the_state_of_another_drive_is_refused() {
    let drive = ideal_drive();
    let mut other = drive.clone();
    other.write_buffer.capacity_kib *= 2;
    let state = saved(&drive, 1);
    let load = |drive: &DriveSpec, seed, bytes: &[u8]| new(drive, &ideal_die(), seed).load(bytes);
    assert_eq!(load(&drive, 1, &state), Ok(()));
    assert_eq!(load(&drive, 2, &state), Err(LoadError::Seed { found: 1, own: 2 }));
    assert_eq!(load(&other, 1, &state), Err(LoadError::OtherDrive));
    assert_eq!(load(&drive, 1, &[]), Err(LoadError::Damaged));
    // What chance gives a drive goes by its name, wherever its file lies.
    let called = |name: &str| Ssd::new(name, &drive, &ideal_die(), 1).unwrap().load(&state);
    assert_eq!((called("elsewhere/small.toml"), called("smaller")), (Ok(()), Err(LoadError::OtherDrive)));
    assert_eq!(load(&drive, 1, &state[..state.len() / 2]), Err(LoadError::Damaged));
}

/// Whoever changes what is saved raises `FORMAT` in `plug/saved.rs`, and then these.
#[test]
fn the_form_of_what_is_saved_is_that_of_its_number() {
    let mut by_blocks = ideal_drive();
    (by_blocks.capacity_bytes, by_blocks.flash.exact_spare_per_10000) = (by_blocks.capacity_bytes / 2, None);
    by_blocks.log_blocks = Some(LogBlockSpec::plain(LogScheme::Bast, 1));
    for (drive, form) in
        [(ideal_drive(), (11, 1_264_624, "f186216664aa43aa")), (by_blocks, (11, 1_262_843, "636ff665dd5cf370"))]
    {
        let state = saved(&drive, 1);
        // The form, the seed, and what stands for the files.
        let ends = state.iter().enumerate().filter(|(_, byte)| **byte < 0x80).map(|(at, _)| at + 1);
        let rest = &state[ends.take(3).last().expect("three numbers")..];
        assert_eq!((state[0], rest.len(), format!("{:016x}", Fnv1a::of(rest)).as_str()), form);
    }
}
