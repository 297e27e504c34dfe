//! Published figures whose run is killed, and goes on.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

fn claims(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
    command.args(["claims", "mtron-mobi-3000-16gb", "--quick", "--threads", "1", "--out", "out"]).current_dir(folder);
    command
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ssdlab-cli-claims-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn finished(folder: &Path) -> usize {
    let files = fs::read_dir(folder.join("out/.ssdlab/tests")).into_iter().flatten().flatten();
    files.filter(|f| f.file_name().to_string_lossy().ends_with(".json")).count()
}

#[test]
fn killed_claims_go_on_and_end_in_the_same_bytes() {
    let (whole, killed) = (folder("whole"), folder("killed"));
    assert!(claims(&whole).output().unwrap().status.success());
    assert_eq!(finished(&whole), 0, "tests of a run that has ended are not kept");
    let mut child = claims(&killed).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while finished(&killed) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before a test was kept");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let found = finished(&killed);
    assert!(!killed.join("out/claims.json").exists(), "killed too late to show anything");
    let output = claims(&killed).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains(&format!("{found} of ")) && said.contains("tests were found finished"), "{said}");
    let read = |folder: &Path| fs::read(folder.join("out/claims.json")).unwrap();
    assert!(read(&whole) == read(&killed), "claims.json differs");
    fs::remove_dir_all(whole).unwrap();
    fs::remove_dir_all(killed).unwrap();
}
