//! Words and scales of swept keys.

use crate::swept::Axis;

/// A key as a label: `die.geometry.pages_per_block` is `Pages per block`.
pub(crate) fn key_label(key: &str) -> String {
    match key {
        "over_provisioning_percent" | "spare_percent" => "Over-provisioning".to_owned(),
        "flash.exact_spare_per_10000" => "Exact spare".to_owned(),
        "capacity_bytes" => "Capacity".to_owned(),
        "gc.policy" => "Collection policy".to_owned(),
        _ => {
            let (stem, _) = split_unit(key.rsplit('.').next().unwrap_or(key));
            let mut words = stem.replace('_', " ");
            if let Some(first) = words.get_mut(0..1) {
                first.make_ascii_uppercase();
            }
            words
        }
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
    const UNITS: [(&str, &str); 10] = [
        ("_percent", "%"),
        ("_bytes", "B"),
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
pub(crate) fn key_with_value(key: &str, value: &str) -> String {
    let label = key_label(key).to_lowercase();
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

    #[test]
    fn keys_become_words() {
        assert_eq!(key_label("die.geometry.pages_per_block"), "Pages per block");
        assert_eq!(key_label("write_buffer.flush_after_idle_ms"), "Flush after idle");
        assert_eq!(key_with_value("over_provisioning_percent", "7"), "7 % over-provisioning");
        assert_eq!(key_with_value("die.geometry.pages_per_block", "64"), "64 pages per block");
        assert_eq!(key_with_value("gc.policy", "greedy"), "greedy");
        assert_eq!(key_with_value("die.timing.erase_ms", "4"), "erase 4 ms");
        assert_eq!(key_with_value("controller.reads_first", "true"), "reads first true");
        assert_eq!(key_with_value("capacity_bytes", "128000000000"), "capacity 128 GB");
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
