//! A drive or disk with a book of what it is asked to do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ssdlab_core::{Nanos, Op, SECTOR_BYTES};
use ssdlab_device::{Completion, Counters, Device, DeviceInfo, Refusal, Request};
use ssdlab_disks::Disk;

use crate::oracle::Oracle;
use crate::subject::Subject;

/// What was asked of every sector, and when it was last to be written.
#[derive(Clone, Debug)]
pub struct Book {
    pub writes: Vec<u32>,
    pub reads: Vec<u32>,
    pub trims: Vec<u32>,
    pub last_write: Vec<Nanos>,
    /// Of pages of 4 KiB, the last of which may have fewer sectors.
    requests: Vec<Request>,
}

impl Book {
    pub fn new(sectors: u32) -> Self {
        let each = vec![0; sectors as usize];
        Book {
            writes: each.clone(),
            reads: each.clone(),
            trims: each,
            last_write: vec![0; sectors as usize],
            requests: Vec::new(),
        }
    }

    fn note(&mut self, now: Nanos, request: &Request) {
        let first = (request.offset_bytes / SECTOR_BYTES) as usize;
        let sectors = first..first + (request.length_bytes / SECTOR_BYTES) as usize;
        match request.op {
            Op::Write => {
                sectors.clone().for_each(|sector| self.writes[sector] += 1);
                self.last_write[sectors].fill(now);
                self.requests.push(*request);
            }
            Op::Read => sectors.for_each(|sector| self.reads[sector] += 1),
            Op::Trim => {
                sectors.for_each(|sector| self.trims[sector] += 1);
                self.requests.push(*request);
            }
            Op::Flush | Op::WriteZeroes => {}
        }
    }

    /// Counts the writes of every page anew, and compares them with what the drive has.
    fn check(&self, drive: &impl Subject) -> Result<(), String> {
        let page_bytes = drive.facts().page_bytes();
        let pages = (self.writes.len() as u64 * SECTOR_BYTES / page_bytes) as u32;
        let mut oracle = Oracle::new(pages, drive.max_write_count());
        for r in &self.requests {
            let end = r.offset_bytes + r.length_bytes;
            if r.op == Op::Write {
                (r.offset_bytes / page_bytes..end.div_ceil(page_bytes)).for_each(|page| oracle.write(page as u32));
            } else {
                (r.offset_bytes.div_ceil(page_bytes)..end / page_bytes).for_each(|page| oracle.trim(page as u32));
            }
        }
        oracle.check(|page| drive.write_count(page))
    }
}

/// What is watched.
pub enum Inside<S> {
    Drive(S),
    Disk(Box<Disk>),
}

impl<S: Subject + 'static> Inside<S> {
    pub fn into_device(self) -> Box<dyn Device> {
        match self {
            Inside::Drive(drive) => Box::new(drive),
            Inside::Disk(disk) => disk,
        }
    }
}

impl<S: Subject> Inside<S> {
    pub fn device(&self) -> &dyn Device {
        match self {
            Inside::Drive(drive) => drive,
            Inside::Disk(disk) => &**disk,
        }
    }

    fn device_mut(&mut self) -> &mut dyn Device {
        match self {
            Inside::Drive(drive) => drive,
            Inside::Disk(disk) => &mut **disk,
        }
    }

    /// Checks what it holds against what it was asked to. Nothing may be under way.
    ///
    /// # Errors
    /// The first page that is wrong.
    pub fn check(&self, book: &Book) -> Result<(), String> {
        match self {
            Inside::Drive(drive) => book.check(drive),
            // A disk holds what was written to it once its cache is empty, which its books say.
            Inside::Disk(_) => Ok(()),
        }
    }
}

/// See the module's own page.
pub struct Watched<S> {
    info: DeviceInfo,
    inside: Arc<Mutex<Inside<S>>>,
    book: Arc<Mutex<Book>>,
}

impl<S> Watched<S> {
    pub fn new(info: DeviceInfo, inside: Arc<Mutex<Inside<S>>>, book: Arc<Mutex<Book>>) -> Self {
        Watched { info, inside, book }
    }

    fn inside(&self) -> MutexGuard<'_, Inside<S>> {
        lock(&self.inside)
    }
}

/// What a panic elsewhere has left is looked at all the same.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: Subject> Device for Watched<S> {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.inside().device_mut().submit(now, request)?;
        lock(&self.book).note(now, &request);
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        self.inside().device().next_event()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        self.inside().device_mut().advance(to, done);
    }

    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        self.inside().device_mut().advance_to_completion(limit, done)
    }

    fn counters(&self) -> Counters {
        self.inside().device().counters()
    }

    fn check_books(&self) -> Result<(), String> {
        self.inside().device().check_books()
    }

    /// Of the device alone: nobody watches the copy.
    fn snapshot(&self) -> Option<Box<dyn Device>> {
        self.inside().device().snapshot()
    }
}
