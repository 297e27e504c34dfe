//! "Did you mean …": the known names nearest to a wrong one.

/// Up to three of `known` that are close to `wrong`, nearest first, ties in the order of `known`.
#[must_use]
pub fn nearest(wrong: &str, known: &[&str]) -> Vec<String> {
    let limit = (wrong.chars().count() / 2).max(2);
    let mut scored: Vec<(usize, &str)> = known
        .iter()
        .map(|&k| {
            let contains = !wrong.is_empty() && (k.contains(wrong) || wrong.contains(k));
            (if contains { 1 } else { distance(wrong, k) }, k)
        })
        .filter(|&(d, _)| d <= limit)
        .collect();
    scored.sort_by_key(|&(d, _)| d);
    scored.into_iter().take(3).map(|(_, k)| k.to_owned()).collect()
}

/// Levenshtein's distance: insertions, deletions and substitutions of characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_the_name() {
        let known = ["random-read", "random-write", "trim", "atto"];
        assert_eq!(nearest("random-raed", &known)[0], "random-read");
        assert_eq!(nearest("ato", &known), ["atto"]);
        assert_eq!(nearest("random", &known), ["random-read", "random-write"]);
        assert!(nearest("consistency", &known).is_empty());
    }

    #[test]
    fn distance_of_known_pairs() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }
}
