//! `power-cut`: the plug is pulled under load, again and again, and what the host was promised is compared with what is there.

mod ledger;
mod load;

use ssdlab_core::{MILLISECOND, Nanos, SECOND};

use super::common::{FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH};
use super::context::Context;
use super::definition::{PLAIN, TestDef, Variant, block, choice, depth, integer, metric};
use super::figures::put;
use crate::error::BenchError;
use crate::host::Host;
use crate::outcome::{Outcome, Table, Verdict};
use crate::params::Params;
use load::{Cutter, Load, Tally};

const FILLS: &[&str] = &["drive", "none"];

/// Looks at every 4 KiB of the drive in the course of a run.
const FULL_LOOKS: u64 = 4;

pub(super) const DEF: TestDef = TestDef {
    name: "power-cut",
    title: "Power cuts",
    summary: "The plug is pulled under random writes, at moments drawn evenly from time and after 1, 2, 3 … events of a short run; \
              what the host was promised is compared with what is there (docs/power-cuts.md).",
    params: &[
        integer("cuts", "1000", "", 1, 1_000_000, "cuts at moments drawn evenly from the load"),
        integer("event_cuts", "200", "", 0, 100_000, "further cuts: after 1, 2, 3 … events inside the drive"),
        integer("load_ms", "50", "ms", 1, 1_000_000, "the longest time from the drive's being ready to a cut"),
        block(
            "block_size",
            "16384",
            "request size, and alignment, in whole 4 KiB, or more where the drive keeps or loses more as one; several of these show \
             whether writes are torn",
        ),
        depth("queue_depth", "32", "requests in flight, no two of which overlap"),
        integer("writes_per_flush", "100", "", 0, 1_000_000_000, "writes from one FLUSH to the next; 0: none is sent"),
        choice("fill", "drive", FILLS, "whether the drive is written once before, in sequence, and flushed"),
    ],
    metrics: &[
        metric("cuts", "", "cuts in all"),
        metric("drawn_cuts", "", "of these, at moments drawn evenly from time"),
        metric(
            "drawn_at_stake",
            "",
            "of these, that found answered data which no FLUSH had covered: no others can lose such",
        ),
        metric("drawn_lossy", "", "after which anything that had been answered was not there, or could not be read"),
        metric("acknowledged_lost", "× 4 KiB", "written, answered, not covered by a FLUSH, and not there after a cut"),
        metric(
            "flushed_lost",
            "× 4 KiB",
            "covered by a FLUSH, and silently not there after a cut; 0, but for a device that is set up not to keep a FLUSH",
        ),
        metric(
            "flushed_lost_in_all",
            "× 4 KiB",
            "covered by a FLUSH and lost to a cut, either way: `flushed_lost` and `at_rest_flushed_lost` together",
        ),
        metric("at_rest_lost", "× 4 KiB", "at rest before the cut, and destroyed by it: reads end with a media error"),
        metric("at_rest_flushed_lost", "× 4 KiB", "of these, where a FLUSH had covered this write or an earlier one"),
        metric("at_rest_lost_{mode}", "× 4 KiB", "of these, in flash of this cell mode"),
        metric("at_rest_age_max", "s", "the oldest of them"),
        metric("at_rest_age_mean", "s", "their mean age"),
        metric("torn", "writes", "not answered, and there in part"),
        metric("mixed", "× 4 KiB", "with some sectors of one write and some of another, as only hard disks have them"),
        metric("unclean_shutdowns", "", "as the drive counts them"),
        metric("ready_time_mean", "ms", "from power to ready"),
        metric("ready_time_max", "ms", "the longest"),
    ],
    variants: &[Variant { name: "", settings: &[], in_review: false }],
    leads: &["flushed_lost_in_all", "at_rest_lost", "drawn_lossy", "ready_time_mean"],
    weight: 20.0,
    on_whole_drive: true,
    ..PLAIN
};

pub(super) fn run(ctx: &mut Context<'_>) -> Result<Outcome, BenchError> {
    let (mut tally, write_bytes, unclean, keeps_flushes) = ctx.on_fresh_drive(|host| cut_again_and_again(ctx, host))?;
    let p = &ctx.params;
    let method = format!(
        "{} Then the host wrote {} bytes at random, QD{}, with a FLUSH after every {} writes, and the power \
         was cut {} times at moments drawn evenly from the first {} ms of the load, and {} times after as many events inside the \
         drive. A second later it came back; the drive was asked for every 4 KiB that had been written, for what it knew to be \
         destroyed, and now and then for everything.",
        if p.choice("fill") == "drive" {
            "The drive was written once, in sequence, and flushed."
        } else {
            ctx.begins().unwritten()
        },
        write_bytes,
        p.integer("queue_depth"),
        p.integer("writes_per_flush"),
        p.integer("cuts"),
        p.integer("load_ms"),
        p.integer("event_cuts"),
    );
    let mut out = ctx.outcome("", method);
    // Runs with other sizes are not alike, whoever chose these.
    out.params.insert("block_size".to_owned(), write_bytes.into());
    let seconds = |time: Nanos| time as f64 / SECOND as f64;
    put(&mut out, "cuts", tally.cuts as f64, "");
    put(&mut out, "drawn_cuts", tally.drawn.cuts as f64, "");
    put(&mut out, "drawn_at_stake", tally.drawn.at_stake as f64, "");
    put(&mut out, "drawn_lossy", tally.drawn.lossy as f64, "");
    put_losses(&mut out, &tally);
    put(&mut out, "torn", tally.losses.torn as f64, "writes");
    if tally.losses.mixed > 0 {
        put(&mut out, "mixed", tally.losses.mixed as f64, "× 4 KiB");
    }
    put(&mut out, "unclean_shutdowns", unclean as f64, "");
    let ready = &tally.ready;
    put(&mut out, "ready_time_max", seconds(ready.iter().copied().max().unwrap_or(0)) * 1e3, "ms");
    put(&mut out, "ready_time_mean", seconds(ready.iter().sum()) * 1e3 / ready.len().max(1) as f64, "ms");
    tally.at_rest.sort_by_key(|lost| lost.age);
    let mut rows = Vec::new();
    for (bits, mode) in [(1, "slc"), (2, "mlc"), (3, "tlc"), (4, "qlc")] {
        let ages: Vec<f64> =
            tally.at_rest.iter().filter(|lost| lost.bits_per_cell == bits).map(|lost| seconds(lost.age)).collect();
        if let (Some(oldest), Some(median)) = (ages.last(), ages.get(ages.len() / 2)) {
            put(&mut out, &format!("at_rest_lost_{mode}"), ages.len() as f64, "× 4 KiB");
            let cells = [mode.to_uppercase(), ages.len().to_string(), format!("{median:.3}"), format!("{oldest:.3}")];
            rows.push(cells.to_vec());
        }
    }
    if !tally.at_rest.is_empty() {
        let ages = || tally.at_rest.iter().map(|lost| seconds(lost.age));
        put(&mut out, "at_rest_age_max", ages().fold(0.0, f64::max), "s");
        put(&mut out, "at_rest_age_mean", ages().sum::<f64>() / tally.at_rest.len() as f64, "s");
        out.tables.push(Table {
            title: "Data at rest that were destroyed".to_owned(),
            caption: String::new(),
            columns: ["cell mode", "× 4 KiB", "median age, s", "oldest, s"].map(str::to_owned).to_vec(),
            rows,
        });
    }
    out.verdict = Some(verdict(&tally, keeps_flushes));
    Ok(out)
}

/// How much was lost, and of what.
fn put_losses(out: &mut Outcome, tally: &Tally) {
    let at_rest_flushed = flushed_at_rest(tally);
    for (key, units) in [
        ("acknowledged_lost", tally.losses.acknowledged),
        ("flushed_lost", tally.losses.flushed),
        ("flushed_lost_in_all", tally.losses.flushed + at_rest_flushed),
        ("at_rest_lost", tally.at_rest.len() as u64),
        ("at_rest_flushed_lost", at_rest_flushed),
    ] {
        put(out, key, units as f64, "× 4 KiB");
    }
}

/// Data at rest that a FLUSH had covered, and that a cut destroyed.
fn flushed_at_rest(tally: &Tally) -> u64 {
    tally.at_rest.iter().filter(|lost| lost.flushed).count() as u64
}

/// Bytes of a write to a drive that keeps or loses `unit_bytes` as one: as asked for, or the default in whole units.
///
/// # Errors
/// If another size than the default was set that has a part of a unit, or the drive has fewer places for such writes than are to be
/// in flight.
fn write_bytes(params: &Params, capacity: u64, unit_bytes: u64) -> Result<u64, BenchError> {
    let asked = params.integer("block_size");
    let bytes = asked.next_multiple_of(unit_bytes);
    if bytes != asked && params.is_set_otherwise("block_size") {
        let limit = format!("expected a multiple of {unit_bytes} bytes, which this drive keeps or loses as one");
        return Err(params.value_error("block_size", &asked.to_string(), &limit).into());
    }
    if bytes > capacity {
        return Err(BenchError::Unsuitable("block_size is larger than the drive".to_owned()));
    }
    let (depth, places) = (params.integer("queue_depth"), capacity / bytes);
    if depth > places {
        let limit = format!(
            "expected {places} at most: the drive has no more places for writes of {bytes} bytes, and each takes one at a time"
        );
        return Err(params.value_error("queue_depth", &depth.to_string(), &limit).into());
    }
    Ok(bytes)
}

/// Returns also the bytes of a write, the cuts that the drive counts as unclean, and whether it is set up to keep a FLUSH.
fn cut_again_and_again(ctx: &Context<'_>, host: &mut Host<'_>) -> Result<(Tally, u64, u64, bool), BenchError> {
    let Some((keeps_flushes, unit_bytes)) =
        host.device_mut().plug().map(|plug| (plug.keeps_flushes(), plug.unit_bytes()))
    else {
        return Err(BenchError::Unsuitable(format!("{} has no plug that can be pulled", host.info().name)));
    };
    let capacity = host.info().capacity_bytes;
    let write_bytes = write_bytes(&ctx.params, capacity, unit_bytes)?;
    let monitor = ctx.monitor();
    monitor.step(0.0, 0.2);
    let filled = ctx.params.choice("fill") == "drive";
    if filled {
        host.fill(0, capacity, FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, &mut ())?;
        // A cache before a slow device may hold a part of the fill for longer than it is left alone.
        host.flush()?;
    }
    ctx.settle(host)?;
    monitor.step(0.2, 1.0);
    let load = Load {
        write_bytes,
        depth: ctx.params.depth("queue_depth") as usize,
        writes_per_flush: ctx.params.integer("writes_per_flush"),
    };
    let (cuts, event_cuts) = (ctx.params.integer("cuts"), ctx.params.integer("event_cuts"));
    let longest = ctx.params.integer("load_ms") * MILLISECOND;
    let mut moments = ctx.rng("moments");
    let now = host.now();
    let mut cutter = Cutter::new(host.device_mut(), now, filled, load, ctx.rng("writes"));
    let all = cuts + event_cuts;
    for cut in 1..=all {
        if cut <= event_cuts {
            cutter.write_events(cut)?;
        } else {
            cutter.write_for(1 + moments.below(longest))?;
        }
        cutter.cut(cut > event_cuts);
        if cut % all.div_ceil(FULL_LOOKS) == 0 || cut == all {
            cutter.look_at_all();
        }
        if !monitor.go_on(cut as f64 / all as f64) {
            return Err(crate::error::HostError::Cancelled.into());
        }
    }
    let unclean = cutter.unclean_shutdowns();
    Ok((cutter.tally, write_bytes, unclean, keeps_flushes))
}

/// `keeps_flushes`: whether the device is set up to.
fn verdict(tally: &Tally, keeps_flushes: bool) -> Verdict {
    let (losses, at_rest) = (&tally.losses, tally.at_rest.len());
    let cuts = tally.cuts;
    let flushed = flushed_at_rest(tally);
    let oldest = tally.at_rest.iter().map(|lost| lost.age).max().unwrap_or(0) as f64 / SECOND as f64;
    let sentence = if losses.flushed > 0 && !keeps_flushes {
        format!(
            "A FLUSH is not kept, as this device is set up: {} times 4 KiB that it had covered were not there after {cuts} cuts. The \
             cache that answers must write through, or pass the FLUSH on.",
            losses.flushed
        )
    } else if losses.flushed > 0 {
        format!(
            "The drive is broken: {} times 4 KiB that it had flushed were not there after {cuts} cuts.",
            losses.flushed
        )
    } else if at_rest > 0 {
        format!(
            "Old data die: {cuts} cuts destroyed {at_rest} times 4 KiB that were at rest before, {flushed} of them flushed, the \
             oldest {oldest:.1} s old; and {} times 4 KiB that were answered but not flushed were gone.",
            losses.acknowledged
        )
    } else if losses.acknowledged > 0 {
        let few = if tally.drawn.cuts < ENOUGH_CUTS { ". These are too few to tell whether old data die" } else { "" };
        format!(
            "Not full protection: {} times 4 KiB that were answered but not flushed were gone after {cuts} cuts. Everything was there \
             that had been flushed or was at rest{}{few}.",
            losses.acknowledged,
            bound(tally.drawn.cuts, "destroy anything at rest")
        )
    } else if tally.drawn.at_stake < ENOUGH_CUTS {
        format!(
            "Nothing was lost in {cuts} cuts, which are too few to tell whether the drive protects what it has answered: {} of those at \
             moments drawn evenly found answered data that no FLUSH had covered{}. More `cuts` tell, or fewer FLUSHes.",
            tally.drawn.at_stake,
            bound(tally.drawn.at_stake, "lose any")
        )
    } else {
        format!(
            "Nothing was lost: after {cuts} cuts everything was there that had been answered{}.",
            bound(tally.drawn.at_stake, "lose any under this load")
        )
    };
    // A drive that loses nothing where nothing could be lost has passed no test; and that it loses what it has just answered is no
    // evidence that it keeps what is old.
    let looked_at = if losses.acknowledged > 0 { tally.drawn.cuts } else { tally.drawn.at_stake };
    let tells = looked_at >= ENOUGH_CUTS;
    let fails = losses.flushed > 0 || at_rest > 0;
    Verdict { pass: (fails || tells).then_some(!fails), sentence }
}

/// Cuts from which on a test without a loss says much: fewer than one of a hundred such cuts has one, at 95 %.
const ENOUGH_CUTS: u64 = 300;

/// What follows from so many cuts without a loss, if all are alike: the greatest share of lossy ones that would come through them
/// once in twenty times.
fn bound(cuts: u64, what: &str) -> String {
    if cuts == 0 {
        return String::new();
    }
    let share = -libm::expm1(libm::log(0.05) / cuts as f64);
    // Upwards, as it is a bound.
    let percent = (share * 1e4).ceil() / 100.0;
    format!("; of cuts as these {cuts}, at moments drawn evenly, at most {percent} % {what} (at 95 %)")
}

#[cfg(test)]
mod tests {
    use super::ledger::Losses;
    use super::load::{AtRest, Drawn};
    use super::*;

    fn sentence(acknowledged: u64, flushed: u64, at_rest: usize) -> (bool, String) {
        sentence_of(acknowledged, flushed, at_rest, true)
    }

    fn sentence_of(acknowledged: u64, flushed: u64, at_rest: usize, keeps_flushes: bool) -> (bool, String) {
        let lost = AtRest { bits_per_cell: 2, flushed: true, age: 3 * SECOND };
        let losses = Losses { acknowledged, flushed, ..Losses::default() };
        let drawn = Drawn { cuts: 1000, at_stake: 998, ..Drawn::default() };
        let tally = Tally { cuts: 10, drawn, losses, at_rest: vec![lost; at_rest], ready: Vec::new() };
        let verdict = verdict(&tally, keeps_flushes);
        (verdict.pass == Some(true), verdict.sentence)
    }

    #[test]
    fn cuts_without_a_loss_prove_no_more_than_their_number_allows() {
        let of = |cuts, at_stake| {
            let drawn = Drawn { cuts, at_stake, ..Drawn::default() };
            verdict(&Tally { cuts: cuts + 10, drawn, ..Tally::default() }, true)
        };
        let many = of(1000, 998);
        assert_eq!(many.pass, Some(true));
        assert!(
            many.sentence.contains("of cuts as these 998") && many.sentence.contains("at most 0.3 %"),
            "{}",
            many.sentence
        );
        // Few, or none at which anything could have been lost.
        for (few, told) in [(of(20, 20), Some("at most 13.92 %")), (of(1000, 0), None), (of(0, 0), None)] {
            assert_eq!(few.pass, None);
            assert!(few.sentence.contains("too few to tell"), "{}", few.sentence);
            assert!(told.is_none_or(|told| few.sentence.contains(told)), "{}", few.sentence);
            assert_eq!(few.sentence.contains('%'), told.is_some(), "{}", few.sentence);
        }
        // What loses answered data in one cut may still destroy old data in the next.
        let of = |cuts| {
            let drawn = Drawn { cuts, at_stake: cuts, lossy: cuts };
            let losses = Losses { acknowledged: 5 * cuts, ..Losses::default() };
            verdict(&Tally { cuts, drawn, losses, ..Tally::default() }, true)
        };
        assert_eq!((of(1).pass, of(299).pass, of(300).pass), (None, None, Some(true)));
        assert!(of(1).sentence.ends_with("too few to tell whether old data die."), "{}", of(1).sentence);
        assert!(!of(300).sentence.contains("too few"), "{}", of(300).sentence);
    }

    #[test]
    fn the_verdict_tells_kinds_of_drives_apart_and_a_broken_one_from_one_that_is_made_to_lose() {
        let begins = |(pass, sentence): (bool, String), expected: bool, how: &str| {
            assert!(pass == expected && sentence.starts_with(how), "{sentence}");
        };
        begins(sentence(0, 0, 0), true, "Nothing was lost: after 10 cuts");
        begins(sentence(5, 0, 0), true, "Not full protection: 5 times 4 KiB");
        begins(sentence(5, 0, 2), false, "Old data die: 10 cuts destroyed 2 times 4 KiB");
        begins(sentence(5, 1, 2), false, "The drive is broken");
        begins(sentence_of(5, 1, 2, false), false, "A FLUSH is not kept, as this device is set up");
        begins(sentence_of(5, 0, 0, false), true, "Not full protection");
    }

    /// A write of each place is in flight at most, so that more of them would be waited for without an end.
    #[test]
    fn a_load_that_the_drive_cannot_take_as_asked_for_is_refused() {
        let of = |settings: &[(&str, &str)], unit_bytes| {
            let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
            let params = DEF.resolve(&settings, false).expect("they are in range");
            write_bytes(&params, 1 << 20, unit_bytes).map_err(|e| e.to_string())
        };
        assert_eq!(of(&[], 4096), Ok(16_384));
        assert_eq!(of(&[("block_size", "32KiB")], 4096), Ok(32_768), "as many places as writes in flight");
        let few = of(&[("block_size", "64KiB")], 4096).unwrap_err();
        assert!(few.contains("queue_depth=32") && few.contains("expected 16 at most"), "{few}");
        assert_eq!(of(&[("block_size", "64KiB"), ("queue_depth", "16")], 4096), Ok(65_536));
        assert!(of(&[("block_size", "2MiB")], 4096).unwrap_err().contains("larger than the drive"));
        // What the test does anyway is the same run, whoever says it: what is written is said.
        assert_eq!([of(&[], 32_768), of(&[("block_size", "16384")], 32_768)], [Ok(32_768), Ok(32_768)]);
        for (size, unit_bytes) in [("512", 4096), ("6144", 4096), ("20480", 32_768)] {
            let part = of(&[("block_size", size)], unit_bytes).unwrap_err();
            assert!(part.contains(&format!("block_size={size}: expected a multiple of {unit_bytes}")), "{part}");
        }
    }

    /// Whoever reads no more than the figure that leads must not take it for a drive that keeps what it has flushed.
    #[test]
    fn the_figure_that_leads_counts_flushed_data_that_were_destroyed_at_rest() {
        let leads = |silent: u64, destroyed: &[bool]| {
            let at_rest = destroyed.iter().map(|&flushed| AtRest { bits_per_cell: 2, flushed, age: SECOND }).collect();
            let losses = Losses { flushed: silent, ..Losses::default() };
            let mut out = Outcome::default();
            put_losses(&mut out, &Tally { at_rest, losses, ..Tally::default() });
            out.metrics[DEF.leads[0]].value
        };
        assert_eq!(
            [leads(0, &[true, false, true]), leads(1, &[true]), leads(0, &[false]), leads(3, &[])],
            [2.0, 2.0, 0.0, 3.0]
        );
    }
}
