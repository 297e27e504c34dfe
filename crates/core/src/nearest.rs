//! "Did you mean": the known names closest to what was typed.

/// A longer word is no slip, and to compare it costs its length.
const LONGEST: usize = 64;
/// Fewer letters than these are part of too many names.
const LEAST_PART: usize = 3;

/// The up to three names of `known` that are close enough to `typed` to have been meant: nearest first, equals in the
/// order of `known`. Capitals do not count.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let letters = typed.chars().count();
    if letters > LONGEST {
        return Vec::new();
    }
    let mut scored: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let distance = strsim::damerau_levenshtein(&typed, &lower);
            let longer = letters.max(lower.chars().count());
            let part_of = (letters >= LEAST_PART && lower.contains(&typed))
                || (lower.chars().count() >= LEAST_PART && typed.contains(&lower));
            // A third of the letters wrong, or the beginning or end left out.
            (distance * 3 <= longer || part_of).then_some((distance, name))
        })
        .collect();
    scored.sort_by_key(|&(distance, _)| distance);
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_nonsense_is_not() {
        let known = ["jmf667h-toshiba-128gb", "jmf667h-imft-128gb", "ideal-32die"];
        assert_eq!(nearest("jmf667h-toshiba-128g", known)[0], "jmf667h-toshiba-128gb");
        assert_eq!(nearest("ideal", known), ["ideal-32die"]);
        assert!(nearest("nvme0", known).is_empty());
        let tests = ["random-read", "random-write", "trim", "atto"];
        assert_eq!(nearest("random-raed", tests)[0], "random-read");
        assert_eq!(nearest("ATO", tests), ["atto"]);
        assert_eq!(nearest("random", tests), ["random-read", "random-write"]);
        assert!(nearest("consistency", tests).is_empty());
    }

    #[test]
    fn short_names_are_not_found_in_every_long_one() {
        let options = ["iodepth", "numjobs", "rw", "bs", "bssplit"];
        assert_eq!(nearest("iodpeth", options), ["iodepth"]);
        assert_eq!(nearest("io_depth", options), ["iodepth"]);
        assert_eq!(nearest("numjob", options), ["numjobs"]);
        assert!(nearest("overwrite", options).is_empty());
        assert!(nearest(&"iodepth".repeat(10), options).is_empty());
    }
}
