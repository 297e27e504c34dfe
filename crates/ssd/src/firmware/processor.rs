//! The drive's one processor: works through its queue in order.
//!
//! Commands take their time in it; so do units that the collector moves, where the drive file says so: their rows go
//! to the dies once the processor has prepared them.

use std::collections::VecDeque;

use ssdlab_core::{Nanos, Op, Ring, nanos_from_us};
use ssdlab_device::Request;
use ssdlab_ftl::{FlashOp, OpKind};
use ssdlab_nand::DieId;

use crate::mapping_unit::MappingUnit;
use crate::slot::Slot;
use crate::spec::DriveSpec;

/// What the processor is through with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processed {
    /// A command has been decoded.
    Command { slot: Slot },
    /// A row that the collector writes has been prepared.
    Row,
    /// A round of the collector may begin.
    Round,
}

/// Data of one range of DATA SET MANAGEMENT: 65,535 sectors (ATA8-ACS-2).
const TRIM_RANGE_BYTES: u64 = 65_535 * 512;
/// Ranges in the one block of 512 bytes that drives of the time take with a command.
const RANGES_PER_TRIM: u64 = 64;
/// Units whose map entries, of four bytes each, lie in 4 KiB of DRAM.
const MAPPED_BY_PAGE: u64 = 1024;

/// [`Processed`] as its queue holds it, in one word: a command's slot, or one of two numbers that no slot has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Booked(u32);

impl Booked {
    const ROW: Booked = Booked(u32::MAX);
    const ROUND: Booked = Booked(u32::MAX - 1);

    #[inline]
    fn command(slot: Slot) -> Booked {
        Booked(slot.number())
    }

    #[inline]
    fn slot(self) -> Option<Slot> {
        (self.0 < Self::ROUND.0).then_some(Slot::new(self.0))
    }

    #[inline]
    fn processed(self) -> Processed {
        match self {
            Self::ROW => Processed::Row,
            Self::ROUND => Processed::Round,
            Booked(slot) => Processed::Command { slot: Slot::new(slot) },
        }
    }
}

/// In the places of its queue that are free.
const NOTHING: (Nanos, Booked) = (0, Booked::ROUND);

#[derive(Clone, Copy, Debug)]
struct Times {
    read_command: Nanos,
    read_unit: Nanos,
    write_command: Nanos,
    write_unit: Nanos,
    move_unit: Nanos,
    program_end: Nanos,
    trim_command: Nanos,
    trim_range: Nanos,
    trim_map_page: Nanos,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Processor {
    times: Times,
    /// When it has done what is booked.
    free: Nanos,
    /// How long it has worked, what is booked included.
    busy: Nanos,
    /// Ends of what is booked, in order, and what it is through with then.
    queue: Ring<(Nanos, Booked)>,
    /// Rows that it prepares, with their dies, in the queue's order.
    rows: VecDeque<(DieId, FlashOp)>,
}

impl Processor {
    #[must_use]
    pub fn new(drive: &DriveSpec) -> Self {
        let c = &drive.controller;
        Processor {
            times: Times {
                read_command: nanos_from_us(c.read_command_us),
                read_unit: nanos_from_us(c.read_unit_us),
                write_command: nanos_from_us(c.write_command_us),
                write_unit: nanos_from_us(c.write_unit_us),
                move_unit: nanos_from_us(c.move_unit_us),
                program_end: nanos_from_us(c.program_end_us),
                trim_command: nanos_from_us(c.trim_command_us.unwrap_or(c.write_command_us)),
                trim_range: nanos_from_us(c.trim_range_us),
                trim_map_page: nanos_from_us(c.trim_map_page_us),
            },
            free: 0,
            busy: 0,
            queue: Ring::new(c.queue_depth as usize, NOTHING),
            rows: VecDeque::new(),
        }
    }

    /// When it is through with the first of what is booked.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        self.queue.front().map(|(at, _)| at)
    }

    /// Takes the first of what is booked out of the queue.
    #[inline]
    pub fn pop(&mut self) -> Option<(Nanos, Processed)> {
        self.queue.pop_front().map(|(at, booked)| (at, booked.processed()))
    }

    /// The same, if it is a command decoded at this time.
    #[inline]
    pub fn pop_command(&mut self, at: Nanos) -> Option<Slot> {
        let slot = self.queue.front().filter(|next| next.0 == at)?.1.slot()?;
        self.queue.pop_front();
        Some(slot)
    }

    /// How long it has worked, what is booked included.
    #[must_use]
    pub fn busy(&self) -> Nanos {
        self.busy
    }

    /// It takes nothing before this time.
    pub fn rest_until(&mut self, at: Nanos) {
        self.free = self.free.max(at);
    }

    /// Commands are forgotten; what it does for the collector goes on.
    pub fn drop_commands(&mut self) {
        let mut queue = Ring::new(self.rows.len() + 2, NOTHING);
        self.queue.iter().filter(|(_, booked)| booked.slot().is_none()).for_each(|next| queue.push_back(next));
        self.queue = queue;
    }

    /// The power is gone: nothing is booked.
    pub fn power_cut(&mut self) {
        self.queue = Ring::new(2, NOTHING);
        self.rows.clear();
        self.free = 0;
    }

    /// Books time from `earliest` on; returns when it begins.
    #[inline]
    fn book(&mut self, earliest: Nanos, time: Nanos) -> Nanos {
        let start = self.free.max(earliest);
        self.free = start + time;
        self.busy += time;
        start
    }

    /// Books time for a command that has arrived; returns when it is decoded, and when all is done.
    #[inline(always)]
    pub fn decode(&mut self, request: &Request, unit: MappingUnit, arrived: Nanos) -> (Nanos, Nanos) {
        let (first, last) = unit.touched(request);
        let units = u64::from(last - first);
        let times = &self.times;
        // The processor hands over the first unit of a read as soon as it is looked up, and the data of a write are
        // let in once it is decoded; the rest goes on beside the transfers.
        let (decode, rest) = match request.op {
            Op::Read => (times.read_command + times.read_unit, (units - 1) * times.read_unit),
            Op::Write => (times.write_command, units * times.write_unit),
            Op::Trim => (self.trim_time(request, unit), 0),
            Op::Flush | Op::WriteZeroes => (times.write_command, 0),
        };
        let decoded = self.book(arrived, decode + rest) + decode;
        (decoded, decoded + rest)
    }

    /// A program or an erase has ended: the processor sees to it as soon as it has a moment.
    #[inline]
    pub fn program_ended(&mut self, now: Nanos) {
        if self.times.program_end != 0 {
            self.book(now, self.times.program_end);
        }
    }

    /// What TRIM takes: for each command that its ranges need, for each range, and for each page of the map.
    fn trim_time(&self, request: &Request, unit: MappingUnit) -> Nanos {
        let ranges = request.length_bytes.div_ceil(TRIM_RANGE_BYTES).max(1);
        let commands = ranges.div_ceil(RANGES_PER_TRIM);
        let end = request.offset_bytes + request.length_bytes;
        let mapped_by_page = MAPPED_BY_PAGE * unit.bytes();
        let map_pages = end.div_ceil(mapped_by_page) - request.offset_bytes / mapped_by_page;
        let times = &self.times;
        commands * times.trim_command + ranges * times.trim_range + map_pages * times.trim_map_page
    }

    /// Slots of the commands that wait for it, and of the one that is being decoded.
    pub fn commands(&self) -> impl Iterator<Item = Slot> + '_ {
        self.queue.iter().filter_map(|(_, booked)| booked.slot())
    }

    /// A command's slot comes up once it is decoded.
    #[inline]
    pub fn queue_command(&mut self, decoded: Nanos, slot: Slot) {
        self.queue.push_back((decoded, Booked::command(slot)));
    }

    /// Queues the beginning of a round of the collector.
    pub fn queue_round(&mut self, now: Nanos) {
        let at = self.book(now, 0);
        self.queue.push_back((at, Booked::ROUND));
    }

    /// Whether an operation goes to its die by way of the processor: rows that the collector writes, and whatever comes
    /// after them in the same block, which keeps its order; on the same die, if that keeps its order of all.
    #[inline]
    #[must_use]
    pub fn prepares(&self, die: DieId, op: &FlashOp) -> bool {
        self.times.move_unit != 0
            && match op.kind() {
                OpKind::GcProgram | OpKind::FoldProgram | OpKind::FoldCopy | OpKind::CopyProgram => true,
                OpKind::HostRead | OpKind::MergeRead | OpKind::MapRead => false,
                _ if self.keeps_order_of(die, op) => true,
                _ => self.rows.iter().any(|(_, row)| row.block() == op.block()),
            }
    }

    /// Whether an operation must not overtake a row of its die, of whatever block.
    fn keeps_order_of(&self, die: DieId, op: &FlashOp) -> bool {
        self.rows.iter().any(|(d, row)| *d == die && (op.is_behind_all() || row.is_behind_all()))
    }

    /// Prepares an operation. Only moving units takes time.
    #[cold]
    pub fn prepare(&mut self, now: Nanos, die: DieId, op: FlashOp) {
        let time = if op.kind().moves_units() { u64::from(op.units()) * self.times.move_unit } else { 0 };
        let start = self.book(now, time);
        self.queue.push_back((start + time, Booked::ROW));
        self.rows.push_back((die, op));
    }

    /// What each unit takes that is moved, if that is all that it has to do with the collector's rows.
    #[inline]
    #[must_use]
    pub fn time_of_move(&self) -> Option<Nanos> {
        (self.times.program_end == 0 && self.times.move_unit != 0).then_some(self.times.move_unit)
    }

    /// When it will have moved a unit for which it is asked at this time.
    #[inline]
    #[must_use]
    pub fn moved_at(&self, asked: Nanos) -> Nanos {
        self.free.max(asked) + self.times.move_unit
    }

    /// Moves a unit, at once in the eyes of everyone else, up to the time that [`Processor::moved_at`] has told.
    #[inline]
    pub fn move_unit(&mut self, until: Nanos) {
        self.free = until;
        self.busy += self.times.move_unit;
    }

    /// The row that has been prepared, and its die.
    pub fn pop_row(&mut self) -> Option<(DieId, FlashOp)> {
        self.rows.pop_front()
    }

    /// Whether rows are being prepared.
    #[inline]
    #[must_use]
    pub fn prepares_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Changes the rows of a die that are being prepared.
    pub fn change_rows(&mut self, die: DieId, mut change: impl FnMut(&mut FlashOp)) {
        self.rows.iter_mut().filter(|(d, _)| *d == die).for_each(|(_, op)| change(op));
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_nand::BlockId;

    use super::*;

    fn processor() -> Processor {
        let drive = toml::from_str(include_str!("../../../../catalog/drives/sm2256-500gb.toml"));
        let drive: DriveSpec = drive.expect("a drive of the catalog");
        let mut p = Processor::new(&drive);
        p.times.move_unit = 15_000;
        p
    }

    fn op(kind: OpKind, units: u32, block: u32) -> FlashOp {
        FlashOp::of_kind(kind, BlockId::new(block), 0, 1, units)
    }

    #[test]
    fn moved_units_and_commands_take_their_time_one_after_the_other() {
        let mut p = processor();
        let now = 1_000_000;
        p.prepare(now, DieId::FIRST, op(OpKind::GcProgram, 8, 1));
        p.prepare(now, DieId::FIRST, op(OpKind::FoldProgram, 5, 1));
        // A command that comes meanwhile waits for both rows.
        assert_eq!(p.book(now + 7, 14_000), now + 13 * 15_000);
        p.prepare(now + 10, DieId::FIRST, op(OpKind::FoldCopy, 1, 2));
        let ends: Vec<Nanos> = std::iter::from_fn(|| p.queue.pop_front()).map(|(at, _)| at).collect();
        assert_eq!(ends, [now + 120_000, now + 195_000, now + 195_000 + 14_000 + 15_000]);
        assert_eq!((p.busy, p.free), (14 * 15_000 + 14_000, ends[2]));
        // After a pause it begins when it is asked.
        assert_eq!(p.book(2 * now, 1), 2 * now);
    }

    #[test]
    fn trim_takes_its_time_for_each_command_range_and_map_page() {
        let mut p = processor();
        (p.times.trim_command, p.times.trim_range, p.times.trim_map_page) = (100_000, 5_000, 1_000);
        let unit = MappingUnit::new(4096);
        let trim = |offset, length| p.trim_time(&Request::new(0, Op::Trim, offset, length), unit);
        assert_eq!(trim(4096, 4096), 106_000);
        assert_eq!(trim((4 << 20) - 4096, 8192), 107_000, "entries on two pages of the map");
        // 32 MiB are one range of 65,535 sectors and one of a single sector.
        assert_eq!(trim(0, 32 << 20), 100_000 + 2 * 5_000 + 8 * 1_000);
        // 64 ranges fill a command.
        assert_eq!(trim(0, 64 * 65_535 * 512), 100_000 + 64 * 5_000 + 512 * 1_000);
        assert_eq!(trim(0, 64 * 65_535 * 512 + 4096), 200_000 + 65 * 5_000 + 512 * 1_000);
        // Of units four times as long a page of the map holds four times as much.
        let coarse = p.trim_time(&Request::new(0, Op::Trim, 0, 32 << 20), MappingUnit::new(16 << 10));
        assert_eq!(coarse, 100_000 + 2 * 5_000 + 2 * 1_000);
    }

    #[test]
    fn what_follows_a_row_in_its_block_goes_the_same_way_and_takes_no_time() {
        let mut p = processor();
        assert!(!p.prepares(DieId::FIRST, &op(OpKind::HostProgram, 8, 1)));
        assert!(p.prepares(DieId::FIRST, &op(OpKind::GcProgram, 8, 1)));
        p.prepare(0, DieId::FIRST, op(OpKind::GcProgram, 8, 1));
        for kind in [OpKind::HostProgram, OpKind::GcRead, OpKind::Erase] {
            assert!(
                p.prepares(DieId::FIRST, &op(kind, 8, 1)) && !p.prepares(DieId::FIRST, &op(kind, 8, 2)),
                "{kind:?}"
            );
        }
        assert!(!p.prepares(DieId::FIRST, &op(OpKind::HostRead, 1, 1)), "what is not on flash is read from memory");
        let mut behind_another = p.clone();
        behind_another.prepare(0, DieId::FIRST, op(OpKind::GcProgram, 8, 2));
        assert!(behind_another.prepares(DieId::FIRST, &op(OpKind::Erase, 8, 1)));
        p.prepare(0, DieId::FIRST, op(OpKind::HostProgram, 8, 1));
        assert_eq!((p.busy, p.free), (120_000, 120_000));
        // Without a time for it, nothing is kept back.
        let mut free = p;
        free.times.move_unit = 0;
        assert!(!free.prepares(DieId::FIRST, &op(OpKind::GcProgram, 8, 1)));
    }

    #[test]
    fn parity_and_what_follows_it_overtake_nothing_of_their_die() {
        let mut p = processor();
        p.prepare(0, DieId::FIRST, op(OpKind::GcProgram, 8, 1));
        for parity in [FlashOp::parity_program(BlockId::new(2), 0, 8), FlashOp::area_erase(BlockId::new(2))] {
            assert!(p.prepares(DieId::FIRST, &parity) && !p.prepares(DieId::FIRST.next(), &parity));
        }
        let host = op(OpKind::HostProgram, 8, 3);
        assert!(!p.prepares(DieId::FIRST, &host));
        p.prepare(0, DieId::FIRST, FlashOp::parity_program(BlockId::new(2), 0, 8));
        assert!(p.prepares(DieId::FIRST, &host) && !p.prepares(DieId::FIRST.next(), &host));
    }
}
