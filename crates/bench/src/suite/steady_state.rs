//! `steady-state`: random writes until the drive has settled, and the figures of the settled drive.
//!
//! In the manner of SNIA's Solid State Storage Performance Test Specification: the drive is filled, then written at
//! random round by round, until over a window of rounds nothing moves any more; the window is the measurement. Rounds
//! are shares of the flash rather than minutes, so that a fast drive is not judged before it has settled nor a slow
//! one kept waiting.

use ssdlab_core::Rng;
use ssdlab_device::{Counters, DeviceInfo};
use ssdlab_workload::fio::RandomDistribution;
use ssdlab_workload::{AgedFill, Distribution, Pattern};

use super::common::{FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, amount, build, fit_span, gigabytes, size, timed};
use super::context::Context;
use super::definition::{
    PLAIN, TestDef, Variant, WHOLE_SPAN, block, choice, depth, distribution, integer, metric, number,
};
use super::figures::{chart, mean, put, put_causes, put_counters, put_latencies, series};
use super::tail::tail_chart;
use crate::error::BenchError;
use crate::explain;
use crate::host::{Host, Job};
use crate::measure::Measurement;
use crate::outcome::{Axis, Chart, Mark, NotSteady, Outcome, Unsettled};

pub(super) const DEF: TestDef = TestDef {
    name: "steady-state",
    title: "Steady state of random writes",
    summary: "The drive is filled, then written at random, 4 KiB at QD32, in rounds, until IOPS and write amplification \
              of a window of rounds stay within a tolerance and show no trend; the figures are those of the window. After SNIA's PTS, \
              whose limits are wider: over five rounds, 20 % of the mean from the lowest to the highest, and a trend of 10 %.",
    params: &[
        block("block_size", "4096", "size of the random writes"),
        depth("queue_depth", "32", "requests in flight"),
        WHOLE_SPAN,
        distribution(
            "random_distribution",
            "random",
            "which addresses are written, as fio's option: random, each as likely; zipf:1.1 and pareto:0.2, some more popular than \
             others and scattered over the span; zoned:80/20:20/80, 80 % of the writes to the first 20 % of the span and \
             20 % to the other 80 %. PTS: random",
        ),
        choice(
            "fill",
            "sequential",
            &["sequential", "aged"],
            "how the drive is filled. sequential: twice the span, 128 KiB writes, as PTS does. aged: every block once in random \
             order, and between them copies that are stale by the end, as many bytes in all as the drive has flash: it then \
             looks as after long random writing, and settles at once. docs/sweeps.md lays the figures of both side by side",
        ),
        number(
            "round_share",
            "0.125",
            "of the flash",
            0.001,
            10.0,
            "length of a round: it ends when the drive has programmed this share of its flash, by the write amplification \
             of the round before. PTS: a minute",
        ),
        integer("window_rounds", "5", "rounds", 2, 100, "rounds of the window that must be steady. As in PTS"),
        number(
            "tolerance_percent",
            "10",
            "%",
            0.01,
            100.0,
            "in each round of the window IOPS and write amplification must be within this of the window's mean. PTS lets the highest \
             and the lowest be 20 % of the mean apart, wherever the mean lies between them",
        )
        .beside_method(),
        number(
            "trend_percent",
            "5",
            "%",
            0.01,
            100.0,
            "the line fitted through the rounds of the window must change by no more than this from end to end. PTS: 10 %",
        )
        .beside_method(),
        number(
            "settle_turnovers",
            "auto",
            "of the flash",
            0.0,
            1000.0,
            "the window begins no sooner than when random writes have made the drive program this much of its flash: before \
             that, blocks of the fill are still being collected, and quiet is no sign of having settled. auto: 2 after a \
             sequential fill, 1 after an aged one; 20 where some addresses are written more than others, since what is \
             rarely written settles last",
        )
        .beside_method(),
        integer(
            "max_rounds",
            "400",
            "rounds",
            2,
            1_000_000,
            "gives up there; the figures are then those of the last window",
        )
        .beside_method(),
    ],
    metrics: &[
        metric("steady", "ratio", "1 if the steady state was reached, 0 if not").higher(),
        metric("rounds", "count", "rounds written, the window included"),
        metric("drive_writes", "ratio", "bytes written at random over the span, the window included"),
        metric("iops_change", "%", "change of IOPS over the window, of the line fitted through its rounds"),
        metric("waf_change", "%", "change of write amplification over the window, likewise"),
    ],
    variants: &[
        Variant { name: "", settings: &[], in_review: false },
        Variant { name: "aged fill", settings: &[("fill", "aged")], in_review: false },
    ],
    weight: 20.0,
    ..PLAIN
};

/// Blocks of the aged fill, if requests are no larger: a few mapping units at once are cheaper to write one after the
/// other, and small beside what a drive collects.
const AGED_BLOCK_BYTES: u64 = 32 << 10;

/// Workload-independent preconditioning of PTS: so many times the span in sequence.
const SEQUENTIAL_PASSES: u32 = 2;

/// Where some addresses are written more than others: turnovers of the flash by default before the window.
const SKEWED_TURNOVERS: f64 = 20.0;

/// A state that settles with fewer drive writes than this is one of the spare blocks, not of the data: it is said.
const FEW_DRIVE_WRITES: f64 = 0.25;

/// Figures that are none of the window.
const OF_ALL_ROUNDS: [&str; 3] = ["steady", "rounds", "drive_writes"];

/// One round of random writes.
struct Round {
    measurement: Measurement,
    counters: Counters,
}

impl Round {
    fn iops(&self) -> f64 {
        self.measurement.iops()
    }

    /// 1 for a device that does not tell of it.
    fn waf(&self) -> f64 {
        self.counters.waf().filter(|w| *w > 0.0).unwrap_or(1.0)
    }

    fn host_bytes(&self) -> u64 {
        self.measurement.bytes()
    }
}

/// When a window of rounds counts as steady.
#[derive(Clone, Copy, Debug)]
pub(super) struct Criterion {
    pub window: usize,
    pub tolerance: f64,
    pub trend: f64,
}

/// Rounds of the window by default; `consistency` divides the last part of its run into as many.
const STEADY_PARTS: usize = 5;

/// How far the mean of each may be from that of all, as a share of it.
pub const STEADY_TOLERANCE: f64 = 0.1;

/// Means of the parts of a run that are judged as rounds are: as long as one another, as nearly as can be, and no value is in none.
/// Of fewer values than there are parts: the values.
#[must_use]
pub fn means_of_parts(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let parts = STEADY_PARTS.min(n);
    (0..parts).map(|i| mean(&values[i * n / parts..(i + 1) * n / parts])).collect()
}

impl Criterion {
    /// The defaults of this test, by which `consistency` judges as well.
    pub const DEFAULT: Criterion = Criterion { window: STEADY_PARTS, tolerance: STEADY_TOLERANCE, trend: 0.05 };

    pub fn is_met(&self, values: &[f64]) -> bool {
        self.is_within(values) && change(values).abs() <= self.trend
    }

    fn is_within(&self, values: &[f64]) -> bool {
        let m = mean(values);
        values.iter().all(|v| (v - m).abs() <= self.tolerance * m)
    }

    /// What of it the values do not meet, in words and with the figures; empty if they meet it.
    pub fn broken(&self, values: &[f64]) -> String {
        let m = mean(values);
        let allowed = |share: f64| format!("where {} % are allowed", 100.0 * share);
        let mut clauses = Vec::new();
        if !self.is_within(values) {
            let furthest = values.iter().map(|v| (v - m).abs()).fold(0.0, f64::max) / m;
            clauses.push(format!("up to {:.1} % off the mean {}", 100.0 * furthest, allowed(self.tolerance)));
        }
        let change = change(values);
        if change.abs() > self.trend {
            clauses.push(format!("a trend of {:+.1} % {}", 100.0 * change, allowed(self.trend)));
        }
        clauses.join(", and ")
    }
}

/// Change of the least-squares line through evenly spaced values from the first to the last, as a share of their mean.
fn change(values: &[f64]) -> f64 {
    let (n, m) = (values.len() as f64, mean(values));
    let middle = (n - 1.0) / 2.0;
    let covariance: f64 = values.iter().enumerate().map(|(i, v)| (i as f64 - middle) * (v - m)).sum();
    let variance: f64 = (0..values.len()).map(|i| (i as f64 - middle) * (i as f64 - middle)).sum();
    if m == 0.0 { 0.0 } else { covariance / variance * (n - 1.0) / m }
}

/// Flash that can hold data, as far as the device says.
pub(super) fn flash_bytes(info: &DeviceInfo) -> f64 {
    info.capacity_bytes as f64 * (1.0 + info.over_provisioning_percent.unwrap_or(0.0).max(0.0) / 100.0)
}

/// Why what a set in small comes to is no steady state of the whole one. A member that collects holds the others up while the host's
/// whole queue waits for it. In small it collects for a shorter time, and the queue is as long.
pub(super) fn left_to_full_run(info: &DeviceInfo, is_small: bool) -> Option<NotSteady> {
    (is_small && info.kind == "array").then(|| {
        let why =
            "on an eighth of the drives, members of a set hold one another up for a shorter time than at full size";
        NotSteady::new(Unsettled::LeftToFullRun, why.to_owned())
    })
}

/// What was asked for.
struct Asked {
    block: u64,
    depth: u32,
    /// 0: all of the device.
    span: u64,
    is_aged: bool,
    addresses: RandomDistribution,
    /// As it was written, after a comma; empty where all addresses are as likely.
    unlike: String,
    /// A round, as a share of the flash.
    round_share: f64,
    /// How often random writes must have programmed the flash before the window.
    settle: f64,
    window: usize,
    tolerance_percent: f64,
    trend_percent: f64,
    max_rounds: usize,
}

impl Asked {
    fn of(ctx: &mut Context<'_>) -> Result<Self, BenchError> {
        let is_aged = ctx.params.choice("fill") == "aged";
        let addresses = ctx.params.distribution("random_distribution");
        let unlike = match addresses {
            RandomDistribution::Random => String::new(),
            _ => format!(", {}", ctx.params.choice("random_distribution")),
        };
        let settle = match (&addresses, is_aged) {
            (RandomDistribution::Random, true) => 1.0,
            (RandomDistribution::Random, false) => 2.0,
            _ => SKEWED_TURNOVERS,
        };
        let settle = ctx.params.decide_number("settle_turnovers", settle);
        let window = ctx.params.integer("window_rounds") as usize;
        let max_rounds = ctx.params.integer("max_rounds") as usize;
        if max_rounds < window {
            let limit = format!("the window alone has {window} rounds");
            return Err(ctx.params.value_error("max_rounds", &max_rounds.to_string(), &limit).into());
        }
        Ok(Asked {
            block: ctx.params.integer("block_size"),
            depth: ctx.params.depth("queue_depth"),
            span: ctx.params.integer("span_bytes"),
            is_aged,
            addresses,
            unlike,
            round_share: ctx.params.number("round_share"),
            settle,
            window,
            tolerance_percent: ctx.params.number("tolerance_percent"),
            trend_percent: ctx.params.number("trend_percent"),
            max_rounds,
        })
    }

    fn criterion(&self) -> Criterion {
        let (tolerance, trend) = (self.tolerance_percent / 100.0, self.trend_percent / 100.0);
        Criterion { window: self.window, tolerance, trend }
    }

    fn variant(&self) -> &'static str {
        if self.is_aged { "aged fill" } else { "" }
    }

    fn label(&self) -> String {
        format!("{} random write{}, QD{}", size(self.block), self.unlike, self.depth)
    }

    /// `told`: whether the device tells of its write amplification.
    fn method(&self, span: u64, told: bool) -> String {
        let how = if self.is_aged {
            "filled in random order with stale copies between, as many bytes as it has flash"
        } else {
            "filled twice in sequence with 128 KiB writes"
        };
        format!(
            "{} of the drive were {how}, then written at random{}, {} at QD{}, in rounds of {} of {}, until {} of {} rounds lay within {} % of their mean without a trend of more than {} %. The figures \
             are those of these rounds.",
            amount(span),
            self.unlike,
            size(self.block),
            self.depth,
            self.round_share,
            if told { "the flash" } else { "its capacity" },
            if told { "IOPS and write amplification" } else { "IOPS" },
            self.window,
            self.tolerance_percent,
            self.trend_percent,
        )
    }
}

/// The rounds of a run, and whether it ended because the last of them are a steady state.
struct Measured {
    rounds: Vec<Round>,
    is_steady: bool,
    /// See [`left_to_full_run`].
    left: Option<NotSteady>,
    window: usize,
    span: u64,
    /// Flash that can hold data, and what random writes had made the drive program before the window.
    flash: f64,
    before_window: f64,
}

impl Measured {
    fn window(&self) -> &[Round] {
        &self.rounds[self.rounds.len() - self.window..]
    }

    fn of_window(&self, value: fn(&Round) -> f64) -> Vec<f64> {
        self.window().iter().map(value).collect()
    }

    fn written(&self) -> u64 {
        self.rounds.iter().map(Round::host_bytes).sum()
    }

    fn drive_writes(&self) -> f64 {
        self.written() as f64 / self.span as f64
    }

    /// Why the window is no steady state, if it is none.
    fn not_steady(&self, asked: &Asked) -> Option<NotSteady> {
        if self.left.is_some() || self.is_steady {
            return self.left.clone();
        }
        let last = format!(
            "the figures are those of the last {} of {} rounds, in which {} GB were written",
            self.window,
            self.rounds.len(),
            gigabytes(self.written())
        );
        let turnovers = self.before_window / self.flash;
        Some(if turnovers < asked.settle {
            let why = format!(
                "{last}; the drive had programmed its flash {turnovers:.2} times before them, and {} are asked for",
                asked.settle
            );
            NotSteady::new(Unsettled::TooFewTurnovers, why)
        } else {
            let figures = [("IOPS", Round::iops as fn(&Round) -> f64), ("write amplification", Round::waf)];
            let broken = figures.map(|(what, of)| (what, asked.criterion().broken(&self.of_window(of))));
            let broken = broken.iter().filter(|(_, broken)| !broken.is_empty());
            let told: String = broken.map(|(what, broken)| format!("; {what}: {broken}")).collect();
            NotSteady::new(Unsettled::Drifts, format!("{last}{told}"))
        })
    }
}

fn measure(ctx: &mut Context<'_>, asked: &Asked, notes: &mut Vec<String>) -> Result<Measured, BenchError> {
    let (window, criterion) = (asked.window, asked.criterion());
    ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        let span = fit_span(if asked.span == 0 { capacity } else { asked.span }, capacity, asked.block, notes)?;
        ctx.monitor().step(0.0, progress_at(0));
        prepare(host, asked, span, &ctx.rng("fill"))?;
        ctx.settle(host)?;
        let addresses = asked.addresses.to_pattern(Distribution::Uniform);
        let mut source = build(ctx, &Pattern::random_write(span, asked.block).distribution(addresses), "writes")?;
        let flash = flash_bytes(host.info());
        let round_bytes = flash * asked.round_share;
        let left = left_to_full_run(host.info(), ctx.is_small());
        let mut measured =
            Measured { rounds: Vec::new(), is_steady: false, left, window, span, flash, before_window: 0.0 };
        while !measured.is_steady && measured.rounds.len() < asked.max_rounds {
            let done = measured.rounds.len();
            ctx.monitor().step(progress_at(done), progress_at(done + 1));
            let waf = measured.rounds.last().map_or(1.0, Round::waf);
            let requests = ((round_bytes / waf) as u64 / asked.block).max(1);
            let mut job = ctx.job(&mut source, asked.depth).for_requests(requests);
            let done = timed(host, &mut job)?;
            measured.rounds.push(Round { measurement: done.measurement, counters: done.counters });
            let Some(left) = measured.rounds.len().checked_sub(window) else { continue };
            if let Some(gone) = left.checked_sub(1).map(|k| &measured.rounds[k]) {
                measured.before_window += gone.waf() * gone.host_bytes() as f64;
            }
            measured.is_steady = measured.before_window >= asked.settle * flash
                && criterion.is_met(&measured.of_window(Round::iops))
                && criterion.is_met(&measured.of_window(Round::waf));
        }
        Ok(measured)
    })
}

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let asked = Asked::of(ctx)?;
    let mut notes = Vec::new();
    let measured = measure(ctx, &asked, &mut notes)?;
    ctx.monitor().step(1.0, 1.0);
    if !ctx.monitor().go_on(1.0) {
        return Err(crate::error::HostError::Cancelled.into());
    }
    let mut measurement = Measurement::default();
    let mut counters = Counters::default();
    for round in measured.window() {
        measurement.merge(&round.measurement);
        counters = counters.plus(&round.counters);
    }
    let tells_waf = counters.waf().is_some();
    let mut out = ctx.outcome(asked.variant(), asked.method(measured.span, tells_waf));
    out.notes = notes;
    out.not_steady.extend(measured.not_steady(&asked));
    out.notes.extend(out.not_steady.iter().map(NotSteady::sentence));
    let drive_writes = measured.drive_writes();
    if drive_writes < FEW_DRIVE_WRITES {
        let why = counters.waf().map_or_else(String::new, |waf| {
            format!(
                ": rounds are counted in what the drive programs, and this one programs {waf:.0} bytes for each that is written"
            )
        });
        let percent = 100.0 * drive_writes;
        out.notes.push(format!("Only {percent:.1} % of these addresses' bytes were written at random{why}."));
    }
    put(&mut out, "iops", measurement.iops(), "IOPS");
    put(&mut out, "bandwidth", measurement.mb_per_s(), "MB/s");
    put_latencies(&mut out, &measurement.latency(), "");
    put_counters(&mut out, &counters, measurement.elapsed());
    let is_steady = out.has_settled();
    put(&mut out, "steady", if is_steady { 1.0 } else { 0.0 }, "ratio");
    put(&mut out, "rounds", measured.rounds.len() as f64, "count");
    put(&mut out, "drive_writes", drive_writes, "ratio");
    put(&mut out, "iops_change", change(&measured.of_window(Round::iops)) * 100.0, "%");
    if tells_waf {
        put(&mut out, "waf_change", change(&measured.of_window(Round::waf)) * 100.0, "%");
    }
    if measured.left.is_some() {
        out.metrics.retain(|key, _| OF_ALL_ROUNDS.contains(&key.as_str()));
    }
    let label = asked.label();
    put_causes(&mut out, &label, &measurement);
    out.tables.extend(explain::tail_tables(&label, &measurement));
    out.charts = charts(&measured.rounds, measured.span, tells_waf);
    out.charts.push(tail_chart(&[(&label, &measurement.latency())]));
    Ok(out)
}

/// Nobody knows how many rounds it takes: each takes a part of what is left of the bar.
fn progress_at(round: usize) -> f64 {
    1.0 - 0.75 * libm::pow(0.93, round as f64)
}

fn prepare(host: &mut Host<'_>, asked: &Asked, span_bytes: u64, rng: &Rng) -> Result<(), BenchError> {
    if asked.is_aged {
        let flash = flash_bytes(host.info()) as u64;
        let source = AgedFill::new(span_bytes, asked.block.max(AGED_BLOCK_BYTES), flash, rng);
        let mut job = [Job::new(source, FILL_QUEUE_DEPTH).for_bytes(flash)];
        host.run(&mut job, &mut ())?;
    } else {
        for _ in 0..SEQUENTIAL_PASSES {
            host.fill(0, span_bytes, FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, &mut ())?;
        }
    }
    Ok(())
}

/// IOPS of every round, and write amplification if the device tells of it, over what had been written by its end.
fn charts(rounds: &[Round], span: u64, tells_waf: bool) -> Vec<Chart> {
    let draw = |id: &str, title: &str, y: Axis, f: fn(&Round) -> f64| {
        let mut written = 0;
        let points = rounds.iter().map(|r| {
            written += r.host_bytes();
            [written as f64 / span as f64, f(r)]
        });
        let points = points.collect();
        let x = Axis { min: Some(0.0), ..Axis::linear("drive writes", "") };
        chart(id, title, "One point a round.", Mark::Line, x, y, vec![series("", points)])
    };
    let iops = Axis::linear("IOPS", "IOPS");
    let mut charts = vec![draw("iops-by-round", "IOPS on the way to the steady state", iops, Round::iops)];
    if tells_waf {
        let waf = Axis::linear("write amplification", "ratio");
        charts.push(draw("waf-by-round", "Write amplification on the way", waf, Round::waf));
    }
    charts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_stand_once() {
        let default = |key: &str| DEF.params.iter().find(|p| p.key == key).expect("it is one").default;
        let Criterion { window, tolerance, trend } = Criterion::DEFAULT;
        assert_eq!(default("window_rounds"), window.to_string());
        assert_eq!(default("tolerance_percent"), (100.0 * tolerance).to_string());
        assert_eq!(default("trend_percent"), (100.0 * trend).to_string());
    }

    #[test]
    fn a_trend_and_an_outlier_are_both_unsteady() {
        let criterion = Criterion { window: 5, tolerance: 0.03, trend: 0.03 };
        assert!(criterion.is_met(&[100.0, 101.0, 99.0, 100.5, 99.5]));
        assert!(!criterion.is_met(&[100.0, 100.0, 104.0, 100.0, 100.0]), "an outlier");
        assert!(!criterion.is_met(&[98.0, 99.0, 100.0, 101.0, 102.0]), "a trend within the band");
        assert!(criterion.is_met(&[0.0; 5]), "a dead drive does not move");
    }

    #[test]
    fn the_band_is_closer_than_that_of_pts() {
        let rounds = [100.0, 119.0, 100.0, 100.0, 100.0];
        let range = (119.0 - 100.0) / mean(&rounds);
        assert!(range <= 0.2 && change(&rounds).abs() <= 0.1, "steady by PTS: {range}, {}", change(&rounds));
        assert!(!Criterion { trend: 0.1, ..Criterion::DEFAULT }.is_met(&rounds));
        assert!(Criterion { trend: 0.1, ..Criterion::DEFAULT }.is_met(&[91.0, 109.0, 100.0, 109.0, 91.0]));
    }

    #[test]
    fn parts_are_as_equal_as_can_be_and_leave_nothing_out() {
        let of = |n: u32| means_of_parts(&(0..n).map(f64::from).collect::<Vec<_>>());
        assert_eq!(of(10), [0.5, 2.5, 4.5, 6.5, 8.5]);
        assert_eq!(of(9), [0.0, 1.5, 3.5, 5.5, 7.5]);
        assert_eq!(of(3), [0.0, 1.0, 2.0]);
        assert!(of(0).is_empty());
    }

    #[test]
    fn the_change_of_a_straight_line_is_its_rise_over_its_mean() {
        assert!((change(&[90.0, 100.0, 110.0]) - 0.2).abs() < 1e-12);
        assert!((change(&[8.0, 6.0, 4.0, 2.0]) + 1.2).abs() < 1e-12);
    }
}
