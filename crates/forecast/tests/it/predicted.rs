//! What a prediction takes from which run.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ssdlab_bench::suite::find_test;
use ssdlab_forecast::{Bench, Figure, NoResult, Prediction, predict};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");

fn figure(test: &str, settings: &[(&str, &str)], metric: &str) -> Figure {
    Figure {
        title: "a figure".to_owned(),
        test: find_test(test).expect("it is in the suite"),
        settings: settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect(),
        metric: metric.to_owned(),
    }
}

fn made(drive: &str, figures: &[Figure], progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Prediction, NoResult> {
    let never = AtomicBool::new(false);
    let bench = Bench { threads: None, seed: 1, quick: false, progress, cancel: &never, kept: None };
    predict(drive, figures, 10.0, &["controller.write_unit_us".to_owned()], &bench, &bench).unwrap()
}

#[test]
fn what_has_not_settled_is_not_called_steady_and_has_its_band() {
    // So few seconds cannot tell.
    let written = figure("consistency", &[("seconds", "9")], "iops");
    let prediction = made(&format!("{DATA}/small.toml"), &[written], &|_, _| {}).unwrap();
    assert_eq!(prediction.without.len(), 0, "{prediction:?}");
    assert_eq!(prediction.figures[0].title, "a figure (not settled)");
    assert!(prediction.figures[0].band.is_some(), "{prediction:?}");
}

#[test]
fn a_drive_that_is_changed_meanwhile_is_not_predicted() {
    let folder = std::env::temp_dir().join(format!("ssdlab-predicted-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    for file in ["small.toml", "small-die.toml"] {
        fs::copy(Path::new(DATA).join(file), folder.join(file)).unwrap();
    }
    let die = folder.join("small-die.toml");
    let drive = folder.join("small.toml").display().to_string();
    let text = fs::read_to_string(&die).unwrap().replace("erase_ms = 0.25", "erase_ms = 0.5");
    let reads = figure("random-read", &[("seconds", "1"), ("span_bytes", "64MiB")], "iops");
    // The tests of the drive as it is have ended; those of the bands come.
    let error = made(&drive, &[reads], &|_, _| fs::write(&die, &text).unwrap()).unwrap_err();
    fs::remove_dir_all(&folder).unwrap();
    let NoResult::Refused(error) = error else { panic!("{error:?}") };
    assert_eq!(error.what, format!("{drive} was changed while it was predicted: nothing was written"));
}
