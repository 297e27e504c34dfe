//! What a datasheet says of a die, as a file in `catalog/nand`.

use serde::{Deserialize, Serialize};

/// A value in a drive or die file that cannot be built, named by its key so that the loader can point at the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}; {expected}")]
pub struct SpecError {
    /// Dotted path of the key, such as `geometry.planes`.
    pub key: String,
    pub problem: String,
    /// What would be right.
    pub expected: String,
}

impl SpecError {
    #[must_use]
    pub fn new(key: &str, problem: impl Into<String>, expected: impl Into<String>) -> Self {
        SpecError { key: key.to_owned(), problem: problem.into(), expected: expected.into() }
    }
}

/// A die type: geometry, timing, bus, wear.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DieSpec {
    /// A line for people.
    pub description: String,
    pub geometry: Geometry,
    pub timing: Timing,
    pub bus: Bus,
    pub wear: Wear,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    pub planes: u32,
    /// Physical blocks of one plane, the surplus for bad blocks included.
    pub blocks_per_plane: u32,
    pub pages_per_block: u32,
    /// Data bytes of a page; a multiple of 4096.
    pub page_bytes: u32,
    /// Spare bytes of a page (ECC, logical address, sequence). They are transferred with the data.
    pub spare_bytes: u32,
    pub bits_per_cell: u32,
    /// Which pages of a block are lower and which upper.
    pub page_order: PageOrder,
}

/// Order in which the pages of a word line are programmed, as page numbers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageOrder {
    /// All pages alike: one bit per cell, or an ideal die.
    Uniform,
    /// Lower pages run one word line ahead: L L U L U … L U U.
    Alternating,
    /// Micron L95B: 0–5, 7, 8 lower, pairs alternating from page 10, eight edge pages without an upper partner.
    PairsL95b,
}

/// Array times. Lists go from the fastest page kind to the slowest: lower, upper (MLC); one entry for `uniform`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// tR by page kind, microseconds.
    pub read_us: Vec<f64>,
    /// tPROG by page kind, microseconds; a multi-plane program takes the same.
    pub program_us: Vec<f64>,
    /// tBERS, milliseconds.
    pub erase_ms: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// Million transfers of one byte a second; 0 stands for a bus that takes no time (ideal dies only).
    pub mega_transfers_per_s: f64,
    /// Command, address and status cycles of one operation, microseconds.
    pub command_us: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wear {
    pub rated_program_erase_cycles: u32,
    /// Blocks in ten thousand that are marked bad at the factory.
    pub factory_bad_blocks_per_10000: u32,
}

impl PageOrder {
    /// Index into the timing lists for page `page` of a block of `pages`.
    #[must_use]
    pub fn kind_index(self, page: u32, pages: u32) -> usize {
        match self {
            PageOrder::Uniform => 0,
            PageOrder::Alternating => {
                // 0, 1, 3, 5 … are lower; 2, 4, 6 … and the last are upper.
                usize::from(page + 1 == pages || (page != 0 && page.is_multiple_of(2)))
            }
            PageOrder::PairsL95b => {
                // FEMU's profile of an L95B: edges listed one by one, the middle in pairs L L U U from page 10.
                let tail = pages - 10;
                let upper = if page < 10 {
                    matches!(page, 6 | 9)
                } else if page < tail {
                    (page - 10) / 2 % 2 == 1
                } else {
                    // Pages 502..511 of 512: lower 502, 503, 506, 507, 509, 510.
                    matches!(page - tail, 2 | 3 | 6 | 9)
                };
                usize::from(upper)
            }
        }
    }
}

impl DieSpec {
    /// 4 KiB units in one page.
    #[must_use]
    pub fn units_per_page(&self) -> u32 {
        self.geometry.page_bytes / 4096
    }

    /// Bytes of user data in the whole die, every physical block counted.
    #[must_use]
    pub fn raw_bytes(&self) -> u64 {
        let g = &self.geometry;
        u64::from(g.planes) * u64::from(g.blocks_per_plane) * u64::from(g.pages_per_block) * u64::from(g.page_bytes)
    }

    /// Checks what no single field can.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self) -> Result<(), SpecError> {
        let g = &self.geometry;
        let range = |key: &str, v: u32, lo: u32, hi: u32| {
            if (lo..=hi).contains(&v) {
                Ok(())
            } else {
                Err(SpecError::new(key, format!("{v} is impossible"), format!("use {lo} to {hi}")))
            }
        };
        range("geometry.planes", g.planes, 1, 4)?;
        range("geometry.blocks_per_plane", g.blocks_per_plane, 4, 1 << 20)?;
        range("geometry.pages_per_block", g.pages_per_block, 4, 4096)?;
        range("geometry.page_bytes", g.page_bytes, 4096, 65_536)?;
        range("geometry.spare_bytes", g.spare_bytes, 0, g.page_bytes)?;
        range("geometry.bits_per_cell", g.bits_per_cell, 1, 2)?;
        if !g.page_bytes.is_multiple_of(4096) {
            return Err(SpecError::new(
                "geometry.page_bytes",
                format!("{} is not a multiple of the 4096-byte mapping unit", g.page_bytes),
                "use 4096, 8192 or 16384",
            ));
        }
        let row_units = g.planes * (g.page_bytes / 4096);
        if !row_units.is_power_of_two() || row_units > 64 {
            return Err(SpecError::new(
                "geometry.page_bytes",
                format!("{} plane(s) of {} bytes make {row_units} units of 4096 bytes a row", g.planes, g.page_bytes),
                "planes x page_bytes must be 1, 2, 4, 8, 16, 32 or 64 units",
            ));
        }
        if g.page_order == PageOrder::PairsL95b && g.pages_per_block < 32 {
            return Err(SpecError::new(
                "geometry.page_order",
                "this order needs its 20 edge pages",
                "use at least 32 pages_per_block, or `alternating`",
            ));
        }
        let kinds = if g.page_order == PageOrder::Uniform { 1 } else { 2 };
        for (key, list) in [("timing.read_us", &self.timing.read_us), ("timing.program_us", &self.timing.program_us)] {
            if list.len() != kinds {
                return Err(SpecError::new(
                    key,
                    format!("{} value(s) for {kinds} page kind(s)", list.len()),
                    if kinds == 1 { "give one value" } else { "give lower and upper, as in [850, 2300]" },
                ));
            }
            if let Some(v) = list.iter().find(|v| !(0.0..=1e6).contains(*v)) {
                return Err(SpecError::new(key, format!("{v} us is impossible"), "use 0 to 1,000,000 microseconds"));
            }
        }
        for (key, v, hi, unit) in [
            ("timing.erase_ms", self.timing.erase_ms, 1e4, "milliseconds"),
            ("bus.mega_transfers_per_s", self.bus.mega_transfers_per_s, 1e5, "million transfers a second (0: no time)"),
            ("bus.command_us", self.bus.command_us, 1e4, "microseconds"),
        ] {
            if !(0.0..=hi).contains(&v) {
                return Err(SpecError::new(key, format!("{v} is impossible"), format!("use 0 to {hi} {unit}")));
            }
        }
        let rate = self.bus.mega_transfers_per_s;
        if rate != 0.0 && rate < 0.01 {
            return Err(SpecError::new(
                "bus.mega_transfers_per_s",
                format!("{rate} million transfers a second would take minutes for a page"),
                "use at least 0.01, or 0 for a bus that takes no time",
            ));
        }
        range("wear.factory_bad_blocks_per_10000", self.wear.factory_bad_blocks_per_10000, 0, 1000)?;
        range("wear.rated_program_erase_cycles", self.wear.rated_program_erase_cycles, 1, 10_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l95b_has_260_lower_and_252_upper_pages_and_starts_and_ends_as_profiled() {
        let kinds: Vec<usize> = (0..512).map(|p| PageOrder::PairsL95b.kind_index(p, 512)).collect();
        assert_eq!(kinds.iter().filter(|&&k| k == 0).count(), 260);
        let upper: Vec<usize> = (0..512).filter(|&p| kinds[p] == 1).collect();
        assert_eq!(&upper[..4], &[6, 9, 12, 13]);
        assert_eq!(&upper[upper.len() - 4..], &[504, 505, 508, 511]);
    }

    #[test]
    fn alternating_pages_are_half_lower_and_every_upper_follows_its_lower() {
        let kinds: Vec<usize> = (0..256).map(|p| PageOrder::Alternating.kind_index(p, 256)).collect();
        assert_eq!(kinds.iter().sum::<usize>(), 128);
        let (mut lower, mut upper) = (0, 0);
        for k in kinds {
            if k == 0 {
                lower += 1
            } else {
                upper += 1
            }
            assert!(upper <= lower);
        }
    }
}
