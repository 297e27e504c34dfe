//! Any free superblock may be opened at one bit per cell: the cache is as large as the drive is empty. When few are
//! left, or the cache holds the most that it may, data go into the die's own mode at once; when none are, cached data are folded while the host writes.

use super::{CachePolicy, Room};
use crate::spec::GcSpec;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Dynamic {
    keep_free: u32,
    most: u32,
    start_free: u32,
    slc_while_folding: bool,
}

impl Dynamic {
    /// `keep_free`: superblocks of a domain that must stay free; `most`: that may be cached at a time.
    #[must_use]
    pub fn new(keep_free: u32, most: u32, gc: &GcSpec, slc_while_folding: bool) -> Self {
        Dynamic { keep_free, most, start_free: gc.start_free_superblocks, slc_while_folding }
    }
}

impl CachePolicy for Dynamic {
    fn is_pressed(&self, before: bool, room: &Room) -> bool {
        let plenty = room.free > self.keep_free;
        !plenty && room.cached > 0 && (before || room.free + room.coming <= self.start_free)
    }

    fn wants_slc(&self, room: &Room) -> bool {
        let has_room = room.slc_open || room.cached < self.most;
        (room.free > self.keep_free && has_room) || (room.pressed && self.slc_while_folding)
    }

    /// The garbage collector sees to it: a cached superblock is one with few valid units for it.
    fn fold_is_due(&self, _room: &Room) -> bool {
        false
    }

    fn waits(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(slc_while_folding: bool) -> Dynamic {
        Dynamic { keep_free: 5, most: u32::MAX, start_free: 2, slc_while_folding }
    }

    #[test]
    fn it_is_pressed_from_when_hardly_any_is_free_until_there_are_plenty_if_there_is_anything_to_fold() {
        let mut pressed = false;
        let mut follow = |free, coming, cached| {
            let room = Room { free, coming, cached, ..Room::default() };
            pressed = policy(true).is_pressed(pressed, &room);
            pressed
        };
        assert!(!follow(4, 0, 3));
        assert!(follow(1, 1, 3));
        assert!(follow(4, 1, 3), "it is emptied until there are plenty");
        assert!(!follow(6, 0, 3));
        assert!(!follow(5, 0, 3), "and begins anew only when hardly any is free");
        assert!(!follow(1, 0, 0), "there is nothing to fold");
    }

    #[test]
    fn while_it_is_emptied_the_host_writes_where_the_file_says() {
        for slc in [true, false] {
            let wants = |free, pressed| policy(slc).wants_slc(&Room { free, pressed, ..Room::default() });
            assert_eq!([wants(6, false), wants(5, false), wants(5, true)], [true, false, slc]);
        }
    }
}
