//! Two simulated drives as one: the bench finds an array like any other device.

use ssdlab_arrays::{Raid0, Ranges};
use ssdlab_bench::suite::{find_test, run_test};
use ssdlab_bench::{Lab, Monitor, Outcome, PoweredOn};
use ssdlab_core::{Cause, Nanos};
use ssdlab_device::{Device, Held, LinkPolicy, Request};
use ssdlab_disks::{Disk, DiskSpec};
use ssdlab_ssd::Ssd;

/// A drive of the catalog with four small dies: 48 MiB.
fn drive(seed: u64) -> Box<dyn Device> {
    let mut found = ssdlab_catalog::resolve("jmf667h-imft-256gb").expect("a drive of the catalog");
    (found.spec.flash.dies, found.die.spec.geometry.blocks_per_plane) = (4, 40);
    found.die.spec.geometry.pages_per_block = 32;
    found.spec.controller.channels = 4;
    found.spec.capacity_bytes = 48 << 20;
    Box::new(Ssd::new("small", &found.spec, &found.die.spec, seed).expect("it is valid"))
}

/// So many drives; one is itself.
struct Drives(u64);

impl Lab for Drives {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        if self.0 == 1 {
            return Ok(drive(seed).into());
        }
        let members = (0..self.0).map(|k| drive(seed + k)).collect();
        Ok(PoweredOn::new(Raid0::new(self.name(), members, 128 << 10).map_err(|e| e.to_string())?))
    }

    fn name(&self) -> &str {
        "array"
    }
}

fn test(name: &str, drives: u64, settings: &[(&str, &str)]) -> Outcome {
    let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    let def = find_test(name).unwrap();
    run_test(def, &Drives(drives), &settings, 1, true, &Monitor::silent()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn an_array_passes_the_suite() {
    for (name, settings) in [
        ("consistency", &[("seconds", "2")] as &[_]),
        ("sequential-write", &[("seconds", "1")]),
        ("mixed-random", &[("seconds", "1")]),
        ("qd-scaling", &[("seconds", "1")]),
        ("hdtach", &[]),
        ("trim", &[("torture_seconds", "10")]),
        ("fileserver", &[("seconds", "1")]),
    ] {
        let outcome = test(name, 2, settings);
        assert_eq!(outcome.device, "array");
        assert!(outcome.metrics.values().all(|m| m.value.is_finite()), "{name}: {:?}", outcome.metrics);
        assert!(!outcome.metrics.is_empty(), "{name}");
    }
}

#[test]
fn a_test_of_a_set_shows_what_its_members_did_and_is_kept_whole() {
    let outcome = test("consistency", 2, &[("seconds", "2")]);
    let seen = outcome.slowest_seen.as_ref().expect("both members tell");
    let slowest = &outcome.slowest[0];
    assert_eq!((seen.request.latency() as f64 / 1e3, seen.slower), (slowest.latency_us, None));
    let dies =
        |drive: &str| seen.timeline.tracks.iter().filter(|t| t.drive == drive && t.part.starts_with("die ")).count();
    assert_eq!([dies("0: small"), dies("1: small")], [4, 4]);
    let kept: Outcome = serde_json::from_str(&serde_json::to_string(&outcome).unwrap()).unwrap();
    assert!(kept.slowest_seen == outcome.slowest_seen, "as a review that was stopped keeps it");
}

#[test]
fn two_drives_read_twice_as_fast_as_one() {
    let bandwidth = |drives| test("sequential-read", drives, &[("seconds", "2"), ("block_size", "1MiB")]);
    let (one, two) = (bandwidth(1), bandwidth(2));
    let ratio = two.metrics["bandwidth"].value / one.metrics["bandwidth"].value;
    assert!((1.8..=2.05).contains(&ratio), "{ratio}");
}

#[test]
fn what_no_drive_has_a_slot_for_waits_and_the_wait_counts_as_queue() {
    let mut array = Drives(2).fresh(1).unwrap().device;
    let depth = u64::from(array.info().queue_depth);
    // All on the first member, which has half of the slots.
    for tag in 0..depth {
        array.submit(0, Request::write(tag, tag * (256 << 10), 4096)).unwrap();
    }
    let mut done = Vec::new();
    while (done.len() as u64) < depth {
        array.advance_to_completion(Nanos::MAX, &mut done);
    }
    let queued = done.iter().filter(|c| c.breakdown.get(Cause::Queue) > 0).count() as u64;
    assert_eq!(queued, depth / 2, "those beyond the member's own slots");
    assert!(done.iter().all(|c| c.breakdown.sum() == c.latency()));
    assert!(done.windows(2).all(|w| w[0].completed <= w[1].completed));
    let mut tags: Vec<u64> = done.iter().map(|c| c.tag).collect();
    tags.sort_unstable();
    assert!(tags.into_iter().eq(0..depth));
    assert_eq!(array.check_books(), Ok(()));
}

#[test]
fn counters_add_up_over_the_members() {
    let mut array = Drives(3).fresh(1).unwrap().device;
    let mut done = Vec::new();
    array.submit(0, Request::write(1, 0, 3 << 20)).unwrap();
    array.advance_to_completion(Nanos::MAX, &mut done);
    array.submit(done[0].completed, Request::flush(2)).unwrap();
    array.advance_to_completion(Nanos::MAX, &mut done);
    array.submit(done[1].completed, Request::trim(3, 0, 3 << 20)).unwrap();
    array.advance_to_completion(Nanos::MAX, &mut done);
    let c = array.counters();
    assert_eq!((c.host.writes, c.host.write_bytes, c.host.trim_bytes), (1, 3 << 20, 3 << 20));
    assert!(c.flash.unwrap().host_program_bytes >= 3 << 20);
    assert!(c.waf().unwrap() >= 1.0);
    let member = drive(1).info().over_provisioning_percent.unwrap();
    let array_percent = array.info().over_provisioning_percent.unwrap();
    assert!((member - array_percent).abs() < 1.0, "{member} {array_percent}");
    assert_eq!(array.check_books(), Ok(()));
}

/// The first 4 MiB on a drive, 4 more on a disk.
struct DriveAndDisk;

impl Lab for DriveAndDisk {
    fn fresh(&self, seed: u64) -> Result<PoweredOn, String> {
        let mut spec = DiskSpec::plain();
        spec.capacity_bytes = 4 << 20;
        let disk: Box<dyn Device> = Box::new(Disk::new("disk", spec, seed).map_err(|e| e.to_string())?);
        let members = vec![(drive(seed), Some(4 << 20)), (disk, None)];
        Ok(PoweredOn::new(Ranges::new(self.name(), members).map_err(|e| e.to_string())?))
    }

    fn name(&self) -> &str {
        "drive and disk"
    }
}

/// What goes to the disk is written, too, and is programmed nowhere.
#[test]
fn a_set_with_a_disk_tells_no_write_amplification() {
    let settings = [("round_share", "0.125"), ("settle_turnovers", "0.5"), ("max_rounds", "20")];
    let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    let test = find_test("steady-state").unwrap();
    let out = run_test(test, &DriveAndDisk, &settings, 1, false, &Monitor::silent()).expect("it runs");
    let of_flash: Vec<&String> = out.metrics.keys().filter(|key| key.starts_with("waf")).collect();
    assert!(of_flash.is_empty(), "{of_flash:?}");
    assert!(!out.charts.iter().any(|chart| chart.id.starts_with("waf")));
    assert!(out.method.contains("in rounds of 0.125 of its capacity, until IOPS of 5 rounds"), "{}", out.method);
    // A round is as many bytes as it is said to be, whatever the flash does.
    let (rounds, drive_writes) = (out.metrics["rounds"].value, out.metrics["drive_writes"].value);
    assert!((drive_writes / rounds - 0.125).abs() < 1e-3, "{drive_writes} in {rounds}");

    let mut set = DriveAndDisk.fresh(1).unwrap().device;
    let mut done = Vec::new();
    set.submit(0, Request::write(1, 2 << 20, 4 << 20)).unwrap();
    set.advance_to_completion(Nanos::MAX, &mut done);
    set.submit(done[0].completed, Request::flush(2)).unwrap();
    set.advance_to_completion(Nanos::MAX, &mut done);
    let c = set.counters();
    // The flash is told of all the same.
    assert!(c.flash.unwrap().program_bytes() >= 2 << 20 && c.disk.is_some());
    assert_eq!((c.host.write_bytes, c.waf()), (4 << 20, None));
}

#[test]
fn a_snapshot_goes_on_as_the_array_does() {
    let mut array = Drives(2).fresh(1).unwrap().device;
    for tag in 0..40 {
        array.submit(0, Request::write(tag, tag * 65_536, 65_536)).unwrap();
    }
    let mut before = Vec::new();
    array.advance(2_000_000, &mut before);
    assert!(!before.is_empty() && before.len() < 40, "some are still under way: {}", before.len());
    let mut copy = array.snapshot().expect("both drives can be copied");
    let (mut own, mut copied) = (Vec::new(), Vec::new());
    array.advance(1_000_000_000, &mut own);
    copy.advance(1_000_000_000, &mut copied);
    assert_eq!(own, copied);
    assert_eq!(before.len() + own.len(), 40);
    assert_eq!((array.counters(), copy.check_books()), (copy.counters(), Ok(())));
}

#[test]
fn an_erase_empties_every_member_and_ends_with_the_last_of_them() {
    let chunk = 128 << 10;
    let mut array = Drives(2).fresh(1).unwrap().device;
    let mut alone = [drive(1), drive(2)];
    let (mut now, mut done) = (0, Vec::new());
    // The second has more to erase.
    for (member, chunks) in [(0, 8), (1, 160)] {
        for k in 0..chunks {
            array.submit(now, Request::write(k, (2 * k + member) * chunk, chunk)).unwrap();
            alone[member as usize].submit(now, Request::write(k, k * chunk, chunk)).unwrap();
            now = array.advance_to_completion(Nanos::MAX, &mut Vec::new());
            alone.iter_mut().for_each(|drive| drive.advance(now, &mut done));
        }
    }
    assert_eq!(done.len(), 168, "alone they are as fast");
    let units = array.info().capacity_bytes / 4096;
    let holding = |array: &dyn Device| {
        let plug = array.plug_seen().expect("these drives have one");
        (0..units).filter(|&unit| plug.held(unit) != Held::Nothing).count()
    };
    assert_eq!(holding(&*array), 168 * 32);
    let ready = array.security().unwrap().secure_erase(now);
    let of_each = alone.map(|mut drive| drive.security().unwrap().secure_erase(now));
    assert!(of_each[0] < of_each[1], "{of_each:?}");
    assert_eq!((ready, holding(&*array), array.check_books()), (of_each[1], 0, Ok(())));
}

#[test]
fn the_link_knows_the_policies_that_all_members_know() {
    let mut array = Drives(2).fresh(1).unwrap().device;
    let mut alone = drive(1);
    let supported = |device: &mut dyn Device| {
        device.power().map(|p| LinkPolicy::NAMED.map(|(_, policy)| p.supports_link_policy(policy)))
    };
    assert_eq!(supported(&mut *array), supported(&mut *alone));
    let policies = supported(&mut *array).expect("these drives have power management");
    assert!(policies[LinkPolicy::Active as usize]);
}
