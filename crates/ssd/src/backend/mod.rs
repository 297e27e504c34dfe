//! Dies and channels: which operation a die does next, and exactly when it ends.
//!
//! A die does one operation at a time. Its event is the end of that operation; the steps inside (command, array,
//! bus) are computed when it begins, the bus by booking. Host reads may pass what else waits for the die; everything
//! else keeps its order, which is what keeps programs of one block in order and erases behind the reads of what they
//! erase; but what yields to the host's operations waits in a queue of its own (`behind.rs`).

mod array_times;
mod begin;
mod behind;
mod cache_program;
mod channel;
mod copies;
mod correction;
mod die;
mod ended;
mod events;
mod plane_reads;
mod planes;
mod power_cut;
mod repairs;
mod retry;
mod suspend;
mod turns;

use ssdlab_core::{DieSet, Nanos, SECTOR_BYTES, nanos_from_us};
use ssdlab_ftl::{ErasedBlock, FlashOp, OpKind, Translation};
use ssdlab_nand::{BlockId, DieId, DieSpec, Layout, Variation, WHOLE};

use crate::die_parts::DieParts;
use crate::power::{ArrayWork, FlashWork};
use crate::probe::Probe;
use crate::spec::DriveSpec;
use crate::whole_dies::WholeDies;

use array_times::ArrayTimes;
use behind::Behind;
use cache_program::CacheProgram;
use channel::Channel;
use copies::Copier;
pub use correction::{Correction, CorrectionCounters, Loss, LossReader, ReadRetry, SavedCorrection, ladder_of_unit};
use die::Die;
use events::Tournament;
use plane_reads::PlaneReads;
use planes::Planes;
use suspend::SuspendRules;
use turns::Turns;

pub use events::NEVER;
pub use power_cut::AtWork;
pub use repairs::RepairSteps;

/// More than half a minute before the times in waiting operations are no longer told apart from later ones, and longer than
/// any operation takes.
const RENEWS_EVERY: Nanos = 120_000_000_000;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Backend {
    /// All dies, and behind them their planes that read by themselves.
    dies: Vec<Die>,
    channels: Vec<Channel>,
    events: Tournament,
    /// Dies that may have something to do and nothing under way; see [`Backend::begin_woken`].
    woken: DieSet,
    /// Dies whose event may be that they are looked at, not the end of an operation.
    looked_at_later: DieSet,
    /// When the times in what waits are to be renewed.
    renews_at: Nanos,
    times: ArrayTimes,
    command_time: Nanos,
    /// Picoseconds to move one unit with its share of the spare area.
    unit_picos: u64,
    row_units: u64,
    /// Units of a page of one plane.
    page_units: u32,
    /// Planes of a whole row.
    row_planes: u32,
    /// Time to move a whole row.
    row_transfer: Nanos,
    /// How often a row crosses the channel to be programmed in the die's own mode.
    passes: u64,
    all_planes: u8,
    reads_first: bool,
    /// Reads of the host's that pass what else waits for a die, one right after the other.
    reads_in_a_row: u16,
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
    /// Where planes read by themselves.
    plane_reads: Option<Box<PlaneReads>>,
    /// The first part that is such a plane; none has a number beyond all.
    first_plane: u32,
    variation: Option<Box<Variation>>,
    suspend: Option<SuspendRules>,
    cycles: Option<Cycles>,
    /// With cache reads: from one register to the other.
    cache_read: Option<Nanos>,
    cache_program: Option<Box<CacheProgram>>,
    /// Whether it is noted when reads were asked for.
    notes_asked: bool,
}

/// How long cycles occupy the channel.
#[derive(Clone, Copy, Debug, Default)]
struct Cycles {
    read: Nanos,
    data_out: Nanos,
    program: Nanos,
    erase: Nanos,
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
        let page_units = drive.units_per_page(die);
        let parts = DieParts::of(drive, die);
        let plane_reads = PlaneReads::new(parts, drive, page_units, planes.is_some());
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
            dies: (0..parts.count())
                .map(|part| Die::idle((parts.die_of(DieId::new(part)).number() % channels) as u8))
                .collect(),
            channels: vec![Channel::default(); channels as usize],
            events: Tournament::new(parts.count() as usize),
            woken: DieSet::with_room(parts.count()),
            looked_at_later: DieSet::with_room(parts.count()),
            renews_at: RENEWS_EVERY,
            times: ArrayTimes::new(die),
            // Cycles that occupy the channel are booked there.
            command_time: if cycles.is_some() { 0 } else { nanos_from_us(die.bus.command_us) },
            unit_picos,
            row_planes,
            row_units,
            page_units,
            row_transfer: (row_units * unit_picos).div_ceil(1000),
            passes: features.program_passes.into(),
            all_planes: ((1u32 << g.planes) - 1) as u8,
            reads_first: drive.controller.reads_first,
            reads_in_a_row: drive.controller.reads_in_a_row,
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
                || plane_reads.is_some()
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
                && plane_reads.is_none()
                && !die.has_several_modes(),
            correction: correction.map(Box::new),
            behind: drive.gc.background_beside_host.then(|| Box::new(Behind::new(dies))),
            turns: turns.map(|most| Box::new(Turns::new(most, dies))),
            planes: planes.map(Box::new),
            first_plane: plane_reads.as_ref().map_or(u32::MAX, |_| dies),
            plane_reads: plane_reads.map(Box::new),
            variation: variation.map(Box::new),
            suspend,
            cycles,
            notes_asked: cache_read.is_some() || plane_reads.is_some(),
            cache_read,
            cache_program: cache_program.map(|busy| Box::new(CacheProgram::new(busy, dies))),
        }
    }

    /// What dies are at, and the channel of each.
    pub fn under_way(&self) -> impl Iterator<Item = (DieId, FlashOp, u8)> + '_ {
        let dies = (0..).map(DieId::new).zip(&self.dies);
        dies.filter(|(_, die)| die.busy).map(|(id, die)| (id, die.current, die.channel))
    }

    /// See [`crate::SimulatedSsd::set_page_read_times`].
    pub fn set_page_read_times(&mut self, by_page: &[Nanos]) {
        self.times.set_native_reads(by_page);
    }

    /// Dies, without the planes that read by themselves.
    pub(super) fn die_count(&self) -> u32 {
        self.plane_reads.as_ref().map_or(self.dies.len() as u32, |reads| reads.dies())
    }

    /// The earliest end of an operation, and its die; [`NEVER`] if no die is at work.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> (Nanos, DieId) {
        let (at, die) = self.events.first();
        (at, DieId::new(die as u32))
    }

    /// What is operated are planes of these dies, which are what may program at once.
    pub fn count_whole_dies(&mut self, whole: WholeDies) {
        let (operated, most) = (self.die_count(), self.turns.as_ref().map(|turns| turns.most()));
        let turns = most.filter(|&most| most < whole.count(operated));
        self.turns = turns.map(|most| Box::new(Turns::of_whole_dies(most, operated, whole)));
    }

    /// How long the erase of a block takes that is in this mode, and as worn as that.
    #[must_use]
    pub fn erase_time(&self, erased: &ErasedBlock) -> Nanos {
        let &ErasedBlock { block, mode, wear_ppb } = erased;
        let share = self.variation.as_ref().map_or(WHOLE, |variation| variation.erase(block, wear_ppb));
        begin::scaled(self.times.erase(mode), share)
    }

    /// What the dies have done up to now.
    #[must_use]
    pub fn work_done(&self, now: Nanos) -> FlashWork {
        self.work.without(self.dies.iter().map(|die| die.ahead(now)))
    }

    /// Blocks have been erased outside the simulated time of their dies. Returns how long the die took that took
    /// longest.
    pub fn count_erases(&mut self, erased: &[ErasedBlock], layout: &Layout) -> Nanos {
        let mut by_die = vec![0; layout.dies as usize];
        for erased in erased {
            by_die[layout.die_of(erased.block).0.index()] += self.erase_time(erased);
        }
        // The planes of a die are erased at once.
        let work = ArrayWork::erasing(self.all_planes.count_ones());
        self.work.add(work, by_die.iter().sum::<Nanos>() >> self.plane_shift);
        by_die.into_iter().max().unwrap_or(0)
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
            if self.notes_asked {
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

    /// Programs of the host keep only the low bits of the time at which their data come, and may wait for long, behind other
    /// programs or reads that pass them. So these are looked at now and then as operations end: where something waits, some
    /// die ends one after the other, or what waits has its event.
    #[inline]
    fn keep_times(&mut self, now: Nanos) {
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
    pub fn end(&mut self, d: DieId, now: Nanos) -> Ended {
        self.keep_times(now);
        let die = &mut self.dies[d.index()];
        die.busy = false;
        let op = die.current;
        if self.special && self.turns.is_some() && op.kind().is_program() && !self.is_loaded(d) {
            self.program_ended(d);
        }
        Ended { die: d, op }
    }

    #[cold]
    fn program_ended(&mut self, d: DieId) {
        let next = self.turns.as_mut().and_then(|turns| turns.ended(d));
        next.into_iter().for_each(|die| self.woken.insert(die.number()));
    }

    /// Whether an operation that a die ends worked on several planes, each of which the translation layer asked for by itself.
    #[inline]
    #[must_use]
    pub fn is_joint(&self, d: DieId) -> bool {
        self.planes.is_some() && !self.beside(d).is_empty()
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
}

#[cfg(test)]
mod tests;
