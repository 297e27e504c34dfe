//! `ssdlab run`: a fio job file on a drive.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ssdlab_bench::fio_run::{
    self, FioError, FioOptions, FioReport, FioRun, LogSink, Prefill, Unfinished, log_names, run_file_logging,
};
use ssdlab_bench::{BenchError, Lab as _, Monitor};
use ssdlab_catalog::Diagnostic;
use ssdlab_core::input;
use ssdlab_report::{LeftOut, Review};
use ssdlab_workload::fio::JobFile;

use crate::apart::{check_apart, place_of, try_to_write};
use crate::args::{HERE, OutputFormat, RunArgs, RunPrefillArg};
use crate::commands::review::write_into;
use crate::failure::Failure;
use crate::folder::{OutputFolder, Writes};
use crate::lab::Tested as _;
use crate::output::{Failures, STANDARD_INPUT, complain, print_raw, printable_json};
use crate::plan::{NO_FILLING_OPTION, help_to_write, may_only_be_read};
use crate::progress::{Bar, CANCEL, stop_on_ctrl_c};
use crate::review_of::review_of;
use crate::saved::Keep;
use crate::tested::TestedDevice;
use crate::timeline::TimelineFile;

pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let file = job_file(&args.job, &args.variables)?;
    let drive = TestedDevice::only(&args.device, &args.changed.keys()?, args.seed, &args.real.destroyed)?;
    drive.say_if_memory_is_scarce(false);
    let drive = drive.starting(&args.used.start, args.seed)?;
    let keep = Keep::at(args.used.save.as_deref())?;
    let timeline = TimelineFile::at(args.used.timeline.as_deref())?;
    for notice in file.notices_on(drive.reviewed().facts.capacity_bytes) {
        complain(&format!("notice: {notice}"));
    }
    let unsaid = if args.used.start.from.is_some() { RunPrefillArg::None } else { RunPrefillArg::Read };
    let prefill = match args.prefill.unwrap_or(unsaid) {
        RunPrefillArg::Read => Prefill::Read,
        RunPrefillArg::Drive => Prefill::Drive,
        RunPrefillArg::None => Prefill::Nothing,
    };
    let names = log_names(&file);
    let written = names.iter().map(|name| args.log_dir.join(name)).chain(args.output.clone());
    written.into_iter().try_for_each(|path| check_free(&path, args.force))?;
    args.output.as_deref().map_or(Ok(()), check_folder)?;
    check_places(args, &names)?;
    let mut logs = LogFolder { dir: args.log_dir.clone(), begun: BTreeSet::new() };
    if !names.is_empty() {
        std::fs::create_dir_all(&args.log_dir)
            .map_err(|e| Failure::bad_input(format!("cannot write to {}: {e}", args.log_dir.display())))?;
        names.iter().try_for_each(|name| check_log(&args.log_dir.join(name)))?;
    } else if args.log_dir != Path::new(HERE) {
        complain(&format!("notice: no job asks for a log, so that nothing is written into {}", args.log_dir.display()));
    }
    let mut folder = args.out.as_deref().map(|dir| OutputFolder::open(dir, Writes::RUN, args.force)).transpose()?;
    stop_on_ctrl_c()?;
    let bar = Bar::new();
    let report = |done: f64| bar.set(done);
    let monitor = Monitor::new(&report, &CANCEL);
    let (rest, keep_drive, watch) = (args.used.rest(), keep.is_asked_for(), timeline.is_asked_for());
    let options = FioOptions { seed: args.seed, prefill, rest, keep: keep_drive, timeline: watch };
    let FioRun { report, outcomes, stopped, unfinished, fresh, searches, kept, slowest_seen } =
        run_file_logging(&file, &drive, options, &mut logs, &monitor).map_err(|e| match e {
            FioError::Bench(e) if may_only_be_read(&e) => {
                Failure::bad_input(e.to_string()).help(help_to_write(drive.name(), NO_FILLING_OPTION))
            }
            e => failure(e),
        })?;
    drop(bar);
    // What has run is not lost for want of a place for one thing of it.
    let mut failures = Failures::default();
    let (capacity, kept) = (drive.reviewed().facts.capacity_bytes, kept.as_deref());
    let saved = failures.note(keep.write(capacity, kept, stopped.is_some())).flatten();
    let told = failures.note(timeline.write(slowest_seen.as_ref(), drive.name())).flatten();
    saved.iter().chain(&told).chain(&fresh).chain(&searches).for_each(|said| complain(&format!("notice: {said}")));
    let mut stopped = stopped.map(Failure::run);
    if let Some(folder) = &mut folder {
        let left_out = unfinished.into_iter().map(|entry| left_out(drive.name(), entry)).collect();
        let review = Review { left_out, ..review_of(&[drive], outcomes, Vec::new(), args.seed, false) };
        if failures.note(write_into(folder, &review)).is_some() {
            let place = folder.place(review.is_complete());
            stopped = stopped.map(|stopped| stopped.help(format!("{} has what has run", place.display())));
        }
    }
    failures.note(write_report(args, &report));
    failures.note(stopped.map_or(Ok(()), Err));
    failures.conclude()
}

/// What a page says of an entry that has not run to its end.
fn left_out(device: &str, Unfinished { entry, why }: Unfinished) -> LeftOut {
    LeftOut { device: device.to_owned(), test: fio_run::TEST.to_owned(), variant: entry, why, unfinished: true }
}

/// Writes the report into the file that it is for; without one, or if that cannot be done, to standard output.
fn write_report(args: &RunArgs, report: &FioReport) -> Result<(), Failure> {
    let json = |json: Result<String, serde_json::Error>| json.map_err(|e| Failure::run(e.to_string()));
    let text = match args.output_format {
        OutputFormat::Normal => report.to_text(),
        OutputFormat::Json => json(report.to_json())?,
        OutputFormat::JsonPlus => json(report.to_json_plus())?,
        OutputFormat::Terse => report.to_terse(),
    };
    let text = match args.output_format {
        OutputFormat::Normal | OutputFormat::Terse => input::printable(&text, &['\n', '\t']),
        OutputFormat::Json | OutputFormat::JsonPlus => printable_json(&text),
    };
    let Some(path) = &args.output else { return print_raw(&text) };
    let written = ssdlab_sweep::write_whole(path, text.as_bytes()).map_err(|e| Failure::run(e.to_string()));
    // That nobody reads the report here either is not what is told then.
    written.inspect_err(|_| {
        let _ = print_raw(&text);
    })
}

/// Nothing that is there is overwritten unless that is asked for.
fn check_free(path: &Path, force: bool) -> Result<(), Failure> {
    match std::fs::symlink_metadata(path) {
        Ok(meta) if !meta.is_file() => Err(Failure::bad_input(format!("{} is no file to write to", path.display()))
            .help("choose another name or folder")),
        Ok(_) if !force => Err(Failure::bad_input(format!("{} is there already", path.display()))
            .help("choose another name or folder, or overwrite it with --force")),
        _ => Ok(()),
    }
}

/// What is written in the end takes the place of nothing that this run reads or writes otherwise.
fn check_places(args: &RunArgs, logs: &[String]) -> Result<(), Failure> {
    let files = [
        ("--output", args.output.as_deref()),
        ("--save", args.used.save.as_deref()),
        ("--timeline", args.used.timeline.as_deref()),
    ];
    let begins = args.used.start.from.as_deref().map(place_of);
    if let Some(log) = logs.iter().find(|name| begins == Some(place_of(&args.log_dir.join(name)))) {
        return Err(Failure::bad_input(format!("the log {log} is the saved drive that is begun with"))
            .help("choose another folder with --log-dir"));
    }
    for (asks, path) in files {
        let Some(path) = path else { continue };
        let place = place_of(path);
        let what = if logs.iter().any(|name| place_of(&args.log_dir.join(name)) == place) {
            "a log of this job file"
        } else if asks != "--save" && begins.as_ref() == Some(&place) {
            "the saved drive that is begun with"
        } else if place_of(&args.job) == place {
            "the job file itself"
        } else if place_of(Path::new(&args.device)) == place {
            "the drive file itself"
        } else {
            continue;
        };
        return Err(
            Failure::bad_input(format!("{asks} {} is {what}", path.display())).help("choose another name or folder")
        );
    }
    check_apart(&files, args.out.as_deref())
}

/// What is written when all has run has a place to go to.
fn check_folder(path: &Path) -> Result<(), Failure> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if !folder.is_dir() => {
            let error =
                Failure::bad_input(format!("cannot write {}: there is no folder {}", path.display(), folder.display()));
            Err(error.help("make it, or choose another"))
        }
        _ => try_to_write(path).map_err(|e| {
            Failure::bad_input(format!("cannot write {}: {e}", path.display())).help("choose another name or folder")
        }),
    }
}

/// A log can be written. One that is there is written where it is, and not by a file beside it.
fn check_log(path: &Path) -> Result<(), Failure> {
    match std::fs::OpenOptions::new().write(true).open(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => check_folder(path),
        Err(e) => Err(Failure::bad_input(format!("cannot write {}: {e}", path.display()))
            .help("choose another name, or another folder with --log-dir")),
        Ok(_) => Ok(()),
    }
}

/// Logs in a folder, each begun anew.
struct LogFolder {
    dir: PathBuf,
    begun: BTreeSet<String>,
}

impl LogSink for LogFolder {
    fn append(&mut self, name: &str, text: &str) -> std::io::Result<()> {
        let first = self.begun.insert(name.to_owned());
        let mut options = std::fs::OpenOptions::new();
        options.create(true).write(true).truncate(first).append(!first);
        let path = self.dir.join(name);
        let written = options.open(&path).and_then(|mut log| log.write_all(text.as_bytes()));
        written.map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", path.display())))
    }
}

/// A file, or what comes by standard input.
fn job_file(job: &Path, given: &[String]) -> Result<JobFile, Failure> {
    let mut values = BTreeMap::new();
    for text in given {
        let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or_else(|| {
            Failure::bad_input(format!("`{text}` is not a variable")).help("write NAME=VALUE, as in --var SIZE=4g")
        })?;
        values.insert(name, value);
    }
    #[allow(clippy::disallowed_methods, reason = "as fio does; the report names the values that were used")]
    let environment = |name: &str| std::env::var(name).ok();
    let variables = |name: &str| values.get(name).map(|&v| v.to_owned()).or_else(|| environment(name));
    let file = if job == Path::new("-") {
        let text = input::read_text_from(std::io::stdin().lock())
            .map_err(|e| Failure::bad_input(format!("cannot read the job file from {STANDARD_INPUT}: {e}")))?;
        JobFile::parse_with(STANDARD_INPUT, &text, &variables)
            .map_err(|e| Failure::BadInput(Diagnostic::from(&e).within(STANDARD_INPUT, &text)))?
    } else {
        JobFile::open_with(job, &variables).map_err(|e| Failure::BadInput((&e).into()))?
    };
    // A value that no line takes would change nothing.
    match values.keys().find(|name| !file.has_variable(name)) {
        Some(name) => Err(Failure::bad_input(format!("no line of the job file has the variable `{name}`"))
            .help(format!("lines have it as ${{{name}}}; else leave --var {name}=… out"))),
        None => Ok(file),
    }
}

/// Why a job file did not run, in the words of every other message.
pub fn failure(error: FioError) -> Failure {
    match error {
        FioError::Job(e) => Failure::BadInput((&e).into()),
        FioError::Log(e) => Failure::run(format!("a log cannot be written: {e}")),
        FioError::Bench(e) if e.is_cancelled() => Failure::run("stopped before a job had begun"),
        FioError::Bench(BenchError::Unsuitable(what)) => Failure::bad_input(what).help("choose another drive"),
        FioError::Bench(e) => Failure::run(format!("the jobs failed: {e}")),
    }
}
