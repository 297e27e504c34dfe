//! What a datasheet says of a die, as a file in `catalog/nand`.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_keys::{KeyTable, SpecError};

use crate::rber::ErrorSpec;
use crate::{CellMode, CellModes, Features, PageOrder, Power, ReducedMode, VariationSpec};

/// A die type: geometry, timing, bus, wear, cell modes, power.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Die"))]
pub struct DieSpec {
    /// A line for people.
    pub description: String,
    pub geometry: Geometry,
    pub timing: Timing,
    pub bus: Bus,
    pub wear: Wear,
    #[serde(default, skip_serializing_if = "CellModes::is_empty")]
    pub modes: CellModes,
    #[serde(default, skip_serializing_if = "Features::is_plain")]
    pub features: Features,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation: Option<VariationSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorSpec>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Die geometry"))]
pub struct Geometry {
    /// Planes of the die.
    #[schemars(range(min = 1, max = 4))]
    pub planes: u32,
    /// Physical blocks of a plane, the surplus for bad blocks included.
    #[schemars(range(min = 4, max = 1_048_576))]
    pub blocks_per_plane: u32,
    /// Pages of a block.
    #[schemars(range(min = 4, max = 4096))]
    pub pages_per_block: u32,
    /// Data bytes of a page.
    #[schemars(range(min = 4096, max = 65_536), extend("multipleOf" = 4096))]
    pub page_bytes: u32,
    /// Spare bytes of a page (ECC, logical address, sequence); no more than its data bytes. They are transferred with
    /// the data.
    pub spare_bytes: u32,
    /// The most bits that a cell holds: the die's own cell mode, to which `timing` and `wear` belong.
    #[schemars(range(min = 1, max = 4))]
    pub bits_per_cell: u32,
    /// Which page of a block is which bit of its cells, in the order of programming.
    pub page_order: PageOrder,
}

/// Array times of the die's own mode. Lists go from the first bit of a cell to the last: lower, upper (MLC), or LSB,
/// CSB, MSB (TLC), and the fourth (QLC); one value for `uniform`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Die timing"))]
pub struct Timing {
    /// tR by kind of page.
    #[schemars(inner(range(min = 0.0, max = 1e6)))]
    pub read_us: Vec<f64>,
    /// tPROG by kind of page; a program of several planes takes the same time.
    #[schemars(inner(range(min = 0.0, max = 1e6)))]
    pub program_us: Vec<f64>,
    /// tBERS.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub erase_ms: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Flash bus"))]
pub struct Bus {
    /// Million transfers of one byte a second, at least 0.01; 0 stands for a bus that takes no time (ideal dies only).
    #[schemars(range(min = 0.0, max = 1e5), extend("x-heading" = "speed"))]
    pub mega_transfers_per_s: f64,
    /// Command, address and status cycles of one operation.
    #[schemars(range(min = 0.0, max = 1e4))]
    pub command_us: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Die wear"))]
pub struct Wear {
    /// Rated endurance.
    #[schemars(range(min = 1, max = 10_000_000), extend("x-heading" = "rated program/erase", "x-unit" = "cycles"))]
    pub rated_program_erase_cycles: u32,
    /// Blocks that are marked bad at the factory.
    #[schemars(range(min = 0, max = 1000))]
    pub factory_bad_blocks_per_10000: u32,
}

/// Every key of a die file.
#[must_use]
pub fn die_keys() -> &'static KeyTable {
    static KEYS: LazyLock<KeyTable> = LazyLock::new(KeyTable::of::<DieSpec>);
    &KEYS
}

impl DieSpec {
    /// Units of so many bytes in one page.
    #[must_use]
    pub fn units_per_page(&self, unit_bytes: u32) -> u32 {
        self.geometry.page_bytes / unit_bytes
    }

    /// Bytes of user data in the whole die, every physical block counted.
    #[must_use]
    pub fn raw_bytes(&self) -> u64 {
        let g = &self.geometry;
        u64::from(g.planes) * u64::from(g.blocks_per_plane) * u64::from(g.pages_per_block) * u64::from(g.page_bytes)
    }

    /// Checks every value by itself, then what no single value can tell.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self) -> Result<(), SpecError> {
        die_keys().check(self)?;
        let g = &self.geometry;
        if g.spare_bytes > g.page_bytes {
            return Err(SpecError::new(
                "geometry.spare_bytes",
                format!("{} spare bytes on a page of {} bytes", g.spare_bytes, g.page_bytes),
                format!("use 0 to {}", g.page_bytes),
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
        self.validate_page_order()?;
        let t = &self.timing;
        validate_times("timing", &t.read_us, &t.program_us, g.page_order.kinds(g.bits_per_cell))?;
        let rate = self.bus.mega_transfers_per_s;
        if rate != 0.0 && rate < 0.01 {
            return Err(SpecError::new(
                "bus.mega_transfers_per_s",
                format!("{rate} million transfers a second would take minutes for a page"),
                "use at least 0.01, or 0 for a bus that takes no time",
            ));
        }
        self.validate_modes()?;
        self.validate_errors()
    }

    /// Times that can be simulated, and look like slips of unit: of flash none is so.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        /// No flash of the catalog takes more than a tenth of it.
        const LONGEST_ERASE_MS: f64 = 100.0;
        let own = ("timing", &self.timing.read_us, &self.timing.program_us, self.timing.erase_ms);
        let reduced = [("modes.slc", &self.modes.slc), ("modes.mlc", &self.modes.mlc), ("modes.tlc", &self.modes.tlc)];
        let reduced = reduced.into_iter().filter_map(|(key, mode)| {
            let mode = mode.as_ref()?;
            Some((key, &mode.read_us, &mode.program_us, mode.erase_ms))
        });
        let mut doubts = Vec::new();
        for (section, read_us, program_us, erase_ms) in std::iter::once(own).chain(reduced) {
            let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
            let (read_us, program_us) = (least(read_us), least(program_us));
            // Nothing of what takes no time was mistyped.
            if program_us > 0.0 && program_us < read_us {
                doubts.push(format!(
                    "{section}.program_us: a program of {program_us} µs is shorter than a read of {read_us} µs"
                ));
            }
            if erase_ms > 0.0 && erase_ms * 1e3 < read_us {
                doubts.push(format!(
                    "{section}.erase_ms: an erase of {erase_ms} ms is shorter than a read of {read_us} µs"
                ));
            }
            if erase_ms > LONGEST_ERASE_MS {
                doubts.push(format!(
                    "{section}.erase_ms: an erase of {erase_ms} ms is longer than that of any flash for storage"
                ));
            }
        }
        doubts
    }

    fn validate_page_order(&self) -> Result<(), SpecError> {
        let g = &self.geometry;
        let kinds = g.page_order.kinds(g.bits_per_cell) as u32;
        if kinds > 1 && kinds != g.bits_per_cell {
            let fitting = match g.bits_per_cell {
                1 => "`uniform`",
                2 => "`alternating`, `pairs-l95b`, `word-lines` or `uniform`",
                4 => "`word-lines` or `uniform`",
                _ => "`triplets`, `word-lines` or `uniform`",
            };
            return Err(SpecError::new(
                "geometry.page_order",
                format!("an order of {kinds} bits per cell on a die of {}", g.bits_per_cell),
                format!("use {fitting}, or set bits_per_cell to {kinds}"),
            ));
        }
        if g.page_order == PageOrder::PairsL95b && g.pages_per_block < 32 {
            return Err(SpecError::new(
                "geometry.page_order",
                "this order needs its 20 edge pages",
                "use at least 32 pages_per_block, or `alternating`",
            ));
        }
        let in_word_lines = matches!(g.page_order, PageOrder::Triplets | PageOrder::WordLines);
        if in_word_lines && (!g.pages_per_block.is_multiple_of(kinds) || g.pages_per_block < 2 * kinds) {
            return Err(SpecError::new(
                "geometry.pages_per_block",
                format!("{} pages are not whole word lines of {kinds}", g.pages_per_block),
                format!("use a multiple of {kinds}, {} or more", 2 * kinds),
            ));
        }
        Ok(())
    }

    /// Every mode in which a block can run needs its error rates, with one share for each kind of page.
    fn validate_errors(&self) -> Result<(), SpecError> {
        let Some(errors) = &self.errors else { return Ok(()) };
        for mode in CellMode::ALL {
            let Some(spec) = self.mode(mode) else { continue };
            let key = format!("errors.{}", mode.to_string().to_lowercase());
            let Some(rates) = errors.mode(mode) else {
                return Err(SpecError::new(&key, format!("{mode} blocks have no error rates"), "add this section"));
            };
            let (kinds, given) = (spec.page_order.kinds(mode.bits()), rates.references_per_page.len());
            if given != kinds {
                return Err(SpecError::new(
                    &format!("{key}.references_per_page"),
                    format!("{given} value(s) for {kinds} page kind(s)"),
                    "give one for each kind of page",
                ));
            }
        }
        Ok(())
    }

    fn validate_modes(&self) -> Result<(), SpecError> {
        let modes = [("modes.slc", &self.modes.slc), ("modes.mlc", &self.modes.mlc), ("modes.tlc", &self.modes.tlc)];
        for (bits, (key, mode)) in (1..).zip(modes) {
            let Some(ReducedMode { read_us, program_us, .. }) = mode else { continue };
            if bits >= self.geometry.bits_per_cell {
                return Err(SpecError::new(
                    key,
                    format!("a die of {} bit(s) per cell has no such reduced mode", self.geometry.bits_per_cell),
                    "describe the die's own mode in [timing] and [wear], and only modes of fewer bits here",
                ));
            }
            validate_times(key, read_us, program_us, bits as usize)?;
        }
        Ok(())
    }
}

/// Checks that there is a time for each kind of page.
fn validate_times(section: &str, read_us: &[f64], program_us: &[f64], kinds: usize) -> Result<(), SpecError> {
    for (name, list) in [("read_us", read_us), ("program_us", program_us)] {
        if list.len() != kinds {
            return Err(SpecError::new(
                &format!("{section}.{name}"),
                format!("{} value(s) for {kinds} page kind(s)", list.len()),
                match kinds {
                    1 => "give one value",
                    2 => "give lower and upper, as in [850, 2300]",
                    3 => "give LSB, CSB and MSB, as in [500, 1400, 3600]",
                    _ => "give one for each bit of a cell, as in [2000, 2000, 2000, 2000]",
                },
            ));
        }
    }
    Ok(())
}
