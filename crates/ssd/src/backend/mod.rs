//! Dies and channels: which operation a die does next, and exactly when it ends.
//!
//! A die does one operation at a time. Its event is the end of that operation; the steps inside (command, array,
//! bus) are computed when it begins, the bus by booking. Host reads may pass what else waits for the die; everything
//! else keeps its order, which is what keeps programs of one block in order and erases behind the reads of what they
//! erase; but what yields to the host's operations waits in a queue of its own (`behind.rs`).

mod array_times;
mod behind;
mod cache_program;
mod channel;
mod copies;
mod correction;
mod ended;
mod events;
mod planes;
mod power_cut;
mod retry;
mod suspend;
mod turns;

use ssdlab_core::{DieSet, Nanos, Ring, SECTOR_BYTES, nanos_from_us};
use ssdlab_ftl::{FlashOp, OpKind, Translation};
use ssdlab_nand::{BlockId, CellMode, DieId, DieSpec, Medium, Variation, WHOLE};

use crate::power::{Ahead, ArrayWork, FlashWork};
use crate::probe::Probe;
use crate::spec::DriveSpec;
use crate::timing::{Interval, Operation, Work};

use array_times::ArrayTimes;
use behind::Behind;
use cache_program::CacheProgram;
use channel::Channel;
use copies::Copier;
pub use correction::{Correction, CorrectionCounters, Loss, LossReader, ReadRetry, SavedCorrection, ladder_of_unit};
use events::Tournament;
use planes::Planes;
use suspend::{Progress, SuspendRules, Suspended};
use turns::Turns;

pub use events::NEVER;
pub use power_cut::AtWork;

/// More than half a minute before the times in waiting operations are no longer told apart from later ones, and longer than
/// any operation takes.
const RENEWS_EVERY: Nanos = 120_000_000_000;

// What every operation touches comes first, on two cache lines; then what dies with features need.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Die {
    current: FlashOp,
    /// What its array was given last, and when it is or was through with it.
    array: Ahead,
    array_until: Nanos,
    reads: Ring<FlashOp>,
    others: Ring<FlashOp>,
    busy: bool,
    channel: u8,
    /// The read under way did not decode at once.
    retry: Option<Box<ReadRetry>>,
    /// With cache reads: when each of `reads` was asked for, and when the array had sensed the last.
    asked: Ring<Nanos>,
    sensed: Nanos,
    suspended: Option<Suspended>,
    progress: Progress,
    /// Its event is when it may be interrupted; this is when its operation ends otherwise.
    ends_otherwise: Option<Nanos>,
}

impl Die {
    fn idle(channel: u8) -> Self {
        let nothing = FlashOp::erase(BlockId::default());
        Die {
            current: nothing,
            busy: false,
            channel,
            retry: None,
            reads: Ring::new(8, nothing),
            others: Ring::new(8, nothing),
            asked: Ring::new(8, 0),
            sensed: 0,
            suspended: None,
            progress: Progress::default(),
            ends_otherwise: None,
            array: Ahead { work: ArrayWork::ERASING, time: 0 },
            array_until: 0,
        }
    }

    /// What its array has been given and has not done at this time.
    fn ahead(&self, now: Nanos) -> Ahead {
        Ahead { time: self.array_until.saturating_sub(now).min(self.array.time), ..self.array }
    }
}

/// When a die takes the command of an operation, and how its array time differs from the datasheet's.
#[derive(Clone, Copy, Debug)]
struct Course {
    from: Nanos,
    /// In 2^-16.
    share: u64,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Backend {
    dies: Vec<Die>,
    channels: Vec<Channel>,
    events: Tournament,
    /// Dies that may have something to do and nothing under way; see [`Backend::begin_woken`].
    woken: DieSet,
    /// When the times in what waits are to be renewed.
    renews_at: Nanos,
    times: ArrayTimes,
    command_time: Nanos,
    /// Picoseconds to move one unit with its share of the spare area.
    unit_picos: u64,
    row_units: u64,
    /// Units of a page of one plane.
    page_units: u32,
    /// Time to move a whole row.
    row_transfer: Nanos,
    /// How often a row crosses the channel to be programmed in the die's own mode.
    passes: u64,
    all_planes: u8,
    reads_first: bool,
    /// Sectors of the least stretch of a page that crosses the channel by itself.
    read_granule: u8,
    /// Sectors of an eighth of a logical page.
    eighth_sectors: u32,
    /// What the dies were asked to do so far: what their energy follows from.
    work: FlashWork,
    /// Drives with `[ecc]` only.
    correction: Option<Box<Correction>>,
    /// Binary logarithm of how many dies of the map's share one of these.
    plane_shift: u32,
    /// Whether any of the following is there.
    special: bool,
    /// Dies that copy, while that is worked out; and whether it can be.
    copiers: Vec<Copier>,
    copies_plainly: bool,
    turns: Option<Box<Turns>>,
    /// Where some operations yield to the host's.
    behind: Option<Box<Behind>>,
    /// Where the map asks for each plane by itself.
    planes: Option<Box<Planes>>,
    variation: Option<Box<Variation>>,
    suspend: Option<SuspendRules>,
    cycles: Option<Cycles>,
    /// With cache reads: from one register to the other.
    cache_read: Option<Nanos>,
    cache_program: Option<Box<CacheProgram>>,
}

/// How long cycles occupy the channel.
#[derive(Clone, Copy, Debug, Default)]
struct Cycles {
    read: Nanos,
    data_out: Nanos,
    program: Nanos,
    erase: Nanos,
}

/// What an operation takes that works on other planes too.
#[derive(Clone, Copy, Debug)]
struct Joint {
    /// Rows in all, its own included.
    rows: u64,
    /// Units and eighths of units of the other planes that cross the channel for a read.
    units: u32,
    eighths: u32,
    /// How much later than now the last data of the others come.
    late: Nanos,
}

impl Joint {
    const ALONE: Joint = Joint { rows: 1, units: 0, eighths: 0, late: 0 };
}

/// An operation that has ended, and its die.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub die: DieId,
    pub op: FlashOp,
}

impl Backend {
    #[must_use]
    pub fn new(drive: &DriveSpec, die: &DieSpec, correction: Option<Correction>, variation: Option<Variation>) -> Self {
        let (dies, channels) = (drive.flash.dies, drive.controller.channels);
        let g = &die.geometry;
        let page_bytes = f64::from(g.page_bytes + g.spare_bytes);
        let unit_bytes = page_bytes / f64::from(drive.units_per_page(die));
        let rate = die.bus.mega_transfers_per_s;
        let unit_picos = if rate == 0.0 { 0 } else { (unit_bytes * 1e6 / rate + 0.5) as u64 };
        let planes = Planes::new(drive, die);
        let row_planes = if planes.is_some() { 1 } else { g.planes };
        let row_units = u64::from(row_planes * drive.units_per_page(die));
        let features = &die.features;
        let cycles = features.cycles.as_ref().map(|c| Cycles {
            read: nanos_from_us(c.read_us),
            data_out: nanos_from_us(c.data_out_us),
            program: nanos_from_us(c.program_us),
            erase: nanos_from_us(c.erase_us),
        });
        let turns = drive.controller.programs_at_once.filter(|&most| most < dies);
        let suspend = features.suspend.as_ref().map(SuspendRules::new);
        let cache_read = features.cache_read_busy_us.map(nanos_from_us);
        // Where the map asks for each plane by itself, what goes together is known once it begins.
        let cache_program = features.cache_program_busy_us.map(nanos_from_us).filter(|_| planes.is_none());
        Backend {
            dies: (0..dies).map(|d| Die::idle((d % channels) as u8)).collect(),
            channels: vec![Channel::default(); channels as usize],
            events: Tournament::new(dies as usize),
            woken: DieSet::with_room(dies),
            renews_at: RENEWS_EVERY,
            times: ArrayTimes::new(die),
            // Cycles that occupy the channel are booked there.
            command_time: if cycles.is_some() { 0 } else { nanos_from_us(die.bus.command_us) },
            unit_picos,
            row_units,
            page_units: drive.units_per_page(die),
            row_transfer: (row_units * unit_picos).div_ceil(1000),
            passes: features.program_passes.into(),
            all_planes: ((1u32 << g.planes) - 1) as u8,
            reads_first: drive.controller.reads_first,
            read_granule: drive
                .controller
                .read_granule_bytes
                .map_or(8, |bytes| (8 * bytes / drive.mapping.unit_bytes()) as u8),
            eighth_sectors: drive.mapping.unit_bytes() / (8 * SECTOR_BYTES as u32),
            work: FlashWork::default(),
            plane_shift: planes.as_ref().map_or(0, Planes::shift),
            special: turns.is_some()
                || planes.is_some()
                || variation.is_some()
                || suspend.is_some()
                || cycles.is_some()
                || cache_read.is_some()
                || cache_program.is_some()
                || features.program_passes > 1
                || drive.controller.read_granule_bytes.is_some()
                || drive.gc.background_beside_host,
            copiers: Vec::new(),
            copies_plainly: correction.is_none()
                && turns.is_none()
                && planes.is_none()
                && variation.is_none()
                && suspend.is_none()
                && cycles.is_none()
                && cache_read.is_none()
                && cache_program.is_none()
                && !die.has_several_modes(),
            correction: correction.map(Box::new),
            behind: drive.gc.background_beside_host.then(|| Box::new(Behind::new(dies))),
            turns: turns.map(|most| Box::new(Turns::new(most, dies))),
            planes: planes.map(Box::new),
            variation: variation.map(Box::new),
            suspend,
            cycles,
            cache_read,
            cache_program: cache_program.map(|busy| Box::new(CacheProgram::new(busy, dies))),
        }
    }

    /// See [`crate::SimulatedSsd::set_page_read_times`].
    pub fn set_page_read_times(&mut self, by_page: &[Nanos]) {
        self.times.set_native_reads(by_page);
    }

    /// The earliest end of an operation, and its die; [`NEVER`] if no die is at work.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> (Nanos, DieId) {
        let (at, die) = self.events.first();
        (at, DieId::new(die as u32))
    }

    /// tBERS of a block in the die's own cell mode.
    #[must_use]
    pub fn erase_time(&self) -> Nanos {
        self.times.erase(self.times.native())
    }

    /// What the dies have done up to now.
    #[must_use]
    pub fn work_done(&self, now: Nanos) -> FlashWork {
        self.work.without(self.dies.iter().map(|die| die.ahead(now)))
    }

    /// Blocks have been erased outside the simulated time of their dies.
    pub fn count_erases(&mut self, blocks: u64) {
        self.work.add(ArrayWork::ERASING, blocks * self.erase_time());
    }

    #[must_use]
    pub fn correction(&self) -> Option<&Correction> {
        self.correction.as_deref()
    }

    #[inline]
    pub fn correction_mut(&mut self) -> Option<&mut Correction> {
        self.correction.as_deref_mut()
    }

    /// The die that a die of the translation layer's is, or is a plane of.
    #[inline(always)]
    #[must_use]
    pub fn die_of(&self, mapped: DieId) -> DieId {
        DieId::new(mapped.number() >> self.plane_shift)
    }

    /// Binary logarithm of how many dies of the translation layer's share a die.
    #[inline]
    #[must_use]
    pub fn plane_shift(&self) -> u32 {
        self.plane_shift
    }

    // ---- queues -------------------------------------------------------------------------------------------------

    /// Queues an operation on its die, which may begin it with [`Backend::begin_woken`].
    // Put together where it goes: an operation that passes through memory is read before it has been written.
    #[inline(always)]
    pub fn queue(&mut self, now: Nanos, die: DieId, op: FlashOp) {
        let for_map = op.kind() == OpKind::MapRead && op.command() != ssdlab_ftl::NOBODY;
        let host_read = matches!(op.kind(), OpKind::HostRead | OpKind::MergeRead) || for_map;
        let queues = &mut self.dies[die.index()];
        if host_read && self.reads_first {
            queues.reads.push_back(op);
            if self.cache_read.is_some() {
                queues.asked.push_back(now);
            }
        } else {
            queues.others.push_back(op);
        }
        self.woken.insert(die.number());
    }

    /// Whether a part of a page can cross the channel by itself.
    #[inline]
    #[must_use]
    pub fn reads_parts(&self) -> bool {
        self.read_granule < 8
    }

    /// How many eighths of a logical page cross the channel for a read of `sectors`, one bit each; 0 stands for all eight.
    #[inline]
    #[must_use]
    pub fn part_of_page(&self, sectors: u64) -> u8 {
        let (from, to) = (sectors.trailing_zeros(), 64 - sectors.leading_zeros());
        let (from, to) = ((from / self.eighth_sectors) as u8, to.div_ceil(self.eighth_sectors) as u8);
        if to - from == 8 {
            return 0;
        }
        to.next_multiple_of(self.read_granule) - from / self.read_granule * self.read_granule
    }

    /// A read for the host is about to be queued that wants these units of its row.
    #[inline(always)]
    pub fn expect_read(&mut self, die: DieId, block: BlockId, wanted: u64) {
        if let Some(correction) = &mut self.correction {
            correction.expect_read(die, block, wanted);
        }
    }

    /// Changes what waits for a die but for the host's reads, and puts `first` ahead of it. What is loaded waits again, too.
    #[cold]
    pub fn requeue(&mut self, die: DieId, change: impl FnMut(&mut FlashOp), first: &[FlashOp]) {
        self.bring_forward_on(die);
        // What was loaded came before all of that.
        self.give_register_up(die);
        let waiting = &mut self.dies[die.index()].others;
        waiting.for_each_mut(change);
        first.iter().rev().for_each(|&op| waiting.push_front(op));
        self.woken.insert(die.number());
    }

    /// A die has become idle: it is looked at with [`Backend::begin_woken`].
    #[inline]
    pub fn wake(&mut self, die: DieId) {
        self.woken.insert(die.number());
    }

    /// Takes the dies that are to be looked at out of sight, and puts them back: for those that must wait their turn.
    #[inline]
    #[must_use]
    pub fn take_woken(&mut self) -> DieSet {
        std::mem::take(&mut self.woken)
    }

    #[inline]
    pub fn set_woken(&mut self, woken: DieSet) {
        debug_assert!(self.woken.is_empty());
        self.woken = woken;
    }

    /// Begins what waits for dies that have nothing under way.
    #[inline]
    pub fn begin_woken<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        now: Nanos,
        translation: &mut T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        // Nobody is woken meanwhile.
        let mut low = self.woken.take_low();
        while low != 0 {
            self.begin_next(DieId::new(low.trailing_zeros()), now, translation, probe);
            low &= low - 1;
        }
        if self.special || !self.woken.is_empty() {
            self.begin_woken_of_many(now, translation, probe);
        }
    }

    /// Programs of the host keep only the low bits of the time at which their data come, and may wait for long, behind reads
    /// that pass them. So these are to be looked at now and then while the host goes on asking.
    #[inline]
    pub fn keep_times(&mut self, now: Nanos) {
        if now >= self.renews_at {
            self.renew_what_waits(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn renew_what_waits(&mut self, now: Nanos) {
        self.renews_at = now + RENEWS_EVERY;
        for die in &mut self.dies {
            die.others.for_each_mut(|op| op.renew(now));
        }
    }

    /// The same for the dies from number 64 on, and for those that are to be looked at again; and what dies load behind the
    /// programs that they have begun.
    #[cold]
    fn begin_woken_of_many<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        now: Nanos,
        translation: &mut T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        while let Some(die) = self.woken.pop_first() {
            self.begin_next(DieId::new(die), now, translation, probe);
        }
        if self.cache_program.is_some() {
            self.load_behind(now, translation, probe);
        }
    }

    // ---- operations ---------------------------------------------------------------------------------------------

    /// Ends the operation of a die whose event has come. The die must be woken before the next event is asked for, once
    /// the consequences of this one are known: it begins the successor, or has no event any more.
    #[inline]
    pub fn end(&mut self, d: DieId) -> Ended {
        let die = &mut self.dies[d.index()];
        die.busy = false;
        let op = die.current;
        if self.special && self.turns.is_some() && op.kind().is_program() && !self.is_loaded(d) {
            self.program_ended();
        }
        Ended { die: d, op }
    }

    #[cold]
    fn program_ended(&mut self) {
        let next = self.turns.as_mut().and_then(|turns| turns.ended());
        next.into_iter().for_each(|die| self.woken.insert(die.number()));
    }

    /// Whether an operation that a die ends worked on several planes, each of which the translation layer asked for by itself.
    #[inline]
    #[must_use]
    pub fn is_joint(&self, d: DieId) -> bool {
        self.planes.as_ref().is_some_and(|planes| !planes.beside(d).is_empty())
    }

    /// What has ended in other planes with the operation of a die; [`Backend::give_back_joint`] follows.
    pub fn take_joint(&mut self, d: DieId) -> Vec<FlashOp> {
        self.planes.as_mut().map_or_else(Vec::new, |planes| planes.take_ended(d))
    }

    pub fn give_back_joint(&mut self, d: DieId, list: Vec<FlashOp>) {
        if let Some(planes) = &mut self.planes {
            planes.give_back(d, list);
        }
    }

    /// The operation that a die has under way, or had last.
    #[must_use]
    pub fn current(&self, d: DieId) -> FlashOp {
        self.dies[d.index()].current
    }

    /// The same with what goes with it in other planes.
    #[must_use]
    pub fn all_current(&self, d: DieId) -> Vec<FlashOp> {
        [self.current(d)].iter().chain(self.beside(d)).copied().collect()
    }

    /// Begins the next operation of a die that has none under way; if there is none, the die has no event.
    #[inline]
    fn begin_next<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
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
        let op = match die.reads.pop_front() {
            Some(op) => op,
            None => match die.others.pop_front() {
                Some(op) => op,
                None => {
                    self.events.set(d.index(), NEVER);
                    return;
                }
            },
        };
        translation.began(&op);
        // Dies that know one mode only are not asked which: it would cost them a look at the block's state.
        let several = self.times.several_modes();
        let mode = if several { translation.medium().mode(op.block()) } else { self.times.native() };
        let course = Course { from: now, share: WHOLE };
        if self.correction.is_some() {
            return self.begin_corrected(d, op, mode, now, course, translation, probe);
        }
        self.begin::<false, EXPLAIN, CHECK>(d, op, mode, now, course, probe);
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
        let mut free_at = now;
        if self.cache_program.is_some() {
            // It may be interrupted in its turn.
            self.begin_loaded(d, now, translation, probe);
        }
        if self.dies[d.index()].busy {
            let Some(may_read_at) = self.interrupt(d, now, probe) else { return };
            free_at = may_read_at;
        }
        let die = &mut self.dies[d.index()];
        if die.reads.is_empty() && die.suspended.is_some() {
            self.resume(d, now, probe);
            return;
        }
        let reads = !self.dies[d.index()].reads.is_empty();
        let Some((op, asked)) = self.take_in_turn(d, now) else {
            self.events.set(d.index(), NEVER);
            return;
        };
        translation.began(&op);
        let mode = translation.medium().mode(op.block());
        if self.planes.is_some() {
            self.take_along(d, &op, reads, translation);
        }
        let course = self.course(d, &op, mode, [now, free_at, asked], translation, probe);
        if self.correction.is_some() {
            self.begin_corrected(d, op, mode, now, course, translation, probe);
        } else {
            self.begin::<true, EXPLAIN, CHECK>(d, op, mode, now, course, probe);
        }
    }

    /// What a die does next, if it has anything to do and may, and when that was asked for.
    fn take_in_turn(&mut self, d: DieId, now: Nanos) -> Option<(FlashOp, Nanos)> {
        let die = &mut self.dies[d.index()];
        if let Some(op) = die.reads.pop_front() {
            return Some((op, die.asked.pop_front().unwrap_or(now)));
        }
        let yielding = self.behind.as_ref().filter(|behind| behind.is_due(d, die.others.front()));
        let next = yielding.map_or_else(|| die.others.front(), |behind| behind.front(d));
        let yields = yielding.is_some();
        if let Some(turns) = &mut self.turns {
            if next.is_some_and(|op| op.kind().is_program()) {
                if !turns.may_begin(d) {
                    return None;
                }
            } else if let Some(next) = turns.give_up(d) {
                self.woken.insert(next.number());
            }
        }
        let op = if yields { self.behind.as_mut()?.pop(d) } else { self.dies[d.index()].others.pop_front() };
        Some((op?, now))
    }

    /// An operation that a die begins takes along what can be done in its other planes. `reads`: it came from the queue of
    /// reads.
    fn take_along<T: Translation>(&mut self, d: DieId, op: &FlashOp, reads: bool, translation: &mut T) {
        let Some(planes) = &mut self.planes else { return };
        let die = &mut self.dies[d.index()];
        let waiting = match &mut self.behind {
            // What does not yield might have to wait for what does.
            Some(behind) if !reads && !behind.is_empty(d) => behind.beside(d, op),
            _ if reads => &mut die.reads,
            _ => &mut die.others,
        };
        let taken = planes.take_along(d, op, waiting, translation.medium());
        if reads && self.cache_read.is_some() {
            (0..taken).for_each(|_| _ = die.asked.pop_front());
        }
        for other in planes.beside(d) {
            translation.began(other);
        }
    }

    /// What goes with the operation that a die begins.
    #[inline]
    fn beside(&self, d: DieId) -> &[FlashOp] {
        self.planes.as_ref().map_or(&[], |planes| planes.beside(d))
    }

    /// Planes that an operation works on.
    fn planes_of(&self, d: DieId, op: &FlashOp) -> u8 {
        self.planes.as_ref().map_or(self.all_planes, |planes| planes.of(d, op))
    }

    /// The share of an operation and of what goes with it: the slowest plane decides.
    #[inline(always)]
    fn share_of_all(&self, op: &FlashOp, beside: &[FlashOp], medium: &Medium) -> u64 {
        let own = self.share_of(op, medium);
        if beside.is_empty() { own } else { beside.iter().map(|op| self.share_of(op, medium)).fold(own, u64::max) }
    }

    /// The time of an operation's array part, as a share of what the die's file says.
    #[inline(always)]
    fn share_of(&self, op: &FlashOp, medium: &Medium) -> u64 {
        self.variation.as_ref().map_or(WHOLE, |variation| {
            let (block, page) = (op.block(), op.page());
            let erases = medium.erases(block);
            match op.kind() {
                OpKind::Erase => variation.erase(block, erases),
                kind if kind.is_program() => variation.program(block, page, erases),
                _ => variation.read(block, page),
            }
        })
    }

    /// When a die takes the command of an operation, and its share of the array time. `free_at`: when it takes commands;
    /// `asked`: when it was asked for this one.
    fn course<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        op: &FlashOp,
        mode: CellMode,
        [now, free_at, asked]: [Nanos; 3],
        translation: &T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) -> Course {
        let (page, kind) = (op.page(), op.kind());
        let share = self.share_of_all(op, self.beside(d), translation.medium());
        let mut from = free_at;
        if let Some(cycles) = self.cycles {
            let length = match kind {
                OpKind::Erase => cycles.erase,
                kind if kind.is_program() => 0,
                _ => cycles.read,
            };
            let channel = self.dies[d.index()].channel;
            from = free_at + length;
            if length > 0 && self.channels[usize::from(channel)].command(now, free_at, length) {
                probe.check(|checks| checks.cycles(channel.into(), now, Interval::new(free_at, from)));
            }
        }
        let die = &mut self.dies[d.index()];
        let read = is_read(kind);
        if let Some(handed_over) = self.cache_read {
            // The last read has ended just now, and this one was asked for while its data left.
            if read && die.sensed != 0 && asked < now && free_at == now {
                let slot = from - free_at;
                from = from.min((die.sensed + handed_over).max(asked + slot));
            }
            die.sensed = 0;
            if read && op.rows() == 1 {
                let array = scaled(self.times.read(mode)[page as usize], share);
                die.sensed = from + self.command_time + array;
            }
        }
        Course { from, share }
    }

    /// Begins an operation. `SPECIAL`: there may be more to it than the datasheet's plain times.
    #[inline(always)]
    fn begin<const SPECIAL: bool, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        op: FlashOp,
        mode: CellMode,
        now: Nanos,
        course: Course,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) -> Nanos {
        let Course { from: taken, share } = course;
        let scaled = |time: Nanos| if SPECIAL { (time * share) >> 16 } else { time };
        let joint = if SPECIAL { self.joint(d, &op, now) } else { Joint::ALONE };
        let channel = &mut self.channels[usize::from(self.dies[d.index()].channel)];
        let (work, array, array_ended, transfer, end) = match op.kind() {
            OpKind::HostRead
            | OpKind::MergeRead
            | OpKind::GcRead
            | OpKind::FoldRead
            | OpKind::MapRead
            | OpKind::CopyRead
            | OpKind::SafetyRead
            | OpKind::RetireRead => {
                let read_time = self.times.read(mode);
                let mut array = 0;
                let mut rows = if SPECIAL { op.rows() } else { op.rows_of_whole() };
                while rows != 0 {
                    array += read_time[op.page() as usize + rows.trailing_zeros() as usize];
                    rows &= rows - 1;
                }
                array = scaled(array);
                let units = op.units() + joint.units;
                self.work.read_units += u64::from(units);
                let ready = (taken + self.command_time + array).max(now);
                let mut length = if SPECIAL {
                    (u64::from(op.eighths() + joint.eighths) * self.unit_picos).div_ceil(8000)
                } else {
                    (u64::from(op.units()) * self.unit_picos).div_ceil(1000)
                };
                if SPECIAL && let Some(cycles) = &self.cycles {
                    length += cycles.data_out + channel.take_owed();
                }
                let from = channel.book(now, ready, length);
                let planes = if units <= self.page_units { 1 } else { self.planes_sensed(units, op.rows()) };
                (ArrayWork::sensing(planes), array, ready, Interval::new(from, from + length), from + length)
            }
            OpKind::HostProgram
            | OpKind::GcProgram
            | OpKind::FoldProgram
            | OpKind::MetadataProgram
            | OpKind::SafetyProgram
            | OpKind::RetireProgram => {
                let late = data_are_late_by(&op, now);
                let earliest = taken.max(now + late.max(joint.late)) + self.command_time;
                // A program moves its whole row, padding included.
                let passes = if SPECIAL && mode == self.times.native() { self.passes } else { 1 };
                let passes = passes * joint.rows;
                let mut length = self.row_transfer * passes;
                if SPECIAL && let Some(cycles) = &self.cycles {
                    length += cycles.program + channel.take_owed();
                }
                let from = channel.book(now, earliest, length);
                let array = scaled(self.times.program(mode)[op.page() as usize]);
                self.work.sent_units += self.row_units * passes;
                self.work.encoded_units += self.row_units * joint.rows;
                let end = from + length + array;
                (self.programming(mode), array, end, Interval::new(from, from + length), end)
            }
            OpKind::FoldCopy | OpKind::CopyProgram => {
                let array = scaled(self.times.program(mode)[op.page() as usize]);
                let end = taken + self.command_time + array;
                (self.programming(mode), array, end, Interval::new(now, now), end)
            }
            OpKind::Erase => {
                let array = scaled(self.times.erase(mode));
                let end = taken + self.command_time + array;
                (ArrayWork::ERASING, array, end, Interval::new(now, now), end)
            }
        };
        probe.check(|checks| checks.operation(&self.as_judged::<SPECIAL>(d, &op, mode, now, course, transfer, end)));
        self.work.add(work, array);
        let die = &mut self.dies[d.index()];
        (die.array, die.array_until) = (Ahead { work, time: array }, array_ended);
        die.current = op;
        die.busy = true;
        if SPECIAL && (self.suspend.is_some() || self.cache_program.is_some()) && !is_read(op.kind()) {
            die.progress = Progress::begin(transfer.to.max(taken));
        }
        probe.explain(|explanations| explanations.operation(d, op.kind(), now, array_ended, end));
        self.events.set(d.index(), end);
        end
    }

    #[inline]
    fn programming(&self, mode: CellMode) -> ArrayWork {
        let own = !self.times.several_modes() || mode == self.times.native();
        if own { ArrayWork::PROGRAMMING } else { ArrayWork::PROGRAMMING_REDUCED }
    }

    /// Planes that so many units in `rows` of a block lie on, at the least.
    fn planes_sensed(&self, units: u32, rows: u8) -> u32 {
        units.div_ceil(self.page_units * rows.count_ones().max(1)).min(self.all_planes.count_ones())
    }

    /// An operation in the words of the referee.
    fn as_judged<const SPECIAL: bool>(
        &self,
        d: DieId,
        op: &FlashOp,
        mode: CellMode,
        now: Nanos,
        course: Course,
        transfer: Interval,
        end: Nanos,
    ) -> Operation {
        let page = op.page();
        let (work, data_here) = match op.kind() {
            OpKind::HostRead
            | OpKind::MergeRead
            | OpKind::GcRead
            | OpKind::FoldRead
            | OpKind::MapRead
            | OpKind::CopyRead
            | OpKind::SafetyRead
            | OpKind::RetireRead => {
                let (rows, eighths) = if SPECIAL {
                    (op.rows(), op.eighths() + self.joint(d, op, now).eighths)
                } else {
                    (op.rows_of_whole(), op.units() * 8)
                };
                (Work::Read { page, rows, eighths }, now)
            }
            OpKind::HostProgram => {
                let joint = if SPECIAL { self.joint(d, op, now).late } else { 0 };
                (Work::Program { page }, now.saturating_add_signed(op.data_late_by(now)).max(now + joint))
            }
            OpKind::GcProgram
            | OpKind::FoldProgram
            | OpKind::MetadataProgram
            | OpKind::SafetyProgram
            | OpKind::RetireProgram => (Work::Program { page }, now),
            OpKind::FoldCopy | OpKind::CopyProgram => (Work::Copy { page }, now),
            OpKind::Erase => (Work::Erase, now),
        };
        // The translation layer works on all planes of a die at once, unless it asks for each by itself.
        let planes = if SPECIAL { self.planes_of(d, op) } else { self.all_planes };
        let Course { from: begin, share } = course;
        Operation { die: d, planes, mode, work, begin, share, data_here, transfer, end }
    }

    /// What goes with an operation that a die begins, in sum.
    #[inline]
    fn joint(&self, d: DieId, op: &FlashOp, now: Nanos) -> Joint {
        let mut joint = Joint::ALONE;
        for other in self.beside(d) {
            joint.rows += 1;
            joint.units += other.units();
            if is_read(op.kind()) {
                joint.eighths += other.eighths();
            } else {
                joint.late = joint.late.max(data_are_late_by(other, now));
            }
        }
        joint
    }

    /// [`Backend::begin`] on flash that errs.
    #[inline(never)]
    fn begin_corrected<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        op: FlashOp,
        mode: CellMode,
        now: Nanos,
        course: Course,
        translation: &mut T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        let beside = self.planes.as_ref().map_or(&[][..], |planes| planes.beside(d));
        let retry = self
            .correction
            .as_mut()
            .and_then(|correction| correction.begin_all(d, &op, beside, mode, now, translation));
        let end = self.begin::<true, EXPLAIN, CHECK>(d, op, mode, now, course, probe);
        if let Some(retry) = retry {
            self.dies[d.index()].sensed = 0;
            self.begin_retry(d, retry, end, probe);
        }
    }
}

fn is_read(kind: OpKind) -> bool {
    !kind.is_program() && kind != OpKind::Erase
}

/// An array time of which a place takes a share.
#[inline(always)]
fn scaled(time: Nanos, share: u64) -> Nanos {
    (time * share) >> 16
}

/// By how much the data of a program come later than now.
#[inline]
fn data_are_late_by(op: &FlashOp, now: Nanos) -> Nanos {
    if op.kind() == OpKind::HostProgram { op.data_late_by(now).max(0).cast_unsigned() } else { 0 }
}

#[cfg(test)]
mod tests;
