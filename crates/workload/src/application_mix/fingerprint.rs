//! A hash by which a stream is known.

use ssdlab_core::{Fnv1a, Op};

use crate::storage_bench::Step;

/// FNV-1a, 64 bits, over every request in order: one byte for the operation (0 read, 1 write), offset and length in bytes
/// and the depth, each as eight bytes, the least significant first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint(Fnv1a);

impl Fingerprint {
    pub fn add(&mut self, step: &Step) {
        let c = &step.command;
        self.0.add(&[u8::from(c.op == Op::Write)]);
        for number in [c.offset_bytes, c.length_bytes, u64::from(step.depth)] {
            self.0.add(&number.to_le_bytes());
        }
    }

    #[must_use]
    pub fn value(self) -> u64 {
        self.0.value()
    }
}
