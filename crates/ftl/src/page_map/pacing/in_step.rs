//! Host and collector in step: the host is held back as by [`Balanced`], and the collector by the host.

use super::{Balanced, PacingPolicy};

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct InStep;

impl PacingPolicy for InStep {
    fn limits_host(&self) -> bool {
        true
    }

    fn credit_for_moved_unit_micro(&self, dead: u32, valid: u32) -> i64 {
        Balanced.credit_for_moved_unit_micro(dead, valid)
    }

    fn follows_host(&self) -> bool {
        true
    }
}
