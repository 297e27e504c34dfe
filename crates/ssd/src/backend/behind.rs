//! Operations that yield to the host's (`gc.background_beside_host`): a die begins one when nothing else waits for it.
//!
//! They keep their order among each other. What their die is asked for later passes them, unless it concerns the same block, or must
//! not pass anything: then all that waits here goes ahead of it, in its turn.

use std::collections::VecDeque;

use ssdlab_ftl::FlashOp;
use ssdlab_nand::{DieId, Dies};

use super::Backend;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Behind {
    dies: Vec<VecDeque<FlashOp>>,
}

impl Behind {
    #[must_use]
    pub fn new(dies: u32) -> Self {
        Behind { dies: vec![VecDeque::new(); dies as usize] }
    }

    /// The power is gone.
    pub fn clear(&mut self) {
        self.dies.iter_mut().for_each(VecDeque::clear);
    }

    #[must_use]
    pub fn front(&self, die: DieId) -> Option<FlashOp> {
        self.dies[die.index()].front().copied()
    }

    pub fn pop(&mut self, die: DieId) -> Option<FlashOp> {
        self.dies[die.index()].pop_front()
    }

    /// Whether an operation must not pass what waits for its die.
    fn hold(&self, die: DieId, op: &FlashOp) -> bool {
        let waiting = &self.dies[die.index()];
        waiting.iter().any(|earlier| earlier.block() == op.block()) || op.is_behind_all() && !waiting.is_empty()
    }
}

impl Backend {
    /// Queues an operation that is no read of the host's, where some yield.
    #[cold]
    #[inline(never)]
    pub(super) fn queue_beside_host(&mut self, die: DieId, op: FlashOp) {
        let Some(behind) = &mut self.behind else { unreachable!("asked only where there is one") };
        if op.yields() {
            behind.dies[die.index()].push_back(op);
            return;
        }
        if behind.hold(die, &op) {
            self.bring_forward_on(die);
        }
        self.dies[die.index()].others.push_back(op);
    }

    /// What yields on a die does so no more.
    pub(super) fn bring_forward_on(&mut self, die: DieId) {
        if let Some(behind) = &mut self.behind {
            let others = &mut self.dies[die.index()].others;
            behind.dies[die.index()].drain(..).for_each(|op| others.push_back(op));
        }
    }

    /// Nothing that waits yields any more.
    #[cold]
    pub fn bring_forward(&mut self) {
        Dies::all(self.dies.len() as u32).iter().for_each(|die| self.bring_forward_on(die));
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_ftl::OpKind;
    use ssdlab_nand::BlockId;

    use super::*;

    const DIE: DieId = DieId::FIRST;

    fn backend() -> Backend {
        let mut backend = super::super::tests::backend();
        (backend.special, backend.behind) = (true, Some(Box::new(Behind::new(32))));
        backend
    }

    fn op(kind: OpKind, block: u32) -> FlashOp {
        FlashOp::of_kind(kind, BlockId::new(block), 0, 1, 1)
    }

    /// Blocks of what waits for a die, in the order in which it would begin.
    fn blocks(backend: &mut Backend) -> Vec<u32> {
        let others: Vec<FlashOp> = std::iter::from_fn(|| backend.dies[0].others.pop_front()).collect();
        let all = others.into_iter().chain(std::iter::from_fn(|| backend.behind.as_mut()?.pop(DIE)));
        all.map(|op| op.block().number()).collect()
    }

    #[test]
    fn what_yields_is_passed_unless_it_concerns_the_same_block_or_nothing_may_be_passed() {
        let queued = |ops: &[FlashOp]| {
            let mut backend = backend();
            ops.iter().for_each(|&op| backend.queue(0, DIE, op));
            blocks(&mut backend)
        };
        let (program, erase) = (|block| op(OpKind::GcProgram, block), |block| op(OpKind::Erase, block));
        assert_eq!(queued(&[program(1).yielding(), erase(2).yielding(), program(3)]), [3, 1, 2]);
        assert_eq!(queued(&[program(1).yielding(), program(3), erase(2).yielding(), program(1)]), [3, 1, 2, 1]);
        let last = FlashOp::parity_program(BlockId::new(9), 0, 1);
        assert_eq!(queued(&[program(1).yielding(), program(3), last]), [3, 1, 9]);
        // On other dies nothing changes.
        let mut backend = backend();
        backend.queue(0, DIE.next(), program(1));
        backend.queue(0, DIE, program(1).yielding());
        backend.queue(0, DIE, program(3));
        assert_eq!(blocks(&mut backend), [3, 1]);
    }

    #[test]
    fn what_is_brought_forward_stands_behind_what_came_before_it_was() {
        let mut backend = backend();
        let ops = [op(OpKind::GcRead, 1).yielding(), op(OpKind::HostProgram, 2), op(OpKind::GcRead, 3).yielding()];
        ops.iter().for_each(|&op| backend.queue(0, DIE, op));
        backend.bring_forward();
        assert_eq!(backend.behind.as_ref().and_then(|behind| behind.front(DIE)), None);
        backend.queue(0, DIE, op(OpKind::HostProgram, 4));
        assert_eq!(blocks(&mut backend), [2, 1, 3, 4]);
    }
}
