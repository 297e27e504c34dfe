//! Torture: drives, hosts and faults drawn from a seed, run against a plain oracle of what the host wrote.
//!
//! One *run* in nine is a device made of devices: see [`run_composed`]. Every other is one small drive (geometry, policies, controller: [`Case`]), a host that goes through a few phases
//! (random, sequential, hot and cold, trims, flushes, unaligned writes, idling, SECURITY ERASE …), and faults (bad
//! blocks from the factory, blocks that go bad in use, spare areas and buffers as small as a drive file may make
//! them). After every phase the books are checked: the drive's own (map against spare areas, valid counts, Little's
//! law), and those that the host keeps beside it, which share no code with the drive ([`Oracle`], [`Ledger`]).
//!
//! A *campaign* is many runs on all cores. The same seed gives the same report at any number of threads; a run that
//! fails, by an error or a panic, is reported with the seed that repeats it alone.
//!
//! ```
//! use ssdlab_torture::{Campaign, build_ssd, torture};
//! let report = torture(&Campaign { seed: 1, runs: 3, threads: 1, ..Campaign::default() }, &build_ssd, &|_| true);
//! assert!(report.failures.is_empty());
//! assert_eq!(report.tally.runs, 3);
//! ```
//!
//! Another kind of campaign ([`Kind::PowerCuts`]) pulls the plug after every phase and in the middle of others, also while
//! the drive is starting, and compares what is there with what the host was promised; [`cut_specimens`] does so with small
//! drives that have the keys of given ones. One run in nine of those, too, is a device made of devices ([`cut_composed`]).
//!
//! Limits: drives of a few thousand mapping units, so that a run takes milliseconds.

mod campaign;
mod case;
mod choices;
mod composed;
mod cut_model;
mod draw;
mod errors;
mod host;
mod ledger;
mod losses;
mod oracle;
mod phase;
mod power_cuts;
mod run;
mod specimen;
mod subject;
mod tally;

pub use campaign::{Campaign, Failure, Report, cut_specimens, run_seed, torture};
pub use case::Case;
pub use composed::{Between, Plan, cut_composed, is_composed, is_composed_to_cut, run_composed};
pub use ledger::Ledger;
pub use oracle::Oracle;
pub use phase::Phase;
pub use run::{Kind, run};
pub use specimen::Original;
pub use subject::{Facts, Subject, build_ssd, build_ssd_with_fault, build_ssd_with_log_block_fault};
pub use tally::Tally;
