//! What the parts of a drive did while its slowest request waited: `--timeline`.
#![cfg(unix)]

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{says, ssdlab};

fn place(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("timelines").join(name);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cmd/endurance.in");
    for file in ["small-die.toml", "small.toml"] {
        std::fs::copy(from.join(file), folder.join(file)).unwrap();
    }
    let job = "[j]\nrw=randwrite\nioengine=libaio\niodepth=8\nbs=4k\nsize=100%\nnorandommap\ntime_based\nruntime=2\n";
    std::fs::write(folder.join("write.fio"), job).unwrap();
    std::fs::write(folder.join("trace.csv"), "128166372003061629,host,0,Read,1048576,4096,1331\n").unwrap();
    folder
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn stretches(document: &Value) -> Vec<&Value> {
    document["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == "X").collect()
}

#[test]
fn the_file_shows_the_slowest_request_and_what_dies_did_meanwhile() {
    let folder = place("run");
    let run = ["run", "write.fio", "./small.toml", "--prefill", "drive", "--output-format", "json"];
    let plain = says(&folder, &run);
    let watched = says(&folder, &[&run[..], &["--timeline", "slow.json"]].concat());
    assert_eq!(plain, watched, "to be watched changes nothing");
    let (document, report) = (read(&folder.join("slow.json")), serde_json::from_str::<Value>(&plain).unwrap());
    let slowest = report["jobs"][0]["write"]["lat_ns"]["max"].as_f64().unwrap();
    let all = stretches(&document);
    let own = all[0];
    assert_eq!(own["dur"].as_f64().unwrap() * 1000.0, slowest, "{own}");
    let (from, to) = (own["ts"].as_f64().unwrap(), own["ts"].as_f64().unwrap() + own["dur"].as_f64().unwrap());
    let meanwhile = |e: &&&Value| {
        let at = e["ts"].as_f64().unwrap();
        e["cat"] == "flash" && at < to && at + e["dur"].as_f64().unwrap() > from
    };
    assert!(all.iter().filter(meanwhile).count() > 4, "{document}");
    let told = document["otherData"]["slowest"].as_str().unwrap();
    assert!(told.starts_with("write of 4096 bytes at offset "), "{told}");
    // The same bytes again, over the file of before; and the same as a picture.
    let first = std::fs::read(folder.join("slow.json")).unwrap();
    says(&folder, &[&run[..], &["--timeline", "slow.json"]].concat());
    assert_eq!(first, std::fs::read(folder.join("slow.json")).unwrap());
    says(&folder, &[&run[..], &["--timeline", "slow.svg"]].concat());
    let picture = std::fs::read_to_string(folder.join("slow.svg")).unwrap();
    // A picture is for people.
    let told = told.replace(" us", " µs");
    assert!(picture.replace('\u{a0}', " ").contains(&told) && picture.contains("die 3"), "{picture}");
}

#[test]
fn what_came_before_the_measurement_does_not_count() {
    let folder = place("ramp");
    let job = "[j]\nrw=write\nioengine=libaio\niodepth=32\nbs=1m\nramp_time=1\nruntime=1\ntime_based\nthinktime=1\n";
    std::fs::write(folder.join("ramp.fio"), job).unwrap();
    let run = ["run", "ramp.fio", "./small.toml", "--output-format", "json", "--timeline", "slow.json"];
    let report: Value = serde_json::from_str(&says(&folder, &run)).unwrap();
    let slowest = report["jobs"][0]["write"]["lat_ns"]["max"].as_f64().unwrap();
    let document = read(&folder.join("slow.json"));
    let own = stretches(&document)[0]["dur"].as_f64().unwrap() * 1000.0;
    assert_eq!(own, slowest);
}

#[test]
fn a_ramp_beside_another_job_does_not_count_and_a_run_without_a_measurement_has_no_timeline() {
    let folder = place("beside");
    let reader = "[reader]\nrw=randread\nbs=4k\nsize=32m\n";
    let writer = "[writer]\nioengine=libaio\nrw=write\nbs=256k\niodepth=32\nsize=32m\nramp_time=60\n";
    std::fs::write(folder.join("both.fio"), format!("{reader}{writer}")).unwrap();
    let run = ["run", "both.fio", "./small.toml", "--output-format", "json", "--timeline", "slow.json"];
    let report: Value = serde_json::from_str(&says(&folder, &run)).unwrap();
    let slowest = report["jobs"][0]["read"]["lat_ns"]["max"].as_f64().unwrap();
    assert_eq!(stretches(&read(&folder.join("slow.json")))[0]["dur"].as_f64().unwrap() * 1000.0, slowest);
    std::fs::write(folder.join("none.fio"), writer).unwrap();
    let output = ssdlab(&folder, &["run", "none.fio", "./small.toml", "--timeline", "none.json", "--out", "page"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("no request that took time was measured"), "{error}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("writer: "), "the report is there all the same");
    assert!(folder.join("page/index.html").exists(), "and the page");
}

/// Two jobs whose slowest requests are equally slow: the page shows it with the one whose request it is.
#[test]
fn a_page_shows_it_with_its_own_job() {
    let folder = place("equal");
    let job = "[global]\nbs=4k\nsize=1m\nnumber_ios=9\nrw=read\n[late]\nstartdelay=1\n[first]\n";
    std::fs::write(folder.join("equal.fio"), job).unwrap();
    let run = ["run", "equal.fio", "./small.toml", "--prefill", "none", "--out", "out", "--timeline", "slow.json"];
    says(&folder, &run);
    let page = std::fs::read_to_string(folder.join("out/index.html")).unwrap();
    assert!(page.contains("id=\"fig-test-run-first-slowest-"), "it is of the first");
    assert!(!page.contains("id=\"fig-test-run-late-slowest-"), "and of no other");
}

#[test]
fn a_replay_has_one_too() {
    let folder = place("replay");
    let replay = ["replay", "trace.csv", "./small.toml", "--timeline", "slow.json"];
    says(&folder, &replay);
    let document = read(&folder.join("slow.json"));
    let all = stretches(&document);
    assert_eq!((&all[0]["name"], &all[0]["cat"]), (&"read 4 KiB".into(), &"command".into()));
    let reads: Vec<_> = all.iter().filter(|e| e["cat"] == "flash").collect();
    assert_eq!(reads.len(), 1, "one read of one page: {document}");
    assert!(reads[0]["args"]["block"].is_u64() && reads[0]["args"]["page"].is_u64(), "{document}");
}

#[test]
fn an_attached_drive_that_nothing_was_asked_of_has_none() {
    let folder = place("attached");
    let line = format!("{} ctl $control timeline slow.svg", env!("CARGO_BIN_EXE_ssdlab"));
    let output = ssdlab(&folder, &["attach", "./small.toml", "--run", &line]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("no request has ended since the last timeline"), "{error}");
    assert!(!folder.join("slow.svg").exists());
}

/// A server that says what no device can have done.
#[test]
fn a_timeline_that_cannot_be_is_refused() {
    let folder = place("hostile");
    let breakdown = serde_json::to_value(ssdlab_core::Breakdown::default()).unwrap();
    let request = serde_json::json!({ "tag": 0, "op": "Read", "status": "Ok", "offset_bytes": 0, "length_bytes": 512,
        "submitted": 2000, "completed": 1000, "breakdown": breakdown });
    let timeline = serde_json::json!({ "tracks": [], "complete_from": 0 });
    let seen = serde_json::json!({ "request": request, "from": 0, "timeline": timeline, "slower": null });
    let mut good = seen.clone();
    good["request"]["completed"] = 3000.into();
    for (seen, said) in [(seen, "the slowest request ends before it was sent"), (1.into(), "invalid type"), (good, "")]
    {
        let listener = std::os::unix::net::UnixListener::bind(folder.join("s")).unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            std::io::BufRead::read_line(&mut std::io::BufReader::new(&stream), &mut String::new()).unwrap();
            let answer = serde_json::json!({ "device": "a drive", "seen": seen });
            std::io::Write::write_all(&mut stream, format!("{answer}\n").as_bytes()).unwrap();
        });
        let output = ssdlab(&folder, &["ctl", "./s", "--json", "timeline", "slow.json"]);
        server.join().unwrap();
        std::fs::remove_file(folder.join("s")).unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.is_empty() {
            assert!(output.status.success() && folder.join("slow.json").exists(), "{error}");
            let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!((&told["device"], &told["file"]), (&"a drive".into(), &"slow.json".into()));
        } else {
            assert!(
                output.status.code() == Some(1) && error.contains("the device answers what cannot be: "),
                "{error}"
            );
            assert!(error.contains(said) && !folder.join("slow.json").exists(), "{error}");
        }
    }
}

#[test]
fn nothing_of_others_is_overwritten_and_what_cannot_tell_is_refused() {
    let folder = place("refused");
    std::fs::write(folder.join("mine.json"), "{}").unwrap();
    std::fs::write(folder.join("disk.img"), vec![0; 1 << 20]).unwrap();
    let refused = |args: &[&str]| {
        let output = ssdlab(&folder, args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {error}");
        error
    };
    let error = refused(&["run", "write.fio", "./small.toml", "--timeline", "mine.json"]);
    assert!(error.contains("mine.json: it is there already, and no timeline"), "{error}");
    let error = refused(&["run", "write.fio", "./small.toml", "--timeline", "nowhere/t.json"]);
    assert!(error.contains("there is no such folder"), "{error}");
    // A folder in which nobody can make a file.
    #[cfg(target_os = "linux")]
    for option in ["--timeline", "--save", "--output"] {
        let error = refused(&["run", "write.fio", "./small.toml", option, "/proc/slow.json"]);
        assert!(error.contains("/proc/slow.json: "), "{error}");
    }
    let error = refused(&["replay", "trace.csv", "./small.toml", "--timeline", "one", "--save", "one"]);
    assert!(error.contains("--timeline one is the file of --save as well"), "{error}");
    std::fs::write(folder.join("read.fio"), "[j]\nrw=randread\nbs=4k\nsize=64k\n").unwrap();
    let error = refused(&["run", "read.fio", "./disk.img", "--prefill", "none", "--timeline", "t.json"]);
    assert!(error.contains("has no timeline: only simulated drives"), "{error}");
    assert!(!folder.join("t.json").exists() && std::fs::read(folder.join("mine.json")).unwrap() == b"{}");
}
