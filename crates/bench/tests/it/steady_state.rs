//! `steady-state` on addresses that are not alike.

use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_bench::{Monitor, Outcome};
use ssdlab_testkit::{ideal_die, ideal_drive_with};

use crate::small::Small;

fn run(distribution: &str) -> Outcome {
    let (mut drive, mut die) = (ideal_drive_with(""), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 32);
    drive.flash.exact_spare_per_10000 = None;
    drive.capacity_bytes = 128 << 20;
    let settings = vec![("random_distribution".to_owned(), distribution.to_owned())];
    let test = find_test("steady-state").expect("it is in the suite");
    run_test(test, &Small(drive, die), &settings, 1, false, &Monitor::silent()).expect("it runs")
}

#[test]
fn addresses_that_are_written_more_than_others_are_said_and_take_longer_to_settle() {
    let (alike, zoned) = (run("random"), run("zoned:90/10:10/90"));
    let value = |out: &Outcome, key: &str| out.metrics[key].value;
    assert!(!alike.method.contains("zoned"), "{}", alike.method);
    assert!(zoned.method.contains("written at random, zoned:90/10:10/90, 4 KiB"), "{}", zoned.method);
    assert_eq!(zoned.params["random_distribution"], "zoned:90/10:10/90");
    assert_eq!((&alike.params["settle_turnovers"], &zoned.params["settle_turnovers"]), (&2.0.into(), &20.0.into()));
    assert!(value(&zoned, "rounds") > 20.0 / 0.125, "{:?}", zoned.metrics);
    // Moved for each that left the buffer: some of what is hot is overwritten there.
    let moved = |out: &Outcome| value(out, "waf_gc") / value(out, "waf_host");
    assert!(moved(&zoned) > 1.1 * moved(&alike), "{:?} {:?}", zoned.metrics, alike.metrics);
    // Popular addresses are overwritten in the buffer, and a third of all is never written again.
    assert!(value(&run("zipf:1.2"), "waf") < 0.9 * value(&alike, "waf"));
}
