//! Everything in one go: a sweep writes every line that is dirty when it begins in ascending order of addresses, and holds reads
//! back until it ends. Good for disks, whose arms then move one way.

use super::{Decision, FlushPolicy, View};

#[derive(Clone, Copy, Debug, Default)]
pub struct Burst {
    sweeping: bool,
}

impl FlushPolicy for Burst {
    fn decide(&mut self, view: &View) -> Decision {
        if self.sweeping {
            self.sweeping = view.ahead || view.writes > 0;
            return if self.sweeping { Decision::GoOn } else { Decision::Rest };
        }
        let wanted = view.dirty_lines >= view.threshold_lines || view.demanded || view.is_idle();
        self.sweeping = view.dirty_lines > 0 && wanted;
        if self.sweeping { Decision::Begin } else { Decision::Rest }
    }

    fn holds_reads(&self) -> bool {
        self.sweeping
    }

    fn copy(&self) -> Box<dyn FlushPolicy> {
        Box::new(*self)
    }
}
