//! Metrics and charts that several tests share.

use ssdlab_core::{Histogram, Nanos, to_us};
use ssdlab_device::Counters;

use super::common::Timed;
use crate::explain;
use crate::measure::{Energy, Measurement, PerSecond, PowerPerSecond, TemperaturePerSecond};
use crate::outcome::{Axis, Chart, Mark, Metric, Outcome, Series, SlowIo};

const SLOWEST_SHOWN: usize = 10;

const PERCENTILES: [(f64, &str); 5] = [
    (50.0, "latency_p50"),
    (90.0, "latency_p90"),
    (99.0, "latency_p99"),
    (99.9, "latency_p99_9"),
    (99.99, "latency_p99_99"),
];

pub(crate) fn put(out: &mut Outcome, key: &str, value: f64, unit: &str) {
    let before = out.metrics.insert(key.to_owned(), Metric::new(value, unit));
    debug_assert!(before.is_none(), "metric {key} was set twice");
}

/// What is said where percentiles were left out.
const TOO_FEW: &str = "Percentiles of latency are left out beyond which not one request lies: the 99th asks for 100 requests, \
                       the 99.9th for 1,000, the 99.99th for 10,000.";

/// Whether a percentile is more than the slowest request under another name: at least one request lies beyond it.
pub(crate) fn tells(h: &Histogram, percent: f64) -> bool {
    // A tenth of a request less is an error of rounding.
    h.count() as f64 * (100.0 - percent) >= 99.9
}

/// A percentile of `h` in microseconds, or a note that there is none.
pub(crate) fn put_percentile(out: &mut Outcome, key: &str, h: &Histogram, percent: f64) {
    if tells(h, percent) {
        put(out, key, to_us(h.percentile(percent)), "us");
    } else if !out.notes.iter().any(|note| note == TOO_FEW) {
        out.notes.push(TOO_FEW.to_owned());
    }
}

/// `latency_…` metrics, each with `suffix`; of the percentiles those that so many requests tell of.
pub(crate) fn put_latencies(out: &mut Outcome, h: &Histogram, suffix: &str) {
    if h.count() == 0 {
        return;
    }
    put(out, &format!("latency_mean{suffix}"), h.mean() / 1e3, "us");
    for (percent, key) in PERCENTILES {
        put_percentile(out, &format!("{key}{suffix}"), h, percent);
    }
    put(out, &format!("latency_max{suffix}"), to_us(h.max()), "us");
}

/// What the device counted: write amplification and energy, where there is any.
pub(crate) fn put_counters(out: &mut Outcome, counters: &Counters, elapsed: Nanos) {
    put_counters_as(out, counters, elapsed, "");
}

/// The same, each figure's name with `suffix`.
pub(crate) fn put_counters_as(out: &mut Outcome, counters: &Counters, elapsed: Nanos, suffix: &str) {
    if let Some(waf) = counters.waf() {
        put(out, &format!("waf{suffix}"), waf, "ratio");
    }
    if suffix.is_empty() {
        counters.waf_parts().for_each(|(name, part)| put(out, &format!("waf_{name}"), part, "ratio"));
    }
    if let Some(energy) = Energy::of(counters, elapsed) {
        put(out, &format!("energy{suffix}"), energy.joules, "J");
        put(out, &format!("power_mean{suffix}"), energy.watts(), "W");
    }
    // Of a set, times of the members are summed up on both sides: the mean of their shares.
    if let Some(heat) = counters.heat.filter(|heat| elapsed > 0 && heat.watched_microseconds > 0) {
        let share = heat.held_nanos as f64 / (heat.watched_microseconds as f64 * 1e3);
        put(out, &format!("held_for_heat{suffix}"), 100.0 * share, "%");
    }
}

/// Every standard metric of a timed run, its time shares and its slowest requests.
pub(super) fn put_timed(out: &mut Outcome, label: &str, timed: &Timed) {
    let m = &timed.measurement;
    put(out, "iops", m.iops(), "IOPS");
    put(out, "bandwidth", m.mb_per_s(), "MB/s");
    put_latencies(out, &m.latency(), "");
    put_counters(out, &timed.counters, timed.counted);
    put_power(out, &timed.power, label);
    put_temperature(out, &timed.temperature, label);
    let iops = timed.per_second.iops();
    if !iops.is_empty() {
        put(out, "iops_min", min(&iops), "IOPS");
        put(out, "iops_max", max(&iops), "IOPS");
    }
    put_causes(out, label, m);
    out.tables.extend(explain::tail_tables(label, m));
}

/// Where the time of a test's run went, and its slowest requests.
pub(crate) fn put_causes(out: &mut Outcome, label: &str, m: &Measurement) {
    out.time_shares.extend(explain::time_shares(label, m));
    out.slowest.extend(explain::slowest(m));
}

/// Where the time of one of several runs of a test went, and its slowest requests if they are among the slowest of all of
/// them. They bear the run's label, as their times count from the start of their own run.
pub(crate) fn put_causes_of_run(out: &mut Outcome, label: &str, m: &Measurement) {
    out.time_shares.extend(explain::time_shares(label, m));
    let of_run = |io| SlowIo { run: Some(label.to_owned()), ..io };
    out.slowest.extend(explain::slowest(m).into_iter().map(of_run));
    // Stable: of equally slow requests those of the earlier run come first.
    out.slowest.sort_by(|a, b| b.latency_us.total_cmp(&a.latency_us));
    out.slowest.truncate(SLOWEST_SHOWN);
}

/// How much of a drive was written, in words: `2.5 %`.
pub(crate) fn share_written(bytes: u64, capacity_bytes: u64) -> String {
    match 100.0 * bytes as f64 / capacity_bytes.max(1) as f64 {
        percent if percent < 0.1 => "less than 0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

pub(crate) fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

pub(crate) fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Population standard deviation.
pub(crate) fn stddev(values: &[f64]) -> f64 {
    let m = mean(values);
    libm::sqrt(values.iter().map(|v| (v - m) * (v - m)).sum::<f64>() / values.len() as f64)
}

pub(crate) fn series(name: &str, points: Vec<[f64; 2]>) -> Series {
    Series { name: name.to_owned(), points }
}

pub(crate) fn chart(id: &str, title: &str, caption: &str, mark: Mark, x: Axis, y: Axis, series: Vec<Series>) -> Chart {
    let overlay_drives = mark != Mark::Scatter;
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: caption.to_owned(),
        mark,
        x,
        y,
        series,
        overlay_drives,
    }
}

/// A categorical axis.
pub(crate) fn categories(label: &str, unit: &str, names: Vec<String>) -> Axis {
    Axis { categories: names, ..Axis::linear(label, unit) }
}

/// Values by category: the n-th value stands at x = n.
pub(crate) fn by_category(values: &[f64]) -> Vec<[f64; 2]> {
    values.iter().enumerate().map(|(i, &v)| [i as f64, v]).collect()
}

/// The value of each whole second, at the second's end.
pub(crate) fn by_second(values: &[f64], first: usize) -> Vec<[f64; 2]> {
    values.iter().enumerate().skip(first).map(|(i, &v)| [(i + 1) as f64, v]).collect()
}

/// Power of each second: its highest value and its chart, where the device meters energy.
pub(crate) fn put_power(out: &mut Outcome, power: &PowerPerSecond, name: &str) {
    let watts = power.watts();
    if watts.is_empty() {
        return;
    }
    put(out, "power_max", max(watts), "W");
    let caption = "One dot a second, as a data-logging multimeter gives it.";
    let power = Axis { min: Some(0.0), ..Axis::linear("power", "W") };
    out.charts.push(by_seconds(("power-over-time", "Power over time", caption), power, watts, name));
}

/// Temperature of each second: its highest value and its chart, where the device knows it.
pub(crate) fn put_temperature(out: &mut Outcome, temperature: &TemperaturePerSecond, name: &str) {
    let celsius = temperature.celsius();
    if celsius.is_empty() {
        return;
    }
    put(out, "temperature_max", max(celsius), "°C");
    let caption = "What the drive's sensor says, one dot a second.";
    let temperature = Axis::linear("temperature", "°C");
    out.charts.push(by_seconds(
        ("temperature-over-time", "Temperature over time", caption),
        temperature,
        celsius,
        name,
    ));
}

/// Bandwidth of each second.
pub(crate) fn rate_over_time(per_second: &PerSecond, name: &str) -> Chart {
    let rates: Vec<f64> = per_second.seconds().iter().map(|s| s.bytes as f64 / 1e6).collect();
    let bandwidth = Axis { min: Some(0.0), ..Axis::linear("bandwidth", "MB/s") };
    by_seconds(("rate-over-time", "Bandwidth over time", "One dot a second."), bandwidth, &rates, name)
}

/// A dot for each second. `id`, title and caption are the chart's.
fn by_seconds((id, title, caption): (&str, &str, &str), y: Axis, values: &[f64], name: &str) -> Chart {
    let time = Axis::linear("time", "s");
    chart(id, title, caption, Mark::Scatter, time, y, vec![series(name, by_second(values, 0))])
}

#[cfg(test)]
mod tests {
    use ssdlab_core::SECOND;
    use ssdlab_device::HeatCounters;

    use super::*;

    #[test]
    fn a_set_is_held_for_heat_as_long_as_its_members_on_average() {
        let member = |held_nanos| {
            let heat = HeatCounters { celsius_microseconds: 0, watched_microseconds: 2_000_000, held_nanos };
            Counters { heat: Some(heat), ..Counters::default() }
        };
        let held = |counters: &Counters| {
            let mut out = Outcome::default();
            put_counters(&mut out, counters, 2 * SECOND);
            out.metrics["held_for_heat"].value
        };
        let (less, more) = (member(SECOND), member(2 * SECOND));
        assert_eq!([held(&less), held(&more), held(&less.plus(&more))], [50.0, 100.0, 75.0]);
    }

    #[test]
    fn a_percentile_beyond_which_no_request_lies_is_left_out_and_said_to_be() {
        let of = |count: u64| {
            let (mut h, mut out) = (Histogram::new(), Outcome::default());
            (1..=count).for_each(|us| h.record(us * 1_000));
            put_latencies(&mut out, &h, "_read");
            put_latencies(&mut out, &h, "_write");
            let there = PERCENTILES.map(|(_, key)| out.metrics.contains_key(&format!("{key}_read")));
            (there.iter().filter(|there| **there).count(), out.notes.len())
        };
        assert_eq!(
            [1, 2, 10, 85, 100, 999, 1_000, 10_000].map(of),
            [(0, 1), (1, 1), (2, 1), (2, 1), (3, 1), (3, 1), (4, 1), (5, 0)]
        );
    }
}
