//! Closed forms: queues over striped members, fan-out, and a write-back cache as a fluid.

use std::sync::atomic::Ordering;

use ssdlab_arrays::{Adapter, AdapterCacheSpec, AdapterKind, AdapterLinkSpec, AdapterSpec, FlushChoice, Raid0};
use ssdlab_core::{Cause, MICROSECOND, MILLISECOND, Nanos, Rng};
use ssdlab_device::{Device, Request};

use crate::server::{Asked, Server, Service};

const STRIPE: u64 = 128 << 10;
const MEMBER: u64 = 64 << 20;
const MEAN: Nanos = 100 * MICROSECOND;

fn set(members: u64, service: Service) -> Raid0 {
    counted(members, service).0
}

/// A set, and what each of its members is asked.
fn counted(members: u64, service: Service) -> (Raid0, Vec<Asked>) {
    let servers: Vec<Server> = (0..members).map(|k| Server::new(MEMBER, service, k)).collect();
    let asked = servers.iter().map(|s| s.asked.clone()).collect();
    let members = servers.into_iter().map(|s| Box::new(s) as Box<dyn Device>).collect();
    (Raid0::new("set", members, STRIPE).unwrap(), asked)
}

/// Mean number of members at work, with so many random small reads outstanding all the time.
fn busy(members: u64, outstanding: u64, service: Service, requests: u64) -> f64 {
    let mut set = set(members, service);
    let sectors = set.info().capacity_bytes / 512;
    let mut rng = Rng::new(7);
    let mut submit =
        |set: &mut Raid0, now, tag| set.submit(now, Request::read(tag, rng.below(sectors) * 512, 512)).unwrap();
    (0..outstanding).for_each(|tag| submit(&mut set, 0, tag));
    let (mut done, mut ended, mut now) = (Vec::new(), 0, 0);
    while ended < requests {
        now = set.advance_to_completion(Nanos::MAX, &mut done);
        ended += done.len() as u64;
        for c in done.drain(..) {
            submit(&mut set, now, c.tag);
        }
    }
    ended as f64 * MEAN as f64 / now as f64
}

fn near(what: &str, found: f64, expected: f64, per_cent: f64) {
    let off = (found / expected - 1.0) * 100.0;
    println!("{what}: {found:.4}, expected {expected:.4}: {off:+.2} %");
    assert!(off.abs() <= per_cent, "{what}: {found}, expected {expected}: {off:+.2} %");
}

#[test]
fn striping_scales_as_a_closed_network_of_exponential_servers() {
    // n q / (q + n - 1), exact for exponential service.
    for (n, q) in [(2, 1), (2, 2), (2, 3), (2, 4), (2, 8), (2, 32), (3, 1), (3, 2), (3, 3), (3, 4), (3, 8), (3, 32)] {
        let expected = (n * q) as f64 / (q + n - 1) as f64;
        near(&format!("n={n} q={q}"), busy(n, q, Service::Exponential(MEAN), 200_000), expected, 1.0);
    }
}

#[test]
fn fixed_service_keeps_more_members_at_work() {
    for (n, q, expected) in [(2, 2, 1.5), (2, 3, 1.667), (3, 3, 2.048)] {
        near(&format!("n={n} q={q}"), busy(n, q, Service::Fixed(MEAN), 200_000), expected, 1.0);
    }
}

#[test]
fn a_request_is_split_into_as_many_parts_as_theory_says() {
    // 1 + (s - u) / c parts for a uniform start in sectors, as long as there are as many members.
    let (mut set, asked) = counted(8, Service::Fixed(MEAN));
    let parts = || asked.iter().map(|a| a.load(Ordering::Relaxed)).sum::<u64>();
    let mut rng = Rng::new(3);
    let (mut now, mut done) = (0, Vec::new());
    for (bytes, expected) in [(4096u64, 1.027), (16_384, 1.121), (65_536, 1.496), (131_072, 1.996), (524_288, 4.996)] {
        let sectors = (set.info().capacity_bytes - bytes) / 512;
        let before = parts();
        for tag in 0..20_000 {
            set.submit(now, Request::read(tag, rng.below(sectors) * 512, bytes)).unwrap();
            now = set.advance_to_completion(Nanos::MAX, &mut done);
        }
        near(&format!("{bytes} bytes"), (parts() - before) as f64 / 20_000.0, expected, 0.5);
    }
}

/// A cache of so many lines of one write each, before a device that takes a fixed time for each.
fn cached(slots: u32, service: Nanos) -> Adapter {
    let spec = AdapterSpec {
        kind: AdapterKind::Adapter,
        description: "a cache".into(),
        ports: 1,
        link: AdapterLinkSpec { name: "link".into(), megabytes_per_s: 100_000.0, command_us: 0.0 },
        cache: Some(AdapterCacheSpec {
            // Twice the lines, half of which can be dirty.
            capacity_mib: slots / 8,
            line_kib: 64,
            flush_policy: FlushChoice::Polite,
            flush_threshold_percent: 0,
            dirty_limit_percent: 50,
            flush_after_idle_ms: 1e6,
            drive_queue_depth: 1,
            merge_kib: 64,
            read_ahead_kib: 0,
            battery: false,
            drive_write_cache: true,
        }),
    };
    Adapter::new("cached", &spec, Box::new(Server::new(4 << 30, Service::Fixed(service), 1)))
}

#[test]
fn a_write_back_cache_is_a_fluid_that_runs_over() {
    // C slots, each write takes the host h, the drive drains one in d: C / (1 - h / d) writes take h, the rest d.
    // With h = d / 2 a cache that is not drained meanwhile runs over after half as many.
    const H: Nanos = 50 * MILLISECOND;
    const D: Nanos = 100 * MILLISECOND;
    let (slots, writes) = (200, 1000u64);
    let absorbed = f64::from(slots) / (1.0 - H as f64 / D as f64);
    let expected = (absorbed * H as f64 + (writes as f64 - absorbed) * D as f64) / writes as f64;
    let mut adapter = cached(slots, D);
    let (mut now, mut total, mut first_to_wait, mut done) = (0, 0, None, Vec::new());
    for tag in 0..writes {
        // Far apart, so that none are neighbours; the host takes its time before each.
        adapter.submit(now, Request::write(tag, (tag * 7919 % 16_384) * (256 << 10), 4096)).unwrap();
        now = adapter.advance_to_completion(Nanos::MAX, &mut done) + H;
        let c = done.pop().unwrap();
        assert_eq!(c.breakdown.sum(), c.latency());
        total += c.latency() + H;
        if c.latency() > MILLISECOND {
            first_to_wait.get_or_insert(tag);
        }
        if tag > 402 {
            assert!(c.breakdown.get(Cause::AdapterCache) * 100 > c.latency() * 99, "{c:?}");
        }
    }
    near("mean", total as f64 / writes as f64, expected, 0.5);
    let first_to_wait = first_to_wait.expect("more are written than it holds");
    assert!(first_to_wait.abs_diff(absorbed as u64) <= 2, "write {first_to_wait} waits, not {absorbed}");
    assert_eq!(adapter.check_books(), Ok(()));
}
