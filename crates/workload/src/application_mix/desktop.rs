//! Three mixes of one kind of computer: a personal computer with Windows and NTFS.

use super::activity::{
    Area, Locality, MAIL_PAGES, Machine, OUT_TO_PAGE_FILE, PAGE_FAULTS, PAGES_4K, PROGRAM_PIECES, Sizes, Work,
    activity, locality,
};

/// Windows itself; programs follow it.
const SYSTEM: Area = Area::new(0, 1536);
/// NTFS puts its table of files at 3 GiB.
const DIRECTORY: Area = Area::new(3072, 192);
const JOURNAL: Area = Area::new(3264, 64);
const PAGE_FILE: Area = Area::new(3328, 768);
const MAIL: Area = Area::new(4096, 512);
const DOCUMENTS: Area = Area::new(4608, 1536);
const WEB_CACHE: Area = Area::new(6144, 512);
const SCRATCH: Area = Area::new(6656, 512);
const MEDIA: Area = Area::new(7168, 2560);
const NEW_FILES: Area = Area::new(9728, 1536);
/// Hives of the registry, at the end of the system's area.
const REGISTRY: Area = Area::new(1472, 64);
/// System and programs: loading a program reads both.
const SOFTWARE: Area = Area::new(0, 3072);

const OFTEN_THE_SAME: Locality = locality(80, 20);
/// Of reads: what is read most often is in the host's memory, and the drive sees the rest.
const WEAK: Locality = locality(60, 30);
const DOCUMENT: Sizes = Sizes::new(4, 10);
const SMALL_FILE: Sizes = Sizes::new(4, 4);
/// Windows up to XP begins the first partition at sector 63.
const OLD_PARTITION: u64 = 63 * 512;
/// Windows from Vista on begins it at 1 MiB.
const NEW_PARTITION: u64 = 1 << 20;

/// Office work, mail and the web, with a virus scanner beside it: three reads to two writes, as in PCMark05's general
/// use.
pub(super) const DESKTOP: Machine = Machine {
    partition_bytes: OLD_PARTITION,
    directory: DIRECTORY,
    journal: JOURNAL,
    lanes: 2,
    remembered_files: 64,
    activities: &[
        activity(
            1700,
            Work::Load {
                area: SOFTWARE,
                programs: 60,
                locality: OFTEN_THE_SAME,
                pieces: (24, 160),
                sizes: PROGRAM_PIECES,
                depth: 2,
            },
        ),
        activity(700, Work::ReadPages { area: SOFTWARE, locality: WEAK, sizes: PAGE_FAULTS, run: 4, depth: 1 }),
        activity(400, Work::ReadPages { area: PAGE_FILE, locality: WEAK, sizes: PAGE_FAULTS, run: 4, depth: 1 }),
        activity(
            1300,
            Work::ReadFile {
                area: DOCUMENTS,
                files: DOCUMENT,
                locality: WEAK,
                at_most_kib: 1024,
                lookup_percent: 60,
                depth: 2,
            },
        ),
        activity(
            700,
            Work::ReadFile {
                area: WEB_CACHE,
                files: SMALL_FILE,
                locality: WEAK,
                at_most_kib: 64,
                lookup_percent: 60,
                depth: 1,
            },
        ),
        activity(400, Work::Scan { area: DOCUMENTS, files: DOCUMENT, at_most_kib: 64 }),
        activity(1200, Work::UpdatePage { area: MAIL, locality: WEAK, sizes: MAIL_PAGES }),
        activity(1300, Work::WriteFile { area: WEB_CACHE, files: SMALL_FILE, records: 2, depth: 2 }),
        activity(800, Work::WriteFile { area: NEW_FILES, files: DOCUMENT, records: 3, depth: 2 }),
        activity(600, Work::Journal { entries: 3 }),
        activity(
            400,
            Work::WritePages { area: REGISTRY, locality: OFTEN_THE_SAME, sizes: PAGES_4K, pages: (2, 12), depth: 4 },
        ),
        activity(
            350,
            Work::WritePages { area: DIRECTORY, locality: OFTEN_THE_SAME, sizes: PAGES_4K, pages: (4, 16), depth: 4 },
        ),
        activity(
            150,
            Work::WritePages { area: PAGE_FILE, locality: WEAK, sizes: OUT_TO_PAGE_FILE, pages: (4, 16), depth: 4 },
        ),
    ],
};

/// The system and programs are started over and over: six reads to one write, between PCMark05's start of Windows XP
/// (nine to one) and loading of applications (five to one).
pub(super) const BOOT_AND_LAUNCH: Machine = Machine {
    partition_bytes: NEW_PARTITION,
    directory: DIRECTORY,
    journal: JOURNAL,
    lanes: 2,
    remembered_files: 64,
    activities: &[
        activity(
            3200,
            Work::Load {
                area: SYSTEM,
                programs: 2,
                locality: WEAK,
                pieces: (1500, 3000),
                sizes: PROGRAM_PIECES,
                depth: 4,
            },
        ),
        activity(1500, Work::ReadPages { area: SYSTEM, locality: WEAK, sizes: PROGRAM_PIECES, run: 4, depth: 1 }),
        activity(300, Work::ReadPages { area: REGISTRY, locality: WEAK, sizes: PROGRAM_PIECES, run: 8, depth: 2 }),
        activity(
            2800,
            Work::Load {
                area: SOFTWARE,
                programs: 40,
                locality: OFTEN_THE_SAME,
                pieces: (60, 600),
                sizes: PROGRAM_PIECES,
                depth: 3,
            },
        ),
        activity(
            800,
            Work::ReadFile {
                area: DOCUMENTS,
                files: DOCUMENT,
                locality: WEAK,
                at_most_kib: 64,
                lookup_percent: 80,
                depth: 1,
            },
        ),
        activity(350, Work::Journal { entries: 3 }),
        activity(
            350,
            Work::WritePages { area: REGISTRY, locality: OFTEN_THE_SAME, sizes: PAGES_4K, pages: (2, 12), depth: 4 },
        ),
        activity(450, Work::WriteFile { area: NEW_FILES, files: Sizes::new(16, 3), records: 2, depth: 2 }),
        activity(
            250,
            Work::WritePages { area: DIRECTORY, locality: OFTEN_THE_SAME, sizes: PAGES_4K, pages: (4, 16), depth: 4 },
        ),
    ],
};

/// Files are copied, photographs edited, sound and video converted: long sequential runs, as many writes as reads in
/// copies and fewer elsewhere.
pub(super) const WORKSTATION: Machine = Machine {
    partition_bytes: OLD_PARTITION,
    directory: DIRECTORY,
    journal: JOURNAL,
    lanes: 2,
    remembered_files: 16,
    activities: &[
        activity(1500, Work::CopyFile { from: DOCUMENTS, to: NEW_FILES, files: DOCUMENT, reads_per_write: 1 }),
        activity(1500, Work::CopyFile { from: MEDIA, to: NEW_FILES, files: Sizes::new(1024, 6), reads_per_write: 1 }),
        activity(
            1400,
            Work::ReadFile {
                area: MEDIA,
                files: Sizes::new(1024, 6),
                locality: WEAK,
                at_most_kib: 20_480,
                lookup_percent: 60,
                depth: 2,
            },
        ),
        activity(900, Work::WriteFile { area: SCRATCH, files: Sizes::new(8192, 2), records: 1, depth: 4 }),
        activity(
            600,
            Work::ReadFile {
                area: SCRATCH,
                files: Sizes::new(8192, 2),
                locality: WEAK,
                at_most_kib: 32_768,
                lookup_percent: 0,
                depth: 2,
            },
        ),
        activity(600, Work::WriteFile { area: NEW_FILES, files: Sizes::new(1024, 3), records: 3, depth: 2 }),
        activity(900, Work::CopyFile { from: MEDIA, to: NEW_FILES, files: Sizes::new(1024, 6), reads_per_write: 8 }),
        activity(
            1000,
            Work::ServeStreams {
                area: MEDIA,
                files: Sizes::new(32_768, 3),
                locality: WEAK,
                streams: 3,
                request_kib: 64,
                requests: 32,
                depth: 2,
            },
        ),
        activity(600, Work::WriteFile { area: NEW_FILES, files: Sizes::new(32_768, 3), records: 3, depth: 2 }),
        activity(
            500,
            Work::Load {
                area: SOFTWARE,
                programs: 12,
                locality: OFTEN_THE_SAME,
                pieces: (60, 600),
                sizes: PROGRAM_PIECES,
                depth: 2,
            },
        ),
        activity(250, Work::Journal { entries: 3 }),
        activity(
            250,
            Work::WritePages { area: DIRECTORY, locality: OFTEN_THE_SAME, sizes: PAGES_4K, pages: (4, 16), depth: 4 },
        ),
    ],
};
