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
    /// With no command outstanding and nothing at work inside, in whatever state of the link. Known where
    /// [`LinkSleep::is_watched`].
    pub at_rest: Nanos,
}

impl Slept {
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
        self.resting = at_rest.then_some((at, self.slept));
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
        if let Some(state) = self.descent.iter().rev().find(|d| since + d.begins <= now) {
            // A way down that has begun ends before the way up begins.
            self.up_at = now.max(since + state.entered) + state.exit;
        }
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
        let Some(since) = self.idle_since else { return slept };
        for (k, d) in self.descent.iter().enumerate() {
            let ends = self.descent.get(k + 1).map_or(NEVER, |next| since + next.entered);
            let stayed = now.min(ends).saturating_sub(self.settled.max(since + d.entered));
            slept.link[d.state as usize] += stayed;
            if self.at_rest && d.state != LinkState::Partial {
                slept.drive[d.state as usize] += stayed;
            }
        }
        if self.at_rest {
            slept.at_rest += now.saturating_sub(self.settled);
        }
        slept
    }

    fn settle(&mut self, to: Nanos) {
        self.slept = self.slept(to);
        self.settled = self.settled.max(to);
    }
}

#[cfg(test)]
#[path = "link_sleep_tests.rs"]
mod tests;
