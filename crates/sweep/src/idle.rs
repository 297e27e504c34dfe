//! Swept keys that made no difference.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::plan::Plan;
use crate::point::PointResult;
use crate::run::State;

/// Swept keys with points that differ in them alone, all of which have the same figures, to the last digit: a key that a
/// drive with these others does not ask for, or a test that does not reach what it changes.
#[must_use]
pub fn keys_without_effect<'a>(plan: &'a Plan, states: &[State]) -> Vec<&'a str> {
    let axes = plan.axes.iter().enumerate().filter(|&(a, _)| moves_nothing(plan, states, a));
    axes.map(|(_, axis)| axis.key.as_str()).collect()
}

fn moves_nothing(plan: &Plan, states: &[State], axis: usize) -> bool {
    // By all else that a point is: the first of its points, and its key.
    let mut firsts: BTreeMap<(usize, u64, Vec<&str>), (&State, &str)> = BTreeMap::new();
    let mut any = false;
    for (point, state) in plan.points.iter().zip(states) {
        let State::Done(PointResult::Finished { .. }) = state else { continue };
        let others = (0..point.cells.len()).filter(|&a| a != axis).map(|a| point.cells[a].text.as_str()).collect();
        match firsts.entry((point.task, point.seed, others)) {
            Entry::Vacant(place) => _ = place.insert((state, &point.key)),
            Entry::Occupied(first) if first.get().0 != state => return false,
            // Of one run, under two spellings of a value, nothing follows.
            Entry::Occupied(first) => any |= first.get().1 != point.key,
        }
    }
    any
}
