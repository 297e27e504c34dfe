//! Playback: each request waits until the queue is as deep as it was when the request was recorded.

use ssdlab_core::{Nanos, SECOND};
use ssdlab_workload::storage_bench::{DEPTH_BINS, Step, depth_bin};

use super::port::tag_of;
use super::{Host, Run};
use crate::error::HostError;
use crate::measure::Meter;

/// What a playback did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Playback {
    pub run: Run,
    /// Pauses, in which nothing was in flight.
    pub idle: Nanos,
    /// The rest of the time up to the last completion: something was in flight.
    pub busy: Nanos,
    /// Requests by the depth of the queue once they had been sent, in [`DEPTH_BINS`].
    pub depths: [u64; DEPTH_BINS.len()],
    /// Sum of these depths.
    pub depth_sum: u64,
}

impl Host<'_> {
    /// Sends each request once fewer than its depth are in flight, after its pause. Without a pause there is no idle
    /// time: the next request goes out at the instant at which the queue has become short enough. The depth is not
    /// capped by the device's own queue; what does not fit waits, and the wait counts.
    ///
    /// Completions reach `meter` as job 0. `requests_hint` is for the progress report only.
    ///
    /// # Errors
    /// As [`Host::run`], and for a depth of 0 or a pause before a request that others are in flight with.
    pub fn play<I, M>(&mut self, steps: I, requests_hint: u64, meter: &mut M) -> Result<Playback, HostError>
    where
        I: IntoIterator<Item = Step>,
        M: Meter,
    {
        self.port.begin()?;
        let started = self.port.now;
        let mut steps = steps.into_iter();
        let mut waiting = steps.next();
        let (mut requests, mut bytes, mut idle, mut in_flight) = (0, 0, 0, 0u32);
        let (mut depths, mut depth_sum) = ([0; DEPTH_BINS.len()], 0);
        let mut last_completion = started;
        let mut tick = started + SECOND;
        meter.begin(0, started);
        loop {
            while let Some(step) = waiting {
                if step.depth == 0 || step.pause > 0 && step.depth > 1 {
                    let reason = format!("request {requests} has depth {} and pause {} ns", step.depth, step.pause);
                    return Err(HostError::BadJob { job: 0, reason });
                }
                if in_flight >= step.depth {
                    break;
                }
                if step.pause > 0 {
                    let (began, end) = (self.port.now, self.port.now + step.pause);
                    while self.port.now < end {
                        self.port.rest_until(end.min(tick));
                        self.tick_if_due(&mut tick, requests as f64 / requests_hint.max(1) as f64, meter)?;
                    }
                    // What a real device's host was woken late is idle, too.
                    self.port.catch_up();
                    idle += self.port.now - began;
                }
                self.port.issue(tag_of(0, requests), step.command)?;
                in_flight += 1;
                requests += 1;
                bytes += step.command.length_bytes;
                depths[depth_bin(in_flight)] += 1;
                depth_sum += u64::from(in_flight);
                waiting = steps.next();
            }
            if waiting.is_none() && self.port.in_flight() == 0 {
                break;
            }
            self.port.wait(tick);
            self.port.reap(|c| {
                in_flight -= 1;
                last_completion = c.completed;
                meter.record(0, c);
                true
            })?;
            self.tick_if_due(&mut tick, requests as f64 / requests_hint.max(1) as f64, meter)?;
        }
        self.port.check_balance()?;
        meter.end(0, last_completion);
        if !self.monitor.go_on(1.0) {
            return Err(HostError::Cancelled);
        }
        let busy = last_completion - started - idle;
        let run = Run { started, ended: self.port.now, requests, bytes };
        Ok(Playback { run, idle, busy, depths, depth_sum })
    }

    /// Once per simulated second: what is too dear to do at every request.
    #[inline]
    fn tick_if_due<M: Meter>(&self, tick: &mut Nanos, done: f64, meter: &mut M) -> Result<(), HostError> {
        if self.port.now < *tick {
            return Ok(());
        }
        *tick += SECOND;
        self.port.check_alive()?;
        meter.tick(self.port.now, &|| self.port.device.counters());
        if self.monitor.go_on(done.min(1.0)) { Ok(()) } else { Err(HostError::Cancelled) }
    }
}
