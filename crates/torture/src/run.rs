//! One run: a case, a host, phases, and the books after each.

use ssdlab_core::Rng;
use ssdlab_nand::SpecError;

use crate::case::Case;
use crate::composed::{cut_composed, is_composed, is_composed_to_cut, run_composed};
use crate::host::Host;
use crate::phase::Phase;
use crate::power_cuts::cut_again_and_again;
use crate::subject::{Facts, Subject};
use crate::tally::Tally;

/// What a run is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Everything but power cuts.
    #[default]
    Work,
    PowerCuts,
}

/// Whether so many blocks are bad, and some of them since the drive was new, that a die may have used up its reserve.
fn has_no_good_block_left(case: &Case, facts: &Facts) -> bool {
    let reserve = case.die.geometry.blocks_per_plane * case.drive.mapping.reserved_blocks_per_1000 / 1000;
    facts.ftl.program_failures + facts.ftl.erase_failures > 0 && facts.bad_blocks > reserve.into()
}

/// Runs the case of `seed` on the drive that `build` makes of it, or on a device of several.
///
/// # Errors
/// The first thing that is wrong, with the phase in which it was found.
///
/// # Panics
/// If the drive does: its own assertions are part of what is tortured.
pub fn run<S: Subject + 'static>(
    kind: Kind,
    seed: u64,
    build: &impl Fn(&Case) -> Result<S, SpecError>,
) -> Result<Tally, String> {
    if kind == Kind::PowerCuts && is_composed_to_cut(seed) {
        return cut_composed(seed, build, &|device| device);
    }
    if kind == Kind::PowerCuts {
        return cut_again_and_again(&Case::draw_for_power_cuts(seed), build);
    }
    if is_composed(seed) {
        return run_composed(seed, build, &|device| device);
    }
    let case = Case::draw(seed);
    let drive = build(&case).map_err(|e| format!("a drive that passed its own check cannot be built: {e}"))?;
    let mut tally = Tally::default();
    tally.case(&case);
    let mut host = Host::new(drive, seed, case.drive.ecc.is_some());
    let mut calendar = Rng::new(seed).stream("calendar");
    let phases = Phase::draw(&mut Rng::new(seed).stream("phases"));
    for (k, phase) in phases.iter().enumerate() {
        let read_only = host.drive.is_read_only();
        let at = |e: String| format!("phase {} ({}): {e}", k + 1, phase.name());
        phase.run(&mut host).map_err(at)?;
        // Sometimes what is buffered stays where it is.
        if host.rng.chance(1, 2) { host.flush() } else { host.drain() }.map_err(at)?;
        host.check().map_err(at)?;
        if host.drive.is_read_only() && !has_no_good_block_left(&case, &host.drive.facts()) {
            return Err(at("a drive with good blocks in reserve has become read-only".to_owned()));
        }
        tally.phase(*phase);
        host.shelve(&mut calendar);
        // One phase shows that it refuses and loses nothing; more show no more.
        if read_only {
            break;
        }
    }
    let length = [1, 4, 32][host.rng.below(3) as usize] * ssdlab_core::UNIT_BYTES;
    let last = |e: String| format!("reading all at the end: {e}");
    host.read_quietly(8, length, case.moves_beside_reads()).map_err(last)?;
    host.check().map_err(last)?;
    tally.host_commands = host.commands;
    tally.refused_commands = host.refused;
    tally.uncorrectable_commands = host.uncorrectable;
    tally.drive(&host.drive.facts());
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_may_be_read_only_once_a_die_can_have_used_up_its_reserve() {
        let mut case = Case::draw(1);
        case.die.geometry.blocks_per_plane = 100;
        case.drive.mapping.reserved_blocks_per_1000 = 20;
        let with = |program_failures, bad_blocks| {
            let mut facts = Facts { bad_blocks, ..Facts::default() };
            facts.ftl.program_failures = program_failures;
            has_no_good_block_left(&case, &facts)
        };
        assert!(with(1, 3) && !with(1, 2) && !with(0, 3));
    }
}
