//! What an attached drive tells.

#[cfg(target_os = "linux")]
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::process::{Child, ChildStdout, Stdio};
use std::process::{Command, Output};

use ssdlab_attach::request::DriveRequest;
use ssdlab_attach::{Drive, Export};
use ssdlab_bench::explain;
use ssdlab_contents::{ContentDevice, ContentOptions};
use ssdlab_core::{Breakdown, MILLISECOND, Nanos, Op};

fn small() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cmd/endurance.in/small.toml").display().to_string()
}

/// An empty folder.
fn place(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("attached").join(name);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A server in `folder`, and what comes behind the first line that it prints. It has no terminal, as under a service manager.
#[cfg(target_os = "linux")]
fn serve(folder: &Path, args: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new("setsid");
    command.arg(env!("CARGO_BIN_EXE_ssdlab")).args(["attach", &small()]).args(args).current_dir(folder);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut said = BufReader::new(server.stdout.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    (server, said)
}

#[cfg(target_os = "linux")]
fn signal(server: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &server.id().to_string()]).status().unwrap().success());
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
    assert!(
        left <= usual && 2 * left > usual,
        "{left} and {usual}: {}",
        explain::sentence(breakdown.sum(), &breakdown)
    );
    let said = explain::sentence_of_start(breakdown.sum(), &breakdown, starting);
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

/// The shell ends only once what it has started was told as well: which says so itself, as it has the shell's trap until it begins.
#[test]
#[cfg(target_os = "linux")]
fn a_server_that_is_told_to_end_tells_its_command_with_all_that_it_has_started() {
    let line = "trap 'wait; echo told; exit 7' TERM; (echo begun; exec sleep 20) & wait";
    let (mut server, mut said) = serve(&place("told"), &["--run", line]);
    signal(&server, "-TERM");
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!((server.wait().unwrap().code(), rest.as_str()), (Some(7), "told\n"));
}

/// Its command has set a limit of open files that no server can wait with.
#[test]
#[cfg(target_os = "linux")]
fn a_server_that_fails_tells_its_command_to_end() {
    let program = env!("CARGO_BIN_EXE_ssdlab");
    let line = format!(
        "trap 'echo told; exit 7' TERM; prlimit --nofile=2 --pid $PPID; {program} ctl $control status; sleep 20 & echo begun; wait"
    );
    let mut command = Command::new("setsid");
    let output = command.arg(program).args(["attach", &small(), "--run", &line]).output().unwrap();
    let [told, error] = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned());
    assert!(output.status.code() == Some(1) && error.contains("error: cannot serve "), "{error}");
    assert!(told.ends_with("told\n"), "{told}");
}

/// The key of a terminal would have told the command as well.
#[test]
#[cfg(target_os = "linux")]
fn a_server_at_a_terminal_passes_on_an_interrupt_that_it_alone_was_sent() {
    let folder = place("interrupted");
    let line = "trap 'echo told; exit 7' INT; kill -INT $PPID; while :; do sleep 0.01; done";
    std::fs::write(
        folder.join("line"),
        format!("{} attach {} --run \"{}\"", env!("CARGO_BIN_EXE_ssdlab"), small(), line.replace('$', "\\$")),
    )
    .unwrap();
    let mut command = Command::new("script");
    let output = command
        .args(["--quiet", "--return", "--command", "env --default-signal=INT sh ./line", "typescript"])
        .current_dir(&folder)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.code() == Some(7) && told.contains("told"), "{told}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_that_was_started_to_ignore_an_interrupt_serves_on() {
    let folder = place("ignoring");
    // As a shell without job control starts what it runs in the background.
    let script = "trap '' INT; exec \"$0\" attach \"$1\" --socket s";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_ssdlab"), &small()]).current_dir(&folder);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    signal(&server, "-INT");
    let status = Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(["ctl", "s", "status"]).current_dir(&folder).output();
    assert!(status.unwrap().status.success() && server.try_wait().unwrap().is_none());
    signal(&server, "-TERM");
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_removes_no_socket_of_another() {
    let folder = place("sockets");
    let is_there = || ["s", "s.ctl"].map(|name| folder.join(name).exists());
    let (mut first, _) = serve(&folder, &["--socket", "s"]);
    ["s", "s.ctl"].iter().for_each(|name| std::fs::remove_file(folder.join(name)).unwrap());
    let (mut second, _) = serve(&folder, &["--socket", "s"]);
    signal(&first, "-TERM");
    assert_eq!((first.wait().unwrap().code(), is_there()), (Some(0), [true; 2]));
    signal(&second, "-TERM");
    assert_eq!((second.wait().unwrap().code(), is_there()), (Some(0), [false; 2]));
}

#[test]
#[cfg(target_os = "linux")]
fn a_server_serves_on_though_nobody_reads_where() {
    let folder = place("unread");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut server =
        command.args(["attach", &small(), "--socket", "s"]).current_dir(&folder).stdout(writer).spawn().unwrap();
    while !folder.join("s.ctl").exists() {
        assert!(server.try_wait().unwrap().is_none(), "the server ended");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // Whoever comes before the drive is ready waits.
    let status = Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(["ctl", "s", "status"]).current_dir(&folder).output();
    let status = status.unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    signal(&server, "-TERM");
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn what_is_refused_leaves_no_folder() {
    let folder = place("refused");
    std::fs::write(folder.join("letter"), "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
    command.args(["attach", &small(), "--control", "letter"]).current_dir(&folder).env("TMPDIR", &folder);
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && error.contains("letter: there is a file that is not a socket"),
        "{error}"
    );
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
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
