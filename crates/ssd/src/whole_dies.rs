//! Dies of the drive file, where each plane is operated as a die of its own (`flash.planes_apart`): what supply and firmware
//! count is these.
//!
//! Planes of a die are on its channel. Of the dies of a channel, so many as a die has planes, one behind the other, are one.

use ssdlab_nand::{DieId, DieSpec};

use crate::spec::DriveSpec;

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct WholeDies {
    channels: u32,
    /// Planes of a die that are operated apart; 1 where none are.
    planes: u32,
}

impl WholeDies {
    /// Of a drive and its dies as the files have them.
    #[must_use]
    pub fn of(drive: &DriveSpec, die: &DieSpec) -> Self {
        let planes = if drive.flash.planes_apart { die.geometry.planes } else { 1 };
        WholeDies { channels: drive.controller.channels, planes }
    }

    /// Of a drive with so many channels, so many planes of each die operated apart.
    #[cfg(test)]
    pub fn new(channels: u32, planes: u32) -> Self {
        WholeDies { channels, planes }
    }

    /// Whether dies are anything else than what is operated.
    #[must_use]
    pub fn are_split(self) -> bool {
        self.planes > 1
    }

    /// How many dies so many are that are operated.
    #[must_use]
    pub fn count(self, operated: u32) -> u32 {
        operated / self.planes
    }

    /// The die of the file that one which is operated is, or is a plane of.
    #[inline]
    #[must_use]
    pub fn whole(self, operated: DieId) -> DieId {
        let (row, channel) = (operated.number() / self.channels, operated.number() % self.channels);
        DieId::new(row / self.planes * self.channels + channel)
    }

    /// Which of its planes that is.
    #[inline]
    #[must_use]
    pub fn plane(self, operated: DieId) -> u32 {
        operated.number() / self.channels % self.planes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_of_a_die_are_on_its_channel() {
        let whole = |dies: WholeDies| (0..12).map(move |die| dies.whole(DieId::new(die)).number()).collect::<Vec<_>>();
        let split = WholeDies::new(3, 2);
        assert_eq!(whole(split), [0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5]);
        assert!(split.are_split() && split.count(12) == 6);
        let as_they_are = WholeDies::new(3, 1);
        assert!(whole(as_they_are).into_iter().eq(0..12) && as_they_are.count(12) == 12 && !as_they_are.are_split());
    }
}
