//! How long the arm takes from cylinder to cylinder.
//!
//! The shape of the curve comes from measured times at some distances; between them time goes with the square root of
//! the distance, as it does for an arm that speeds up for half of the way and slows down for the rest. It is moved to the
//! disk's own single-track time and stretched until its mean over all pairs of cylinders is the disk's average for reading.
//!
//! Square roots and the four basic operations are exact to the last bit everywhere, so the table is the same on every
//! machine.

use ssdlab_core::nanos_from_ms;

use crate::spec::SeekSpec;

/// Distances up to this one have an entry each, longer ones share one with their neighbours.
const EXACT: u32 = 1 << EXACT_BITS;
const EXACT_BITS: u32 = 10;
/// Beyond [`EXACT`], 16 neighbouring distances take the same time.
const SHARED_BITS: u32 = 4;

/// A seek time, and what is left of it beyond whole turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeekTime {
    pub nanos: u32,
    pub beyond_turns: u32,
}

/// Seek times by distance in cylinders.
#[derive(Clone, Debug)]
pub struct SeekTable {
    entries: Vec<SeekTime>,
}

impl SeekTable {
    /// The times of all distances from 0 to `cylinders - 1`, given in milliseconds by `curve`.
    fn new(cylinders: u32, turn: u32, curve: impl Fn(u32) -> f64) -> SeekTable {
        let entry = |distance: u32| {
            let nanos = nanos_from_ms(curve(distance)) as u32;
            SeekTime { nanos, beyond_turns: nanos % turn }
        };
        let exact = (0..EXACT.min(cylinders)).map(entry);
        // The middle of the distances that share an entry.
        let shared = (EXACT..cylinders).step_by(1 << SHARED_BITS).map(|d| entry((d + 8).min(cylinders - 1)));
        SeekTable { entries: exact.chain(shared).collect() }
    }

    #[inline]
    pub fn of(&self, distance: u32) -> SeekTime {
        let shared = (distance >> SHARED_BITS) + (EXACT - (EXACT >> SHARED_BITS));
        self.entries[if distance < EXACT { distance } else { shared } as usize]
    }
}

/// The tables for reading and for writing.
///
/// Settling for a write takes longer, since a write that is off its track ruins the one beside it. After a single track
/// the difference is small; after anything longer it is the same whatever the distance. So data sheets have it: the
/// Travelstar 5K320 needs 0.1 ms more for a single track, 1 ms on average and 1 ms over the full stroke.
pub fn tables(spec: &SeekSpec, cylinders: u32, turn: u32) -> [SeekTable; 2] {
    let shape = Shape::new(spec, cylinders);
    let (single, average) = (spec.single_track_read_ms, spec.average_read_ms);
    let bend = spec.full_stroke_read_ms.map_or(0.0, |full| shape.bend(single, average, full));
    let stretch = (average - single - bend * shape.mean_share) / shape.mean_rise;
    let read = |distance: u32| match distance {
        0 => 0.0,
        _ => (single + stretch * shape.rise(distance) + bend * shape.share(distance)).max(0.0),
    };
    let longer = |distance: u32| match distance {
        0 => 0.0,
        1 => spec.single_track_write_ms - single,
        _ => spec.average_write_ms - average,
    };
    [SeekTable::new(cylinders, turn, read), SeekTable::new(cylinders, turn, |d| read(d) + longer(d))]
}

/// The measured curve, from its single-track time upwards.
struct Shape {
    /// Square root of the share of the full stroke, and the time above a single track's there.
    knots: Vec<(f64, f64)>,
    full: f64,
    /// Means over all pairs of different cylinders.
    mean_rise: f64,
    mean_share: f64,
}

impl Shape {
    fn new(spec: &SeekSpec, cylinders: u32) -> Shape {
        let full = f64::from(cylinders - 1);
        let first = spec.curve_time_ms[0];
        // The first of the curve is a single track, however many cylinders there are.
        let single = ((1.0 / full).sqrt(), 0.0);
        let points = spec.curve_distance_ppm.iter().zip(&spec.curve_time_ms).skip(1);
        let further = points.map(|(&ppm, &ms)| ((f64::from(ppm) / 1e6).sqrt(), ms - first));
        let knots = std::iter::once(single).chain(further.filter(|&(root, _)| root > single.0)).collect();
        let mut shape = Shape { knots, full, mean_rise: 0.0, mean_share: 0.0 };
        let (mut rises, mut shares, mut pairs) = (0.0, 0.0, 0.0);
        for distance in 1..cylinders {
            let count = f64::from(cylinders - distance);
            rises += count * shape.rise(distance);
            shares += count * shape.share(distance);
            pairs += count;
        }
        shape.mean_rise = rises / pairs;
        shape.mean_share = shares / pairs;
        shape
    }

    /// Time above a single-track seek's, in the unit of the curve.
    fn rise(&self, distance: u32) -> f64 {
        let root = (f64::from(distance) / self.full).sqrt();
        let after = self.knots.partition_point(|&(at, _)| at <= root).clamp(1, self.knots.len() - 1);
        let ((r0, t0), (r1, t1)) = (self.knots[after - 1], self.knots[after]);
        t0 + (t1 - t0) * (root - r0) / (r1 - r0)
    }

    /// Distance beyond a single track as a share of the most that there is.
    fn share(&self, distance: u32) -> f64 {
        f64::from(distance - 1) / (self.full - 1.0).max(1.0)
    }

    /// What must be added in proportion to the distance, so that both the average and the full stroke are met.
    fn bend(&self, single: f64, average: f64, full: f64) -> f64 {
        let top = self.knots[self.knots.len() - 1].1;
        // stretch * mean_rise + bend * mean_share = average - single; stretch * top + bend = full - single.
        let of_average = (average - single) * top / self.mean_rise;
        let unlike = 1.0 - self.mean_share * top / self.mean_rise;
        // A straight curve cannot be bent by a straight part.
        if unlike.abs() < 1e-6 { 0.0 } else { (full - single - of_average) / unlike }
    }
}
