//! What goes on at a time that was set before: commands that a drive too hot has not let in yet, and rows that wait for other
//! writes to join them. Those commands have arrived, and take nobody's time and nobody's turn: the processor hears of each
//! when it may come in.

use std::collections::VecDeque;

use ssdlab_core::Nanos;
use ssdlab_ftl::Translation;

use crate::SimulatedSsd;
use crate::backend::NEVER;
use crate::slot::Slot;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Held {
    /// With the times at which they may come in, which never go back.
    commands: VecDeque<(Nanos, Slot)>,
    /// When rows go out that are not full, whoever may still come; [`NEVER`]: none wait for that.
    joining_until: Nanos,
    /// The first of all these times; [`NEVER`]: there is none.
    next: Nanos,
}

impl Held {
    #[must_use]
    pub fn new() -> Self {
        Held { commands: VecDeque::new(), joining_until: NEVER, next: NEVER }
    }

    /// When the next command may come in, or rows go out; [`NEVER`]: nothing is held.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> Nanos {
        self.next
    }

    /// Whether a command that comes now would overtake another.
    #[must_use]
    pub fn holds_any(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Rows wait for writes to join them: until then at the longest, or as long as others do already.
    pub fn join_until(&mut self, until: Nanos) {
        if self.joining_until == NEVER {
            self.joining_until = until;
            self.set_next();
        }
    }

    /// Whether rows wait for writes to join them, and may go on waiting.
    #[must_use]
    pub fn may_join(&self, now: Nanos) -> bool {
        self.joining_until != NEVER && now < self.joining_until
    }

    /// No row waits for others any more. Returns whether any did.
    pub fn stop_joining(&mut self) -> bool {
        let any = self.joining_until != NEVER;
        if any {
            self.joining_until = NEVER;
            self.set_next();
        }
        any
    }

    fn set_next(&mut self) {
        self.next = self.commands.front().map_or(NEVER, |&(enters, _)| enters).min(self.joining_until);
    }

    pub fn push(&mut self, enters: Nanos, slot: Slot) {
        debug_assert!(self.commands.back().is_none_or(|&(before, _)| before <= enters));
        self.commands.push_back((enters, slot));
        self.set_next();
    }

    fn pop(&mut self) -> Option<Slot> {
        let (_, slot) = self.commands.pop_front()?;
        self.set_next();
        Some(slot)
    }

    pub fn clear(&mut self) {
        *self = Held::new();
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// Rows go out that have waited long enough for others, or the first of the commands that were held for heat comes in.
    #[cold]
    #[inline(never)]
    pub(crate) fn let_in(&mut self, now: Nanos) {
        // A drive that is starting is ahead of its host until it is ready.
        self.now = self.now.max(now);
        if self.frontend.held.joining_until <= self.now {
            return self.settle_durable();
        }
        let slot = self.frontend.held.pop().expect("the event says so");
        if self.firmware.rounds.hold_commands() {
            self.firmware.rounds.hold(slot);
        } else {
            self.take_in_late(slot, self.now);
        }
    }

    /// A command that arrived at its `decoded` and could not come in then goes to the processor.
    pub(crate) fn take_in_late(&mut self, slot: Slot, now: Nanos) {
        let unit = self.unit;
        let command = self.frontend.commands.slot(slot);
        let (request, from) = (command.request, command.decoded.max(now));
        let (decoded, processed) = self.firmware.processor.take_in(slot, &request, unit, from);
        (command.decoded, command.processed) = (decoded, processed);
        let moving = self.firmware.processor.moving(from, decoded);
        self.probe.explain(|explanations| explanations.add_processor(slot, decoded - from, moving));
    }
}
