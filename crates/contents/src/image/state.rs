//! The state of a drive in an image: what [`ssdlab_device::Plug::save`] gave, and what was changed since.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::ops::Range;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use super::ImageError;
use super::format::MOST_DATA_PAGES;
use crate::pages::PAGE_BYTES;

/// Bytes of a piece: one record.
const PIECE_BYTES: usize = MOST_DATA_PAGES as usize * PAGE_BYTES;
/// What the state of a drive takes at most, beside so many bytes for each page of its capacity.
const MOST_BYTES: u64 = 256 << 20;
const MOST_BYTES_A_PAGE: u64 = 64;

/// Pages that were written, or that hold nothing since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub pages: Range<u32>,
    pub written: bool,
}

/// A drive as it was last saved. See the module's own page.
#[derive(Clone, Debug, Default)]
pub struct DriveState {
    compressed: Vec<u8>,
    /// Since it was saved, all that it held was erased in the image. The drive is still to be told, before it goes on.
    pub erased: bool,
    /// What was changed since, in order.
    pub since: Vec<Change>,
    /// What the drive had counted by then, if the image was not closed: [`ssdlab_device::Plug::totals`].
    pub totals: Option<Vec<u8>>,
}

impl DriveState {
    /// From [`DriveState::compress`].
    pub(crate) fn of(compressed: Vec<u8>) -> Self {
        DriveState { compressed, ..DriveState::default() }
    }

    pub(crate) fn compress(saved: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        let written = encoder.write_all(saved).and_then(|()| encoder.finish());
        written.expect("a vector takes everything")
    }

    /// Bytes that no state of a drive with so many pages exceeds.
    pub(crate) fn most_bytes(pages: u64) -> u64 {
        MOST_BYTES + pages * MOST_BYTES_A_PAGE
    }

    /// What the drive gave, for a device of so many pages.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn saved(&self, pages: u64) -> Result<Vec<u8>, ImageError> {
        let most = DriveState::most_bytes(pages);
        let mut saved = Vec::new();
        let damaged = ImageError::Damaged { at: 0, what: "the state of the drive" };
        match ZlibDecoder::new(self.compressed.as_slice()).take(most + 1).read_to_end(&mut saved) {
            Ok(bytes) if bytes as u64 <= most => Ok(saved),
            _ => Err(damaged),
        }
    }

    /// Bytes that it takes in the image.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.compressed.len() as u64
    }

    /// As the data of records.
    pub(super) fn pieces(&self) -> Vec<Vec<u8>> {
        pieces_of(&self.compressed)
    }

    /// Some of a record was changed after the state was saved.
    pub(super) fn note(&mut self, pages: Range<u32>, written: bool) {
        match self.since.last_mut() {
            Some(last) if last.written == written && last.pages.end == pages.start => last.pages.end = pages.end,
            _ => self.since.push(Change { pages, written }),
        }
    }
}

/// A state as the data of records, each of whole pages.
#[must_use]
pub fn pack(saved: &[u8]) -> Vec<Vec<u8>> {
    pieces_of(&DriveState::compress(saved))
}

fn pieces_of(compressed: &[u8]) -> Vec<Vec<u8>> {
    let mut packed = (compressed.len() as u64).to_le_bytes().to_vec();
    packed.extend_from_slice(compressed);
    packed.resize(packed.len().next_multiple_of(PAGE_BYTES), 0);
    packed.chunks(PIECE_BYTES).map(<[u8]>::to_vec).collect()
}

/// Puts the records of a state together again.
#[derive(Debug, Default)]
pub struct Unpacker {
    bytes: Vec<u8>,
    /// So many have come, one after the other; `None`: one was missing.
    pieces: Option<u32>,
}

impl Unpacker {
    /// The next record; the whole state, if it was the last. A first piece begins anew.
    pub fn piece(&mut self, number: u32, data: &[u8]) -> Option<DriveState> {
        if number == 0 {
            *self = Unpacker { bytes: Vec::new(), pieces: Some(0) };
        }
        if self.pieces != Some(number) {
            *self = Unpacker::default();
            return None;
        }
        self.pieces = number.checked_add(1);
        self.bytes.extend_from_slice(data);
        let length = u64::from_le_bytes(self.bytes.get(..8)?.try_into().expect("eight bytes"));
        let end = usize::try_from(length.checked_add(8)?).ok()?;
        if self.bytes.len() < end {
            return None;
        }
        let mut compressed = std::mem::take(self).bytes;
        compressed.truncate(end);
        compressed.drain(..8);
        Some(DriveState::of(compressed))
    }
}

/// A set of pages.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    /// By number of 4096 pages: one bit each.
    chunks: BTreeMap<u32, Box<[u64; 64]>>,
}

impl Pages {
    pub fn add(&mut self, pages: Range<u32>) {
        for page in pages {
            let chunk = self.chunks.entry(page / 4096).or_insert_with(|| Box::new([0; 64]));
            chunk[page as usize % 4096 / 64] |= 1 << (page % 64);
        }
    }

    pub fn add_all(&mut self, other: Pages) {
        for (number, pages) in other.chunks {
            let chunk = self.chunks.entry(number).or_insert_with(|| Box::new([0; 64]));
            chunk.iter_mut().zip(*pages).for_each(|(own, other)| *own |= other);
        }
    }

    pub fn remove(&mut self, pages: Range<u32>) {
        for page in pages {
            if let Some(chunk) = self.chunks.get_mut(&(page / 4096)) {
                chunk[page as usize % 4096 / 64] &= !(1 << (page % 64));
            }
        }
    }

    #[must_use]
    pub fn contains(&self, page: u32) -> bool {
        self.chunks.get(&(page / 4096)).is_some_and(|chunk| chunk[page as usize % 4096 / 64] >> (page % 64) & 1 == 1)
    }

    pub fn clear(&mut self) {
        self.chunks.clear();
    }

    /// A range of pages in stretches of those that are in the set and those that are not.
    pub fn stretches(&self, pages: Range<u32>) -> impl Iterator<Item = (Range<u32>, bool)> + '_ {
        let mut at = pages.start;
        std::iter::from_fn(move || {
            let (start, inside) = (at, (at < pages.end).then(|| self.contains(at))?);
            at += 1;
            while at < pages.end && self.contains(at) == inside {
                // Chunks without a page in the set are passed over at once.
                let next =
                    if !inside && !self.chunks.contains_key(&(at / 4096)) { (at / 4096 + 1) * 4096 } else { at + 1 };
                at = next.min(pages.end);
            }
            Some((start..at, inside))
        })
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;

    #[test]
    fn a_state_of_any_length_comes_back_and_one_without_all_its_pieces_does_not() {
        let mut rng = Rng::new(1);
        for length in [0, 1, 4087, 4088, 5000, 3 << 20] {
            let saved: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
            let pieces = pack(&saved);
            let mut unpacker = Unpacker::default();
            assert!(pieces.iter().all(|piece| piece.len().is_multiple_of(PAGE_BYTES)));
            let states: Vec<_> = (0..).zip(&pieces).map(|(k, piece)| unpacker.piece(k, piece)).collect();
            let (last, before) = states.split_last().expect("there is a piece");
            assert!(before.iter().all(Option::is_none));
            assert_eq!(last.as_ref().expect("it is whole").saved(0).expect("it can be read"), saved);
            let mut unpacker = Unpacker::default();
            assert!((0..).zip(&pieces).skip(1).all(|(k, piece)| unpacker.piece(k, piece).is_none()));
        }
    }

    #[test]
    fn stretches_tell_the_set() {
        let mut pages = Pages::default();
        pages.add(3..5);
        pages.add(4095..4097);
        pages.add(90_000..90_001);
        let found: Vec<_> = pages.stretches(0..100_000).collect();
        let inside: Vec<_> = found.iter().filter(|s| s.1).map(|s| s.0.clone()).collect();
        assert_eq!(inside, [3..5, 4095..4097, 90_000..90_001]);
        assert!(found.windows(2).all(|s| s[0].0.end == s[1].0.start && s[0].1 != s[1].1));
        assert_eq!((found[0].0.start, found.last().map(|s| s.0.end)), (0, Some(100_000)));
    }
}
