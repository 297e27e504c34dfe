//! From a job file to what runs: the clones of each stage, and the entries under which they are reported.

use ssdlab_core::{Nanos, Op, Rng};
use ssdlab_workload::fio::{Job, JobFile, JobFileError, JobSource, Rw, Span};
use ssdlab_workload::pattern::Extent;

use super::latency_target::LatencyTarget;
use super::meter::EntryMeter;
use super::steady::Watch;
use super::task::{Poisson, Task};

/// An entry of the report: its group, and the index and the number of clones of each of its jobs.
type Entry = (u32, Vec<(usize, u32)>);

/// A job file on a drive of a given capacity.
pub(super) struct Plan<'a> {
    file: &'a JobFile,
    /// The clones that run at the same time.
    pub(super) stages: Vec<Vec<Task<JobSource>>>,
    entries: Vec<Entry>,
    spans: Vec<(Rw, Span)>,
    /// Of the jobs that read what they would have written.
    verified: Vec<Span>,
}

impl<'a> Plan<'a> {
    /// # Errors
    /// The first job that does not fit the drive.
    pub(super) fn new(file: &'a JobFile, capacity_bytes: u64, seed: u64) -> Result<Self, JobFileError> {
        let groups = file.group_ids();
        let rng = Rng::new(seed).stream("fio");
        let ends_others = file.ends_others();
        let mut plan = Plan { file, stages: Vec::new(), entries: Vec::new(), spans: Vec::new(), verified: Vec::new() };
        for stage in file.stages() {
            let mut tasks = Vec::new();
            let first = stage.start;
            for index in stage {
                let job = &file.jobs[index];
                for clone in 0..job.numjobs {
                    let entry = plan.entry(job, index, groups[index]);
                    let span = job.reach(capacity_bytes, clone)?;
                    let is_written = |&(rw, s): &(Rw, Span)| rw.writes() && s.holds(span);
                    if job.verify_only && job.rw.writes() && !plan.spans.iter().any(is_written) {
                        plan.verified.push(span);
                    }
                    plan.spans.push((job.rw, span));
                    let mut task = task(job, (index, clone), entry, capacity_bytes, &rng)?;
                    task.job = index;
                    task.number = plan.spans.len() - 1;
                    task.group = groups[index];
                    task.exits = ends_others.then_some(job.exit_what);
                    // A stage before has ended anyway.
                    let named = |name: &String| (first..index).rev().find(|&i| file.jobs[i].name == *name);
                    task.wait_for = job.wait_for.as_ref().and_then(named);
                    tasks.push(task);
                }
            }
            plan.stages.push(tasks);
        }
        Ok(plan)
    }

    /// The entry that reports the next clone, by fio's rule: that of the clone before, if the job asks for group
    /// reporting and is of the same group.
    fn entry(&mut self, job: &Job, index: usize, group: u32) -> usize {
        match self.entries.last_mut() {
            Some((last_group, jobs)) if job.group_reporting && *last_group == group => match jobs.last_mut() {
                Some((last, clones)) if *last == index => *clones += 1,
                _ => jobs.push((index, 1)),
            },
            _ => self.entries.push((group, vec![(index, 1)])),
        }
        self.entries.len() - 1
    }

    /// An empty meter for each entry.
    pub(super) fn entries(&self) -> Vec<EntryMeter> {
        let new = |(group, jobs): &Entry| {
            let depth = self.file.jobs[jobs[0].0].depth();
            EntryMeter::new(jobs.clone(), *group, depth, self.entries.len())
        };
        self.entries.iter().map(new).collect()
    }

    /// What `steadystate` watches: each entry whose job asks for it.
    pub(super) fn watches(&self) -> Vec<Watch> {
        let watch = |(entry, (_, jobs)): (usize, &Entry)| {
            let job = &self.file.jobs[jobs[0].0];
            job.steady_state.map(|criterion| Watch::new(criterion, job.steady_duration, job.steady_ramp, entry))
        };
        self.entries.iter().enumerate().filter_map(watch).collect()
    }

    pub(super) fn trims(&self) -> bool {
        self.spans.iter().any(|s| s.0.trims())
    }

    /// What jobs send, if anything, that changes what the drive holds.
    pub(super) fn changes(&self) -> Option<Op> {
        let only_reads = |job: &Job| job.verify_only || job.rw.reads() && job.read_percent == 100;
        let written = self.file.jobs.iter().any(|job| job.rw.writes() && !only_reads(job));
        written.then_some(Op::Write).or(self.trims().then_some(Op::Trim))
    }

    /// A job with requests that are not whole sectors of so many bytes, and the size of these.
    pub(super) fn not_in_sectors(&self, sector_bytes: u32) -> Option<(&str, u64)> {
        let partial = |bytes: &u64| !bytes.is_multiple_of(sector_bytes.into());
        self.file.jobs.iter().find_map(|job| {
            let sends = [job.rw.reads(), job.rw.writes(), job.rw.trims()];
            let sizes = job.sizes().into_iter().zip(sends).filter(|(_, sends)| *sends);
            let found = sizes.flat_map(|(sizes, _)| [sizes.min_bytes(), sizes.max_bytes()]).find(partial);
            found.map(|bytes| (job.name.as_str(), bytes))
        })
    }

    /// What jobs read, as disjoint ranges of bytes in rising order.
    pub(super) fn read_spans(&self) -> Vec<(u64, u64)> {
        let read = self.spans.iter().filter(|s| s.0.reads()).map(|s| &s.1).chain(&self.verified);
        let mut ranges: Vec<(u64, u64)> = read.map(|s| (s.start_bytes, s.start_bytes + s.length_bytes)).collect();
        ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (start, end) in ranges {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        merged
    }
}

fn task(
    job: &Job,
    (index, clone): (usize, u32),
    entry: usize,
    capacity_bytes: u64,
    rng: &Rng,
) -> Result<Task<JobSource>, JobFileError> {
    let pattern = job.pattern(capacity_bytes, clone)?;
    let expected_bytes = match pattern.extent {
        Extent::Passes(passes) => Some(pattern.span_bytes.saturating_mul(passes)),
        Extent::Bytes(bytes) => Some(bytes),
        Extent::Endless => None,
    };
    let rates = job.byte_rates();
    let mut task = Task::new(job.source(capacity_bytes, (index, clone), rng)?, entry, job.depth());
    task.clone = clone;
    task.flow = job.flow.map(|weight| (job.flow_id, weight));
    if job.poisson {
        let sizes = job.sizes();
        let commands = std::array::from_fn(|op| rates[op].map(|bytes| commands_a_second(bytes, sizes[op].min_bytes())));
        let rng = rng.stream(&format!("job {index}")).stream(&format!("arrivals of clone {clone}"));
        task.poisson = Some(Poisson::new(commands, rng));
    }
    task.latency_target = (job.latency_target > 0).then(|| {
        let (target, window) = (job.latency_target, job.latency_window);
        LatencyTarget::new(target, window, job.latency_percentile, job.latency_run, job.depth())
    });
    let range = job.longest_startdelay - job.startdelay;
    if range > 0 {
        let base = job.randseed.map_or_else(|| rng.clone(), Rng::new);
        let mut rng = base.stream(&format!("job {index}")).stream(&format!("start delay of clone {clone}"));
        task.start_delay = job.startdelay + rng.below(range + 1);
    } else {
        task.start_delay = job.startdelay;
    }
    task.ramp = job.ramp_time;
    task.runtime = job.runtime.unwrap_or(Nanos::MAX);
    task.rates = rates;
    task.low = job.low();
    task.rate_ignores_pauses = job.rate_ignore_thinktime;
    task.think = job.thinktime;
    task.think_after = job.thinktime_blocks;
    task.end_flush = job.flushes_at_end();
    task.compress_percent = job.compressibility();
    task.expected_bytes = expected_bytes;
    Ok(task)
}

/// Of a rate in bytes a second, at random times: as in fio whole ones, but those of a rate that is not even one.
pub(super) fn commands_a_second(bytes: u64, block_bytes: u64) -> f64 {
    match bytes / block_bytes {
        0 => bytes as f64 / block_bytes as f64,
        whole => whole as f64,
    }
}
