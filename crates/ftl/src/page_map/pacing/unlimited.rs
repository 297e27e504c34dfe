//! Host and collector compete for the dies; the host stops only when no free block is left to it.

use super::PacingPolicy;

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct Unlimited;

impl PacingPolicy for Unlimited {
    fn limits_host(&self) -> bool {
        false
    }

    fn credit_for_moved_unit_micro(&self, _dead: u32, _valid: u32) -> i64 {
        0
    }
}
