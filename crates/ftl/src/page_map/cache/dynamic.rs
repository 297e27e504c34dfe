//! Any free superblock may be opened at one bit per cell: the cache is as large as the drive is empty. When few are
//! left, data go into the die's own mode at once; when none are, cached data are folded while the host writes.

use super::{CachePolicy, Room};
use crate::spec::GcSpec;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Dynamic {
    keep_free: u32,
    start_free: u32,
    slc_while_folding: bool,
}

impl Dynamic {
    /// `keep_free`: superblocks of a set that must stay free.
    #[must_use]
    pub fn new(keep_free: u32, gc: &GcSpec, slc_while_folding: bool) -> Self {
        Dynamic { keep_free, start_free: gc.start_free_superblocks, slc_while_folding }
    }
}

impl CachePolicy for Dynamic {
    fn is_pressed(&self, before: bool, room: &Room) -> bool {
        let plenty = room.free > self.keep_free;
        !plenty && room.cached > 0 && (before || room.free + room.coming <= self.start_free)
    }

    fn wants_slc(&self, room: &Room) -> bool {
        room.free > self.keep_free || (room.pressed && self.slc_while_folding)
    }

    /// The garbage collector sees to it: a cached superblock is one with few valid units for it.
    fn fold_is_due(&self, _room: &Room) -> bool {
        false
    }

    fn waits(&self) -> bool {
        false
    }
}
