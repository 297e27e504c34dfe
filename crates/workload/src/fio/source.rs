//! The commands of one clone of a job: its pattern, with flushes among the writes.

use ssdlab_core::Op;

use crate::pattern::{AccessPattern, Command, Source};

/// A flush after every so many writes.
#[derive(Clone, Copy, Debug)]
struct Every {
    writes: u64,
    left: u64,
}

/// Yields the commands of one clone of a [`super::Job`], `fsync` and `fdatasync` included. Think time, rates, delays
/// and `end_fsync` are the runner's.
#[derive(Clone, Debug)]
pub struct JobSource {
    access: AccessPattern,
    flushes: [Every; 2],
    due: u32,
}

impl JobSource {
    pub(super) fn new(access: AccessPattern, fsync: u64, fdatasync: u64) -> Self {
        let every = |writes| Every { writes, left: writes };
        JobSource { access, flushes: [every(fsync), every(fdatasync)], due: 0 }
    }
}

impl Source for JobSource {
    #[inline]
    fn next(&mut self) -> Option<Command> {
        if self.due > 0 {
            self.due -= 1;
            return Some(Command::FLUSH);
        }
        let command = self.access.next()?;
        if command.op == Op::Write {
            for every in self.flushes.iter_mut().filter(|e| e.writes > 0) {
                every.left -= 1;
                if every.left == 0 {
                    every.left = every.writes;
                    self.due += 1;
                }
            }
        }
        Some(command)
    }
}
