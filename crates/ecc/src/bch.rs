//! BCH codes: what they cost in parity, and how often they fail, in closed form.
//!
//! A binary BCH code over GF(2^m) corrects any `t` errors in a codeword of at most 2^m - 1 bits for at most m·t
//! parity bits; a bounded-distance decoder fails on any pattern of more. Errors are taken as independent within a
//! codeword, so the failure rate is a binomial tail.

use crate::binomial::log10_tail;
use ssdlab_nand::SpecError;

/// A shortened binary BCH code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bch {
    data_bits: u32,
    t: u32,
    m: u32,
}

impl Bch {
    /// The code that corrects `t` bits in `data_bytes` of user data, over the smallest field that fits.
    ///
    /// # Errors
    /// If there is nothing to protect, or more than half of the codeword would be parity.
    pub fn new(data_bytes: u32, t: u32) -> Result<Self, SpecError> {
        if !(1..=65_536).contains(&data_bytes) {
            return Err(SpecError::new(
                "codeword_bytes",
                format!("{data_bytes} bytes of data cannot make a codeword"),
                "use 512, 1024, 2048 or 4096",
            ));
        }
        let data_bits = data_bytes * 8;
        // With 2^m - 1 bits in a codeword at most, and half of it data at least.
        let most = |m: u32| ((1_u32 << m) - 1).saturating_sub(data_bits).min(data_bits) / m;
        let fields = 3..=24;
        match fields.clone().find(|&m| t <= most(m)) {
            Some(m) if t > 0 => Ok(Bch { data_bits, t, m }),
            _ => Err(SpecError::new(
                "correctable_bits",
                format!("{t} correctable bits in {data_bytes} bytes cannot be built"),
                format!("use 1 to {} bits", fields.map(most).max().unwrap_or(0)),
            )),
        }
    }

    /// Correctable bits of a codeword.
    #[must_use]
    pub fn t(&self) -> u32 {
        self.t
    }

    /// Data bits of a codeword, k.
    #[must_use]
    pub fn data_bits(&self) -> u32 {
        self.data_bits
    }

    /// Parity bits of a codeword, m·t.
    #[must_use]
    pub fn parity_bits(&self) -> u32 {
        self.m * self.t
    }

    /// Bits of a codeword, n = k + m·t.
    #[must_use]
    pub fn codeword_bits(&self) -> u32 {
        self.data_bits + self.parity_bits()
    }

    /// Code rate k / n.
    #[must_use]
    pub fn rate(&self) -> f64 {
        f64::from(self.data_bits) / f64::from(self.codeword_bits())
    }

    /// log10 of the share of codewords that cannot be corrected at raw bit error rate `rber`.
    #[must_use]
    pub fn log10_failure(&self, rber: f64) -> f64 {
        log10_tail(self.codeword_bits(), self.t, rber)
    }

    /// log10 of uncorrectable codewords per data bit read: the UBER of JESD218 for a drive that has no other defence.
    #[must_use]
    pub fn log10_uber(&self, rber: f64) -> f64 {
        self.log10_failure(rber) - libm::log10(f64::from(self.data_bits))
    }

    /// The raw bit error rate at which the UBER reaches `uber`.
    #[must_use]
    pub fn rber_limit(&self, uber: f64) -> f64 {
        let target = libm::log10(uber);
        crate::solve::rising(1e-12, 0.5, |p| self.log10_uber(p) - target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_field_is_chosen() {
        for (bytes, t, n) in [(512, 8, 4200), (1024, 40, 8752), (2048, 72, 17_464)] {
            assert_eq!(Bch::new(bytes, t).unwrap().codeword_bits(), n);
        }
    }

    #[test]
    fn impossible_codes_are_refused() {
        assert_eq!(Bch::new(0, 4).unwrap_err().key, "codeword_bytes");
        assert_eq!(Bch::new(512, 0).unwrap_err().key, "correctable_bits");
        for (bytes, most) in [(1, 1), (512, 315), (1024, 585), (65_536, 26_214)] {
            let e = Bch::new(bytes, most + 1).unwrap_err();
            assert!(e.to_string().contains(&format!("use 1 to {most} bits")), "{e}");
            assert!((1..=most).all(|t| Bch::new(bytes, t).is_ok()), "{bytes}");
        }
    }
}
