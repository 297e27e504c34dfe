//! Division of 32-bit numbers by a divisor that is known only when a drive is built.

/// Divides by a fixed `u32` with one multiplication (Granlund, Montgomery 1994; the 64-bit form is exact for all
/// 32-bit dividends).
#[derive(Clone, Copy, Debug)]
pub struct FastDiv {
    magic: u64,
    divisor: u32,
}

impl FastDiv {
    /// # Panics
    /// If `divisor` is zero.
    #[must_use]
    pub fn new(divisor: u32) -> Self {
        assert!(divisor > 0, "division by zero");
        FastDiv { magic: (u64::MAX / u64::from(divisor)).wrapping_add(1), divisor }
    }

    #[inline]
    #[must_use]
    pub fn divisor(self) -> u32 {
        self.divisor
    }

    #[inline]
    #[must_use]
    pub fn quotient(self, n: u32) -> u32 {
        if self.divisor == 1 { n } else { ((u128::from(self.magic) * u128::from(n)) >> 64) as u32 }
    }

    #[inline]
    #[must_use]
    pub fn split(self, n: u32) -> (u32, u32) {
        let q = self.quotient(n);
        (q, n - q * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_processor_at_every_edge() {
        for d in (1..5000).chain([65_535, 65_536, 1 << 20, u32::MAX - 1, u32::MAX]) {
            let f = FastDiv::new(d);
            for k in [0u64, 1, 2, 3, 1000, 65_536, u64::from(u32::MAX / d)] {
                for n in [k * u64::from(d), k * u64::from(d) + u64::from(d) - 1, k * u64::from(d) + 1] {
                    if let Ok(n) = u32::try_from(n) {
                        assert_eq!(f.split(n), (n / d, n % d), "{n} / {d}");
                    }
                }
            }
            assert_eq!(f.quotient(u32::MAX), u32::MAX / d);
        }
    }
}
