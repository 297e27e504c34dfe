//! fio's I/O engines, as far as they concern a drive: whether they keep several commands in flight.

/// How an engine works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// One command at a time, whatever `iodepth` says.
    Synchronous,
    /// `iodepth` commands in flight.
    Asynchronous,
}

/// `ioengine`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    pub name: &'static str,
    pub kind: EngineKind,
}

impl Engine {
    /// fio's default on Linux.
    pub const DEFAULT: Engine = Engine { name: "psync", kind: EngineKind::Synchronous };
}

const SYNCHRONOUS: &[&str] = &["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];

/// The last ones are clients of block devices elsewhere.
const ASYNCHRONOUS: &[&str] = &[
    "libaio",
    "io_uring",
    "io_uring_cmd",
    "posixaio",
    "solarisaio",
    "windowsaio",
    "guasi",
    "syslet-rw",
    "sg",
    "nbd",
    "rbd",
    "libiscsi",
    "libblkio",
    "xnvme",
];

/// Engines that fio has and that do not send commands to a block device, with what they work on.
const OTHERS: &[(&str, &str)] = &[
    ("binject", "a driver of its own"),
    ("copy_file_range", "files"),
    ("cpp_null", "nothing"),
    ("cpuio", "the processor"),
    ("dev-dax", "memory"),
    ("dfs", "an object store"),
    ("dircreate", "folders"),
    ("dirdelete", "folders"),
    ("dirstat", "folders"),
    ("e4defrag", "a file system"),
    ("exec", "a program"),
    ("external", "an engine from a file"),
    ("falloc", "a file system"),
    ("filecreate", "files"),
    ("filedelete", "files"),
    ("filestat", "files"),
    ("ftruncate", "files"),
    ("gfapi", "a file server"),
    ("gfapi_async", "a file server"),
    ("http", "an object store"),
    ("ime_aio", "a file server"),
    ("ime_psync", "a file server"),
    ("ime_psyncv", "a file server"),
    ("libcufile", "the memory of a graphics card"),
    ("libhdfs", "a file server"),
    ("libhipfile", "the memory of a graphics card"),
    ("libpmem", "memory"),
    ("librpma_apm_client", "memory elsewhere"),
    ("librpma_apm_server", "memory elsewhere"),
    ("librpma_gpspm_client", "memory elsewhere"),
    ("librpma_gpspm_server", "memory elsewhere"),
    ("libzbc", "zoned drives"),
    ("mtd", "raw flash"),
    ("net", "a network"),
    ("netsplice", "a network"),
    ("nfs", "a file server"),
    ("null", "nothing"),
    ("page_fault", "memory"),
    ("pmemblk", "memory"),
    ("rados", "an object store"),
    ("rdma", "a network"),
];

/// The engine of this name.
pub(super) fn engine(name: &str) -> Result<Engine, String> {
    let of = |names: &[&'static str], kind| names.iter().find(|n| **n == name).map(|&name| Engine { name, kind });
    let found = of(SYNCHRONOUS, EngineKind::Synchronous).or_else(|| of(ASYNCHRONOUS, EngineKind::Asynchronous));
    if let Some(engine) = found {
        return Ok(engine);
    }
    // `external:/path/to/engine.o`.
    let bare = name.split(':').next().unwrap_or(name);
    if let Some((_, works_on)) = OTHERS.iter().find(|o| o.0 == bare) {
        return Err(format!(
            "`{name}` works on {works_on}, not on a block device; use libaio (iodepth commands in flight) or psync (one)"
        ));
    }
    let known = SYNCHRONOUS.iter().chain(ASYNCHRONOUS).copied().chain(OTHERS.iter().map(|o| o.0));
    Err(match ssdlab_core::nearest(name, known).first() {
        Some(close) => format!("there is no engine `{name}`; did you mean `{close}`?"),
        None => format!("there is no engine `{name}`; use libaio (iodepth commands in flight) or psync (one)"),
    })
}
