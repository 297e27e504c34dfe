//! Cache program (`features.cache_program_busy_us` of a die): while the array programs a row, the data of the die's next
//! program cross the channel into a second register, and the array goes on with them once it is through.
//!
//! A transfer takes its stretch of a channel that others use too, so it is booked as soon as it is possible: when a program
//! begins, or goes on after an interruption, and another waits right behind it whose data have come over the host link; or when one is
//! queued there, or its data have come. Dies that have nothing in their arrays are served first: programs are loaded once all dies that were looked at have begun what they can.
//!
//! What is loaded has left its queue and begins next, ahead of everything that comes later, the host's reads too; the program
//! before it is not interrupted. Nothing is loaded while a read of the host's waits for the die, which needs the register, nor
//! while other dies wait for their turn to program. A program that begins out of the register takes over the turn of the one
//! before. Where something has to go first (a program has failed), the register is given up: its program goes back to its
//! queue, and its data cross the channel again. A power cut finds it not begun.

use ssdlab_core::{DieSet, Nanos};
use ssdlab_ftl::{Act, FlashOp, Translation};
use ssdlab_nand::{CellMode, DieId};

use super::Backend;
use super::begin::{data_are_late_by, data_here, scaled};
use super::suspend::Progress;
use crate::power::Ahead;
use crate::probe::{Details, Probe};
use crate::timing::{Interval, Load, Operation, Work};

/// A program whose data are in the second register of its die, or on their way.
#[derive(Clone, Copy, Debug)]
struct Loaded {
    op: FlashOp,
    mode: CellMode,
    transfer: Interval,
}

/// The second register of a die.
#[derive(Clone, Copy, Debug)]
enum Register {
    Empty,
    Loaded(Loaded),
    /// What was in it is not programmed; nobody has been told.
    GivenUp,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct CacheProgram {
    /// From the end of a program until the array goes on with the next.
    handed_over: Nanos,
    registers: Vec<Register>,
    /// Dies that have been looked at: something may be loaded there.
    looked_at: DieSet,
}

impl CacheProgram {
    #[must_use]
    pub fn new(handed_over: Nanos, dies: u32) -> Self {
        let registers = vec![Register::Empty; dies as usize];
        CacheProgram { handed_over, registers, looked_at: DieSet::with_room(dies) }
    }

    #[must_use]
    pub fn is_loaded(&self, d: DieId) -> bool {
        matches!(self.registers[d.index()], Register::Loaded(_))
    }

    /// The power is gone, and with it what registers held.
    pub fn clear(&mut self) {
        *self = CacheProgram::new(self.handed_over, self.registers.len() as u32);
    }
}

impl Backend {
    /// Whether a die's next program is loaded already.
    #[inline]
    pub(super) fn is_loaded(&self, d: DieId) -> bool {
        self.cache_program.as_ref().is_some_and(|cache| cache.is_loaded(d))
    }

    /// Loads what can be loaded on the dies that have been looked at.
    #[cold]
    #[inline(never)]
    pub(super) fn load_behind<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        now: Nanos,
        translation: &T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        while let Some(die) = self.cache_program.as_mut().and_then(|cache| cache.looked_at.pop_first()) {
            self.load(DieId::new(die), now, translation, probe);
        }
    }

    /// Loads the program that waits right behind the one that a die is at, if it may.
    fn load<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        now: Nanos,
        translation: &T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        let reads = self.a_read_waits(d);
        let die = &mut self.dies[d.index()];
        let programs = die.busy && die.current.kind().act() == Act::Program && die.suspended.is_none();
        if !programs || reads || self.turns.as_ref().is_some_and(|turns| turns.any_waits()) {
            return;
        }
        let Some(cache) = &mut self.cache_program else { return };
        let register = &mut cache.registers[d.index()];
        match register {
            Register::Empty => {}
            Register::Loaded(_) => return,
            Register::GivenUp => {
                *register = Register::Empty;
                probe.check(|checks| checks.gave_register_up(d));
            }
        }
        let Some(op) = die.others.front().filter(|op| op.kind().act() == Act::Program) else { return };
        if self.behind.as_ref().is_some_and(|behind| behind.hold(d, &op)) {
            return;
        }
        let late = data_are_late_by(&op, now);
        if late > 0 {
            // A read may come meanwhile, and goes first.
            let at = now + late;
            if at < self.end_of(d) {
                self.look_at_later(d, at);
            }
            return;
        }
        die.others.pop_front();
        let mode = translation.medium().mode(op.block());
        // The register is free once the array has taken over what came through it.
        let earliest = die.progress.array_from().max(now) + self.command_time;
        let channel = die.channel;
        let transfer = self.send_rows::<true>(channel, mode, 1, now, earliest);
        if let Some(cache) = &mut self.cache_program {
            cache.registers[d.index()] = Register::Loaded(Loaded { op, mode, transfer });
        }
        probe.explain(|explanations| explanations.loads(channel, d, now, transfer));
        let (planes, data_here) = (self.all_planes, data_here(&op, now));
        probe.check(|checks| checks.loaded(&Load { die: d, planes, mode, asked: now, data_here, transfer }));
    }

    /// A die is looked at: begins what is in its second register if its operation has ended, and notes that something may be
    /// loaded.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_loaded<T: Translation, const EXPLAIN: bool, const CHECK: bool>(
        &mut self,
        d: DieId,
        now: Nanos,
        translation: &mut T,
        probe: &mut Probe<EXPLAIN, CHECK>,
    ) {
        let Some(cache) = &mut self.cache_program else { return };
        cache.looked_at.insert(d.number());
        if self.dies[d.index()].busy {
            return;
        }
        let handed_over = cache.handed_over;
        let Loaded { op, mode, transfer } = match std::mem::replace(&mut cache.registers[d.index()], Register::Empty) {
            Register::Loaded(loaded) => loaded,
            Register::GivenUp => {
                return probe.check(|checks| checks.gave_register_up(d));
            }
            Register::Empty => return,
        };
        translation.began(&op);
        assert_eq!(translation.medium().mode(op.block()), mode, "the block's mode when its data were loaded");
        if let Some(correction) = &mut self.correction {
            let retry = correction.begin_all(d, &op, &[], mode, now, translation);
            assert!(retry.is_none(), "only reads are tried again");
        }
        let share = self.share_of_all(&op, &[], translation.medium());
        let array = scaled(self.times.program(mode)[op.page() as usize], share);
        let array_from = transfer.to.max(now + handed_over);
        let end = array_from + array;
        probe.check(|checks| {
            let (planes, work) = (self.planes_of(d, &op), Work::ProgramLoaded { page: op.page() });
            let (begin, data_here) = (now, transfer.from);
            checks.operation(&Operation { die: d, planes, mode, work, begin, share, data_here, transfer, end });
        });
        let work = self.programming(mode, 1);
        self.work.add(work, array);
        let die = &mut self.dies[d.index()];
        assert!(die.suspended.is_none(), "what has a successor in the register is not interrupted");
        (die.array, die.array_until) = (Ahead { work, time: array }, end);
        die.current = op;
        die.busy = true;
        die.sensed = 0;
        die.progress = Progress::begin(array_from);
        probe.explain(|explanations| {
            // Its transfer was noted when it was booked.
            let none = Interval::new(now, now);
            explanations.operation(d, op.kind(), [now, end, end], || Details::of(&op, die.channel, none));
        });
        self.events.set(d.index(), end);
    }

    /// What a die has in its second register goes back to its queue, at the front.
    pub(super) fn give_register_up(&mut self, d: DieId) {
        let Some(cache) = &mut self.cache_program else { return };
        let register = &mut cache.registers[d.index()];
        let Register::Loaded(loaded) = *register else { return };
        *register = Register::GivenUp;
        let die = &mut self.dies[d.index()];
        die.others.push_front(loaded.op);
        if !die.busy {
            // It had kept the turn of the program before.
            self.program_ended(d);
        }
    }
}
