//! Places that wait to be read or written, and which of them the arm reaches first.

use ssdlab_core::Nanos;

use crate::geometry::{Place, Track};
use crate::seek::{SeekTable, SeekTime};

/// What an access costs before its first sector passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub seek: u32,
    pub rotation: u32,
}

/// Where the arm is, and where in the turn the platters are.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    pub track: Track,
    pub angle: u32,
    pub turn: u32,
}

/// What is served next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub index: usize,
    pub access: Access,
    /// When it came.
    pub since: Nanos,
}

impl Access {
    /// Time to the first sector.
    #[inline]
    pub fn cost(self) -> u32 {
        self.seek.saturating_add(self.rotation)
    }
}

#[inline]
fn access(there: Place, now: &Now, seeks: &SeekTable, head_switch: u32) -> Access {
    let mut seek = seeks.of(there.track.cylinder.abs_diff(now.track.cylinder));
    if there.track.cylinder == now.track.cylinder && there.track.head != now.track.head {
        seek = SeekTime { nanos: head_switch, beyond_turns: head_switch % now.turn };
    }
    // Three angles of less than a turn each: the difference is more than minus two turns.
    let mut rotation = there.angle.wrapping_sub(now.angle).wrapping_sub(seek.beyond_turns) as i32;
    let turn = now.turn as i32;
    rotation += turn & (rotation >> 31);
    rotation += turn & (rotation >> 31);
    Access { seek: seek.nanos, rotation: rotation as u32 }
}

/// Waiting places, in no order. Kept as one list for each property: choosing among them is what a queued disk spends most
/// of its simulated life on.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    cylinder: Vec<u32>,
    head: Vec<u32>,
    angle: Vec<u32>,
    since: Vec<Nanos>,
    /// None of them came earlier.
    earliest: Nanos,
}

impl Targets {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cylinder.is_empty()
    }

    #[inline]
    pub fn push(&mut self, place: Place, since: Nanos) {
        if self.since.is_empty() {
            self.earliest = since;
        }
        self.cylinder.push(place.track.cylinder);
        self.head.push(place.track.head);
        self.angle.push(place.angle);
        self.since.push(since);
    }

    pub fn replace(&mut self, index: usize, place: Place) {
        self.cylinder[index] = place.track.cylinder;
        self.head[index] = place.track.head;
        self.angle[index] = place.angle;
    }

    /// Two become one, which has waited as long as the older of them.
    pub fn wait_since_both(&mut self, index: usize, other: usize) {
        self.since[index] = self.since[index].min(self.since[other]);
    }

    /// The last one takes the place of the one removed.
    #[inline]
    pub fn swap_remove(&mut self, index: usize) {
        self.cylinder.swap_remove(index);
        self.head.swap_remove(index);
        self.angle.swap_remove(index);
        self.since.swap_remove(index);
    }

    /// Whether any came before `now - longest`. Looks at all of them only when the bound on the oldest has come so far.
    #[inline]
    pub fn any_overdue(&mut self, now: Nanos, longest: Nanos) -> bool {
        if self.since.is_empty() || now - self.earliest <= longest {
            return false;
        }
        self.earliest = self.since.iter().copied().min().unwrap_or(now);
        now - self.earliest > longest
    }

    /// When the oldest of those came that `may` be served; `None` if there is none.
    pub fn oldest(&self, may: impl Fn(usize) -> bool) -> Option<(usize, Nanos)> {
        let all = self.since.iter().copied().enumerate();
        all.filter(|&(i, _)| may(i)).min_by_key(|&(_, since)| since)
    }

    #[inline]
    pub fn choice(&self, index: usize, now: &Now, seeks: &SeekTable, head_switch: u32) -> Choice {
        let track = Track { cylinder: self.cylinder[index], head: self.head[index] };
        let access = access(Place { track, angle: self.angle[index] }, now, seeks, head_switch);
        Choice { index, access, since: self.since[index] }
    }

    /// The one reached first of those that `may` be served.
    #[inline]
    pub fn nearest(
        &self,
        now: &Now,
        seeks: &SeekTable,
        head_switch: u32,
        may: impl Fn(usize) -> bool,
    ) -> Option<Choice> {
        // Cost and index in one number, so that the smaller one is both.
        let mut best = u64::MAX;
        let all = self.cylinder.iter().zip(&self.angle).zip(&self.head);
        for (index, ((&cylinder, &angle), &head)) in all.enumerate() {
            let there = Place { track: Track { cylinder, head }, angle };
            let cost = u64::from(access(there, now, seeks, head_switch).cost()) << 32 | index as u64;
            if cost < best && may(index) {
                best = cost;
            }
        }
        let index = best as u32 as usize;
        (best != u64::MAX).then(|| self.choice(index, now, seeks, head_switch))
    }
}
