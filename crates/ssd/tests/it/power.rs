//! Energy and the sleep of the link, on a small drive whose every term can be worked out by hand.

use proptest::prelude::*;
use ssdlab_core::{Cause, MICROSECOND, MILLISECOND, Nanos, Op, Rng, SECOND};
use ssdlab_device::{Completion, Device, LinkPolicy, Plug, PowerManagement, Request, Security};
use ssdlab_ftl::{HostTarget, LogBlockSpec, LogScheme, RowSpan, SlcCachePolicy, SlcCacheSpec};
use ssdlab_nand::{Bus, CellModes, DieSpec, Geometry, PageOrder, ReducedMode, Timing, Wear};
use ssdlab_ssd::{
    ControllerSpec, DriveSpec, LinkGeneration, LinkSpec, PcieSpec, PowerSpec, Ssd, WriteBufferSpec, build,
};
use ssdlab_testkit::{DIE_POWER, DRIVE_POWER, any_drive};

const DIES: u32 = 4;
/// A page of four units with its spare bytes.
const PAGE_BYTES: u64 = 16_384 + 1024;

/// A die of `bits` bits per cell, whose blocks can also run with one.
pub fn die(bits: u32) -> DieSpec {
    let (read_us, program_us, page_order) = match bits {
        2 => (vec![48.0, 64.0], vec![850.0, 2300.0], PageOrder::Alternating),
        _ => (vec![56.0, 78.0, 106.0], vec![510.0, 1385.0, 3565.0], PageOrder::Triplets),
    };
    let geometry = Geometry {
        planes: 1,
        blocks_per_plane: 64,
        pages_per_block: 48,
        page_bytes: 16_384,
        spare_bytes: 1024,
        bits_per_cell: bits,
        page_order,
    };
    DieSpec {
        timing: Timing { read_us, program_us, erase_ms: 3.0 },
        bus: Bus { mega_transfers_per_s: 200.0, command_us: 2.0 },
        wear: Wear { rated_program_erase_cycles: 3000, factory_bad_blocks_per_10000: 0 },
        modes: CellModes {
            slc: Some(ReducedMode {
                read_us: vec![35.0],
                program_us: vec![450.0],
                erase_ms: 3.0,
                rated_program_erase_cycles: 20_000,
            }),
            mlc: None,
            tlc: None,
        },
        power: Some(DIE_POWER),
        ..DieSpec::plain(geometry)
    }
}

pub fn drive() -> DriveSpec {
    let plain = DriveSpec::plain("small", DIES, 96 << 20);
    DriveSpec {
        link: LinkSpec { generation: LinkGeneration::Sata3, host_turnaround_us: 6.0, ..plain.link },
        controller: ControllerSpec {
            dram_mib: 100,
            read_command_us: 5.0,
            write_command_us: 4.0,
            read_unit_us: 3.0,
            write_unit_us: 2.0,
            ..plain.controller
        },
        write_buffer: WriteBufferSpec { flush_after_idle_ms: 20.0, ..plain.write_buffer },
        power: Some(DRIVE_POWER),
        ..plain
    }
}

/// Microwatts of the drive above, idle, its link up: controller, PHY, DRAM, dies.
pub const IDLE_UW: u64 = 200_000 + 120_000 + 100 * 200 + DIES as u64 * 30;
const SLUMBER_UW: u64 = 20_000 + 3_000 + 100 * 40 + DIES as u64 * 30;
const DEVSLEEP_UW: u64 = 1_000 + DIES as u64 * 30;

struct Bench {
    ssd: Ssd,
    now: Nanos,
}

impl Bench {
    fn new(drive: &DriveSpec, die: &DieSpec) -> Self {
        Bench { ssd: Ssd::new("small", drive, die, 1).unwrap(), now: 0 }
    }

    fn command(&mut self, op: Op, offset_bytes: u64, length_bytes: u64) -> Completion {
        self.ssd.submit(self.now, Request::new(0, op, offset_bytes, length_bytes)).unwrap();
        let mut done = Vec::new();
        self.now = self.ssd.advance_to_completion(Nanos::MAX - 1, &mut done);
        assert_eq!(done.len(), 1);
        done[0]
    }

    fn rest(&mut self, time: Nanos) {
        self.now += time;
        let mut done = Vec::new();
        self.ssd.advance(self.now, &mut done);
        assert!(done.is_empty());
    }

    fn nanojoules(&self) -> u64 {
        self.ssd.counters().nanojoules()
    }

    /// Microwatts drawn on average in the next stretch of time.
    fn mean_uw(&mut self, time: Nanos) -> f64 {
        let before = self.nanojoules();
        self.rest(time);
        (self.nanojoules() - before) as f64 * 1e6 / time as f64
    }
}

#[test]
fn an_idle_drive_draws_its_idle_power_at_any_time_looked_at() {
    let mut pieces = Bench::new(&drive(), &die(2));
    for piece in [1, 999, 123_456_789, SECOND, 7 * SECOND / 3] {
        pieces.rest(piece);
        assert_eq!(pieces.nanojoules(), (u128::from(IDLE_UW) * u128::from(pieces.now) / 1_000_000) as u64);
    }
    let mut whole = Bench::new(&drive(), &die(2));
    whole.rest(pieces.now);
    assert_eq!(whole.nanojoules(), pieces.nanojoules());
}

#[test]
fn a_command_draws_what_its_steps_draw() {
    let mut b = Bench::new(&drive(), &die(2));
    // A whole row, so that nothing is left in the buffer.
    b.command(Op::Write, 0, 16_384);
    b.rest(SECOND);
    let above_idle = |b: &Bench| b.nanojoules() - (u128::from(IDLE_UW) * u128::from(b.now) / 1_000_000) as u64;
    let link = 16_384 * (300 + 200);
    let bus = PAGE_BYTES * (300 + 200 + 400);
    let program = 75_000 * 850; // 3 V, 25 mA, a lower page of 850 us: picojoules
    let processor = 250_000 * (4 + 4 * 2); // 4 us and 2 us a unit
    let write = (link + bus + program + processor) / 1000;
    assert!(above_idle(&b).abs_diff(write) <= 2, "{} is not {write}", above_idle(&b));
    b.command(Op::Read, 0, 4096);
    b.rest(SECOND);
    let sensing = 60_000 * 48;
    let processor = 250_000 * (5 + 3);
    let read = (4096 * (300 + 200) + PAGE_BYTES / 4 * (300 + 200 + 400) + sensing + processor) / 1000;
    assert!(above_idle(&b).abs_diff(write + read) <= 2, "{} is not {}", above_idle(&b), write + read);
    // A secure erase: the one block that had been written.
    b.now = b.ssd.secure_erase(b.now);
    b.rest(SECOND);
    let erase = 90_000 * 3000 / 1000;
    assert!(above_idle(&b).abs_diff(write + read + erase) <= 2);
}

#[test]
fn of_a_page_read_in_part_only_that_part_draws_on_the_bus() {
    let read = |read_granule_bytes: Option<u32>| {
        let controller = ControllerSpec { read_granule_bytes, ..drive().controller };
        let mut b = Bench::new(&DriveSpec { controller, ..drive() }, &die(2));
        b.command(Op::Write, 0, 16_384);
        b.rest(SECOND);
        let before = b.nanojoules();
        let from = b.now;
        b.command(Op::Read, 0, 512);
        b.rest(SECOND);
        b.nanojoules() - before - (u128::from(IDLE_UW) * u128::from(b.now - from) / 1_000_000) as u64
    };
    // An eighth of a unit instead of all of it: 300 + 200 + 400 pJ a byte.
    let spared = PAGE_BYTES / 4 * 7 / 8 * 900 / 1000;
    let (whole, part) = (read(None), read(Some(512)));
    assert!((whole - part).abs_diff(spared) <= 2, "{whole} - {part} is not {spared}");
}

#[test]
fn slumber_and_devsleep_draw_what_is_still_powered() {
    let mut b = Bench::new(&drive(), &die(2));
    assert!((b.mean_uw(SECOND) - IDLE_UW as f64).abs() < 1.0);
    b.ssd.set_link_policy(b.now, LinkPolicy::HipmDipmDevsleep);
    // The host asks for Partial at once, the drive for Slumber after 50 ms; each takes 2 us.
    b.rest(2 * MICROSECOND);
    let partial = b.mean_uw(50 * MILLISECOND - 2 * MICROSECOND);
    assert!((partial - (IDLE_UW - 80_000) as f64).abs() < 1.0, "{partial}");
    b.rest(2 * MICROSECOND);
    let slumber = b.mean_uw(5 * SECOND);
    assert!((slumber - SLUMBER_UW as f64).abs() < 1.0, "{slumber}");
    // DEVSLP after 6 s, asserted for 10 ms.
    b.rest(SECOND);
    let devsleep = b.mean_uw(10 * SECOND);
    assert!((devsleep - DEVSLEEP_UW as f64).abs() < 1.0, "{devsleep}");
    // Awake again for a command; its energy is far below that of a second awake.
    b.command(Op::Read, 0, 4096);
    let again = b.mean_uw(3 * SECOND);
    assert!(again > SLUMBER_UW as f64 && again < IDLE_UW as f64 / 5.0, "{again}");
}

#[test]
fn a_link_that_sleeps_delays_the_next_command_by_its_way_back() {
    for (policy, idle, exit) in [
        (LinkPolicy::Active, 100 * SECOND, 0),
        (LinkPolicy::Hipm, 50 * MILLISECOND, 10 * MICROSECOND),
        (LinkPolicy::Hipm, SECOND, 10 * MILLISECOND),
        (LinkPolicy::Dipm, 500 * MICROSECOND, 0),
        (LinkPolicy::Dipm, 10 * MILLISECOND, 10 * MICROSECOND),
        (LinkPolicy::HipmDipm, 60 * MILLISECOND, 10 * MILLISECOND),
        (LinkPolicy::HipmDipmDevsleep, 7 * SECOND, 20 * MILLISECOND),
        // In the middle of going down: first down, then up.
        (LinkPolicy::HipmDipmDevsleep, 6 * SECOND + MILLISECOND, 9 * MILLISECOND + 20 * MILLISECOND),
    ] {
        let mut b = Bench::new(&drive(), &die(2));
        let usual = b.command(Op::Read, 0, 4096);
        b.ssd.set_link_policy(b.now, policy);
        b.rest(idle);
        let first = b.command(Op::Read, 0, 4096);
        assert_eq!(first.latency(), usual.latency() + exit, "{policy:?}");
        assert_eq!(first.breakdown.get(Cause::Link), usual.breakdown.get(Cause::Link) + exit, "{policy:?}");
        // The link is up now; the next command finds it so, or in Partial.
        assert!(b.command(Op::Read, 0, 4096).latency() <= usual.latency() + 12 * MICROSECOND);
        b.ssd.check_books().unwrap();
    }
}

#[test]
fn a_drive_that_works_inside_sleeps_only_afterwards() {
    let busy_uw = |spec: &DriveSpec| {
        let mut b = Bench::new(spec, &die(2));
        b.ssd.set_link_policy(b.now, LinkPolicy::HipmDipm);
        // A unit that is written out 100 ms later, when the link sleeps already.
        b.command(Op::Write, 0, 4096);
        b.rest(100 * MILLISECOND - MICROSECOND);
        b.mean_uw(MILLISECOND)
    };
    let mut late = drive();
    late.write_buffer.flush_after_idle_ms = 100.0;
    // The controller is awake, the PHY is not; the die programs.
    assert!(busy_uw(&late) > 220_000.0, "{}", busy_uw(&late));
    late.write_buffer.flush_after_idle_ms = 200.0;
    assert!(busy_uw(&late) < 30_000.0, "{}", busy_uw(&late));
}

/// Nanojoules of `spec` beyond those of `plain` after a write of one row and a second of rest.
fn more_than(plain: &DriveSpec, spec: &DriveSpec) -> f64 {
    let drawn = |spec| {
        let mut b = Bench::new(spec, &die(2));
        b.rest(SECOND);
        b.command(Op::Write, 0, 16_384);
        b.rest(SECOND);
        b.nanojoules() as f64
    };
    drawn(spec) - drawn(plain)
}

#[test]
fn a_controller_is_awake_while_commands_or_programs_are_under_way() {
    let mut awake = drive();
    awake.power = Some(PowerSpec { controller_awake_mw: Some(400.0), ..DRIVE_POWER });
    // From the command to the end of the program: 850 us, 87 us on the bus, and some 50 us before.
    let micros = more_than(&drive(), &awake) / 400.0;
    assert!((930.0..1000.0).contains(&micros), "{micros}");
    // With the link managed as well, and with commands one after the other.
    let mut b = Bench::new(&awake, &die(2));
    b.ssd.set_link_policy(0, LinkPolicy::HipmDipm);
    b.rest(2 * SECOND);
    assert!((b.mean_uw(SECOND) - SLUMBER_UW as f64).abs() < 1.0);
    let before = (b.now, b.nanojoules());
    (0..100).for_each(|k| {
        b.command(Op::Read, k * 4096, 4096);
    });
    let uw = (b.nanojoules() - before.1) as f64 * 1e6 / (b.now - before.0) as f64;
    assert!(uw > (IDLE_UW + 400_000) as f64 * 0.2, "{uw}");
}

#[test]
fn converters_lose_their_share_except_in_devsleep() {
    let mut lossy = drive();
    lossy.power = Some(PowerSpec { converter_percent: Some(50.0), ..DRIVE_POWER });
    let drawn = |spec: &DriveSpec| {
        let mut b = Bench::new(spec, &die(2));
        b.command(Op::Write, 0, 16_384);
        b.rest(SECOND);
        let working = b.nanojoules();
        b.ssd.set_link_policy(b.now, LinkPolicy::HipmDipmDevsleep);
        b.rest(SECOND);
        let slumber = b.mean_uw(SECOND);
        b.rest(10 * SECOND);
        (working, slumber, b.mean_uw(SECOND))
    };
    let (working, slumber, devsleep) = drawn(&drive());
    let twice = drawn(&lossy);
    assert!(twice.0.abs_diff(2 * working) <= 2, "{} {working}", twice.0);
    assert!((twice.1 - 2.0 * slumber).abs() < 1.0 && (twice.2 - devsleep).abs() < 1.0, "{twice:?}");
}

#[test]
fn every_byte_programmed_is_encoded_and_every_byte_read_decoded() {
    let mut coded = drive();
    coded.power = Some(PowerSpec { encode_pj_per_byte: 40.0, decode_pj_per_byte: 200.0, ..DRIVE_POWER });
    let write = more_than(&drive(), &coded);
    assert!((write - PAGE_BYTES as f64 * 0.04).abs() <= 2.0, "{write}");
    let reading = |spec: &DriveSpec| {
        let mut b = Bench::new(spec, &die(2));
        b.command(Op::Write, 0, 16_384);
        b.rest(SECOND);
        let before = b.nanojoules();
        b.command(Op::Read, 4096, 4096);
        b.nanojoules() - before
    };
    let read = (reading(&coded) - reading(&drive())) as f64;
    assert!((read - PAGE_BYTES as f64 / 4.0 * 0.2).abs() <= 2.0, "{read}");
}

#[test]
fn a_read_of_one_plane_draws_less_than_a_read_of_both() {
    let reading = |bytes: u64, percent: Option<f64>| {
        let mut wide = die(2);
        wide.geometry.planes = 2;
        wide.power.as_mut().unwrap().one_plane_percent = percent;
        let mut b = Bench::new(&drive(), &wide);
        b.command(Op::Write, 0, 32_768);
        b.rest(SECOND);
        let before = b.nanojoules();
        b.command(Op::Read, 0, bytes);
        b.rest(SECOND);
        b.nanojoules() - before
    };
    // 60 mW for 48 us, of which one plane alone takes three fifths; a read of 4 KiB lies on one plane.
    assert!((reading(4096, None) - reading(4096, Some(60.0))).abs_diff(60 * 48 * 2 / 5) <= 2);
    let whole = reading(32_768, None) - reading(32_768, Some(60.0));
    // The whole row may be read unit by unit, but never at more than its planes draw.
    assert!(whole <= 8 * 60 * 48 * 2 / 5 + 2, "{whole}");
}

/// Rows of one plane: what is programmed alone draws three fifths of the current, what is programmed together all of it.
#[test]
fn a_program_of_one_plane_draws_less_than_a_program_of_both() {
    let writing = |row: RowSpan, bytes: u64, percent: Option<f64>| {
        let (mut drive, mut wide) = (drive(), die(2));
        drive.mapping.row = row;
        wide.geometry.planes = 2;
        wide.power.as_mut().unwrap().one_plane_percent = percent;
        let mut b = Bench::new(&drive, &wide);
        b.command(Op::Write, 0, bytes);
        b.command(Op::Flush, 0, 0);
        b.rest(SECOND);
        b.nanojoules()
    };
    let less = |row: RowSpan, bytes| writing(row, bytes, None) - writing(row, bytes, Some(60.0));
    // 75 mW for 850 us.
    assert_eq!(less(RowSpan::OnePlane, 16_384), 75 * 850 * 2 / 5);
    assert_eq!(less(RowSpan::OnePlaneRuns, 16_384), 75 * 850 * 2 / 5);
    assert_eq!(less(RowSpan::OnePlaneRuns, 32_768), 0);
    assert_eq!(less(RowSpan::AllPlanes, 16_384), 0);
}

/// Dies of two planes that are operated apart: as many die powers at rest as there are dies, and each operation is one plane's.
#[test]
fn planes_that_are_operated_apart_draw_what_their_dies_draw() {
    let device = |percent: Option<f64>| {
        let (mut drive, mut die) = (drive(), die(2));
        (die.geometry.planes, die.geometry.page_bytes, die.geometry.spare_bytes) = (2, 4096, 256);
        die.power.as_mut().unwrap().one_plane_percent = percent;
        (drive.flash.planes_apart, drive.capacity_bytes) = (true, 16 << 20);
        drive.log_blocks = Some(LogBlockSpec::plain(LogScheme::Bast, 8));
        build("apart", &drive, &die, 1).unwrap()
    };
    let mut resting = device(None);
    resting.advance(SECOND, &mut Vec::new());
    assert_eq!(resting.counters().nanojoules(), IDLE_UW * 1000);
    // A plane alone takes three fifths of 75 mW for 850 us, and then of 60 mW for 48 us.
    let drawn = |percent: Option<f64>| {
        let (mut device, mut done) = (device(percent), Vec::new());
        device.submit(0, Request::write(0, 0, 4096)).unwrap();
        device.advance(SECOND, &mut done);
        let written = device.counters().nanojoules();
        device.submit(SECOND, Request::new(1, Op::Read, 0, 4096)).unwrap();
        device.advance(2 * SECOND, &mut done);
        assert_eq!(done.len(), 2);
        [written, device.counters().nanojoules() - written]
    };
    let (all, part) = (drawn(None), drawn(Some(60.0)));
    assert_eq!([all[0] - part[0], all[1] - part[1]], [75 * 850 * 2 / 5, 60 * 48 * 2 / 5]);
}

/// Two dies of two planes, of which one may program at a time: with both of its planes.
#[test]
fn where_planes_are_operated_apart_whole_dies_wait_for_their_turn_to_program() {
    let takes = |programs_at_once| {
        let (mut drive, mut die) = (drive(), die(2));
        (die.geometry.planes, die.geometry.page_bytes, die.geometry.spare_bytes) = (2, 4096, 256);
        (drive.flash.planes_apart, drive.flash.dies, drive.controller.channels) = (true, 2, 1);
        (drive.capacity_bytes, drive.write_buffer.write_cache) = (16 << 20, false);
        drive.controller.programs_at_once = programs_at_once;
        let spec = LogBlockSpec::plain(LogScheme::Bast, 8);
        drive.log_blocks = Some(LogBlockSpec { stripe_superblocks: 4, ..spec });
        let (mut device, mut done) = (build("apart", &drive, &die, 1).unwrap(), Vec::new());
        device.submit(0, Request::write(0, 0, 16_384)).unwrap();
        device.advance_to_completion(SECOND, &mut done);
        done[0].completed / (850 * MICROSECOND)
    };
    assert_eq!([None, Some(2), Some(1)].map(takes), [1, 1, 2]);
}

#[test]
fn a_program_draws_its_current_while_it_lasts_and_not_before() {
    let mut b = Bench::new(&drive(), &die(2));
    b.command(Op::Write, 0, 16_384);
    // Every 10 us until long after the end.
    let uw: Vec<f64> = (0..200).map(|_| b.mean_uw(10 * MICROSECOND) - IDLE_UW as f64).collect();
    let whole = uw.iter().filter(|&&uw| (uw - 75_000.0).abs() < 200.0).count();
    // 850 us at 75 mW, the first and the last ten microseconds in part.
    assert_eq!(whole, 84, "{uw:?}");
    assert!((uw.iter().sum::<f64>() / 75_000.0 - 85.0).abs() < 0.1 && uw.iter().all(|&uw| uw < 75_200.0), "{uw:?}");
    // The data cross the bus before it, at 200 MB/s.
    assert!(uw[..7].iter().all(|&uw| uw < 200.0), "{uw:?}");
}

#[test]
fn the_meter_changes_no_time() {
    let run = |power: Option<PowerSpec>| {
        let mut b = Bench::new(&DriveSpec { power, ..drive() }, &die(2));
        let mut rng = Rng::new(7);
        (0..3000).map(|_| b.command(Op::Write, rng.below((96 << 20) / 4096) * 4096, 4096).completed).collect::<Vec<_>>()
    };
    assert_eq!(run(None), run(Some(DRIVE_POWER)));
    let all = PowerSpec {
        converter_percent: Some(85.0),
        controller_awake_mw: Some(300.0),
        encode_pj_per_byte: 40.0,
        decode_pj_per_byte: 200.0,
        ..DRIVE_POWER
    };
    assert_eq!(run(None), run(Some(all)));
}

#[test]
fn without_figures_nothing_is_metered_and_nothing_sleeps() {
    let mut b = Bench::new(&DriveSpec { power: None, ..drive() }, &die(2));
    b.command(Op::Write, 0, 4096);
    assert!(b.ssd.power().is_none(), "a drive that says nothing of its link has no power management");
    b.rest(SECOND);
    assert_eq!(b.nanojoules(), 0);
    let without = PowerSpec { devsleep: false, ..DRIVE_POWER };
    let mut b = Bench::new(&DriveSpec { power: Some(without), ..drive() }, &die(2));
    let power = b.ssd.power().expect("it has a link that sleeps");
    assert!(!power.supports_link_policy(LinkPolicy::HipmDipmDevsleep));
    assert!(power.supports_link_policy(LinkPolicy::HipmDipm));
}

/// Nanojoules a byte for writing through an SLC cache (`cached`) or past it, idle power taken off.
fn write_energy(bits: u32, cached: bool) -> f64 {
    let cache = SlcCacheSpec {
        policy: SlcCachePolicy::Dynamic,
        keep_free_per_1000: Some(150),
        host_while_folding: Some(HostTarget::Slc),
        capacity_gb: None,
        blocks_per_1000: None,
        when_full: None,
        largest_write_kib: None,
        fold_after_idle_ms: None,
        fold_pause_ms: 1.0,
    };
    let spec = DriveSpec { slc_cache: cached.then_some(cache), ..drive() };
    let mut b = Bench::new(&spec, &die(bits));
    let bytes = 16u64 << 20;
    for offset in (0..bytes).step_by(128 << 10) {
        b.command(Op::Write, offset, 128 << 10);
    }
    b.rest(SECOND);
    (b.nanojoules() - (u128::from(IDLE_UW) * u128::from(b.now) / 1_000_000) as u64) as f64 / bytes as f64
}

#[test]
fn pseudo_slc_writes_are_cheaper_per_byte_than_mlc_and_those_than_tlc() {
    let (slc, mlc, tlc) = (write_energy(2, true), write_energy(2, false), write_energy(3, false));
    // Programs alone: 75 mW for 450, 1575 (mean) and 1820 us a page.
    let program = |us: f64| 75.0 * us / 16_384.0;
    assert!(((mlc - slc) / (program(1575.0) - program(450.0)) - 1.0).abs() < 0.02, "{slc} {mlc}");
    assert!(((tlc - mlc) / (program(1820.0) - program(1575.0)) - 1.0).abs() < 0.1, "{mlc} {tlc}");
}

#[test]
fn impossible_figures_are_refused_by_name() {
    for (wrong, key) in [
        (PowerSpec { phy_slumber_mw: 50.0, ..DRIVE_POWER }, "power.phy_slumber_mw"),
        (PowerSpec { converter_percent: Some(0.5), ..DRIVE_POWER }, "power.converter_percent"),
        (PowerSpec { controller_slumber_mw: 201.0, ..DRIVE_POWER }, "power.controller_slumber_mw"),
        (PowerSpec { dram_pj_per_byte: -1.0, ..DRIVE_POWER }, "power.dram_pj_per_byte"),
        (PowerSpec { slumber_exit_ms: f64::NAN, ..DRIVE_POWER }, "power.slumber_exit_ms"),
    ] {
        let error = DriveSpec { power: Some(wrong), ..drive() }.validate(&die(2)).unwrap_err();
        assert_eq!(error.key, key);
    }
    let mut pcie = drive();
    pcie.link.generation = LinkGeneration::Pcie3;
    pcie.link.pcie = Some(PcieSpec { lanes: 4, max_payload_bytes: 256, host_read_us: 0.5 });
    (pcie.link.host_frame_us, pcie.link.host_command_us) = (0.0, 0.0);
    pcie.power = Some(PowerSpec { hipm: false, dipm: false, ..DRIVE_POWER });
    assert_eq!(pcie.validate(&die(2)).unwrap_err().key, "power.devsleep");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever a drive does, energy never falls, lies between asleep and everything at once, and does not depend on
    /// how often it is read.
    #[test]
    fn energy_rises_and_reading_it_changes_nothing(
        choice in any_drive(),
        policy in prop::sample::select(LinkPolicy::NAMED.map(|n| n.1).to_vec()),
        seed in any::<u64>(),
    ) {
        let Some((mut spec, mut small)) = choice.build() else { return Ok(()) };
        let sleeps = !spec.link.generation.is_pcie();
        let sleep = PowerSpec { hipm: sleeps, dipm: sleeps, devsleep: sleeps, ..DRIVE_POWER };
        spec.power = Some(PowerSpec { controller_awake_mw: Some(300.0), ..sleep });
        let policy = if sleeps { policy } else { LinkPolicy::Active };
        small.power = die(2).power;
        let run = |look: bool| {
            let mut b = Bench { ssd: Ssd::new("small", &spec, &small, choice.seed).unwrap(), now: 0 };
            b.ssd.set_link_policy(0, policy);
            let mut rng = Rng::new(seed);
            let mut last = 0;
            for _ in 0..200 {
                let op = if rng.chance(1, 3) { Op::Read } else { Op::Write };
                b.command(op, rng.below(spec.capacity_bytes / 4096) * 4096, 4096);
                if rng.chance(1, 4) {
                    let long = rng.chance(1, 8);
                    let time = rng.below(if long { 8 * SECOND } else { 200 * MILLISECOND });
                    for _ in 0..if look { 3 } else { 1 } {
                        b.rest(time / if look { 3 } else { 1 });
                    }
                    b.rest(if look { time % 3 } else { 0 });
                }
                if look {
                    let reading = b.nanojoules();
                    assert!(reading >= last, "{reading} after {last}");
                    last = reading;
                }
            }
            let asleep = u128::from(1_000 + u64::from(spec.flash.dies) * 30) * u128::from(b.now) / 1_000_000;
            let most = u128::from(IDLE_UW * 2 + 550_000 + u64::from(spec.flash.dies) * 100_000) * u128::from(b.now)
                / 1_000_000 + 200 * 1_000_000;
            let reading = u128::from(b.nanojoules());
            assert!(reading >= asleep && reading <= most, "{asleep} {reading} {most}");
            (b.now, b.nanojoules())
        };
        prop_assert_eq!(run(true), run(false));
    }
}

/// Over 100 s of rest, after standby or not.
fn milliwatts_at_rest(spec: &DriveSpec, policy: LinkPolicy, stand_by: bool) -> f64 {
    let mut ssd = Ssd::new("small", spec, &die(2), 1).unwrap();
    ssd.set_link_policy(0, policy);
    let (mut now, mut done) = (0, Vec::new());
    ssd.submit(now, Request::write(0, 0, 16_384)).unwrap();
    now = ssd.advance_to_completion(Nanos::MAX - 1, &mut done);
    now += 15 * SECOND;
    ssd.advance(now, &mut done);
    if stand_by {
        now = ssd.stand_by(now);
    }
    now += 15 * SECOND;
    ssd.advance(now, &mut done);
    let before = ssd.counters().nanojoules();
    now += 100 * SECOND;
    ssd.advance(now, &mut done);
    (ssd.counters().nanojoules() - before) as f64 / 1e6 / 100.0
}

#[test]
fn a_drive_in_standby_draws_no_more_than_one_that_rests() {
    let mut spec = drive();
    spec.power.as_mut().unwrap().controller_awake_mw = Some(500.0);
    for policy in [LinkPolicy::Active, LinkPolicy::HipmDipmDevsleep] {
        let [rests, stands_by] = [false, true].map(|stand_by| milliwatts_at_rest(&spec, policy, stand_by));
        assert!((stands_by / rests - 1.0).abs() < 0.01, "{policy:?}: {stands_by} mW in standby, {rests} mW at rest");
    }
}

#[test]
fn as_much_is_read_ahead_as_the_key_says_whatever_the_drive_maps() {
    for unit_kib in [4, 16] {
        let mut die = die(2);
        die.geometry.planes = 1;
        let mut drive = DriveSpec::plain("small", 4, 96 << 20);
        (drive.mapping.unit_kib, drive.controller.read_ahead_kib) = (unit_kib, 128);
        let mut ssd = Ssd::new("small", &drive, &die, 1).unwrap();
        let (mut now, mut done) = (0, Vec::new());
        let mut run = |ssd: &mut Ssd, request: Request| {
            ssd.submit(now, request).unwrap();
            now = ssd.advance_to_completion(Nanos::MAX - 1, &mut done);
            now += SECOND;
            ssd.advance(now, &mut done);
        };
        (0..64).for_each(|k| run(&mut ssd, Request::write(k, k * (128 << 10), 128 << 10)));
        let before = ssd.counters().flash.unwrap().host_read_bytes;
        // As much as the stream has had, and no more than the key says.
        let mut ahead_kib = Vec::new();
        for (k, &kib) in (0..).zip(&[16u64, 16, 96, 128]) {
            let read_kib = ahead_kib.iter().copied().sum::<u64>();
            let from_kib = 128 + [0, 16, 32, 128][k];
            run(&mut ssd, Request::read(k as u64, from_kib << 10, kib << 10));
            let all_kib = (ssd.counters().flash.unwrap().host_read_bytes - before) >> 10;
            ahead_kib.push(all_kib - read_kib);
        }
        assert_eq!(ahead_kib, [16, 16 + 32, 64 + 128, 128], "units of {unit_kib} KiB");
    }
}

/// Nanojoules of a drive that was idle for so long.
fn idle(time: Nanos) -> u64 {
    (u128::from(IDLE_UW) * u128::from(time) / 1_000_000) as u64
}

#[test]
fn a_drive_that_is_cut_before_it_is_ready_draws_up_to_the_cut_only() {
    let mut b = Bench::new(&drive(), &die(2));
    b.rest(SECOND);
    b.now = b.ssd.stand_by(b.now);
    let on = b.now;
    b.ssd.cut(on);
    for k in 0..5 {
        b.now += SECOND;
        assert!(b.ssd.restore(b.now) > b.now + 100 * MILLISECOND);
        b.now += MILLISECOND;
        b.ssd.cut(b.now);
        assert_eq!(b.nanojoules(), idle(on + (k + 1) * MILLISECOND));
    }
    // Nor does it draw anything while it is out.
    b.rest(SECOND);
    assert_eq!(b.nanojoules(), idle(on + 5 * MILLISECOND));
}

#[test]
fn bytes_of_an_earlier_life_are_not_drawn_again() {
    let mut b = Bench::new(&drive(), &die(2));
    (0..200).for_each(|k| {
        b.command(Op::Write, k << 17, 128 << 10);
    });
    let off = b.ssd.stand_by(b.now);
    b.ssd.cut(off);
    let new = || Ssd::new("small", &drive(), &die(2), 1).unwrap();
    let mut loaded = new();
    loaded.load(&b.ssd.save()).unwrap();
    assert_eq!(loaded.counters().nanojoules(), 0);
    let ready = loaded.restore(0);
    assert_eq!(loaded.counters().host, b.ssd.counters().host);
    assert_eq!(loaded.counters().nanojoules(), idle(ready));
    let mut counts = new();
    counts.count_at_least(&b.ssd.totals(off)).unwrap();
    assert_eq!(counts.counters().host, b.ssd.counters().host);
    assert_eq!(counts.counters().nanojoules(), 0);
}

#[test]
fn a_counter_of_energy_that_is_full_stays_full() {
    let mut spec = drive();
    spec.power = Some(PowerSpec { converter_percent: Some(1.0), controller_idle_mw: 1e5, ..DRIVE_POWER });
    let mut b = Bench::new(&spec, &die(2));
    // Some 10 kW, and 2^64 nanojoules are 18 GJ.
    b.rest(1_000_000 * SECOND);
    assert!(b.nanojoules() < u64::MAX);
    b.rest(1_000_000 * SECOND);
    assert_eq!(b.nanojoules(), u64::MAX);
}

#[test]
fn what_a_cut_has_left_undone_is_not_drawn() {
    let mut b = Bench::new(&drive(), &die(2));
    let mut under_way = 0;
    for offset in (0..(8u64 << 20)).step_by(128 << 10) {
        b.command(Op::Write, offset, 128 << 10);
        let before = b.nanojoules();
        let mut cut = b.ssd.clone();
        cut.cut(b.now);
        assert_eq!(cut.counters().nanojoules(), before);
        b.rest(1_000_000);
        // Microwatts for a millisecond are nanojoules.
        under_way += u64::from(b.nanojoules() > before + IDLE_UW + IDLE_UW / 20);
    }
    assert!(under_way > 10, "dies were at work {under_way} times");
}
