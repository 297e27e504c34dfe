//! Commands that touch the same pages go to the device one after the other, if one of them changes a page. What a read
//! returns is then well defined, and so is the number of every write.

use std::ops::Range;

/// A command that has not ended.
#[derive(Clone, Copy, Debug)]
struct Live {
    slot: u32,
    /// Pages `first..end`.
    first: u32,
    end: u32,
    changes: bool,
    /// Earlier commands that it waits for.
    blockers: u32,
    sequence: u64,
}

impl Live {
    #[inline]
    fn conflicts(&self, pages: &Range<u32>, changes: bool) -> bool {
        (self.changes || changes) && self.first < pages.end && pages.start < self.end
    }
}

/// See the module's own page.
#[derive(Clone, Default)]
pub struct Order {
    live: Vec<Live>,
    sequence: u64,
}

impl Order {
    /// Takes a command in; returns whether it may go to the device at once.
    #[inline]
    pub fn enter(&mut self, slot: u32, pages: Range<u32>, changes: bool) -> bool {
        let blockers = self.live.iter().filter(|l| l.conflicts(&pages, changes)).count() as u32;
        self.sequence += 1;
        let sequence = self.sequence;
        self.live.push(Live { slot, first: pages.start, end: pages.end, changes, blockers, sequence });
        blockers == 0
    }

    /// A command that was at the device has ended. Appends those that may go now, in the order in which they came.
    #[inline]
    pub fn leave(&mut self, slot: u32, released: &mut Vec<u32>) {
        let at = self.live.iter().position(|l| l.slot == slot).expect("a command that is not there");
        let ended = self.live.swap_remove(at);
        let pages = ended.first..ended.end;
        let mut freed: Vec<(u64, u32)> = Vec::new();
        // Whoever conflicts with it came later: it waited for nobody.
        for l in self.live.iter_mut().filter(|l| l.conflicts(&pages, ended.changes)) {
            l.blockers -= 1;
            if l.blockers == 0 {
                freed.push((l.sequence, l.slot));
            }
        }
        freed.sort_unstable();
        released.extend(freed.iter().map(|f| f.1));
    }

    /// Everything that has not ended, in the order in which it came, with whether it was at the device.
    pub fn clear(&mut self) -> impl Iterator<Item = (u32, bool)> + use<> {
        let mut live = std::mem::take(&mut self.live);
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
        assert_eq!(released, []);
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
