//! The books: what must agree with what, after every run.

use ssdlab_nand::NO_LPN;

use crate::map::{Place, UNMAPPED};
use crate::superblock::State;
use crate::translation::Ftl;

impl Ftl {
    /// Checks the map against the spare areas and the valid bits, valid counts against valid bits, and the lists
    /// of superblocks against their states. Reads everything: seconds on a large drive.
    ///
    /// # Errors
    /// The first discrepancy.
    pub fn check_books(&self) -> Result<(), String> {
        let mut in_buffer_only = 0u64;
        // In units of flash, and in logical ones.
        let mut on_flash = 0u64;
        let mut on_flash_pages = 0u64;
        for lpn in 0..self.map.len() {
            let unit = match self.map.get(lpn) {
                Place::Unmapped => continue,
                Place::Flash(unit) => unit,
                Place::Buffer(at) => {
                    let slot = self.buffer.slot(at);
                    let held = self.medium.format().lpn(slot.tag);
                    if held != lpn {
                        return Err(format!("page {lpn} points at slot {at}, which holds page {held}"));
                    }
                    if slot.old == UNMAPPED {
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
                        NO_LPN => "padding".to_owned(),
                        other => format!("page {other}"),
                    }
                ));
            }
        }
        let mapped = on_flash_pages + in_buffer_only;
        if mapped != self.valid_units {
            return Err(format!("{mapped} pages are mapped, {} were counted", self.valid_units));
        }
        self.check_counts(on_flash)?;
        self.check_extents()?;
        self.check_buffer()?;
        if let Some(demand) = &self.demand_map {
            demand.check(&self.medium)?;
        }
        self.check_lists()
    }

    fn check_counts(&self, on_flash: u64) -> Result<(), String> {
        let layout = self.medium.layout();
        let mut sum = 0u64;
        let mut counted = vec![0u32; self.blocks.count() as usize];
        for block in 0..layout.block_count() {
            let sb = self.blocks.of_block(block) as usize;
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
        for (sb, (&counted, &kept)) in counted.iter().zip(&self.blocks.valid).enumerate() {
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
        for (s, set) in self.sets.iter().enumerate() {
            for &sb in set.free.iter().chain(&set.pool_free) {
                if self.blocks.state[sb as usize] != State::Free || self.blocks.valid[sb as usize] != 0 {
                    return Err(format!("set {s}: superblock {sb} is on the free list but is not free and empty"));
                }
            }
            let of_set = |state: State| {
                (0..self.blocks.per_set())
                    .filter(|&l| self.blocks.state[self.blocks.global(l, s as u32) as usize] == state)
                    .count()
            };
            let listed = set.free.len() + set.pool_free.len();
            if of_set(State::Free) != listed {
                return Err(format!("set {s}: {} free superblocks, {listed} listed", of_set(State::Free)));
            }
            let coming = set.coming + set.pool_coming;
            if of_set(State::Victim) != coming as usize {
                return Err(format!("set {s}: {} victims, {coming} counted", of_set(State::Victim)));
            }
            self.check_cache(s, of_set(State::Cached))?;
            let capacity = self.blocks.capacity(self.medium.layout());
            let closed = (0..self.blocks.per_set()).map(|l| self.blocks.global(l, s as u32) as usize);
            let closed = closed.filter(|&sb| self.blocks.state[sb] == State::Closed);
            let dead: u64 = closed.map(|sb| u64::from(capacity - self.blocks.valid[sb])).sum();
            if dead != set.dead {
                return Err(format!("set {s}: {dead} units are dead in closed superblocks, {} were counted", set.dead));
            }
            let open = set.open().count();
            if of_set(State::Open) != open {
                return Err(format!("set {s}: {} open superblocks, {open} frontiers", of_set(State::Open)));
            }
        }
        Ok(())
    }

    /// The SLC cache's own lists against the states and cell modes of their superblocks.
    fn check_cache(&self, s: usize, waiting: usize) -> Result<(), String> {
        let set = &self.sets[s];
        let native = |sb: u32| self.medium.pages(self.blocks.any_block(sb)) == self.medium.layout().pages;
        let mut pooled = 0;
        for (i, &sb) in set.cached.iter().enumerate() {
            let pool = self.blocks.in_pool(sb);
            let expected = if pool { State::Cached } else { State::Closed };
            if self.blocks.state[sb as usize] != expected || native(sb) || set.cached.iter().take(i).any(|&o| o == sb) {
                return Err(format!("set {s}: superblock {sb} is listed as cached but is not, or twice"));
            }
            pooled += usize::from(pool);
        }
        if pooled != waiting {
            return Err(format!("set {s}: {waiting} superblocks wait to be folded, {pooled} are listed"));
        }
        if let Some(&sb) = set.free.iter().find(|&&sb| self.blocks.in_pool(sb)) {
            return Err(format!("set {s}: superblock {sb} is set aside for the cache, but is free for all"));
        }
        match set
            .open()
            .find(|open| native(open.superblock) == set.slc.is_some_and(|f| f.superblock == open.superblock))
        {
            Some(open) => Err(format!("set {s}: open superblock {} is in the wrong cell mode", open.superblock)),
            None => Ok(()),
        }
    }
}
