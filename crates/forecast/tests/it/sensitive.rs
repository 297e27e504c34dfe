//! What a figure hangs on, where it is known beforehand.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use ssdlab_bench::Metric;
use ssdlab_bench::suite::{TestDef, find_test};
use ssdlab_forecast::{Bench, Figure, KeptTests, NoResult, SEED, Sensitivity, predict, sensitivity};

/// Estimates are those of the drive that it is based on.
const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/small.toml");

/// As large as the mixes of applications need, and quick to fill.
const FOR_MIXES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mixes.toml");

fn random_reads() -> Figure {
    let settings = [("queue_depth", "1"), ("seconds", "1"), ("span_bytes", "64MiB"), ("settle_seconds", "0")];
    Figure {
        title: "random read".to_owned(),
        test: find_test("random-read").expect("it is in the suite"),
        settings: settings.map(|(k, v)| (k.to_owned(), v.to_owned())).into_iter().collect(),
        metric: "latency_mean".to_owned(),
    }
}

fn of(keys: &[&str]) -> Sensitivity {
    keeping(keys, None)
}

fn keeping(keys: &[&str], kept: Option<&dyn KeptTests>) -> Sensitivity {
    of_seed(SMALL, 1, keys, kept)
}

fn of_seed(drive: &str, seed: u64, keys: &[&str], kept: Option<&dyn KeptTests>) -> Sensitivity {
    let never = AtomicBool::new(false);
    let bench = Bench { threads: None, seed, quick: false, progress: &|_, _| {}, cancel: &never, kept };
    let keys: Vec<String> = keys.iter().map(|&k| k.to_owned()).collect();
    sensitivity(drive, &[random_reads()], 10.0, &keys, &bench).unwrap().unwrap()
}

#[test]
fn a_read_alone_hangs_on_the_time_to_read_and_not_on_that_to_erase() {
    let found = of(&["die.timing.read_us", "die.timing.erase_ms"]);
    let figure = &found.figures[0];
    let bar = |key: &str| figure.bars.iter().find(|bar| bar.key == key);
    assert!(bar("die.timing.erase_ms").is_none(), "{figure:?}");
    let (low, high) = bar("die.timing.read_us").expect("it is what a read waits for").ends(figure.value);
    // Lower pages take 60 us, upper pages 90: a tenth of 75 us more and less.
    assert!((high - figure.value - 7.5).abs() < 0.5 && (figure.value - low - 7.5).abs() < 0.5, "{figure:?}");
    assert!(figure.low <= low && figure.high >= high, "{figure:?}");
    assert!(
        figure.bars.iter().all(|bar| bar.key != SEED || bar.ends(figure.value).1 - figure.value < 0.5),
        "{figure:?}"
    );
}

#[test]
fn an_index_has_its_reference_for_every_drive_that_is_run() {
    let never = AtomicBool::new(false);
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &|_, _| {}, cancel: &never, kept: None };
    let index = Figure {
        title: "desktop".to_owned(),
        test: find_test("storagemark-desktop").expect("it is in the suite"),
        settings: BTreeMap::from([("requests".to_owned(), "1000".to_owned())]),
        metric: "index".to_owned(),
    };
    let keys = ["controller.read_command_us".to_owned()];
    let found = sensitivity(FOR_MIXES, &[index], 10.0, &keys, &bench).unwrap().unwrap();
    assert!(found.figures[0].value > 0.0, "{found:?}");
}

#[test]
fn values_that_no_drive_can_have_are_told_of() {
    // Another way to share the dies has no use for what this one is told.
    let found = of(&["gc.host_share"]);
    assert!(found.left_out.iter().any(|l| l.key == "gc.host_share" && l.reason.contains("trickle")), "{found:?}");
}

#[test]
fn keys_that_are_no_estimates_are_refused() {
    let never = AtomicBool::new(false);
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &|_, _| {}, cancel: &never, kept: None };
    for keys in [&["geometry"][..], &["die.timing.read_us", "geometry"]] {
        let keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
        let error = sensitivity(SMALL, &[random_reads()], 10.0, &keys, &bench).unwrap_err().what;
        assert!(error.ends_with("has no estimate whose key begins with `geometry`"), "{error}");
    }
}

#[test]
fn a_test_that_fails_by_a_bug_is_no_property_of_the_drive() {
    let never = AtomicBool::new(false);
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &|_, _| {}, cancel: &never, kept: None };
    // It is in no table, and panics.
    let broken: &'static TestDef = Box::leak(Box::new(TestDef { name: "broken", ..*random_reads().test }));
    let figures = [random_reads(), Figure { test: broken, ..random_reads() }];
    let keys = ["die.timing.read_us".to_owned()];
    let is_told = |none: NoResult| match none {
        NoResult::Failed(why) => {
            assert!(why.starts_with("broken on ") && why.contains("seed 1: the test panicked: "), "{why}");
        }
        other => panic!("{other:?}"),
    };
    is_told(sensitivity(SMALL, &figures, 10.0, &keys, &bench).unwrap().unwrap_err());
    is_told(predict(SMALL, &figures, 10.0, &keys, &bench, &bench).unwrap().unwrap_err());
}

#[test]
fn what_a_file_showed_is_known_of_another_that_says_the_same_of_its_base() {
    let folder = std::env::temp_dir().join(format!("ssdlab-named-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(std::path::Path::new(SMALL).with_file_name("small-die.toml"), folder.join("small-die.toml")).unwrap();
    // They differ in their names alone (without a description, a file has one with its name), and are one specimen of their base.
    let text = format!("description = \"mine\" # none\n{}", std::fs::read_to_string(SMALL).unwrap());
    for name in ["small.toml", "other.toml"] {
        std::fs::write(folder.join(name), &text).unwrap();
    }
    let memory = Memory::default();
    let never = AtomicBool::new(false);
    let kept: Option<&dyn KeptTests> = Some(&memory);
    let bench = Bench { threads: None, seed: 1, quick: false, progress: &|_, _| {}, cancel: &never, kept };
    let keys = ["die.timing.read_us".to_owned()];
    let mut put = Vec::new();
    for name in ["small.toml", "other.toml"] {
        let drive = folder.join(name).display().to_string();
        sensitivity(&drive, &[random_reads()], 10.0, &keys, &bench).unwrap().unwrap();
        put.push(memory.known.lock().unwrap().len());
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(put[0] > 0 && put[1] == put[0], "{put:?}");
}

#[test]
fn progress_is_of_all_tests_and_ends_with_the_last() {
    let told = Mutex::new(Vec::new());
    let progress = |done: usize, of: usize| told.lock().unwrap().push((done, of));
    let (never, memory) = (AtomicBool::new(false), Memory::default());
    let kept: Option<&dyn KeptTests> = Some(&memory);
    let threads = NonZeroUsize::new(1);
    let bench = Bench { threads, seed: 1, quick: false, progress: &progress, cancel: &never, kept };
    let (figures, keys) = ([random_reads()], ["die.timing.read_us".to_owned()]);
    let all = |of: usize| (1..=of).map(|done| (done, of)).collect::<Vec<_>>();
    sensitivity(SMALL, &figures, 10.0, &keys, &bench).unwrap().unwrap();
    // As it is, two other seeds, and both ends of the band.
    assert_eq!(std::mem::take(&mut *told.lock().unwrap()), all(5));
    predict(SMALL, &figures, 10.0, &keys, &bench, &bench).unwrap().unwrap();
    assert_eq!(*told.lock().unwrap(), all(6));
}

/// Tests that have ended, and how many were put here.
#[derive(Default)]
pub struct Memory {
    pub known: Mutex<BTreeMap<String, BTreeMap<String, Metric>>>,
    put: Mutex<usize>,
}

impl KeptTests for Memory {
    fn get(&self, identity: &Value) -> Option<BTreeMap<String, Metric>> {
        self.known.lock().unwrap().get(&identity.to_string()).cloned()
    }

    fn put(&self, identity: &Value, metrics: &BTreeMap<String, Metric>) {
        *self.put.lock().unwrap() += 1;
        self.known.lock().unwrap().insert(identity.to_string(), metrics.clone());
    }
}

#[test]
fn what_has_ended_is_not_run_again_and_each_drive_and_seed_is_another() {
    let keys = ["die.timing.read_us"];
    let memory = Memory::default();
    let folder = std::env::temp_dir().join(format!("ssdlab-seeds-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(std::path::Path::new(SMALL).with_file_name("small-die.toml"), folder.join("small-die.toml")).unwrap();
    let drive = folder.join("small.toml").display().to_string();
    let text = std::fs::read_to_string(SMALL).unwrap().replace("167772160", "171966464");
    std::fs::write(&drive, text).unwrap();
    let (seed, keeping) = (3, |kept| of_seed(&drive, 3, &keys, kept));
    let first = keeping(Some(&memory));
    // As it is, another seed (the second draws too many bad blocks for so much on so small a drive), and the time to read at
    // both ends of its band.
    assert_eq!((*memory.put.lock().unwrap(), memory.known.lock().unwrap().len()), (4, 4), "{first:?}");
    // A band without a seed says so.
    let without: Vec<_> = first.left_out.iter().map(|l| (l.key.as_str(), l.value.as_str())).collect();
    assert_eq!(without, [(SEED, (seed + 2).to_string().as_str())], "{first:?}");
    assert!(first.left_out[0].reason.starts_with("random read: "), "{first:?}");
    memory.known.lock().unwrap().pop_first();
    assert_eq!(keeping(Some(&memory)), first);
    assert_eq!(*memory.put.lock().unwrap(), 5, "only the one that was lost was run");
    assert_eq!(keeping(None), first);
    std::fs::remove_dir_all(&folder).unwrap();
}
