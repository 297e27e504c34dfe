//! What lies in the folder afterwards, and what does not.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ssdlab_bench::host::SlowestSeen;
use ssdlab_bench::{Axis, Chart};
use ssdlab_core::{Breakdown, Op};
use ssdlab_device::{Completion, Status, Timeline};
use ssdlab_report::{ReportError, Review, write_review};

use crate::common::{folder, one_drive, two_drives};

fn everything(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut stack = vec![dir.to_owned()];
    while let Some(here) = stack.pop() {
        for entry in fs::read_dir(&here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                stack.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_string_lossy().into_owned();
                out.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    out
}

#[test]
fn the_same_review_gives_the_same_bytes() {
    let (a, b) = (folder("bytes-a"), folder("bytes-b"));
    write_review(&a, &two_drives()).unwrap();
    write_review(&b, &two_drives()).unwrap();
    let (a, b) = (everything(&a), everything(&b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, bytes) in &a {
        assert!(bytes == &b[name], "{name} differs");
    }
}

#[test]
fn every_file_is_named_and_of_sensible_size() {
    let dir = folder("two-drives");
    let written = write_review(&dir, &two_drives()).unwrap();
    let found = everything(&dir);
    let mut named: Vec<String> = written.files.iter().map(|f| f.to_string_lossy().into_owned()).collect();
    named.sort();
    assert_eq!(named, found.keys().cloned().collect::<Vec<_>>(), "nothing else lies in the folder");
    for name in [
        "index.html",
        "results.json",
        "series/time.csv",
        "series/fixture-alpha-128gb/consistency-run-log.csv",
        "series/fixture-beta-128gb/consistency-run-log.csv",
        "charts/comparison/consistency-run-log.svg",
        "charts/comparison/qd-scaling-iops-by-queue-depth.png",
        "charts/comparison/consistency-time.svg",
    ] {
        assert!(found.contains_key(name), "{name} is missing: {named:?}");
    }
    for (name, bytes) in &found {
        if name.ends_with(".svg") {
            assert!(bytes.len() < 150_000, "{name} has {} bytes", bytes.len());
        }
        if name.ends_with(".png") {
            assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n", "{name}");
            assert!(bytes.len() > 5_000, "{name} seems empty");
        }
    }
    let csv = String::from_utf8(found["series/fixture-alpha-128gb/consistency-run-log.csv"].clone()).unwrap();
    assert_eq!(csv.lines().next(), Some("series,Time (s),IOPS"));
    assert_eq!(csv.lines().count(), 2001);
}

#[test]
fn a_page_counts_as_many_charts_as_there_are_pictures() {
    let dir = folder("charts");
    let written = write_review(&dir, &with_timelines(["a", "b"], "")).unwrap();
    let pictures = written.files.iter().filter(|f| f.extension().is_some_and(|e| e == "svg")).count();
    let page = std::fs::read_to_string(written.index).unwrap();
    assert!(page.contains(&format!("All figures: 1 test, {pictures} charts")), "{pictures}");
}

/// Two drives of these names, with one test each of this variant, which shows what they did during the slowest request.
fn with_timelines(names: [&str; 2], variant: &str) -> Review {
    let (op, status, breakdown) = (Op::Write, Status::Ok, Breakdown::NOTHING);
    let (submitted, completed) = (1_000, 9_000);
    let request =
        Completion { tag: 1, op, status, offset_bytes: 0, length_bytes: 4096, submitted, completed, breakdown };
    let seen = SlowestSeen { request, from: 500, timeline: Timeline::default(), slower: None, starting: 0 };
    let mut review = two_drives();
    review.claims.clear();
    review.outcomes.retain(|o| o.test == "atto");
    for (i, name) in names.into_iter().enumerate() {
        review.devices[i].facts.name = name.to_owned();
        let outcome = &mut review.outcomes[i];
        (outcome.device, outcome.variant) = (name.to_owned(), variant.to_owned());
        outcome.slowest_seen = Some(Box::new(seen.clone()));
    }
    review
}

#[test]
fn names_that_differ_in_no_letter_and_are_too_long_for_a_file_are_written() {
    let long = "d".repeat(240);
    let review = with_timelines([&format!("{long}_a"), &format!("{long}-a")], &"v".repeat(250));
    // As the program does: files are moved one by one into a folder that is there.
    let dir = folder("long-names");
    fs::create_dir_all(&dir).unwrap();
    let written = write_review(&dir, &review).unwrap();
    let found = everything(&dir);
    assert_eq!(found.len(), written.files.len(), "{:?}", written.files);
    let of_timelines = found.keys().filter(|name| name.contains("-slowest-"));
    assert_eq!(of_timelines.count(), 4, "an SVG and a PNG of each drive: {:?}", written.files);
}

#[test]
fn the_series_of_a_drive_in_small_are_by_its_share_as_in_the_picture() {
    let mut review = one_drive();
    review.outcomes.retain(|o| o.test == "trim");
    let outcome = &mut review.outcomes[0];
    let x = Axis::linear("position", "GB");
    outcome.charts = vec![Chart { x, ..outcome.charts[0].clone() }];
    let mut csv = |small_by: Option<u32>| {
        review.outcomes[0].small_by = small_by;
        let dir = folder("by-position");
        write_review(&dir, &review).unwrap();
        let csv = fs::read_to_string(dir.join("series/fixture-alpha-128gb/trim-rate-by-position.csv")).unwrap();
        let last: f64 = csv.lines().last().unwrap().split(',').nth(1).unwrap().parse().unwrap();
        (csv.lines().next().unwrap().to_owned(), format!("{last:.3}"))
    };
    assert_eq!(csv(None), ("series,position (GB),Rate (MB/s)".to_owned(), "127.500".to_owned()));
    assert_eq!(csv(Some(8)), ("series,position (% of the capacity),Rate (MB/s)".to_owned(), "100.000".to_owned()));
}

#[test]
fn what_lay_in_the_folder_stays_there() {
    let dir = folder("kept");
    fs::create_dir_all(dir.join("series")).unwrap();
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    fs::write(dir.join("series/own.csv"), "mine too").unwrap();
    fs::write(dir.join("index.html"), "an older page").unwrap();
    write_review(&dir, &one_drive()).unwrap();
    let found = everything(&dir);
    assert_eq!(found["notes.txt"], b"mine");
    assert_eq!(found["series/own.csv"], b"mine too");
    assert!(found["index.html"].starts_with(b"<!doctype html>"));
    assert!(!found.keys().any(|n| n.contains("partial")), "the staging folder is gone");
}

#[test]
fn a_folder_may_have_a_name_as_long_as_names_may_be() {
    let within = folder("long");
    for is_there in [false, true] {
        let dir = within.join(if is_there { "ä".repeat(127) } else { "z".repeat(255) });
        fs::create_dir_all(if is_there { &dir } else { &within }).unwrap();
        write_review(&dir, &one_drive()).unwrap();
        assert!(everything(&dir)["index.html"].starts_with(b"<!doctype html>"));
    }
    fs::remove_dir_all(within).unwrap();
}

#[test]
fn an_unwritable_folder_is_named_with_advice() {
    // Not by permissions: tests may run as root, whom nothing stops.
    let dir = folder("unwritable");
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join("occupied");
    fs::write(&file, "a file").unwrap();

    let error = write_review(&file, &one_drive()).unwrap_err();
    assert!(matches!(error, ReportError::NotAFolder { .. }), "{error}");
    assert!(error.to_string().contains("occupied is a file, not a folder: choose another"), "{error}");

    let error = write_review(&file.join("below"), &one_drive()).unwrap_err().to_string();
    assert!(error.contains("occupied") && error.contains("choose another folder"), "{error}");

    if Path::new("/proc/self").is_dir() {
        let error = write_review(Path::new("/proc/self/review"), &one_drive()).unwrap_err().to_string();
        assert!(error.starts_with("cannot write into /proc/self"), "{error}");
    }
    assert_eq!(everything(&dir).len(), 1, "nothing was left behind");
}

#[test]
fn a_faulty_review_leaves_nothing_behind() {
    let dir = folder("faulty");
    let mut review = one_drive();
    review.outcomes[0].metrics.get_mut("waf").unwrap().value = f64::NAN;
    let error = write_review(&dir.join("out"), &review).unwrap_err().to_string();
    assert_eq!(error, "fixture-alpha-128gb: consistency: metric waf is NaN: every figure of a review must be finite");
    assert!(everything(&dir).is_empty());
}
