//! The drive as a SCSI logical unit, without sockets and without a transport: commands in, data, status and sense out.
//!
//! As SPC-4, SBC-3 and SAT-3 have it: the unit shows itself as a SATA drive behind a translation. What it does not know
//! ends with ILLEGAL REQUEST. Reservations are not known.

mod ata;
mod cdb;
mod identity;
mod operations;
mod pages;
mod sense;
mod task;
mod unit;
pub mod words;

pub use sense::{AtaReturn, Sense};
pub use task::{Answer, Progress, Task};
pub use unit::{Command, LogicalUnit};

/// Data that a command can bring along.
pub const MOST_DATA_BYTES: u64 = identity::MOST_TRANSFER_BYTES;
