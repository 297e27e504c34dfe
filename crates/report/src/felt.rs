//! "What it felt like": the longest stall, and the share of seconds in which a request waited long, by test and drive.

use ssdlab_bench::Outcome;

use crate::compare::TestGroup;
use crate::number;

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
/// drives of a test first; and the number of outcomes in which none did.
pub(crate) fn felt(groups: &[TestGroup]) -> (Vec<Felt>, usize) {
    let mut rows = Vec::new();
    let mut calm = 0;
    for group in groups {
        for (suffix, what) in [("", ""), ("_read", ", reads"), ("_write", ", writes")] {
            let of = |o: &Outcome, key: &str| o.metrics.get(&format!("{key}{suffix}")).map(|m| m.value);
            let mut noticed: Vec<(f64, Felt)> = Vec::new();
            for outcome in &group.outcomes {
                let Some(first) = of(outcome, LIMITS[0].0) else { continue };
                if first == 0.0 {
                    calm += 1;
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
    (rows, calm)
}

/// What to say of the tests that no row tells of; empty if there are none.
pub(crate) fn calm_sentence(rows: usize, calm: usize) -> String {
    match (rows, calm) {
        (_, 0) => String::new(),
        (0, n) => format!("In none of {n} runs did a request wait longer than 0.1 s."),
        (_, 1) => "In one more run, no request waited longer than 0.1 s.".to_owned(),
        (_, n) => format!("In {n} more runs, no request waited longer than 0.1 s."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_said_in_a_sentence() {
        assert_eq!(calm_sentence(2, 0), "");
        assert_eq!(calm_sentence(0, 3), "In none of 3 runs did a request wait longer than 0.1 s.");
        assert!(calm_sentence(1, 1).contains("one more run,") && calm_sentence(4, 2).contains("2 more runs"));
    }
}
