//! What a job has written, in blocks: a bit each, where something was written.

use std::collections::BTreeMap;

/// Blocks of a chunk.
const CHUNK: u64 = 4096;
const WORDS: usize = (CHUNK / 64) as usize;

/// A set of blocks, taken out in rising order.
#[derive(Clone, Debug)]
pub(super) struct Written {
    block_bytes: u64,
    /// Nothing behind it can be read.
    end_bytes: u64,
    /// Bits by number of chunk and offset of the job's blocks within a block.
    chunks: BTreeMap<(u64, u64), Box<[u64; WORDS]>>,
    /// Where the blocks of the lowest number begin, in falling order: they are taken out one by one.
    lowest: Vec<u64>,
}

impl Written {
    pub(super) fn new(block_bytes: u64, end_bytes: u64) -> Self {
        Written { block_bytes, end_bytes, chunks: BTreeMap::new(), lowest: Vec::new() }
    }

    /// Adds every block of the smallest size of which a part was written.
    pub(super) fn add(&mut self, offset_bytes: u64, length_bytes: u64) {
        let shift = offset_bytes % self.block_bytes;
        let first = offset_bytes / self.block_bytes;
        for block in first..first + length_bytes.div_ceil(self.block_bytes) {
            let chunk = self.chunks.entry((block / CHUNK, shift)).or_insert_with(|| Box::new([0; WORDS]));
            let bit = block % CHUNK;
            chunk[(bit / 64) as usize] |= 1 << (bit % 64);
        }
    }

    /// Takes out the lowest block: offset and length.
    pub(super) fn pop(&mut self) -> Option<(u64, u64)> {
        if self.lowest.is_empty() {
            self.lower();
        }
        let at = self.lowest.pop()?;
        Some((at, self.block_bytes.min(self.end_bytes.saturating_sub(at))))
    }

    /// Takes the blocks of the lowest number, which lie before those of the next one whatever their offset.
    fn lower(&mut self) {
        let lowest = self.chunks.first_key_value().map(|(key, _)| key.0);
        while let Some(chunk) = self.chunks.first_entry().filter(|chunk| Some(chunk.key().0) == lowest) {
            let ((number, shift), words) = chunk.remove_entry();
            for (first, mut word) in (number * CHUNK..).step_by(64).zip(*words) {
                while word != 0 {
                    let block = first + u64::from(word.trailing_zeros());
                    self.lowest.push(block * self.block_bytes + shift);
                    word &= word - 1;
                }
            }
        }
        self.lowest.sort_unstable_by(|a, b| b.cmp(a));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_out_once_in_rising_order() {
        let mut written = Written::new(4096, 1 << 40);
        for block in [9_000u64, 3, 4, 3, 5_000] {
            written.add(block * 4096, 4096);
        }
        written.add(100 * 4096, 3 * 4096);
        let all: Vec<u64> = std::iter::from_fn(|| written.pop()).map(|(at, _)| at / 4096).collect();
        assert_eq!(all, [3, 4, 100, 101, 102, 5_000, 9_000]);
        written.add(512, 4096);
        assert_eq!((written.pop(), written.pop()), (Some((512, 4096)), None));
    }

    #[test]
    fn blocks_of_different_offsets_come_out_by_address() {
        let mut written = Written::new(48 << 10, 1 << 40);
        for at in [1200, 100, 0, 148, 48, 96, 148] {
            written.add(at << 10, 48 << 10);
        }
        let all: Vec<u64> = std::iter::from_fn(|| written.pop()).map(|(at, _)| at >> 10).collect();
        assert_eq!(all, [0, 48, 96, 100, 148, 1200]);
    }

    #[test]
    fn a_write_that_is_no_multiple_of_the_block_is_read_to_its_end_and_not_beyond_the_last_byte() {
        let mut written = Written::new(4096, 14 << 10);
        written.add(0, 6 << 10);
        written.add(8 << 10, 6 << 10);
        let all: Vec<_> = std::iter::from_fn(|| written.pop()).collect();
        assert_eq!(all, [(0, 4096), (4096, 4096), (8192, 4096), (12_288, 2048)]);
    }
}
