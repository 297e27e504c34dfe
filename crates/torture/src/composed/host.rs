//! A host that knows where its sectors belong.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ssdlab_core::{MILLISECOND, Nanos, Op, Rng, SECTOR_BYTES};
use ssdlab_device::{Completion, Device, HostCounters, Request, Status};

use super::plan::{Built, Place};
use super::watched::{Book, Inside, lock};
use crate::host::PATIENCE;
use crate::subject::Subject;

/// See the module's own page.
pub struct Host<S> {
    device: Box<dyn Device>,
    places: Vec<Place>,
    books: Vec<Arc<Mutex<Book>>>,
    inside: Vec<Arc<Mutex<Inside<S>>>>,
    rng: Rng,
    now: Nanos,
    next_tag: u64,
    in_flight: BTreeMap<u64, Request>,
    /// Of every sector.
    writes: Vec<u32>,
    reads: Vec<u32>,
    trims: Vec<u32>,
    last_write: Vec<Nanos>,
    last_completed: Nanos,
    /// What came back without error.
    ledger: HostCounters,
    /// A copy, with what it has answered that the device has not yet.
    copy: Option<(Box<dyn Device>, Vec<Completion>)>,
    phases: u64,
    copies: u64,
}

impl<S: Subject> Host<S> {
    pub fn new(built: Built<S>, seed: u64) -> Self {
        let sectors = built.places.len();
        Host {
            device: built.device,
            places: built.places,
            books: built.books,
            inside: built.inside,
            rng: Rng::new(seed).stream("host"),
            now: 0,
            next_tag: 0,
            in_flight: BTreeMap::new(),
            writes: vec![0; sectors],
            reads: vec![0; sectors],
            trims: vec![0; sectors],
            last_write: vec![0; sectors],
            last_completed: 0,
            ledger: HostCounters::default(),
            copy: None,
            phases: 0,
            copies: 0,
        }
    }

    pub fn commands(&self) -> u64 {
        self.next_tag
    }

    pub fn phases(&self) -> u64 {
        self.phases
    }

    /// Copies that were made on the way.
    pub fn copies(&self) -> u64 {
        self.copies
    }

    /// Four to seven of them, and the books after each.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn go_through_phases(&mut self) -> Result<(), String> {
        let capacity = self.device.info().capacity_bytes;
        if capacity != self.places.len() as u64 * SECTOR_BYTES {
            return Err(format!("{} sectors have a place, the device says {capacity} bytes", self.places.len()));
        }
        for number in 1..=4 + self.rng.below(4) {
            let kind = self.rng.below(6);
            let at = |e: String| format!("phase {number} (composed, {}): {e}", PHASE_NAMES[kind as usize]);
            if self.copy.is_none() && self.rng.chance(1, 3) {
                self.copy = self.device.snapshot().map(|copy| (copy, Vec::new()));
                self.copies += u64::from(self.copy.is_some());
            }
            self.phase(kind).map_err(at)?;
            self.drain().map_err(at)?;
            self.check_placement(false).map_err(at)?;
            if self.rng.chance(1, 2) {
                self.send(1, Op::Flush, 0, 0, false).map_err(at)?;
                self.drain().map_err(at)?;
                self.check_written(|place| place.battery).map_err(at)?;
            }
            if self.rng.chance(1, 3) {
                self.settle().map_err(at)?;
                self.check_written(|_| false).map_err(at)?;
            }
            self.check_books().map_err(at)?;
            self.phases += 1;
        }
        self.settle()?;
        self.check_written(|_| false)?;
        self.check_placement(true)?;
        self.check_books()?;
        for (leaf, (inside, book)) in self.inside.iter().zip(&self.books).enumerate() {
            lock(inside).check(&lock(book)).map_err(|e| format!("drive {leaf}: {e}"))?;
        }
        Ok(())
    }

    fn phase(&mut self, kind: u64) -> Result<(), String> {
        let depth = [1, 2, 8, 40][self.rng.below(4) as usize];
        let most = [1, 8, 64, 700][self.rng.below(4) as usize];
        let sectors = self.places.len() as u64;
        let span = [sectors, sectors, sectors.div_ceil(10), 64.min(sectors)][self.rng.below(4) as usize];
        let commands = 50 + self.rng.below(250);
        let mut next = self.rng.below(sectors);
        for _ in 0..commands {
            let length = (1 + self.rng.below(most)).min(span);
            let anywhere = self.rng.below(span - length + 1);
            match kind {
                0 => self.send(depth, Op::Write, anywhere, length, false)?,
                1 | 2 => {
                    next = if next + length > sectors { 0 } else { next };
                    let op = if kind == 1 { Op::Write } else { Op::Read };
                    self.send(depth, op, next, length.min(sectors), false)?;
                    next += length;
                }
                3 => self.send(depth, Op::Read, anywhere, length, false)?,
                4 => {
                    let (op, fua) = match self.rng.below(16) {
                        0 => (Op::Flush, false),
                        1 => (Op::Write, true),
                        2..=8 => (Op::Write, false),
                        _ => (Op::Read, false),
                    };
                    let (first, length) = if op == Op::Flush { (0, 0) } else { (anywhere, length) };
                    self.send(depth, op, first, length, fua)?;
                    if self.rng.chance(1, 20) {
                        let time = self.rng.below(20 * MILLISECOND);
                        self.pass(time)?;
                    }
                }
                _ if self.device.info().supports_trim => {
                    // Of a trim and a write of one page, a host must know which comes first.
                    let op = if self.rng.chance(1, 4) { Op::Trim } else { Op::Write };
                    if op == Op::Trim {
                        self.drain()?;
                    }
                    self.send(depth, op, anywhere, length, false)?;
                    if op == Op::Trim {
                        self.drain()?;
                    }
                }
                _ => {
                    let trim = Request::trim(self.next_tag, anywhere * SECTOR_BYTES, length * SECTOR_BYTES);
                    if self.device.submit(self.now, trim).is_ok() {
                        return Err("a device that does not support trims took one".to_owned());
                    }
                    self.send(depth, Op::Write, anywhere, length, false)?;
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, depth: usize, op: Op, first: u64, length: u64, fua: bool) -> Result<(), String> {
        while self.in_flight.len() >= depth {
            self.wait()?;
        }
        let tag = self.next_tag;
        self.next_tag += 1;
        let request = Request::new(tag, op, first * SECTOR_BYTES, length * SECTOR_BYTES).with_fua(fua);
        let sectors = first as usize..(first + length) as usize;
        match op {
            Op::Write => {
                sectors.clone().for_each(|sector| self.writes[sector] += 1);
                self.last_write[sectors].fill(self.now);
            }
            Op::Read => sectors.for_each(|sector| self.reads[sector] += 1),
            Op::Trim => sectors.for_each(|sector| self.trims[sector] += 1),
            Op::Flush | Op::WriteZeroes => {}
        }
        self.in_flight.insert(tag, request);
        self.device.submit(self.now, request).map_err(|e| format!("{request:?} was refused: {e}"))?;
        if let Some((copy, _)) = &mut self.copy {
            copy.submit(self.now, request).map_err(|e| format!("the copy refused {request:?}: {e}"))?;
        }
        Ok(())
    }

    /// Lets time pass to the next completion.
    fn wait(&mut self) -> Result<(), String> {
        for _ in 0..PATIENCE {
            let Some(at) = self.device.next_event() else {
                return Err(format!(
                    "deadlock: {} commands in flight, and the device is at rest",
                    self.in_flight.len()
                ));
            };
            if at < self.now {
                return Err(format!("time runs backwards, from {} to {at} ns", self.now));
            }
            let mut done = Vec::new();
            self.now = self.device.advance_to_completion(at, &mut done);
            self.follow(&done)?;
            if !done.is_empty() {
                return done.iter().try_for_each(|c| self.take(c));
            }
        }
        Err(format!("livelock: {} commands in flight, {PATIENCE} events completed none", self.in_flight.len()))
    }

    /// Brings the copy to the same time, event by event, and compares what both have answered.
    fn follow(&mut self, done: &[Completion]) -> Result<(), String> {
        let Some((copy, answers)) = &mut self.copy else { return Ok(()) };
        while let Some(at) = copy.next_event().filter(|&at| at <= self.now) {
            copy.advance(at, answers);
        }
        copy.advance(self.now, answers);
        // What was in flight when the copy was made has been answered twice as well.
        if answers.as_slice() != done {
            return Err(format!("at {} ns the device answered {done:?}, its copy {answers:?}", self.now));
        }
        answers.clear();
        Ok(())
    }

    fn take(&mut self, c: &Completion) -> Result<(), String> {
        let request = self.in_flight.remove(&c.tag).ok_or_else(|| format!("no command is in flight for {c:?}"))?;
        if (c.op, c.offset_bytes, c.length_bytes) != (request.op, request.offset_bytes, request.length_bytes) {
            return Err(format!("{c:?} answers {request:?}"));
        }
        if c.completed < c.submitted || c.completed > self.now || c.completed < self.last_completed {
            return Err(format!("{c:?} comes at {} ns, after one of {} ns", self.now, self.last_completed));
        }
        if c.status != Status::Ok {
            return Err(format!("{c:?} from a device that has no reason to"));
        }
        if c.breakdown.sum() != c.latency() {
            return Err(format!("the parts of {c:?} do not sum to its latency of {} ns", c.latency()));
        }
        self.last_completed = c.completed;
        let ledger = &mut self.ledger;
        match c.op {
            Op::Write => {
                ledger.writes += 1;
                ledger.write_bytes += c.length_bytes;
            }
            Op::Read => {
                ledger.reads += 1;
                ledger.read_bytes += c.length_bytes;
                self.check_read(c)?;
            }
            Op::Trim => ledger.trim_bytes += c.length_bytes,
            Op::Flush | Op::WriteZeroes => {}
        }
        Ok(())
    }

    /// What the host never wrote, only the drive can tell.
    fn check_read(&self, c: &Completion) -> Result<(), String> {
        let first = (c.offset_bytes / SECTOR_BYTES) as usize;
        for sector in first..first + (c.length_bytes / SECTOR_BYTES) as usize {
            let place = self.places[sector];
            if self.writes[sector] == 0 && lock(&self.books[place.leaf]).reads[place.sector as usize] == 0 {
                return Err(format!("{c:?}: sector {sector} was read by the host and never at {place:?}"));
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), String> {
        while !self.in_flight.is_empty() {
            self.wait()?;
        }
        Ok(())
    }

    /// Lets time pass, with or without commands in flight.
    fn pass(&mut self, time: Nanos) -> Result<(), String> {
        self.now += time;
        let mut done = Vec::new();
        self.device.advance(self.now, &mut done);
        self.follow(&done)?;
        done.iter().try_for_each(|c| self.take(c))
    }

    /// Waits until the device has nothing left to do by itself, or a drive in it shuffles for ever: one that collects while
    /// idle by a policy that takes victims without a dead page may.
    fn settle(&mut self) -> Result<(), String> {
        self.drain()?;
        for _ in 0..PATIENCE {
            let Some(at) = self.device.next_event() else { return Ok(()) };
            self.pass(at.saturating_sub(self.now))?;
        }
        Ok(())
    }

    /// What was asked of each drive is what the host asked for, or, behind a cache, no more. At the end, what a drive was
    /// asked that belongs to no sector of the host is looked for too.
    fn check_placement(&self, at_the_end: bool) -> Result<(), String> {
        let books: Vec<Book> = self.books.iter().map(|book| lock(book).clone()).collect();
        let mut others: Vec<Vec<bool>> = books.iter().map(|book| vec![at_the_end; book.writes.len()]).collect();
        for (sector, place) in self.places.iter().enumerate() {
            let (book, there) = (&books[place.leaf], place.sector as usize);
            others[place.leaf][there] = false;
            let pairs = [
                ("written", self.writes[sector], book.writes[there]),
                ("read", self.reads[sector], book.reads[there]),
                ("trimmed", self.trims[sector], book.trims[there]),
            ];
            for (what, by_host, by_drive) in pairs {
                // A cache reads what nobody asked for, and may read a sector again.
                let fits = match (place.cached, what) {
                    (false, _) => by_host == by_drive,
                    (true, "read") => true,
                    (true, _) => by_drive <= by_host,
                };
                if !fits {
                    return Err(format!("sector {sector} was {what} {by_host} times, {place:?} {by_drive} times"));
                }
            }
        }
        for (leaf, others) in others.iter().enumerate() {
            let touched = |sector: &usize| others[*sector] && books[leaf].writes[*sector] > 0;
            if let Some(sector) = (0..others.len()).find(touched) {
                return Err(format!("sector {sector} of drive {leaf} was written and belongs to nobody"));
            }
        }
        Ok(())
    }

    /// The last write of every sector has gone to its drive, except where `may_wait`.
    fn check_written(&self, may_wait: impl Fn(&Place) -> bool) -> Result<(), String> {
        let books: Vec<_> = self.books.iter().map(|book| lock(book)).collect();
        for (sector, place) in self.places.iter().enumerate().filter(|(_, place)| !may_wait(place)) {
            let (written, last) = (self.writes[sector] > 0, self.last_write[sector]);
            let book = &books[place.leaf];
            let there = place.sector as usize;
            if written && (book.writes[there] == 0 || book.last_write[there] < last) {
                return Err(format!("sector {sector}, last written at {last} ns, is not at {place:?}"));
            }
        }
        Ok(())
    }

    fn check_books(&self) -> Result<(), String> {
        self.device.check_books()?;
        for (named, counted) in self.ledger.named().into_iter().zip(self.device.counters().host.named()) {
            if named != counted {
                return Err(format!("the host counts {named:?}, the device {counted:?}"));
            }
        }
        Ok(())
    }
}

const PHASE_NAMES: [&str; 6] =
    ["random writes", "sequential writes", "sequential reads", "random reads", "mixed", "writes and trims"];
