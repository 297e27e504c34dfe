//! How much of the fast stage comes back: an exhausted drive rests, and is written until it is slow again.

use ssdlab_core::SECOND;
use ssdlab_workload::Pattern;

use super::common::build;
use super::slc_cache::Stage;
use crate::context::Context;
use crate::error::BenchError;
use crate::host::Host;
use crate::lab::Lab;

/// So many slow pieces in a row are the end of the fast stage; fewer are a hiccup.
const SLOW_PIECES: usize = 3;
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
pub(super) fn recover<L: Lab>(
    ctx: &Context<L>,
    host: &mut Host<'_, L::Device>,
    target: Target,
    stages: &[Stage],
    (step, steps): (&mut usize, usize),
) -> Result<Vec<Recovered>, BenchError> {
    let capacity = host.info().capacity_bytes;
    let (block, depth) = (ctx.params.integer("block_size"), ctx.params.depth("queue_depth"));
    let first = &stages[0];
    let slower = stages[1..].iter().map(|s| s.mb_per_s).find(|&rate| rate < first.mb_per_s);
    let limit = libm::sqrt(first.mb_per_s * slower.unwrap_or(first.mb_per_s / 2.0));
    let mut at = 0;
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
        results.push(write_until_slow(host, first.amount_bytes(), limit, (block, depth), &mut at)?);
    }
    Ok(results)
}

fn torture<L: Lab>(ctx: &Context<L>, host: &mut Host<'_, L::Device>) -> Result<(), BenchError> {
    let duration = ctx.nanos("torture_seconds");
    if duration > 0 {
        let pattern = Pattern::random_write(host.info().capacity_bytes, 4096);
        host.run(&mut [ctx.job(build(ctx, &pattern, "torture")?, 32).for_nanos(duration)], &mut ())?;
    }
    Ok(())
}

/// Writes on from `at`, around the end of the drive, until the rate stays below `limit`.
fn write_until_slow<D: ssdlab_device::Device>(
    host: &mut Host<'_, D>,
    stage_bytes: u64,
    limit_mb_per_s: f64,
    (block, depth): (u64, u32),
    at: &mut u64,
) -> Result<Recovered, BenchError> {
    let capacity = host.info().capacity_bytes;
    let piece = (stage_bytes / PIECES).max(SMALLEST_PIECE_BYTES.min(stage_bytes / 4)).max(block) / block * block;
    let (mut written, mut fast, mut slow_in_a_row) = (0, 0, 0);
    while written < (AT_MOST * stage_bytes).min(capacity) {
        let length = piece.min(capacity - *at);
        let run = host.fill(*at, length, block, depth, &mut ())?;
        *at = if *at + length == capacity { 0 } else { *at + length };
        written += length;
        if run.mb_per_s() >= limit_mb_per_s {
            (fast, slow_in_a_row) = (written, 0);
        } else {
            slow_in_a_row += 1;
            if slow_in_a_row == SLOW_PIECES {
                return Ok(Recovered { bytes: fast, at_least: false });
            }
        }
    }
    Ok(Recovered { bytes: fast, at_least: slow_in_a_row == 0 })
}
