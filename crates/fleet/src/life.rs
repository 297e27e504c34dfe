//! The life of a drive under a class of work: by fast-forward, or lived through.

use serde::{Deserialize, Serialize};
use ssdlab_bench::host::Host;
use ssdlab_bench::measure::{Measurement, Meter};
use ssdlab_bench::wear_watch::{SETTLE, WINDOW, WINDOWS, Worked, watch_wear};
use ssdlab_bench::{BenchError, HostError, Monitor};
use ssdlab_core::{Op, UNIT_BYTES, to_us};
use ssdlab_device::{Counters, Device, Differences, EccScheme, Flash, Wear};

use crate::class::{SEQUENTIAL_BLOCK_BYTES, Task, Work};

const FILL_QUEUE_DEPTH: u32 = 32;
/// Work of a point, of which latencies and write amplification are measured; whole passes, where the work has any
/// ([`Work::whole`]). SLC caches and collections fill and empty many times in it: a quarter of it says up to a tenth more or
/// less of the write amplification, by where it begins.
const LOOK: f64 = 1.0;
/// What is done at a time: the parts of a class start together in each piece.
const PIECE: f64 = 0.25;
/// Of the progress of filling and settling, what filling is.
const FILL_PART: f64 = 0.3;
/// Mean wear of the points, in shares of the rated life.
const POINTS: [f64; 13] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 1.75, 2.0];
/// Times without a rewrite for which losses are known, at 30 °C.
pub const RETENTION_HOURS: [f64; 8] = [1.0, 24.0, 168.0, 720.0, 2160.0, 8760.0, 26_280.0, 87_600.0];
/// Of all units: with more of them lost, a drive is of no use, and its life need not be followed any further.
const HOPELESS: f64 = 1e-3;

/// A drive at one point of its life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LifePoint {
    /// Shares of the rated life.
    pub wear_least: f64,
    pub wear_mean: f64,
    pub wear_most: f64,
    /// Write amplification.
    pub waf: f64,
    /// Host bytes for each unit of mean wear, in capacities: how long all of a life would be at this pace.
    pub drive_writes_per_life: f64,
    /// Latencies in microseconds: median, 99th and 99.9th percentile; zero without such commands.
    pub write_us: [f64; 3],
    pub read_us: [f64; 3],
    /// Units expected lost if all data were read once after each of [`RETENTION_HOURS`], as shares of the units of its capacity,
    /// so that they hold for the drive at every size; zero for a drive without a model of errors.
    pub lost: Vec<f64>,
}

/// A life, from the steady state on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// With rising wear.
    pub points: Vec<LifePoint>,
    /// Capacities that the host had written, and mean wear, when it began: before the first point.
    pub begun: f64,
    pub wear_begun: f64,
}

struct Bench<'a, 'b> {
    host: Host<'a>,
    work: Work,
    capacity: f64,
    /// Which share of the progress has been reported.
    monitor: &'b Monitor<'b>,
}

impl Bench<'_, '_> {
    fn flash(&mut self) -> Result<&mut dyn Flash, BenchError> {
        let no_flash = || BenchError::Unsuitable("the device has no flash whose life could be told".to_owned());
        self.host.device_mut().flash().ok_or_else(no_flash)
    }

    fn wear(&mut self) -> Result<Wear, BenchError> {
        Ok(self.flash()?.wear())
    }

    /// Works in pieces; returns what was written, in capacities.
    fn work(&mut self, capacities: f64, meter: &mut impl Meter) -> Result<f64, BenchError> {
        let (mut written, monitor) = (0.0, self.monitor);
        // The last piece is as long as it must be; less than a thousandth of one is none.
        while written < capacities - PIECE / 1000.0 {
            let amount = PIECE.min(capacities - written);
            let part = written / capacities..(written + amount) / capacities;
            let work = || self.work.go_on(&mut self.host, amount * self.capacity, meter);
            written += monitor.part(part, work)? as f64 / self.capacity;
        }
        Ok(written)
    }

    /// What a look writes, in capacities.
    fn look_capacities(&self) -> f64 {
        self.work.whole(LOOK * self.capacity) / self.capacity
    }

    /// Works for a while, and says how that was. Wear goes with what is programmed: `wear_per_program` is that of a capacity.
    fn look(&mut self, wear_per_program: f64) -> Result<LifePoint, BenchError> {
        let before = self.host.counters();
        let mut measured = Measurement::default();
        self.work(self.look_capacities(), &mut measured)?;
        let waf = self.host.counters().since(&before).waf().unwrap_or(1.0);
        let wear = self.wear()?;
        let us = |op: Op| {
            let latency = &measured.op(op).latency;
            [50.0, 99.0, 99.9].map(|p| if latency.count() == 0 { 0.0 } else { to_us(latency.percentile(p)) })
        };
        let units = self.capacity / UNIT_BYTES as f64;
        let device = self.flash()?;
        let lost =
            |hours: f64| device.expected_errors(EccScheme::Installed, 1.0, hours).map_or(0.0, |e| e.lost / units);
        Ok(LifePoint {
            wear_least: wear.least,
            wear_mean: wear.mean,
            wear_most: wear.most,
            waf,
            drive_writes_per_life: 1.0 / (waf * wear_per_program),
            write_us: us(Op::Write),
            read_us: us(Op::Read),
            lost: RETENTION_HOURS.map(lost).to_vec(),
        })
    }
}

impl Worked for Bench<'_, '_> {
    fn work(&mut self, capacities: f64) -> Result<(), BenchError> {
        Bench::work(self, capacities, &mut ()).map(|_| ())
    }

    fn counters(&mut self) -> Counters {
        self.host.counters()
    }

    fn flash(&mut self) -> Result<&mut dyn Flash, BenchError> {
        Bench::flash(self)
    }
}

fn begin<'a>(
    device: &'a mut dyn Device,
    task: &Task<'_>,
    monitor: &'a Monitor<'a>,
) -> Result<Bench<'a, 'a>, BenchError> {
    let capacity = device.info().capacity_bytes;
    if device.flash().is_some_and(|flash| flash.wear().mean > 0.0) {
        return Err(BenchError::worn_before(&device.info().name));
    }
    let mut host = Host::new(device, monitor);
    let work = Work::new(task, &host)?;
    let span = task.class.span_bytes(capacity);
    monitor.part(0.0..FILL_PART, || host.fill(0, span, SEQUENTIAL_BLOCK_BYTES, FILL_QUEUE_DEPTH, &mut ()))?;
    let mut bench = Bench { host, work, capacity: capacity as f64, monitor };
    bench.flash()?;
    let settle = bench.work.whole(SETTLE * bench.capacity) / bench.capacity;
    monitor.part(FILL_PART..1.0, || bench.work(settle, &mut ()))?;
    Ok(bench)
}

/// Tells the life of a new device: filled, worked until steady, worked for a few windows, and wound forward from point to
/// point. A device that fails a command has come to its end.
///
/// # Errors
/// If it has no flash, or fails before its wear can be told.
pub fn life(device: &mut dyn Device, task: &Task<'_>, monitor: &Monitor<'_>) -> Result<Life, BenchError> {
    monitor.step(0.0, 0.3);
    let mut bench = begin(device, task, monitor)?;
    let wear_begun = bench.wear()?.mean;
    let begun = bench.host.counters().host.write_bytes as f64 / bench.capacity;
    bench.monitor.step(0.3, 0.7);
    // All windows together are one pass at the least.
    let windows = bench.work.whole(WINDOWS as f64 * WINDOW * bench.capacity) / bench.capacity;
    let wear_per_program = watch_wear(&mut bench, windows / WINDOWS as f64, monitor)?.per_program() * bench.capacity;
    let first = bench.look(wear_per_program)?;
    let mut life = Life { points: vec![first], begun, wear_begun };
    for (k, target) in POINTS.into_iter().enumerate() {
        let share = |k: usize| 0.7 + 0.3 * k as f64 / POINTS.len() as f64;
        bench.monitor.step(share(k), share(k + 1));
        if target <= bench.wear()?.mean {
            continue;
        }
        bench.flash()?.fast_forward(target, Differences::AsFound);
        match bench.look(wear_per_program) {
            Ok(point) => life.points.push(point),
            Err(BenchError::Host(HostError::Failed { .. })) => break,
            Err(e) => return Err(e),
        }
        if life.points.last().is_some_and(|p| p.lost[0] > HOPELESS) {
            break;
        }
    }
    if life.points.len() == 1 {
        // Nothing but the state in which it began is known of it.
        life.points.push(life.points[0].clone());
    }
    Ok(life)
}

/// Lives through it: every write up to `capacities` that the host has written in all, without winding anything forward.
/// Returns the drive's state there, and what it has written with the piece in which that was measured.
///
/// # Errors
/// As [`life`], and if the device fails a command.
pub fn live(
    device: &mut dyn Device,
    task: &Task<'_>,
    capacities: f64,
    monitor: &Monitor<'_>,
) -> Result<(LifePoint, f64), BenchError> {
    let mut bench = begin(device, task, monitor)?;
    let before = bench.host.counters();
    let mut written = before.host.write_bytes as f64 / bench.capacity;
    let from = (written, bench.wear()?.mean);
    // So that the look ends where it is asked for.
    let until = capacities - bench.look_capacities();
    while written < until - PIECE / 1000.0 {
        bench.monitor.step((written / capacities).min(1.0), (written / capacities).min(1.0));
        written += bench.work(PIECE.min(until - written), &mut ())?;
    }
    let waf = bench.host.counters().since(&before).waf().unwrap_or(1.0);
    let worn = bench.wear()?.mean - from.1;
    let point = bench.look(worn / ((written - from.0) * waf))?;
    Ok((point, bench.host.counters().host.write_bytes as f64 / bench.capacity))
}

impl Life {
    /// The state at a mean wear, between the points that were measured; before the first and beyond the last, as there.
    #[must_use]
    pub fn at(&self, wear: f64) -> LifePoint {
        let k = self.points.partition_point(|p| p.wear_mean <= wear).clamp(1, self.points.len() - 1);
        let (a, b) = (&self.points[k - 1], &self.points[k]);
        let width = b.wear_mean - a.wear_mean;
        let share = if width > 0.0 { ((wear - a.wear_mean) / width).clamp(0.0, 1.0) } else { 0.0 };
        let between = |from: f64, to: f64| from + (to - from) * share;
        let of_three = |from: [f64; 3], to: [f64; 3]| std::array::from_fn(|i| between(from[i], to[i]));
        // Blocks keep their places between least and most worn.
        let scaled = |from: f64, to: f64| between(from / a.wear_mean, to / b.wear_mean) * wear;
        LifePoint {
            wear_least: scaled(a.wear_least, b.wear_least),
            wear_mean: wear,
            wear_most: scaled(a.wear_most, b.wear_most),
            waf: between(a.waf, b.waf),
            drive_writes_per_life: between(a.drive_writes_per_life, b.drive_writes_per_life),
            write_us: of_three(a.write_us, b.write_us),
            read_us: of_three(a.read_us, b.read_us),
            // Losses grow by powers of ten.
            lost: a.lost.iter().zip(&b.lost).map(|(&a, &b)| geometric(a, b, share)).collect(),
        }
    }

    /// Units expected lost, as a share of those of the capacity, if all data were read once, `hours` after they were written, at 30 °C.
    #[must_use]
    pub fn lost_after(&self, wear: f64, hours: f64) -> f64 {
        let lost = self.at(wear).lost;
        let k = RETENTION_HOURS.partition_point(|&h| h <= hours).clamp(1, RETENTION_HOURS.len() - 1);
        let log = |h: f64| libm::log(h);
        let (low, high) = (log(RETENTION_HOURS[k - 1]), log(RETENTION_HOURS[k]));
        let share = ((log(hours.max(1e-3)) - low) / (high - low)).clamp(0.0, 1.0);
        geometric(lost[k - 1], lost[k], share)
    }
}

/// Between two figures by their logarithms; by the figures themselves where one of them is zero.
fn geometric(a: f64, b: f64, share: f64) -> f64 {
    if a > 0.0 && b > 0.0 {
        libm::exp(libm::log(a) + (libm::log(b) - libm::log(a)) * share)
    } else {
        a + (b - a) * share
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub fn point(wear: f64, waf: f64, lost: f64) -> LifePoint {
        LifePoint {
            wear_least: wear * 0.9,
            wear_mean: wear,
            wear_most: wear * 1.1,
            waf,
            drive_writes_per_life: 3000.0 / waf,
            write_us: [10.0, 100.0 * waf, 1000.0],
            read_us: [50.0, 200.0, 400.0],
            lost: RETENTION_HOURS.iter().map(|h| lost * h).collect(),
        }
    }

    pub fn two_points() -> Life {
        Life { points: vec![point(0.001, 2.0, 4e-17), point(1.0, 4.0, 4e-13)], begun: 2.5, wear_begun: 0.0005 }
    }

    #[test]
    fn between_points_figures_are_between_and_beyond_the_last_they_stay() {
        let life = two_points();
        let middle = life.at(0.5005);
        assert!((middle.waf - 3.0).abs() < 1e-9 && (middle.write_us[1] - 300.0).abs() < 1e-6);
        assert!((middle.wear_most / middle.wear_mean - 1.1).abs() < 1e-9);
        assert_eq!((life.at(7.0).waf, life.at(7.0).wear_mean), (4.0, 7.0));
        assert_eq!(life.at(0.0).waf, 2.0);
    }

    #[test]
    fn losses_grow_by_powers_of_ten_with_wear_and_time() {
        let life = two_points();
        let at = |wear: f64, hours: f64| life.lost_after(wear, hours);
        assert!((at(0.5005, 24.0) / 96e-15 - 1.0).abs() < 1e-6, "halfway between 4e-17 and 4e-13 an hour");
        assert!((at(1.0, 100.0) / 400e-13 - 1.0).abs() < 1e-6);
        assert_eq!(at(1.0, 1e9), at(1.0, RETENTION_HOURS[7]));
    }
}
