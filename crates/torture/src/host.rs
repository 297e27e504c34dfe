//! A host that keeps track of everything it asks for.

use std::collections::BTreeMap;

use ssdlab_core::{Nanos, Op, Rng, SECTOR_BYTES, UNIT_BYTES};
use ssdlab_device::{Completion, Request, Status};

use crate::ledger::Ledger;
use crate::losses::Losses;
use crate::oracle::Oracle;
use crate::subject::Subject;

/// Events without a completion after which a drive counts as stuck.
const PATIENCE: u32 = 200_000;

const DAY_S: u64 = 86_400;

/// See the module's own page.
pub struct Host<S> {
    pub drive: S,
    pub rng: Rng,
    pub now: Nanos,
    pub pages: u32,
    pub capacity_bytes: u64,
    pub oracle: Oracle,
    ledger: Ledger,
    /// Drives that correct errors only.
    losses: Option<Losses>,
    next_tag: u64,
    in_flight: BTreeMap<u64, Request>,
    /// Writes and trims in flight, by page.
    writing: Vec<u16>,
    trimming: Vec<u16>,
    done: Vec<Completion>,
    /// Of the data that are written from now on.
    compressibility_per_1000: u16,
    last_completed: Nanos,
    /// The drive was read-only when these commands and all later ones were sent.
    read_only_from: Option<u64>,
    pub commands: u64,
    pub refused: u64,
    pub uncorrectable: u64,
}

/// Pages that a request touches; those that a trim forgets.
fn pages_of(r: &Request) -> std::ops::Range<u32> {
    let end = r.offset_bytes + r.length_bytes;
    match r.op {
        Op::Flush | Op::WriteZeroes => 0..0,
        Op::Trim => {
            let (first, last) = (r.offset_bytes.div_ceil(UNIT_BYTES), end / UNIT_BYTES);
            first as u32..last.max(first) as u32
        }
        Op::Read | Op::Write => (r.offset_bytes / UNIT_BYTES) as u32..end.div_ceil(UNIT_BYTES) as u32,
    }
}

impl<S: Subject> Host<S> {
    /// `errs`: the drive has flash that errs, and may lose data.
    pub fn new(drive: S, seed: u64, errs: bool) -> Self {
        let capacity_bytes = drive.info().capacity_bytes;
        let pages = (capacity_bytes / UNIT_BYTES) as u32;
        Host {
            rng: Rng::new(seed).stream("host"),
            now: 0,
            pages,
            capacity_bytes,
            oracle: Oracle::new(pages, drive.max_write_count()),
            ledger: Ledger::default(),
            losses: errs.then(|| Losses::new(pages)),
            next_tag: 0,
            in_flight: BTreeMap::new(),
            writing: vec![0; pages as usize],
            trimming: vec![0; pages as usize],
            done: Vec::new(),
            compressibility_per_1000: 0,
            last_completed: 0,
            read_only_from: None,
            commands: 0,
            refused: 0,
            uncorrectable: 0,
            drive,
        }
    }

    /// Sends a command as soon as fewer than `depth` are in flight, and none with which it would collide: of a trim
    /// and a write of one page a host must know which comes first.
    pub fn send(
        &mut self,
        depth: usize,
        op: Op,
        offset_bytes: u64,
        length_bytes: u64,
        fua: bool,
    ) -> Result<(), String> {
        let tag = self.next_tag;
        let request = Request::new(tag, op, offset_bytes, length_bytes)
            .with_fua(fua)
            .with_compressibility(self.compressibility_per_1000);
        let touched = pages_of(&request);
        while self.in_flight.len() >= depth.max(1) || self.collides(op, touched.clone()) {
            self.wait()?;
        }
        self.next_tag += 1;
        if let Some(losses) = &mut self.losses {
            let (writing, trimming) = (&self.writing, &self.trimming);
            let changes = if matches!(op, Op::Write | Op::Trim) { touched.clone() } else { 0..0 };
            losses.submitted(&request, changes, |page| writing[page as usize] + trimming[page as usize] > 0);
        }
        let marks = match op {
            Op::Write => Some(&mut self.writing),
            Op::Trim => Some(&mut self.trimming),
            Op::Read | Op::Flush | Op::WriteZeroes => None,
        };
        if let Some(marks) = marks {
            touched.clone().for_each(|page| marks[page as usize] += 1);
        }
        if op == Op::Write {
            touched.for_each(|page| self.oracle.write(page));
        }
        if self.drive.is_read_only() {
            self.read_only_from.get_or_insert(tag);
        }
        self.in_flight.insert(tag, request);
        self.ledger.submitted(self.now);
        let streams = self.drive.info().streams;
        let stream = if op == Op::Write { self.rng.below(streams.into()) as u8 } else { 0 };
        self.drive
            .submit(self.now, request.with_stream(stream))
            .map_err(|e| format!("{request:?} was refused: {e}"))?;
        self.commands += 1;
        self.take_losses()
    }

    fn collides(&self, op: Op, mut pages: std::ops::Range<u32>) -> bool {
        match op {
            Op::Write => pages.any(|page| self.trimming[page as usize] > 0),
            Op::Trim => pages.any(|page| self.writing[page as usize] > 0),
            Op::Read | Op::Flush | Op::WriteZeroes => false,
        }
    }

    /// Lets time pass to the next completion.
    fn wait(&mut self) -> Result<(), String> {
        for _ in 0..PATIENCE {
            let Some(at) = self.drive.next_event() else {
                return Err(format!("deadlock: {} commands in flight, and the drive is at rest", self.in_flight.len()));
            };
            if at < self.now {
                return Err(format!("time runs backwards, from {} to {at} ns", self.now));
            }
            self.now = at;
            self.advance(at)?;
            if !self.done.is_empty() {
                return self.take_completions();
            }
        }
        Err(format!("livelock: {} commands in flight, {PATIENCE} events completed none", self.in_flight.len()))
    }

    fn advance(&mut self, to: Nanos) -> Result<(), String> {
        self.drive.advance(to, &mut self.done);
        self.take_losses()
    }

    /// What the drive has lost since, before anything comes back because of it.
    fn take_losses(&mut self) -> Result<(), String> {
        let Some(losses) = &mut self.losses else { return Ok(()) };
        for loss in self.drive.take_losses() {
            let page = loss.page as usize;
            let (writing, trimming) = (self.writing[page], self.trimming[page]);
            losses.found(&loss, writing + trimming > 0, self.drive.is_lost(loss.page))?;
            if !loss.stale && trimming == 0 {
                // Of what has since been written in part, the buffer has the last write.
                let found = if loss.in_part { self.drive.write_count(loss.page) } else { Some(loss.write_count) };
                let told = self.oracle.check_page(loss.page, writing.into(), found);
                told.map_err(|e| format!("{loss:?}: {e}"))?;
            }
        }
        Ok(())
    }

    fn take_completions(&mut self) -> Result<(), String> {
        for c in std::mem::take(&mut self.done) {
            self.take(&c)?;
        }
        Ok(())
    }

    fn take(&mut self, c: &Completion) -> Result<(), String> {
        let request = self.in_flight.remove(&c.tag).ok_or_else(|| format!("no command is in flight for {c:?}"))?;
        let same = (c.op, c.offset_bytes, c.length_bytes) == (request.op, request.offset_bytes, request.length_bytes);
        if !same {
            return Err(format!("{c:?} answers {request:?}"));
        }
        if c.completed < c.submitted || c.completed > self.now || c.completed < self.last_completed {
            return Err(format!("{c:?} comes at {} ns, after one of {} ns", self.now, self.last_completed));
        }
        if c.breakdown.sum() != c.latency() {
            return Err(format!("the parts of {c:?} do not sum to its latency of {} ns", c.latency()));
        }
        self.last_completed = c.completed;
        let pages = pages_of(&request);
        self.ledger.completed(c, pages.len() as u64);
        let refused = c.status == Status::ReadOnly;
        let uncorrectable = c.status == Status::MediaError;
        self.refused += u64::from(refused);
        self.uncorrectable += u64::from(uncorrectable);
        let unreasonable = refused && (c.op == Op::Read || !self.drive.is_read_only());
        if unreasonable || uncorrectable && self.losses.is_none() {
            return Err(format!("{c:?} from a drive that has no reason to"));
        }
        if let Some(losses) = &mut self.losses {
            losses.completed(c, |page| self.drive.is_lost(page))?;
        }
        let late = self.read_only_from.is_some_and(|from| c.tag >= from);
        if c.status == Status::Ok && late && matches!(c.op, Op::Write | Op::Trim) {
            return Err(format!("{c:?} from a drive that was read-only before it was asked"));
        }
        for page in pages {
            match c.op {
                Op::Write => {
                    self.writing[page as usize] -= 1;
                    match c.status {
                        Status::Ok => {}
                        Status::ReadOnly => self.oracle.refuse(page),
                        Status::MediaError => self.oracle.retract(page),
                        other => return Err(format!("{c:?} ended with {other}: no drive here does")),
                    }
                }
                Op::Trim => {
                    self.trimming[page as usize] -= 1;
                    if !refused {
                        self.oracle.trim(page);
                    }
                }
                Op::Read | Op::Flush | Op::WriteZeroes => continue,
            }
            if let Some(losses) = &mut self.losses {
                let others = self.writing[page as usize] + self.trimming[page as usize] > 0;
                losses.changed(page, c.status, others);
            }
        }
        Ok(())
    }

    /// Waits until no command is in flight.
    pub fn drain(&mut self) -> Result<(), String> {
        while !self.in_flight.is_empty() {
            self.wait()?;
        }
        Ok(())
    }

    /// Lets time pass, with or without commands in flight.
    pub fn pass(&mut self, time: Nanos) -> Result<(), String> {
        self.now += time;
        self.advance(self.now)?;
        self.take_completions()
    }

    /// From now on the data can be compressed so far, if the drive does it: as drawn.
    pub fn change_data(&mut self) {
        if self.drive.info().compresses {
            self.compressibility_per_1000 = [0, 0, 300, 500, 750, 900, 1000][self.rng.below(7) as usize];
        }
    }

    /// FLUSH, and that it did what it is for.
    pub fn flush(&mut self) -> Result<(), String> {
        self.drain()?;
        let refused = self.refused;
        self.send(1, Op::Flush, 0, 0, false)?;
        self.drain()?;
        let left = self.drive.facts().buffered_units;
        if left > 0 && self.refused == refused {
            return Err(format!("{left} units are left in the buffer after a flush"));
        }
        Ok(())
    }

    /// SECURITY ERASE UNIT. The drive finishes first what it is at: it may run out of good blocks over it.
    pub fn secure_erase(&mut self) -> Result<(), String> {
        self.flush()?;
        self.settle()?;
        let stays = self.drive.is_read_only();
        let security = self.drive.security().ok_or("the drive has no secure erase")?;
        let ready = security.secure_erase(self.now);
        if ready < self.now {
            return Err(format!("a SECURITY ERASE begun at {} ns ended at {ready} ns", self.now));
        }
        self.now = ready;
        if stays {
            return self.take_losses();
        }
        self.oracle.clear();
        if let Some(losses) = &mut self.losses {
            // What it lost while it finished is gone with the rest.
            self.drive.take_losses();
            losses.clear();
        }
        self.check()
    }

    /// Waits until the drive has nothing left to do by itself. No command may be in flight.
    fn settle(&mut self) -> Result<(), String> {
        for _ in 0..PATIENCE {
            let Some(at) = self.drive.next_event() else { break };
            self.now = at;
            self.advance(at)?;
        }
        Ok(())
    }

    /// Lets up to a year pass in which nothing happens but that data grow old; nothing, on a drive whose data do not.
    pub fn shelve(&mut self, rng: &mut Rng) {
        if self.losses.is_some() && rng.chance(1, 2) {
            let most = [3600, 30 * DAY_S, 365 * DAY_S][rng.below(3) as usize];
            self.drive.age(rng.below(most));
        }
    }

    /// Reads everything from a drive that does nothing else: what is lost shows.
    pub fn read_quietly(&mut self, depth: usize, length_bytes: u64) -> Result<(), String> {
        if self.losses.is_some() {
            self.settle()?;
        }
        self.set_quiet(true);
        self.read_all(depth, length_bytes)?;
        self.set_quiet(false);
        Ok(())
    }

    fn set_quiet(&mut self, quiet: bool) {
        if let Some(losses) = &mut self.losses {
            losses.quiet = quiet;
        }
    }

    /// Reads everything, in sequence: every tag is checked on the way.
    pub fn read_all(&mut self, depth: usize, length_bytes: u64) -> Result<(), String> {
        for offset in (0..self.capacity_bytes).step_by(length_bytes as usize) {
            self.send(depth, Op::Read, offset, length_bytes.min(self.capacity_bytes - offset), false)?;
        }
        self.drain()
    }

    /// Checks all books, the drive's and the host's. No command may be in flight.
    pub fn check(&mut self) -> Result<(), String> {
        self.drive.check_books()?;
        self.oracle.check(|page| self.drive.write_count(page))?;
        if let Some(losses) = &mut self.losses {
            losses.check(&self.drive.lost_pages())?;
        }
        let facts = self.drive.facts();
        if let Some(mapped) = self.oracle.mapped().filter(|&mapped| mapped != facts.mapped_units) {
            return Err(format!("{mapped} pages hold data, the drive says {}", facts.mapped_units));
        }
        self.ledger.check(&facts)
    }

    /// A random offset and length in whole sectors; in whole units if `aligned`.
    pub fn place(&mut self, from_page: u32, pages: u32, most_sectors: u64, aligned: bool) -> (u64, u64) {
        let per_unit = UNIT_BYTES / SECTOR_BYTES;
        let sectors = u64::from(pages) * per_unit;
        let length = self.rng.below(most_sectors.min(sectors)) + 1;
        let offset = self.rng.below(sectors - length + 1);
        let (offset, length) = if aligned {
            let offset = offset / per_unit * per_unit;
            (offset, (length.div_ceil(per_unit) * per_unit).min(sectors - offset))
        } else {
            (offset, length)
        };
        (u64::from(from_page) * UNIT_BYTES + offset * SECTOR_BYTES, length * SECTOR_BYTES)
    }
}
