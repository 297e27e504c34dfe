//! Points that differ in nothing but their seed: means, and how far they can be trusted.

use crate::plan::Plan;
use crate::run::State;
use crate::table::{field, metric, metric_keys};

/// Two-sided 95 % points of Student's t for 1 to 30 degrees of freedom.
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The mean of runs and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub runs: usize,
    pub mean: f64,
    /// Of the sample; 0 of a single run.
    pub stddev: f64,
    /// The mean lies within so much of the true one with 95 % confidence, as far as the runs are normally distributed; 0
    /// of a single run, of which nothing is known.
    pub half_width: f64,
}

impl Spread {
    /// `None` without values.
    pub(crate) fn of(values: &[f64]) -> Option<Spread> {
        let runs = values.len();
        if runs == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / runs as f64;
        if runs == 1 {
            return Some(Spread { runs, mean, stddev: 0.0, half_width: 0.0 });
        }
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let stddev = libm::sqrt(squares / (runs - 1) as f64);
        let freedom = runs - 1;
        // Beyond the table the curve is this one to three digits.
        let t = T_95.get(freedom - 1).copied().unwrap_or(1.96 + 2.4 / freedom as f64);
        Some(Spread { runs, mean, stddev, half_width: t * stddev / libm::sqrt(runs as f64) })
    }
}

/// The points of a plan by drive and test, in the order of the plan; seeds stand next to each other there.
pub(crate) fn groups(plan: &Plan) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (i, point) in plan.points.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if plan.points[group[0]].task == point.task && plan.points[group[0]].cells == point.cells => {
                group.push(i);
            }
            _ => groups.push(vec![i]),
        }
    }
    groups
}

/// Every metric of every group, a row each, as comma-separated values.
pub(crate) fn intervals_csv(plan: &Plan, states: &[State]) -> String {
    let mut heads = vec!["test".to_owned()];
    heads.extend(plan.axes.iter().map(|axis| field(&axis.key)));
    heads.extend(["metric", "unit", "runs", "mean", "stddev", "low", "high"].map(str::to_owned));
    let mut out = format!("{}\n", heads.join(","));
    let metrics = metric_keys(states);
    for group in groups(plan) {
        let point = &plan.points[group[0]];
        for (key, unit) in &metrics {
            let values: Vec<f64> = group.iter().filter_map(|&i| metric(&states[i], key)).collect();
            let Some(spread) = Spread::of(&values) else { continue };
            let mut cells = vec![field(&plan.tasks[point.task].name)];
            cells.extend(point.cells.iter().map(|cell| field(&cell.text)));
            cells.extend([field(key), field(unit), spread.runs.to_string()]);
            let (low, high) = (spread.mean - spread.half_width, spread.mean + spread.half_width);
            cells.push(spread.mean.to_string());
            // One run has neither a deviation nor an interval.
            let of_several =
                [spread.stddev, low, high].map(|v| if spread.runs > 1 { v.to_string() } else { String::new() });
            cells.extend(of_several);
            out.push_str(&cells.join(","));
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_students_t() {
        let spread = Spread::of(&[9.0, 10.0, 11.0]).unwrap();
        assert_eq!((spread.runs, spread.mean, spread.stddev), (3, 10.0, 1.0));
        assert!((spread.half_width - 4.303 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(Spread::of(&[7.0]).unwrap().half_width, 0.0);
        assert_eq!(Spread::of(&[]), None);
        // The curve goes on where the table ends.
        let many: Vec<f64> = (0..32).map(|i| f64::from(i % 2)).collect();
        let t = Spread::of(&many).unwrap();
        assert!((t.half_width * 32f64.sqrt() / t.stddev - 2.04).abs() < 0.01);
    }
}
