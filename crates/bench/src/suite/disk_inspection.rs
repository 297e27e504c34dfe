//! `disk-inspection`: the transfer rate from the first to the last address, as WinBench 99 draws it.

use ssdlab_core::{Nanos, SECOND};
use ssdlab_device::Completion;

use super::common::{FILL_BLOCK_BYTES, fill_drive, gigabytes, size};
use super::context::Context;
use super::definition::{PLAIN, TestDef, block, bytes, depth, integer, metric};
use super::figures::{chart, max, mean, min, put, put_causes, series};
use super::sweep::axes;
use crate::error::BenchError;
use crate::host::Host;
use crate::measure::{Measurement, Meter};
use crate::outcome::{Mark, Outcome};

pub(super) const DEF: TestDef = TestDef {
    name: "disk-inspection",
    title: "Disk inspection",
    summary: "A full drive is read in sequence at places spread evenly from the first to the last address: the transfer rate \
              at the beginning, at the end, and between.",
    params: &[
        block("block_size", "131072", "size of the reads. Not published"),
        depth("queue_depth", "1", "reads in flight. Not published"),
        integer("places", "64", "", 2, 100_000, "points of the curve. Not published").beside_method(),
        bytes(
            "place_bytes",
            "32MiB",
            4096,
            1 << 40,
            "read in sequence at each place, or as much as there is between two of them. Not published",
        )
        .beside_method(),
    ],
    metrics: &[
        metric(
            "rate_begin",
            "MB/s",
            "transfer rate at the first addresses, in decimal megabytes; of a drive that has nothing left to do after the fill, \
             unless `settle_seconds` is set to something else than its default",
        ),
        metric("rate_end", "MB/s", "transfer rate at the last addresses"),
        metric("rate_mean", "MB/s", "mean of the rates at all places"),
        metric("rate_min", "MB/s", "the slowest place"),
        metric("rate_max", "MB/s", "the fastest place"),
    ],
    weight: 6.0,
    leads: &["rate_begin", "rate_end"],
    ..PLAIN
};

/// Bytes after the first completion, and the time that they took: how long the way to the place is does not count.
#[derive(Default)]
struct Transfer {
    first: Option<Nanos>,
    last: Nanos,
    bytes: u64,
}

impl Meter for Transfer {
    fn record(&mut self, _job: usize, io: &Completion) {
        if self.first.is_none() {
            self.first = Some(io.completed);
        } else {
            self.bytes += io.length_bytes;
        }
        self.last = io.completed;
    }
}

impl Transfer {
    fn mb_per_s(&self) -> f64 {
        let elapsed = self.last - self.first.unwrap_or(self.last);
        if elapsed == 0 { 0.0 } else { self.bytes as f64 / 1e6 / (elapsed as f64 / SECOND as f64) }
    }
}

/// Reads a piece in sequence at each of so many places: rates in MB/s by position in GB.
pub(super) fn inspect(
    host: &mut Host<'_>,
    places: u64,
    piece: u64,
    (block, depth): (u64, u32),
    mut step: impl FnMut(u64),
) -> Result<(Vec<[f64; 2]>, Measurement), BenchError> {
    // The first begins at the first address and the last ends at the last.
    let room = u128::from((host.info().capacity_bytes - piece) / block * block);
    let (mut points, mut all) = (Vec::new(), Measurement::default());
    for place in 0..places {
        step(place);
        let at = (room * u128::from(place) / u128::from(places - 1)) as u64 / block * block;
        let mut meters = (Transfer::default(), Measurement::default());
        host.read_through(at, piece, block, depth, &mut meters)?;
        meters.1.check_causes().map_err(BenchError::Books)?;
        all.merge(&meters.1);
        points.push([(at as f64 + piece as f64 / 2.0) / 1e9, meters.0.mb_per_s()]);
    }
    Ok((points, all))
}

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let (block, depth) = (ctx.params.integer("block_size"), ctx.params.depth("queue_depth"));
    let places = ctx.params.integer("places");
    let (points, measurement, capacity, piece) = ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        let piece = ctx.params.integer("place_bytes").min(capacity / places) / block * block;
        // A rate needs two requests, and more of them to be one.
        if piece < 2 * block {
            return Err(BenchError::Unsuitable(format!(
                "{places} places of at least two requests of {block} bytes do not fit {} GB",
                gigabytes(capacity)
            )));
        }
        ctx.monitor().step(0.0, 0.5);
        fill_drive(host)?;
        ctx.settle(host)?;
        // The places are read in the order of their addresses: what the fill left to do would slow the first of them.
        if !ctx.params.is_set_otherwise("settle_seconds") {
            host.settle()?;
        }
        let part = |i: u64| 0.5 + 0.5 * i as f64 / places as f64;
        let step = |place: u64| ctx.monitor().step(part(place), part(place + 1));
        let (points, all) = inspect(host, places, piece, (block, depth), step)?;
        Ok((points, all, capacity, piece))
    })?;
    let method = format!(
        "The drive ({} GB) was filled in sequence with {} writes. Then {} were read in sequence at each of {places} places, \
         with {} requests at QD{depth}. The first request at a place is not counted: it goes there.",
        gigabytes(capacity),
        size(FILL_BLOCK_BYTES),
        size(piece),
        size(block),
    );
    let mut out = ctx.outcome("", method);
    let rates: Vec<f64> = points.iter().map(|p| p[1]).collect();
    put(&mut out, "rate_begin", rates[0], "MB/s");
    put(&mut out, "rate_end", rates[rates.len() - 1], "MB/s");
    put(&mut out, "rate_mean", mean(&rates), "MB/s");
    put(&mut out, "rate_min", min(&rates), "MB/s");
    put(&mut out, "rate_max", max(&rates), "MB/s");
    put_causes(&mut out, "sequential read", &measurement);
    let (x, y) = axes();
    out.charts.push(chart(
        "rate-by-position",
        "Transfer rate by position",
        "",
        Mark::Line,
        x,
        y,
        vec![series("read", points)],
    ));
    Ok(out)
}
