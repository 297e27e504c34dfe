//! The known word that is nearest to an unknown one.

/// Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 0..b.len() {
            let substituted = diagonal + usize::from(x != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The nearest of `known`, if it is near enough to be a slip: at most a third of the letters differ.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A long "word" is not a slip, and the distance costs its length.
    if word.chars().count() > 64 {
        return None;
    }
    known
        .map(|k| (distance(word, k), k))
        .min()
        .filter(|&(d, k)| d <= k.chars().count().max(word.chars().count()).div_ceil(3))
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["iodepth", "numjobs", "rw", "bs", "bssplit"];
        let of = |word| nearest(word, known.into_iter());
        assert_eq!(of("iodpeth"), Some("iodepth"));
        assert_eq!(of("io_depth"), Some("iodepth"));
        assert_eq!(of("numjob"), Some("numjobs"));
        assert_eq!(of("quux_frobnicate"), None);
    }
}
