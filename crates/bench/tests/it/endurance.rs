//! `endurance` on small drives whose life can be told beforehand.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;

use ssdlab_bench::specimens::band;
use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_bench::{BenchError, Lab, Monitor, Outcome, PoweredOn, Unsettled};
use ssdlab_device::Device;
use ssdlab_nand::rber::ErrorSpec;
use ssdlab_ssd::UsedSpec;
use ssdlab_testkit::{ideal_die, ideal_drive_with};

use crate::small::Small;

/// Four dies of one bit per cell; 8 MiB and a good quarter of spare; rated 1,000 cycles with the errors of TLC.
fn small(ecc: &str) -> Small {
    let (mut drive, mut die) = (ideal_drive_with(ecc), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block, die.geometry.spare_bytes) = (44, 16, 456);
    die.wear.rated_program_erase_cycles = 1000;
    let estimate = ErrorSpec::planar_estimate();
    let mut errors = estimate.tlc.clone().expect("it has every mode");
    errors.references_per_page = vec![1];
    die.errors = Some(ErrorSpec { slc: Some(errors), mlc: None, tlc: None, qlc: None, ..estimate });
    (drive.flash.dies, drive.flash.exact_spare_per_10000) = (4, None);
    drive.write_buffer.capacity_kib = 64;
    drive.capacity_bytes = 2048 * 4096;
    drive.wear_levelling.dynamic = true;
    Small(drive, die)
}

const BCH: &str = "[ecc]\ncodeword_bytes = 1024\n[ecc.bch]\ncorrectable_bits = 60\ndecode_us = 4.0\n";
const LDPC: &str = "[ecc]\ncodeword_bytes = 2048\nparity_stripe = 127\n[ecc.ldpc]\ncode = \"qc-2k\"\nsoft_reads = 7\n\
                    iteration_us = 1.0\nsetup_us = 1.0\nprogressive = true\n";

fn run(drive: &Small, settings: &[(&str, &str)]) -> Outcome {
    try_run(drive, settings).expect("it runs")
}

fn try_run(drive: &Small, settings: &[(&str, &str)]) -> Result<Outcome, BenchError> {
    watched(drive, settings, &Monitor::silent())
}

fn watched(drive: &Small, settings: &[(&str, &str)], monitor: &Monitor<'_>) -> Result<Outcome, BenchError> {
    let mut all = vec![("window_share", "1"), ("settle_share", "4"), ("point_share", "1"), ("read_share", "0.5")];
    all.extend(settings);
    let settings: Vec<_> = all.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    let test = find_test("endurance").expect("it is in the suite");
    run_test(test, drive, &settings, 1, false, monitor)
}

fn value(out: &Outcome, key: &str) -> f64 {
    out.metrics.get(key).unwrap_or_else(|| panic!("no {key} among {:?}", out.metrics)).value
}

#[test]
fn rated_bytes_are_cycles_times_flash_over_write_amplification() {
    let drive = small(BCH);
    let flash = f64::from(44 * 16 * 4) * 4096.0;
    for (workload, fill) in [("sequential", "100"), ("random", "100"), ("random", "50")] {
        let out = run(&drive, &[("workload", workload), ("fill_percent", fill)]);
        let expected = 1000.0 * flash / value(&out, "waf") / 1e12;
        let got = value(&out, "tb_until_rated");
        assert!((got / expected - 1.0).abs() < 0.04, "{workload} {fill}: {got} TB, {expected} expected");
        assert!(workload != "sequential" || (value(&out, "waf") - 1.0).abs() < 0.01);
        assert!(value(&out, "wear_least") <= 100.0 && value(&out, "wear_most") >= 100.0);
    }
}

/// By the defaults a point of this drive writes less than two superblocks.
#[test]
fn a_life_does_not_hang_on_the_few_erases_of_a_point() {
    let (drive, flash) = (small(""), f64::from(44 * 16 * 4) * 4096.0);
    let defaults = [("window_share", "0.5"), ("settle_share", "1.5"), ("point_share", "0.05")];
    let out = run(&drive, &[defaults.as_slice(), &[("workload", "sequential")]].concat());
    let (got, expected) = (value(&out, "tb_until_rated"), 1000.0 * flash / 1e12);
    assert!((got / expected - 1.0).abs() < 0.03, "{got} TB, {expected} expected");
}

fn unsettled(out: &Outcome) -> Vec<&str> {
    out.notes.iter().map(String::as_str).filter(|note| note.starts_with("Not settled")).collect()
}

/// A pass of what the client workload writes in sequence is three drive writes.
#[test]
fn a_life_does_not_hang_on_where_the_sequence_stands() {
    let mut drive = small("");
    drive.1.geometry.blocks_per_plane *= 8;
    drive.0.capacity_bytes *= 8;
    let life = |settle: &str| {
        let settings =
            [("workload", "client"), ("settle_share", settle), ("window_share", "0.5"), ("point_share", "0.1")];
        let out = run(&drive, &settings);
        assert_eq!(unsettled(&out), [""; 0]);
        value(&out, "tb_until_rated")
    };
    let lives = ["6", "6.75", "7.5", "8.25"].map(life);
    let (least, most) =
        lives.iter().fold((f64::MAX, 0.0_f64), |(least, most), &life| (least.min(life), most.max(life)));
    assert!(most / least < 1.03, "{lives:?}");
}

#[test]
fn a_life_that_was_watched_too_briefly_is_not_settled() {
    let drive = small("");
    let told = |workload: &str, settings: &[(&str, &str)], what: &str| {
        let out = run(&drive, &[&[("workload", workload)], settings].concat());
        let notes = unsettled(&out);
        assert!(notes.iter().any(|note| note.contains(what)), "{what}: {notes:?}");
    };
    told("random", &[("settle_share", "0"), ("window_share", "0.02")], "in one half of them than in the other");
    told("client", &[("window_share", "0.05")], "shorter than a pass of what is written in sequence");
    told("random", &[("point_share", "0.001")], "a greater point_share narrows that");
    let out = run(&drive, &[("workload", "random")]);
    assert!(unsettled(&out).is_empty() && out.has_settled(), "{:?}", out.notes);
}

/// `compare` and the band of several drives look at the reason, not at the note.
#[test]
fn a_life_that_is_not_settled_has_its_reasons_and_is_told_of_in_a_band() {
    let drive = small(BCH);
    let settled = run(&drive, &[("workload", "random")]);
    let brief = run(&drive, &[("workload", "random"), ("point_share", "0.001")]);
    assert!(brief.is_unsettled_by(Unsettled::TooLittleWork) && !brief.is_too_short_to_tell());
    let sentences: Vec<String> = brief.not_steady.iter().map(|doubt| doubt.sentence()).collect();
    assert_eq!(unsettled(&brief), sentences);
    let notes = band(&[settled, brief]).expect("there are two").notes.join(" ");
    assert!(notes.contains("those that had not are number 2."), "{notes}");
}

/// Filling is one run and takes less than a second of the drive's time; points and windows are runs of many.
#[test]
fn progress_rises_evenly_through_settling_windows_and_points() {
    let (seen, cancel) = (RefCell::new(vec![0.0]), AtomicBool::new(false));
    let report = |done: f64| seen.borrow_mut().push(done);
    let settings = [("workload", "random"), ("points_percent", "25,50,75,100"), ("read_share", "0")];
    watched(&small(BCH), &settings, &Monitor::new(&report, &cancel)).expect("it runs");
    let seen = seen.into_inner();
    let widest = seen.windows(2).map(|s| s[1] - s[0]).fold(0.0, f64::max);
    assert!(widest < 0.05 && seen.last().is_some_and(|&end| end > 0.99), "{widest}, {:?}", seen.last());
    // Where the middle of the work is, which by these settings are four drive writes, eight to 32 and four.
    let middle = seen[seen.len() / 2];
    assert!((0.3..0.7).contains(&middle), "{middle}");
}

#[test]
fn correction_decides_on_the_life_and_soft_decisions_extend_it() {
    let settings = [("workload", "random"), ("fill_percent", "100")];
    let [bch, ldpc] = [BCH, LDPC].map(|ecc| run(&small(ecc), &settings));
    let life = |out: &Outcome| value(out, "life_at_error");
    assert!(life(&ldpc) > 1.8 * life(&bch), "{} and {}", life(&ldpc), life(&bch));
    let extension = value(&ldpc, "ecc_extension");
    assert!((extension - life(&ldpc) / value(&ldpc, "life_at_error_bch")).abs() < 1e-9 && extension > 1.8);
    assert!(!bch.metrics.contains_key("ecc_extension"), "hard BCH is not laid beside itself");
    for out in [&bch, &ldpc] {
        assert!(value(out, "life_at_error_least") <= life(out) && life(out) <= value(out, "life_at_error_most"));
    }
    // Bytes and wear go together.
    for out in [&bch, &ldpc] {
        let by_wear = value(out, "tb_until_rated") * life(out) / 100.0;
        assert!((value(out, "tb_until_error") / by_wear - 1.0).abs() < 0.03);
    }
    // Old data are read again where they are worn, and then slowly; on the new drive they are not.
    assert!(value(&ldpc, "reread_fresh") < 1e-9);
    // A year's less time without power is more life.
    let young = run(&small(LDPC), &[settings[0], settings[1], ("retention_days", "30")]);
    assert!(life(&young) > 1.1 * life(&ldpc));
}

/// Data that nobody writes any more are read when the drive is at rest, and not beside what is left of the work: a buffer of many
/// megabytes whose flush begins when nothing was asked for a second.
#[test]
fn old_data_are_not_read_beside_the_flush_of_a_buffer() {
    let old_read = |flush_after_idle_ms: f64| {
        let mut drive = small(BCH);
        drive.0.write_buffer.capacity_kib = 1024;
        drive.0.write_buffer.flush_after_idle_ms = flush_after_idle_ms;
        let settings = [("workload", "random"), ("points_percent", "100"), ("read_share", "0.1")];
        value(&run(&drive, &settings), "old_read_fresh")
    };
    assert_eq!(old_read(1.0), old_read(1000.0));
}

/// The time in which it is at rest and read is none of its life.
#[test]
fn looking_at_the_drive_changes_nothing_of_its_life() {
    let drive = small(LDPC);
    let life = |read: &str| {
        let out = run(&drive, &[("workload", "client"), ("read_share", read)]);
        ["tb_until_rated", "tb_until_error", "waf_worn"].map(|key| value(&out, key))
    };
    assert_eq!(life("0"), life("0.5"));
}

/// A drive, and the same with an eighth of its blocks.
struct WithAnEighth(Small, Small);

impl Lab for WithAnEighth {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        self.0.fresh(seed)
    }
    fn name(&self) -> &str {
        self.0.name()
    }
    fn small(&self, _by: u32, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        self.1.fresh(seed).map(|powered| Some(powered.device))
    }
}

#[test]
fn a_quick_run_finds_the_life_of_the_whole_drive() {
    let part = small(BCH);
    let mut whole = small(BCH);
    whole.1.geometry.blocks_per_plane *= 8;
    whole.0.capacity_bytes *= 8;
    let both = WithAnEighth(whole, part);
    let settings = [("workload", "random"), ("window_share", "1"), ("settle_share", "2"), ("read_share", "0")];
    let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    let test = find_test("endurance").expect("it is in the suite");
    let [full, quick] = [false, true].map(|quick| {
        let out = run_test(test, &both, &settings, 1, quick, &Monitor::silent()).expect("it runs");
        value(&out, "life_at_error")
    });
    assert!((quick / full - 1.0).abs() < 0.02, "{full} % in full, {quick} % in a quick run");
}

#[test]
fn windows_in_which_nothing_is_erased_tell_no_life() {
    let mut settings = vec![("workload", "random"), ("fill_percent", "50"), ("settle_share", "0")];
    settings.push(("window_share", "0.001"));
    let error = try_run(&small(BCH), &settings).unwrap_err();
    assert!(matches!(&error, BenchError::Unsuitable(why) if why.contains("raise window_share")), "{error}");
}

#[test]
fn without_correction_there_is_no_error_to_wait_for() {
    let out = run(&small(""), &[("workload", "random"), ("fill_percent", "100")]);
    assert!(!out.metrics.contains_key("tb_until_error") && value(&out, "tb_until_rated") > 0.0);
    assert!(out.notes.iter().any(|note| note.contains("[ecc]")), "{:?}", out.notes);
}

#[test]
fn the_life_of_a_used_drive_is_not_told_as_a_new_ones() {
    let mut used = small(BCH);
    used.0.used = Some(UsedSpec { life_percent: 30.0, spread_percent: 0.0 });
    let error = try_run(&used, &[]).expect_err("it is worn").to_string();
    assert!(error.contains("worn already") && error.contains("leave [used] out"), "{error}");
    used.0.used = Some(UsedSpec { life_percent: 0.0, spread_percent: 5.0 });
    run(&used, &[("points_percent", "100")]);
}
