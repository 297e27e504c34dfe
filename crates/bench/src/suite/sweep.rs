//! The sequential sweep over every address that HD Tach draws; shared by `hdtach` and `trim`.

use ssdlab_core::Op;

use super::definition::{block, depth, integer};
use super::figures::{max, min};
use crate::error::BenchError;
use crate::host::Host;
use crate::measure::{ByPosition, Measurement};
use crate::outcome::Axis;
use crate::params::{ParamDef, Params};

/// HD Tach's own block size was never published. One 128 KiB request at a time is how the same reviews fill drives
/// and measure sequential rates, so the curve can be laid beside those figures.
pub(super) const BLOCK: ParamDef = block(
    "block_size",
    "131072",
    "size of the sweep's requests. HD Tach's was not published; 128 KiB is the reviews' own sequential size",
);
pub(super) const DEPTH: ParamDef =
    depth("queue_depth", "1", "the sweep's requests in flight. Not published; HD Tach waits for each request");
pub(super) const ZONES: ParamDef =
    integer("zones", "400", "", 1, 100_000, "points of the curve: equal zones of the address range. Not published")
        .beside_method();

/// Ten stretches of the drive, for comparing curves.
const PARTS: usize = 10;

/// A curve: rate by position.
pub(super) struct Sweep {
    pub position: ByPosition,
    pub measurement: Measurement,
}

impl Sweep {
    /// Sweeps all addresses once, reading or writing.
    pub(super) fn run(host: &mut Host<'_>, params: &Params, op: Op) -> Result<Self, BenchError> {
        let capacity = host.info().capacity_bytes;
        let (block, depth) = (params.integer("block_size"), params.depth("queue_depth"));
        let mut meters = (ByPosition::new(capacity, params.integer("zones")), Measurement::default());
        if op == Op::Read {
            host.read_through(0, capacity, block, depth, &mut meters)?;
        } else {
            host.fill(0, capacity, block, depth, &mut meters)?;
        }
        let (position, measurement) = meters;
        measurement.check_causes().map_err(BenchError::Books)?;
        Ok(Sweep { position, measurement })
    }

    /// Rates in MB/s by position in GB.
    pub(super) fn points(&self) -> Vec<[f64; 2]> {
        self.position.curve().into_iter().map(|[at, rate]| [at / 1e9, rate]).collect()
    }

    pub(super) fn mean(&self) -> f64 {
        self.position.mean_mb_per_s()
    }

    /// The slowest and the fastest zone.
    pub(super) fn range(&self) -> (f64, f64) {
        let rates: Vec<f64> = self.position.curve().iter().map(|p| p[1]).collect();
        (min(&rates), max(&rates))
    }

    /// How far this curve falls below `reference` at worst, over the whole and over each tenth of the drive, as a
    /// share of the reference; negative if it is faster everywhere.
    pub(super) fn shortfall(&self, reference: &Sweep) -> f64 {
        let tenths = self.position.parts(PARTS).into_iter().zip(reference.position.parts(PARTS));
        let whole = std::iter::once((self.mean(), reference.mean()));
        max(&tenths.chain(whole).map(|(mine, theirs)| 1.0 - mine / theirs).collect::<Vec<_>>())
    }
}

pub(super) fn axes() -> (Axis, Axis) {
    (Axis::linear("position", "GB"), Axis { min: Some(0.0), ..Axis::linear("rate", "MB/s") })
}
