//! `ssdlab replay`: a block trace on a drive.

use std::path::Path;
use std::str::FromStr as _;

use ssdlab_bench::replay::{ReplayError, ReplaySpec, Speed, replay_file};
use ssdlab_bench::{BenchError, Lab as _, Monitor};
use ssdlab_report::results_json;
use ssdlab_workload::trace::{Devices, Fit, Format, PlacementSpec, TraceSource};

use crate::apart::check_apart;
use crate::args::{DevicesArg, PlacementArg, PrefillArg, ReplayArgs};
use crate::commands::review::write_into;
use crate::failure::Failure;
use crate::folder::OutputFolder;
use crate::lab::Tested as _;
use crate::output::{Failures, STANDARD_INPUT, complain, print, print_json_text};
use crate::plan::{NO_FILLING_OPTION, help_to_write, may_only_be_read};
use crate::progress::{Bar, CANCEL, stop_on_ctrl_c};
use crate::review_of::review_of;
use crate::saved::Keep;
use crate::tested::TestedDevice;
use crate::timeline::TimelineFile;
use crate::trace_error::{no_request, trace_failure};

pub fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let mut spec = spec(args)?;
    let drive = TestedDevice::only(&args.device, &args.changed.keys()?, args.seed, &args.real.destroyed)?;
    drive.say_if_memory_is_scarce(false);
    let drive = drive.starting(&args.used.start, args.seed)?;
    let keep = Keep::at(args.used.save.as_deref())?;
    spec.keep = keep.is_asked_for();
    let timeline = TimelineFile::at(args.used.timeline.as_deref())?;
    spec.timeline = timeline.is_asked_for();
    let files = [("--save", args.used.save.as_deref()), ("--timeline", args.used.timeline.as_deref())];
    check_apart(&files, args.report.out.as_deref())?;
    let mut folder = OutputFolder::for_report("replay", &args.report)?;
    stop_on_ctrl_c()?;
    let bar = Bar::new();
    let report = |done: f64| bar.set(done);
    let monitor = Monitor::new(&report, &CANCEL);
    let replayed = replay_file(&spec, &drive, &monitor).map_err(|e| match e {
        ReplayError::Bench(e) if may_only_be_read(&e) => {
            Failure::bad_input(e.to_string()).help(help_to_write(drive.name(), NO_FILLING_OPTION))
        }
        e => failure(e),
    })?;
    drop(bar);
    // What has run is not lost for want of a place for one thing of it.
    let mut failures = Failures::default();
    failures.note(keep.write(drive.reviewed().facts.capacity_bytes, replayed.kept.as_deref(), false));
    let told = failures.note(timeline.write(replayed.slowest_seen.as_ref(), drive.name())).flatten();
    told.iter().for_each(|said| complain(&format!("notice: {said}")));
    let review = || {
        let drives = std::slice::from_ref(&drive);
        review_of(drives, vec![replayed.outcome()], Vec::new(), args.seed, false)
    };
    if let Some(folder) = &mut folder {
        failures.note(write_into(folder, &review()));
    }
    failures.note(if args.json {
        results_json(&review()).map_err(|e| Failure::run(e.to_string())).and_then(|json| print_json_text(&json))
    } else {
        print(&replayed.text())
    });
    failures.conclude()
}

fn spec(args: &ReplayArgs) -> Result<ReplaySpec, Failure> {
    let speed = args.speed.parse::<Speed>();
    let speed = speed.map_err(|e| Failure::bad_input(format!("`{}` is not a speed", e.0)).help(Speed::forms()))?;
    let format = args.format.as_deref().map(Format::from_str).transpose().map_err(|e| trace_failure(&e))?;
    let fit = match args.placement {
        PlacementArg::Wrap => Fit::Wrap,
        PlacementArg::Scale => Fit::Scale,
    };
    let devices = match args.devices {
        DevicesArg::SideBySide => Devices::SideBySide,
        DevicesArg::Folded => Devices::Folded,
    };
    Ok(ReplaySpec {
        format,
        speed,
        queue_depth: args.queue_depth,
        placement: PlacementSpec { fit, devices, ..Default::default() },
        prefill: args.prefill.map_or(args.used.start.from.is_none(), |prefill| prefill == PrefillArg::Drive),
        rest: args.used.rest(),
        seed: args.seed,
        keep: false,
        timeline: false,
        trace: source(&args.trace)?,
    })
}

/// A file, or what comes by standard input.
fn source(trace: &Path) -> Result<TraceSource, Failure> {
    if trace == Path::new("-") {
        return TraceSource::hold(STANDARD_INPUT, std::io::stdin().lock()).map_err(|e| trace_failure(&e));
    }
    Ok(trace.into())
}

/// Why a trace was not replayed, in the words of every other message.
pub fn failure(error: ReplayError) -> Failure {
    match error {
        ReplayError::Trace(e) => trace_failure(&e),
        ReplayError::NoRequest { file } => no_request(&file),
        ReplayError::Changed { file } => {
            Failure::run(format!("{file} was changed while it was replayed")).help("replay a copy of it")
        }
        ReplayError::TooLong { .. } => Failure::bad_input(error.to_string()),
        ReplayError::Bench(e) if e.is_cancelled() => Failure::run("stopped before the trace had ended"),
        ReplayError::Bench(BenchError::Unsuitable(what)) => Failure::bad_input(what).help("choose another drive"),
        ReplayError::Bench(e) => Failure::run(format!("the replay failed: {e}")),
    }
}
