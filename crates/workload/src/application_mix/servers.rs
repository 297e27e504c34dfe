//! Two servers: a database, and streams of sound and video.

use super::activity::{Area, Locality, Machine, PAGES_4K, PAGES_8K, Sizes, TRANSACTIONS, Work, activity, locality};

const DIRECTORY: Area = Area::new(3072, 192);
const JOURNAL: Area = Area::new(3264, 64);
const LOGS: Area = Area::new(3328, 768);

const OFTEN_THE_SAME: Locality = locality(80, 20);
const WEAK: Locality = locality(60, 30);
const OLD_PARTITION: u64 = 63 * 512;

const TABLES: Area = Area::new(4096, 6144);
const INDEXES: Area = Area::new(0, 2048);
const TEMPORARY: Area = Area::new(10_240, 1024);

/// Transactions on tables in pages of 8 KiB: 67 % reads, as in Iometer's pattern for databases. What is read most often
/// is in the server's memory, so that reads of the drive are spread; pages are written by a page writer, in order, and
/// transactions wait for the log.
pub(super) const DATABASE: Machine = Machine {
    partition_bytes: OLD_PARTITION,
    directory: DIRECTORY,
    journal: JOURNAL,
    lanes: 4,
    remembered_files: 0,
    activities: &[
        activity(3300, Work::ReadPages { area: TABLES, locality: WEAK, sizes: PAGES_8K, run: 1, depth: 4 }),
        activity(1500, Work::ReadPages { area: INDEXES, locality: WEAK, sizes: PAGES_8K, run: 1, depth: 4 }),
        activity(700, Work::ReadPages { area: TABLES, locality: WEAK, sizes: PAGES_8K, run: 8, depth: 4 }),
        activity(
            1200,
            Work::ReadFile {
                area: TABLES,
                files: Sizes::new(1024, 5),
                locality: WEAK,
                at_most_kib: 8192,
                lookup_percent: 0,
                depth: 4,
            },
        ),
        activity(1300, Work::Append { area: LOGS, sizes: TRANSACTIONS, writes: 2 }),
        activity(
            1200,
            Work::WritePages { area: TABLES, locality: OFTEN_THE_SAME, sizes: PAGES_8K, pages: (16, 64), depth: 4 },
        ),
        activity(
            500,
            Work::WritePages { area: INDEXES, locality: OFTEN_THE_SAME, sizes: PAGES_8K, pages: (16, 64), depth: 4 },
        ),
        activity(300, Work::WriteFile { area: TEMPORARY, files: Sizes::new(256, 4), records: 0, depth: 4 }),
    ],
};

const SOUND_AND_VIDEO: Area = Area::new(4096, 5632);
const UPLOADS: Area = Area::new(9728, 1536);
const SMALL_OBJECTS: Area = Area::new(0, 1024);

/// Many listeners and viewers at once: 96 % reads, as published of the trace, and writes of 25 kB on average, as
/// published. The writes are uploads, in order, and the server's logs.
pub(super) const STREAMING: Machine = Machine {
    partition_bytes: OLD_PARTITION,
    directory: DIRECTORY,
    journal: JOURNAL,
    lanes: 2,
    remembered_files: 16,
    activities: &[
        activity(
            8200,
            Work::ServeStreams {
                area: SOUND_AND_VIDEO,
                files: Sizes::new(4096, 5),
                locality: OFTEN_THE_SAME,
                streams: 40,
                request_kib: 64,
                requests: 32,
                depth: 4,
            },
        ),
        activity(
            1100,
            Work::ReadFile {
                area: SMALL_OBJECTS,
                files: Sizes::new(4, 4),
                locality: OFTEN_THE_SAME,
                at_most_kib: 64,
                lookup_percent: 20,
                depth: 2,
            },
        ),
        activity(300, Work::ReadPages { area: DIRECTORY, locality: OFTEN_THE_SAME, sizes: PAGES_4K, run: 1, depth: 1 }),
        activity(137, Work::WriteFile { area: UPLOADS, files: Sizes::new(2048, 4), records: 0, depth: 2 }),
        activity(223, Work::Append { area: LOGS, sizes: PAGES_4K, writes: 2 }),
        activity(
            40,
            Work::WritePages { area: DIRECTORY, locality: OFTEN_THE_SAME, sizes: PAGES_4K, pages: (1, 4), depth: 2 },
        ),
    ],
};
