//! The search for the values with which a drive shows what was measured.

use ssdlab_catalog::{DeviceRecipe, DeviceTemplate, Diagnostic, Refusal};
use toml::Value;

use super::measurements::{Measured, Measurements, Unknown};
use super::straight_lines::{dot, least_squares, times_as_wide};
use super::tried::{Shown, Tried};
use crate::changed::Changed;
use crate::figures::{Figure, Metrics};
use crate::runs::{Bench, NoResult, Share, Subject, place, tests_of};

const FIRST_STEP: f64 = 1.6;
/// The first step to an interval's end where slopes do not tell how far it is: so many times what the search is fine to.
const FIRST_TO_AN_END: f64 = 5.0;
/// To what share of the way from the best value to it the end of an interval is known.
const END_IS_KNOWN_TO: f64 = 0.01;
/// A gain of the misfit that moves no end by as much.
const NO_GAIN: f64 = 0.01;
/// How often unknowns are asked to make up for another one, where figures are no straight lines.
const MADE_UP: usize = 3;

/// Runs drives until none near the best shows the measurements better.
pub(super) struct Search<'a> {
    template: DeviceTemplate,
    figures: Vec<Figure>,
    bench: &'a Bench<'a>,
    tried: Tried<'a>,
    most_runs: usize,
}

/// Points around one, at a step's distance.
type Look<'a> = fn(&Search<'a>, &[f64], f64) -> Vec<Vec<f64>>;

/// Why the search goes no further.
pub(super) enum End {
    NoResult(NoResult),
    NoRunsLeft,
}

/// What is found where an interval is to end.
pub(super) enum Edge {
    At(f64),
    /// Nothing ends it within the bounds.
    Open,
    /// A drive that shows the measurements better: the interval would be of one that is not the best.
    Better(Vec<f64>),
}

impl<'a> Search<'a> {
    /// One that runs `most_runs` drives at the most.
    ///
    /// # Errors
    /// If one of the measurements is of no test.
    pub(super) fn new(
        template: DeviceTemplate,
        given: &'a Measurements,
        bench: &'a Bench<'a>,
        most_runs: usize,
    ) -> Result<Self, Diagnostic> {
        let figures = given.measurement.iter().map(Measured::figure).collect::<Result<_, _>>()?;
        Ok(Search { template, figures, bench, tried: Tried::none(given), most_runs })
    }

    /// The drives that it has run so far.
    pub(super) fn tried(&self) -> &Tried<'a> {
        &self.tried
    }

    fn unknown(&self) -> &'a [Unknown] {
        &self.tried.given().unknown
    }

    fn resolution(&self) -> f64 {
        self.tried.given().resolution()
    }

    fn last_resolution(&self) -> f64 {
        self.tried.given().last_resolution()
    }

    /// The drive with these values of the unknowns.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(super) fn recipe(&self, at: &[f64]) -> Result<DeviceRecipe, String> {
        let changes: Vec<(String, Value)> =
            self.unknown().iter().zip(at).map(|(u, &v)| (u.key.clone(), u.value(v))).collect();
        let recipe = self.template.with(&changes).map_err(|refusal| match refusal {
            Refusal::Value { problem, .. } => problem.what,
            Refusal::Impossible(e) => e.to_string(),
        })?;
        // A drive that is told of may still not be buildable, such as one without room for what it shall keep free.
        recipe.build(self.bench.seed).map(|_| recipe).map_err(|e| e.what)
    }

    /// Figures of all measurements at each of `points`, which run at the same time.
    fn run(&mut self, points: &[Vec<f64>]) -> Result<(), End> {
        let new: Vec<&Vec<f64>> = points.iter().filter(|p| self.tried.at(p).is_none()).collect();
        let mut drives: Vec<(Vec<f64>, Option<Changed>)> = Vec::new();
        for point in new {
            if drives.iter().all(|(known, _)| known != point) {
                drives.push((point.clone(), self.recipe(point).ok().map(Changed::new)));
            }
        }
        let possible: Vec<&Changed> = drives.iter().filter_map(|(_, drive)| drive.as_ref()).collect();
        if self.tried.runs() + possible.len() > self.most_runs {
            return Err(End::NoRunsLeft);
        }
        let subjects: Vec<Subject<'_>> =
            possible.iter().map(|&drive| Subject { drive, seed: self.bench.seed }).collect();
        let tests = tests_of(&self.figures);
        // How many drives it takes is not known beforehand, only how many it may.
        let share = Share { before: self.tried.runs() * tests.len(), of: self.most_runs * tests.len() };
        let mut results = self.bench.run(&subjects, &tests, share).map_err(End::NoResult)?.into_iter();
        for (point, drive) in drives {
            let shown = match drive {
                None => Shown::NoDrive,
                Some(_) => {
                    let row = results.next().expect("there is a result for each drive");
                    match self.figures_of(&tests, row) {
                        Ok((figures, drift)) => Shown::Figures(figures, drift),
                        // The first drive must have them all. Another without is no better than it.
                        Err(why) if self.tried.is_empty() => return Err(End::NoResult(NoResult::Refused(why))),
                        Err(_) => Shown::NotAll,
                    }
                }
            };
            self.tried.keep(point, shown);
        }
        Ok(())
    }

    fn figures_of(&self, tests: &[&Figure], row: Vec<Metrics>) -> Result<(Vec<f64>, Vec<bool>), Diagnostic> {
        let figure = |figure: &Figure| {
            let metrics = row[place(tests, figure)].as_ref().map_err(|why| Diagnostic::new(why.clone()))?;
            let drifts = metrics.get("steady").is_some_and(|steady| steady.value == 0.0);
            metrics.get(&figure.metric).map(|m| (m.value, drifts)).ok_or_else(|| {
                Diagnostic::new(format!("{} has no figure `{}` on this drive", figure.test.name, figure.metric))
                    .help("`ssdlab test` prints the figures of a test")
            })
        };
        self.figures.iter().map(figure).collect()
    }

    /// A point with one unknown times `factor`.
    fn moved(&self, from: &[f64], unknown: usize, factor: f64) -> Vec<f64> {
        let mut to = from.to_vec();
        to[unknown] = self.unknown()[unknown].stepped(from[unknown], factor, self.resolution());
        to
    }

    /// Where a figure that is too small on one side of an unknown, and too large on the other, should be right: between
    /// drives that differ from `at` in this unknown alone. A step may lead from one side to the other, to where something
    /// else holds the figure and all places are as wrong.
    fn crossings(&self, at: &[f64]) -> Vec<Vec<f64>> {
        let mut points = Vec::new();
        for u in 0..at.len() {
            let line = self.tried.along(at, u);
            for ((low, below), (high, above)) in line.iter().zip(line.iter().skip(1)) {
                for (r0, r1) in below.iter().zip(above).filter(|(r0, r1)| *r0 * *r1 < 0.0) {
                    points.push(self.moved(at, u, low / at[u] * libm::pow(high / low, r0 / (r0 - r1))));
                }
            }
        }
        points
    }

    /// Where the slopes lead: for figures that go with the logarithms of the unknowns, for such as go with the unknowns, and half
    /// as far. Values are told to `resolution`.
    fn ahead(&self, at: &[f64], resolution: f64) -> Vec<Vec<f64>> {
        let Some((steps, _)) = self.tried.straight_ahead(at, resolution) else { return Vec::new() };
        let by = |factor: &dyn Fn(f64) -> f64| -> Vec<f64> {
            let to =
                |((unknown, from), step): ((&Unknown, &f64), &f64)| unknown.rounded(from * factor(*step), resolution);
            self.unknown().iter().zip(at).zip(&steps).map(to).collect()
        };
        vec![by(&libm::exp), by(&|step| 1.0 + step), by(&|step| 1.0 + step / 2.0)]
    }

    /// A step along each unknown, with another one following so that the figures change least: along a valley, across which steps
    /// along one unknown alone lead out of it.
    fn pairs(&self, at: &[f64], step: f64) -> Vec<Vec<f64>> {
        let slopes = self.tried.all_slopes(at);
        let mut points = Vec::new();
        for (u, v) in (0..at.len()).flat_map(|u| (0..at.len()).map(move |v| (u, v))).filter(|(u, v)| u != v) {
            let against = dot(&slopes[v], &slopes[v]);
            if against > 0.0 {
                let follows = -dot(&slopes[u], &slopes[v]) / against;
                for factor in [step, 1.0 / step] {
                    let point = self.moved(at, u, factor);
                    points.push(self.moved(&point, v, libm::pow(factor, follows)));
                }
            }
        }
        points
    }

    /// Looks up and down along each unknown by a step, and where a figure crosses what was measured, goes to the best place,
    /// and halves the step where nothing is better: neither there nor, with several unknowns, where slopes lead or along two at once.
    /// When the step is as fine as one measurement can tell, slopes lead on to what all of them together can.
    pub(super) fn descend(&mut self, start: Vec<f64>) -> Result<Vec<f64>, (Vec<f64>, End)> {
        let mut best = start;
        let mut step = FIRST_STEP;
        if let Err(end) = self.run(std::slice::from_ref(&best)) {
            return Err((best, end));
        }
        // Of what the ones before did not better, each is asked in turn.
        let looks: &[Look<'a>] = match best.len() {
            1 => &[Self::around],
            _ => &[|search, at, _| search.ahead(at, search.resolution()), Self::around, Self::pairs],
        };
        'steps: while step > 1.0 + self.resolution() {
            for look in looks {
                let mut points = look(self, &best, step);
                points.retain(|point| *point != best);
                if let Err(end) = self.run(&points) {
                    return Err((best, end));
                }
                let next = self.best_of(points);
                if let Some(next) = next.filter(|next| self.tried.misfit(next) < self.tried.misfit(&best)) {
                    best = next;
                    continue 'steps;
                }
            }
            step = libm::sqrt(step);
        }
        let mut gain = f64::INFINITY;
        while gain > 0.0 {
            // At a place that is new no slope along one unknown of several is known.
            let near = 1.0 + FIRST_TO_AN_END * self.resolution();
            let mut points = if best.len() > 1 { self.neighbours(&best, near) } else { Vec::new() };
            if let Err(end) = self.run(&points) {
                return Err((best, end));
            }
            if gain.min(self.tried.misfit(&best)) > NO_GAIN {
                let ahead = self.ahead(&best, self.last_resolution());
                if let Err(end) = self.run(&ahead) {
                    return Err((best, end));
                }
                points.extend(ahead);
            }
            let Some(next) = self.best_of(points) else { break };
            gain = self.tried.misfit(&best) - self.tried.misfit(&next);
            if gain > 0.0 {
                best = next;
            }
        }
        Ok(best)
    }

    /// The one of them with the least misfit.
    fn best_of(&self, points: Vec<Vec<f64>>) -> Option<Vec<f64>> {
        points.into_iter().min_by(|a, b| self.tried.misfit(a).total_cmp(&self.tried.misfit(b)))
    }

    /// A step up and down along each unknown.
    fn neighbours(&self, at: &[f64], step: f64) -> Vec<Vec<f64>> {
        (0..at.len()).flat_map(|u| [step, 1.0 / step].map(|factor| self.moved(at, u, factor))).collect()
    }

    /// A step up and down along each unknown, and where figures cross what was measured.
    fn around(&self, at: &[f64], step: f64) -> Vec<Vec<f64>> {
        self.neighbours(at, step).into_iter().chain(self.crossings(at)).collect()
    }

    /// Where the misfit passes the best one by one, in one direction along one unknown, all others being where it is least then.
    pub(super) fn end_of(&mut self, best: &[f64], unknown: usize, up: bool) -> Result<Edge, End> {
        let least = self.tried.misfit(best);
        let slopes = self.tried.all_slopes(best);
        let mut step = self.first_step_to_an_end(&slopes, unknown);
        let (mut inside, mut outside): (Vec<f64>, Option<Vec<f64>>) = (best.to_vec(), None);
        // How much of the last stretch between the two was left by what was run last.
        let mut left = 0.0;
        loop {
            let from = inside[unknown];
            let to = match &outside {
                None => {
                    let factor = if up { step } else { 1.0 / step };
                    step *= step;
                    self.unknown()[unknown].stepped(from, factor, self.last_resolution())
                }
                Some(outside) => self.towards_the_end(best, &inside, outside, unknown, left > 0.5),
            };
            let far = outside.as_ref().map(|outside| outside[unknown]);
            if to == from || far == Some(to) {
                break;
            }
            let point = self.with_others_following(&slopes, &inside, unknown, to, least + 1.0)?;
            let misfit = self.tried.misfit(&point);
            if misfit < least {
                return Ok(Edge::Better(point));
            }
            let is_inside = misfit <= least + 1.0;
            if let Some(far) = far {
                left = libm::log(to / if is_inside { far } else { from }).abs() / libm::log(far / from).abs();
            }
            if is_inside { inside = point } else { outside = Some(point) }
        }
        Ok(match outside.map(|outside| self.tried.at(&outside).is_none_or(|shown| matches!(shown, Shown::NoDrive))) {
            Some(false) => Edge::At(inside[unknown]),
            // Where no drive can be, the measurements have not ended the interval.
            Some(true) | None => Edge::Open,
        })
    }

    /// How far an end should be, as a factor: as slopes have it, but no further than a first step of the search.
    fn first_step_to_an_end(&self, slopes: &[Vec<f64>], unknown: usize) -> f64 {
        let alone = libm::sqrt(dot(&slopes[unknown], &slopes[unknown]));
        if alone == 0.0 {
            return 1.0 + FIRST_TO_AN_END * self.resolution();
        }
        let half = times_as_wide(slopes, unknown) / alone;
        // What moves by less than it is told to does not move.
        libm::exp(half).clamp(1.0 + FIRST_TO_AN_END * self.last_resolution(), FIRST_STEP)
    }

    /// Where to look for an end that lies between two points: where the root of what the misfit has grown by is one, which is a straight
    /// line where figures are, or half way if that did not help (`halve`). `inside` itself if the end is known.
    fn towards_the_end(&self, best: &[f64], inside: &[f64], outside: &[f64], unknown: usize, halve: bool) -> f64 {
        let (near, far) = (inside[unknown], outside[unknown]);
        let known_to = END_IS_KNOWN_TO * (far - best[unknown]).abs();
        if (far - near).abs() <= known_to {
            return near;
        }
        let unknown = &self.unknown()[unknown];
        // Some steps of the last digit are within what the end is to be known to.
        let resolution = 0.2 * known_to / near.max(far);
        let middle = unknown.rounded(libm::sqrt(near * far), resolution);
        let least = self.tried.misfit(best);
        let grown = |point: &[f64]| libm::sqrt((self.tried.misfit(point) - least).max(0.0));
        let (grown_near, grown_far) = (grown(inside), grown(outside));
        if halve || !grown_far.is_finite() {
            return middle;
        }
        let at = near * libm::pow(far / near, (1.0 - grown_near) / (grown_far - grown_near));
        // A little beyond it as seen from the nearer of the two, so that the other one comes near as well.
        let beyond = if (at - near).abs() < (far - at).abs() { far - near } else { near - far };
        let at = unknown.rounded(at + 0.4 * known_to * beyond.signum(), resolution);
        if at > near.min(far) && at < near.max(far) { at } else { middle }
    }

    /// The point with `unknown` at `to` at which the misfit is least, as far as slopes lead there from `from`. If it is above `limit`, that
    /// is as far as the others are seen to be able to make it less.
    fn with_others_following(
        &mut self,
        slopes: &[Vec<f64>],
        from: &[f64],
        unknown: usize,
        to: f64,
        limit: f64,
    ) -> Result<Vec<f64>, End> {
        let others: Vec<usize> = (0..from.len()).filter(|&other| other != unknown).collect();
        let directions: Vec<Vec<f64>> = others.iter().map(|&other| slopes[other].clone()).collect();
        let (all, resolution) = (self.unknown(), self.last_resolution());
        let made_up = |from: &[f64], off: &[f64]| {
            let wanted: Vec<f64> = off.iter().map(|off| -off).collect();
            let mut point = from.to_vec();
            for (&other, step) in others.iter().zip(least_squares(&directions, &wanted)) {
                point[other] = all[other].rounded(from[other] * libm::exp(step), resolution);
            }
            point[unknown] = to;
            point
        };
        let moved = libm::log(to / from[unknown]);
        let off: Vec<f64> = slopes[unknown].iter().map(|slope| slope * moved).collect();
        let mut point = made_up(from, &off);
        self.run(std::slice::from_ref(&point))?;
        for _ in 0..MADE_UP {
            let Some(off) = self.tried.off(&point).filter(|off| dot(off, off) > limit) else { break };
            let next = made_up(&point, &off);
            let left = |m: usize| {
                let by_others = others.iter().map(|&other| slopes[other][m] * libm::log(next[other] / point[other]));
                off[m] + by_others.sum::<f64>()
            };
            let left: Vec<f64> = (0..off.len()).map(left).collect();
            if next == point || dot(&left, &left) > limit {
                break;
            }
            self.run(std::slice::from_ref(&next))?;
            if self.tried.misfit(&next) >= self.tried.misfit(&point) {
                break;
            }
            point = next;
        }
        Ok(point)
    }
}
