//! Torture that finds nothing proves nothing: drives that are broken on purpose must all be found out, and the real
//! one must pass.

use ssdlab_core::{Nanos, Op, catch_panic};
use ssdlab_device::{Completion, Counters, Device, DeviceInfo, Refusal, Request, Security, Status};
use ssdlab_nand::SpecError;
use ssdlab_ssd::Loss;
use ssdlab_torture::{
    Campaign, Case, Facts, Kind, Report, Subject, Tally, build_ssd, is_composed, run, run_seed, torture,
};

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
    /// A read of lost data is answered as if nothing had happened.
    HidesLoss,
    /// Data are called lost that are not.
    CriesLost,
    /// A page that was lost is forgotten.
    ForgetsLoss,
    /// A page that holds what the host wrote counts as lost.
    CountsSoundAsLost,
    /// An assertion fails.
    Panics,
}

const BUGS: [Bug; 17] = [
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
    Bug::HidesLoss,
    Bug::CriesLost,
    Bug::ForgetsLoss,
    Bug::CountsSoundAsLost,
    Bug::Panics,
];

/// A drive with a bug that shows once in a while.
struct Broken {
    inner: Box<dyn Subject>,
    bug: Bug,
    commands: u64,
    /// A command that went in as something else.
    swapped: Option<Request>,
    /// Reads, and their bytes, that were answered otherwise than the drive has counted them.
    hidden: (u64, u64),
    cried: (u64, u64),
}

impl Broken {
    fn new(case: &Case, bug: Bug) -> Result<Self, SpecError> {
        let inner = build_ssd(case)?;
        Ok(Broken { inner, bug, commands: 0, swapped: None, hidden: (0, 0), cried: (0, 0) })
    }

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
                Bug::RefusedWrite if hit && c.op == Op::Write => c.status = Status::ReadOnly,
                Bug::PretendsToWrite if c.op == Op::Write => c.status = Status::Ok,
                Bug::HidesLoss if c.op == Op::Read && c.status == Status::MediaError => {
                    c.status = Status::Ok;
                    self.hidden.0 += 1;
                    self.hidden.1 += c.length_bytes;
                }
                Bug::CriesLost if hit && c.op == Op::Read && c.status == Status::Ok => {
                    c.status = Status::MediaError;
                    self.cried.0 += 1;
                    self.cried.1 += c.length_bytes;
                }
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

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
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
                self.inner.submit(now, Request { op, length_bytes, ..request })
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

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn check_books(&self) -> Result<(), String> {
        self.inner.check_books()
    }

    fn security(&mut self) -> Option<&mut dyn Security> {
        self.inner.security()
    }
}

impl Subject for Broken {
    fn unsaved_trims(&self) -> Option<Vec<std::ops::Range<u32>>> {
        self.inner.unsaved_trims()
    }

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
            Bug::MiscountedBytes if self.now_and_then() => facts.counters.host.write_bytes += 512,
            Bug::MiscountedErases => facts.erases += u64::from(facts.erases > 100),
            // The books agree with what it says.
            Bug::HidesLoss | Bug::CriesLost => {
                let c = &mut facts.counters.host;
                c.reads = c.reads + self.hidden.0 - self.cried.0;
                c.read_bytes = c.read_bytes + self.hidden.1 - self.cried.1;
            }
            _ => {}
        }
        facts
    }

    fn take_losses(&mut self) -> Vec<Loss> {
        Subject::take_losses(&mut self.inner)
    }

    fn is_lost(&self, page: u32) -> bool {
        self.inner.is_lost(page)
    }

    fn lost_pages(&self) -> Vec<u32> {
        let mut lost = Subject::lost_pages(&self.inner);
        match self.bug {
            Bug::ForgetsLoss => drop(lost.pop()),
            Bug::CountsSoundAsLost if lost.first().is_some_and(|&page| page > 0) => lost.insert(0, 0),
            _ => {}
        }
        lost
    }

    fn age(&mut self, seconds: u64) {
        Subject::age(&mut self.inner, seconds);
    }
}

fn with(bug: Bug, runs: u64) -> Report {
    let build = |case: &Case| Broken::new(case, bug);
    torture(&Campaign { seed: 1, runs, threads: 2, ..Campaign::default() }, &build, &|_| true)
}

#[test]
fn every_bug_is_found_and_its_run_can_be_repeated() {
    for bug in BUGS {
        // Most are found at once.
        let report = [4, 20, 100].into_iter().map(|runs| with(bug, runs)).find(|report| !report.failures.is_empty());
        let Some(failure) = report.as_ref().map(|report| &report.failures[0]) else { panic!("{bug:?} goes unnoticed") };
        assert_eq!(failure.seed, run_seed(1, failure.run));
        assert!(!failure.what.is_empty());
        if bug == Bug::Panics {
            assert!(failure.what.starts_with("panic: made to panic ("), "{}", failure.what);
        }
        let build = |case: &Case| Broken::new(case, bug);
        let again =
            torture(&Campaign { seed: failure.seed, runs: 1, threads: 1, ..Campaign::default() }, &build, &|_| true);
        assert_eq!(again.failures.len(), 1, "{bug:?}");
        assert_eq!(again.failures[0].what, failure.what);
    }
}

/// How many choices there are of each subject of the tally; phases, and what devices of devices are made of.
const CHOICES: [(&str, usize); 40] = [
    ("gc policy", 6),
    ("tie break", 2),
    ("frontier", 3),
    ("buffering", 2),
    ("host share", 5),
    ("background gc", 2),
    ("superblock", 3),
    ("journal", 2),
    ("map", 2),
    ("slc cache", 5),
    ("cached writes", 3),
    ("compression", 2),
    ("error correction", 3),
    ("refresh", 3),
    ("used before", 2),
    ("parity stripes", 2),
    ("least read", 3),
    ("row", 3),
    ("mapping unit", 3),
    ("work beside the host", 2),
    ("cores", 3),
    ("command latency", 2),
    ("time of a DMA extent", 2),
    ("time to move a unit", 2),
    ("wear levelling", 4),
    ("page order", 2),
    ("planes", 3),
    ("dies", 3),
    ("write cache", 2),
    ("read ahead", 2),
    ("reads first", 2),
    ("reserve", 2),
    ("factory bad blocks", 2),
    ("failing programs", 2),
    ("failing erases", 2),
    ("heat", 2),
    ("encryption", 2),
    ("translation", 4),
    ("made of", 7),
    ("phase", 16),
];

#[test]
fn the_real_drive_passes_and_everything_is_reached() {
    let report = torture(&Campaign { seed: 7, runs: 540, threads: 2, ..Campaign::default() }, &build_ssd, &|_| true);
    assert_eq!(report.failures, []);
    let t = &report.tally;
    assert_eq!(t.runs, 540);
    assert!(t.read_only > 0 && t.refused_commands > 0 && t.program_failures > 0 && t.erase_failures > 0, "{t}");
    let retries = t.reread_units - t.soft_units;
    assert!(retries > 0 && t.rebuilt_units > 0 && t.lost_units > 0 && t.uncorrectable_commands > 0, "{t}");
    let reached: Vec<(&str, usize)> =
        t.coverage.iter().map(|((_, subject), choices)| (*subject, choices.len())).collect();
    assert_eq!(reached, CHOICES, "a new choice is written down there");
    for ((_, subject), choices) in &t.coverage {
        assert!(choices.values().all(|&times| times > 10), "{subject}: {choices:?}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let report =
        |threads| torture(&Campaign { seed: 3, runs: 40, threads, ..Campaign::default() }, &build_ssd, &|_| true);
    let one = report(1);
    assert_eq!(one, report(3));
    assert_eq!(one.tally.to_string(), report(2).tally.to_string());
}

#[test]
fn a_campaign_that_is_stopped_begins_no_further_run() {
    let report =
        torture(&Campaign { seed: 3, runs: 40, threads: 1, ..Campaign::default() }, &build_ssd, &|done| done < 5);
    assert_eq!(report.tally.runs + report.failures.len() as u64, 5);
}

#[test]
fn one_run_is_the_first_of_its_campaign() {
    assert_eq!(run_seed(99, 0), 99);
    let tally = run(Kind::Work, 99, &build_ssd).expect("it passes");
    let report = torture(&Campaign { seed: 99, runs: 1, threads: 1, ..Campaign::default() }, &build_ssd, &|_| true);
    assert_eq!(report.tally, tally);
}

fn log_block_drives_pass(runs: u64) {
    let mut passed = Tally::default();
    // Seeds of drives that translate by blocks.
    let seeds = (1..).map(|number| run_seed(1, number) / 8 * 8 + 2).filter(|&seed| !is_composed(seed));
    for seed in seeds.take(runs as usize) {
        match catch_panic(|| run(Kind::Work, seed, &build_ssd)).and_then(|result| result) {
            Ok(tally) => passed.add(&tally),
            Err(what) => panic!("seed {seed}: {what}"),
        }
    }
    println!("{passed}");
    let translations = passed.coverage.iter().find(|((_, subject), _)| *subject == "translation");
    let (_, translations) = translations.expect("they are counted");
    assert!(translations.keys().copied().eq(["bast", "fast", "replacement"]), "{translations:?}");
    assert_eq!(translations.values().sum::<u64>(), runs);
}

#[test]
fn drives_that_map_blocks_pass() {
    log_block_drives_pass(60);
}

#[test]
#[ignore = "minutes; `make properties` runs it, and 60 runs of the same run always"]
fn thousands_more_runs_of_drives_that_map_blocks_pass() {
    log_block_drives_pass(10_000);
}

/// Bugs of which the drive need not lose data or run out of blocks.
#[test]
fn bugs_of_log_block_drives_are_found() {
    let needs_losses = [Bug::PretendsToWrite, Bug::HidesLoss, Bug::ForgetsLoss, Bug::CountsSoundAsLost];
    for bug in BUGS.into_iter().filter(|bug| !needs_losses.contains(bug)) {
        let build = |case: &Case| Broken::new(case, bug);
        let found =
            (0..60).any(|k| catch_panic(|| run(Kind::Work, 8 * k + 2, &build)).and_then(|result| result).is_err());
        assert!(found, "{bug:?} goes unnoticed");
    }
}
