//! What a datasheet says of a die, as a file in `catalog/nand`.

use serde::{Deserialize, Serialize};

use crate::rber::ErrorSpec;
use crate::{CellMode, CellModes, PageOrder, Power, ReducedMode};

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

/// A die type: geometry, timing, bus, wear, cell modes, power.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DieSpec {
    /// A line for people.
    pub description: String,
    pub geometry: Geometry,
    pub timing: Timing,
    pub bus: Bus,
    pub wear: Wear,
    /// Modes with fewer bits per cell in which its blocks can run.
    #[serde(default, skip_serializing_if = "CellModes::is_empty")]
    pub modes: CellModes,
    /// Without it, operations are taken to need no energy (ideal dies).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    /// Raw bit error rates. Only drives with an `[ecc]` section need them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorSpec>,
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
    /// The most bits that a cell holds, 1 to 3: the die's own mode, to which `timing` and `wear` belong.
    pub bits_per_cell: u32,
    /// Which pages of a block are which bit of their cells.
    pub page_order: PageOrder,
}

/// Array times of the die's own mode. Lists go from the first bit of a cell to the last: lower, upper (MLC), or LSB,
/// CSB, MSB (TLC); one entry for `uniform`.
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
        range("geometry.bits_per_cell", g.bits_per_cell, 1, 3)?;
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
        self.validate_page_order()?;
        let t = &self.timing;
        validate_times("timing", &t.read_us, &t.program_us, t.erase_ms, g.page_order.kinds())?;
        for (key, v, hi, unit) in [
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
        range("wear.rated_program_erase_cycles", self.wear.rated_program_erase_cycles, 1, 10_000_000)?;
        self.validate_modes()?;
        self.validate_power()?;
        self.validate_errors()
    }

    fn validate_page_order(&self) -> Result<(), SpecError> {
        let g = &self.geometry;
        let kinds = g.page_order.kinds() as u32;
        if kinds > 1 && kinds != g.bits_per_cell {
            let fitting = match g.bits_per_cell {
                1 => "`uniform`",
                2 => "`alternating`, `pairs-l95b` or `uniform`",
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
        if kinds == 3 && (!g.pages_per_block.is_multiple_of(3) || g.pages_per_block < 6) {
            return Err(SpecError::new(
                "geometry.pages_per_block",
                format!("{} pages are not whole word lines of three", g.pages_per_block),
                "use a multiple of 3, 6 or more",
            ));
        }
        Ok(())
    }

    /// Every mode in which a block can run needs its error rates, with one share for each kind of page.
    fn validate_errors(&self) -> Result<(), SpecError> {
        let Some(errors) = &self.errors else { return Ok(()) };
        errors.validate().map_err(|e| SpecError { key: format!("errors.{}", e.key), ..e })?;
        for mode in CellMode::ALL {
            let Some(spec) = self.mode(mode) else { continue };
            let key = format!("errors.{}", mode.to_string().to_lowercase());
            let Some(rates) = errors.mode(mode) else {
                return Err(SpecError::new(&key, format!("{mode} blocks have no error rates"), "add this section"));
            };
            let (kinds, given) = (spec.page_order.kinds(), rates.references_per_page.len());
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
        for (key, bits, mode) in [("modes.slc", 1, &self.modes.slc), ("modes.mlc", 2, &self.modes.mlc)] {
            let Some(ReducedMode { read_us, program_us, erase_ms, rated_program_erase_cycles: cycles }) = mode else {
                continue;
            };
            if bits >= self.geometry.bits_per_cell {
                return Err(SpecError::new(
                    key,
                    format!("a die of {} bit(s) per cell has no such reduced mode", self.geometry.bits_per_cell),
                    "describe the die's own mode in [timing] and [wear], and only modes of fewer bits here",
                ));
            }
            validate_times(key, read_us, program_us, *erase_ms, bits as usize)?;
            if !(1..=10_000_000).contains(cycles) {
                return Err(SpecError::new(
                    &format!("{key}.rated_program_erase_cycles"),
                    format!("{cycles} is impossible"),
                    "use 1 to 10000000",
                ));
            }
        }
        Ok(())
    }

    fn validate_power(&self) -> Result<(), SpecError> {
        let Some(p) = &self.power else { return Ok(()) };
        for (key, v, hi, unit) in [
            ("power.supply_v", p.supply_v, 20.0, "volts"),
            ("power.read_current_ma", p.read_current_ma, 1e4, "milliamperes"),
            ("power.program_current_ma", p.program_current_ma, 1e4, "milliamperes"),
            ("power.erase_current_ma", p.erase_current_ma, 1e4, "milliamperes"),
            ("power.standby_current_ua", p.standby_current_ua, 1e6, "microamperes"),
        ] {
            if !(0.0..=hi).contains(&v) {
                return Err(SpecError::new(key, format!("{v} is impossible"), format!("use 0 to {hi} {unit}")));
            }
        }
        Ok(())
    }
}

/// Checks the times of one cell mode.
fn validate_times(
    section: &str,
    read_us: &[f64],
    program_us: &[f64],
    erase_ms: f64,
    kinds: usize,
) -> Result<(), SpecError> {
    for (name, list) in [("read_us", read_us), ("program_us", program_us)] {
        let key = format!("{section}.{name}");
        if list.len() != kinds {
            return Err(SpecError::new(
                &key,
                format!("{} value(s) for {kinds} page kind(s)", list.len()),
                match kinds {
                    1 => "give one value",
                    2 => "give lower and upper, as in [850, 2300]",
                    _ => "give LSB, CSB and MSB, as in [500, 1400, 3600]",
                },
            ));
        }
        if let Some(v) = list.iter().find(|v| !(0.0..=1e6).contains(*v)) {
            return Err(SpecError::new(&key, format!("{v} us is impossible"), "use 0 to 1,000,000 microseconds"));
        }
    }
    if !(0.0..=1e4).contains(&erase_ms) {
        return Err(SpecError::new(
            &format!("{section}.erase_ms"),
            format!("{erase_ms} is impossible"),
            "use 0 to 10000 milliseconds",
        ));
    }
    Ok(())
}
