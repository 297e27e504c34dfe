//! Which piece of the map is written out next. A piece fills one row.

use serde::{Deserialize, Serialize};
use ssdlab_nand::LogicalPage;

/// See the module's own page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Checkpoints {
    /// The map is on flash anyway. The ring is as long as for checkpoints of so many pieces.
    Never(u32),
    Round(Round),
    Changed(Changed),
}

/// One piece after the other, whether it has changed or not: one for every so many rows of journal. The journal that a
/// recovery replays is the longer the larger the drive is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Round {
    interval: u32,
    pieces: u32,
    next: u32,
    journal_rows: u32,
}

/// What has changed, within so many rows of journal: the journal that a recovery replays has the same length on any drive, and
/// what checkpoints cost follows the span of the writes. In turns: what has changed when a turn begins is written
/// evenly over its rows, and a recovery replays two turns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Changed {
    pages_per_piece: u32,
    limit_rows: u32,
    pieces: Vec<Piece>,
    /// Written in this turn, the last one first.
    due: Vec<u32>,
    journal_rows: u32,
    /// Pieces with each row of journal.
    each: u32,
    /// Of those due, how many were promised and wait for the ring.
    promised: u32,
    /// Written in this turn and in the one before: a power cut may have undone it.
    fresh: [Vec<u32>; 2],
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Piece {
    changed: bool,
    /// Rows that the ring had had when it was written last; 0: never, and nothing is there.
    written_at: u64,
}

impl Round {
    /// For so many pieces, one after every `interval` rows of journal.
    #[must_use]
    pub fn new(pieces: u32, interval: u32) -> Self {
        Round { interval: interval.max(1), pieces, next: 0, journal_rows: 0 }
    }
}

impl Changed {
    /// For so many pieces of so many pages each.
    #[must_use]
    pub fn new(pieces: u32, pages_per_piece: u32, limit_rows: u32) -> Self {
        Changed {
            pages_per_piece,
            limit_rows: limit_rows.max(2),
            pieces: vec![Piece::default(); pieces as usize],
            due: Vec::new(),
            journal_rows: 0,
            each: 0,
            promised: 0,
            fresh: [Vec::new(), Vec::new()],
        }
    }

    fn turn_rows(&self) -> u32 {
        self.limit_rows / 2
    }

    /// Rows that the ring may have after a piece before that is written again, changed or not.
    fn oldest_rows(&self) -> u64 {
        self.pieces.len() as u64 + u64::from(self.limit_rows)
    }

    /// Pieces that are due and not promised yet.
    fn left(&self) -> u32 {
        self.due.len() as u32 - self.promised
    }

    fn begin_turn(&mut self, ring_rows: u64) {
        self.fresh.swap(0, 1);
        self.fresh[0].clear();
        let oldest = self.oldest_rows();
        let of = |(number, piece): (u32, &Piece)| {
            let old = piece.written_at > 0 && ring_rows - piece.written_at > oldest;
            (piece.changed || old).then_some(number)
        };
        // Those still promised are among them: they are marked until they are written.
        self.due = (0..).zip(&self.pieces).filter_map(of).collect();
        self.due.iter().for_each(|&piece| self.pieces[piece as usize].changed = true);
        self.due.reverse();
        self.each = self.left().div_ceil(self.turn_rows());
    }
}

impl Checkpoints {
    /// Whether these are checkpoints of the same map.
    #[must_use]
    pub fn is_shaped_like(&self, other: &Checkpoints) -> bool {
        match (self, other) {
            (Checkpoints::Never(own), Checkpoints::Never(others)) => own == others,
            (Checkpoints::Round(own), Checkpoints::Round(other)) => {
                (own.pieces, own.interval) == (other.pieces, other.interval) && own.next < own.pieces.max(1)
            }
            (Checkpoints::Changed(own), Checkpoints::Changed(other)) => {
                let shape = |c: &Changed| (c.pages_per_piece, c.limit_rows, c.pieces.len());
                let known = |&piece: &u32| (piece as usize) < own.pieces.len();
                shape(own) == shape(other) && own.due.iter().chain(own.fresh.iter().flatten()).all(known)
            }
            _ => false,
        }
    }

    /// Pieces of the map.
    #[must_use]
    pub fn pieces(&self) -> u32 {
        match self {
            Checkpoints::Never(pieces) => *pieces,
            Checkpoints::Round(round) => round.pieces,
            Checkpoints::Changed(changed) => changed.pieces.len() as u32,
        }
    }

    /// Whether no piece has been written after more rows than the ring has had, and no turn is longer than it may be.
    #[must_use]
    pub fn is_sound(&self, ring_rows: u64) -> bool {
        match self {
            Checkpoints::Never(_) => true,
            Checkpoints::Round(round) => round.journal_rows < round.interval,
            Checkpoints::Changed(changed) => {
                changed.journal_rows < changed.turn_rows()
                    && changed.pieces.iter().all(|piece| piece.written_at <= ring_rows)
            }
        }
    }

    /// Rows of a ring that hold every piece twice, and the journal meanwhile.
    #[must_use]
    pub fn ring_rows(&self) -> u32 {
        match self {
            Checkpoints::Never(pieces) => 4 * pieces,
            Checkpoints::Round(round) => round.pieces.saturating_mul(2 * (1 + round.interval)),
            // A turn may begin just before a piece is old, and end with it.
            Checkpoints::Changed(changed) => 3 * (changed.pieces.len() as u32 + changed.limit_rows),
        }
    }

    /// Rows of map, and of journal, that a recovery reads at most after so many rows of journal: of each piece the last one, and
    /// the journal since the oldest of them. Without checkpoints it is for the map on flash to say how much less it is.
    #[must_use]
    pub fn rows_to_read(&self, journal_rows: u64) -> (u32, u32) {
        let at_most = |rows: u32| u64::from(rows).min(journal_rows) as u32;
        match self {
            Checkpoints::Never(_) => (0, at_most(u32::MAX)),
            Checkpoints::Round(round) => {
                let written = (journal_rows / u64::from(round.interval)).min(round.pieces.into()) as u32;
                (written, at_most(round.pieces.saturating_mul(round.interval)))
            }
            Checkpoints::Changed(changed) => {
                let written = changed.pieces.iter().filter(|piece| piece.written_at > 0).count();
                // What changed in the turn before is not on flash for certain before this one ends.
                (written as u32, at_most(changed.turn_rows() + changed.journal_rows))
            }
        }
    }

    /// Whether [`Checkpoints::mark`] has to be called.
    #[must_use]
    pub fn follows_changes(&self) -> bool {
        matches!(self, Checkpoints::Changed(_))
    }

    /// The map has changed for a page.
    #[inline]
    pub fn mark(&mut self, page: LogicalPage) {
        if let Checkpoints::Changed(changed) = self {
            changed.pieces[(page.number() / changed.pages_per_piece) as usize].changed = true;
        }
    }

    /// A row of journal is written, after `ring_rows` of all kinds; returns how many pieces follow it.
    pub fn journal_row(&mut self, ring_rows: u64) -> u32 {
        match self {
            Checkpoints::Never(_) => 0,
            Checkpoints::Round(round) => {
                round.journal_rows += 1;
                let due = round.journal_rows >= round.interval;
                if due {
                    round.journal_rows = 0;
                }
                u32::from(due)
            }
            Checkpoints::Changed(changed) => {
                if changed.journal_rows == 0 {
                    changed.begin_turn(ring_rows);
                }
                changed.journal_rows = (changed.journal_rows + 1) % changed.turn_rows();
                let promised = changed.each.min(changed.left());
                changed.promised += promised;
                promised
            }
        }
    }

    /// The piece that is written now, after `ring_rows` of all kinds.
    pub fn next_piece(&mut self, ring_rows: u64) -> u32 {
        match self {
            Checkpoints::Never(_) => unreachable!("no piece was promised"),
            Checkpoints::Round(round) => {
                let piece = round.next;
                round.next = (piece + 1) % round.pieces;
                piece
            }
            Checkpoints::Changed(changed) => {
                changed.promised -= 1;
                let piece = changed.due.pop().expect("as many were promised as are due");
                changed.pieces[piece as usize] = Piece { changed: false, written_at: ring_rows + 1 };
                changed.fresh[0].push(piece);
                piece
            }
        }
    }

    /// A power cut has kept the row of a piece from being; of several, the one written last comes first. Returns whether the
    /// piece is promised again.
    pub fn undone(&mut self, piece: u32) -> bool {
        match self {
            Checkpoints::Never(_) => unreachable!("no piece was written"),
            Checkpoints::Round(round) => {
                round.next = piece;
                true
            }
            Checkpoints::Changed(changed) => {
                changed.pieces[piece as usize].changed = true;
                let again = !changed.due.contains(&piece);
                if again {
                    changed.due.push(piece);
                    changed.promised += 1;
                }
                again
            }
        }
    }

    /// The power went. The turn goes on where it was, as rows of journal and of pieces tell: if it began anew with each cut, a
    /// drive that is cut often would never come to its last pieces.
    pub fn recover(&mut self) {
        if let Checkpoints::Changed(changed) = self {
            // Rows of these may have been destroyed. What the journal says that is on flash is marked as it was.
            for piece in changed.fresh.iter_mut().flat_map(std::mem::take) {
                changed.pieces[piece as usize].changed = true;
            }
        }
    }

    /// Whether so many pieces can be owed.
    #[must_use]
    pub fn can_owe(&self, pieces: u32) -> bool {
        match self {
            Checkpoints::Never(_) => pieces == 0,
            Checkpoints::Round(_) => true,
            Checkpoints::Changed(changed) => {
                let marked = changed.pieces.iter().filter(|piece| piece.changed).count();
                pieces == changed.promised && pieces as usize <= changed.due.len().min(marked)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of journal, with changes of so many pieces before each; returns the pieces written, by row of journal.
    fn turns(
        checkpoints: &mut Checkpoints,
        rows: u32,
        ring_rows: &mut u64,
        changes: impl Fn(u32) -> Vec<u32>,
    ) -> Vec<Vec<u32>> {
        (0..rows)
            .map(|row| {
                changes(row).into_iter().for_each(|piece| checkpoints.mark(LogicalPage::new(piece * 10)));
                let promised = checkpoints.journal_row(*ring_rows);
                *ring_rows += 1;
                (0..promised)
                    .map(|_| {
                        let piece = checkpoints.next_piece(*ring_rows);
                        *ring_rows += 1;
                        piece
                    })
                    .collect()
            })
            .collect()
    }

    #[test]
    fn pieces_come_in_turn_at_their_interval() {
        let mut round = Checkpoints::Round(Round::new(3, 2));
        let written = turns(&mut round, 8, &mut 0, |_| vec![1]);
        assert_eq!(written, [vec![], vec![0], vec![], vec![1], vec![], vec![2], vec![], vec![0]]);
        // A cut comes to a row of journal, and undoes the last two pieces: the first of them is the next.
        assert!(turns(&mut round, 1, &mut 0, |_| vec![]).concat().is_empty());
        assert!(round.undone(0) && round.undone(2));
        round.recover();
        assert_eq!(turns(&mut round, 3, &mut 0, |_| vec![]), [vec![2], vec![], vec![0]]);
    }

    #[test]
    fn a_turn_goes_on_where_a_cut_came_to_it() {
        let mut changed = Checkpoints::Changed(Changed::new(100, 10, 8));
        let mut rows = 0;
        let first = turns(&mut changed, 4, &mut rows, |row| if row == 3 { (0..8).collect() } else { vec![] });
        assert!(first.concat().is_empty());
        let mut written = Vec::new();
        for _ in 0..4 {
            written.extend(turns(&mut changed, 1, &mut rows, |_| vec![]).concat());
            changed.recover();
        }
        assert_eq!(written, (0..8).collect::<Vec<u32>>());
        // One that a cut has undone is promised at once, and one that is due anyway is not promised twice.
        assert_eq!(turns(&mut changed, 1, &mut rows, |_| vec![]).concat(), [0, 1]);
        assert!(changed.undone(1) && !changed.undone(1) && changed.can_owe(1));
        changed.recover();
        assert_eq!(changed.next_piece(rows), 1);
        assert_eq!(turns(&mut changed, 3, &mut rows, |_| vec![]).concat(), [2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn no_more_journal_is_read_than_was_written() {
        let (mut changed, mut round) =
            (Checkpoints::Changed(Changed::new(1000, 10, 8)), Checkpoints::Round(Round::new(10, 1)));
        let mut rows = [0; 2];
        for (checkpoints, rows) in [&mut changed, &mut round].into_iter().zip(&mut rows) {
            turns(checkpoints, 5, rows, |_| (0..1000).collect());
        }
        assert_eq!(rows, [5 + 1250, 10]);
        assert_eq!(changed.rows_to_read(5), (1000, 5));
        assert_eq!(changed.rows_to_read(3).1, 3);
        assert_eq!(round.rows_to_read(5), (5, 5));
    }

    #[test]
    fn what_changed_is_written_within_the_limit_and_nothing_else() {
        let mut changed = Checkpoints::Changed(Changed::new(1000, 10, 8));
        let mut rows = 0;
        let first = turns(&mut changed, 8, &mut rows, |row| if row == 1 { (100..106).collect() } else { vec![] });
        // They changed in the first turn of four rows, and are written in the second.
        assert!(first[..4].concat().is_empty());
        assert_eq!(first[4..], [vec![100, 101], vec![102, 103], vec![104, 105], vec![]]);
        assert!(turns(&mut changed, 80, &mut rows, |_| vec![]).concat().is_empty());
        let before = changed.rows_to_read(rows - 6);
        assert_eq!(before, (6, 4), "{rows} rows");
        // A turn takes the whole map if all of it has changed, and a recovery reads the same journal.
        let all = turns(&mut changed, 8, &mut rows, |row| if row == 0 { (0..1000).collect() } else { vec![] });
        assert_eq!(all[..4].concat(), (0..1000).collect::<Vec<u32>>());
        assert_eq!(changed.rows_to_read(rows - 1006), (1000, 4));
    }

    #[test]
    fn no_piece_is_older_than_the_ring_and_a_cut_writes_again_what_it_may_have_undone() {
        let mut changed = Checkpoints::Changed(Changed::new(100, 10, 8));
        let (mut rows, mut rng) = (0, ssdlab_core::Rng::new(1));
        let mut written_at = [None::<u64>; 100];
        for turn in 0..5000 {
            let busy = turn / 500 % 2 == 0;
            let some: Vec<u32> = (0..if busy { rng.below(40) } else { 1 }).map(|_| rng.below(50) as u32).collect();
            let begin = rows;
            let written = turns(&mut changed, 4, &mut rows, |row| if row == 0 { some.clone() } else { vec![] });
            written.concat().into_iter().for_each(|piece| written_at[piece as usize] = Some(begin));
            let oldest = written_at.iter().flatten().map(|at| rows - at).max().unwrap_or(0);
            assert!(oldest <= changed.ring_rows().into(), "a piece of {oldest} rows ago");
        }
        let last = turns(&mut changed, 4, &mut rows, |row| if row == 0 { vec![3, 9] } else { vec![] }).concat();
        assert!(last.contains(&3) && last.contains(&9));
        changed.recover();
        let again = turns(&mut changed, 4, &mut rows, |_| vec![]).concat();
        assert!(again.contains(&3) && again.contains(&9));
    }

    #[test]
    fn a_cut_may_have_undone_what_was_written_in_either_of_two_turns() {
        let mut changed = Checkpoints::Changed(Changed::new(100, 10, 8));
        let mut rows = 0;
        let mut turn = |changed: &mut Checkpoints, marks: &[u32]| {
            turns(changed, 4, &mut rows, |row| if row == 1 { marks.to_vec() } else { vec![] }).concat()
        };
        assert!(turn(&mut changed, &[3]).is_empty());
        assert_eq!(turn(&mut changed, &[9]), [3]);
        assert_eq!(turn(&mut changed, &[]), [9]);
        changed.recover();
        assert_eq!(turn(&mut changed, &[]), [3, 9]);
        assert!(turn(&mut changed, &[]).is_empty());
        assert!(turn(&mut changed, &[]).is_empty());
        changed.recover();
        assert!(turn(&mut changed, &[]).is_empty(), "that was too long ago");
    }
}
