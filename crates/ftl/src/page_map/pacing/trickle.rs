//! The host gets a fixed, small share of what is moved; none is stop-the-world.

use super::PacingPolicy;

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct Trickle {
    /// Host units let in for a thousand units moved.
    pub units_per_1000: u32,
}

impl PacingPolicy for Trickle {
    fn limits_host(&self) -> bool {
        true
    }

    fn credit_for_moved_unit_micro(&self, _dead: u32, _valid: u32) -> i64 {
        i64::from(self.units_per_1000) * 1000
    }
}
