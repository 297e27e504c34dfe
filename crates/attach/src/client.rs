//! A client as the server sees it, whatever protocol it speaks: bytes in, requests to the drive, bytes out.

use ssdlab_core::Nanos;

use crate::drive::Drive;
use crate::output::Output;
use crate::request::Outcome;

/// What has come of a client's next words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It has said nothing that is whole.
    Wait,
    /// Something was understood; more may be there.
    Went,
    /// As before, and it has begun a session that another connection may still have: see
    /// [`Client::session`].
    LoggedIn,
    /// It has said goodbye, and gets what is on its way to it, and what it is still to get: see [`Client::is_to_hear`].
    Leaves,
    /// It has broken the protocol: it gets what is on its way to it, and no more is read.
    Broken,
}

/// What a client has under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Requests that are not answered.
    pub requests: u32,
    /// Bytes that they hold, and that will be free without anything that the client must send first.
    pub held_bytes: u64,
}

/// See the module's own page.
pub trait Client: Send {
    /// What the server says first, if anything.
    fn greet(&mut self, _out: &mut Output) {}

    /// Where to put bytes that come; [`Client::filled`] says how many came.
    fn space(&mut self) -> &mut [u8];

    fn filled(&mut self, bytes: usize);

    /// Takes the next thing that has come whole; time has passed to `now`.
    fn step(&mut self, now: Nanos, drive: &mut Drive, out: &mut Output) -> Step;

    /// A request of it has ended.
    fn ended(&mut self, now: Nanos, drive: &mut Drive, outcome: Outcome, out: &mut Output);

    /// Another client has reset the drive.
    fn drive_was_reset(&mut self, _drive: &mut Drive) {}

    /// Whether it may not ask for anything yet.
    fn in_handshake(&self) -> bool;

    /// Whether something has come that is not whole.
    fn in_request(&self) -> bool;

    /// Whether the server waits for something that it has promised to send.
    fn owes(&self) -> bool {
        self.in_request()
    }

    /// Whether it is to hear of requests even after its goodbye.
    fn is_to_hear(&self) -> bool {
        false
    }

    fn load(&self) -> Load;

    /// Whose session this is, so that it ends when its user comes again.
    fn session(&self) -> Option<&[u8]> {
        None
    }
}
