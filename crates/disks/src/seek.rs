//! How long the arm takes from cylinder to cylinder.
//!
//! The shape of the curve comes from measured times at some distances; between them time goes with the square root of
//! the distance, as it does for an arm that speeds up for half of the way and slows down for the rest. It is moved to the
//! disk's own single-track time and stretched until its mean over all pairs of cylinders is the disk's average for reading.
//!
//! Square roots and the four basic operations are exact to the last bit everywhere, so the table is the same on every
//! machine.

use ssdlab_core::nanos_from_ms;
use ssdlab_keys::SpecError;

use crate::spec::SeekSpec;

/// Significant bits of a distance. Shorter ones have an entry of their own; longer ones share theirs with those that
/// begin with the same bits, which differ by less than half a per cent.
const BITS: u32 = 9;

/// So far the mean of a table may be from the average of its disk, which tables of smooth curves meet within a few parts in
/// ten thousand: distances that share an entry are taken for alike.
const MOST_OFF_AVERAGE: f64 = 0.01;

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
        let entry = |index: u32| {
            let shift = (index >> (BITS - 1)).saturating_sub(1);
            let first = (index - (shift << (BITS - 1))) << shift;
            // The middle of those that share the entry.
            let nanos = nanos_from_ms(curve((first + ((1 << shift) >> 1)).min(cylinders - 1)));
            let nanos = u32::try_from(nanos).unwrap_or(u32::MAX);
            SeekTime { nanos, beyond_turns: nanos % turn }
        };
        SeekTable { entries: (0..=index_of(cylinders - 1)).map(entry).collect() }
    }

    #[inline]
    pub fn of(&self, distance: u32) -> SeekTime {
        self.entries[index_of(distance) as usize]
    }

    /// Mean over all pairs of different cylinders.
    fn mean_ms(&self, cylinders: u32) -> f64 {
        let [time] = mean(cylinders, |distance| [self.of(distance).nanos.into()]);
        time / 1e6
    }
}

/// Means over all pairs of different cylinders of what goes with their distance.
fn mean<const N: usize>(cylinders: u32, of: impl Fn(u32) -> [f64; N]) -> [f64; N] {
    let (mut sums, mut pairs) = ([0.0; N], 0.0);
    for distance in 1..cylinders {
        let count = f64::from(cylinders - distance);
        sums.iter_mut().zip(of(distance)).for_each(|(sum, value)| *sum += count * value);
        pairs += count;
    }
    sums.map(|sum| sum / pairs)
}

/// Which entry a distance has: its first [`BITS`] bits, and how many follow.
#[inline]
fn index_of(distance: u32) -> u32 {
    let shift = 32 - BITS - (distance | ((1 << BITS) - 1)).leading_zeros();
    (distance >> shift) + (shift << (BITS - 1))
}

/// The tables for reading and for writing.
///
/// Settling for a write takes longer, since a write that is off its track ruins the one beside it. After a single track
/// the difference is small; after anything longer it is the same whatever the distance. So data sheets have it: the
/// Travelstar 5K320 needs 0.1 ms more for a single track, 1 ms on average and 1 ms over the full stroke.
///
/// # Errors
/// If a longer seek would take less time than a shorter one, or seeks not what they should on average.
pub fn tables(spec: &SeekSpec, cylinders: u32, turn: u32) -> Result<[SeekTable; 2], SpecError> {
    let shape = Shape::new(spec, cylinders);
    let (single, average) = (spec.single_track_read_ms, spec.average_read_ms);
    let bend = match spec.full_stroke_read_ms {
        Some(full) => shape.bend(single, average, full)?,
        None => 0.0,
    };
    let stretch = (average - single - bend * shape.mean_share) / shape.mean_rise;
    let read = |distance: u32| match distance {
        0 => 0.0,
        _ => single + stretch * shape.rise(distance) + bend * shape.share(distance),
    };
    let longer = |distance: u32| match distance {
        0 => 0.0,
        1 => spec.single_track_write_ms - single,
        _ => spec.average_write_ms - average,
    };
    let reads = SeekTable::new(cylinders, turn, read);
    let mean = reads.mean_ms(cylinders);
    // Times are whole nanoseconds.
    if (mean - average).abs() > average * MOST_OFF_AVERAGE + 1e-6 {
        return Err(SpecError::new(
            "seek.curve_time_ms",
            format!(
                "a curve of this shape cannot be stretched to the average: its seeks take {mean:.3} ms, not {average} ms"
            ),
            "let the times rise over more of the distances",
        ));
    }
    let write = |distance: u32| read(distance) + longer(distance);
    if cylinders > 2 && write(1) > write(2) {
        return Err(SpecError::new(
            "seek.single_track_write_ms",
            format!(
                "a write two tracks away would take less, {:.3} ms, than one to the next track, {:.3} ms",
                write(2),
                write(1)
            ),
            "use less, or a longer `seek.average_write_ms`",
        ));
    }
    Ok([reads, SeekTable::new(cylinders, turn, write)])
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
        [shape.mean_rise, shape.mean_share] = mean(cylinders, |distance| [shape.rise(distance), shape.share(distance)]);
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
    fn bend(&self, single: f64, average: f64, full: f64) -> Result<f64, SpecError> {
        let top = self.knots[self.knots.len() - 1].1;
        // stretch * mean_rise + bend * mean_share = average - single; stretch * top + bend = full - single.
        let of_average = (average - single) * top / self.mean_rise;
        let unlike = 1.0 - self.mean_share * top / self.mean_rise;
        // A straight curve cannot be bent by a straight part.
        if unlike.abs() < 1e-6 {
            return Ok(0.0);
        }
        let bend = (full - single - of_average) / unlike;
        let [least, most] = self.bends(average - single);
        if least <= bend && bend <= most {
            return Ok(bend);
        }
        let mut possible = [least, most].map(|bend| single + of_average + bend * unlike);
        possible.sort_unstable_by(f64::total_cmp);
        let [least, most] = [(possible[0] * 100.0).ceil() / 100.0, (possible[1] * 100.0).floor() / 100.0];
        Err(SpecError::new(
            "seek.full_stroke_read_ms",
            format!(
                "with {full} ms for a full stroke and a mean of {average} ms, some seeks would take less time than shorter ones"
            ),
            if least <= most {
                format!("use {least} to {most} ms, or leave it out")
            } else {
                "leave it out".to_owned()
            },
        ))
    }

    /// The least and the greatest bend with which no seek takes less time than a shorter one; `above`: the average above a
    /// single track's time.
    fn bends(&self, above: f64) -> [f64; 2] {
        let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
        let (step, mean_share) = (self.share(2), self.mean_share);
        for distance in 2..=self.full as u32 {
            // From one cylinder to the next the curve rises by `above * rise + bend * slope`.
            let rise = (self.rise(distance) - self.rise(distance - 1)).max(0.0) / self.mean_rise;
            let slope = step - mean_share * rise;
            if slope > 0.0 {
                least = least.max(-above * rise / slope);
            } else if slope < 0.0 {
                most = most.min(above * rise / -slope);
            }
        }
        [least, most]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::DiskSpec;

    #[test]
    fn short_distances_are_exact_and_long_ones_within_half_a_per_cent() {
        let table = SeekTable::new(200_000, 1_000_000, |distance| f64::from(distance) * 1e-3);
        for distance in 0..200_000 {
            let nanos = table.of(distance).nanos;
            let exact = distance * 1000;
            assert!(
                nanos.abs_diff(exact) <= if distance < 512 { 0 } else { exact / 500 + 1000 },
                "{distance}: {nanos}"
            );
            assert_eq!(table.of(distance).beyond_turns, nanos % 1_000_000);
        }
    }

    /// Of disks of few and of many cylinders: a full stroke a little within what is said to work does, and one beyond does not;
    /// what does rises throughout and has the average.
    #[test]
    fn a_full_stroke_is_refused_exactly_where_the_curve_would_fall() {
        for cylinders in [8, 2000, 150_000] {
            let of = |full| {
                tables(&SeekSpec { full_stroke_read_ms: Some(full), ..DiskSpec::plain().seek }, cylinders, 10_000_000)
            };
            let error = of(1000.0).expect_err("it is a hundred times the average");
            assert_eq!(error.key, "seek.full_stroke_read_ms");
            let numbers: Vec<f64> = error.expected.split(' ').filter_map(|word| word.parse().ok()).collect();
            let &[least, most] = numbers.as_slice() else { panic!("{error:?}") };
            assert!(10.0 <= least && least + 1.0 < most, "{error:?}");
            for full in [least, (least + most) / 2.0, most] {
                let [reads, _] = of(full).unwrap_or_else(|e| panic!("{cylinders}, {full} ms: {e:?}"));
                let times: Vec<u32> = (1..cylinders).map(|distance| reads.of(distance).nanos).collect();
                assert!(times.is_sorted() && times[0] == 1_000_000, "{cylinders}, {full} ms");
                assert!((reads.mean_ms(cylinders) / 10.0 - 1.0).abs() < 0.001, "{cylinders}, {full} ms");
            }
            assert!(of(least - 0.02).is_err() && of(most + 0.02).is_err(), "{cylinders}: {error:?}");
        }
    }

    /// All of the rise in the last ten thousandth: distances that share an entry cannot show it.
    #[test]
    fn a_curve_whose_table_misses_the_average_is_refused() {
        let seek = SeekSpec {
            curve_distance_ppm: vec![13, 999_900, 1_000_000],
            curve_time_ms: vec![0.5, 0.5, 7.0],
            ..DiskSpec::plain().seek
        };
        assert_eq!(tables(&seek, 180_000, 8_000_000).expect_err("it cannot be had").key, "seek.curve_time_ms");
    }
}
