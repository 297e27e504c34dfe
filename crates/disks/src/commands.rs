//! Commands under way, and where their time goes.

use ssdlab_core::{Breakdown, Cause, Nanos};
use ssdlab_device::{Completion, Request, Status};

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
    /// Of a write: its number among writes.
    pub number: u64,
    pub spent: Spent,
}

/// What the parts of a command's time are. Whatever is left of the latency is waiting for its turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    pub link: Nanos,
    pub buffer: Nanos,
    pub seek: Nanos,
    pub rotation: Nanos,
    pub transfer: Nanos,
    pub destage: Nanos,
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
            number: 0,
            spent: Spent::default(),
        }
    }

    #[inline]
    pub fn complete(&self, at: Nanos) -> Completion {
        let Command { request, submitted, began, decoded, ref spent, .. } = *self;
        let mut breakdown = Breakdown::default();
        let parts = [
            (Cause::Link, spent.link),
            (Cause::Controller, decoded - began),
            (Cause::Buffer, spent.buffer),
            (Cause::Seek, spent.seek),
            (Cause::Rotation, spent.rotation),
            (Cause::Transfer, spent.transfer),
            (Cause::Destage, spent.destage),
        ];
        let mut rest = at - submitted;
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
