//! What a command queue gains, against a Monte-Carlo of shortest access times that was written apart from this model:
//! sectors drawn evenly, a seek curve of the Cheetah's shape, nothing but arm and platters.
//!
//! The Monte-Carlo draws a new request before it chooses. A disk chooses the moment the arm is free, and the host sends the
//! next request later than that: with so many to choose from, one more is in the disk. The Monte-Carlo also lets every
//! request pay 0.1 to 0.2 ms of overhead, which a disk with a queue spends while the arm is busy.

use ssdlab_device::Device;
use ssdlab_disks::{DiskSpec, ServiceOrder};

use crate::support::{anywhere, build, keep_busy, mean_ms, of_catalog};

/// Mean service in ms with so many reads waiting.
fn service_ms(spec: &DiskSpec, depth: usize) -> f64 {
    let mut spec = spec.clone();
    spec.controller.queue_depth = depth as u32;
    let mut disk = build(spec);
    let requests = anywhere(&disk, 3, false);
    let ends = keep_busy(&mut disk, 0, depth, 20_000, requests);
    // The queue is full for all but the first.
    let (first, last) = (&ends[1000], &ends[19_999]);
    (last.completed - first.completed) as f64 / 18_999.0 / 1e6
}

#[test]
fn shortest_access_time_gains_what_the_monte_carlo_says() {
    let table: [(&str, [f64; 8]); 2] = [
        ("spinpoint-f1-1tb", [13.2, 11.2, 9.6, 8.4, 7.3, 6.3, 5.4, 4.7]),
        ("ultrastar-15k300-73gb", [5.5, 4.7, 4.0, 3.5, 3.0, 2.6, 2.3, 2.0]),
    ];
    for (name, expected) in table {
        let spec = of_catalog(name);
        for (i, expected) in expected.into_iter().enumerate() {
            let depth = 1 << i;
            let measured = match depth {
                1 => service_ms(&spec, 1),
                _ => service_ms(&spec, depth + 1) + spec.controller.command_us / 1e3,
            };
            println!("{name} {depth}: {measured:.2} ms, Monte-Carlo {expected} ms");
            assert!((measured / expected - 1.0).abs() < 0.05, "{name}, {depth}: {measured} ms against {expected} ms");
        }
    }
}

#[test]
fn first_come_first_served_gains_nothing_from_a_queue() {
    let mut spec = of_catalog("spinpoint-f1-1tb");
    spec.controller.order = ServiceOrder::Fifo;
    spec.controller.command_us = 0.0;
    let (alone, queued) = (service_ms(&spec, 1), service_ms(&spec, 32));
    assert!((alone / queued - 1.0).abs() < 0.01, "{alone} ms alone, {queued} ms in a queue of 32");
}

#[test]
fn nothing_waits_much_longer_than_the_longest_wait() {
    let mut spec = of_catalog("spinpoint-f1-1tb");
    spec.controller.longest_wait_ms = 400.0;
    let mut disk = build(spec.clone());
    let requests = anywhere(&disk, 3, false);
    let ends = keep_busy(&mut disk, 0, 32, 50_000, requests);
    let longest = ends.iter().map(|c| c.latency()).max().expect("50,000 of them") as f64 / 1e6;
    // Those that came together are overdue together, and then each takes its turn.
    assert!(longest < 400.0 + 32.0 * 25.0, "{longest} ms");
    spec.controller.longest_wait_ms = 1e6;
    let mut free = build(spec);
    let requests = anywhere(&free, 3, false);
    let ends = keep_busy(&mut free, 0, 32, 50_000, requests);
    let without = ends.iter().map(|c| c.latency()).max().expect("50,000 of them") as f64 / 1e6;
    assert!(without > longest, "{without} ms without a limit, {longest} ms with one");
}

#[test]
fn a_disk_without_a_queue_serves_in_the_order_of_arrival() {
    let mut disk = build(of_catalog("raptor-wd360gd-36gb"));
    assert_eq!(disk.info().queue_depth, 1);
    let requests = anywhere(&disk, 3, false);
    let ends = keep_busy(&mut disk, 0, 16, 500, requests);
    assert!(ends.iter().enumerate().all(|(i, c)| c.tag == i as u64));
    let mean = mean_ms(&ends[100..]);
    assert!(mean > 15.0 * 8.0, "{mean} ms: the wait outside the disk counts");
}
