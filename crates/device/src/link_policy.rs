//! How a host lets the link of an idle device sleep.

use serde::{Deserialize, Serialize};

/// What the host does with the link of a device that it has no commands for.
///
/// A host that initiates ([`LinkPolicy::Hipm`]) asks for Partial as soon as nothing is outstanding and for Slumber
/// 100 ms later, as StorAHCI and the AHCI adaptive setting of Windows do (Microsoft, *Power management for storage
/// hardware devices: SATA/AHCI*); one that allows it lets the device ask after times of its own. DEVSLP is asserted after
/// six seconds (the same, S0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkPolicy {
    /// The link stays up, as on a desktop computer: active idle.
    #[default]
    Active,
    Hipm,
    Dipm,
    HipmDipm,
    HipmDipmDevsleep,
}

impl LinkPolicy {
    /// Every policy with its name in parameters.
    pub const NAMED: [(&'static str, LinkPolicy); 5] = [
        ("active", LinkPolicy::Active),
        ("hipm", LinkPolicy::Hipm),
        ("dipm", LinkPolicy::Dipm),
        ("hipm+dipm", LinkPolicy::HipmDipm),
        ("hipm+dipm+devsleep", LinkPolicy::HipmDipmDevsleep),
    ];

    /// The policy of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|n| n.0 == name).map(|n| n.1)
    }

    /// Its name in parameters.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMED[self as usize].0
    }

    /// Whether the host asks for Partial and Slumber.
    #[must_use]
    pub fn host_initiates(self) -> bool {
        matches!(self, LinkPolicy::Hipm | LinkPolicy::HipmDipm | LinkPolicy::HipmDipmDevsleep)
    }

    /// Whether the device may ask for them.
    #[must_use]
    pub fn device_may_initiate(self) -> bool {
        matches!(self, LinkPolicy::Dipm | LinkPolicy::HipmDipm | LinkPolicy::HipmDipmDevsleep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_found_by_its_name() {
        for (name, policy) in LinkPolicy::NAMED {
            assert_eq!((LinkPolicy::named(name), policy.name()), (Some(policy), name));
        }
        assert_eq!(LinkPolicy::named("sleep"), None);
    }
}
