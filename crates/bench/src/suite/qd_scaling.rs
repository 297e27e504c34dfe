//! `qd-scaling`: rates against queue depth, random and sequential, reads and writes.

use ssdlab_workload::Pattern;

use super::common::{Timed, amount, build, fill_drive, fit_span, size, timed};
use super::context::Context;
use super::definition::{PLAIN, TestDef, block, choice, depths, metric, seconds, span};
use super::figures::{by_category, categories, chart, put, put_causes_of_run, series};
use super::stalls::note_outlasted;
use crate::error::BenchError;
use crate::measure::Energy;
use crate::outcome::{Axis, Mark, Outcome, Series};

/// The figure in the bar charts is the mean over these depths.
const BAR_DEPTHS: [u64; 3] = [1, 2, 4];

pub(super) const DEF: TestDef = TestDef {
    name: "qd-scaling",
    title: "Queue depth scaling",
    summary: "4 KiB random and 128 KiB sequential reads and writes at QD 1 to 32 in powers of two, 3 minutes each, \
              (to 256 where the device takes so many), one after the other without a rest: random reads over a full drive, random writes over 16 GB of an \
              otherwise empty one, sequential over everything.",
    params: &[
        choice(
            "pattern",
            "all",
            &["all", "random-read", "random-write", "sequential-read", "sequential-write"],
            "which of the four; each begins with a new drive",
        )
        .beside_method(),
        depths(
            "queue_depths",
            "auto",
            "requests in flight, a run for each; left to the test, powers of two to 32, and on to 256 where the device takes more",
        )
        .beside_method(),
        seconds("seconds", "180", "length of each run"),
        span(
            "write_span_bytes",
            "16GB",
            "the random writes stay within the first so many bytes; the rest of the drive is empty",
        ),
        block("random_block_size", "4096", "size of random requests"),
        block("sequential_block_size", "131072", "size of sequential requests"),
    ],
    metrics: &[
        metric("random_read_iops_qd{depth}", "IOPS", "at each depth").likewise(&["random_write_iops_qd{depth}"]),
        metric("random_read_qd{depth}", "MB/s", "at each depth").likewise(&[
            "random_write_qd{depth}",
            "sequential_read_qd{depth}",
            "sequential_write_qd{depth}",
        ]),
        metric("random_read_bar", "MB/s", "mean of QD 1, 2 and 4, where all three were run").likewise(&[
            "random_write_bar",
            "sequential_read_bar",
            "sequential_write_bar",
        ]),
        metric("random_read_power_qd{depth}", "W", "mean power of the run, where the device meters energy").likewise(
            &["random_write_power_qd{depth}", "sequential_read_power_qd{depth}", "sequential_write_power_qd{depth}"],
        ),
    ],
    weight: 60.0,
    ..PLAIN
};

/// What the reviews ran, and what a device takes beyond it.
fn depths_to(queue_depth: u32) -> Vec<u64> {
    let most = u64::from(queue_depth).clamp(32, 256);
    (0..).map(|power| 1 << power).take_while(|&depth| depth <= most).collect()
}

struct Part {
    name: &'static str,
    key: &'static str,
    random: bool,
    read: bool,
}

const PARTS: [Part; 4] = [
    Part { name: "random-read", key: "random_read", random: true, read: true },
    Part { name: "random-write", key: "random_write", random: true, read: false },
    Part { name: "sequential-read", key: "sequential_read", random: false, read: true },
    Part { name: "sequential-write", key: "sequential_write", random: false, read: false },
];

/// One drive through all queue depths, as the reviews ran it; and how many bytes the drive has.
fn run_part(
    ctx: &Context<'_>,
    part: &Part,
    progress: (f64, f64),
    notes: &mut Vec<String>,
) -> Result<(Vec<Timed>, u64), BenchError> {
    let queue_depths = ctx.params.list("queue_depths").to_vec();
    let asked = if part.random && !part.read { ctx.params.integer("write_span_bytes") } else { u64::MAX };
    let block = ctx.params.integer(if part.random { "random_block_size" } else { "sequential_block_size" });
    let (from, share) = (progress.0, (progress.1 - progress.0) / (queue_depths.len() + 1) as f64);
    ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        ctx.monitor().step(from, from + share);
        if part.read {
            fill_drive(host)?;
            ctx.settle(host)?;
        } else {
            ctx.settle_unprepared(host)?;
        }
        let span = fit_span(if asked == u64::MAX { capacity } else { asked }, capacity, block, notes)?;
        let pattern = match (part.random, part.read) {
            (true, true) => Pattern::random_read(span, block),
            (true, false) => Pattern::random_write(span, block),
            (false, true) => Pattern::sequential_read(span, block),
            (false, false) => Pattern::sequential_write(span, block),
        };
        let run = |(i, &depth): (usize, &u64)| {
            ctx.monitor().step(from + share * (i + 1) as f64, (from + share * (i + 2) as f64).min(1.0));
            let source = build(ctx, &pattern, &format!("{} at {depth}", part.name))?;
            timed(host, &mut ctx.job(source, depth as u32).for_nanos(ctx.nanos("seconds")))
        };
        let runs = queue_depths.iter().enumerate().map(run).collect::<Result<_, BenchError>>()?;
        Ok((runs, capacity))
    })
}

/// What sequential runs that began anew at each depth, and did not get through the drive, say nothing of.
fn reach(part: &Part, runs: &[Timed], capacity: u64) -> Option<String> {
    let most = runs.iter().map(|run| run.measurement.bytes()).max().filter(|_| !part.random)?;
    let name = part.name.replace('-', " ");
    (most < capacity).then(|| {
        let over = if part.read || runs.len() < 2 { "" } else { ", all but the first of them over what was there" };
        let percent = 100.0 * most as f64 / capacity as f64;
        format!("The {name}s got through the first {percent:.0} % of the drive at most, at each depth from its beginning{over}.")
    })
}

/// Rates of sequential writes below this share of an earlier depth's are no matter of the depth.
const FALLS: f64 = 0.5;

/// Of sequential writes on a drive in small: from which depth on they have fallen for what was written before. Where the whole
/// drive is near that, a few per cent decide, and a drive in small has its spare area and its cache in proportion no more closely.
fn falls(queue_depths: &[u64], rates: &[f64]) -> Option<String> {
    let best_before = |i: usize| rates[..i].iter().copied().fold(0.0, f64::max);
    let at = (1..rates.len()).find(|&i| rates[i] < FALLS * best_before(i))?;
    let depth = queue_depths.get(at)?;
    Some(format!(
        "From QD{depth} on, sequential writes come to less than half of what they did before. That hangs on how much was written \
         until then, and a drive in small may come to it some per cent earlier or later than the whole one: whether, and from \
         which depth on, that does so takes a full run."
    ))
}

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let wanted = ctx.params.choice("pattern").to_owned();
    let most = ctx.queue_depth()?;
    let queue_depths = ctx.params.decide_list("queue_depths", || depths_to(most));
    let parts: Vec<&Part> = PARTS.iter().filter(|p| wanted == "all" || wanted == p.name).collect();
    // As asked, until a drive turns out to be smaller.
    let mut write_span = ctx.params.integer("write_span_bytes");
    let has = |is_wanted: fn(&Part) -> bool| parts.iter().any(|part| is_wanted(part));
    let method = |ctx: &Context<'_>, write_span: u64| {
        let states = [
            has(|part| part.read).then(|| "reads after a sequential fill of the whole drive".to_owned()),
            has(|part| part.random && !part.read)
                .then(|| format!("random writes over {} of an empty drive", amount(write_span))),
            has(|part| !part.random && !part.read).then(|| "sequential writes on an empty drive".to_owned()),
            has(|part| !part.random).then(|| "sequential ones at each depth from the first address on".to_owned()),
        ];
        format!(
            "Each pattern at QD {}, {} s each, one after the other without a rest, on a new drive: {}.",
            queue_depths.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
            ctx.params.seconds("seconds"),
            states.into_iter().flatten().collect::<Vec<_>>().join("; "),
        )
    };
    let mut out = ctx.outcome(if wanted == "all" { "" } else { &wanted }, String::new());
    let (mut random, mut sequential, mut power): (Vec<Series>, Vec<Series>, Vec<Series>) = Default::default();
    let (mut notes, mut fallen) = (Vec::new(), None);
    for (i, part) in parts.iter().enumerate() {
        let progress = (i as f64 / parts.len() as f64, (i + 1) as f64 / parts.len() as f64);
        let (runs, capacity) = run_part(ctx, part, progress, &mut notes)?;
        write_span = write_span.min(capacity);
        notes.extend(reach(part, &runs, capacity));
        let rates: Vec<f64> = runs.iter().map(|r| r.measurement.mb_per_s()).collect();
        let iops: Vec<f64> = runs.iter().map(|r| r.measurement.iops()).collect();
        if ctx.is_small() && !part.random && !part.read {
            fallen = falls(&queue_depths, &rates);
            notes.extend(fallen.clone());
        }
        let name = part.name.replace('-', " ");
        if part.random {
            random.push(series(&name, by_category(&iops)));
        } else {
            sequential.push(series(&name, by_category(&rates)));
        }
        let watts = |r: &Timed| Energy::of(&r.counters, r.counted).map(|e| e.watts());
        if let Some(watts) = runs.iter().map(watts).collect::<Option<Vec<f64>>>() {
            for (depth, watts) in queue_depths.iter().zip(&watts) {
                put(&mut out, &format!("{}_power_qd{depth}", part.key), *watts, "W");
            }
            power.push(series(&name, by_category(&watts)));
        }
        for (run, depth) in runs.iter().zip(&queue_depths) {
            if part.random {
                put(&mut out, &format!("{}_iops_qd{depth}", part.key), run.measurement.iops(), "IOPS");
            }
            put(&mut out, &format!("{}_qd{depth}", part.key), run.measurement.mb_per_s(), "MB/s");
            put_causes_of_run(&mut out, &format!("{name} QD{depth}"), &run.measurement);
            note_outlasted(&mut out, &run.stalls, &format!("With {name} requests at QD{depth}, when"));
        }
        let at = |d: &u64| queue_depths.iter().position(|q| q == d).map(|i| rates[i]);
        let bar: Option<Vec<f64>> = BAR_DEPTHS.iter().map(at).collect();
        if let Some(bar) = bar {
            put(&mut out, &format!("{}_bar", part.key), bar.iter().sum::<f64>() / bar.len() as f64, "MB/s");
        }
    }
    out.notes.splice(0..0, notes);
    out.method = method(ctx, write_span);
    let names: Vec<String> = queue_depths.iter().map(u64::to_string).collect();
    let (random_size, sequential_size) =
        (size(ctx.params.integer("random_block_size")), size(ctx.params.integer("sequential_block_size")));
    for (id, title, y, lines) in [
        ("random", format!("{random_size} random: IOPS by queue depth"), Axis::linear("rate", "IOPS"), random),
        (
            "sequential",
            format!("{sequential_size} sequential: bandwidth by queue depth"),
            Axis::linear("bandwidth", "MB/s"),
            sequential,
        ),
        ("power", "Power by queue depth".to_owned(), Axis::linear("power", "W"), power),
    ] {
        if !lines.is_empty() {
            let x = categories("queue depth", "", names.clone());
            let y = Axis { min: Some(0.0), ..y };
            let caption = "The depths follow one another on one drive, without a rest: filled once in sequence for reads, empty \
                           before the first writes.";
            let fallen = fallen.as_deref().filter(|_| id == "sequential");
            let caption = [caption].into_iter().chain(fallen).collect::<Vec<_>>().join(" ");
            out.charts.push(chart(id, &title, &caption, Mark::Line, x, y, lines));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{depths_to, falls};

    #[test]
    fn writes_that_fall_for_what_was_written_before_are_told_as_such() {
        let depths = [1, 2, 4, 8, 16, 32];
        let told = falls(&depths, &[360.0, 319.0, 372.1, 67.5, 122.1, 70.9]).unwrap();
        assert!(told.starts_with("From QD8 on") && told.contains("takes a full run"), "{told}");
        assert_eq!(falls(&depths, &[363.3, 316.2, 374.4, 374.4, 374.4, 374.4]), None);
        assert_eq!(falls(&[32], &[70.9]), None);
    }

    #[test]
    fn depths_end_where_the_reviews_ended_or_the_device_does() {
        assert_eq!(depths_to(1), [1, 2, 4, 8, 16, 32]);
        assert_eq!(depths_to(32), depths_to(1));
        assert_eq!(depths_to(100).last(), Some(&64));
        assert_eq!((depths_to(1023).last(), depths_to(1023).len()), (Some(&256), 9));
    }
}
