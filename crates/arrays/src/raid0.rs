//! RAID 0: stripes over members, no redundancy.

use ssdlab_device::{Device, DeviceInfo};

use crate::error::{ArrayError, MemberSize};
use crate::joined::{Joined, names_of, spare_percent, together};
use crate::stripes::Stripes;

/// See the module's own page, and [`Joined`].
pub type Raid0 = Joined<Stripes>;

impl Raid0 {
    /// An array of members that are at rest.
    ///
    /// # Errors
    /// [`ArrayError`]: fewer than two members, a stripe that is no number of sectors, a member smaller than a stripe.
    pub fn new(name: &str, members: Vec<Box<dyn Device>>, stripe_bytes: u64) -> Result<Self, ArrayError> {
        let sizes: Vec<MemberSize<'_>> = members.iter().map(|m| MemberSize::of(m.info())).collect();
        let capacity_bytes = raid0_capacity(&sizes, stripe_bytes)?;
        let info = together(name, &members);
        let info = DeviceInfo {
            description: format!("RAID 0 of {}, stripes of {}", names_of(&members), size(stripe_bytes)),
            capacity_bytes,
            over_provisioning_percent: spare_percent(&members, capacity_bytes),
            ..info
        };
        let stripes = Stripes { stripe_bytes, members: members.len() as u64 };
        Ok(Joined::of(info, stripes, members))
    }
}

/// What members are together: whole stripes, as many on each as the smallest has.
///
/// # Errors
/// As [`Raid0::new`].
pub fn raid0_capacity(members: &[MemberSize<'_>], stripe_bytes: u64) -> Result<u64, ArrayError> {
    if members.len() < 2 {
        return Err(ArrayError::TooFewMembers { members: members.len() });
    }
    let sector_bytes = MemberSize::sector_of(members.iter().copied());
    if stripe_bytes == 0 || !stripe_bytes.is_multiple_of(sector_bytes.into()) {
        return Err(ArrayError::Stripe { stripe_bytes, sector_bytes });
    }
    if let Some(small) = members.iter().find(|m| m.capacity_bytes < stripe_bytes) {
        let (member, capacity_bytes) = (small.name.to_owned(), small.capacity_bytes);
        return Err(ArrayError::MemberTooSmall { member, capacity_bytes, stripe_bytes });
    }
    let smallest = members.iter().map(|m| m.capacity_bytes).min().unwrap_or(0);
    Ok(smallest / stripe_bytes * stripe_bytes * members.len() as u64)
}

/// In KiB where that is whole.
fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1024) { format!("{} KiB", bytes / 1024) } else { format!("{bytes} bytes") }
}
