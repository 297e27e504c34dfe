//! Job files and traces on simulated drives, through the command.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// 6.4 GB, filled in a moment.
const DRIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cmd/endurance.in/small.toml");

fn ssdlab(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(args).output().unwrap()
}

fn json(args: &[&str]) -> Value {
    let output = ssdlab(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn temporary(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// An example with its times cut to a fifth of a second, and the sizes that it names in bytes to a gigabyte.
fn shortened(example: &Path) -> String {
    let text = std::fs::read_to_string(example).unwrap();
    let short = |line: &str| match line.split_once('=') {
        Some(("runtime", _)) => "runtime=200ms\n".to_owned(),
        Some(("ramp_time", _)) => "ramp_time=50ms\n".to_owned(),
        Some(("size", size)) if !size.ends_with('%') => "size=1g\n".to_owned(),
        _ => format!("{line}\n"),
    };
    text.lines().map(short).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn every_example_runs_and_its_figures_agree_with_each_other() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/jobs");
    let mut examples: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    examples.sort();
    assert!(examples.len() >= 7);
    for example in examples {
        let name = example.file_name().unwrap().to_string_lossy().into_owned();
        let job_file = temporary(&name, &shortened(&example));
        let document = json(&["run", &job_file.display().to_string(), DRIVE, "--output-format", "json"]);
        let jobs = document["jobs"].as_array().unwrap();
        assert!(!jobs.is_empty(), "{name}");
        for job in jobs {
            let total = |direction: &str| number(&job[direction]["total_ios"]);
            assert!(total("read") + total("write") > 0.0, "{name}: {}", job["jobname"]);
            for direction in ["read", "write"].into_iter().filter(|d| total(d) > 0.0) {
                let d = &job[direction];
                assert_eq!(d["clat_ns"]["N"], d["total_ios"], "{name}");
                let seconds = number(&d["runtime"]) / 1e3;
                let iops = total(direction) / seconds;
                assert!((number(&d["iops"]) / iops - 1.0).abs() < 0.01, "{name}: {} of {iops}", d["iops"]);
                let causes: f64 = d["ssdlab"]["time_us"].as_object().unwrap().values().map(number).sum();
                let mean = number(&d["lat_ns"]["mean"]) / 1e3;
                assert!((causes / mean - 1.0).abs() < 1e-9, "{name}: causes of {causes} us, latency {mean} us");
            }
        }
    }
}

#[test]
fn a_read_job_finds_data_unless_the_drive_is_left_empty() {
    let job = temporary("reads.fio", "[reads]\nrw=randread\nsize=64m\nnorandommap\ntime_based\nruntime=50ms\n");
    let job = job.display().to_string();
    let flash_us = |args: &[&str]| {
        let document = json(&[&["run", &job, DRIVE, "--output-format", "json"], args].concat());
        document["jobs"][0]["read"]["ssdlab"]["time_us"]["read"].as_f64().unwrap_or(0.0)
    };
    assert!(flash_us(&[]) > 30.0);
    assert_eq!(flash_us(&["--prefill", "none"]), 0.0);
}

#[test]
fn a_run_gives_the_same_bytes_every_time() {
    let text = "[j]\nrw=randrw\nsize=256m\nbssplit=4k/60:16k/40\nioengine=libaio\niodepth=16\nfsync=64\ntime_based\nruntime=200ms\n";
    let job = temporary("twice.fio", text).display().to_string();
    let run = |format| ssdlab(&["run", &job, DRIVE, "--output-format", format]).stdout;
    for format in ["json", "normal"] {
        let first = run(format);
        assert!(!first.is_empty());
        assert!(first == run(format), "{format} differs");
    }
}

#[test]
fn a_replay_counts_what_the_trace_holds_at_any_speed() {
    // Two disks, bursts of ten requests a second apart, misaligned, some beyond the drive.
    let mut text = String::new();
    for i in 0..400u64 {
        let (at, sector) = (i / 10 * 1_000_000_000, 63 + i * 7_919 * 1_000);
        text += &format!("{at} {} {sector} {} {}\n", i % 2, 1 + i % 64, u8::from(i % 4 == 0));
    }
    let trace = temporary("bursts.mqsim", &text).display().to_string();
    for speed in ["recorded", "10x", "asap"] {
        let document = json(&["replay", &trace, DRIVE, "--speed", speed, "--json"]);
        assert_eq!(document["schema"], "ssdlab.results/1");
        let result = &document["results"][0];
        let metric = |key: &str| number(&result["metrics"][key]["value"]);
        assert_eq!((metric("trace_requests"), metric("trace_reads"), metric("trace_writes")), (400.0, 100.0, 300.0));
        assert_eq!(metric("commands"), 400.0 + metric("split"), "{speed}");
        assert!(metric("moved") > 0.0 && metric("waf") > 1.0, "{speed}");
        assert!(result["slowest"][0]["sentence"].as_str().unwrap().contains(": "), "{speed}");
        let notes = result["notes"].to_string();
        assert!(notes.contains("2 devices of the trace share the drive"), "{speed}: {notes}");
        let expected_s = match speed {
            "recorded" => 39.0..39.1,
            "10x" => 3.9..4.0,
            _ => 0.0..1.0,
        };
        assert!(expected_s.contains(&metric("duration")), "{speed}: {} s", metric("duration"));
        assert_eq!(result["metrics"].get("lag_max").is_some(), speed != "asap");
    }
}

#[test]
fn a_report_takes_the_place_of_nothing_that_its_run_reads_or_writes() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("apart");
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(folder.join("out")).unwrap();
    let text = "[a]\nrw=randread\nsize=1m\nio_size=64k\nwrite_bw_log=a\n";
    std::fs::write(folder.join("j.fio"), text).unwrap();
    std::fs::copy(DRIVE, folder.join("drive.toml")).unwrap();
    std::fs::copy(Path::new(DRIVE).with_file_name("small-die.toml"), folder.join("small-die.toml")).unwrap();
    let run = |args: &[&str]| {
        let all = [&["run", "j.fio", "drive.toml"], args].concat();
        Command::new(env!("CARGO_BIN_EXE_ssdlab")).args(all).current_dir(&folder).output().unwrap()
    };
    for (args, what) in [
        (&["--output", "a_bw.1.log"][..], "a log of this job file"),
        (&["--out", "out", "--output", "out/results.json"], "in the folder of --out"),
        (&["--force", "--output", "out/../j.fio"], "the job file itself"),
        (&["--force", "--output", "./drive.toml"], "the drive file itself"),
        (&["--timeline", "t.json", "--output", "out/../t.json"], "--timeline t.json is the file of --output as well"),
        (&["--timeline", "./one", "--save", "one"], "--timeline ./one is the file of --save as well"),
        (&["--timeline", "a_bw.1.log"], "a log of this job file"),
        (&["--out", "out", "--timeline", "out/results.json"], "in the folder of --out"),
    ] {
        let output = run(args);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && told.contains(what), "{args:?}: {told}");
    }
    assert_eq!(std::fs::read_to_string(folder.join("j.fio")).unwrap(), text);
    assert!(run(&["--output", "report"]).status.success() && folder.join("a_bw.1.log").exists());
}

/// A limit on the size of files is an error of the write, not the end of the process without a word.
#[test]
#[cfg(unix)]
fn a_file_that_may_not_grow_is_an_error() {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join("limited.txt");
    drop(std::fs::remove_file(&log));
    let job = temporary("limited.fio", "[a]\nrw=randread\nsize=1m\nio_size=64k\n");
    let line = format!(
        "ulimit -f 1; exec {} run {} {DRIVE} --output {}",
        env!("CARGO_BIN_EXE_ssdlab"),
        job.display(),
        log.display()
    );
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && told.contains("limited.txt"), "{:?}: {told}", output.status);
    assert!(!log.exists(), "nothing half-written");
}
