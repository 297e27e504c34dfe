//! One client: its socket, its session, and what is on its way to it.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Read, Write};
use std::time::Instant;

use crate::limits::Limits;
use crate::nbd::{Event, Export, NbdRequest, Session};
use crate::stream::Stream;

/// Pieces that one system call writes.
const MOST_PIECES: usize = 64;

/// Whether a client is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Goes,
    /// It has left, or broken the protocol, or was thrown out.
    Ended,
}

/// See the module's own page.
pub struct Connection {
    pub id: u64,
    pub stream: Stream,
    session: Session,
    out: VecDeque<Vec<u8>>,
    /// Bytes of the first piece that were sent.
    sent: usize,
    out_bytes: u64,
    /// Requests that are not answered, and bytes that they hold.
    pub outstanding: u32,
    pub held_bytes: u64,
    came: Instant,
    progress: Instant,
    /// It has said goodbye in the handshake: what is left is sent, and no more is read.
    leaving: bool,
}

impl Connection {
    #[must_use]
    pub fn new(id: u64, stream: Stream, now: Instant) -> Self {
        let (session, hello) = Session::new();
        Connection {
            id,
            stream,
            session,
            out_bytes: hello.len() as u64,
            out: VecDeque::from([hello]),
            sent: 0,
            outstanding: 0,
            held_bytes: 0,
            came: now,
            progress: now,
            leaving: false,
        }
    }

    /// Whether more of its requests may be read.
    #[must_use]
    pub fn may_ask(&self, limits: &Limits) -> bool {
        !self.leaving && self.outstanding < limits.requests && self.held_bytes + self.out_bytes <= limits.held_bytes
    }

    #[must_use]
    pub fn has_output(&self) -> bool {
        self.out_bytes > 0
    }

    #[must_use]
    pub fn in_handshake(&self) -> bool {
        self.session.in_handshake()
    }

    /// Whether something was read that is not yet understood: it may be a whole request.
    #[must_use]
    pub fn has_input(&self) -> bool {
        self.session.in_request()
    }

    #[must_use]
    pub fn agreed(&self) -> crate::nbd::Agreed {
        self.session.agreed()
    }

    /// Reads once.
    pub fn read(&mut self, now: Instant) -> Life {
        match self.stream.read(self.session.space()) {
            Ok(0) => Life::Ended,
            Ok(bytes) => {
                self.session.filled(bytes);
                self.progress = now;
                Life::Goes
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                self.session.filled(0);
                Life::Goes
            }
            Err(_) => Life::Ended,
        }
    }

    /// The next request that has come whole.
    ///
    /// # Errors
    /// [`Life::Ended`] if the client does not keep to the protocol.
    pub fn next_request(&mut self, export: &Export) -> Result<Option<NbdRequest>, Life> {
        loop {
            let mut out = Vec::new();
            let event = self.session.next(export, &mut out);
            if !out.is_empty() {
                self.push(out);
            }
            match event {
                Ok(Event::Request(request)) => return Ok(Some(request)),
                Ok(Event::Wait) => return Ok(None),
                Ok(Event::Ready) => {}
                Ok(Event::Ended) => {
                    self.leaving = true;
                    return Ok(None);
                }
                Err(_) => return Err(Life::Ended),
            }
        }
    }

    /// Puts a piece of a reply in line.
    pub fn push(&mut self, piece: Vec<u8>) {
        self.out_bytes += piece.len() as u64;
        self.out.push_back(piece);
    }

    /// Sends what the socket takes.
    pub fn write(&mut self, now: Instant) -> Life {
        while self.out_bytes > 0 {
            let mut slices = [IoSlice::new(&[]); MOST_PIECES];
            let mut count = 0;
            for (slice, piece) in slices.iter_mut().zip(&self.out) {
                let from = if count == 0 { self.sent } else { 0 };
                *slice = IoSlice::new(&piece[from..]);
                count += 1;
            }
            match self.stream.write_vectored(&slices[..count]) {
                Ok(0) => return Life::Ended,
                Ok(bytes) => {
                    self.progress = now;
                    self.written(bytes);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Life::Ended,
            }
        }
        if self.leaving && self.out_bytes == 0 { Life::Ended } else { Life::Goes }
    }

    fn written(&mut self, mut bytes: usize) {
        self.out_bytes -= bytes as u64;
        while let Some(first) = self.out.front() {
            let left = first.len() - self.sent;
            if bytes < left {
                self.sent += bytes;
                return;
            }
            bytes -= left;
            self.sent = 0;
            self.out.pop_front();
        }
    }

    /// Whether it has taken longer than it may.
    #[must_use]
    pub fn is_stalled(&self, now: Instant, limits: &Limits) -> bool {
        if self.session.in_handshake() {
            return now - self.came > limits.handshake;
        }
        // A request that was read but may not be started yet is not the client's fault.
        let waits_for_client = self.has_output() || self.session.in_request() && self.may_ask(limits);
        waits_for_client && now - self.progress > limits.stall
    }
}
