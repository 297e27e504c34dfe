//! Reads an image: every byte of it is checked.

use std::io::{ErrorKind, Read};

use ssdlab_core::UNIT_BYTES;

use super::ImageError;
use super::format::{FIRST_RECORD, HEADER_BYTES, Header, RECORD_BYTES, Record, RecordKind, checksum};
use super::reserved::{FIRST_DATA_UNIT, Reserved};
use super::state::{DriveState, Unpacker};
use crate::pages::PAGE_BYTES;
use crate::store::{Store, Version, page_of};

/// Numbers of headers end far beyond what anybody writes.
const MOST_HEADERS: u64 = 1 << 62;

/// What was read.
pub struct ImageContents {
    pub header: Header,
    /// Both copies of the header are whole.
    pub headers_match: bool,
    pub store: Store,
    /// The drive as it was last saved, if it ever was.
    pub state: Option<DriveState>,
    pub reserved: Reserved,
    pub records: u64,
    /// Where the last whole record ends.
    pub end: u64,
    /// Bytes behind it: a record that was being written when the process ended.
    pub torn_bytes: u64,
}

/// Reads what stands before the records of an image of so many bytes; and whether both copies of it are whole.
///
/// # Errors
/// As [`read_image`].
pub fn read_header(file: &mut impl Read, file_bytes: u64) -> Result<(Header, bool), ImageError> {
    let mut headers = [[0; HEADER_BYTES]; 2];
    for header in &mut headers {
        exactly(file, header)?.ok_or(ImageError::NoImage)?;
    }
    let read = [Header::read(&headers[0])?, Header::read(&headers[1])?];
    let headers_match = read.iter().all(Option::is_some);
    let header = read.into_iter().flatten().max_by_key(|h| h.generation).ok_or(ImageError::NoImage)?;
    if header.unfinished {
        return Err(ImageError::Unfinished);
    }
    let damaged = |at: u64, what: &'static str| Err(ImageError::Damaged { at, what });
    if header.capacity_bytes > Store::MAX_CAPACITY_BYTES {
        return damaged(0, "a capacity that no device has");
    }
    if header.generation >= MOST_HEADERS {
        return damaged(0, "more headers than were ever written");
    }
    if file_bytes < header.committed_end || header.committed_end < FIRST_RECORD {
        return damaged(file_bytes, "the file ends before its committed end");
    }
    if header.clean && file_bytes != header.committed_end {
        return damaged(header.committed_end, "bytes behind the end of an image that was closed");
    }
    let units = header.capacity_bytes.div_ceil(UNIT_BYTES);
    if header.keyed.iter().any(|of| u64::from(of.pages.end) > units) {
        return damaged(0, "pages beyond the capacity have a key");
    }
    Ok((header, headers_match))
}

/// Reads a whole image of so many bytes.
///
/// # Errors
/// If it is no image, of another version, or damaged; or cannot be read.
pub fn read_image(file: &mut impl Read, file_bytes: u64) -> Result<ImageContents, ImageError> {
    let file = &mut file.take(file_bytes);
    let (mut header, headers_match) = read_header(file, file_bytes)?;
    let damaged = |at: u64, what: &'static str| Err(ImageError::Damaged { at, what });
    let units = header.capacity_bytes.div_ceil(UNIT_BYTES);
    let mut store = Store::new(header.capacity_bytes);
    let (mut end, mut records) = (FIRST_RECORD, 0);
    let (mut data, mut unpacker, mut state) = (Vec::new(), Unpacker::default(), None::<DriveState>);
    let (mut reserved, mut state_end) = (Reserved::default(), 0);
    // Pages whose key is changed before the next record are empty from there on.
    let empty = |store: &mut Store, records: u64| {
        let changed = header.keyed.iter().filter(|of| of.since == records && records > 0);
        changed.for_each(|of| store.blank(of.pages.clone()));
    };
    while let Some(record) = next_record(file, &header, records, &mut data)? {
        empty(&mut store, records);
        if record.kind == RecordKind::State {
            if let Some(whole) = unpacker.piece(record.first, &data) {
                (state, state_end) = (Some(whole), end + (RECORD_BYTES + data.len()) as u64);
            }
        } else if record.kind == RecordKind::Erased {
            store.clear(0..units as u32);
            if let Some(state) = &mut state {
                (state.erased, state.since) = (true, Vec::new());
            }
        } else if record.kind.is_reserved() {
            if u64::from(record.first) + u64::from(record.pages) > u64::from(u32::MAX) {
                return damaged(end, "a record of pages that no firmware has");
            }
            if let (false, Some(key)) = (data.is_empty(), &header.key) {
                key.decrypt(FIRST_DATA_UNIT + u64::from(record.first), &mut data);
            }
            let numbers = record.first..record.first + record.pages;
            reserved.remove(numbers.clone());
            numbers.zip(data.chunks_exact(PAGE_BYTES)).for_each(|(number, page)| reserved.set(number, Some(page)));
        } else if u64::from(record.first) + u64::from(record.pages) > units {
            return damaged(end, "a record of pages beyond the capacity");
        } else if record.kind == RecordKind::Lost && record.pages > 1 {
            return damaged(end, "a record of several lost pages, each of which has one of its own");
        } else {
            if record.kind == RecordKind::Data {
                decrypt(&header, &record, &mut data);
            }
            apply(&mut store, &record, &data);
            if let Some(state) = &mut state {
                let written = matches!(record.kind, RecordKind::Data | RecordKind::Zeroes);
                state.note(record.first..record.first + record.pages, written);
            }
        }
        end += (RECORD_BYTES + data.len()) as u64;
        records += 1;
    }
    empty(&mut store, records);
    let ends_early = records < header.together || header.keyed.iter().any(|of| of.since > records);
    if end < header.committed_end || ends_early {
        return damaged(end, "a record whose checksum does not match");
    }
    // What had been counted by a header from before the state stands in the state.
    header.totals.take_if(|_| state_end > header.committed_end);
    if let Some(state) = &mut state {
        state.totals.clone_from(&header.totals);
    }
    Ok(ImageContents { header, headers_match, store, state, reserved, records, end, torn_bytes: file_bytes - end })
}

/// Pages whose key is gone hold zeroes; they were emptied later.
fn decrypt(header: &Header, record: &Record, data: &mut [u8]) {
    for (pages, key, since) in header.keys_of(record.first..record.first + record.pages) {
        let at = |page: u32| (page - record.first) as usize * PAGE_BYTES;
        let bytes = &mut data[at(pages.start)..at(pages.end)];
        if record.number < since {
            bytes.fill(0);
        } else {
            key.decrypt(pages.start.into(), bytes);
        }
    }
}

/// `None`: there is no whole record, or one that waits for others which are not there.
fn next_record(
    file: &mut impl Read,
    header: &Header,
    number: u64,
    data: &mut Vec<u8>,
) -> Result<Option<Record>, ImageError> {
    let mut bytes = [0; RECORD_BYTES];
    if exactly(file, &mut bytes)?.is_none() {
        return Ok(None);
    }
    let Some(record) = Record::read(&bytes, header.image_number, number) else { return Ok(None) };
    if record.kind.waits() && number >= header.together {
        return Ok(None);
    }
    data.resize(record.data_bytes(), 0);
    if exactly(file, data)?.is_none() || checksum(header.image_number, data) != record.data_crc {
        return Ok(None);
    }
    Ok(Some(record))
}

/// `None`: the file ends before.
fn exactly(file: &mut impl Read, bytes: &mut [u8]) -> Result<Option<()>, ImageError> {
    match file.read_exact(bytes) {
        Ok(()) => Ok(Some(())),
        Err(e) if e.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn apply(store: &mut Store, record: &Record, data: &[u8]) {
    let units = record.first..record.first + record.pages;
    match record.kind {
        RecordKind::Data => {
            for (unit, bytes) in units.zip(data.chunks_exact(PAGE_BYTES)) {
                store.replace(unit, Version { number: 1, page: page_of(bytes) });
                store.mark_found(unit);
            }
        }
        RecordKind::Zeroes => store.write_zeroes(units),
        RecordKind::Nothing => store.clear(units),
        RecordKind::Trimmed => store.trim_and_keep(units),
        RecordKind::State
        | RecordKind::Erased
        | RecordKind::Reserved
        | RecordKind::ReservedZeroes
        | RecordKind::ReservedTogether
        | RecordKind::ReservedZeroesTogether => {}
        RecordKind::Lost => {
            for unit in units {
                store.replace(unit, Version::NOTHING);
                store.mark_lost(unit);
            }
        }
    }
}
