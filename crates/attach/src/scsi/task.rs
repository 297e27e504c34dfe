//! A command that takes its time: requests to the drive, one after the other, and what becomes of their data.

use std::collections::VecDeque;

use ssdlab_core::{Nanos, Op};

use super::ata::PassThrough;
use super::sense::Sense;
use crate::drive::Drive;
use crate::request::{DriveError, DriveRequest, Outcome, Started};

/// The end of a command.
#[derive(Debug, Default)]
pub struct Answer {
    /// In pieces, in order.
    pub data: Vec<Vec<u8>>,
    /// `None`: it has succeeded.
    pub sense: Option<Sense>,
    /// Bytes that the command itself would have the host send.
    pub wanted_bytes: u64,
}

impl Answer {
    /// A success with data, or without.
    #[must_use]
    pub fn data(bytes: Vec<u8>) -> Self {
        Answer { data: vec![bytes], ..Answer::default() }
    }

    #[must_use]
    pub fn failed(sense: Sense) -> Self {
        Answer { sense: Some(sense), ..Answer::default() }
    }
}

/// How far a command is.
pub enum Progress {
    Done(Answer),
    /// An outcome of the drive is needed; the command holds so many bytes until then.
    Waits {
        task: Task,
        held_bytes: u64,
    },
}

/// What becomes of the last request's data.
#[derive(Debug)]
pub enum Then {
    /// They are the host's.
    Give,
    /// They are not wanted.
    Nothing,
    /// They must be these, over and over.
    Compare(Vec<u8>),
}

/// See the module's own page.
#[derive(Debug)]
pub struct Task {
    steps: VecDeque<DriveRequest>,
    then: Then,
    op: Op,
    ata: Option<PassThrough>,
    wanted_bytes: u64,
}

impl Task {
    #[must_use]
    pub fn new(steps: impl IntoIterator<Item = DriveRequest>, then: Then, wanted_bytes: u64) -> Self {
        Task { steps: steps.into_iter().collect(), then, op: Op::Flush, ata: None, wanted_bytes }
    }

    /// Bytes that the command itself would have the host send.
    #[must_use]
    pub fn wanted_bytes(&self) -> u64 {
        self.wanted_bytes
    }

    /// A task of a command of ATA.
    #[must_use]
    pub fn of_ata(self, ata: PassThrough) -> Self {
        Task { ata: Some(ata), ..self }
    }

    /// Begins, or goes on with what is left.
    #[must_use]
    pub fn go_on(mut self, now: Nanos, drive: &mut Drive) -> Progress {
        while let Some(request) = self.steps.pop_front() {
            self.op = request.op;
            let compared_bytes = match &self.then {
                Then::Compare(data) => data.len() as u64,
                _ => 0,
            };
            match drive.start(now, request) {
                Ok(Started::Done) => {}
                Ok(Started::Later { held_bytes }) => {
                    return Progress::Waits { task: self, held_bytes: held_bytes + compared_bytes };
                }
                Err(error) => return Progress::Done(self.failed(error)),
            }
        }
        Progress::Done(self.succeeded(drive, Vec::new()))
    }

    /// Takes the outcome of the request that was under way.
    #[must_use]
    pub fn resume(self, now: Nanos, drive: &mut Drive, outcome: Outcome) -> Progress {
        match outcome.result {
            Err(error) => Progress::Done(self.failed(error)),
            Ok(pieces) if self.steps.is_empty() => Progress::Done(self.succeeded(drive, pieces)),
            Ok(_) => self.go_on(now, drive),
        }
    }

    fn failed(&self, error: DriveError) -> Answer {
        let sense = match (&self.ata, error) {
            (
                Some(ata),
                DriveError::Aborted
                | DriveError::Sequence
                | DriveError::NotSupported
                | DriveError::Invalid
                | DriveError::Locked
                | DriveError::NotPermitted
                | DriveError::WriteProtected
                | DriveError::NoSpace,
            ) => ata.aborted(),
            _ => Sense::of(error, self.op),
        };
        Answer { wanted_bytes: self.wanted_bytes, ..Answer::failed(sense) }
    }

    fn succeeded(self, drive: &mut Drive, pieces: Vec<Vec<u8>>) -> Answer {
        let wanted_bytes = self.wanted_bytes;
        let data = match self.then {
            Then::Give => pieces,
            Then::Nothing => Vec::new(),
            Then::Compare(expected) => {
                if !is_repeated(&pieces, &expected) {
                    drive.count_unwanted(self.op);
                    return Answer { wanted_bytes, ..Answer::failed(Sense::MISCOMPARED) };
                }
                Vec::new()
            }
        };
        Answer { data, sense: self.ata.and_then(|ata| ata.succeeded()), wanted_bytes }
    }
}

/// Whether pieces, one after the other, are `expected` again and again, as far as they go.
fn is_repeated(pieces: &[Vec<u8>], expected: &[u8]) -> bool {
    let mut at = 0;
    for piece in pieces {
        let mut rest = &piece[..];
        while !rest.is_empty() && !expected.is_empty() {
            let length = rest.len().min(expected.len() - at);
            if rest[..length] != expected[at..at + length] {
                return false;
            }
            rest = &rest[length..];
            at = (at + length) % expected.len();
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scsi::words::ATA_PASS_THROUGH_16;

    /// A drive tells of a command of ATA that it does not take by its registers, whatever the reason.
    #[test]
    fn what_the_drive_refuses_of_ata_is_aborted_by_ata() {
        let mut cdb = [0; 16];
        // DATA SET MANAGEMENT, with data to the drive.
        (cdb[0], cdb[1], cdb[2], cdb[14]) = (ATA_PASS_THROUGH_16, 6 << 1, 0x22, 0x06);
        let ata = PassThrough::read(&cdb, 512).unwrap();
        for error in [DriveError::Locked, DriveError::NotPermitted, DriveError::WriteProtected, DriveError::NoSpace] {
            let of_ata = Task::new([], Then::Nothing, 0).of_ata(ata.clone()).failed(error);
            assert_eq!(of_ata.sense, Some(ata.aborted()), "{error}");
            let of_scsi = Task::new([], Then::Nothing, 0).failed(error);
            assert_eq!(of_scsi.sense, Some(Sense::of(error, Op::Flush)));
        }
    }
}
