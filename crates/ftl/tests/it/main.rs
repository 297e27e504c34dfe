//! What the translation layer promises.

mod collection;
mod power_cuts;
mod properties;
mod ready;
mod rig;
