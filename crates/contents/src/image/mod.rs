//! Images: the bytes of a device in a file, so that they outlive the process.
//!
//! An image is a log: every change is a record at the end of the file, and is there before the command that made it is
//! answered. A flush writes a header that says how far the file is flushed. A process that is killed therefore leaves
//! what a power cut may leave: all that was flushed, and of the rest a beginning. A record that was cut short is found by
//! its checksum. Damage before the flushed end is an error.
//!
//! Records that later ones have made useless stay in the file until it is written anew: when it is opened, if more than
//! half of it is useless, and while it is used, beyond four times what is needed and 1 GiB. What is needed is what a new file
//! would take: a page of zeroes by itself is a record, too. While the disk has no room for both, it goes on as it is.
//!
//! **What is kept:** bytes, which pages were written, trimmed or destroyed; and the state of the drive (flash, wear, counters)
//! as it was last saved: when the image was made, after a power cut, and when it was closed ([`DriveState`]). What was
//! changed since stands in the log behind it, in order, so that a drive whose process was killed can take it once more.
//! In an image that was written anew meanwhile, it stands in the order of addresses, each page once. And pages that the firmware
//! keeps for itself ([`Reserved`]), which no erase of the data touches.
//!
//! **Encryption:** the pages of a drive with a media key stand encrypted in the file; in memory they are plain, as they are on
//! the host's side of such a drive's engine. Which pages were written, which of them hold zeroes, and the state of the drive
//! can be read without the key. See `media_key.rs`, also for what that does not protect.
//!
//! **Erases** write a new file without the data, and with another key, which takes the place of the old one in a single step.
//! Before that everything is there as it was, after it nothing is: whenever the process ends. Pages with a key of their own, those
//! of the ranges of a drive that can be locked, are erased by another key alone: one header says which, and since which record.
//!
//! Records are given to the operating system before a command is answered, not forced to its disk: a crash of the machine
//! itself can damage an image, which is then refused.
//!
//! A file that is new, or written anew, is `NAME.ssdlab-new` until it is whole, and a header says that it is not finished: one of its
//! two, until it has its place. One of that name that is no unfinished image is not touched.

mod disk;
mod format;
#[cfg(test)]
mod kill_tests;
mod media_key;
mod read;
mod reserved;
mod state;
#[cfg(test)]
mod tidy_tests;

use std::fs::{File, TryLockError};
use std::io::{BufReader, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};

use ssdlab_core::UNIT_BYTES;
use ssdlab_core::input::open_regular;
use thiserror::Error;

#[cfg(test)]
pub(crate) use disk::kill;
pub use format::{Header, MOST_NAME_BYTES, VERSION};
use media_key::in_order;
pub use media_key::{KeyedPages, MediaKey};
use read::read_header;
pub use read::{ImageContents, read_image};
pub use reserved::{Reserved, ReservedPage};
pub(crate) use state::Pages;
pub use state::{Change, DriveState};

use crate::pages::PAGE_BYTES;
use crate::store::{Kind, Store};
use format::{
    FIRST_RECORD, HEADER_BYTES, MOST_DATA_PAGES, MOST_KEYED, MOST_TOTALS_BYTES, RECORD_BYTES, Record, RecordKind,
    checksum,
};
use reserved::FIRST_DATA_UNIT;
use state::pack;

/// Bytes beyond which an image is written anew while it is used (tests have less time), and how many times what is needed it may
/// have besides.
const LARGEST_USELESS: u64 = if cfg!(test) { 1 << 16 } else { 1 << 30 };
const LARGEST_RATIO: u64 = 4;
/// Records are written together, in so many bytes or a little more.
const AT_ONCE_BYTES: usize = if cfg!(test) { 1 << 17 } else { 1 << 20 };
/// An image is not written anew for so little.
const LITTLE: u64 = if cfg!(test) { 1 << 12 } else { 1 << 20 };

/// Bytes that an image may have while it is used, of which so many are needed.
fn largest_bytes(needed: u64) -> u64 {
    LARGEST_USELESS + LARGEST_RATIO * (needed + LITTLE)
}

/// The records that say what a store holds of these pages: of those that were trimmed and are still read, also that they were.
fn records(store: &Store, units: Range<u32>) -> impl Iterator<Item = (RecordKind, Range<u32>)> + '_ {
    let mut at = u64::from(units.start) * UNIT_BYTES;
    let length = u64::from(units.end - units.start) * UNIT_BYTES;
    let stretches = store.stored_stretches(at, length).flat_map(move |(bytes, kind)| {
        let (first, end) = ((at / UNIT_BYTES) as u32, ((at + bytes) / UNIT_BYTES) as u32);
        at += bytes;
        let (kind, most) = match kind {
            Kind::Hole => (RecordKind::Nothing, u32::MAX),
            Kind::Zeroes => (RecordKind::Zeroes, u32::MAX),
            Kind::Data => (RecordKind::Data, MOST_DATA_PAGES),
        };
        let starts = (first..end).step_by(most as usize);
        starts.flat_map(move |first| {
            let pages = first..end.min(first.saturating_add(most));
            let trimmed = if kind == RecordKind::Data { without_number(store, pages.clone()) } else { Vec::new() };
            let trimmed = trimmed.into_iter().map(|pages| (RecordKind::Trimmed, pages));
            std::iter::once((kind, pages)).chain(trimmed)
        })
    });
    stretches.chain(store.lost_in(units).map(|unit| (RecordKind::Lost, unit..unit + 1)))
}

/// Of these pages, those that hold no write.
fn without_number(store: &Store, pages: Range<u32>) -> Vec<Range<u32>> {
    let mut found: Vec<Range<u32>> = Vec::new();
    for page in pages.filter(|&page| store.number(page) == 0) {
        match found.last_mut() {
            Some(last) if last.end == page => last.end += 1,
            _ => found.push(page..page + 1),
        }
    }
    found
}

/// Why an image cannot be used.
#[derive(Debug, Error)]
pub enum ImageError {
    #[error("not an image: it has no valid header")]
    NoImage,
    #[error("an image of version {found}; this program knows version {VERSION}")]
    Version { found: u32 },
    #[error("damaged at byte {at}: {what}")]
    Damaged { at: u64, what: &'static str },
    #[error("in use by another process")]
    InUse,
    #[error("the name of the device has {bytes} bytes, and an image keeps at most {MOST_NAME_BYTES}")]
    Name { bytes: usize },
    #[error("there is a file of that name, or a link that leads nowhere: choose another")]
    Exists,
    #[error("{} is there, and is no image that was left unfinished: move it away", .0.display())]
    Foreign(PathBuf),
    #[error("unfinished: whoever wrote it ended before it was whole")]
    Unfinished,
    #[error("its disk is full")]
    NoSpace,
    #[error("no new file can be made in its folder: {0}")]
    NoFileBeside(std::io::Error),
    #[error("{0}")]
    Io(std::io::Error),
}

impl From<std::io::Error> for ImageError {
    fn from(e: std::io::Error) -> Self {
        match e.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ImageError::NoSpace,
            _ => ImageError::Io(e),
        }
    }
}

/// Of a file that is to take the place of an image.
fn beside_error(e: std::io::Error) -> ImageError {
    match ImageError::from(e) {
        ImageError::Io(e) => ImageError::NoFileBeside(e),
        full => full,
    }
}

/// What stands behind the name of an image that is not finished.
const UNFINISHED: &str = ".ssdlab-new";

/// An image that nobody else can change, and that has not been changed yet.
pub struct FoundImage {
    file: File,
    path: PathBuf,
    pub contents: ImageContents,
}

impl FoundImage {
    /// It stays as it is, and locked.
    #[must_use]
    pub fn keep_locked(self) -> LockedImage {
        LockedImage { _file: self.file }
    }

    /// Once it begins, it is the image of a device of this name.
    ///
    /// # Errors
    /// [`ImageError::Name`] if the name is longer than [`MOST_NAME_BYTES`].
    pub fn called(mut self, device: &str) -> Result<Self, ImageError> {
        check_name(device)?;
        device.clone_into(&mut self.contents.header.device);
        Ok(self)
    }

    /// It goes on with a new drive, of this name: with what the store holds, and the state of that drive, if it has one. What the old
    /// one has counted, or kept for itself, is gone. A new file takes the place of the old one in one step; it is encrypted, with
    /// a key of its own, if the drive encrypts or the old one was.
    ///
    /// # Errors
    /// As [`FoundImage::called`]; if there is no key to be had, or the new file cannot be written. The image is as it was then.
    pub fn for_new_drive(
        self,
        device: &str,
        store: &Store,
        saved: Option<&[u8]>,
        encrypts: bool,
    ) -> Result<Image, ImageError> {
        let FoundImage { file, path, contents } = self.called(device)?;
        let Header { image_number, key, device, .. } = contents.header;
        let key = (encrypts || key.is_some()).then(|| MediaKey::random(0)).transpose()?;
        let number = image_number.wrapping_add(1);
        let mut unfinished = UnfinishedImage::begin(&path, &device, number, store, (key, Vec::new()), Some(&file))?;
        if let Some(saved) = saved {
            unfinished.image().append_state(saved)?;
        }
        unfinished.image().make_whole(false)?;
        let image = unfinished.replace()?;
        image.has_replaced(file)?;
        Ok(image)
    }

    /// From now on the image counts as open, until it is closed. What was cut short of it goes, and it is written anew if most of
    /// it is useless.
    ///
    /// # Errors
    /// If it cannot be written. One that was closed is closed again, if that can be.
    pub fn begin(self) -> Result<(Image, ImageContents), ImageError> {
        let FoundImage { file, path, contents } = self;
        let header = Header { clean: false, committed_end: contents.end, ..contents.header.clone() };
        let ImageContents { end, records, .. } = contents;
        let (state, mut changed) =
            (contents.state.as_ref().map_or_else(Vec::new, DriveState::pieces), Pages::default());
        contents.state.iter().flat_map(|state| &state.since).for_each(|change| changed.add(change.pages.clone()));
        // What was cut short goes before anything is written behind it.
        disk::cut_off(&file, end)?;
        let erased = contents.state.as_ref().is_some_and(|state| state.erased);
        let reserved = contents.reserved.clone();
        let mut image = Image {
            file,
            path,
            header,
            end,
            records,
            state,
            erased,
            changed,
            reserved,
            with_erase: Vec::new(),
            looked_at_beyond: 0,
        };
        image.commit()?;
        let needed = image.needed_bytes(&contents.store);
        image.looked_at_beyond = largest_bytes(needed);
        let is_mostly_useless = image.end > 2 * (needed + LITTLE);
        if is_mostly_useless && let Err(e) = image.write_with_same_keys(&contents.store) {
            if contents.header.clean {
                drop(image.close());
            }
            return Err(e);
        }
        Ok((image, contents))
    }
}

/// An image that nobody can change.
pub struct LockedImage {
    _file: File,
}

/// Kinds of records of pages that the firmware keeps for itself, with bytes and of zeroes: one that counts by itself, and one of
/// several that count together.
const BY_ITSELF: [RecordKind; 2] = [RecordKind::Reserved, RecordKind::ReservedZeroes];
const TOGETHER: [RecordKind; 2] = [RecordKind::ReservedTogether, RecordKind::ReservedZeroesTogether];

/// Such pages as there is a record of each piece.
fn runs(pages: &[ReservedPage]) -> impl Iterator<Item = &[ReservedPage]> {
    let follows = |a: &ReservedPage, b: &ReservedPage| a.0 + 1 == b.0 && a.1.is_some() == b.1.is_some();
    pages.chunk_by(follows).flat_map(|run| run.chunks(MOST_DATA_PAGES as usize))
}

/// Records on their way into the file.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    records: u64,
}

/// An image that is open for changes. What could not be written because its disk is full can be written again.
pub struct Image {
    file: File,
    path: PathBuf,
    header: Header,
    end: u64,
    records: u64,
    /// The state of the drive as it was last saved, as the data of records; and what was changed since.
    state: Vec<Vec<u8>>,
    /// See [`DriveState::erased`].
    erased: bool,
    changed: Pages,
    reserved: Reserved,
    /// Of these, what the file does not have yet: see [`Image::reserve_with_erase`].
    with_erase: Vec<ReservedPage>,
    /// Once it is longer, it is seen how much of it is useless.
    looked_at_beyond: u64,
}

impl Image {
    /// Makes a new image with what the store holds, encrypted if there is a key. The file must not exist. Its name is there only
    /// once it is whole: see [`UnfinishedImage`].
    ///
    /// # Errors
    /// If the file exists or cannot be written; [`ImageError::Name`] if the name is longer than [`MOST_NAME_BYTES`].
    pub fn create(
        path: &Path,
        device: &str,
        image_number: u64,
        store: &Store,
        key: Option<MediaKey>,
    ) -> Result<Image, ImageError> {
        UnfinishedImage::create(path, device, image_number, store, key)?.finish()
    }

    /// Headers, and what the store holds.
    fn write_first(&mut self, store: &Store) -> Result<(), ImageError> {
        self.write_header()?;
        self.write_header()?;
        let units = store.capacity_bytes().div_ceil(UNIT_BYTES);
        if store.written().next().is_some() || store.lost().len() > 0 {
            self.append(store, 0..units as u32)?;
        }
        self.commit()
    }

    /// Reads an image that is to be changed. A link leads to the image itself.
    ///
    /// # Errors
    /// As [`read_image`]; if another process uses it, or it cannot be written.
    pub fn find(path: &Path) -> Result<FoundImage, ImageError> {
        let path = path.canonicalize()?;
        let mut file = disk::open_to_change(&path)?;
        lock(&file)?;
        let bytes = file.metadata()?.len();
        let contents = read_image(&mut BufReader::with_capacity(1 << 20, &mut file), bytes)?;
        Ok(FoundImage { file, path, contents })
    }

    /// Reads an image that is not to be changed, by others neither while this is there. Others may read it.
    ///
    /// # Errors
    /// As [`read_image`]; if another process changes it.
    pub fn find_to_read(path: &Path) -> Result<FoundImage, ImageError> {
        let mut file = open_regular(path)?;
        locked(file.try_lock_shared())?;
        let bytes = file.metadata()?.len();
        let contents = read_image(&mut BufReader::with_capacity(1 << 20, &mut file), bytes)?;
        Ok(FoundImage { file, path: path.to_owned(), contents })
    }

    /// Opens an image for changes.
    ///
    /// # Errors
    /// As [`Image::find`] and [`FoundImage::begin`].
    pub fn open(path: &Path) -> Result<(Image, ImageContents), ImageError> {
        Image::find(path)?.begin()
    }

    /// What is said of an image before all that it holds, which may be much: whether it fits can be seen at once. Another process
    /// may be writing it.
    ///
    /// # Errors
    /// As [`read_image`].
    pub fn header(path: &Path) -> Result<Header, ImageError> {
        let mut file = open_regular(path)?;
        let bytes = file.metadata()?.len();
        Ok(read_header(&mut file, bytes)?.0)
    }

    /// Reads an image and changes nothing.
    ///
    /// # Errors
    /// As [`read_image`]; if another process changes it.
    pub fn inspect(path: &Path) -> Result<ImageContents, ImageError> {
        Ok(Image::find_to_read(path)?.contents)
    }

    /// Whether the pages are encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.header.key.is_some()
    }

    /// Bytes of the file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.end
    }

    /// Writes what the store holds of these pages.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(&mut self, store: &Store, units: Range<u32>) -> Result<(), ImageError> {
        self.append_changed(units, |image, out, units| {
            for (kind, pages) in records(store, units) {
                let (first, count) = (pages.start, pages.end - pages.start);
                let mut data = Vec::new();
                if kind == RecordKind::Data {
                    data.reserve_exact(count as usize * PAGE_BYTES);
                    store.read(u64::from(first) * UNIT_BYTES, u64::from(count) * UNIT_BYTES, &mut data);
                    for (piece, key, _) in image.header.keys_of(pages) {
                        let at = |page: u32| (page - first) as usize * PAGE_BYTES;
                        key.encrypt(piece.start.into(), &mut data[at(piece.start)..at(piece.end)]);
                    }
                }
                image.record(out, kind, first, count, &data)?;
            }
            Ok(())
        })
    }

    /// Writes records of units that have changed since the drive was saved; of none, nothing.
    fn append_changed(
        &mut self,
        units: Range<u32>,
        write: impl FnOnce(&mut Image, &mut Batch, Range<u32>) -> Result<(), ImageError>,
    ) -> Result<(), ImageError> {
        if units.is_empty() {
            return Ok(());
        }
        if !self.state.is_empty() {
            self.changed.add(units.clone());
        }
        self.all_or_nothing(|image| {
            let mut out = Batch::default();
            write(image, &mut out, units)?;
            image.write_out(&mut out)
        })
    }

    /// Writes records. If that fails, those of them that were written go again: a disk that is nearly full is not filled up by
    /// the beginnings of what does not fit, and of what changes together there is not a part.
    fn all_or_nothing(&mut self, write: impl FnOnce(&mut Image) -> Result<(), ImageError>) -> Result<(), ImageError> {
        let (end, records) = (self.end, self.records);
        let written = write(self);
        if written.is_err() {
            (self.end, self.records) = (end, records);
            drop(self.cut_off());
        }
        written
    }

    /// Writes that these pages were trimmed, and are read as they were before.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append_trimmed(&mut self, units: Range<u32>) -> Result<(), ImageError> {
        self.append_changed(units, |image, out, units| {
            image.record(out, RecordKind::Trimmed, units.start, units.end - units.start, &[])
        })
    }

    /// Writes pages that the firmware keeps for itself: all of them or none, whenever the process ends.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append_reserved(&mut self, pages: &[ReservedPage]) -> Result<(), ImageError> {
        if pages.is_empty() {
            return Ok(());
        }
        // What would have come with an erase that has not happened.
        self.with_erase.clear();
        if runs(pages).nth(1).is_none() {
            return self.all_or_nothing(|image| image.write_reserved(pages, BY_ITSELF));
        }
        let before = self.header.clone();
        let written = self.all_or_nothing(|image| {
            image.write_reserved(pages, TOGETHER)?;
            image.header.together = image.records;
            image.commit()
        });
        written.inspect_err(|_| self.header = before)
    }

    /// The two kinds of records: with bytes, and of zeroes.
    fn write_reserved(&mut self, pages: &[ReservedPage], kinds: [RecordKind; 2]) -> Result<(), ImageError> {
        let mut out = Batch::default();
        for run in runs(pages) {
            run.iter().for_each(|(number, bytes)| self.reserved.set(*number, bytes.as_deref()));
            let (first, count) = (run[0].0, run.len() as u32);
            let mut data: Vec<u8> = run.iter().filter_map(|page| page.1.as_deref()).flatten().copied().collect();
            if data.is_empty() {
                self.record(&mut out, kinds[1], first, count, &[])?;
                continue;
            }
            if let Some(key) = &self.header.key {
                key.encrypt(FIRST_DATA_UNIT + u64::from(first), &mut data);
            }
            self.record(&mut out, kinds[0], first, count, &data)?;
        }
        self.write_out(&mut out)
    }

    /// These pages are in the image when a key is changed or it is written anew next; the file does not have them before.
    pub fn reserve_with_erase(&mut self, pages: &[ReservedPage]) {
        pages.iter().for_each(|(number, bytes)| self.reserved.set(*number, bytes.as_deref()));
        // Of an erase that was to come before this one and has not happened nothing may come with it.
        self.with_erase = pages.to_vec();
    }

    /// Writes the state of the drive as it is now: what [`ssdlab_device::Plug::save`] gave. Totals that the drive had counted before it
    /// are void.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append_state(&mut self, saved: &[u8]) -> Result<(), ImageError> {
        self.write_state(pack(saved), false)
    }

    fn write_state(&mut self, pieces: Vec<Vec<u8>>, erased: bool) -> Result<(), ImageError> {
        self.all_or_nothing(|image| {
            let mut out = Batch::default();
            for (number, piece) in (0..).zip(&pieces) {
                image.record(&mut out, RecordKind::State, number, (piece.len() / PAGE_BYTES) as u32, piece)?;
            }
            if erased {
                image.record(&mut out, RecordKind::Erased, 0, 1, &[])?;
            }
            image.write_out(&mut out)
        })?;
        (self.state, self.erased) = (pieces, erased);
        self.header.totals = None;
        self.changed.clear();
        Ok(())
    }

    fn record(
        &mut self,
        out: &mut Batch,
        kind: RecordKind,
        first: u32,
        pages: u32,
        data: &[u8],
    ) -> Result<(), ImageError> {
        let number = self.header.image_number;
        let record =
            Record { kind, first, pages, number: self.records + out.records, data_crc: checksum(number, data) };
        out.records += 1;
        out.bytes.extend_from_slice(&record.bytes(number));
        out.bytes.extend_from_slice(data);
        if out.bytes.len() >= AT_ONCE_BYTES { self.write_out(out) } else { Ok(()) }
    }

    fn write_out(&mut self, out: &mut Batch) -> Result<(), ImageError> {
        disk::write_at(&mut self.file, self.end, &out.bytes)?;
        self.end += out.bytes.len() as u64;
        self.records += out.records;
        *out = Batch::default();
        Ok(())
    }

    /// What was written in part goes.
    ///
    /// # Errors
    /// If the file cannot be changed.
    pub fn cut_off(&mut self) -> Result<(), ImageError> {
        Ok(disk::cut_off(&self.file, self.end)?)
    }

    /// Everything so far is flushed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn commit(&mut self) -> Result<(), ImageError> {
        self.header.committed_end = self.end;
        self.write_header()
    }

    /// What the drive has counted by now is in the image with the next [`Image::commit`], and until it is closed. What takes too
    /// much room, as of a set of a dozen drives, is not kept.
    pub fn set_totals(&mut self, totals: Vec<u8>) {
        self.header.totals = Some(totals).filter(|totals| (1..=MOST_TOTALS_BYTES).contains(&totals.len()));
    }

    /// Headers are written in turn: one of them is always whole, also if writing the other one fails and is tried again.
    fn write_header(&mut self) -> Result<(), ImageError> {
        let next = Header { version: VERSION, generation: self.header.generation + 1, ..self.header.clone() };
        let at = next.generation % 2 * HEADER_BYTES as u64;
        disk::write_at(&mut self.file, at, &next.bytes())?;
        self.header = next;
        Ok(())
    }

    /// Writes the image anew if most of it is useless. Where no new file can be written beside it, it goes on as it is for a while.
    ///
    /// # Errors
    /// If the new file has taken its place, and the folder cannot be written.
    pub fn tidy(&mut self, store: &Store) -> Result<(), ImageError> {
        if self.end <= self.looked_at_beyond {
            return Ok(());
        }
        let largest = largest_bytes(self.needed_bytes(store));
        self.looked_at_beyond = largest;
        if self.end > largest && !self.write_with_same_keys(store)? {
            self.looked_at_beyond = self.end + LARGEST_USELESS;
        }
        Ok(())
    }

    /// From now on the pages are encrypted, with a key of their own. The file is written anew.
    ///
    /// # Errors
    /// If there is no key to be had, or the new file cannot be written.
    pub fn encrypt(&mut self, store: &Store) -> Result<(), ImageError> {
        let key = MediaKey::random(0)?;
        self.write_anew(store, Some(key), Vec::new())
    }

    /// These pages are as the store has them now, and nothing else is left of what they were. If they have keys of their own, and
    /// no others have them, those are changed, and nothing else is touched. Otherwise a new file takes the place of the old one,
    /// with another key if it is encrypted, and these pages have their own from then on, if not too many stretches have.
    ///
    /// # Errors
    /// If there is no key to be had, or the file cannot be written.
    pub fn change_key_of(&mut self, store: &Store, all: &[Range<u32>]) -> Result<(), ImageError> {
        let all = in_order(all);
        let keyed = &self.header.keyed;
        let within =
            |of: &KeyedPages| all.iter().any(|pages| pages.start <= of.pages.start && of.pages.end <= pages.end);
        let apart =
            |of: &KeyedPages| all.iter().all(|pages| of.pages.end <= pages.start || pages.end <= of.pages.start);
        let own: Vec<Range<u32>> = keyed.iter().filter(|of| within(of)).map(|of| of.pages.clone()).collect();
        if keyed.iter().all(|of| within(of) || apart(of)) && in_order(&own) == all {
            return self.change_own_keys(&own);
        }
        let Some(key) = self.header.key.as_ref().map(MediaKey::instead).transpose()? else {
            return self.write_anew(store, None, Vec::new());
        };
        let units = store.capacity_bytes().div_ceil(UNIT_BYTES) as u32;
        let mut stretches = Vec::new();
        for of in keyed {
            // What is left of it.
            let mut at = of.pages.start;
            for pages in all.iter().filter(|pages| pages.start < of.pages.end && pages.end > of.pages.start) {
                stretches.push(at..pages.start.max(at));
                at = pages.end;
            }
            stretches.push(at..of.pages.end.max(at));
        }
        stretches.extend(all);
        stretches.retain(|pages| !pages.is_empty());
        stretches.sort_by_key(|pages| pages.start);
        // That all of them have another key, the media key tells.
        if stretches.len() > MOST_KEYED || stretches.first().is_some_and(|pages| pages.len() == units as usize) {
            stretches.clear();
        }
        let own = |pages| Ok(KeyedPages { pages, since: 0, key: MediaKey::random(0)? });
        let keyed = stretches.into_iter().map(own).collect::<std::io::Result<_>>()?;
        self.write_anew(store, Some(key), keyed)
    }

    /// Changes the keys of stretches that have keys of their own. That happens with one header, which replaces the other one too.
    fn change_own_keys(&mut self, own: &[Range<u32>]) -> Result<(), ImageError> {
        let before = self.header.clone();
        let with_erase = std::mem::take(&mut self.with_erase);
        let changed = self.all_or_nothing(|image| {
            image.write_reserved(&with_erase, TOGETHER)?;
            image.header.together = image.records;
            for of in image.header.keyed.iter_mut().filter(|of| own.contains(&of.pages)) {
                (of.since, of.key) = (image.records, MediaKey::random(0)?);
            }
            image.commit()
        });
        if let Err(e) = changed {
            self.header = before;
            self.with_erase = with_erase;
            return Err(e);
        }
        // The old keys are in the other header still.
        self.write_header()?;
        Ok(disk::sync(&self.file)?)
    }

    /// Erases all pages for good: a new file takes the place of the old one, and if they are encrypted it has another key. `saved`:
    /// the state of the drive after its own erase. Without it the drive is erased when it is attached next: see
    /// [`DriveState::erased`].
    ///
    /// # Errors
    /// If there is no key to be had, or the new file cannot be written. Then the image is as it was, or erased.
    pub fn erase(&mut self, saved: Option<&[u8]>) -> Result<(), ImageError> {
        let key = self.header.key.as_ref().map(MediaKey::next).transpose()?;
        let empty = Store::new(self.header.capacity_bytes);
        match saved {
            Some(saved) => (self.state, self.erased) = (pack(saved), false),
            None => self.erased = !self.state.is_empty(),
        }
        self.changed.clear();
        self.write_anew(&empty, key, Vec::new())
    }

    /// To be rid of what is useless. `false`: for want of space, or of the right to make one there, there is no new file, and all is
    /// as it was.
    fn write_with_same_keys(&mut self, store: &Store) -> Result<bool, ImageError> {
        let same = self.header.keyed.iter().map(|of| KeyedPages { since: 0, ..of.clone() });
        let written = self.write_beside(store, self.header.key.clone(), same.collect());
        match written.and_then(UnfinishedImage::replace) {
            Ok(image) => self.go_on_with(image).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// A new file takes the place of the old one when it is whole.
    fn write_anew(&mut self, store: &Store, key: Option<MediaKey>, keyed: Vec<KeyedPages>) -> Result<(), ImageError> {
        let image = self.write_beside(store, key, keyed)?.replace()?;
        self.go_on_with(image)
    }

    fn go_on_with(&mut self, image: Image) -> Result<(), ImageError> {
        let old = std::mem::replace(self, image);
        self.has_replaced(old.file)
    }

    /// The name of the old file is gone. Its key may be on the disk for long.
    fn has_replaced(&self, mut old: File) -> Result<(), ImageError> {
        disk::sync_folder(&self.path)?;
        Ok(disk::forget_key(&mut old)?)
    }

    /// The same image in a new file.
    fn write_beside(
        &self,
        store: &Store,
        key: Option<MediaKey>,
        keyed: Vec<KeyedPages>,
    ) -> Result<UnfinishedImage, ImageError> {
        let number = self.header.image_number.wrapping_add(1);
        let begin = |store: &Store| {
            UnfinishedImage::begin(&self.path, &self.header.device, number, store, (key, keyed), Some(&self.file))
        };
        let mut unfinished;
        if self.state.is_empty() {
            unfinished = begin(store)?;
        } else {
            // What was changed since the drive was saved stands behind its state.
            unfinished = begin(&Store::new(store.capacity_bytes()))?;
            let image = unfinished.image();
            let units = store.capacity_bytes().div_ceil(UNIT_BYTES) as u32;
            for (units, _) in self.changed.stretches(0..units).filter(|stretch| !stretch.1) {
                image.append(store, units)?;
            }
            image.write_state(self.state.clone(), self.erased)?;
            image.header.totals.clone_from(&self.header.totals);
            for (units, _) in self.changed.stretches(0..units).filter(|stretch| stretch.1) {
                image.append(store, units)?;
            }
        }
        let reserved: Vec<ReservedPage> =
            self.reserved.pages().map(|(number, bytes)| (number, Some(bytes.to_vec()))).collect();
        if !reserved.is_empty() {
            unfinished.image().append_reserved(&reserved)?;
        }
        unfinished.image().make_whole(false)?;
        Ok(unfinished)
    }

    /// Bytes of an image that holds no more than it must. All pages are looked through for it.
    fn needed_bytes(&self, store: &Store) -> u64 {
        let units = store.capacity_bytes().div_ceil(UNIT_BYTES) as u32;
        let with_data = |bytes: usize| (RECORD_BYTES + bytes) as u64;
        let bytes_of = |(kind, pages): (RecordKind, Range<u32>)| {
            with_data(if kind == RecordKind::Data { pages.len() * PAGE_BYTES } else { 0 })
        };
        let pages = self.changed.stretches(0..units).flat_map(|stretch| records(store, stretch.0)).map(bytes_of);
        let state = self.state.iter().map(|piece| with_data(piece.len()));
        let reserved = self.reserved.len() as u64 * with_data(PAGE_BYTES);
        FIRST_RECORD + pages.sum::<u64>() + state.sum::<u64>() + reserved
    }

    /// Whether a file is still the one that is written.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        disk::is_same(&self.file, &self.path) && self.file.metadata().is_ok_and(|found| found.len() >= self.end)
    }

    /// Closes the image in good order, on the disk of the machine.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn close(mut self) -> Result<(), ImageError> {
        self.make_whole(true)?;
        self.write_header()?;
        Ok(disk::sync(&self.file)?)
    }

    /// All that is in the file counts, and is on the disk of the machine. `clean`: so that nothing comes behind it. That is in one
    /// header; the other one is as it was before.
    fn make_whole(&mut self, clean: bool) -> Result<(), ImageError> {
        self.commit()?;
        disk::sync(&self.file)?;
        (self.header.clean, self.header.unfinished) = (clean, false);
        if clean {
            // They are in the state.
            self.header.totals = None;
        }
        self.write_header()?;
        Ok(disk::sync(&self.file)?)
    }
}

/// A new image that is being written: beside its place, under a name of its own (see the module's own page). It is refused as an
/// image, and goes when this does, unless it is finished.
pub struct UnfinishedImage {
    /// There until it is in its place.
    image: Option<Image>,
    place: PathBuf,
}

impl UnfinishedImage {
    /// Begins one with what the store holds, encrypted if there is a key. At its place nothing may be.
    ///
    /// # Errors
    /// As [`Image::create`].
    pub fn create(
        place: &Path,
        device: &str,
        image_number: u64,
        store: &Store,
        key: Option<MediaKey>,
    ) -> Result<UnfinishedImage, ImageError> {
        match place.symlink_metadata() {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e.into()),
            Ok(_) => return Err(ImageError::Exists),
        }
        UnfinishedImage::begin(place, device, image_number, store, (key, Vec::new()), None)
    }

    fn begin(
        place: &Path,
        device: &str,
        image_number: u64,
        store: &Store,
        (key, keyed): (Option<MediaKey>, Vec<KeyedPages>),
        permissions_of: Option<&File>,
    ) -> Result<UnfinishedImage, ImageError> {
        check_name(device)?;
        let mut path = place.to_owned().into_os_string();
        path.push(UNFINISHED);
        let path = PathBuf::from(path);
        disk::remove_unfinished(&path)?;
        let header = Header {
            version: VERSION,
            clean: false,
            unfinished: true,
            generation: 0,
            capacity_bytes: store.capacity_bytes(),
            committed_end: FIRST_RECORD,
            image_number,
            device: device.to_owned(),
            key,
            keyed,
            together: 0,
            totals: None,
        };
        let file = disk::create_new(&path).map_err(beside_error)?;
        // Until then another process can take it for one that was left, and put its own in its place.
        if let Err(e) = lock_named(&file, &path) {
            if !matches!(e, ImageError::InUse) {
                drop(disk::remove(&path));
            }
            return Err(e);
        }
        let image = Image {
            file,
            path,
            header,
            end: FIRST_RECORD,
            records: 0,
            state: Vec::new(),
            erased: false,
            changed: Pages::default(),
            reserved: Reserved::default(),
            with_erase: Vec::new(),
            looked_at_beyond: largest_bytes(0),
        };
        let mut unfinished = UnfinishedImage { image: Some(image), place: place.to_owned() };
        if let Some(old) = permissions_of {
            disk::permit_as(&unfinished.image().file, old)?;
        }
        unfinished.image().write_first(store)?;
        Ok(unfinished)
    }

    /// What it shall begin with besides goes in here.
    pub fn image(&mut self) -> &mut Image {
        self.image.as_mut().expect("it is not in its place")
    }

    /// It is whole: it takes its place, and is open for changes.
    ///
    /// # Errors
    /// If there is something by now, or it cannot be written.
    pub fn finish(mut self) -> Result<Image, ImageError> {
        self.image().make_whole(false)?;
        self.take_place()
    }

    /// The same, and the image is closed in good order.
    ///
    /// # Errors
    /// As [`UnfinishedImage::finish`].
    pub fn finish_closed(mut self) -> Result<(), ImageError> {
        self.image().make_whole(true)?;
        self.take_place().map(drop)
    }

    /// Its name, which it still has.
    fn name(&mut self) -> Result<PathBuf, ImageError> {
        let Image { file, path, .. } = self.image();
        if disk::is_same(file, path) { Ok(path.clone()) } else { Err(ImageError::InUse) }
    }

    fn take_place(mut self) -> Result<Image, ImageError> {
        let beside = self.name()?;
        disk::move_to_free_name(&beside, &self.place).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists => ImageError::Exists,
            _ => e.into(),
        })?;
        let image = self.in_place();
        disk::sync_folder(&image.path)?;
        Ok(image)
    }

    /// It takes the place of what is there.
    fn replace(mut self) -> Result<Image, ImageError> {
        let beside = self.name()?;
        disk::replace(&beside, &self.place).map_err(beside_error)?;
        Ok(self.in_place())
    }

    fn in_place(mut self) -> Image {
        let mut image = self.image.take().expect("it is not in its place");
        image.path.clone_from(&self.place);
        // The other header says still that it is unfinished. If it cannot be written now, it is with the next commit.
        drop(image.write_header());
        image
    }
}

impl Drop for UnfinishedImage {
    fn drop(&mut self) {
        if let Some(image) = &mut self.image {
            drop(disk::forget_key(&mut image.file));
            if disk::is_same(&image.file, &image.path) {
                drop(disk::remove(&image.path));
            }
        }
    }
}

fn check_name(device: &str) -> Result<(), ImageError> {
    if device.len() > MOST_NAME_BYTES { Err(ImageError::Name { bytes: device.len() }) } else { Ok(()) }
}

fn lock(file: &File) -> Result<(), ImageError> {
    locked(file.try_lock())
}

/// Locks a file that has just been opened by its name: the name may be another file's by now.
fn lock_named(file: &File, path: &Path) -> Result<(), ImageError> {
    lock(file)?;
    if disk::is_same(file, path) { Ok(()) } else { Err(ImageError::InUse) }
}

fn locked(result: Result<(), TryLockError>) -> Result<(), ImageError> {
    match result {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(ImageError::InUse),
        Err(TryLockError::Error(e)) => Err(e.into()),
    }
}
