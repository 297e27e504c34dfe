//! Drives that a file can describe but nobody can build: refused by their own check, never by a panic; and what is
//! accepted works, however odd.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value as Json};
use ssdlab_catalog::documentation::File;
use ssdlab_catalog::{drive_names, resolve};
use ssdlab_core::{Op, Rng};
use ssdlab_device::Request;
use ssdlab_fuzz::{Fuzz, fuzz};
use ssdlab_nand::{DieSpec, SpecError};
use ssdlab_ssd::{DriveSpec, build};
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

/// Drives that are accepted, and their dies, as files that leave no default out: the small one above, and those of the
/// catalog made as small.
static BASES: LazyLock<Vec<(Table, Table)>> = LazyLock::new(|| {
    let text = (toml::from_str(DRIVE).expect("a drive"), toml::from_str(DIE).expect("a die"));
    let of_catalog = drive_names().filter_map(|name| {
        let drive = resolve(name).expect("it is of the catalog");
        made_small(&drive.spec, &drive.die.spec)
    });
    let table = |(drive, die): (DriveSpec, DieSpec)| {
        (Table::try_from(drive).expect("a table"), Table::try_from(die).expect("a table"))
    };
    std::iter::once(text).chain(of_catalog).map(table).collect()
});

/// The drive with small dies, and the most that these can hold.
fn made_small(drive: &DriveSpec, die: &DieSpec) -> Option<(DriveSpec, DieSpec)> {
    let sizes = [24, 32, 48].into_iter().flat_map(|pages| [12, 16, 28].map(|blocks| (pages, blocks)));
    sizes.flat_map(|size| [1, 2, 4].map(|dies| (size, dies))).find_map(|((pages, blocks), dies)| {
        let (mut drive, mut die) = (drive.clone(), die.clone());
        die.geometry.pages_per_block = pages;
        die.geometry.blocks_per_plane = blocks;
        drive.flash.dies = dies;
        drive.flash.exact_spare_per_10000 = None;
        drive.controller.channels = drive.controller.channels.min(dies);
        drive.write_buffer.capacity_kib = drive.write_buffer.capacity_kib.min(1024);
        drive.mapping.dies_per_group = drive.mapping.dies_per_group.map(|_| 1);
        drive.mapping.journal_limit_rows = drive.mapping.journal_limit_rows.map(|_| 4);
        drive.mapping.map_cache_kib = drive.mapping.map_cache_kib.map(|_| 4);
        if let Some(logs) = &mut drive.log_blocks {
            logs.open_logs = logs.open_logs.min(4);
            logs.stripe_superblocks = logs.stripe_superblocks.min(dies / drive.controller.channels).max(1);
        }
        if let Some(cache) = &mut drive.slc_cache {
            cache.capacity_gb = cache.capacity_gb.map(|_| 0.004);
            cache.blocks_per_1000 = cache.blocks_per_1000.map(|share| share.max(150));
        }
        let raw = die.raw_bytes() * u64::from(dies);
        if u128::from(raw) > MOST_FLASH_BYTES {
            return None;
        }
        (1..18).find_map(|twentieths| {
            drive.capacity_bytes = raw / 20 * (18 - twentieths) / (32 << 10) * (32 << 10);
            let accepted = drive.capacity_bytes > 0 && drive.validate(&die).is_ok();
            (accepted && build("f", &drive, &die, 1).is_ok()).then(|| (drive.clone(), die.clone()))
        })
    })
}

/// What may stand in a file.
struct Declared {
    schema: Json,
    /// Sections and key of every value.
    keys: Vec<Vec<String>>,
    /// Sections that may be left out.
    optional: Vec<String>,
}

static OF_DRIVES: LazyLock<Declared> = LazyLock::new(|| Declared::of(File::Drive));
static OF_DIES: LazyLock<Declared> = LazyLock::new(|| Declared::of(File::Die));
/// Every word that either may have.
static WORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let all = [&*OF_DRIVES, &*OF_DIES];
    let keys = all.into_iter().flat_map(|of| of.keys.iter().map(|path| of.at(path)));
    let mut words: Vec<String> = keys.flat_map(choices).filter_map(|word| Some(word.as_str()?.to_owned())).collect();
    words.sort();
    words.dedup();
    words
});

impl Declared {
    fn of(file: File) -> Self {
        let schema = file.schema();
        let mut keys = Vec::new();
        collect(properties(&schema), &mut Vec::new(), &mut keys);
        // What only a file has that builds on another.
        keys.retain(|path| path.len() > 1 || !["base", "without"].contains(&path[0].as_str()));
        let optional = properties(&schema).iter().filter(|(_, of)| !properties(of).is_empty() && !is_required(of));
        let optional = optional.map(|(name, _)| name.clone()).collect();
        Declared { schema, keys, optional }
    }

    fn at(&self, path: &[String]) -> &Json {
        path.iter().fold(&self.schema, |of, name| &properties(of)[name])
    }
}

fn properties(schema: &Json) -> &Map<String, Json> {
    static NONE: LazyLock<Map<String, Json>> = LazyLock::new(Map::new);
    schema["properties"].as_object().unwrap_or(&NONE)
}

fn is_required(schema: &Json) -> bool {
    schema["x-required"] == true
}

fn collect(of: &Map<String, Json>, path: &mut Vec<String>, into: &mut Vec<Vec<String>>) {
    for (name, schema) in of {
        path.push(name.clone());
        match properties(schema) {
            none if none.is_empty() => into.push(path.clone()),
            inner => collect(inner, path, into),
        }
        path.pop();
    }
}

/// Values of which a key has one, if they are listed.
fn choices(schema: &Json) -> Vec<&Json> {
    let listed = |name: &str| schema[name].as_array().into_iter().flatten();
    listed("enum").chain(listed("oneOf").map(|choice| &choice["const"])).collect()
}

/// A value as its declaration asks for it; of a section, what it must have and some of what it may.
fn declared_value(schema: &Json, rng: &mut Rng) -> Value {
    let inner = properties(schema);
    if !inner.is_empty() {
        let mut section = Table::new();
        for (name, schema) in inner {
            if is_required(schema) || rng.chance(1, 2) {
                section.insert(name.clone(), declared_value(schema, rng));
            }
        }
        return Value::Table(section);
    }
    let listed = choices(schema);
    if !listed.is_empty() {
        let choice = *one(&listed, rng);
        return choice.as_i64().map_or_else(|| choice.as_str().expect("a word or a number").into(), Value::from);
    }
    let bound = |name: &str, otherwise: f64| schema[name].as_f64().unwrap_or(otherwise);
    let (least, most) = (bound("minimum", 0.0), bound("maximum", 1e4));
    match schema["type"].as_str() {
        Some("boolean") => Value::Boolean(rng.chance(1, 2)),
        // Small ones, mostly, among which others are drawn that fit them.
        Some("integer") => {
            let most = if rng.chance(3, 4) { most.min(least + 20.0) } else { most };
            Value::Integer(least as i64 + rng.below((most - least) as u64 + 1) as i64)
        }
        Some("number") => Value::Float(least + (most - least) * rng.below(1001) as f64 / 1000.0),
        Some("array") => Value::Array((0..=rng.below(4)).map(|_| declared_value(&schema["items"], rng)).collect()),
        _ => Value::from("small"),
    }
}

/// Puts a declared value where a key may stand, with all that its sections must have.
fn set_declared(table: &mut Table, declared: &Declared, rng: &mut Rng) {
    let path = one(&declared.keys, rng);
    let value = declared_value(declared.at(path), rng);
    let (key, sections) = path.split_last().expect("a name at least");
    let mut section = table;
    for depth in 1..=sections.len() {
        let schema = declared.at(&sections[..depth]);
        let inner = section.entry(sections[depth - 1].clone()).or_insert_with(|| declared_value(schema, rng));
        section = inner.as_table_mut().expect("a section");
    }
    section.insert(key.clone(), value);
}

/// Takes an optional section of another drive or die, or leaves it out where that one has none.
fn exchange_section(table: &mut Table, other: &Table, declared: &Declared, rng: &mut Rng) {
    let name = one(&declared.optional, rng);
    match other.get(name) {
        Some(section) => _ = table.insert(name.clone(), section.clone()),
        None => _ = table.remove(name),
    }
}

/// Every leaf of a table, so that one can be picked.
fn leaves<'a>(table: &'a mut Table, into: &mut Vec<&'a mut Value>) {
    fn of<'a>(value: &'a mut Value, into: &mut Vec<&'a mut Value>) {
        match value {
            Value::Table(table) => leaves(table, into),
            Value::Array(list) => list.iter_mut().for_each(|v| of(v, into)),
            leaf => into.push(leaf),
        }
    }
    table.iter_mut().for_each(|(_, value)| of(value, into));
}

fn spoil_leaf(table: &mut Table, rng: &mut Rng) {
    let mut all = Vec::new();
    leaves(table, &mut all);
    let k = rng.below(all.len() as u64) as usize;
    match &mut *all[k] {
        Value::Integer(n) => *n = *one(WHOLE, rng),
        Value::Float(x) => *x = *one(BROKEN, rng),
        Value::Boolean(b) => *b = !*b,
        Value::String(s) => s.clone_from(one(&WORDS, rng)),
        _ => {}
    }
}

/// The drive of a case: a small one with a few values spoiled; `None` if it does not even parse.
fn draw(rng: &mut Rng) -> Option<(DriveSpec, DieSpec)> {
    // The first is the quickest, and has the most that can be spoiled alone.
    let (drive, die) = if rng.chance(1, 3) { &BASES[0] } else { one(&BASES, rng) };
    let (mut drive, mut die) = (drive.clone(), die.clone());
    if rng.chance(1, 2) {
        let flash = drive.get_mut("flash").and_then(Value::as_table_mut).expect("a section");
        flash.remove("exact_spare_per_10000");
    }
    for _ in 0..rng.below(5) {
        let of_die = rng.chance(1, 3);
        let (table, declared) = if of_die { (&mut die, &*OF_DIES) } else { (&mut drive, &*OF_DRIVES) };
        match rng.below(4) {
            0 => {
                let (other_drive, other_die) = one(&BASES, rng);
                exchange_section(table, if of_die { other_die } else { other_drive }, declared, rng);
            }
            1 => set_declared(table, declared, rng),
            _ => spoil_leaf(table, rng),
        }
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
    let mut ssd = match build("f", drive, die, seed) {
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
    // What they take is not a case's.
    LazyLock::force(&BASES);
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
    assert!(build("f", &drive, &die, 1).is_ok());
    assert_eq!(build_and_use(&drive, &die, 1), Ok(true));
}

#[test]
fn bases_are_of_every_kind_and_all_that_is_declared_is_drawn() {
    for (drive, die) in BASES.iter() {
        let (drive, die) = (drive.clone().try_into().unwrap(), die.clone().try_into().unwrap());
        assert_eq!(build_and_use(&drive, &die, 1), Ok(true), "{}", drive.description);
    }
    // Of some of the catalog, nothing so small is a drive.
    assert!(BASES.len() > drive_names().count() / 2, "{} bases", BASES.len());
    let of_some = |name: &str| BASES.iter().any(|(drive, die)| drive.contains_key(name) || die.contains_key(name));
    for name in ["log_blocks", "slc_cache", "power", "power_loss", "encryption", "compression", "ecc", "refresh"] {
        assert!(of_some(name), "no base has [{name}]");
    }
    for name in ["modes", "features", "variation", "errors"] {
        assert!(of_some(name), "no die has [{name}]");
    }
    for word in ["in-step", "between-rounds", "by-stream", "die-group", "one-plane", "triplets", "word-lines"] {
        assert!(WORDS.iter().any(|known| known == word), "{word}");
    }
    let drawn: Vec<DriveSpec> = (0..1000).filter_map(|seed| Some(draw(&mut Rng::new(seed))?.0)).collect();
    assert!(drawn.iter().any(|drive| drive.heat.is_some()) && drawn.iter().any(|drive| drive.used.is_some()));
}

#[test]
fn absurd_drives_are_refused_and_odd_ones_work() {
    drives(1_500);
}

#[test]
#[ignore = "minutes; `make fuzz` runs it, and a small part of the same runs always"]
fn many_absurd_drives() {
    drives(300_000);
}
