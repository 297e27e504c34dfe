//! What the collector does beside keeping data whole: its buffer, wear levelling, refresh.

use ssdlab_ftl::{Frontier, HostShare, Translation, VictimPolicy};
use ssdlab_nand::{BlockId, DieId};

use crate::properties::plain;
use crate::rig::Rig;
use crate::rig::case::Case;

/// Written full, with some spare area.
fn full(case: Case) -> Rig {
    let mut rig = Rig::new(&Case { extra_spare_percent: 20, ..case }).expect("it has spare area enough");
    (0..rig.logical_pages).for_each(|page| rig.write(page));
    rig
}

fn write_at_random(rig: &mut Rig, pages: u32, writes: u32) {
    for _ in 0..writes {
        let page = rig.rng.below(pages.into()) as u32;
        rig.write(page);
    }
}

fn erases(rig: &Rig) -> Vec<u32> {
    let medium = rig.ftl.medium();
    medium.layout().all_blocks().map(|block| medium.erases(block)).collect()
}

fn spread(rig: &Rig) -> u32 {
    let erases = erases(rig);
    erases.iter().max().unwrap_or(&0) - erases.iter().min().unwrap_or(&0)
}

#[test]
fn its_buffer_never_holds_more_than_it_has_room_for() {
    for streaming in [true, false] {
        let mut rig = full(Case { units_per_page: 4, rows_per_read: 2, streaming, ..plain() });
        let pages = rig.logical_pages;
        for _ in 0..1500 {
            write_at_random(&mut rig, pages, 1);
            rig.ftl.check_invariants().expect("the books balance");
        }
    }
}

#[test]
fn static_levelling_moves_what_lies_in_the_least_worn_superblock() {
    let never_erased = |static_spread| {
        let mut rig = full(Case { blocks: 24, static_spread, ..plain() });
        let tenth = rig.logical_pages / 10;
        write_at_random(&mut rig, tenth, 40_000);
        erases(&rig).iter().filter(|&&erases| erases == 0).count()
    };
    assert!(never_erased(None) > 12, "a tenth of the data needs no more superblocks than that");
    assert_eq!(never_erased(Some(20)), 0);
}

#[test]
fn a_block_that_was_replaced_does_not_make_its_superblock_young() {
    let counted = |dynamic_wear, young: Option<u32>| {
        let case = Case {
            dies: 2,
            blocks: 24,
            start_free: 4,
            victims_per_start: 1,
            all_dies: true,
            static_spread: Some(20),
            dynamic_wear,
            ..plain()
        };
        let mut rig = full(case);
        let layout = rig.ftl.medium().layout().clone();
        assert!(layout.dies > 1);
        let replaced = young.map(|die| layout.block_at(DieId::new(die), 5));
        for block in layout.all_blocks().filter(|&block| Some(block) != replaced) {
            rig.ftl.medium_mut().wear(block, 1000, 0);
        }
        let pages = rig.logical_pages;
        write_at_random(&mut rig, pages, 8_000);
        rig.ftl.counters()
    };
    for dynamic_wear in [false, true] {
        let none = counted(dynamic_wear, None);
        assert_eq!(
            [0, 1].map(|die| counted(dynamic_wear, Some(die))),
            [none; 2],
            "on the first die, and on the second"
        );
    }
}

#[test]
fn dynamic_levelling_opens_the_least_worn_free_superblock() {
    let host_share = HostShare::Balanced;
    let mut rig = full(Case { blocks: 24, start_free: 4, host_share, dynamic_wear: true, ..plain() });
    let pages = rig.logical_pages;
    write_at_random(&mut rig, pages, 20_000);
    let mean = erases(&rig).iter().sum::<u32>() / 24;
    assert!(mean > 80 && spread(&rig) < mean / 2, "a spread of {} about {mean}", spread(&rig));
}

#[test]
fn what_has_been_collected_since_is_not_refreshed() {
    let collected = |refreshes| {
        let mut rig = full(Case { blocks: 24, background_free: 8, ..plain() });
        let pages = rig.logical_pages;
        write_at_random(&mut rig, pages, 2000);
        let before = erases(&rig);
        if refreshes {
            (0..24).for_each(|block| rig.refresh(BlockId::new(block)));
        }
        while erases(&rig).iter().zip(&before).any(|(now, then)| now == then) {
            write_at_random(&mut rig, pages, 100);
        }
        // Then there is room to move any of them.
        (pages / 2..pages).for_each(|page| rig.trim(page));
        for _ in 0..20 {
            rig.collect_in_background();
            rig.settle();
        }
        rig.stop_background();
        rig.ftl.counters()
    };
    assert_eq!(collected(true), collected(false));
}

#[test]
fn a_collection_of_an_idle_drive_chooses_no_further_victim_once_the_host_is_back() {
    let erased = |stops| {
        let mut rig = full(Case { blocks: 24, background_free: 8, victims_per_start: 6, ..plain() });
        let pages = rig.logical_pages;
        write_at_random(&mut rig, pages, 2000);
        rig.settle();
        let before: u32 = erases(&rig).iter().sum();
        rig.collect_in_background();
        rig.step();
        if stops {
            rig.stop_background();
        }
        rig.settle();
        erases(&rig).iter().sum::<u32>() - before
    };
    assert_eq!(erased(true), 1);
    assert!(erased(false) > 6);
}

#[test]
fn a_policy_that_draws_does_not_give_up_while_there_is_something_to_gain() {
    for policy in [VictimPolicy::Random, VictimPolicy::DChoices] {
        for seed in 1..=3 {
            let case = Case {
                dies: 1,
                blocks: 60,
                start_free: 1,
                extra_spare_percent: 0,
                policy,
                choices: 2,
                frontier: Frontier::Separate,
                host_share: HostShare::Unlimited,
                seed,
                ..plain()
            };
            let mut rig = Rig::new(&case).expect("it has spare area enough");
            (0..rig.logical_pages).for_each(|page| rig.write(page));
            for page in (0..64).cycle().take(64 * 100) {
                rig.write(page);
            }
            rig.settle();
        }
    }
}

#[test]
fn what_trim_empties_is_erased_one_after_the_other_whatever_else_is_erased_meanwhile() {
    // An odd number of free superblocks worked towards: what TRIM empties is erased at once.
    let case = Case { dies: 2, blocks: 40, all_dies: true, background_free: 1, start_free: 3, ..plain() };
    let mut rig = full(case);
    let pages = rig.logical_pages;
    write_at_random(&mut rig, pages, 500);
    let before: u32 = erases(&rig).iter().sum();
    (0..pages).for_each(|page| rig.trim(page));
    // The collection that was under way erases its victims beside them, and begins no line of its own by that.
    (0..24).for_each(|_| _ = rig.step());
    let mut most = 0;
    while rig.step() {
        most = most.max(rig.erases_of(0));
    }
    let erased = erases(&rig).iter().sum::<u32>() - before;
    assert!(erased >= 2 * 30, "{erased} blocks");
    assert_eq!(most, 1);
}
