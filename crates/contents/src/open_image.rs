//! The image of a device, for as long as it can be written.
//!
//! Where its disk is full, the image is kept as it is: it holds every change that was answered. What the device holds beyond that
//! is *owed* to it, and written once there is space. After any other error nothing is written any more.

use std::ops::Range;

use crate::image::{Image, ImageError, LockedImage, Pages, ReservedPage};
use crate::store::Store;

/// Pages that are written at once to an image whose disk was full.
const AT_ONCE: u32 = 256;

/// None, one that is written, or one that could not be. That one stays open, so that no other process can use it while this one
/// serves what it holds.
#[derive(Default)]
pub struct OpenImage {
    image: Option<Image>,
    /// Why it could not be written last.
    error: Option<String>,
    /// What it lacks because its disk is full; there is an error then, too.
    owed: Option<Owed>,
    /// One that is never written.
    read: Option<LockedImage>,
}

/// See the module's own page. It is written in this order.
#[derive(Default)]
struct Owed {
    anew: Option<Anew>,
    pages: Pages,
    reserved: Vec<ReservedPage>,
    state: Option<Vec<u8>>,
    /// Changed after that state.
    since: Pages,
}

/// What shall be gone from the image: what these pages were, or all.
enum Anew {
    WithoutOldPages(Vec<Range<u32>>),
    Erased { saved: Option<Vec<u8>> },
}

impl OpenImage {
    pub fn set(&mut self, image: Image) {
        self.image = Some(image);
    }

    pub fn set_read(&mut self, image: LockedImage) {
        self.read = Some(image);
    }

    pub fn take(&mut self) -> Option<Image> {
        self.image.take_if(|_| self.error.is_none())
    }

    /// Whether what changes goes there, be it later.
    pub fn is_written(&self) -> bool {
        self.image.is_some() && (self.error.is_none() || self.is_full())
    }

    /// Why it could not be written.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Whether that is for want of space.
    pub fn is_full(&self) -> bool {
        self.owed.is_some()
    }

    /// What the store holds of these pages.
    pub fn append(&mut self, store: &Store, pages: Range<u32>) {
        let owed = pages.clone();
        self.write(|image| image.append(store, pages), |all| all.changed().add(owed));
    }

    /// These pages were trimmed, and are read as they were before.
    pub fn append_trimmed(&mut self, pages: Range<u32>) {
        let owed = pages.clone();
        self.write(|image| image.append_trimmed(pages), |all| all.changed().add(owed));
    }

    pub fn append_reserved(&mut self, pages: &[ReservedPage]) {
        self.write(|image| image.append_reserved(pages), |owed| owed.reserved.extend_from_slice(pages));
    }

    /// See [`Image::reserve_with_erase`].
    pub fn reserve_with_erase(&mut self, pages: &[ReservedPage]) {
        self.image.iter_mut().for_each(|image| image.reserve_with_erase(pages));
    }

    pub fn append_state(&mut self, saved: &[u8]) {
        self.write(
            |image| image.append_state(saved),
            |owed| {
                let before = std::mem::take(&mut owed.since);
                owed.pages.add_all(before);
                owed.state = Some(saved.to_vec());
            },
        );
    }

    /// What the drive has counted by now goes there with the next commit.
    pub fn set_totals(&mut self, totals: Vec<u8>) {
        self.image.iter_mut().for_each(|image| image.set_totals(totals.clone()));
    }

    pub fn commit(&mut self) {
        // Whatever is owed is committed with it.
        self.write(Image::commit, |_| ());
    }

    pub fn tidy(&mut self, store: &Store) {
        self.write(|image| image.tidy(store), |_| ());
    }

    /// See [`Image::change_key_of`].
    pub fn change_key_of(&mut self, store: &Store, all: &[Range<u32>]) {
        self.write(
            |image| image.change_key_of(store, all),
            |owed| match owed.anew.get_or_insert(Anew::WithoutOldPages(Vec::new())) {
                Anew::WithoutOldPages(pages) => pages.extend_from_slice(all),
                Anew::Erased { .. } => {}
            },
        );
    }

    /// See [`Image::erase`].
    pub fn erase(&mut self, saved: Option<&[u8]>) {
        self.write(
            |image| image.erase(saved),
            |owed| {
                let anew = Some(Anew::Erased { saved: saved.map(<[u8]>::to_vec) });
                let reserved = std::mem::take(&mut owed.reserved);
                *owed = Owed { anew, reserved, ..Owed::default() };
            },
        );
    }

    /// Writes what is owed, if there is space by now.
    pub fn catch_up(&mut self, store: &Store) {
        let (Some(image), Some(owed)) = (&mut self.image, &mut self.owed) else { return };
        match owed.pay(image, store) {
            Ok(()) => (self.error, self.owed) = (None, None),
            Err(ImageError::NoSpace) => {}
            Err(e) => (self.error, self.owed) = (Some(e.to_string()), None),
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut Image) -> Result<(), ImageError>, owe: impl FnOnce(&mut Owed)) {
        if let Some(owed) = &mut self.owed {
            return owe(owed);
        }
        let Some(image) = self.image.as_mut().filter(|_| self.error.is_none()) else { return };
        if let Err(e) = write(image) {
            self.error = Some(e.to_string());
            if matches!(e, ImageError::NoSpace) {
                owe(self.owed.insert(Owed::default()));
            }
        }
    }
}

impl Owed {
    /// Pages that change now.
    fn changed(&mut self) -> &mut Pages {
        if self.state.is_some() { &mut self.since } else { &mut self.pages }
    }

    /// Writes it; what is written is owed no longer, even if the rest fails.
    fn pay(&mut self, image: &mut Image, store: &Store) -> Result<(), ImageError> {
        image.cut_off()?;
        match &self.anew {
            Some(Anew::WithoutOldPages(all)) => image.change_key_of(store, all)?,
            Some(Anew::Erased { saved }) => image.erase(saved.as_deref())?,
            None => {}
        }
        self.anew = None;
        pay_pages(&mut self.pages, image, store)?;
        image.append_reserved(&self.reserved)?;
        self.reserved.clear();
        if let Some(state) = &self.state {
            image.append_state(state)?;
            (self.pages, self.state) = (std::mem::take(&mut self.since), None);
        }
        pay_pages(&mut self.pages, image, store)?;
        image.commit()
    }
}

fn pay_pages(owed: &mut Pages, image: &mut Image, store: &Store) -> Result<(), ImageError> {
    let units = store.capacity_bytes().div_ceil(ssdlab_core::UNIT_BYTES) as u32;
    let all: Vec<Range<u32>> = owed.stretches(0..units).filter(|stretch| stretch.1).map(|stretch| stretch.0).collect();
    for Range { start, end } in all {
        for first in (start..end).step_by(AT_ONCE as usize) {
            let pages = first..end.min(first + AT_ONCE);
            image.append(store, pages.clone())?;
            owed.remove(pages);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ssdlab_core::UNIT_BYTES;

    use super::*;
    use crate::image::kill;
    use crate::pages::PAGE_BYTES;
    use crate::store::{Version, page_of};

    const PAGES: u32 = 1200;

    fn write(store: &mut Store, pages: Range<u32>, byte: u8) -> Range<u32> {
        // Zeroes between them, so that there are many records.
        pages.clone().for_each(|unit| {
            let page = if unit % 3 == 0 { None } else { page_of(&[byte; PAGE_BYTES]) };
            store.replace(unit, Version { number: 1, page });
        });
        pages
    }

    fn same(a: &Store, b: &Store) -> bool {
        (0..PAGES).all(|unit| a.version(unit) == b.version(unit))
    }

    /// Whatever there was room for, the image holds what was answered, and in the end all.
    #[test]
    fn an_image_whose_disk_was_full_is_caught_up_with_and_never_holds_less_than_was_answered() {
        let path = std::env::temp_dir().join(format!("ssdlab-full-{}.ssd", std::process::id()));
        let copy = path.with_extension("copy");
        let inspect = || {
            std::fs::copy(&path, &copy).unwrap();
            Image::inspect(&copy).expect("it is never damaged")
        };
        for more in (0..1_200_000).step_by(37_777) {
            drop(std::fs::remove_file(&path));
            let mut store = Store::new(u64::from(PAGES) * UNIT_BYTES);
            let mut open = OpenImage::default();
            open.set(Image::create(&path, "a", 7, &store, None).unwrap());
            open.append_state(b"before");
            let pages = write(&mut store, 0..100, 1);
            open.append(&store, pages);
            open.commit();
            let answered = store.clone();
            let length = std::fs::metadata(&path).unwrap().len();
            kill::room(Some(length + more));
            for (k, byte) in (0..3).zip(2..) {
                let pages = write(&mut store, k * 300 + 50..k * 300 + 350, byte);
                open.append(&store, pages);
            }
            assert!(open.is_full() && open.error() == Some("its disk is full"), "{more}");
            let found = inspect();
            let acknowledged =
                (0..50).chain(950..PAGES).all(|unit| found.store.version(unit) == answered.version(unit));
            assert!(acknowledged && found.torn_bytes == 0, "{more}");
            open.append_state(b"between");
            let pages = write(&mut store, 900..950, 5);
            open.append(&store, pages);
            open.append_reserved(&[(1, Some(vec![6; PAGE_BYTES]))]);
            // A little room is used as far as it goes, and what it took is not written again.
            let mut room = length + more;
            while open.is_full() {
                room += 700_000;
                kill::room(Some(room));
                open.catch_up(&store);
                drop(inspect());
                assert!(room < length + more + 9_000_000, "it takes the room and does not end");
            }
            kill::room(None);
            let found = inspect();
            assert!(same(&found.store, &store) && open.error().is_none());
            let state = found.state.expect("it has one");
            assert_eq!(state.saved(PAGES.into()).unwrap(), b"between");
            let since: Vec<_> = state.since.iter().map(|change| change.pages.clone()).collect();
            assert_eq!((since.first().map(|s| s.start), since.last().map(|s| s.end)), (Some(900), Some(950)));
            assert_eq!(found.reserved.len(), 1);
            let pages = write(&mut store, 0..9, 7);
            open.append(&store, pages);
            open.take().expect("it can be written").close().unwrap();
            assert!(same(&inspect().store, &store));
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::remove_file(&copy).unwrap();
    }

    #[test]
    fn an_erase_that_found_no_room_is_done_once_there_is() {
        let path = std::env::temp_dir().join(format!("ssdlab-full-erase-{}.ssd", std::process::id()));
        drop(std::fs::remove_file(&path));
        let mut store = Store::new(u64::from(PAGES) * UNIT_BYTES);
        let mut open = OpenImage::default();
        open.set(Image::create(&path, "a", 7, &store, None).unwrap());
        open.append_state(b"before");
        let pages = write(&mut store, 0..1000, 0xa7);
        open.append(&store, pages);
        kill::room(Some(5000));
        open.erase(Some(b"after"));
        store = Store::new(u64::from(PAGES) * UNIT_BYTES);
        let pages = write(&mut store, 0..10, 3);
        open.append(&store, pages);
        open.catch_up(&store);
        assert!(open.is_full());
        assert_eq!(Image::inspect(&path).err().map(|e| e.to_string()), Some("in use by another process".to_owned()));
        kill::room(None);
        open.catch_up(&store);
        open.take().expect("it can be written").close().unwrap();
        assert!(!std::fs::read(&path).unwrap().windows(16).any(|bytes| bytes == [0xa7; 16]));
        let found = Image::inspect(&path).unwrap();
        assert!(same(&found.store, &store));
        assert_eq!(found.state.unwrap().saved(PAGES.into()).unwrap(), b"after");
        std::fs::remove_file(&path).unwrap();
    }

    /// What is owed is paid while an erase is under way, which brings what it has to bring all the same.
    #[test]
    fn what_comes_with_an_erase_comes_though_other_things_were_owed() {
        let path = std::env::temp_dir().join(format!("ssdlab-owed-erase-{}.ssd", std::process::id()));
        drop(std::fs::remove_file(&path));
        let mut store = Store::new(u64::from(PAGES) * UNIT_BYTES);
        let mut open = OpenImage::default();
        let key = crate::image::MediaKey::random(0).unwrap();
        open.set(Image::create(&path, "a", 7, &store, Some(key)).unwrap());
        let own = std::slice::from_ref(&(500..600));
        open.change_key_of(&store, own);
        open.append_reserved(&[(1, Some(vec![5; PAGE_BYTES]))]);
        kill::room(Some(20_000));
        let pages = write(&mut store, 0..100, 1);
        open.append(&store, pages);
        assert!(open.is_full());
        open.reserve_with_erase(&[(1, Some(vec![6; PAGE_BYTES]))]);
        kill::room(None);
        open.catch_up(&store);
        open.change_key_of(&store, own);
        assert!(open.error().is_none());
        drop(open);
        let found = Image::inspect(&path).unwrap();
        assert_eq!(found.reserved.pages().map(|page| (page.0, page.1[0])).collect::<Vec<_>>(), [(1, 6)]);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn an_image_that_could_not_be_written_stays_in_use_and_is_left_alone() {
        let path = std::env::temp_dir().join(format!("ssdlab-failed-{}.ssd", std::process::id()));
        drop(std::fs::remove_file(&path));
        let mut open = OpenImage::default();
        open.set(Image::create(&path, "a", 7, &Store::new(1 << 20), None).unwrap());
        open.write(|_| Err(ImageError::InUse), |_| panic!("it is given up"));
        assert_eq!((open.error(), open.is_written()), (Some("in use by another process"), false));
        open.write(|_| panic!("it was given up"), |_| panic!("it was given up"));
        open.catch_up(&Store::new(1 << 20));
        assert!(open.error().is_some() && open.take().is_none());
        assert!(matches!(Image::find(&path).err(), Some(ImageError::InUse)));
        drop(open);
        assert!(Image::find(&path).is_ok());
        std::fs::remove_file(&path).unwrap();
    }
}
