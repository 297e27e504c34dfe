//! The suite: one file a test, one table of them all.
//!
//! [`TESTS`] feeds `ssdlab list tests`, `--set KEY=VALUE` and the reference ([`reference()`]). [`run_test`] runs one.

mod analyzedisk;
mod as_ssd;
mod atto;
mod common;
mod consistency;
mod context;
mod definition;
mod destroyer;
mod disk_inspection;
mod endurance;
pub(crate) mod figures;
mod fileserver;
mod fragmented_read;
mod hdtach;
mod heavy;
mod in_small;
mod light;
mod mixed;
mod mixed_random;
mod mixed_sequential;
mod old_data;
mod power;
mod power_cut;
mod qd_scaling;
mod random_read;
mod random_write;
mod rate;
mod regularity;
mod sequential_read;
mod sequential_write;
mod slc_cache;
mod slc_recovery;
mod slc_stages;
mod stalls;
mod steady_state;
mod storage_bench;
mod storage_bench_statistics;
mod storagemark;
mod storagemark_boot;
mod storagemark_database;
mod storagemark_desktop;
mod storagemark_streaming;
mod storagemark_workstation;
mod sweep;
pub(crate) mod tail;
mod trim;
pub(crate) mod words;
mod worn_in;

pub use consistency::{
    COMPLETIONS_OF_A_MOMENT, COUNTS_RATES, PUBLISHED_SECONDS, PartOfRun, is_of_whole_drive, part_of_run, rates_a_second,
};
pub use definition::{
    Better, COMMON_PARAMS, INTERVAL_ENDS, MetricDef, QUICK_DIVISOR, STALL_METRICS, STANDARD_METRICS, TestDef, Variant,
    reference, stands_for,
};

pub use slc_stages::FOLDING_SHARE;
pub use stalls::{FELT_FIGURES, LONGEST_GAPS, cause_of_longest_gap};
pub use steady_state::{STEADY_TOLERANCE, means_of_parts};

use std::borrow::Cow;

use context::Context;
use ssdlab_core::nearest;

use crate::error::BenchError;
use crate::fio_run;
use crate::lab::{Lab, stored_note};
use crate::monitor::Monitor;
use crate::outcome::Outcome;
use crate::params::ParamError;
use crate::replay;
use crate::specimens::BAND_ENDINGS;

macro_rules! suite {
    ($($module:ident),* $(,)?) => {
        /// Every test, in the order of a review.
        pub const TESTS: &[&TestDef] = &[$(&$module::DEF),*];

        fn dispatch(name: &str, ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
            match name {
                $(n if n == $module::DEF.name => $module::run(ctx),)*
                _ => unreachable!("a definition that is not in the table: {name}"),
            }
        }
    };
}

suite! {
    consistency,
    steady_state,
    random_read,
    random_write,
    sequential_read,
    sequential_write,
    qd_scaling,
    mixed_random,
    mixed_sequential,
    as_ssd,
    atto,
    hdtach,
    disk_inspection,
    fragmented_read,
    old_data,
    trim,
    slc_cache,
    destroyer,
    heavy,
    light,
    endurance,
    fileserver,
    analyzedisk,
    storagemark_desktop,
    storagemark_boot,
    storagemark_workstation,
    storagemark_database,
    storagemark_streaming,
    worn_in,
    power,
    power_cut,
}

/// The test of this name.
///
/// # Errors
/// [`ParamError::UnknownTest`] with the nearest names.
pub fn find_test(name: &str) -> Result<&'static TestDef, ParamError> {
    TESTS.iter().find(|t| t.name == name).copied().ok_or_else(|| {
        let known: Vec<&str> = TESTS.iter().map(|t| t.name).collect();
        ParamError::UnknownTest {
            name: name.to_owned(),
            nearest: nearest(name, known.iter().copied()).into_iter().map(str::to_owned).collect(),
            known: known.iter().map(|&k| k.to_owned()).collect(),
        }
    })
}

/// Tests that ask the same of every drive, however long it takes: of two drives, the better one draws less energy in them.
const SAME_WORK: &[&str] = &[
    "destroyer",
    "heavy",
    "light",
    "atto",
    "analyzedisk",
    "storagemark-desktop",
    "storagemark-boot",
    "storagemark-workstation",
    "storagemark-database",
    "storagemark-streaming",
    replay::TEST,
];

/// Which end of a figure of this test is the good one: as [`better_end`], and less energy where each drive has the same work.
#[must_use]
pub fn better_end_in(test: &str, figure: &str, unit: &str) -> Option<Better> {
    let is_for_same_work = unit == "J" && SAME_WORK.contains(&test);
    if is_for_same_work { Some(Better::Lower) } else { better_end(figure, unit) }
}

/// Which end of a figure is the good one for who uses the drive, whatever the test, as the tests declare it; of a figure of no test
/// its unit says it. `None` where neither is.
#[must_use]
pub fn better_end(figure: &str, unit: &str) -> Option<Better> {
    // The ends of specimens are figures like that whose ends they are.
    let figure = BAND_ENDINGS.iter().find_map(|ending| figure.strip_suffix(ending)).unwrap_or(figure);
    if fio_run::ASKED.contains(&figure) {
        return None;
    }
    let declared = || TESTS.iter().flat_map(|test| test.all_metrics());
    let by_name = declared().find(|metric| metric.keys().any(|key| key == figure));
    let by_pattern = || declared().find(|metric| metric.better.is_some() && metric.names(figure));
    by_name.or_else(by_pattern).map_or_else(|| Better::by_unit(unit), MetricDef::good_end)
}

/// The figures of the same run that tell how well this one is known, lower and higher: where those of two runs overlap, neither
/// run is the better one. `None` of a figure for which no test declares them.
#[must_use]
pub fn between(figure: &str) -> Option<[&'static str; 2]> {
    TESTS.iter().flat_map(|test| test.all_metrics()).find(|metric| metric.key == figure)?.between
}

/// The figures that tell most about a run of this name, best first, where what tells most of any run would not come first.
#[must_use]
pub fn leading_figures(test: &str) -> &'static [&'static str] {
    match test {
        fio_run::TEST => fio_run::LEADS,
        replay::TEST => replay::LEADS,
        _ => find_test(test).map_or(&[], |test| test.leads),
    }
}

/// Whether a run was of its test as that is declared, in full or as a quick run has it, in one of its variants or in none:
/// whatever else was set does not [make another test of it](crate::ParamDef::of_method). Of what is no test of the suite
/// there is no doubt.
#[must_use]
pub fn is_as_declared(outcome: &Outcome) -> bool {
    let Ok(test) = find_test(&outcome.test) else { return true };
    let settings = test.variants.iter().find(|v| v.name == outcome.variant).map_or_else(Vec::new, Variant::settings);
    let of = |quick| test.resolve(&settings, quick).map(|p| p.to_json());
    let (Ok(full), Ok(quick)) = (of(false), of(true)) else { return true };
    test.all_params().filter(|p| p.of_method).all(|p| {
        let ours = outcome.params.get(p.key);
        is_of_small_drive(outcome, p.key) || ours.is_none() || ours == full.get(p.key) || ours == quick.get(p.key)
    })
}

/// Whether a parameter of a run is another one because the drive was one in small: it gets as many requests less as it is
/// smaller, files and spans that are smaller likewise, and as much less rest unless that was set.
#[must_use]
pub fn is_of_small_drive(outcome: &Outcome, key: &str) -> bool {
    let shrinks =
        || find_test(&outcome.test).is_ok_and(|def| def.all_params().any(|p| p.key == key && p.shrinks_with_drive()));
    let rests = || key == context::REST && !outcome.set_params.iter().any(|set| set == key);
    outcome.small_by.is_some() && (key.ends_with("requests") || rests() || shrinks())
}

/// Whether a test comes to a [`Verdict`](crate::Verdict).
#[must_use]
pub fn gives_verdict(test: &str) -> bool {
    [trim::DEF.name, power_cut::DEF.name].contains(&test)
}

/// Charts that more than one kind of test draws: where the drive has a power or a heat model, and where the test looks at them.
const COMMON_CHARTS: &[&str] =
    &["latency-percentiles", "stalls", "felt", "rate-over-time", "power-over-time", "temperature-over-time"];

/// Ids of the charts that a test can draw: which of them a run has hangs on its parameters and on its drive.
pub fn charts_of(test: &str) -> impl Iterator<Item = &'static str> {
    let own: &[&str] = match test {
        "consistency" => {
            &["iops-whole-log", "iops-whole-linear", "iops-tail-log", "iops-tail-linear", regularity::PERIODS_CHART]
        }
        "steady-state" => &["iops-by-round", "waf-by-round"],
        "qd-scaling" => &["random", "sequential", "power"],
        "mixed-random" | "mixed-sequential" => &["bandwidth-by-mix", "power-by-mix"],
        "as-ssd" => &["rates", "score"],
        "atto" => &["rate-by-size"],
        "hdtach" | "disk-inspection" => &["rate-by-position"],
        "fragmented-read" => &["read-by-position"],
        "trim" => &["write-by-position"],
        "slc-cache" => &["rate-by-position", slc_cache::RECOVERY_CHART],
        "destroyer" | "heavy" | "light" => &[
            "data-rate",
            "service-time",
            "slow-requests",
            "power",
            "service-time-through-trace",
            "waiting-through-trace",
        ],
        "endurance" => &["losses", "write-amplification", "old-data"],
        "fileserver" => &["iops-by-load"],
        "analyzedisk" => &["service-time-density", "service-time-density-log"],
        "storagemark-desktop"
        | "storagemark-boot"
        | "storagemark-workstation"
        | "storagemark-database"
        | "storagemark-streaming" => &["service-time-through-mix"],
        "worn-in" => &["read-by-position", "of-fresh"],
        "power" => &["rest", "load"],
        _ => &[],
    };
    own.iter().chain(COMMON_CHARTS).copied()
}

/// Runs one test on devices of one model.
///
/// # Errors
/// See [`BenchError`]. A cancelled test is an error too ([`BenchError::is_cancelled`]): half a test is no result.
pub fn run_test(
    def: &'static TestDef,
    lab: &dyn Lab,
    settings: &[(String, String)],
    seed: u64,
    quick: bool,
    monitor: &Monitor<'_>,
) -> Result<Outcome, BenchError> {
    let mut ctx = Context::new(lab, def, settings, seed, quick, monitor)?;
    let mut outcome = dispatch(def.name, &mut ctx)?;
    if cfg!(debug_assertions) {
        let undeclared = outcome.metrics.keys().find(|key| def.metric(key).is_none());
        assert_eq!(undeclared, None, "a figure that {} does not declare", def.name);
    }
    if ctx.is_small() {
        in_small::leave_out(&mut outcome);
    }
    outcome.notes.extend(ctx.note_of_size());
    outcome.notes.extend(ctx.note_of_beginning().map(Cow::into_owned));
    outcome.notes.extend(stored_note(ctx.stored_days()));
    Ok(outcome)
}

#[cfg(test)]
mod tests;
