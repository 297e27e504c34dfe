//! Catalog names as people write them: `jmf667h-toshiba-256gb` is `JMF667H Toshiba 256 GB`.

/// Words that are written in capitals although they have no digit.
const CAPITALS: [&str; 8] = ["imft", "ocz", "wd", "evo", "qvo", "gt", "arc", "ii"];
/// Words that their makers write otherwise, and one that is no name.
const SPELLED: [(&str, &str); 5] =
    [("spinpoint", "SpinPoint"), ("600p", "600p"), ("and", "and"), ("black2", "Black2"), ("32die", "32 dies")];
/// Words that belong together.
const JOINED: [(&str, &str); 3] = [(" M ", "-M "), ("A Data ", "A-Data "), ("ARC ", "ARC-")];

/// The name of a device whose keys were changed, before the changes, and these (`KEY=VALUE, …`).
pub(crate) fn changed(name: &str) -> Option<(&str, &str)> {
    name.split_once(" with ").filter(|(_, changes)| changes.contains('='))
}

/// The name for a heading. Paths and device expressions stay as they are.
pub(crate) fn pretty(name: &str) -> String {
    if let Some((name, changes)) = changed(name) {
        return format!("{} with {changes}", pretty(name));
    }
    if name.contains(['(', '/', '.', ' ']) {
        return name.to_owned();
    }
    let words: Vec<String> = name.split('-').map(word).collect();
    JOINED.iter().fold(words.join(" "), |name, (apart, joined)| name.replace(apart, joined))
}

/// The same without the unit of the capacity, for the narrow column before a bar.
pub(crate) fn short(name: &str) -> String {
    let full = pretty(name);
    full.strip_suffix(" GB").map_or_else(|| full.clone(), str::to_owned)
}

fn word(text: &str) -> String {
    for (ending, unit) in [("gb", "GB"), ("tb", "TB")] {
        if let Some(number) =
            text.strip_suffix(ending).filter(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        {
            return format!("{number} {unit}");
        }
    }
    if let Some((_, spelled)) = SPELLED.iter().find(|(word, _)| *word == text) {
        return (*spelled).to_owned();
    }
    if CAPITALS.contains(&text) || (text.bytes().any(|b| b.is_ascii_digit()) && text.len() <= 10) {
        return text.to_uppercase();
    }
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_words_and_expressions_stay() {
        assert_eq!(pretty("jmf667h-toshiba-256gb"), "JMF667H Toshiba 256 GB");
        assert_eq!(pretty("m600-1tb"), "M600 1 TB");
        assert_eq!(pretty("x25-m-80gb"), "X25-M 80 GB");
        assert_eq!(pretty("spinpoint-f1-1tb"), "SpinPoint F1 1 TB");
        assert_eq!(pretty("a-data-300-32gb"), "A-Data 300 32 GB");
        assert_eq!(pretty("a-data-pair-arc-1200"), "A-Data Pair ARC-1200");
        assert_eq!(pretty("a-data-and-spinpoint"), "A-Data and SpinPoint");
        assert_eq!(pretty("840-evo-120gb"), "840 EVO 120 GB");
        assert_eq!(pretty("600p-512gb"), "600p 512 GB");
        assert_eq!(pretty("ultra-ii-240gb"), "Ultra II 240 GB");
        assert_eq!(pretty("wd-black2-120gb"), "WD Black2 120 GB");
        assert_eq!(pretty("ideal-16k-32die"), "Ideal 16K 32 dies");
        assert_eq!(pretty("raid0(m600-1tb*2)"), "raid0(m600-1tb*2)");
        assert_eq!(pretty("m600-1tb with gc.policy=fifo"), "M600 1 TB with gc.policy=fifo");
        assert_eq!(
            (changed("drive with two dies.toml"), pretty("drive with two dies.toml").as_str()),
            (None, "drive with two dies.toml")
        );
        assert_eq!(short("jmf667h-imft-256gb"), "JMF667H IMFT 256");
        assert_eq!(short("m600-1tb"), "M600 1 TB");
    }
}
