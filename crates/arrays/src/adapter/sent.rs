//! Commands to the device, and whom each is for.

use ssdlab_core::Nanos;
use ssdlab_device::{Completion, Device, Request};

/// Whom a command to the device is for, in its tag.
pub enum For {
    /// A command of the host.
    Command(usize),
    /// What a cache writes out.
    Run(usize),
    /// What is read into a cache.
    Fill(usize),
}

impl For {
    pub fn send(&self, now: Nanos, request: Request, device: &mut dyn Device) {
        let request = Request { tag: self.tag(), ..request };
        if let Err(refusal) = device.submit(now, request) {
            panic!("{} refused what its adapter sent: {refusal}", device.info().name);
        }
    }

    pub fn whom(part: &Completion) -> Self {
        let n = (part.tag >> 2) as usize;
        match part.tag & 3 {
            0 => For::Command(n),
            1 => For::Run(n),
            _ => For::Fill(n),
        }
    }

    fn tag(&self) -> u64 {
        match *self {
            For::Command(n) => (n as u64) << 2,
            For::Run(n) => (n as u64) << 2 | 1,
            For::Fill(n) => (n as u64) << 2 | 2,
        }
    }
}
