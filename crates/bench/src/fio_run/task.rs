//! One clone of a job while it runs: when it may send its next command, and when it has ended.

use ssdlab_core::{Nanos, Op, Rng, SECOND};
use ssdlab_device::Completion;
use ssdlab_workload::fio::ExitWhat;
use ssdlab_workload::{Command, Source};

use super::latency_target::LatencyTarget;

/// At most so much a second, of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) commands: Option<u64>,
    pub(super) bytes: Option<u64>,
}

impl Pace {
    /// When the next command is due, so much after the start, if so many were sent before.
    fn due(&self, commands: u64, bytes: u64) -> Nanos {
        let time = |n: u64, rate: Option<u64>| match rate {
            Some(rate) => (u128::from(n) * u128::from(SECOND) / u128::from(rate)) as Nanos,
            None => 0,
        };
        time(commands, self.commands).max(time(bytes, self.bytes))
    }
}

/// `rate_process=poisson`: when the next command of each operation arrives.
#[derive(Clone, Debug)]
pub(super) struct Poisson {
    rng: Rng,
    next: [Option<Nanos>; 3],
}

impl Poisson {
    pub(super) fn new(rng: Rng) -> Self {
        Poisson { rng, next: [None; 3] }
    }

    /// When the command that comes next arrives, the first after `began`.
    fn due(&mut self, op: usize, began: Nanos, rate: u64) -> Nanos {
        *self.next[op].get_or_insert_with(|| began.saturating_add(exponential(&mut self.rng, rate)))
    }

    fn sent(&mut self, op: usize, rate: u64) {
        if let Some(next) = &mut self.next[op] {
            *next = next.saturating_add(exponential(&mut self.rng, rate));
        }
    }
}

/// A time between two of `rate` events a second.
fn exponential(rng: &mut Rng, rate: u64) -> Nanos {
    // Never zero, so that the logarithm is finite.
    let uniform = (rng.below(1 << 53) + 1) as f64 / (1u64 << 53) as f64;
    (-libm::log(uniform) * SECOND as f64 / rate as f64) as Nanos
}

/// What a clone wants to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send this command.
    Send(Command),
    /// Nothing before one of its commands completes.
    Wait,
    /// Nothing before this time (or a completion).
    WaitUntil(Nanos),
    /// Nothing any more; everything has completed.
    Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    /// After `think_after` completions: waits for what is in flight, then pauses.
    Draining,
    Thinking(Nanos),
    /// Sends nothing more but the flush at the end.
    Closing,
    Ended,
}

/// A clone of a job. Times are absolute once [`Task::start`] has been called.
pub(super) struct Task<S> {
    source: S,
    next: Option<Command>,
    /// Index of the entry that reports it.
    pub(super) entry: usize,
    /// Index of its job in the file, and its number among the clones, from 0.
    pub(super) job: usize,
    pub(super) clone: u32,
    /// Among all clones of the file, from 0.
    pub(super) number: usize,
    pub(super) group: u32,
    /// It starts when all clones of this job have ended.
    pub(super) wait_for: Option<usize>,
    /// Which jobs end with it.
    pub(super) exits: Option<ExitWhat>,
    /// Flow and weight.
    pub(super) flow: Option<(u64, u32)>,
    /// Its flow has no room for it now.
    pub(super) held: bool,
    pub(super) poisson: Option<Poisson>,
    pub(super) latency_target: Option<LatencyTarget>,
    pub(super) depth: u32,
    pub(super) start_delay: Nanos,
    pub(super) ramp: Nanos,
    /// From the end of the ramp; `Nanos::MAX` without a limit.
    pub(super) runtime: Nanos,
    /// For reads, writes and trims.
    pub(super) pace: [Pace; 3],
    pub(super) think: Nanos,
    pub(super) think_after: u64,
    /// A flush when all else has completed.
    pub(super) end_flush: bool,
    /// How far the data that it writes can be compressed.
    pub(super) compress_percent: u32,
    /// For the progress report.
    pub(super) expected_bytes: Option<u64>,
    phase: Phase,
    begins: Nanos,
    measure_from: Nanos,
    closes: Nanos,
    /// A flush is in flight: it holds back everything behind it.
    flushing: bool,
    in_flight: u32,
    /// Commands and bytes sent, by operation.
    sent: [(u64, u64); Op::ALL.len()],
    completed_since_pause: u64,
    last_completion: Nanos,
}

impl<S: Source> Task<S> {
    pub(super) fn new(source: S, entry: usize, depth: u32) -> Self {
        Task {
            source,
            next: None,
            entry,
            job: 0,
            clone: 0,
            number: 0,
            group: 0,
            wait_for: None,
            exits: None,
            flow: None,
            held: false,
            poisson: None,
            latency_target: None,
            depth,
            start_delay: 0,
            ramp: 0,
            runtime: Nanos::MAX,
            pace: [Pace::default(); 3],
            think: 0,
            think_after: 1,
            end_flush: false,
            compress_percent: 0,
            expected_bytes: None,
            phase: Phase::Running,
            begins: 0,
            measure_from: 0,
            closes: Nanos::MAX,
            flushing: false,
            in_flight: 0,
            sent: [(0, 0); Op::ALL.len()],
            completed_since_pause: 0,
            last_completion: 0,
        }
    }

    /// The stage begins.
    pub(super) fn start(&mut self, now: Nanos) {
        self.begins = now.saturating_add(self.start_delay);
        self.measure_from = self.begins.saturating_add(self.ramp);
        self.closes = self.measure_from.saturating_add(self.runtime);
        self.last_completion = self.measure_from;
        if let Some(target) = &mut self.latency_target {
            target.begin(self.begins);
        }
    }

    /// It ends as if its runtime were over.
    pub(super) fn close(&mut self, now: Nanos) {
        self.closes = self.closes.min(now);
    }

    /// From when on it sends.
    pub(super) fn begins(&self) -> Nanos {
        self.begins
    }

    /// What to do at `now`. After [`Step::Send`], the command counts as sent.
    pub(super) fn step(&mut self, now: Nanos) -> Step {
        if now >= self.closes && self.phase != Phase::Ended {
            self.phase = Phase::Closing;
        }
        loop {
            match self.phase {
                Phase::Ended => return Step::Ended,
                Phase::Closing if self.in_flight > 0 => return Step::Wait,
                Phase::Closing if self.end_flush => {
                    self.end_flush = false;
                    return self.send(Command::FLUSH);
                }
                Phase::Closing => {
                    self.phase = Phase::Ended;
                    return Step::Ended;
                }
                Phase::Draining if self.in_flight > 0 => return Step::Wait,
                Phase::Draining => self.phase = Phase::Thinking(now.saturating_add(self.think)),
                Phase::Thinking(until) if now < until => return Step::WaitUntil(until.min(self.closes)),
                Phase::Thinking(_) => {
                    self.completed_since_pause = 0;
                    self.phase = Phase::Running;
                }
                Phase::Running => match self.run(now) {
                    Some(step) => return step,
                    None => self.phase = Phase::Closing,
                },
            }
        }
    }

    /// The next command of a job that is neither pausing nor closing; `None` when there is none.
    fn run(&mut self, now: Nanos) -> Option<Step> {
        if now < self.begins {
            return Some(Step::WaitUntil(self.begins));
        }
        let depth = self.latency_target.as_ref().map_or(self.depth, |t| t.depth);
        if self.flushing || self.held || self.in_flight >= depth {
            return Some(Step::Wait);
        }
        if self.next.is_none() {
            self.next = self.source.next();
        }
        let command = self.next?;
        if self.source.must_wait() {
            if self.in_flight > 0 {
                return Some(Step::Wait);
            }
            self.source.waited();
        }
        let op = command.op as usize;
        if let (Some(poisson), Some(Pace { commands: Some(rate), .. })) = (&mut self.poisson, self.pace.get(op)) {
            let due = poisson.due(op, self.begins, *rate);
            if due > now {
                return Some(Step::WaitUntil(due.min(self.closes)));
            }
            poisson.sent(op, *rate);
        } else if let Some(pace) = self.pace.get(command.op as usize) {
            let (commands, bytes) = self.sent[command.op as usize];
            let due = self.begins.saturating_add(pace.due(commands, bytes));
            if due > now {
                return Some(Step::WaitUntil(due.min(self.closes)));
            }
        }
        self.next = None;
        Some(self.send(command))
    }

    fn send(&mut self, command: Command) -> Step {
        self.in_flight += 1;
        self.flushing = command.op == Op::Flush;
        let sent = &mut self.sent[command.op as usize];
        sent.0 += 1;
        sent.1 += command.length_bytes;
        Step::Send(command)
    }

    /// One of its commands has completed.
    pub(super) fn completed(&mut self, c: &Completion) {
        self.in_flight -= 1;
        self.last_completion = self.last_completion.max(c.completed);
        let target = self.latency_target.as_mut().filter(|_| c.op != Op::Flush);
        if target.is_some_and(|target| target.completed(c.completed, c.latency())) {
            self.closes = self.closes.min(c.completed);
        }
        if c.op == Op::Flush {
            self.flushing = false;
        } else if self.think > 0 {
            self.completed_since_pause += 1;
            if self.completed_since_pause >= self.think_after && self.phase == Phase::Running {
                self.phase = Phase::Draining;
            }
        }
    }

    /// Commands sent so far: the next one's serial number.
    pub(super) fn serial(&self) -> u64 {
        self.sent.iter().map(|s| s.0).sum()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(super) fn measure_from(&self) -> Nanos {
        self.measure_from
    }

    /// Whether a completion at this time is measured.
    pub(super) fn measures(&self, completed: Nanos) -> bool {
        self.ramp == 0 || completed > self.measure_from
    }

    /// When the job was over: its last completion, or the end of its runtime if it was idle then.
    pub(super) fn ended_at(&self, now: Nanos) -> Nanos {
        if now >= self.closes { self.last_completion.max(self.closes) } else { self.last_completion }
    }

    /// How much of it is done, 0 to 1.
    pub(super) fn fraction(&self, now: Nanos) -> f64 {
        if self.phase == Phase::Ended {
            return 1.0;
        }
        let bytes: u64 = self.sent.iter().map(|s| s.1).sum();
        let by_bytes = self.expected_bytes.map_or(0.0, |all| bytes as f64 / all.max(1) as f64);
        let by_time = if self.runtime == Nanos::MAX {
            0.0
        } else {
            now.saturating_sub(self.begins) as f64 / self.closes.saturating_sub(self.begins).max(1) as f64
        };
        by_bytes.max(by_time).min(1.0)
    }
}
