//! `fileserver`: Iometer's file server access pattern at rising load.

use ssdlab_workload::pattern::named;

use super::common::{build, fill_drive, gigabytes, note_if_few, timed};
use super::context::Context;
use super::definition::{PLAIN, TestDef, depth, depths, metric, seconds};
use super::figures::{by_category, categories, chart, put, put_causes_of_run, put_counters, put_latencies, series};
use super::stalls::{note_outlasted, put_stalls, show_stalls};
use super::tail::tail_chart;
use crate::error::BenchError;
use crate::outcome::{Axis, Mark, NotSteady, Outcome, Unsettled};

/// A mean of fewer requests than this for each that is outstanding says nothing of the queue.
const REQUESTS_OF_QUEUE: u64 = 2;

/// Of a run in which nothing was answered for this share of it at a stretch, in per cent, the rate is that of the rest.
const LONG_GAP_PERCENT: f64 = 25.0;

pub(super) const DEF: TestDef = TestDef {
    name: "fileserver",
    title: "Iometer file server",
    summary: "80 % reads, 100 % random, 512 B to 64 KiB (60 % of them 4 KiB), aligned to sectors, over all of a full \
              drive, at 1 to 256 outstanding requests.",
    params: &[
        depths(
            "queue_depths",
            "1,4,8,64,256",
            "outstanding requests: Iometer's linear, very light, light, moderate, heavy load",
        )
        .beside_method(),
        depth("headline_depth", "8", "the load whose figures are the test's; it must be among queue_depths"),
        seconds("seconds", "60", "length of each load. Not published"),
    ],
    metrics: &[
        metric("iops", "IOPS", "here, as of bandwidth and latencies: at headline_depth"),
        metric("iops_qd{depth}", "IOPS", "at each load"),
        metric("latency_mean_qd{depth}", "us", "at each load"),
    ],
    weight: 20.0,
    sends_single_sectors: true,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let queue_depths = ctx.params.list("queue_depths").to_vec();
    let headline = ctx.params.integer("headline_depth");
    if !queue_depths.contains(&headline) {
        let expected = "one of queue_depths, or its figures would not be measured";
        return Err(ctx.params.value_error("headline_depth", &headline.to_string(), expected).into());
    }
    let steps = queue_depths.len() + 1;
    let ((capacity, is_array), runs) = ctx.on_copies(
        &queue_depths,
        |host| {
            ctx.monitor().step_of(0, steps);
            fill_drive(host)?;
            ctx.settle(host)?;
            Ok((host.info().capacity_bytes, host.info().kind == "array"))
        },
        |host, &(capacity, _), i, &depth| {
            ctx.monitor().step_of(i + 1, steps);
            let source = build(ctx, &named::file_server(capacity), &format!("qd{depth}"))?;
            timed(host, &mut ctx.job(source, depth as u32).for_nanos(ctx.nanos("seconds")))
        },
    )?;
    let method = format!(
        "The drive ({} GB) was filled in sequence. Then Iometer's file server pattern for {} s at each load, each {}.",
        gigabytes(capacity),
        ctx.params.seconds("seconds"),
        ctx.each_filled(),
    );
    let mut out = ctx.outcome("", method);
    let mut iops = Vec::new();
    for (run, &depth) in runs.iter().zip(&queue_depths) {
        let m = &run.measurement;
        iops.push(m.iops());
        put(&mut out, &format!("iops_qd{depth}"), m.iops(), "IOPS");
        // Of fewer, most are those that a cache answered at once, or the first of a queue that is far from through.
        if m.requests() >= REQUESTS_OF_QUEUE * depth {
            put(&mut out, &format!("latency_mean_qd{depth}"), m.latency().mean() / 1e3, "us");
        }
        put_causes_of_run(&mut out, &format!("QD{depth}"), m);
        if depth == headline {
            put(&mut out, "iops", m.iops(), "IOPS");
            put(&mut out, "bandwidth", m.mb_per_s(), "MB/s");
            put_latencies(&mut out, &m.latency(), "");
            put_counters(&mut out, &run.counters, run.counted);
            put_stalls(&mut out, &run.stalls, "");
            note_if_few(m.requests(), &mut out.notes);
        } else {
            note_outlasted(&mut out, &run.stalls, &format!("At QD{depth}, when"));
        }
    }
    let at_headline = queue_depths.iter().position(|&d| d == headline);
    let share = at_headline.map(|at| runs[at].stalls.percent_in_longest()).filter(|_| is_array && ctx.is_small());
    let has_rates = !share.is_some_and(|share| leave_rates_to_a_full_run(&mut out, share));
    let names: Vec<String> = queue_depths.iter().map(u64::to_string).collect();
    let by_load = has_rates.then(|| {
        chart(
            "iops-by-load",
            "File server: IOPS by outstanding requests",
            "Every load starts from the same state: filled once in sequence.",
            Mark::Line,
            categories("outstanding requests", "", names.clone()),
            Axis { min: Some(0.0), ..Axis::linear("IOPS", "IOPS") },
            vec![series("file server", by_category(&iops))],
        )
    });
    out.charts.extend(by_load);
    let histograms: Vec<_> = runs.iter().map(|r| r.measurement.latency()).collect();
    let labels: Vec<String> = names.iter().map(|n| format!("QD{n}")).collect();
    let lines: Vec<_> = labels.iter().map(String::as_str).zip(&histograms).collect();
    if has_rates {
        out.charts.push(tail_chart(&lines));
    }
    if let Some(at) = at_headline {
        show_stalls(&mut out, &runs[at].stalls, &format!("File server, QD{headline}"));
    }
    Ok(out)
}

/// Of a set in small: whether so much of its time went by without an answer that its rates are those of the length of the run. A cache
/// of an adapter takes as much in an eighth of the time as in all of it, and no more is answered until it has been written out. Then
/// they are left out. `share`: of the longest time without an answer, in per cent.
fn leave_rates_to_a_full_run(out: &mut Outcome, share: f64) -> bool {
    if share < LONG_GAP_PERCENT {
        return false;
    }
    let why = format!("nothing was answered for {share:.0} % of this shorter run at a stretch");
    out.notes.push(format!("Rates and latencies are left to a full run: {why}."));
    out.not_steady.push(NotSteady::new(Unsettled::LeftToFullRun, why));
    out.time_shares.clear();
    out.metrics.retain(|key, _| !["iops", "bandwidth", "latency_"].iter().any(|of| key.starts_with(of)));
    true
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::outcome::TimeShare;

    #[test]
    fn rates_of_a_set_in_small_that_stops_answering_are_left_to_a_full_run() {
        let left = |share: f64| {
            let mut out = Outcome::default();
            ["iops", "iops_qd8", "latency_mean_qd8", "bandwidth", "waf"]
                .iter()
                .for_each(|key| put(&mut out, key, 1.0, ""));
            out.time_shares.push(TimeShare {
                label: "QD8".to_owned(),
                ios: 1,
                latency_mean_us: 1.0,
                mean_us: BTreeMap::new(),
            });
            let is_left = leave_rates_to_a_full_run(&mut out, share);
            assert_eq!(out.time_shares.is_empty(), is_left, "nor where their time went");
            assert_eq!(out.is_unsettled_by(Unsettled::LeftToFullRun), is_left);
            (is_left, out.metrics.len())
        };
        assert_eq!((left(98.6), left(3.0)), ((true, 1), (false, 5)));
    }
}
