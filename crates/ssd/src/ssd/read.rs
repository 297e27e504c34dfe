//! Reads: from the buffer, from what was read ahead, or from flash.

use ssdlab_core::{Cause, Status, UNIT_BYTES};
use ssdlab_ftl::{FlashOp, Ftl, NOBODY, OpKind, Place};
use ssdlab_nand::UnitAddress;

use super::correction::Climb;
use super::read_ahead::{Lookup, Source};
use super::schedule::{Finished, Wake};
use super::{READ_AHEAD_TAG, SimulatedSsd, unit_range};

/// Collects units that lie in one row into one operation.
struct RowReads {
    pending: Option<FlashOp>,
    /// Its units, one bit each, by the last six bits of the address.
    units: u64,
    count: u32,
    /// The drive compresses: operations tell how many logical units they bring.
    packed: bool,
}

impl RowReads {
    fn new(ftl: &Ftl) -> Self {
        RowReads { pending: None, units: 0, count: 0, packed: ftl.compresses() }
    }

    /// Adds a logical unit that lives at `unit` in a row of `at`, and takes `units` of it.
    #[inline]
    fn add<const CHECK: bool>(
        &mut self,
        lpn: u32,
        (unit, units): (UnitAddress, u32),
        at: (u32, u32, u32),
        tag: u16,
        sink: &mut Wake<CHECK>,
    ) {
        let (die, block, page) = at;
        let bit = 1 << (unit & 63);
        if let Some(op) = &mut self.pending
            && op.block == block
            && u32::from(op.page) == page
        {
            op.units += units as u8;
            op.ready += u32::from(self.packed);
            self.units |= bit;
            return;
        }
        self.flush(sink);
        self.count += 1;
        self.units = bit;
        self.pending = Some(FlashOp {
            kind: OpKind::HostRead,
            die: die as u8,
            rows: 1,
            units: units as u8,
            block,
            page: page as u16,
            tag,
            ready: if self.packed { 1 } else { lpn },
        });
    }

    /// The first logical page of the operation that was added to last; 0 where operations do not tell.
    fn first(&self) -> u32 {
        self.pending.as_ref().map_or(0, |op| first_page(op, self.packed))
    }

    fn flush<const CHECK: bool>(&mut self, sink: &mut Wake<CHECK>) {
        if let Some(op) = self.pending.take() {
            sink.enqueue_read(op, self.units);
        }
    }
}

/// The first logical page that a read for the host brings; 0 where it does not tell.
fn first_page(op: &FlashOp, packed: bool) -> u32 {
    if packed { 0 } else { op.ready }
}

/// What was read ahead of a unit must be what the host wrote last.
#[inline]
fn check_read_ahead<const CHECK: bool>(written: &[u8], lpn: u32, found: u8) {
    if CHECK {
        let expected = written[lpn as usize];
        assert!(found == expected, "page {lpn} was read ahead as write {found}, the last was {expected}");
    }
}

/// A unit of flash, and what it must hold: what the host had written when it asked for it.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    unit: UnitAddress,
    lpn: u32,
    /// Write count, where it is checked.
    generation: Option<u8>,
}

impl Promise {
    #[inline]
    fn check(self, ftl: &Ftl) {
        let (lpn, medium) = (self.lpn, ftl.medium());
        let tag = medium.tag(self.unit);
        let found = medium.format().lpn(tag);
        assert!(found == lpn, "read of page {lpn} would return page {found}");
        if let Some(expected) = self.generation {
            let found = medium.format().generation(tag);
            assert!(found == expected, "read of page {lpn} would return write {found}, the last was {expected}");
        }
    }
}

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    /// Checks what a read of this unit would return against what the host wrote.
    #[inline]
    fn check_unit(&self, lpn: u32, place: Place) {
        match place {
            Place::Flash(unit) => self.promise(lpn, unit).check(&self.ftl),
            Place::Buffer(_) | Place::Unmapped if CHECK => {
                let found = self.ftl.generation(lpn).unwrap_or(0);
                let expected = self.written[lpn as usize];
                assert!(found == expected, "read of page {lpn} would return write {found}, the last was {expected}");
            }
            Place::Buffer(_) | Place::Unmapped => {}
        }
    }

    /// What flash owes a command that reads this unit now.
    #[inline]
    fn promise(&self, lpn: u32, unit: UnitAddress) -> Promise {
        Promise { unit, lpn, generation: CHECK.then(|| self.written[lpn as usize]) }
    }

    pub(super) fn begin_read(&mut self, slot: u32) {
        let request = self.commands.slot(slot).request;
        let (first, last) = unit_range(&request);
        let mut parts = 0;
        let mut from_ram = 0u64;
        let mut reads = RowReads::new(&self.ftl);
        let unit_bytes = u64::from(self.ftl.medium().layout().unit_bytes);
        let mut wake = Wake { schedule: &mut self.schedule, dies: 0 };
        let mut alone = None;
        for lpn in first..last {
            match self.read_ahead.lookup(lpn, slot) {
                Lookup::Here(generation) => {
                    check_read_ahead::<CHECK>(&self.written, lpn, generation);
                    from_ram += 1;
                    self.counters.buffer_read_units += 1;
                    continue;
                }
                Lookup::Coming(generation) => {
                    check_read_ahead::<CHECK>(&self.written, lpn, generation);
                    parts += 1;
                    continue;
                }
                Lookup::Absent => {}
            }
            let place = self.ftl.place(lpn);
            if let Place::Flash(unit) = place
                && let Some((block, page)) = self.ftl.row_on_flash(unit)
            {
                let die = self.ftl.medium().layout().die_of(block).0;
                let units = self.ftl.units_at(unit);
                reads.add(lpn, (unit, units), (die, block, page), slot as u16, &mut wake);
                self.counters.flash_host_read_bytes += u64::from(units) * unit_bytes;
                alone = Some(unit);
            } else {
                from_ram += 1;
                match place {
                    Place::Unmapped => self.counters.unmapped_read_units += 1,
                    Place::Flash(_) | Place::Buffer(_) => self.counters.buffer_read_units += 1,
                }
            }
        }
        reads.flush(&mut wake);
        parts += reads.count;
        let mut dies = wake.dies;
        // A unit by itself is checked when the die has delivered it: to wait for its tag now would be a large part of
        // all that a random read costs.
        let promised = match alone {
            Some(unit) if last - first == 1 => {
                self.ftl.medium().prefetch_tags(unit, 1);
                Some(self.promise(first, unit))
            }
            _ => {
                (first..last).for_each(|lpn| self.check_unit(lpn, self.ftl.place(lpn)));
                None
            }
        };
        if self.has_lost(first..last) {
            self.commands.slot(slot).status = Status::Uncorrectable;
        }
        let whole_drive = self.ftl.logical_pages();
        let ahead = self.read_ahead.observe(first, last, whole_drive);
        if !ahead.is_empty() {
            dies |= self.fetch_ahead(ahead);
        }
        self.schedule.begin_idle(dies, &mut self.ftl, EXPLAIN);
        let c = self.commands.slot(slot);
        c.parts = parts;
        c.promised = promised;
        if from_ram > 0 {
            self.send(slot, from_ram);
        }
        if parts == 0 {
            self.finish_read(slot);
        }
    }

    /// Reads units into DRAM that the host has not asked for yet. Returns the dies concerned.
    fn fetch_ahead(&mut self, range: std::ops::Range<u32>) -> u64 {
        let mut reads = RowReads::new(&self.ftl);
        let mut wake = Wake { schedule: &mut self.schedule, dies: 0 };
        if self.ftl.loads_on_demand() {
            self.ftl.look_up(range.clone(), NOBODY, &mut wake);
        }
        for lpn in range {
            if !self.read_ahead.may_replace(lpn) {
                continue;
            }
            let source = match self.ftl.place(lpn) {
                Place::Flash(unit) if !self.ftl.in_ram(unit) => {
                    let layout = self.ftl.medium().layout();
                    let (block, page) = layout.row_of(unit);
                    let die = layout.die_of(block).0;
                    let units = self.ftl.units_at(unit);
                    reads.add(lpn, (unit, units), (die, block, page), READ_AHEAD_TAG, &mut wake);
                    self.counters.flash_host_read_bytes += u64::from(units * layout.unit_bytes);
                    Source::Flash { unit, first: reads.first() }
                }
                _ => Source::Ram,
            };
            let generation = if CHECK { self.written[lpn as usize] } else { 0 };
            self.read_ahead.expect(lpn, source, generation);
        }
        reads.flush(&mut wake);
        wake.dies
    }

    /// Sends units of a read over the link, from now on.
    #[inline]
    fn send(&mut self, slot: u32, units: u64) {
        let c = self.commands.slot(slot);
        let bytes = c.bytes_left.min(units * UNIT_BYTES);
        c.bytes_left -= bytes;
        let (_, end) = self.transfer_on_link(bytes);
        self.commands.slot(slot).link_end = end;
    }

    /// A die has delivered part of a read, or units that were read ahead.
    #[inline]
    pub(super) fn read_part_done(&mut self, finished: &Finished, climb: Option<&Climb>) {
        let op = finished.op;
        if op.tag != READ_AHEAD_TAG {
            let lost = climb.is_some_and(|climb| !climb.lost.is_empty());
            let units = if self.ftl.compresses() { op.ready } else { op.units.into() };
            self.deliver_part(op.tag.into(), units.into(), finished, climb, lost);
            return;
        }
        let layout = self.ftl.medium().layout();
        let start = layout.row_start(op.block, op.page.into());
        let first = first_page(&op, self.ftl.compresses());
        for unit in start..start + layout.row_units {
            let lpn = self.ftl.medium().lpn(unit);
            if let Some((slot, expected)) = self.read_ahead.arrived(lpn, unit, first) {
                if CHECK {
                    let found = self.ftl.medium().generation(unit);
                    assert!(found == expected, "write {found} of page {lpn} was read ahead for write {expected}");
                }
                let lost = climb.is_some_and(|climb| climb.lost.contains(&unit));
                self.deliver_part(slot, 1, finished, climb, lost);
            }
        }
    }

    #[inline]
    fn deliver_part(&mut self, slot: u32, units: u64, finished: &Finished, climb: Option<&Climb>, lost: bool) {
        self.send(slot, units);
        let c = self.commands.slot(slot);
        if lost {
            c.status = Status::Uncorrectable;
        }
        c.parts -= 1;
        if c.parts > 0 {
            return;
        }
        if EXPLAIN {
            // The last part to come decides how long the command took.
            let now = self.schedule.now;
            let d = finished.op.die as usize;
            let decoded = self.commands.slot(slot).decoded;
            let breakdown = &mut self.commands.account(slot).breakdown;
            let began = finished.began.max(decoded);
            self.schedule.explain_wait(d, decoded, began, Cause::Queue, breakdown);
            finished.explain(began, now, climb, breakdown);
        }
        self.finish_read(slot);
    }

    /// All parts are on the link, or booked on it.
    #[inline]
    fn finish_read(&mut self, slot: u32) {
        let now = self.schedule.now;
        let c = self.commands.slot(slot);
        let (done, status) = (c.link_end.max(c.processed), c.status);
        if let Some(promised) = c.promised {
            promised.check(&self.ftl);
        }
        let c = self.commands.slot(slot);
        if EXPLAIN {
            let link = c.link_end - now;
            self.commands.account(slot).breakdown.add(Cause::Link, link);
        }
        self.respond_with(slot, done, status);
    }
}
