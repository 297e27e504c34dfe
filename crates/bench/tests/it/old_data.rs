//! `old-data` on a drive whose references do not follow its cells, with and without firmware that moves what is old.

use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_bench::{Monitor, Outcome};
use ssdlab_nand::rber::ErrorSpec;
use ssdlab_ssd::RefreshSpec;
use ssdlab_testkit::{ideal_die, ideal_drive_with};

use crate::small::Small;

fn run(follows_drift: bool, after_days: Option<f64>) -> Outcome {
    let (mut drive, mut die) = (ideal_drive_with(""), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block, die.geometry.spare_bytes) = (24, 32, 456);
    let mut errors = ErrorSpec::planar_estimate();
    errors.slc.as_mut().expect("it has one").drift_rber_per_year = 0.02;
    die.errors = Some(errors);
    drive.flash.exact_spare_per_10000 = None;
    drive.capacity_bytes = 56 << 20;
    drive.gc.background_after_idle_ms = Some(1000.0);
    let ecc = format!(
        "codeword_bytes = 1024\nbch = {{ correctable_bits = 60, decode_us = 4.0 }}\n\
         retry = {{ max_retries = 8, recovered_per_retry_percent = 50.0, at_once = 1, follows_drift = {follows_drift} }}"
    );
    drive.ecc = Some(toml::from_str(&ecc).expect("a section of a drive file"));
    drive.refresh = after_days.map(|days| RefreshSpec { after_days: Some(days), after_block_reads: None });
    let settings = [("days", "365"), ("rest_minutes", "1"), ("span_share", "0.75")];
    let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    let test = find_test("old-data").expect("it is in the suite");
    run_test(test, &Small(drive, die), &settings, 1, false, &Monitor::silent()).expect("it runs")
}

#[test]
fn old_data_are_slow_until_firmware_moves_them_or_follows_their_cells() {
    let value = |out: &Outcome, key: &str| out.metrics[key].value;
    let [followed, left, moved] = [run(true, None), run(false, None), run(false, Some(30.0))];
    for out in [&followed, &left, &moved] {
        assert_eq!(value(out, "fresh_read"), value(&followed, "fresh_read"));
        assert!(value(out, "lost_old") < 1e-9, "{:?}", out.metrics);
    }
    assert_eq!(value(&followed, "old_read"), value(&followed, "fresh_read"));
    assert_eq!(value(&left, "old_read"), value(&moved, "old_read"));
    assert!(value(&left, "old_read") < value(&left, "fresh_read") / 2.0, "{:?}", left.metrics);
    assert!(value(&left, "reread_old") > 99.0 && value(&left, "moved_at_rest") == 0.0, "{:?}", left.metrics);
    // A rest does not help by itself; and what was still open when the drive was filled is not moved.
    assert!((value(&left, "rested_read") / value(&left, "old_read") - 1.0).abs() < 0.01, "{:?}", left.metrics);
    assert!(value(&moved, "rested_read") > 5.0 * value(&moved, "old_read"), "{:?}", moved.metrics);
    assert!(value(&moved, "reread_rested") < 10.0, "{:?}", moved.metrics);
}
