mod error;
pub mod host;
mod lab;
pub mod measure;
pub mod model;
mod monitor;
mod nearest;
mod outcome;
mod params;
pub use error::{BenchError, HostError};
pub use lab::Lab;
pub use monitor::Monitor;
pub use nearest::nearest;
pub use outcome::{
    Axis, Chart, Mark, Metric, Outcome, Series, SlowIo, TimeShare, Verdict, cause_labels, op_name,
};
pub use params::{Kind, ParamDef, ParamError, Params, Value, parse_setting};
