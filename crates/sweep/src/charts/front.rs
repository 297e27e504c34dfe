//! Pareto fronts: what cannot be had both ways.

use std::cmp::Ordering;

use ssdlab_bench::{Axis as ChartAxis, Chart, Mark, Series};
use ssdlab_report::{SweepFigure, SweepRow, SweepTable};

use super::axis::spans_decades;
use super::{Data, shown};
use crate::plan::{Better, Pareto};

/// The rows of `values` that no other row beats, from the best x to the worst. Of equal rows the first stands for all.
fn front(values: &[(f64, f64)], x_better: Better, y_better: Better) -> Vec<usize> {
    let better = |a: f64, b: f64, which: Better| match which {
        Better::Lower => a.total_cmp(&b),
        Better::Higher => b.total_cmp(&a),
    };
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| {
        let (a_values, b_values) = (values[a], values[b]);
        better(a_values.0, b_values.0, x_better).then(better(a_values.1, b_values.1, y_better)).then(a.cmp(&b))
    });
    let mut front: Vec<usize> = Vec::new();
    for i in order {
        let wins = front.last().is_none_or(|&best| better(values[i].1, values[best].1, y_better) == Ordering::Less);
        if wins {
            front.push(i);
        }
    }
    front
}

/// The picture and the table of one trade-off; nothing if no row has both figures.
pub(super) fn draw(data: &Data, task: usize, pareto: &Pareto) -> Option<(SweepRow, SweepTable)> {
    let rows: Vec<usize> = data
        .rows(task)
        .filter(|&i| data.figure(i, &pareto.x).is_some() && data.figure(i, &pareto.y).is_some())
        .collect();
    let values: Vec<(f64, f64)> =
        rows.iter().filter_map(|&i| Some((data.figure(i, &pareto.x)?, data.figure(i, &pareto.y)?))).collect();
    if rows.is_empty() {
        return None;
    }
    let on_front = front(&values, pareto.x_better, pareto.y_better);
    let mut from_left = on_front.clone();
    from_left.sort_by(|&a, &b| values[a].0.total_cmp(&values[b].0));
    let beaten: Vec<usize> = (0..rows.len()).filter(|i| !on_front.contains(i)).collect();
    let series = |name: &str, of: &[usize]| Series {
        name: name.to_owned(),
        points: of.iter().map(|&i| [values[i].0, values[i].1]).collect(),
    };
    let names = |of: &[usize]| of.iter().map(|&i| data.name_of(rows[i])).collect();
    let axis = |name: &str, of: &dyn Fn(&(f64, f64)) -> f64| {
        let (label, unit) = (data.label(name), data.unit(name));
        let all: Vec<f64> = values.iter().map(of).collect();
        if spans_decades(&all) { ChartAxis::log(&label, &unit) } else { ChartAxis::linear(&label, &unit) }
    };
    let word = |better: Better| if better == Better::Lower { "lower" } else { "higher" };
    let (x_label, y_label) = (data.label(&pareto.x), data.label(&pareto.y));
    let title = format!("{y_label} against {}", lower_first(&x_label));
    let chart = Chart {
        id: format!("{}-front-{}-{}", data.plan.tasks[task].name(), pareto.x, pareto.y),
        title: title.clone(),
        caption: format!(
            "{} of {} points are on the front; better is {} on the horizontal axis and {} on the vertical.",
            on_front.len(),
            rows.len(),
            word(pareto.x_better),
            word(pareto.y_better),
        ),
        mark: Mark::Scatter,
        x: axis(&pareto.x, &|v| v.0),
        y: axis(&pareto.y, &|v| v.1),
        series: vec![series("beaten by another point", &beaten), series("on the front", &from_left)],
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
                    data.name_of(row),
                    shown(data, row, &pareto.x),
                    shown(data, row, &pareto.y),
                ]
            })
            .collect(),
    };
    let figure = SweepFigure {
        chart,
        subject: String::new(),
        // The front is drawn last, on top.
        point_names: vec![names(&beaten), names(&from_left)],
        stepped: vec![1],
    };
    Some((SweepRow { heading: String::new(), figures: vec![figure] }, table))
}

/// `IOPS` stays, `Write amplification` does not.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain([second]).chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_is_what_nobody_beats() {
        let values = [(1.0, 9.0), (2.0, 5.0), (2.0, 6.0), (3.0, 5.0), (4.0, 1.0), (4.0, 1.0), (0.5, 20.0)];
        assert_eq!(front(&values, Better::Lower, Better::Lower), [6, 0, 1, 4]);
        assert_eq!(front(&values, Better::Higher, Better::Lower), [4]);
        assert_eq!(front(&values, Better::Lower, Better::Higher), [6]);
        assert_eq!(front(&values, Better::Higher, Better::Higher), [4, 3, 2, 0, 6]);
        // Against the definition.
        let beats = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 <= b.1 && a != b;
        for i in front(&values, Better::Lower, Better::Lower) {
            assert!(values.iter().all(|&other| !beats(other, values[i])));
        }
    }
}
