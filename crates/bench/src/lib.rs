//! The tests of the bench. Each prepares a device, runs a workload, measures, and returns an [`Outcome`].

mod outcome;

pub use outcome::{Axis, Chart, Mark, Metric, Outcome, Series, SlowIo, TimeShare, Verdict, cause_labels, op_name};
