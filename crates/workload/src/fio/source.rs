//! The commands of one clone of a job: its pattern, with flushes among the writes, and what verification reads.

use std::collections::VecDeque;

use ssdlab_core::{Op, Rng};

use super::job::{Job, Rw};
use super::written::Written;
use crate::pattern::{AccessPattern, Command, Extent, Pattern, PatternError, Source, Walk, WalkSource};

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

/// Reading what was written.
#[derive(Clone, Debug)]
struct Verification {
    /// To write again, in the next loop.
    walk: Option<Walk>,
    pattern: Pattern,
    rng: Rng,
    loops_left: u64,
    /// Whether each loop goes to the same places in the same order.
    repeats: bool,
    /// What this loop has written; `None` if it is read at once ([`Verification::backlog`]).
    written: Written,
    /// Read in the middle of writing: after so many blocks, so many of them.
    backlog: u64,
    batch: u64,
    waiting: VecDeque<(u64, u64)>,
    to_read: u64,
    /// Everything is written; what is left is to be read.
    reading: bool,
    /// A command is to come that waits for all before it.
    barrier: bool,
    /// It is the one that came last.
    must_wait: bool,
}

/// Yields the commands of one clone of a [`Job`], `fsync` and `fdatasync` included, and the reads of `verify`. Think
/// time, rates, delays and `end_fsync` are the runner's.
#[derive(Clone, Debug)]
pub struct JobSource {
    access: Access,
    flushes: [Every; 2],
    /// A flush comes next, if anything comes after it.
    due: bool,
    /// What comes after the flush.
    behind: Option<Command>,
    left: Option<u64>,
    /// The block that is trimmed is not counted, but the one that is written then.
    counts_writes: bool,
    reads_only: bool,
    verification: Option<Box<Verification>>,
}

impl JobSource {
    pub(super) fn new(job: &Job, mut pattern: Pattern, rng: Rng) -> Result<Self, PatternError> {
        let every = |writes| Every { writes, left: writes };
        let walk = job.walk();
        let verifies = job.verify.is_some() && job.do_verify && !job.verify_only && job.writes();
        let verification = verifies.then(|| {
            // A job that goes on until its time is over has nothing left for reading, but what it reads in between.
            match &mut pattern.extent {
                Extent::Endless => {}
                Extent::Passes(passes) => *passes = 1,
                Extent::Bytes(bytes) => *bytes /= job.loops,
            }
            let block = pattern.sizes[1].min_bytes();
            Box::new(Verification {
                walk: walk.clone(),
                pattern: pattern.clone(),
                rng: rng.clone(),
                loops_left: job.loops - 1,
                repeats: job.randrepeat,
                written: Written::new(block),
                backlog: job.verify_backlog,
                batch: if job.verify_backlog_batch > 0 { job.verify_backlog_batch } else { job.verify_backlog },
                waiting: VecDeque::new(),
                to_read: 0,
                reading: false,
                barrier: false,
                must_wait: false,
            })
        });
        Ok(JobSource {
            access: Access::new(walk.as_ref(), &pattern, &rng)?,
            flushes: [every(job.fsync), every(job.fdatasync)],
            due: false,
            behind: None,
            left: job.number_ios.map(|n| n.saturating_mul(job.loops)),
            counts_writes: matches!(job.rw, Rw::TrimWrite | Rw::RandTrimWrite),
            reads_only: job.verify_only,
            verification,
        })
    }

    /// The next command that is no flush.
    fn access(&mut self) -> Option<Command> {
        let Some(v) = self.verification.as_deref_mut() else { return self.access.next() };
        loop {
            if let Some(read) = v.next_read() {
                return Some(read);
            }
            if !v.reading {
                match self.access.next() {
                    Some(command) => {
                        v.must_wait = std::mem::take(&mut v.barrier);
                        v.sent(&command);
                        return Some(command);
                    }
                    None => v.read_everything(),
                }
            } else if v.loops_left == 0 {
                return None;
            } else {
                v.loops_left -= 1;
                v.reading = false;
                v.barrier = true;
                if !v.repeats {
                    v.rng = v.rng.stream("loop");
                }
                self.access = Access::new(v.walk.as_ref(), &v.pattern, &v.rng).ok()?;
            }
        }
    }
}

fn read(offset_bytes: u64, length_bytes: u64) -> Command {
    Command { op: Op::Read, offset_bytes, length_bytes, fua: false }
}

impl Verification {
    fn sent(&mut self, command: &Command) {
        if command.op != Op::Write {
            return;
        }
        if self.backlog == 0 {
            self.written.add(command.offset_bytes, command.length_bytes);
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
        if next.is_none() && self.reading {
            next = self.written.pop();
        }
        let (offset, length) = next?;
        self.must_wait = std::mem::take(&mut self.barrier);
        Some(read(offset, length))
    }

    fn read_everything(&mut self) {
        self.reading = true;
        self.barrier = true;
        self.to_read = u64::MAX;
    }
}

impl JobSource {
    /// The next command that is no flush, counted.
    fn counted(&mut self) -> Option<Command> {
        if self.left == Some(0) {
            // What was written is read all the same.
            let v = self.verification.as_deref_mut()?;
            if !v.reading {
                v.read_everything();
            }
            return v.next_read();
        }
        let mut command = self.access()?;
        let verifies = self.verification.as_deref().is_some_and(|v| v.reading);
        let counts = !verifies && (!self.counts_writes || command.op == Op::Write);
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
        if std::mem::take(&mut self.due) {
            // As in fio, none comes behind the last.
            self.behind = Some(self.counted()?);
            return Some(Command::FLUSH);
        }
        let command = match self.behind.take() {
            Some(command) => command,
            None => self.counted()?,
        };
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
        self.behind.is_none() && self.verification.as_deref().is_some_and(|v| v.must_wait)
    }

    fn waited(&mut self) {
        if let Some(v) = self.verification.as_deref_mut() {
            v.must_wait = false;
        }
    }

    fn verifies(&self) -> bool {
        // A flush behind the last write is none of the pass.
        self.behind.is_none() && self.verification.as_deref().is_some_and(|v| v.reading)
    }
}
