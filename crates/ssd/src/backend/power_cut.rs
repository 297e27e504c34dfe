//! What the dies are at when the power goes, and how long operations take while the drive starts.

use ssdlab_core::{DieSet, Nanos, Ring};
use ssdlab_ftl::{Act, FlashOp, NOBODY, OpKind};
use ssdlab_nand::{BlockId, CellMode, DieId, Dies, Medium};

use super::begin::scaled;
use super::{Backend, Channel, Correction, Die, NEVER, Tournament};

/// A program or an erase that an array is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtWork {
    pub op: FlashOp,
    /// What goes with it in other planes of the die.
    pub beside: Vec<FlashOp>,
    /// When it will have ended.
    pub ends: Nanos,
}

impl Backend {
    /// Programs and erases whose array part has begun. Before that, a program is data on a bus.
    #[must_use]
    pub fn at_work(&self, now: Nanos, medium: &Medium) -> Vec<AtWork> {
        let of = |(d, die): (DieId, &Die)| {
            if let Some(suspended) = die.suspended {
                // Its cells are half programmed, whatever the die reads meanwhile.
                let beside = self.planes.as_ref().map_or(&[][..], |planes| planes.beside_interrupted(d));
                return Some(AtWork { op: suspended.op, beside: beside.to_vec(), ends: now + suspended.left });
            }
            let (op, ends) = (die.current, self.end_of(d));
            if !die.busy || ends == NEVER {
                return None;
            }
            let mode = medium.mode(op.block());
            let array = match op.kind().act() {
                Act::Erase => self.times.erase(mode),
                Act::Program | Act::ProgramOwn => self.times.program(mode)[op.page() as usize],
                Act::Read => return None,
            };
            let beside = self.beside(d);
            let array = scaled(array, self.share_of_all(&op, beside, medium));
            // Going on takes time, in which the array is still where it was.
            let has_begun = ends - array < now || die.progress.was_interrupted();
            (has_begun && now < ends).then(|| AtWork { op, beside: beside.to_vec(), ends })
        };
        Dies::all(self.dies.len() as u32).iter().zip(&self.dies).filter_map(of).collect()
    }

    /// Of the erases that wait for dies those that are left out are gone.
    pub fn leave_erases_out(&mut self, is_left_out: impl Fn(BlockId) -> bool) {
        let goes = |op: &FlashOp| op.kind() == OpKind::Erase && is_left_out(op.block());
        for die in self.dies.iter_mut().filter(|die| die.others.iter().any(|op| goes(&op))) {
            die.others = without(&die.others, goes);
        }
    }

    /// Nobody waits for reads of the host's any more, or for those of the map that are not `awaited`.
    pub fn drop_reads(&mut self, awaited: impl Fn(&FlashOp) -> bool) {
        let goes = |op: &FlashOp| is_for_host(op) || op.kind() == OpKind::MapRead && !awaited(op);
        for die in &mut self.dies {
            die.reads = without(&die.reads, goes);
            if self.notes_asked {
                die.asked = Ring::new(8, 0);
                die.reads.iter().for_each(|_| die.asked.push_back(0));
            }
            die.others = without(&die.others, goes);
            // What has begun ends, for nobody.
            die.current = for_nobody(die.current);
        }
        let dies = Dies::all(self.die_count());
        if let Some(planes) = &mut self.planes {
            dies.iter().for_each(|d| planes.for_each_mut(d, |op| *op = for_nobody(*op)));
        }
        if let Some(correction) = &mut self.correction {
            Correction::forget_reads(correction, self.dies.len() as u32);
        }
    }

    /// The power has gone at this time: no die is at anything, and nothing waits.
    pub fn power_cut(&mut self, now: Nanos) {
        // What they had still to do is never drawn.
        self.work = self.work_done(now);
        for die in &mut self.dies {
            *die = Die::idle(die.channel);
        }
        if let Some(behind) = &mut self.behind {
            behind.clear();
        }
        if let Some(turns) = &mut self.turns {
            turns.clear();
        }
        if let Some(planes) = &mut self.planes {
            planes.clear();
        }
        if let Some(cache) = &mut self.cache_program {
            cache.clear();
        }
        self.channels.fill_with(Channel::default);
        self.looked_at_later = DieSet::with_room(self.dies.len() as u32);
        self.events = Tournament::new(self.dies.len());
        let _ = self.take_woken();
        if let Some(correction) = &mut self.correction {
            Correction::forget_reads(correction, self.dies.len() as u32);
            correction.retry_turns.clear();
        }
    }

    /// A row is programmed, from the first command on.
    #[must_use]
    pub fn time_to_program(&self, mode: CellMode, page: u32) -> Nanos {
        let passes = if mode == self.times.native() { self.passes } else { 1 };
        self.command_time + passes * self.row_transfer + self.times.program(mode)[page as usize]
    }

    /// A row is read.
    #[must_use]
    pub fn time_to_read(&self, mode: CellMode, page: u32) -> Nanos {
        self.command_time + self.times.read(mode)[page as usize] + self.row_transfer
    }

    /// A die is asked for the spare area of a row: the slowest page.
    #[must_use]
    pub fn time_to_look(&self, mode: CellMode) -> Nanos {
        self.command_time + self.times.read(mode).iter().copied().max().unwrap_or(0)
    }

    /// So many rows are read, spread evenly over all dies: as fast as arrays and buses allow.
    #[must_use]
    pub fn time_to_read_rows(&self, rows: u64) -> Nanos {
        let look = self.time_to_look(self.times.native());
        let arrays = rows.div_ceil(self.die_count().into()) * look;
        let buses = rows.div_ceil(self.channels.len() as u64) * self.row_transfer;
        if rows == 0 { 0 } else { arrays.max(look + buses) }
    }
}

/// Whether it is a read for a command alone.
fn is_for_host(op: &FlashOp) -> bool {
    match op.kind() {
        OpKind::HostRead => true,
        OpKind::MergeRead => op.command() != NOBODY,
        _ => false,
    }
}

fn for_nobody(op: FlashOp) -> FlashOp {
    match op.kind() {
        OpKind::HostRead | OpKind::MergeRead if is_for_host(&op) => {
            FlashOp::host_read(op.block(), op.page(), op.units(), NOBODY, 0)
        }
        _ => op,
    }
}

fn without(waiting: &Ring<FlashOp>, goes: impl Fn(&FlashOp) -> bool) -> Ring<FlashOp> {
    let mut kept = Ring::new(8, FlashOp::erase(BlockId::default()));
    waiting.iter().filter(|op| !goes(op)).for_each(|op| kept.push_back(op));
    kept
}
