//! `ssdlab predict`: figures of drives before anyone has looked, and later beside those that were published.

use std::path::Path;

use ssdlab_forecast::{
    Bench, Prediction, PredictionError, are_one_drive, beside_figures, check_folder, may_be_predicted, predict,
    predicted, read_predictions,
};

use crate::args::{PREDICT_BY, PredictArgs};
use crate::commands::forecast::{KeepFolder, bench};
use crate::failure::Failure;
use crate::figures::Figures;
use crate::output::{Failures, print, print_json_text};
use crate::progress::{Bar, stop_on_ctrl_c};

pub fn run(args: &PredictArgs) -> Result<(), Failure> {
    // Also before the work: a prediction that was changed is no company for a new one.
    let before = read_predictions(&args.dir).map_err(refused)?;
    let published = Figures::read(args.own.figures.as_deref())?.all();
    if args.devices.is_empty() {
        if !args.dir.is_dir() {
            let error = Failure::bad_input(format!("there is no folder {}", args.dir.display()));
            return Err(error.help("`ssdlab predict DRIVE` makes a prediction, and the folder for it"));
        }
        if let Some(option) = of_new_ones(args) {
            let error = Failure::bad_input(format!("{option} is about drives that are predicted, and none is named"));
            return Err(error.help("name a drive, or leave it out to see what was predicted before"));
        }
        return print(&beside_figures(&before, &published));
    }
    for (k, device) in args.devices.iter().enumerate() {
        for earlier in &args.devices[..k] {
            if are_one_drive(earlier, device)? {
                let problem = match earlier == device {
                    true => format!("{device} is named twice"),
                    false => format!("{device} is the drive of {earlier}, with the same values"),
                };
                return Err(Failure::bad_input(problem).help("name each drive once"));
            }
        }
        may_be_predicted(device, args.plan.common.quick, &before, &published)?.map_err(refused)?;
    }
    // Before hours of work, and not after.
    check_folder(&args.dir).map_err(refused)?;
    let folder = KeepFolder::open("predict", args.keep.as_deref())?;
    let kept = folder.kept()?;
    stop_on_ctrl_c()?;
    let mut failures = Failures::default();
    for (made_before, device) in args.devices.iter().enumerate() {
        let bar = Bar::new();
        // The other drives need about as many.
        let progress = |done: usize, of: usize| {
            bar.runs((made_before * of + done) as u64, (args.devices.len() * of) as u64);
        };
        let bench = bench(args.plan.options(), &progress, &kept);
        let bands = Bench { quick: !args.full_bands, ..bench };
        let made = predict(device, &predicted(), args.by, &args.keys, &bench, &bands)?;
        drop(bar);
        kept.say_unkept();
        let made = made.map_err(|none| match made_before {
            0 => kept.ended(none),
            _ => kept.ended(none).help("what was predicted is written; name only the others to go on"),
        })?;
        let (said, written) = write(&made, &args.dir);
        failures.note(said.print());
        if failures.note(written).is_none() {
            // What the other drives show would find no place either.
            return failures.conclude();
        }
    }
    kept.clear();
    failures.conclude()
}

/// What is printed of a prediction.
#[derive(Debug, PartialEq)]
enum Said {
    /// Where it stands.
    Path(String),
    /// The prediction, which stands nowhere else.
    Whole(String),
}

impl Said {
    fn print(&self) -> Result<(), Failure> {
        match self {
            Said::Path(path) => print(&format!("{path}\n")),
            Said::Whole(text) => print_json_text(text),
        }
    }
}

/// Writes a prediction into its folder. One that cannot be written is not lost with it.
fn write(made: &Prediction, folder: &Path) -> (Said, Result<(), Failure>) {
    match made.write(folder) {
        Ok(path) => (Said::Path(path.display().to_string()), Ok(())),
        Err(e) => {
            let error = Failure::run(e.to_string()).help("the prediction was printed instead");
            (Said::Whole(made.text()), Err(error))
        }
    }
}

/// An option that says how something is predicted.
fn of_new_ones(args: &PredictArgs) -> Option<&'static str> {
    let given = [
        ("--by", args.by != PREDICT_BY),
        ("--key", !args.keys.is_empty()),
        ("--full-bands", args.full_bands),
        ("--quick", args.plan.common.quick),
        ("--seed", args.plan.common.seed != 1),
        ("--threads", args.plan.threads.is_some()),
        ("--keep", args.keep.is_some()),
    ];
    given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
}

/// What is wrong before anything has run.
fn refused(e: PredictionError) -> Failure {
    let error = Failure::bad_input(e.to_string());
    match e {
        PredictionError::NotBlind(device) => error
            .help(format!("`ssdlab claims {device}` lays what is published beside the drive: that is no prediction")),
        PredictionError::Spoilt { .. } => {
            error.help("take it back from where it is kept, or choose another folder with --dir DIR")
        }
        PredictionError::Exists(_) | PredictionError::Io(_) => error.help("choose another folder with --dir DIR"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_prediction_that_cannot_be_written_is_printed() {
        let folder = std::env::temp_dir().join(format!("ssdlab-unwritten-{}", std::process::id()));
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../predictions/840-evo-1tb.json");
        let text = fs::read_to_string(kept).unwrap();
        let made = Prediction::parse("840-evo-1tb.json", &text).unwrap();
        fs::write(&folder, "no folder").unwrap();
        let (said, written) = write(&made, &folder);
        assert_eq!((said, written.map_err(|e| e.exit_code())), (Said::Whole(text.clone()), Err(1)));
        fs::remove_file(&folder).unwrap();
        let (said, written) = write(&made, &folder);
        let path = folder.join("840-evo-1tb.json");
        assert_eq!(said, Said::Path(path.display().to_string()));
        assert!(written.is_ok() && fs::read_to_string(path).unwrap() == text);
        fs::remove_dir_all(folder).unwrap();
    }
}
