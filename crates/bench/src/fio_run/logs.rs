//! fio's logs: `NAME_bw.N.log` and its like, a line for each command or for each period.
//!
//! Lines are `milliseconds, value, direction, bytes, [offset,] priority`: in `bw` KiB/s of a period, and 1000 bytes a second of a
//! command (fio's code has it so, whatever its manual says), commands (a second) in `iops`, nanoseconds in `lat`, `clat` and
//! `slat`; direction 0 is a read, 1 a write, 2 a trim. In lines of a period, bytes are 0, as in fio.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use ssdlab_core::{MILLISECOND, Nanos, Op, SECOND};
use ssdlab_device::Completion;
use ssdlab_workload::fio::{Job, JobFile, Logs};

/// Takes the text of logs, in order, file by file.
pub trait LogSink {
    /// Appends to the log of this name.
    ///
    /// # Errors
    /// Those of the system.
    fn append(&mut self, name: &str, text: &str) -> io::Result<()>;
}

/// Text that is held back for each log before it is written.
const BUFFER_BYTES: usize = 1 << 16;
/// Of all logs together: with thousands of clones each has less.
const ALL_BUFFERS_BYTES: usize = 1 << 26;

/// Logs of rates, which stand first.
const RATES: usize = 2;

/// Names of the logs of clone `number` (from 1, over the whole file).
fn names(job: &Job, number: usize) -> [Option<String>; 5] {
    let name = |given: &Option<String>, kind: &str| {
        let given = given.as_ref()?;
        // A job's name may hold what a file's name may not.
        let stem = if given.is_empty() { job.name.replace(['/', '\\'], "_") } else { given.clone() };
        let number = if job.per_job_logs { format!(".{number}") } else { String::new() };
        Some(format!("{stem}_{kind}{number}.log"))
    };
    let Logs { bandwidth, iops, latency, .. } = &job.logs;
    [name(bandwidth, "bw"), name(iops, "iops"), name(latency, "lat"), name(latency, "clat"), name(latency, "slat")]
}

/// Every log that a run of the file writes, each once.
#[must_use]
pub fn log_names(file: &JobFile) -> Vec<String> {
    let clones = file.jobs.iter().flat_map(|job| (0..job.numjobs).map(move |_| job));
    let mut all: Vec<String> = clones.enumerate().flat_map(|(i, job)| names(job, i + 1)).flatten().collect();
    all.sort();
    all.dedup();
    all
}

/// What completed of one operation in a period.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    ios: u64,
    bytes: u64,
    latency_sum: u128,
    latency_max: Nanos,
}

/// The logs of one clone.
#[derive(Debug)]
pub(super) struct CloneLogs {
    names: [Option<String>; 5],
    options: Logs,
    began: Nanos,
    /// Number of the present period, and what it has of reads, writes and trims.
    period: u64,
    sums: [Period; 3],
}

/// The logs of all clones of a run.
pub(super) struct AllLogs<'a> {
    sink: &'a mut dyn LogSink,
    /// By task number in the file.
    clones: Vec<Option<CloneLogs>>,
    /// What is not written yet.
    buffers: BTreeMap<String, String>,
    limit: usize,
}

impl<'a> AllLogs<'a> {
    pub(super) fn new(file: &JobFile, sink: &'a mut dyn LogSink) -> Self {
        let all = file.jobs.iter().flat_map(|job| (0..job.numjobs).map(move |_| job));
        let clones: Vec<Option<CloneLogs>> = all
            .enumerate()
            .map(|(i, job)| {
                let names = names(job, i + 1);
                let logs =
                    CloneLogs { names, options: job.logs.clone(), began: 0, period: 0, sums: Default::default() };
                logs.names.iter().any(Option::is_some).then_some(logs)
            })
            .collect();
        let limit = BUFFER_BYTES.min(ALL_BUFFERS_BYTES / log_names(file).len().max(1));
        AllLogs { sink, clones, buffers: BTreeMap::new(), limit }
    }

    /// Clone `number` (from 0) begins.
    pub(super) fn begin(&mut self, number: usize, at: Nanos) {
        if let Some(Some(clone)) = self.clones.get_mut(number) {
            clone.began = at;
        }
    }

    pub(super) fn record(&mut self, number: usize, c: &Completion) -> io::Result<()> {
        let Some(Some(clone)) = self.clones.get_mut(number) else { return Ok(()) };
        if c.op as usize >= 3 {
            return Ok(());
        }
        let mut lines: [String; 5] = Default::default();
        let since = c.completed.saturating_sub(clone.began).saturating_sub(1);
        match since.checked_div(clone.options.average) {
            None => clone.each(c, &mut lines),
            Some(period) => {
                if period > clone.period {
                    clone.close_period(clone.period_ends(), &mut lines);
                    clone.period = period;
                }
                let sum = &mut clone.sums[c.op as usize];
                sum.ios += 1;
                sum.bytes += c.length_bytes;
                sum.latency_sum += u128::from(c.latency());
                sum.latency_max = sum.latency_max.max(c.latency());
            }
        }
        self.keep(number, lines)
    }

    /// Clone `number` (from 0) has ended. A rate in a period that it did not see to its end would look like a fall: it is left
    /// out, as in fio. Latencies are those of the commands that there were, at the time at which it has ended.
    pub(super) fn ended(&mut self, number: usize, at: Nanos) -> io::Result<()> {
        let Some(Some(clone)) = self.clones.get_mut(number) else { return Ok(()) };
        let mut lines: [String; 5] = Default::default();
        let (ends, at) = (clone.period_ends(), at.saturating_sub(clone.began));
        clone.close_period(at.min(ends), &mut lines);
        if at < ends {
            lines[..RATES].iter_mut().for_each(String::clear);
        }
        self.keep(number, lines)
    }

    /// Everything has ended: what is left is written.
    pub(super) fn end(mut self) -> io::Result<()> {
        for (name, text) in std::mem::take(&mut self.buffers) {
            self.sink.append(&name, &text)?;
        }
        Ok(())
    }

    fn keep(&mut self, number: usize, lines: [String; 5]) -> io::Result<()> {
        let Some(Some(clone)) = self.clones.get(number) else { return Ok(()) };
        for (name, lines) in clone.names.iter().zip(lines) {
            let Some(name) = name else { continue };
            // A log without a line exists all the same.
            let buffer = match self.buffers.get_mut(name) {
                Some(buffer) => buffer,
                None => self.buffers.entry(name.clone()).or_default(),
            };
            buffer.push_str(&lines);
            if buffer.len() > self.limit {
                self.sink.append(name, buffer)?;
                buffer.clear();
            }
        }
        Ok(())
    }
}

impl CloneLogs {
    fn each(&self, c: &Completion, lines: &mut [String; 5]) {
        let ms = c.completed.saturating_sub(self.began) / MILLISECOND;
        let latency = c.latency();
        // As in fio, none of what took no time.
        let kb_per_s = (u128::from(c.length_bytes) * 1_000_000).checked_div(latency.into()).unwrap_or(0) as u64;
        let offset = if self.options.offsets { format!(" {},", c.offset_bytes) } else { String::new() };
        for (line, value) in lines.iter_mut().zip([kb_per_s, 1, latency, latency, 0]) {
            *line = format!("{ms}, {value}, {}, {},{offset} 0\n", c.op as usize, c.length_bytes);
        }
    }

    /// When the present period is over, from the clone's beginning.
    fn period_ends(&self) -> Nanos {
        (self.period + 1).saturating_mul(self.options.average)
    }

    /// Lines for what the present period has, which ends so much after the clone's beginning.
    fn close_period(&mut self, ends: Nanos, lines: &mut [String; 5]) {
        let average = self.options.average;
        if average == 0 {
            return;
        }
        let ms = ends / MILLISECOND;
        for (direction, sum) in std::mem::take(&mut self.sums).iter().enumerate().filter(|(_, s)| s.ios > 0) {
            let per_second = |n: u64| (u128::from(n) * u128::from(SECOND) / u128::from(average)) as u64;
            let mean = (sum.latency_sum / u128::from(sum.ios)) as u64;
            let latency = if self.options.largest { sum.latency_max } else { mean };
            let values = [per_second(sum.bytes) / 1024, per_second(sum.ios), latency, latency, 0];
            let offset = if self.options.offsets { " 0," } else { "" };
            for (line, value) in lines.iter_mut().zip(values) {
                writeln!(line, "{ms}, {value}, {direction}, 0,{offset} 0")
                    .expect("a String takes all that is written to it");
            }
        }
    }
}

/// Operations that have a direction in fio's reports.
pub(super) const DIRECTIONS: [Op; 3] = [Op::Read, Op::Write, Op::Trim];
