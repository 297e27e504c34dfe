//! Which member holds which bytes of a striped array.

use crate::joined::{Extent, Layout};

/// Stripes laid over members in turn: stripe `k` is on member `k % members`, at its place `k / members`.
#[derive(Clone, Copy, Debug)]
pub struct Stripes {
    pub stripe_bytes: u64,
    pub members: u64,
}

impl Layout for Stripes {
    /// What of a range lies on each member. Stripes of one member follow one another there, so that each has at most one
    /// extent. The member of the first byte comes first.
    ///
    /// # Panics
    /// If the range is empty.
    fn extents(&self, offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = Extent> {
        assert!(length_bytes > 0, "an empty range lies nowhere");
        let Stripes { stripe_bytes, members } = *self;
        let last_byte = offset_bytes + length_bytes - 1;
        let (first, last) = (offset_bytes / stripe_bytes, last_byte / stripe_bytes);
        (first..=last.min(first + members - 1)).map(move |head| {
            let tail = last - (last - head) % members;
            let skipped = if head == first { offset_bytes % stripe_bytes } else { 0 };
            let used = if tail == last { last_byte % stripe_bytes + 1 } else { stripe_bytes };
            let (begin, end) = (head / members * stripe_bytes + skipped, tail / members * stripe_bytes + used);
            Extent { member: (head % members) as usize, offset_bytes: begin, length_bytes: end - begin }
        })
    }
}
