//! The rate of a sequential pass over the address range: what HD Tach draws.

use ssdlab_core::{Nanos, SECOND};
use ssdlab_device::Completion;

use super::Meter;

/// The address range cut into equal zones; each zone's bytes and the time that passed while they were transferred.
/// For sequential passes: time between two completions counts for the zone of the later one.
#[derive(Clone, Debug)]
pub struct ByPosition {
    zone_bytes: u64,
    zones: Vec<Zone>,
    last: Nanos,
}

#[derive(Clone, Copy, Debug, Default)]
struct Zone {
    bytes: u64,
    elapsed: Nanos,
}

impl ByPosition {
    /// `zones` equal zones of `0..span_bytes`; the last may be a little smaller.
    ///
    /// # Panics
    /// If there is no zone or no span.
    #[must_use]
    pub fn new(span_bytes: u64, zones: u64) -> Self {
        assert!(zones > 0 && span_bytes > 0, "a span of {span_bytes} bytes in {zones} zones");
        let zone_bytes = span_bytes.div_ceil(zones);
        let count = span_bytes.div_ceil(zone_bytes) as usize;
        ByPosition { zone_bytes, zones: vec![Zone::default(); count], last: 0 }
    }

    /// The middle of each zone in bytes, and its rate in decimal MB/s. Zones without traffic are left out, and those that took no
    /// time: they have no rate.
    #[must_use]
    pub fn curve(&self) -> Vec<[f64; 2]> {
        let middle = |i: usize| (i as f64 + 0.5) * self.zone_bytes as f64;
        let has_rate = |z: &Zone| z.bytes > 0 && z.elapsed > 0;
        self.zones.iter().enumerate().filter(|(_, z)| has_rate(z)).map(|(i, z)| [middle(i), z.mb_per_s()]).collect()
    }

    /// Bytes of each zone and the time that passed while they were transferred, in the order of their addresses.
    pub fn zones(&self) -> impl Iterator<Item = (u64, Nanos)> + '_ {
        self.zones.iter().map(|z| (z.bytes, z.elapsed))
    }

    /// The rate over the whole pass, in decimal MB/s.
    #[must_use]
    pub fn mean_mb_per_s(&self) -> f64 {
        self.mean_over(0..self.zones.len())
    }

    /// Mean rates of `parts` equal stretches of the range (fewer, if there are fewer zones).
    #[must_use]
    pub fn parts(&self, parts: usize) -> Vec<f64> {
        let n = self.zones.len();
        let parts = parts.min(n);
        (0..parts).map(|i| self.mean_over(i * n / parts..(i + 1) * n / parts)).collect()
    }

    fn mean_over(&self, range: std::ops::Range<usize>) -> f64 {
        let sum = self.zones[range]
            .iter()
            .fold(Zone::default(), |a, z| Zone { bytes: a.bytes + z.bytes, elapsed: a.elapsed + z.elapsed });
        sum.mb_per_s()
    }
}

impl Zone {
    fn mb_per_s(&self) -> f64 {
        if self.elapsed == 0 { 0.0 } else { self.bytes as f64 / 1e6 / (self.elapsed as f64 / SECOND as f64) }
    }
}

impl Meter for ByPosition {
    fn begin(&mut self, _job: usize, at: Nanos) {
        self.last = at;
    }

    #[inline]
    fn record(&mut self, _job: usize, io: &Completion) {
        let last_zone = self.zones.len() - 1;
        let zone = &mut self.zones[((io.offset_bytes / self.zone_bytes) as usize).min(last_zone)];
        zone.bytes += io.length_bytes;
        zone.elapsed += io.completed - self.last;
        self.last = io.completed;
    }
}
