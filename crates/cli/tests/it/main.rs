//! The command line, through the program itself.

mod claims;
mod fio;
mod first_sight;
mod images;
mod quick_against_full;
mod run_and_replay;
mod sweep;
mod transcripts;
