//! Devices made of devices, drawn from a seed: sets, ranges and adapters over drives and disks, and a host that checks
//! where its sectors go.
//!
//! Where every sector of the host belongs is a table, made by dealing stripes out like cards; it shares no code with the
//! arrays. Every drive and disk is watched: what it is asked to write, read and trim must be what the table says. Behind
//! a cache, a sector may be written later and less often than the host wrote it, but after a flush not before the host's
//! last write of it; and what was never written must be read where it lives. A copy that is made on the way and polled in
//! another manner must give the same answers.
//!
//! Another host pulls the plug of such devices (`power_cuts`).

mod host;
mod plan;
mod power_cuts;
mod watched;

use ssdlab_core::Rng;
use ssdlab_device::Device;
use ssdlab_nand::SpecError;

use crate::case::Case;
use crate::subject::Subject;
use crate::tally::Tally;
use host::Host;
pub use plan::Plan;
pub use power_cuts::cut_composed;

/// Whether the device of this seed is made of devices: one in nine.
#[must_use]
pub fn is_composed(seed: u64) -> bool {
    seed.is_multiple_of(9)
}

/// The same of runs with power cuts.
#[must_use]
pub fn is_composed_to_cut(seed: u64) -> bool {
    seed % 9 == 5
}

/// Puts something between a device and its member; tests put something broken there.
pub type Between<'a> = &'a dyn Fn(Box<dyn Device>) -> Box<dyn Device>;

/// Runs the device of `seed`, of drives that `build` makes.
///
/// # Errors
/// The first thing that is wrong, with the phase in which it was found.
///
/// # Panics
/// If the device does: its own assertions are part of what is tortured.
pub fn run_composed<S: Subject + 'static>(
    seed: u64,
    build: &impl Fn(&Case) -> Result<S, SpecError>,
    between: Between<'_>,
) -> Result<Tally, String> {
    let plan = Plan::draw(&mut Rng::new(seed).stream("composed"));
    let built = plan.build(build, between)?;
    let mut tally = Tally::default();
    tally.composed(plan.kinds());
    let mut host = Host::new(built, seed);
    host.go_through_phases()?;
    tally.host_commands = host.commands();
    tally.phases = host.phases();
    tally.copies = host.copies();
    Ok(tally)
}
