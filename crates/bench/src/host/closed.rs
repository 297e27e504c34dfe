//! The closed loop: each job keeps its queue depth in flight, and sends a request when one has completed.

use std::collections::VecDeque;

use ssdlab_core::{Nanos, SECOND};
use ssdlab_workload::Source;

use super::port::{MAX_JOBS, job_of, tag_of};
use super::{Host, Job};
use crate::error::HostError;
use crate::measure::Meter;

/// What a run did, measured or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub started: Nanos,
    /// When the last request had completed.
    pub ended: Nanos,
    /// Requests sent, of all jobs.
    pub requests: u64,
    pub bytes: u64,
}

/// A job while it runs.
struct State {
    in_flight: u32,
    requests: u64,
    bytes: u64,
    /// No more requests: the source ended or a limit was reached.
    closed: bool,
    /// By the clock, and by no other limit before.
    cut_short: bool,
    /// When it closes by itself.
    end: Nanos,
    measure_from: Nanos,
    last_completion: Nanos,
    /// When the places that are thinking may send again; rises from front to back.
    thinking: VecDeque<Nanos>,
}

impl Host<'_> {
    /// Runs the jobs side by side until each has reached a limit or its source has ended, and all requests have
    /// completed. Job `i`'s completions reach `meter` as job `i`.
    ///
    /// # Errors
    /// [`HostError`]: an impossible job or request, a failed command, a device that stalls or does not balance, or
    /// cancellation.
    pub fn run<S: Source, M: Meter>(&mut self, jobs: &mut [Job<S>], meter: &mut M) -> Result<Run, HostError> {
        self.port.begin()?;
        if jobs.len() > MAX_JOBS {
            let reason = format!("at most {MAX_JOBS} jobs run side by side, not {}", jobs.len());
            return Err(HostError::BadJob { job: MAX_JOBS, reason });
        }
        let started = self.port.now;
        let mut states = Vec::with_capacity(jobs.len());
        for (index, job) in jobs.iter().enumerate() {
            job.check().map_err(|reason| HostError::BadJob { job: index, reason })?;
            let measure_from = started + job.ramp;
            meter.begin(index, measure_from);
            states.push(State {
                in_flight: 0,
                requests: 0,
                bytes: 0,
                closed: false,
                cut_short: false,
                end: job.limits.duration.map_or(Nanos::MAX, |d| measure_from.saturating_add(d)),
                measure_from,
                last_completion: measure_from,
                thinking: VecDeque::new(),
            });
        }
        let paced = jobs.iter().any(Job::is_paced);
        let mut end = next_end(&states);
        let mut tick = started + SECOND;
        let mut look = started.saturating_add(M::LOOKS_EVERY);
        loop {
            let mut wake = Nanos::MAX;
            for (index, (job, state)) in jobs.iter_mut().zip(&mut states).enumerate() {
                while !state.closed && state.in_flight < job.queue_depth {
                    if paced {
                        let due = state.due(job);
                        if due > self.port.now {
                            wake = wake.min(due);
                            break;
                        }
                    }
                    let Some(command) = job.source.next() else {
                        state.closed = true;
                        break;
                    };
                    self.port.issue(tag_of(index, state.requests), command)?;
                    state.sent(job, command.length_bytes);
                }
            }
            if self.port.in_flight() == 0 && states.iter().all(|s| s.closed) {
                break;
            }
            let due = if M::LOOKS_EVERY == Nanos::MAX { tick } else { tick.min(look) };
            let now = self.port.wait(due.min(end).min(wake));
            self.port.reap(|c| {
                let index = job_of(c.tag);
                let state = &mut states[index];
                state.in_flight -= 1;
                let measured = c.completed >= state.measure_from && c.completed <= state.end;
                if measured {
                    state.last_completion = c.completed;
                    meter.record(index, c);
                } else if (c.submitted..c.completed).contains(&state.end) {
                    // Not what a real device was sent when the time was just over.
                    meter.outlast(index, c, state.end);
                }
                if paced && jobs[index].think > 0 {
                    state.thinking.push_back(c.completed + jobs[index].think);
                }
                measured
            })?;
            if M::LOOKS_EVERY != Nanos::MAX && now >= look {
                look += M::LOOKS_EVERY;
                meter.look(now, &self.port.device.counters());
            }
            if now >= tick {
                tick += SECOND;
                self.second(now, started, jobs, &states, meter)?;
            }
            if now >= end {
                let over = |(_, s): &(usize, &mut State)| s.end <= now && !s.closed;
                for (index, state) in states.iter_mut().enumerate().filter(over) {
                    (state.cut_short, state.closed) = (true, true);
                    meter.stop(index, now, &|| self.port.device.counters());
                }
                end = next_end(&states);
            }
        }
        self.port.check_balance()?;
        for (index, state) in states.iter().enumerate() {
            // A job cut short by the clock was measured up to its end; any other, up to its last completion.
            meter.end(index, if state.cut_short { state.end } else { state.last_completion });
        }
        if !self.monitor.go_on(1.0) {
            return Err(HostError::Cancelled);
        }
        Ok(Run {
            started,
            ended: self.port.now,
            requests: states.iter().map(|s| s.requests).sum(),
            bytes: states.iter().map(|s| s.bytes).sum(),
        })
    }

    /// Once per simulated second: what is too dear to do at every request.
    #[cold]
    fn second<S, M: Meter>(
        &self,
        now: Nanos,
        started: Nanos,
        jobs: &[Job<S>],
        states: &[State],
        meter: &mut M,
    ) -> Result<(), HostError> {
        self.port.check_alive()?;
        meter.tick(now, &|| self.port.device.counters());
        let done: f64 = jobs.iter().zip(states).map(|(job, state)| state.fraction(job, started, now)).sum();
        if self.monitor.go_on(done / jobs.len() as f64) { Ok(()) } else { Err(HostError::Cancelled) }
    }
}

/// The next moment at which a job closes by the clock.
fn next_end(states: &[State]) -> Nanos {
    states.iter().filter(|s| !s.closed).map(|s| s.end).min().unwrap_or(Nanos::MAX)
}

impl State {
    /// Books a request that was sent, and closes the job at its limits.
    #[inline]
    fn sent<S>(&mut self, job: &Job<S>, bytes: u64) {
        self.in_flight += 1;
        self.requests += 1;
        self.bytes += bytes;
        if job.think > 0 {
            self.thinking.pop_front();
        }
        let limits = &job.limits;
        self.closed =
            limits.bytes.is_some_and(|n| self.bytes >= n) || limits.requests.is_some_and(|n| self.requests >= n);
    }

    /// When the job may send its next request; a place is free.
    fn due<S>(&self, job: &Job<S>) -> Nanos {
        // The places that have not sent anything yet do not have to think.
        let fresh = u64::from(job.queue_depth) > u64::from(self.in_flight) + self.thinking.len() as u64;
        if fresh { 0 } else { self.thinking.front().copied().unwrap_or(0) }
    }

    /// How much of the job is done, by the limit that is nearest; 0 where only the source knows.
    fn fraction<S>(&self, job: &Job<S>, started: Nanos, now: Nanos) -> f64 {
        if self.closed {
            return 1.0;
        }
        let share = |part: u64, whole: Option<u64>| whole.map_or(0.0, |w| part as f64 / w.max(1) as f64);
        share(now - started, job.limits.duration.map(|d| d.saturating_add(job.ramp)))
            .max(share(self.bytes, job.limits.bytes))
            .max(share(self.requests, job.limits.requests))
            .min(1.0)
    }
}

impl Run {
    /// Bytes over the time from the first request to the last completion, in decimal MB/s.
    #[must_use]
    pub fn mb_per_s(&self) -> f64 {
        let elapsed = self.ended - self.started;
        if elapsed == 0 { 0.0 } else { self.bytes as f64 * 1e3 / elapsed as f64 }
    }
}
