//! One file a command.

pub mod attach;
pub mod calibrate;
pub mod check;
pub mod claims;
pub mod compare;
pub mod ctl;
mod forecast;
pub mod image;
pub mod list;
pub mod manual;
pub mod predict;
pub mod replay;
pub mod review;
pub mod run;
pub mod schema;
pub mod sensitivity;
pub mod show;
pub mod sweep;
pub mod test;
pub mod torture;
