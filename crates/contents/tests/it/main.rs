//! The bytes of a device, against plain oracles.

mod fake;
mod images;
mod oracle;
mod resumed;
mod simulated;
