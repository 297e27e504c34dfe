//! What the cache of an adapter promises, whatever the policy.

use std::collections::BTreeMap;

use ssdlab_arrays::{Adapter, AdapterCacheSpec, AdapterKind, AdapterLinkSpec, AdapterSpec, FlushChoice, Raid0};
use ssdlab_core::{Breakdown, Cause, MICROSECOND, MILLISECOND, Nanos, Op, Rng, SECOND};
use ssdlab_device::{Completion, Device, Request, Status};
use ssdlab_disks::{Disk, DiskSpec};

use crate::server::{Server, Service, Span, Written};

fn cache(policy: FlushChoice) -> AdapterCacheSpec {
    AdapterCacheSpec {
        capacity_mib: 1,
        line_kib: 16,
        flush_policy: policy,
        flush_threshold_percent: 50,
        dirty_limit_percent: 75,
        flush_after_idle_ms: 10.0,
        drive_queue_depth: 4,
        merge_kib: 64,
        read_ahead_kib: 0,
        battery: false,
        drive_write_cache: true,
    }
}

fn link() -> AdapterLinkSpec {
    AdapterLinkSpec { name: "PCIe x1".into(), megabytes_per_s: 215.0, command_us: 10.0 }
}

fn adapter(cache: Option<AdapterCacheSpec>, service: Nanos) -> (Adapter, Written) {
    adapter_on(cache, Server::new(64 << 20, Service::Fixed(service), 1))
}

fn adapter_on(cache: Option<AdapterCacheSpec>, server: Server) -> (Adapter, Written) {
    let written = server.written.clone();
    let description = "an adapter".to_owned();
    let spec = AdapterSpec { kind: AdapterKind::Adapter, description, ports: 1, link: link(), cache };
    (Adapter::new("adapter", &spec, Box::new(server)), written)
}

fn run(device: &mut Adapter, now: Nanos, request: Request) -> Completion {
    let mut done = Vec::new();
    device.submit(now, request).unwrap();
    device.advance_to_completion(Nanos::MAX, &mut done);
    assert_eq!((done.len(), done[0].breakdown.sum()), (1, done[0].latency()), "{done:?}");
    done[0]
}

#[test]
fn a_plain_host_adds_its_time_and_its_link() {
    let (mut host, _) = adapter(None, 100 * MICROSECOND);
    let read = run(&mut host, 0, Request::read(1, 0, 4096));
    assert_eq!((read.latency(), read.breakdown.get(Cause::Controller)), (110 * MICROSECOND, 10 * MICROSECOND));
    // 1 MB needs longer on the link than in the device, and passes while it comes.
    let read = run(&mut host, SECOND, Request::read(2, 0, 1_000_448));
    let on_link = 1_000_448 * 1000 / 215;
    assert!(read.latency().abs_diff(10 * MICROSECOND + on_link) < 2 * MICROSECOND, "{read:?}");
    let write = run(&mut host, 2 * SECOND, Request::write(3, 0, 1_000_448));
    assert!(write.latency().abs_diff(read.latency()) < 2 * MICROSECOND, "{write:?}");
    assert_eq!(host.check_books(), Ok(()));
}

#[test]
fn a_write_ends_in_the_cache_and_is_read_from_there() {
    for policy in [FlushChoice::Burst, FlushChoice::Polite] {
        let (mut cached, written) = adapter(Some(cache(policy)), 10 * MILLISECOND);
        let write = run(&mut cached, 0, Request::write(1, 4096, 4096));
        assert!(write.latency() < 40 * MICROSECOND, "{write:?}");
        let read = run(&mut cached, MILLISECOND, Request::read(2, 4096, 4096));
        assert!(read.latency() < 40 * MICROSECOND, "{read:?}");
        assert!(written.lock().unwrap().is_empty(), "the host was not quiet for long enough");
        // Idle time writes it out; then it is clean, and still there.
        cached.advance(SECOND, &mut Vec::new());
        assert_eq!(written.lock().unwrap().len(), 8);
        assert!(run(&mut cached, 2 * SECOND, Request::read(3, 4096, 4096)).latency() < 40 * MICROSECOND);
        let miss = run(&mut cached, 3 * SECOND, Request::read(4, 8192, 4096));
        assert!(miss.latency() > 10 * MILLISECOND && miss.breakdown.get(Cause::Read) == 10 * MILLISECOND);
        let counters = cached.counters().cache.unwrap();
        assert_eq!((counters.read_hits, counters.read_misses, counters.flushed_bytes), (2, 1, 4096));
        assert_eq!(cached.check_books(), Ok(()));
    }
}

/// What the drive read may be of before the write, and the line that has the newer data be gone when the read ends.
#[test]
fn what_was_read_while_a_write_of_the_same_place_landed_is_not_kept() {
    for lands in [false, true] {
        let (mut cached, _) = adapter(Some(cache(FlushChoice::Polite)), 10 * MILLISECOND);
        let mut done = Vec::new();
        cached.submit(0, Request::write(1, 4096, 4096)).unwrap();
        // Without the flush nothing is written out before the host is quiet.
        if lands {
            cached.submit(MILLISECOND, Request::flush(2)).unwrap();
        }
        // On both sides of what is dirty: one read.
        cached.submit(2 * MILLISECOND, Request::read(3, 0, 12_288)).unwrap();
        cached.advance(SECOND, &mut done);
        let again = run(&mut cached, 2 * SECOND, Request::read(4, 0, 4096));
        assert_eq!(again.latency() > 10 * MILLISECOND, lands, "{again:?}");
        assert_eq!(cached.check_books(), Ok(()));
    }
}

#[test]
fn a_flush_means_it_without_a_battery_and_ends_at_once_with_one() {
    for battery in [false, true] {
        let spec = AdapterCacheSpec { battery, ..cache(FlushChoice::Polite) };
        let (mut cached, written) = adapter(Some(spec), 10 * MILLISECOND);
        run(&mut cached, 0, Request::write(1, 0, 512));
        let flush = run(&mut cached, MILLISECOND, Request::flush(2));
        assert_eq!(written.lock().unwrap().contains_key(&0), !battery);
        if battery {
            assert!(flush.latency() < 20 * MICROSECOND, "{flush:?}");
        } else {
            assert_eq!(flush.breakdown.get(Cause::AdapterFlush), 10 * MILLISECOND);
            assert!(flush.latency() > 20 * MILLISECOND, "the device was flushed, too: {flush:?}");
        }
        let forced = run(&mut cached, SECOND, Request::write(3, 1 << 20, 512).with_fua(true));
        assert_eq!(forced.latency() < 20 * MICROSECOND, battery);
        assert_eq!(cached.check_books(), Ok(()));
    }
}

#[test]
fn a_burst_holds_reads_back_and_a_polite_flush_does_not() {
    let waited = |policy| {
        let (mut cached, _) = adapter(Some(cache(policy)), MILLISECOND);
        let mut done = Vec::new();
        // Half of the 64 lines: the threshold. Then a read that the cache cannot answer.
        (0..32).for_each(|tag| cached.submit(0, Request::write(tag, tag * 65_536, 4096)).unwrap());
        cached.advance(MILLISECOND, &mut done);
        cached.submit(MILLISECOND, Request::read(99, 32 << 20, 4096)).unwrap();
        cached.advance(SECOND, &mut done);
        let read = done.iter().find(|c| c.tag == 99).unwrap();
        assert_eq!((read.breakdown.sum(), done.len(), cached.check_books()), (read.latency(), 33, Ok(())));
        (read.latency(), read.breakdown.get(Cause::AdapterFlush), cached.counters().cache.unwrap().held_reads)
    };
    let (burst, held, reads) = waited(FlushChoice::Burst);
    assert!(burst > 25 * MILLISECOND && held > 25 * MILLISECOND && reads == 1, "{burst} {held}");
    let (polite, held, reads) = waited(FlushChoice::Polite);
    assert!(polite < 8 * MILLISECOND && held == 0 && reads == 0, "{polite} {held}");
}

/// A line more is dirty every 0.3 ms, behind the sweep, which takes 0.25 ms for each; and a read at a time that the cache cannot answer.
#[test]
fn a_sweep_ends_although_the_host_goes_on_writing_behind_it() {
    let (mut cached, _) = adapter(Some(cache(FlushChoice::Burst)), MILLISECOND / 4);
    let (mut done, mut longest, mut reads, mut reading) = (Vec::new(), 0, 0u64, false);
    for k in 0..4000u64 {
        let now = k * 300 * MICROSECOND;
        cached.advance(now, &mut done);
        for read in done.drain(..).filter(|c| c.op == Op::Read) {
            longest = longest.max(read.latency());
            (reads, reading) = (reads + 1, false);
        }
        if !reading {
            cached.submit(now, Request::read(1 << 40, (60 << 20) + reads % 512 * 4096, 4096)).unwrap();
            reading = true;
        }
        cached.submit(now, Request::write(k, k % 900 * 65_536, 4096)).unwrap();
    }
    // A sweep has as many lines as can be dirty: 48 of a quarter of a millisecond each.
    assert!(reads > 50 && longest < 15 * MILLISECOND, "{reads} reads, the longest {longest} ns");
}

/// While a sweep waits for its last line, what has become dirty since is not looked through with each of the host's commands. With 50,000
/// such lines that took more than a minute.
#[test]
fn a_sweep_takes_no_longer_for_what_is_for_the_next_one() {
    let spec =
        AdapterCacheSpec { capacity_mib: 1024, line_kib: 4, flush_threshold_percent: 0, ..cache(FlushChoice::Burst) };
    let (mut cached, _) = adapter_on(Some(spec), Server::new(1 << 30, Service::Fixed(1000 * SECOND), 1));
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut done = Vec::new();
        for k in 0..50_000u64 {
            cached.submit(k * 40 * MICROSECOND, Request::write(k, k * 8192, 4096)).unwrap();
            cached.advance((k + 1) * 40 * MICROSECOND, &mut done);
        }
        let counters = cached.counters().cache.unwrap();
        ended.send((done.len(), counters.sweeps, counters.flush_writes, cached.check_books()))
    });
    let told = end.recv_timeout(std::time::Duration::from_secs(60)).expect("it ends in good time");
    assert_eq!(told, (50_000, 1, 1, Ok(())));
}

/// The last line of a sweep, and its neighbour, which is written while the sweep is under way to them.
#[test]
fn a_burst_leaves_a_neighbour_that_became_dirty_meanwhile_to_the_next_sweep() {
    for policy in [FlushChoice::Burst, FlushChoice::Polite] {
        let (mut cached, written) = adapter(Some(cache(policy)), MILLISECOND);
        let mut done = Vec::new();
        // Half of the 64 lines: the threshold. The sweep takes 32 ms.
        (0..32).for_each(|tag| cached.submit(0, Request::write(tag, tag * 65_536, 16_384)).unwrap());
        cached.advance(8 * MILLISECOND, &mut done);
        let (last, neighbour, part) = (31 * 65_536, 31 * 65_536 + 16_384, 30 * 65_536 + 8192);
        cached.submit(8 * MILLISECOND, Request::write(50, neighbour, 16_384)).unwrap();
        // Again a part of a line that has yet to go.
        cached.submit(8 * MILLISECOND, Request::write(51, part, 4096)).unwrap();
        // Not left below the threshold.
        cached.submit(8 * MILLISECOND, Request::flush(52)).unwrap();
        cached.advance(SECOND, &mut done);
        let written = written.lock().unwrap();
        let of = |byte: u64| written[&(byte / 512)].iter().map(|span| (span.sent, span.ended)).collect::<Vec<_>>();
        let (of_last, of_neighbour) = (of(last), of(neighbour));
        assert_eq!((of_last.len(), of_neighbour.len(), of(part).len()), (1, 1, 1), "{policy:?}");
        match policy {
            FlushChoice::Burst => assert!(of_neighbour[0].0 >= of_last[0].1, "{of_last:?} {of_neighbour:?}"),
            FlushChoice::Polite => assert_eq!(of_neighbour, of_last, "one write"),
        }
        let sweeps = cached.counters().cache.unwrap().sweeps;
        assert_eq!((sweeps, cached.check_books()), (if policy == FlushChoice::Burst { 2 } else { 0 }, Ok(())));
    }
}

/// What a drive without a queue is sent one by one waits at the adapter, so that a read waits for one write at most; and a second
/// drive is not kept waiting by the first.
#[test]
fn every_drive_has_as_many_writes_as_it_has_a_queue_for() {
    let server = |seed| {
        let one = Server::new(64 << 20, Service::Fixed(MILLISECOND), seed).with_queue_depth(1);
        (one.most_at_once.clone(), Box::new(one) as Box<dyn Device>)
    };
    let ((most, one), (of_other, other)) = (server(1), server(2));
    let set = Raid0::new("pair", vec![one, other], 64 << 10).unwrap();
    let spec = AdapterCacheSpec { drive_queue_depth: 16, ..cache(FlushChoice::Polite) };
    let spec = AdapterSpec {
        kind: AdapterKind::Adapter,
        description: String::new(),
        ports: 2,
        link: link(),
        cache: Some(spec),
    };
    let mut cached = Adapter::new("adapter", &spec, Box::new(set));
    // Forty lines of each drive: first those of the one.
    for k in 0..20u64 {
        cached.submit(0, Request::write(k, k * 2 * 65_536, 4096)).unwrap();
        cached.submit(0, Request::write(100 + k, (k * 2 + 1) * 65_536, 4096)).unwrap();
    }
    let mut done = Vec::new();
    cached.advance(2 * MILLISECOND, &mut done);
    cached.submit(2 * MILLISECOND, Request::read(999, 60 << 20, 4096)).unwrap();
    cached.submit(2 * MILLISECOND, Request::flush(1000)).unwrap();
    cached.advance(SECOND, &mut done);
    let ended = |tag| done.iter().find(|c| c.tag == tag).map(|c| c.latency()).unwrap();
    assert!(ended(999) <= 2 * MILLISECOND + 100 * MICROSECOND, "{}", ended(999));
    // Twenty writes each, side by side, a read, and a flush.
    assert!(ended(1000) < 24 * MILLISECOND, "{}", ended(1000));
    let at_once = [most, of_other].map(|most| most.load(std::sync::atomic::Ordering::Relaxed));
    assert_eq!(at_once, [2, 1], "a write of each, and the read");
}

#[test]
fn neighbours_go_out_as_one_write_in_ascending_order() {
    let (mut cached, written) = adapter(Some(cache(FlushChoice::Burst)), MILLISECOND);
    // Backwards, so that the order is the cache's own.
    for tag in (0..16u64).rev() {
        run(&mut cached, (16 - tag) * MILLISECOND / 4, Request::write(tag, tag * 16_384, 16_384));
    }
    let now = 5 * MILLISECOND;
    run(&mut cached, now, Request::flush(99));
    let written = written.lock().unwrap();
    let ends: Vec<Nanos> = written.values().map(|w| w[0].ended).collect();
    assert!(ends.windows(2).all(|w| w[0] <= w[1]) && written.values().all(|w| w.len() == 1));
    let counters = cached.counters().cache.unwrap();
    assert_eq!((counters.flush_writes, counters.merged_bytes), (4, 4 * 48 * 1024));
    assert_eq!(counters.flushed_lines, 16);
}

/// Two reads wait for one read of the drive. It fails by what only one of them asked for.
#[test]
fn a_read_that_joined_one_that_fails_is_read_by_itself() {
    let server = Server::new(64 << 20, Service::Fixed(MILLISECOND), 1).with_bad(60 << 10);
    let (mut cached, _) = adapter_on(Some(cache(FlushChoice::Polite)), server);
    cached.submit(0, Request::read(1, 0, 64 << 10)).unwrap();
    cached.submit(100 * MICROSECOND, Request::read(2, 0, 4096)).unwrap();
    let mut done = Vec::new();
    cached.advance(SECOND, &mut done);
    let ends: Vec<_> = done.iter().map(|c| (c.tag, c.status, c.breakdown.sum() == c.latency())).collect();
    assert_eq!(ends, [(1, Status::MediaError, true), (2, Status::Ok, true)]);
    assert_eq!(cached.check_books(), Ok(()));
}

#[test]
fn a_sequential_stream_is_read_ahead() {
    let time = |read_ahead_kib| {
        let spec = AdapterCacheSpec { read_ahead_kib, ..cache(FlushChoice::Polite) };
        let (mut cached, _) = adapter(Some(spec), MILLISECOND);
        (0..64).fold(0, |now, tag| now + run(&mut cached, now, Request::read(tag, tag * 16_384, 16_384)).latency())
    };
    assert!(time(256) * 4 < time(0), "{} {}", time(256), time(0));
}

#[test]
fn a_cache_that_is_no_larger_than_what_it_reads_ahead_is_refused() {
    let check = |capacity_mib, read_ahead_kib| {
        let cache = AdapterCacheSpec { capacity_mib, read_ahead_kib, ..cache(FlushChoice::Polite) };
        let description = "an adapter".to_owned();
        let spec = AdapterSpec { kind: AdapterKind::Adapter, description, ports: 1, link: link(), cache: Some(cache) };
        spec.validate().map_err(|e| (e.key, e.problem, e.expected))
    };
    for (capacity_mib, read_ahead_kib) in [(1, 0), (1, 1023), (2, 1024), (17, 16_384), (65_536, 16_384)] {
        assert_eq!(check(capacity_mib, read_ahead_kib), Ok(()));
    }
    for (capacity_mib, read_ahead_kib) in [(1, 1024), (1, 16_384), (16, 16_384)] {
        let (key, problem, expected) = check(capacity_mib, read_ahead_kib).unwrap_err();
        assert_eq!(key, "cache.read_ahead_kib");
        let capacity_kib = capacity_mib * 1024;
        assert!(problem.contains(&format!("{read_ahead_kib} KiB")) && problem.contains(&format!("{capacity_kib} KiB")));
        assert!(expected.contains(&format!("less than {capacity_kib} KiB")), "{expected}");
    }
}

/// Behind one read a longer one ahead of it is under way, which the next waits for.
#[test]
fn a_read_of_what_is_being_read_ahead_waits_for_the_end_of_that() {
    let spec = AdapterCacheSpec { read_ahead_kib: 256, ..cache(FlushChoice::Polite) };
    let (mut cached, _) = adapter(Some(spec), 10 * MILLISECOND);
    let mut done = Vec::new();
    let mut read = |tag: u64, now| {
        cached.submit(now, Request::read(tag, tag * 16_384, 16_384)).unwrap();
        cached.advance(now + 12 * MILLISECOND, &mut done);
    };
    // The second is read itself, and behind it what is ahead: from 24 ms until 34 ms, after 10 ms in the queue of the device.
    read(0, 0);
    read(1, 14 * MILLISECOND);
    read(2, 30 * MILLISECOND);
    let read = done.iter().find(|c| c.tag == 2).unwrap();
    let told = |cause| read.breakdown.get(cause);
    assert!(read.latency() > 4 * MILLISECOND && read.latency() < 5 * MILLISECOND, "{read:?}");
    assert_eq!((told(Cause::Queue), told(Cause::Controller)), (0, 10 * MICROSECOND), "{read:?}");
    assert_eq!(told(Cause::Read) + told(Cause::Controller) + told(Cause::Link), read.latency());
}

/// The arm of a disk follows a stream: what is waited for is the platter, not a seek.
#[test]
fn a_stream_from_a_disk_behind_a_cache_waits_for_what_passes_under_its_heads() {
    let disk = Disk::new("disk", DiskSpec::plain(), 1).unwrap();
    let spec = AdapterCacheSpec { read_ahead_kib: 128, ..cache(FlushChoice::Polite) };
    let spec = AdapterSpec {
        kind: AdapterKind::Adapter,
        description: String::new(),
        ports: 1,
        link: link(),
        cache: Some(spec),
    };
    let mut cached = Adapter::new("adapter", &spec, Box::new(disk));
    let (mut now, mut sum) = (0, Breakdown::default());
    for tag in 0..256 {
        let read = run(&mut cached, now, Request::read(tag, tag * 16_384, 16_384));
        now = read.completed;
        sum.merge(&read.breakdown);
    }
    let percent = |cause| 100 * sum.get(cause) / sum.sum();
    assert!(percent(Cause::Transfer) > 80 && percent(Cause::Queue) < 5, "{sum:?}");
}

/// Sectors, with when the host's last write of them came.
type Last = BTreeMap<u64, Nanos>;

/// Whether the device was sent every one of these sectors after the host had, and had written it by then.
fn reached(written: &BTreeMap<u64, Vec<Span>>, last: &Last, by: Nanos) -> Result<(), String> {
    for (sector, &came) in last {
        let spans = written.get(sector).map_or(&[] as &[Span], Vec::as_slice);
        if !spans.iter().any(|span| span.sent >= came && span.ended <= by) {
            return Err(format!("by {by}, sector {sector}, which came at {came}, was written at {spans:?}"));
        }
    }
    Ok(())
}

/// Random commands at random times, policies and sizes: each ends once with its whole breakdown, and time goes forward. Without
/// a battery, at the end of a flush all that was answered before it has reached the device, and at that of a forced write its
/// own sectors have; once the host is quiet everything has.
#[test]
fn whatever_the_host_does_its_data_reach_the_device() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let policy = [FlushChoice::Burst, FlushChoice::Polite][rng.below(2) as usize];
        let spec = AdapterCacheSpec {
            line_kib: [4, 16, 64][rng.below(3) as usize],
            flush_threshold_percent: rng.below(76) as u32,
            merge_kib: [4, 64, 512][rng.below(3) as usize],
            read_ahead_kib: [0, 128][rng.below(2) as usize],
            drive_queue_depth: 1 + rng.below(8) as u32,
            battery: rng.chance(1, 4),
            ..cache(policy)
        };
        let battery = spec.battery;
        let (mut cached, written) = adapter(Some(spec), 1 + rng.below(2 * MILLISECOND));
        let span = (1 << 20) << rng.below(3);
        let (mut last, mut answered) = (Last::new(), Last::new());
        // By tag, what must have reached the device when it ends.
        let mut promised: BTreeMap<u64, Last> = BTreeMap::new();
        let (mut now, mut done, commands) = (0, Vec::new(), 600);
        for tag in 0..commands {
            now += rng.below(MILLISECOND);
            let before = done.len();
            cached.advance(now, &mut done);
            for c in done[before..].iter().filter(|c| c.op == Op::Write) {
                for sector in c.offset_bytes / 512..(c.offset_bytes + c.length_bytes) / 512 {
                    let came = answered.entry(sector).or_default();
                    *came = c.submitted.max(*came);
                }
            }
            let most = if rng.chance(1, 20) { 3000 } else { 64 };
            let sectors = 1 + rng.below(most);
            let at = rng.below(span / 512);
            let request = match rng.below(20) {
                0 => Request::flush(tag),
                1..=8 => Request::read(tag, at * 512, sectors * 512),
                n => Request::write(tag, at * 512, sectors * 512).with_fua(n == 9),
            };
            let own = (at..at + sectors).map(|sector| (sector, now));
            match request.op {
                Op::Flush if !battery => _ = promised.insert(tag, answered.clone()),
                Op::Write if request.fua && !battery => _ = promised.insert(tag, own.clone().collect()),
                _ => {}
            }
            if request.op == Op::Write {
                last.extend(own);
            }
            cached.submit(now, request).unwrap();
        }
        cached.advance(now + 100 * SECOND, &mut done);
        assert_eq!(done.len() as u64, commands, "seed {seed}");
        assert!(done.windows(2).all(|w| w[0].completed <= w[1].completed), "seed {seed}");
        let mut tags: Vec<u64> = done.iter().map(|c| c.tag).collect();
        tags.sort_unstable();
        assert!(tags.into_iter().eq(0..commands), "seed {seed}");
        for c in &done {
            assert_eq!(c.breakdown.sum(), c.latency(), "seed {seed}: {c:?}");
        }
        let written = written.lock().unwrap();
        for c in &done {
            if let Some(promised) = promised.get(&c.tag) {
                assert_eq!(reached(&written, promised, c.completed), Ok(()), "seed {seed}: {c:?}");
            }
        }
        assert_eq!(reached(&written, &last, Nanos::MAX), Ok(()), "seed {seed}, battery {battery}");
        assert_eq!(cached.check_books(), Ok(()), "seed {seed}");
        assert_eq!(cached.next_event(), None, "seed {seed}: everything is clean");
    }
}

#[test]
fn a_flush_waits_for_no_data_that_come_after_it_however_often_they_are_written_again() {
    for policy in [FlushChoice::Burst, FlushChoice::Polite] {
        // One sector again and again, two in turns, and one line after the other.
        for (stride, span) in [(512, 512), (512, 1024), (8 * 512, 16 * 512), (16 << 10, 32 << 20)] {
            for ask in [Request::write(7, 0, 512).with_fua(true), Request::flush(7)] {
                let (mut host, _) = adapter(Some(cache(policy)), 100 * MICROSECOND);
                let (mut now, mut done, mut flushed, mut writes) = (0, Vec::new(), None, 0);
                host.submit(0, Request::write(0, 0, 512)).unwrap();
                while now < SECOND && flushed.is_none() {
                    now = host.advance_to_completion(SECOND, &mut done);
                    for c in done.drain(..) {
                        if c.tag == 7 {
                            flushed = Some(c.latency());
                            continue;
                        }
                        writes += 1;
                        if writes == 10 {
                            host.submit(now, ask).unwrap();
                        }
                        host.submit(now, Request::write(0, writes * stride % span, 512)).unwrap();
                    }
                }
                let took =
                    flushed.unwrap_or_else(|| panic!("{policy:?}, {ask:?} beside writes to {span} bytes never ends"));
                assert!(took < 20 * MILLISECOND, "{policy:?}, {ask:?} beside writes to {span} bytes: {took} ns");
            }
        }
    }
}
