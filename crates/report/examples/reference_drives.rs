//! Writes `data/reference-drives.json` from the folder of a review of these drives at full length: its `results.json` and
//! the series of its random writes. `make reference-drives` runs the review.
//!
//! Usage: `cargo run -p ssdlab-report --example reference_drives -- FOLDER > crates/report/data/reference-drives.json`

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ssdlab_report::{HEADLINES, ReferenceDrive, ResultsDocument, STEP_SECONDS};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("give the folder of a review")?;
    let folder = Path::new(&folder);
    let path = folder.join("results.json");
    let document = ResultsDocument::from_json(&fs::read_to_string(&path)?, &path.display().to_string())?;
    if document.quick {
        return Err("a quick run does not do: run the review at full length".into());
    }
    let mut drives = Vec::new();
    for device in document.all_devices() {
        let of_device = document.results.iter().filter(|r| r.device.as_ref().is_none_or(|d| *d == device.name));
        let hundredths = |value: f64| libm::round(value * 100.0) / 100.0;
        let (mut figures, mut not_steady, mut fill_mb_per_s) = (BTreeMap::new(), Vec::new(), None);
        for row in of_device {
            if HEADLINES.iter().any(|h| h.settles && h.fits(&row.test, &row.variant)) {
                not_steady.clone_from(&row.not_steady);
                fill_mb_per_s = row.metrics.get("fill_bandwidth").map(|metric| hundredths(metric.value));
            }
            for headline in HEADLINES.iter().filter(|h| h.fits(&row.test, &row.variant)) {
                if let Some(metric) = row.metrics.get(headline.metric) {
                    figures.entry(headline.key.to_owned()).or_insert(hundredths(metric.value));
                }
            }
        }
        let series = folder.join(format!("series/{}/consistency-2013-iops-whole-log.csv", device.name));
        let text = fs::read_to_string(&series)?;
        // Header, then series, second, IOPS.
        let values = text.lines().skip(1).filter_map(|line| line.rsplit(',').next()?.parse::<f64>().ok());
        let iops = values.step_by(STEP_SECONDS).map(libm::round).collect();
        drives.push(ReferenceDrive { name: device.name.clone(), figures, fill_mb_per_s, iops, not_steady });
    }
    println!("{}", serde_json::to_string(&drives)?.replace("},{\"name\"", "},\n{\"name\""));
    Ok(())
}
