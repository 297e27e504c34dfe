//! When an idle drive folds its SLC cache: after a while of rest, then one superblock after another at its own pace.

use ssdlab_core::{Nanos, nanos_from_ms};
use ssdlab_ftl::{SlcCacheSpec, Unfolded};

use crate::backend::NEVER;

/// See the module's own page.
#[derive(Clone, Copy, Debug)]
pub struct IdleFolding {
    after_idle: Option<Nanos>,
    pause: Nanos,
    /// When the next step is due; [`NEVER`]: the drive is not at rest, or there is nothing to fold.
    next: Nanos,
    /// A step has been taken since the drive came to rest.
    started: bool,
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

    /// When the next step is due; [`NEVER`]: not at all.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// Whether a step has been taken since the drive came to rest.
    #[inline]
    #[must_use]
    pub fn has_started(&self) -> bool {
        self.started
    }

    /// The host's last command has ended.
    #[inline]
    pub fn rest(&mut self, at: Nanos) {
        if let Some(after) = self.after_idle {
            self.next = at + after;
        }
    }

    /// A step was taken, and this is left. Where there is no room, another try comes once the idle drive has had as long
    /// to collect as it waits before it begins to (`collects_after`; `None`: it never does).
    pub fn stepped(&mut self, at: Nanos, left: Unfolded, collects_after: Option<Nanos>) {
        self.started = true;
        self.next = match left {
            Unfolded::More => at + self.pause,
            Unfolded::NoRoom => collects_after.map_or(NEVER, |after| at + after.max(self.pause)),
            Unfolded::Nothing => NEVER,
        };
    }

    /// The host is back.
    pub fn stop(&mut self) {
        (self.next, self.started) = (NEVER, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_try_comes_while_there_is_anything_to_hope_for() {
        let mut folding = IdleFolding { pause: 10, ..IdleFolding::new(None) };
        let mut next = |left, collects_after| {
            folding.stepped(1000, left, collects_after);
            folding.next
        };
        assert_eq!(next(Unfolded::More, None), 1010);
        assert_eq!(next(Unfolded::NoRoom, Some(300)), 1300);
        assert_eq!(next(Unfolded::NoRoom, Some(1)), 1010);
        // A drive that never collects by itself makes no room.
        assert_eq!(next(Unfolded::NoRoom, None), NEVER);
        assert_eq!(next(Unfolded::Nothing, Some(300)), NEVER);
    }

    #[test]
    fn once_the_host_is_back_nothing_is_due_and_nothing_has_begun() {
        let mut folding = IdleFolding { after_idle: Some(50), pause: 10, ..IdleFolding::new(None) };
        folding.rest(1000);
        assert_eq!((folding.next(), folding.has_started()), (1050, false));
        folding.stepped(1050, Unfolded::More, None);
        assert_eq!((folding.next(), folding.has_started()), (1060, true));
        folding.stop();
        assert_eq!((folding.next(), folding.has_started()), (NEVER, false));
    }
}
