//! What must agree with what, at any time: the map, the spare areas, valid bits and counts, and the lists.

use ssdlab_nand::{LogicalPage, LogicalPages, UnitAddress};

use super::PageMap;
use super::map::Place;
use super::superblock::{State, SuperblockId};

impl PageMap {
    /// Checks the map against the spare areas and the valid bits, valid counts against valid bits, and the lists
    /// of superblocks against their states. Reads everything: seconds on a large drive.
    ///
    /// # Errors
    /// The first discrepancy.
    pub fn check_invariants(&self) -> Result<(), String> {
        let mut in_buffer_only = 0u64;
        // In units of flash, and in logical ones.
        let mut on_flash = 0u64;
        let mut on_flash_pages = 0u64;
        for lpn in LogicalPage::all(self.map.logical_pages()).each() {
            let unit = match self.map.get(lpn) {
                Place::Unmapped => continue,
                Place::Flash(unit) => unit,
                Place::Buffer(at) => {
                    let slot = self.buffer.slot(at);
                    let held = self.medium.format().lpn(slot.tag);
                    if held != lpn {
                        return Err(format!("page {lpn} points at slot {at}, which holds page {held}"));
                    }
                    if slot.old == UnitAddress::NONE {
                        in_buffer_only += 1;
                        continue;
                    }
                    slot.old
                }
            };
            let units = self.units_at(unit);
            on_flash += u64::from(units);
            on_flash_pages += 1;
            if !self.validity.get(unit) {
                return Err(format!("page {lpn} lives in unit {unit}, which is not valid"));
            }
            if self.medium.lpn(unit) != lpn {
                return Err(format!(
                    "page {lpn} lives in unit {unit}, whose spare area says {}",
                    match self.medium.lpn(unit) {
                        LogicalPage::NONE => "padding".to_owned(),
                        other => format!("page {other}"),
                    }
                ));
            }
        }
        let mapped = on_flash_pages + in_buffer_only;
        if mapped != self.map.mapped() {
            return Err(format!("{mapped} pages are mapped, {} were counted", self.map.mapped()));
        }
        self.check_counts(on_flash)?;
        self.check_extents()?;
        self.check_buffer()?;
        self.log.check(&self.medium)?;
        self.collector.check_room()?;
        self.check_lists()
    }

    fn check_counts(&self, on_flash: u64) -> Result<(), String> {
        let layout = self.medium.layout();
        let mut sum = 0u64;
        let mut counted = vec![0u32; self.superblocks.count() as usize];
        for block in layout.all_blocks() {
            let sb = self.superblocks.of_block(block).index();
            if sb >= counted.len() {
                continue; // a bad block that has been replaced
            }
            for page in 0..layout.pages {
                let valid = self.validity.row(layout.row_start(block, page)).count_ones();
                counted[sb] += valid;
                if valid > 0 && (page >= self.medium.issued_pages(block) || page >= self.medium.pages(block)) {
                    return Err(format!("block {block} page {page} holds valid units but was not programmed"));
                }
            }
        }
        for (&counted, sb) in counted.iter().zip(self.superblocks.all()) {
            let kept = self.superblocks.valid(sb);
            sum += u64::from(counted);
            if counted != kept {
                return Err(format!("superblock {sb} holds {counted} valid units, its count says {kept}"));
            }
        }
        if sum != on_flash {
            return Err(format!("{sum} units are valid, {on_flash} are pointed at by pages"));
        }
        Ok(())
    }

    fn check_lists(&self) -> Result<(), String> {
        for domain in 0..self.allocator.domains() {
            let free: Vec<_> = self.allocator.free_superblocks(domain).collect();
            let (state, valid) = (|sb| self.superblocks.state(sb), |sb| self.superblocks.valid(sb));
            if let Some(sb) = free.iter().find(|&&sb| state(sb) != State::Free || valid(sb) != 0) {
                return Err(format!("domain {domain}: superblock {sb} is on the free list but is not free and empty"));
            }
            let count = |state| self.superblocks.count_in(domain, state);
            if count(State::Free) != free.len() {
                return Err(format!("domain {domain}: {} free superblocks, {} listed", count(State::Free), free.len()));
            }
            let coming = self.allocator.coming(domain) + self.allocator.pool_coming(domain);
            if count(State::Victim) != coming as usize {
                return Err(format!("domain {domain}: {} victims, {coming} counted", count(State::Victim)));
            }
            self.check_cache(domain, count(State::Cached))?;
            let closed = self.superblocks.of_domain(domain).filter(|&sb| state(sb) == State::Closed);
            let dead: u64 = closed.map(|sb| u64::from(self.superblock_units - valid(sb))).sum();
            let counted = self.collector.domain(domain).dead();
            if dead != counted {
                return Err(format!(
                    "domain {domain}: {dead} units are dead in closed superblocks, {counted} were counted"
                ));
            }
            let open = self.allocator.open_superblocks(domain).count();
            if count(State::Open) != open {
                return Err(format!("domain {domain}: {} open superblocks, {open} frontiers", count(State::Open)));
            }
            // Otherwise it may be out of date by what has died since, until the next row or step.
            let exact = !self.room_changes_by_row && !self.is_frozen();
            let stale = |&stream: &u8| self.host.may_write_in(domain, stream) != self.host_may_write(domain, stream);
            if let Some(stream) = (0..self.buffer.streams()).find(stale).filter(|_| exact) {
                return Err(format!(
                    "domain {domain}: whether the host may write rows of stream {stream} is out of date"
                ));
            }
        }
        Ok(())
    }

    /// The SLC cache's own lists against the states and cell modes of their superblocks.
    fn check_cache(&self, domain: usize, waiting: usize) -> Result<(), String> {
        let native = |sb: SuperblockId| self.medium.pages(self.superblocks.any_block(sb)) == self.medium.layout().pages;
        let cached: Vec<_> = self.cache.iter().flat_map(|cache| cache.cached(domain)).collect();
        let mut pooled = 0;
        for (i, &sb) in cached.iter().enumerate() {
            let pool = self.superblocks.in_pool(sb);
            let expected = if pool { State::Cached } else { State::Closed };
            if self.superblocks.state(sb) != expected || native(sb) || cached[..i].contains(&sb) {
                return Err(format!("domain {domain}: superblock {sb} is listed as cached but is not, or twice"));
            }
            pooled += usize::from(pool);
        }
        if pooled != waiting {
            return Err(format!("domain {domain}: {waiting} superblocks wait to be folded, {pooled} are listed"));
        }
        let native_free = self.allocator.free(domain) as usize;
        if let Some(sb) =
            self.allocator.free_superblocks(domain).take(native_free).find(|&sb| self.superblocks.in_pool(sb))
        {
            return Err(format!("domain {domain}: superblock {sb} is set aside for the cache, but is free for all"));
        }
        let of_cache = self.allocator.open_cache_superblock(domain);
        match self.allocator.open_superblocks(domain).find(|&open| native(open) == (of_cache == Some(open))) {
            Some(open) => Err(format!("domain {domain}: open superblock {open} is in the wrong cell mode")),
            None => Ok(()),
        }
    }

    /// Where data are compressed: whether every valid logical unit is one extent of the size of a piece, with its tag in
    /// front and nothing behind it.
    fn check_extents(&self) -> Result<(), String> {
        let Some(extents) = self.compression.as_ref().map(|compression| compression.extents()) else { return Ok(()) };
        let layout = self.medium.layout();
        for block in layout.all_blocks() {
            for page in 0..self.medium.issued_pages(block) {
                let start = layout.row_start(block, page);
                let (valid, begins) = (self.validity.row(start), extents.row(start));
                let mut covered = 0;
                for k in (0..self.row_units).filter(|k| (valid & begins) >> k & 1 != 0) {
                    let units = extents.len(start + k);
                    covered |= (u64::MAX >> (64 - units)) << k;
                    if !units.is_power_of_two() || units > 1 << self.unit_shift {
                        return Err(format!("unit {} begins an extent of {units} units", start + k));
                    }
                    if let Some(behind) =
                        (1..units).find(|&behind| self.medium.lpn(start + k + behind) != LogicalPage::NONE)
                    {
                        let unit = start + k + behind;
                        return Err(format!("unit {unit} is not the first of its extent, but has a tag"));
                    }
                }
                if covered != valid {
                    return Err(format!(
                        "block {block} page {page}: units {valid:#b} are valid, extents cover {covered:#b}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether what waits takes as much as is counted.
    fn check_buffer(&self) -> Result<(), String> {
        let of_stream = |stream| (0..self.buffer.waiting_of(stream)).map(move |k| self.buffer.front(stream, k).1);
        let units: u32 = (0..self.buffer.streams()).flat_map(of_stream).map(u32::from).sum();
        if units != self.buffer.units() {
            return Err(format!("units that wait take {units} of flash, {} were counted", self.buffer.units()));
        }
        if self.buffer.is_lacking() == self.parts.is_empty() {
            return Err(format!("units lack sectors: {}, the buffer says otherwise", !self.parts.is_empty()));
        }
        for (at, part) in self.parts.iter() {
            let slot = self.buffer.slot(at);
            let lpn = self.medium.format().lpn(slot.tag);
            if lpn == LogicalPage::NONE || self.map.get(lpn) != Place::Buffer(at) || slot.old == UnitAddress::NONE {
                return Err(format!("slot {at} lacks sectors, but does not hold a page that has others on flash"));
            }
            if part.present == 0 || self.medium.generation(slot.old) != part.base {
                return Err(format!("page {lpn} waits for the rest of write {}, which is not on flash", part.base));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_map::small;

    #[test]
    fn a_free_list_holds_nothing_but_free_superblocks_without_valid_units() {
        let sound = small::map(false);
        assert_eq!(sound.check_lists(), Ok(()));
        let free = sound.superblocks.of_domain(0).find(|&sb| sound.superblocks.state(sb) == State::Free);
        let free = free.expect("nothing has been written");
        let mut map = sound.clone();
        map.superblocks.set_state(free, State::Reserved);
        assert!(map.check_lists().is_err());
        let mut map = sound;
        map.superblocks.gain_valid(free, 1);
        assert!(map.check_lists().is_err());
    }
}
