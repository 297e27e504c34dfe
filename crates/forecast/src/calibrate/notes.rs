//! What a reader must know of a fit, in sentences.

use super::straight_lines::times_as_wide;
use super::tried::Tried;
use super::{Fitted, Reached, Unknown};

/// An interval that is so many times as wide as it would be with the other unknowns known is told of.
const TRADED: f64 = 2.0;
/// Beyond it, one unknown cannot be told from the others.
const NOT_TOLD_APART: f64 = 10.0;

/// What a sum of squares of so many free measurements exceeds by chance in one case of a hundred, each in units of its standard deviation:
/// chi-square after Wilson and Hilferty, within 1 % of the exact value from two on and 2 % of that of one. Of none, nothing is chance.
fn by_chance(free: usize) -> f64 {
    /// The normal deviate that is exceeded in one case of a hundred.
    const DEVIATE: f64 = 2.326;
    if free == 0 {
        return 0.0;
    }
    let free = free as f64;
    let spread = 2.0 / (9.0 * free);
    let root = 1.0 - spread + DEVIATE * libm::sqrt(spread);
    free * root * root * root
}

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
    let number_missed = missed.len();
    let missed = missed.join("; ");
    let free = reached.len().saturating_sub(unknowns.iter().filter(|unknown| unknown.moves).count());
    // If slopes lead to where all would be met, it is the search that did not get there.
    let met_ahead = || {
        tried
            .straight_ahead(best, tried.given().last_resolution())
            .is_some_and(|(_, left)| left.iter().all(|off| off.abs() <= 1.0))
    };
    if !missed.is_empty() && tried.misfit(best) <= by_chance(free) {
        notes.push(format!(
            "{number_missed} of {} measurements are missed by more than they are good for ({missed}): as many are by chance where \
             tolerances are standard deviations. The sum of squares is {:.1}, and beyond {:.1} in one case of a hundred.",
            reached.len(),
            tried.misfit(best),
            by_chance(free),
        ));
    } else if !missed.is_empty() && ended && met_ahead() {
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
    let slopes = tried.all_slopes(best);
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
                 The value is one of many."
            ));
        } else if times > TRADED {
            notes.push(format!(
                "{key} can be traded for other unknowns: its interval is some {times:.0} times as wide as if they were known."
            ));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::by_chance;

    #[test]
    fn chance_reaches_the_tabulated_chi_square() {
        for (free, tabulated, within) in [(1, 6.635, 0.02), (2, 9.210, 0.01), (10, 23.209, 0.01), (30, 50.892, 0.01)] {
            let ours = by_chance(free);
            assert!((ours / tabulated - 1.0).abs() < within, "{free}: {ours} instead of {tabulated}");
        }
        assert_eq!(by_chance(0), 0.0);
    }
}
