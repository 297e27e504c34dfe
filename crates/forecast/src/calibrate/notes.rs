//! What a reader must know of a fit, in sentences.

use super::straight_lines::times_as_wide;
use super::tried::Tried;
use super::{Fitted, Reached, Unknown};

/// An interval that would be so many times as wide with the other unknowns free is told of.
const TRADED: f64 = 2.0;
/// Beyond it, one unknown cannot be told from the others.
const NOT_TOLD_APART: f64 = 10.0;

/// What a reader must know of the fit.
pub(super) fn notes(
    tried: &Tried<'_>,
    best: &[f64],
    unknowns: &[Fitted],
    reached: &[Reached],
    ended: bool,
) -> Vec<String> {
    let mut notes = Vec::new();
    let missed = |m: &&Reached| (m.fitted / m.measured - 1.0).abs() * 100.0 > m.tolerance_percent;
    let missed: Vec<String> = reached
        .iter()
        .filter(missed)
        .map(|m| {
            let off = (m.fitted / m.measured - 1.0) * 100.0;
            format!("{} {} by {off:+.1} %, good for {} %", m.test, m.metric, m.tolerance_percent)
        })
        .collect();
    let missed = missed.join("; ");
    // If slopes lead to where all would be met, it is the search that did not get there.
    let met_ahead = || tried.straight_ahead(best).is_some_and(|(_, left)| left.iter().all(|off| off.abs() <= 1.0));
    if !missed.is_empty() && ended && met_ahead() {
        notes.push(format!(
            "No values that were tried meet all measurements ({missed}): the search found nothing better from here, and nothing \
             says that there is none. Start elsewhere, with other values in the drive file; the intervals of these say nothing of \
             the real drive."
        ));
    } else if !missed.is_empty() && ended {
        let between =
            if tried.given().unknown.iter().any(Unknown::is_whole) { ", or between whole numbers" } else { "" };
        notes.push(format!(
            "No values that were tried meet all measurements ({missed}): they contradict each other, or the model, or lie \
             beyond the bounds{between}. These values are the least wrong, and their intervals say nothing of the real drive."
        ));
    } else if !missed.is_empty() {
        notes.push(format!("No values that were tried so far meet all measurements ({missed})."));
    }
    for (k, m) in tried.given().measurement.iter().enumerate() {
        if let Some(first) = (0..k).find(|&first| tried.are_one_figure(first, k)) {
            let first = &tried.given().measurement[first];
            notes.push(format!(
                "{} {} of this run moved as its {} did on all drives that were run: together they count twice, and the intervals are \
                 narrower than one of them makes them. Give one.",
                m.test, m.metric, first.metric
            ));
        }
        if let Some(why) = &m.not_settled {
            notes.push(format!(
                "{} {} was measured in a run that had not settled ({why}): a longer run may show another figure.",
                m.test, m.metric
            ));
        }
        if tried.drifts(best, k) {
            notes.push(format!(
                "{} {} of the fitted drive is of a run that had not settled: a longer run may show another figure.",
                m.test, m.metric
            ));
        }
    }
    let slopes: Vec<Vec<f64>> = (0..best.len()).map(|u| tried.slopes(best, u)).collect();
    for (u, (fitted, unknown)) in unknowns.iter().zip(&tried.given().unknown).enumerate() {
        let key = &fitted.key;
        let (least, most) = unknown.bounds();
        let is_outside = !(least..=most).contains(&fitted.before);
        if !fitted.moves {
            notes.push(match is_outside {
                true => format!(
                    "{key} moves none of the measured figures: it was not fitted. What is shown was run with {}; the drive's own \
                     {} lies outside the bounds given.",
                    fitted.value, fitted.before
                ),
                false => format!(
                    "{key} moves none of the measured figures: it was not fitted, and stays at {}.",
                    fitted.value
                ),
            });
            continue;
        }
        if is_outside {
            notes.push(format!("{key} of the drive is {}, outside the bounds given.", fitted.before));
        }
        if [least, most].contains(&fitted.value) {
            notes.push(format!(
                "{key} ends at a bound that was given: what fits better may lie beyond {}.",
                fitted.value
            ));
        }
        let times = times_as_wide(&slopes, u);
        if times > NOT_TOLD_APART {
            notes.push(format!(
                "{key} cannot be told from the other unknowns by these measurements: what it does to them, others do as well. \
                 The value is one of many, and its interval holds only with the others kept."
            ));
        } else if times > TRADED {
            notes.push(format!(
                "{key} can be traded for other unknowns: with them free, its interval would be some {times:.0} times as wide."
            ));
        }
    }
    notes
}
