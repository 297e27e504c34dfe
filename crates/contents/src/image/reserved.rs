//! What the firmware of a drive keeps for itself, outside of the host's addresses: passwords, ranges and tables of a drive that
//! can be locked.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::pages::PAGE_BYTES;
use crate::store::is_zero;

/// Numbers of these pages for the media key, and for nothing else: behind those of every device.
pub const FIRST_DATA_UNIT: u64 = 1 << 32;

/// A page, or `None` for zeroes.
pub type ReservedPage = (u32, Option<Vec<u8>>);

/// Pages by number. Pages of zeroes are not held.
#[derive(Clone, Debug, Default)]
pub struct Reserved {
    pages: BTreeMap<u32, Vec<u8>>,
}

impl Reserved {
    /// # Panics
    /// If it is no page.
    pub fn set(&mut self, number: u32, bytes: Option<&[u8]>) {
        match bytes.filter(|bytes| !is_zero(bytes)) {
            Some(bytes) => {
                assert_eq!(bytes.len(), PAGE_BYTES, "bytes of a page");
                self.pages.insert(number, bytes.to_vec());
            }
            None => drop(self.pages.remove(&number)),
        }
    }

    /// These are zeroes now, however many they are.
    pub fn remove(&mut self, numbers: Range<u32>) {
        if numbers.start < numbers.end {
            let there: Vec<u32> = self.pages.range(numbers).map(|page| *page.0).collect();
            there.iter().for_each(|number| drop(self.pages.remove(number)));
        }
    }

    /// All of them, in order.
    pub fn pages(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.pages.iter().map(|(&number, bytes)| (number, bytes.as_slice()))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of 32 bytes can say that all of them are zeroes.
    #[test]
    fn pages_that_are_not_there_are_removed_at_once() {
        let mut reserved = Reserved::default();
        [3, 5, u32::MAX].iter().for_each(|&number| reserved.set(number, Some(&[1; PAGE_BYTES])));
        (0..100_000).for_each(|_| reserved.remove(4..u32::MAX));
        assert_eq!(reserved.pages().map(|page| page.0).collect::<Vec<_>>(), [3, u32::MAX]);
        reserved.remove(9..9);
        assert_eq!(reserved.len(), 2);
    }
}
