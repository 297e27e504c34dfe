//! What has happened to a block, as far as its errors depend on it.

use serde::{Deserialize, Serialize};

/// Most planes of a die.
pub const MOST_PLANES: usize = 4;

/// Life of the blocks that are erased together: one of every plane.
///
/// Kept apart from the state that every program and read looks at, as it changes once an erase cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockHistory {
    /// Program/erase cycles used up, in thousand-millionths of the rated life: a cycle in a mode adds one part in that
    /// mode's rated cycles. A block that runs now in one mode and now in another wears as the sum.
    pub wear_ppb: u64,
    /// Erases so far, whatever the mode.
    pub erases: u32,
    /// When it was programmed first, or opened for it, after its last erase, in seconds of the caller's clock; the age of
    /// its oldest data counts from here. Kept only for drives that model errors.
    pub programmed_at_s: u32,
    /// Page reads since the last erase, by plane, as far as they were reported with [`crate::Medium::count_reads`]:
    /// cells are disturbed by reads of their own plane alone.
    pub reads: [u32; MOST_PLANES],
}

impl BlockHistory {
    /// Share of the rated life that is used up; above 1 the block is beyond its rating.
    #[must_use]
    pub fn life_used(&self) -> f64 {
        self.wear_ppb as f64 / 1e9
    }

    /// Page reads since the last erase, of the plane that has most.
    #[inline]
    #[must_use]
    pub fn most_reads(&self) -> u32 {
        let [a, b, c, d] = self.reads;
        a.max(b).max(c.max(d))
    }

    /// Whether a block can have lived so long, and can go on.
    pub(crate) fn is_plausible(&self) -> bool {
        self.wear_ppb < 1 << 62 && self.erases < 1 << 31
    }

    /// An erase ends a cycle in a mode of `rated_cycles`.
    pub(crate) fn erased(&mut self, rated_cycles: u32) {
        *self = BlockHistory {
            wear_ppb: self.wear_ppb + 1_000_000_000 / u64::from(rated_cycles),
            erases: self.erases + 1,
            programmed_at_s: 0,
            reads: [0; MOST_PLANES],
        };
    }
}
