//! The simulated drive against theory: formulas, the experiments that put a drive into the state they speak of, and the
//! tables of `docs/theory.md`.
//!
//! - [`formulas`]: write amplification of uniform writes
//! - [`temperature`]: the same of hot and cold data
//! - [`bare_map`]: a page map without time, where there is no formula
//! - [`log_blocks`]: merges of drives that translate by blocks
//! - [`queueing`]: reads over queue depth, and reads that arrive at random
//! - [`rig`]: drives that theory can speak of, the host that drives them, and what it measured
//! - [`measure`]: the experiments
//! - [`point`]: one value of theory with its experiment, also as text (`greedy:op=15,b=1024`)
//! - [`tables`]: the page

pub mod bare_map;
pub mod formulas;
pub mod log_blocks;
pub mod measure;
pub mod point;
pub mod queueing;
pub mod rig;
pub mod tables;
pub mod temperature;
