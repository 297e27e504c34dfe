//! Why an array cannot be built.

use ssdlab_device::DeviceInfo;
use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArrayError {
    #[error("an array of {members} members: use at least 2")]
    TooFewMembers { members: usize },
    #[error("a stripe of {stripe_bytes} bytes: use a multiple of {sector_bytes} bytes, the largest sector of a member")]
    Stripe { stripe_bytes: u64, sector_bytes: u32 },
    #[error("{member} has {capacity_bytes} bytes, less than one stripe of {stripe_bytes}")]
    MemberTooSmall { member: String, capacity_bytes: u64, stripe_bytes: u64 },
    #[error("a range of {bytes} bytes for {member}: use a multiple of {sector_bytes} bytes, at least one")]
    Range { member: String, bytes: u64, sector_bytes: u32 },
    #[error("{member} has {capacity_bytes} bytes, less than its range of {bytes}")]
    RangeTooLarge { member: String, capacity_bytes: u64, bytes: u64 },
}

/// What is known of a member before it is built.
#[derive(Clone, Copy, Debug)]
pub struct MemberSize<'a> {
    pub name: &'a str,
    pub capacity_bytes: u64,
    pub sector_bytes: u32,
}

impl<'a> MemberSize<'a> {
    pub(crate) fn of(info: &'a DeviceInfo) -> Self {
        MemberSize { name: &info.name, capacity_bytes: info.capacity_bytes, sector_bytes: info.sector_bytes }
    }

    /// The largest sector of any member: what an array of them has.
    pub(crate) fn sector_of(members: impl Iterator<Item = MemberSize<'a>>) -> u32 {
        members.map(|m| m.sector_bytes).max().unwrap_or(0)
    }
}
