//! `slc-cache`: sequential writes over an erased drive; at which positions the rate drops, and how much of the first,
//! fast stage comes back after idle time.

use super::common::{erase, gigabytes, size};
use super::context::Context;
use super::definition::{PLAIN, TestDef, block, choice, depth, depths, integer, metric, seconds};
use super::figures::{by_category, categories, chart, put, put_causes, put_counters, put_power, series};
use super::slc_recovery::{Recovered, Target, recover};
use super::slc_stages::{SHORTEST_ZONES, Stage, Traffic, buffered, find_stages};
use super::sweep::{Sweep, axes};
use crate::change_points::SAME_LEVEL;
use crate::error::BenchError;
use crate::measure::{ByPosition, Measurement, PowerPerSecond};
use crate::outcome::{Axis, Mark, Outcome, Table};
use crate::params::{Kind, ParamDef};

/// Idle times, in whole seconds; 0 among them.
const IDLE: ParamDef = ParamDef {
    kind: Kind::List { min: 0, max: 1_000_000 },
    ..depths("idle_seconds", "0,1,10,60,600", "idle times after which the recovery is measured, one after the other")
        .beside_method()
};
const TORTURE: ParamDef = ParamDef {
    kind: Kind::Integer { min: 0, max: 1_000_000 },
    quick_divisor: 1,
    ..seconds(
        "torture_seconds",
        "0",
        "4 KiB random writes at QD32 over the full drive for so long before TRIM, as the TRIM test does; 0: none",
    )
};

pub(super) const DEF: TestDef = TestDef {
    name: "slc-cache",
    title: "SLC cache",
    summary: "An erased drive is written in sequence from the first to the last address. Where the rate changes is found by \
              a change-point method: stages with rate, amount and the place of the drop. Then: how much can be written at \
              the first stage's rate again after idle times of 0 to 600 s, overwriting, and after TRIM of everything.",
    params: &[
        block("block_size", "131072", "size of the requests"),
        depth("queue_depth", "1", "requests in flight. 1, as HD Tach, whose curves show the stages in the reviews"),
        integer("zones", "2000", "", 8, 20_000, "points of the curve: equal zones of the address range. Not published")
            .beside_method(),
        IDLE,
        choice(
            "recovery",
            "both",
            &["both", "overwrite", "trim", "none"],
            "whether the drive is just written again, or the full drive trimmed before it rests. Not published as a test of \
             its own",
        )
        .beside_method(),
        TORTURE,
    ],
    metrics: &[
        metric("stages", "count", "stages of the curve; 1: no cache shows"),
        metric("buffer_stages", "count", "of these: at the begin, where the write buffer took what the flash had yet to program; absent: none"),
        metric("stage{n}_bandwidth", "MB/s", "rate of the n-th stage, from 1: its bytes over its time"),
        metric("stage{n}_amount", "GB", "how much was written in it").higher(),
        metric("stage{n}_end", "%", "where it ends, in per cent of the addresses").higher(),
        metric(
            "stage{n}_folded",
            "ratio",
            "bytes folded into denser cells meanwhile, over bytes written by the host, where the drive tells",
        ),
        metric("recovered_overwrite_{seconds}s", "GB", "written at the first stage's rate after so much idle time").higher(),
        metric("recovered_trim_{seconds}s", "GB", "the same after TRIM of the full drive").higher(),
    ],
    weight: 60.0,
    leads: &["stage1_bandwidth", "stage1_amount", "recovered_trim_600s"],
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let targets: &[Target] = match ctx.params.choice("recovery") {
        "overwrite" => &[Target::Overwrite],
        "trim" => &[Target::Trim],
        "none" => &[],
        _ => &[Target::Overwrite, Target::Trim],
    };
    let idle_seconds = ctx.params.list("idle_seconds").to_vec();
    let mut notes = Vec::new();
    let (erased, sweep, stages, (counters, power), recovered, capacity) = ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        // A real drive does not tell.
        if host.counters().flash.is_none() && host.device().clock().is_none() {
            return Err(BenchError::Unsuitable(format!("{} has no flash, and so no SLC cache", host.info().name)));
        }
        let erased = erase(ctx, host, &mut notes)?;
        let knows_trim = host.info().supports_trim;
        if !knows_trim && targets.contains(&Target::Trim) {
            notes.push("The drive does not know TRIM: recovery after it was left out.".to_owned());
        }
        let targets: Vec<Target> = targets.iter().copied().filter(|&t| t != Target::Trim || knows_trim).collect();
        // The sweep, then one more for each recovery after TRIM.
        let sweeps = 1 + targets.iter().map(|t| t.sweeps(idle_seconds.len())).sum::<usize>();
        ctx.monitor().step_of(0, sweeps);
        let before = host.counters();
        let (block, depth) = (ctx.params.integer("block_size"), ctx.params.depth("queue_depth"));
        let mut meters = (
            (ByPosition::new(capacity, ctx.params.integer("zones")), Measurement::default()),
            (Traffic::default(), PowerPerSecond::from(&before)),
        );
        host.fill(0, capacity, block, depth, &mut meters)?;
        let counters = host.counters().since(&before);
        let ((position, measurement), (mut traffic, power)) = meters;
        measurement.check_causes().map_err(BenchError::Books)?;
        traffic.end(&before, capacity, &counters);
        let stages = find_stages(&position, &traffic);
        let mut recovered = Vec::new();
        let mut step = 1;
        for target in targets.into_iter().filter(|_| has_cache(&stages)) {
            recovered.push((target, recover(ctx, host, target, &stages, (&mut step, sweeps))?));
        }
        Ok((erased, Sweep { position, measurement }, stages, (counters, power), recovered, capacity))
    })?;
    let method = format!(
        "{}, all {} GB were written in sequence with {} requests at QD{}. Stages were cut where the rate \
         changes (optimal partitioning of the logarithm of the rate).",
        erased.in_words(),
        gigabytes(capacity),
        size(ctx.params.integer("block_size")),
        ctx.params.depth("queue_depth"),
    );
    let mut out = ctx.outcome("", method);
    out.notes = notes;
    put(&mut out, "bandwidth", sweep.mean(), "MB/s");
    put_causes(&mut out, "sequential write", &sweep.measurement);
    put_counters(&mut out, &counters, sweep.measurement.elapsed());
    put_stages(&mut out, &sweep, &stages, capacity);
    put_power(&mut out, &power, "sequential write");
    if has_cache(&stages) {
        put_recovery(&mut out, &idle_seconds, &recovered);
    } else if stages.len() > 1 {
        out.notes.push("What is fast at the begin is the write buffer. No recovery was measured.".to_owned());
    } else {
        let whole = capacity * u64::from(ctx.small_by());
        out.notes.push(no_stages(&sweep, whole, ctx.params.integer("zones")));
    }
    if ctx.params.integer("torture_seconds") > 0 {
        let s = ctx.params.integer("torture_seconds");
        out.notes.push(format!("Before each TRIM, the full drive was written at random, 4 KiB at QD32, for {s} s."));
    }
    Ok(out)
}

/// Whether anything beside the write buffer is faster than the rest.
fn has_cache(stages: &[Stage]) -> bool {
    stages.len() > 1 + buffered(stages)
}

/// Why there is nothing to recover: what the curve shows, and what it would not show. `capacity`: of the whole drive, also where
/// the curve is of one in small.
fn no_stages(sweep: &Sweep, capacity: u64, zones: u64) -> String {
    let mut rates: Vec<f64> = sweep.points().into_iter().map(|[_, rate]| rate).collect();
    rates.sort_by(f64::total_cmp);
    let at = |percent: usize| rates.get(rates.len().saturating_sub(1) * percent / 100).copied().unwrap_or_default();
    let (low, high) = (at(5), at(95));
    let hidden = gigabytes(capacity / zones.max(1) * SHORTEST_ZONES as u64);
    let seen = if high < low * SAME_LEVEL {
        "The rate is the same everywhere".to_owned()
    } else {
        format!("No stages can be told apart: nine tenths of the zones were written with {low:.1} to {high:.1} MB/s")
    };
    format!("{seen}. No recovery was measured. A cache of less than some {hidden} GB would not show.")
}

fn put_stages(out: &mut Outcome, sweep: &Sweep, stages: &[Stage], capacity: u64) {
    let percent = |bytes: u64| 100.0 * bytes as f64 / capacity as f64;
    put(out, "stages", stages.len() as f64, "count");
    if buffered(stages) > 0 {
        put(out, "buffer_stages", buffered(stages) as f64, "count");
    }
    let (mut rows, mut steps) = (Vec::new(), Vec::new());
    for (i, stage) in stages.iter().enumerate() {
        let n = i + 1;
        put(out, &format!("stage{n}_bandwidth"), stage.mb_per_s, "MB/s");
        put(out, &format!("stage{n}_amount"), stage.amount_bytes() as f64 / 1e9, "GB");
        put(out, &format!("stage{n}_end"), percent(stage.to_bytes), "%");
        if let Some(folded) = stage.folded() {
            put(out, &format!("stage{n}_folded"), folded, "ratio");
        }
        steps.push([stage.from_bytes as f64 / 1e9, stage.mb_per_s]);
        steps.push([stage.to_bytes as f64 / 1e9, stage.mb_per_s]);
        rows.push(vec![
            format!("{n}: {}", stage.name(i, stages)),
            format!("{:.1} MB/s", stage.mb_per_s),
            format!("{:.2} GB", stage.amount_bytes() as f64 / 1e9),
            format!("{:.2} GB", stage.from_bytes as f64 / 1e9),
            format!("{:.2} GB ({:.1} %)", stage.to_bytes as f64 / 1e9, percent(stage.to_bytes)),
            stage.folded().map_or("not told".to_owned(), |folded| format!("{folded:.2}")),
        ]);
    }
    let (x, y) = axes();
    out.charts.push(chart(
        "rate-by-position",
        "Write rate by position, and its stages",
        "Sequential writes from the first to the last address.",
        Mark::Line,
        x,
        y,
        vec![series("zones", sweep.points()), series("stages", steps)],
    ));
    let zone = capacity as f64 / 1e9 / out.params["zones"].as_f64().unwrap_or(1.0);
    out.tables.push(Table {
        title: STAGES.to_owned(),
        caption: format!(
            "“Folded” is how many bytes moved into denser cells for each byte that the host wrote. The places of the drops \
             are known to about {zone:.2} GB, a zone of the curve."
        ),
        columns: ["stage", "rate", "amount", "from", "to", "folded"].map(str::to_owned).to_vec(),
        rows,
    });
}

/// Titles of the tables and the id of the chart that tell amounts.
pub(super) const STAGES: &str = "Stages";
pub(super) const RECOVERY: &str = "Recovery after idle time";
pub(super) const RECOVERY_CHART: &str = "recovery";

fn put_recovery(out: &mut Outcome, idle_seconds: &[u64], recovered: &[(Target, Vec<Recovered>)]) {
    if recovered.is_empty() {
        return;
    }
    let mut rows: Vec<Vec<String>> = idle_seconds.iter().map(|s| vec![format!("{s} s")]).collect();
    let mut bars = Vec::new();
    for (target, results) in recovered {
        for ((r, s), row) in results.iter().zip(idle_seconds).zip(&mut rows) {
            put(out, &format!("recovered_{}_{s}s", target.key()), r.gb(), "GB");
            row.push(format!("{}{:.2} GB", if r.at_least { "at least " } else { "" }, r.gb()));
        }
        bars.push(series(target.name(), by_category(&results.iter().map(Recovered::gb).collect::<Vec<_>>())));
    }
    out.charts.push(chart(
        RECOVERY_CHART,
        "How much is fast again after idle time",
        "Written at the first stage's rate before it dropped again.",
        Mark::Bars,
        categories("idle time", "", idle_seconds.iter().map(|s| format!("{s} s")).collect()),
        Axis { min: Some(0.0), ..Axis::linear("fast again", "GB") },
        bars,
    ));
    let mut columns = vec!["idle time".to_owned()];
    columns.extend(recovered.iter().map(|(t, _)| t.name().to_owned()));
    out.tables.push(Table {
        title: RECOVERY.to_owned(),
        caption:
            "How much could be written at the first stage's rate. The limit between fast and slow is the geometric \
                  mean of the first stage's rate and the next slower one's."
                .to_owned(),
        columns,
        rows,
    });
}
