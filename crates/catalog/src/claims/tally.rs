//! How many published figures of each kind ended how.

use serde::Serialize;

use super::ClaimKind;
use super::evaluate::{ClaimRow, ClaimState};

/// How many figures of a kind ended how. A repeated figure counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub met: usize,
    pub missed: usize,
    /// Of those missed, the ones that the catalog gives a reason for.
    pub missed_for_a_known_reason: usize,
    /// Not run, or the run says nothing about it.
    pub open: usize,
    pub not_simulated: usize,
}

impl Tally {
    #[must_use]
    pub fn of(rows: &[ClaimRow], kind: ClaimKind) -> Tally {
        let mut tally = Tally::default();
        for row in rows.iter().filter(|row| row.kind == kind && row.repeats.is_none()) {
            match row.state {
                ClaimState::Met => tally.met += 1,
                ClaimState::Missed => {
                    tally.missed += 1;
                    tally.missed_for_a_known_reason += usize::from(row.known_miss);
                }
                ClaimState::NotRun | ClaimState::Inconclusive => tally.open += 1,
                ClaimState::NotSimulated => tally.not_simulated += 1,
            }
        }
        tally
    }
}
