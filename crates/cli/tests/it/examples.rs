//! Scripts of `examples`, as far as they come without what they need.

use std::path::PathBuf;
use std::process::Command;

fn examples() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"))
}

#[test]
fn power_cuts_without_what_they_need_are_no_loss() {
    let scripts = examples().join("attach");
    let told = |arguments: &[&str]| {
        let output = Command::new("bash").current_dir(&scripts).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for script in ["sqlite-power-cuts.sh", "postgresql-power-cuts.sh"] {
        for arguments in [&[script, "no/such/ssdlab"][..], &[script, "--expect-losses", "no/such/ssdlab"]] {
            assert_eq!(told(arguments), (Some(2), "there is no no/such/ssdlab\n".to_owned()), "{arguments:?}");
        }
    }
    let of_database = ". ./power-cuts.sh; needs='true no-such-program'; power_cuts true";
    assert_eq!(told(&["-c", of_database]), (Some(2), "there is no no-such-program\n".to_owned()));
}

#[test]
fn changes_to_mqsim_are_made_once_and_whole_or_not_at_all() {
    let source = std::env::temp_dir().join(format!("ssdlab-mqsim-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&source);
    let files =
        ["NVM_PHY_ONFI_NVDDR2.cpp", "Address_Mapping_Unit_Page_Level.cpp"].map(|f| source.join("src/ssd").join(f));
    std::fs::create_dir_all(source.join("src/ssd")).unwrap();
    let call = |kind| format!("handle_transaction_serviced_signal_from_PHY((*{kind}_tr).second);\n");
    let write = |map: &str| {
        std::fs::write(&files[0], "// Copyback requests are prioritized over others\n").unwrap();
        std::fs::write(&files[1], map).unwrap();
    };
    let read = || files.each_ref().map(|file| std::fs::read_to_string(file).unwrap());
    let changed = || {
        let before = read();
        let script = examples().join("mqsim/changes.sh");
        let output = Command::new("sh").arg(script).arg(&source).output().unwrap();
        (output.status.code(), read() != before)
    };
    write(&call("read"));
    assert_eq!(changed(), (Some(1), false), "a line that a change goes before is missing");
    write(&(call("read") + &call("write")));
    assert_eq!(changed(), (Some(0), true));
    let [first, second] = read();
    assert_eq!([first.matches("COMMANDS_FIRST").count(), second.matches("SEND_AGAIN").count()], [1, 2]);
    assert_eq!(changed(), (Some(1), false), "a second time");
    std::fs::remove_dir_all(&source).unwrap();
}
