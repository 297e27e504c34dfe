//! `power` on a drive whose link takes as long to go to sleep as a drive file may say.

use ssdlab_bench::Monitor;
use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_ssd::PowerSpec;
use ssdlab_testkit::{DIE_POWER, DRIVE_POWER, ideal_die, ideal_drive_with};

use crate::small::Small;

#[test]
fn a_state_is_measured_once_it_is_reached_however_long_that_takes() {
    let at_rest = |power: PowerSpec| {
        let (mut drive, mut die) = (ideal_drive_with(""), ideal_die());
        (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (20, 32);
        die.power = Some(DIE_POWER);
        drive.flash.exact_spare_per_10000 = None;
        (drive.capacity_bytes, drive.power) = (56 << 20, Some(power));
        let settings = [("idle_seconds", "2"), ("seconds", "1")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let test = find_test("power").expect("it is in the suite");
        let out = run_test(test, &Small(drive, die), &settings, 1, false, &Monitor::silent()).expect("it runs");
        ["power_slumber", "power_devsleep"].map(|key| out.metrics[key].value)
    };
    let quick = at_rest(DRIVE_POWER);
    assert!(quick[1] < 0.5 * quick[0], "{quick:?} mW");
    let slow = PowerSpec {
        partial_entry_us: 1e6,
        partial_exit_us: 1e6,
        slumber_entry_us: 1e6,
        devsleep_entry_ms: 1e5,
        ..DRIVE_POWER
    };
    for (slow, quick) in at_rest(slow).into_iter().zip(quick) {
        assert!((slow / quick - 1.0).abs() < 1e-3, "{slow} mW instead of {quick} mW");
    }
}
