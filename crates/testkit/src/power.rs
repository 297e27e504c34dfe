//! What small drives draw: round numbers, with which sums can be done by hand.

use ssdlab_nand::Power;
use ssdlab_ssd::PowerSpec;

/// What a die draws.
pub const DIE_POWER: Power = Power {
    supply_v: 3.0,
    read_current_ma: 20.0,
    program_current_ma: 25.0,
    reduced_program_current_ma: None,
    erase_current_ma: 30.0,
    one_plane_percent: None,
    standby_current_ua: 10.0,
};

/// What a drive draws that manages its link and sleeps.
pub const DRIVE_POWER: PowerSpec = PowerSpec {
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
};
