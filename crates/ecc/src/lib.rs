//! wip
pub mod bch;
mod binomial;
pub mod channel;
pub mod ldpc;
mod solve;
pub mod spec;
pub use binomial::log10_tail;
