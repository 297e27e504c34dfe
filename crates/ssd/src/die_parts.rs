//! Dies, and planes that read by themselves (`features.independent_plane_reads` of a die): how both are numbered.
//!
//! A die stands for all that it does as a whole, and has the number that it has everywhere. Each of its planes that reads
//! by itself is a part of it with a number of its own, behind those of all dies.

use ssdlab_nand::{DieId, DieSpec};

use crate::spec::DriveSpec;

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct DieParts {
    dies: u32,
    /// Of each die, that read by themselves; 0 where none does.
    planes: u32,
}

impl DieParts {
    #[must_use]
    pub fn of(drive: &DriveSpec, die: &DieSpec) -> Self {
        DieParts { dies: drive.flash.dies, planes: if drive.reads_planes_apart(die) { die.geometry.planes } else { 0 } }
    }

    /// Dies of so many planes that read by themselves.
    #[cfg(test)]
    pub fn new(dies: u32, planes: u32) -> Self {
        DieParts { dies, planes }
    }

    /// Dies and planes together.
    #[must_use]
    pub fn count(self) -> u32 {
        self.dies * (1 + self.planes)
    }

    #[must_use]
    pub fn dies(self) -> u32 {
        self.dies
    }

    #[inline]
    #[must_use]
    pub fn is_plane(self, part: DieId) -> bool {
        part.number() >= self.dies
    }

    /// The die that a part is, or is a plane of.
    #[inline]
    #[must_use]
    pub fn die_of(self, part: DieId) -> DieId {
        match part.number().checked_sub(self.dies) {
            Some(plane) => DieId::new(plane / self.planes),
            None => part,
        }
    }

    /// The number of a part within its die, if it is a plane.
    #[inline]
    #[must_use]
    pub fn plane_of(self, part: DieId) -> Option<u32> {
        part.number().checked_sub(self.dies).map(|plane| plane % self.planes)
    }

    /// A plane of a die.
    #[inline]
    #[must_use]
    pub fn plane(self, die: DieId, plane: u32) -> DieId {
        debug_assert!(plane < self.planes);
        DieId::new(self.dies + die.number() * self.planes + plane)
    }

    /// All planes of a die that read by themselves.
    #[inline]
    pub fn planes(self, die: DieId) -> impl Iterator<Item = DieId> {
        (0..self.planes).map(move |plane| self.plane(die, plane))
    }

    /// For people.
    #[must_use]
    pub fn name(self, part: DieId) -> String {
        match self.plane_of(part) {
            Some(plane) => format!("die {} plane {plane}", self.die_of(part).number()),
            None => format!("die {}", part.number()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_plane_is_a_part_of_its_die() {
        let parts = DieParts::new(3, 2);
        let all: Vec<String> = (0..parts.count()).map(|part| parts.name(DieId::new(part))).collect();
        let planes =
            ["die 0 plane 0", "die 0 plane 1", "die 1 plane 0", "die 1 plane 1", "die 2 plane 0", "die 2 plane 1"];
        assert_eq!(all, [&["die 0", "die 1", "die 2"][..], &planes].concat());
        for die in (0..3).map(DieId::new) {
            assert!(!parts.is_plane(die) && parts.die_of(die) == die && parts.plane_of(die).is_none());
            for (plane, part) in parts.planes(die).enumerate() {
                assert_eq!((parts.die_of(part), parts.plane_of(part)), (die, Some(plane as u32)));
                assert!(parts.is_plane(part));
            }
        }
        let whole = DieParts::new(3, 0);
        assert_eq!((whole.count(), whole.planes(DieId::FIRST).count()), (3, 0));
    }
}
