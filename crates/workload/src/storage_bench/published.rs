//! What was published about the traces, and what is assumed where nothing was.

/// A trace of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trace {
    Destroyer,
    Heavy,
    Light,
}

/// The publication's bins of request sizes, and what lies between them.
pub const SIZE_BINS: [&str; 8] =
    ["below 4 KiB", "4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "other sizes"];

/// The publication's bins of queue depths.
pub const DEPTH_BINS: [&str; 8] = ["1", "2", "3", "4–5", "6–10", "11–20", "21–32", "over 32"];

/// First and last depth of each bin; the last bin has no end.
pub(super) const DEPTH_LIMITS: [(u32, u32); 8] =
    [(1, 1), (2, 2), (3, 3), (4, 5), (6, 10), (11, 20), (21, 32), (33, u32::MAX)];

/// The place of a request size in [`SIZE_BINS`].
#[must_use]
pub fn size_bin(length_bytes: u64) -> usize {
    match length_bytes {
        0..4096 => 0,
        4096 => 1,
        8192 => 2,
        16_384 => 3,
        32_768 => 4,
        65_536 => 5,
        131_072 => 6,
        _ => 7,
    }
}

/// The place of a queue depth in [`DEPTH_BINS`]; a depth of 0 counts as 1.
#[must_use]
pub fn depth_bin(depth: u32) -> usize {
    DEPTH_LIMITS.iter().position(|&(_, last)| depth <= last).unwrap_or(DEPTH_LIMITS.len() - 1)
}

/// Figures of a trace as they were published. Gigabytes are taken as decimal; the publication does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    pub name: &'static str,
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// As printed. `None` where the printed value contradicts the printed bins.
    pub mean_depth: Option<f64>,
    pub sequential_percent: f64,
    /// Per cent of requests in each of [`SIZE_BINS`], the last being the rest to 100.
    pub size_percent: Option<[f64; 8]>,
    /// Per cent of requests in each of [`DEPTH_BINS`].
    pub depth_percent: Option<[f64; 8]>,
    /// What a reader of these figures must know.
    pub remark: &'static str,
    pub source: &'static str,
}

/// What is assumed where nothing was published. Everything here is an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Used where [`Published::size_percent`] is `None`.
    pub size_percent: [f64; 8],
    /// Used where [`Published::depth_percent`] is `None`.
    pub depth_percent: [f64; 8],
    /// The deepest queue, where no mean depth decides on it.
    pub deepest: u32,
    /// Addresses that the trace touches, at full length and on a drive with room for them.
    pub footprint_bytes: u64,
    /// One request in so many is sent after a pause.
    pub requests_per_pause: u64,
}

const DESTROYER: Published = Published {
    name: "The Destroyer",
    reads: 38_830_000,
    writes: 10_980_000,
    read_bytes: 1_583_020_000_000,
    written_bytes: 875_620_000_000,
    mean_depth: Some(5.5),
    sequential_percent: 67.0,
    size_percent: None,
    depth_percent: None,
    remark: "The published tables of request sizes and queue depths could not be found; those of the stand-in are \
             estimates.",
    source: "AnandTech Storage Bench 2013; 8979, 9009, 9090",
};

const HEAVY: Published = Published {
    name: "Heavy",
    reads: 2_170_000,
    writes: 1_780_000,
    read_bytes: 48_630_000_000,
    written_bytes: 106_320_000_000,
    mean_depth: Some(4.6),
    sequential_percent: 43.0,
    size_percent: Some([7.8, 29.2, 3.5, 10.3, 10.8, 4.1, 21.7, 12.6]),
    depth_percent: None,
    remark: "The printed total of 3.99 million requests is not the sum of the printed reads and writes; the stand-in \
             has these. The published table of queue depths could not be found; the stand-in's is an estimate that meets \
             the printed mean.",
    source: "AnandTech Storage Bench 2011; 8979, 9023",
};

const LIGHT: Published = Published {
    name: "Light",
    reads: 372_630,
    writes: 459_709,
    read_bytes: 17_970_000_000,
    written_bytes: 23_250_000_000,
    mean_depth: None,
    sequential_percent: 70.0,
    size_percent: Some([6.2, 27.6, 2.4, 8.0, 6.5, 4.8, 26.4, 18.1]),
    depth_percent: Some([73.4, 16.8, 2.6, 2.3, 3.1, 1.5, 0.2, 0.2]),
    remark: "The printed mean queue depth of 4.6 contradicts the printed table of depths, whose mean is about 1.9; the \
             stand-in follows the table.",
    source: "AnandTech Storage Bench 2011; 9023",
};

impl Trace {
    pub const ALL: [Trace; 3] = [Trace::Destroyer, Trace::Heavy, Trace::Light];

    #[must_use]
    pub const fn published(self) -> &'static Published {
        match self {
            Trace::Destroyer => &DESTROYER,
            Trace::Heavy => &HEAVY,
            Trace::Light => &LIGHT,
        }
    }

    #[must_use]
    pub const fn estimate(self) -> Estimate {
        match self {
            // Mostly 4, 64 and 128 KiB, as is to be expected of files copied and programs paged in; 128 KiB takes
            // what the published mean size leaves room for.
            Trace::Destroyer => Estimate {
                size_percent: [6.0, 26.0, 3.0, 2.5, 1.7, 38.4, 15.5, 6.9],
                depth_percent: [50.0, 21.9, 4.1, 5.7, 8.8, 6.0, 2.1, 1.4],
                deepest: 64,
                footprint_bytes: 200_000_000_000,
                requests_per_pause: 40,
            },
            Trace::Heavy => Estimate {
                size_percent: [0.0; 8],
                depth_percent: [59.0, 18.0, 4.0, 4.5, 6.5, 4.5, 2.0, 1.5],
                deepest: 64,
                footprint_bytes: 100_000_000_000,
                requests_per_pause: 40,
            },
            Trace::Light => Estimate {
                size_percent: [0.0; 8],
                depth_percent: [0.0; 8],
                deepest: 64,
                footprint_bytes: 40_000_000_000,
                requests_per_pause: 40,
            },
        }
    }

    pub(super) fn size_percent(self) -> [f64; 8] {
        self.published().size_percent.unwrap_or(self.estimate().size_percent)
    }

    pub(super) fn depth_percent(self) -> [f64; 8] {
        // Printed shares need not sum to 100 (Light's sum to 100.1). What is over is taken from all bins alike, so
        // that each still prints as published.
        let printed = self.published().depth_percent.unwrap_or(self.estimate().depth_percent);
        let over = (printed.iter().sum::<f64>() - 100.0) / printed.len() as f64;
        printed.map(|share| share - over)
    }
}

impl Published {
    #[must_use]
    pub const fn requests(&self) -> u64 {
        self.reads + self.writes
    }
}
