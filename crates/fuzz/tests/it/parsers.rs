//! Whatever is in a file: an answer, or an error that says what is wrong, where, and what would be right. Never a
//! panic, a hang, or memory out of proportion; and a drive that was accepted can be built and used.
//!
//! Seconds here; millions of cases with `make fuzz`.

use std::fs;
use std::path::Path;

use ssdlab_catalog::{Diagnostic, claims, device, parse_adapter, parse_die, parse_disk, parse_drive};
use ssdlab_core::{Op, Rng};
use ssdlab_device::Request;
use ssdlab_fuzz::{Fuzz, fuzz};
use ssdlab_sweep::Plan;
use ssdlab_workload::Source;
use ssdlab_workload::fio::JobFile;
use ssdlab_workload::trace::{FORMATS, TraceReader};

/// Every file in a folder of the repository.
fn corpus(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let files: Vec<_> = paths.into_iter().filter(|p| p.is_file()).map(|p| fs::read(p).unwrap()).collect();
    assert!(!files.is_empty(), "{} holds no corpus", folder.display());
    files
}

fn hunt(cases: u64, corpus: Vec<Vec<u8>>, target: &dyn Fn(&[u8]) -> Result<(), String>) {
    if let Some(found) = fuzz(&Fuzz { seed: 1, cases, corpus }, target) {
        panic!("{found}");
    }
}

/// A message names the file, and is not a riddle.
fn check_message(message: &str, file: &str) -> Result<(), String> {
    if message.contains(file) && message.len() > file.len() + 10 {
        Ok(())
    } else {
        Err(format!("a message without a place: {message}"))
    }
}

fn check_diagnostic(error: &Diagnostic) -> Result<(), String> {
    if error.place.is_none() || error.help.iter().all(String::is_empty) {
        return Err(format!("a message without place or help: {error}"));
    }
    check_message(&error.to_string(), "f.toml")
}

/// A message about a device expression points into it, and may say in its own line what would be right.
fn check_expression(error: &Diagnostic) -> Result<(), String> {
    if error.place.is_none() {
        return Err(format!("a message without a place: {error}"));
    }
    check_message(&error.to_string(), "DEVICE")
}

/// Input that is not text is refused before it comes to a parser.
fn text(input: &[u8]) -> Option<&str> {
    std::str::from_utf8(input).ok()
}

fn drive_file(input: &[u8]) -> Result<(), String> {
    text(input).map_or(Ok(()), |text| match parse_drive("f.toml", text) {
        Ok(_) => Ok(()),
        Err(error) => check_diagnostic(&error),
    })
}

fn die_file(input: &[u8]) -> Result<(), String> {
    text(input).map_or(Ok(()), |text| match parse_die("f.toml", text) {
        Ok(_) => Ok(()),
        Err(error) => check_diagnostic(&error),
    })
}

/// A disk that was accepted reads and writes, wherever on it.
fn disk_file(input: &[u8]) -> Result<(), String> {
    let Some(text) = text(input) else { return Ok(()) };
    let disk = match parse_disk("f.toml", text) {
        Ok(disk) => disk,
        Err(error) => return check_diagnostic(&error),
    };
    let mut built = disk.build(1).map_err(|e| format!("accepted, and not built: {e}"))?;
    let last = built.info().capacity_bytes - 4096;
    let (mut now, mut done) = (0, Vec::new());
    for (tag, (op, at)) in (0..).zip([(Op::Read, 0), (Op::Write, last), (Op::Read, last / 8192 * 4096), (Op::Flush, 0)])
    {
        let length_bytes = if op == Op::Flush { 0 } else { 4096 };
        built.submit(now, Request::new(tag, op, at, length_bytes)).map_err(|e| format!("refused: {e}"))?;
        while done.len() as u64 <= tag {
            now = built.next_event().ok_or("deadlock")?;
            built.advance(now, &mut done);
        }
    }
    Ok(())
}

fn adapter_file(input: &[u8]) -> Result<(), String> {
    text(input).map_or(Ok(()), |text| match parse_adapter("f.toml", text) {
        Ok(_) => Ok(()),
        Err(error) => check_diagnostic(&error),
    })
}

/// What is read is of a size that its drives have.
fn expression(input: &[u8]) -> Result<(), String> {
    // A file that is there is another thing.
    let Some(text) = text(input).filter(|text| !text.contains(".toml") && !text.contains('/')) else { return Ok(()) };
    match device(text) {
        Ok(recipe) if recipe.capacity_bytes() == 0 || recipe.drives() == 0 => {
            Err(format!("nothing in {}", recipe.name))
        }
        Ok(_) => Ok(()),
        // A name alone has no place.
        Err(error) if text.contains('(') => check_expression(&error),
        Err(error) => check_message(&error.to_string(), ""),
    }
}

fn plan(input: &[u8]) -> Result<(), String> {
    let Some(text) = text(input).filter(|text| !text.contains(".fio")) else { return Ok(()) };
    match Plan::parse("f.toml", text) {
        Ok(plan) if plan.points.is_empty() => Err("a plan without a point".to_owned()),
        Ok(_) => Ok(()),
        Err(error) if error.place.as_ref().is_some_and(|place| place.file == "DEVICE") => check_expression(&error),
        // What is missing altogether has no place.
        Err(error) if error.place.is_none() && !error.help.is_empty() => check_message(&error.to_string(), "f.toml"),
        Err(error) => check_diagnostic(&error),
    }
}

fn claims_file(input: &[u8]) -> Result<(), String> {
    text(input).map_or(Ok(()), |text| match claims::parse("f.toml", text) {
        Ok(_) => Ok(()),
        Err(error) => check_diagnostic(&error),
    })
}

fn job_file(input: &[u8]) -> Result<(), String> {
    let Some(text) = text(input) else { return Ok(()) };
    let file = match JobFile::parse("f.fio", text) {
        Ok(file) => file,
        Err(error) => return check_message(&error.to_string(), "f.fio"),
    };
    for job in &file.jobs {
        for capacity in [4096, 1 << 20, 128_035_676_160] {
            match job.source(capacity, (0, job.numjobs - 1), &Rng::new(1)) {
                Ok(mut source) => {
                    for command in std::iter::from_fn(|| source.next()).take(20) {
                        assert!(command.offset_bytes + command.length_bytes <= capacity);
                        assert_eq!((command.offset_bytes % 512, command.length_bytes % 512), (0, 0));
                    }
                }
                Err(error) => check_message(&error.to_string(), "f.fio")?,
            }
        }
    }
    Ok(())
}

fn trace(input: &[u8]) -> Result<(), String> {
    for format in std::iter::once(None).chain(FORMATS.map(|f| Some(f.0))) {
        let reader = match TraceReader::new("f.trace", input, format) {
            Ok(reader) => reader,
            Err(error) => {
                check_message(&error.to_string(), "f.trace")?;
                continue;
            }
        };
        let mut last = 0;
        for record in reader {
            match record {
                Ok(record) => {
                    assert!(record.at >= last, "time runs backwards");
                    last = record.at;
                    assert!(record.offset_bytes.checked_add(record.length_bytes).is_some());
                }
                Err(error) => check_message(&error.to_string(), "f.trace")?,
            }
        }
    }
    Ok(())
}

fn drive_files(cases: u64) {
    let mut files = corpus("catalog/drives");
    files.push(b"base = \"jmf667h-imft-128gb\"\n[controller]\nchannels = 4\nread_unit_us = 1.5\n".to_vec());
    files.push(b"base = \"ideal\"\ncapacity_bytes = 1073741824\n[flash]\ndies = 2\n[gc]\npolicy = \"fifo\"\n".to_vec());
    hunt(cases, files, &drive_file);
}

fn die_files(cases: u64) {
    let mut files = corpus("catalog/nand");
    files.push(b"base = \"ideal\"\n[geometry]\nplanes = 2\n[timing]\nread_us = [50.0]\n".to_vec());
    hunt(cases, files, &die_file);
}

/// In which everything that an expression can say stands once.
const EXPRESSIONS: &[&str] = &[
    "raid0(a-data-300-32gb*3, stripe=128KiB)",
    "arc-1280ml(raid0(a-data-300-32gb*2, spinpoint-f1-1tb))",
    "ranges(0-3GiB=a-data-300-32gb, rest=spinpoint-f1-1tb)",
    "arc-1200(spinpoint-f1-1tb, cache_mib=512, flush_ms=10.5)",
    "raid0(ich10r(mtron-mobi-3000-16gb), ranges(0-1GB=x25-m-80gb, rest=x25-m-80gb))",
];

fn plans() -> Vec<Vec<u8>> {
    let mut files = corpus("examples/sweeps");
    // Of few points: each is a drive that is checked.
    files.push(
        b"drive = \"ideal\"\nseeds = [1, 2]\n[set]\ncapacity_bytes = 1000000000\n[grid]\ngc.policy = [\"greedy\", \"fifo\"]\n\
        flash.dies = [2, 4]\n[[list]]\nover_provisioning_percent = 7\n[[list]]\nover_provisioning_percent = 28\n[[test]]\n\
        name = \"random-write\"\nset.seconds = 2\n[charts]\nmetrics = [\"iops\"]\n[[charts.pareto]]\nx = \"flash.dies\"\ny = \"iops\"\n"
            .to_vec(),
    );
    files.push(
        b"drive = \"raid0(ideal*2)\"\n[grid]\ndevice = [\"ideal\", \"arc-1200(ideal)\"]\n[[test]]\nname = \"atto\"\n"
            .to_vec(),
    );
    files
}

#[test]
fn mutants_of_drive_files() {
    drive_files(4_000);
}

#[test]
fn mutants_of_die_files() {
    die_files(4_000);
}

#[test]
fn mutants_of_disk_files() {
    hunt(1_500, corpus("catalog/disks"), &disk_file);
}

#[test]
fn mutants_of_adapter_files() {
    hunt(4_000, corpus("catalog/adapters"), &adapter_file);
}

#[test]
fn mutants_of_device_expressions() {
    hunt(5_000, EXPRESSIONS.iter().map(|text| text.as_bytes().to_vec()).collect(), &expression);
}

#[test]
fn mutants_of_plans() {
    hunt(600, plans(), &plan);
}

#[test]
fn mutants_of_claims_files() {
    hunt(400, corpus("catalog/claims"), &claims_file);
}

#[test]
fn mutants_of_job_files() {
    hunt(10_000, corpus("examples/jobs"), &job_file);
}

#[test]
fn of_every_format_of_traces_a_valid_file_is_spoiled() {
    let files = corpus("crates/workload/tests/data");
    let recognised = files.iter().filter_map(|file| {
        let reader = TraceReader::new("f.trace", &file[..], None).ok()?;
        let format = reader.format();
        let records: Vec<_> = reader.collect::<Result<_, _>>().ok()?;
        (records.len() > 1).then_some(format)
    });
    let recognised: Vec<_> = recognised.collect();
    for (format, name, _) in FORMATS {
        assert!(recognised.contains(&format), "no file is of the format {name}");
    }
}

#[test]
fn mutants_of_traces() {
    hunt(10_000, corpus("crates/workload/tests/data"), &trace);
}

#[test]
#[ignore = "minutes; `make fuzz` runs it, and a small part of the same runs always"]
fn many_mutants_of_drive_files() {
    drive_files(150_000);
}

#[test]
#[ignore = "minutes; `make fuzz` runs it, and a small part of the same runs always"]
fn many_mutants_of_die_files() {
    die_files(400_000);
}

#[test]
#[ignore = "minutes; `make fuzz` runs it, and a small part of the same runs always"]
fn many_mutants_of_disks_adapters_and_expressions() {
    hunt(100_000, corpus("catalog/disks"), &disk_file);
    hunt(300_000, corpus("catalog/adapters"), &adapter_file);
    hunt(500_000, EXPRESSIONS.iter().map(|text| text.as_bytes().to_vec()).collect(), &expression);
}

#[test]
#[ignore = "minutes; `make fuzz` runs it, and a small part of the same runs always"]
fn many_mutants_of_plans() {
    hunt(40_000, plans(), &plan);
}

#[test]
#[ignore = "minutes; `make fuzz` runs it, and a small part of the same runs always"]
fn many_mutants_of_claims_files() {
    hunt(20_000, corpus("catalog/claims"), &claims_file);
}

#[test]
#[ignore = "minutes; `make fuzz` runs it, and a small part of the same runs always"]
fn many_mutants_of_job_files() {
    hunt(2_000_000, corpus("examples/jobs"), &job_file);
}

#[test]
#[ignore = "minutes; `make fuzz` runs it, and a small part of the same runs always"]
fn many_mutants_of_traces() {
    hunt(2_000_000, corpus("crates/workload/tests/data"), &trace);
}
