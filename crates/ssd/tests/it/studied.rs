//! Policies of a study: in use from the beginning, and still when the power has been away or the drive was erased.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ssdlab_core::{Nanos, Op, Rng};
use ssdlab_device::{Device, Plug, Request, Security};
use ssdlab_ftl::{ChooseVictim, HostShare};
use ssdlab_ssd::Ssd;
use ssdlab_testkit::{ideal_die, ideal_drive};

fn small() -> Ssd {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 16);
    (drive.flash.dies, drive.flash.exact_spare_per_10000, drive.controller.channels) = (4, None, 2);
    drive.write_buffer.capacity_kib = 64;
    drive.capacity_bytes = 1600 * 4096;
    drive.gc.host_share = HostShare::Balanced;
    Ssd::new("small", &drive, &die, 1).expect("it can be built")
}

fn write(drive: &mut Ssd, now: &mut Nanos, rng: &mut Rng) {
    for _ in 0..8000 {
        drive.submit(*now, Request::new(0, Op::Write, rng.below(1600) * 4096, 4096)).expect("it takes it");
        *now = drive.advance_to_completion(*now + 1_000_000_000_000, &mut Vec::new());
    }
}

#[test]
fn both_policies_stay_through_power_cuts_and_erasure() {
    for erase in [false, true] {
        let asked = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let [victims, pacing] = asked.clone();
        let mut drive = small();
        drive.study(
            Some(Arc::new(move |candidates, _| {
                victims.fetch_add(1, Ordering::Relaxed);
                candidates.iter().min_by_key(|candidate| candidate.valid).unwrap().block
            })),
            Some(Arc::new(move |dead, valid| {
                pacing.fetch_add(1, Ordering::Relaxed);
                f64::from(dead) / f64::from(valid.max(1))
            })),
        );
        let (mut now, mut rng) = (0, Rng::new(3));
        write(&mut drive, &mut now, &mut rng);
        let before = asked.each_ref().map(|count| count.load(Ordering::Relaxed));
        assert!(before.iter().all(|&count| count > 100), "{before:?}");
        if erase {
            now = drive.secure_erase(now);
        } else {
            drive.cut(now);
            now = drive.restore(now);
        }
        write(&mut drive, &mut now, &mut rng);
        let after = asked.each_ref().map(|count| count.load(Ordering::Relaxed));
        assert!(after.iter().zip(before).all(|(after, before)| *after > before + 100), "erased: {erase}, {after:?}");
    }
}

/// With the catalog's ideal drive: blocks of 32 pages, of which a victim frees four, and 16 pages read ahead.
#[test]
fn a_paced_drive_chooses_victims_while_as_many_blocks_are_closed_as_its_exact_spare_holds() {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    die.geometry.pages_per_block = 32;
    (drive.flash.dies, drive.controller.channels, drive.controller.ways) = (1, 1, 1);
    drive.write_buffer.capacity_kib = 64;
    drive.capacity_bytes = 100 * 32 * 4096;
    assert_eq!((drive.flash.exact_spare_per_10000, drive.gc.host_share), (Some(700), HostShare::Balanced));
    let seen = Arc::new([(); 3].map(|()| AtomicU64::new(0)));
    let counts = Arc::clone(&seen);
    let mut drive = Ssd::new("exact", &drive, &die, 1).expect("it can be built");
    let oldest: Arc<ChooseVictim> = Arc::new(move |candidates, _| {
        counts[candidates.len().clamp(106, 108) - 106].fetch_add(1, Ordering::Relaxed);
        candidates.iter().max_by_key(|candidate| candidate.age).expect("there is one").block
    });
    drive.study(Some(oldest), None);
    let (mut now, mut rng) = (0, Rng::new(5));
    let mut submit = |page: u64| {
        drive.submit(now, Request::new(0, Op::Write, page * 4096, 4096)).expect("it takes it");
        now = drive.advance_to_completion(now + 1_000_000_000_000, &mut Vec::new());
    };
    (0..3200).for_each(&mut submit);
    (0..3200 * 5).for_each(|_| submit(rng.below(3200)));
    let seen = seen.each_ref().map(|count| count.load(Ordering::Relaxed));
    assert!(seen[0] == 0 && seen[1] > 2000 && seen[2] == 0, "{seen:?} of fewer than 107, 107 and more");
}
