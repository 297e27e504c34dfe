//! Words and scales of swept keys.

use crate::swept::Axis;

/// Sections that need not be named: `flash.dies` are dies.
const PLAIN_SECTIONS: [&str; 5] = ["flash", "geometry", "timing", "controller", "test"];

/// A key as a label: `die.geometry.pages_per_block` is `Pages per block`. The section stands in front where one word says too
/// little (`write_buffer.capacity_kib` is `Write buffer capacity`), and where another of the `axes` has the same name.
pub(crate) fn key_label(key: &str, axes: &[Axis]) -> String {
    let label = short_label(key);
    let is_shared = axes.iter().any(|axis| axis.key != key && short_label(&axis.key) == label);
    match key.rsplit_once('.') {
        Some((sections, _)) if is_shared => with_section(sections, &label),
        _ => label,
    }
}

fn short_label(key: &str) -> String {
    match key {
        "over_provisioning_percent" => return "Over-provisioning".to_owned(),
        "spare_percent" => return "Spare area, as built".to_owned(),
        "flash.exact_spare_per_10000" => return "Exact spare".to_owned(),
        _ => {}
    }
    let (sections, last) = key.rsplit_once('.').unwrap_or(("", key));
    let words = split_unit(last).0.replace('_', " ");
    let is_plain = sections.is_empty() || PLAIN_SECTIONS.contains(&last_of(sections));
    if is_plain || words.contains(' ') { upper_first(&words) } else { with_section(sections, &words) }
}

fn last_of(sections: &str) -> &str {
    sections.rsplit('.').next().unwrap_or(sections)
}

fn with_section(sections: &str, label: &str) -> String {
    let section = match last_of(sections) {
        "gc" => "collection".to_owned(),
        "slc_cache" => "SLC cache".to_owned(),
        "pcie" => "PCIe".to_owned(),
        short @ ("slc" | "mlc" | "tlc" | "ecc" | "bch" | "ldpc") => short.to_uppercase(),
        other => other.replace('_', " "),
    };
    format!("{} {}", upper_first(&section), lower_first(label))
}

fn upper_first(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// `IOPS` stays, `Write amplification` does not.
pub(crate) fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain([second]).chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// The unit that a key ends in, as axes print it.
pub(crate) fn key_unit(key: &str) -> &'static str {
    match key {
        "flash.exact_spare_per_10000" => "1/10000",
        _ => split_unit(key.rsplit('.').next().unwrap_or(key)).1,
    }
}

fn split_unit(key: &str) -> (&str, &'static str) {
    const UNITS: [(&str, &str); 11] = [
        ("_percent", "%"),
        ("_bytes", "B"),
        ("_gb", "GB"),
        ("_kib", "KiB"),
        ("_mib", "MiB"),
        ("_us", "us"),
        ("_ms", "ms"),
        ("_seconds", "s"),
        ("_per_1000", "1/1000"),
        ("_per_10000", "1/10000"),
        ("_iops", "IOPS"),
    ];
    UNITS.iter().find_map(|(end, unit)| Some((key.strip_suffix(end)?, *unit))).unwrap_or((key, ""))
}

/// A key with a value in a few words: `7 % over-provisioning`, `64 pages per block`, `greedy`.
pub(crate) fn key_with_value(key: &str, value: &str, axes: &[Axis]) -> String {
    let label = lower_first(&key_label(key, axes));
    if value.parse::<f64>().is_err() {
        return match value {
            "true" | "false" => format!("{label} {value}"),
            word => word.to_owned(),
        };
    }
    match key_unit(key) {
        "" => format!("{value} {label}"),
        "us" => format!("{label} {value} µs"),
        "B" => format!("{label} {}", ssdlab_report::figure_text(value.parse().unwrap_or(0.0), "B")),
        "%" => format!("{value} % {label}"),
        unit => format!("{label} {value} {unit}"),
    }
}

/// Whether figures reach so far that the small ones would lie on the axis.
pub(crate) fn spans_decades(values: &[f64]) -> bool {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    least > 0.0 && most / least > 25.0
}

/// Whether the values of a key stand more evenly by their ratios than by their differences: 64, 128, 256, 512.
pub(crate) fn spread_evenly_by_ratio(axis: &Axis) -> bool {
    let mut values: Vec<f64> = axis.values.iter().filter_map(|v| v.number).collect();
    values.sort_by(f64::total_cmp);
    if values.len() < 3 || values[0] <= 0.0 {
        return false;
    }
    // Widest gap over narrowest.
    let unevenness = |gap: &dyn Fn(f64, f64) -> f64| {
        let gaps: Vec<f64> = values.windows(2).map(|w| gap(w[0], w[1])).collect();
        gaps.iter().copied().fold(0.0, f64::max) / gaps.iter().copied().fold(f64::INFINITY, f64::min)
    };
    unevenness(&|a, b| libm::log(b / a)) < unevenness(&|a, b| b - a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swept::Cell;

    fn axes(keys: &[&str]) -> Vec<Axis> {
        keys.iter().map(|key| Axis { key: (*key).to_owned(), values: Vec::new() }).collect()
    }

    #[test]
    fn keys_become_words() {
        let key_label = |key| key_label(key, &[]);
        let key_with_value = |key, value| key_with_value(key, value, &[]);
        assert_eq!(key_label("die.geometry.pages_per_block"), "Pages per block");
        assert_eq!(key_label("write_buffer.flush_after_idle_ms"), "Flush after idle");
        assert_eq!(key_label("gc.policy"), "Collection policy");
        assert_eq!(key_with_value("over_provisioning_percent", "7"), "7 % over-provisioning");
        assert_eq!(key_with_value("die.geometry.pages_per_block", "64"), "64 pages per block");
        assert_eq!(key_with_value("gc.policy", "greedy"), "greedy");
        assert_eq!(key_with_value("die.timing.erase_ms", "4"), "erase 4 ms");
        assert_eq!(key_with_value("controller.reads_first", "true"), "reads first true");
        assert_eq!(key_with_value("capacity_bytes", "128000000000"), "capacity 128 GB");
    }

    #[test]
    fn what_is_not_the_same_has_not_the_same_name() {
        let alone = ["capacity_bytes", "write_buffer.capacity_kib", "slc_cache.capacity_gb", "slc_cache.policy"];
        let labels = alone.map(|key| key_label(key, &[]));
        assert_eq!(labels, ["Capacity", "Write buffer capacity", "SLC cache capacity", "SLC cache policy"]);
        assert_eq!(key_with_value("write_buffer.capacity_kib", "1024", &[]), "write buffer capacity 1024 KiB");
        assert_eq!(key_with_value("slc_cache.capacity_gb", "4", &[]), "SLC cache capacity 4 GB");
        // What was asked for and what came of it.
        let spare = ["over_provisioning_percent", "spare_percent"].map(|key| key_label(key, &[]));
        assert_eq!(spare, ["Over-provisioning", "Spare area, as built"]);
        // Only where both are swept.
        assert_eq!(key_label("test.queue_depth", &axes(&["test.queue_depth"])), "Queue depth");
        let both = axes(&["controller.queue_depth", "test.queue_depth"]);
        let labels: Vec<String> = both.iter().map(|axis| key_label(&axis.key, &both)).collect();
        assert_eq!(labels, ["Controller queue depth", "Test queue depth"]);
    }

    #[test]
    fn doublings_are_logarithmic_and_even_steps_are_not() {
        let axis = |values: &[f64]| Axis {
            key: String::new(),
            values: values.iter().map(|v| Cell { text: v.to_string(), number: Some(*v) }).collect(),
        };
        assert!(spread_evenly_by_ratio(&axis(&[512.0, 64.0, 128.0, 256.0])));
        assert!(spread_evenly_by_ratio(&axis(&[5.0, 7.0, 10.0, 15.0, 20.0, 28.0, 40.0, 60.0, 80.0, 100.0])));
        assert!(!spread_evenly_by_ratio(&axis(&[10.0, 20.0, 30.0, 40.0])));
        assert!(!spread_evenly_by_ratio(&axis(&[0.0, 1.0, 2.0])));
    }
}
