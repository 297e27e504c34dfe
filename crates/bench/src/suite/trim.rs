//! `trim`: does the drive come back to its clean state after TRIM?
//!
//! Secure erase, clean curve; fill and torture; dirty curve; TRIM of the whole drive (as a quick format sends it);
//! curve again. The dirty curve is itself a sequential pass over everything, as it was in the reviews: what it
//! repairs by itself is not TRIM's merit, which is why a drive whose dirty curve does not differ proves nothing.

use ssdlab_core::Op;
use ssdlab_workload::Pattern;

use super::common::{Counted, FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, build, erase, rate};
use super::context::Context;
use super::definition::{PLAIN, TestDef, block, depth, metric, number, seconds};
use super::figures::{chart, put, put_causes_of_run, put_counters, series};
use super::sweep::{BLOCK, DEPTH, Sweep, ZONES, axes};
use crate::error::BenchError;
use crate::host::Host;
use crate::measure::Measurement;
use crate::outcome::{Mark, Outcome, Verdict};

pub(super) const DEF: TestDef = TestDef {
    name: "trim",
    title: "TRIM validation",
    summary: "A clean HD Tach write curve; the drive is filled and tortured with 4 KiB random writes at QD32 over every \
              address for 30 minutes; dirty curve; TRIM of the whole drive; curve again. The drive passes if the last \
              curve is the first and the dirty one is not; or, where what was fast at first is not so again yet, if the mean of the \
              last is no lower than that of the first, and that of the dirty one is lower than that of the last.",
    params: &[
        BLOCK,
        DEPTH,
        ZONES,
        seconds("torture_seconds", "1800", "length of the torture: 30 minutes in 2014, 20 to 60 in 2012"),
        block("torture_block_size", "4096", "size of the random writes"),
        depth("torture_queue_depth", "32", "random writes in flight"),
        number(
            "tolerance_percent",
            "5",
            "%",
            0.0,
            100.0,
            "how far a curve may fall below the clean one, over the whole drive and in each tenth of it, and still count \
             as the same; and how far a mean may fall below another and still be no lower. The reviews compare by eye",
        )
        .beside_method(),
    ],
    metrics: &[
        metric("clean_bandwidth", "MB/s", "mean write rate of the clean curve"),
        metric("dirty_bandwidth", "MB/s", "mean write rate after the torture"),
        metric("trimmed_bandwidth", "MB/s", "mean write rate after TRIM"),
        metric(
            "dirty_shortfall",
            "%",
            "how far the dirty curve falls below the clean one, in its worst tenth or as a whole",
        ).lower(),
        metric("trimmed_shortfall", "%", "the same for the curve after TRIM").lower(),
        metric("torture_iops", "IOPS", "mean rate of the torture"),
    ],
    weight: 55.0,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let mut notes = Vec::new();
    let (erased, clean, dirty, trimmed, torture, counted) = ctx.on_fresh_drive(|host| {
        // Said now, and not after half an hour of torture.
        if !host.info().supports_trim {
            return Err(BenchError::Unsuitable(format!("{} does not support TRIM", host.info().name)));
        }
        let capacity = host.info().capacity_bytes;
        let monitor = ctx.monitor();
        let mut counted = Counted::default();
        let curve = |host: &mut Host<'_>, from: f64, counted: &mut Counted| {
            monitor.step(from, from + 0.1);
            ctx.settle(host)?;
            counted.run(host, |host, _| Sweep::run(host, &ctx.params, Op::Write))
        };
        let erased = erase(ctx, host, &mut notes)?;
        let clean = curve(host, 0.0, &mut counted)?;
        monitor.step(0.1, 0.2);
        host.fill(0, capacity, FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, &mut ())?;
        monitor.step(0.2, 0.8);
        let pattern = Pattern::random_write(capacity, ctx.params.integer("torture_block_size"));
        let depth = ctx.params.depth("torture_queue_depth");
        let mut meter = Measurement::default();
        let job = ctx.job(build(ctx, &pattern, "torture")?, depth).for_nanos(ctx.nanos("torture_seconds"));
        counted.run(host, |host, run| host.run(&mut [job], &mut (run, &mut meter)))?;
        let dirty = curve(host, 0.8, &mut counted)?;
        host.trim(0, capacity)?;
        let trimmed = curve(host, 0.9, &mut counted)?;
        Ok((erased, clean, dirty, trimmed, meter, counted))
    })?;
    let method = format!(
        "{}, every address was written in sequence (clean). Then the drive was filled again and written \
         at random, {} bytes at QD{}, over every address for {} s, and the curve was drawn again (dirty). After TRIM of \
         the whole drive it was drawn a third time.",
        erased.in_words(),
        ctx.params.integer("torture_block_size"),
        ctx.params.depth("torture_queue_depth"),
        ctx.params.seconds("torture_seconds"),
    );
    let mut out = ctx.outcome("", method);
    out.notes = notes;
    let mut lines = Vec::new();
    for (key, name, sweep) in
        [("clean", "clean", &clean), ("dirty", "after torture", &dirty), ("trimmed", "after TRIM", &trimmed)]
    {
        put(&mut out, &format!("{key}_bandwidth"), sweep.mean(), "MB/s");
        put_causes_of_run(&mut out, &format!("sequential write, {name}"), &sweep.measurement);
        lines.push(series(name, sweep.points()));
    }
    put_causes_of_run(&mut out, "torture", &torture);
    put(&mut out, "torture_iops", torture.iops(), "IOPS");
    put_counters(&mut out, &counted.counters, counted.nanos);
    let (dirty_percent, trimmed_percent) = (100.0 * dirty.shortfall(&clean), 100.0 * trimmed.shortfall(&clean));
    put(&mut out, "dirty_shortfall", dirty_percent, "%");
    put(&mut out, "trimmed_shortfall", trimmed_percent, "%");
    let (x, y) = axes();
    out.charts.push(chart("write-by-position", "Write rate by position", "", Mark::Line, x, y, lines));
    let rest = ctx.rest_seconds();
    let means = [&clean, &dirty, &trimmed].map(|sweep| sweep.mean());
    out.verdict = Some(verdict(ctx.params.number("tolerance_percent"), dirty_percent, trimmed_percent, rest, means));
    Ok(out)
}

/// Shortfalls in per cent, and the means of the clean curve, the dirty one and that after TRIM in MB/s.
fn verdict(
    tolerance: f64,
    dirty: f64,
    trimmed: f64,
    rest_seconds: f64,
    [clean_mb, dirty_mb, trimmed_mb]: [f64; 3],
) -> Verdict {
    let restored = trimmed <= tolerance;
    let allowed = 1.0 - tolerance / 100.0;
    // A cache that is not back yet is slower where the clean drive was fastest, and need not be emptied later.
    let freed = restored || trimmed_mb >= clean_mb * allowed;
    // Without a drive that was hurt there is nothing that TRIM could have repaired; what is judged by its mean, by that.
    let was_hurt = if restored { dirty > tolerance } else { dirty_mb < trimmed_mb * allowed };
    let pass = (!freed || was_hurt).then_some(freed);
    let [clean_rate, dirty_rate, trimmed_rate] = [clean_mb, dirty_mb, trimmed_mb].map(rate);
    let state = |percent: f64| {
        if percent >= 0.05 {
            format!("in its worst tenth {percent:.1} % below")
        } else {
            "in no tenth below".to_owned()
        }
    };
    let after = state(trimmed);
    let sentence = match (restored, was_hurt) {
        (true, true) => format!(
            "TRIM works: after it the curve is {after} the clean one, and up to {tolerance} % below counts as restored; \
             without it, the curve was {}, and the mean {dirty_rate} MB/s instead of {clean_rate}.",
            state(dirty)
        ),
        (true, false) => format!(
            "Inconclusive: without TRIM the curve was {} the clean one (after it, {after}), and up to {tolerance} % below \
             counts as the same. The torture left too little trace to show whether TRIM works.",
            state(dirty)
        ),
        (false, false) if freed => format!(
            "Inconclusive: after TRIM the curve is still {after} the clean one, and its mean, {trimmed_rate} MB/s against \
             {clean_rate}, is not clearly above that without TRIM ({}, and {dirty_rate} MB/s). The torture left too little trace \
             in it to show whether TRIM works.",
            state(dirty)
        ),
        (false, _) if freed => format!(
            "TRIM works, but what was fast on the clean drive is not so again within {rest_seconds} s of rest: the curve is still \
             {after} the clean one, with a mean of {trimmed_rate} MB/s against {clean_rate} (without TRIM, {}, and {dirty_rate} \
             MB/s).",
            state(dirty)
        ),
        (false, _) => format!(
            "TRIM does not restore the drive within {rest_seconds} s of rest: after them the curve is still {after} the clean \
             one, and only up to {tolerance} % below counts as restored (without TRIM, {}).",
            state(dirty)
        ),
    };
    Verdict { pass, sentence }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_tells_a_repaired_drive_from_one_that_was_never_hurt() {
        let v = verdict(5.0, 40.0, 1.0, 10.0, [400.0, 30.0, 300.0]);
        assert!(v.pass == Some(true) && v.sentence.starts_with("TRIM works"), "{}", v.sentence);
        assert!(v.sentence.contains("up to 5 % below counts as restored"), "{}", v.sentence);
        let v = verdict(5.0, 2.0, -1.0, 10.0, [400.0, 30.0, 300.0]);
        assert!(v.pass.is_none() && v.sentence.contains("too little"), "{}", v.sentence);
        let v = verdict(5.0, 40.0, 30.0, 10.0, [400.0, 30.0, 300.0]);
        assert!(v.pass == Some(false) && v.sentence.contains("does not restore"), "{}", v.sentence);
        // Zones of the curve may lie further below than the tenth that they are of.
        assert!(
            v.sentence.contains("the curve is still in its worst tenth 30.0 % below the clean one"),
            "{}",
            v.sentence
        );
        // A cache that is not back: slower where it was fastest, and no slower in the mean.
        let v = verdict(5.0, 90.0, 42.5, 10.0, [178.0, 79.0, 298.0]);
        assert!(v.pass == Some(true) && v.sentence.starts_with("TRIM works, but what was fast"), "{}", v.sentence);
        assert!(v.sentence.contains("298 MB/s against 178"), "{}", v.sentence);
        // Whoever reads what the test is can tell both ways to pass.
        let tolerance = DEF.params.iter().find(|param| param.key == "tolerance_percent").unwrap();
        assert!(
            DEF.summary.contains("if the mean of the last is no lower") && tolerance.doc.contains("how far a mean")
        );
        // Nor does a mean tell of TRIM that is no higher than without it.
        let v = verdict(2.0, 4.1, 5.3, 10.0, [61.5, 60.7, 60.4]);
        assert!(v.pass.is_none() && v.sentence.starts_with("Inconclusive: after TRIM"), "{}", v.sentence);
        assert!(v.sentence.contains("60.4 MB/s against 61.5") && v.sentence.contains("60.7 MB/s"), "{}", v.sentence);
        // A drive of a few MB/s: 3.9 is below 4.4 by more than is allowed, though both are 4 in whole MB/s.
        let v = verdict(5.0, 30.0, 30.0, 10.0, [4.4, 3.9, 4.3]);
        assert!(v.pass == Some(true) && v.sentence.contains("4.3 MB/s against 4.4"), "{}", v.sentence);
        assert!(v.sentence.contains("3.9 MB/s"), "{}", v.sentence);
        let v = verdict(5.0, 30.0, 30.0, 10.0, [4.4, 3.6, 3.9]);
        assert!(v.pass == Some(false), "{}", v.sentence);
        let v = verdict(2.5, 40.0, 4.5, 10.0, [400.0, 30.0, 300.0]);
        assert!(v.sentence.contains("4.5 % below") && v.sentence.contains("up to 2.5 % below"), "{}", v.sentence);
    }
}
