//! The bytes of a device, against plain oracles.

mod fake;
mod images;
mod oracle;
