//! Ready-made patterns under the names by which reviewers know them: Intel's Iometer access specifications.
//!
//! Percentages of the file server pattern as in fio's `iometer-file-access-server.fio`; of the web server and
//! database patterns as in Tom's Hardware's review of the Intel SSD DC P3700. Accesses are aligned to sectors in
//! the file and web server patterns and to 8 KiB in the database pattern.

use super::{BlockSizes, Mix, Pattern};

const KIB: u64 = 1024;

/// Every named pattern: name, what it is.
pub const NAMED: [(&str, &str); 3] = [
    ("fileserver", "Iometer file server: 80 % reads, 100 % random, 512 B to 64 KiB, mean 11.08 KiB"),
    ("webserver", "Iometer web server: 100 % reads, 100 % random, 512 B to 512 KiB"),
    ("database", "Iometer database: 67 % reads, 100 % random, 8 KiB"),
];

/// The pattern of this name over `0..span_bytes`; `None` if there is none (see [`NAMED`]).
#[must_use]
pub fn named(name: &str, span_bytes: u64) -> Option<Pattern> {
    match name {
        "fileserver" => Some(file_server(span_bytes)),
        "webserver" => Some(web_server(span_bytes)),
        "database" => Some(database(span_bytes)),
        _ => None,
    }
}

/// 80 % reads of 512 B 10, 1 KiB 5, 2 KiB 5, 4 KiB 60, 8 KiB 2, 16 KiB 4, 32 KiB 4, 64 KiB 10 %.
#[must_use]
pub fn file_server(span_bytes: u64) -> Pattern {
    let kib = [(1, 10), (2, 5), (4, 5), (8, 60), (16, 2), (32, 4), (64, 4), (128, 10)];
    Pattern::random(Mix::ReadWrite { read_percent: 80 }, span_bytes, 512).block_sizes(split(&kib))
}

/// Reads of 512 B 22, 1 KiB 15, 2 KiB 8, 4 KiB 23, 8 KiB 15, 16 KiB 2, 32 KiB 6, 64 KiB 7, 128 KiB 1, 512 KiB 1 %.
#[must_use]
pub fn web_server(span_bytes: u64) -> Pattern {
    let kib = [(1, 22), (2, 15), (4, 8), (8, 23), (16, 15), (32, 2), (64, 6), (128, 7), (256, 1), (1024, 1)];
    Pattern::random(Mix::Read, span_bytes, 512).block_sizes(split(&kib))
}

/// 67 % reads, 8 KiB.
#[must_use]
pub fn database(span_bytes: u64) -> Pattern {
    Pattern::random(Mix::ReadWrite { read_percent: 67 }, span_bytes, 8 * KIB)
}

/// Sizes in half KiB with their per cent.
fn split(half_kib: &[(u64, u32)]) -> BlockSizes {
    BlockSizes::Split(half_kib.iter().map(|&(n, percent)| (n * KIB / 2, percent)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentages_sum_to_100_and_the_file_server_mean_is_11_08_kib() {
        for (name, _) in NAMED {
            if let BlockSizes::Split(v) = &named(name, 1 << 30).unwrap().sizes[0] {
                assert_eq!(v.iter().map(|s| s.1).sum::<u32>(), 100, "{name}");
            }
        }
        let mean = file_server(1 << 30).sizes[0].mean_bytes();
        assert!((mean / 1024.0 - 11.08).abs() < 1e-9, "{mean}");
    }
}
