//! Errors of flash and their correction: how many bits are wrong, what correcting them takes, and when it fails.
//!
//! - raw bit errors by wear, age, reads and bits per cell are the die's: [`ssdlab_nand::rber`]
//! - [`bch`]: BCH codes in closed form
//! - [`channel`]: what hard and soft reads tell of a cell, and the limits that no decoder passes
//! - [`ldpc`]: quasi-cyclic LDPC codes, from a table of decoded frames
//! - [`spec`]: a controller's error correction as keys of a drive file
//! - [`ladder`]: plain read, retries, soft decisions, parity: the chance and the cost of each
//! - [`endurance`]: program/erase cycles until the errors win
//!
//! A simulated drive keeps one [`ladder::Ladder`], and for each block the [`ladder::Odds`] of its present error rate.
//! They move slowly, so they are computed anew only after an erase, or when age or reads have grown by a tenth; a read then
//! costs one random number and one comparison:
//!
//! ```
//! use ssdlab_core::Rng;
//! use ssdlab_ecc::ladder::{Ladder, Level};
//! use ssdlab_ecc::spec::{BchSpec, EccSpec, RetrySpec};
//! use ssdlab_nand::CellMode;
//! use ssdlab_nand::rber::{ErrorSpec, Stress};
//!
//! let spec = EccSpec {
//!     codeword_bytes: 1024,
//!     bch: Some(BchSpec { correctable_bits: 40, decode_us: 4.0 }),
//!     ldpc: None,
//!     retry: RetrySpec { max_retries: 8, recovered_per_retry_percent: 50.0, at_once: None, follows_drift: true },
//!     parity_stripe: None,
//! };
//! let ladder = Ladder::new(&spec, 16_384)?;
//!
//! let errors = ErrorSpec::planar_estimate();
//! let mut blocks = Rng::new(1).stream("rber-block-factor");
//! let stress = Stress { cycles: 900.0, retention_hours: 8760.0, block_reads: 0.0 };
//! let tlc = errors.mode(CellMode::Tlc).unwrap();
//! let rber = tlc.rber(&stress).times(errors.block_factor(&mut blocks));
//! let odds = ladder.odds(rber);
//!
//! let mut reads = Rng::new(1).stream("read-errors");
//! let level = odds.draw(&mut reads);
//! let cost = ladder.cost(level);
//! assert_ne!(ladder.levels()[level], Level::Uncorrectable);
//! println!("{:?}: {} more sensings", ladder.levels()[level], cost.extra_senses);
//! # Ok::<(), ssdlab_nand::SpecError>(())
//! ```
//!
//! What this is not: a model of cells. Errors within a codeword are independent, one number stands for a page's error
//! rate, and data are never encoded in a simulation.

pub mod bch;
mod binomial;
pub mod channel;
pub mod endurance;
pub mod ladder;
pub mod ldpc;
mod solve;
pub mod spec;

pub use binomial::log10_tail;
