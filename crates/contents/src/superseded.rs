//! What was overwritten or trimmed, and could still come back after a power cut.
//!
//! The list grows at its young end with every change that may not be durable yet. A flush that has completed makes durable
//! whatever was answered before it was sent: everything older than that leaves the list. What the list holds is bounded:
//! beyond [`Superseded::limit_bytes`] of pages its oldest entries go. A drive would have to keep data back for so many
//! bytes of later writes to bring one of these back; if it does, the page is unreadable, and that is counted.

use std::collections::VecDeque;

use crate::store::{PAGE_BYTES, Version};

/// See the module's own page.
#[derive(Clone)]
pub struct Superseded {
    entries: VecDeque<(u32, Version)>,
    /// Number of the oldest entry, counted from the begin of time.
    first: u64,
    bytes: u64,
    limit_bytes: u64,
    /// Entries that went because of the limit.
    dropped: u64,
}

/// What an entry takes besides its page.
const ENTRY_BYTES: u64 = std::mem::size_of::<(u32, Version)>() as u64;

fn size(version: &Version) -> u64 {
    ENTRY_BYTES + if version.page.is_some() { PAGE_BYTES as u64 } else { 0 }
}

impl Superseded {
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        Superseded { entries: VecDeque::new(), first: 0, bytes: 0, limit_bytes, dropped: 0 }
    }

    /// A page is no longer what it was.
    pub fn push(&mut self, unit: u32, old: Version) {
        self.bytes += size(&old);
        self.entries.push_back((unit, old));
        while self.bytes > self.limit_bytes {
            self.pop();
            self.dropped += 1;
        }
    }

    fn pop(&mut self) {
        if let Some((_, version)) = self.entries.pop_front() {
            self.bytes -= size(&version);
            self.first += 1;
        }
    }

    /// Stands for everything that is in the list now.
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// What was in the list at the time of the mark cannot come back.
    pub fn forget_before(&mut self, mark: u64) {
        while self.first < mark && !self.entries.is_empty() {
            self.pop();
        }
    }

    /// Empties the list; oldest first.
    pub fn take(&mut self) -> impl Iterator<Item = (u32, Version)> + use<> {
        self.first = self.mark();
        self.bytes = 0;
        std::mem::take(&mut self.entries).into_iter()
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
    use crate::store::page_of;

    #[test]
    fn what_a_flush_has_made_durable_leaves_and_the_rest_stays() {
        let mut list = Superseded::new(1 << 20);
        list.push(1, Version::NOTHING);
        let mark = list.mark();
        list.push(2, Version::NOTHING);
        list.forget_before(mark);
        list.forget_before(mark);
        assert_eq!(list.take().map(|(unit, _)| unit).collect::<Vec<_>>(), [2]);
        assert_eq!((list.bytes(), list.mark()), (0, 2));
    }

    #[test]
    fn the_oldest_go_when_the_list_is_full() {
        let mut list = Superseded::new(3 * (ENTRY_BYTES + 4096));
        for unit in 0..5 {
            list.push(unit, Version { number: 1, page: page_of(&[1; PAGE_BYTES]) });
        }
        assert_eq!(list.dropped(), 2);
        assert_eq!(list.take().map(|(unit, _)| unit).collect::<Vec<_>>(), [2, 3, 4]);
    }
}
