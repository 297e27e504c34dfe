//! A small drive that translates by blocks, for tests.

use ssdlab_core::Rng;
use ssdlab_nand::{DieId, DieSpec, Geometry, PageOrder};

use super::{LogBlock, LogBlockConfig, LogBlockSpec, LogScheme};
use crate::op::FlashOp;
use crate::translation::Translation;

/// Logical pages.
pub const PAGES: u32 = 160;

/// Two dies of 16 blocks of 8 pages.
pub fn drive(scheme: LogScheme) -> LogBlock {
    let die = DieSpec::plain(Geometry {
        planes: 1,
        blocks_per_plane: 16,
        pages_per_block: 8,
        page_bytes: 4096,
        spare_bytes: 0,
        bits_per_cell: 1,
        page_order: PageOrder::Uniform,
    });
    let config = LogBlockConfig {
        die: &die,
        dies: 2,
        channels: 2,
        logical_pages: PAGES,
        reserved_blocks: 0,
        least_worn_first: false,
        spec: &LogBlockSpec::plain(scheme, 4),
    };
    LogBlock::new(&config, &Rng::new(1)).expect("it can be built")
}

/// The dies do at once what they are asked to.
pub fn work(drive: &mut LogBlock, ops: &mut Vec<(DieId, FlashOp)>) {
    while !ops.is_empty() {
        let (die, op) = ops.remove(0);
        drive.began(&op);
        drive.done(die, op, ops);
    }
}
