//! Fuzzing of parsers without a compiler of its own: valid files, spoiled at random but repeatably, case by case.
//!
//! A case is one mutant of a corpus. [`fuzz`] hands mutants to a target and catches its panics; what it has found it
//! makes as small as it can before telling it. [`memory`] sees to it that no case allocates absurdly much, and a
//! case that hangs ends the program with its input shown.
//!
//! The targets, one a parser, are in this crate's tests: `cargo test -p ssdlab-fuzz` for seconds, `make fuzz` for
//! millions of cases. What they found is kept, by its smallest input, in the tests of the parser concerned.
//!
//! ```
//! use ssdlab_fuzz::{Fuzz, fuzz};
//! let found = fuzz(&Fuzz { seed: 1, cases: 2000, corpus: vec![b"a = 1\nb = 2\n".to_vec()] }, &|input| {
//!     assert!(!input.contains(&0), "a nul byte");
//!     Ok(())
//! });
//! assert!(found.unwrap().what.contains("a nul byte"));
//! ```

mod hunt;
pub mod memory;
mod mutate;

pub use hunt::{Found, Fuzz, fuzz};
pub use mutate::mutate;
