//! Whether a simulated device may grow beyond the memory of this machine.

use ssdlab_catalog::DeviceRecipe;
use ssdlab_core::input;

use crate::output::complain;

/// Every machine on which drives are simulated has so much.
const NOT_WORTH_A_WORD: u64 = 4 << 30;

/// Says so where a device may need more memory than is free, once all of it has been written. Only what is written takes any.
pub fn say_if_scarce(recipe: &DeviceRecipe) {
    let needs = recipe.memory_bytes();
    if needs < NOT_WORTH_A_WORD {
        return;
    }
    if let Some(free) = free_bytes().filter(|&free| needs > free) {
        complain(&format!(
            "notice: written all over, {} takes about {:.0} GB of memory, and {:.0} GB are free here",
            input::printable(&recipe.name, &[]),
            needs as f64 / 1e9,
            free as f64 / 1e9
        ));
    }
}

/// Of this machine; `None` where the system does not say.
fn free_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}
