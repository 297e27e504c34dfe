//! Operations that yield to the host's (`gc.background_beside_host`): a die begins one when nothing else waits for it.
//!
//! They keep their order among each other. What their die is asked for later passes them, unless it concerns the same block, or must
//! not pass anything: then all that waits here goes ahead of it, in its turn.

use std::collections::VecDeque;

use ssdlab_ftl::FlashOp;
use ssdlab_nand::DieId;

use super::Backend;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Behind {
    dies: Vec<VecDeque<FlashOp>>,
    /// In all.
    waiting: usize,
}

impl Behind {
    #[must_use]
    pub fn new(dies: u32) -> Self {
        Behind { dies: vec![VecDeque::new(); dies as usize], waiting: 0 }
    }

    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// The power is gone.
    pub fn clear(&mut self) {
        *self = Behind::new(self.dies.len() as u32);
    }

    #[inline]
    pub fn front(&self, die: DieId) -> Option<&FlashOp> {
        self.dies[die.index()].front()
    }

    pub fn pop(&mut self, die: DieId) -> Option<FlashOp> {
        let op = self.dies[die.index()].pop_front();
        self.waiting -= usize::from(op.is_some());
        op
    }

    fn push(&mut self, die: DieId, op: FlashOp) {
        self.dies[die.index()].push_back(op);
        self.waiting += 1;
    }

    /// Whether an operation must not pass what waits for its die.
    fn hold(&self, die: DieId, op: &FlashOp) -> bool {
        let waiting = &self.dies[die.index()];
        waiting.iter().any(|earlier| earlier.block() == op.block()) || op.is_behind_all() && !waiting.is_empty()
    }
}

impl Backend {
    #[cold]
    pub(super) fn queue_behind(&mut self, die: DieId, op: FlashOp) {
        self.behind.push(die, op);
    }

    /// What yields and must not be passed by an operation goes ahead of it.
    #[cold]
    pub(super) fn bring_forward_for(&mut self, die: DieId, op: &FlashOp) {
        if self.behind.hold(die, op) {
            self.bring_forward_on(die);
        }
    }

    /// What yields on a die does so no more.
    pub(super) fn bring_forward_on(&mut self, die: DieId) {
        while let Some(op) = self.behind.pop(die) {
            self.dies[die.index()].others.push_back(op);
        }
    }

    /// Nothing that waits yields any more.
    #[cold]
    pub fn bring_forward(&mut self) {
        for die in ssdlab_nand::Dies::all(self.dies.len() as u32).iter() {
            self.bring_forward_on(die);
        }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_ftl::OpKind;
    use ssdlab_nand::BlockId;

    use super::*;

    const DIE: DieId = DieId::FIRST;

    fn op(kind: OpKind, block: u32) -> FlashOp {
        FlashOp::of_kind(kind, BlockId::new(block), 0, 1, 1)
    }

    /// Blocks of what waits for a die, in the order in which it would begin.
    fn blocks(backend: &mut Backend) -> Vec<u32> {
        let others: Vec<FlashOp> = std::iter::from_fn(|| backend.dies[0].others.pop_front()).collect();
        let all = others.into_iter().chain(std::iter::from_fn(|| backend.behind.pop(DIE)));
        all.map(|op| op.block().number()).collect()
    }

    #[test]
    fn what_yields_is_passed_unless_it_concerns_the_same_block_or_nothing_may_be_passed() {
        let queued = |ops: &[FlashOp]| {
            let mut backend = super::super::tests::backend();
            ops.iter().for_each(|&op| backend.queue(0, DIE, op));
            blocks(&mut backend)
        };
        let (program, erase) = (|block| op(OpKind::GcProgram, block), |block| op(OpKind::Erase, block));
        assert_eq!(queued(&[program(1).yielding(), erase(2).yielding(), program(3)]), [3, 1, 2]);
        assert_eq!(queued(&[program(1).yielding(), program(3), erase(2).yielding(), program(1)]), [3, 1, 2, 1]);
        let last = FlashOp::parity_program(BlockId::new(9), 0, 1);
        assert_eq!(queued(&[program(1).yielding(), program(3), last]), [3, 1, 9]);
        // On other dies nothing changes.
        let mut backend = super::super::tests::backend();
        backend.queue(0, DIE.next(), program(1));
        backend.queue(0, DIE, program(1).yielding());
        backend.queue(0, DIE, program(3));
        assert_eq!(blocks(&mut backend), [3, 1]);
    }

    #[test]
    fn what_is_brought_forward_stands_behind_what_came_before_it_was() {
        let mut backend = super::super::tests::backend();
        let ops = [op(OpKind::GcRead, 1).yielding(), op(OpKind::HostProgram, 2), op(OpKind::GcRead, 3).yielding()];
        ops.iter().for_each(|&op| backend.queue(0, DIE, op));
        backend.bring_forward();
        assert!(backend.behind.is_empty());
        backend.queue(0, DIE, op(OpKind::HostProgram, 4));
        assert_eq!(blocks(&mut backend), [2, 1, 3, 4]);
    }
}
