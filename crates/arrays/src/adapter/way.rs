//! The way between host and adapter: firmware and driver deal with one command after the other, and the interface passes data
//! of each direction in order.

use ssdlab_core::{Nanos, nanos_from_us};

use super::spec::AdapterLinkSpec;

/// See the module's own page. Knows when each of its parts is free.
#[derive(Clone, Debug)]
pub struct Way {
    command: Nanos,
    picos_per_byte: u64,
    processor_free: Nanos,
    to_device_free: Nanos,
    to_host_free: Nanos,
}

impl Way {
    pub fn new(spec: &AdapterLinkSpec) -> Self {
        Way {
            command: nanos_from_us(spec.command_us),
            picos_per_byte: (1e6 / spec.megabytes_per_s + 0.5) as u64,
            processor_free: 0,
            to_device_free: 0,
            to_host_free: 0,
        }
    }

    pub fn rest_until(&mut self, time: Nanos) {
        (self.processor_free, self.to_device_free, self.to_host_free) = (time, time, time);
    }

    /// When the processor has dealt with a command that comes at `now`.
    pub fn command(&mut self, now: Nanos) -> Nanos {
        self.processor_free = self.processor_free.max(now) + self.command;
        self.processor_free
    }

    /// Data of a command that has been dealt with at `from` come from the host: when the first and when the last of them do.
    pub fn pass_to_device(&mut self, bytes: u64, from: Nanos) -> (Nanos, Nanos) {
        let begin = self.to_device_free.max(from);
        self.to_device_free = begin + self.time(bytes);
        (begin, self.to_device_free)
    }

    /// Data of which the first are there at `first` and the last at `last` go to the host: when it has them all.
    pub fn pass_to_host(&mut self, bytes: u64, first: Nanos, last: Nanos) -> Nanos {
        let time = self.time(bytes);
        // What comes from the device passes while it comes.
        let begin = self.to_host_free.max(last.saturating_sub(time)).max(first);
        self.to_host_free = last.max(begin + time);
        self.to_host_free
    }

    fn time(&self, bytes: u64) -> Nanos {
        (u128::from(bytes) * u128::from(self.picos_per_byte) / 1000) as Nanos
    }
}
