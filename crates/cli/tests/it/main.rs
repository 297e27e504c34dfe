//! The command line, through the program itself.

mod attached;
mod examples;
mod fio;
mod first_sight;
mod image_space;
mod images;
mod killed;
mod program;
mod quick_against_full;
mod real_drives;
mod run_and_replay;
mod saved;
mod sweep;
mod timelines;
mod transcripts;
