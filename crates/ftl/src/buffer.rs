//! The write buffer: host units that have been accepted and wait for a row to be written to.
//!
//! A ring in order of arrival for each stream that the host may name. While a unit waits, the map points at its slot,
//! and the slot remembers where the previous copy lives: that copy stays valid, and is moved by garbage collection like
//! any other, until the new one is on its way to flash. So a power cut loses at most what was never promised.
//!
//! The whole ring is swept over and over, so that a slot is kept small: 16 bytes.

use ssdlab_core::Nanos;

use crate::map::UNMAPPED;

/// A waiting unit.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// What will go into the spare area: address and write count; [`ssdlab_nand::NO_LPN`] if the unit was trimmed while
    /// waiting.
    pub tag: u32,
    /// Where its previous copy lives, or [`UNMAPPED`].
    pub old: u32,
    /// Time from which the data are here.
    pub ready: Nanos,
}

/// Of the units of one stream, `tail - head` wait.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    head: u32,
    tail: u32,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct WriteBuffer {
    /// One stretch for each stream, of a power of two.
    slots: Vec<Slot>,
    /// Of each slot: low bits of the number of units accepted before its unit. Empty with one stream, which is in order.
    order: Vec<u32>,
    mask: u32,
    rings: Vec<Ring>,
    waiting: u32,
    /// Units accepted since power on; with `waiting` it tells which units are still to be dispatched.
    accepted: u64,
}

impl WriteBuffer {
    /// Room for `units` of each of `streams`; the device sees to it that no more wait in all.
    #[must_use]
    pub fn new(units: u32, streams: u8) -> Self {
        let len = units.next_power_of_two();
        let empty = Slot { tag: 0, old: UNMAPPED, ready: 0 };
        let rings = vec![Ring::default(); streams.into()];
        let slots = vec![empty; len as usize * rings.len()];
        let order = vec![0; if streams > 1 { slots.len() } else { 0 }];
        WriteBuffer { slots, order, mask: len - 1, rings, waiting: 0, accepted: 0 }
    }

    #[inline]
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    #[inline]
    #[must_use]
    pub fn waiting_of(&self, stream: u8) -> u32 {
        let ring = self.rings[stream as usize];
        ring.tail.wrapping_sub(ring.head)
    }

    #[inline]
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Units, in order of acceptance, up to which none waits.
    #[inline]
    #[must_use]
    pub fn dispatched(&self) -> u64 {
        if self.rings.len() == 1 { self.accepted - u64::from(self.waiting) } else { self.dispatched_by_streams() }
    }

    #[cold]
    fn dispatched_by_streams(&self) -> u64 {
        let front = |stream: u8| self.at(stream, self.rings[stream as usize].head) as usize;
        let behind = |stream: u8| (self.accepted as u32).wrapping_sub(self.order[front(stream)]);
        let streams = (0..self.rings.len() as u8).filter(|&stream| self.waiting_of(stream) > 0);
        self.accepted - u64::from(streams.map(behind).max().unwrap_or(0))
    }

    #[inline]
    fn at(&self, stream: u8, number: u32) -> u32 {
        u32::from(stream) * (self.mask + 1) + (number & self.mask)
    }

    /// Appends a unit to a stream and returns its slot number.
    ///
    /// # Panics
    /// If the ring is full: the device admits no more than fits.
    #[inline]
    pub fn push(&mut self, stream: u8, slot: Slot) -> u32 {
        assert!(self.waiting <= self.mask, "more units admitted than the write buffer holds");
        let at = self.at(stream, self.rings[stream as usize].tail);
        self.slots[at as usize] = slot;
        if let Some(order) = self.order.get_mut(at as usize) {
            *order = self.accepted as u32;
        }
        let ring = &mut self.rings[stream as usize];
        ring.tail = ring.tail.wrapping_add(1);
        self.waiting += 1;
        self.accepted += 1;
        at
    }

    /// Accepts units that go to a die at once, while none waits.
    #[inline]
    pub fn pass(&mut self, units: u32) {
        debug_assert!(self.waiting == 0);
        self.accepted += u64::from(units);
    }

    #[inline]
    pub fn slot_mut(&mut self, at: u32) -> &mut Slot {
        &mut self.slots[at as usize]
    }

    #[inline]
    #[must_use]
    pub fn slot(&self, at: u32) -> &Slot {
        &self.slots[at as usize]
    }

    /// The first `n` units of a stream, in two stretches: the ring may end in between.
    #[inline]
    #[must_use]
    pub fn fronts(&self, stream: u8, n: u32) -> (&[Slot], &[Slot]) {
        let (start, len) = (stream as usize * (self.mask as usize + 1), self.mask as usize + 1);
        let ring = &self.slots[start..start + len];
        let head = (self.rings[stream as usize].head & self.mask) as usize;
        let (end, n) = (head + n as usize, n as usize);
        if end <= len { (&ring[head..end], &[]) } else { (&ring[head..], &ring[..n - (len - head)]) }
    }

    #[inline]
    pub fn drop_front(&mut self, stream: u8, n: u32) {
        let ring = &mut self.rings[stream as usize];
        ring.head = ring.head.wrapping_add(n);
        self.waiting -= n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dispatched_in_order_ends_at_the_oldest_unit_of_any_stream_that_waits() {
        let mut b = WriteBuffer::new(8, 4);
        let unit = |tag| Slot { tag, old: UNMAPPED, ready: 0 };
        let at: Vec<u32> = [0, 3, 0, 3].iter().zip(0..).map(|(&stream, tag)| b.push(stream, unit(tag))).collect();
        assert_eq!(at.iter().map(|&at| b.slot(at).tag).collect::<Vec<_>>(), [0, 1, 2, 3]);
        b.drop_front(0, 2);
        assert_eq!((b.waiting(), b.waiting_of(3), b.dispatched()), (2, 2, 1));
        b.drop_front(3, 1);
        assert_eq!(b.dispatched(), 3);
        b.drop_front(3, 1);
        assert_eq!((b.waiting(), b.dispatched()), (0, 4));
    }
}
