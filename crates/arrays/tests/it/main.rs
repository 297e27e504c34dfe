//! RAID 0: how requests are split, and arrays of real drives.

mod drives;
mod splits;
