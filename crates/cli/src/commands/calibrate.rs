//! `ssdlab calibrate`: unknowns of the firmware fitted to measurements.

use std::path::Path;

use serde_json::json;
use ssdlab_core::input;
use ssdlab_forecast::{Calibration, Measurements, Stopped, calibrate};

use crate::args::CalibrateArgs;
use crate::commands::compare::read;
use crate::commands::forecast::{KeepFolder, bench};
use crate::failure::Failure;
use crate::output::{print, print_json, table};
use crate::progress::{Bar, stop_on_ctrl_c};

pub fn run(args: &CalibrateArgs) -> Result<(), Failure> {
    let file = args.measured.display().to_string();
    let text = input::read_text(&args.measured).map_err(|e| Failure::bad_input(format!("cannot read {file}: {e}")))?;
    let folder = args.measured.parent().unwrap_or(Path::new(""));
    let results = |path: &str| read(&folder.join(path));
    let given = Measurements::parse(&file, &text, &results)?;
    let folder = KeepFolder::open(args.keep.as_deref())?;
    let kept = folder.kept()?;
    stop_on_ctrl_c()?;
    let bar = Bar::new();
    let progress = |done: usize, of: usize| bar.runs(done as u64, of as u64);
    let found = calibrate(&given, args.runs as usize, &bench(args.threads, &args.common, &progress, &kept))?;
    drop(bar);
    kept.say_unkept();
    let found = found.map_err(|Stopped| kept.stopped())?;
    kept.clear();
    if args.json {
        return print_json(&json!({
            "schema": "ssdlab.calibration/1",
            "version": env!("CARGO_PKG_VERSION"),
            "seed": args.common.seed,
            "quick": args.common.quick,
            "calibration": found,
        }));
    }
    print(&told(&found))
}

fn told(found: &Calibration) -> String {
    let end = |value: Option<f64>| value.map_or("open".to_owned(), |v| v.to_string());
    let mut rows = vec![["unknown", "before", "fitted", "from", "to"].map(str::to_owned).to_vec()];
    for u in &found.unknowns {
        rows.push(vec![u.key.clone(), u.before.to_string(), u.value.to_string(), end(u.low), end(u.high)]);
    }
    let mut text = format!("{}, after {} drives\n\n{}\n", found.device, found.runs, table(&rows));
    let mut rows = vec![["measurement", "published", "good for", "fitted drive", "off by"].map(str::to_owned).to_vec()];
    for m in &found.measurements {
        rows.push(vec![
            format!("{} {}", m.test, m.metric),
            format!("{} ({})", m.measured, m.source),
            format!("{} %", m.tolerance_percent),
            format!("{:.1}", m.fitted),
            format!("{:+.1} %", (m.fitted / m.measured - 1.0) * 100.0),
        ]);
    }
    text.push_str(&table(&rows));
    text.push_str(&format!(
        "\nMisfit {:.2}: squares of how far each measurement is missed, in what it is good for.\n",
        found.misfit
    ));
    if !found.ended {
        text.push_str("The runs allowed were used up: give more with --runs N.\n");
    }
    text
}
