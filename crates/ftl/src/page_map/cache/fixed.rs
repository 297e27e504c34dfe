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
