//! Reads first: writes go out while the host has no command here, and beside its reads only if too much is dirty or
//! somebody waits for it.

use super::{Decision, FlushPolicy, View};

#[derive(Clone, Copy, Debug)]
pub struct Polite;

impl FlushPolicy for Polite {
    fn decide(&mut self, view: &View) -> Decision {
        let in_a_gap = view.reads == 0 && view.is_idle();
        let wanted = view.dirty_lines >= view.threshold_lines || view.demanded || in_a_gap;
        if view.dirty_lines > 0 && wanted { Decision::GoRound } else { Decision::Rest }
    }

    fn holds_reads(&self) -> bool {
        false
    }

    fn copy(&self) -> Box<dyn FlushPolicy> {
        Box::new(*self)
    }
}
