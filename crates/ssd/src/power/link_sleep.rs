//! Partial, Slumber and DevSleep: where the link is while no command is outstanding, and how long it takes to come
//! back.
//!
//! Nothing happens at the instants at which the state changes: which state the link was in follows from how long it
//! has been idle, and is worked out when somebody wants to know. The drive itself sleeps in Slumber and DevSleep as
//! far as it rests inside: while it folds, collects or writes its buffer out, its link may be down, but its
//! controller and its DRAM are awake.
//!
//! Not modelled: links that sleep while commands are outstanding.

use std::collections::VecDeque;

use ssdlab_core::{Nanos, SECOND};
use ssdlab_device::LinkPolicy;

use super::spec::{Descent, LinkState, PowerSpec};
use crate::backend::NEVER;

/// How long the link, and the drive with it, slept so far: Partial, Slumber, DevSleep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slept {
    pub link: [Nanos; 3],
    /// Of that, with nothing at work inside the drive.
    pub drive: [Nanos; 3],
    /// With no command that the drive could know of and nothing at work inside, in whatever state of the link. Known where
    /// [`LinkSleep::is_watched`].
    pub at_rest: Nanos,
}

impl Slept {
    /// The link stays in a state, if it sleeps, for so long; `at_rest`: the drive sleeps as well.
    fn stay(&mut self, state: LinkState, time: Nanos, at_rest: bool) {
        self.link[state as usize] += time;
        if at_rest && state != LinkState::Partial {
            self.drive[state as usize] += time;
        }
    }

    fn minus(&self, before: &Slept) -> Slept {
        Slept {
            link: std::array::from_fn(|k| self.link[k] - before.link[k]),
            drive: std::array::from_fn(|k| self.drive[k] - before.drive[k]),
            at_rest: self.at_rest - before.at_rest,
        }
    }
}

/// A stretch of time with no command outstanding and nothing at work inside, and how the link slept in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    pub from: Nanos,
    pub to: Nanos,
    pub slept: Slept,
}

/// A way down on which a command has come: what is left of it. The drive draws what it draws in the state before, and knows of the
/// command when the link turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WayDown {
    from: Nanos,
    turns: Nanos,
    /// The state before, unless the link was up.
    state: Option<LinkState>,
    at_rest: bool,
}

/// Shorter ones are not remembered.
const REMEMBERED_FROM: Nanos = SECOND;
/// How many of the last ones are.
const REMEMBERED: usize = 8;

/// See the module's own page.
#[derive(Clone, Debug, Default)]
pub struct LinkSleep {
    /// Empty: the link never sleeps.
    descent: Vec<Descent>,
    /// Since when no command is outstanding; while one is, `None`.
    idle_since: Option<Nanos>,
    /// Whether nothing is at work inside.
    at_rest: bool,
    /// `slept` is known up to here.
    settled: Nanos,
    slept: Slept,
    /// When the link carries commands again.
    up_at: Nanos,
    /// The way down that it ends before.
    way_down: Option<WayDown>,
    /// Rest is noted even if the link never sleeps.
    notes_rest: bool,
    /// When the rest began that goes on, and how long the link had slept by then.
    resting: Option<(Nanos, Slept)>,
    /// The last ones that were longer than [`REMEMBERED_FROM`].
    rests: VecDeque<Rest>,
}

impl LinkSleep {
    /// Of a drive that begins at rest. `notes_rest`: it wants to know how long it rests, whatever its link does.
    #[must_use]
    pub fn new(notes_rest: bool) -> Self {
        let mut sleep = LinkSleep { notes_rest, ..LinkSleep::default() };
        if notes_rest {
            sleep.rest(0, true);
        }
        sleep
    }

    /// From the next rest on, rest is noted.
    #[inline]
    pub fn note_rest(&mut self) {
        self.notes_rest = true;
    }

    /// From `now` on the host treats the link in this way. The drive must be idle; its idle time counts from now.
    pub fn set_policy(&mut self, now: Nanos, policy: LinkPolicy, spec: &PowerSpec, at_rest: bool) {
        self.wake(now);
        self.descent = spec.descent(policy);
        self.rest(now.max(self.up_at), at_rest);
    }

    /// When the link carries commands again.
    #[inline]
    #[must_use]
    pub fn up_at(&self) -> Nanos {
        self.up_at
    }

    /// Whether anything follows from how long the drive is idle: its link sleeps, or its rest is noted.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.notes_rest || !self.descent.is_empty()
    }

    /// The host's last command has ended; `at_rest`: and nothing is at work inside.
    pub fn rest(&mut self, at: Nanos, at_rest: bool) {
        (self.idle_since, self.at_rest, self.settled) = (Some(at), at_rest, at);
        self.resting = at_rest.then(|| (at, self.slept(at)));
    }

    /// Work inside has begun or ended, without the host.
    pub fn inside(&mut self, at: Nanos, at_rest: bool) {
        self.settle(at);
        if at_rest != self.at_rest {
            self.end_rest(at);
            self.at_rest = at_rest;
            // Without power it is no rest.
            self.resting = (at_rest && self.idle_since.is_some()).then_some((at, self.slept));
        }
    }

    /// The host has a command: wakes the link if it sleeps, which then is up at [`LinkSleep::up_at`].
    pub fn wake(&mut self, now: Nanos) {
        self.settle(now);
        self.end_rest(now);
        let Some(since) = self.idle_since.take() else { return };
        let Some(k) = self.descent.iter().rposition(|d| since + d.begins <= now) else { return };
        // A way down that has begun ends before the way up begins.
        let turns = now.max(since + self.descent[k].entered);
        self.up_at = turns + self.descent[k].exit;
        if turns > now {
            let state = k.checked_sub(1).map(|before| self.descent[before].state);
            self.way_down = Some(WayDown { from: now, turns, state, at_rest: self.at_rest });
        }
    }

    /// The power has gone: the link goes neither down nor up.
    pub fn power_cut(&mut self, now: Nanos) {
        self.settle(now);
        self.end_rest(now);
        (self.idle_since, self.way_down, self.up_at) = (None, None, now);
    }

    fn end_rest(&mut self, at: Nanos) {
        let Some((from, before)) = self.resting.take() else { return };
        if at >= from.saturating_add(REMEMBERED_FROM) {
            if self.rests.len() == REMEMBERED {
                self.rests.pop_front();
            }
            self.rests.push_back(Rest { from, to: at, slept: self.slept.minus(&before) });
        }
    }

    /// The last long rests in their order, that included which goes on.
    pub fn rests(&self, now: Nanos) -> impl Iterator<Item = Rest> + '_ {
        let going_on = self.resting.filter(|&(from, _)| from < now);
        let going_on = going_on.map(|(from, before)| Rest { from, to: now, slept: self.slept(now).minus(&before) });
        self.rests.iter().copied().chain(going_on)
    }

    /// Time slept up to `now`.
    pub fn slept(&self, now: Nanos) -> Slept {
        let mut slept = self.slept;
        if let Some(way) = self.way_down {
            let time = now.min(way.turns).saturating_sub(way.from);
            if let Some(state) = way.state {
                slept.stay(state, time, way.at_rest);
            }
            slept.at_rest += if way.at_rest { time } else { 0 };
        }
        let Some(since) = self.idle_since else { return slept };
        for (k, d) in self.descent.iter().enumerate() {
            let ends = self.descent.get(k + 1).map_or(NEVER, |next| since + next.entered);
            let stayed = now.min(ends).saturating_sub(self.settled.max(since + d.entered));
            slept.stay(d.state, stayed, self.at_rest);
        }
        if self.at_rest {
            slept.at_rest += now.saturating_sub(self.settled);
        }
        slept
    }

    fn settle(&mut self, to: Nanos) {
        self.slept = self.slept(to);
        self.settled = self.settled.max(to);
        // Of the way down that counts up to here.
        self.way_down = self.way_down.filter(|way| way.turns > to).map(|way| WayDown { from: way.from.max(to), ..way });
    }
}

#[cfg(test)]
#[path = "link_sleep_tests.rs"]
mod tests;
