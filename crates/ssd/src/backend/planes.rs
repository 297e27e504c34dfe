//! Operations on several planes of a die at once, where the map of pages asks for each plane by itself (`mapping.row`).
//!
//! The map sees each plane as a die of its own, and numbers them one after the other: the planes of die 0, those of die 1 …
//! Here they share a die, which does one operation at a time. What it begins takes along what waits right behind it: the
//! same kind of operation on the same page of another plane. Its data cross the channel one plane after the other, and the
//! arrays work at once.
//!
//! Pages that were read together and did not all decode are sensed again together, and end together.

use ssdlab_core::Ring;
use ssdlab_ftl::{FlashOp, OpKind, RowSpan};
use ssdlab_nand::{BlockId, DieId, DieSpec, LogicalPage, Medium};

use crate::spec::DriveSpec;

/// What a die does in other planes, beside the operation that it has under way, or has interrupted.
#[derive(Clone, Debug, Default)]
struct Beside {
    under_way: Vec<FlashOp>,
    interrupted: Vec<FlashOp>,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Planes {
    /// Binary logarithm of the planes of a die.
    shift: u32,
    /// Blocks of a plane.
    blocks: u32,
    /// The host's pages go together only if their addresses follow each other.
    runs_only: bool,
    beside: Vec<Beside>,
}

impl Planes {
    /// `None` where the map asks for all planes of a die together.
    #[must_use]
    pub fn new(drive: &DriveSpec, die: &DieSpec) -> Option<Self> {
        let (mapped, mapped_die) = drive.as_mapped(die);
        (drive.mapping.row != RowSpan::AllPlanes).then(|| Planes {
            shift: die.geometry.planes.trailing_zeros(),
            blocks: mapped.blocks_per_die(&mapped_die),
            runs_only: drive.mapping.row == RowSpan::OnePlaneRuns,
            beside: vec![Beside::default(); drive.flash.dies as usize],
        })
    }

    #[must_use]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// The plane of a block, as one bit.
    fn plane(&self, block: BlockId) -> u8 {
        let plane = (block.number() / self.blocks) & ((1 << self.shift) - 1);
        1 << plane
    }

    /// Planes that an operation works on, with what goes with it.
    #[must_use]
    pub fn of(&self, d: DieId, op: &FlashOp) -> u8 {
        self.beside(d).iter().fold(self.plane(op.block()), |planes, other| planes | self.plane(other.block()))
    }

    /// What a die does in other planes beside the operation under way.
    #[inline]
    #[must_use]
    pub fn beside(&self, d: DieId) -> &[FlashOp] {
        &self.beside[d.index()].under_way
    }

    /// The same beside an operation that is interrupted.
    #[must_use]
    pub fn beside_interrupted(&self, d: DieId) -> &[FlashOp] {
        &self.beside[d.index()].interrupted
    }

    /// A die begins an operation: takes along what waits right behind it and can go with it. Returns how many.
    pub fn take_along(&mut self, d: DieId, op: &FlashOp, waiting: &mut Ring<FlashOp>, medium: &Medium) -> usize {
        let going = self.going_along(op, waiting.iter(), medium);
        let under_way = &mut self.beside[d.index()].under_way;
        under_way.clear();
        under_way.extend((0..going).map_while(|_| waiting.pop_front()));
        going
    }

    /// How many of the operations that wait behind one, in their order, can go with it.
    pub fn going_along(&self, op: &FlashOp, waiting: impl Iterator<Item = FlashOp>, medium: &Medium) -> usize {
        if matches!(op.kind(), OpKind::MergeRead | OpKind::MapRead) {
            // One page, for somebody who waits for it alone.
            return 0;
        }
        let mut taken = self.plane(op.block());
        let mut last = *op;
        let goes_too = |next: &FlashOp| {
            let plane = self.plane(next.block());
            let alike = (next.kind(), next.page(), next.rows()) == (op.kind(), op.page(), op.rows())
                && medium.mode(next.block()) == medium.mode(op.block());
            let apart = self.runs_only && op.kind() == OpKind::HostProgram && !follows(&last, next, medium);
            if !alike || taken & plane != 0 || apart {
                return false;
            }
            taken |= plane;
            last = *next;
            true
        };
        waiting.take_while(goes_too).count()
    }

    /// An operation has ended: what has ended with it. [`Planes::give_back`] follows.
    #[must_use]
    pub fn take_ended(&mut self, d: DieId) -> Vec<FlashOp> {
        std::mem::take(&mut self.beside[d.index()].under_way)
    }

    /// Gives the list back that [`Planes::take_ended`] handed out, to be used again.
    pub fn give_back(&mut self, d: DieId, mut list: Vec<FlashOp>) {
        // The die may have begun something else meanwhile.
        let under_way = &mut self.beside[d.index()].under_way;
        if under_way.capacity() == 0 {
            list.clear();
            *under_way = list;
        }
    }

    /// The operation of a die is interrupted for reads, or goes on after them.
    pub fn interrupted_or_resumed(&mut self, d: DieId) {
        let Beside { under_way, interrupted } = &mut self.beside[d.index()];
        std::mem::swap(under_way, interrupted);
    }

    /// Changes what a die does in other planes.
    pub fn for_each_mut(&mut self, d: DieId, mut change: impl FnMut(&mut FlashOp)) {
        self.beside[d.index()].under_way.iter_mut().for_each(&mut change);
    }

    /// The power is gone: no die is at anything.
    pub fn clear(&mut self) {
        self.beside.fill(Beside::default());
    }
}

/// Whether the logical pages of a row of the host's follow those of another.
fn follows(first: &FlashOp, next: &FlashOp, medium: &Medium) -> bool {
    let layout = medium.layout();
    let row = |op: &FlashOp| layout.row_start(op.block(), op.page()).run(layout.row_units);
    let last = row(first).rev().map(|unit| medium.lpn(unit)).find(|&page| page != LogicalPage::NONE);
    let begins = row(next).map(|unit| medium.lpn(unit)).next();
    last.zip(begins).is_some_and(|(last, begins)| last + 1 == begins)
}
