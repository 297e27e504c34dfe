//! A short hash that is the same everywhere, for names and fingerprints; not against anybody's intent.

/// FNV-1a of 64 bits over all bytes added so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Fnv1a(0xCBF2_9CE4_8422_2325)
    }
}

impl Fnv1a {
    /// The hash of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> u64 {
        let mut hash = Fnv1a::default();
        hash.add(bytes);
        hash.value()
    }

    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    #[must_use]
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_published_test_vectors() {
        // Fowler, Noll and Vo, test suite of the draft.
        assert_eq!(Fnv1a::of(b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(Fnv1a::of(b"a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(Fnv1a::of(b"foobar"), 0x8594_4171_F739_67E8);
        let mut parts = Fnv1a::default();
        parts.add(b"foo");
        parts.add(b"bar");
        assert_eq!(parts.value(), Fnv1a::of(b"foobar"));
    }
}
