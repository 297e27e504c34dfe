//! Some superblocks are set aside and always written at one bit per cell. When all are full, data go past them, or
//! wait until one has been folded.

use super::{CachePolicy, Room, WhenFull};

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Fixed {
    when_full: WhenFull,
}

impl Fixed {
    #[must_use]
    pub fn new(when_full: WhenFull) -> Self {
        Fixed { when_full }
    }
}

impl CachePolicy for Fixed {
    fn is_pressed(&self, _before: bool, _room: &Room) -> bool {
        false
    }

    fn wants_slc(&self, room: &Room) -> bool {
        room.slc_open || room.pool_free > 0 || self.when_full == WhenFull::Fold
    }

    /// One superblock ahead of need.
    fn fold_is_due(&self, room: &Room) -> bool {
        self.when_full == WhenFull::Fold && room.pool_free + room.pool_coming < 2
    }

    fn waits(&self) -> bool {
        self.when_full == WhenFull::Fold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_superblock_is_folded_ahead_of_need_where_the_host_would_wait_for_it() {
        let due = |when_full, pool_free, pool_coming| {
            Fixed::new(when_full).fold_is_due(&Room { pool_free, pool_coming, ..Room::default() })
        };
        assert_eq!([(0, 0), (1, 0), (0, 1), (1, 1)].map(|(f, c)| due(WhenFull::Fold, f, c)), [true, true, true, false]);
        assert!(!due(WhenFull::Direct, 0, 0));
    }

    #[test]
    fn what_the_cache_has_no_room_for_goes_past_it_or_waits() {
        let wants = |when_full, slc_open, pool_free| {
            Fixed::new(when_full).wants_slc(&Room { slc_open, pool_free, ..Room::default() })
        };
        assert!(wants(WhenFull::Direct, true, 0) && wants(WhenFull::Direct, false, 1));
        assert!(!wants(WhenFull::Direct, false, 0) && wants(WhenFull::Fold, false, 0));
        assert!(Fixed::new(WhenFull::Fold).waits() && !Fixed::new(WhenFull::Direct).waits());
    }
}
