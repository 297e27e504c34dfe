//! Requests of clients become commands of the device, and completions become replies.

use ssdlab_bench::host::TRIM_COMMAND_BYTES;
use ssdlab_contents::{ContentDevice, Kind};
use ssdlab_core::{Breakdown, Histogram, Nanos, Op};
use ssdlab_device::{Completion, Device, PayloadId, Request, Status};

use crate::nbd::words::*;
use crate::nbd::{ALLOCATION, Export, NbdRequest, reply};

/// What one command carries: larger requests are split as the system's block layer would, into parts that are sent
/// together.
const COMMAND_BYTES: u64 = 1 << 20;
/// Parts of one request that are at the device together.
const MOST_PARTS: u32 = 32;
/// Slow requests that are remembered.
const REMEMBERED: usize = 32;
/// Extents of one reply.
const MOST_EXTENTS: usize = 1 << 16;

/// A reply on its way to a client.
pub struct Reply {
    /// Who asked.
    pub owner: u64,
    /// What the request held of [`Drive::start`]'s account.
    pub held_bytes: u64,
    pub pieces: Vec<Vec<u8>>,
    /// When the client should have it.
    pub due: Nanos,
}

/// A request that took long.
#[derive(Clone, Copy, Debug)]
pub struct SlowRequest {
    pub op: Op,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    pub submitted: Nanos,
    pub latency: Nanos,
    /// Of its last part, if it was split.
    pub breakdown: Breakdown,
}

/// Requests of one kind.
#[derive(Clone, Default)]
pub struct Served {
    pub requests: u64,
    pub bytes: u64,
    pub errors: u64,
    pub latency: Histogram,
}

struct Job {
    owner: u64,
    cookie: u64,
    op: Op,
    /// A read whose data nobody wants.
    cache_only: bool,
    /// How a success and an error are said.
    structured: bool,
    offset_bytes: u64,
    length_bytes: u64,
    fua: bool,
    /// Where the next part begins.
    cursor: u64,
    parts: u32,
    parts_under_way: u32,
    /// A flush follows the last part.
    then_flush: bool,
    data: Vec<u8>,
    payloads: Vec<Option<PayloadId>>,
    error: Option<NbdError>,
    submitted: Nanos,
    breakdown: Breakdown,
}

impl Job {
    fn held_bytes(&self) -> u64 {
        if self.cache_only || !matches!(self.op, Op::Read | Op::Write) { 0 } else { self.length_bytes }
    }
}

/// What a request becomes.
pub enum Started {
    /// A reply will come; it holds so many bytes until then.
    Later { held_bytes: u64 },
    /// It is answered already.
    Now(Vec<u8>),
}

/// See the module's own page.
pub struct Drive {
    pub device: ContentDevice,
    export: Export,
    /// Bytes of contents that may be stored.
    memory_bytes: u64,
    jobs: Vec<Option<Job>>,
    free: Vec<u32>,
    /// Bytes of writes that are under way.
    incoming_bytes: u64,
    done: Vec<Completion>,
    pub served: [Served; Op::ALL.len()],
    slow: std::collections::VecDeque<SlowRequest>,
    /// A request that takes longer is slow: the 99th percentile of a while ago.
    slow_from: Nanos,
    completed: u64,
    all: Histogram,
}

impl Drive {
    #[must_use]
    pub fn new(device: ContentDevice, export: Export, memory_bytes: u64) -> Self {
        Drive {
            device,
            export,
            memory_bytes,
            jobs: Vec::new(),
            free: Vec::new(),
            incoming_bytes: 0,
            done: Vec::new(),
            served: Default::default(),
            slow: std::collections::VecDeque::new(),
            slow_from: 0,
            completed: 0,
            all: Histogram::new(),
        }
    }

    #[must_use]
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Requests under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.jobs.len() - self.free.len()
    }

    /// The last slow requests, the latest first.
    pub fn slow(&self) -> impl Iterator<Item = &SlowRequest> {
        self.slow.iter().rev()
    }

    /// Takes a request of a client; time has passed to `now`.
    pub fn start(
        &mut self,
        now: Nanos,
        owner: u64,
        structured: bool,
        allocation: bool,
        request: NbdRequest,
    ) -> Started {
        let cookie = request.cookie;
        // Reads and block status answer in chunks where that was agreed on; the others need no more than a simple reply.
        let chunked = structured && matches!(request.command, CMD_READ | CMD_BLOCK_STATUS);
        let answer = |error: Option<NbdError>| {
            let mut out = Vec::new();
            reply::short(&mut out, cookie, error, chunked);
            Started::Now(out)
        };
        let (op, parts_of) = match self.judge(&request, structured, allocation) {
            Err(error) => return answer(Some(error)),
            Ok(Judged::Done) => return answer(None),
            Ok(Judged::BlockStatus) => return Started::Now(self.block_status(&request)),
            Ok(Judged::Command(op)) => (op, if op == Op::Trim { TRIM_COMMAND_BYTES } else { COMMAND_BYTES }),
        };
        let length_bytes = if op == Op::Flush { 0 } else { u64::from(request.length_bytes) };
        let job = Job {
            owner,
            cookie,
            op,
            cache_only: request.command == CMD_CACHE,
            structured: chunked,
            offset_bytes: if op == Op::Flush { 0 } else { request.offset_bytes },
            length_bytes,
            fua: request.flags & CMD_FLAG_FUA != 0,
            cursor: 0,
            parts: 0,
            parts_under_way: 0,
            // Of a trim no device knows FUA.
            then_flush: op == Op::Trim && request.flags & CMD_FLAG_FUA != 0,
            data: request.data,
            payloads: Vec::new(),
            error: None,
            submitted: now,
            breakdown: Breakdown::default(),
        };
        let held_bytes = job.held_bytes();
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
        self.send_parts(now, slot, parts_of);
        Started::Later { held_bytes }
    }

    fn judge(&self, r: &NbdRequest, structured: bool, allocation: bool) -> Result<Judged, NbdError> {
        let known = match r.command {
            CMD_READ => CMD_FLAG_FUA | if structured { CMD_FLAG_DF } else { 0 },
            CMD_WRITE | CMD_FLUSH | CMD_TRIM | CMD_CACHE => CMD_FLAG_FUA,
            CMD_WRITE_ZEROES => CMD_FLAG_FUA | CMD_FLAG_NO_HOLE | CMD_FLAG_FAST_ZERO,
            CMD_BLOCK_STATUS if allocation => CMD_FLAG_FUA | CMD_FLAG_REQ_ONE,
            _ => return Err(NbdError::Invalid),
        };
        if let Some(error) = r.error {
            return Err(error);
        }
        let changes = matches!(r.command, CMD_WRITE | CMD_WRITE_ZEROES | CMD_TRIM);
        if r.flags & !known != 0 || r.command == CMD_TRIM && !self.export.trim {
            return Err(NbdError::Invalid);
        }
        if changes && self.export.read_only {
            return Err(NbdError::NotPermitted);
        }
        if r.command == CMD_FLUSH {
            return Ok(Judged::Command(Op::Flush));
        }
        let (offset, length) = (r.offset_bytes, u64::from(r.length_bytes));
        if offset > self.export.size_bytes || length > self.export.size_bytes - offset {
            return Err(if matches!(r.command, CMD_WRITE | CMD_WRITE_ZEROES) {
                NbdError::NoSpace
            } else {
                NbdError::Invalid
            });
        }
        let sector = u64::from(self.export.sector_bytes);
        if !offset.is_multiple_of(sector) || !length.is_multiple_of(sector) {
            return Err(NbdError::Invalid);
        }
        let carries = matches!(r.command, CMD_READ | CMD_WRITE);
        if carries && length > crate::nbd::MAX_PAYLOAD_BYTES.into() {
            return Err(NbdError::Invalid);
        }
        if length == 0 {
            return if r.command == CMD_BLOCK_STATUS { Err(NbdError::Invalid) } else { Ok(Judged::Done) };
        }
        match r.command {
            CMD_READ | CMD_CACHE => Ok(Judged::Command(Op::Read)),
            CMD_WRITE => {
                let stored = self.device.store().stored_pages() * ssdlab_contents::PAGE_BYTES as u64;
                let room = self.memory_bytes.saturating_sub(stored + self.incoming_bytes);
                // An edge may need a page of its own.
                let needed = length + 2 * ssdlab_contents::PAGE_BYTES as u64;
                if needed > room { Err(NbdError::NoSpace) } else { Ok(Judged::Command(Op::Write)) }
            }
            CMD_TRIM => Ok(Judged::Command(Op::Trim)),
            CMD_WRITE_ZEROES if self.export.write_zeroes => Ok(Judged::Command(Op::WriteZeroes)),
            // As slow as any write.
            CMD_WRITE_ZEROES if r.flags & CMD_FLAG_FAST_ZERO != 0 => Err(NbdError::NotSupported),
            CMD_WRITE_ZEROES => Ok(Judged::Command(Op::Write)),
            _ => Ok(Judged::BlockStatus),
        }
    }

    fn block_status(&self, r: &NbdRequest) -> Vec<u8> {
        let one = r.flags & CMD_FLAG_REQ_ONE != 0;
        let stretches = self.device.store().stretches(r.offset_bytes, r.length_bytes.into());
        let state = |kind| match kind {
            Kind::Hole => STATE_HOLE | STATE_ZERO,
            Kind::Zeroes => STATE_ZERO,
            Kind::Data => 0,
        };
        let extents = stretches.map(|(bytes, kind)| (bytes as u32, state(kind)));
        let extents: Vec<_> = extents.take(if one { 1 } else { MOST_EXTENTS }).collect();
        let mut out = Vec::new();
        reply::block_status(&mut out, r.cookie, ALLOCATION, &extents);
        out
    }

    fn send_parts(&mut self, now: Nanos, slot: u32, part_bytes: u64) {
        let job = self.jobs[slot as usize].as_mut().expect("a request that is not there");
        loop {
            let left = job.length_bytes - job.cursor;
            let flush = job.op == Op::Flush && job.parts == 0;
            if left == 0 && !flush || job.parts_under_way >= MOST_PARTS {
                return;
            }
            let bytes = left.min(part_bytes);
            let tag = u64::from(job.parts) << 32 | u64::from(slot);
            let payload = match job.op {
                Op::Read if !job.cache_only => {
                    // The first part's buffer begins with the head of the reply.
                    let head = if job.parts == 0 { reply::read_head_bytes(job.structured) } else { 0 };
                    let mut buffer = Vec::with_capacity(head + bytes as usize);
                    buffer.resize(head, 0);
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

    /// Lets time pass; appends the replies of requests that have ended.
    pub fn advance(&mut self, to: Nanos, replies: &mut Vec<Reply>) {
        let mut done = std::mem::take(&mut self.done);
        self.device.advance(to, &mut done);
        for c in done.drain(..) {
            self.part_done(to, &c, replies);
        }
        self.done = done;
    }

    fn part_done(&mut self, now: Nanos, c: &Completion, replies: &mut Vec<Reply>) {
        let slot = c.tag as u32;
        let job = self.jobs[slot as usize].as_mut().expect("a request that is not there");
        job.parts_under_way -= 1;
        job.breakdown = c.breakdown;
        let part = (c.tag >> 32) as usize;
        if job.op == Op::Write
            && let Some(id) = job.payloads[part].take()
        {
            drop(self.device.take(id));
        }
        if c.status != Status::Ok {
            job.error.get_or_insert(NbdError::Io);
            // The rest is not sent.
            job.cursor = job.length_bytes;
        }
        if job.cursor < job.length_bytes {
            let part_bytes = if job.op == Op::Trim { TRIM_COMMAND_BYTES } else { COMMAND_BYTES };
            return self.send_parts(now, slot, part_bytes);
        }
        if job.parts_under_way > 0 {
            return;
        }
        if std::mem::take(&mut job.then_flush) && job.error.is_none() {
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
        replies.push(self.finish(job, c.completed));
    }

    fn finish(&mut self, job: Job, completed: Nanos) -> Reply {
        let held_bytes = job.held_bytes();
        if job.op == Op::Write {
            self.incoming_bytes -= held_bytes;
        }
        self.account(&job, completed);
        let mut pieces = Vec::new();
        let buffers: Vec<PayloadId> = job.payloads.into_iter().flatten().collect();
        pieces.extend(buffers.into_iter().map(|id| self.device.take(id)));
        match (job.error, pieces.first_mut()) {
            (None, Some(first)) => {
                let mut head = Vec::with_capacity(reply::read_head_bytes(true));
                reply::read_head(&mut head, job.cookie, job.offset_bytes, job.length_bytes as u32, job.structured);
                first[..head.len()].copy_from_slice(&head);
            }
            (error, _) => {
                let mut short = Vec::with_capacity(32);
                reply::short(&mut short, job.cookie, error, job.structured);
                pieces = vec![short];
            }
        }
        Reply { owner: job.owner, held_bytes, pieces, due: completed }
    }

    fn account(&mut self, job: &Job, completed: Nanos) {
        let latency = completed - job.submitted;
        let served = &mut self.served[job.op as usize];
        served.requests += 1;
        served.bytes += job.length_bytes;
        served.errors += u64::from(job.error.is_some());
        served.latency.record(latency);
        self.all.record(latency);
        self.completed += 1;
        if self.completed.is_multiple_of(512) {
            self.slow_from = self.all.percentile(99.0);
        }
        if latency >= self.slow_from {
            if self.slow.len() == REMEMBERED {
                self.slow.pop_front();
            }
            self.slow.push_back(SlowRequest {
                op: job.op,
                offset_bytes: job.offset_bytes,
                length_bytes: job.length_bytes,
                submitted: job.submitted,
                latency,
                breakdown: job.breakdown,
            });
        }
    }

    /// Takes the power away; time has passed to `now`. Returns what is never answered by the device, as replies that say
    /// so: whether they are sent is for the host to decide.
    pub fn cut(&mut self, now: Nanos) -> Vec<Reply> {
        self.device.cut(now);
        self.incoming_bytes = 0;
        self.free.clear();
        let jobs = std::mem::take(&mut self.jobs);
        let lost = jobs.into_iter().flatten().map(|job| {
            let mut out = Vec::new();
            reply::short(&mut out, job.cookie, Some(NbdError::Io), job.structured);
            Reply { owner: job.owner, held_bytes: job.held_bytes(), pieces: vec![out], due: now }
        });
        lost.collect()
    }
}

enum Judged {
    /// There is nothing to do.
    Done,
    BlockStatus,
    Command(Op),
}
