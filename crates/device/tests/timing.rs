//! When a command completes, to the nanosecond: the sum of what the datasheet says, for each flash operation and for
//! each conflict. Every scenario is written out in nanoseconds for one drive, and as a formula that must still hold
//! when any parameter of the drive is one nanosecond longer.

use ssdlab_core::{Completion, Nanos, Op, Request, UNIT_BYTES};
use ssdlab_device::{ControllerSpec, Device, DriveSpec, FlashSpec, LinkGeneration, LinkSpec, Ssd, WriteBufferSpec};
use ssdlab_ftl::{
    Buffering, Frontier, GcSpec, HostShare, MappingSpec, SuperblockSpan, TieBreak, VictimPolicy, WearLevellingSpec,
};
use ssdlab_nand::{Bus, CellModes, DieSpec, Geometry, PageOrder, Timing, Wear};

/// Everything that takes time, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    read: [Nanos; 2],
    program: [Nanos; 2],
    erase: Nanos,
    /// Command, address and status cycles of one operation.
    command: Nanos,
    turnaround: Nanos,
    read_command: Nanos,
    read_unit: Nanos,
    write_command: Nanos,
    write_unit: Nanos,
    background_after: Nanos,
}

const BASE: Times = Times {
    read: [40_000, 75_000],
    program: [500_000, 1_500_000],
    erase: 3_000_000,
    command: 2_000,
    turnaround: 0,
    read_command: 0,
    read_unit: 0,
    write_command: 0,
    write_unit: 0,
    background_after: 500_000_000,
};

/// One unit of 4096 bytes and 256 of spare at 400 million transfers a second: 4352 / 0.4 ns.
const UNIT_TRANSFER: Nanos = 10_880;
/// A row: two planes, pages of two units.
const ROW: u64 = 4;
const ROW_TRANSFER: Nanos = 43_520;
const PAGES: u64 = 8;
const BLOCK: u64 = ROW * PAGES;
/// SATA at 6 Gb/s, 1.667 ns a byte: a control frame of 140 bytes, and 4 KiB with 100 of frame and 140 of announcement.
const CONTROL: Nanos = 234;
const UNIT_ON_LINK: Nanos = 7_229;

fn us(t: Nanos) -> f64 {
    t as f64 / 1e3
}

#[derive(Clone, Copy)]
struct Shape {
    dies: u32,
    channels: u32,
    link: LinkGeneration,
    queue_depth: u32,
    reads_first: bool,
}

const ONE_DIE: Shape = Shape { dies: 1, channels: 1, link: LinkGeneration::Ideal, queue_depth: 32, reads_first: true };
const TWO_DIES: Shape = Shape { dies: 2, ..ONE_DIE };
const TWO_CHANNELS: Shape = Shape { channels: 2, ..TWO_DIES };
const ON_SATA: Shape = Shape { link: LinkGeneration::Sata3, ..ONE_DIE };

/// A drive at rest, and the time.
struct Bench {
    drive: Ssd,
    now: Nanos,
    tag: u64,
}

impl Bench {
    fn new(shape: Shape, t: &Times) -> Bench {
        let die = DieSpec {
            description: String::new(),
            geometry: Geometry {
                planes: 2,
                blocks_per_plane: 16,
                pages_per_block: PAGES as u32,
                page_bytes: 8192,
                spare_bytes: 512,
                bits_per_cell: 2,
                page_order: PageOrder::Alternating,
            },
            timing: Timing {
                read_us: t.read.map(us).to_vec(),
                program_us: t.program.map(us).to_vec(),
                erase_ms: us(t.erase) / 1e3,
            },
            bus: Bus { mega_transfers_per_s: 400.0, command_us: us(t.command) },
            wear: Wear { rated_program_erase_cycles: 1000, factory_bad_blocks_per_10000: 0 },
            modes: CellModes::default(),
            power: None,
        };
        let spec = DriveSpec {
            description: String::new(),
            capacity_bytes: 8 * BLOCK * u64::from(shape.dies) * UNIT_BYTES,
            flash: FlashSpec { die: "timing".into(), dies: shape.dies, exact_spare_per_10000: None },
            link: LinkSpec { generation: shape.link, host_turnaround_us: us(t.turnaround) },
            controller: ControllerSpec {
                name: "timing".into(),
                channels: shape.channels,
                ways: 4,
                queue_depth: shape.queue_depth,
                dram_mib: 1,
                read_command_us: us(t.read_command),
                write_command_us: us(t.write_command),
                read_unit_us: us(t.read_unit),
                write_unit_us: us(t.write_unit),
                read_ahead_kib: 0,
                reads_first: shape.reads_first,
            },
            write_buffer: WriteBufferSpec { capacity_kib: 64, write_cache: true, flush_after_idle_ms: 10.0 },
            mapping: MappingSpec {
                superblock: SuperblockSpan::OneDie,
                reserved_blocks_per_1000: 0,
                journal: false,
                journal_rows_per_checkpoint_row: 1,
            },
            gc: GcSpec {
                policy: VictimPolicy::Greedy,
                choices: 2,
                tie_break: TieBreak::Fifo,
                frontier: Frontier::Separate,
                start_free_superblocks: 1,
                victims_per_start: 1,
                buffer_superpages: 4,
                buffering: Buffering::Streaming,
                host_share: HostShare::Unlimited,
                trickle_per_1000: 0,
                rows_per_read: 1,
                background_after_idle_ms: Some(us(t.background_after) / 1e3),
                background_free_superblocks: 14,
            },
            wear_levelling: WearLevellingSpec::default(),
        };
        let drive = Ssd::new("timing", &spec, &die, 1).expect("a valid drive");
        Bench { drive, now: 0, tag: 0 }
    }

    /// A drive whose first `rows` rows are on flash, in order, dies taking turns: row `r` is on die `r % dies`, page
    /// `r / dies`.
    fn written(shape: Shape, t: &Times, rows: u64) -> Bench {
        let mut b = Bench::new(shape, t);
        for row in 0..rows {
            b.send(Op::Write, row * ROW, ROW, false);
            b.finish();
        }
        b.send(Op::Flush, 0, 0, false);
        b.finish();
        b.now += 1_000_000;
        let mut done = Vec::new();
        b.drive.advance(b.now, &mut done);
        b
    }

    fn send(&mut self, op: Op, unit: u64, units: u64, fua: bool) -> u64 {
        let (offset_bytes, length_bytes) = (unit * UNIT_BYTES, units * UNIT_BYTES);
        self.drive.submit(self.now, Request { tag: self.tag, op, offset_bytes, length_bytes, fua });
        self.tag += 1;
        self.tag - 1
    }

    fn read(&mut self, unit: u64, units: u64) {
        self.send(Op::Read, unit, units, false);
    }

    fn write_sectors(&mut self, sector: u64, sectors: u64) {
        let (offset_bytes, length_bytes) = (sector * 512, sectors * 512);
        self.drive.submit(self.now, Request { tag: self.tag, op: Op::Write, offset_bytes, length_bytes, fua: false });
        self.tag += 1;
    }

    /// Lets all commands complete; latencies in the order in which they were sent.
    fn finish(&mut self) -> Vec<Nanos> {
        let mut done: Vec<Completion> = Vec::new();
        let mut sent: Vec<Completion> = Vec::new();
        let before = self.tag;
        while let Some(at) = self.drive.next_event() {
            self.drive.advance(at, &mut done);
            sent.append(&mut done);
            // Idle work is not waited for.
            if sent.iter().map(|c| c.tag + 1).max() == Some(before) && self.idle() {
                self.now = at;
                break;
            }
        }
        sent.sort_by_key(|c| c.tag);
        for c in &sent {
            assert_eq!(c.breakdown.sum(), c.latency());
        }
        sent.iter().map(Completion::latency).collect()
    }

    /// Whether the next event is idle work: in more than a millisecond, or none.
    fn idle(&self) -> bool {
        self.drive.check_books().is_ok() && self.drive.ftl().buffered_units() == 0 || self.drive.next_event().is_none()
    }
}

/// Runs a scenario on the base drive, on which the answer is written out, and on drives with one parameter longer by a
/// nanosecond, where the formula must tell.
fn exactly(scenario: impl Fn(&Times) -> Vec<Nanos>, formula: impl Fn(&Times) -> Vec<Nanos>, written_out: &[Nanos]) {
    with_base(BASE, scenario, formula, written_out);
}

fn with_base(
    base: Times,
    scenario: impl Fn(&Times) -> Vec<Nanos>,
    formula: impl Fn(&Times) -> Vec<Nanos>,
    written_out: &[Nanos],
) {
    assert_eq!(scenario(&base), written_out, "on the base drive");
    assert_eq!(formula(&base), written_out, "the formula on the base drive");
    type Change = fn(&mut Times);
    let longer: [(&str, Change); 12] = [
        ("read, lower page", |t| t.read[0] += 1),
        ("read, upper page", |t| t.read[1] += 1),
        ("program, lower page", |t| t.program[0] += 1),
        ("program, upper page", |t| t.program[1] += 1),
        ("erase", |t| t.erase += 1),
        ("command cycles", |t| t.command += 1),
        ("host turnaround", |t| t.turnaround += 1),
        ("firmware, read command", |t| t.read_command += 1),
        ("firmware, unit of a read", |t| t.read_unit += 1),
        ("firmware, write command", |t| t.write_command += 1),
        ("firmware, unit of a write", |t| t.write_unit += 1),
        ("idle time before collection", |t| t.background_after += 1),
    ];
    for (what, change) in longer {
        let mut t = base;
        change(&mut t);
        assert_eq!(scenario(&t), formula(&t), "{what} one nanosecond longer");
    }
}

/// From the host's decision until the drive has decoded a read of one unit, alone in an idle drive without a link.
fn decode(t: &Times) -> Nanos {
    t.turnaround + t.read_command + t.read_unit
}

// ---- each operation by itself -----------------------------------------------------------------------------------

#[test]
fn a_read_takes_command_cycles_the_array_time_of_its_page_kind_and_the_transfer() {
    // Pages 0, 1, 3, 5 are lower; 2, 4, 6 and the last are upper.
    let lower = |t: &Times| decode(t) + t.command + t.read[0] + UNIT_TRANSFER;
    let upper = |t: &Times| decode(t) + t.command + t.read[1] + UNIT_TRANSFER;
    let page = |page: u64| {
        move |t: &Times| {
            let mut b = Bench::written(ONE_DIE, t, PAGES);
            b.read(page * ROW, 1);
            b.finish()
        }
    };
    for lower_page in [0, 1, 3, 5] {
        exactly(page(lower_page), |t| vec![lower(t)], &[52_880]);
    }
    for upper_page in [2, 4, 6, 7] {
        exactly(page(upper_page), |t| vec![upper(t)], &[87_880]);
    }
}

#[test]
fn a_multi_plane_read_senses_once_and_transfers_every_unit() {
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, PAGES);
            b.read(0, ROW);
            b.finish()
        },
        // The processor looks up the other units meanwhile.
        |t| vec![decode(t) + t.command + t.read[0] + 4 * UNIT_TRANSFER],
        &[85_520],
    );
}

#[test]
fn a_multi_plane_program_loads_the_row_and_programs_once_by_page_kind() {
    for (page, written_out) in [(1, 545_520), (2, 1_545_520)] {
        exactly(
            move |t| {
                let mut b = Bench::written(ONE_DIE, t, page);
                b.send(Op::Write, page * ROW, ROW, true);
                b.finish()
            },
            move |t| {
                let kind = usize::from(page == 2);
                vec![t.turnaround + t.write_command + t.command + ROW_TRANSFER + t.program[kind]]
            },
            &[written_out],
        );
    }
}

#[test]
fn a_row_that_is_not_full_takes_as_long_as_a_full_one() {
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, 1);
            b.send(Op::Write, 100, 1, true);
            b.finish()
        },
        |t| vec![t.turnaround + t.write_command + t.command + ROW_TRANSFER + t.program[0]],
        &[545_520],
    );
}

#[test]
fn a_security_erase_takes_one_erase_for_each_block_of_the_fullest_die() {
    let scenario = |t: &Times| {
        let mut b = Bench::written(TWO_DIES, t, 2 * PAGES + 1);
        let began = b.now;
        vec![b.drive.secure_erase(began) - began]
    };
    // Die 0 has a row of a second block.
    exactly(scenario, |t| vec![2 * t.erase], &[6_000_000]);
}

// ---- one die ----------------------------------------------------------------------------------------------------

#[test]
fn reads_of_one_die_follow_one_another() {
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, PAGES);
            b.read(0, 1);
            b.read(2 * ROW, 1);
            b.finish()
        },
        |t| {
            let first = decode(t) + t.command + t.read[0] + UNIT_TRANSFER;
            vec![first, first + t.command + t.read[1] + UNIT_TRANSFER]
        },
        &[52_880, 140_760],
    );
}

#[test]
fn a_read_waits_for_the_program_under_way_but_passes_the_one_behind_it() {
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, 1);
            b.send(Op::Write, ROW, ROW, true);
            b.send(Op::Write, 2 * ROW, ROW, true);
            b.read(0, 1);
            b.finish()
        },
        |t| {
            let decoded = t.turnaround + t.write_command;
            let first = decoded + t.command + ROW_TRANSFER + t.program[0];
            let read = first + t.command + t.read[0] + UNIT_TRANSFER;
            vec![first, read + t.command + ROW_TRANSFER + t.program[1], read]
        },
        &[545_520, 2_143_920, 598_400],
    );
    exactly(
        |t| {
            let mut b = Bench::written(Shape { reads_first: false, ..ONE_DIE }, t, 1);
            b.send(Op::Write, ROW, ROW, true);
            b.send(Op::Write, 2 * ROW, ROW, true);
            b.read(0, 1);
            b.finish()
        },
        |t| {
            let first = t.turnaround + t.write_command + t.command + ROW_TRANSFER + t.program[0];
            let second = first + t.command + ROW_TRANSFER + t.program[1];
            vec![first, second, second + t.command + t.read[0] + UNIT_TRANSFER]
        },
        &[545_520, 2_091_040, 2_143_920],
    );
}

#[test]
fn a_read_waits_for_an_erase_under_way() {
    const INTO_THE_ERASE: Nanos = 1_000_000;
    exactly(
        |t| {
            // Two full blocks; the first is trimmed, and collected once the drive has been idle.
            let mut b = Bench::written(ONE_DIE, t, 2 * PAGES + 1);
            let trimmed = b.now;
            b.send(Op::Trim, 0, BLOCK, false);
            let latency = b.finish()[0];
            let erase_begins = trimmed + latency + t.background_after;
            b.now = erase_begins + INTO_THE_ERASE;
            b.drive.advance(b.now, &mut Vec::new());
            b.read(BLOCK, 1);
            b.finish()
        },
        |t| {
            let left = t.command + t.erase - INTO_THE_ERASE;
            vec![left + t.command + t.read[0] + UNIT_TRANSFER]
        },
        &[2_054_880],
    );
}

// ---- channels ---------------------------------------------------------------------------------------------------

#[test]
fn dies_of_one_channel_sense_together_and_transfer_in_turn() {
    let two_reads = |shape: Shape| {
        move |t: &Times| {
            let mut b = Bench::written(shape, t, 2);
            b.read(0, ROW);
            b.read(ROW, ROW);
            b.finish()
        }
    };
    let sensed = |t: &Times| decode(t) + t.command + t.read[0];
    exactly(
        two_reads(TWO_DIES),
        // The second read of a unit is decoded while the first is sensed.
        |t| vec![sensed(t) + ROW_TRANSFER, (sensed(t) + ROW_TRANSFER) + ROW_TRANSFER],
        &[85_520, 129_040],
    );
    exactly(
        two_reads(TWO_CHANNELS),
        |t| {
            let second_decoded = t.read_command + 4 * t.read_unit;
            vec![sensed(t) + ROW_TRANSFER, sensed(t) + second_decoded + ROW_TRANSFER]
        },
        &[85_520, 85_520],
    );
}

#[test]
fn a_program_is_loaded_while_the_other_die_of_the_channel_senses() {
    let both = |order_read_first: bool| {
        move |t: &Times| {
            let mut b = Bench::written(TWO_DIES, t, 3);
            // Row 2 is on die 0, so that the next row goes to die 1. Row 0 is on die 0.
            if order_read_first {
                b.read(0, 1);
                b.send(Op::Write, 3 * ROW, ROW, true);
            } else {
                b.send(Op::Write, 3 * ROW, ROW, true);
                b.read(0, 1);
            }
            b.finish()
        }
    };
    // Loading from 2,000 to 45,520 would run into the read's data at 42,000: these come at once where the read was
    // first, and 3,520 later where it was second.
    exactly(
        both(true),
        |t| {
            let data_out = decode(t) + t.command + t.read[0] + UNIT_TRANSFER;
            vec![data_out, data_out + ROW_TRANSFER + t.program[0]]
        },
        &[52_880, 596_400],
    );
    exactly(
        both(false),
        |t| {
            let loaded = t.turnaround + t.write_command + t.command + ROW_TRANSFER;
            vec![loaded + t.program[0], loaded + UNIT_TRANSFER]
        },
        &[545_520, 56_400],
    );
}

// ---- writes of less than a unit ---------------------------------------------------------------------------------

#[test]
fn a_partial_write_reads_its_unit_first_and_others_of_that_unit_wait_for_the_same_read() {
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, 1);
            (0..4).for_each(|k| b.write_sectors(2 * k, 2));
            let latencies = b.finish();
            assert_eq!(b.drive.counters().flash_rmw_read_bytes, UNIT_BYTES, "one unit, read once");
            latencies
        },
        |t| {
            let merged = t.turnaround + t.write_command + t.command + t.read[0] + UNIT_TRANSFER;
            vec![merged; 4]
        },
        &[52_880; 4],
    );
}

#[test]
fn a_write_across_two_units_reads_both_ends() {
    exactly(
        |t| {
            let mut b = Bench::written(TWO_CHANNELS, t, 2);
            // The last unit of row 0, on die 0, and the first of row 1, on die 1.
            b.write_sectors(ROW * 8 - 1, 2);
            let latencies = b.finish();
            assert_eq!(b.drive.counters().flash_rmw_read_bytes, 2 * UNIT_BYTES);
            latencies
        },
        |t| vec![t.turnaround + t.write_command + t.command + t.read[0] + UNIT_TRANSFER],
        &[52_880],
    );
}

// ---- link, processor, buffer, queue -----------------------------------------------------------------------------

#[test]
fn the_link_carries_one_frame_at_a_time_in_both_directions() {
    // Reads of what was never written come from nowhere: command frame, data, status.
    exactly(
        |t| {
            let mut b = Bench::new(ON_SATA, t);
            b.read(0, 1);
            b.read(8, 1);
            b.finish()
        },
        |t| {
            let first = t.turnaround + CONTROL + t.read_command + t.read_unit;
            let second_decoded = first + t.read_command + t.read_unit;
            let second = (first + UNIT_ON_LINK).max(second_decoded);
            vec![first + UNIT_ON_LINK + CONTROL, second + UNIT_ON_LINK + CONTROL]
        },
        &[7_697, 14_926],
    );
    exactly(
        |t| {
            let mut b = Bench::new(ON_SATA, t);
            b.send(Op::Write, 0, 1, false);
            b.read(8, 1);
            b.send(Op::Write, 1, 1, false);
            b.finish()
        },
        |t| {
            let first = t.turnaround + CONTROL + t.write_command;
            let on_link = |k: Nanos| first + k * UNIT_ON_LINK + CONTROL;
            vec![on_link(1), on_link(2), on_link(3)]
        },
        &[7_697, 14_926, 22_155],
    );
}

#[test]
fn the_processor_does_one_command_at_a_time() {
    let base = Times {
        turnaround: 6_000,
        read_command: 6_000,
        read_unit: 5_000,
        write_command: 4_000,
        write_unit: 9_000,
        ..BASE
    };
    with_base(
        base,
        |t| {
            let mut b = Bench::new(ONE_DIE, t);
            b.send(Op::Write, 0, 2, false);
            b.read(8, 2);
            b.read(16, 1);
            b.finish()
        },
        |t| {
            let write = t.turnaround + t.write_command + 2 * t.write_unit;
            let read = write + t.read_command + 2 * t.read_unit;
            vec![write, read, read + t.read_command + t.read_unit]
        },
        &[28_000, 44_000, 55_000],
    );
}

#[test]
fn a_write_into_a_full_buffer_waits_for_the_program_that_makes_room() {
    // 64 KiB hold four rows of four units.
    exactly(
        |t| {
            let mut b = Bench::written(ONE_DIE, t, 0);
            (0..6).for_each(|row| {
                b.send(Op::Write, row * ROW, ROW, false);
            });
            b.finish()
        },
        |t| {
            let each = t.write_command + 4 * t.write_unit;
            let done = |k: Nanos| t.turnaround + k * each;
            let programmed = t.turnaround + t.write_command + t.command + ROW_TRANSFER + t.program[0];
            vec![done(1), done(2), done(3), done(4), programmed, programmed + t.command + ROW_TRANSFER + t.program[0]]
        },
        &[0, 0, 0, 0, 545_520, 1_091_040],
    );
}

#[test]
fn a_command_beyond_the_queue_depth_is_sent_when_a_slot_is_free() {
    exactly(
        |t| {
            let mut b = Bench::written(Shape { queue_depth: 1, ..TWO_CHANNELS }, t, 2);
            b.read(0, 1);
            b.read(ROW, 1);
            b.finish()
        },
        |t| {
            let each = decode(t) + t.command + t.read[0] + UNIT_TRANSFER;
            vec![each, 2 * each]
        },
        &[52_880, 105_760],
    );
}
