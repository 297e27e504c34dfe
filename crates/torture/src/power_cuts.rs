//! Runs that pull the plug.
//!
//! The drives are those of other runs, with some spare beyond the least (pages that cuts leave without use take room until
//! they are collected), without correction of errors and without blocks that go bad, but with capacitors of every kind and
//! with cells of up to four bits. Every eighth translates by blocks.

use ssdlab_core::{Op, Rng, SECTOR_BYTES, UNIT_BYTES};
use ssdlab_ftl::{Frontier, KeepsOlderPages, LogScheme, RowSpan};
use ssdlab_nand::{DieSpec, PageOrder, ReducedMode, Slowest, SpecError};
use ssdlab_ssd::{DriveSpec, PowerLossSpec, Protection, energy_to_save_mj};

use crate::case::{Case, translates_by_blocks};
use crate::cut_model::Model;
use crate::draw::one;
use crate::host::Host;
use crate::phase::Phase;
use crate::subject::Subject;
use crate::tally::Tally;

/// Energy in plenty.
const ENOUGH_MJ: f64 = 1e6;

impl Case {
    /// The case of a seed for power cuts.
    #[must_use]
    pub fn draw_for_power_cuts(seed: u64) -> Self {
        if translates_by_blocks(seed) {
            return Self::draw_log_blocks_with(seed, &|_, drive| {
                drive.power_loss = Some(draw_power_loss(&mut Rng::new(seed).stream("power loss")));
            });
        }
        let mut case = Self::draw_with(seed, |die, drive| {
            let mut rng = Rng::new(seed).stream("power loss");
            (die.errors, drive.ecc) = (None, None);
            let g = &mut die.geometry;
            if g.bits_per_cell == 2 && g.pages_per_block >= 6 && rng.chance(1, 2) {
                g.bits_per_cell = 3;
                g.pages_per_block = g.pages_per_block / 3 * 3;
                g.page_order = one(&mut rng, &[PageOrder::Triplets, PageOrder::WordLines]);
                let third = |times: &mut Vec<f64>| times.push(times[1] * 1.5);
                third(&mut die.timing.read_us);
                third(&mut die.timing.program_us);
            }
            let mut rng_of_four = Rng::new(seed).stream("four bits per cell");
            if g.bits_per_cell == 3 && g.pages_per_block >= 8 && rng_of_four.chance(1, 3) {
                g.bits_per_cell = 4;
                g.pages_per_block = g.pages_per_block / 4 * 4;
                g.page_order = PageOrder::WordLines;
                let fourth = |times: &mut Vec<f64>| times.push(times[2] * 1.5);
                fourth(&mut die.timing.read_us);
                fourth(&mut die.timing.program_us);
            }
            let mut power_loss = draw_power_loss(&mut rng);
            power_loss.keeps_older_pages = draw_keeps_older_pages(die, drive, seed);
            if power_loss.protects == Protection::Everything {
                draw_slow_saving(die, drive, seed);
            }
            drive.power_loss = Some(power_loss);
        });
        case.faults = Default::default();
        draw_just_enough(&mut case);
        case
    }

    pub(crate) fn model(&self) -> Model {
        let spec = self.drive.power_loss.clone().unwrap_or_default();
        let needed_mj = match spec.protects {
            Protection::Nothing => 0.0,
            Protection::DataAtRest => energy_at_rest_mj(&self.drive, &self.die, spec.controller_mw),
            Protection::Everything => energy_to_save_mj(&self.drive, &self.die).unwrap_or(ENOUGH_MJ),
        };
        let enough = spec.energy_mj.unwrap_or(0.0) * (spec.energy_left_percent / 100.0) >= needed_mj;
        let protects = if enough { spec.protects } else { Protection::Nothing };
        let keeps = protects != Protection::Nothing || spec.keeps_older_pages != KeepsOlderPages::No;
        let g = &self.die.geometry;
        // Each plane of each die is at one page at most. What it breaks off takes the older pages along that share its cells, with
        // all that is packed into them.
        let pages = u64::from(self.drive.flash.dies * g.planes * (g.bits_per_cell - 1));
        let ratio = self.drive.compression.map_or(1, |compression| compression.max_ratio);
        Model {
            may_destroy: g.bits_per_cell > 1 && !keeps,
            most_destroyed: pages * u64::from(g.page_bytes).div_ceil(UNIT_BYTES) * u64::from(ratio),
            keeps_all: protects == Protection::Everything,
        }
    }
}

/// What a die draws while it programs, if its file does not say: see docs/drive-files.md.
const DIE_MILLIWATTS: f64 = 82.5;

/// The energy with which every die is certain to end what it is at, be it in the course of a recovery: an erase, or a row that is
/// read, transferred and programmed. Both together, in the slowest places, so that it is enough whatever comes in between.
fn energy_at_rest_mj(drive: &DriveSpec, die: &DieSpec, controller_mw: f64) -> f64 {
    let g = &die.geometry;
    let modes = || [&die.modes.slc, &die.modes.mlc, &die.modes.tlc].into_iter().flatten();
    let longest = |times: &mut dyn Iterator<Item = f64>| times.fold(0.0, f64::max);
    let reads = die.timing.read_us.iter().chain(modes().flat_map(|mode| &mode.read_us));
    let programs = die.timing.program_us.iter().chain(modes().flat_map(|mode| &mode.program_us));
    let (read_us, program_us) = (longest(&mut reads.copied()), longest(&mut programs.copied()));
    let erase_us = longest(&mut modes().map(|mode| mode.erase_ms).chain([die.timing.erase_ms])) * 1e3;
    let lives = drive.used.as_ref().map_or(1.0, |used| used.most_lives().max(1.0));
    let slowest = die.variation.as_ref().map_or(Slowest::default(), |variation| variation.slowest(lives));
    let row_bytes = f64::from(g.planes * (g.page_bytes + g.spare_bytes) * die.features.program_passes);
    let rate = die.bus.mega_transfers_per_s;
    let transfer_us = die.bus.command_us + if rate == 0.0 { 0.0 } else { row_bytes / rate };
    let parts = if drive.mapping.row == RowSpan::AllPlanes { 1.0 } else { f64::from(g.planes) };
    let row_us = (read_us * slowest.read + program_us * slowest.program) * parts + transfer_us;
    let die_mw = die.power.as_ref().map_or(DIE_MILLIWATTS, |power| power.supply_v * power.program_current_ma);
    (controller_mw + die_mw * f64::from(drive.flash.dies)) * (row_us + erase_us * slowest.erase) / 1e6
}

fn draw_power_loss(rng: &mut Rng) -> PowerLossSpec {
    PowerLossSpec {
        protects: one(rng, &[Protection::Nothing, Protection::DataAtRest, Protection::Everything]),
        energy_mj: Some(ENOUGH_MJ),
        energy_left_percent: one(rng, &[100.0, 100.0, 0.000_1]),
        boot_ms: one(rng, &[0.0, 0.1, 100.0]),
        ..PowerLossSpec::default()
    }
}

/// Of the drives whose capacitors protect everything, some program on one die after the other, and some read slowly
/// what units in the buffer lack. Drawn from a stream of its own, so that this draw does not change the others.
fn draw_slow_saving(die: &mut DieSpec, drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("slow saving");
    if rng.chance(1, 4) {
        drive.controller.programs_at_once = Some(1);
    } else if rng.chance(1, 2) {
        die.timing.read_us.iter_mut().for_each(|read_us| *read_us *= 20.0);
    }
}

/// Every other drive whose capacitors carry its buffer has no more energy than that takes. Drawn from a stream of its own, so that
/// this draw does not change the others.
fn draw_just_enough(case: &mut Case) {
    let least = energy_to_save_mj(&case.drive, &case.die);
    let Some(spec) = case.drive.power_loss.as_mut().filter(|spec| spec.protects == Protection::Everything) else {
        return;
    };
    if Rng::new(case.seed).stream("just enough energy").chance(1, 2) && spec.energy_left_percent == 100.0 {
        // What is more than just enough carries units that lack sectors.
        let mut rng = Rng::new(case.seed).stream("a little more energy");
        let share = if rng.chance(1, 2) { 1.0 + rng.below(200) as f64 / 1000.0 } else { 1.0 };
        spec.energy_mj = least.map(|energy_mj| energy_mj * share).or(spec.energy_mj);
    }
}

/// What firmware does for older pages, on two of three dies of several bits per cell. Drawn from a stream of its own, so that this
/// draw does not change the others.
fn draw_keeps_older_pages(die: &mut DieSpec, drive: &DriveSpec, seed: u64) -> KeepsOlderPages {
    let mut rng = Rng::new(seed).stream("older pages");
    use KeepsOlderPages::{Copies, No, PaddingAtFlush, Parity};
    let mut drawn = one(&mut rng, &[No, No, Copies, PaddingAtFlush]);
    if die.geometry.bits_per_cell == 1 {
        return No;
    }
    // From another stream, likewise.
    if drawn == No && Rng::new(seed).stream("parity of older pages").chance(1, 3) {
        drawn = Parity;
    }
    if drawn == PaddingAtFlush && drive.gc.frontier == Frontier::Shared {
        drawn = Copies;
    }
    if drawn != No && die.modes.slc.is_none() {
        let (read, program) = (die.timing.read_us[0], die.timing.program_us[0]);
        die.modes.slc = Some(ReducedMode {
            read_us: vec![read * 0.6],
            program_us: vec![program * 0.5],
            erase_ms: die.timing.erase_ms,
            rated_program_erase_cycles: 20_000,
        });
    }
    drawn
}

/// Runs a case, cutting the power after every phase, and several times in between.
///
/// # Errors
/// As [`crate::run()`].
pub fn cut_again_and_again<S: Subject>(
    case: &Case,
    build: &impl Fn(&Case) -> Result<S, SpecError>,
) -> Result<Tally, String> {
    let seed = case.seed;
    let drive = build(case).map_err(|e| format!("a drive that passed its own check cannot be built: {e}"))?;
    let mut tally = Tally::default();
    tally.case(case);
    tally.plug(case);
    let model = case.model();
    let mut host = Host::new(drive, seed, false);
    host.keep_promises();
    let mut rng = Rng::new(seed).stream("plug");
    // Some drives are saved without power, and another one goes on in their place.
    let mut carried = Rng::new(seed).stream("saved and loaded");
    let mut in_order = Rng::new(seed).stream("written in order");
    let mut erased = Rng::new(seed).stream("erased and cut");
    let mut in_sectors = Rng::new(seed).stream("sectors of one die");
    let phases = Phase::draw(&mut Rng::new(seed).stream("phases"));
    for (k, phase) in phases.iter().enumerate() {
        let at = |e: String| format!("phase {} ({}): {e}", k + 1, phase.name());
        phase.run(&mut host).map_err(at)?;
        for _ in 0..=rng.below(4) {
            host.step(rng.below(60)).map_err(at)?;
            if host.drive.is_read_only() {
                break;
            }
            let heir = carried.chance(1, 5).then(|| build(case)).transpose().map_err(|e| at(e.to_string()))?;
            tally.drives_loaded += u64::from(heir.is_some());
            tally.power_cuts += host.pull_plug(model, heir, &mut rng).map_err(at)?;
            if in_order.chance(1, 2) && fill_die_by_die(&mut host, case, &mut in_order).map_err(at)? {
                let cuts = host.pull_plug(model, None, &mut in_order).map_err(at)?;
                tally.power_cuts += cuts;
            }
            if in_sectors.chance(1, 2) && write_sectors_of_one_die(&mut host, case, &mut in_sectors).map_err(at)? {
                tally.power_cuts += host.pull_plug(model, None, &mut in_sectors).map_err(at)?;
            }
            for _ in 0..rng.below(40) {
                let op = one(&mut rng, &[Op::Write, Op::Write, Op::Write, Op::Read, Op::Trim, Op::Flush]);
                let (offset, length) = host.place(0, host.pages, 64, true);
                let (offset, length) = if op == Op::Flush { (0, 0) } else { (offset, length) };
                host.send(8, op, offset, length, rng.chance(1, 10)).map_err(at)?;
            }
        }
        if erased.chance(1, 4) && !host.drive.is_read_only() {
            let heir = erased.chance(1, 5).then(|| build(case)).transpose().map_err(|e| at(e.to_string()))?;
            tally.drives_loaded += u64::from(heir.is_some());
            let (cuts, kind) = host.cut_erase(model, heir, &mut erased).map_err(at)?;
            tally.power_cuts += cuts;
            tally.erase_cut(kind);
            // What comes back by mistake may wait for a later start, and for writes that wake the collector.
            for _ in 0..erased.below(60) {
                let (offset, length) = host.place(0, host.pages, 64, true);
                host.send(8, one(&mut erased, &[Op::Write, Op::Write, Op::Read]), offset, length, false).map_err(at)?;
            }
            host.step(erased.below(60)).map_err(at)?;
            tally.power_cuts += host.pull_plug(model, None, &mut erased).map_err(at)?;
        }
        host.drain().map_err(at)?;
        host.check().map_err(at)?;
        tally.phase(*phase);
        if host.drive.is_read_only() {
            break;
        }
    }
    let last = |e: String| format!("reading all at the end: {e}");
    host.read_quietly(8, 4 * UNIT_BYTES, case.moves_beside_reads()).map_err(last)?;
    host.check().map_err(last)?;
    tally.power_cuts += stand_by_and_cut(&mut host, model, seed).map_err(|e| format!("standing by at the end: {e}"))?;
    tally.destroyed_pages = host.destroyed_pages();
    tally.host_commands = host.commands;
    tally.refused_commands = host.refused;
    tally.uncorrectable_commands = host.uncorrectable;
    tally.drive(&host.drive.facts());
    Ok(tally)
}

/// Drives that map pages and whose capacitors protect everything: fills rows in order, which go to one die after the
/// other, and then writes a sector of each page of every row of one die, as many as the buffer holds, so that the die
/// has to read what all of them lack. Returns whether it did.
fn write_sectors_of_one_die<S: Subject>(host: &mut Host<S>, case: &Case, rng: &mut Rng) -> Result<bool, String> {
    let protects = case.drive.power_loss.as_ref().map(|spec| spec.protects);
    if protects != Some(Protection::Everything) || case.drive.log_blocks.is_some() || host.drive.is_read_only() {
        return Ok(false);
    }
    let ratio = case.drive.compression.map_or(1, |compression| compression.max_ratio);
    let row = case.drive.units_per_page(&case.die) / ratio * case.die.geometry.planes;
    let buffer = case.drive.buffer_pages();
    let stripe = row * case.drive.flash.dies;
    let stripes = buffer.div_ceil(row).min(host.pages / stripe);
    for page in (0..stripes * stripe).step_by(row as usize) {
        let (offset, length) = (u64::from(page) * host.page_bytes, u64::from(row) * host.page_bytes);
        host.send(8, Op::Write, offset, length, false)?;
    }
    host.flush()?;
    let depth = one(rng, &[1, 8, 32]);
    for page in (0..stripes).flat_map(|k| (0..row).map(move |unit| k * stripe + unit)).take(buffer as usize) {
        host.send(depth, Op::Write, u64::from(page) * host.page_bytes + SECTOR_BYTES, SECTOR_BYTES, false)?;
    }
    if rng.chance(1, 2) {
        host.send(depth, Op::Flush, 0, 0, false)?;
    }
    host.step(rng.below(8))?;
    Ok(true)
}

/// Cuts after STANDBY IMMEDIATE. At the end, and drawn from a stream of its own: what a seed does before stays the same.
fn stand_by_and_cut<S: Subject>(host: &mut Host<S>, model: Model, seed: u64) -> Result<u64, String> {
    let mut rng = Rng::new(seed).stream("standing by");
    let mut cuts = 0;
    for _ in 0..1 + rng.below(4) {
        for _ in 0..rng.below(60) {
            let op = one(&mut rng, &[Op::Write, Op::Write, Op::Read, Op::Trim, Op::Flush]);
            let (offset, length) = host.place(0, host.pages, 64, rng.chance(1, 2));
            let (offset, length) = if op == Op::Flush { (0, 0) } else { (offset, length) };
            host.send(8, op, offset, length, rng.chance(1, 10))?;
        }
        host.drain()?;
        if host.drive.is_read_only() {
            break;
        }
        cuts += host.stand_by_and_pull_plug(model, &mut rng)?;
        host.check()?;
    }
    Ok(cuts)
}

/// Drives that translate by blocks, just after they have got power back, when no log is open: fills a superblock in order, one die
/// after the other, and writes its first page again. The log takes the place of the data, while its last page may still be under
/// way on another die. Returns whether it did.
fn fill_die_by_die<S: Subject>(host: &mut Host<S>, case: &Case, rng: &mut Rng) -> Result<bool, String> {
    let Some(spec) = case.drive.log_blocks.as_ref().filter(|spec| spec.scheme != LogScheme::Fast) else {
        return Ok(false);
    };
    let (lanes, rows) = (case.drive.controller.channels, case.die.geometry.pages_per_block);
    let pages_of_a_row = lanes * spec.stripe_superblocks;
    let stripe = rng.below(u64::from(host.pages.div_ceil(pages_of_a_row * rows))) as u32 * pages_of_a_row * rows;
    let first = stripe + rng.below(spec.stripe_superblocks.into()) as u32 * lanes;
    let in_order = (first..first + lanes).flat_map(|page| (0..rows).map(move |row| page + row * pages_of_a_row));
    let mut pages: Vec<u32> = in_order.filter(|&page| page < host.pages).collect();
    // The last stripe may be cut off before it.
    let Some(last) = pages.pop() else { return Ok(false) };
    let write = |host: &mut Host<S>, page: u32, depth: usize| {
        host.send(depth, Op::Write, u64::from(page) * UNIT_BYTES, UNIT_BYTES, false)
    };
    let depth = one(rng, &[2, 8, 32]);
    pages.into_iter().try_for_each(|page| write(host, page, depth))?;
    host.flush()?;
    [last, first].into_iter().try_for_each(|page| write(host, page, 2))?;
    host.step(rng.below(8))?;
    Ok(true)
}
