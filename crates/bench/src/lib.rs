//! The test bench: it keeps a device busy the way a host would, measures it, and says where the time went.
//!
//! - [`host`] drives a device: a closed loop with queue depths, an open loop with arrival times, and what prepares a
//!   device for a test.
//! - [`measure`] holds the meters. What is not measured costs nothing.
//! - [`suite`] holds the tests of the classic reviews, one file each, to their published parameters. What nobody
//!   published is a parameter too, and its documentation says so.
//! - [`fio_run`] runs fio job files and reports as fio does.
//! - [`replay`] replays block traces.
//! - [`plan`] runs many tests on many devices on all cores, with the same bytes out at any number of threads.
//! - [`specimens`] makes a band of several drives of one model.
//! - [`explain`] turns time breakdowns into words.
//! - [`model`] is a device of a few lines, known in closed form, against which all of this is proven.
//!
//! The bench knows nothing of flash. Whatever implements [`ssdlab_device::Device`] can be tested, and a [`Lab`] makes
//! as many of them as a test needs. It never looks at the clock or at the environment, and what it cannot trust it
//! refuses: a device that loses a command, misdates a completion, leaves time without a cause or whose books do not
//! balance fails the test, loudly.
//!
//! # Limits
//! Requests that fail end a test: endurance beyond the first error is not measured here. A cancelled test has no
//! outcome. One host, one device at a time.
//!
//! # Example
//! One test of the suite, on the model device:
//! ```
//! use ssdlab_bench::{Monitor, model::ModelSpec, suite};
//!
//! let lab = ModelSpec::default(); // 8 ways, reads of 100 us
//! let test = suite::find_test("random-read")?;
//! let settings = [("seconds", "2"), ("queue_depth", "4")].map(|(k, v)| (k.to_owned(), v.to_owned()));
//! let outcome = suite::run_test(test, &lab, &settings, 1, false, &Monitor::silent())?;
//! assert_eq!(outcome.metrics["iops"].value, 40_000.0);
//! assert_eq!(outcome.metrics["latency_max"].value, 100.0);
//! # Ok::<(), ssdlab_bench::BenchError>(())
//! ```
//! A workload of one's own, with the meters one wants:
//! ```
//! use ssdlab_bench::host::{Host, Job};
//! use ssdlab_bench::measure::{Measurement, PerSecond};
//! use ssdlab_bench::{Monitor, model::{ModelDevice, ModelSpec}};
//! use ssdlab_core::{Rng, SECOND};
//! use ssdlab_workload::Pattern;
//!
//! let (mut device, monitor) = (ModelDevice::new(ModelSpec::default()), Monitor::silent());
//! let mut host = Host::new(&mut device, &monitor);
//! host.fill(0, 64_000_000 / 4096 * 4096, 131_072, 1, &mut ())?;
//! let reads = Pattern::random_read(32_000_000 / 4096 * 4096, 4096).build(&Rng::new(1))?;
//! let mut meters = (PerSecond::default(), Measurement::default());
//! host.run(&mut [Job::new(reads, 32).for_nanos(3 * SECOND)], &mut meters)?;
//! assert_eq!(meters.0.iops(), [80_000.0; 3]);
//! host.check_books()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change_points;
mod claim_kind;
mod error;
pub mod explain;
pub mod fio_run;
pub mod host;
mod lab;
pub mod measure;
pub mod model;
mod monitor;
mod outcome;
mod params;
pub mod plan;
pub mod replay;
pub mod specimens;
pub mod suite;
pub mod wear_watch;

pub use claim_kind::ClaimKind;
pub use error::{BenchError, HostError};
pub use lab::{Begins, Lab, PoweredOn};
pub use monitor::Monitor;
pub use outcome::{
    Axis, Chart, Mark, Metric, NotSteady, Outcome, SHARE_BELOW, Series, SlowIo, Table, TimeShare, Unsettled, Verdict,
    cause_labels,
};
pub use params::{Kind, ParamDef, ParamError, Params, Value, parse_bytes, parse_settings};
pub use suite::tail::{latency_at, percentile_of};
