//! Commands on their way through the drive.

use std::collections::VecDeque;

use super::read::Promise;
use ssdlab_core::{Breakdown, Completion, Nanos, Request, Ring, Status, UNIT_BYTES};

/// One command that holds a slot of the command queue.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    pub request: Request,
    /// Writes: the stream that the host has named, or that of writes too long for the SLC cache.
    pub stream: u8,
    pub submitted: Nanos,
    /// When the firmware had decoded it.
    pub decoded: Nanos,
    /// When the firmware was through with all of its units.
    pub processed: Nanos,
    /// Reads: parts still to come from flash. Writes: merge reads still to come.
    pub parts: u32,
    /// First unit not yet admitted to the write buffer.
    pub next_unit: u32,
    /// Bytes not yet on the link.
    pub bytes_left: u64,
    /// End of its last data on the link so far.
    pub link_end: Nanos,
    pub status: Status,
    /// Reads of one unit: what the die must deliver.
    pub promised: Option<Promise>,
}

impl Command {
    /// One that has just come.
    #[inline(always)]
    pub fn new(request: Request, stream: u8, submitted: Nanos, decoded: Nanos, processed: Nanos) -> Self {
        Command {
            request,
            stream,
            submitted,
            decoded,
            processed,
            parts: 0,
            next_unit: (request.offset_bytes / UNIT_BYTES) as u32,
            bytes_left: request.length_bytes,
            link_end: 0,
            status: Status::Ok,
            promised: None,
        }
    }
}

/// Where a command's time has gone so far. Kept apart: drives that do not explain never touch it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    /// What the dies had done when it was decoded.
    pub spent: Breakdown,
    pub breakdown: Breakdown,
}

/// The slots, and who waits for what.
#[derive(Clone, Debug)]
pub struct Commands {
    slots: Vec<Command>,
    accounts: Vec<Account>,
    free: Vec<u32>,
    pub active: u32,
    /// Beyond the queue depth: the host holds them.
    pub outside: VecDeque<(Nanos, Request, u8, u16)>,
    /// By slot, on a drive that compresses: by how many thousandths the data of its write shrink.
    pub shrink_per_1000: Vec<u16>,
    /// Writes that wait for room in the buffer, in order.
    pub writes: Ring<u32>,
    /// Writes (FUA, no write cache) and flushes that wait until so many units are on flash.
    pub durable: VecDeque<(u64, u32)>,
    /// Finished, in order of the time at which the host sees it.
    pub finished: Ring<(Nanos, u32)>,
}

impl Commands {
    #[must_use]
    pub fn new(depth: u32) -> Self {
        let request = Request { tag: 0, op: ssdlab_core::Op::Flush, offset_bytes: 0, length_bytes: 0, fua: false };
        let empty = Command {
            request,
            stream: 0,
            submitted: 0,
            decoded: 0,
            processed: 0,
            parts: 0,
            next_unit: 0,
            bytes_left: 0,
            link_end: 0,
            status: Status::Ok,
            promised: None,
        };
        Commands {
            slots: vec![empty; depth as usize],
            accounts: vec![Account::default(); depth as usize],
            free: (0..depth).rev().collect(),
            active: 0,
            outside: VecDeque::new(),
            shrink_per_1000: vec![0; depth as usize],
            writes: Ring::new(depth as usize, 0),
            durable: VecDeque::new(),
            finished: Ring::new(depth as usize, (0, 0)),
        }
    }

    #[inline]
    pub fn take_slot(&mut self) -> Option<u32> {
        let slot = self.free.pop()?;
        self.active += 1;
        Some(slot)
    }

    #[inline]
    pub fn slot(&mut self, at: u32) -> &mut Command {
        &mut self.slots[at as usize]
    }

    #[inline]
    pub fn account(&mut self, at: u32) -> &mut Account {
        &mut self.accounts[at as usize]
    }

    /// Queues the completion of a command for the time at which the host sees it. The slot is the host's until then.
    #[inline]
    pub fn finish(&mut self, at: u32, completed: Nanos, status: Status) {
        self.slots[at as usize].status = status;
        if self.finished.back().is_none_or(|f| f.0 <= completed) {
            self.finished.push_back((completed, at));
        } else {
            let behind = self.finished.iter().rev().take_while(|f| f.0 > completed).count();
            self.finished.insert_before_last(behind, (completed, at));
        }
    }

    /// Ends the command that the host sees next, if it does so at this time, and frees its slot.
    #[inline]
    pub fn deliver(&mut self, at: Nanos, explain: bool) -> Option<Completion> {
        let (_, slot) = self.finished.front().filter(|f| f.0 == at)?;
        self.finished.pop_front();
        let c = &self.slots[slot as usize];
        let breakdown = if explain { self.accounts[slot as usize].breakdown } else { Breakdown::default() };
        debug_assert!(!explain || breakdown.sum() == at - c.submitted, "{c:?} {breakdown:?} at {at}");
        self.free.push(slot);
        self.active -= 1;
        Some(Completion {
            tag: c.request.tag,
            op: c.request.op,
            status: c.status,
            offset_bytes: c.request.offset_bytes,
            length_bytes: c.request.length_bytes,
            submitted: c.submitted,
            completed: at,
            breakdown,
        })
    }
}
