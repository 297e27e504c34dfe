//! The simulated drive: a [`ssdlab_device::Device`] built from a drive file ([`DriveSpec`]) and a die file
//! ([`ssdlab_nand::DieSpec`]): host link, command queue, firmware time, write buffer, dies and channels, and the
//! translation layer that decides what they do.
//!
//! How a write travels: command frame → firmware (one processor, in order) → room in the write buffer → data over
//! the link → acknowledged (write cache on) → a row of units is given to a die → bus → array → buffer room freed. A unit of
//! which only some sectors have come is completed from flash before its row goes (`frontend/partial_write.rs`).
//! How a read travels: command frame → firmware → map → die (array, then bus), or buffer → data over the link.
//! Garbage collection, journal and erases are more operations on the same dies and channels.
//!
//! The drive has three rooms, which know their own events: `frontend` (link, commands, read-ahead), `firmware`
//! (processor, rounds, idle work) and `backend` (dies, channels, correction). What explains and what checks is `probe`;
//! what a power cut leaves of all this, and how the drive starts again, is in `plug`.
//!
//! Liberties, stated: the bus is booked ahead (see `backend/channel.rs`); a die that has begun an operation is interrupted
//! only where the die file says so; planar cells of three bits give their room in the buffer back with the program of each
//! page, not with the last pass of its word line; the sub-microsecond control frames add to a command's latency and to the link time of
//! its data, but do not queue.

mod as_device;
mod backend;
mod blame;
mod books;
mod die_parts;
mod firmware;
mod flash_life;
mod frontend;
mod heat;
mod mapping_unit;
mod op_queues;
mod plain;
mod plug;
mod power;
mod probe;
mod security;
mod slot;
mod spec;
pub mod timing;
mod used;
mod wear_forecast;
mod whole_dies;

use std::collections::BTreeSet;
use std::sync::Arc;

use ssdlab_core::{Nanos, Rng, SECTOR_BYTES};
use ssdlab_device::{Completion, Device, DeviceInfo, FlashCounters, HostCounters, name_of_model};
use ssdlab_ftl::{
    ChooseVictim, HostUnits, Journal, LogBlock, LogBlockConfig, LogBlockFault, MappingSpec, PageMap, PageMapConfig,
    RecoveryFault, SlcCacheSpec, Translation,
};
use ssdlab_nand::{BlockId, DieSpec, GrowingFaults, SpecError, Variation};

use backend::{Backend, Correction, NEVER};
use die_parts::DieParts;
use firmware::Firmware;
use flash_life::WearNotes;
use frontend::Frontend;
use heat::Heat;
use mapping_unit::MappingUnit;
use plug::PlugState;
use power::PowerMeter;
use probe::Probe;
use security::SecurityState;

use op_queues::OpQueues;
use whole_dies::WholeDies;

pub use backend::{Loss, LossReader};
pub use frontend::{LinkGeneration, LinkSpec, NotQueued, PcieSpec};
pub use heat::HeatSpec;
#[doc(hidden)]
pub use plug::SavedDrive;
pub use plug::{PowerLossSpec, Protection, energy_to_save_mj};
pub use power::PowerSpec;
pub use security::{Cipher, EncryptionSpec, Locking};
pub use spec::{ControllerSpec, Cores, DriveSpec, FlashSpec, RefreshSpec, WriteBufferSpec, drive_keys};
pub use used::UsedSpec;

/// A drive as reviews and tests use it: every completion explained, every read checked.
pub type Ssd = SimulatedSsd<true, true>;

/// See the module's own page. `EXPLAIN`: completions carry their breakdown. `CHECK`: every read is checked against
/// the host's last write of that unit, by the low bits of a write count kept on both sides (see
/// [`ssdlab_nand::TagFormat`]; addresses are checked always); and every flash operation and every transfer on the link
/// is judged by the referee of time ([`crate::timing`]). `T`: the translation layer that it is built for.
#[derive(Clone, Debug)]
pub struct SimulatedSsd<const EXPLAIN: bool, const CHECK: bool, T: Translation = PageMap> {
    info: DeviceInfo,
    /// The model by whose name chance draws for it.
    drawn_as: Box<str>,
    now: Nanos,
    translation: T,
    frontend: Frontend,
    firmware: Firmware,
    backend: Backend,
    probe: Probe<EXPLAIN, CHECK>,
    power: Option<Box<(PowerSpec, PowerMeter)>>,
    heat: Option<Box<Heat>>,
    plug: PlugState,
    security: SecurityState<Self>,
    buffer: BufferLimits,
    /// What one entry of the map stands for.
    unit: MappingUnit,
    host: HostCounters,
    /// What is counted here; the rest is counted where it happens.
    flash: FlashCounters,
    wear_notes: WearNotes,
}

/// What the write buffer takes; its contents are the translation layer's.
#[derive(Clone, Copy, Debug)]
pub struct BufferLimits {
    /// Room, in units of flash.
    pub units: u32,
    /// Writes are acknowledged once they are in it.
    pub acknowledges: bool,
    /// Writes that wait for flash share rows with those that come at once.
    pub joins: bool,
    /// Of longer writes the data go past the SLC cache.
    pub largest_cached_bytes: u64,
}

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    /// Builds a page-mapped drive, fresh from the factory.
    ///
    /// # Errors
    /// A value of the drive or die file that cannot be built.
    pub fn new<'a>(
        model: impl Into<Model<'a>>,
        drive: &DriveSpec,
        die: &DieSpec,
        seed: u64,
    ) -> Result<Self, SpecError> {
        let build = |rng: &Rng, logical_pages| {
            let (mapped, mapped_die) = drive.as_mapped(die);
            let config = PageMapConfig {
                die: &mapped_die,
                dies: mapped.flash.dies,
                blocks: mapped.blocks_per_die(&mapped_die),
                withheld_blocks: mapped.withheld_blocks(&mapped_die),
                logical_pages,
                buffer_units: drive.buffer_pages(),
                read_granule_bytes: drive.controller.read_granule_bytes,
                mapping: &mapped.mapping,
                gc: &drive.gc,
                wear_levelling: &drive.wear_levelling,
                slc_cache: drive.slc_cache.as_ref(),
                compression: drive.compression.as_ref(),
                keeps_older_pages: drive.keeps_older_pages(),
            };
            let map = PageMap::new(&config, rng);
            let usable = usable_bytes(&map);
            let spare = drive.superblock_bytes(die) * u64::from(drive.spare_superblocks_needed());
            let needed = drive.capacity_bytes + spare;
            // An exact spare is as small as it was asked for, but nothing may eat into it.
            let whole = drive.flash.exact_spare_per_10000.is_some() && usable == mapped.built_bytes(&mapped_die);
            if usable < needed && !whole {
                if let Some(error) = journal_too_long(&config, rng, needed) {
                    return Err(error);
                }
                let (set_aside, smaller_cache) = drive.cache_as_cause(die);
                let help = match drive.flash.exact_spare_per_10000 {
                    // The flash follows the capacity: with less of it there is less flash, too.
                    Some(_) => {
                        format!("use a larger flash.exact_spare_per_10000 or none, or a smaller reserve{smaller_cache}")
                    }
                    None => {
                        let most = drive.most_sold_bytes(die, usable);
                        let help = drive.capacity_help(die, most, drive.built_bytes(die) - usable + spare);
                        format!("{help}, or a smaller reserve")
                    }
                };
                return Err(SpecError::new(
                    "capacity_bytes",
                    format!("bad, reserved and system blocks leave {usable} bytes{set_aside}, and {needed} are needed"),
                    help,
                ));
            }
            Ok(map)
        };
        Self::with_translation(model, drive, die, seed, build)
    }

    /// For studying policies of a drive that is new: see [`PageMap::study`].
    ///
    /// # Panics
    /// As [`PageMap::study`].
    pub fn study(&mut self, choose: Option<Arc<ChooseVictim>>, pace: Option<Arc<HostUnits>>) {
        self.translation.study(choose, pace);
    }

    /// For tests of tests: from now on the firmware recovers wrongly from power cuts.
    pub fn break_recovery(&mut self, fault: RecoveryFault) {
        self.translation.break_recovery(fault);
    }

    /// From now on blocks go bad in use, at moments drawn from `seed` for the model that the drive is drawn as.
    pub fn inject(&mut self, faults: GrowingFaults, seed: u64) {
        self.translation.inject(faults, &chance(&self.drawn_as, seed));
    }
}

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK, LogBlock> {
    /// Builds a drive that translates by blocks (`[log_blocks]`), fresh from the factory.
    ///
    /// # Errors
    /// A value of the drive or die file that cannot be built.
    pub fn with_log_blocks<'a>(
        model: impl Into<Model<'a>>,
        drive: &DriveSpec,
        die: &DieSpec,
        seed: u64,
    ) -> Result<Self, SpecError> {
        // Before planes are counted as dies: what is wrong is told as it stands in the file.
        drive.validate(die)?;
        let as_filed = (drive, die);
        let (drive, die) = &drive.with_planes_apart(die);
        let Some(spec) = &drive.log_blocks else {
            return Err(SpecError::new("log_blocks", "the drive has none", "add [log_blocks]"));
        };
        let build = |rng: &Rng, logical_pages| {
            let blocks = u64::from(die.geometry.blocks_per_plane);
            let reserved = blocks * u64::from(drive.mapping.reserved_blocks_per_1000) / 1000;
            let config = LogBlockConfig {
                die,
                dies: drive.flash.dies,
                channels: drive.controller.channels,
                logical_pages,
                reserved_blocks: reserved as u32,
                least_worn_first: drive.wear_levelling.dynamic,
                spec,
            };
            LogBlock::new(&config, rng)
        };
        Self::assemble(model.into(), drive, die, as_filed, seed, build)
    }

    /// For tests of tests: from now on the firmware recovers wrongly from power cuts.
    pub fn break_recovery(&mut self, fault: LogBlockFault) {
        self.translation.break_recovery(fault);
    }
}

/// The drive that a drive file describes, with the translation layer that it names, fresh from the factory. It explains
/// every latency and checks every read.
///
/// # Errors
/// A value of the drive or die file that cannot be built.
pub fn build<'a>(
    model: impl Into<Model<'a>>,
    drive: &DriveSpec,
    die: &DieSpec,
    seed: u64,
) -> Result<Box<dyn Device>, SpecError> {
    explained(model.into(), drive, die, seed)
}

/// The same drive, without causes.
///
/// # Errors
/// As those of [`build`].
pub fn build_unexplained<'a>(
    model: impl Into<Model<'a>>,
    drive: &DriveSpec,
    die: &DieSpec,
    seed: u64,
) -> Result<Box<dyn Device>, SpecError> {
    unexplained(model.into(), drive, die, seed)
}

// Not generic, so that drives are compiled here and in no other crate, where a seventh more instructions come of it.
fn explained(model: Model<'_>, drive: &DriveSpec, die: &DieSpec, seed: u64) -> Result<Box<dyn Device>, SpecError> {
    boxed::<true>(model, drive, die, seed)
}

fn unexplained(model: Model<'_>, drive: &DriveSpec, die: &DieSpec, seed: u64) -> Result<Box<dyn Device>, SpecError> {
    boxed::<false>(model, drive, die, seed)
}

fn boxed<const EXPLAIN: bool>(
    model: Model<'_>,
    drive: &DriveSpec,
    die: &DieSpec,
    seed: u64,
) -> Result<Box<dyn Device>, SpecError> {
    Ok(if drive.log_blocks.is_some() {
        Box::new(SimulatedSsd::<EXPLAIN, true, LogBlock>::with_log_blocks(model, drive, die, seed)?)
    } else {
        Box::new(SimulatedSsd::<EXPLAIN, true>::new(model, drive, die, seed)?)
    })
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// Builds a drive with another translation layer, fresh from the factory. `build` makes it, for so many logical
    /// pages.
    ///
    /// # Errors
    /// A value of the drive or die file that cannot be built, or what `build` says.
    pub fn with_translation<'a>(
        model: impl Into<Model<'a>>,
        drive: &DriveSpec,
        die: &DieSpec,
        seed: u64,
        build: impl FnOnce(&Rng, u32) -> Result<T, SpecError>,
    ) -> Result<Self, SpecError> {
        drive.validate(die)?;
        Self::assemble(model.into(), drive, die, (drive, die), seed, build)
    }

    /// Builds a drive of dies as they are operated. `as_filed`: drive and die as the files have them, valid, of which supply and
    /// firmware count the dies ([`WholeDies`]).
    fn assemble(
        model: Model<'_>,
        drive: &DriveSpec,
        die: &DieSpec,
        as_filed: (&DriveSpec, &DieSpec),
        seed: u64,
        build: impl FnOnce(&Rng, u32) -> Result<T, SpecError>,
    ) -> Result<Self, SpecError> {
        let rng = chance(model.drawn_as, seed);
        let unit = MappingUnit::new(drive.mapping.unit_bytes());
        let logical_pages = unit.of(drive.capacity_bytes).number();
        let translation = build(&rng, logical_pages)?;
        let usable = usable_bytes(&translation);
        let medium = translation.medium();
        let correction = match (&drive.ecc, &die.errors) {
            (Some(ecc), Some(errors)) => {
                let parts = DieParts::of(drive, die).count();
                let size = (parts, medium.layout().block_count());
                let mut correction = Correction::new(ecc, die, errors, drive.mapping.unit_bytes(), size, &rng)?;
                if let Some(most) = drive.refresh.as_ref().and_then(|refresh| refresh.after_block_reads) {
                    correction.watch_reads(most);
                }
                Some(correction)
            }
            _ => None,
        };
        let blocks = medium.layout().block_count() / drive.flash.dies;
        let variation = die.variation.as_ref().map(|spec| Variation::new(spec, drive.flash.dies, blocks, &rng));
        let row_units = medium.layout().row_units.into();
        let mut probe = Probe::new(drive, die, logical_pages, medium.format().max_generation());
        let mut backend = Backend::new(drive, die, correction, variation);
        let whole = WholeDies::of(as_filed.0, as_filed.1);
        if whole.are_split() {
            backend.count_whole_dies(whole);
            probe.check(|checks| checks.count_whole_dies(whole));
        }
        let info = DeviceInfo {
            name: model.name.to_owned(),
            kind: "ssd",
            description: drive.description.clone(),
            capacity_bytes: drive.capacity_bytes,
            sector_bytes: SECTOR_BYTES as u32,
            queue_depth: drive.controller.queue_depth,
            streams: translation.streams(),
            supports_trim: drive.supports_trim,
            supports_write_zeroes: false,
            read_only: false,
            compresses: translation.compresses(),
            holds_contents: false,
            over_provisioning_percent: Some(drive.over_provisioning_percent(die, usable)),
        };
        let mut ssd = SimulatedSsd {
            info,
            drawn_as: model.drawn_as.into(),
            now: 0,
            translation,
            frontend: Frontend::new(drive),
            firmware: Firmware::new(drive, row_units),
            backend,
            probe,
            power: drive.power.clone().zip(PowerMeter::new(as_filed.0, as_filed.1)).map(Box::new),
            heat: drive.heat.as_ref().map(|spec| Box::new(Heat::new(spec))),
            plug: PlugState::new(model.drawn_as, drive, die, as_filed, seed),
            security: SecurityState::new(drive),
            buffer: BufferLimits {
                units: drive.buffer_pages() * drive.compression_ratio(),
                acknowledges: drive.write_buffer.write_cache,
                joins: drive.write_buffer.joins_waiting_writes,
                largest_cached_bytes: drive.slc_cache.as_ref().map_or(u64::MAX, SlcCacheSpec::largest_write_bytes),
            },
            unit,
            host: HostCounters::default(),
            flash: FlashCounters::default(),
            wear_notes: WearNotes::default(),
        };
        if let Some(used) = &drive.used {
            let kept_back: BTreeSet<BlockId> = ssd.translation.kept_back().into_iter().collect();
            let worn = used.wear(ssd.translation.medium(), &rng);
            let worn: Vec<_> = worn.filter(|(block, ..)| !kept_back.contains(block)).collect();
            ssd.wear_each(worn.into_iter());
        }
        Ok(ssd)
    }

    /// The translation layer, for whoever wants to look inside.
    #[must_use]
    pub fn translation(&self) -> &T {
        &self.translation
    }

    /// For experiments: gives every page of a block a read time (tR) of its own, as the layers of a stack or the
    /// quantiles of a distribution have it, instead of the die file's one time for each kind of page.
    ///
    /// # Panics
    /// If there is not one time for each page of a block.
    pub fn set_page_read_times(&mut self, by_page: &[Nanos]) {
        self.backend.set_page_read_times(by_page);
        self.probe.check(|checks| checks.set_page_read_times(by_page));
    }

    /// Lets the translation layer decide something, and begins what it asked of idle dies.
    #[inline]
    fn ask(&mut self, question: impl FnOnce(&mut T, &mut OpQueues)) {
        let (translation, mut queues) = self.translation_and_queues();
        question(translation, &mut queues);
        self.begin_woken();
        if self.firmware.rounds.are_used() {
            self.follow_rounds();
        }
    }

    /// The translation layer, and where its operations go. [`Self::begin_woken`] must follow.
    #[inline]
    fn translation_and_queues(&mut self) -> (&mut T, OpQueues<'_>) {
        let queues = OpQueues::new(&mut self.backend, &mut self.firmware.processor, self.now);
        (&mut self.translation, queues)
    }

    /// Begins what waits for dies that have nothing under way.
    #[inline]
    fn begin_woken(&mut self) {
        self.backend.begin_woken(self.now, &mut self.translation, &mut self.probe);
    }

    /// The processor has prepared a row that the collector writes: it goes to its die.
    #[cold]
    fn row_prepared(&mut self) {
        let (die, op) = self.firmware.processor.pop_row(self.now).expect("one for each of the queue's");
        if op.yields() {
            self.backend.queue_behind(die, op);
        } else {
            self.backend.queue(self.now, die, op);
        }
        self.begin_woken();
    }

    /// Whether nothing is at work inside.
    #[inline]
    fn is_at_rest(&self) -> bool {
        self.backend.next_event().0 == NEVER && !self.firmware.processor.prepares_rows()
    }

    /// Runs events up to `limit`, or up to the first completion if `stop` is set. Returns the time reached.
    #[inline]
    fn run(&mut self, mut limit: Nanos, mut stop: bool, done: &mut Vec<Completion>) -> Nanos {
        loop {
            let (die_at, d) = self.backend.next_event();
            let processed_at = self.firmware.processor.next_event().unwrap_or(NEVER);
            let finished_at = self.frontend.commands.next_event().unwrap_or(NEVER);
            let silent = self.frontend.in_flight.is_none();
            let idle_at = if silent { self.rest() } else { self.frontend.held.next_event() };
            let next = die_at.min(processed_at).min(finished_at).min(idle_at);
            if next > limit || next == NEVER {
                if limit != NEVER {
                    self.now = self.now.max(limit);
                }
                return limit;
            }
            if die_at == next {
                if T::COPIES_IN_CHAINS {
                    let others = processed_at.min(finished_at).min(idle_at).min(limit.saturating_add(1));
                    if self.copy_ahead(d, others) {
                        continue;
                    }
                }
                self.die_event(die_at, d);
            } else if processed_at == next {
                self.processed();
            } else if finished_at == next {
                self.deliver(finished_at, done);
                if stop {
                    // What else happens at this instant happens before the host sends anything.
                    limit = finished_at;
                    stop = false;
                }
            } else if silent {
                self.idle_work(idle_at);
            } else {
                self.let_in(idle_at);
            }
        }
    }

    /// Writes out what waits inside, and lets everything end that is under way.
    ///
    /// # Panics
    /// If what waits can never be written: a drive that stands still.
    pub(crate) fn finish_inside(&mut self) {
        self.flush_rows();
        let mut has_just_flushed = true;
        loop {
            let (die_at, d) = self.backend.next_event();
            let processed_at = self.firmware.processor.next_event().unwrap_or(NEVER);
            if processed_at < die_at {
                self.processed();
            } else if die_at != NEVER {
                self.die_event(die_at, d);
            } else if self.translation.waiting_units() > 0 && !self.translation.is_read_only() {
                let waiting = self.translation.waiting_units();
                assert!(!has_just_flushed, "{}: {waiting} units wait and will never be written", self.info.name);
                self.flush_rows();
                has_just_flushed = true;
                continue;
            } else {
                break;
            }
            has_just_flushed = false;
        }
    }
}

/// What a drive is called, and as which model chance gives it bad blocks, program times and whatever else differs from one
/// specimen to the next: drives that are drawn as one model differ, with one seed, by what their files say alone.
#[derive(Clone, Copy, Debug)]
pub struct Model<'a> {
    pub name: &'a str,
    pub drawn_as: &'a str,
}

impl<'a> From<&'a str> for Model<'a> {
    /// A model of its own.
    fn from(name: &'a str) -> Self {
        Model { name, drawn_as: name }
    }
}

impl<'a> From<&'a String> for Model<'a> {
    fn from(name: &'a String) -> Self {
        Model::from(name.as_str())
    }
}

/// What chance gives a drive.
fn chance(name: &str, seed: u64) -> Rng {
    Rng::new(seed).stream(name_of_model(name))
}

/// If a drive lacks room, so many bytes being needed, and would not with the shortest ring for its journal: the key that makes
/// the ring longer, with its largest value that leaves enough.
fn journal_too_long(config: &PageMapConfig, rng: &Rng, needed: u64) -> Option<SpecError> {
    let mapping = config.mapping;
    if !mapping.journal || mapping.map_cache_kib.is_some() {
        return None;
    }
    let (key, value, least) = match mapping.journal_limit_rows {
        Some(rows) => ("mapping.journal_limit_rows", rows, 2),
        None => ("mapping.journal_rows_per_checkpoint_row", mapping.journal_rows_per_checkpoint_row, 1),
    };
    let with = |value| match mapping.journal_limit_rows {
        Some(_) => MappingSpec { journal_limit_rows: Some(value), ..mapping.clone() },
        None => MappingSpec { journal_rows_per_checkpoint_row: value, ..mapping.clone() },
    };
    let map = PageMap::new(&PageMapConfig { mapping: &with(least), ..*config }, rng);
    let layout = map.medium().layout();
    let places = |value| {
        let checkpoints = Journal::checkpoints(&with(value), config.logical_pages, layout);
        u64::from(Journal::ring_blocks(&checkpoints, layout))
    };
    let place_bytes = u64::from(layout.pages) * u64::from(layout.dies) * u64::from(layout.row_bytes());
    let room = places(least) + usable_bytes(&map).checked_sub(needed)? / place_bytes;
    let (mut fits, mut too_many) = (least, value);
    while fits + 1 < too_many {
        let middle = fits.midpoint(too_many);
        if places(middle) <= room { fits = middle } else { too_many = middle }
    }
    let blocks = places(value);
    (fits < value).then(|| {
        SpecError::new(
            key,
            format!("journal and checkpoints take {blocks} blocks of each die, and there is room for {room}"),
            format!("use at most {fits}, or a smaller capacity_bytes"),
        )
    })
}

/// Bytes of flash that can hold the host's data.
fn usable_bytes(translation: &impl Translation) -> u64 {
    translation.usable_units() * u64::from(translation.medium().layout().unit_bytes)
}
