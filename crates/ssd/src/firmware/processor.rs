//! The drive's processor: one core that works through its queue in order, or several that share the work.
//!
//! Commands take their time in it; so do units that the collector moves, where the drive file says so: their rows go
//! to the dies once the processor has prepared them.
//!
//! A command passes from the core that takes commands to the one that looks up the map, and comes up in the order in which
//! it arrived, whatever it is. What the collector moves does not wait for commands if it has a core of its own.

use std::collections::VecDeque;

use ssdlab_core::{Cause, Nanos, Op, Ring, nanos_from_us};
use ssdlab_device::Request;
use ssdlab_ftl::{FlashOp, OpKind};
use ssdlab_nand::DieId;

use crate::blame::cause_of;
use crate::frontend::TrimRanges;
use crate::mapping_unit::MappingUnit;
use crate::slot::Slot;
use crate::spec::{Cores, DriveSpec};

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

/// Units whose map entries, of four bytes each, lie in 4 KiB of DRAM.
const MAPPED_BY_PAGE: u64 = 1024;

/// A command as it is booked, on one core that does all the work.
#[derive(Clone, Copy, Debug, Default)]
struct Coming {
    arrives: Nanos,
    decode: Nanos,
    rest: Nanos,
    /// When the core has done what comes before it.
    turn: Nanos,
    /// By how much rows that were asked for after it have made it later.
    late: Moving,
}

/// Time in which the processor prepares rows of data that are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moving {
    pub collected: Nanos,
    pub folded: Nanos,
    pub merged: Nanos,
}

impl Moving {
    #[must_use]
    pub fn sum(self) -> Nanos {
        self.collected + self.folded + self.merged
    }

    fn add(&mut self, kind: OpKind, time: Nanos) {
        match cause_of(kind) {
            Cause::Fold => self.folded += time,
            Cause::Merge => self.merged += time,
            _ => self.collected += time,
        }
    }
}

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
    trim_ranges: TrimRanges,
    trim_command: Nanos,
    trim_range: Nanos,
    trim_map_page: Nanos,
    dma_extent: Nanos,
}

impl Times {
    /// Whether anything but commands as they come takes time.
    fn are_asked_from_inside(&self) -> bool {
        [self.move_unit, self.program_end, self.dma_extent].into_iter().any(|time| time != 0)
    }

    /// What TRIM takes: for each command that its ranges need, for each range, and for each page of the map.
    fn trim(&self, request: &Request, unit: MappingUnit) -> Nanos {
        let end = request.offset_bytes + request.length_bytes;
        let mapped_by_page = MAPPED_BY_PAGE * unit.bytes();
        let map_pages = end.div_ceil(mapped_by_page) - request.offset_bytes / mapped_by_page;
        self.trim_ranges.commands(request.length_bytes) * self.trim_command
            + self.trim_ranges.of(request.length_bytes) * self.trim_range
            + map_pages * self.trim_map_page
    }
}

/// Which core does what.
#[derive(Clone, Copy, Debug)]
struct Duties {
    /// Looks up the map, and sets up transfers. Core 0 takes commands in.
    map: usize,
    /// Sees to the collector, and to the ends of programs and erases.
    flash: usize,
}

impl Duties {
    fn new(cores: Cores) -> Self {
        match cores {
            Cores::One => Duties { map: 0, flash: 0 },
            Cores::HostAndFlash => Duties { map: 0, flash: 1 },
            Cores::HostMapAndFlash => Duties { map: 1, flash: 2 },
        }
    }
}

/// The core that takes commands in.
const HOST: usize = 0;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Processor {
    times: Times,
    several_cores: bool,
    duties: Duties,
    /// When each core has done what is booked.
    free: [Nanos; 3],
    /// How long they have worked in sum, what is booked included.
    busy: Nanos,
    /// Units of a row of a die.
    row_units: u64,
    /// By slot: what is booked for a command. Empty where nothing can come before one that has not arrived.
    coming: Vec<Coming>,
    /// Ends of what is booked, in order, and what it is through with then.
    queue: Ring<(Nanos, Booked)>,
    /// Rows that it prepares, with their dies, in the queue's order.
    rows: VecDeque<(DieId, FlashOp)>,
    /// How many of them are booked; the others wait for these.
    booked: usize,
}

impl Processor {
    #[must_use]
    pub fn new(drive: &DriveSpec, row_units: u64) -> Self {
        let c = &drive.controller;
        let times = Times {
            read_command: nanos_from_us(c.read_command_us),
            read_unit: nanos_from_us(c.read_unit_us),
            write_command: nanos_from_us(c.write_command_us),
            write_unit: nanos_from_us(c.write_unit_us),
            move_unit: nanos_from_us(c.move_unit_us),
            program_end: nanos_from_us(c.program_end_us),
            trim_ranges: drive.link.trim_ranges(),
            trim_command: nanos_from_us(c.trim_command_us.unwrap_or(c.write_command_us)),
            trim_range: nanos_from_us(c.trim_range_us),
            trim_map_page: nanos_from_us(c.trim_map_page_us),
            dma_extent: nanos_from_us(c.dma_extent_us),
        };
        let gives_way = c.cores == Cores::One && times.are_asked_from_inside();
        Processor {
            times,
            several_cores: c.cores != Cores::One,
            duties: Duties::new(c.cores),
            free: [0; 3],
            busy: 0,
            row_units,
            coming: vec![Coming::default(); if gives_way { c.queue_depth as usize } else { 0 }],
            queue: Ring::new(c.queue_depth as usize, NOTHING),
            rows: VecDeque::new(),
            booked: 0,
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

    /// How long its cores have worked in sum, what is booked included.
    #[must_use]
    pub fn busy(&self) -> Nanos {
        self.busy
    }

    /// It takes nothing before this time.
    pub fn rest_until(&mut self, at: Nanos) {
        self.free.iter_mut().for_each(|free| *free = at.max(*free));
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
        self.booked = 0;
        self.free = [0; 3];
    }

    /// Books time of a core from `earliest` on; returns when it begins.
    #[inline(always)]
    fn book(&mut self, core: usize, earliest: Nanos, time: Nanos) -> Nanos {
        let free = &mut self.free[core];
        let start = earliest.max(*free);
        *free = start + time;
        self.busy += time;
        start
    }

    /// Books time for a command that arrives at `arrived`; returns when it is decoded, at which its slot comes up, and when all is
    /// done: each as much later as its slot comes up later, which work asked for before it arrives can bring about.
    #[inline(always)]
    pub fn take_in(&mut self, slot: Slot, request: &Request, unit: MappingUnit, arrived: Nanos) -> (Nanos, Nanos) {
        let (first, last) = unit.touched(request);
        let units = u64::from(last - first);
        let times = &self.times;
        // The processor hands over the first unit of a read as soon as it is looked up, and the data of a write are
        // let in once it is decoded; the rest goes on beside the transfers.
        let (decode, rest) = match request.op {
            Op::Read => (times.read_command + times.read_unit, (units - 1) * times.read_unit),
            Op::Write => (times.write_command, units * times.write_unit + self.more_extents(units)),
            Op::Trim => (times.trim(request, unit), 0),
            Op::Flush | Op::WriteZeroes => (times.write_command, 0),
        };
        if self.several_cores {
            // By its parts: the whole request would have to pass through memory on everybody's way.
            return self.take_in_on_several(slot, request.op, request.length_bytes, [arrived, decode, rest]);
        }
        let turn = self.free[HOST];
        let decoded = self.book(HOST, arrived, decode + rest) + decode;
        if let Some(coming) = self.coming.get_mut(slot.index()) {
            *coming = Coming { arrives: arrived, decode, rest, turn, late: Moving::default() };
        }
        self.queue.push_back((decoded, Booked::command(slot)));
        (decoded, decoded + rest)
    }

    /// Books time of a core for what is asked of it now. It comes before commands that the host has let go of and that have not
    /// arrived, where one core does all the work; they are decoded later, as they will find when they are. `row`: the kind of row
    /// that it is for, if it is. Returns when it begins, and how many commands are behind it.
    #[inline]
    fn book_now(&mut self, core: usize, now: Nanos, time: Nanos, row: Option<OpKind>) -> (Nanos, usize) {
        if !self.coming.is_empty() && !self.queue.is_empty() {
            let coming = |booked: Booked| booked.slot().is_some_and(|slot| self.coming[slot.index()].arrives > now);
            let behind = self.queue.iter().rev().take_while(|(_, booked)| coming(*booked)).count();
            if behind != 0 {
                return (self.book_before_last(behind, now, time, row), behind);
            }
        }
        (self.book(core, now, time), 0)
    }

    /// Books time before the last commands of the queue; returns when it begins.
    #[cold]
    #[inline(never)]
    fn book_before_last(&mut self, behind: usize, now: Nanos, time: Nanos, row: Option<OpKind>) -> Nanos {
        let mut before = self.queue.len() - behind;
        let (mut start, mut free) = (None, 0);
        let coming = &mut self.coming;
        self.queue.for_each_mut(|(decoded, booked)| {
            if before > 0 {
                before -= 1;
                return;
            }
            let c = &mut coming[booked.slot().expect("the last ones are commands").index()];
            if start.is_none() {
                let begins = now.max(c.turn);
                (start, free) = (Some(begins), begins + time);
            }
            c.turn = free;
            let before = std::mem::replace(decoded, c.arrives.max(free) + c.decode);
            if let Some(kind) = row {
                c.late.add(kind, *decoded - before);
            }
            free = *decoded + c.rest;
        });
        self.free[HOST] = free;
        self.busy += time;
        start.expect("there is one at least")
    }

    /// [`Processor::take_in`] where several cores share the work: the command is handed on from one to the next.
    #[cold]
    #[inline(never)]
    fn take_in_on_several(&mut self, slot: Slot, op: Op, length_bytes: u64, times: [Nanos; 3]) -> (Nanos, Nanos) {
        let [arrived, decode, rest] = times;
        let times = &self.times;
        let command = match op {
            Op::Read => times.read_command,
            Op::Write | Op::Flush | Op::WriteZeroes => times.write_command,
            Op::Trim => times.trim_ranges.commands(length_bytes) * times.trim_command,
        };
        let decoded = if self.duties.map == HOST {
            self.book(HOST, arrived, decode + rest) + decode
        } else {
            let handed_over = self.book(HOST, arrived, command) + command;
            self.book(self.duties.map, handed_over, decode - command + rest) + decode - command
        };
        self.insert(decoded, Booked::command(slot));
        (decoded, decoded + rest)
    }

    /// What the stretches of a write take that follow the first.
    #[inline(always)]
    fn more_extents(&self, units: u64) -> Nanos {
        let each = self.times.dma_extent;
        if each == 0 { 0 } else { (units.div_ceil(self.row_units) - 1) * each }
    }

    /// Whether stretches of a read take time that follow the first.
    #[inline]
    #[must_use]
    pub fn sets_up_extents(&self) -> bool {
        self.times.dma_extent != 0
    }

    /// Sets up so many stretches in which data come from dies; returns when that is done.
    #[cold]
    #[inline(never)]
    pub fn set_up_extents(&mut self, now: Nanos, extents: u64) -> Nanos {
        let time = extents * self.times.dma_extent;
        self.book_now(self.duties.map, now, time, None).0 + time
    }

    /// A program or an erase has ended: the processor sees to it as soon as it has a moment.
    #[inline]
    pub fn program_ended(&mut self, now: Nanos) {
        if self.times.program_end != 0 {
            self.book_now(self.duties.flash, now, self.times.program_end, None);
        }
    }

    /// Slots of the commands that wait for it, and of the one that is being decoded.
    pub fn commands(&self) -> impl Iterator<Item = Slot> + '_ {
        self.queue.iter().filter_map(|(_, booked)| booked.slot())
    }

    /// Queues what ends at `end`, where several cores work: behind what ends by then.
    #[cold]
    fn insert(&mut self, end: Nanos, booked: Booked) {
        let behind = self.queue.iter().rev().take_while(|(at, _)| *at > end).count();
        self.queue.insert_before_last(behind, (end, booked));
    }

    /// Queues the beginning of a round of the collector, behind every command that the host has let go of.
    pub fn queue_round(&mut self, now: Nanos) {
        debug_assert!(!self.several_cores, "rounds take the whole firmware");
        let at = self.book(HOST, now, 0);
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

    /// Prepares an operation. Only moving units takes time. One that yields is begun when those before it are done, so that
    /// commands wait for one of them at most.
    #[cold]
    pub fn prepare(&mut self, now: Nanos, die: DieId, op: FlashOp) {
        self.rows.push_back((die, op));
        if self.booked == 0 || !op.yields() {
            self.book_rows(now);
        }
    }

    /// Books all rows that wait.
    fn book_rows(&mut self, now: Nanos) {
        while self.booked < self.rows.len() {
            self.book_row(now);
        }
    }

    fn book_row(&mut self, now: Nanos) {
        let op = &self.rows[self.booked].1;
        let (kind, time) = (op.kind(), self.row_time(op));
        let (start, behind) = self.book_now(self.duties.flash, now, time, Some(kind));
        let end = start + time;
        if self.several_cores {
            self.insert(end, Booked::ROW);
        } else {
            self.queue.insert_before_last(behind, (end, Booked::ROW));
        }
        self.booked += 1;
    }

    fn row_time(&self, op: &FlashOp) -> Nanos {
        if op.kind().moves_units() { u64::from(op.units()) * self.times.move_unit } else { 0 }
    }

    /// How much of this time, in which a command waits for the core that takes it in, that core is booked for rows.
    #[must_use]
    pub fn moving(&self, from: Nanos, to: Nanos) -> Moving {
        let mut moving = Moving::default();
        if self.booked == 0 || self.duties.flash != HOST {
            return moving;
        }
        let ends = self.queue.iter().filter(|(_, booked)| *booked == Booked::ROW);
        for ((end, _), (_, op)) in ends.zip(&self.rows) {
            let begin = end - self.row_time(op);
            moving.add(op.kind(), end.min(to).saturating_sub(begin.max(from)));
        }
        moving
    }

    /// By how much rows that were asked for after the host had let go of a command have made it later.
    #[must_use]
    pub fn late_for_rows(&self, slot: Slot) -> Moving {
        self.coming.get(slot.index()).map_or(Moving::default(), |c| c.late)
    }

    /// Rows that yield do so no more.
    pub fn bring_forward(&mut self, now: Nanos) {
        self.book_rows(now);
    }

    /// What each unit takes that is moved, if that is all that it has to do with the collector's rows.
    #[inline]
    #[must_use]
    pub fn time_of_move(&self) -> Option<Nanos> {
        (self.times.program_end == 0 && self.times.move_unit != 0).then_some(self.times.move_unit)
    }

    /// When it will have moved a unit for which it is asked at this time, if no command is booked.
    #[inline]
    #[must_use]
    pub fn moved_at(&self, asked: Nanos) -> Nanos {
        self.free[self.duties.flash].max(asked) + self.times.move_unit
    }

    /// Moves a unit, at once in the eyes of everyone else, up to the time that [`Processor::moved_at`] has told.
    #[inline]
    pub fn move_unit(&mut self, until: Nanos) {
        self.free[self.duties.flash] = until;
        self.busy += self.times.move_unit;
    }

    /// The row that has been prepared, and its die.
    pub fn pop_row(&mut self, now: Nanos) -> Option<(DieId, FlashOp)> {
        let row = self.rows.pop_front()?;
        self.booked -= 1;
        if self.booked == 0 && !self.rows.is_empty() {
            self.book_row(now);
        }
        Some(row)
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
        let mut p = Processor::new(&drive, 8);
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
        assert_eq!(p.book(HOST, now + 7, 14_000), now + 13 * 15_000);
        p.prepare(now + 10, DieId::FIRST, op(OpKind::FoldCopy, 1, 2));
        let ends: Vec<Nanos> = std::iter::from_fn(|| p.queue.pop_front()).map(|(at, _)| at).collect();
        assert_eq!(ends, [now + 120_000, now + 195_000, now + 195_000 + 14_000 + 15_000]);
        assert_eq!((p.busy, p.free[HOST]), (14 * 15_000 + 14_000, ends[2]));
        // After a pause it begins when it is asked.
        assert_eq!(p.book(HOST, 2 * now, 1), 2 * now);
    }

    #[test]
    fn rows_on_a_core_of_their_own_come_up_by_the_time_at_which_they_are_ready() {
        let mut p = processor();
        (p.several_cores, p.duties) = (true, Duties::new(Cores::HostMapAndFlash));
        (p.times.read_command, p.times.read_unit) = (6_000, 5_000);
        let read = Request::new(0, Op::Read, 0, 4096);
        p.prepare(0, DieId::FIRST, op(OpKind::GcProgram, 1, 1));
        for slot in 0..2 {
            let (decoded, processed) = p.take_in(Slot::new(slot), &read, MappingUnit::new(4096), 0);
            assert_eq!((decoded, processed), (11_000 + u64::from(slot) * 6_000, decoded));
        }
        let come: Vec<_> = std::iter::from_fn(|| p.next_event().and_then(|_| p.pop())).collect();
        let command = |at, slot| (at, Processed::Command { slot: Slot::new(slot) });
        assert_eq!(come, [command(11_000, 0), (15_000, Processed::Row), command(17_000, 1)]);
        assert_eq!(p.busy(), 2 * 11_000 + 15_000);
    }

    #[test]
    fn a_command_waits_for_one_row_that_yields_and_for_all_that_do_not() {
        let decoded = |yields: bool, brought_forward: bool| {
            let mut p = processor();
            (p.times.read_command, p.times.read_unit) = (6_000, 5_000);
            for block in 1..4 {
                let row = op(OpKind::GcProgram, 2, block);
                p.prepare(0, DieId::FIRST, if yields { row.yielding() } else { row });
            }
            if brought_forward {
                p.bring_forward(0);
            }
            let read = Request::new(0, Op::Read, 0, 4096);
            let (decoded, _) = p.take_in(Slot::new(0), &read, MappingUnit::new(4096), 7);
            let mut rows = Vec::new();
            while let Some((at, what)) = p.pop() {
                if what == Processed::Row {
                    let (_, row) = p.pop_row(at).expect("one for each");
                    rows.push((at, row.block().number()));
                }
            }
            assert!(!p.prepares_rows());
            (decoded, rows)
        };
        // Two units of 15 us each.
        assert_eq!(decoded(false, false), (101_000, vec![(30_000, 1), (60_000, 2), (90_000, 3)]));
        assert_eq!(decoded(true, false), (41_000, vec![(30_000, 1), (71_000, 2), (101_000, 3)]));
        assert_eq!(decoded(true, true), decoded(false, false));
    }

    #[test]
    fn what_is_asked_before_commands_arrive_comes_before_them() {
        let mut p = processor();
        (p.times.read_command, p.times.read_unit, p.times.program_end) = (6_000, 5_000, 1_000);
        p.coming = vec![Coming::default(); 4];
        let read = Request::new(0, Op::Read, 0, 8192);
        let unit = MappingUnit::new(4096);
        let booked = [10_000, 12_000]
            .map(|arrives| (arrives, p.take_in(Slot::new((arrives / 2_000 - 5) as u32), &read, unit, arrives)));
        assert_eq!(booked.map(|(_, times)| times), [(21_000, 26_000), (37_000, 42_000)]);
        // Nobody waits for what is over before the first of them comes.
        p.program_ended(8_000);
        assert_eq!((p.next_event(), p.free[HOST]), (Some(21_000), 42_000));
        // A row of one unit, of 15 us: both wait for it, and for the end of a program.
        p.prepare(9_500, DieId::FIRST, op(OpKind::GcProgram, 1, 1));
        p.program_ended(9_900);
        // When the first has come, only the second waits for another row.
        p.prepare(11_000, DieId::FIRST, op(OpKind::GcProgram, 1, 2));
        // And when that has come too, it comes behind both.
        p.prepare(12_000, DieId::FIRST, op(OpKind::GcProgram, 1, 3));
        let come: Vec<_> = std::iter::from_fn(|| p.pop()).collect();
        let command = |at, slot| (at, Processed::Command { slot: Slot::new(slot) });
        // The first row from 9.5 us on, the end of the program behind it, the first command from 25.5 to 41.5.
        let first = [(24_500, Processed::Row), command(36_500, 0)];
        let then = [(56_500, Processed::Row), command(67_500, 1), (87_500, Processed::Row)];
        assert_eq!(come, [&first[..], &then].concat());
        assert_eq!((p.busy, p.free[HOST]), (2 * 16_000 + 2 * 1_000 + 3 * 15_000, 87_500));
    }

    #[test]
    fn a_wait_for_rows_is_known_from_one_for_other_commands() {
        let mut p = processor();
        (p.times.read_command, p.times.read_unit) = (6_000, 5_000);
        p.coming = vec![Coming::default(); 4];
        let read = Request::new(0, Op::Read, 0, 4096);
        let unit = MappingUnit::new(4096);
        let take_in = |p: &mut Processor, slot, arrives| p.take_in(Slot::new(slot), &read, unit, arrives).0;
        // Until 30 us it collects, until 45 it folds, until 56 it looks up a read that came at 1 us.
        p.prepare(0, DieId::FIRST, op(OpKind::GcProgram, 2, 1));
        p.prepare(0, DieId::FIRST, op(OpKind::FoldProgram, 1, 2));
        let first = take_in(&mut p, 0, 1_000);
        assert_eq!((first, p.moving(1_000, first)), (56_000, Moving { collected: 29_000, folded: 15_000, merged: 0 }));
        // What is merged is neither.
        let mut merging = p.clone();
        merging.prepare(0, DieId::FIRST, op(OpKind::CopyProgram, 1, 2));
        let behind = take_in(&mut merging, 1, 40_000);
        assert_eq!(merging.moving(40_000, behind), Moving { collected: 0, folded: 5_000, merged: 15_000 });
        // One that comes at 40 us has missed the collection.
        let second = take_in(&mut p, 1, 40_000);
        assert_eq!((second, p.moving(40_000, second)), (67_000, Moving { collected: 0, folded: 5_000, merged: 0 }));
        // What is folded before it arrives makes it later; a row after that does not.
        p.prepare(39_000, DieId::FIRST, op(OpKind::FoldCopy, 1, 3));
        p.prepare(41_000, DieId::FIRST, op(OpKind::GcProgram, 1, 4));
        assert_eq!(p.late_for_rows(Slot::new(0)), Moving::default());
        assert_eq!(p.late_for_rows(Slot::new(1)), Moving { collected: 0, folded: 15_000, merged: 0 });
        assert_eq!(take_in(&mut p, 1, 200_000), 211_000, "and its slot's next command begins anew");
        assert_eq!((p.late_for_rows(Slot::new(1)), p.moving(200_000, 211_000)), (Moving::default(), Moving::default()));
    }

    #[test]
    fn trim_takes_its_time_for_each_command_range_and_map_page() {
        let mut p = processor();
        (p.times.trim_command, p.times.trim_range, p.times.trim_map_page) = (100_000, 5_000, 1_000);
        let unit = MappingUnit::new(4096);
        let times = &p.times;
        let trim = |offset, length| times.trim(&Request::new(0, Op::Trim, offset, length), unit);
        assert_eq!(trim(4096, 4096), 106_000);
        assert_eq!(trim((4 << 20) - 4096, 8192), 107_000, "entries on two pages of the map");
        // 32 MiB are one range of 65,535 sectors and one of a single sector.
        assert_eq!(trim(0, 32 << 20), 100_000 + 2 * 5_000 + 8 * 1_000);
        // 64 ranges fill a command.
        assert_eq!(trim(0, 64 * 65_535 * 512), 100_000 + 64 * 5_000 + 512 * 1_000);
        assert_eq!(trim(0, 64 * 65_535 * 512 + 4096), 200_000 + 65 * 5_000 + 512 * 1_000);
        // Of units four times as long a page of the map holds four times as much.
        let coarse = times.trim(&Request::new(0, Op::Trim, 0, 32 << 20), MappingUnit::new(16 << 10));
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
        assert_eq!((p.busy, p.free[HOST]), (120_000, 120_000));
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
