//! Stretches that lie beside each other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ssdlab_core::Nanos;
use ssdlab_device::Stretch;

/// The lane in which each of these lies, which are in order of time: the first that is free then. `None` where all of `most` are
/// taken.
pub fn lanes(stretches: &[Stretch], most: usize) -> Vec<Option<usize>> {
    let (mut taken, mut free) = (BinaryHeap::<Reverse<(Nanos, usize)>>::new(), BinaryHeap::new());
    let mut lanes = 0;
    let place = |stretch: &Stretch| {
        while let Some(&Reverse((_, lane))) = taken.peek().filter(|lane| lane.0.0 <= stretch.from) {
            taken.pop();
            free.push(Reverse(lane));
        }
        let lane = match free.pop() {
            Some(Reverse(lane)) => lane,
            None if lanes < most => {
                lanes += 1;
                lanes - 1
            }
            None => return None,
        };
        taken.push(Reverse((stretch.to, lane)));
        Some(lane)
    };
    stretches.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Cause;
    use ssdlab_device::Work;

    use super::*;

    #[test]
    fn the_first_free_lane_is_taken_and_what_has_none_is_left_out() {
        let stretch = |(from, to)| Stretch { from, to, work: Work::Other { what: "work".into(), cause: Cause::Read } };
        let all = [(0, 10), (1, 4), (2, 3), (3, 9), (4, 5), (6, 7), (10, 10), (10, 11)].map(stretch);
        assert_eq!(lanes(&all, 9), [0, 1, 2, 2, 1, 1, 0, 0].map(Some));
        assert_eq!(lanes(&all, 2), [Some(0), Some(1), None, None, Some(1), Some(1), Some(0), Some(0)]);
        assert_eq!(lanes(&all, 0), [None; 8]);
    }
}
