//! Job files, traces and the patterns that come of them.

mod any_input;
mod application_mix;
mod job_files;
mod option_docs;
mod patterns;
mod placement;
mod storage_bench;
mod traces;
