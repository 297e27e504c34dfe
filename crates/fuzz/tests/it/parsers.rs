//! Whatever is in a file: an answer, or an error that says what is wrong, where, and what would be right. Never a
//! panic, a hang, or memory out of proportion; and a drive that was accepted can be built and used.
//!
//! Seconds here; millions of cases with `make fuzz`.

use std::fs;
use std::path::Path;

use ssdlab_catalog::{claims, parse_die, parse_drive};
use ssdlab_core::Rng;
use ssdlab_fuzz::{Fuzz, fuzz};
use ssdlab_workload::Source;
use ssdlab_workload::fio::JobFile;
use ssdlab_workload::trace::{FORMATS, TraceOptions, TraceReader};

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

fn check_diagnostic(error: &ssdlab_catalog::Diagnostic) -> Result<(), String> {
    if error.place.is_none() || error.help.iter().all(String::is_empty) {
        return Err(format!("a message without place or help: {error}"));
    }
    check_message(&error.to_string(), "f.toml")
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
        let reader = match TraceReader::new("f.trace", input, format, TraceOptions::default()) {
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

#[test]
fn mutants_of_drive_files() {
    drive_files(4_000);
}

#[test]
fn mutants_of_die_files() {
    die_files(4_000);
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
