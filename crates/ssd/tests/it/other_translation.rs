//! A translation layer from outside drives a whole drive: an append-only log that takes each row once, and refuses writes
//! when it is full. Everything that it does not have a drive can do without.

use std::collections::VecDeque;
use std::ops::Range;

use ssdlab_core::Rng;
use ssdlab_device::{Completion, Device, Request, Status};
use ssdlab_ftl::{ErasedBlock, FlashOp, FlashSpot, OpKind, OpSink, Source, Stretch, Translation, TranslationCounters};
use ssdlab_nand::{
    BlockId, DieId, DieSpec, EMPTY_TAG, Layout, LogicalPage, LogicalPages, Medium, Outcome, TagFormat, UnitAddress,
};
use ssdlab_ssd::{DriveSpec, SimulatedSsd};

#[derive(Clone, Debug)]
struct AppendOnly {
    medium: Medium,
    /// By logical page: where it lives, and the write that waits, if one does.
    lives: Vec<Option<UnitAddress>>,
    newest: Vec<u8>,
    waiting: VecDeque<(LogicalPage, u8, u64)>,
    /// Rows given to dies that have not ended, in order: units, and whether the program has ended.
    under_way: VecDeque<(u32, bool)>,
    first_under_way: u64,
    rows: u64,
    durable: u64,
    counters: TranslationCounters,
    forced: u64,
}

impl AppendOnly {
    fn new(die: &DieSpec, dies: u32, pages: u32, rng: &Rng) -> Self {
        let layout = Layout::new(die, dies, die.geometry.blocks_per_plane);
        AppendOnly {
            medium: Medium::new(die, layout, TagFormat::new(pages), rng),
            lives: vec![None; pages as usize],
            newest: vec![0; pages as usize],
            waiting: VecDeque::new(),
            under_way: VecDeque::new(),
            first_under_way: 0,
            rows: 0,
            durable: 0,
            counters: TranslationCounters::default(),
            forced: 0,
        }
    }

    /// The next row: die, block and page.
    fn next_row(&self) -> Option<(u32, u32, u32)> {
        let layout = self.medium.layout();
        let (die, row) = ((self.rows % u64::from(layout.dies)) as u32, (self.rows / u64::from(layout.dies)) as u32);
        let (index, page) = (row / layout.pages, row % layout.pages);
        (index < layout.blocks).then(|| (die, die * layout.blocks + index, page))
    }
}

impl Translation for AppendOnly {
    fn medium(&self) -> &Medium {
        &self.medium
    }
    fn medium_mut(&mut self) -> &mut Medium {
        &mut self.medium
    }
    fn logical_pages(&self) -> u32 {
        self.lives.len() as u32
    }
    fn usable_units(&self) -> u64 {
        self.medium.layout().units() as u64
    }
    fn counters(&self) -> TranslationCounters {
        self.counters
    }
    fn is_read_only(&self) -> bool {
        self.next_row().is_none()
    }
    fn check_invariants(&self) -> Result<(), String> {
        let wrong = (0..)
            .map(LogicalPage::new)
            .zip(&self.lives)
            .find(|(page, unit)| unit.is_some_and(|unit| self.medium.lpn(unit) != *page));
        wrong.map_or(Ok(()), |(page, unit)| Err(format!("page {page} does not live in {unit:?}")))
    }
    fn buffered_units(&self) -> u32 {
        self.waiting.len() as u32 + self.under_way.iter().map(|(units, _)| units).sum::<u32>()
    }
    fn waiting_units(&self) -> u32 {
        self.waiting.len() as u32
    }
    fn accepted_units(&self) -> u64 {
        self.counters.host_units + self.waiting.len() as u64
    }
    fn durable_units(&self) -> u64 {
        self.durable
    }
    fn write_units(&mut self, stretch: &Stretch, mut write_number: impl FnMut(LogicalPage) -> u8) {
        for k in 0..stretch.units {
            let (page, ready) = (stretch.first + k, stretch.from + stretch.each * u64::from(k + 1));
            self.newest[page.index()] = write_number(page);
            self.waiting.push_back((page, self.newest[page.index()], ready));
        }
    }
    fn dispatch(&mut self, sink: &mut impl OpSink) {
        let row_units = self.medium.layout().row_units as usize;
        while self.waiting.len() >= row_units || self.counters.host_units < self.forced && !self.waiting.is_empty() {
            let Some((die, block, page)) = self.next_row() else { return };
            let units = self.waiting.len().min(row_units);
            let format = self.medium.format();
            let row = self.medium.queue_program(BlockId::new(block), page).expect("rows are taken in order");
            row.tags.fill(EMPTY_TAG);
            let mut ready = 0;
            for (k, (lpn, number, here)) in self.waiting.drain(..units).enumerate() {
                row.tags[k] = format.pack(lpn, number);
                self.lives[lpn.index()] = Some(row.start + k as u32);
                ready = here;
            }
            let number = (self.first_under_way + self.under_way.len() as u64) as u16;
            self.under_way.push_back((units as u32, false));
            self.rows += 1;
            self.counters.host_rows += 1;
            self.counters.host_units += units as u64;
            sink.enqueue(
                DieId::new(die),
                FlashOp::host_program(BlockId::new(block), page, units as u32, number, sink.data_from(ready)),
            );
        }
    }
    fn force(&mut self, up_to: u64, sink: &mut impl OpSink) {
        self.forced = self.forced.max(up_to);
        self.dispatch(sink);
    }
    fn trim(&mut self, pages: Range<LogicalPage>, _sink: &mut impl OpSink) {
        pages.each().for_each(|page| self.lives[page.index()] = None);
    }
    fn secure_erase(&mut self) -> Vec<ErasedBlock> {
        let layout = self.medium.layout().clone();
        let used: Vec<BlockId> = layout.all_blocks().filter(|&b| self.medium.issued_pages(b) > 0).collect();
        let erased = used.iter().map(|&block| ErasedBlock::about_to_be(block, &self.medium)).collect();
        used.iter().for_each(|&block| assert_eq!(self.medium.erase(block), Ok(Outcome::Done)));
        self.lives.fill(None);
        self.newest.fill(0);
        self.rows = 0;
        erased
    }
    fn source(&self, page: LogicalPage) -> Source {
        match self.lives[page.index()] {
            _ if self.waiting.iter().any(|&(waits, ..)| waits == page) => Source::Ram,
            None => Source::Unmapped,
            Some(unit) if self.medium.read(unit).is_err() => Source::Ram,
            Some(unit) => {
                let (block, page) = self.medium.layout().row_of(unit);
                Source::Flash(FlashSpot { unit, block, page })
            }
        }
    }
    fn write_number(&self, page: LogicalPage) -> Option<u8> {
        (self.source(page) != Source::Unmapped).then(|| self.newest[page.index()])
    }
    fn valid_units(&self, _from: UnitAddress) -> u64 {
        0
    }
    fn unit_of(&self, page: LogicalPage) -> Option<UnitAddress> {
        let waits = self.waiting.iter().any(|&(waiting, ..)| waiting == page);
        self.lives[page.index()].filter(|_| !waits)
    }
    fn began(&mut self, op: &FlashOp) {
        if op.kind() == OpKind::HostProgram {
            self.medium.begin_program(op.block(), op.page()).expect("rows are programmed in order");
        }
    }
    fn done(&mut self, _die: DieId, op: FlashOp, sink: &mut impl OpSink) {
        assert_eq!(op.kind(), OpKind::HostProgram);
        assert_eq!(self.medium.finish_program(op.block(), op.page()), Ok(Outcome::Done));
        self.under_way[op.number().wrapping_sub(self.first_under_way as u16) as usize].1 = true;
        while let Some(&(units, true)) = self.under_way.front() {
            self.under_way.pop_front();
            self.first_under_way += 1;
            self.durable += u64::from(units);
        }
        self.dispatch(sink);
    }
}

#[test]
fn a_log_that_is_written_once_drives_a_drive_until_it_is_full() {
    let die: DieSpec = toml::from_str(
        r#"
        description = "eight blocks"
        geometry = { planes = 2, blocks_per_plane = 8, pages_per_block = 16, page_bytes = 8192, spare_bytes = 512, bits_per_cell = 1, page_order = "uniform" }
        timing = { read_us = [50.0], program_us = [500.0], erase_ms = 1.0 }
        bus = { mega_transfers_per_s = 200.0, command_us = 1.0 }
        wear = { rated_program_erase_cycles = 1000, factory_bad_blocks_per_10000 = 0 }
        "#,
    )
    .expect("a die");
    let mut spec = DriveSpec::plain("eight blocks", 4, 2 << 20);
    spec.gc.start_free_superblocks = 1;
    let build = |rng: &Rng, pages| Ok(AppendOnly::new(&die, 4, pages, rng));
    let mut drive =
        SimulatedSsd::<true, true, AppendOnly>::with_translation("log", &spec, &die, 1, build).expect("builds");
    let (mut now, mut rng, mut done) = (0, Rng::new(5), Vec::<Completion>::new());
    let mut taken = 0u64;
    // It can be erased, as long as it is not full, and begins again then.
    for tag in 0..100 {
        drive.submit(now, Request::write(tag, 4096 * tag, 4096)).expect("it lies within the drive");
        now = drive.advance_to_completion(u64::MAX - 1, &mut done);
    }
    now = drive.security().expect("it has the commands").secure_erase(now + 1_000_000_000);
    assert_eq!(drive.translation().source(LogicalPage::new(7)), Source::Unmapped);
    done.clear();
    for tag in 0.. {
        let page = rng.below(512) * 4096;
        let request = if rng.chance(1, 3) { Request::read(tag, page, 4096) } else { Request::write(tag, page, 4096) };
        drive.submit(now, request).expect("it lies within the drive");
        now = drive.advance_to_completion(u64::MAX - 1, &mut done);
        let ended = done.pop().expect("one command, one completion");
        assert_eq!(ended.breakdown.sum(), ended.latency());
        match ended.status {
            Status::Ok => taken += u64::from(request.op == ssdlab_core::Op::Write),
            status => {
                assert_eq!(status, Status::ReadOnly);
                break;
            }
        }
    }
    // 4 dies x 8 blocks x 16 pages x 4 units, each written once, and what the buffer still holds.
    let room = 4 * 8 * 16 * 4;
    assert!((room..=room + 128).contains(&taken), "{taken} writes on a drive of {room} units");
    drive.advance(now + 1_000_000_000, &mut done);
    drive.check_books().expect("the books balance");
    assert!(drive.is_read_only());
}
