//! Energy and power of a measured interval: the one place where the bench reads joules from a device's counters.

use ssdlab_core::{MILLISECOND, Nanos, SECOND};
use ssdlab_device::Counters;

use super::Meter;

/// Energy drawn over an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Energy {
    pub joules: f64,
    pub seconds: f64,
}

impl Energy {
    /// What `counters` (the difference of an interval's two ends) say of `elapsed`; `None` where the device does not
    /// meter energy, and for an interval without length.
    #[must_use]
    pub fn of(counters: &Counters, elapsed: Nanos) -> Option<Energy> {
        let seconds = elapsed as f64 / SECOND as f64;
        let nanojoules = counters.nanojoules();
        (nanojoules > 0 && elapsed > 0).then(|| Energy { joules: nanojoules as f64 / 1e9, seconds })
    }

    /// Mean power in watts.
    #[must_use]
    pub fn watts(&self) -> f64 {
        self.joules / self.seconds
    }
}

/// Mean power of each second, as a data-logging multimeter gives it, until the time of a job is over. Empty where the device does not
/// meter energy.
#[derive(Clone, Debug, Default)]
pub struct PowerPerSecond {
    last: Option<u64>,
    watts: Vec<f64>,
    is_over: bool,
}

impl PowerPerSecond {
    /// The first reading; a run itself has none at its start.
    #[must_use]
    pub fn from(counters: &Counters) -> Self {
        PowerPerSecond { last: Some(counters.nanojoules()), ..PowerPerSecond::default() }
    }

    /// Watts of each whole second.
    #[must_use]
    pub fn watts(&self) -> &[f64] {
        if self.watts.iter().all(|&w| w == 0.0) { &[] } else { &self.watts }
    }
}

impl Meter for PowerPerSecond {
    fn record(&mut self, _job: usize, _io: &ssdlab_device::Completion) {}

    fn tick(&mut self, _at: Nanos, counters: &dyn Fn() -> Counters) {
        if self.is_over {
            return;
        }
        let reading = counters().nanojoules();
        if let Some(last) = self.last.replace(reading) {
            self.watts.push((reading - last) as f64 / 1e9);
        }
    }

    fn stop(&mut self, _job: usize, _at: Nanos, _counters: &dyn Fn() -> Counters) {
        self.is_over = true;
    }
}

/// The highest power of any ten milliseconds, one after the other, until the time of a job is over: what a supply must give beyond what a
/// data logger shows.
/// Nothing where the device does not meter energy.
#[derive(Clone, Copy, Debug)]
pub struct PeakPower {
    last: (Nanos, u64),
    watts: f64,
    is_over: bool,
}

impl PeakPower {
    /// The first reading; a run itself has none at its start.
    #[must_use]
    pub fn from(now: Nanos, counters: &Counters) -> Self {
        PeakPower { last: (now, counters.nanojoules()), watts: 0.0, is_over: false }
    }

    /// Watts; `None` before the first ten milliseconds are over.
    #[must_use]
    pub fn watts(&self) -> Option<f64> {
        (self.watts > 0.0).then_some(self.watts)
    }
}

impl Meter for PeakPower {
    const LOOKS_EVERY: Nanos = 10 * MILLISECOND;

    fn record(&mut self, _job: usize, _io: &ssdlab_device::Completion) {}

    fn look(&mut self, at: Nanos, counters: &Counters) {
        if self.is_over {
            return;
        }
        let (from, before) = std::mem::replace(&mut self.last, (at, counters.nanojoules()));
        self.watts = self.watts.max((self.last.1 - before) as f64 / (at - from) as f64);
    }

    fn stop(&mut self, _job: usize, _at: Nanos, _counters: &dyn Fn() -> Counters) {
        self.is_over = true;
    }
}

/// Mean temperature of each second, until the time of a job is over. Empty where the device does not know it, and of several devices: counters that are summed up do
/// not tell which is the warmest.
#[derive(Clone, Debug, Default)]
pub struct TemperaturePerSecond {
    last: Counters,
    celsius: Vec<f64>,
    of_several: bool,
    is_over: bool,
}

/// More than one device has watched in a second.
const WATCHED_BY_SEVERAL_US: u64 = 1_500_000;

impl TemperaturePerSecond {
    /// The first reading; a run itself has none at its start.
    #[must_use]
    pub fn from(counters: &Counters) -> Self {
        TemperaturePerSecond { last: *counters, ..TemperaturePerSecond::default() }
    }

    /// Degrees Celsius of each whole second.
    #[must_use]
    pub fn celsius(&self) -> &[f64] {
        if self.of_several { &[] } else { &self.celsius }
    }
}

impl Meter for TemperaturePerSecond {
    fn record(&mut self, _job: usize, _io: &ssdlab_device::Completion) {}

    fn tick(&mut self, _at: Nanos, counters: &dyn Fn() -> Counters) {
        if self.is_over {
            return;
        }
        let reading = counters();
        let since = reading.since(&std::mem::replace(&mut self.last, reading));
        let Some(heat) = since.heat else { return };
        self.of_several |= heat.watched_microseconds > WATCHED_BY_SEVERAL_US;
        self.celsius.extend(heat.mean_celsius());
    }

    fn stop(&mut self, _job: usize, _at: Nanos, _counters: &dyn Fn() -> Counters) {
        self.is_over = true;
    }
}

/// What the device counts from the beginning of a run until it ends, and how long that takes: one span for counters, energy and time.
/// As a meter it ends with the time of the job, though requests are under way that nothing measures; a job that ends by its amount
/// does so with the last of them, which [`CountedRun::until`] is told.
#[derive(Clone, Debug)]
pub struct CountedRun {
    from: (Nanos, Counters),
    to: Option<(Nanos, Counters)>,
}

impl CountedRun {
    #[must_use]
    pub fn from(now: Nanos, counters: &Counters) -> Self {
        CountedRun { from: (now, *counters), to: None }
    }

    /// What is counted from `now` on is none of it any more; the last end that is told counts.
    pub fn end(&mut self, now: Nanos, counters: &Counters) {
        self.to = Some((now, *counters));
    }

    /// The counts and their time, of a run that has ended `now`, or did before.
    #[must_use]
    pub fn until(&self, now: Nanos, counters: &Counters) -> (Counters, Nanos) {
        let (at, to) = self.to.unwrap_or((now, *counters));
        (to.since(&self.from.1), at - self.from.0)
    }

    /// The same of a run that was told its end; `None`: it was not.
    #[must_use]
    pub fn counted(&self) -> Option<(Counters, Nanos)> {
        self.to.map(|(at, counters)| self.until(at, &counters))
    }

    /// What was counted from its beginning until `counters` were read, whenever it ended.
    #[must_use]
    pub fn since_its_beginning(&self, counters: &Counters) -> Counters {
        counters.since(&self.from.1)
    }

    /// Both together: from the earlier beginning to the later end.
    #[must_use]
    pub fn joined(self, other: CountedRun) -> CountedRun {
        let from = if other.from.0 < self.from.0 { other.from } else { self.from };
        let to = match (self.to, other.to) {
            (Some(mine), Some(theirs)) => Some(if theirs.0 > mine.0 { theirs } else { mine }),
            (mine, theirs) => mine.or(theirs),
        };
        CountedRun { from, to }
    }
}

impl Meter for CountedRun {
    fn record(&mut self, _job: usize, _io: &ssdlab_device::Completion) {}

    fn stop(&mut self, _job: usize, at: Nanos, counters: &dyn Fn() -> Counters) {
        self.end(at, &counters());
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_device::{EnergyCounters, HeatCounters};

    use super::*;

    fn counters(nanojoules: u64) -> Counters {
        Counters { energy: Some(EnergyCounters { nanojoules }), ..Counters::default() }
    }

    #[test]
    fn no_power_is_read_after_the_time_of_a_job_is_over() {
        let [one, two, late] = [1_000_000_000, 3_000_000_000, 90_000_000_000].map(counters);
        let mut meters = (PowerPerSecond::from(&counters(0)), PeakPower::from(0, &counters(0)));
        meters.tick(SECOND, &|| one);
        meters.look(SECOND, &one);
        meters.tick(2 * SECOND, &|| two);
        meters.look(2 * SECOND, &two);
        meters.stop(0, 2 * SECOND, &|| two);
        meters.tick(3 * SECOND, &|| late);
        meters.look(3 * SECOND, &late);
        assert_eq!((meters.0.watts(), meters.1.watts()), (&[1.0, 2.0][..], Some(2.0)));
    }

    #[test]
    fn runs_that_are_joined_count_from_the_earlier_beginning_to_the_later_end() {
        let run = |from: Nanos, to: Option<Nanos>| {
            let mut run = CountedRun::from(from, &counters(from));
            to.into_iter().for_each(|to| run.end(to, &counters(to)));
            run
        };
        let joined = |a: CountedRun, b: CountedRun| {
            [a.clone().joined(b.clone()), b.joined(a)]
                .map(|run| run.counted().map(|(counted, nanos)| (counted.nanojoules(), nanos)))
        };
        assert_eq!(joined(run(10, Some(50)), run(20, Some(90))), [Some((80, 80)); 2]);
        assert_eq!(joined(run(10, None), run(20, Some(90))), [Some((80, 80)); 2]);
        assert_eq!(joined(run(10, None), run(20, None)), [None; 2]);
        // However late it is asked, and what came after the end all the same.
        let (late, over) = (counters(200), run(10, Some(50)));
        assert_eq!((over.until(200, &late).1, over.since_its_beginning(&late).nanojoules()), (40, 190));
    }

    #[test]
    fn temperature_of_a_second_is_the_mean_of_it_and_nothing_where_it_is_not_known() {
        let warm = |celsius_microseconds, watched_microseconds| Counters {
            heat: Some(HeatCounters { celsius_microseconds, watched_microseconds, held_nanos: 0 }),
            ..Counters::default()
        };
        let mut meter = TemperaturePerSecond::from(&warm(25_000_000, 1_000_000));
        meter.tick(2 * SECOND, &|| warm(55_000_000, 2_000_000));
        meter.tick(3 * SECOND, &|| warm(95_500_000, 3_000_000));
        assert_eq!(meter.celsius(), [30.0, 40.5]);
        let mut none = TemperaturePerSecond::from(&Counters::default());
        none.tick(SECOND, &Counters::default);
        assert!(none.celsius().is_empty());
        // Two devices, one of 30 and one of 80 degrees.
        let mut set = TemperaturePerSecond::from(&warm(0, 0));
        set.tick(SECOND, &|| warm(110_000_000, 2_000_000));
        assert!(set.celsius().is_empty());
    }

    #[test]
    fn no_meter_means_no_power_and_not_zero_watts() {
        assert_eq!(Energy::of(&counters(0), SECOND), None);
        let energy = Energy::of(&counters(6_000_000_000), 2 * SECOND).unwrap();
        assert_eq!((energy.joules, energy.watts()), (6.0, 3.0));
        let mut none = PowerPerSecond::from(&counters(0));
        none.tick(SECOND, &|| counters(0));
        assert!(none.watts().is_empty());
    }

    #[test]
    fn the_peak_is_the_highest_of_the_ten_milliseconds() {
        let mut peak = PeakPower::from(SECOND, &counters(5));
        assert_eq!(peak.watts(), None);
        for (at, nanojoules) in [(10, 20_000_005), (20, 70_000_005), (30, 80_000_005)] {
            peak.look(SECOND + at * MILLISECOND, &counters(nanojoules));
        }
        assert_eq!(peak.watts(), Some(5.0));
        let mut none = PeakPower::from(0, &counters(0));
        none.look(10 * MILLISECOND, &counters(0));
        assert_eq!(none.watts(), None);
    }

    #[test]
    fn each_second_has_its_own_power() {
        let mut power = PowerPerSecond::from(&counters(5));
        power.tick(SECOND, &|| counters(1_500_000_005));
        power.tick(2 * SECOND, &|| counters(1_500_000_005));
        assert_eq!(power.watts(), [1.5, 0.0]);
    }
}
