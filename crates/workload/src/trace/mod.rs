//! Block traces: what real hosts once sent, read from the files in which the field keeps them.
//!
//! | format | unit of time | unit of address | what is not a request |
//! |---|---|---|---|
//! | [`Format::Msr`] (MSR Cambridge CSV) | 100 ns | bytes | – |
//! | [`Format::VscsiV1`], [`Format::VscsiV2`] (binary) | µs | 512 B sectors | SCSI commands that do not read, write or flush |
//! | [`Format::Mqsim`] (ASCII) | ns | 512 B sectors | – |
//! | [`Format::Blkparse`] (default text) | ns | 512 B sectors | events other than the issue of a request |
//! | [`Format::IologV2`] (fio) | ms, at waits | bytes | opening and closing of files |
//! | [`Format::IologV3`] (fio) | µs | bytes | opening and closing of files |
//! | [`Format::Spc`] (SPC ASCII) | s | 512 B blocks | – |
//! | [`Format::Alibaba`] (CSV) | µs | bytes | – |
//! | [`Format::Tencent`] (CSV) | s | 512 B sectors | – |
//! | [`Format::Systor`] (CSV) | s | bytes | requests without their kind |
//! | [`Format::CloudPhysics`] (CSV) | s | 512 B sectors | SCSI commands that do not read, write or flush |
//!
//! A [`TraceReader`] streams: it holds a line or a record, never the file. Arrival times are made relative to the
//! first request; a request that is stamped earlier than the one before it arrives together with that one, and is
//! counted ([`TraceReader::stamps`]). A [`Placement`] then brings the addresses onto a drive, and says what it
//! had to adjust.
//!
//! ```
//! use ssdlab_workload::trace::{Fit, Placement, PlacementSpec, TraceReader, TraceSummary};
//!
//! let text = "1000 0 8 16 1\n3000 0 2000000 8 0\n";
//! let open = || TraceReader::new("two.mqsim", text.as_bytes(), None);
//! let summary = TraceSummary::read(&mut open()?)?;
//! assert_eq!((summary.reads, summary.writes), (1, 1));
//!
//! let mut placement = Placement::new(PlacementSpec { fit: Fit::Wrap, ..Default::default() }, &summary, 500_000_000);
//! for record in open()? {
//!     for command in placement.place(&record?) {
//!         assert!(command.offset_bytes + command.length_bytes <= 500_000_000);
//!     }
//! }
//! assert_eq!(placement.report().moved, 1); // the second address lay beyond the drive
//! # Ok::<(), ssdlab_workload::trace::TraceError>(())
//! ```

mod blkparse;
mod compressed;
mod csv;
mod detect;
mod error;
mod format;
mod iolog;
mod lines;
mod mqsim;
mod msr;
mod number;
mod placement;
mod reader;
mod source;
mod spc;
mod summary;
mod table;
mod vscsi;

pub use error::TraceError;
pub use format::{FORMATS, Format};
pub use placement::{Devices, Fit, PIECE as SCALED_PIECE_BYTES, Placed, Placement, PlacementReport, PlacementSpec};
pub use reader::{MAX_DEVICES, Stamps, TraceReader, TraceRecord};
pub use source::{MAX_HELD_BYTES, SourceReader, TraceSource};
pub use summary::{SIZE_BINS, TraceSummary};

use ssdlab_core::Op;

/// A request as a format's parser sees it, before times are relative and devices numbered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Raw<'a> {
    /// Nanoseconds since whatever the format counts from.
    at: u128,
    op: Op,
    device: &'a str,
    offset_bytes: u64,
    length_bytes: u64,
    fua: bool,
}

/// What a parser made of a line or record: a request or nothing. The error is the problem
/// in words; the reader adds file and place.
enum Parsed<'a> {
    Request(Raw<'a>),
    /// Well-formed, but nothing that a drive would see.
    Skipped,
    /// Of a summary for people.
    Summary,
}

impl<'a> Parsed<'a> {
    /// A request, after the checks that all formats share.
    fn request(raw: Raw<'a>) -> Result<Self, String> {
        if raw.op != Op::Flush {
            if raw.length_bytes == 0 {
                return Err("the length is zero; it must be at least one byte".into());
            }
            if raw.offset_bytes.checked_add(raw.length_bytes).is_none() {
                return Err(format!(
                    "offset {} plus length {} overflows 2^64 bytes",
                    raw.offset_bytes, raw.length_bytes
                ));
            }
        }
        Ok(Parsed::Request(raw))
    }
}
