//! What dies, channels and firmware did, kept for a while: see [`ssdlab_device::Recorder`].

use ssdlab_core::Nanos;
use ssdlab_device::{Completion, Last, Stretch, Timeline, Track, Work};
use ssdlab_ftl::{FlashOp, OpKind};
use ssdlab_nand::{BlockId, DieId, Layout};

use crate::timing::Interval;

/// Which operation of a die, and what for.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    pub kind: OpKind,
    /// `None` where nobody asked for it.
    pub block: Option<BlockId>,
    pub page: u32,
}

impl Subject {
    #[inline]
    #[must_use]
    pub fn of(op: &FlashOp) -> Self {
        Subject { kind: op.kind(), block: Some(op.block()), page: op.page() }
    }
}

/// A die's work on an operation, or a part of it.
#[derive(Clone, Copy, Debug)]
struct DieWork {
    die: DieId,
    what: &'static str,
    block: Option<BlockId>,
    page: Option<u32>,
    time: Interval,
}

#[derive(Clone, Copy, Debug)]
struct ChannelWork {
    channel: u32,
    die: DieId,
    time: Interval,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Records {
    dies: Last<DieWork>,
    /// By die: the number of its last work.
    last_of_die: Vec<usize>,
    channels: Last<ChannelWork>,
    rounds: Last<Interval>,
    /// Of a round that goes on.
    round_since: Option<Nanos>,
    commands: Last<Completion>,
    /// Of what ended before, something may have gone.
    complete_from: Nanos,
}

impl Records {
    #[must_use]
    pub fn new(stretches: usize, dies: usize) -> Self {
        let most = stretches.max(1);
        Records {
            dies: Last::new(most),
            last_of_die: vec![usize::MAX; dies],
            channels: Last::new(most),
            rounds: Last::new(most),
            round_since: None,
            commands: Last::new(most),
            complete_from: 0,
        }
    }

    /// The power is gone: nothing goes on that was to.
    #[cold]
    pub fn power_cut(&mut self, now: Nanos) {
        self.round_ends(now);
        for number in &self.last_of_die {
            if let Some(work) = self.dies.get_mut(*number) {
                work.time.to = work.time.to.min(now);
            }
        }
    }

    /// A die begins an operation, and its data cross a channel then; not at all if that takes no time.
    #[cold]
    pub fn operation(&mut self, die: DieId, subject: Subject, time: Interval, channel: u8, transfer: Interval) {
        let Subject { kind, block, page } = subject;
        self.transfer(channel, die, transfer);
        let page = (kind != OpKind::Erase).then_some(page);
        self.work(DieWork { die, what: name_of(kind), block, page, time });
    }

    #[cold]
    pub fn transfer(&mut self, channel: u8, die: DieId, time: Interval) {
        if time.to > time.from {
            let (_, gone) = self.channels.push(ChannelWork { channel: channel.into(), die, time });
            self.forget(gone.map(|work| work.time));
        }
    }

    /// A die goes on with a read whose plain read was not enough.
    #[cold]
    pub fn retry(&mut self, die: DieId, time: Interval) {
        self.work(DieWork { die, what: "read again", block: None, page: None, time });
    }

    fn work(&mut self, work: DieWork) {
        let (number, gone) = self.dies.push(work);
        self.last_of_die[work.die.index()] = number;
        self.forget(gone.map(|work| work.time));
    }

    /// What a die was at ends early.
    #[cold]
    pub fn interrupted(&mut self, die: DieId, now: Nanos) {
        if let Some(work) = self.dies.get_mut(self.last_of_die[die.index()]) {
            work.time.to = work.time.to.min(now);
        }
    }

    /// The firmware holds commands for a round of the collector.
    #[cold]
    pub fn round_begins(&mut self, now: Nanos) {
        self.round_since = Some(now);
    }

    #[cold]
    pub fn round_ends(&mut self, now: Nanos) {
        if let Some(since) = self.round_since.take() {
            let (_, gone) = self.rounds.push(Interval::new(since, now));
            self.forget(gone);
        }
    }

    #[cold]
    pub fn command(&mut self, completion: &Completion) {
        let (_, gone) = self.commands.push(*completion);
        self.forget(gone.map(|c| Interval::new(c.submitted, c.completed)));
    }

    fn forget(&mut self, gone: Option<Interval>) {
        if let Some(gone) = gone {
            self.complete_from = self.complete_from.max(gone.to);
        }
    }

    /// What had not ended by `from`, and `open`: the commands that are under way `now`.
    #[must_use]
    pub fn since(&self, from: Nanos, now: Nanos, open: &[Completion], layout: &Layout) -> Timeline {
        let mut commands = Track::new("commands");
        let ended = self.commands.iter().map(|&command| (command, true)).chain(open.iter().map(|&command| (command, false)));
        for (command, has_ended) in ended.filter(|(c, _)| c.completed > from) {
            let work = Work::Command { command, has_ended };
            commands.stretches.push(Stretch { from: command.submitted, to: command.completed, work });
        }
        let mut firmware = Track::new("firmware");
        let goes_on = self.round_since.map(|since| Interval::new(since, now));
        firmware.stretches.extend(self.rounds.iter().chain(&goes_on).filter(|time| time.to > from).map(|time| Stretch {
            from: time.from,
            to: time.to,
            work: Work::Named("round of the collector"),
        }));
        let mut dies: Vec<Track> = (0..self.last_of_die.len()).map(|die| Track::new(format!("die {die}"))).collect();
        for work in self.dies.iter().filter(|work| work.time.to > from && work.time.to > work.time.from) {
            let block = work.block.map(|block| layout.die_of(block).1);
            let stretch = Stretch {
                from: work.time.from,
                to: work.time.to,
                work: Work::Flash { what: work.what, block, page: work.page },
            };
            dies[work.die.index()].stretches.push(stretch);
        }
        let count = self.channels.iter().map(|work| work.channel as usize + 1).max().unwrap_or(0);
        let mut channels: Vec<Track> = (0..count).map(|channel| Track::new(format!("channel {channel}"))).collect();
        for work in self.channels.iter().filter(|work| work.time.to > from) {
            let stretch =
                Stretch { from: work.time.from, to: work.time.to, work: Work::Transfer { die: work.die.index() as u32 } };
            channels[work.channel as usize].stretches.push(stretch);
        }
        commands.stretches.sort_by_key(|s| (s.from, s.to));
        for track in dies.iter_mut().chain(&mut channels).chain([&mut firmware]) {
            one_after_the_other(&mut track.stretches);
        }
        let tracks = [commands, firmware].into_iter().chain(dies).chain(channels);
        Timeline { tracks: tracks.filter(|track| !track.stretches.is_empty()).collect(), complete_from: self.complete_from }
    }
}

/// In order, each ended by the beginning of the next: a die that was to work on is at something else then.
fn one_after_the_other(stretches: &mut [Stretch]) {
    stretches.sort_by_key(|s| (s.from, s.to));
    for k in 1..stretches.len() {
        let next = stretches[k].from;
        let before = &mut stretches[k - 1];
        before.to = before.to.min(next);
    }
}

/// In the words of somebody who looks at a die.
fn name_of(kind: OpKind) -> &'static str {
    match kind {
        OpKind::HostRead => "read",
        OpKind::MergeRead => "read for a partial write",
        OpKind::HostProgram => "program",
        OpKind::GcRead => "collector: read",
        OpKind::GcProgram => "collector: program",
        OpKind::FoldRead => "fold: read",
        OpKind::FoldProgram => "fold: program",
        OpKind::FoldCopy => "fold: program of what the die has read",
        OpKind::MapRead => "map: read",
        OpKind::MetadataProgram => "map and journal: program",
        OpKind::CopyRead => "merge: read",
        OpKind::CopyProgram => "merge: program",
        OpKind::Erase => "erase",
        OpKind::SafetyRead => "copy of an older page: read",
        OpKind::SafetyProgram => "copy of an older page: program",
        OpKind::RetireRead => "bad block: read",
        OpKind::RetireProgram => "bad block: program",
    }
}
