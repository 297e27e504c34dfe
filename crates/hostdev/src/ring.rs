//! Requests in flight: io_uring, and the memory that each request reads into or writes from until it has ended.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::time::Duration;

use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use rustix::io::{Errno, ReadWriteFlags};
use ssdlab_core::{Nanos, Op, Rng};
use ssdlab_device::{Request, Status};

use crate::buffer::Buffer;
use crate::stamp;

/// Requests in flight at most; what comes beyond waits here, as it would wait in any host.
pub(crate) const PLACES: u32 = 1024;

/// Places that have memory before the first request: what that takes must not count as the drive's.
const WARM_PLACES: u32 = 32;
/// The largest request that the bench sends unless it is told otherwise.
const WARM_BYTES: usize = 1 << 20;
/// Memory of all places at most. Beyond it a request waits for one that has ended.
const MOST_MEMORY: usize = 2 << 30;
/// For what is in flight when the drive is let go.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// A request, and when it was handed over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) request: Request,
    pub(crate) at: Nanos,
    /// A read during which a write of the same sectors was in flight: it may bring either.
    pub(crate) overtaken: bool,
}

/// Whether two requests have a sector in common.
pub(crate) fn overlap(a: &Request, b: &Request) -> bool {
    a.offset_bytes < b.offset_bytes + b.length_bytes && b.offset_bytes < a.offset_bytes + a.length_bytes
}

/// A request that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) place: u32,
    pub(crate) sent: Sent,
    pub(crate) status: Status,
    /// What the system said, of one that went wrong.
    pub(crate) error: Option<io::Error>,
}

/// What is read and what is written have memory of their own: what was read once would be written next.
#[derive(Debug, Default)]
struct Place {
    sent: Option<Sent>,
    read: Buffer,
    written: Buffer,
    /// By how many thousandths what is written can be compressed.
    compressible_per_1000: u16,
}

impl Place {
    fn memory(&mut self, op: Op) -> &mut Buffer {
        if op == Op::Read { &mut self.read } else { &mut self.written }
    }
}

pub(crate) struct Ring {
    ring: IoUring,
    file: File,
    places: Vec<Place>,
    free: Vec<u32>,
    /// Places of requests in flight, in no order; and how many of these are reads, and writes.
    in_flight: Vec<u32>,
    reads: u32,
    writes: u32,
    /// Bytes that the places have.
    memory: usize,
}

impl Ring {
    /// # Errors
    /// If the system gives no ring.
    pub(crate) fn new(file: File) -> io::Result<Ring> {
        let ring = IoUring::new(PLACES)?;
        if !ring.params().is_feature_ext_arg() {
            return Err(Errno::NOSYS.into());
        }
        let places = (0..PLACES).map(|_| Place::default()).collect();
        Ok(Ring {
            ring,
            file,
            places,
            free: (0..PLACES).rev().collect(),
            in_flight: Vec::new(),
            reads: 0,
            writes: 0,
            memory: 0,
        })
    }

    /// Gives the first places memory for requests of the usual size.
    pub(crate) fn warm_up(&mut self, run: u64) {
        let mut rng = Rng::new(run);
        for place in self.places.iter_mut().take(WARM_PLACES as usize) {
            self.memory += 2 * WARM_BYTES;
            place.written = Buffer::new(WARM_BYTES);
            stamp::fill(place.written.bytes_mut(WARM_BYTES), 0, &mut rng);
            place.read = Buffer::new(WARM_BYTES);
            place.read.bytes_mut(WARM_BYTES).fill(1);
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// A place for a request, with its memory; that of a write holds bytes which can be compressed as its hint says, drawn from
    /// `rng` if it does not yet. `None` while all are taken.
    pub(crate) fn take(&mut self, r: &Request, rng: &mut Rng) -> Option<u32> {
        let number = *self.free.last()?;
        let len = if r.op == Op::Flush { 0 } else { r.length_bytes as usize };
        let place = &mut self.places[number as usize];
        let has = place.memory(r.op).len();
        if has < len {
            if self.memory - has + len > MOST_MEMORY && !self.in_flight.is_empty() {
                return None;
            }
            self.memory = self.memory - has + len;
            *place.memory(r.op) = Buffer::new(len);
        }
        let per_1000 = r.hints.compressibility_per_1000;
        if r.op == Op::Write && (has < len || place.compressible_per_1000 != per_1000) {
            let whole = place.written.len();
            stamp::fill(place.written.bytes_mut(whole), per_1000, rng);
            place.compressible_per_1000 = per_1000;
        }
        self.free.pop();
        Some(number)
    }

    /// What a write will bring that is not in flight yet.
    pub(crate) fn outgoing(&mut self, place: u32, r: &Request) -> &mut [u8] {
        let place = &mut self.places[place as usize];
        assert!(place.sent.is_none(), "its bytes are in use");
        place.written.bytes_mut(r.length_bytes as usize)
    }

    /// What a read has brought that has ended.
    pub(crate) fn brought(&self, place: u32, r: &Request) -> &[u8] {
        let place = &self.places[place as usize];
        assert!(place.sent.is_none(), "its bytes are in use");
        place.read.bytes(r.length_bytes as usize)
    }

    /// Gives a place back.
    pub(crate) fn give_back(&mut self, place: u32) {
        assert!(self.places[place as usize].sent.is_none(), "its request has not ended");
        self.free.push(place);
    }

    /// A read and a write of the same sectors that are in flight together: the read may bring either.
    fn mark_overtaken(&mut self, new: &mut Sent) {
        let (op, other) = match new.request.op {
            Op::Read if self.writes > 0 => (Op::Read, Op::Write),
            Op::Write if self.reads > 0 => (Op::Write, Op::Read),
            _ => return,
        };
        for &place in &self.in_flight {
            let Some(sent) = &mut self.places[place as usize].sent else { continue };
            if sent.request.op == other && overlap(&sent.request, &new.request) {
                if op == Op::Read { new.overtaken = true } else { sent.overtaken = true }
            }
        }
    }

    /// Writes of these sectors that are in flight may end before or after a trim of them: nobody knows what they leave.
    pub(crate) fn overtake_writes(&mut self, trim: &Request) {
        for &place in &self.in_flight {
            if let Some(sent) = &mut self.places[place as usize].sent
                && sent.request.op == Op::Write
                && overlap(&sent.request, trim)
            {
                sent.overtaken = true;
            }
        }
    }

    /// Puts a read, write or flush into the queue of the ring; [`Ring::send`] hands the queue to the system.
    pub(crate) fn put(&mut self, place: u32, mut sent: Sent) {
        self.mark_overtaken(&mut sent);
        let entry = self.entry(place, &sent.request);
        // SAFETY: the memory belongs to the place, which is not given back, nor its buffer replaced, before the request has
        // ended: `sent` is set until then. It does not move with the place. The file is open as long as the ring.
        unsafe { self.ring.submission().push(&entry) }.expect("there are as many entries as places");
        self.places[place as usize].sent = Some(sent);
        self.in_flight.push(place);
        *self.count(sent.request.op) += 1;
    }

    fn count(&mut self, op: Op) -> &mut u32 {
        if op == Op::Read { &mut self.reads } else { &mut self.writes }
    }

    fn entry(&mut self, place: u32, r: &Request) -> squeue::Entry {
        let (fd, len) = (Fd(self.file.as_raw_fd()), r.length_bytes as u32);
        let mut memory = || self.places[place as usize].memory(r.op).bytes_mut(len as usize).as_mut_ptr();
        let entry = match r.op {
            Op::Read => opcode::Read::new(fd, memory(), len).offset(r.offset_bytes).build(),
            Op::Write => {
                let flags = if r.fua { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
                let write = opcode::Write::new(fd, memory(), len).offset(r.offset_bytes);
                write.rw_flags(flags.bits() as i32).build()
            }
            Op::Flush => opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build(),
            Op::Trim | Op::WriteZeroes => unreachable!("no request of the ring"),
        };
        entry.user_data(place.into())
    }

    /// Hands everything in the queue to the system.
    ///
    /// # Panics
    /// If the system refuses for good.
    pub(crate) fn send(&mut self) {
        if !self.ring.submission().is_empty() {
            self.enter(0, Duration::ZERO).unwrap_or_else(|e| panic!("io_uring: {e}"));
        }
    }

    /// Waits until a request has ended, `limit` at most.
    ///
    /// # Panics
    /// As [`Ring::send`].
    pub(crate) fn wait(&mut self, limit: Duration) {
        self.enter(1, limit).unwrap_or_else(|e| panic!("io_uring: {e}"));
    }

    fn enter(&mut self, want: usize, limit: Duration) -> io::Result<()> {
        let limit = Timespec::from(limit);
        let submitter = self.ring.submitter();
        let entered = match want {
            0 => submitter.submit(),
            _ => submitter.submit_with_args(want, &SubmitArgs::new().timespec(&limit)),
        };
        // What the system cannot take now stays in the queue: the next look hands it over.
        let later = [Errno::TIME, Errno::INTR, Errno::AGAIN, Errno::BUSY].map(Errno::raw_os_error);
        match entered {
            Err(e) if !e.raw_os_error().is_some_and(|e| later.contains(&e)) => Err(e),
            _ => Ok(()),
        }
    }

    /// Whether a request has ended that was not taken.
    pub(crate) fn has_ended(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// The next request that has ended. Its place is to be given back.
    pub(crate) fn next_ended(&mut self) -> Option<Ended> {
        let entry = self.ring.completion().next()?;
        let place = entry.user_data() as u32;
        let sent = self.places[place as usize].sent.take().expect("a request that was sent");
        let at = self.in_flight.iter().position(|&other| other == place).expect("it was in flight");
        self.in_flight.swap_remove(at);
        *self.count(sent.request.op) -= 1;
        let error = error(entry.result(), &sent.request);
        Some(Ended { place, sent, status: error.as_ref().map_or(Status::Ok, status_of), error })
    }
}

/// What went wrong with a request, from what the system says: bytes, or an error below zero.
fn error(result: i32, request: &Request) -> Option<io::Error> {
    let bytes = if request.op == Op::Flush { 0 } else { request.length_bytes };
    match result {
        // A part of a request is none: the drive ends there, or it went wrong behind it.
        0.. if u64::from(result.unsigned_abs()) == bytes => None,
        0.. => Some(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{result} of {bytes} bytes only"))),
        error => Some(io::Error::from_raw_os_error(-error)),
    }
}

/// How a request has ended that ended with this error of the system.
pub(crate) fn status_of(error: &io::Error) -> Status {
    match Errno::from_io_error(error) {
        Some(Errno::IO | Errno::ILSEQ | Errno::NODATA) => Status::MediaError,
        Some(Errno::NODEV | Errno::NXIO) => Status::Gone,
        Some(Errno::ROFS | Errno::PERM | Errno::BADF) => Status::ReadOnly,
        Some(Errno::ACCESS) => Status::Locked,
        _ => Status::Aborted,
    }
}

impl Drop for Ring {
    /// The system writes into the memory of what is in flight until it has ended. Of a drive that hangs it stays the system's.
    fn drop(&mut self) {
        let mut left = LAST_WAIT.as_secs();
        while self.is_busy() && left > 0 && self.enter(1, Duration::from_secs(1)).is_ok() {
            let before = self.in_flight.len();
            while self.next_ended().is_some() {}
            left = if self.in_flight.len() < before { LAST_WAIT.as_secs() } else { left - 1 };
        }
        if self.is_busy() {
            std::mem::forget(std::mem::take(&mut self.places));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_told_in_the_words_of_a_device() {
        let read = Request::read(1, 0, 4096);
        for (result, told) in [
            (4096, Status::Ok),
            (512, Status::Aborted),
            (0, Status::Aborted),
            (-5, Status::MediaError),
            (-6, Status::Gone),
            (-30, Status::ReadOnly),
            (-22, Status::Aborted),
        ] {
            let found = error(result, &read).as_ref().map_or(Status::Ok, status_of);
            assert_eq!(found, told, "{result}");
        }
        assert!(error(0, &Request::flush(1)).is_none());
        assert_eq!(error(512, &read).unwrap().to_string(), "512 of 4096 bytes only");
    }

    #[test]
    fn requests_overlap_by_a_sector_at_least() {
        let first = Request::read(1, 4096, 4096);
        for (offset, length, yes) in [(0, 4096, false), (0, 4608, true), (7680, 512, true), (8192, 512, false)] {
            let other = Request::write(2, offset, length);
            assert_eq!((overlap(&first, &other), overlap(&other, &first)), (yes, yes), "{offset} {length}");
        }
    }
}
