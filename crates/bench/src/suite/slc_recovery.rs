//! How much of the fast stage comes back: an exhausted drive rests, and is written until it is slow again.

use ssdlab_core::SECOND;
use ssdlab_workload::Pattern;

use super::common::build;
use super::context::Context;
use super::slc_stages::{Stage, buffered};
use crate::error::BenchError;
use crate::host::Host;

/// The fast stage is over when slow pieces have lost as much time as so many take at the limit; less is a hiccup, or
/// the pulse of a drive that writes in bursts.
const LOST_PIECES: f64 = 10.0;
/// Writing stops at this multiple of the first stage: what is still fast then is reported as "at least".
const AT_MOST: u64 = 2;
/// A piece is this share of the first stage: the resolution of the result.
const PIECES: u64 = 200;
const SMALLEST_PIECE_BYTES: u64 = 16 << 20;

/// What the drive goes through before it rests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// It stays as the last writes left it, and is written over.
    Overwrite,
    /// It is filled again and trimmed.
    Trim,
}

impl Target {
    pub(super) fn key(self) -> &'static str {
        if self == Target::Overwrite { "overwrite" } else { "trim" }
    }

    pub(super) fn name(self) -> &'static str {
        if self == Target::Overwrite { "overwriting the full drive" } else { "after TRIM of the full drive" }
    }

    /// Roughly how many passes over the drive `idle_times` recoveries take.
    pub(super) fn sweeps(self, idle_times: usize) -> usize {
        if self == Target::Overwrite { 1 } else { idle_times }
    }
}

pub(super) struct Recovered {
    bytes: u64,
    /// The end of the fast stage was not reached.
    pub(super) at_least: bool,
}

impl Recovered {
    pub(super) fn gb(&self) -> f64 {
        self.bytes as f64 / 1e9
    }
}

/// Measures the recovery after each of `idle_seconds`. The drive must be full and its cache exhausted, and is left so
/// as far as overwriting goes. `progress`: the present step, and how many there are.
pub(super) fn recover(
    ctx: &Context<'_>,
    host: &mut Host<'_>,
    target: Target,
    stages: &[Stage],
    (step, steps): (&mut usize, usize),
) -> Result<Vec<Recovered>, BenchError> {
    let capacity = host.info().capacity_bytes;
    let (block, depth) = (ctx.params.integer("block_size"), ctx.params.depth("queue_depth"));
    let stages = &stages[buffered(stages)..];
    let first = &stages[0];
    let slower = stages[1..].iter().map(|s| s.mb_per_s).find(|&rate| rate < first.mb_per_s);
    let limit = libm::sqrt(first.mb_per_s * slower.unwrap_or(first.mb_per_s / 2.0));
    // A cache that was left as it was when it was full holds what was written first. Overwriting that would empty a part of it, and
    // the next rest would find less to fold.
    let mut at = first.to_bytes % capacity;
    let mut results = Vec::new();
    for (i, &seconds) in ctx.params.list("idle_seconds").to_vec().iter().enumerate() {
        if i == 0 || target == Target::Trim {
            ctx.monitor().step_of((*step).min(steps - 1), steps);
            *step += 1;
        }
        if target == Target::Trim {
            host.fill(0, capacity, block, depth, &mut ())?;
            torture(ctx, host)?;
            host.trim(0, capacity)?;
            at = 0;
        }
        host.idle(seconds * SECOND)?;
        results.push(write_until_slow(host, first.to_bytes, limit, (block, depth), &mut at)?);
    }
    Ok(results)
}

fn torture(ctx: &Context<'_>, host: &mut Host<'_>) -> Result<(), BenchError> {
    let duration = ctx.nanos("torture_seconds");
    if duration > 0 {
        let pattern = Pattern::random_write(host.info().capacity_bytes, 4096);
        host.run(&mut [ctx.job(build(ctx, &pattern, "torture")?, 32).for_nanos(duration)], &mut ())?;
    }
    Ok(())
}

/// Writes on from `at`, around the end of the drive, until the rate stays below `limit`.
fn write_until_slow(
    host: &mut Host<'_>,
    stage_bytes: u64,
    limit_mb_per_s: f64,
    (block, depth): (u64, u32),
    at: &mut u64,
) -> Result<Recovered, BenchError> {
    let capacity = host.info().capacity_bytes;
    let piece = (stage_bytes / PIECES).max(SMALLEST_PIECE_BYTES.min(stage_bytes / 4)).max(block) / block * block;
    let mut end = FastStage::new(piece, limit_mb_per_s);
    let mut written = 0;
    while written < (AT_MOST * stage_bytes).min(capacity) && !end.is_past() {
        let length = piece.min(capacity - *at);
        let run = host.fill(*at, length, block, depth, &mut ())?;
        *at = if *at + length == capacity { 0 } else { *at + length };
        written += length;
        end.note(length, length as f64 / 1e6 / run.mb_per_s());
    }
    Ok(Recovered { bytes: end.bytes, at_least: end.bytes == written && written > 0 })
}

/// Where writing was farthest ahead of the limit's rate: the end of the fast stage, if there was one.
struct FastStage {
    limit_mb_per_s: f64,
    written: u64,
    /// Time ahead of the limit's rate now, and how far behind its best that may fall, seconds.
    ahead: f64,
    allowance: f64,
    best: f64,
    bytes: u64,
}

impl FastStage {
    fn new(piece: u64, limit_mb_per_s: f64) -> Self {
        let allowance = LOST_PIECES * piece as f64 / 1e6 / limit_mb_per_s;
        FastStage { limit_mb_per_s, written: 0, ahead: 0.0, allowance, best: 0.0, bytes: 0 }
    }

    fn note(&mut self, bytes: u64, seconds: f64) {
        self.written += bytes;
        self.ahead += bytes as f64 / 1e6 / self.limit_mb_per_s - seconds;
        if self.ahead > self.best {
            (self.best, self.bytes) = (self.ahead, self.written);
        }
    }

    fn is_past(&self) -> bool {
        self.best - self.ahead > self.allowance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Megabytes up to the end of the fast stage at these rates, MB/s, of pieces of 1 MB; limit 200 MB/s.
    fn fast_mb(rates: impl IntoIterator<Item = f64>) -> (u64, bool) {
        let mut stage = FastStage::new(1_000_000, 200.0);
        for rate in rates {
            if stage.is_past() {
                break;
            }
            stage.note(1_000_000, 1.0 / rate);
        }
        (stage.bytes / 1_000_000, stage.is_past())
    }

    fn then(fast: usize, slow: f64) -> impl Iterator<Item = f64> {
        std::iter::repeat_n(400.0, fast).chain(std::iter::repeat_n(slow, 1000))
    }

    #[test]
    fn the_fast_stage_ends_where_slow_pieces_begin() {
        assert_eq!(fast_mb(then(100, 100.0)), (100, true));
        assert_eq!(fast_mb(then(0, 100.0)), (0, true));
        assert_eq!(fast_mb(then(50, 400.0)), (1050, false));
    }

    #[test]
    fn a_hiccup_does_not_end_it_and_bursts_do_not_prolong_it() {
        let hiccup = then(60, 400.0).take(60).chain([50.0; 3]).chain(then(60, 100.0));
        assert_eq!(fast_mb(hiccup), (123, true));
        // Four fast pieces, then one that waits for room: 100 MB/s in all.
        let bursts = (0..1000).map(|i| if i % 5 == 4 { 25.0 } else { 400.0 });
        assert_eq!(fast_mb(bursts), (4, true));
    }
}
