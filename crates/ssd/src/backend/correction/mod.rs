//! Error correction on the read path: which reads need more than one sensing, and which find their data lost.
//!
//! A drive file without `[ecc]` has none of this. With it, every read of a unit (4 KiB) draws how far up the
//! [`Ladder`] it must go, from the raw bit error rate of its page: wear, cell mode, age of its data, reads of the block
//! since its erase, and the block's own factor. Chances are kept by block and worked out anew once it
//! has been erased, or its data are a tenth older or its reads a tenth more. A read disturbs the cells of the planes
//! that it senses, with each sensing: a unit errs by the reads of its own plane.
//!
//! Liberties, stated: the first decoding attempt of a read that succeeds streams behind the transfer, and its few
//! microseconds belong to the firmware's times of the drive file. Units err independently of one another. A unit whose
//! data were lost stays lost until the host writes or trims it: a collector that meets it moves its address and the fact
//! (a real drive marks the copy), so that the books stay whole and the host gets an error, never wrong data. So does a
//! start after a power cut, if it finds the same write of the page; where the cut has taken a newer write back, the next
//! read tells anew. A read that fails on a copy which has moved since is taken to have been read where its page lives now, in no more time.
//! Which planes a collector's read senses is not looked at: it counts for all. Pages of a stripe that rebuild another
//! are not known by block, and count for none. Folds within a die and the journal are not corrected.

mod host_read_masks;
mod losses;
mod retry_turns;
mod younger;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ssdlab_core::{Nanos, Rng, SECOND};
use ssdlab_device::{ExpectedErrors, is_plausible};
use ssdlab_ecc::ladder::{Cost, Ladder, Level, MAX_LEVELS, Odds};
use ssdlab_ecc::spec::EccSpec;
use ssdlab_ftl::{Act, FlashOp, OpKind, Translation};
use ssdlab_nand::rber::{ErrorSpec, ModeErrors, Stress};
use ssdlab_nand::{
    BlockHistory, BlockId, CellMode, DieId, DieSpec, Layout, LogicalPage, MOST_PLANES, Medium, SpecError, UnitAddress,
    WHOLE, memory,
};

use host_read_masks::{HostReadMasks, units_read};
use losses::Losses;
pub use losses::{Loss, LossReader};
use retry_turns::RetryTurns;
use younger::Younger;

/// How much older data, or more reads of a block, may get before its chances are worked out anew: a tenth, and an hour
/// or a thousand reads.
const AGE_SLACK_S: u32 = 3600;
const READ_SLACK: u32 = 1000;

/// What the correction has done so far, in units of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorrectionCounters {
    /// Units that the plain read did not bring.
    pub reread_units: u64,
    /// Of these: units that needed a soft decision, or more.
    pub soft_units: u64,
    /// Units that came from the rest of their stripe.
    pub rebuilt_units: u64,
    /// Units that were lost to who read them.
    pub lost_units: u64,
}

/// A read that did not decode at once, on its way up the ladder.
#[derive(Clone, Debug)]
pub struct ReadRetry {
    mode: CellMode,
    /// The rung that it stands on.
    level: usize,
    /// By rung: units that got past it, and the rows in which they lie, counted from the operation's page.
    units: [u16; MAX_LEVELS],
    rows: [u8; MAX_LEVELS],
    /// Units that no rung has brought. Once the read is over: those of them whose data are lost.
    pub lost: Vec<UnitAddress>,
    /// When the plain read was over.
    pub first_out: Nanos,
    /// Whether firmware sees to it, and since when it has waited for that.
    pub is_in_turn: bool,
    pub waits_since: Nanos,
    /// Of the array time, as the plain read took it.
    pub share: u64,
}

impl ReadRetry {
    /// Takes in what another plane of the die needs, which was read along with this.
    fn join(&mut self, other: &ReadRetry) {
        for (units, more) in self.units.iter_mut().zip(other.units) {
            *units += more;
        }
        for (rows, more) in self.rows.iter_mut().zip(other.rows) {
            *rows |= more;
        }
        self.lost.extend(&other.lost);
    }

    /// Whether anything is lost of what an operation read.
    #[must_use]
    pub fn has_lost_of(&self, op: &FlashOp, layout: &Layout) -> bool {
        self.lost.iter().any(|&unit| layout.block_of(unit) == op.block())
    }
}

/// What a read does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryStep {
    pub mode: CellMode,
    /// Of the array time of the rows, in 2^-16.
    pub share: u64,
    /// Rows that are sensed, one bit each, and how often.
    pub rows: u8,
    pub senses: u32,
    /// Units that cross the bus.
    pub units: u64,
    /// Pages of the stripe that are read besides, `stripe_units` of each.
    pub stripe: u32,
    pub stripe_units: u64,
    /// The decoding attempt at its end.
    pub decode: Nanos,
}

/// A block's chances, as long as they hold.
#[derive(Clone, Copy, Debug)]
struct Chances {
    /// The block's error rate relative to a typical one.
    factor: f32,
    erases: u32,
    until_s: u32,
    until_reads: u32,
    /// By page kind: a 32-bit draw below this may leave the first rung. See [`Odds::escape`].
    escape: [u32; CellMode::COUNT],
}

/// A cell mode of the die: its error rates, those of its page kinds relative to them, and the kind of every page.
#[derive(Clone, Debug)]
struct Mode {
    errors: ModeErrors,
    rated_cycles: f64,
    factors: Vec<f64>,
    kinds: Vec<u8>,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Correction {
    spec: EccSpec,
    ladder: Ladder,
    /// What each rung of the ladder adds to the one below.
    steps: Vec<Cost>,
    modes: [Option<Mode>; CellMode::COUNT],
    blocks: Vec<Chances>,
    rng: Rng,
    /// Time that has passed while the drive lay idle, beyond the simulated time.
    calendar: Nanos,
    unit_bytes: u32,
    masks: HostReadMasks,
    losses: Losses,
    pub retry_turns: RetryTurns,
    /// A block that has been read so often in one of its planes since its erase is due to be moved; and those that are,
    /// until they are asked for.
    most_reads: u32,
    much_read: Vec<BlockId>,
    younger: Younger,
    /// What a time on the shelf goes back to.
    shelved: Option<(Nanos, BTreeMap<LogicalPage, u8>, Younger)>,
    counters: CorrectionCounters,
}

/// What a drive knows of its errors without power, for a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedCorrection {
    rng: Rng,
    calendar: Nanos,
    lost: BTreeMap<LogicalPage, u8>,
    counters: CorrectionCounters,
    younger: Younger,
}

impl SavedCorrection {
    /// Whether this is of a drive with so many pages and blocks, whose calendar is not at its end.
    #[must_use]
    pub fn is_sound(&self, logical_pages: u32, blocks: usize) -> bool {
        let CorrectionCounters { reread_units, soft_units, rebuilt_units, lost_units } = self.counters;
        self.rng.is_sound()
            && self.calendar < Nanos::MAX / 2
            && self.younger.is_sound(blocks)
            && self.lost.keys().next_back().is_none_or(|&page| page.number() < logical_pages)
            && [reread_units, soft_units, rebuilt_units, lost_units].into_iter().all(is_plausible)
    }
}

impl Correction {
    /// What is known without power.
    #[must_use]
    pub fn save(&self, now: Nanos) -> SavedCorrection {
        SavedCorrection {
            rng: self.rng.clone(),
            calendar: self.calendar.saturating_add(now),
            lost: self.losses.pages().clone(),
            counters: self.counters,
            younger: self.younger.clone(),
        }
    }

    /// Takes over what such a drive has saved. Blocks age on from there, whatever time it is now.
    pub fn load(&mut self, saved: SavedCorrection) {
        (self.rng, self.calendar, self.counters) = (saved.rng, saved.calendar, saved.counters);
        self.losses.set_pages(saved.lost);
        self.younger = saved.younger;
        self.renew_all();
    }

    /// # Errors
    /// A value of the drive's `[ecc]` that cannot be built.
    pub fn new(
        spec: &EccSpec,
        die: &DieSpec,
        errors: &ErrorSpec,
        unit_bytes: u32,
        (dies, blocks): (u32, u32),
        rng: &Rng,
    ) -> Result<Self, SpecError> {
        let ladder = ladder_of_unit(spec, unit_bytes)?;
        let mode = |mode: CellMode| {
            let (die, mut errors) = (die.mode(mode)?, errors.mode(mode)?.clone());
            // The plain read is where the cells are.
            if spec.retry.follows_drift {
                errors.drift_rber_per_year = 0.0;
            }
            Some(Mode {
                rated_cycles: die.rated_program_erase_cycles.into(),
                factors: errors.page_factors().collect(),
                kinds: (0..die.pages_per_block).map(|page| die.kind(page) as u8).collect(),
                errors,
            })
        };
        let mut factors = rng.stream("rber-block-factor");
        let fresh = |_| Chances {
            factor: errors.block_factor(&mut factors) as f32,
            erases: u32::MAX,
            until_s: 0,
            until_reads: 0,
            escape: [0; CellMode::COUNT],
        };
        Ok(Correction {
            steps: (0..ladder.levels().len()).map(|level| added(&ladder, level)).collect(),
            ladder,
            modes: CellMode::ALL.map(mode),
            blocks: (0..blocks).map(fresh).collect(),
            rng: rng.stream("read-errors"),
            calendar: 0,
            unit_bytes,
            masks: HostReadMasks::new(dies),
            losses: Losses::default(),
            retry_turns: RetryTurns::new(spec.retry.at_once),
            most_reads: u32::MAX,
            much_read: Vec::new(),
            younger: Younger::default(),
            shelved: None,
            spec: spec.clone(),
            counters: CorrectionCounters::default(),
        })
    }

    /// From now on blocks that have been read so often are told of.
    pub fn watch_reads(&mut self, most: u32) {
        self.most_reads = most;
    }

    /// A block that has been read too often, if there is one; it is told of again after a tenth more reads.
    #[inline]
    pub fn take_much_read(&mut self) -> Option<BlockId> {
        self.much_read.pop()
    }

    /// Since when a block holds its oldest data, in seconds, now.
    #[must_use]
    pub fn age_s(&self, history: BlockHistory, now: Nanos) -> u32 {
        self.seconds(now).saturating_sub(history.programmed_at_s)
    }

    /// None of the host's reads waits any more.
    pub fn forget_reads(&mut self, dies: u32) {
        self.masks = HostReadMasks::new(dies);
    }

    /// A read of a block for the host is queued that wants these units of its row, one bit each.
    #[inline]
    pub fn expect_read(&mut self, die: DieId, block: BlockId, wanted: u64) {
        // It begins soon.
        memory::prefetch(&self.blocks, block.index());
        self.masks.queue(die, wanted);
    }

    #[must_use]
    pub fn counters(&self) -> CorrectionCounters {
        self.counters
    }

    /// Logical pages whose data are lost, in order.
    pub fn lost_pages(&self) -> impl Iterator<Item = LogicalPage> + '_ {
        self.losses.pages().keys().copied()
    }

    /// Whether any page of a range has been lost.
    #[inline]
    #[must_use]
    pub fn has_lost(&self, pages: Range<LogicalPage>) -> bool {
        self.losses.any(pages)
    }

    /// The host has written or trimmed pages: what was lost of them is no longer missed.
    #[inline]
    pub fn forgive_lost(&mut self, pages: Range<LogicalPage>) {
        self.losses.forgive(pages);
    }

    /// The drive has started: what was lost stays so where it has found the same write again, wherever that now lies.
    pub fn settle_losses(&mut self, found: impl Fn(LogicalPage) -> Option<u8>) {
        self.losses.settle(found);
    }

    /// Keeps a list of every unit that is found lost from now on; and hands it over.
    pub fn note_losses(&mut self) {
        self.losses.note();
    }
    pub fn take_losses(&mut self) -> Vec<Loss> {
        self.losses.take_noted()
    }

    /// A page is programmed: data of a block are as old as its first page, unless time passes while it is open.
    #[inline]
    pub fn programs(&self, block: BlockId, page: u32, now: Nanos, translation: &mut impl Translation) {
        if page == 0 {
            translation.medium_mut().note_programmed(block, self.seconds(now));
        }
    }

    /// Seconds since the drive was new, those in which nothing was simulated included.
    #[inline]
    fn seconds(&self, now: Nanos) -> u32 {
        u32::try_from((now + self.calendar) / SECOND).unwrap_or(u32::MAX)
    }

    /// Lets calendar time pass in which the drive does nothing.
    pub fn age(&mut self, seconds: u64, now: Nanos, medium: &Medium) {
        self.calendar = self.calendar.saturating_add(seconds.saturating_mul(SECOND)).min(Nanos::MAX / 4);
        self.younger.note(medium, self.seconds(now));
    }

    /// As [`Correction::age`], until [`Correction::unshelve`].
    pub fn shelve(&mut self, seconds: u64, now: Nanos, medium: &Medium) {
        self.shelved = Some((self.calendar, self.losses.pages().clone(), self.younger.clone()));
        self.age(seconds, now, medium);
    }

    /// Takes back the time on the shelf, and what was found to be lost in it.
    pub fn unshelve(&mut self) {
        if let Some((calendar, before, younger)) = self.shelved.take() {
            (self.calendar, self.younger) = (calendar, younger);
            // What the host has written or trimmed meanwhile is not lost again.
            let now = self.losses.pages();
            let lost = before.into_iter().filter(|(page, _)| now.contains_key(page)).collect();
            self.losses.set_pages(lost);
            self.renew_all();
        }
    }

    /// The ladder of hard-decision BCH with as much parity, for comparison; `None` if the drive's own code is that.
    pub fn hard_bch(&self) -> Option<Ladder> {
        self.spec.hard_bch().and_then(|spec| ladder_of_unit(&spec, self.unit_bytes).ok())
    }

    /// What reading all data of a block would bring; see [`ssdlab_device::Flash::expected_errors`].
    pub fn outlook(
        &self,
        block: BlockId,
        ladder: Option<&Ladder>,
        wear_factor: f64,
        retention_hours: f64,
        now: Nanos,
        translation: &impl Translation,
    ) -> ExpectedErrors {
        let layout = translation.medium().layout();
        let valid = |page, mask: u64| (translation.valid_units(layout.row_start(block, page)) & mask).count_ones();
        let Some(mode) = self.modes[translation.medium().mode(block).index()].as_ref() else {
            return ExpectedErrors::default();
        };
        let ladder = ladder.unwrap_or(&self.ladder);
        let (history, now_s) = (translation.medium().history(block), self.seconds(now));
        let pages = translation.medium().finished_pages(block);
        let mut all = ExpectedErrors::default();
        for (pages, at_s) in self.younger.stretches(block, history.erases, pages, history.programmed_at_s) {
            for (reads, mask) in reads_of_units(layout, history) {
                let units = f64::from(pages.clone().map(|page| valid(page, mask)).sum::<u32>());
                if units == 0.0 {
                    continue;
                }
                all.units += units;
                let mut stress = stress(mode, now_s, at_s, history, reads);
                stress.cycles *= wear_factor;
                stress.retention_hours += retention_hours;
                let rber = mode.errors.rber(&stress).times(self.blocks[block.index()].factor.into());
                let each = units / mode.factors.len() as f64;
                for &kind in &mode.factors {
                    let odds = ladder.odds(rber.times(kind));
                    all.reread += each * odds.beyond(0);
                    all.lost += each * odds.beyond(ladder.levels().len() - 2);
                }
            }
        }
        all
    }

    /// Wear has changed otherwise than by erases.
    pub fn renew_all(&mut self) {
        self.blocks.iter_mut().for_each(|chances| chances.erases = u32::MAX);
    }

    /// A die begins an operation, and others in its other planes: how the reads among them end, unless the plain ones are
    /// enough.
    #[inline]
    pub fn begin_all(
        &mut self,
        die: DieId,
        op: &FlashOp,
        beside: &[FlashOp],
        mode: CellMode,
        now: Nanos,
        translation: &mut impl Translation,
    ) -> Option<Box<ReadRetry>> {
        let mut all = self.begin(die, op, mode, now, translation);
        for op in beside {
            if let Some(one) = self.begin(die, op, mode, now, translation) {
                match &mut all {
                    Some(all) => all.join(&one),
                    None => all = Some(one),
                }
            }
        }
        all
    }

    /// A die begins an operation. For a read: how it will end, unless the plain read is enough.
    #[inline]
    fn begin(
        &mut self,
        die: DieId,
        op: &FlashOp,
        mode: CellMode,
        now: Nanos,
        translation: &mut impl Translation,
    ) -> Option<Box<ReadRetry>> {
        match op.kind() {
            OpKind::HostRead
            | OpKind::MergeRead
            | OpKind::GcRead
            | OpKind::FoldRead
            | OpKind::SafetyRead
            | OpKind::RetireRead => self.sense(die, op, mode, now, translation),
            kind => {
                if matches!(kind.act(), Act::Program | Act::ProgramOwn) {
                    self.programs(op.block(), op.page(), now, translation);
                }
                None
            }
        }
    }

    #[inline]
    fn sense(
        &mut self,
        die: DieId,
        op: &FlashOp,
        mode: CellMode,
        now: Nanos,
        translation: &mut impl Translation,
    ) -> Option<Box<ReadRetry>> {
        let wanted = self.masks.begin(die, op);
        count_sensing(op, wanted, translation.medium_mut());
        let history = translation.medium().history(op.block());
        let now_s = self.seconds(now);
        let chances = &self.blocks[op.block().index()];
        if history.erases != chances.erases || now_s > chances.until_s || history.most_reads() > chances.until_reads {
            self.renew(op.block(), mode, now_s, history);
        }
        let escape = self.blocks[op.block().index()].escape;
        let escape = match (op.rows(), &self.modes[mode.index()]) {
            (1, Some(mode)) => escape[mode.kinds[op.page() as usize] as usize],
            _ => escape.into_iter().fold(0, u32::max),
        };
        // No more than the sum of the units' chances: the draw of the retry makes up for the difference.
        let reach = u64::from(escape) * u64::from(op.units());
        if self.rng.next_u64() >> 32 >= reach {
            return None;
        }
        self.draw_retry(op, mode, now_s, (reach, wanted), translation)
    }

    #[cold]
    fn renew(&mut self, block: BlockId, mode: CellMode, now_s: u32, history: BlockHistory) {
        let mode = self.modes[mode.index()].as_ref().expect("the die file was checked for its modes");
        // Of its oldest data, in the plane that is read most, which err most: the draw of the retry makes up for the
        // others.
        let reads = history.most_reads();
        let stress = stress(mode, now_s, history.programmed_at_s, history, reads);
        let chances = &mut self.blocks[block.index()];
        let rber = mode.errors.rber(&stress).times(chances.factor.into());
        for (escape, factor) in chances.escape.iter_mut().zip(&mode.factors) {
            *escape = self.ladder.odds(rber.times(*factor)).escape;
        }
        chances.erases = history.erases;
        let age = now_s.saturating_sub(history.programmed_at_s);
        chances.until_s = now_s.saturating_add(age / 10 + AGE_SLACK_S);
        chances.until_reads = reads.saturating_add(reads / 10 + READ_SLACK);
        if reads > self.most_reads {
            self.much_read.push(block);
        } else {
            chances.until_reads = chances.until_reads.min(self.most_reads);
        }
    }

    /// Settles a read of which some unit may need more than the first rung; `reach` in 2^32 is the chance of getting
    /// here. `wanted`: see [`HostReadMasks`].
    #[cold]
    fn draw_retry(
        &mut self,
        op: &FlashOp,
        mode: CellMode,
        now_s: u32,
        (reach, wanted): (u64, Option<u64>),
        translation: &mut impl Translation,
    ) -> Option<Box<ReadRetry>> {
        let m = self.modes[mode.index()].as_ref().expect("the die file was checked for its modes");
        let factor = f64::from(self.blocks[op.block().index()].factor);
        let history = translation.medium().history(op.block());
        let at_s = self.younger.written_at_s(op.block(), history.erases, op.page(), history.programmed_at_s);
        let sensed = (0..8u8).filter(|row| op.rows() >> row & 1 != 0);
        let kind_of = |row: u8| usize::from(m.kinds[op.page() as usize + row as usize]);
        let layout = translation.medium().layout();
        let plane_of = |unit: UnitAddress| (unit.bit() % layout.row_units / layout.units_per_page) as usize;
        let read: Vec<(u8, UnitAddress)> = sensed
            .flat_map(|row| units_read(op, row.into(), wanted, translation).into_iter().map(move |unit| (row, unit)))
            .collect();
        // By plane, and kind of page.
        let mut all_odds: [[Option<Odds>; CellMode::COUNT]; MOST_PLANES] = Default::default();
        for &(row, unit) in &read {
            let (plane, kind) = (plane_of(unit), kind_of(row));
            all_odds[plane][kind].get_or_insert_with(|| {
                let stress = stress(m, now_s, at_s, history, history.reads[plane]);
                self.ladder.odds(m.errors.rber(&stress).times(factor).times(m.factors[kind]))
            });
        }
        let odds_of =
            |row: u8, unit: UnitAddress| all_odds[plane_of(unit)][kind_of(row)].as_ref().expect("as set for each unit");
        // For each unit, the logarithm of the chance that neither it nor any after it errs.
        let mut clean = vec![0.0; read.len() + 1];
        for (k, &(row, unit)) in read.iter().enumerate().rev() {
            clean[k] = clean[k + 1] + libm::log1p(-odds_of(row, unit).beyond(0).min(1.0 - 1e-12));
        }
        let any = |k: usize| -libm::expm1(clean[k]);
        if self.rng.unit() * (reach.min(1 << 32) as f64 / 4_294_967_296.0) >= any(0) {
            return None;
        }
        let mut retry = Box::new(ReadRetry {
            mode,
            level: 0,
            units: [0; MAX_LEVELS],
            rows: [0; MAX_LEVELS],
            lost: Vec::new(),
            first_out: 0,
            is_in_turn: false,
            waits_since: 0,
            share: WHOLE,
        });
        let mut sensed_again = [[0; 8]; MOST_PLANES];
        for (k, &(row, unit)) in read.iter().enumerate() {
            let odds = odds_of(row, unit);
            // One of them errs; as long as none has, the chance is that of the first of those left.
            let chance = if retry.units[0] > 0 { odds.beyond(0) } else { odds.beyond(0) / any(k) };
            let u = self.rng.unit();
            if u >= chance {
                continue;
            }
            let end = odds.rung(u / chance * odds.beyond(0)).min(self.steps.len() - 1);
            for rung in 0..end {
                retry.units[rung] += 1;
                retry.rows[rung] |= 1 << row;
            }
            let again = &mut sensed_again[plane_of(unit)][usize::from(row)];
            *again = self.ladder.cost(end).extra_senses.max(*again);
            self.counters.reread_units += 1;
            let ends = self.ladder.levels()[end];
            self.counters.soft_units += u64::from(!matches!(ends, Level::First | Level::Retry(_)));
            self.counters.rebuilt_units += u64::from(ends == Level::Parity);
            if ends == Level::Uncorrectable {
                retry.lost.push(unit);
            }
        }
        let medium = translation.medium_mut();
        for (plane, rows) in sensed_again.into_iter().enumerate() {
            medium.count_reads(op.block(), 1 << plane, rows.into_iter().sum());
        }
        (retry.units[0] > 0).then_some(retry)
    }

    /// A read is over: counts what it has lost, and leaves just that in `retry`. What lives elsewhere by now is not lost:
    /// it is read there. `awaited` tells which pages that are read ahead a command waits for. Of planes that were read
    /// together, this is one.
    pub fn settle(
        &mut self,
        op: &FlashOp,
        retry: &mut ReadRetry,
        translation: &impl Translation,
        awaited: impl Fn(LogicalPage, UnitAddress) -> bool,
    ) {
        let medium = translation.medium();
        let counter = &mut self.counters.lost_units;
        retry.lost.retain(|&unit| {
            if medium.layout().block_of(unit) != op.block() {
                return true;
            }
            let page = medium.lpn(unit);
            let stale = !translation.is_current(op, unit);
            self.losses.found(Loss {
                page,
                write_count: medium.generation(unit),
                reader: LossReader::of(op, awaited(page, unit)),
                stale,
                in_part: !stale && translation.unit_of(page).is_none(),
            });
            *counter += u64::from(!stale);
            !stale
        });
    }

    /// What a read does to get past the rung that it stands on; `None` once no unit is left that it did not bring.
    pub fn step(&self, retry: &mut ReadRetry) -> Option<RetryStep> {
        let (units, rows) = (retry.units[retry.level], retry.rows[retry.level]);
        if units == 0 {
            return None;
        }
        retry.level += 1;
        let cost = self.steps[retry.level];
        // The end of the ladder costs nothing more than the last attempt.
        if self.ladder.levels()[retry.level] == Level::Uncorrectable {
            return None;
        }
        Some(RetryStep {
            mode: retry.mode,
            share: retry.share,
            rows,
            senses: cost.extra_senses,
            units: u64::from(units) * u64::from(cost.extra_transfers),
            stripe: cost.stripe_reads,
            stripe_units: units.into(),
            decode: cost.decode_ns,
        })
    }

    /// The failed decoding attempt after the plain read.
    pub fn first_decode(&self) -> Nanos {
        self.steps[0].decode_ns
    }
}

/// The ladder of a mapping unit, which is what is read and lost.
pub fn ladder_of_unit(spec: &EccSpec, unit_bytes: u32) -> Result<Ladder, SpecError> {
    Ladder::new(spec, unit_bytes).map_err(|e| SpecError { key: format!("ecc.{}", e.key), ..e })
}

/// Of data of a block that were written then, in a plane that was read so often.
fn stress(mode: &Mode, now_s: u32, written_at_s: u32, history: BlockHistory, reads: u32) -> Stress {
    Stress {
        cycles: history.life_used() * mode.rated_cycles,
        retention_hours: f64::from(now_s.saturating_sub(written_at_s)) / 3600.0,
        block_reads: reads.into(),
    }
}

/// How often a block's planes were read since its erase, each number once, and the units of a row that lie on those
/// planes.
fn reads_of_units(layout: &Layout, history: BlockHistory) -> Vec<(u32, u64)> {
    let page = u64::MAX >> (64 - layout.units_per_page);
    let mut all: Vec<(u32, u64)> = Vec::new();
    for (plane, &reads) in (0..layout.planes).zip(&history.reads) {
        let units = page << (plane * layout.units_per_page);
        match all.iter_mut().find(|alike| alike.0 == reads) {
            Some(alike) => alike.1 |= units,
            None => all.push((reads, units)),
        }
    }
    all
}

/// A read senses pages of its block: the host's in those planes on which what it wants lies.
#[inline]
fn count_sensing(op: &FlashOp, wanted: Option<u64>, medium: &mut Medium) {
    let (rows, layout) = (op.rows(), medium.layout());
    let start = layout.row_start(op.block(), op.page());
    match wanted {
        Some(units) if rows == 1 => medium.count_reads(op.block(), layout.planes_with(start, units), 1),
        _ => medium.count_reads(op.block(), layout.all_planes(), rows.count_ones()),
    }
}

/// What a rung adds to the one below.
fn added(ladder: &Ladder, level: usize) -> Cost {
    let to = ladder.cost(level);
    let nothing = Cost { extra_senses: 0, extra_transfers: 0, stripe_reads: 0, decode_ns: 0 };
    let from = if level == 0 { nothing } else { ladder.cost(level - 1) };
    Cost {
        extra_senses: to.extra_senses - from.extra_senses,
        extra_transfers: to.extra_transfers - from.extra_transfers,
        stripe_reads: to.stripe_reads - from.stripe_reads,
        decode_ns: to.decode_ns - from.decode_ns,
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_ecc::spec::{BchSpec, RetrySpec};
    use ssdlab_nand::{Geometry, PageOrder, TagFormat};

    use super::*;

    #[test]
    fn after_the_shelf_the_time_the_losses_and_the_chances_are_as_before() {
        let spec = EccSpec {
            codeword_bytes: 1024,
            bch: Some(BchSpec { correctable_bits: 60, decode_us: 4.0 }),
            ldpc: None,
            retry: RetrySpec::default(),
            parity_stripe: None,
        };
        let die = DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 4,
            pages_per_block: 4,
            page_bytes: 4096,
            spare_bytes: 456,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        });
        let mut medium = Medium::new(&die, Layout::new(&die, 1, 4), TagFormat::new(16), &Rng::new(1));
        medium.program_at_start(BlockId::new(2), 0, |_| ()).expect("it is the first");
        let c = Correction::new(&spec, &die, &ErrorSpec::planar_estimate(), 4096, (1, 4), &Rng::new(1));
        let mut c = c.expect("it can be built");
        let history = BlockHistory { erases: 3, programmed_at_s: 0, ..BlockHistory::default() };
        c.losses.set_pages(BTreeMap::from([(LogicalPage::new(5), 1)]));
        c.shelve(1_000_000, 0, &medium);
        let written_at = |c: &Correction| c.younger.written_at_s(BlockId::new(2), 0, 1, 0);
        assert_eq!(written_at(&c), 1_000_000);
        assert_eq!(c.age_s(history, 7 * SECOND), 1_000_007);
        c.renew(BlockId::new(2), CellMode::Slc, 1_000_007, history);
        assert_eq!(c.blocks[2].erases, 3, "it is known how a block fares that has been erased so often");
        c.losses.set_pages(BTreeMap::from([5, 6].map(|page| (LogicalPage::new(page), 1))));
        c.unshelve();
        assert_eq!(written_at(&c), 0);
        assert_eq!(c.age_s(history, 7 * SECOND), 7);
        assert_eq!(c.lost_pages().collect::<Vec<_>>(), [LogicalPage::new(5)]);
        assert_eq!(c.blocks[2].erases, u32::MAX, "that was on the shelf");
    }

    #[test]
    fn what_was_saved_is_of_a_drive_with_these_pages_and_of_a_time_that_goes_on() {
        let saved = |calendar: Nanos, lost: u32, lost_units: u64| SavedCorrection {
            rng: Rng::new(1),
            calendar,
            lost: BTreeMap::from([1, lost].map(|page| (LogicalPage::new(page), 1))),
            counters: CorrectionCounters { lost_units, ..CorrectionCounters::default() },
            younger: Younger::default(),
        };
        assert!(saved(7 * SECOND, 3, 2).is_sound(4, 4));
        assert!(!saved(7 * SECOND, 4, 2).is_sound(4, 4), "a page beyond the drive");
        assert!(!saved(Nanos::MAX / 2, 3, 2).is_sound(4, 4), "a calendar at its end");
        assert!(!saved(7 * SECOND, 3, u64::MAX).is_sound(4, 4), "a count beyond any drive's life");
    }
}
