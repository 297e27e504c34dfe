//! A drive's life wound forward: every block wears by its share, and differences that come again grow as far as they do.

use ssdlab_core::{Nanos, Op, Rng};
use ssdlab_device::{Device, Flash, Request};
use ssdlab_ftl::Translation;
use ssdlab_ssd::Ssd;
use ssdlab_testkit::{ideal_die, ideal_drive};

fn small() -> Ssd {
    small_with_reserve(0)
}

fn small_with_reserve(per_1000: u32) -> Ssd {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 16);
    (drive.flash.dies, drive.flash.exact_spare_per_10000, drive.controller.channels) = (4, None, 2);
    drive.write_buffer.capacity_kib = 64;
    drive.capacity_bytes = 1600 * 4096;
    drive.mapping.reserved_blocks_per_1000 = per_1000;
    Ssd::new("small", &drive, &die, 1).expect("it can be built")
}

fn write(drive: &mut Ssd, now: &mut Nanos, page: u64) {
    drive.submit(*now, Request::new(0, Op::Write, page * 4096, 4096)).expect("it takes it");
    *now = drive.advance_to_completion(*now + 1_000_000_000_000, &mut Vec::new());
}

/// By block, in thousand-millionths of its life.
fn wear(drive: &Ssd) -> Vec<f64> {
    let medium = drive.translation().medium();
    medium.layout().all_blocks().map(|block| medium.history(block).wear_ppb as f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A tenth of the blocks waits for others to go bad: it does no work, and wears neither in time nor in what is wound forward.
#[test]
fn blocks_that_are_kept_back_are_no_part_of_the_wear() {
    let (mut drive, mut now, mut rng) = (small_with_reserve(100), 0, Rng::new(5));
    for _ in 0..3 {
        (0..4000).for_each(|_| write(&mut drive, &mut now, rng.below(1600)));
        drive.record_wear();
    }
    let kept_back = drive.translation().kept_back();
    assert_eq!(kept_back.len(), 16);
    let of_those_that_work = |drive: &Ssd| wear(drive).iter().sum::<f64>() / (160 - 16) as f64 / 1e9;
    assert!((drive.wear().mean / of_those_that_work(&drive) - 1.0).abs() < 1e-9);
    drive.fast_forward(0.5);
    assert!((drive.wear().mean - 0.5).abs() < 0.01 && drive.wear().least > 0.3, "{:?}", drive.wear());
    assert!((of_those_that_work(&drive) - 0.5).abs() < 0.01);
    assert!(kept_back.iter().all(|&block| drive.translation().medium().history(block).wear_ppb == 0));
}

#[test]
fn what_blocks_wear_more_than_others_grows_as_far_as_it_comes_again() {
    let (mut drive, mut now, mut rng) = (small(), 0, Rng::new(5));
    (0..1600).for_each(|page| write(&mut drive, &mut now, page));
    let mut notes = Vec::new();
    for _ in 0..3 {
        drive.record_wear();
        notes.push(wear(&drive));
        // A tenth of the data changes nine times of ten: blocks of the others are seldom erased.
        for _ in 0..4000 {
            let page = if rng.chance(9, 10) { rng.below(160) } else { rng.below(1600) };
            write(&mut drive, &mut now, page);
        }
    }
    let before = wear(&drive);
    let (start, target) = (drive.wear().mean, drive.wear().mean + 0.5);
    let mut in_steps = drive.clone();
    drive.fast_forward(target);
    let after = wear(&drive);
    // In steps it comes to the same.
    (1..=16).for_each(|k| in_steps.fast_forward(start + 0.5 * f64::from(k) / 16.0));
    let spread = |of: &[f64]| of.iter().copied().fold(0.0, f64::max) - of.iter().copied().fold(f64::MAX, f64::min);
    let (one, many) = (spread(&after), spread(&wear(&in_steps)));
    assert!((many / one - 1.0).abs() < 0.01, "{many} in sixteen steps, {one} in one");
    assert!((drive.wear().mean / target - 1.0).abs() < 0.02, "{} for {target}", drive.wear().mean);
    let window = |k: usize| -> Vec<f64> { notes[k + 1].iter().zip(&notes[k]).map(|(to, from)| to - from).collect() };
    let (first, second) = (window(0), window(1));
    let of = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - mean(a)) * (y - mean(b))).sum::<f64>();
    let constancy = (of(&first, &second) / (of(&first, &first) * of(&second, &second)).sqrt()).clamp(0.0, 1.0);
    assert!(constancy > 0.05 && constancy < 0.95, "{constancy}");
    let typical = (mean(&first) + mean(&second)) / 2.0;
    let times = 0.5e9 / typical;
    let growth = constancy * times + (1.0 - constancy) * times.sqrt();
    for block in 0..before.len() {
        let own = (first[block] + second[block]) / 2.0 - typical;
        let expected = (0.5e9 + own * growth).max(0.0);
        assert!((after[block] - before[block] - expected).abs() < 10.0, "block {block}");
    }
}
