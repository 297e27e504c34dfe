//! The plain rate tests share this: prepare the span, run one pattern at one queue depth for a time.

use ssdlab_core::Op;
use ssdlab_device::Counters;
use ssdlab_workload::{Mix, Pattern};

use super::common::{FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, amount, build, fit_span, gigabytes, note_if_few, size, timed};
use super::context::Context;
use super::figures::{put_timed, rate_over_time};
use super::stalls::{put_stalls, show_stalls};
use super::tail::tail_chart;
use crate::error::BenchError;
use crate::lab::Begins;
use crate::outcome::Outcome;

/// Share of the progress bar that a prefill gets.
const PREFILL_SHARE: f64 = 0.3;

/// A sequential run that got through less of its span than this says nothing of the rest of a device that is not the same
/// everywhere.
const MOST_OF_IT: f64 = 0.95;

/// A smaller share of what was read, on its way out of a cache meanwhile, moves no rate.
const LEAST_TOLD: f64 = 0.01;

/// What is written at random to a full drive goes to spare blocks at first. `is_small`: the amounts are of a drive in small.
fn still_spare(spare_bytes: f64, programmed_bytes: u64, is_small: bool) -> Option<String> {
    ((programmed_bytes as f64) < spare_bytes).then(|| {
        let [programmed, spare] = [programmed_bytes, spare_bytes as u64].map(gigabytes);
        let how_much = if is_small {
            "less than the spare area of the drive has".to_owned()
        } else {
            format!("{programmed} GB, and the spare area of the drive has {spare} GB")
        };
        format!(
            "The run programmed {how_much}: this is the rate while spare blocks last, not that of a full drive, which `steady-state` and \
             `consistency` look for."
        )
    })
}

/// What was written before may still be on its way out of a cache while `read_bytes` are read.
fn still_moving(counters: &Counters, read_bytes: u64) -> Option<String> {
    let caches = [
        (counters.cache.map_or(0, |cache| cache.flushed_bytes), "the cache of the adapter"),
        (counters.disk.map_or(0, |disk| disk.destaged_bytes), "the write cache of the disk"),
        (counters.flash.map_or(0, |flash| flash.fold_program_bytes), "the SLC cache"),
    ];
    let least = (read_bytes as f64 * LEAST_TOLD).max(1.0);
    let (bytes, cache) = caches.into_iter().find(|&(bytes, _)| bytes as f64 >= least)?;
    Some(format!(
        "While it was read, the device still moved {} GB of what had been written before out of {cache}: it had not come to rest, \
         for which a longer `settle_seconds` gives it the time.",
        gigabytes(bytes)
    ))
}

/// Reads `block_bytes`, `queue_depth`, `span_bytes` (0: the whole drive), `seconds` and `prefill` (`none`, `span`,
/// `drive`) from the parameters.
pub(super) fn run_rate(ctx: &mut Context<'_>, op: Op, random: bool) -> Result<Outcome, BenchError> {
    let (block, depth) = (ctx.params.integer("block_size"), ctx.params.depth("queue_depth"));
    let (asked, prefill) = (ctx.params.integer("span_bytes"), ctx.params.choice("prefill").to_owned());
    let seconds = ctx.params.seconds("seconds");
    let mut notes = Vec::new();
    let (result, span) = ctx.on_fresh_drive(|host| {
        let capacity = host.info().capacity_bytes;
        let span = fit_span(if asked == 0 { capacity } else { asked }, capacity, block, &mut notes)?;
        let filled = match prefill.as_str() {
            "span" => span,
            "drive" => capacity,
            _ => 0,
        };
        if filled > 0 {
            ctx.monitor().step(0.0, PREFILL_SHARE);
            host.fill(0, filled, FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, &mut ())?;
            ctx.monitor().step(PREFILL_SHARE, 1.0);
            ctx.settle(host)?;
        } else {
            ctx.settle_unprepared(host)?;
        }
        let mix = if op == Op::Read { Mix::Read } else { Mix::Write };
        let pattern = if random { Pattern::random(mix, span, block) } else { Pattern::sequential(mix, span, block) };
        let mut job = ctx.job(build(ctx, &pattern, "main")?, depth).for_nanos(ctx.nanos("seconds"));
        let result = timed(host, &mut job)?;
        if random && op == Op::Write && filled == capacity {
            notes.extend(host.info().over_provisioning_percent.and_then(|percent| {
                let programmed = result.counters.flash.map_or(result.measurement.bytes(), |f| f.program_bytes());
                still_spare(capacity as f64 * percent / 100.0, programmed, ctx.is_small())
            }));
        }
        if op == Op::Read {
            notes.extend(still_moving(&result.counters, result.measurement.bytes()));
        }
        let reached = result.measurement.bytes() as f64 / span as f64;
        if !random && host.info().kind != "ssd" && reached < MOST_OF_IT {
            notes.push(format!(
                "The run got through the first {:.1} % of the addresses: on a disk, and on a device of several parts, the \
                 others may go at another rate.",
                100.0 * reached
            ));
        }
        Ok((result, span))
    })?;
    let order = if random { "random" } else { "sequential" };
    let label = format!("{} {order} {}, QD{depth}", size(block), op.name());
    let state = match prefill.as_str() {
        "span" => "The span was first filled in sequence.",
        "drive" => "The whole drive was first filled in sequence.",
        _ => match ctx.begins() {
            Begins::New => "The drive was fresh, nothing written before.",
            Begins::Trimmed => "All of the drive was trimmed before.",
            Begins::Saved if op == Op::Read => {
                "The drive was as it had been saved; what was never written, or trimmed, is answered without its medium."
            }
            Begins::Saved => "The drive was as it had been saved.",
            Begins::AsFound if op == Op::Read => {
                "The drive was as it was found; what was never written, or trimmed, is answered without its medium."
            }
            Begins::AsFound => "The drive was as it was found.",
        },
    };
    let method = format!("{label} over {} for {seconds} s. {state}", amount(span));
    let mut out = ctx.outcome(&format!("QD{depth}"), method);
    put_timed(&mut out, &label, &result);
    out.notes.extend(notes);
    note_if_few(result.measurement.requests(), &mut out.notes);
    out.charts.push(rate_over_time(&result.per_second, &label));
    out.charts.push(tail_chart(&[(&label, &result.measurement.latency())]));
    put_stalls(&mut out, &result.stalls, "");
    show_stalls(&mut out, &result.stalls, &label);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use ssdlab_device::{CacheCounters, FlashCounters};

    use super::*;

    #[test]
    fn what_is_still_on_its_way_out_of_a_cache_is_told() {
        let flash = |fold_program_bytes| Some(FlashCounters { fold_program_bytes, ..FlashCounters::default() });
        let told = |flash| still_moving(&Counters { flash, ..Counters::default() }, 10_000_000_000);
        assert!(
            told(flash(5_000_000_000))
                .is_some_and(|told| told.contains("still moved 5 GB") && told.contains("SLC cache"))
        );
        assert_eq!((told(flash(99_000_000)), told(flash(0))), (None, None));
        let cache = Some(CacheCounters { flushed_bytes: 2_000_000, ..CacheCounters::default() });
        let told = still_moving(&Counters { cache, ..Counters::default() }, 200_000_000);
        assert!(told.is_some_and(|told| told.contains("0.002 GB") && told.contains("adapter")));
    }

    #[test]
    fn what_fits_the_spare_area_is_not_told_as_the_rate_of_a_full_drive() {
        let told = still_spare(18e9, 6_000_000_000, false).expect("it fits");
        assert!(told.starts_with("The run programmed 6 GB, and the spare area of the drive has 18 GB"), "{told}");
        assert_eq!(still_spare(18e9, 18_000_000_000, false), None);
        let in_small = still_spare(18e9, 6_000_000_000, true).expect("it fits");
        assert!(in_small.starts_with("The run programmed less than") && !in_small.contains("GB"), "{in_small}");
    }
}
