//! The stages of a curve of write rate over position, and how much the drive folded in each.

use ssdlab_core::{Nanos, SECOND};
use ssdlab_device::{Completion, Counters};

use crate::change_points::stretches;
use crate::measure::{ByPosition, Meter};

/// A stage shorter than this many zones is not one.
pub(super) const SHORTEST_ZONES: usize = 4;
const MOST_STAGES: usize = 6;
/// A stage in which this share of the host's bytes or more is folded works off its cache meanwhile.
pub const FOLDING_SHARE: f64 = 0.05;

/// Fold traffic by the amount written: read once a second.
#[derive(Default)]
pub(super) struct Folding {
    written: u64,
    /// (bytes written by the host, bytes folded), both since power on and rising.
    readings: Vec<(u64, u64)>,
    /// Whether the device tells what its flash does.
    told: bool,
}

impl Meter for Folding {
    #[inline]
    fn record(&mut self, _job: usize, io: &Completion) {
        self.written += io.length_bytes;
    }

    fn tick(&mut self, _at: Nanos, counters: &dyn Fn() -> Counters) {
        self.readings.push((self.written, folded_bytes(&counters())));
    }
}

impl Folding {
    /// Counts from `before` on, and adds the end: `written` bytes in all, and what the counters gained meanwhile.
    pub(super) fn end(&mut self, before: &Counters, written: u64, gained: &Counters) {
        for reading in &mut self.readings {
            reading.1 -= folded_bytes(before);
        }
        self.readings.push((written, folded_bytes(gained)));
        self.told = gained.flash.is_some();
    }

    /// Folded over written bytes while the host wrote the bytes `from..to`; to a second. `None` of a device that does not tell.
    fn ratio(&self, from: u64, to: u64) -> Option<f64> {
        let at = |bytes: u64| {
            let i = self.readings.partition_point(|r| r.0 < bytes);
            self.readings.get(i).or(self.readings.last()).copied().unwrap_or_default()
        };
        let (a, b) = (if from == 0 { (0, 0) } else { at(from) }, at(to));
        self.told.then(|| if b.0 > a.0 { (b.1 - a.1) as f64 / (b.0 - a.0) as f64 } else { 0.0 })
    }
}

/// A stretch of the drive written at one rate.
pub(super) struct Stage {
    pub(super) from_bytes: u64,
    pub(super) to_bytes: u64,
    pub(super) mb_per_s: f64,
    /// Bytes folded meanwhile, over bytes written by the host; `None` of a device that does not tell.
    pub(super) folded: Option<f64>,
}

impl Stage {
    pub(super) fn amount_bytes(&self) -> u64 {
        self.to_bytes - self.from_bytes
    }

    pub(super) fn name(&self, index: usize, stages: &[Stage]) -> &'static str {
        let slower_follows = stages[index + 1..].iter().any(|s| s.mb_per_s < self.mb_per_s);
        if stages.len() == 1 {
            "one rate throughout"
        } else if self.folded.is_none() {
            // Whether it is a cache is for the reader to say: it may be a disk's outer tracks.
            if index == 0 { "the first rate" } else { "a later rate" }
        } else if self.folded.is_some_and(|folded| folded >= FOLDING_SHARE) {
            "folding while the host writes"
        } else if index == 0 && slower_follows {
            "cache"
        } else {
            "past the cache"
        }
    }
}

/// The stages of a sweep over the drive: cut where the rate changes.
pub(super) fn find_stages(position: &ByPosition, folding: &Folding) -> Vec<Stage> {
    let zones: Vec<(u64, Nanos)> = position.zones().filter(|z| z.0 > 0 && z.1 > 0).collect();
    let rates: Vec<f64> = zones.iter().map(|&(bytes, elapsed)| bytes as f64 / elapsed as f64).collect();
    if rates.is_empty() {
        return Vec::new();
    }
    let mut stages: Vec<Stage> = Vec::new();
    let mut from = 0;
    for to in stretches(&rates, SHORTEST_ZONES.min(rates.len()), MOST_STAGES) {
        let (bytes, elapsed) = zones[from..to].iter().fold((0, 0), |sum, z| (sum.0 + z.0, sum.1 + z.1));
        let from_bytes = stages.last().map_or(0, |s| s.to_bytes);
        let to_bytes = from_bytes + bytes;
        let mb_per_s = bytes as f64 / 1e6 / (elapsed as f64 / SECOND as f64);
        stages.push(Stage { from_bytes, to_bytes, mb_per_s, folded: folding.ratio(from_bytes, to_bytes) });
        from = to;
    }
    stages
}

/// Bytes that the device has folded out of its cache so far.
fn folded_bytes(counters: &Counters) -> u64 {
    counters.flash.map_or(0, |f| f.fold_program_bytes)
}
