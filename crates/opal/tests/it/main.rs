//! The drive's end of TCG Opal, as a host meets it.
#![allow(clippy::single_range_in_vec_init)] // Lists of ranges of sectors, some of them with one.

mod host;
mod life;
mod rights;
mod tables;
mod wire;
