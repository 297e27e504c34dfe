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

/// What parts of a run its figures are of: how their keys end, and what a row says of that.
const PARTS: [(&str, &str); 3] = [("", ""), ("_read", ", reads"), ("_write", ", writes")];

fn figure(outcome: &Outcome, key: &str, suffix: &str) -> Option<f64> {
    outcome.metrics.get(&format!("{key}{suffix}")).map(|m| m.value)
}

/// The load, in outstanding requests, that a test which goes through several has its figures of.
pub(crate) fn load(outcome: &Outcome) -> Option<u64> {
    outcome.params.get("headline_depth")?.as_u64()
}

/// Whether no request of the whole run waited longer than the first limit. Of one that went through several loads nobody knows:
/// its figures are those of one of them.
fn is_calm(outcome: &Outcome) -> bool {
    let loads = outcome.params.get("queue_depths").and_then(serde_json::Value::as_array);
    let mut shares = PARTS.into_iter().filter_map(|(suffix, _)| figure(outcome, FELT_FIGURES[0].0, suffix)).peekable();
    loads.is_none_or(|loads| loads.len() < 2) && shares.peek().is_some() && shares.all(|share| share == 0.0)
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
        others.calm += group.outcomes.iter().filter(|outcome| is_calm(outcome)).count();
        for (suffix, what) in PARTS {
            let of = |o: &Outcome, key: &str| figure(o, key, suffix);
            let mut noticed: Vec<([f64; 4], Felt)> = Vec::new();
            for outcome in &group.outcomes {
                let Some(first) = of(outcome, FELT_FIGURES[0].0).filter(|&first| first > 0.0) else { continue };
                let at = load(outcome).map_or_else(String::new, |depth| format!(", QD{depth}"));
                let longest = of(outcome, "stall_longest").unwrap_or(0.0);
                let percent = |key| number::value(of(outcome, key).unwrap_or(0.0), "%");
                let share = |limit: usize| of(outcome, FELT_FIGURES[limit].0).unwrap_or(0.0);
                noticed.push((
                    [share(2), share(1), first, longest],
                    Felt {
                        anchor: group.anchor.clone(),
                        test: format!("{}{at}{what}", group.title()),
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
    /// Those in which no request waited longer than the first limit, all parts and loads of them.
    pub calm: usize,
}

impl Others {
    /// What to say of them beside so many rows; empty if there are none, or nothing to set them beside.
    pub fn sentence(&self, rows: usize) -> String {
        match (rows, self.calm) {
            (_, 0) => String::new(),
            (0, 1) => "In one run, no request waited longer than 0.1 s.".to_owned(),
            (0, n) => format!("In none of {n} runs did a request wait longer than 0.1 s."),
            (_, 1) => "In one more run, no request waited longer than 0.1 s.".to_owned(),
            (_, n) => format!("In {n} more runs, no request waited longer than 0.1 s."),
        }
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_bench::Metric;

    use super::*;

    #[test]
    fn the_rest_is_said_in_a_sentence() {
        let said = |rows, calm| Others { calm }.sentence(rows);
        assert_eq!(said(2, 0), "");
        assert_eq!(said(0, 1), "In one run, no request waited longer than 0.1 s.");
        assert_eq!(said(0, 3), "In none of 3 runs did a request wait longer than 0.1 s.");
        assert!(said(1, 1).contains("one more run,") && said(4, 2).contains("2 more runs"));
    }

    #[test]
    fn a_run_is_calm_in_all_of_its_parts_and_loads_or_not_at_all() {
        let run = |shares: &[(&str, f64)], depths: &[u64]| {
            let metrics = shares.iter().map(|&(ending, share)| (format!("seconds_over_100ms{ending}"), share));
            Outcome {
                params: [("queue_depths".to_owned(), depths.into()), ("headline_depth".to_owned(), 8.into())].into(),
                metrics: metrics.map(|(key, share)| (key, Metric::new(share, "%"))).collect(),
                ..Outcome::default()
            }
        };
        assert!(is_calm(&run(&[("", 0.0)], &[8])) && !is_calm(&run(&[("", 1.0)], &[8])));
        assert!(is_calm(&run(&[("_read", 0.0), ("_write", 0.0)], &[])));
        assert!(!is_calm(&run(&[("_read", 0.0), ("_write", 2.0)], &[])));
        assert!(!is_calm(&run(&[("", 0.0)], &[1, 8, 256])), "what was asked at 256 waited for who knows how long");
        assert!(!is_calm(&run(&[], &[])), "nobody looked");
    }
}
