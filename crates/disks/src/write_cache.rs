//! Data that wait to be written: extents of sectors that lie side by side, a segment each.
//!
//! No sector is in two extents. What is written again is replaced where it lies. What continues an extent joins it as long
//! as the extent fits into its segment. An extent that is being written has left these lists, so what comes meanwhile
//! begins a new one, even for the same sectors.

use ssdlab_core::Nanos;

use crate::geometry::Geometry;
use crate::targets::Targets;

/// Sectors `from..to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub from: u32,
    pub to: u32,
    /// Number of the first command that wrote into it.
    pub oldest: u64,
    /// When its last data are there.
    pub arrived: Nanos,
    /// Whether a command waits until it is on the platters.
    pub through: bool,
}

/// What a command writes, or wants to.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub from: u32,
    pub to: u32,
    pub number: u64,
    /// When its data are there.
    pub arrived: Nanos,
    /// Whether the command waits until they are on the platters.
    pub through: bool,
}

impl Extent {
    /// Takes over what is said of data that have joined it.
    fn join(&mut self, piece: &Piece) {
        self.arrived = self.arrived.max(piece.arrived);
        self.through |= piece.through;
    }
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct WriteCache {
    pub targets: Targets,
    extents: Vec<Extent>,
    /// Most extents, the one being written included, and most sectors of each.
    segments: usize,
    sectors: u32,
    /// Whether an extent is being written.
    pub writing: Option<Extent>,
    /// Sectors taken in, replaced before they were written, written.
    pub taken: u64,
    pub replaced: u64,
    pub written: u64,
    /// Room for [`WriteCache::take`].
    within: Vec<(u32, u32)>,
}

impl WriteCache {
    pub fn new(segments: u32, sectors: u32) -> WriteCache {
        WriteCache {
            targets: Targets::default(),
            extents: Vec::new(),
            segments: segments as usize,
            sectors,
            writing: None,
            taken: 0,
            replaced: 0,
            written: 0,
            within: Vec::new(),
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// Whether one extent holds all these sectors, or is being written with them.
    #[inline]
    pub fn holds(&self, from: u32, to: u32) -> bool {
        self.extents.iter().chain(&self.writing).any(|e| e.from <= from && to <= e.to)
    }

    fn is_full(&self) -> bool {
        self.extents.len() + usize::from(self.writing.is_some()) >= self.segments
    }

    /// Takes in what there is room for, in ascending order; returns the first sector that found none.
    pub fn take(&mut self, piece: Piece, now: Nanos, geometry: &Geometry) -> u32 {
        let mut within = std::mem::take(&mut self.within);
        let reached = self.take_between(piece, now, geometry, &mut within);
        self.within = within;
        reached
    }

    fn take_between(&mut self, piece: Piece, now: Nanos, geometry: &Geometry, within: &mut Vec<(u32, u32)>) -> u32 {
        within.clear();
        for e in &self.extents {
            if e.from < piece.to && piece.from < e.to {
                within.push((e.from.max(piece.from), e.to.min(piece.to)));
            }
        }
        within.sort_unstable();
        let mut next = piece.from;
        for &(from, to) in within.iter().chain([&(piece.to, piece.to)]) {
            while next < from {
                let Some(reached) = self.place(Piece { from: next, to: from, ..piece }, now, geometry) else {
                    return next;
                };
                self.taken += u64::from(reached - next);
                next = reached;
            }
            self.replace(Piece { from, to, ..piece });
            next = to;
        }
        next
    }

    /// Sectors of one extent are written again.
    fn replace(&mut self, piece: Piece) {
        if piece.from == piece.to {
            return;
        }
        let holder = self.extents.iter_mut().find(|e| e.from <= piece.from && piece.to <= e.to);
        let holder = holder.expect("it was found a moment ago");
        holder.join(&piece);
        let sectors = u64::from(piece.to - piece.from);
        self.taken += sectors;
        self.replaced += sectors;
    }

    /// Gives a segment, or what is left of one, to sectors that are in no extent. Returns where they end there; `None` if
    /// there is no room.
    fn place(&mut self, piece: Piece, now: Nanos, geometry: &Geometry) -> Option<u32> {
        let Piece { from, to, number, arrived, through } = piece;
        let (most, mut before, mut behind) = (self.sectors, usize::MAX, usize::MAX);
        for (i, e) in self.extents.iter().enumerate() {
            if e.to == from && e.to - e.from < most {
                before = i;
            } else if e.from == to && e.to - from <= most {
                behind = i;
            }
        }
        if let Some(e) = self.extents.get_mut(before) {
            e.to = to.min(e.from + most);
            e.join(&piece);
            let (whole, reached) = (*e, e.to);
            // It may now reach the one behind it.
            if let Some(next) = self.extents.get(behind).filter(|n| n.from == reached && n.to - whole.from <= most) {
                let oldest = next.oldest.min(whole.oldest);
                let arrived = next.arrived.max(whole.arrived);
                let through = next.through || whole.through;
                self.extents[before] = Extent { to: next.to, oldest, arrived, through, ..whole };
                self.targets.wait_since_both(before, behind);
                self.remove(behind);
            }
            return Some(reached);
        }
        if let Some(e) = self.extents.get_mut(behind) {
            e.from = from;
            e.join(&piece);
            self.targets.replace(behind, geometry.place(from));
            return Some(to);
        }
        if self.is_full() {
            return None;
        }
        let to = to.min(from.saturating_add(most));
        self.extents.push(Extent { from, to, oldest: number, arrived, through });
        self.targets.push(geometry.place(from), now);
        Some(to)
    }

    fn remove(&mut self, index: usize) -> Extent {
        self.targets.swap_remove(index);
        self.extents.swap_remove(index)
    }

    /// Begins to write an extent.
    pub fn begin(&mut self, index: usize) -> Extent {
        let extent = self.remove(index);
        self.writing = Some(extent);
        extent
    }

    /// The extent is on the medium.
    ///
    /// # Panics
    /// If none was being written.
    pub fn end(&mut self) -> Extent {
        let extent = self.writing.take().expect("an extent is being written");
        self.written += u64::from(extent.to - extent.from);
        extent
    }

    /// The number of the oldest command with data that wait, or are being written.
    pub fn oldest(&self) -> Option<u64> {
        self.extents.iter().chain(&self.writing).map(|e| e.oldest).min()
    }

    /// The power goes: nothing waits any more, and what was being written has been up to a sector.
    pub fn power_cut(&mut self, reached: u32) {
        let waiting: u64 = self.extents.iter().map(|e| u64::from(e.to - e.from)).sum();
        let (written, lost) = self.writing.map_or((0, 0), |e| (reached - e.from, e.to - reached));
        self.written += u64::from(written);
        self.taken -= waiting + u64::from(lost);
        self.extents.clear();
        self.targets = Targets::default();
        self.writing = None;
    }

    /// Whether data of a command up to this number wait, or are being written.
    pub fn has_any_up_to(&self, number: u64) -> bool {
        self.extents.iter().chain(&self.writing).any(|e| e.oldest <= number)
    }

    /// Whether any of these sectors, written by a command up to this number that waits for them, wait or are being written.
    /// Later data of the same sectors may have joined an older extent for which nobody waits.
    pub fn has_any_of(&self, from: u32, to: u32, number: u64) -> bool {
        let mut all = self.extents.iter().chain(&self.writing);
        all.any(|e| e.through && e.from < to && from < e.to && e.oldest <= number)
    }

    /// # Errors
    /// If sectors taken in are not those replaced, written and waiting, or if two extents share a sector.
    pub fn check(&self) -> Result<(), String> {
        let waiting: u64 = self.extents.iter().chain(&self.writing).map(|e| u64::from(e.to - e.from)).sum();
        let WriteCache { taken, replaced, written, .. } = *self;
        if taken != replaced + written + waiting {
            return Err(format!(
                "{taken} sectors came into the write cache, but {replaced} were replaced, {written} written, {waiting} wait"
            ));
        }
        let mut ranges: Vec<(u32, u32)> = self.extents.iter().map(|e| (e.from, e.to)).collect();
        ranges.sort_unstable();
        match ranges.windows(2).find(|pair| pair[1].0 < pair[0].1) {
            Some(pair) => Err(format!("cached extents overlap: {pair:?}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::DiskSpec;

    /// What lies between two extents makes them one, and that one is not younger than either.
    #[test]
    fn extents_that_become_one_have_waited_as_long_as_the_older() {
        let geometry = Geometry::new(&DiskSpec::plain().media, |_| 1);
        for (first, second) in [((0, 8), (16, 24)), ((16, 24), (0, 8))] {
            let mut cache = WriteCache::new(4, 64);
            for (number, ((from, to), now)) in (1..).zip([(first, 100), (second, 500), ((8, 16), 600)]) {
                let piece = Piece { from, to, number, arrived: now, through: false };
                assert_eq!(cache.take(piece, now, &geometry), to);
            }
            assert_eq!(cache.extents().len(), 1);
            assert_eq!(cache.targets.oldest(|_| true), Some((0, 100)), "{first:?} first");
        }
    }
}
