//! The bytes of a device's pages: what they are, and what they could be again after a power cut.
//!
//! A [`Store`] holds what every page is. Beside it lie the versions that a cut could bring back ([`Superseded`]), and, after a
//! cut, the writes that may have happened in part. What a page is then the device says ([`Bytes::settle`]).

mod after_cut;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ssdlab_core::{Op, UNIT_BYTES};
use ssdlab_device::{Device, Held, Plug, Request};

pub use after_cut::{AfterCut, AfterCutPlaces};

use crate::pages::PAGE_BYTES;
use crate::store::{Piece, Store, Version, page_of, pieces};
use crate::superseded::{By, Superseded};

/// What reads of trimmed pages return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimmedReads {
    /// Read zero after TRIM (RZAT).
    Zeroes,
    /// What was there before, until it is written again. After a power cut it may be zeroes.
    OldData,
}

/// How a device counts and keeps what it is given.
#[derive(Clone, Copy)]
struct Keeping {
    /// `None`: the device has no plug, and nothing can come back.
    greatest_write_number: Option<u8>,
    /// Pages that the device keeps or loses as one, and whose writes it counts together.
    unit_pages: u32,
    /// Older versions cannot come back after a FLUSH, or a write with FUA.
    keeps_flushes: bool,
}

impl Keeping {
    fn of(device: &mut dyn Device) -> Self {
        assert_eq!(device.plug().is_some(), device.plug_seen().is_some(), "`plug` and `plug_seen` of one device");
        match device.plug() {
            Some(plug) => Keeping {
                greatest_write_number: Some(plug.greatest_write_number()),
                unit_pages: (plug.unit_bytes() / UNIT_BYTES) as u32,
                keeps_flushes: plug.keeps_flushes(),
            },
            None => Keeping { greatest_write_number: None, unit_pages: 1, keeps_flushes: true },
        }
    }

    fn next_number(&self, number: u8) -> u8 {
        if number >= self.greatest_write_number.unwrap_or(u8::MAX) { 1 } else { number + 1 }
    }
}

/// The device, to be asked for the numbers of writes; `None`: it has no plug.
type Asked<'a> = Option<&'a dyn Plug>;

/// What a write makes of a page.
#[derive(Clone)]
struct Written {
    page: u32,
    version: Version,
    /// It brings a part, or nothing, of a page that is lost: what the rest was nobody knows.
    stays_lost: bool,
}

/// See the module's own page. Every write gets the number that the device counts for it ([`Held::Write`]).
#[derive(Clone)]
pub struct Bytes {
    keeping: Keeping,
    trimmed: TrimmedReads,
    store: Store,
    superseded: Superseded,
    /// Writes under way when the power went, in order: they may have happened in part.
    torn: Vec<Written>,
    /// Versions of pages, by number, that were lost and could come back.
    lost_before: BTreeSet<(u32, u8)>,
    after_cut: Option<(AfterCut, AfterCutPlaces)>,
    /// Pages that cuts have left with sectors of several writes, and not written since: these.
    mixed: BTreeMap<u32, [Held; 8]>,
}

impl Bytes {
    /// Bytes that this device, which is at rest, holds already: its numbers of writes are those of the store.
    pub fn new(device: &mut dyn Device, store: Store, trimmed: TrimmedReads, superseded_limit_bytes: u64) -> Self {
        Bytes {
            keeping: Keeping::of(device),
            trimmed,
            store,
            superseded: Superseded::new(superseded_limit_bytes),
            torn: Vec::new(),
            lost_before: BTreeSet::new(),
            after_cut: None,
            mixed: BTreeMap::new(),
        }
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn superseded(&self) -> &Superseded {
        &self.superseded
    }

    /// What the last cut has left; `None` before the first restore.
    pub fn after_cut(&self) -> Option<AfterCut> {
        self.after_cut.as_ref().map(|&(counts, _)| counts)
    }

    /// Where that is.
    pub fn after_cut_places(&self) -> Option<&AfterCutPlaces> {
        self.after_cut.as_ref().map(|(_, places)| places)
    }

    /// Whether a cut can bring back what was overwritten: the device has a plug.
    pub fn can_come_back(&self) -> bool {
        self.keeping.greatest_write_number.is_some()
    }

    /// Pages that the device keeps or loses as one.
    pub fn unit_pages(&self) -> u32 {
        self.keeping.unit_pages
    }

    /// Pages of the units that a command touches.
    pub fn touched(&self, request: &Request) -> Range<u32> {
        touched_pages(request, self.keeping.unit_pages)
    }

    /// Pages of the units that lie wholly within a command: a trim forgets only these.
    pub fn within(&self, request: &Request) -> Range<u32> {
        let unit_pages = self.keeping.unit_pages;
        let unit_bytes = UNIT_BYTES * u64::from(unit_pages);
        let first = request.offset_bytes.div_ceil(unit_bytes);
        let last = (request.offset_bytes + request.length_bytes) / unit_bytes;
        first as u32 * unit_pages..last.max(first) as u32 * unit_pages
    }

    /// Appends what the host reads. `false`, and nothing appended: some of it is lost.
    pub fn read(&self, request: &Request, out: Option<&mut Vec<u8>>) -> bool {
        if self.store.any_lost(request.offset_bytes, request.length_bytes) {
            return false;
        }
        if let Some(out) = out {
            self.store.read(request.offset_bytes, request.length_bytes, out);
        }
        true
    }

    /// A write has happened on the device; without data, of zeroes. `false`: it brought a part of a page that is lost, which stays so.
    pub fn write(&mut self, request: &Request, data: Option<&[u8]>, device: Asked) -> bool {
        let mut all_there = true;
        let recoverable = !(request.fua && self.keeping.keeps_flushes);
        let beside = self.beside(request);
        for piece in pieces(request.offset_bytes, request.length_bytes) {
            let new = match data {
                _ if self.stays_lost(&piece) => {
                    all_there = false;
                    let number = self.number_of_write(piece.unit, device);
                    self.put_lost(piece.unit, number, recoverable);
                    continue;
                }
                Some(data) if piece.is_whole() => {
                    // It comes while the bytes go to memory. Asked for when the command was sent it would be gone again.
                    self.store.prefetch(piece.unit);
                    let page = self.superseded.page_of(&data[piece.from..piece.from + PAGE_BYTES]);
                    Version { number: self.number_of_write(piece.unit, device), page }
                }
                _ => self.written(&piece, data, device),
            };
            self.put(piece.unit, new, By::Write, recoverable);
        }
        for page in beside {
            if self.store.is_lost(page) {
                let number = self.number_of_write(page, device);
                self.put_lost(page, number, recoverable);
            } else {
                let same = self.written_again(page, device);
                self.put(page, same, By::Write, recoverable);
            }
        }
        all_there
    }

    /// A write ended in an error: it may have happened in part. Returns the pages that have changed.
    pub fn write_in_part(&mut self, request: &Request, data: Option<&[u8]>, device: &dyn Plug) -> Vec<u32> {
        let mut changed = Vec::new();
        for Written { page, version, stays_lost } in self.versions(request, data, Some(device)) {
            if self.is_accepted(page, version.number)
                && device.held((page / self.keeping.unit_pages).into()) == Held::Write(version.number)
            {
                if stays_lost {
                    self.put_lost(page, version.number, true);
                } else {
                    self.put(page, version, By::Write, true);
                }
                changed.push(page);
            }
        }
        changed
    }

    /// A trim has happened.
    pub fn trim(&mut self, request: &Request) {
        let pages = self.within(request);
        match self.trimmed {
            TrimmedReads::Zeroes => {
                let keep = self.can_come_back();
                let superseded = &mut self.superseded;
                self.store.forget(pages, |page, old| {
                    if keep {
                        superseded.push(page, old, By::Trim);
                    }
                });
            }
            TrimmedReads::OldData => {
                for page in pages {
                    let old = self.store.version(page);
                    if old.number != 0 {
                        let stays_lost = self.store.is_lost(page);
                        self.put(page, Version { number: 0, page: old.page }, By::Trim, true);
                        if stays_lost {
                            // What it held before nobody knows.
                            self.store.mark_lost(page);
                        }
                        self.store.note_trimmed(page);
                    }
                }
            }
        }
    }

    /// Whether what was trimmed is read as it was before.
    pub fn keeps_trimmed(&self) -> bool {
        self.trimmed == TrimmedReads::OldData
    }

    /// Stands for everything that a FLUSH sent now makes durable.
    pub fn mark(&self) -> u64 {
        self.superseded.mark()
    }

    /// A FLUSH that was sent at the mark has ended; `trims` are under way.
    pub fn flushed(&mut self, mark: u64, trims: &[Range<u32>]) {
        if self.keeping.keeps_flushes {
            self.superseded.flushed(mark, |page| trims.iter().any(|pages| pages.contains(&page)));
        }
    }

    /// Nothing that was overwritten can come back: the device has been shut down.
    pub fn all_durable(&mut self) {
        drop(self.superseded.take());
        self.lost_before.clear();
    }

    /// The power went while this command was at the device, which is without power now: it may have happened in part.
    pub fn tear(&mut self, request: &Request, data: Option<&[u8]>, device: &dyn Plug) {
        match request.op {
            Op::Write | Op::WriteZeroes => {
                let mut versions = self.versions(request, data, Some(device));
                versions.retain(|written| self.is_accepted(written.page, written.version.number));
                self.torn.append(&mut versions);
            }
            Op::Trim => {
                let holds = |&page: &u32| self.store.number(page) != 0 || self.store.is_lost(page);
                let trimmed = self.within(request).filter(holds);
                let hold_nothing = |page| Written { page, version: Version::NOTHING, stays_lost: false };
                self.torn.extend(trimmed.map(hold_nothing));
            }
            Op::Read | Op::Flush => {}
        }
    }

    /// What these pages held cannot be read any more, nor does it come back: they read as zeroes, and the device goes on to have
    /// them as written.
    pub fn blank(&mut self, all: &[Range<u32>]) {
        for pages in all {
            self.store.blank(pages.clone());
            self.superseded.blank(pages);
        }
        let in_them = |page: u32| all.iter().any(|pages| pages.contains(&page));
        self.torn.iter_mut().filter(|torn| in_them(torn.page)).for_each(|torn| torn.version.page = None);
    }

    /// The device holds nothing any more, and no version of any page comes back.
    pub fn forget(&mut self) {
        let pages = self.store.capacity_bytes().div_ceil(UNIT_BYTES) as u32;
        self.store.clear(0..pages);
        drop(self.superseded.take());
        self.lost_before.clear();
        self.mixed.clear();
    }

    /// As [`Bytes::forget`], of these pages.
    pub fn forget_these(&mut self, all: &[Range<u32>]) {
        for pages in all {
            self.store.clear(pages.clone());
            self.superseded.blank(pages);
            self.mixed.retain(|page, _| !pages.contains(page));
        }
    }

    /// The new version of a page that a write touches.
    fn written(&self, piece: &Piece, data: Option<&[u8]>, device: Asked) -> Version {
        let old = self.store.page(piece.unit);
        let data = data.map(|data| &data[piece.from..piece.from + piece.within.len()]);
        let page = match (data, piece.is_whole()) {
            (None, true) => None,
            (Some(data), true) => page_of(data),
            (data, false) => {
                let mut bytes = old.map_or([0; UNIT_BYTES as usize], |page| **page);
                let part = &mut bytes[piece.within.clone()];
                match data {
                    Some(data) => part.copy_from_slice(data),
                    None => part.fill(0),
                }
                page_of(&bytes)
            }
        };
        Version { number: self.number_of_write(piece.unit, device), page }
    }

    /// The number of a write of a page that has come to the device and is not in the store yet: what the device says, if it does.
    #[inline]
    fn number_of_write(&self, page: u32, device: Asked) -> u8 {
        let accepted = device.and_then(|plug| plug.accepted((page / self.keeping.unit_pages).into()));
        accepted.unwrap_or_else(|| self.keeping.next_number(self.store.number(page)))
    }

    /// Whether a device has accepted a write with this number of a page, as far as it says: if not, it has the number of the one
    /// before.
    fn is_accepted(&self, page: u32, number: u8) -> bool {
        number != 0 && number != self.store.number(page)
    }

    /// The new version of a page that holds what it held, and counts as written: it shares a unit with one that a write touches.
    fn written_again(&self, page: u32, device: Asked) -> Version {
        Version { number: self.number_of_write(page, device), page: self.store.page(page).cloned() }
    }

    /// What a write makes of every page that it touches, and of those that share a unit of the device with one.
    fn versions(&self, request: &Request, data: Option<&[u8]>, device: Asked) -> Vec<Written> {
        let brought = pieces(request.offset_bytes, request.length_bytes).map(|piece| Written {
            page: piece.unit,
            version: self.written(&piece, data, device),
            stays_lost: self.stays_lost(&piece),
        });
        let beside = self.beside(request).map(|page| Written {
            page,
            version: self.written_again(page, device),
            stays_lost: self.store.is_lost(page),
        });
        brought.chain(beside).collect()
    }

    /// Whether a write would bring a part of a page that is lost.
    fn stays_lost(&self, piece: &Piece) -> bool {
        !piece.is_whole() && self.store.is_lost(piece.unit)
    }

    /// Pages that a command does not touch, in units of the device that it does.
    fn beside(&self, request: &Request) -> impl Iterator<Item = u32> + use<> {
        let (touched, all) = (touched_pages(request, 1), self.touched(request));
        (all.start..touched.start).chain(touched.end..all.end)
    }

    /// A write that does not bring all of a lost page counts, and the page stays lost.
    fn put_lost(&mut self, page: u32, number: u8, recoverable: bool) {
        self.put(page, Version { number, page: None }, By::Write, recoverable);
        self.store.mark_lost(page);
    }

    /// `recoverable`: a cut could bring the old version back. Of one that was lost there are no bytes to come back.
    fn put(&mut self, page: u32, new: Version, by: By, recoverable: bool) {
        let was_lost = self.store.is_lost(page);
        if !self.lost_before.is_empty() {
            self.lost_before.remove(&(page, new.number));
        }
        let old = self.store.replace(page, new);
        self.store.mark_found(page);
        if !self.mixed.is_empty() {
            self.mixed.remove(&page);
        }
        if !recoverable {
            self.superseded.durable(page);
        } else if was_lost {
            self.lost_before.insert((page, old.number));
        } else if self.can_come_back() {
            self.superseded.push(page, old, by);
        }
    }
}

/// Pages of the units that a command touches; `unit_pages` make a unit.
fn touched_pages(request: &Request, unit_pages: u32) -> Range<u32> {
    let unit_bytes = UNIT_BYTES * u64::from(unit_pages);
    let end = (request.offset_bytes + request.length_bytes).div_ceil(unit_bytes);
    (request.offset_bytes / unit_bytes) as u32 * unit_pages..end as u32 * unit_pages
}
