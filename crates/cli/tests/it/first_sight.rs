//! What was once answered badly: inputs by which a program is tried before it is trusted. Numbered, so that none is
//! lost; each ends in a second or so, with one clear answer, and bounded output.
//!
//! Numbers 19 and 20 (file server loads in one run, and the verdict of a short TRIM test) are with the tests of the
//! bench.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const DRIVE: &str = "small.toml";
/// Far beyond what any of these takes, even on a busy machine.
const PATIENCE_S: u64 = 120;

/// A folder of its own for each test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-sight").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        for file in ["small.toml", "small-die.toml"] {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cmd/endurance.in").join(file);
            fs::copy(from, folder.join(file)).unwrap();
        }
        Place(folder)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        fs::write(self.0.join(name), text).unwrap();
        self
    }

    fn fifo(&self, name: &str) -> &Self {
        assert!(Command::new("mkfifo").arg(self.0.join(name)).status().unwrap().success());
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ssdlab"));
        command.args(args).current_dir(&self.0).stdin(Stdio::null());
        command
    }

    fn ssdlab(&self, args: &[&str]) -> Said {
        Said::of(self.command(args))
    }
}

/// How a command ended.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    /// Runs the command; panics if it does not end.
    fn of(mut command: Command) -> Said {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let reader = |stream: Option<Box<dyn std::io::Read + Send>>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                stream.map(|mut s| s.read_to_end(&mut bytes)).transpose().unwrap();
                String::from_utf8_lossy(&bytes).into_owned()
            })
        };
        let out = reader(child.stdout.take().map(|s| Box::new(s) as _));
        let err = reader(child.stderr.take().map(|s| Box::new(s) as _));
        for _ in 0..PATIENCE_S * 50 {
            if let Some(status) = child.try_wait().unwrap() {
                return Said { code: status.code(), out: out.join().unwrap(), err: err.join().unwrap() };
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        child.kill().unwrap();
        panic!("{command:?} hangs");
    }

    /// Nothing ran; one error that says this.
    fn refused(self, what: &str) -> Self {
        assert_eq!(self.code, Some(2), "{}", self.err);
        assert!(self.err.contains(what) && self.err.starts_with("error: "), "{}", self.err);
        assert_eq!(self.err.matches("error: ").count(), 1, "{}", self.err);
        assert!(self.err.len() < 3_000, "{} bytes of message", self.err.len());
        assert_eq!(self.out, "");
        self
    }

    fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self
    }
}

fn job(options: &str) -> String {
    format!("[j]\nrw=randread\nsize=64m\ntime_based\nruntime=100ms\n{options}")
}

#[test]
fn n01_a_synchronous_engine_runs_at_depth_one_with_the_notice_of_fio() {
    let place = Place::new("01");
    place.file("psync.fio", job("ioengine=psync\niodepth=32\n"));
    place.file("default.fio", job("iodepth=32\n")).file("one.fio", job("ioengine=libaio\niodepth=1\n"));
    place.file("deep.fio", job("ioengine=libaio\niodepth=32\n"));
    let run = |name: &str| place.ssdlab(&["run", name, DRIVE]).done();
    let figures = |said: &Said| said.out.lines().find(|l| l.contains("IOPS=")).map(str::to_owned);
    let one = figures(&run("one.fio"));
    for name in ["psync.fio", "default.fio"] {
        let said = run(name);
        assert!(said.err.contains("the queue depth is capped at 1, as in fio"), "{}", said.err);
        assert!(said.out.contains("iodepth=1\n"), "{}", said.out);
        assert_eq!(figures(&said), one);
    }
    let deep = run("deep.fio");
    assert!(!deep.err.contains("capped") && figures(&deep) != one);
}

#[test]
fn n02_an_engine_that_does_not_exist_is_an_error_with_the_nearest_name() {
    let place = Place::new("02");
    place.file("j.fio", job("ioengine=libaoi\n")).file("net.fio", job("ioengine=net\n"));
    place.ssdlab(&["run", "j.fio", DRIVE]).refused("there is no engine `libaoi`; did you mean `libaio`?");
    place.ssdlab(&["run", "net.fio", DRIVE]).refused("`net` works on a network, not on a block device");
}

#[test]
fn n03_a_trace_of_20_mb_in_one_line_does_not_flood_the_terminal() {
    let place = Place::new("03");
    let long = "1".repeat(20_000_000);
    place.file("a.txt", &long).file("b.mqsim", format!("0 0 8 16 1\n{long}"));
    place.file("c.mqsim", format!("0 0 8 16 1\n0 0 8 16 {}", "1".repeat(60_000)));
    place.ssdlab(&["replay", "a.txt", DRIVE]).refused("format");
    let said = place.ssdlab(&["replay", "b.mqsim", DRIVE]).refused("longer than 64 KiB");
    assert!(said.err.lines().all(|l| l.chars().count() < 300), "{}", said.err);
    let said = place.ssdlab(&["replay", "c.mqsim", DRIVE]).refused("must be 0 (write) or 1 (read)");
    assert!(said.err.len() < 1500, "{}", said.err);
}

#[test]
fn n04_devices_and_folders_are_no_files_to_read() {
    let place = Place::new("04");
    symlink("/dev/zero", place.path("zero.toml")).unwrap();
    fs::create_dir(place.path("folder.toml")).unwrap();
    place.ssdlab(&["replay", "/dev/zero", DRIVE]).refused("it is a device, not a file");
    place.ssdlab(&["run", "/dev/zero", DRIVE]).refused("it is a device, not a file");
    for command in ["show", "sweep"] {
        place.ssdlab(&[command, "zero.toml"]).refused("it is a device, not a file");
        place.ssdlab(&[command, "folder.toml"]).refused("it is a folder, not a file");
    }
    place.file("long.toml", vec![b'#'; 5 << 20]);
    place.ssdlab(&["show", "long.toml"]).refused("it is longer than 4 MiB");
    place.ssdlab(&["sweep", "long.toml"]).refused("it is longer than 4 MiB");
    place.ssdlab(&["run", "long.toml", DRIVE]).refused("it is longer than 4 MiB");
}

#[test]
fn n05_a_fifo_is_refused_instead_of_waited_for() {
    let place = Place::new("05");
    place.fifo("f").fifo("f.toml");
    place.ssdlab(&["replay", "f", DRIVE]).refused("it is a FIFO, not a file");
    place.ssdlab(&["run", "f", DRIVE]).refused("it is a FIFO, not a file");
    place.ssdlab(&["show", "f.toml"]).refused("it is a FIFO, not a file");
    place.ssdlab(&["sweep", "f.toml"]).refused("it is a FIFO, not a file");
}

#[test]
fn n06_a_start_after_584_years_is_beyond_the_longest_simulated_time() {
    let place = Place::new("06");
    place.file("j.fio", "[j]\nrw=randread\nsize=64m\nstartdelay=18446744073\n");
    place.ssdlab(&["run", "j.fio", DRIVE]).refused("startdelay: `18446744073` is too long; the limit is 366 days");
}

#[test]
fn n07_four_sections_of_4096_clones_are_more_than_a_file_may_have() {
    let place = Place::new("07");
    let section = |i: u32| format!("[j{i}]\nrw=randread\nnumjobs=4096\nsize=1m\nruntime=10ms\n");
    place.file("j.fio", (0..4).map(section).collect::<String>());
    place.ssdlab(&["run", "j.fio", DRIVE]).refused("the file has 8192 jobs; at most 4096 are possible");
}

#[test]
fn n08_300_sections_run() {
    let place = Place::new("08");
    let section = |i: u32| format!("[j{i}]\nrw=randread\nsize=1m\niodepth=2\nruntime=10ms\n");
    place.file("j.fio", (0..300).map(section).collect::<String>());
    let said = place.ssdlab(&["run", "j.fio", DRIVE]).done();
    assert_eq!(said.out.matches(": (groupid=0, jobs=1)").count(), 300);
    // One notice for all of them.
    assert!(said.err.contains("job `j0` and 299 more") && said.err.lines().count() == 1, "{}", said.err);
}

#[test]
fn n09_four_thousand_clones_of_a_million_commands_are_refused() {
    let place = Place::new("09");
    place.file("j.fio", "[j]\nrw=randread\nioengine=libaio\niodepth=1048576\nnumjobs=4096\nsize=1m\nruntime=10ms\n");
    place.ssdlab(&["run", "j.fio", DRIVE]).refused("at most 1048576 are possible");
}

#[test]
fn n10_forty_days_of_thinking_end_and_a_year_and_a_day_is_refused() {
    let place = Place::new("10");
    let text = |runtime: &str| format!("[j]\nrw=randread\ntime_based\nruntime={runtime}\nthinktime=1000s\nsize=1m\n");
    place.file("j.fio", text("40d")).file("year.fio", text("367d"));
    let said = place.ssdlab(&["run", "j.fio", DRIVE]).done();
    assert!(said.out.contains("issued rwts: total=3456,0,0,0"), "{}", said.out);
    place.ssdlab(&["run", "year.fio", DRIVE]).refused("runtime: `367d` is too long; the limit is 366 days");
    // Without a runtime it is found on the way.
    place.file("endless.fio", "[j]\nrw=randread\nsize=1g\nthinktime=360d\n");
    let said = place.ssdlab(&["run", "endless.fio", DRIVE]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.err.contains("of simulated time, the longest possible"), "{}", said.err);
}

#[test]
fn n11_control_characters_of_files_and_arguments_are_shown_not_sent() {
    let place = Place::new("11");
    let description = "description=\x1b[2Jcleared\x1b]0;title\x07\n";
    place.file("j.fio", format!("[j\x1b[31m]\nrw=randread\nsize=1m\n{description}"));
    place.file("bad.fio", format!("[j\x1b[31m]\nrw=randread\nsize=1m\n{description}fo\x1b[31mo=1\n"));
    let drive = "base = \"ideal-32die\"\ndescription = \"\\u001b[2J\\u0007 mine\"\n";
    let small = fs::read_to_string(place.path("small.toml")).unwrap();
    place.file("s.toml", small.replace("a small drive", "\\u001b[2J\\u0007 mine"));
    place.file("d.toml", drive).file("bad\x1b[31m.toml", "nonsense \x1b[2J");
    let said = [
        place.ssdlab(&["run", "j.fio", DRIVE]).done(),
        place.ssdlab(&["run", "bad.fio", DRIVE]).refused("unknown option"),
        place.ssdlab(&["show", "d.toml"]).done(),
        place.ssdlab(&["show", "bad\x1b[31m.toml"]).refused("\\x1b[31m.toml"),
        place.ssdlab(&["show", "no\x1b[2Jpe"]).refused("no\\x1b[2Jpe"),
        place.ssdlab(&["no\x1b[2Jpe"]),
        place.ssdlab(&["list", "--no\x1b[2Jpe"]),
        place.ssdlab(&["test", "random-read", "s.toml", "seconds=1"]).done(),
        place.ssdlab(&["review", "s.toml", "--quick", "--only", "random-read"]).done(),
    ];
    for (i, said) in said.iter().enumerate() {
        assert!(!said.out.contains('\x1b') && !said.out.contains('\x07'), "{i}: {:?}", said.out);
        assert!(!said.err.contains('\x1b') && !said.err.contains('\x07'), "{i}: {:?}", said.err);
    }
}

/// A review that takes a moment, of a small drive.
const REVIEW: [&str; 5] = ["review", "small.toml", "--quick", "--only", "sequential-write"];

/// Paths of all files in a folder and in those within it.
fn files_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    entries.flat_map(|p| if p.is_dir() { files_in(&p) } else { vec![p.display().to_string()] }).collect()
}

fn review(place: &Place, more: &[&str]) -> Said {
    place.ssdlab(&[&REVIEW[..], &["--out", "out"], more].concat())
}

#[test]
fn n12_a_page_that_is_a_folder_is_found_before_the_work() {
    let place = Place::new("12");
    fs::create_dir_all(place.path("out/index.html")).unwrap();
    for force in [&[][..], &["--force"]] {
        review(&place, force).refused("out/index.html is a folder, where a file would be written");
        assert_eq!(fs::read_dir(place.path("out")).unwrap().count(), 1, "nothing else is left there");
    }
}

#[test]
fn n13_series_that_are_a_file_or_a_link_are_found_before_the_work() {
    let place = Place::new("13");
    fs::create_dir_all(place.path("out")).unwrap();
    place.file("out/series", "");
    review(&place, &[]).refused("out/series is a file, where a folder would be written");
    fs::remove_file(place.path("out/series")).unwrap();
    fs::create_dir(place.path("elsewhere")).unwrap();
    symlink("../elsewhere", place.path("out/series")).unwrap();
    review(&place, &[]).refused("out/series is a symbolic link");
    fs::remove_file(place.path("out/series")).unwrap();
    fs::create_dir(place.path("out/series")).unwrap();
    place.file("out/series/mine.csv", "1,2\n");
    review(&place, &[]).refused("out/series/mine.csv was not written by ssdlab");
    assert_eq!(fs::read_dir(place.path("elsewhere")).unwrap().count(), 0);
}

#[test]
fn n14_a_page_of_somebody_else_is_not_overwritten_unless_forced_and_our_own_is() {
    let place = Place::new("14");
    fs::create_dir_all(place.path("out")).unwrap();
    place.file("out/index.html", "my diary").file("out/notes.txt", "kept");
    let page = || fs::read_to_string(place.path("out/index.html")).unwrap();
    review(&place, &[]).refused("out/index.html was not written by ssdlab");
    assert_eq!(page(), "my diary");
    review(&place, &["--force"]).done();
    let ours = page();
    assert!(ours.starts_with("<!doctype html>"));
    place
        .ssdlab(&["test", "random-read", "small.toml", "--quick", "--out", "out"])
        .refused("is what `ssdlab review` has written");
    // Again, and with another test: what the first run wrote goes, what others wrote stays.
    review(&place, &[]).done();
    assert_eq!(page(), ours);
    place.ssdlab(&["review", "small.toml", "--quick", "--only", "sequential-read", "--out", "out"]).done();
    let files = files_in(&place.path("out/charts"));
    assert!(!files.is_empty() && files.iter().all(|f| f.contains("sequential-read")), "{files:?}");
    assert_eq!(fs::read_to_string(place.path("out/notes.txt")).unwrap(), "kept");
    // A page of ours that somebody has worked on since.
    place.file("out/index.html", ours + "<!-- my remarks -->");
    review(&place, &[]).refused("out/index.html was changed after ssdlab had written it");
}

#[test]
fn n15_a_full_or_closed_standard_error_does_not_change_how_a_command_ends() {
    let place = Place::new("15");
    let end = |shell: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", shell, env!("CARGO_BIN_EXE_ssdlab")]).current_dir(&place.0);
        Said::of(command).code
    };
    assert_eq!(end("\"$0\" show nope 2>/dev/full"), Some(2));
    assert_eq!(end("\"$0\" show nope 2>&-"), Some(2));
    assert_eq!(end("\"$0\" nope 2>/dev/full"), Some(2));
    assert_eq!(end("\"$0\" list nand 2>/dev/full"), Some(0));
    assert_eq!(end("\"$0\" list nand >/dev/full 2>/dev/full"), Some(1));
    place.file("j.fio", job("direct=1\niodepth=2\n"));
    assert_eq!(end(&format!("\"$0\" run j.fio {DRIVE} 2>/dev/full")), Some(0));
}

#[test]
fn n16_an_spc_trace_with_decimal_commas_is_refused() {
    let place = Place::new("16");
    place.file("t.spc", "0,123,4096,R,0,551706\n0,124,4096,W,0,551806\n");
    place.ssdlab(&["replay", "t.spc", DRIVE]).refused("timestamp `0,551706` has a decimal comma; write 0.551706");
    // Further fields are allowed behind a time.
    place.file("ok.spc", "0,123,4096,R,0.551706,7,note\n0,124,4096,W,0.551806,7,note\n");
    place.ssdlab(&["replay", "ok.spc", DRIVE, "--prefill", "none"]).done();
}

#[test]
fn n17_a_plan_with_nan_is_refused_as_a_key_and_as_a_value() {
    let place = Place::new("17");
    place.file("key.toml", "[nan]\n");
    place.ssdlab(&["sweep", "key.toml"]).refused("unknown key `nan`");
    let plan =
        "drive = \"ideal-16k-32die\"\n[grid]\nover_provisioning_percent = [nan]\n[[test]]\nname = \"steady-state\"\n";
    place.file("value.toml", plan);
    place.ssdlab(&["sweep", "value.toml"]).refused("over_provisioning_percent: NaN % is no spare area");
}

#[test]
fn n18_a_trace_that_grows_while_it_is_replayed_is_replayed_as_it_was() {
    let place = Place::new("18");
    let line = |i: u64| format!("{} 0 {} 8 1\n", i * 1000, i * 8);
    place.file("t.mqsim", (0..200_000).map(line).collect::<String>());
    let mut child = place.command(&["replay", "t.mqsim", DRIVE, "--speed", "asap", "--prefill", "none", "--json"]);
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut trace = fs::OpenOptions::new().append(true).open(place.path("t.mqsim")).unwrap();
    let waiting = std::thread::spawn(move || child.wait_with_output().unwrap());
    let mut i = 200_000;
    while !waiting.is_finished() {
        trace.write_all(line(i).as_bytes()).unwrap();
        i += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    let Output { status, stdout, stderr } = waiting.join().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let document: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
    let result = &document["results"][0];
    let count = result["metrics"]["commands"]["value"].as_f64().unwrap();
    assert!((200_000.0..i as f64).contains(&count), "{count} of {i}");
    assert!(result["notes"].to_string().contains("grew while it was replayed"), "{}", result["notes"]);
}

#[test]
fn n20_a_drive_file_gives_the_same_bytes_wherever_it_lies() {
    let place = Place::new("20-folders");
    fs::create_dir(place.path("elsewhere")).unwrap();
    for file in ["small.toml", "small-die.toml"] {
        fs::copy(place.path(file), place.path("elsewhere").join(file)).unwrap();
    }
    let latencies = |file: &str, seed: &str| {
        let args = ["test", "random-read", file, "queue_depth=1", "seconds=1", "--seed", seed, "--json"];
        let document: serde_json::Value = serde_json::from_str(&place.ssdlab(&args).done().out).unwrap();
        document["results"][0]["metrics"].to_string()
    };
    let absolute = place.path("elsewhere/small.toml");
    let here = latencies("small.toml", "1");
    assert_eq!(here, latencies("elsewhere/small.toml", "1"));
    assert_eq!(here, latencies(&absolute.display().to_string(), "1"));
    assert_ne!(here, latencies("small.toml", "2"), "chance has a part in it");
}

#[test]
fn n21_a_review_that_is_stopped_goes_on_and_ends_in_the_same_bytes() {
    let (whole, stopped) = (Place::new("21-whole"), Place::new("21-stopped"));
    let args = ["review", "small.toml", "--quick", "--threads", "1", "--only"];
    let args = [&args[..], &["sequential-read,sequential-write,random-write", "--out", "out"]].concat();
    whole.ssdlab(&args).done();
    let mut command = stopped.command(&args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let kept = || fs::read_dir(stopped.path("out/.ssdlab/tests")).map_or(0, Iterator::count);
    while kept() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the review ended before it could be stopped");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let found = kept();
    assert!(found > 0, "finished tests are kept");
    // What there is by now takes the place of no whole review.
    assert!(!stopped.path("out/index.html").exists() && !stopped.path("out/results.json").exists());
    assert!(
        fs::read_to_string(stopped.path("out/unfinished/index.html")).unwrap().contains("This review is not whole.")
    );
    let document = fs::read_to_string(stopped.path("out/unfinished/results.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!((&document["complete"], &document["left_out"][0]["why"]), (&false.into(), &"it was stopped".into()));
    // What another run left there is removed; what was half written, too.
    stopped.file(&format!("out/.ssdlab/tests/{}.json", "0".repeat(32)), "{}");
    stopped.file("out/.ssdlab/tests/a.json.partial-77", "{");
    fs::create_dir(stopped.path("out/.out.partial-3")).unwrap();
    let said = stopped.ssdlab(&args).done();
    let count = said.err.split(" of ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let count: usize = count.parse().unwrap_or_else(|_| panic!("{}", said.err));
    assert!(said.err.starts_with(&format!("{found} of {count} tests were found finished")), "{}", said.err);
    // Without a terminal there is a line for each test that ran now, if there are several.
    let lines = said.err.lines().filter(|l| l.starts_with("done ")).count();
    assert_eq!(lines, if found + 1 < count { count - found } else { 0 });
    for file in ["index.html", "results.json"] {
        let read = |place: &Place| fs::read(place.path("out").join(file)).unwrap();
        assert!(read(&whole) == read(&stopped), "{file} differs");
    }
    assert_eq!(kept(), 0);
    assert!(!stopped.path("out/unfinished").exists());
    assert!(!stopped.path("out/.out.partial-3").exists());
}

#[test]
fn n22_two_commands_do_not_write_into_one_folder() {
    let place = Place::new("22");
    let args = [&REVIEW[..4], &["consistency", "--out", "out"]].concat();
    let mut first = place.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !place.path("out/.ssdlab/tests").exists() {
        std::thread::sleep(Duration::from_millis(2));
    }
    place.ssdlab(&args).refused("another ssdlab is writing to out");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn n23_a_test_that_does_not_fit_a_drive_is_left_out_with_a_note() {
    let place = Place::new("23");
    let small = fs::read_to_string(place.path("small.toml")).unwrap();
    let no_trim = small.replace("[flash]", "supports_trim = false\n\n[flash]");
    place.file("no-trim.toml", no_trim.replace("capacity_bytes = 6442450944", "capacity_bytes = 5368709120"));
    let args = |tests: &'static str| ["review", "no-trim.toml", "--quick", "--only", tests, "--out", "out"];
    let said = place.ssdlab(&args("trim,sequential-read")).done();
    assert!(said.err.contains("left out: trim on no-trim.toml"), "{}", said.err);
    // If nothing is left, nothing ran.
    assert_eq!(place.ssdlab(&args("trim")).code, Some(2));
}

#[test]
fn n24_a_byte_order_mark_is_accepted_everywhere() {
    let place = Place::new("24");
    let marked = |text: &str| format!("\u{feff}{text}");
    place.file("j.fio", marked("[j]\nrw=read\nsize=1m\n")).file("d.toml", marked("base = \"ideal-32die\"\n"));
    place.file("t.mqsim", marked("0 0 8 8 1\n"));
    let plan = "drive = \"small.toml\"\n[[test]]\nname = \"random-read\"\n[test.set]\nseconds = 1\nqueue_depth = 1\n";
    place.file("p.toml", marked(plan));
    place.ssdlab(&["run", "j.fio", DRIVE]).done();
    place.ssdlab(&["show", "d.toml"]).done();
    place.ssdlab(&["replay", "t.mqsim", DRIVE, "--prefill", "none"]).done();
    place.ssdlab(&["sweep", "p.toml"]).done();
}

#[test]
fn n25_jobs_and_traces_come_by_standard_input_under_the_same_limits() {
    let place = Place::new("25");
    let fed = |args: &[&str], text: &str| {
        place.file("in", text);
        let mut command = place.command(args);
        command.stdin(fs::File::open(place.path("in")).unwrap());
        Said::of(command)
    };
    let trace = ["replay", "-", DRIVE, "--prefill", "none"];
    let said = fed(&trace, "0 0 8 8 1\n5 0 8 8 0\n").done();
    assert!(said.out.contains("2 requests"), "{}", said.out);
    fed(&trace, "0 0 8 8 1\n5 0 8 8 2\n").refused("5 0 8 8 2");
    fed(&["run", "-", DRIVE], "[j]\nrw=read\nsize=1m\n").done();
    let said = fed(&["run", "-", DRIVE], "[j]\nrw=read\nbogus=1\n").refused("unknown option `bogus`");
    assert!(said.err.contains("--> standard input:3:1") && said.err.contains("3 | bogus=1"), "{}", said.err);
    fed(&["run", "-", DRIVE], &" ".repeat(5 << 20)).refused("longer than 4 MiB");
}

#[test]
fn n26_check_says_what_a_file_is_and_what_is_wrong_with_it() {
    let place = Place::new("26");
    place.file("j.fio", "[j]\nnumjobs=3\n").file("t.mqsim", "0 0 8 8 1\n5 1 8 8 0\n");
    place.file("p.toml", "drive = \"ideal-32die\"\n[[test]]\nname = \"random-read\"\n");
    for (file, what) in [
        ("small.toml", "a device of 6.4 GB: a small drive"),
        ("small-die.toml", "a die type"),
        ("j.fio", "a job file of 1 job(s), 3 with their clones"),
        ("t.mqsim", "a trace (format mqsim) of 2 requests"),
        ("p.toml", "a plan of 1 point:"),
    ] {
        let said = place.ssdlab(&["check", file]).done();
        assert!(said.out.starts_with(&format!("{file} is {what}")), "{}", said.out);
    }
    place.file("bad.toml", "base = \"ideal-32die\"\n[flash]\ndice = 3\n");
    place.ssdlab(&["check", "bad.toml"]).refused("unknown key");
    place.ssdlab(&["check", "t.mqsim", "--as", "job"]).refused("t.mqsim");
    let suspend =
        "[features.suspend]\nprogram_us = 20\nresume_us = 5\nmost_per_operation = 4\nleast_progress_us = 10\n";
    place.file("d.toml", format!("base = \"ideal-16k\"\n{suspend}"));
    for (reads_first, notices) in [(false, 1), (true, 0)] {
        let drive = format!("[flash]\ndie = \"d.toml\"\n[controller]\nreads_first = {reads_first}\n");
        place.file("s.toml", format!("base = \"ideal-16k-32die\"\n{drive}"));
        let said = place.ssdlab(&["check", "raid0(s.toml*2)"]).done();
        let notice = "notice: s.toml: features.suspend of the die has no effect where host reads do not go first";
        assert_eq!(said.err.matches(notice).count(), notices, "{}", said.err);
    }
}

#[test]
fn n27_tests_and_replays_write_a_review_and_two_results_can_be_compared() {
    let place = Place::new("27");
    place.file("t.mqsim", "0 0 8 8 1\n5000 0 16 8 0\n9000 0 8 8 1\n");
    place.ssdlab(&["replay", "t.mqsim", "small.toml", "--out", "replayed"]).done();
    let test = |depth: &str, out: &str| {
        place.ssdlab(&["test", "random-read", "small.toml", "seconds=1", depth, "--out", out]).done()
    };
    test("queue_depth=1", "one");
    test("queue_depth=4", "four");
    for folder in ["replayed", "one", "four"] {
        for file in ["index.html", "results.json", "series", "charts"] {
            assert!(place.path(folder).join(file).exists(), "{folder}/{file}");
        }
    }
    let said = place.ssdlab(&["compare", "one", "four/results.json"]).done();
    assert!(said.out.contains("random-read") && said.out.contains(" %"), "{}", said.out);
    let json = place.ssdlab(&["compare", "one/results.json", "one/results.json", "--json"]).done();
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let figures = document["figures"].as_array().unwrap();
    assert!(figures.len() > 5 && figures.iter().all(|f| f["first"] == f["second"]));
    place.ssdlab(&["compare", "one/results.json", "replayed/results.json"]).refused("no test in common");
    place.ssdlab(&["compare", "one/results.json", "t.mqsim"]).refused("t.mqsim");
    place.ssdlab(&["compare", "one", "one/series"]).refused("one/series/results.json");
    // What a review has by other settings.
    let args = ["review", "small.toml", "--quick", "--only", "random-read", "--set", "seconds=1", "--out", "set"];
    place.ssdlab(&args).done();
    let results = fs::read_to_string(place.path("set/results.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&results).unwrap();
    assert!(document["results"].as_array().unwrap().iter().all(|r| r["params"]["seconds"] == 1));
    place
        .ssdlab(&["review", "small.toml", "--only", "random-read", "--set", "secunds=1"])
        .refused("did you mean seconds?");
}

#[test]
fn n28_lists_are_there_for_programs_and_completions_know_names() {
    let place = Place::new("28");
    let list = |what: &str| -> serde_json::Value {
        serde_json::from_str(&place.ssdlab(&["list", what, "--json"]).done().out).unwrap()
    };
    assert!(list("devices")["devices"].as_array().unwrap().iter().any(|d| d["name"] == "jmf667h-toshiba-128gb"));
    assert!(list("tests")["tests"].as_array().unwrap().iter().any(|t| t["name"] == "consistency"));
    assert!(list("nand")["dies"].as_array().unwrap().len() > 5);
    for shell in ["bash", "zsh"] {
        let script = place.ssdlab(&["completions", shell]).done().out;
        assert!(script.contains("jmf667h-toshiba-128gb") && script.contains("consistency"), "{shell}");
    }
}

#[test]
fn n29_reports_and_logs_of_a_run_overwrite_nothing() {
    let place = Place::new("29");
    place.file("j.fio", job("write_bw_log=mine\nlog_avg_msec=10\n")).file("mine_bw.1.log", "kept");
    place
        .ssdlab(&["run", "j.fio", DRIVE, "--output", "nowhere/r.json", "--log-dir", "elsewhere"])
        .refused("cannot write nowhere/r.json: there is no folder nowhere");
    place.ssdlab(&["run", "j.fio", DRIVE]).refused("mine_bw.1.log is there already");
    assert_eq!(fs::read_to_string(place.path("mine_bw.1.log")).unwrap(), "kept");
    place
        .ssdlab(&["run", "j.fio", DRIVE, "--log-dir", "logs", "--output", "r.json", "--output-format", "json+"])
        .done();
    assert_eq!(fs::read_to_string(place.path("logs/mine_bw.1.log")).unwrap().lines().count(), 10);
    assert!(fs::read_to_string(place.path("r.json")).unwrap().contains("\"bins\""));
    place
        .ssdlab(&["run", "j.fio", DRIVE, "--log-dir", "elsewhere", "--output", "r.json"])
        .refused("r.json is there already");
    place.ssdlab(&["run", "j.fio", DRIVE, "--log-dir", "logs", "--output", "r.json", "--force"]).done();
}

/// Not even the system's administrator writes into a program that runs.
#[test]
#[cfg(target_os = "linux")]
fn n29_a_log_that_cannot_be_written_is_told_before_anything_runs() {
    let place = Place::new("29-log");
    let log = place.path("mine_bw.1.log");
    fs::copy("/bin/sleep", &log).unwrap();
    let mut runs = Command::new(&log).arg("60").spawn().unwrap();
    place.file("j.fio", job("write_bw_log=mine\n"));
    // Some kernels let a program that runs be written.
    if fs::OpenOptions::new().write(true).open(&log).is_err() {
        place.ssdlab(&["run", "j.fio", DRIVE, "--force"]).refused("mine_bw.1.log: ");
    }
    runs.kill().unwrap();
    runs.wait().unwrap();
}

#[test]
fn n30_predictions_of_a_folder_that_is_not_there_are_refused() {
    Place::new("30").ssdlab(&["predict", "--dir", "nowhere"]).refused("there is no folder nowhere");
}

#[test]
fn n31_runs_with_different_settings_are_compared_with_what_differs() {
    let place = Place::new("31");
    for (block, file) in [("4096", "a.json"), ("131072", "b.json")] {
        let block = format!("block_size={block}");
        let said =
            place.ssdlab(&["test", "random-read", DRIVE, "--set", "seconds=1", "--set", &block, "--json"]).done();
        place.file(file, said.out);
    }
    let said = place.ssdlab(&["compare", "a.json", "b.json"]).done();
    assert!(said.out.contains("  not the same: block_size is 4096 and 131072\n"), "{}", said.out);
    assert!(!place.ssdlab(&["compare", "a.json", "a.json"]).done().out.contains("not the same"));
    let said = place.ssdlab(&["compare", "a.json", "b.json", "--json"]).done();
    let document: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let setting = &document["figures"][0]["settings"][0];
    assert_eq!((setting["key"].as_str(), setting["second"].as_u64()), (Some("block_size"), Some(131_072)));
}

#[test]
fn n32_what_keeps_a_prediction_from_being_made_is_said_before_the_work() {
    let place = Place::new("32");
    let predict = |device: &str, dir: &str| place.ssdlab(&["predict", device, "--dir", dir]);
    predict("bx200-480gb", "p").refused("published figures of bx200-480gb are known");
    fs::create_dir(place.path("spoilt")).unwrap();
    place.file("occupied", "kept").file("spoilt/package.json", "{}");
    predict(DRIVE, "occupied").refused("occupied: ");
    assert_eq!(fs::read_to_string(place.path("occupied")).unwrap(), "kept");
    predict("jmf667h-pair", "p").refused("jmf667h-pair is no single SSD");
    predict(DRIVE, "occupied/p").refused("occupied/p: ");
    predict(DRIVE, "spoilt").refused("spoilt/package.json: it is no prediction: missing field `schema`");
    place.ssdlab(&["predict", DRIVE, DRIVE, "--dir", "p"]).refused("small.toml is named twice");
}

#[test]
fn n33_what_was_run_in_small_says_so_in_words() {
    let place = Place::new("33");
    place.file(
        "m.toml",
        "drive = \"small.toml\"\n[[unknown]]\nkey = \"controller.read_unit_us\"\nleast = 1\nmost = 50\n\
         [[measurement]]\ntest = \"random-read\"\nmetric = \"latency_mean\"\nvalue = 130\ntolerance_percent = 1\nsource = \"me\"\n\
         set = { queue_depth = 1, seconds = 1, settle_seconds = 0 }\n",
    );
    let calibrate = |more: &[&str]| place.ssdlab(&[&["calibrate", "m.toml", "--runs", "1"], more].concat()).done().out;
    let (full, quick) = (calibrate(&[]), calibrate(&["--quick"]));
    assert!(quick.contains("after 1 drive, each an eighth of the drive for an eighth of the time, seed 1"), "{quick}");
    assert!(quick.contains("fit without --quick before a value is taken over"), "{quick}");
    assert!(quick.contains("not looked for  not looked for") && !quick.contains("open  open"), "{quick}");
    assert!(!full.contains("an eighth"), "{full}");
    let said = place
        .ssdlab(&["sensitivity", DRIVE, "--only", "random-read", "--key", "controller.read_latency_us", "--quick"])
        .done();
    assert!(said.out.contains(", of an eighth of the drive for an eighth of the time, seed 1"), "{}", said.out);
    let only = |test: &str| place.ssdlab(&["sensitivity", DRIVE, "--only", test, "--quick"]);
    only("heavy").refused("no headline figure comes from heavy in a quick run");
    let said = only("trim").refused("no headline figure comes from trim");
    assert!(!said.err.contains("quick"), "{}", said.err);
}

#[test]
fn n34_a_review_of_tests_alone_is_refused() {
    let place = Place::new("34");
    place.ssdlab(&["review", "--only", "trim", "atto"]).refused("no drive is named: trim, atto are tests to run");
    assert!(!place.path("review").exists());
}

#[test]
fn n35_options_that_a_command_does_not_have_are_not_advised_and_those_without_a_use_refused() {
    let place = Place::new("35");
    place.file("nt.bin", [0, 1, 2, 3]);
    let said = place.ssdlab(&["check", "nt.bin"]).refused("the format of the trace nt.bin is not recognised");
    assert!(said.err.contains("name what it is with --as"), "{}", said.err);
    fs::create_dir(place.path("p")).unwrap();
    for options in [&["--by", "5"][..], &["--key", "gc."], &["--seed", "2"], &["--quick"], &["--keep", "k"]] {
        let said = place.ssdlab(&[&["predict", "--dir", "p"], options].concat());
        said.refused(&format!("{} is about drives that are predicted, and none is named", options[0]));
    }
    assert!(!place.path("k").exists());
    let written = r#"{ "schema": "ssdlab.written/1", "command": "review", "files": { "index.html": "0" } }"#;
    fs::create_dir_all(place.path("out/.ssdlab")).unwrap();
    place.file("out/.ssdlab/written.json", written).file("out/index.html", "");
    place.file("m.toml", "drive = \"small.toml\"\n[[unknown]]\nkey = \"controller.read_unit_us\"\nleast = 1\nmost = 50\n\
         [[measurement]]\ntest = \"random-read\"\nmetric = \"latency_mean\"\nvalue = 130\ntolerance_percent = 1\nsource = \"me\"\n");
    let said = place
        .ssdlab(&["calibrate", "m.toml", "--keep", "out"])
        .refused("out/index.html is what `ssdlab review` has written");
    assert!(!said.err.contains("--force"), "{}", said.err);
}

#[test]
fn n36_a_verdict_is_one_also_where_nobody_reads() {
    let place = Place::new("36");
    let missed = "[[claim]]\nid = \"o-1\"\ndevices = [\"small.toml\"]\nquantity = \"sequential read\"\npublished = \"540 MB/s\"\nsource = \"me\"\n\
        check.value = { test = \"sequential-read\", metric = \"bandwidth\", value = 540.0, unit = \"MB/s\", tolerance_percent = 5, \
        params = { seconds = 1 } }\n";
    place.file("figures.toml", missed);
    let mut command = place.command(&["claims", DRIVE, "--figures", "figures.toml", "--strict"]);
    // A pipe without a reader.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = command.stdout(writer).stderr(Stdio::null()).status().unwrap();
    assert_eq!(ended.code(), Some(1));
}

#[test]
fn n37_negative_numbers_of_options_are_told_their_range() {
    let place = Place::new("37");
    let most = u64::MAX;
    for (line, range) in [
        ("test random-write small.toml --seed -1", format!("0 to {most}")),
        ("test random-write small.toml --specimens -1", "1..=1000".to_owned()),
        ("replay m.csv small.toml --queue-depth -1", "1..=65536".to_owned()),
        ("run s.fio small.toml --rest -5", "0..=31536000".to_owned()),
        ("run s.fio small.toml --from a --stored-days -5", "0..=36500".to_owned()),
        ("review small.toml --threads -1", "1..=65535".to_owned()),
        ("sensitivity small.toml --by -5", "above 0 and below 100".to_owned()),
        ("predict small.toml --by -5", "above 0 and below 100".to_owned()),
        ("calibrate m.toml --runs -1", "1..=100000".to_owned()),
        ("torture -1", format!("0 to {most}")),
        ("torture --runs -1", "1..=1000000000".to_owned()),
        ("attach small.toml --time-scale -1", "from 0.01 to 1000000".to_owned()),
        ("attach small.toml --connections -1", "1..=1000".to_owned()),
    ] {
        let said = place.ssdlab(&line.split(' ').collect::<Vec<_>>()).refused("error: invalid value '-");
        assert!(said.err.contains(&range) && !said.err.contains("tip:"), "{line}: {}", said.err);
    }
}

#[test]
fn n38_options_without_an_effect_are_not_taken_in_silence() {
    let place = Place::new("38");
    place.file("j.fio", job("")).file("v.fio", job("rate_iops=${RATE}\nfilename=${FILE}\n"));
    place
        .ssdlab(&["attach", DRIVE, "--off-for", "3s", "--run", "true"])
        .refused("--off-for is about --cut-at and --cut-every, and neither is there");
    place.ssdlab(&["run", "j.fio", DRIVE, "--var", "FOO=3"]).refused("no line of the job file has the variable `FOO`");
    // Of an option that is ignored, too, a line has it.
    place.ssdlab(&["run", "v.fio", DRIVE, "--var", "RATE=100", "--var", "FILE=/dev/sdb"]).done();
    let said = place.ssdlab(&["run", "j.fio", DRIVE, "--log-dir", "nowhere"]).done();
    assert!(
        said.err.contains("notice: no job asks for a log, so that nothing is written into nowhere"),
        "{}",
        said.err
    );
    place
        .ssdlab(&["attach", DRIVE, "--memory", "5", "--run", "true"])
        .refused("--memory 5: 5 bytes hold no page of 4096");
    place.ssdlab(&["attach", DRIVE, "--memory", "five", "--run", "true"]).refused("`five` is no size");
}

#[test]
fn n39_advice_can_be_followed_where_it_is_given() {
    let place = Place::new("39");
    place.file("v.fio", job("rate_iops=${RATE}\n"));
    let said =
        place.ssdlab(&["check", "v.fio"]).refused("the variable `RATE` has no value; the environment gives it one");
    assert!(said.err.contains("as in RATE=VALUE ssdlab"), "{}", said.err);
    let mut command = place.command(&["check", "v.fio"]);
    command.env("RATE", "100");
    Said::of(command).done();
    let said = place.ssdlab(&["test", "random-write", DRIVE, "--set", "dies=4"]).refused("has no parameter `dies`");
    assert!(said.err.contains("did you mean `flash.dies` of the drive file?"), "{}", said.err);
    for other in [DRIVE, "ideal-32die", "raid0(ideal-32die*2, stripe=128KiB)"] {
        let said = place.ssdlab(&["test", "random-write", DRIVE, other]).refused("test takes one drive, and ");
        assert!(said.err.contains("`ssdlab review` compares several"), "{}", said.err);
    }
    place.ssdlab(&["test", "random-write", DRIVE, "seconds"]).refused("`seconds` is not a setting");
}

#[test]
fn n40_one_drive_file_under_two_paths_is_one_drive() {
    let place = Place::new("40");
    place.ssdlab(&["review", DRIVE, "./small.toml", "--only", "atto"]).refused("./small.toml is named twice");
    let arrays = ["raid0(small.toml*2)", "raid0(./small.toml*2)"];
    place.ssdlab(&["review", arrays[0], arrays[1], "--only", "atto"]).refused("raid0(./small.toml*2) is named twice");
    assert!(!place.path("review").exists());
    let figure = "[[claim]]\nid = \"o-1\"\ndevices = [\"small.toml\"]\nquantity = \"reads\"\npublished = \"40 us\"\nsource = \"me\"\n\
        check.value = { test = \"random-read\", metric = \"latency_mean\", value = 40.0, unit = \"us\", tolerance_percent = 5 }\n";
    place.file("figures.toml", figure);
    place.ssdlab(&["claims", DRIVE, "./small.toml", "--figures", "figures.toml"]).refused("small.toml is named twice");
}

#[test]
fn n41_a_job_file_that_is_stopped_takes_the_place_of_no_whole_page() {
    let place = Place::new("41");
    let job = |runtime: u32| format!("[a]\nrw=randread\nnorandommap\ntime_based\nruntime={runtime}\nwrite_lat_log=a\n");
    place.file("j.fio", job(1)).file("k.fio", format!("{}[b]\nstonewall\nrw=read\nsize=1m\n", job(4_000)));
    let args = |file| ["run", file, DRIVE, "--prefill", "none", "--log-dir", "logs", "--force", "--out", "out"];
    place.ssdlab(&args("j.fio")).done();
    let whole = fs::read(place.path("out/results.json")).unwrap();
    fs::remove_dir_all(place.path("logs")).unwrap();
    let mut child = place.command(&args("k.fio")).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // Its log shows that the job runs; another file only that one can be written.
    let is_log = |entry: fs::DirEntry| entry.path().extension().is_some_and(|end| end == "log");
    while !fs::read_dir(place.path("logs")).is_ok_and(|mut files| files.any(|file| file.is_ok_and(is_log))) {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("out/unfinished has what has run"), "{said}");
    assert!(whole == fs::read(place.path("out/results.json")).unwrap());
    let read = |name| fs::read_to_string(place.path("out/unfinished").join(name)).unwrap();
    let document: serde_json::Value = serde_json::from_str(&read("results.json")).unwrap();
    assert_eq!(document["complete"], false);
    let left_out = document["left_out"].as_array().unwrap().iter().map(|l| (&l["variant"], &l["unfinished"]));
    assert_eq!(left_out.collect::<Vec<_>>(), [(&"a".into(), &true.into()), (&"b".into(), &true.into())]);
    assert_eq!(document["results"][0]["variant"], "a");
    assert!(read("index.html").contains("What is below is of the others, and of these as far as they ran."));
    place.ssdlab(&args("j.fio")).done();
    assert!(!place.path("out/unfinished").exists());
}
