//! `as-ssd`: the AS SSD Benchmark's read and write column, and its score.
//!
//! Published: the sequential test is timed on a 1 GB file; 4K and 4K-64Thrd are 4 KiB random accesses with one and
//! with 64 requests outstanding; the score's formula. Not published, and so parameters here: the size of the
//! sequential requests, the length of the random tests, the file's place, what else is on the drive. The data are
//! incompressible.

use ssdlab_core::Op;
use ssdlab_device::Counters;
use ssdlab_workload::{Mix, Pattern};

use super::common::{Timed, amount, build, fill_drive, timed};
use super::context::Context;
use super::definition::{PLAIN, TestDef, block, bytes, choice, integer, metric, seconds, span};
use super::figures::{by_category, categories, chart, put, put_causes_of_run, put_counters, series};
use super::stalls::note_outlasted;
use crate::error::BenchError;
use crate::host::Host;
use crate::outcome::{Axis, Mark, Outcome};

pub(super) const DEF: TestDef = TestDef {
    name: "as-ssd",
    title: "AS SSD Benchmark",
    summary: "A 1 GB file: sequential, 4 KiB random with 1 and with 64 requests outstanding, access time; and the score.",
    params: &[
        span("file_bytes", "1GB", "size of the test file"),
        bytes(
            "file_offset_bytes",
            "1GiB",
            0,
            1 << 60,
            "where the file begins, aligned to 4 KiB as file systems do. Not published: they keep their own structures at \
             the start",
        ),
        block("sequential_block_size", "16MiB", "size of the sequential requests. Not published"),
        integer("threads", "64", "", 1, 65_536, "requests outstanding in the 4K-64Thrd test"),
        seconds("seconds", "30", "length of each 4 KiB test. Not published"),
        integer("access_requests", "5000", "", 1, 10_000_000, "accesses of the access time test. Not published"),
        choice(
            "prefill",
            "drive",
            &["none", "drive"],
            "what is filled in sequence before. Not published; the access time is read over the whole drive, and reads of \
             empty addresses would flatter it",
        ),
    ],
    metrics: &[
        metric("sequential_read", "MB/s", "the 1 GB file in sequence").likewise(&["sequential_write"]),
        metric("random_read", "MB/s", "4 KiB, one request at a time").likewise(&["random_write"]),
        metric("random_read_64", "MB/s", "4 KiB, 64 requests outstanding").likewise(&["random_write_64"]),
        metric("access_time_read", "us", "mean time to read 512 bytes anywhere on the drive"),
        metric("access_time_write", "us", "mean time to write 512 bytes in the file"),
        metric("score_read", "points", "0.1 sequential + 4K + 4K-64Thrd, in MB/s"),
        metric("score_write", "points", "the same for writes"),
        metric(
            "score",
            "points",
            "0.1 sequential read + 0.15 sequential write + 4K read + 1.5 4K write + 4K-64Thrd read + 1.5 4K-64Thrd write",
        ),
    ],
    weight: 12.0,
    sends_single_sectors: true,
    ..PLAIN
};

/// The rates that make the score, in MB/s.
struct Rates {
    sequential: f64,
    random: f64,
    threads: f64,
}

fn score(read: &Rates, write: &Rates) -> (f64, f64, f64) {
    let of = |r: &Rates| 0.1 * r.sequential + r.random + r.threads;
    let total = 0.1 * read.sequential
        + 0.15 * write.sequential
        + read.random
        + 1.5 * write.random
        + read.threads
        + 1.5 * write.threads;
    (of(read), of(write), total)
}

/// The tests in the order of the program's window, each for reads and for writes.
const TESTS: [(&str, &str); 4] =
    [("sequential", "Seq"), ("random", "4K"), ("random_64", "4K-64Thrd"), ("access_time", "access time")];

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    ctx.shrink_requests("access_requests");
    let (file, offset) = (ctx.params.integer("file_bytes"), ctx.params.integer("file_offset_bytes"));
    let runs = ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        if file > capacity || offset > capacity - file {
            return Err(BenchError::Unsuitable(format!(
                "a file of {} at {} does not fit a drive of {}",
                amount(file),
                amount(offset),
                amount(capacity)
            )));
        }
        ctx.monitor().step(0.0, 0.2);
        if ctx.params.choice("prefill") == "drive" {
            fill_drive(host)?;
        } else {
            // Without it the first reads would find no file.
            host.fill(offset, file, 1 << 20, 1, &mut ())?;
        }
        ctx.settle(host)?;
        let mut runs = Vec::new();
        for (i, (key, _)) in TESTS.iter().enumerate() {
            for (j, op) in [Op::Read, Op::Write].into_iter().enumerate() {
                let done = 0.2 + 0.1 * (2 * i + j) as f64;
                ctx.monitor().step(done, (done + 0.1).min(1.0));
                runs.push((*key, op, one(ctx, host, key, op)?));
            }
        }
        Ok(runs)
    })?;

    let method = format!(
        "A file of {} at {}: read and written once in sequence with {} requests of {} bytes; 4 KiB random for {} s \
         with 1 and with {} requests outstanding; {} accesses of 512 bytes, reads over the whole drive and writes in the \
         file. {}",
        amount(file),
        amount(offset),
        file.div_ceil(ctx.params.integer("sequential_block_size")),
        ctx.params.integer("sequential_block_size"),
        ctx.params.seconds("seconds"),
        ctx.params.integer("threads"),
        ctx.params.integer("access_requests"),
        if ctx.params.choice("prefill") == "drive" {
            "The whole drive held data."
        } else {
            "The drive was empty otherwise."
        },
    );
    let mut out = ctx.outcome("", method);
    let (mut counters, mut elapsed) = (Counters::default(), 0);
    for (key, op, run) in &runs {
        let name = op.name();
        (counters, elapsed) = (counters.plus(&run.counters), elapsed + run.counted);
        let (value, unit) = if *key == "access_time" {
            (run.measurement.latency().mean() / 1e3, "us")
        } else {
            (run.measurement.mb_per_s(), "MB/s")
        };
        let metric = match *key {
            "random_64" => format!("random_{name}_64"),
            key => format!("{key}_{name}"),
        };
        put(&mut out, &metric, value, unit);
        let title = TESTS.iter().find(|t| t.0 == *key).map_or(*key, |t| t.1);
        put_causes_of_run(&mut out, &format!("{title} {name}"), &run.measurement);
        note_outlasted(&mut out, &run.stalls, &format!("With {title} {name}, when"));
    }
    let rates = |op: Op| {
        let of = |key: &str| runs.iter().find(|r| r.0 == key && r.1 == op).map_or(0.0, |r| r.2.measurement.mb_per_s());
        Rates { sequential: of("sequential"), random: of("random"), threads: of("random_64") }
    };
    let (read, write) = (rates(Op::Read), rates(Op::Write));
    let (score_read, score_write, total) = score(&read, &write);
    put(&mut out, "score_read", score_read, "points");
    put(&mut out, "score_write", score_write, "points");
    put(&mut out, "score", total, "points");
    put_counters(&mut out, &counters, elapsed);
    let bars = |r: &Rates| by_category(&[r.sequential, r.random, r.threads]);
    out.charts.push(chart(
        "rates",
        "AS SSD: rates",
        "",
        Mark::Bars,
        categories("", "", TESTS[..3].iter().map(|t| t.1.to_owned()).collect()),
        Axis { min: Some(0.0), ..Axis::linear("rate", "MB/s") },
        vec![series("read", bars(&read)), series("write", bars(&write))],
    ));
    out.charts.push(chart(
        "score",
        "AS SSD: score",
        "",
        Mark::Bars,
        categories("", "", vec!["read".to_owned(), "write".to_owned(), "total".to_owned()]),
        Axis { min: Some(0.0), ..Axis::linear("score", "points") },
        vec![series("score", by_category(&[score_read, score_write, total]))],
    ));
    Ok(out)
}

fn one(ctx: &Context<'_>, host: &mut Host<'_>, key: &str, op: Op) -> Result<Timed, BenchError> {
    let (file, offset) = (ctx.params.integer("file_bytes"), ctx.params.integer("file_offset_bytes"));
    let capacity = host.info().capacity_bytes;
    let mix = if op == Op::Read { Mix::Read } else { Mix::Write };
    let stream = format!("{key} {}", op.name());
    let duration = ctx.nanos("seconds");
    let in_file = |pattern: Pattern| build(ctx, &pattern.starting_at(offset), &stream);
    let mut job = match key {
        "sequential" => {
            let pattern = Pattern::sequential(mix, file, ctx.params.integer("sequential_block_size"));
            ctx.job(in_file(pattern.passes(1))?, 1)
        }
        "random" => ctx.job(in_file(Pattern::random(mix, file, 4096))?, 1).for_nanos(duration),
        "random_64" => {
            ctx.job(in_file(Pattern::random(mix, file, 4096))?, ctx.params.depth("threads")).for_nanos(duration)
        }
        _ => {
            let source = if op == Op::Read {
                build(ctx, &Pattern::random(mix, capacity, 512), &stream)?
            } else {
                in_file(Pattern::random(mix, file, 512))?
            };
            ctx.job(source, 1).for_requests(ctx.params.integer("access_requests"))
        }
    };
    timed(host, &mut job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_follows_the_published_formula() {
        let read = Rates { sequential: 500.0, random: 30.0, threads: 300.0 };
        let write = Rates { sequential: 300.0, random: 80.0, threads: 250.0 };
        let (r, w, total) = score(&read, &write);
        assert_eq!((r, w), (380.0, 360.0));
        assert_eq!(total, 50.0 + 45.0 + 30.0 + 120.0 + 300.0 + 375.0);
    }
}
