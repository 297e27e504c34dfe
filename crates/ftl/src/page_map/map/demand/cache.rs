//! Which entries of the map are in DRAM: the least recently used leave first.

use ssdlab_nand::LogicalPage;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    lpn: LogicalPage,
    /// Towards the most and the least recently used.
    newer: u32,
    older: u32,
    /// The map page's epoch when the entry was last changed; [`NONE`]: never.
    changed: u32,
}

/// What a look at an entry led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    pub hit: bool,
    /// It was here, and had been changed here: it is known without its map page.
    pub was_changed: bool,
    /// A map page that must be written out, as a changed entry of it has left.
    pub flush: Option<u32>,
}

/// Least recently used first, over single entries. Writing out a map page takes all its changed entries along, which
/// stay as unchanged ones.
#[derive(Clone, Debug)]
pub struct Cache {
    entries: Vec<Entry>,
    room: u32,
    newest: u32,
    oldest: u32,
    /// By logical page: its entry, or [`NONE`].
    place: Vec<u32>,
    /// By map page: how often it has been written out. Entries that changed before are not changed any more.
    epoch: Vec<u32>,
    entries_per_page: u32,
}

impl Cache {
    /// Room for `entries` of a map of `logical_pages`, of which `entries_per_page` share a map page.
    #[must_use]
    pub fn new(entries: u32, logical_pages: u32, entries_per_page: u32) -> Self {
        Cache {
            entries: Vec::new(),
            room: entries.clamp(1, logical_pages),
            newest: NONE,
            oldest: NONE,
            place: vec![NONE; logical_pages as usize],
            epoch: vec![0; logical_pages.div_ceil(entries_per_page) as usize],
            entries_per_page,
        }
    }

    /// Forgets every entry; none counts as changed.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.place.fill(NONE);
        (self.newest, self.oldest) = (NONE, NONE);
    }

    /// Entries that share a map page.
    #[must_use]
    pub fn entries_per_page(&self) -> u32 {
        self.entries_per_page
    }

    #[inline]
    #[must_use]
    pub fn map_page(&self, lpn: LogicalPage) -> u32 {
        lpn.number() / self.entries_per_page
    }

    /// Looks an entry up, and changes it if `change` is set. One that was not here is here then, in place of the one
    /// that was used longest ago.
    pub fn touch(&mut self, lpn: LogicalPage, change: bool) -> Touched {
        let at = self.place[lpn.index()];
        let new = Touched { hit: false, was_changed: false, flush: None };
        let (at, touched) = if at != NONE {
            self.unlink(at);
            let was_changed = self.entries[at as usize].changed != NONE;
            (at, Touched { hit: true, was_changed, flush: None })
        } else if (self.entries.len() as u32) < self.room {
            self.entries.push(Entry { lpn, newer: NONE, older: NONE, changed: NONE });
            (self.entries.len() as u32 - 1, new)
        } else {
            let at = self.oldest;
            self.unlink(at);
            let leaves = self.entries[at as usize];
            self.place[leaves.lpn.index()] = NONE;
            self.entries[at as usize] = Entry { lpn, newer: NONE, older: NONE, changed: NONE };
            let page = self.map_page(leaves.lpn);
            let epoch = &mut self.epoch[page as usize];
            let flush = leaves.changed == *epoch;
            *epoch += u32::from(flush);
            (at, Touched { flush: flush.then_some(page), ..new })
        };
        self.place[lpn.index()] = at;
        if change {
            let epoch = self.epoch[self.map_page(lpn) as usize];
            self.entries[at as usize].changed = epoch;
        }
        self.link_newest(at);
        touched
    }

    fn unlink(&mut self, at: u32) {
        let Entry { newer, older, .. } = self.entries[at as usize];
        if newer == NONE {
            self.newest = older
        } else {
            self.entries[newer as usize].older = older
        }
        if older == NONE { self.oldest = newer } else { self.entries[older as usize].newer = newer }
    }

    fn link_newest(&mut self, at: u32) {
        let older = self.newest;
        let entry = &mut self.entries[at as usize];
        (entry.newer, entry.older) = (NONE, older);
        if older == NONE {
            self.oldest = at
        } else {
            self.entries[older as usize].newer = at
        }
        self.newest = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssdlab_core::Rng;

    /// The same by linear search: (entry, changed since its page was written out, changed at all), most recently used last.
    #[test]
    fn agrees_with_a_plain_list() {
        let mut rng = Rng::new(11);
        for (room, pages, per_page) in [(1, 40, 8), (5, 40, 8), (16, 40, 1), (40, 40, 16)] {
            let mut cache = Cache::new(room, pages, per_page);
            let mut plain: Vec<(u32, bool, bool)> = Vec::new();
            for _ in 0..4000 {
                let (lpn, change) = (rng.below(pages.into()) as u32, rng.chance(2, 3));
                let found = plain.iter().position(|e| e.0 == lpn);
                let mut entry = found.map_or((lpn, false, false), |at| plain.remove(at));
                let mut flush = None;
                if plain.len() as u32 == room {
                    let leaves = plain.remove(0);
                    if leaves.1 {
                        flush = Some(leaves.0 / per_page);
                        let same = |e: &&mut (u32, bool, bool)| e.0 / per_page == leaves.0 / per_page;
                        plain.iter_mut().filter(same).for_each(|e| e.1 = false);
                    }
                }
                let expected = Touched { hit: found.is_some(), was_changed: entry.2, flush };
                (entry.1, entry.2) = (entry.1 | change, entry.2 | change);
                plain.push(entry);
                assert_eq!(cache.touch(LogicalPage::new(lpn), change), expected);
            }
        }
    }
}
