//! Data of one command on their way in: what came with it, what follows unasked, what is asked for.

use super::keys::Parameters;
use super::pdu::Pdu;
use super::words::{FINAL, NO_TAG};

/// Data that came are not those that were due: wrong in order, tag or length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfTurn;

/// What is due next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// Data that need not be asked for, to the end of their sequence.
    Unsolicited,
    /// It must be asked for.
    Request,
    /// What was asked for, to this offset.
    Burst {
        end: u64,
    },
    Nothing,
}

/// See the module's own page.
#[derive(Debug)]
pub struct Incoming {
    data: Vec<u8>,
    /// All that is to come.
    wanted_bytes: u64,
    due: Due,
    /// Of the next PDU in its sequence.
    data_sn: u32,
    requests: u32,
}

/// A request for data: R2T.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRequest {
    pub number: u32,
    pub offset_bytes: u32,
    pub length_bytes: u32,
}

impl Incoming {
    /// A command that brings `data` along, of which `wanted_bytes` are to come in all. `more`: a sequence follows unasked.
    ///
    /// # Errors
    /// If that is not what was agreed on.
    pub fn new(data: Vec<u8>, wanted_bytes: u64, more: bool, p: &Parameters) -> Result<Incoming, OutOfTurn> {
        let length = data.len() as u64;
        let too_long = length > wanted_bytes || length > p.first_burst_bytes.into();
        if too_long || !data.is_empty() && !p.immediate_data || more && p.initial_r2t {
            return Err(OutOfTurn);
        }
        let mut incoming = Incoming { data, wanted_bytes, due: Due::Unsolicited, data_sn: 0, requests: 0 };
        if !more {
            incoming.sequence_ends();
        }
        Ok(incoming)
    }

    fn sequence_ends(&mut self) {
        self.data_sn = 0;
        self.due = if self.data.len() as u64 == self.wanted_bytes { Due::Nothing } else { Due::Request };
    }

    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.due == Due::Nothing
    }

    /// Whether data must be asked for.
    #[must_use]
    pub fn needs_request(&self) -> bool {
        self.due == Due::Request
    }

    /// Whether data were asked for already.
    #[must_use]
    pub fn was_asked(&self) -> bool {
        self.requests > 0
    }

    #[must_use]
    pub fn wanted_bytes(&self) -> u64 {
        self.wanted_bytes
    }

    #[must_use]
    pub fn into_data(self) -> Vec<u8> {
        self.data
    }

    /// Asks for the next burst.
    #[must_use]
    pub fn ask(&mut self, p: &Parameters) -> DataRequest {
        let offset = self.data.len() as u64;
        let length = (self.wanted_bytes - offset).min(p.burst_bytes.into());
        self.due = Due::Burst { end: offset + length };
        self.requests += 1;
        DataRequest { number: self.requests - 1, offset_bytes: offset as u32, length_bytes: length as u32 }
    }

    /// Takes data. `transfer_tag`: that of the last request.
    ///
    /// # Errors
    /// If they are not the ones that are due.
    pub fn take(&mut self, pdu: &Pdu, transfer_tag: u32, p: &Parameters) -> Result<(), OutOfTurn> {
        let (last, tag) = (pdu.header.flags() & FINAL != 0, pdu.header.u32_at(20));
        let after = self.data.len() as u64 + pdu.data.len() as u64;
        let (expected_tag, most) = match self.due {
            Due::Unsolicited => (NO_TAG, self.wanted_bytes.min(p.first_burst_bytes.into())),
            Due::Burst { end } => (transfer_tag, end),
            Due::Request | Due::Nothing => return Err(OutOfTurn),
        };
        let in_order =
            pdu.header.u32_at(36) == self.data_sn && u64::from(pdu.header.u32_at(40)) == self.data.len() as u64;
        // A burst ends where it was asked to, and nowhere else.
        let ends_wrongly = matches!(self.due, Due::Burst { end } if last != (after == end));
        if tag != expected_tag || !in_order || after > most || ends_wrongly {
            return Err(OutOfTurn);
        }
        self.data.extend_from_slice(&pdu.data);
        self.data_sn += 1;
        if last {
            self.sequence_ends();
        }
        Ok(())
    }
}
