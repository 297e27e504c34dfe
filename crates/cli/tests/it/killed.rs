//! Runs that are killed, and go on.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const SMALL: &str =
    "base = \"ideal-32die\"\ncapacity_bytes = 402653184\n[flash]\ndies = 8\n[controller]\nread_unit_us = 6\n";

/// The program in this folder, with one thread.
fn ssdlab(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
    command.args(args).args(["--threads", "1"]).current_dir(folder);
    command
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ssdlab-cli-killed-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Tests that are kept in the folder `out`.
fn finished(folder: &Path) -> usize {
    let files = fs::read_dir(folder.join("out/.ssdlab/tests")).into_iter().flatten().flatten();
    files.filter(|f| f.file_name().to_string_lossy().ends_with(".json")).count()
}

/// Waits until the run has kept so many tests.
fn until_kept(folder: &Path, child: &mut Child, tests: usize) {
    while finished(folder) < tests {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before a test was kept");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills the run once it has kept so many tests, and lets it go on.
fn killed_and_gone_on(folder: &Path, args: &[&str], once_kept: usize) -> Output {
    let mut child = ssdlab(folder, args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until_kept(folder, &mut child, once_kept);
    child.kill().unwrap();
    child.wait().unwrap();
    let found = finished(folder);
    assert!(found >= once_kept, "killed too late to show anything");
    let output = ssdlab(folder, args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains(&found.to_string()) && said.contains("tests were found finished"), "{said}");
    assert_eq!(finished(folder), 0, "tests of a run that has ended are not kept");
    output
}

#[test]
fn killed_claims_go_on_and_end_in_the_same_bytes() {
    let (whole, killed) = (folder("claims-whole"), folder("claims"));
    let args = ["claims", "mtron-mobi-3000-16gb", "--quick", "--out", "out"];
    assert!(ssdlab(&whole, &args).output().unwrap().status.success());
    killed_and_gone_on(&killed, &args, 1);
    let read = |folder: &Path| fs::read(folder.join("out/claims.json")).unwrap();
    assert!(read(&whole) == read(&killed), "claims.json differs");
    fs::remove_dir_all(whole).unwrap();
    fs::remove_dir_all(killed).unwrap();
}

#[test]
fn a_killed_calibration_goes_on_and_finds_the_same() {
    let folder = folder("calibration");
    fs::write(folder.join("small.toml"), SMALL).unwrap();
    let measured = "drive = \"small.toml\"\n\
        [[unknown]]\nkey = \"controller.read_unit_us\"\nleast = 1\nmost = 50\n\
        [[measurement]]\ntest = \"random-read\"\nmetric = \"latency_mean\"\nvalue = 120\ntolerance_percent = 1\n\
        source = \"a test\"\nset = { queue_depth = 1, seconds = 1, span_bytes = \"64MiB\", settle_seconds = 0 }\n";
    fs::write(folder.join("measured.toml"), measured).unwrap();
    let args = ["calibrate", "measured.toml", "--json"];
    let whole = ssdlab(&folder, &args).output().unwrap();
    assert!(whole.status.success(), "{}", String::from_utf8_lossy(&whole.stderr));
    let gone_on = killed_and_gone_on(&folder, &[&args[..], &["--keep", "out"]].concat(), 2);
    assert!(whole.stdout == gone_on.stdout);
    assert_eq!(fs::read_dir(folder.join("out")).unwrap().count(), 0, "nothing but finished tests was kept there");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_run_that_was_started_to_ignore_a_signal_goes_on() {
    let folder = folder("ignored");
    // As by `nohup`, and as a shell without job control starts what it runs in the background.
    let script = "trap '' HUP INT; exec \"$0\" claims mtron-mobi-3000-16gb --quick --out out --threads 1";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_ssdlab")]).current_dir(&folder);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until_kept(&folder, &mut child, 1);
    for signal in ["-HUP", "-INT"] {
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(folder.join("out/claims.json").exists());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_sensitivity_whose_folder_is_gone_is_printed_all_the_same() {
    let folder = folder("sensitivity");
    fs::write(folder.join("small.toml"), SMALL).unwrap();
    let args = ["sensitivity", "small.toml", "--quick", "--only", "random-read", "--key", "controller.read_unit"];
    let mut command = ssdlab(&folder, &[&args[..], &["--out", "out"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until_kept(&folder, &mut child, 1);
    fs::rename(folder.join("out"), folder.join("gone")).unwrap();
    let output = child.wait_with_output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(out.starts_with("What the figures of small.toml hang on") && err.contains("error: "), "{out}{err}");
    fs::remove_dir_all(folder).unwrap();
}
