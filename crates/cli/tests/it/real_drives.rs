//! Real drives on the command line: files on the file system that the build lies on. Where the machine cannot use one so, all
//! but the refusals is left out, and says so.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const BYTES: usize = 16 << 20;

/// A folder with a file that stands for a drive, and another one.
fn place(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-drives").join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("drive"), vec![0xA5; BYTES]).unwrap();
    fs::write(folder.join("other"), vec![0xA5; BYTES]).unwrap();
    fs::write(folder.join("jobs.fio"), "[w]\nrw=randwrite\nbs=4k\nsize=8m\niodepth=4\n").unwrap();
    fs::write(folder.join("trace.csv"), "128166372003061629,host,0,Write,4096,4096,100\n").unwrap();
    folder
}

fn ssdlab(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(line.split(' ')).current_dir(folder).output().unwrap()
}

/// Whether this machine can use a file as a drive; says so if not. Anything else that goes wrong is a fault.
fn usable(folder: &Path) -> bool {
    let output = ssdlab(folder, "test sequential-read drive --set prefill=none seconds=1");
    if output.status.success() {
        return true;
    }
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(is_of_machine(&error), "{error}");
    println!("left out: {error}");
    false
}

/// Whether the machine is to blame: no io_uring in its kernel (38, ENOSYS) or none allowed (1, EPERM), or no direct I/O on its file
/// system.
fn is_of_machine(error: &str) -> bool {
    let ring = "io_uring, by which real drives are used, is not to be had";
    error.contains(ring) && (error.contains("(os error 38)") || error.contains("(os error 1)"))
        || error.contains("does not take requests past the page cache (O_DIRECT)")
}

fn untouched(path: &Path) -> bool {
    fs::read(path).unwrap().iter().all(|&b| b == 0xA5)
}

/// The figures of a run that ends well.
fn figures(folder: &Path, line: &str) -> Value {
    let output = ssdlab(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn without_consent_that_names_it_a_drive_is_only_read() {
    let folder = place("consent");
    for (line, told) in [
        ("test random-write drive --set seconds=1", "the device may only be read"),
        ("test random-read drive --set seconds=1", "the device may only be read"),
        ("review drive --only sequential-write --set seconds=1 --out out", "the device may only be read"),
        ("run jobs.fio drive", "the device may only be read"),
        ("run jobs.fio drive", "leave its filling out (--prefill none)"),
        ("replay trace.csv drive", "leave its filling out (--prefill none)"),
        ("replay trace.csv drive --prefill none", "the device may only be read"),
        ("test random-write drive --destroy other", "--destroy other: that is no real device of this command"),
        (
            "test random-write drive --destroy ideal-32die",
            "--destroy ideal-32die: that is no real device of this command",
        ),
        ("test random-write ideal-32die --destroy drive", "--destroy drive: that is no real device of this command"),
        ("test random-write drive --destroy drive --specimens 2", "of drive there is one specimen"),
        ("test random-write drive --destroy drive --set gc.policy=fifo", "of which `gc.policy` cannot be set"),
        ("test random-read drive --set dies=4", "a real device has no keys of drive files, such as `flash.dies`"),
        (
            "review drive --only random-read --set dies=4 --out out",
            "a real device has no keys of drive files, such as `flash.dies`",
        ),
        ("review drive ./drive --only trim", "is named twice"),
        ("attach drive --run true", "this takes simulated drives alone"),
        ("claims drive", "this takes simulated drives alone"),
    ] {
        let output = ssdlab(&folder, line);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {error}");
        // A machine without io_uring says that first.
        assert!(error.contains(told) || is_of_machine(&error), "{line}: {error}");
        assert!(untouched(&folder.join("drive")) && untouched(&folder.join("other")), "{line}");
    }
}

#[test]
fn a_drive_that_may_be_destroyed_is_tested_as_a_simulated_one_is() {
    let folder = place("tested");
    if !usable(&folder) {
        return;
    }
    let json = figures(&folder, "test random-write drive --destroy drive --set seconds=1 --set queue_depth=4 --json");
    assert_eq!((&json["device"]["kind"], &json["device"]["name"]), (&"host".into(), &"drive".into()));
    let metrics = &json["results"][0]["metrics"];
    assert!(metrics["iops"]["value"].as_f64().unwrap() > 10.0, "{metrics}");
    assert!(metrics["waf"].is_null(), "nobody tells what a real drive's flash does: {metrics}");
    assert!(!untouched(&folder.join("drive")) && untouched(&folder.join("other")));
    // A test that starts each load from the same state fills the drive anew, since it cannot be copied.
    let line = "test fileserver drive --destroy drive --set seconds=1 settle_seconds=0 queue_depths=1,8";
    let told = String::from_utf8(ssdlab(&folder, line).stdout).unwrap();
    assert!(told.contains("each on the drive filled anew") && told.contains("iops_qd8"), "{told}");
    let jobs = figures(&folder, "run jobs.fio drive --destroy drive --output-format json");
    assert_eq!(jobs["jobs"][0]["write"]["io_bytes"], 8 << 20);
    let told = ssdlab(&folder, "run jobs.fio drive --destroy drive").stdout;
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains(", of which the device does not say where it went\n") && !told.contains(" = \n"), "{told}");
    let replayed = figures(&folder, "replay trace.csv drive --destroy drive --prefill none --json");
    assert_eq!(replayed["results"].as_array().unwrap().len(), 1);
}

#[test]
fn a_page_says_that_its_drive_is_real() {
    let folder = place("page");
    if !usable(&folder) {
        return;
    }
    let line = "review drive ideal-32die --destroy drive --only sequential-write --set seconds=1 --out out";
    let output = ssdlab(&folder, line);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = fs::read_to_string(folder.join("out/index.html")).unwrap();
    assert!(page.contains("simulated and real drives"), "the head");
    assert!(page.contains("drive is real, and measured as a program of this machine sees it"), "how far to trust it");
    assert!(page.contains("On a real drive as it was found"), "the test's own note");
    assert!(!page.contains("Every drive here is simulated"));
}
