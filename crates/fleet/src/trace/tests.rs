use ssdlab_bench::Monitor;
use ssdlab_bench::model::{ModelDevice, ModelSpec};

use super::*;
use crate::class::{Class, Task, Work};

const CAPACITY: u64 = 64 << 20;
const SPAN: u64 = CAPACITY / 100 * 80 / (128 << 10) * (128 << 10);

fn held(text: &str) -> TraceSource {
    TraceSource::Held { name: "held".to_owned(), bytes: text.as_bytes().into() }
}

/// Lines of blkparse, of (letters, sector, sectors).
fn trace(requests: &[(&str, u64, u64)]) -> TraceSource {
    let line = |(i, r): (usize, &(&str, u64, u64))| format!("8,0 0 1 0.{i:09} 0 D {} {} + {}\n", r.0, r.1, r.2);
    held(&requests.iter().enumerate().map(line).collect::<String>())
}

fn class(requests: u64, read_bytes: u64, write_bytes: u64, scale: Option<f64>) -> Class {
    Class {
        name: "traced".to_owned(),
        weight: 1.0,
        drive_writes_per_day: 1.0,
        spread: 0.0,
        fill_percent: 80,
        random_percent: 75,
        block_bytes: 4096,
        hot_percent: None,
        read_percent: 50,
        queue_depth: 4,
        trace: Some(TracedWork {
            name: "held".to_owned(),
            format: None,
            digest: String::new(),
            requests,
            read_bytes,
            write_bytes,
            scale,
        }),
    }
}

fn device() -> ModelDevice {
    ModelDevice::new(ModelSpec { capacity_bytes: CAPACITY, ..ModelSpec::default() })
}

fn traced(class: &Class, source: &TraceSource, by: u32, seed: u64) -> Result<Traced, BenchError> {
    let (mut device, monitor) = (device(), Monitor::silent());
    let host = Host::new(&mut device, &monitor);
    let what = class.trace.as_ref().expect("a class with a trace");
    Traced::new(what, source, &host, SPAN, by, &Rng::new(seed))
}

fn commands(traced: &mut Traced, bytes: f64) -> Vec<Command> {
    traced.allow(bytes);
    let taken = std::iter::from_fn(|| traced.next()).collect();
    traced.fault().expect("a sound trace");
    taken
}

/// Three writes of 8 KiB in pieces of their own, and a read.
const FOUR: [(&str, u64, u64); 4] = [("W", 0, 16), ("W", 4096, 16), ("R", 0, 8), ("W", 8192, 16)];

#[test]
fn a_trace_goes_round_turned_by_an_offset_of_its_own() {
    let (class, source) = (class(4, 4096, 3 * 8192, Some(1.0)), trace(&FOUR));
    let mut one = traced(&class, &source, 1, 1).expect("a trace that fits");
    let pass = one.pass_bytes(CAPACITY).expect("short");
    assert_eq!(pass as u64, 3 * 8192);
    let (first, second) = (commands(&mut one, pass), commands(&mut one, pass));
    assert_eq!((first.len(), &first), (4, &second));
    assert!(first.iter().all(|c| c.offset_bytes % UNIT == 0 && c.offset_bytes + c.length_bytes <= SPAN));
    let apart = |c: &[Command], i: usize| (c[i].offset_bytes + SPAN - c[0].offset_bytes) % SPAN;
    assert_eq!((apart(&first, 1), apart(&first, 2), apart(&first, 3)), (2 << 20, 0, 4 << 20));
    let mut other = traced(&class, &source, 1, 2).expect("a trace that fits");
    assert_ne!(commands(&mut other, pass)[0].offset_bytes, first[0].offset_bytes);
}

#[test]
fn a_scale_stretches_addresses_and_a_drive_in_small_shrinks_them() {
    let source = trace(&FOUR);
    let apart = |scale, by| {
        let mut traced = traced(&class(4, 4096, 3 * 8192, scale), &source, by, 1).expect("a trace that fits");
        let c = commands(&mut traced, 3.0 * 8192.0);
        [1, 3].map(|i| ((c[i].offset_bytes + SPAN - c[0].offset_bytes) % SPAN) >> 20)
    };
    assert_eq!(apart(Some(4.0), 1), [8, 16]);
    assert_eq!(apart(Some(4.0), 2), [4, 8]);
    // Five pieces over the 51 of the data.
    assert_eq!(apart(None, 1), [2 * 51 / 5, 4 * 51 / 5]);
}

#[test]
fn what_is_kept_and_what_is_read_again_are_the_same() {
    let requests: Vec<_> =
        (0..500).map(|i| (if i % 3 == 0 { "R" } else { "W" }, i * 7919 % 200_000, 8 + i % 64)).collect();
    let source = trace(&requests);
    let mut summary = TraceSummary::default();
    source.open(None).expect("a trace").for_each(|r| summary.add(&r.expect("a request")));
    let class = class(summary.requests, summary.read_bytes, summary.write_bytes, None);
    let mut kept = traced(&class, &source, 1, 1).expect("a trace that fits");
    let mut again = traced(&class, &source, 1, 1).expect("a trace that fits");
    assert!(kept.kept.is_some());
    again.kept = None;
    let bytes = 3.5 * summary.write_bytes as f64;
    let of_kept = commands(&mut kept, bytes);
    assert_eq!(of_kept, commands(&mut again, bytes));
    let moved: u64 = of_kept.iter().filter(|c| c.op == Op::Write).map(|c| c.length_bytes).sum();
    assert!(moved as f64 >= bytes && of_kept.len() > 1500);
}

#[test]
fn a_request_over_the_end_goes_on_at_the_beginning() {
    let sectors = SPAN / 512;
    let requests: Vec<_> = (0..64).map(|i| ("W", i * sectors / 64, sectors / 64)).collect();
    let class = class(64, 0, SPAN / 64 / 512 * 512 * 64, Some(1.0));
    let mut traced = traced(&class, &trace(&requests), 1, 1).expect("a trace that fits");
    let c = commands(&mut traced, SPAN as f64 / 64.0 * 64.0 - 4096.0);
    assert_eq!(c.len(), 65, "one of them is cut in two");
    let mut covered: Vec<_> = c.iter().map(|c| (c.offset_bytes, c.length_bytes)).collect();
    covered.sort_unstable();
    assert!(covered.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0) && covered[0].0 == 0);
}

#[test]
fn a_trace_that_cannot_be_is_refused_in_words() {
    let refused = |class: &Class, source: &TraceSource| {
        let (mut device, monitor) = (device(), Monitor::silent());
        let host = Host::new(&mut device, &monitor);
        let task = Task { class, trace: Some(source), by: 1, seed: 1 };
        Work::new(&task, &host).map(|_| ()).expect_err("refused").to_string()
    };
    let source = trace(&FOUR);
    assert!(refused(&class(5, 4096, 3 * 8192, None), &source).contains("held: was changed"));
    let much: Vec<_> = (0..1100).map(|i| ("W", i % 4, 2048)).collect();
    assert!(refused(&class(1100, 0, 1100 << 20, None), &trace(&much)).contains("17.2 times as much"));
    assert!(refused(&class(1, 0, 512, None), &held("nothing")).contains("format"));
    let words = |class: Class| class.check().expect_err("cannot be");
    assert!(words(class(4, 4096, 0, None)).contains("writes nothing"));
    assert!(words(class(4, 100_000, 1000, None)).contains("reads 100 bytes"));
    assert!(words(class(4, 0, 4096, Some(0.0))).contains("scale is 0"));
    assert!((class(4, 4096, 8192, None).reads_per_write() - 0.5).abs() < 1e-12);
}

#[test]
fn a_trace_that_changes_between_two_passes_ends_the_work() {
    let path = std::env::temp_dir().join(format!("ssdlab-fleet-{}.blkparse", std::process::id()));
    let text = |n: u64| (0..n).map(|i| format!("8,0 0 1 0.{i:09} 0 D W {} + 8\n", i * 8)).collect::<String>();
    std::fs::write(&path, text(9)).expect("a file");
    let mut traced = traced(&class(9, 0, 9 * 4096, None), &path.as_path().into(), 1, 1).expect("a trace that fits");
    traced.kept = None;
    assert_eq!(commands(&mut traced, 9.0 * 4096.0).len(), 9);
    std::fs::write(&path, text(8)).expect("a file");
    // The file that is open is written anew, or read again: shorter either way.
    traced.allow(1e9);
    let went_on = std::iter::from_fn(|| traced.next()).count();
    let fault = traced.fault().expect_err("it has changed").to_string();
    std::fs::remove_file(&path).expect("it was there");
    assert!(went_on < 10 && fault.contains("was changed while it was replayed"), "{went_on}: {fault}");
}
