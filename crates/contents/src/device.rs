//! A device with bytes: timing from the device inside, bytes from the store.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ssdlab_core::{Cause, Nanos, Op, UNIT_BYTES};
use ssdlab_device::{
    Completion, Counters, Device, DeviceInfo, Flash, Held, PayloadId, PowerManagement, Refusal, Request, Security,
    Status,
};

use crate::buffers::Buffers;
use crate::image::{Image, ImageError, ReservedPage};
use crate::order::Order;
use crate::pages::PAGE_BYTES;
use crate::store::{Piece, Store, Version, page_of, pieces};
use crate::superseded::{By, Superseded};

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentOptions {
    /// Bytes of overwritten pages that are kept while a power cut could bring them back; see [`Superseded`].
    pub superseded_limit_bytes: u64,
    pub trimmed: TrimmedReads,
}

impl Default for ContentOptions {
    fn default() -> Self {
        ContentOptions { superseded_limit_bytes: 512 << 20, trimmed: TrimmedReads::Zeroes }
    }
}

/// What reads of trimmed pages return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimmedReads {
    /// Read zero after TRIM (RZAT).
    Zeroes,
    /// What was there before, until it is written again. After a power cut it may be zeroes.
    OldData,
}

/// What the last cut has left, in pages of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AfterCut {
    /// Pages of writes that were never answered, and that the device has kept all the same.
    pub unanswered_kept: u64,
    /// Pages of answered writes that came back as they were before.
    pub reverted: u64,
    /// Pages that the device cannot read any more.
    pub unreadable: u64,
    /// Pages that came back as a version whose bytes were no longer kept. They are unreadable from now on.
    pub forgotten: u64,
}

/// A command at the device, or waiting for an earlier one.
#[derive(Clone, Copy)]
struct InFlight {
    request: Request,
    submitted: Nanos,
    /// When it went to the device.
    sent: Nanos,
    /// Flushes: what was superseded by then.
    mark: u64,
}

/// Wraps a device and holds its bytes.
///
/// A read with a payload appends its bytes to that buffer; a write with a payload takes them from it, and without one
/// writes zeroes. Buffers go in by [`ContentDevice::insert`] before the command is submitted and come out by
/// [`ContentDevice::take`] after it has completed.
///
/// Commands that touch the same unit of the device ([`ssdlab_device::Plug::unit_bytes`]) go to it one after the other, if one of them changes them. The wait counts
/// as [`Cause::Queue`]. A write has happened when it completes.
///
/// Every write gets the number that the device counts for it ([`Held::Write`]). After a cut the device is asked what it
/// holds of each written page. That version's bytes are the page's from then on.
pub struct ContentDevice {
    inner: Box<dyn Device>,
    info: DeviceInfo,
    options: ContentOptions,
    /// `None`: the device has no plug, and nothing can come back.
    greatest_write_number: Option<u8>,
    /// Pages that the device keeps or loses as one, and whose writes it counts together.
    unit_pages: u32,
    /// Older versions cannot come back after a FLUSH, or a write with FUA.
    keeps_flushes: bool,
    store: Store,
    superseded: Superseded,
    buffers: Buffers,
    commands: Vec<Option<InFlight>>,
    free: Vec<u32>,
    order: Order,
    waiting: usize,
    /// Writes under way when the power went, in order: they may have happened in part.
    torn: Vec<(u32, Version)>,
    has_power: bool,
    after_cut: Option<AfterCut>,
    /// Pages that cuts have left with sectors of several writes, and not written since: these.
    mixed: BTreeMap<u32, [Held; 8]>,
    image: Option<Image>,
    image_error: Option<String>,
    /// A crypto erase under way: when it ends, and how often the key had been changed before.
    erasing: Option<(Nanos, u64)>,
    arrived: Vec<Completion>,
    released: Vec<u32>,
}

impl ContentDevice {
    /// A device that has just been made, with nothing written.
    ///
    /// # Panics
    /// If the device is larger than [`Store::MAX_CAPACITY_BYTES`], or its sectors larger than 4 KiB.
    #[must_use]
    pub fn new(inner: Box<dyn Device>, options: ContentOptions) -> Self {
        let store = Store::new(inner.info().capacity_bytes);
        Self::with_store(inner, options, store)
    }

    /// A device at rest that holds these bytes already: its numbers of writes are those of the store.
    ///
    /// # Panics
    /// If the store has another capacity, or the device sectors larger than 4 KiB.
    #[must_use]
    pub fn with_store(mut inner: Box<dyn Device>, options: ContentOptions, store: Store) -> Self {
        let info = DeviceInfo { holds_contents: true, ..inner.info().clone() };
        assert!(u64::from(info.sector_bytes) <= UNIT_BYTES, "sectors of {} bytes", info.sector_bytes);
        assert_eq!(info.capacity_bytes, store.capacity_bytes(), "capacity of device and store");
        let greatest_write_number = inner.plug().map(|plug| plug.greatest_write_number());
        let unit_pages = inner.plug().map_or(1, |plug| (plug.unit_bytes() / UNIT_BYTES) as u32);
        let keeps_flushes = inner.plug().is_none_or(|plug| plug.keeps_flushes());
        ContentDevice {
            store,
            inner,
            info,
            options,
            greatest_write_number,
            unit_pages,
            keeps_flushes,
            superseded: Superseded::new(options.superseded_limit_bytes),
            buffers: Buffers::default(),
            commands: Vec::new(),
            free: Vec::new(),
            order: Order::default(),
            waiting: 0,
            torn: Vec::new(),
            has_power: true,
            after_cut: None,
            mixed: BTreeMap::new(),
            image: None,
            image_error: None,
            erasing: None,
            arrived: Vec::new(),
            released: Vec::new(),
        }
    }

    /// A buffer for a command.
    pub fn insert(&mut self, bytes: Vec<u8>) -> PayloadId {
        self.buffers.insert(bytes)
    }

    /// Takes a buffer back.
    ///
    /// # Panics
    /// If there is no such buffer: it was taken, or its command was lost in a cut.
    pub fn take(&mut self, id: PayloadId) -> Vec<u8> {
        self.buffers.take(id)
    }

    /// The bytes as they are now.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Overwritten pages that are kept because they might come back, in bytes; and how many were let go because of
    /// [`ContentOptions::superseded_limit_bytes`].
    #[must_use]
    pub fn superseded(&self) -> (u64, u64) {
        (self.superseded.bytes(), self.superseded.dropped())
    }

    /// What the last cut has left; `None` before the first restore.
    #[must_use]
    pub fn after_cut(&self) -> Option<AfterCut> {
        self.after_cut
    }

    /// Commands that have not ended.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.commands.len() - self.free.len()
    }

    /// From now on every change goes to the image as well, before the command that made it completes. The image must
    /// hold what the device holds.
    pub fn set_image(&mut self, image: Image) {
        self.image = Some(image);
    }

    /// The image, to be closed; changes are no longer written to it.
    pub fn take_image(&mut self) -> Option<Image> {
        self.image.take()
    }

    /// Why the image could not be written. From then on writes are aborted.
    #[must_use]
    pub fn image_error(&self) -> Option<&str> {
        self.image_error.as_deref()
    }

    /// A copy in memory that goes on by itself; pages are shared until one of the two changes them. Without the image.
    /// `None` if the device inside cannot be copied.
    #[must_use]
    pub fn fork(&self) -> Option<ContentDevice> {
        Some(ContentDevice {
            inner: self.inner.snapshot()?,
            info: self.info.clone(),
            options: self.options,
            greatest_write_number: self.greatest_write_number,
            unit_pages: self.unit_pages,
            keeps_flushes: self.keeps_flushes,
            store: self.store.clone(),
            superseded: self.superseded.clone(),
            buffers: self.buffers.clone(),
            commands: self.commands.clone(),
            free: self.free.clone(),
            order: self.order.clone(),
            waiting: self.waiting,
            torn: self.torn.clone(),
            has_power: self.has_power,
            after_cut: self.after_cut,
            mixed: self.mixed.clone(),
            image: None,
            image_error: None,
            erasing: self.erasing,
            arrived: Vec::new(),
            released: Vec::new(),
        })
    }

    fn next_number(&self, number: u8) -> u8 {
        if number >= self.greatest_write_number.unwrap_or(u8::MAX) { 1 } else { number + 1 }
    }

    fn send(&mut self, now: Nanos, slot: u32) {
        let mark = self.superseded.mark();
        let c = self.commands[slot as usize].as_mut().expect("a command that is not there");
        c.sent = now;
        c.mark = mark;
        let request = Request { tag: slot.into(), payload: None, ..c.request };
        if let Err(refusal) = self.inner.submit(now, request) {
            panic!("{} refused a command that passed its own check: {refusal}", self.info.name);
        }
    }

    fn finish(&mut self, c: &Completion, done: &mut Vec<Completion>) {
        let slot = c.tag as u32;
        let command = self.commands[slot as usize].take().expect("a command that is not there");
        self.free.push(slot);
        let InFlight { request, submitted, sent, mark } = command;
        let mut whole = Completion { tag: request.tag, submitted, ..*c };
        // A device that does not tell where time went still does not.
        if sent > submitted && whole.breakdown.sum() == c.latency() {
            whole.breakdown.add(Cause::Queue, sent - submitted);
        }
        whole.status = self.take_effect(&request, c.status, mark);
        if request.op != Op::Flush {
            let mut released = std::mem::take(&mut self.released);
            self.order.leave(slot, &mut released);
            for slot in released.drain(..) {
                self.waiting -= 1;
                self.send(c.completed, slot);
            }
            self.released = released;
        }
        done.push(whole);
    }

    fn take_effect(&mut self, request: &Request, status: Status, mark: u64) -> Status {
        if status != Status::Ok {
            self.take_partial_effect(request);
            return status;
        }
        match request.op {
            Op::Read => {
                if self.store.any_lost(request.offset_bytes, request.length_bytes) {
                    return Status::MediaError;
                }
                if let Some(id) = request.payload {
                    self.store.read(request.offset_bytes, request.length_bytes, self.buffers.get_mut(id));
                }
            }
            Op::Write | Op::WriteZeroes => self.write(request),
            Op::Trim => self.trim(request),
            Op::Flush if !self.keeps_flushes => {}
            Op::Flush => {
                let trims = self.commands.iter().flatten().filter(|c| c.request.op == Op::Trim);
                let trims: Vec<Range<u32>> = trims.map(|c| whole_pages(&c.request, self.unit_pages)).collect();
                self.superseded.flushed(mark, |unit| trims.iter().any(|units| units.contains(&unit)));
            }
        }
        self.write_image(request)
    }

    /// The new version of a page that a write touches.
    fn written(&self, request: &Request, piece: &Piece) -> Version {
        let old = self.store.page(piece.unit);
        let data = request.payload.map(|id| &self.buffers.get(id)[piece.from..piece.from + piece.within.len()]);
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
        Version { number: self.next_number(self.store.number(piece.unit)), page }
    }

    /// What a write makes of every page that it touches, and of those that share a unit of the device with one: these hold
    /// what they held, and count as written.
    fn versions(&self, request: &Request) -> Vec<(u32, Version)> {
        let brought = pieces(request.offset_bytes, request.length_bytes);
        let mut versions: Vec<_> = brought.map(|piece| (piece.unit, self.written(request, &piece))).collect();
        for page in self.beside(request) {
            let number = self.next_number(self.store.number(page));
            versions.push((page, Version { number, page: self.store.page(page).cloned() }));
        }
        versions
    }

    /// Pages that a command does not touch, in units of the device that it does.
    fn beside(&self, request: &Request) -> impl Iterator<Item = u32> + use<> {
        let (touched, all) = (touched_pages(request, 1), touched_pages(request, self.unit_pages));
        (all.start..touched.start).chain(touched.end..all.end)
    }

    fn write(&mut self, request: &Request) {
        let recoverable = !(request.fua && self.keeps_flushes);
        let beside = self.beside(request);
        for piece in pieces(request.offset_bytes, request.length_bytes) {
            let new = match request.payload {
                Some(id) if piece.is_whole() => {
                    // It comes while the bytes go to memory. Asked for when the command was sent it would be gone again.
                    self.store.prefetch(piece.unit);
                    let page = self.superseded.page_of(&self.buffers.get(id)[piece.from..piece.from + PAGE_BYTES]);
                    Version { number: self.next_number(self.store.number(piece.unit)), page }
                }
                _ => self.written(request, &piece),
            };
            self.put(piece.unit, new, By::Write, recoverable);
        }
        for page in beside {
            let number = self.next_number(self.store.number(page));
            let same = Version { number, page: self.store.page(page).cloned() };
            self.put(page, same, By::Write, recoverable);
        }
    }

    /// `recoverable`: a cut could bring the old version back.
    fn put(&mut self, unit: u32, new: Version, by: By, recoverable: bool) {
        let old = self.store.replace(unit, new);
        self.store.mark_found(unit);
        if !self.mixed.is_empty() {
            self.mixed.remove(&unit);
        }
        if !recoverable {
            self.superseded.durable(unit);
        } else if self.greatest_write_number.is_some() {
            self.superseded.push(unit, old, by);
        }
    }

    fn trim(&mut self, request: &Request) {
        let units = whole_pages(request, self.unit_pages);
        let keep = self.greatest_write_number.is_some();
        match self.options.trimmed {
            TrimmedReads::Zeroes => {
                let superseded = &mut self.superseded;
                self.store.forget(units, |unit, old| {
                    if keep {
                        superseded.push(unit, old, By::Trim);
                    }
                });
            }
            TrimmedReads::OldData => {
                for unit in units {
                    let old = self.store.version(unit);
                    if old.number != 0 {
                        self.put(unit, Version { number: 0, page: old.page }, By::Trim, true);
                    }
                }
            }
        }
    }

    /// A write that ended in an error may have happened in part: the device knows.
    fn take_partial_effect(&mut self, request: &Request) {
        if !matches!(request.op, Op::Write | Op::WriteZeroes) || self.greatest_write_number.is_none() {
            return;
        }
        for (page, new) in self.versions(request) {
            let unit = page / self.unit_pages;
            let held = self.inner.plug().map(|plug| plug.held(unit.into()));
            if held == Some(Held::Write(new.number)) {
                self.put(page, new, By::Write, true);
            }
        }
    }

    fn write_image(&mut self, request: &Request) -> Status {
        if let Some(image) = &mut self.image {
            let written = match request.op {
                Op::Read => Ok(()),
                Op::Flush => image.commit(),
                Op::Trim => image.append(&self.store, whole_pages(request, self.unit_pages)),
                Op::Write | Op::WriteZeroes => image.append(&self.store, touched_pages(request, self.unit_pages)),
            };
            let written = if request.fua { written.and_then(|()| image.commit()) } else { written };
            let written = written.and_then(|()| image.tidy(&self.store));
            self.image_written(written);
        }
        if self.image_error.is_some() && request.op != Op::Read { Status::Aborted } else { Status::Ok }
    }

    /// Asks the device what it has kept, and makes that the bytes.
    fn settle(&mut self) {
        // Versions of a page from the oldest to the newest that was answered, then those that were not.
        let answered = self.superseded.take().map(|(unit, version)| (unit, version, true));
        let torn = std::mem::take(&mut self.torn).into_iter().map(|(unit, version)| (unit, version, false));
        let mut candidates: Vec<(u32, Version, bool)> = answered.chain(torn).collect();
        candidates.sort_by_key(|c| c.0);
        let differing = self.differing(&candidates);
        let mut report = AfterCut::default();
        for &(unit, held) in &differing {
            let from = candidates.partition_point(|c| c.0 < unit);
            let of_unit = || candidates[from..].iter().take_while(|c| c.0 == unit);
            let number = match held {
                Held::Nothing => 0,
                Held::Write(number) => number,
                Held::Mixed(newest) => {
                    self.mix(unit, newest, &candidates, &mut report);
                    continue;
                }
                Held::Unreadable => {
                    report.unreadable += 1;
                    self.lose(unit, 0);
                    continue;
                }
            };
            // Of equal numbers the youngest.
            let found = of_unit().filter(|c| c.1.number == number).last();
            if let Some((_, _, false)) = found {
                report.unanswered_kept += 1;
            } else if found.is_some() || number == 0 {
                report.reverted += 1;
            } else {
                report.forgotten += 1;
                self.lose(unit, number);
                continue;
            }
            self.store.replace(unit, found.map_or(Version::NOTHING, |c| c.1.clone()));
            self.store.mark_found(unit);
        }
        self.after_cut = Some(report);
        // Of a page that holds nothing now, or nothing that can be read, an older version may still be found by a later
        // start of the device.
        let empty: BTreeSet<u32> =
            candidates.iter().map(|c| c.0).filter(|&unit| self.store.number(unit) == 0).collect();
        for (unit, version, _) in candidates.into_iter().filter(|c| c.1.number != 0 && empty.contains(&c.0)) {
            self.superseded.haunt(unit, version);
        }
        if let Some(image) = &mut self.image {
            let written = differing.iter().try_for_each(|&(unit, _)| image.append(&self.store, unit..unit + 1));
            let written = written.and_then(|()| image.commit());
            self.image_written(written);
        }
    }

    /// The sectors of a page are of several writes.
    fn mix(&mut self, unit: u32, newest: u8, candidates: &[(u32, Version, bool)], report: &mut AfterCut) {
        let sectors = self.inner.plug().expect(HAS_PLUG).sectors(unit.into());
        if self.mixed.get(&unit) == Some(&sectors) {
            // The device says again what it said after the cut before.
            return;
        }
        let from = candidates.partition_point(|c| c.0 < unit);
        let of_unit = || candidates[from..].iter().take_while(|c| c.0 == unit);
        let (superseded, torn): (Vec<_>, Vec<_>) = of_unit().partition(|c| c.2);
        let current = self.store.version(unit);
        let mut bytes = [0; PAGE_BYTES];
        let length = PAGE_BYTES / sectors.len();
        let mut unanswered = false;
        for (k, held) in sectors.into_iter().enumerate() {
            let Held::Write(number) = held else { continue };
            let is = |c: &&&(u32, Version, bool)| c.1.number == number;
            let version = match torn.iter().rev().find(is) {
                Some((_, version, _)) => {
                    unanswered = true;
                    Some(version)
                }
                None if current.number == number => Some(&current),
                None => superseded.iter().rev().find(is).map(|c| &c.1),
            };
            let Some(version) = version else {
                report.forgotten += 1;
                return self.lose(unit, newest);
            };
            if let Some(page) = &version.page {
                bytes[k * length..(k + 1) * length].copy_from_slice(&page[k * length..(k + 1) * length]);
            }
        }
        *(if unanswered { &mut report.unanswered_kept } else { &mut report.reverted }) += 1;
        self.store.replace(unit, Version { number: newest, page: page_of(&bytes) });
        self.store.mark_found(unit);
        self.mixed.insert(unit, sectors);
    }

    /// Pages of which the device holds something else than their last answered version.
    fn differing(&mut self, candidates: &[(u32, Version, bool)]) -> Vec<(u32, Held)> {
        let unit_pages = self.unit_pages;
        let plug = self.inner.plug().expect(HAS_PLUG);
        let mut differing = Vec::new();
        let mut look = |unit: u32, number: u8| {
            let held = plug.held((unit / unit_pages).into());
            let same = match held {
                Held::Nothing => number == 0,
                Held::Write(held) => number == held,
                Held::Mixed(_) | Held::Unreadable => false,
            };
            if !same {
                differing.push((unit, held));
            }
        };
        self.store.written().filter(|w| w.1 != 0).for_each(|(unit, number, _)| look(unit, number));
        let mut last = None;
        for unit in candidates.iter().map(|c| c.0).filter(|&unit| self.store.number(unit) == 0) {
            if last.replace(unit) != Some(unit) {
                look(unit, 0);
            }
        }
        differing
    }

    fn lose(&mut self, unit: u32, number: u8) {
        self.store.replace(unit, Version { number, page: None });
        self.store.mark_lost(unit);
    }

    fn image_written(&mut self, result: Result<(), ImageError>) {
        if let Err(error) = result {
            self.image_error = Some(error.to_string());
            self.image = None;
        }
    }

    /// Whether the plug can be pulled. The bytes must hear of it: it is pulled by [`ContentDevice::cut`], and
    /// [`Device::plug`] hands out nothing.
    #[must_use]
    pub fn has_plug(&self) -> bool {
        self.greatest_write_number.is_some()
    }

    /// See [`ssdlab_device::Plug::unit_bytes`]; `None` without a plug.
    #[must_use]
    pub fn unit_bytes(&self) -> Option<u64> {
        self.has_plug().then_some(u64::from(self.unit_pages) * UNIT_BYTES)
    }

    #[must_use]
    pub fn has_power(&self) -> bool {
        self.has_power
    }

    /// See [`ssdlab_device::Plug::cut`]. Time must have passed to `now`. Buffers of commands under way are dropped.
    ///
    /// # Panics
    /// Without a plug, or without power.
    pub fn cut(&mut self, now: Nanos) {
        let plug = self.inner.plug().expect(HAS_PLUG);
        plug.cut(now);
        self.has_power = false;
        if let Some((_, changes)) = self.erasing.take()
            && self.inner.security().expect(HAS_SECURITY).key_changes() != changes
        {
            let saved = self.image.is_some().then(|| self.inner.plug().expect(HAS_PLUG).save());
            self.forget_everything(saved);
        }
        let live: Vec<(u32, bool)> = self.order.clear().collect();
        for request in live.into_iter().filter(|l| l.1).filter_map(|l| Some(self.commands[l.0 as usize]?.request)) {
            match request.op {
                Op::Write | Op::WriteZeroes => {
                    let versions = self.versions(&request);
                    self.torn.extend(versions);
                }
                Op::Trim => {
                    let trimmed = whole_pages(&request, self.unit_pages).filter(|&unit| self.store.number(unit) != 0);
                    self.torn.extend(trimmed.map(|unit| (unit, Version::NOTHING)));
                }
                Op::Read | Op::Flush => {}
            }
        }
        self.commands.iter().flatten().filter_map(|c| c.request.payload).for_each(|id| drop(self.buffers.take(id)));
        self.commands.clear();
        self.free.clear();
        self.waiting = 0;
    }

    /// See [`ssdlab_device::Plug::restore`].
    ///
    /// # Panics
    /// With power.
    pub fn restore(&mut self, now: Nanos) -> Nanos {
        let plug = self.inner.plug().expect(HAS_PLUG);
        // As it is without power: what the start repairs it repairs again when it is loaded.
        let saved = self.image.is_some().then(|| plug.save());
        let ready = plug.restore(now);
        self.has_power = true;
        self.settle();
        self.write_state(saved);
        ready
    }

    /// See [`ssdlab_device::Plug::stand_by`].
    ///
    /// # Panics
    /// Without a plug or power, or if commands are under way.
    pub fn stand_by(&mut self, now: Nanos) -> Nanos {
        self.end_erase();
        let done = self.inner.plug().expect(HAS_PLUG).stand_by(now);
        drop(self.superseded.take());
        done
    }

    /// Shuts the device down and takes its power away, if it has a plug; its state goes into the image, which is to be closed
    /// next.
    ///
    /// # Panics
    /// Without power, or if commands are under way.
    pub fn put_away(&mut self, now: Nanos) {
        if self.has_plug() {
            let off = self.stand_by(now);
            self.cut(off);
            let saved = self.image.is_some().then(|| self.inner.plug().expect(HAS_PLUG).save());
            self.write_state(saved);
        }
    }

    /// The state of a new device goes into its image, before anything is changed.
    pub fn keep_state(&mut self, now: Nanos) {
        let saved = self.saved_copy(now);
        self.write_state(saved);
    }

    /// What the device keeps if it is shut down now, for the image; `None` without one, or without a plug.
    fn saved_copy(&self, now: Nanos) -> Option<Vec<u8>> {
        let mut copy = self.inner.snapshot().filter(|_| self.image.is_some() && self.has_plug())?;
        let plug = copy.plug().expect(HAS_PLUG);
        let off = plug.stand_by(now);
        plug.cut(off);
        Some(plug.save())
    }

    /// Pages that the firmware keeps for itself, outside of the host's addresses, go into the image, if there is one.
    pub fn keep_reserved(&mut self, pages: &[ReservedPage]) {
        if let Some(image) = self.image.as_mut().filter(|_| !pages.is_empty()) {
            let written = image.append_reserved(pages).and_then(|()| image.commit());
            self.image_written(written);
        }
    }

    /// The same at the end of the erase that comes next, in one step with it: before that nothing of either is in the image.
    pub fn keep_reserved_with_erase(&mut self, pages: &[ReservedPage]) {
        if let Some(image) = &mut self.image {
            image.reserve_with_erase(pages);
        }
    }

    /// The key of these pages has been changed: what they held cannot be read any more, nor does it come back after a cut, nor is
    /// it left in the image. They read as zeroes, and the device goes on to have them as written.
    pub fn change_key_of(&mut self, all: &[Range<u32>]) {
        for pages in all {
            self.store.blank(pages.clone());
            self.superseded.blank(pages);
        }
        let in_them = |page: u32| all.iter().any(|pages| pages.contains(&page));
        self.torn.iter_mut().filter(|torn| in_them(torn.0)).for_each(|torn| torn.1.page = None);
        if let Some(image) = &mut self.image {
            let written = image.forget_old(&self.store);
            self.image_written(written);
        }
    }

    /// Whether a crypto erase is under way.
    #[must_use]
    pub fn is_erasing(&self) -> bool {
        self.erasing.is_some()
    }

    /// The crypto erase that is under way has ended, or the host, by its next command, counts on that.
    fn end_erase(&mut self) {
        if let Some((ended, _)) = self.erasing.take() {
            let saved = self.saved_copy(ended);
            self.forget_everything(saved);
        }
    }

    /// No version of any page comes back, nor stays in the image; `saved`: the device as it is now.
    fn forget_everything(&mut self, saved: Option<Vec<u8>>) {
        self.store.forget(0..self.units(), |_, _| {});
        drop(self.superseded.take());
        self.mixed.clear();
        if let Some(image) = &mut self.image {
            let written = image.erase(saved.as_deref());
            self.image_written(written);
        }
    }

    fn units(&self) -> u32 {
        self.info.capacity_bytes.div_ceil(UNIT_BYTES) as u32
    }

    /// The device as it is now, to be saved while this one goes on: the bytes are those of [`ContentDevice::store`] now. Time
    /// must have passed to `now`. `None`: without a plug, or if the device cannot be copied.
    #[must_use]
    pub fn copy_to_save(&self, now: Nanos) -> Option<CopyToSave> {
        let device = self.inner.snapshot().filter(|_| self.has_plug())?;
        Some(CopyToSave { device, under_way: self.in_flight() - self.waiting, has_power: self.has_power, now })
    }

    fn write_state(&mut self, saved: Option<Vec<u8>>) {
        if let (Some(image), Some(saved)) = (&mut self.image, saved) {
            let written = image.append_state(&saved).and_then(|()| image.commit());
            self.image_written(written);
        }
    }

    /// See [`ssdlab_device::Plug::unclean_shutdowns`]; `None` without a plug.
    pub fn unclean_shutdowns(&mut self) -> Option<u64> {
        self.inner.plug().map(|plug| plug.unclean_shutdowns())
    }

    /// See [`ssdlab_device::Plug::power_cycles`] and [`ssdlab_device::Plug::time_powered`]; `None` without a plug.
    pub fn power_history(&mut self, now: Nanos) -> Option<(u64, Nanos)> {
        self.inner.plug().map(|plug| (plug.power_cycles(), plug.time_powered(now)))
    }
}

/// A copy of a device, which is to be saved. See [`ContentDevice::copy_to_save`].
pub struct CopyToSave {
    device: Box<dyn Device>,
    under_way: usize,
    has_power: bool,
    now: Nanos,
}

impl CopyToSave {
    /// What it keeps without power. What is under way ends, and then it is shut down in good order: of commands that were not
    /// answered it may hold more than the bytes do.
    #[must_use]
    pub fn save(mut self) -> Vec<u8> {
        let mut done = Vec::new();
        while self.has_power && done.len() < self.under_way {
            let before = done.len();
            self.now = self.device.advance_to_completion(Nanos::MAX / 2, &mut done).max(self.now);
            assert!(done.len() > before, "a command never ends");
        }
        let plug = self.device.plug().expect(HAS_PLUG);
        if self.has_power {
            let off = plug.stand_by(self.now);
            plug.cut(off);
        }
        plug.save()
    }
}

const HAS_PLUG: &str = "the device has no plug";
const HAS_SECURITY: &str = "the device inside has it";

/// Pages of the units that a command touches; `unit_pages` make a unit.
fn touched_pages(r: &Request, unit_pages: u32) -> Range<u32> {
    let unit_bytes = UNIT_BYTES * u64::from(unit_pages);
    let end = (r.offset_bytes + r.length_bytes).div_ceil(unit_bytes);
    (r.offset_bytes / unit_bytes) as u32 * unit_pages..end as u32 * unit_pages
}

/// Pages of the units that lie wholly within a command: a trim forgets only these.
fn whole_pages(r: &Request, unit_pages: u32) -> Range<u32> {
    let unit_bytes = UNIT_BYTES * u64::from(unit_pages);
    let first = r.offset_bytes.div_ceil(unit_bytes);
    let last = (r.offset_bytes + r.length_bytes) / unit_bytes;
    first as u32 * unit_pages..last.max(first) as u32 * unit_pages
}

impl Device for ContentDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// # Panics
    /// If the payload of a write is not as long as the write.
    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request)?;
        if let (Op::Write, Some(id)) = (request.op, request.payload) {
            assert_eq!(self.buffers.get(id).len() as u64, request.length_bytes, "the payload of a write");
        }
        if self.erasing.is_some() {
            self.end_erase();
        }
        let command = Some(InFlight { request, submitted: now, sent: now, mark: 0 });
        let slot = match self.free.pop() {
            Some(slot) => {
                self.commands[slot as usize] = command;
                slot
            }
            None => {
                self.commands.push(command);
                self.commands.len() as u32 - 1
            }
        };
        let changes = request.op != Op::Read;
        if request.op == Op::Flush || self.order.enter(slot, touched_pages(&request, self.unit_pages), changes) {
            self.send(now, slot);
        } else {
            self.waiting += 1;
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        let inside = self.inner.next_event();
        self.erasing.map_or(inside, |(ended, _)| Some(inside.map_or(ended, |at| at.min(ended))))
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let mut arrived = std::mem::take(&mut self.arrived);
        // What a completion releases goes to the device at that instant.
        while self.waiting > 0 {
            self.inner.advance_to_completion(to, &mut arrived);
            if arrived.is_empty() {
                break;
            }
            arrived.drain(..).for_each(|c| self.finish(&c, done));
        }
        self.inner.advance(to, &mut arrived);
        arrived.drain(..).for_each(|c| self.finish(&c, done));
        self.arrived = arrived;
        if self.erasing.is_some_and(|(ended, _)| ended <= to) {
            self.end_erase();
        }
    }

    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        let mut arrived = std::mem::take(&mut self.arrived);
        let reached = self.inner.advance_to_completion(limit, &mut arrived);
        arrived.drain(..).for_each(|c| self.finish(&c, done));
        self.arrived = arrived;
        if self.erasing.is_some_and(|(ended, _)| ended <= reached) {
            self.end_erase();
        }
        reached
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn check_books(&self) -> Result<(), String> {
        self.inner.check_books()
    }

    fn snapshot(&self) -> Option<Box<dyn Device>> {
        Some(Box::new(self.fork()?))
    }

    fn flash(&mut self) -> Option<&mut dyn Flash> {
        self.inner.flash()
    }

    fn celsius(&self) -> Option<f64> {
        self.inner.celsius()
    }

    fn power(&mut self) -> Option<&mut dyn PowerManagement> {
        self.inner.power()
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        self.inner.security().is_some().then_some(self as &mut dyn Security)
    }
}

impl Security for ContentDevice {
    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        let ready = self.inner.security().expect(HAS_SECURITY).secure_erase(now);
        // A read-only device stays as it is.
        let first = self.store.written().find(|written| written.1 != 0).map(|written| written.0 / self.unit_pages);
        let stays = |unit: u32| self.inner.plug_seen().is_some_and(|plug| plug.held(unit.into()) != Held::Nothing);
        if !first.is_some_and(stays) {
            let saved = self.saved_copy(ready);
            self.forget_everything(saved);
        }
        ready
    }

    fn encrypts(&mut self) -> bool {
        self.inner.security().is_some_and(Security::encrypts)
    }

    fn has_opal(&mut self) -> bool {
        self.inner.security().is_some_and(Security::has_opal)
    }

    fn key_change_time(&mut self) -> Nanos {
        self.inner.security().map_or(0, Security::key_change_time)
    }

    /// The bytes go when it has ended, from memory and from the image, or with the next command.
    fn crypto_erase(&mut self, now: Nanos) -> Nanos {
        self.end_erase();
        let security = self.inner.security().expect(HAS_SECURITY);
        let changes = security.key_changes();
        let ready = security.crypto_erase(now);
        if security.key_changes() != changes {
            self.erasing = Some((ready, changes));
        }
        ready
    }

    fn key_changes(&mut self) -> u64 {
        self.inner.security().map_or(0, Security::key_changes)
    }
}
