//! The five application mixes share this: the mixes before one are played, then it is, on one drive without a pause.

use ssdlab_core::Rng;
use ssdlab_device::Counters;
use ssdlab_workload::application_mix::{Application, FOOTPRINT_BYTES, Stream};

use super::common::{fill_drive, gigabytes};
use super::context::Context;
use super::definition::{MetricDef, choice, metric};
use super::figures::{chart, put, put_causes, put_counters, put_latencies, put_percentile, series};
use super::stalls::{put_stalls, show_stalls};
use super::tail::tail_chart;
use crate::error::{BenchError, HostError};
use crate::host::{Host, Playback};
use crate::measure::{Measurement, ServiceCurve, Stalls};
use crate::outcome::{Axis, Mark, Outcome};
use crate::params::{Kind, ParamDef};

/// The drive that scores 100, by its name in the catalog.
pub const REFERENCE: &str = "raptor-wd360gd-36gb";
const REFERENCE_TITLE: &str = "Western Digital Raptor WD360GD";

pub(super) const LEADS: &[&str] = &["index", "latency_mean", "stall_share"];

pub(super) const METRICS: &[MetricDef] = &[
    metric(
        "index",
        "points",
        "100 times the reference's mean service time over the drive's; the reference, a Western Digital Raptor WD360GD, is \
         simulated beside the drive with the same requests. Absent where there is no reference",
    ),
    metric("reference_latency_mean", "us", "mean service time of the reference"),
    metric("latency_mean", "us", "mean service time, from sending to completion, waiting in the queue included"),
    metric("latency_mean_{op}", "us", "the same for reads and for writes").likewise(&["latency_p99_{op}"]),
    metric("busy_seconds", "s", "how long the mix took"),
    metric("depth_mean", "count", "mean depth of the queue that requests met, themselves included"),
];

/// A mix's length.
pub(super) const fn requests(full: &'static str) -> ParamDef {
    ParamDef {
        key: "requests",
        default: full,
        unit: "",
        doc: "length of the mix. A shorter one keeps the shares of its activities; mixes before it are shortened in the same \
              proportion",
        kind: Kind::Integer { min: 1_000, max: 100_000_000 },
        quick_divisor: 10,
        of_method: true,
    }
}

pub(super) const BEFORE: ParamDef = choice(
    "before",
    "mixes",
    &["mixes", "nothing"],
    "what is played before, without a pause: the mixes that come before this one, as published of the order of desktop and boot, or \
     nothing",
);

/// What came of a playback.
struct Played {
    playback: Playback,
    measurement: Measurement,
    stalls: Stalls,
    curve: Vec<[f64; 2]>,
    /// As the mix began.
    counters_before: Counters,
}

/// Reads `requests` and `before` from the parameters.
pub(super) fn run_storagemark(ctx: &mut Context<'_>, application: Application) -> Result<Outcome, BenchError> {
    let requests = ctx.params.integer("requests");
    let part = |from: f64, to: f64| move |share: f64| from + (to - from) * share;
    let (played, counters, size) = ctx.on_fresh_drive(|host| {
        let played = prepare_and_play(ctx, host, application, part(0.0, 0.8))?;
        let counters = host.counters().since(&played.counters_before);
        Ok((played, counters, host.info().capacity_bytes))
    })?;
    let reference = ctx.on_reference_drive(|host| {
        Ok(prepare_and_play(ctx, host, application, part(0.8, 1.0))?.measurement.latency().mean())
    })?;
    ctx.monitor().step(1.0, 1.0);
    if !ctx.monitor().go_on(1.0) {
        return Err(HostError::Cancelled.into());
    }
    let mut out = ctx.outcome("", method(ctx, application, size));
    let m = &played.measurement;
    let latency = m.latency();
    put_latencies(&mut out, &latency, "");
    for (op, stats) in m.ops() {
        put(&mut out, &format!("latency_mean_{}", op.name()), stats.latency.mean() / 1e3, "us");
        put_percentile(&mut out, &format!("latency_p99_{}", op.name()), &stats.latency, 99.0);
    }
    match reference {
        Some(reference) if latency.mean() > 0.0 => {
            put(&mut out, "index", 100.0 * reference / latency.mean(), "points");
            put(&mut out, "reference_latency_mean", reference / 1e3, "us");
        }
        _ => out.notes.push(format!(
            "There is no index: the reference, {REFERENCE_TITLE} (`{REFERENCE}`), is not among the devices here."
        )),
    }
    put(&mut out, "iops", m.iops(), "IOPS");
    put(&mut out, "bandwidth", m.mb_per_s(), "MB/s");
    put(&mut out, "busy_seconds", m.elapsed() as f64 / 1e9, "s");
    put(&mut out, "depth_mean", played.playback.depth_sum as f64 / requests.max(1) as f64, "count");
    put_counters(&mut out, &counters, m.elapsed());
    put_stalls(&mut out, &played.stalls, "");
    put_causes(&mut out, application.name(), m);
    out.charts.push(chart(
        "service-time-through-mix",
        "Service time from beginning to end",
        "Mean of each hundredth of the mix, and of what is left behind the last.",
        Mark::Line,
        Axis { min: Some(0.0), max: Some(100.0), ..Axis::linear("requests played", "%") },
        Axis::log("mean service time", "us"),
        vec![series(application.name(), played.curve)],
    ));
    out.charts.push(tail_chart(&[(application.name(), &latency)]));
    show_stalls(&mut out, &played.stalls, &format!("Mix: {}", application.name()));
    out.notes.insert(
        0,
        "This mix is a stand-in: the traces behind the StorageMark indexes were never published, and hardly a figure about \
         them was. Its requests are made up from what such applications are known to do (docs/application-mixes.md). An index \
         compares drives here; beside a published one, only the order of drives and how far apart they stand can be compared."
            .to_owned(),
    );
    Ok(out)
}

/// Fills the drive, plays the mixes before, then the mix.
fn prepare_and_play(
    ctx: &Context<'_>,
    host: &mut Host<'_>,
    application: Application,
    part: impl Fn(f64) -> f64,
) -> Result<Played, BenchError> {
    let capacity = host.info().capacity_bytes;
    if capacity < FOOTPRINT_BYTES {
        return Err(BenchError::Unsuitable(format!(
            "the mixes use the first {} GB, and {}{} has {:.1} GB",
            gigabytes(FOOTPRINT_BYTES),
            if ctx.is_small() { "in a quick run " } else { "" },
            host.info().name,
            capacity as f64 / 1e9,
        )));
    }
    let before: &[Application] = match ctx.params.choice("before") {
        "mixes" => &Application::ALL[..application as usize],
        _ => &[],
    };
    let steps = before.len() + 2;
    let step = |i: usize| ctx.monitor().step(part(i as f64 / steps as f64), part((i + 1) as f64 / steps as f64));
    step(0);
    fill_drive(host)?;
    ctx.settle(host)?;
    for (i, &earlier) in before.iter().enumerate() {
        step(i + 1);
        let stream = stream(ctx, earlier, application);
        let requests = stream.size_hint().0 as u64;
        host.play(stream, requests, &mut ())?;
    }
    step(steps - 1);
    let requests = ctx.params.integer("requests");
    let mut meters = ((Measurement::default(), Stalls::default()), ServiceCurve::new(requests));
    let counters_before = host.counters();
    let playback = host.play(stream(ctx, application, application), requests, &mut meters)?;
    let ((measurement, stalls), service_curve) = meters;
    measurement.check_causes().map_err(BenchError::Books)?;
    Ok(Played { playback, measurement, stalls, curve: service_curve.points(), counters_before })
}

/// A mix, as long in proportion as the one under test. The seed alone decides on its requests, so that a mix is the same
/// in every test.
fn stream(ctx: &Context<'_>, mix: Application, under_test: Application) -> Stream {
    let asked = u128::from(ctx.params.integer("requests"));
    let requests = asked * u128::from(mix.requests()) / u128::from(under_test.requests());
    Stream::new(mix, requests as u64, &Rng::new(ctx.seed()))
}

fn method(ctx: &Context<'_>, application: Application, capacity: u64) -> String {
    let names: Vec<&str> = Application::ALL[..application as usize].iter().map(|a| a.name()).collect();
    let before = match (ctx.params.choice("before"), names.split_last()) {
        ("mixes", Some((last, []))) => format!("the {last} mix was played, and without a pause or a reset "),
        ("mixes", Some((last, first))) => {
            format!("the mixes {} and {last} were played, and without a pause or a reset ", first.join(", "))
        }
        _ => String::new(),
    };
    format!(
        "The drive ({} GB) was filled in sequence. Then {before}{} requests of the {} mix, over the first {} GB; each was sent \
         once the queue was as short as the mix has it.",
        gigabytes(capacity),
        ctx.params.integer("requests"),
        application.name(),
        gigabytes(FOOTPRINT_BYTES),
    )
}
