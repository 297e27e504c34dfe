//! Drives of three and of four bits per cell: when commands complete, to the nanosecond, for each of its page kinds.

use ssdlab_core::{Nanos, Op, UNIT_BYTES};
use ssdlab_device::{Completion, Device, Held, Plug, Request};
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
        Self::of(die, DRIVE)
    }

    fn of(die: &str, drive: &str) -> Bench {
        let die: DieSpec = toml::from_str(die).unwrap();
        let spec: DriveSpec = toml::from_str(drive).unwrap();
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

/// The older pages of each page's word line, as [`KINDS`] has them.
const OLDER: [&[usize]; 12] = [&[], &[], &[0], &[], &[1], &[0, 2], &[], &[3], &[1, 4], &[6], &[3, 7], &[6, 9]];

#[test]
fn a_program_over_older_pages_takes_a_read_and_a_program_at_one_bit_per_cell_for_each_of_them_first() {
    let drive = format!("{DRIVE}\n[power_loss]\nkeeps_older_pages = \"copies\"\n");
    let mut b = Bench::of(DIE, &drive);
    let (read, program) = ([56_500, 77_500, 106_000], [500_000, 1_500_000, 4_000_000]);
    let transfer = ROW_UNITS * UNIT;
    let mut copies = 0;
    // Four pages of a block at one bit per cell hold copies: three blocks of them are full after twelve.
    for row in 0..48 {
        let page = row as usize % 12;
        let mut expected = COMMAND + transfer + program[KINDS[page]];
        for &older in OLDER[page] {
            expected += COMMAND + read[KINDS[older]] + transfer;
            if copies >= 12 && copies % 4 == 0 {
                expected += COMMAND + 3_000_000;
            }
            expected += COMMAND + transfer + 450_000;
            copies += 1;
        }
        assert_eq!(b.latency(Op::Write, row * ROW_UNITS, ROW_UNITS), expected, "row {row}");
    }
    assert_eq!(copies, 48, "as many as rows");
    let counters = b.drive.counters();
    let flash = counters.flash.unwrap();
    assert_eq!((flash.host_program_bytes, flash.safety_program_bytes), (48 * 16_384, 48 * 16_384));
    assert_eq!((counters.waf(), flash.block_erases), (Some(2.0), 9 * 2), "two planes");
}

/// Lower pages 0 and 1, middle pages 2 and 4, lower pages 3 and 6, middle pages 7 and 9.
#[test]
fn a_program_over_older_pages_waits_for_one_program_of_parity_for_each_two_of_them() {
    let drive = format!("{DRIVE}\n[power_loss]\nkeeps_older_pages = \"parity\"\n");
    let mut b = Bench::of(DIE, &drive);
    let program = [500_000, 1_500_000, 4_000_000];
    let transfer = ROW_UNITS * UNIT;
    let mut parity = 0;
    for row in 0..60 {
        let page = row as usize % 12;
        let mut expected = COMMAND + transfer + program[KINDS[page]];
        if [2, 5, 7, 10].contains(&page) {
            // Four blocks of the area have sixteen blank pages at one bit per cell.
            if parity >= 16 && parity % 4 == 0 {
                expected += COMMAND + 3_000_000;
            }
            expected += COMMAND + transfer + 450_000;
            parity += 1;
        }
        assert_eq!(b.latency(Op::Write, row * ROW_UNITS, ROW_UNITS), expected, "row {row}");
    }
    let counters = b.drive.counters();
    let flash = counters.flash.unwrap();
    assert_eq!((flash.host_program_bytes, flash.safety_program_bytes), (60 * 16_384, 20 * 16_384));
    assert_eq!(flash.block_erases, 2, "two planes");
}

#[test]
fn a_page_that_a_cut_destroys_is_rebuilt_from_parity_and_the_rest_of_its_stripe() {
    let ready = |keeps: &str| {
        let power_loss = format!("[power_loss]\nboot_ms = 0.0\nkeeps_older_pages = \"{keeps}\"\n");
        let mut b = Bench::of(DIE, &format!("{DRIVE}\n{power_loss}"));
        (0..2).for_each(|row| {
            b.latency(Op::Write, row * ROW_UNITS, ROW_UNITS);
        });
        // Over page 0.
        b.drive
            .submit(b.now, Request::write(1, 2 * ROW_UNITS * UNIT_BYTES, ROW_UNITS * UNIT_BYTES).with_fua(true))
            .unwrap();
        let safety = if keeps == "copies" { COMMAND + 56_500 + ROW_UNITS * UNIT } else { 0 };
        let wait = safety + 2 * (COMMAND + ROW_UNITS * UNIT) + 450_000 + 1_000;
        b.drive.advance(b.now + wait, &mut Vec::new());
        b.drive.cut(b.now + wait);
        let ready = b.drive.restore(b.now + wait) - (b.now + wait);
        (b.drive.held(0), ready)
    };
    let (copied, rebuilt) = (ready("copies"), ready("parity"));
    assert_eq!((copied.0, rebuilt.0), (Held::Write(1), Held::Write(1)));
    // The parity row and page 1 are read, and page 0 is programmed into the area: then as with a copy.
    let transfer = ROW_UNITS * UNIT;
    let rebuild = COMMAND + 40_000 + transfer + COMMAND + 56_500 + transfer + COMMAND + transfer + 450_000;
    assert_eq!(rebuilt.1, copied.1 + rebuild);
}

#[test]
fn a_page_that_a_cut_destroys_is_read_from_its_copy_and_programmed_anew_before_the_drive_is_ready() {
    let ready = |keeps: &str, wait: Nanos| {
        let power_loss = format!("[power_loss]\nboot_ms = 0.0\nkeeps_older_pages = \"{keeps}\"\n");
        let mut b = Bench::of(DIE, &format!("{DRIVE}\n{power_loss}"));
        (0..2).for_each(|row| {
            b.latency(Op::Write, row * ROW_UNITS, ROW_UNITS);
        });
        // Over page 0.
        b.drive
            .submit(b.now, Request::write(1, 2 * ROW_UNITS * UNIT_BYTES, ROW_UNITS * UNIT_BYTES).with_fua(true))
            .unwrap();
        b.drive.advance(b.now + wait, &mut Vec::new());
        b.drive.cut(b.now + wait);
        let ready = b.drive.restore(b.now + wait) - (b.now + wait);
        (b.drive.held(0), ready)
    };
    let transfer = ROW_UNITS * UNIT;
    let copied = COMMAND + 56_500 + transfer + COMMAND + transfer + 450_000;
    // The array is at it, or was yet to begin.
    let during = copied + COMMAND + transfer + 1_000;
    let (lost, filled) = ready("no", COMMAND + transfer + 1_000);
    assert_eq!(lost, Held::Unreadable);
    let (kept, rescued) = ready("copies", during);
    assert_eq!(kept, Held::Write(1));
    // The page is programmed anew as the next that can be used: after the word line of the torn one, whose last page is 5;
    // pages 3 to 5 are filled up, page 4 over page 1, which is copied before. Without a journal every spare area is read.
    let scan = 16 * 12 * (COMMAND + 106_000);
    let fill = COMMAND + transfer + 500_000 + COMMAND + transfer + 1_500_000 + COMMAND + transfer + 4_000_000;
    let save = COMMAND + 56_500 + transfer + COMMAND + transfer + 450_000;
    let rescue = COMMAND + 40_000 + transfer + COMMAND + transfer + 500_000;
    assert_eq!((filled, rescued), (scan + fill, scan + fill + save + rescue));
}

#[test]
fn a_flush_of_one_page_waits_until_its_word_line_is_closed_in() {
    let drive = format!("{DRIVE}\n[power_loss]\nkeeps_older_pages = \"padding-at-flush\"\n");
    let mut b = Bench::of(DIE, &drive);
    let program = [500_000, 1_500_000, 4_000_000];
    // The last page of a word line is the sixth after its first, and the padding closes in the five between.
    for row in 0..8 {
        let pages = (row as usize % 2) * 6..(row as usize % 2) * 6 + 6;
        let expected: Nanos = pages.map(|page| COMMAND + ROW_UNITS * UNIT + program[KINDS[page]]).sum();
        assert_eq!(b.latency(Op::Write, row * ROW_UNITS, ROW_UNITS), expected, "row {row}");
    }
    let counters = b.drive.counters();
    assert_eq!((counters.waf(), counters.flash.unwrap().safety_program_bytes), (Some(6.0), 0));
}
