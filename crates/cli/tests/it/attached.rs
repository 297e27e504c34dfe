//! What an attached drive tells.

use std::path::Path;
use std::process::{Command, Output};

use ssdlab_attach::request::DriveRequest;
use ssdlab_attach::{Drive, Export};
use ssdlab_bench::explain;
use ssdlab_contents::{ContentDevice, ContentOptions};
use ssdlab_core::{Breakdown, MILLISECOND, Nanos, Op};

fn small() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cmd/endurance.in/small.toml").display().to_string()
}

fn attach(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ssdlab")).args([&["attach", &small()], args].concat()).output().unwrap()
}

/// One read of an attached drive: how long of it the drive was not ready, and where all of it went.
fn read(drive: &mut Drive, mut now: Nanos) -> (Nanos, Nanos, Breakdown) {
    assert!(drive.start(now, DriveRequest::new(1, 1, Op::Read, 0, 4096)).is_ok());
    let mut outcomes = Vec::new();
    while outcomes.is_empty() {
        now = drive.next_event().unwrap();
        drive.advance(now, &mut outcomes);
    }
    let slow = drive.slow().next().unwrap();
    (now, slow.starting, slow.breakdown)
}

/// Whatever the drive calls the time until it is ready, nothing but a read like any other is left without it.
#[test]
fn of_a_read_that_waited_for_the_drive_to_be_ready_a_read_is_left() {
    let inner = ssdlab_catalog::device(&small()).unwrap().build(1).unwrap();
    let export = Export::new(inner.info(), false);
    let mut drive = Drive::new(ContentDevice::new(inner, ContentOptions::default()), export, 1 << 30);
    let (now, starting, usual) = read(&mut drive, 0);
    assert_eq!(starting, 0);
    drive.cut(now);
    let (now, waits) = (now + MILLISECOND, 5 * MILLISECOND);
    let ready = drive.restore(now);
    assert!(ready > now + waits);
    let (_, starting, breakdown) = read(&mut drive, ready - waits);
    assert_eq!(starting, waits);
    // What comes before the processor's part goes on while the drive starts.
    let (left, usual) = (explain::after_start(&breakdown, starting).sum(), usual.sum());
    assert!(left <= usual && 2 * left > usual, "{left} and {usual}: {}", explain::sentence(&breakdown));
    let said = explain::sentence_of_start(&breakdown, starting);
    assert!(said.contains(": 5.00 ms until the device was ready after its power came back"), "{said}");
}

#[test]
fn cuts_are_told_on_the_terminal_of_the_server_and_by_ctl() {
    let program = env!("CARGO_BIN_EXE_ssdlab");
    let line = format!("{program} ctl $control cut && {program} ctl $control restore && {program} ctl $control blame");
    let output = attach(&["--run", &line]);
    let [told, error] = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned());
    assert!(output.status.success(), "{error}");
    assert!(told.ends_with("\nafter the last cut: no page was lost or went back\nno slow request yet\n"), "{told}");
    assert!(told.contains("pages_after_last_cut.reverted") && !told.contains("pages_after_last_cut.first"), "{told}");
    let said: Vec<&str> = error.lines().filter(|line| line.starts_with("notice: the power of ")).collect();
    assert!(said.len() == 2 && said[0].contains(" was cut at ") && said[1].contains(" is back at "), "{error}");
}

#[test]
fn an_option_behind_run_is_in_the_wrong_place() {
    let said = |args: &[&str]| {
        let output = attach(args);
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (code, error) = said(&["--run", "fio --name=a", "--cut-at", "2s"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(
        error.starts_with("error: `--cut-at` stands behind --run, which takes everything that follows it\n"),
        "{error}"
    );
    assert!(error.contains("small.toml --cut-at … --run 'fio --name=a'`"), "{error}");
    let (code, error) = said(&["--run", "no such program", "x"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("with `x` behind it, 'no such program' is the name of a program"), "{error}");
    let (code, told) = said(&["--run", "echo", "--seed=3"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(
        told.contains("--seed=3\n") && told.contains("notice: `--seed=3` stands behind --run, and goes to echo"),
        "{told}"
    );
    let (code, told) = said(&["--memory", "1GiB", "--run", "echo", "--name=a"]);
    assert!(code == Some(0) && !told.contains("notice"), "{told}");
}
