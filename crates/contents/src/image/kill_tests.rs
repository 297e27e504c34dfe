//! The process ends between any two steps of what is done to files, and in the middle of writes.

use std::path::{Path, PathBuf};

use super::disk::kill;
use super::*;
use crate::store::{Version, page_of};

const PAGES: u64 = 80;
const SECRET: u8 = 0xA7;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ssdlab-killed-{name}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn filled(byte: u8) -> Version {
    Version { number: 1, page: page_of(&[byte; PAGE_BYTES]) }
}

/// Several records, zeroes among them.
fn store() -> Store {
    let mut store = Store::new(PAGES * UNIT_BYTES);
    (0..60).for_each(|unit| _ = store.replace(unit, filled(if unit % 10 == 7 { 0 } else { SECRET })));
    store
}

fn same(a: &Store, b: &Store) -> bool {
    (0..PAGES as u32).all(|unit| a.page(unit) == b.page(unit) && a.number(unit) == b.number(unit))
}

fn is_empty(store: &Store) -> bool {
    store.written().next().is_none()
}

/// An image with data, the state of a drive, and a change since.
fn begin(path: &Path, key: Option<MediaKey>) -> (Image, Store) {
    let store = store();
    let mut image = Image::create(path, "a", 7, &Store::new(store.capacity_bytes()), key).unwrap();
    image.append(&store, 0..40).unwrap();
    image.append_state(b"before").unwrap();
    image.append(&store, 40..60).unwrap();
    image.commit().unwrap();
    (image, store)
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Does something to a new image, killed after ever more steps, until it is not killed any more. What is then in the folder is
/// looked at by `look`: the image with what it held, how the deed ended, and which key it had. Returns how many steps there were.
fn killed_everywhere(
    name: &str,
    key: impl Fn() -> Option<MediaKey>,
    mut deed: impl FnMut(Image, &Store) -> Result<(), ImageError>,
    look: impl Fn(&Path, &Store, bool, Option<&MediaKey>),
) -> u32 {
    let folder = folder(name);
    let path = folder.join("drive.ssd");
    let mut steps = 0;
    loop {
        let mut ended = false;
        for eighths in [0, 1, 4, 7] {
            drop(std::fs::remove_file(&path));
            let (image, store) = begin(&path, key());
            let key = image.header.key.clone();
            kill::after(Some(steps), eighths);
            let result = deed(image, &store);
            kill::after(None, 0);
            ended = result.is_ok();
            look(&path, &store, ended, key.as_ref());
            // Whatever lies about now does no harm.
            let (mut image, _) = Image::open(&path).unwrap();
            image.erase(None).unwrap();
            image.close().unwrap();
            assert!(is_empty(&Image::inspect(&path).unwrap().store));
            assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        }
        if ended {
            std::fs::remove_dir_all(&folder).unwrap();
            return steps;
        }
        steps += 1;
    }
}

/// All is there under the old key, or nothing is, and neither the old key nor what was encrypted with it is in any file.
fn all_or_nothing(path: &Path, store: &Store, ended: bool, old: Option<&MediaKey>, state: &[u8], erased: bool) {
    let contents = Image::inspect(path).expect("it is never damaged");
    let saved = contents.state.as_ref().expect("it has one");
    if contents.header.key.as_ref() == old && !is_empty(&contents.store) {
        assert!(!ended && same(&contents.store, store));
        assert_eq!((saved.saved(PAGES).unwrap().as_slice(), saved.erased), (b"before".as_slice(), false));
        return;
    }
    assert!(is_empty(&contents.store));
    assert_eq!((saved.saved(PAGES).unwrap().as_slice(), saved.erased, saved.since.len()), (state, erased, 0));
    let old = old.expect("these images are encrypted");
    assert_eq!(contents.header.key.as_ref().map(|key| key.changes), Some(old.changes + 1));
    let mut ciphertext = vec![SECRET; PAGE_BYTES];
    old.encrypt(0, &mut ciphertext);
    for file in std::fs::read_dir(path.parent().unwrap()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!holds(&bytes, &old.bytes) && !holds(&bytes, &ciphertext[..64]) && !holds(&bytes, &[SECRET; 16]));
    }
}

#[test]
fn an_erase_that_is_killed_anywhere_leaves_all_or_nothing() {
    let key = || Some(MediaKey::random(0).unwrap());
    let look = |path: &Path, store: &Store, ended: bool, key: Option<&MediaKey>| {
        all_or_nothing(path, store, ended, key, b"after", false);
    };
    let steps = killed_everywhere("attached", key, |mut image, _| image.erase(Some(b"after")), look);
    assert!(steps > 8, "{steps} steps");
    let look = |path: &Path, store: &Store, ended: bool, key: Option<&MediaKey>| {
        all_or_nothing(path, store, ended, key, b"before", true);
    };
    killed_everywhere("alone", key, |mut image, _| image.erase(None), look);
}

#[test]
fn whatever_else_is_killed_loses_nothing_that_was_there() {
    let keep = |path: &Path, store: &Store, _: bool, _: Option<&MediaKey>| {
        assert!(same(&Image::inspect(path).expect("it is never damaged").store, store));
    };
    let random = || Some(MediaKey::random(0).unwrap());
    killed_everywhere("closed", random, |image, _| image.close(), keep);
    let encrypted = |mut image: Image, store: &Store| image.encrypt(store);
    assert!(killed_everywhere("encrypted", || None, encrypted, keep) > 8);
    let again = |mut image: Image, store: &Store| image.write_with_same_keys(store).map(drop);
    killed_everywhere("anew", random, again, keep);
    let opened = |image: Image, _: &Store| {
        let path = image.path.clone();
        drop(image);
        Image::open(&path).map(drop)
    };
    killed_everywhere("opened", random, opened, keep);
}

/// Nor does the old drive hear of a new one that its disk has no room for.
#[test]
fn an_image_that_gets_a_new_drive_has_the_old_one_or_the_new_one() {
    let on = |image: Image, store: &Store| {
        let path = image.path.clone();
        drop(image);
        Image::find(&path)?.for_new_drive("b", store, Some(b"after"), true).map(drop)
    };
    let look = |path: &Path, store: &Store, ended: bool, key: Option<&MediaKey>| {
        let found = Image::inspect(path).expect("it is never damaged");
        let state = found.state.expect("there is a drive");
        let is_old = found.header.device == "a";
        assert!(same(&found.store, store) && (found.header.key.as_ref() == key) == is_old && !(ended && is_old));
        assert_eq!(state.saved(PAGES).unwrap(), if is_old { b"before".as_slice() } else { b"after" });
        assert_eq!(state.since.is_empty(), !is_old);
    };
    let steps = killed_everywhere("new-drive", || Some(MediaKey::random(0).unwrap()), on, look);
    assert!(steps > 8, "{steps} steps");
    let folder = folder("no-room");
    let path = folder.join("drive.ssd");
    let (mut image, store) = begin(&path, None);
    image.append_reserved(&[(3, Some(vec![1; PAGE_BYTES]))]).unwrap();
    image.close().unwrap();
    let before = std::fs::read(&path).unwrap();
    for room in [0, 1 << 13, 1 << 15, 1 << 17] {
        kill::room(Some(room));
        let failed = Image::find(&path).unwrap().for_new_drive("b", &store, Some(b"after"), false);
        kill::room(None);
        assert!(matches!(failed, Err(ImageError::NoSpace)) && std::fs::read(&path).unwrap() == before, "{room} bytes");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }
    drop(Image::find(&path).unwrap().for_new_drive("b", &store, None, false).unwrap());
    let found = Image::inspect(&path).unwrap();
    assert!(found.state.is_none() && found.reserved.is_empty() && same(&found.store, &store));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_image_that_was_plain_is_noise_once_it_is_encrypted() {
    let folder = folder("plain");
    let path = folder.join("drive.ssd");
    let (mut image, store) = begin(&path, None);
    assert!(holds(&std::fs::read(&path).unwrap(), &[SECRET; 64]));
    image.encrypt(&store).unwrap();
    image.append(&store, 0..60).unwrap();
    image.close().unwrap();
    assert!(!holds(&std::fs::read(&path).unwrap(), &[SECRET; 16]));
    assert!(same(&Image::inspect(&path).unwrap().store, &store));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Nor is one that is begun by a process that ends: what it leaves beside is refused, or whole.
#[test]
fn a_new_image_that_is_killed_anywhere_is_whole_or_not_there() {
    let folder = folder("new");
    let (path, beside) = (folder.join("drive.ssd"), folder.join("drive.ssd.ssdlab-new"));
    let store = store();
    let is_whole = |path: &Path| match Image::inspect(path) {
        Ok(found) => same(&found.store, &store) && found.state.is_some(),
        Err(ImageError::Unfinished | ImageError::NoImage) => false,
        Err(e) => panic!("{e}"),
    };
    let (mut steps, mut refused, mut whole) = (0, 0, 0);
    loop {
        let mut ended = false;
        for eighths in [0, 1, 4, 7] {
            drop(std::fs::remove_file(&path));
            kill::after(Some(steps), eighths);
            let result = UnfinishedImage::create(&path, "a", 7, &store, None).and_then(|mut unfinished| {
                unfinished.image().append_state(b"state")?;
                unfinished.finish_closed()
            });
            kill::after(None, 0);
            ended = result.is_ok();
            assert!(!ended || is_whole(&path));
            assert!(!path.exists() || is_whole(&path), "{steps} steps, {eighths} eighths");
            if beside.exists() && !is_whole(&beside) {
                assert!(Image::open(&beside).is_err());
                refused += 1;
            } else if beside.exists() {
                // It never had its place, and one of its headers says so.
                drop(std::fs::remove_file(&path));
                drop(UnfinishedImage::create(&path, "a", 7, &store, None).unwrap());
                assert!(!beside.exists());
                whole += 1;
            }
        }
        if ended {
            break;
        }
        steps += 1;
    }
    assert!(steps > 8 && refused > 16 && whole > 0, "{steps} steps, {refused} refused, {whole} whole");
    assert!(!beside.exists());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// One that could not be written leaves nothing behind, and nothing of others is overwritten, or taken from who is at it.
#[test]
fn a_new_image_that_fails_goes_and_two_do_not_share_a_name() {
    let folder = folder("two");
    let (path, beside) = (folder.join("drive.ssd"), folder.join("drive.ssd.ssdlab-new"));
    let create = || UnfinishedImage::create(&path, "a", 7, &store(), None);
    let first = create().unwrap();
    assert!(matches!(create().err(), Some(ImageError::InUse)));
    drop(first);
    assert!(!beside.exists() && !path.exists());
    let first = create().unwrap();
    std::fs::write(&path, b"a letter").unwrap();
    assert!(matches!(first.finish_closed(), Err(ImageError::Exists)));
    assert!(matches!(create().err(), Some(ImageError::Exists)));
    assert_eq!(std::fs::read(&path).unwrap(), b"a letter");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Whoever has found the name taken by something else removes nothing, and puts nothing in place.
#[cfg(unix)]
#[test]
fn a_name_that_another_has_taken_is_left_to_it() {
    let folder = folder("taken");
    let (path, beside) = (folder.join("drive.ssd"), folder.join("drive.ssd.ssdlab-new"));
    let create = || UnfinishedImage::create(&path, "a", 7, &store(), None).unwrap();
    let take = || {
        std::fs::remove_file(&beside).unwrap();
        std::fs::write(&beside, b"of another").unwrap();
    };
    let is_theirs = || std::fs::read(&beside).is_ok_and(|bytes| bytes == b"of another") && !path.exists();
    for ending in 0..3 {
        let unfinished = create();
        take();
        match ending {
            0 => drop(unfinished),
            1 => assert!(matches!(unfinished.finish().err(), Some(ImageError::InUse))),
            _ => assert!(matches!(unfinished.finish_closed(), Err(ImageError::InUse))),
        }
        assert!(is_theirs(), "{ending}");
        std::fs::remove_file(&beside).unwrap();
    }
    // Between a file's opening and its lock.
    let file = disk::create_new(&beside).unwrap();
    take();
    assert!(matches!(lock_named(&file, &beside), Err(ImageError::InUse)) && is_theirs());
    std::fs::remove_file(&beside).unwrap();
    let (mut image, store) = begin(&path, None);
    let unfinished = image.write_beside(&store, None, Vec::new()).unwrap();
    take();
    assert!(matches!(unfinished.replace().err(), Some(ImageError::InUse)));
    assert!(std::fs::read(&beside).unwrap() == b"of another");
    std::fs::remove_file(&beside).unwrap();
    image.append(&store, 0..1).unwrap();
    image.close().unwrap();
    assert!(same(&Image::inspect(&path).unwrap().store, &store));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Whenever the process ends, the pages have the old key and what is kept with them is as it was, or neither.
#[test]
fn a_change_of_some_pages_key_that_is_killed_anywhere_has_happened_or_not() {
    let folder = folder("own-key");
    let path = folder.join("drive.ssd");
    let own = std::slice::from_ref(&(10..50));
    let page = |byte| Some(vec![byte; PAGE_BYTES]);
    let (mut steps, mut undone, mut done) = (0, 0, 0);
    loop {
        let mut ended = false;
        for eighths in [0, 1, 4, 7] {
            drop(std::fs::remove_file(&path));
            let (mut image, mut store) = begin(&path, Some(MediaKey::random(0).unwrap()));
            image.change_key_of(&store, own).unwrap();
            image.append(&store, 0..60).unwrap();
            image.append_reserved(&[(1, page(5)), (2, page(5)), (30, page(5))]).unwrap();
            image.commit().unwrap();
            let (before, old) = (store.clone(), image.header.keyed[0].key.bytes);
            store.blank(10..50);
            image.reserve_with_erase(&[(1, page(6)), (2, None), (40, page(6))]);
            kill::after(Some(steps), eighths);
            ended = image.change_key_of(&store, own).is_ok();
            kill::after(None, 0);
            drop(image);
            for _ in 0..2 {
                let found = Image::inspect(&path).expect("it is never damaged");
                let reserved: Vec<_> = found.reserved.pages().map(|(number, bytes)| (number, bytes[0])).collect();
                if reserved == [(1, 5), (2, 5), (30, 5)] {
                    assert!(!ended && same(&found.store, &before), "{steps} steps, {eighths} eighths");
                    undone += 1;
                } else {
                    assert_eq!(reserved, [(1, 6), (30, 5), (40, 6)]);
                    assert!(same(&found.store, &store));
                    done += 1;
                }
                // It goes on, and is as it was.
                let (image, contents) = Image::open(&path).unwrap();
                if same(&contents.store, &store) {
                    assert!(!holds(&std::fs::read(&path).unwrap(), &old), "the old key is gone");
                }
                image.close().unwrap();
            }
        }
        if ended {
            break;
        }
        steps += 1;
    }
    assert!(steps >= 4 && undone > 8 && done > 8, "{steps} steps, {undone} undone, {done} done");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Pages of several tables that change together.
#[test]
fn pages_of_the_firmware_that_are_killed_anywhere_are_all_written_or_none() {
    let folder = folder("reserved");
    let path = folder.join("drive.ssd");
    let page = |byte| Some(vec![byte; PAGE_BYTES]);
    let (mut steps, mut undone) = (0, 0);
    loop {
        let mut ended = false;
        for eighths in 0..8 {
            drop(std::fs::remove_file(&path));
            let (mut image, store) = begin(&path, Some(MediaKey::random(0).unwrap()));
            image.append_reserved(&[(1, page(5)), (2, page(5)), (30, page(5))]).unwrap();
            kill::after(Some(steps), eighths);
            ended = image.append_reserved(&[(1, page(6)), (2, None), (3, page(6)), (40, page(6))]).is_ok();
            kill::after(None, 0);
            drop(image);
            let found = Image::inspect(&path).expect("it is never damaged");
            let reserved: Vec<_> = found.reserved.pages().map(|(number, bytes)| (number, bytes[0])).collect();
            if reserved == [(1, 5), (2, 5), (30, 5)] {
                assert!(!ended);
                undone += 1;
            } else {
                assert_eq!(reserved, [(1, 6), (3, 6), (30, 5), (40, 6)]);
            }
            assert!(same(&found.store, &store));
            let (mut image, _) = Image::open(&path).unwrap();
            image.append_reserved(&[(1, page(7)), (40, page(7))]).unwrap();
            image.close().unwrap();
            let reserved = Image::inspect(&path).unwrap().reserved;
            assert_eq!(reserved.pages().filter(|page| page.1[0] == 7).map(|page| page.0).collect::<Vec<_>>(), [1, 40]);
        }
        if ended {
            break;
        }
        steps += 1;
    }
    assert!(steps >= 2 && undone > 8, "{steps} steps, {undone} undone");
    std::fs::remove_dir_all(&folder).unwrap();
}
