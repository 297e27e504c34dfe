//! Which member holds which bytes of a striped array.

use crate::joined::{Extent, Layout};

/// Stripes laid over members in turn: stripe `k` is on member `k % members`, at its place `k / members`.
#[derive(Clone, Copy, Debug)]
pub struct Stripes {
    pub stripe_bytes: u64,
    pub members: u64,
}

impl Stripes {
    /// The stripe that holds this byte.
    #[inline]
    fn number(&self, byte: u64) -> u64 {
        quotient(byte, self.stripe_bytes)
    }
}

/// Most are divided by powers of two, which a processor shifts by much faster.
#[inline]
fn quotient(n: u64, by: u64) -> u64 {
    if by.is_power_of_two() { n >> by.trailing_zeros() } else { n / by }
}

impl Layout for Stripes {
    fn place_of(&self, member: usize, offset_bytes: u64) -> Option<u64> {
        let (row, within) = (offset_bytes / self.stripe_bytes, offset_bytes % self.stripe_bytes);
        Some((row * self.members + member as u64) * self.stripe_bytes + within)
    }

    fn shape(&self) -> Vec<u64> {
        vec![self.stripe_bytes, self.members]
    }

    fn cuts_at(&self, bytes: u64) -> bool {
        self.stripe_bytes.is_multiple_of(bytes)
    }

    #[inline]
    fn whole(&self, offset_bytes: u64, length_bytes: u64) -> Option<Extent> {
        let stripe = self.number(offset_bytes);
        let row = quotient(stripe, self.members);
        let member = stripe - row * self.members;
        let offset_bytes_there = row * self.stripe_bytes + (offset_bytes - stripe * self.stripe_bytes);
        (stripe == self.number(offset_bytes + length_bytes - 1)).then_some(Extent {
            member: member as usize,
            offset_bytes: offset_bytes_there,
            length_bytes,
        })
    }

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
