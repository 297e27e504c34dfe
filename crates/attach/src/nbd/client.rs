//! One client's requests to the drive, and the drive's outcomes as replies.

use ssdlab_contents::Kind;
use ssdlab_core::{Nanos, Op};

use super::export::MAX_PAYLOAD_BYTES;
use super::handshake::{ALLOCATION, Agreed};
use super::reply;
use super::session::{Event, NbdRequest, Session};
use super::words::*;
use crate::client::{Client, Load, Step};
use crate::drive::Drive;
use crate::export::Export;
use crate::lock::{Lock, Meets};
use crate::output::Output;
use crate::request::{DriveError, DriveRequest, Extent, Outcome, Started};

/// Extents of one reply, and how far a block status looks: each page takes its time, and others wait for it. Who wants to know
/// more asks again, as the protocol has it.
const MOST_EXTENTS: usize = 1 << 16;
const MOST_STATUS_BYTES: u64 = 256 << 20;

/// A request at the drive: what its reply needs.
#[derive(Clone, Copy)]
struct Asked {
    cookie: u64,
    command: u16,
    /// How a success and an error are said.
    chunked: bool,
    offset_bytes: u64,
    length_bytes: u32,
}

/// See the module's own page.
pub struct NbdClient {
    id: u64,
    session: Session,
    /// What is said before anything else.
    hello: Vec<u8>,
    asked: Vec<Option<Asked>>,
    free: Vec<u32>,
    load: Load,
}

impl NbdClient {
    /// A client that has just come on the connection of this number.
    #[must_use]
    pub fn new(id: u64) -> Self {
        let (session, hello) = Session::new();
        NbdClient { id, session, hello, asked: Vec::new(), free: Vec::new(), load: Load::default() }
    }

    fn take(&mut self, now: Nanos, drive: &mut Drive, request: NbdRequest, out: &mut Output) {
        let agreed = self.session.agreed();
        let asked = Asked {
            cookie: request.cookie,
            command: request.command,
            // Reads and block status answer in chunks where that was agreed on; the others need no more than a simple reply.
            chunked: agreed.structured && matches!(request.command, CMD_READ | CMD_BLOCK_STATUS),
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
        };
        let started = match judge(&request, drive, agreed) {
            Err(error) => {
                drive.count_failed(op_of(request.command));
                Err(error)
            }
            Ok(Judged::BlockStatus(extent, meets)) => return out.push(block_status(drive, &request, extent, meets)),
            Ok(Judged::Command(op)) => {
                let cookie = self.put(asked);
                let wanted = DriveRequest {
                    data: request.data,
                    fua: request.flags & CMD_FLAG_FUA != 0,
                    cache_only: request.command == CMD_CACHE,
                    headroom_bytes: reply::read_head_bytes(asked.chunked),
                    ..DriveRequest::new(self.id, cookie, op, request.offset_bytes, request.length_bytes.into())
                };
                let started = drive.start(now, wanted);
                if !matches!(started, Ok(Started::Later { .. })) {
                    self.asked[cookie as usize] = None;
                    self.free.push(cookie as u32);
                }
                started.map_err(|error| error_of(error, asked.command))
            }
        };
        match started {
            Ok(Started::Later { held_bytes }) => {
                self.load.requests += 1;
                self.load.held_bytes += held_bytes;
            }
            done => short(out, asked, done.err()),
        }
    }

    fn put(&mut self, asked: Asked) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.asked.push(None);
            self.asked.len() as u32 - 1
        });
        self.asked[slot as usize] = Some(asked);
        slot.into()
    }
}

impl Client for NbdClient {
    fn space(&mut self) -> &mut [u8] {
        self.session.space()
    }

    fn filled(&mut self, bytes: usize) {
        self.session.filled(bytes);
    }

    fn greet(&mut self, out: &mut Output) {
        out.push(std::mem::take(&mut self.hello));
    }

    fn step(&mut self, now: Nanos, drive: &mut Drive, out: &mut Output) -> Step {
        let mut answers = Vec::new();
        let event = self.session.next(drive.export(), &mut answers);
        out.push(answers);
        match event {
            Ok(Event::Wait) => Step::Wait,
            Ok(Event::Ready) => Step::Went,
            Ok(Event::Ended) => Step::Leaves,
            // What it has asked for before is answered.
            Ok(Event::Request(request)) if request.command == CMD_DISC => Step::Leaves,
            Ok(Event::Request(request)) => {
                self.take(now, drive, request, out);
                Step::Went
            }
            Err(_) => Step::Broken,
        }
    }

    fn ended(&mut self, _now: Nanos, _drive: &mut Drive, outcome: Outcome, out: &mut Output) {
        let asked = self.asked[outcome.cookie as usize].take().expect("a request that is not there");
        self.free.push(outcome.cookie as u32);
        self.load.requests -= 1;
        self.load.held_bytes -= outcome.held_bytes;
        match outcome.result {
            Ok(mut pieces) if asked.command == CMD_READ && !pieces.is_empty() => {
                let mut head = Vec::with_capacity(reply::read_head_bytes(true));
                reply::read_head(&mut head, asked.cookie, asked.offset_bytes, asked.length_bytes, asked.chunked);
                pieces[0][..head.len()].copy_from_slice(&head);
                pieces.into_iter().for_each(|piece| out.push(piece));
            }
            result => short(out, asked, result.err().map(|error| error_of(error, asked.command))),
        }
    }

    fn in_handshake(&self) -> bool {
        self.session.in_handshake()
    }

    fn in_request(&self) -> bool {
        self.session.in_request()
    }

    fn is_to_hear(&self) -> bool {
        self.load.requests > 0
    }

    fn load(&self) -> Load {
        self.load
    }
}

fn short(out: &mut Output, asked: Asked, error: Option<NbdError>) {
    let mut bytes = Vec::with_capacity(32);
    reply::short(&mut bytes, asked.cookie, error, asked.chunked);
    out.push(bytes);
}

enum Judged {
    /// Of this stretch, of which a read meets that.
    BlockStatus(Extent, Meets),
    Command(Op),
}

/// What a request is for the drive; the drive itself says whether it can be.
fn judge(r: &NbdRequest, drive: &Drive, agreed: Agreed) -> Result<Judged, NbdError> {
    let export: &Export = drive.export();
    if !drive.device.has_power() {
        return Err(NbdError::Io);
    }
    let known = match r.command {
        CMD_READ => CMD_FLAG_FUA | if agreed.structured { CMD_FLAG_DF } else { 0 },
        CMD_WRITE | CMD_FLUSH | CMD_TRIM | CMD_CACHE => CMD_FLAG_FUA,
        CMD_WRITE_ZEROES => CMD_FLAG_FUA | CMD_FLAG_NO_HOLE | CMD_FLAG_FAST_ZERO,
        CMD_BLOCK_STATUS if agreed.allocation => CMD_FLAG_FUA | CMD_FLAG_REQ_ONE,
        _ => return Err(NbdError::Invalid),
    };
    if let Some(error) = r.error {
        return Err(error);
    }
    if r.flags & !known != 0 || r.command == CMD_TRIM && !export.trim {
        return Err(NbdError::Invalid);
    }
    // A block status is one of what a read would find.
    let op = op_of(r.command).unwrap_or(Op::Read);
    let extent = Extent { offset_bytes: r.offset_bytes, length_bytes: r.length_bytes.into() };
    // What the locks say of a command counts when its turn comes, which may be behind an erase.
    drive.check_without_locks(op, extent).map_err(|error| error_of(error, r.command))?;
    match r.command {
        CMD_BLOCK_STATUS if r.length_bytes == 0 => Err(NbdError::Invalid),
        // That is told as it is now.
        CMD_BLOCK_STATUS => {
            let extent = Extent { length_bytes: extent.length_bytes.min(MOST_STATUS_BYTES), ..extent };
            let told = Lock::told(drive.lock(), extent).map_err(|error| error_of(error, r.command))?;
            Ok(Judged::BlockStatus(told.0, told.1))
        }
        CMD_READ if r.length_bytes > MAX_PAYLOAD_BYTES => Err(NbdError::Invalid),
        // As slow as any write.
        CMD_WRITE_ZEROES if r.flags & CMD_FLAG_FAST_ZERO != 0 && !export.write_zeroes && r.length_bytes > 0 => {
            Err(NbdError::NotSupported)
        }
        _ => Ok(Judged::Command(op)),
    }
}

/// What a command asks of the drive, if it is one for it.
fn op_of(command: u16) -> Option<Op> {
    match command {
        CMD_READ | CMD_CACHE => Some(Op::Read),
        CMD_WRITE => Some(Op::Write),
        CMD_FLUSH => Some(Op::Flush),
        CMD_TRIM => Some(Op::Trim),
        CMD_WRITE_ZEROES => Some(Op::WriteZeroes),
        _ => None,
    }
}

fn error_of(error: DriveError, command: u16) -> NbdError {
    match error {
        DriveError::OutOfRange if matches!(command, CMD_WRITE | CMD_WRITE_ZEROES) => NbdError::NoSpace,
        DriveError::Invalid | DriveError::OutOfRange => NbdError::Invalid,
        DriveError::NotPermitted | DriveError::Locked => NbdError::NotPermitted,
        DriveError::NoSpace => NbdError::NoSpace,
        DriveError::NotSupported => NbdError::NotSupported,
        DriveError::Medium
        | DriveError::WriteProtected
        | DriveError::Aborted
        | DriveError::Sequence
        | DriveError::NoPower => NbdError::Io,
    }
}

fn block_status(drive: &Drive, r: &NbdRequest, extent: Extent, meets: Meets) -> Vec<u8> {
    let one = r.flags & CMD_FLAG_REQ_ONE != 0;
    let state = |kind| match kind {
        Kind::Hole => STATE_HOLE | STATE_ZERO,
        Kind::Zeroes => STATE_ZERO,
        Kind::Data => 0,
    };
    // Its stretches do not tell what lies under a shadow.
    let extents: Vec<_> = if meets == Meets::Shadow {
        vec![(extent.length_bytes as u32, 0)]
    } else {
        let stretches = drive.device.store().stretches(extent.offset_bytes, extent.length_bytes);
        let most = if one { 1 } else { MOST_EXTENTS };
        stretches.map(|(bytes, kind)| (bytes as u32, state(kind))).take(most).collect()
    };
    let mut out = Vec::new();
    reply::block_status(&mut out, r.cookie, ALLOCATION, &extents);
    out
}
