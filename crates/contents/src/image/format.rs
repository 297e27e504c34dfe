//! How an image looks in its file.
//!
//! | bytes | what |
//! |---|---|
//! | 0–4095, 4096–8191 | two headers; the valid one with the greater generation counts |
//! | 8192… | records, one behind the other, numbered |
//!
//! A header: magic, version, flags, generation, capacity, end of what is committed, number of the image, name of the
//! device, pages with keys of their own (from byte 1088, up to twelve times: first page, the page behind the last one, number of the
//! first record that is encrypted with the key, the key; zeroes behind them), media key (from byte 2048: number of changes, the key)
//! if the pages are encrypted, what the drive has counted (from
//! byte 2176: length, what [`ssdlab_device::Plug::totals`] gave); CRC-32 in its last four bytes. A record: magic, kind, first page, number of pages, its number, CRC-32 of its
//! data, CRC-32 of all that stands before it; data pages follow. The state of the drive is one or several records, whose
//! pages are numbered from 0; a length stands before it, and zeroes behind it fill a page. Pages that the firmware keeps for itself
//! have numbers of their own, and are encrypted as pages behind the last one that a device can have. Some of their records count
//! only once a header says so (byte 2128: records before which number): they happen together, and with a change of keys. The checksums begin with the number of the image. All
//! numbers are little-endian. Of an encrypted image the checksums are those of what stands in the file.

use std::ops::Range;

use super::ImageError;
use super::media_key::{KEY_BYTES, KeyedPages, MediaKey, pieces};

pub const MAGIC: &[u8; 8] = b"SSDLABIM";
/// Version 2 knows the state of a drive, version 3 its media key and erases of images that are not attached, version 4 what its
/// firmware keeps outside of the host's addresses, version 5 what it has counted, and pages that were trimmed and are still read,
/// version 6 pages with keys of their own.
pub const VERSION: u32 = 6;
const FIRST_VERSION: u32 = 1;
pub const HEADER_BYTES: usize = 4096;
/// Where records begin.
pub const FIRST_RECORD: u64 = 2 * HEADER_BYTES as u64;
pub const RECORD_BYTES: usize = 32;
/// Pages of one data record.
pub const MOST_DATA_PAGES: u32 = 256;
/// Bytes of a device's name.
pub const MOST_NAME_BYTES: usize = 1024;

const RECORD_MAGIC: u32 = u32::from_le_bytes(*b"SLre");
const CLEAN: u32 = 1;
const ENCRYPTED: u32 = 2;
/// Programs that do not know it take the header for none.
const UNFINISHED: u32 = 4;
const HAS_TOTALS: u32 = 8;
const HAS_KEYED: u32 = 16;
const FIRST_ENCRYPTED: u32 = 3;
const FIRST_WITH_TOTALS: u32 = 5;
const FIRST_WITH_KEYED: u32 = 6;
const KEYED_AT: usize = 1088;
const KEYED_BYTES: usize = 16 + KEY_BYTES;
/// So many stretches of pages have keys of their own at most.
pub const MOST_KEYED: usize = (KEY_AT - KEYED_AT) / KEYED_BYTES;
const KEY_AT: usize = 2048;
const TOGETHER_AT: usize = 2128;
const TOTALS_AT: usize = 2176;
/// Bytes of what a drive has counted.
pub const MOST_TOTALS_BYTES: usize = 1900;

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// That of the file; what is written is of [`VERSION`].
    pub version: u32,
    /// The image was closed in good order.
    pub clean: bool,
    /// Not all that the image shall begin with is in it.
    pub unfinished: bool,
    /// Counts the headers written.
    pub generation: u64,
    pub capacity_bytes: u64,
    /// What lies before was flushed: damage there is damage. What lies behind may end in the middle of a record.
    pub committed_end: u64,
    /// Drawn when the image was made; begins every checksum, so that nothing of another image is taken for a part of it.
    pub image_number: u64,
    /// The device that the image was made for.
    pub device: String,
    /// The pages are encrypted with it.
    pub key: Option<MediaKey>,
    /// Those of them that have a key of their own, in order; at most [`MOST_KEYED`] stretches.
    pub keyed: Vec<KeyedPages>,
    /// Records that wait for others count if their number is less: see [`RecordKind::waits`].
    pub together: u64,
    /// What the drive had counted when the header was written, unless the image was closed; at most [`MOST_TOTALS_BYTES`].
    pub totals: Option<Vec<u8>>,
}

impl Header {
    /// # Panics
    /// If the name is longer than [`MOST_NAME_BYTES`], or the totals than [`MOST_TOTALS_BYTES`].
    #[must_use]
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        assert!(self.device.len() <= MOST_NAME_BYTES, "a device name of {} bytes", self.device.len());
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        let flags = [
            (self.clean, CLEAN),
            (self.key.is_some(), ENCRYPTED),
            (self.unfinished, UNFINISHED),
            (self.totals.is_some(), HAS_TOTALS),
            (!self.keyed.is_empty(), HAS_KEYED),
        ];
        let flags: u32 = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).sum();
        bytes.extend_from_slice(&flags.to_le_bytes());
        for number in [self.generation, self.capacity_bytes, self.committed_end, self.image_number] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&(self.device.len() as u32).to_le_bytes());
        bytes.extend_from_slice(self.device.as_bytes());
        assert!(self.keyed.len() <= MOST_KEYED, "{} stretches of pages with keys of their own", self.keyed.len());
        for (k, of) in self.keyed.iter().enumerate() {
            bytes.resize(KEYED_AT + k * KEYED_BYTES, 0);
            bytes.extend_from_slice(&of.pages.start.to_le_bytes());
            bytes.extend_from_slice(&of.pages.end.to_le_bytes());
            bytes.extend_from_slice(&of.since.to_le_bytes());
            bytes.extend_from_slice(&of.key.bytes);
        }
        if let Some(key) = &self.key {
            bytes.resize(KEY_AT, 0);
            bytes.extend_from_slice(&key.changes.to_le_bytes());
            bytes.extend_from_slice(&key.bytes);
        }
        bytes.resize(TOGETHER_AT, 0);
        bytes.extend_from_slice(&self.together.to_le_bytes());
        if let Some(totals) = &self.totals {
            bytes.resize(TOTALS_AT, 0);
            bytes.extend_from_slice(&(totals.len() as u32).to_le_bytes());
            bytes.extend_from_slice(totals);
        }
        bytes.resize(HEADER_BYTES - 4, 0);
        let crc = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes.try_into().expect("a header has 4096 bytes")
    }

    /// `None`: not a valid header.
    ///
    /// # Errors
    /// If it is the header of a version that is not known here.
    pub fn read(bytes: &[u8; HEADER_BYTES]) -> Result<Option<Header>, ImageError> {
        let crc = crc32fast::hash(&bytes[..HEADER_BYTES - 4]);
        if u32_at(bytes, HEADER_BYTES - 4) != crc || &bytes[..8] != MAGIC {
            return Ok(None);
        }
        let version = u32_at(bytes, 8);
        if !(FIRST_VERSION..=VERSION).contains(&version) {
            return Err(ImageError::Version { found: version });
        }
        let flags = u32_at(bytes, 12);
        let name_bytes = u32_at(bytes, 48) as usize;
        let since = |first: u32, flags: u32| if version < first { 0 } else { flags };
        let known = CLEAN
            | since(FIRST_ENCRYPTED, ENCRYPTED | UNFINISHED)
            | since(FIRST_WITH_TOTALS, HAS_TOTALS)
            | since(FIRST_WITH_KEYED, HAS_KEYED);
        if flags & !known != 0 || name_bytes > MOST_NAME_BYTES {
            return Ok(None);
        }
        let Ok(device) = std::str::from_utf8(&bytes[52..52 + name_bytes]) else { return Ok(None) };
        let totals_bytes = if flags & HAS_TOTALS == 0 { 0 } else { u32_at(bytes, TOTALS_AT) as usize };
        if totals_bytes > MOST_TOTALS_BYTES {
            return Ok(None);
        }
        let keyed = if flags & HAS_KEYED == 0 { Vec::new() } else { keyed_at(bytes) };
        if !keyed.is_empty() && flags & ENCRYPTED == 0 || !keyed.is_sorted_by(|a, b| a.pages.end <= b.pages.start) {
            return Ok(None);
        }
        Ok(Some(Header {
            version,
            keyed,
            together: if version < FIRST_WITH_KEYED { 0 } else { u64_at(bytes, TOGETHER_AT) },
            totals: (flags & HAS_TOTALS != 0).then(|| bytes[TOTALS_AT + 4..][..totals_bytes].to_vec()),
            clean: flags & CLEAN != 0,
            unfinished: flags & UNFINISHED != 0,
            generation: u64_at(bytes, 16),
            capacity_bytes: u64_at(bytes, 24),
            committed_end: u64_at(bytes, 32),
            image_number: u64_at(bytes, 40),
            device: device.to_owned(),
            key: (flags & ENCRYPTED != 0).then(|| MediaKey {
                changes: u64_at(bytes, KEY_AT),
                bytes: bytes[KEY_AT + 8..KEY_AT + 8 + KEY_BYTES].try_into().expect("a key has 64 bytes"),
            }),
        }))
    }
}

impl Header {
    /// Pages cut where their key changes: see [`pieces`]. None if they are not encrypted.
    #[must_use]
    pub fn keys_of(&self, pages: Range<u32>) -> Vec<(Range<u32>, &MediaKey, u64)> {
        self.key.as_ref().map_or_else(Vec::new, |base| pieces(base, &self.keyed, pages))
    }
}

fn keyed_at(bytes: &[u8; HEADER_BYTES]) -> Vec<KeyedPages> {
    let all = bytes[KEYED_AT..KEY_AT].chunks_exact(KEYED_BYTES);
    let all = all.map(|of| KeyedPages {
        pages: u32_at(of, 0)..u32_at(of, 4),
        since: u64_at(of, 8),
        key: MediaKey { changes: 0, bytes: of[16..].try_into().expect("a key has 64 bytes") },
    });
    all.filter(|of| !of.pages.is_empty()).collect()
}

/// What a record says of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// Their bytes follow.
    Data = 1,
    /// Written, with zeroes.
    Zeroes = 2,
    /// Never written, or trimmed.
    Nothing = 3,
    /// A power cut has destroyed them.
    Lost = 4,
    /// A piece of the drive's state: what was kept without power, compressed. `first` counts the pieces.
    State = 5,
    /// All that the drive held is erased. The state before it is that of a drive which is to be erased before it goes on.
    Erased = 6,
    /// Pages that the firmware keeps for itself, by numbers of its own. Their bytes follow.
    Reserved = 7,
    /// Of these, pages of zeroes.
    ReservedZeroes = 8,
    /// Trimmed, and read as they were before.
    Trimmed = 9,
    /// As [`RecordKind::Reserved`] and [`RecordKind::ReservedZeroes`], of several that happen together.
    ReservedTogether = 10,
    ReservedZeroesTogether = 11,
}

/// Whether records can stand there, of which these are the first bytes: also none, or one that was cut short.
#[must_use]
pub fn may_be_records(bytes: &[u8]) -> bool {
    let magic = RECORD_MAGIC.to_le_bytes();
    magic.starts_with(&bytes[..bytes.len().min(magic.len())])
}

impl RecordKind {
    fn has_data(self) -> bool {
        use RecordKind::{Data, Reserved, ReservedTogether, State};
        matches!(self, Data | State | Reserved | ReservedTogether)
    }

    /// Whether its pages are those that the firmware keeps for itself.
    #[must_use]
    pub fn is_reserved(self) -> bool {
        self.waits() || matches!(self, RecordKind::Reserved | RecordKind::ReservedZeroes)
    }

    /// Whether it counts only once a header says so: see [`Header::together`]. Otherwise the file ends before it.
    #[must_use]
    pub fn waits(self) -> bool {
        matches!(self, RecordKind::ReservedTogether | RecordKind::ReservedZeroesTogether)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub kind: RecordKind,
    pub first: u32,
    pub pages: u32,
    /// Counts records from 0.
    pub number: u64,
    pub data_crc: u32,
}

impl Record {
    /// Bytes that follow it.
    #[must_use]
    pub fn data_bytes(&self) -> usize {
        if self.kind.has_data() { self.pages as usize * crate::PAGE_BYTES } else { 0 }
    }

    #[must_use]
    pub fn bytes(&self, image_number: u64) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..4].copy_from_slice(&RECORD_MAGIC.to_le_bytes());
        bytes[4..8].copy_from_slice(&(self.kind as u32).to_le_bytes());
        bytes[8..12].copy_from_slice(&self.first.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.pages.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.data_crc.to_le_bytes());
        let crc = checksum(image_number, &bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// `None`: not a valid record of this image with this number.
    #[must_use]
    pub fn read(bytes: &[u8; RECORD_BYTES], image_number: u64, number: u64) -> Option<Record> {
        if u32_at(bytes, 0) != RECORD_MAGIC || u32_at(bytes, 28) != checksum(image_number, &bytes[..28]) {
            return None;
        }
        let kind = match u32_at(bytes, 4) {
            1 => RecordKind::Data,
            2 => RecordKind::Zeroes,
            3 => RecordKind::Nothing,
            4 => RecordKind::Lost,
            5 => RecordKind::State,
            6 => RecordKind::Erased,
            7 => RecordKind::Reserved,
            8 => RecordKind::ReservedZeroes,
            9 => RecordKind::Trimmed,
            10 => RecordKind::ReservedTogether,
            11 => RecordKind::ReservedZeroesTogether,
            _ => return None,
        };
        let record = Record {
            kind,
            first: u32_at(bytes, 8),
            pages: u32_at(bytes, 12),
            number: u64_at(bytes, 16),
            data_crc: u32_at(bytes, 24),
        };
        let too_long = kind.has_data() && record.pages > MOST_DATA_PAGES;
        (record.number == number && record.pages > 0 && !too_long).then_some(record)
    }
}

/// CRC-32 that begins with the number of the image.
#[must_use]
pub fn checksum(image_number: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&image_number.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
