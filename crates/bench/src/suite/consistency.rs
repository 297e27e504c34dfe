//! `consistency`: how steadily a full drive takes random writes, second by second.
//!
//! The 2013 form runs 2000 s and is drawn on logarithmic and linear axes; the 2015 form runs 3600 s, is drawn
//! linearly and summed up by the mean of the last 400 s and that mean over its standard deviation.

use ssdlab_core::{Nanos, SECOND};
use ssdlab_device::{Counters, DeviceInfo};
use ssdlab_workload::Pattern;

use super::common::{FILL_BLOCK_BYTES, build, gigabytes, size};
use super::context::Context;
use super::definition::{PLAIN, TestDef, Variant, block, choice, depth, integer, metric, seconds};
use super::figures::{by_second, chart, max, mean, min, put, put_counters, put_latencies, put_power, series, stddev};
use super::regularity::Regularity;
use super::stalls::{put_stalls, show_stalls};
use super::steady_state::{Criterion, flash_bytes, left_to_full_run, means_of_parts};
use super::storage_bench_statistics::grouped;
use super::tail::tail_chart;
use crate::error::BenchError;
use crate::explain;
use crate::host::{Run, SlowestSeen};
use crate::measure::{CountedRun, PerSecond, PowerPerSecond, Split, Stalls};
use crate::outcome::{Axis, Chart, Mark, NotSteady, Outcome, Unsettled};

/// Top of the linear axis on which the reviews of 2013 laid every drive.
const LINEAR_TOP_IOPS: f64 = 40_000.0;

/// Of `over_provisioning`: the whole drive is used.
const EVERY_ADDRESS: &str = "none";

/// The test whose figures are of rates of moments.
pub const COUNTS_RATES: &str = "consistency";

pub(super) const DEF: TestDef = TestDef {
    name: COUNTS_RATES,
    title: "Performance consistency",
    summary: "The drive is filled in sequence, then written at random, 4 KiB at QD32, while IOPS are counted each \
              second: 2000 s in the form of 2013, 3600 s in that of 2015.",
    params: &[
        choice("form", "2013", &["2013", "2015"], "which of the published forms"),
        choice(
            "over_provisioning",
            EVERY_ADDRESS,
            &[EVERY_ADDRESS, "raw-25", "lba-75"],
            "how much of the drive is used, for filling and testing alike. none: all; raw-25: so many addresses that \
             the flash that holds data is 1.25 times what is used; lba-75: the first 75 % of the addresses. The reviews say \"25 %\" \
             and do not define it",
        ),
        block("block_size", "4096", "size of the random writes"),
        depth("queue_depth", "32", "requests in flight"),
        seconds("seconds", "auto", "length of the random writes; published: 2000 (form 2013), 3600 (form 2015)"),
        integer(
            "tail_from_seconds",
            "auto",
            "s",
            0,
            10_000_000,
            "where the steady state is taken to begin; published: 1400 of 2000, 3200 of 3600; in proportion for other \
             lengths",
        )
        .beside_method(),
        depth("fill_queue_depth", "32", "requests in flight while filling with 128 KiB writes. Not published")
            .beside_method(),
        integer("level_bin_iops", "250", "IOPS", 1, 1_000_000, "width of the bins for the most common level")
            .beside_method(),
    ],
    metrics: &[
        metric("steady", "ratio", "1 if the tail is a steady state, 0 if not").higher(),
        metric("iops_mean_tail", "IOPS", "mean of the seconds of the tail"),
        metric("iops_stddev_tail", "IOPS", "their standard deviation (population)").lower(),
        metric("iops_over_stddev", "ratio", "the mean of the tail over its standard deviation; absent if that is zero")
            .higher(),
        metric("iops_min", "IOPS", "here: the slowest second of the tail"),
        metric("iops_max", "IOPS", "here: the fastest second of the tail"),
        metric(
            "iops_common_level",
            "IOPS",
            "the most common level of the tail: the median of the values in the fullest bin; of values closer together than a bin is wide, their mean",
        ),
        metric(
            "iops_autocorrelation_max",
            "ratio",
            "the largest autocorrelation of the tail's seconds, or moments of a quick run, at lags of 2 to 60 of them: near 1 for \
             a drive that repeats itself like a metronome, and for one that drifts slowly; absent if none differs from another",
        ),
        metric(
            "iops_autocorrelation_lag",
            "s",
            "the lag at which it is found: the shortest, in a full run 2 s, for one that drifts",
        ),
        metric(
            "iops_period",
            "s",
            "after how many seconds the tail repeats itself: the lag of the highest peak of the autocorrelation that follows a \
             trough and is none of noise; absent if it repeats nothing",
        ),
        metric("iops_period_autocorrelation", "ratio", "the autocorrelation there"),
        metric("iops_run_mean", "s", "mean number of seconds in a row that lie on the same side of the tail's median"),
        metric("iops_run_longest", "s", "the most of them"),
        metric("zero_iops_seconds", "s", "seconds of the whole run in which nothing completed").lower(),
        metric("waf_tail", "ratio", "write amplification in the tail").lower(),
        metric("latency_mean_tail", "us", "mean latency in the tail").likewise(&[
            "latency_p50_tail",
            "latency_p90_tail",
            "latency_p99_tail",
            "latency_p99_9_tail",
            "latency_p99_99_tail",
            "latency_max_tail",
        ]),
        metric("fill_bandwidth", "MB/s", "rate of the sequential fill"),
        metric("used_bytes", "B", "how much of the drive was used"),
    ],
    variants: &[
        Variant { name: "2013", settings: &[], in_review: true },
        Variant { name: "2013, 25 % over-provisioning", settings: &[("over_provisioning", "raw-25")], in_review: true },
        Variant { name: "2013, 75 % of the addresses", settings: &[("over_provisioning", "lba-75")], in_review: false },
        Variant { name: "2015", settings: &[("form", "2015")], in_review: false },
        Variant {
            name: "2015, 25 % over-provisioning",
            settings: &[("form", "2015"), ("over_provisioning", "raw-25")],
            in_review: false,
        },
        Variant {
            name: "2015, 75 % of the addresses",
            settings: &[("form", "2015"), ("over_provisioning", "lba-75")],
            in_review: false,
        },
    ],
    weight: 30.0,
    ..PLAIN
};

/// Bytes of the address range that the test may use, in whole fill blocks.
fn used_bytes(info: &DeviceInfo, definition: &str) -> Result<u64, BenchError> {
    let capacity = info.capacity_bytes as f64;
    let used = match definition {
        "raw-25" => {
            let spare = info.over_provisioning_percent.ok_or_else(|| {
                let name = &info.name;
                BenchError::Unsuitable(format!("{name} has no spare area that it tells of: 25 % of it cannot be set"))
            })?;
            capacity * (1.0 + spare / 100.0) / 1.25
        }
        "lba-75" => capacity * 0.75,
        _ => return Ok(info.capacity_bytes),
    };
    Ok((used.min(capacity) as u64) / FILL_BLOCK_BYTES * FILL_BLOCK_BYTES)
}

/// Figures that say nothing of a drive that has not settled, beside those whose names end in `_tail`.
const STEADY: [&str; 10] = [
    "iops_over_stddev",
    "iops_min",
    "iops_max",
    "iops_common_level",
    "iops_autocorrelation_max",
    "iops_autocorrelation_lag",
    "iops_period",
    "iops_period_autocorrelation",
    "iops_run_mean",
    "iops_run_longest",
];

/// What keeps a tail from being steady, by the criterion of `steady-state` with its defaults: five equal parts must lie
/// within 10 % of their mean, and the line through them must change by no more than 5 %.
/// `requests`: how many the tail has. A mean of n of them is not known better than to `1 / sqrt(n)`: where twice that exceeds
/// what is allowed, a drift cannot be told from noise. `seconds`: its length.
fn unsteady(tail: &[f64], requests: u64, seconds: u64) -> Option<NotSteady> {
    let criterion = Criterion::DEFAULT;
    let because = |reason, why: String| Some(NotSteady::new(reason, format!("of the last {seconds} s, {why}")));
    if tail.len() < criterion.window {
        return because(Unsettled::TooFewSeconds, "there are too few seconds to tell".to_owned());
    }
    // Before anything is said of level parts: those of a drive that answers next to nothing, or nothing any more, are as level as can be.
    if 2.0 / libm::sqrt((requests as f64 / criterion.window as f64).max(1.0)) > criterion.tolerance {
        return because(Unsettled::TooFewRequests, format!("{} requests are too few to tell", grouped(requests)));
    }
    let parts = means_of_parts(tail);
    if criterion.is_met(&parts) {
        return None;
    }
    let broken = criterion.broken(&parts);
    // Of slow drives whole numbers would hide what moves.
    let iops = |v: f64| if v < 100.0 { format!("{v:.1}") } else { grouped(libm::round(v) as u64) };
    let (low, high) = (iops(min(&parts)), iops(max(&parts)));
    because(Unsettled::Drifts, format!("the means of five equal parts lie between {low} and {high} IOPS: {broken}"))
}

/// What is written at random goes to spare blocks at first, and nothing need be collected: however flat, that is no steady
/// state. `spare_bytes`: of a device that has any; `before`: what was counted before the last part of the run; `is_small`: on a drive
/// in small, whose amounts these are.
fn still_spare(spare_bytes: Option<f64>, before: Counters, seconds: u64, is_small: bool) -> Option<NotSteady> {
    let (spare, flash) = (spare_bytes?, before.flash?);
    let programmed = flash.program_bytes() as f64;
    (programmed < spare).then(|| {
        let [programmed, spare] = [programmed, spare].map(|bytes| gigabytes(bytes as u64));
        let why = if is_small {
            format!("before the last {seconds} s less was programmed than the spare area has")
        } else {
            format!("before the last {seconds} s {programmed} GB were programmed, and the spare area has {spare} GB")
        };
        NotSteady::new(Unsettled::SpareNotWritten, why)
    })
}

/// Seconds of a run by the method of 2013, and from which on it is taken for the steady state.
pub const PUBLISHED_SECONDS: (u64, u64) = (2000, 1400);

/// The same by that of 2015.
const PUBLISHED_SECONDS_2015: (u64, u64) = (3600, 3200);

/// Whether the run of an outcome used every address of the drive.
#[must_use]
pub fn is_of_whole_drive(outcome: &Outcome) -> bool {
    outcome.params.get("over_provisioning").is_none_or(|used| used == EVERY_ADDRESS)
}

/// A part of the random writes that a figure of this test is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartOfRun {
    /// All of them, from the fresh drive on.
    Whole,
    /// Those that are taken for the steady state.
    Last,
}

/// Figures of neither part: the verdict on the last one, what was before the random writes, and how many drives were run.
const OF_NO_PART: [&str; 4] = ["steady", "fill_bandwidth", "used_bytes", "specimens"];

/// The part of the run that a figure of this test is of.
#[must_use]
pub fn part_of_run(key: &str) -> Option<PartOfRun> {
    if STEADY.contains(&key) || key.ends_with("_tail") {
        return Some(PartOfRun::Last);
    }
    (!OF_NO_PART.contains(&key)).then_some(PartOfRun::Whole)
}

/// Completions that a moment must have in the mean, or its rate tells of nothing but when they were counted.
pub const COMPLETIONS_OF_A_MOMENT: f64 = 8.0;

/// Of how many rates a second the figures of a run are that is `small_by` times smaller: as many, unless it answered so few requests
/// (`iops` in the mean) that a moment has hardly one.
#[must_use]
pub fn rates_a_second(iops: f64, small_by: u32) -> u32 {
    if iops >= COMPLETIONS_OF_A_MOMENT * f64::from(small_by) { small_by } else { 1 }
}

/// The rates of moments, and how many of them a second has.
fn readable(rates: Vec<f64>, small_by: u32) -> (Vec<f64>, u64) {
    match rates_a_second(mean(&rates), small_by) {
        of_moments if of_moments == small_by => (rates, u64::from(small_by)),
        _ => (rates.chunks(small_by as usize).map(mean).collect(), 1),
    }
}

/// The median of the values in the fullest bin, the lower of the middle two: a rate that occurs. The lowest of equally full
/// bins. Of values that are all closer together than a bin is wide, their mean.
fn common_level(iops: &[f64], bin: f64) -> f64 {
    if max(iops) - min(iops) < bin {
        return mean(iops);
    }
    let bin_of = |v: f64| (v / bin) as usize;
    let mut counts = vec![0u32; bin_of(max(iops)) + 1];
    iops.iter().for_each(|&v| counts[bin_of(v)] += 1);
    let fullest = (0..counts.len()).rev().max_by_key(|&i| counts[i]).unwrap_or(0);
    let mut within: Vec<f64> = iops.iter().copied().filter(|&v| bin_of(v) == fullest).collect();
    within.sort_by(f64::total_cmp);
    within[(within.len() - 1) / 2]
}

/// What was asked for.
struct Asked {
    form: String,
    /// How much of the drive is used.
    space: String,
    block: u64,
    depth: u32,
    /// Seconds, as published, of this run, and from which on it may be steady.
    published: u64,
    length: u64,
    tail_from: u64,
}

impl Asked {
    fn of(ctx: &mut Context<'_>) -> Result<Asked, BenchError> {
        let form = ctx.params.choice("form").to_owned();
        let (published, published_tail) = if form == "2013" { PUBLISHED_SECONDS } else { PUBLISHED_SECONDS_2015 };
        let length = ctx.params.decide("seconds", published);
        let tail_from = ctx.params.decide("tail_from_seconds", length * published_tail / published);
        if tail_from >= length {
            let limit = format!("the tail must begin before the end of the run at {length} s");
            return Err(ctx.params.value_error("tail_from_seconds", &tail_from.to_string(), &limit).into());
        }
        let (block, depth) = (ctx.params.integer("block_size"), ctx.params.depth("queue_depth"));
        let space = ctx.params.choice("over_provisioning").to_owned();
        Ok(Asked { form, space, block, depth, published, length, tail_from })
    }

    /// What is said in titles of space that is left unused.
    fn unused(&self) -> &'static str {
        match self.space.as_str() {
            "raw-25" => ", 25 % over-provisioning",
            "lba-75" => ", 75 % of the addresses",
            _ => "",
        }
    }

    fn label(&self) -> String {
        format!("{} random write, QD{}", size(self.block), self.depth)
    }

    fn tail_seconds(&self) -> u64 {
        self.length - self.tail_from
    }
}

/// What was measured.
struct Measured {
    capacity: u64,
    used: u64,
    /// Bytes, of a device that tells of them.
    spare: Option<f64>,
    /// See [`left_to_full_run`]. Whatever else its end is, that of the whole set is another.
    left: Option<NotSteady>,
    fill: Run,
    split: Split,
    per_second: PerSecond,
    power: PowerPerSecond,
    stalls: Stalls,
    slowest_seen: Option<SlowestSeen>,
    at_start: Counters,
    /// From there until the time of the writes was over, and how long that was.
    counted: (Counters, Nanos),
}

impl Measured {
    /// What was counted up to the tail. With the whole run as its tail there is no boundary inside the run to read the counters at.
    fn at_boundary(&self) -> &Counters {
        self.split.counters_at_boundary().unwrap_or(&self.at_start)
    }

    fn method(&self, asked: &Asked, moments: u64) -> String {
        let limit = match asked.space.as_str() {
            "raw-25" if self.used + FILL_BLOCK_BYTES <= self.capacity => {
                ", limited so that the flash that holds data is 1.25 times what is used"
            }
            "raw-25" => ", all but the last incomplete 128 KiB: the flash that holds data is 1.25 times that and more",
            "lba-75" => ", the first 75 % of the addresses",
            _ => ", every address",
        };
        format!(
            "{} GB of the drive{limit}: filled in sequence with 128 KiB writes, then written at random, {} at QD{}, for \
             {} s. IOPS are counted {} a second; the last part, taken for the steady state if it is one, begins at {} s.",
            gigabytes(self.used),
            size(asked.block),
            asked.depth,
            asked.length,
            if moments > 1 { "eight times" } else { "once" },
            asked.tail_from,
        )
    }

    /// Why the last part is no steady state: nothing if it is one.
    fn not_steady(&self, asked: &Asked, tail_iops: &[f64], is_small: bool) -> Vec<NotSteady> {
        let seconds = asked.tail_seconds();
        let before = self.at_boundary().since(&self.at_start);
        let unsettled = (self.left.clone())
            .or_else(|| still_spare(self.spare, before, seconds, is_small))
            .or_else(|| unsteady(tail_iops, self.split.tail().requests(), seconds));
        unsettled.into_iter().collect()
    }

    fn put(&self, out: &mut Outcome) {
        let (whole, tail) = (self.split.whole(), self.split.tail());
        put(out, "iops", whole.iops(), "IOPS");
        put(out, "bandwidth", whole.mb_per_s(), "MB/s");
        put_latencies(out, &whole.latency(), "");
        put_latencies(out, &tail.latency(), "_tail");
        let (counters, counted_for) = &self.counted;
        put_counters(out, counters, *counted_for);
        if let Some(waf) = self.at_start.plus(counters).since(self.at_boundary()).waf() {
            put(out, "waf_tail", waf, "ratio");
        }
        put(out, "fill_bandwidth", self.fill.mb_per_s(), "MB/s");
        put(out, "used_bytes", self.used as f64, "B");
    }
}

fn measure(ctx: &mut Context<'_>, asked: &Asked) -> Result<Measured, BenchError> {
    let measured = ctx.on_fresh_drive(|host| {
        let info = host.info().clone();
        let used = used_bytes(&info, &asked.space)?;
        ctx.monitor().step(0.0, 0.2);
        let fill = host.fill(0, used, FILL_BLOCK_BYTES, ctx.params.depth("fill_queue_depth"), &mut ())?;
        ctx.monitor().step(0.2, 1.0);
        ctx.settle(host)?;
        let source = build(ctx, &Pattern::random_write(used, asked.block), "writes")?;
        let mut job = [ctx.job(source, asked.depth).for_nanos(asked.length * SECOND)];
        let at_start = host.counters();
        let mut run = CountedRun::from(host.now(), &at_start);
        let series = (PerSecond::every(ctx.moment()), PowerPerSecond::from(&at_start));
        let of_requests = (Split::after(asked.tail_from * SECOND), Stalls::default());
        let mut meters = (series, (of_requests, &mut run));
        host.watch_slowest();
        host.run(&mut job, &mut meters)?;
        let ((per_second, power), ((split, stalls), _)) = meters;
        let slowest_seen = host.slowest_seen();
        Ok(Measured {
            capacity: info.capacity_bytes,
            used,
            spare: info.over_provisioning_percent.map(|_| (flash_bytes(&info) - used as f64).max(0.0)),
            left: left_to_full_run(&info, ctx.is_small()),
            fill,
            split,
            per_second,
            power,
            stalls,
            slowest_seen,
            at_start,
            counted: run.until(host.now(), &host.counters()),
        })
    })?;
    measured.split.whole().check_causes().map_err(BenchError::Books)?;
    Ok(measured)
}

/// Figures of the rates of moments, of which a second has so many; `tail`: those of the last part.
fn put_rates(out: &mut Outcome, iops: &[f64], tail: &[f64], regularity: &Regularity, moments: u64, bin: f64) {
    let (tail_mean, tail_stddev) = (mean(tail), stddev(tail));
    put(out, "iops_mean_tail", tail_mean, "IOPS");
    put(out, "iops_stddev_tail", tail_stddev, "IOPS");
    if tail_stddev > 0.0 {
        put(out, "iops_over_stddev", tail_mean / tail_stddev, "ratio");
    } else {
        out.notes.push("Every second of the last part is the same: there is no deviation to divide by.".to_owned());
    }
    put(out, "iops_min", min(tail), "IOPS");
    put(out, "iops_max", max(tail), "IOPS");
    if let Some((lag, largest)) = regularity.strongest() {
        put(out, "iops_autocorrelation_max", largest, "ratio");
        put(out, "iops_autocorrelation_lag", lag as f64 / moments as f64, "s");
    }
    if let Some((lag, there)) = regularity.period() {
        put(out, "iops_period", lag as f64 / moments as f64, "s");
        put(out, "iops_period_autocorrelation", there, "ratio");
    }
    if let Some(mean) = regularity.run_mean() {
        put(out, "iops_run_mean", mean / moments as f64, "s");
        put(out, "iops_run_longest", regularity.run_longest() as f64 / moments as f64, "s");
    }
    put(out, "iops_common_level", common_level(tail, bin), "IOPS");
    put(out, "zero_iops_seconds", iops.iter().filter(|&&v| v == 0.0).count() as f64 / moments as f64, "s");
}

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let asked = Asked::of(ctx)?;
    let measured = measure(ctx, &asked)?;
    let (iops, moments) = readable(measured.per_second.iops(), ctx.small_by());
    let tail_iops = &iops[(asked.tail_from * moments) as usize..];
    let regularity = Regularity::of(tail_iops);
    let mut out = ctx.outcome(&format!("{}{}", asked.form, asked.unused()), measured.method(&asked, moments));
    measured.put(&mut out);
    put_rates(&mut out, &iops, tail_iops, &regularity, moments, ctx.params.integer("level_bin_iops") as f64);
    out.not_steady = measured.not_steady(&asked, tail_iops, ctx.is_small());
    out.notes.extend(out.not_steady.iter().map(NotSteady::sentence));
    let is_steady = out.not_steady.is_empty();
    put(&mut out, "steady", if is_steady { 1.0 } else { 0.0 }, "ratio");
    // At the published length the last part has published figures to be laid beside, whatever it is.
    if (ctx.params.is_quick() || asked.length < asked.published) && !is_steady {
        out.metrics.retain(|key, _| !STEADY.contains(&key.as_str()) && !key.ends_with("_tail"));
    }
    show(&mut out, &asked, &measured, (&iops, moments), &regularity, is_steady);
    Ok(out)
}

/// Everything that is no figure: where the time went, the slowest requests, charts.
fn show(
    out: &mut Outcome,
    asked: &Asked,
    measured: &Measured,
    (iops, moments): (&[f64], u64),
    regularity: &Regularity,
    is_steady: bool,
) {
    let (whole, tail) = (measured.split.whole(), measured.split.tail());
    let label = asked.label();
    let of_whole = format!("{label}, whole run");
    let of_tail = format!("{label}, from {} s", asked.tail_from);
    out.time_shares = explain::time_shares(&of_whole, &whole);
    out.time_shares.extend(explain::time_shares(&of_tail, tail));
    out.tables = explain::tail_tables(&of_tail, tail);
    out.slowest = explain::slowest(&whole);
    out.slowest_seen = measured.slowest_seen.clone().map(Box::new);
    out.charts = charts(&asked.form, asked.unused(), &label, iops, (asked.tail_from, is_steady), moments);
    // What drifts is like itself a moment later, and repeats nothing.
    out.charts.extend(regularity.chart(&label, moments).filter(|_| is_steady));
    put_power(out, &measured.power, &label);
    let name_of_tail = if is_steady { "steady state" } else { "last part" };
    out.charts.push(tail_chart(&[("whole run", &whole.latency()), (name_of_tail, &tail.latency())]));
    put_stalls(out, &measured.stalls, "");
    show_stalls(out, &measured.stalls, &of_whole);
}

/// `spare`: what a title says of space that was left unused, if any was. `tail_from`: where the tail begins, and whether it is the
/// steady state. `moments`: how many values a second has.
fn charts(
    form: &str,
    spare: &str,
    label: &str,
    iops: &[f64],
    (tail_from, is_steady): (u64, bool),
    moments: u64,
) -> Vec<Chart> {
    let length = iops.len() as f64 / moments as f64;
    let draw = |id: &str, title: &str, from: u64, y: Axis| {
        let x = Axis { min: Some(from as f64), max: Some(length), ..Axis::linear("time", "s") };
        let mut points = by_second(iops, (from * moments) as usize);
        points.iter_mut().for_each(|p| p[0] /= moments as f64);
        let caption = if moments == 1 { "One dot a second.".to_owned() } else { format!("{moments} dots a second.") };
        chart(id, title, &caption, Mark::Scatter, x, y, vec![series(label, points)])
    };
    let log = || Axis::log("IOPS", "IOPS");
    let whole = format!("IOPS over the whole run{spare}");
    let zoom = format!("{}, from {tail_from} s{spare}", if is_steady { "Steady state" } else { "Last part" });
    if form == "2013" {
        let top = max(&iops[(tail_from * moments) as usize..]).max(LINEAR_TOP_IOPS);
        let linear = Axis { min: Some(0.0), max: Some(top), ..Axis::linear("IOPS", "IOPS") };
        vec![
            draw("iops-whole-log", &whole, 0, log()),
            draw("iops-tail-log", &zoom, tail_from, log()),
            draw("iops-tail-linear", &format!("{zoom}, linear"), tail_from, linear),
        ]
    } else {
        let linear = || Axis { min: Some(0.0), ..Axis::linear("IOPS", "IOPS") };
        vec![draw("iops-whole-linear", &whole, 0, linear()), draw("iops-tail-linear", &zoom, tail_from, linear())]
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_device::FlashCounters;

    use super::*;

    #[test]
    fn the_two_definitions_of_25_percent_use_different_spans() {
        let info = DeviceInfo {
            capacity_bytes: 128_035_676_160,
            over_provisioning_percent: Some(7.344),
            ..DeviceInfo::new("drive", "ssd")
        };
        let used_bytes = |info: &DeviceInfo, definition: &str| used_bytes(info, definition).unwrap();
        assert_eq!(used_bytes(&info, "none"), 128_035_676_160);
        let raw = 128_035_676_160.0 * 1.07344;
        let used = used_bytes(&info, "raw-25");
        assert!((raw / used as f64 - 1.25).abs() < 1e-5 && used.is_multiple_of(FILL_BLOCK_BYTES));
        let used = used_bytes(&info, "lba-75");
        assert!((used as f64 / 128_035_676_160.0 - 0.75).abs() < 1e-5 && used.is_multiple_of(FILL_BLOCK_BYTES));
        // A drive with more spare than that keeps all its addresses.
        let spacious = DeviceInfo { over_provisioning_percent: Some(28.0), ..info };
        assert_eq!(used_bytes(&spacious, "raw-25"), 128_035_676_160 / FILL_BLOCK_BYTES * FILL_BLOCK_BYTES);
        let disk = DeviceInfo { over_provisioning_percent: None, ..spacious };
        assert!(matches!(super::used_bytes(&disk, "raw-25"), Err(BenchError::Unsuitable(_))));
    }

    #[test]
    fn a_tail_that_rises_or_jumps_is_not_steady() {
        let flat: Vec<f64> = (0..600).map(|i| if i % 7 == 0 { 300.0 } else { 5_700.0 }).collect();
        let unsteady = |tail: &[f64], requests| unsteady(tail, requests, 600).map(|n| (n.reason, n.sentence()));
        assert_eq!(unsteady(&flat, 1_000_000), None);
        let rising: Vec<f64> = (0..600).map(|i| 5_000.0 + f64::from(i)).collect();
        let (reason, sentence) = unsteady(&rising, 1_000_000).unwrap();
        assert_eq!(reason, Unsettled::Drifts);
        assert_eq!(
            sentence,
            "Not steady yet: of the last 600 s, the means of five equal parts lie between 5,060 and 5,540 IOPS: a trend of \
             +9.1 % where 5 % are allowed."
        );
        let falling: Vec<f64> = (0..600).map(|i| 60.0 - 0.05 * f64::from(i)).collect();
        assert!(
            unsteady(&falling, 1_000_000).unwrap().1.ends_with(
                "between 33.0 and 57.0 IOPS: up to 26.7 % off the mean where 10 % are allowed, and a trend of -53.3 % where 5 % \
                 are allowed."
            ),
            "{:?}",
            unsteady(&falling, 1_000_000)
        );
        assert_eq!(unsteady(&[1.0], 1_000_000).unwrap().0, Unsettled::TooFewSeconds);
        // Nine are no multiple of five, and the last of them count, too.
        let falls_late = [5_000.0, 5_000.0, 5_000.0, 5_000.0, 5_000.0, 2_500.0, 2_500.0, 2_500.0, 2_500.0];
        assert_eq!(unsteady(&falls_late, 1_000_000).unwrap().0, Unsettled::Drifts);
        // Parts of 70 requests are known to a quarter, parts of 500 to less than a tenth.
        let (reason, sentence) = unsteady(&rising, 350).unwrap();
        assert_eq!(reason, Unsettled::TooFewRequests);
        assert!(sentence.ends_with("350 requests are too few to tell."), "{sentence}");
        assert_eq!(unsteady(&rising, 2_500).unwrap().0, Unsettled::Drifts);
        assert_eq!(unsteady(&flat, 2_500), None);
        // However level.
        assert_eq!(unsteady(&flat, 350).unwrap().0, Unsettled::TooFewRequests);
        assert_eq!(unsteady(&vec![0.0; flat.len()], 0).unwrap().0, Unsettled::TooFewRequests);
    }

    #[test]
    fn writes_that_have_not_filled_the_spare_area_are_not_steady() {
        let written = |bytes: u64| {
            let flash = FlashCounters { host_program_bytes: bytes, ..FlashCounters::default() };
            Counters { flash: Some(flash), ..Counters::default() }
        };
        let still = still_spare(Some(9e9), written(2_000_000_000), 6, false).unwrap();
        assert_eq!(still.reason, Unsettled::SpareNotWritten);
        assert_eq!(still.why, "before the last 6 s 2 GB were programmed, and the spare area has 9 GB");
        let in_small = still_spare(Some(9e9), written(2_000_000_000), 6, true).unwrap();
        assert_eq!(in_small.why, "before the last 6 s less was programmed than the spare area has");
        assert_eq!(still_spare(Some(9e9), written(9_000_000_000), 6, false), None);
        // Disks have none.
        assert_eq!(still_spare(None, written(0), 6, false), None);
    }

    #[test]
    fn a_slow_drive_in_small_has_one_rate_a_second() {
        // Five requests a second, counted eight times a second: eight IOPS or none.
        let slow: Vec<f64> = (0..16).map(|i| if [0, 2, 3, 5, 6].contains(&(i % 8)) { 8.0 } else { 0.0 }).collect();
        assert_eq!(readable(slow.clone(), 8), (vec![5.0, 5.0], 1));
        let quick: Vec<f64> = slow.iter().map(|v| v * 20.0).collect();
        assert_eq!(readable(quick.clone(), 8), (quick, 8));
        assert_eq!(readable(slow.clone(), 1), (slow, 1));
    }

    #[test]
    fn every_figure_is_of_the_whole_run_or_of_its_last_part_but_for_the_fill_and_the_verdict() {
        use PartOfRun::{Last, Whole};
        for key in ["iops", "waf", "waf_gc", "power_mean", "held_for_heat", "stall_share", "zero_iops_seconds"] {
            assert_eq!(part_of_run(key), Some(Whole), "{key}");
        }
        for key in
            ["iops_mean_tail", "waf_tail", "latency_p99_9_tail", "iops_min", "iops_autocorrelation_max", "iops_period"]
        {
            assert_eq!(part_of_run(key), Some(Last), "{key}");
        }
        assert_eq!(["steady", "fill_bandwidth", "used_bytes"].map(part_of_run), [None; 3]);
    }

    #[test]
    fn the_most_common_level_is_one_that_occurs() {
        assert_eq!(common_level(&[5000.0, 5100.0, 5240.0, 100.0, 30_000.0], 250.0), 5100.0);
        assert_eq!(common_level(&[0.0, 0.0, 900.0, 900.0], 250.0), 0.0);
        assert_eq!(common_level(&[0.0], 250.0), 0.0);
        assert_eq!(common_level(&[148.0, 182.0, 165.0], 250.0), 165.0);
        assert_eq!(common_level(&[990.0, 992.0, 994.0, 2000.0], 1000.0), 992.0);
    }
}
