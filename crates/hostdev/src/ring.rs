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

/// A request, and when it was handed over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) request: Request,
    pub(crate) at: Nanos,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) place: u32,
    pub(crate) sent: Sent,
    pub(crate) status: Status,
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
    in_flight: u32,
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
        Ok(Ring { ring, file, places, free: (0..PLACES).rev().collect(), in_flight: 0 })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// A place for a request, with its memory; that of a write holds bytes which can be compressed as its hint says, drawn from
    /// `rng` if it does not yet. `None` while all are taken.
    pub(crate) fn take(&mut self, r: &Request, rng: &mut Rng) -> Option<u32> {
        let number = self.free.pop()?;
        let (place, len) = (&mut self.places[number as usize], r.length_bytes as usize);
        let per_1000 = r.hints.compressibility_per_1000;
        match r.op {
            Op::Read if place.read.len() < len => place.read = Buffer::new(len),
            Op::Write if place.written.len() < len || place.compressible_per_1000 != per_1000 => {
                let mut buffer = Buffer::new(len);
                stamp::fill(buffer.bytes_mut(len), per_1000, rng);
                (place.written, place.compressible_per_1000) = (buffer, per_1000);
            }
            _ => {}
        }
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

    /// Puts a read, write or flush into the queue of the ring; [`Ring::send`] hands the queue to the system.
    pub(crate) fn put(&mut self, place: u32, sent: Sent) {
        let entry = self.entry(place, &sent.request);
        // SAFETY: the memory belongs to the place, which is not given back, nor its buffer replaced, before the request has
        // ended: `sent` is set until then. It does not move with the place. The file is open as long as the ring.
        unsafe { self.ring.submission().push(&entry) }.expect("there are as many entries as places");
        self.places[place as usize].sent = Some(sent);
        self.in_flight += 1;
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
    pub(crate) fn send(&mut self) {
        if !self.ring.submission().is_empty() {
            self.enter(0, Duration::ZERO);
        }
    }

    /// Waits until a request has ended, `limit` at most.
    pub(crate) fn wait(&mut self, limit: Duration) {
        self.enter(1, limit);
    }

    fn enter(&mut self, want: usize, limit: Duration) {
        let limit = Timespec::from(limit);
        let submitter = self.ring.submitter();
        let entered = match want {
            0 => submitter.submit(),
            _ => submitter.submit_with_args(want, &SubmitArgs::new().timespec(&limit)),
        };
        // What the system cannot take now stays in the queue: the next look hands it over.
        let later = [Errno::TIME, Errno::INTR, Errno::AGAIN, Errno::BUSY].map(Errno::raw_os_error);
        if let Err(e) = entered {
            assert!(e.raw_os_error().is_some_and(|e| later.contains(&e)), "io_uring: {e}");
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
        self.in_flight -= 1;
        Some(Ended { place, sent, status: status(entry.result(), &sent.request) })
    }
}

/// How a request has ended, from what the system says: bytes, or an error below zero.
fn status(result: i32, request: &Request) -> Status {
    let bytes = if request.op == Op::Flush { 0 } else { request.length_bytes };
    match result {
        // A part of a request is none: the drive ends there, or it went wrong behind it.
        0.. => {
            if u64::from(result.unsigned_abs()) == bytes {
                Status::Ok
            } else {
                Status::Aborted
            }
        }
        error => status_of(&io::Error::from_raw_os_error(-error)),
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
    /// The system writes into the memory of what is in flight until it has ended.
    fn drop(&mut self) {
        self.send();
        while self.in_flight > 0 {
            self.wait(Duration::from_secs(1));
            while self.next_ended().is_some() {}
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
            assert_eq!(status(result, &read), told, "{result}");
        }
        assert_eq!(status(0, &Request::flush(1)), Status::Ok);
    }
}
