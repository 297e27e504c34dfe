//! The three Storage Bench tests share this: a stand-in of the trace is played on an empty drive, a full one, or both.

use std::collections::BTreeMap;

use ssdlab_core::{MILLISECOND, Nanos, nanos_from_ms};
use ssdlab_device::Counters;
use ssdlab_workload::storage_bench::{Joint, Plan, Statistics, Trace};

use super::common::{Erased, erase, fill_range, gigabytes};
use super::context::Context;
use super::definition::{INTERVAL_ENDS, MetricDef, bytes, choice, metric, number};
use super::figures::series;
use super::figures::{by_category, categories, chart, put, put_causes, put_counters_as, put_latencies, put_percentile};
use super::storage_bench_statistics::{put_statistics, statistics_table};
use super::tail::tail_chart;
use crate::error::BenchError;
use crate::explain;
use crate::host::Playback;
use crate::measure::{Measurement, Over, ServiceCurve};
use crate::outcome::{Axis, Chart, Mark, Outcome};
use crate::params::{Kind, ParamDef};

/// The limits of the publication of 2015.
const SLOW: [Nanos; 2] = [10 * MILLISECOND, 100 * MILLISECOND];
/// What a trace may use of a drive that is smaller than the recording's.
const USABLE_PERCENT: u64 = 90;
/// Share of the progress bar that filling the drive gets.
const FILL_SHARE: f64 = 0.1;

pub(super) const LEADS: &[&str] = &["bandwidth", "latency_mean", "share_over_10ms"];

pub(super) const METRICS: &[MetricDef] = &[
    metric(
        "bandwidth",
        "MB/s",
        "average data rate: bytes moved over the time in which something was in flight; here as below, {state} is `empty`, `used` or \
         `full`: that drive's, where it was run beside another; or `small_deep`, \
         `large_deep` or `idle_kept`: those of other choices that fit what was published (`joint=interval`)",
    )
    .likewise(&["bandwidth_{state}"]),
    metric("iops", "IOPS", "requests over the time in which something was in flight").likewise(&["iops_{state}"]),
    metric("latency_mean", "us", "average service time, from sending to completion, waiting in the queue included")
        .likewise(&["latency_{of}_{state}"]),
    metric("latency_mean_{op}", "us", "the same for reads and for writes").likewise(&["latency_p99_{op}"]),
    metric("share_over_10ms", "%", "requests that took longer than 10 ms, of all requests").lower()
        .likewise(&["share_over_10ms_{state}"]),
    metric("share_over_100ms", "%", "requests that took longer than 100 ms, of all requests").lower()
        .likewise(&["share_over_100ms_{state}"]),
    metric("busy_seconds", "s", "time in which something was in flight").likewise(&["busy_seconds_{state}"]),
    metric("idle_seconds", "s", "pauses of the trace").likewise(&["idle_seconds_{state}"]),
    metric("depth_mean", "count", "mean depth of the queue that requests met in playback, themselves included")
        .likewise(&["depth_mean_{state}"]),
    metric("power_mean", "W", "here: over the whole playback, pauses included").likewise(&["power_mean_{state}"]),
    metric("energy", "J", "here: over the whole playback").likewise(&["energy_{state}"]),
    metric("waf", "ratio", "here: over the whole playback").lower().likewise(&["waf_{state}", "waf_{part}_{state}"]),
    metric("held_for_heat", "%", "for what share of the playback commands were held back by a hot drive, where its heat is simulated")
        .lower()
        .likewise(&["held_for_heat_{state}"]),
    metric(
        "unmapped_read_share",
        "%",
        "bytes read from addresses that nothing had been written to; answered without flash. Only of drives that count it",
    )
    .likewise(&["unmapped_read_share_{state}"]),
    metric("footprint", "GB", "addresses that the trace was played over"),
    metric("trace_reads", "count", "read requests of the stand-in as it was played").likewise(&["trace_writes"]),
    metric("trace_read_gb", "GB", "decimal gigabytes read").likewise(&["trace_written_gb"]),
    metric("trace_sequential", "%", "requests that begin where the last one of the same operation ended"),
    metric("trace_depth_mean", "count", "mean depth that the stand-in asks for"),
];

/// The length of the trace: `published` requests, or fewer in the same proportions.
pub(super) const fn requests(published: &'static str) -> ParamDef {
    ParamDef {
        key: "requests",
        default: published,
        unit: "",
        doc: "length of the trace. The default is the published number; a shorter trace keeps the proportions, and its \
              addresses shrink with it",
        kind: Kind::Integer { min: 1_000, max: 1_000_000_000 },
        quick_divisor: 100,
        of_method: true,
    }
}

pub(super) const STATE: ParamDef = choice(
    "state",
    "by-form",
    &["by-form", "empty", "used", "full", "both", "every"],
    "the drive before the trace: secure erased (empty), with the addresses of the trace written in sequence after that \
     (used), or all of the drive (full); both: empty and full; every: all three. By form: Heavy and Light on an empty \
     drive, in 2015 also on a full one, as published; The Destroyer on a used one, since it reads nearly twice what it \
     writes, and what is read was written before",
);

pub(super) const JOINT: ParamDef = choice(
    "joint",
    "independent",
    &["independent", "small-deep", "large-deep", "interval"],
    "how the sizes of requests go with the depth of the queue, which was not published: not at all, deep queues rather of \
     small requests, or of large ones. interval: all three are played, and the first once more with its pauses as they were \
     drawn, up to a second; figures get ends",
);

pub(super) const IDLE_CAP: ParamDef = number(
    "idle_cap_ms",
    "25",
    "ms",
    0.0,
    1e6,
    "longer pauses of the trace are cut to this. 25 ms is stated for the suite from 2017 on; nothing states it for the \
     years before",
);

pub(super) const FOOTPRINT: ParamDef = bytes(
    "footprint_bytes",
    "0",
    0,
    1 << 60,
    "the trace stays within the first so many bytes of the drive. 0: the trace's own range, but nine tenths of the \
     drive at most. Not published: how the original treated drives smaller than its recording",
);

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Empty,
    Used,
    Full,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Empty => "empty",
            State::Used => "used",
            State::Full => "full",
        }
    }

    fn name(self) -> &'static str {
        match self {
            State::Empty => "empty drive",
            State::Used => "used drive",
            State::Full => "full drive",
        }
    }
}

/// In which state an era ran a trace, and what is taken where nobody said.
fn states_of(form: &str, trace: Trace) -> &'static [State] {
    match (trace, form) {
        (Trace::Destroyer, _) => &[State::Used],
        (Trace::Heavy | Trace::Light, "2015") => &[State::Empty, State::Full],
        (Trace::Heavy | Trace::Light, _) => &[State::Empty],
    }
}

/// A playback on one drive.
struct Played {
    state: State,
    erased: Erased,
    playback: Playback,
    measurement: Measurement,
    slow: [f64; 2],
    curve: Vec<[f64; 2]>,
    counters: Counters,
    statistics: Statistics,
    footprint_bytes: u64,
    /// Read for the host's requests and nothing else: what members of a set or an adapter read is no share of them.
    reads_as_asked: bool,
    /// What the drive could not do.
    said: Vec<String>,
}

impl Played {
    /// What was read from addresses that held nothing, of all that was read; `None` where that is not known.
    fn unmapped_percent(&self) -> Option<f64> {
        let unmapped = self.counters.flash?.unmapped_read_bytes as f64;
        let bytes = self.counters.host.read_bytes as f64;
        self.reads_as_asked.then(|| if bytes > 0.0 { 100.0 * unmapped / bytes } else { 0.0 })
    }
}

/// What was not published of a trace, one way.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Choice {
    joint: Joint,
    /// Its pauses as they were drawn; otherwise cut as asked for.
    idle_kept: bool,
}

impl Choice {
    const fn cut(joint: Joint) -> Self {
        Choice { joint, idle_kept: false }
    }

    /// As [`Choice::PLAIN`] first.
    const INTERVAL: [Choice; 4] = [
        Choice::PLAIN,
        Choice::cut(Joint::SmallDeep),
        Choice::cut(Joint::LargeDeep),
        Choice { joint: Joint::Independent, idle_kept: true },
    ];
    const PLAIN: Choice = Choice::cut(Joint::Independent);

    /// What the names of its figures end in, where it was played beside others.
    fn suffix(self) -> &'static str {
        let at = Self::INTERVAL.iter().position(|c| *c == self).unwrap_or_default();
        at.checked_sub(1).map_or("", |at| INTERVAL_ENDS[at].0)
    }
}

/// Reads `form`, `state`, `joint`, `requests`, `footprint_bytes` and `idle_cap_ms` from the parameters.
pub(super) fn run_storage_bench(ctx: &mut Context<'_>, trace: Trace) -> Result<Outcome, BenchError> {
    let form = ctx.params.choice("form").to_owned();
    let states: &[State] = match ctx.params.choice("state") {
        "empty" => &[State::Empty],
        "used" => &[State::Used],
        "full" => &[State::Full],
        "both" => &[State::Empty, State::Full],
        // The state of the form first: its figures have the plain names.
        "every" if trace == Trace::Destroyer => &[State::Used, State::Empty, State::Full],
        "every" => &[State::Empty, State::Used, State::Full],
        _ => states_of(&form, trace),
    };
    let choices: &[Choice] = match ctx.params.choice("joint") {
        "small-deep" => &[Choice::cut(Joint::SmallDeep)],
        "large-deep" => &[Choice::cut(Joint::LargeDeep)],
        "interval" => &Choice::INTERVAL,
        _ => &[Choice::PLAIN],
    };
    let mut runs = Vec::new();
    let mut ends = Vec::new();
    let plays = (states.len() * choices.len()) as f64;
    for (i, (&choice, &state)) in choices.iter().flat_map(|choice| states.iter().map(move |s| (choice, s))).enumerate()
    {
        let part = |share: f64| (i as f64 + share) / plays;
        let run = play(ctx, trace, state, choice, part)?;
        if choice == choices[0] { runs.push(run) } else { ends.push((choice, run)) }
    }
    let which = if states.len() == 1 { states[0].name() } else { "" };
    let mut out = ctx.outcome(&variant(&form, which), method(ctx, trace, &runs));
    let first = &runs[0];
    let state = match states.len() {
        1 => first.state.word(),
        2 => "both",
        _ => "every",
    };
    out.params.insert("state".to_owned(), state.into());
    for run in &runs {
        put_run(&mut out, run, &suffix(run.state, first.state));
    }
    if runs.len() > 1 {
        out.slowest.iter_mut().for_each(|io| io.run = Some(first.state.name().to_owned()));
    }
    put_intervals(&mut out, &ends, first.state);
    put(&mut out, "footprint", first.footprint_bytes as f64 / 1e9, "GB");
    put_statistics(&mut out, &first.statistics);
    put_charts(&mut out, trace, &form, &runs);
    out.tables.push(statistics_table(trace, &first.statistics, &first.playback));
    out.tables.extend(runs.iter().flat_map(|run| explain::tail_tables(run.state.name(), &run.measurement)));
    out.notes.extend(notes(trace, &runs, out.writes_short_by().is_none()));
    out.notes.extend(interval_note(&out));
    Ok(out)
}

/// What the names of a drive's figures end in: nothing on the first drive.
fn suffix(state: State, first: State) -> String {
    if state == first { String::new() } else { format!("_{}", state.word()) }
}

/// The figures of playbacks with other choices, under names of their own.
fn put_intervals(out: &mut Outcome, ends: &[(Choice, Played)], first: State) {
    for (choice, run) in ends {
        let mut other = Outcome { metrics: BTreeMap::new(), ..out.clone() };
        put_run(&mut other, run, &suffix(run.state, first));
        for (key, metric) in other.metrics {
            put(out, &format!("{key}{}", choice.suffix()), metric.value, &metric.unit);
        }
    }
}

/// Of a trace that was played in several ways: what they come to.
fn interval_note(out: &Outcome) -> Option<String> {
    let rate = |end: &str| out.metrics.get(&format!("bandwidth{end}")).map(|m| m.value);
    let rates: Vec<f64> = INTERVAL_ENDS.iter().filter_map(|(end, _)| rate(end)).chain(rate("")).collect();
    let [least, most] = [rates.iter().copied().reduce(f64::min)?, rates.iter().copied().reduce(f64::max)?];
    (rates.len() > INTERVAL_ENDS.len()).then(|| {
        format!(
            "Played in four ways that all fit what was published, {least:.0} to {most:.0} MB/s: sizes regardless of depths, deep \
             queues rather of small (_small_deep) or of large requests (_large_deep), and the first with its pauses kept, up to \
             a second (_idle_kept)."
        )
    })
}

fn variant(form: &str, state: &str) -> String {
    if state.is_empty() { form.to_owned() } else { format!("{form}, {state}") }
}

/// One drive, prepared and played on.
fn play(
    ctx: &Context<'_>,
    trace: Trace,
    state: State,
    choice: Choice,
    part: impl Fn(f64) -> f64,
) -> Result<Played, BenchError> {
    let requests = ctx.params.integer("requests");
    let idle_cap = if choice.idle_kept { Nanos::MAX } else { nanos_from_ms(ctx.params.number("idle_cap_ms")) };
    ctx.on_fresh_drive(|host| {
        let monitor = ctx.monitor();
        let footprint_bytes =
            footprint(trace, requests, ctx.params.integer("footprint_bytes"), host.info().capacity_bytes)?;
        let plan = Plan::new(trace, requests, footprint_bytes).map_err(|e| BenchError::Unsuitable(e.to_string()))?;
        let plan = plan.with_joint(choice.joint);
        let mut said = Vec::new();
        let erased = erase(ctx, host, &mut said)?;
        if state != State::Empty {
            monitor.step(part(0.0), part(FILL_SHARE));
            let capacity = host.info().capacity_bytes;
            fill_range(host, if state == State::Full { capacity } else { plan.footprint_bytes() })?;
            ctx.settle(host)?;
            monitor.step(part(FILL_SHARE), part(1.0));
        } else {
            monitor.step(part(0.0), part(1.0));
        }
        let before = host.counters();
        let mut meters = ((Measurement::default(), Over::new(SLOW)), ServiceCurve::new(requests));
        let mut statistics = Statistics::default();
        let stream = plan.stream(idle_cap, &ctx.rng("trace")).inspect(|step| statistics.record(step));
        let playback = host.play(stream, requests, &mut meters)?;
        let counters = host.counters().since(&before);
        let ((measurement, over), service_curve) = meters;
        measurement.check_causes().map_err(BenchError::Books)?;
        let slow = over.percent();
        let footprint_bytes = plan.footprint_bytes();
        Ok(Played {
            state,
            erased,
            playback,
            measurement,
            slow,
            curve: service_curve.points(),
            counters,
            statistics,
            footprint_bytes,
            reads_as_asked: host.info().kind != "array",
            said,
        })
    })
}

/// The addresses to play over.
fn footprint(trace: Trace, requests: u64, asked_bytes: u64, capacity_bytes: u64) -> Result<u64, BenchError> {
    if asked_bytes > capacity_bytes {
        return Err(BenchError::Unsuitable(format!(
            "a trace over {} GB does not fit a drive of {} GB",
            gigabytes(asked_bytes),
            gigabytes(capacity_bytes)
        )));
    }
    if asked_bytes > 0 {
        return Ok(asked_bytes);
    }
    let whole = u128::from(trace.estimate().footprint_bytes) * u128::from(requests);
    let own = whole / u128::from(trace.published().requests());
    let usable = capacity_bytes / 100 * USABLE_PERCENT;
    Ok(u64::try_from(own).unwrap_or(u64::MAX).max(64 << 20).min(usable))
}

fn put_run(out: &mut Outcome, run: &Played, suffix: &str) {
    let (m, p) = (&run.measurement, &run.playback);
    let busy_s = p.busy as f64 / 1e9;
    let mut figure = |key: &str, value: f64, unit: &str| put(out, &format!("{key}{suffix}"), value, unit);
    let over_time = |amount: f64| if busy_s > 0.0 { amount / busy_s } else { 0.0 };
    figure("bandwidth", over_time(m.bytes() as f64 / 1e6), "MB/s");
    figure("iops", over_time(m.requests() as f64), "IOPS");
    figure("share_over_10ms", run.slow[0], "%");
    figure("share_over_100ms", run.slow[1], "%");
    figure("busy_seconds", busy_s, "s");
    figure("idle_seconds", p.idle as f64 / 1e9, "s");
    figure("depth_mean", p.depth_sum as f64 / p.run.requests.max(1) as f64, "count");
    if let Some(percent) = run.unmapped_percent() {
        figure("unmapped_read_share", percent, "%");
    }
    put_latencies(out, &m.latency(), suffix);
    for (op, stats) in m.ops() {
        let of_op = format!("_{}{suffix}", op.name());
        put(out, &format!("latency_mean{of_op}"), stats.latency.mean() / 1e3, "us");
        put_percentile(out, &format!("latency_p99{of_op}"), &stats.latency, 99.0);
    }
    put_counters_as(out, &run.counters, m.elapsed(), suffix);
    // The slowest requests are those of the drive that the plain names are of.
    if suffix.is_empty() {
        put_causes(out, run.state.name(), m);
    } else {
        out.time_shares.extend(explain::time_shares(run.state.name(), m));
    }
}

/// What the reviews of that year printed.
fn put_charts(out: &mut Outcome, trace: Trace, form: &str, runs: &[Played]) {
    let states = || runs.iter().map(|r| r.state.name().to_owned()).collect::<Vec<_>>();
    let metric_of = |key: &str, run: &Played, metrics: &Outcome| {
        let suffix = suffix(run.state, runs[0].state);
        metrics.metrics.get(&format!("{key}{suffix}")).map(|m| m.value)
    };
    let bars = |id: &str, title: &str, caption: &str, key: &str, axis: Axis, out: &Outcome| -> Option<Chart> {
        let values: Option<Vec<f64>> = runs.iter().map(|r| metric_of(key, r, out)).collect();
        let axis = Axis { min: Some(0.0), ..axis };
        let x = categories("", "", states());
        values.map(|v| chart(id, title, caption, Mark::Bars, x, axis, vec![series("", by_category(&v))]))
    };
    let mut charts = Vec::new();
    let title = out.title.clone();
    charts.extend(bars(
        "data-rate",
        &format!("{title}: average data rate"),
        "Bytes moved over the time in which something was in flight. Higher is better.",
        "bandwidth",
        Axis::linear("data rate", "MB/s"),
        out,
    ));
    if form == "2015" || trace == Trace::Destroyer {
        charts.extend(bars(
            "service-time",
            &format!("{title}: average service time"),
            "From sending to completion, waiting in the queue included. Lower is better.",
            "latency_mean",
            Axis::linear("service time", "us"),
            out,
        ));
    }
    if form == "2015" {
        let limits = vec!["over 10 ms".to_owned(), "over 100 ms".to_owned()];
        charts.push(chart(
            "slow-requests",
            &format!("{title}: slow requests"),
            "Share of all requests that took longer. Lower is better.",
            Mark::Bars,
            categories("", "", limits),
            Axis { min: Some(0.0), ..Axis::linear("share of requests", "%") },
            runs.iter().map(|r| series(r.state.name(), by_category(&r.slow))).collect(),
        ));
        charts.extend(bars(
            "power",
            &format!("{title}: average power"),
            "Energy over the whole playback, pauses included. Lower is better.",
            "power_mean",
            Axis::linear("power", "W"),
            out,
        ));
    }
    charts.push(chart(
        "service-time-through-trace",
        &format!("{title}: service time from beginning to end"),
        "Mean of each hundredth of the trace, and of what is left behind the last. A rise shows where the drive runs out of clean flash or cache.",
        Mark::Line,
        Axis { min: Some(0.0), max: Some(100.0), ..Axis::linear("requests played", "%") },
        Axis::log("mean service time", "us"),
        runs.iter().map(|r| series(r.state.name(), r.curve.clone())).collect(),
    ));
    charts.push(chart(
        "waiting-through-trace",
        &format!("{title}: time waited, from beginning to end"),
        "Service times of all requests so far, added up: where a curve is steep, the drive is slow.",
        Mark::Line,
        Axis { min: Some(0.0), max: Some(100.0), ..Axis::linear("requests played", "%") },
        Axis { min: Some(0.0), ..Axis::linear("time waited", "s") },
        runs.iter().map(|r| series(r.state.name(), added_up(&r.curve, r.statistics.requests()))).collect(),
    ));
    let latencies: Vec<_> = runs.iter().map(|r| (r.state.name(), r.measurement.latency())).collect();
    charts.push(tail_chart(&latencies.iter().map(|(name, h)| (*name, h)).collect::<Vec<_>>()));
    out.charts.extend(charts);
}

/// Seconds waited by all requests up to the end of each part of a curve of mean service times in µs, which stand at the
/// middles of parts that follow one another.
fn added_up(curve: &[[f64; 2]], requests: u64) -> Vec<[f64; 2]> {
    let (mut end, mut waited) = (0.0, 0.0);
    let so_far = curve.iter().map(|[middle, mean_us]| {
        let of_part = 2.0 * (middle - end);
        end += of_part;
        waited += mean_us * of_part * requests as f64 / 100.0 / 1e6;
        [end, waited]
    });
    [[0.0, 0.0]].into_iter().chain(so_far).collect()
}

fn method(ctx: &Context<'_>, trace: Trace, runs: &[Played]) -> String {
    let p = trace.published();
    let first = &runs[0];
    let on = |run: &Played| match run.state {
        State::Empty if run.erased == Erased::Yes => "a secure-erased, empty drive",
        State::Empty => run.erased.a_drive(),
        State::Used => "a drive on which these addresses, and no others, had been written in sequence",
        State::Full => "a drive that had been filled in sequence",
    };
    let state = runs.iter().map(on).collect::<Vec<_>>().join(", and again on ");
    let met = if is_whole(trace, first) { "" } else { " as nearly as a trace of this length can (see the table)" };
    format!(
        "A stand-in for {}, a trace ({}) which was never published: {} requests, made up so that every published \
         figure is met{met}, were played on {state}, over {} GB. Each request was sent once the queue was as short as the \
         trace has it; pauses were cut to {} ms. The data rate counts the time in which something was in flight.",
        p.name,
        p.source,
        first.statistics.requests(),
        gigabytes(first.footprint_bytes),
        ctx.params.number("idle_cap_ms"),
    )
}

/// Whether the trace was played in its published length. A much shorter one misses figures: the deepest queues do not fit.
fn is_whole(trace: Trace, run: &Played) -> bool {
    run.statistics.requests() == trace.published().requests()
}

/// `comparable`: the trace was long enough to put drives in an order.
fn notes(trace: Trace, runs: &[Played], comparable: bool) -> Vec<String> {
    let p = trace.published();
    let whole = is_whole(trace, &runs[0]);
    let has = if whole { "It has" } else { "In proportion to its length, and as nearly as the table says, it has" };
    let rates = if comparable {
        " Rates are comparable between drives here, and with published ones only with care."
    } else {
        ""
    };
    let mut notes = vec![
        format!(
            "This is a stand-in: the requests of {} are not public. {has} the published numbers of operations, bytes, \
             sizes, sequential requests and queue depths; which request goes where and when is an estimate.{rates}",
            p.name
        ),
        p.remark.to_owned(),
    ];
    let own = trace.estimate().footprint_bytes;
    // Whole blocks make a difference of some bytes.
    let smaller = |r: &&Played| is_whole(trace, r) && r.footprint_bytes < own / 100 * 99;
    if let Some(run) = runs.iter().find(smaller) {
        notes.push(format!(
            "The trace's own {} GB of addresses were scaled to {} GB to fit the drive: the same requests overwrite fewer \
             addresses more often.",
            gigabytes(own),
            gigabytes(run.footprint_bytes)
        ));
    }
    notes.extend(runs[0].said.iter().cloned());
    for run in runs {
        if let Some(percent) = run.unmapped_percent().filter(|&percent| percent >= 1.0) {
            notes.push(format!(
                "On the {}, {percent:.1} % of the bytes read came from addresses that nothing had been written to. A drive \
                 answers these without its flash.",
                run.state.name()
            ));
        }
    }
    notes
}
