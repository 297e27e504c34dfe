//! Which of a stream of programs have ended, when they end out of order.

use std::collections::VecDeque;

/// Numbers programs as they are issued, and knows up to which number all have ended.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// All programs before this number have ended.
    head: u64,
    /// For programs from `head` on: a value that the issuer gave, and whether the program has ended.
    open: VecDeque<(u64, bool)>,
    /// The value given with the last of the programs before `head`.
    reached: u64,
}

impl Window {
    /// Issues a program that stands for `value` (a count that rises). The number's low bits come back in
    /// [`Window::end`].
    #[inline]
    pub fn issue(&mut self, value: u64) -> u16 {
        let number = self.head + self.open.len() as u64;
        self.open.push_back((value, false));
        number as u16
    }

    /// Programs issued so far.
    #[inline]
    #[must_use]
    pub fn issued(&self) -> u64 {
        self.head + self.open.len() as u64
    }

    /// All programs before this number have ended.
    #[inline]
    #[must_use]
    pub fn head(&self) -> u64 {
        self.head
    }

    /// The value up to which everything has ended.
    #[inline]
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.reached
    }

    #[inline]
    pub fn end(&mut self, number: u16) {
        let at = number.wrapping_sub(self.head as u16) as usize;
        self.open[at].1 = true;
        while let Some(&(value, true)) = self.open.front() {
            self.open.pop_front();
            self.head += 1;
            self.reached = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_waits_for_the_oldest() {
        let mut w = Window::default();
        let n: Vec<u16> = (1..=4).map(|v| w.issue(v * 10)).collect();
        w.end(n[1]);
        w.end(n[2]);
        assert_eq!((w.head(), w.reached()), (0, 0));
        w.end(n[0]);
        assert_eq!((w.head(), w.reached(), w.issued()), (3, 30, 4));
    }
}
