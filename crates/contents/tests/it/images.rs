//! Images: what comes back, what is refused.

use std::path::{Path, PathBuf};

use ssdlab_contents::{
    ContentDevice, ContentOptions, Image, ImageError, MediaKey, PAGE_BYTES, Store, Version, lay_out, page_of,
    read_image,
};
use ssdlab_core::{Rng, UNIT_BYTES};
use ssdlab_device::{Device, Request};

use crate::fake::{Fake, UNITS};

fn path(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_file(&path));
    path
}

fn filled(byte: u8) -> Version {
    Version { number: 1, page: page_of(&[byte; PAGE_BYTES]) }
}

fn same(a: &Store, b: &Store) -> bool {
    let all = |s: &Store| s.written().map(|(unit, _, page)| (unit, page.cloned())).collect::<Vec<_>>();
    all(a) == all(b) && a.lost().eq(b.lost())
}

fn some_store() -> Store {
    let mut store = Store::new(UNITS as u64 * UNIT_BYTES);
    for (unit, byte) in [(0, 1), (1, 2), (2, 0), (5, 3), (7, 4)] {
        store.replace(unit, filled(byte));
    }
    store.mark_lost(9);
    store
}

#[test]
fn what_was_written_comes_back() {
    let path = path("comes-back.ssd");
    let store = some_store();
    let mut image = Image::create(&path, "raid0(a*2)", 7, &store, None).unwrap();
    let mut changed = store.clone();
    changed.forget(1..3, |_, _| {});
    changed.replace(9, filled(6));
    changed.mark_found(9);
    image.append(&changed, 1..10).unwrap();
    image.close().unwrap();
    let (image, contents) = Image::open(&path).unwrap();
    assert!(same(&contents.store, &changed) && contents.header.clean);
    assert_eq!(contents.header.device, "raid0(a*2)");
    assert!(matches!(Image::open(&path), Err(ImageError::InUse)));
    assert!(matches!(Image::inspect(&path), Err(ImageError::InUse)));
    drop(image);
    assert!(!Image::inspect(&path).unwrap().header.clean);
}

/// Through a link the image itself is erased, and what has the name of an unfinished one is left alone unless it is one.
#[test]
#[cfg(unix)]
fn an_erase_follows_a_link_and_overwrites_nothing_of_others() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("erase-beside");
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let (own, link, beside) = (folder.join("own.ssd"), folder.join("link.ssd"), folder.join("own.ssd.ssdlab-new"));
    let mut store = Store::new(UNITS as u64 * UNIT_BYTES);
    store.replace(3, filled(0xA7));
    Image::create(&own, "a drive", 7, &store, None).unwrap().close().unwrap();
    std::os::unix::fs::symlink(&own, &link).unwrap();
    let letter = folder.join("letter");
    std::fs::write(&letter, "a letter").unwrap();
    let erase = |path: &Path| Image::open(path).and_then(|(mut image, _)| image.erase(None));
    for linked in [false, true] {
        if linked {
            std::os::unix::fs::symlink(&letter, &beside).unwrap();
        } else {
            std::fs::write(&beside, "a letter").unwrap();
        }
        let error = erase(&link).unwrap_err();
        assert!(matches!(&error, ImageError::Foreign(path) if path.ends_with("own.ssd.ssdlab-new")), "{error}");
        assert_eq!(
            (std::fs::read(&beside).unwrap(), std::fs::read(&letter).unwrap()),
            (b"a letter".into(), b"a letter".into())
        );
        assert!(same(&Image::inspect(&own).unwrap().store, &store));
        std::fs::remove_file(&beside).unwrap();
    }
    // What a process that was killed has left goes.
    std::fs::write(&beside, [&[0; 4096], &std::fs::read(&own).unwrap()[..1000]].concat()).unwrap();
    erase(&link).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink() && !beside.exists());
    let bytes = std::fs::read(&own).unwrap();
    assert!(!bytes.windows(16).any(|window| window == [0xA7; 16]));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What a write has changed before it ended in an error is what the drive holds, and belongs into the image.
#[test]
fn a_write_that_failed_in_part_is_in_the_image_as_far_as_it_went() {
    let path = path("failed-write.ssd");
    let fake = Fake::new(3);
    fake.inside.lock().unwrap().fails_writes = true;
    let mut device = ContentDevice::new(Box::new(fake), ContentOptions::default());
    device.set_image(Image::create(&path, "fake", 7, device.store(), None).unwrap());
    let data = device.insert(vec![0x5a; 2 * PAGE_BYTES]);
    device.submit(0, Request { payload: Some(data), ..Request::write(1, UNIT_BYTES, 2 * UNIT_BYTES) }).unwrap();
    let mut done = Vec::new();
    device.advance(1_000_000, &mut done);
    assert_ne!(done[0].status, ssdlab_device::Status::Ok);
    assert_eq!(device.store().written().count(), 2);
    device.take_image().unwrap().close().unwrap();
    assert!(same(&Image::inspect(&path).unwrap().store, device.store()));
}

/// Finding changes nothing yet; one of the two headers may be damaged, and that is told.
#[test]
fn an_image_is_not_changed_before_it_is_begun() {
    let path = path("found.ssd");
    Image::create(&path, "a drive", 7, &some_store(), None).unwrap().close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let found = Image::find(&path).unwrap();
    assert!(found.contents.header.clean && found.contents.headers_match);
    assert!(matches!(Image::find(&path), Err(ImageError::InUse)));
    drop(found);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    bytes[100] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert!(!Image::inspect(&path).unwrap().headers_match);
    let (image, _) = Image::find(&path).unwrap().begin().unwrap();
    assert!(image.is_in_place());
    image.close().unwrap();
    assert!(Image::inspect(&path).unwrap().headers_match);
    let (image, _) = Image::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(!image.is_in_place());
}

#[test]
fn every_truncation_of_a_closed_image_is_refused() {
    let bytes = image_bytes("truncated.ssd", true, None);
    for length in 0..bytes.len() {
        assert!(read_image(&mut &bytes[..length], length as u64).is_err(), "{length} of {} bytes", bytes.len());
    }
}

/// So that a drive which it does not fit is told so before all of it is read, also while another process has it.
#[test]
fn an_image_is_told_by_its_header_alone() {
    let path = path("header.ssd");
    let image = Image::create(&path, "a", 7, &some_store(), None).unwrap();
    assert_eq!(Image::header(&path).unwrap().capacity_bytes, UNITS as u64 * UNIT_BYTES);
    image.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8192] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(Image::inspect(&path), Err(ImageError::Damaged { .. })));
    assert_eq!(Image::header(&path).unwrap().device, "a");
    std::fs::write(&path, &bytes[..8191]).unwrap();
    assert!(matches!(Image::header(&path), Err(ImageError::NoImage)));
}

fn key() -> MediaKey {
    MediaKey { changes: 0, bytes: std::array::from_fn(|k| k as u8) }
}

/// An image and what it holds.
fn image_bytes(name: &str, closed: bool, key: Option<MediaKey>) -> Vec<u8> {
    let path = path(name);
    let mut image = Image::create(&path, "a drive", 7, &some_store(), key).unwrap();
    let mut store = some_store();
    store.replace(3, filled(9));
    image.append_state(b"the state of a drive").unwrap();
    image.commit().unwrap();
    image.append(&store, 3..4).unwrap();
    if closed {
        image.close().unwrap();
    }
    std::fs::read(&path).unwrap()
}

#[test]
fn a_flipped_bit_is_refused_or_does_no_harm() {
    flip_bits(&image_bytes("flipped.ssd", true, None), 1);
    flip_bits(&image_bytes("flipped.ssd", true, Some(key())), 4);
}

/// One bit of every byte whose place is a multiple of `step`.
fn flip_bits(bytes: &[u8], step: usize) {
    let original = read_image(&mut &*bytes, bytes.len() as u64).unwrap().store;
    let mut rng = Rng::new(1);
    let (mut refused, mut harmless) = (0, 0);
    for at in (0..bytes.len()).step_by(step) {
        let mut spoiled = bytes.to_vec();
        spoiled[at] ^= 1 << rng.below(8);
        match read_image(&mut spoiled.as_slice(), spoiled.len() as u64) {
            Err(_) => refused += 1,
            Ok(contents) => {
                assert!(same(&contents.store, &original), "byte {at}");
                harmless += 1;
            }
        }
    }
    // Either header may be spoiled, since the other says the same.
    assert_eq!(harmless, 2 * 4096 / step);
    assert!(refused > 20_000 / step);
}

/// An image of so many pages with different bytes, closed in good order.
fn image_of_pages(name: &str, pages: u32, key: Option<MediaKey>) -> Vec<u8> {
    let path = path(name);
    let mut store = Store::new(1 << 30);
    (0..pages).for_each(|page| _ = store.replace(7 * page, filled(page as u8 | 1)));
    store.mark_lost(5);
    Image::create(&path, "a drive", 7, &store, key).unwrap().close().unwrap();
    std::fs::read(&path).unwrap()
}

/// Bits of images up to 1 MiB flipped one at a time, and truncations of the largest.
fn spoil(flips_of_each: usize, truncations: usize) {
    let kinds = [(3, None), (60, None), (60, Some(key())), (240, None), (240, Some(key()))];
    std::thread::scope(|scope| {
        for (number, (pages, key)) in kinds.into_iter().enumerate() {
            scope.spawn(move || {
                let mut bytes = image_of_pages(&format!("spoiled-{number}.ssd"), pages, key);
                assert!(bytes.len() <= 1 << 20, "{} bytes", bytes.len());
                let original = read_image(&mut &*bytes, bytes.len() as u64).unwrap().store;
                let mut rng = Rng::new(number as u64);
                for _ in 0..flips_of_each {
                    let (at, bit) = (rng.below(bytes.len() as u64) as usize, 1 << rng.below(8));
                    bytes[at] ^= bit;
                    if let Ok(contents) = read_image(&mut &*bytes, bytes.len() as u64) {
                        assert!(same(&contents.store, &original), "bit {bit:#x} of byte {at} of {pages} pages");
                    }
                    bytes[at] ^= bit;
                }
                for _ in 0..truncations {
                    let length = rng.below(bytes.len() as u64);
                    let read = read_image(&mut &bytes[..length as usize], length);
                    assert!(read.is_err(), "{length} of {} bytes", bytes.len());
                }
            });
        }
    });
}

#[test]
fn a_flipped_bit_of_a_larger_image_is_refused_or_does_no_harm() {
    spoil(60, 20);
}

#[test]
#[ignore = "minutes; `make fuzz` runs it, and a small part of the same runs always"]
fn a_million_flipped_bits_are_refused_or_do_no_harm() {
    spoil(200_000, 20_000);
}

#[test]
fn a_killed_process_leaves_what_was_flushed_and_a_beginning_of_the_rest() {
    let bytes = image_bytes("killed.ssd", false, None);
    let flushed = some_store();
    let mut all = some_store();
    all.replace(3, filled(9));
    let whole = read_image(&mut bytes.as_slice(), bytes.len() as u64).unwrap();
    assert!(same(&whole.store, &all) && whole.torn_bytes == 0);
    let committed = whole.header.committed_end as usize;
    assert!(committed < bytes.len());
    for length in committed..bytes.len() {
        let contents = read_image(&mut &bytes[..length], length as u64).unwrap();
        assert!(same(&contents.store, &flushed));
        assert_eq!(contents.torn_bytes, (length - committed) as u64);
    }
    for length in (0..committed).rev().step_by(7) {
        assert!(read_image(&mut &bytes[..length], length as u64).is_err());
    }
}

#[test]
fn versions_to_come_and_other_files_are_refused() {
    let mut bytes = image_bytes("version.ssd", true, None);
    for header in [0, 4096] {
        bytes[header + 8] = 7;
        let crc = crc32(&bytes[header..header + 4092]);
        bytes[header + 4092..header + 4096].copy_from_slice(&crc.to_le_bytes());
    }
    let error = read_image(&mut bytes.as_slice(), bytes.len() as u64).err().unwrap();
    assert_eq!(error.to_string(), "an image of version 7; this program knows version 6");
    let text = vec![b'x'; 100_000];
    assert!(matches!(read_image(&mut text.as_slice(), 100_000), Err(ImageError::NoImage)));
}

/// Every number of headers and records is another one in turn, and the checksums are right.
#[test]
fn nonsense_with_right_checksums_is_refused_or_read_and_written_on() {
    for key in [None, Some(key())] {
        write_nonsense(&image_bytes("nonsense.ssd", true, key.clone()));
        // Pages with a key of their own, which was changed between two records.
        if key.is_some() {
            let path = path("nonsense-keyed.ssd");
            std::fs::write(&path, image_bytes("nonsense.ssd", true, key)).unwrap();
            let (mut image, mut contents) = Image::open(&path).unwrap();
            let own = std::slice::from_ref(&(2..5));
            for number in [2, 3] {
                contents.store.blank(2..5);
                image.reserve_with_erase(&[(1, Some(vec![number; 4096]))]);
                image.change_key_of(&contents.store, own).unwrap();
                image.append(&contents.store, 0..8).unwrap();
            }
            image.close().unwrap();
            write_nonsense(&std::fs::read(&path).unwrap());
        }
    }
}

fn write_nonsense(bytes: &[u8]) {
    let path = path("nonsense.ssd");
    let mut records = vec![2 * 4096];
    while let Some(&at) = records.last().filter(|&&at| at < bytes.len()) {
        let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let has_data = [1, 5, 10].contains(&number(at + 4));
        records.push(at + 32 + if has_data { number(at + 12) as usize * 4096 } else { 0 });
    }
    records.pop();
    assert!(records.len() > 5);
    let numbers = [0, 1, 2, 3, 4, 5, 9, 257, 1 << 31, u32::MAX];
    let (mut refused, mut read) = (0, 0);
    let mut see = |spoiled: &[u8]| {
        if read_image(&mut &spoiled[..], spoiled.len() as u64).is_err() {
            refused += 1;
            return;
        }
        read += 1;
        std::fs::write(&path, spoiled).unwrap();
        let (mut image, contents) = Image::open(&path).unwrap();
        let units = 0..(contents.header.capacity_bytes / UNIT_BYTES).min(8) as u32;
        image.append(&contents.store, units).unwrap();
        image.append_state(b"another state").unwrap();
        image.close().unwrap();
        let again = Image::inspect(&path).unwrap();
        assert!(same(&again.store, &contents.store) && again.state.is_some());
    };
    for at in (8..56).step_by(4).chain((1088..1108).step_by(4)) {
        for number in numbers {
            let mut spoiled = bytes.to_vec();
            for header in [0, 4096] {
                spoiled[header + at..header + at + 4].copy_from_slice(&number.to_le_bytes());
                let crc = crc32(&spoiled[header..header + 4092]);
                spoiled[header + 4092..header + 4096].copy_from_slice(&crc.to_le_bytes());
            }
            see(&spoiled);
        }
    }
    for (&record, at) in records.iter().flat_map(|record| (4..28).step_by(4).map(move |at| (record, at))) {
        for number in numbers {
            let mut spoiled = bytes.to_vec();
            spoiled[record + at..record + at + 4].copy_from_slice(&number.to_le_bytes());
            let from_image = [&bytes[40..48], &spoiled[record..record + 28]].concat();
            spoiled[record + 28..record + 32].copy_from_slice(&crc32(&from_image).to_le_bytes());
            see(&spoiled);
        }
    }
    assert!(refused > 150 && read > 40, "{refused} refused, {read} read");
}

/// CRC-32 bit by bit, so that the format does not depend on one library.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[test]
fn a_device_writes_its_changes_to_its_image_and_is_laid_out_again_from_it() {
    let path = path("device.ssd");
    let mut device = ContentDevice::new(Box::new(Fake::new(1)), ContentOptions::default());
    device.set_image(Image::create(&path, "fake", 1, device.store(), None).unwrap());
    let id = device.insert([[5; 4096], [6; 4096]].concat());
    device.submit(0, Request::write(1, 8192, 8192).with_payload(id)).unwrap();
    device.advance(2000, &mut Vec::new());
    device.submit(2000, Request::trim(1, 8192, 4096)).unwrap();
    device.advance(4000, &mut Vec::new());
    // The process is killed here.
    drop(device);
    let (_image, mut contents) = Image::open(&path).unwrap();
    let mut fake = Fake::new(2);
    let now = lay_out(&mut fake, &mut contents.store, 0, &|| true).unwrap();
    let mut device = ContentDevice::with_store(Box::new(fake), ContentOptions::default(), contents.store);
    let id = device.insert(Vec::new());
    device.submit(now, Request::read(1, 8192, 8192).with_payload(id)).unwrap();
    device.advance(now + 2000, &mut Vec::new());
    assert_eq!(device.take(id), [[0; 4096], [6; 4096]].concat());
    device.cut(now + 2000);
    device.restore(now + 2000);
    assert_eq!(device.after_cut().unwrap().forgotten, 0);
}

#[test]
fn an_image_is_written_anew_when_most_of_it_is_useless() {
    let path = path("anew.ssd");
    let mut store = some_store();
    let mut image = Image::create(&path, "a", 7, &store, None).unwrap();
    for byte in 0..200 {
        (0..8).for_each(|unit| _ = store.replace(unit, filled(byte)));
        image.append(&store, 0..8).unwrap();
    }
    let before = image.file_bytes();
    drop(image);
    let (image, contents) = Image::open(&path).unwrap();
    assert!(same(&contents.store, &store) && image.file_bytes() < before / 10);
    image.close().unwrap();
    assert!(same(&Image::inspect(&path).unwrap().store, &store));
}

#[test]
fn the_state_of_the_drive_outlasts_a_new_file_with_what_was_changed_since_behind_it() {
    let path = path("anew.ssd");
    let mut store = some_store();
    let mut image = Image::create(&path, "a drive", 7, &store, None).unwrap();
    image.append_state(b"an old state").unwrap();
    image.append(&store, 0..8).unwrap();
    image.append_state(b"the state of a drive").unwrap();
    for k in (0..200).cycle().take(600) {
        store.replace(5, filled(k));
        store.replace(3, filled(k));
        store.forget(1..2, |_, _| {});
        image.append(&store, 1..6).unwrap();
    }
    image.close().unwrap();
    let long = std::fs::metadata(&path).unwrap().len();
    // Opening it writes it anew.
    drop(Image::open(&path).unwrap());
    assert!(std::fs::metadata(&path).unwrap().len() < long / 2);
    let contents = Image::inspect(&path).unwrap();
    assert!(same(&contents.store, &store));
    let state = contents.state.unwrap();
    assert_eq!(state.saved(UNITS as u64).unwrap(), b"the state of a drive");
    let changed: Vec<_> = state.since.iter().map(|change| (change.pages.clone(), change.written)).collect();
    assert_eq!(changed, [(1..2, false), (2..4, true), (4..5, false), (5..6, true)]);
}

/// Whether the file holds any block of sixteen bytes of one value, which is more than chance gives.
fn holds_any_of(path: &Path, values: std::ops::RangeInclusive<u8>) -> bool {
    std::fs::read(path).unwrap().windows(16).any(|w| values.contains(&w[0]) && w.iter().all(|&byte| byte == w[0]))
}

/// The data of every record of pages, by the number of the first page.
fn data_records(bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut found) = (2 * 4096, Vec::new());
    while at < bytes.len() {
        let (kind, first) = (number(at + 4), number(at + 8));
        let length = if [1, 5].contains(&kind) { number(at + 12) as usize * 4096 } else { 0 };
        if kind == 1 {
            found.push((first, bytes[at + 32..at + 32 + length].to_vec()));
        }
        at += 32 + length;
    }
    found
}

#[test]
fn what_an_encrypting_drive_holds_is_in_the_file_as_noise_only() {
    let path = path("noise.ssd");
    let mut store = some_store();
    // The same bytes on two pages.
    [12, 14].into_iter().for_each(|unit| _ = store.replace(unit, filled(8)));
    let image = Image::create(&path, "plain", 7, &store, None).unwrap();
    image.close().unwrap();
    assert!(holds_any_of(&path, 1..=8), "the search finds what is there");
    std::fs::remove_file(&path).unwrap();
    let mut image = Image::create(&path, "a", 7, &store, Some(key())).unwrap();
    image.append_state(b"the state of a drive").unwrap();
    store.replace(3, filled(7));
    image.append(&store, 2..4).unwrap();
    image.close().unwrap();
    assert!(!holds_any_of(&path, 1..=8));
    let records = data_records(&std::fs::read(&path).unwrap());
    let of = |unit: u32| &records.iter().find(|record| record.0 == unit).expect("it is in the file").1;
    assert!(of(12) != of(14) && of(12).len() == PAGE_BYTES);
    let contents = Image::inspect(&path).unwrap();
    assert!(same(&contents.store, &store) && contents.header.key == Some(key()));
}

#[test]
fn a_new_file_of_an_encrypting_drive_keeps_its_key_and_an_erased_one_has_the_next() {
    let path = path("next-key.ssd");
    let mut store = some_store();
    let mut image = Image::create(&path, "a", 7, &store, Some(key())).unwrap();
    for byte in 1..200 {
        (0..8).for_each(|unit| _ = store.replace(unit, filled(byte)));
        image.append(&store, 0..8).unwrap();
    }
    let before = image.file_bytes();
    drop(image);
    let (mut image, contents) = Image::open(&path).unwrap();
    assert!(image.file_bytes() < before / 10 && same(&contents.store, &store), "it is written anew");
    let old = data_records(&std::fs::read(&path).unwrap());
    image.erase(None).unwrap();
    drop(image);
    let contents = Image::inspect(&path).unwrap();
    let now = contents.header.key.expect("it is encrypted");
    assert_eq!(now.changes, 1);
    assert_ne!(now.bytes, key().bytes);
    assert!(contents.store.written().next().is_none() && data_records(&std::fs::read(&path).unwrap()).is_empty());
    // The same bytes on the same pages are other ones in the file now.
    let (mut image, _) = Image::open(&path).unwrap();
    image.append(&store, 0..UNITS as u32).unwrap();
    image.close().unwrap();
    let new = data_records(&std::fs::read(&path).unwrap());
    assert!(old.len() == new.len() && old.iter().zip(&new).all(|(old, new)| old.0 == new.0 && old.1 != new.1));
    assert!(same(&Image::inspect(&path).unwrap().store, &store));
}

/// Keys of pages stand in the header, and are changed there alone.
#[test]
fn a_key_of_some_pages_is_changed_without_touching_the_others() {
    let path = path("own-keys.ssd");
    let mut store = Store::new(2000 * UNIT_BYTES);
    let fill = |store: &mut Store, pages: std::ops::Range<u32>, byte: u8| {
        pages.for_each(|unit| drop(store.replace(unit, filled(byte))));
    };
    fill(&mut store, 0..1500, 1);
    let mut image = Image::create(&path, "small", 7, &store, Some(key())).unwrap();
    image.append_state(b"the state of a drive").unwrap();
    let read = || {
        let bytes = std::fs::read(&path).unwrap();
        let contents = read_image(&mut bytes.as_slice(), bytes.len() as u64).unwrap();
        (bytes, contents)
    };
    let change = |image: &mut Image, store: &mut Store, all: &[std::ops::Range<u32>]| {
        all.iter().for_each(|pages| store.blank(pages.clone()));
        image.change_key_of(store, all).unwrap();
        let contents = read().1;
        assert!((0..2000).all(|unit| contents.store.version(unit) == store.version(unit)), "{all:?}");
        contents.header
    };
    let own = |header: &ssdlab_contents::Header| header.keyed.iter().map(|of| of.pages.clone()).collect::<Vec<_>>();
    // At first their key is that of all, and the file is written anew with another one. The drive has changed none, and counts none.
    let first = change(&mut image, &mut store, &[400..600, 300..400, 1000..1100]);
    let of_all = first.key.as_ref().unwrap();
    assert_eq!((own(&first), of_all.changes), (vec![300..600, 1000..1100], 0));
    assert_ne!(of_all.bytes, key().bytes);
    fill(&mut store, 250..1050, 2);
    image.append(&store, 250..1050).unwrap();
    image.append_reserved(&[(5, Some(vec![6; 4096]))]).unwrap();
    image.commit().unwrap();
    let (before, _) = read();
    image.reserve_with_erase(&[(4, Some(vec![7; 4096])), (5, None)]);
    let second = change(&mut image, &mut store, std::slice::from_ref(&(300..600)));
    let (after, contents) = read();
    assert_eq!(after[8192..before.len()], before[8192..], "no record is touched");
    assert_eq!(after.len(), before.len() + 32 + 4096 + 32, "the pages that go with it, and no more");
    assert_eq!(contents.reserved.pages().map(|page| (page.0, page.1[0])).collect::<Vec<_>>(), [(4, 7)]);
    assert_eq!((&second.key, &second.keyed[1]), (&first.key, &first.keyed[1]));
    assert_ne!(second.keyed[0].key.bytes, first.keyed[0].key.bytes);
    let old = &first.keyed[0].key.bytes[..];
    assert!(before.windows(64).any(|bytes| bytes == old) && !after.windows(64).any(|bytes| bytes == old));
    // What is written since is read, also where a record has pages with several keys; and after a new begin.
    fill(&mut store, 500..1050, 3);
    image.append(&store, 500..1050).unwrap();
    drop(image);
    let (mut image, contents) = Image::open(&path).unwrap();
    assert!((0..2000).all(|unit| contents.store.version(unit) == store.version(unit)));
    let third = change(&mut image, &mut store, &[1000..1100, 300..600]);
    assert_eq!((own(&third), &third.key), (own(&first), &first.key));
    // Less or more than what has a key of its own: that is cut.
    let fourth = change(&mut image, &mut store, std::slice::from_ref(&(500..1050)));
    let another = fourth.key.as_ref().unwrap();
    assert_eq!((own(&fourth), another.changes), (vec![300..500, 500..1050, 1050..1100], 0));
    assert_ne!(another.bytes, of_all.bytes);
    // Of too many nobody keeps account, nor where all have the same.
    let many: Vec<_> = (0..13).map(|k| 100 * k..100 * k + 50).collect();
    assert_eq!(own(&change(&mut image, &mut store, &many)), []);
    assert_eq!(own(&change(&mut image, &mut store, &many[..12])).len(), 12);
    assert_eq!(own(&change(&mut image, &mut store, &[0..1000, 1000..2000])), []);
    image.close().unwrap();
}

#[test]
fn what_a_drive_has_counted_stands_in_the_header_as_far_as_there_is_room_until_the_image_is_closed() {
    let path = path("totals.ssd");
    for key in [None, Some(key())] {
        drop(std::fs::remove_file(&path));
        let mut image = Image::create(&path, "small", 7, &Store::new(1 << 20), key.clone()).unwrap();
        image.append_state(b"the state of a drive").unwrap();
        for (bytes, kept) in [(1, true), (1900, true), (1901, false), (0, false), (130, true)] {
            image.set_totals(vec![0xA7; bytes]);
            image.commit().unwrap();
            let read = std::fs::read(&path).unwrap();
            let found = read_image(&mut read.as_slice(), read.len() as u64).unwrap();
            assert_eq!(found.header.key, key);
            assert_eq!(found.state.unwrap().totals, kept.then(|| vec![0xA7; bytes]), "{bytes} bytes");
        }
        image.change_key_of(&Store::new(1 << 20), std::slice::from_ref(&(0..256))).unwrap();
        drop(image);
        let (image, contents) = Image::open(&path).unwrap();
        assert!(contents.state.unwrap().totals.is_some(), "they are in a new file, too");
        drop(image);
        // A new drive has not counted what the old one has.
        let store = Store::new(1 << 20);
        let found = Image::find(&path).unwrap();
        drop(found.for_new_drive("another", &store, Some(b"the state of a new drive"), false).unwrap());
        assert!(Image::inspect(&path).unwrap().state.unwrap().totals.is_none());
        let (mut image, _) = Image::open(&path).unwrap();
        image.set_totals(vec![0xA7; 100]);
        image.close().unwrap();
        assert!(Image::inspect(&path).unwrap().state.unwrap().totals.is_none());
    }
}

#[test]
fn older_images_are_read_and_know_no_encryption() {
    for (key, is_read) in [(None, true), (Some(key()), false)] {
        for version in [1, 2] {
            let mut bytes = image_bytes("older.ssd", true, key.clone());
            for header in [0, 4096] {
                bytes[header + 8] = version;
                let crc = crc32(&bytes[header..header + 4092]);
                bytes[header + 4092..header + 4096].copy_from_slice(&crc.to_le_bytes());
            }
            let read = read_image(&mut bytes.as_slice(), bytes.len() as u64);
            assert_eq!(read.is_ok(), is_read, "version {version}");
            assert!(read.is_err() || read.is_ok_and(|contents| contents.header.version == u32::from(version)));
        }
    }
}

#[test]
fn an_image_that_was_closed_is_not_taken_for_the_rest_of_another_by_its_name() {
    let path = path("beside.ssd");
    let beside = path.with_file_name("beside.ssd.ssdlab-new");
    let store = Store::new(8 * UNIT_BYTES);
    Image::create(&beside, "drive", 7, &store, None).unwrap().close().unwrap();
    let before = std::fs::read(&beside).unwrap();
    let error = Image::create(&path, "drive", 8, &store, None).err().unwrap();
    assert!(matches!(&error, ImageError::Foreign(found) if *found == beside), "{error}");
    assert!(std::fs::read(&beside).unwrap() == before && !path.exists());
    std::fs::remove_file(&beside).unwrap();
}

/// One whose process was killed, of a later version, or with another header damaged is an image all the same.
#[test]
fn what_was_finished_and_what_is_no_image_is_not_taken_for_the_rest_of_another_by_its_name() {
    let path = path("beside-finished.ssd");
    let beside = path.with_file_name("beside-finished.ssd.ssdlab-new");
    let store = some_store();
    drop(std::fs::remove_file(&beside));
    drop(Image::create(&beside, "drive", 7, &store, None).unwrap());
    let open = std::fs::read(&beside).unwrap();
    let (mut image, _) = Image::open(&beside).unwrap();
    image.append(&store, 0..1).unwrap();
    image.close().unwrap();
    let closed = std::fs::read(&beside).unwrap();
    let mut later = closed.clone();
    for header in [0, 4096] {
        later[header + 8] = 99;
        let crc = crc32(&later[header..header + 4092]);
        later[header + 4092..header + 4096].copy_from_slice(&crc.to_le_bytes());
    }
    let one_header = [&closed[..4096], &[1; 4096], &closed[8192..]].concat();
    let longer = [&closed[..], &[0]].concat();
    let zeroes_first = [&[0; 4096], b"a letter".repeat(2000).as_slice()].concat();
    let foreign =
        [&open[..], &closed, &later, &one_header, &longer, &zeroes_first, &[0; 10_000], b"\0\0\0\0\0\0\0\0letter"];
    for (k, bytes) in foreign.into_iter().enumerate() {
        std::fs::write(&beside, bytes).unwrap();
        let error = Image::create(&path, "drive", 8, &store, None).err().unwrap_or_else(|| panic!("{k} was taken"));
        assert!(matches!(&error, ImageError::Foreign(found) if *found == beside), "{k}: {error}");
        assert!(std::fs::read(&beside).unwrap() == bytes && !path.exists(), "{k}");
    }
    // What a process may leave that is killed before it has written a header, or while it removes what another one has left.
    let begun = [&[0; 4096], &closed[4096..5000]].concat();
    let forgotten = [&[0; 8192], &closed[8192..]].concat();
    let half_forgotten = [&[0; 1000], &closed[1000..]].concat();
    for left in [&[][..], &begun[..4100], &begun, &forgotten[..8192], &forgotten[..8194], &forgotten, &half_forgotten] {
        std::fs::write(&beside, left).unwrap();
        Image::create(&path, "drive", 8, &store, None).unwrap().close().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(!beside.exists());
    }
}

/// The name of a drive that is made from a file is that file's path.
#[test]
fn a_device_whose_name_no_image_can_keep_is_refused() {
    let path = path("long-name.ssd");
    drop(std::fs::remove_file(&path));
    let store = some_store();
    let (fits, long) = ("d".repeat(1024), "d".repeat(1025));
    let is_refused = |error: Option<ImageError>| {
        let error = error.expect("it is too long").to_string();
        assert_eq!(error, "the name of the device has 1025 bytes, and an image keeps at most 1024");
    };
    is_refused(Image::create(&path, &long, 7, &store, None).err());
    assert!(!path.exists() && !path.with_file_name("long-name.ssd.ssdlab-new").exists());
    Image::create(&path, &fits, 7, &store, None).unwrap().close().unwrap();
    is_refused(Image::find(&path).unwrap().called(&long).err());
    is_refused(Image::find(&path).unwrap().for_new_drive(&long, &store, None, false).err());
    assert_eq!(Image::inspect(&path).unwrap().header.device, fits);
    std::fs::remove_file(&path).unwrap();
}

/// The process ends between a state and the header behind it.
#[test]
fn what_was_counted_before_a_state_is_not_joined_to_it() {
    let path = path("older-totals.ssd");
    drop(std::fs::remove_file(&path));
    let mut image = Image::create(&path, "drive", 7, &some_store(), None).unwrap();
    image.append_state(b"first").unwrap();
    image.set_totals(b"counted".to_vec());
    image.commit().unwrap();
    image.append_state(b"second").unwrap();
    drop(image);
    let joined = || {
        let (image, contents) = Image::open(&path).unwrap();
        let state = contents.state.unwrap();
        (image, (state.saved(UNITS as u64).unwrap(), state.totals))
    };
    // Also once it has been opened, which writes a header.
    for _ in 0..2 {
        assert_eq!(joined().1, (b"second".to_vec(), None));
    }
    let mut image = joined().0;
    image.set_totals(b"more".to_vec());
    image.commit().unwrap();
    drop(image);
    assert_eq!(joined().1, (b"second".to_vec(), Some(b"more".to_vec())));
    std::fs::remove_file(&path).unwrap();
}

/// The media key is in it.
#[cfg(unix)]
#[test]
fn an_image_that_is_written_anew_is_readable_by_nobody_else_than_before() {
    use std::os::unix::fs::PermissionsExt;
    let path = path("private.ssd");
    let store = Store::new(8 * UNIT_BYTES);
    let mut image = Image::create(&path, "drive", 7, &store, Some(MediaKey::random(0).unwrap())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    image.erase(None).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    image.close().unwrap();
    std::fs::remove_file(&path).unwrap();
}
