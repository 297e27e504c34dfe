//! What an attached drive tells.

use std::path::Path;
use std::process::{Command, Output};

fn small() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cmd/endurance.in/small.toml").display().to_string()
}

fn attach(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ssdlab")).args([&["attach", &small()], args].concat()).output().unwrap()
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
