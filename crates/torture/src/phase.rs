//! What the host does for a while.

use ssdlab_core::{MILLISECOND, Op, Rng, SECOND, SECTOR_BYTES, UNIT_BYTES};

use crate::host::Host;
use crate::subject::Subject;

/// A kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The whole drive once, front to back.
    Fill,
    RandomWrite,
    SequentialWrite,
    /// Nine writes of ten go to a tenth of the drive.
    HotCold,
    /// A few pages over and over: blocks are dead before they are full.
    Hammer,
    /// Reads, writes, trims and flushes, aligned or not.
    Mixed,
    /// Sectors, not units: the drive must read what it does not overwrite.
    Unaligned,
    /// As many trims as writes.
    TrimStorm,
    /// A long stretch trimmed at once, and part of it written again.
    TrimRange,
    /// A flush every few writes.
    FlushStorm,
    /// Writes that are acknowledged only once they are on flash.
    ForceUnitAccess,
    /// Every few pages one, so that dies fill unevenly.
    Stride,
    RandomRead,
    /// Front to back, so that the drive reads ahead.
    SequentialRead,
    /// Nothing: the drive may flush and collect by itself.
    Idle,
    SecureErase,
}

/// All phases that may follow the first.
pub const PHASES: [Phase; 15] = [
    Phase::RandomWrite,
    Phase::SequentialWrite,
    Phase::HotCold,
    Phase::Hammer,
    Phase::Mixed,
    Phase::Unaligned,
    Phase::TrimStorm,
    Phase::TrimRange,
    Phase::FlushStorm,
    Phase::ForceUnitAccess,
    Phase::Stride,
    Phase::RandomRead,
    Phase::SequentialRead,
    Phase::Idle,
    Phase::SecureErase,
];

impl Phase {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Fill => "fill",
            Phase::RandomWrite => "random-write",
            Phase::SequentialWrite => "sequential-write",
            Phase::HotCold => "hot-cold",
            Phase::Hammer => "hammer",
            Phase::Mixed => "mixed",
            Phase::Unaligned => "unaligned",
            Phase::TrimStorm => "trim-storm",
            Phase::TrimRange => "trim-range",
            Phase::FlushStorm => "flush-storm",
            Phase::ForceUnitAccess => "fua",
            Phase::Stride => "stride",
            Phase::RandomRead => "random-read",
            Phase::SequentialRead => "sequential-read",
            Phase::Idle => "idle",
            Phase::SecureErase => "secure-erase",
        }
    }

    /// Which phases a run goes through.
    #[must_use]
    pub fn draw(rng: &mut Rng) -> Vec<Phase> {
        let count = 3 + rng.below(4) as usize;
        // Mostly on a drive that is full, so that garbage collection is near.
        let fill = rng.chance(7, 8).then_some(Phase::Fill);
        let others = (0..count).map(|_| PHASES[rng.below(PHASES.len() as u64) as usize]);
        fill.into_iter().chain(others).collect()
    }

    /// Goes through it.
    ///
    /// # Errors
    /// What the host found wrong on the way.
    pub fn run<S: Subject>(self, host: &mut Host<S>) -> Result<(), String> {
        let commands = 100 + host.rng.below(400);
        let depth = [1, 2, 8, 32, 100][host.rng.below(5) as usize];
        // Up to 1, 4, 16, 128 units.
        let most = [8, 32, 128, 1024][host.rng.below(4) as usize];
        let aligned = host.rng.chance(3, 4);
        let all = host.pages;
        host.change_data();
        match self {
            Phase::Fill => fill(host, depth, most)?,
            Phase::RandomWrite => {
                for _ in 0..commands {
                    random(host, Op::Write, depth, (0, all), most, aligned)?;
                }
            }
            Phase::SequentialWrite => sequential(host, Op::Write, depth, most, commands)?,
            Phase::HotCold => {
                for _ in 0..commands {
                    let span = if host.rng.chance(9, 10) { all.div_ceil(10) } else { all };
                    random(host, Op::Write, depth, (0, span), most, aligned)?;
                }
            }
            Phase::Hammer => {
                let span = (1 + host.rng.below(64) as u32).min(all);
                for _ in 0..2 * commands {
                    random(host, Op::Write, depth, (0, span), 8, true)?;
                }
            }
            Phase::Mixed => mixed(host, depth, most, commands)?,
            Phase::Unaligned => {
                // Few pages, so that commands meet on them.
                let span = 1 + host.rng.below(u64::from(all)) as u32;
                if host.rng.chance(1, 2) {
                    sectors(host, depth, span.min(1 + all / 4), 2 * commands)?;
                } else {
                    for _ in 0..commands {
                        let op = if host.rng.chance(1, 3) { Op::Read } else { Op::Write };
                        random(host, op, depth, (0, span), most.min(32), false)?;
                    }
                }
            }
            Phase::TrimStorm => {
                for _ in 0..commands {
                    let op = if host.rng.chance(1, 2) { Op::Trim } else { Op::Write };
                    random(host, op, depth, (0, all), most, aligned)?;
                }
            }
            Phase::TrimRange => trim_range(host, depth, most, commands)?,
            Phase::FlushStorm => {
                for _ in 0..commands / 2 {
                    random(host, Op::Write, depth, (0, all), most.min(128), aligned)?;
                    if host.rng.chance(1, 3) {
                        host.send(depth, Op::Flush, 0, 0, false)?;
                    }
                }
            }
            Phase::ForceUnitAccess => {
                for _ in 0..commands / 2 {
                    let (offset, length) = host.place(0, all, most.min(128), aligned);
                    let fua = host.rng.chance(2, 3);
                    host.send(depth, Op::Write, offset, length, fua)?;
                }
            }
            Phase::Stride => stride(host, depth, commands)?,
            Phase::RandomRead => {
                for _ in 0..commands {
                    random(host, Op::Read, depth, (0, all), most, aligned)?;
                }
            }
            Phase::SequentialRead => sequential(host, Op::Read, depth, most, commands)?,
            Phase::Idle => {
                random(host, Op::Write, depth, (0, all), most, aligned)?;
                host.drain()?;
                let time = host.rng.below(4 * SECOND);
                host.pass(time)?;
            }
            Phase::SecureErase => {
                host.erase()?;
                fill(host, depth, most)?;
            }
        }
        Ok(())
    }
}

fn random<S: Subject>(
    host: &mut Host<S>,
    op: Op,
    depth: usize,
    (from, span): (u32, u32),
    most: u64,
    aligned: bool,
) -> Result<(), String> {
    let (offset, length) = host.place(from, span, most, aligned);
    host.send(depth, op, offset, length, false)?;
    if host.rng.chance(1, 64) {
        let time = host.rng.below(2 * MILLISECOND);
        host.pass(time)?;
    }
    // With commands in flight the drive's own books balance as well.
    if host.rng.chance(1, 256) {
        host.drive.check_books()?;
    }
    Ok(())
}

fn fill<S: Subject>(host: &mut Host<S>, depth: usize, most_sectors: u64) -> Result<(), String> {
    // Not page by page: a thousand commands fill any drive.
    let least = u64::from(host.pages).div_ceil(1000);
    let length = (most_sectors / 8).max(least).max(1) * UNIT_BYTES;
    for offset in (0..host.capacity_bytes).step_by(length as usize) {
        host.send(depth, Op::Write, offset, length.min(host.capacity_bytes - offset), false)?;
    }
    Ok(())
}

fn sequential<S: Subject>(host: &mut Host<S>, op: Op, depth: usize, most: u64, commands: u64) -> Result<(), String> {
    let length = (most / 8).max(1) * UNIT_BYTES;
    let mut offset = host.rng.below(u64::from(host.pages)) * UNIT_BYTES;
    for _ in 0..commands {
        let length = length.min(host.capacity_bytes - offset);
        host.send(depth, op, offset, length, false)?;
        offset = if offset + length == host.capacity_bytes { 0 } else { offset + length };
    }
    Ok(())
}

fn mixed<S: Subject>(host: &mut Host<S>, depth: usize, most: u64, commands: u64) -> Result<(), String> {
    for _ in 0..commands {
        let op = match host.rng.below(20) {
            0..=8 => Op::Write,
            9..=15 => Op::Read,
            16..=18 => Op::Trim,
            _ => Op::Flush,
        };
        let aligned = host.rng.chance(1, 2);
        let (offset, length) = host.place(0, host.pages, most, aligned);
        let fua = host.rng.chance(1, 10);
        host.send(depth, op, offset, length, fua)?;
    }
    Ok(())
}

/// Few sectors at a time, here and there or one after another, so that units meet in the buffer with some of their sectors;
/// now and then something that must find them whole.
fn sectors<S: Subject>(host: &mut Host<S>, depth: usize, span: u32, commands: u64) -> Result<(), String> {
    let in_order = host.rng.chance(1, 3);
    let page_bytes = host.page_bytes;
    let all = u64::from(span) * page_bytes / SECTOR_BYTES;
    let mut next = 0;
    for _ in 0..commands {
        let (offset, length) = if in_order {
            let length = (1 + host.rng.below(8)).min(all - next);
            let at = next;
            next = (next + length) % all;
            (at * SECTOR_BYTES, length * SECTOR_BYTES)
        } else {
            host.place(0, span, 7, false)
        };
        match host.rng.below(64) {
            0..=7 => host.send(depth, Op::Read, offset, length, false)?,
            8 | 9 => host.send(depth, Op::Trim, offset / page_bytes * page_bytes, page_bytes, false)?,
            10 | 11 => host.send(depth, Op::Write, offset / page_bytes * page_bytes, page_bytes, false)?,
            12 => host.send(depth, Op::Flush, 0, 0, false)?,
            13 => host.send(depth, Op::Write, offset, length, true)?,
            14 => {
                let time = host.rng.below(300 * MILLISECOND);
                host.pass(time)?;
                host.drive.check_books()?;
            }
            _ => host.send(depth, Op::Write, offset, length, false)?,
        }
    }
    Ok(())
}

fn trim_range<S: Subject>(host: &mut Host<S>, depth: usize, most: u64, commands: u64) -> Result<(), String> {
    let (offset, length) = host.place(0, host.pages, u64::MAX, true);
    host.send(depth, Op::Trim, offset, length, false)?;
    let (from, span) = ((offset / host.page_bytes) as u32, (length / host.page_bytes) as u32);
    for _ in 0..commands / 2 {
        random(host, Op::Write, depth, (from, span), most, true)?;
    }
    Ok(())
}

fn stride<S: Subject>(host: &mut Host<S>, depth: usize, commands: u64) -> Result<(), String> {
    let step = 2 + host.rng.below(7);
    let first = host.rng.below(step);
    for op in [Op::Trim, Op::Write] {
        for page in (first..u64::from(host.pages)).step_by(step as usize).take(commands as usize) {
            host.send(depth, op, page * host.page_bytes, host.page_bytes, false)?;
        }
    }
    Ok(())
}
