//! Requests of clients become commands of the device, and completions become outcomes. No protocol is known here.

use std::collections::BTreeSet;

use ssdlab_bench::host::{SlowestSeen, TRIM_COMMAND_BYTES, Watch};
use ssdlab_contents::ContentDevice;
use ssdlab_core::{Breakdown, Cause, Histogram, Nanos, Op, UNIT_BYTES};
use ssdlab_device::{Completion, Device, PayloadId, Request, Security, Status};

use crate::export::Export;
use crate::lock::{Lock, Meets};
use crate::request::{DriveError, DriveRequest, Extent, Outcome, Started};
use crate::settling::Settling;
use crate::slow_beyond::SlowBeyond;
use crate::stand_by::StandBy;

/// What one command carries: larger requests are split as the system's block layer would, into parts that are sent
/// together.
const COMMAND_BYTES: u64 = 1 << 20;
/// Parts of one request that are at the device together.
const MOST_PARTS: u32 = 32;
/// Slow requests that are remembered.
const REMEMBERED: usize = 32;
/// A request that took long.
#[derive(Clone, Copy, Debug)]
pub struct SlowRequest {
    pub op: Op,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub submitted: Nanos,
    pub latency: Nanos,
    /// Of its last part, if it was split; until that was sent it waited in a queue.
    pub breakdown: Breakdown,
    /// How long of that the device was not ready yet, its power having come back.
    pub starting: Nanos,
}

/// Requests of one kind.
#[derive(Clone, Default)]
pub struct Served {
    /// All that anybody waited for, those that were refused at once or went with the power included.
    pub requests: u64,
    /// Of those that have ended at the device.
    pub bytes: u64,
    /// Requests that did not succeed.
    pub errors: u64,
    /// Of those that have ended at the device.
    pub latency: Histogram,
}

struct Job {
    owner: u64,
    cookie: u64,
    op: Op,
    /// A read whose data nobody wants.
    cache_only: bool,
    headroom_bytes: usize,
    /// A read of what stands before the medium. It takes as long.
    shadow: bool,
    offset_bytes: u64,
    length_bytes: u64,
    /// Of a trim: what comes after that, the last first.
    further: Vec<Extent>,
    /// Of all extents.
    total_bytes: u64,
    held_bytes: u64,
    fua: bool,
    /// Where the next part begins.
    cursor: u64,
    parts: u32,
    parts_under_way: u32,
    /// A flush follows the last part.
    then_flush: bool,
    data: Vec<u8>,
    payloads: Vec<Option<PayloadId>>,
    error: Option<DriveError>,
    /// When the client's request came.
    submitted: Nanos,
    /// Of the part that has ended last.
    breakdown: Breakdown,
    /// Of the last part before the flush that follows.
    before_flush: Breakdown,
    starting: Nanos,
    /// Nobody waits for it any more, and some of it was never done.
    given_up: bool,
}

impl Job {
    /// What is not at the device yet does not go there.
    fn send_no_more(&mut self) {
        self.cursor = self.length_bytes;
        self.further.clear();
        self.then_flush = false;
    }

    fn give_up(&mut self) {
        self.given_up |= self.cursor < self.length_bytes || !self.further.is_empty() || self.then_flush;
        self.send_no_more();
    }

    fn part_bytes(&self) -> u64 {
        if self.op == Op::Trim { TRIM_COMMAND_BYTES } else { COMMAND_BYTES }
    }
}

/// See the module's own page.
pub struct Drive {
    pub device: ContentDevice,
    export: Export,
    lock: Option<Lock>,
    /// Bytes of contents that may be stored.
    memory_bytes: u64,
    jobs: Vec<Option<Job>>,
    free: Vec<u32>,
    /// Bytes of writes that are under way.
    incoming_bytes: u64,
    done: Vec<Completion>,
    pub served: [Served; Op::ALL.len()],
    /// Commands that have failed and ask nothing of the medium, so that they are of no kind of request.
    pub other_errors: u64,
    slow: std::collections::VecDeque<SlowRequest>,
    /// A request that takes longer is slow.
    slow_beyond: SlowBeyond,
    /// What the parts of the device do while the slowest request waits, if they tell.
    watch: Option<Watch>,
    /// When it began to be served.
    began: Nanos,
    restores: u32,
    /// When it is ready after the last of them.
    ready_at: Nanos,
    resets: u32,
    settling: Settling,
    /// Outcomes of requests that were given up before they had begun.
    given_up: Vec<Outcome>,
    standing_by: Option<StandBy>,
    /// A host has asked for that, and for nothing since.
    stands_by: bool,
    /// Up to which the device's time has passed at once, while it went to stand by.
    passed: Nanos,
}

impl Drive {
    #[must_use]
    pub fn new(mut device: ContentDevice, mut export: Export, memory_bytes: u64) -> Self {
        if let Some(unit_bytes) = device.unit_bytes() {
            export.has_pages_of(unit_bytes);
        }
        let watch = Watch::begin(&mut device, 0);
        Drive {
            device,
            export,
            lock: None,
            memory_bytes,
            jobs: Vec::new(),
            free: Vec::new(),
            incoming_bytes: 0,
            done: Vec::new(),
            served: Default::default(),
            other_errors: 0,
            slow: std::collections::VecDeque::new(),
            slow_beyond: SlowBeyond::default(),
            watch,
            began: 0,
            restores: 0,
            ready_at: 0,
            resets: 0,
            settling: Settling::default(),
            given_up: Vec::new(),
            standing_by: None,
            stands_by: false,
            passed: 0,
        }
    }

    /// The same drive with passwords and ranges.
    #[must_use]
    pub fn with_lock(self, lock: Lock) -> Self {
        Drive { lock: Some(lock), ..self }
    }

    #[must_use]
    pub fn lock(&self) -> Option<&Lock> {
        self.lock.as_ref()
    }

    #[must_use]
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Requests that have ended at the device since serving began.
    #[must_use]
    pub fn requests_served(&self) -> u64 {
        self.slow_beyond.all().count()
    }

    /// How long all of them took, in the drive's time.
    #[must_use]
    pub fn latencies(&self) -> &Histogram {
        self.slow_beyond.all()
    }

    /// Requests under way, and an erase or a standby that a host has asked for.
    #[must_use]
    pub fn under_way(&self) -> usize {
        let lock = self.lock.as_ref().map_or(0, |lock| lock.waiting.len() + usize::from(lock.is_erasing()));
        let standing_by = self.standing_by.as_ref().map_or(0, |stand_by| 1 + stand_by.waiting.len());
        self.jobs.len() - self.free.len() + lock + standing_by
    }

    /// When something will happen by itself.
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        let lock = self.lock.as_ref().filter(|lock| lock.is_erasing());
        let erase = lock.and_then(|lock| lock.next_event().or(self.is_idle().then_some(self.ready_at)));
        let standing_by = self.standing_by.as_ref();
        let stand_by =
            standing_by.and_then(|s| s.ends.or((self.is_idle() && !self.is_erasing()).then_some(self.ready_at)));
        let given_up = (!self.given_up.is_empty()).then_some(self.ready_at);
        self.device.next_event().into_iter().chain(erase).chain(stand_by).chain(given_up).min()
    }

    /// Whether the drive is ready for commands: after the power has come back, that takes a while.
    #[must_use]
    pub fn is_ready(&self, now: Nanos) -> bool {
        self.device.has_power() && now >= self.ready_at
    }

    /// Whether a host has had it stand by, and wanted nothing of it since.
    #[must_use]
    pub fn stands_by(&self) -> bool {
        self.stands_by
    }

    /// The device's own time, which may be ahead while it goes to stand by.
    #[must_use]
    pub fn device_time(&self, now: Nanos) -> Nanos {
        now.max(self.passed)
    }

    fn is_erasing(&self) -> bool {
        self.device.is_erasing() || self.lock.as_ref().is_some_and(Lock::is_erasing)
    }

    /// No request is at the device.
    fn is_idle(&self) -> bool {
        self.jobs.len() == self.free.len()
    }

    /// Whether the parts of the device tell what they do.
    pub fn tells_what_it_does(&self) -> bool {
        self.watch.is_some()
    }

    /// What the parts of the device did while the slowest request waited, of those that have ended since this was asked last.
    pub fn slowest_seen(&mut self) -> Option<SlowestSeen> {
        self.watch.as_mut()?.begin_anew()
    }

    /// What slow requests take longer than, by the kinds of which enough have ended to tell.
    pub fn slow_beyond(&self) -> impl Iterator<Item = (Op, Nanos)> {
        self.slow_beyond.told()
    }

    /// The last slow requests, the latest first.
    pub fn slow(&self) -> impl Iterator<Item = &SlowRequest> {
        self.slow.iter().rev()
    }

    /// Serving begins at `now`.
    pub fn begin(&mut self, now: Nanos) {
        self.began = now;
    }

    /// When serving began.
    #[must_use]
    pub fn began(&self) -> Nanos {
        self.began
    }

    /// How often the power has come back.
    #[must_use]
    pub fn restores(&self) -> u32 {
        self.restores
    }

    /// How often a client has reset the drive, of which the others must hear.
    #[must_use]
    pub fn resets(&self) -> u32 {
        self.resets
    }

    pub fn count_reset(&mut self) {
        self.resets += 1;
        if let Some(lock) = &mut self.lock {
            lock.host_reset();
        }
    }

    /// Owner of every request that is under way, or waits, and when it came.
    fn requests(&self) -> impl Iterator<Item = (u64, Nanos)> {
        let behind_lock = self.lock.iter().flat_map(|lock| &lock.waiting);
        let behind_stand_by = self.standing_by.iter().flat_map(|stand_by| &stand_by.waiting);
        let waiting = behind_lock.chain(behind_stand_by).map(|(came, request)| (request.owner, *came));
        self.jobs.iter().flatten().map(|job| (job.owner, job.submitted)).chain(waiting)
    }

    /// Whose requests these are.
    #[must_use]
    pub fn owners(&self) -> BTreeSet<u64> {
        self.requests().map(|(owner, _)| owner).collect()
    }

    /// An outcome with this cookie will come to this owner when all that has come by `now` has ended. `false`: nothing is under way.
    pub fn settle(&mut self, now: Nanos, owner: u64, cookie: u64) -> bool {
        let some = self.requests().next().is_some();
        if some {
            self.settling.wait(owner, cookie, now);
        }
        some
    }

    /// Nobody waits for a request any more. What of it is not at the device never goes there, and cannot change what is written
    /// later. Its outcome comes once the device has done the rest.
    pub fn give_up(&mut self, owner: u64, cookie: u64) {
        self.give_up_those(|of, known_by| (of, known_by) == (owner, cookie));
    }

    /// The same of all that an owner has asked for who is gone.
    pub fn abandon(&mut self, owner: u64) {
        self.settling.forget(owner);
        self.give_up_those(|of, _| of == owner);
    }

    fn give_up_those(&mut self, is_one: impl Fn(u64, u64) -> bool) {
        self.jobs.iter_mut().flatten().filter(|job| is_one(job.owner, job.cookie)).for_each(Job::give_up);
        let behind_lock = self.lock.iter_mut().map(|lock| &mut lock.waiting);
        let behind_stand_by = self.standing_by.iter_mut().map(|stand_by| &mut stand_by.waiting);
        for waiting in behind_lock.chain(behind_stand_by) {
            let given_up = waiting.extract_if(.., |(_, request)| is_one(request.owner, request.cookie));
            self.given_up.extend(given_up.map(|(due, request)| Outcome {
                owner: request.owner,
                cookie: request.cookie,
                held_bytes: request.held_bytes(),
                result: Err(DriveError::Aborted),
                due,
            }));
        }
    }

    /// Whether a stretch can be read, or changed in this way.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, op: Op, extent: Extent) -> Result<(), DriveError> {
        self.check_without_locks(op, extent)?;
        self.meets(op, extent).map(drop)
    }

    /// The same as if nothing were locked.
    ///
    /// # Errors
    /// As of [`Drive::check`].
    pub fn check_without_locks(&self, op: Op, extent: Extent) -> Result<(), DriveError> {
        let Extent { offset_bytes, length_bytes } = extent;
        if !self.device.has_power() {
            return Err(DriveError::NoPower);
        }
        if op == Op::Trim && !self.export.trim {
            return Err(DriveError::NotSupported);
        }
        if matches!(op, Op::Write | Op::WriteZeroes | Op::Trim) && self.export.read_only {
            return Err(DriveError::NotPermitted);
        }
        if op == Op::Flush {
            return Ok(());
        }
        let device = self.device.info();
        if !device.contains(offset_bytes, length_bytes) {
            return Err(DriveError::OutOfRange);
        }
        if !device.is_whole(offset_bytes, length_bytes) {
            return Err(DriveError::Invalid);
        }
        Ok(())
    }

    /// Whether the image has room for what is asked for.
    fn check_image(&mut self, op: Op) -> Result<(), DriveError> {
        if op == Op::Read || !self.device.image_is_full() {
            return Ok(());
        }
        self.device.catch_up_image();
        if self.device.image_is_full() { Err(DriveError::NoSpace) } else { Ok(()) }
    }

    fn meets(&self, op: Op, extent: Extent) -> Result<Meets, DriveError> {
        match &self.lock {
            Some(lock) if op != Op::Flush && extent.length_bytes > 0 => lock.meets(extent, op != Op::Read),
            _ => Ok(Meets::Drive),
        }
    }

    /// Takes a request of a client; time has passed to `now`. Zeroes are written like any data on a device that has no command
    /// for them.
    ///
    /// # Errors
    /// Why nothing of it has happened.
    pub fn start(&mut self, now: Nanos, request: DriveRequest) -> Result<Started, DriveError> {
        self.start_since(now, now, request)
    }

    /// The same of one that came at `came`.
    fn start_since(&mut self, came: Nanos, now: Nanos, request: DriveRequest) -> Result<Started, DriveError> {
        let op = request.op;
        let started = self.try_start(came, now, request);
        if started.is_err() {
            self.count_failed(Some(op));
        }
        started
    }

    /// A request has failed without the device: it was refused, here or by a client's protocol, or went with the power. `None`: it
    /// asks nothing of the medium.
    pub(crate) fn count_failed(&mut self, op: Option<Op>) {
        match op {
            Some(op) => self.count(op, true),
            None => self.other_errors += 1,
        }
    }

    fn count(&mut self, op: Op, has_failed: bool) {
        let served = &mut self.served[self.sent_as(op) as usize];
        served.requests += 1;
        served.errors += u64::from(has_failed);
    }

    /// A request has succeeded at the device and is counted, but what it has brought is not what its client wants.
    pub(crate) fn count_unwanted(&mut self, op: Op) {
        self.served[self.sent_as(op) as usize].errors += 1;
    }

    /// A device without a command for zeroes has them written.
    fn sent_as(&self, op: Op) -> Op {
        if op == Op::WriteZeroes && !self.export.write_zeroes { Op::Write } else { op }
    }

    fn try_start(&mut self, came: Nanos, now: Nanos, request: DriveRequest) -> Result<Started, DriveError> {
        if let Some(lock) = self.lock.as_mut().filter(|lock| lock.is_erasing()) {
            let held_bytes = request.held_bytes();
            lock.waiting.push((came, request));
            return Ok(Started::Later { held_bytes });
        }
        if let Some(stand_by) = &mut self.standing_by {
            let held_bytes = request.held_bytes();
            stand_by.waiting.push((came, request));
            return Ok(Started::Later { held_bytes });
        }
        if request.stands_by && self.device.has_plug() {
            self.check(Op::Flush, Extent::default())?;
            self.check_image(Op::Flush)?;
            self.standing_by = Some(StandBy::new(&request));
            return Ok(Started::Later { held_bytes: 0 });
        }
        let held_bytes = request.held_bytes();
        let DriveRequest { owner, cookie, op, extent, mut further, data, fua, cache_only, headroom_bytes, .. } =
            request;
        self.check(op, extent)?;
        further.iter().try_for_each(|&extent| self.check(op, extent))?;
        self.check_image(op)?;
        let (offset_bytes, length_bytes) =
            if op == Op::Flush { (0, 0) } else { (extent.offset_bytes, extent.length_bytes) };
        let total_bytes = length_bytes + further.iter().map(|e| e.length_bytes).sum::<u64>();
        if total_bytes == 0 && op != Op::Flush {
            return Ok(Started::Done);
        }
        let op = self.sent_as(op);
        if !data.is_empty() {
            let stored = self.device.store().stored_pages() * ssdlab_contents::PAGE_BYTES as u64;
            let room = self.memory_bytes.saturating_sub(stored + self.incoming_bytes);
            // An edge may need a page of its own. Where that is too much, it is looked which pages are there already.
            let at_most = total_bytes + 2 * ssdlab_contents::PAGE_BYTES as u64;
            if at_most > room && self.new_bytes(extent, &data) > room {
                return Err(DriveError::NoSpace);
            }
        }
        further.reverse();
        let job = Job {
            owner,
            cookie,
            op,
            cache_only,
            headroom_bytes,
            shadow: self.meets(op, extent)? == Meets::Shadow,
            offset_bytes,
            length_bytes,
            further,
            total_bytes,
            held_bytes,
            fua,
            cursor: 0,
            parts: 0,
            parts_under_way: 0,
            // Of a trim no device knows FUA.
            then_flush: op == Op::Trim && fua,
            data,
            payloads: Vec::new(),
            error: None,
            submitted: came,
            breakdown: Breakdown::default(),
            before_flush: Breakdown::default(),
            starting: 0,
            given_up: false,
        };
        if op == Op::Write {
            self.incoming_bytes += held_bytes;
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.jobs[slot as usize] = Some(job);
                slot
            }
            None => {
                self.jobs.push(Some(job));
                self.jobs.len() as u32 - 1
            }
        };
        self.stands_by = false;
        self.send_parts(now, slot);
        Ok(Started::Later { held_bytes })
    }

    /// Bytes of the pages that a write of this data adds to what is stored: not those that are there, nor those that get zeroes only.
    fn new_bytes(&self, Extent { offset_bytes, length_bytes }: Extent, data: &[u8]) -> u64 {
        let store = self.device.store();
        let end = offset_bytes + length_bytes;
        let is_new = |&unit: &u64| {
            let (from, to) = ((unit * UNIT_BYTES).max(offset_bytes), ((unit + 1) * UNIT_BYTES).min(end));
            // The rest of a page that is not there is zeroes.
            let is_zero = || {
                let part = data.get((from - offset_bytes) as usize..(to - offset_bytes) as usize);
                part.is_some_and(|part| part.iter().all(|&byte| byte == 0))
            };
            store.page(unit as u32).is_none() && !is_zero()
        };
        (offset_bytes / UNIT_BYTES..end.div_ceil(UNIT_BYTES)).filter(is_new).count() as u64 * UNIT_BYTES
    }

    /// Whether the drive has commands of a security protocol (TRUSTED SEND and RECEIVE, SECURITY PROTOCOL OUT and IN).
    #[must_use]
    pub fn has_security_protocols(&self) -> bool {
        self.lock.is_some()
    }

    /// Gives data to a security protocol. `specific`: what the protocol makes of it, such as the number of a session. Of a drive
    /// that is served read-only, methods that erase fail; all else works, so that it can be unlocked.
    ///
    /// # Errors
    /// [`DriveError::NotSupported`] if the drive does not know the protocol; [`DriveError::Invalid`] if it refuses the data.
    pub fn security_send(&mut self, now: Nanos, protocol: u8, specific: u16, data: &[u8]) -> Result<(), DriveError> {
        if !self.device.has_power() {
            return Err(DriveError::NoPower);
        }
        let lock = self.lock.as_mut().ok_or(DriveError::NotSupported)?;
        lock.send(&mut self.device, self.export.read_only, now, protocol, specific, data)?;
        self.wake();
        Ok(())
    }

    /// Takes from a security protocol what it has to say, at most so many bytes.
    ///
    /// # Errors
    /// As of [`Drive::security_send`].
    pub fn security_receive(
        &mut self,
        now: Nanos,
        protocol: u8,
        specific: u16,
        most_bytes: usize,
    ) -> Result<Vec<u8>, DriveError> {
        if !self.device.has_power() {
            return Err(DriveError::NoPower);
        }
        let lock = self.lock.as_mut().ok_or(DriveError::NotSupported)?;
        let bytes = lock.receive(now, protocol, specific, most_bytes)?;
        self.wake();
        Ok(bytes)
    }

    /// A command came that is none of the device's queue: a drive that stands by does so no longer, or not once it does.
    pub(crate) fn wake(&mut self) {
        if let Some(stand_by) = &mut self.standing_by {
            stand_by.woken = true;
        } else if std::mem::take(&mut self.stands_by) {
            self.device.wake();
        }
    }

    fn send_parts(&mut self, now: Nanos, slot: u32) {
        let now = self.device_time(now);
        let job = self.jobs[slot as usize].as_mut().expect("a request that is not there");
        loop {
            let left = job.length_bytes - job.cursor;
            if left == 0
                && let Some(next) = job.further.pop()
            {
                (job.offset_bytes, job.length_bytes, job.cursor) = (next.offset_bytes, next.length_bytes, 0);
                continue;
            }
            let flush = job.op == Op::Flush && job.parts == 0;
            if left == 0 && !flush || job.parts_under_way >= MOST_PARTS {
                return;
            }
            // Of a trim only whole units are forgotten: a part ends with one.
            let beyond = if job.op == Op::Trim { (job.offset_bytes + job.cursor) % self.export.trim_bytes } else { 0 };
            let bytes = left.min(job.part_bytes() - beyond);
            let tag = u64::from(job.parts) << 32 | u64::from(slot);
            let payload = match job.op {
                Op::Read if !job.cache_only => {
                    let headroom = if job.parts == 0 { job.headroom_bytes } else { 0 };
                    let mut buffer = Vec::with_capacity(headroom + bytes as usize);
                    buffer.resize(headroom, 0);
                    Some(self.device.insert(buffer))
                }
                Op::Write if bytes == job.length_bytes && !job.data.is_empty() => {
                    Some(self.device.insert(std::mem::take(&mut job.data)))
                }
                Op::Write if !job.data.is_empty() => {
                    let from = job.cursor as usize;
                    Some(self.device.insert(job.data[from..from + bytes as usize].to_vec()))
                }
                _ => None,
            };
            let request = Request::new(tag, job.op, job.offset_bytes + job.cursor, bytes);
            // FUA means something for what is written.
            let request = request.with_fua(job.fua && matches!(job.op, Op::Write | Op::WriteZeroes));
            let request = Request { payload, ..request };
            if let Err(refusal) = self.device.submit(now, request) {
                panic!("the device refused what its description allows: {refusal}");
            }
            job.payloads.push(payload);
            job.cursor += bytes;
            job.parts += 1;
            job.parts_under_way += 1;
        }
    }

    /// Lets time pass; appends the outcomes of requests that have ended.
    pub fn advance(&mut self, to: Nanos, outcomes: &mut Vec<Outcome>) {
        // Until then the device is at rest.
        if to >= self.passed {
            let mut done = std::mem::take(&mut self.done);
            self.device.advance(to, &mut done);
            for c in done.drain(..) {
                self.part_done(to, &c, outcomes);
            }
            self.done = done;
        }
        outcomes.extend(self.given_up.drain(..).map(|outcome| Outcome { due: to, ..outcome }));
        self.go_on_erasing(to, outcomes);
        self.go_on_standing_by(to, outcomes);
        if self.settling.somebody_waits() && !outcomes.is_empty() {
            let oldest = self.requests().map(|(_, came)| came).min();
            self.settling.ended(oldest, outcomes);
        }
    }

    /// An erase that a host has asked for begins and ends; what waited for it is started.
    fn go_on_erasing(&mut self, now: Nanos, outcomes: &mut Vec<Outcome>) {
        let stands_by = self.standing_by.as_ref().is_some_and(|stand_by| stand_by.ends.is_some());
        let at_rest = self.is_idle() && now >= self.ready_at && !stands_by;
        let Some(lock) = &mut self.lock else { return };
        let waiting = lock.go_on(&mut self.device, now, at_rest);
        self.start_all(now, waiting, outcomes);
    }

    /// A standby that a host has asked for begins and ends; what waited for it is started.
    fn go_on_standing_by(&mut self, now: Nanos, outcomes: &mut Vec<Outcome>) {
        let at_rest = self.is_idle() && now >= self.ready_at && !self.is_erasing();
        let Some(stand_by) = &mut self.standing_by else { return };
        let ends = match stand_by.ends {
            Some(ends) => ends,
            None if !at_rest => return,
            None => {
                self.passed = self.device.stand_by(now);
                *stand_by.ends.insert(self.passed)
            }
        };
        if ends > now {
            return;
        }
        let stand_by = self.standing_by.take().expect("it is there");
        self.stands_by = true;
        // What could not be kept must not count as done.
        let result = match self.device.image_error() {
            None => Ok(()),
            Some(_) if self.device.image_is_full() => Err(DriveError::NoSpace),
            Some(_) => Err(DriveError::Aborted),
        };
        self.count(Op::Flush, result.is_err());
        outcomes.push(stand_by.outcome(result, ends));
        if stand_by.woken {
            self.wake();
        }
        self.start_all(now, stand_by.waiting, outcomes);
    }

    fn start_all(&mut self, now: Nanos, requests: Vec<(Nanos, DriveRequest)>, outcomes: &mut Vec<Outcome>) {
        for (came, request) in requests {
            let (owner, cookie, held_bytes) = (request.owner, request.cookie, request.held_bytes());
            let result = match self.start_since(came, now, request) {
                Ok(Started::Later { .. }) => continue,
                Ok(Started::Done) => Ok(Vec::new()),
                Err(error) => Err(error),
            };
            outcomes.push(Outcome { owner, cookie, held_bytes, result, due: now });
        }
    }

    fn part_done(&mut self, now: Nanos, c: &Completion, outcomes: &mut Vec<Outcome>) {
        let slot = c.tag as u32;
        let job = self.jobs[slot as usize].as_mut().expect("a request that is not there");
        job.parts_under_way -= 1;
        job.breakdown = c.breakdown;
        job.breakdown.merge(&job.before_flush);
        job.starting = self.ready_at.min(c.completed).saturating_sub(c.submitted);
        let part = (c.tag >> 32) as usize;
        if job.op == Op::Write
            && let Some(id) = job.payloads[part].take()
        {
            drop(self.device.take(id));
        }
        // The medium under a shadow does not matter.
        if let Some(error) = error_of(c.status, c.op).filter(|_| !job.shadow) {
            // That is why the command was aborted.
            let full = error == DriveError::Aborted && c.op != Op::Read && self.device.image_is_full();
            job.error.get_or_insert(if full { DriveError::NoSpace } else { error });
            job.send_no_more();
        }
        if job.cursor < job.length_bytes || !job.further.is_empty() {
            return self.send_parts(now, slot);
        }
        if job.parts_under_way > 0 {
            return;
        }
        if std::mem::take(&mut job.then_flush) {
            job.before_flush = job.breakdown;
            job.parts += 1;
            job.parts_under_way += 1;
            job.payloads.push(None);
            let tag = u64::from(job.parts - 1) << 32 | u64::from(slot);
            if let Err(refusal) = self.device.submit(now, Request::flush(tag)) {
                panic!("the device refused a flush: {refusal}");
            }
            return;
        }
        let job = self.jobs[slot as usize].take().expect("a request that is not there");
        self.free.push(slot);
        outcomes.push(self.finish(job, c.completed));
    }

    fn finish(&mut self, job: Job, completed: Nanos) -> Outcome {
        let held_bytes = job.held_bytes;
        if job.op == Op::Write {
            self.incoming_bytes -= held_bytes;
        }
        if !job.given_up {
            self.account(&job, completed);
        }
        let mut pieces: Vec<Vec<u8>> = job.payloads.into_iter().flatten().map(|id| self.device.take(id)).collect();
        let shadow = self.lock.as_ref().map(Lock::tper).filter(|_| job.shadow);
        if let Some(tper) = shadow.filter(|_| !job.cache_only) {
            let mut bytes = vec![0; job.headroom_bytes + job.total_bytes as usize];
            tper.read_shadow(job.offset_bytes, &mut bytes[job.headroom_bytes..]);
            pieces = vec![bytes];
        }
        let error = job.error.or(job.given_up.then_some(DriveError::Aborted));
        let result = error.map_or(Ok(pieces), Err);
        Outcome { owner: job.owner, cookie: job.cookie, held_bytes, result, due: completed }
    }

    fn account(&mut self, job: &Job, completed: Nanos) {
        let latency = completed - job.submitted;
        let mut breakdown = job.breakdown;
        // A device that does not tell where time went still does not.
        if breakdown.sum() > 0 {
            breakdown.add(Cause::Queue, latency.saturating_sub(breakdown.sum()));
        }
        self.count(job.op, job.error.is_some());
        let served = &mut self.served[job.op as usize];
        served.bytes += job.total_bytes;
        served.latency.record(latency);
        let is_slow = self.slow_beyond.is_slow(job.op, latency, &served.latency);
        if let Some(watch) = &mut self.watch {
            let request = Completion {
                tag: 0,
                op: job.op,
                status: Status::Ok,
                offset_bytes: job.offset_bytes,
                length_bytes: job.total_bytes,
                submitted: job.submitted,
                completed,
                breakdown,
            };
            watch.ended(&request, &mut self.device);
        }
        if is_slow {
            if self.slow.len() == REMEMBERED {
                self.slow.pop_front();
            }
            self.slow.push_back(SlowRequest {
                op: job.op,
                offset_bytes: job.offset_bytes,
                length_bytes: job.total_bytes,
                submitted: job.submitted,
                latency,
                breakdown,
                starting: job.starting,
            });
        }
    }

    /// Takes the power away; time has passed to `now`. A cut while the drive goes to stand by finds it there. Returns what is never
    /// answered by the device, as outcomes that say so: whether anybody hears of them is for the host to decide.
    pub fn cut(&mut self, now: Nanos) -> Vec<Outcome> {
        self.device.cut(self.device_time(now));
        self.stands_by = false;
        self.incoming_bytes = 0;
        self.free.clear();
        let jobs: Vec<Job> = std::mem::take(&mut self.jobs).into_iter().flatten().collect();
        // Those of parts that had come back; the others went with their commands.
        jobs.iter().flat_map(|job| job.payloads.iter().flatten()).for_each(|&id| self.device.release(id));
        let waiting = self.lock.as_mut().map_or_else(Vec::new, |lock| lock.cut(&mut self.device));
        let stand_by = self.standing_by.take();
        let behind = stand_by.iter().flat_map(|stand_by| &stand_by.waiting);
        let waiting = waiting.iter().chain(behind).map(|(_, request)| request);
        let waited_for = jobs.iter().filter(|job| !job.given_up).map(|job| job.op);
        let waited_for = waited_for.chain(waiting.clone().map(|request| request.op));
        waited_for.chain(stand_by.iter().map(|_| Op::Flush)).for_each(|op| self.count_failed(Some(op)));
        let jobs = jobs.into_iter().map(|job| (job.owner, job.cookie, job.held_bytes));
        let waiting = waiting.map(|request| (request.owner, request.cookie, request.held_bytes()));
        let lost = jobs.chain(waiting).map(|(owner, cookie, held_bytes)| Outcome {
            owner,
            cookie,
            held_bytes,
            result: Err(DriveError::NoPower),
            due: now,
        });
        let stand_by = stand_by.as_ref().map(|stand_by| stand_by.outcome(Err(DriveError::NoPower), now));
        let given_up = std::mem::take(&mut self.given_up).into_iter().map(|outcome| Outcome { due: now, ..outcome });
        let settling = self.settling.cut(now);
        stand_by.into_iter().chain(lost).chain(given_up).chain(settling).collect()
    }

    /// Gives the power back. Returns the time at which the device is ready.
    pub fn restore(&mut self, now: Nanos) -> Nanos {
        self.restores += 1;
        self.ready_at = self.device.restore(self.device_time(now));
        if let Some(watch) = &mut self.watch {
            watch.starts_until(self.ready_at);
        }
        self.ready_at
    }
}

/// What a command's status means for who asked.
fn error_of(status: Status, op: Op) -> Option<DriveError> {
    match status {
        Status::Ok => None,
        Status::MediaError => Some(DriveError::Medium),
        Status::ReadOnly if matches!(op, Op::Read | Op::Flush) => Some(DriveError::Aborted),
        Status::ReadOnly => Some(DriveError::WriteProtected),
        Status::Locked => Some(DriveError::Locked),
        Status::Aborted => Some(DriveError::Aborted),
        Status::Gone => Some(DriveError::NoPower),
    }
}
