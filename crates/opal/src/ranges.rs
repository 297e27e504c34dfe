//! Locking ranges: where they may lie, what of the drive changes hands when they move, and who may read and write.

use std::ops::Range as Lbas;

use crate::memory::{Locking, RANGES};
use crate::object::Geometry;
use crate::status::Status;

/// Whether the ranges may lie where they do.
///
/// # Errors
/// [`Status::InvalidParameter`] if one does not begin and end at multiples of the drive's alignment, ends behind the drive's
/// last sector, or has sectors of another.
pub fn check(locking: &Locking, geometry: Geometry) -> Result<(), Status> {
    let ranges = &locking.ranges[1..];
    for (k, range) in ranges.iter().enumerate() {
        let end = range.first_lba.checked_add(range.lbas).ok_or(Status::InvalidParameter)?;
        let aligned = [range.first_lba, range.lbas].iter().all(|lba| lba.is_multiple_of(geometry.alignment_sectors));
        if end > geometry.sectors || !aligned {
            return Err(Status::InvalidParameter);
        }
        let overlaps = |other: &crate::memory::Range| range.first_lba < other.end_lba() && other.first_lba < end;
        if range.lbas > 0 && ranges[..k].iter().any(|other| other.lbas > 0 && overlaps(other)) {
            return Err(Status::InvalidParameter);
        }
    }
    Ok(())
}

/// The drive cut into pieces, each of one range: the pieces, and the range of each.
fn pieces(locking: &Locking, sectors: u64) -> Vec<(Lbas<u64>, usize)> {
    let mut ends: Vec<u64> = locking.ranges[1..].iter().flat_map(|range| [range.first_lba, range.end_lba()]).collect();
    ends.extend([0, sectors]);
    ends.sort_unstable();
    ends.dedup();
    ends.windows(2).map(|pair| (pair[0]..pair[1], locking.range_of(pair[0]))).collect()
}

/// The sectors of a range.
#[must_use]
pub fn sectors_of(locking: &Locking, range: usize, sectors: u64) -> Vec<Lbas<u64>> {
    pieces(locking, sectors).into_iter().filter(|piece| piece.1 == range).map(|piece| piece.0).collect()
}

/// The sectors that have another range, and so another key, than before: what they held can no longer be read.
#[must_use]
pub fn moved(before: &Locking, after: &Locking, sectors: u64) -> Vec<Lbas<u64>> {
    let mut moved: Vec<Lbas<u64>> = Vec::new();
    for (piece, range) in pieces(before, sectors) {
        for (other, now) in pieces(after, sectors) {
            let both = piece.start.max(other.start)..piece.end.min(other.end);
            if both.is_empty() || now == range {
                continue;
            }
            match moved.last_mut() {
                Some(last) if last.end == both.start => last.end = both.end,
                _ => moved.push(both),
            }
        }
    }
    moved
}

/// Whether a command may touch these sectors.
#[must_use]
pub fn refused(locking: &Locking, first_lba: u64, lbas: u64, writes: bool) -> bool {
    let refuses = |range: &crate::memory::Range| if writes { range.writes_refused() } else { range.reads_refused() };
    let end = first_lba + lbas;
    let mut others = 0;
    for range in &locking.ranges[1..=RANGES] {
        let both = range.end_lba().min(end).saturating_sub(range.first_lba.max(first_lba));
        if both > 0 && refuses(range) {
            return true;
        }
        others += both;
    }
    others < lbas && refuses(&locking.ranges[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Account;

    const GEOMETRY: Geometry = Geometry { sectors: 1000, sector_bytes: 512, alignment_sectors: 8 };

    fn with(ranges: &[(usize, u64, u64)]) -> Locking {
        let mut locking = Locking::activated(&Account::of_maker(b"", true));
        for &(k, first_lba, lbas) in ranges {
            (locking.ranges[k].first_lba, locking.ranges[k].lbas) = (first_lba, lbas);
        }
        locking
    }

    #[test]
    fn ranges_neither_overlap_nor_leave_the_drive_nor_its_alignment() {
        let ok = |ranges: &[_]| check(&with(ranges), GEOMETRY).is_ok();
        assert!(ok(&[(1, 0, 8), (2, 8, 992), (3, 0, 0)]));
        assert!(!ok(&[(1, 0, 16), (2, 8, 8)]));
        assert!(!ok(&[(5, 8, 8), (2, 0, 64)]));
        assert!(!ok(&[(1, 4, 8)]));
        assert!(!ok(&[(1, 8, 12)]));
        assert!(!ok(&[(1, 8, 1000)]));
        assert!(!ok(&[(8, u64::MAX - 7, 8)]));
    }

    #[test]
    fn only_sectors_with_another_range_than_before_have_moved() {
        let (before, after) = (with(&[(1, 80, 80), (2, 400, 80)]), with(&[(1, 120, 80), (2, 400, 80)]));
        assert_eq!(moved(&before, &after, 1000), [80..120, 160..200]);
        assert_eq!(moved(&before, &before, 1000), []);
        assert_eq!(moved(&before, &with(&[(2, 80, 80)]), 1000), [80..160, 400..480]);
        assert_eq!(sectors_of(&before, 0, 1000), [0..80, 160..400, 480..1000]);
        assert_eq!(sectors_of(&before, 2, 1000).first(), Some(&(400..480)));
    }

    #[test]
    fn a_command_is_refused_if_any_of_its_sectors_is_locked() {
        let mut locking = with(&[(1, 80, 80)]);
        (locking.ranges[1].read_lock_enabled, locking.ranges[1].read_locked) = (true, true);
        assert!(refused(&locking, 72, 16, false) && refused(&locking, 152, 100, false));
        assert!(
            !refused(&locking, 72, 16, true) && !refused(&locking, 0, 80, false) && !refused(&locking, 160, 8, false)
        );
        locking.ranges[0].write_locked = true;
        assert!(!refused(&locking, 0, 8, true), "a lock that is not enabled");
        locking.ranges[0].write_lock_enabled = true;
        assert!(refused(&locking, 0, 8, true) && refused(&locking, 72, 16, true) && !refused(&locking, 80, 80, true));
    }
}
