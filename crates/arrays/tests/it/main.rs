//! RAID 0 and adapters: how requests are split and cached, arrays of real drives, and theory.

mod adapter;
mod drives;
mod power_cuts;
mod server;
mod splits;
mod spoilt;
mod steps;
mod theory;
