//! Ranges of addresses, each on a device of its own: the system on an SSD, temporary files and user data on a disk.
//!
//! The first range begins at byte 0, each further one where the one before it ends. A range begins at byte 0 of its
//! device; what a device has beyond its range is not used.

use ssdlab_device::{Device, DeviceInfo};

use crate::error::{ArrayError, MemberSize};
use crate::joined::{Extent, Joined, Layout, names_of, spare_percent, together};

/// See the module's own page, and [`Joined`].
pub type Ranges = Joined<Spans>;

/// Where each range ends, in order.
#[derive(Clone, Debug)]
pub struct Spans {
    ends: Vec<u64>,
}

impl Layout for Spans {
    fn place_of(&self, member: usize, offset_bytes: u64) -> Option<u64> {
        let begin = if member == 0 { 0 } else { self.ends[member - 1] };
        Some(begin + offset_bytes).filter(|&place| place < self.ends[member])
    }

    fn shape(&self) -> Vec<u64> {
        self.ends.clone()
    }

    fn cuts_at(&self, bytes: u64) -> bool {
        let (_, inner) = self.ends.split_last().expect("there are at least two");
        inner.iter().all(|end| end.is_multiple_of(bytes))
    }

    fn extents(&self, offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = Extent> {
        let end = offset_bytes + length_bytes;
        let first = self.ends.partition_point(|&range_end| range_end <= offset_bytes);
        (first..self.ends.len()).map_while(move |member| {
            let range_begin = if member == 0 { 0 } else { self.ends[member - 1] };
            let (from, to) = (offset_bytes.max(range_begin), end.min(self.ends[member]));
            (from < to).then(|| Extent { member, offset_bytes: from - range_begin, length_bytes: to - from })
        })
    }
}

impl Ranges {
    /// Devices at rest, each with the bytes of its range; `None`: all that the device has.
    ///
    /// # Errors
    /// [`ArrayError`]: fewer than two devices, a range that is no number of sectors or larger than its device.
    pub fn new(name: &str, parts: Vec<(Box<dyn Device>, Option<u64>)>) -> Result<Self, ArrayError> {
        let (members, sizes): (Vec<Box<dyn Device>>, Vec<Option<u64>>) = parts.into_iter().unzip();
        let known: Vec<_> = members.iter().zip(&sizes).map(|(m, &bytes)| (MemberSize::of(m.info()), bytes)).collect();
        let ends = ends_of_ranges(&known)?;
        let end = ends.last().copied().unwrap_or(0);
        let info = together(name, &members);
        let info = DeviceInfo {
            description: format!("ranges on {}", names_of(&members)),
            capacity_bytes: end,
            over_provisioning_percent: spare_percent(&members, end),
            ..info
        };
        Ok(Joined::of(info, Spans { ends }, members))
    }
}

/// Where each range ends of devices with the bytes of theirs; `None`: all that the device has.
///
/// # Errors
/// As [`Ranges::new`].
pub fn ends_of_ranges(parts: &[(MemberSize<'_>, Option<u64>)]) -> Result<Vec<u64>, ArrayError> {
    if parts.len() < 2 {
        return Err(ArrayError::TooFewMembers { members: parts.len() });
    }
    let sector_bytes = MemberSize::sector_of(parts.iter().map(|part| part.0));
    let mut end = 0;
    let end_of = |&(MemberSize { name, capacity_bytes, .. }, size): &(MemberSize<'_>, Option<u64>)| {
        let member = name.to_owned();
        // All of a device is what of it is whole sectors of every device.
        let bytes = size.unwrap_or(capacity_bytes / u64::from(sector_bytes) * u64::from(sector_bytes));
        if bytes == 0 || !bytes.is_multiple_of(sector_bytes.into()) {
            return Err(ArrayError::Range { member, bytes, sector_bytes });
        }
        if bytes > capacity_bytes {
            return Err(ArrayError::RangeTooLarge { member, capacity_bytes, bytes });
        }
        end += bytes;
        Ok(end)
    };
    parts.iter().map(end_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_lies_in_its_range() {
        let spans = Spans { ends: vec![100, 150, 400] };
        let extents = |offset, length| -> Vec<(usize, u64, u64)> {
            spans.extents(offset, length).map(|e| (e.member, e.offset_bytes, e.length_bytes)).collect()
        };
        assert_eq!(extents(0, 100), [(0, 0, 100)]);
        assert_eq!(extents(90, 20), [(0, 90, 10), (1, 0, 10)]);
        assert_eq!(extents(99, 301), [(0, 99, 1), (1, 0, 50), (2, 0, 250)]);
        assert_eq!(extents(150, 1), [(2, 0, 1)]);
    }
}
