//! What a host has got, command by command.

use ssdlab_core::Op;
use ssdlab_device::HostCounters;

pub fn count(counters: &mut HostCounters, op: Op, bytes: u64) {
    match op {
        Op::Read => {
            counters.reads += 1;
            counters.read_bytes += bytes;
        }
        Op::Write => {
            counters.writes += 1;
            counters.write_bytes += bytes;
        }
        Op::Trim => counters.trim_bytes += bytes,
        Op::Flush | Op::WriteZeroes => {}
    }
}
