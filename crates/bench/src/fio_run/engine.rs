//! The clones of one stage side by side on a device.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ssdlab_core::{Nanos, SECOND};
use ssdlab_device::Status;
use ssdlab_workload::Source;

use super::meter::EntryMeter;
use super::task::{Step, Task};
use crate::error::HostError;
use crate::host::port::{MAX_JOBS, failed, job_of, tag_of};
use crate::host::{Host, MAX_DURATION};

/// Runs the tasks until each has ended and everything has completed. Completions reach the meter of the task's
/// entry. What has not ended by `deadline` is an error.
///
/// # Errors
/// [`HostError`]: an impossible request, a failed command, a device that stalls or does not balance, or cancellation.
pub(super) fn run<S: Source>(
    host: &mut Host<'_>,
    mut tasks: Vec<Task<S>>,
    entries: &mut [EntryMeter],
    deadline: Nanos,
) -> Result<(), HostError> {
    host.port.check_at_rest()?;
    if tasks.len() > MAX_JOBS {
        let reason = format!("at most {MAX_JOBS} jobs run side by side, not {}", tasks.len());
        return Err(HostError::BadJob { job: MAX_JOBS, reason });
    }
    let started = host.port.now;
    for task in &mut tasks {
        task.start(started);
        entries[task.entry].begin(task.measure_from());
    }
    // Only tasks that something has happened to are looked at: those with a completion, and those whose time has
    // come. With thousands of clones most have nothing to do at most times.
    let mut ready: Vec<usize> = (0..tasks.len()).collect();
    let mut wakes: BinaryHeap<Reverse<(Nanos, usize)>> = BinaryHeap::new();
    // The time for which each task stands in `wakes`, so that it stands there once.
    let mut armed = vec![Nanos::MAX; tasks.len()];
    let mut running = tasks.len();
    let mut tick = started + SECOND;
    let mut reaped: Vec<u32> = vec![0; tasks.len()];
    loop {
        ready.sort_unstable();
        ready.dedup();
        for &index in &ready {
            let task = &mut tasks[index];
            while !task.has_ended() {
                let serial = task.serial();
                match task.step(host.port.now) {
                    Step::Send(command) => {
                        if task.measures(host.port.now) {
                            entries[task.entry].submitted(task.in_flight());
                        }
                        host.set_compressibility(task.compress_percent.into());
                        host.port.issue(tag_of(index, serial), command)?;
                    }
                    Step::Wait => break,
                    Step::WaitUntil(at) => {
                        if armed[index] != at {
                            armed[index] = at;
                            wakes.push(Reverse((at, index)));
                        }
                        break;
                    }
                    Step::Ended => {
                        running -= 1;
                        entries[task.entry].end(task.measure_from(), task.ended_at(host.port.now));
                    }
                }
            }
        }
        ready.clear();
        if running == 0 {
            break;
        }
        let wake = wakes.peek().map_or(Nanos::MAX, |w| w.0.0);
        let now = host.port.wait(tick.min(wake));
        // Taken out while it is walked through, so that the port can be borrowed; the buffer goes back.
        let done = std::mem::take(&mut host.port.done);
        for piece in &done {
            let mut whole = None;
            let Some(c) = host.port.accept(piece, &mut whole)? else {
                continue;
            };
            if c.status != Status::Ok {
                return Err(failed(c));
            }
            let index = job_of(c.tag);
            let task = &mut tasks[index];
            task.completed(c);
            if task.measures(c.completed) {
                entries[task.entry].record(c);
                reaped[index] += 1;
            }
            ready.push(index);
        }
        host.port.done = done;
        host.port.done.clear();
        for &index in &ready {
            let count = std::mem::take(&mut reaped[index]);
            if count > 0 {
                entries[tasks[index].entry].reaped(count);
            }
        }
        while let Some(&Reverse((at, index))) = wakes.peek() {
            if at > now {
                break;
            }
            wakes.pop();
            armed[index] = Nanos::MAX;
            ready.push(index);
        }
        if now >= tick {
            if now > deadline {
                return Err(HostError::TooLong { limit: MAX_DURATION });
            }
            tick += SECOND;
            host.port.check_alive()?;
            let done: f64 = tasks.iter().map(|t| t.fraction(now)).sum();
            if !host.monitor().go_on(done / tasks.len() as f64) {
                return Err(HostError::Cancelled);
            }
        }
    }
    host.port.check_balance()
}
