//! Where the operations of the translation layer go: to the processor, or to their dies at once.

use ssdlab_core::Nanos;
use ssdlab_ftl::{FlashOp, OpKind, OpSink};
use ssdlab_nand::{BlockId, DieId};

use crate::backend::Backend;
use crate::firmware::Processor;

/// See the module's own page.
pub struct OpQueues<'a> {
    backend: &'a mut Backend,
    processor: &'a mut Processor,
    now: Nanos,
    /// How many eighths of a page a read of the host's wants; 0: all of it.
    part: u8,
}

impl<'a> OpQueues<'a> {
    #[inline]
    #[must_use]
    pub fn new(backend: &'a mut Backend, processor: &'a mut Processor, now: Nanos) -> Self {
        OpQueues { backend, processor, now, part: 0 }
    }

    /// From now on a read of a single page for the host brings so many eighths of it.
    #[inline]
    #[must_use]
    pub fn of_part(self, eighths: u8) -> Self {
        OpQueues { part: eighths, ..self }
    }
}

impl OpSink for OpQueues<'_> {
    #[inline(always)]
    fn enqueue(&mut self, die: DieId, op: FlashOp) {
        let die = self.backend.die_of(die);
        if self.processor.prepares(die, &op) {
            self.processor.prepare(self.now, die, op);
        } else {
            self.backend.queue(self.now, die, op);
        }
    }

    #[inline(always)]
    fn enqueue_read(&mut self, die: DieId, op: FlashOp, wanted: u64) {
        let reader = self.backend.reader_of(die, wanted);
        self.backend.expect_read(reader, op.block(), wanted);
        let in_part = self.part != 0 && op.kind() == OpKind::HostRead;
        // The processor prepares no read of the host's.
        self.backend.queue(self.now, reader, if in_part { op.of_part(self.part) } else { op });
    }

    #[cold]
    fn retarget(&mut self, die: DieId, from: BlockId, to: BlockId, first: &[FlashOp]) {
        let now = self.now;
        let die = self.backend.die_of(die);
        self.processor.change_rows(die, |op| op.retarget(from, to));
        let change = |op: &mut FlashOp| {
            op.retarget(from, to);
            op.renew(now);
        };
        self.backend.requeue(die, change, first);
    }

    #[cold]
    fn enqueue_yielding(&mut self, die: DieId, op: FlashOp) {
        let (die, op) = (self.backend.die_of(die), op.yielding());
        if self.processor.prepares(die, &op) {
            self.processor.prepare(self.now, die, op);
        } else {
            self.backend.queue_behind(die, op);
        }
    }

    fn bring_forward(&mut self) {
        self.processor.bring_forward(self.now);
        self.backend.bring_forward();
    }

    #[inline]
    fn data_from(&self, ready: Nanos) -> Nanos {
        ready.max(self.now)
    }
}
