//! Fleets: thousands of drives of several models over years.
//!
//! No drive of a fleet is simulated write by write: a drive's *life* ([`Life`]) is measured once for each model and class
//! of work, by the fast-forward that the test `endurance` uses. [`Fleet`] then draws every drive (model, class, how busy
//! it is, how old, how warm) from a random stream of its own, and reads its wear, write amplification, latencies and
//! losses off the life of its kind, quarter by quarter. [`live`] does live through it, write by write: it is what the
//! fast way is checked against.
//!
//! # Limits
//! - Drives of one kind differ by how much they write, not by how: specimens of one model wear alike, which is checked.
//! - Data are as old as the time in which the host writes all of them once; firmware that refreshes old data is not modelled.
//! - A trace is replayed in order and again from its beginning, as soon as there is room: its times are not used.
//! - Latencies are those of a host that keeps its queue full, and of data that are not old.
//! - A drive is lost with its first uncorrectable read. Electronics that fail are a rate that is given.

mod class;
mod fleet;
mod life;
mod summary;
mod trace;

pub use class::{Class, Task};
pub use fleet::{Drawn, Fleet, FleetSpec, QUARTER_DAYS, QuarterRow, State};
pub use life::{Life, LifePoint, RETENTION_HOURS, life, live};
pub use summary::{Summary, YearRow};
pub use trace::TracedWork;

/// Changes with the code that measures lives: one that was kept is found again only by the same.
#[must_use]
pub fn fingerprint() -> String {
    let code = concat!(include_str!("class.rs"), include_str!("life.rs"), include_str!("trace.rs"));
    format!("{:016x}", ssdlab_core::Fnv1a::of(code.as_bytes()))
}
