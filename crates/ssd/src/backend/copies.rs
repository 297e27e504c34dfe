//! Copies that are worked out whole.
//!
//! Where superblocks are brought into one piece, a die copies dozens of pages one after the other: it reads one, the page
//! crosses the bus, the processor moves it, and it is programmed. That is three events. As long as nothing else happens in the
//! drive before the program ends, all four times follow from each other, and nobody can tell whether they were reached
//! by events: so they are worked out in one go, up to the read of the next page.
//!
//! The dies of a superblock copy side by side. They hang on channels of their own, and meet at the processor only, which takes
//! them in the order in which their pages have been read.

use ssdlab_core::Nanos;
use ssdlab_ftl::{FlashOp, OpKind, Translation};
use ssdlab_nand::DieId;

use super::{Backend, NEVER};
use crate::SimulatedSsd;
use crate::power::{Ahead, ArrayWork};
use crate::probe::Details;
use crate::timing::{CopyAndRead, Interval};

/// A die that copies.
#[derive(Clone, Copy, Debug)]
pub struct Copier {
    die: DieId,
    channel: u8,
    /// The row that the page is copied into.
    row: u32,
    /// What it reads or programs, what its array takes for it and when that is over, and when all of it has ended.
    op: FlashOp,
    array: Ahead,
    array_until: Nanos,
    until: Nanos,
}

const SENSING: ArrayWork = ArrayWork::sensing(1);

impl Backend {
    /// Whether a die copies, and is asked for nothing else.
    #[inline]
    fn only_copies(&self, die: DieId) -> bool {
        let d = &self.dies[die.index()];
        let copies = matches!(d.current.kind(), OpKind::CopyRead | OpKind::CopyProgram);
        d.busy && copies && d.reads.is_empty() && d.others.is_empty()
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// The event of a die is next: works out what it and the dies beside it copy before anything else happens, which is at
    /// `others` at the earliest, dies aside. Returns whether anything was; if not, nothing is changed.
    #[inline]
    pub(crate) fn copy_ahead(&mut self, d: DieId, others: Nanos) -> bool {
        if !self.backend.copies_plainly || !self.backend.only_copies(d) {
            return false;
        }
        let has_room = self.translation.buffered_units() < self.buffer.units;
        if self.frontend.looks_at_ends(has_room) || !self.firmware.works_by_moves() {
            return false;
        }
        let at = self.backend.events.first().0;
        let reads = self.backend.current(d).kind() == OpKind::CopyRead;
        let end = if reads { self.copy_ends(self.translation.copies_into(d), at) } else { at };
        end < others && self.copy_beside(d, others)
    }

    /// When a page has been programmed that a die has read at this time, if nobody asks the processor first.
    #[inline(always)]
    fn copy_ends(&self, row: u32, read_at: Nanos) -> Nanos {
        let times = &self.backend.times;
        self.firmware.processor.moved_at(read_at)
            + self.backend.command_time
            + times.program(times.native())[row as usize]
    }

    #[inline(never)]
    fn copy_beside(&mut self, d: DieId, others: Nanos) -> bool {
        let mut copiers = std::mem::take(&mut self.backend.copiers);
        copiers.clear();
        for die in self.translation.copying_beside(d).map(DieId::new) {
            if self.backend.only_copies(die) {
                let (until, state) = (self.backend.events.of(die.index()), &self.backend.dies[die.index()]);
                copiers.push(Copier {
                    die,
                    channel: state.channel,
                    row: self.translation.copies_into(die),
                    op: state.current,
                    array: state.array,
                    array_until: state.array_until,
                    until,
                });
                self.backend.events.set(die.index(), NEVER);
            }
        }
        let before = others.min(self.backend.events.first().0);
        let any = self.copy_until(before, &mut copiers);
        for copier in &copiers {
            let die = &mut self.backend.dies[copier.die.index()];
            (die.current, die.array, die.array_until) = (copier.op, copier.array, copier.array_until);
            self.backend.events.set(copier.die.index(), copier.until);
        }
        self.backend.copiers = copiers;
        any
    }

    /// Copies as long as whole copies end before something else happens. Returns whether any did.
    #[inline(always)]
    fn copy_until(&mut self, before: Nanos, copiers: &mut [Copier]) -> bool {
        let SimulatedSsd { translation, firmware, backend, probe, .. } = self;
        let (processor, channels) = (&mut firmware.processor, &mut backend.channels);
        let (command, planes, unit_picos) = (backend.command_time, backend.all_planes, backend.unit_picos);
        let unit_transfer = unit_picos.div_ceil(1000);
        let native = backend.times.native();
        let (reads, programs) = (backend.times.read(native), backend.times.program(native));
        let (mut programmed, mut sensed, mut units) = (0, 0, 0);
        let mut any = false;
        // Of those that have read at the same time, the first goes first, as events do.
        while let Some(copier) = copiers.iter_mut().reduce(|a, b| if b.until < a.until { b } else { a }) {
            let (die, row, had_read) = (copier.die, copier.row, copier.op.kind() == OpKind::CopyRead);
            let (begin, end) = if had_read {
                let begin = processor.moved_at(copier.until);
                (begin, begin + command + programs[row as usize])
            } else {
                (copier.until, copier.until)
            };
            if end >= before {
                break;
            }
            let next = if had_read { translation.copy_whole(die) } else { translation.copy_next(die) };
            let Some(read) = next else { break };
            any = true;

            let array = reads[read.page() as usize];
            let ready = end + command + array;
            let length = match read.units() {
                1 => unit_transfer,
                units => (u64::from(units) * unit_picos).div_ceil(1000),
            };
            let from = channels[usize::from(copier.channel)].book(end, ready, length);
            let transfer = Interval::new(from, from + length);
            let (page, units_out) = (read.page(), read.units());
            let both = CopyAndRead { die, planes, row, begin, programmed: end, page, units: units_out, transfer };
            if had_read {
                processor.move_unit(begin);
                probe.check(|checks| checks.copy(&both, native));
                probe.explain(|explanations| {
                    // The row is known, and its block to the translation layer alone.
                    let (channel, transfer) = (copier.channel, Interval::new(begin, begin));
                    let details = || Details { block: None, page: row, channel, transfer };
                    explanations.operation_ended(die, copier.until);
                    explanations.operation(die, OpKind::CopyProgram, [begin, end, end], details);
                });
                programmed += programs[row as usize];
            } else {
                probe.check(|checks| checks.operation(&both.steps(native)[1]));
            }
            probe.explain(|explanations| {
                let details = || Details::of(&read, copier.channel, transfer);
                explanations.operation_ended(die, end);
                explanations.operation(die, OpKind::CopyRead, [end, ready, transfer.to], details);
            });
            sensed += array;
            units += u64::from(units_out);
            (copier.row, copier.op) = (row + 1, read);
            (copier.array, copier.array_until) = (Ahead { work: SENSING, time: array }, ready);
            copier.until = transfer.to;
        }
        backend.work.add(backend.programming(native, 1), programmed);
        backend.work.add(SENSING, sensed);
        backend.work.read_eighths += 8 * units;
        any
    }
}
