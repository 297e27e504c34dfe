//! How many requests of each operation and size there are, and how many of them are sequential.
//!
//! The published figures are sums over this table: requests by size, requests by operation, bytes by operation,
//! sequential requests. They leave it open how sizes divide between reads and writes; here the share of reads falls
//! or rises with the logarithm of the size along a logistic curve, which is the smoothest division that meets both
//! the numbers and the bytes.

use ssdlab_core::Op;

use super::apportion::{apportion, logistic, solve};
use super::error::PlanError;
use super::published::Trace;

const KIB: u64 = 1024;
/// Sizes that stand for "below 4 KiB".
const BELOW_4_KIB: [u64; 3] = [512, 1024, 2048];
/// Sizes of the named bins.
const NAMED: [u64; 6] = [4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB];
/// Sizes that stand for "other": their proportions follow from the bytes that the named sizes leave.
const OTHER: [u64; 11] =
    [6 * KIB, 12 * KIB, 20 * KIB, 24 * KIB, 40 * KIB, 48 * KIB, 80 * KIB, 96 * KIB, 192 * KIB, 256 * KIB, 512 * KIB];
/// How steeply the share of sequential requests rises with the logarithm of their size: a file is read in large
/// requests, a database in small ones. An estimate.
const SEQUENTIAL_STEEPNESS: f64 = 0.8;

/// All requests of one operation and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub op: Op,
    pub length_bytes: u64,
    pub requests: u64,
    /// How many of them begin where the request before of the same operation ended.
    pub sequential: u64,
}

/// The table of a trace of `requests` requests.
///
/// # Errors
/// [`PlanError::Contradiction`] if no division meets the figures.
pub(super) fn classes(trace: Trace, requests: u64) -> Result<Vec<Class>, PlanError> {
    let published = trace.published();
    let whole = published.requests() as f64;
    let share = requests as f64 / whole;
    let reads = libm::round(published.reads as f64 * share) as u64;
    let (sizes, counts) = by_size(trace, requests)?;
    let read_counts = reads_by_size(trace, &sizes, &counts, reads, published.read_bytes as f64 * share)?;
    let mut classes: Vec<Class> = Vec::new();
    for ((&length_bytes, &count), &reads) in sizes.iter().zip(&counts).zip(&read_counts) {
        for (op, requests) in [(Op::Read, reads), (Op::Write, count - reads)] {
            classes.push(Class { op, length_bytes, requests, sequential: 0 });
        }
    }
    make_sequential(&mut classes, libm::round(requests as f64 * published.sequential_percent / 100.0) as u64);
    classes.retain(|c| c.requests > 0);
    Ok(classes)
}

/// Every size and its number of requests.
fn by_size(trace: Trace, requests: u64) -> Result<(Vec<u64>, Vec<u64>), PlanError> {
    let published = trace.published();
    let share = requests as f64 / published.requests() as f64;
    let bins = apportion(&trace.size_percent(), requests);
    let mut sizes = BELOW_4_KIB.to_vec();
    let mut counts = apportion(&[1.0; BELOW_4_KIB.len()], bins[0]);
    sizes.extend(NAMED);
    counts.extend(&bins[1..7]);
    let bytes: f64 = sizes.iter().zip(&counts).map(|(&s, &n)| s as f64 * n as f64).sum();
    let left = (published.read_bytes + published.written_bytes) as f64 * share - bytes;
    let mean = left / bins[7].max(1) as f64;
    let (smallest, largest) = (OTHER[0] as f64, OTHER[OTHER.len() - 1] as f64);
    if !(smallest..=largest).contains(&mean) {
        return Err(PlanError::Contradiction {
            trace: published.name,
            problem: format!("the sizes that are not named would have to be {mean:.0} bytes on average"),
        });
    }
    // Proportions e^(tilt x size): the flattest that have the wanted mean.
    let weights = |tilt: f64| OTHER.map(|s| libm::exp(tilt * (s as f64 - smallest) / KIB as f64));
    let mean_at = |tilt: f64| {
        let w = weights(tilt);
        w.iter().zip(OTHER).map(|(w, s)| w * s as f64).sum::<f64>() / w.iter().sum::<f64>()
    };
    let tilt = solve(-1.0, 1.0, mean, mean_at);
    sizes.extend(OTHER);
    counts.extend(apportion(&weights(tilt), bins[7]));
    Ok((sizes, counts))
}

/// How many of the requests of each size are reads.
fn reads_by_size(
    trace: Trace,
    sizes: &[u64],
    counts: &[u64],
    reads: u64,
    read_bytes: f64,
) -> Result<Vec<u64>, PlanError> {
    let read_share = |level: f64, slope: f64, size: u64| logistic(level + slope * octaves(size));
    let sum = |level: f64, slope: f64, weight: &dyn Fn(u64) -> f64| -> f64 {
        sizes.iter().zip(counts).map(|(&s, &n)| n as f64 * read_share(level, slope, s) * weight(s)).sum()
    };
    let level_at = |slope: f64| solve(-100.0, 100.0, reads as f64, |level| sum(level, slope, &|_| 1.0));
    let bytes_at = |slope: f64| sum(level_at(slope), slope, &|s| s as f64);
    let slope = solve(-8.0, 8.0, read_bytes, bytes_at);
    let level = level_at(slope);
    let off = bytes_at(slope) / read_bytes - 1.0;
    if off.abs() > 1e-6 {
        return Err(PlanError::Contradiction {
            trace: trace.published().name,
            problem: format!("no division of the sizes between reads and writes meets the bytes read ({off:+.4})"),
        });
    }
    let exact: Vec<f64> = sizes.iter().zip(counts).map(|(&s, &n)| n as f64 * read_share(level, slope, s)).collect();
    Ok(apportion(&exact, reads))
}

fn make_sequential(classes: &mut [Class], sequential: u64) {
    let share = |level: f64, size: u64| logistic(level + SEQUENTIAL_STEEPNESS * octaves(size));
    let sum = |level: f64| classes.iter().map(|c| c.requests as f64 * share(level, c.length_bytes)).sum::<f64>();
    let level = solve(-100.0, 100.0, sequential as f64, sum);
    let exact: Vec<f64> = classes.iter().map(|c| c.requests as f64 * share(level, c.length_bytes)).collect();
    for (class, n) in classes.iter_mut().zip(apportion(&exact, sequential)) {
        class.sequential = n.min(class.requests);
    }
}

/// The size as powers of two of 4 KiB.
fn octaves(size: u64) -> f64 {
    libm::log2(size as f64 / 4096.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage_bench::size_bin;

    #[test]
    fn the_representative_sizes_lie_in_their_bins() {
        assert!(BELOW_4_KIB.iter().all(|&s| size_bin(s) == 0));
        assert_eq!(NAMED.map(size_bin), [1, 2, 3, 4, 5, 6]);
        assert!(OTHER.iter().all(|&s| size_bin(s) == 7));
    }

    #[test]
    fn no_class_has_more_sequential_requests_than_requests() {
        for trace in Trace::ALL {
            for requests in [10_000, trace.published().requests()] {
                let table = classes(trace, requests).unwrap();
                assert!(table.iter().all(|c| c.sequential <= c.requests), "{trace:?}");
                assert_eq!(table.iter().map(|c| c.requests).sum::<u64>(), requests);
            }
        }
    }
}
