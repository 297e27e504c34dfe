//! What a power cut has left, for people and for programs.

use std::ops::Range;

use serde_json::{Map, Value, json};
use ssdlab_contents::{AfterCut, AfterCutPlaces, PAGE_BYTES};

type Kind<'a> = (&'static str, u64, &'a [Range<u64>], &'static str);

/// Keys, numbers of pages, where they are, and what has become of them.
fn kinds<'a>(counts: &AfterCut, places: &'a AfterCutPlaces) -> [Kind<'a>; 4] {
    [
        (
            "reverted",
            counts.reverted,
            &places.reverted,
            "went back to what they were before a TRIM, or writes that were answered but not flushed",
        ),
        ("unreadable", counts.unreadable, &places.unreadable, "cannot be read until they are written again"),
        (
            "forgotten",
            counts.forgotten,
            &places.forgotten,
            "came back as versions that are no longer held, and cannot be read either",
        ),
        ("unanswered_kept", counts.unanswered_kept, &places.unanswered_kept, "hold writes that were never answered"),
    ]
}

/// Numbers of pages, the first stretches of each kind, and the whole in a sentence.
pub fn json(counts: &AfterCut, places: &AfterCutPlaces) -> Value {
    let mut told = Map::new();
    let mut first = Map::new();
    for (key, count, places, _) in kinds(counts, places) {
        told.insert(key.to_owned(), count.into());
        let stretch =
            |place: &Range<u64>| json!({ "offset_bytes": place.start, "length_bytes": place.end - place.start });
        first.insert(key.to_owned(), places.iter().map(stretch).collect());
    }
    told.insert("first".to_owned(), first.into());
    told.insert("sentence".to_owned(), sentence(counts, places).into());
    told.into()
}

/// How many pages are not what they were, what they are, and where the first of them are.
pub fn sentence(counts: &AfterCut, places: &AfterCutPlaces) -> String {
    let told: Vec<String> = kinds(counts, places)
        .into_iter()
        .filter(|&(_, count, ..)| count > 0)
        .map(|(_, count, places, what)| format!("{count} {what} ({})", bytes(count, places)))
        .collect();
    if told.is_empty() {
        return "no page was lost or went back".to_owned();
    }
    format!("of pages of 4 KiB, {}", told.join("; "))
}

/// `bytes 0 to 8191, 16384 to 20479, and more`.
fn bytes(pages: u64, places: &[Range<u64>]) -> String {
    let list: Vec<String> = places.iter().map(|place| format!("{} to {}", place.start, place.end - 1)).collect();
    let listed: u64 = places.iter().map(|place| place.end - place.start).sum();
    let more = if listed < pages * PAGE_BYTES as u64 { ", and more" } else { "" };
    format!("bytes {}{more}", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_back_is_said_with_its_places() {
        let counts = AfterCut { reverted: 3, unreadable: 9, ..AfterCut::default() };
        let places = AfterCutPlaces {
            reverted: vec![0..8192, 16384..20480],
            unreadable: vec![40960..45056, 81920..86016],
            ..AfterCutPlaces::default()
        };
        assert_eq!(
            sentence(&counts, &places),
            "of pages of 4 KiB, 3 went back to what they were before a TRIM, or writes that were answered but not flushed (bytes 0 to \
             8191, 16384 to 20479); 9 cannot be read until they are written again (bytes 40960 to 45055, 81920 to 86015, and more)"
        );
        assert_eq!(
            json(&counts, &places)["first"]["reverted"][1],
            json!({ "offset_bytes": 16384, "length_bytes": 4096 })
        );
        assert_eq!(sentence(&AfterCut::default(), &AfterCutPlaces::default()), "no page was lost or went back");
    }
}
