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
}

impl Written {
    pub(super) fn new(block_bytes: u64, end_bytes: u64) -> Self {
        Written { block_bytes, end_bytes, chunks: BTreeMap::new() }
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
        while let Some(mut entry) = self.chunks.first_entry() {
            let (number, shift) = *entry.key();
            if let Some(word) = entry.get().iter().position(|w| *w != 0) {
                let bit = entry.get()[word].trailing_zeros();
                entry.get_mut()[word] &= !(1 << bit);
                let block = number * CHUNK + word as u64 * 64 + u64::from(bit);
                let at = block * self.block_bytes + shift;
                return Some((at, self.block_bytes.min(self.end_bytes.saturating_sub(at))));
            }
            entry.remove();
        }
        None
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
    fn a_write_that_is_no_multiple_of_the_block_is_read_to_its_end_and_not_beyond_the_last_byte() {
        let mut written = Written::new(4096, 14 << 10);
        written.add(0, 6 << 10);
        written.add(8 << 10, 6 << 10);
        let all: Vec<_> = std::iter::from_fn(|| written.pop()).collect();
        assert_eq!(all, [(0, 4096), (4096, 4096), (8192, 4096), (12_288, 2048)]);
    }
}
