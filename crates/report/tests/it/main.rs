//! What reports hold and say.

mod common;
mod page;
mod results_json;
mod write_review;
