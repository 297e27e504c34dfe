use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use ssdlab_core::{Cause, MICROSECOND, MILLISECOND, Op, Rng, SECOND};
use ssdlab_device::{Completion, Counters, Device, EnergyCounters, Refusal, Request, Status};
use ssdlab_workload::storage_bench::Step;
use ssdlab_workload::{Command, Pattern, Source};

use super::*;
use crate::error::HostError;
use crate::measure::{ByPosition, CountedRun, Measurement, Meter, PerSecond, Split};
use crate::model::{Fault, ModelDevice, ModelSpec};

/// 8 ways of 100 us reads, nothing else.
fn readers() -> ModelDevice {
    ModelDevice::new(ModelSpec::default())
}

fn reads() -> impl Source {
    Pattern::random_read(64_000_000 / 4096 * 4096, 4096).build(&Rng::new(1)).unwrap()
}

/// Yields the commands given.
struct List(std::vec::IntoIter<Command>);

impl Source for List {
    fn next(&mut self) -> Option<Command> {
        self.0.next()
    }
}

fn list(commands: &[(Op, u64, u64)]) -> List {
    let all: Vec<Command> = commands
        .iter()
        .map(|&(op, offset_bytes, length_bytes)| Command { op, offset_bytes, length_bytes, fua: false })
        .collect();
    List(all.into_iter())
}

/// Keeps whole completions.
#[derive(Default)]
struct Log(Vec<(usize, Completion)>);

impl Meter for Log {
    fn record(&mut self, job: usize, io: &Completion) {
        self.0.push((job, *io));
    }
}

fn host<'a>(device: &'a mut ModelDevice, monitor: &'a Monitor<'a>) -> Host<'a> {
    Host::new(device, monitor)
}

#[test]
fn the_closed_loop_meets_the_queueing_table_exactly() {
    // 8 ways of 100 us: QD n gives min(n, 8) / 100 us, and the mean latency follows from Little's law.
    for (depth, iops) in [(1, 10_000), (2, 20_000), (8, 80_000), (16, 80_000), (32, 80_000)] {
        let (mut device, monitor) = (readers(), Monitor::silent());
        let mut m = (Measurement::default(), PerSecond::default());
        host(&mut device, &monitor).run(&mut [Job::new(reads(), depth).for_nanos(3 * SECOND)], &mut m).unwrap();
        assert_eq!(m.0.requests(), 3 * iops, "QD{depth}");
        assert_eq!(m.0.elapsed(), 3 * SECOND);
        assert_eq!(m.0.iops(), iops as f64);
        assert_eq!(m.0.mb_per_s(), iops as f64 * 4096.0 / 1e6);
        assert_eq!(m.1.iops(), [iops as f64; 3]);
        let steady = u64::from(depth.max(8)) * 100 * MICROSECOND / 8;
        assert_eq!(m.0.op(Op::Read).latency.max(), steady, "QD{depth}");
        assert_eq!(m.0.op(Op::Read).breakdown().get(Cause::Read), 3 * iops * 100 * MICROSECOND);
        m.0.check_causes().unwrap();
    }
}

#[test]
fn what_completes_after_the_end_is_waited_for_but_not_measured() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let mut h = host(&mut device, &monitor);
    let mut m = Measurement::default();
    let run = h.run(&mut [Job::new(reads(), 8).for_nanos(150 * MICROSECOND)], &mut m).unwrap();
    assert_eq!((m.requests(), m.elapsed()), (8, 150 * MICROSECOND));
    assert_eq!((run.requests, run.ended), (16, 200 * MICROSECOND));
    assert_eq!(h.now(), 200 * MICROSECOND);
}

#[test]
fn counters_stop_with_the_time_of_a_job_and_with_the_last_request_of_one_that_ends_by_amount() {
    let counted = |job: Job<_>| {
        let spec = ModelSpec { idle_milliwatts: 1_000, nanojoules_per_byte: 0, ..ModelSpec::default() };
        let (mut device, monitor) = (ModelDevice::new(spec), Monitor::silent());
        let mut h = host(&mut device, &monitor);
        let mut meter = (CountedRun::from(h.now(), &h.counters()), Measurement::default());
        h.run(&mut [job], &mut meter).unwrap();
        let (counters, nanos) = meter.0.until(h.now(), &h.counters());
        (counters.nanojoules(), nanos)
    };
    // Of 16 requests, the second 8 are under way when the time is over, and are waited for.
    assert_eq!(counted(Job::new(reads(), 8).for_nanos(150 * MICROSECOND)), (150_000, 150 * MICROSECOND));
    assert_eq!(counted(Job::new(reads(), 8).for_requests(16)), (200_000, 200 * MICROSECOND));
}

#[test]
fn limits_of_bytes_and_requests_and_the_end_of_the_source_stop_a_job() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let mut h = host(&mut device, &monitor);
    assert_eq!(h.run(&mut [Job::new(reads(), 4).for_requests(10)], &mut ()).unwrap().requests, 10);
    assert_eq!(h.run(&mut [Job::new(reads(), 4).for_bytes(10_000)], &mut ()).unwrap().bytes, 12_288);
    let three = list(&[(Op::Read, 0, 512), (Op::Flush, 0, 0), (Op::Trim, 0, 4096)]);
    let mut m = Measurement::default();
    assert_eq!(h.run(&mut [Job::new(three, 4)], &mut m).unwrap().requests, 3);
    assert_eq!(m.ops().map(|(op, _)| op).collect::<Vec<_>>(), [Op::Read, Op::Trim, Op::Flush]);
    assert_eq!(h.run::<List, _>(&mut [], &mut ()).unwrap().requests, 0);
}

#[test]
fn a_large_request_is_split_and_completes_with_its_last_piece() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let mut h = host(&mut device, &monitor);
    let mut log = Log::default();
    // 10.5 MiB in pieces of 1 MiB: 11 commands over 8 ways, so the last three wait for the first eight.
    let bytes = 21 << 19;
    h.run(&mut [Job::new(list(&[(Op::Read, 4096, bytes), (Op::Read, 0, 1 << 20)]), 1)], &mut log).unwrap();
    let [(0, whole), (0, small)] = log.0[..] else { panic!("{} completions", log.0.len()) };
    assert_eq!((whole.offset_bytes, whole.length_bytes, whole.latency()), (4096, bytes, 200 * MICROSECOND));
    assert_eq!(whole.breakdown.sum(), whole.latency());
    assert_eq!(whole.breakdown.get(Cause::Queue), 100 * MICROSECOND);
    assert_eq!((small.length_bytes, small.latency()), (1 << 20, 100 * MICROSECOND));
    assert_eq!(device.counters().host.reads, 12);
    assert_eq!(device.counters().host.read_bytes, bytes + (1 << 20));
}

#[test]
fn the_largest_transfer_is_a_parameter() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let mut h = host(&mut device, &monitor);
    h.set_max_transfer_bytes(ATA_MAX_TRANSFER_BYTES);
    h.run(&mut [Job::new(list(&[(Op::Read, 0, 40 << 20)]), 1)], &mut ()).unwrap();
    assert_eq!(device.counters().host.reads, 2);
}

#[test]
fn think_time_is_spent_between_completion_and_next_request_at_each_place_of_the_queue() {
    for depth in [1, 4] {
        let (mut device, monitor) = (readers(), Monitor::silent());
        let mut m = Measurement::default();
        let job = Job::new(reads(), depth).thinking(150 * MICROSECOND).for_nanos(SECOND);
        host(&mut device, &monitor).run(&mut [job], &mut m).unwrap();
        assert_eq!(m.requests(), u64::from(depth) * 4000);
        assert_eq!(m.op(Op::Read).latency.max(), 100 * MICROSECOND);
    }
}

#[test]
fn jobs_run_side_by_side_with_their_own_depths_limits_and_meters() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let mut meters = vec![Measurement::default(), Measurement::default()];
    let mut jobs = [Job::new(reads(), 2).for_nanos(SECOND), Job::new(reads(), 6).for_nanos(2 * SECOND)];
    host(&mut device, &monitor).run(&mut jobs, &mut meters).unwrap();
    assert_eq!((meters[0].requests(), meters[0].elapsed()), (20_000, SECOND));
    assert_eq!((meters[1].requests(), meters[1].elapsed()), (120_000, 2 * SECOND));
}

#[test]
fn a_job_that_another_limit_ends_is_measured_no_longer_although_others_go_on() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let mut meters = vec![Measurement::default(), Measurement::default()];
    let both = Job::new(reads(), 2).for_nanos(2 * SECOND).for_requests(20_000);
    let mut jobs = [both, Job::new(reads(), 6).for_nanos(2 * SECOND)];
    host(&mut device, &monitor).run(&mut jobs, &mut meters).unwrap();
    assert_eq!((meters[0].requests(), meters[0].elapsed()), (20_000, SECOND));
    assert_eq!((meters[1].requests(), meters[1].elapsed()), (120_000, 2 * SECOND));
}

#[test]
fn a_ramp_is_run_but_not_measured() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let mut m = (Measurement::default(), PerSecond::default());
    let job = Job { ramp: SECOND + 50 * MICROSECOND, ..Job::new(reads(), 1).for_nanos(2 * SECOND) };
    let run = host(&mut device, &monitor).run(&mut [job], &mut m).unwrap();
    assert_eq!((m.0.requests(), m.0.began()), (20_000, SECOND + 50 * MICROSECOND));
    assert_eq!(m.1.iops(), [10_000.0, 10_000.0]);
    assert_eq!(run.requests, 30_001);
}

#[test]
fn seconds_without_a_completion_are_counted_as_zero() {
    let spec = ModelSpec { read: 2 * SECOND + SECOND / 2, ..ModelSpec::default() };
    let (mut device, monitor) = (ModelDevice::new(spec), Monitor::silent());
    let mut m = PerSecond::default();
    host(&mut device, &monitor).run(&mut [Job::new(reads(), 1).for_nanos(6 * SECOND)], &mut m).unwrap();
    assert_eq!(m.iops(), [0.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!(m.seconds()[2].latency_max, 2_500 * MILLISECOND);
}

#[test]
fn head_and_tail_together_are_the_whole_and_the_counters_are_those_of_the_boundary() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let mut m = (Split::after(2 * SECOND), Measurement::default());
    host(&mut device, &monitor).run(&mut [Job::new(reads(), 4).for_nanos(3 * SECOND)], &mut m).unwrap();
    assert_eq!((m.0.tail().requests(), m.0.tail().elapsed()), (40_000, SECOND));
    let (whole, direct) = (m.0.whole(), &m.1);
    assert_eq!((whole.requests(), whole.elapsed(), whole.bytes()), (120_000, 3 * SECOND, direct.bytes()));
    assert_eq!(whole.latency().sum(), direct.latency().sum());
    let tags = |m: &Measurement| m.slowest().iter().map(|c| c.tag).collect::<Vec<_>>();
    assert_eq!(tags(&whole), tags(direct));
    // The device counts what it has accepted.
    assert_eq!(m.0.counters_at_boundary().unwrap().host.reads, 80_000);
}

#[test]
fn a_pass_by_position_shows_where_the_device_is_slow() {
    let spec = ModelSpec { cache_bytes: 0, capacity_bytes: 64 << 20, ..ModelSpec::default() };
    let (mut device, monitor) = (ModelDevice::new(spec.clone()), Monitor::silent());
    let mut h = host(&mut device, &monitor);
    // Scatter the second half by small writes, then draw the curve: 100 MB/s, then a quarter of it.
    let half = spec.capacity_bytes / 2;
    let small = Pattern::sequential_write(spec.capacity_bytes - half, 4096).starting_at(half).passes(1);
    h.run(&mut [Job::new(small.build(&Rng::new(1)).unwrap(), 1)], &mut ()).unwrap();
    h.idle(10 * SECOND).unwrap();
    let mut m = ByPosition::new(spec.capacity_bytes, 2);
    h.fill(0, spec.capacity_bytes, 131_072, 1, &mut m).unwrap();
    let curve = m.curve();
    assert!((curve[0][1] / 98.5 - 1.0).abs() < 0.01 && (curve[1][1] / 24.9 - 1.0).abs() < 0.01, "{curve:?}");
    assert_eq!(m.parts(2), [curve[0][1], curve[1][1]]);
    assert!(m.mean_mb_per_s() > curve[1][1] && m.mean_mb_per_s() < curve[0][1]);
}

#[test]
fn a_replay_sends_at_the_time_of_arrival_and_measures_lag_when_the_tags_run_out() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let mut h = host(&mut device, &monitor);
    h.idle(SECOND).unwrap();
    let command = Command { op: Op::Read, offset_bytes: 0, length_bytes: 4096, fua: false };
    let at = |at| Arrival { at, command };
    let mut log = Log::default();
    // Two tags: the third and fourth arrival wait for them, the fifth does not.
    let arrivals = [0, 10, 20, 30, 500].map(|us| at(us * MICROSECOND));
    let replay = h.replay(arrivals, 2, None, &mut log).unwrap();
    let sent: Vec<u64> = log.0.iter().map(|(_, c)| (c.submitted - SECOND) / MICROSECOND).collect();
    assert_eq!(sent, [0, 10, 100, 110, 500]);
    assert_eq!((replay.delayed, replay.lag.count(), replay.lag.max()), (2, 5, 80 * MICROSECOND));
    assert_eq!((replay.run.requests, replay.run.ended), (5, SECOND + 600 * MICROSECOND));
    let backwards = [at(5), at(4)];
    assert!(matches!(h.replay(backwards, 2, None, &mut ()), Err(HostError::ArrivalOrder { index: 1, at: 4 })));
}

#[test]
fn a_lost_a_misdated_and_a_failed_completion_are_each_found() {
    let run = |fault| {
        let (mut device, monitor) = (readers().with_fault(fault), Monitor::silent());
        host(&mut device, &monitor).run(&mut [Job::new(reads(), 4).for_requests(100)], &mut ()).unwrap_err()
    };
    assert!(matches!(run(Fault::Lose(7)), HostError::Stalled { in_flight: 1, .. }));
    let e = run(Fault::Misdate(7));
    assert!(matches!(e, HostError::Unbalanced(_)), "{e}");
    let e = run(Fault::Fail(7, Status::MediaError));
    assert!(matches!(e, HostError::Failed { status: Status::MediaError, .. }), "{e}");
}

#[test]
fn a_failed_piece_fails_the_request() {
    let (mut device, monitor) = (readers().with_fault(Fault::Fail(0, Status::MediaError)), Monitor::silent());
    let e = host(&mut device, &monitor).run(&mut [Job::new(list(&[(Op::Read, 0, 4 << 20)]), 1)], &mut ());
    assert!(matches!(e, Err(HostError::Failed { length_bytes: 4_194_304, .. })), "{e:?}");
}

#[test]
fn requests_that_no_device_can_serve_are_refused_before_they_are_sent() {
    let capacity = ModelSpec::default().capacity_bytes;
    for (offset, length) in [(capacity, 512), (0, 0), (1, 512), (0, 100), (u64::MAX - 511, 512), (0, capacity + 512)] {
        let (mut device, monitor) = (readers(), Monitor::silent());
        let mut h = host(&mut device, &monitor);
        let e = h.run(&mut [Job::new(list(&[(Op::Write, offset, length)]), 1)], &mut ());
        assert!(matches!(e, Err(HostError::Refused(_))), "{offset} + {length}: {e:?}");
        // Nor has a piece of it been sent.
        assert_eq!(h.run(&mut [Job::new(reads(), 1).for_requests(1)], &mut ()).unwrap().requests, 1);
    }
    let (mut device, monitor) = (readers(), Monitor::silent());
    let e = host(&mut device, &monitor).run(&mut [Job::new(reads(), 0)], &mut ());
    assert_eq!(e.unwrap_err().to_string(), "job 0: the queue depth must be at least 1");
}

#[test]
fn trim_covers_the_whole_range_in_commands_a_host_could_send() {
    let spec = ModelSpec { capacity_bytes: 5_000_003_584 / 4096 * 4096, ..ModelSpec::default() };
    let (mut device, monitor) = (ModelDevice::new(spec.clone()), Monitor::silent());
    let run = host(&mut device, &monitor).trim(0, spec.capacity_bytes).unwrap();
    assert_eq!(run.requests, 3);
    assert_eq!(device.counters().host.trim_bytes, spec.capacity_bytes);
}

#[test]
fn progress_is_reported_every_simulated_second_and_a_cancelled_run_stops_within_one() {
    let seen = RefCell::new(Vec::new());
    let cancel = AtomicBool::new(false);
    let report = |f: f64| {
        seen.borrow_mut().push(f);
        cancel.store(seen.borrow().len() == 3, Ordering::Relaxed);
    };
    let mut device = readers();
    let monitor = Monitor::new(&report, &cancel);
    let mut h = host(&mut device, &monitor);
    let e = h.run(&mut [Job::new(reads(), 4).for_nanos(10 * SECOND)], &mut ());
    assert!(matches!(e, Err(HostError::Cancelled)));
    assert_eq!(*seen.borrow(), [0.1, 0.2, 0.3]);
    assert_eq!(h.now(), 3 * SECOND);
}

#[test]
fn a_secure_erase_takes_its_time_and_the_clock_goes_on_from_there() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let mut h = host(&mut device, &monitor);
    h.idle(5 * SECOND).unwrap();
    h.secure_erase().unwrap();
    assert_eq!(h.now(), 6 * SECOND);
    assert_eq!(h.run(&mut [Job::new(reads(), 1).for_requests(1)], &mut ()).unwrap().started, 6 * SECOND);
}

#[test]
fn a_device_behind_a_pointer_works_as_well() {
    let mut device: Box<dyn Device> = Box::new(readers());
    let monitor = Monitor::silent();
    let mut m = Measurement::default();
    Host::new(&mut *device, &monitor).run(&mut [Job::new(reads(), 1).for_nanos(SECOND)], &mut m).unwrap();
    assert_eq!(m.requests(), 10_000);
    assert_eq!(Counters::default().waf(), None);
}

/// Reads of 4 KiB, each with a depth and a pause.
fn steps(of: &[(u32, u64)]) -> Vec<Step> {
    let command = |i: usize| Command { op: Op::Read, offset_bytes: i as u64 * 4096, length_bytes: 4096, fua: false };
    of.iter().enumerate().map(|(i, &(depth, pause))| Step { command: command(i), depth, pause }).collect()
}

#[test]
fn playback_waits_for_the_depth_and_rests_in_pauses() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let mut log = Log::default();
    // Three at once; a fourth when they have ended (100 us); after a pause of 2 s a fifth, and one beside it.
    let played = steps(&[(1, 0), (2, 0), (3, 0), (1, 0), (1, 2 * SECOND), (2, 0)]);
    let p = host(&mut device, &monitor).play(played, 6, &mut log).unwrap();
    let submitted: Vec<u64> = log.0.iter().map(|(_, c)| c.submitted).collect();
    let resumed = 200 * MICROSECOND + 2 * SECOND;
    assert_eq!(submitted, [0, 0, 0, 100 * MICROSECOND, resumed, resumed]);
    assert_eq!((p.idle, p.busy), (2 * SECOND, 300 * MICROSECOND));
    assert_eq!((p.run.requests, p.run.bytes, p.depth_sum), (6, 6 * 4096, 1 + 2 + 3 + 1 + 1 + 2));
    assert_eq!(p.depths[..3], [3, 2, 1]);
}

/// The model as a real device, whose host is woken 50 us late from each wait that ends without a completion.
struct Late {
    inner: ModelDevice,
    clock: u64,
}

const LATE: u64 = 50 * MICROSECOND;

impl Device for Late {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn submit(&mut self, now: u64, request: Request) -> Result<(), Refusal> {
        self.inner.submit(now, request)
    }

    fn next_event(&self) -> Option<u64> {
        self.inner.next_event()
    }

    fn clock(&self) -> Option<u64> {
        Some(self.clock)
    }

    fn advance(&mut self, to: u64, done: &mut Vec<Completion>) {
        while self.advance_to_completion(to, done) < to {}
    }

    fn advance_to_completion(&mut self, limit: u64, done: &mut Vec<Completion>) -> u64 {
        // It is late already.
        if limit <= self.clock && self.inner.next_event().is_none() {
            return limit;
        }
        let before = done.len();
        let reached = self.inner.advance_to_completion(limit, done);
        self.clock = if done.len() > before { reached } else { reached + LATE };
        reached
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn check_books(&self) -> Result<(), String> {
        self.inner.check_books()
    }
}

#[test]
fn what_a_host_is_woken_late_by_is_no_part_of_a_latency() {
    let (device, monitor) = (|| Late { inner: readers(), clock: 0 }, Monitor::silent());
    let read = 100 * MICROSECOND;
    // Think time.
    let (mut late, mut m) = (device(), Measurement::default());
    let job = Job::new(reads(), 1).thinking(MILLISECOND).for_requests(20);
    Host::new(&mut late, &monitor).run(&mut [job], &mut m).unwrap();
    assert_eq!((m.requests(), m.latency().min(), m.latency().max()), (20, read, read));
    // Recorded times: it is lag, but not for want of a tag.
    let (mut late, mut m) = (device(), Measurement::default());
    let command = Command { op: Op::Read, offset_bytes: 0, length_bytes: 4096, fua: false };
    let arrivals = (1..=20).map(|i| Arrival { at: i * MILLISECOND, command });
    let replay = Host::new(&mut late, &monitor).replay(arrivals, 4, None, &mut m).unwrap();
    assert_eq!((m.latency().min(), m.latency().max()), (read, read));
    assert_eq!((replay.lag.min(), replay.lag.max(), replay.delayed), (LATE, LATE, 0));
    assert_eq!(replay.response[0].1.max(), read + LATE);
    // Pauses of a playback, over the end of a second, too.
    let (mut late, mut m) = (device(), Measurement::default());
    let pause = 1_700 * MILLISECOND;
    let played = Host::new(&mut late, &monitor).play(steps(&[(1, 0), (1, pause), (1, pause)]), 3, &mut m).unwrap();
    assert_eq!((m.latency().min(), m.latency().max(), played.busy), (read, read, 3 * read));
    assert!(played.idle >= 2 * (pause + LATE), "{}", played.idle);
}

/// The model as a real device, whose host takes longer to send a request than the device to answer it.
struct Answered {
    inner: ModelDevice,
    clock: u64,
}

const SENDING: u64 = 200 * MICROSECOND;

impl Device for Answered {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn submit(&mut self, now: u64, request: Request) -> Result<(), Refusal> {
        self.clock = now + SENDING;
        self.inner.submit(now, request)
    }

    fn next_event(&self) -> Option<u64> {
        self.inner.next_event()
    }

    fn clock(&self) -> Option<u64> {
        Some(self.clock)
    }

    fn advance(&mut self, to: u64, done: &mut Vec<Completion>) {
        while self.advance_to_completion(to, done) < to {}
    }

    fn advance_to_completion(&mut self, limit: u64, done: &mut Vec<Completion>) -> u64 {
        if limit > self.clock {
            self.clock = self.inner.advance_to_completion(limit, done);
            return self.clock;
        }
        let before = done.len();
        self.inner.advance(self.clock, done);
        done[before..].iter_mut().for_each(|c| c.completed = self.clock);
        if done.len() > before { self.clock } else { limit }
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn check_books(&self) -> Result<(), String> {
        self.inner.check_books()
    }
}

#[test]
fn in_a_burst_a_real_device_has_its_tags_back_when_it_has_answered() {
    let command = Command { op: Op::Read, offset_bytes: 0, length_bytes: 4096, fua: false };
    let (mut device, monitor) = (Answered { inner: readers(), clock: 0 }, Monitor::silent());
    let mut m = Measurement::default();
    let arrivals = (0..20).map(|_| Arrival { at: 0, command });
    let replay = Host::new(&mut device, &monitor).replay(arrivals, 4, None, &mut m).unwrap();
    assert_eq!((replay.delayed, replay.lag.max()), (0, 19 * SENDING));
    assert_eq!((m.requests(), m.latency().max()), (20, SENDING));
}

/// The model as one of several parts: when another completes something, its meter stays behind.
struct Behind {
    inner: ModelDevice,
    metered_to: u64,
}

impl Device for Behind {
    fn info(&self) -> &DeviceInfo {
        self.inner.info()
    }

    fn submit(&mut self, now: u64, request: Request) -> Result<(), Refusal> {
        self.inner.submit(now, request)
    }

    fn next_event(&self) -> Option<u64> {
        self.inner.next_event()
    }

    fn advance(&mut self, to: u64, done: &mut Vec<Completion>) {
        self.metered_to = to;
        self.inner.advance(to, done);
    }

    fn advance_to_completion(&mut self, limit: u64, done: &mut Vec<Completion>) -> u64 {
        self.inner.advance_to_completion(limit, done)
    }

    fn counters(&self) -> Counters {
        Counters { energy: Some(EnergyCounters { nanojoules: self.metered_to }), ..self.inner.counters() }
    }

    fn check_books(&self) -> Result<(), String> {
        self.inner.check_books()
    }
}

#[test]
fn energy_is_counted_up_to_now_in_parts_that_had_nothing_to_do() {
    let (mut device, monitor) = (Behind { inner: readers(), metered_to: 0 }, Monitor::silent());
    let mut host = Host::new(&mut device, &monitor);
    host.run(&mut [Job::new(reads(), 1).for_requests(20)], &mut Measurement::default()).unwrap();
    assert_eq!((host.now(), host.counters().nanojoules()), (20 * 100 * MICROSECOND, host.now()));
}

#[test]
fn playback_is_not_capped_at_the_drives_own_queue() {
    let (mut device, monitor) = (readers(), Monitor::silent());
    let deep: Vec<(u32, u64)> = (1..=100).map(|d| (d, 0)).collect();
    let mut m = Measurement::default();
    let p = host(&mut device, &monitor).play(steps(&deep), 100, &mut m).unwrap();
    assert_eq!(p.depths[7], 68);
    // 100 reads on 8 ways of 100 us: the last four end in the 13th round.
    assert_eq!(m.latency().max(), 1300 * MICROSECOND);
}

#[test]
fn playback_refuses_a_pause_in_company_and_a_depth_of_nothing() {
    for bad in [(0, 0), (2, 5)] {
        let (mut device, monitor) = (readers(), Monitor::silent());
        let e = host(&mut device, &monitor).play(steps(&[(1, 0), bad]), 2, &mut ()).unwrap_err();
        assert!(matches!(e, HostError::BadJob { .. }), "{e}");
    }
}
