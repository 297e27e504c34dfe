//! The energy that is left when the power has gone.

use std::collections::BTreeMap;

use ssdlab_core::{Nanos, nanos_from_ms, nanos_from_us};
use ssdlab_ftl::{KeepsOlderPages, RowSpan};
use ssdlab_nand::{BusCycles, DieId, DieSpec, Slowest};

use super::spec::{PowerLossSpec, Protection};
use crate::backend::ladder_of_unit;
use crate::spec::DriveSpec;
use crate::whole_dies::WholeDies;

/// What a die draws while it programs or erases, if its file does not say.
const DIE_MILLIWATTS: f64 = 82.5;

/// What capacitors can do, and how long starting takes.
#[derive(Clone, Debug)]
pub struct Capacitors {
    pub protects: Protection,
    /// Picojoules; a milliwatt for a nanosecond is one.
    energy: f64,
    controller_mw: f64,
    die_mw: f64,
    dies: u32,
    whole: WholeDies,
}

impl Capacitors {
    /// Of a drive and its dies as the files have them: planes that are operated apart draw what their die draws.
    #[must_use]
    pub fn new(spec: &PowerLossSpec, drive: &DriveSpec, die: &DieSpec) -> Self {
        let energy = spec.energy_mj.unwrap_or(0.0) * 1e9 * spec.energy_left_percent / 100.0;
        Capacitors {
            protects: spec.protects,
            energy: if spec.protects == Protection::Nothing { 0.0 } else { energy },
            controller_mw: spec.controller_mw,
            die_mw: die.power.as_ref().map_or(DIE_MILLIWATTS, |p| p.supply_v * p.program_current_ma),
            dies: drive.flash.dies,
            whole: WholeDies::of(drive, die),
        }
    }

    /// How long everything goes on, all dies at work.
    #[must_use]
    pub fn hold_up(&self) -> Nanos {
        let drawn = self.all_draw_mw();
        if drawn > 0.0 { (self.energy / drawn) as Nanos } else { Nanos::MAX / 4 }
    }

    fn all_draw_mw(&self) -> f64 {
        self.controller_mw + self.die_mw * f64::from(self.dies)
    }

    /// Whether they carry everything that the buffer can hold to flash: what has arrived there is then as safe as on flash.
    #[must_use]
    pub fn keep_buffer(&self, drive: &DriveSpec, die: &DieSpec) -> bool {
        self.protects == Protection::Everything
            && needs_nothing_first(drive, die)
            && self.hold_up() >= time_to_save(drive, die)
    }

    /// How many units in the buffer may lack sectors that are still on flash, so that all of it is carried there even
    /// if these all lie on one die, which reads one after the other. Of a buffer that is [kept](Self::keep_buffer).
    #[must_use]
    pub fn units_that_may_lack(&self, drive: &DriveSpec, die: &DieSpec) -> u32 {
        let left = self.hold_up().saturating_sub(time_to_save(drive, die));
        u32::try_from(left / time_to_complete(drive, die).max(1)).unwrap_or(u32::MAX)
    }

    /// Which operations of dies the energy carries to their end, once it has fed the drive for `already`: each die draws
    /// until its own are over. `left`: of each its die, as it is operated, and how long it still takes.
    #[must_use]
    pub fn carry(&self, left: &[(DieId, Nanos)], already: Nanos) -> Vec<bool> {
        let mut order: Vec<usize> = (0..left.len()).collect();
        order.sort_by_key(|&k| left[k].1);
        let mut ends: BTreeMap<u32, Nanos> = BTreeMap::new();
        for &(die, left) in left {
            let last = ends.entry(self.whole.whole(die).number()).or_default();
            *last = left.max(*last);
        }
        let all_dies = self.all_draw_mw();
        let mut energy = self.energy - all_dies * already as f64;
        let (mut at, mut carried) = (0, vec![false; left.len()]);
        for &k in &order {
            let left = left[k].1;
            let drawn = self.controller_mw + self.die_mw * ends.values().filter(|&&last| last >= left).count() as f64;
            energy -= drawn * (left - at) as f64;
            if energy < 0.0 || self.protects == Protection::Nothing {
                break;
            }
            at = left;
            carried[k] = true;
        }
        carried
    }
}

/// Whether the firmware can give rows of the buffer to dies without first doing what may take any time: merging logs, collecting for
/// one of several streams, bringing in pieces of the map, copying or padding for older pages. A collection under way leaves a
/// superblock in each domain: the buffer must not hold more.
fn needs_nothing_first(drive: &DriveSpec, die: &DieSpec) -> bool {
    let superblocks = drive.superblock_bytes(die) * u64::from(drive.flash.dies / drive.superblock_dies());
    drive.log_blocks.is_none()
        && u64::from(drive.buffer_pages()) * u64::from(drive.mapping.unit_bytes()) <= superblocks
        && drive.gc.frontier.streams() == 1
        && drive.mapping.map_cache_kib.is_none()
        && drive.keeps_older_pages() == KeepsOlderPages::No
}

/// The energy with which what has arrived in the write buffer of such a drive is as safe as on flash; `None`: with its firmware none
/// is certain to do.
#[must_use]
pub fn energy_to_save_mj(drive: &DriveSpec, die: &DieSpec) -> Option<f64> {
    let capacitors = Capacitors::new(&drive.power_loss.clone().unwrap_or_default(), drive, die);
    needs_nothing_first(drive, die).then(|| capacitors.all_draw_mw() * (time_to_save(drive, die) + 1) as f64 / 1e9)
}

/// How long it takes to write the whole buffer out, at the most, in rows that forced writes may have left partly empty. Every die ends what it is at, an erase perhaps, and what the
/// collector has given it: a buffer full to read, and one to program. If there is no room, the collector moves what is left of its
/// victims, which is less than the buffer holds, and erases them. Then each die writes its share of the rows and a few of the
/// journal. All in the slowest places there can be within the rated life, or as worn as the drive is from the
/// beginning, or at the channel's or the processor's pace, commands as if all occupied the channel; where only some dies may program
/// at once, each waits for its turn. Reads decode at once. Units that lack sectors come on top: [`Capacitors::units_that_may_lack`].
fn time_to_save(drive: &DriveSpec, die: &DieSpec) -> Nanos {
    let (g, dies) = (&die.geometry, drive.flash.dies);
    let modes = [&die.modes.slc, &die.modes.mlc, &die.modes.tlc].into_iter().flatten();
    let programs = die.timing.program_us.iter().chain(modes.clone().flat_map(|mode| &mode.program_us));
    let reads = die.timing.read_us.iter().chain(modes.clone().flat_map(|mode| &mode.read_us));
    let erases = modes.clone().map(|mode| mode.erase_ms).chain([die.timing.erase_ms]);
    let longest = |times: &mut dyn Iterator<Item = &f64>| times.copied().fold(0.0, f64::max);
    let row_bytes = f64::from(g.planes * (g.page_bytes + g.spare_bytes) * die.features.program_passes);
    let rate = die.bus.mega_transfers_per_s;
    let data_us = if rate == 0.0 { 0.0 } else { row_bytes / rate };
    let ways = f64::from(dies.div_ceil(drive.controller.channels));
    let at_pace = |array_us: f64, channel_us: f64| array_us.max(channel_us * ways) + channel_us;
    let lives = drive.used.as_ref().map_or(1.0, |used| used.most_lives().max(1.0));
    let slowest = die.variation.as_ref().map_or(Slowest::default(), |variation| variation.slowest(lives));
    // Planes that are programmed by themselves may come one after the other.
    let programs_of_row = if drive.mapping.row == RowSpan::AllPlanes { 1.0 } else { f64::from(g.planes) };
    // A die's program waits for those of all the others that are in line before it.
    let turns = f64::from(dies.div_ceil(drive.controller.programs_at_once.unwrap_or(dies)));
    let program_us = longest(&mut programs.into_iter()) * slowest.program;
    let row_us = at_pace(program_us, data_us + command_us(die, |cycles| cycles.program_us)) * programs_of_row * turns;
    let read_us = at_pace(longest(&mut reads.into_iter()) * slowest.read, data_us + command_us(die, of_read));
    let erase_us = 1e3 * erases.fold(0.0, f64::max) * slowest.erase;
    let erase_us = at_pace(erase_us, command_us(die, |cycles| cycles.erase_us));
    let units = drive.buffer_pages() * drive.compression_ratio();
    let full_rows = units.div_ceil(g.planes * drive.units_per_page(die));
    let collected = f64::from(drive.gc.buffer_superpages.max(drive.gc.rows_per_read + 1));
    let moved = f64::from(full_rows.div_ceil(dies) + ROWS_OF_LOG) + collected;
    // Without a cache of writes, each of these has waited for flash and may have sent out a row that is not full; none is empty.
    let forced = if drive.write_buffer.write_cache { 0 } else { drive.controller.queue_depth };
    let host_rows = full_rows.saturating_add(forced).min(full_rows.max(drive.buffer_pages()));
    let rows = host_rows.div_ceil(dies) + ROWS_OF_LOG;
    let dies_us = row_us * (f64::from(rows) + moved) + read_us * moved + 2.0 * erase_us;
    let end_us = drive.controller.program_end_us * programs_of_row * (f64::from(rows) + moved);
    let move_us = drive.controller.move_unit_us * f64::from(g.planes * drive.units_per_page(die)) * moved;
    nanos_from_us(dies_us.max((end_us + move_us) * f64::from(dies)) + row_us)
}

/// How long it takes at the most to read what a unit in the buffer lacks, with all that error correction may try.
fn time_to_complete(drive: &DriveSpec, die: &DieSpec) -> Nanos {
    let modes = [&die.modes.slc, &die.modes.mlc, &die.modes.tlc].into_iter().flatten();
    let reads = die.timing.read_us.iter().chain(modes.flat_map(|mode| &mode.read_us));
    let lives = drive.used.as_ref().map_or(1.0, |used| used.most_lives().max(1.0));
    let slowest = die.variation.as_ref().map_or(1.0, |variation| variation.slowest(lives).read);
    let read_us = reads.copied().fold(0.0, f64::max) * slowest;
    let (g, rate, unit_bytes) = (&die.geometry, die.bus.mega_transfers_per_s, drive.mapping.unit_bytes());
    let stored_bytes = f64::from(unit_bytes) * f64::from(g.page_bytes + g.spare_bytes) / f64::from(g.page_bytes);
    let transfer_us = if rate == 0.0 { 0.0 } else { stored_bytes / rate };
    let most = drive.ecc.as_ref().and_then(|ecc| ladder_of_unit(ecc, unit_bytes).ok());
    let most = most.map(|ladder| ladder.cost(ladder.levels().len() - 1));
    let (senses, transfers, stripe, decode) =
        most.map_or((0, 0, 0, 0), |most| (most.extra_senses, most.extra_transfers, most.stripe_reads, most.decode_ns));
    let stripe_rounds = stripe.div_ceil((drive.flash.dies - 1).max(1));
    let sensings = f64::from(1 + senses + stripe_rounds);
    // Each step of a retry has its own command, and the pages of the stripe may all cross one channel.
    let commands_us = f64::from(1 + senses + stripe) * command_us(die, of_read);
    let channel_us = f64::from(1 + transfers + stripe) * transfer_us + commands_us;
    nanos_from_us(sensings * read_us + channel_us) + decode
}

/// What the commands of an operation take: cycles that occupy the channel stand in place of the bus's own.
fn command_us(die: &DieSpec, of_cycles: fn(&BusCycles) -> f64) -> f64 {
    die.features.cycles.as_ref().map_or(die.bus.command_us, of_cycles)
}

fn of_read(cycles: &BusCycles) -> f64 {
    cycles.read_us + cycles.data_out_us
}

/// Rows that a die may have to write beside its share: one under way, and what the journal has still to say.
const ROWS_OF_LOG: u32 = 4;

/// How long a drive takes to start, apart from what it does to its flash.
#[derive(Clone, Copy, Debug)]
pub struct StartTimes {
    pub boot: Nanos,
    pub replay_entry_ps: u64,
}

impl StartTimes {
    #[must_use]
    pub fn new(spec: &PowerLossSpec) -> Self {
        let replay = nanos_from_us(spec.replay_entry_ns);
        // A thousandth of a nanosecond is exact enough for entries counted in millions.
        StartTimes { boot: nanos_from_ms(spec.boot_ms), replay_entry_ps: replay }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_ecc::spec::{BchSpec, EccSpec, RetrySpec};
    use ssdlab_nand::VariationSpec;

    use super::*;
    use crate::UsedSpec;

    fn small_die() -> DieSpec {
        DieSpec::plain(ssdlab_nand::Geometry {
            planes: 1,
            blocks_per_plane: 8,
            pages_per_block: 4,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: ssdlab_nand::PageOrder::Uniform,
        })
    }

    fn capacitors(energy_mj: f64, left_percent: f64) -> Capacitors {
        let spec = PowerLossSpec {
            protects: Protection::DataAtRest,
            energy_mj: Some(energy_mj),
            energy_left_percent: left_percent,
            ..PowerLossSpec::default()
        };
        let die = small_die();
        Capacitors::new(&spec, &DriveSpec::plain("plain", 16, 0), &die)
    }

    #[test]
    fn those_that_need_least_are_carried_first_and_dies_that_are_through_draw_no_more() {
        // 1 W and two dies for 1 ms are 1.165 mJ, and one die for another millisecond 1.0825 mJ.
        let left = [(DieId::new(0), 2_000_000), (DieId::new(1), 1_000_000)];
        assert_eq!(capacitors(2.25, 100.0).carry(&left, 0), [true, true]);
        assert_eq!(capacitors(2.24, 100.0).carry(&left, 0), [false, true]);
        assert_eq!(capacitors(2.25, 50.0).carry(&left, 0), [false, false]);
        assert_eq!(capacitors(2.25, 100.0).carry(&[], 0), [false; 0]);
    }

    #[test]
    fn they_keep_the_buffer_if_they_last_until_all_of_it_is_on_flash() {
        let mut die = small_die();
        die.geometry.pages_per_block = 16;
        (die.timing.program_us, die.timing.erase_ms, die.bus.mega_transfers_per_s) = (vec![1000.0], 3.0, 0.0);
        (die.timing.read_us, die.bus.command_us) = (vec![100.0], 0.0);
        let mut drive = DriveSpec::plain("plain", 16, 0);
        drive.write_buffer.capacity_kib = 16 * 4 * 10;
        let keeps = |drive: &DriveSpec, protects, energy_mj| {
            let spec = PowerLossSpec { protects, energy_mj: Some(energy_mj), ..PowerLossSpec::default() };
            Capacitors::new(&spec, drive, &die).keep_buffer(drive, &die)
        };
        // Ten rows a die and four of the journal, as many to move and four that the collector has, one under way: 33 programs.
        // 18 reads and two erases: 40.8 ms at 2.32 W.
        let everything = Protection::Everything;
        assert!(keeps(&drive, everything, 94.7) && !keeps(&drive, everything, 94.6));
        assert!(!keeps(&drive, Protection::DataAtRest, 1e6));
        assert!((energy_to_save_mj(&drive, &die).unwrap() - 94.656).abs() < 1e-3);
        // With pages of four units, four rows in place of ten. Without a cache of writes, of 32 rows that commands in flight have
        // forced two more on each die; with one, such a drive forces none.
        let mut larger = die.clone();
        larger.geometry.page_bytes = 16_384;
        for (write_cache, rows) in [(false, 2.0), (true, 0.0)] {
            let mut drive = drive.clone();
            (drive.write_buffer.write_cache, drive.controller.queue_depth) = (write_cache, 1);
            let one_at_a_time = energy_to_save_mj(&drive, &larger).unwrap();
            drive.controller.queue_depth = 33;
            let more = energy_to_save_mj(&drive, &larger).unwrap() - one_at_a_time;
            assert!((more - rows * 2.32).abs() < 1e-3, "{write_cache}: {more} mJ");
        }
        // The processor needs longer: 32 rows of 16 dies, 100 us each, and one more.
        drive.controller.program_end_us = 100.0;
        assert!(keeps(&drive, everything, 121.2) && !keeps(&drive, everything, 121.0));
        drive.gc.frontier = ssdlab_ftl::Frontier::Separate;
        drive.write_buffer.capacity_kib = 16 * 16 * 4 + 4;
        assert!(!keeps(&drive, everything, 1e6), "a superblock does not hold the buffer");
    }

    #[test]
    fn where_few_dies_program_at_once_the_others_wait_for_their_turns() {
        let mut die = small_die();
        die.geometry.pages_per_block = 16;
        (die.timing.program_us, die.timing.erase_ms, die.bus.mega_transfers_per_s) = (vec![1000.0], 3.0, 0.0);
        let mut drive = DriveSpec::plain("plain", 16, 0);
        drive.write_buffer.capacity_kib = 16 * 4 * 10;
        let mut energy_mj = |programs_at_once| {
            drive.controller.programs_at_once = programs_at_once;
            energy_to_save_mj(&drive, &die).unwrap()
        };
        let all = energy_mj(None);
        assert_eq!([16, 20].map(|most| energy_mj(Some(most))), [all, all]);
        // 33 programs of a die, see above, each of which waits for those of one, two or fifteen others.
        for (most, waits) in [(15, 1.0), (8, 1.0), (7, 2.0), (1, 15.0)] {
            let more = energy_mj(Some(most)) - all;
            assert!((more - waits * 33.0 * 2.32).abs() < 1e-3, "{most} at once: {more} mJ more");
        }
    }

    /// Cycles occupy the channel in place of the bus's own.
    #[test]
    fn cycles_on_the_channel_take_time_as_commands_do() {
        let mut die = small_die();
        (die.geometry.pages_per_block, die.bus.mega_transfers_per_s) = (16, 0.0);
        let mut drive = DriveSpec::plain("plain", 16, 0);
        (drive.write_buffer.capacity_kib, drive.controller.channels) = (16 * 4 * 10, 4);
        let times = |command_us, cycles_us: Option<f64>| {
            let mut die = die.clone();
            die.bus.command_us = command_us;
            die.features.cycles = cycles_us.map(|us| BusCycles {
                read_us: 0.25 * us,
                data_out_us: 0.75 * us,
                program_us: us,
                erase_us: us,
            });
            [time_to_save(&drive, &die), time_to_complete(&drive, &die)]
        };
        let none = times(0.0, None);
        for us in [1.0, 20.0, 1000.0] {
            let with = times(2.0, Some(us));
            assert_eq!(with, times(us, None));
            assert_eq!(with[1], none[1] + nanos_from_us(us));
        }
        // Four dies of a channel that each wait for the others' millisecond: 33 programs of 0.5 ms, 18 reads of 50 us and two
        // erases of 1 ms.
        let channel_us = [33.0 * 4500.0, 18.0 * 4950.0, 2.0 * 4000.0];
        assert_eq!(times(0.0, Some(1000.0))[0], none[0] + nanos_from_us(channel_us.iter().sum()));
    }

    #[test]
    fn what_energy_is_left_reads_the_rest_of_units_that_lack_sectors_one_after_the_other() {
        let mut die = small_die();
        die.geometry.pages_per_block = 16;
        (die.timing.read_us, die.bus.command_us, die.bus.mega_transfers_per_s) = (vec![100.0], 0.0, 0.0);
        let mut drive = DriveSpec::plain("plain", 16, 0);
        drive.write_buffer.capacity_kib = 16 * 4 * 10;
        let least = energy_to_save_mj(&drive, &die).unwrap();
        let may_lack = |drive: &DriveSpec, more_ms: f64| {
            let (protects, energy_mj) = (Protection::Everything, Some(least + 2.32 * more_ms));
            let spec = PowerLossSpec { protects, energy_mj, ..PowerLossSpec::default() };
            Capacitors::new(&spec, drive, &die).units_that_may_lack(drive, &die)
        };
        assert_eq!([0.0, 0.09, 0.21, 1.01, 0.1 * 100.0 + 0.01].map(|ms| may_lack(&drive, ms)), [0, 0, 2, 10, 100]);
        // Three retries, and 20 pages of the stripe on 15 other dies: six sensings in place of one, and five attempts
        // to decode.
        drive.ecc = Some(EccSpec {
            codeword_bytes: 1024,
            bch: Some(BchSpec { correctable_bits: 8, decode_us: 10.0 }),
            ldpc: None,
            retry: RetrySpec { max_retries: 3, ..RetrySpec::default() },
            parity_stripe: Some(20),
        });
        assert_eq!([0.64, 0.66, 6.49, 6.51].map(|ms| may_lack(&drive, ms)), [0, 1, 9, 10]);
    }

    /// Erases take longer beyond the rated life, and a buffer may have to wait for two.
    #[test]
    fn a_drive_that_is_worn_from_the_beginning_needs_more_energy() {
        let mut die = small_die();
        (die.geometry.pages_per_block, die.timing.erase_ms) = (16, 3.0);
        die.variation = Some(VariationSpec {
            program_dies_percent: 0.0,
            program_blocks_percent: 0.0,
            program_pages_percent: 0.0,
            read_pages_percent: 0.0,
            erase_blocks_percent: 0.0,
            program_gain_at_rated_cycles_percent: 0.0,
            erase_growth_at_rated_cycles_percent: 100.0,
        });
        let mut drive = DriveSpec::plain("plain", 16, 0);
        drive.write_buffer.capacity_kib = 16 * 4 * 10;
        let mut energy_mj = |life_percent| {
            drive.used = Some(UsedSpec { life_percent, spread_percent: 0.0 });
            energy_to_save_mj(&drive, &die).unwrap()
        };
        let (new, rated, worn) = (energy_mj(0.0), energy_mj(100.0), energy_mj(300.0));
        assert_eq!(new, rated);
        // Two erases that take two times 3 ms longer, at 2.32 W.
        assert!((worn - rated - 27.84).abs() < 1e-3, "{rated} and {worn} mJ");
    }

    #[test]
    fn all_dies_and_the_controller_drain_it_together() {
        // 1 W and sixteen dies: 2.32 W.
        assert_eq!(capacitors(2.32, 100.0).hold_up(), 1_000_000);
        assert_eq!(capacitors(2.32, 25.0).hold_up(), 250_000);
        assert_eq!(capacitors(2.32, 100.0).carry(&[(DieId::FIRST, 0)], 1_000_001), [false]);
    }

    /// Sixteen dies of two planes are no thirty-two dies, and one that both planes are at work in draws once.
    #[test]
    fn planes_that_are_operated_apart_draw_what_their_die_draws() {
        let (mut drive, mut die) = (DriveSpec::plain("plain", 16, 0), small_die());
        (drive.flash.planes_apart, die.geometry.planes, drive.controller.channels) = (true, 2, 1);
        let capacitors = |energy_mj| {
            let protects = Protection::DataAtRest;
            let spec = PowerLossSpec { protects, energy_mj: Some(energy_mj), ..PowerLossSpec::default() };
            Capacitors::new(&spec, &drive, &die)
        };
        assert_eq!(capacitors(2.32).hold_up(), 1_000_000);
        let beside = |other| [(DieId::new(0), 2_000_000), (DieId::new(other), 1_000_000)];
        // 1.0825 W for two milliseconds, or one of them with another die.
        assert_eq!([2.17, 2.16].map(|mj| capacitors(mj).carry(&beside(1), 0)), [[true, true], [false, true]]);
        assert_eq!([2.25, 2.17].map(|mj| capacitors(mj).carry(&beside(2), 0)), [[true, true], [false, true]]);
    }
}
