//! The commands of one clone of a job: its pattern, with flushes among the writes and at the end of each pass, and what
//! verification reads.

use std::collections::VecDeque;

use ssdlab_core::{Op, Rng};

use super::job::{Job, Rw};
use super::written::Written;
use crate::pattern::{
    AccessPattern, Command, Distribution, Extent, Mix, Order, Pattern, PatternError, Source, Walk, WalkSource,
};

/// A flush after every so many writes.
#[derive(Clone, Copy, Debug)]
struct Every {
    writes: u64,
    left: u64,
}

#[derive(Clone, Debug)]
enum Access {
    Plain(Box<AccessPattern>),
    Walk(Box<WalkSource>),
}

impl Access {
    fn new(walk: Option<&Walk>, pattern: &Pattern, rng: &Rng) -> Result<Self, PatternError> {
        Ok(match walk {
            None => Access::Plain(Box::new(pattern.build(rng)?)),
            Some(walk) => Access::Walk(Box::new(walk.build(pattern, rng)?)),
        })
    }

    #[inline]
    fn next(&mut self) -> Option<Command> {
        match self {
            Access::Plain(pattern) => pattern.next(),
            Access::Walk(walk) => walk.next(),
        }
    }
}

/// What a round has written and nobody has read yet.
#[derive(Clone, Debug)]
enum ToRead {
    /// So many writes, in the order in which they were made: the round is gone through again.
    InOrder(u64, Option<Box<Access>>),
    Sorted(Written),
}

impl ToRead {
    /// As fio keeps it: in the order of writing where every block is written once, otherwise sorted by address. `room_bytes`
    /// end where no command goes any more.
    fn of(pattern: &Pattern, walk: Option<&Walk>, room_bytes: u64) -> Self {
        let once = matches!(pattern.order, Order::Sequential | Order::Random(Distribution::EachBlockOnce));
        if once && walk.is_none() {
            return ToRead::InOrder(0, None);
        }
        // What is trimmed and then written has the size of trims.
        let block = pattern.sizes[if pattern.mix == Mix::TrimWrite { 2 } else { 1 }].min_bytes();
        ToRead::Sorted(Written::new(block, pattern.start_bytes + room_bytes))
    }

    fn add(&mut self, command: &Command) {
        match self {
            ToRead::InOrder(writes, _) => *writes += 1,
            ToRead::Sorted(written) => written.add(command.offset_bytes, command.length_bytes),
        }
    }

    /// The next of them; `again` makes the commands of the round once more.
    fn pop(&mut self, again: impl FnOnce() -> Option<Access>) -> Option<(u64, u64)> {
        match self {
            ToRead::Sorted(written) => written.pop(),
            ToRead::InOrder(0, round) => {
                *round = None;
                None
            }
            ToRead::InOrder(writes, round) => {
                if round.is_none() {
                    *round = Some(Box::new(again()?));
                }
                *writes -= 1;
                let round = round.as_mut()?;
                let write = std::iter::from_fn(|| round.next()).find(|c| c.op == Op::Write)?;
                Some((write.offset_bytes, write.length_bytes))
            }
        }
    }
}

/// Rounds, where something is done at the end of each: as in fio, a flush, and then the reading of what was written, before
/// more is.
#[derive(Clone, Debug)]
struct Rounds {
    flushes: bool,
    reads: bool,
    /// To write again, in the next round: the pattern is that of a round.
    walk: Option<Walk>,
    pattern: Pattern,
    rng: Rng,
    /// What later rounds are to write, and a round at most.
    left: Extent,
    round_bytes: u64,
    /// Whether each round goes to the same places in the same order.
    repeats: bool,
    /// What this round has written, unless it is read at once ([`Rounds::backlog`]).
    written: ToRead,
    /// Read in the middle of writing: after so many blocks, so many of them.
    backlog: u64,
    batch: u64,
    waiting: VecDeque<(u64, u64)>,
    to_read: u64,
    /// Everything is written; what is left is to be read.
    ended: bool,
    /// A command is to come that waits for all before it.
    barrier: bool,
    /// It is the one that came last.
    must_wait: bool,
    /// The command that came last reads what was written.
    reads_back: bool,
}

/// Yields the commands of one clone of a [`Job`], `fsync`, `fdatasync` and `end_fsync` included, and the reads of `verify`. Think
/// time, rates and delays are the runner's, and the flush of a pass that the runner ends.
#[derive(Clone, Debug)]
pub struct JobSource {
    access: Access,
    flushes: [Every; 2],
    /// A flush is due, if anything comes after it but the reading back of the last round.
    due: bool,
    /// What comes after the flush.
    behind: Option<Command>,
    left: Option<u64>,
    /// The block that is trimmed is not counted, but the one that is written then.
    counts_writes: bool,
    reads_only: bool,
    rounds: Option<Box<Rounds>>,
    /// The command that came last is the flush at the end of a round.
    ends_pass: bool,
}

impl JobSource {
    /// `room_bytes`: from the start of the span to where the job's file ends; and whether the span is the whole drive.
    pub(super) fn new(
        job: &Job,
        mut pattern: Pattern,
        (room_bytes, is_whole_drive): (u64, bool),
        rng: Rng,
    ) -> Result<Self, PatternError> {
        let every = |writes| Every { writes, left: writes };
        // As in fio: where nothing lies behind the span, nor before it, it begins again.
        let walk = job.walk(room_bytes).map(|walk| Walk { ends_with_span: !is_whole_drive, ..walk });
        let reads_only = job.verify_only && job.rw.writes();
        let reads = job.verify.is_some() && job.do_verify && !job.verify_only && job.rw.writes();
        let flushes = job.flushes_at_end();
        let rounds = (reads || flushes).then(|| {
            // Where blocks may come twice, there is no pass that a round could be.
            let round_bytes = match (&pattern.order, pattern.extent) {
                (Order::Sequential | Order::Random(Distribution::EachBlockOnce), _) => pattern.span_bytes,
                (_, Extent::Bytes(bytes)) => pattern.span_bytes.max(bytes / job.loops),
                _ => pattern.span_bytes,
            };
            let (round, left) = round(pattern.extent, round_bytes);
            pattern.extent = round;
            Box::new(Rounds {
                flushes,
                reads,
                pattern: pattern.clone(),
                rng: rng.clone(),
                left,
                round_bytes,
                repeats: job.repeats_passes(),
                written: if reads { ToRead::of(&pattern, walk.as_ref(), room_bytes) } else { ToRead::InOrder(0, None) },
                walk: walk.clone(),
                backlog: job.verify_backlog,
                batch: if job.verify_backlog_batch > 0 { job.verify_backlog_batch } else { job.verify_backlog },
                waiting: VecDeque::new(),
                to_read: 0,
                ended: false,
                barrier: false,
                must_wait: false,
                reads_back: false,
            })
        });
        Ok(JobSource {
            access: Access::new(walk.as_ref(), &pattern, &rng)?,
            flushes: [every(job.fsync), every(job.fdatasync)],
            due: false,
            behind: None,
            // As in fio, a job that goes on for its time does so.
            left: job.number_ios.filter(|_| !job.time_based).map(|n| n.saturating_mul(job.loops)),
            counts_writes: matches!(job.rw, Rw::TrimWrite | Rw::RandTrimWrite),
            reads_only,
            rounds,
            ends_pass: false,
        })
    }

    /// The next command that is no flush among the writes.
    fn access(&mut self) -> Option<Command> {
        let Some(r) = self.rounds.as_deref_mut() else { return self.access.next() };
        loop {
            if let Some(read) = r.next_read() {
                return Some(read);
            }
            if !r.ended {
                match self.access.next() {
                    Some(command) => {
                        r.must_wait = std::mem::take(&mut r.barrier);
                        r.sent(&command);
                        return Some(command);
                    }
                    None => {
                        if let Some(flush) = r.end() {
                            return Some(flush);
                        }
                    }
                }
            } else {
                self.access = r.next_round()?;
            }
        }
    }
}

/// What is written before it is read, of so much that is to be written, and what is left then.
fn round(left: Extent, round_bytes: u64) -> (Extent, Extent) {
    match left {
        // What goes on until its time is over reads nothing but a backlog.
        Extent::Endless => (Extent::Endless, Extent::Passes(0)),
        Extent::Passes(passes) => (Extent::Passes(passes.min(1)), Extent::Passes(passes.saturating_sub(1))),
        Extent::Bytes(bytes) => {
            let now = bytes.min(round_bytes);
            (Extent::Bytes(now), Extent::Bytes(bytes - now))
        }
    }
}

fn read(offset_bytes: u64, length_bytes: u64) -> Command {
    Command { op: Op::Read, offset_bytes, length_bytes, fua: false }
}

impl Rounds {
    fn sent(&mut self, command: &Command) {
        self.reads_back = false;
        if command.op != Op::Write || !self.reads {
            return;
        }
        if self.backlog == 0 {
            self.written.add(command);
            return;
        }
        self.waiting.push_back((command.offset_bytes, command.length_bytes));
        if self.waiting.len() as u64 >= self.backlog {
            self.to_read = self.batch;
            self.barrier = true;
        }
    }

    fn next_read(&mut self) -> Option<Command> {
        let mut next = None;
        if self.to_read > 0 {
            next = self.waiting.pop_front();
            self.to_read = if next.is_some() { self.to_read - 1 } else { 0 };
        }
        if next.is_none() && self.ended {
            let Rounds { walk, pattern, rng, .. } = self;
            next = self.written.pop(|| Access::new(walk.as_ref(), pattern, rng).ok());
        }
        let (offset, length) = next?;
        self.must_wait = std::mem::take(&mut self.barrier);
        self.reads_back = true;
        Some(read(offset, length))
    }

    fn is_last(&self) -> bool {
        matches!(self.left, Extent::Passes(0) | Extent::Bytes(0))
    }

    /// The commands of the next round; `None`: this was the last.
    fn next_round(&mut self) -> Option<Access> {
        if self.is_last() {
            return None;
        }
        (self.pattern.extent, self.left) = round(self.left, self.round_bytes);
        self.ended = false;
        self.barrier = true;
        if !self.repeats {
            self.rng = self.rng.stream("loop");
        }
        Access::new(self.walk.as_ref(), &self.pattern, &self.rng).ok()
    }

    /// Everything is written: what is flushed, before all of it is read.
    fn end(&mut self) -> Option<Command> {
        self.ended = true;
        self.barrier = true;
        self.to_read = u64::MAX;
        self.must_wait = self.flushes;
        self.flushes.then_some(Command::FLUSH)
    }
}

impl JobSource {
    /// Whether a flush that is due waits until the command that came last was sent. As in fio, it comes behind what is read of a
    /// backlog, and before a pass that reads back, unless that is the last.
    fn goes_before_flushes(&self) -> bool {
        let goes = |r: &Rounds| r.reads_back && (r.backlog > 0 || self.left == Some(0) || r.is_last());
        self.rounds.as_deref().is_some_and(goes)
    }

    /// The next command that is no flush among the writes, counted.
    fn counted(&mut self) -> Option<Command> {
        if self.left == Some(0) {
            // What was written is flushed and read all the same.
            let r = self.rounds.as_deref_mut()?;
            let flush = if r.ended { None } else { r.end() };
            return flush.or_else(|| r.next_read());
        }
        let mut command = self.access()?;
        let has_ended = self.rounds.as_deref().is_some_and(|r| r.ended);
        let counts = !has_ended && (!self.counts_writes || command.op == Op::Write);
        if let Some(left) = self.left.as_mut().filter(|_| counts) {
            *left -= 1;
        }
        if self.reads_only && command.op == Op::Write {
            command = read(command.offset_bytes, command.length_bytes);
        }
        Some(command)
    }
}

impl Source for JobSource {
    #[inline]
    fn next(&mut self) -> Option<Command> {
        self.ends_pass = false;
        let due = std::mem::take(&mut self.due);
        let command = match self.behind.take() {
            Some(command) => command,
            // As in fio, none comes behind the last.
            None => self.counted()?,
        };
        self.ends_pass = command.op == Op::Flush;
        // One flush is enough where a pass ends.
        if due && !self.ends_pass {
            if !self.goes_before_flushes() {
                self.behind = Some(command);
                return Some(Command::FLUSH);
            }
            self.due = true;
        }
        if command.op == Op::Write {
            for every in self.flushes.iter_mut().filter(|e| e.writes > 0) {
                every.left -= 1;
                if every.left == 0 {
                    every.left = every.writes;
                    self.due = true;
                }
            }
        }
        Some(command)
    }

    fn must_wait(&self) -> bool {
        self.behind.is_none() && self.rounds.as_deref().is_some_and(|r| r.must_wait)
    }

    fn waited(&mut self) {
        if let Some(r) = self.rounds.as_deref_mut() {
            r.must_wait = false;
        }
    }

    fn verifies(&self) -> bool {
        // A flush behind the last write is none of the pass.
        self.behind.is_none() && !self.ends_pass && self.rounds.as_deref().is_some_and(|r| r.reads && r.ended)
    }

    fn is_unpaced(&self) -> bool {
        // As in fio, reading in place of writing is a pass of verification.
        self.reads_only || self.verifies()
    }

    fn ends_pass(&self) -> bool {
        self.ends_pass
    }
}
