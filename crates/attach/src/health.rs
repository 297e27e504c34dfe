//! What a drive says of its own health: the attributes of SMART by their usual numbers, as far as the device has them.

use ssdlab_core::{Nanos, SECOND, SECTOR_BYTES};
use ssdlab_device::{Counters, Device};

use crate::drive::Drive;

/// The attribute that tells what is used of the flash's life.
pub const LIFETIME: u8 = 202;

/// An attribute of SMART.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    pub id: u8,
    pub name: &'static str,
    pub raw: u64,
}

impl Attribute {
    /// No value ever comes down to it: the drives fail by nothing that they count.
    pub const THRESHOLD: u8 = 0;

    /// The value beside the raw one: temperatures and what is used of the flash's life count down from 100. It is told as the
    /// worst one as well: nobody remembers how warm a drive has been.
    #[must_use]
    pub fn value(&self) -> u8 {
        match self.id {
            194 | LIFETIME => 100u64.saturating_sub(self.raw).max(1) as u8,
            _ => 100,
        }
    }
}

/// See the module's own page.
pub struct Health {
    pub attributes: Vec<Attribute>,
    pub counters: Counters,
    pub power_cycles: u64,
    pub power_on_hours: u64,
    pub unclean_shutdowns: Option<u64>,
    pub celsius: Option<f64>,
    /// Mean wear, as a share of what the flash is made for.
    pub used: Option<f64>,
}

/// The health of a drive that has power.
pub fn health(drive: &mut Drive, now: Nanos) -> Health {
    // A device without a plug does not know.
    let since_start = (1 + u64::from(drive.restores()), now.saturating_sub(drive.began()));
    let device = &mut drive.device;
    let counters = device.counters();
    let unclean_shutdowns = device.unclean_shutdowns();
    let wear = device.flash().map(|flash| flash.wear());
    let (power_cycles, powered) = device.power_history(now).unwrap_or(since_start);
    let power_on_hours = powered / (3600 * SECOND);
    let celsius = device.celsius();
    let mut attributes: Vec<Attribute> = Vec::new();
    let mut add = |id, name, raw| attributes.push(Attribute { id, name, raw });
    add(9, "Power_On_Hours", power_on_hours);
    add(12, "Power_Cycle_Count", power_cycles);
    if let Some(wear) = wear {
        add(173, "Ave_Block-Erase_Count", wear.erases_mean.round() as u64);
    }
    if let Some(unclean) = unclean_shutdowns {
        add(174, "Unexpect_Power_Loss_Ct", unclean);
    }
    if let Some(wear) = wear {
        // On Micron's and Crucial's drives, which have it, the raw value is what is used (smartmontools issues 161 and
        // 510), and the value what is left.
        add(LIFETIME, "Percent_Lifetime_Remain", (100.0 * wear.mean).round() as u64);
    }
    if let Some(celsius) = celsius {
        add(194, "Temperature_Celsius", celsius.round() as u64);
    }
    add(241, "Total_LBAs_Written", counters.host.write_bytes / SECTOR_BYTES);
    add(242, "Total_LBAs_Read", counters.host.read_bytes / SECTOR_BYTES);
    if let Some(flash) = counters.flash {
        add(249, "NAND_Writes_1GiB", flash.program_bytes() >> 30);
    }
    let used = wear.map(|wear| wear.mean);
    Health { attributes, counters, power_cycles, power_on_hours, unclean_shutdowns, celsius, used }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_a_life_is_what_is_left_where_its_raw_value_is_what_is_used() {
        let value = |raw| Attribute { id: LIFETIME, name: "Percent_Lifetime_Remain", raw }.value();
        assert_eq!([0, 30, 99, 100, 250].map(value), [100, 70, 1, 1, 1]);
    }
}
