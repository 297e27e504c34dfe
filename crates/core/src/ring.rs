//! A queue in a ring whose length is a power of two.
//!
//! What the standard library's queue does, but with ends that run on and are masked where they are used: it takes half
//! the instructions to push and pop, and a simulated command passes through half a dozen queues.

/// A first-in-first-out queue of small values.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// A power of two of them. What lies outside `head..tail` is of no meaning.
    slots: Vec<T>,
    head: usize,
    tail: usize,
}

impl<T: Copy> Ring<T> {
    /// An empty queue with room for at least `capacity` values before it grows; `any` fills the room.
    #[must_use]
    pub fn new(capacity: usize, any: T) -> Self {
        Ring { slots: vec![any; capacity.next_power_of_two()], head: 0, tail: 0 }
    }

    #[inline]
    fn at(&self, number: usize) -> usize {
        number & (self.slots.len() - 1)
    }

    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head)
    }

    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<T> {
        if self.is_empty() { None } else { Some(self.slots[self.at(self.head)]) }
    }

    #[inline]
    #[must_use]
    pub fn back(&self) -> Option<T> {
        if self.is_empty() { None } else { Some(self.slots[self.at(self.tail.wrapping_sub(1))]) }
    }

    #[inline]
    pub fn push_back(&mut self, value: T) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let at = self.at(self.tail);
        self.slots[at] = value;
        self.tail = self.tail.wrapping_add(1);
    }

    pub fn push_front(&mut self, value: T) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        self.head = self.head.wrapping_sub(1);
        let at = self.at(self.head);
        self.slots[at] = value;
    }

    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let value = self.front()?;
        self.head = self.head.wrapping_add(1);
        Some(value)
    }

    /// Puts a value in before the last `behind` ones.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn insert_before_last(&mut self, behind: usize, value: T) {
        assert!(behind <= self.len(), "{behind} of {} values", self.len());
        self.push_back(value);
        for k in 0..behind {
            let at = self.tail.wrapping_sub(1 + k);
            let (here, before) = (self.at(at), self.at(at.wrapping_sub(1)));
            self.slots.swap(here, before);
        }
    }

    /// From the front to the back.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = T> + '_ {
        (0..self.len()).map(|k| self.slots[self.at(self.head.wrapping_add(k))])
    }

    /// Changes every value.
    pub fn for_each_mut(&mut self, mut change: impl FnMut(&mut T)) {
        for k in 0..self.len() {
            let at = self.at(self.head.wrapping_add(k));
            change(&mut self.slots[at]);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let mut slots: Vec<T> = self.iter().collect();
        let len = slots.len();
        slots.resize(2 * len, slots[0]);
        (self.slots, self.head, self.tail) = (slots, 0, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use std::collections::VecDeque;

    #[test]
    fn agrees_with_the_standard_queue() {
        let mut rng = Rng::new(9);
        for capacity in [1, 2, 5, 16] {
            let (mut ring, mut plain) = (Ring::new(capacity, 0), VecDeque::new());
            for value in 0..5000u64 {
                match rng.below(8) {
                    0..=2 => {
                        ring.push_back(value);
                        plain.push_back(value);
                    }
                    3 => {
                        ring.push_front(value);
                        plain.push_front(value);
                    }
                    4 => {
                        let behind = rng.below(plain.len() as u64 + 1) as usize;
                        ring.insert_before_last(behind, value);
                        plain.insert(plain.len() - behind, value);
                    }
                    5 => {
                        ring.for_each_mut(|v| *v += 1);
                        plain.iter_mut().for_each(|v| *v += 1);
                    }
                    _ => assert_eq!(ring.pop_front(), plain.pop_front()),
                }
                assert_eq!((ring.len(), ring.is_empty()), (plain.len(), plain.is_empty()));
                assert_eq!((ring.front(), ring.back()), (plain.front().copied(), plain.back().copied()));
                assert!(ring.iter().eq(plain.iter().copied()));
            }
        }
    }
}
