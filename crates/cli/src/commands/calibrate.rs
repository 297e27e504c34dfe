//! `ssdlab calibrate`: unknowns of the firmware fitted to measurements.

use std::path::Path;

use serde_json::json;
use ssdlab_core::input;
use ssdlab_forecast::{Calibration, Measurements, calibrate};
use ssdlab_report::figure_text;

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
    let folder = KeepFolder::open("calibrate", args.keep.as_deref())?;
    let kept = folder.kept()?;
    stop_on_ctrl_c()?;
    let bar = Bar::new();
    let progress = |done: usize, of: usize| bar.runs(done as u64, of as u64);
    let found = calibrate(&given, args.runs as usize, &bench(args.plan.options(), &progress, &kept))?;
    drop(bar);
    kept.say_unkept();
    let found = found.map_err(|none| kept.ended(none))?;
    let document = || {
        json!({
            "schema": "ssdlab.calibration/1",
            "version": env!("CARGO_PKG_VERSION"),
            "seed": args.plan.common.seed,
            "quick": args.plan.common.quick,
            "calibration": found,
        })
    };
    // What is printed is all that is left of the runs.
    if args.json { print_json(&document()) } else { print(&told(&found, args)) }?;
    kept.clear();
    Ok(())
}

fn told(found: &Calibration, args: &CalibrateArgs) -> String {
    let mut rows = vec![["unknown", "before", "fitted", "from", "to"].map(str::to_owned).to_vec()];
    for u in &found.unknowns {
        let end = |value: Option<f64>, open: bool| match value {
            Some(value) => value.to_string(),
            None if open => "open".to_owned(),
            None => "not looked for".to_owned(),
        };
        let fitted = if u.moves { u.value.to_string() } else { "not fitted".to_owned() };
        rows.push(vec![u.key.clone(), u.before.to_string(), fitted, end(u.low, u.open[0]), end(u.high, u.open[1])]);
    }
    // Whoever reads only this must not take it for drives in full.
    let length = if args.plan.common.quick { ", each an eighth of the drive for an eighth of the time" } else { "" };
    let plural = if found.runs == 1 { "" } else { "s" };
    let mut text = format!(
        "{}, after {} drive{plural}{length}, seed {}\n\n{}\n",
        found.device,
        found.runs,
        args.plan.common.seed,
        table(&rows)
    );
    let mut rows = vec![["measurement", "measured", "good for", "fitted drive", "off by"].map(str::to_owned).to_vec()];
    for m in &found.measurements {
        rows.push(vec![
            format!("{} {}", m.test, m.metric),
            format!("{} ({})", figure_text(m.measured, &m.unit), m.source),
            format!("{} %", m.tolerance_percent),
            figure_text(m.fitted, &m.unit),
            format!("{:+.1} %", (m.fitted / m.measured - 1.0) * 100.0),
        ]);
    }
    text.push_str(&table(&rows));
    text.push_str(&format!(
        "\nMisfit {:.2}: squares of how far each measurement is missed, in what it is good for.\n\
         From and to: where it has grown by one, with the other unknowns where it is least then; open: not within the bounds given.\n\
         An interval says how well these measurements fix a value in this model, not how likely the real drive's lies in it.\n",
        found.misfit
    ));
    for note in &found.notes {
        text.push_str(&format!("{note}\n"));
    }
    if args.plan.common.quick {
        text.push_str("Measurements of a whole drive were laid beside an eighth of it: fit without --quick before a value is taken over.\n");
    }
    if !found.ended {
        text.push_str("The runs allowed were used up, and better values may be there: give more with --runs N.\n");
    }
    text
}
