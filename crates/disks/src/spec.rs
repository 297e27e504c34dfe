//! What a disk is, as a file in `catalog/disks`.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_core::SECTOR_BYTES;
use ssdlab_device::SentAlone;
use ssdlab_keys::{KeyTable, SpecError};

/// Everything that makes one disk differ from another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Disk"))]
pub struct DiskSpec {
    /// What the file describes. Stands first, so that a disk is told from a drive of flash.
    pub kind: DiskKind,
    /// A line for people: maker, speed, capacity.
    pub description: String,
    /// Capacity as sold. What the zones hold beyond it is never addressed.
    #[schemars(range(min = 512, max = MAX_CAPACITY_BYTES), extend("multipleOf" = 512))]
    pub capacity_bytes: u64,
    pub media: MediaSpec,
    pub seek: SeekSpec,
    pub controller: ControllerSpec,
    pub cache: CacheSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerSpec>,
}

/// Sector numbers are kept in 32 bits.
const MAX_CAPACITY_BYTES: u64 = (u32::MAX as u64) * SECTOR_BYTES;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiskKind {
    /// A hard disk.
    Disk,
}

/// Platters: how fast they turn, and where sectors lie on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Media"))]
pub struct MediaSpec {
    /// Revolutions a minute.
    #[schemars(range(min = 1000, max = 60_000), extend("x-heading" = "spindle speed", "x-unit" = "rpm"))]
    pub rotations_per_minute: u32,
    /// Surfaces with a head each.
    #[schemars(range(min = 1, max = 32))]
    pub heads: u32,
    /// Cylinders of each zone, from the outer rim inwards.
    #[schemars(inner(range(min = 1, max = 1_000_000)), length(min = 1, max = 255))]
    pub zone_cylinders: Vec<u32>,
    /// Sectors of a track in each zone.
    #[schemars(inner(range(min = 8, max = 65_535)), length(min = 1, max = 255))]
    pub zone_sectors_per_track: Vec<u32>,
    /// In which order tracks follow each other.
    pub track_order: TrackOrder,
    /// Cylinders that a serpentine order stays on with one head before it turns to the next.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub serpentine_cylinders: u32,
    /// Time for which the platter turns between the end of a track and the start of the next one on another surface.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub track_skew_us: f64,
    /// The same where the next track is on the next cylinder.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub cylinder_skew_us: f64,
    /// From power on until the platters turn at their speed and commands are served.
    #[serde(default = "default_spin_up")]
    #[schemars(range(min = 0.0, max = 1e6))]
    pub spin_up_ms: f64,
}

/// Estimate: a disk of 3.5 inches at 7,200 rpm.
fn default_spin_up() -> f64 {
    10_000.0
}

fn one() -> u32 {
    1
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TrackOrder {
    /// All tracks of a cylinder, then the next cylinder.
    Cylinder,
    /// Some cylinders inwards on one surface, back outwards on the next, and so on.
    Serpentine,
}

/// The arm. A seek for reading takes single-track time plus what the curve rises from there, scaled so that the mean over
/// all pairs of cylinders is the average given. A seek for writing takes longer by the difference of the averages, over a
/// single track by that of the single-track times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Seek"))]
pub struct SeekSpec {
    /// To the next cylinder, settled for reading.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub single_track_read_ms: f64,
    /// To the next cylinder, settled for writing.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub single_track_write_ms: f64,
    /// Mean over all pairs of cylinders, for reading.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub average_read_ms: f64,
    /// Mean over all pairs of cylinders, for writing.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub average_write_ms: f64,
    /// From rim to hub, for reading. Bends the curve by a part that grows in proportion to the distance. Absent: as the
    /// curve has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub full_stroke_read_ms: Option<f64>,
    /// To another surface on the same cylinder, settled for reading. Writing takes longer by as much as a single-track
    /// seek does.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub head_switch_ms: f64,
    /// Distances at which the shape of the curve is known, in millionths of the full stroke, ascending. The first stands
    /// for a single track, the last must be 1,000,000.
    #[schemars(inner(range(min = 0, max = 1_000_000)), length(min = 2), extend("x-unit" = "ppm"))]
    pub curve_distance_ppm: Vec<u32>,
    /// Seek times there. Only their ratios count. Between them time goes with the square root of the distance.
    #[schemars(inner(range(min = 0.0, max = 1000.0)), length(min = 2))]
    pub curve_time_ms: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Controller and link"))]
pub struct ControllerSpec {
    /// Rate of the host link. Data of one command pass at a time.
    #[schemars(range(min = 1, max = 100_000), extend("x-heading" = "link rate"))]
    pub link_mb_per_s: u32,
    /// Firmware time of a command, one command at a time.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub command_us: f64,
    /// Commands that the disk accepts at once. 1: no command queueing.
    #[schemars(range(min = 1, max = 1024), extend("x-unit" = "commands"))]
    pub queue_depth: u32,
    /// Which commands wait until all others have ended, and hold back those that come after them.
    #[serde(default)]
    pub not_queued: NotQueued,
    /// Which of the waiting reads and cached writes is served next.
    pub order: ServiceOrder,
    /// Whatever has waited longer is served before all others, oldest first.
    #[schemars(range(min = 1.0, max = 1e6))]
    pub longest_wait_ms: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceOrder {
    /// First come, first served.
    Fifo,
    /// Shortest access time first: seek and rotation together.
    ShortestAccess,
}

/// Commands that are not among the queued ones: the host's driver sends them alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotQueued {
    /// None, as with SCSI.
    #[default]
    Nothing,
    /// FLUSH CACHE, as with Serial ATA, and with ATA before it.
    Flush,
}

impl NotQueued {
    pub(crate) fn sent_alone(self) -> SentAlone {
        SentAlone { flush: self == NotQueued::Flush, trim: false }
    }
}

/// Memory, in segments: each holds what one stream of reads has read and reads ahead, or one piece of written data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Cache"))]
pub struct CacheSpec {
    /// Size of a segment.
    #[schemars(range(min = 4, max = 1_048_576))]
    pub segment_kib: u32,
    /// Segments that hold data read.
    #[schemars(range(min = 1, max = 1024))]
    pub read_segments: u32,
    /// Segments that hold data to be written: so many separate places can wait to be written.
    #[schemars(range(min = 1, max = 1024))]
    pub write_segments: u32,
    /// How far the disk reads on after a read; no more than a segment.
    #[schemars(range(min = 0, max = 1_048_576))]
    pub read_ahead_kib: u32,
    /// Whether a write is acknowledged when it is in the cache.
    pub write_back: bool,
}

/// What the disk draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Power"))]
pub struct PowerSpec {
    /// Platters turning, arm at rest.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub idle_mw: f64,
    /// During a seek.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub seek_mw: f64,
    /// While sectors are read or written.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub transfer_mw: f64,
}

/// Every key of a disk file.
#[must_use]
pub fn disk_keys() -> &'static KeyTable {
    static KEYS: LazyLock<KeyTable> = LazyLock::new(KeyTable::of::<DiskSpec>);
    &KEYS
}

impl DiskSpec {
    /// Checks every value by itself, then what a look at several can tell.
    pub(crate) fn check_values(&self) -> Result<(), SpecError> {
        disk_keys().check(self)?;
        self.media.validate(self.capacity_bytes)?;
        self.seek.validate()?;
        let CacheSpec { segment_kib, read_ahead_kib, .. } = self.cache;
        if read_ahead_kib > segment_kib {
            return Err(SpecError::new(
                "cache.read_ahead_kib",
                format!("{read_ahead_kib} KiB do not fit into a segment of {segment_kib} KiB"),
                format!("use 0 to {segment_kib} KiB"),
            ));
        }
        if let Some(power) = &self.power {
            for (key, mw) in [("power.seek_mw", power.seek_mw), ("power.transfer_mw", power.transfer_mw)] {
                if mw < power.idle_mw {
                    return Err(SpecError::new(
                        key,
                        format!("{mw} mW are less than the {} mW of a disk at rest", power.idle_mw),
                        "give the power of the whole disk, not what is added".to_owned(),
                    ));
                }
            }
        }
        Ok(())
    }
}

impl MediaSpec {
    fn validate(&self, capacity_bytes: u64) -> Result<(), SpecError> {
        let (zones, given) = (self.zone_cylinders.len(), self.zone_sectors_per_track.len());
        if zones != given {
            return Err(SpecError::new(
                "media.zone_sectors_per_track",
                format!("{given} value(s) for {zones} zone(s)"),
                "give one for each value of zone_cylinders",
            ));
        }
        let cylinders: u64 = self.zone_cylinders.iter().copied().map(u64::from).sum();
        if !(8..=1_000_000).contains(&cylinders) {
            return Err(SpecError::new(
                "media.zone_cylinders",
                format!("the zones have {cylinders} cylinder(s) together"),
                "use 8 to 1,000,000 together",
            ));
        }
        let is_serpentine = self.track_order == TrackOrder::Serpentine;
        if is_serpentine && u64::from(self.serpentine_cylinders) > cylinders {
            return Err(SpecError::new(
                "media.serpentine_cylinders",
                format!(
                    "{} cylinders with one head, and the zones have {cylinders} together",
                    self.serpentine_cylinders
                ),
                format!("use 1 to {cylinders}"),
            ));
        }
        let sectors = self.sectors();
        if sectors > u64::from(u32::MAX) {
            return Err(SpecError::new(
                "media.zone_cylinders",
                format!("the zones hold {sectors} sectors"),
                format!("use no more than {} sectors together", u32::MAX),
            ));
        }
        let needed = capacity_bytes / SECTOR_BYTES;
        if sectors < needed {
            return Err(SpecError::new(
                "capacity_bytes",
                format!("{needed} sectors on zones that hold {sectors}"),
                format!("use at most {} B, or more cylinders or sectors", sectors * SECTOR_BYTES),
            ));
        }
        let turn_us = 60e6 / f64::from(self.rotations_per_minute);
        for (key, skew) in [("track_skew_us", self.track_skew_us), ("cylinder_skew_us", self.cylinder_skew_us)] {
            if skew >= turn_us {
                return Err(SpecError::new(
                    &format!("media.{key}"),
                    format!("{skew} µs are a turn or more"),
                    format!("use less than {turn_us:.0} µs, which a turn takes"),
                ));
            }
        }
        Ok(())
    }

    /// All of them.
    pub(crate) fn cylinders(&self) -> u32 {
        self.zone_cylinders.iter().sum()
    }

    /// Sectors that all zones hold.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        let tracks = self.zone_cylinders.iter().map(|&c| u64::from(c) * u64::from(self.heads));
        tracks.zip(&self.zone_sectors_per_track).map(|(tracks, &s)| tracks * u64::from(s)).sum()
    }
}

impl SeekSpec {
    fn validate(&self) -> Result<(), SpecError> {
        let (distances, times) = (&self.curve_distance_ppm, &self.curve_time_ms);
        if distances.len() != times.len() {
            return Err(SpecError::new(
                "seek.curve_time_ms",
                format!("{} value(s) for {} distance(s)", times.len(), distances.len()),
                "give one for each value of curve_distance_ppm",
            ));
        }
        if !distances.is_sorted_by(|a, b| a < b) || distances.last() != Some(&1_000_000) {
            return Err(SpecError::new(
                "seek.curve_distance_ppm",
                "the distances do not rise to the full stroke",
                "give them in ascending order, 1000000 last",
            ));
        }
        if !times.is_sorted() || times.first() == times.last() {
            return Err(SpecError::new(
                "seek.curve_time_ms",
                "the times do not rise",
                "give them in ascending order, as long as a longer seek takes longer",
            ));
        }
        let pairs = [
            ("average_read_ms", self.average_read_ms, self.single_track_read_ms),
            ("average_write_ms", self.average_write_ms, self.single_track_write_ms),
            ("average_write_ms", self.average_write_ms, self.average_read_ms),
            ("single_track_write_ms", self.single_track_write_ms, self.single_track_read_ms),
        ];
        let full = self.full_stroke_read_ms.map(|full| ("full_stroke_read_ms", full, self.average_read_ms));
        for (key, longer, shorter) in pairs.into_iter().chain(full) {
            if longer < shorter {
                return Err(SpecError::new(
                    &format!("seek.{key}"),
                    format!("{longer} ms are less than the {shorter} ms of a shorter or simpler seek"),
                    format!("use {shorter} ms or more"),
                ));
            }
        }
        Ok(())
    }
}
