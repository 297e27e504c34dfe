//! One client, without its socket: bytes in, requests out.

use super::ProtocolError;
use super::export::{MAX_PAYLOAD_BYTES, MAX_SKIPPED_BYTES};
use super::handshake::{Agreed, Handshake, Step, hello};
use super::words::{CMD_WRITE, NbdError, REQUEST_MAGIC};
use crate::export::Export;
use crate::input::Input;

/// A request as it came.
#[derive(Debug, PartialEq, Eq)]
pub struct NbdRequest {
    pub cookie: u64,
    /// One of the `CMD_` numbers, or none.
    pub command: u16,
    pub flags: u16,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    /// Of a write.
    pub data: Vec<u8>,
    /// What is wrong with it already.
    pub error: Option<NbdError>,
}

/// What comes next of a client.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing yet.
    Wait,
    /// The handshake is over.
    Ready,
    Request(NbdRequest),
    /// It has ended the handshake in good order.
    Ended,
}

const REQUEST_BYTES: usize = 28;
/// A large payload grows by this much, as it comes.
const GROWTH: usize = 1 << 20;

enum Phase {
    Handshake(Handshake),
    Header,
    /// Of a write; `left` bytes are still to come.
    Payload {
        request: NbdRequest,
        left: usize,
    },
    /// Of a write that is refused; `left` bytes are still to come.
    Skip {
        request: NbdRequest,
        left: usize,
    },
}

/// See the module's own page.
pub struct Session {
    phase: Phase,
    input: Input,
    agreed: Agreed,
    /// Filled part of a payload that is being read directly.
    direct: usize,
}

impl Session {
    /// A client that has just come, and what to say to it.
    #[must_use]
    pub fn new() -> (Session, Vec<u8>) {
        let phase = Phase::Handshake(Handshake::default());
        (Session { phase, input: Input::default(), agreed: Agreed::default(), direct: 0 }, hello())
    }

    #[must_use]
    pub fn agreed(&self) -> Agreed {
        self.agreed
    }

    #[must_use]
    pub fn in_handshake(&self) -> bool {
        matches!(self.phase, Phase::Handshake(_))
    }

    /// Whether a request has come in part.
    #[must_use]
    pub fn in_request(&self) -> bool {
        !self.input.bytes().is_empty() || matches!(self.phase, Phase::Payload { .. } | Phase::Skip { .. })
    }

    /// Where to put bytes of the client; [`Session::filled`] says how many came.
    pub fn space(&mut self) -> &mut [u8] {
        if let Phase::Payload { request, left } = &mut self.phase
            && self.input.bytes().is_empty()
            && *left >= GROWTH / 16
        {
            self.direct = request.data.len();
            let length = self.direct + (*left).min(GROWTH);
            request.data.resize(length, 0);
            return &mut request.data[self.direct..];
        }
        self.direct = usize::MAX;
        self.input.space()
    }

    pub fn filled(&mut self, bytes: usize) {
        match &mut self.phase {
            Phase::Payload { request, left } if self.direct != usize::MAX => {
                request.data.truncate(self.direct + bytes);
                *left -= bytes;
            }
            _ => self.input.filled(bytes),
        }
        self.direct = usize::MAX;
    }

    /// What comes next of the client. Answers of the handshake go to `out`.
    ///
    /// # Errors
    /// If the client does not keep to the protocol; there is nothing left to say to it.
    pub fn next(&mut self, export: &Export, out: &mut Vec<u8>) -> Result<Event, ProtocolError> {
        match &mut self.phase {
            Phase::Handshake(handshake) => match handshake.step(&mut self.input, export, out)? {
                Step::Wait => Ok(Event::Wait),
                Step::Ended => Ok(Event::Ended),
                Step::Ready(agreed) => {
                    self.agreed = agreed;
                    self.phase = Phase::Header;
                    Ok(Event::Ready)
                }
            },
            Phase::Header => self.header(),
            Phase::Payload { request, left } => {
                let taken = (*left).min(self.input.bytes().len());
                request.data.extend_from_slice(&self.input.bytes()[..taken]);
                self.input.consume(taken);
                *left -= taken;
                self.whole()
            }
            Phase::Skip { left, .. } => {
                let taken = (*left).min(self.input.bytes().len());
                self.input.consume(taken);
                *left -= taken;
                self.whole()
            }
        }
    }

    /// The request whose payload has come, if it has.
    fn whole(&mut self) -> Result<Event, ProtocolError> {
        match std::mem::replace(&mut self.phase, Phase::Header) {
            Phase::Payload { request, left: 0 } | Phase::Skip { request, left: 0 } => Ok(Event::Request(request)),
            unfinished => {
                self.phase = unfinished;
                Ok(Event::Wait)
            }
        }
    }

    fn header(&mut self) -> Result<Event, ProtocolError> {
        let Some(head) = self.input.take::<REQUEST_BYTES>() else { return Ok(Event::Wait) };
        let u16_at = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let u32_at = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().expect("four bytes"));
        let u64_at = |at: usize| u64::from_be_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        if u32_at(0) != REQUEST_MAGIC {
            return Err(ProtocolError::BadMagic);
        }
        let mut request = NbdRequest {
            flags: u16_at(4),
            command: u16_at(6),
            cookie: u64_at(8),
            offset_bytes: u64_at(16),
            length_bytes: u32_at(24),
            data: Vec::new(),
            error: None,
        };
        if request.command != CMD_WRITE {
            return Ok(Event::Request(request));
        }
        let length = request.length_bytes;
        if length > MAX_SKIPPED_BYTES {
            return Err(ProtocolError::PayloadTooLong);
        }
        let left = length as usize;
        if length > MAX_PAYLOAD_BYTES {
            request.error = Some(NbdError::Invalid);
            self.phase = Phase::Skip { request, left };
        } else {
            request.data.reserve(left.min(GROWTH));
            self.phase = Phase::Payload { request, left };
        }
        // Most of it has often come already.
        match &mut self.phase {
            Phase::Payload { request, left } => {
                let taken = (*left).min(self.input.bytes().len());
                request.data.extend_from_slice(&self.input.bytes()[..taken]);
                self.input.consume(taken);
                *left -= taken;
                self.whole()
            }
            _ => self.whole(),
        }
    }
}
