//! For every unit moved the host gets as many as the victim's dead share frees: a paced drive.

use super::{MICRO, PacingPolicy};

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct Balanced;

impl PacingPolicy for Balanced {
    fn limits_host(&self) -> bool {
        true
    }

    fn credit_for_moved_unit_micro(&self, dead: u32, valid: u32) -> i64 {
        i64::from(dead) * MICRO / i64::from(valid.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_victim_of_which_a_quarter_is_dead_gives_a_third_of_what_is_moved() {
        assert_eq!(Balanced.credit_for_moved_unit_micro(25, 75), 333_333);
        assert_eq!(Balanced.credit_for_moved_unit_micro(100, 0), 100 * MICRO);
    }
}
