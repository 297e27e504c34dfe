//! Fixed newstyle negotiation: what client and server agree on before the first request.

use super::ProtocolError;
use super::words::*;
use crate::export::Export;
use crate::input::Input;

/// Bytes of an option's data; nothing that is served needs more.
const MOST_OPTION_BYTES: usize = 32 << 10;
/// A string of the protocol.
const MOST_STRING_BYTES: usize = 4096;
/// Options that a client may send.
const MOST_OPTIONS: u32 = 128;
/// The number of `base:allocation`, the only context.
pub const ALLOCATION: u32 = 1;
const ALLOCATION_NAME: &[u8] = b"base:allocation";

/// What was agreed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    pub structured: bool,
    pub allocation: bool,
}

/// How far a handshake is.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed.
    Wait,
    /// Requests come next.
    Ready(Agreed),
    /// The client has said goodbye.
    Ended,
}

/// See the module's own page.
#[derive(Default)]
pub struct Handshake {
    greeted: bool,
    no_zeroes: bool,
    agreed: Agreed,
    /// The contexts agreed on hold for this export only.
    context_export: Vec<u8>,
    options: u32,
}

/// What the server says first.
#[must_use]
pub fn hello() -> Vec<u8> {
    let mut out = INIT_MAGIC.to_be_bytes().to_vec();
    out.extend_from_slice(&OPTION_MAGIC.to_be_bytes());
    out.extend_from_slice(&(HELLO_FIXED_NEWSTYLE | HELLO_NO_ZEROES).to_be_bytes());
    out
}

impl Handshake {
    /// Takes what there is of the input; answers go to `out`.
    ///
    /// # Errors
    /// If the client does not keep to the protocol.
    pub fn step(&mut self, input: &mut Input, export: &Export, out: &mut Vec<u8>) -> Result<Step, ProtocolError> {
        if !self.greeted {
            let Some(flags) = input.take::<4>() else { return Ok(Step::Wait) };
            let flags = u32::from_be_bytes(flags);
            if flags & !u32::from(HELLO_FIXED_NEWSTYLE | HELLO_NO_ZEROES) != 0 {
                return Err(ProtocolError::UnknownFlags);
            }
            self.no_zeroes = flags & u32::from(HELLO_NO_ZEROES) != 0;
            self.greeted = true;
        }
        loop {
            let Some(head) = input.bytes().first_chunk::<16>() else { return Ok(Step::Wait) };
            let magic = u64::from_be_bytes(head[..8].try_into().expect("eight bytes"));
            let option = u32_of(&head[8..12]);
            let length = u32_of(&head[12..16]) as usize;
            if magic != OPTION_MAGIC {
                return Err(ProtocolError::BadMagic);
            }
            if length > MOST_OPTION_BYTES {
                return Err(ProtocolError::OptionTooLong);
            }
            let Some(data) = input.bytes().get(16..16 + length) else { return Ok(Step::Wait) };
            let data = data.to_vec();
            input.consume(16 + length);
            self.options += 1;
            if self.options > MOST_OPTIONS {
                return Err(ProtocolError::TooManyOptions);
            }
            match self.option(option, &data, export, out)? {
                Step::Wait => {}
                done => return Ok(done),
            }
        }
    }

    fn option(&mut self, option: u32, data: &[u8], export: &Export, out: &mut Vec<u8>) -> Result<Step, ProtocolError> {
        match option {
            OPT_EXPORT_NAME => return self.export_name(data, export, out),
            OPT_ABORT => {
                reply(out, option, REP_ACK, &[]);
                return Ok(Step::Ended);
            }
            OPT_INFO | OPT_GO => {
                if let Some(agreed) = self.info(option, data, export, out) {
                    return Ok(Step::Ready(agreed));
                }
            }
            OPT_LIST if data.is_empty() => {
                // The nameless export is the device; it has a name, too.
                reply(out, option, REP_SERVER, &0u32.to_be_bytes());
                reply(out, option, REP_ACK, &[]);
            }
            OPT_STRUCTURED_REPLY if data.is_empty() => {
                self.agreed.structured = true;
                reply(out, option, REP_ACK, &[]);
            }
            OPT_LIST | OPT_STRUCTURED_REPLY => refuse(out, option, REP_ERR_INVALID, "this option has no data"),
            OPT_STARTTLS => refuse(out, option, REP_ERR_POLICY, "no TLS here: the server listens locally"),
            OPT_LIST_META_CONTEXT | OPT_SET_META_CONTEXT => self.contexts(option, data, export, out),
            _ => refuse(out, option, REP_ERR_UNSUP, "unknown option"),
        }
        Ok(Step::Wait)
    }

    fn agreed_for(&self, name: &[u8], export: &Export) -> Agreed {
        // The nameless export and the device's name are one export.
        let same = self.context_export == name || export.is_called(&self.context_export) && export.is_called(name);
        Agreed { allocation: self.agreed.allocation && same, ..self.agreed }
    }

    /// The old way in, which has no way to say no but to hang up.
    fn export_name(&self, name: &[u8], export: &Export, out: &mut Vec<u8>) -> Result<Step, ProtocolError> {
        if !export.is_called(name) {
            return Err(ProtocolError::NoSuchExport);
        }
        out.extend_from_slice(&export.size_bytes.to_be_bytes());
        out.extend_from_slice(&export.flags(self.agreed.structured).to_be_bytes());
        if !self.no_zeroes {
            out.resize(out.len() + 124, 0);
        }
        Ok(Step::Ready(self.agreed_for(name, export)))
    }

    fn info(&self, option: u32, data: &[u8], export: &Export, out: &mut Vec<u8>) -> Option<Agreed> {
        let Some((name, wanted)) = info_request(data) else {
            refuse(out, option, REP_ERR_INVALID, "lengths do not match");
            return None;
        };
        if name.len() > MOST_STRING_BYTES {
            refuse(out, option, REP_ERR_TOO_BIG, "the name is too long");
            return None;
        }
        if !export.is_called(name) {
            refuse(out, option, REP_ERR_UNKNOWN, "no such export");
            return None;
        }
        let mut facts = INFO_EXPORT.to_be_bytes().to_vec();
        facts.extend_from_slice(&export.size_bytes.to_be_bytes());
        facts.extend_from_slice(&export.flags(self.agreed.structured).to_be_bytes());
        reply(out, option, REP_INFO, &facts);
        let mut facts = INFO_BLOCK_SIZE.to_be_bytes().to_vec();
        export.block_sizes().iter().for_each(|size| facts.extend_from_slice(&size.to_be_bytes()));
        reply(out, option, REP_INFO, &facts);
        for (kind, text) in [(INFO_NAME, &export.name), (INFO_DESCRIPTION, &export.description)] {
            if wanted.contains(&kind) && text.len() <= MOST_STRING_BYTES {
                let mut facts = kind.to_be_bytes().to_vec();
                facts.extend_from_slice(text.as_bytes());
                reply(out, option, REP_INFO, &facts);
            }
        }
        reply(out, option, REP_ACK, &[]);
        (option == OPT_GO).then(|| self.agreed_for(name, export))
    }

    fn contexts(&mut self, option: u32, data: &[u8], export: &Export, out: &mut Vec<u8>) {
        let set = option == OPT_SET_META_CONTEXT;
        if set {
            // Whatever comes of it, it replaces what was agreed on before.
            self.agreed.allocation = false;
        }
        if !self.agreed.structured {
            return refuse(out, option, REP_ERR_INVALID, "contexts need structured replies");
        }
        let Some((name, queries)) = context_request(data) else {
            return refuse(out, option, REP_ERR_INVALID, "lengths do not match");
        };
        if name.len() > MOST_STRING_BYTES {
            return refuse(out, option, REP_ERR_TOO_BIG, "the name is too long");
        }
        if !export.is_called(name) {
            return refuse(out, option, REP_ERR_UNKNOWN, "no such export");
        }
        let matches = |query: &&[u8]| *query == ALLOCATION_NAME || !set && *query == b"base:";
        if queries.iter().any(matches) || !set && queries.is_empty() {
            let mut found = (if set { ALLOCATION } else { 0 }).to_be_bytes().to_vec();
            found.extend_from_slice(ALLOCATION_NAME);
            reply(out, option, REP_META_CONTEXT, &found);
            if set {
                self.agreed.allocation = true;
                self.context_export = name.to_vec();
            }
        }
        reply(out, option, REP_ACK, &[]);
    }
}

/// Name and kinds of information; `None`: lengths do not match.
fn info_request(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let (name, rest) = string(data)?;
    let (count, rest) = rest.split_first_chunk::<2>()?;
    let kinds: Vec<u16> = rest.chunks_exact(2).map(|kind| u16::from_be_bytes([kind[0], kind[1]])).collect();
    let count = usize::from(u16::from_be_bytes(*count));
    (rest.len() == 2 * count).then_some((name, kinds))
}

/// Name and queries; `None`: lengths do not match.
fn context_request(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let (name, rest) = string(data)?;
    let (count, mut rest) = rest.split_first_chunk::<4>()?;
    let count = u32::from_be_bytes(*count);
    let mut queries = Vec::new();
    for _ in 0..count {
        let (query, after) = string(rest)?;
        queries.push(query);
        rest = after;
    }
    rest.is_empty().then_some((name, queries))
}

/// A string with its length before it, and what follows.
fn string(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

fn u32_of(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().expect("four bytes"))
}

fn reply(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend_from_slice(&option.to_be_bytes());
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    out.extend_from_slice(data);
}

fn refuse(out: &mut Vec<u8>, option: u32, kind: u32, why: &str) {
    reply(out, option, kind, why.as_bytes());
}
