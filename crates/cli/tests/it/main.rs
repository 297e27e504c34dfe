//! The command line, through the program itself.

mod first_sight;
mod run_and_replay;
mod sweep;
mod transcripts;
