//! A hash by which a stream is known.

use ssdlab_core::Op;

use crate::storage_bench::Step;

/// FNV-1a, 64 bits, over every request in order: one byte for the operation (0 read, 1 write), offset and length in bytes
/// and the depth, each as eight bytes, the least significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Fingerprint(0xCBF2_9CE4_8422_2325)
    }
}

impl Fingerprint {
    pub fn add(&mut self, step: &Step) {
        let c = &step.command;
        self.bytes(&[u8::from(c.op == Op::Write)]);
        for number in [c.offset_bytes, c.length_bytes, u64::from(step.depth)] {
            self.bytes(&number.to_le_bytes());
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }

    #[must_use]
    pub fn value(self) -> u64 {
        self.0
    }
}
