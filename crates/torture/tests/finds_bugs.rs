//! Torture that finds nothing proves nothing: drives that are broken on purpose must all be found out, and the real
//! one must pass.

use ssdlab_core::{Completion, Nanos, Op, Request};
use ssdlab_device::{Counters, Device, DeviceInfo, Ssd};
use ssdlab_torture::{Campaign, Case, Facts, Report, Subject, build_ssd, run, run_seed, torture};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// A write is acknowledged and never done.
    LostWrite,
    /// A trim is acknowledged and never done.
    ForgottenTrim,
    /// A flush is acknowledged and never done.
    ForgottenFlush,
    /// Two pages are mixed up.
    MixedUpPages,
    /// A command takes longer than it says.
    WrongTime,
    /// The parts of a command's time do not sum to it.
    WrongBreakdown,
    /// A byte counter is off by a sector.
    MiscountedBytes,
    /// An erase is not counted.
    MiscountedErases,
    /// A command is answered twice.
    AnsweredTwice,
    /// A command is never answered.
    NeverAnswered,
    /// A write is refused although the drive is in order.
    RefusedWrite,
    /// A drive that is read-only says that it wrote.
    PretendsToWrite,
    /// An assertion fails.
    Panics,
}

const BUGS: [Bug; 13] = [
    Bug::LostWrite,
    Bug::ForgottenTrim,
    Bug::ForgottenFlush,
    Bug::MixedUpPages,
    Bug::WrongTime,
    Bug::WrongBreakdown,
    Bug::MiscountedBytes,
    Bug::MiscountedErases,
    Bug::AnsweredTwice,
    Bug::NeverAnswered,
    Bug::RefusedWrite,
    Bug::PretendsToWrite,
    Bug::Panics,
];

/// A drive with a bug that shows once in a while.
struct Broken {
    inner: Ssd,
    bug: Bug,
    commands: u64,
    /// A command that went in as something else.
    swapped: Option<Request>,
}

impl Broken {
    /// Every so many commands.
    fn now_and_then(&self) -> bool {
        self.commands % 40 == 39
    }

    fn spoil(&mut self, done: &mut Vec<Completion>, from: usize) {
        let mut k = from;
        while k < done.len() {
            let c = &mut done[k];
            if let Some(request) = self.swapped.take_if(|request| request.tag == c.tag) {
                (c.op, c.offset_bytes, c.length_bytes) = (request.op, request.offset_bytes, request.length_bytes);
            }
            let hit = c.tag % 40 == 39;
            match self.bug {
                Bug::WrongTime if hit => c.submitted = c.submitted.saturating_sub(1),
                Bug::WrongBreakdown if hit => c.breakdown.nanos[1] += 1,
                Bug::RefusedWrite if hit && c.op == Op::Write => c.status = ssdlab_core::Status::ReadOnly,
                Bug::PretendsToWrite if c.op == Op::Write => c.status = ssdlab_core::Status::Ok,
                Bug::AnsweredTwice if hit => {
                    let again = *c;
                    done.insert(k, again);
                    k += 1;
                }
                Bug::NeverAnswered if hit => {
                    done.remove(k);
                    continue;
                }
                _ => {}
            }
            k += 1;
        }
    }
}

impl Device for Broken {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        self.commands += 1;
        let harmless = match (self.bug, request.op) {
            (Bug::LostWrite, Op::Write) => Some(Op::Read),
            (Bug::ForgottenTrim, Op::Trim) => Some(Op::Read),
            (Bug::ForgottenFlush, Op::Flush) => Some(Op::Read),
            _ => None,
        };
        assert!(self.bug != Bug::Panics || !self.now_and_then(), "made to panic");
        match harmless.filter(|_| self.swapped.is_none() && (self.now_and_then() || request.op != Op::Write)) {
            Some(op) => {
                self.swapped = Some(request);
                let length_bytes = request.length_bytes.max(512);
                self.inner.submit(now, Request { op, length_bytes, ..request });
            }
            None => self.inner.submit(now, request),
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.inner.next_event()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let from = done.len();
        self.inner.advance(to, done);
        self.spoil(done, from);
    }

    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        self.inner.secure_erase(now)
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn check_books(&self) -> Result<(), String> {
        self.inner.check_books()
    }
}

impl Subject for Broken {
    fn write_count(&self, page: u32) -> Option<u8> {
        let page = if self.bug == Bug::MixedUpPages && page < 2 { 1 - page } else { page };
        self.inner.write_count(page)
    }

    fn max_write_count(&self) -> u8 {
        self.inner.max_write_count()
    }

    fn is_read_only(&self) -> bool {
        Subject::is_read_only(&self.inner)
    }

    fn facts(&self) -> Facts {
        let mut facts = self.inner.facts();
        match self.bug {
            Bug::MiscountedBytes if self.now_and_then() => facts.counters.host_write_bytes += 512,
            Bug::MiscountedErases => facts.erases += u64::from(facts.erases > 100),
            _ => {}
        }
        facts
    }
}

fn with(bug: Bug, runs: u64) -> Report {
    let build = |case: &Case| Ok(Broken { inner: build_ssd(case)?, bug, commands: 0, swapped: None });
    torture(&Campaign { seed: 1, runs, threads: 2 }, &build, &|_| true)
}

#[test]
fn every_bug_is_found_and_its_run_can_be_repeated() {
    for bug in BUGS {
        let report = with(bug, 100);
        let Some(failure) = report.failures.first() else { panic!("{bug:?} goes unnoticed") };
        assert_eq!(failure.seed, run_seed(1, failure.run));
        assert!(!failure.what.is_empty());
        if bug == Bug::Panics {
            assert!(failure.what.starts_with("panic: made to panic ("), "{}", failure.what);
        }
        let build = |case: &Case| Ok(Broken { inner: build_ssd(case)?, bug, commands: 0, swapped: None });
        let again = torture(&Campaign { seed: failure.seed, runs: 1, threads: 1 }, &build, &|_| true);
        assert_eq!(again.failures.len(), 1, "{bug:?}");
        assert_eq!(again.failures[0].what, failure.what);
    }
}

#[test]
fn the_real_drive_passes_and_everything_is_reached() {
    let report = torture(&Campaign { seed: 7, runs: 300, threads: 2 }, &build_ssd, &|_| true);
    assert_eq!(report.failures, []);
    let t = &report.tally;
    assert_eq!(t.runs, 300);
    assert!(t.read_only > 0 && t.refused_commands > 0 && t.program_failures > 0 && t.erase_failures > 0, "{t}");
    // 23 subjects with 2 to 5 choices, and phases.
    assert_eq!(t.coverage.len(), 24);
    for ((_, subject), choices) in &t.coverage {
        assert!(choices.len() >= 2 && choices.values().all(|&times| times > 10), "{subject}: {choices:?}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let report = |threads| torture(&Campaign { seed: 3, runs: 40, threads }, &build_ssd, &|_| true);
    let one = report(1);
    assert_eq!(one, report(3));
    assert_eq!(one.tally.to_string(), report(2).tally.to_string());
}

#[test]
fn a_campaign_that_is_stopped_begins_no_further_run() {
    let report = torture(&Campaign { seed: 3, runs: 40, threads: 1 }, &build_ssd, &|done| done < 5);
    assert_eq!(report.tally.runs + report.failures.len() as u64, 5);
}

#[test]
fn one_run_is_the_first_of_its_campaign() {
    assert_eq!(run_seed(99, 0), 99);
    let tally = run(99, &build_ssd).expect("it passes");
    let report = torture(&Campaign { seed: 99, runs: 1, threads: 1 }, &build_ssd, &|_| true);
    assert_eq!(report.tally, tally);
}

/// Minutes: `cargo test -p ssdlab-torture --test finds_bugs -- --ignored`.
#[test]
#[ignore = "minutes; three hundred runs of the same always run, and `make torture` 500"]
fn ten_thousand_runs_pass() {
    let report = torture(&Campaign { seed: 1, runs: 10_000, threads: 2 }, &build_ssd, &|_| true);
    println!("{}", report.tally);
    for failure in &report.failures {
        println!("{failure:?}");
    }
    assert!(report.failures.is_empty());
}
