//! What a die does next, and how long each step of it takes.

use ssdlab_core::Nanos;
use ssdlab_ftl::{Act, FlashOp, OpKind, Translation};
use ssdlab_nand::{CellMode, DieId, Medium, WHOLE, planes_sensed};

use super::die::Die;
use super::suspend::Progress;
use super::{Backend, NEVER};
use crate::power::{Ahead, ArrayWork};
use crate::probe::{Details, Probe};
use crate::timing::{Interval, Operation, Work};

/// When a die begins an operation and takes its command, and how its array time differs from the datasheet's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    pub now: Nanos,
    /// When it takes the command.
    pub from: Nanos,
    /// In 2^-16.
    pub share: u64,
}

/// What an operation takes that works on other planes too.
#[derive(Clone, Copy, Debug)]
struct Joint {
    /// Rows in all, its own included.
    rows: u64,
    /// Units and eighths of units of the other planes that cross the channel for a read.
    units: u32,
    eighths: u32,
}

impl Joint {
    const ALONE: Joint = Joint { rows: 1, units: 0, eighths: 0 };
}

impl Backend {
    /// Begins the next operation of a die that has none under way; if there is none, the die has no event.
    #[inline]
    pub(super) fn begin_next<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        now: Nanos,
        translation: &mut T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        if self.special {
            return self.begin_next_specially(d, now, translation, probe);
        }
        let die = &mut self.dies[d.index()];
        if die.busy {
            return;
        }
        let read = match die.others.is_empty() {
            true => die.reads.pop_front(),
            false if die.passes < self.reads_in_a_row || !lets_pass(die, now) => die.take_read(),
            false => None,
        };
        let op = match read {
            Some(op) => op,
            None => match die.others.front() {
                Some(op) => {
                    let late = data_are_late_by(&op, now);
                    if late > 0 {
                        return self.wait_for_data(d, [now, now + late], probe);
                    }
                    die.others.pop_front();
                    die.passes = 0;
                    op
                }
                None => return self.events.set(d.index(), NEVER),
            },
        };
        translation.began(&op);
        // Dies that know one mode only are not asked which: it would cost them a look at the block's state.
        let several = self.times.several_modes();
        let mode = if several { translation.medium().mode(op.block()) } else { self.times.native() };
        let course = Course { now, from: now, share: WHOLE };
        if self.correction.is_some() {
            return self.begin_corrected(d, op, mode, course, translation, probe);
        }
        self.begin::<false, EXPLAIN, CHECK>(d, op, mode, course, probe);
    }

    /// [`Backend::begin_next`] where dies or the controller have more to them than one operation after the other.
    #[inline(never)]
    fn begin_next_specially<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        now: Nanos,
        translation: &mut T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        if self.is_plane(d) {
            return self.begin_on_plane(d, now, translation, probe);
        }
        let mut free_at = now;
        if self.turns.is_some() && self.is_at_reads(d) {
            self.pass_turn_on(d);
        }
        if self.cache_program.is_some() {
            // It may be interrupted in its turn.
            self.begin_loaded(d, now, translation, probe);
        }
        if self.dies[d.index()].busy {
            let Some(may_read_at) = self.interrupt(d, now, probe) else { return };
            free_at = may_read_at;
            if self.plane_reads.is_some() {
                self.leave_from(d, may_read_at);
            }
        }
        if self.plane_reads.is_some() {
            if self.leaves_to_planes(d) {
                return self.is_at_nothing(d, now, probe);
            }
            free_at = now.max(self.dies[d.index()].reads_from);
        }
        let die = &self.dies[d.index()];
        let others_turn = die.passes >= self.reads_in_a_row && self.lets_pass_specially(d, now, translation.medium());
        let die = &mut self.dies[d.index()];
        if (die.reads.is_empty() || others_turn) && die.suspended.is_some() {
            self.resume(d, now, probe);
            return self.expect_interruption(d, now);
        }
        let mut reads = !die.reads.is_empty();
        if !reads {
            let data_come = self.data_come_at(d, now, translation.medium());
            if data_come > now {
                self.hand_turn_on(d);
                return self.wait_for_data(d, [now, data_come], probe);
            }
        }
        let mut next = None;
        if others_turn {
            next = self.take_other(d, now);
            // Where another die's turn to program is not over, the reads go on.
            reads = next.is_none();
        }
        let Some((op, asked)) = next.or_else(|| self.take_in_turn(d, now)) else {
            return self.is_at_nothing(d, now, probe);
        };
        translation.began(&op);
        let mode = translation.medium().mode(op.block());
        if self.planes.is_some() {
            self.take_along(d, &op, reads, translation);
        }
        let course = self.course(d, &op, mode, [now, free_at, asked], translation, probe);
        if self.correction.is_some() {
            self.begin_corrected(d, op, mode, course, translation, probe);
        } else {
            self.begin::<true, EXPLAIN, CHECK>(d, op, mode, course, probe);
        }
        if others_turn && !reads {
            self.expect_interruption(d, now);
        }
    }

    /// What a die does next, if it has anything to do and may, and when that was asked for.
    pub(super) fn take_in_turn(&mut self, d: DieId, now: Nanos) -> Option<(FlashOp, Nanos)> {
        let die = &mut self.dies[d.index()];
        if let Some(op) = die.take_read() {
            return Some((op, die.asked.pop_front().unwrap_or(now)));
        }
        self.take_other(d, now)
    }

    /// The same of what is no read of the host's.
    fn take_other(&mut self, d: DieId, now: Nanos) -> Option<(FlashOp, Nanos)> {
        let die = &self.dies[d.index()];
        let yielding = self.behind.as_ref().filter(|behind| behind.is_due(d, die.others.front()));
        let next = yielding.map_or_else(|| die.others.front(), |behind| behind.front(d));
        let yields = yielding.is_some();
        if let Some(turns) = &mut self.turns {
            if next.is_some_and(|op| op.kind().is_program()) {
                if !turns.may_begin(d) {
                    return None;
                }
                turns.beside(d).for_each(|other| self.woken.insert(other.number()));
            } else if let Some(next) = turns.give_up(d) {
                self.woken.insert(next.number());
            }
        }
        let op = if yields { self.behind.as_mut()?.pop(d) } else { self.dies[d.index()].others.pop_front() };
        self.dies[d.index()].passes = 0;
        Some((op?, now))
    }

    /// [`lets_pass`] of a die with more to it, which may have been interrupted.
    #[cold]
    #[inline(never)]
    fn lets_pass_specially(&mut self, d: DieId, now: Nanos, medium: &Medium) -> bool {
        self.dies[d.index()].passes = 0;
        let die = &self.dies[d.index()];
        // What goes along with it in other planes is not looked at here.
        let alone = |op: &FlashOp| self.planes.is_none() || op.kind().act() != Act::Erase;
        let is_read = |op: &FlashOp| {
            let by_plane = |plane: DieId| is_read_first(&self.dies[plane.index()], op);
            is_read_first(die, op) || self.planes_that_read(d).any(by_plane)
        };
        let may = |op: FlashOp| alone(&op) && !is_read(&op) && self.data_come_at(d, now, medium) <= now;
        die.suspended.is_some() || die.others.front().is_some_and(may)
    }

    /// A die whose turn it is to program has no data yet: it is the next one's. Its place in the line it keeps.
    fn hand_turn_on(&mut self, d: DieId) {
        if let Some(next) = self.turns.as_mut().and_then(|turns| turns.hand_on(d)) {
            self.woken.insert(next.number());
        }
    }

    /// Whether a die, or a plane of it, is at something or has reads to begin, so that it cannot begin a program.
    fn is_at_reads(&self, d: DieId) -> bool {
        self.dies[d.index()].busy || self.a_plane_is_busy(d) || self.a_read_waits(d)
    }

    /// A die goes on with reads. If it is its turn to program, that is the next one's that can begin a program just now; this die comes
    /// first again after it.
    #[cold]
    #[inline(never)]
    fn pass_turn_on(&mut self, d: DieId) {
        let Some(mut turns) = self.turns.take() else { return };
        if let Some(next) = turns.pass_on(d, |other| !self.is_at_reads(other)) {
            self.woken.insert(next.number());
        }
        self.turns = Some(turns);
    }

    /// When all data have come of the program of the host's that is next on a die, and of those that go with it; `now` or before if
    /// there is no such program.
    fn data_come_at(&self, d: DieId, now: Nanos, medium: &Medium) -> Nanos {
        let waiting = &self.dies[d.index()].others;
        let Some(next) = waiting.front().filter(|op| op.kind() == OpKind::HostProgram) else { return now };
        if self.behind.as_ref().is_some_and(|behind| behind.is_due(d, Some(next))) {
            return now;
        }
        let beside = match &self.planes {
            Some(planes) if self.takes_along_others(d) => planes.going_along(&next, waiting.iter().skip(1), medium),
            _ => 0,
        };
        now + waiting.iter().take(1 + beside).map(|op| data_are_late_by(&op, now)).max().unwrap_or(0)
    }

    /// Whether an operation that does not yield takes along others of its queue: what does not yield might have to wait for what
    /// does.
    fn takes_along_others(&self, d: DieId) -> bool {
        self.behind.as_ref().is_none_or(|behind| behind.is_empty(d))
    }

    /// A die has nothing to do, or may not do it yet: it has no event.
    fn is_at_nothing<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        now: Nanos,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        self.events.set(d.index(), NEVER);
        probe.explain(|explanations| explanations.waits_for_no_data(d, now));
    }

    /// The program that is next on a die has its data at a later time. Until then the die is free for reads, and is looked at
    /// again.
    #[cold]
    #[inline(never)]
    fn wait_for_data<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        [now, data_come]: [Nanos; 2],
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        self.look_at_later(d, data_come);
        probe.explain(|explanations| explanations.waits_for_data(d, now));
    }

    /// An operation that a die begins takes along what can be done in its other planes. `reads`: it came from the queue of
    /// reads.
    fn take_along<T: Translation>(&mut self, d: DieId, op: &FlashOp, reads: bool, translation: &mut T) {
        let alone = !reads && !self.takes_along_others(d);
        let Some(planes) = &mut self.planes else { return };
        let die = &mut self.dies[d.index()];
        let waiting = match &mut self.behind {
            Some(behind) if alone => behind.beside(d, op),
            _ if reads => &mut die.reads,
            _ => &mut die.others,
        };
        let taken = planes.take_along(d, op, waiting, translation.medium());
        if reads && self.notes_asked {
            (0..taken).for_each(|_| _ = die.asked.pop_front());
        }
        for other in planes.beside(d) {
            translation.began(other);
        }
    }

    /// What goes with the operation that a die begins.
    #[inline]
    pub(super) fn beside(&self, d: DieId) -> &[FlashOp] {
        match &self.planes {
            Some(planes) if !self.is_plane(d) => planes.beside(d),
            _ => &[],
        }
    }

    /// Planes that an operation works on.
    pub(super) fn planes_of(&self, d: DieId, op: &FlashOp) -> u8 {
        if let Some(plane) = self.plane_bit(d) {
            return plane;
        }
        if self.plane_reads.is_some() && op.kind().act() == Act::Read {
            // It is not one of those that leave the other planes to theirs.
            return self.all_planes;
        }
        self.planes.as_ref().map_or(self.all_planes, |planes| planes.of(d, op))
    }

    /// The share of an operation and of what goes with it: the slowest plane decides.
    #[inline(always)]
    pub(super) fn share_of_all(&self, op: &FlashOp, beside: &[FlashOp], medium: &Medium) -> u64 {
        let own = self.share_of(op, medium);
        if beside.is_empty() { own } else { beside.iter().map(|op| self.share_of(op, medium)).fold(own, u64::max) }
    }

    /// The time of an operation's array part, as a share of what the die's file says.
    #[inline(always)]
    fn share_of(&self, op: &FlashOp, medium: &Medium) -> u64 {
        self.variation.as_ref().map_or(WHOLE, |variation| {
            let (block, page) = (op.block(), op.page());
            match op.kind().act() {
                Act::Erase => variation.erase(block, medium.history(block).wear_ppb),
                Act::Program | Act::ProgramOwn => variation.program(block, page, medium.history(block).wear_ppb),
                Act::Read => variation.read(block, page),
            }
        })
    }

    /// When a die takes the command of an operation, and its share of the array time. `free_at`: when it takes commands;
    /// `asked`: when it was asked for this one.
    pub(super) fn course<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        op: &FlashOp,
        mode: CellMode,
        [now, free_at, asked]: [Nanos; 3],
        translation: &T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) -> Course {
        let (page, act) = (op.page(), op.kind().act());
        let share = self.share_of_all(op, self.beside(d), translation.medium());
        let mut from = free_at;
        if let Some(cycles) = self.cycles {
            let length = match act {
                Act::Erase => cycles.erase,
                Act::Program | Act::ProgramOwn => 0,
                Act::Read => cycles.read,
            };
            from = free_at + length;
            self.send_command(self.dies[d.index()].channel, now, Interval::new(free_at, from), probe);
        }
        let die = &mut self.dies[d.index()];
        let read = act == Act::Read;
        if let Some(handed_over) = self.cache_read {
            // The last read has ended just now, and this one was asked for while its data left.
            if read && die.sensed != 0 && asked < now && free_at == now {
                let slot = from - free_at;
                from = from.min((die.sensed + handed_over).max(asked + slot));
            }
            die.sensed = 0;
            if read && op.rows() == 1 {
                let array = scaled(self.times.read(mode)[page as usize], share);
                // Until the last one's data are out, just now, they fill the other register.
                die.sensed = (from + self.command_time + array).max(now);
            }
        }
        Course { now, from, share }
    }

    /// Command cycles occupy a channel: at `slot`, or ahead of the next transfer.
    #[inline]
    pub(super) fn send_command<const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        channel: u8,
        now: Nanos,
        slot: Interval,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        let length = slot.to - slot.from;
        if length > 0 && self.channels[usize::from(channel)].command(now, slot.from, length) {
            probe.check(|checks| checks.cycles(channel.into(), now, slot));
        }
    }

    /// Begins an operation. `SPECIAL`: there may be more to it than the datasheet's plain times.
    #[inline(always)]
    pub(super) fn begin<const SPECIAL: bool, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        op: FlashOp,
        mode: CellMode,
        course: Course,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) -> Nanos {
        let Course { now, from: taken, share } = course;
        let scaled = |time: Nanos| if SPECIAL { (time * share) >> 16 } else { time };
        let joint = if SPECIAL { self.joint(d, &op) } else { Joint::ALONE };
        let channel = self.dies[d.index()].channel;
        let (work, array, array_ended, transfer, end) = match op.kind().act() {
            Act::Read => {
                let read_time = self.times.read(mode);
                let mut array = 0;
                let mut rows = if SPECIAL { op.rows() } else { op.rows_of_whole() };
                while rows != 0 {
                    array += read_time[op.page() as usize + rows.trailing_zeros() as usize];
                    rows &= rows - 1;
                }
                array = scaled(array);
                let units = op.units() + joint.units;
                let ready = (taken + self.command_time + array).max(now);
                let mut length = if SPECIAL {
                    let eighths = u64::from(op.eighths() + joint.eighths);
                    self.work.read_eighths += eighths;
                    (eighths * self.unit_picos).div_ceil(8000)
                } else {
                    self.work.read_eighths += 8 * u64::from(op.units());
                    (u64::from(op.units()) * self.unit_picos).div_ceil(1000)
                };
                let channel = &mut self.channels[usize::from(channel)];
                if SPECIAL && let Some(cycles) = &self.cycles {
                    length += cycles.data_out + channel.take_owed();
                }
                let from = channel.book(now, ready, length);
                let planes = if units <= self.page_units { 1 } else { self.planes_sensed(units, op.rows()) };
                (ArrayWork::sensing(planes), array, ready, Interval::new(from, from + length), from + length)
            }
            Act::Program => {
                let transfer = self.send_rows::<SPECIAL>(channel, mode, joint.rows, now, taken + self.command_time);
                let array = scaled(self.times.program(mode)[op.page() as usize]);
                let end = transfer.to + array;
                (self.programming(mode, joint.rows), array, end, transfer, end)
            }
            Act::ProgramOwn => {
                let array = scaled(self.times.program(mode)[op.page() as usize]);
                let end = taken + self.command_time + array;
                (self.programming(mode, joint.rows), array, end, Interval::new(now, now), end)
            }
            Act::Erase => {
                let array = scaled(self.times.erase(mode));
                let end = taken + self.command_time + array;
                (ArrayWork::erasing(self.planes_of_rows(joint.rows)), array, end, Interval::new(now, now), end)
            }
        };
        probe.check(|checks| {
            let work = as_judged::<SPECIAL>(&op, joint);
            let beside = if SPECIAL { self.beside(d) } else { &[] };
            let data_here = beside.iter().fold(data_here(&op, now), |here, op| here.max(data_here(op, now)));
            // The translation layer works on all planes of a die at once, unless it asks for each by itself.
            let planes = if SPECIAL { self.planes_of(d, &op) } else { self.all_planes };
            let die = if SPECIAL { self.whole_die(d) } else { d };
            checks.operation(&Operation { die, planes, mode, work, begin: taken, share, data_here, transfer, end })
        });
        self.work.add(work, array);
        let die = &mut self.dies[d.index()];
        (die.array, die.array_until) = (Ahead { work, time: array }, array_ended);
        die.current = op;
        die.busy = true;
        if SPECIAL && (self.suspend.is_some() || self.cache_program.is_some()) && op.kind().act() != Act::Read {
            die.progress = Progress::begin(transfer.to.max(taken));
        }
        probe.explain(|explanations| {
            explanations.operation(d, op.kind(), [now, array_ended, end], || Details::of(&op, channel, transfer));
        });
        self.events.set(d.index(), end);
        end
    }

    /// The data of a program cross the channel, of so many rows, padding included, not before `earliest`.
    #[inline(always)]
    pub(super) fn send_rows<const SPECIAL: bool>(
        &mut self,
        channel: u8,
        mode: CellMode,
        rows: u64,
        now: Nanos,
        earliest: Nanos,
    ) -> Interval {
        let passes = if SPECIAL && mode == self.times.native() { self.passes * rows } else { rows };
        let mut length = self.row_transfer * passes;
        let channel = &mut self.channels[usize::from(channel)];
        if SPECIAL && let Some(cycles) = &self.cycles {
            length += cycles.program + channel.take_owed();
        }
        let from = channel.book(now, earliest, length);
        self.work.sent_units += self.row_units * passes;
        self.work.encoded_units += self.row_units * rows;
        Interval::new(from, from + length)
    }

    /// What the array is at while it programs so many rows at once.
    #[inline]
    pub(super) fn programming(&self, mode: CellMode, rows: u64) -> ArrayWork {
        let own = !self.times.several_modes() || mode == self.times.native();
        let planes = self.planes_of_rows(rows);
        if own { ArrayWork::programming(planes) } else { ArrayWork::programming_reduced(planes) }
    }

    /// Planes that so many rows lie on, or blocks, that are programmed or erased at once.
    #[inline]
    pub(super) fn planes_of_rows(&self, rows: u64) -> u32 {
        self.row_planes * rows as u32
    }

    /// Planes that so many units in `rows` of a block lie on, at the least.
    pub(super) fn planes_sensed(&self, units: u32, rows: u8) -> u32 {
        planes_sensed(units, rows.count_ones(), self.page_units, self.all_planes.count_ones())
    }

    /// What goes with an operation that a die begins, in sum.
    #[inline]
    fn joint(&self, d: DieId, op: &FlashOp) -> Joint {
        let mut joint = Joint::ALONE;
        for other in self.beside(d) {
            joint.rows += 1;
            joint.units += other.units();
            if op.kind().act() == Act::Read {
                joint.eighths += other.eighths();
            }
        }
        joint
    }

    /// [`Backend::begin`] on flash that errs.
    #[inline(never)]
    pub(super) fn begin_corrected<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        op: FlashOp,
        mode: CellMode,
        course: Course,
        translation: &mut T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        let alone = self.is_plane(d);
        let beside = self.planes.as_ref().filter(|_| !alone).map_or(&[][..], |planes| planes.beside(d));
        let retry = self
            .correction
            .as_mut()
            .and_then(|correction| correction.begin_all(d, &op, beside, mode, course.now, translation));
        let end = self.begin::<true, EXPLAIN, CHECK>(d, op, mode, course, probe);
        if let Some(mut retry) = retry {
            self.dies[d.index()].sensed = 0;
            retry.share = course.share;
            self.begin_retry(d, retry, end, probe);
        }
    }
}

/// What an operation does, in the words of the referee.
#[inline]
fn as_judged<const SPECIAL: bool>(op: &FlashOp, joint: Joint) -> Work {
    let page = op.page();
    match op.kind().act() {
        Act::Read => {
            let (rows, eighths) =
                if SPECIAL { (op.rows(), op.eighths() + joint.eighths) } else { (op.rows_of_whole(), op.units() * 8) };
            Work::Read { page, rows, eighths }
        }
        Act::Program => Work::Program { page },
        Act::ProgramOwn => Work::Copy { page },
        Act::Erase => Work::Erase,
    }
}

/// An array time of which a place takes a share.
#[inline(always)]
pub(super) fn scaled(time: Nanos, share: u64) -> Nanos {
    (time * share) >> 16
}

/// So many reads have passed what waits for a die: whether that has its turn now, and can begin.
#[cold]
#[inline(never)]
fn lets_pass(die: &mut Die, now: Nanos) -> bool {
    die.passes = 0;
    die.others.front().is_some_and(|op| data_are_late_by(&op, now) == 0 && !is_read_first(die, &op))
}

/// Whether an operation would take from a read that waits what it is to read.
fn is_read_first(die: &Die, op: &FlashOp) -> bool {
    op.kind().act() == Act::Erase && die.reads.iter().any(|read| read.block() == op.block())
}

/// By how much the data of a program come later than now.
#[inline]
pub(super) fn data_are_late_by(op: &FlashOp, now: Nanos) -> Nanos {
    if op.kind() == OpKind::HostProgram { op.data_late_by(now).max(0).cast_unsigned() } else { 0 }
}

/// From when on the data of a program are there, for the referee: the operation itself is asked, and nothing that decides when
/// it begins.
#[inline]
pub(super) fn data_here(op: &FlashOp, now: Nanos) -> Nanos {
    match op.kind() {
        OpKind::HostProgram => now.saturating_add_signed(op.data_late_by(now)),
        _ => now,
    }
}
