//! Commands under way, and where their time goes.

use ssdlab_core::{Breakdown, Cause, Nanos};
use ssdlab_device::{Completion, Request, Status};

use crate::targets::Access;

/// A command that has a slot.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    pub request: Request,
    pub submitted: Nanos,
    /// When it got its slot, and when the firmware had read it.
    pub began: Nanos,
    pub decoded: Nanos,
    pub from: u32,
    pub to: u32,
    /// Of a write: the first sector that is not in the cache yet; whether it ends only when it is on the platters.
    pub next: u32,
    pub through: bool,
    /// Of one that does: when all of it had room in the cache.
    pub placed: Nanos,
    /// Of a write: its number among writes.
    pub number: u64,
    pub spent: Spent,
}

/// What the parts of a command's time are. Whatever is left of the latency is waiting for its turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Held by the host because a FLUSH goes alone.
    pub barred: Nanos,
    pub link: Nanos,
    pub buffer: Nanos,
    pub seek: Nanos,
    pub rotation: Nanos,
    pub transfer: Nanos,
    /// While the command waits: time that the arm had spent on cached writes when that began.
    pub destage: Nanos,
}

impl Spent {
    /// The arm has written data of the command itself, and spent so long on that: what is not for others. What it took beyond
    /// its way and the data's, it waited for them to come from the host.
    pub fn on_own(&mut self, access: Access, transfer: Nanos, time: Nanos) {
        let [seek, rotation] = [access.seek, access.rotation].map(Nanos::from);
        self.seek += seek;
        self.rotation += rotation;
        self.transfer += transfer;
        self.link += time.saturating_sub(seek + rotation + transfer);
        self.destage += time;
    }
}

impl Command {
    pub fn new(request: Request, submitted: Nanos, began: Nanos, decoded: Nanos) -> Command {
        let sector = |bytes: u64| (bytes / ssdlab_core::SECTOR_BYTES) as u32;
        let from = sector(request.offset_bytes);
        Command {
            request,
            submitted,
            began,
            decoded,
            from,
            to: sector(request.offset_bytes + request.length_bytes),
            next: from,
            through: false,
            placed: 0,
            number: 0,
            spent: Spent::default(),
        }
    }

    #[inline]
    pub fn complete(&self, at: Nanos) -> Completion {
        let Command { request, submitted, began, decoded, ref spent, .. } = *self;
        let mut breakdown = Breakdown::default();
        let parts = [
            (Cause::NotQueued, spent.barred),
            (Cause::Link, spent.link),
            (Cause::Controller, decoded - began),
            (Cause::Buffer, spent.buffer),
            (Cause::Seek, spent.seek),
            (Cause::Rotation, spent.rotation),
            (Cause::Transfer, spent.transfer),
            (Cause::Destage, spent.destage),
        ];
        let mut rest = at - submitted;
        debug_assert!(
            parts.iter().map(|&(_, time)| time).sum::<Nanos>() <= rest,
            "{parts:?} come to more than the {rest} ns that {request:?} took"
        );
        for (cause, time) in parts {
            let time = time.min(rest);
            breakdown.nanos[cause as usize] = time;
            rest -= time;
        }
        breakdown.nanos[Cause::Queue as usize] = rest;
        Completion {
            tag: request.tag,
            op: request.op,
            status: Status::Ok,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            submitted,
            completed: at,
            breakdown,
        }
    }
}
