//! A fleet year by year: sums that do not grow with it.

use ssdlab_core::Histogram;

use crate::fleet::{QuarterRow, State};

/// Percentiles over the drives.
const PERCENTS: [f64; 3] = [50.0, 95.0, 99.0];

#[derive(Clone, Debug, Default)]
struct Year {
    works: u64,
    lost_data: u64,
    failed: u64,
    /// In millionths, thousand-millionths of the rated life, and nanoseconds.
    waf: Histogram,
    wear: Histogram,
    write: Histogram,
    read: Histogram,
}

/// Rows of any number of drives, summed.
#[derive(Clone, Debug, Default)]
pub struct Summary(Vec<Year>);

/// The fleet at the end of a year.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YearRow {
    pub year: u32,
    pub works: u64,
    /// In this year.
    pub lost_data: u64,
    pub failed: u64,
    /// Median, 95th and 99th percentile over the drives that work: write amplification, mean wear, and their 99th
    /// percentiles of latency in microseconds.
    pub waf: [f64; 3],
    pub wear: [f64; 3],
    pub write_p99_us: [f64; 3],
    pub read_p99_us: [f64; 3],
}

impl Summary {
    /// A row of a fleet of which so many quarters are told. What works counts at the end of each year, and of the last one told.
    pub fn add(&mut self, row: &QuarterRow, quarters: u32) {
        let year = (row.quarter as usize - 1) / 4;
        if self.0.len() <= year {
            self.0.resize_with(year + 1, Year::default);
        }
        let year = &mut self.0[year];
        match row.state {
            State::LostData => year.lost_data += 1,
            State::Failed => year.failed += 1,
            State::Works if row.quarter.is_multiple_of(4) || row.quarter == quarters => {
                year.works += 1;
                year.waf.record((row.waf * 1e6) as u64);
                year.wear.record((row.wear_mean * 1e9) as u64);
                year.write.record((row.write_p99_us * 1e3) as u64);
                year.read.record((row.read_p99_us * 1e3) as u64);
            }
            State::Works => {}
        }
    }

    #[must_use]
    pub fn rows(&self) -> Vec<YearRow> {
        let row = |(k, year): (usize, &Year)| {
            let of = |histogram: &Histogram, unit: f64| PERCENTS.map(|p| histogram.percentile(p) as f64 / unit);
            YearRow {
                year: k as u32 + 1,
                works: year.works,
                lost_data: year.lost_data,
                failed: year.failed,
                waf: of(&year.waf, 1e6),
                wear: of(&year.wear, 1e9),
                write_p99_us: of(&year.write, 1e3),
                read_p99_us: of(&year.read, 1e3),
            }
        };
        self.0.iter().enumerate().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::tests::{fleet, spec};

    #[test]
    fn a_last_year_that_is_not_whole_is_told_by_its_last_quarter() {
        let fleet = fleet(crate::FleetSpec { years: 1.5, ..spec() });
        let mut summary = Summary::default();
        (0..50).flat_map(|drive| fleet.rows(drive)).for_each(|row| summary.add(&row, fleet.quarters()));
        let rows = summary.rows();
        assert_eq!(rows.len(), 2);
        let all = |row: &YearRow| row.works + row.lost_data + row.failed;
        assert_eq!((all(&rows[0]), all(&rows[1])), (50, rows[0].works));
        assert!(rows[1].works > 0 && rows[1].waf[0] >= 1.0, "{rows:?}");
    }
}
