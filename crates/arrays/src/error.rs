//! Why an array cannot be built.

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
