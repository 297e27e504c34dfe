//! Small sets of numbers below 512: dies of a drive, or its collection domains, of which there is at most one a die.
//!
//! Drives of up to 64 dies, which is most, need one word; the others pay for what they have.

/// Words beyond the first.
const HIGH_WORDS: usize = 7;
/// Numbers that a set can hold.
pub const MAX_DIES: u32 = 64 * (HIGH_WORDS as u32 + 1);

/// See the module's own page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DieSet {
    low: u64,
    /// Numbers from 64 on; absent where there can be none.
    high: Option<Box<[u64; HIGH_WORDS]>>,
}

impl DieSet {
    /// An empty set with room for the numbers below `count`.
    ///
    /// # Panics
    /// If that is more than [`MAX_DIES`].
    #[must_use]
    pub fn with_room(count: u32) -> Self {
        assert!(count <= MAX_DIES, "{count} dies; {MAX_DIES} are the most");
        DieSet { low: 0, high: (count > 64).then(|| Box::new([0; HIGH_WORDS])) }
    }

    /// All numbers below `count`.
    #[must_use]
    pub fn all(count: u32) -> Self {
        let mut set = Self::with_room(count);
        (0..count).for_each(|n| set.insert(n));
        set
    }

    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.low == 0 && (self.high.is_none() || self.high_is_empty())
    }

    #[cold]
    fn high_is_empty(&self) -> bool {
        self.high.as_ref().is_none_or(|high| high.iter().all(|&word| word == 0))
    }

    #[inline]
    #[must_use]
    pub fn contains(&self, n: u32) -> bool {
        if n < 64 { self.low >> n & 1 != 0 } else { self.high_word(n) >> (n % 64) & 1 != 0 }
    }

    #[cold]
    fn high_word(&self, n: u32) -> u64 {
        self.high.as_ref().map_or(0, |high| high[n as usize / 64 - 1])
    }

    #[inline]
    pub fn insert(&mut self, n: u32) {
        if n < 64 {
            self.low |= 1 << n;
        } else {
            self.change_high(n, true);
        }
    }

    #[inline]
    pub fn remove(&mut self, n: u32) {
        if n < 64 {
            self.low &= !(1 << n);
        } else {
            self.change_high(n, false);
        }
    }

    /// Makes `n` a member, or not.
    #[inline]
    pub fn set(&mut self, n: u32, member: bool) {
        if n < 64 {
            self.low = self.low & !(1 << n) | u64::from(member) << n;
        } else {
            self.change_high(n, member);
        }
    }

    #[cold]
    fn change_high(&mut self, n: u32, member: bool) {
        let high = self.high.get_or_insert_with(|| Box::new([0; HIGH_WORDS]));
        let word = &mut high[n as usize / 64 - 1];
        *word = *word & !(1 << (n % 64)) | u64::from(member) << (n % 64);
    }

    /// The least member.
    #[inline]
    #[must_use]
    pub fn first(&self) -> Option<u32> {
        if self.low != 0 {
            return Some(self.low.trailing_zeros());
        }
        match &self.high {
            None => None,
            Some(high) => Self::first_of(high.as_slice(), 0),
        }
    }

    #[cold]
    fn first_of(high: &[u64], from: usize) -> Option<u32> {
        let at = (from..high.len()).find(|&at| high[at] != 0)?;
        Some(64 * (at as u32 + 1) + high[at].trailing_zeros())
    }

    /// Takes the least member out.
    #[inline]
    pub fn pop_first(&mut self) -> Option<u32> {
        if self.high.is_none() {
            if self.low == 0 {
                return None;
            }
            let n = self.low.trailing_zeros();
            self.low &= self.low - 1;
            return Some(n);
        }
        let n = self.first()?;
        self.remove(n);
        Some(n)
    }

    /// Takes the members below 64 out, one bit each; whether others are left tells [`DieSet::is_empty`].
    #[inline]
    #[must_use]
    pub fn take_low(&mut self) -> u64 {
        std::mem::take(&mut self.low)
    }

    /// Adds members below 64, one bit each.
    #[inline]
    pub fn insert_low(&mut self, members: u64) {
        self.low |= members;
    }

    /// The members in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let words = std::iter::once(self.low).chain(self.high.iter().flat_map(|high| high.iter().copied()));
        words
            .zip(0u32..)
            .flat_map(|(word, k)| (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| 64 * k + bit))
    }

    /// Whether a number is in this set and in `other`.
    #[inline]
    #[must_use]
    pub fn meets(&self, other: &DieSet) -> bool {
        self.low & other.low != 0 || self.high.is_some() && self.next_of_many(other, 0).is_some()
    }

    /// The first number from `from` on, and failing that the first of all, that is in this set and in `other`.
    #[inline]
    #[must_use]
    pub fn next_in_both(&self, other: &DieSet, from: u32) -> Option<u32> {
        if self.high.is_some() {
            return self.next_of_many(other, from);
        }
        let both = self.low & other.low;
        let later = both & (u64::MAX << (from & 63));
        let choice = if later != 0 { later } else { both };
        (choice != 0).then(|| choice.trailing_zeros())
    }

    #[cold]
    fn next_of_many(&self, other: &DieSet, from: u32) -> Option<u32> {
        let both = || self.iter().filter(|&n| other.contains(n));
        both().find(|&n| n >= from).or_else(|| both().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_a_plain_set_below_and_beyond_one_word() {
        let mut rng = Rng::new(4);
        for count in [1, 2, 63, 64, 65, 512, MAX_DIES] {
            let (mut sets, mut plain) =
                ([DieSet::with_room(count), DieSet::with_room(count)], [BTreeSet::new(), BTreeSet::new()]);
            for _ in 0..2000 {
                let (k, n) = (rng.below(2) as usize, rng.below(count.into()) as u32);
                match rng.below(5) {
                    0 | 1 => {
                        sets[k].insert(n);
                        plain[k].insert(n);
                    }
                    2 => {
                        sets[k].remove(n);
                        plain[k].remove(&n);
                    }
                    3 => {
                        let member = rng.chance(1, 2);
                        sets[k].set(n, member);
                        if member {
                            plain[k].insert(n)
                        } else {
                            plain[k].remove(&n)
                        };
                    }
                    _ if rng.chance(1, 20) => {
                        let low = sets[k].take_low();
                        assert!(sets[k].iter().eq(plain[k].iter().copied().filter(|&n| n >= 64)));
                        sets[k].insert_low(low);
                    }
                    _ => assert_eq!(sets[k].pop_first(), plain[k].pop_first()),
                }
                assert_eq!((sets[k].contains(n), sets[k].is_empty()), (plain[k].contains(&n), plain[k].is_empty()));
                assert_eq!(sets[k].first(), plain[k].first().copied());
                assert!(sets[k].iter().eq(plain[k].iter().copied()));
                let both: Vec<u32> = plain[0].intersection(&plain[1]).copied().collect();
                let next = both.iter().copied().find(|&m| m >= n).or(both.first().copied());
                assert_eq!(sets[0].next_in_both(&sets[1], n), next);
                assert_eq!(sets[0].meets(&sets[1]), next.is_some());
            }
            assert_eq!(DieSet::all(count).iter().count() as u32, count);
        }
    }
}
