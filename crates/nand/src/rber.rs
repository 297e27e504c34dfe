//! Raw bit errors: how many bits are wrong before any correction, by wear, age, reads and bits per cell.
//!
//! For a block at `c` times its reference cycles, holding data for `y` years at 30 °C, read `r` million times since its
//! erase:
//!
//! ```text
//! RBER = fresh + wear c^k + (retention c^m + drift) y^n + disturb c^p r^q
//! ```
//!
//! This is the power-law form of MQSim-JW (its fit of a 72-layer TLC die has k = 2.05, m = 0.14, n = 0.54, p = 0.33,
//! q = 1.71), with every coefficient stated as the error rate at a reference that a datasheet would name. A share of
//! the retention and disturb errors comes from distributions that have moved past the read references: shifted
//! references win those back. The rest comes from distributions grown wider, and stays.
//!
//! Kinds of pages of one word line differ by the number of references that a read of them needs, and every reference
//! makes its share of errors. Blocks differ by a factor, log-normally distributed and cut at three deviations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_core::Rng;

use crate::CellMode;

/// Hours in the year that retention is stated for.
pub const YEAR_HOURS: f64 = 8760.0;

/// Raw bit error rates of a die, by cell mode: a section for each mode in which its blocks can run. Only drives with
/// `[ecc]` need them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Bit errors"))]
pub struct ErrorSpec {
    /// Error rates at one bit per cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-heading" = "Bit errors at one bit a cell"))]
    pub slc: Option<ModeErrors>,
    /// Error rates at two bits per cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-heading" = "Bit errors at two bits a cell"))]
    pub mlc: Option<ModeErrors>,
    /// Error rates at three bits per cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-heading" = "Bit errors at three bits a cell"))]
    pub tlc: Option<ModeErrors>,
    /// Error rates at four bits per cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-heading" = "Bit errors at four bits a cell"))]
    pub qlc: Option<ModeErrors>,
    /// Deviation of the natural logarithm of a block's error rate among the blocks of a die.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub block_spread: f64,
}

/// Error rates of a die in one cell mode. Rates are shares of wrong bits, means over the pages of a word line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Bit errors in one cell mode"))]
pub struct ModeErrors {
    /// Program/erase cycles at which the rates below are stated: the rated ones.
    #[schemars(range(min = 1.0, max = 1e7), extend("x-heading" = "reference", "x-unit" = "cycles"))]
    pub reference_cycles: f64,
    /// Error rate of a new block, just written.
    #[schemars(range(min = 0.0, max = 0.1), extend("x-heading" = "fresh"))]
    pub fresh_rber: f64,
    /// Added by wear at the reference cycles.
    #[schemars(range(min = 0.0, max = 0.1), extend("x-heading" = "wear"))]
    pub wear_rber: f64,
    /// Power of the cycles by which that grows; 0: as much at any wear.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub wear_exponent: f64,
    /// Added by a year at 30 °C at the reference cycles.
    #[schemars(range(min = 0.0, max = 0.1), extend("x-heading" = "retention", "x-unit" = "per year"))]
    pub retention_rber_per_year: f64,
    /// Power of the cycles by which that grows; 0: as much at any wear.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub retention_cycle_exponent: f64,
    /// Power of the years by which that grows.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub retention_time_exponent: f64,
    /// Added by a year at 30 °C however new a block is, by the same power of the years: charge that all cells lose alike.
    /// Shifted references win all of it back.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0.0, max = 0.1), extend("x-heading" = "drift of new cells", "x-unit" = "per year"))]
    pub drift_rber_per_year: f64,
    /// Added by a million reads of the block at the reference cycles.
    #[schemars(range(min = 0.0, max = 0.1), extend("x-heading" = "disturb", "x-unit" = "per million reads"))]
    pub disturb_rber_per_million_reads: f64,
    /// Power of the cycles by which that grows; 0: as much at any wear.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub disturb_cycle_exponent: f64,
    /// Power of the reads by which that grows.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub disturb_read_exponent: f64,
    /// Share of retention and disturb errors that shifted references win back.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub recoverable_percent: f64,
    /// References that a read of each kind of page compares with, from the first bit of a cell to the last: `[1]`,
    /// `[1, 2]` (MLC), `[1, 2, 4]` (TLC), `[1, 2, 4, 8]` or `[4, 4, 4, 3]` (QLC).
    #[schemars(inner(range(min = 1, max = 15)), length(min = 1))]
    pub references_per_page: Vec<u32>,
}

fn is_zero(rate: &f64) -> bool {
    *rate == 0.0
}

/// What a block has been through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stress {
    /// Program/erase cycles, as the mode's own (see [`ErrorSpec::equivalent_cycles`]).
    pub cycles: f64,
    /// Time since the data were written, as hours at 30 °C (see [`hours_at_30_celsius`]).
    pub retention_hours: f64,
    /// Page reads of the block since its erase.
    pub block_reads: f64,
}

/// Raw bit error rate of a page, by what can be done about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rber {
    /// Errors that remain at the best references.
    pub settled: f64,
    /// Errors on top of them because the references no longer fit.
    pub shifted: f64,
}

impl Rber {
    /// A page whose references fit.
    #[must_use]
    pub fn settled(rber: f64) -> Self {
        Rber { settled: rber, shifted: 0.0 }
    }

    /// Error rate of a plain read.
    #[must_use]
    pub fn total(self) -> f64 {
        (self.settled + self.shifted).min(HALF)
    }

    /// This page's rate on a block or a kind of page that has `factor` times as many errors.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Rber { settled: self.settled * factor, shifted: self.shifted * factor }
    }
}

/// A page without any information; rates stop just below.
pub const HALF: f64 = 0.499;

/// Time at 30 °C that loses as much charge as `hours` at `celsius`: Arrhenius with 1.1 eV, the activation energy that
/// JESD218 uses (so 500 h at 52 °C, or 96 h at 66 °C, stand for a year).
#[must_use]
pub fn hours_at_30_celsius(hours: f64, celsius: f64) -> f64 {
    const ACTIVATION_EV: f64 = 1.1;
    const BOLTZMANN_EV_PER_KELVIN: f64 = 8.617_333_262e-5;
    let inverse = |c: f64| 1.0 / (c + 273.15);
    hours * libm::exp(ACTIVATION_EV / BOLTZMANN_EV_PER_KELVIN * (inverse(30.0) - inverse(celsius)))
}

impl ModeErrors {
    /// Mean raw bit error rate of the pages of a typical block after `stress`.
    #[must_use]
    pub fn rber(&self, stress: &Stress) -> Rber {
        let c = (stress.cycles / self.reference_cycles).max(0.0);
        // Nothing is lost in no time and to no read. What does not depend on cycles does not depend on there being any: 0⁰ is 1.
        let power = |base: f64, exponent: f64| if base > 0.0 { libm::pow(base, exponent) } else { 0.0 };
        let by_cycles = |exponent: f64| libm::pow(c, exponent);
        let wear = self.wear_rber * by_cycles(self.wear_exponent);
        let age = power(stress.retention_hours / YEAR_HOURS, self.retention_time_exponent);
        let retention = self.retention_rber_per_year * by_cycles(self.retention_cycle_exponent) * age;
        let drift = self.drift_rber_per_year * age;
        let disturb = self.disturb_rber_per_million_reads
            * by_cycles(self.disturb_cycle_exponent)
            * power(stress.block_reads / 1e6, self.disturb_read_exponent);
        let moved = (retention + disturb) * self.recoverable_percent / 100.0;
        let settled = (self.fresh_rber + wear + retention + disturb - moved).min(HALF);
        Rber { settled, shifted: (moved + drift).min(HALF - settled) }
    }

    /// Error rate of each kind of page relative to the mean.
    pub fn page_factors(&self) -> impl Iterator<Item = f64> + '_ {
        let sum: u32 = self.references_per_page.iter().sum();
        let kinds = self.references_per_page.len() as f64;
        self.references_per_page.iter().map(move |&r| f64::from(r) * kinds / f64::from(sum))
    }
}

impl ErrorSpec {
    /// Planar NAND of about 20 nm. **Estimates throughout**, for dies that nobody has published a fit of:
    ///
    /// - MLC 1e-6 when new, 1e-4 at 3,000 cycles, 1e-3 after a further year; TLC 1e-5 when new, 1e-3 at 1,000 cycles
    ///   after a year: orders of magnitude at which the BCH of their time (40–72 bits/KiB) just holds.
    /// - Powers of wear and time: MQSim-JW's fit of a 72-layer TLC die (2.05 and 0.54). Power of cycles in retention:
    ///   1.4, between that fit's 0.14 (charge trap) and a proportionality to wear.
    /// - Read disturb: proportional to reads, 1.6e-9 a read at 3,000 cycles, growing with cycles to the power of about
    ///   1.4, of the order reported for 2Y-nm MLC (Cai et al., DSN 2015); twice that for TLC's narrower windows.
    /// - One bit per cell: ten times the cycles of MLC (Grupp et al., FAST 2012: each further bit costs 10–20 times).
    #[must_use]
    pub fn planar_estimate() -> Self {
        let mode = |cycles: f64, fresh: f64, wear: f64, year: f64, disturb: f64, references: &[u32]| ModeErrors {
            reference_cycles: cycles,
            fresh_rber: fresh,
            wear_rber: wear,
            wear_exponent: 2.05,
            retention_rber_per_year: year,
            retention_cycle_exponent: 1.4,
            retention_time_exponent: 0.54,
            drift_rber_per_year: 0.0,
            disturb_rber_per_million_reads: disturb,
            disturb_cycle_exponent: 1.4,
            disturb_read_exponent: 1.0,
            recoverable_percent: 70.0,
            references_per_page: references.to_vec(),
        };
        ErrorSpec {
            slc: Some(mode(30_000.0, 1e-8, 1e-5, 9e-5, 1e-4, &[1])),
            mlc: Some(mode(3000.0, 1e-6, 1e-4, 9e-4, 1.6e-3, &[1, 2])),
            tlc: Some(mode(1000.0, 1e-5, 1.9e-4, 8e-4, 3.2e-3, &[1, 2, 4])),
            qlc: None,
            block_spread: 0.2,
        }
    }

    /// Error rates in `mode`, if the die can run at it.
    #[must_use]
    pub fn mode(&self, mode: CellMode) -> Option<&ModeErrors> {
        match mode {
            CellMode::Slc => self.slc.as_ref(),
            CellMode::Mlc => self.mlc.as_ref(),
            CellMode::Tlc => self.tlc.as_ref(),
            CellMode::Qlc => self.qlc.as_ref(),
        }
    }

    /// Wear of a block that ran at several modes, as cycles of `mode`: every cycle takes its share of its own mode's
    /// reference cycles. `cycles` is in the order of [`CellMode::ALL`]; modes that the die cannot run at wear nothing.
    #[must_use]
    pub fn equivalent_cycles(&self, mode: CellMode, cycles: [f64; CellMode::COUNT]) -> f64 {
        let reference = |m: CellMode| self.mode(m).map(|e| e.reference_cycles);
        let shares = CellMode::ALL.into_iter().zip(cycles).filter_map(|(m, c)| Some(c / reference(m)?));
        shares.sum::<f64>() * reference(mode).unwrap_or(0.0)
    }

    /// Draws a block's factor on its error rate: log-normal around one, cut at three deviations. Blocks draw in order
    /// of their number from the stream named `rber-block-factor`.
    pub fn block_factor(&self, rng: &mut Rng) -> f64 {
        // Box and Muller's method; one of its two numbers is enough.
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.unit()));
        let normal = radius * libm::cos(std::f64::consts::TAU * rng.unit());
        libm::exp(self.block_spread * normal.clamp(-3.0, 3.0))
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_keys::KeyTable;

    use super::*;

    fn stress(cycles: f64, retention_hours: f64, block_reads: f64) -> Stress {
        Stress { cycles, retention_hours, block_reads }
    }

    #[test]
    fn stated_rates_come_out_at_the_references() {
        let spec = ErrorSpec::planar_estimate();
        let mlc = spec.mode(CellMode::Mlc).unwrap();
        assert_eq!(mlc.rber(&stress(0.0, 1e4, 1e9)).total(), 1e-6);
        assert!((mlc.rber(&stress(3000.0, 0.0, 0.0)).total() - 1.01e-4).abs() < 1e-12);
        let aged = mlc.rber(&stress(3000.0, YEAR_HOURS, 0.0));
        assert!((aged.total() - 1.001e-3).abs() < 1e-12);
        assert!((aged.shifted - 0.7 * 9e-4).abs() < 1e-12);
    }

    #[test]
    fn shifted_references_win_back_their_share_of_what_age_and_reads_have_done() {
        let spec = ErrorSpec::planar_estimate();
        let mlc = spec.mode(CellMode::Mlc).unwrap();
        let read = mlc.rber(&stress(3000.0, 0.0, 1e6));
        assert!((read.shifted - 0.7 * 1.6e-3).abs() < 1e-12, "{read:?}");
        let both = mlc.rber(&stress(3000.0, YEAR_HOURS, 1e6));
        assert!((both.shifted - 0.7 * (9e-4 + 1.6e-3)).abs() < 1e-12, "{both:?}");
        assert!((both.settled - 1.01e-4 - 0.3 * (9e-4 + 1.6e-3)).abs() < 1e-12, "{both:?}");
    }

    #[test]
    fn without_an_exponent_of_cycles_a_new_block_loses_as_much_as_a_worn_one() {
        let spec = ErrorSpec::planar_estimate();
        let mut tlc = spec.mode(CellMode::Tlc).unwrap().clone();
        (tlc.wear_exponent, tlc.retention_cycle_exponent, tlc.disturb_cycle_exponent) = (0.0, 0.0, 0.0);
        let after = |cycles: f64| tlc.rber(&stress(cycles, YEAR_HOURS, 1e6));
        assert_eq!(after(0.0), after(1000.0));
        assert!(after(0.0).total() > tlc.rber(&stress(0.0, 0.0, 0.0)).total());
    }

    #[test]
    fn every_stress_makes_it_worse_and_rates_stay_below_half() {
        let spec = ErrorSpec::planar_estimate();
        for e in CellMode::ALL.into_iter().filter_map(|mode| spec.mode(mode)) {
            let base = e.rber(&stress(1000.0, 100.0, 1e5)).total();
            assert!(e.rber(&stress(1100.0, 100.0, 1e5)).total() > base);
            assert!(e.rber(&stress(1000.0, 110.0, 1e5)).total() > base);
            assert!(e.rber(&stress(1000.0, 100.0, 1.1e5)).total() > base);
            assert!(e.rber(&stress(1e9, 1e9, 1e12)).total() < 0.5);
        }
    }

    #[test]
    fn temperatures_of_jesd218_stand_for_a_year() {
        for (hours, celsius) in [(500.0, 52.0), (96.0, 66.0)] {
            let year = hours_at_30_celsius(hours, celsius) / YEAR_HOURS;
            assert!((0.94..1.06).contains(&year), "{hours} h at {celsius} C: {year}");
        }
        assert_eq!(hours_at_30_celsius(7.0, 30.0), 7.0);
    }

    #[test]
    fn kinds_of_pages_share_the_errors_by_their_references() {
        let spec = ErrorSpec::planar_estimate();
        let factors: Vec<f64> = spec.mode(CellMode::Tlc).unwrap().page_factors().collect();
        assert!((factors.iter().sum::<f64>() - 3.0).abs() < 1e-12);
        assert!((factors[2] / factors[0] - 4.0).abs() < 1e-12);
    }

    #[test]
    fn wear_adds_up_across_modes() {
        let spec = ErrorSpec::planar_estimate();
        // 3,000 cycles at one bit wear a TLC block by a tenth of its 1,000.
        assert!((spec.equivalent_cycles(CellMode::Tlc, [3000.0, 0.0, 50.0, 0.0]) - 150.0).abs() < 1e-9);
        let no_slc = ErrorSpec { slc: None, ..spec };
        assert_eq!(no_slc.equivalent_cycles(CellMode::Tlc, [3000.0, 0.0, 50.0, 0.0]), 50.0);
    }

    #[test]
    fn block_factors_have_the_stated_spread_and_never_move() {
        let spec = ErrorSpec::planar_estimate();
        let mut rng = Rng::new(1).stream("rber-block-factor");
        let logs: Vec<f64> = (0..100_000).map(|_| libm::log(spec.block_factor(&mut rng))).collect();
        let mean = logs.iter().sum::<f64>() / 1e5;
        let variance = logs.iter().map(|l| (l - mean) * (l - mean)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.003, "{mean}");
        assert!((libm::sqrt(variance) - 0.2).abs() < 0.003, "{variance}");
        assert!(logs.iter().all(|l| l.abs() <= 0.6 + 1e-12));
    }

    #[test]
    fn impossible_rates_are_refused_by_key() {
        let keys = KeyTable::of::<ErrorSpec>();
        let mut spec = ErrorSpec::planar_estimate();
        assert_eq!(keys.check(&spec), Ok(()));
        spec.tlc.as_mut().unwrap().wear_rber = 0.7;
        assert_eq!(keys.check(&spec).unwrap_err().key, "tlc.wear_rber");
        for none in [vec![], vec![1, 0], vec![1, 16], vec![u32::MAX, 1]] {
            spec = ErrorSpec::planar_estimate();
            spec.mlc.as_mut().unwrap().references_per_page = none;
            assert_eq!(keys.check(&spec).unwrap_err().key, "mlc.references_per_page");
        }
    }
}
