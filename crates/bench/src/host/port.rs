//! Where requests become commands: checks, splits, submits, and puts the pieces together again.

use ssdlab_core::{Breakdown, Nanos, Op, SECTOR_BYTES};
use ssdlab_device::{Completion, Counters, Device, Hints, Request, Status};
use ssdlab_workload::Command;

use super::STORAHCI_MAX_TRANSFER_BYTES;
use super::balance::Balance;
use super::slowest_seen::{SlowestSeen, Watch};
use crate::error::HostError;
use ssdlab_core::MAX_DURATION;

/// A request that was split: waits for its last piece.
struct Parent {
    tag: u64,
    offset_bytes: u64,
    length_bytes: u64,
    submitted: Nanos,
    pieces: u32,
    status: Status,
}

pub(crate) struct Port<'a> {
    pub(crate) device: &'a mut dyn Device,
    /// What every request tells of its data.
    pub(crate) hints: Hints,
    pub(crate) now: Nanos,
    /// Whether its time passes by itself.
    pub(super) is_real: bool,
    /// What the last wait brought, until it is reaped.
    done: Vec<Completion>,
    balance: Balance,
    /// Commands at this instant.
    has_sent: bool,
    /// When the present stretch of [`STRETCH`] commands began, and how many of it have ended: a device that takes next to
    /// no time would keep the host busy for ever.
    stretch_began: Nanos,
    ended_in_stretch: u32,
    /// Whatever still runs then is an error.
    ends_by: Nanos,
    max_transfer_bytes: u64,
    parents: Vec<Parent>,
    free: Vec<u32>,
    /// Where somebody wants to see what the slowest request waits for.
    watch: Option<Box<Watch>>,
}

/// Tags of pieces carry this bit and their parent's place; other tags carry job and serial number.
const PIECE: u64 = 1 << 63;
/// Commands over which the host looks at how much time has passed: more than any queue holds, and soon ended by a device
/// that takes no time.
const STRETCH: u32 = 10_000_000;
/// The least that they take, a nanosecond each: no device is so fast, but a drive of which next to nothing was written,
/// and which would have a host at work for hours with a simulated minute.
const LEAST_OF_STRETCH: Nanos = STRETCH as Nanos;
const SERIAL_BITS: u32 = 47;
/// What is left of a tag for the job's number.
pub(crate) const MAX_JOBS: usize = 1 << (63 - SERIAL_BITS);

/// The job that a request belongs to.
#[inline]
pub(crate) fn job_of(tag: u64) -> usize {
    (tag >> SERIAL_BITS) as usize
}

/// The tag of a job's `serial`-th request. Ties between equally slow requests are broken by it.
#[inline]
pub(crate) fn tag_of(job: usize, serial: u64) -> u64 {
    debug_assert!(job < MAX_JOBS && serial < 1 << SERIAL_BITS);
    (job as u64) << SERIAL_BITS | serial
}

impl<'a> Port<'a> {
    pub(crate) fn new(device: &'a mut dyn Device) -> Self {
        Port {
            is_real: device.clock().is_some(),
            device,
            hints: Hints::default(),
            now: 0,
            done: Vec::with_capacity(256),
            balance: Balance::default(),
            has_sent: false,
            stretch_began: 0,
            ended_in_stretch: 0,
            ends_by: Nanos::MAX,
            max_transfer_bytes: STORAHCI_MAX_TRANSFER_BYTES,
            parents: Vec::new(),
            free: Vec::new(),
            watch: None,
        }
    }

    /// Before anything is issued: the device's clock stands here.
    pub(super) fn start_at(&mut self, now: Nanos) {
        self.now = now;
        self.stretch_began = now;
        self.balance.pass_to(now);
    }

    /// As [`super::Host::watch_slowest`].
    pub(super) fn watch_slowest(&mut self) -> bool {
        self.watch = Watch::begin(self.device, self.now).map(Box::new);
        self.watch.is_some()
    }

    /// As [`super::Host::slowest_seen`].
    pub(super) fn slowest_seen(&mut self) -> Option<SlowestSeen> {
        let watch = self.watch.take()?;
        if let Some(recorder) = self.device.recorder() {
            recorder.record(0);
        }
        watch.into_seen()
    }

    /// From now on, [`MAX_DURATION`] of simulated time is left.
    pub(crate) fn limit_time(&mut self) {
        self.ends_by = self.now.saturating_add(MAX_DURATION);
    }

    pub(crate) fn set_max_transfer_bytes(&mut self, bytes: u64) {
        assert!(
            bytes > 0 && bytes.is_multiple_of(SECTOR_BYTES),
            "a transfer of {bytes} bytes is not a number of sectors"
        );
        self.max_transfer_bytes = bytes;
    }

    /// Commands that the device holds.
    #[inline]
    pub(crate) fn in_flight(&self) -> u64 {
        self.balance.in_flight()
    }

    /// Takes over the time of a device whose time passes by itself.
    #[inline]
    pub(crate) fn catch_up(&mut self) {
        if self.is_real {
            let now = self.device.clock().map_or(self.now, |now| now.max(self.now));
            self.balance.pass_to(now);
            self.now = now;
        }
    }

    /// Sends a request now. What time it is then, a device whose time passes by itself says: the host was woken late, or busy
    /// with other requests.
    #[inline]
    pub(crate) fn issue(&mut self, tag: u64, c: Command) -> Result<(), HostError> {
        self.catch_up();
        let carries_data = matches!(c.op, Op::Read | Op::Write);
        if carries_data && c.length_bytes > self.max_transfer_bytes {
            self.issue_in_pieces(tag, c)
        } else {
            self.submit(tag, c)
        }
    }

    fn request(&self, tag: u64, c: Command) -> Request {
        Request::new(tag, c.op, c.offset_bytes, c.length_bytes).with_fua(c.fua).with_hints(self.hints)
    }

    #[inline]
    fn submit(&mut self, tag: u64, c: Command) -> Result<(), HostError> {
        self.device.submit(self.now, self.request(tag, c))?;
        self.has_sent = true;
        self.balance.submitted();
        Ok(())
    }

    fn issue_in_pieces(&mut self, tag: u64, c: Command) -> Result<(), HostError> {
        // None of its pieces may be under way when the request is refused.
        self.device.info().check(&self.request(tag, c))?;
        let pieces = c.length_bytes.div_ceil(self.max_transfer_bytes);
        let parent = Parent {
            tag,
            offset_bytes: c.offset_bytes,
            length_bytes: c.length_bytes,
            submitted: self.now,
            pieces: u32::try_from(pieces).expect("a request of more than 2^32 sectors does not fit a device"),
            status: Status::Ok,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.parents[slot as usize] = parent;
                slot
            }
            None => {
                self.parents.push(parent);
                self.parents.len() as u32 - 1
            }
        };
        for piece in 0..pieces {
            let from = piece * self.max_transfer_bytes;
            let length_bytes = self.max_transfer_bytes.min(c.length_bytes - from);
            self.submit(PIECE | u64::from(slot), Command { offset_bytes: c.offset_bytes + from, length_bytes, ..c })?;
        }
        Ok(())
    }

    /// Lets time pass to the next completions, at most to `limit`. They are to be reaped before the next wait.
    #[inline]
    pub(crate) fn wait(&mut self, limit: Nanos) -> Nanos {
        // Time that passes by itself may be beyond it: what has ended then is told at the time that it is.
        let limit = limit.max(self.now);
        debug_assert!(self.done.is_empty(), "completions of the last wait were not taken");
        let reached = self.device.advance_to_completion(limit, &mut self.done);
        debug_assert!(
            reached >= self.now && (self.is_real || reached <= limit),
            "waited from {} to {limit}: {reached}",
            self.now
        );
        self.balance.pass_to(reached);
        self.has_sent = false;
        self.now = reached;
        reached
    }

    /// Hands over the requests that the last wait has completed, in the order in which they ended; `completed` says of each
    /// whether it is measured, as what is watched is to be what is reported.
    ///
    /// # Errors
    /// The first that ended badly, or that cannot be.
    #[inline(always)]
    pub(crate) fn reap(&mut self, mut completed: impl FnMut(&Completion) -> bool) -> Result<(), HostError> {
        // Taken out while it is walked through; the buffer goes back.
        let mut done = std::mem::take(&mut self.done);
        for piece in &done {
            let mut whole = None;
            let Some(c) = self.accept(piece, &mut whole)? else {
                continue;
            };
            if c.status != Status::Ok {
                return Err(failed(c, self.device.trouble()));
            }
            let measured = completed(c);
            if let Some(watch) = &mut self.watch
                && measured
            {
                watch.ended(c, self.device);
            }
        }
        done.clear();
        self.done = done;
        Ok(())
    }

    /// Accepts a completion from the device and returns that of its request: itself, or for the last piece of a split
    /// request the whole's, built in `whole`; `None` while other pieces are on the way. All pieces were submitted
    /// together, so the last piece's breakdown is the request's.
    #[inline]
    fn accept<'c>(
        &mut self,
        c: &'c Completion,
        whole: &'c mut Option<Completion>,
    ) -> Result<Option<&'c Completion>, HostError> {
        self.balance.completed(c)?;
        self.ended_in_stretch += 1;
        if self.ended_in_stretch > STRETCH {
            self.end_stretch(c.completed)?;
        }
        if c.tag & PIECE == 0 {
            return Ok(Some(c));
        }
        *whole = self.accept_piece(c);
        Ok(whole.as_ref())
    }

    /// # Errors
    /// If time stands, or as good as that.
    #[cold]
    fn end_stretch(&mut self, at: Nanos) -> Result<(), HostError> {
        let within = at.saturating_sub(self.stretch_began);
        if within < LEAST_OF_STRETCH {
            return Err(HostError::TimeStands { commands: STRETCH, within, at });
        }
        (self.stretch_began, self.ended_in_stretch) = (at, 0);
        Ok(())
    }

    fn accept_piece(&mut self, c: &Completion) -> Option<Completion> {
        let slot = (c.tag & !PIECE) as u32;
        let parent = &mut self.parents[slot as usize];
        if c.status != Status::Ok {
            parent.status = c.status;
        }
        parent.pieces -= 1;
        if parent.pieces > 0 {
            return None;
        }
        let whole = Completion {
            tag: parent.tag,
            status: parent.status,
            offset_bytes: parent.offset_bytes,
            length_bytes: parent.length_bytes,
            submitted: parent.submitted,
            ..*c
        };
        self.free.push(slot);
        Some(whole)
    }

    /// # Errors
    /// If Little's law does not hold for everything up to now. Nothing may be in flight.
    pub(crate) fn check_balance(&self) -> Result<(), HostError> {
        self.balance.check()
    }

    /// # Errors
    /// If the device holds commands but will do nothing more by itself, or no time is left.
    pub(crate) fn check_alive(&self) -> Result<(), HostError> {
        if self.now > self.ends_by {
            return Err(HostError::TooLong { limit: MAX_DURATION });
        }
        if self.in_flight() > 0 && self.device.next_event().is_none() {
            return Err(HostError::Stalled { in_flight: self.in_flight(), at: self.now });
        }
        Ok(())
    }

    /// Before anything is done with a device at rest. The time of one whose time passes by itself is taken over: what the host
    /// was busy with up to now is no part of a request.
    ///
    /// # Errors
    /// If an earlier run ended in an error and left commands behind.
    pub(crate) fn begin(&mut self) -> Result<(), HostError> {
        if self.in_flight() > 0 {
            return Err(HostError::Unbalanced(format!(
                "{} commands are left over from a run that ended in an error",
                self.in_flight()
            )));
        }
        if let Some(now) = self.device.clock() {
            self.rest_until(now);
        }
        Ok(())
    }

    /// What the device has counted up to now. Parts of it that had nothing to do when others completed something may be of an
    /// earlier time, and draw power meanwhile; the time of a real device passes by itself. What has been sent at this instant is left
    /// alone: a device that takes no time would end it, and its completion belongs to the next wait.
    pub(crate) fn counters(&mut self) -> Counters {
        if self.device.clock().is_none() && !self.has_sent {
            let before = self.done.len();
            self.device.advance(self.now, &mut self.done);
            debug_assert_eq!(self.done.len(), before, "a completion came after its time");
        }
        self.device.counters()
    }

    /// Moves the clock without commands in flight; work inside the device goes on.
    pub(crate) fn rest_until(&mut self, to: Nanos) {
        let to = to.max(self.now);
        self.device.advance(to, &mut self.done);
        self.balance.pass_to(to);
        self.now = to;
    }
}

/// The error for a request that did not end well.
#[cold]
fn failed(c: &Completion, trouble: Option<&str>) -> HostError {
    HostError::Failed {
        op: c.op,
        offset_bytes: c.offset_bytes,
        length_bytes: c.length_bytes,
        status: c.status,
        trouble: trouble.map_or(String::new(), |text| format!(" ({text})")),
        at: c.completed,
    }
}

// The hot loop copies completions; keep them from growing unnoticed.
const _: () = assert!(std::mem::size_of::<Completion>() <= 48 + std::mem::size_of::<Breakdown>());

#[cfg(test)]
mod tests {
    use ssdlab_core::{MICROSECOND, Rng};
    use ssdlab_workload::Pattern;

    use super::*;
    use crate::host::{Host, Job};
    use crate::model::{ModelDevice, ModelSpec};
    use crate::monitor::Monitor;

    #[test]
    fn time_that_hardly_passes_ends_a_run() {
        // Reads take 100 us; the others of the stretch had taken no time.
        let run = |reads: u32| {
            let (mut device, monitor) = (ModelDevice::new(ModelSpec::default()), Monitor::silent());
            let mut host = Host::new(&mut device, &monitor);
            host.port.ended_in_stretch = STRETCH - reads;
            let source = Pattern::random_read(1 << 20, 4096).build(&Rng::new(1)).unwrap();
            host.run(&mut [Job::new(source, 1).for_requests(300)], &mut ()).map(|run| run.requests)
        };
        assert_eq!(run(100).unwrap(), 300);
        let Err(HostError::TimeStands { within, at, .. }) = run(98) else { panic!("it goes on") };
        assert_eq!((within, at), (99 * 100 * MICROSECOND, 99 * 100 * MICROSECOND));
    }
}
