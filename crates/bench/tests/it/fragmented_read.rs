//! `fragmented-read` on a drive that stripes 4 KiB pages over 32 dies.

use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_bench::{Monitor, Outcome};
use ssdlab_testkit::{ideal_die, ideal_drive_with};

use crate::small::Small;

fn run(order: &str) -> Outcome {
    let (mut drive, mut die) = (ideal_drive_with(""), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (20, 32);
    drive.flash.exact_spare_per_10000 = None;
    drive.capacity_bytes = 56 << 20;
    let settings = [("zones", "16"), ("overwrite_order", order)];
    let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    let test = find_test("fragmented-read").expect("it is in the suite");
    run_test(test, &Small(drive, die), &settings, 1, false, &Monitor::silent()).expect("it runs")
}

#[test]
fn the_more_is_overwritten_at_random_the_slower_it_is_read() {
    let (random, once) = (run("random"), run("once"));
    let value = |out: &Outcome, key: &str| out.metrics[key].value;
    assert_eq!(value(&random, "clean_bandwidth"), value(&once, "clean_bandwidth"));
    // 32 pages, each on any of 32 dies: the busiest holds 3 or 4 of them, while in sequence each holds one.
    assert!(value(&random, "kept_share") < 90.0, "{:?}", random.metrics);
    assert!(value(&once, "kept_share") < value(&random, "kept_share"), "{:?}", once.metrics);
    assert!(value(&once, "read_bandwidth_min") <= value(&once, "read_bandwidth"));
}
