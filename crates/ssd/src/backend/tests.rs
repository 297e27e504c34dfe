//! An operation on a block takes exactly the time of the block's cell mode.

use ssdlab_core::Rng;
use ssdlab_ftl::RowSpan;
use ssdlab_nand::{CellMode, DieId, VariationSpec, WHOLE};

use super::begin::Course;
use super::correction::RetryStep;
use super::*;

const COMMAND: Nanos = 2_000;
/// One unit of 4096 bytes and 256 of spare at 400 million transfers a second, and a row of two planes of one unit.
const UNIT: Nanos = 10_880;
const ROW: Nanos = 2 * UNIT;

/// The die takes the command at time 0, and every place has the datasheet's times.
const AT_ONCE: Course = Course { now: 0, from: 0, share: WHOLE };

/// A backend, and a probe that judges it.
fn schedule() -> (Backend, Probe<true, true>) {
    schedule_by(RowSpan::AllPlanes)
}

fn schedule_by(row: RowSpan) -> (Backend, Probe<true, true>) {
    let die: DieSpec = toml::from_str(
        r#"
        description = "six word lines of three bits, any mode"
        geometry = { planes = 2, blocks_per_plane = 4, pages_per_block = 18, page_bytes = 4096, spare_bytes = 256, bits_per_cell = 3, page_order = "triplets" }
        timing = { read_us = [56.5, 77.5, 106.0], program_us = [500.001, 1500.0, 4000.0], erase_ms = 4.5 }
        bus = { mega_transfers_per_s = 400.0, command_us = 2.0 }
        wear = { rated_program_erase_cycles = 1000, factory_bad_blocks_per_10000 = 0 }
        [modes]
        slc = { read_us = [40.0], program_us = [450.0], erase_ms = 3.0, rated_program_erase_cycles = 20000 }
        mlc = { read_us = [48.0, 64.0], program_us = [850.0, 2300.0], erase_ms = 3.5, rated_program_erase_cycles = 3000 }
        "#,
    )
    .unwrap();
    die.validate().unwrap();
    let drive = toml::from_str(include_str!("../../../../catalog/drives/ideal-32die.toml"));
    let mut drive: DriveSpec = drive.expect("a drive of the catalog");
    drive.mapping.row = row;
    (Backend::new(&drive, &die, None, None), Probe::new(&drive, &die, 1, 1))
}

pub(super) fn backend() -> Backend {
    schedule().0
}

/// When an operation ends that a die at rest begins at time 0.
fn end(kind: OpKind, mode: CellMode, page: u32, rows: u8) -> Nanos {
    let (mut s, mut probe) = schedule();
    let units = if kind == OpKind::Erase { 0 } else { 2 * rows.count_ones() };
    let op = FlashOp::of_kind(kind, BlockId::new(0), page, rows, units);
    s.begin::<true, true, true>(DieId::FIRST, op, mode, AT_ONCE, &mut probe);
    s.next_event().0
}

#[test]
fn a_program_takes_the_time_of_the_mode_and_the_page_kind() {
    for kind in [OpKind::HostProgram, OpKind::GcProgram, OpKind::MetadataProgram] {
        let array = |mode, page| end(kind, mode, page, 1) - COMMAND - ROW;
        for page in 0..6 {
            assert_eq!(array(CellMode::Slc, page), 450_000, "SLC page {page}");
        }
        assert_eq!([0, 1, 2, 3, 4, 11].map(|p| array(CellMode::Mlc, p) / 1000), [850, 850, 2300, 850, 2300, 2300]);
        assert_eq!(
            [0, 2, 5, 15, 17].map(|p| array(CellMode::Tlc, p)),
            [500_001, 1_500_000, 4_000_000, 1_500_000, 4_000_000]
        );
    }
}

#[test]
fn a_read_takes_the_time_of_the_mode_and_the_page_kind_row_by_row() {
    for kind in [OpKind::HostRead, OpKind::MergeRead, OpKind::GcRead] {
        assert_eq!(end(kind, CellMode::Slc, 3, 1), COMMAND + 40_000 + ROW);
        assert_eq!(end(kind, CellMode::Mlc, 4, 1), COMMAND + 64_000 + ROW);
        assert_eq!(end(kind, CellMode::Tlc, 5, 1), COMMAND + 106_000 + ROW);
    }
    // Pages 2 and 3: CSB and LSB of a TLC block, upper and lower of an MLC block.
    let several = |mode| end(OpKind::GcRead, mode, 2, 0b11);
    assert_eq!(several(CellMode::Tlc), COMMAND + 77_500 + 56_500 + 2 * ROW);
    assert_eq!(several(CellMode::Mlc), COMMAND + 64_000 + 48_000 + 2 * ROW);
    assert_eq!(several(CellMode::Slc), COMMAND + 2 * 40_000 + 2 * ROW);
}

#[test]
fn an_erase_takes_the_time_of_the_mode_in_which_the_block_was_written() {
    let times = [CellMode::Slc, CellMode::Mlc, CellMode::Tlc].map(|mode| end(OpKind::Erase, mode, 0, 1));
    assert_eq!(times, [3_002_000, 3_502_000, 4_502_000]);
    let block = |mode| ErasedBlock { block: BlockId::new(0), mode, wear_ppb: 0 };
    let erased = [CellMode::Slc, CellMode::Mlc, CellMode::Tlc].map(|mode| schedule().0.erase_time(&block(mode)));
    assert_eq!(erased, [3_000_000, 3_500_000, 4_500_000], "the command aside");
}

/// As every other erase: here three times the datasheet's.
#[test]
fn an_erase_before_the_drive_is_ready_takes_the_time_of_its_block() {
    let spec = VariationSpec {
        program_dies_percent: 0.0,
        program_blocks_percent: 0.0,
        program_pages_percent: 0.0,
        read_pages_percent: 0.0,
        erase_blocks_percent: 0.0,
        program_gain_at_rated_cycles_percent: 0.0,
        erase_growth_at_rated_cycles_percent: 200.0,
    };
    let mut s = schedule().0;
    s.variation = Some(Box::new(Variation::new(&spec, 1, 4, &Rng::new(1))));
    let erased = ErasedBlock { block: BlockId::new(0), mode: CellMode::Slc, wear_ppb: 1_000_000_000 };
    let steps = RepairSteps { erases: Some(erased), ..RepairSteps::default() };
    let takes = s.time_to_repair(&steps);
    assert!(takes.abs_diff(COMMAND + 3 * 3_000_000) < 100, "{takes} ns");
    s.count_repair(&steps);
    assert_eq!(s.work_done(takes).of(ArrayWork::erasing(2)), takes - COMMAND);
}

/// Where rows are of one plane, so is what is erased or repaired alone.
#[test]
fn work_counts_by_the_planes_that_it_is_done_on() {
    for (row, planes, others) in [(RowSpan::AllPlanes, 2, 1), (RowSpan::OnePlane, 1, 2)] {
        let (mut s, mut probe) = schedule_by(row);
        s.begin::<true, true, true>(DieId::FIRST, op(OpKind::Erase), CellMode::Tlc, AT_ONCE, &mut probe);
        let erased = ErasedBlock { block: BlockId::new(0), mode: CellMode::Slc, wear_ppb: 0 };
        let row = Some((CellMode::Tlc, 0));
        s.count_repair(&RepairSteps { reads: row, others: 1, programs: row, erases: Some(erased) });
        let works = [ArrayWork::erasing, ArrayWork::programming, ArrayWork::sensing];
        assert_eq!(works.map(|work| s.work.of(work(planes))), [4_500_000 + 3_000_000, 500_001, 2 * 56_500]);
        assert_eq!(works.map(|work| s.work.of(work(others))), [0; 3]);
    }
}

fn op(kind: OpKind) -> FlashOp {
    FlashOp::of_kind(kind, BlockId::new(0), 0, 1, 2)
}

type Fault = fn(&mut Backend);

/// The referee stands in the scheduler's way: each fault that would let an operation pass too early is caught.
#[test]
fn a_scheduler_that_is_a_nanosecond_fast_anywhere_is_stopped() {
    let faults: [(Fault, OpKind, &str); 6] = [
        (|s| s.times.read[2][0] -= 1, OpKind::HostRead, "ReadTime"),
        (|s| s.command_time -= 1, OpKind::GcProgram, "CommandCycles"),
        (|s| s.command_time -= 1, OpKind::Erase, "EraseTime"),
        (|s| s.times.program[2][0] -= 1, OpKind::HostProgram, "ProgramTime"),
        (|s| s.times.erase[2] -= 1, OpKind::Erase, "EraseTime"),
        // Half a nanosecond a unit: one for the two units of the row.
        (|s| s.unit_picos -= 500, OpKind::HostRead, "TransferTime"),
    ];
    for (fault, kind, rule) in faults {
        let (mut s, mut probe) = schedule();
        s.begin::<true, true, true>(DieId::FIRST, op(kind), CellMode::Tlc, AT_ONCE, &mut probe);
        let (mut s, mut probe) = schedule();
        fault(&mut s);
        let begin = move || s.begin::<true, true, true>(DieId::FIRST, op(kind), CellMode::Tlc, AT_ONCE, &mut probe);
        let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(begin)).expect_err(rule);
        let said = stopped.downcast_ref::<String>().expect("a message");
        assert!(said.contains(rule), "{said}");
    }
    // Twice on one die, and a channel that forgets what it carries.
    let (mut s, mut probe) = schedule();
    s.begin::<true, true, true>(DieId::FIRST, op(OpKind::Erase), CellMode::Tlc, AT_ONCE, &mut probe);
    let again = move || {
        s.begin::<true, true, true>(
            DieId::FIRST,
            op(OpKind::Erase),
            CellMode::Tlc,
            Course { now: 4_501_999, from: 4_501_999, share: WHOLE },
            &mut probe,
        )
    };
    let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(again)).expect_err("a busy die");
    assert!(stopped.downcast_ref::<String>().expect("a message").contains("PlaneBusy"));
    let (mut s, mut probe) = schedule();
    s.begin::<true, true, true>(DieId::FIRST, op(OpKind::GcProgram), CellMode::Tlc, AT_ONCE, &mut probe);
    s.channels[0] = Channel::default();
    let next = DieId::new(s.channels.len() as u32);
    let beside = move || s.begin::<true, true, true>(next, op(OpKind::GcProgram), CellMode::Tlc, AT_ONCE, &mut probe);
    let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(beside)).expect_err("a busy bus");
    assert!(stopped.downcast_ref::<String>().expect("a message").contains("ChannelBusy"));
}

/// What a read needs beyond its plain read is array time and units on the bus like any other.
#[test]
fn steps_up_the_ladder_count_as_work() {
    let step = |senses, units, stripe, stripe_units| RetryStep {
        mode: CellMode::Tlc,
        share: WHOLE,
        rows: 0b11,
        senses,
        units,
        stripe,
        stripe_units,
        decode: 0,
    };
    let (mut s, mut probe) = schedule();
    s.dies[0].current = FlashOp::of_kind(OpKind::GcRead, BlockId::new(0), 2, 0b11, 2);
    s.sense_again(DieId::FIRST, &step(3, 4, 0, 0), 0, &mut probe);
    let sensing = |s: &Backend, planes| s.work.of(ArrayWork::sensing(planes));
    assert_eq!((sensing(&s, 2), s.work.read_eighths), (3 * (77_500 + 56_500), 8 * 4));
    let (mut s, mut probe) = schedule();
    s.dies[0].current = FlashOp::of_kind(OpKind::HostRead, BlockId::new(0), 2, 1, 2);
    s.read_stripe(DieId::FIRST, &step(0, 0, 40, 2), 0, &mut probe);
    assert_eq!((sensing(&s, 2), s.work.read_eighths), (40 * 77_500, 8 * 80));
}
