//! "Did you mean": the known names closest to what was typed.

/// The up to three names of `known` that are close enough to `typed` to have been meant, nearest first.
#[must_use]
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let mut scored: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let distance = strsim::damerau_levenshtein(&typed, &lower);
            let longer = typed.chars().count().max(lower.chars().count());
            let part_of = typed.len() >= 3 && (lower.contains(&typed) || typed.contains(&lower));
            // A third of the letters wrong, or the beginning or end left out.
            (distance * 3 <= longer || part_of).then_some((distance, name))
        })
        .collect();
    scored.sort_unstable();
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
    }
}
