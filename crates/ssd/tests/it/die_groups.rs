//! Superblocks of groups of dies: what each group collects for itself.

use ssdlab_core::{Nanos, Op, Rng, UNIT_BYTES};
use ssdlab_device::{Device, Request};
use ssdlab_ftl::{SuperblockSpan, Translation};
use ssdlab_nand::{LogicalPage, LogicalPages};
use ssdlab_ssd::{DriveSpec, Ssd};
use ssdlab_testkit::{ideal_die, ideal_drive};

/// A drive of eight dies with superblocks over so many of them, filled and written at random twice.
fn written(dies_per_group: u32) -> Ssd {
    let (drive, mut die) = (ideal_drive(), ideal_die());
    die.geometry.blocks_per_plane = 48;
    let mut drive = DriveSpec { capacity_bytes: 0, ..drive };
    (drive.flash.dies, drive.controller.channels, drive.controller.ways) = (8, 8, 1);
    drive.flash.exact_spare_per_10000 = None;
    (drive.mapping.superblock, drive.mapping.dies_per_group) = (SuperblockSpan::DieGroup, Some(dies_per_group));
    drive.capacity_bytes = die.raw_bytes() * 8 * 6 / 10 / UNIT_BYTES * UNIT_BYTES;
    let mut ssd = Ssd::new("groups", &drive, &die, 1).expect("a valid drive");
    let pages = drive.capacity_bytes / UNIT_BYTES;
    let (mut rng, mut now) = (Rng::new(3), 0);
    for turn in 0..3 {
        for page in 0..pages {
            let at = if turn == 0 { page } else { rng.below(pages) };
            ssd.submit(now, Request::new(page, Op::Write, at * UNIT_BYTES, UNIT_BYTES)).unwrap();
            now = ssd.advance_to_completion(Nanos::MAX / 2, &mut Vec::new());
        }
    }
    ssd.check_books().expect("the books balance");
    ssd
}

#[test]
fn each_group_holds_an_even_share_of_the_data_and_the_wear() {
    let ssd = written(2);
    let layout = ssd.translation().medium().layout().clone();
    let group_of = |block| layout.die_of(block).0.index() / 2;
    let (mut held, mut erases) = ([0u64; 4], [0u64; 4]);
    for page in LogicalPage::all(ssd.translation().logical_pages()).each() {
        if let Some(unit) = ssd.translation().unit_of(page) {
            held[group_of(layout.block_of(unit))] += 1;
        }
    }
    for block in layout.all_blocks() {
        erases[group_of(block)] += u64::from(ssd.translation().medium().history(block).erases);
    }
    for of_groups in [held, erases] {
        let (least, most) = (of_groups.iter().min().unwrap(), of_groups.iter().max().unwrap());
        assert!(most - least < most / 20, "pages held {held:?}, erases {erases:?}");
    }
}
