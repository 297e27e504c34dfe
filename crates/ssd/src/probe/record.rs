//! What dies, channels and firmware did, kept for a while: see [`ssdlab_device::Recorder`].

use ssdlab_core::{Breakdown, Cause, Nanos, Op};
use ssdlab_device::{Completion, Last, Status, Stretch, Timeline, Track, Work};
use ssdlab_ftl::{FlashOp, OpKind};
use ssdlab_nand::{BlockId, DieId, Layout};

use crate::blame::cause_of;
use crate::die_parts::DieParts;
use crate::timing::Interval;

/// What is noted of an operation beside its times.
#[derive(Clone, Copy, Debug)]
pub struct Details {
    /// `None` where nobody asked for it.
    pub block: Option<BlockId>,
    pub page: u32,
    /// Its data on the channel of this number; of no length where none cross it.
    pub channel: u8,
    pub transfer: Interval,
}

impl Details {
    #[inline]
    #[must_use]
    pub fn of(op: &FlashOp, channel: u8, transfer: Interval) -> Self {
        Details { block: Some(op.block()), page: op.page(), channel, transfer }
    }
}

/// A die's work on an operation, or a part of it, and its data on the channel: every operation writes one, in half a cache line.
#[derive(Clone, Copy, Debug)]
struct DieWork {
    from: Nanos,
    length: Short,
    transfer_after: Short,
    transfer_length: Short,
    /// [`u32::MAX`]: not known.
    block: u32,
    page: u16,
    die: u16,
    channel: u8,
    what: What,
}

const _: () = assert!(size_of::<DieWork>() == 32 && size_of::<Ended>() == 32);

/// A length of time: to the nanosecond up to two seconds, beyond that to the microsecond; what is longer than half an hour ends
/// there.
#[derive(Clone, Copy, Debug)]
struct Short(u32);

impl Short {
    /// Set in those that count in so many nanoseconds, as a binary logarithm.
    const COARSE: u32 = 1 << 31;
    const GRAIN: u32 = 10;

    #[inline]
    fn between(from: Nanos, to: Nanos) -> Self {
        let length = to.saturating_sub(from);
        if length < Self::COARSE.into() { Short(length as u32) } else { Self::coarse(length) }
    }

    #[cold]
    fn coarse(length: Nanos) -> Self {
        Short(Self::COARSE | (length >> Self::GRAIN).min(u64::from(Self::COARSE - 1)) as u32)
    }

    fn after(self, from: Nanos) -> Nanos {
        let count = Nanos::from(self.0 & !Self::COARSE);
        from + if self.0 & Self::COARSE == 0 { count } else { count << Self::GRAIN }
    }
}

#[derive(Clone, Copy, Debug)]
enum What {
    Operation(OpKind),
    /// It goes on with a read whose plain read was not enough.
    Retry,
    /// Nothing but the transfer.
    Transfer,
}

impl DieWork {
    #[inline]
    fn new(die: DieId, what: What, time: Interval, channel: u8, transfer: Interval) -> Self {
        DieWork {
            from: time.from,
            length: Short::between(time.from, time.to),
            transfer_after: Short::between(time.from, transfer.from),
            transfer_length: Short::between(transfer.from, transfer.to),
            block: u32::MAX,
            page: 0,
            die: die.index() as u16,
            channel,
            what,
        }
    }

    /// What goes on after that time does not.
    fn ends_by(&mut self, now: Nanos) {
        let transfer = self.transfer();
        self.length = Short::between(self.from, self.time().to.min(now));
        self.transfer_length = Short::between(transfer.from, transfer.to.min(now));
    }

    fn time(&self) -> Interval {
        Interval::new(self.from, self.length.after(self.from))
    }

    fn transfer(&self) -> Interval {
        let from = self.transfer_after.after(self.from);
        Interval::new(from, self.transfer_length.after(from))
    }

    fn of_die(&self, layout: &Layout) -> Stretch {
        let (what, cause, page) = match self.what {
            What::Operation(kind) => {
                (name_of(kind), cause_of(kind), (kind != OpKind::Erase).then_some(self.page.into()))
            }
            What::Retry => ("read again", Cause::EccRetry, None),
            What::Transfer => unreachable!("a transfer takes no time of a die"),
        };
        let block = (self.block != u32::MAX).then(|| layout.die_of(BlockId::new(self.block)).1);
        let Interval { from, to } = self.time();
        Stretch { from, to, work: Work::Flash { what: what.into(), cause, block, page } }
    }
}

/// A command that has ended.
#[derive(Clone, Copy, Debug)]
struct Ended {
    submitted: Nanos,
    completed: Nanos,
    offset_bytes: u64,
    length_bytes: u32,
    op: Op,
}

impl Ended {
    /// Where its time went is not kept.
    fn as_completion(&self) -> Completion {
        Completion {
            tag: 0,
            op: self.op,
            status: Status::Ok,
            offset_bytes: self.offset_bytes,
            length_bytes: self.length_bytes.into(),
            submitted: self.submitted,
            completed: self.completed,
            breakdown: Breakdown::NOTHING,
        }
    }
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Records {
    parts: DieParts,
    dies: Last<DieWork>,
    /// By part of a die: the number of its last work.
    last_of_die: Vec<usize>,
    /// No work has lasted longer, its transfer included.
    longest: Nanos,
    rounds: Last<(Interval, Cause)>,
    /// Of a round that goes on.
    round_since: Option<(Nanos, Cause)>,
    commands: Last<Ended>,
    /// What had ended before is not there.
    began: Nanos,
}

impl Records {
    #[must_use]
    pub fn new(most: usize, parts: DieParts, now: Nanos) -> Self {
        Records {
            began: now,
            parts,
            dies: Last::new(most),
            last_of_die: vec![usize::MAX; parts.count() as usize],
            longest: 0,
            rounds: Last::new(most),
            round_since: None,
            commands: Last::new(most),
        }
    }

    /// The power is gone: nothing goes on that was to.
    #[cold]
    pub fn power_cut(&mut self, now: Nanos) {
        self.round_ends(now);
        self.dies.each_mut().for_each(|work| work.ends_by(now));
    }

    /// A die begins an operation, and its data cross a channel then; not at all if that takes no time.
    #[inline(never)]
    pub fn operation(&mut self, die: DieId, kind: OpKind, time: Interval, details: &Details) {
        let Details { block, page, channel, transfer } = *details;
        self.longest = self.longest.max(time.to.max(transfer.to) - time.from);
        let work = DieWork::new(die, What::Operation(kind), time, channel, transfer);
        let block = block.map_or(u32::MAX, BlockId::number);
        self.last_of_die[die.index()] = self.dies.push(DieWork { block, page: page as u16, ..work });
    }

    #[cold]
    pub fn retry(&mut self, die: DieId, time: Interval) {
        self.longest = self.longest.max(time.to - time.from);
        let none = Interval::new(time.from, time.from);
        self.last_of_die[die.index()] = self.dies.push(DieWork::new(die, What::Retry, time, 0, none));
    }

    /// Data cross a channel beside an operation, which was `asked` for them by then.
    #[cold]
    pub fn transfer(&mut self, channel: u8, die: DieId, asked: Nanos, transfer: Interval) {
        self.longest = self.longest.max(transfer.to - asked);
        let none = Interval::new(asked, asked);
        self.dies.push(DieWork::new(die, What::Transfer, none, channel, transfer));
    }

    /// What a die was at ends early.
    #[cold]
    pub fn interrupted(&mut self, die: DieId, now: Nanos) {
        if let Some(work) = self.dies.get_mut(self.last_of_die[die.index()]) {
            work.ends_by(now);
        }
    }

    /// The firmware holds commands for a round of the collector.
    #[cold]
    pub fn round_begins(&mut self, now: Nanos, cause: Cause) {
        self.round_since = Some((now, cause));
    }

    #[cold]
    pub fn round_ends(&mut self, now: Nanos) {
        if let Some((since, cause)) = self.round_since.take() {
            self.rounds.push((Interval::new(since, now), cause));
        }
    }

    #[inline(never)]
    pub fn command(&mut self, completion: &Completion) {
        let Completion { submitted, completed, offset_bytes, length_bytes, op, .. } = *completion;
        let length_bytes = u32::try_from(length_bytes).unwrap_or(u32::MAX);
        self.commands.push(Ended { submitted, completed, offset_bytes, length_bytes, op });
    }

    /// What had not ended by `from`, and `open`: the commands that are under way `now`.
    #[must_use]
    pub fn since(&self, from: Nanos, now: Nanos, open: &[Completion], layout: &Layout) -> Timeline {
        let mut commands = Track::new("commands");
        // The latest first, and no further than it takes: whoever looks for the slowest request asks often.
        let ended = self.commands.iter().rev().take_while(|c| c.completed > from).map(|c| (c.as_completion(), true));
        let open = open.iter().filter(|c| c.completed > from).map(|&command| (command, false));
        commands.stretches.extend(ended.chain(open).map(|(command, has_ended)| Stretch {
            from: command.submitted,
            to: command.completed,
            work: Work::Command { command, has_ended },
        }));
        commands.stretches.sort_by_key(|s| (s.from, s.to));
        let mut firmware = Track::new("firmware");
        let goes_on = self.round_since.map(|(since, cause)| (Interval::new(since, now), cause));
        let rounds = goes_on.iter().chain(self.rounds.iter().rev().take_while(|round| round.0.to > from));
        firmware.stretches.extend(rounds.map(|&(time, cause)| Stretch {
            from: time.from,
            to: time.to,
            work: Work::Other { what: "a round that holds commands back".into(), cause },
        }));
        let mut dies: Vec<Track> =
            (0..self.parts.count()).map(|part| Track::new(self.parts.name(DieId::new(part)))).collect();
        let mut channels: Vec<Track> = Vec::new();
        // Begun in order, but for copies that are worked out ahead, and so for no more than the longest; what began so long ago
        // has ended.
        let since = from.saturating_sub(2 * self.longest);
        for work in self.dies.iter().rev().take_while(|work| work.from >= since) {
            let (time, Interval { from: begin, to }) = (work.time(), work.transfer());
            if time.to > from.max(time.from) {
                dies[usize::from(work.die)].stretches.push(work.of_die(layout));
            }
            if to > from.max(begin) {
                while channels.len() <= usize::from(work.channel) {
                    channels.push(Track::new(format!("channel {}", channels.len())));
                }
                let die = self.parts.die_of(DieId::new(work.die.into())).number();
                let stretch = Stretch { from: begin, to, work: Work::Transfer { die } };
                channels[usize::from(work.channel)].stretches.push(stretch);
            }
        }
        for track in dies.iter_mut().chain(&mut channels).chain([&mut firmware]) {
            track.one_after_the_other();
        }
        // That a die is idle is worth a row.
        let host = [commands, firmware].into_iter().filter(|track| !track.stretches.is_empty());
        Timeline { tracks: host.chain(dies).chain(channels).collect(), complete_from: self.complete_from() }
    }

    /// Work is noted when it begins, commands and rounds when they end: what has gone began before the oldest of each.
    fn complete_from(&self) -> Nanos {
        let dies = self.dies.oldest_of_more().map_or(0, |work| work.from);
        let rounds = self.rounds.oldest_of_more().map_or(0, |round| round.0.to);
        let commands = self.commands.oldest_of_more().map_or(0, |c| c.completed);
        dies.max(rounds).max(commands).max(self.began)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_is_not_cut_off() {
        let kept = |length: Nanos| {
            let time = Interval::new(5, 5 + length);
            let work = DieWork::new(DieId::FIRST, What::Retry, time, 0, Interval::new(time.to, time.to + length));
            (work.time().to - 5, work.transfer().to - work.transfer().from)
        };
        for exact in [0, 1, 1_999_999_999, (1 << 31) - 1] {
            assert_eq!(kept(exact), (exact, exact));
        }
        for rounded in [1 << 31, 4_294_967_296, 10_000_000_123, 1_800_000_000_999] {
            let (die, channel) = kept(rounded);
            assert!(die == channel && (rounded - 1023..=rounded).contains(&die), "{rounded} ns became {die}");
        }
        assert_eq!(kept(Nanos::MAX / 4).0, ((1 << 31) - 1) << 10);
    }
}
