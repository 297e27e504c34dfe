//! Translation by blocks: what is merged, what is copied for it, and where pages lie afterwards.

use ssdlab_core::{Rng, UNIT_BYTES};
use ssdlab_device::{Device, FlashCounters, Request};
use ssdlab_ftl::{LogBlock, LogBlockSpec, LogScheme, Merges, Source, Translation};
use ssdlab_nand::{DieSpec, Geometry, LogicalPage, PageOrder, UnitAddress};
use ssdlab_ssd::{DriveSpec, LinkGeneration, SimulatedSsd};

const LANES: u64 = 2;
const ROWS: u64 = 8;
/// Pages of a superblock.
const SUPERBLOCK: u64 = LANES * ROWS;
const SUPERBLOCKS: u64 = 10;

/// Ten superblocks on two dies, each on a channel of its own, and a host that sends one command after the other.
struct Small {
    drive: SimulatedSsd<true, true, LogBlock>,
    now: u64,
}

impl Small {
    fn new(scheme: LogScheme) -> Self {
        Self::with(LogBlockSpec::plain(scheme, 1))
    }

    fn with(log_blocks: LogBlockSpec) -> Self {
        Self::on(LANES, SUPERBLOCKS * SUPERBLOCK, log_blocks)
    }

    /// On so many dies, with two channels.
    fn on(dies: u64, pages: u64, log_blocks: LogBlockSpec) -> Self {
        Self::with_buffer(dies, pages, log_blocks, 512)
    }

    fn with_buffer(dies: u64, pages: u64, log_blocks: LogBlockSpec, buffer_kib: u32) -> Self {
        Self::of(dies, pages, log_blocks, |drive, _| drive.write_buffer.capacity_kib = buffer_kib)
    }

    fn of(dies: u64, pages: u64, log_blocks: LogBlockSpec, change: impl FnOnce(&mut DriveSpec, &mut DieSpec)) -> Self {
        let mut die = DieSpec::plain(Geometry {
            planes: 1,
            blocks_per_plane: 16,
            pages_per_block: ROWS as u32,
            page_bytes: 4096,
            spare_bytes: 0,
            bits_per_cell: 1,
            page_order: PageOrder::Uniform,
        });
        let mut spec = DriveSpec::plain("small", dies as u32, pages * UNIT_BYTES);
        (spec.controller.channels, spec.log_blocks) = (LANES as u32, Some(log_blocks));
        change(&mut spec, &mut die);
        let drive = SimulatedSsd::with_log_blocks("small", &spec, &die, 1).expect("a valid drive");
        Small { drive, now: 0 }
    }

    fn filled(scheme: LogScheme) -> Self {
        let mut small = Small::new(scheme);
        (0..SUPERBLOCKS).for_each(|k| small.write(k * SUPERBLOCK, SUPERBLOCK));
        small
    }

    fn send(&mut self, request: Request) {
        let mut done = Vec::new();
        self.drive.submit(self.now, request).expect("it lies within the drive");
        while done.is_empty() {
            self.now = self.drive.next_event().expect("a command is under way");
            self.drive.advance(self.now, &mut done);
        }
    }

    fn write(&mut self, page: u64, pages: u64) {
        self.send(Request::write(0, page * UNIT_BYTES, pages * UNIT_BYTES));
    }

    /// Lets the drive finish what it is at.
    fn rest(&mut self) {
        self.send(Request::flush(0));
        while let Some(at) = self.drive.next_event() {
            self.now = at;
            self.drive.advance(at, &mut Vec::new());
        }
        self.drive.check_books().expect("the books balance");
        self.drive.translation().check_invariants().expect("everything known twice agrees");
    }

    fn merges(&self) -> (u64, u64, u64) {
        let Merges { switch, partial, full } = self.drive.translation().merges();
        (switch, partial, full)
    }

    fn flash(&self) -> FlashCounters {
        self.drive.counters().flash.expect("a drive has flash")
    }

    /// Since `before`: pages copied, and blocks erased.
    fn since(&self, before: &FlashCounters) -> (u64, u64) {
        let now = self.flash();
        let copied = (now.gc_program_bytes - before.gc_program_bytes) / UNIT_BYTES;
        (copied, now.block_erases - before.block_erases)
    }

    /// Whether each page of a superblock lies in its row, and all of a lane in one block.
    fn is_in_order(&self, superblock: u64) -> bool {
        let place = |lane: u64, row: u64| {
            let page = superblock * SUPERBLOCK + row * LANES + lane;
            match self.drive.translation().source(LogicalPage::new(page as u32)) {
                Source::Flash(spot) => (spot.block, u64::from(spot.page)),
                other => panic!("page {page} is in {other:?}"),
            }
        };
        (0..LANES).all(|lane| (0..ROWS).all(|row| place(lane, row) == (place(lane, 0).0, row)))
    }

    fn read_all(&mut self) {
        self.send(Request::read(0, 0, SUPERBLOCKS * SUPERBLOCK * UNIT_BYTES));
    }
}

#[test]
fn what_is_written_in_order_takes_its_place_without_a_copy() {
    for scheme in [LogScheme::Replacement, LogScheme::Bast] {
        let mut small = Small::filled(scheme);
        small.rest();
        assert_eq!(small.merges(), (9, 0, 0), "the tenth log is open");
        let before = small.flash();
        assert_eq!(before.gc_program_bytes, 0);
        small.write(0, 4 * SUPERBLOCK);
        small.rest();
        assert_eq!(small.merges(), (13, 0, 0));
        // The fill's last log replaced nothing; three of the four others have.
        assert_eq!(small.since(&before), (0, 3 * LANES));
        assert!((0..SUPERBLOCKS).all(|superblock| small.is_in_order(superblock)));
    }
}

/// A buffer of four pages before sixteen dies, on a link that takes 15 us for a page: a page leaves the buffer when its program
/// begins, which is when its data have come, and the next is taken in then, not when a program ends.
#[test]
fn there_is_room_for_the_next_page_as_soon_as_a_program_begins() {
    const DIES: u64 = 16;
    let spec = LogBlockSpec { stripe_superblocks: 8, ..LogBlockSpec::plain(LogScheme::Replacement, 8) };
    let mut small = Small::of(DIES, 8 * DIES * ROWS, spec, |drive, die| {
        drive.write_buffer.capacity_kib = 16;
        drive.link.generation = LinkGeneration::Sata2;
        die.timing.program_us = vec![400.0];
    });
    small.write(0, DIES);
    assert!(small.now < DIES * 17_000, "{} ns for sixteen pages", small.now);
}

#[test]
fn a_replacement_copies_what_comes_before_on_its_lane_and_the_rest_when_it_closes() {
    let mut small = Small::filled(LogScheme::Replacement);
    small.rest();
    // Lane 1, row 3 of the first superblock: rows 0 to 2 of this lane are copied, none of lane 0.
    let before = small.flash();
    small.write(7, 1);
    small.rest();
    assert_eq!(small.merges(), (10, 0, 0));
    assert_eq!(small.since(&before), (3, 0));
    // Another superblock: the rest is copied, four rows of lane 1 and all of lane 0.
    let before = small.flash();
    small.write(SUPERBLOCK, 1);
    small.rest();
    assert_eq!(small.merges(), (10, 1, 0));
    assert_eq!(small.since(&before), (4 + ROWS, LANES));
    assert!(small.is_in_order(0));
    // What comes later in the open superblock is no merge; what comes again is.
    let before = small.flash();
    small.write(SUPERBLOCK + 1, SUPERBLOCK - 1);
    small.rest();
    assert_eq!((small.merges(), small.since(&before)), ((10, 1, 0), (0, 0)));
    small.write(SUPERBLOCK, 1);
    small.rest();
    assert_eq!((small.merges(), small.since(&before)), ((11, 1, 0), (0, LANES)));
    // The first page of the second superblock is in a log again.
    let others = (0..SUPERBLOCKS).filter(|&superblock| superblock != 1);
    assert!(others.into_iter().all(|superblock| small.is_in_order(superblock)));
    small.read_all();
}

#[test]
fn a_log_of_one_superblock_is_completed_if_it_is_in_order_and_else_copied_with_it() {
    let mut small = Small::filled(LogScheme::Bast);
    small.rest();
    small.write(0, 3); // in order: rows 0 of both lanes, row 1 of lane 0
    small.rest();
    let before = small.flash();
    small.write(SUPERBLOCK + 5, 1); // row 2, as the first of its log
    small.rest();
    assert_eq!((small.merges(), small.since(&before)), ((10, 1, 0), (SUPERBLOCK - 3, LANES)));
    let before = small.flash();
    small.write(0, 1);
    small.rest();
    assert_eq!((small.merges(), small.since(&before)), ((10, 1, 1), (SUPERBLOCK, 2 * LANES)));
    // A log that is full: eight times the same page fill a lane.
    let before = small.flash();
    for _ in 0..ROWS {
        small.write(0, 1);
        small.rest();
    }
    assert_eq!((small.merges(), small.since(&before)), ((10, 1, 2), (SUPERBLOCK, 2 * LANES)));
    assert!((1..SUPERBLOCKS).all(|superblock| small.is_in_order(superblock)));
    small.read_all();
}

#[test]
fn a_shared_log_is_merged_with_every_superblock_that_it_holds_pages_of() {
    let mut small = Small::filled(LogScheme::Fast);
    small.rest();
    assert_eq!(small.merges(), (0, 0, 9), "each log of the fill held one superblock");
    // Two pages each of eight superblocks fill a log, after that of the fill's last superblock has been merged.
    (0..8).for_each(|k| small.write(k * SUPERBLOCK, 2));
    small.rest();
    assert_eq!(small.merges(), (0, 0, 10));
    let before = small.flash();
    small.write(0, 1);
    small.rest();
    assert_eq!(small.merges(), (0, 0, 18));
    assert_eq!(small.since(&before), (8 * SUPERBLOCK, 8 * LANES + LANES));
    assert!((1..SUPERBLOCKS).all(|superblock| small.is_in_order(superblock)));
    small.read_all();
}

#[test]
fn a_replacement_takes_pages_out_of_order_and_is_then_merged_in_full() {
    let mut small = Small::filled(LogScheme::Replacement);
    small.rest();
    // Lane 1, row 3, then row 0 of the same lane: only what comes before the first is copied.
    let before = small.flash();
    small.write(7, 1);
    small.write(1, 1);
    small.rest();
    assert_eq!((small.merges(), small.since(&before)), ((10, 0, 0), (3, 0)));
    let before = small.flash();
    small.write(SUPERBLOCK, 1);
    small.rest();
    assert_eq!((small.merges(), small.since(&before)), ((10, 0, 1), (SUPERBLOCK, 2 * LANES)));
    assert!(small.is_in_order(0));
    small.read_all();
}

/// Time of 400 writes to one superblock after the other, in nanoseconds, by a drive of eight columns that merges so many
/// superblocks at once.
fn time_of_random_writes(merges_at_once: u32) -> u64 {
    let spec = LogBlockSpec { merges_at_once, corrects_copies: false, stripe_superblocks: 8, ..bast(8) };
    let pages = 8 * 7 * SUPERBLOCK;
    // What waits is of different superblocks, so that each page costs a merge.
    let mut small = Small::with_buffer(8 * LANES, pages, spec, 64);
    (0..pages / SUPERBLOCK).for_each(|k| small.write(k * SUPERBLOCK, SUPERBLOCK));
    small.rest();
    let (begin, mut rng) = (small.now, Rng::new(1));
    (0..400).for_each(|k| small.write(k * 23 % (8 * 7) * SUPERBLOCK + rng.below(SUPERBLOCK), 1));
    small.send(Request::flush(0));
    small.now - begin
}

#[test]
fn several_merges_at_once_take_a_part_of_the_time() {
    let [one, three] = [1, 3].map(time_of_random_writes);
    let share = three as f64 / one as f64;
    // A little less than a third: other pages are programmed meanwhile.
    assert!((0.24..0.36).contains(&share), "three at once take {share} of the time");
}

#[test]
fn trimmed_pages_are_not_copied() {
    for scheme in [LogScheme::Replacement, LogScheme::Bast] {
        let mut small = Small::filled(scheme);
        small.rest();
        // Rows 4 to 7 of the first superblock.
        small.send(Request::trim(0, SUPERBLOCK / 2 * UNIT_BYTES, SUPERBLOCK / 2 * UNIT_BYTES));
        small.write(0, 1);
        small.rest();
        let before = small.flash();
        (0..SUPERBLOCKS).skip(1).for_each(|k| small.write(k * SUPERBLOCK, SUPERBLOCK));
        small.rest();
        let (copied, _) = small.since(&before);
        assert_eq!(copied, SUPERBLOCK / 2 - 1, "{scheme:?}: all but the page that the host has written");
        assert_eq!(small.drive.translation().mapped_units(), SUPERBLOCKS * SUPERBLOCK - SUPERBLOCK / 2);
        assert_eq!(small.drive.translation().counters().trimmed_units, SUPERBLOCK / 2);
        assert_eq!(small.drive.translation().write_number(LogicalPage::new(SUPERBLOCK as u32 - 1)), None);
        small.read_all();
    }
}

#[test]
fn superblocks_that_are_never_written_move_when_others_have_been_merged_often() {
    let spec = LogBlockSpec {
        scheme: LogScheme::Replacement,
        open_logs: 2,
        merges_at_once: 1,
        corrects_copies: true,
        stripe_superblocks: 1,
        banks: None,
        relocate_after_merges: Some(8),
    };
    let mut small = Small::with(spec);
    (0..SUPERBLOCKS).for_each(|k| small.write(k * SUPERBLOCK, SUPERBLOCK));
    let first = |small: &Small| match small.drive.translation().source(LogicalPage::FIRST) {
        Source::Flash(spot) => spot.block,
        other => panic!("{other:?}"),
    };
    let block = first(&small);
    let mut rng = Rng::new(1);
    let mut merges = 0;
    while small.drive.translation().relocations() < 20 {
        small.write(5 * SUPERBLOCK + rng.below(5 * SUPERBLOCK), 1);
        // Until then it could be written again where it waits.
        small.send(Request::flush(0));
        let done = small.drive.translation().merges();
        merges = done.partial + done.full;
        assert!(merges < 1000, "after {merges} merges");
    }
    small.rest();
    assert!(merges >= 8 * 20, "{merges} merges made 20 superblocks move");
    assert_ne!(first(&small), block, "the first superblock has moved");
    small.read_all();
}

/// Logs that take pages in any order, so many of them.
fn bast(open_logs: u32) -> LogBlockSpec {
    LogBlockSpec::plain(LogScheme::Bast, open_logs)
}

#[test]
fn a_page_that_is_written_again_while_it_waits_takes_flash_once() {
    for (merges_at_once, command) in [(1, 1), (2, 2)] {
        let mut small = Small::with(LogBlockSpec { merges_at_once, ..bast(1) });
        (0..SUPERBLOCKS).for_each(|k| small.write(k * SUPERBLOCK, SUPERBLOCK));
        small.write(5 * SUPERBLOCK + 3, 1);
        small.rest();
        let before = small.drive.translation().counters();
        // The log of another superblock has to be merged first: until then the pages wait.
        let write = Request::write(0, 0, command * UNIT_BYTES);
        (0..5)
            .for_each(|tag| small.drive.submit(small.now, Request { tag, ..write }).expect("it lies within the drive"));
        small.rest();
        let now = small.drive.translation().counters();
        assert_eq!(now.host_units - before.host_units, command, "programmed once");
        assert_eq!(now.overwrites_in_buffer - before.overwrites_in_buffer, 4 * command);
        small.read_all();
    }
}

#[test]
fn a_stream_whose_commands_end_within_pages_is_written_once_and_in_order() {
    for scheme in [LogScheme::Replacement, LogScheme::Bast] {
        // A buffer of two pages, and one of a single page, which has to go before the next command has room.
        for (buffer_kib, programs_a_page) in [(8, 1), (4, 2)] {
            let pages = SUPERBLOCKS * SUPERBLOCK;
            let mut small = Small::with_buffer(LANES, pages, LogBlockSpec::plain(scheme, 1), buffer_kib);
            (0..SUPERBLOCKS).for_each(|k| small.write(k * SUPERBLOCK, SUPERBLOCK));
            small.rest();
            let before = small.flash();
            let half = UNIT_BYTES / 2;
            (0..2 * pages).for_each(|k| small.send(Request::write(0, k * half, half)));
            small.rest();
            let programmed = small.flash().host_program_bytes - before.host_program_bytes;
            if programs_a_page == 1 {
                assert_eq!(small.since(&before).0, 0, "{scheme:?}: nothing is copied");
            }
            assert_eq!(programmed, programs_a_page * pages * UNIT_BYTES, "{scheme:?}, {buffer_kib} KiB");
            small.read_all();
        }
    }
}

#[test]
fn the_page_within_which_a_command_ended_leaves_when_the_drive_rests_or_is_told_to() {
    let mut small = Small::filled(LogScheme::Replacement);
    small.rest();
    let part = Request::write(0, 3 * UNIT_BYTES, 512);
    small.send(part);
    assert_eq!(small.drive.translation().waiting_units(), 1, "the next may go on there");
    small.rest();
    assert_eq!(small.drive.translation().unfinished_units(), 0, "after a FLUSH");
    small.send(part);
    while small.drive.translation().unfinished_units() > 0 {
        small.now = small.drive.next_event().expect("the drive is idle, and writes it out");
        small.drive.advance(small.now, &mut Vec::new());
    }
    // Another page of the superblock before it, whose last command ended here: it does not wait for ever.
    small.send(part);
    (0..40).for_each(|k| small.send(Request::write(0, k % 5 * 7 * UNIT_BYTES + 512, 512)));
    small.rest();
    small.read_all();
}

#[test]
fn a_merge_serves_every_page_of_its_superblock_that_waits() {
    let merges = |merges_at_once| {
        let mut small = Small::on(2 * LANES, 2 * SUPERBLOCKS * SUPERBLOCK, LogBlockSpec { merges_at_once, ..bast(2) });
        (0..2 * SUPERBLOCKS).for_each(|k| small.write(k * SUPERBLOCK, SUPERBLOCK));
        small.rest();
        let before = small.drive.translation().merges().total();
        // Of six superblocks of one column by turns: one after the other each would close the log of another.
        let pages = (0..4).flat_map(|row| [0, 2, 4, 6, 8, 10].map(|k| k * SUPERBLOCK + row * LANES));
        pages.for_each(|page| small.write(page, 1));
        small.rest();
        small.read_all();
        small.drive.translation().merges().total() - before
    };
    assert_eq!([merges(1), merges(2)], [24, 6]);
}

#[test]
fn a_column_has_as_many_logs_as_it_has_blocks_to_spare_whatever_others_have() {
    // Each of two columns has 16 superblocks, 13 of them with data, and one to merge into.
    let mut small = Small::on(2 * LANES, 2 * 13 * SUPERBLOCK, bast(4));
    (0..2 * 13).for_each(|k| small.write(k * SUPERBLOCK, SUPERBLOCK));
    small.rest();
    let before = small.merges();
    (0..3).for_each(|_| [0, 2].into_iter().for_each(|k| small.write(k * SUPERBLOCK, 1)));
    small.rest();
    let (_, _, full) = small.merges();
    assert_eq!(full, before.2, "two logs of the first column serve both superblocks");
    (0..2).for_each(|_| [0, 2, 4].into_iter().for_each(|k| small.write(k * SUPERBLOCK, 1)));
    small.rest();
    let (_, _, full) = small.merges();
    assert!(full > before.2, "a third closes one of these, though the other column's were used longer ago");
    small.read_all();
}

#[test]
fn a_log_that_was_opened_for_a_page_that_left_before_is_closed_for_others() {
    // Each of two columns has 16 superblocks, 14 of them with data, one to merge into, and one for a log.
    for scheme in [LogScheme::Bast, LogScheme::Replacement] {
        let mut small = Small::on(2 * LANES, 2 * 14 * SUPERBLOCK, LogBlockSpec { scheme, ..bast(2) });
        (0..2 * 14).for_each(|k| small.write(k * SUPERBLOCK, SUPERBLOCK));
        [4, 5].into_iter().for_each(|k| small.write(k * SUPERBLOCK, 1));
        small.rest();
        let before = small.drive.translation().counters();
        // The first waits for a merge. Meanwhile the first page of superblock 1 is written, then once more at the end of a
        // command that begins in superblock 0: it leaves with the earlier one, and superblock 1 has a log in vain.
        let writes =
            [(2 * SUPERBLOCK, 1), (SUPERBLOCK, 1), (3 * SUPERBLOCK, 1), (SUPERBLOCK - 1, 2), (3 * SUPERBLOCK, 1)];
        for (tag, (page, pages)) in (0..).zip(writes) {
            let write = Request::write(tag, page * UNIT_BYTES, pages * UNIT_BYTES);
            small.drive.submit(small.now, write).expect("it lies within the drive");
        }
        small.rest();
        // The column of the log in vain is needed for another superblock.
        small.write(7 * SUPERBLOCK, 1);
        small.send(Request::flush(0));
        small.rest();
        assert!(small.drive.translation().counters().overwrites_in_buffer > before.overwrites_in_buffer);
        small.read_all();
    }
}

#[test]
fn units_of_the_last_block_are_asked_for_up_to_the_last_and_not_beyond() {
    let mut small = Small::filled(LogScheme::Replacement);
    small.rest();
    let translation = small.drive.translation();
    let units = translation.medium().layout().units() as u32;
    let valid = |from: u32| translation.valid_units(UnitAddress::new(from));
    let all: u32 = (0..units).step_by(64).map(|from| valid(from).count_ones()).sum();
    assert_eq!(u64::from(all), SUPERBLOCKS * SUPERBLOCK, "each page once");
    let last = (0..units).rev().find(|&unit| valid(unit) & 1 != 0).expect("a unit is valid");
    assert_eq!(valid(units - 1), u64::from(last == units - 1));
    assert_eq!(valid(last), 1);
}

/// A host that sends random commands, two at a time, to a drive on four dies whose processor moves pages.
fn mover(scheme: LogScheme, corrects_copies: bool) -> Small {
    let spec = LogBlockSpec { corrects_copies, stripe_superblocks: 2, ..LogBlockSpec::plain(scheme, 4) };
    Small::of(4, 2 * SUPERBLOCKS * SUPERBLOCK, spec, |drive, die| {
        (die.geometry.bits_per_cell, die.geometry.page_order) = (2, PageOrder::Alternating);
        (die.timing.read_us, die.timing.program_us) = (vec![50.0, 60.0], vec![250.0, 1500.0]);
        (die.bus.mega_transfers_per_s, die.bus.command_us) = (40.0, 1.0);
        drive.write_buffer.capacity_kib = 16;
        drive.controller.move_unit_us = 30.0;
        drive.controller.queue_depth = 2;
    })
}

/// Chains of copies are worked out whole as far as nothing comes between. Whoever looks at the drive at any time sees what it would
/// have come to by one event after the other.
#[test]
fn copies_that_are_worked_out_whole_end_when_they_would_one_event_after_the_other() {
    for (scheme, corrects_copies, seed) in [
        (LogScheme::Replacement, true, 1),
        (LogScheme::Replacement, false, 2),
        (LogScheme::Bast, true, 3),
        (LogScheme::Fast, true, 4),
    ] {
        let [mut whole, mut steps] = [(); 2].map(|()| mover(scheme, corrects_copies).drive);
        let (mut rng, mut now, mut sent, mut ended) = (Rng::new(seed), 0, 0, 0);
        let pages = 2 * SUPERBLOCKS * SUPERBLOCK;
        let mut copied = 0;
        while sent < 600 {
            while sent < ended + 2 {
                let (page, length) = (rng.below(pages - 3), rng.below(3) + 1);
                let (from, bytes) = (page * UNIT_BYTES, length * UNIT_BYTES);
                let request = match (sent < 60, rng.below(8)) {
                    (true, _) => Request::write(sent, sent * pages / 60 * UNIT_BYTES, 5 * UNIT_BYTES),
                    (false, 0) => Request::trim(sent, from, bytes),
                    (false, 1..=2) => Request::read(sent, from, bytes),
                    _ => Request::write(sent, from, bytes),
                };
                whole.submit(now, request).expect("it lies within the drive");
                steps.submit(now, request).expect("it lies within the drive");
                sent += 1;
            }
            // Now and then to the very time of an event, or just before.
            now = match (rng.below(4), steps.next_event()) {
                (0, Some(at)) => at,
                (1, Some(at)) => now.max(at.saturating_sub(1)),
                _ => now + rng.below(8_000_000),
            };
            let (mut at_once, mut one_by_one) = (Vec::new(), Vec::new());
            whole.advance(now, &mut at_once);
            while let Some(at) = steps.next_event().filter(|&at| at <= now) {
                steps.advance(at, &mut one_by_one);
            }
            steps.advance(now, &mut one_by_one);
            assert_eq!(format!("{at_once:?}"), format!("{one_by_one:?}"), "at {now} of {scheme:?}");
            assert_eq!(whole.next_event(), steps.next_event(), "at {now} of {scheme:?}");
            assert_eq!(format!("{:?}", whole.counters()), format!("{:?}", steps.counters()), "at {now} of {scheme:?}");
            ended += one_by_one.len() as u64;
            copied = steps.counters().flash.expect("a drive has flash").gc_program_bytes / UNIT_BYTES;
        }
        assert!(copied > 1000, "{copied} pages were copied");
        let lives = |drive: &SimulatedSsd<true, true, LogBlock>| -> Vec<Source> {
            (0..pages).map(|page| drive.translation().source(LogicalPage::new(page as u32))).collect()
        };
        assert_eq!(lives(&whole), lives(&steps));
        for drive in [&whole, &steps] {
            drive.check_books().expect("the books balance");
        }
    }
}
