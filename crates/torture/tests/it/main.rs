//! Torture finds bugs that are put in on purpose, and does not find those that were mended.

mod composed;
mod finds_bugs;
mod nonsense;
mod power_cuts;
mod seeds_that_once_failed;
mod until_one_fails;
