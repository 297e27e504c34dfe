//! What the translation layer promises, whatever the geometry, the policies and the order in which dies finish: data
//! are never lost or mixed up, the books balance, no rule of the flash is broken, nothing gets stuck, and at every
//! instant the flash alone holds what was promised to survive a power cut.

#[path = "rig/case.rs"]
mod case;
mod rig;

use case::{Case, any_case};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rig::Rig;

/// Phases of what the host does, drawn one after another; the books are checked after each.
fn phase(rig: &mut Rig, writes: u64) {
    let pages = u64::from(rig.logical_pages);
    match rig.rng.below(8) {
        // Sequential, from anywhere.
        0 => {
            let from = rig.rng.below(pages);
            (0..writes.min(pages)).for_each(|k| rig.write(((from + k) % pages) as u32));
        }
        // Uniform random.
        1 | 2 => (0..writes).for_each(|_| {
            let lpn = rig.rng.below(pages);
            rig.write(lpn as u32);
        }),
        // Nine of ten writes to a tenth of the pages.
        3 => (0..writes).for_each(|_| {
            let span = if rig.rng.chance(9, 10) { pages.div_ceil(10) } else { pages };
            let lpn = rig.rng.below(span);
            rig.write(lpn as u32);
        }),
        // A storm of trims among the writes.
        4 => (0..writes).for_each(|_| {
            let lpn = rig.rng.below(pages) as u32;
            if rig.rng.chance(1, 2) { rig.trim(lpn) } else { rig.write(lpn) }
        }),
        // A long range trimmed at once, then some of it written again.
        5 => {
            let (from, length) = (rig.rng.below(pages), rig.rng.below(pages) + 1);
            (from..(from + length).min(pages)).for_each(|lpn| rig.trim(lpn as u32));
            (0..writes / 2).for_each(|_| {
                let lpn = from + rig.rng.below(pages - from);
                rig.write(lpn as u32);
            });
        }
        // Flushes after every few writes: rows that are not full.
        6 => (0..writes / 4).for_each(|_| {
            let lpn = rig.rng.below(pages);
            rig.write(lpn as u32);
            if rig.rng.chance(1, 3) {
                rig.flush();
            }
        }),
        // Every n-th page trimmed and written, so that the dies fill unevenly.
        _ => {
            let stride = 2 + rig.rng.below(7);
            let offset = rig.rng.below(stride);
            for lpn in (0..pages).filter(|lpn| lpn % stride != offset) {
                rig.trim(lpn as u32);
            }
            for lpn in (0..pages).filter(|lpn| lpn % stride != offset).take(writes as usize) {
                rig.write(lpn as u32);
            }
        }
    }
    // The dies get a random stretch of time, or go idle.
    for _ in 0..rig.rng.below(50) {
        rig.step();
    }
    if rig.rng.chance(1, 3) {
        rig.collect_in_background();
        for _ in 0..rig.rng.below(2000) {
            rig.step();
        }
        rig.stop_background();
    }
    rig.check_oracle();
}

fn run(case: &Case) {
    if option_env!("SHOW").is_some() {
        eprintln!("CASE {case:?}");
    }
    let Some(mut rig) = Rig::new(case) else { return };
    let fill = rig.logical_pages;
    (0..fill).for_each(|lpn| rig.write(lpn));
    rig.check_oracle();
    for _ in 0..6 {
        phase(&mut rig, u64::from(fill).min(2500));
    }
    rig.settle();
    if rig.rng.chance(1, 8) {
        rig.secure_erase();
        rig.check_oracle();
        phase(&mut rig, u64::from(fill).min(1000));
        rig.settle();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None,
        ..ProptestConfig::with_cases(150) })]

    #[test]
    fn every_translation_layer_keeps_what_it_was_given(case in any_case()) {
        run(&case);
    }
}
