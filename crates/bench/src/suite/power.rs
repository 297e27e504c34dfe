//! `power`: what the drive draws while it rests, in each state of its link, and while it works.

use ssdlab_core::{MILLISECOND, Nanos, SECOND};
use ssdlab_device::{Counters, LinkPolicy};
use ssdlab_workload::{Mix, Pattern};

use super::common::{
    FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, Timed, build, fill_and_measure, fit_span, gigabytes, size, timed, timed_with,
};
use super::context::Context;
use super::definition::{PLAIN, TestDef, block, depth, integer, metric, seconds, span};
use super::figures::{by_category, by_second, categories, chart, max, put, put_causes_of_run, series};
use super::stalls::note_outlasted;
use crate::error::BenchError;
use crate::host::Host;
use crate::measure::{Energy, PeakPower, PowerPerSecond};
use crate::outcome::{Axis, Mark, Outcome, Table};

pub(super) const DEF: TestDef = TestDef {
    name: "power",
    title: "Power consumption",
    summary: "On a full drive: idle with the link up, in Slumber (HIPM and DIPM) and in DevSleep, where the drive knows \
              them, and how long the first read takes to come back; then sequential and random reads and writes. All at \
              the drive's own supply.",
    params: &[
        integer(
            "tidy_seconds",
            "600",
            "s",
            0,
            1_000_000,
            "rest after the fill, in which the drive may finish what it does by itself: folding an SLC cache takes minutes. \
             Not published",
        ),
        seconds("idle_seconds", "60", "how long each idle state is measured, once it has been reached"),
        seconds("seconds", "60", "length of each load"),
        block("sequential_block_size", "131072", "size of sequential requests"),
        block("random_block_size", "4096", "size of random requests"),
        depth("queue_depth", "32", "requests in flight of each load. Not published"),
        span("random_span_bytes", "16GB", "random requests stay within the first so many bytes"),
    ],
    metrics: &[
        metric("power_idle", "W", "nothing to do, the link up: active idle, as on a desktop computer"),
        metric("power_slumber", "mW", "nothing to do, the link in Slumber"),
        metric("power_devsleep", "mW", "nothing to do, the link in DevSleep"),
        metric("wake_idle", "us", "latency of a 4 KiB read after idle time with the link up")
            .likewise(&["wake_slumber", "wake_devsleep"]),
        metric("power_sequential_read", "W", "mean of that load").likewise(&[
            "power_random_read",
            "power_sequential_write",
            "power_random_write",
        ]),
        metric("energy_per_gb_sequential_read", "J/GB", "energy of the load over the bytes it moved").likewise(&[
            "energy_per_gb_random_read",
            "energy_per_gb_sequential_write",
            "energy_per_gb_random_write",
        ]),
        metric("bandwidth_sequential_read", "MB/s", "rate of that load").likewise(&[
            "bandwidth_random_read",
            "bandwidth_sequential_write",
            "bandwidth_random_write",
        ]),
        metric(
            "power_fill",
            "W",
            "the fill, sequential writes to the empty drive: mean of as many seconds as a load has, or of all if they are fewer",
        ),
        metric("power_max", "W", "the second of the highest power, of all loads and of the fill"),
        metric("power_peak", "W", "the ten milliseconds of the highest power, of all loads and of the fill"),
    ],
    weight: 12.0,
    leads: &["power_idle", "power_slumber", "power_max"],
    needs_power_figures: true,
    ..PLAIN
};

/// A state of rest: (key, name, what the host does with the link, how long it takes to get there at the most). Times of a drive file
/// go up to a second for Partial, each way, and for Slumber, and to 100 s for DevSleep, for which the host asks after six.
const RESTS: [(&str, &str, LinkPolicy, Nanos); 3] = [
    ("idle", "idle, link up", LinkPolicy::Active, 0),
    ("slumber", "Slumber", LinkPolicy::HipmDipm, 4 * SECOND),
    ("devsleep", "DevSleep", LinkPolicy::HipmDipmDevsleep, 110 * SECOND),
];

struct Rest {
    key: &'static str,
    name: &'static str,
    watts: f64,
    wake_us: f64,
}

struct Load {
    key: &'static str,
    name: String,
    timed: Timed,
    energy: Energy,
    peak: PeakPower,
}

/// The drive's first writes.
struct Fill {
    /// Of each second.
    watts: Vec<f64>,
    peak: PeakPower,
}

/// Rests, measures, and wakes the drive with a read.
fn rest(
    ctx: &Context<'_>,
    host: &mut Host<'_>,
    which: (&'static str, &'static str, LinkPolicy, Nanos),
) -> Result<Rest, BenchError> {
    let (key, name, policy, way) = which;
    host.set_link_policy(policy)?;
    // Whatever the drive tidies up after the last command comes before.
    ctx.settle(host)?;
    host.idle(way)?;
    let before = host.counters();
    let length = ctx.nanos("idle_seconds");
    host.idle(length)?;
    let drawn = host.counters().since(&before);
    let energy = metered(host, &drawn, length)?;
    let read = build(ctx, &Pattern::random_read(4096, 4096), "wake")?;
    let woken = timed(host, &mut ctx.job(read, 1).for_requests(1))?;
    Ok(Rest { key, name, watts: energy.watts(), wake_us: woken.measurement.latency().mean() / 1e3 })
}

fn metered(host: &mut Host<'_>, counters: &Counters, length: Nanos) -> Result<Energy, BenchError> {
    // A drive that meters its energy may draw nothing in its deepest sleep.
    let meters = host.counters().nanojoules() > 0;
    let nothing = || (meters && length > 0).then(|| Energy { joules: 0.0, seconds: length as f64 / SECOND as f64 });
    Energy::of(counters, length).or_else(nothing).ok_or_else(|| unmetered(host))
}

fn unmetered(host: &Host<'_>) -> BenchError {
    let name = &host.info().name;
    BenchError::Unsuitable(format!(
        "{name} does not meter its energy: simulated drives do whose file has [power] (docs/power.md)"
    ))
}

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let depth = ctx.params.depth("queue_depth");
    let (sequential, random) = (ctx.params.integer("sequential_block_size"), ctx.params.integer("random_block_size"));
    let mut notes = Vec::new();
    let (fill, rests, loads, random_span) = ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        let random_span = fit_span(ctx.params.integer("random_span_bytes"), capacity, random, &mut notes)?;
        let whole = fit_span(capacity, capacity, sequential, &mut notes)?;
        // Before the work, not after it. No real drive does, and none is let begin for that.
        if host.device().clock().is_some() {
            return Err(unmetered(host));
        }
        host.idle(MILLISECOND)?;
        let (drawn, now) = (host.counters(), host.now());
        metered(host, &drawn, now)?;
        ctx.monitor().step(0.0, 0.3);
        let before = host.counters();
        let mut meters = (PowerPerSecond::from(&before), PeakPower::from(host.now(), &before));
        fill_and_measure(host, capacity, &mut meters)?;
        let (power, peak) = meters;
        let fill = Fill { watts: power.watts().to_vec(), peak };
        host.idle(ctx.nanos("tidy_seconds"))?;
        let mut rests = Vec::new();
        for which in RESTS {
            match rest(ctx, host, which) {
                Ok(rest) => rests.push(rest),
                Err(BenchError::Unsuitable(why)) => notes.push(format!("{} was not measured: {why}.", which.1)),
                Err(e) => return Err(e),
            }
        }
        host.set_link_policy(ctx.link_policy())?;
        let parts = [
            ("sequential_read", Mix::Read, false),
            ("random_read", Mix::Read, true),
            ("sequential_write", Mix::Write, false),
            ("random_write", Mix::Write, true),
        ];
        let mut loads = Vec::new();
        for (i, (key, mix, is_random)) in parts.into_iter().enumerate() {
            ctx.monitor().step(0.3 + 0.175 * i as f64, (0.3 + 0.175 * (i + 1) as f64).min(1.0));
            let (pattern, block) = if is_random {
                (Pattern::random(mix, random_span, random), random)
            } else {
                (Pattern::sequential(mix, whole, sequential), sequential)
            };
            let mut job = ctx.job(build(ctx, &pattern, key)?, depth).for_nanos(ctx.nanos("seconds"));
            let mut peak = PeakPower::from(host.now(), &host.counters());
            let done = timed_with(host, &mut job, &mut peak)?;
            let energy = metered(host, &done.counters, done.counted)?;
            let name = format!("{} {}", size(block), key.replace('_', " "));
            loads.push(Load { key, name, timed: done, energy, peak });
        }
        Ok((fill, rests, loads, random_span))
    })?;
    let method = format!(
        "The drive was filled with {} sequential writes at QD{FILL_QUEUE_DEPTH}. It then rested {} s in each state of its \
         link, and a read woke it; then came each load for {} s at QD{depth}, random ones over {} GB. Energy is what the \
         drive draws from its supply.",
        size(FILL_BLOCK_BYTES),
        ctx.params.seconds("idle_seconds"),
        ctx.params.seconds("seconds"),
        gigabytes(random_span),
    );
    let mut out = ctx.outcome("", method);
    out.notes = notes;
    put_rests(&mut out, &rests);
    put_loads(&mut out, &fill, &loads, (ctx.nanos("seconds") / SECOND) as usize);
    Ok(out)
}

fn put_rests(out: &mut Outcome, rests: &[Rest]) {
    let mut rows = Vec::new();
    for r in rests {
        if r.key == "idle" {
            put(out, "power_idle", r.watts, "W");
        } else {
            put(out, &format!("power_{}", r.key), r.watts * 1e3, "mW");
        }
        put(out, &format!("wake_{}", r.key), r.wake_us, "us");
        rows.push(vec![r.name.to_owned(), format!("{:.1} mW", r.watts * 1e3), format!("{:.2} ms", r.wake_us / 1e3)]);
    }
    out.tables.push(Table {
        title: "At rest".to_owned(),
        caption: "Power of a drive with nothing to do, and the latency of the read that ends its rest.".to_owned(),
        columns: ["state", "power", "first read"].map(str::to_owned).to_vec(),
        rows,
    });
    out.charts.push(chart(
        "rest",
        "Power at rest",
        "Lower is better. The axis is logarithmic: lengths of bars are not in proportion.",
        Mark::Bars,
        categories("", "", rests.iter().map(|r| r.name.to_owned()).collect()),
        Axis::log("power", "mW"),
        vec![series("", by_category(&rests.iter().map(|r| r.watts * 1e3).collect::<Vec<_>>()))],
    ));
}

/// `length`: of a load, in seconds.
fn put_loads(out: &mut Outcome, fill: &Fill, loads: &[Load], length: usize) {
    let first = &fill.watts[..fill.watts.len().min(length)];
    if !first.is_empty() {
        put(out, "power_fill", first.iter().sum::<f64>() / first.len() as f64, "W");
    }
    let mut highest = fill.watts.clone();
    let mut peaks: Vec<f64> = fill.peak.watts().into_iter().collect();
    for load in loads {
        peaks.extend(load.peak.watts());
        let m = &load.timed.measurement;
        // Power by rate: energy and bytes of the same time.
        let gigabytes = m.bytes() as f64 / 1e9;
        put(out, &format!("power_{}", load.key), load.energy.watts(), "W");
        if gigabytes > 0.0 {
            put(out, &format!("energy_per_gb_{}", load.key), load.energy.joules / gigabytes, "J/GB");
        }
        note_outlasted(out, &load.timed.stalls, &format!("With {} requests, when", load.name));
        put(out, &format!("bandwidth_{}", load.key), m.mb_per_s(), "MB/s");
        put_causes_of_run(out, &load.name, m);
        highest.extend_from_slice(load.timed.power.watts());
    }
    // Loads shorter than a second have no second to read.
    if !highest.is_empty() {
        put(out, "power_max", max(&highest), "W");
    }
    if !peaks.is_empty() {
        put(out, "power_peak", max(&peaks), "W");
    }
    out.charts.push(chart(
        "load",
        "Power under load",
        "Mean of each load. Lower is better.",
        Mark::Bars,
        categories("", "", loads.iter().map(|l| l.name.clone()).collect()),
        Axis { min: Some(0.0), ..Axis::linear("power", "W") },
        vec![series("", by_category(&loads.iter().map(|l| l.energy.watts()).collect::<Vec<_>>()))],
    ));
    let of_fill = ("fill", first);
    let of_loads = loads.iter().map(|l| (l.name.as_str(), l.timed.power.watts()));
    let lines: Vec<_> = std::iter::once(of_fill)
        .chain(of_loads)
        .filter(|(_, watts)| !watts.is_empty())
        .map(|(name, watts)| series(name, by_second(watts, 0)))
        .collect();
    if !lines.is_empty() {
        out.charts.push(chart(
            "power-over-time",
            "Power over time, by load",
            "One dot a second, each load from its own beginning.",
            Mark::Scatter,
            Axis::linear("time", "s"),
            Axis { min: Some(0.0), ..Axis::linear("power", "W") },
            lines,
        ));
    }
}
