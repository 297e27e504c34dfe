//! A device with bytes: timing from the device inside, bytes from the store.

use std::ops::Range;

use ssdlab_core::{Cause, Nanos, Op, UNIT_BYTES};
use ssdlab_device::{
    Completion, Counters, Device, DeviceInfo, Flash, Held, PayloadId, PowerManagement, Recorder, Refusal, Request,
    Security, Status,
};

use crate::buffers::Buffers;
use crate::bytes::{AfterCut, AfterCutPlaces, Bytes, TrimmedReads};
use crate::copy_to_save::{CopyToSave, saved_at_rest};
use crate::image::{Image, LockedImage, ReservedPage};
use crate::open_image::OpenImage;
use crate::order::Order;
use crate::store::Store;

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentOptions {
    /// Bytes of overwritten pages that are kept while a power cut could bring them back; see the crate's own page.
    pub superseded_limit_bytes: u64,
    pub trimmed: TrimmedReads,
}

impl Default for ContentOptions {
    fn default() -> Self {
        ContentOptions { superseded_limit_bytes: 512 << 20, trimmed: TrimmedReads::Zeroes }
    }
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

/// An erase that is under way.
#[derive(Clone)]
struct Erasing {
    ends: Nanos,
    /// `None`: of SECURITY ERASE UNIT, all bytes are gone once it has begun.
    by_key: Option<ErasingByKey>,
}

/// A crypto erase, by which the bytes go once it has ended.
#[derive(Clone)]
struct ErasingByKey {
    /// How often the key had been changed before.
    key_changes: u64,
    /// The device at its end, for the image: saved before the first command that waits for that, as it has to be at rest.
    saved: Option<Vec<u8>>,
}

/// Wraps a device and holds its bytes.
///
/// A read with a payload appends its bytes to that buffer; a write with a payload takes them from it, and without one
/// writes zeroes. Buffers go in by [`ContentDevice::insert`] before the command is submitted and come out by
/// [`ContentDevice::take`] after it has completed.
///
/// Commands that touch the same unit of the device ([`ssdlab_device::Plug::unit_bytes`]) go to it one after the other, if one of them changes them. The wait counts
/// as [`Cause::Queue`]. A write has happened when it completes. One that brings a part of a page whose bytes a cut has destroyed
/// ends in [`Status::MediaError`], as what is not written of the page cannot be read.
///
/// After a cut the device is asked what it holds of each written page. That version's bytes are the page's from then on.
pub struct ContentDevice {
    inner: Box<dyn Device>,
    info: DeviceInfo,
    bytes: Bytes,
    image: OpenImage,
    buffers: Buffers,
    commands: Vec<Option<InFlight>>,
    free: Vec<u32>,
    order: Order,
    waiting: usize,
    has_power: bool,
    /// The latest time that the device has heard of.
    latest: Nanos,
    erasing: Option<Erasing>,
    arrived: Vec<Completion>,
    released: Vec<u32>,
}

impl ContentDevice {
    /// A device that has just been made, with nothing written.
    ///
    /// # Panics
    /// If the device is larger than [`Store::MAX_CAPACITY_BYTES`], or as [`ContentDevice::with_store`].
    #[must_use]
    pub fn new(inner: Box<dyn Device>, options: ContentOptions) -> Self {
        let store = Store::new(inner.info().capacity_bytes);
        Self::with_store(inner, options, store)
    }

    /// A device at rest that holds these bytes already: its numbers of writes are those of the store.
    ///
    /// # Panics
    /// If the store has another capacity, or the device sectors larger than 4 KiB; if one of [`Device::plug`] and
    /// [`Device::plug_seen`] gives a plug, and the other none.
    #[must_use]
    pub fn with_store(mut inner: Box<dyn Device>, options: ContentOptions, store: Store) -> Self {
        let info = DeviceInfo { holds_contents: true, ..inner.info().clone() };
        assert!(u64::from(info.sector_bytes) <= UNIT_BYTES, "sectors of {} bytes", info.sector_bytes);
        assert_eq!(info.capacity_bytes, store.capacity_bytes(), "capacity of device and store");
        let bytes = Bytes::new(&mut *inner, store, options.trimmed, options.superseded_limit_bytes);
        ContentDevice {
            inner,
            info,
            bytes,
            image: OpenImage::default(),
            buffers: Buffers::default(),
            commands: Vec::new(),
            free: Vec::new(),
            order: Order::default(),
            waiting: 0,
            has_power: true,
            latest: 0,
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
        self.bytes.store()
    }

    /// Overwritten pages that are kept because they might come back, in bytes; and how many were let go because of
    /// [`ContentOptions::superseded_limit_bytes`].
    #[must_use]
    pub fn superseded(&self) -> (u64, u64) {
        (self.bytes.superseded().bytes(), self.bytes.superseded().dropped())
    }

    /// What the last cut has left; `None` before the first restore.
    #[must_use]
    pub fn after_cut(&self) -> Option<AfterCut> {
        self.bytes.after_cut()
    }

    /// Where the pages are that [`ContentDevice::after_cut`] counts, as far as they are listed.
    #[must_use]
    pub fn after_cut_places(&self) -> Option<&AfterCutPlaces> {
        self.bytes.after_cut_places()
    }

    /// Commands that have not ended.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.commands.len() - self.free.len()
    }

    /// From now on every change goes to the image as well, before the command that made it completes. The image must
    /// hold what the device holds.
    pub fn set_image(&mut self, image: Image) {
        self.image.set(image);
    }

    /// The device holds what this image does, which stays as it is: nothing is written to it, and nobody else can change it.
    pub fn set_read_image(&mut self, image: LockedImage) {
        self.image.set_read(image);
    }

    /// The image, to be closed; changes are no longer written to it. `None` if there is none, or it could not be written.
    pub fn take_image(&mut self) -> Option<Image> {
        self.image.take()
    }

    /// Why the image could not be written. Until it can be, which takes more than space if it is not full, writes are aborted.
    #[must_use]
    pub fn image_error(&self) -> Option<&str> {
        self.image.error()
    }

    /// Whether the image could not be written because its disk is full: see [`ContentDevice::catch_up_image`].
    #[must_use]
    pub fn image_is_full(&self) -> bool {
        self.image.is_full()
    }

    /// Brings an image whose disk was full up to what the device holds, if there is space by now.
    pub fn catch_up_image(&mut self) {
        self.image.catch_up(self.bytes.store());
    }

    /// A copy in memory that goes on by itself; pages are shared until one of the two changes them. Without the image.
    /// `None` if the device inside cannot be copied.
    #[must_use]
    pub fn fork(&self) -> Option<ContentDevice> {
        Some(ContentDevice {
            inner: self.inner.snapshot()?,
            info: self.info.clone(),
            bytes: self.bytes.clone(),
            image: OpenImage::default(),
            buffers: self.buffers.clone(),
            commands: self.commands.clone(),
            free: self.free.clone(),
            order: self.order.clone(),
            waiting: self.waiting,
            has_power: self.has_power,
            latest: self.latest,
            erasing: self.erasing.clone(),
            arrived: Vec::new(),
            released: Vec::new(),
        })
    }

    fn send(&mut self, now: Nanos, slot: u32) {
        let mark = self.bytes.mark();
        let c = self.commands[slot as usize].as_mut().expect("a command that is not there");
        c.sent = now;
        c.mark = mark;
        let request = Request { tag: slot.into(), payload: None, ..c.request };
        if let Err(refusal) = self.inner.submit(now, request) {
            panic!("{} refused a command that passed its own check: {refusal}", self.info.name);
        }
    }

    fn finish(&mut self, c: &Completion, done: &mut Vec<Completion>) {
        self.latest = self.latest.max(c.completed);
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
            if matches!(request.op, Op::Write | Op::WriteZeroes)
                && let Some(plug) = self.inner.plug()
            {
                let data = self.buffers.data_of(request);
                let changed = self.bytes.write_in_part(request, data, plug);
                changed.iter().for_each(|&page| self.image.append(self.bytes.store(), page..page + 1));
            }
            return status;
        }
        let mut all_there = true;
        match request.op {
            Op::Read => {
                let out = request.payload.map(|id| self.buffers.get_mut(id));
                return if self.bytes.read(request, out) { Status::Ok } else { Status::MediaError };
            }
            Op::Write | Op::WriteZeroes => {
                all_there = self.bytes.write(request, self.buffers.data_of(request), self.inner.plug_seen());
            }
            Op::Trim => self.bytes.trim(request),
            Op::Flush => {
                let trims = self.commands.iter().flatten().filter(|c| c.request.op == Op::Trim);
                let trims: Vec<Range<u32>> = trims.map(|c| self.bytes.within(&c.request)).collect();
                self.bytes.flushed(mark, &trims);
            }
        }
        self.write_image(request);
        match self.image.error() {
            Some(_) => Status::Aborted,
            None if !all_there => Status::MediaError,
            None => Status::Ok,
        }
    }

    fn write_image(&mut self, request: &Request) {
        let store = self.bytes.store();
        match request.op {
            Op::Read => {}
            Op::Flush => self.commit(),
            Op::Trim if self.bytes.keeps_trimmed() => self.image.append_trimmed(self.bytes.within(request)),
            Op::Trim => self.image.append(store, self.bytes.within(request)),
            Op::Write | Op::WriteZeroes => self.image.append(store, self.bytes.touched(request)),
        }
        if request.fua {
            self.commit();
        }
        self.image.tidy(self.bytes.store());
    }

    /// All that is in the image counts, and what the device has counted goes there.
    fn commit(&mut self) {
        if self.image.is_written()
            && let Some(plug) = self.inner.plug()
        {
            self.image.set_totals(plug.totals(self.latest));
        }
        self.image.commit();
    }

    /// What the device has counted by now goes into the image: if the process is killed, it has counted at least so much.
    pub fn keep_totals(&mut self, now: Nanos) {
        if self.has_plug() && self.has_power {
            self.latest = self.latest.max(now);
            self.commit();
        }
    }

    /// Whether the plug can be pulled. The bytes must hear of it: it is pulled by [`ContentDevice::cut`], and
    /// [`Device::plug`] hands out nothing.
    #[must_use]
    pub fn has_plug(&self) -> bool {
        self.bytes.can_come_back()
    }

    /// See [`ssdlab_device::Plug::unit_bytes`]; `None` without a plug.
    #[must_use]
    pub fn unit_bytes(&self) -> Option<u64> {
        self.has_plug().then_some(u64::from(self.bytes.unit_pages()) * UNIT_BYTES)
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
        if let Some(Erasing { by_key: Some(by_key), .. }) = self.erasing.take()
            && self.inner.security().expect(HAS_SECURITY).key_changes() != by_key.key_changes
        {
            let saved = self.save_for_image();
            self.forget_everything(saved);
        }
        let live: Vec<(u32, bool)> = self.order.clear().collect();
        for request in live.into_iter().filter(|l| l.1).filter_map(|l| Some(self.commands[l.0 as usize]?.request)) {
            let plug = self.inner.plug_seen().expect(HAS_PLUG);
            self.bytes.tear(&request, self.buffers.data_of(&request), plug);
        }
        self.commands.iter().flatten().filter_map(|c| c.request.payload).for_each(|id| drop(self.buffers.take(id)));
        self.commands.clear();
        self.free.clear();
        self.waiting = 0;
    }

    /// Lets go of a buffer that may have gone with the power.
    pub fn release(&mut self, id: PayloadId) {
        self.buffers.release(id);
    }

    /// See [`ssdlab_device::Plug::restore`].
    ///
    /// # Panics
    /// With power.
    pub fn restore(&mut self, now: Nanos) -> Nanos {
        // As it is without power: what the start repairs it repairs again when it is loaded.
        let saved = self.save_for_image();
        let plug = self.inner.plug().expect(HAS_PLUG);
        let ready = plug.restore(now);
        (self.has_power, self.latest) = (true, self.latest.max(ready));
        let differing = self.bytes.settle(plug);
        differing.iter().for_each(|&page| self.image.append(self.bytes.store(), page..page + 1));
        self.commit();
        self.write_state(saved);
        // A host that only reads, or does nothing, writes nothing behind which it would be seen.
        self.image.tidy(self.bytes.store());
        ready
    }

    /// See [`ssdlab_device::Plug::stand_by`].
    ///
    /// # Panics
    /// Without a plug or power, or if commands are under way.
    pub fn stand_by(&mut self, now: Nanos) -> Nanos {
        self.end_erase();
        let done = self.inner.plug().expect(HAS_PLUG).stand_by(now);
        self.bytes.all_durable();
        self.commit();
        done
    }

    /// Shuts the device down and takes its power away, if it has a plug; its state goes into the image, which is to be closed
    /// next.
    ///
    /// # Panics
    /// Without power, or if commands are under way.
    pub fn put_away(&mut self, now: Nanos) {
        self.catch_up_image();
        if self.has_plug() {
            let off = self.stand_by(now);
            self.cut(off);
            let saved = self.save_for_image();
            self.write_state(saved);
        }
    }

    /// The state of a new device goes into its image, before anything is changed.
    pub fn keep_state(&mut self, now: Nanos) {
        self.latest = self.latest.max(now);
        let saved = self.saved_copy(now);
        self.write_state(saved);
    }

    /// What the device, which has no power, keeps, for the image; `None` without one.
    fn save_for_image(&mut self) -> Option<Vec<u8>> {
        self.image.is_written().then(|| self.inner.plug().expect(HAS_PLUG).save())
    }

    /// What the device keeps if it is shut down now, for the image; `None` without one, or without a plug.
    fn saved_copy(&self, now: Nanos) -> Option<Vec<u8>> {
        self.image.is_written().then(|| saved_at_rest(&*self.inner, now)).flatten()
    }

    /// Pages that the firmware keeps for itself, outside of the host's addresses, go into the image, if there is one.
    pub fn keep_reserved(&mut self, pages: &[ReservedPage]) {
        if !pages.is_empty() {
            self.image.append_reserved(pages);
            self.commit();
            self.image.tidy(self.bytes.store());
        }
    }

    /// The same at the end of the erase that comes next, in one step with it: before that nothing of either is in the image.
    pub fn keep_reserved_with_erase(&mut self, pages: &[ReservedPage]) {
        self.image.reserve_with_erase(pages);
    }

    /// The key of these pages has been changed: what they held cannot be read any more, nor does it come back after a cut, nor is
    /// it left in the image. They read as zeroes, and the device goes on to have them as written; those that a cut has destroyed
    /// stay so.
    pub fn change_key_of(&mut self, all: &[Range<u32>]) {
        self.bytes.blank(all);
        self.image.change_key_of(self.bytes.store(), all);
    }

    /// Whether an erase of everything is under way.
    #[must_use]
    pub fn is_erasing(&self) -> bool {
        self.erasing.is_some()
    }

    /// The erase that is under way has ended, or nothing else comes before its end.
    fn end_erase(&mut self) {
        if let Some(Erasing { ends, by_key: Some(by_key) }) = self.erasing.take() {
            let saved = if self.in_flight() == 0 { self.saved_copy(ends) } else { by_key.saved };
            self.forget_everything(saved);
        }
    }

    fn end_erase_by(&mut self, now: Nanos) {
        if self.erase_ends().is_some_and(|ends| ends <= now) {
            self.end_erase();
        }
    }

    /// An erase has ended by `now`, or goes on while a command comes that waits for its end.
    fn command_meets_erase(&mut self, now: Nanos) {
        match &self.erasing {
            Some(Erasing { ends, .. }) if *ends <= now => self.end_erase(),
            Some(Erasing { ends, by_key: Some(_) }) if self.in_flight() == 0 => {
                let saved = self.saved_copy(*ends);
                let by_key = self.erasing.iter_mut().filter_map(|erasing| erasing.by_key.as_mut());
                by_key.for_each(|by_key| by_key.saved.clone_from(&saved));
            }
            _ => {}
        }
    }

    fn erase_ends(&self) -> Option<Nanos> {
        self.erasing.as_ref().map(|erasing| erasing.ends)
    }

    /// No version of any page comes back, nor stays in the image; `saved`: the device as it is now.
    fn forget_everything(&mut self, saved: Option<Vec<u8>>) {
        self.bytes.forget();
        self.image.erase(saved.as_deref());
    }

    /// The device as it is now, to be saved while this one goes on: the bytes are those of [`ContentDevice::store`] now. Time
    /// must have passed to `now`. `None`: without a plug, or if the device cannot be copied; and without power, since what the cut has
    /// taken back the bytes know only from [`ContentDevice::restore`] on.
    #[must_use]
    pub fn copy_to_save(&self, now: Nanos) -> Option<CopyToSave> {
        let device = self.inner.snapshot().filter(|_| self.has_plug() && self.has_power)?;
        Some(CopyToSave::new(device, self.in_flight() - self.waiting, now))
    }

    fn write_state(&mut self, saved: Option<Vec<u8>>) {
        if let Some(saved) = saved {
            self.image.append_state(&saved);
            self.commit();
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

const HAS_PLUG: &str = "the device has no plug";
const HAS_SECURITY: &str = "the device inside has it";

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
            self.command_meets_erase(now);
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
        if request.op == Op::Flush || self.order.enter(slot, self.bytes.touched(&request), changes) {
            self.send(now, slot);
        } else {
            self.waiting += 1;
        }
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        let inside = self.inner.next_event();
        self.erase_ends().into_iter().chain(inside).min()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let mut arrived = std::mem::take(&mut self.arrived);
        // Commands that have waited for its end find everything erased.
        if let Some(&Erasing { ends, by_key: Some(_) }) = self.erasing.as_ref()
            && ends <= to
        {
            self.inner.advance(ends, &mut arrived);
            self.end_erase();
            arrived.drain(..).for_each(|c| self.finish(&c, done));
        }
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
        self.end_erase_by(to);
    }

    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        let mut arrived = std::mem::take(&mut self.arrived);
        let reached = self.inner.advance_to_completion(limit, &mut arrived);
        self.end_erase_by(reached);
        arrived.drain(..).for_each(|c| self.finish(&c, done));
        self.arrived = arrived;
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

    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        self.inner.recorder()
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        self.inner.security().is_some().then_some(self as &mut dyn Security)
    }
}

impl Security for ContentDevice {
    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        self.end_erase();
        let ready = self.inner.security().expect(HAS_SECURITY).secure_erase(now);
        // A read-only device stays as it is, and of several those that are.
        let unit_pages = self.bytes.unit_pages();
        let stays = |page: u32| {
            let plug = self.inner.plug_seen();
            plug.is_some_and(|plug| plug.held((page / unit_pages).into()) != Held::Nothing)
        };
        let (mut gone, mut all_are) = (Vec::<Range<u32>>::new(), true);
        let store = self.bytes.store();
        for page in store.written().map(|written| written.0).chain(store.lost()) {
            match gone.last_mut() {
                _ if stays(page) => all_are = false,
                Some(last) if last.end == page => last.end = page + 1,
                _ => gone.push(page..page + 1),
            }
        }
        let saved = self.saved_copy(ready);
        if all_are {
            self.forget_everything(saved);
        } else if !gone.is_empty() {
            self.bytes.forget_these(&gone);
            gone.iter().for_each(|pages| self.image.append(self.bytes.store(), pages.clone()));
            self.write_state(saved);
            self.image.change_key_of(self.bytes.store(), &gone);
        }
        self.erasing = Some(Erasing { ends: ready, by_key: None });
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

    /// The bytes go when it has ended, from memory and from the image.
    fn crypto_erase(&mut self, now: Nanos) -> Nanos {
        self.end_erase();
        let security = self.inner.security().expect(HAS_SECURITY);
        let changes = security.key_changes();
        let ready = security.crypto_erase(now);
        if security.key_changes() != changes {
            let by_key = Some(ErasingByKey { key_changes: changes, saved: None });
            self.erasing = Some(Erasing { ends: ready, by_key });
        }
        ready
    }

    fn key_changes(&mut self) -> u64 {
        self.inner.security().map_or(0, Security::key_changes)
    }

    fn wake(&mut self) {
        self.inner.security().into_iter().for_each(Security::wake);
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_ssd::Ssd;
    use ssdlab_testkit::{ideal_die, ideal_drive};

    use super::*;
    use crate::pages::PAGE_BYTES;

    /// Also if a host never writes anything, and only sets what is kept besides.
    #[test]
    fn an_image_does_not_grow_without_bound_by_what_the_firmware_keeps() {
        let path = std::env::temp_dir().join(format!("ssdlab-reserved-{}.ssd", std::process::id()));
        drop(std::fs::remove_file(&path));
        let inner = Ssd::new("a", &ideal_drive(), &ideal_die(), 1).unwrap();
        let mut device = ContentDevice::new(Box::new(inner), ContentOptions::default());
        device.set_image(Image::create(&path, "a", 7, device.store(), None).unwrap());
        for byte in 0..200 {
            device.keep_reserved(&[(1, Some(vec![byte | 1; PAGE_BYTES]))]);
        }
        let bytes = std::fs::metadata(&path).unwrap().len();
        assert!(bytes < 100 * PAGE_BYTES as u64, "{bytes} bytes for one page");
        device.take_image().expect("it can be written").close().unwrap();
        let reserved = Image::inspect(&path).unwrap().reserved;
        assert_eq!(reserved.pages().map(|page| (page.0, page.1[0])).collect::<Vec<_>>(), [(1, 199)]);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn an_image_does_not_grow_without_bound_by_power_cuts_alone() {
        let path = std::env::temp_dir().join(format!("ssdlab-cuts-{}.ssd", std::process::id()));
        drop(std::fs::remove_file(&path));
        // A small drive is soon ready.
        let (mut drive, mut die) = (ideal_drive(), ideal_die());
        (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 16);
        (drive.flash.dies, drive.flash.exact_spare_per_10000) = (4, None);
        drive.capacity_bytes = 1600 * UNIT_BYTES;
        let inner = Ssd::new("a", &drive, &die, 1).unwrap();
        let mut device = ContentDevice::new(Box::new(inner), ContentOptions::default());
        device.set_image(Image::create(&path, "a", 7, device.store(), None).unwrap());
        let bytes = || std::fs::metadata(&path).unwrap().len();
        let (mut now, empty) = (0, bytes());
        let mut cut = |device: &mut ContentDevice| {
            device.cut(now);
            now = device.restore(now);
        };
        cut(&mut device);
        let state = bytes() - empty;
        (0..200).for_each(|_| cut(&mut device));
        assert!(bytes() < (1 << 17) + 20 * state, "{} bytes, {state} of them the drive", bytes());
        device.take_image().expect("it can be written").close().unwrap();
        assert!(Image::inspect(&path).unwrap().state.is_some());
        std::fs::remove_file(&path).unwrap();
    }
}
