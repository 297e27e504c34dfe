//! An image is written anew when that pays, and not while its disk has no room for it.

use super::disk::kill;
use super::*;
use crate::store::{Version, page_of};

const PAGES: u32 = 20_000;

fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ssdlab-tidy-{name}-{}.ssd", std::process::id()));
    drop(std::fs::remove_file(&path));
    path
}

/// How often an image has been written anew: its number counts that.
fn times(image: &Image) -> u64 {
    image.header.image_number - 7
}

#[test]
fn pages_of_zeroes_by_themselves_are_needed_records_too() {
    let path = path("zeroes");
    let mut store = Store::new(u64::from(PAGES) * UNIT_BYTES);
    let mut image = Image::create(&path, "a", 7, &store, None).unwrap();
    let mut write = |image: &mut Image, unit: u32| {
        store.replace(unit, Version { number: 1, page: None });
        image.append(&store, unit..unit + 1).unwrap();
        image.tidy(&store).unwrap();
    };
    // More than the rule allows for pages that are no data, if only these were needed.
    (0..PAGES).step_by(2).for_each(|unit| write(&mut image, unit));
    let needed = image.needed_bytes(&store);
    assert!(needed > 32 * u64::from(PAGES) - 100 && image.end > 2 * largest_bytes(0));
    assert_eq!(times(&image), 0, "all of it is needed");
    let mut write = |image: &mut Image, unit: u32| {
        store.replace(unit, Version { number: 1, page: None });
        image.append(&store, unit..unit + 1).unwrap();
        image.tidy(&store).unwrap();
    };
    // The same again and again: each time it is written anew, four times as much has come.
    (0..20).flat_map(|_| (0..PAGES).step_by(2)).for_each(|unit| write(&mut image, unit));
    assert!((1..=4).contains(&times(&image)), "{} times", times(&image));
    let before = times(&image);
    image.close().unwrap();
    let (image, contents) = Image::open(&path).unwrap();
    let again = times(&image);
    image.close().unwrap();
    let (image, _) = Image::open(&path).unwrap();
    assert_eq!(times(&image), again, "what is all needed is not written anew each time it is opened");
    assert!(again <= before + 1 && contents.store.written().count() == PAGES as usize / 2);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn what_is_needed_is_what_a_new_file_takes() {
    let path = path("needed");
    let mut store = Store::new(4000 * UNIT_BYTES);
    for unit in 0..3000 {
        let page = page_of(&[unit as u8 % 3; PAGE_BYTES]).filter(|_| unit % 7 != 0);
        store.replace(unit, Version { number: (unit % 5 != 0).into(), page: page.filter(|_| unit % 5 != 0) });
    }
    store.mark_lost(3005);
    for state in [false, true] {
        drop(std::fs::remove_file(&path));
        let mut image = Image::create(&path, "a", 7, &store, None).unwrap();
        if state {
            image.append_state(&[7; 9000]).unwrap();
            image.append(&store, 100..205).unwrap();
            image.append(&store, 2990..3010).unwrap();
        }
        image.append_reserved(&[(3, Some(vec![1; PAGE_BYTES]))]).unwrap();
        image.append(&store, 0..if state { 0 } else { 1000 }).unwrap();
        let needed = image.needed_bytes(&store);
        image.write_anew(&store, None, Vec::new()).unwrap();
        // Where the state stands in between, pages that were not changed are told with it.
        assert!(needed.abs_diff(image.end) <= 64, "{needed} for {}", image.end);
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn an_image_without_room_for_a_new_file_goes_on_as_it_is() {
    let path = path("no-room");
    let mut store = Store::new(u64::from(PAGES) * UNIT_BYTES);
    (0..300).for_each(|unit| _ = store.replace(unit, Version { number: 1, page: page_of(&[9; PAGE_BYTES]) }));
    let mut image = Image::create(&path, "a", 7, &store, None).unwrap();
    let largest = largest_bytes(image.needed_bytes(&store));
    while image.end <= largest {
        image.append(&store, 0..300).unwrap();
    }
    kill::room(Some(1 << 20));
    image.tidy(&store).unwrap();
    let (tried, end) = (image.looked_at_beyond, image.end);
    kill::room(None);
    image.tidy(&store).unwrap();
    assert_eq!((times(&image), image.end, tried > end), (0, end, true), "nor is it tried with every write");
    while image.end <= tried {
        image.append(&store, 0..300).unwrap();
    }
    image.tidy(&store).unwrap();
    assert!(times(&image) == 1 && image.end < end);
    image.close().unwrap();
    assert_eq!(Image::inspect(&path).unwrap().store.written().count(), 300);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn an_image_that_cannot_be_written_anew_goes_on_as_it_is() {
    let path = path("as-it-is");
    let mut store = Store::new(u64::from(PAGES) * UNIT_BYTES);
    (0..300).for_each(|unit| _ = store.replace(unit, Version { number: 1, page: page_of(&[9; PAGE_BYTES]) }));
    let mut image = Image::create(&path, "a", 7, &store, None).unwrap();
    (0..4).for_each(|_| image.append(&store, 0..300).unwrap());
    image.close().unwrap();
    let beside = PathBuf::from(format!("{}{UNFINISHED}", path.display()));
    std::fs::write(&beside, "a letter").unwrap();
    let mut image = Image::open(&path).unwrap().0;
    while image.end <= image.looked_at_beyond {
        image.append(&store, 0..300).unwrap();
    }
    image.tidy(&store).unwrap();
    assert!(times(&image) == 0 && image.looked_at_beyond > image.end, "it is not tried with every write");
    let all = std::slice::from_ref(&(0..PAGES));
    assert!(matches!(image.change_key_of(&store, all), Err(ImageError::Foreign(_))), "that had to be");
    image.close().unwrap();
    std::fs::remove_file(&beside).unwrap();
    assert_eq!(times(&Image::open(&path).unwrap().0), 1);
    std::fs::remove_file(&path).unwrap();
}

/// However often it is tried: a disk that has room for a part of it does not fill up.
#[test]
fn of_what_the_disk_has_no_room_for_nothing_stays_in_the_image() {
    let path = path("no-part");
    let mut store = Store::new(u64::from(PAGES) * UNIT_BYTES);
    (0..1000).for_each(|unit| drop(store.replace(unit, Version { number: 1, page: page_of(&[5; PAGE_BYTES]) })));
    let mut image = Image::create(&path, "a", 7, &Store::new(store.capacity_bytes()), None).unwrap();
    image.append_state(b"before").unwrap();
    let mut rng = ssdlab_core::Rng::new(1);
    let state: Vec<u8> = (0..4 << 20).map(|_| rng.next_u64() as u8).collect();
    let reserved: Vec<ReservedPage> = (0..600).map(|number| (number, Some(vec![6; PAGE_BYTES]))).collect();
    let (end, records) = (image.end, image.records);
    kill::room(Some(end + (2 << 20)));
    for _ in 0..3 {
        assert!(matches!(image.append_state(&state), Err(ImageError::NoSpace)));
        assert!(matches!(image.append(&store, 0..1000), Err(ImageError::NoSpace)));
        assert!(matches!(image.append_reserved(&reserved), Err(ImageError::NoSpace)));
        assert_eq!((image.end, image.records, std::fs::metadata(&path).unwrap().len()), (end, records, end));
    }
    kill::room(None);
    image.append(&store, 0..1000).unwrap();
    image.append_state(&state).unwrap();
    image.close().unwrap();
    let found = Image::inspect(&path).unwrap();
    assert_eq!(found.state.unwrap().saved(PAGES.into()).unwrap(), state);
    assert_eq!(found.store.stored_pages(), 1000);
    std::fs::remove_file(&path).unwrap();
}

/// A TiB of pages, of which one record says that they were written with zeroes, and the next that they were trimmed.
#[test]
fn a_small_image_of_a_large_device_is_read_with_little_memory() {
    let path = path("large");
    let units = 1 << 28;
    let mut image = Image::create(&path, "a", 7, &Store::new(u64::from(units) * UNIT_BYTES), None).unwrap();
    let write = |image: &mut Image, kind, pages| {
        let mut out = Batch::default();
        image.record(&mut out, kind, 0, pages, &[]).and_then(|()| image.write_out(&mut out)).unwrap();
        image.commit().unwrap();
    };
    let read = || {
        let mut file = File::open(&path).unwrap();
        let bytes = file.metadata().unwrap().len();
        read_image(&mut file, bytes)
    };
    write(&mut image, RecordKind::Zeroes, units);
    assert_eq!([0, units / 2, units - 1].map(|unit| read().unwrap().store.number(unit)), [1; 3]);
    write(&mut image, RecordKind::Trimmed, units);
    assert_eq!(read().unwrap().store.written().count(), 0);
    // A page is lost by a record of its own.
    write(&mut image, RecordKind::Lost, 1);
    assert_eq!(read().unwrap().store.lost().collect::<Vec<_>>(), [0]);
    write(&mut image, RecordKind::Lost, 2);
    assert!(matches!(read().err(), Some(ImageError::Damaged { what, .. }) if what.contains("lost pages")));
    std::fs::remove_file(&path).unwrap();
}

/// Each record of 32 bytes says something of a TiB of pages: page by page that would take minutes.
#[test]
fn records_of_a_large_device_in_turn_are_read_at_once() {
    let path = path("in-turn");
    let units = 1 << 28;
    let mut image = Image::create(&path, "a", 7, &Store::new(u64::from(units) * UNIT_BYTES), None).unwrap();
    let mut out = Batch::default();
    for kind in [RecordKind::Zeroes, RecordKind::Nothing, RecordKind::Zeroes, RecordKind::Trimmed].repeat(40) {
        image.record(&mut out, kind, 0, units, &[]).unwrap();
    }
    image.record(&mut out, RecordKind::Zeroes, units - 1, 1, &[]).and_then(|()| image.write_out(&mut out)).unwrap();
    image.close().unwrap();
    let found = Image::inspect(&path).unwrap();
    assert_eq!(found.records, 161);
    assert_eq!(found.store.written().map(|written| written.0).collect::<Vec<_>>(), [units - 1]);
    std::fs::remove_file(&path).unwrap();
}
