//! A translation layer on dies that take their time: operations of one die end in order, those of different dies in
//! any order. Beside it what must hold: a plain oracle of what the host wrote, a referee of its own, and what a
//! recovery would find on flash if the power failed now.

pub mod case;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use ssdlab_core::Rng;
use ssdlab_ftl::{
    FlashOp, KeepsOlderPages, LostPage, OpKind, OpSink, PAST_CACHE, PageMap, PageMapConfig, RecoveryFault, RecoveryWay,
    Repair, SlcCacheSpec, TAG_CHECKPOINT, TAG_JOURNAL, TAG_MAP, Translation, Undone, spare_superblocks,
};
use ssdlab_nand::{BlockId, DieId, GrowingFaults, Interrupted, LogicalPage, LogicalPages, SequenceNumber};

use case::Case;

/// A host write that has not been promised to survive yet.
struct Promise {
    lpn: u32,
    generation: u8,
    /// Accepted units up to which everything must be on flash before this one is.
    index: u64,
    /// The page was trimmed since: nothing is promised.
    trimmed: bool,
}

/// The operations that wait for each die.
struct Dies(Vec<VecDeque<FlashOp>>);

impl OpSink for Dies {
    fn enqueue(&mut self, die: DieId, op: FlashOp) {
        self.0[die.index()].push_back(op);
    }

    fn retarget(&mut self, die: DieId, from: BlockId, to: BlockId, first: &[FlashOp]) {
        let queue = &mut self.0[die.index()];
        queue.iter_mut().for_each(|op| op.retarget(from, to));
        first.iter().rev().for_each(|&op| queue.push_front(op));
    }
}

fn pages_of(lost: &[LostPage]) -> BTreeSet<LogicalPage> {
    lost.iter().map(|lost| lost.page).collect()
}

pub struct Rig {
    pub ftl: PageMap,
    pub rng: Rng,
    case: Case,
    /// Every other write is too long for the SLC cache.
    short_only: bool,
    /// In units of flash.
    buffer_units: u32,
    pub logical_pages: u32,
    /// What the host wrote last.
    oracle: BTreeMap<u32, u8>,
    last_generation: Vec<u8>,
    dies: Dies,
    /// The rig's own referee: pages programmed of every block, as operations end.
    programmed: Vec<u32>,
    promises: VecDeque<Promise>,
    promised_from: u64,
    /// Generation that must survive a power cut, by page.
    durable: Vec<Option<u8>>,
    /// Pages that the drive has told to be lost, and that were not written or trimmed since.
    lost: BTreeSet<u32>,
    /// Pages that the last power cut has left lost, whatever was done to them since.
    lost_at_last_cut: BTreeSet<u32>,
    /// By page: the last write before everything was voided, until a later one is on flash. Nothing so old comes back.
    voided: Vec<Option<u8>>,
    /// By page: what was on flash when the page was trimmed last, if the firmware keeps a journal. Nothing older comes back.
    trimmed: Vec<Option<u8>>,
    pub operations: u64,
    /// Operations that had ended when the host last got something done.
    progress: u64,
}

impl Rig {
    /// Builds the case; `None` if its spare area is smaller than the drive's own check allows.
    pub fn new(case: &Case) -> Option<Rig> {
        let die = case.die();
        let (mapping, gc, wear_levelling) = (case.mapping(), case.gc(), case.wear_levelling());
        let slc_cache = case.slc_cache();
        let rng = Rng::new(case.seed);
        let compression = case.compression();
        let row_units = case.planes * case.units_per_page;
        // What waits and does not fill a row may leave less than 4 KiB of one.
        let beside = u32::from(compression.is_some());
        let rings = slc_cache.as_ref().map_or(gc.frontier.streams(), SlcCacheSpec::streams);
        let buffer_units = row_units * case.buffer_rows.max(rings.into()) + beside;
        let config = |logical_pages| PageMapConfig {
            die: &die,
            dies: case.dies,
            blocks: case.blocks,
            withheld_blocks: 0,
            logical_pages,
            buffer_units,
            read_granule_bytes: None,
            mapping: &mapping,
            gc: &gc,
            wear_levelling: &wear_levelling,
            slc_cache: slc_cache.as_ref(),
            compression: compression.as_ref(),
            keeps_older_pages: case.keeps_older_pages,
        };
        // The journal's ring depends on the logical pages, and these on what it leaves: try downwards.
        let width = if case.spans_all_dies() { case.dies } else { 1 };
        let sets = case.dies / width;
        let ratio = u64::from(case.ratio());
        let superblock = u64::from(width * row_units * case.pages) * ratio;
        let spare = spare_superblocks(gc.start_free_superblocks, gc.frontier.streams(), slc_cache.is_some());
        let needed = superblock * u64::from(spare * sets + if case.journal { 2 } else { 0 });
        let most = u64::from(case.dies * case.blocks * row_units * case.pages);
        let mut ftl = PageMap::new(&config(most as u32), &rng);
        let mut logical_pages = 0;
        for _ in 0..4 {
            let room = ftl.usable_units().saturating_sub(needed);
            let want = (room - room * u64::from(case.extra_spare_percent) / 100) / ratio;
            if want < 2 {
                return None;
            }
            logical_pages = want as u32;
            ftl = PageMap::new(&config(logical_pages), &rng);
            if ftl.usable_units() >= u64::from(logical_pages) * ratio + needed {
                break;
            }
        }
        let faults = GrowingFaults {
            programs_per_failure: case.programs_per_failure,
            erases_per_failure: case.erases_per_failure,
            in_bursts: case.seed.is_multiple_of(2),
        };
        ftl.inject(faults, &rng);
        (ftl.usable_units() >= u64::from(logical_pages) * ratio + needed).then(|| Rig {
            rng: rng.stream("host"),
            buffer_units: case.ratio() * buffer_units,
            logical_pages,
            oracle: BTreeMap::new(),
            last_generation: vec![0; logical_pages as usize],
            dies: Dies(vec![VecDeque::new(); case.dies as usize]),
            programmed: vec![0; (case.dies * case.blocks) as usize],
            promises: VecDeque::new(),
            promised_from: 0,
            durable: vec![None; logical_pages as usize],
            lost: BTreeSet::new(),
            lost_at_last_cut: BTreeSet::new(),
            voided: vec![None; logical_pages as usize],
            trimmed: vec![None; logical_pages as usize],
            operations: 0,
            progress: 0,
            case: case.clone(),
            short_only: slc_cache.as_ref().is_some_and(|spec| spec.largest_write_kib.is_some()),
            ftl,
        })
    }

    fn ask(&mut self, question: impl FnOnce(&mut PageMap, &mut Dies)) {
        question(&mut self.ftl, &mut self.dies);
    }

    // ---- the host -----------------------------------------------------------------------------------------------

    /// Writes one page, waiting for the dies while the buffer is full. A read-only drive is not written to.
    pub fn write(&mut self, lpn: u32) {
        while self.ftl.buffered_units() + self.case.ratio() > self.buffer_units && !self.ftl.is_read_only() {
            self.work_or_fail("the buffer is full");
        }
        if self.ftl.is_read_only() {
            return;
        }
        self.progress = self.operations;
        let generation = self.last_generation[lpn as usize].wrapping_add(1);
        self.last_generation[lpn as usize] = generation;
        self.oracle.insert(lpn, generation);
        self.lost.remove(&lpn);
        let named = self.rng.below(self.ftl.streams().into()) as u8;
        let long = self.short_only && self.rng.chance(1, 2);
        let stream = if long { PAST_CACHE } else { named };
        if self.ftl.write_to_stream(LogicalPage::new(lpn), generation, 0, stream) {
            let index = self.ftl.accepted_units();
            self.promises.push_back(Promise { lpn, generation, index, trimmed: false });
        } else {
            let newest = self.promises.iter_mut().rev().find(|p| p.lpn == lpn);
            newest.expect("an overwritten unit waits in the buffer").generation = generation;
        }
        self.ask(|ftl, ops| ftl.dispatch(ops));
    }

    pub fn trim(&mut self, lpn: u32) {
        if self.ftl.is_read_only() {
            return;
        }
        self.oracle.remove(&lpn);
        self.lost.remove(&lpn);
        let durable = self.durable[lpn as usize].take().filter(|_| self.case.journal);
        self.trimmed[lpn as usize] = durable.or(self.trimmed[lpn as usize]);
        self.promises.iter_mut().filter(|p| p.lpn == lpn).for_each(|p| p.trimmed = true);
        self.ask(|ftl, ops| ftl.trim(LogicalPage::new(lpn).run(1), ops));
    }

    /// FLUSH: everything accepted so far reaches flash; of a read-only drive, what its flash can take.
    pub fn flush(&mut self) {
        let until = self.ftl.accepted_units();
        self.ask(|ftl, ops| ftl.force(until, ops));
        while self.ftl.durable_units() < until {
            if self.ftl.is_read_only() {
                if !self.step() {
                    break;
                }
            } else {
                self.work_or_fail("a flush waits");
            }
            self.ask(|ftl, ops| ftl.force(until, ops));
        }
        self.progress = self.operations;
    }

    pub fn collect_in_background(&mut self) {
        self.ask(|ftl, ops| {
            ftl.collect_in_background(ops);
        });
    }

    /// The data of a block have been read often.
    pub fn refresh(&mut self, block: BlockId) {
        self.ask(|ftl, ops| ftl.refresh(block, ops));
    }

    pub fn fold_in_background(&mut self) {
        self.ask(|ftl, ops| {
            ftl.fold_in_background(ops);
        });
    }

    pub fn stop_background(&mut self) {
        self.ask(|ftl, ops| ftl.stop_background(ops));
    }

    /// SECURITY ERASE, once the dies are idle.
    pub fn secure_erase(&mut self) {
        self.settle();
        if self.ftl.is_read_only() {
            return;
        }
        self.ftl.secure_erase();
        self.programmed.fill(0);
        self.forget_all();
    }

    /// A crypto erase, once nothing waits in the buffer; the dies may be at work.
    pub fn void_all(&mut self) {
        self.settle();
        self.collect_in_background();
        (0..self.rng.below(20)).for_each(|_| _ = self.step());
        if self.ftl.is_read_only() || self.ftl.buffered_units() > 0 {
            return;
        }
        self.ask(|ftl, ops| ftl.void_all(ops));
        self.forget_all();
        self.voided = self.last_generation.iter().copied().map(Some).collect();
    }

    fn forget_all(&mut self) {
        self.oracle.clear();
        self.lost.clear();
        self.durable.fill(None);
        self.trimmed.fill(None);
        self.promises.iter_mut().for_each(|p| p.trimmed = true);
    }

    pub fn compresses(&self) -> bool {
        self.case.max_ratio.is_some()
    }

    /// The host's data change: from now on they can be compressed so far, if the drive does it.
    pub fn change_data(&mut self) {
        let per_1000 = *[0, 300, 500, 750, 900, 1000].get(self.rng.below(6) as usize).expect("one of six");
        self.ftl.set_compressibility(per_1000);
    }

    // ---- the dies -----------------------------------------------------------------------------------------------

    /// Erases that wait for the die, or are under way in it.
    pub fn erases_of(&self, die: usize) -> usize {
        self.dies.0[die].iter().filter(|op| op.kind() == OpKind::Erase).count()
    }

    fn work_or_fail(&mut self, why: &str) {
        let flash = u64::from(self.case.dies * self.case.blocks * self.case.pages);
        let vain = self.operations - self.progress;
        assert!(vain < 100 * flash, "livelock: {why}, and {vain} operations have brought nothing");
        assert!(self.step(), "deadlock: {why}, {} units wait, and no die has anything to do", self.ftl.waiting_units());
    }

    /// One die, drawn at random (the last ones more often), ends its oldest operation. Returns whether any had one.
    pub fn step(&mut self) -> bool {
        let busy: Vec<usize> = (0..self.dies.0.len()).filter(|&d| !self.dies.0[d].is_empty()).collect();
        if busy.is_empty() {
            return false;
        }
        // Now and then one die falls far behind the others.
        let pick = if self.rng.chance(1, 2) { busy.len() - 1 } else { self.rng.below(busy.len() as u64) as usize };
        let die = busy[pick];
        let op = self.dies.0[die].pop_front().expect("it is busy");
        self.ftl.began(&op);
        self.referee(&op);
        self.operations += 1;
        if op.kind() == OpKind::Erase {
            self.check_power_cut(); // the last instant before copies vanish
        }
        if op.kind() == OpKind::MapRead {
            assert_eq!(self.ftl.map_read_ended(&op), [], "nobody reads here");
        }
        self.ask(|ftl, ops| ftl.done(DieId::new(die as u32), op, ops));
        self.note_durable();
        if op.kind() == OpKind::Erase || self.rng.chance(1, 64) {
            self.check_power_cut();
        }
        true
    }

    /// Lets the dies finish everything that the host has asked for, and checks all books.
    pub fn settle(&mut self) {
        self.flush();
        let flash = u64::from(self.case.dies * self.case.blocks * self.case.pages);
        let limit = self.operations + 100 * flash;
        while self.step() {
            assert!(self.operations < limit, "the firmware works on for ever although the host has asked for nothing");
        }
        if !self.ftl.is_read_only() {
            assert_eq!(self.ftl.buffered_units(), 0, "units are left in the buffer after a flush");
        }
        self.check_power_cut();
        self.check_oracle();
    }

    /// Leaves the drive alone: it works on by itself no longer than it takes to move all that it holds a few times.
    pub fn rest(&mut self) {
        let rows = u64::from(self.case.dies * self.case.blocks * self.case.pages);
        let limit = self.operations + 10 * rows;
        for _ in 0..20 {
            self.collect_in_background();
            while self.step() {
                assert!(self.operations < limit, "a drive that nobody uses works on for ever");
            }
        }
    }

    /// Checks an operation against what the rig has seen end, independently of the medium.
    fn referee(&mut self, op: &FlashOp) {
        let programmed = &mut self.programmed[op.block().index()];
        match op.kind() {
            OpKind::HostProgram
            | OpKind::GcProgram
            | OpKind::FoldProgram
            | OpKind::FoldCopy
            | OpKind::MetadataProgram
            | OpKind::CopyProgram
            | OpKind::SafetyProgram
            | OpKind::RetireProgram => {
                assert_eq!(op.page(), *programmed, "{op:?} ends out of order");
                *programmed += 1;
            }
            OpKind::Erase => *programmed = 0,
            OpKind::GcRead
            | OpKind::FoldRead
            | OpKind::MapRead
            | OpKind::CopyRead
            | OpKind::RetireRead
            | OpKind::SafetyRead => {
                let last = op.page() + 7 - op.rows().leading_zeros();
                assert!(last < *programmed, "{op:?} reads pages that are not there; {programmed} are");
            }
            OpKind::HostRead | OpKind::MergeRead => unreachable!("the translation layer reads nothing for the host"),
        }
        // A bad block may still be read; after the last, what waits for the dies is not done any more.
        let bad = self.ftl.medium().is_bad(op.block());
        let reads = matches!(op.kind(), OpKind::MapRead | OpKind::RetireRead);
        assert!(!bad || reads || self.ftl.is_read_only(), "{op:?} on a bad block");
    }

    // ---- power cuts ---------------------------------------------------------------------------------------------

    /// Firmware that recovers wrongly from now on.
    pub fn break_recovery(&mut self, fault: RecoveryFault) {
        self.ftl.break_recovery(fault);
    }

    /// The power fails now, and comes back. Some dies are at work; recovery may be cut short, too.
    ///
    /// # Errors
    /// What the drive lost although it may not, or keeps although it should not.
    pub fn cut_power(&mut self) -> Result<(), String> {
        self.note_durable();
        let mut under_way = Vec::new();
        for die in 0..self.dies.0.len() {
            let Some(&op) = self.dies.0[die].front().filter(|_| self.rng.chance(3, 4)) else { continue };
            self.ftl.began(&op);
            let spares_older = self.rng.chance(1, 4);
            match op.kind() {
                OpKind::Erase => under_way.push(Interrupted::Erase { block: op.block() }),
                kind if kind.is_program() && !self.ftl.is_frozen() => {
                    under_way.push(Interrupted::Program { block: op.block(), page: op.page(), spares_older });
                }
                _ => {}
            }
        }
        self.dies.0.iter_mut().for_each(VecDeque::clear);
        let unsaved = self.ftl.unsaved_trims();
        let mut quick = self.ftl.clone();
        quick.set_recovery_way(RecoveryWay::Quick);
        self.ftl.set_recovery_way(RecoveryWay::Full);
        self.ftl.cut_power(&under_way);
        quick.cut_power(&under_way);
        let found = self.ftl.recover();
        let same = quick.recover();
        assert_eq!(found.repairs, same.repairs, "of two ways");
        assert_eq!(pages_of(&found.lost), pages_of(&same.lost), "lost, of two ways");
        self.check_same(&quick);
        quick.check_invariants().map_err(|e| format!("recovered quickly: {e}"))?;
        let mut lost: Vec<LogicalPage> = found.lost.iter().map(|lost| lost.page).collect();
        let mut repairs = found.repairs;
        let again = self.rng.below(4);
        for _ in 0..again {
            // The power fails again before all repairs are done. What would come after them has been decided on.
            if self.rng.chance(1, 2) {
                self.ask(|ftl, ops| ftl.resume(ops));
                self.dies.0.iter_mut().for_each(VecDeque::clear);
            }
            let mut quick = self.ftl.clone();
            quick.set_recovery_way(RecoveryWay::Quick);
            self.ftl.cut_power(&[]);
            quick.cut_power(&[]);
            for (repair, undone) in self.some_undone(&repairs) {
                self.ftl.undo_repair(&repair, undone);
                quick.undo_repair(&repair, undone);
            }
            let same = quick.recover();
            let again = self.ftl.recover();
            assert_eq!(pages_of(&again.lost), pages_of(&same.lost), "lost, of two ways");
            self.check_same(&quick);
            repairs = again.repairs;
            lost = again.lost.iter().map(|lost| lost.page).collect();
        }
        self.programmed = (0..self.case.dies * self.case.blocks)
            .map(|block| self.ftl.medium().finished_pages(BlockId::new(block)))
            .collect();
        self.check_survivors(&lost, unsaved.as_deref(), 1 + again)?;
        self.ask(|ftl, ops| ftl.resume(ops));
        self.ftl.check_invariants()
    }

    fn check_same(&self, quick: &PageMap) {
        for lpn in LogicalPage::all(self.logical_pages).each() {
            assert_eq!(self.ftl.place(lpn), quick.place(lpn), "page {lpn}: the two ways of recovery differ");
        }
    }

    /// Each die has done some of its repairs, and may be at the next: the others, the last one first.
    fn some_undone(&mut self, repairs: &[Repair]) -> Vec<(Repair, Undone)> {
        let die_of = |repair: &Repair| repair.block.index() / self.case.blocks as usize;
        let mut left: Vec<usize> = vec![0; self.case.dies as usize];
        repairs.iter().for_each(|repair| left[die_of(repair)] += 1);
        for left in &mut left {
            *left = self.rng.below(*left as u64 + 1) as usize;
        }
        let torn: Vec<bool> = left.iter().map(|_| self.rng.chance(1, 2)).collect();
        let mut undone = Vec::new();
        for &repair in repairs.iter().rev() {
            let (die, spares_older) = (die_of(&repair), self.rng.chance(1, 4));
            if left[die] > 0 {
                left[die] -= 1;
                let how = if left[die] == 0 && torn[die] { Undone::Torn { spares_older } } else { Undone::NotBegun };
                undone.push((repair, how));
            }
        }
        undone
    }

    fn check_survivors(
        &mut self,
        lost: &[LogicalPage],
        unsaved: Option<&[Range<LogicalPage>]>,
        cuts: u64,
    ) -> Result<(), String> {
        self.ftl.check_invariants()?;
        let several_bits = self.case.die().geometry.bits_per_cell > 1;
        if !several_bits && !lost.is_empty() {
            return Err(format!("{} pages are lost on dies without word lines of several pages", lost.len()));
        }
        if self.case.keeps_older_pages != KeepsOlderPages::No && !lost.is_empty() {
            return Err(format!("{} pages are lost although the firmware keeps older pages", lost.len()));
        }
        let mut new = 0;
        for lpn in 0..self.logical_pages {
            let page = LogicalPage::new(lpn);
            let (found, last) = (self.ftl.write_number(page), self.last_generation[lpn as usize]);
            let is_lost = lost.contains(&page);
            if is_lost && found.is_some() {
                return Err(format!("page {lpn} is lost, and holds {found:?}"));
            }
            if let Some(voided) = self.voided[lpn as usize] {
                if found.is_some_and(|found| found.wrapping_sub(voided) as i8 <= 0) || is_lost && last == voided {
                    return Err(format!("page {lpn} was voided with write {voided}, and holds {found:?} again"));
                }
                self.voided[lpn as usize] = found.is_none().then_some(voided);
            }
            if let Some(trimmed) = self.trimmed[lpn as usize] {
                if found.is_some_and(|found| (found.wrapping_sub(trimmed) as i8) < 0) {
                    return Err(format!(
                        "page {lpn} was trimmed when it held write {trimmed}, and holds {found:?} again"
                    ));
                }
                self.trimmed[lpn as usize] = found.is_none().then_some(trimmed);
            }
            if let Some(durable) = self.durable[lpn as usize].filter(|_| !is_lost) {
                // Writes are told apart by their last eight bits.
                let newer = found.is_some_and(|found| found.wrapping_sub(durable) <= last.wrapping_sub(durable));
                if !newer {
                    return Err(format!(
                        "page {lpn}: write {durable} was promised, {last} was the last, found {found:?}"
                    ));
                }
            }
            let was_lost = self.lost_at_last_cut.contains(&lpn);
            let trimmed = !self.oracle.contains_key(&lpn) && !self.lost.contains(&lpn);
            let forgotten = unsaved.is_none_or(|ranges| ranges.iter().any(|range| range.contains(&page)));
            if trimmed && !forgotten && (found.is_some() || is_lost) {
                return Err(format!("page {lpn} was trimmed, and holds {found:?} again"));
            }
            // Without a journal, it may have been forgotten that the page was trimmed.
            new += u64::from(is_lost && !was_lost && !(trimmed && unsaved.is_none()));
            match found {
                Some(found) => self.oracle.insert(lpn, found),
                None => self.oracle.remove(&lpn),
            };
            // What was not promised may be older than what was; from now on it is what the drive has.
            self.durable[lpn as usize] = found;
        }
        if new > cuts * self.most_lost() {
            return Err(format!("{cuts} cuts destroyed {new} pages; {} each is the most", self.most_lost()));
        }
        self.lost = lost.iter().map(|page| page.number()).collect();
        self.lost_at_last_cut.clone_from(&self.lost);
        self.promises.clear();
        self.promised_from = self.ftl.durable_units();
        self.progress = self.operations;
        Ok(())
    }

    /// Pages that a cut can destroy: each die is at one row at most, whose cells older pages share.
    fn most_lost(&self) -> u64 {
        let (case, bits) = (&self.case, self.case.die().geometry.bits_per_cell);
        u64::from(case.dies * case.planes * (bits - 1) * case.units_per_page * case.ratio())
    }

    // ---- what must hold -----------------------------------------------------------------------------------------

    pub fn check_oracle(&self) {
        self.ftl.check_invariants().expect("the books balance");
        for lpn in 0..self.logical_pages {
            let (found, expected) = (self.ftl.write_number(LogicalPage::new(lpn)), self.oracle.get(&lpn).copied());
            assert_eq!(found, expected, "page {lpn}: found write {found:?}, the host's last was {expected:?}");
        }
        assert_eq!(self.ftl.mapped_units(), self.oracle.len() as u64);
    }

    fn note_durable(&mut self) {
        let durable = self.ftl.durable_units();
        assert!(durable >= self.promised_from, "what was promised is taken back");
        self.promised_from = durable;
        while let Some(p) = self.promises.front().filter(|p| p.index <= durable) {
            if !p.trimmed {
                self.durable[p.lpn as usize] = Some(p.generation);
                self.trimmed[p.lpn as usize] = None;
            }
            self.promises.pop_front();
        }
    }

    /// If the power failed now: of every page whose write was promised, the copy with the highest sequence in finished rows, which
    /// a recovery goes by, is of that write or a later one.
    pub fn check_power_cut(&self) {
        let medium = self.ftl.medium();
        let layout = medium.layout();
        let mut newest: Vec<Option<(SequenceNumber, u8)>> = vec![None; self.logical_pages as usize];
        for block in layout.all_blocks() {
            for page in (0..medium.finished_pages(block)).filter(|&page| medium.is_readable(block, page)) {
                let (sequence, start) = (medium.sequence(block, page), layout.row_start(block, page));
                if matches!(medium.read(start).expect("finished"), TAG_JOURNAL | TAG_CHECKPOINT | TAG_MAP) {
                    continue;
                }
                for unit in start.run(layout.row_units) {
                    let lpn = medium.lpn(unit).number();
                    if lpn < self.logical_pages {
                        let copy = (sequence, medium.generation(unit));
                        newest[lpn as usize] = newest[lpn as usize].max(Some(copy));
                    }
                }
            }
        }
        for (lpn, durable) in self.durable.iter().enumerate() {
            let Some(durable) = *durable else { continue };
            let Some((sequence, found)) = newest[lpn] else {
                panic!("power cut: write {durable} of page {lpn} was promised, and no copy of it is on flash");
            };
            // Generations count modulo 256: from the promised write to the host's last.
            let last = self.last_generation[lpn];
            assert!(
                found.wrapping_sub(durable) <= last.wrapping_sub(durable),
                "power cut: page {lpn}: write {durable} was promised and {last} was the last, sequence {sequence} has {found}"
            );
        }
    }
}
