//! The search for the values with which a drive shows what was measured.

use ssdlab_catalog::{DeviceRecipe, DeviceTemplate, Diagnostic, Refusal};
use toml::Value;

use super::measurements::{Measured, Measurements, Unknown};
use super::straight_lines::dot;
use super::tried::{Shown, Tried};
use crate::changed::Changed;
use crate::figures::{Figure, Metrics};
use crate::runs::{Bench, NoResult, Share, Subject, place, tests_of};

const FIRST_STEP: f64 = 1.6;
/// The first step to an interval's end: so many times what the search is fine to.
const FIRST_TO_AN_END: f64 = 5.0;
/// Steps by which an interval's end is narrowed down.
const HALVINGS: usize = 4;

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
    /// as far.
    fn ahead(&self, at: &[f64]) -> Vec<Vec<f64>> {
        let Some((steps, _)) = self.tried.straight_ahead(at) else { return Vec::new() };
        let by = |factor: &dyn Fn(f64) -> f64| -> Vec<f64> {
            let resolution = self.resolution();
            let to =
                |((unknown, from), step): ((&Unknown, &f64), &f64)| unknown.rounded(from * factor(*step), resolution);
            self.unknown().iter().zip(at).zip(&steps).map(to).collect()
        };
        vec![by(&libm::exp), by(&|step| 1.0 + step), by(&|step| 1.0 + step / 2.0)]
    }

    /// A step along each unknown, with another one following so that the figures change least: along a valley, across which steps
    /// along one unknown alone lead out of it.
    fn pairs(&self, at: &[f64], step: f64) -> Vec<Vec<f64>> {
        let slopes: Vec<Vec<f64>> = (0..at.len()).map(|u| self.tried.slopes(at, u)).collect();
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
    /// It ends when the step is as fine as the measurements can tell.
    pub(super) fn descend(&mut self, start: Vec<f64>) -> Result<Vec<f64>, (Vec<f64>, End)> {
        let mut best = start;
        let mut step = FIRST_STEP;
        if let Err(end) = self.run(std::slice::from_ref(&best)) {
            return Err((best, end));
        }
        // Of what the ones before did not better, each is asked in turn.
        let looks: &[Look<'a>] = match best.len() {
            1 => &[Self::around],
            _ => &[Self::around, |search, at, _| search.ahead(at), Self::pairs],
        };
        'steps: while step > 1.0 + self.resolution() {
            for look in looks {
                let mut points = look(self, &best, step);
                points.retain(|point| *point != best);
                if let Err(end) = self.run(&points) {
                    return Err((best, end));
                }
                let next = points.into_iter().min_by(|a, b| self.tried.misfit(a).total_cmp(&self.tried.misfit(b)));
                if let Some(next) = next.filter(|next| self.tried.misfit(next) < self.tried.misfit(&best)) {
                    best = next;
                    continue 'steps;
                }
            }
            step = libm::sqrt(step);
        }
        Ok(best)
    }

    /// A step up and down along each unknown, and where figures cross what was measured.
    fn around(&self, at: &[f64], step: f64) -> Vec<Vec<f64>> {
        let steps = (0..at.len()).flat_map(|u| [step, 1.0 / step].map(|factor| self.moved(at, u, factor)));
        steps.chain(self.crossings(at)).collect()
    }

    /// Where the misfit passes the best one by one, in one direction along one unknown.
    pub(super) fn end_of(&mut self, best: &[f64], unknown: usize, up: bool) -> Result<Edge, End> {
        let least = self.tried.misfit(best);
        let (mut inside, mut outside) = (best[unknown], None);
        let mut step = 1.0 + FIRST_TO_AN_END * self.resolution();
        while outside.is_none() {
            let mut point = best.to_vec();
            let factor = if up { step } else { 1.0 / step };
            point[unknown] = self.unknown()[unknown].stepped(inside, factor, self.resolution());
            if point[unknown] == inside {
                return Ok(Edge::Open);
            }
            self.run(std::slice::from_ref(&point))?;
            match self.tried.misfit(&point) {
                misfit if misfit < least => return Ok(Edge::Better(point)),
                misfit if misfit > least + 1.0 => outside = Some(point[unknown]),
                _ => inside = point[unknown],
            }
            step = step * step;
        }
        let mut outside = outside.unwrap_or(inside);
        for _ in 0..HALVINGS {
            let mut point = best.to_vec();
            point[unknown] = self.unknown()[unknown].rounded(libm::sqrt(inside * outside), self.resolution());
            if point[unknown] == inside || point[unknown] == outside {
                break;
            }
            self.run(std::slice::from_ref(&point))?;
            match self.tried.misfit(&point) {
                misfit if misfit < least => return Ok(Edge::Better(point)),
                misfit if misfit > least + 1.0 => outside = point[unknown],
                _ => inside = point[unknown],
            }
        }
        // Where no drive can be, the measurements have not ended the interval.
        let mut point = best.to_vec();
        point[unknown] = outside;
        Ok(if matches!(self.tried.at(&point), Some(Shown::NoDrive)) { Edge::Open } else { Edge::At(inside) })
    }
}
