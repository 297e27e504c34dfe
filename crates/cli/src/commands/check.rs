//! `ssdlab check`: whether a file can be used, without running anything.

use std::path::Path;

use ssdlab_catalog::{Diagnostic, Die, die_names, is_of_catalog, parse_die};
use ssdlab_core::{format_duration, input};
use ssdlab_sweep::{Plan, PointResult};
use ssdlab_workload::fio::JobFile;
use ssdlab_workload::trace::{TraceSource, TraceSummary};
use toml::Table;

use crate::args::{CheckArgs, FileKind};
use crate::commands::sweep::told;
use crate::failure::Failure;
use crate::figures::Figures;
use crate::lab::SimulatedDrive;
use crate::output::{complain, print};
use crate::trace_error::{check_failure, no_request};

pub fn run(args: &CheckArgs) -> Result<(), Failure> {
    let name = args.file.display().to_string();
    let kind = match args.kind {
        Some(kind) => kind,
        None => recognised(&args.file)?,
    };
    let what = match kind {
        FileKind::Drive => drive(by_name(&args.file)?)?,
        FileKind::Die => {
            let die = parse_die(&name, &text(&args.file)?)?;
            say_doubts(&die);
            format!("a die type: {}", die.spec.description)
        }
        FileKind::Plan => {
            let plan = Plan::open(by_name(&args.file)?)?;
            let points = if plan.points.len() == 1 { "point" } else { "points" };
            let known: Vec<(usize, String)> = plan
                .points
                .iter()
                .filter_map(|point| match point.known()? {
                    PointResult::Impossible { reason } => Some((point.number, reason)),
                    PointResult::Finished { .. } => None,
                })
                .collect();
            let reasons = told(known.iter().map(|(number, reason)| (*number, reason.as_str())));
            let reasons = if reasons.is_empty() { reasons } else { format!("\n{}", reasons.trim_end()) };
            format!("a plan of {} {points}: {}{reasons}", plan.points.len(), plan.title)
        }
        FileKind::Figures => {
            let figures = Figures::read(Some(&args.file))?;
            format!("a file of {} published figure(s), about {}", figures.own.len(), figures.devices().join(", "))
        }
        FileKind::Job => job(&args.file)?,
        FileKind::Trace => trace(&args.file)?,
    };
    print(&format!("{name} is {what}\n"))
}

/// Of a file that is found by its name, as those of the catalog are.
fn by_name(file: &Path) -> Result<&str, Failure> {
    file.to_str().ok_or_else(|| {
        Failure::bad_input(format!("{} is not valid Unicode", file.display()))
            .help("give the file another name: drives and plans are found by theirs")
    })
}

fn text(file: &Path) -> Result<String, Failure> {
    input::read_text(file).map_err(|e| {
        Failure::bad_input(format!("cannot read {}: {e}", file.display())).help("give the path of a readable file")
    })
}

/// What a file seems to be, by its name and its beginning.
fn recognised(file: &Path) -> Result<FileKind, Failure> {
    if file.extension().is_some_and(|e| e == "fio") {
        return Ok(FileKind::Job);
    }
    if file.extension().is_none_or(|e| e != "toml") {
        let name = file.to_string_lossy();
        let is_device = !file.exists() && (is_of_catalog(&name) || name.contains('('));
        return Ok(if is_device { FileKind::Drive } else { FileKind::Trace });
    }
    // What is not TOML is told with the place by whoever reads it.
    let table: Table = toml::from_str(&text(file)?).unwrap_or_default();
    Ok(if table.contains_key("test") || table.contains_key("drive") && table.contains_key("grid") {
        FileKind::Plan
    } else if table.contains_key("geometry") || builds_on_die(&table) {
        FileKind::Die
    } else if table.contains_key("claim") {
        FileKind::Figures
    } else {
        FileKind::Drive
    })
}

fn builds_on_die(table: &Table) -> bool {
    let base = table.get("base").and_then(toml::Value::as_str);
    base.is_some_and(|base| die_names().any(|name| name == base))
}

/// Values of a die that can be simulated, and look like slips.
fn say_doubts(die: &Die) {
    for doubt in die.spec.doubts() {
        complain(&format!("notice: {}: {doubt}; is the unit right?", die.name));
    }
}

fn drive(name: &str) -> Result<String, Failure> {
    // Without a folder it could be a name of the catalog.
    let drive = SimulatedDrive::new(name, 1)?;
    let (mut said, mut notices): (Vec<&str>, Vec<String>) = Default::default();
    for ssd in drive.recipe().ssds() {
        if !said.contains(&ssd.die.name.as_str()) {
            said.push(&ssd.die.name);
            say_doubts(&ssd.die);
        }
        for doubt in ssd.spec.doubts(&ssd.die.spec) {
            let notice = format!("notice: {}: {doubt}", ssd.name);
            if !notices.contains(&notice) {
                complain(&notice);
                notices.push(notice);
            }
        }
    }
    let facts = &drive.reviewed.facts;
    let bytes = facts.capacity_bytes as f64;
    let size = if bytes < 1e9 { format!("{:.1} MB", bytes / 1e6) } else { format!("{:.1} GB", bytes / 1e9) };
    Ok(format!("a device of {size}: {}", facts.description))
}

/// Bytes of a drive on which only what jobs say in bytes can be small: what is to be known of a job file there holds on any.
const LARGER_THAN_ANY: u64 = 1 << 60;

fn job(file: &Path) -> Result<String, Failure> {
    #[allow(clippy::disallowed_methods, reason = "as `ssdlab run` does")]
    let environment = |name: &str| std::env::var(name).ok();
    let jobs = JobFile::open_with(file, &environment).map_err(|e| Failure::BadInput(Diagnostic::from(&e)))?;
    for notice in jobs.notices_on(LARGER_THAN_ANY) {
        complain(&format!("notice: {notice}"));
    }
    let clones: u32 = jobs.jobs.iter().map(|j| j.numjobs).sum();
    Ok(format!("a job file of {} job(s), {clones} with their clones", jobs.jobs.len()))
}

fn trace(file: &Path) -> Result<String, Failure> {
    let mut reader = TraceSource::from(file).open(None).map_err(|e| check_failure(&e))?;
    let summary = TraceSummary::read(&mut reader).map_err(|e| check_failure(&e))?;
    if summary.requests == 0 {
        return Err(no_request(&file.display().to_string()));
    }
    Ok(format!(
        "a trace (format {}) of {} requests in {}: {} reads, {} writes, {} trims, {} flushes, {} device(s)",
        reader.format(),
        summary.requests,
        format_duration(summary.duration),
        summary.reads,
        summary.writes,
        summary.trims,
        summary.flushes,
        reader.devices().len()
    ))
}
