//! Which commands the host has sent, and which it holds: beyond the queue depth, or before or behind one that goes alone.

use std::collections::VecDeque;

use ssdlab_core::Nanos;
use ssdlab_device::Request;

use crate::spec::NotQueued;

/// A command that the host holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    request: Request,
    submitted: Nanos,
    /// [`HostQueue::barred`] when it came.
    barred_before: Nanos,
}

/// A command that the host sends now.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub request: Request,
    pub submitted: Nanos,
    /// So much of its wait was for a FLUSH that goes alone, or of such a one for those before it.
    pub barred: Nanos,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct HostQueue {
    depth: u32,
    not_queued: NotQueued,
    under_way: u32,
    /// The one that is under way was sent alone.
    alone: bool,
    held: VecDeque<Held>,
    /// For how long the host has held commands because one goes alone, up to `barred_since` if it does so now.
    barred: Nanos,
    barred_since: Option<Nanos>,
}

impl HostQueue {
    pub fn new(depth: u32, not_queued: NotQueued) -> HostQueue {
        HostQueue {
            depth,
            not_queued,
            under_way: 0,
            alone: false,
            held: VecDeque::new(),
            barred: 0,
            barred_since: None,
        }
    }

    /// All are forgotten, and never answered.
    pub fn drop_all(&mut self) {
        *self = HostQueue::new(self.depth, self.not_queued);
    }

    /// A command comes: it is sent at once, or held.
    #[inline]
    pub fn comes(&mut self, now: Nanos, request: Request) -> Option<Sent> {
        let first = Held { request, submitted: now, barred_before: self.barred };
        if self.held.is_empty() && self.may_be_sent(&request) {
            return Some(self.send(first));
        }
        self.count_barred(now);
        self.held.push_back(Held { barred_before: self.barred, ..first });
        self.look_for_bar(now);
        None
    }

    /// A command that had been sent has ended. [`HostQueue::next`] is to be asked then, until there is none.
    #[inline]
    pub fn ended(&mut self) {
        self.under_way -= 1;
        self.alone = false;
    }

    /// The command that the host has held longest, if it may be sent now.
    #[inline]
    pub fn next(&mut self, now: Nanos) -> Option<Sent> {
        let first = *self.held.front()?;
        self.count_barred(now);
        if self.may_be_sent(&first.request) {
            self.held.pop_front();
            return Some(self.send(first));
        }
        self.look_for_bar(now);
        None
    }

    /// Whether there is room for a command, and no other must end before.
    #[inline]
    fn may_be_sent(&self, request: &Request) -> bool {
        let has_room = self.under_way < self.depth && !self.alone;
        has_room && (self.under_way == 0 || !self.not_queued.holds(request.op))
    }

    #[inline]
    fn send(&mut self, Held { request, submitted, barred_before }: Held) -> Sent {
        self.under_way += 1;
        self.alone = self.not_queued.holds(request.op);
        Sent { request, submitted, barred: self.barred - barred_before }
    }

    /// What has passed of the time in which a command goes alone.
    fn count_barred(&mut self, now: Nanos) {
        self.barred += self.barred_since.take().map_or(0, |since| now - since);
    }

    /// Whether the host holds commands from now on because one goes alone: it is under way, or the next to be sent.
    fn look_for_bar(&mut self, now: Nanos) {
        let is_next = self.held.front().is_some_and(|next| self.not_queued.holds(next.request.op));
        self.barred_since = (is_next || self.alone).then_some(now);
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

    /// What is sent at once or next, by tag, and how much of its wait was for one that goes alone.
    fn told(sent: Option<Sent>) -> Option<(u64, Nanos)> {
        sent.map(|sent| (sent.request.tag, sent.barred))
    }

    /// A FLUSH between reads waits for the first, those behind it for both, and the last of them then for room.
    #[test]
    fn a_flush_goes_alone_and_those_before_and_behind_know_what_they_waited_for() {
        let read = |tag| Request::read(tag, 0, 512);
        let mut queue = HostQueue::new(DEPTH, NotQueued::Flush);
        assert_eq!(told(queue.comes(0, read(1))), Some((1, 0)));
        assert_eq!(told(queue.comes(5, Request::flush(2))), None);
        (3..6).for_each(|tag| assert_eq!(told(queue.comes(10, read(tag))), None));
        assert_eq!(queue.held().len(), 4);
        queue.ended();
        assert_eq!(told(queue.next(30)), Some((2, 25)));
        assert_eq!(told(queue.next(30)), None, "the flush is alone");
        queue.ended();
        assert_eq!(
            [told(queue.next(70)), told(queue.next(70)), told(queue.next(70))],
            [Some((3, 60)), Some((4, 60)), None]
        );
        queue.ended();
        assert_eq!(told(queue.next(100)), Some((5, 60)));
    }

    #[test]
    fn a_flush_that_is_queued_bars_nobody() {
        let mut queue = HostQueue::new(DEPTH, NotQueued::Nothing);
        assert!(queue.comes(0, Request::flush(1)).is_some() && queue.comes(0, Request::flush(2)).is_some());
        assert_eq!(told(queue.comes(0, Request::read(3, 0, 512))), None);
        queue.ended();
        assert_eq!(told(queue.next(40)), Some((3, 0)));
    }
}
