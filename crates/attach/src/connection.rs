//! One client: its socket, what it says, and what is on its way to it.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use ssdlab_core::Nanos;

use crate::client::{Client, Step};
use crate::drive::Drive;
use crate::limits::Limits;
use crate::output::Output;
use crate::request::Outcome;
use crate::stream::Stream;

/// How long a client may take to hear the last answer and hang up.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Whether a client is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    Goes,
    /// It has hung up, or was thrown out.
    Ended,
}

/// What a connection is still there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Talks,
    /// It has said goodbye: it gets what it is still to get, and nothing that it says is heeded.
    Leaves,
    /// It has broken the protocol: as before, but no request of it is answered any more.
    Broken,
    /// All is sent, and it was told so. What it says is read and thrown away until it hangs up: a system that closes a socket
    /// with something unread takes back what the client has not read yet.
    Parted {
        since: Instant,
    },
}

/// See the module's own page.
pub struct Connection {
    pub id: u64,
    pub stream: Stream,
    client: Box<dyn Client>,
    out: Output,
    came: Instant,
    progress: Instant,
    stage: Stage,
    /// All that it has said was looked at; what is left of it, if anything, is not whole.
    understood: bool,
}

impl Connection {
    #[must_use]
    pub fn new(id: u64, stream: Stream, mut client: Box<dyn Client>, now: Instant) -> Self {
        let mut out = Output::default();
        client.greet(&mut out);
        Connection { id, stream, client, out, came: now, progress: now, stage: Stage::Talks, understood: true }
    }

    /// Whether more of its requests may be read.
    #[must_use]
    pub fn may_ask(&self, limits: &Limits) -> bool {
        let load = self.client.load();
        let free = load.requests < limits.requests && load.held_bytes + self.out.bytes() <= limits.held_bytes;
        free && self.stage == Stage::Talks
    }

    /// Whether it still has something to ask or to get.
    #[must_use]
    pub fn is_client(&self) -> bool {
        !matches!(self.stage, Stage::Parted { .. })
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
        !self.is_client() || self.may_ask(limits) && !self.has_input()
    }

    /// Whether nothing that it says is read until some of what it has asked for has ended.
    #[must_use]
    pub fn is_held_up(&self, limits: &Limits) -> bool {
        self.stage == Stage::Talks && !self.may_ask(limits)
    }

    /// Whether it has said goodbye, and what it has asked for before is still to be done.
    #[must_use]
    pub fn is_to_be_served(&self) -> bool {
        self.stage == Stage::Leaves && self.client.is_to_hear()
    }

    /// See [`Client::session`].
    #[must_use]
    pub fn session(&self) -> Option<&[u8]> {
        self.client.session()
    }

    /// Reads once.
    pub fn read(&mut self, now: Instant) -> Life {
        if !self.is_client() {
            return self.read_off();
        }
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

    fn read_off(&mut self) -> Life {
        match self.stream.read(&mut [0; 1 << 16]) {
            Ok(0) => Life::Ended,
            Ok(_) => Life::Goes,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Life::Goes,
            Err(_) => Life::Ended,
        }
    }

    /// Takes the next thing that the client has said.
    pub fn step(&mut self, now: Nanos, drive: &mut Drive) -> Step {
        let step = self.client.step(now, drive, &mut self.out);
        match step {
            Step::Leaves => self.stage = Stage::Leaves,
            Step::Broken => self.stage = Stage::Broken,
            Step::Wait | Step::Went | Step::LoggedIn => {}
        }
        self.understood = step == Step::Wait;
        step
    }

    /// See [`Client::drive_was_reset`].
    pub fn drive_was_reset(&mut self, drive: &mut Drive) {
        self.client.drive_was_reset(drive);
    }

    /// A request of the client has ended.
    pub fn ended(&mut self, now: Nanos, drive: &mut Drive, outcome: Outcome) {
        if !matches!(self.stage, Stage::Talks | Stage::Leaves) {
            return;
        }
        self.client.ended(now, drive, outcome, &mut self.out);
    }

    /// Sends what the socket takes, and ends what was to last until all is sent.
    pub fn write(&mut self, now: Instant) -> Life {
        while self.has_output() {
            match self.out.write(&mut self.stream) {
                Ok(0) => return Life::Ended,
                Ok(_) => self.progress = now,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Life::Goes,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Life::Ended,
            }
        }
        let is_over = match self.stage {
            Stage::Talks | Stage::Parted { .. } => false,
            Stage::Leaves => !self.client.is_to_hear(),
            Stage::Broken => true,
        };
        if is_over {
            self.stage = Stage::Parted { since: now };
            if self.stream.end_output().is_err() {
                return Life::Ended;
            }
        }
        Life::Goes
    }

    /// Whether it was told that all is sent, and has not hung up for long enough.
    #[must_use]
    pub fn has_heard_all(&self, now: Instant) -> bool {
        matches!(self.stage, Stage::Parted { since } if now.saturating_duration_since(since) > LAST_WORDS)
    }

    /// Whether it has taken longer than it may.
    #[must_use]
    pub fn is_stalled(&self, now: Instant, limits: &Limits) -> bool {
        if !self.is_client() {
            return false;
        }
        if self.in_handshake() {
            return now - self.came > limits.handshake;
        }
        // A request that was read but may not be started yet is not the client's fault.
        let waits_for_client = self.has_output() || self.client.owes() && self.may_say_more(limits);
        waits_for_client && now - self.progress > limits.stall
    }
}
