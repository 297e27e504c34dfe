//! Erases of everything, and power cuts that come into them.

use ssdlab_core::{MILLISECOND, Nanos, SECOND};
use ssdlab_device::{Device, Held, Plug, Request, Security};
use ssdlab_nand::{DieSpec, VariationSpec};
use ssdlab_ssd::{Cipher, DriveSpec, EncryptionSpec, Locking, Ssd, UsedSpec};
use ssdlab_testkit::{ideal_die, ideal_drive};

const PAGES: u64 = 1600;

fn specs() -> (DriveSpec, DieSpec) {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 16);
    (drive.flash.dies, drive.flash.exact_spare_per_10000) = (4, None);
    (drive.capacity_bytes, drive.mapping.journal) = (PAGES * 4096, true);
    drive.encryption = Some(EncryptionSpec { cipher: Cipher::Aes256, crypto_erase_ms: 20.0, locking: Locking::None });
    (drive, die)
}

/// A drive with every page written, at rest, and its time.
fn written() -> (Ssd, Nanos) {
    written_on(&specs())
}

fn written_on((drive, die): &(DriveSpec, DieSpec)) -> (Ssd, Nanos) {
    let mut drive = Ssd::new("small", drive, die, 1).expect("it can be built");
    let mut now = 0;
    for page in 0..PAGES {
        drive.submit(now, Request::write(page, page * 4096, 4096)).expect("it is within the drive");
        now = drive.advance_to_completion(Nanos::MAX / 4, &mut Vec::new());
    }
    drive.submit(now, Request::flush(PAGES)).expect("a drive has FLUSH");
    now = drive.advance_to_completion(Nanos::MAX / 4, &mut Vec::new());
    drive.advance(now + SECOND, &mut Vec::new());
    (drive, now + SECOND)
}

fn held(drive: &Ssd) -> u64 {
    (0..PAGES).filter(|&page| drive.held(page) == Held::Write(1)).count() as u64
}

#[test]
fn a_crypto_erase_takes_its_time_and_counts_once_that_is_over() {
    let (drive, now) = written();
    for (after, left) in [(0, PAGES), (20 * MILLISECOND - 1, PAGES), (20 * MILLISECOND, 0), (SECOND, 0)] {
        let mut drive = drive.clone();
        assert_eq!(drive.crypto_erase(now), now + 20 * MILLISECOND);
        drive.advance(now + after, &mut Vec::new());
        drive.cut(now + after);
        let ready = drive.restore(now + 2 * SECOND);
        assert_eq!((held(&drive), drive.key_changes()), (left, u64::from(left == 0)), "cut {after} ns after it began");
        assert!((0..PAGES).all(|page| left > 0 || drive.held(page) == Held::Nothing));
        drive.advance(ready + SECOND, &mut Vec::new());
        drive.check_books().expect("the books balance");
        // Nor does anything come back later.
        drive.cut(ready + SECOND);
        drive.restore(ready + 2 * SECOND);
        assert_eq!(held(&drive), left);
    }
}

/// A read, a write and a FLUSH, sent one after the other.
fn submit_some(drive: &mut Ssd, now: Nanos) {
    let commands = [Request::read(1, 0, 4096), Request::write(2, 4096, 8192), Request::flush(3)];
    commands.into_iter().for_each(|command| drive.submit(now, command).expect("it is within the drive"));
}

#[test]
fn commands_that_come_before_a_crypto_erase_is_over_wait_for_it_and_do_not_end_it() {
    let (drive, now) = written();
    let takes = 20 * MILLISECOND;
    for (after, left) in [(MILLISECOND, PAGES), (takes - 1, PAGES), (takes, 0)] {
        let mut drive = drive.clone();
        drive.crypto_erase(now);
        submit_some(&mut drive, now + MILLISECOND);
        let mut done = Vec::new();
        drive.advance(now + after, &mut done);
        assert!(done.iter().all(|c| c.completed >= now + takes), "{done:?}");
        drive.cut(now + after);
        drive.restore(now + SECOND);
        assert_eq!((held(&drive), drive.key_changes()), (left, u64::from(left == 0)), "cut {after} ns after it began");
        drive.check_books().expect("the books balance");
    }
}

#[test]
fn after_a_crypto_erase_what_is_void_is_erased_as_room_is_needed_and_never_moved() {
    let (mut drive, now) = written();
    let before = drive.counters().flash.expect("it is of flash");
    let mut now = drive.crypto_erase(now);
    assert_eq!(drive.translation().mapped_units(), 0);
    // Three times over: there is not that much room beside what is void.
    for tag in 0..3 * PAGES {
        drive.submit(now, Request::write(tag, tag % PAGES * 4096, 4096)).expect("it is within the drive");
        now = drive.advance_to_completion(Nanos::MAX / 4, &mut Vec::new());
    }
    let after = drive.counters().flash.expect("it is of flash");
    assert_eq!(after.gc_read_bytes, before.gc_read_bytes, "nothing void is moved");
    assert!(after.block_erases > before.block_erases);
    drive.check_books().expect("the books balance");
}

/// Where the map is loaded on demand, a crypto erase voids its pieces on flash like anything else there.
#[test]
fn a_crypto_erase_brings_in_and_writes_out_no_piece_of_the_map() {
    let (mut spec, die) = specs();
    spec.mapping.map_cache_kib = Some(1);
    let (mut drive, now) = written_on(&(spec, die));
    let of_map = |drive: &Ssd| {
        let metadata = drive.counters().flash.expect("it is of flash").metadata_program_bytes;
        (drive.translation().demand_map_counters().fetches, metadata)
    };
    let before = of_map(&drive);
    assert!(drive.translation().demand_map_counters().flushes > 0, "pieces of the map are on flash");
    let mut now = drive.crypto_erase(now);
    let read_all = |drive: &mut Ssd, now: &mut Nanos| {
        for page in 0..PAGES {
            drive.submit(*now, Request::read(page, page * 4096, 4096)).expect("it is within the drive");
            *now = drive.advance_to_completion(Nanos::MAX / 4, &mut Vec::new());
        }
    };
    read_all(&mut drive, &mut now);
    assert_eq!(of_map(&drive), before);
    drive.cut(now);
    now = drive.restore(now + SECOND);
    read_all(&mut drive, &mut now);
    assert_eq!(of_map(&drive).0, before.0, "nothing of the map comes back");
    drive.check_books().expect("the books balance");
}

#[test]
fn a_secure_erase_that_is_cut_short_goes_on_before_the_drive_is_ready() {
    let (drive, now) = written();
    // How long a drive takes that has nothing more to erase.
    let after = |cut: Nanos| {
        let mut drive = drive.clone();
        let ready = drive.secure_erase(now);
        drive.cut(now + cut);
        let back = now + 100 * SECOND;
        let took = drive.restore(back) - back;
        assert_eq!((held(&drive), drive.key_changes()), (0, 1), "cut {cut} ns after it began");
        (ready - now, took)
    };
    let (takes, alone) = after(10 * SECOND);
    assert!(takes > 20 * MILLISECOND);
    for cut in [0, MILLISECOND, takes - 1, takes] {
        assert_eq!(after(cut).1, alone + takes - cut, "cut {cut} ns after it began");
    }
    // At once or much later: what is left is done once.
    let mut at_once = drive.clone();
    at_once.secure_erase(now);
    at_once.cut(now + MILLISECOND);
    let back = now + MILLISECOND;
    assert_eq!(at_once.restore(back) - back, alone + takes - MILLISECOND);
    // Nor do commands that wait for its end bring that about.
    let mut waited_for = drive.clone();
    waited_for.secure_erase(now);
    submit_some(&mut waited_for, now + MILLISECOND / 2);
    waited_for.advance(now + MILLISECOND, &mut Vec::new());
    waited_for.cut(now + MILLISECOND);
    assert_eq!(waited_for.restore(back) - back, alone + takes - MILLISECOND);
    // It goes on where it was, however often it is cut, and is over at last.
    let mut drive = drive.clone();
    drive.secure_erase(now);
    drive.cut(now);
    let ready = drive.restore(now);
    drive.cut(now + MILLISECOND);
    assert!(drive.restore(ready) - ready >= takes);
    drive.cut(ready + 10 * SECOND);
    assert_eq!(drive.restore(ready + 100 * SECOND) - ready - 100 * SECOND, alone);
}

/// Every other erase of such a block takes three times as long, too.
#[test]
fn a_secure_erase_of_a_worn_drive_takes_as_long_as_the_erases_of_worn_blocks() {
    let takes = |used: Option<UsedSpec>| {
        let (mut drive, mut die) = specs();
        die.variation = Some(VariationSpec {
            program_dies_percent: 0.0,
            program_blocks_percent: 0.0,
            program_pages_percent: 0.0,
            read_pages_percent: 0.0,
            erase_blocks_percent: 0.0,
            program_gain_at_rated_cycles_percent: 0.0,
            erase_growth_at_rated_cycles_percent: 200.0,
        });
        drive.used = used;
        let (mut drive, now) = written_on(&(drive, die));
        (drive.secure_erase(now) - now) as f64
    };
    let (new, worn) = (takes(None), takes(Some(UsedSpec { life_percent: 100.0, spread_percent: 0.0 })));
    assert!((worn / new - 3.0).abs() < 0.01, "{new} and {worn} ns");
}

#[test]
fn a_drive_that_does_not_encrypt_has_no_crypto_erase() {
    let (mut drive, die) = specs();
    for encryption in
        [None, Some(EncryptionSpec { cipher: Cipher::None, crypto_erase_ms: 20.0, locking: Locking::None })]
    {
        drive.encryption = encryption;
        let mut drive = Ssd::new("small", &drive, &die, 1).expect("it can be built");
        assert!(!drive.encrypts());
        drive.secure_erase(0);
        assert_eq!(drive.key_changes(), 0);
    }
}
