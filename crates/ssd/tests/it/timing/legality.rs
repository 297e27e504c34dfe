//! The referee of time, for each operation after each operation in each kind of conflict: when it is legal at the
//! earliest, by arithmetic written out here, and that a nanosecond before is refused, by the right rule and with that
//! very time.

use std::collections::BTreeSet;

use ssdlab_core::Nanos;
use ssdlab_nand::{BusCycles, CellMode, DieId, VariationSpec, WHOLE};
use ssdlab_ssd::timing::{Interval, LinkReferee, Load, Operation, TimingReferee, TimingRule, Work};
use ssdlab_ssd::{DriveSpec, LinkGeneration, LinkSpec, PcieSpec};

use super::bench::{BASE, ROW_TRANSFER, Shape, TWO_CHANNELS, TWO_DIES, UNIT_TRANSFER, specs};

const BOTH: u8 = 0b11;

/// Something to do on the planes given, with its array time and its transfer, as the die file has them.
#[derive(Clone, Copy, Debug)]
struct Task {
    work: Work,
    array: Nanos,
    transfer: Nanos,
}

fn tasks(planes: u8) -> Vec<Task> {
    let read = |page, rows, units, array| Task {
        work: Work::Read { page, rows, eighths: units * 8 },
        array,
        transfer: Nanos::from(units) * UNIT_TRANSFER,
    };
    let program = |page, array| Task {
        work: Work::Program { page },
        array,
        transfer: Nanos::from(planes.count_ones()) * ROW_TRANSFER / 2,
    };
    vec![
        read(0, 1, 1, BASE.read[0]),
        read(2, 1, 1, BASE.read[1]),
        read(0, 1, 2 * planes.count_ones(), BASE.read[0]),
        // Pages 1 and 2: a lower and an upper one.
        read(1, 0b11, 3, BASE.read[0] + BASE.read[1]),
        // A quarter of a unit.
        Task {
            work: Work::Read { page: 2, rows: 1, eighths: 2 },
            array: BASE.read[1],
            transfer: UNIT_TRANSFER.div_ceil(4),
        },
        // The same, at shifted references and for a soft decision of one of its units.
        Task {
            work: Work::ReadAgain { page: 2, rows: 1, senses: 2, units: 1 },
            array: 2 * BASE.read[1],
            transfer: UNIT_TRANSFER,
        },
        program(1, BASE.program[0]),
        program(2, BASE.program[1]),
        Task { work: Work::Copy { page: 2 }, array: BASE.program[1], transfer: 0 },
        Task { work: Work::Erase, array: BASE.erase, transfer: 0 },
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conflict {
    /// Another channel: nothing is shared.
    None,
    SamePlane,
    /// The other plane of the pair.
    OtherPlane,
    /// All planes of the die, of which one works.
    Pair,
    /// Another die of the same channel.
    Channel,
    /// Another die of the same channel, which may have only one at work.
    Interleave,
}

const CONFLICTS: [Conflict; 6] = [
    Conflict::None,
    Conflict::SamePlane,
    Conflict::OtherPlane,
    Conflict::Pair,
    Conflict::Channel,
    Conflict::Interleave,
];

impl Conflict {
    fn referee(self) -> TimingReferee {
        let shape = if self == Conflict::None { TWO_CHANNELS } else { TWO_DIES };
        let (mut drive, die) = specs(shape, &BASE);
        drive.controller.ways = if self == Conflict::Interleave { 1 } else { 2 };
        TimingReferee::new(&drive, &die)
    }

    /// Die and planes of the second operation; the first is on die 0, plane 0.
    fn second(self) -> (u32, u8) {
        match self {
            Conflict::None | Conflict::Channel | Conflict::Interleave => (1, BOTH),
            Conflict::SamePlane => (0, 0b01),
            Conflict::OtherPlane => (0, 0b10),
            Conflict::Pair => (0, BOTH),
        }
    }

    /// What the second operation has to wait for before it may begin, if anything.
    fn rule(self) -> Option<TimingRule> {
        match self {
            Conflict::None | Conflict::Channel => None,
            Conflict::SamePlane | Conflict::Pair => Some(TimingRule::PlaneBusy),
            Conflict::OtherPlane => Some(TimingRule::DieBusy),
            Conflict::Interleave => Some(TimingRule::InterleaveLimit),
        }
    }
}

/// An operation that begins at `begin`, on a channel that is taken for `taken`.
fn course(task: Task, (die, planes): (u32, u8), begin: Nanos, data_here: Nanos, taken: Option<Interval>) -> Operation {
    let addressed = begin + BASE.command;
    let behind = |ready: Nanos| {
        let wanted = Interval::new(ready, ready + task.transfer);
        taken.filter(|t| task.transfer > 0 && t.overlaps(wanted)).map_or(ready, |t| t.to)
    };
    let (from, end) = match task.work {
        Work::Read { .. } | Work::ReadAgain { .. } => {
            let from = behind(addressed + task.array);
            (from, from + task.transfer)
        }
        Work::Program { .. } => {
            let from = behind(addressed.max(data_here));
            (from, from + task.transfer + task.array)
        }
        Work::Copy { .. } | Work::Erase => (begin, addressed + task.array),
        Work::ProgramLoaded { .. } => unreachable!("tested by itself"),
    };
    Operation {
        die: DieId::new(die),
        planes,
        mode: CellMode::Mlc,
        work: task.work,
        begin,
        share: WHOLE,
        data_here,
        transfer: Interval::new(from, from + task.transfer),
        end,
    }
}

/// The referee accepts exactly this course as the earliest, and none of its instants a nanosecond before.
fn earliest_is_exact(
    referee: &TimingReferee,
    op: Operation,
    asked: Nanos,
    waits: Option<TimingRule>,
    bus: bool,
) -> BTreeSet<TimingRule> {
    let probed = referee.earliest(op.die, op.planes, op.work, asked, op.data_here);
    assert_eq!(probed, op, "the probe");
    let mut seen = BTreeSet::new();
    let mut refused = |early: Operation, rule: TimingRule, earliest: Nanos| {
        let mut referee = referee.clone();
        let violation = referee.issue(&early).expect_err("a nanosecond early");
        assert_eq!((violation.rule, violation.earliest), (rule, earliest), "{early:?}");
        assert_eq!(violation.at, earliest - 1);
        // Nothing has happened: the legal course is still open.
        referee.issue(&op).expect("the earliest legal course");
        seen.insert(rule);
    };
    if let Some(rule) = waits {
        refused(Operation { begin: op.begin - 1, ..op }, rule, op.begin);
    }
    let Interval { from, to } = op.transfer;
    if to > from {
        let sooner = Operation { transfer: Interval::new(from - 1, to - 1), ..op };
        let rule = match op.work {
            _ if bus => TimingRule::ChannelBusy,
            Work::Read { .. } | Work::ReadAgain { .. } => TimingRule::ReadTime,
            Work::Program { .. } if op.data_here > op.begin + BASE.command => TimingRule::DataNotHere,
            Work::Program { .. } => TimingRule::CommandCycles,
            Work::ProgramLoaded { .. } | Work::Copy { .. } | Work::Erase => unreachable!("no data"),
        };
        refused(sooner, rule, from);
        refused(Operation { transfer: Interval::new(from, to - 1), ..op }, TimingRule::TransferTime, to);
    }
    let rule = match op.work {
        Work::Read { .. } | Work::ReadAgain { .. } => TimingRule::DataOut,
        Work::Program { .. } | Work::ProgramLoaded { .. } | Work::Copy { .. } => TimingRule::ProgramTime,
        Work::Erase => TimingRule::EraseTime,
    };
    refused(Operation { end: op.end - 1, ..op }, rule, op.end);
    seen
}

#[test]
fn each_operation_after_each_in_each_conflict_is_legal_exactly_at_its_earliest() {
    const BEGAN: Nanos = 1_000_000;
    let mut seen = BTreeSet::new();
    let mut cases = 0;
    for conflict in CONFLICTS {
        for first in tasks(0b01) {
            let before = course(first, (0, 0b01), BEGAN, BEGAN, None);
            let mut referee = conflict.referee();
            referee.issue(&before).expect("an idle die");
            let on = conflict.second();
            for second in tasks(on.1) {
                // From together with the first to after its end, and so that the transfers just meet or overlap.
                let length = second.array + second.transfer + first.transfer;
                let meets = before.transfer.from.saturating_sub(length).max(BEGAN);
                let instants = [BEGAN, BEGAN + 1, before.transfer.from, before.transfer.to, before.end - 1, before.end];
                for asked in instants.into_iter().chain([before.end + 1, meets, meets + second.transfer]) {
                    for late in [0, BASE.command, BASE.command + 1, 77_777] {
                        let program = matches!(second.work, Work::Program { .. });
                        if late > 0 && !program {
                            continue;
                        }
                        let waits = conflict.rule().filter(|_| asked < before.end);
                        let begin = if waits.is_some() { before.end } else { asked };
                        let taken = (conflict != Conflict::None).then_some(before.transfer);
                        let free = course(second, on, begin, begin + late, None);
                        let op = course(second, on, begin, begin + late, taken);
                        let bus = op.transfer != free.transfer;
                        seen.append(&mut earliest_is_exact(&referee, op, asked, waits, bus));
                        cases += 1;
                    }
                }
            }
        }
    }
    let all = [
        TimingRule::PlaneBusy,
        TimingRule::DieBusy,
        TimingRule::InterleaveLimit,
        TimingRule::CommandCycles,
        TimingRule::DataNotHere,
        TimingRule::ReadTime,
        TimingRule::ChannelBusy,
        TimingRule::TransferTime,
        TimingRule::ProgramTime,
        TimingRule::EraseTime,
        TimingRule::DataOut,
    ];
    assert_eq!(seen, BTreeSet::from(all), "every rule has refused something");
    assert_eq!(cases, 6 * 10 * 9 * (8 + 2 * 4), "every combination");
}

#[test]
fn a_transfer_fits_between_two_others_to_the_nanosecond() {
    // Three dies on a channel: a program is loaded, and a read hands out its data `gap` later; does the third's fit?
    let shape = Shape { dies: 3, ..TWO_DIES };
    let (drive, die) = specs(shape, &BASE);
    let program = Task { work: Work::Program { page: 0 }, array: BASE.program[0], transfer: ROW_TRANSFER };
    let read = Task { work: Work::Read { page: 2, rows: 1, eighths: 8 }, array: BASE.read[1], transfer: UNIT_TRANSFER };
    for (gap, fits) in [(ROW_TRANSFER, true), (ROW_TRANSFER - 1, false)] {
        let mut referee = TimingReferee::new(&drive, &die);
        let first = course(program, (0, BOTH), 100_000, 0, None);
        let begin = first.transfer.to + gap - BASE.command - BASE.read[1];
        let second = course(read, (1, BOTH), begin, begin, None);
        referee.issue(&first).expect("an idle drive");
        referee.issue(&second).expect("another die");
        let from = if fits { first.transfer.to } else { second.transfer.to };
        let op = Operation {
            die: DieId::new(2),
            planes: BOTH,
            mode: CellMode::Mlc,
            work: program.work,
            begin,
            share: WHOLE,
            data_here: begin,
            transfer: Interval::new(from, from + ROW_TRANSFER),
            end: from + ROW_TRANSFER + BASE.program[0],
        };
        assert!(first.transfer.to > begin + BASE.command, "it would like to be loaded during the first");
        earliest_is_exact(&referee, op, begin, None, true);
    }
}

#[test]
fn as_many_dies_of_a_channel_work_at_once_as_the_controller_interleaves() {
    let (mut drive, die) = specs(Shape { dies: 4, ..TWO_DIES }, &BASE);
    for ways in 1..=3u32 {
        drive.controller.ways = ways;
        let mut referee = TimingReferee::new(&drive, &die);
        let erase = Task { work: Work::Erase, array: BASE.erase, transfer: 0 };
        // Begun one after another: the first to end makes room.
        for k in 0..ways {
            let begin = Nanos::from(k) * 1000;
            referee.issue(&course(erase, (k, BOTH), begin, begin, None)).expect("a free way");
        }
        let ends = BASE.command + BASE.erase;
        let op = course(erase, (3, BOTH), ends, ends, None);
        let seen = earliest_is_exact(&referee, op, 10_000, Some(TimingRule::InterleaveLimit), false);
        assert!(seen.contains(&TimingRule::InterleaveLimit));
    }
}

/// Cache read: a page stays in the array's register until it has been sensed and the data of the one before are out.
#[test]
fn the_next_page_is_sensed_once_the_arrays_register_is_empty() {
    const BUSY: Nanos = 4_000;
    let (drive, mut die) = specs(TWO_DIES, &BASE);
    die.features.cache_read_busy_us = Some(4.0);
    let sensed = |begin: Nanos| begin + BASE.command + BASE.read[0];
    let read = |begin: Nanos, from: Nanos| Operation {
        die: DieId::FIRST,
        planes: BOTH,
        mode: CellMode::Mlc,
        work: Work::Read { page: 0, rows: 1, eighths: 8 },
        begin,
        share: WHOLE,
        data_here: begin,
        transfer: Interval::new(from, from + UNIT_TRANSFER),
        end: from + UNIT_TRANSFER,
    };
    // The data of the first leave at once, or once the second has been sensed.
    for late in [0, 300_000] {
        let mut referee = TimingReferee::new(&drive, &die);
        let first = read(0, sensed(0) + late);
        referee.issue(&first).expect("an idle die");
        let begin = sensed(0) + BUSY;
        let second = read(begin, sensed(begin).max(first.end));
        referee.issue(&second).expect("the first is in the other register");
        let begin = sensed(begin).max(first.end) + BUSY;
        let third = read(begin, sensed(begin).max(second.end));
        let early = referee.clone().issue(&Operation { begin: begin - 1, ..third }).expect_err("a nanosecond early");
        assert_eq!((early.rule, early.earliest), (TimingRule::PlaneBusy, begin));
        referee.issue(&third).expect("the earliest legal course");
    }
}

/// What is sensed again takes the cycles of a read once more, and its places are as slow as they were.
#[test]
fn what_is_sensed_again_has_cycles_and_the_share_of_its_places() {
    let (drive, mut die) = specs(TWO_DIES, &BASE);
    die.features.cycles = Some(BusCycles { read_us: 1.0, data_out_us: 0.5, program_us: 1.5, erase_us: 0.25 });
    die.variation = Some(VariationSpec {
        program_dies_percent: 0.0,
        program_blocks_percent: 0.0,
        program_pages_percent: 0.0,
        read_pages_percent: 5.0,
        erase_blocks_percent: 0.0,
        program_gain_at_rated_cycles_percent: 0.0,
        erase_growth_at_rated_cycles_percent: 0.0,
    });
    let mut referee = TimingReferee::new(&drive, &die);
    // A sixteenth slower.
    let (share, once) = (WHOLE + WHOLE / 16, BASE.read[0] + BASE.read[0] / 16);
    let op = |work, begin: Nanos, from: Nanos| Operation {
        die: DieId::FIRST,
        planes: BOTH,
        mode: CellMode::Mlc,
        work,
        begin,
        share,
        data_here: begin,
        transfer: Interval::new(from, from + UNIT_TRANSFER + 500),
        end: from + UNIT_TRANSFER + 500,
    };
    // The cycles of the plain read are over when it begins.
    let plain = op(Work::Read { page: 0, rows: 1, eighths: 8 }, 1_000, 1_000 + once);
    referee.issue(&plain).expect("an idle die");
    let again = Work::ReadAgain { page: 0, rows: 1, senses: 2, units: 1 };
    let from = plain.end + 1_000 + 2 * once;
    let legal = op(again, plain.end, from);
    let refused = |early: Operation| {
        let violation = referee.clone().issue(&early).expect_err("a nanosecond early");
        (violation.rule, violation.earliest)
    };
    assert_eq!(refused(op(again, plain.end, from - 1)), (TimingRule::ReadTime, from));
    let Interval { from, to } = legal.transfer;
    let short = Operation { transfer: Interval::new(from, to - 1), ..legal };
    assert_eq!(refused(short), (TimingRule::TransferTime, to));
    assert_eq!(refused(Operation { share: share - 1, ..legal }), (TimingRule::Share, share));
    referee.issue(&legal).expect("the earliest legal course");
}

/// Cache program: when data may go into the second register, and what may begin then.
#[test]
fn the_second_register_is_loaded_while_the_array_programs_and_begins_next() {
    const BEGAN: Nanos = 1_000_000;
    const BUSY: Nanos = 4_000;
    let referee = |features: bool| {
        let (drive, mut die) = specs(TWO_DIES, &BASE);
        die.features.cache_program_busy_us = features.then_some(4.0);
        let mut referee = TimingReferee::new(&drive, &die);
        let program = Task { work: Work::Program { page: 0 }, array: BASE.program[0], transfer: ROW_TRANSFER };
        referee.issue(&course(program, (0, BOTH), BEGAN, BEGAN, None)).expect("an idle die");
        referee
    };
    let array_from = BEGAN + BASE.command + ROW_TRANSFER;
    let ends = array_from + BASE.program[0];
    let load = |asked: Nanos, data_here: Nanos| {
        let from = (asked.max(array_from) + BASE.command).max(data_here);
        Load {
            die: DieId::FIRST,
            planes: BOTH,
            mode: CellMode::Mlc,
            asked,
            data_here,
            transfer: Interval::new(from, from + ROW_TRANSFER),
        }
    };
    let refused = |referee: &TimingReferee, load: Load, rule: TimingRule, earliest: Nanos| {
        let violation = referee.clone().load(&load).expect_err("not legal");
        assert_eq!((violation.rule, violation.earliest), (rule, earliest), "{load:?}");
    };
    let never = |referee: &TimingReferee, load: Load| refused(referee, load, TimingRule::SecondRegister, Nanos::MAX);
    never(&referee(false), load(BEGAN, BEGAN));
    let fresh = referee(true);
    // Another die is idle, this one is from its end on.
    never(&fresh, Load { die: DieId::new(1), ..load(BEGAN, BEGAN) });
    never(&fresh, load(ends + 1, BEGAN));
    // From the beginning to the end of the program, with data that come later, too.
    for (asked, data_here) in [(BEGAN, BEGAN), (array_from + 1, BEGAN), (ends, BEGAN), (BEGAN, ends - 10_000)] {
        let legal = load(asked, data_here);
        let Interval { from, to } = legal.transfer;
        let late = data_here > asked.max(array_from) + BASE.command;
        let rule = if late { TimingRule::DataNotHere } else { TimingRule::CommandCycles };
        refused(&fresh, Load { transfer: Interval::new(from - 1, to - 1), ..legal }, rule, from);
        refused(&fresh, Load { transfer: Interval::new(from, to - 1), ..legal }, TimingRule::TransferTime, to);
        let mut loaded = fresh.clone();
        loaded.load(&legal).expect("the earliest legal course");
        let twice = loaded.clone().load(&load(asked.max(BEGAN + 1), data_here)).expect_err("it is full");
        assert_eq!(twice.rule, TimingRule::SecondRegister);
        // The other die finds the channel taken.
        let program = Task { work: Work::Program { page: 0 }, array: BASE.program[0], transfer: ROW_TRANSFER };
        let beside = course(program, (1, BOTH), from - BASE.command + 1, 0, None);
        let taken = loaded.clone().issue(&beside).expect_err("the channel is taken");
        assert_eq!((taken.rule, taken.earliest), (TimingRule::ChannelBusy, to));
        // Nothing else begins, and it neither before the end of the program nor a nanosecond short.
        let erase = Task { work: Work::Erase, array: BASE.erase, transfer: 0 };
        let other = loaded.clone().issue(&course(erase, (0, BOTH), to.max(ends), 0, None)).expect_err("it is full");
        assert_eq!(other.rule, TimingRule::SecondRegister);
        let probed = loaded.earliest(DieId::FIRST, BOTH, Work::ProgramLoaded { page: 1 }, asked, data_here);
        let expected = Operation {
            die: DieId::FIRST,
            planes: BOTH,
            mode: CellMode::Mlc,
            work: Work::ProgramLoaded { page: 1 },
            begin: ends,
            share: WHOLE,
            data_here,
            transfer: legal.transfer,
            end: to.max(ends + BUSY) + BASE.program[0],
        };
        assert_eq!(probed, expected);
        let stopped = |op: Operation| loaded.clone().issue(&op).expect_err("not legal");
        let early = stopped(Operation { begin: ends - 1, ..expected });
        assert_eq!((early.rule, early.earliest), (TimingRule::PlaneBusy, ends));
        let short = stopped(Operation { end: expected.end - 1, ..expected });
        assert_eq!((short.rule, short.earliest), (TimingRule::ProgramTime, expected.end));
        let elsewhere = Interval::new(from + 1, to + 1);
        assert_eq!(stopped(Operation { transfer: elsewhere, ..expected }).rule, TimingRule::SecondRegister);
        assert_eq!(stopped(Operation { mode: CellMode::Slc, ..expected }).rule, TimingRule::SecondRegister);
        let mut begun = loaded.clone();
        begun.issue(&expected).expect("the earliest legal course");
        let again = begun.clone().issue(&Operation { begin: expected.end, end: 2 * expected.end, ..expected });
        assert_eq!(again.expect_err("it is empty").rule, TimingRule::SecondRegister);
        // The next one is loaded from the hand-over on.
        let array_from = to.max(ends + BUSY);
        let next = load(ends, BEGAN);
        let from = array_from + BASE.command;
        refused(
            &begun,
            Load { transfer: Interval::new(from - 1, from - 1 + ROW_TRANSFER), ..next },
            TimingRule::CommandCycles,
            from,
        );
        begun.load(&Load { transfer: Interval::new(from, from + ROW_TRANSFER), ..next }).expect("it is free again");
        // Given up, the register is as if nothing had been loaded.
        loaded.gave_register_up(DieId::FIRST);
        loaded.issue(&course(erase, (0, BOTH), ends, 0, None)).expect("the die is free");
        never(&loaded, load(ends, BEGAN));
    }
}

/// The referee of a link; `host_frame_us` as in [`LinkSpec`].
fn link(generation: LinkGeneration, host_frame_us: f64) -> LinkReferee {
    LinkReferee::new(&LinkSpec { generation, host_frame_us, ..DriveSpec::plain("any", 1, 0).link })
}

#[test]
fn the_link_carries_one_transfer_at_a_time_and_each_takes_its_bytes() {
    // 4096 bytes, 256 of frame and 280 of announcement; ten bits a byte, and two dwords of 256 for ALIGN.
    for (generation, bits_per_us, least) in [
        (LinkGeneration::Sata1, 1500, 31_123),
        (LinkGeneration::Sata2, 3000, 15_561),
        (LinkGeneration::Sata3, 6000, 7_780),
    ] {
        let fresh = link(generation, 0.0);
        assert_eq!([false, true].map(|to_drive| fresh.least(4096, to_drive)), [least; 2]);
        assert_eq!(least, 4632 * 10 * 1000 * 256 / (254 * bits_per_us));
        let mut link = fresh.clone();
        let first = Interval::new(500, 500 + least);
        let short = link.issue(Interval::new(500, 499 + least), 4096, false).expect_err("a nanosecond short");
        assert_eq!((short.rule, short.earliest), (TimingRule::FrameTime, first.to));
        link.issue(first, 4096, false).expect("an idle link");
        let second = Interval::new(first.to, first.to + least);
        let early = Interval::new(second.from - 1, second.to);
        let early = link.issue(early, 4096, false).expect_err("a nanosecond early");
        assert_eq!((early.rule, early.earliest), (TimingRule::LinkBusy, first.to));
        link.issue(second, 4096, false).expect("right behind the first");
    }
    assert_eq!(link(LinkGeneration::Ideal, 0.0).least(4096, true), 0);
}

#[test]
fn each_way_of_pci_express_carries_one_transfer_at_a_time() {
    let pcie = |generation, lanes, max_payload_bytes| {
        let pcie = Some(PcieSpec { lanes, max_payload_bytes, host_read_us: 0.5 });
        LinkReferee::new(&LinkSpec { generation, pcie, ..DriveSpec::plain("any", 1, 0).link })
    };
    // 4 KiB are 16 packets of 256 bytes, with 24 bytes around each, or 20; 130 bits for 16 bytes, or 160.
    for (generation, lanes, bits_per_us, coded) in [
        (LinkGeneration::Pcie1, 1, 2500, 160),
        (LinkGeneration::Pcie2, 2, 10_000, 160),
        (LinkGeneration::Pcie3, 4, 32_000, 130),
        (LinkGeneration::Pcie4, 4, 64_000, 130),
        (LinkGeneration::Pcie5, 4, 128_000, 130),
    ] {
        let link = pcie(generation, lanes, 256);
        assert_eq!(link.least(4096, false), (4096 + 16 * 24) * coded * 1000 / (16 * bits_per_us));
        assert_eq!(link.least(4096, true), (4096 + 16 * 20) * coded * 1000 / (16 * bits_per_us));
    }
    let mut link = pcie(LinkGeneration::Pcie3, 4, 128);
    let least = link.least(4096, false);
    assert_eq!(least, 1235, "32 packets of 128 bytes, 4864 in all, at 3.938 bytes a nanosecond");
    link.issue(Interval::new(500, 500 + least), 4096, false).expect("an idle wire");
    let early = link.issue(Interval::new(500 + least - 1, 9000), 4096, false).expect_err("a nanosecond early");
    assert_eq!((early.rule, early.earliest), (TimingRule::LinkBusy, 500 + least));
    link.issue(Interval::new(500, 9000), 4096, true).expect("the other way is free");
    let early = link.issue(Interval::new(8999, 20_000), 4096, true).expect_err("a nanosecond early");
    assert_eq!((early.rule, early.earliest), (TimingRule::LinkBusy, 9000));
}

#[test]
fn a_drive_asks_for_every_frame_of_a_write_but_the_first_and_the_host_takes_its_time_over_each() {
    // 128 KiB are 16 frames. Towards the drive, 15 of 256 bytes more; ten bits a byte, and two dwords of 256 for ALIGN.
    let wire = |bytes: u64| bytes * 10 * 1000 * 256 / (254 * 6000);
    let sata = link(LinkGeneration::Sata3, 0.0);
    let read = 131_072 + 16 * 256 + 280;
    assert_eq!(sata.least(131_072, false), wire(read));
    assert_eq!(sata.least(131_072, true), wire(read + 15 * 256));
    assert_eq!(link(LinkGeneration::Sata3, 0.5).least(131_072, false), wire(read) + 16 * 500);
    assert_eq!(link(LinkGeneration::Ideal, 0.5).least(131_072, true), 16 * 500);
}
