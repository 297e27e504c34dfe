//! Erases of drives with bytes: all or nothing, through power cuts and ends of the process at any time, in memory, on the drive
//! and in the image.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ssdlab_contents::{ContentOptions, Image};
use ssdlab_core::{MILLISECOND, Nanos, Rng, UNIT_BYTES};
use ssdlab_device::{Device, Request, Security, Status};
use ssdlab_ssd::{Cipher, DriveSpec, EncryptionSpec, Locking, PowerLossSpec, Protection, Ssd};
use ssdlab_testkit::{any_drive, ideal_die, ideal_drive};

use crate::fake::Fake;
use crate::resumed::{Host, again, begin, path};

const TAKES_MS: u64 = 8;

fn encrypting(drive: &mut DriveSpec) {
    drive.encryption =
        Some(EncryptionSpec { cipher: Cipher::Aes256, crypto_erase_ms: TAKES_MS as f64, locking: Locking::None });
}

/// Pages hold zeroes, those that were written since apart, and go on doing so through power cuts.
fn stays_empty(host: &mut Host, rng: &mut Rng) {
    let pages = host.bytes.len() as u64;
    let mut touched = BTreeSet::new();
    for _ in 0..3 {
        for tag in 0..rng.below(20) {
            let page = rng.below(pages);
            touched.insert(page as usize);
            let payload = host.device.insert(vec![251; UNIT_BYTES as usize]);
            let write = Request::write(tag, page * UNIT_BYTES, UNIT_BYTES).with_payload(payload);
            assert_eq!(host.run(write), Status::Ok);
            drop(host.device.take(payload));
        }
        host.device.cut(host.now);
        host.now = host.device.restore(host.now);
        let bytes = (0..host.bytes.len()).map(|page| (!touched.contains(&page)).then_some(0));
        host.bytes = bytes.collect();
        host.check();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(37), failure_persistence: None,
        ..ProptestConfig::with_cases(30) })]

    /// `sixteenths` of the time that the erase takes have passed when it is interrupted.
    #[test]
    fn a_crypto_erase_has_happened_or_not_whenever_the_power_goes_or_the_process_ends(
        choice in any_drive(),
        sixteenths in 0..20_u64,
        killed in any::<bool>(),
    ) {
        if let Some((mut drive, die)) = choice.build() {
            encrypting(&mut drive);
            let new_drive = || -> Box<dyn Device> {
                Box::new(Ssd::new("small", &drive, &die, choice.seed).expect("it can be built"))
            };
            let path = path("crypto-erased.ssd");
            let mut rng = Rng::new(choice.seed).stream("erased");
            let options = ContentOptions::default();
            let mut host = Host::new(begin(&path, new_drive(), options), rng.stream("host"), 0, None);
            host.work(rng.below(300));
            host.run(Request::flush(1));
            host.check();
            let old = Image::inspect(&path).err().map_or_else(|| "none".to_owned(), |e| e.to_string());
            prop_assert_eq!(old, "in use by another process");
            let ready = host.device.crypto_erase(host.now);
            let at = ready - TAKES_MS * MILLISECOND + TAKES_MS * MILLISECOND * sixteenths / 16;
            host.device.advance(at, &mut Vec::new());
            prop_assert_eq!(host.device.is_erasing(), sixteenths < 16);
            host.now = host.now.max(at);
            if killed {
                let Host { device, bytes, now: _, .. } = host;
                drop(device);
                let key = Image::inspect(&path).expect("it is whole").header.key.expect("it is encrypted");
                prop_assert_eq!(key.changes, u64::from(sixteenths >= 16));
                let (device, now) = again(&path, new_drive(), options).expect("it fits");
                host = Host::new(device, rng.stream("next"), now, Some(bytes));
            } else {
                host.device.cut(host.now);
                host.now = host.device.restore(host.now);
                // A trim may be forgotten.
                host.bytes.iter_mut().filter(|byte| **byte == Some(0)).for_each(|byte| *byte = None);
            }
            prop_assert!(host.device.image_error().is_none());
            let changes = host.device.key_changes();
            prop_assert_eq!(changes, u64::from(sixteenths >= 16));
            if sixteenths >= 16 {
                host.bytes.fill(Some(0));
                prop_assert_eq!(host.device.store().stored_pages(), 0);
                host.check();
                stays_empty(&mut host, &mut rng);
            } else {
                host.check();
            }
            host.device.check_books().expect("the books balance");
        }
    }

    /// Another key of some pages: they are empty for good, whatever the power and the process do, and the others are as they were.
    #[test]
    fn pages_with_another_key_stay_empty_and_the_others_as_they_were(
        choice in any_drive(),
        place in 0..1000_u32,
        killed in any::<bool>(),
        flushed in any::<bool>(),
    ) {
        if let Some((mut drive, die)) = choice.build() {
            encrypting(&mut drive);
            let protects = [Protection::Nothing, Protection::Everything][(choice.seed % 2) as usize];
            drive.power_loss = Some(PowerLossSpec { protects, energy_mj: Some(1e5), ..PowerLossSpec::default() });
            let new_drive = || -> Box<dyn Device> {
                Box::new(Ssd::new("small", &drive, &die, choice.seed).expect("it can be built"))
            };
            let path = path("key-of-some.ssd");
            let mut rng = Rng::new(choice.seed).stream("key of some");
            let options = ContentOptions::default();
            let mut host = Host::new(begin(&path, new_drive(), options), rng.stream("host"), 0, None);
            host.work(rng.below(300));
            if flushed {
                host.run(Request::flush(1));
            }
            let pages = host.bytes.len() as u32;
            let first = place * pages / 1000;
            let all = [first..(first + pages / 3).min(pages), 0..first / 4];
            let empty = |page: usize| all.iter().any(|pages| pages.contains(&(page as u32)));
            // With keys of their own from the first time on, which are changed by themselves the second time.
            host.device.change_key_of(&all);
            host.bytes.iter_mut().enumerate().filter(|of| empty(of.0)).for_each(|of| *of.1 = Some(0));
            host.work(rng.below(100));
            if flushed {
                host.run(Request::flush(1));
            }
            let page = |byte| Some(vec![byte; UNIT_BYTES as usize]);
            host.device.keep_reserved(&[(3, page(1)), (4, page(2)), (9, page(3)), (70_000, page(4))]);
            host.device.change_key_of(&all);
            host.device.keep_reserved(&[(4, None), (9, page(5))]);
            prop_assert!(host.device.image_error().is_none());
            let bytes = host.bytes.clone();
            for second in [false, true] {
                for (page, byte) in host.bytes.iter_mut().enumerate() {
                    // A trim may be forgotten.
                    let kept = bytes[page].filter(|&byte| (flushed || killed) && byte != 0 && !second);
                    *byte = if empty(page) { Some(0) } else { kept };
                }
                if killed {
                    let Host { device, bytes, .. } = host;
                    drop(device);
                    let reserved = Image::inspect(&path).expect("it is whole").reserved;
                    let kept: Vec<_> = reserved.pages().map(|(number, bytes)| (number, bytes[0], bytes[4095])).collect();
                    prop_assert_eq!(kept, [(3, 1, 1), (9, 5, 5), (70_000, 4, 4)]);
                    let (device, now) = again(&path, new_drive(), options).expect("it fits");
                    host = Host::new(device, rng.stream("next"), now, Some(bytes));
                } else {
                    host.device.cut(host.now);
                    host.now = host.device.restore(host.now);
                }
                // What the drive moves may be under way at a cut, and take the page with it that shares its cells; not where
                // capacitors finish it.
                let unprotected = protects == Protection::Nothing;
                host.check_but_for_losses(unprotected && !flushed && !killed);
                host.device.check_books().expect("the books balance");
            }
        }
    }

    /// What was erased in an image that nobody had attached is gone on the drive, too.
    #[test]
    fn an_image_that_is_erased_alone_erases_the_drive_when_it_goes_on(
        choice in any_drive(),
        encrypts in any::<bool>(),
        closed in any::<bool>(),
    ) {
        if let Some((mut drive, die)) = choice.build() {
            if encrypts {
                encrypting(&mut drive);
            }
            let new_drive = || -> Box<dyn Device> {
                Box::new(Ssd::new("small", &drive, &die, choice.seed).expect("it can be built"))
            };
            let path = path("erased-alone.ssd");
            let mut rng = Rng::new(choice.seed).stream("erased");
            let options = ContentOptions::default();
            let mut host = Host::new(begin(&path, new_drive(), options), rng.stream("host"), 0, None);
            host.work(100 + rng.below(300));
            let written = host.device.counters().host.write_bytes;
            if closed {
                host.device.put_away(host.now);
                host.device.take_image().expect("it can be written").close().unwrap();
            }
            drop(host);
            let (mut image, contents) = Image::open(&path).unwrap();
            let key = contents.header.key;
            image.erase(None).unwrap();
            if contents.header.clean {
                image.close().unwrap();
            } else {
                drop(image);
            }
            let contents = Image::inspect(&path).unwrap();
            prop_assert_eq!((contents.header.clean, contents.store.written().count()), (closed, 0));
            prop_assert_eq!(contents.header.key.is_some(), encrypts);
            prop_assert!(!encrypts || contents.header.key.map(|key| key.bytes) != key.map(|key| key.bytes));
            // As often as it is opened before the drive is told.
            drop(Image::open(&path).unwrap());
            let (device, now) = again(&path, new_drive(), options).expect("it fits");
            let mut host = Host::new(device, rng.stream("next"), now, None);
            prop_assert!(!closed || host.device.counters().host.write_bytes >= written);
            host.check();
            stays_empty(&mut host, &mut rng);
            host.device.check_books().expect("the books balance");
        }
    }
}

/// Of a device that has no erase, or accepts no more writes and stays as it is: however often it goes on, until they are written.
#[test]
fn pages_that_were_lost_before_an_erase_of_the_image_alone_stay_lost_on_what_was_not_erased() {
    for (erases, trims) in [(None, false), (Some(0..0), false), (Some(0..0), true)] {
        let path = path("erased-lost.ssd");
        let new_device = || {
            let fake = if trims { Fake::new(1) } else { Fake::new(1).without_trim() };
            let mut inside = fake.inside.lock().unwrap();
            (inside.erases, inside.refuses_trims) = (erases.clone(), true);
            drop(inside);
            Box::new(fake)
        };
        let options = ContentOptions::default();
        let fake = new_device();
        let inside = Arc::clone(&fake.inside);
        let mut host = Host::new(begin(&path, fake, options), Rng::new(1), 0, None);
        let write = |host: &mut Host| {
            let payload = host.device.insert(vec![7; UNIT_BYTES as usize]);
            assert_eq!(host.run(Request::write(1, 3 * UNIT_BYTES, UNIT_BYTES).with_payload(payload)), Status::Ok);
        };
        write(&mut host);
        host.device.cut(host.now);
        inside.lock().unwrap().lose(3);
        host.device.restore(host.now);
        assert!(host.device.store().is_lost(3));
        drop(host);
        let (mut image, _) = Image::open(&path).unwrap();
        image.erase(None).unwrap();
        drop(image);
        for _ in 0..3 {
            let (device, now) = again(&path, new_device(), options).unwrap_or_else(|e| panic!("{erases:?}: {e}"));
            let mut host = Host::new(device, Rng::new(1), now, None);
            assert_eq!(host.run(Request::read(1, 3 * UNIT_BYTES, UNIT_BYTES)), Status::MediaError);
            assert!(host.device.store().is_lost(3), "{erases:?}");
            host.bytes[3] = None;
            host.check();
            drop(host);
        }
        let (device, now) = again(&path, new_device(), options).unwrap();
        let mut host = Host::new(device, Rng::new(1), now, None);
        write(&mut host);
        host.bytes[3] = Some(7);
        host.check();
    }
}

fn small_encrypting_drive() -> Box<dyn Device> {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 16);
    (drive.flash.dies, drive.flash.exact_spare_per_10000) = (4, None);
    drive.capacity_bytes = 1600 * UNIT_BYTES;
    encrypting(&mut drive);
    Box::new(Ssd::new("small", &drive, &die, 1).expect("it can be built"))
}

/// What becomes of a drive with an erase and commands under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Cut,
    Killed,
    GoesOn { at_once: bool },
}

/// A read and a write come in the middle of it: they wait for its end, and do not bring it about.
#[test]
fn commands_that_come_in_a_crypto_erase_find_everything_erased_when_it_has_ended_and_not_before() {
    for then in [Then::Cut, Then::Killed, Then::GoesOn { at_once: false }, Then::GoesOn { at_once: true }] {
        let (path, options) = (path("waited-for.ssd"), ContentOptions::default());
        let mut host = Host::new(begin(&path, small_encrypting_drive(), options), Rng::new(1), 0, None);
        host.work(100);
        host.run(Request::flush(1));
        let (written, empty) = (host.bytes.iter().position(|&byte| byte > Some(0)).expect("it wrote"), 1500);
        let ready = host.device.crypto_erase(host.now);
        let middle = ready - TAKES_MS * MILLISECOND / 2;
        host.device.advance(middle, &mut Vec::new());
        let [for_read, for_write] = [Vec::new(), vec![9; UNIT_BYTES as usize]].map(|bytes| host.device.insert(bytes));
        let read = Request::read(1, written as u64 * UNIT_BYTES, UNIT_BYTES).with_payload(for_read);
        let write = Request::write(2, empty * UNIT_BYTES, UNIT_BYTES).with_payload(for_write);
        [read, write].into_iter().for_each(|command| host.device.submit(middle, command).expect("it is within it"));
        let mut done = Vec::new();
        if let Then::GoesOn { at_once: true } = then {
            host.device.advance(ready + 1_000 * MILLISECOND, &mut done);
        } else {
            host.device.advance(ready - 1, &mut done);
            assert!(done.is_empty() && host.device.is_erasing(), "{then:?}: {done:?}");
        }
        host.now = ready - 1;
        match then {
            Then::Cut => {
                host.device.cut(host.now);
                host.now = host.device.restore(host.now);
                // A trim may be forgotten.
                host.bytes.iter_mut().filter(|byte| **byte == Some(0)).for_each(|byte| *byte = None);
            }
            Then::Killed => {}
            Then::GoesOn { .. } => {
                while done.len() < 2 {
                    host.now = host.device.advance_to_completion(Nanos::MAX / 2, &mut done);
                }
                host.now = host.now.max(ready + 1_000 * MILLISECOND);
                assert!(done.iter().all(|c| c.completed >= ready && c.status == Status::Ok), "{done:?}");
                assert_eq!(host.device.take(for_read), [0; UNIT_BYTES as usize]);
                host.bytes.fill(Some(0));
                host.bytes[empty as usize] = Some(9);
            }
        }
        let changes = u64::from(matches!(then, Then::GoesOn { .. }));
        if then != Then::Killed {
            assert_eq!(host.device.key_changes(), changes, "{then:?}");
            host.check();
        }
        // A kill leaves what was answered.
        let Host { device, bytes, .. } = host;
        drop(device);
        assert_eq!(Image::inspect(&path).expect("it is whole").header.key.expect("it has one").changes, changes);
        let (device, now) = again(&path, small_encrypting_drive(), options).expect("it fits");
        let mut host = Host::new(device, Rng::new(1), now, Some(bytes));
        host.check();
        host.device.check_books().expect("the books balance");
    }
}

#[test]
fn a_crypto_erase_that_is_over_leaves_nothing_of_the_old_key_in_the_image() {
    let path = path("key-gone.ssd");
    let mut device = begin(&path, small_encrypting_drive(), ContentOptions::default());
    let key_in_file = || -> Vec<u8> {
        let bytes = std::fs::read(&path).unwrap();
        let headers = [&bytes[2056..2056 + 64], &bytes[4096 + 2056..4096 + 2056 + 64]];
        assert_eq!(headers[0], headers[1], "both headers have the key");
        headers[0].to_vec()
    };
    let payload = device.insert(vec![0xA7; 64 << 10]);
    device.submit(0, Request::write(1, 0, 64 << 10).with_payload(payload)).expect("it is within the device");
    let now = device.advance_to_completion(u64::MAX / 4, &mut Vec::new());
    let (old, file) = (key_in_file(), std::fs::read(&path).unwrap());
    let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(!holds(&file, &[0xA7; 16]), "what stands in the file is encrypted");
    for erase in 0..2 {
        let ready = if erase == 0 { device.crypto_erase(now) } else { device.secure_erase(now + 1_000_000_000) };
        device.advance(ready, &mut Vec::new());
        let new = std::fs::read(&path).unwrap();
        assert!(device.image_error().is_none() && !device.is_erasing());
        assert!(!holds(&new, &old) && key_in_file() != old && device.key_changes() == erase + 1);
    }
}
