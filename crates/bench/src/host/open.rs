//! The open loop: requests arrive when they arrive, whether or not the device keeps up.

use std::collections::BTreeMap;

use ssdlab_core::{Histogram, Nanos, Op, SECOND};
use ssdlab_workload::Command;

use super::port::tag_of;
use super::{Host, Run};
use crate::error::HostError;
use crate::measure::Meter;

/// A request and when it arrives, counted from the start of the replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub at: Nanos,
    pub command: Command,
}

/// What a replay did, and how far it fell behind.
#[derive(Clone, Debug)]
pub struct Replay {
    pub run: Run,
    /// For every request, how long after its arrival it was sent: because all of the host's tags were taken, or, on a real
    /// device, because the host itself was late.
    pub lag: Histogram,
    /// Requests that were sent later than they arrived for want of a tag.
    pub delayed: u64,
    /// From arrival to completion, of each operation that occurs.
    pub response: Vec<(Op, Histogram)>,
}

impl Host<'_> {
    /// Sends each request at its time of arrival, or as soon after as one of the host's `tags` is free (AHCI has
    /// 32). Latencies that reach `meter` (as job 0) count from the sending; the wait before is the
    /// [`Replay::lag`]. `duration_hint` is for the progress report only.
    ///
    /// # Errors
    /// As [`Host::run`], and if arrivals are not in time order.
    pub fn replay<I, M>(
        &mut self,
        arrivals: I,
        tags: u32,
        duration_hint: Option<Nanos>,
        meter: &mut M,
    ) -> Result<Replay, HostError>
    where
        I: IntoIterator<Item = Arrival>,
        M: Meter,
    {
        self.port.begin()?;
        if tags == 0 {
            return Err(HostError::BadJob { job: 0, reason: "the host needs at least 1 tag".to_owned() });
        }
        let started = self.port.now;
        let mut arrivals = arrivals.into_iter();
        let mut waiting = arrivals.next();
        let (mut requests, mut bytes, mut in_flight, mut delayed) = (0, 0, 0u32, 0);
        let mut lag = Histogram::new();
        // How long each command in flight that was sent late waited, by tag.
        let mut late: BTreeMap<u64, Nanos> = BTreeMap::new();
        // Whether requests have waited for a tag since none was due.
        let mut held = false;
        let mut response: [Option<Histogram>; Op::ALL.len()] = Default::default();
        let mut last_completion = started;
        let mut tick = started + SECOND;
        meter.begin(0, started);
        loop {
            let mut arrival_at = Nanos::MAX;
            while let Some(Arrival { at, command }) = waiting {
                let due = started.saturating_add(at);
                if due > self.port.now {
                    arrival_at = due;
                    held = false;
                    break;
                }
                if in_flight == tags {
                    held = true;
                    break;
                }
                let tag = tag_of(0, requests);
                self.port.issue(tag, command)?;
                let waited = self.port.now - due;
                lag.record(waited);
                if waited > 0 {
                    delayed += u64::from(held);
                    late.insert(tag, waited);
                }
                in_flight += 1;
                requests += 1;
                bytes += command.length_bytes;
                waiting = arrivals.next();
                if let Some(next) = waiting.filter(|next| next.at < at) {
                    return Err(HostError::ArrivalOrder { index: requests, at: next.at });
                }
                if self.port.is_real {
                    // Sending takes time: what has ended meanwhile gives its tag back before the next one is wanted.
                    arrival_at = self.port.now;
                    break;
                }
            }
            if waiting.is_none() && self.port.in_flight() == 0 {
                break;
            }
            let now = self.port.wait(tick.min(arrival_at));
            self.port.reap(|c| {
                in_flight -= 1;
                last_completion = c.completed;
                let waited = late.remove(&c.tag).unwrap_or(0);
                response[c.op as usize].get_or_insert_default().record(waited + c.latency());
                meter.record(0, c);
                true
            })?;
            if now >= tick {
                tick += SECOND;
                self.port.check_alive()?;
                meter.tick(now, &|| self.port.device.counters());
                let fraction = duration_hint.map_or(0.0, |d| (now - started) as f64 / d.max(1) as f64);
                if !self.monitor.go_on(fraction) {
                    return Err(HostError::Cancelled);
                }
            }
        }
        self.port.check_balance()?;
        meter.end(0, last_completion);
        if !self.monitor.go_on(1.0) {
            return Err(HostError::Cancelled);
        }
        let response = Op::ALL.iter().zip(response).filter_map(|(&op, h)| Some((op, h?))).collect();
        Ok(Replay { run: Run { started, ended: self.port.now, requests, bytes }, lag, delayed, response })
    }
}
