//! fio job files: the language in which storage people describe a load.
//!
//! A job file is parsed into a typed [`JobFile`]; each [`Job`] then makes its [`JobSource`] for a drive of a given
//! capacity. One table ([`option_table`]) drives the parser, its error messages and the help text. Options that
//! concern the host's software (files, buffers, logs) are ignored and named in one notice, those that name streams in
//! another ([`JobFile::notices`]); any option that is in no list is an error with its line and the nearest known name.
//!
//! Where fio's manual and fio's code differ, the code is followed. What differs from fio:
//!
//! - Random numbers are ssdlab's own, so offsets are not fio's one by one; their distribution is.
//! - A run is always repeatable; `randrepeat=0` changes the order from pass to pass, not from run to run (use another seed).
//! - A mixed job whose reads and writes have different smallest sizes draws its blocks with replacement, as with
//!   `norandommap`; fio keeps a map.
//! - In sequence, a block that does not fit before the end of the span is left out; fio lets the last one run over it where
//!   the file goes on.
//! - Where blocks may come twice, `verify` reads in rising order and in the smallest block size what was written; fio each
//!   write in its own, without those that a later one overlaps. What it reads counts towards `io_size` where blocks are of one
//!   size and come once in a pass.
//! - `${VARIABLE}` has the values that the caller gives; a variable without one is an error.
//! - `verify` reads what was written; the bytes are not simulated, but a tag for each 4 KiB is, and compared.
//!
//! ```
//! use ssdlab_core::Rng;
//! use ssdlab_workload::{Source, fio::JobFile};
//!
//! let file = JobFile::parse("demo.fio", "
//! [global]
//! ioengine=libaio
//! direct=1          ; ignored, with a notice
//! bs=4k
//! [writer]
//! rw=randwrite
//! size=25%
//! iodepth=32
//! ")?;
//! assert_eq!(file.notices().len(), 1);
//! let mut source = file.jobs[0].source(128_000_000_000, (0, 0), &Rng::new(1))?;
//! let command = source.next().unwrap();
//! assert!(command.offset_bytes < 32_000_000_000);
//! # Ok::<(), ssdlab_workload::fio::JobFileError>(())
//! ```

mod engine;
mod error;
mod fit;
mod job;
mod options;
mod parse;
mod source;
mod units;
mod values;
mod written;

pub use engine::{Engine, EngineKind};
pub use error::JobFileError;
pub use fit::Span;
pub use job::{
    Amount, ExitWhat, Job, JobFile, Logs, MAX_CLONES, MAX_IN_FLIGHT, RandomDistribution, Rw, SteadyMetric, SteadyState,
    Unified, Verify,
};
pub use options::{OptionInfo, OptionUse, option_table};
pub use parse::Variables;
pub use source::JobSource;
