//! A time of the firmware that was changed is found again from what the changed drive shows.

use std::sync::atomic::AtomicBool;

use serde_json::json;
use ssdlab_catalog::Diagnostic;
use ssdlab_forecast::{Bench, Calibration, Measurements, calibrate};
use ssdlab_report::ResultsDocument;

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
    let never = AtomicBool::new(false);
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &|_, _| {}, cancel: &never, kept: None };
    calibrate(&measured(value, bounds), runs, &bench).unwrap().unwrap()
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
