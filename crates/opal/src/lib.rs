//! TCG Opal 2.0: the part of a drive that keeps passwords, and locks ranges of it.
//!
//! | to | begin at |
//! |---|---|
//! | give a drive passwords | [`Tper`] |
//! | know whether a command may touch its sectors | [`Tper::access`] |
//!
//! Bytes in, bytes out: what a host sends by TRUSTED SEND (ATA), SECURITY PROTOCOL OUT (SCSI) or Security Send (NVMe), and
//! gets by their counterparts. What that does to the data of the drive is said ([`Erased`]) and done by whoever has them.
//! What has to outlive a power cut is given out as pages and taken back ([`Tper::take_changed`], [`Tper::load`]).
//!
//! **What there is** (TCG Storage Core Specification 2.01, Opal SSC 2.01): Level 0 discovery; the session manager with
//! Properties and one session at a time, of a length that the host may choose; Get, Set, Next, GetACL, Authenticate, Random,
//! Activate, Revert, RevertSP, GenKey; transactions; the tables of both SPs; the Admin SP with SID, PSID and an administrator, the
//! Locking SP with four administrators, nine users, a global range and eight others, their locks and keys, the shadow of the
//! master boot record, a data store, and access control whose expressions can be changed; lock on reset by power cycle and
//! TPER_RESET; reset of the protocol stack.
//!
//! **What there is not:** several sessions at once, asynchronous protocol, timeouts of transactions, signing and certificates,
//! single user mode, further data stores, block SID, IEEE 1667.
//!
//! **What it protects.** A host has to know the passwords. The file of a simulated drive does not need them to be read:
//! the crate keeps PINs as salted hashes, and does not encrypt anything.

mod access;
mod aces;
mod discovery;
mod expression;
mod memory;
mod object;
mod packet;
mod ranges;
mod session;
mod sp;
mod status;
mod tokens;
mod tper;
mod uid;

pub use memory::{Identity, Reset};
pub use object::Geometry;
pub use session::Erased;
pub use tper::{Access, Checkpoint, DamagedPages, PAGE_BYTES, Page, Refused, Tper};
