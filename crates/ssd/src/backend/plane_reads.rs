//! Planes that read by themselves for the host (`features.independent_plane_reads` of a die).
//!
//! Each such plane is a part of the backend with a queue, an event and a register of its own, as dies have them
//! ([`DieParts`]). The reads that wait for it go before what its die does as a whole, in the order in which all of them were
//! asked for; the die does something as a whole when no plane of it reads.

use ssdlab_core::Nanos;
use ssdlab_ftl::Translation;
use ssdlab_nand::DieId;

use super::{Backend, NEVER};
use crate::die_parts::DieParts;
use crate::probe::Probe;
use crate::spec::DriveSpec;

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct PlaneReads {
    parts: DieParts,
    /// Binary logarithm of the units of a page of one plane.
    page_shift: u32,
    /// Planes of a die, less one.
    mask: u32,
    /// The map asks for each plane by itself.
    rows_of_one_plane: bool,
}

impl PlaneReads {
    /// `page_units`: of a page of one plane.
    #[must_use]
    pub fn new(parts: DieParts, drive: &DriveSpec, page_units: u32, rows_of_one_plane: bool) -> Option<Self> {
        let planes = parts.count() / drive.flash.dies - 1;
        let page_shift = page_units.trailing_zeros();
        (planes > 0).then(|| PlaneReads { parts, page_shift, mask: planes - 1, rows_of_one_plane })
    }

    #[must_use]
    pub fn dies(&self) -> u32 {
        self.parts.dies()
    }

    /// Which part reads units of a row for the host: `wanted`, one bit each by the last six bits of the address, of a die of
    /// the translation layer's that is, or is a plane of, `die`.
    #[inline]
    fn reader(&self, mapped: DieId, die: DieId, wanted: u64) -> DieId {
        if self.rows_of_one_plane {
            return self.parts.plane(die, mapped.number() & self.mask);
        }
        let [first, last] = [wanted.trailing_zeros(), 63 - wanted.leading_zeros()].map(|unit| unit >> self.page_shift);
        if first == last { self.parts.plane(die, first & self.mask) } else { die }
    }
}

impl Backend {
    /// Which part of a die reads units of a row for the host, of a die of the translation layer's. `wanted`: one bit each, by
    /// the last six bits of the address.
    #[inline]
    #[must_use]
    pub fn reader_of(&self, mapped: DieId, wanted: u64) -> DieId {
        let die = self.die_of(mapped);
        self.plane_reads.as_ref().map_or(die, |plane_reads| plane_reads.reader(mapped, die, wanted))
    }

    /// Units of a page of one plane, where planes read by themselves and rows are of several.
    #[inline]
    #[must_use]
    pub fn units_read_apart(&self) -> Option<u32> {
        self.plane_reads.as_ref().filter(|plane_reads| !plane_reads.rows_of_one_plane).map(|_| self.page_units)
    }

    /// The die that a part is, or is a plane of.
    #[inline]
    #[must_use]
    pub fn whole_die(&self, part: DieId) -> DieId {
        if self.is_plane(part) { self.die_of_plane(part) } else { part }
    }

    #[cold]
    fn die_of_plane(&self, plane: DieId) -> DieId {
        self.plane_reads.as_ref().map_or(plane, |plane_reads| plane_reads.parts.die_of(plane))
    }

    #[inline]
    pub(super) fn is_plane(&self, part: DieId) -> bool {
        part.number() >= self.first_plane
    }

    /// The plane that a part is, as one bit.
    #[inline]
    pub(super) fn plane_bit(&self, part: DieId) -> Option<u8> {
        self.plane_reads.as_ref().and_then(|plane_reads| plane_reads.parts.plane_of(part)).map(|plane| 1 << plane)
    }

    /// Planes of a die that read by themselves.
    pub(super) fn planes_that_read(&self, d: DieId) -> impl Iterator<Item = DieId> + use<> {
        let parts = self.plane_reads.as_ref().map(|plane_reads| plane_reads.parts);
        parts.into_iter().flat_map(move |parts| parts.planes(d))
    }

    /// Whether a read of the host's waits for a die or one of its planes.
    pub(super) fn a_read_waits(&self, d: DieId) -> bool {
        let waits = |part: DieId| !self.dies[part.index()].reads.is_empty();
        waits(d) || self.planes_that_read(d).any(waits)
    }

    /// Whether any plane of a die reads by itself just now.
    pub(super) fn a_plane_is_busy(&self, d: DieId) -> bool {
        self.planes_that_read(d).any(|plane| self.dies[plane.index()].busy)
    }

    /// Whether the reads of a plane go before those that wait for its die as a whole: they were asked for earlier.
    fn goes_first(&self, plane: DieId, d: DieId) -> bool {
        let asked = |part: DieId| self.dies[part.index()].asked.front();
        asked(plane).is_some_and(|own| asked(d).is_none_or(|whole| own < whole))
    }

    /// A die that is at nothing leaves its planes to read what goes first; returns whether any of them does, or has not ended.
    #[cold]
    #[inline(never)]
    pub(super) fn leaves_to_planes(&mut self, d: DieId) -> bool {
        let mut leaves = false;
        for plane in self.planes_that_read(d) {
            if self.dies[plane.index()].busy {
                leaves = true;
            } else if self.goes_first(plane, d) {
                leaves = true;
                self.woken.insert(plane.number());
            }
        }
        if leaves {
            self.dies[d.index()].sensed = 0;
        }
        leaves
    }

    /// Begins the next read of a plane, if there is one and its die lets it.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_on_plane<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        plane: DieId,
        now: Nanos,
        translation: &mut T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        if self.dies[plane.index()].busy {
            return;
        }
        let d = self.whole_die(plane);
        let may = self.goes_first(plane, d) && !self.is_loaded(d) && self.takes_reads(d, now, probe);
        let read = if may { self.dies[plane.index()].reads.pop_front() } else { None };
        let Some(op) = read else {
            self.dies[plane.index()].sensed = 0;
            self.events.set(plane.index(), NEVER);
            self.woken.insert(d.number());
            return;
        };
        let asked = self.dies[plane.index()].asked.pop_front().unwrap_or(now);
        translation.began(&op);
        let mode = translation.medium().mode(op.block());
        let free_at = now.max(self.dies[d.index()].reads_from);
        let course = self.course(plane, &op, mode, [now, free_at, asked], translation, probe);
        if self.correction.is_some() {
            self.begin_corrected(plane, op, mode, course, translation, probe);
        } else {
            self.begin::<true, EXPLAIN, CHECK>(plane, op, mode, course, probe);
        }
    }

    /// Whether planes of a die may read: it does nothing as a whole, or is interrupted for it.
    fn takes_reads<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        now: Nanos,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) -> bool {
        if !self.dies[d.index()].busy {
            return true;
        }
        let Some(at) = self.interrupt(d, now, probe) else { return false };
        self.leave_from(d, at);
        true
    }

    /// A die has been interrupted, and its planes may read from this time on.
    pub(super) fn leave_from(&mut self, d: DieId, at: Nanos) {
        self.dies[d.index()].reads_from = at;
        self.events.set(d.index(), NEVER);
        // The die has begun something since a plane read last, if only just now.
        for plane in self.planes_that_read(d) {
            self.dies[plane.index()].sensed = 0;
        }
    }
}
