//! The command line, through the program itself.

mod run_and_replay;
mod sweep;
mod transcripts;
