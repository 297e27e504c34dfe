//! One clone of a job while it runs: when it may send its next command, and when it has ended.

use ssdlab_core::{Nanos, Op, Rng, SECOND};
use ssdlab_device::Completion;
use ssdlab_workload::fio::ExitWhat;
use ssdlab_workload::{Command, Source};

use super::latency_target::LatencyTarget;

/// When the next command is due, so much after the start, if so many bytes were sent before.
fn due(bytes: u64, rate: u64) -> Nanos {
    (u128::from(bytes) * u128::from(SECOND) / u128::from(rate)) as Nanos
}

/// `rate_process=poisson`: when the next command of each operation arrives.
#[derive(Clone, Debug)]
pub(super) struct Poisson {
    /// Commands a second.
    rates: [Option<f64>; 3],
    rng: Rng,
    next: [Option<Nanos>; 3],
}

impl Poisson {
    pub(super) fn new(rates: [Option<f64>; 3], rng: Rng) -> Self {
        Poisson { rates, rng, next: [None; 3] }
    }

    /// When the command that comes next arrives, the first after `began`; `None`: at once.
    fn due(&mut self, op: usize, began: Nanos) -> Option<Nanos> {
        let rate = (*self.rates.get(op)?)?;
        Some(*self.next[op].get_or_insert_with(|| began.saturating_add(exponential(&mut self.rng, rate))))
    }

    /// What comes next comes so much later.
    fn shift(&mut self, time: Nanos) {
        self.next.iter_mut().flatten().for_each(|next| *next = next.saturating_add(time));
    }

    fn sent(&mut self, op: usize) {
        if let (Some(Some(rate)), Some(Some(next))) = (self.rates.get(op), self.next.get_mut(op)) {
            *next = next.saturating_add(exponential(&mut self.rng, *rate));
        }
    }
}

/// A time between two of `rate` events a second.
fn exponential(rng: &mut Rng, rate: f64) -> Nanos {
    // Never zero, so that the logarithm is finite.
    let uniform = (rng.below(1 << 53) + 1) as f64 / (1u64 << 53) as f64;
    (-libm::log(uniform) * SECOND as f64 / rate) as Nanos
}

/// The passes of a clone that read what was written, when all is. fio's rates of writes leave their time out, and those of
/// reads have nothing else in it if there were no other reads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passes {
    /// The one that runs.
    since: Option<Nanos>,
    /// When the first of them began.
    pub(super) begins: Option<Nanos>,
    /// How long those took that are over.
    pub(super) took: Nanos,
    /// Of a clone that has ended: when it was last in none of them.
    pub(super) others_until: Nanos,
}

impl Passes {
    /// The next command belongs to one, or does not.
    fn turn(&mut self, verifies: bool, now: Nanos, measured_from: Nanos) {
        match self.since {
            None if verifies => {
                let at = now.max(measured_from);
                self.since = Some(at);
                self.begins.get_or_insert(at);
            }
            Some(since) if !verifies => {
                self.took += now.saturating_sub(since);
                self.since = None;
            }
            _ => {}
        }
    }

    /// All of them, of a clone that ended then.
    fn ended(mut self, at: Nanos) -> Self {
        self.others_until = self.since.unwrap_or(at);
        self.turn(false, at, 0);
        self
    }
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
    /// A full queue empties to so many commands before it is filled again.
    pub(super) low: u32,
    empties: bool,
    /// The queue has no room; until when it last had none; and since when neither a pause nor a command whose rate has it
    /// later has held back what is due.
    is_full: bool,
    full_until: Nanos,
    resumed: Nanos,
    /// How long the command that was just sent had waited for room, if it was due while there was none.
    waited_for_room: Option<Nanos>,
    pub(super) start_delay: Nanos,
    pub(super) ramp: Nanos,
    /// From the end of the ramp; `Nanos::MAX` without a limit.
    pub(super) runtime: Nanos,
    /// At most so many bytes a second, of reads, writes and trims.
    pub(super) rates: [Option<u64>; 3],
    /// What a pause takes is not caught up.
    pub(super) rate_ignores_pauses: bool,
    pub(super) think: Nanos,
    pub(super) think_after: u64,
    /// A flush when all else of a pass has completed. The source sends that of a pass that it ends itself.
    pub(super) end_flush: bool,
    /// How far the data that it writes can be compressed.
    pub(super) compress_percent: u32,
    /// For the progress report.
    pub(super) expected_bytes: Option<u64>,
    phase: Phase,
    begins: Nanos,
    /// From when on the rates are counted.
    paced_from: Nanos,
    measure_from: Nanos,
    closes: Nanos,
    /// A flush is in flight: it holds back everything behind it.
    flushing: bool,
    /// The command that was sent last is the flush at the end of a pass.
    ends_pass: bool,
    /// What was sent since then is to be flushed yet.
    pass_is_open: bool,
    /// Neither a rate nor a pause holds back the command that is or was sent last.
    unpaced: bool,
    in_flight: u32,
    /// Commands and bytes sent, by operation.
    sent: [(u64, u64); Op::ALL.len()],
    /// Bytes of them that no rate is for, by operation.
    unpaced_bytes: [u64; Op::ALL.len()],
    completed_since_pause: u64,
    last_completion: Nanos,
    passes: Passes,
    /// Whether it has done reads, writes and trims that were measured, beside these passes.
    did: [bool; 3],
    /// What was measured of it before the next command is left out.
    anew: bool,
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
            low: depth.saturating_sub(1),
            empties: false,
            is_full: false,
            full_until: 0,
            resumed: 0,
            waited_for_room: None,
            start_delay: 0,
            ramp: 0,
            runtime: Nanos::MAX,
            rates: [None; 3],
            rate_ignores_pauses: false,
            think: 0,
            think_after: 1,
            end_flush: false,
            compress_percent: 0,
            expected_bytes: None,
            phase: Phase::Running,
            begins: 0,
            paced_from: 0,
            measure_from: 0,
            closes: Nanos::MAX,
            flushing: false,
            ends_pass: false,
            pass_is_open: true,
            unpaced: false,
            in_flight: 0,
            sent: [(0, 0); Op::ALL.len()],
            unpaced_bytes: [0; Op::ALL.len()],
            completed_since_pause: 0,
            last_completion: 0,
            passes: Passes::default(),
            did: [false; 3],
            anew: false,
        }
    }

    /// The stage begins.
    pub(super) fn start(&mut self, now: Nanos) {
        self.begins = now.saturating_add(self.start_delay);
        self.paced_from = self.begins;
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

    /// Whether it has ended, or waits for nothing but its last commands.
    pub(super) fn is_over(&self, now: Nanos) -> bool {
        self.closes <= now || matches!(self.phase, Phase::Closing | Phase::Ended)
    }

    /// It ends without ever having begun.
    pub(super) fn never_begin(&mut self) {
        self.phase = Phase::Ended;
    }

    /// Whether it was closed before it had begun to send.
    pub(super) fn never_began(&self) -> bool {
        self.closes <= self.begins && self.serial() == 0
    }

    /// From when on it sends.
    pub(super) fn begins(&self) -> Nanos {
        self.begins
    }

    /// What to do at `now`. After [`Step::Send`], the command counts as sent.
    pub(super) fn step(&mut self, now: Nanos) -> Step {
        if now >= self.closes && self.phase != Phase::Ended {
            // Nothing has been written that a FLUSH could keep.
            self.phase = if self.never_began() { Phase::Ended } else { Phase::Closing };
        }
        loop {
            match self.phase {
                Phase::Ended => return Step::Ended,
                Phase::Closing if self.in_flight > 0 => return Step::Wait,
                Phase::Closing if self.end_flush && self.pass_is_open => return self.send(Command::FLUSH, true),
                Phase::Closing => {
                    self.phase = Phase::Ended;
                    return Step::Ended;
                }
                Phase::Draining if self.in_flight > 0 => return Step::Wait,
                Phase::Draining => self.phase = Phase::Thinking(now.saturating_add(self.think)),
                Phase::Thinking(until) if now < until => return Step::WaitUntil(until.min(self.closes)),
                Phase::Thinking(_) => {
                    (self.is_full, self.resumed) = (false, now);
                    if self.rate_ignores_pauses {
                        self.paced_from = self.paced_from.saturating_add(self.think);
                        if let Some(poisson) = &mut self.poisson {
                            poisson.shift(self.think);
                        }
                    }
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
        if self.in_flight >= depth {
            self.empties = true;
        } else if self.latency_target.is_some() || self.in_flight <= self.low {
            self.empties = false;
        }
        if self.is_full && !self.empties {
            self.full_until = now;
        }
        self.is_full = self.empties;
        let drains = self.latency_target.as_ref().is_some_and(LatencyTarget::drains);
        if self.flushing || self.held || self.empties || (drains && self.in_flight > 0) {
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
        self.passes.turn(self.source.verifies(), now, self.measure_from);
        self.unpaced = self.source.is_unpaced();
        let op = command.op as usize;
        if self.unpaced {
            self.unpaced_bytes[op] += command.length_bytes;
        } else {
            let arrives = match &mut self.poisson {
                Some(poisson) => poisson.due(op, self.paced_from),
                None => {
                    let paced = self.sent[op].1 - self.unpaced_bytes[op];
                    let rate = self.rates.get(op).copied().flatten();
                    rate.map(|rate| self.paced_from.saturating_add(due(paced, rate)))
                }
            };
            if let Some(at) = arrives.filter(|&at| at > now) {
                // What is due before this one, in another direction, comes behind it, and does not wait for the queue.
                self.resumed = at;
                return Some(Step::WaitUntil(at.min(self.closes)));
            }
            self.waited_for_room = arrives.filter(|at| (self.resumed..self.full_until).contains(at)).map(|at| now - at);
            if let Some(poisson) = &mut self.poisson {
                poisson.sent(op);
            }
        }
        if let Some(target) = self.latency_target.as_mut().filter(|target| target.drains())
            && target.drained(now)
        {
            // As in fio its runtime begins anew, too.
            self.anew = true;
            self.passes = Passes::default();
            self.did = [false; 3];
            self.measure_from = now;
            self.closes = now.saturating_add(self.runtime);
        }
        self.next = None;
        let ends_pass = self.source.ends_pass();
        Some(self.send(command, ends_pass))
    }

    fn send(&mut self, command: Command, ends_pass: bool) -> Step {
        self.in_flight += 1;
        self.flushing = command.op == Op::Flush;
        self.ends_pass = ends_pass;
        // What reads it back needs no flush.
        self.pass_is_open = !ends_pass && (self.pass_is_open || !self.unpaced);
        let sent = &mut self.sent[command.op as usize];
        sent.0 += 1;
        sent.1 += command.length_bytes;
        if command.op != Op::Flush {
            self.pause_if_due();
        }
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
            // As in fio, completions are looked at where the queue had been full; otherwise when a command is sent.
            if self.in_flight + 1 >= self.depth {
                self.pause_if_due();
            }
        }
    }

    /// After so many completions it sends nothing more, waits for what is in flight, and pauses. What completes meanwhile counts
    /// for the next pause.
    fn pause_if_due(&mut self) {
        let is_due = self.completed_since_pause >= self.think_after && !self.unpaced;
        if self.think > 0 && self.phase == Phase::Running && is_due {
            self.completed_since_pause = 0;
            self.phase = Phase::Draining;
        }
    }

    /// One of its commands is measured.
    #[inline]
    pub(super) fn measured(&mut self, op: Op) {
        let verifies = self.verifies();
        if let Some(did) = self.did.get_mut(op as usize) {
            *did |= !verifies;
        }
    }

    /// Commands sent so far: the next one's serial number.
    pub(super) fn serial(&self) -> u64 {
        self.sent.iter().map(|s| s.0).sum()
    }

    /// Whether what is measured of it begins anew with the command that was just sent; says so once.
    pub(super) fn begins_anew(&mut self) -> bool {
        std::mem::take(&mut self.anew)
    }

    /// How long the command that was just sent had waited, which was due while the queue was full; says so once.
    pub(super) fn waited_for_room(&mut self) -> Option<Nanos> {
        self.waited_for_room.take()
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

    /// Whether a completion at this time, of a command that was sent no later than the last, is measured. As in fio, the flush at
    /// the end of a pass, which is alone in flight, is in no figure but the time.
    pub(super) fn measures(&self, completed: Nanos) -> bool {
        !self.ends_pass && (self.ramp == 0 || completed > self.measure_from)
    }

    /// When the job was over: its last completion, or the end of its runtime if it was idle then.
    pub(super) fn ended_at(&self, now: Nanos) -> Nanos {
        if now >= self.closes { self.last_completion.max(self.closes) } else { self.last_completion }
    }

    /// Whether it reads what it has written, in a pass of its own.
    pub(super) fn verifies(&self) -> bool {
        self.passes.since.is_some()
    }

    /// Whether reads, writes and trims of it were measured, beside its passes of verification.
    pub(super) fn did(&self) -> [bool; 3] {
        self.did
    }

    /// The passes of a clone that was over at `ended_at`.
    pub(super) fn passes(&self, ended_at: Nanos) -> Passes {
        self.passes.ended(ended_at)
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
