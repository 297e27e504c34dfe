//! What the translation layer promises.

mod properties;
mod rig;
