//! `endurance`: how much can be written until the rated wear, and until data are lost.
//!
//! A drive's whole life cannot be simulated write by write, and need not be: once work is steady, wear grows in
//! proportion. The drive is filled and worked until it is steady; windows of work tell the wear of every block
//! ([`crate::wear_watch`]). Then its life is wound forward to points along it ([`ssdlab_device::Flash::fast_forward`] says how blocks spread), and at each
//! point the drive works again, which tells how much write amplification has changed, is looked at by its error
//! model, and is read after a time on the shelf as long as that can be done without loss.

use std::ops::Range;

use ssdlab_device::{Counters, Device, DeviceInfo, Differences, EccScheme, Flash, Wear};
use ssdlab_workload::{AccessPattern, BlockSizes, Distribution, Pattern, Zone, ZoneExtent};

use super::common::{FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, build, flash, gigabytes};
use super::context::Context;
use super::definition::{PLAIN, TestDef, choice, depths, integer, metric, number};
use super::figures::{chart, put, put_causes, series};
use crate::error::BenchError;
use crate::host::{Host, Job};
use crate::measure::{Measurement, Meter};
use crate::outcome::{Axis, Mark, NotSteady, Outcome, Table, Unsettled};
use crate::wear_watch::{Course, Pass, WINDOWS, Wearing, Worked, watch_wear};

pub(super) const DEF: TestDef = TestDef {
    name: "endurance",
    title: "Endurance",
    summary: "The drive is filled and worked until it is steady. From the wear that eight windows of work leave on every \
              block its life is wound forward to points along it; at each the drive works again, and what reading its data after \
              a time without power would bring comes from its error model. The figures are terabytes written until the rated \
              wear and until the first uncorrectable error. A method of our own: the makers do not publish theirs.",
    params: &[
        choice(
            "workload",
            "client",
            &["client", "random", "sequential"],
            "client: three quarters of the bytes random, in the sizes of the Light storage bench's published table, half of \
             them on 5 % of the data and 30 % on the next 15 % (the zones of JESD219's enterprise workload; no client drive's \
             are published), and a quarter in sequence (the shares of ULINK's JEDEC trace). random: 4 KiB, uniform. sequential: \
             128 KiB",
        ),
        integer(
            "fill_percent",
            "75",
            "%",
            1,
            100,
            "share of the drive that holds data, all of which is written again and again. Not published: a client's drive is \
             seldom full",
        ),
        number("settle_share", "1.5", "of the drive", 0.0, 100.0, "bytes written between filling and measuring"),
        number(
            "window_share",
            "0.5",
            "of the drive",
            0.001,
            10.0,
            "bytes written in each of eight windows, up to four times as many until blocks have been erased nearly once. More \
             bring `life_at_error_least` and `life_at_error_most` together",
        ),
        number(
            "point_share",
            "0.05",
            "of the drive",
            0.001,
            10.0,
            "bytes written at each point of its life, which tell how its write amplification has changed",
        ),
        depths(
            "points_percent",
            "25,50,75,100,125,150,200,250,300,400,500,600,800,1000,1500,2000",
            "points of its life, in per cent of the rated wear. The last ones are left out once data are lost, but not those \
             up to 100 %",
        )
        .beside_method(),
        integer(
            "retention_days",
            "365",
            "days",
            0,
            36_500,
            "time without power, at 30 °C, before data are read. JESD218 asks client drives for a year",
        ),
        number(
            "read_share",
            "0.01",
            "of the drive",
            0.0,
            1.0,
            "bytes of old data that are read at each point: of the last two fifths of what was filled, which are seldom written",
        ),
    ],
    metrics: &[
        metric("tb_until_rated", "TB", "bytes that the host can write until the mean wear is the rated one").higher(),
        metric(
            "tb_until_error",
            "TB",
            "bytes that the host can write until one uncorrectable 4 KiB unit is expected when all data are read once after \
             `retention_days`",
        ).higher().between(LIFE_BOUNDS),
        metric("life_at_error", "%", "mean wear at that point, in per cent of the rated one").higher().between(LIFE_BOUNDS),
        metric(
            LIFE_BOUNDS[0],
            "%",
            "the same if blocks differed for life by as much as the windows allow (two standard errors)",
        ).higher().between(LIFE_BOUNDS),
        metric(LIFE_BOUNDS[1], "%", "the same if they did by as little as the windows allow").higher().between(LIFE_BOUNDS),
        metric("life_at_error_bch", "%", "the same with hard-decision BCH of as much parity and nothing behind it")
            .higher()
            .between(LIFE_BOUNDS),
        metric("ecc_extension", "ratio", "the former over the latter: what soft decisions and parity add to the life").higher(),
        metric("waf_worn", "ratio", "write amplification at the last point").lower(),
        metric("wear_least", "%", "wear of the least worn block at the rated mean wear"),
        metric("wear_most", "%", "wear of the most worn block there"),
        metric(
            "reread_fresh",
            "%",
            "units that the plain read does not bring, after the time without power, of the new drive",
        ),
        metric("reread_rated", "%", "the same at the rated wear"),
        metric("old_read_fresh", "MB/s", "sequential read of data that were that long without power, on the new drive"),
        metric("old_read_rated", "MB/s", "the same at the rated wear, if that can be done without loss"),
    ],
    variants: AS_IT_IS_ON_REQUEST,
    weight: 40.0,
    ..PLAIN
};

const AS_IT_IS_ON_REQUEST: &[super::Variant] = &[super::Variant { name: "", settings: &[], in_review: false }];

/// How well the windows tell a life.
const LIFE_BOUNDS: [&str; 2] = ["life_at_error_least", "life_at_error_most"];

/// Old data are read as long as no more losses than this are expected in all of them.
const SAFE_LOSSES: f64 = 1e-3;
/// Of a life: an interval wider than this is told in words.
const WIDE: f64 = 0.1;
const DAY_S: u64 = 86_400;
/// What is done at a time, in capacities: the parts of the work start together in each piece, so that they keep their shares.
const PIECE: f64 = 1.0 / 32.0;
/// About how long a look at the drive and what is done in sequence take, of what so many drive writes take: for the progress.
const LOOK: f64 = 0.15;
const IN_SEQUENCE: f64 = 0.25;

/// What was found at one point of the drive's life.
struct Point {
    wear: Wear,
    /// Host bytes written up to here.
    host_bytes: f64,
    waf: f64,
    /// Share of all units that are read more than once.
    reread: Option<f64>,
    /// Expected number lost, of the whole drive.
    lost: Option<f64>,
    lost_bch: Option<f64>,
    old_read: Option<f64>,
}

/// The work of the host.
struct Work {
    sources: Vec<(AccessPattern, u64)>,
    pass: Pass,
}

impl Work {
    fn new(ctx: &Context<'_>, workload: &str, span: u64, capacity: u64) -> Result<Self, BenchError> {
        let pattern = |pattern: Pattern, percent: u64| build(ctx, &pattern, workload).map(|source| (source, percent));
        let (sources, pass) = match workload {
            "random" => (vec![pattern(Pattern::random_write(span, 4096), 100)?], Pass::NONE),
            "sequential" => (vec![pattern(Pattern::sequential_write(span, FILL_BLOCK_BYTES), 100)?], Pass::NONE),
            _ => {
                // AnandTech's Light bench, sizes below 4 KiB as 4 KiB and those that the table does not name as 32 KiB.
                let sizes = [(4, 338), (8, 24), (16, 80), (32, 246), (64, 48), (128, 264)]
                    .map(|(kib, share)| (kib << 10, share));
                let zone = |access_percent, percent| Zone { access_percent, extent: ZoneExtent::Percent(percent) };
                let random =
                    Pattern::random_write(span, 4096).block_sizes(BlockSizes::Split(sizes.to_vec())).distribution(
                        Distribution::Zoned([Vec::new(), vec![zone(50, 5), zone(30, 15), zone(20, 80)], Vec::new()]),
                    );
                let in_sequence = pattern(Pattern::sequential_write(span, FILL_BLOCK_BYTES), 25)?;
                (vec![pattern(random, 75)?, in_sequence], Pass::of_mix_with_hot_data(span, 0.25, capacity))
            }
        };
        Ok(Work { sources, pass })
    }

    /// Writes `bytes` in pieces; `course` marks each.
    fn go_on(
        &mut self,
        ctx: &Context<'_>,
        host: &mut Host<'_>,
        bytes: f64,
        meter: &mut impl Meter,
        course: &mut Course,
    ) -> Result<(), BenchError> {
        let piece = PIECE * host.info().capacity_bytes as f64;
        // The last one is as long as it must be; less than a thousandth of a piece is none.
        let pieces = libm::ceil(bytes / piece - 1e-3).max(1.0);
        for k in 0..pieces as u64 {
            let part = k as f64 / pieces..(k + 1) as f64 / pieces;
            let bytes = (bytes - k as f64 * piece).min(piece) as u64;
            let mut jobs: Vec<Job<&mut AccessPattern>> = self
                .sources
                .iter_mut()
                .map(|(source, percent)| ctx.job(source, 4).for_bytes((bytes * *percent / 100).max(1)))
                .collect();
            ctx.monitor().part(part, || host.run(&mut jobs, meter))?;
            course.mark(&host.counters());
        }
        Ok(())
    }
}

/// The work while its wear is watched.
struct Watched<'a, 'h> {
    work: &'a mut Work,
    ctx: &'a Context<'a>,
    host: &'a mut Host<'h>,
    measured: &'a mut Measurement,
    course: &'a mut Course,
}

impl Worked for Watched<'_, '_> {
    fn work(&mut self, bytes: f64) -> Result<(), BenchError> {
        self.work.go_on(self.ctx, self.host, bytes, self.measured, self.course)
    }

    fn counters(&mut self) -> Counters {
        self.host.counters()
    }

    fn flash(&mut self) -> Result<&mut dyn Flash, BenchError> {
        flash(self.host)
    }
}

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let workload = ctx.params.choice("workload").to_owned();
    let days = ctx.params.integer("retention_days");
    let mut percents = ctx.params.list("points_percent").to_vec();
    percents.push(100);
    percents.sort_unstable();
    percents.dedup();
    let mut info: Option<DeviceInfo> = None;
    let (points, at_error, bounds, work, doubts) = ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        info = Some(host.info().clone());
        if flash(host)?.wear().mean > 0.0 {
            return Err(BenchError::worn_before(&host.info().name));
        }
        let span = (capacity / 100 * ctx.params.integer("fill_percent")) / FILL_BLOCK_BYTES * FILL_BLOCK_BYTES;
        // The hot zones of the client workload come first.
        let cold = span / 5 * 3 / FILL_BLOCK_BYTES * FILL_BLOCK_BYTES..span;
        let share = |key: &str| ctx.params.number(key) * capacity as f64;
        let mut work = Work::new(ctx, &workload, span, capacity)?;
        let [filled, steady, watched, bounded] = progress(ctx, percents.len());
        ctx.monitor().step(0.0, filled);
        host.fill(0, span, FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, &mut ())?;
        ctx.monitor().step(filled, steady);
        let settled = share("settle_share");
        if settled >= 1.0 {
            work.go_on(ctx, host, settled, &mut (), &mut Course::default())?;
        }
        ctx.monitor().step(steady, watched);
        let mut measured = Measurement::default();
        let mut course = Course::default();
        course.mark(&host.counters());
        let mut worked = Watched { work: &mut work, ctx, host, measured: &mut measured, course: &mut course };
        let wearing = watch_wear(&mut worked, share("window_share"), ctx.monitor())?;
        if wearing.erases <= 0.0 {
            return Err(BenchError::Unsuitable(
                "no block was erased in the windows of work, so that nothing tells the wear of its life: raise window_share \
                 or settle_share"
                    .to_owned(),
            ));
        }
        let of_windows = course.waf(work.pass).unwrap_or(1.0);
        // That of what comes next.
        let mut waf = of_windows;
        ctx.monitor().step(watched, bounded);
        // With as many lasting differences life is shortest.
        let bounds = [Differences::Most, Differences::Least].map(|d| bound(ctx, host, &percents, d));
        let [shortest, longest] = bounds;
        let bounds = shortest?.zip(longest?);
        let mut points: Vec<Point> = Vec::new();
        let mut host_bytes = host.counters().host.write_bytes as f64;
        points.push(look(ctx, host, &cold, host_bytes, waf)?);
        // For the progress: how many there will be before data are lost.
        let last = match points[0].lost {
            None => 1.0,
            Some(_) => bounds.map_or(f64::INFINITY, |(_, longest)| longest.max(1.0)),
        };
        let count = percents.iter().position(|&percent| percent as f64 / 100.0 >= last).map_or(percents.len(), |k| k + 1);
        for (k, &percent) in percents.iter().enumerate() {
            let at = |k: usize| (bounded + (1.0 - bounded) * k as f64 / count as f64).min(1.0);
            ctx.monitor().step(at(k), at(k + 1));
            let (target, from) = (percent as f64 / 100.0, flash(host)?.wear().mean);
            let lost = points.iter().any(|p| p.lost.is_some_and(|lost| lost >= 1.0));
            let lost_bch = points.iter().all(|p| p.lost_bch.is_none_or(|lost| lost < 1.0));
            let nothing_to_find = points[0].lost.is_none();
            if target <= from
                || target > 1.0 && (nothing_to_find || lost && !(lost_bch && points[0].lost_bch.is_some()))
            {
                continue;
            }
            flash(host)?.fast_forward(target, Differences::AsFound);
            let reached = flash(host)?.wear().mean;
            host_bytes += (reached - from) / (waf * wearing.per_program());
            let before = host.counters();
            work.go_on(ctx, host, share("point_share"), &mut (), &mut Course::default())?;
            let after = host.counters();
            let (begun, ended) = (before.host.write_bytes as f64, after.host.write_bytes as f64);
            host_bytes += ended - begun;
            // A point is far shorter than a pass: it tells how much the worn drive differs from the one in the windows.
            let there = course.waf_there(work.pass, begun..ended);
            if let Some((here, there)) = after.since(&before).waf().zip(there).filter(|&(a, b)| a > 0.0 && b > 0.0) {
                waf = of_windows * here / there;
            }
            points.push(look(ctx, host, &cold, host_bytes, waf)?);
        }
        let at_error = [EccScheme::Installed, EccScheme::HardBch].map(|scheme| first_error(ctx, host, &points, scheme));
        let [installed, bch] = at_error;
        measured.check_causes().map_err(BenchError::Books)?;
        let doubts = doubts(&points, &wearing, &course, work.pass, capacity as f64, share("point_share"));
        Ok((points, [installed?, bch?], bounds, measured, doubts))
    })?;
    ctx.monitor().step(1.0, 1.0);

    let info = info.expect("the drive has been asked");
    let method = format!(
        "{} GB of the drive were filled and worked ({workload}) until steady; {WINDOWS} windows of work told the wear of each \
         block, by which its life was wound forward to {} points. At each it worked again, and its data were looked at \
         after {days} days without power at 30 °C.",
        gigabytes(info.capacity_bytes / 100 * ctx.params.integer("fill_percent")),
        points.len() - 1,
    );
    let mut out = ctx.outcome("", method);
    figures(&mut out, &points, at_error);
    out.not_steady = doubts;
    put_bounds(&mut out, at_error[0], bounds, ctx.small_by());
    out.notes.extend(out.not_steady.iter().map(NotSteady::sentence));
    put_causes(&mut out, &format!("{workload} writes"), &work);
    show(&mut out, &points, ctx.small_by(), days);
    Ok(out)
}

/// Where filling, settling, the windows and what bounds the life end in the progress, by how long each takes.
fn progress(ctx: &Context<'_>, points: usize) -> [f64; 4] {
    let share = |key: &str| ctx.params.number(key);
    let fill = IN_SEQUENCE * ctx.params.integer("fill_percent") as f64 / 100.0;
    let parts = [fill, share("settle_share"), WINDOWS as f64 * share("window_share"), 2.0 * LOOK];
    let point = share("point_share") + LOOK + IN_SEQUENCE * share("read_share");
    let all = parts.iter().sum::<f64>() + points as f64 * point;
    let mut done = 0.0;
    parts.map(|part| {
        done += part;
        done / all
    })
}

/// Why the terabytes of this life are not settled, if so: too little work in the windows, or at each point.
fn doubts(
    points: &[Point],
    wearing: &Wearing,
    course: &Course,
    pass: Pass,
    capacity: f64,
    point_bytes: f64,
) -> Vec<NotSteady> {
    let mut doubts = Vec::new();
    if !wearing.is_settled() {
        doubts.push(doubt(format!(
            "each block was erased {:.2} times on average in the windows of work, and a programmed byte wore {:.0} % less in \
             one half of them than in the other; the terabytes may be far off, and a greater settle_share or window_share \
             settles them",
            wearing.erases,
            wearing.unlike() * 100.0,
        )));
    }
    if !course.has_whole(pass) {
        // In drive writes, which a drive in small has as many of as the whole one.
        doubts.push(doubt(format!(
            "the windows of work together are shorter than a pass of what is written in sequence, one for each {:.1} drive \
             writes, and write amplification is greater while it passes over hot data; a greater window_share settles that",
            pass.bytes() / capacity,
        )));
    }
    // The part of the rated life that is told by each point.
    let stretches = points.windows(2).skip(1).map(|p| p[1].wear.mean.min(1.0) - p[0].wear.mean.min(1.0));
    let together = stretches.map(|part| part * part).sum::<f64>().sqrt();
    let Some(scatter) = course.scatter(point_bytes) else { return doubts };
    // The point, and what it is laid beside.
    let scatter = if pass == Pass::NONE { scatter } else { scatter * std::f64::consts::SQRT_2 };
    // Two standard errors each way.
    if 4.0 * scatter * together > WIDE {
        doubts.push(doubt(format!(
            "in pieces of work as short as those at the points write amplification differs by {:.0} % (standard \
             deviation) by chance alone, and the terabytes until the rated wear by {:.0} % (two standard errors); a greater \
             point_share narrows that",
            scatter * 100.0,
            2.0 * scatter * together * 100.0,
        )));
    }
    doubts
}

fn doubt(why: String) -> NotSteady {
    NotSteady::new(Unsettled::TooLittleWork, why)
}

/// Looks at the drive as it now is; reads `cold` data, as far as they are asked for. On a copy: while the drive is at rest, and read, it tidies up, and
/// what it writes next would cost less than in the life that it stands for.
fn look(
    ctx: &Context<'_>,
    host: &mut Host<'_>,
    cold: &Range<u64>,
    host_bytes: f64,
    waf: f64,
) -> Result<Point, BenchError> {
    let mut copy = copied(host)?;
    let host = &mut Host::resuming(&mut *copy, host.monitor(), host.now());
    let days = ctx.params.integer("retention_days");
    let hours = (days * 24) as f64;
    let capacity = host.info().capacity_bytes;
    // Of the life itself: what the copy is about to tidy up is none of it.
    let wear = flash(host)?.wear();
    // No old data are read beside what is left of the work: a buffer that is written out, a cache that is folded.
    host.settle()?;
    let device = flash(host)?;
    let outlook = device.expected_errors(EccScheme::Installed, 1.0, hours);
    let bch = device.expected_errors(EccScheme::HardBch, 1.0, hours);
    let mut point = Point {
        wear,
        host_bytes,
        waf,
        reread: outlook.map(|o| o.reread / o.units.max(1.0)),
        lost: outlook.map(|o| ctx.lost_of_whole(o)),
        lost_bch: bch.map(|o| ctx.lost_of_whole(o)),
        old_read: None,
    };
    let bytes = (ctx.params.number("read_share") * capacity as f64) as u64 / FILL_BLOCK_BYTES * FILL_BLOCK_BYTES;
    let bytes = bytes.min(cold.end - cold.start);
    if bytes > 0 && point.lost.is_some_and(|lost| lost < SAFE_LOSSES) {
        flash(host)?.begin_retention(days * DAY_S);
        let mut measured = Measurement::default();
        host.read_through(cold.start, bytes, FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, &mut measured)?;
        flash(host)?.end_retention();
        point.old_read = Some(measured.mb_per_s());
    }
    Ok(point)
}

/// Mean wear and host bytes at which one unit is expected to be lost; `None` if that lies beyond the last point.
fn first_error(
    ctx: &Context<'_>,
    host: &mut Host<'_>,
    points: &[Point],
    scheme: EccScheme,
) -> Result<Option<(f64, f64)>, BenchError> {
    let lost = |p: &Point| if scheme == EccScheme::Installed { p.lost } else { p.lost_bch };
    let Some(k) = points.iter().position(|p| lost(p).is_some_and(|lost| lost >= 1.0)) else { return Ok(None) };
    let Some(before) = k.checked_sub(1).map(|k| &points[k]) else { return Ok(Some((0.0, 0.0))) };
    let after = &points[k];
    // Between the two, by the wear of the blocks as it now is, scaled; its own share is what the scale is made to fit.
    let hours = (ctx.params.integer("retention_days") * 24) as f64;
    let mean = scaled_to_one(ctx, flash(host)?, scheme, hours, before.wear.mean..after.wear.mean);
    let share = (mean - before.wear.mean) / (after.wear.mean - before.wear.mean);
    Ok(Some((mean, before.host_bytes + share * (after.host_bytes - before.host_bytes))))
}

/// Mean wear within `range` at which one unit is expected to be lost, with the wear of the blocks as it now is, scaled.
fn scaled_to_one(ctx: &Context<'_>, device: &dyn Flash, scheme: EccScheme, hours: f64, range: Range<f64>) -> f64 {
    let now = device.wear().mean;
    let (mut low, mut high) = (range.start, range.end);
    for _ in 0..16 {
        let middle = (low + high) / 2.0;
        let expected = device.expected_errors(scheme, middle / now, hours).map_or(0.0, |o| ctx.lost_of_whole(o));
        *(if expected < 1.0 { &mut low } else { &mut high }) = middle;
    }
    (low + high) / 2.0
}

/// Mean wear at which one unit is expected to be lost, if so many differences between blocks last for life. On a copy, wound
/// forward without further work.
fn bound(
    ctx: &Context<'_>,
    host: &Host<'_>,
    percents: &[u64],
    differences: Differences,
) -> Result<Option<f64>, BenchError> {
    let mut copy = copied(host)?;
    let host = &mut Host::resuming(&mut *copy, host.monitor(), host.now());
    let hours = (ctx.params.integer("retention_days") * 24) as f64;
    // As the points are looked at.
    host.settle()?;
    let device = flash(host)?;
    for target in percents.iter().map(|&percent| percent as f64 / 100.0) {
        let from = device.wear().mean;
        device.fast_forward(target, differences);
        let Some(outlook) = device.expected_errors(EccScheme::Installed, 1.0, hours) else { return Ok(None) };
        if ctx.lost_of_whole(outlook) >= 1.0 {
            let to = device.wear().mean;
            return Ok(Some(scaled_to_one(ctx, device, EccScheme::Installed, hours, from..to)));
        }
    }
    Ok(None)
}

fn copied(host: &Host<'_>) -> Result<Box<dyn Device>, BenchError> {
    host.device().snapshot().ok_or_else(|| BenchError::Unsuitable(format!("{} cannot be copied", host.info().name)))
}

/// Between what lives the first error comes; `at_error` as figures have it.
fn put_bounds(out: &mut Outcome, at_error: Option<(f64, f64)>, bounds: Option<(f64, f64)>, small_by: u32) {
    let Some(((life, bytes), (shortest, longest))) = at_error.filter(|(life, _)| *life > 0.0).zip(bounds) else {
        return;
    };
    // The figure is read off the drive at each point, the bounds off the drive after the windows.
    let (shortest, longest) = (shortest.min(life), longest.max(life));
    put(out, LIFE_BOUNDS[0], shortest * 100.0, "%");
    put(out, LIFE_BOUNDS[1], longest * 100.0, "%");
    if longest - shortest > WIDE * life {
        let tb = bytes * f64::from(small_by) / 1e12 / life;
        // Of the first error alone: the terabytes until the rated wear do not hang on it.
        let first_error = doubt(format!(
            "the windows of work do not tell for certain which differences between blocks last for life; the first error comes \
             at {:.0} to {:.0} % of the rated wear, after {:.0} to {:.0} TB, and a greater window_share narrows that",
            shortest * 100.0,
            longest * 100.0,
            shortest * tb,
            longest * tb,
        ));
        out.notes.push(first_error.sentence());
    }
}

fn figures(out: &mut Outcome, points: &[Point], at_error: [Option<(f64, f64)>; 2]) {
    put(out, "waf", points[0].waf, "ratio");
    put(out, "waf_worn", points.last().map_or(0.0, |p| p.waf), "ratio");
    let passes = |(before, after): &(&Point, &Point)| before.wear.mean < 1.0 && after.wear.mean >= 1.0;
    let passed = points.windows(2).map(|p| (&p[0], &p[1])).find(passes);
    if points[0].wear.mean >= 1.0 {
        out.notes.push(
            "The rated wear was passed before the drive was looked at for the first time: what it is like there is not known."
                .to_owned(),
        );
    }
    if let Some((before, rated)) = passed {
        let share = (1.0 - before.wear.mean) / (rated.wear.mean - before.wear.mean);
        let bytes = before.host_bytes + share * (rated.host_bytes - before.host_bytes);
        put(out, "tb_until_rated", bytes / 1e12, "TB");
        put(out, "wear_least", rated.wear.least * 100.0, "%");
        put(out, "wear_most", rated.wear.most * 100.0, "%");
        if let Some(reread) = rated.reread {
            put(out, "reread_rated", reread * 100.0, "%");
        }
        if let Some(rate) = rated.old_read {
            put(out, "old_read_rated", rate, "MB/s");
        }
    }
    if let Some(reread) = points[0].reread {
        put(out, "reread_fresh", reread * 100.0, "%");
    } else {
        out.notes.push("The drive file has no [ecc]: flash that never errs loses nothing.".to_owned());
    }
    if let Some(rate) = points[0].old_read {
        put(out, "old_read_fresh", rate, "MB/s");
    }
    let [installed, bch] = at_error;
    if let Some((life, bytes)) = installed {
        put(out, "tb_until_error", bytes / 1e12, "TB");
        put(out, "life_at_error", life * 100.0, "%");
    }
    if let Some((life, _)) = bch {
        put(out, "life_at_error_bch", life * 100.0, "%");
        // Where the first data are lost from the beginning, nothing is longer than that by a factor.
        if let Some((installed, _)) = installed.filter(|_| life > 0.0) {
            put(out, "ecc_extension", installed / life, "ratio");
        }
    }
}

fn show(out: &mut Outcome, points: &[Point], small_by: u32, days: u64) {
    // Of the whole drive, as what it loses.
    let whole_tb = |p: &Point| p.host_bytes * f64::from(small_by) / 1e12;
    let cell = |value: Option<f64>, digits: usize| value.map_or("–".to_owned(), |v| format!("{v:.digits$}"));
    let small =
        |value: Option<f64>| value.map_or("–".to_owned(), |v| if v == 0.0 { "0".into() } else { format!("{v:.1e}") });
    let row = |p: &Point| {
        vec![
            format!("{:.0} %", p.wear.mean * 100.0),
            format!("{:.1}", whole_tb(p)),
            format!("{:.2}", p.waf),
            format!("{} – {}", p.wear.erases_least, p.wear.erases_most),
            small(p.reread),
            small(p.lost),
            small(p.lost_bch),
            cell(p.old_read, 0),
        ]
    };
    out.tables.push(Table {
        title: "Along its life".to_owned(),
        caption: format!(
            "Units are 4 KiB, read {days} days after writing. Lost: expected number when all data are read once; BCH: with \
             hard-decision BCH of as much parity instead."
        ),
        columns: [
            "mean wear",
            "written, TB",
            "WAF",
            "erases",
            "share read again",
            "lost",
            "lost, BCH",
            "old data, MB/s",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: points.iter().map(row).collect(),
    });
    let line = |of: fn(&Point) -> Option<f64>| -> Vec<[f64; 2]> {
        points.iter().filter_map(|p| of(p).filter(|v| *v > 1e-12).map(|v| [whole_tb(p), v])).collect()
    };
    let mut lost = vec![series("the drive's correction", line(|p| p.lost))];
    if points[0].lost_bch.is_some() {
        lost.push(series("hard BCH", line(|p| p.lost_bch)));
    }
    if lost.iter().any(|s| !s.points.is_empty()) {
        out.charts.push(chart(
            "losses",
            "Units lost when all data are read",
            "Expected by the error model, after the time without power; the drive's life ends at one.",
            Mark::Line,
            Axis::linear("written by the host", "TB"),
            Axis::log("4 KiB units lost", ""),
            lost,
        ));
    }
    out.charts.push(chart(
        "write-amplification",
        "Write amplification along the life",
        "That of the work in the windows, in whole passes, changed by as much as each point differs from it.",
        Mark::Line,
        Axis::linear("written by the host", "TB"),
        Axis { min: Some(0.0), ..Axis::linear("write amplification", "") },
        vec![series("write amplification", line(|p| Some(p.waf)))],
    ));
    let old = line(|p| p.old_read);
    if !old.is_empty() {
        out.charts.push(chart(
            "old-data",
            "Sequential read of old data",
            "After the time without power, as long as nothing is lost.",
            Mark::Line,
            Axis::linear("written by the host", "TB"),
            Axis { min: Some(0.0), ..Axis::linear("bandwidth", "MB/s") },
            vec![series("old data", old)],
        ));
    }
}
