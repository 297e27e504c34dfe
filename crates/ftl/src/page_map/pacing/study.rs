//! A pacing from outside, for studying ideas.

use std::fmt;
use std::sync::Arc;

use super::{MICRO, PacingPolicy};

/// Units that the host may write for each unit that is moved out of a victim with so many dead and valid units.
pub type HostUnits = dyn Fn(u32, u32) -> f64 + Send + Sync;

/// More than any host needs: no limit.
const MOST: f64 = 1e6;

/// See the module's own page.
#[derive(Clone)]
pub struct Study(pub Arc<HostUnits>);

impl fmt::Debug for Study {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Study")
    }
}

impl PacingPolicy for Study {
    fn limits_host(&self) -> bool {
        true
    }

    /// # Panics
    /// If the answer is no number from 0 on.
    fn credit_for_moved_unit_micro(&self, dead: u32, valid: u32) -> i64 {
        let units = (self.0)(dead, valid);
        assert!(units >= 0.0, "the pacing gave {units} units, which is no number from 0 on");
        (units.min(MOST) * MICRO as f64) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::super::Credit;
    use super::*;

    #[test]
    fn a_pacing_without_bounds_lets_the_host_write_without_bounds() {
        let study = Study(Arc::new(|_, _| f64::INFINITY));
        let mut credit = Credit::default();
        credit.begin_victim(study.credit_for_moved_unit_micro(1, 1), 0);
        for _ in 0..100 {
            credit.earn(1 << 20);
        }
        credit.spend(1 << 20, MICRO);
        assert!(credit.covers(u32::MAX));
    }
}
