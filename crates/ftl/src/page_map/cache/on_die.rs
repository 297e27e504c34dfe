//! Some blocks of every die are set aside, and what they hold is folded into blocks of the same die.
//!
//! Who writes when is as with [`super::fixed::Fixed`]; each die is a set of its own, with its own collector, so that
//! data stay in their die. What differs is the way of the data: they are read out once, so that the controller can
//! check them, but not sent back, since the die still has them. Where a row gathers units of several pages, the die
//! is taken to be able to put them together.

use super::fixed::Fixed;
use super::{CachePolicy, Room};
use crate::op::OpKind;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct OnDie(pub Fixed);

impl CachePolicy for OnDie {
    fn is_pressed(&self, before: bool, room: &Room) -> bool {
        self.0.is_pressed(before, room)
    }

    fn wants_slc(&self, room: &Room) -> bool {
        self.0.wants_slc(room)
    }

    fn fold_is_due(&self, room: &Room) -> bool {
        self.0.fold_is_due(room)
    }

    fn waits(&self) -> bool {
        self.0.waits()
    }

    fn fold_program(&self) -> OpKind {
        OpKind::FoldCopy
    }
}
