//! However a host lets time pass, it sees the same.

use ssdlab_arrays::Raid0;
use ssdlab_core::{MICROSECOND, Nanos, Rng};
use ssdlab_device::{Completion, Device, Request};

use crate::server::{Server, Service};

fn set() -> Raid0 {
    // Two with the same time, so that parts end at one instant.
    let times = [100, 70, 100, 130].map(|us| Service::Fixed(us * MICROSECOND));
    let member = |(k, service): (usize, Service)| Box::new(Server::new(1 << 20, service, k as u64)) as Box<dyn Device>;
    Raid0::new("set", times.into_iter().enumerate().map(member).collect(), 4096).unwrap()
}

/// Runs 2000 requests at random times, letting time pass with `step` up to each.
fn run(step: fn(&mut Raid0, Nanos, &mut Vec<Completion>)) -> (Vec<Completion>, u64) {
    let (mut set, mut rng, mut done, mut now) = (set(), Rng::new(5), Vec::new(), 0);
    let sectors = set.info().capacity_bytes / 512;
    for tag in 0..2000 {
        now += rng.below(8) * 20 * MICROSECOND;
        step(&mut set, now, &mut done);
        let length = 1 + rng.below(48);
        set.submit(now, Request::read(tag, rng.below(sectors - length) * 512, length * 512)).unwrap();
    }
    step(&mut set, now + 1_000_000 * MICROSECOND, &mut done);
    assert_eq!(set.check_books(), Ok(()));
    (done, set.counters().host.reads)
}

#[test]
fn completion_by_completion_is_as_all_at_once() {
    let at_once = run(|set, to, done| set.advance(to, done));
    let each = run(|set, to, done| while set.advance_to_completion(to, done) < to {});
    let events = run(|set, to, done| {
        while let Some(at) = set.next_event().filter(|&at| at <= to) {
            set.advance(at, done);
        }
        set.advance(to, done);
    });
    assert_eq!(at_once.1, 2000);
    assert!(at_once == each && at_once == events);
}
