//! What a device says of itself.

use ssdlab_core::{Op, SECTOR_BYTES};

use crate::refusal::Refusal;
use crate::request::Request;

/// What a device is and what it can do.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// Catalog name, or the path that it was made from.
    pub name: String,
    /// `ssd`, `hdd`, `array`, `host`.
    pub kind: &'static str,
    /// A line for people: controller, flash, capacity.
    pub description: String,
    pub capacity_bytes: u64,
    /// The smallest addressable piece; a power of two.
    pub sector_bytes: u32,
    /// Commands that the device accepts at once (NCQ: 32).
    pub queue_depth: u32,
    /// Streams that a host may name with its writes, numbered from 0. 1: the device does not keep data of different
    /// lifetimes apart.
    pub streams: u8,
    pub supports_trim: bool,
    pub supports_write_zeroes: bool,
    /// Whether whoever uses it may only read: it takes no command that changes what it holds.
    pub read_only: bool,
    /// Whether it makes a difference to the device how far data can be compressed.
    pub compresses: bool,
    /// Whether the device keeps what is written. Where not, requests carry no payload.
    pub holds_contents: bool,
    /// Spare area, as a percentage of the capacity sold. Needed to interpret any write result. `None` for a device that
    /// has none, such as a disk, or does not tell.
    pub over_provisioning_percent: Option<f64>,
}

impl DeviceInfo {
    /// A device of no capacity that can do no more than every device: one stream, queue depth 32, sectors of 512 bytes,
    /// no TRIM. Fields are meant to be replaced.
    #[must_use]
    pub fn new(name: &str, kind: &'static str) -> Self {
        DeviceInfo {
            name: name.to_owned(),
            kind,
            description: String::new(),
            capacity_bytes: 0,
            sector_bytes: SECTOR_BYTES as u32,
            queue_depth: 32,
            streams: 1,
            supports_trim: false,
            supports_write_zeroes: false,
            read_only: false,
            compresses: false,
            holds_contents: false,
            over_provisioning_percent: None,
        }
    }

    /// Whether the device accepts a command. The only place where these rules stand: every device calls it first. Who serves a
    /// device to others, and has answers of its own, asks [`DeviceInfo::contains`] and [`DeviceInfo::is_whole`].
    /// A flush has no range and is always accepted.
    ///
    /// # Errors
    /// The first rule that the command breaks.
    #[inline]
    pub fn check(&self, request: &Request) -> Result<(), Refusal> {
        if self.accepts(request) { Ok(()) } else { Err(self.refusal(request)) }
    }

    #[inline]
    fn accepts(&self, r: &Request) -> bool {
        let supported = match r.op {
            Op::Flush => return true,
            Op::Read => true,
            Op::Write => !self.read_only,
            Op::Trim => self.supports_trim && !self.read_only,
            Op::WriteZeroes => self.supports_write_zeroes && !self.read_only,
        };
        let whole = self.is_whole(r.offset_bytes, r.length_bytes);
        let contents = r.payload.is_none() || self.holds_contents;
        supported
            && whole
            && r.length_bytes > 0
            && self.contains(r.offset_bytes, r.length_bytes)
            && contents
            && r.hints.stream < self.streams
    }

    /// Whether a stretch begins and ends with sectors.
    #[must_use]
    #[inline]
    pub fn is_whole(&self, offset_bytes: u64, length_bytes: u64) -> bool {
        (offset_bytes | length_bytes) & u64::from(self.sector_bytes - 1) == 0
    }

    /// Whether a stretch lies within the device. Written so that no sum can overflow.
    #[must_use]
    #[inline]
    pub fn contains(&self, offset_bytes: u64, length_bytes: u64) -> bool {
        length_bytes <= self.capacity_bytes && offset_bytes <= self.capacity_bytes - length_bytes
    }

    /// Which rule a command breaks that is not accepted.
    #[cold]
    fn refusal(&self, r: &Request) -> Refusal {
        let Request { op, offset_bytes, length_bytes, .. } = *r;
        let (sector_bytes, capacity_bytes) = (self.sector_bytes, self.capacity_bytes);
        if op == Op::Trim && !self.supports_trim || op == Op::WriteZeroes && !self.supports_write_zeroes {
            Refusal::Unsupported { op }
        } else if self.read_only && op != Op::Read {
            Refusal::ReadOnly { op }
        } else if length_bytes == 0 {
            Refusal::Empty { op, offset_bytes }
        } else if !self.is_whole(offset_bytes, length_bytes) {
            Refusal::NotWholeSectors { op, offset_bytes, length_bytes, sector_bytes }
        } else if !self.contains(offset_bytes, length_bytes) {
            Refusal::BeyondCapacity { op, offset_bytes, length_bytes, capacity_bytes }
        } else if r.payload.is_some() && !self.holds_contents {
            Refusal::NoContents { op, offset_bytes }
        } else {
            Refusal::NoSuchStream { stream: r.hints.stream, streams: self.streams }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::PayloadId;

    const CAPACITY: u64 = 1 << 20;

    fn info() -> DeviceInfo {
        DeviceInfo { capacity_bytes: CAPACITY, supports_trim: true, streams: 2, ..DeviceInfo::new("d", "ssd") }
    }

    #[test]
    fn whole_sectors_within_the_capacity_are_accepted() {
        for (offset, length) in [(0, 512), (512, 1024), (CAPACITY - 512, 512), (0, CAPACITY)] {
            for op in [Op::Read, Op::Write, Op::Trim] {
                assert_eq!(info().check(&Request::new(1, op, offset, length).with_stream(1)), Ok(()));
            }
        }
    }

    #[test]
    fn a_flush_has_no_range_to_refuse() {
        assert_eq!(info().check(&Request::new(1, Op::Flush, 1, CAPACITY * 2)), Ok(()));
    }

    #[test]
    fn an_empty_command_is_refused() {
        assert_eq!(info().check(&Request::read(1, 512, 0)), Err(Refusal::Empty { op: Op::Read, offset_bytes: 512 }));
    }

    #[test]
    fn parts_of_sectors_are_refused() {
        for (offset_bytes, length_bytes) in [(0, 511), (0, 513), (256, 512), (1, 1)] {
            let refused = Refusal::NotWholeSectors { op: Op::Write, offset_bytes, length_bytes, sector_bytes: 512 };
            assert_eq!(info().check(&Request::write(1, offset_bytes, length_bytes)), Err(refused));
        }
        let large = DeviceInfo { sector_bytes: 4096, ..info() };
        assert!(matches!(large.check(&Request::read(1, 0, 512)), Err(Refusal::NotWholeSectors { .. })));
        assert_eq!(large.check(&Request::read(1, 0, 4096)), Ok(()));
    }

    #[test]
    fn what_lies_beyond_the_end_is_refused_and_no_sum_overflows() {
        let last = u64::MAX - 511;
        for (offset, length) in [(CAPACITY, 512), (CAPACITY - 512, 1024), (last, 512), (512, last), (last, last)] {
            let refused = info().check(&Request::read(1, offset, length));
            assert!(matches!(refused, Err(Refusal::BeyondCapacity { capacity_bytes: CAPACITY, .. })), "{refused:?}");
        }
    }

    #[test]
    fn a_stream_that_the_device_has_not_is_refused() {
        let refused = info().check(&Request::write(1, 0, 512).with_stream(2));
        assert_eq!(refused, Err(Refusal::NoSuchStream { stream: 2, streams: 2 }));
    }

    #[test]
    fn data_for_a_device_without_contents_are_refused() {
        let write = Request::write(1, 512, 512).with_payload(PayloadId(std::num::NonZeroU32::MIN));
        assert_eq!(info().check(&write), Err(Refusal::NoContents { op: Op::Write, offset_bytes: 512 }));
        assert_eq!(DeviceInfo { holds_contents: true, ..info() }.check(&write), Ok(()));
    }

    #[test]
    fn commands_that_the_device_does_not_know_are_refused() {
        let plain = DeviceInfo { supports_trim: false, ..info() };
        assert_eq!(plain.check(&Request::trim(1, 0, 512)), Err(Refusal::Unsupported { op: Op::Trim }));
        let zeroes = Request::write_zeroes(1, 0, 512);
        assert_eq!(info().check(&zeroes), Err(Refusal::Unsupported { op: Op::WriteZeroes }));
        assert_eq!(DeviceInfo { supports_write_zeroes: true, ..info() }.check(&zeroes), Ok(()));
    }

    #[test]
    fn what_may_only_be_read_takes_no_command_that_changes_it() {
        let info = DeviceInfo { read_only: true, supports_write_zeroes: true, ..info() };
        assert_eq!(info.check(&Request::read(1, 0, 512)), Ok(()));
        assert_eq!(info.check(&Request::flush(1)), Ok(()));
        for op in [Op::Write, Op::Trim, Op::WriteZeroes] {
            assert_eq!(info.check(&Request::new(1, op, 0, 512)), Err(Refusal::ReadOnly { op }));
        }
    }

    #[test]
    fn a_refusal_says_what_would_be_right() {
        let text = |r: &Request| info().check(r).unwrap_err().to_string();
        assert_eq!(
            text(&Request::write(1, 0, 100)),
            "write at byte 0, 100 bytes long: offset and length must be multiples of 512 bytes"
        );
        assert!(text(&Request::trim(1, CAPACITY, 512)).contains("which has 1048576 bytes"));
        assert_eq!(text(&Request::write_zeroes(1, 0, 512)), "the device does not support the command write_zeroes");
    }
}
