//! Drives that a file can describe but nobody can build: refused by their own check, never by a panic; and what is
//! accepted works, however odd.

use std::sync::atomic::{AtomicU64, Ordering};

use ssdlab_core::{Op, Rng};
use ssdlab_device::{Device, Request};
use ssdlab_fuzz::{Fuzz, fuzz};
use ssdlab_nand::{DieSpec, SpecError};
use ssdlab_ssd::{DriveSpec, Ssd};
use toml::{Table, Value};

/// Flash beyond which an accepted drive is not built here: its tables would be as large as it deserves.
const MOST_FLASH_BYTES: u128 = 64 << 20;
/// Events without a completion after which a drive counts as stuck.
const PATIENCE: u32 = 300_000;

const DIE: &str = r#"
description = "small"
geometry = { planes = 2, blocks_per_plane = 24, pages_per_block = 8, page_bytes = 8192, spare_bytes = 500, bits_per_cell = 2, page_order = "alternating" }
timing = { read_us = [50.0, 80.0], program_us = [500.0, 1500.0], erase_ms = 3.0 }
bus = { mega_transfers_per_s = 200.0, command_us = 1.0 }
wear = { rated_program_erase_cycles = 3000, factory_bad_blocks_per_10000 = 100 }
"#;

const DRIVE: &str = r#"
description = "small"
capacity_bytes = 6291456
flash = { die = "small", dies = 4, exact_spare_per_10000 = 8000 }
link = { generation = "sata-6g", host_turnaround_us = 5.0 }
write_buffer = { capacity_kib = 256, write_cache = true, flush_after_idle_ms = 50.0 }
wear_levelling = { dynamic = true, static_spread_erases = 4 }

[controller]
name = "small"
channels = 2
ways = 4
queue_depth = 32
dram_mib = 1
read_command_us = 3.0
write_command_us = 3.0
read_unit_us = 1.0
write_unit_us = 1.0
read_ahead_kib = 64
reads_first = true

[mapping]
superblock = "one-die"
reserved_blocks_per_1000 = 40
journal = true
journal_rows_per_checkpoint_row = 1

[gc]
policy = "greedy"
choices = 2
tie_break = "fifo"
frontier = "separate"
start_free_superblocks = 1
victims_per_start = 0
buffer_superpages = 2
buffering = "streaming"
host_share = "trickle"
trickle_per_1000 = 50
rows_per_read = 1
background_after_idle_ms = 100.0
background_free_superblocks = 3
"#;

const WHOLE: &[i64] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    12,
    16,
    31,
    32,
    33,
    63,
    64,
    65,
    100,
    255,
    256,
    499,
    500,
    1000,
    4095,
    4096,
    8192,
    16_384,
    65_535,
    65_536,
    100_000,
    1_000_000,
    10_000_000,
    2_147_483_647,
    2_147_483_648,
    4_294_967_295,
    1 << 32,
    1 << 40,
    1 << 42,
    4_398_046_507_008,
    1 << 43,
    i64::MAX,
    -1,
    i64::MIN,
];
const BROKEN: &[f64] = &[0.0, -0.0, 1e-300, 1e-9, 0.001, 1.0, 1e3, 1e6, 1e9, 1e300, -1.0, f64::INFINITY, f64::NAN];

fn one<'a, T>(of: &'a [T], rng: &mut Rng) -> &'a T {
    &of[rng.below(of.len() as u64) as usize]
}

/// Every leaf of a table, so that one can be picked.
fn leaves<'a>(value: &'a mut Value, into: &mut Vec<&'a mut Value>) {
    match value {
        Value::Table(table) => table.iter_mut().for_each(|(_, v)| leaves(v, into)),
        Value::Array(list) => list.iter_mut().for_each(|v| leaves(v, into)),
        leaf => into.push(leaf),
    }
}

fn spoil(table: &mut Value, rng: &mut Rng) {
    let mut all = Vec::new();
    leaves(table, &mut all);
    let k = rng.below(all.len() as u64) as usize;
    match &mut *all[k] {
        Value::Integer(n) => *n = *one(WHOLE, rng),
        Value::Float(x) => *x = *one(BROKEN, rng),
        Value::Boolean(b) => *b = !*b,
        Value::String(s) => {
            let words = [
                "greedy",
                "fifo",
                "lifo",
                "d-choices",
                "cost-benefit",
                "windowed-greedy",
                "random",
                "shared",
                "separate",
                "all-dies",
                "one-die",
                "unlimited",
                "balanced",
                "trickle",
                "stop-and-wait",
                "streaming",
                "uniform",
                "alternating",
                "pairs-l95b",
                "ideal",
                "sata-1.5g",
            ];
            *s = (*one(&words, rng)).to_owned();
        }
        _ => {}
    }
}

/// The drive of a case: the small one with a few values spoiled; `None` if it does not even parse.
fn draw(rng: &mut Rng) -> Option<(DriveSpec, DieSpec)> {
    let parse = |text: &str| Value::Table(text.parse::<Table>().expect("a table"));
    let (mut drive, mut die) = (parse(DRIVE), parse(DIE));
    if rng.chance(1, 2) {
        let flash = drive.get_mut("flash").and_then(Value::as_table_mut).expect("a section");
        flash.remove("exact_spare_per_10000");
    }
    for _ in 0..rng.below(5) {
        spoil(if rng.chance(1, 3) { &mut die } else { &mut drive }, rng);
    }
    Some((drive.try_into().ok()?, die.try_into().ok()?))
}

/// Builds a drive if its own check accepts it, and writes it full, in sequence and then as much again at random. Returns whether it
/// was built.
fn build_and_use(drive: &DriveSpec, die: &DieSpec, seed: u64) -> Result<bool, String> {
    let refused = |e: SpecError| {
        if e.key.is_empty() || e.expected.is_empty() { Err(format!("a riddle: {e}")) } else { Ok(false) }
    };
    if let Err(e) = drive.validate(die) {
        return refused(e);
    }
    let blocks = u128::from(drive.blocks_per_die(die)) * u128::from(drive.flash.dies);
    let flash = blocks * u128::from(die.raw_bytes()) / u128::from(die.geometry.blocks_per_plane);
    if flash > MOST_FLASH_BYTES {
        return Ok(false);
    }
    let mut ssd = match Ssd::new("f", drive, die, seed) {
        Ok(ssd) => ssd,
        Err(e) => return refused(e),
    };
    let (mut now, mut done, mut rng) = (0, Vec::new(), Rng::new(seed));
    let length = 16 * 4096;
    let whole = drive.capacity_bytes.div_ceil(length);
    let commands = (2 * whole).min(2000);
    for tag in 0..commands {
        let op = if tag >= whole && tag % 8 == 7 { Op::Read } else { Op::Write };
        let length_bytes = length.min(drive.capacity_bytes);
        let last = (drive.capacity_bytes - length_bytes) / 4096;
        let page = if tag < whole { (tag * (length / 4096)).min(last) } else { rng.below(last + 1) };
        ssd.submit(now, Request::new(tag, op, page * 4096, length_bytes)).unwrap();
        if tag % 16 == 15 || tag + 1 == commands {
            let mut events = 0;
            while done.len() as u64 <= tag {
                events += 1;
                let at = ssd.next_event().ok_or("deadlock")?;
                if events > PATIENCE {
                    return Err("livelock".to_owned());
                }
                now = at;
                ssd.advance(at, &mut done);
            }
        }
    }
    ssd.check_books().map(|()| true)
}

fn drives(cases: u64) {
    let built = AtomicU64::new(0);
    let target = |input: &[u8]| {
        let seed = u64::from_le_bytes(std::array::from_fn(|k| input.get(k).copied().unwrap_or(0)));
        let mut rng = Rng::new(seed);
        match draw(&mut rng) {
            Some((drive, die)) => match build_and_use(&drive, &die, seed) {
                Ok(was_built) => {
                    built.fetch_add(was_built.into(), Ordering::Relaxed);
                    Ok(())
                }
                Err(e) => Err(format!("{e}: {drive:#?} {die:#?}")),
            },
            None => Ok(()),
        }
    };
    let corpus = (0..cases).map(|seed: u64| seed.to_le_bytes().to_vec()).collect();
    if let Some(found) = fuzz(&Fuzz { seed: 1, cases: 0, corpus }, &target) {
        let seed = u64::from_le_bytes(std::array::from_fn(|k| found.input.get(k).copied().unwrap_or(0)));
        panic!("{found}\n{:#?}", draw(&mut Rng::new(seed)));
    }
    let built = built.into_inner();
    println!("{built} of {cases} drives were built");
    assert!(built > cases / 10, "only {built} of {cases} drives were built");
}

#[test]
fn the_small_drive_works_as_it_is() {
    let drive: DriveSpec = toml::from_str(DRIVE).unwrap();
    let die: DieSpec = toml::from_str(DIE).unwrap();
    assert!(drive.validate(&die).is_ok());
    assert!(Ssd::new("f", &drive, &die, 1).is_ok());
    assert_eq!(build_and_use(&drive, &die, 1), Ok(true));
}

#[test]
fn absurd_drives_are_refused_and_odd_ones_work() {
    drives(3_000);
}

#[test]
#[ignore = "minutes; `make fuzz` runs it, and a small part of the same runs always"]
fn many_absurd_drives() {
    drives(300_000);
}
