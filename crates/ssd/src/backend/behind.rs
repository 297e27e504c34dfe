//! Operations that yield to the host's (`gc.background_beside_host`): a die begins one when nothing else waits for it.
//!
//! They keep their order among each other. What their die is asked for otherwise passes them, unless it concerns the same block or
//! must not pass anything: then those that came before it are begun first.

use ssdlab_core::{DieSet, Ring};
use ssdlab_ftl::FlashOp;
use ssdlab_nand::{BlockId, DieId};

use super::Backend;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Behind {
    dies: Vec<Ring<FlashOp>>,
    /// Dies on which some may wait: on no others do any.
    holding: DieSet,
    /// Always empty.
    nothing: Ring<FlashOp>,
}

impl Behind {
    #[must_use]
    pub fn new(dies: u32) -> Self {
        let nothing = Ring::new(1, FlashOp::erase(BlockId::default()));
        Behind { dies: vec![nothing.clone(); dies as usize], holding: DieSet::with_room(dies), nothing }
    }

    /// The power is gone.
    pub fn clear(&mut self) {
        *self = Behind::new(self.dies.len() as u32);
    }

    /// Whether a die begins one of them now, rather than the `next` of the others.
    #[must_use]
    pub fn is_due(&self, die: DieId, next: Option<FlashOp>) -> bool {
        next.map_or(!self.dies[die.index()].is_empty(), |next| self.hold(die, &next))
    }

    #[must_use]
    pub fn front(&self, die: DieId) -> Option<FlashOp> {
        self.dies[die.index()].front()
    }

    #[must_use]
    pub fn is_empty(&self, die: DieId) -> bool {
        self.dies[die.index()].is_empty()
    }

    /// What may go with an operation that a die begins while some wait here: those, if it yields too.
    pub fn beside(&mut self, die: DieId, op: &FlashOp) -> &mut Ring<FlashOp> {
        if op.yields() { &mut self.dies[die.index()] } else { &mut self.nothing }
    }

    pub fn pop(&mut self, die: DieId) -> Option<FlashOp> {
        self.dies[die.index()].pop_front()
    }

    /// Whether an operation must not pass what waits for its die. What came after it does not wait here.
    #[must_use]
    pub fn hold(&self, die: DieId, op: &FlashOp) -> bool {
        let waiting = &self.dies[die.index()];
        waiting.iter().any(|earlier| earlier.block() == op.block()) || op.is_behind_all() && !waiting.is_empty()
    }
}

impl Backend {
    /// Queues an operation that yields; behind all others if it must not be passed by any of those.
    #[cold]
    #[inline(never)]
    pub fn queue_behind(&mut self, die: DieId, op: FlashOp) {
        let others = &mut self.dies[die.index()].others;
        let stays = others.iter().any(|earlier| earlier.block() == op.block() || earlier.is_behind_all());
        match &mut self.behind {
            Some(behind) if !stays => {
                behind.dies[die.index()].push_back(op);
                behind.holding.insert(die.number());
            }
            _ => {
                self.bring_forward_on(die);
                self.dies[die.index()].others.push_back(op);
            }
        }
        self.woken.insert(die.number());
    }

    /// What yields on a die does so no more. It goes ahead of all that must not pass it, and so of everything.
    pub(super) fn bring_forward_on(&mut self, die: DieId) {
        if let Some(behind) = &mut self.behind {
            let others = &mut self.dies[die.index()].others;
            behind.dies[die.index()].iter().rev().for_each(|op| others.push_front(op));
            while behind.pop(die).is_some() {}
        }
    }

    /// Nothing that waits yields any more.
    #[cold]
    pub fn bring_forward(&mut self) {
        while let Some(die) = self.behind.as_mut().and_then(|behind| behind.holding.pop_first()) {
            self.bring_forward_on(DieId::new(die));
        }
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

    fn queue(backend: &mut Backend, op: FlashOp) {
        if op.yields() { backend.queue_behind(DIE, op) } else { backend.queue(0, DIE, op) }
    }

    /// Blocks of what waits for a die, in the order in which it would begin.
    fn blocks(backend: &mut Backend) -> Vec<u32> {
        std::iter::from_fn(|| backend.take_in_turn(DIE, 0)).map(|(op, _)| op.block().number()).collect()
    }

    #[test]
    fn what_yields_is_passed_unless_it_concerns_the_same_block_or_nothing_may_be_passed() {
        let queued = |ops: &[FlashOp]| {
            let mut backend = backend();
            ops.iter().for_each(|&op| queue(&mut backend, op));
            blocks(&mut backend)
        };
        let (program, erase) = (|block| op(OpKind::GcProgram, block), |block| op(OpKind::Erase, block));
        assert_eq!(queued(&[program(1).yielding(), erase(2).yielding(), program(3)]), [3, 1, 2]);
        assert_eq!(queued(&[program(1).yielding(), program(3), erase(2).yielding(), program(1)]), [3, 1, 1, 2]);
        assert_eq!(queued(&[program(3), program(1), program(1).yielding(), erase(2).yielding()]), [3, 1, 1, 2]);
        let last = FlashOp::parity_program(BlockId::new(9), 0, 1);
        assert_eq!(queued(&[program(1).yielding(), program(3), last]), [3, 1, 9]);
        // On other dies nothing changes.
        let mut backend = backend();
        backend.queue(0, DIE.next(), program(1));
        queue(&mut backend, program(1).yielding());
        queue(&mut backend, program(3));
        assert_eq!(blocks(&mut backend), [3, 1]);
    }

    #[test]
    fn what_is_brought_forward_goes_first() {
        let mut backend = backend();
        let ops = [op(OpKind::GcRead, 1).yielding(), op(OpKind::HostProgram, 2), op(OpKind::GcRead, 3).yielding()];
        ops.iter().for_each(|&op| queue(&mut backend, op));
        backend.bring_forward();
        assert_eq!(backend.behind.as_ref().and_then(|behind| behind.front(DIE)), None);
        backend.queue(0, DIE, op(OpKind::HostProgram, 4));
        assert_eq!(blocks(&mut backend), [1, 3, 2, 4]);
    }
}
