//! Which logical pages a request touches.

use ssdlab_core::{Op, SECTOR_BYTES, UNIT_BYTES};
use ssdlab_device::Request;

/// Pages that a request touches, the last excluded; one for a command without data.
#[inline]
pub fn page_range(r: &Request) -> (u32, u32) {
    if r.op == Op::Flush {
        return (0, 1);
    }
    let first = r.offset_bytes / UNIT_BYTES;
    let last = (r.offset_bytes + r.length_bytes).div_ceil(UNIT_BYTES);
    (first as u32, last as u32)
}

/// Sectors of a page that a request touches, one bit each.
pub fn sectors_of(r: &Request, page: u32) -> u8 {
    let start = u64::from(page) * UNIT_BYTES;
    let from = r.offset_bytes.max(start) - start;
    let to = (r.offset_bytes + r.length_bytes).min(start + UNIT_BYTES) - start;
    let bits_to = |bytes: u64| (1u16 << bytes.div_ceil(SECTOR_BYTES)) - 1;
    let bits_before = (1u16 << (from / SECTOR_BYTES)) - 1;
    (bits_to(to) & !bits_before) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_at_both_ends_of_a_request() {
        let request = Request::new(0, Op::Write, 4096 + 3 * 512, 2 * 4096);
        let sectors: Vec<u8> = (1..4).map(|page| sectors_of(&request, page)).collect();
        assert_eq!(sectors, [0b1111_1000, 0b1111_1111, 0b0000_0111]);
        assert_eq!(sectors_of(&Request::new(0, Op::Write, 7 * 512, 512), 0), 0b1000_0000);
    }
}
