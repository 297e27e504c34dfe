//! The mixes counted, and laid beside the page that freezes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ssdlab_core::{Op, Rng};
use ssdlab_workload::application_mix::{Application, FOOTPRINT_BYTES, Fingerprint, Stream};
use ssdlab_workload::storage_bench::{Statistics, Step};

const PAGE: &str = include_str!("../../../../docs/application-mixes.md");
/// The smallest drive that the mixes are made for.
const DRIVE_OF_16_GB: u64 = 15_900_000_000;

fn steps(application: Application, requests: u64, seed: u64) -> Stream {
    Stream::new(application, requests, &Rng::new(seed))
}

fn fingerprint(application: Application, requests: u64) -> String {
    let mut fingerprint = Fingerprint::default();
    steps(application, requests, 1).for_each(|step| fingerprint.add(&step));
    format!("{:016x}", fingerprint.value())
}

/// What a reader of a trace would count.
#[derive(Default)]
struct Count {
    statistics: Statistics,
    /// Requests by their depth.
    depths: [u64; 5],
    /// By block of 4 KiB: whether it was read, and written.
    blocks: BTreeMap<u64, [bool; 2]>,
    blocks_read: u64,
    blocks_read_again: u64,
    end_bytes: u64,
}

impl Count {
    fn of(application: Application) -> Self {
        let mut count = Count::default();
        steps(application, application.requests(), 1).for_each(|step| count.add(&step));
        count
    }

    fn add(&mut self, step: &Step) {
        self.statistics.record(step);
        self.depths[step.depth as usize] += 1;
        let c = step.command;
        assert!((c.offset_bytes | c.length_bytes).is_multiple_of(512) && c.length_bytes > 0 && step.pause == 0);
        let end = c.offset_bytes + c.length_bytes;
        self.end_bytes = self.end_bytes.max(end);
        for block in c.offset_bytes / 4096..end.div_ceil(4096) {
            let seen = self.blocks.entry(block).or_default();
            if c.op == Op::Read {
                self.blocks_read += 1;
                self.blocks_read_again += u64::from(seen[0]);
            }
            seen[usize::from(c.op == Op::Write)] = true;
        }
    }

    /// The mix's row in the page's table of figures.
    fn row(&self, application: Application) -> String {
        let s = &self.statistics;
        let percent = |part: u64| s.percent(part);
        let mut row = format!("| {} | {} |", application.name(), s.requests());
        let touched = self.blocks.len() as f64 * 4096.0 / 1e9;
        // Writing to a String cannot fail.
        let _ = write!(
            row,
            " {:.1} % | {:.1} kB | {:.1} kB | {:.1} % | {:.1} % | {:.1} % | {:.2} GB | {:.2} GB | {touched:.2} GB | {:.0} % |",
            percent(s.reads),
            s.read_bytes as f64 / 1e3 / s.reads as f64,
            s.written_bytes as f64 / 1e3 / s.writes as f64,
            percent(s.sequential),
            percent(self.depths[1]),
            percent(self.depths[3] + self.depths[4]),
            s.read_bytes as f64 / 1e9,
            s.written_bytes as f64 / 1e9,
            100.0 * self.blocks_read_again as f64 / self.blocks_read as f64,
        );
        row
    }
}

#[test]
fn the_streams_are_those_that_the_page_freezes() {
    for application in Application::ALL {
        let (full, quick) = (application.requests(), application.requests() / 10);
        let row = format!(
            "| {} | `{}` | `{}` |",
            application.name(),
            fingerprint(application, full),
            fingerprint(application, quick)
        );
        assert!(PAGE.contains(&row), "docs/application-mixes.md does not have this row:\n{row}");
    }
}

#[test]
fn the_figures_of_the_page_are_counted_and_fit_a_drive_of_16_gb() {
    for application in Application::ALL {
        let count = Count::of(application);
        let row = count.row(application);
        assert!(PAGE.contains(&row), "docs/application-mixes.md does not have this row:\n{row}");
        assert!(count.end_bytes <= FOOTPRINT_BYTES && FOOTPRINT_BYTES < DRIVE_OF_16_GB);
        assert_eq!(count.statistics.requests(), application.requests());
    }
}

#[test]
fn shares_that_are_known_are_met_whatever_the_seed() {
    let reads = |application, seed| {
        let n = steps(application, 30_000, seed).filter(|s| s.command.op == Op::Read).count();
        n as f64 / 300.0
    };
    for seed in [1, 2, 77] {
        assert!((reads(Application::DatabaseServer, seed) - 67.0).abs() < 0.1);
        assert!((reads(Application::StreamingServer, seed) - 96.0).abs() < 0.1);
        assert!((reads(Application::Desktop, seed) - 60.0).abs() < 3.0);
        let start = reads(Application::BootAndLaunch, seed);
        assert!((83.0..90.0).contains(&start), "{start}");
    }
    let writes: Vec<u64> = steps(Application::StreamingServer, 300_000, 5)
        .filter(|s| s.command.op == Op::Write)
        .map(|s| s.command.length_bytes)
        .collect();
    let mean = writes.iter().sum::<u64>() as f64 / writes.len() as f64;
    assert!((mean / 25_000.0 - 1.0).abs() < 0.02, "{mean}");
}

#[test]
fn a_seed_gives_the_same_requests_again_and_another_seed_others() {
    for application in Application::ALL {
        let first = |seed| steps(application, 2_000, seed).collect::<Vec<_>>();
        assert_eq!(first(3), first(3));
        assert_ne!(first(3), first(4));
    }
}

#[test]
fn any_length_ends_with_its_last_request() {
    for application in Application::ALL {
        for requests in [0, 1, 7, 999] {
            assert_eq!(steps(application, requests, 1).count() as u64, requests);
        }
    }
}
