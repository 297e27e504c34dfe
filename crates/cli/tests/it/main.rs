//! The command line, through the program itself.

mod quick_against_full;
mod run_and_replay;
mod sweep;
mod transcripts;
