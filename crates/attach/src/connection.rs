//! One client: its socket, what it says, and what is on its way to it.

use std::io::{self, Read};
use std::time::Instant;

use ssdlab_core::Nanos;

use crate::client::{Client, Step};
use crate::drive::Drive;
use crate::limits::Limits;
use crate::output::Output;
use crate::request::Outcome;
use crate::stream::Stream;

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
    client: Box<dyn Client>,
    out: Output,
    came: Instant,
    progress: Instant,
    /// It has said goodbye: what is left is sent, and no more is read.
    leaving: bool,
    /// All that it has said was looked at; what is left of it, if anything, is not whole.
    understood: bool,
}

impl Connection {
    #[must_use]
    pub fn new(id: u64, stream: Stream, mut client: Box<dyn Client>, now: Instant) -> Self {
        let mut out = Output::default();
        client.greet(&mut out);
        Connection { id, stream, client, out, came: now, progress: now, leaving: false, understood: true }
    }

    /// Whether more of its requests may be read.
    #[must_use]
    pub fn may_ask(&self, limits: &Limits) -> bool {
        let load = self.client.load();
        !self.leaving && load.requests < limits.requests && load.held_bytes + self.out.bytes() <= limits.held_bytes
    }

    #[must_use]
    pub fn has_output(&self) -> bool {
        self.out.bytes() > 0
    }

    #[must_use]
    pub fn in_handshake(&self) -> bool {
        self.client.in_handshake()
    }

    /// Whether something was read whose turn has not come: it may be a whole request.
    #[must_use]
    pub fn has_input(&self) -> bool {
        !self.understood && self.client.in_request()
    }

    /// Whether more is to be read of what it says. What was read comes first: or it would pile up while the drive is busy.
    #[must_use]
    pub fn may_say_more(&self, limits: &Limits) -> bool {
        self.may_ask(limits) && !self.has_input()
    }

    /// See [`Client::session`].
    #[must_use]
    pub fn session(&self) -> Option<&[u8]> {
        self.client.session()
    }

    /// Reads once.
    pub fn read(&mut self, now: Instant) -> Life {
        match self.stream.read(self.client.space()) {
            Ok(0) => Life::Ended,
            Ok(bytes) => {
                self.client.filled(bytes);
                self.understood = false;
                self.progress = now;
                Life::Goes
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                self.client.filled(0);
                Life::Goes
            }
            Err(_) => Life::Ended,
        }
    }

    /// Takes the next thing that the client has said.
    pub fn step(&mut self, now: Nanos, drive: &mut Drive) -> Step {
        let step = self.client.step(now, drive, &mut self.out);
        self.leaving |= step == Step::Leaves;
        self.understood = step == Step::Wait;
        step
    }

    /// See [`Client::drive_was_reset`].
    pub fn drive_was_reset(&mut self) {
        self.client.drive_was_reset();
    }

    /// A request of the client has ended.
    pub fn ended(&mut self, now: Nanos, drive: &mut Drive, outcome: Outcome) {
        self.client.ended(now, drive, outcome, &mut self.out);
    }

    /// Sends what the socket takes.
    pub fn write(&mut self, now: Instant) -> Life {
        while self.has_output() {
            match self.out.write(&mut self.stream) {
                Ok(0) => return Life::Ended,
                Ok(_) => self.progress = now,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Life::Ended,
            }
        }
        if self.has_left() { Life::Ended } else { Life::Goes }
    }

    /// Whether it has said goodbye, and there is nothing to say to it any more.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.leaving && !self.has_output() && !self.client.is_to_hear()
    }

    /// Whether it has taken longer than it may.
    #[must_use]
    pub fn is_stalled(&self, now: Instant, limits: &Limits) -> bool {
        if self.in_handshake() {
            return now - self.came > limits.handshake;
        }
        // A request that was read but may not be started yet is not the client's fault.
        let waits_for_client = self.has_output() || self.client.owes() && self.may_say_more(limits);
        waits_for_client && now - self.progress > limits.stall
    }
}
