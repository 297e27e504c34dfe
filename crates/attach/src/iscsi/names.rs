//! What the target is called.

use std::net::SocketAddr;

use crate::export::Export;

/// Bytes of a name.
const MOST_BYTES: usize = 223;

/// The name of the target of a drive: small letters, digits, and `-`, `.`, `:`.
#[must_use]
pub fn target_name(export: &Export) -> String {
    let legal = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '-' | '.') => c,
        _ => '-',
    };
    let mut name = String::from("iqn.2014-09.lab.ssdlab:");
    name.extend(export.name.chars().map(legal));
    name.truncate(MOST_BYTES);
    name
}

/// The address of the drive for iSCSI clients.
#[must_use]
pub fn url(address: SocketAddr, export: &Export) -> String {
    format!("iscsi://{address}/{}/0", target_name(export))
}

#[cfg(test)]
mod tests {
    use ssdlab_device::DeviceInfo;

    use super::*;

    #[test]
    fn names_are_legal() {
        let export = Export::new(&DeviceInfo::new("RAID0(m600, ö)", "ssd"), false);
        assert_eq!(target_name(&export), "iqn.2014-09.lab.ssdlab:raid0-m600----");
    }
}
