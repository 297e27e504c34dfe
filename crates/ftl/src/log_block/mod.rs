//! Translation by blocks, as controllers without DRAM do it: data blocks that hold their pages in order, and log blocks
//! that take what the host writes until they are merged.
//!
//! The map of such a drive has an entry a block, not a page, and fits a few KiB of SRAM, or the spare areas that are read
//! when it starts. Writing in order is as fast as the dies are: a log that has filled up in order takes its data block's
//! place (a *switch merge*). Any other write leaves a log that must be *merged*: what the log lacks is copied from the
//! data block, a block's worth of pages for as little as one sector.
//!
//! | file | what it owns |
//! |---|---|
//! | `geometry` | where a page belongs: superblock, lane, row |
//! | `superblocks` | physical superblocks: their blocks, which are free, how often each was erased |
//! | `contents` | the medium, and where each page lives |
//! | `host_rows` | what the host has written and flash does not hold yet |
//! | `logs` | open logs, and what each can take ([`LogScheme`]) |
//! | `chores` | copies and erases, one chore of a column at a time |
//! | `merges` | which chores close a log; static wear levelling |
//! | `recovery` | what is found again after a power cut |
//! | `saved` | the same without power, for a file |
//!
//! What a copy costs: the page is read, crosses the bus once to be corrected (if it is), and is programmed within its die
//! (copy-back).
//!
//! Not modelled: blocks that go bad in use; the map's own writes (the map can be found again from the spare areas, where
//! each page carries its logical address, and a table that says what each superblock is for); a log that is closed because the drive is idle.

mod as_translation;
mod chores;
mod contents;
mod geometry;
mod host_rows;
mod invariants;
mod logs;
mod merges;
mod recovery;
mod saved;
mod spec;
mod superblocks;

use std::collections::VecDeque;
use std::ops::Range;

use ssdlab_core::Rng;
use ssdlab_keys::SpecError;
use ssdlab_nand::{DieId, DieSpec, Layout, LogicalPage, LogicalPages, Medium, TagFormat};

use crate::op::{FlashOp, OpSink};
use chores::{Chore, Chores, Workplace};
use contents::Contents;
use geometry::Geometry;
use host_rows::HostRows;
use logs::{Log, Logs, Room};
use recovery::Recovery;
use superblocks::{Place, Superblocks, Use};

pub use merges::Merges;
pub use recovery::LogBlockFault;
pub use saved::SavedLogBlock;
pub use spec::{LogBlockSpec, LogScheme};

/// Dies of a channel, at most.
const MAX_COLUMNS: usize = 512;

/// What a drive tells its translation layer of itself.
#[derive(Clone, Copy, Debug)]
pub struct LogBlockConfig<'a> {
    pub die: &'a DieSpec,
    pub dies: u32,
    pub channels: u32,
    pub logical_pages: u32,
    /// Blocks of a die kept aside, for what goes bad later.
    pub reserved_blocks: u32,
    pub least_worn_first: bool,
    pub spec: &'a LogBlockSpec,
}

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct LogBlock {
    geometry: Geometry,
    contents: Contents,
    superblocks: Superblocks,
    /// By logical superblock.
    data: Vec<Option<Place>>,
    host: HostRows,
    /// The page behind the last of the command that the host is sending.
    command_end: LogicalPage,
    /// The page within which the last command ended. It waits for the next command, which may go on there; programmed at once,
    /// it would have to be written again, and its log would no longer be in order.
    held: Option<LogicalPage>,
    /// Pages accepted up to which a FLUSH has asked for everything: none of them is held.
    forced_to: u64,
    logs: Logs,
    chores: Chores,
    merges: Merges,
    merges_at_once: u32,
    corrects_copies: bool,
    relocate_after_merges: Option<u32>,
    /// Merges that copied, when wear levelling last chose a stripe that has moved since.
    relocate_at: u64,
    /// Superblocks that static wear levelling has yet to move.
    to_relocate: VecDeque<u32>,
    relocations: u64,
    trimmed: u64,
    /// Pages written again while they waited.
    overwritten: u64,
    recovery: Recovery,
    /// For tests: what this firmware does wrong.
    fault: Option<LogBlockFault>,
}

impl LogBlock {
    /// Fresh dies; factory bad blocks are drawn from `rng`.
    ///
    /// # Errors
    /// A value that cannot be built.
    pub fn new(config: &LogBlockConfig<'_>, rng: &Rng) -> Result<Self, SpecError> {
        let (spec, g) = (config.spec, &config.die.geometry);
        if g.planes * config.die.units_per_page(4096) != 1 {
            return Err(SpecError::new(
                "log_blocks",
                format!("{} plane(s) of {} bytes are programmed together", g.planes, g.page_bytes),
                "use dies with pages of 4096 bytes, and flash.planes_apart = true if they have several planes",
            ));
        }
        let columns = config.dies / config.channels;
        if !columns.is_multiple_of(spec.stripe_superblocks) {
            return Err(SpecError::new(
                "log_blocks.stripe_superblocks",
                format!("{columns} dies a channel are not a multiple of {}", spec.stripe_superblocks),
                format!("use a divisor of {columns}"),
            ));
        }
        let layout = Layout::new(config.die, config.dies, g.blocks_per_plane);
        let medium = Medium::new(config.die, layout, TagFormat::new(config.logical_pages), rng);
        let geometry = Geometry {
            lanes: config.channels,
            columns,
            stripe: spec.stripe_superblocks,
            rows: g.pages_per_block,
            logical_pages: config.logical_pages,
        };
        let superblocks = Superblocks::new(&geometry, &medium, config.reserved_blocks, config.least_worn_first);
        // Data, logs that are open or being closed, and one to merge into: a column opens none while it is at chores.
        let data = geometry.superblocks_of_a_column();
        let logs_of_each = Logs::of_each_column(spec.scheme, spec.open_logs, columns);
        let needed = data + logs_of_each + 1;
        if superblocks.each() < needed {
            return Err(SpecError::new(
                "capacity_bytes",
                format!(
                    "{data} blocks of each die hold the capacity, {logs_of_each} can be logs, and one is merged into: \
                     {needed} are needed, and {} are good and not reserved",
                    superblocks.each()
                ),
                "use a smaller capacity, more flash, fewer logs or a smaller reserve",
            ));
        }
        let logs = Logs::new(spec.scheme, spec.open_logs, superblocks.each() - data - 1, &geometry);
        let dies_per_bank = match spec.banks {
            Some(banks) if spec.stripe_superblocks.is_multiple_of(banks) => {
                config.channels * spec.stripe_superblocks / banks
            }
            Some(_) => {
                return Err(SpecError::new(
                    "log_blocks.banks",
                    format!("{} superblocks do not make equal banks", spec.stripe_superblocks),
                    format!("use a divisor of {}", spec.stripe_superblocks),
                ));
            }
            None => 1,
        };
        Ok(LogBlock {
            host: HostRows::new(config.dies, dies_per_bank, geometry.superblocks(), config.logical_pages),
            command_end: LogicalPage::FIRST,
            held: None,
            forced_to: 0,
            data: vec![None; geometry.superblocks() as usize],
            contents: Contents::new(medium, config.logical_pages),
            geometry,
            superblocks,
            logs,
            chores: Chores::new(columns, config.dies),
            merges: Merges::default(),
            merges_at_once: spec.merges_at_once,
            corrects_copies: spec.corrects_copies,
            relocate_after_merges: spec.relocate_after_merges,
            relocate_at: 0,
            to_relocate: VecDeque::new(),
            relocations: 0,
            trimmed: 0,
            overwritten: 0,
            recovery: Recovery::default(),
            fault: None,
        })
    }

    /// Merges since the drive was new.
    #[must_use]
    pub fn merges(&self) -> Merges {
        self.merges
    }

    /// Superblocks that static wear levelling has moved.
    #[must_use]
    pub fn relocations(&self) -> u64 {
        self.relocations
    }

    /// The chores, and what they work on.
    fn at_work(&mut self) -> (&mut Chores, Workplace<'_>) {
        let units_out = u32::from(self.corrects_copies);
        let LogBlock { geometry, contents, superblocks, data, chores, .. } = self;
        (chores, Workplace { geometry, units_out, contents, superblocks, data })
    }

    /// Whether firmware finishes one thing before it begins the next, and takes the host's pages in the order in which they came.
    fn is_in_order(&self) -> bool {
        self.merges_at_once == 1
    }

    /// Gives the host's pages to dies, as far as they have room.
    fn place_waiting(&mut self, sink: &mut impl OpSink) {
        self.place_what_fits(sink);
        // Nothing more happens by itself, and others wait for the log that the held page will go to, or until it is on flash.
        if self.held.is_some() && self.host.unfinished() > 1 && self.chores.is_idle() && !self.host.any_under_way() {
            self.held = None;
            self.place_what_fits(sink);
        }
    }

    /// Firmware that does several things at once takes every page that finds a log open, and closes no log for which pages wait,
    /// so that a merge serves all of them. The oldest page of a column that finds none has the first claim on one. It waits no
    /// longer than another log takes pages: one that is full is closed.
    fn place_what_fits(&mut self, sink: &mut impl OpSink) {
        if self.chores.busy() >= self.merges_at_once {
            return;
        }
        let in_order = self.is_in_order();
        let mut held_back = [false; MAX_COLUMNS];
        let mut k = 0;
        let mut left = self.may_go();
        while (left > 0 || !self.to_relocate.is_empty())
            && self.chores.busy() < self.merges_at_once
            && (k == 0 || !in_order)
        {
            if !self.to_relocate.is_empty() {
                if !self.chores.is_idle() {
                    return;
                }
                self.relocate_next();
                self.do_chores(sink);
                continue;
            }
            let Some(waiting) = self.host.get(k) else { return };
            if self.held == Some(waiting.page) && !self.host.is_among_first(k, self.forced_to) {
                k += 1;
                continue;
            }
            let spot = self.geometry.spot(waiting.page);
            let column = self.geometry.column(spot.superblock);
            if self.chores.is_busy(column) || !self.host.can_take(waiting.die) {
                k += 1;
                continue;
            }
            left -= 1;
            let room = self.logs.room(spot, column);
            let Room::Now(log) = room else {
                let end = if in_order { waiting.command_end } else { waiting.page + 1 };
                // A log that has to be closed or begun for its own pages waits for no other.
                let is_held_back = held_back[column as usize] && room == Room::Missing;
                if !is_held_back && self.make_room(waiting.page..end) {
                    // A log may have been closed that older pages wait for, without anything else to be done.
                    self.do_chores(sink);
                    (k, held_back, left) = (0, [false; MAX_COLUMNS], self.may_go());
                } else {
                    held_back[column as usize] = true;
                    k += 1;
                    self.do_chores(sink);
                }
                continue;
            };
            let (place, row) = self.logs.take(log, spot.lane, spot.row);
            let block = self.superblocks.block(place, spot.lane);
            if waiting.trimmed {
                self.contents.copy(None, block, row);
            } else {
                self.contents.write(waiting.page, waiting.write_number, block, row);
            }
            self.host.start(k);
            let ready = sink.data_from(waiting.ready);
            sink.enqueue(waiting.die, FlashOp::host_program(block, row, 1, 0, ready));
        }
    }

    /// Pages that wait for dies which could take one now: others need not be looked at. In order, the oldest alone is.
    fn may_go(&mut self) -> u32 {
        if self.is_in_order() {
            return self.host.waiting();
        }
        let LogBlock { geometry, chores, host, .. } = self;
        let columns = (0..geometry.columns).filter(|&column| !chores.is_busy(column));
        let dies = columns.flat_map(|column| geometry.dies(column)).map(|die| DieId::new(die as u32));
        dies.map(|die| if host.can_take(die) { host.waiting_for(die) } else { 0 }).sum()
    }

    /// Begins the chores that are planned.
    fn do_chores(&mut self, sink: &mut impl OpSink) {
        let (chores, mut work) = self.at_work();
        chores.go_on(&mut work, sink);
    }

    /// Plans what the first pages of a command, one of each lane and superblock, need before they can be programmed: first
    /// logs are closed, then others opened and begun. Returns whether there is anything to be done; if not, all logs await
    /// pages that come first.
    fn make_room(&mut self, command: Range<LogicalPage>) -> bool {
        let dies_of_a_stripe = self.geometry.stripe * self.geometry.lanes;
        let pages = command.start..command.end.min(command.start + dies_of_a_stripe);
        if self.close_logs(pages.clone()) {
            return true;
        }
        let mut any = false;
        for page in pages.each() {
            let spot = self.geometry.spot(page);
            let column = self.geometry.column(spot.superblock);
            if self.logs.room(spot, column) == Room::Missing && self.logs.has_slots(1, column, 1) {
                let place = self.superblocks.take(column);
                self.superblocks.set_use(place, Use::Log);
                self.logs.open(place, spot.superblock, column, self.geometry.lanes, page);
                any = true;
            }
            if let Room::AfterCopying(k) = self.logs.room(spot, column) {
                let log = self.logs.get(k);
                let mut lanes: Vec<(u32, u32)> = log.next.iter().map(|&next| (next, next)).collect();
                lanes[spot.lane as usize].1 = spot.row;
                let (superblock, into) = (spot.superblock, log.place);
                self.chores.push(column, Chore::Copy { superblock, into, lanes });
                self.logs.copied(k, spot.lane, spot.row, page);
                any = true;
            }
        }
        any
    }

    /// Closes the logs that stand in the way of these pages. Returns whether there were any.
    fn close_logs(&mut self, pages: Range<LogicalPage>) -> bool {
        // Superblocks that need a log, or with shared logs columns; each with its column.
        let mut missing: Vec<(u32, u32)> = Vec::new();
        let mut closed = false;
        for page in pages.clone().each() {
            let spot = self.geometry.spot(page);
            let column = self.geometry.column(spot.superblock);
            match self.logs.room(spot, column) {
                Room::Now(_) | Room::AfterCopying(_) => continue,
                Room::Exhausted(k) => {
                    self.close(k);
                    closed = true;
                }
                Room::Missing => {}
            }
            let needs = if self.logs.is_shared() { column } else { spot.superblock };
            if missing.contains(&(needs, column)) {
                continue;
            }
            missing.push((needs, column));
            let here = missing.iter().filter(|&&(_, of)| of == column).count();
            while !self.logs.has_slots(missing.len(), column, here) {
                let Some(k) = self.to_close(page, &pages, column, here) else { break };
                self.close(k);
                closed = true;
            }
        }
        closed
    }

    /// The log to be closed so that `of_column` more can be opened in a column, the last of them for `page`, one of the next
    /// `pages`. `None` if all that could be are needed.
    ///
    /// In order, a log is needed that awaits one of the next pages; what was opened for another page is not, since that page may have
    /// left in the place of an older write. The very next page, for which all others wait, gets a log even so. Otherwise the
    /// logs are needed for whose superblocks pages wait.
    fn to_close(&self, page: LogicalPage, pages: &Range<LogicalPage>, column: u32, of_column: usize) -> Option<usize> {
        if !self.is_in_order() {
            let is_needed = |log: &Log| log.owner.is_some_and(|owner| self.host.waiting_in(owner) > 0);
            return self.logs.to_close(column, of_column, is_needed);
        }
        let is_needed = |log: &Log| log.awaits.is_some_and(|awaited| pages.contains(&awaited));
        let spared = self.logs.to_close(column, of_column, is_needed);
        spared.or_else(|| self.logs.to_close(column, of_column, |_| false).filter(|_| page == pages.start))
    }
}

#[cfg(test)]
mod small;

#[cfg(test)]
mod tests {
    use ssdlab_nand::Interrupted;

    use super::chores::Why;
    use super::small::{PAGES, drive, work};
    use super::*;
    use crate::op::{FlashOp, OpKind};
    use crate::translation::{Stretch, Translation, TranslationCounters};

    /// A write that ends within a page.
    fn write_part(drive: &mut LogBlock, page: u32, n: u8, ops: &mut Vec<(DieId, FlashOp)>) {
        let page = LogicalPage::new(page);
        drive.write_begins(page.run(1), true);
        drive.write_units(&Stretch { first: page, units: 1, stream: 0, from: 0, each: 0 }, |_| n);
        drive.dispatch(ops);
    }

    #[test]
    fn a_page_that_a_flush_waits_for_is_written_although_the_host_goes_on_in_it() {
        let mut drive = drive(LogScheme::Bast);
        let mut ops = Vec::new();
        write_part(&mut drive, 0, 1, &mut ops);
        drive.force(1, &mut ops);
        assert_eq!(ops.len(), 1, "the die is at work from here on");
        write_part(&mut drive, 0, 2, &mut ops);
        drive.force(2, &mut ops);
        write_part(&mut drive, 0, 3, &mut ops);
        work(&mut drive, &mut ops);
        assert_eq!((drive.durable_units(), drive.write_number(LogicalPage::FIRST)), (2, Some(3)));
    }

    #[test]
    fn a_page_that_came_after_a_flush_waits_on_however_often_that_is_said() {
        let mut drive = drive(LogScheme::Bast);
        let mut ops = Vec::new();
        write_part(&mut drive, 0, 1, &mut ops);
        drive.force(1, &mut ops);
        write_part(&mut drive, 1, 1, &mut ops);
        drive.force(1, &mut ops);
        assert_eq!((ops.len(), drive.waiting_units()), (1, 1));
        drive.force(2, &mut ops);
        work(&mut drive, &mut ops);
        assert_eq!(drive.durable_units(), 2);
    }

    #[test]
    fn a_superblock_moves_for_every_so_many_merges_however_many_a_log_needs() {
        let mut drive = drive(LogScheme::Fast);
        drive.relocate_after_merges = Some(2);
        let (mut ops, mut rng) = (Vec::new(), Rng::new(5));
        let mut most = 0;
        for k in 0..2000 {
            let page = LogicalPage::new(if k < PAGES { k } else { rng.below(u64::from(PAGES)) as u32 });
            let before = drive.merges().full;
            drive.write_begins(page.run(1), false);
            drive.write_units(&Stretch { first: page, units: 1, stream: 0, from: 0, each: 0 }, |_| 1);
            drive.dispatch(&mut ops);
            work(&mut drive, &mut ops);
            most = most.max(drive.merges().full - before);
        }
        let merges = drive.merges();
        assert!(most > 3, "{most} merges at once");
        assert_eq!(drive.relocations(), (merges.partial + merges.full) / 2, "{merges:?}");
    }

    /// Two columns of 16 superblocks share three logs: each has one, 14 superblocks of data and one to merge into.
    #[test]
    fn shared_logs_need_room_for_as_many_as_can_be_open() {
        let die = DieSpec::plain(ssdlab_nand::Geometry {
            planes: 1,
            blocks_per_plane: 16,
            pages_per_block: 8,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: ssdlab_nand::PageOrder::Uniform,
        });
        let build = |logical_pages, open_logs| {
            let spec = &LogBlockSpec::plain(LogScheme::Fast, open_logs);
            let (dies, channels, reserved_blocks, least_worn_first) = (2, 1, 0, false);
            let config =
                LogBlockConfig { die: &die, dies, channels, logical_pages, reserved_blocks, least_worn_first, spec };
            LogBlock::new(&config, &Rng::new(1))
        };
        let pages = 2 * 14 * 8;
        assert_eq!([1, 2, 3, 4].map(|logs| build(pages, logs).is_ok()), [true, true, true, false]);
        assert!(build(pages + 1, 3).is_err());
        let (mut drive, mut ops, mut rng) = (build(pages, 3).expect("it has room"), Vec::new(), Rng::new(1));
        let mut most = 0;
        for k in 0..3000 {
            write(&mut drive, if k < pages { k } else { rng.below(pages.into()) as u32 }, &mut ops);
            most = most.max(drive.logs.iter().count());
            work(&mut drive, &mut ops);
        }
        assert_eq!(most, 2, "one of each column");
    }

    fn write(drive: &mut LogBlock, page: u32, ops: &mut Vec<(DieId, FlashOp)>) {
        let page = LogicalPage::new(page);
        drive.write_begins(page.run(1), false);
        drive.write_units(&Stretch { first: page, units: 1, stream: 0, from: 0, each: 0 }, |_| 1);
        drive.dispatch(ops);
    }

    /// Host rows, rows that were copied or padded, and rows that were read for it.
    fn count(ended: &mut [u64; 3], op: &FlashOp) {
        match op.kind() {
            OpKind::HostProgram => ended[0] += 1,
            OpKind::CopyProgram => ended[1] += 1,
            OpKind::CopyRead => ended[2] += 1,
            _ => {}
        }
    }

    #[test]
    fn after_each_cut_as_many_rows_count_as_dies_have_programmed_and_no_merge_twice() {
        for scheme in [LogScheme::Replacement, LogScheme::Bast, LogScheme::Fast] {
            let mut drive = drive(scheme);
            drive.relocate_after_merges = Some(3);
            let (mut ops, mut rng, mut ended, mut undone) = (Vec::new(), Rng::new(6), [0; 3], 0);
            for k in 0..4000 {
                write(&mut drive, if k < PAGES { k } else { rng.below(PAGES.into()) as u32 }, &mut ops);
                let steps = if drive.buffered_units() > 6 { u64::MAX } else { rng.below(12) };
                for _ in 0..steps {
                    if ops.is_empty() {
                        break;
                    }
                    let (die, op) = ops.remove(0);
                    drive.began(&op);
                    drive.done(die, op, &mut ops);
                    count(&mut ended, &op);
                }
                if k < PAGES || !rng.chance(1, 20) {
                    continue;
                }
                let mut under_way = Vec::new();
                if let Some((_, op)) = ops.first().filter(|(_, op)| op.kind().is_program() && rng.chance(1, 2)) {
                    drive.began(op);
                    count(&mut ended, op);
                    let (block, page) = (op.block(), op.page());
                    under_way.push(Interrupted::Program { block, page, spares_older: true });
                }
                let before = drive.counters();
                Translation::cut_power(&mut drive, &under_way);
                let rows = |c: &TranslationCounters| [c.host_rows, c.gc_rows, c.gc_read_units];
                assert_eq!(rows(&drive.counters()), ended, "{scheme:?}, after {k} writes");
                undone += rows(&before).iter().sum::<u64>() - ended.iter().sum::<u64>();
                let saved = Translation::save(&drive);
                assert_eq!(Translation::load(&mut super::small::drive(scheme), &saved), Ok(()));
                // What a recovery plans is not done yet.
                let counted = (drive.merges(), drive.relocations());
                for _ in 0..2 {
                    ops.clear();
                    Translation::recover(&mut drive);
                    Translation::resume(&mut drive, &mut ops);
                    assert_eq!(drive.accepted_units(), drive.counters().host_units);
                    Translation::cut_power(&mut drive, &[]);
                    assert_eq!((drive.merges(), drive.relocations()), counted);
                    assert_eq!(rows(&drive.counters()), ended);
                }
                Translation::recover(&mut drive);
                ops.clear();
                Translation::resume(&mut drive, &mut ops);
            }
            assert!(undone > 50, "{scheme:?}: {undone}");
        }
    }

    #[test]
    fn a_superblock_that_was_to_move_when_the_power_went_moves_afterwards() {
        let mut drive = drive(LogScheme::Fast);
        drive.relocate_after_merges = Some(2);
        let (mut ops, mut rng, mut cuts, mut last_cut) = (Vec::new(), Rng::new(7), 0, 0);
        for k in 0..3000 {
            write(&mut drive, if k < PAGES { k } else { rng.below(PAGES.into()) as u32 }, &mut ops);
            while !ops.is_empty() {
                // With a cut in each merge, none would ever come to move.
                let may_cut = last_cut + 300 < k && k < 2900 && rng.chance(1, 30);
                let is_moving = |drive: &LogBlock| drive.chores.unfinished().any(|(_, why)| why == Why::Relocation);
                if may_cut && (!drive.to_relocate.is_empty() || is_moving(&drive)) {
                    Translation::cut_power(&mut drive, &[]);
                    Translation::recover(&mut drive);
                    ops.clear();
                    Translation::resume(&mut drive, &mut ops);
                    (cuts, last_cut) = (cuts + 1, k);
                    continue;
                }
                let (die, op) = ops.remove(0);
                drive.began(&op);
                drive.done(die, op, &mut ops);
            }
        }
        let merges = drive.merges();
        assert!(cuts > 5, "{cuts} cuts");
        assert_eq!(drive.relocations(), (merges.partial + merges.full) / 2, "{merges:?}");
    }
}
