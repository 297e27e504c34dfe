//! Replies as bytes.

use super::words::*;

/// A reply without data: success if `error` is `None`. Reads and block status with structured replies fail in that form.
pub fn short(out: &mut Vec<u8>, cookie: u64, error: Option<NbdError>, structured: bool) {
    if !structured {
        return simple(out, cookie, error);
    }
    match error {
        Some(error) => {
            chunk(out, REPLY_FLAG_DONE, REPLY_ERROR, cookie, 6);
            out.extend_from_slice(&(error as u32).to_be_bytes());
            out.extend_from_slice(&0u16.to_be_bytes());
        }
        None => chunk(out, REPLY_FLAG_DONE, REPLY_NONE, cookie, 0),
    }
}

/// A simple reply.
pub fn simple(out: &mut Vec<u8>, cookie: u64, error: Option<NbdError>) {
    out.extend_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    out.extend_from_slice(&error.map_or(0, |e| e as u32).to_be_bytes());
    out.extend_from_slice(&cookie.to_be_bytes());
}

/// Bytes that stand before the data of a read.
#[must_use]
pub const fn read_head_bytes(structured: bool) -> usize {
    if structured { 28 } else { 16 }
}

/// What stands before the data of a read.
pub fn read_head(out: &mut Vec<u8>, cookie: u64, offset_bytes: u64, length_bytes: u32, structured: bool) {
    if structured {
        chunk(out, REPLY_FLAG_DONE, REPLY_OFFSET_DATA, cookie, length_bytes + 8);
        out.extend_from_slice(&offset_bytes.to_be_bytes());
    } else {
        simple(out, cookie, None);
    }
}

/// Extents as (bytes, state).
pub fn block_status(out: &mut Vec<u8>, cookie: u64, context: u32, extents: &[(u32, u32)]) {
    chunk(out, REPLY_FLAG_DONE, REPLY_BLOCK_STATUS, cookie, 4 + 8 * extents.len() as u32);
    out.extend_from_slice(&context.to_be_bytes());
    for (bytes, state) in extents {
        out.extend_from_slice(&bytes.to_be_bytes());
        out.extend_from_slice(&state.to_be_bytes());
    }
}

fn chunk(out: &mut Vec<u8>, flags: u16, kind: u16, cookie: u64, length: u32) {
    out.extend_from_slice(&STRUCTURED_REPLY_MAGIC.to_be_bytes());
    out.extend_from_slice(&flags.to_be_bytes());
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&cookie.to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
}
