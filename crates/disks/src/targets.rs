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
fn seek(there: Track, now: &Now, seeks: &SeekTable, head_switch: u32) -> SeekTime {
    if there.cylinder == now.track.cylinder && there.head != now.track.head {
        return SeekTime { nanos: head_switch, beyond_turns: head_switch % now.turn };
    }
    seeks.of(there.cylinder.abs_diff(now.track.cylinder))
}

#[inline]
fn access(there: Place, now: &Now, seeks: &SeekTable, head_switch: u32) -> Access {
    let seek = seek(there.track, now, seeks, head_switch);
    // Three angles of less than a turn each: the difference is more than minus two turns.
    let mut rotation = there.angle.wrapping_sub(now.angle).wrapping_sub(seek.beyond_turns) as i32;
    let turn = now.turn as i32;
    rotation += turn & (rotation >> 31);
    rotation += turn & (rotation >> 31);
    Access { seek: seek.nanos, rotation: rotation as u32 }
}

/// From so many places on they are looked at in the order in which they pass; of fewer, looking at each is quicker.
const MANY: usize = 8;

/// Waiting places. An index counts until one is removed. Kept as one list for each property: choosing among them is what a
/// queued disk spends most of its simulated life on.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    cylinder: Vec<u32>,
    head: Vec<u32>,
    angle: Vec<u32>,
    since: Vec<Nanos>,
    /// Angle and index of each, in ascending order.
    turn: Vec<u64>,
    /// None of them came earlier.
    earliest: Nanos,
}

#[inline]
fn key(angle: u32, index: usize) -> u64 {
    u64::from(angle) << 32 | index as u64
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
        self.add_to_turn(place.angle, self.since.len());
        self.cylinder.push(place.track.cylinder);
        self.head.push(place.track.head);
        self.angle.push(place.angle);
        self.since.push(since);
    }

    pub fn replace(&mut self, index: usize, place: Place) {
        self.take_from_turn(index);
        self.add_to_turn(place.angle, index);
        self.cylinder[index] = place.track.cylinder;
        self.head[index] = place.track.head;
        self.angle[index] = place.angle;
    }

    #[inline]
    fn add_to_turn(&mut self, angle: u32, index: usize) {
        let key = key(angle, index);
        let at = self.turn.partition_point(|&other| other < key);
        self.turn.insert(at, key);
    }

    #[inline]
    fn take_from_turn(&mut self, index: usize) {
        let key = key(self.angle[index], index);
        let at = self.turn.partition_point(|&other| other < key);
        self.turn.remove(at);
    }

    /// Two become one, which has waited as long as the older of them.
    pub fn wait_since_both(&mut self, index: usize, other: usize) {
        self.since[index] = self.since[index].min(self.since[other]);
    }

    /// The last one takes the place of the one removed.
    #[inline]
    pub fn swap_remove(&mut self, index: usize) {
        self.take_from_turn(index);
        let last = self.since.len() - 1;
        if index < last {
            let angle = self.angle[last];
            let at = self.turn.partition_point(|&other| other < key(angle, last));
            // Others may lie at the same angle, and have a number between the two.
            let first = self.turn[..at].iter().rposition(|&other| other < key(angle, index)).map_or(0, |i| i + 1);
            self.turn[at] = key(angle, index);
            self.turn[first..=at].rotate_right(1);
        }
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
        let within_a_turn =
            if self.turn.len() >= MANY { self.next_to_pass(now, seeks, head_switch, &may) } else { None };
        match within_a_turn {
            Some(index) => Some(self.choice(index, now, seeks, head_switch)),
            None => self.nearest_of_all(now, seeks, head_switch, may),
        }
    }

    /// The first one to pass from now on that the arm comes to in time: none is reached earlier. `None` if each takes longer
    /// than a turn.
    #[inline]
    fn next_to_pass(
        &self,
        now: &Now,
        seeks: &SeekTable,
        head_switch: u32,
        may: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let passed = self.turn.partition_point(|&other| other < key(now.angle, 0));
        let (behind, ahead) = self.turn.split_at(passed);
        let in_time = |key: u64, turn: u32| {
            let (angle, index) = ((key >> 32) as u32, key as u32 as usize);
            let there = Track { cylinder: self.cylinder[index], head: self.head[index] };
            let seek = seek(there, now, seeks, head_switch);
            (seek.nanos <= angle + turn - now.angle && may(index)).then_some(index)
        };
        let first = ahead.iter().find_map(|&key| in_time(key, 0));
        first.or_else(|| behind.iter().find_map(|&key| in_time(key, now.turn)))
    }

    fn nearest_of_all(
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

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;
    use crate::spec::DiskSpec;

    /// Places come, move and go, many of them at the same angles; the one reached first is that of a look at all.
    #[test]
    fn the_next_to_pass_is_the_nearest_of_all() {
        let turn = 1000;
        let [seeks, _] = crate::seek::tables(&DiskSpec::plain().seek, 400, turn).expect("a plain curve");
        let mut rng = Rng::new(3);
        let mut targets = Targets::default();
        let (mut within_a_turn, mut later) = (0, 0);
        for time in 0..20_000 {
            let mut below = |n: u64| rng.below(n) as u32;
            let mut place = || Place { track: Track { cylinder: below(400), head: below(2) }, angle: below(40) * 25 };
            let (there, track) = (place(), place().track);
            let waiting = targets.since.len() as u64;
            match below(5) {
                0 | 1 if waiting < 40 => targets.push(there, time),
                2 if waiting > 0 => targets.replace(below(waiting) as usize, there),
                3 if waiting > 0 && waiting > u64::from(below(40)) => targets.swap_remove(below(waiting) as usize),
                _ => {}
            }
            assert!(targets.turn.is_sorted());
            let expected: Vec<u64> = (0..targets.since.len()).map(|i| key(targets.angle[i], i)).collect();
            assert!(targets.turn.len() == expected.len() && expected.iter().all(|k| targets.turn.contains(k)));
            let now = Now { track, angle: below(turn.into()), turn };
            let parity = below(3) as usize;
            let may = |index: usize| index % 3 != parity;
            let all = targets.nearest_of_all(&now, &seeks, 300, may);
            match targets.next_to_pass(&now, &seeks, 300, may) {
                Some(index) => {
                    assert_eq!(Some(index), all.map(|choice| choice.index));
                    within_a_turn += 1;
                }
                None => {
                    assert!(all.is_none_or(|choice| choice.access.cost() >= turn));
                    later += 1;
                }
            }
            assert_eq!(targets.nearest(&now, &seeks, 300, may), all);
        }
        assert!(within_a_turn > 1000 && later > 1000, "{within_a_turn} within a turn, {later} later or none");
    }
}
