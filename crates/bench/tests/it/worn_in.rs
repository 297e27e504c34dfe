//! `worn-in` on a drive that collects garbage: of what small writes leave behind, a pass in sequence takes a part away.

use ssdlab_bench::Monitor;
use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_testkit::{ideal_die, ideal_drive_with};

use crate::small::Small;

#[test]
fn a_drive_that_is_worn_in_gains_by_a_sequential_rewrite() {
    let (mut drive, mut die) = (ideal_drive_with(""), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (20, 32);
    drive.flash.exact_spare_per_10000 = None;
    drive.capacity_bytes = 56 << 20;
    let settings = [("runs", "2"), ("seconds", "2"), ("requests", "2000")];
    let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    let test = find_test("worn-in").expect("it is in the suite");
    let out = run_test(test, &Small(drive, die), &settings, 1, false, &Monitor::silent()).expect("it runs");
    // All of it is not gone: while the pass ran, data that were still valid were moved in between.
    let value = |figure: &str, state: &str| out.metrics[&format!("{figure}_{state}")].value;
    for figure in ["read_bandwidth", "write_bandwidth"] {
        let [fresh, worn, rewritten] = ["fresh", "worn", "rewritten"].map(|state| value(figure, state));
        assert!(worn < 0.95 * fresh, "{figure}: {fresh} and then {worn}");
        assert!(rewritten > 1.1 * worn && rewritten <= fresh, "{figure}: {worn} and after the rewrite {rewritten}");
    }
}
