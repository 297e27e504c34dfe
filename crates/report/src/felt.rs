//! "What it felt like": the longest stall, and the share of seconds in which a request waited long, by test and drive.

use ssdlab_bench::Outcome;
use ssdlab_bench::suite::FELT_FIGURES;

use crate::compare::TestGroup;
use crate::number;
use crate::review::Review;

/// A drive in a test.
pub(crate) struct Felt {
    pub anchor: String,
    pub test: String,
    pub device: String,
    /// The longest gap without a completion, for a reader.
    pub longest: String,
    /// Shares of seconds by [`FELT_FIGURES`], for a reader.
    pub shares: [String; 3],
}

/// Every outcome that was looked at for stalls and in which some request waited longer than the first limit, worst
/// drives of a test first; and how many others there are.
///
/// Nothing where some drives were run in small: the table would tell of the others alone.
pub(crate) fn felt(review: &Review, groups: &[TestGroup]) -> (Vec<Felt>, Others) {
    let mut rows = Vec::new();
    let mut others = Others::default();
    if review.is_in_small() {
        return (rows, others);
    }
    for group in groups {
        for (suffix, what) in [("", ""), ("_read", ", reads"), ("_write", ", writes")] {
            let of = |o: &Outcome, key: &str| o.metrics.get(&format!("{key}{suffix}")).map(|m| m.value);
            let mut noticed: Vec<([f64; 4], Felt)> = Vec::new();
            for outcome in &group.outcomes {
                let Some(first) = of(outcome, FELT_FIGURES[0].0) else { continue };
                if first == 0.0 {
                    others.calm += 1;
                    continue;
                }
                let longest = of(outcome, "stall_longest").unwrap_or(0.0);
                let percent = |key| number::value(of(outcome, key).unwrap_or(0.0), "%");
                let share = |limit: usize| of(outcome, FELT_FIGURES[limit].0).unwrap_or(0.0);
                noticed.push((
                    [share(2), share(1), first, longest],
                    Felt {
                        anchor: group.anchor.clone(),
                        test: format!("{}{what}", group.title()),
                        device: outcome.device.clone(),
                        longest: number::value(longest, "us"),
                        shares: FELT_FIGURES.map(|(key, _)| percent(key)),
                    },
                ));
            }
            // Most wait over the first limit in any test of slow drives: those that wait longest come first.
            noticed.sort_by(|a, b| {
                let pairs = b.0.iter().zip(&a.0);
                pairs.map(|(b, a)| b.total_cmp(a)).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
            });
            rows.extend(noticed.into_iter().map(|n| n.1));
        }
    }
    (rows, others)
}

/// Runs that no row tells of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Others {
    /// Those in which no request waited longer than the first limit.
    pub calm: usize,
}

impl Others {
    /// What to say of them beside so many rows; empty if there are none, or nothing to set them beside.
    pub fn sentence(&self, rows: usize) -> String {
        match (rows, self.calm) {
            (_, 0) => String::new(),
            (0, n) => format!("In none of {n} runs did a request wait longer than 0.1 s."),
            (_, 1) => "In one more run, no request waited longer than 0.1 s.".to_owned(),
            (_, n) => format!("In {n} more runs, no request waited longer than 0.1 s."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_said_in_a_sentence() {
        let said = |rows, calm| Others { calm }.sentence(rows);
        assert_eq!(said(2, 0), "");
        assert_eq!(said(0, 3), "In none of 3 runs did a request wait longer than 0.1 s.");
        assert!(said(1, 1).contains("one more run,") && said(4, 2).contains("2 more runs"));
    }
}
