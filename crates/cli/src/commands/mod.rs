//! One file a command.

pub mod list;
pub mod manual;
pub mod show;
