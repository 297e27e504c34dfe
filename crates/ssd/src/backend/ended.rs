//! What the drive does when the operation of a die ends.

use ssdlab_core::Nanos;
use ssdlab_ftl::{FlashOp, OpKind, Translation, first_page};
use ssdlab_nand::DieId;

use super::{Ended, ReadRetry};
use crate::SimulatedSsd;

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// The event of a die: its operation ends, or a step of a read that did not decode at once; or it is to be looked at.
    #[inline]
    pub(crate) fn die_event(&mut self, at: Nanos, d: DieId) {
        self.now = at;
        if self.backend.retries(d) {
            return self.retry_step_ended(d);
        }
        if self.backend.is_to_be_looked_at(d) {
            return self.begin_and_admit();
        }
        if self.backend.is_joint(d) {
            return self.joint_op_ended(d, None);
        }
        self.op_ended(d, None);
    }

    /// The die of the translation layer's that an operation of a die concerns.
    #[inline]
    pub(crate) fn mapped_die(&self, d: DieId, op: &FlashOp) -> DieId {
        if self.backend.plane_shift() == 0 {
            self.backend.whole_die(d)
        } else {
            self.translation.medium().layout().die_of(op.block()).0
        }
    }

    /// An operation on several planes of a die ends, each of which the translation layer asked for by itself. It hears of
    /// all of them before anything else goes on.
    #[cold]
    #[inline(never)]
    fn joint_op_ended(&mut self, d: DieId, retry: Option<&ReadRetry>) {
        let op = self.backend.end(d, self.now).op;
        self.probe.explain(|explanations| explanations.operation_ended(d, self.now));
        let beside = self.backend.take_joint(d);
        let kind = op.kind();
        if kind == OpKind::HostRead {
            self.read_part_done(&Ended { die: d, op }, retry);
            beside.iter().for_each(|&op| self.read_part_done(&Ended { die: d, op }, retry));
            self.begin_on(d);
            if self.firmware.refresh.watches_reads() {
                self.refresh_much_read();
            }
        } else {
            if kind.is_program() || kind == OpKind::Erase {
                self.firmware.processor.program_ended(self.now);
            }
            self.backend.wake(d);
            let layout = self.translation.medium().layout();
            let ended: Vec<(DieId, FlashOp)> =
                [op].iter().chain(&beside).map(|&op| (layout.die_of(op.block()).0, op)).collect();
            self.ask(|translation, queues| ended.iter().for_each(|&(die, op)| translation.done(die, op, queues)));
            match kind {
                OpKind::HostProgram => {
                    self.admit();
                    self.settle_durable();
                }
                OpKind::Erase => self.admit_waiting(),
                _ => {}
            }
        }
        self.backend.give_back_joint(d, beside);
        if self.translation.is_read_only() {
            self.settle_read_only();
        }
    }

    #[cold]
    fn retry_step_ended(&mut self, d: DieId) {
        if !self.backend.next_retry_step(d, self.now, &mut self.probe) {
            let mut retry = self.backend.take_retry(d);
            if let Some(retry) = retry.as_mut().filter(|retry| !retry.lost.is_empty()) {
                self.settle_lost(d, retry);
            }
            if self.backend.is_joint(d) {
                self.joint_op_ended(d, retry.as_deref());
            } else {
                self.op_ended(d, retry.as_deref());
            }
        }
    }

    /// Some units of the reads that a die ends could not be corrected.
    #[cold]
    fn settle_lost(&mut self, d: DieId, retry: &mut ReadRetry) {
        let packed = self.translation.compresses();
        for op in self.backend.all_current(d) {
            if let Some(correction) = self.backend.correction_mut() {
                let ahead = &self.frontend.read_ahead;
                let awaits =
                    |page, unit| op.kind() == OpKind::HostRead && ahead.awaits(page, unit, first_page(&op, packed));
                correction.settle(&op, retry, &self.translation, awaits);
            }
        }
    }

    // The usual way has no retry, and is compiled without.
    #[inline(always)]
    fn op_ended(&mut self, d: DieId, retry: Option<&ReadRetry>) {
        let ended = self.backend.end(d, self.now);
        self.probe.explain(|explanations| explanations.operation_ended(d, self.now));
        self.translation.prefetch_ahead();
        let op = ended.op;
        let mapped = self.mapped_die(d, &op);
        match op.kind() {
            OpKind::HostRead => {
                self.read_part_done(&ended, retry);
                self.begin_on(d);
                if self.firmware.refresh.watches_reads() {
                    self.refresh_much_read();
                }
            }
            OpKind::MergeRead => {
                self.merge_read_done(op, d, retry);
                self.begin_on(d);
            }
            OpKind::MapRead => {
                self.map_read_done(op, d);
                self.begin_on(d);
            }
            OpKind::HostProgram => {
                self.firmware.processor.program_ended(self.now);
                self.backend.wake(d);
                self.ask(|translation, queues| translation.done(mapped, op, queues));
                self.admit();
                self.settle_durable();
            }
            OpKind::CopyRead | OpKind::CopyProgram => {
                if op.kind().is_program() {
                    self.firmware.processor.program_ended(self.now);
                }
                self.backend.wake(d);
                self.ask(|translation, queues| translation.done(mapped, op, queues));
                // A copy makes no room by itself: only what begins after it does.
                self.admit_what_has_room();
            }
            OpKind::Erase => {
                self.firmware.processor.program_ended(self.now);
                self.backend.wake(d);
                self.ask(|translation, queues| translation.done(mapped, op, queues));
                self.admit_waiting();
            }
            OpKind::GcRead
            | OpKind::GcProgram
            | OpKind::FoldRead
            | OpKind::FoldProgram
            | OpKind::FoldCopy
            | OpKind::MetadataProgram
            | OpKind::SafetyRead
            | OpKind::SafetyProgram
            | OpKind::RetireRead
            | OpKind::RetireProgram => {
                if op.kind().is_program() {
                    self.firmware.processor.program_ended(self.now);
                }
                self.backend.wake(d);
                self.ask(|translation, queues| translation.done(mapped, op, queues));
            }
        }
        if self.translation.is_read_only() {
            self.settle_read_only();
        }
    }

    /// Begins what waits for a die whose operation has ended.
    #[inline]
    fn begin_on(&mut self, d: DieId) {
        self.backend.wake(d);
        self.begin_and_admit();
    }

    /// Begins what waits for dies. A program may be among it, whose pages leave the buffer.
    #[inline]
    fn begin_and_admit(&mut self) {
        self.begin_woken();
        if T::ROOM_AS_PROGRAMS_BEGIN {
            self.admit_what_has_room();
        }
    }

    #[inline]
    fn admit_what_has_room(&mut self) {
        if self.frontend.any_write_waits() && self.translation.buffered_units() < self.buffer.units {
            self.admit();
        }
    }
}
