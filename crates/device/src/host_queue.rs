//! Which commands a host has sent, and which it holds: beyond the queue depth, or before or behind one that goes alone.

use std::collections::VecDeque;

use ssdlab_core::{Nanos, Op};

use crate::Request;

/// What is not sent as a queued command: it goes when no other is under way, and none is sent before it has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentAlone {
    pub flush: bool,
    pub trim: bool,
}

impl SentAlone {
    #[inline]
    fn holds(self, op: Op) -> bool {
        match op {
            Op::Read | Op::Write | Op::WriteZeroes => false,
            Op::Flush => self.flush,
            Op::Trim => self.trim,
        }
    }
}

/// A command that the host holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    request: Request,
    submitted: Nanos,
    /// [`HostQueue::barred`] when it came.
    barred_before: Nanos,
}

/// A command that the host has held, and sends now.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub request: Request,
    pub submitted: Nanos,
    /// So much of its wait was for one that goes alone, or of such a one for those before it.
    pub barred: Nanos,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct HostQueue {
    depth: u32,
    sent_alone: SentAlone,
    under_way: u32,
    /// The one that is under way was sent alone.
    alone: bool,
    held: VecDeque<Held>,
    /// For how long the host has held commands because one goes alone, up to `barred_since` if it does so now.
    barred: Nanos,
    barred_since: Option<Nanos>,
}

impl HostQueue {
    /// A host that has sent nothing, to a device that takes so many commands at a time.
    #[must_use]
    pub fn new(depth: u32, sent_alone: SentAlone) -> HostQueue {
        HostQueue {
            depth,
            sent_alone,
            under_way: 0,
            alone: false,
            held: VecDeque::new(),
            barred: 0,
            barred_since: None,
        }
    }

    /// All are forgotten, and never answered.
    pub fn drop_all(&mut self) {
        *self = HostQueue::new(self.depth, self.sent_alone);
    }

    /// A command comes: whether the host sends it at once. One that it does not is to be given to [`HostQueue::hold`].
    #[inline]
    #[must_use]
    pub fn sends(&mut self, op: Op) -> bool {
        let sends = self.held.is_empty() && self.may_be_sent(op);
        if sends {
            self.send(op);
        }
        sends
    }

    /// The host holds a command that has just come.
    #[inline(never)]
    pub fn hold(&mut self, now: Nanos, request: Request) {
        self.count_barred(now);
        self.held.push_back(Held { request, submitted: now, barred_before: self.barred });
        self.look_for_bar(now);
    }

    /// A command that had been sent has ended. [`HostQueue::next`] is to be asked then, until there is none.
    #[inline]
    pub fn ended(&mut self) {
        self.under_way -= 1;
        self.alone = false;
    }

    /// Whether the host holds a command.
    #[inline]
    #[must_use]
    pub fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// The command that the host has held longest, if it may be sent now.
    #[inline(never)]
    pub fn next(&mut self, now: Nanos) -> Option<Sent> {
        self.count_barred(now);
        let first = self.held.front().filter(|first| self.may_be_sent(first.request.op)).copied();
        match first {
            Some(first) => {
                self.held.pop_front();
                self.send(first.request.op);
            }
            None => self.look_for_bar(now),
        }
        first.map(|Held { request, submitted, barred_before }| Sent {
            request,
            submitted,
            barred: self.barred - barred_before,
        })
    }

    /// Whether there is room for a command, and no other must end before.
    #[inline]
    fn may_be_sent(&self, op: Op) -> bool {
        self.under_way < self.depth && !self.alone && (self.under_way == 0 || !self.sent_alone.holds(op))
    }

    #[inline]
    fn send(&mut self, op: Op) {
        self.under_way += 1;
        self.alone = self.sent_alone.holds(op);
    }

    /// What has passed of the time in which a command goes alone.
    fn count_barred(&mut self, now: Nanos) {
        self.barred += self.barred_since.take().map_or(0, |since| now - since);
    }

    /// Whether the host holds commands from now on because one goes alone: it is under way, or the next to be sent.
    fn look_for_bar(&mut self, now: Nanos) {
        let is_next = self.held.front().is_some_and(|next| self.sent_alone.holds(next.request.op));
        self.barred_since = (is_next || self.alone && !self.held.is_empty()).then_some(now);
    }

    /// Commands that the host holds, with the time they came.
    pub fn held(&self) -> impl ExactSizeIterator<Item = (&Request, Nanos)> {
        self.held.iter().map(|held| (&held.request, held.submitted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: u32 = 2;
    const FLUSH_ALONE: SentAlone = SentAlone { flush: true, trim: false };

    /// A command comes; its tag if it is sent at once.
    fn comes(queue: &mut HostQueue, now: Nanos, request: Request) -> Option<u64> {
        let is_sent = queue.sends(request.op);
        if !is_sent {
            queue.hold(now, request);
        }
        is_sent.then_some(request.tag)
    }

    /// What is sent next, by tag, and how much of its wait was for one that goes alone.
    fn next(queue: &mut HostQueue, now: Nanos) -> Option<(u64, Nanos)> {
        queue.next(now).map(|sent| (sent.request.tag, sent.barred))
    }

    /// A FLUSH between reads waits for the first, those behind it for both, and the last of them then for room.
    #[test]
    fn a_flush_goes_alone_and_those_before_and_behind_know_what_they_waited_for() {
        let read = |tag| Request::read(tag, 0, 512);
        let mut queue = HostQueue::new(DEPTH, FLUSH_ALONE);
        assert_eq!(comes(&mut queue, 0, read(1)), Some(1));
        assert_eq!(comes(&mut queue, 5, Request::flush(2)), None);
        (3..6).for_each(|tag| assert_eq!(comes(&mut queue, 10, read(tag)), None));
        assert_eq!(queue.held().len(), 4);
        queue.ended();
        assert_eq!(next(&mut queue, 30), Some((2, 25)));
        assert_eq!(next(&mut queue, 30), None, "the flush is alone");
        queue.ended();
        assert_eq!([70; 3].map(|now| next(&mut queue, now)), [Some((3, 60)), Some((4, 60)), None]);
        queue.ended();
        assert_eq!(next(&mut queue, 100), Some((5, 60)));
    }

    #[test]
    fn a_flush_that_is_queued_bars_nobody() {
        let mut queue = HostQueue::new(DEPTH, SentAlone::default());
        (1..3).for_each(|tag| assert_eq!(comes(&mut queue, 0, Request::flush(tag)), Some(tag)));
        assert_eq!(comes(&mut queue, 0, Request::read(3, 0, 512)), None);
        queue.ended();
        assert_eq!(next(&mut queue, 40), Some((3, 0)));
    }

    /// A TRIM goes alone where the device says so, whatever a FLUSH does.
    #[test]
    fn a_trim_goes_alone_where_it_is_not_queued() {
        let trim = Request { op: Op::Trim, ..Request::write(2, 0, 512) };
        for (trim_alone, sent) in [(false, Some(2)), (true, None)] {
            let mut queue = HostQueue::new(DEPTH, SentAlone { flush: false, trim: trim_alone });
            assert_eq!(comes(&mut queue, 0, Request::read(1, 0, 512)), Some(1));
            assert_eq!(comes(&mut queue, 0, trim), sent);
        }
    }
}
