//! Traces replayed on the model device: 8 ways, reads of 100 us.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ssdlab_bench::Monitor;
use ssdlab_bench::model::{ModelDevice, ModelSpec};
use ssdlab_bench::replay::{ReplayError, ReplaySpec, Replayed, Speed, replay_file};
use ssdlab_bench::{BenchError, Lab, PoweredOn};
use ssdlab_core::{MICROSECOND, MILLISECOND, Nanos, SECOND};
use ssdlab_device::{Completion, Counters, Device, DeviceInfo, Refusal, Request};
use ssdlab_workload::trace::{Devices, Fit, PlacementSpec, TraceError};

/// Writes a trace file in MQSim's format: time in ns, device, sector, sectors, 1 for a read.
fn trace(name: &str, lines: &[(u64, u32, u64, u64, u32)]) -> ReplaySpec {
    let mut text = String::new();
    for (at, device, sector, sectors, read) in lines {
        writeln!(text, "{at} {device} {sector} {sectors} {read}").unwrap();
    }
    file(name, &text)
}

fn file(name: &str, text: &str) -> ReplaySpec {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    ReplaySpec::new(&path)
}

fn replay(spec: &ReplaySpec) -> Replayed {
    replay_file(spec, &ModelSpec::default(), &Monitor::silent()).unwrap_or_else(|e| panic!("{e}"))
}

/// Fails the test if a device is made: what is wrong with a trace is found before.
struct NoDevice;

impl Lab for NoDevice {
    fn fresh(&self, _seed: u64) -> Result<PoweredOn, String> {
        panic!("a device was made")
    }

    fn name(&self) -> &str {
        "none"
    }
}

fn refused(spec: &ReplaySpec) -> ReplayError {
    replay_file(spec, &NoDevice, &Monitor::silent()).unwrap_err()
}

#[test]
fn a_trace_that_writes_little_of_the_drive_says_so() {
    let lab = ModelSpec { tells_of_flash: true, ..ModelSpec::default() };
    let notes = |writes: u64, prefill: bool| {
        let lines: Vec<_> = (0..writes).map(|i| (i * MICROSECOND, 0, i * 2048, 2048, 0)).collect();
        let spec = ReplaySpec { prefill, ..trace(&format!("little-{writes}-{prefill}.mqsim"), &lines) };
        let replayed = replay_file(&spec, &lab, &Monitor::silent()).unwrap_or_else(|e| panic!("{e}"));
        replayed.outcome().notes.join(" ")
    };
    // 1 and 16 MiB of 64 MB.
    let said = notes(1, true);
    assert!(said.contains("The trace has written 1.6 % of the drive. What the drive programs meanwhile"), "{said}");
    assert!(!notes(16, true).contains("The trace has written"));
    let said = notes(1, false);
    assert!(said.contains("The trace has written 1.6 % of the drive, and nothing lay there before."), "{said}");
}

/// Somebody writes to the trace when the drive is made, which is between the two readings: its new text, or what is added.
struct WrittenMeanwhile<'a>(&'a Path, &'a str);

impl Lab for WrittenMeanwhile<'_> {
    fn fresh(&self, _seed: u64) -> Result<PoweredOn, String> {
        std::fs::write(self.0, self.1).map_err(|e| e.to_string())?;
        Ok(PoweredOn::new(ModelDevice::new(ModelSpec::default())))
    }

    fn name(&self) -> &str {
        "model"
    }
}

#[test]
fn a_trace_that_grows_is_replayed_as_it_was_and_one_that_changes_is_refused() {
    // The last line is caught in the middle of a number. The blanks leave room for another line in as many bytes.
    let first = "                0,8,4096,R,1.2\n0,8,4096,R,1.3";
    let then = |name: &str, text: &str| {
        let spec = file(name, first);
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        replay_file(&spec, &WrittenMeanwhile(&path, text), &Monitor::silent())
    };
    for (name, added) in [("rest.spc", "00001\n0,8,"), ("line.spc", "\n0,8,4096,W,1.4\n"), ("words.spc", "\nnonsense")]
    {
        let replayed = then(name, &format!("{first}{added}")).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((replayed.summary.requests, replayed.summary.duration), (2, 100 * MILLISECOND));
        assert!(replayed.grew && replayed.text().contains("The trace grew while it was replayed"), "{name}");
    }
    assert!(!then("still.spc", first).unwrap_or_else(|e| panic!("{e}")).grew);
    // Another request, one less, and one more in as many bytes.
    let (other, less) = ("0,8,4096,R,1.2\n0,8,4096,W,1.3", "0,8,4096,R,1.2\n");
    let more = "0,8,4096,R,1.2\n0,8,4096,R,1.3\n0,8,4096,R,1.4";
    for (name, text) in [("other.spc", other), ("less.spc", less), ("more.spc", more)] {
        let error = then(name, text).unwrap_err();
        assert!(matches!(error, ReplayError::Changed { .. }), "{name}: {error}");
    }
}

#[test]
fn requests_are_sent_when_they_arrived_and_lag_when_the_tags_run_out() {
    let arrivals = [0, 10, 20, 30, 500].map(|us| (7 * SECOND + us * MICROSECOND, 0, us * 8, 8, 1));
    let mut spec = trace("lag.mqsim", &arrivals);
    spec.queue_depth = 2;
    let r = replay(&spec);
    let lag = r.lag.as_ref().unwrap();
    assert_eq!((lag.delayed, lag.distribution.max()), (2, 80 * MICROSECOND));
    assert_eq!(r.measurement.elapsed(), 600 * MICROSECOND);
    let metrics = r.outcome().metrics;
    assert_eq!((metrics["lag_max"].value, metrics["latency_max"].value), (80.0, 100.0));
    let text = r.text();
    assert!(text.contains("Replay lag: 2 of 5 commands were sent later than they arrived"), "{text}");
    // It took a fifth longer than they came, and five commands have no 99th percentile.
    assert!(!text.contains("as the trace sends") && !metrics.contains_key("latency_p99"), "{text}");
    let of_reads = text.lines().find(|line| line.starts_with("  read, from arrival")).unwrap();
    assert_eq!(of_reads.split_whitespace().filter(|&cell| cell == "-").count(), 3, "{text}");
}

/// What is told of a trace of 100 reads whose time stamps, in nanoseconds, come of a function.
fn notes_of(name: &str, speed: Speed, at: impl Fn(u64) -> u64) -> String {
    let lines: Vec<_> = (0..100).map(|i| (at(i), 0, i * 8, 8, 1)).collect();
    let mut spec = trace(name, &lines);
    spec.speed = speed;
    replay(&spec).outcome().notes.join("\n")
}

#[test]
fn stamps_that_are_coarse_or_go_back_make_bursts_and_that_is_told() {
    let whole_seconds = |i: u64| 5 * SECOND + i / 40 * SECOND;
    let said = notes_of("seconds.mqsim", Speed::RECORDED, whole_seconds);
    let words =
        "lie whole multiples of 1.00 s apart, and 97 of its 100 requests bear that of the one before them. Waits";
    assert!(said.contains(words), "{said}");
    let said = notes_of("one-stamp.mqsim", Speed::RECORDED, |_| 7);
    assert!(said.contains("All requests of the trace bear one time stamp. Waits for a tag"), "{said}");
    // Without times there are no bursts; where no two stamps are alike or they are fine, neither.
    for (name, speed, at) in [
        ("asap.mqsim", Speed::AsSoonAsPossible, &whole_seconds as &dyn Fn(u64) -> u64),
        ("apart.mqsim", Speed::RECORDED, &|i| i * SECOND),
        ("fine.mqsim", Speed::RECORDED, &|i| i / 2 * 3 * MICROSECOND),
    ] {
        let said = notes_of(name, speed, at);
        assert!(!said.contains("bear"), "{name}: {said}");
    }
    // The clock of a host is set back once: all that follows is one burst, though only one step goes back.
    let set_back = |i: u64| if i == 50 { 3600 * SECOND } else { i * MILLISECOND };
    let said = notes_of("back.mqsim", Speed::RECORDED, set_back);
    let words =
        "Adjusted: 49 requests were stamped earlier than one before them, by up to 3599.95 s, and arrived together";
    assert!(said.contains(words) && said.contains("bursts that may never have been: sort"), "{said}");
    let said = notes_of("back-asap.mqsim", Speed::AsSoonAsPossible, set_back);
    assert!(said.contains("3599.95 s; they were sent in the order of the file."), "{said}");
}

#[test]
fn a_drive_that_falls_behind_is_told_as_such_first() {
    let lines: Vec<_> = (0..400).map(|i| (i * MICROSECOND, 0, i * 8, 8, 1)).collect();
    let r = replay(&trace("behind.mqsim", &lines));
    let text = r.text();
    assert!(
        text.contains("The replay took 5.01 ms where the trace sends for 399.0 us: the drive fell behind"),
        "{text}"
    );
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is not in {text}"));
    assert!(at("delayed   ") < at("read, from arrival") && at("read, from arrival") < at("read, from sending"));
    assert!(!r.outcome().notes.iter().any(|note| note.contains("bear")));
    let slow: Vec<_> = (0..400).map(|i| (i * MILLISECOND, 0, i * 8, 8, 1)).collect();
    let text = replay(&trace("not-behind.mqsim", &slow)).text();
    assert!(!text.contains("delayed") && !text.contains("fell behind"), "{text}");
}

#[test]
fn a_second_that_the_replay_did_not_last_through_is_no_dip() {
    let lines: Vec<_> = (0..2300).map(|i| (i * MILLISECOND, 0, i * 8, 8, 1)).collect();
    let outcome = replay(&trace("dip.mqsim", &lines)).outcome();
    let rates: Vec<f64> = outcome.charts[0].series[0].points.iter().map(|p| p[1]).collect();
    assert_eq!(rates, [1000.0, 1000.0]);
    let short = replay(&trace("short.mqsim", &lines[..300])).outcome();
    assert_eq!(short.charts[0].series[0].points.len(), 1, "a replay of less than a second has its dot");
}

#[test]
fn that_unaligned_writes_are_read_first_is_said_of_flash_and_of_writes_only() {
    let (read, write, whole_write) = ((0, 0, 63, 8, 1), (1, 0, 63, 8, 0), (2, 0, 64, 8, 0));
    let said = |name: &str, tells_of_flash: bool, lines: &[_]| {
        let lab = ModelSpec { tells_of_flash, ..ModelSpec::default() };
        let replayed = replay_file(&trace(name, lines), &lab, &Monitor::silent()).unwrap_or_else(|e| panic!("{e}"));
        replayed.outcome().notes.join(" ")
    };
    assert!(said("flash-write.mqsim", true, &[write]).contains("; such writes make the drive read before it writes."));
    let notes = said("flash-both.mqsim", true, &[read, write, whole_write]);
    let words = "2 requests of the trace do not begin and end on 4 KiB boundaries; the 1 writes among them make";
    assert!(notes.contains(words), "{notes}");
    // Writes that are whole are not to blame for reads that are not.
    for (name, flash, lines) in
        [("flash-read.mqsim", true, &[read, whole_write][..]), ("disk-write.mqsim", false, &[write])]
    {
        let notes = said(name, flash, lines);
        assert!(notes.contains("on 4 KiB boundaries.") && !notes.contains("read before"), "{notes}");
    }
}

#[test]
fn counts_and_bytes_are_those_of_the_file() {
    let lines: Vec<_> = (0..900).map(|i| (i * MILLISECOND, 0, i * 64, 1 + i % 16, u32::from(i % 3 != 0))).collect();
    let r = replay(&trace("counts.mqsim", &lines));
    let sectors = |read: u32| lines.iter().filter(|l| l.4 == read).map(|l| l.3).sum::<u64>() as f64;
    assert!(r.text().contains("MB/s, as the trace sends them"), "{}", r.text());
    let m = r.outcome().metrics;
    let value = |key: &str| m[key].value;
    assert_eq!([value("trace_requests"), value("trace_reads"), value("trace_writes")], [900.0, 600.0, 300.0]);
    assert_eq!(value("trace_read_bytes"), sectors(1) * 512.0);
    assert_eq!(value("trace_write_bytes"), sectors(0) * 512.0);
    assert_eq!((r.counters.host.reads, r.counters.host.writes), (600, 300));
    assert_eq!((r.counters.host.read_bytes + r.counters.host.write_bytes) as f64, value("placed_bytes"));
    assert_eq!(value("waf"), r.counters.waf().unwrap());
    assert_eq!(r.outcome().time_shares.iter().map(|s| s.ios).sum::<u64>(), 900);
    assert_eq!(r.outcome().slowest.len(), 10);
}

#[test]
fn a_factor_changes_the_times_and_asap_ignores_them() {
    let lines: Vec<_> = (0..101).map(|i| (i * SECOND, 0, i * 8, 8, 1)).collect();
    let mut spec = trace("speed.mqsim", &lines);
    assert_eq!(replay(&spec).measurement.elapsed(), 100 * SECOND + 100 * MICROSECOND);
    spec.speed = Speed::Times(4.0);
    assert_eq!(replay(&spec).measurement.elapsed(), 25 * SECOND + 100 * MICROSECOND);
    spec.speed = Speed::AsSoonAsPossible;
    spec.queue_depth = 4;
    let r = replay(&spec);
    assert_eq!((r.measurement.requests(), r.measurement.elapsed()), (101, 26 * 100 * MICROSECOND));
    assert!(r.lag.is_none() && !r.outcome().metrics.contains_key("lag_max"));
}

#[test]
fn asap_sends_every_request_even_if_all_are_widened() {
    // Smaller than a sector: each becomes 512 bytes, far more than the file holds.
    let mut text = "fio version 2 iolog\nd add\nd open\n".to_owned();
    for i in 0..50 {
        writeln!(text, "d read {} 1", i * 4096 + 7).unwrap();
    }
    let mut spec = file("tiny.iolog", &text);
    spec.speed = Speed::AsSoonAsPossible;
    let r = replay(&spec);
    assert_eq!((r.summary.read_bytes, r.placement.widened_bytes), (50, 50 * 511));
    assert_eq!((r.measurement.requests(), r.measurement.bytes()), (50, 50 * 512));
}

#[test]
fn a_week_of_idle_time_costs_nothing_and_fits_a_chart() {
    let r = replay(&trace("week.mqsim", &[(0, 0, 0, 8, 1), (7 * 86_400 * SECOND, 0, 0, 8, 0)]));
    assert_eq!(r.measurement.requests(), 2);
    let chart = &r.outcome().charts[0];
    assert!((3000..=3601).contains(&chart.series[0].points.len()), "{}", chart.series[0].points.len());
    assert_eq!(
        chart.caption,
        "One dot every 168 seconds: the mean of that time. What came after the last whole one is left out."
    );
}

#[test]
fn what_lies_beyond_the_drive_is_brought_onto_it_as_asked_and_told() {
    // Two devices of 100 MB on a drive of 64 MB; the last request crosses the end of the drive.
    let lines = [(0, 5, 200_000, 8, 1), (1, 9, 200_000, 8, 0), (2, 5, 124_992, 16, 0)];
    let mut spec = trace("beyond.mqsim", &lines);
    let notes = |spec: &ReplaySpec| replay(spec).outcome().notes.join("\n");
    let wrapped = notes(&spec);
    assert!(wrapped.contains("2 devices of the trace share the drive"), "{wrapped}");
    assert!(wrapped.contains("2 requests were moved"), "{wrapped}");
    assert!(wrapped.contains("1 requests crossed the end of the drive and were split"), "{wrapped}");
    let span = |spec: &ReplaySpec| replay(spec).placement.trace_span_bytes;
    let side_by_side = span(&spec);
    spec.placement = PlacementSpec { devices: Devices::Folded, ..Default::default() };
    assert_eq!(span(&spec) * 2, side_by_side);
    spec.placement = PlacementSpec { fit: Fit::Scale, ..Default::default() };
    let r = replay(&spec);
    assert_eq!(r.placement.commands, r.measurement.requests());
    assert_eq!(r.outcome().params["placement"], "scale");
}

#[test]
fn a_broken_trace_is_refused_before_a_device_is_made() {
    let e = refused(&file("truncated.mqsim", "0 0 0 8 1\n5 0 8 8 0\n9 0 16"));
    assert!(matches!(e, ReplayError::Trace(TraceError::Line { line: 3, .. })), "{e}");
    let e = refused(&file("nothing.iolog", "fio version 2 iolog\nd add\nd open\n"));
    assert!(matches!(e, ReplayError::NoRequest { .. }), "{e}");
    let e = refused(&trace("long.mqsim", &[(0, 0, 0, 8, 1), (400 * 86_400 * SECOND, 0, 0, 8, 1)]));
    assert!(matches!(e, ReplayError::TooLong { .. }), "{e}");
    let missing = ReplaySpec::new(&PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("missing.mqsim"));
    let e = refused(&missing);
    assert!(matches!(e, ReplayError::Trace(TraceError::Read { .. })), "{e}");
}

/// A drive with another idea of itself, which fails the test if it is sent anything that it refuses.
pub struct Other(pub fn(&mut DeviceInfo));

struct OtherDevice {
    info: DeviceInfo,
    inner: ModelDevice,
}

impl Lab for Other {
    fn fresh(&self, _seed: u64) -> Result<PoweredOn, String> {
        let inner = ModelDevice::new(ModelSpec::default());
        let mut info = inner.info().clone();
        (self.0)(&mut info);
        Ok(PoweredOn::new(OtherDevice { info, inner }))
    }

    fn name(&self) -> &str {
        "other"
    }
}

impl Device for OtherDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request).unwrap_or_else(|e| panic!("it was sent {request:?}: {e}"));
        self.inner.submit(now, request)
    }

    fn next_event(&self) -> Option<Nanos> {
        self.inner.next_event()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        self.inner.advance(to, done);
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn check_books(&self) -> Result<(), String> {
        self.inner.check_books()
    }
}

#[test]
fn requests_are_widened_to_the_sectors_of_the_drive() {
    let spec = trace("large-sectors.mqsim", &[(0, 0, 0, 8, 1), (1, 0, 63, 8, 0)]);
    let lab = Other(|info| info.sector_bytes = 4096);
    let r = replay_file(&spec, &lab, &Monitor::silent()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((r.placement.widened, r.placement.placed_bytes), (1, 3 * 4096));
    assert!(r.text().contains("Adjusted: 1 requests were widened to whole sectors"), "{}", r.text());
}

#[test]
fn a_drive_that_may_only_be_read_is_sent_nothing_of_a_trace_that_writes() {
    let lab = Other(|info| info.read_only = true);
    let mut spec = trace("late-write.mqsim", &[(0, 0, 0, 8, 1), (SECOND, 0, 8, 8, 0)]);
    for prefill in [true, false] {
        spec.prefill = prefill;
        let e = replay_file(&spec, &lab, &Monitor::silent()).unwrap_err();
        assert_eq!(e.to_string(), "write: the device may only be read");
    }
    let mut spec = trace("only-reads.mqsim", &[(0, 0, 0, 8, 1)]);
    spec.prefill = false;
    replay_file(&spec, &lab, &Monitor::silent()).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn a_drive_without_room_for_a_block_is_refused() {
    let lab = Other(|info| info.capacity_bytes = 512);
    let e = replay_file(&trace("no-room.mqsim", &[(0, 0, 0, 1, 1)]), &lab, &Monitor::silent()).unwrap_err();
    assert!(matches!(&e, ReplayError::Bench(BenchError::Unsuitable(_))), "{e}");
    assert_eq!(e.to_string(), "other has 512 bytes; a trace is replayed on 4096 at least");
}

#[test]
fn a_trace_that_is_too_long_as_recorded_can_be_replayed_faster() {
    let mut spec = trace("sped-up.mqsim", &[(0, 0, 0, 8, 1), (400 * 86_400 * SECOND, 0, 0, 8, 1)]);
    spec.speed = Speed::Times(1e6);
    assert_eq!(replay(&spec).measurement.requests(), 2);
    // As soon as possible, two reads take no longer than they take, whenever they were recorded.
    for days in [400, 100_000] {
        let mut spec = trace("long-ago.mqsim", &[(0, 0, 0, 8, 1), (days * 86_400 * SECOND, 0, 0, 8, 1)]);
        spec.speed = Speed::AsSoonAsPossible;
        let r = replay(&spec);
        assert_eq!((r.summary.duration, r.measurement.elapsed()), (days * 86_400 * SECOND, 100 * MICROSECOND));
    }
}

#[test]
fn a_replay_that_takes_a_drive_longer_than_the_limit_ends_in_an_error() {
    // Two reads of 200 days each, one after the other.
    let lab = ModelSpec { read: 200 * 86_400 * SECOND, ..ModelSpec::default() };
    for speed in [Speed::AsSoonAsPossible, Speed::RECORDED] {
        let mut spec = trace("slow-drive.mqsim", &[(0, 0, 0, 8, 1), (1000, 0, 0, 8, 1)]);
        (spec.speed, spec.queue_depth, spec.prefill) = (speed, 1, false);
        let e = replay_file(&spec, &lab, &Monitor::silent()).unwrap_err();
        assert!(e.to_string().contains("had not ended after 31622400.00 s of simulated time"), "{e}");
    }
}

#[test]
fn the_drive_is_filled_first_unless_asked_otherwise() {
    let mut spec = trace("fill.mqsim", &[(0, 0, 0, 8, 0)]);
    assert!(replay(&spec).outcome().method.starts_with("The drive was new; it was written once in sequence"));
    spec.prefill = false;
    let r = replay(&spec);
    assert!(r.outcome().method.starts_with("The drive was new, and nothing had been written to it."));
    assert_eq!(r.counters.host.write_bytes, 4096);
}

#[test]
fn a_drive_that_keeps_no_timeline_is_refused_before_it_is_filled() {
    let mut spec = trace("no-timeline.mqsim", &[(0, 0, 0, 8, 1)]);
    spec.timeline = true;
    // Whoever fills a drive hears of it.
    let cancel = AtomicBool::new(true);
    let e = replay_file(&spec, &ModelSpec::default(), &Monitor::new(&|_| {}, &cancel)).unwrap_err();
    assert!(matches!(e, ReplayError::Bench(BenchError::Unsuitable(_))), "{e}");
}

#[test]
fn no_tags_is_an_error() {
    let mut spec = trace("no-tags.mqsim", &[(0, 0, 0, 8, 1)]);
    spec.queue_depth = 0;
    let e = replay_file(&spec, &ModelSpec::default(), &Monitor::silent()).unwrap_err();
    assert!(matches!(e, ReplayError::Bench(BenchError::Host(_))), "{e}");
}
