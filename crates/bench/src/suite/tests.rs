//! Every test against a device whose behaviour is known in closed form.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ssdlab_core::{MICROSECOND, Nanos, Op, SECOND};
use ssdlab_device::{Completion, Counters, Device, DeviceInfo, Refusal, Request};

use super::*;
use crate::host::Host;
use crate::lab::{Begins, PoweredOn};
use crate::model::ModelSpec;
use crate::outcome::{Mark, Unsettled};

/// The model at 100 GB/s into an endless cache: nothing but service times.
fn plain() -> ModelSpec {
    ModelSpec {
        drain_bytes_per_second: 100_000_000_000,
        cache_bytes: 1 << 40,
        scattered_factor: 1,
        ..ModelSpec::default()
    }
}

fn run_with(spec: &ModelSpec, test: &str, settings: &[(&str, &str)]) -> Result<Outcome, BenchError> {
    let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    run_test(find_test(test)?, spec, &settings, 1, false, &Monitor::silent())
}

fn run(spec: &ModelSpec, test: &str, settings: &[(&str, &str)]) -> Outcome {
    run_with(spec, test, settings).unwrap_or_else(|e| panic!("{test}: {e}"))
}

fn value(out: &Outcome, key: &str) -> f64 {
    out.metrics.get(key).unwrap_or_else(|| panic!("{} has no metric {key}: {:?}", out.test, out.metrics.keys())).value
}

fn close(got: f64, want: f64, share: f64) {
    assert!((got / want - 1.0).abs() <= share, "{got} is not within {share} of {want}");
}

/// Settings under which each test is over in a moment on a device of 64 MB.
fn small(test: &str) -> &'static [(&'static str, &'static str)] {
    match test {
        "consistency" => &[("seconds", "10")],
        "qd-scaling" | "mixed-random" | "mixed-sequential" | "fileserver" => &[("seconds", "2")],
        "random-read" | "random-write" | "sequential-read" | "sequential-write" => &[("seconds", "3")],
        "as-ssd" => {
            &[("file_bytes", "16MB"), ("file_offset_bytes", "1MiB"), ("seconds", "2"), ("access_requests", "100")]
        }
        "atto" => &[("length_bytes", "4MiB"), ("size_max_bytes", "4MiB"), ("file_offset_bytes", "1MiB")],
        "trim" => &[("torture_seconds", "5")],
        "slc-cache" => &[("zones", "100"), ("idle_seconds", "0,1")],
        "destroyer" | "heavy" | "light" => &[("requests", "2000")],
        "analyzedisk" => &[("requests", "500")],
        "disk-inspection" => &[("places", "8")],
        "storagemark-desktop" | "storagemark-boot" | "storagemark-workstation" => &[("requests", "3000")],
        "storagemark-database" | "storagemark-streaming" => &[("requests", "3000")],
        "power" => &[("idle_seconds", "2"), ("seconds", "2")],
        "worn-in" => &[("runs", "1"), ("seconds", "1"), ("requests", "500"), ("mix_percent", "1")],
        "steady-state" => &[("round_share", "1"), ("settle_turnovers", "5")],
        _ => &[],
    }
}

/// A device that the test fits on.
fn device_for(test: &str) -> ModelSpec {
    if test.starts_with("storagemark") || test == "worn-in" {
        of_16_gb(ModelSpec::default())
    } else {
        ModelSpec::default()
    }
}

fn of_16_gb(spec: ModelSpec) -> ModelSpec {
    ModelSpec { capacity_bytes: 16_013_942_784, drain_bytes_per_second: 10_000_000_000, ..spec }
}

/// Small, without flash, TRIM or secure erase: a hard disk, as far as the bench can tell.
fn disk_like(spec: ModelSpec) -> ModelSpec {
    ModelSpec { supports_trim: false, supports_secure_erase: false, tells_of_flash: false, ..spec }
}

#[test]
fn a_steady_state_that_was_not_reached_says_why() {
    let reason = |settings| {
        let out = run(&plain(), "steady-state", settings);
        assert!(out.notes.iter().any(|note| note.starts_with("Not steady yet: ")) != out.not_steady.is_empty());
        assert_eq!(value(&out, "steady") == 1.0, out.not_steady.is_empty());
        out.not_steady.first().map(|n| n.reason)
    };
    let short = ("max_rounds", "5");
    assert_eq!(reason(&[("round_share", "1"), ("settle_turnovers", "5")]), None);
    assert_eq!(reason(&[("round_share", "1"), ("settle_turnovers", "5"), short]), Some(Unsettled::TooFewTurnovers));
    // A cache that ends within the third round.
    let filled = ModelSpec { cache_bytes: 300 << 20, drain_bytes_per_second: 10_000_000, ..plain() };
    let settings: &[_] = &[("round_share", "1"), ("settle_turnovers", "0"), short];
    let out = run(&filled, "steady-state", settings);
    assert_eq!(out.not_steady.first().map(|n| n.reason), Some(Unsettled::Drifts), "{:?}", out.metrics);
}

#[test]
fn every_test_runs_on_a_device_without_flash_trim_and_erase_or_says_what_it_lacks() {
    for def in TESTS {
        let spec = disk_like(device_for(def.name));
        match run_with(&spec, def.name, small(def.name)) {
            Ok(out) => {
                assert!(!out.metrics.keys().any(|k| k.contains("waf")), "{}", def.name);
                let erases = ["hdtach", "destroyer", "heavy", "light"].contains(&def.name);
                assert_eq!(
                    out.notes.iter().any(|n| n.contains("no secure erase")),
                    erases,
                    "{}: {:?}",
                    def.name,
                    out.notes
                );
            }
            Err(BenchError::Unsuitable(why)) => {
                let needing = ["trim", "slc-cache", "endurance", "old-data", "power-cut"];
                assert!(needing.contains(&def.name), "{}: {why}", def.name);
            }
            Err(e) => panic!("{}: {e}", def.name),
        }
    }
    let without_trim = ModelSpec { tells_of_flash: true, ..disk_like(cached()) };
    let out = run(&without_trim, "slc-cache", &[("zones", "100"), ("idle_seconds", "0,1")]);
    assert!(out.metrics.contains_key("recovered_overwrite_1s") && !out.metrics.contains_key("recovered_trim_1s"));
    assert!(out.notes.iter().any(|n| n.contains("does not know TRIM")), "{:?}", out.notes);
    assert!(out.method.starts_with("Of a drive as it left the factory, all"), "{}", out.method);
    let e = run_with(&disk_like(plain()), "consistency", &[("over_provisioning", "raw-25")]).unwrap_err();
    assert!(matches!(e, BenchError::Unsuitable(_)), "{e}");
}

#[test]
fn every_test_runs_reports_rising_progress_and_fills_its_outcome() {
    // The model has neither flash that wears out or grows old, nor a plug.
    for def in TESTS.iter().filter(|def| !["endurance", "old-data", "power-cut"].contains(&def.name)) {
        let last = Cell::new(0.0);
        let report = |f: f64| {
            assert!(f >= last.get() - 1e-12 && f <= 1.0, "{}: progress fell from {} to {f}", def.name, last.get());
            last.set(f);
        };
        let cancel = AtomicBool::new(false);
        let settings: Vec<_> = small(def.name).iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        let monitor = Monitor::new(&report, &cancel);
        let out = run_test(def, &device_for(def.name), &settings, 1, false, &monitor).unwrap();
        assert!(last.get() > 0.99, "{}: progress ended at {}", def.name, last.get());
        assert_eq!((out.test.as_str(), out.device.as_str()), (def.name, "model"));
        assert!(!out.metrics.is_empty() && !out.charts.is_empty() && !out.time_shares.is_empty(), "{}", def.name);
        assert!(!out.method.is_empty() && !out.slowest.is_empty(), "{}", def.name);
        for (key, m) in &out.metrics {
            assert!(m.value.is_finite() && !m.unit.is_empty(), "{}: {key} = {m:?}", def.name);
            assert_eq!(def.metric(key).map(|declared| declared.unit), Some(m.unit.as_str()), "{}: {key}", def.name);
        }
        // Of several runs it is said which one a slow request is of.
        let runs = ["fileserver", "mixed-sequential", "hdtach", "power"].contains(&def.name);
        let labels = || out.time_shares.iter().map(|share| share.label.as_str());
        let of_run = |label: &str| labels().any(|of| of == label || of.starts_with(&format!("{label}: ")));
        let is_told = |run: &Option<String>| run.as_deref().map_or(!runs, of_run);
        assert!(out.slowest.iter().all(|io| is_told(&io.run)), "{}: {:?}", def.name, out.slowest);
        for share in &out.time_shares {
            close(share.mean_us.values().sum(), share.latency_mean_us, 1e-9);
        }
        for chart in &out.charts {
            assert!(!chart.series.is_empty(), "{}: chart {} is empty", def.name, chart.id);
            for s in &chart.series {
                assert!(!s.points.is_empty(), "{}: {} in {} has no points", def.name, s.name, chart.id);
                assert!(s.points.iter().flatten().all(|v| v.is_finite()), "{}: {}", def.name, chart.id);
            }
            assert!(out.charts.iter().filter(|c| c.id == chart.id).count() == 1, "{}: {}", def.name, chart.id);
            assert!(charts_of(def.name).any(|id| id == chart.id), "{} does not declare chart {}", def.name, chart.id);
        }
        assert_eq!(out.verdict.is_some(), gives_verdict(def.name), "{}", def.name);
        assert!(out.params.contains_key("max_transfer_bytes"), "{}", def.name);
    }
}

#[test]
fn endurance_needs_a_device_that_can_be_wound_forward() {
    let error = run_with(&plain(), "endurance", &[]).unwrap_err();
    assert!(matches!(&error, BenchError::Unsuitable(why) if why.contains("simulated drives")), "{error}");
}

#[test]
fn a_test_is_repeatable_to_the_byte_and_the_seed_matters_where_chance_does() {
    let def = find_test("random-write").unwrap();
    let settings = [("seconds".to_owned(), "3".to_owned())];
    let json = |seed| {
        let out = run_test(def, &ModelSpec::default(), &settings, seed, false, &Monitor::silent()).unwrap();
        serde_json::to_string(&out).unwrap()
    };
    assert_eq!(json(1), json(1));
    assert_ne!(json(1), json(2));
}

/// The model as a real drive that rotates, as the system says of the virtual disks of many machines.
struct RealAndRotating;

impl Lab for RealAndRotating {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        ModelSpec::default().fresh(seed)
    }

    fn name(&self) -> &'static str {
        "real"
    }

    fn begins(&self) -> Begins {
        Begins::AsFound
    }

    fn has_disk(&self, _seed: u64) -> Result<bool, String> {
        Ok(true)
    }
}

#[test]
fn quick_shortens_what_a_real_drive_is_asked_for_whatever_it_is() {
    for (test, how) in
        [("random-write", "seconds is 22.5 s instead of 180 s."), ("analyzedisk", "requests is 3125 instead of 25000.")]
    {
        let out = run_test(find_test(test).unwrap(), &RealAndRotating, &[], 1, true, &Monitor::silent()).unwrap();
        assert_eq!(out.shortened.as_deref(), Some(how), "{test}");
    }
}

#[test]
fn quick_shortens_and_says_so() {
    let def = find_test("random-write").unwrap();
    let out = run_test(def, &ModelSpec::default(), &[], 1, true, &Monitor::silent()).unwrap();
    assert_eq!(out.params["seconds"], 22.5);
    assert_eq!(out.shortened.as_deref(), Some("seconds is 22.5 s instead of 180 s."));
    assert_eq!(run(&plain(), "hdtach", &[]).shortened, None);
}

#[test]
fn a_quick_trace_says_how_many_times_less_it_writes_the_drive() {
    let drive = InProportion(ModelSpec { capacity_bytes: 4 << 30, ..plain() });
    let of = |lab: &dyn Lab, test: &str, settings: &[(&str, &str)], quick| {
        let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        run_test(find_test(test).unwrap(), lab, &settings, 1, quick, &Monitor::silent()).unwrap()
    };
    let light = of(&drive, "light", &[], true);
    assert_eq!(
        light.shortened.as_deref(),
        Some(
            "on an eighth of the drive, which is written 12.5 times less than the published trace writes the whole one, so that \
             collection hardly begins: its figures put drives in no order. Here, requests is 8323 instead of 832339."
        )
    );
    close(light.writes_short_by().unwrap(), 12.5, 1e-3);
    // An eighth of the requests has the proportions.
    let eighth = of(&drive, "light", &[("requests", "104042")], true);
    assert!(eighth.shortened.as_deref().unwrap().starts_with("on an eighth of the drive, in the same proportions."));
    assert_eq!(eighth.writes_short_by(), None);
    let whole = of(&plain(), "light", &[], true);
    let short =
        "The drive is written 100 times less than the published trace writes it: its figures put drives in no order.";
    assert!(whole.shortened.as_deref().unwrap().ends_with(short), "{:?}", whole.shortened);
    // Of times and of what shrinks with the drive there is as much.
    let writes = of(&drive, "random-write", &[], true);
    assert!(writes.shortened.unwrap().contains("in the same proportions: an eighth of the time makes as many"));
    assert_eq!(of(&drive, "analyzedisk", &[], true).writes_short_by(), None);
    // The mixes come near to it, and say how near.
    let mixes = InProportion(ModelSpec { capacity_bytes: 128 << 30, ..of_16_gb(plain()) });
    let boot = of(&mixes, "storagemark-boot", &[], true);
    assert!(boot.shortened.unwrap().contains("in the same proportions but for requests, 1.25 times less than that."));
}

#[test]
fn consistency_finds_the_drain_rate_as_its_steady_level() {
    // Random 4 KiB writes scatter everything within seconds; from then on 25 MB/s are 6103.5 IOPS.
    let out = run(&ModelSpec::default(), "consistency", &[("seconds", "100")]);
    assert_eq!(out.params["tail_from_seconds"], 70);
    close(value(&out, "iops_mean_tail"), 25e6 / 4096.0, 1e-3);
    close(value(&out, "iops_common_level"), 25e6 / 4096.0, 1e-3);
    assert_eq!(value(&out, "zero_iops_seconds"), 0.0);
    close(value(&out, "waf_tail"), 4.0, 1e-9);
    assert!(value(&out, "waf") < 4.0 && value(&out, "iops") > value(&out, "iops_mean_tail"));
    close(value(&out, "latency_mean_tail"), 32.0 / (25e6 / 4096.0) * 1e6, 0.01);
    let ids: Vec<&str> = out.charts.iter().map(|c| c.id.as_str()).collect();
    let common = ["iops-autocorrelation", "power-over-time", "latency-percentiles", "stalls", "felt"];
    assert_eq!(ids, [&["iops-whole-log", "iops-tail-log", "iops-tail-linear"], &common[..]].concat());
    assert_eq!(out.charts[0].series[0].points.len(), 100);
    assert_eq!(out.charts[1].series[0].points.len(), 30);
    assert_eq!(out.charts[2].y.max, Some(40_000.0));
    assert!(out.charts[..3].iter().all(|c| c.mark == Mark::Scatter));
}

#[test]
fn the_linear_chart_of_consistency_grows_when_a_drive_leaves_the_published_scale() {
    let out = run(&plain(), "consistency", &[("seconds", "10")]);
    let top = out.charts[2].series[0].points.iter().map(|p| p[1]).fold(0.0, f64::max);
    assert!(top > 40_000.0);
    assert_eq!(out.charts[2].y.max, Some(top));
}

#[test]
fn consistency_of_2015_has_its_own_length_charts_and_tail() {
    let slow = ModelSpec { write: 30_000 * MICROSECOND, ..plain() };
    let out = run(&slow, "consistency", &[("form", "2015")]);
    assert_eq!((&out.params["seconds"], &out.params["tail_from_seconds"]), (&3600.into(), &3200.into()));
    assert_eq!(out.shortened, None);
    assert_eq!(out.charts[0].id, "iops-whole-linear");
    assert_eq!(out.charts[1].series[0].points.len(), 400);
    // 8 ways of 30 ms: seconds of 264 and 272, so there is a deviation to divide by.
    close(value(&out, "iops_mean_tail"), 8.0 / 0.03, 0.001);
    let ratio = value(&out, "iops_mean_tail") / value(&out, "iops_stddev_tail");
    close(value(&out, "iops_over_stddev"), ratio, 1e-12);
}

#[test]
fn consistency_counts_the_seconds_in_which_nothing_completes() {
    let stalling = ModelSpec { write: 5 * SECOND / 2, ways: 32, capacity_bytes: 4_194_304, ..plain() };
    let out = run(&stalling, "consistency", &[("seconds", "20"), ("tail_from_seconds", "10")]);
    assert_eq!(value(&out, "zero_iops_seconds"), 12.0);
    let seconds: Vec<f64> = out.charts[0].series[0].points.iter().map(|p| p[1]).collect();
    assert!(seconds.contains(&0.0) && seconds.iter().all(|&iops| iops <= 32.0), "{seconds:?}");
    // Too few seconds for a steady state have no figures of one.
    assert!(
        !out.not_steady.is_empty()
            && out.notes.contains(&out.not_steady[0].sentence())
            && !out.metrics.contains_key("iops_mean_tail")
    );
}

#[test]
fn stalls_are_found_and_what_they_felt_like() {
    let stalling = ModelSpec { write: 5 * SECOND / 4, ways: 1, ..plain() };
    let out = run(&stalling, "random-write", &[("seconds", "600"), ("queue_depth", "1")]);
    assert_eq!((value(&out, "stall_longest"), value(&out, "stall_share")), (1_250_000.0, 100.0));
    assert_eq!((value(&out, "seconds_over_100ms"), value(&out, "seconds_over_500ms")), (100.0, 100.0));
    // The last quarter of a second of each write: four seconds of five have a part of one.
    assert_eq!(value(&out, "seconds_over_1s"), 80.0);
    let chart = out.charts.iter().find(|c| c.id == "stalls").unwrap();
    assert_eq!(chart.series.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["controller"]);
    let table = out.tables.iter().find(|t| t.title.contains("longest gaps")).unwrap();
    assert_eq!((table.rows.len(), table.rows[0][2].as_str()), (10, "1"));
    // A device that never waits stalls nowhere.
    let out = run(&plain(), "random-write", &[("seconds", "3")]);
    assert_eq!(
        (value(&out, "stall_longest"), value(&out, "stall_share"), value(&out, "seconds_over_100ms")),
        (20.0, 0.0, 0.0)
    );
}

#[test]
fn over_provisioning_limits_what_is_filled_and_written() {
    let capacity = ModelSpec::default().capacity_bytes as f64;
    let used = |op| value(&run(&plain(), "consistency", &[("seconds", "2"), ("over_provisioning", op)]), "used_bytes");
    assert_eq!(used("none"), capacity);
    close(used("lba-75"), capacity * 0.75, 0.003);
    close(used("raw-25"), capacity * 1.0737 / 1.25, 0.003);
}

#[test]
fn a_tail_that_begins_after_the_end_is_refused() {
    let e = run_with(&plain(), "consistency", &[("seconds", "10"), ("tail_from_seconds", "10")]).unwrap_err();
    assert!(e.to_string().contains("tail_from_seconds=10"), "{e}");
}

#[test]
fn rate_tests_meet_the_service_times() {
    let out = run(&plain(), "random-read", &[("seconds", "3"), ("queue_depth", "3")]);
    assert_eq!((value(&out, "iops"), value(&out, "iops_min")), (30_000.0, 30_000.0));
    assert_eq!(value(&out, "bandwidth"), 122.88);
    assert_eq!((value(&out, "latency_mean"), value(&out, "latency_max")), (100.0, 100.0));
    assert_eq!(out.variant, "QD3");
    assert!(out.notes[0].contains("8 GB was limited to the drive's 0.064 GB"), "{:?}", out.notes);
    let out = run(&plain(), "random-write", &[("seconds", "3"), ("span_bytes", "8MB")]);
    assert_eq!(value(&out, "iops"), 400_000.0);
    assert_eq!(value(&out, "waf"), 1.0);
    assert!(out.notes.is_empty());
    let out = run(&plain(), "sequential-write", &[("seconds", "3")]);
    close(value(&out, "bandwidth"), 50_000.0 * 0.131072, 1e-12);
    let out = run(&plain(), "sequential-read", &[("seconds", "3")]);
    close(value(&out, "bandwidth"), 10_000.0 * 0.131072, 1e-12);
}

#[test]
fn think_time_of_the_host_reaches_the_tests() {
    let out = run(&plain(), "random-read", &[("seconds", "3"), ("queue_depth", "1"), ("think_us", "25")]);
    assert_eq!(value(&out, "iops"), 8000.0);
}

#[test]
fn queue_depth_scaling_writes_over_no_more_than_the_drive_has() {
    let writes = [("seconds", "1"), ("pattern", "random-write"), ("queue_depths", "1")];
    let of = |capacity_bytes: u64| run(&ModelSpec { capacity_bytes, ..plain() }, "qd-scaling", &writes).method;
    assert!(of(1 << 30).contains("random writes over 1.074 GB of an empty drive"), "{}", of(1 << 30));
    assert!(of(32_044_482_560).contains("random writes over 16 GB of an empty drive"), "{}", of(32_044_482_560));
}

#[test]
fn queue_depth_scaling_follows_the_number_of_ways() {
    let out = run(&plain(), "qd-scaling", &[("seconds", "2")]);
    for (depth, iops) in [(1, 10_000.0), (2, 20_000.0), (4, 40_000.0), (8, 80_000.0), (32, 80_000.0)] {
        assert_eq!(value(&out, &format!("random_read_iops_qd{depth}")), iops);
        close(value(&out, &format!("sequential_read_qd{depth}")), iops * 0.131072, 1e-12);
        assert_eq!(value(&out, &format!("random_write_iops_qd{depth}")), iops * 5.0);
    }
    close(value(&out, "random_read_bar"), 70_000.0 / 3.0 * 4096.0 / 1e6, 1e-12);
    assert_eq!(out.charts.iter().map(|c| c.series.len()).collect::<Vec<_>>(), [2, 2, 4]);
    // Half a watt, and 2 nJ a byte.
    close(value(&out, "random_read_power_qd8"), 0.5 + 80_000.0 * 4096.0 * 2e-9, 1e-6);
    let out = run(&plain(), "qd-scaling", &[("seconds", "2"), ("pattern", "random-read"), ("queue_depths", "1,8")]);
    assert_eq!(out.charts.len(), 2);
    assert!(!out.metrics.contains_key("random_read_bar"));
}

#[test]
fn mixed_rates_lie_between_reads_and_writes_and_their_mean_is_the_bar() {
    for test in ["mixed-random", "mixed-sequential"] {
        let out = run(&plain(), test, &[("seconds", "20")]);
        let rates: Vec<f64> =
            [100, 80, 60, 40, 20, 0].iter().map(|p| value(&out, &format!("bandwidth_read{p}"))).collect();
        assert!(rates.windows(2).all(|w| w[0] < w[1]), "{test}: writes are faster here: {rates:?}");
        close(value(&out, "bandwidth"), rates.iter().sum::<f64>() / 6.0, 1e-12);
        let places = if test == "mixed-random" { 3.0 } else { 1.0 };
        let block = if test == "mixed-random" { 4096.0 } else { 131_072.0 };
        close(rates[0], places * 1e4 * block / 1e6, 1e-3);
        // 40 % reads of 100 us and 60 % writes of 20 us, one after another, take 52 us on average.
        close(rates[3], places / 52e-6 * block / 1e6, 0.01);
    }
}

#[test]
fn fileserver_moves_11_kib_on_average_at_four_reads_to_one_write() {
    let out = run(&plain(), "fileserver", &[("seconds", "2")]);
    // 80 % of 100 us and 20 % of 20 us: 84 us on average, 8 ways.
    close(value(&out, "iops"), 8.0 / 84e-6, 0.01);
    close(value(&out, "bandwidth") * 1e6 / value(&out, "iops"), 11.08 * 1024.0, 0.02);
    close(value(&out, "iops_qd1"), 1.0 / 84e-6, 0.02);
    let e = run_with(&plain(), "fileserver", &[("headline_depth", "2")]).unwrap_err();
    assert!(e.to_string().contains("headline_depth=2"), "{e}");
}

#[test]
fn analyzedisk_gives_the_distribution_of_service_times() {
    let out = run(&plain(), "analyzedisk", &[("requests", "500")]);
    assert_eq!((value(&out, "latency_mean_read"), value(&out, "latency_mean_write")), (100.0, 20.0));
    let density = &out.charts[0].series[0];
    assert_eq!(density.name, "read");
    // All reads take 100 us: one bin of 5 us holds all the probability.
    assert_eq!(density.points.iter().filter(|p| p[1] > 0.0).collect::<Vec<_>>(), [&[102.5, 0.2]]);
}

#[test]
fn analyzedisk_has_no_linear_chart_where_the_one_line_hides_the_other() {
    // The linear chart, and what is said in its place: writes that take this long are as far apart as the bins are wide.
    let drawn = |write: Nanos| {
        let drive = ModelSpec { write, ways: 1, ..plain() };
        let out = run(&drive, "analyzedisk", &[("requests", "500"), ("bin_us", "1")]);
        let ids: Vec<String> = out.charts.iter().map(|chart| chart.id.clone()).collect();
        let note = out.notes.into_iter().find(|note| note.contains("linear axis"));
        assert!(ids.iter().any(|id| id == "service-time-density-log"), "{ids:?}");
        (ids.iter().any(|id| id == "service-time-density"), note)
    };
    assert_eq!(drawn(150_000 * MICROSECOND), (true, None), "75 times as high");
    let (linear, note) = drawn(260_000 * MICROSECOND);
    let said = "the line of reads would be 130 times as high as that of writes";
    assert!(!linear && note.as_ref().is_some_and(|note| note.contains(said)), "{note:?}");
}

#[test]
fn analyzedisk_waits_until_reads_are_served_as_before() {
    // 256 kB of writes are acknowledged at once and drain at 25.6 kB/s; reads wait for all of it, or do not.
    let holding = ModelSpec {
        cache_bytes: 1 << 20,
        drain_bytes_per_second: 25_600,
        scattered_factor: 1,
        capacity_bytes: 1 << 20,
        reads_wait_for_drain: true,
        ..ModelSpec::default()
    };
    let settings = [("requests", "500"), ("settle_seconds", "100")];
    let out = run(&holding, "analyzedisk", &settings);
    close(value(&out, "flush_seconds"), 10.0, 0.01);
    assert_eq!(value(&out, "latency_mean_write"), 20.0);
    let out = run(&ModelSpec { reads_wait_for_drain: false, ..holding.clone() }, "analyzedisk", &settings);
    assert_eq!(value(&out, "flush_seconds"), 0.0);
    // One that never gets there within the time that it is watched.
    let slower = ModelSpec { drain_bytes_per_second: 2_560, ..holding };
    let out =
        run(&slower, "analyzedisk", &[("requests", "500"), ("settle_seconds", "1000"), ("flush_limit_seconds", "50")]);
    assert!(!out.metrics.contains_key("flush_seconds") && out.notes.iter().any(|n| n.contains("held reads up")));
}

#[test]
fn analyzedisk_of_a_slow_drive_has_a_chart_of_sensible_size() {
    let slow = ModelSpec { write: 210_000 * MICROSECOND, ways: 1, ..plain() };
    let out = run(&slow, "analyzedisk", &[("requests", "100")]);
    assert_eq!(value(&out, "latency_mean_write"), 210_000.0);
    assert!(out.charts.iter().all(|c| c.series.iter().all(|s| s.points.len() <= 2_001)));
    let log = out.charts.iter().find(|c| c.id == "service-time-density-log").unwrap();
    assert!(log.x.log && log.series.iter().all(|s| s.points.iter().all(|p| p[0] > 0.0)));
    assert!(out.notes.iter().any(|n| n.contains("too few")), "{:?}", out.notes);
    assert_eq!((value(&out, "stall_longest_write"), value(&out, "stall_share_write")), (210_000.0, 100.0));
    assert_eq!(value(&out, "stall_share_read"), 0.0);
}

#[test]
fn disk_inspection_reads_at_the_first_and_the_last_address() {
    let out = run(&plain(), "disk-inspection", &[("places", "8")]);
    for key in ["rate_begin", "rate_end", "rate_mean", "rate_min", "rate_max"] {
        close(value(&out, key), 0.131072 / 100e-6, 1e-9);
    }
    let points = &out.charts[0].series[0].points;
    assert_eq!(points.len(), 8);
    let capacity = plain().capacity_bytes as f64 / 1e9;
    assert!(points[0][0] < capacity / 10.0 && points[7][0] > capacity * 0.9, "{points:?}");
    let e = run_with(&plain(), "disk-inspection", &[("places", "1000")]).unwrap_err();
    assert!(e.to_string().contains("do not fit 0.064 GB"), "{e}");
}

/// A command as a device gets it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    op: Op,
    offset_bytes: u64,
    length_bytes: u64,
    /// Whether the device had nothing left to do.
    at_rest: bool,
}

/// A model that keeps what it is sent. Of copies of it nothing is kept.
struct Recorded(ModelSpec, Arc<Mutex<Vec<Sent>>>);

impl Lab for Recorded {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        let device = self.0.fresh(seed)?.device;
        Ok(PoweredOn::new(RecordedDevice(device, Arc::clone(&self.1))))
    }
    fn name(&self) -> &str {
        "model"
    }
}

struct RecordedDevice(Box<dyn Device>, Arc<Mutex<Vec<Sent>>>);

impl Device for RecordedDevice {
    fn info(&self) -> &DeviceInfo {
        self.0.info()
    }
    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        let Request { op, offset_bytes, length_bytes, .. } = request;
        let at_rest = self.0.next_event().is_none();
        self.1.lock().unwrap().push(Sent { op, offset_bytes, length_bytes, at_rest });
        self.0.submit(now, request)
    }
    fn next_event(&self) -> Option<Nanos> {
        self.0.next_event()
    }
    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        self.0.advance(to, done);
    }
    fn counters(&self) -> Counters {
        self.0.counters()
    }
    fn check_books(&self) -> Result<(), String> {
        self.0.check_books()
    }
    fn snapshot(&self) -> Option<Box<dyn Device>> {
        self.0.snapshot()
    }
}

/// What the model is sent in a test.
fn sent(spec: ModelSpec, test: &str, settings: &[(&str, &str)]) -> Vec<Sent> {
    let lab = Recorded(spec, Arc::default());
    let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    run_test(find_test(test).unwrap(), &lab, &settings, 1, false, &Monitor::silent()).unwrap();
    lab.1.lock().unwrap().clone()
}

/// The same, of which each is as it was saved.
struct RecordedAsSaved(Recorded);

impl Lab for RecordedAsSaved {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        self.0.fresh(seed)
    }
    fn name(&self) -> &str {
        self.0.name()
    }
    fn begins(&self) -> Begins {
        Begins::Saved
    }
}

/// A model that still has some seconds of writing to do when it begins.
struct Busy(Recorded, Begins);

impl Lab for Busy {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        let mut powered = self.0.fresh(seed)?;
        let monitor = Monitor::silent();
        let mut host = Host::resuming(&mut *powered.device, &monitor, powered.ready);
        host.fill(0, 4 << 20, 128 << 10, 1, &mut ()).map_err(|e| e.to_string())?;
        powered.ready = host.now();
        self.0.1.lock().unwrap().clear();
        Ok(powered)
    }
    fn name(&self) -> &str {
        self.0.name()
    }
    fn begins(&self) -> Begins {
        self.1
    }
}

#[test]
fn a_drive_that_was_saved_rests_before_it_is_measured_as_a_filled_one() {
    let at_rest = |test: &str, begins, settings: &[(&str, &str)]| {
        let spec = ModelSpec {
            reads_wait_for_drain: true,
            cache_bytes: 8 << 20,
            drain_bytes_per_second: 1_000_000,
            ..device_for(test)
        };
        let lab = Busy(Recorded(spec, Arc::default()), begins);
        let all = [small(test), settings].concat();
        let all: Vec<_> = all.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        run_test(find_test(test).unwrap(), &lab, &all, 1, false, &Monitor::silent()).unwrap();
        let sent = lab.0.1.lock().unwrap();
        sent[0].at_rest
    };
    let (none, writes) = (("prefill", "none"), ("pattern", "random-write"));
    for (test, as_it_is) in [("random-read", none), ("sequential-write", none), ("qd-scaling", writes)] {
        assert!(at_rest(test, Begins::Saved, &[as_it_is]), "{test}");
        assert!(!at_rest(test, Begins::Saved, &[as_it_is, ("settle_seconds", "1")]), "{test}");
        assert!(!at_rest(test, Begins::AsFound, &[as_it_is]), "{test}");
        assert!(at_rest(test, Begins::AsFound, &[as_it_is, ("settle_seconds", "20")]), "{test}");
    }
    assert!(at_rest("atto", Begins::Saved, &[]));
}

#[test]
fn what_writes_over_a_drive_that_was_saved_says_so() {
    let mut as_it_was_saved = Vec::new();
    for def in TESTS {
        let lab = RecordedAsSaved(Recorded(disk_like(device_for(def.name)), Arc::default()));
        let settings: Vec<_> = small(def.name).iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        let out = match run_test(def, &lab, &settings, 1, false, &Monitor::silent()) {
            Ok(out) => out,
            Err(BenchError::Unsuitable(_)) => continue,
            Err(e) => panic!("{}: {e}", def.name),
        };
        let mut end = 0;
        for command in lab.0.1.lock().unwrap().iter() {
            if command.op != Op::Write || command.offset_bytes != end {
                break;
            }
            end += command.length_bytes;
        }
        let says = |what: &str| {
            out.notes.iter().any(|note| note.starts_with("On a drive as it was saved") && note.contains(what))
        };
        assert!(says(""), "{}: {:?}", def.name, out.notes);
        // A part of the last request does not fit.
        let is_filled = end > lab.0.0.capacity_bytes / 10 * 9;
        assert!(is_filled || !says("which this test fills"), "{}: {end} bytes are written first", def.name);
        if !says("which this test") {
            as_it_was_saved.push(def.name);
            // That is what it measures.
            assert!(!is_filled || def.name == "sequential-write", "{}", def.name);
        }
    }
    let left = ["random-read", "random-write", "sequential-read", "sequential-write", "as-ssd", "atto"];
    assert_eq!(as_it_was_saved, left);
    let lab = RecordedAsSaved(Recorded(plain(), Arc::default()));
    let settings = [("prefill", "drive"), ("seconds", "1")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let out = run_test(find_test("random-read").unwrap(), &lab, &settings, 1, false, &Monitor::silent()).unwrap();
    assert!(out.notes.iter().any(|note| note.contains("which this test fills first")), "{:?}", out.notes);
}

#[test]
fn a_depth_that_stands_twice_is_refused_and_a_small_span_has_its_unit() {
    let error =
        |depths: &str| run_with(&plain(), "qd-scaling", &[("queue_depths", depths), ("seconds", "1")]).unwrap_err();
    assert!(error("4,20,20").to_string().contains("20 stands twice"), "{}", error("4,20,20"));
    let out = run(&plain(), "random-read", &[("span_bytes", "4096"), ("seconds", "1")]);
    assert!(out.method.contains("over 4.096 kB for"), "{}", out.method);
}

#[test]
fn disk_inspection_reads_a_drive_that_is_done_with_the_fill_unless_its_rest_is_set() {
    // Of the fill, 32 MB still lie in its cache, and take 32 s.
    let busy = || ModelSpec {
        reads_wait_for_drain: true,
        cache_bytes: 32_000_000,
        drain_bytes_per_second: 1_000_000,
        ..ModelSpec::default()
    };
    let at_rest = |settings: &[_]| {
        let sent = sent(busy(), "disk-inspection", settings);
        sent.iter().find(|command| command.op == Op::Read).unwrap().at_rest
    };
    assert!(at_rest(&[("places", "8")]));
    assert!(!at_rest(&[("places", "8"), ("settle_seconds", "9")]));
    // What it does without being told is the same run.
    assert!(at_rest(&[("places", "8"), ("settle_seconds", "10")]));
}

/// A model beside a reference.
struct Beside(ModelSpec, ModelSpec);

impl Lab for Beside {
    fn fresh(&self, seed: u64) -> Result<crate::PoweredOn, String> {
        self.0.fresh(seed)
    }
    fn name(&self) -> &str {
        "model"
    }
    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn ssdlab_device::Device>>, String> {
        assert_eq!(model, "raptor-wd360gd-36gb");
        self.1.fresh(seed).map(|powered| Some(powered.device))
    }
}

#[test]
fn a_mix_has_the_reference_at_100_and_is_the_same_for_both() {
    let with = |lab: &dyn Lab, test: &str| {
        let settings = vec![("requests".to_owned(), "3000".to_owned())];
        run_test(find_test(test).unwrap(), lab, &settings, 1, false, &Monitor::silent()).unwrap()
    };
    let fast = of_16_gb(plain());
    // Eight ways and at most four requests in flight: nothing waits, so that times scale with the service.
    let slow = ModelSpec { read: 3 * fast.read, write: 3 * fast.write, ..fast.clone() };
    for test in ["storagemark-desktop", "storagemark-streaming"] {
        close(value(&with(&Beside(fast.clone(), slow.clone()), test), "index"), 300.0, 1e-9);
        close(value(&with(&Beside(slow.clone(), slow.clone()), test), "index"), 100.0, 1e-9);
    }
    let out = with(&fast, "storagemark-database");
    assert!(!out.metrics.contains_key("index") && out.notes.iter().any(|n| n.contains("no index")), "{:?}", out.notes);
    assert!(out.notes[0].contains("stand-in") && out.title.contains("stand-in"));
    // 67 reads of 100 us and 33 writes of 20 us.
    close(value(&out, "latency_mean"), 0.67 * 100.0 + 0.33 * 20.0, 0.001);
    assert!(value(&out, "depth_mean") > 2.0);
}

#[test]
fn a_mix_follows_those_before_it_on_the_same_drive() {
    // 100 MB, and a slow way out: what the desktop mix leaves behind is felt in the next.
    let mut filling = of_16_gb(plain());
    (filling.cache_bytes, filling.drain_bytes_per_second) = (100_000_000, 5_000_000);
    let mean = |before: &str| {
        let settings = [("requests", "20000"), ("before", before), ("settle_seconds", "100")];
        value(&run(&filling, "storagemark-boot", &settings), "latency_mean_write")
    };
    let (alone, after) = (mean("nothing"), mean("mixes"));
    assert!(alone < 25.0 && after > 1000.0, "{alone} {after}");
    let small = run_with(&plain(), "storagemark-desktop", &[]).unwrap_err();
    assert!(small.to_string().contains("the mixes use the first 12 GB"), "{small}");
}

#[test]
fn hdtach_draws_a_flat_curve_of_a_flat_device() {
    let out = run(&plain(), "hdtach", &[("zones", "16")]);
    // The last request is shorter than 128 KiB, and zones do not end at requests.
    close(value(&out, "write_bandwidth"), 0.131072 / 20e-6, 0.005);
    close(value(&out, "read_bandwidth"), 0.131072 / 100e-6, 0.005);
    assert!(value(&out, "read_bandwidth_min") <= value(&out, "read_bandwidth"));
    // Energy is of both passes: 2 nJ a byte, and what the device draws at rest while they last.
    let bytes = 2.0 * plain().capacity_bytes as f64;
    let seconds = ["write_bandwidth", "read_bandwidth"].map(|key| bytes / 2e6 / value(&out, key)).iter().sum::<f64>();
    close(value(&out, "energy"), 2e-9 * bytes + plain().idle_milliwatts as f64 / 1e3 * seconds, 0.005);
    assert_eq!(out.charts[0].series[0].points.len(), 16);
    assert!(out.charts[0].series[0].points.windows(2).all(|w| w[0][0] < w[1][0]));
}

#[test]
fn overwriting_at_random_costs_a_device_without_flash_nothing() {
    for order in ["random", "once"] {
        let out = run(&plain(), "fragmented-read", &[("zones", "16"), ("overwrite_order", order)]);
        close(value(&out, "clean_bandwidth"), 0.131072 / 100e-6, 0.005);
        close(value(&out, "kept_share"), 100.0, 1e-9);
        // 8 at a time, 20 us each.
        close(value(&out, "overwrite_iops"), 8.0 / 20e-6, 0.01);
        let by_position = &out.charts[0];
        assert!(by_position.series.len() == 2 && by_position.series.iter().all(|s| s.points.len() == 16));
    }
}

/// The model with a cache of 16 MB in front of a medium of 25 MB/s: 128 KiB go into the cache in 200 us.
fn cached() -> ModelSpec {
    ModelSpec {
        write: 200 * MICROSECOND,
        cache_bytes: 16_000_000,
        drain_bytes_per_second: 25_000_000,
        scattered_factor: 1,
        ..ModelSpec::default()
    }
}

#[test]
fn slc_cache_finds_the_stages_and_what_comes_back_after_idle_time() {
    let out = run(&cached(), "slc-cache", &[("zones", "100"), ("idle_seconds", "0,1,10")]);
    assert_eq!(value(&out, "stages"), 2.0);
    let fast = 131_072.0 / 200e-6 / 1e6;
    // The zone across the drop belongs to one of the stages and takes a little of its rate.
    close(value(&out, "stage1_bandwidth"), fast, 0.03);
    close(value(&out, "stage2_bandwidth"), 25.0, 0.02);
    // While the cache fills at 655 MB/s it drains at 25.
    let amount = 16.0 / (1.0 - 25.0 / fast);
    close(value(&out, "stage1_amount"), amount / 1e3, 0.03);
    close(value(&out, "stage1_end"), 100.0 * amount / 64.0, 0.03);
    for after in ["overwrite", "trim"] {
        assert_eq!(value(&out, &format!("recovered_{after}_0s")), 0.0, "{after}");
        close(value(&out, &format!("recovered_{after}_1s")), amount / 1e3, 0.15);
        close(value(&out, &format!("recovered_{after}_10s")), amount / 1e3, 0.15);
    }
    assert_eq!(out.tables.len(), 2);
    assert!(out.tables[0].rows[0][0].contains("cache") && out.tables[0].rows.len() == 2);
    assert_eq!(out.tables[1].rows.len(), 3);
    assert_eq!(out.charts[0].series[1].points.len(), 4);
}

#[test]
fn slc_cache_of_a_drive_without_one_is_one_stage_and_has_no_recovery() {
    let out = run(&plain(), "slc-cache", &[("zones", "100")]);
    assert_eq!(value(&out, "stages"), 1.0);
    assert!(!out.metrics.keys().any(|k| k.starts_with("recovered")));
    assert!(out.notes[0].starts_with("The rate is the same everywhere. No recovery was measured."), "{:?}", out.notes);
}

#[test]
fn a_storage_bench_reports_rate_service_time_and_slow_shares_of_a_known_device() {
    let out = run(&plain(), "light", &[("requests", "20000"), ("state", "empty")]);
    assert_eq!(out.variant, "2015, empty drive");
    let (reads, writes) = (value(&out, "trace_reads"), value(&out, "trace_writes"));
    assert_eq!(reads + writes, 20_000.0);
    // Eight ways: up to a depth of 8 nothing waits, and deeper requests are few.
    let at_least = (reads * 100.0 + writes * 20.0) / 20_000.0;
    assert!((at_least..at_least * 1.2).contains(&value(&out, "latency_mean")), "{}", value(&out, "latency_mean"));
    let gb = value(&out, "trace_read_gb") + value(&out, "trace_written_gb");
    close(value(&out, "bandwidth"), gb * 1e3 / value(&out, "busy_seconds"), 1e-9);
    close(value(&out, "iops"), 20_000.0 / value(&out, "busy_seconds"), 1e-9);
    assert_eq!((value(&out, "share_over_10ms"), value(&out, "share_over_100ms")), (0.0, 0.0));
    // Requests that end at the same instant leave the next one a queue shorter than it should be.
    close(value(&out, "depth_mean"), value(&out, "trace_depth_mean"), 0.1);
    assert!(out.notes[0].contains("stand-in") && out.title.contains("stand-in") && out.method.contains("stand-in"));
    let waited = out.charts.iter().find(|c| c.id == "waiting-through-trace").unwrap().series[0].points.clone();
    assert!(waited.is_sorted_by(|a, b| a[0] < b[0] && a[1] < b[1]) && waited[0] == [0.0, 0.0], "{waited:?}");
    let [played, all] = waited[waited.len() - 1];
    close(played, 100.0, 1e-9);
    close(all, value(&out, "latency_mean") * 20_000.0 / 1e6, 1e-6);
    let table = &out.tables[0];
    let row = table.rows.iter().find(|r| r[0] == "size: 128 KiB").unwrap();
    assert_eq!(row[1..3], ["26.4 %", "26.4 %"]);
    // So short a trace misses figures.
    let words = "20000 requests, made up so that every published figure is met as nearly as a trace of this length can";
    assert!(out.method.contains(words), "{}", out.method);
}

#[test]
fn reads_of_nothing_are_told_of_drives_that_count_them_only() {
    for tells_of_flash in [true, false] {
        let spec = ModelSpec { tells_of_flash, ..plain() };
        let out = run(&spec, "light", &[("requests", "2000"), ("state", "empty")]);
        assert_eq!(out.metrics.contains_key("unmapped_read_share"), tells_of_flash);
    }
}

#[test]
fn slow_requests_are_counted_exactly() {
    let slow = ModelSpec { read: 10_000 * MICROSECOND, write: 100_001 * MICROSECOND, ways: 1024, ..plain() };
    let out = run(&slow, "light", &[("requests", "2000"), ("state", "empty")]);
    // Reads of exactly 10 ms are not over 10 ms; every write is over both limits.
    let writes = 100.0 * value(&out, "trace_writes") / 2000.0;
    assert_eq!((value(&out, "share_over_10ms"), value(&out, "share_over_100ms")), (writes, writes));
}

#[test]
fn each_era_runs_on_its_own_drives_and_draws_its_own_charts() {
    let with = |test: &str, form: &str| {
        let out = run(&plain(), test, &[("requests", "2000"), ("form", form)]);
        let ids: Vec<String> = out.charts.iter().map(|c| c.id.clone()).collect();
        (out.metrics.contains_key("bandwidth_full"), ids)
    };
    let (full, ids) = with("heavy", "2011");
    assert!(!full && ids[0] == "data-rate" && !ids.contains(&"service-time".to_owned()));
    let (full, ids) = with("destroyer", "2013");
    assert!(!full && ids[1] == "service-time" && !ids.contains(&"slow-requests".to_owned()));
    let (full, ids) = with("light", "2015");
    assert!(full && ids.contains(&"slow-requests".to_owned()));
    // The Destroyer begins on the addresses that it reads; the other states stand beside it under names of their own.
    let out = run(&plain(), "destroyer", &[("requests", "2000"), ("state", "every")]);
    for key in ["bandwidth", "bandwidth_empty", "bandwidth_full"] {
        assert!(value(&out, key) > 0.0, "{key}");
    }
    assert!(out.method.contains("played on a drive on which these addresses, and no others, had been written"));
    let e = run_with(&plain(), "destroyer", &[("form", "2011")]).unwrap_err();
    assert!(e.to_string().contains("expected one of 2013, 2015"), "{e}");
    let e = run_with(&plain(), "light", &[("footprint_bytes", "1GB")]).unwrap_err();
    assert_eq!(e.to_string(), "a trace over 1 GB does not fit a drive of 0.064 GB");
}

#[test]
fn files_begin_where_file_systems_let_them_begin() {
    let offsets = TESTS.iter().flat_map(|def| def.params).filter(|param| param.key == "file_offset_bytes");
    let offsets: Vec<u64> = offsets.map(|param| crate::params::parse_bytes(param.default).unwrap()).collect();
    assert!(offsets.len() >= 2 && offsets.iter().all(|offset| offset.is_multiple_of(4096)), "{offsets:?}");
}

#[test]
fn the_interval_of_a_trace_has_the_figures_of_each_choice() {
    let settings = |joint| [("requests", "2000"), ("form", "2015"), ("joint", joint)];
    // Large requests take longer: it matters in which company they are.
    let spec = ModelSpec { read_picos_per_byte: 2_000, ..plain() };
    let all = run(&spec, "heavy", &settings("interval"));
    for (end, joint) in [("", "independent"), ("_small_deep", "small-deep"), ("_large_deep", "large-deep")] {
        let one = run(&spec, "heavy", &settings(joint));
        for key in ["latency_mean", "latency_mean_full", "bandwidth"] {
            assert_eq!(value(&all, &format!("{key}{end}")), value(&one, key), "{key}{end}");
        }
    }
    assert!(value(&all, "latency_mean_large_deep") > value(&all, "latency_mean_small_deep"));
    let kept = run(&spec, "heavy", &[("requests", "2000"), ("form", "2015"), ("idle_cap_ms", "1000")]);
    for key in ["idle_seconds", "bandwidth_full"] {
        assert_eq!(value(&all, &format!("{key}_idle_kept")), value(&kept, key), "{key}");
    }
    assert!(value(&kept, "idle_seconds") > 2.0 * value(&all, "idle_seconds"));
}

#[test]
fn trim_passes_a_drive_whose_trim_works_and_fails_one_whose_does_not() {
    let settings = [("torture_seconds", "30")];
    let out = run(&ModelSpec::default(), "trim", &settings);
    let verdict = out.verdict.unwrap();
    assert!(verdict.pass == Some(true) && verdict.sentence.starts_with("TRIM works"), "{}", verdict.sentence);
    let out = run(&ModelSpec { trim_works: false, ..ModelSpec::default() }, "trim", &settings);
    assert!(value(&out, "trimmed_shortfall") > 50.0);
    let verdict = out.verdict.unwrap();
    assert!(verdict.pass == Some(false) && verdict.sentence.contains("does not restore"), "{}", verdict.sentence);
    // A drive that scatters nothing leaves nothing for TRIM to repair, and the test says that it proves nothing.
    let out = run(&ModelSpec { scattered_factor: 1, ..ModelSpec::default() }, "trim", &settings);
    let verdict = out.verdict.unwrap();
    assert!(verdict.pass.is_none() && verdict.sentence.contains("too little"), "{}", verdict.sentence);
}

#[test]
fn as_ssd_keeps_64_requests_in_flight_and_scores_by_the_formula() {
    let out = run(&plain(), "as-ssd", small("as-ssd"));
    let read = |key| value(&out, key);
    close(read("random_read"), 1e4 * 4096.0 / 1e6, 1e-9);
    close(read("random_read_64"), 8e4 * 4096.0 / 1e6, 1e-9);
    assert_eq!((read("access_time_read"), read("access_time_write")), (100.0, 20.0));
    let want = 0.1 * read("sequential_read") + read("random_read") + read("random_read_64");
    close(read("score_read"), want, 1e-12);
    let total = want + 0.15 * read("sequential_write") + 1.5 * read("random_write") + 1.5 * read("random_write_64");
    close(read("score"), total, 1e-12);
    let e = run_with(&plain(), "as-ssd", &[]).unwrap_err();
    assert_eq!(e.to_string(), "a file of 1 GB at 1.074 GB does not fit a drive of 0.064 GB");
}

#[test]
fn atto_writes_and_reads_every_size_at_four_outstanding() {
    let out = run(&plain(), "atto", small("atto"));
    // Four of eight ways busy: 40,000 reads a second of whatever size.
    for (key, bytes) in [("read_512b", 512.0), ("read_4k", 4096.0), ("read_64k", 65_536.0)] {
        close(value(&out, key), 4e4 * bytes / 1e6, 1e-9);
    }
    // 1 MiB is the largest command: a request of 4 MiB is four of them at once.
    close(value(&out, "read_1m"), value(&out, "read_4m"), 1e-9);
    assert_eq!(value(&out, "read_peak"), value(&out, "read_1m"));
    let names = &out.charts[0].x.categories;
    assert_eq!((names.len(), names[0].as_str(), names[13].as_str()), (14, "512 B", "4 MiB"));
    let e = run_with(&plain(), "atto", &[("length_bytes", "1MiB")]).unwrap_err();
    assert!(e.to_string().contains("size_max_bytes"), "{e}");
}

/// A model that has itself in small: a cache in proportion to the drive, and the same rates.
struct InProportion(ModelSpec);

impl Lab for InProportion {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        self.0.fresh(seed)
    }
    fn name(&self) -> &str {
        "model"
    }
    fn small(&self, by: u32, seed: u64) -> Result<Option<Box<dyn ssdlab_device::Device>>, String> {
        let part = |bytes: u64| bytes / u64::from(by);
        let (capacity_bytes, cache_bytes) = (part(self.0.capacity_bytes), part(self.0.cache_bytes));
        let in_small = ModelSpec { capacity_bytes, cache_bytes, ..self.0.clone() };
        in_small.fresh(seed).map(|powered| Some(powered.device))
    }
}

#[test]
fn files_shrink_with_the_drive_so_that_its_cache_takes_as_much_of_them() {
    // A cache that takes three quarters of ATTO's file, and a fifth of that of AS SSD.
    let drive = InProportion(ModelSpec {
        capacity_bytes: 4 << 30,
        cache_bytes: 192 << 20,
        scattered_factor: 1,
        ..ModelSpec::default()
    });
    let run = |test: &str, settings: &[(&str, &str)], quick| {
        let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        run_test(find_test(test).unwrap(), &drive, &settings, 1, quick, &Monitor::silent()).unwrap()
    };
    let settings = [("seconds", "1"), ("prefill", "none")];
    let [full, quick] = [false, true].map(|quick| run("as-ssd", &settings, quick));
    close(value(&quick, "sequential_write"), value(&full, "sequential_write"), 0.02);
    assert_eq!(
        (&quick.params["file_offset_bytes"], &quick.params["access_requests"]),
        (&(128 << 20).into(), &625.into())
    );

    let largest = [("size_min_bytes", "1MiB")];
    let [full, quick] = [false, true].map(|quick| run("atto", &largest, quick));
    for key in ["write_1m", "write_8m"] {
        close(value(&quick, key), value(&full, key), 0.02);
    }
    // Of larger ones the small file holds fewer than are to be outstanding.
    assert!(full.metrics.contains_key("write_64m") && !quick.metrics.contains_key("write_16m"), "{:?}", quick.metrics);
    assert!(quick.notes.iter().any(|n| n.starts_with("Requests larger than 8 MiB are left out")), "{:?}", quick.notes);
    assert!(full.notes.iter().all(|n| !n.contains("left out")), "{:?}", full.notes);
    // A quick run has its own files and is no other test for it; a full run that begins elsewhere is one.
    let [full, quick] = [false, true].map(|quick| run("atto", &[], quick));
    assert!(is_as_declared(&full) && is_as_declared(&quick));
    let elsewhere = run("atto", &[("file_offset_bytes", "128MiB")], false);
    assert!(!is_as_declared(&elsewhere));
}

/// A disk, of which there is none in small.
struct Rotating(ModelSpec);

impl Lab for Rotating {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        self.0.fresh(seed)
    }
    fn name(&self) -> &str {
        "model"
    }
    fn has_disk(&self, _seed: u64) -> Result<bool, String> {
        Ok(true)
    }
}

#[test]
fn a_quick_run_says_so_where_it_has_the_whole_drive_and_a_smaller_one_was_meant() {
    let spec = || ModelSpec { capacity_bytes: 128 << 20, ..plain() };
    let says = |lab: &dyn Lab, quick| {
        let settings = [("seconds".to_owned(), "1".to_owned())];
        let out = run_test(find_test("random-read").unwrap(), lab, &settings, 1, quick, &Monitor::silent()).unwrap();
        out.notes.iter().any(|note| note.starts_with("On the whole drive, although"))
    };
    assert!(says(&spec(), true) && !says(&spec(), false));
    assert!(!says(&InProportion(spec()), true));
    assert!(!says(&RealAndRotating, true) && !says(&Rotating(spec()), true));
}

#[test]
fn a_quick_run_rests_as_long_as_it_says_and_as_long_as_was_set() {
    // In small, 16 MB of what was written still lie in the cache, take 16 s, and hold reads up unless the rest is longer.
    let drive = InProportion(ModelSpec {
        capacity_bytes: 512 << 20,
        cache_bytes: 128_000_000,
        drain_bytes_per_second: 1_000_000,
        scattered_factor: 1,
        reads_wait_for_drain: true,
        ..ModelSpec::default()
    });
    let run = |test: &str, settings: &[(&str, &str)], quick| {
        let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        run_test(find_test(test).unwrap(), &drive, &settings, 1, quick, &Monitor::silent()).unwrap()
    };
    let rested = |settings: &[(&str, &str)], quick| {
        let out = run("hdtach", settings, quick);
        let said = out.method.rsplit_once("and after ").unwrap().1.split_once(" s of rest").unwrap().0.to_owned();
        let is_other = is_of_small_drive(&out, "settle_seconds");
        (said, out.params["settle_seconds"].as_f64(), is_other, value(&out, "read_bandwidth") > 1000.0)
    };
    assert_eq!(rested(&[], false), ("10".to_owned(), Some(10.0), false, false));
    assert_eq!(rested(&[], true), ("1.25".to_owned(), Some(1.25), true, false));
    assert_eq!(rested(&[("settle_seconds", "20")], true), ("20".to_owned(), Some(20.0), false, true));

    let drive = InProportion(ModelSpec { capacity_bytes: 512 << 20, trim_works: false, ..ModelSpec::default() });
    let verdict = |settings: &[(String, String)]| {
        let trim = find_test("trim").unwrap();
        run_test(trim, &drive, settings, 1, true, &Monitor::silent()).unwrap().verdict.unwrap().sentence
    };
    let short = ("torture_seconds".to_owned(), "30".to_owned());
    let said = verdict(std::slice::from_ref(&short));
    assert!(said.starts_with("TRIM does not restore the drive within 1.25 s of rest"), "{said}");
    let said = verdict(&[short, ("settle_seconds".to_owned(), "7".to_owned())]);
    assert!(said.starts_with("TRIM does not restore the drive within 7 s of rest"), "{said}");
}

#[test]
fn a_quick_run_tells_of_the_cache_that_the_whole_drive_could_hide() {
    let drive = InProportion(ModelSpec { capacity_bytes: 512 << 20, ..plain() });
    let limit = |quick| {
        let settings = [("zones".to_owned(), "128".to_owned())];
        let test = find_test("slc-cache").unwrap();
        let out = run_test(test, &drive, &settings, 1, quick, &Monitor::silent()).unwrap();
        let told = out.notes.into_iter().find(|note| note.contains("would not show")).expect("there is none");
        told.rsplit_once(". ").unwrap().1.to_owned()
    };
    assert_eq!([false, true].map(limit), ["A cache of less than some 0.017 GB would not show."; 2]);
}

/// A model that passes for a set of drives, whole or in small.
struct AsSet(InProportion);

impl Lab for AsSet {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        self.0.fresh(seed).map(|powered| PoweredOn::new(OfMembers::new(powered.device)))
    }
    fn name(&self) -> &str {
        "model"
    }
    fn small(&self, by: u32, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        Ok(self.0.small(by, seed)?.map(|device| Box::new(OfMembers::new(device)) as Box<dyn Device>))
    }
}

struct OfMembers(Box<dyn Device>, DeviceInfo);

impl OfMembers {
    fn new(device: Box<dyn Device>) -> Self {
        let info = DeviceInfo { kind: "array", ..device.info().clone() };
        OfMembers(device, info)
    }
}

impl Device for OfMembers {
    fn info(&self) -> &DeviceInfo {
        &self.1
    }
    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.0.submit(now, request)
    }
    fn next_event(&self) -> Option<Nanos> {
        self.0.next_event()
    }
    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        self.0.advance(to, done);
    }
    fn counters(&self) -> Counters {
        self.0.counters()
    }
    fn check_books(&self) -> Result<(), String> {
        self.0.check_books()
    }
}

#[test]
fn the_steady_state_of_a_set_is_left_to_a_full_run_by_both_tests_that_look_for_one() {
    let drive = || InProportion(ModelSpec { capacity_bytes: 64 << 20, ..plain() });
    let of = |lab: &dyn Lab, test: &str, quick| {
        let settings: &[(&str, &str)] = if test == "consistency" {
            &[("seconds", "12"), ("tail_from_seconds", "4")]
        } else {
            &[("round_share", "1"), ("settle_turnovers", "1")]
        };
        let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        let out = run_test(find_test(test).unwrap(), lab, &settings, 1, quick, &Monitor::silent()).unwrap();
        let figure = if test == "consistency" { "iops_mean_tail" } else { "iops" };
        let left = out.is_unsettled_by(Unsettled::LeftToFullRun);
        assert_eq!(left, out.notes.iter().any(|note| note.starts_with("The steady state is left to a full run: ")));
        (left, value(&out, "steady"), out.metrics.contains_key(figure))
    };
    for test in ["consistency", "steady-state"] {
        assert_eq!(of(&AsSet(drive()), test, true), (true, 0.0, false), "{test}");
        assert_eq!(of(&AsSet(drive()), test, false), (false, 1.0, true), "{test}");
        assert_eq!(of(&drive(), test, true), (false, 1.0, true), "{test}");
    }
}

#[test]
fn a_request_that_outlasts_the_test_is_felt_and_said() {
    // 7 writes end within 10 s, and the eighth has been waiting for 3 s when the time is over.
    let spec = ModelSpec {
        write: SECOND,
        ways: 1,
        cache_bytes: 7 * (128 << 10),
        drain_bytes_per_second: 1,
        ..ModelSpec::default()
    };
    let out = run(&spec, "sequential-write", &[("seconds", "10")]);
    assert_eq!((value(&out, "stall_longest"), value(&out, "seconds_over_1s")), (3e6, 20.0), "{:?}", out.metrics);
    assert!(out.notes.iter().any(|n| n.contains("a request was still under way, for 3.00 s")), "{:?}", out.notes);
    let gaps = out.tables.iter().find(|t| t.title == LONGEST_GAPS).unwrap();
    assert_eq!(gaps.rows[0][1], "3.00 s");
}

#[test]
fn what_the_tests_scatter_slows_the_drive_and_a_small_one_has_no_mixes() {
    // The model knows no sequential rewrite: what was scattered stays so.
    let out = run(&ModelSpec::default(), "worn-in", &[("runs", "2"), ("seconds", "10")]);
    close(value(&out, "write_bandwidth_fresh"), 100.0, 0.01);
    for state in ["worn", "rewritten"] {
        close(value(&out, &format!("write_bandwidth_{state}")), 25.0, 0.03);
        close(value(&out, &format!("random_write_iops_{state}")), 25e6 / 4096.0, 0.01);
        close(value(&out, &format!("read_access_{state}")), 100.0, 1e-9);
    }
    // Every state is measured on copies: the random writes of the fresh one changed nothing for its reads or writes.
    assert!(value(&out, "random_write_iops_fresh") > value(&out, "random_write_iops_worn"));
    close(out.charts[1].series[0].points[2][1], 25.0, 0.03);
    assert!(!out.metrics.contains_key("desktop_latency_fresh"));
    assert!(out.notes.iter().any(|n| n.contains("mixes were left out")), "{:?}", out.notes);
    assert_eq!((out.tables[0].rows.len(), out.tables[0].columns.len()), (7, 4));
}

#[test]
fn no_part_of_wearing_in_repeats_the_addresses_of_another() {
    let sent = sent(ModelSpec::default(), "worn-in", &[("runs", "1"), ("seconds", "1"), ("requests", "500")]);
    let sector = |command: &Sent, op| command.length_bytes == 512 && command.op == op;
    let row = |op| sent.windows(500).position(|w| w.iter().all(|c| sector(c, op))).unwrap();
    let (reads, writes) = (row(Op::Read), row(Op::Write));
    let offsets = |from: usize| sent[from..from + 500].iter().map(|c| c.offset_bytes).collect::<Vec<_>>();
    assert_ne!(offsets(reads), offsets(writes));
    // Five loads of the file server come next.
    let loads = &sent[writes + 500..];
    let same = |w: &[Sent]| w.iter().zip(loads).all(|(a, b)| (a.op, a.offset_bytes) == (b.op, b.offset_bytes));
    assert_eq!(loads.windows(10).filter(|w| same(w)).count(), 1);
}

#[test]
fn unknown_tests_and_parameters_name_the_nearest() {
    let e = find_test("random-wrte").unwrap_err().to_string();
    assert_eq!(e, "unknown test `random-wrte`; did you mean random-write?");
    let e = run_with(&plain(), "trim", &[("tourture_seconds", "1")]).unwrap_err().to_string();
    assert!(e.contains("did you mean torture_seconds"), "{e}");
}

#[test]
fn every_declared_default_and_variant_is_valid_and_every_parameter_is_explained() {
    for def in TESTS {
        assert!(TESTS.iter().filter(|t| t.name == def.name).count() == 1, "{} twice", def.name);
        assert!(def.weight > 0.0 && !def.variants.is_empty() && !def.summary.is_empty(), "{}", def.name);
        for variant in def.variants {
            Context::new(&plain(), def, &variant.settings(), 1, false, &Monitor::silent()).map(|_| ()).unwrap();
        }
        for p in def.params {
            assert!(!p.doc.is_empty() && def.params.iter().filter(|q| q.key == p.key).count() == 1, "{}", p.key);
        }
    }
    let text = reference(TESTS);
    assert!(TESTS.iter().all(|t| t.params.iter().all(|p| text.contains(&format!("| `{}` |", p.key)))));
}

#[test]
fn power_is_that_of_rest_and_of_what_each_load_moves() {
    let out = run(&plain(), "power", &[("idle_seconds", "5"), ("seconds", "5")]);
    close(value(&out, "power_idle"), 0.5, 1e-9);
    for (load, bytes_per_s) in [
        ("sequential_read", 80_000.0 * 131_072.0),
        ("random_read", 80_000.0 * 4096.0),
        ("sequential_write", 400_000.0 * 131_072.0),
        ("random_write", 400_000.0 * 4096.0),
    ] {
        let watts = 0.5 + bytes_per_s * 2e-9;
        close(value(&out, &format!("power_{load}")), watts, 1e-4);
        close(value(&out, &format!("energy_per_gb_{load}")), watts / bytes_per_s * 1e9, 1e-4);
    }
    close(value(&out, "power_max"), value(&out, "power_sequential_write"), 1e-4);
    // The model's link does not sleep, and the report says so.
    assert!(!out.metrics.contains_key("power_slumber") && out.notes.iter().any(|n| n.contains("Slumber")));
}

#[test]
fn energy_of_a_load_is_its_power_by_its_rate() {
    // Eight at a time, of 400 ms each: of 24 that are sent within the second, eight end after it, and their wait is none of the load's.
    let slow = ModelSpec { write: 400_000 * MICROSECOND, ..plain() };
    let settings = [("idle_seconds", "1"), ("seconds", "1"), ("queue_depth", "8")];
    let out = run(&slow, "power", &settings);
    // The model draws for a request when it takes it.
    close(value(&out, "power_sequential_write"), 0.5 + 24.0 * 131_072.0 * 2e-9, 1e-4);
    close(value(&out, "bandwidth_sequential_write"), 16.0 * 0.131_072, 1e-6);
    let by_rate = value(&out, "power_sequential_write") / value(&out, "bandwidth_sequential_write") * 1e3;
    close(value(&out, "energy_per_gb_sequential_write"), by_rate, 1e-6);
}

/// The time that the drive is metered in is that of what is measured: the wait for writes of 400 ms after it is in none.
#[test]
fn energy_of_a_test_ends_with_the_time_of_its_writes() {
    let slow = ModelSpec { write: 400_000 * MICROSECOND, ..plain() };
    let metered_for = |out: &Outcome| value(out, "energy") / value(out, "power_mean");
    let out = run(&slow, "consistency", &[("seconds", "5"), ("queue_depth", "8")]);
    close(metered_for(&out), 5.0, 1e-9);
    close(value(&out, "energy"), 5.0 * 0.5 + 13.0 * 8.0 * 4096.0 * 2e-9, 1e-6);
    let settings = [("torture_seconds", "5"), ("torture_queue_depth", "8"), ("block_size", "1MiB"), ("zones", "10")];
    let out = run(&slow, "trim", &settings);
    let curves = ["clean", "dirty", "trimmed"].map(|of| value(&out, &format!("{of}_bandwidth")));
    let swept: f64 = curves.iter().map(|rate| slow.capacity_bytes as f64 / 1e6 / rate).sum();
    close(metered_for(&out), swept + 5.0, 1e-6);
}

#[test]
fn tests_of_several_loads_say_which_requests_outlast_which() {
    let slow = ModelSpec { read: 1_600_000 * MICROSECOND, write: 1_600_000 * MICROSECOND, ..plain() };
    let size = [("file_bytes", "1MiB"), ("file_offset_bytes", "0"), ("access_requests", "2")];
    for (test, settings, load) in [
        ("power", &[("idle_seconds", "1")][..], "With 4 KiB random write requests, when"),
        ("qd-scaling", &[("queue_depths", "2")], "With sequential read requests at QD2, when"),
        ("mixed-random", &[], "With 80 % reads, when"),
        ("mixed-sequential", &[], "With 0 % reads, when"),
        ("as-ssd", &size, "With 4K-64Thrd write, when"),
    ] {
        let out = run(&slow, test, &[&[("seconds", "3")], settings].concat());
        let says = |note: &String| note.starts_with(load) && note.contains("under way");
        assert!(out.notes.iter().any(says), "{test}: {:?}", out.notes);
    }
}

#[test]
fn a_device_without_a_meter_has_no_power_test_and_no_power_figures() {
    let silent = ModelSpec { idle_milliwatts: 0, nanojoules_per_byte: 0, ..plain() };
    let error = run_with(&silent, "power", &[]).unwrap_err();
    assert!(matches!(&error, BenchError::Unsuitable(why) if why.contains("does not meter")), "{error}");
    let out = run(&silent, "random-read", &[("seconds", "3")]);
    assert!(!out.metrics.keys().any(|k| k.starts_with("power") || k.starts_with("energy")));
    assert!(out.charts.iter().all(|c| c.id != "power-over-time"));
}

#[test]
fn a_host_that_lets_the_link_sleep_needs_a_drive_that_knows_how() {
    let error = run_with(&plain(), "random-read", &[("link_power", "hipm")]).unwrap_err();
    assert!(matches!(&error, BenchError::Unsuitable(why) if why.contains("`hipm`")), "{error}");
}

#[test]
fn a_drive_of_200_ms_a_write_gets_through_the_suite_and_short_runs_say_that_they_are() {
    let spec = ModelSpec { write: 200_000 * MICROSECOND, ways: 1, capacity_bytes: 32_044_482_560, ..plain() };
    let spec = disk_like(spec);
    for def in TESTS {
        for variant in def.variants.iter().filter(|v| v.in_review) {
            match run_test(def, &spec, &variant.settings(), 1, true, &Monitor::silent()) {
                Ok(out) => {
                    let few = out.notes.iter().any(|n| n.contains("too few"));
                    let slow = ["consistency", "random-write", "sequential-write", "fileserver"].contains(&def.name);
                    assert_eq!(few, slow, "{}: {:?}", def.name, out.notes);
                }
                Err(e) => assert!(matches!(e, BenchError::Unsuitable(_)), "{}: {e}", def.name),
            }
        }
    }
    // In full, 3 minutes at QD3: five writes a second, each behind two others.
    let out = run(&spec, "random-write", &[("queue_depth", "3")]);
    close(value(&out, "iops"), 5.0, 0.001);
    close(value(&out, "latency_mean"), 600_000.0, 0.002);
    assert_eq!((value(&out, "stall_longest"), value(&out, "seconds_over_500ms")), (200_000.0, 100.0));
}

#[test]
fn a_title_names_the_block_size_that_was_run() {
    for (size, title) in [("4KiB", "4 KiB random read"), ("64KiB", "64 KiB random read"), ("1KiB", "1 KiB random read")]
    {
        assert_eq!(run(&plain(), "random-read", &[("block_size", size), ("seconds", "1")]).title, title);
    }
    assert_eq!(
        run(&plain(), "consistency", &[("block_size", "8KiB"), ("seconds", "5")]).title,
        "Performance consistency"
    );
}

/// Requests of seconds, of which none ends within the second that is measured.
#[test]
fn what_ends_after_the_time_is_no_latency_and_its_energy_goes_with_its_time() {
    let slow = ModelSpec { read: 3 * SECOND, ..plain() };
    let out = run(&slow, "random-read", &[("seconds", "1"), ("queue_depth", "2")]);
    assert!(!out.metrics.keys().any(|key| key.starts_with("latency_")), "{:?}", out.metrics);
    let (mean, most) = (value(&out, "power_mean"), value(&out, "power_max"));
    assert!(mean <= 1.001 * most && mean >= 0.5, "{mean} W, {most} W at most");
}

#[test]
fn what_is_set_makes_another_test_of_it_unless_it_only_says_how_long_or_how_to_judge() {
    let declared = |test: &TestDef, variant: &Variant, more: &[(&str, &str)]| {
        let more = more.iter().map(|&(key, value)| (key.to_owned(), value.to_owned()));
        let settings: Vec<(String, String)> = variant.settings().into_iter().chain(more).collect();
        let params = test.resolve(&settings, false).unwrap().to_json();
        let (test, variant) = (test.name.to_owned(), variant.name.to_owned());
        is_as_declared(&Outcome { test, variant, params, ..Outcome::default() })
    };
    for test in TESTS {
        assert!(
            test.params.iter().all(|p| !p.of_method || p.default != "auto"),
            "{}: no value to hold it against",
            test.name
        );
        for variant in test.variants {
            assert!(declared(test, variant, &[("settle_seconds", "1")]), "{} {}", test.name, variant.name);
            assert!(!declared(test, variant, &[("think_us", "7")]), "{} {}", test.name, variant.name);
        }
    }
    let of = |name: &str, more: &[(&str, &str)]| {
        let test = find_test(name).unwrap();
        declared(test, &test.variants[0], more)
    };
    assert!(of("consistency", &[("seconds", "9")]) && !of("consistency", &[("over_provisioning", "raw-25")]));
    assert!(of("trim", &[("tolerance_percent", "1")]) && !of("trim", &[("torture_queue_depth", "1")]));
    // A common parameter of which the test has a default of its own.
    assert!(of("atto", &[]) && !of("atto", &[("compressibility_percent", "0")]));
}

#[test]
fn what_leads_a_test_is_a_figure_of_it() {
    for test in TESTS {
        for key in test.leads {
            assert!(test.metric(key).is_some(), "{}: {key}", test.name);
        }
    }
    assert_eq!(leading_figures("replay")[0], "latency_p99_from_arrival");
    assert_eq!(leading_figures("heavy")[0], "bandwidth");
    assert!(leading_figures("consistency").is_empty());
}

#[test]
fn a_figure_has_the_same_good_end_in_every_test_that_declares_it() {
    for (test, metric) in TESTS.iter().flat_map(|test| test.all_metrics().map(move |metric| (test, metric))) {
        for key in metric.keys() {
            assert_eq!(better_end(key, metric.unit), metric.good_end(), "{key} of {}", test.name);
        }
    }
    assert_eq!(["asked_iops", "asked_bandwidth"].map(|key| better_end(key, "IOPS")), [None, None], "the file's own");
    // What a pattern stands for, what none does, and what is neither although another test has a pattern that fits it.
    assert_eq!(better_end("stage2_amount", "GB"), Some(Better::Higher));
    assert_eq!(better_end("stage2_bandwidth", "MB/s"), Some(Better::Higher));
    assert_eq!(better_end("mixed_latency_p99", "us"), Some(Better::Lower));
    assert_eq!((better_end("waf_change", "%"), better_end("stages", "count")), (None, None));
}

/// The model as a real drive: its time passes by itself, and nobody sees what it does. It notes whether it was asked for anything
/// or given time, before which a real drive is trimmed whole. Its sectors have so many bytes.
struct AsReal(ModelSpec, Arc<AtomicBool>, u32);

impl Lab for AsReal {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        let inner = self.0.fresh(seed)?.device;
        let info = DeviceInfo { sector_bytes: self.2, ..inner.info().clone() };
        Ok(PoweredOn::new(RealModel { inner, info, now: 0, in_flight: 0, used: Arc::clone(&self.1) }))
    }
    fn name(&self) -> &str {
        "real"
    }
}

struct RealModel {
    inner: Box<dyn Device>,
    info: DeviceInfo,
    now: Nanos,
    in_flight: usize,
    used: Arc<AtomicBool>,
}

impl Device for RealModel {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.used.store(true, Ordering::Relaxed);
        let Request { op, offset_bytes, length_bytes, .. } = request;
        let sector_bytes = self.info.sector_bytes;
        if ![offset_bytes, length_bytes].iter().all(|bytes| bytes.is_multiple_of(sector_bytes.into())) {
            return Err(Refusal::NotWholeSectors { op, offset_bytes, length_bytes, sector_bytes });
        }
        self.now = now;
        self.in_flight += 1;
        self.inner.submit(now, request)
    }
    fn next_event(&self) -> Option<Nanos> {
        (self.in_flight > 0).then_some(self.now)
    }
    fn clock(&self) -> Option<Nanos> {
        Some(self.now)
    }
    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        while self.advance_to_completion(to, done) < to {}
    }
    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        self.used.fetch_or(limit > self.now, Ordering::Relaxed);
        let before = done.len();
        self.now = self.inner.advance_to_completion(limit, done);
        self.in_flight -= done.len() - before;
        self.now
    }
    fn counters(&self) -> Counters {
        Counters { host: self.inner.counters().host, ..Counters::default() }
    }
    fn check_books(&self) -> Result<(), String> {
        self.inner.check_books()
    }
}

/// What comes of it, and whether the drive was used.
fn run_as_real(spec: ModelSpec, test: &str, settings: &[(&str, &str)]) -> (Result<Outcome, BenchError>, bool) {
    run_as_real_with(512, spec, test, settings)
}

fn run_as_real_with(
    sector_bytes: u32,
    spec: ModelSpec,
    test: &str,
    settings: &[(&str, &str)],
) -> (Result<Outcome, BenchError>, bool) {
    let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    let lab = AsReal(spec, Arc::default(), sector_bytes);
    let out = run_test(find_test(test).unwrap(), &lab, &settings, 1, false, &Monitor::silent());
    (out, lab.1.load(Ordering::Relaxed))
}

#[test]
fn a_real_drive_has_not_begun_when_a_test_is_refused() {
    for (test, settings) in [
        ("endurance", &[][..]),
        ("old-data", &[]),
        ("power", &[]),
        ("power-cut", &[]),
        ("worn-in", &[]),
        ("consistency", &[("over_provisioning", "raw-25")]),
        ("as-ssd", &[]),
        ("atto", &[]),
        ("heavy", &[("footprint_bytes", "1GB")]),
        ("mixed-random", &[("span_bytes", "4096"), ("block_size", "8192")]),
    ] {
        let spec = ModelSpec { tells_of_flash: false, ..plain() };
        let (out, used) = run_as_real(spec, test, settings);
        assert!(matches!(out, Err(BenchError::Unsuitable(_))) && !used, "{test}: {used} {:?}", out.err());
    }
    assert!(run_as_real(plain(), "sequential-write", &[("seconds", "1")]).1);
    // Its sectors are larger than what it would be sent.
    for (test, settings, what) in [
        ("analyzedisk", &[][..], "it sends requests of 512 bytes"),
        ("atto", &[("length_bytes", "1MiB"), ("size_max_bytes", "64KiB")], "size_min_bytes is 512 bytes"),
        ("random-write", &[("block_size", "512")], "block_size is 512 bytes"),
        ("mixed-random", &[("block_size", "6144")], "block_size is 6144 bytes"),
    ] {
        let (out, used) = run_as_real_with(4096, plain(), test, settings);
        let told = out.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(told == format!("{what}, and model takes multiples of 4096 bytes") && !used, "{test}: {used} {told}");
    }
    assert!(run_as_real_with(4096, plain(), "sequential-write", &[("seconds", "1")]).1);
}

/// Who sends less than a sector says so before anything is done to the drive, and nobody else is kept from it.
#[test]
fn no_test_fills_a_drive_whose_sectors_are_larger_than_its_requests() {
    for def in TESTS {
        let spec = ModelSpec { tells_of_flash: false, ..device_for(def.name) };
        let (out, used) = run_as_real_with(4096, spec, def.name, small(def.name));
        match out {
            Ok(_) => assert!(!def.sends_single_sectors, "{}", def.name),
            Err(e) => assert!(matches!(e, BenchError::Unsuitable(_)) && !used, "{}: {used} {e}", def.name),
        }
    }
}

#[test]
fn how_long_a_real_drive_stays_busy_is_told_by_its_reads() {
    let spec = || ModelSpec {
        reads_wait_for_drain: true,
        cache_bytes: 1 << 40,
        drain_bytes_per_second: 1_000_000,
        ..ModelSpec::default()
    };
    let settings = [("requests", "500"), ("settle_seconds", "100")];
    let real = run_as_real(spec(), "analyzedisk", &settings).0.unwrap();
    let simulated = run(&spec(), "analyzedisk", &settings);
    assert!(value(&real, "flush_seconds") > 0.1, "{}", value(&real, "flush_seconds"));
    close(value(&real, "flush_seconds"), value(&simulated, "flush_seconds"), 1e-9);
}

#[test]
fn a_span_that_does_not_fit_a_real_drive_is_said_once() {
    let out = run_as_real(plain(), "mixed-random", &[("seconds", "1"), ("span_bytes", "1GB")]).0.unwrap();
    assert_eq!(out.notes.iter().filter(|note| note.contains("was limited to")).count(), 1, "{:?}", out.notes);
}

#[test]
fn the_power_of_as_ssd_is_over_all_of_the_time_that_its_energy_was_drawn_in() {
    // Of 64 writes in flight when the time is over, the last ends some tenths of a second later.
    let spec = ModelSpec {
        drain_bytes_per_second: 1_000_000,
        cache_bytes: 4096,
        idle_milliwatts: 500,
        nanojoules_per_byte: 0,
        ..ModelSpec::default()
    };
    let out = run(&spec, "as-ssd", small("as-ssd"));
    close(value(&out, "power_mean"), 0.5, 1e-6);
}
