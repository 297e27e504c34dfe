//! A host that keeps track of everything it asks for.

use std::collections::{BTreeMap, BTreeSet};

use ssdlab_core::{Nanos, Op, Rng, SECTOR_BYTES};
use ssdlab_device::{Completion, Held, Request, Status};

use crate::cut_model::Model;
use crate::ledger::Ledger;
use crate::losses::{Losses, needed};
use crate::oracle::Oracle;
use crate::subject::{Facts, Subject};

/// Events without a completion after which a drive counts as stuck.
pub const PATIENCE: u32 = 2_000_000;

const DAY_S: u64 = 86_400;

/// See the module's own page.
pub struct Host<S> {
    pub drive: S,
    pub rng: Rng,
    /// Which erase is sent: a stream of its own, so that this draw does not change the others.
    erases: Rng,
    pub now: Nanos,
    /// Units that the drive maps by themselves; all pages here are such.
    pub pages: u32,
    pub page_bytes: u64,
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
    /// By page: writes that a flush, or the command itself, has promised to outlast a power cut.
    promised: Vec<u32>,
    /// Pages whose trims may be forgotten: of what was trimmed, the number of the write before, the writes promised and those
    /// sent.
    before_trim: BTreeMap<u32, Vec<(u8, u32, u32)>>,
    /// By page: the greatest number that a write can have had, if numbers never began anew.
    ever: Vec<u32>,
    /// What flushes in flight cover: for every page the writes answered.
    covered: BTreeMap<u64, Vec<u32>>,
    /// What writes in flight promise that are answered once they are on flash: pages, and writes of each at least.
    forced: BTreeMap<u64, Vec<(u32, u32)>>,
    /// Pages that power cuts have destroyed, and that were not written or trimmed since.
    destroyed: BTreeSet<u32>,
    /// Commands in flight that touch such pages.
    destroyed_when_sent: BTreeSet<u64>,
    /// Of the destroyed pages, those that nobody has begun to write or trim since: nothing can be read of them.
    untouched: BTreeSet<u32>,
    /// Commands in flight that cannot be done without such pages, and these.
    must_fail: BTreeMap<u64, Vec<u32>>,
    /// Pages that the last cut has left destroyed, whatever was done to them since.
    unreadable: BTreeSet<u32>,
    /// Pages that the last cut has left destroyed, and that were not trimmed since. What was written to them since may go with
    /// the next cut; then they are destroyed still, and nothing older comes back.
    gone: BTreeSet<u32>,
    /// Whether `promised` is kept.
    keeps_promises: bool,
    /// FLUSH and FUA promise nothing: the drive lies about them.
    flush_lies: bool,
    /// The drive was read-only when these commands and all later ones were sent.
    read_only_from: Option<u64>,
    pub commands: u64,
    pub refused: u64,
    pub uncorrectable: u64,
}

/// An erase of everything that the drive was told to do.
#[derive(Clone, Copy, Debug)]
struct Erase {
    ready: Nanos,
    crypto: bool,
    /// A read-only drive stays as it is.
    erases: bool,
}

/// Pages of so many bytes that a request touches; those that a trim forgets.
fn pages_of(r: &Request, page_bytes: u64) -> std::ops::Range<u32> {
    let end = r.offset_bytes + r.length_bytes;
    match r.op {
        Op::Flush | Op::WriteZeroes => 0..0,
        Op::Trim => {
            let (first, last) = (r.offset_bytes.div_ceil(page_bytes), end / page_bytes);
            first as u32..last.max(first) as u32
        }
        Op::Read | Op::Write => (r.offset_bytes / page_bytes) as u32..end.div_ceil(page_bytes) as u32,
    }
}

impl<S: Subject> Host<S> {
    /// `errs`: the drive has flash that errs, and may lose data.
    pub fn new(mut drive: S, seed: u64, errs: bool) -> Self {
        let capacity_bytes = drive.info().capacity_bytes;
        let flush_lies = drive.plug().is_some_and(|plug| !plug.keeps_flushes());
        let facts = drive.facts();
        let page_bytes = facts.page_bytes();
        let pages = (capacity_bytes / page_bytes) as u32;
        Host {
            rng: Rng::new(seed).stream("host"),
            erases: Rng::new(seed).stream("erases"),
            now: 0,
            pages,
            page_bytes,
            capacity_bytes,
            oracle: Oracle::new(pages, drive.max_write_count()),
            ledger: Ledger::new(&facts),
            losses: errs.then(|| Losses::new(pages, page_bytes)),
            next_tag: 0,
            in_flight: BTreeMap::new(),
            writing: vec![0; pages as usize],
            trimming: vec![0; pages as usize],
            done: Vec::new(),
            compressibility_per_1000: 0,
            promised: vec![0; pages as usize],
            before_trim: BTreeMap::new(),
            ever: vec![0; pages as usize],
            covered: BTreeMap::new(),
            forced: BTreeMap::new(),
            destroyed: BTreeSet::new(),
            destroyed_when_sent: BTreeSet::new(),
            untouched: BTreeSet::new(),
            must_fail: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            gone: BTreeSet::new(),
            keeps_promises: false,
            flush_lies,
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
        if op == Op::Trim && !self.drive.info().supports_trim {
            return Ok(());
        }
        let tag = self.next_tag;
        let request = Request::new(tag, op, offset_bytes, length_bytes)
            .with_fua(fua)
            .with_compressibility(self.compressibility_per_1000);
        let touched = pages_of(&request, self.page_bytes);
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
        if !self.destroyed.is_empty() {
            self.asks_for_destroyed(&request, touched.clone());
        }
        let is_promised = self.keeps_promises && !self.flush_lies;
        if is_promised && op == Op::Flush {
            let answered = (0..self.pages).map(|page| self.answered(page)).collect();
            self.covered.insert(tag, answered);
        }
        if is_promised && op == Op::Write && fua {
            let least = touched.clone().map(|page| (page, self.answered_before(page) + 1)).collect();
            self.forced.insert(tag, least);
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

    /// Notes what is to become of a command that is sent while pages are destroyed.
    fn asks_for_destroyed(&mut self, request: &Request, touched: std::ops::Range<u32>) {
        if touched.clone().any(|page| self.destroyed.contains(&page)) {
            self.destroyed_when_sent.insert(request.tag);
        }
        let lacking: Vec<u32> = needed(request, self.page_bytes)
            .into_iter()
            .flatten()
            .filter(|page| self.untouched.contains(page))
            .collect();
        if matches!(request.op, Op::Write | Op::Trim) {
            self.must_fail.retain(|_, pages| !pages.iter().any(|page| touched.contains(page)));
            self.untouched.retain(|page| !touched.contains(page));
        }
        if !lacking.is_empty() {
            self.must_fail.insert(request.tag, lacking);
        }
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
            let number = loss.page.number();
            let page = loss.page.index();
            let (writing, trimming) = (self.writing[page], self.trimming[page]);
            losses.found(&loss, writing + trimming > 0, self.drive.is_lost(number))?;
            if !loss.stale && trimming == 0 {
                // Of what has since been written in part, the buffer has the last write.
                let found = if loss.in_part { self.drive.write_count(number) } else { Some(loss.write_count) };
                let told = self.oracle.check_page(number, writing.into(), found);
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
        let pages = pages_of(&request, self.page_bytes);
        self.ledger.completed(c, pages.len() as u64);
        let refused = c.status == Status::ReadOnly;
        let uncorrectable = c.status == Status::MediaError;
        self.refused += u64::from(refused);
        self.uncorrectable += u64::from(uncorrectable);
        let destroyed = uncorrectable
            && pages.clone().any(|page| self.destroyed.contains(&page) || self.destroyed_when_sent.contains(&c.tag));
        let unreasonable = refused && (c.op == Op::Read || !self.drive.is_read_only());
        if unreasonable || uncorrectable && self.losses.is_none() && !destroyed {
            return Err(format!("{c:?} from a drive that has no reason to"));
        }
        match (self.must_fail.remove(&c.tag), c.status) {
            (Some(pages), Status::Ok) => {
                return Err(format!("{c:?}, although a power cut has destroyed pages {pages:?}"));
            }
            (Some(pages), Status::MediaError) => self.untouched.extend(pages),
            _ => {}
        }
        if let Some(losses) = &mut self.losses {
            losses.completed(c, |page| self.drive.is_lost(page))?;
        }
        let late = self.read_only_from.is_some_and(|from| c.tag >= from);
        if c.status == Status::Ok && late && matches!(c.op, Op::Write | Op::Trim) {
            return Err(format!("{c:?} from a drive that was read-only before it was asked"));
        }
        for (page, writes) in self.forced.remove(&c.tag).filter(|_| c.status == Status::Ok).unwrap_or_default() {
            let promised = &mut self.promised[page as usize];
            *promised = (*promised).max(writes);
            if *promised > 0 {
                self.before_trim.remove(&page);
            }
        }
        if c.op == Op::Flush
            && let Some(covered) = self.covered.remove(&c.tag).filter(|_| c.status == Status::Ok)
        {
            for ((promised, covered), page) in self.promised.iter_mut().zip(covered).zip(0..) {
                // A page that was trimmed meanwhile holds less.
                *promised = (*promised).max(covered.min(self.oracle.writes(page)));
                if *promised > 0 && !self.before_trim.is_empty() {
                    self.before_trim.remove(&page);
                }
            }
        }
        for page in pages {
            match c.op {
                Op::Write => {
                    self.writing[page as usize] -= 1;
                    if c.status == Status::Ok {
                        self.destroyed.remove(&page);
                    }
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
                        let writes = self.oracle.writes(page);
                        if self.keeps_promises && writes > 0 {
                            let promised = self.promised[page as usize];
                            let before = self.oracle.before(page);
                            self.before_trim.entry(page).or_default().push((before, promised, writes));
                            self.note_ever(page);
                        }
                        self.oracle.trim(page);
                        self.promised[page as usize] = 0;
                        self.covered.values_mut().for_each(|covered| covered[page as usize] = 0);
                        self.destroyed.remove(&page);
                        self.gone.remove(&page);
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

    /// Writes of a page that have been answered, at least: of several in flight nobody knows which comes first.
    fn answered(&self, page: u32) -> u32 {
        self.oracle.writes(page) - u32::from(self.writing[page as usize])
    }

    /// The same while a write of it is about to be sent that is in flight already on paper.
    fn answered_before(&self, page: u32) -> u32 {
        self.oracle.writes(page) + 1 - u32::from(self.writing[page as usize])
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

    /// FLUSH, and that it did what it is for, on a drive that does not lie about it.
    pub fn flush(&mut self) -> Result<(), String> {
        self.drain()?;
        let refused = self.refused;
        self.send(1, Op::Flush, 0, 0, false)?;
        self.drain()?;
        let Facts { buffered_units: left, safe_in_buffer, .. } = self.drive.facts();
        if left > 0 && self.refused == refused && !safe_in_buffer && !self.flush_lies {
            return Err(format!("{left} units are left in the buffer after a flush"));
        }
        Ok(())
    }

    /// SECURITY ERASE UNIT or, every other time on a drive that encrypts, a crypto erase.
    pub fn erase(&mut self) -> Result<(), String> {
        let erase = self.begin_erase()?;
        self.now = erase.ready;
        if !erase.erases {
            return self.take_losses();
        }
        self.everything_is_erased();
        self.check()
    }

    /// The drive finishes first what it is at: it may run out of good blocks over it.
    fn begin_erase(&mut self) -> Result<Erase, String> {
        self.flush()?;
        self.settle()?;
        let stays = self.drive.is_read_only();
        let security = self.drive.security().ok_or("the drive has no secure erase")?;
        let crypto = security.encrypts() && self.erases.chance(1, 2);
        let changes = security.key_changes();
        let ready = if crypto { security.crypto_erase(self.now) } else { security.secure_erase(self.now) };
        if ready < self.now {
            return Err(format!("an erase begun at {} ns ended at {ready} ns", self.now));
        }
        let changed = security.key_changes() != changes;
        if changed != (security.encrypts() && !stays) {
            return Err(format!(
                "an erase of a drive: encrypts {}, stays {stays}, key changed {changed}",
                security.encrypts()
            ));
        }
        Ok(Erase { ready, crypto, erases: !stays })
    }

    /// Erases the drive and pulls the plug at a time drawn from before the end of that to a while after it. An erase by key has
    /// happened or not, by whether it had ended; any other has happened. Returns how many cuts there were.
    ///
    /// # Errors
    /// If anything of before is there after an erase that has happened, or anything is amiss after one that has not.
    pub(crate) fn cut_erase(
        &mut self,
        model: Model,
        heir: Option<S>,
        rng: &mut Rng,
    ) -> Result<(u64, &'static str), String> {
        let erase = self.begin_erase()?;
        let takes = erase.ready - self.now;
        let after = if rng.chance(1, 2) { rng.below(takes + 1) } else { takes + rng.below(20_000_000) };
        let at = self.now + after;
        if erase.erases && (!erase.crypto || at >= erase.ready) {
            self.everything_is_erased();
        }
        self.now = at;
        self.advance(at)?;
        let cuts = self.pull_plug(model, heir, rng);
        let name = match (erase.crypto, at < erase.ready) {
            (false, true) => "in a secure erase",
            (false, false) => "after a secure erase",
            (true, true) => "in a crypto erase",
            (true, false) => "after a crypto erase",
        };
        cuts.map(|cuts| (cuts, name)).map_err(|e| format!("{erase:?}, cut {after} ns after it began: {e}"))
    }

    fn everything_is_erased(&mut self) {
        self.oracle.clear();
        self.promised.fill(0);
        self.before_trim.clear();
        self.ever.fill(0);
        self.destroyed.clear();
        self.untouched.clear();
        self.unreadable.clear();
        self.gone.clear();
        if let Some(losses) = &mut self.losses {
            // What it lost while it finished is gone with the rest.
            self.drive.take_losses();
            losses.clear();
        }
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

    /// Reads everything from a drive that does nothing else, unless it `moves` what is read often: what is lost shows.
    pub fn read_quietly(&mut self, depth: usize, length_bytes: u64, moves: bool) -> Result<(), String> {
        if self.losses.is_some() {
            self.settle()?;
        }
        self.set_quiet(!moves);
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

    /// Pages that power cuts have destroyed, and that were not written or trimmed since.
    #[must_use]
    pub fn destroyed_pages(&self) -> u64 {
        self.destroyed.len() as u64
    }

    /// From now on the host notes what it was promised to outlast a power cut.
    pub fn keep_promises(&mut self) {
        self.keeps_promises = true;
    }

    /// Lets so many events happen, commands in flight or not.
    pub fn step(&mut self, events: u64) -> Result<(), String> {
        for _ in 0..events {
            let Some(at) = self.drive.next_event() else { break };
            self.now = self.now.max(at);
            self.advance(self.now)?;
            self.take_completions()?;
        }
        Ok(())
    }

    /// The power goes, and comes back; perhaps it goes again before the drive is ready. `heir`: a new drive, which takes the place
    /// of this one, with what it has kept. Returns how many cuts there were.
    ///
    /// # Errors
    /// What is not there although it was promised, or there although it was not.
    pub(crate) fn pull_plug(&mut self, model: Model, heir: Option<S>, rng: &mut Rng) -> Result<u64, String> {
        self.cut_and_look(model, false, heir, rng)
    }

    /// The same after STANDBY IMMEDIATE: all that was answered is kept, trims too if the firmware has a journal, and that cut
    /// destroys nothing.
    ///
    /// # Errors
    /// As of [`Self::pull_plug`].
    pub(crate) fn stand_by_and_pull_plug(&mut self, model: Model, rng: &mut Rng) -> Result<u64, String> {
        self.drain()?;
        let now = self.now;
        self.now = self.drive.plug().ok_or("the drive has no plug")?.stand_by(now);
        if let Some(trims) = self.drive.unsaved_trims().filter(|trims| !trims.is_empty()) {
            return Err(format!("after STANDBY IMMEDIATE, a power cut would forget trims of {trims:?}"));
        }
        // What was destroyed before still is.
        let model = Model { keeps_all: true, ..model };
        self.cut_and_look(model, true, None, rng)
    }

    fn cut_and_look(&mut self, model: Model, clean: bool, heir: Option<S>, rng: &mut Rng) -> Result<u64, String> {
        let unsaved = self.drive.unsaved_trims().map(|trims| if model.keeps_all { Vec::new() } else { trims });
        let mut cuts = 1;
        let mut now = self.now;
        let plug = self.drive.plug().ok_or("the drive has no plug")?;
        let unclean = plug.unclean_shutdowns();
        plug.cut(now);
        now += rng.below(1_000_000_000);
        if let Some(heir) = heir {
            let saved = plug.save();
            self.drive = heir;
            let heir = self.drive.plug().ok_or("the drive has no plug")?;
            heir.load(&saved).map_err(|e| format!("the drive could not be loaded: {e}"))?;
        }
        let plug = self.drive.plug().ok_or("the drive has no plug")?;
        let mut ready = plug.restore(now);
        while rng.chance(1, 3) {
            now += rng.below(ready - now + 1);
            plug.cut(now);
            cuts += 1;
            now += 1000;
            ready = plug.restore(now);
        }
        let held: Vec<Held> = (0..self.pages).map(|page| plug.held(page.into())).collect();
        let unclean_cuts = cuts - u64::from(clean);
        let counted = plug.unclean_shutdowns();
        if counted != unclean + unclean_cuts {
            return Err(format!("{unclean_cuts} unclean cuts, and unclean shutdowns went from {unclean} to {counted}"));
        }
        self.now = now;
        self.in_flight.clear();
        self.covered.clear();
        self.forced.clear();
        self.destroyed_when_sent.clear();
        self.must_fail.clear();
        self.ledger.power_cut();
        let unreadable = std::mem::take(&mut self.unreadable);
        let mut new = 0;
        for (page, held) in (0..).zip(held) {
            if held == Held::Unreadable {
                self.unreadable.insert(page);
                // Firmware without a journal may have forgotten that the page was trimmed.
                let back = self.oracle.writes(page) == 0 && unsaved.is_none();
                new += u64::from(!back && !unreadable.contains(&page));
            }
            self.survived(page, held, model, unsaved.as_deref())?;
        }
        if new > unclean_cuts * model.most_destroyed {
            let most = model.most_destroyed;
            return Err(format!("{unclean_cuts} unclean cuts have destroyed {new} pages; {most} each is the most"));
        }
        self.writing.fill(0);
        self.trimming.fill(0);
        self.drive.check_books()?;
        Ok(cuts)
    }

    fn survived(
        &mut self,
        page: u32,
        held: Held,
        model: Model,
        unsaved: Option<&[std::ops::Range<u32>]>,
    ) -> Result<(), String> {
        let writes = self.oracle.writes(page);
        let promised = if model.keeps_all { self.answered(page) } else { self.promised[page as usize] };
        let number = match held {
            Held::Unreadable if !model.may_destroy => {
                return Err(format!("page {page} was destroyed: the drive's model does not allow for that"));
            }
            Held::Unreadable => {
                let trimmed = writes == 0 && !self.destroyed.contains(&page);
                if trimmed && unsaved.is_some_and(|unsaved| !unsaved.iter().any(|range| range.contains(&page))) {
                    return Err(format!("page {page} was trimmed, and counts as destroyed"));
                }
                self.destroyed.insert(page);
                self.untouched.insert(page);
                0
            }
            Held::Nothing => 0,
            Held::Write(number) => number,
            Held::Mixed(_) => return Err(format!("page {page} is of several writes: no drive of flash has that")),
        };
        let trimmed = self.trimming[page as usize] > 0;
        let was_gone = self.gone.contains(&page) && !trimmed;
        if held == Held::Unreadable {
            self.gone.insert(page);
        } else {
            self.destroyed.remove(&page);
            self.untouched.remove(&page);
            self.gone.remove(&page);
        }
        let since = |number| (1..=writes).any(|writes| self.oracle.count(page, writes) == number);
        if was_gone && held != Held::Unreadable && !since(number) {
            return Err(format!(
                "page {page} was destroyed by an earlier power cut, was written {writes} times since, and holds write count {number}"
            ));
        }
        let forgotten = unsaved.is_none_or(|unsaved| unsaved.iter().any(|range| range.contains(&page)));
        let there = (promised..=writes).any(|writes| self.oracle.count(page, writes) == number);
        let untold = forgotten && (promised == 0 || trimmed) && self.may_be_back(page, number, unsaved.is_some());
        let allowed = held == Held::Unreadable || there || trimmed && number == 0 || untold;
        if !allowed {
            return Err(format!(
                "page {page} holds write count {number} after a power cut: {writes} writes were sent, of which {promised} were promised"
            ));
        }
        self.before_trim.remove(&page);
        self.note_ever(page);
        self.oracle.begin_anew(page, number);
        self.promised[page as usize] = u32::from(number != 0);
        Ok(())
    }

    /// The number that a page's last write would have if numbers never began anew.
    fn reached(&self, page: u32) -> u32 {
        u32::from(self.oracle.before(page)) + self.oracle.writes(page)
    }

    fn note_ever(&mut self, page: u32) {
        self.ever[page as usize] = self.reached(page).max(self.ever[page as usize]);
    }

    /// Whether a page whose trim is forgotten may hold this write count. Firmware with a journal brings back what was trimmed;
    /// other firmware any write whose copy is still on flash.
    fn may_be_back(&self, page: u32, number: u8, has_journal: bool) -> bool {
        if has_journal {
            let trimmed = self.before_trim.get(&page).into_iter().flatten();
            number == 0
                || trimmed.clone().any(|&(before, promised, sent)| {
                    (promised..=sent).any(|writes| self.oracle.number(before, writes) == number)
                })
        } else {
            let most = self.ever[page as usize].max(self.reached(page));
            most >= self.drive.max_write_count().into() || u32::from(number) <= most
        }
    }

    /// A random offset and length in whole sectors; in whole units if `aligned`.
    pub fn place(&mut self, from_page: u32, pages: u32, most_sectors: u64, aligned: bool) -> (u64, u64) {
        let per_unit = self.page_bytes / SECTOR_BYTES;
        let sectors = u64::from(pages) * per_unit;
        let length = self.rng.below(most_sectors.min(sectors)) + 1;
        let offset = self.rng.below(sectors - length + 1);
        let (offset, length) = if aligned {
            let offset = offset / per_unit * per_unit;
            (offset, (length.div_ceil(per_unit) * per_unit).min(sectors - offset))
        } else {
            (offset, length)
        };
        (u64::from(from_page) * self.page_bytes + offset * SECTOR_BYTES, length * SECTOR_BYTES)
    }
}
