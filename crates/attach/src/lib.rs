//! A simulated device for other programs: a server of NBD and iSCSI that answers at the drive's own pace.
//!
//! | to | begin at |
//! |---|---|
//! | serve a device | [`Server`] with a [`Drive`] |
//! | read or write a protocol | [`nbd`], [`iscsi`] with the commands of [`scsi`] |
//! | add a protocol | [`client::Client`] |
//! | run a command against it | [`captive`] |
//! | pull its plug from another process | [`Order`] |
//!
//! The clock of the machine drives the clock of the drive ([`Clock`]), as it is or slowed down. One thread owns the
//! device, the sockets and the time. A request gets the drive's time at which it was read; its reply leaves when the
//! drive's clock has passed the completion. How late that was is measured for every reply, and told.
//!
//! **Limits.** [`Limits`]: connections, requests and bytes under way, times. Requests are whole sectors. What a client
//! does wrong ends its own connection.

mod blame;
mod came_back;
pub mod captive;
pub mod client;
mod clock;
mod connection;
mod control;
mod cuts;
mod drive;
mod export;
mod health;
mod input;
pub mod iscsi;
mod limits;
mod lock;
pub mod nbd;
pub mod output;
pub mod request;
pub mod scsi;
mod server;
mod settling;
mod slow_beyond;
mod stand_by;
mod status;
mod stream;

pub use clock::Clock;
pub use control::Order;
pub use cuts::CutPlan;
pub use drive::Drive;
pub use export::{Export, serial};
pub use limits::Limits;
pub use lock::Lock;
pub use server::{OnCut, Protocol, Server, ServerOptions, Snapshots};
pub use status::{CONTROL_PATIENCE, Statistics, lateness_line, lateness_warning};
pub use stream::{Listener, Stream};
