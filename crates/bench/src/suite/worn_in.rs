//! `worn-in`: what is left of a fresh drive after the tests of 2009 have been run on it several times without an erase.
//!
//! Drives were reviewed new, and were slower after weeks of use. What a drive has been through is here what the tests
//! themselves write; what may restore it, a pass over all its addresses in sequence.

use std::cell::Cell;

use ssdlab_core::Rng;
use ssdlab_workload::application_mix::{Application, FOOTPRINT_BYTES, Stream};
use ssdlab_workload::pattern::named;
use ssdlab_workload::{Mix, Pattern};

use super::common::{FILL_BLOCK_BYTES, amount, build, fill_drive, fit_span, gigabytes, size};
use super::context::Context;
use super::definition::{MetricDef, PLAIN, TestDef, Variant, integer, metric, seconds, span};
use super::disk_inspection::inspect;
use super::figures::{by_category, categories, chart, mean, min, put, put_causes_of_run, series};
use super::sweep::axes;
use crate::error::BenchError;
use crate::host::Host;
use crate::measure::Measurement;
use crate::outcome::{Axis, Mark, Outcome, Table};
use crate::params::{Kind, ParamDef};

/// As the disk inspection by itself has them.
const PLACES: u64 = 64;
const PLACE_BYTES: u64 = 32 << 20;
const RANDOM_BLOCK_BYTES: u64 = 4096;
const RANDOM_DEPTH: u32 = 3;
/// Iometer's loads, and the one that is measured.
const LOADS: [u32; 5] = [1, 4, 8, 64, 256];
const MEASURED_LOAD: u32 = 8;

/// A part of the suite.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Inspection,
    SequentialWrite,
    RandomWrite,
    Sectors(Mix),
    FileServer(u32),
    Mixes,
}

impl Part {
    /// In the name of a stream of random numbers: what is written at random must not be what was read at random just before.
    fn name(self) -> String {
        match self {
            Part::Inspection => "inspection".to_owned(),
            Part::SequentialWrite => "sequential write".to_owned(),
            Part::RandomWrite => "random write".to_owned(),
            Part::Sectors(Mix::Read) => "sector reads".to_owned(),
            Part::Sectors(_) => "sector writes".to_owned(),
            Part::FileServer(depth) => format!("file server {depth}"),
            Part::Mixes => "mixes".to_owned(),
        }
    }
}

/// What is measured in each state.
const MEASURED: [Part; 7] = [
    Part::Inspection,
    Part::SequentialWrite,
    Part::RandomWrite,
    Part::Sectors(Mix::Read),
    Part::Sectors(Mix::Write),
    Part::FileServer(MEASURED_LOAD),
    Part::Mixes,
];

/// A figure of a part.
struct Figure {
    key: &'static str,
    words: &'static str,
    unit: &'static str,
    lower_is_better: bool,
}

const fn rate(key: &'static str, words: &'static str, unit: &'static str) -> Figure {
    Figure { key, words, unit, lower_is_better: false }
}

const fn time(key: &'static str, words: &'static str) -> Figure {
    Figure { key, words, unit: "us", lower_is_better: true }
}

/// In the order of [`MEASURED`]. The mixes are last: a small drive has no room for them.
const FIGURES: [Figure; 12] = [
    rate("read_bandwidth", "sequential read", "MB/s"),
    rate("read_bandwidth_min", "its slowest place", "MB/s"),
    rate("write_bandwidth", "sequential write", "MB/s"),
    rate("random_write_iops", "4 KiB random write, QD3", "IOPS"),
    time("read_access", "single-sector read"),
    time("write_access", "single-sector write"),
    rate("fileserver_iops", "file server, QD8", "IOPS"),
    time("desktop_latency", "desktop mix"),
    time("boot_latency", "boot and launch mix"),
    time("workstation_latency", "workstation mix"),
    time("database_latency", "database server mix"),
    time("streaming_latency", "streaming-media server mix"),
];

const METRICS: &[MetricDef] = &[
    metric(
        "read_bandwidth_fresh",
        "MB/s",
        "sequential read of the drive that was filled once, mean over the places; here as below _worn is of the worn-in drive, \
         and _rewritten of the drive after all was written in sequence again",
    )
    .likewise(&["read_bandwidth_worn", "read_bandwidth_rewritten"]),
    metric("read_bandwidth_min_fresh", "MB/s", "the slowest of the places")
        .likewise(&["read_bandwidth_min_worn", "read_bandwidth_min_rewritten"]),
    metric("write_bandwidth_fresh", "MB/s", "sequential write")
        .likewise(&["write_bandwidth_worn", "write_bandwidth_rewritten"]),
    metric("random_write_iops_fresh", "IOPS", "4 KiB random write at QD3")
        .likewise(&["random_write_iops_worn", "random_write_iops_rewritten"]),
    metric("read_access_fresh", "us", "mean service time of single-sector reads")
        .likewise(&["read_access_worn", "read_access_rewritten"]),
    metric("write_access_fresh", "us", "mean service time of single-sector writes")
        .likewise(&["write_access_worn", "write_access_rewritten"]),
    metric("fileserver_iops_fresh", "IOPS", "file server at QD8")
        .likewise(&["fileserver_iops_worn", "fileserver_iops_rewritten"]),
    metric(
        "{mix}_latency_fresh",
        "us",
        "mean service time of a mix, after those before it: desktop, boot, workstation, database, streaming. Absent where the \
         drive is smaller than the mixes",
    )
    .likewise(&["{mix}_latency_worn", "{mix}_latency_rewritten"]),
];

pub(super) const DEF: TestDef = TestDef {
    name: "worn-in",
    title: "Worn in",
    summary: "A full drive goes through the tests of 2009 three times without an erase: disk inspection, sequential write, \
              random write, AnalyzeDisk, file server and application mixes. What they measure then is laid beside what they \
              measure on the drive that was filled once, and after all addresses were written in sequence again.",
    params: &[
        integer("runs", "3", "", 1, 100, "how often the drive goes through the tests"),
        seconds(
            "seconds",
            "60",
            "length of the sequential writes, of the random writes and of each load of the file server. Not published",
        ),
        span("random_span_bytes", "8GB", "the random writes stay within the first so many bytes"),
        integer("requests", "25000", "", 1, 10_000_000, "number of single-sector reads, and of writes"),
        ParamDef {
            key: "mix_percent",
            default: "100",
            unit: "%",
            doc: "length of the mixes, of that of their own tests",
            kind: Kind::Integer { min: 1, max: 1000 },
            quick_divisor: 10,
            of_method: true,
        },
    ],
    metrics: METRICS,
    variants: &[Variant { name: "", settings: &[], in_review: false }],
    weight: 60.0,
    sends_single_sectors: true,
    ..PLAIN
};

/// What came of a part: a value for each of its figures, and, of the inspection, rates by position.
struct Measured {
    values: Vec<f64>,
    places: Vec<[f64; 2]>,
    measurement: Measurement,
}

/// States of the drive, in which it is measured.
const STATES: [(&str, &str); 3] =
    [("fresh", "filled once"), ("worn", "worn in"), ("rewritten", "after a sequential rewrite")];

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    ctx.shrink_requests("requests");
    let runs = ctx.params.integer("runs") as usize;
    // Two fills, and each part of a run and of the three times that they are measured.
    let steps = 2 + (runs + STATES.len()) * MEASURED.len();
    let step = Cell::new(0);
    let next = || ctx.monitor().step_of(step.replace(step.get() + 1), steps);
    let (mut notes, mut capacity) = (Vec::new(), 0);
    let states = ctx.on_copies_in_states(
        &STATES,
        &MEASURED,
        |host, &(state, _)| {
            if state == "worn" {
                for number in 1..=runs {
                    wear(ctx, host, &format!("run {number}"), next)?;
                }
            } else {
                next();
                capacity = host.info().capacity_bytes;
                fill_drive(host)?;
            }
            ctx.settle(host)
        },
        |host, &part| {
            next();
            measure(ctx, host, part, "measured")
        },
    )?;
    let span = fit_span(ctx.params.integer("random_span_bytes"), capacity, RANDOM_BLOCK_BYTES, &mut notes)?;
    let mut out = ctx.outcome("", method(ctx, capacity, span));
    out.notes = notes;
    if capacity < FOOTPRINT_BYTES {
        out.notes.push(format!(
            "The application mixes were left out: they use the first {} GB.",
            gigabytes(FOOTPRINT_BYTES)
        ));
    }
    let values: Vec<Vec<f64>> =
        states.iter().map(|parts| parts.iter().flat_map(|m| m.values.clone()).collect()).collect();
    for ((state, words), (values, parts)) in STATES.into_iter().zip(values.iter().zip(&states)) {
        for (figure, &value) in FIGURES.iter().zip(values) {
            put(&mut out, &format!("{}_{state}", figure.key), value, figure.unit);
        }
        for (part, label) in [(0, "sequential read"), (1, "sequential write"), (2, "4 KiB random write")] {
            put_causes_of_run(&mut out, &format!("{label}, {words}"), &parts[part].measurement);
        }
    }
    let (x, y) = axes();
    let lines = STATES.iter().zip(&states).map(|((_, words), parts)| series(words, parts[0].places.clone())).collect();
    out.charts.push(chart("read-by-position", "Sequential read rate by position", "", Mark::Line, x, y, lines));
    let of_fresh = |now: &[f64]| -> Vec<f64> {
        let pairs = FIGURES.iter().zip(now.iter().zip(&values[0]));
        pairs.map(|(f, (now, fresh))| 100.0 * if f.lower_is_better { fresh / now } else { now / fresh }).collect()
    };
    let figures = FIGURES.iter().take(values[0].len());
    out.charts.push(chart(
        "of-fresh",
        "What is left of the fresh drive",
        "Speed as a share of that of the drive filled once: rates as they are, times the other way round.",
        Mark::Bars,
        categories("", "", figures.map(|f| f.words.to_owned()).collect()),
        Axis { min: Some(0.0), ..Axis::linear("of the fresh drive", "%") },
        STATES.iter().zip(&values).skip(1).map(|((_, words), v)| series(words, by_category(&of_fresh(v)))).collect(),
    ));
    out.tables.push(table(&values));
    Ok(out)
}

fn method(ctx: &Context<'_>, capacity: u64, span: u64) -> String {
    let mixes =
        if capacity < FOOTPRINT_BYTES { "" } else { ", and the application mixes without a pause between them" };
    format!(
        "The drive ({} GB) was filled in sequence. It went through these tests {} times: {} read in sequence at each of {PLACES} \
         places; 128 KiB written in sequence at QD1 for {seconds} s; 4 KiB written at random over {} at QD{RANDOM_DEPTH} for \
         {seconds} s; {requests} reads and {requests} writes of one sector; Iometer's file server pattern at five loads, \
         {seconds} s each{mixes}. At last all was written in sequence once more. In each of the three states every test ran on a \
         copy of the drive, the file server at QD{MEASURED_LOAD}.",
        gigabytes(capacity),
        ctx.params.integer("runs"),
        size(piece(capacity)),
        amount(span),
        seconds = ctx.params.seconds("seconds"),
        requests = ctx.params.integer("requests"),
    )
}

/// What is read at each place of the disk inspection.
fn piece(capacity: u64) -> u64 {
    PLACE_BYTES.min(capacity / PLACES) / FILL_BLOCK_BYTES * FILL_BLOCK_BYTES
}

/// Once through all tests.
fn wear(ctx: &Context<'_>, host: &mut Host<'_>, stream: &str, mut step: impl FnMut()) -> Result<(), BenchError> {
    for part in MEASURED {
        step();
        let loads = if let Part::FileServer(_) = part { LOADS.map(Part::FileServer).to_vec() } else { vec![part] };
        for load in loads {
            measure(ctx, host, load, stream)?;
            ctx.settle(host)?;
        }
    }
    Ok(())
}

/// One part of the suite; its random numbers are those of `stream`, and its own.
fn measure(ctx: &Context<'_>, host: &mut Host<'_>, part: Part, stream: &str) -> Result<Measured, BenchError> {
    let capacity = host.info().capacity_bytes;
    let block = FILL_BLOCK_BYTES;
    let (pattern, depth) = match part {
        Part::Inspection => {
            let piece = piece(capacity);
            if piece < 2 * block {
                let gb = gigabytes(capacity);
                return Err(BenchError::Unsuitable(format!("{PLACES} places to read do not fit {gb} GB")));
            }
            let (places, measurement) = inspect(host, PLACES, piece, (block, 1), |_| ())?;
            let rates: Vec<f64> = places.iter().map(|p| p[1]).collect();
            return Ok(Measured { values: vec![mean(&rates), min(&rates)], places, measurement });
        }
        Part::Mixes => return mixes(ctx, host),
        Part::SequentialWrite => (Pattern::sequential(Mix::Write, capacity / block * block, block), 1),
        Part::RandomWrite => {
            let asked = ctx.params.integer("random_span_bytes");
            let span = fit_span(asked, capacity, RANDOM_BLOCK_BYTES, &mut Vec::new())?;
            (Pattern::random_write(span, RANDOM_BLOCK_BYTES), RANDOM_DEPTH)
        }
        Part::Sectors(mix) => (Pattern::random(mix, capacity, 512), 1),
        Part::FileServer(depth) => (named::file_server(capacity), depth),
    };
    let job = ctx.job(build(ctx, &pattern, &format!("{stream} {}", part.name()))?, depth);
    let mut measurement = Measurement::default();
    let mut job = match part {
        Part::Sectors(_) => job.for_requests(ctx.params.integer("requests")),
        _ => job.for_nanos(ctx.nanos("seconds")),
    };
    host.run(std::slice::from_mut(&mut job), &mut measurement)?;
    measurement.check_causes().map_err(BenchError::Books)?;
    let value = match part {
        Part::SequentialWrite => measurement.mb_per_s(),
        Part::Sectors(_) => measurement.latency().mean() / 1e3,
        _ => measurement.iops(),
    };
    Ok(Measured { values: vec![value], places: Vec::new(), measurement })
}

/// The application mixes one after the other, where they fit.
fn mixes(ctx: &Context<'_>, host: &mut Host<'_>) -> Result<Measured, BenchError> {
    let (mut values, mut all) = (Vec::new(), Measurement::default());
    let fitting = if host.info().capacity_bytes < FOOTPRINT_BYTES { &[][..] } else { &Application::ALL };
    for &mix in fitting {
        let requests = (mix.requests() * ctx.params.integer("mix_percent") / 100).max(1);
        let mut m = Measurement::default();
        host.play(Stream::new(mix, requests, &Rng::new(ctx.seed())), requests, &mut m)?;
        m.check_causes().map_err(BenchError::Books)?;
        values.push(m.latency().mean() / 1e3);
        all.merge(&m);
    }
    Ok(Measured { values, places: Vec::new(), measurement: all })
}

/// Every figure in every state.
fn table(values: &[Vec<f64>]) -> Table {
    let digits = |value: f64| match value {
        v if v < 10.0 => 2,
        v if v < 1_000.0 => 1,
        _ => 0,
    };
    let row = |(i, figure): (usize, &Figure)| {
        let cells = values.iter().map(|v| format!("{:.*}", digits(v[i]), v[i]));
        [format!("{}, {}", figure.words, figure.unit)].into_iter().chain(cells).collect()
    };
    let columns = ["figure"].into_iter().chain(STATES.iter().map(|s| s.1)).map(str::to_owned).collect();
    Table {
        title: "Fresh, worn in, rewritten".to_owned(),
        caption: "Mean service times of accesses and mixes, rates of the others.".to_owned(),
        columns,
        rows: FIGURES.iter().enumerate().take(values[0].len()).map(row).collect(),
    }
}
