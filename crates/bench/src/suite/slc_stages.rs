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

/// A first stage at whose end this share of its bytes or more had not been programmed is that of the write buffer.
const BUFFERED_SHARE: f64 = 0.1;

/// Bytes since power on, all rising.
#[derive(Clone, Copy, Default)]
struct Reading {
    written: u64,
    folded: u64,
    /// For the host.
    programmed: u64,
}

impl Reading {
    fn of(written: u64, counters: &Counters) -> Self {
        let flash = counters.flash.unwrap_or_default();
        Reading { written, folded: flash.fold_program_bytes, programmed: flash.host_program_bytes }
    }
}

/// What the flash did by the amount written: read once a second.
#[derive(Default)]
pub(super) struct Traffic {
    written: u64,
    readings: Vec<Reading>,
    /// Whether the device tells what its flash does.
    told: bool,
}

impl Meter for Traffic {
    #[inline]
    fn record(&mut self, _job: usize, io: &Completion) {
        self.written += io.length_bytes;
    }

    fn tick(&mut self, _at: Nanos, counters: &dyn Fn() -> Counters) {
        self.readings.push(Reading::of(self.written, &counters()));
    }
}

impl Traffic {
    /// Counts from `before` on, and adds the end: `written` bytes in all, and what the counters gained meanwhile.
    pub(super) fn end(&mut self, before: &Counters, written: u64, gained: &Counters) {
        let before = Reading::of(0, before);
        for reading in &mut self.readings {
            reading.folded -= before.folded;
            reading.programmed -= before.programmed;
        }
        self.readings.push(Reading::of(written, gained));
        self.told = gained.flash.is_some();
    }

    /// Folded, and programmed for the host, over written bytes while the host wrote the bytes `from..to`: between the first reading
    /// and the last that lie within. The second in which one stage ends and the next begins is neither's; only where fewer than two
    /// readings lie within do they come from beyond. `None` of a device that does not tell.
    fn shares(&self, from: u64, to: u64) -> Option<Shares> {
        let reached = |bytes: u64| {
            let i = self.readings.partition_point(|r| r.written < bytes);
            self.readings.get(i).or(self.readings.last()).copied().unwrap_or_default()
        };
        let passed = |bytes: u64| {
            let i = self.readings.partition_point(|r| r.written <= bytes);
            if i == 0 { Reading::default() } else { self.readings[i - 1] }
        };
        let within = (if from == 0 { Reading::default() } else { reached(from) }, passed(to));
        let (a, b) = if within.0.written < within.1.written { within } else { (passed(from), reached(to)) };
        let share = |from: u64, to: u64| {
            if b.written > a.written { (to - from) as f64 / (b.written - a.written) as f64 } else { 0.0 }
        };
        self.told.then(|| Shares { folded: share(a.folded, b.folded), programmed: share(a.programmed, b.programmed) })
    }
}

/// Over the bytes that the host wrote.
#[derive(Clone, Copy)]
struct Shares {
    folded: f64,
    programmed: f64,
}

/// A stretch of the drive written at one rate.
pub(super) struct Stage {
    pub(super) from_bytes: u64,
    pub(super) to_bytes: u64,
    pub(super) mb_per_s: f64,
    /// `None` of a device that does not tell.
    shares: Option<Shares>,
}

impl Stage {
    pub(super) fn amount_bytes(&self) -> u64 {
        self.to_bytes - self.from_bytes
    }

    /// Bytes folded meanwhile, over bytes written by the host; `None` of a device that does not tell.
    pub(super) fn folded(&self) -> Option<f64> {
        self.shares.map(|shares| shares.folded)
    }

    pub(super) fn name(&self, index: usize, stages: &[Stage]) -> &'static str {
        let slower_follows = stages[index + 1..].iter().any(|s| s.mb_per_s < self.mb_per_s);
        let first = buffered(stages);
        if stages.len() == 1 {
            "one rate throughout"
        } else if self.shares.is_none() {
            // Whether it is a cache is for the reader to say: it may be a disk's outer tracks.
            if index == 0 { "the first rate" } else { "a later rate" }
        } else if self.folded().is_some_and(|folded| folded >= FOLDING_SHARE) {
            "folding while the host writes"
        } else if index < first {
            "write buffer"
        } else if index == first && slower_follows {
            "cache"
        } else if stages.len() - first == 1 {
            "past the write buffer"
        } else {
            "past the cache"
        }
    }
}

/// How many stages at the begin are those of the write buffer: one where it took a part of the first that can be told from rounding, of
/// what is programmed in the mean over all of them (a drive may compress), or none.
pub(super) fn buffered(stages: &[Stage]) -> usize {
    let programmed = |stage: &Stage| stage.shares.map_or(0.0, |shares| shares.programmed);
    let all: f64 = stages.iter().map(|stage| programmed(stage) * stage.amount_bytes() as f64).sum();
    let mean = all / stages.last().map_or(1.0, |last| last.to_bytes as f64);
    let [first, _, ..] = stages else { return 0 };
    usize::from(first.shares.is_some() && programmed(first) <= (1.0 - BUFFERED_SHARE) * mean)
}

/// The stages of a sweep over the drive: cut where the rate changes.
pub(super) fn find_stages(position: &ByPosition, traffic: &Traffic) -> Vec<Stage> {
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
        stages.push(Stage { from_bytes, to_bytes, mb_per_s, shares: traffic.shares(from_bytes, to_bytes) });
        from = to;
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stages of these amounts, rates, and shares folded and programmed.
    fn stages(of: &[(u64, f64, f64, f64)]) -> Vec<Stage> {
        let mut at = 0;
        let of = of.iter().map(|&(bytes, mb_per_s, folded, programmed)| {
            at += bytes;
            let shares = Some(Shares { folded, programmed });
            Stage { from_bytes: at - bytes, to_bytes: at, mb_per_s, shares }
        });
        of.collect()
    }

    fn names(of: &[(u64, f64, f64, f64)]) -> Vec<&'static str> {
        let stages = stages(of);
        stages.iter().enumerate().map(|(i, stage)| stage.name(i, &stages)).collect()
    }

    #[test]
    fn a_write_buffer_is_no_cache() {
        assert_eq!(names(&[(10, 500.0, 0.0, 1.0), (90, 100.0, 0.0, 1.0)]), ["cache", "past the cache"]);
        assert_eq!(names(&[(10, 500.0, 0.0, 0.5), (90, 100.0, 0.0, 1.0)]), ["write buffer", "past the write buffer"]);
        let three = [(10, 500.0, 0.0, 0.5), (50, 300.0, 0.0, 1.0), (40, 100.0, 0.0, 1.0)];
        assert_eq!(names(&three), ["write buffer", "cache", "past the cache"]);
        // Half of everything is compressed away.
        assert_eq!(names(&[(10, 500.0, 0.0, 0.5), (90, 100.0, 0.0, 0.5)]), ["cache", "past the cache"]);
        assert_eq!(names(&[(10, 500.0, 0.0, 0.5)]), ["one rate throughout"]);
        assert_eq!(buffered(&stages(&three)), 1);
    }

    #[test]
    fn shares_are_of_what_was_written_between_two_places() {
        let counters = |folded, programmed| Counters {
            flash: Some(ssdlab_device::FlashCounters {
                fold_program_bytes: folded,
                host_program_bytes: programmed,
                ..Default::default()
            }),
            ..Default::default()
        };
        let mut traffic = Traffic { written: 100, ..Traffic::default() };
        traffic.tick(0, &|| counters(10, 60));
        traffic.end(&counters(10, 10), 200, &counters(30, 200));
        let of = |from, to| traffic.shares(from, to).map(|shares| (shares.folded, shares.programmed));
        assert_eq!((of(0, 100), of(100, 200)), (Some((0.0, 0.5)), Some((0.3, 1.5))));
        // What lies between two readings is not of the stage that ends between them.
        assert_eq!((of(0, 130), of(130, 200)), (Some((0.0, 0.5)), Some((0.3, 1.5))));
    }
}
