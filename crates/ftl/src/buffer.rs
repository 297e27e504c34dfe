//! The write buffer: host units that have been accepted and wait for a row to be written to.
//!
//! A ring in order of arrival. While a unit waits, the map points at its slot, and the slot remembers where the
//! previous copy lives: that copy stays valid, and is moved by garbage collection like any other, until the new one
//! is on its way to flash. So a power cut loses at most what was never promised.

use ssdlab_core::Nanos;

use crate::map::UNMAPPED;

/// A waiting unit.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Logical address; [`ssdlab_nand::NO_LPN`] if it was trimmed while waiting.
    pub lpn: u32,
    /// Where its previous copy lives, or [`UNMAPPED`].
    pub old: u32,
    /// Time from which the data are here.
    pub ready: Nanos,
    pub generation: u8,
}

/// See the module's own page. `tail - head` units wait.
#[derive(Clone, Debug)]
pub struct WriteBuffer {
    slots: Vec<Slot>,
    mask: u32,
    head: u32,
    tail: u32,
    /// Units accepted since power on; with `waiting` it tells which units are still to be dispatched.
    accepted: u64,
}

impl WriteBuffer {
    #[must_use]
    pub fn new(units: u32) -> Self {
        let len = units.next_power_of_two();
        let empty = Slot { lpn: 0, old: UNMAPPED, ready: 0, generation: 0 };
        WriteBuffer { slots: vec![empty; len as usize], mask: len - 1, head: 0, tail: 0, accepted: 0 }
    }

    #[inline]
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    #[inline]
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    #[inline]
    #[must_use]
    pub fn dispatched(&self) -> u64 {
        self.accepted - u64::from(self.waiting())
    }

    /// Appends a unit and returns its slot number.
    ///
    /// # Panics
    /// If the ring is full: the device admits no more than fits.
    #[inline]
    pub fn push(&mut self, slot: Slot) -> u32 {
        assert!(self.waiting() <= self.mask, "more units admitted than the write buffer holds");
        let at = self.tail & self.mask;
        self.slots[at as usize] = slot;
        self.tail = self.tail.wrapping_add(1);
        self.accepted += 1;
        at
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

    /// The `k`-th unit from the front.
    #[inline]
    #[must_use]
    pub fn front(&self, k: u32) -> Slot {
        self.slots[(self.head.wrapping_add(k) & self.mask) as usize]
    }

    #[inline]
    pub fn drop_front(&mut self, n: u32) {
        self.head = self.head.wrapping_add(n);
    }
}
