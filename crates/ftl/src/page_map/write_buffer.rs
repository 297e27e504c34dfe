//! The write buffer: host units that have been accepted and wait for a row to be written to.
//!
//! A ring in order of arrival for each stream: those that the host may name, or what an SLC cache takes and what it does
//! not. While a unit waits, the map points at its slot, and the slot remembers where the previous copy lives: that copy
//! stays valid, and is moved by garbage collection like any other, until the new one is on its way to flash. So a power
//! cut loses at most what was never promised.
//!
//! The whole ring is swept over and over, so that a slot is kept small: 16 bytes.

use ssdlab_core::Nanos;
use ssdlab_nand::UnitAddress;

use crate::spec::STREAMS;

/// A waiting unit.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// What will go into the spare area: address and write count; [`ssdlab_nand::EMPTY_TAG`] if the unit was trimmed while
    /// waiting.
    pub tag: u32,
    /// Where its previous copy lives, or [`UnitAddress::NONE`].
    pub old: UnitAddress,
    /// Time from which the data are here.
    pub ready: Nanos,
}

/// Of the units of one stream, `tail - head` wait.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    head: u32,
    tail: u32,
}

/// A flush waits: partly filled rows are written too.
const FORCED: u8 = 1;
/// Some units wait for sectors that are still on flash only.
const LACKING: u8 = 2;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct WriteBuffer {
    /// One stretch for each stream, of a power of two.
    slots: Vec<Slot>,
    /// Of each slot: low bits of the number of units accepted before its unit. Empty where units leave in the order in
    /// which they came.
    order: Vec<u32>,
    /// Of each slot: units of flash that its unit takes. Empty where that is always one.
    sizes: Vec<u8>,
    mask: u32,
    rings: Vec<Ring>,
    /// Units of flash that all of them take, and by stream.
    units: u32,
    units_by_stream: [u32; STREAMS as usize],
    /// Logical units accepted since power on.
    accepted: u64,
    /// Streams that have been written, one bit each.
    used: u8,
    /// [`FORCED`] and [`LACKING`]: what keeps rows from going out as soon as they are full, and only then.
    care: u8,
    /// Logical units accepted up to which a flush has asked for everything.
    forced_to: u64,
}

impl WriteBuffer {
    /// Room for `units` of flash of each of `streams`; the device sees to it that no more wait in all. `packs`: whether
    /// those that do not fit into a row may stay behind, see [`WriteBuffer::keep_back`].
    #[must_use]
    pub fn new(units: u32, streams: u8, packs: bool) -> Self {
        let len = units.next_power_of_two();
        let empty = Slot { tag: 0, old: UnitAddress::NONE, ready: 0 };
        let rings = vec![Ring::default(); streams.into()];
        let slots = vec![empty; len as usize * rings.len()];
        let order = vec![0; if streams > 1 || packs { slots.len() } else { 0 }];
        let sizes = vec![0; if packs { slots.len() } else { 0 }];
        WriteBuffer {
            slots,
            order,
            sizes,
            mask: len - 1,
            rings,
            units: 0,
            units_by_stream: [0; STREAMS as usize],
            accepted: 0,
            used: 1,
            care: 0,
            forced_to: 0,
        }
    }

    /// The power went: nothing waits. `accepted`: units that count as accepted so far.
    pub fn forget(&mut self, accepted: u64) {
        self.rings.fill(Ring::default());
        (self.units, self.units_by_stream) = (0, [0; STREAMS as usize]);
        (self.used, self.care, self.forced_to) = (1, 0, 0);
        self.accepted = accepted;
    }

    /// Streams that can be told apart here: those that the host may name, or what an SLC cache takes and what it does not.
    #[inline]
    #[must_use]
    pub fn streams(&self) -> u8 {
        self.rings.len() as u8
    }

    /// Units of a stream come. Returns whether they are the first since power on.
    #[inline]
    #[must_use]
    pub fn note_used(&mut self, stream: u8) -> bool {
        let used = self.used | 1 << stream;
        std::mem::replace(&mut self.used, used) != used
    }

    /// Whether any unit of a stream has come since power on; the first one counts in any case.
    #[inline]
    #[must_use]
    pub fn is_used(&self, stream: u8) -> bool {
        self.used >> stream & 1 != 0
    }

    /// Whether units wait here that go out in partly filled rows too, as a flush has asked for them.
    #[inline]
    #[must_use]
    pub fn is_forced(&self) -> bool {
        self.care & FORCED != 0
    }

    /// A flush asks for everything up to this accepted unit. What comes later waits for a full row as ever.
    pub fn force(&mut self, up_to: u64) {
        debug_assert!(up_to <= self.accepted);
        self.forced_to = self.forced_to.max(up_to);
        self.settle_force();
    }

    /// After units have gone out: whether some still wait that a flush has asked for.
    pub fn settle_force(&mut self) {
        let waits = self.dispatched() < self.forced_to;
        self.care = if waits { self.care | FORCED } else { self.care & !FORCED };
    }

    /// Logical units accepted up to which a flush has asked for everything.
    #[must_use]
    pub fn forced_to(&self) -> u64 {
        self.forced_to
    }

    /// How many of the units of a stream that wait a flush has asked for: the oldest. No more than `most` are looked at.
    #[must_use]
    pub fn forced_of(&self, stream: u8, most: u32) -> u32 {
        let waiting = self.waiting_of(stream).min(most);
        if !self.is_forced() {
            return 0;
        }
        if self.order.is_empty() {
            return u32::try_from(self.forced_to.saturating_sub(self.dispatched())).map_or(waiting, |n| n.min(waiting));
        }
        let age = |number: u64| (self.accepted as u32).wrapping_sub(number as u32);
        let is_asked_for = |k: &u32| age(self.order[self.place(stream, *k) as usize].into()) > age(self.forced_to);
        (0..waiting).take_while(is_asked_for).count() as u32
    }

    /// Whether some units wait for sectors.
    #[inline]
    #[must_use]
    pub fn is_lacking(&self) -> bool {
        self.care & LACKING != 0
    }

    pub fn set_lacking(&mut self, lacking: bool) {
        self.care = if lacking { self.care | LACKING } else { self.care & !LACKING };
    }

    /// Whether rows that are not full go out, or some that are must wait.
    #[inline]
    #[must_use]
    pub fn needs_care(&self) -> bool {
        self.care != 0
    }

    /// Units of flash that make a row of a stream worth writing.
    #[inline]
    #[must_use]
    pub fn least_row(&self, stream: u8, row_units: u32) -> u32 {
        if self.is_forced() && self.forced_of(stream, 1) > 0 { 1 } else { row_units }
    }

    /// Units of flash that all waiting units take.
    #[inline]
    #[must_use]
    pub fn units(&self) -> u32 {
        self.units
    }

    /// The same for one stream.
    #[inline]
    #[must_use]
    pub fn units_of(&self, stream: u8) -> u32 {
        self.units_by_stream[stream as usize]
    }

    /// Logical units that wait.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        (0..self.rings.len() as u8).map(|stream| self.waiting_of(stream)).sum()
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
        if self.order.is_empty() { self.accepted - u64::from(self.units) } else { self.dispatched_out_of_order() }
    }

    #[cold]
    fn dispatched_out_of_order(&self) -> u64 {
        let front = |stream: u8| self.at(stream, self.rings[stream as usize].head) as usize;
        let behind = |stream: u8| (self.accepted as u32).wrapping_sub(self.order[front(stream)]);
        let streams = (0..self.rings.len() as u8).filter(|&stream| self.waiting_of(stream) > 0);
        self.accepted - u64::from(streams.map(behind).max().unwrap_or(0))
    }

    #[inline]
    fn at(&self, stream: u8, number: u32) -> u32 {
        u32::from(stream) * (self.mask + 1) + (number & self.mask)
    }

    /// Appends a unit that takes `size` of flash to a stream and returns its slot number.
    ///
    /// # Panics
    /// If the ring is full: the device admits no more than fits.
    #[inline]
    pub fn push(&mut self, stream: u8, slot: Slot, size: u8) -> u32 {
        assert!(self.units <= self.mask, "more units admitted than the write buffer holds");
        let at = self.at(stream, self.rings[stream as usize].tail);
        self.slots[at as usize] = slot;
        if let Some(order) = self.order.get_mut(at as usize) {
            *order = self.accepted as u32;
            if let Some(entry) = self.sizes.get_mut(at as usize) {
                *entry = size;
            }
        }
        let ring = &mut self.rings[stream as usize];
        ring.tail = ring.tail.wrapping_add(1);
        self.units_by_stream[stream as usize] += u32::from(size);
        self.units += u32::from(size);
        self.accepted += 1;
        at
    }

    /// Accepts units that go to a die at once, while none waits.
    #[inline]
    pub fn pass(&mut self, units: u32) {
        debug_assert!(self.units == 0);
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

    /// The `k`-th unit from the front of a stream, and the units of flash that it takes.
    #[must_use]
    pub fn front(&self, stream: u8, k: u32) -> (Slot, u8) {
        let at = self.place(stream, k) as usize;
        (self.slots[at], self.sizes.get(at).copied().unwrap_or(1))
    }

    /// The slot of the `k`-th unit from the front of a stream.
    #[must_use]
    pub fn place(&self, stream: u8, k: u32) -> u32 {
        self.at(stream, self.rings[stream as usize].head.wrapping_add(k))
    }

    /// The number, in the order of its stream, of the unit in front.
    #[must_use]
    pub fn head(&self, stream: u8) -> u32 {
        self.rings[stream as usize].head
    }

    /// Lets go the first `n` units of a stream, which are all of one unit of flash.
    #[inline]
    pub fn drop_front(&mut self, stream: u8, n: u32) {
        let ring = &mut self.rings[stream as usize];
        ring.head = ring.head.wrapping_add(n);
        self.units_by_stream[stream as usize] -= n;
        self.units -= n;
    }

    /// Another write has taken the place of what waits in a slot, and takes so much flash.
    pub fn resize(&mut self, at: u32, size: u8) {
        let of_stream = &mut self.units_by_stream[(at / (self.mask + 1)) as usize];
        let old = std::mem::replace(&mut self.sizes[at as usize], size);
        *of_stream = *of_stream - u32::from(old) + u32::from(size);
        self.units = self.units - u32::from(old) + u32::from(size);
    }

    /// Of the first `n` units of a stream, lets those go that are in `chosen`; the others stay in front, in their order.
    /// Tells where each of them stays now.
    pub fn keep_back(&mut self, stream: u8, n: u32, chosen: u64, mut moved: impl FnMut(u32, u32)) {
        let (mut gone, mut left) = (0, 0);
        for k in (0..n).rev() {
            let from = self.place(stream, k) as usize;
            if chosen >> k & 1 != 0 {
                gone += u32::from(self.sizes[from]);
                continue;
            }
            left += 1;
            let at = self.place(stream, n - left);
            self.slots[at as usize] = self.slots[from];
            self.sizes[at as usize] = self.sizes[from];
            self.order[at as usize] = self.order[from];
            moved(self.slots[from].tag, at);
        }
        let ring = &mut self.rings[stream as usize];
        ring.head = ring.head.wrapping_add(n - left);
        self.units_by_stream[stream as usize] -= gone;
        self.units -= gone;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dispatched_in_order_ends_at_the_oldest_unit_of_any_stream_that_waits() {
        let mut b = WriteBuffer::new(8, 4, false);
        let unit = |tag| Slot { tag, old: UnitAddress::NONE, ready: 0 };
        let at: Vec<u32> = [0, 3, 0, 3].iter().zip(0..).map(|(&stream, tag)| b.push(stream, unit(tag), 1)).collect();
        assert_eq!(at.iter().map(|&at| b.slot(at).tag).collect::<Vec<_>>(), [0, 1, 2, 3]);
        b.drop_front(0, 2);
        assert_eq!((b.waiting(), b.waiting_of(3), b.dispatched()), (2, 2, 1));
        b.drop_front(3, 1);
        assert_eq!(b.dispatched(), 3);
        b.drop_front(3, 1);
        assert_eq!((b.waiting(), b.dispatched()), (0, 4));
    }
    #[test]
    fn what_does_not_fit_stays_in_front_and_holds_back_what_counts_as_dispatched() {
        let mut b = WriteBuffer::new(16, 1, true);
        for (tag, size) in [(0, 4), (1, 2), (2, 4), (3, 1), (4, 1)] {
            b.push(0, Slot { tag, old: UnitAddress::NONE, ready: 0 }, size);
        }
        let mut stayed = Vec::new();
        b.keep_back(0, 4, 0b101, |tag, at| stayed.push((tag, at)));
        assert_eq!(stayed, [(3, 3), (1, 2)]);
        assert_eq!([0, 1, 2].map(|k| b.front(0, k).0.tag), [1, 3, 4]);
        assert_eq!((b.units(), b.units_of(0), b.waiting(), b.dispatched()), (4, 4, 3, 1));
        b.resize(2, 8);
        assert_eq!((b.units(), b.front(0, 0).1), (10, 8));
        b.keep_back(0, 3, 0b111, |_, _| unreachable!("nothing stays"));
        assert_eq!((b.units(), b.waiting(), b.dispatched()), (0, 0, 5));
    }

    #[test]
    fn a_power_cut_leaves_nothing_but_the_number_of_units_that_count_as_accepted() {
        let mut b = WriteBuffer::new(8, 4, false);
        assert!(b.note_used(2));
        b.push(2, Slot { tag: 7, old: UnitAddress::NONE, ready: 0 }, 1);
        b.force(1);
        b.set_lacking(true);
        b.forget(5);
        assert_eq!((b.units(), b.units_of(2), b.waiting(), b.accepted(), b.dispatched()), (0, 0, 0, 5, 5));
        assert!(!b.is_forced() && !b.is_lacking() && !b.needs_care() && !b.is_used(2) && b.is_used(0));
    }
}
