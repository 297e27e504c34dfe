//! What a machine does, as data: areas of its file system, and activities with their shares.

const KIB: u32 = 1 << 10;

/// A stretch of the file system, in MiB from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub from_mib: u64,
    pub mib: u64,
}

/// Sizes drawn from a range: every doubling is equally likely, and so is every 4 KiB within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub from_kib: u64,
    /// How often the smallest size doubles up to the largest.
    pub doublings: u32,
}

/// Request sizes in bytes, with weights.
pub(super) type Weights = &'static [(u32, u32)];

/// How unevenly an area or a set of files is used: so many per cent of the accesses go to so many per cent of it, and
/// of these as many again to as small a part of that part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Locality {
    pub accesses: u64,
    pub part: u64,
}

/// One way of using the drive. An occurrence is a burst of requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    /// Opens a file and reads it from its beginning, in 64 KiB requests. The read-ahead keeps `depth` of them in flight.
    ReadFile { area: Area, files: Sizes, locality: Locality, at_most_kib: u64, lookup_percent: u64, depth: u32 },
    /// The same for every file in turn, as a virus scanner does.
    Scan { area: Area, files: Sizes, at_most_kib: u64 },
    /// Writes a new file behind the last one, in 64 KiB requests, then its records: the journal and the directory.
    WriteFile { area: Area, files: Sizes, records: u32, depth: u32 },
    /// Reads a file and writes a copy of it behind the last one. One read in `reads_per_write` is followed by a write.
    CopyFile { from: Area, to: Area, files: Sizes, reads_per_write: u64 },
    /// Loads one of so many programs: its pieces, the same every time, in ascending order.
    Load { area: Area, programs: u64, locality: Locality, pieces: (u64, u64), sizes: Weights, depth: u32 },
    /// Reads pages here and there; each place may be the beginning of a short run.
    ReadPages { area: Area, locality: Locality, sizes: Weights, run: u64, depth: u32 },
    /// Writes so many pages in ascending order, as a page writer does.
    WritePages { area: Area, locality: Locality, sizes: Weights, pages: (u64, u64), depth: u32 },
    /// Reads a page, then writes it.
    UpdatePage { area: Area, locality: Locality, sizes: Weights },
    /// Adds up to so many entries of 4 KiB to the journal of the file system.
    Journal { entries: u64 },
    /// Appends up to so many times to a log, which begins anew at its end.
    Append { area: Area, sizes: Weights, writes: u64 },
    /// Goes on with some of so many files that are read at the same time.
    ServeStreams {
        area: Area,
        files: Sizes,
        locality: Locality,
        streams: usize,
        request_kib: u64,
        requests: u64,
        depth: u32,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Activity {
    /// Of 10,000 requests.
    pub share: u64,
    pub work: Work,
}

/// A machine: where its partition begins, and what it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    pub partition_bytes: u64,
    /// Directory records of all files.
    pub directory: Area,
    pub journal: Area,
    /// Activities that go on side by side.
    pub lanes: usize,
    /// Files that the host has in memory and does not read again.
    pub remembered_files: usize,
    pub activities: &'static [Activity],
}

impl Area {
    pub const fn new(from_mib: u64, mib: u64) -> Self {
        Area { from_mib, mib }
    }

    pub const fn from(self) -> u64 {
        self.from_mib << 20
    }

    pub const fn bytes(self) -> u64 {
        self.mib << 20
    }
}

impl Sizes {
    pub const fn new(from_kib: u64, doublings: u32) -> Self {
        Sizes { from_kib, doublings }
    }
}

pub(super) const fn locality(accesses: u64, part: u64) -> Locality {
    Locality { accesses, part }
}

pub(super) const fn activity(share: u64, work: Work) -> Activity {
    Activity { share, work }
}

pub(super) const PAGES_4K: Weights = &[(4 * KIB, 1)];
pub(super) const PAGES_8K: Weights = &[(8 * KIB, 1)];
/// Code and data of programs as the memory manager pages them in: clusters of 16 KiB of data and 32 KiB of code, single
/// pages, and longer pieces.
pub(super) const PROGRAM_PIECES: Weights =
    &[(4 * KIB, 30), (8 * KIB, 15), (16 * KIB, 20), (32 * KIB, 25), (64 * KIB, 10)];
/// Page faults: two thirds are single pages, seven of eight smaller than 16 KiB.
pub(super) const PAGE_FAULTS: Weights = &[(4 * KIB, 67), (8 * KIB, 21), (16 * KIB, 8), (64 * KIB, 4)];
pub(super) const MAIL_PAGES: Weights = &[(4 * KIB, 70), (8 * KIB, 30)];
/// A transaction log is written in sectors, as much as there is at the time of a commit.
pub(super) const TRANSACTIONS: Weights =
    &[(512, 20), (KIB, 20), (2 * KIB, 15), (4 * KIB, 20), (8 * KIB, 15), (16 * KIB, 7), (32 * KIB, 3)];
pub(super) const OUT_TO_PAGE_FILE: Weights = &[(64 * KIB, 1)];
