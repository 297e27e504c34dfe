//! The clones of one stage side by side on a device.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use ssdlab_core::{Nanos, SECOND};
use ssdlab_device::Status;
use ssdlab_workload::Source;
use ssdlab_workload::fio::ExitWhat;

use super::logs::AllLogs;
use super::meter::EntryMeter;
use super::steady::Watch;
use super::task::{Step, Task};
use crate::error::HostError;
use crate::host::Host;
use crate::host::port::{MAX_JOBS, failed, job_of, tag_of};

/// What can go wrong while jobs run.
#[derive(Debug, thiserror::Error)]
pub(super) enum EngineError {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Log(#[from] std::io::Error),
}

impl From<ssdlab_device::Refusal> for EngineError {
    fn from(e: ssdlab_device::Refusal) -> Self {
        HostError::from(e).into()
    }
}

/// Whether there is more to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Normal,
    /// A job ended that ends all others with it.
    All,
}

/// Runs the tasks until each has ended and everything has completed. Completions reach the meter of the task's
/// entry.
///
/// # Errors
/// [`HostError`]: an impossible request, a failed command, a device that stalls or does not balance, or cancellation.
pub(super) fn run<S: Source>(
    host: &mut Host<'_>,
    mut tasks: Vec<Task<S>>,
    entries: &mut [EntryMeter],
    watches: &mut [Watch],
    logs: &mut AllLogs<'_>,
) -> Result<Ending, EngineError> {
    host.port.check_at_rest()?;
    if tasks.len() > MAX_JOBS {
        let reason = format!("at most {MAX_JOBS} jobs run side by side, not {}", tasks.len());
        return Err(HostError::BadJob { job: MAX_JOBS, reason }.into());
    }
    let started = host.port.now;
    let mut flows = Flows::default();
    let watch_of: Vec<Option<usize>> =
        tasks.iter().map(|task| watches.iter().position(|w| w.entry == task.entry)).collect();
    // Those that wait for another job, and clones that have not ended, by job.
    let mut pending: Vec<usize> = Vec::new();
    let mut alive: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, task) in tasks.iter_mut().enumerate() {
        *alive.entry(task.job).or_default() += 1;
        if task.wait_for.is_some() {
            pending.push(index);
        } else {
            begin(task, started, entries, watches, watch_of[index], logs);
        }
    }
    // Only tasks that something has happened to are looked at: those with a completion, and those whose time has
    // come. With thousands of clones most have nothing to do at most times.
    let mut ready: Vec<usize> = (0..tasks.len()).filter(|i| !pending.contains(i)).collect();
    let mut ending = Ending::Normal;
    let mut wakes: BinaryHeap<Reverse<(Nanos, usize)>> = BinaryHeap::new();
    // The time for which each task stands in `wakes`, so that it stands there once.
    let mut armed = vec![Nanos::MAX; tasks.len()];
    let mut running = tasks.len();
    let mut tick = started + SECOND;
    let mut reaped: Vec<u32> = vec![0; tasks.len()];
    loop {
        ready.sort_unstable();
        ready.dedup();
        let mut ended: Vec<usize> = Vec::new();
        let mut flowed: Vec<u64> = Vec::new();
        for &index in &ready {
            let task = &mut tasks[index];
            while !task.has_ended() {
                if let Some((flow, weight)) = task.flow
                    && host.port.now >= task.begins()
                {
                    task.held = flows.holds(index, flow, weight);
                }
                let serial = task.serial();
                match task.step(host.port.now) {
                    Step::Send(command) => {
                        if task.measures(host.port.now) {
                            entries[task.entry].submitted(task.in_flight());
                        }
                        host.set_compressibility(task.compress_percent.into());
                        if let Some((flow, _)) = task.flow {
                            flows.sent(index, flow);
                            flowed.push(flow);
                        }
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
                        let ended_at = task.ended_at(host.port.now);
                        entries[task.entry].end(task.measure_from(), ended_at);
                        logs.ended(task.number, ended_at)?;
                        if let Some(target) = task.latency_target.as_ref().filter(|t| t.found) {
                            entries[task.entry].found_depth = Some(target.depth);
                        }
                        ended.push(index);
                    }
                }
            }
        }
        ready.clear();
        if !(ended.is_empty() && flowed.is_empty()) {
            let now = host.port.now;
            for index in ended {
                let (job, group, exits) = (tasks[index].job, tasks[index].group, tasks[index].exits);
                if let Some((flow, _)) = tasks[index].flow {
                    flows.left(index, flow);
                    flowed.push(flow);
                }
                *alive.entry(job).or_default() -= 1;
                let Some(exits) = exits else { continue };
                if exits == ExitWhat::All {
                    ending = Ending::All;
                }
                for (other, task) in tasks.iter_mut().enumerate() {
                    if !task.has_ended() && (exits != ExitWhat::Group || task.group == group) {
                        if let Some(at) = pending.iter().position(|&p| p == other) {
                            pending.remove(at);
                            begin(task, now, entries, watches, None, logs);
                        }
                        task.close(now);
                        ready.push(other);
                    }
                }
            }
            let mut still = Vec::new();
            for index in std::mem::take(&mut pending) {
                let waits = tasks[index].wait_for.is_some_and(|job| alive.get(&job).is_some_and(|&n| n > 0));
                if waits {
                    still.push(index);
                } else {
                    begin(&mut tasks[index], now, entries, watches, watch_of[index], logs);
                    ready.push(index);
                }
            }
            pending = still;
            if !flowed.is_empty() {
                let of = |task: &Task<S>| task.flow.is_some_and(|(flow, _)| flowed.contains(&flow));
                ready.extend((0..tasks.len()).filter(|&i| of(&tasks[i]) && tasks[i].held && !tasks[i].has_ended()));
            }
            if running > 0 && !ready.is_empty() {
                continue;
            }
        }
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
                return Err(failed(c).into());
            }
            let index = job_of(c.tag);
            let task = &mut tasks[index];
            task.completed(c);
            if task.measures(c.completed) {
                entries[task.entry].record(c);
                logs.record(task.number, c)?;
                reaped[index] += 1;
            }
            if let Some(watch) = watch_of[index] {
                watches[watch].completed(c.length_bytes);
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
            tick += SECOND;
            for watch in watches.iter_mut() {
                if watch.tick(now) {
                    for (index, task) in tasks.iter_mut().enumerate() {
                        if task.entry == watch.entry && !task.has_ended() {
                            task.close(now);
                            ready.push(index);
                        }
                    }
                }
            }
            host.port.check_alive()?;
            let done: f64 = tasks.iter().map(|t| t.fraction(now)).sum();
            if !host.monitor().go_on(done / tasks.len() as f64) {
                return Err(HostError::Cancelled.into());
            }
        }
    }
    host.port.check_balance()?;
    Ok(ending)
}

/// The task starts now.
fn begin<S: Source>(
    task: &mut Task<S>,
    now: Nanos,
    entries: &mut [EntryMeter],
    watches: &mut [Watch],
    watch: Option<usize>,
    logs: &mut AllLogs<'_>,
) {
    task.start(now);
    logs.begin(task.number, task.measure_from());
    entries[task.entry].begin(task.measure_from());
    if let Some(watch) = watch {
        watches[watch].begin(task.measure_from());
    }
}

/// Commands of the jobs that share a flow.
#[derive(Debug, Default)]
struct Flow {
    /// Weight and commands sent, by task.
    members: BTreeMap<usize, (u32, u64)>,
}

/// `flow`: a job sends as long as its share of the commands is not above its share of the weights.
#[derive(Debug, Default)]
struct Flows(BTreeMap<u64, Flow>);

impl Flows {
    /// Whether the task must wait for others.
    fn holds(&mut self, task: usize, flow: u64, weight: u32) -> bool {
        let members = &mut self.0.entry(flow).or_default().members;
        let own = members.entry(task).or_insert((weight, 0)).1;
        let (weights, sent) =
            members.values().fold((0u128, 0u128), |(w, s), m| (w + u128::from(m.0), s + u128::from(m.1)));
        u128::from(own) * weights > u128::from(weight) * sent
    }

    fn sent(&mut self, task: usize, flow: u64) {
        if let Some(member) = self.0.get_mut(&flow).and_then(|f| f.members.get_mut(&task)) {
            member.1 += 1;
        }
    }

    /// The task has ended: the others share what it leaves.
    fn left(&mut self, task: usize, flow: u64) {
        if let Some(flow) = self.0.get_mut(&flow) {
            flow.members.remove(&task);
        }
    }
}
