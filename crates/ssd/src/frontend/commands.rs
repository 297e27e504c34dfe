//! Commands on their way through the drive.

use std::collections::VecDeque;

use ssdlab_core::{Breakdown, Nanos, Ring};
use ssdlab_device::{Completion, Request, Status};
use ssdlab_ftl::Promise;
use ssdlab_nand::LogicalPage;

use crate::slot::Slot;

/// In the place of the merge reads that a write waits for: its first and last page go into the buffer in part.
pub const IN_PARTS: u32 = u32::MAX;

/// One command that holds a slot of the command queue. It lies on two cache lines, not across three.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Command {
    pub request: Request,
    /// Writes: the stream that the host has named, or that of writes too long for the SLC cache.
    pub stream: u8,
    pub submitted: Nanos,
    /// When the firmware had decoded it.
    pub decoded: Nanos,
    /// When the firmware was through with all of its units.
    pub processed: Nanos,
    /// Reads: parts still to come from flash. Writes: merge reads still to come, or [`IN_PARTS`].
    pub parts: u32,
    /// First unit not yet admitted to the write buffer; of a write that waits for flash, the first not yet seen there.
    pub next_unit: LogicalPage,
    /// Bytes not yet on the link.
    pub bytes_left: u64,
    /// End of its last data on the link so far.
    pub link_end: Nanos,
    pub status: Status,
    /// Reads of one unit: what the die must deliver.
    pub promised: Option<Promise>,
}

impl Command {
    /// One that has just come, and that begins in a unit.
    #[inline(always)]
    pub fn new(request: Request, first: LogicalPage, submitted: Nanos, decoded: Nanos, processed: Nanos) -> Self {
        Command {
            request,
            stream: request.hints.stream,
            submitted,
            decoded,
            processed,
            parts: 0,
            next_unit: first,
            bytes_left: request.length_bytes,
            link_end: 0,
            status: Status::Ok,
            promised: None,
        }
    }
}

/// A command that waits for flash: a write (FUA, no write cache) for its own data, a FLUSH for everything accepted before it.
#[derive(Clone, Copy, Debug)]
pub struct DurableWait {
    /// Units accepted when it began to wait. Once all of these are on flash, nothing is left to wait for.
    pub units: u64,
    pub slot: Slot,
    /// Its rows may still wait for other writes to join them.
    pub joins: bool,
}

/// The slots, and who waits for what.
#[derive(Clone, Debug)]
pub struct Commands {
    slots: Vec<Command>,
    free: Vec<Slot>,
    /// Writes that wait for room in the buffer, in order.
    pub writes: Ring<Slot>,
    /// Those that wait for flash, in the order in which they were taken in.
    pub durable: VecDeque<DurableWait>,
    /// Finished, in order of the time at which the host sees it.
    finished: Ring<(Nanos, Slot)>,
}

impl Commands {
    #[must_use]
    pub fn new(depth: u32) -> Self {
        let empty = Command::new(Request::flush(0), LogicalPage::FIRST, 0, 0, 0);
        Commands {
            slots: vec![empty; depth as usize],
            free: (0..depth).rev().map(Slot::new).collect(),
            writes: Ring::new(depth as usize, Slot::default()),
            durable: VecDeque::new(),
            finished: Ring::new(depth as usize, (0, Slot::default())),
        }
    }

    /// All are forgotten, and never answered.
    pub fn drop_all(&mut self) {
        *self = Commands::new(self.slots.len() as u32);
    }

    /// A slot for a command, if one is free.
    #[inline]
    pub fn take_slot(&mut self) -> Option<Slot> {
        self.free.pop()
    }

    #[inline]
    pub fn slot(&mut self, at: Slot) -> &mut Command {
        &mut self.slots[at.index()]
    }

    /// Queues the completion of a command for the time at which the host sees it. The slot is the host's until then.
    #[inline]
    pub fn finish(&mut self, at: Slot, completed: Nanos, status: Status) {
        self.slots[at.index()].status = status;
        if self.finished.back().is_none_or(|f| f.0 <= completed) {
            self.finished.push_back((completed, at));
        } else {
            let behind = self.finished.iter().rev().take_while(|f| f.0 > completed).count();
            self.finished.insert_before_last(behind, (completed, at));
        }
    }

    /// When the host sees the end of a command next.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> Option<Nanos> {
        self.finished.front().map(|(at, _)| at)
    }

    /// The slot of the command whose end the host sees next, if it does so at this time.
    #[inline]
    #[must_use]
    pub fn next_finished(&self, at: Nanos) -> Option<Slot> {
        self.finished.front().filter(|f| f.0 == at).map(|(_, slot)| slot)
    }

    /// Those under way, of which the host has not seen the end: when each was sent, and what it is.
    pub fn open(&self) -> impl Iterator<Item = (Nanos, Request)> {
        let mut is_free = vec![false; self.slots.len()];
        self.free.iter().for_each(|slot| is_free[slot.index()] = true);
        let inside = self.slots.iter().zip(is_free).filter(|(_, is_free)| !is_free);
        inside.map(|(c, _)| (c.submitted, c.request))
    }

    /// Ends the command that the host sees next, and frees its slot. Where its time has gone is for others to add.
    #[inline(always)]
    pub fn deliver(&mut self, slot: Slot, at: Nanos) -> Completion {
        self.finished.pop_front();
        let c = &self.slots[slot.index()];
        self.free.push(slot);
        Completion {
            tag: c.request.tag,
            op: c.request.op,
            status: c.status,
            offset_bytes: c.request.offset_bytes,
            length_bytes: c.request.length_bytes,
            submitted: c.submitted,
            completed: at,
            breakdown: Breakdown::NOTHING,
        }
    }
}
