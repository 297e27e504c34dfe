//! What the arm did, kept for a while: see [`ssdlab_device::Recorder`].

use ssdlab_core::Nanos;
use ssdlab_device::{Completion, Last, Stretch, Timeline, Track, Work};

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Records {
    arm: Last<Stretch>,
    commands: Last<Completion>,
    complete_from: Nanos,
}

impl Records {
    #[must_use]
    pub fn new(stretches: usize) -> Self {
        let most = stretches.max(1);
        Records { arm: Last::new(most), commands: Last::new(most), complete_from: 0 }
    }

    /// What the arm is at from `from` to `to`; nothing if that is no time.
    pub fn arm(&mut self, what: &'static str, from: Nanos, to: Nanos) {
        if to > from {
            let (_, gone) = self.arm.push(Stretch { from, to, work: Work::Named(what) });
            self.complete_from = gone.map_or(self.complete_from, |gone| self.complete_from.max(gone.to));
        }
    }

    pub fn command(&mut self, completion: &Completion) {
        let (_, gone) = self.commands.push(*completion);
        self.complete_from = gone.map_or(self.complete_from, |gone| self.complete_from.max(gone.completed));
    }

    /// What had not ended by `from`, and `open`: the commands that are under way.
    #[must_use]
    pub fn since(&self, from: Nanos, open: &[Completion]) -> Timeline {
        let mut commands = Track::new("commands");
        let ended = self.commands.iter().map(|&command| (command, true));
        let all = ended.chain(open.iter().map(|&command| (command, false))).filter(|(c, _)| c.completed > from);
        commands.stretches.extend(all.map(|(command, has_ended)| Stretch {
            from: command.submitted,
            to: command.completed,
            work: Work::Command { command, has_ended },
        }));
        commands.stretches.sort_by_key(|s| (s.from, s.to));
        let mut arm = Track::new("arm");
        arm.stretches.extend(self.arm.iter().filter(|s| s.to > from));
        arm.stretches.sort_by_key(|s| s.from);
        for k in 1..arm.stretches.len() {
            // Reading on ends where the arm is wanted, a power cut ends everything.
            let next = arm.stretches[k].from;
            arm.stretches[k - 1].to = arm.stretches[k - 1].to.min(next);
        }
        let tracks = [commands, arm].into_iter().filter(|track| !track.stretches.is_empty()).collect();
        Timeline { tracks, complete_from: self.complete_from }
    }
}
