//! `atto`: ATTO Disk Benchmark, rates against request size from half a KiB to 64 MiB.
//!
//! Each size writes, then reads, its way through one file with four requests outstanding. The length and the depth
//! are the program's own; which settings a given review used was not published. ATTO's data are compressible: the
//! same byte over and over.

use ssdlab_workload::Pattern;

use super::common::{build, size, timed};
use super::context::Context;
use super::definition::{PLAIN, TestDef, block, bytes, depth, metric, number, span};
use super::figures::{by_category, categories, chart, max, put, put_causes_of_run, put_counters, series};
use crate::error::BenchError;
use crate::outcome::{Axis, Mark, Outcome};

pub(super) const DEF: TestDef = TestDef {
    name: "atto",
    title: "ATTO Disk Benchmark",
    summary: "Sequential writes and reads of a 256 MB file at QD4, with request sizes from 0.5 KiB to 64 MiB.",
    params: &[
        block("size_min_bytes", "512", "smallest request; each next one is twice as large"),
        block("size_max_bytes", "64MiB", "largest request"),
        span(
            "length_bytes",
            "256MiB",
            "length of the file; at least size_max_bytes. A quick run, whose file is an eighth, leaves out requests of which less \
             than four fit into it",
        ),
        bytes(
            "file_offset_bytes",
            "1GiB",
            0,
            1 << 60,
            "where the file begins, aligned to 4 KiB as file systems do. Not published",
        ),
        depth("queue_depth", "4", "requests outstanding"),
        number(
            "compressibility_percent",
            "100",
            "%",
            0.0,
            100.0,
            "by how much the data written can be compressed; 100: every byte is the same, as this program writes unless \
             told otherwise. Drives that do not compress are the same with all (docs/compression.md)",
        ),
    ],
    metrics: &[
        metric("write_{size}", "MB/s", "rate at a request size, such as write_512b, write_4k, write_64m")
            .likewise(&["read_{size}"]),
        metric("write_peak", "MB/s", "the highest rate").likewise(&["read_peak"]),
    ],
    weight: 8.0,
    ..PLAIN
};

/// How often the file holds the largest request, as the program has them: less often, and none follows another.
const LARGEST_IN_FILE: u64 = 4;

/// A request size in a metric's name: `512b`, `4k`, `64m`.
fn key(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) {
        format!("{}m", bytes >> 20)
    } else if bytes.is_multiple_of(1 << 10) {
        format!("{}k", bytes >> 10)
    } else {
        format!("{bytes}b")
    }
}

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let (smallest, largest) = (ctx.params.integer("size_min_bytes"), ctx.params.integer("size_max_bytes"));
    let (length, offset) = (ctx.params.integer("length_bytes"), ctx.params.integer("file_offset_bytes"));
    let depth = ctx.params.depth("queue_depth");
    // In small, the file has shrunk with the drive, and requests have not.
    let shrunk = ctx.is_small() && !ctx.params.is_set("length_bytes");
    let held = if shrunk { largest.min((length / LARGEST_IN_FILE).max(smallest)) } else { largest };
    if held > length || smallest > held {
        let expected = format!("at least size_min_bytes ({smallest}), at most length_bytes ({length})");
        return Err(ctx.params.value_error("size_max_bytes", &largest.to_string(), &expected).into());
    }
    let sizes: Vec<u64> =
        std::iter::successors(Some(smallest), |s| s.checked_mul(2)).take_while(|&s| s <= held).collect();
    let (runs, counters) = ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        if length > capacity || offset > capacity - length {
            return Err(BenchError::Unsuitable(format!(
                "a file of {} at byte {offset} does not fit a drive of {capacity} bytes",
                size(length)
            )));
        }
        ctx.settle_unprepared(host)?;
        let before = host.counters();
        let mut runs = Vec::new();
        for (i, &block) in sizes.iter().enumerate() {
            ctx.monitor().step_of(i, sizes.len());
            let mut pair = Vec::new();
            for pattern in [Pattern::sequential_write(length, block), Pattern::sequential_read(length, block)] {
                let source = build(ctx, &pattern.starting_at(offset).passes(1), "file")?;
                pair.push(timed(host, &mut ctx.job(source, depth))?);
            }
            runs.push(pair);
        }
        Ok((runs, host.counters().since(&before)))
    })?;
    let method = format!(
        "A file of {} on {}, written and then read in sequence at QD{depth} with each request size in turn.",
        size(length),
        ctx.begins().a_drive(),
    );
    let mut out = ctx.outcome("", method);
    if let Some(last) = sizes.last().filter(|&&last| last <= largest / 2) {
        out.notes.push(format!(
            "Requests larger than {} are left out: the file is an eighth of that of a full run, and would hold too few of them.",
            size(*last)
        ));
    }
    let mut lines = Vec::new();
    let mut elapsed = 0;
    for (column, name) in ["write", "read"].into_iter().enumerate() {
        let mut rates = Vec::new();
        for (pair, &block) in runs.iter().zip(&sizes) {
            let m = &pair[column].measurement;
            rates.push(m.mb_per_s());
            elapsed += m.elapsed();
            put(&mut out, &format!("{name}_{}", key(block)), m.mb_per_s(), "MB/s");
            put_causes_of_run(&mut out, &format!("{} {name}", size(block)), m);
        }
        put(&mut out, &format!("{name}_peak"), max(&rates), "MB/s");
        lines.push(series(name, by_category(&rates)));
    }
    put_counters(&mut out, &counters, elapsed);
    out.charts.push(chart(
        "rate-by-size",
        "Rate by request size",
        "",
        Mark::Bars,
        categories("request size", "", sizes.iter().map(|&s| size(s)).collect()),
        Axis { min: Some(0.0), ..Axis::linear("rate", "MB/s") },
        lines,
    ));
    Ok(out)
}
