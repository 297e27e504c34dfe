//! Devices that can be built: a drive, or devices made of devices.
//!
//! [`device`] reads what stands where a drive name can stand: a name of the catalog, the path of a file, or a device
//! expression such as `raid0(a*2, stripe=128KiB)`. `docs/arrays.md` has the syntax.

mod expression;
mod reader;
mod small;
mod template;

use serde_json::{Value, json};
use ssdlab_arrays::{ArrayError, MemberSize, Raid0, Ranges, ends_of_ranges, raid0_capacity};
use ssdlab_bench::{Lab, PoweredOn};
use ssdlab_core::{Rng, SECTOR_BYTES};
use ssdlab_device::Device;
use ssdlab_keys::SpecError;

use crate::adapter::Adapter;
use crate::diagnostic::{Diagnostic, Place};
use crate::disk::Disk;
use crate::keys::{Origin, SpecRow};
use crate::resolve::Drive;

pub use reader::{DEVICE_ARGUMENT, as_written, by_file_names, device, one_spelling, reference, reference_identity};
pub use template::{DEVICE, DeviceTemplate, Function};

/// A device that was found, read and checked.
#[derive(Clone, Debug)]
pub struct DeviceRecipe {
    /// As given; an expression as one would write it by hand. Names of the same device are the same.
    pub name: String,
    /// A line for people.
    pub description: String,
    pub parts: Parts,
    /// What functions of a program take the place of in its drives, as in `victim=oldest`: of [`DeviceTemplate::set_with`].
    pub functions: Vec<String>,
    /// Where an expression stands that might not be possible to build.
    place: Option<Box<Place>>,
}

/// What a device is made of.
#[derive(Clone, Debug)]
pub enum Parts {
    Ssd(Box<Drive>),
    Disk(Box<Disk>),
    Raid0 {
        stripe_bytes: u64,
        members: Vec<DeviceRecipe>,
    },
    /// Each with the bytes of its range; `None`: all that the device has.
    Ranges(Vec<(DeviceRecipe, Option<u64>)>),
    /// A host adapter with what is attached to it.
    Adapter(Box<Adapter>, Box<DeviceRecipe>),
}

/// Builds an SSD of a drive.
pub type BuildSsd<'a> = dyn Fn(&Drive, u64) -> Result<Box<dyn Device>, SpecError> + 'a;

/// Fresh devices of this recipe, each latency explained, for the tests of the bench.
impl Lab for DeviceRecipe {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        self.build(seed).map(PoweredOn::from).map_err(|e| e.to_string())
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn small(&self, by: u32, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        let small = DeviceRecipe::small(self, by);
        small.map(|recipe| recipe.build(seed).map_err(|e| e.to_string())).transpose()
    }

    fn reference(&self, model: &str, seed: u64) -> Result<Option<Box<dyn Device>>, String> {
        reference(model, seed)
    }
}

impl DeviceRecipe {
    /// The device as it leaves the factory. The same seed gives the same specimens. Members get seeds of their own.
    ///
    /// # Errors
    /// What cannot be built, and where that is written.
    pub fn build(&self, seed: u64) -> Result<Box<dyn Device>, Diagnostic> {
        self.build_with(seed, &|drive, seed| ssdlab_ssd::build(drive.model(), &drive.spec, &drive.die.spec, seed))
    }

    /// As [`DeviceRecipe::build`], with SSDs of another make.
    ///
    /// # Errors
    /// As [`DeviceRecipe::build`].
    pub fn build_with(&self, seed: u64, ssd: &BuildSsd<'_>) -> Result<Box<dyn Device>, Diagnostic> {
        let refused = |e: ArrayError| self.impossible(e.to_string());
        let member = |k: usize, recipe: &DeviceRecipe| recipe.build_with(member_seed(seed, k), ssd);
        Ok(match &self.parts {
            Parts::Ssd(drive) => ssd(drive, seed).map_err(|e| drive.explain(&e))?,
            Parts::Disk(disk) => disk.build(seed).map_err(|e| Diagnostic::new(e.to_string()))?,
            Parts::Raid0 { stripe_bytes, members } => {
                let members = members.iter().enumerate().map(|(k, m)| member(k, m)).collect::<Result<_, _>>()?;
                Box::new(Raid0::new(&self.name, members, *stripe_bytes).map_err(refused)?)
            }
            Parts::Adapter(adapter, device) => {
                let device = device.build_with(seed, ssd)?;
                Box::new(ssdlab_arrays::Adapter::of_model(&self.name, &adapter.name, &adapter.spec, device))
            }
            Parts::Ranges(parts) => {
                let part = |(k, (m, bytes)): (usize, &(DeviceRecipe, Option<u64>))| Ok((member(k, m)?, *bytes));
                let parts = parts.iter().enumerate().map(part).collect::<Result<_, Diagnostic>>()?;
                Box::new(Ranges::new(&self.name, parts).map_err(refused)?)
            }
        })
    }

    /// The same device in small, if its proportions can be kept.
    #[must_use]
    pub fn small(&self, by: u32) -> Option<DeviceRecipe> {
        small::device(self, by)
    }

    fn impossible(&self, what: String) -> Diagnostic {
        let diagnostic = Diagnostic::new(what);
        match &self.place {
            Some(place) => diagnostic.at((**place).clone()),
            None => diagnostic,
        }
    }

    /// What it is made of, one level down; a drive has none.
    #[must_use]
    pub fn members(&self) -> Vec<&DeviceRecipe> {
        match &self.parts {
            Parts::Ssd(_) | Parts::Disk(_) => Vec::new(),
            Parts::Raid0 { members, .. } => members.iter().collect(),
            Parts::Ranges(parts) => parts.iter().map(|(member, _)| member).collect(),
            Parts::Adapter(_, device) => vec![device],
        }
    }

    fn members_mut(&mut self) -> Box<dyn Iterator<Item = &mut DeviceRecipe> + '_> {
        match &mut self.parts {
            Parts::Ssd(_) | Parts::Disk(_) => Box::new(std::iter::empty()),
            Parts::Raid0 { members, .. } => Box::new(members.iter_mut()),
            Parts::Ranges(parts) => Box::new(parts.iter_mut().map(|(member, _)| member)),
            Parts::Adapter(_, device) => Box::new(std::iter::once(&mut **device)),
        }
    }

    /// Everything that decides on what [`DeviceRecipe::build`] builds, but for the model that a single drive is drawn as.
    #[must_use]
    pub fn identity(&self) -> Value {
        self.made_of(DeviceRecipe::named_identity)
    }

    /// The same with the model that a single drive is drawn as, and with the names of functions that take the place of keys.
    #[must_use]
    pub fn named_identity(&self) -> Value {
        let device = match &self.parts {
            Parts::Ssd(drive) => json!({ "name": drive.model().drawn_as, "built": self.identity() }),
            _ => self.identity(),
        };
        self.with_functions(device)
    }

    /// Everything that decides on what it is, the names of functions among it, but for the models that its drives
    /// [are drawn as](Self::drawn_as): two that are alike in this differ by chance alone.
    #[must_use]
    pub fn identity_but_for_chance(&self) -> Value {
        self.with_functions(self.made_of(DeviceRecipe::identity_but_for_chance))
    }

    /// The models that its SSDs are drawn as, in their order: names that decide, beside the seed, on what chance gives each.
    #[must_use]
    pub fn drawn_as(&self) -> Vec<&str> {
        self.ssds().into_iter().map(|drive| drive.model().drawn_as).collect()
    }

    /// Its own values, and what `identity` tells of its members.
    fn made_of(&self, identity: fn(&DeviceRecipe) -> Value) -> Value {
        let members: Vec<Value> = self.members().into_iter().map(identity).collect();
        match &self.parts {
            Parts::Ssd(drive) => json!({ "drive": drive.spec, "die": drive.die.spec }),
            Parts::Disk(disk) => json!({ "disk": disk.spec }),
            Parts::Raid0 { stripe_bytes, .. } => json!({ "raid0": members, "stripe_bytes": stripe_bytes }),
            Parts::Adapter(adapter, _) => json!({ "adapter": adapter.spec, "device": members }),
            Parts::Ranges(parts) => {
                let bytes: Vec<Option<u64>> = parts.iter().map(|(_, bytes)| *bytes).collect();
                json!({ "ranges": members, "bytes": bytes })
            }
        }
    }

    fn with_functions(&self, device: Value) -> Value {
        if self.functions.is_empty() { device } else { json!({ "device": device, "functions": self.functions }) }
    }

    /// The members, equal neighbours once with their number.
    #[must_use]
    pub fn counted_members(&self) -> Vec<(usize, &DeviceRecipe)> {
        let mut counted: Vec<(usize, &DeviceRecipe)> = Vec::new();
        for member in self.members() {
            match counted.last_mut() {
                Some((count, last)) if last.name == member.name => *count += 1,
                _ => counted.push((1, member)),
            }
        }
        counted
    }

    /// Every SSD in it.
    #[must_use]
    pub fn ssds(&self) -> Vec<&Drive> {
        match &self.parts {
            Parts::Ssd(drive) => vec![drive],
            _ => self.members().into_iter().flat_map(DeviceRecipe::ssds).collect(),
        }
    }

    /// How many drives it takes, of any kind.
    #[must_use]
    pub fn drives(&self) -> usize {
        match &self.parts {
            Parts::Ssd(_) | Parts::Disk(_) => 1,
            _ => self.members().into_iter().map(DeviceRecipe::drives).sum(),
        }
    }

    /// Memory that its tables take once all of it has been written, to a quarter or so: 9 bytes for each mapping unit of flash, for the map,
    /// the tags of what flash holds, and the count of the host's writes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        match &self.parts {
            Parts::Ssd(drive) => {
                drive.spec.built_bytes(&drive.die.spec) / u64::from(drive.spec.mapping.unit_bytes()) * 9
            }
            Parts::Disk(_) => 0,
            _ => self.members().into_iter().map(DeviceRecipe::memory_bytes).sum(),
        }
    }

    /// As sold; of an array, what can be addressed.
    #[must_use]
    pub fn capacity_bytes(&self) -> u64 {
        self.checked_capacity().expect("an array is checked when it is read")
    }

    /// The same, or why an array cannot be made of its members.
    fn checked_capacity(&self) -> Result<u64, ArrayError> {
        Ok(match &self.parts {
            Parts::Ssd(drive) => drive.spec.capacity_bytes,
            Parts::Disk(disk) => disk.spec.capacity_bytes,
            Parts::Raid0 { stripe_bytes, members } => {
                let sizes = members.iter().map(DeviceRecipe::size).collect::<Result<Vec<_>, _>>()?;
                raid0_capacity(&sizes, *stripe_bytes)?
            }
            Parts::Adapter(_, device) => device.checked_capacity()?,
            Parts::Ranges(parts) => {
                let sizes = parts.iter().map(|(member, bytes)| Ok((member.size()?, *bytes)));
                let sizes = sizes.collect::<Result<Vec<_>, ArrayError>>()?;
                ends_of_ranges(&sizes)?.last().copied().unwrap_or(0)
            }
        })
    }

    /// What it is as a member. All devices here have sectors of the same size.
    fn size(&self) -> Result<MemberSize<'_>, ArrayError> {
        let capacity_bytes = self.checked_capacity()?;
        Ok(MemberSize { name: &self.name, capacity_bytes, sector_bytes: SECTOR_BYTES as u32 })
    }

    /// Whether the file of any drive in it says what that draws.
    #[must_use]
    pub fn meters_energy(&self) -> bool {
        match &self.parts {
            Parts::Ssd(drive) => drive.spec.power.is_some(),
            Parts::Disk(disk) => disk.spec.power.is_some(),
            _ => self.members().into_iter().any(DeviceRecipe::meters_energy),
        }
    }

    /// Its own values with their sources, without those of its members. A drive has those of its die in
    /// [`Drive::die`].
    #[must_use]
    pub fn rows(&self) -> Vec<SpecRow> {
        match &self.parts {
            Parts::Ssd(drive) => drive.rows.clone(),
            Parts::Disk(disk) => disk.rows.iter().filter(|row| row.key != "kind").cloned().collect(),
            Parts::Raid0 { stripe_bytes, members } => vec![
                row("members", "RAID 0", "members", members.len().to_string(), ""),
                row("stripe_kib", "RAID 0", "stripe", (*stripe_bytes as f64 / 1024.0).to_string(), "KiB"),
            ],
            Parts::Adapter(adapter, _) => adapter.rows.clone(),
            Parts::Ranges(parts) => {
                let bytes = |(member, bytes): &(DeviceRecipe, Option<u64>)| match bytes {
                    Some(bytes) => row(&member.name, "Ranges", &member.name, format!("{} GB", *bytes as f64 / 1e9), ""),
                    None => row(&member.name, "Ranges", &member.name, "rest".to_owned(), ""),
                };
                parts.iter().map(bytes).collect()
            }
        }
    }
}

/// A value that the expression gives.
fn row(key: &str, section: &str, heading: &str, value: String, unit: &str) -> SpecRow {
    SpecRow {
        key: key.to_owned(),
        section: section.to_owned(),
        heading: heading.to_owned(),
        unit: unit.to_owned(),
        value,
        origin: Origin::Source("device expression".to_owned()),
    }
}

/// Members are specimens of their own.
fn member_seed(seed: u64, member: usize) -> u64 {
    Rng::new(seed).stream(&format!("member {member}")).next_u64()
}
