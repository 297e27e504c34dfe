//! Putting a device into a state: erased, filled, trimmed, rested.

use ssdlab_core::{Nanos, Op, Rng, SECOND};
use ssdlab_device::LinkPolicy;
use ssdlab_workload::{Command, Pattern, Source};

use super::{Host, Job, Run};
use crate::error::{BenchError, HostError};
use crate::measure::Meter;

/// What one TRIM command of the host covers at most: 64 ranges (one 512-byte block of DATA SET MANAGEMENT) of 65,528
/// sectors, the largest 16-bit count that keeps 4 KiB alignment.
pub const TRIM_COMMAND_BYTES: u64 = 64 * 65_528 * 512;

/// Sequential fills go in blocks of this size, as fast as the interface allows; the order stays sequential.
pub const FILL_BLOCK_BYTES: u64 = 128 << 10;
/// Requests in flight meanwhile.
pub const FILL_QUEUE_DEPTH: u32 = 32;

/// Rest between filling what a job file or a trace reads and its first request.
pub const PREFILL_REST: Nanos = 10 * SECOND;

/// TRIM commands that cover a range, in order.
struct TrimRange {
    at: u64,
    end: u64,
}

impl Source for TrimRange {
    fn next(&mut self) -> Option<Command> {
        let length_bytes = TRIM_COMMAND_BYTES.min(self.end - self.at);
        (length_bytes > 0).then(|| {
            let offset_bytes = self.at;
            self.at += length_bytes;
            Command { op: Op::Trim, offset_bytes, length_bytes, fua: false }
        })
    }
}

/// One FLUSH.
struct OneFlush(bool);

impl Source for OneFlush {
    fn next(&mut self) -> Option<Command> {
        let sent = std::mem::replace(&mut self.0, true);
        (!sent).then_some(Command { op: Op::Flush, offset_bytes: 0, length_bytes: 0, fua: false })
    }
}

impl Host<'_> {
    /// Writes `start_bytes..start_bytes + length_bytes` once, in sequence, and measures with `meter` (`&mut ()` for
    /// nothing).
    ///
    /// # Errors
    /// As [`Host::run`].
    pub fn fill<M: Meter>(
        &mut self,
        start_bytes: u64,
        length_bytes: u64,
        block_bytes: u64,
        queue_depth: u32,
        meter: &mut M,
    ) -> Result<Run, BenchError> {
        let pattern = Pattern::sequential_write(length_bytes, block_bytes).starting_at(start_bytes).passes(1);
        self.sweep(&pattern, queue_depth, meter)
    }

    /// Fills spans in sequence, each from its first to its last byte, and rests: as long as `rest` says, or, if that says nothing,
    /// for [`PREFILL_REST`] where anything was filled. `begins` is told the number of each. Returns how long it rested.
    ///
    /// # Errors
    /// As [`Host::run`].
    pub fn prefill(
        &mut self,
        spans: &[(u64, u64)],
        rest: Option<Nanos>,
        mut begins: impl FnMut(usize),
    ) -> Result<Nanos, BenchError> {
        for (i, &(start, end)) in spans.iter().enumerate() {
            begins(i);
            self.fill(start, end - start, FILL_BLOCK_BYTES, FILL_QUEUE_DEPTH, &mut ())?;
        }
        let rest = rest.unwrap_or(if spans.is_empty() { 0 } else { PREFILL_REST });
        if rest > 0 {
            self.idle(rest)?;
        }
        Ok(rest)
    }

    /// Reads a range once, in sequence.
    ///
    /// # Errors
    /// As [`Host::run`].
    pub fn read_through<M: Meter>(
        &mut self,
        start_bytes: u64,
        length_bytes: u64,
        block_bytes: u64,
        queue_depth: u32,
        meter: &mut M,
    ) -> Result<Run, BenchError> {
        let pattern = Pattern::sequential_read(length_bytes, block_bytes).starting_at(start_bytes).passes(1);
        self.sweep(&pattern, queue_depth, meter)
    }

    fn sweep<M: Meter>(&mut self, pattern: &Pattern, queue_depth: u32, meter: &mut M) -> Result<Run, BenchError> {
        // Sequential: no random numbers are drawn.
        let source = pattern.build(&Rng::new(0)).map_err(|e| BenchError::Unsuitable(e.to_string()))?;
        // The limit is for the progress report; the pass ends there by itself.
        let job = Job::new(source, queue_depth).for_bytes(pattern.span_bytes);
        Ok(self.run(&mut [job], meter)?)
    }

    /// Tells the device that a range is no longer needed, as a quick format does: commands of
    /// [`TRIM_COMMAND_BYTES`], one at a time (DATA SET MANAGEMENT is not queued).
    ///
    /// # Errors
    /// [`BenchError::Unsuitable`] if the device knows no TRIM; else as [`Host::run`].
    pub fn trim(&mut self, start_bytes: u64, length_bytes: u64) -> Result<Run, BenchError> {
        if !self.info().supports_trim {
            return Err(BenchError::Unsuitable(format!("{} does not support TRIM", self.info().name)));
        }
        let source = TrimRange { at: start_bytes, end: start_bytes.saturating_add(length_bytes) };
        Ok(self.run(&mut [Job::new(source, 1)], &mut ())?)
    }

    /// Sends a FLUSH, and waits until it is answered.
    ///
    /// # Errors
    /// As [`Host::run`].
    pub fn flush(&mut self) -> Result<Run, BenchError> {
        Ok(self.run(&mut [Job::new(OneFlush(false), 1)], &mut ())?)
    }

    /// Leaves the device alone for a time; what it does by itself goes on. Counts as no progress.
    ///
    /// # Errors
    /// If a run before left commands behind, or on cancellation.
    pub fn idle(&mut self, duration: Nanos) -> Result<(), HostError> {
        self.port.begin()?;
        let end = self.port.now + duration;
        while self.port.now < end {
            let to = end.min(self.port.now + SECOND);
            self.port.rest_until(to);
            if !self.monitor.go_on(0.0) {
                return Err(HostError::Cancelled);
            }
        }
        Ok(())
    }

    /// Leaves the device alone until it has nothing left to do, ten minutes at most.
    ///
    /// # Errors
    /// As [`Host::idle`].
    pub fn settle(&mut self) -> Result<(), HostError> {
        for _ in 0..600 {
            if self.port.device.next_event().is_none() {
                break;
            }
            self.idle(SECOND)?;
        }
        Ok(())
    }

    /// From now on treats the link of the idle device in this way.
    ///
    /// # Errors
    /// [`BenchError::Unsuitable`] if the device does not know what this asks for; else if a run before left commands
    /// behind.
    pub fn set_link_policy(&mut self, policy: LinkPolicy) -> Result<(), BenchError> {
        self.port.begin()?;
        let now = self.port.now;
        match self.port.device.power() {
            Some(power) if power.supports_link_policy(policy) => power.set_link_policy(now, policy),
            None if policy == LinkPolicy::Active => {}
            _ => {
                let (device, name) = (&self.info().name, policy.name());
                return Err(BenchError::Unsuitable(format!(
                    "the link of {device} does not know what `{name}` asks for"
                )));
            }
        }
        Ok(())
    }

    /// From now on, requests say that their data can be compressed by so many per cent of their size. A device that does
    /// not compress takes no notice.
    pub fn set_compressibility(&mut self, percent: f64) {
        self.port.hints.compressibility_per_1000 = (percent.clamp(0.0, 100.0) * 10.0 + 0.5) as u16;
    }

    /// Whether the device has the security commands.
    pub fn has_secure_erase(&mut self) -> bool {
        self.port.device.security().is_some()
    }

    /// Whether [`Host::put_away`] can.
    #[must_use]
    pub fn can_be_put_away(&self) -> bool {
        self.port.device.plug_seen().is_some()
    }

    /// STANDBY IMMEDIATE, then the plug is pulled: what the device keeps, for [`ssdlab_device::Plug::load`].
    ///
    /// # Errors
    /// [`BenchError::Unsuitable`] if the device cannot be saved; else if a run before left commands behind.
    pub fn put_away(mut self) -> Result<Vec<u8>, BenchError> {
        self.port.begin()?;
        let now = self.port.now;
        let Some(plug) = self.port.device.plug() else {
            return Err(cannot_be_saved(&self.info().name));
        };
        let off = plug.stand_by(now);
        plug.cut(off);
        Ok(plug.save())
    }

    /// ATA SECURITY ERASE UNIT, and waits until the device is ready again.
    ///
    /// # Errors
    /// [`BenchError::Unsuitable`] if the device has no security commands; else if a run before left commands behind.
    pub fn secure_erase(&mut self) -> Result<(), BenchError> {
        self.port.begin()?;
        // Background work must not be cut in the middle of time: the erase begins now, and the clock goes on from
        // where it ended.
        let now = self.port.now;
        let Some(security) = self.port.device.security() else {
            return Err(BenchError::Unsuitable(format!("{} has no secure erase", self.info().name)));
        };
        let ready = security.secure_erase(now);
        self.port.rest_until(ready.max(self.port.now));
        Ok(())
    }
}

/// Why a device is not put away.
pub(crate) fn cannot_be_saved(name: &str) -> BenchError {
    BenchError::Unsuitable(format!(
        "{name} cannot be saved: it has no plug (real devices, sets of a drive of more than 64 GiB with a smaller one or a disk, stripes that \
         are no whole 4 KiB)"
    ))
}
