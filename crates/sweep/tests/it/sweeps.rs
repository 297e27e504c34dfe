//! Sweeps of small drives from beginning to end.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ssdlab_bench::Metric;
use ssdlab_sweep::{Better, Plan, PointResult, Progress, State, Store, Sweep, Table, What, sweep, write_results};

/// Four drives of 32 MiB that settle in a moment, and one that cannot be.
const PLAN: &str = r#"
title = "Small drives"
drive = "ideal-16k-32die"
[set]
capacity_bytes = 33554432
flash.dies = 4
die.geometry.pages_per_block = 8
die.geometry.page_bytes = 4096
[grid]
flash.exact_spare_per_10000 = [0, 2000, 5000]
gc.policy = ["greedy", "random"]
[[test]]
name = "steady-state"
set.fill = "aged"
set.settle_seconds = 0
"#;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ssdlab-sweeps-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn points(&self) -> Vec<PathBuf> {
        let mut points: Vec<PathBuf> =
            fs::read_dir(self.0.join("points")).unwrap().map(|e| e.unwrap().path()).collect();
        points.sort();
        points
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn plan() -> Plan {
    Plan::parse("small.toml", PLAN).unwrap_or_else(|e| panic!("{e}"))
}

fn run(plan: &Plan, folder: &Folder, threads: usize) -> Sweep {
    let store = Store::open(&folder.0).unwrap();
    sweep(plan, &store, NonZeroUsize::new(threads), &|_| {}, &AtomicBool::new(false)).unwrap()
}

fn csv(plan: &Plan, result: &Sweep) -> String {
    Table::new(plan, &result.states).to_csv()
}

#[test]
fn the_same_bytes_at_any_number_of_threads_and_nothing_is_run_twice() {
    let plan = plan();
    let (one, three) = (Folder::new("one"), Folder::new("three"));
    let first = run(&plan, &one, 1);
    assert_eq!((first.run, first.found), (4, 0), "two of six are known to be impossible");
    let expected = csv(&plan, &first);
    assert_eq!(csv(&plan, &run(&plan, &three, 3)), expected);
    let again = run(&plan, &one, 2);
    assert_eq!((again.run, again.found, csv(&plan, &again)), (0, 4, expected));
    // The page, too.
    write_results(&one.0, &plan, &first.states, "0").unwrap();
    write_results(&three.0, &plan, &again.states, "0").unwrap();
    for file in ["index.html", "results.csv"] {
        assert_eq!(fs::read(one.0.join(file)).unwrap(), fs::read(three.0.join(file)).unwrap(), "{file}");
    }
}

#[test]
fn drives_that_map_by_log_blocks_can_be_swept() {
    let plan = "drive = \"mtron-mobi-3000-16gb\"\n[[test]]\nname = \"random-write\"\n[test.set]\nseconds = 1\nspan_bytes = \"64MB\"\n";
    let plan = Plan::parse("log-blocks.toml", plan).unwrap_or_else(|e| panic!("{e}"));
    let swept = run(&plan, &Folder::new("log-blocks"), 1);
    assert!(matches!(&swept.states[..], [State::Done(PointResult::Finished { .. })]), "{:?}", swept.states);
}

#[test]
fn a_sweep_that_was_stopped_goes_on_where_it_was() {
    let plan = plan();
    let whole = csv(&plan, &run(&plan, &Folder::new("whole"), 2));
    let folder = Folder::new("stopped");
    let store = Store::open(&folder.0).unwrap();
    let cancel = AtomicBool::new(false);
    let seen = AtomicUsize::new(0);
    let progress = |p: Progress| {
        assert!((0.0..=1.0).contains(&p.done) && p.to_run == 4, "{p:?}");
        seen.fetch_max(p.finished, Ordering::Relaxed);
        if p.finished >= 2 {
            cancel.store(true, Ordering::Relaxed);
        }
    };
    let stopped = sweep(&plan, &store, NonZeroUsize::new(1), &progress, &cancel).unwrap();
    assert_eq!((seen.load(Ordering::Relaxed), stopped.run), (2, 2));
    assert_eq!(stopped.states.iter().filter(|s| **s == State::NotRun).count(), 2);
    // What there is has names of its own, and says what is missing.
    let written = write_results(&folder.0, &plan, &stopped.states, "0").unwrap();
    assert!(written.iter().all(|file| file.file_name().unwrap().to_str().unwrap().starts_with("unfinished.")));
    let table = fs::read_to_string(folder.0.join("unfinished.csv")).unwrap();
    assert_eq!((table.matches(",not run,").count(), table.matches(",finished,").count()), (2, 2), "{table}");
    let page = fs::read_to_string(folder.0.join("unfinished.html")).unwrap();
    assert!(page.contains("<h1>Small drives (unfinished)</h1>"));
    assert!(page.contains("2 of 6 points have not been run: the sweep was stopped"));
    let resumed = run(&plan, &folder, 2);
    assert_eq!((resumed.run, resumed.found), (2, 2));
    assert_eq!(csv(&plan, &resumed), whole);
}

#[test]
fn an_index_has_its_reference() {
    let plan = "title = \"Index\"\ndrive = \"mtron-mobi-3000-16gb\"\n[grid]\nwrite_buffer.flush_after_idle_ms = [10]\n\
                [[test]]\nname = \"storagemark-desktop\"\nset.requests = 1000\n";
    let plan = Plan::parse("index.toml", plan).unwrap_or_else(|e| panic!("{e}"));
    let result = run(&plan, &Folder::new("index"), 1);
    let State::Done(PointResult::Finished { metrics, .. }) = &result.states[0] else { panic!("{:?}", result.states) };
    assert!(metrics["index"].value > 0.0);
}

#[test]
fn spoilt_points_are_noticed_and_run_again() {
    let plan = plan();
    let folder = Folder::new("spoilt");
    let whole = csv(&plan, &run(&plan, &folder, 2));
    let points = folder.points();
    let text = fs::read_to_string(&points[0]).unwrap();
    fs::write(&points[0], &text[..text.len() / 2]).unwrap();
    fs::copy(&points[2], &points[1]).unwrap();
    let again = run(&plan, &folder, 2);
    assert_eq!((again.run, again.found, again.spoilt.len()), (2, 2, 2));
    assert_eq!(csv(&plan, &again), whole);
    assert_eq!(fs::read_to_string(&points[0]).unwrap(), text);
}

#[test]
fn a_plan_that_grows_keeps_what_it_has() {
    let folder = Folder::new("grown");
    run(&plan(), &folder, 2);
    let grown = PLAN.replace("[\"greedy\", \"random\"]", "[\"fifo\", \"random\", \"greedy\"]");
    let grown = Plan::parse("other-name.toml", &grown).unwrap();
    let result = run(&grown, &folder, 2);
    assert_eq!((result.run, result.found), (2, 4));
    // Another parameter is another point.
    let other = PLAN.replace("set.settle_seconds = 0", "set.settle_seconds = 1");
    assert_eq!(run(&Plan::parse("small.toml", &other).unwrap(), &folder, 2).found, 0);
}

#[test]
fn an_impossible_drive_is_a_row_with_its_reason() {
    let plan = plan();
    let result = run(&plan, &Folder::new("impossible"), 2);
    let State::Done(PointResult::Impossible { reason }) = &result.states[0] else { panic!("{:?}", result.states[0]) };
    assert!(reason.contains("flash.exact_spare_per_10000"), "{reason}");
    let csv = csv(&plan, &result);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 7);
    assert!(rows[0].starts_with("point,test,seed,flash.exact_spare_per_10000,gc.policy,status,capacity_bytes (B),spare_percent (%),iops (IOPS)"), "{}", rows[0]);
    assert!(rows[1].starts_with("1,steady-state,1,0,greedy,impossible,,,"), "{}", rows[1]);
    assert!(rows[3].starts_with("3,steady-state,1,2000,greedy,finished,33554432,19.92"), "as built: {}", rows[3]);
}

#[test]
fn figures_are_those_of_the_test_by_itself() {
    // A sweep leaves the breakdown out; that must not move a figure.
    use ssdlab_bench::{Lab, Monitor, PoweredOn, suite};
    use ssdlab_nand::DieSpec;
    use ssdlab_ssd::{DriveSpec, Ssd};
    struct Explained(DriveSpec, DieSpec);
    impl Lab for Explained {
        fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
            Ok(PoweredOn::new(Ssd::new(self.name(), &self.0, &self.1, seed).map_err(|e| e.to_string())?))
        }
        fn name(&self) -> &str {
            "ideal-16k-32die"
        }
    }
    let template = ssdlab_catalog::Template::open("ideal-16k-32die").unwrap();
    let changes = [("capacity_bytes", 33_554_432), ("flash.dies", 4), ("die.geometry.pages_per_block", 8)]
        .into_iter()
        .chain([("die.geometry.page_bytes", 4096), ("flash.exact_spare_per_10000", 2000)]);
    let changes: Vec<_> = changes.map(|(k, v)| (k.to_owned(), toml::Value::Integer(v))).collect();
    let (drive, die) = template.with(&changes).unwrap();
    let settings = [("fill", "aged"), ("settle_seconds", "0")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let test = suite::find_test("steady-state").unwrap();
    let outcome = suite::run_test(test, &Explained(drive, die), &settings, 1, false, &Monitor::silent()).unwrap();
    let result = run(&plan(), &Folder::new("same"), 2);
    let State::Done(PointResult::Finished { metrics, .. }) = &result.states[2] else { panic!("{:?}", result.states) };
    assert_eq!(*metrics, outcome.metrics);
}

#[test]
fn parameters_of_a_test_lists_and_seeds_make_points() {
    let text = r#"
drive = "ideal-16k-32die"
seeds = [1, 2]
[[list]]
flash.dies = 4
controller.channels = 2
[[list]]
controller.channels = 4
flash.dies = 8
[grid]
test.queue_depth = [1, 32]
[[test]]
name = "random-read"
[[test]]
name = "random-write"
"#;
    let plan = Plan::parse("p.toml", text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.points.len(), 16);
    let keys: Vec<&str> = plan.axes.iter().map(|a| a.key.as_str()).collect();
    assert_eq!(keys, ["flash.dies", "controller.channels", "test.queue_depth"]);
    let cells = |i: usize| plan.points[i].cells.iter().map(|c| c.text.as_str()).collect::<Vec<_>>();
    assert_eq!((cells(0), cells(15)), (vec!["4", "2", "1"], vec!["8", "4", "32"]));
    assert_eq!(plan.points[15].settings, [("queue_depth".to_owned(), "32".to_owned())]);
    let mut keys: Vec<&str> = plan.points.iter().map(|p| p.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 16, "every point is its own");
}

#[test]
fn slips_are_pointed_at() {
    let shown = |from: &str, to: &str| {
        assert!(PLAN.contains(from), "{from}");
        Plan::parse("p.toml", &PLAN.replace(from, to)).map(|p| p.points.len()).unwrap_err().to_string()
    };
    let mut missed = Vec::new();
    for (from, to, what, mark) in [
        ("gc.policy", "gc.polcy", "did you mean `gc.policy`?", "11 | gc.polcy"),
        ("\"random\"", "\"randon\"", "did you mean \"random\"?", "                       ^^^^^^^^"),
        ("[0, 2000, 5000]", "2000", "is no list of values", "^^^^"),
        ("[0, 2000, 5000]", "[0, 0]", "stands twice", "^"),
        // The same value: two runs of it would look like a repeat with another seed, and narrow the interval.
        ("[0, 2000, 5000]", "[2000, 2000.0]", "2000.0 stands twice", "^^^^^^"),
        ("[grid]", "[grid]\ntest.block_size = [4096, \"4KiB\"]", "\"4KiB\" stands twice", "^^^^^^"),
        (
            "[grid]",
            "[[list]]\ntest.block_size = 4096\n[[list]]\ntest.block_size = \"4KiB\"\n[grid]",
            "is there twice",
            "11 | [[list]]",
        ),
        ("[grid]", "[[list]]\n[[list]]\ncontroller.ways = 2\n[grid]", "has no keys", "9 | [[list]]"),
        (
            "[grid]",
            "[[list]]\ncontroller.ways = 2\n[[list]]\ncontroller.ways = 2\n[grid]",
            "is there twice",
            "11 | [[list]]",
        ),
        ("[set]", "seeds = [1, 9007199254740993]\n[set]", "seed 9007199254740993 has more digits", "^^^^^^^^^^^^^^^^"),
        ("[0, 2000, 5000]", "[]", "has no values", "^^"),
        ("[grid]", "[gird]", "did you mean `grid`?", "^^^^"),
        ("ideal-16k-32die", "ideal-16k-32dei", "did you mean ideal-16k-32die", "^^^^^^^^^^^^^^^^^"),
        ("steady-state", "steady-sate", "did you mean steady-state?", "^^^^^^^^^^^^^"),
        ("set.fill = \"aged\"", "set.fill = \"old\"", "expected one of sequential, aged", "^^^^^"),
        ("set.fill", "set.filling", "did you mean fill", "^^^^^^"),
        ("flash.dies = 4", "gc.policy = \"fifo\"", "stands in", "^"),
        ("[set]", "[set]\ntest.fill = \"aged\"", "for test steady-state and stands in [set] as well", "5 | test.fill"),
        ("gc.policy = [\"greedy\", \"random\"]", "device = [\"raid1(a*2)\"]", "at character 1 of it", "^^^^^^^^^^^^"),
        ("name = \"steady-state\"", "", "either a `name` or a `job`", "^"),
        ("[[test]]", "[test]", "a list", "^"),
    ] {
        let text = shown(from, to);
        if !(text.contains(what) && text.contains(mark) && text.contains("p.toml:")) {
            missed.push(format!("{from} -> {to}:\n{text}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

const TWO_DEPTHS: &str = r#"
drive = "ideal-16k-32die"
[set]
capacity_bytes = 33554432
flash.dies = 4
die.geometry.pages_per_block = 8
die.geometry.page_bytes = 4096
flash.exact_spare_per_10000 = 2000
[[test]]
name = "random-read"
set.seconds = 1
set.queue_depth = 1
[[test]]
name = "random-read"
set.seconds = 1
set.queue_depth = 4
[charts]
metrics = ["stall_longest", "latency_p99"]
"#;

#[test]
fn tests_of_one_name_are_told_apart_and_the_same_one_is_refused() {
    let plan = Plan::parse("two.toml", TWO_DEPTHS).unwrap_or_else(|e| panic!("{e}"));
    let names: Vec<&str> = plan.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["random-read seconds=1 queue_depth=1", "random-read seconds=1 queue_depth=4"]);
    let error = Plan::parse("two.toml", &TWO_DEPTHS.replace("queue_depth = 4", "queue_depth = 1")).unwrap_err();
    assert!(error.what.contains("has random-read twice"), "{error}");
    let error = Plan::parse("two.toml", &TWO_DEPTHS.replace("drive = ", "seeds = [1, 2, 1]\ndrive = ")).unwrap_err();
    assert!(error.what.contains("seed 1 is there twice"), "{error}");
}

#[test]
fn a_plan_says_the_same_with_tables_in_one_line_and_no_key_stands_twice() {
    let test = |set: &str| {
        let text = format!(
            "drive = \"ideal-32die\"\ntest = [{{ name = \"random-read\", set = {{ {set} }} }}]\nlist = [{{ gc.policy = \"fifo\" }}]\n"
        );
        Plan::parse("inline.toml", &text)
    };
    let plan = test("queue_depth = 1, seconds = 2").unwrap_or_else(|e| panic!("{e}"));
    let What::Test { settings, .. } = &plan.tasks[0].what else { panic!("it is a test") };
    let set: Vec<(&str, &str)> = settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(set, [("queue_depth", "1"), ("seconds", "2")]);
    assert_eq!(plan.axes[0].key, "gc.policy");
    let error = test("no_such_parameter = 7").unwrap_err();
    assert!(error.what.contains("no_such_parameter") && error.place.is_some(), "{error}");
    let twice = "drive = \"ideal-32die\"\n[grid]\ngc.policy = [\"greedy\"]\n\"gc.policy\" = [\"random\"]\n[[test]]\nname = \"random-read\"\n";
    let error = Plan::parse("twice.toml", twice).unwrap_err();
    assert!(error.what.contains("`gc.policy` stands twice"), "{error}");
    assert_eq!(error.place.expect("it has one").line, 4);
}

#[test]
fn what_a_test_notes_of_its_figures_is_in_the_table_and_on_the_page() {
    // A span that the drive does not have.
    let text = TWO_DEPTHS.replace("set.queue_depth = 4", "set.queue_depth = 4\nset.span_bytes = \"1GiB\"");
    let plan = Plan::parse("two.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let folder = Folder::new("notes");
    let result = run(&plan, &folder, 1);
    let noted = |state: &State| match state {
        State::Done(PointResult::Finished { notes, .. }) => notes.clone(),
        other => panic!("{other:?}"),
    };
    let note = noted(&result.states[1]).join(" ");
    assert!(!note.is_empty());
    let quoted = |text: &str| text.replace('"', "\"\"");
    assert!(csv(&plan, &result).contains(&quoted(&note)), "{note}");
    write_results(&folder.0, &plan, &result.states, "0").unwrap();
    let page = fs::read_to_string(folder.0.join("index.html")).unwrap();
    assert!(page.contains("What the tests say of their figures"));
}

/// What one job file gives on a drive, and the plan.
fn of_job(folder: &Folder, drive: &str, text: &str) -> (Plan, State) {
    fs::write(folder.0.join("j.fio"), text).unwrap();
    let plan = folder.0.join("plan.toml");
    fs::write(&plan, format!("drive = \"ideal-32die\"\n{drive}[[test]]\njob = \"j.fio\"\n")).unwrap();
    let plan = Plan::open(plan.to_str().unwrap()).unwrap_or_else(|e| panic!("{e}"));
    let state = run(&plan, folder, 1).states.remove(0);
    (plan, state)
}

/// Four dies of 8 MiB with a fifth of spare area.
const SMALL: &str = "[set]\ncapacity_bytes = 33554432\nflash.dies = 4\nflash.exact_spare_per_10000 = 2000\n\
    die.geometry.pages_per_block = 8\ndie.geometry.page_bytes = 4096\n";

#[test]
fn write_amplification_is_that_of_the_jobs_that_the_rates_are_of() {
    let folder = Folder::new("last-waf");
    let waf = |text: &str| {
        let State::Done(PointResult::Finished { metrics, notes, .. }) = of_job(&folder, SMALL, text).1 else {
            panic!("it can run")
        };
        (metrics["waf"].value, notes)
    };
    let random = "rw=randwrite\nbs=4k\nsize=32m\nio_size=64m\nnorandommap\n";
    let (fill, notes) = waf("[fill]\nrw=write\nbs=1m\nsize=16m\n");
    assert!(fill < 1.1 && notes.is_empty(), "{fill} {notes:?}");
    let after =
        |waits: &str| waf(&format!("[fill]\nrw=write\nbs=1m\nsize=32m\nloops=9\n[random]\n{random}{waits}\n")).0;
    // Nine passes in sequence took no copies, and would hide those of the rest.
    let (stonewall, waited) = (after("stonewall"), after("wait_for=fill"));
    assert!(stonewall > 1.5, "{stonewall}");
    assert!((waited / stonewall - 1.0).abs() < 0.01, "{waited}, {stonewall}");
}

#[test]
fn a_list_of_percentiles_leaves_those_of_the_table_as_they_are() {
    let folder = Folder::new("percentiles");
    let of = |more: &str| match of_job(&folder, SMALL, &format!("[j]\nrw=randread\nbs=4k\nsize=4m\n{more}")).1 {
        State::Done(PointResult::Finished { metrics, .. }) => metrics,
        other => panic!("{other:?}"),
    };
    let plain = of("");
    assert!(plain["read_latency_p99"].value > 0.0);
    assert_eq!(of("percentile_list=90\n"), plain);
}

#[test]
fn a_job_that_only_trims_has_figures_and_one_without_any_is_none() {
    let folder = Folder::new("trims");
    let (_, state) =
        of_job(&folder, &format!("{SMALL}controller.trim_command_us = 10\n"), "[j]\nrw=randtrim\nbs=4k\nsize=4m\n");
    let State::Done(PointResult::Finished { metrics, .. }) = state else { panic!("{state:?}") };
    assert!(metrics["trim_iops"].value > 0.0 && metrics["trim_latency_p99"].value > 0.0, "{metrics:?}");
    let apart = "[a]\nrw=read\nsize=1m\n[b]\nrw=read\nsize=1m\nunified_rw_reporting=1\n";
    let (_, state) = of_job(&folder, SMALL, apart);
    let State::Done(PointResult::Impossible { reason }) = state else { panic!("{state:?}") };
    assert!(reason.starts_with("the jobs give no figure"), "{reason}");
}

#[test]
fn what_is_to_be_known_of_a_job_file_stands_in_the_table() {
    let folder = Folder::new("notices");
    let job =
        "[j]\nrw=randwrite\nbs=4k\nsize=4m\nloops=2\niodepth=32\ndirect=1\nlatency_target=1s\nlatency_window=10s\n";
    let (plan, state) = of_job(&folder, SMALL, job);
    let states = [state];
    let table = Table::new(&plan, &states).to_csv();
    for said in [
        "the queue depth is capped at 1",
        "do not concern the drive: direct",
        "figures of a fresh one",
        "each pass writes the same blocks",
        "the search of latency_target had not ended",
    ] {
        assert!(table.contains(said), "{said}: {table}");
    }
    write_results(&folder.0, &plan, &states, "0").unwrap();
    let page = fs::read_to_string(folder.0.join("index.html")).unwrap();
    assert!(page.contains("the queue depth is capped at 1"));
}

#[test]
fn a_job_is_the_same_point_wherever_its_file_lies_and_whatever_is_said_in_it() {
    let (one, other) = (Folder::new("here"), Folder::new("there"));
    let job = "[j]\nrw=randread\nbs=4k\nsize=1m\n";
    let key = |folder: &Folder, text: &str| of_job(folder, SMALL, text).0.points[0].key.clone();
    let first = key(&one, job);
    assert_eq!(key(&other, &format!("# A comment.\n\n{job}")), first);
    assert_ne!(key(&one, &job.replace("1m", "2m")), first);
}

#[test]
fn rates_of_jobs_that_ran_one_after_the_other_are_not_added() {
    let folder = Folder::new("stages");
    let job = "rw=randread\nbs=4k\nsize=4m\niodepth=4\n";
    let iops = |text: &str| match of_job(&folder, "", text).1 {
        State::Done(PointResult::Finished { metrics, .. }) => metrics["read_iops"].value,
        other => panic!("{other:?}"),
    };
    let one = iops(&format!("[a]\n{job}"));
    let after = iops(&format!("[a]\n{job}[b]\n{job}stonewall\n"));
    let waited = iops(&format!("[a]\n{job}[b]\n{job}wait_for=a\n"));
    let together = iops(&format!("[a]\n{job}[b]\n{job}"));
    assert!((after / one - 1.0).abs() < 0.2, "{after} one after the other, {one} alone");
    assert!((waited / one - 1.0).abs() < 0.2, "{waited} one waiting for the other, {one} alone");
    assert!(together > 1.5 * one, "{together} together, {one} alone");
}

#[test]
fn a_job_that_includes_another_file_is_another_point_when_that_changes() {
    let folder = Folder::new("include");
    fs::write(folder.0.join("j.fio"), "[j]\nrw=randread\nsize=1m\ninclude inc.fio\n").unwrap();
    let plan = folder.0.join("plan.toml");
    fs::write(&plan, "drive = \"ideal-32die\"\n[[test]]\njob = \"j.fio\"\n").unwrap();
    let key = |depth: u32| {
        fs::write(folder.0.join("inc.fio"), format!("ioengine=libaio\niodepth={depth}\n")).unwrap();
        Plan::open(plan.to_str().unwrap()).unwrap_or_else(|e| panic!("{e}")).points[0].key.clone()
    };
    let (one, other) = (key(1), key(32));
    assert_ne!(one, other);
    assert_eq!(key(1), one);
}

#[test]
fn a_key_that_moves_nothing_is_named() {
    let swept = |key: &str, values: &str| {
        let plan = PLAN.replace("gc.policy = [\"greedy\", \"random\"]", &format!("{key} = {values}"));
        Plan::parse("small.toml", &plan).unwrap_or_else(|e| panic!("{e}"))
    };
    let folder = Folder::new("idle");
    // Nothing trims.
    let plan = swept("controller.trim_command_us", "[1, 100]");
    let result = run(&plan, &folder, 2);
    assert_eq!(ssdlab_sweep::keys_without_effect(&plan, &result.states), ["controller.trim_command_us"]);
    write_results(&folder.0, &plan, &result.states, "0").unwrap();
    let page = fs::read_to_string(folder.0.join("index.html")).unwrap();
    assert!(page.contains("controller.trim_command_us moved nothing"));
    let plan = swept("controller.write_command_us", "[1, 100]");
    let result = run(&plan, &folder, 2);
    assert_eq!(ssdlab_sweep::keys_without_effect(&plan, &result.states), <[&str; 0]>::default());
}

#[test]
fn two_spellings_of_one_run_say_nothing_of_a_key() {
    let swept = |values: &str| {
        let text = format!(
            "drive = \"m600-256gb\"\ngrid.over_provisioning_percent = {values}\ntest = [{{ name = \"random-read\" }}]"
        );
        Plan::parse("spellings.toml", &text).unwrap_or_else(|e| panic!("{e}"))
    };
    let finished = || {
        let (capacity_bytes, spare_percent) = (1 << 30, Some(20.0));
        State::Done(PointResult::Finished {
            capacity_bytes,
            spare_percent,
            metrics: BTreeMap::new(),
            notes: Vec::new(),
        })
    };
    let idle = |plan: &Plan| ssdlab_sweep::keys_without_effect(plan, &[finished(), finished()]).len();
    let plan = swept("[20, 20.000000001]");
    assert_eq!(plan.points[0].key, plan.points[1].key, "it is sold in whole sectors");
    assert_eq!((idle(&plan), idle(&swept("[20, 25]"))), (0, 1));
}

#[test]
fn rows_of_a_list_may_spell_a_value_in_two_ways() {
    let row = |size: &str, policy: &str| format!("[[list]]\ntest.block_size = {size}\ngc.policy = \"{policy}\"\n");
    let rows = [("4096", "greedy"), ("\"4KiB\"", "fifo"), ("\"8KiB\"", "fifo"), ("8192", "greedy")];
    let rows: String = rows.iter().map(|(size, policy)| row(size, policy)).collect();
    let text = format!("drive = \"m600-256gb\"\ntest = [{{ name = \"random-read\" }}]\n{rows}");
    let plan = Plan::parse("spellings.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let sizes: Vec<&str> = plan.axes[0].values.iter().map(|value| value.text.as_str()).collect();
    assert_eq!(sizes, ["4096", "8KiB"]);
    let cells: Vec<&str> = plan.points.iter().map(|point| point.cells[0].text.as_str()).collect();
    assert_eq!(cells, ["4096", "4096", "8KiB", "8KiB"]);
    let of_size = |i: usize| {
        let metrics = BTreeMap::from([("iops".to_owned(), ssdlab_bench::Metric::new(i as f64, "IOPS"))]);
        State::Done(PointResult::Finished { capacity_bytes: 1 << 30, spare_percent: None, metrics, notes: Vec::new() })
    };
    let states: Vec<State> = [4, 4, 8, 8].map(of_size).into();
    assert_eq!(ssdlab_sweep::keys_without_effect(&plan, &states), ["gc.policy"]);
}

/// Two capacities that are alike to five digits are two drives.
#[test]
fn values_that_look_alike_are_two_lines() {
    let text = TWO_DEPTHS
        .replace("capacity_bytes = 33554432\n", "")
        .replace(
            "[charts]\n",
            "[grid]\ncapacity_bytes = [134217728, 134221824]\ncontroller.read_command_us = [1, 9]\n[charts]\n",
        )
        .replace(
            "metrics = [\"stall_longest\", \"latency_p99\"]",
            "metrics = [\"iops\"]\nx = [\"controller.read_command_us\"]",
        );
    let plan = Plan::parse("small.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let folder = Folder::new("alike");
    let result = run(&plan, &folder, 2);
    write_results(&folder.0, &plan, &result.states, "0").unwrap();
    let page = fs::read_to_string(folder.0.join("index.html")).unwrap();
    for line in ["capacity 134.22 MB (134217728)", "capacity 134.22 MB (134221824)"] {
        assert!(page.contains(&format!("data-name=\"{line}\"")), "{line}");
    }
}

#[test]
fn a_front_says_which_of_its_points_have_not_settled() {
    let front = "[[charts.pareto]]\nx = \"spare_percent\"\ny = \"waf\"\n";
    let page = |rounds: &str| {
        let text = PLAN.replace("set.settle_seconds = 0", &format!("set.settle_seconds = 0\n{rounds}{front}"));
        let plan = Plan::parse("small.toml", &text).unwrap_or_else(|e| panic!("{e}"));
        let folder = Folder::new("unsettled");
        let result = run(&plan, &folder, 2);
        write_results(&folder.0, &plan, &result.states, "0").unwrap();
        fs::read_to_string(folder.0.join("index.html")).unwrap()
    };
    let settled = page("");
    assert!(settled.contains("2 of 4 points are on the front; better") && !settled.contains("not settled"));
    let unsettled = page("set.max_rounds = 6\n");
    assert!(unsettled.contains("0 of 4 points are on the front, and 4 that did not settle stand beside it; better"));
    assert!(
        unsettled.contains("4 points did not reach a steady state (")
            && unsettled.contains("Not settled: 4 of 4 runs (")
    );
}

#[test]
fn figures_of_several_tests_have_the_name_of_their_test_and_the_part_of_its_run() {
    let text = TWO_DEPTHS
        .replacen("name = \"random-read\"\nset.seconds = 1\nset.queue_depth = 1", "name = \"consistency\"", 1)
        .replace("[\"stall_longest\", \"latency_p99\"]", "[\"iops\"]\npareto = [{ x = \"iops\", y = \"latency_max\" }]")
        .replace("[charts]", "[grid]\ncontroller.read_command_us = [1, 9]\n[charts]");
    let plan = Plan::parse("tests.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let state = |place: usize| {
        let metric = |value: f64, unit: &str| Metric { value, unit: unit.to_owned() };
        let metrics = [("iops", metric(100.0 + place as f64, "IOPS")), ("latency_max", metric(9.0, "us"))];
        let metrics = metrics.map(|(key, metric)| (key.to_owned(), metric)).into();
        State::Done(PointResult::Finished { capacity_bytes: 1 << 25, spare_percent: None, metrics, notes: Vec::new() })
    };
    let states: Vec<State> = (0..plan.points.len()).map(state).collect();
    let page = ssdlab_sweep::page(&plan, &states, "0", Vec::new());
    let titles: Vec<&str> = page.sections.iter().map(|section| section.title.as_str()).collect();
    let of_reads = ["Trade-offs: random-read", "IOPS: random-read"];
    assert_eq!(titles, [&["Trade-offs: consistency", "IOPS, whole run: consistency"], &of_reads[..]].concat());
    let axes: Vec<[&str; 2]> = page
        .sections
        .iter()
        .map(|section| {
            let chart = &section.rows[0].figures[0].chart;
            [chart.x.label.as_str(), chart.y.label.as_str()]
        })
        .collect();
    let read_command = "Read command";
    assert_eq!(axes[0], ["IOPS, whole run", "Latency, worst, whole run"]);
    assert_eq!(axes[1], [read_command, "IOPS, whole run"]);
    assert_eq!(axes[2..], [["IOPS", "Latency, worst"], [read_command, "IOPS"]]);
}

#[test]
fn a_page_of_several_seeds_says_of_how_many_runs_its_figures_are() {
    let text = PLAN.replace("drive = ", "seeds = [1, 2]\ndrive = ").replace("[0, 2000, 5000]", "[2000, 5000]");
    let plan = Plan::parse("small.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let folder = Folder::new("runs");
    let mut states = run(&plan, &folder, 2).states;
    let page = |states: &[State], name: &str| {
        write_results(&folder.0, &plan, states, "0").unwrap();
        fs::read_to_string(folder.0.join(name)).unwrap()
    };
    let whole = page(&states, "index.html");
    assert!(whole.contains("Charts show means of 2 seeds, and") && whole.contains("; results.csv has every run."));
    assert!(!whole.contains("(one run)"));
    states[1] = State::NotRun;
    let stopped = page(&states, "unfinished.html");
    assert!(stopped.contains("Charts show means of the runs finished so far, of up to 2 seeds, and"));
    assert!(stopped.contains("(one run)") && stopped.contains("; unfinished.csv has every run."));
}

#[test]
fn a_page_of_one_drive_over_several_seeds_has_no_empty_sections() {
    let text = TWO_DEPTHS.replace("drive = ", "seeds = [1, 2, 3]\ndrive = ").replace(
        "[\"stall_longest\", \"latency_p99\"]",
        "[\"iops\"]\npareto = [{ x = \"iops\", y = \"latency_max\" }]",
    );
    let plan = Plan::parse("seeds.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let state = |place: usize| {
        let metric = |value: f64, unit: &str| Metric { value, unit: unit.to_owned() };
        let metrics = [("iops", metric(100.0 + place as f64, "IOPS")), ("latency_max", metric(9.0, "us"))];
        let metrics = metrics.map(|(key, metric)| (key.to_owned(), metric)).into();
        State::Done(PointResult::Finished { capacity_bytes: 1 << 25, spare_percent: None, metrics, notes: Vec::new() })
    };
    let states: Vec<State> = (0..plan.points.len()).map(state).collect();
    let page = ssdlab_sweep::page(&plan, &states, "0", Vec::new());
    assert!(page.sections.is_empty(), "{:?}", page.sections.iter().map(|section| &section.title).collect::<Vec<_>>());
    let why = "No key takes more than one value: there is nothing to draw figures against, and no trade-off between drives. \
               results.csv has every run.";
    assert_eq!(page.notes, [why]);
    // Nor is there anything to draw against a key that has one value, where the plan names it.
    let text = format!("{text}x = [\"controller.read_command_us\"]\n[grid]\ncontroller.read_command_us = [1.0]\n");
    let plan = Plan::parse("seeds.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    let page = ssdlab_sweep::page(&plan, &states, "0", Vec::new());
    assert!(page.sections.is_empty() && page.notes == [why], "{:?}", page.notes);
}

#[test]
fn a_front_goes_up_where_the_better_point_begins() {
    let folder = Folder::new("steps");
    let steps = |better: &str| {
        let front = format!("[charts]\n[[charts.pareto]]\nx = \"spare_percent\"\ny = \"waf\"\n{better}");
        let plan = Plan::parse("small.toml", &format!("{PLAN}{front}")).unwrap_or_else(|e| panic!("{e}"));
        let result = run(&plan, &folder, 2);
        write_results(&folder.0, &plan, &result.states, "0").unwrap();
        let page = fs::read_to_string(folder.0.join("index.html")).unwrap();
        let line =
            page.split("<path d=\"").find(|path| path.contains("stroke-opacity=\".6\"")).expect("a line of steps");
        line.split('"').next().unwrap().chars().filter(char::is_ascii_alphabetic).collect::<String>()
    };
    assert_eq!(steps(""), "MHV", "spare area costs: what a point has can be had with more of it");
    assert_eq!(steps("x_better = \"higher\"\ny_better = \"higher\"\n"), "MVH");
}

#[test]
fn what_is_better_follows_from_the_figure() {
    let better = |x: &str| {
        let text = TWO_DEPTHS
            .replace("name = \"random-read\"\nset.seconds = 1\nset.queue_depth = 1", "name = \"consistency\"");
        let text = format!("{text}[[charts.pareto]]\nx = \"{x}\"\ny = \"waf\"\n");
        let plan = Plan::parse("two.toml", &text).unwrap_or_else(|e| panic!("{e}"));
        plan.charts.pareto[0].x_better
    };
    for x in ["iops", "bandwidth", "iops_over_stddev", "capacity_bytes", "iops_mean_tail"] {
        assert_eq!(better(x), Better::Higher, "{x}");
    }
    // How long a drive lasts, and how much its cache takes.
    let of = |test: &str, x: &str| {
        let text = format!(
            "drive = \"ideal-16k-32die\"\n[[test]]\nname = \"{test}\"\n[[charts.pareto]]\nx = \"{x}\"\ny = \"waf\"\n"
        );
        Plan::parse("p.toml", &text).unwrap_or_else(|e| panic!("{e}")).charts.pareto[0].x_better
    };
    for x in ["tb_until_rated", "tb_until_error", "life_at_error", "life_at_error_bch", "ecc_extension"] {
        assert_eq!(of("endurance", x), Better::Higher, "{x}");
    }
    for x in ["stage1_amount", "stage1_end", "recovered_overwrite_60s", "recovered_trim_60s", "stage2_bandwidth"] {
        assert_eq!(of("slc-cache", x), Better::Higher, "{x}");
    }
    for (test, x) in [("endurance", "wear_most"), ("endurance", "reread_rated"), ("slc-cache", "stage1_folded")] {
        assert_eq!(of(test, x), Better::Lower, "{x}");
    }
    for x in ["zero_iops_seconds", "iops_stddev_tail", "iops_autocorrelation_lag", "latency_p99_tail", "stall_longest"]
    {
        assert_eq!(better(x), Better::Lower, "{x}");
    }
}
