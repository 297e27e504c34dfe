//! Which of a stream of programs have ended, when they end out of order.

/// Programs from the oldest that has not ended on that an operation's 16 bits tell apart.
const MOST: u64 = 1 << 16;

/// How many of them are left to rows that cannot wait: where older pages are kept, those that pad, and those that a cut left to
/// be moved. That is 16 for each stream of each die of the largest drive.
#[must_use]
pub fn numbers_kept(keeps_older_pages: bool) -> u64 {
    if keeps_older_pages { MOST / 2 } else { 0 }
}

/// Numbers programs as they are issued, and knows up to which number all have ended.
#[derive(Clone, Debug)]
pub struct ProgramWindow {
    /// All programs before this number have ended.
    head: u64,
    issued: u64,
    /// A ring for the programs from `head` on: a value that the issuer gave, and in the lowest bit whether the program
    /// has ended. Its length is a power of two.
    open: Vec<u64>,
    /// The value given with the last of the programs before `head`.
    reached: u64,
}

impl Default for ProgramWindow {
    fn default() -> Self {
        ProgramWindow { head: 0, issued: 0, open: vec![0; 8], reached: 0 }
    }
}

impl ProgramWindow {
    /// None has been issued yet, and everything up to `value` is done.
    #[must_use]
    pub fn beginning_at(value: u64) -> Self {
        ProgramWindow { reached: value, ..ProgramWindow::default() }
    }

    #[inline]
    fn at(&self, number: u64) -> usize {
        number as usize & (self.open.len() - 1)
    }

    /// Whether another program can be told apart from those under way, if so many numbers are [kept](numbers_kept).
    #[inline]
    #[must_use]
    pub fn has_number(&self, kept: u64) -> bool {
        self.issued - self.head < MOST - kept
    }

    /// Issues a program that stands for `value` (a count that rises). The number's low bits come back in
    /// [`ProgramWindow::end`].
    ///
    /// # Panics
    /// If there is no number left, see [`ProgramWindow::has_number`].
    #[inline]
    pub fn issue(&mut self, value: u64) -> u16 {
        if self.issued - self.head == self.open.len() as u64 {
            self.widen();
        }
        let (number, at) = (self.issued, self.at(self.issued));
        self.open[at] = value << 1;
        self.issued += 1;
        number as u16
    }

    #[cold]
    fn widen(&mut self) {
        assert!(self.has_number(0), "more programs under way than there are numbers");
        let open: Vec<u64> = (self.head..self.issued).map(|number| self.open[self.at(number)]).collect();
        self.open.resize(2 * self.open.len(), 0);
        for (number, entry) in (self.head..).zip(open) {
            let at = self.at(number);
            self.open[at] = entry;
        }
    }

    /// Programs issued so far.
    #[inline]
    #[must_use]
    pub fn issued(&self) -> u64 {
        self.issued
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

    /// Ends a program. Returns whether that has moved the head on.
    #[inline]
    pub fn end(&mut self, number: u16) -> bool {
        let before = self.head;
        let behind = number.wrapping_sub(self.head as u16);
        let at = self.at(self.head + u64::from(behind));
        self.open[at] |= 1;
        while self.head < self.issued {
            let entry = self.open[self.at(self.head)];
            if entry & 1 == 0 {
                break;
            }
            self.head += 1;
            self.reached = entry >> 1;
        }
        self.head != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_waits_for_the_oldest() {
        let mut w = ProgramWindow::default();
        let n: Vec<u16> = (1..=4).map(|v| w.issue(v * 10)).collect();
        assert!(!w.end(n[1]));
        assert!(!w.end(n[2]));
        assert_eq!((w.head(), w.reached()), (0, 0));
        assert!(w.end(n[0]));
        assert_eq!((w.head(), w.reached(), w.issued()), (3, 30, 4));
    }

    #[test]
    fn there_is_a_number_as_long_as_it_differs_from_that_of_the_oldest() {
        let mut w = ProgramWindow::default();
        let first = w.issue(1);
        for value in 2..=MOST / 2 {
            let n = w.issue(value);
            w.end(n);
        }
        assert!(w.has_number(0) && !w.has_number(numbers_kept(true)));
        let later: Vec<u16> = (MOST / 2 + 1..=MOST).map(|value| w.issue(value)).collect();
        assert!(!later.contains(&first) && !w.has_number(0));
        assert!(w.end(first));
        assert!(w.has_number(0));
        assert_eq!(w.head(), MOST / 2);
    }

    #[test]
    fn it_widens_wherever_the_oldest_stands() {
        for before in 0..20u64 {
            let mut w = ProgramWindow::default();
            (0..before).for_each(|v| {
                let n = w.issue(v);
                w.end(n);
            });
            let n: Vec<u16> = (1..=40).map(|v| w.issue(before + v)).collect();
            for &n in n[1..].iter().rev() {
                assert!(!w.end(n));
            }
            assert_eq!(w.head(), before);
            assert!(w.end(n[0]));
            assert_eq!((w.head(), w.reached()), (before + 40, before + 40));
        }
    }
}
