//! The collector works in rounds that take the processor as a whole; the host's commands are taken in between them.

use super::PacingPolicy;

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct BetweenRounds;

impl PacingPolicy for BetweenRounds {
    /// What has been taken in may be written.
    fn limits_host(&self) -> bool {
        false
    }

    fn credit_for_moved_unit_micro(&self, _dead: u32, _valid: u32) -> i64 {
        0
    }

    fn in_rounds(&self) -> bool {
        true
    }
}
