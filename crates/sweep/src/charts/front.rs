//! Pareto fronts: what cannot be had both ways.

use std::collections::BTreeSet;

use ssdlab_bench::{Axis as ChartAxis, Chart, Mark, Series};
use ssdlab_report::{Holds, Steps, SweepFigure, SweepRow, SweepTable, figure_text};

use super::Data;
use super::axis::{lower_first, spans_decades};
use crate::plan::{Better, Pareto};
use crate::repeats::{Spread, groups};

/// By how much the first is better.
fn ahead(a: &Spread, b: &Spread, which: Better) -> f64 {
    match which {
        Better::Lower => b.mean - a.mean,
        Better::Higher => a.mean - b.mean,
    }
}

/// The places in `values` that no other beats, from the best x to the worst; of one x, the best y first. One beats another if it
/// is surely better in one figure, by more than both intervals where there are several runs, and its mean is no worse in the other.
/// `several`: the plan has several runs of each.
fn front(values: &[(Spread, Spread)], several: bool, x_better: Better, y_better: Better) -> Vec<usize> {
    // Of one run of several, nothing is known of its interval.
    let is_known = |s: &Spread| s.runs > 1 || !several;
    let surely = |a: &Spread, b: &Spread, which: Better| {
        is_known(a) && is_known(b) && ahead(a, b, which) > a.half_width + b.half_width
    };
    let beats = |a: &(Spread, Spread), b: &(Spread, Spread)| {
        let (x, y) = (ahead(&a.0, &b.0, x_better), ahead(&a.1, &b.1, y_better));
        x >= 0.0 && y >= 0.0 && (surely(&a.0, &b.0, x_better) || surely(&a.1, &b.1, y_better))
    };
    let mut front: Vec<usize> =
        (0..values.len()).filter(|&i| !values.iter().any(|other| beats(other, &values[i]))).collect();
    front.sort_by(|&a, &b| {
        let x = ahead(&values[b].0, &values[a].0, x_better).total_cmp(&0.0);
        let y = ahead(&values[b].1, &values[a].1, y_better).total_cmp(&0.0);
        x.then(y).then(a.cmp(&b))
    });
    front
}

/// Of a front in its order, those that no other beats in the means, and of equal ones the first: through others the line would show
/// what a better point can be had for.
fn best_of_means(values: &[(Spread, Spread)], front: &[usize], y_better: Better) -> Vec<usize> {
    let mut best: Vec<usize> = Vec::new();
    for &i in front {
        if best.last().is_none_or(|&before| ahead(&values[i].1, &values[before].1, y_better) > 0.0) {
            best.push(i);
        }
    }
    best
}

/// The least width of an axis of a measured figure, as a share of it: what differs by one request in thousands does not stand at the
/// two ends of a picture.
const LEAST_WIDTH: f64 = 0.01;

fn at_least_as_wide(axis: ChartAxis, values: &[f64]) -> ChartAxis {
    let (low, high) = (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max));
    let Some((low, high)) = low.zip(high) else { return axis };
    let (middle, width) = ((low + high) / 2.0, LEAST_WIDTH * (low + high).abs() / 2.0);
    if axis.log || high - low >= width {
        return axis;
    }
    ChartAxis { min: Some(middle - width / 2.0), max: Some(middle + width / 2.0), ..axis }
}

/// The picture and the table of one trade-off; nothing if there are no two drives that have both figures.
pub(super) fn draw(data: &Data, task: usize, pareto: &Pareto) -> Option<(SweepRow, SweepTable)> {
    let finished: BTreeSet<usize> = data.rows(task).collect();
    // One for each drive: its first point, and its figures over all seeds.
    let mut unsettled: BTreeSet<usize> = BTreeSet::new();
    let (rows, values): (Vec<usize>, Vec<(Spread, Spread)>) = groups(data.plan)
        .into_iter()
        .filter_map(|group| {
            let runs: Vec<usize> = group.into_iter().filter(|i| finished.contains(i)).collect();
            let spread =
                |name: &str| Spread::of(&runs.iter().filter_map(|&i| data.figure(i, name)).collect::<Vec<_>>());
            let first = *runs.first()?;
            if runs.iter().any(|&i| data.is_unsettled(i)) {
                unsettled.insert(first);
            }
            Some((first, (spread(&pareto.x)?, spread(&pareto.y)?)))
        })
        .unzip();
    if rows.len() < 2 {
        return None;
    }
    // Figures that are none of the steady state by which the others are ranked beat nobody.
    let (doubtful, settled): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(|&i| unsettled.contains(&rows[i]));
    let of_settled: Vec<(Spread, Spread)> = settled.iter().map(|&i| values[i]).collect();
    let several = data.plan.seeds.len() > 1;
    let on_front = front(&of_settled, several, pareto.x_better, pareto.y_better);
    let best = best_of_means(&of_settled, &on_front, pareto.y_better);
    let [mut from_left, best] = [on_front, best].map(|of| of.into_iter().map(|k| settled[k]).collect::<Vec<usize>>());
    from_left.sort_by(|&a, &b| values[a].0.mean.total_cmp(&values[b].0.mean));
    let joined: Vec<usize> = (0..from_left.len()).filter(|&at| best.contains(&from_left[at])).collect();
    let beaten: Vec<usize> = settled.into_iter().filter(|i| !from_left.contains(i)).collect();
    let series = |name: &str, of: &[usize]| Series {
        name: name.to_owned(),
        points: of.iter().map(|&i| [values[i].0.mean, values[i].1.mean]).collect(),
    };
    let name = |i: usize| data.name_of(rows[i]);
    let names = |of: &[usize]| of.iter().map(|&i| name(i)).collect();
    let axis = |name: &str, of: &dyn Fn(&(Spread, Spread)) -> f64| {
        let (label, unit) = (data.label(task, name), data.unit(name));
        let all: Vec<f64> = values.iter().map(of).collect();
        if spans_decades(&all) { ChartAxis::log(&label, &unit) } else { ChartAxis::linear(&label, &unit) }
    };
    let x_axis = axis(&pareto.x, &|v| v.0.mean);
    // Values of a key were chosen, and are as far apart as they are.
    let x_axis = if data.is_measured(&pareto.x) {
        at_least_as_wide(x_axis, &values.iter().map(|v| v.0.mean).collect::<Vec<_>>())
    } else {
        x_axis
    };
    let word = |better: Better| if better == Better::Lower { "lower" } else { "higher" };
    let (x_label, y_label) = (data.label(task, &pareto.x), data.label(task, &pareto.y));
    let title = format!("{y_label} against {}", lower_first(&x_label));
    let chart = Chart {
        id: format!("{}-front-{}-{}", data.plan.tasks[task].name, pareto.x, pareto.y),
        title: title.clone(),
        caption: format!(
            "{} of {} points are on the front{}; better is {} on the horizontal axis and {} on the vertical.{}",
            from_left.len(),
            rows.len(),
            match doubtful.len() {
                0 => String::new(),
                1 => ", and one that did not settle stands beside it".to_owned(),
                several => format!(", and {several} that did not settle stand beside it"),
            },
            word(pareto.x_better),
            word(pareto.y_better),
            if several && joined.len() < from_left.len() {
                " The line joins those that no other beats in the means."
            } else {
                ""
            },
        ),
        mark: Mark::Scatter,
        x: x_axis,
        y: axis(&pareto.y, &|v| v.1.mean),
        series: [("beaten by another point", &beaten), ("on the front", &from_left), ("not settled", &doubtful)]
            .into_iter()
            .take(if doubtful.is_empty() { 2 } else { 3 })
            .map(|(name, of)| series(name, of))
            .collect(),
        overlay_drives: false,
    };
    let mut columns = vec![("Point".to_owned(), true), ("What".to_owned(), false)];
    columns.extend([(x_label, true), (y_label, true)]);
    let table = SweepTable {
        caption: format!("On the front: {}", lower_first(&title)),
        columns,
        rows: from_left
            .iter()
            .map(|&i| {
                let row = rows[i];
                vec![
                    data.plan.points[row].number.to_string(),
                    name(i),
                    shown_spread(data, &values[i].0, &pareto.x),
                    shown_spread(data, &values[i].1, &pareto.y),
                ]
            })
            .collect(),
    };
    let figure = SweepFigure {
        chart,
        subject: String::new(),
        // The front is drawn on top of what it beats.
        point_names: vec![names(&beaten), names(&from_left), names(&doubtful)],
        stepped: vec![Steps {
            series: 1,
            points: joined,
            holds: match pareto.x_better {
                Better::Lower => Holds::ToTheRight,
                Better::Higher => Holds::ToTheLeft,
            },
        }],
    };
    Some((SweepRow { heading: String::new(), figures: vec![figure] }, table))
}

fn shown_spread(data: &Data, spread: &Spread, name: &str) -> String {
    spread_text(spread, &data.unit(name), data.plan.seeds.len() > 1)
}

/// A mean with its interval; that of one run of several has none, and is not exact.
fn spread_text(spread: &Spread, unit: &str, several: bool) -> String {
    let mean = figure_text(spread.mean, unit);
    match spread.runs {
        1 if several => format!("{mean} (one run)"),
        _ if spread.half_width == 0.0 => mean,
        _ => format!("{mean} ± {}", figure_text(spread.half_width, unit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(x: f64, y: f64) -> (Spread, Spread) {
        let exact = |v: f64| Spread::of(&[v]).unwrap();
        (exact(x), exact(y))
    }

    #[test]
    fn the_front_is_what_nobody_beats() {
        let points = [(1.0, 9.0), (2.0, 5.0), (2.0, 6.0), (3.0, 5.0), (4.0, 1.0), (4.0, 1.0), (0.5, 20.0)];
        let values = points.map(|(x, y)| known(x, y));
        // Of equal ones each.
        assert_eq!(front(&values, false, Better::Lower, Better::Lower), [6, 0, 1, 4, 5]);
        assert_eq!(front(&values, false, Better::Higher, Better::Lower), [4, 5]);
        assert_eq!(front(&values, false, Better::Lower, Better::Higher), [6]);
        assert_eq!(front(&values, false, Better::Higher, Better::Higher), [4, 5, 3, 2, 0, 6]);
        // Against the definition.
        let beats = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 <= b.1 && a != b;
        let on_front = front(&values, false, Better::Lower, Better::Lower);
        for i in 0..points.len() {
            let is_beaten = points.iter().any(|&other| beats(other, points[i]));
            assert_eq!(on_front.contains(&i), !is_beaten, "{i}");
        }
    }

    #[test]
    fn the_line_passes_through_no_point_that_another_beats_in_the_means() {
        let around = |mean: f64| Spread::of(&[mean - 1.0, mean, mean + 1.0]).unwrap();
        let exact = |v: f64| Spread::of(&[v, v]).unwrap();
        // Of 10, 11 and 12, give or take 2.5, none is surely better, but 11 and 12 are no better for costing more.
        let values = [(exact(1.0), around(11.0)), (exact(1.0), around(10.0)), (around(2.0), around(12.0))];
        let values = [&values[..], &[(exact(3.0), around(2.0)), (exact(3.0), around(2.0))]].concat();
        let on_front = front(&values, true, Better::Lower, Better::Lower);
        assert_eq!(on_front, [1, 0, 2, 3, 4]);
        assert_eq!(best_of_means(&values, &on_front, Better::Lower), [1, 3]);
    }

    #[test]
    fn figures_that_hardly_differ_do_not_stand_at_the_ends_of_an_axis() {
        let ends = |values: &[f64]| {
            let axis = at_least_as_wide(ChartAxis::linear("Bandwidth", "MB/s"), values);
            (axis.min, axis.max)
        };
        let (Some(min), Some(max)) = ends(&[558.76, 558.89]) else { panic!() };
        assert!((556.0..556.1).contains(&min) && (561.6..561.7).contains(&max), "{min} {max}");
        assert_eq!(ends(&[558.0, 565.0]), (None, None));
        assert_eq!(ends(&[0.0, 0.0]), (None, None));
    }

    #[test]
    fn a_figure_of_one_run_of_several_says_so() {
        let told = |values: &[f64], several| spread_text(&Spread::of(values).unwrap(), "", several);
        assert_eq!(told(&[8.0], true), "8 (one run)");
        assert_eq!(told(&[8.0], false), "8");
        assert_eq!(told(&[8.0, 8.0], true), "8");
        assert!(told(&[7.0, 9.0], true).starts_with("8 ± "));
    }

    #[test]
    fn what_lies_within_the_intervals_decides_nothing() {
        let around = |mean: f64| Spread::of(&[mean - 1.0, mean, mean + 1.0]).unwrap();
        let exact = |v: f64| Spread::of(&[v]).unwrap();
        // Two runs of 10 and 11, give or take 2.5: the second may be as good.
        let close = [(exact(1.0), around(10.0)), (exact(1.0), around(11.0))];
        assert_eq!(front(&close, true, Better::Lower, Better::Lower), [0, 1]);
        let apart = [(exact(1.0), around(10.0)), (exact(1.0), around(16.0))];
        assert_eq!(front(&apart, true, Better::Lower, Better::Lower), [0]);
        // Of a sweep that was stopped, one has run once: how far that can be trusted is not known.
        let stopped = [(exact(1.0), exact(10.0)), (around(2.0), around(16.0))];
        assert_eq!(front(&stopped, true, Better::Lower, Better::Lower), [0, 1]);
        // Nor if none has run twice by then.
        let begun = [(exact(1.0), exact(10.0)), (exact(2.0), exact(16.0))];
        assert_eq!(front(&begun, true, Better::Lower, Better::Lower), [0, 1]);
        assert_eq!(front(&begun, false, Better::Lower, Better::Lower), [0]);
    }
}
