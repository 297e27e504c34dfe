//! Campaigns that pull the plug: sound drives pass, firmware that recovers wrongly is found out.

use std::ops::Range;

use ssdlab_core::{Nanos, Op, catch_panic};
use ssdlab_device::{
    Completion, Counters, Destroyed, Device, DeviceInfo, Held, LoadError, Plug, Refusal, Request, Security, Status,
};
use ssdlab_ftl::{KeepsOlderPages, LogBlockFault, RecoveryFault};
use ssdlab_nand::{DieSpec, Geometry, PageOrder, SpecError};
use ssdlab_ssd::{DriveSpec, Loss, PowerLossSpec, Protection};
use ssdlab_torture::{
    Campaign, Case, Facts, Kind, Original, Subject, build_ssd, build_ssd_with_fault, build_ssd_with_log_block_fault,
    cut_specimens, is_composed_to_cut, run, run_seed, torture,
};

fn campaign(seed: u64, runs: u64) -> Campaign {
    Campaign { kind: Kind::PowerCuts, seed, runs, threads: 2 }
}

#[test]
fn sound_drives_keep_what_they_promised_through_thousands_of_cuts() {
    let report = torture(&campaign(1, 250), &build_ssd, &|_| true);
    assert!(report.failures.is_empty(), "{:#?}", report.failures);
    assert!(report.tally.power_cuts > 2000 && report.tally.destroyed_pages > 0, "{}", report.tally);
    assert!(report.tally.read_only < report.tally.runs / 20, "{}", report.tally);
    for (subject, choices) in [("capacitors protect", 3), ("keeps older pages", 4), ("encryption", 2), ("erase cut", 4)]
    {
        let (_, found) = report.tally.coverage.iter().find(|((_, name), _)| *name == subject).expect(subject);
        assert!(found.len() == choices && found.values().all(|&times| times > 5), "{subject}: {found:?}");
    }
}

/// Whatever a file says of the energy: what the capacitors promise is what it is certain to carry.
#[test]
fn capacitors_with_too_little_energy_are_not_held_to_what_they_protect() {
    let mut die = DieSpec::plain(Geometry {
        planes: 2,
        blocks_per_plane: 1000,
        pages_per_block: 256,
        page_bytes: 16_384,
        spare_bytes: 0,
        bits_per_cell: 2,
        page_order: PageOrder::Alternating,
    });
    (die.timing.read_us, die.timing.program_us, die.timing.erase_ms) = (vec![50.0, 60.0], vec![850.0, 2300.0], 3.0);
    let destroyed = |protects, energy_mj| {
        let mut drive = DriveSpec::plain("capacitors", 16, 480_000_000_000);
        drive.mapping.journal = true;
        drive.power_loss = Some(PowerLossSpec { protects, energy_mj: Some(energy_mj), ..PowerLossSpec::default() });
        let original = Original { name: "capacitors".to_owned(), die: die.clone(), drive };
        let report = cut_specimens(&campaign(1, 8), &[original], &build_ssd, &|_| true);
        assert!(report.failures.is_empty(), "{protects:?}, {energy_mj} mJ: {:#?}", report.failures);
        report.tally.destroyed_pages
    };
    for protects in [Protection::DataAtRest, Protection::Everything] {
        assert!(destroyed(protects, 0.001) > 0, "{protects:?}: the energy was not too little");
        assert_eq!(destroyed(protects, 1000.0), 0);
    }
}

/// The power cuts of runs that have gone well before the first that goes wrong, and what was wrong with that; runs have ten to
/// thirty each.
fn cuts_until_found<S: Subject + 'static>(
    seeds: impl Iterator<Item = u64>,
    build: &impl Fn(&Case) -> Result<S, SpecError>,
) -> (u64, Option<String>) {
    let mut cuts = 0;
    for seed in seeds {
        match catch_panic(|| run(Kind::PowerCuts, seed, build)).and_then(|result| result) {
            Ok(tally) => cuts += tally.power_cuts,
            Err(what) => return (cuts, Some(what)),
        }
        if cuts > 1000 {
            break;
        }
    }
    (cuts, None)
}

fn is_found(fault: impl std::fmt::Debug, (cuts, what): (u64, Option<String>)) {
    let Some(what) = what else { panic!("{fault:?} was not found in {cuts} cuts") };
    assert!(cuts < 1000, "{fault:?} was found after {cuts} cuts: {what}");
    assert!(!what.contains("cannot be built"), "{fault:?}: {what}");
}

#[test]
fn recoveries_that_go_wrong_are_found_out_within_a_thousand_cuts() {
    for fault in [
        RecoveryFault::BelievesCheckpointTooEarly,
        RecoveryFault::SkipsJournalRow,
        RecoveryFault::ForgetsTrim,
        RecoveryFault::ForgetsErasePoint,
    ] {
        let build = |case: &Case| build_ssd_with_fault(case, fault);
        is_found(fault, cuts_until_found((0..).map(|number| run_seed(1, number)), &build));
    }
}

#[test]
fn firmware_that_errs_about_older_pages_is_found_out_within_a_thousand_cuts() {
    use KeepsOlderPages::{Copies, PaddingAtFlush, Parity};
    let of = |seed: u64| Case::draw_for_power_cuts(seed).drive.keeps_older_pages();
    for (fault, keeps) in [
        (RecoveryFault::ForgetsCopies, Copies),
        (RecoveryFault::BelievesOldCopies, Copies),
        (RecoveryFault::PadsNothing, PaddingAtFlush),
        (RecoveryFault::SkipsParity, Parity),
        (RecoveryFault::ForgetsCopies, Parity),
    ] {
        let build = |case: &Case| build_ssd_with_fault(case, fault);
        let seeds = (0..).map(|number| run_seed(1, number));
        let seeds = seeds.filter(|&seed| !is_composed_to_cut(seed) && of(seed) == keeps);
        is_found(fault, cuts_until_found(seeds, &build));
    }
}

#[test]
fn so_are_those_of_drives_that_map_blocks() {
    let faults = [
        LogBlockFault::BelievesMergeTooEarly,
        LogBlockFault::ForgetsReplacedData,
        LogBlockFault::SkipsLog,
        LogBlockFault::IgnoresSequence,
        LogBlockFault::HidesDestroyed,
        LogBlockFault::ForgetsLost,
        LogBlockFault::ForgetsErasePoint,
    ];
    for (fault, campaign) in faults.into_iter().flat_map(|fault| [1, 2, 3].map(|campaign| (fault, campaign))) {
        let build = |case: &Case| build_ssd_with_log_block_fault(case, fault);
        // Seeds of such drives.
        let seeds =
            (0..).map(|number| run_seed(campaign, number) / 8 * 8 + 2).filter(|&seed| !is_composed_to_cut(seed));
        is_found(fault, cuts_until_found(seeds, &build));
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let report = |threads| torture(&Campaign { threads, ..campaign(5, 20) }, &build_ssd, &|_| true);
    assert_eq!(report(1), report(2));
}

/// What is wrong with a drive that is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bug {
    /// A cut destroys what shares no cells with what was being programmed.
    DestroysMore,
    /// A read of what was destroyed ends without an error.
    HidesDestroyed,
    /// A write of a part of it, too.
    CompletesDestroyed,
    /// STANDBY IMMEDIATE does nothing.
    DoesNotStandBy,
    /// It says of a trim for ever that a cut would forget it.
    ExcusesTrims,
    /// Cuts are counted twice.
    CountsTwice,
    /// From some number on, cuts are not counted.
    StopsCounting,
}

struct Broken {
    inner: Box<dyn Subject>,
    bug: Bug,
}

impl Broken {
    fn plug_inside(&self) -> &dyn Plug {
        self.inner.plug_seen().expect("it has one")
    }

    fn plug_inside_mut(&mut self) -> &mut dyn Plug {
        self.inner.plug().expect("it has one")
    }
}

impl Device for Broken {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.inner.submit(now, request)
    }

    fn next_event(&self) -> Option<Nanos> {
        self.inner.next_event()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let from = done.len();
        self.inner.advance(to, done);
        let hidden = match self.bug {
            Bug::HidesDestroyed => Some(Op::Read),
            Bug::CompletesDestroyed => Some(Op::Write),
            _ => None,
        };
        let failed = done[from..].iter_mut().filter(|c| Some(c.op) == hidden && c.status == Status::MediaError);
        failed.for_each(|c| c.status = Status::Ok);
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

    fn plug(&mut self) -> Option<&mut dyn Plug> {
        Some(self)
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        Some(self)
    }
}

impl Subject for Broken {
    fn write_count(&self, page: u32) -> Option<u8> {
        self.inner.write_count(page)
    }

    fn max_write_count(&self) -> u8 {
        self.inner.max_write_count()
    }

    fn is_read_only(&self) -> bool {
        self.inner.is_read_only()
    }

    fn facts(&self) -> Facts {
        self.inner.facts()
    }

    fn take_losses(&mut self) -> Vec<Loss> {
        self.inner.take_losses()
    }

    fn is_lost(&self, page: u32) -> bool {
        self.inner.is_lost(page)
    }

    fn lost_pages(&self) -> Vec<u32> {
        self.inner.lost_pages()
    }

    fn age(&mut self, seconds: u64) {
        self.inner.age(seconds);
    }

    fn unsaved_trims(&self) -> Option<Vec<Range<u32>>> {
        let mut trims = self.inner.unsaved_trims()?;
        if self.bug == Bug::ExcusesTrims {
            trims.push(0..1);
        }
        Some(trims)
    }
}

impl Plug for Broken {
    fn has_power(&self) -> bool {
        self.plug_inside().has_power()
    }

    fn cut(&mut self, now: Nanos) {
        self.plug_inside_mut().cut(now);
    }

    fn restore(&mut self, now: Nanos) -> Nanos {
        self.plug_inside_mut().restore(now)
    }

    fn stand_by(&mut self, now: Nanos) -> Nanos {
        if self.bug == Bug::DoesNotStandBy { now } else { self.plug_inside_mut().stand_by(now) }
    }

    fn save(&self) -> Vec<u8> {
        self.plug_inside().save()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), LoadError> {
        self.plug_inside_mut().load(saved)
    }

    fn unclean_shutdowns(&self) -> u64 {
        match (self.plug_inside().unclean_shutdowns(), self.bug) {
            (cuts, Bug::CountsTwice) => 2 * cuts,
            (cuts, Bug::StopsCounting) => cuts.min(8),
            (cuts, _) => cuts,
        }
    }

    fn power_cycles(&self) -> u64 {
        self.plug_inside().power_cycles()
    }

    fn time_powered(&self, now: Nanos) -> Nanos {
        self.plug_inside().time_powered(now)
    }

    fn unit_bytes(&self) -> u64 {
        self.plug_inside().unit_bytes()
    }

    fn held(&self, unit: u64) -> Held {
        if self.bug == Bug::DestroysMore { Held::Unreadable } else { self.plug_inside().held(unit) }
    }

    fn sectors(&self, unit: u64) -> [Held; 8] {
        self.plug_inside().sectors(unit)
    }

    fn keeps_flushes(&self) -> bool {
        self.plug_inside().keeps_flushes()
    }

    fn destroyed(&self) -> Vec<Destroyed> {
        self.plug_inside().destroyed()
    }

    fn unreadable(&self) -> Vec<u64> {
        self.plug_inside().unreadable()
    }

    fn greatest_write_number(&self) -> u8 {
        self.plug_inside().greatest_write_number()
    }
}

/// On drives of which cuts may destroy data at rest.
#[test]
fn plugs_that_do_more_or_less_than_they_say_are_found_out_within_a_thousand_cuts() {
    let may_destroy = |seed: u64| {
        let case = Case::draw_for_power_cuts(seed);
        let protects = case.drive.power_loss.as_ref().map(|spec| spec.protects);
        let several_bits = case.die.geometry.bits_per_cell > 1;
        several_bits && protects == Some(Protection::Nothing) && case.drive.keeps_older_pages() == KeepsOlderPages::No
    };
    for (bug, says) in [
        (Bug::DestroysMore, "each is the most"),
        (Bug::HidesDestroyed, "although a power cut has destroyed pages"),
        // Or it is found out by what is read of the page afterwards.
        (Bug::CompletesDestroyed, "although a power cut has destroyed pages|from a drive that has no reason to"),
        (Bug::DoesNotStandBy, "unclean shutdowns went from"),
        (Bug::ExcusesTrims, "after STANDBY IMMEDIATE"),
        (Bug::CountsTwice, "unclean shutdowns went from"),
        (Bug::StopsCounting, "unclean shutdowns went from"),
    ] {
        let build = |case: &Case| build_ssd(case).map(|inner| Broken { inner, bug });
        let seeds = (0..).map(|number| run_seed(1, number));
        let (cuts, what) = cuts_until_found(seeds.filter(|&s| !is_composed_to_cut(s) && may_destroy(s)), &build);
        println!("{bug:?}, {cuts} cuts: {what:?}");
        assert!(
            what.as_ref().is_some_and(|what| says.split('|').any(|says| what.contains(says))),
            "{bug:?} after {cuts} cuts: {what:?}"
        );
        is_found(bug, (cuts, what));
    }
}
