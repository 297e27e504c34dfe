//! Power cuts of whole drives: what a host was promised is there afterwards, whatever the drive; what capacitors protect,
//! and what happens without them; how long a drive takes to be ready.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ssdlab_core::{MICROSECOND, MILLISECOND, Nanos, Op, Rng, SECOND};
use ssdlab_device::{Completion, Device, Held, Plug, Request, Security, Status};
use ssdlab_ftl::{HostShare, KeepsOlderPages, Translation};
use ssdlab_nand::{DieSpec, Geometry, PageOrder, ReducedMode, Suspend};
use ssdlab_ssd::{DriveSpec, PowerLossSpec, Protection, Ssd, energy_to_save_mj};
use ssdlab_testkit::{any_drive, ideal_die, ideal_drive};

/// What the host knows of 4 KiB: how often it has written them.
#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    sent: u32,
    answered: u32,
    flushed: u32,
    in_flight: bool,
    was_lost: bool,
    /// The last cut has left it unreadable.
    gone: bool,
}

struct Host {
    drive: Ssd,
    rng: Rng,
    now: Nanos,
    tag: u64,
    units: Vec<Unit>,
    in_flight: BTreeMap<u64, Request>,
    /// Reads of data that were lost when they were sent.
    of_lost: BTreeSet<u64>,
    /// What a flush in flight covers.
    covered: BTreeMap<u64, Vec<u32>>,
    lost: u32,
    /// Units that a cut can destroy at most.
    most_lost: u32,
    rolled_back: u32,
    flushed_lost: u32,
}

impl Host {
    fn new(drive: &DriveSpec, die: &DieSpec, seed: u64) -> Self {
        let (g, ratio) = (&die.geometry, drive.compression.map_or(1, |compression| compression.max_ratio));
        // Of each plane, the older pages that share the cells of the one page that is being programmed.
        let pages = drive.flash.dies * g.planes * (g.bits_per_cell - 1);
        let most_lost = pages * g.page_bytes.div_ceil(4096) * ratio * (drive.mapping.unit_kib / 4);
        let drive = Ssd::new("small", drive, die, seed).expect("it can be built");
        let units = vec![Unit::default(); (drive.info().capacity_bytes / 4096) as usize];
        Host {
            drive,
            rng: Rng::new(seed).stream("host"),
            now: 0,
            tag: 0,
            units,
            in_flight: BTreeMap::new(),
            of_lost: BTreeSet::new(),
            covered: BTreeMap::new(),
            lost: 0,
            most_lost,
            rolled_back: 0,
            flushed_lost: 0,
        }
    }

    fn submit(&mut self, op: Op, first: usize, count: usize, fua: bool) {
        let units = first..first + count;
        if op == Op::Write && self.units[units.clone()].iter().any(|unit| unit.in_flight) {
            return;
        }
        self.tag += 1;
        if op == Op::Read && self.units[units.clone()].iter().any(|unit| unit.was_lost) {
            self.of_lost.insert(self.tag);
        }
        if op == Op::Write {
            self.units[units].iter_mut().for_each(|unit| {
                unit.sent += 1;
                unit.in_flight = true;
            });
        }
        let bytes = if op == Op::Flush { 0 } else { count as u64 * 4096 };
        let request = Request::new(self.tag, op, first as u64 * 4096, bytes).with_fua(fua);
        if op == Op::Flush {
            self.covered.insert(self.tag, self.units.iter().map(|unit| unit.answered).collect());
        }
        self.in_flight.insert(self.tag, request);
        self.drive.submit(self.now, request).expect("it is within the drive");
    }

    fn any_command(&mut self) {
        let count = 1 + self.rng.below(16.min(self.units.len() as u64 / 2)) as usize;
        let first = self.rng.below((self.units.len() - count + 1) as u64) as usize;
        match self.rng.below(24) {
            0 => self.submit(Op::Flush, 0, 0, false),
            1..=3 => self.submit(Op::Read, first, count, false),
            k => self.submit(Op::Write, first, count, k == 4),
        }
    }

    fn take(&mut self, c: &Completion) {
        let request = self.in_flight.remove(&c.tag).expect("it was asked for");
        let units =
            (request.offset_bytes / 4096) as usize..((request.offset_bytes + request.length_bytes) / 4096) as usize;
        match c.op {
            Op::Write if c.status != Status::Ok => self.units[units].iter_mut().for_each(|unit| unit.in_flight = false),
            Op::Flush if c.status != Status::Ok => {}
            Op::Write => self.units[units].iter_mut().for_each(|unit| {
                unit.in_flight = false;
                unit.was_lost = false;
                unit.answered = unit.sent;
                if request.fua {
                    unit.flushed = unit.sent;
                }
            }),
            Op::Flush => {
                let covered = self.covered.remove(&c.tag).expect("it was noted");
                self.units.iter_mut().zip(covered).for_each(|(unit, at)| unit.flushed = unit.flushed.max(at));
            }
            Op::Read => {
                // A write that is in flight may put an end to a loss.
                let may_fail = self.of_lost.remove(&c.tag);
                assert!(c.status == Status::Ok || c.status == Status::MediaError && may_fail, "{c:?}");
                return;
            }
            Op::Trim | Op::WriteZeroes => {}
        }
        let refused = c.status == Status::ReadOnly && self.drive.is_read_only();
        assert!(c.status == Status::Ok || refused, "{c:?}");
    }

    /// Lets one event happen; returns whether there was one.
    fn step(&mut self) -> bool {
        let Some(at) = self.drive.next_event() else { return false };
        let mut done = Vec::new();
        self.now = self.now.max(at);
        self.drive.advance(self.now, &mut done);
        done.iter().for_each(|c| self.take(c));
        true
    }

    /// Lets events happen as long as the host waits for answers: a drive that owes some is not at rest.
    fn wait_while(&mut self, waits: impl Fn(&BTreeMap<u64, Request>) -> bool) {
        while waits(&self.in_flight) {
            assert!(self.step(), "the drive is at rest, and has not answered {:?}", self.in_flight);
        }
    }

    fn finish(&mut self) {
        self.wait_while(|in_flight| !in_flight.is_empty());
    }

    fn fill(&mut self) {
        for first in (0..self.units.len()).step_by(8) {
            self.submit(Op::Write, first, 8.min(self.units.len() - first), false);
            self.finish();
        }
        self.flush();
    }

    fn flush(&mut self) {
        self.submit(Op::Flush, 0, 0, false);
        self.finish();
    }

    fn work(&mut self, commands: u64, depth: usize) {
        for _ in 0..commands {
            self.wait_while(|in_flight| in_flight.len() >= depth);
            self.any_command();
        }
    }

    fn cut(&mut self) {
        self.drive.cut(self.now);
        self.in_flight.clear();
        self.covered.clear();
    }

    /// Puts the plug in, pulls it out again before the drive is ready, now and then, and looks at what is there. `kept`: what
    /// must be.
    fn restore(&mut self, may_lose: bool, kept: impl Fn(&Unit) -> u32) -> Nanos {
        self.now += self.rng.below(SECOND);
        let (mut cuts, mut new) = (1, 0);
        let mut ready = self.drive.restore(self.now);
        while self.rng.chance(1, 3) {
            self.now += self.rng.below(ready - self.now + 1);
            if self.rng.chance(1, 2) {
                self.any_command();
                self.in_flight.clear();
                self.covered.clear();
            }
            self.drive.cut(self.now);
            cuts += 1;
            self.units.iter_mut().for_each(|unit| unit.in_flight = false);
            self.now += MILLISECOND;
            ready = self.drive.restore(self.now);
        }
        self.drive.check_books().expect("the books balance");
        let greatest = u32::from(self.drive.greatest_write_number());
        let number = |writes: u32| if writes == 0 { 0 } else { (writes - 1) % greatest + 1 };
        for (k, unit) in self.units.iter_mut().enumerate() {
            unit.in_flight = false;
            let held = match self.drive.held(k as u64) {
                Held::Unreadable => {
                    assert!(may_lose, "unit {k} was destroyed");
                    self.lost += u32::from(!unit.was_lost);
                    new += u32::from(!unit.gone);
                    *unit = Unit { was_lost: true, gone: true, ..Unit::default() };
                    continue;
                }
                Held::Nothing => 0,
                Held::Write(number) => u32::from(number),
                Held::Mixed(_) => panic!("unit {k} is of several writes"),
            };
            let least = kept(unit);
            let found = (least..=unit.sent).rev().find(|&writes| number(writes) == held);
            let Some(found) = found else {
                panic!("unit {k} holds write {held} of {greatest}: {unit:?}");
            };
            self.rolled_back += u32::from(found < unit.answered);
            self.flushed_lost += u32::from(found < unit.flushed);
            *unit = Unit {
                sent: held,
                answered: held,
                flushed: held,
                in_flight: false,
                was_lost: unit.was_lost && held == 0,
                gone: false,
            };
        }
        assert!(new <= cuts * self.most_lost, "{cuts} cuts destroyed {new} units; {} each is the most", self.most_lost);
        ready
    }
}

fn with(protects: Protection, energy_mj: f64) -> PowerLossSpec {
    PowerLossSpec { protects, energy_mj: Some(energy_mj), boot_ms: 1.0, ..PowerLossSpec::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(21), failure_persistence: None,
        ..ProptestConfig::with_cases(60) })]

    #[test]
    fn what_a_host_was_promised_is_there_after_every_cut(choice in any_drive()) {
        if let Some((mut drive, die)) = choice.build() {
            let mut rng = Rng::new(choice.seed).stream("plug");
            let all = [Protection::Nothing, Protection::DataAtRest, Protection::Everything];
            let protects = all[rng.below(3) as usize];
            drive.power_loss = Some(with(protects, 1e5));
            let several_bits = die.geometry.bits_per_cell > 1;
            let mut host = Host::new(&drive, &die, choice.seed);
            host.fill();
            for cut in 0..8 {
                let (commands, depth) = (rng.below(300), [1, 4, 32][rng.below(3) as usize]);
                host.work(commands, depth);
                for _ in 0..rng.below(200) {
                    host.step();
                }
                if host.drive.is_read_only() {
                    break;
                }
                host.cut();
                let may_lose = several_bits && protects == Protection::Nothing;
                host.restore(may_lose, |unit| if protects == Protection::Everything { unit.answered } else { unit.flushed });
                prop_assert!(host.drive.unclean_shutdowns() > cut);
            }
            host.flush();
            host.drive.check_books().expect("the books balance");
        }
    }
}

/// Two bits a cell, and a journal.
fn mlc() -> (DriveSpec, DieSpec) {
    let mut die = DieSpec::plain(Geometry {
        planes: 1,
        blocks_per_plane: 40,
        pages_per_block: 64,
        page_bytes: 8192,
        spare_bytes: 0,
        bits_per_cell: 2,
        page_order: PageOrder::Alternating,
    });
    (die.timing.read_us, die.timing.program_us) = (vec![48.0, 64.0], vec![850.0, 2300.0]);
    let mut drive = DriveSpec::plain("mlc", 4, 12_000 * 4096);
    drive.mapping.journal = true;
    (drive, with_slc(die))
}

/// A hundred cuts under load: units destroyed, and answered writes that were taken back.
fn losses(power_loss: Option<PowerLossSpec>, may_lose: bool, kept: impl Fn(&Unit) -> u32 + Copy) -> (u32, u32) {
    let (mut drive, die) = mlc();
    drive.power_loss = power_loss;
    let mut host = Host::new(&drive, &die, 1);
    host.fill();
    for _ in 0..100 {
        let commands = 20 + host.rng.below(200);
        host.work(commands, 8);
        host.cut();
        host.restore(may_lose, kept);
    }
    let medium = host.drive.translation().medium();
    let worn: u64 = medium.layout().all_blocks().map(|block| u64::from(medium.history(block).erases)).sum();
    let counted = host.drive.counters().flash.expect("it has flash").block_erases;
    assert_eq!(worn, counted, "erases of blocks, and those that were counted");
    (host.lost, host.rolled_back)
}

#[test]
fn without_capacitors_old_data_die_with_programs_that_share_their_cells_and_with_some_they_are_safe() {
    let (destroyed, taken_back) = losses(None, true, |unit| unit.flushed);
    assert!(destroyed > 50 && taken_back > 50, "{destroyed} units destroyed, {taken_back} writes taken back");
    let at_rest = Some(with(Protection::DataAtRest, 100.0));
    let (destroyed, taken_back) = losses(at_rest, false, |unit| unit.flushed);
    assert!(destroyed == 0 && taken_back > 50, "{destroyed} units destroyed, {taken_back} writes taken back");
    let everything = Some(with(Protection::Everything, 1000.0));
    assert_eq!(losses(everything, false, |unit| unit.answered), (0, 0));
    // Too small, or too old.
    let old = PowerLossSpec { energy_left_percent: 1.0, ..with(Protection::DataAtRest, 100.0) };
    let (destroyed, _) = losses(Some(old), true, |unit| unit.flushed);
    assert!(destroyed > 20, "{destroyed} units destroyed");
    let old = PowerLossSpec { energy_left_percent: 0.1, ..with(Protection::Everything, 1000.0) };
    let (_, taken_back) = losses(Some(old), true, |unit| unit.flushed);
    assert!(taken_back > 20, "{taken_back} writes taken back");
}

/// Dies that can also run at one bit per cell.
fn with_slc(mut die: DieSpec) -> DieSpec {
    die.modes.slc = Some(ReducedMode {
        read_us: vec![40.0],
        program_us: vec![450.0],
        erase_ms: 3.0,
        rated_program_erase_cycles: 20_000,
    });
    die
}

#[test]
fn firmware_that_copies_older_pages_keeps_data_at_rest_without_capacitors() {
    let copies = PowerLossSpec { keeps_older_pages: KeepsOlderPages::Copies, boot_ms: 1.0, ..PowerLossSpec::default() };
    let (destroyed, taken_back) = losses(Some(copies), false, |unit| unit.flushed);
    assert!(destroyed == 0 && taken_back > 50, "{destroyed} units destroyed, {taken_back} writes taken back");
}

#[test]
fn firmware_that_pads_at_a_flush_keeps_what_was_flushed_without_capacitors() {
    let padding =
        PowerLossSpec { keeps_older_pages: KeepsOlderPages::PaddingAtFlush, boot_ms: 1.0, ..PowerLossSpec::default() };
    let (destroyed, taken_back) = losses(Some(padding), false, |unit| unit.flushed);
    assert!(destroyed == 0 && taken_back > 50, "{destroyed} units destroyed, {taken_back} writes taken back");
}

/// Twenty writes, all answered, a flush and a cut: how many that were flushed are gone, and how long the flush took. `kept`: what
/// must be there.
fn flush_and_cut(power_loss: PowerLossSpec, fua: bool, kept: impl Fn(&Unit) -> u32 + Copy) -> (u32, Nanos) {
    let (mut drive, die) = mlc();
    drive.power_loss = Some(power_loss);
    let mut host = Host::new(&drive, &die, 1);
    host.fill();
    for first in 0..20 {
        host.submit(Op::Write, 10 * first, 3, fua);
    }
    host.finish();
    let before = host.now;
    host.flush();
    let took = host.now - before;
    host.cut();
    host.restore(false, kept);
    (host.flushed_lost, took)
}

#[test]
fn a_flush_that_lies_takes_no_time_and_keeps_nothing() {
    let flush = |flush_lies, fua| {
        let power_loss = PowerLossSpec { flush_lies, ..with(Protection::DataAtRest, 100.0) };
        flush_and_cut(power_loss, fua, |unit| if flush_lies { 0 } else { unit.flushed })
    };
    let (honest, lying) = (flush(false, false), flush(true, false));
    assert!(honest.0 == 0 && honest.1 > MILLISECOND, "{honest:?}");
    assert!(lying.0 > 0 && lying.1 < MILLISECOND / 10, "{lying:?}");
    assert!(flush(false, true).0 == 0 && flush(true, true).0 > 0);
}

#[test]
fn capacitors_that_keep_the_buffer_answer_a_flush_at_once_and_weak_ones_do_not() {
    let flush = |energy_left_percent, fua| {
        let power_loss = PowerLossSpec { energy_left_percent, ..with(Protection::Everything, 1000.0) };
        flush_and_cut(power_loss, fua, |unit| unit.flushed)
    };
    for fua in [false, true] {
        let (strong, weak) = (flush(100.0, fua), flush(0.1, fua));
        assert!(strong.0 == 0 && strong.1 < MILLISECOND / 10, "{strong:?}");
        assert!(weak.0 == 0 && (fua || weak.1 > MILLISECOND), "{weak:?}");
    }
}

/// A drive that is full and collects all the time, and lets the host write little meanwhile, with the least energy for which it
/// says that its buffer is safe.
#[test]
fn just_enough_energy_keeps_everything_that_was_answered_while_the_drive_collects() {
    for (seed, programs_at_once) in [(1, None), (2, None), (3, None), (4, Some(1))] {
        let (mut drive, die) = mlc();
        (drive.gc.host_share, drive.gc.trickle_per_1000) = (HostShare::Trickle, 50);
        if programs_at_once.is_some() {
            // Enough that its dies wait for each other.
            (drive.controller.programs_at_once, drive.write_buffer.capacity_kib) = (programs_at_once, 1024);
        }
        drive.power_loss = Some(with(Protection::Everything, 0.0));
        let least = energy_to_save_mj(&drive, &die).expect("plain firmware");
        drive.power_loss = Some(with(Protection::Everything, least));
        let mut host = Host::new(&drive, &die, seed);
        host.fill();
        for _ in 0..40 {
            host.work(300, 32);
            let steps = host.rng.below(200);
            (0..steps).for_each(|_| {
                host.step();
            });
            host.cut();
            host.restore(false, |unit| unit.answered);
        }
        assert!(host.drive.counters().flash.expect("it has flash").gc_program_bytes > 0);
    }
}

/// Sectors of units whose other sectors all lie on one die, which is slow and reads them one after the other.
#[test]
fn no_more_units_lack_sectors_than_the_energy_that_is_left_can_read() {
    const SECTORS: u64 = 256;
    let (mut drive, mut die) = mlc();
    die.timing.read_us.fill(2000.0);
    drive.write_buffer.capacity_kib = 4 * SECTORS as u32;
    drive.power_loss = Some(with(Protection::Everything, 0.0));
    let least = energy_to_save_mj(&drive, &die).expect("plain firmware");
    let read_first = |more: f64| {
        drive.power_loss = Some(with(Protection::Everything, least * more));
        let mut host = Host::new(&drive, &die, 1);
        host.fill();
        while host.step() {}
        // Rows of two units go to four dies in turn.
        let units: Vec<u64> = (0..SECTORS).map(|k| k / 2 * 8 + k % 2).collect();
        let mut done = Vec::new();
        let sectors = units.iter().map(|unit| Request::write(*unit, unit * 4096 + 512, 512));
        for request in sectors.chain([Request::flush(9999)]) {
            host.drive.submit(host.now, request).expect("it is within the drive");
            host.now = host.drive.advance_to_completion(host.now + SECOND, &mut done);
        }
        assert!(done.last().expect("the flush").latency() < MILLISECOND / 10, "{more} times the energy");
        host.cut();
        host.drive.restore(host.now + SECOND);
        let kept = units.iter().filter(|unit| host.drive.held(**unit) == Held::Write(2)).count() as u64;
        assert_eq!(kept, SECTORS, "{more} times the energy");
        host.drive.check_books().expect("the books balance");
        done.iter().filter(|c| c.latency() >= 2 * MILLISECOND).count() as u64
    };
    let [least, more, plenty] = [1.0, 1.2, 10.0].map(read_first);
    // Who reads first waits for what all before it lack.
    assert!(least == SECTORS && (4..40).contains(&more) && plenty == 0, "{least}, {more} and {plenty} read first");
}

#[test]
fn standby_writes_out_the_journal_once() {
    let (drive, die) = mlc();
    let mut host = Host::new(&drive, &die, 4);
    host.fill();
    host.work(250, 8);
    host.finish();
    host.flush();
    while host.step() {}
    let metadata = |host: &Host| host.drive.counters().flash.expect("it has flash").metadata_program_bytes;
    let mut stand_by = || {
        let before = metadata(&host);
        host.now = host.drive.stand_by(host.now);
        metadata(&host) - before
    };
    let (first, again) = (stand_by(), stand_by());
    assert!(first >= 8192 && again == 0, "{first} and {again} bytes");
}

#[test]
fn a_cut_after_standby_is_clean_loses_nothing_and_the_drive_is_ready_sooner() {
    let (drive, die) = mlc();
    let mut host = Host::new(&drive, &die, 1);
    host.fill();
    host.work(300, 8);
    host.finish();
    host.drive.submit(host.now, Request::new(9999, Op::Trim, 0, 40_960)).expect("it is within the drive");
    let mut done = Vec::new();
    host.now = host.drive.advance_to_completion(host.now + SECOND, &mut done);
    let mut unclean = host.drive.clone();
    host.now = host.drive.stand_by(host.now);
    host.cut();
    let begin = host.now + SECOND;
    let ready = host.drive.restore(begin);
    assert_eq!(host.drive.unclean_shutdowns(), 0);
    assert!((0..10).all(|unit| host.drive.held(unit) == Held::Nothing), "trimmed data are back");
    let last = host.units.len() as u64 - 1;
    assert!((10..=last).all(|unit| matches!(host.drive.held(unit), Held::Write(_))));
    unclean.cut(unclean.next_event().unwrap_or(host.now));
    let later = unclean.restore(begin);
    assert_eq!(unclean.unclean_shutdowns(), 1);
    assert!(begin < ready && ready < later, "{} and {} ns", ready - begin, later - begin);
}

/// Whatever the host sends after STANDBY IMMEDIATE, and however fast it is answered.
#[test]
fn a_clean_start_reads_the_journal_that_standby_wrote_out() {
    let start = |replay_entry_ns: f64| {
        let (mut drive, die) = mlc();
        drive.power_loss = Some(PowerLossSpec { replay_entry_ns, ..with(Protection::Nothing, 0.0) });
        let mut host = Host::new(&drive, &die, 4);
        host.fill();
        host.work(250, 8);
        host.finish();
        let off = host.drive.stand_by(host.now);
        host.drive.cut(off);
        host.drive.restore(off) - off
    };
    // A row of it at least, each entry of which is put into the map.
    let row_entries = 4096 / 8;
    assert!(start(1000.0) >= start(0.0) + row_entries * MICROSECOND, "{} and {} ns", start(1000.0), start(0.0));
}

#[test]
fn a_flush_that_takes_no_time_after_standby_makes_a_cut_unclean() {
    let (mut drive, die) = (ideal_drive(), ideal_die());
    drive.power_loss = Some(PowerLossSpec { boot_ms: 0.0, ..PowerLossSpec::default() });
    let mut drive = Ssd::new("ideal", &drive, &die, 1).unwrap();
    let mut done = Vec::new();
    for (flushes, unclean) in [(0, 0), (1, 1)] {
        let at = drive.stand_by(0);
        for tag in 0..flushes {
            drive.submit(at, Request::flush(tag)).expect("it takes it");
            assert_eq!(drive.advance_to_completion(at + SECOND, &mut done), at);
        }
        drive.cut(at);
        assert_eq!(drive.unclean_shutdowns(), unclean);
        drive.restore(at);
    }
    // So does a command that others answer for the drive.
    let at = drive.stand_by(0);
    drive.wake();
    drive.cut(at);
    assert_eq!(drive.unclean_shutdowns(), 2);
}

#[test]
fn destroyed_data_are_media_errors_until_they_are_written_again() {
    let (drive, die) = mlc();
    let mut host = Host::new(&drive, &die, 1);
    host.fill();
    while host.lost == 0 {
        host.work(100, 8);
        host.cut();
        host.restore(true, |unit| unit.flushed);
    }
    assert!(host.drive.destroyed().iter().all(|destroyed| destroyed.bits_per_cell == 2));
    let unit = (0..host.units.len()).find(|&unit| host.drive.held(unit as u64) == Held::Unreadable).expect("one is");
    let read = |host: &mut Host| {
        host.drive
            .submit(host.now, Request::new(1 << 40, Op::Read, unit as u64 * 4096, 4096))
            .expect("within the drive");
        let mut done = Vec::new();
        host.now = host.drive.advance_to_completion(host.now + 10 * SECOND, &mut done);
        done[0].status
    };
    assert_eq!(read(&mut host), Status::MediaError);
    // Another cut makes them no better.
    host.cut();
    host.restore(true, |unit| unit.flushed);
    assert_eq!(read(&mut host), Status::MediaError);
    host.submit(Op::Write, unit, 1, true);
    host.finish();
    assert_eq!((read(&mut host), host.drive.held(unit as u64)), (Status::Ok, Held::Write(1)));
    host.cut();
    host.restore(true, |unit| unit.flushed);
    assert_eq!(read(&mut host), Status::Ok);
}

/// To go on takes longer than anything was programmed before; the cells are as they were.
#[test]
fn a_cut_while_an_interrupted_program_goes_on_finds_half_programmed_cells() {
    let (mut drive, mut die) = mlc();
    (drive.flash.dies, drive.controller.channels, drive.capacity_bytes) = (1, 1, 3_000 * 4096);
    die.features.suspend = Some(Suspend {
        program_us: Some(20.0),
        erase_us: None,
        resume_us: 5_000.0,
        most_per_operation: 1,
        least_progress_us: 10.0,
    });
    let mut host = Host::new(&drive, &die, 1);
    host.fill();
    for round in 0..40 {
        // Each round begins with a word line of its own.
        host.submit(Op::Write, 4 * round, 2, true);
        host.finish();
        host.submit(Op::Write, 4 * round + 2, 2, true);
        host.now += 300 * MICROSECOND;
        host.drive.advance(host.now, &mut Vec::new());
        host.submit(Op::Read, 2000, 1, false);
        host.wait_while(|in_flight| in_flight.values().any(|request| request.op == Op::Read));
        host.cut();
        host.now = host.restore(true, |unit| unit.flushed);
    }
    assert!(host.lost >= 60, "{} units destroyed", host.lost);
}

#[test]
fn commands_that_come_before_a_drive_is_ready_wait_for_it() {
    let (mut drive, die) = mlc();
    drive.power_loss = Some(PowerLossSpec { boot_ms: 250.0, ..PowerLossSpec::default() });
    let mut host = Host::new(&drive, &die, 1);
    host.work(50, 8);
    host.cut();
    let ready = host.drive.restore(host.now);
    assert!(ready > host.now + 250 * MILLISECOND && ready < host.now + SECOND);
    host.drive.submit(host.now + MILLISECOND, Request::new(1 << 40, Op::Read, 0, 4096)).expect("within the drive");
    let mut done = Vec::new();
    host.drive.advance_to_completion(ready + SECOND, &mut done);
    assert!(done[0].completed >= ready, "{:?} although ready at {ready}", done[0]);
    assert_eq!(done[0].breakdown.sum(), done[0].latency());
}

#[test]
fn a_start_takes_as_long_as_its_own_work_however_many_were_cut_short_before() {
    let (mut drive, die) = mlc();
    drive.power_loss = Some(PowerLossSpec { boot_ms: 250.0, ..PowerLossSpec::default() });
    let mut host = Host::new(&drive, &die, 1);
    host.work(50, 8);
    host.cut();
    let first = host.drive.restore(host.now) - host.now;
    for _ in 0..6 {
        host.now += MILLISECOND;
        host.drive.cut(host.now);
        host.now += MILLISECOND;
        // No repair had begun, so that all are still to be done.
        assert_eq!(host.drive.restore(host.now) - host.now, first);
    }
}

#[test]
fn a_drive_without_a_journal_reads_every_spare_area() {
    let (mut drive, die) = mlc();
    let mut ready = |journal: bool| {
        drive.mapping.journal = journal;
        let mut host = Host::new(&drive, &die, 1);
        host.work(50, 8);
        host.cut();
        host.drive.restore(host.now) - host.now
    };
    // 40 blocks of 64 pages, 64 us each.
    let (with, without) = (ready(true), ready(false));
    assert!(without >= 300 * MILLISECOND + 40 * 64 * 64_000 && with < without, "{with} and {without} ns");
}
