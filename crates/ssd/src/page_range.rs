//! Which logical pages a request touches.

use ssdlab_core::{Op, UNIT_BYTES};
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
