//! Drives of three and of four bits per cell: when commands complete, to the nanosecond, for each of its page kinds.

use ssdlab_core::{Nanos, Op, UNIT_BYTES};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{DriveSpec, Ssd};

const DIE: &str = r#"
    description = "four word lines"
    geometry = { planes = 2, blocks_per_plane = 16, pages_per_block = 12, page_bytes = 8192, spare_bytes = 512, bits_per_cell = 3, page_order = "triplets" }
    timing = { read_us = [56.5, 77.5, 106.0], program_us = [500.0, 1500.0, 4000.0], erase_ms = 4.5 }
    bus = { mega_transfers_per_s = 400.0, command_us = 2.0 }
    wear = { rated_program_erase_cycles = 1000, factory_bad_blocks_per_10000 = 0 }
    [modes]
    slc = { read_us = [40.0], program_us = [450.0], erase_ms = 3.0, rated_program_erase_cycles = 20000 }
"#;

const DRIVE: &str = r#"
    description = "one die, nothing takes time but flash"
    capacity_bytes = 1572864
    flash = { die = "here", dies = 1 }
    link = { generation = "ideal", host_turnaround_us = 0.0 }
    write_buffer = { capacity_kib = 64, write_cache = true, flush_after_idle_ms = 10.0 }
    mapping = { superblock = "one-die", reserved_blocks_per_1000 = 0, journal = false }
    [controller]
    name = "none"
    channels = 1
    ways = 1
    queue_depth = 32
    dram_mib = 1
    read_command_us = 0.0
    read_unit_us = 0.0
    write_command_us = 0.0
    write_unit_us = 0.0
    read_ahead_kib = 0
    reads_first = true
    [gc]
    policy = "greedy"
    frontier = "separate"
    start_free_superblocks = 1
    victims_per_start = 1
    buffer_superpages = 4
    buffering = "streaming"
    host_share = "unlimited"
"#;

const COMMAND: Nanos = 2_000;
/// One unit of 4096 bytes and 256 of spare at 400 million transfers a second.
const UNIT: Nanos = 10_880;
/// A row: two planes, pages of two units.
const ROW_UNITS: u64 = 4;
/// Kinds of the twelve pages in the order of programming: LSB, CSB, MSB.
const KINDS: [usize; 12] = [0, 0, 1, 0, 1, 2, 0, 1, 2, 1, 2, 2];

struct Bench {
    drive: Ssd,
    now: Nanos,
}

impl Bench {
    fn new(die: &str) -> Bench {
        let die: DieSpec = toml::from_str(die).unwrap();
        let spec: DriveSpec = toml::from_str(DRIVE).unwrap();
        Bench { drive: Ssd::new("tlc", &spec, &die, 1).unwrap(), now: 0 }
    }

    /// Latency of a command on the drive at rest.
    fn latency(&mut self, op: Op, unit: u64, units: u64) -> Nanos {
        let request = Request::new(0, op, unit * UNIT_BYTES, units * UNIT_BYTES).with_fua(op == Op::Write);
        self.drive.submit(self.now, request).unwrap();
        let mut done: Vec<Completion> = Vec::new();
        while done.is_empty() {
            let at = self.drive.next_event().expect("the command completes");
            self.drive.advance(at, &mut done);
        }
        self.now = done[0].completed + 1_000_000;
        self.drive.advance(self.now, &mut done);
        assert_eq!(done.len(), 1);
        assert_eq!(done[0].breakdown.sum(), done[0].latency());
        done[0].latency()
    }
}

/// A die that could run its blocks in SLC mode, and one that could not, are equally fast while none does.
fn dies() -> [String; 2] {
    let alone = DIE.split("[modes]").next().unwrap();
    [DIE.to_owned(), alone.to_owned()]
}

#[test]
fn each_page_of_a_block_programs_in_the_time_of_its_pass() {
    let program = [500_000, 1_500_000, 4_000_000];
    for die in dies() {
        let mut b = Bench::new(&die);
        // Two blocks.
        for row in 0..24 {
            let latency = b.latency(Op::Write, row * ROW_UNITS, ROW_UNITS);
            let expected = COMMAND + ROW_UNITS * UNIT + program[KINDS[row as usize % 12]];
            assert_eq!(latency, expected, "row {row}");
        }
    }
}

#[test]
fn each_page_of_a_block_reads_in_the_time_of_its_kind() {
    let read = [56_500, 77_500, 106_000];
    for die in dies() {
        let mut b = Bench::new(&die);
        for row in 0..12 {
            b.latency(Op::Write, row * ROW_UNITS, ROW_UNITS);
        }
        for row in 0..12 {
            let array = read[KINDS[row as usize]];
            assert_eq!(b.latency(Op::Read, row * ROW_UNITS, 1), COMMAND + array + UNIT, "row {row}, one unit");
            let whole = b.latency(Op::Read, row * ROW_UNITS, ROW_UNITS);
            assert_eq!(whole, COMMAND + array + ROW_UNITS * UNIT, "row {row}, whole");
        }
    }
}

#[test]
fn four_bits_of_a_word_line_have_times_of_their_own() {
    let die = DIE
        .replace("pages_per_block = 12", "pages_per_block = 16")
        .replace("bits_per_cell = 3, page_order = \"triplets\"", "bits_per_cell = 4, page_order = \"word-lines\"")
        .replace("[56.5, 77.5, 106.0]", "[90.0, 110.0, 130.0, 170.0]")
        .replace("[500.0, 1500.0, 4000.0]", "[2000.0, 2100.0, 2200.0, 2300.0]");
    let (read, program) = ([90_000, 110_000, 130_000, 170_000], [2_000_000, 2_100_000, 2_200_000, 2_300_000]);
    let mut b = Bench::new(&die);
    for row in 0..32 {
        let latency = b.latency(Op::Write, row * ROW_UNITS, ROW_UNITS);
        assert_eq!(latency, COMMAND + ROW_UNITS * UNIT + program[row as usize % 4], "row {row}");
    }
    for row in 0..32 {
        let latency = b.latency(Op::Read, row * ROW_UNITS, 1);
        assert_eq!(latency, COMMAND + read[row as usize % 4] + UNIT, "row {row}");
    }
}
