//! Commands on their way through the drive.

use std::collections::VecDeque;

use ssdlab_core::{Breakdown, Nanos, Op, Ring};
use ssdlab_device::{Completion, Request, Status};
use ssdlab_ftl::Promise;
use ssdlab_nand::LogicalPage;

use super::link::NotQueued;
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
    /// First unit not yet admitted to the write buffer.
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

/// A command that the host holds.
#[derive(Clone, Copy, Debug)]
struct Outside {
    submitted: Nanos,
    request: Request,
    /// [`Commands::barred`] when it came.
    barred_before: Nanos,
}

/// A command that the host has held, and sends now.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub submitted: Nanos,
    pub request: Request,
    /// So much of its wait was for a FLUSH or TRIM that goes alone, or of such a one for those before it.
    pub barred: Nanos,
}

/// The slots, and who waits for what.
#[derive(Clone, Debug)]
pub struct Commands {
    slots: Vec<Command>,
    free: Vec<Slot>,
    active: u32,
    not_queued: NotQueued,
    /// The one that is under way was sent alone.
    alone: bool,
    /// Beyond the queue depth, or before or behind one that is sent alone: the host holds them.
    outside: VecDeque<Outside>,
    /// For how long the host has held commands because one goes alone, up to `barred_since` if it does so now.
    barred: Nanos,
    barred_since: Option<Nanos>,
    /// Writes that wait for room in the buffer, in order.
    pub writes: Ring<Slot>,
    /// Writes (FUA, no write cache) and flushes that wait until so many units are on flash.
    pub durable: VecDeque<(u64, Slot)>,
    /// Since when some of these have units in the buffer that wait for others to share their row.
    pub joining_since: Option<Nanos>,
    /// Finished, in order of the time at which the host sees it.
    finished: Ring<(Nanos, Slot)>,
}

impl Commands {
    #[must_use]
    pub fn new(depth: u32, not_queued: NotQueued) -> Self {
        let empty = Command::new(Request::flush(0), LogicalPage::FIRST, 0, 0, 0);
        Commands {
            slots: vec![empty; depth as usize],
            free: (0..depth).rev().map(Slot::new).collect(),
            active: 0,
            not_queued,
            alone: false,
            outside: VecDeque::new(),
            barred: 0,
            barred_since: None,
            writes: Ring::new(depth as usize, Slot::default()),
            durable: VecDeque::new(),
            joining_since: None,
            finished: Ring::new(depth as usize, (0, Slot::default())),
        }
    }

    /// All are forgotten, and never answered.
    pub fn drop_all(&mut self) {
        *self = Commands::new(self.slots.len() as u32, self.not_queued);
    }

    /// A slot for a command, if one is free.
    #[inline]
    pub fn take_slot(&mut self, op: Op) -> Option<Slot> {
        let slot = self.free.pop()?;
        self.active += 1;
        self.alone = self.not_queued.holds(op);
        Some(slot)
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

    /// Whether a command that has just come may be sent: a slot is free, and nobody waits outside.
    #[inline]
    #[must_use]
    pub fn have_room(&self, op: Op) -> bool {
        self.outside.is_empty() && self.may_be_sent(op)
    }

    /// Whether a slot is free for a command, and no other must end before.
    #[inline]
    fn may_be_sent(&self, op: Op) -> bool {
        self.active < self.slots.len() as u32 && !self.alone && (self.active == 0 || !self.not_queued.holds(op))
    }

    /// Whether the host holds commands.
    #[inline]
    #[must_use]
    pub fn are_held(&self) -> bool {
        !self.outside.is_empty()
    }

    /// The host holds a command that may not be sent yet.
    #[inline(never)]
    pub fn hold(&mut self, now: Nanos, request: Request) {
        self.count_barred(now);
        self.outside.push_back(Outside { submitted: now, request, barred_before: self.barred });
        self.look_for_bar(now);
    }

    /// The command that the host has held longest, if it may be sent now. To be asked until it may not, whenever one has ended.
    #[inline(never)]
    pub fn take_outside(&mut self, now: Nanos) -> Option<Sent> {
        self.count_barred(now);
        let first = self.outside.front().filter(|first| self.may_be_sent(first.request.op)).copied();
        if first.is_some() {
            self.outside.pop_front();
        } else {
            self.look_for_bar(now);
        }
        first.map(|Outside { submitted, request, barred_before }| Sent {
            submitted,
            request,
            barred: self.barred - barred_before,
        })
    }

    /// What has passed of the time in which a command goes alone.
    fn count_barred(&mut self, now: Nanos) {
        self.barred += self.barred_since.take().map_or(0, |since| now - since);
    }

    /// Whether the host holds commands from now on because one goes alone: it is under way, or the next to be sent.
    fn look_for_bar(&mut self, now: Nanos) {
        let is_next = self.outside.front().is_some_and(|next| self.not_queued.holds(next.request.op));
        self.barred_since = (is_next || self.alone && self.are_held()).then_some(now);
    }

    /// Those under way, and those that wait outside, none of which the host has seen the end of: when each was sent, and what
    /// it is.
    pub fn open(&self) -> impl Iterator<Item = (Nanos, Request)> {
        let mut is_free = vec![false; self.slots.len()];
        self.free.iter().for_each(|slot| is_free[slot.index()] = true);
        let inside = self.slots.iter().zip(is_free).filter(|(_, is_free)| !is_free);
        let outside = self.outside.iter().map(|held| (held.submitted, held.request));
        inside.map(|(c, _)| (c.submitted, c.request)).chain(outside)
    }

    /// Ends the command that the host sees next, and frees its slot. Where its time has gone is for others to add.
    #[inline(always)]
    pub fn deliver(&mut self, slot: Slot, at: Nanos) -> Completion {
        self.finished.pop_front();
        let c = &self.slots[slot.index()];
        self.free.push(slot);
        self.active -= 1;
        self.alone = false;
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
