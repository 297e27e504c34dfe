//! Drives that have been used before: worn from the beginning, as far as their file says.

use ssdlab_core::{Nanos, Op, Rng};
use ssdlab_device::{Device, Flash, Plug, Request};
use ssdlab_ftl::Translation;
use ssdlab_nand::{BlockHistory, BlockId, DieSpec, VariationSpec};
use ssdlab_ssd::{DriveSpec, Ssd, UsedSpec};
use ssdlab_testkit::{ideal_die, ideal_drive};

const RATED: u32 = 3000;

/// Erases of worn flash take longer, and its programs less time.
fn small(used: Option<UsedSpec>) -> (DriveSpec, DieSpec) {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (400, 16);
    (die.wear.rated_program_erase_cycles, die.wear.factory_bad_blocks_per_10000) = (RATED, 200);
    die.variation = Some(VariationSpec {
        program_dies_percent: 0.0,
        program_blocks_percent: 0.0,
        program_pages_percent: 0.0,
        read_pages_percent: 0.0,
        erase_blocks_percent: 0.0,
        program_gain_at_rated_cycles_percent: 20.0,
        erase_growth_at_rated_cycles_percent: 100.0,
    });
    (drive.flash.dies, drive.flash.exact_spare_per_10000, drive.controller.channels) = (4, None, 2);
    drive.write_buffer.capacity_kib = 64;
    drive.capacity_bytes = 16_000 * 4096;
    drive.used = used;
    (drive, die)
}

fn new(life_percent: f64, spread_percent: f64, seed: u64) -> Ssd {
    let (drive, die) = small(Some(UsedSpec { life_percent, spread_percent }));
    Ssd::new("small", &drive, &die, seed).expect("it can be built")
}

fn good(drive: &Ssd) -> impl Iterator<Item = BlockHistory> {
    let medium = drive.translation().medium();
    medium.layout().all_blocks().filter(|&block| !medium.is_bad(block)).map(|block| medium.history(block))
}

/// Writes at random, one at a time; returns when the last one ended.
fn work(drive: &mut Ssd, commands: u64) -> Nanos {
    let (mut now, mut rng) = (0, Rng::new(9));
    for tag in 0..commands {
        drive.submit(now, Request::new(tag, Op::Write, rng.below(16_000) * 4096, 4096)).expect("it takes it");
        now = drive.advance_to_completion(now + 1_000_000_000_000, &mut Vec::new());
    }
    drive.check_books().expect("the books balance");
    now
}

#[test]
fn without_a_spread_it_is_a_new_drive_whose_blocks_all_wore_as_far() {
    let (plain, die) = small(None);
    let new_one = || Ssd::new("small", &plain, &die, 1).expect("it can be built");
    let (mut used, mut worn) = (new(50.0, 0.0, 1), new_one());
    worn.wear_out(RATED / 2);
    assert!(good(&used).eq(good(&worn)));
    assert_eq!(used.wear(), worn.wear());
    assert_eq!((used.wear().mean, used.wear().erases_mean), (0.5, 1500.0));
    // Flash that was erased so often erases more slowly.
    let (used, worn, fresh) = (work(&mut used, 40_000), work(&mut worn, 40_000), work(&mut new_one(), 40_000));
    assert_eq!(used, worn);
    assert_ne!(used, fresh);
}

#[test]
fn blocks_differ_by_the_spread_and_mean_and_specimen_stay() {
    let drive = new(80.0, 10.0, 1);
    let wear: Vec<f64> = good(&drive).map(|block| block.life_used()).collect();
    let count = wear.len() as f64;
    assert!(count < 1600.0, "some blocks are bad, and not counted");
    let mean = wear.iter().sum::<f64>() / count;
    let deviation = (wear.iter().map(|own| (own - mean) * (own - mean)).sum::<f64>() / count).sqrt();
    // Three standard errors of 1,580 draws.
    assert!((mean / 0.8 - 1.0).abs() < 0.0076, "{mean}");
    assert!((deviation / 0.08 - 1.0).abs() < 0.054, "{deviation}");
    good(&drive).for_each(|block| {
        let cycles = block.life_used() * f64::from(RATED);
        assert!((f64::from(block.erases) - cycles).abs() <= 0.5, "{} erases of {cycles}", block.erases);
    });
    assert!(good(&drive).eq(good(&new(80.0, 10.0, 1))), "a specimen is drawn once");
    assert!(good(&drive).ne(good(&new(80.0, 10.0, 2))), "another one is another");
    // Twice the life is twice the wear of each.
    let twice = new(160.0, 10.0, 1);
    for (one, two) in good(&drive).zip(good(&twice)) {
        assert!((two.life_used() / one.life_used() - 2.0).abs() < 1e-6);
    }
}

#[test]
fn bad_blocks_have_no_wear_and_what_was_saved_is_not_worn_twice() {
    let mut first = new(60.0, 25.0, 3);
    let medium = first.translation().medium();
    let bad: Vec<BlockId> = medium.layout().all_blocks().filter(|&block| medium.is_bad(block)).collect();
    assert!(!bad.is_empty() && bad.iter().all(|&block| medium.history(block) == BlockHistory::default()));
    work(&mut first, 20_000);
    let off = first.stand_by(1_000_000_000_000_000);
    first.cut(off);
    let (state, totals) = (first.save(), first.totals(off));
    let mut second = new(60.0, 25.0, 3);
    second.load(&state).expect("it is of such a drive");
    assert!(good(&first).eq(good(&second)));
    // A drive of which only the totals are known has worn as far in the mean.
    let mut third = new(60.0, 25.0, 3);
    third.count_at_least(&totals).expect("they are of such a drive");
    let (one, two) = (first.wear().erases_mean, third.wear().erases_mean);
    assert!((one - two).abs() < 0.01, "{one} erases and {two}");
}
