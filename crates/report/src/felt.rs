//! "What it felt like": the longest stall, and the share of seconds in which a request waited long, by test and drive.

use std::collections::BTreeSet;

use ssdlab_bench::Outcome;

use crate::compare::TestGroup;
use crate::{name, number};

/// Keys and headings of the limits.
pub(crate) const LIMITS: [(&str, &str); 3] =
    [("seconds_over_100ms", "over 0.1 s"), ("seconds_over_500ms", "over 0.5 s"), ("seconds_over_1s", "over 1 s")];

/// A drive in a test.
pub(crate) struct Felt {
    pub anchor: String,
    pub test: String,
    pub device: String,
    /// The longest gap without a completion, for a reader.
    pub longest: String,
    /// Shares of seconds by [`LIMITS`], for a reader.
    pub shares: [String; 3],
}

/// Every outcome that was looked at for stalls and in which some request waited longer than the first limit, worst
/// drives of a test first; and how many others there are.
pub(crate) fn felt(groups: &[TestGroup]) -> (Vec<Felt>, Others) {
    let mut rows = Vec::new();
    let mut others = Others::default();
    for group in groups {
        for (suffix, what) in [("", ""), ("_read", ", reads"), ("_write", ", writes")] {
            let of = |o: &Outcome, key: &str| o.metrics.get(&format!("{key}{suffix}")).map(|m| m.value);
            let mut noticed: Vec<(f64, Felt)> = Vec::new();
            for outcome in &group.outcomes {
                let Some(first) = of(outcome, LIMITS[0].0) else {
                    let in_small = outcome.small_by.is_some();
                    if in_small && of(outcome, "latency_p99").is_some() {
                        others.in_small += 1;
                        others.left_out.insert(name::pretty(&outcome.device));
                    }
                    continue;
                };
                if first == 0.0 {
                    others.calm += 1;
                    continue;
                }
                let longest = of(outcome, "stall_longest").unwrap_or(0.0);
                let percent = |key| number::value(of(outcome, key).unwrap_or(0.0), "%");
                noticed.push((
                    first,
                    Felt {
                        anchor: group.anchor.clone(),
                        test: format!("{}{what}", group.title()),
                        device: outcome.device.clone(),
                        longest: number::value(longest, "us"),
                        shares: LIMITS.map(|(key, _)| percent(key)),
                    },
                ));
            }
            noticed.sort_by(|a, b| b.0.total_cmp(&a.0));
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
    /// Those on a part of the drive, which tell nothing of it.
    pub in_small: usize,
    /// The drives of these.
    pub left_out: BTreeSet<String>,
}

impl Others {
    /// What to say of them beside so many rows; empty if there are none, or nothing to set them beside.
    pub fn sentence(&self, rows: usize) -> String {
        let calm = match (rows, self.calm) {
            (_, 0) => String::new(),
            (0, n) => format!("In none of {n} runs did a request wait longer than 0.1 s."),
            (_, 1) => "In one more run, no request waited longer than 0.1 s.".to_owned(),
            (_, n) => format!("In {n} more runs, no request waited longer than 0.1 s."),
        };
        if rows + self.calm == 0 || self.in_small == 0 {
            return calm;
        }
        let names: Vec<&str> = self.left_out.iter().map(String::as_str).collect();
        let runs = if self.in_small == 1 { "run".to_owned() } else { format!("{} runs", self.in_small) };
        let left_out = format!(
            "Not known of {}, on an eighth of the drive ({runs}): how long requests wait at most depends on its size. \
             Full runs tell.",
            names.join(" and ")
        );
        [calm, left_out].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_said_in_a_sentence() {
        let said = |rows, calm, in_small| {
            let left_out = ["A", "B"].into_iter().take(in_small).map(str::to_owned).collect();
            Others { calm, in_small, left_out }.sentence(rows)
        };
        assert_eq!(said(2, 0, 0), "");
        assert_eq!(said(0, 3, 0), "In none of 3 runs did a request wait longer than 0.1 s.");
        assert!(said(1, 1, 0).contains("one more run,") && said(4, 2, 0).contains("2 more runs"));
        assert_eq!(said(0, 0, 3), "");
        assert!(said(1, 0, 1).starts_with("Not known of A, on an eighth of the drive (run): how long"));
        let all = said(1, 2, 3);
        assert!(
            all.starts_with("In 2 more runs")
                && all.contains(" Not known of A and B, on an eighth of the drive (3 runs)")
        );
    }
}
