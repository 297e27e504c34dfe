//! A flash channel: the bus that several dies share.

use ssdlab_core::Nanos;

/// Transfers booked on one bus. A booking takes the earliest gap that is long enough, so that a transfer booked for
/// later (the data of a read that is still in the array) does not block one that fits before it.
#[derive(Clone, Debug, Default)]
pub struct Channel {
    /// Booked stretches in time order.
    booked: Vec<(Nanos, Nanos)>,
    /// Command cycles that have passed others' transfers: the next transfer begins so much later.
    owed: Nanos,
}

/// So many stretches are remembered before those that have passed are forgotten.
const REMEMBERED: usize = 16;

impl Channel {
    /// Books `length` at or after `earliest`, which is not before `now`. Returns the start.
    #[inline]
    pub fn book(&mut self, now: Nanos, earliest: Nanos, length: Nanos) -> Nanos {
        if length == 0 {
            return earliest;
        }
        if self.booked.last().is_none_or(|last| last.1 <= earliest) {
            // Behind all others, which is the usual case.
            if self.booked.len() >= REMEMBERED {
                self.booked.retain(|b| b.1 > now);
            }
            self.booked.push((earliest, earliest + length));
            return earliest;
        }
        self.book_between(now, earliest, length)
    }

    /// Command cycles at `from` go first: they take their stretch if it is free, or are owed by the transfer that is booked next.
    /// Returns whether the stretch was free.
    pub fn command(&mut self, now: Nanos, from: Nanos, length: Nanos) -> bool {
        // The last that begins before they end: all before it end earlier.
        let free = self.booked.iter().rev().find(|b| b.0 < from + length).is_none_or(|b| b.1 <= from);
        if free {
            let start = self.book(now, from, length);
            debug_assert_eq!(start, from);
        } else {
            self.owed += length;
        }
        free
    }

    /// What command cycles have taken since the last transfer was booked.
    pub fn take_owed(&mut self) -> Nanos {
        std::mem::take(&mut self.owed)
    }

    fn book_between(&mut self, now: Nanos, earliest: Nanos, length: Nanos) -> Nanos {
        let past = self.booked.iter().take_while(|b| b.1 <= now).count();
        if past > 0 {
            self.booked.drain(..past);
        }
        let mut start = earliest;
        let mut at = self.booked.len();
        for (k, &(from, to)) in self.booked.iter().enumerate() {
            if start + length <= from {
                at = k;
                break;
            }
            start = start.max(to);
        }
        self.booked.insert(at, (start, start + length));
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_go_first_and_what_they_take_is_owed_by_the_next_transfer() {
        let mut c = Channel::default();
        assert_eq!(c.book(0, 10, 10), 10);
        assert!(c.command(0, 5, 5) && !c.command(0, 12, 3) && !c.command(0, 19, 2));
        assert_eq!((c.take_owed(), c.take_owed()), (5, 0));
        assert_eq!(c.book(5, 4, 10), 20, "the first command is on the channel");
    }

    #[test]
    fn transfers_follow_one_another_and_short_ones_fit_before_later_ones() {
        let mut c = Channel::default();
        assert_eq!(c.book(0, 0, 10), 0);
        assert_eq!(c.book(0, 0, 10), 10);
        assert_eq!(c.book(0, 75, 10), 75);
        assert_eq!(c.book(0, 30, 45), 30);
        assert_eq!(c.book(0, 30, 46), 85);
        assert_eq!(c.book(200, 200, 5), 200);
    }
}
