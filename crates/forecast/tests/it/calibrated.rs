//! A time of the firmware that was changed is found again from what the changed drive shows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use ssdlab_bench::Metric;
use ssdlab_catalog::Diagnostic;
use ssdlab_forecast::{Bench, Calibration, KeptTests, Measurements, NoResult, calibrate};
use ssdlab_report::{DeviceFacts, ResultsDocument};

use crate::sensitive::Memory;

const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/small.toml");

fn measured(value: f64, bounds: (f64, f64)) -> Measurements {
    let text = format!(
        "drive = \"{SMALL}\"\n\
         [[unknown]]\nkey = \"controller.read_unit_us\"\nleast = {}\nmost = {}\n\
         [[measurement]]\ntest = \"random-read\"\nmetric = \"latency_mean\"\nvalue = {value}\ntolerance_percent = 1\n\
         source = \"a test\"\n\
         set = {{ queue_depth = 1, seconds = 1, span_bytes = \"64MiB\", settle_seconds = 0 }}\n",
        bounds.0, bounds.1
    );
    Measurements::parse("measured.toml", &text, &|_| unreachable!("it names no results")).unwrap()
}

fn fit(value: f64, bounds: (f64, f64), runs: usize) -> Calibration {
    let (never, most_told) = (AtomicBool::new(false), AtomicUsize::new(0));
    let progress = |done: usize, of: usize| {
        assert_eq!(of, runs, "each drive runs one test");
        most_told.fetch_max(done, Ordering::Relaxed);
    };
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &progress, cancel: &never, kept: None };
    let found = calibrate(&measured(value, bounds), runs, &bench).unwrap().unwrap();
    assert_eq!(most_told.into_inner(), found.runs, "nothing is called done while it goes on");
    found
}

#[test]
fn a_drive_that_lacks_a_measured_figure_is_no_input_that_nothing_was_run_with() {
    let file = std::env::temp_dir().join(format!("ssdlab-no-power-{}.toml", std::process::id()));
    let drive = "base = \"ideal-32die\"\ncapacity_bytes = 402653184\n[flash]\ndies = 8\n";
    std::fs::write(&file, format!("{drive}[controller]\nread_unit_us = 6\n")).unwrap();
    let text = format!(
        "drive = \"{}\"\n[[unknown]]\nkey = \"controller.read_unit_us\"\nleast = 1\nmost = 50\n\
         [[measurement]]\ntest = \"random-read\"\nmetric = \"power_mean\"\nvalue = 1\ntolerance_percent = 1\n\
         source = \"a test\"\nset = {{ queue_depth = 1, seconds = 1, span_bytes = \"64MiB\", settle_seconds = 0 }}\n",
        file.display()
    );
    let given = Measurements::parse("measured.toml", &text, &|_| unreachable!("it names no results")).unwrap();
    let never = AtomicBool::new(false);
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &|_, _| {}, cancel: &never, kept: None };
    let found = calibrate(&given, 100, &bench).unwrap();
    std::fs::remove_file(&file).unwrap();
    let Err(NoResult::Refused(why)) = found else { panic!("{found:?}") };
    assert_eq!(why.what, "random-read has no figure `power_mean` on this drive");
}

#[test]
fn a_changed_time_is_found_again() {
    // What the drive shows as it is, and 5 us more: its reads alone wait 5 us longer.
    let before = fit(1.0, (1.0, 50.0), 1);
    let (time, shown) = (before.unknowns[0].before, before.measurements[0].fitted);
    assert!(!before.ended && before.runs == 1, "one drive is all it may run");
    let found = fit(shown + 5.0, (1.0, 50.0), 100);
    let unknown = &found.unknowns[0];
    assert!(found.ended && found.misfit < 0.1, "{found:?}");
    assert!((unknown.value - time - 5.0).abs() < 0.3, "{found:?}");
    // One per cent of some 120 us either way.
    let (low, high) = (unknown.low.unwrap(), unknown.high.unwrap());
    assert!(low < unknown.value && unknown.value < high && high - low < 4.0, "{found:?}");
}

/// What a test of the small drive wrote down, its parameters included, as one of a real drive does.
fn results(queue_depths: &[u32]) -> ResultsDocument {
    let rows: Vec<serde_json::Value> = queue_depths
        .iter()
        .map(|depth| {
            json!({
                "test": "random-read",
                "params": { "queue_depth": depth, "seconds": 1, "span_bytes": 64 << 20, "settle_seconds": 0, "prefill": "drive" },
                "metrics": { "latency_mean": { "value": f64::from(100 * depth), "unit": "us" } },
            })
        })
        .collect();
    let device = json!({
        "name": "/dev/sdb", "kind": "host", "description": "a block device", "capacity_bytes": 1 << 30, "queue_depth": 32,
        "supports_trim": true,
    });
    let text =
        json!({ "schema": "ssdlab.results/1", "version": "0.1.0", "seed": 1, "device": device, "results": rows });
    ResultsDocument::from_json(&text.to_string(), "results.json").unwrap()
}

fn of_results(depths: &[u32], measurement: &str) -> Result<Measurements, Diagnostic> {
    let text = format!(
        "drive = \"{SMALL}\"\nresults = \"mine/results.json\"\n\
         [[unknown]]\nkey = \"controller.read_unit_us\"\nleast = 1\nmost = 50\n\
         [[measurement]]\ntest = \"random-read\"\nmetric = \"latency_mean\"\ntolerance_percent = 1\n{measurement}\n"
    );
    Measurements::parse("measured.toml", &text, &|path| {
        assert_eq!(path, "mine/results.json");
        Ok(results(depths))
    })
}

#[test]
fn values_and_parameters_can_stand_in_results_of_a_real_drive() {
    let given = of_results(&[1, 32], "set = { queue_depth = 32 }").unwrap();
    let m = &given.measurement[0];
    assert_eq!((m.value, m.source.as_str()), (3200.0, "/dev/sdb in mine/results.json"));
    // It is simulated as it was measured.
    assert_eq!(m.set["seconds"].as_str(), Some("1"));
    assert_eq!(m.set["span_bytes"].as_str(), Some("67108864"));
    let never = AtomicBool::new(false);
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &|_, _| {}, cancel: &never, kept: None };
    let found = calibrate(&given, 1, &bench).unwrap().unwrap();
    assert!(found.measurements[0].fitted > 100.0, "{found:?}");
}

/// As [`of_results`] at a depth of 1, of results that were changed.
fn of_changed(change: impl Fn(&mut ResultsDocument)) -> Result<Measurements, Diagnostic> {
    let text = format!(
        "drive = \"{SMALL}\"\nresults = \"r.json\"\n[[unknown]]\nkey = \"controller.read_unit_us\"\nleast = 1\nmost = 50\n\
         [[measurement]]\ntest = \"random-read\"\nmetric = \"latency_mean\"\ntolerance_percent = 1\n"
    );
    Measurements::parse("measured.toml", &text, &|_| {
        let mut results = results(&[1]);
        change(&mut results);
        Ok(results)
    })
}

/// The results of a drive beside a simulated one, or another one.
fn beside(results: &mut ResultsDocument, name: &str, kind: &str) {
    let real = results.device.take().unwrap();
    let other = DeviceFacts { name: name.to_owned(), kind: kind.to_owned(), ..real.clone() };
    let mut row = results.results[0].clone();
    row.metrics.get_mut("latency_mean").unwrap().value = 7.0;
    (results.results[0].device, row.device) = (Some(real.name.clone()), Some(name.to_owned()));
    results.results.insert(0, row);
    results.devices = vec![other, real];
}

#[test]
fn of_results_about_several_devices_those_of_the_real_one_are_taken() {
    let given = of_changed(|results| beside(results, "m600-256gb", "ssd")).unwrap();
    assert_eq!((given.measurement[0].value, given.measurement[0].source.as_str()), (100.0, "/dev/sdb in r.json"));
    let error = of_changed(|results| beside(results, "/dev/sdc", "host")).unwrap_err().what;
    assert!(error.contains("on several real drives (/dev/sdc, /dev/sdb): name results of one of them"), "{error}");
    let error = of_changed(|results| results.device.as_mut().unwrap().kind = "ssd".to_owned()).unwrap_err().what;
    assert!(error.ends_with("r.json: the results are of no real drive"), "{error}");
}

#[test]
fn results_of_a_quick_run_are_refused_as_such() {
    let error = of_changed(|results| {
        results.quick = true;
        results.results[0].params.insert("seconds".to_owned(), json!(7.5));
    })
    .unwrap_err()
    .what;
    assert!(error.contains("the results are of a quick run") && error.contains("seconds (7.5 s)"), "{error}");
}

#[test]
fn what_the_test_does_anyway_is_left_to_it() {
    let given = of_changed(|results| {
        results.results[0].params.insert("queue_depth".to_owned(), json!(32));
    })
    .unwrap();
    let set: Vec<&str> = given.measurement[0].set.keys().map(String::as_str).collect();
    assert_eq!(set, ["seconds", "settle_seconds", "span_bytes"]);
}

#[test]
fn results_that_do_not_tell_are_refused() {
    for (depths, measurement, told) in [
        (&[1, 32][..], "", "the results have 2 runs of random-read with these parameters"),
        (&[1], "set = { queue_depth = 4 }", "the results have no run of random-read with these parameters"),
        (&[1], "set = { depth = 4 }", "random-read latency_mean: mine/results.json: "),
        (&[1], "value = 3.0", "a value needs its `source`"),
    ] {
        let error = of_results(depths, measurement).unwrap_err().what;
        assert!(error.contains(told), "{error}");
    }
    let other = of_results(&[1], "").unwrap();
    assert_eq!(other.measurement[0].value, 100.0, "one run needs nothing to tell it by");
}

#[test]
fn an_interval_ends_where_the_measurement_does_however_wide_it_is() {
    // A read takes as much longer as its unit does: what it is good for is the half of its interval. Of the narrow one that is 2 us, and
    // three digits are whole microseconds.
    for (unit_us, tolerance_percent) in [(50.0, 20.0), (105.3, 1.0)] {
        let key = "controller.read_unit_us";
        let shown = fitted(&of_reads(&[(key, unit_us, 500.0)], &[("latency_mean", 1.0, 1.0)]).unwrap(), 1);
        let value = shown.measurements[0].fitted;
        let given = of_reads(&[(key, 1.0, 500.0)], &[("latency_mean", value, tolerance_percent)]).unwrap();
        let found = fitted(&given, 100);
        let half = value * tolerance_percent / 100.0;
        let (low, high) = (found.unknowns[0].low.unwrap(), found.unknowns[0].high.unwrap());
        for end in [unit_us - low, high - unit_us] {
            assert!((0.98..1.005).contains(&(end / half)), "{end} of {half}: {found:?}");
        }
    }
}

#[test]
fn what_the_measurement_does_not_tell_is_open() {
    let shown = fit(1.0, (1.0, 50.0), 1).measurements[0].fitted;
    let found = fit(shown, (5.5, 6.5), 100);
    assert_eq!((found.unknowns[0].low, found.unknowns[0].high), (None, None), "{found:?}");
}

#[test]
fn a_step_too_far_to_where_the_link_holds_the_figure_is_taken_back() {
    let folder = std::env::temp_dir().join(format!("ssdlab-calibrated-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // Sequential writes of the drive with this time for each unit, and what is fitted to `value` from there.
    let fit = |unit_us: f64, value: f64, runs: usize| {
        let file = folder.join("small.toml");
        let drive =
            "base = \"ideal-32die\"\ncapacity_bytes = 2147483648\n[link]\ngeneration = \"sata-6g\"\n[controller]\n";
        std::fs::write(&file, format!("{drive}write_unit_us = {unit_us:.2}\n")).unwrap();
        let text = format!(
            "drive = \"{}\"\n[[unknown]]\nkey = \"controller.write_unit_us\"\nleast = 1\nmost = 50\n\
             [[measurement]]\ntest = \"sequential-write\"\nmetric = \"bandwidth\"\nvalue = {value}\n\
             tolerance_percent = 2\nsource = \"a test\"\n\
             set = {{ queue_depth = 1, seconds = 1, settle_seconds = 0 }}\n",
            file.display()
        );
        let never = AtomicBool::new(false);
        let bench = Bench { threads: None, seed: 1, quick: false, progress: &|_, _| {}, cancel: &never, kept: None };
        calibrate(
            &Measurements::parse("measured.toml", &text, &|_| unreachable!("it names no results")).unwrap(),
            runs,
            &bench,
        )
        .unwrap()
        .unwrap()
    };
    let shown = |unit_us: f64| fit(unit_us, 1.0, 1).measurements[0].fitted;
    // The core holds the drive from 15.3 us on. Every step down from 19 us, and from there up again, leads below.
    assert_eq!([11.9, 15.0].map(shown), [shown(5.0); 2], "the link holds it");
    let found = fit(19.0, shown(16.5), 100);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(found.ended && (found.unknowns[0].value - 16.5).abs() < 0.2, "{found:?}");
}

/// A file with these unknowns (key, least, most) and measurements (metric, value, tolerance) of reads one at a time.
fn of_reads(unknowns: &[(&str, f64, f64)], measurements: &[(&str, f64, f64)]) -> Result<Measurements, Diagnostic> {
    let unknowns = unknowns
        .iter()
        .map(|(key, least, most)| format!("[[unknown]]\nkey = \"{key}\"\nleast = {least}\nmost = {most}\n"));
    let measurements = measurements.iter().map(|(metric, value, tolerance)| {
        format!(
            "[[measurement]]\ntest = \"random-read\"\nmetric = \"{metric}\"\nvalue = {value:e}\ntolerance_percent = {tolerance:e}\n\
             source = \"a test\"\nset = {{ queue_depth = 1, seconds = 1, span_bytes = \"64MiB\", settle_seconds = 0 }}\n"
        )
    });
    let text = format!("drive = \"{SMALL}\"\n") + &unknowns.chain(measurements).collect::<String>();
    Measurements::parse("measured.toml", &text, &|_| unreachable!("it names no results"))
}

fn fitted(given: &Measurements, runs: usize) -> Calibration {
    let never = AtomicBool::new(false);
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &|_, _| {}, cancel: &never, kept: None };
    calibrate(given, runs, &bench).unwrap().unwrap()
}

const READS: (&str, f64, f64) = ("controller.read_unit_us", 1.0, 50.0);

#[test]
fn a_fit_that_meets_not_all_measurements_says_so() {
    // 130 us for a read are 7,700 a second, and not 5,000.
    let measured = [("latency_mean", 130.0, 1.0), ("iops", 5000.0, 1.0)];
    let found = fitted(&of_reads(&[READS], &measured).unwrap(), 100);
    let note = &found.notes[0];
    assert!(note.contains("random-read latency_mean by +") && note.contains("random-read iops by +"), "{note}");
    assert!(
        note.contains("contradict each other") && note.contains("intervals say nothing of the real drive"),
        "{note}"
    );
    // Two that differ by one and a half of what they are good for are as chance has them.
    let one = fitted(&of_reads(&[READS], &[("latency_mean", 130.0, 1.0)]).unwrap(), 100);
    let rate = 1.015 * 1e6 / one.measurements[0].fitted;
    let found = fitted(&of_reads(&[READS], &[("latency_mean", 130.0, 0.7), ("iops", rate, 0.7)]).unwrap(), 100);
    assert!(found.notes[0].contains("by chance where tolerances are standard deviations"), "{found:?}");
    assert!(!found.notes.iter().any(|note| note.contains("contradict")), "{found:?}");
    // Nor do two unknowns that do the same.
    let both = [READS, ("controller.read_command_us", 0.1, 50.0)];
    let found = fitted(&of_reads(&both, &measured).unwrap(), 200);
    assert!(found.ended && found.notes[0].contains("contradict each other"), "{found:?}");
    let found = fitted(&of_reads(&[READS], &[("latency_mean", 130.0, 1.0)]).unwrap(), 100);
    assert_eq!(found.notes, [""; 0], "{found:?}");
}

#[test]
fn a_better_drive_on_the_way_to_the_end_of_an_interval_is_gone_on_from() {
    let folder = std::env::temp_dir().join(format!("ssdlab-rugged-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("coarse.toml");
    let drive = "base = \"ideal-32die\"\ncapacity_bytes = 1073741824\n[link]\ngeneration = \"sata-6g\"\n";
    std::fs::write(&file, format!("{drive}[controller]\nread_unit_us = 60.5\n")).unwrap();
    // How long the slowest of all waits goes up and down with the time that each of them takes.
    let text = format!(
        "drive = \"{}\"\n[[unknown]]\nkey = \"controller.read_unit_us\"\nleast = 5\nmost = 500\n\
         [[measurement]]\ntest = \"random-read\"\nmetric = \"latency_max\"\nvalue = 3285\ntolerance_percent = 1\n\
         source = \"a test\"\nset = {{ block_size = \"4KiB\", queue_depth = 32, seconds = 1, span_bytes = \"16MiB\", \
         prefill = \"span\", settle_seconds = 0 }}\n",
        file.display()
    );
    let given = Measurements::parse("measured.toml", &text, &|_| unreachable!("it names no results")).unwrap();
    let (never, memory) = (AtomicBool::new(false), Memory::default());
    let kept: Option<&dyn KeptTests> = Some(&memory);
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &|_, _| {}, cancel: &never, kept };
    let found = calibrate(&given, 100, &bench).unwrap().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let known = memory.known.into_inner().unwrap();
    assert!(found.ended && known.len() == found.runs, "{found:?}");
    let off = |metrics: &BTreeMap<String, Metric>| (metrics["latency_max"].value / 3285.0 - 1.0) / 0.01;
    let least = known.values().map(off).map(|off| off * off).fold(f64::INFINITY, f64::min);
    assert!((found.misfit - least).abs() < 1e-6, "{least}: {found:?}");
}

#[test]
fn a_tolerance_finer_than_three_digits_is_met() {
    let shown = |unit_us: f64| {
        fitted(&of_reads(&[("controller.read_unit_us", unit_us, 500.0)], &[("latency_mean", 1.0, 1.0)]).unwrap(), 1)
            .measurements[0]
            .fitted
    };
    // Between what 301 and 302 us show.
    let value = (shown(301.0) + shown(302.0)) / 2.0;
    let found =
        fitted(&of_reads(&[("controller.read_unit_us", 1.0, 500.0)], &[("latency_mean", value, 0.05)]).unwrap(), 100);
    assert!(found.ended && found.misfit < 1.0 && found.notes.is_empty(), "{found:?}");
    let unknown = &found.unknowns[0];
    assert!((unknown.value - 301.5).abs() < 0.3, "{found:?}");
    assert!(unknown.low.unwrap() < unknown.value && unknown.high.unwrap() > unknown.value, "{found:?}");
}

#[test]
fn one_figure_in_two_units_says_so() {
    let told = |measured: &[(&str, f64, f64)]| fitted(&of_reads(&[READS], measured).unwrap(), 100).notes;
    let twice = told(&[("latency_mean", 130.0, 2.0), ("iops", 7700.0, 2.0), ("bandwidth", 31.5, 2.0)]);
    for metric in ["iops", "bandwidth"] {
        let note = format!("random-read {metric} of this run moved as its latency_mean did");
        assert!(twice.iter().any(|n| n.starts_with(&note)), "{twice:?}");
    }
    // The slowest read waits for something else besides, and is another figure.
    let two = told(&[("latency_mean", 130.0, 2.0), ("latency_max", 150.0, 20.0)]);
    assert!(!two.iter().any(|n| n.contains("count twice")), "{two:?}");
}

#[test]
fn a_value_at_the_end_of_its_bounds_says_so() {
    let found = fitted(&of_reads(&[READS], &[("latency_mean", 1e6, 1.0)]).unwrap(), 100);
    assert_eq!(found.unknowns[0].value, 50.0);
    assert!(found.notes.iter().any(|n| n.starts_with("controller.read_unit_us ends at a bound")), "{found:?}");
}

#[test]
fn unknowns_that_do_the_same_cannot_be_told_apart() {
    let measured = [("latency_mean", 130.0, 1.0), ("iops", 7700.0, 1.0)];
    let both = [READS, ("controller.read_command_us", 0.1, 50.0)];
    let found = fitted(&of_reads(&both, &measured).unwrap(), 200);
    for (key, _, _) in both {
        let told = format!("{key} cannot be told from the other unknowns");
        assert!(found.notes.iter().any(|note| note.starts_with(&told)), "{key}: {found:?}");
    }
}

#[test]
fn unknowns_that_make_up_for_each_other_are_found_from_either_side() {
    let folder = std::env::temp_dir().join(format!("ssdlab-valley-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // Reads of one unit and of two, on a drive that takes so long for a command and for each unit, and what is fitted to
    // `values` from there.
    let fit = |(command_us, unit_us): (f64, f64), values: [f64; 2], runs: usize| {
        let file = folder.join(format!("{command_us}-{unit_us}.toml"));
        let times = format!("[controller]\nread_command_us = {command_us:.1}\nread_unit_us = {unit_us:.1}\n");
        let drive = "base = \"ideal-32die\"\ncapacity_bytes = 1073741824\n[link]\ngeneration = \"sata-6g\"\n";
        std::fs::write(&file, format!("{drive}{times}")).unwrap();
        let unknown = |key: &str| format!("[[unknown]]\nkey = \"controller.{key}\"\nleast = 5\nmost = 500\n");
        let measured = |(value, block): (&f64, &str)| {
            format!(
                "[[measurement]]\ntest = \"random-read\"\nmetric = \"iops\"\nvalue = {value:e}\ntolerance_percent = 1\n\
                 source = \"a test\"\nset = {{ block_size = \"{block}\", queue_depth = 32, seconds = 1, span_bytes = \"16MiB\", \
                 prefill = \"span\", settle_seconds = 0 }}\n"
            )
        };
        let unknowns = ["read_command_us", "read_unit_us"].map(unknown).concat();
        let measurements: String = values.iter().zip(["4KiB", "8KiB"]).map(measured).collect();
        let text = format!("drive = \"{}\"\n{unknowns}{measurements}", file.display());
        fitted(&Measurements::parse("measured.toml", &text, &|_| unreachable!("it names no results")).unwrap(), runs)
    };
    let shown = fit((60.0, 60.0), [1.0; 2], 1).measurements;
    let values = [shown[0].fitted, shown[1].fitted];
    for from in [(20.0, 120.0), (160.0, 15.0)] {
        let found = fit(from, values, 300);
        assert!(found.ended && found.misfit < 0.1, "{from:?}: {found:?}");
        assert!(found.unknowns.iter().all(|u| (u.value - 60.0).abs() < 3.0), "{from:?}: {found:?}");
        assert!(!found.notes.iter().any(|note| note.contains("contradict")), "{from:?}: {found:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_interval_of_an_unknown_is_that_with_the_others_free() {
    let file = std::env::temp_dir().join(format!("ssdlab-free-{}.toml", std::process::id()));
    // Reads of one unit and of four, one at a time, with so long a command and so long a unit, fitted to `values`.
    let fit = |(command_us, unit_us): (f64, f64), values: [f64; 2], runs: usize| {
        let drive =
            "base = \"ideal-32die\"\ncapacity_bytes = 1073741824\n[link]\ngeneration = \"sata-6g\"\n[controller]\n";
        std::fs::write(&file, format!("{drive}read_command_us = {command_us:.1}\nread_unit_us = {unit_us:.1}\n"))
            .unwrap();
        let unknown = |key: &str| format!("[[unknown]]\nkey = \"controller.{key}\"\nleast = 0.5\nmost = 1000\n");
        let measured = |(value, block): (&f64, &str)| {
            format!(
                "[[measurement]]\ntest = \"random-read\"\nmetric = \"latency_mean\"\nvalue = {value:e}\ntolerance_percent = 2\n\
                 source = \"a test\"\nset = {{ block_size = \"{block}\", queue_depth = 1, seconds = 1, span_bytes = \"16MiB\", \
                 prefill = \"span\", settle_seconds = 0 }}\n"
            )
        };
        let unknowns = ["read_command_us", "read_unit_us"].map(unknown).concat();
        let measurements: String = values.iter().zip(["4KiB", "16KiB"]).map(measured).collect();
        let text = format!("drive = \"{}\"\n{unknowns}{measurements}", file.display());
        fitted(&Measurements::parse("measured.toml", &text, &|_| unreachable!("it names no results")).unwrap(), runs)
    };
    let shown = |at: (f64, f64)| {
        let measured = fit(at, [1.0; 2], 1).measurements;
        [measured[0].fitted, measured[1].fitted]
    };
    let here = shown((80.0, 40.0));
    // What a microsecond of each does to either figure, in tolerances.
    let slope = |there: [f64; 2]| [0, 1].map(|m| (there[m] - here[m]) / (0.02 * here[m]) / 10.0);
    let slopes = [slope(shown((90.0, 40.0))), slope(shown((80.0, 50.0)))];
    let found = fit((60.0, 60.0), here, 200);
    std::fs::remove_file(&file).unwrap();
    let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
    for (u, (unknown, best)) in found.unknowns.iter().zip([80.0, 40.0]).enumerate() {
        let (own, other) = (slopes[u], slopes[1 - u]);
        let kept = 1.0 / libm::sqrt(dot(own, own));
        let free = 1.0 / libm::sqrt(dot(own, own) - dot(own, other) * dot(own, other) / dot(other, other));
        assert!(free > 1.5 * kept, "the other one must matter: {slopes:?}");
        for end in [best - unknown.low.unwrap(), unknown.high.unwrap() - best] {
            assert!((0.96..1.04).contains(&(end / free)), "{end} of {free}, and {kept} with the other kept: {found:?}");
        }
    }
    assert!(found.notes.iter().all(|note| !note.contains("contradict")), "{found:?}");
}

#[test]
fn what_moves_nothing_is_not_fitted() {
    let found =
        fitted(&of_reads(&[("controller.trim_command_us", 1.0, 50.0)], &[("latency_mean", 130.0, 5.0)]).unwrap(), 100);
    let unknown = &found.unknowns[0];
    assert!(!unknown.moves && unknown.open == [true; 2], "{found:?}");
    assert!(found.notes.iter().any(|n| n.contains("moves none of the measured figures")), "{found:?}");
}

#[test]
fn an_interval_for_which_no_runs_are_left_is_not_open() {
    let unknown = fitted(&of_reads(&[READS], &[("latency_mean", 130.0, 1.0)]).unwrap(), 1).unknowns.remove(0);
    assert_eq!((unknown.low, unknown.high, unknown.open), (None, None, [false; 2]));
    assert!(unknown.moves, "one drive does not tell");
}

#[test]
fn measurements_that_no_test_gives_or_no_number_is_good_for_are_refused() {
    for (metric, value, tolerance, told) in [
        ("latency", 130.0, 1.0, "random-read has no figure `latency`"),
        ("iops", 1e308, 1.0, "random-read iops: a measurement of 1e308"),
        ("iops", 5e3, 1e-300, "random-read iops: a tolerance of 1e-300 %"),
    ] {
        let error = of_reads(&[READS], &[(metric, value, tolerance)]).unwrap_err().what;
        assert!(error.contains(told), "{error}");
    }
    let error = of_results(&[1], "value = 0.13\nunit = \"ms\"\nsource = \"a test\"").unwrap_err().what;
    assert!(error.ends_with("random-read latency_mean: its unit is us, not ms"), "{error}");
    let error = of_results(&[1], "value = 130.0\nsource = \"a test\"\nset = { depth = 4 }").unwrap_err().what;
    assert!(error.contains("random-read latency_mean: ") && error.contains("depth"), "{error}");
}

#[test]
fn values_with_which_no_drive_can_be_are_passed_over() {
    // So small a drive has no room for many free superblocks: with more than it has there is none.
    let given = of_reads(&[("gc.start_free_superblocks", 1.0, 1000.0)], &[("latency_mean", 130.0, 5.0)]).unwrap();
    let (never, ended) = (AtomicBool::new(false), AtomicUsize::new(0));
    let progress = |_, _| {
        ended.fetch_add(1, Ordering::Relaxed);
    };
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &progress, cancel: &never, kept: None };
    let found = calibrate(&given, 100, &bench).unwrap().unwrap();
    assert_eq!(found.unknowns[0].open, [true; 2], "{found:?}");
    // Nor do they count as drives that were run.
    assert_eq!(found.runs, ended.into_inner(), "{found:?}");
}
