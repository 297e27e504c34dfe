//! Which writes of 4 KiB have which of their sectors: what is left of them when some sectors are lost.

use std::ops::Range;

use crate::device::Held;
use crate::write_numbers::WriteNumbers;

/// Sectors of a unit.
const SECTORS: usize = 8;

/// By sector: the last write that has it, counted from 1 since the history began; 0: what was there before.
pub type Sectors = [u32; SECTORS];

/// The writes of one unit since some moment. See the module's own page.
#[derive(Clone, Debug, Default)]
pub struct UnitWrites {
    /// By write: its sectors, one bit each.
    covers: Vec<u8>,
    newest: Sectors,
}

impl UnitWrites {
    /// Of sectors of the device those that lie in a unit, counted from its first.
    #[must_use]
    pub fn within(unit: u32, sectors: &Range<u64>) -> Range<usize> {
        let first = u64::from(unit) * SECTORS as u64;
        let place = |sector: u64| (sector.clamp(first, first + SECTORS as u64) - first) as usize;
        place(sectors.start)..place(sectors.end)
    }

    /// Units that sectors of the device lie in.
    #[must_use]
    pub fn units(sectors: &Range<u64>) -> Range<u32> {
        (sectors.start / SECTORS as u64) as u32..sectors.end.div_ceil(SECTORS as u64) as u32
    }

    /// Sectors are written; `goes_on`: by the same command as the last ones.
    pub fn written(&mut self, sectors: Range<usize>, goes_on: bool) {
        if !goes_on || self.covers.is_empty() {
            self.covers.push(0);
        }
        let write = self.covers.len();
        for sector in sectors {
            self.covers[write - 1] |= 1 << sector;
            self.newest[sector] = write as u32;
        }
    }

    /// What all writes have left.
    #[must_use]
    pub fn newest(&self) -> Sectors {
        self.newest
    }

    /// What a sector would hold after so many writes: the last of them that has it.
    fn after(&self, writes: usize, sector: usize) -> u32 {
        let last = self.covers[..writes].iter().rposition(|covers| covers >> sector & 1 == 1);
        last.map_or(0, |k| k as u32 + 1)
    }

    /// What the unit holds if its sectors hold these, and what each of them holds: the newest write that has left it so.
    /// `numbers`: with all writes counted.
    #[must_use]
    pub fn held(&self, there: Sectors, unit: u32, numbers: &WriteNumbers) -> (Held, [Held; SECTORS]) {
        let writes = self.covers.len();
        let held = |write: usize| match numbers.before(unit, (writes - write) as u32) {
            0 => Held::Nothing,
            number => Held::Write(number),
        };
        let is = |write: &usize| (0..SECTORS).all(|sector| self.after(*write, sector) == there[sector]);
        if let Some(write) = (0..=writes).rev().find(is) {
            return (held(write), [held(write); SECTORS]);
        }
        let newest = there.iter().copied().max().unwrap_or(0) as usize;
        // Of writes after which a sector holds the same, the newest: what a flush had covered may be known no longer by the
        // writes before it.
        let of = |sector: usize| (0..=newest).rev().find(|&write| self.after(write, sector) == there[sector]);
        let sectors = std::array::from_fn(|sector| held(of(sector).unwrap_or(0)));
        (Held::Mixed(numbers.before(unit, (writes - newest) as u32)), sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_as_a_write_has_left_it_or_mixed() {
        let mut numbers = WriteNumbers::new(1, 255);
        let mut unit = UnitWrites::default();
        for sectors in [0..8, 2..4, 6..7] {
            unit.written(sectors, false);
            numbers.count(0..1);
        }
        assert_eq!(unit.newest(), [1, 1, 2, 2, 1, 1, 3, 1]);
        let held = |there| unit.held(there, 0, &numbers).0;
        assert_eq!(held(unit.newest()), Held::Write(3));
        assert_eq!(
            [held([1; 8]), held([1, 1, 2, 2, 1, 1, 1, 1]), held([0; 8])],
            [Held::Write(1), Held::Write(2), Held::Nothing]
        );
        let (held, sectors) = unit.held([1, 1, 1, 1, 1, 1, 3, 0], 0, &numbers);
        assert_eq!(
            (held, sectors[2], sectors[6], sectors[7]),
            (Held::Mixed(3), Held::Write(1), Held::Write(3), Held::Nothing)
        );
        // No later write has it.
        assert_eq!(sectors[0], Held::Write(3));
    }
}
