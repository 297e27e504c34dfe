//! Cell modes, as the die file says them and as the referee enforces them: a random sequence of operations is judged
//! by the medium and by a plain model of the rules, and both must agree on every one.

use proptest::prelude::*;
use ssdlab_core::Rng;
use ssdlab_nand::{
    BlockId, CellMode, DieId, DieSpec, Layout, Medium, Outcome, PageAddress, PageOrder, PairingRule, ReducedMode,
    TagFormat, Violation,
};

const BLOCKS: u32 = 4;
const ONE: BlockId = BlockId::new(1);
const TWO: BlockId = BlockId::new(2);
const THREE: BlockId = BlockId::new(3);
const DIES: u32 = 2;

/// A die of three bits per cell whose blocks can run in every mode: four word lines, 12 pages.
fn tlc_die() -> DieSpec {
    let text = r#"
        description = "small"
        geometry = { planes = 2, blocks_per_plane = 4, pages_per_block = 12, page_bytes = 4096, spare_bytes = 0, bits_per_cell = 3, page_order = "triplets" }
        timing = { read_us = [56.5, 77.5, 106.0], program_us = [500.0, 1500.0, 4000.0], erase_ms = 4.5 }
        bus = { mega_transfers_per_s = 400.0, command_us = 2.0 }
        wear = { rated_program_erase_cycles = 1000, factory_bad_blocks_per_10000 = 0 }
        power = { supply_v = 3.3, read_current_ma = 20.0, program_current_ma = 25.0, erase_current_ma = 30.0, standby_current_ua = 10.0 }
        [modes]
        slc = { read_us = [40.0], program_us = [450.0], erase_ms = 3.0, rated_program_erase_cycles = 20000 }
        mlc = { read_us = [48.0, 64.0], program_us = [850.0, 2300.0], erase_ms = 3.5, rated_program_erase_cycles = 3000 }
    "#;
    let die: DieSpec = toml::from_str(text).unwrap();
    die.validate().unwrap();
    die
}

/// The same with four bits per cell, a word line after the other: 16 pages.
fn qlc_die() -> DieSpec {
    let mut die = tlc_die();
    die.geometry.bits_per_cell = 4;
    die.geometry.pages_per_block = 16;
    die.geometry.page_order = PageOrder::WordLines;
    die.modes.tlc = Some(ReducedMode {
        read_us: die.timing.read_us.clone(),
        program_us: die.timing.program_us.clone(),
        erase_ms: 4.0,
        rated_program_erase_cycles: 1000,
    });
    die.timing.read_us.push(150.0);
    die.timing.program_us = vec![2000.0, 2000.0, 2000.0, 2100.0];
    die.timing.erase_ms = 10.0;
    die.validate().unwrap();
    die
}

fn medium_of(die: &DieSpec) -> Medium {
    let layout = Layout::new(die, DIES, BLOCKS);
    Medium::new(die, layout, TagFormat::new(100), &Rng::new(1))
}

fn medium() -> Medium {
    medium_of(&tlc_die())
}

fn program(m: &mut Medium, block: BlockId, page: u32) -> Result<(), Violation> {
    m.queue_program(block, page)?.tags.fill(7);
    m.begin_program(block, page)?;
    assert_eq!(m.finish_program(block, page)?, Outcome::Done);
    Ok(())
}

#[test]
fn a_block_has_as_many_pages_as_bits_per_word_line_and_times_by_page_kind() {
    let die = tlc_die();
    let pages = |die: &DieSpec| CellMode::ALL.map(|mode| die.mode(mode).map(|m| m.pages_per_block));
    assert_eq!(pages(&die), [Some(4), Some(8), Some(12), None]);
    assert_eq!(pages(&qlc_die()), [Some(4), Some(8), Some(12), Some(16)]);

    let slc = die.mode(CellMode::Slc).unwrap();
    assert_eq!((slc.read_time(3), slc.program_time(0), slc.erase_time()), (40_000, 450_000, 3_000_000));

    // Lower: 0, 1, 3, 5; upper: 2, 4, 6, 7.
    let mlc = die.mode(CellMode::Mlc).unwrap();
    let programs: Vec<u64> = (0..8).map(|p| mlc.program_time(p) / 1000).collect();
    assert_eq!(programs, [850, 850, 2300, 850, 2300, 850, 2300, 2300]);

    let tlc = die.mode(CellMode::Tlc).unwrap();
    let programs: Vec<u64> = (0..12).map(|p| tlc.program_time(p) / 1000).collect();
    assert_eq!(programs, [500, 500, 1500, 500, 1500, 4000, 500, 1500, 4000, 1500, 4000, 4000]);
    assert_eq!([0, 2, 5].map(|p| tlc.read_time(p)), [56_500, 77_500, 106_000]);
    assert_eq!(tlc.erase_time(), 4_500_000);

    let qlc = qlc_die().mode(CellMode::Qlc).unwrap();
    assert_eq!([0, 1, 2, 3, 4, 15].map(|p| qlc.read_time(p) / 100), [565, 775, 1060, 1500, 565, 1500]);
    assert_eq!([6, 7].map(|p| qlc.program_time(p)), [2_000_000, 2_100_000]);
    // At three bits its word lines are programmed one after the other, too.
    let tlc = qlc_die().mode(CellMode::Tlc).unwrap();
    assert_eq!([0, 1, 2, 3].map(|p| tlc.program_time(p) / 1000), [500, 1500, 4000, 500]);
    assert_eq!((tlc.erase_time(), qlc.erase_time()), (4_000_000, 10_000_000));
}

#[test]
fn an_l95b_block_keeps_its_260_word_lines_in_slc_mode() {
    let mut die = tlc_die();
    die.geometry.bits_per_cell = 2;
    die.geometry.pages_per_block = 512;
    die.geometry.page_order = PageOrder::PairsL95b;
    die.timing.read_us.truncate(2);
    die.timing.program_us.truncate(2);
    die.modes.mlc = None;
    die.validate().unwrap();
    assert_eq!(die.mode(CellMode::Slc).unwrap().pages_per_block, 260);
    assert_eq!(die.mode(CellMode::Mlc).unwrap().pages_per_block, 512);
    assert_eq!(die.mode(CellMode::Tlc), None);
}

#[test]
fn impossible_modes_and_orders_are_refused_at_their_key() {
    let key = |change: fn(&mut DieSpec)| {
        let mut die = tlc_die();
        change(&mut die);
        die.validate().map_err(|e| e.key)
    };
    let refused = |key: &str| Err(key.to_owned());
    assert_eq!(key(|_| ()), Ok(()));
    assert_eq!(key(|d| d.geometry.bits_per_cell = 5), refused("geometry.bits_per_cell"));
    // Triplets are of three bits.
    assert_eq!(key(|d| d.geometry.bits_per_cell = 4), refused("geometry.page_order"));
    assert_eq!(key(|d| d.modes.tlc = d.modes.mlc.clone()), refused("modes.tlc"));
    let qlc_key = |change: fn(&mut DieSpec)| {
        let mut die = qlc_die();
        change(&mut die);
        die.validate().map_err(|e| e.key)
    };
    assert_eq!(qlc_key(|d| d.geometry.pages_per_block = 18), refused("geometry.pages_per_block"));
    assert_eq!(qlc_key(|d| d.timing.program_us.truncate(3)), refused("timing.program_us"));
    assert_eq!(qlc_key(|d| d.modes.tlc.as_mut().unwrap().read_us.truncate(2)), refused("modes.tlc.read_us"));
    assert_eq!(key(|d| d.geometry.bits_per_cell = 2), refused("geometry.page_order"));
    assert_eq!(key(|d| d.geometry.pages_per_block = 13), refused("geometry.pages_per_block"));
    assert_eq!(key(|d| d.timing.read_us.truncate(2)), refused("timing.read_us"));
    assert_eq!(key(|d| d.timing.erase_ms = -1.0), refused("timing.erase_ms"));
    assert_eq!(key(|d| d.modes.slc.as_mut().unwrap().read_us.push(1.0)), refused("modes.slc.read_us"));
    assert_eq!(key(|d| d.modes.mlc.as_mut().unwrap().program_us[1] = f64::NAN), refused("modes.mlc.program_us"));
    assert_eq!(key(|d| d.modes.mlc.as_mut().unwrap().erase_ms = 1e9), refused("modes.mlc.erase_ms"));
    let no_cycles = |d: &mut DieSpec| d.modes.slc.as_mut().unwrap().rated_program_erase_cycles = 0;
    assert_eq!(key(no_cycles), refused("modes.slc.rated_program_erase_cycles"));
    assert_eq!(key(|d| d.power.as_mut().unwrap().supply_v = -3.3), refused("power.supply_v"));
    let slc_of_slc = |d: &mut DieSpec| {
        d.geometry.bits_per_cell = 1;
        d.geometry.page_order = PageOrder::Uniform;
        d.timing.read_us.truncate(1);
        d.timing.program_us.truncate(1);
        d.modes.mlc = None;
    };
    assert_eq!(key(slc_of_slc), refused("modes.slc"));
}

#[test]
fn the_mode_is_chosen_when_a_block_is_opened_and_holds_until_it_is_erased() {
    let mut m = medium();
    assert_eq!((m.mode(ONE), m.pages(ONE)), (CellMode::Tlc, 12));
    m.open(ONE, CellMode::Slc).unwrap();
    assert_eq!((m.mode(ONE), m.pages(ONE)), (CellMode::Slc, 4));
    m.note_programmed(ONE, 79);
    // Nothing is programmed yet: another choice is as good.
    m.open(ONE, CellMode::Mlc).unwrap();
    m.open(ONE, CellMode::Slc).unwrap();
    for page in 0..4 {
        program(&mut m, ONE, page).unwrap();
    }
    assert_eq!(program(&mut m, ONE, 4), Err(Violation::NoSuchPage { die: DieId::new(0), block: 1, page: 4 }));
    let mixed =
        Violation::OpenWithoutErase { die: DieId::new(0), block: 1, mode: CellMode::Slc, wanted: CellMode::Tlc };
    assert_eq!(m.open(ONE, CellMode::Tlc), Err(mixed));
    assert_eq!(m.history(ONE).programmed_at_s, 79);
    assert_eq!(m.erase(ONE).unwrap(), Outcome::Done);
    assert_eq!((m.mode(ONE), m.pages(ONE), m.history(ONE).programmed_at_s), (CellMode::Tlc, 12, 0));
}

#[test]
fn a_die_with_one_mode_knows_no_other() {
    let mut die = tlc_die();
    die.modes = Default::default();
    let layout = Layout::new(&die, 1, BLOCKS);
    let mut m = Medium::new(&die, layout, TagFormat::new(100), &Rng::new(1));
    assert!(!die.has_several_modes());
    assert_eq!(
        m.open(TWO, CellMode::Slc),
        Err(Violation::NoSuchMode { die: DieId::new(0), block: 2, mode: CellMode::Slc })
    );
    m.open(TWO, CellMode::Tlc).unwrap();
    assert_eq!(m.pages(TWO), 12);
}

#[test]
fn planes_in_different_modes_do_not_pair() {
    let mut m = medium();
    m.open(ONE, CellMode::Slc).unwrap();
    let p = |plane, block| PageAddress { die: DieId::new(0), plane, block, page: 0 };
    let refused = Violation::PlanePairing { first: 0, second: 1, why: PairingRule::DifferentModes };
    assert_eq!(m.program_pages(&[p(0, 1), p(1, 2)], &[1, 2]), Err(refused));
    m.open(TWO, CellMode::Slc).unwrap();
    m.program_pages(&[p(0, 1), p(1, 2)], &[1, 2]).unwrap();
}

#[test]
fn wear_adds_up_over_the_modes_that_a_block_ran_in() {
    let mut m = medium();
    for mode in [CellMode::Slc, CellMode::Slc, CellMode::Tlc, CellMode::Mlc] {
        m.open(THREE, mode).unwrap();
        program(&mut m, THREE, 0).unwrap();
        m.count_reads(THREE, 0b11, 10);
        m.count_reads(THREE, 0b10, 5);
        assert_eq!((m.history(THREE).reads, m.history(THREE).most_reads()), ([10, 15, 0, 0], 15));
        assert_eq!(m.erase(THREE).unwrap(), Outcome::Done);
        assert_eq!(m.history(THREE).reads, [0; 4]);
    }
    // Two parts in 20,000, one in 1000, one in 3000.
    assert_eq!(m.history(THREE).wear_ppb, 2 * 50_000 + 1_000_000 + 333_333);
    assert_eq!((m.history(THREE).erases, m.erases(THREE)), (4, 4));
    assert!((m.history(THREE).life_used() - 0.001_433_333).abs() < 1e-9);
}

// ---- any sequence of operations ---------------------------------------------------------------------------------

#[derive(Clone, Copy, Debug)]
enum Step {
    Open(u32, CellMode),
    Begin(u32, u32),
    /// The page that is next in the block, which is legal while it has one.
    BeginNext(u32),
    FinishNext(u32),
    Erase(u32),
    Read(u32, u32),
    MarkBad(u32),
}

fn any_step() -> impl Strategy<Value = Step> {
    let block = 0..DIES * BLOCKS;
    let mode = prop::sample::select(CellMode::ALL.to_vec());
    prop_oneof![
        3 => (block.clone(), mode).prop_map(|(b, m)| Step::Open(b, m)),
        2 => (block.clone(), 0u32..18).prop_map(|(b, p)| Step::Begin(b, p)),
        12 => block.clone().prop_map(Step::BeginNext),
        12 => block.clone().prop_map(Step::FinishNext),
        2 => block.clone().prop_map(Step::Erase),
        4 => (block.clone(), 0u32..16).prop_map(|(b, p)| Step::Read(b, p)),
        1 => (0..40u32).prop_map(|b| if b < DIES * BLOCKS { Step::MarkBad(b) } else { Step::FinishNext(0) }),
    ]
}

/// The rules, spelled out.
#[derive(Clone, Copy, Debug)]
struct Block {
    mode: CellMode,
    begun: u32,
    ended: u32,
    erases: u32,
    bad: bool,
}

fn pages(mode: CellMode) -> u32 {
    4 * mode.bits()
}

impl Block {
    fn begin(&mut self, page: u32) -> bool {
        let legal = !self.bad && page == self.begun && page < pages(self.mode);
        self.begun += u32::from(legal);
        legal
    }
}

proptest! {
    #[test]
    fn the_referee_and_the_rules_agree_on_every_operation(
        four_bits in any::<bool>(),
        steps in prop::collection::vec(any_step(), 1..400),
    ) {
        let die = if four_bits { qlc_die() } else { tlc_die() };
        let mut m = medium_of(&die);
        let fresh = Block { mode: die.native_mode(), begun: 0, ended: 0, erases: 0, bad: false };
        let mut model = [fresh; (DIES * BLOCKS) as usize];
        for step in steps {
            let (Step::Open(b, _) | Step::Begin(b, _) | Step::BeginNext(b) | Step::FinishNext(b) | Step::Erase(b)
                | Step::Read(b, _) | Step::MarkBad(b)) = step;
            let block = &mut model[b as usize];
            let (found, expected) = match step {
                Step::Open(_, mode) => {
                    let legal = !block.bad && block.begun == 0 && mode <= fresh.mode;
                    if legal {
                        block.mode = mode;
                    }
                    (m.open(BlockId::new(b), mode).is_ok(), legal)
                }
                Step::Begin(_, page) => (m.queue_program(BlockId::new(b), page).is_ok(), block.begin(page)),
                Step::BeginNext(_) => (m.queue_program(BlockId::new(b), block.begun).is_ok(), block.begin(block.begun)),
                Step::FinishNext(_) => {
                    let legal = block.ended < block.begun;
                    let found = m.begin_program(BlockId::new(b), block.ended).is_ok() && m.finish_program(BlockId::new(b), block.ended).is_ok();
                    block.ended += u32::from(legal);
                    (found, legal)
                }
                Step::Erase(_) => {
                    let legal = !block.bad && block.begun == block.ended;
                    if legal {
                        *block = Block { erases: block.erases + 1, ..fresh };
                    }
                    (m.erase(BlockId::new(b)).is_ok(), legal)
                }
                Step::Read(_, page) => {
                    let page = page % die.geometry.pages_per_block;
                    let unit = m.layout().row_start(BlockId::new(b), page);
                    (m.read(unit).is_ok(), page < block.ended)
                }
                Step::MarkBad(_) => {
                    m.mark_bad(BlockId::new(b));
                    block.bad = true;
                    (true, true)
                }
            };
            prop_assert_eq!(found, expected, "{:?} on {:?}", step, model[b as usize]);
            for (b, block) in model.iter().enumerate() {
                let b = b as u32;
                prop_assert_eq!(m.mode(BlockId::new(b)), block.mode);
                prop_assert_eq!(m.pages(BlockId::new(b)), pages(block.mode));
                prop_assert_eq!((m.issued_pages(BlockId::new(b)), m.finished_pages(BlockId::new(b))), (block.begun, block.ended));
                prop_assert_eq!(m.erases(BlockId::new(b)), block.erases);
            }
        }
    }
}

#[test]
fn too_few_or_too_many_times_are_told_with_what_would_be_right() {
    let expected = |change: fn(&mut DieSpec)| {
        let mut die = tlc_die();
        change(&mut die);
        let e = die.validate().expect_err("a time is missing, or one too many");
        (e.key, e.expected)
    };
    let told = |key: &str, right: &str| (key.to_owned(), right.to_owned());
    let found = [
        expected(|die| die.modes.slc.as_mut().expect("it has that mode").read_us.push(1.0)),
        expected(|die| die.modes.mlc.as_mut().expect("it has that mode").program_us.truncate(1)),
        expected(|die| die.timing.read_us.truncate(2)),
    ];
    let right = [
        told("modes.slc.read_us", "give one value"),
        told("modes.mlc.program_us", "give lower and upper, as in [850, 2300]"),
        told("timing.read_us", "give LSB, CSB and MSB, as in [500, 1400, 3600]"),
    ];
    assert_eq!(found, right);
}
