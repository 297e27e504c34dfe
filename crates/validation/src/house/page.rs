//! The drawing and the table of `docs/architecture.md`, between two markers. The prose around them is written by hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::manifests::Crates;

const BEGIN: &str = "<!-- From the manifests: `make house` writes what stands up to the next marker. -->\n";
const END: &str = "<!-- End of what `make house` writes. -->\n";

/// The page with the drawing and the table of these crates.
///
/// # Errors
/// If a marker is missing.
pub fn written(page: &str, crates: &Crates) -> Result<String, String> {
    let missing = |marker: &str| format!("the page has no line {:?}", marker.trim_end());
    let (before, rest) = page.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    Ok([before, BEGIN, "\n", &drawing(crates), "\n", &table(crates), "\n", END, after].concat())
}

/// The names from the top of the house to its ground: each stands above all that it depends on.
fn from_the_top(crates: &Crates) -> Vec<&str> {
    let mut heights: BTreeMap<&str, usize> = BTreeMap::new();
    // A crate is higher than what it depends on: after as many rounds as there are crates, all heights have settled.
    for _ in 0..crates.0.len() {
        for (name, of) in &crates.0 {
            let below = of.depends_on.iter().filter_map(|d| heights.get(d.as_str())).max();
            heights.insert(name, below.map_or(0, |h| h + 1));
        }
    }
    let mut names: Vec<&str> = crates.0.keys().map(String::as_str).collect();
    names.sort_by_key(|name| (std::cmp::Reverse(heights[name]), *name));
    names
}

fn drawing(crates: &Crates) -> String {
    let mut out = "```mermaid\ngraph TD\n".to_owned();
    for name in from_the_top(crates) {
        let arrows = crates.drawn_from(name);
        if arrows.is_empty() {
            writeln!(out, "    {name}").expect("a String takes all");
        }
        for to in arrows {
            writeln!(out, "    {name} --> {to}").expect("a String takes all");
        }
    }
    out + "```\n"
}

fn table(crates: &Crates) -> String {
    let mut out = "| crate | what it is for | depends on |\n|---|---|---|\n".to_owned();
    for name in from_the_top(crates) {
        let of = &crates.0[name];
        let depends_on: Vec<String> = of.depends_on.iter().map(|d| format!("`{d}`")).collect();
        let depends_on = if depends_on.is_empty() { "–".to_owned() } else { depends_on.join(", ") };
        let purpose = of.purpose.replace('|', "\\|");
        writeln!(out, "| `{name}` | {purpose} | {depends_on} |").expect("a String takes all");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::manifests::Crate;
    use super::*;

    #[test]
    fn the_prose_around_the_markers_stays() {
        let one = |depends_on: &[&str]| Crate {
            purpose: "all that is".into(),
            depends_on: depends_on.iter().map(|&d| d.to_owned()).collect(),
        };
        let crates = Crates([("low".to_owned(), one(&[])), ("high".to_owned(), one(&["low"]))].into());
        let page = written(&format!("# Before\n{BEGIN}old\n{END}after\n"), &crates).unwrap();
        assert!(page.starts_with("# Before\n<!--") && page.ends_with("-->\nafter\n") && !page.contains("old"));
        assert!(page.contains("graph TD\n    high --> low\n    low\n```\n"), "{page}");
        assert!(page.contains("| `high` | all that is | `low` |\n| `low` | all that is | – |\n"), "{page}");
        assert_eq!(written(&page, &crates).unwrap(), page);
        assert!(written("# No markers\n", &crates).is_err());
    }
}
