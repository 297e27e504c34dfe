//! A quick run ranks drives as a full one does, in every headline figure that it shows. Hours of simulated time, some forty
//! minutes of processor time: `make quick-against-full`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ssdlab_report::{HEADLINES, ResultsDocument};

/// Figures within this of each other are equal: no page can put them in a wrong order.
const EQUAL: f64 = 0.03;
/// At least so many headline figures are there for every drive.
const AT_LEAST: usize = 6;

const TESTS: &str = "sequential-read,sequential-write,random-read,random-write,consistency,analyzedisk,fileserver";

/// Headline figures by drive and key.
fn figures(drives: &[String], out: &Path, more: &[&str]) -> BTreeMap<String, BTreeMap<&'static str, f64>> {
    let status = Command::new(env!("CARGO_BIN_EXE_ssdlab"))
        .arg("review")
        .args(drives)
        .args(["--only", TESTS, "--out"])
        .arg(out)
        .args(more)
        .status()
        .unwrap();
    assert!(status.success());
    let text = std::fs::read_to_string(out.join("results.json")).unwrap();
    let document = ResultsDocument::from_json(&text, "results.json").unwrap();
    let mut all: BTreeMap<String, BTreeMap<&str, f64>> = BTreeMap::new();
    for row in &document.results {
        let device = row.device.clone().unwrap();
        for headline in HEADLINES.iter().filter(|h| h.is_shown(document.quick) && h.fits(&row.test, &row.variant)) {
            if let Some(metric) = row.metrics.get(headline.metric) {
                all.entry(device.clone()).or_default().entry(headline.key).or_insert(metric.value);
            }
        }
    }
    all
}

#[test]
#[ignore = "forty minutes of processor time: make quick-against-full"]
fn a_quick_run_ranks_the_drives_of_the_catalog_as_a_full_one_does() {
    let listed = Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(["list", "devices"]).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    // Single drives with a maker; sets are made of them.
    let drives: Vec<String> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| !name.starts_with("ideal") && !name.contains('(') && !name.ends_with("-pair"))
        .map(str::to_owned)
        .collect();
    assert!(drives.len() > 20, "{drives:?}");
    let folder = std::env::temp_dir().join(format!("ssdlab-quick-against-full-{}", std::process::id()));
    let quick = figures(&drives, &folder.join("quick"), &["--quick"]);
    let full = figures(&drives, &folder.join("full"), &[]);
    let mut reversed = Vec::new();
    for headline in HEADLINES.iter().filter(|h| h.in_quick) {
        let both: Vec<(&String, f64, f64)> = drives
            .iter()
            .filter_map(|d| Some((d, *quick.get(d)?.get(headline.key)?, *full.get(d)?.get(headline.key)?)))
            .collect();
        for (i, a) in both.iter().enumerate() {
            for b in &both[i + 1..] {
                let apart = (a.2 - b.2).abs() > EQUAL * a.2.max(b.2) && (a.1 - b.1).abs() > EQUAL * a.1.max(b.1);
                if apart && (a.1 < b.1) != (a.2 < b.2) {
                    reversed.push(format!("{}: {} {} / {}, {} {} / {}", headline.key, a.0, a.1, a.2, b.0, b.1, b.2));
                }
            }
        }
    }
    assert!(reversed.is_empty(), "quick / full, in the wrong order:\n{}", reversed.join("\n"));
    for drive in &drives {
        let n = quick.get(drive).map_or(0, BTreeMap::len);
        assert!(n >= AT_LEAST, "{drive}: {n} headline figures in a quick run");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
