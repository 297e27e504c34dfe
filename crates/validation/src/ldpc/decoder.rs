//! Layered normalised min-sum in integers, as a controller's decoder works.
//!
//! Log-likelihood ratios are in eighths of a nat; a check node answers with three quarters of the smallest magnitude
//! of the others; messages saturate at [`SATURATION`]. A block row is a layer, all its rows at once; where a circulant
//! has two ones, both changes are added. Nothing overflows 16 bits: a posterior is a ratio of at most 255 and one answer
//! of at most three quarters of the saturation for each of at most 16 checks, so the arithmetic wraps without checks. Decoding stops when every parity check holds, or after `max_iterations`.

use super::matrix::QcMatrix;

/// Largest magnitude of a variable's message.
pub const SATURATION: i16 = 2047;

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Every parity check holds. The word may still be a wrong codeword.
    pub checks_hold: bool,
    /// Iterations done: 0 if the bits as read were a codeword.
    pub iterations: u32,
}

/// A decoder for one code, with its working memory.
#[derive(Clone, Debug)]
pub struct Decoder {
    matrix: QcMatrix,
    max_iterations: u32,
    /// Reliability of each bit, positive for 0.
    posterior: Vec<i16>,
    /// Message of each edge from its check, by layer and entry.
    from_check: Vec<Vec<i16>>,
    /// Messages to the checks of the layer in hand.
    to_check: Vec<i16>,
    least: Vec<i16>,
    second: Vec<i16>,
    /// -1 where an odd number of messages are negative.
    odd: Vec<i16>,
}

impl Decoder {
    /// # Panics
    /// If `max_iterations` is zero, or a bit is in more than 16 checks.
    #[must_use]
    pub fn new(matrix: QcMatrix, max_iterations: u32) -> Self {
        assert!(max_iterations > 0, "a decoder needs at least one iteration");
        assert!(matrix.checks_per_bit() <= 16, "a bit in more than 16 checks could overflow its posterior");
        let z = matrix.circulant;
        let widest = matrix.rows.iter().map(Vec::len).max().unwrap_or(0);
        Decoder {
            max_iterations,
            posterior: vec![0; matrix.bits()],
            from_check: matrix.rows.iter().map(|row| vec![0; row.len() * z]).collect(),
            to_check: vec![0; widest * z],
            least: vec![0; z],
            second: vec![0; z],
            odd: vec![0; z],
            matrix,
        }
    }

    /// Decodes log-likelihood ratios (eighths of a nat, positive for 0), one a bit.
    ///
    /// # Panics
    /// If the number of bits is not the code's.
    pub fn decode(&mut self, llr: &[i16]) -> Outcome {
        self.posterior.copy_from_slice(llr);
        if self.checks_hold() {
            return Outcome { checks_hold: true, iterations: 0 };
        }
        for messages in &mut self.from_check {
            messages.fill(0);
        }
        for iteration in 1..=self.max_iterations {
            for layer in 0..self.matrix.rows.len() {
                self.gather(layer);
                self.answer(layer);
            }
            if self.checks_hold() {
                return Outcome { checks_hold: true, iterations: iteration };
            }
        }
        Outcome { checks_hold: false, iterations: self.max_iterations }
    }

    /// The bits as decided. A bit without any evidence counts as 1, so that an all-zero test word gains nothing from it.
    #[must_use]
    pub fn bits(&self) -> Vec<bool> {
        self.posterior.iter().map(|&v| v <= 0).collect()
    }

    /// True if every bit was decided to be 0.
    #[must_use]
    pub fn all_zero(&self) -> bool {
        self.posterior.iter().all(|&v| v > 0)
    }

    /// Messages from the variables of a layer, their two least magnitudes and their sign, check by check.
    fn gather(&mut self, layer: usize) {
        let z = self.matrix.circulant;
        self.least.fill(i16::MAX);
        self.second.fill(i16::MAX);
        self.odd.fill(0);
        for (e, entry) in self.matrix.rows[layer].iter().enumerate() {
            let posterior = &self.posterior[entry.column * z..][..z];
            let from_check = &self.from_check[layer][e * z..][..z];
            let to_check = &mut self.to_check[e * z..][..z];
            let turn = z - entry.shift;
            for (checks, variables) in [(0..turn, entry.shift..z), (turn..z, 0..entry.shift)] {
                gather_entry(
                    &posterior[variables],
                    &from_check[checks.clone()],
                    &mut to_check[checks.clone()],
                    &mut self.least[checks.clone()],
                    &mut self.second[checks.clone()],
                    &mut self.odd[checks],
                );
            }
        }
    }

    /// The checks' answers, added to the posteriors in place of their former ones.
    fn answer(&mut self, layer: usize) {
        let z = self.matrix.circulant;
        for (e, entry) in self.matrix.rows[layer].iter().enumerate() {
            let posterior = &mut self.posterior[entry.column * z..][..z];
            let from_check = &mut self.from_check[layer][e * z..][..z];
            let to_check = &self.to_check[e * z..][..z];
            let turn = z - entry.shift;
            for (checks, variables) in [(0..turn, entry.shift..z), (turn..z, 0..entry.shift)] {
                answer_entry(
                    &mut posterior[variables],
                    &mut from_check[checks.clone()],
                    &to_check[checks.clone()],
                    &self.least[checks.clone()],
                    &self.second[checks.clone()],
                    &self.odd[checks],
                );
            }
        }
    }

    fn checks_hold(&mut self) -> bool {
        let z = self.matrix.circulant;
        for row in &self.matrix.rows {
            self.odd.fill(0);
            for entry in row {
                let posterior = &self.posterior[entry.column * z..][..z];
                let turn = z - entry.shift;
                flip_where_one(&posterior[entry.shift..], &mut self.odd[..turn]);
                flip_where_one(&posterior[..entry.shift], &mut self.odd[turn..]);
            }
            if self.odd.iter().fold(0, |any, odd| any | odd) != 0 {
                return false;
            }
        }
        true
    }
}

/// Not inlined: as arguments the slices are known not to overlap, which is what lets the compiler work on eight checks
/// at once (a factor of ten).
#[inline(never)]
fn gather_entry(
    posterior: &[i16],
    from_check: &[i16],
    to_check: &mut [i16],
    least: &mut [i16],
    second: &mut [i16],
    odd: &mut [i16],
) {
    // Equal lengths, known to the compiler: no bounds to check.
    let n = posterior.len();
    let (from_check, to_check) = (&from_check[..n], &mut to_check[..n]);
    let (least, second, odd) = (&mut least[..n], &mut second[..n], &mut odd[..n]);
    for i in 0..n {
        let message = posterior[i].wrapping_sub(from_check[i]).clamp(-SATURATION, SATURATION);
        to_check[i] = message;
        odd[i] ^= message >> 15;
        let magnitude = message.max(message.wrapping_neg());
        second[i] = second[i].min(least[i].max(magnitude));
        least[i] = least[i].min(magnitude);
    }
}

/// Not inlined, as [`gather_entry`].
#[inline(never)]
fn answer_entry(
    posterior: &mut [i16],
    from_check: &mut [i16],
    to_check: &[i16],
    least: &[i16],
    second: &[i16],
    odd: &[i16],
) {
    let n = posterior.len();
    let (from_check, to_check) = (&mut from_check[..n], &to_check[..n]);
    let (least, second, odd) = (&least[..n], &second[..n], &odd[..n]);
    for i in 0..n {
        let message = to_check[i];
        // The second least for the edge that gave the least: chosen by a mask, since a branch would stop the vectors.
        let gave_least = 0i16.wrapping_sub(i16::from(message.max(message.wrapping_neg()) == least[i]));
        let magnitude = least[i] ^ ((least[i] ^ second[i]) & gave_least);
        let scaled = magnitude.wrapping_sub(magnitude >> 2);
        let sign = odd[i] ^ (message >> 15);
        let answer = (scaled ^ sign).wrapping_sub(sign);
        posterior[i] = posterior[i].wrapping_add(answer.wrapping_sub(from_check[i]));
        from_check[i] = answer;
    }
}

/// Counts a bit decided as 1 into the parity of its check.
#[inline(never)]
fn flip_where_one(posterior: &[i16], odd: &mut [i16]) {
    let n = posterior.len();
    let odd = &mut odd[..n];
    for i in 0..n {
        odd[i] ^= 0i16.wrapping_sub(i16::from(posterior[i] <= 0));
    }
}
