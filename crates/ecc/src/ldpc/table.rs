//! Failure rates and iterations as counted, and what is read from between and below the counts.
//!
//! **Between** two points with at least [`ENOUGH_ERRORS`] errors, log10 of the failure rate is linear in log10 of the
//! raw bit error rate. **Below** the last such point the waterfall goes on with the slope of the last decade that was
//! counted. **At 1e-12** (an estimate: no count
//! reaches it) an error floor is assumed to begin, where the failure rate falls only with the fifth power of the raw
//! bit error rate, as it does if some pattern of five wrong bits defeats the decoder. Above the first point the
//! failure rate is taken as one.

use std::sync::OnceLock;

use super::code::LdpcCode;
use crate::channel::Sensing;

/// Iterations after which the decoder gives a frame up.
pub const MAX_ITERATIONS: u32 = 30;
/// Counted errors that make a point good enough to read a failure rate from.
pub const ENOUGH_ERRORS: u64 = 10;
/// log10 of the failure rate at which the error floor is assumed to begin (estimate).
pub const FLOOR_LOG10: f64 = -12.0;
/// Power of the raw bit error rate with which failures fall in the error floor (estimate).
pub const FLOOR_EXPONENT: f64 = 5.0;

/// One point of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub code: LdpcCode,
    pub sensing: Sensing,
    /// Raw bit error rate at the middle reference.
    pub rber: f64,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub frames: u64,
    /// Frames that did not come out as sent.
    pub errors: u64,
    /// Those of them whose parity checks held all the same.
    pub undetected: u64,
    /// Sum of iterations over all frames.
    pub iterations: u64,
}

impl Counts {
    /// Share of frames in error.
    #[must_use]
    pub fn failure(&self) -> f64 {
        self.errors as f64 / self.frames as f64
    }

    #[must_use]
    pub fn mean_iterations(&self) -> f64 {
        self.iterations as f64 / self.frames as f64
    }

    /// 95 % confidence interval of the failure rate (Wilson's score interval).
    #[must_use]
    pub fn interval(&self) -> (f64, f64) {
        const Z: f64 = 1.959_963_985;
        let n = self.frames as f64;
        let p = self.failure();
        let (centre, scale) = (p + Z * Z / (2.0 * n), 1.0 + Z * Z / n);
        let half = Z * libm::sqrt(p * (1.0 - p) / n + Z * Z / (4.0 * n * n));
        // Without an error the lower end is exactly zero; the difference would leave a rounding error.
        let low = if self.errors == 0 { 0.0 } else { (centre - half) / scale };
        (low, (centre + half) / scale)
    }
}

/// Frames of [`LdpcCode::CcsdsC2`] as another program decoded them: floating-point messages, one row after another.
#[derive(Clone, Copy, Debug)]
pub struct Independent {
    pub sensing: Sensing,
    /// Raw bit error rate at the middle reference.
    pub rber: f64,
    pub errors: u32,
    pub frames: u32,
}

impl Independent {
    const fn new(sensing: Sensing, rber: f64, errors: u32, frames: u32) -> Independent {
        Independent { sensing, rber, errors, frames }
    }

    /// Share of frames in error.
    #[must_use]
    pub fn failure(&self) -> f64 {
        f64::from(self.errors) / f64::from(self.frames)
    }
}

/// What ours is held against. At 0.009 only the rate has come down, 5.7e-2: the frames are those of the point beside it.
pub const INDEPENDENT: [Independent; 10] = [
    Independent::new(Sensing::Hard, 0.007, 5, 20_000),
    Independent::new(Sensing::Hard, 0.0075, 31, 20_000),
    Independent::new(Sensing::Hard, 0.008, 92, 20_000),
    Independent::new(Sensing::Hard, 0.009, 114, 2_000),
    Independent::new(Sensing::Hard, 0.01, 404, 2_000),
    Independent::new(Sensing::Soft3, 0.016, 6, 20_000),
    Independent::new(Sensing::Soft3, 0.018, 27, 2_000),
    Independent::new(Sensing::Soft3, 0.02, 176, 1_000),
    Independent::new(Sensing::Soft7, 0.02, 24, 6_000),
    Independent::new(Sensing::Soft7, 0.022, 93, 1_000),
];

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub point: Point,
    pub counts: Counts,
    mean_iterations: f64,
}

/// Failure rate and iterations of one code at one sensing, by raw bit error rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// log10 of raw bit error rate and of failure rate, rising.
    waterfall: Vec<(f64, f64)>,
    /// log10 of failure rate per log10 of raw bit error rate, below the counts.
    slope: f64,
    /// log10 of the raw bit error rate where the floor begins.
    floor_begins: f64,
    /// Raw bit error rate and mean iterations, rising.
    iterations: Vec<(f64, f64)>,
}

/// Every counted point, as stored in `data/ldpc.csv`.
///
/// # Panics
/// If the file inside this crate is damaged (tested).
#[must_use]
pub fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let lines = include_str!("../../data/ldpc.csv").lines().enumerate();
        let data = lines.filter(|(_, l)| !l.starts_with('#') && !l.starts_with("code,"));
        data.map(|(i, l)| parse(l).unwrap_or_else(|what| panic!("ldpc.csv line {}: {what}: {l}", i + 1))).collect()
    })
}

fn parse(line: &str) -> Result<Row, String> {
    let fields: Vec<&str> = line.split(',').collect();
    let field = |i: usize| fields.get(i).copied().ok_or_else(|| format!("column {} is missing", i + 1));
    let number = |i: usize| field(i)?.parse::<f64>().map_err(|e| format!("column {}: {e}", i + 1));
    let whole = |i: usize| field(i)?.parse::<u64>().map_err(|e| format!("column {}: {e}", i + 1));
    let code = LdpcCode::ALL.into_iter().find(|c| Ok(c.name()) == field(0)).ok_or("unknown code")?;
    let reads = whole(1)?;
    let sensing = Sensing::ALL.into_iter().find(|s| u64::from(s.reads()) == reads).ok_or("reads are 1, 3 or 7")?;
    let counts = Counts { frames: whole(3)?, errors: whole(4)?, undetected: whole(5)?, iterations: 0 };
    let mean_iterations = number(9)?;
    let iterations = libm::round(mean_iterations * counts.frames as f64) as u64;
    let counts = Counts { iterations, ..counts };
    Ok(Row { point: Point { code, sensing, rber: number(2)? }, counts, mean_iterations })
}

/// The curve of a code at a sensing.
#[must_use]
pub fn curve(code: LdpcCode, sensing: Sensing) -> &'static Curve {
    static CURVES: OnceLock<Vec<Curve>> = OnceLock::new();
    let all = CURVES.get_or_init(|| {
        let pairs = LdpcCode::ALL.into_iter().flat_map(|c| Sensing::ALL.map(|s| (c, s)));
        pairs
            .map(|(c, s)| Curve::from_rows(rows().iter().filter(|r| r.point.code == c && r.point.sensing == s)))
            .collect()
    });
    &all[code as usize * Sensing::ALL.len() + sensing as usize]
}

impl Curve {
    fn from_rows<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let mut rows: Vec<&Row> = rows.collect();
        rows.sort_by(|a, b| a.point.rber.total_cmp(&b.point.rber));
        let counted = rows.iter().filter(|r| r.counts.errors >= ENOUGH_ERRORS);
        let waterfall: Vec<(f64, f64)> =
            counted.map(|r| (libm::log10(r.point.rber), libm::log10(r.counts.failure()))).collect();
        // The slope over the last decade of failure rates, or the nearest to it.
        let (x0, y0) = waterfall[0];
        let (x1, y1) = *waterfall[1..].iter().find(|(_, y)| *y >= y0 + 1.0).unwrap_or(&waterfall[1]);
        let slope = (y1 - y0) / (x1 - x0);
        Curve {
            slope,
            floor_begins: x0 + (FLOOR_LOG10 - y0) / slope,
            waterfall,
            iterations: rows.iter().map(|r| (r.point.rber, r.mean_iterations)).collect(),
        }
    }

    /// log10 of the share of codewords that fail at raw bit error rate `rber`.
    #[must_use]
    pub fn log10_failure(&self, rber: f64) -> f64 {
        if rber <= 0.0 {
            return f64::NEG_INFINITY;
        }
        let x = libm::log10(rber);
        let (x0, y0) = self.waterfall[0];
        if x < self.floor_begins {
            return FLOOR_LOG10 + FLOOR_EXPONENT * (x - self.floor_begins);
        }
        if x < x0 {
            return y0 + self.slope * (x - x0);
        }
        let above = self.waterfall.partition_point(|&(at, _)| at <= x);
        match self.waterfall.get(above) {
            None => 0.0,
            Some(&next) => between(self.waterfall[above - 1], next, x),
        }
    }

    /// The lowest raw bit error rate whose failure rate was counted; everything below is extrapolated.
    #[must_use]
    pub fn counted_down_to(&self) -> f64 {
        libm::pow(10.0, self.waterfall[0].0)
    }

    /// Mean iterations of the decoder, frames that fail included; from a clean frame's 0 to [`MAX_ITERATIONS`].
    #[must_use]
    pub fn mean_iterations(&self, rber: f64) -> f64 {
        let above = self.iterations.partition_point(|&(at, _)| at <= rber);
        match (above.checked_sub(1).map(|i| self.iterations[i]), self.iterations.get(above)) {
            (Some(last), None) => between(last, (0.5, f64::from(MAX_ITERATIONS)), rber.min(0.5)),
            (before, Some(&next)) => between(before.unwrap_or((0.0, 0.0)), next, rber.max(0.0)),
            (None, None) => 0.0,
        }
    }
}

fn between(a: (f64, f64), b: (f64, f64), x: f64) -> f64 {
    a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0)
}
