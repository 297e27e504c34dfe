//! Policies of a study: in use from the beginning, and still when the power has been away or the drive was erased.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ssdlab_core::{Nanos, Op, Rng};
use ssdlab_device::{Device, Plug, Request, Security};
use ssdlab_ftl::HostShare;
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
