//! The bytes of a device, against plain oracles.

mod fake;
mod images;
mod mixed;
mod oracle;
mod resumed;
mod simulated;
