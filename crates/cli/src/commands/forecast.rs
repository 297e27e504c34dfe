//! What `ssdlab sensitivity`, `calibrate` and `predict` have in common.

use std::num::NonZeroUsize;

use ssdlab_forecast::Bench;

use crate::args::CommonArgs;
use crate::failure::Failure;
use crate::progress::CANCEL;

/// Runs as the flags ask for; Ctrl-C stops them.
pub fn bench<'a>(threads: Option<u16>, common: &CommonArgs, progress: &'a (dyn Fn(usize, usize) + Sync)) -> Bench<'a> {
    Bench {
        threads: threads.and_then(|n| NonZeroUsize::new(n.into())),
        seed: common.seed,
        quick: common.quick,
        progress,
        cancel: &CANCEL,
        kept: None,
    }
}

/// What a run that was interrupted ends with.
pub fn stopped() -> Failure {
    Failure::run("stopped: nothing was kept")
}
