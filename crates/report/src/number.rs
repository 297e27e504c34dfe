//! Figures for people: `75,900 IOPS`, `421 µs`, `9.10 ms`, axis ticks such as `40K`.

use std::collections::{BTreeMap, BTreeSet};

use ssdlab_bench::SHARE_BELOW;
use ssdlab_bench::specimens::BAND_ENDINGS;
use ssdlab_bench::suite::{PartOfRun, part_of_run};

/// Prints with at most `decimals` places and without trailing zeros.
pub(crate) fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Prints with a comma between thousands.
pub(crate) fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    if value < 0.0 && out.chars().any(|c| c.is_ascii_digit() && c != '0') {
        out.insert(0, '-');
    }
    out
}

/// With an SI letter: `950`, `1.5K`, `40K`, `2M`. Three significant digits.
pub(crate) fn si(value: f64) -> String {
    let shown = Shown::of_si(value);
    format!("{}{}", shown.digits(), shown.unit)
}

/// Three significant digits, without trailing zeros.
pub(crate) fn significant(value: f64) -> String {
    trimmed(value, significant_places(value))
}

/// The decimal places of three significant digits.
fn significant_places(value: f64) -> usize {
    match value.abs() {
        0.0 => 0,
        m if m >= 100.0 => 0,
        m if m >= 10.0 => 1,
        m if m >= 1.0 => 2,
        m => (libm::ceil(-libm::log10(m)) as usize + 2).min(9),
    }
}

/// A latency given in microseconds: `850 ns`, `42.1 µs`, `9.1 ms`, `1.2 s`.
pub(crate) fn latency(us: f64) -> String {
    Shown::of_latency(us).text()
}

/// The label of an axis tick. Latencies carry their unit, everything else has it beside the axis label.
pub(crate) fn tick(value: f64, unit: &str) -> String {
    match unit {
        "us" | "µs" => latency(value),
        SHARE_BELOW => share_below(value),
        _ => {
            let shown = Shown::of_tick(value, unit);
            format!("{}{}", shown.digits(), shown.unit)
        }
    }
}

/// Whether [`tick`] rounds this value by more than `most`, so that the tick would not stand where it says.
pub(crate) fn tick_is_off(value: f64, unit: &str, most: f64) -> bool {
    if unit == SHARE_BELOW || value == 0.0 {
        return false;
    }
    let shown = Shown::of_tick(value, unit);
    let scale = libm::pow(10.0, shown.places as f64);
    let rounded = libm::round(shown.value * scale) / scale;
    ((rounded / shown.value - 1.0) * value).abs() > most
}

/// The label of a tick that stands at a value of the data, as that was given: where [`tick`] would round it, in full. What has
/// more than four places was computed.
pub(crate) fn tick_in_full(value: f64, unit: &str) -> String {
    let full = trimmed(value, 4);
    let digits = full.trim_start_matches(['-', '0', '.']).chars().filter(char::is_ascii_digit).collect::<String>();
    let significant = if full.contains('.') { digits.as_str() } else { digits.trim_end_matches('0') };
    if full.parse() != Ok(value) || significant.len() <= 3 {
        return tick(value, unit);
    }
    let figure = grouped(value, full.split_once('.').map_or(0, |(_, places)| places.len()));
    match unit {
        "us" | "µs" => format!("{figure} µs"),
        SHARE_BELOW => tick(value, unit),
        _ => figure,
    }
}

/// The label of a tick beside others of which [`tick`] would round some to what they are not: to as many places as tell
/// ticks apart that are no nearer to one another than `step`.
pub(crate) fn tick_to_step(value: f64, step: f64, unit: &str) -> String {
    let places = (-libm::floor(libm::log10(step) + 1e-9)).clamp(0.0, 9.0) as usize;
    let figure = grouped(value, places);
    if tick_has_unit(unit) { format!("{figure} {}", self::unit(unit)) } else { figure }
}

/// Whether [`tick`] prints the unit itself.
pub(crate) fn tick_has_unit(unit: &str) -> bool {
    matches!(unit, "us" | "µs" | SHARE_BELOW)
}

/// A share of which the axis holds 1/(1 - p), to as many places as it has nines: `50 %`, `99.9 %`.
fn share_below(value: f64) -> String {
    let value = value.max(1.0);
    format!("{} %", trimmed(100.0 - 100.0 / value, libm::floor(libm::log10(value) + 1e-9) as usize))
}

/// A unit as people write it.
pub(crate) fn unit(unit: &str) -> &str {
    match unit {
        "us" => "µs",
        SHARE_BELOW => "",
        "ratio" | "count" => "",
        other => other,
    }
}

/// A measured figure with its unit.
pub(crate) fn value(value: f64, unit_key: &str) -> String {
    Shown::of(value, unit_key).text()
}

/// A figure as it is to be written.
struct Shown<'a> {
    /// In `unit`.
    value: f64,
    unit: &'a str,
    /// The most decimal places that it may have.
    places: usize,
    /// With a comma between thousands.
    is_grouped: bool,
    /// What is not zero must not be told as it.
    is_never_zero: bool,
}

impl<'a> Shown<'a> {
    fn of(value: f64, unit_key: &'a str) -> Self {
        let magnitude = value.abs();
        let (places, is_grouped) = match unit_key {
            "us" | "µs" => return Shown::of_latency(value),
            "bytes" | "B" => return Shown::of_bytes(value),
            "IOPS" | "count" if magnitude >= 100.0 => (0, true),
            // Four significant digits at the most.
            "ratio" if magnitude >= 1_000.0 => (0, true),
            "ratio" if magnitude >= 100.0 => (1, false),
            "ratio" if magnitude >= 10.0 => (2, false),
            "ratio" => (3, false),
            "%" if magnitude < 0.1 => (4, false),
            "%" => (2, false),
            _ if magnitude >= 1_000.0 => (0, true),
            _ if magnitude >= 100.0 => (1, false),
            _ => (significant_places(value), false),
        };
        Shown { value, unit: unit(unit_key), places, is_grouped, is_never_zero: true }
    }

    /// As an axis prints it, with a letter in place of the unit, but for latencies.
    fn of_tick(value: f64, unit_key: &'a str) -> Self {
        match unit_key {
            "us" | "µs" => Shown::of_latency(value),
            // Nobody says 1.4K seconds.
            "s" | "GB" if value.abs() >= 1_000.0 => {
                Shown { value, unit: "", places: 0, is_grouped: true, is_never_zero: false }
            }
            _ => Shown::of_si(value),
        }
    }

    fn of_si(value: f64) -> Self {
        let (divisor, unit) = match value.abs() {
            m if m >= 999.5e9 => (1e12, "T"),
            m if m >= 999.5e6 => (1e9, "G"),
            m if m >= 999.5e3 => (1e6, "M"),
            m if m >= 999.5 => (1e3, "K"),
            _ => (1.0, ""),
        };
        let value = value / divisor;
        Shown { value, unit, places: significant_places(value), is_grouped: false, is_never_zero: false }
    }

    fn of_latency(us: f64) -> Self {
        let (value, unit) = match us.abs() {
            0.0 => (0.0, "µs"),
            m if m < 0.9995 => (us * 1e3, "ns"),
            m if m < 999.5 => (us, "µs"),
            m if m < 999.5e3 => (us / 1e3, "ms"),
            _ => (us / 1e6, "s"),
        };
        Shown { value, unit, places: significant_places(value), is_grouped: false, is_never_zero: false }
    }

    fn of_bytes(bytes: f64) -> Self {
        // What rounds to a thousand is one of the next unit.
        let (divisor, unit) = match bytes.abs() {
            m if m >= 999.995e9 => (1e12, "TB"),
            m if m >= 999.995e6 => (1e9, "GB"),
            m if m >= 999.995e3 => (1e6, "MB"),
            m if m >= 1e3 => (1e3, "kB"),
            _ => (1.0, "B"),
        };
        Shown { value: bytes / divisor, unit, places: 2, is_grouped: false, is_never_zero: false }
    }

    fn digits(&self) -> String {
        let digits = if self.is_grouped { grouped(self.value, self.places) } else { trimmed(self.value, self.places) };
        if digits == "0" && self.value != 0.0 && self.is_never_zero { small(self.value) } else { digits }
    }

    fn with_unit(&self, digits: &str) -> String {
        if self.unit.is_empty() { digits.to_owned() } else { format!("{digits} {}", self.unit) }
    }

    fn text(&self) -> String {
        self.with_unit(&self.digits())
    }
}

/// Figures that stand beside one another, as in a chart or a column: each as [`value`] has it, with zeros where others of the same
/// unit have digits, as far as it has been measured: `5.99 ms` and `6.00 ms`, `12.3 ms` and `100 ms`.
pub(crate) struct Beside<'a> {
    unit_key: &'a str,
    /// By unit, the most decimal places that one has.
    places: Vec<(&'a str, usize)>,
}

impl<'a> Beside<'a> {
    pub(crate) fn of(values: impl Iterator<Item = f64>, unit_key: &'a str) -> Self {
        let mut places: Vec<(&str, usize)> = Vec::new();
        for figure in values.map(|value| Shown::of(value, unit_key)) {
            // One next to zero has more than the others can have.
            let own = Some(places_of(&figure.digits())).filter(|own| *own <= figure.places).unwrap_or(0);
            match places.iter_mut().find(|(unit, _)| *unit == figure.unit) {
                Some((_, most)) => *most = own.max(*most),
                None => places.push((figure.unit, own)),
            }
        }
        Beside { unit_key, places }
    }

    /// One of them.
    pub(crate) fn text(&self, value: f64) -> String {
        let figure = Shown::of(value, self.unit_key);
        let most = self.places.iter().find(|(unit, _)| *unit == figure.unit).map_or(0, |(_, most)| *most);
        let (digits, wanted) = (figure.digits(), most.min(figure.places));
        // A zero is exact, and what is next to it has the places that it needs.
        if figure.value == 0.0 || digits.contains('e') || places_of(&digits) >= wanted {
            return figure.with_unit(&digits);
        }
        figure.with_unit(&format!("{:.wanted$}", figure.value))
    }
}

/// Figures as `text` has them, but for those that differ and would read the same: these to as many places as tell them
/// apart, `104.9 µs` and `105.1 µs`.
pub(crate) fn told_apart(values: &[f64], unit_key: &str, text: impl Fn(f64) -> String) -> Vec<String> {
    let mut texts: Vec<String> = values.iter().map(|&value| text(value)).collect();
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, text) in texts.iter().enumerate() {
        alike.entry(text.clone()).or_default().push(at);
    }
    for at in alike.into_values().filter(|at| at.iter().any(|&i| values[i] != values[at[0]])) {
        let shown: Vec<Shown<'_>> = at.iter().map(|&i| Shown::of(values[i], unit_key)).collect();
        let least = shown.iter().map(|figure| figure.places).max().unwrap_or(0);
        let to = |places: usize| shown.iter().map(|figure| grouped(figure.value, places)).collect::<Vec<_>>();
        let count = |digits: &[String]| digits.iter().collect::<BTreeSet<_>>().len();
        // What differs by less is the same but for the rounding of a mean.
        let most = least + MORE_PLACES;
        let told = count(&to(most));
        let Some(digits) = (least + 1..=most).map(to).find(|digits| told > 1 && count(digits) == told) else {
            continue;
        };
        for ((i, figure), digits) in at.into_iter().zip(&shown).zip(digits) {
            texts[i] = figure.with_unit(&digits);
        }
    }
    texts
}

/// So many places more than figures have tell apart what differs.
const MORE_PLACES: usize = 3;

fn places_of(digits: &str) -> usize {
    digits.split_once('.').map_or(0, |(_, places)| if places.contains('e') { 0 } else { places.len() })
}

/// A number next to zero: `0.00003`, or `2.5e-12` where that would be zeroes only.
fn small(value: f64) -> String {
    match significant(value) {
        zero if zero == "0" => format!("{value:.1e}"),
        figure => figure,
    }
}

/// A size or an offset in bytes, decimal: `512 B`, `8 GB`.
pub(crate) fn bytes(value: f64) -> String {
    Shown::of_bytes(value).text()
}

/// The size of a transfer: binary where it comes out even (`4 KiB`, `1 MiB`), bytes otherwise.
pub(crate) fn transfer(bytes: u64) -> String {
    match bytes {
        b if b > 0 && b % (1 << 20) == 0 => format!("{} MiB", b >> 20),
        b if b > 0 && b % (1 << 10) == 0 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

/// What figures of the part of a run are of that is the steady state, if there is one.
pub(crate) const LAST_PART: &str = "last part of the run";

/// The key that a figure of several specimens has of one of them, and which one that is.
fn of_specimens(key: &str) -> Option<(&str, &'static str)> {
    let which = ["lowest of the specimens", "highest of the specimens"];
    BAND_ENDINGS.into_iter().zip(which).find_map(|(ending, which)| Some((key.strip_suffix(ending)?, which)))
}

/// A metric's key as people say it: `latency_p99_9` is `Latency, 99.9th percentile`.
pub(crate) fn metric_label(key: &str) -> String {
    if let Some((of_one, which)) = of_specimens(key) {
        return format!("{}, {which}", metric_label(of_one));
    }
    if let Some(of_empty) = key.strip_suffix("_full") {
        return format!("{}, full drive", metric_label(of_empty));
    }
    for (op, word) in [("read_", "Read"), ("write_", "Write"), ("mixed_", "Mixed"), ("trim_", "Trim")] {
        if let Some(of_all) = key.strip_prefix(op).filter(|of| of.starts_with("latency_")) {
            return metric_label(of_all).replacen("Latency", &format!("{word} latency"), 1);
        }
    }
    if ["latency_", "stall_", "seconds_over_"].iter().any(|k| key.starts_with(k)) || key == "waf_tail" {
        if let Some(of_all) = key.strip_suffix("_tail") {
            return format!("{}, {LAST_PART}", metric_label(of_all));
        }
        for (suffix, op) in [("_read", "reads"), ("_write", "writes"), ("_trim", "trims"), ("_flush", "flushes")] {
            if let Some(of_all) = key.strip_suffix(suffix) {
                return format!("{}, {op}", metric_label(of_all));
            }
        }
    }
    if let Some(of_all) = key.strip_suffix("_from_arrival").filter(|of| of.starts_with("latency_")) {
        return format!("{}, from arrival", metric_label(of_all));
    }
    if let Some(of_lag) = key.strip_prefix("lag_") {
        return metric_label(&format!("latency_{of_lag}")).replacen("Latency", "Replay lag", 1);
    }
    if let Some(p) = key.strip_suffix("_us").unwrap_or(key).strip_prefix("latency_") {
        return match p {
            "mean" => "Latency, mean".to_owned(),
            "max" => "Latency, worst".to_owned(),
            "min" => "Latency, best".to_owned(),
            "p50" => "Latency, median".to_owned(),
            p => match p.strip_prefix('p').filter(|d| d.chars().all(|c| c.is_ascii_digit() || c == '_')) {
                Some(digits) => format!("Latency, {}th percentile", digits.replace('_', ".")),
                None => format!("Latency, {}", p.replace('_', " ")),
            },
        };
    }
    match key {
        "iops" => "IOPS".to_owned(),
        "iops_min" => "IOPS, lowest second".to_owned(),
        "iops_max" => "IOPS, highest second".to_owned(),
        "iops_mean_tail" => format!("IOPS, mean, {LAST_PART}"),
        "iops_stddev_tail" => format!("IOPS, standard deviation, {LAST_PART}"),
        "zero_iops_seconds" => "Seconds without any I/O".to_owned(),
        "bandwidth" => "Bandwidth".to_owned(),
        "asked_bandwidth" => "Bandwidth that the job asks for".to_owned(),
        "asked_iops" => "IOPS that the job asks for".to_owned(),
        "delayed" => "Requests sent late, for want of a tag".to_owned(),
        "waf" => "Write amplification".to_owned(),
        "waf_host" => "Write amplification: for the host".to_owned(),
        "waf_gc" => "Write amplification: garbage collection".to_owned(),
        "waf_fold" => "Write amplification: folding".to_owned(),
        "waf_metadata" => "Write amplification: map".to_owned(),
        "waf_safety" => "Write amplification: older pages kept safe".to_owned(),
        "power_mean" => "Power, mean".to_owned(),
        "stall_longest" => "Longest gap without a completion".to_owned(),
        "stall_share" => "Time in gaps over 0.1 s".to_owned(),
        "longest_gap_share" => "Longest time without an answer, of the run".to_owned(),
        "seconds_over_100ms" => "Seconds with a wait over 0.1 s".to_owned(),
        "seconds_over_500ms" => "Seconds with a wait over 0.5 s".to_owned(),
        "seconds_over_1s" => "Seconds with a wait over 1 s".to_owned(),
        "rate_begin" => "Transfer rate, begin".to_owned(),
        "rate_end" => "Transfer rate, end".to_owned(),
        "energy" => "Energy".to_owned(),
        "power_idle" => "Power, idle".to_owned(),
        "power_slumber" => "Power in Slumber".to_owned(),
        "power_max" => "Power, highest second".to_owned(),
        "power_peak" => "Power, highest 10 ms".to_owned(),
        "power_fill" => "Power, writing the empty drive".to_owned(),
        "share_over_10ms" => "Requests over 10 ms".to_owned(),
        "share_over_100ms" => "Requests over 100 ms".to_owned(),
        "stage1_bandwidth" => "Rate of the first stage".to_owned(),
        "stage1_amount" => "Written in the first stage".to_owned(),
        "trimmed_bandwidth" => "Bandwidth after TRIM".to_owned(),
        "random_read_bar" => "Random read, mean of QD 1, 2 and 4".to_owned(),
        "random_write_bar" => "Random write, mean of QD 1, 2 and 4".to_owned(),
        "sequential_read_bar" => "Sequential read, mean of QD 1, 2 and 4".to_owned(),
        "sequential_write_bar" => "Sequential write, mean of QD 1, 2 and 4".to_owned(),
        "fill_bandwidth" => "Bandwidth of the sequential fill".to_owned(),
        "iops_over_stddev" => format!("IOPS, mean over standard deviation, {LAST_PART}"),
        "iops_common_level" => format!("IOPS, most common level, {LAST_PART}"),
        "iops_autocorrelation_max" => "Autocorrelation of IOPS, largest".to_owned(),
        "iops_autocorrelation_lag" => "Autocorrelation of IOPS, lag of the largest".to_owned(),
        "iops_period" => "Time after which IOPS repeat".to_owned(),
        "iops_period_autocorrelation" => "Autocorrelation of IOPS after that time".to_owned(),
        "iops_run_mean" => "Time on one side of the median IOPS, mean".to_owned(),
        "iops_run_longest" => "Time on one side of the median IOPS, longest".to_owned(),
        other => {
            let mut words = other.replace('_', " ");
            if let Some(first) = words.get_mut(0..1) {
                first.make_ascii_uppercase();
            }
            words.replace("iops", "IOPS").replace("Iops", "IOPS").replace(" qd", " QD")
        }
    }
}

/// What a figure is called of the test that has some of its whole run, fresh at first, and some of the last part of it, which
/// is called `last`: with the part that it is of.
pub(crate) fn label_with_part(key: &str, last: &str) -> String {
    if let Some((of_one, which)) = of_specimens(key) {
        return format!("{}, {which}", label_with_part(of_one, last));
    }
    let label = metric_label(key);
    match part_of_run(key) {
        // It is a share of the run.
        Some(PartOfRun::Whole) if label.ends_with("of the run") => label,
        Some(PartOfRun::Whole) => format!("{label}, whole run"),
        Some(PartOfRun::Last) if label.contains(LAST_PART) => label.replace(LAST_PART, last),
        Some(PartOfRun::Last) => format!("{label}, {last}"),
        None => label,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_consistency_says_which_part_of_the_run_it_is_of() {
        let label = |key| label_with_part(key, "last 75 s");
        assert_eq!(label("waf"), "Write amplification, whole run");
        assert_eq!(label("waf_gc"), "Write amplification: garbage collection, whole run");
        assert_eq!(label("power_mean"), "Power, mean, whole run");
        assert_eq!(label("waf_tail"), "Write amplification, last 75 s");
        assert_eq!(label("iops_min"), "IOPS, lowest second, last 75 s");
        assert_eq!(label("iops_autocorrelation_max"), "Autocorrelation of IOPS, largest, last 75 s");
        assert_eq!(label("longest_gap_share"), "Longest time without an answer, of the run");
        assert_eq!(label("fill_bandwidth"), "Bandwidth of the sequential fill");
        assert_eq!(label("specimens"), "Specimens");
        assert_eq!(label("waf_highest"), "Write amplification, whole run, highest of the specimens");
        assert_eq!(label("iops_min_lowest"), "IOPS, lowest second, last 75 s, lowest of the specimens");
    }

    #[test]
    fn a_figure_of_specimens_is_called_as_that_of_one_of_them() {
        assert_eq!(metric_label("power_max_highest"), "Power, highest second, highest of the specimens");
        assert_eq!(metric_label("bandwidth_full_lowest"), "Bandwidth, full drive, lowest of the specimens");
    }

    #[test]
    fn figures_beside_one_another_have_equal_digits() {
        let told = |values: &[f64], unit| -> Vec<String> {
            let beside = Beside::of(values.iter().copied(), unit);
            values.iter().map(|&v| beside.text(v)).collect()
        };
        assert_eq!(told(&[5_990.0, 6_000.0, 12_000.0, 100_000.0], "us"), ["5.99 ms", "6.00 ms", "12.0 ms", "100 ms"]);
        // Not for more than it takes, and by the unit that is printed.
        assert_eq!(told(&[6_000.0, 12_000.0, 0.0, 42.5], "us"), ["6 ms", "12 ms", "0 µs", "42.5 µs"]);
        assert_eq!(told(&[101.5, 200.0, 3_000.0], "MB/s"), ["101.5 MB/s", "200.0 MB/s", "3,000 MB/s"]);
        assert_eq!(told(&[1.5, 30.42, 0.0, 4e-4], "ratio"), ["1.50", "30.42", "0", "0.0004"]);
        assert_eq!(told(&[7.0, 3e-5], "%"), ["7 %", "0.00003 %"]);
        assert_eq!(told(&[75_900.4, 80.0], "IOPS"), ["75,900 IOPS", "80 IOPS"]);
    }

    #[test]
    fn figures_read_as_reviews_print_them() {
        assert_eq!(value(75_900.4, "IOPS"), "75,900 IOPS");
        assert_eq!(value(310.94, "MB/s"), "310.9 MB/s");
        assert_eq!(value(421.0, "us"), "421 µs");
        assert_eq!(value(9_100.0, "us"), "9.1 ms");
        assert_eq!([1.0234, 30.418, 4131.085].map(|v| value(v, "ratio")), ["1.023", "30.42", "4,131"]);
        assert_eq!(value(0.0, "count"), "0");
        assert_eq!(
            [0.0, -0.0, 3e-5, -3e-5, 0.00007].map(|v| value(v, "%")),
            ["0 %", "0 %", "0.00003 %", "-0.00003 %", "0.0001 %"]
        );
        assert_eq!([0.0, 4e-4, 2.5e-12].map(|v| value(v, "ratio")), ["0", "0.0004", "2.5e-12"]);
        assert_eq!(grouped(-1_234_567.8, 1), "-1,234,567.8");
        assert_eq!(grouped(-0.04, 0), "0");
        assert_eq!([0.0, 500.0, 1500.0, 40_000.0, 999_999.0, 2e6].map(si), ["0", "500", "1.5K", "40K", "1M", "2M"]);
        assert_eq!([0.2, 50.0, 1000.0, 2.5e6].map(latency), ["200 ns", "50 µs", "1 ms", "2.5 s"]);
        assert_eq!(metric_label("latency_p99_9"), "Latency, 99.9th percentile");
        assert_eq!(metric_label("latency_p99_99_tail"), "Latency, 99.99th percentile, last part of the run");
        assert_eq!(metric_label("latency_mean_read_full"), "Latency, mean, reads, full drive");
        assert_eq!(metric_label("latency_p99_9_from_arrival"), "Latency, 99.9th percentile, from arrival");
        let of_job =
            ["write_latency_p99_9", "read_latency_p50", "mixed_latency_max", "trim_latency_mean"].map(metric_label);
        assert_eq!(
            of_job,
            ["Write latency, 99.9th percentile", "Read latency, median", "Mixed latency, worst", "Trim latency, mean"]
        );
        assert_eq!(metric_label("lag_p99_9"), "Replay lag, 99.9th percentile");
        assert_eq!(metric_label("iops_run_mean"), "Time on one side of the median IOPS, mean");
        // In a quick run, lags are of moments: no number of seconds is true of both.
        assert_eq!(metric_label("iops_autocorrelation_max"), "Autocorrelation of IOPS, largest");
        assert_eq!(metric_label("read_iops_qd32"), "Read IOPS QD32");
        assert_eq!(transfer(131_072), "128 KiB");
        let shares = [1.0, 2.0, 4.0, 10.0, 100.0, 1e3, 1234.0, 1e7].map(|v| tick(v, SHARE_BELOW));
        assert_eq!(shares, ["0 %", "50 %", "75 %", "90 %", "99 %", "99.9 %", "99.919 %", "99.99999 %"]);
    }
}
