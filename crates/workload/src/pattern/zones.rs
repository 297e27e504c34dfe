//! Zoned popularity: shares of the accesses to shares of the span.

use ssdlab_core::Rng;

use super::PatternError;

/// How much of the span a zone takes; zones follow each other from the start of the span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneExtent {
    /// Per cent of the span.
    Percent(u32),
    Bytes(u64),
}

/// A part of the span and its share of the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    pub access_percent: u32,
    pub extent: ZoneExtent,
}

/// Zones as ranges of aligned places: cumulative per cent, first place, number of places.
#[derive(Clone, Debug)]
pub(super) struct ZoneDraw(Vec<(u64, u64, u64)>);

impl ZoneDraw {
    /// `span` bytes with a place every `align` bytes, where the smallest block is `block` bytes.
    pub fn new(zones: &[Zone], span: u64, align: u64, block: u64) -> Result<Self, PatternError> {
        let access: u64 = zones.iter().map(|z| u64::from(z.access_percent)).sum();
        if access != 100 {
            return Err(PatternError::ZoneAccess { sum: access });
        }
        let covered: u64 = zones
            .iter()
            .map(|z| match z.extent {
                ZoneExtent::Percent(p) => u64::from(p),
                ZoneExtent::Bytes(_) => 0,
            })
            .sum();
        if covered > 100 {
            return Err(PatternError::ZoneExtent { sum: covered });
        }
        let (mut ranges, mut start, mut sum) = (Vec::new(), 0u64, 0);
        for (i, zone) in zones.iter().enumerate() {
            let length = match zone.extent {
                ZoneExtent::Percent(p) => (u128::from(span) * u128::from(p) / 100) as u64,
                ZoneExtent::Bytes(n) => n,
            };
            let end = start.saturating_add(length);
            if end > span {
                return Err(PatternError::ZoneBeyond { zone: i + 1, end, span });
            }
            if zone.access_percent > 0 {
                let (first, last) = (start.div_ceil(align), end / align);
                if first >= last || length < block {
                    return Err(PatternError::TooSmall { what: "a zone", block, span: length });
                }
                sum += u64::from(zone.access_percent);
                ranges.push((sum, first, last - first));
            }
            start = end;
        }
        Ok(ZoneDraw(ranges))
    }

    /// The next place.
    #[inline]
    pub fn place(&self, rng: &mut Rng) -> u64 {
        let at = rng.below(100);
        let mut i = 0;
        while self.0[i].0 <= at {
            i += 1;
        }
        self.0[i].1 + rng.below(self.0[i].2)
    }
}
