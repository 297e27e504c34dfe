//! What was overwritten or trimmed, and could still come back after a power cut.
//!
//! The list grows at its young end with every change that may not be durable yet. A flush that has completed makes durable
//! what was written and answered before it was sent: everything older leaves the list. Of a page that was trimmed by then it
//! makes nothing durable, since many drives forget a trim in a cut, and find on flash what was there before: these
//! versions become *ghosts*, until a later write of the page is durable. The same holds for a page that was trimmed while the
//! flush was under way: the drive may have dropped the write before it came to flash.
//!
//! What is held is bounded, with what the list itself takes: beyond the limit the oldest go, ghosts first. A drive would have to keep data back for so many
//! bytes of later changes to bring one of these back; if it does, the page is unreadable, and that is counted.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::pages::{PAGE_BYTES, Page};
use crate::store::{Version, is_zero, page_of};

/// What took a version's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Write,
    Trim,
}

/// See the module's own page.
#[derive(Clone)]
pub struct Superseded {
    entries: VecDeque<(u32, Version, By)>,
    /// Number of the oldest entry, counted from the begin of time.
    first: u64,
    /// By number, the oldest first.
    ghosts: BTreeMap<u64, (u32, Version)>,
    /// Pages that have ghosts, and which.
    haunted: BTreeMap<u32, VecDeque<u64>>,
    /// Counts ghosts from the begin of time.
    next_ghost: u64,
    bytes: u64,
    limit_bytes: u64,
    /// Versions that went because of the limit.
    dropped: u64,
    /// Pages that were let go, and that nobody else shares: the next ones to be written. The allocator would give their memory
    /// back, and ask for it again.
    spare: Vec<Page>,
}

/// Pages that are kept to be written next.
const MOST_SPARE: usize = 1024;

/// How many entries ahead of the oldest it is asked for what is needed to let a page go.
const SOON: usize = 8;

/// What an entry takes besides its page, in a queue that doubles when it is full.
const ENTRY_BYTES: u64 = 2 * std::mem::size_of::<(u32, Version, By)>() as u64;

/// What a ghost takes besides its page: places in two maps whose nodes are half full, and memory of its page's own list.
const GHOST_BYTES: u64 = 2 * std::mem::size_of::<((u64, (u32, Version)), (u32, VecDeque<u64>))>() as u64 + 48;

fn page_bytes(version: &Version) -> u64 {
    if version.page.is_some() { PAGE_BYTES as u64 } else { 0 }
}

/// What was trimmed becomes a ghost with the next flush.
fn size(version: &Version, by: By) -> u64 {
    page_bytes(version) + if by == By::Trim { GHOST_BYTES } else { ENTRY_BYTES }
}

fn ghost_size(version: &Version) -> u64 {
    page_bytes(version) + GHOST_BYTES
}

impl Superseded {
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        Superseded {
            entries: VecDeque::new(),
            first: 0,
            ghosts: BTreeMap::new(),
            haunted: BTreeMap::new(),
            next_ghost: 0,
            bytes: 0,
            limit_bytes,
            dropped: 0,
            spare: Vec::new(),
        }
    }

    /// A page with these bytes, as [`page_of`] makes it, in the memory of one that was let go.
    pub fn page_of(&mut self, bytes: &[u8]) -> Option<Page> {
        if is_zero(bytes) {
            return None;
        }
        let Some(mut page) = self.spare.pop() else { return page_of(bytes) };
        page.overwrite(bytes);
        Some(page)
    }

    fn let_go(&mut self, version: Version) {
        if self.spare.len() < MOST_SPARE
            && let Some(mut page) = version.page
            && page.get_mut().is_some()
        {
            self.spare.push(page);
        }
    }

    /// A page is no longer what it was.
    pub fn push(&mut self, unit: u32, old: Version, by: By) {
        self.bytes += size(&old, by);
        self.entries.push_back((unit, old, by));
        self.keep_limit();
    }

    fn keep_limit(&mut self) {
        while self.bytes > self.limit_bytes && self.drop_oldest() {
            self.dropped += 1;
        }
    }

    fn drop_oldest(&mut self) -> bool {
        if let Some((_, (unit, version))) = self.ghosts.pop_first() {
            self.bytes -= ghost_size(&version);
            if let Some(ghosts) = self.haunted.get_mut(&unit) {
                ghosts.pop_front();
                if ghosts.is_empty() {
                    self.haunted.remove(&unit);
                }
            }
            self.let_go(version);
            return true;
        }
        let oldest = self.pop();
        let found = oldest.is_some();
        oldest.into_iter().for_each(|entry| self.let_go(entry.1));
        found
    }

    fn pop(&mut self) -> Option<(u32, Version, By)> {
        let entry = self.entries.pop_front()?;
        self.bytes -= size(&entry.1, entry.2);
        self.first += 1;
        if let Some((_, Version { page: Some(page), .. }, _)) = self.entries.get(SOON) {
            page.prefetch_sharers();
        }
        Some(entry)
    }

    /// Stands for everything that is in the list now.
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// A flush that was sent at the time of the mark has completed. `being_trimmed`: pages of trims under way.
    pub fn flushed(&mut self, mark: u64, being_trimmed: impl Fn(u32) -> bool) {
        let count = mark.saturating_sub(self.first).min(self.entries.len() as u64) as usize;
        // What each page was when the flush was sent: the last change counts. Any trim since then does, too.
        let mut trimmed = BTreeSet::new();
        for ((unit, _, by), k) in self.entries.iter().zip(0..) {
            if *by == By::Trim {
                trimmed.insert(*unit);
            } else if k < count && !trimmed.is_empty() {
                trimmed.remove(unit);
            }
        }
        for _ in 0..count {
            let Some((unit, version, _)) = self.pop() else { return };
            if trimmed.contains(&unit) || being_trimmed(unit) {
                self.haunt(unit, version);
            } else {
                self.durable(unit);
                self.let_go(version);
            }
        }
    }

    /// A version that may come back until a later write of the page is durable.
    pub fn haunt(&mut self, unit: u32, version: Version) {
        self.bytes += ghost_size(&version);
        self.ghosts.insert(self.next_ghost, (unit, version));
        self.haunted.entry(unit).or_default().push_back(self.next_ghost);
        self.next_ghost += 1;
        // It takes more than the entry that it was; entries alone are within the limit, so that only ghosts go.
        self.keep_limit();
    }

    /// All versions of these pages are of zeroes from now on.
    pub fn blank(&mut self, pages: &std::ops::Range<u32>) {
        let entries = self.entries.iter_mut().map(|entry| (entry.0, &mut entry.1));
        let ghosts = self.ghosts.values_mut().map(|ghost| (ghost.0, &mut ghost.1));
        for (_, version) in entries.chain(ghosts).filter(|version| pages.contains(&version.0)) {
            if version.page.take().is_some() {
                self.bytes -= PAGE_BYTES as u64;
            }
        }
    }

    /// The page's last write is durable: its ghosts cannot come back any more.
    pub fn durable(&mut self, unit: u32) {
        if self.haunted.is_empty() {
            return;
        }
        for ghost in self.haunted.remove(&unit).into_iter().flatten() {
            let (_, version) = self.ghosts.remove(&ghost).expect("it haunts the page");
            self.bytes -= ghost_size(&version);
            self.let_go(version);
        }
    }

    /// Empties the list; of each page the oldest first.
    pub fn take(&mut self) -> impl Iterator<Item = (u32, Version)> + use<> {
        self.first = self.mark();
        self.bytes = 0;
        self.haunted.clear();
        let ghosts = std::mem::take(&mut self.ghosts).into_values();
        ghosts.chain(std::mem::take(&mut self.entries).into_iter().map(|e| (e.0, e.1)))
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(number: u8) -> Version {
        Version { number, page: page_of(&[number; PAGE_BYTES]) }
    }

    fn taken(list: &mut Superseded) -> Vec<(u32, u8)> {
        list.take().map(|(unit, version)| (unit, version.number)).collect()
    }

    #[test]
    fn what_a_flush_has_made_durable_leaves_and_the_rest_stays() {
        let mut list = Superseded::new(1 << 20);
        list.push(1, Version::NOTHING, By::Write);
        let mark = list.mark();
        list.push(2, Version::NOTHING, By::Write);
        list.flushed(mark, |_| false);
        list.flushed(mark, |_| false);
        assert_eq!(taken(&mut list), [(2, 0)]);
        assert_eq!((list.bytes(), list.mark()), (0, 2));
    }

    #[test]
    fn what_was_trimmed_may_come_back_until_a_later_write_is_durable() {
        let mut list = Superseded::new(1 << 20);
        list.push(1, filled(1), By::Write);
        list.push(1, filled(2), By::Trim);
        list.push(2, filled(3), By::Trim);
        list.push(2, Version::NOTHING, By::Write);
        list.flushed(list.mark(), |_| false);
        assert_eq!(taken(&mut list.clone()), [(1, 1), (1, 2)], "page 2 was written after its trim");
        list.push(1, Version::NOTHING, By::Write);
        assert_eq!(taken(&mut list.clone()), [(1, 1), (1, 2), (1, 0)], "not durable yet");
        list.flushed(list.mark(), |_| false);
        assert_eq!(list.bytes(), 0, "nothing of them is kept");
        assert_eq!(taken(&mut list), []);
    }

    #[test]
    fn a_flush_makes_nothing_durable_of_a_page_that_is_trimmed_meanwhile() {
        let mut list = Superseded::new(1 << 20);
        (1..4).for_each(|unit| list.push(unit, filled(1), By::Write));
        let mark = list.mark();
        list.push(1, filled(2), By::Trim);
        list.flushed(mark, |unit| unit == 2);
        assert_eq!(taken(&mut list), [(1, 1), (2, 1), (1, 2)]);
    }

    #[test]
    fn the_memory_of_what_was_let_go_is_used_again_unless_somebody_shares_it() {
        let mut list = Superseded::new(ENTRY_BYTES + 4096);
        let (first, second) = (filled(1), filled(2));
        let (shared, place) = (first.clone(), second.page.as_ref().unwrap().as_ptr());
        list.push(1, first, By::Write);
        list.push(2, second, By::Write);
        list.push(3, filled(3), By::Write);
        let again = list.page_of(&[4; PAGE_BYTES]).unwrap();
        assert_eq!((again.as_ptr(), *again), (place, [4; PAGE_BYTES]));
        assert_ne!(list.page_of(&[5; PAGE_BYTES]).unwrap().as_ptr(), shared.page.as_ref().unwrap().as_ptr());
        assert_eq!((shared, list.page_of(&[0; PAGE_BYTES])), (filled(1), None));
    }

    #[test]
    fn the_oldest_go_when_the_list_is_full() {
        let mut list = Superseded::new(2 * (ENTRY_BYTES + 4096) + GHOST_BYTES + 4096);
        for unit in 0..5 {
            list.push(unit, filled(1), if unit == 2 { By::Trim } else { By::Write });
        }
        assert_eq!(list.dropped(), 2);
        list.flushed(list.mark(), |_| false);
        (5..8).for_each(|unit| list.push(unit, filled(1), By::Write));
        assert_eq!((list.dropped(), taken(&mut list)), (3, vec![(5, 1), (6, 1), (7, 1)]));
    }

    /// Pages of zeroes take none, but what is kept of them does.
    #[test]
    fn what_is_kept_of_trimmed_zeroes_is_within_the_limit_before_and_after_a_flush() {
        // As a counting allocator has it, in order of addresses.
        const MEASURED_GHOST_BYTES: u64 = 186;
        let limit = 1 << 20;
        let mut list = Superseded::new(limit);
        let zeroes = Version { number: 1, page: None };
        for by in [By::Trim, By::Write] {
            (0..100_000).for_each(|unit| list.push(unit, zeroes.clone(), by));
        }
        (0..1000).for_each(|unit| list.push(unit, zeroes.clone(), By::Trim));
        for _ in 0..2 {
            let ghosts = list.ghosts.len() as u64;
            let entries = list.entries.capacity() * std::mem::size_of::<(u32, Version, By)>();
            assert!(ghosts * MEASURED_GHOST_BYTES <= limit && entries as u64 <= limit && list.bytes() <= limit);
            list.flushed(list.mark(), |_| true);
        }
        assert!(list.ghosts.len() as u64 * 2 * GHOST_BYTES > limit, "as many are kept as there is room for");
        list.take().for_each(drop);
        assert_eq!(list.bytes(), 0);
    }
}
