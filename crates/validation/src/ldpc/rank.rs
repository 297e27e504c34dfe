//! The rank of a parity-check matrix, and codewords of it, by elimination over GF(2).

use ssdlab_core::Rng;

use super::matrix::QcMatrix;

/// A parity-check matrix reduced to one pivot bit a row.
#[derive(Clone, Debug)]
pub struct Reduced {
    bits: usize,
    /// Independent rows, each with the bit that no other row has.
    rows: Vec<(usize, Vec<u64>)>,
}

impl Reduced {
    #[must_use]
    pub fn new(matrix: &QcMatrix) -> Self {
        let (z, bits) = (matrix.circulant, matrix.bits());
        let words = bits.div_ceil(64);
        let mut pending: Vec<Vec<u64>> = Vec::new();
        for row in &matrix.rows {
            for r in 0..z {
                let mut ones = vec![0u64; words];
                for entry in row {
                    let bit = entry.column * z + (r + entry.shift) % z;
                    ones[bit / 64] ^= 1 << (bit % 64);
                }
                pending.push(ones);
            }
        }
        let mut rows: Vec<(usize, Vec<u64>)> = Vec::new();
        while let Some(row) = pending.pop() {
            let Some(word) = row.iter().position(|&w| w != 0) else { continue };
            let pivot = word * 64 + row[word].trailing_zeros() as usize;
            let clear = |other: &mut Vec<u64>| {
                if other[pivot / 64] >> (pivot % 64) & 1 == 1 {
                    other.iter_mut().zip(&row).for_each(|(o, r)| *o ^= r);
                }
            };
            pending.iter_mut().for_each(clear);
            rows.iter_mut().for_each(|(_, other)| clear(other));
            rows.push((pivot, row));
        }
        Reduced { bits, rows }
    }

    /// Independent parity checks: parity bits of the code.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rows.len()
    }

    /// A codeword with random data.
    pub fn random_codeword(&self, rng: &mut Rng) -> Vec<bool> {
        let mut word: Vec<u64> = (0..self.bits.div_ceil(64)).map(|_| rng.next_u64()).collect();
        for (pivot, _) in &self.rows {
            word[pivot / 64] &= !(1 << (pivot % 64));
        }
        for (pivot, row) in &self.rows {
            // The other rows' pivots do not occur in this row, so it sees data bits alone.
            let parity = row.iter().zip(&word).fold(0, |sum, (r, w)| sum ^ (r & w)).count_ones() & 1;
            word[pivot / 64] |= u64::from(parity) << (pivot % 64);
        }
        (0..self.bits).map(|bit| word[bit / 64] >> (bit % 64) & 1 == 1).collect()
    }
}
