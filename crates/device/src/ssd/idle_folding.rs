//! When an idle drive folds its SLC cache: after a while of rest, then one superblock after another at its own pace.

use ssdlab_core::{Nanos, nanos_from_ms};
use ssdlab_ftl::SlcCacheSpec;

use super::events::NEVER;

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct IdleFolding {
    after_idle: Option<Nanos>,
    pause: Nanos,
    /// When the next step is due; [`NEVER`]: the drive is not at rest, or there is nothing to fold.
    pub next: Nanos,
    /// A step has been taken since the drive came to rest.
    pub started: bool,
}

impl IdleFolding {
    #[must_use]
    pub fn new(spec: Option<&SlcCacheSpec>) -> Self {
        IdleFolding {
            after_idle: spec.and_then(|s| s.fold_after_idle_ms).map(nanos_from_ms),
            pause: spec.map_or(0, |s| nanos_from_ms(s.fold_pause_ms)),
            next: NEVER,
            started: false,
        }
    }

    /// The host's last command has ended.
    #[inline]
    pub fn rest(&mut self, at: Nanos) {
        if let Some(after) = self.after_idle {
            self.next = at + after;
        }
    }

    /// A step was taken; `more` says whether there is more to fold.
    pub fn stepped(&mut self, at: Nanos, more: bool) {
        self.started = true;
        self.next = if more { at + self.pause } else { NEVER };
    }

    /// The host is back.
    pub fn stop(&mut self) {
        (self.next, self.started) = (NEVER, false);
    }
}
