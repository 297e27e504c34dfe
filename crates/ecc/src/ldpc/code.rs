//! Quasi-cyclic parity-check matrices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_core::Rng;

/// A code of the catalog, by the name that drive files use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LdpcCode {
    /// CCSDS 131.0-B C2: 8176 bits, 7156 of them data, rate 0.875; the class of code that protects 1 KiB.
    CcsdsC2,
    /// 18,240 bits, rate 0.90, four block rows of 40 circulants of 456 bits: 2 KiB of data (shortened by 35 bits) with
    /// 228 bytes of parity, which fits eight times into a 16 KiB page with 1872 spare bytes.
    #[serde(rename = "qc-2k")]
    Qc2k,
}

impl LdpcCode {
    pub const ALL: [LdpcCode; 2] = [LdpcCode::CcsdsC2, LdpcCode::Qc2k];

    /// The name in drive files and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LdpcCode::CcsdsC2 => "ccsds-c2",
            LdpcCode::Qc2k => "qc-2k",
        }
    }

    /// Bits of a codeword.
    #[must_use]
    pub fn codeword_bits(self) -> u32 {
        match self {
            LdpcCode::CcsdsC2 => 8176,
            LdpcCode::Qc2k => 18_240,
        }
    }

    /// Data bits of a codeword: bits less the rank of the matrix (tested).
    #[must_use]
    pub fn data_bits(self) -> u32 {
        match self {
            LdpcCode::CcsdsC2 => 7156,
            LdpcCode::Qc2k => 16_419,
        }
    }

    #[must_use]
    pub fn rate(self) -> f64 {
        f64::from(self.data_bits()) / f64::from(self.codeword_bits())
    }

    /// Builds the parity-check matrix. Always the same one.
    #[must_use]
    pub fn build(self) -> QcMatrix {
        match self {
            LdpcCode::CcsdsC2 => ccsds_c2(),
            LdpcCode::Qc2k => few_short_cycles(4, 40, 456),
        }
    }
}

/// A parity-check matrix of circulants: block row by block row, the column and the shift of each circulant permutation.
/// Row `r` of a block row has a one in column `column * circulant + (r + shift) % circulant` for every entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QcMatrix {
    pub circulant: usize,
    pub columns: usize,
    pub rows: Vec<Vec<Entry>>,
}

/// One circulant permutation of a block row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub column: usize,
    pub shift: usize,
}

impl QcMatrix {
    /// Bits of a codeword.
    #[must_use]
    pub fn bits(&self) -> usize {
        self.columns * self.circulant
    }

    /// Parity checks that the busiest bit takes part in.
    #[must_use]
    pub fn checks_per_bit(&self) -> usize {
        let of = |column| self.rows.iter().flatten().filter(|e| e.column == column).count();
        (0..self.columns).map(of).max().unwrap_or(0)
    }

    /// Cycles of four and of six edges in the Tanner graph, up to the circulants' rotation; those of six
    /// over three different block rows. The first must be none; the second are what small trapping sets are made of.
    #[must_use]
    pub fn short_cycles(&self) -> (usize, usize) {
        (self.cycles_of_4(), self.cycles_of_6())
    }

    fn cycles_of_4(&self) -> usize {
        let z = self.circulant;
        let mut count = 0;
        for (i, upper) in self.rows.iter().enumerate() {
            for lower in &self.rows[i..] {
                let same_row = std::ptr::eq(upper, lower);
                let steps = |a: &Entry, b: &Entry| (a.shift + z - b.shift) % z;
                let mut seen: Vec<(usize, usize)> = Vec::new();
                for (ai, a) in upper.iter().enumerate() {
                    for (bi, b) in lower.iter().enumerate() {
                        if a.column == b.column && !(same_row && ai == bi) {
                            seen.push((a.column, steps(a, b)));
                        }
                    }
                }
                for (x, a) in seen.iter().enumerate() {
                    count += seen[x + 1..].iter().filter(|b| a.1 == b.1 && (!same_row || a.0 != b.0)).count();
                }
            }
        }
        count
    }

    fn cycles_of_6(&self) -> usize {
        let z = self.circulant;
        let mut count = 0;
        for i in 0..self.rows.len() {
            for j in i + 1..self.rows.len() {
                for k in j + 1..self.rows.len() {
                    let hops = |from: usize, to: usize| -> Vec<(usize, usize)> {
                        let mut out = Vec::new();
                        for a in &self.rows[from] {
                            for b in self.rows[to].iter().filter(|b| b.column == a.column) {
                                out.push((a.column, (a.shift + z - b.shift) % z));
                            }
                        }
                        out
                    };
                    let (ij, jk, ki) = (hops(i, j), hops(j, k), hops(k, i));
                    let mut closing = vec![Vec::new(); z];
                    for &(c, d) in &ki {
                        closing[(z - d) % z].push(c);
                    }
                    for &(a, x) in &ij {
                        for &(b, y) in jk.iter().filter(|e| e.0 != a) {
                            count += closing[(x + y) % z].iter().filter(|&&c| c != a && c != b).count();
                        }
                    }
                }
            }
        }
        count
    }
}

/// CCSDS 131.0-B, table 7-1: shifts of the two ones of each 511-bit circulant.
fn ccsds_c2() -> QcMatrix {
    const SHIFTS: [[[usize; 2]; 16]; 2] = [
        [
            [0, 176],
            [12, 239],
            [0, 352],
            [24, 431],
            [0, 392],
            [151, 409],
            [0, 351],
            [9, 359],
            [0, 307],
            [53, 329],
            [0, 207],
            [18, 281],
            [0, 399],
            [202, 457],
            [0, 247],
            [36, 261],
        ],
        [
            [99, 471],
            [130, 473],
            [198, 435],
            [260, 478],
            [215, 420],
            [282, 481],
            [48, 396],
            [193, 445],
            [273, 430],
            [302, 451],
            [96, 379],
            [191, 386],
            [244, 467],
            [364, 470],
            [51, 382],
            [192, 414],
        ],
    ];
    let row = |shifts: &[[usize; 2]; 16]| {
        let pairs = shifts.iter().enumerate();
        pairs.flat_map(|(column, pair)| pair.map(|shift| Entry { column, shift })).collect()
    };
    QcMatrix { circulant: 511, columns: 16, rows: SHIFTS.iter().map(row).collect() }
}

/// A full array of `rows` x `columns` circulants, column by column: of many candidates the one without cycles of four
/// that closes the fewest cycles of six with the columns chosen so far; then every column once more, given all others.
fn few_short_cycles(rows: usize, columns: usize, z: usize) -> QcMatrix {
    const CANDIDATES: u32 = 20_000;
    const PASSES: usize = 4;
    let mut rng = Rng::new(0x51c0).stream("qc-ldpc");
    let mut shifts: Vec<Vec<usize>> = Vec::new();
    for pass in 0..PASSES {
        for column in 0..columns {
            let others: Vec<&Vec<usize>> =
                shifts.iter().enumerate().filter(|&(c, _)| c != column).map(|(_, s)| s).collect();
            let cost = SixCycles::with(&others, rows, z);
            let mut best = if pass == 0 { None } else { cost.of(&shifts[column]).map(|c| (c, shifts[column].clone())) };
            for _ in 0..CANDIDATES {
                let mut candidate: Vec<usize> = (0..rows).map(|_| rng.below(z as u64) as usize).collect();
                candidate[0] = 0;
                if let Some(c) = cost.of(&candidate)
                    && best.as_ref().is_none_or(|(least, _)| c < *least)
                {
                    best = Some((c, candidate));
                }
            }
            let (_, chosen) = best.expect("circulants are large enough to avoid cycles of four");
            if pass == 0 { shifts.push(chosen) } else { shifts[column] = chosen }
        }
    }
    let row = |r: usize| shifts.iter().enumerate().map(|(column, s)| Entry { column, shift: s[r] }).collect();
    QcMatrix { circulant: z, columns, rows: (0..rows).map(row).collect() }
}

/// For each pair of block rows, what a new column with a given difference of shifts would close.
struct SixCycles {
    z: usize,
    /// By row pair and difference: cycles of six closed; `u32::MAX` marks a cycle of four.
    closed: Vec<(usize, usize, Vec<u32>)>,
}

impl SixCycles {
    fn with(columns: &[&Vec<usize>], rows: usize, z: usize) -> Self {
        let mut closed = Vec::new();
        for i in 0..rows {
            for k in i + 1..rows {
                let mut count = vec![0u32; z];
                for j in (0..rows).filter(|&j| j != i && j != k) {
                    for (ai, a) in columns.iter().enumerate() {
                        for (_, b) in columns.iter().enumerate().filter(|&(bi, _)| bi != ai) {
                            count[(a[i] + 2 * z - a[j] + b[j] - b[k]) % z] += 1;
                        }
                    }
                }
                for c in columns {
                    count[(c[i] + z - c[k]) % z] = u32::MAX;
                }
                closed.push((i, k, count));
            }
        }
        SixCycles { z, closed }
    }

    /// Cycles of six that this column closes, or nothing if it closes one of four.
    fn of(&self, column: &[usize]) -> Option<u64> {
        let mut sum = 0;
        for (i, k, count) in &self.closed {
            match count[(column[*i] + self.z - column[*k]) % self.z] {
                u32::MAX => return None,
                n => sum += u64::from(n),
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_code_has_cycles_of_four() {
        for code in LdpcCode::ALL {
            let matrix = code.build();
            assert_eq!(matrix.bits(), code.codeword_bits() as usize);
            let (four, six) = matrix.short_cycles();
            println!("{}: {six} classes of cycles of six", code.name());
            assert_eq!(four, 0, "{}", code.name());
        }
    }

    #[test]
    fn our_code_has_far_fewer_cycles_of_six_than_an_array_code_of_its_size() {
        let p = 457;
        let row = |i: usize| (0..40).map(|column| Entry { column, shift: i * column % p }).collect();
        let array = QcMatrix { circulant: p, columns: 40, rows: (0..4).map(row).collect() };
        let (_, theirs) = array.short_cycles();
        let (_, ours) = LdpcCode::Qc2k.build().short_cycles();
        assert!(ours * 4 < theirs, "{ours} and {theirs}");
    }

    #[test]
    fn a_planted_cycle_is_counted() {
        let e = |column, shift| Entry { column, shift };
        let four = QcMatrix { circulant: 7, columns: 2, rows: vec![vec![e(0, 0), e(1, 1)], vec![e(0, 3), e(1, 4)]] };
        assert_eq!(four.short_cycles(), (1, 0));
        let rows = vec![vec![e(0, 0), e(1, 1)], vec![e(1, 1), e(2, 5)], vec![e(0, 0), e(2, 5)]];
        assert_eq!(QcMatrix { circulant: 7, columns: 3, rows }.short_cycles(), (0, 1));
    }
}
