//! Reads of the device that end in the cache.

use super::under_way::UnderWay;

/// A read of the host on its way through the cache, which may look more than once. It counts once.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    pub command: usize,
    /// It has counted as a miss.
    pub missed: bool,
    /// It has counted as held back.
    pub held: bool,
}

impl Reading {
    pub fn new(command: usize) -> Self {
        Reading { command, missed: false, held: false }
    }
}

#[derive(Clone, Debug)]
pub struct Fill {
    pub from: u64,
    pub to: u64,
    /// What the cache took or the drives got meanwhile is newer: nothing of it is kept.
    pub stale: bool,
    /// Nobody has asked for it yet.
    pub ahead: bool,
    /// Reads of the host that it is for.
    pub waiting: Vec<Reading>,
}

impl Fill {
    /// What a command of the host needs of the device.
    pub fn asked_for((from, to): (u64, u64), reading: Reading) -> Self {
        Fill { from, to, stale: false, ahead: false, waiting: vec![reading] }
    }

    pub fn ahead((from, to): (u64, u64)) -> Self {
        Fill { from, to, stale: false, ahead: true, waiting: Vec::new() }
    }
}

impl UnderWay<Fill> {
    /// One that brings all of these bytes.
    pub fn that_brings(&mut self, (from, to): (u64, u64)) -> Option<&mut Fill> {
        self.iter_mut().find(|f| !f.stale && f.from <= from && to <= f.to)
    }

    /// These bytes have been written, here or to the drives: a read that began before may have met those before them, and their
    /// line may be gone when it ends.
    pub fn written(&mut self, from: u64, to: u64) {
        for fill in self.iter_mut() {
            fill.stale |= from < fill.to && fill.from < to;
        }
    }
}
