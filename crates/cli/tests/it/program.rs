//! The program, in a folder of a test.

use std::path::Path;
use std::process::{Command, Output};

pub fn ssdlab(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(args).current_dir(folder).output().unwrap()
}

/// What it prints, if it ends well.
pub fn says(folder: &Path, args: &[&str]) -> String {
    let output = ssdlab(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
