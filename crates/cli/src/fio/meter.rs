//! What fio reports of a job: latencies, bytes, and samples of each second, for reads, writes and trims.

use ssdlab_bench::measure::{Measurement, Meter};
use ssdlab_core::{Completion, Nanos, Op, SECOND};

/// Requests and bytes of one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    pub requests: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, Default)]
pub struct JobMeter {
    pub all: Measurement,
    /// Seconds since measuring began, for reads, writes and trims.
    pub samples: [Vec<Sample>; 3],
    began: Nanos,
}

/// The direction of an operation, as fio counts them; `None` for a flush.
pub fn direction(op: Op) -> Option<usize> {
    match op {
        Op::Read => Some(0),
        Op::Write => Some(1),
        Op::Trim => Some(2),
        Op::Flush => None,
    }
}

impl Meter for JobMeter {
    fn begin(&mut self, job: usize, at: Nanos) {
        self.began = at;
        self.all.begin(job, at);
    }

    fn record(&mut self, job: usize, io: &Completion) {
        self.all.record(job, io);
        if let Some(direction) = direction(io.op) {
            let second = (io.completed.saturating_sub(self.began) / SECOND) as usize;
            let samples = &mut self.samples[direction];
            if samples.len() <= second {
                samples.resize(second + 1, Sample::default());
            }
            samples[second].requests += 1;
            samples[second].bytes += io.length_bytes;
        }
    }

    fn end(&mut self, job: usize, at: Nanos) {
        self.all.end(job, at);
        // The last second counts only if it was measured whole; a run of less than a second is one sample.
        let whole = ((at.saturating_sub(self.began) / SECOND) as usize).max(1);
        for samples in self.samples.iter_mut().filter(|s| !s.is_empty()) {
            samples.resize(whole, Sample::default());
        }
    }
}
