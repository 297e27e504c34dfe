//! Drives that are saved at the end of a job or a trace, and begun with again.
#![cfg(unix)]

use std::path::{Path, PathBuf};

use crate::program::{says, ssdlab};

/// A folder with a small drive, the job that ages it, and one that measures it.
fn place(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("saved").join(name);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cmd/endurance.in");
    for file in ["small-die.toml", "small.toml"] {
        std::fs::copy(from.join(file), folder.join(file)).unwrap();
    }
    let job = |rw: &str, more: &str| format!("[j]\nrw={rw}\nioengine=libaio\niodepth=8\nbs=4k\nsize=100%\n{more}\n");
    std::fs::write(folder.join("age.fio"), job("randwrite", "io_size=4g\nnorandommap")).unwrap();
    std::fs::write(folder.join("write.fio"), job("randwrite", "time_based\nruntime=1\nnorandommap")).unwrap();
    std::fs::write(folder.join("trace.csv"), "128166372003061629,host,0,Read,1048576,4096,1331\n").unwrap();
    folder
}

/// How it says that it cannot, before anything ran.
fn refuses(folder: &Path, args: &[&str]) -> String {
    let output = ssdlab(folder, args);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {error}");
    error
}

fn waf(json: &str) -> f64 {
    serde_json::from_str::<serde_json::Value>(json).unwrap()["ssdlab"]["waf"].as_f64().unwrap()
}

#[test]
fn a_drive_is_aged_once_and_measured_often() {
    let folder = place("aged");
    let json = ["--output-format", "json"];
    let aging = says(&folder, &["run", "age.fio", "./small.toml", "--prefill", "drive", "--save", "aged.state"]);
    assert!(aging.contains("The drive was new"), "{aging}");
    let new = says(&folder, &[&["run", "write.fio", "./small.toml"], &json[..]].concat());
    let aged = ["run", "write.fio", "./small.toml", "--from", "aged.state"];
    let first = says(&folder, &[&aged[..], &json].concat());
    assert!(waf(&first) > 1.5 && waf(&new) < 1.2, "{} aged, {} new", waf(&first), waf(&new));
    assert_eq!(first, says(&folder, &[&aged[..], &json].concat()), "the same drive each time");
    assert!(says(&folder, &aged).contains("The drive was as it had been saved when the first job began."));
    // It goes on from where it was: what it has written in its life is kept.
    says(&folder, &[&aged[..], &["--save", "later.state"]].concat());
    assert_ne!(std::fs::read(folder.join("later.state")).unwrap(), std::fs::read(folder.join("aged.state")).unwrap());
    // A test does not fill it, unless it is told to.
    let test = ["test", "random-write", "./small.toml", "--from", "aged.state", "--set", "seconds=1"];
    let unfilled = says(&folder, &test);
    assert!(unfilled.contains("The drive was as it had been saved."), "{unfilled}");
    let filled = says(&folder, &[&test[..], &["prefill=drive"]].concat());
    assert!(filled.contains("The whole drive was first filled in sequence."), "{filled}");
    assert!(filled.contains("On a drive as it was saved"), "{filled}");
    let replayed = says(&folder, &["replay", "trace.csv", "./small.toml", "--from", "aged.state", "--rest", "5"]);
    assert!(replayed.contains("It rested for 5"), "{replayed}");
}

#[test]
fn what_is_measured_after_storage_says_so() {
    let folder = place("stored");
    says(&folder, &["run", "write.fio", "./small.toml", "--prefill", "drive", "--save", "new.state"]);
    for command in [
        &["replay", "trace.csv", "./small.toml"][..],
        &["replay", "trace.csv", "./small.toml", "--json"],
        &["run", "write.fio", "./small.toml"],
        &["run", "write.fio", "./small.toml", "--output-format", "json"],
        &["test", "random-read", "./small.toml", "--set", "seconds=1"],
    ] {
        let stored = |days: &str| says(&folder, &[command, &["--from", "new.state", "--stored-days", days]].concat());
        let (lain, not) = (stored("400"), stored("0"));
        assert!(lain.contains("without power for 400 days at 30"), "{command:?}: {lain}");
        assert!(!not.contains("without power for"), "{command:?}: {not}");
    }
}

/// A drive that has written before loses no more than a new one.
#[test]
fn cuts_of_a_drive_that_was_saved_find_what_it_had() {
    let folder = place("cut");
    says(&folder, &["run", "write.fio", "./small.toml", "--save", "new.state"]);
    let cut = ["test", "power-cut", "./small.toml", "--set", "cuts=3", "--set", "event_cuts=3", "--json"];
    let metrics = |more: &[&str]| {
        let told: serde_json::Value = serde_json::from_str(&says(&folder, &[&cut[..], more].concat())).unwrap();
        let value = |key: &str| told["results"][0]["metrics"][key]["value"].as_f64().unwrap();
        ["flushed_lost", "cuts", "unclean_shutdowns"].map(value)
    };
    let new = metrics(&[]);
    assert_eq!(new[..2], [0.0, 6.0]);
    for fill in ["fill=drive", "fill=none"] {
        let [lost, cuts, unclean] = metrics(&["--from", "new.state", "--set", fill]);
        assert_eq!((lost, cuts), (0.0, 6.0), "{fill}");
        assert!(unclean <= cuts, "{fill}: {unclean}");
    }
}

#[test]
fn an_image_of_an_attached_drive_is_measured_and_stays_as_it_is() {
    let folder = place("image");
    says(&folder, &["attach", "./small.toml", "--image", "d.ssd", "--prefill", "drive", "--run", "true"]);
    let before = std::fs::read(folder.join("d.ssd")).unwrap();
    let read = ["test", "random-read", "./small.toml", "--set", "seconds=1", "--from", "d.ssd", "--json"];
    let told: serde_json::Value = serde_json::from_str(&says(&folder, &read)).unwrap();
    let metrics = &told["results"][0]["metrics"];
    assert!(metrics["latency_mean"]["value"].as_f64().unwrap() > 20.0, "reads come from flash: {metrics}");
    assert!(std::fs::read(folder.join("d.ssd")).unwrap() == before);
}

#[test]
fn what_is_no_such_drive_is_told_before_anything_runs() {
    let folder = place("refused");
    says(&folder, &["run", "write.fio", "./small.toml", "--save", "new.state"]);
    let run = ["run", "write.fio", "./small.toml"];
    let with = |more: &[&str]| refuses(&folder, &[&run[..], more].concat());
    assert!(with(&["--from", "new.state", "--seed", "2"]).contains("use --seed 1"));
    let other = with(&["--from", "new.state", "--set", "gc.policy=fifo"]);
    assert!(other.contains("has other values, or another name"), "{other}");
    assert!(with(&["--from", "age.fio"]).contains("age.fio: neither a saved drive nor an image"));
    assert!(with(&["--from", "missing"]).contains("missing: No such file"));
    assert!(with(&["--save", "age.fio"]).contains("no saved drive: it is not overwritten"));
    assert!(with(&["--save", "nowhere/x"]).contains("there is no such folder"));
    let stored = with(&["--stored-days", "30"]);
    assert!(stored.contains("--from <FILE>"), "{stored}");
    let test = ["test", "random-read", "./small.toml", "--from", "new.state", "--specimens", "2"];
    assert!(refuses(&folder, &test).contains("of a saved drive there is one specimen"));
    let bytes = std::fs::read(folder.join("new.state")).unwrap();
    std::fs::write(folder.join("cut.state"), &bytes[..bytes.len() / 2]).unwrap();
    assert!(with(&["--from", "cut.state"]).contains("damaged"));
    let begun = std::fs::read(folder.join("new.state")).unwrap();
    let over = with(&["--from", "new.state", "--output", "./new.state", "--force"]);
    assert!(over.contains("--output ./new.state is the saved drive that is begun with"), "{over}");
    assert!(std::fs::read(folder.join("new.state")).unwrap() == begun);
    assert_eq!(std::fs::read_to_string(folder.join("age.fio")).unwrap().lines().next(), Some("[j]"));
}
