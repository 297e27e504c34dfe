//! Drives whose parts do not fit together are refused with the key, the reason and what would be right.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use ssdlab_device::Device;
use ssdlab_ftl::{Frontier, KeepsOlderPages, LogBlockSpec, LogScheme, RowSpan, SuperblockSpan};
use ssdlab_nand::{DieSpec, PageOrder, ReducedMode, SpecError};
use ssdlab_ssd::{DriveSpec, PowerLossSpec, RefreshSpec, Ssd, UsedSpec, build};
use ssdlab_testkit::{any_drive, ideal_die, ideal_drive};

fn refused(change: impl FnOnce(&mut DriveSpec, &mut DieSpec)) -> SpecError {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    drive.capacity_bytes = 1 << 30;
    assert!(Ssd::new("possible", &drive, &die, 1).is_ok());
    change(&mut drive, &mut die);
    Ssd::new("impossible", &drive, &die, 1).expect_err("it cannot be built")
}

#[test]
fn a_row_has_a_power_of_two_of_units() {
    let error = refused(|_, die| die.geometry.planes = 3);
    assert_eq!(error.key, "geometry.page_bytes");
}

#[test]
fn one_operation_of_the_collector_moves_no_more_than_it_can_count() {
    let error = refused(|drive, die| {
        (die.geometry.planes, die.geometry.page_bytes) = (4, 65_536);
        (drive.gc.rows_per_read, drive.write_buffer.capacity_kib) = (4, 4096);
    });
    assert_eq!((error.key.as_str(), error.expected.as_str()), ("gc.rows_per_read", "use at most 3"));
}

#[test]
fn the_write_buffer_holds_a_row() {
    let error = refused(|drive, die| {
        (die.geometry.planes, die.geometry.page_bytes) = (4, 65_536);
        drive.write_buffer.capacity_kib = 64;
    });
    assert_eq!((error.key.as_str(), error.expected.as_str()), ("write_buffer.capacity_kib", "use at least 256 KiB"));
}

#[test]
fn older_pages_are_kept_on_dies_that_have_some_and_can_run_at_one_bit_per_cell() {
    let keeps = |keeps_older_pages, frontier, bits: u32, slc: bool| {
        refused(|drive, die| {
            let spec = PowerLossSpec { keeps_older_pages, ..PowerLossSpec::default() };
            (drive.power_loss, drive.gc.frontier) = (Some(spec), frontier);
            die.geometry.bits_per_cell = bits;
            if bits == 2 {
                die.geometry.page_order = PageOrder::Alternating;
                die.timing.read_us = vec![40.0, 70.0];
                die.timing.program_us = vec![500.0, 1500.0];
            }
            die.modes.slc = slc.then(|| ReducedMode {
                read_us: vec![30.0],
                program_us: vec![300.0],
                erase_ms: 3.0,
                rated_program_erase_cycles: 10_000,
            });
        })
    };
    let (copies, padding) = (KeepsOlderPages::Copies, KeepsOlderPages::PaddingAtFlush);
    for (error, expected) in [
        (keeps(copies, Frontier::Separate, 1, false), "leave it out"),
        (keeps(copies, Frontier::Separate, 2, false), "use a die with [modes.slc]"),
        (keeps(padding, Frontier::Shared, 2, true), "use \"copies\", or another gc.frontier"),
    ] {
        assert_eq!((error.key.as_str(), error.expected.as_str()), ("power_loss.keeps_older_pages", expected));
    }
}

// Found by fuzzing: each of these was accepted, and then panicked, overflowed or got stuck.

#[test]
fn a_capacity_leaves_room_for_a_write_count_in_every_tag() {
    let error = refused(|drive, _| {
        drive.capacity_bytes = 4096 << 30;
        drive.flash.exact_spare_per_10000 = Some(700);
    });
    assert_eq!(error.key, "capacity_bytes");
}

#[test]
fn an_exact_spare_beyond_all_bounds_is_refused() {
    for spare in [u32::MAX, 1_000_001, 99] {
        let error = refused(|drive, _| drive.flash.exact_spare_per_10000 = Some(spare));
        assert_eq!(error.key, "flash.exact_spare_per_10000");
    }
}

/// One die of blocks of 768 KiB; the capacity fills 10.4 of them.
fn tight(drive: &mut DriveSpec, die: &mut DieSpec, spare: u32, frontier: Frontier) {
    (die.geometry.planes, die.geometry.page_bytes, die.geometry.pages_per_block) = (2, 16_384, 24);
    drive.capacity_bytes = 8_159_232;
    (drive.flash.dies, drive.flash.exact_spare_per_10000) = (1, Some(spare));
    (drive.controller.channels, drive.mapping.superblock) = (1, SuperblockSpan::OneDie);
    (drive.gc.start_free_superblocks, drive.gc.frontier) = (2, frontier);
}

#[test]
fn an_exact_spare_with_which_writing_would_stand_still_is_refused_and_the_least_that_it_needs_is_not() {
    let built = |spare, frontier| {
        let (mut drive, mut die) = (ideal_drive(), ideal_die());
        tight(&mut drive, &mut die, spare, frontier);
        Ssd::new("tight", &drive, &die, 1)
    };
    let superblocks = 8_159_232.0 / f64::from(24 * 16_384 * 2);
    let error = built(117, Frontier::Separate).expect_err("it would stand still");
    assert_eq!(error.key, "flash.exact_spare_per_10000");
    let least = error.expected.strip_prefix("use at least ").and_then(|rest| rest.split(',').next());
    let least: u32 = least.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{error}"));
    assert!(built(least - 1, Frontier::Separate).is_err());
    let drive = built(least, Frontier::Separate).unwrap_or_else(|e| panic!("{e}"));
    let told = drive.info().over_provisioning_percent.expect("flash");
    assert!(
        (told - (11.0 / superblocks - 1.0) * 100.0).abs() < 1e-9,
        "as it was built, not as it was asked for: {told}"
    );
    assert!(built(117, Frontier::Shared).is_ok(), "no superblock of the collector's own");
    // What is kept back for bad blocks is no spare area.
    let percent = |reserved| {
        let (mut drive, die) = (ideal_drive(), ideal_die());
        (drive.capacity_bytes, drive.flash.exact_spare_per_10000) = (1 << 30, Some(3_000));
        drive.mapping.reserved_blocks_per_1000 = reserved;
        Ssd::new("reserved", &drive, &die, 1).unwrap_or_else(|e| panic!("{e}")).info().over_provisioning_percent
    };
    assert!(percent(100) < percent(0));
}

#[test]
fn an_exact_spare_that_the_reserve_or_the_journal_eats_up_is_refused() {
    let error = refused(|drive, _| {
        drive.capacity_bytes = 1 << 30;
        drive.mapping.reserved_blocks_per_1000 = 200;
    });
    assert_eq!(error.key, "capacity_bytes");
    assert!(error.problem.starts_with("bad, reserved and system blocks leave"), "{error}");
    // Less capacity would be less flash as well.
    let with = |capacity_bytes, exact_spare_per_10000| {
        let (mut drive, die) = (ideal_drive(), ideal_die());
        (drive.capacity_bytes, drive.mapping.journal) = (capacity_bytes, true);
        drive.flash.exact_spare_per_10000 = exact_spare_per_10000;
        Ssd::new("journal", &drive, &die, 1).err()
    };
    for capacity_bytes in [1 << 29, 1 << 28] {
        let error = with(capacity_bytes, ideal_drive().flash.exact_spare_per_10000).expect("the journal needs room");
        assert_eq!(error.expected, "use a larger flash.exact_spare_per_10000 or none, or a smaller reserve");
        assert_eq!([Some(10_000), None].map(|spare| with(capacity_bytes, spare)), [None, None]);
    }
}

#[test]
fn a_journal_writes_its_checkpoints_within_reason() {
    for interval in [0, u32::MAX] {
        let error = refused(|drive, _| {
            drive.mapping.journal = true;
            drive.mapping.journal_rows_per_checkpoint_row = interval;
        });
        assert_eq!(error.key, "mapping.journal_rows_per_checkpoint_row");
    }
}

#[test]
fn a_ring_that_leaves_no_room_is_refused_with_its_key_and_the_largest_value_that_fits() {
    use ssdlab_ftl::MappingSpec;
    type Set = fn(&mut MappingSpec, u32);
    let by_interval: (&str, u32, Set) =
        ("mapping.journal_rows_per_checkpoint_row", 10_000, |m, n| m.journal_rows_per_checkpoint_row = n);
    let by_limit: (&str, u32, Set) = ("mapping.journal_limit_rows", 1_000_000, |m, n| m.journal_limit_rows = Some(n));
    for (key, most, set) in [by_interval, by_limit] {
        let build = |value| {
            let (mut drive, mut die) = (ideal_drive(), ideal_die());
            (drive.flash.exact_spare_per_10000, drive.mapping.journal) = (None, true);
            (drive.capacity_bytes, die.geometry.blocks_per_plane) = (1 << 30, 48);
            set(&mut drive.mapping, value);
            Ssd::new("rings", &drive, &die, 1).err()
        };
        let error = build(most).expect("such a ring leaves no room");
        let fits = error.expected.strip_prefix("use at most ").and_then(|rest| rest.split(',').next());
        let fits: u32 = fits.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{error}"));
        assert_eq!(error.key, key, "{error}");
        assert!(build(fits).is_none() && build(fits + 1).is_some(), "{error}");
    }
}

#[test]
fn a_trickle_is_no_flood_and_a_choice_is_not_among_all() {
    let error = refused(|drive, _| {
        drive.gc.host_share = ssdlab_ftl::HostShare::Trickle;
        drive.gc.trickle_per_1000 = u32::MAX;
    });
    assert_eq!(error.key, "gc.trickle_per_1000");
    assert_eq!(refused(|drive, _| drive.gc.choices = 1_000_000).key, "gc.choices");
    // Policies that do not choose take no number for it.
    let error = refused(|drive, _| (drive.gc.policy, drive.gc.choices) = (ssdlab_ftl::VictimPolicy::Greedy, 8));
    assert_eq!((error.key.as_str(), error.problem.starts_with("has no effect without")), ("gc.choices", true));
    for policy in [ssdlab_ftl::VictimPolicy::DChoices, ssdlab_ftl::VictimPolicy::WindowedGreedy] {
        let (mut drive, die) = (ideal_drive(), ideal_die());
        (drive.capacity_bytes, drive.gc.policy, drive.gc.choices) = (1 << 30, policy, 8);
        assert!(Ssd::new("chooses", &drive, &die, 1).is_ok());
    }
}

#[test]
fn a_bus_moves_a_page_in_a_time_that_can_be_counted() {
    for rate in [1e-300, 1e-9, -1.0, f64::NAN] {
        assert_eq!(refused(|_, die| die.bus.mega_transfers_per_s = rate).key, "bus.mega_transfers_per_s");
    }
}

#[test]
fn a_drive_that_a_program_puts_together_meets_the_ranges_of_a_file() {
    let error = refused(|drive, _| drive.write_buffer.capacity_kib = 3);
    assert_eq!(error.to_string(), "write_buffer.capacity_kib: 3 KiB is impossible; use 4 to 1,048,576 KiB");
    let error = refused(|_, die| die.timing.read_us[0] = f64::INFINITY);
    assert_eq!(error.to_string(), "timing.read_us: inf µs is impossible; use 0 to 1,000,000 µs");
    let error = refused(|drive, _| drive.gc.background_after_idle_ms = Some(f64::NAN));
    assert_eq!(error.key, "gc.background_after_idle_ms");
    let error = refused(|drive, _| drive.capacity_bytes = u64::MAX);
    assert!(!error.key.is_empty() && !error.expected.is_empty(), "{error}");
}

#[test]
fn a_drive_that_translates_by_blocks_is_refused_before_it_is_built() {
    let refused = |change: fn(&mut DriveSpec, &mut DieSpec)| {
        let (mut drive, mut die) = (ideal_drive(), ideal_die());
        drive.capacity_bytes = 1 << 30;
        drive.flash.planes_apart = die.geometry.planes > 1;
        drive.flash.exact_spare_per_10000 = None;
        drive.log_blocks = Some(LogBlockSpec::plain(LogScheme::Bast, 1));
        assert!(ssdlab_ssd::build("possible", &drive, &die, 1).is_ok());
        change(&mut drive, &mut die);
        ssdlab_ssd::build("impossible", &drive, &die, 1).err().expect("it cannot be built")
    };
    let error = refused(|drive, die| {
        (drive.flash.planes_apart, die.geometry.planes) = (true, 2);
        (drive.flash.dies, drive.controller.channels, drive.controller.ways) = (512, 16, 32);
    });
    assert_eq!(error.to_string(), "flash.dies: 512 dies of 2 planes worked apart are 1024; use at most 256");
    let refused = |change| refused(change).key;
    assert_eq!(refused(|_, die| die.geometry.blocks_per_plane = 1 << 20), "flash.dies");
    assert_eq!(refused(|drive, _| drive.write_buffer.capacity_kib = (128 << 10) + 4), "write_buffer.capacity_kib");
    assert_eq!(refused(|drive, _| drive.log_blocks.as_mut().expect("it has some").banks = Some(2)), "log_blocks.banks");
    assert_eq!(refused(|drive, _| drive.mapping.row = RowSpan::OnePlane), "mapping.row");
    assert_eq!(
        refused(|drive, _| drive.log_blocks.as_mut().expect("it has some").open_logs = 65_535),
        "capacity_bytes"
    );
}

#[test]
fn a_unit_lies_on_one_page_and_the_capacity_is_whole_units() {
    let error = refused(|drive, die| (drive.mapping.unit_kib, die.geometry.page_bytes) = (16, 8192));
    assert_eq!((error.key.as_str(), error.problem.contains("8192")), ("mapping.unit_kib", true), "{error}");
    let error = refused(|drive, die| {
        (drive.mapping.unit_kib, die.geometry.page_bytes, die.geometry.planes) = (16, 16_384, 1);
        drive.capacity_bytes = (1 << 30) + 4096;
    });
    assert_eq!((error.key.as_str(), error.expected.as_str()), ("capacity_bytes", "use 1073741824 bytes"), "{error}");
    let error = refused(|drive, _| drive.mapping.unit_kib = 5);
    assert_eq!(error.key, "mapping.unit_kib");
}

#[test]
fn sixteen_terabytes_need_units_of_16_kib() {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.page_bytes, die.geometry.planes) = (16_384, 2);
    die.geometry.blocks_per_plane = 4096;
    die.geometry.pages_per_block = 1024;
    (drive.flash.dies, drive.controller.channels, drive.controller.ways) = (128, 16, 8);
    (drive.capacity_bytes, drive.write_buffer.capacity_kib) = (16_000_000_000_000, 8192);
    let of_units = |unit_kib| {
        let mut drive = drive.clone();
        drive.mapping.unit_kib = unit_kib;
        drive.validate(&die)
    };
    for small in [4, 8] {
        let error = of_units(small).unwrap_err();
        assert_eq!(error.key, "capacity_bytes");
        assert!(error.expected.ends_with("or a larger mapping.unit_kib"), "{error}");
    }
    assert_eq!(of_units(16), Ok(()));
}

/// The first number of what a message advises.
fn named(error: &SpecError) -> Option<u64> {
    error.expected.split([' ', ',']).find_map(|word| word.parse().ok())
}

#[test]
fn what_a_message_names_instead_of_too_much_can_be_built() {
    type Set = fn(&mut DriveSpec, u64);
    let capacity: (&str, Set) = ("capacity_bytes", |drive, bytes| drive.capacity_bytes = bytes);
    let free: (&str, Set) = ("gc.start_free_superblocks", |drive, free| drive.gc.start_free_superblocks = free as u32);
    let mut runner = TestRunner::deterministic();
    let (mut of_file, mut of_specimen) = ([0, 0], 0);
    for _ in 0..400 {
        let drawn = any_drive().new_tree(&mut runner).expect("a drive").current();
        let Some((spec, die)) = drawn.build() else { continue };
        let raw = die.raw_bytes() * u64::from(spec.flash.dies);
        let capacities =
            [1 << 42, 2 * raw, raw, raw * 19 / 20, raw * 17 / 20].map(|bytes| (capacity, bytes / 4096 * 4096));
        for ((key, set), asked) in capacities.into_iter().chain([5, 10, 40].map(|superblocks| (free, superblocks))) {
            let with = |value| {
                let mut spec = spec.clone();
                set(&mut spec, value);
                spec
            };
            let refused = with(asked).validate(&die).err();
            let by_file = refused.is_some();
            let Some(error) = refused.or_else(|| build("named", &with(asked), &die, drawn.seed).err()) else {
                continue;
            };
            // Of some nothing would be left to sell.
            if error.key != key || error.expected.starts_with("use more flash") {
                continue;
            }
            let value = named(&error).unwrap_or_else(|| panic!("{asked}: {error}"));
            // What follows from the files alone holds for every specimen.
            let others = if by_file { 3 } else { 1 };
            for seed in (0..others).map(|other| drawn.seed.wrapping_add(other)) {
                let refused = build("named", &with(value), &die, seed).err();
                assert_eq!(refused, None, "seed {seed}: {value}, which was named instead of {asked}: {error}");
            }
            if by_file { of_file[usize::from(key == free.0)] += 1 } else { of_specimen += 1 }
        }
    }
    assert!(of_file[0] > 300 && of_file[1] > 20 && of_specimen > 0, "{of_file:?}, {of_specimen}");
}

#[test]
fn nothing_is_refreshed_that_never_errs() {
    let error = refused(|drive, _| {
        drive.refresh = Some(RefreshSpec { after_days: None, after_block_reads: Some(5000) });
    });
    assert_eq!((error.key.as_str(), error.expected.as_str()), ("refresh", "add [ecc], or leave [refresh] out"));
}

#[test]
fn groups_of_dies_divide_the_drive() {
    let error = refused(|drive, _| drive.mapping.superblock = SuperblockSpan::DieGroup);
    assert_eq!((error.key.as_str(), error.expected.as_str()), ("mapping.dies_per_group", "give the dies of a group"));
    let error = refused(|drive, _| {
        (drive.mapping.superblock, drive.mapping.dies_per_group) = (SuperblockSpan::DieGroup, Some(5));
    });
    assert_eq!(error.expected, "use a divisor of flash.dies", "{error}");
    assert_eq!(refused(|drive, _| drive.mapping.dies_per_group = Some(4)).key, "mapping.dies_per_group");
}

#[test]
fn rows_of_one_plane_need_a_die_of_several() {
    let error = refused(|drive, die| {
        drive.mapping.row = RowSpan::OnePlane;
        die.geometry.planes = 1;
    });
    assert_eq!((error.key.as_str(), error.problem.as_str()), ("mapping.row", "has no effect on a die of one plane"));
}

#[test]
fn firmware_with_counts_of_its_own_knows_no_earlier_spread() {
    let used = |spread_percent| Some(UsedSpec { life_percent: 50.0, spread_percent });
    let error = refused(|drive, _| {
        (drive.log_blocks, drive.flash.exact_spare_per_10000) = (Some(LogBlockSpec::plain(LogScheme::Bast, 1)), None);
        drive.used = used(5.0);
    });
    assert_eq!(error.key, "used.spread_percent");
    for life_percent in [f64::NAN, -1.0, 1001.0] {
        let error = refused(|drive, _| drive.used = Some(UsedSpec { life_percent, spread_percent: 0.0 }));
        assert_eq!(error.key, "used.life_percent");
    }
}
