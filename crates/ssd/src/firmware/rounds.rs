//! Rounds of the collector that take the processor as a whole (`host_share = "between-rounds"`): commands that come while
//! one lasts are held, and queue up when it is over.

use std::collections::VecDeque;

use ssdlab_core::Cause;
use ssdlab_ftl::{HostShare, Round, Translation};

use crate::SimulatedSsd;
use crate::slot::Slot;
use crate::spec::DriveSpec;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// The firmware works in them.
    used: bool,
    state: State,
    /// The last one that began emptied the SLC cache.
    folds: bool,
    /// Commands that came during a round.
    held: VecDeque<Slot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// A round is in the processor's queue; what comes now waits behind it.
    Queued,
    Running,
}

impl Rounds {
    #[must_use]
    pub fn new(drive: &DriveSpec) -> Self {
        let used = drive.gc.host_share == HostShare::BetweenRounds;
        Rounds { used, state: State::Free, folds: false, held: VecDeque::new() }
    }

    /// Whether the firmware works in rounds.
    #[inline]
    #[must_use]
    pub fn are_used(&self) -> bool {
        self.used
    }

    /// Commands that came during a round are forgotten.
    pub fn drop_commands(&mut self) {
        self.held.clear();
    }

    /// The power is gone.
    pub fn power_cut(&mut self) {
        *self = Rounds { used: self.used, state: State::Free, folds: false, held: VecDeque::new() };
    }

    /// What commands wait for meanwhile.
    fn held_for(&self) -> Cause {
        if self.folds { Cause::Fold } else { Cause::GarbageCollection }
    }

    /// A command that comes during a round waits for its end.
    pub fn hold(&mut self, slot: Slot) {
        self.held.push_back(slot);
    }

    /// Whether commands have to wait for the end of a round.
    #[inline]
    #[must_use]
    pub fn hold_commands(&self) -> bool {
        self.state != State::Free
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// After anything that may have brought the collector to the beginning or the end of a round.
    #[cold]
    pub(crate) fn follow_rounds(&mut self) {
        // A drive that has given up moves nothing any more.
        let round = if self.translation.is_frozen() { Round::None } else { self.translation.round() };
        let wanted = round == Round::Wanted;
        match self.firmware.rounds.state {
            State::Free if wanted && self.may_begin_round() => self.queue_round(),
            State::Running if round != Round::Running => {
                self.release_held();
                if wanted && self.may_begin_round() {
                    self.queue_round();
                }
            }
            _ => {}
        }
    }

    /// Work ahead of need rests while the host is there.
    fn may_begin_round(&self) -> bool {
        self.frontend.in_flight.is_none() && self.firmware.idle.works() || self.translation.round_is_due()
    }

    fn queue_round(&mut self) {
        self.firmware.processor.queue_round(self.now);
        self.firmware.rounds.state = State::Queued;
    }

    /// The processor has come to a round in its queue.
    pub(crate) fn begin_round(&mut self) {
        self.firmware.rounds.state = State::Running;
        self.firmware.rounds.folds = self.translation.round_folds();
        let cause = self.firmware.rounds.held_for();
        self.probe.explain(|explanations| explanations.round_begins(self.now, cause));
        if self.translation.round() == Round::Wanted {
            self.ask(|translation, queues| translation.begin_round(queues));
        } else {
            self.follow_rounds();
        }
    }

    /// A round is over: what has come meanwhile goes into the queue.
    fn release_held(&mut self) {
        let now = self.now;
        self.firmware.rounds.state = State::Free;
        self.probe.explain(|explanations| explanations.round_ends(now));
        let cause = self.firmware.rounds.held_for();
        while let Some(slot) = self.firmware.rounds.held.pop_front() {
            let arrived = self.frontend.commands.slot(slot).decoded;
            self.probe.explain(|explanations| explanations.add(slot, cause, now.saturating_sub(arrived)));
            self.take_in_late(slot, now);
        }
    }
}
