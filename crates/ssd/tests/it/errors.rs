//! Errors on the read path: what they cost in time, to the nanosecond, and that data which cannot be corrected are
//! reported and never returned.

use ssdlab_core::{Cause, Nanos, Op, Rng};
use ssdlab_device::{Completion, Device, EccScheme, Flash, Plug, Request, Security, Status};
use ssdlab_ecc::ldpc::code::LdpcCode;
use ssdlab_ecc::spec::{BchSpec, EccSpec, LdpcSpec, RetrySpec};
use ssdlab_ftl::{RowSpan, SuperblockSpan, Translation, VictimPolicy};
use ssdlab_nand::rber::{ErrorSpec, ModeErrors};
use ssdlab_nand::{BusCycles, DieSpec, LogicalPage, PageOrder, VariationSpec};
use ssdlab_ssd::{DriveSpec, RefreshSpec, Ssd};
use ssdlab_testkit::{ideal_die, ideal_drive};

const PAGES: u64 = 1600;
const YEAR_S: u64 = 8760 * 3600;
const COMMAND: Nanos = 2_000;
const SENSE: Nanos = 50_000;
/// 4096 bytes and 456 of spare at 400 million transfers a second.
const TRANSFER: Nanos = 11_380;
const BCH_ATTEMPT: Nanos = 4_000;
/// 30 iterations of a microsecond, and one to set up.
const LDPC_ATTEMPT: Nanos = 31_000;

/// No errors but those that come with age: `yearly` after a year, of which `recoverable` per cent are shift.
fn aging(yearly: f64, recoverable: f64) -> ErrorSpec {
    let slc = ModeErrors {
        reference_cycles: 1000.0,
        fresh_rber: 1e-9,
        wear_rber: 0.0,
        wear_exponent: 1.0,
        retention_rber_per_year: yearly,
        retention_cycle_exponent: 0.0,
        retention_time_exponent: 1.0,
        drift_rber_per_year: 0.0,
        disturb_rber_per_million_reads: 0.0,
        disturb_cycle_exponent: 1.0,
        disturb_read_exponent: 1.0,
        recoverable_percent: recoverable,
        references_per_page: vec![1],
    };
    ErrorSpec { slc: Some(slc), mlc: None, tlc: None, qlc: None, block_spread: 0.0 }
}

fn bch(max_retries: u32) -> EccSpec {
    EccSpec {
        codeword_bytes: 1024,
        bch: Some(BchSpec { correctable_bits: 60, decode_us: 4.0 }),
        ldpc: None,
        retry: RetrySpec { max_retries, recovered_per_retry_percent: 100.0, at_once: None, follows_drift: true },
        parity_stripe: None,
    }
}

fn ldpc(parity_stripe: Option<u32>) -> EccSpec {
    EccSpec {
        codeword_bytes: 2048,
        bch: None,
        ldpc: Some(LdpcSpec {
            code: LdpcCode::Qc2k,
            soft_reads: 7,
            iteration_us: 1.0,
            setup_us: 1.0,
            progressive: true,
        }),
        retry: RetrySpec::default(),
        parity_stripe,
    }
}

struct Host {
    drive: Ssd,
    now: Nanos,
    tag: u64,
}

impl Host {
    /// Four dies of 4 KiB pages on two channels.
    fn new(ecc: Option<EccSpec>, errors: ErrorSpec, change: impl FnOnce(&mut DriveSpec)) -> Self {
        Host::on(ideal_die(), ecc, errors, change)
    }

    /// The same with other cells.
    fn on(mut die: DieSpec, ecc: Option<EccSpec>, errors: ErrorSpec, change: impl FnOnce(&mut DriveSpec)) -> Self {
        let mut drive = ideal_drive();
        (die.geometry.blocks_per_plane, die.geometry.pages_per_block, die.geometry.spare_bytes) = (40, 16, 456);
        die.timing.read_us.fill(50.0);
        (die.bus.mega_transfers_per_s, die.bus.command_us) = (400.0, 2.0);
        die.errors = Some(errors);
        (drive.flash.dies, drive.flash.exact_spare_per_10000, drive.controller.channels) = (4, None, 2);
        drive.write_buffer.capacity_kib = 64;
        drive.capacity_bytes = PAGES * 4096;
        drive.ecc = ecc;
        change(&mut drive);
        Host { drive: Ssd::new("small", &drive, &die, 1).expect("it can be built"), now: 0, tag: 0 }
    }

    fn send(&mut self, op: Op, offset_bytes: u64, length_bytes: u64) -> Completion {
        self.tag += 1;
        let request = Request::new(self.tag, op, offset_bytes, length_bytes);
        self.drive.submit(self.now, request).unwrap();
        let mut done = Vec::new();
        self.now = self.drive.advance_to_completion(self.now + 1_000_000_000_000, &mut done);
        assert_eq!(done.len(), 1, "{op:?} at {offset_bytes} is answered");
        assert_eq!(done[0].breakdown.sum(), done[0].latency());
        done[0]
    }

    fn command(&mut self, op: Op, page: u64) -> Completion {
        self.send(op, page * 4096, 4096)
    }

    fn fill(&mut self) {
        // Retention knows no flash that was never worn.
        self.drive.wear_out(1);
        (0..PAGES).for_each(|page| assert_eq!(self.command(Op::Write, page).status, Status::Ok));
        self.command(Op::Flush, 0);
        // Collections that the last writes began come to their end.
        self.now += 1_000_000_000_000;
        self.drive.advance(self.now, &mut Vec::new());
    }
}

#[test]
fn fresh_flash_is_read_as_if_there_were_no_errors() {
    let run = |ecc: Option<EccSpec>| {
        let mut host = Host::new(ecc, ErrorSpec::planar_estimate(), |_| ());
        let mut rng = Rng::new(3);
        (0..5000)
            .map(|_| {
                let op = if rng.chance(1, 2) { Op::Read } else { Op::Write };
                host.command(op, rng.below(PAGES)).completed
            })
            .collect::<Vec<_>>()
    };
    assert!(run(None) == run(Some(bch(8))));
    assert!(run(None) == run(Some(ldpc(Some(127)))));
}

#[test]
fn a_retry_takes_another_sensing_another_transfer_and_the_decoding_of_both() {
    let mut host = Host::new(Some(bch(3)), aging(0.1, 100.0), |_| ());
    host.fill();
    let plain = host.command(Op::Read, 7);
    assert_eq!(plain.latency(), COMMAND + SENSE + TRANSFER);
    host.drive.age(YEAR_S);
    let old = host.command(Op::Read, 7);
    assert_eq!(
        (old.status, old.latency() - plain.latency()),
        (Status::Ok, COMMAND + SENSE + TRANSFER + 2 * BCH_ATTEMPT)
    );
    assert_eq!(old.breakdown.get(Cause::EccRetry), old.latency() - plain.latency());
    assert_eq!(old.breakdown.get(Cause::Read), plain.breakdown.get(Cause::Read));
    let c = host.drive.counters().flash.unwrap();
    assert_eq!((c.reread_units, c.soft_units, c.rebuilt_units, c.lost_units), (1, 0, 0, 0));
    // What has been written since is as fast as ever.
    host.command(Op::Write, 7);
    host.command(Op::Flush, 0);
    assert_eq!(host.command(Op::Read, 7).latency(), plain.latency());
}

/// A block takes data of both sides of a long rest: each is as old as it is.
#[test]
fn what_is_written_into_a_block_that_was_open_is_as_young_as_it_is() {
    let mut host = Host::new(Some(bch(3)), aging(0.1, 100.0), |_| ());
    host.fill();
    let plain = host.command(Op::Read, 7).latency();
    let write = |host: &mut Host, pages: std::ops::Range<u64>| {
        pages.for_each(|page| _ = host.command(Op::Write, page));
        host.command(Op::Flush, 0);
    };
    let retried = |host: &mut Host, pages: std::ops::Range<u64>| {
        pages.filter(|&page| host.command(Op::Read, page).latency() > plain).count()
    };
    // Some of the sixteen pages of a block that is open on each of four dies.
    write(&mut host, 0..24);
    host.drive.age(YEAR_S);
    write(&mut host, 24..48);
    assert_eq!([retried(&mut host, 0..24), retried(&mut host, 24..48)], [24, 0]);
    let expected = host.drive.expected_errors(EccScheme::Installed, 1.0, 0.0).expect("it has error correction");
    // All but those twenty-four are a year old.
    assert!((expected.reread - (PAGES as f64 - 24.0)).abs() < 1.0, "{expected:?}");
    host.drive.age(YEAR_S);
    assert_eq!(retried(&mut host, 24..48), 24);
}

/// Where cycles occupy the channel, a further sensing has them again.
#[test]
fn a_retry_takes_the_cycles_of_a_read() {
    let mut die = ideal_die();
    die.features.cycles = Some(BusCycles { read_us: 1000.0, data_out_us: 30.0, program_us: 1.0, erase_us: 1.0 });
    let mut host = Host::on(die, Some(bch(3)), aging(0.1, 100.0), |_| ());
    host.fill();
    let plain = host.command(Op::Read, 7).latency();
    assert_eq!(plain, 1_000_000 + SENSE + 30_000 + TRANSFER);
    host.drive.age(YEAR_S);
    assert_eq!(host.command(Op::Read, 7).latency(), 2 * (plain + BCH_ATTEMPT));
}

/// A page that is slower, or faster, than the datasheet has it is so each time.
#[test]
fn a_retry_takes_the_array_time_of_its_page() {
    let mut die = ideal_die();
    die.variation = Some(VariationSpec {
        program_dies_percent: 0.0,
        program_blocks_percent: 0.0,
        program_pages_percent: 0.0,
        read_pages_percent: 10.0,
        erase_blocks_percent: 0.0,
        program_gain_at_rated_cycles_percent: 0.0,
        erase_growth_at_rated_cycles_percent: 0.0,
    });
    let mut host = Host::on(die, Some(bch(3)), aging(0.1, 100.0), |_| ());
    host.fill();
    let read = |host: &mut Host| [0, 5, 10, 15].map(|page| host.command(Op::Read, page).latency());
    let plain = read(&mut host);
    assert!(plain.iter().all(|&latency| latency != COMMAND + SENSE + TRANSFER), "{plain:?}");
    host.drive.age(YEAR_S);
    assert_eq!(read(&mut host), plain.map(|latency| 2 * (latency + BCH_ATTEMPT)));
}

#[test]
fn a_retry_of_two_units_moves_both_again() {
    let mut die = ideal_die();
    die.geometry.planes = 2;
    let mut host = Host::on(die, Some(bch(3)), aging(0.1, 100.0), |_| ());
    host.fill();
    let plain = host.send(Op::Read, 0, 8192).latency();
    assert!(plain > host.command(Op::Read, 0).latency() + 10_000, "they lie in one row");
    host.drive.age(YEAR_S);
    assert_eq!(host.send(Op::Read, 0, 8192).latency(), 2 * plain + 2 * BCH_ATTEMPT);
    assert_eq!(host.drive.counters().flash.unwrap().reread_units, 2);
}

#[test]
fn planes_that_are_read_together_are_read_again_together() {
    let mut die = ideal_die();
    die.geometry.planes = 2;
    let mut host = Host::on(die, Some(bch(3)), aging(0.1, 100.0), |drive| drive.mapping.row = RowSpan::OnePlane);
    host.fill();
    // Both planes of four dies on two channels.
    let plain = host.send(Op::Read, 0, 8 * 4096).latency();
    assert_eq!(plain, COMMAND + SENSE + 4 * TRANSFER, "one sensing brings both");
    host.drive.age(YEAR_S);
    let again = BCH_ATTEMPT + COMMAND + SENSE + 2 * TRANSFER + BCH_ATTEMPT;
    assert_eq!(host.send(Op::Read, 0, 8 * 4096).latency(), plain + again);
    assert_eq!(host.drive.counters().flash.unwrap().reread_units, 8);
}

#[test]
fn of_planes_that_are_read_together_each_loses_its_own() {
    let mut die = ideal_die();
    die.geometry.planes = 2;
    // A quarter of the units cannot be corrected.
    let mut host = Host::on(die, Some(bch(0)), aging(0.0055, 0.0), |drive| drive.mapping.row = RowSpan::OnePlane);
    host.fill();
    host.drive.age(YEAR_S);
    let mut lost = Vec::new();
    let mut numbers = [0u32; 9];
    for first in (0..PAGES).step_by(8) {
        let status = host.send(Op::Read, first * 4096, 8 * 4096).status;
        let all = host.drive.lost_pages();
        let new: Vec<LogicalPage> = all.iter().filter(|page| !lost.contains(*page)).copied().collect();
        assert!(new.iter().all(|&page| (first..first + 8).contains(&u64::from(page.number()))), "{first}: {new:?}");
        assert_eq!(status == Status::MediaError, !new.is_empty(), "{first}");
        numbers[new.len()] += 1;
        lost = all;
    }
    assert!(numbers[1] > 0 && numbers[3] > 0, "one plane without the other: {numbers:?}");
    assert_eq!(host.drive.counters().flash.unwrap().lost_units, lost.len() as u64);
    assert_eq!(host.drive.check_books(), Ok(()));
}

#[test]
fn where_firmware_sees_to_one_read_at_a_time_the_others_wait_for_their_retries() {
    let latency = |at_once: Option<u32>| {
        let ecc = EccSpec { retry: RetrySpec { at_once, ..bch(3).retry }, ..bch(3) };
        let mut host = Host::new(Some(ecc), aging(0.1, 100.0), |_| ());
        host.fill();
        host.drive.age(YEAR_S);
        // Four dies on two channels.
        let four = host.send(Op::Read, 0, 4 * 4096);
        assert_eq!(host.drive.counters().flash.unwrap().reread_units, 4);
        four.latency()
    };
    let (plain, retry) = (COMMAND + SENSE + 2 * TRANSFER, COMMAND + SENSE + TRANSFER + BCH_ATTEMPT);
    assert_eq!(latency(None), latency(Some(4)));
    // The dies of a channel were read a transfer apart, so that their retries do not meet on it.
    assert_eq!(latency(None), plain + BCH_ATTEMPT + retry);
    assert_eq!(latency(Some(1)), plain - TRANSFER + BCH_ATTEMPT + 4 * retry);
    let two = latency(Some(2));
    assert!(latency(None) < two && two < latency(Some(1)), "{two}");
}

/// What all cells lose alike needs no wear, and no retries where the firmware follows it.
#[test]
fn drift_of_new_cells_costs_retries_unless_it_is_followed() {
    let (mut old, mut rereads) = (Vec::new(), Vec::new());
    for follows_drift in [true, false] {
        let ecc = EccSpec { retry: RetrySpec { follows_drift, ..bch(3).retry }, ..bch(3) };
        let mut errors = aging(0.0, 0.0);
        errors.slc.as_mut().expect("as written above").drift_rber_per_year = 0.05;
        let mut host = Host::new(Some(ecc), errors, |_| ());
        (0..PAGES).for_each(|page| assert_eq!(host.command(Op::Write, page).status, Status::Ok));
        host.command(Op::Flush, 0);
        host.now += 1_000_000_000_000;
        host.drive.advance(host.now, &mut Vec::new());
        assert_eq!(host.command(Op::Read, 7).latency(), COMMAND + SENSE + TRANSFER);
        host.drive.age(YEAR_S);
        old.push(host.command(Op::Read, 7).latency());
        rereads.push(host.drive.counters().flash.unwrap().reread_units);
    }
    let plain = COMMAND + SENSE + TRANSFER;
    assert_eq!((old, rereads), (vec![plain, 2 * (plain + BCH_ATTEMPT)], vec![0, 1]));
}

/// Data of a year are moved in the next rest, if the drive refreshes what is older than a month; those of a fortnight stay.
#[test]
fn old_data_are_moved_while_the_drive_rests() {
    let refreshing = |after_days: Option<f64>| {
        move |drive: &mut DriveSpec| {
            drive.gc.background_after_idle_ms = Some(10.0);
            drive.refresh = Some(RefreshSpec { after_days, after_block_reads: None });
        }
    };
    let moved = |host: &Host| host.drive.counters().flash.unwrap().gc_program_bytes;
    for (after_days, age_s, refreshes) in [
        (Some(30.0), YEAR_S, true),
        (Some(30.0), 14 * 86_400, false),
        (Some(14.0), 14 * 86_400, true),
        (None, YEAR_S, false),
    ] {
        let mut host = Host::new(Some(bch(3)), aging(0.1, 100.0), refreshing(after_days));
        host.fill();
        let (plain, before) = (host.command(Op::Read, 7).latency(), moved(&host));
        host.drive.age(age_s);
        let old = host.command(Op::Read, 7).latency();
        assert!(age_s < YEAR_S || old > plain, "{old} ns, {plain} when the data were new");
        assert_eq!(moved(&host), before, "nothing moves while the host is there");
        host.now += 10_000_000_000;
        host.drive.advance(host.now, &mut Vec::new());
        // What is still open is not moved.
        let all_but_open = (PAGES - 2 * 64) * 4096;
        assert_eq!(moved(&host) - before > all_but_open, refreshes, "{after_days:?} days, {age_s} s");
        assert_eq!(host.command(Op::Read, 7).latency(), if refreshes { plain } else { old });
        (0..PAGES).for_each(|page| assert_eq!(host.command(Op::Read, page).status, Status::Ok));
        assert_eq!(host.drive.check_books(), Ok(()));
    }
}

/// The host is back: what is being moved is moved to its end, and nothing else.
#[test]
fn a_refresh_ends_with_the_superblock_under_way_when_the_host_is_back() {
    let mut host = Host::new(Some(bch(3)), aging(0.1, 100.0), |drive| {
        (drive.write_buffer.flush_after_idle_ms, drive.gc.background_after_idle_ms) = (1.0, Some(10.0));
        drive.refresh = Some(RefreshSpec { after_days: Some(30.0), after_block_reads: None });
    });
    host.fill();
    host.drive.age(YEAR_S);
    host.command(Op::Read, 7);
    let moved = |host: &Host| host.drive.counters().flash.unwrap().gc_program_bytes / 4096;
    let before = moved(&host);
    // A superblock of 64 pages takes some milliseconds.
    host.now += 12_000_000;
    host.drive.advance(host.now, &mut Vec::new());
    for k in 0..2000 {
        host.command(Op::Read, k % PAGES);
    }
    let units = moved(&host) - before;
    assert!((1..=4 * 64).contains(&units), "{units} pages were moved");
}

/// A block that is read again and again is moved before its reads disturb it too much, however busy the host is.
#[test]
fn a_block_that_is_read_too_often_is_moved_under_load() {
    // The page lies on one plane, however many there are.
    for planes in [1, 2, 4] {
        let mut die = ideal_die();
        die.geometry.planes = planes;
        let mut host = Host::on(die, Some(bch(3)), aging(0.0, 0.0), |drive| {
            drive.refresh = Some(RefreshSpec { after_days: None, after_block_reads: Some(5000) });
        });
        host.fill();
        let moved = |host: &Host| host.drive.counters().flash.unwrap().gc_program_bytes / 4096;
        let before = moved(&host);
        for _ in 0..5000 {
            host.command(Op::Read, 7);
        }
        assert_eq!(moved(&host), before, "{planes} planes: not yet");
        for _ in 0..1000 {
            host.command(Op::Read, 7);
        }
        let (units, superblock) = (moved(&host) - before, 64 * u64::from(planes));
        assert!(
            (1..=superblock).contains(&units),
            "{planes} planes: {units} pages were moved, not one superblock once"
        );
        assert_eq!(host.drive.check_books(), Ok(()));
    }
}

/// Each sensing of a page disturbs the others of its block, those of a retry too, but not those of the die's other
/// plane.
#[test]
fn reads_disturb_the_block_of_their_own_plane() {
    const READS: u64 = 20_000;
    let mut die = ideal_die();
    die.geometry.planes = 2;
    let disturbed = aging(0.0, 100.0).slc.expect("as written above");
    let slc = ModeErrors { disturb_rber_per_million_reads: 0.1, disturb_cycle_exponent: 0.0, ..disturbed };
    let errors = ErrorSpec { slc: Some(slc), mlc: None, tlc: None, qlc: None, block_spread: 0.0 };
    let weak = EccSpec { bch: Some(BchSpec { correctable_bits: 8, decode_us: 4.0 }), ..bch(3) };
    let mut host = Host::on(die, Some(weak), errors, |_| ());
    host.fill();
    let plain = host.command(Op::Read, 7).latency();
    for _ in 0..READS {
        host.command(Op::Read, 7);
    }
    let medium = host.drive.translation().medium();
    let reads = medium.layout().all_blocks().map(|block| medium.history(block).reads).max_by_key(|reads| reads[1]);
    let reads = reads.expect("there are blocks");
    assert!(reads[0] == 0 && u64::from(reads[1]) > READS + READS / 10, "{reads:?}");
    // Rows of two pages go to four dies in turn: the page's own block holds every eighth.
    let slow: Vec<u64> = (0..64).filter(|&page| host.command(Op::Read, page).latency() > plain).collect();
    assert_eq!(slow, [7, 15, 23, 31, 39, 47, 55, 63]);
}

#[test]
fn soft_decisions_add_their_sensings_and_transfers() {
    // Hard decisions fail above 0.01, three sensings above 0.017, seven above 0.02.
    for (rber, senses, transfers, attempts) in [(0.0125, 2, 1, 2), (0.0175, 6, 2, 3)] {
        let mut host = Host::new(Some(ldpc(None)), aging(rber, 0.0), |_| ());
        host.fill();
        let plain = host.command(Op::Read, 0).latency();
        host.drive.age(YEAR_S);
        // Whatever some reads draw: most end where they should, and those take exactly this.
        let rungs = attempts - 1;
        let expected = rungs * COMMAND + senses * SENSE + transfers * TRANSFER + attempts * LDPC_ATTEMPT;
        let extra: Vec<u64> = (0..200).map(|page| host.command(Op::Read, page).latency() - plain).collect();
        let exact = extra.iter().filter(|&&e| e == expected).count();
        assert!(exact > 180, "{rber}: {exact} of 200 reads take {expected} ns more; {:?}", &extra[..8]);
        assert_eq!(host.drive.counters().flash.unwrap().soft_units, 200);
    }
}

#[test]
fn a_page_rebuilt_from_its_stripe_waits_for_all_others_of_it() {
    // One codeword in some thousands fails at seven sensings.
    let mut host = Host::new(Some(ldpc(Some(9))), aging(0.0160, 0.0), |_| ());
    host.fill();
    host.drive.age(YEAR_S);
    let before = 3 * LDPC_ATTEMPT + 3 * COMMAND + 7 * SENSE + 3 * TRANSFER;
    // Nine pages on three other dies, two channels: the last is sensed third on its die.
    let stripe = 3 * (COMMAND + SENSE) + TRANSFER + LDPC_ATTEMPT;
    let mut rebuilt = Vec::new();
    for round in 0..20 {
        for page in 0..PAGES {
            let counted = host.drive.counters().flash.unwrap().rebuilt_units;
            let c = host.command(Op::Read, page);
            assert_eq!(c.status, Status::Ok, "round {round}");
            if host.drive.counters().flash.unwrap().rebuilt_units > counted {
                rebuilt.push(c.latency());
            }
        }
    }
    assert!(!rebuilt.is_empty());
    // Pages of one round share a channel, which is busy with two of them at most when the third comes.
    let most = before + stripe + 2 * TRANSFER;
    assert!(rebuilt.iter().all(|&t| (before + stripe..=most).contains(&t)), "{rebuilt:?}, {before} + {stripe}");
}

#[test]
fn what_cannot_be_corrected_is_an_error_until_it_is_written_again() {
    for span in [SuperblockSpan::OneDie, SuperblockSpan::AllDies] {
        let mut host = Host::new(Some(bch(2)), aging(0.1, 0.0), |drive| {
            drive.mapping.superblock = span;
            // Sooner or later it collects everything.
            drive.gc.policy = VictimPolicy::Random;
        });
        host.fill();
        host.drive.age(YEAR_S);
        for page in [3, 4, 5] {
            assert_eq!(host.command(Op::Read, page).status, Status::MediaError);
        }
        assert_eq!(host.drive.lost_pages(), [3, 4, 5].map(LogicalPage::new));
        // A command fails if any of its pages does; a page that is written in part needs the rest of it.
        assert_eq!(host.send(Op::Read, 0, 8 * 4096).status, Status::MediaError);
        assert_eq!(host.send(Op::Write, 4 * 4096, 512).status, Status::MediaError);
        assert_eq!(host.command(Op::Write, 4).status, Status::Ok);
        assert_eq!(host.command(Op::Read, 4).status, Status::Ok);
        host.command(Op::Trim, 5);
        assert_eq!(host.command(Op::Read, 5).status, Status::Ok);
        assert_eq!(host.send(Op::Write, 5 * 4096, 512).status, Status::Ok);
        // Collections move all that is left of the old data: lost for good, wherever it now lies.
        let mut rng = Rng::new(1);
        (0..20_000).for_each(|_| {
            host.command(Op::Write, 800 + rng.below(800));
        });
        let lost: Vec<u32> = host.drive.lost_pages().into_iter().map(LogicalPage::number).collect();
        assert!(lost.contains(&3) && lost.len() > 500 && !lost.iter().any(|&page| page == 4 || page == 5), "{lost:?}");
        for page in 0..PAGES {
            let known = lost.contains(&(page as u32));
            let status = host.command(Op::Read, page).status;
            assert!(status == Status::Ok || known || page < 800, "page {page}: {status:?}");
            assert!(!known || status == Status::MediaError, "page {page} is lost");
        }
        assert_eq!(host.drive.check_books(), Ok(()));
        let ready = host.drive.secure_erase(host.now);
        assert!(ready > host.now && host.drive.lost_pages().is_empty());
    }
}

/// The marks of collectors lie beside the copies, and come back with them.
#[test]
fn what_was_lost_is_lost_after_a_restart_too() {
    for span in [SuperblockSpan::OneDie, SuperblockSpan::AllDies] {
        let mut host = Host::new(Some(bch(2)), aging(0.1, 0.0), |drive| {
            drive.mapping.superblock = span;
            drive.gc.policy = VictimPolicy::Random;
        });
        host.fill();
        host.drive.age(YEAR_S);
        let mut rng = Rng::new(1);
        (0..20_000).for_each(|_| {
            host.command(Op::Write, 800 + rng.below(800));
        });
        host.command(Op::Flush, 0);
        let before = host.drive.lost_pages();
        assert!(before.len() > 500, "{} pages are lost", before.len());
        for clean in [true, false] {
            if clean {
                host.now = host.drive.stand_by(host.now);
            }
            host.drive.cut(host.now);
            host.now = host.drive.restore(host.now + 1_000_000_000);
            assert_eq!(host.drive.lost_pages(), before, "{span:?}");
        }
        let (kept, given) = before.split_at(before.len() / 2);
        for page in given {
            assert_eq!(host.command(Op::Write, page.number().into()).status, Status::Ok);
        }
        host.command(Op::Flush, 0);
        host.drive.cut(host.now);
        host.now = host.drive.restore(host.now + 1_000_000_000);
        assert_eq!(host.drive.lost_pages(), kept, "{span:?}");
        for page in &before {
            let status = host.command(Op::Read, page.number().into()).status;
            assert_eq!(status == Status::MediaError, kept.contains(page), "{page:?} is {status:?}");
        }
        assert_eq!(host.drive.check_books(), Ok(()));
    }
}

/// A start fills rows of the superblock in which it goes on writing: what the host writes behind them is not as old as the drive.
#[test]
fn data_written_after_a_start_are_new() {
    for clean in [true, false] {
        let mut host = Host::new(Some(bch(2)), aging(0.1, 0.0), |drive| {
            drive.mapping.superblock = SuperblockSpan::AllDies;
        });
        host.drive.wear_out(1);
        host.command(Op::Write, 0);
        host.command(Op::Flush, 0);
        if clean {
            host.now = host.drive.stand_by(host.now);
        }
        host.drive.cut(host.now);
        host.drive.age(YEAR_S);
        host.now = host.drive.restore(host.now + 1_000_000_000);
        (100..160).for_each(|page| assert_eq!(host.command(Op::Write, page).status, Status::Ok));
        host.command(Op::Flush, 0);
        // Data count as old as the first page of their block, and one of the four was begun a year ago.
        let lost = (100..160).filter(|&page| host.command(Op::Read, page).status != Status::Ok).count();
        assert!(lost <= 15, "{lost} pages are lost, clean: {clean}");
        assert_eq!(host.command(Op::Read, 0).status, Status::MediaError, "that one is a year old");
    }
}

#[test]
fn no_read_returns_wrong_data_whatever_the_errors() {
    // A drive that checks compares every read with what the host wrote, and every collected unit with the map.
    let mut seen = [0u64; 4];
    for seed in 0..12 {
        let mut rng = Rng::new(seed).stream("errors");
        let ecc = match rng.below(3) {
            0 => bch(rng.below(4) as u32),
            1 => ldpc(None),
            _ => ldpc(Some(1 + rng.below(20) as u32)),
        };
        let errors = aging(0.001 * (1 + rng.below(25)) as f64, 10.0 * rng.below(11) as f64);
        let errors = ErrorSpec { block_spread: 0.3, ..errors };
        let read_ahead_kib = if rng.chance(1, 2) { 64 } else { 0 };
        let mut host = Host::new(Some(ecc), errors, |drive| {
            drive.controller.read_ahead_kib = read_ahead_kib;
            drive.controller.reads_first = seed % 2 == 0;
            drive.gc.rows_per_read = 1 + seed as u32 % 4;
        });
        host.fill();
        for _ in 0..40 {
            host.drive.age(rng.below(YEAR_S / 8));
            for _ in 0..100 {
                let (page, pages) = (rng.below(PAGES - 8), 1 + rng.below(8));
                match rng.below(5) {
                    0 => host.send(Op::Write, page * 4096, pages * 4096),
                    1 => host.send(Op::Write, page * 4096 + 512, 512),
                    2 if rng.chance(1, 4) => host.send(Op::Trim, page * 4096, pages * 4096),
                    _ => host.send(Op::Read, page * 4096, pages * 4096),
                };
            }
            assert_eq!(host.drive.check_books(), Ok(()));
        }
        let c = host.drive.counters().flash.unwrap();
        seen = [0, 1, 2, 3].map(|k| seen[k] + [c.reread_units, c.soft_units, c.rebuilt_units, c.lost_units][k]);
        assert!(c.soft_units <= c.reread_units && c.rebuilt_units + c.lost_units <= c.soft_units);
    }
    assert!(seen.iter().all(|&n| n > 10), "every way to the end of the ladder was taken: {seen:?}");
}

#[test]
fn old_data_on_worn_flash_reads_slowly_and_worn_flash_alone_does_not() {
    let mean = |cycles: u32, age_s: u64| {
        let mut host = Host::new(Some(bch(8)), ErrorSpec::planar_estimate(), |_| ());
        host.drive.wear_out(cycles);
        host.fill();
        host.drive.age(age_s);
        (0..PAGES).map(|page| host.command(Op::Read, page).latency()).sum::<u64>() / PAGES
    };
    let fresh = mean(0, 0);
    assert_eq!(fresh, mean(60_000, 0));
    assert_eq!(fresh, mean(0, 10 * YEAR_S));
    assert!(mean(400_000, 5 * YEAR_S) > fresh + SENSE / 2);
}

/// An upper page compares with twice as many references as a lower one, and errs twice as often.
#[test]
fn upper_pages_need_retries_where_lower_ones_do_not_yet() {
    let mut die = ideal_die();
    (die.geometry.bits_per_cell, die.geometry.page_order) = (2, PageOrder::Alternating);
    die.timing.read_us.push(50.0);
    die.timing.program_us.push(die.timing.program_us[0]);
    let slc = aging(0.006, 100.0).slc.expect("as written above");
    let mlc = ModeErrors { references_per_page: vec![1, 2], ..slc };
    let errors = ErrorSpec { slc: None, mlc: Some(mlc), tlc: None, qlc: None, block_spread: 0.0 };
    let mut host = Host::on(die, Some(bch(3)), errors, |_| ());
    host.fill();
    let plain = host.command(Op::Read, 7).latency();
    host.drive.age(YEAR_S);
    let slow = (0..PAGES).filter(|&page| host.command(Op::Read, page).latency() > plain).count() as u64;
    // 4 bits of 1,024 bytes are wrong for each 10^-4 of the rate: 33 in a lower page, and 66 in an upper one, of which 60 are corrected.
    assert!((PAGES / 4..PAGES / 2 + 40).contains(&slow), "{slow} of {PAGES} reads took longer");
}

/// A read of the collector senses several rows: each counts for the block that it disturbs.
#[test]
fn each_row_of_a_read_counts_as_a_read_of_the_block() {
    let mut host = Host::new(Some(bch(3)), aging(0.0, 0.0), |drive| drive.gc.rows_per_read = 4);
    host.fill();
    let mut rng = Rng::new(1);
    let mut most = 0;
    for _ in 0..3000 {
        host.command(Op::Write, rng.below(PAGES));
        let medium = host.drive.translation().medium();
        let reads = medium.layout().all_blocks().map(|block| medium.history(block).most_reads()).max();
        most = most.max(reads.unwrap_or(0));
    }
    // Nobody else reads, and four reads bring the 16 pages of a victim.
    assert!((5..=16).contains(&most), "{most} reads of a block");
}
