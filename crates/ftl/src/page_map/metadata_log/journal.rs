//! Making the map survive a power cut, and what it costs.
//!
//! Every change of the map (a unit programmed for the host or by a collector, a unit trimmed) is an entry of eight
//! bytes in a journal. A full row of entries is programmed into the system area: superblocks kept for this, used as
//! a ring. With the journal go rows of the map itself ([`super::checkpoints`]), so that a recovery reads the newest of
//! each, the journal since the oldest of them, and the spare areas of the rows programmed since the last journal row,
//! which their sequence numbers tell. So neither FLUSH nor FUA has to write journal.
//!
//! In the spare area a system row carries, instead of logical addresses, [`TAG_JOURNAL`] or [`TAG_CHECKPOINT`] in its
//! first unit and the number of its piece in the second (if it has one); its programming sequence orders it among
//! all other rows. Not modelled: the bytes inside a system row, but for trims ([`super::trims`]). What a recovery rebuilds
//! from them is what the spare areas of all rows say (`recovery`), and how long that takes is reckoned from the rows that
//! it would read.

use serde::{Deserialize, Serialize};
use ssdlab_nand::{BlockId, EMPTY_TAG, Layout, LogicalPage, Medium, SequenceNumber};

use crate::op::{FlashOp, OpKind, OpSink};
use crate::page_map::system_ring::{RingRow, SystemRing};

use super::checkpoints::{Changed, Checkpoints, Round};
use super::trims::{Trim, Trims};
use crate::spec::MappingSpec;
use crate::translation::is_plausible;

/// First spare entry of a journal row.
pub const TAG_JOURNAL: u32 = 0xFFFF_FFF0;
/// First spare entry of a checkpoint row.
pub const TAG_CHECKPOINT: u32 = 0xFFFF_FFF1;
/// Bytes of one journal entry: logical page and unit address.
pub const JOURNAL_ENTRY_BYTES: u32 = 8;
/// Bytes of one map entry in a checkpoint.
const MAP_ENTRY_BYTES: u32 = 4;

/// See the module's own page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Journal {
    ring: SystemRing,
    entries: u32,
    entries_per_row: u32,
    checkpoints: Checkpoints,
    /// Rows decided on that wait for the ring's next block to be erased: journal, checkpoint.
    owed: [u32; 2],
    rows_written: u64,
    /// Journal rows decided on so far, and how many of them have been given to dies.
    rows_due: u64,
    rows_begun: u64,
    trims: Trims,
    /// Rows given to dies that have not ended, in order, and the piece that each holds, if it is not of journal.
    #[serde(skip)]
    under_way: Vec<(BlockId, u32, Option<u32>)>,
}

impl Journal {
    /// How the checkpoints of a drive with so many logical pages go.
    #[must_use]
    pub fn checkpoints(spec: &MappingSpec, logical_pages: u32, layout: &Layout) -> Checkpoints {
        let pages_per_piece = layout.row_bytes() / MAP_ENTRY_BYTES;
        let pieces = logical_pages.div_ceil(pages_per_piece);
        match spec.journal_limit_rows {
            // A map that is on flash anyway needs no checkpoints.
            _ if spec.map_cache_kib.is_some() => Checkpoints::Never(pieces),
            Some(limit) => Checkpoints::Changed(Changed::new(pieces, pages_per_piece, limit)),
            None => Checkpoints::Round(Round::new(pieces, spec.journal_rows_per_checkpoint_row)),
        }
    }

    /// Ring blocks that these need, with the one that is being erased.
    #[must_use]
    pub fn ring_blocks(checkpoints: &Checkpoints, layout: &Layout) -> u32 {
        checkpoints.ring_rows().div_ceil(layout.pages * layout.dies) + 2
    }

    /// A journal on the given ring: for each place the blocks of all dies.
    #[must_use]
    pub fn new(ring: Vec<Vec<BlockId>>, layout: &Layout, checkpoints: Checkpoints) -> Self {
        Journal {
            ring: SystemRing::new(ring),
            entries: 0,
            entries_per_row: layout.row_bytes() / JOURNAL_ENTRY_BYTES,
            checkpoints,
            owed: [0; 2],
            rows_written: 0,
            rows_due: 0,
            rows_begun: 0,
            trims: Trims::default(),
            under_way: Vec::new(),
        }
    }

    /// All blocks of its ring.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.ring.blocks()
    }

    /// Whether this is a journal of the same drive, whatever it says.
    #[must_use]
    pub fn is_shaped_like(&self, other: &Journal) -> bool {
        self.ring.is_shaped_like(&other.ring)
            && self.entries_per_row == other.entries_per_row
            && self.checkpoints.is_shaped_like(&other.checkpoints)
    }

    /// Whether what it says is of a drive with so many pages. `next`: the number of the row that is queued next.
    #[must_use]
    pub fn is_sound(&self, logical_pages: u32, next: SequenceNumber) -> bool {
        self.trims.on_flash().is_sound(logical_pages, next)
            && self.checkpoints.is_sound(self.rows_written)
            && is_plausible(self.rows_written)
            && is_plausible(self.rows_due)
            && self.rows_begun.checked_add(self.owed[0].into()) == Some(self.rows_due)
            && self.entries < self.entries_per_row
            && self.checkpoints.can_owe(self.owed[1])
    }

    /// Whether the checkpoints on flash are of pieces that there are.
    #[must_use]
    pub fn is_written_soundly(&self, medium: &Medium) -> bool {
        let layout = medium.layout();
        self.ring.blocks().all(|block| {
            medium.is_in_order(block)
                && (0..medium.finished_pages(block)).all(|page| {
                    let start = layout.row_start(block, page);
                    let known = || layout.row_units == 1 || medium.tag(start + 1) < self.checkpoints.pieces();
                    match medium.tag(start) {
                        TAG_CHECKPOINT => known(),
                        tag => [TAG_JOURNAL, EMPTY_TAG].contains(&tag),
                    }
                })
        })
    }

    /// Rows programmed into the system area.
    #[must_use]
    pub fn rows_written(&self) -> u64 {
        self.rows_written
    }

    /// Notes `entries` changes of the map.
    #[inline]
    pub fn note(&mut self, entries: u32, medium: &mut Medium, sink: &mut impl OpSink) {
        self.entries += entries;
        while self.entries >= self.entries_per_row {
            self.entries -= self.entries_per_row;
            self.row_due(medium, sink);
        }
    }

    /// Notes a trim, of which [`Journal::note`] must be told as well.
    pub fn note_trim(&mut self, trim: Trim) {
        self.trims.note(trim);
    }

    #[must_use]
    pub fn entries_per_row(&self) -> u32 {
        self.entries_per_row
    }

    #[must_use]
    pub fn trims(&self) -> &Trims {
        &self.trims
    }

    pub fn trims_mut(&mut self) -> &mut Trims {
        &mut self.trims
    }

    /// A program of the system area has ended.
    #[inline]
    pub fn row_ended(&mut self, block: BlockId, page: u32) {
        self.trims.row_ended(block, page);
        if let Some(at) = self.under_way.iter().position(|row| (row.0, row.1) == (block, page)) {
            self.under_way.remove(at);
        }
    }

    /// Writes a journal row that is not full, if a trim waits for one.
    pub fn save_trims(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        if self.trims.any_pending() {
            self.write_entries(medium, sink);
        }
    }

    /// Writes a journal row that is not full, if there is anything to say in it.
    pub fn save_entries(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        if self.entries > 0 || self.trims.any_pending() {
            self.write_entries(medium, sink);
        }
    }

    fn write_entries(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        self.entries = 0;
        self.row_due(medium, sink);
    }

    /// The same, one row after the other: trims that come while one is on its way share the next.
    pub fn save_trims_in_turn(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        if !self.trims.any_on_its_way() {
            self.save_trims(medium, sink);
        }
    }

    /// See [`Checkpoints::rows_to_read`].
    #[must_use]
    pub fn rows_to_read(&self) -> (u32, u32) {
        self.checkpoints.rows_to_read(self.rows_begun)
    }

    /// See [`Checkpoints::follows_changes`].
    #[must_use]
    pub fn follows_changes(&self) -> bool {
        self.checkpoints.follows_changes()
    }

    /// The map has changed for a page, of which [`Journal::note`] must be told as well.
    #[inline]
    pub fn mark(&mut self, page: LogicalPage) {
        self.checkpoints.mark(page);
    }

    /// The power goes: rows that are under way are owed again. What they said is found from the rows of data that followed,
    /// like the entries of a row that is not full yet, and goes into the journal all the same: those changes that the cut has
    /// kept from being are counted with them, so that a row may be written a little early.
    pub fn cut_power(&mut self) {
        for (_, _, piece) in std::mem::take(&mut self.under_way).into_iter().rev() {
            match piece {
                Some(piece) => self.owed[1] += u32::from(self.checkpoints.undone(piece)),
                None => {
                    self.rows_begun -= 1;
                    self.owed[0] += 1;
                }
            }
        }
    }

    /// Starts again from what is on flash. Returns the rows that must be programmed before the ring can go on.
    pub fn recover(&mut self, medium: &Medium) -> Vec<(BlockId, u32)> {
        self.trims.forget_unsaved();
        self.checkpoints.recover();
        self.ring.recover(medium)
    }

    /// Goes on after [`Journal::recover`].
    pub fn resume(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        self.ring.resume(sink);
        self.write_owed(medium, sink);
    }

    fn row_due(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        self.owed[0] += 1;
        self.rows_due += 1;
        self.trims.row_due(self.rows_due);
        self.owed[1] += self.checkpoints.journal_row(self.rows_written);
        self.write_owed(medium, sink);
    }

    fn write_owed(&mut self, medium: &mut Medium, sink: &mut impl OpSink) {
        while self.owed != [0; 2] {
            let Some(RingRow { die, block, page, .. }) = self.ring.next() else { return };
            let kind = usize::from(self.owed[0] == 0);
            self.owed[kind] -= 1;
            let row = medium.queue_program(block, page).expect("the system ring is written in order");
            row.tags.fill(EMPTY_TAG);
            row.tags[0] = [TAG_JOURNAL, TAG_CHECKPOINT][kind];
            let piece = (kind == 1).then(|| self.checkpoints.next_piece(self.rows_written));
            if let Some(piece) = piece {
                if let Some(tag) = row.tags.get_mut(1) {
                    *tag = piece;
                }
            } else {
                self.rows_begun += 1;
                self.trims.row_begun(self.rows_begun, block, page);
            }
            self.under_way.push((block, page, piece));
            let units = medium.layout().row_units;
            sink.enqueue(die, FlashOp::program(OpKind::MetadataProgram, block, page, units, 0));
            self.rows_written += 1;
            // The next place is erased as soon as this one is begun, so that it is ready in time.
            if self.ring.at_start() {
                self.ring.erase_next(sink);
            }
            self.ring.step(medium.layout());
        }
    }

    /// A block has gone bad: if it belongs to the ring, another takes its place.
    pub fn replace(&mut self, from: BlockId, to: BlockId) {
        if self.ring.replace(from, to) {
            self.trims.replace(from, to);
            self.under_way.iter_mut().filter(|row| row.0 == from).for_each(|row| row.0 = to);
        }
    }

    /// A block has been erased; returns whether it was one of the ring.
    pub fn erased(&mut self, block: BlockId, medium: &mut Medium, sink: &mut impl OpSink) -> bool {
        let ours = self.ring.erased(block);
        if ours {
            self.write_owed(medium, sink);
        }
        ours
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;
    use ssdlab_nand::{DieId, DieSpec, Geometry, PageOrder, TagFormat};

    use super::*;
    use crate::page_map::metadata_log::held::Held;

    /// Notes rows of entries until `rows` have been programmed, erasing what the journal wants erased.
    fn write(journal: &mut Journal, medium: &mut Medium, rows: u64) -> Vec<FlashOp> {
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        let mut all = Vec::new();
        while journal.rows_written() < rows {
            journal.note(journal.entries_per_row, medium, &mut ops);
            while !ops.is_empty() {
                let (_, op) = ops.remove(0);
                all.push(op);
                if op.kind() == OpKind::Erase {
                    assert_eq!(medium.erase(op.block()), Ok(ssdlab_nand::Outcome::Done));
                    journal.erased(op.block(), medium, &mut ops);
                } else {
                    medium.begin_program(op.block(), op.page()).expect("it is the next of its block");
                    let done = medium.finish_program(op.block(), op.page());
                    assert_eq!(done, Ok(ssdlab_nand::Outcome::Done));
                    journal.row_ended(op.block(), op.page());
                }
            }
        }
        all
    }

    /// Eight blocks of four pages of one unit.
    fn small_die() -> DieSpec {
        DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 8,
            pages_per_block: 4,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        })
    }

    #[test]
    fn a_block_that_has_been_replaced_is_never_touched_again() {
        let die = small_die();
        let layout = Layout::new(&die, 2, 8);
        let mut medium = Medium::new(&die, layout.clone(), TagFormat::new(100), &Rng::new(1));
        let mut journal = Journal::new(
            vec![
                vec![BlockId::new(0), BlockId::new(8)],
                vec![BlockId::new(1), BlockId::new(9)],
                vec![BlockId::new(2), BlockId::new(10)],
            ],
            &layout,
            Checkpoints::Round(Round::new(1, 1)),
        );
        write(&mut journal, &mut medium, 11);
        // Block 9 is half written when it goes bad; block 15 takes its place and what it holds.
        medium.mark_bad(BlockId::new(9));
        for page in 0..medium.issued_pages(BlockId::new(9)) {
            medium.copy_row(BlockId::new(9), BlockId::new(15), page).expect("it is fresh");
            medium.begin_program(BlockId::new(15), page).expect("it is the next of its block");
            assert_eq!(medium.finish_program(BlockId::new(15), page), Ok(ssdlab_nand::Outcome::Done));
        }
        journal.replace(BlockId::new(9), BlockId::new(15));
        let ops = write(&mut journal, &mut medium, 60);
        assert!(ops.iter().all(|op| op.block() != BlockId::new(9)));
        assert!(ops.iter().any(|op| op.block() == BlockId::new(15) && op.kind() == OpKind::Erase));
    }

    #[test]
    fn what_a_cut_finds_in_no_row_of_journal_goes_into_the_next_and_a_piece_that_it_undid_is_written_again() {
        let die = small_die();
        let layout = Layout::new(&die, 1, 8);
        let mut medium = Medium::new(&die, layout.clone(), TagFormat::new(100), &Rng::new(1));
        let ring = (0..4).map(|block| vec![BlockId::new(block)]).collect();
        let mut journal = Journal::new(ring, &layout, Checkpoints::Round(Round::new(3, 1)));
        let first = write(&mut journal, &mut medium, 2);
        assert_eq!(first.len(), 2, "a row of journal and the first piece");
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        journal.note(700, &mut medium, &mut ops);
        assert_eq!((journal.rows_to_read(), ops.len()), ((2, 2), 2));
        medium.cut_power(&[]);
        journal.cut_power();
        assert_eq!((journal.entries, journal.owed), (188, [1, 1]));
        assert!(journal.is_sound(100, SequenceNumber::new(1000)));
        assert_eq!(journal.recover(&medium), []);
        ops.clear();
        journal.resume(&mut medium, &mut ops);
        // Rows of one unit do not say on flash which piece they hold.
        assert_eq!(journal.under_way, [(BlockId::new(0), 2, None), (BlockId::new(0), 3, Some(1))]);
        journal.note(324, &mut medium, &mut ops);
        assert_eq!((journal.entries, journal.rows_begun), (0, 3));
    }

    #[test]
    fn a_row_is_written_with_the_entry_that_fills_it() {
        let die = small_die();
        let layout = Layout::new(&die, 1, 8);
        let mut medium = Medium::new(&die, layout.clone(), TagFormat::new(100), &Rng::new(1));
        let mut journal = Journal::new(
            vec![vec![BlockId::new(0)], vec![BlockId::new(1)], vec![BlockId::new(2)]],
            &layout,
            Checkpoints::Never(1),
        );
        let mut ops: Vec<(DieId, FlashOp)> = Vec::new();
        journal.note(511, &mut medium, &mut ops);
        assert_eq!(journal.rows_written(), 0);
        journal.note(1, &mut medium, &mut ops);
        assert_eq!(journal.rows_written(), 1);
        journal.note(1024, &mut medium, &mut ops);
        assert_eq!((journal.rows_written(), journal.entries), (3, 0));
        // A trim does not wait for the others that fill its row.
        journal.save_trims(&mut medium, &mut ops);
        assert_eq!(journal.rows_written(), 3, "there is none");
        journal.note_trim(Trim {
            pages: LogicalPage::new(3).run(1),
            before_row: SequenceNumber::new(1),
            held: Held::default(),
        });
        journal.note(1, &mut medium, &mut ops);
        journal.save_trims(&mut medium, &mut ops);
        assert_eq!((journal.rows_written(), journal.entries, journal.trims().any_pending()), (4, 0, false));
    }
}
