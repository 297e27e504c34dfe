//! The clones of one stage side by side on a device.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use ssdlab_core::{Nanos, Op, SECOND};
use ssdlab_workload::Source;
use ssdlab_workload::fio::ExitWhat;

use super::latency_target::LatencyTarget;
use super::logs::AllLogs;
use super::meter::EntryMeter;
use super::steady::Watch;
use super::task::{Step, Task};
use crate::error::HostError;
use crate::host::Host;
use crate::host::port::{MAX_JOBS, job_of, tag_of};

/// However long all jobs think, whoever watches is asked so often.
const LONGEST_REST: Nanos = 1000 * SECOND;

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
    /// Whoever watches has stopped it: what ran has ended before its time.
    Stopped,
}

/// Runs the tasks until each has ended and everything has completed. Completions reach the meter of the task's
/// entry. If it is stopped, tasks that run end as if their runtime were over, and those that wait for others never begin.
///
/// # Errors
/// [`HostError`]: an impossible request, a failed command, a device that stalls or does not balance.
pub(super) fn run<S: Source>(
    host: &mut Host<'_>,
    tasks: Vec<Task<S>>,
    entries: &mut [EntryMeter],
    watches: &mut [Watch],
    logs: &mut AllLogs<'_>,
) -> Result<Ending, EngineError> {
    host.port.begin()?;
    if tasks.len() > MAX_JOBS {
        let reason = format!("at most {MAX_JOBS} jobs run side by side, not {}", tasks.len());
        return Err(HostError::BadJob { job: MAX_JOBS, reason }.into());
    }
    let started = host.port.now;
    let apart = tasks.iter().map(|_| None).collect();
    let mut stage = Stage::begin(tasks, started, Recorders { entries, apart, watches, logs });
    let mut tick = started + SECOND;
    loop {
        stage.count_from(host);
        let moved = stage.send(host)?;
        if stage.follow(moved, host.port.now) {
            continue;
        }
        if stage.running == 0 {
            break;
        }
        // Where all jobs think, nothing is to be looked at each second.
        let rests = host.port.in_flight() == 0 && stage.recorders.watches.is_empty();
        let look = if rests { tick.max(stage.wakes.first().min(tick + LONGEST_REST)) } else { tick };
        let now = host.port.wait(look.min(stage.wakes.first()).min(stage.first_count()));
        stage.reap(host)?;
        stage.wake(now);
        if now >= tick {
            tick = now - (now - tick) % SECOND + SECOND;
            stage.second(host)?;
        }
    }
    host.port.check_balance()?;
    Ok(stage.ending)
}

/// Where what the tasks do is written down.
struct Recorders<'r, 'l> {
    entries: &'r mut [EntryMeter],
    /// By task: what is measured of one that searches a depth, where its entry has others. It is left out if the search ends.
    apart: Vec<Option<Box<EntryMeter>>>,
    watches: &'r mut [Watch],
    logs: &'r mut AllLogs<'l>,
}

impl Recorders<'_, '_> {
    /// Where what a task does is measured now.
    #[inline]
    fn meter(&mut self, index: usize, entry: usize) -> &mut EntryMeter {
        match &mut self.apart[index] {
            Some(apart) => apart,
            None => &mut self.entries[entry],
        }
    }

    /// The task starts now.
    fn begin<S: Source>(&mut self, index: usize, task: &mut Task<S>, watch: Option<usize>, now: Nanos) {
        task.start(now);
        self.logs.begin(task.number, task.measure_from());
        let entry = &self.entries[task.entry];
        let is_apart = entry.clones > 1 && task.latency_target.as_ref().is_some_and(LatencyTarget::begins_anew);
        self.apart[index] = is_apart.then(|| Box::new(entry.for_one_clone()));
        self.meter(index, task.entry).begin(task.measure_from());
        if let Some(watch) = watch {
            self.watches[watch].begin(task.measure_from());
        }
    }

    /// What was measured of the task so far is left out.
    fn begin_anew(&mut self, index: usize, entry: usize, host: &mut Host<'_>) {
        let entry = &mut self.entries[entry];
        if self.apart[index].take().is_none() {
            *entry = entry.emptied();
        }
        entry.begin(host.port.now);
        entry.count_from(host.port.now, || host.counters());
    }

    fn end<S: Source>(&mut self, index: usize, task: &Task<S>, host: &mut Host<'_>) -> std::io::Result<()> {
        let now = host.port.now;
        let ended_at = task.ended_at(now);
        self.logs.ended(task.number, ended_at)?;
        let meter = self.meter(index, task.entry);
        meter.count_to(now, || host.counters());
        if task.never_began() {
            return Ok(());
        }
        meter.end((task.measure_from(), ended_at), &task.passes(ended_at), task.did());
        let entry = &mut self.entries[task.entry];
        if let Some(apart) = self.apart[index].take() {
            entry.merge(*apart);
        }
        if let Some(target) = &task.latency_target {
            // Of the last job, and of its last clone, whichever ends last.
            if task.job == entry.last_job() && entry.searched_depth.is_none_or(|(clone, _)| clone <= task.clone) {
                entry.searched_depth = Some((task.clone, target.depth));
            }
            if !target.found {
                entry.still_searched = Some((task.job, target.depth));
            } else if target.missed() {
                entry.missed_target = Some(task.job);
            }
        }
        Ok(())
    }
}

/// When tasks are to be looked at although nothing of theirs completes.
struct Wakes {
    times: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// The time for which each task stands in `times`, so that it stands there once.
    armed: Vec<Nanos>,
}

impl Wakes {
    fn of(tasks: usize) -> Self {
        Wakes { times: BinaryHeap::new(), armed: vec![Nanos::MAX; tasks] }
    }

    fn arm(&mut self, task: usize, at: Nanos) {
        if self.armed[task] != at {
            self.armed[task] = at;
            self.times.push(Reverse((at, task)));
        }
    }

    fn first(&self) -> Nanos {
        self.times.peek().map_or(Nanos::MAX, |w| w.0.0)
    }

    /// A task whose time has come.
    fn pop_due(&mut self, now: Nanos) -> Option<usize> {
        let &Reverse((at, task)) = self.times.peek()?;
        if at > now {
            return None;
        }
        self.times.pop();
        self.armed[task] = Nanos::MAX;
        Some(task)
    }
}

/// What concerns tasks other than those that did it.
#[derive(Default)]
struct Moved {
    ended: Vec<usize>,
    /// Flows of which a command was sent.
    flows: Vec<u64>,
}

/// The tasks while they run.
struct Stage<'r, 'l, S> {
    tasks: Vec<Task<S>>,
    recorders: Recorders<'r, 'l>,
    watch_of: Vec<Option<usize>>,
    /// Those that wait for another job.
    pending: Vec<usize>,
    /// Clones that have not ended, by job.
    alive: BTreeMap<usize, usize>,
    flows: Flows,
    /// Only tasks that something has happened to are looked at: those with a completion, and those whose time has
    /// come. With thousands of clones most have nothing to do at most times.
    ready: Vec<usize>,
    wakes: Wakes,
    /// Completions of the last wait that were measured, by task.
    reaped: Vec<u32>,
    running: usize,
    ending: Ending,
    /// When tasks begin to be measured.
    to_count: Vec<(Nanos, usize)>,
}

impl<'r, 'l, S: Source> Stage<'r, 'l, S> {
    fn begin(mut tasks: Vec<Task<S>>, now: Nanos, mut recorders: Recorders<'r, 'l>) -> Self {
        let watches = &*recorders.watches;
        let watch_of: Vec<Option<usize>> =
            tasks.iter().map(|task| watches.iter().position(|w| w.entry == task.entry)).collect();
        let (mut pending, mut ready) = (Vec::new(), Vec::new());
        let mut alive: BTreeMap<usize, usize> = BTreeMap::new();
        for (index, task) in tasks.iter_mut().enumerate() {
            *alive.entry(task.job).or_default() += 1;
            if task.wait_for.is_some() {
                pending.push(index);
            } else {
                recorders.begin(index, task, watch_of[index], now);
                ready.push(index);
            }
        }
        let begun = tasks.iter().enumerate().filter(|(_, task)| task.wait_for.is_none());
        let to_count = begun.map(|(index, task)| (task.measure_from(), index)).collect();
        Stage {
            recorders,
            watch_of,
            pending,
            alive,
            flows: Flows::default(),
            ready,
            wakes: Wakes::of(tasks.len()),
            reaped: vec![0; tasks.len()],
            running: tasks.len(),
            ending: Ending::Normal,
            to_count,
            tasks,
        }
    }

    fn first_count(&self) -> Nanos {
        self.to_count.iter().map(|count| count.0).min().unwrap_or(Nanos::MAX)
    }

    /// Notes what the device has counted, for tasks that begin to be measured.
    fn count_from(&mut self, host: &mut Host<'_>) {
        let now = host.port.now;
        if self.first_count() > now {
            return;
        }
        for (at, index) in self.to_count.extract_if(.., |count| count.0 <= now) {
            self.recorders.meter(index, self.tasks[index].entry).count_from(at, || host.counters());
        }
    }

    /// Sends what those that are ready want to send.
    fn send(&mut self, host: &mut Host<'_>) -> Result<Moved, EngineError> {
        self.ready.sort_unstable();
        self.ready.dedup();
        let mut moved = Moved::default();
        for index in self.ready.drain(..) {
            let task = &mut self.tasks[index];
            while !task.has_ended() {
                if let Some((flow, weight)) = task.flow
                    && host.port.now >= task.begins()
                {
                    task.held = self.flows.holds(index, flow, weight);
                }
                let serial = task.serial();
                match task.step(host.port.now) {
                    Step::Send(command) => {
                        if task.begins_anew() {
                            self.recorders.begin_anew(index, task.entry, host);
                        }
                        let waited = task.waited_for_room();
                        if task.measures(host.port.now) {
                            self.recorders.meter(index, task.entry).submitted(task.in_flight(), waited);
                        }
                        host.set_compressibility(task.compress_percent.into());
                        if let Some((flow, _)) = task.flow {
                            self.flows.sent(index, flow);
                            moved.flows.push(flow);
                        }
                        host.port.issue(tag_of(index, serial), command)?;
                    }
                    Step::Wait => break,
                    Step::WaitUntil(at) => {
                        self.wakes.arm(index, at);
                        break;
                    }
                    Step::Ended => {
                        self.running -= 1;
                        // If it was over within its ramp, it is never measured.
                        self.to_count.retain(|count| count.1 != index);
                        self.recorders.end(index, task, host)?;
                        moved.ended.push(index);
                    }
                }
            }
        }
        Ok(moved)
    }

    /// What that means for others: jobs end with those that have ended, or begin after them, and flows have room again. Returns
    /// whether any of them is to be looked at now.
    fn follow(&mut self, moved: Moved, now: Nanos) -> bool {
        let Moved { ended, mut flows } = moved;
        if ended.is_empty() && flows.is_empty() {
            return false;
        }
        for index in ended {
            if let Some((flow, _)) = self.tasks[index].flow {
                self.flows.left(index, flow);
                flows.push(flow);
            }
            *self.alive.entry(self.tasks[index].job).or_default() -= 1;
            if let Some(exits) = self.tasks[index].exits {
                self.close_with(index, exits, now);
            }
        }
        let alive = &self.alive;
        let waits = |job| alive.get(&job).is_some_and(|&n| n > 0);
        let due = self.pending.extract_if(.., |&mut index| !self.tasks[index].wait_for.is_some_and(waits));
        for index in due.collect::<Vec<_>>() {
            self.recorders.begin(index, &mut self.tasks[index], self.watch_of[index], now);
            self.to_count.push((self.tasks[index].measure_from(), index));
            self.ready.push(index);
        }
        if !flows.is_empty() {
            let waits = |task: &Task<S>| {
                task.held && !task.has_ended() && task.flow.is_some_and(|(flow, _)| flows.contains(&flow))
            };
            let waiting = self.tasks.iter().enumerate().filter(|(_, task)| waits(task));
            self.ready.extend(waiting.map(|(index, _)| index));
        }
        self.running > 0 && !self.ready.is_empty()
    }

    /// A task has ended that ends others with it.
    fn close_with(&mut self, ended: usize, exits: ExitWhat, now: Nanos) {
        // What a stop has closed ends others in turn, and the run stays stopped.
        if exits == ExitWhat::All && self.ending != Ending::Stopped {
            self.ending = Ending::All;
        }
        let group = self.tasks[ended].group;
        for other in 0..self.tasks.len() {
            let meant = match exits {
                ExitWhat::Group => self.tasks[other].group == group,
                // What waits does not run at the same time.
                ExitWhat::Stonewall => !self.pending.contains(&other) && self.tasks[other].begins() <= now,
                ExitWhat::All => true,
            };
            if meant {
                self.close(other, now);
            }
        }
    }

    /// A task ends as if its runtime were over; one that waits for others never begins.
    fn close(&mut self, index: usize, now: Nanos) {
        let task = &mut self.tasks[index];
        if task.has_ended() {
            return;
        }
        if let Some(at) = self.pending.iter().position(|&pending| pending == index) {
            self.pending.remove(at);
            self.running -= 1;
            *self.alive.entry(task.job).or_default() -= 1;
            task.never_begin();
        } else {
            task.close(now);
            self.ready.push(index);
        }
    }

    /// Books what the last wait has completed.
    fn reap(&mut self, host: &mut Host<'_>) -> Result<(), EngineError> {
        let Stage { tasks, recorders, watch_of, ready, reaped, .. } = self;
        let mut logged = Ok(());
        host.port.reap(|c| {
            let index = job_of(c.tag);
            let task = &mut tasks[index];
            task.completed(c);
            let measured = task.measures(c.completed);
            if measured {
                task.measured(c.op);
                recorders.meter(index, task.entry).record(c, task.verifies());
                if logged.is_ok() {
                    logged = recorders.logs.record(task.number, c);
                }
                reaped[index] += 1;
            }
            // As in fio, a flush is none of the commands that must settle.
            if let Some(watch) = watch_of[index].filter(|_| c.op != Op::Flush) {
                recorders.watches[watch].completed(c.length_bytes);
            }
            ready.push(index);
            measured
        })?;
        logged?;
        for &index in &*ready {
            let count = std::mem::take(&mut reaped[index]);
            if count > 0 {
                recorders.meter(index, tasks[index].entry).reaped(count);
            }
        }
        Ok(())
    }

    fn wake(&mut self, now: Nanos) {
        while let Some(index) = self.wakes.pop_due(now) {
            self.ready.push(index);
        }
    }

    /// Once per simulated second: what is too dear to do at every command.
    fn second(&mut self, host: &Host<'_>) -> Result<(), EngineError> {
        let now = host.port.now;
        let Stage { tasks, recorders, .. } = self;
        // What others do after a job has ended is none of its seconds.
        let runs = |entry: usize| tasks.iter().any(|task| task.entry == entry && !task.has_ended());
        let settled = recorders.watches.iter_mut().filter_map(|w| (runs(w.entry) && w.tick(now)).then_some(w.entry));
        let settled: Vec<usize> = settled.collect();
        for index in 0..self.tasks.len() {
            if settled.contains(&self.tasks[index].entry) {
                self.close(index, now);
            }
        }
        host.port.check_alive()?;
        let done: f64 = self.tasks.iter().map(|t| t.fraction(now)).sum();
        if !host.monitor().go_on(done / self.tasks.len() as f64) && self.ending != Ending::Stopped {
            self.stop(now);
        }
        Ok(())
    }

    /// What waits never begins; what runs ends.
    fn stop(&mut self, now: Nanos) {
        self.ending = Ending::Stopped;
        self.running -= self.pending.len();
        let pending = std::mem::take(&mut self.pending);
        for (index, task) in self.tasks.iter_mut().enumerate() {
            let waits = pending.contains(&index);
            if !waits && task.is_over(now) {
                continue;
            }
            if !waits {
                task.close(now);
                self.ready.push(index);
            }
            // Of an entry of which one clone never began, others may have run.
            let entry = &mut self.recorders.entries[task.entry];
            *(if waits || task.never_began() { &mut entry.lacks_some } else { &mut entry.is_cut }) = true;
        }
    }
}

/// Commands of the jobs that share a flow.
#[derive(Debug, Default)]
struct Flow {
    /// Weight and commands sent, by task.
    members: BTreeMap<usize, (u32, u64)>,
    /// The sums of both.
    weights: u128,
    sent: u128,
}

/// `flow`: a job sends as long as its share of the commands is not above its share of the weights.
#[derive(Debug, Default)]
struct Flows(BTreeMap<u64, Flow>);

impl Flows {
    /// Whether the task must wait for others.
    fn holds(&mut self, task: usize, flow: u64, weight: u32) -> bool {
        let Flow { members, weights, sent } = self.0.entry(flow).or_default();
        let own = members.entry(task).or_insert_with(|| {
            *weights += u128::from(weight);
            (weight, 0)
        });
        u128::from(own.1) * *weights > u128::from(weight) * *sent
    }

    fn sent(&mut self, task: usize, flow: u64) {
        let Some(flow) = self.0.get_mut(&flow) else { return };
        if let Some(member) = flow.members.get_mut(&task) {
            member.1 += 1;
            flow.sent += 1;
        }
    }

    /// The task has ended: the others share what it leaves.
    fn left(&mut self, task: usize, flow: u64) {
        let Some(flow) = self.0.get_mut(&flow) else { return };
        if let Some((weight, sent)) = flow.members.remove(&task) {
            flow.weights -= u128::from(weight);
            flow.sent -= u128::from(sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::Rng;

    use super::*;

    /// The sums are those of who is in a flow, whoever came, sent and left.
    #[test]
    fn a_job_waits_while_its_share_of_the_commands_is_above_that_of_the_weights() {
        let mut rng = Rng::new(7);
        let (mut flows, mut members) = (Flows::default(), BTreeMap::<usize, (u32, u64)>::new());
        let mut held = 0;
        for _ in 0..5_000 {
            let task = rng.below(20) as usize;
            let weight = 1 + task as u32 % 5;
            if rng.chance(1, 20) {
                flows.left(task, 3);
                members.remove(&task);
                continue;
            }
            let own = members.entry(task).or_insert((weight, 0)).1;
            let weights: u32 = members.values().map(|member| member.0).sum();
            let sent: u64 = members.values().map(|member| member.1).sum();
            let waits = own * u64::from(weights) > u64::from(weight) * sent;
            assert_eq!(flows.holds(task, 3, weight), waits);
            held += u32::from(waits);
            if !waits {
                flows.sent(task, 3);
                members.get_mut(&task).unwrap().1 += 1;
            }
        }
        assert!(held > 500, "{held}");
    }
}
