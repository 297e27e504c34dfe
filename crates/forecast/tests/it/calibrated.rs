//! A time of the firmware that was changed is found again from what the changed drive shows.

use std::sync::atomic::AtomicBool;

use ssdlab_forecast::{Bench, Calibration, Measurements, calibrate};

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
    Measurements::parse("measured.toml", &text).unwrap()
}

fn fit(value: f64, bounds: (f64, f64), runs: usize) -> Calibration {
    let never = AtomicBool::new(false);
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &|_, _| {}, cancel: &never };
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

#[test]
fn what_the_measurement_does_not_tell_is_open() {
    let shown = fit(1.0, (1.0, 50.0), 1).measurements[0].fitted;
    let found = fit(shown, (5.5, 6.5), 100);
    assert_eq!((found.unknowns[0].low, found.unknowns[0].high), (None, None), "{found:?}");
}
