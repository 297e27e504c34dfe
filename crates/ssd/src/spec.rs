//! A drive as a file in `catalog/drives`.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_core::MAX_DIES;
use ssdlab_ecc::spec::EccSpec;
use ssdlab_ftl::{
    CompressionSpec, Frontier, GcSpec, HostShare, KeepsOlderPages, LogBlockSpec, MappingSpec, RowSpan, SlcCachePolicy,
    SlcCacheSpec, SuperblockSpan, WearLevellingSpec, spare_superblocks, system_blocks,
};
use ssdlab_keys::{KeyTable, SpecError};
use ssdlab_nand::{DieSpec, Layout};

use crate::frontend::LinkSpec;
use crate::heat::HeatSpec;
use crate::plug::PowerLossSpec;
use crate::power::PowerSpec;
use crate::security::EncryptionSpec;
use crate::used::UsedSpec;

/// Everything that makes one drive differ from another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Drive"))]
pub struct DriveSpec {
    /// A line for people: maker, controller, flash, capacity.
    pub description: String,
    /// Capacity as sold.
    #[schemars(range(min = 4096, max = MAX_CAPACITY_BYTES), extend("multipleOf" = 4096))]
    pub capacity_bytes: u64,
    /// Whether the drive knows TRIM (DATA SET MANAGEMENT); if not, it refuses the command.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    #[schemars(extend("default" = true))]
    pub supports_trim: bool,
    pub flash: FlashSpec,
    pub link: LinkSpec,
    pub controller: ControllerSpec,
    pub write_buffer: WriteBufferSpec,
    /// Required, unless the drive has `[log_blocks]`.
    #[serde(default)]
    pub mapping: MappingSpec,
    /// Required, unless the drive has `[log_blocks]`.
    #[serde(default)]
    pub gc: GcSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_blocks: Option<LogBlockSpec>,
    #[serde(default)]
    pub wear_levelling: WearLevellingSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_cache: Option<SlcCacheSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_loss: Option<PowerLossSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<EncryptionSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<HeatSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<CompressionSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<EccSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<RefreshSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<UsedSpec>,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Flash"))]
pub struct FlashSpec {
    /// A die type of the catalog, or the path of a die file.
    pub die: String,
    /// Dies in all; a multiple of the channels.
    #[schemars(range(min = 1, max = 512))]
    pub dies: u32,
    /// Builds dies with as many blocks as give exactly this spare area, in shares of the capacity and to the nearest
    /// superblock, besides the blocks that are always open or free: for comparison with theory. Ideal drives only.
    #[serde(default)]
    #[schemars(range(min = 100, max = 1_000_000))]
    pub exact_spare_per_10000: Option<u32>,
    /// Operates the planes of a die one by one, as if each were a die of its own on the same channel: for `[log_blocks]`,
    /// whose copies stay within a plane.
    #[serde(default)]
    pub planes_apart: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Controller"))]
pub struct ControllerSpec {
    /// For people.
    pub name: String,
    /// Flash buses that work side by side.
    #[schemars(range(min = 1, max = 32))]
    pub channels: u32,
    /// Dies of one channel that can be at work at once; channels × ways must reach the number of dies.
    #[schemars(range(min = 1, max = 1024))]
    pub ways: u32,
    /// Commands that the drive accepts at once (SATA: 32).
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "commands"))]
    pub queue_depth: u32,
    /// Memory fitted. `mapping.map_cache_kib` and `write_buffer.capacity_kib` are each no larger, unless it is 0: then they lie in
    /// memory of the controller's own. Takes no part in timing.
    #[schemars(extend("x-heading" = "DRAM"))]
    pub dram_mib: u32,
    /// How the firmware is shared out among the processor's cores.
    #[serde(default)]
    pub cores: Cores,
    /// Firmware time of a read command.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub read_command_us: f64,
    /// Firmware time of a write command.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub write_command_us: f64,
    /// Firmware time of each mapping unit (4 KiB, see `mapping.unit_kib`) of a read: looks up the map.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub read_unit_us: f64,
    /// Firmware time of each mapping unit of a write: updates the map, manages the buffer.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub write_unit_us: f64,
    /// What a read command takes beyond all else: its way through parts of the controller that work on many commands at once, such
    /// as queues of the host interface and the wait until a core looks at them. It makes the end of each command later and holds
    /// up no other.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub read_latency_us: f64,
    /// The same of a write command.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub write_latency_us: f64,
    /// Firmware time to set up each stretch of a command's data that moves by itself, but for the first, which is part of the
    /// command: what one row of a die delivers of a read, or what fills a row of a write. Data that are read ahead take it for each
    /// row.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6), extend("x-heading" = "DMA extent"))]
    pub dma_extent_us: f64,
    /// Firmware time of each mapping unit that garbage collection or folding moves. The rows that it writes go to the dies once
    /// the processor has prepared them, and commands wait behind them.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub move_unit_us: f64,
    /// Firmware time of the end of each program and erase: its status, the tables, what comes next. Commands that arrive
    /// meanwhile wait. The end of a read is part of `read_unit_us`.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub program_end_us: f64,
    /// Firmware time of a TRIM beside that of a command, for each of the at most 64 ranges of 65,535 sectors that it names.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub trim_range_us: f64,
    /// Firmware time of a TRIM for each 4 KiB of map entries (four bytes each) that it touches.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub trim_map_page_us: f64,
    /// Firmware time of a TRIM command; absent: that of a write command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub trim_command_us: Option<f64>,
    /// Data read ahead of a sequential stream at most, as far as it has come; 0 reads nothing ahead.
    #[schemars(range(min = 0, max = 16_384))]
    pub read_ahead_kib: u32,
    /// Dies that may program at once: what firmware and supply allow. Absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 512))]
    pub programs_at_once: Option<u32>,
    /// The least stretch of a page that crosses the channel and is corrected by itself, for reads of less than a unit
    /// (`mapping.unit_kib`) and of the map: a half, a quarter or an eighth of a unit. Absent: whole units cross, and whole rows of
    /// the map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [512, 1024, 2048, 4096, 8192, 16_384], "x-unit" = "bytes"))]
    pub read_granule_bytes: Option<u32>,
    /// Whether host reads pass programs and erases that wait for the same die.
    pub reads_first: bool,
    /// Where they do: how many may pass what else waits for their die before one operation of that has its turn. Absent: 64, an
    /// estimate, since no firmware's number is published. Where planes read by themselves (`features.independent_plane_reads`) any
    /// number passes.
    #[serde(default = "default_reads_in_a_row", skip_serializing_if = "is_default_reads_in_a_row")]
    #[schemars(range(min = 1, max = 65_535), extend("x-unit" = "reads"))]
    pub reads_in_a_row: u16,
}

/// Some 4 ms of reads.
pub(crate) fn default_reads_in_a_row() -> u16 {
    64
}

fn is_default_reads_in_a_row(reads: &u16) -> bool {
    *reads == default_reads_in_a_row()
}

/// Which core does which part of the firmware's work. Each works through its own in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cores {
    /// One core does everything in the order in which it comes.
    #[default]
    One,
    /// One takes commands in, looks up the map and sets up transfers; the other sees to what the collector moves and to the
    /// ends of programs and erases.
    HostAndFlash,
    /// One takes commands in; one looks up the map and sets up transfers; one sees to what the collector moves and to the ends
    /// of programs and erases.
    HostMapAndFlash,
}

/// Moving data before their errors grow too many. Needs `[ecc]`. What lies in blocks set aside for an SLC cache is moved as well:
/// it is folded. Absent: data lie where they are until they are collected or folded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Refresh"))]
pub struct RefreshSpec {
    /// Data older than this are moved while the drive is idle and collects ahead of need (`gc.background_after_idle_ms`).
    /// Absent: however old they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 36_500.0))]
    pub after_days: Option<f64>,
    /// A block whose pages have been read so often since its erase is moved, even while the host is busy, as long as more than
    /// `gc.start_free_superblocks` + 1 superblocks are free (those set aside for an SLC cache not counted): a full drive that collects
    /// for need alone never has so many. Absent: however often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000), extend("x-heading" = "after reads of a block", "x-unit" = "reads"))]
    pub after_block_reads: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Write buffer"))]
pub struct WriteBufferSpec {
    /// Data of writes that the drive can hold before they are on flash.
    #[schemars(range(min = 4, max = 1_048_576))]
    pub capacity_kib: u32,
    /// Whether a write is acknowledged when it is in the buffer, or only when it is on flash.
    pub write_cache: bool,
    /// Whether writes that wait for flash (forced unit access, no write cache) share rows with those that have come by the
    /// time at which the firmware is through with its queue; if not, each is sent to flash as soon as it is taken in.
    #[serde(default)]
    pub joins_waiting_writes: bool,
    /// Idle time after which a partly filled page is written all the same, as soon as its die can take it. Every command begins it
    /// anew, reads too: beside a host that reads on, such a page stays in the buffer, and a power cut forgets it.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub flush_after_idle_ms: f64,
}

/// Every key of a drive file.
#[must_use]
pub fn drive_keys() -> &'static KeyTable {
    static KEYS: LazyLock<KeyTable> = LazyLock::new(KeyTable::of::<DriveSpec>);
    &KEYS
}

impl DriveSpec {
    /// Checks every value by itself, then what no single value can tell, against the die that `flash.die` names.
    ///
    /// # Errors
    /// The first value that cannot be built.
    pub fn validate(&self, die: &DieSpec) -> Result<(), SpecError> {
        die.validate()?;
        drive_keys().check(self)?;
        self.gc.validate()?;
        // A drive that maps blocks has none, which is said further on.
        if let Some(cache) = self.slc_cache.as_ref().filter(|_| self.log_blocks.is_none()) {
            cache.validate(die, &self.gc, &self.mapping)?;
        }
        self.link.validate(self.controller.queue_depth)?;
        if let Some(power) = &self.power {
            power.validate(self.link.generation)?;
        }
        if let Some(power_loss) = &self.power_loss {
            power_loss.validate(die, &self.flash.die, &self.gc)?;
        }
        if let Some(encryption) = &self.encryption {
            encryption.validate()?;
        }
        if let Some(heat) = &self.heat {
            // Commands that are held for heat wait, and keep the controller awake.
            let waiting = |power: &PowerSpec| power.waiting_microwatts(self.controller.dram_mib, die, self.flash.dies);
            heat.validate(self.power.as_ref().map(|power| waiting(power) as f64 / 1e6))?;
        }
        self.validate_superblocks()?;
        self.validate_unit(die)?;
        self.validate_ecc(die)?;
        self.validate_read_granule()?;
        self.validate_refresh()?;
        self.validate_dram()?;
        if !self.controller.reads_first && !is_default_reads_in_a_row(&self.controller.reads_in_a_row) {
            return Err(SpecError::new(
                "controller.reads_in_a_row",
                "has no effect where reads do not go first",
                "leave it out, or set reads_first = true",
            ));
        }
        if !self.flash.dies.is_multiple_of(self.controller.channels) {
            return Err(SpecError::new(
                "flash.dies",
                format!("{} dies do not spread evenly over {} channels", self.flash.dies, self.controller.channels),
                "use a multiple of controller.channels",
            ));
        }
        if self.flash.dies / self.controller.channels > self.controller.ways {
            return Err(SpecError::new(
                "flash.dies",
                format!(
                    "{} dies on {} channels need more than the {} ways that the controller interleaves",
                    self.flash.dies, self.controller.channels, self.controller.ways
                ),
                format!("use at most {}", self.controller.channels * self.controller.ways),
            ));
        }
        if self.gc.host_share == HostShare::BetweenRounds && self.controller.cores != Cores::One {
            return Err(SpecError::new(
                "controller.cores",
                "rounds that hold all commands up are those of firmware on one core",
                "use cores = \"one\" with gc.host_share = \"between-rounds\"",
            ));
        }
        if self.gc.host_share == HostShare::BetweenRounds && self.mapping.superblock != SuperblockSpan::AllDies {
            return Err(SpecError::new(
                "gc.host_share",
                "collectors of single dies do not share their rounds",
                "use superblock = \"all-dies\" with host_share = \"between-rounds\"",
            ));
        }
        if self.log_blocks.is_some() {
            self.validate_flash_size(die)?;
            return self.validate_log_blocks(die);
        }
        if self.flash.planes_apart {
            return Err(SpecError::new(
                "flash.planes_apart",
                "a page map programs all planes of a die together",
                "leave it out, or use [log_blocks] instead of [mapping] and [gc]",
            ));
        }
        if self.gc.background_beside_host && self.keeps_older_pages() != KeepsOlderPages::No {
            return Err(SpecError::new(
                "gc.background_beside_host",
                "what keeps older pages is programmed in the order in which the rows are that endanger them",
                "leave it or power_loss.keeps_older_pages out",
            ));
        }
        self.validate_row_span(die)?;
        self.validate_rows(die)?;
        self.validate_flash_size(die)?;
        self.validate_spare(die)
    }

    /// What only a map of pages has, and dies that are more once their planes are worked apart.
    fn validate_log_blocks(&self, die: &DieSpec) -> Result<(), SpecError> {
        let planes = if self.flash.planes_apart { die.geometry.planes } else { 1 };
        if self.flash.dies * planes > MAX_DIES {
            return Err(SpecError::new(
                "flash.dies",
                format!("{} dies of {planes} planes worked apart are {}", self.flash.dies, self.flash.dies * planes),
                self.dies_up_to(MAX_DIES / planes),
            ));
        }
        let others = [
            ("mapping.unit_kib", self.mapping.unit_kib != 4),
            ("mapping.row", self.mapping.row != RowSpan::AllPlanes),
            ("slc_cache", self.slc_cache.is_some()),
            ("compression", self.compression.is_some()),
            ("ecc", self.ecc.is_some()),
            ("power_loss.keeps_older_pages", self.keeps_older_pages() != KeepsOlderPages::No),
            ("flash.exact_spare_per_10000", self.flash.exact_spare_per_10000.is_some()),
            ("wear_levelling.static_spread_erases", self.wear_levelling.static_spread_erases.is_some()),
            // Their firmware keeps counts of its own.
            ("used.spread_percent", self.used.as_ref().is_some_and(|used| used.spread_percent > 0.0)),
        ];
        // Firmware looks through all that waits: with more, a simulated second takes minutes.
        if self.write_buffer.capacity_kib > MAX_LOG_BLOCK_BUFFER_KIB {
            return Err(SpecError::new(
                "write_buffer.capacity_kib",
                format!(
                    "{} KiB are more than a drive with [log_blocks] can keep count of",
                    self.write_buffer.capacity_kib
                ),
                format!("use at most {MAX_LOG_BLOCK_BUFFER_KIB} KiB"),
            ));
        }
        match others.into_iter().find(|&(_, given)| given) {
            Some((key, _)) => Err(SpecError::new(
                key,
                "is simulated on drives with a map of pages only",
                "leave it or [log_blocks] out",
            )),
            None => Ok(()),
        }
    }

    /// The drive and its dies as `flash.planes_apart` has them: each plane a die of its own.
    #[must_use]
    pub fn with_planes_apart(&self, die: &DieSpec) -> (DriveSpec, DieSpec) {
        let (mut drive, mut die) = (self.clone(), die.clone());
        if self.flash.planes_apart {
            let planes = std::mem::replace(&mut die.geometry.planes, 1);
            drive.flash.dies *= planes;
            drive.controller.ways *= planes;
        }
        (drive, die)
    }

    /// The drive and its dies as its map of pages sees them: where a row is a page of one plane, each plane is a die of its own
    /// there, and superblocks span as much as before. What the planes of a die share is the business of its time.
    #[must_use]
    pub fn as_mapped(&self, die: &DieSpec) -> (DriveSpec, DieSpec) {
        let (mut drive, mut die) = (self.clone(), die.clone());
        if self.mapping.row != RowSpan::AllPlanes {
            let planes = std::mem::replace(&mut die.geometry.planes, 1);
            drive.flash.dies *= planes;
            drive.controller.ways *= planes;
            drive.mapping.row = RowSpan::AllPlanes;
            if drive.mapping.superblock != SuperblockSpan::AllDies {
                drive.mapping.superblock = SuperblockSpan::DieGroup;
                drive.mapping.dies_per_group = Some(self.superblock_dies() * planes);
            }
        }
        (drive, die)
    }

    /// Rows of one plane are for dies of several, and for what does not copy within a die.
    fn validate_row_span(&self, die: &DieSpec) -> Result<(), SpecError> {
        if self.mapping.row == RowSpan::AllPlanes {
            return Ok(());
        }
        let wrong = |problem: &str, expected: &str| Err(SpecError::new("mapping.row", problem, expected));
        if die.geometry.planes == 1 {
            return wrong("has no effect on a die of one plane", "remove it, or use a die with several planes");
        }
        match &self.slc_cache {
            Some(cache) if cache.policy == SlcCachePolicy::OnDie => wrong(
                "data that are folded within their die would have to stay in their plane, which is not simulated",
                "use \"all-planes\", or another slc_cache.policy",
            ),
            _ => Ok(()),
        }
    }

    /// A logical page lies on one page of flash, and the map has room for all of them.
    fn validate_unit(&self, die: &DieSpec) -> Result<(), SpecError> {
        let (unit_bytes, page_bytes) = (self.mapping.unit_bytes(), die.geometry.page_bytes);
        if !page_bytes.is_multiple_of(unit_bytes) {
            return Err(SpecError::new(
                "mapping.unit_kib",
                format!("{unit_bytes} bytes do not divide the pages of the die, which have {page_bytes}"),
                "use a divisor of geometry.page_bytes, or a die with larger pages",
            ));
        }
        let pages = self.capacity_bytes / u64::from(unit_bytes);
        if !self.capacity_bytes.is_multiple_of(u64::from(unit_bytes)) {
            return Err(SpecError::new(
                "capacity_bytes",
                format!("{} bytes are not whole units of {unit_bytes} bytes (mapping.unit_kib)", self.capacity_bytes),
                format!("use {} bytes", pages.max(1) * u64::from(unit_bytes)),
            ));
        }
        // Else the flash may hold less than the map, and `validate_spare` knows how much.
        let by_spare = self.log_blocks.is_none() && self.flash.exact_spare_per_10000.is_none();
        if pages > MAX_LOGICAL_PAGES && !(by_spare && self.too_much_flash(die).is_none()) {
            return Err(self.too_many_units(self.most_mapped_bytes()));
        }
        Ok(())
    }

    /// The largest capacity that a map has units for.
    fn most_mapped_bytes(&self) -> u64 {
        MAX_LOGICAL_PAGES * u64::from(self.mapping.unit_bytes())
    }

    /// `most`: a capacity that is not.
    fn too_many_units(&self, most: u64) -> SpecError {
        let pages = self.capacity_bytes / u64::from(self.mapping.unit_bytes());
        SpecError::new(
            "capacity_bytes",
            format!("{} bytes are {pages} units of {} KiB", self.capacity_bytes, self.mapping.unit_kib),
            format!("use at most {most} bytes, or a larger mapping.unit_kib"),
        )
    }

    fn validate_ecc(&self, die: &DieSpec) -> Result<(), SpecError> {
        let Some(ecc) = &self.ecc else { return Ok(()) };
        crate::backend::ladder_of_unit(ecc, self.mapping.unit_bytes())?;
        if die.errors.is_none() {
            return Err(SpecError::new(
                "ecc",
                format!("the die `{}` has no error rates to correct", self.flash.die),
                "add [errors] to the die file, or leave [ecc] out",
            ));
        }
        let (page_bytes, spare) = (die.geometry.page_bytes, die.geometry.spare_bytes);
        ecc.validate_parity(page_bytes, spare).map_err(|e| SpecError { key: format!("ecc.{}", e.key), ..e })
    }

    /// What is kept in DRAM has room there.
    fn validate_dram(&self) -> Result<(), SpecError> {
        let dram_mib = self.controller.dram_mib;
        let most_kib = u64::from(dram_mib) << 10;
        let held = [
            ("mapping.map_cache_kib", self.mapping.map_cache_kib),
            ("write_buffer.capacity_kib", Some(self.write_buffer.capacity_kib)),
        ];
        let too_large =
            held.into_iter().find_map(|(key, kib)| Some((key, kib.filter(|&kib| u64::from(kib) > most_kib)?)));
        match too_large {
            Some((key, kib)) if dram_mib > 0 => Err(SpecError::new(
                key,
                format!("{kib} KiB do not fit into the {dram_mib} MiB of DRAM that are fitted (controller.dram_mib)"),
                format!("use at most {most_kib} KiB, or a larger controller.dram_mib"),
            )),
            _ => Ok(()),
        }
    }

    fn validate_refresh(&self) -> Result<(), SpecError> {
        let Some(refresh) = &self.refresh else { return Ok(()) };
        if self.ecc.is_none() {
            return Err(SpecError::new(
                "refresh",
                "flash of a drive without [ecc] never errs, however old data are",
                "add [ecc], or leave [refresh] out",
            ));
        }
        if refresh.after_days.is_some() && self.gc.background_after_idle_ms.is_none() {
            return Err(SpecError::new(
                "refresh.after_days",
                "the drive does nothing while it is idle",
                "add gc.background_after_idle_ms",
            ));
        }
        Ok(())
    }

    fn validate_read_granule(&self) -> Result<(), SpecError> {
        let Some(bytes) = self.controller.read_granule_bytes else { return Ok(()) };
        let wrong = |why: String, instead: &str| Err(SpecError::new("controller.read_granule_bytes", why, instead));
        match &self.ecc {
            _ if self.compression.is_some() => wrong(
                "pages of a drive that compresses are read as a whole".to_owned(),
                "leave it or [compression] out",
            ),
            _ if bytes < self.mapping.unit_bytes() / 8 || bytes >= self.mapping.unit_bytes() => wrong(
                format!("{bytes} bytes of a unit of {} KiB", self.mapping.unit_kib),
                "use an eighth, a quarter or a half of mapping.unit_kib",
            ),
            Some(ecc) if !bytes.is_multiple_of(ecc.codeword_bytes) => {
                let why = format!("{bytes} bytes are not whole codewords of {} bytes", ecc.codeword_bytes);
                wrong(why, "use a multiple of ecc.codeword_bytes")
            }
            _ => Ok(()),
        }
    }

    /// A row, one page of every plane of a die, is what one operation moves.
    fn validate_rows(&self, die: &DieSpec) -> Result<(), SpecError> {
        let row_units = die.geometry.planes * die.units_per_page(self.mapping.unit_bytes());
        if !row_units.is_power_of_two() || row_units > 64 {
            return Err(SpecError::new(
                "geometry.page_bytes",
                format!(
                    "{} bytes on {} planes make a row of {row_units} units",
                    die.geometry.page_bytes, die.geometry.planes
                ),
                format!("use pages and planes that make a row of 1, 2, 4 … 64 units of {} KiB", self.mapping.unit_kib),
            ));
        }
        let streams = self.slc_cache.as_ref().map_or(self.gc.frontier.streams(), SlcCacheSpec::streams);
        let mut least_buffer = row_units * u32::from(streams);
        if let Some(compression) = &self.compression {
            compression.validate(row_units)?;
            if self.ecc.is_some() {
                let problem = "error correction on a drive that compresses is not simulated";
                return Err(SpecError::new("compression", problem, "leave [compression] or [ecc] out"));
            }
            // What waits and does not fill a row may leave less than 4 KiB of one.
            least_buffer += 1;
        }
        // An operation counts its units in a byte.
        let row_units = row_units * self.compression_ratio();
        if self.gc.rows_per_read * row_units > 255 {
            return Err(SpecError::new(
                "gc.rows_per_read",
                format!("{} rows of {row_units} units are more than one operation can move", self.gc.rows_per_read),
                format!("use at most {}", 255 / row_units),
            ));
        }
        if self.buffer_pages() < least_buffer {
            return Err(SpecError::new(
                "write_buffer.capacity_kib",
                format!("{} KiB do not hold one row of this die for each stream", self.write_buffer.capacity_kib),
                format!("use at least {} KiB", least_buffer * self.mapping.unit_kib),
            ));
        }
        Ok(())
    }

    /// Units of flash in a logical page: 1, but for drives that compress.
    #[must_use]
    pub fn compression_ratio(&self) -> u32 {
        self.compression.map_or(1, |compression| compression.max_ratio)
    }

    /// Logical pages that the write buffer has room for.
    #[must_use]
    pub fn buffer_pages(&self) -> u32 {
        self.write_buffer.capacity_kib / self.mapping.unit_kib
    }

    /// Units of flash in a page of this die.
    #[must_use]
    pub fn units_per_page(&self, die: &DieSpec) -> u32 {
        die.units_per_page(self.mapping.unit_bytes() / self.compression_ratio())
    }

    /// Whether planes of a die read by themselves for the host.
    #[must_use]
    pub fn reads_planes_apart(&self, die: &DieSpec) -> bool {
        let planes = die.features.independent_plane_reads && die.geometry.planes > 1;
        planes && self.controller.reads_first && self.compression.is_none()
    }

    /// What the drive can do and never does: features of its die that need what the drive does not have. A drive may be so
    /// for comparison, but whoever wrote it may not know.
    #[must_use]
    pub fn doubts(&self, die: &DieSpec) -> Vec<String> {
        let of_reads = [
            ("features.cache_read_busy_us", die.features.cache_read_busy_us.is_some()),
            ("features.independent_plane_reads", die.features.independent_plane_reads),
            ("features.suspend", die.features.suspend.is_some()),
        ];
        let idle = of_reads.into_iter().filter(|&(_, has_it)| has_it && !self.controller.reads_first);
        idle.map(|(key, _)| {
            format!("{key} of the die has no effect where host reads do not go first (controller.reads_first)")
        })
        .collect()
    }

    fn validate_flash_size(&self, die: &DieSpec) -> Result<(), SpecError> {
        let parts = self.flash.dies * (1 + die.geometry.planes);
        if self.reads_planes_apart(die) && parts > MAX_DIES {
            let planes = die.geometry.planes;
            return Err(SpecError::new(
                "flash.dies",
                format!(
                    "{} dies of {planes} planes that read by themselves are more than can be simulated",
                    self.flash.dies
                ),
                format!(
                    "{}, or a die without features.independent_plane_reads",
                    self.dies_up_to(MAX_DIES / (1 + planes))
                ),
            ));
        }
        match self.too_much_flash(die) {
            None => Ok(()),
            Some((flash, most)) => Err(SpecError::new(
                "flash.dies",
                format!("{flash} bytes of flash are more than can be simulated"),
                format!("use dies of less than {most} bytes ({} TiB) in all", most >> 40),
            )),
        }
    }

    /// What is advised where no more dies than these can be simulated: they spread evenly over the channels all the same.
    fn dies_up_to(&self, most: u32) -> String {
        let channels = self.controller.channels;
        match most / channels * channels {
            0 => format!("use at most {most}, and no more controller.channels than that"),
            dies => format!("use at most {dies}"),
        }
    }

    /// The bytes of flash, and as many as cannot be simulated, if there are no fewer.
    fn too_much_flash(&self, die: &DieSpec) -> Option<(u128, u64)> {
        let blocks = u128::from(self.blocks_per_die(die)) * u128::from(self.flash.dies);
        let flash = blocks * u128::from(die.raw_bytes() / u64::from(die.geometry.blocks_per_plane));
        let most = MAX_FLASH_UNITS * u64::from(self.mapping.unit_bytes() / self.compression_ratio());
        (flash >= u128::from(most)).then_some((flash, most))
    }

    fn validate_spare(&self, die: &DieSpec) -> Result<(), SpecError> {
        if self.flash.exact_spare_per_10000.is_some() {
            return self.validate_exact_spare(die);
        }
        let raw = die.raw_bytes() * u64::from(self.flash.dies);
        let usable = self.usable_bytes(die);
        let superblock = self.superblock_bytes(die);
        // Open, being collected, free for the collector: below this no write can ever finish.
        let needed = self.capacity_bytes + superblock * u64::from(self.spare_superblocks_needed());
        let has_too_many_units = self.capacity_bytes > self.most_mapped_bytes();
        if usable < needed || has_too_many_units {
            // Journal and map of less than all that is usable are no longer than those of all.
            let sure = self.sure_bytes(die, usable);
            let most = self.most_sold_bytes(die, sure);
            if has_too_many_units && (usable >= needed || most >= self.most_mapped_bytes()) {
                return Err(self.too_many_units(most.min(self.most_mapped_bytes())));
            }
            self.validate_start_free(die, (usable, needed), superblock)?;
            let set_aside = self.cache_as_cause(die).0;
            let help = self.capacity_help(die, most, raw - sure + (needed - self.capacity_bytes));
            return Err(SpecError::new(
                "capacity_bytes",
                format!(
                    "{} bytes on {raw} bytes of flash ({usable} usable{set_aside}) leave no spare superblock to collect into",
                    self.capacity_bytes
                ),
                help,
            ));
        }
        Ok(())
    }

    /// The most that a drive can be sold with, of so many bytes that hold data.
    pub(crate) fn most_sold_bytes(&self, die: &DieSpec, holding: u64) -> u64 {
        let kept_free = self.superblock_bytes(die) * u64::from(self.spare_superblocks_needed());
        let unit = u64::from(self.mapping.unit_bytes());
        holding.saturating_sub(kept_free) / unit * unit
    }

    /// What is advised for a capacity that is too large. `beside`: the bytes of flash that cannot be sold.
    pub(crate) fn capacity_help(&self, die: &DieSpec, most: u64, beside: u64) -> String {
        let smaller_cache = self.cache_as_cause(die).1;
        match most {
            0 => format!(
                "use more flash{smaller_cache}, or keep less free: collection, cache, reserve, bad and system blocks ask for up to \
                 {beside} bytes"
            ),
            most => format!("use {most} bytes or less, or more flash{smaller_cache}"),
        }
    }

    /// Bytes that hold data in every specimen of a drive of this capacity, whichever of its blocks are bad from the factory: one in a
    /// thousand million may have more bad ones. What [`DriveSpec::usable_bytes`] expects, less system blocks and chance.
    fn sure_bytes(&self, die: &DieSpec, capacity_bytes: u64) -> u64 {
        let (drive, die_as_mapped) = self.as_mapped(die);
        let (blocks, dies) = (drive.blocks_per_die(&die_as_mapped), drive.flash.dies);
        let flash_unit_bytes = self.mapping.unit_bytes() / self.compression_ratio();
        let layout = Layout::with_units(&die_as_mapped, dies, blocks, flash_unit_bytes);
        let pages = (capacity_bytes / u64::from(self.mapping.unit_bytes())).clamp(1, MAX_LOGICAL_PAGES) as u32;
        let system = system_blocks(&drive.mapping, self.keeps_older_pages(), pages, &die_as_mapped, &layout);
        let reserved = blocks * self.mapping.reserved_blocks_per_1000 / 1000;
        // Six deviations of a Poisson distribution, and as many blocks for its longer tail where the mean is small.
        let most_bad = |blocks: u32| {
            let one_plane = f64::from(die.wear.factory_bad_blocks_per_10000) / 1e4;
            let mean = f64::from(blocks) * f64::from(die_as_mapped.geometry.planes) * one_plane;
            if mean > 0.0 { libm::ceil(mean + 6.0 * libm::sqrt(mean) + 6.0) as u64 } else { 0 }
        };
        let in_all = most_bad(blocks * dies);
        let not_replaced = match drive.mapping.superblock {
            SuperblockSpan::OneDie => in_all,
            SuperblockSpan::AllDies | SuperblockSpan::DieGroup => {
                in_all.min(u64::from(dies) * most_bad(blocks).saturating_sub(reserved.into()))
            }
        };
        let formed = u64::from(self.sets()) * u64::from((blocks - reserved).saturating_sub(system));
        let bytes = formed.saturating_sub(not_replaced) * self.superblock_bytes(die);
        bytes.saturating_sub(self.pool_bytes(die)).min(self.usable_bytes(die))
    }

    /// An exact spare may be smaller than [`DriveSpec::spare_superblocks_needed`], which counts what makes collection start. What it
    /// must leave is what the collector gains from when it starts last: in each set the superblock of the host, a free one and, if
    /// the collector's is another, that one, in which dead units are of no use to anybody.
    fn validate_exact_spare(&self, die: &DieSpec) -> Result<(), SpecError> {
        let (sets, superblock) = (self.sets(), self.superblock_bytes(die));
        let beside = match self.gc.frontier {
            Frontier::Shared => 2,
            Frontier::Separate | Frontier::ByStream => {
                spare_superblocks(0, self.gc.frontier.streams(), self.slc_cache.is_some())
            }
        };
        let needed = self.capacity_bytes + u64::from(beside * sets) * superblock;
        let built = self.built_bytes(die);
        if built >= needed {
            return Ok(());
        }
        // What is built beyond theory's share is there already.
        let always = u64::from((self.gc.start_free_superblocks + 1) * sets);
        let data = u128::from(needed.div_ceil(superblock) - always) * 20_000 - 10_000;
        let least =
            (data * u128::from(superblock)).div_ceil(2 * u128::from(self.capacity_bytes)).saturating_sub(10_000);
        Err(SpecError::new(
            "flash.exact_spare_per_10000",
            format!(
                "{built} bytes of flash hold a capacity of {} and {} superblocks of {superblock} bytes; writing would come to a standstill",
                self.capacity_bytes,
                (built.saturating_sub(self.capacity_bytes)) / superblock
            ),
            format!("use at least {least}, for {} superblocks beside the capacity", beside * sets),
        ))
    }

    /// Over-provisioning in per cent of the capacity, of what `usable_bytes` hold: with an exact spare, without what is always open
    /// or free.
    #[must_use]
    pub fn over_provisioning_percent(&self, die: &DieSpec, usable_bytes: u64) -> f64 {
        let data = match self.flash.exact_spare_per_10000 {
            Some(_) => {
                let always = u64::from((self.gc.start_free_superblocks + 1) * self.sets());
                self.built_bytes(die).min(usable_bytes) as f64 - (always * self.superblock_bytes(die)) as f64
            }
            None => usable_bytes as f64,
        };
        (data / self.capacity_bytes as f64 - 1.0) * 100.0
    }

    /// Sets of superblocks, each with its own open and free ones.
    fn sets(&self) -> u32 {
        self.flash.dies / self.superblock_dies()
    }

    /// If the capacity would do with fewer superblocks that are always free, it is not at fault alone.
    fn validate_start_free(
        &self,
        die: &DieSpec,
        (usable, needed): (u64, u64),
        superblock: u64,
    ) -> Result<(), SpecError> {
        let free = self.gc.start_free_superblocks;
        let least = self.slc_cache.as_ref().map_or(1, SlcCacheSpec::least_start_free);
        // One more in each domain of collection.
        let step = superblock * u64::from(self.sets());
        let too_many = needed.saturating_sub(self.sure_bytes(die, self.capacity_bytes)).div_ceil(step);
        match u64::from(free).checked_sub(too_many).filter(|&most| most >= u64::from(least)) {
            None => Ok(()),
            Some(most) => Err(SpecError::new(
                "gc.start_free_superblocks",
                format!(
                    "with {free} free superblocks, open ones and the one being collected take {} bytes, which {usable} usable bytes \
                     do not have beside a capacity of {}",
                    needed - self.capacity_bytes,
                    self.capacity_bytes
                ),
                format!("use at most {most}, or a smaller capacity_bytes{}", self.cache_as_cause(die).1),
            )),
        }
    }

    /// Words for a capacity that does not fit where an SLC cache has blocks set aside: what they take of the flash, and which
    /// key would have to be smaller. Nothing without.
    pub(crate) fn cache_as_cause(&self, die: &DieSpec) -> (String, String) {
        match self.slc_cache.as_ref().and_then(SlcCacheSpec::key_of_pool) {
            None => (String::new(), String::new()),
            Some(key) => {
                (format!(", {} set aside for the SLC cache", self.pool_bytes(die)), format!(", or a smaller {key}"))
            }
        }
    }

    /// Superblocks beyond the sold capacity without which writing would come to a standstill: the open ones, those
    /// that trigger collection, the system area, and one to collect into.
    #[must_use]
    pub fn spare_superblocks_needed(&self) -> u32 {
        let cache = self.slc_cache.is_some();
        let each = spare_superblocks(self.gc.start_free_superblocks, self.gc.frontier.streams(), cache);
        each * self.sets() + if self.mapping.journal { 2 } else { 0 }
    }

    /// What firmware does for older pages of a word line.
    #[must_use]
    pub fn keeps_older_pages(&self) -> KeepsOlderPages {
        self.power_loss.as_ref().map_or(KeepsOlderPages::No, |spec| spec.keeps_older_pages)
    }

    /// Dies of a superblock.
    #[must_use]
    pub fn superblock_dies(&self) -> u32 {
        self.mapping.superblock_dies(self.flash.dies)
    }

    fn validate_superblocks(&self) -> Result<(), SpecError> {
        let wrong = |problem: String, expected: &str| Err(SpecError::new("mapping.dies_per_group", problem, expected));
        match (self.mapping.superblock, self.mapping.dies_per_group) {
            (SuperblockSpan::DieGroup, None) => {
                wrong("superblocks of groups of dies have no size".to_owned(), "give the dies of a group")
            }
            (SuperblockSpan::DieGroup, Some(dies)) if !self.flash.dies.is_multiple_of(dies) => {
                wrong(format!("{} dies do not make groups of {dies}", self.flash.dies), "use a divisor of flash.dies")
            }
            (SuperblockSpan::AllDies | SuperblockSpan::OneDie, Some(_)) => wrong(
                "superblocks are not of groups of dies".to_owned(),
                "leave it out, or use superblock = \"die-group\"",
            ),
            _ => Ok(()),
        }
    }

    /// Multi-plane blocks of one die: as the die has them, or as many as give the exact spare asked for (some dies then
    /// use one less, see [`DriveSpec::withheld_blocks`]).
    #[must_use]
    pub fn blocks_per_die(&self, die: &DieSpec) -> u32 {
        match self.exact_blocks(die) {
            Some(blocks) => u32::try_from(blocks.div_ceil(u64::from(self.flash.dies))).unwrap_or(u32::MAX),
            None => die.geometry.blocks_per_plane,
        }
    }

    /// Multi-plane blocks of the whole drive that are not used, so that its spare is the exact one asked for.
    #[must_use]
    pub fn withheld_blocks(&self, die: &DieSpec) -> u32 {
        let built = u64::from(self.blocks_per_die(die)) * u64::from(self.flash.dies);
        self.exact_blocks(die).map_or(0, |blocks| built.saturating_sub(blocks) as u32)
    }

    /// Bytes of all blocks that are used, before bad, reserved and system blocks are set aside.
    #[must_use]
    pub fn built_bytes(&self, die: &DieSpec) -> u64 {
        let blocks = u64::from(self.blocks_per_die(die)) * u64::from(self.flash.dies);
        let block_bytes = die.raw_bytes() / u64::from(die.geometry.blocks_per_plane);
        (blocks - u64::from(self.withheld_blocks(die))) * block_bytes
    }

    /// Multi-plane blocks of all dies for an exact spare: those that hold data in theory's sense, and those that in
    /// the steady state hold none.
    ///
    /// Theory counts the blocks that are full when a victim is picked. Besides them a set of superblocks has
    /// `start_free_superblocks` free ones, and the one that has just been opened, which is what made the collector
    /// start. That is exact where host and collector share the open superblock and the host is paced by the
    /// collector (`frontier = "shared"`, `host_share = "balanced"`), however far that reads ahead: the spare that explains the
    /// write amplification of such drives lies within 0.1 block of it. A host that runs ahead fills the open superblock before the
    /// victims are picked, which is worth up to one block more; an open superblock of the collector's own, up to half
    /// a block less.
    fn exact_blocks(&self, die: &DieSpec) -> Option<u64> {
        let spare = self.flash.exact_spare_per_10000?;
        let g = &die.geometry;
        let block_bytes = u64::from(g.planes) * u64::from(g.pages_per_block) * u64::from(g.page_bytes);
        let width = u64::from(self.superblock_dies());
        // To the nearest superblock.
        let superblock = u128::from(block_bytes * width) * 10_000;
        let data = (u128::from(self.capacity_bytes) * (10_000 + u128::from(spare)) + superblock / 2) / superblock;
        Some((data as u64 + u64::from((self.gc.start_free_superblocks + 1) * self.sets())) * width)
    }

    /// Bytes of one superblock.
    #[must_use]
    pub fn superblock_bytes(&self, die: &DieSpec) -> u64 {
        let g = &die.geometry;
        u64::from(self.superblock_dies()) * u64::from(g.planes) * u64::from(g.pages_per_block) * u64::from(g.page_bytes)
    }

    /// Blocks of one die that are set aside for an SLC cache.
    fn pool_blocks_per_die(&self, die: &DieSpec) -> u32 {
        let blocks = self.blocks_per_die(die);
        let unreserved = blocks - blocks * self.mapping.reserved_blocks_per_1000 / 1000;
        let span = self.mapping.superblock;
        self.slc_cache.as_ref().map_or(0, |cache| cache.pool_per_set(die, span, self.flash.dies, unreserved))
    }

    /// Bytes of flash that are set aside for an SLC cache.
    fn pool_bytes(&self, die: &DieSpec) -> u64 {
        let g = &die.geometry;
        let block_bytes = u64::from(g.planes) * u64::from(g.pages_per_block) * u64::from(g.page_bytes);
        u64::from(self.pool_blocks_per_die(die)) * u64::from(self.flash.dies) * block_bytes
    }

    /// Bytes that hold data, once bad and reserved blocks and those of an SLC cache are set aside (expected value; the exact number is
    /// drawn when the drive is built).
    #[must_use]
    pub fn usable_bytes(&self, die: &DieSpec) -> u64 {
        let raw = die.raw_bytes() * u64::from(self.flash.dies);
        // A block of all planes is given up when one of its planes is bad. Superblocks over all dies have them
        // replaced from the reserve.
        let bad = u64::from(die.wear.factory_bad_blocks_per_10000) * u64::from(die.geometry.planes);
        let reserved = u64::from(self.mapping.reserved_blocks_per_1000) * 10;
        let lost = match self.mapping.superblock {
            SuperblockSpan::AllDies | SuperblockSpan::DieGroup => reserved.max(bad),
            SuperblockSpan::OneDie => reserved + bad,
        };
        let left = u128::from(raw) * u128::from(10_000u64.saturating_sub(lost)) / 10_000;
        (left as u64).saturating_sub(self.pool_bytes(die))
    }
}

/// Logical addresses have at most 30 bits in a tag, so that two are left for a write count; sixteen of them are nobody's.
const MAX_LOGICAL_PAGES: u64 = (1 << 30) - 16;
/// With the largest units.
const MAX_CAPACITY_BYTES: u64 = MAX_LOGICAL_PAGES * (32 << 10);
/// 32,768 pages.
const MAX_LOG_BLOCK_BUFFER_KIB: u32 = 128 << 10;
/// Unit addresses have 31 bits.
const MAX_FLASH_UNITS: u64 = 1 << 31;

#[cfg(test)]
mod tests {
    use ssdlab_nand::{DieSpec, Geometry, PageOrder};

    use super::*;

    #[test]
    fn a_drive_may_have_exactly_the_flash_that_it_needs() {
        let die = DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 104,
            pages_per_block: 64,
            page_bytes: 16_384,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        });
        let mut drive = DriveSpec::plain("least", 1, 0);
        (drive.gc.start_free_superblocks, drive.mapping.reserved_blocks_per_1000) = (1, 0);
        assert_eq!(drive.usable_bytes(&die), 104 << 20);
        let most =
            drive.usable_bytes(&die) - u64::from(drive.spare_superblocks_needed()) * drive.superblock_bytes(&die);
        drive.capacity_bytes = most;
        assert!(crate::build("least", &drive, &die, 1).is_ok());
        drive.capacity_bytes = most + 4096;
        assert!(drive.validate(&die).is_err());
    }
}
