//! The formats, by name.

use std::fmt;

use super::table;

/// A trace file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    Msr,
    VscsiV1,
    VscsiV2,
    Mqsim,
    Blkparse,
    IologV2,
    IologV3,
    Spc,
    Alibaba,
    Tencent,
    Systor,
    CloudPhysics,
    /// Of a [`super::TraceSource::Table`]; no file is of it.
    Table,
}

/// Every format of files with its name and a description.
pub const FORMATS: [(Format, &str, &str); 12] = [
    (Format::Msr, "msr", "MSR Cambridge CSV: filetime,host,disk,Read|Write,offset,size,response"),
    (Format::VscsiV1, "vscsi1", "VMware vscsi version 1, binary, 32 bytes a record"),
    (Format::VscsiV2, "vscsi2", "VMware vscsi version 2, binary, 40 bytes a record"),
    (Format::Mqsim, "mqsim", "MQSim ASCII: time device lba sectors type (0 write, 1 read)"),
    (Format::Blkparse, "blkparse", "blkparse default text"),
    (Format::IologV2, "iolog2", "fio iolog version 2"),
    (Format::IologV3, "iolog3", "fio iolog version 3"),
    (Format::Spc, "spc", "SPC ASCII: asu,lba,size,R|W,seconds"),
    (Format::Alibaba, "alibaba", "Alibaba block traces: device,R|W,offset,length,microseconds"),
    (Format::Tencent, "tencent", "Tencent CBS: seconds,sector,sectors,0 read or 1 write,volume"),
    (Format::Systor, "systor", "Systor '17: seconds,response,R|W,LUN,offset,size"),
    (Format::CloudPhysics, "cloudphysics", "CloudPhysics CSV: version,seconds,SCSI command,bytes,sector"),
];

/// The names for an error message.
pub(super) fn format_names() -> String {
    FORMATS.map(|f| f.1).join(", ")
}

impl Format {
    #[must_use]
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|f| f.0 == self).map_or("table", |f| f.1)
    }

    /// Bytes of a record; `None` for text.
    pub(super) fn record_bytes(self) -> Option<usize> {
        match self {
            Format::VscsiV1 => Some(32),
            Format::VscsiV2 => Some(40),
            Format::Table => Some(table::ROW_BYTES),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
