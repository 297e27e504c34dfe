//! `power` on a drive whose link takes as long to go to sleep as a drive file may say.

use ssdlab_bench::Monitor;
use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_nand::Power;
use ssdlab_ssd::PowerSpec;
use ssdlab_testkit::{ideal_die, ideal_drive_with};

use crate::small::Small;

fn power() -> PowerSpec {
    PowerSpec {
        converter_percent: None,
        controller_idle_mw: 200.0,
        controller_awake_mw: None,
        controller_active_mw: 250.0,
        controller_slumber_mw: 20.0,
        controller_devsleep_mw: 1.0,
        controller_pj_per_byte: 300.0,
        encode_pj_per_byte: 0.0,
        decode_pj_per_byte: 0.0,
        flash_bus_pj_per_byte: 400.0,
        dram_standby_uw_per_mib: 200.0,
        dram_self_refresh_uw_per_mib: 40.0,
        dram_pj_per_byte: 200.0,
        phy_active_mw: 120.0,
        phy_partial_mw: 40.0,
        phy_slumber_mw: 3.0,
        hipm: true,
        dipm: true,
        devsleep: true,
        dipm_partial_after_ms: 1.0,
        dipm_slumber_after_ms: 50.0,
        partial_entry_us: 2.0,
        slumber_entry_us: 2.0,
        devsleep_entry_ms: 10.0,
        partial_exit_us: 10.0,
        slumber_exit_ms: 10.0,
        devsleep_exit_ms: 20.0,
    }
}

#[test]
fn a_state_is_measured_once_it_is_reached_however_long_that_takes() {
    let at_rest = |power: PowerSpec| {
        let (mut drive, mut die) = (ideal_drive_with(""), ideal_die());
        (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (20, 32);
        die.power = Some(Power {
            supply_v: 3.0,
            read_current_ma: 20.0,
            program_current_ma: 25.0,
            reduced_program_current_ma: None,
            erase_current_ma: 30.0,
            one_plane_percent: None,
            standby_current_ua: 10.0,
        });
        drive.flash.exact_spare_per_10000 = None;
        (drive.capacity_bytes, drive.power) = (56 << 20, Some(power));
        let settings = [("idle_seconds", "2"), ("seconds", "1")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let test = find_test("power").expect("it is in the suite");
        let out = run_test(test, &Small(drive, die), &settings, 1, false, &Monitor::silent()).expect("it runs");
        ["power_slumber", "power_devsleep"].map(|key| out.metrics[key].value)
    };
    let quick = at_rest(power());
    assert!(quick[1] < 0.5 * quick[0], "{quick:?} mW");
    let slow = PowerSpec {
        partial_entry_us: 1e6,
        partial_exit_us: 1e6,
        slumber_entry_us: 1e6,
        devsleep_entry_ms: 1e5,
        ..power()
    };
    for (slow, quick) in at_rest(slow).into_iter().zip(quick) {
        assert!((slow / quick - 1.0).abs() < 1e-3, "{slow} mW instead of {quick} mW");
    }
}
