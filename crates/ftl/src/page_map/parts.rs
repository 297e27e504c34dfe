//! Units in the write buffer of which the host has written some sectors only: the others are still to be read from flash.
//!
//! Such a unit waits for more sectors as long as it can. All of them make it whole without a read. Its read is asked for
//! once a row would take it, a flush waits for it, or the host reads what is missing. Where the unit came last, it is
//! left out of account until the next one comes or the buffer is full: a run of neighbours in small pieces costs no
//! reads. A row goes to its die when all of its units are whole.

use std::collections::BTreeMap;

use ssdlab_core::SECTOR_BYTES;
use ssdlab_nand::UnitAddress;

use crate::spec::STREAMS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing has been asked for.
    Waiting,
    /// A piece of the map is read first.
    LoadsMap,
    /// The rest is read from this unit of flash.
    Reading(UnitAddress),
}

/// A unit that is not whole.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Sectors that the host has written, one bit each.
    pub present: u64,
    /// Write number of the copy on flash.
    pub base: u8,
    pub state: State,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Parts {
    /// All sectors of a unit, one bit each.
    whole: u64,
    /// By slot of the write buffer.
    parts: BTreeMap<u32, Part>,
    /// By stream: units, by their number in the ring, up to which the reads have been asked for since there was any such unit.
    /// Numbers begin anew after 2^32: none is kept while every unit is whole.
    asked: [Option<u32>; STREAMS as usize],
}

impl Parts {
    /// None, of units of so many bytes.
    ///
    /// # Panics
    /// If a unit has more than 64 sectors.
    #[must_use]
    pub fn of_units(unit_bytes: u32) -> Self {
        let sectors = u64::from(unit_bytes) / SECTOR_BYTES;
        assert!((1..=64).contains(&sectors), "units of {sectors} sectors");
        Parts { whole: u64::MAX >> (64 - sectors), parts: BTreeMap::new(), asked: [None; STREAMS as usize] }
    }

    /// Sectors that are missing where only these are present.
    #[must_use]
    pub fn missing(&self, part: &Part) -> u64 {
        self.whole & !part.present
    }

    /// Whether every unit in the buffer is whole.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Units that are not whole.
    #[must_use]
    pub fn units(&self) -> u32 {
        self.parts.len() as u32
    }

    /// Sectors of a unit have come, all in all those of `part`.
    pub fn set(&mut self, at: u32, part: Part) {
        if self.missing(&part) == 0 {
            self.parts.remove(&at);
        } else {
            if self.parts.is_empty() {
                self.asked = [None; STREAMS as usize];
            }
            self.parts.insert(at, part);
        }
    }

    /// A unit is whole, or not wanted any more.
    pub fn complete(&mut self, at: u32) {
        self.parts.remove(&at);
    }

    #[must_use]
    pub fn get(&self, at: u32) -> Option<&Part> {
        self.parts.get(&at)
    }

    pub fn set_state(&mut self, at: u32, state: State) {
        if let Some(part) = self.parts.get_mut(&at) {
            part.state = state;
        }
    }

    #[must_use]
    pub fn is_whole(&self, at: u32) -> bool {
        !self.parts.contains_key(&at)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Part)> {
        self.parts.iter().map(|(&at, part)| (at, part))
    }

    /// The reads of a stream's units up to number `to` are asked for now. Returns the first number not asked for before;
    /// `head`: the unit in front.
    pub fn ask_to(&mut self, stream: u8, head: u32, to: u32) -> u32 {
        let asked = &mut self.asked[stream as usize];
        let from = asked.filter(|asked| asked.wrapping_sub(head).cast_signed() >= 0).unwrap_or(head);
        if to.wrapping_sub(from).cast_signed() > 0 {
            *asked = Some(to);
        }
        from
    }

    pub fn clear(&mut self) {
        self.parts.clear();
    }

    /// The power went: units are numbered anew.
    pub fn forget(&mut self) {
        self.parts.clear();
        self.asked = [None; STREAMS as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_long_ago_is_asked_for_again() {
        let mut parts = Parts::of_units(4096);
        let part = Part { present: 1, base: 1, state: State::Waiting };
        parts.set(3, part);
        assert_eq!((parts.ask_to(0, 10, 14), parts.ask_to(0, 10, 16)), (10, 14));
        parts.complete(3);
        // Three thousand million whole units later.
        let head = 3_000_000_000;
        parts.set(3, part);
        assert_eq!((parts.ask_to(0, head, head + 4), parts.ask_to(0, head, head + 4)), (head, head + 4));
    }

    #[test]
    fn a_unit_is_whole_once_all_sectors_have_come() {
        let mut parts = Parts::of_units(4096);
        let part = |present| Part { present, base: 1, state: State::Waiting };
        parts.set(3, part(1));
        assert!(!parts.is_empty() && !parts.is_whole(3) && parts.is_whole(4));
        parts.set(3, part(0b0111_1111));
        assert_eq!(parts.get(3).map(|part| part.present), Some(0b0111_1111));
        parts.set(3, part(0xFF));
        assert!(parts.is_whole(3) && parts.is_empty());
    }

    #[test]
    fn a_read_is_asked_for_once_also_where_the_numbers_begin_anew() {
        let mut parts = Parts::of_units(4096);
        let head = u32::MAX - 1;
        parts.asked[0] = Some(head);
        assert_eq!(parts.ask_to(0, head, head.wrapping_add(4)), head);
        assert_eq!(parts.ask_to(0, head, head.wrapping_add(6)), 2);
        assert_eq!(parts.ask_to(0, head, 0), 4);
        assert_eq!(parts.ask_to(0, 9, 12), 9, "what has gone out meanwhile was whole");
    }
}
