//! What a device is made of, and which sector of which drive or disk each of its sectors is.

use std::sync::{Arc, Mutex};

use ssdlab_arrays::{Adapter, AdapterCacheSpec, AdapterKind, AdapterLinkSpec, AdapterSpec, FlushChoice, Raid0, Ranges};
use ssdlab_core::{Rng, SECTOR_BYTES, UNIT_BYTES};
use ssdlab_device::Device;
use ssdlab_disks::{Disk, DiskSpec, NotQueued, ServiceOrder, TrackOrder};
use ssdlab_nand::{GrowingFaults, SpecError};

use super::Between;
use super::watched::{Book, Inside, Watched};
use crate::case::Case;
use crate::draw::{between as number, one};
use crate::subject::Subject;

/// A drive, a disk, or something made of them.
#[derive(Clone, Debug)]
pub enum Plan {
    /// The drive of a case with this seed, without faults or errors.
    Drive(u64),
    Disk(Box<DiskSpec>),
    Striped {
        stripe_bytes: u64,
        members: Vec<Plan>,
    },
    /// Each with the bytes of its range; `None`: all that it has.
    Ranges(Vec<(Plan, Option<u64>)>),
    Adapter {
        spec: Box<AdapterSpec>,
        device: Box<Plan>,
    },
}

/// Where a sector of the host belongs.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub leaf: usize,
    pub sector: u32,
    /// There is a cache on the way; one that a battery keeps.
    pub cached: bool,
    pub battery: bool,
    pub promise: Promise,
}

/// What a place keeps when the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Whatever was answered; whatever was flushed, or forced.
    pub answered: bool,
    pub flushed: bool,
    /// Data at rest may be destroyed.
    pub may_destroy: bool,
}

impl Promise {
    fn of_drive(case: &Case) -> Self {
        let model = case.model();
        Promise { answered: model.keeps_all, flushed: true, may_destroy: model.may_destroy }
    }

    fn of_disk(spec: &DiskSpec) -> Self {
        Promise { answered: !spec.cache.write_back, flushed: true, may_destroy: false }
    }

    /// Of a place behind a cache.
    fn behind(self, cache: &AdapterCacheSpec) -> Self {
        let kept = match (cache.battery, cache.drive_write_cache) {
            (false, _) => (false, self.flushed),
            // All that goes to the drives is forced.
            (true, false) => (self.flushed, self.flushed),
            // What the drives had answered is forgotten, flushed or not.
            (true, true) => (self.answered, self.answered),
        };
        Promise { answered: kept.0, flushed: kept.1, ..self }
    }
}

/// A device with what watches its drives and disks.
pub struct Built<S> {
    pub device: Box<dyn Device>,
    pub places: Vec<Place>,
    pub books: Vec<Arc<Mutex<Book>>>,
    pub inside: Vec<Arc<Mutex<Inside<S>>>>,
}

/// Sectors that a range or a stripe is a number of.
const GRAINS: [u64; 4] = [1, 8, 16, 24];

impl Plan {
    #[must_use]
    pub fn draw(rng: &mut Rng) -> Self {
        match rng.below(3) {
            0 => Self::draw_set(rng, 2),
            1 => Self::draw_adapter(rng, 2),
            _ => Self::draw_ranges(rng, 2),
        }
    }

    /// Anything of at most so many levels.
    fn draw_part(rng: &mut Rng, levels: u32) -> Self {
        match rng.below(if levels == 0 { 2 } else { 6 }) {
            0 | 5 => Plan::Drive(rng.next_u64()),
            1 => Plan::Disk(Box::new(draw_disk(rng))),
            2 => Self::draw_set(rng, levels - 1),
            3 => Self::draw_ranges(rng, levels - 1),
            _ => Self::draw_adapter(rng, levels - 1),
        }
    }

    fn draw_set(rng: &mut Rng, levels: u32) -> Self {
        let stripe_bytes = SECTOR_BYTES * one(rng, &GRAINS) * one(rng, &[1, 1, 4, 16]);
        let members = (0..number(rng, 2, 4)).map(|_| Self::draw_part(rng, levels / 2)).collect();
        Plan::Striped { stripe_bytes, members }
    }

    fn draw_ranges(rng: &mut Rng, levels: u32) -> Self {
        let bytes = |rng: &mut Rng| rng.chance(2, 3).then(|| SECTOR_BYTES * one(rng, &GRAINS) * (1 + rng.below(20)));
        Plan::Ranges((0..number(rng, 2, 3)).map(|_| (Self::draw_part(rng, levels / 2), bytes(rng))).collect())
    }

    fn draw_adapter(rng: &mut Rng, levels: u32) -> Self {
        let cache = rng.chance(2, 3).then(|| draw_cache(rng));
        let link = AdapterLinkSpec {
            name: "drawn".to_owned(),
            megabytes_per_s: one(rng, &[50.0, 215.0, 660.0, 100_000.0]),
            command_us: f64::from(number(rng, 0, 40)),
        };
        let spec = AdapterSpec { kind: AdapterKind::Adapter, description: "drawn".to_owned(), ports: 64, link, cache };
        Plan::Adapter { spec: Box::new(spec), device: Box::new(Self::draw_part(rng, levels)) }
    }

    /// Builds it, of drives that `build` makes.
    ///
    /// # Errors
    /// If a part cannot be built.
    pub fn build<S: Subject + 'static>(
        &self,
        build: &impl Fn(&Case) -> Result<S, SpecError>,
        between: Between<'_>,
    ) -> Result<Built<S>, String> {
        let mut parts = Parts { build, between, to_cut: false, books: Vec::new(), inside: Vec::new() };
        let (device, places) = parts.device(self)?;
        Ok(Built { device, places, books: parts.books, inside: parts.inside })
    }

    /// Builds it for power cuts, of drives that are drawn for those. Nobody watches the parts: who does has no plug. With what
    /// each 4 KiB keep.
    ///
    /// # Errors
    /// If a part cannot be built.
    pub fn build_to_cut<S: Subject + 'static>(
        &self,
        build: &impl Fn(&Case) -> Result<S, SpecError>,
        between: Between<'_>,
    ) -> Result<(Box<dyn Device>, Vec<Promise>), String> {
        let mut parts = Parts { build, between, to_cut: true, books: Vec::new(), inside: Vec::new() };
        let (device, places) = parts.device(self)?;
        let units = places.chunks_exact((UNIT_BYTES / SECTOR_BYTES) as usize);
        Ok((device, units.map(|unit| unit[0].promise).collect()))
    }

    /// Whether there is a drive of flash in it.
    #[must_use]
    pub fn has_drive(&self) -> bool {
        self.kinds().contains(&"drive")
    }

    /// Pages of 4 KiB that an unclean cut destroys at the most, over all drives.
    pub fn most_destroyed(&self) -> u64 {
        match self {
            Plan::Drive(seed) => Case::draw_for_power_cuts(*seed).model().most_destroyed,
            Plan::Disk(_) => 0,
            Plan::Striped { members, .. } => members.iter().map(Plan::most_destroyed).sum(),
            Plan::Ranges(parts) => parts.iter().map(|(part, _)| part.most_destroyed()).sum(),
            Plan::Adapter { device, .. } => device.most_destroyed(),
        }
    }

    /// What kinds of devices it is made of, itself first.
    pub fn kinds(&self) -> Vec<&'static str> {
        let mut found = Vec::new();
        self.find_kinds(&mut found);
        found
    }

    fn find_kinds(&self, found: &mut Vec<&'static str>) {
        match self {
            Plan::Drive(_) => found.push("drive"),
            Plan::Disk(_) => found.push("disk"),
            Plan::Striped { members, .. } => {
                found.push("set");
                members.iter().for_each(|m| m.find_kinds(found));
            }
            Plan::Ranges(parts) => {
                found.push("ranges");
                parts.iter().for_each(|(part, _)| part.find_kinds(found));
            }
            Plan::Adapter { spec, device } => {
                found.push(match &spec.cache {
                    None => "adapter without a cache",
                    Some(cache) if cache.flush_policy == FlushChoice::Burst => "cache flushed in bursts",
                    Some(_) => "cache flushed politely",
                });
                device.find_kinds(found);
            }
        }
    }
}

struct Parts<'a, S, B> {
    build: &'a B,
    between: Between<'a>,
    to_cut: bool,
    books: Vec<Arc<Mutex<Book>>>,
    inside: Vec<Arc<Mutex<Inside<S>>>>,
}

type Part = (Box<dyn Device>, Vec<Place>);

impl<S: Subject + 'static, B: Fn(&Case) -> Result<S, SpecError>> Parts<'_, S, B> {
    fn device(&mut self, plan: &Plan) -> Result<Part, String> {
        match plan {
            Plan::Drive(seed) => {
                let case = if self.to_cut { Case::draw_for_power_cuts(*seed) } else { sound_case(*seed) };
                let drive = (self.build)(&case).map_err(|e| format!("a drive cannot be built: {e}"))?;
                Ok(self.leaf(Inside::Drive(drive), Promise::of_drive(&case)))
            }
            Plan::Disk(spec) => {
                let disk = Disk::new("drawn", (**spec).clone(), 1);
                let disk = disk.map_err(|e| format!("a disk cannot be built: {e}"))?;
                Ok(self.leaf(Inside::Disk(Box::new(disk)), Promise::of_disk(spec)))
            }
            Plan::Striped { stripe_bytes, members } => self.striped(*stripe_bytes, members),
            Plan::Ranges(parts) => self.ranges(parts),
            Plan::Adapter { spec, device } => {
                let (device, mut places) = self.device(device)?;
                if let Some(cache) = &spec.cache {
                    places.iter_mut().for_each(|place| {
                        place.cached = true;
                        place.battery |= cache.battery;
                        place.promise = place.promise.behind(cache);
                    });
                }
                Ok((Box::new(Adapter::new("drawn", spec, (self.between)(device))), places))
            }
        }
    }

    fn leaf(&mut self, inside: Inside<S>, promise: Promise) -> Part {
        let leaf = self.books.len();
        let info = inside.device().info().clone();
        let sectors = (info.capacity_bytes / SECTOR_BYTES) as u32;
        let place = |sector| Place { leaf, sector, cached: false, battery: false, promise };
        let places = (0..sectors).map(place).collect();
        if self.to_cut {
            return (inside.into_device(), places);
        }
        let book = Arc::new(Mutex::new(Book::new(sectors)));
        let inside = Arc::new(Mutex::new(inside));
        self.books.push(Arc::clone(&book));
        self.inside.push(Arc::clone(&inside));
        (Box::new(Watched::new(info, inside, book)), places)
    }

    /// Deals the stripes of the members out like cards, as long as every member has one.
    fn striped(&mut self, stripe_bytes: u64, members: &[Plan]) -> Result<Part, String> {
        let parts: Vec<Part> = members.iter().map(|m| self.device(m)).collect::<Result<_, _>>()?;
        // Drawn drives may be smaller than a stripe.
        let smallest = parts.iter().map(|(_, places)| places.len()).min().unwrap_or(0);
        let stripe = smallest.min((stripe_bytes / SECTOR_BYTES) as usize);
        let stripe_bytes = stripe as u64 * SECTOR_BYTES;
        let mut hands: Vec<_> = parts.iter().map(|(_, places)| places.chunks_exact(stripe)).collect();
        let mut places = Vec::new();
        'dealing: loop {
            let mut row = Vec::new();
            for hand in &mut hands {
                let Some(stripe) = hand.next() else { break 'dealing };
                row.extend_from_slice(stripe);
            }
            places.append(&mut row);
        }
        drop(hands);
        let devices = parts.into_iter().map(|(device, _)| (self.between)(device)).collect();
        let set = Raid0::new("drawn", devices, stripe_bytes).map_err(|e| format!("a set cannot be built: {e}"))?;
        Ok((Box::new(set), places))
    }

    fn ranges(&mut self, parts: &[(Plan, Option<u64>)]) -> Result<Part, String> {
        let (mut devices, mut places) = (Vec::new(), Vec::new());
        for (plan, bytes) in parts {
            let (device, mut part) = self.device(plan)?;
            let bytes = bytes.map(|bytes| bytes.min(device.info().capacity_bytes));
            if let Some(bytes) = bytes {
                part.truncate((bytes / SECTOR_BYTES) as usize);
            }
            places.append(&mut part);
            devices.push(((self.between)(device), bytes));
        }
        let ranges = Ranges::new("drawn", devices).map_err(|e| format!("ranges cannot be built: {e}"))?;
        Ok((Box::new(ranges), places))
    }
}

/// The first case from this seed on whose drive neither errs nor wears out.
fn sound_case(seed: u64) -> Case {
    let cases = (0..).map(|k| Case::draw(seed.wrapping_add(k)));
    let sound = cases.into_iter().find(|case| case.drive.ecc.is_none()).expect("most drives have none");
    Case { faults: GrowingFaults::default(), ..sound }
}

fn draw_cache(rng: &mut Rng) -> AdapterCacheSpec {
    let dirty_limit_percent = one(rng, &[1, 20, 90, 100]);
    AdapterCacheSpec {
        capacity_mib: number(rng, 1, 2),
        line_kib: one(rng, &[4, 8, 16, 32, 64]),
        flush_policy: one(rng, &[FlushChoice::Burst, FlushChoice::Polite]),
        flush_threshold_percent: one(rng, &[0, 1, 50]).min(dirty_limit_percent),
        dirty_limit_percent,
        flush_after_idle_ms: one(rng, &[0.0, 1.0, 500.0]),
        drive_queue_depth: one(rng, &[1, 4, 32]),
        merge_kib: one(rng, &[4, 64, 512]),
        read_ahead_kib: one(rng, &[0, 32, 256]),
        battery: rng.chance(1, 2),
        drive_write_cache: rng.chance(1, 2),
    }
}

fn draw_disk(rng: &mut Rng) -> DiskSpec {
    let mut spec = DiskSpec::plain();
    spec.media.heads = number(rng, 1, 4);
    spec.media.zone_cylinders = vec![number(rng, 5, 20), 9, 20];
    spec.media.zone_sectors_per_track = vec![90, 77, 64];
    spec.media.track_order = one(rng, &[TrackOrder::Cylinder, TrackOrder::Serpentine]);
    spec.media.serpentine_cylinders = number(rng, 1, 6);
    spec.capacity_bytes = spec.media.sectors() * SECTOR_BYTES;
    spec.controller.queue_depth = number(rng, 1, 8);
    spec.controller.order = one(rng, &[ServiceOrder::Fifo, ServiceOrder::ShortestAccess]);
    spec.controller.longest_wait_ms = one(rng, &[1.0, 40.0, 5000.0]);
    spec.controller.command_us = f64::from(number(rng, 0, 300));
    spec.cache.segment_kib = number(rng, 4, 128);
    spec.cache.read_ahead_kib = spec.cache.segment_kib * number(rng, 0, 2) / 2;
    (spec.cache.read_segments, spec.cache.write_segments) = (number(rng, 1, 4), number(rng, 1, 5));
    spec.cache.write_back = rng.chance(1, 2);
    // From a stream of its own, so that a seed keeps its disks.
    spec.controller.not_queued = one(&mut rng.stream("not queued"), &[NotQueued::Nothing, NotQueued::Flush]);
    spec
}
