//! A sweep that is killed, and goes on.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const PLAN: &str = r#"
drive = "ideal-16k-32die"
seeds = [1, 2, 3, 4, 5, 6, 7, 8]
[set]
capacity_bytes = 134217728
flash.dies = 4
die.geometry.pages_per_block = 32
[grid]
over_provisioning_percent = [10, 30]
[[test]]
name = "steady-state"
"#;

fn sweep(folder: &Path, threads: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
    command.args(["sweep", "plan.toml", "--out", "out", "--threads", threads]).current_dir(folder);
    command
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("ssdlab-cli-sweep-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("plan.toml"), PLAN).unwrap();
    folder
}

fn finished(folder: &Path) -> usize {
    let files = fs::read_dir(folder.join("out/points")).into_iter().flatten().flatten();
    files.filter(|f| f.file_name().to_string_lossy().ends_with(".json")).count()
}

#[test]
fn a_stopped_sweep_leaves_a_table_that_is_not_taken_for_the_whole() {
    let folder = folder("stopped");
    // An earlier plan came to its end here.
    fs::write(folder.join("plan.toml"), PLAN.replace("[1, 2, 3, 4, 5, 6, 7, 8]", "[1]")).unwrap();
    assert!(sweep(&folder, "2").output().unwrap().status.success());
    let earlier = fs::read(folder.join("out/results.csv")).unwrap();
    fs::write(folder.join("plan.toml"), PLAN).unwrap();
    let mut child = sweep(&folder, "1").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while finished(&folder) < 3 {
        assert!(child.try_wait().unwrap().is_none(), "the sweep ended before it could be stopped");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("stopped: ") && said.contains("unfinished.csv"), "{said}");
    let table = fs::read_to_string(folder.join("out/unfinished.csv")).unwrap();
    assert_eq!(table.lines().count(), 17);
    assert!(table.contains(",not run,") && table.contains(",finished,"), "{table}");
    assert!(folder.join("out/unfinished.html").exists() && folder.join("out/unfinished-intervals.csv").exists());
    assert!(fs::read(folder.join("out/results.csv")).unwrap() == earlier, "the earlier table stays as it was");
    // The end takes the place of both.
    assert!(sweep(&folder, "2").output().unwrap().status.success());
    assert!(!fs::read_to_string(folder.join("out/results.csv")).unwrap().contains("not run"));
    let left = fs::read_dir(folder.join("out")).unwrap().flatten();
    assert!(left.into_iter().all(|f| !f.file_name().to_string_lossy().starts_with("unfinished")));
    fs::remove_dir_all(folder).unwrap();
}

/// The figures are kept, and are told; a table of those of a stopped one stands beside.
#[test]
fn a_sweep_into_whose_folder_something_was_put_meanwhile_says_what_came_of_it() {
    let folder = folder("put-there");
    let in_the_way = folder.join("out/results.csv");
    let spawn = |threads| sweep(&folder, threads).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = |points| {
        while finished(&folder) < points {
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    let child = spawn("1");
    until(1);
    fs::write(&in_the_way, "mine").unwrap();
    until(3);
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let said = String::from_utf8_lossy(&child.wait_with_output().unwrap().stderr).into_owned();
    assert!(said.contains("what there is so far stands in"), "{said}");
    assert!(folder.join("out/unfinished.csv").exists());
    assert_eq!(fs::read(&in_the_way).unwrap(), b"mine");
    fs::remove_file(&in_the_way).unwrap();
    let child = spawn("1");
    until(finished(&folder) + 1);
    fs::create_dir(&in_the_way).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(1) && said.contains("results.csv is a folder, where a file would be"),
        "{said}"
    );
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("16 points; "), "{told}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_killed_sweep_goes_on_and_ends_in_the_same_bytes() {
    let (whole, killed) = (folder("whole"), folder("killed"));
    assert!(sweep(&whole, "2").output().unwrap().status.success());
    let mut child = sweep(&killed, "1").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while finished(&killed) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the sweep ended before a point was finished");
        std::thread::sleep(Duration::from_millis(2));
    }
    // SIGKILL: nothing in the program can tidy up.
    child.kill().unwrap();
    child.wait().unwrap();
    let found = finished(&killed);
    assert!(found < 16, "killed too late to show anything: {found}");
    assert!(!killed.join("out/results.csv").exists());
    let output = sweep(&killed, "2").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains(&format!("16 points; {} run, {found} found finished", 16 - found)), "{said}");
    for file in ["results.csv", "index.html"] {
        let read = |folder: &Path| fs::read(folder.join("out").join(file)).unwrap();
        assert!(read(&whole) == read(&killed), "{file} differs");
    }
    fs::remove_dir_all(whole).unwrap();
    fs::remove_dir_all(killed).unwrap();
}
