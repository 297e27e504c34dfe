//! Commands that touch the same pages go to the device one after the other, if one of them changes a page. What a read
//! returns is then well defined, and so is the number of every write.

use std::ops::Range;

/// A command that has not ended.
#[derive(Clone, Copy, Debug)]
struct Live {
    slot: u32,
    changes: bool,
    /// Earlier commands that it waits for.
    blockers: u32,
    sequence: u64,
}

/// Pages `first..end`.
#[derive(Clone, Copy, Debug)]
struct Pages {
    first: u32,
    end: u32,
}

impl Pages {
    #[inline]
    fn overlap(self, other: Pages) -> bool {
        // Without a branch, so that several are compared at once.
        (self.first < other.end) & (other.first < self.end)
    }
}

/// See the module's own page.
#[derive(Clone, Default)]
pub struct Order {
    live: Vec<Live>,
    /// Of the same, by themselves: nearly always the search ends with them.
    pages: Vec<Pages>,
    /// Commands that wait for others.
    blocked: usize,
    sequence: u64,
}

impl Order {
    /// Takes a command in; returns whether it may go to the device at once.
    #[inline]
    pub fn enter(&mut self, slot: u32, pages: Range<u32>, changes: bool) -> bool {
        let pages = Pages { first: pages.start, end: pages.end };
        let overlapping: u32 = self.pages.iter().map(|p| u32::from(p.overlap(pages))).sum();
        let blockers = if overlapping == 0 {
            0
        } else {
            let both = self.live.iter().zip(&self.pages);
            both.filter(|(l, p)| (l.changes || changes) && p.overlap(pages)).count() as u32
        };
        self.blocked += usize::from(blockers > 0);
        self.sequence += 1;
        self.live.push(Live { slot, changes, blockers, sequence: self.sequence });
        self.pages.push(pages);
        blockers == 0
    }

    /// A command that was at the device has ended. Appends those that may go now, in the order in which they came.
    #[inline]
    pub fn leave(&mut self, slot: u32, released: &mut Vec<u32>) {
        let at = self.live.iter().position(|l| l.slot == slot).expect("a command that is not there");
        let (ended, pages) = (self.live.swap_remove(at), self.pages.swap_remove(at));
        if self.blocked == 0 {
            return;
        }
        let mut freed: Vec<(u64, u32)> = Vec::new();
        // Whoever conflicts with it came later: it waited for nobody.
        for (l, p) in self.live.iter_mut().zip(&self.pages) {
            if (l.changes || ended.changes) && p.overlap(pages) {
                l.blockers -= 1;
                if l.blockers == 0 {
                    freed.push((l.sequence, l.slot));
                }
            }
        }
        self.blocked -= freed.len();
        freed.sort_unstable();
        released.extend(freed.iter().map(|f| f.1));
    }

    /// Everything that has not ended, in the order in which it came, with whether it was at the device.
    pub fn clear(&mut self) -> impl Iterator<Item = (u32, bool)> + use<> {
        let mut live = std::mem::take(&mut self.live);
        self.pages.clear();
        self.blocked = 0;
        live.sort_unstable_by_key(|l| l.sequence);
        live.into_iter().map(|l| (l.slot, l.blockers == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_pass_each_other_and_writes_do_not() {
        let mut order = Order::default();
        let mut released = Vec::new();
        assert!(order.enter(0, 0..4, false));
        assert!(order.enter(1, 2..6, false));
        assert!(!order.enter(2, 3..4, true));
        assert!(!order.enter(3, 3..4, false));
        assert!(!order.enter(4, 3..9, true));
        assert!(order.enter(5, 9..10, true));
        order.leave(0, &mut released);
        assert!(released.is_empty());
        order.leave(1, &mut released);
        assert_eq!(released, [2]);
        released.clear();
        order.leave(2, &mut released);
        assert_eq!(released, [3]);
        released.clear();
        order.leave(3, &mut released);
        assert_eq!(released, [4]);
        assert_eq!(order.clear().collect::<Vec<_>>(), [(4, true), (5, true)]);
    }
}
