//! The drives of a fleet, drawn one by one, and their years.

use serde::{Deserialize, Serialize};
use ssdlab_core::{Rng, UNIT_BYTES};
use ssdlab_nand::rber::hours_at_30_celsius;

use crate::class::Class;
use crate::life::Life;

/// A quarter of a year, in days. Rows are of quarters.
pub const QUARTER_DAYS: f64 = 365.25 / 4.0;
/// Steps of a quarter: wear changes its own pace.
const STEPS: u32 = 9;
const HOURS: f64 = 24.0;

/// What a fleet consists of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetSpec {
    pub seed: u64,
    /// Names, capacities in bytes, and shares of the drives relative to each other.
    pub models: Vec<(String, u64, f64)>,
    pub classes: Vec<Class>,
    pub years: f64,
    /// Drives are between new and so old when it begins.
    pub oldest_years: f64,
    /// Mean and standard deviation over the drives, in °C.
    pub ambient: (f64, f64),
    /// Share of the drives that fail in a year for reasons that have nothing to do with their flash.
    pub other_failures_per_year: f64,
}

/// A fleet whose lives have been measured.
#[derive(Clone, Debug)]
pub struct Fleet {
    pub spec: FleetSpec,
    /// For each model, of each class, of each specimen.
    lives: Vec<Vec<Vec<Life>>>,
}

/// One drive, as it was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    pub model: usize,
    pub class: usize,
    specimen: usize,
    pub drive_writes_per_day: f64,
    pub age_days: f64,
    pub celsius: f64,
    /// Expected losses at which it has one.
    fate: f64,
    /// Days after which it fails for another reason.
    fails_after: f64,
}

/// One drive at the end of one quarter, or of the one in which it was lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuarterRow {
    pub drive: u32,
    pub drawn: Drawn,
    /// From 1.
    pub quarter: u32,
    pub wear_mean: f64,
    pub wear_most: f64,
    /// Mean wear up to which the life of its kind was measured: beyond, all figures but wear and what was written, and what is
    /// expected lost, are as there.
    pub wear_measured: f64,
    pub waf: f64,
    /// `None` without such commands.
    pub write_p99_us: Option<f64>,
    pub read_p99_us: Option<f64>,
    /// How old its data are when they are rewritten, and no older than the drive, brought to 30 °C.
    pub data_hours: f64,
    /// Written by the host so far, what was written before the fleet began included.
    pub terabytes_written: f64,
    /// Units of 4 KiB that were expected lost so far.
    pub expected_losses: f64,
    pub state: State,
}

/// What has become of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Works,
    /// A read could not be corrected.
    LostData,
    /// For another reason.
    Failed,
}

impl Drawn {
    /// How old its data are when they are rewritten, so many days after the drive was new: the time in which the host writes all of
    /// them once, and no more than the drive's own age; brought to 30 °C.
    fn data_hours(&self, class: &Class, days: f64) -> f64 {
        let rewritten_days = f64::from(class.fill_percent) / 100.0 / self.drive_writes_per_day;
        hours_at_30_celsius(rewritten_days.min(days) * HOURS, self.celsius)
    }
}

impl State {
    pub const WORDS: [&str; 3] = ["works", "lost data", "failed"];
}

impl FleetSpec {
    /// What can be said before any life is measured.
    ///
    /// # Errors
    /// The first value that cannot be.
    pub fn check(&self) -> Result<(), String> {
        let models: Vec<&str> = self.models.iter().map(|m| m.0.as_str()).collect();
        let classes: Vec<&str> = self.classes.iter().map(|c| c.name.as_str()).collect();
        for (kind, names) in [("model", models), ("class", classes)] {
            if let Some(k) = (1..names.len()).find(|&k| names[..k].contains(&names[k])) {
                return Err(format!(
                    "two of the fleet's kinds of {kind} are named {}: give each a name of its own",
                    names[k]
                ));
            }
        }
        for class in &self.classes {
            class.check().map_err(|e| format!("class {}: {e}", class.name))?;
        }
        let weights = |weights: &mut dyn Iterator<Item = f64>| {
            let (mut sum, mut sound) = (0.0, true);
            for weight in weights {
                sum += weight;
                sound &= weight >= 0.0 && weight.is_finite();
            }
            sound && sum > 0.0
        };
        let between = |value: f64, least: f64, most: f64| value >= least && value <= most;
        if !weights(&mut self.models.iter().map(|m| m.2)) || !weights(&mut self.classes.iter().map(|c| c.weight)) {
            return Err("models and classes need weights of zero or more, and not all of them zero".to_owned());
        }
        if !between(self.years, 0.25, 100.0) || !between(self.oldest_years, 0.0, 100.0) {
            return Err("years must lie between 0.25 and 100, oldest_years between 0 and 100".to_owned());
        }
        if libm::fmod(self.years, 0.25) != 0.0 {
            return Err(format!("years is {}; a fleet is told in quarters: give a multiple of 0.25", self.years));
        }
        if !between(self.ambient.0, -40.0, 125.0) || !between(self.ambient.1, 0.0, 40.0) {
            return Err("ambient must lie between -40 and 125 °C, its deviation between 0 and 40".to_owned());
        }
        if !between(self.other_failures_per_year, 0.0, 0.99) {
            return Err("other_failures_per_year must lie between 0 and 0.99".to_owned());
        }
        Ok(())
    }
}

impl Fleet {
    /// # Errors
    /// What cannot be, in words.
    pub fn new(spec: FleetSpec, lives: Vec<Vec<Vec<Life>>>) -> Result<Fleet, String> {
        spec.check()?;
        let whole = lives.len() == spec.models.len()
            && lives.iter().all(|of| of.len() == spec.classes.len() && of.iter().all(|l| !l.is_empty()));
        if !whole || lives.iter().flatten().flatten().any(|life| life.points.len() < 2) {
            return Err("every model needs a life under every class".to_owned());
        }
        Ok(Fleet { spec, lives })
    }

    /// Rows of a drive.
    #[must_use]
    pub fn quarters(&self) -> u32 {
        libm::round(self.spec.years * 4.0) as u32
    }

    /// A drive by its number, from a stream of its own: as many drives as one likes do not change it.
    #[must_use]
    pub fn drawn(&self, drive: u32) -> Drawn {
        let rng = Rng::new(self.spec.seed).stream("drives of a fleet").stream(&drive.to_string());
        let unit = |name: &str| rng.stream(name).unit();
        let model = chosen(unit("model"), self.spec.models.iter().map(|m| m.2));
        let class = chosen(unit("class"), self.spec.classes.iter().map(|c| c.weight));
        let specimens = self.lives[model][class].len() as u64;
        let of_class = &self.spec.classes[class];
        let (mean, deviation) = self.spec.ambient;
        let other = -libm::log(1.0 - self.spec.other_failures_per_year) / 365.25;
        Drawn {
            model,
            class,
            specimen: rng.stream("specimen").below(specimens) as usize,
            drive_writes_per_day: of_class.drive_writes_per_day
                * libm::exp(of_class.spread * normal(unit("busy"), unit("busy too"))),
            age_days: unit("age") * self.spec.oldest_years * 365.25,
            celsius: mean + deviation * normal(unit("ambient"), unit("ambient too")),
            fate: -libm::log(1.0 - unit("fate")),
            fails_after: if other > 0.0 { -libm::log(1.0 - unit("other")) / other } else { f64::INFINITY },
        }
    }

    /// The life of a drive, quarter by quarter, up to the one in which it is lost.
    pub fn rows(&self, drive: u32) -> impl Iterator<Item = QuarterRow> + '_ {
        let drawn = self.drawn(drive);
        let life = &self.lives[drawn.model][drawn.class][drawn.specimen];
        let capacity = self.spec.models[drawn.model].1 as f64;
        let class = &self.spec.classes[drawn.class];
        let mut state = Age::new(capacity);
        // What it has gone through before; it would not be in the fleet had it been lost.
        state.pass(life, &drawn, &self.spec.classes[drawn.class], drawn.age_days);
        state.losses = 0.0;
        let mut lost = false;
        (1..=self.quarters()).map_while(move |quarter| {
            if lost {
                return None;
            }
            state.pass(life, &drawn, &self.spec.classes[drawn.class], QUARTER_DAYS);
            let at = life.at(state.wear);
            let what = if state.losses >= drawn.fate {
                State::LostData
            } else if drawn.fails_after <= f64::from(quarter) * QUARTER_DAYS {
                State::Failed
            } else {
                State::Works
            };
            lost = what != State::Works;
            Some(QuarterRow {
                drive,
                drawn,
                quarter,
                wear_mean: at.wear_mean,
                wear_most: at.wear_most,
                wear_measured: life.points.last().map_or(0.0, |p| p.wear_mean),
                waf: at.waf,
                // A buffer may answer in no time.
                write_p99_us: Some(at.write_us[1]),
                read_p99_us: Some(at.read_us[1]).filter(|_| class.reads_per_write() > 0.0),
                data_hours: drawn.data_hours(class, state.days),
                terabytes_written: state.written * capacity / 1e12,
                expected_losses: state.losses,
                state: what,
            })
        })
    }
}

impl Fleet {
    /// Of which drives none can be lost to an uncorrectable read, whatever becomes of them, and why; a sentence each.
    #[must_use]
    pub fn never_lost(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (class, what) in self.spec.classes.iter().enumerate() {
            if what.reads_per_write() == 0.0 {
                notes
                    .push(format!("No drive under {} is ever lost to its flash: that class reads nothing.", what.name));
                continue;
            }
            for (model, lives) in self.spec.models.iter().zip(&self.lives) {
                if lives[class].iter().flat_map(|life| &life.points).all(|p| p.lost.iter().all(|&lost| lost == 0.0)) {
                    notes.push(format!(
                        "No {} under {} is ever lost to its flash: no loss is expected of it as far as its life was \
                         measured, as of every drive without a model of errors.",
                        model.0, what.name
                    ));
                }
            }
        }
        notes
    }

    /// What is told of a drive after so many days of work from new: its model, its class, the capacities that the host has
    /// written from new, the seed of its specimen, and its mean wear, write amplification and 99th percentiles of write
    /// and read latency in microseconds.
    #[must_use]
    pub fn told(&self, drive: u32, days: f64) -> (usize, usize, f64, u64, [f64; 4]) {
        let drawn = self.drawn(drive);
        let life = &self.lives[drawn.model][drawn.class][drawn.specimen];
        let mut state = Age::new(self.spec.models[drawn.model].1 as f64);
        state.pass(life, &drawn, &self.spec.classes[drawn.class], days);
        let at = life.at(state.wear);
        let seed = Rng::new(self.spec.seed).stream("specimens of a fleet").stream(&drive.to_string()).next_u64();
        (drawn.model, drawn.class, state.written, seed, [at.wear_mean, at.waf, at.write_us[1], at.read_us[1]])
    }
}

/// How far a drive is.
struct Age {
    units: f64,
    /// Since it was new.
    days: f64,
    wear: f64,
    /// In capacities.
    written: f64,
    /// Units expected lost.
    losses: f64,
}

impl Age {
    fn new(capacity_bytes: f64) -> Age {
        Age { units: capacity_bytes / UNIT_BYTES as f64, days: 0.0, wear: 0.0, written: 0.0, losses: 0.0 }
    }

    fn pass(&mut self, life: &Life, drawn: &Drawn, class: &Class, days: f64) {
        // Of ten days, or shorter ones of equal length. Begun ones that are none but for rounding do not count.
        let steps = libm::ceil(days / QUARTER_DAYS * f64::from(STEPS) - 1e-6).max(1.0) as u32;
        let step = days / f64::from(steps);
        let per_day = drawn.drive_writes_per_day;
        let reads_per_day = per_day * class.reads_per_write() / (f64::from(class.fill_percent) / 100.0);
        for _ in 0..steps {
            let capacities = per_day * step;
            let hours = drawn.data_hours(class, self.days + step / 2.0);
            self.losses += self.units * life.lost_after(self.wear, hours) * reads_per_day * step;
            // While it was filled and came to its steady state, it wore as it did then.
            let young = (life.begun - self.written).clamp(0.0, capacities);
            if young > 0.0 {
                self.wear += young * life.wear_begun / life.begun;
            }
            self.wear += (capacities - young) / life.at(self.wear).drive_writes_per_life;
            self.written += capacities;
            self.days += step;
        }
    }
}

/// Which of several with these weights.
fn chosen(unit: f64, weights: impl Iterator<Item = f64> + Clone) -> usize {
    let mut left = unit * weights.clone().sum::<f64>();
    let mut last = 0;
    for (i, weight) in weights.enumerate() {
        if weight > 0.0 {
            last = i;
            if left < weight {
                break;
            }
        }
        left -= weight;
    }
    last
}

/// Box and Muller.
fn normal(a: f64, b: f64) -> f64 {
    libm::sqrt(-2.0 * libm::log(1.0 - a)) * libm::cos(2.0 * std::f64::consts::PI * b)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::life::tests::two_points;

    fn class(name: &str, weight: f64) -> Class {
        Class {
            name: name.to_owned(),
            weight,
            drive_writes_per_day: 1.0,
            spread: 0.0,
            fill_percent: 80,
            random_percent: 75,
            block_bytes: 4096,
            hot_percent: None,
            read_percent: 50,
            queue_depth: 4,
            trace: None,
        }
    }

    pub(crate) fn spec() -> FleetSpec {
        FleetSpec {
            seed: 1,
            models: vec![("a".to_owned(), 100_000_000_000, 1.0)],
            classes: vec![class("x", 3.0), class("y", 1.0)],
            years: 3.0,
            oldest_years: 0.0,
            ambient: (30.0, 0.0),
            other_failures_per_year: 0.0,
        }
    }

    pub(crate) fn fleet(spec: FleetSpec) -> Fleet {
        let lives = spec.models.iter().map(|_| spec.classes.iter().map(|_| vec![two_points()]).collect()).collect();
        Fleet::new(spec, lives).expect("a fleet that can be")
    }

    #[test]
    fn classes_have_their_shares_and_a_drive_does_not_depend_on_the_others() {
        let fleet = fleet(spec());
        let of_y = (0..4000).filter(|&d| fleet.drawn(d).class == 1).count();
        assert!((900..1100).contains(&of_y), "{of_y} of 4000");
        assert_eq!(fleet.drawn(17), fleet.drawn(17));
        assert_eq!(fleet.rows(17).collect::<Vec<_>>(), fleet.rows(17).collect::<Vec<_>>());
    }

    #[test]
    fn wear_is_what_was_written_over_the_drive_writes_of_a_life() {
        let mut flat = spec();
        flat.years = 1.0;
        let lives = vec![vec![vec![two_points()]; 2]];
        let life = &lives[0][0][0];
        let pace = life.at(0.06).drive_writes_per_life;
        let last = Fleet::new(flat, lives.clone()).expect("can be").rows(1).last().expect("four quarters");
        assert!((last.wear_mean / (0.0005 + (365.25 - 2.5) / pace) - 1.0).abs() < 0.05, "{last:?}");
        assert!((last.terabytes_written - 365.25 * 0.1).abs() < 1e-6);
        // Written once a hundred days, it is not yet full.
        let mut slow = spec();
        (slow.years, slow.classes) = (0.25, vec![Class { drive_writes_per_day: 0.01, ..class("x", 1.0) }]);
        let new = Fleet::new(slow, vec![vec![vec![two_points()]]]).expect("can be").rows(1).last().expect("a quarter");
        let written = 0.01 * 365.25 / 4.0;
        assert!((new.wear_mean / (0.0005 * written / 2.5) - 1.0).abs() < 1e-6, "{new:?}");
    }

    #[test]
    fn losses_are_those_of_the_whole_drive_whatever_its_life_was_measured_on() {
        let losses = |capacity_bytes: u64| {
            let mut sized = spec();
            sized.models[0].1 = capacity_bytes;
            fleet(sized).rows(1).map(|row| row.expected_losses).collect::<Vec<_>>()
        };
        let (one, four) = (losses(100_000_000_000), losses(400_000_000_000));
        assert!(one[0] > 0.0 && (four[0] / one[0] - 4.0).abs() < 1e-9, "{one:?} {four:?}");
    }

    #[test]
    fn expected_losses_and_other_failures_lose_as_many_drives_as_they_say() {
        let mut other = spec();
        other.other_failures_per_year = 0.1;
        let fleet = fleet(other);
        let works = (0..2000).filter(|&d| fleet.rows(d).last().is_some_and(|r| r.state == State::Works)).count();
        assert!((0.9 * 0.9 * 0.9 * 2000.0 - works as f64).abs() < 80.0, "{works}");
        let lost = (0..200).flat_map(|d| fleet.rows(d)).filter(|r| r.state == State::LostData);
        assert!(lost.into_iter().all(|r| r.expected_losses >= r.drawn.fate));
    }

    #[test]
    fn which_drives_can_never_be_lost_is_said() {
        let mut some = spec();
        some.classes[1].random_percent = 0;
        some.models.push(("b".to_owned(), 100_000_000_000, 1.0));
        let mut immune = two_points();
        immune.points.iter_mut().for_each(|p| p.lost.fill(0.0));
        let lives = vec![vec![vec![two_points()]; 2], vec![vec![immune]; 2]];
        let said = Fleet::new(some, lives).expect("a fleet that can be").never_lost();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].starts_with("No b under x is ever lost") && said[0].contains("model of errors"), "{said:?}");
        assert!(said[1].starts_with("No drive under y is ever lost") && said[1].contains("reads nothing"), "{said:?}");
        assert!(fleet(spec()).never_lost().is_empty());
    }

    #[test]
    fn what_cannot_be_is_refused_in_words() {
        let refused = |change: &dyn Fn(&mut FleetSpec)| {
            let mut spec = spec();
            change(&mut spec);
            let lives = vec![vec![vec![two_points()]; spec.classes.len()]; spec.models.len()];
            Fleet::new(spec, lives).expect_err("cannot be")
        };
        assert!(refused(&|s| s.years = f64::NAN).contains("years"));
        assert!(refused(&|s| s.years = 1.1).contains("multiple of 0.25"));
        assert!(refused(&|s| s.models[0].2 = 0.0).contains("weights"));
        assert!(refused(&|s| s.models.push(s.models[0].clone())).contains("model are named a"));
        assert!(refused(&|s| s.classes[1].name = "x".to_owned()).contains("class are named x"));
        assert!(refused(&|s| s.classes[1].queue_depth = 0).contains("class y: queue_depth"));
        assert!(refused(&|s| s.ambient.0 = 500.0).contains("ambient"));
        assert!(Fleet::new(spec(), Vec::new()).expect_err("no lives").contains("every model"));
    }
}
