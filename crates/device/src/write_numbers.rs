//! How often each 4 KiB of a device have been written: for devices with a plug that keep nothing else of each place.
//!
//! Numbers are those of [`crate::Held::Write`]: from 1 to a greatest, then from 1 again. What was written
//! in one go takes next to no memory.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Units of a chunk, whose numbers are often the same.
const CHUNK: u32 = 4096;

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Chunk {
    Same(u8),
    Each(Vec<u8>),
}

/// See the module's own page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WriteNumbers {
    chunks: Vec<Chunk>,
    /// Units whose numbers have begun anew.
    wrapped: BTreeSet<u32>,
    greatest: u8,
}

impl WriteNumbers {
    /// For so many times 4 KiB, none of which was ever written.
    #[must_use]
    pub fn new(units: u32, greatest: u8) -> Self {
        WriteNumbers {
            chunks: vec![Chunk::Same(0); units.div_ceil(CHUNK) as usize],
            wrapped: BTreeSet::new(),
            greatest,
        }
    }

    #[must_use]
    pub fn greatest(&self) -> u8 {
        self.greatest
    }

    /// Whether this is of a device with as many units, and every number one that a write can have.
    #[must_use]
    pub fn is_shaped_like(&self, other: &WriteNumbers) -> bool {
        let sound = |chunk: &Chunk| match chunk {
            Chunk::Same(number) => *number <= self.greatest,
            Chunk::Each(each) => each.len() == CHUNK as usize && each.iter().all(|number| *number <= self.greatest),
        };
        let known = |&unit: &u32| ((unit / CHUNK) as usize) < self.chunks.len();
        self.greatest == other.greatest
            && self.chunks.len() == other.chunks.len()
            && self.chunks.iter().all(sound)
            && self.wrapped.iter().all(known)
    }

    /// The number of the last write; 0: there was none.
    #[must_use]
    pub fn of(&self, unit: u32) -> u8 {
        match &self.chunks[(unit / CHUNK) as usize] {
            Chunk::Same(number) => *number,
            Chunk::Each(each) => each[(unit % CHUNK) as usize],
        }
    }

    /// The number of so many writes before the last one; 0: there was none.
    #[must_use]
    pub fn before(&self, unit: u32, writes: u32) -> u8 {
        let (last, greatest) = (u32::from(self.of(unit)), u32::from(self.greatest));
        if writes < last {
            return (last - writes) as u8;
        }
        let wrapped = self.wrapped.contains(&unit);
        if wrapped { ((last + greatest - 1 - writes % greatest) % greatest + 1) as u8 } else { 0 }
    }

    /// These units are written once more.
    pub fn count(&mut self, units: Range<u32>) {
        let (mut at, greatest) = (units.start, self.greatest);
        while at < units.end {
            let (k, begin) = (at / CHUNK, at % CHUNK);
            let end = CHUNK.min(units.end - k * CHUNK);
            let chunk = &mut self.chunks[k as usize];
            match chunk {
                Chunk::Same(number) if begin == 0 && end == CHUNK && *number < greatest => *number += 1,
                _ => {
                    let each = chunk.each();
                    for (number, place) in each[begin as usize..end as usize].iter_mut().zip(at..) {
                        if *number == greatest {
                            self.wrapped.insert(place);
                            *number = 0;
                        }
                        *number += 1;
                    }
                    if end == CHUNK && each.iter().all(|number| *number == each[0]) {
                        *chunk = Chunk::Same(each[0]);
                    }
                }
            }
            at = k * CHUNK + end;
        }
    }

    /// From now on the last write of a unit counts as this one; 0: as if it had never been written.
    pub fn set(&mut self, unit: u32, number: u8) {
        if number == 0 {
            self.wrapped.remove(&unit);
        }
        self.chunks[(unit / CHUNK) as usize].each()[(unit % CHUNK) as usize] = number;
    }
}

impl Chunk {
    fn each(&mut self) -> &mut Vec<u8> {
        if let Chunk::Same(number) = *self {
            *self = Chunk::Each(vec![number; CHUNK as usize]);
        }
        match self {
            Chunk::Each(each) => each,
            Chunk::Same(_) => unreachable!("it was changed a moment ago"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_counted_from_one_and_begin_anew() {
        let mut numbers = WriteNumbers::new(3 * CHUNK, 255);
        numbers.count(0..3 * CHUNK);
        numbers.count(CHUNK - 1..2 * CHUNK + 1);
        assert_eq!(
            [0, CHUNK - 2, CHUNK - 1, CHUNK, 2 * CHUNK, 2 * CHUNK + 1].map(|unit| numbers.of(unit)),
            [1, 1, 2, 2, 2, 1]
        );
        assert_eq!([0, 1, 2, 9].map(|writes| numbers.before(CHUNK, writes)), [2, 1, 0, 0]);
        (0..254).for_each(|_| numbers.count(5..6));
        assert_eq!((numbers.of(5), numbers.before(5, 254), numbers.before(5, 255)), (255, 1, 0));
        numbers.count(5..7);
        assert_eq!((numbers.of(5), numbers.of(6)), (1, 2));
        assert_eq!([1, 2, 255, 256].map(|writes| numbers.before(5, writes)), [255, 254, 1, 255]);
        numbers.set(5, 200);
        assert_eq!((numbers.of(5), numbers.of(4)), (200, 1));
        numbers.set(5, 0);
        numbers.count(5..6);
        assert_eq!((numbers.of(5), numbers.before(5, 1)), (1, 0), "nothing was there before");
    }

    #[test]
    fn numbers_that_no_write_has_are_not_of_such_a_device() {
        let own = WriteNumbers::new(2 * CHUNK, 7);
        assert!(own.clone().is_shaped_like(&own));
        let spoil: [fn(&mut WriteNumbers); 5] = [
            |n| n.chunks[1] = Chunk::Same(8),
            |n| n.set(5, 8),
            |n| n.chunks[0] = Chunk::Each(vec![1; 5]),
            |n| n.chunks.push(Chunk::Same(0)),
            |n| _ = n.wrapped.insert(2 * CHUNK),
        ];
        for spoil in spoil {
            let mut numbers = own.clone();
            spoil(&mut numbers);
            assert!(!numbers.is_shaped_like(&own), "{:?}", numbers.chunks.len());
        }
    }

    #[test]
    fn what_was_written_in_one_go_takes_no_memory_for_each() {
        let mut numbers = WriteNumbers::new(2 * CHUNK, 255);
        (0..2 * CHUNK).step_by(256).for_each(|unit| numbers.count(unit..unit + 256));
        assert!(numbers.chunks.iter().all(|chunk| matches!(chunk, Chunk::Same(1))));
    }
}
