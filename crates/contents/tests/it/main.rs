//! The bytes of a device, against plain oracles.

mod erased;
mod fake;
mod images;
mod mixed;
mod oracle;
mod resumed;
mod simulated;
