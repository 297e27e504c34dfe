//! Everything that is known twice, compared.

use super::LogBlock;
use super::logs::Log;

impl LogBlock {
    pub(super) fn check(&self) -> Result<(), String> {
        self.check_places()?;
        self.check_readable()?;
        self.check_pages()
    }

    /// No page lives where a power cut has left nothing to be read.
    fn check_readable(&self) -> Result<(), String> {
        let medium = self.contents.medium();
        if medium.blocks_with_unreadable_rows().next().is_none() {
            return Ok(());
        }
        for (page, unit) in self.contents.living() {
            let (block, row) = medium.layout().row_of(unit);
            if !medium.is_readable(block, row) {
                return Err(format!(
                    "page {page} lives in row {row} of block {block}, which a power cut has destroyed"
                ));
            }
        }
        Ok(())
    }

    /// Each physical superblock is one of free, data, log, or a chore's.
    fn check_places(&self) -> Result<(), String> {
        let mut uses = vec![0u32; self.superblocks.count() as usize];
        let data = self.data.iter().flatten().copied();
        let logs = self.logs.iter().map(|log| log.place);
        for place in self.superblocks.free().chain(data).chain(logs).chain(self.chores.places()) {
            uses[place as usize] += 1;
        }
        match uses.iter().position(|&n| n != 1) {
            Some(place) => Err(format!("superblock {place} has {} uses instead of one", uses[place])),
            None => Ok(()),
        }
    }

    /// Each page lives in its data superblock, in its own row, or in an open log.
    fn check_pages(&self) -> Result<(), String> {
        if !self.chores.is_idle() {
            return Ok(());
        }
        let medium = self.contents.medium();
        for (page, unit) in self.contents.living() {
            if medium.lpn(unit) != page {
                return Err(format!("page {page} does not live in unit {unit}, whose tag says {}", medium.lpn(unit)));
            }
            let spot = self.geometry.spot(page);
            let (block, row) = medium.layout().row_of(unit);
            let in_data = self.data[spot.superblock as usize]
                .is_some_and(|place| self.superblocks.block(place, spot.lane) == block && row == spot.row);
            let serves = |log: &Log| log.owner.is_none_or(|owner| owner == spot.superblock);
            let in_log =
                || self.logs.iter().any(|log| serves(log) && self.superblocks.block(log.place, spot.lane) == block);
            if !in_data && !in_log() {
                return Err(format!("page {page} lives in block {block}, which is not its superblock's"));
            }
        }
        Ok(())
    }
}
