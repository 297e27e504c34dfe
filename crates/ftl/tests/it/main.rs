//! What the translation layer promises.

mod power_cuts;
mod properties;
mod rig;
