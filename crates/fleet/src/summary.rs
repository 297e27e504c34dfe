//! A fleet year by year: sums that do not grow with it.

use ssdlab_core::Histogram;

use crate::fleet::{QuarterRow, State};
use crate::life::RETENTION_HOURS;

/// Losses of data that are older are expected as of these.
const OLDEST_HOURS: f64 = RETENTION_HOURS[RETENTION_HOURS.len() - 1];

/// Percentiles over the drives.
const PERCENTS: [f64; 3] = [50.0, 95.0, 99.0];

#[derive(Clone, Debug, Default)]
struct Year {
    works: u64,
    lost_data: u64,
    failed: u64,
    beyond_measured: u64,
    beyond_aged: u64,
    /// In millionths, thousand-millionths of the rated life, and nanoseconds.
    waf: Histogram,
    wear: Histogram,
    write: Histogram,
    read: Histogram,
}

/// Rows of any number of drives, summed.
#[derive(Clone, Debug, Default)]
pub struct Summary(Vec<Year>);

/// The fleet at the end of a year, or of the last quarter told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YearRow {
    /// From 1 on. Where the years that are told are not whole, the last is a part of one, and its losses are of that part.
    pub year: u32,
    pub works: u64,
    /// In this year.
    pub lost_data: u64,
    pub failed: u64,
    /// Of those that work: worn beyond the wear up to which the life of their kind was measured.
    pub beyond_measured: u64,
    /// Of those that work: their data are older than any of which losses are known.
    pub beyond_aged: u64,
    /// Median, 95th and 99th percentile over the drives that work: write amplification, mean wear, and their 99th
    /// percentiles of latency in microseconds, of those drives that have such commands; `None` if there are none.
    pub waf: Option<[f64; 3]>,
    pub wear: Option<[f64; 3]>,
    pub write_p99_us: Option<[f64; 3]>,
    pub read_p99_us: Option<[f64; 3]>,
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
                year.beyond_measured += u64::from(row.wear_mean > row.wear_measured);
                year.beyond_aged += u64::from(row.data_hours > OLDEST_HOURS);
                year.waf.record((row.waf * 1e6) as u64);
                year.wear.record((row.wear_mean * 1e9) as u64);
                for (us, of) in [(row.write_p99_us, &mut year.write), (row.read_p99_us, &mut year.read)] {
                    if let Some(us) = us {
                        of.record((us * 1e3) as u64);
                    }
                }
            }
            State::Works => {}
        }
    }

    #[must_use]
    pub fn rows(&self) -> Vec<YearRow> {
        let row = |(k, year): (usize, &Year)| {
            let of = |histogram: &Histogram, unit: f64| {
                (histogram.count() > 0).then(|| PERCENTS.map(|p| histogram.percentile(p) as f64 / unit))
            };
            YearRow {
                year: k as u32 + 1,
                works: year.works,
                lost_data: year.lost_data,
                failed: year.failed,
                beyond_measured: year.beyond_measured,
                beyond_aged: year.beyond_aged,
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
        assert!(rows[1].works > 0 && rows[1].waf.is_some_and(|waf| waf[0] >= 1.0), "{rows:?}");
    }

    fn years(fleet: &crate::Fleet, change: impl Fn(&mut QuarterRow)) -> Vec<YearRow> {
        let mut summary = Summary::default();
        for mut row in (0..100).flat_map(|drive| fleet.rows(drive)) {
            change(&mut row);
            summary.add(&row, fleet.quarters());
        }
        summary.rows()
    }

    #[test]
    fn drives_that_do_not_read_have_no_latency_of_reads() {
        let fleet = fleet(spec());
        let of_all = years(&fleet, |_| ());
        // Three quarters of them.
        let of_some = years(&fleet, |row| row.read_p99_us = row.read_p99_us.filter(|_| row.drawn.class == 1));
        assert!(of_all[0].read_p99_us.is_some_and(|us| us[0] > 0.0));
        assert_eq!(of_some[0].read_p99_us, of_all[0].read_p99_us, "every drive is told the same");
        assert_eq!(of_some[0].works, of_all[0].works);
        let of_none = years(&fleet, |row| row.read_p99_us = None);
        assert_eq!(of_none[0].read_p99_us, None);
        let of_lost = years(&fleet, |row| row.state = State::Failed);
        assert_eq!((of_lost[0].works, of_lost[0].waf, of_lost[0].wear), (0, None, None), "nothing is told of no drive");
    }

    #[test]
    fn drives_whose_data_are_older_than_what_is_known_are_counted() {
        let mut slow = spec();
        slow.ambient = (50.0, 0.0);
        // 400 days at 50 °C are more than ten years at 30 °C, 80 are not.
        slow.classes[0].drive_writes_per_day = 0.002;
        slow.classes[1].drive_writes_per_day = 0.01;
        let fleet = fleet(slow);
        let of_x = (0..100).filter(|&drive| fleet.drawn(drive).class == 0).count() as u64;
        let rows = years(&fleet, |row| row.state = State::Works);
        assert_eq!((rows[0].works, rows[0].beyond_aged), (100, of_x), "{rows:?}");
    }

    /// However slowly they are rewritten.
    #[test]
    fn no_data_are_older_than_their_drive() {
        let mut slow = spec();
        slow.classes.iter_mut().for_each(|class| class.drive_writes_per_day = 0.0002);
        slow.oldest_years = 0.0;
        slow.ambient = (30.0, 0.0);
        let rows = years(&fleet(slow.clone()), |_| ());
        assert!(rows.iter().all(|year| year.beyond_aged == 0), "{rows:?}");
        slow.oldest_years = 20.0;
        assert!(years(&fleet(slow), |_| ())[0].beyond_aged > 0);
    }

    #[test]
    fn drives_that_are_worn_beyond_what_was_measured_are_counted() {
        let mut busy = spec();
        busy.models[0].2 = 1.0;
        busy.classes.iter_mut().for_each(|c| c.drive_writes_per_day = 2.0);
        let rows = years(&fleet(busy), |row| row.state = State::Works);
        // Some 750 of a life of 750 to 1,500 drive writes pass in a year, and twice as many in the second.
        assert_eq!(rows[0].beyond_measured, 0, "{rows:?}");
        assert!(rows[2].works > 0);
        assert_eq!(rows[2].beyond_measured, rows[2].works, "{rows:?}");
    }
}
