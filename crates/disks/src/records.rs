//! What the arm did, kept for a while: see [`ssdlab_device::Recorder`].

use std::borrow::Cow;
use std::ops::Range;

use ssdlab_core::{Cause, Nanos};
use ssdlab_device::{Completion, Last, Stretch, Timeline, Track, Work};

/// Reading on after a read, until the arm is wanted.
const READ_AHEAD: Work = Work::Other { what: Cow::Borrowed("read ahead"), cause: Cause::Transfer };

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Records {
    arm: Last<Stretch>,
    /// The number of its last stretch.
    last: Option<usize>,
    commands: Last<Completion>,
    /// What had ended before is not there.
    began: Nanos,
}

impl Records {
    #[must_use]
    pub fn new(most: usize, now: Nanos) -> Self {
        Records { arm: Last::new(most), last: None, commands: Last::new(most), began: now }
    }

    /// The disk has read on.
    pub fn read_ahead(&mut self, from: Nanos, to: Nanos) {
        self.note(READ_AHEAD, from, to);
    }

    /// What the arm is at from `from` to `to`; nothing if that is no time.
    pub fn arm(&mut self, what: &'static str, cause: Cause, from: Nanos, to: Nanos) {
        self.note(Work::Other { what: what.into(), cause }, from, to);
    }

    fn note(&mut self, work: Work, from: Nanos, to: Nanos) {
        if to > from {
            self.last = Some(self.arm.push(Stretch { from, to, work }));
        }
    }

    /// The power is gone: of what the arm was at, up to a seek, a rotation and a transfer, nothing goes on.
    #[cold]
    pub fn power_cut(&mut self, now: Nanos) {
        let last = self.last.into_iter().flat_map(|last| last.saturating_sub(2)..=last);
        for number in last {
            if let Some(stretch) = self.arm.get_mut(number) {
                (stretch.from, stretch.to) = (stretch.from.min(now), stretch.to.min(now));
            }
        }
    }

    pub fn command(&mut self, completion: &Completion) {
        self.commands.push(*completion);
    }

    /// What had not ended by `from`; `open`: the commands that are under way, and `ahead`: when the disk has read ahead since.
    #[must_use]
    pub fn since(&self, from: Nanos, open: &[Completion], ahead: Option<Range<Nanos>>) -> Timeline {
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
        let ahead = ahead.map(|Range { start: from, end: to }| Stretch { from, to, work: READ_AHEAD });
        arm.stretches.extend(self.arm.iter().chain(&ahead).filter(|s| s.to > from).cloned());
        arm.one_after_the_other();
        // That an arm is idle is worth a row.
        let commands = Some(commands).filter(|commands| !commands.stretches.is_empty());
        let tracks = commands.into_iter().chain([arm]).collect();
        // Either is noted when it ends, or is about to.
        let of_arm = self.arm.oldest_of_more().map_or(0, |s| s.to);
        let commands = self.commands.oldest_of_more().map_or(0, |c| c.completed);
        Timeline { tracks, complete_from: of_arm.max(commands).max(self.began) }
    }
}
