//! Sweeps: many drives, made of one by changing keys, through tests; one tidy table out.
//!
//! A [`Plan`] is read from a TOML file (`docs/sweeps.md`). [`sweep`] runs the points that a [`Store`] does not have
//! yet, on all cores, and keeps each as it ends. [`Table`] puts them in the plan's order, whatever order they were
//! run in, and [`write_results`] writes the table and a page of charts.
//!
//! Every point is a simulation of its own: figures do not depend on the number of threads, on what was interrupted,
//! or on what was found finished. A point is known by what it is ([`Point::key`]), not by its place in the plan, so a
//! plan that grows keeps what it has.
//!
//! Its limits: one base drive a plan, at most 100,000 points, and one result a point: the series of a test are not
//! kept (`ssdlab test` shows them for any one point).
//!
//! ```
//! use ssdlab_sweep::Plan;
//!
//! let plan = Plan::parse(
//!     "plan.toml",
//!     r#"
//!     drive = "ideal-16k-32die"
//!     [grid]
//!     over_provisioning_percent = [7, 28]
//!     gc.policy = ["greedy", "fifo"]
//!     [[test]]
//!     name = "steady-state"
//!     "#,
//! )?;
//! assert_eq!(plan.points.len(), 4);
//! assert_eq!(plan.points[3].cells.iter().map(|c| c.text.as_str()).collect::<Vec<_>>(), ["28", "fifo"]);
//! # Ok::<(), ssdlab_catalog::Diagnostic>(())
//! ```

mod charts;
mod fio;
mod idle;
#[cfg(feature = "parquet")]
mod parquet;
mod plan;
mod point;
mod repeats;
mod results;
mod run;
mod store;
mod swept;
mod table;
mod task;

pub use idle::keys_without_effect;
pub use plan::{Better, Charts, Pareto, Plan, plan_schema};
pub use point::{Point, PointError, PointResult, digest, is_of_drive};
pub use results::{RESULT_FILES, UNFINISHED_FILES, write_results};
pub use run::{Progress, State, Sweep, is_unfinished, sweep};
pub use store::{Store, StoreError, point_text, read_point, write_whole};
pub use swept::{Axis, Cell, TEST_PREFIX};
pub use table::{Column, Table};
pub use task::{Task, What};

/// Name and version of the shape of a finished point.
pub const SCHEMA: &str = "ssdlab.sweep-point/1";

/// Of the code that decides on results. A point finished by other code is not taken for ours.
pub const FINGERPRINT: &str = include_str!(concat!(env!("OUT_DIR"), "/fingerprint.txt"));

/// The page of charts of a sweep.
pub use charts::page;
