//! One point of theory: what is built, what theory says of it, what is measured.
//!
//! As text: `KIND:KEY=VALUE,…`, for instance `greedy:op=15,b=1024`. Shares are in per cent.

use super::bare_map::{self, Collector, Victim};
use super::formulas;
use super::log_blocks::{self, Cell, Figure, LogBuild};
use super::measure::{self, Effort};
use super::queueing;
use super::rig::{BUFFER_UNITS, Build, Measured, READ_AHEAD_PAGES, READ_NANOS};
use super::temperature::{self, Ties};
use ssdlab_core::{SECTOR_BYTES, UNIT_BYTES};
use ssdlab_ftl::{Frontier, LogScheme, TieBreak, VictimPolicy};

/// Blocks of the bare map, and drive writes before and while it is measured.
const BARE_BLOCKS: u32 = 8192;
/// Where every block is looked at for each victim.
const BARE_BLOCKS_SCANNED: u32 = 4096;
const BARE_WARM_UP: f64 = 40.0;
const BARE_MEASURED: f64 = 20.0;

/// Fewest pages of a block where data are compressed: the row that ends a victim is padded, which no formula counts.
const COMPRESSED_PAGES_MIN: u32 = 512;
/// Greatest size, per mille, of data of two sizes, of which the formula knows only the mean.
const MIXED_SIZE_MAX: u32 = 900;
/// Two streams, where one die of 8,192 blocks has hot blocks enough to be judged (at 90/10 and 95/5 it may miss the bracket of
/// the tables by a quarter of a per cent even so): hundredths of a per cent, pages of a block, and per mille of the pages and of the
/// writes.
const TWO_STREAMS_OP_MIN: u32 = 700;
const TWO_STREAMS_PAGES_MIN: u32 = 64;
const TWO_STREAMS_SHARE_MIN: u32 = 50;
const TWO_STREAMS_WRITES_MAX: u32 = 950;
/// Greatest share of the writes, per cent, that may replace one in the write buffer, which no formula counts.
const REPLACED_PERCENT_MAX: f64 = 0.3;
/// Pages that are spare beyond what theory means, about: as FIFO shows on drives of 3,000 to 130,000 pages. On larger ones they do
/// not count.
const SPARE_PAGES_BESIDE: f64 = 2.5;
/// Greatest share of the tolerance that what no formula counts may take where writes are uniform; the rest is the sample's.
const UNCOUNTED_SHARE_MAX: f64 = 0.75;
/// How far the formula of first order for shared logs may be off, per cent; the rest of the tolerance is the sample's.
const FIRST_ORDER_PERCENT_MAX: f64 = 1.6;
/// Fewest blocks of data of a fixed map: a write to the block that is open goes on in it and saves half a block.
const FIXED_MAP_BLOCKS_MIN: u32 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Greedy,
    Fifo,
    DChoices,
    WindowedGreedy,
    Random,
    HotColdFifo,
    HotColdGreedy,
    HotColdApart,
    CostBenefit,
    CostBenefitApart,
    TwoStreams,
    Trim,
    StaticTrim,
    Reads,
    ReadsExponential,
    OpenArrivals,
    DemandMap,
    DemandMapSteady,
    Compressed,
    BastMerges,
    BastTime,
    FastMerges,
    FastMergesMeanWait,
    FastTime,
    FixedMapTime,
    FixedMapData,
}

/// Kinds with their names on the command line and the keys that each understands.
pub const KINDS: [(Kind, &str, &str); 26] = [
    (Kind::Greedy, "greedy", "op b"),
    (Kind::Fifo, "fifo", "op b"),
    (Kind::DChoices, "d-choices", "op b d"),
    (Kind::WindowedGreedy, "windowed-greedy", "op b d"),
    (Kind::Random, "random", "op b"),
    (Kind::HotColdFifo, "hot-cold-fifo", "op b r f"),
    (Kind::HotColdGreedy, "hot-cold", "op b r f ties"),
    (Kind::HotColdApart, "hot-cold-apart", "op b r f ties"),
    (Kind::CostBenefit, "cost-benefit", "op b r f"),
    (Kind::CostBenefitApart, "cost-benefit-apart", "op b r f"),
    (Kind::TwoStreams, "two-streams", "op b r f ties"),
    (Kind::Trim, "trim", "op b q"),
    (Kind::StaticTrim, "static-trim", "op b share"),
    (Kind::Reads, "reads", "dies depth"),
    (Kind::ReadsExponential, "reads-exponential", "dies depth"),
    (Kind::OpenArrivals, "open", "rho"),
    (Kind::DemandMap, "demand-map", "entries"),
    (Kind::DemandMapSteady, "demand-map-steady", "entries"),
    (Kind::Compressed, "compressed", "op b size"),
    (Kind::BastMerges, "bast-merges", "blocks b logs cell bus"),
    (Kind::BastTime, "bast-time", "blocks b logs cell bus"),
    (Kind::FastMerges, "fast-merges", "blocks b logs cell bus"),
    (Kind::FastMergesMeanWait, "fast-merges-mean-wait", "blocks b logs cell bus"),
    (Kind::FastTime, "fast-time", "blocks b logs cell bus"),
    (Kind::FixedMapTime, "fixed-map-time", "blocks b cell bus"),
    (Kind::FixedMapData, "fixed-map-data", "blocks b cell bus"),
];

/// Everything that a point may be made of; which of it counts depends on the kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub kind: Kind,
    /// Over-provisioning, hundredths of a per cent.
    pub op_per_10000: u32,
    /// Pages of a block.
    pub pages: u32,
    pub choices: u32,
    /// Share of the writes that is hot, and share of the pages, per mille.
    pub hot_writes: u32,
    pub hot_pages: u32,
    pub ties: Ties,
    /// Share of requests that trim, or of the drive that is trimmed, per mille.
    pub trimmed: u32,
    pub dies: u32,
    pub depth: u32,
    /// Utilisation, per mille.
    pub load: u32,
    /// Map entries that DRAM holds.
    pub entries: u32,
    /// What data take of flash after compression, thousandths of their size.
    pub size: u32,
    /// Blocks of data and log blocks of a drive that translates by blocks, its cells, and microseconds of a page on its bus.
    pub blocks: u32,
    pub logs: u32,
    pub cell: Cell,
    pub bus_us: u32,
}

impl Point {
    pub const fn new(kind: Kind) -> Point {
        let by_blocks = matches!(
            kind,
            Kind::BastMerges
                | Kind::BastTime
                | Kind::FastMerges
                | Kind::FastMergesMeanWait
                | Kind::FastTime
                | Kind::FixedMapTime
                | Kind::FixedMapData
        );
        Point {
            kind,
            op_per_10000: 700,
            pages: match kind {
                Kind::Compressed => COMPRESSED_PAGES_MIN,
                _ if by_blocks => 128,
                _ => 64,
            },
            choices: 2,
            hot_writes: 800,
            hot_pages: 200,
            ties: Ties::LastCome,
            trimmed: 100,
            dies: 32,
            depth: 32,
            load: 500,
            entries: if matches!(kind, Kind::DemandMapSteady) { 4096 } else { 65_536 },
            size: 500,
            blocks: 4096,
            logs: 1,
            cell: Cell::Mlc,
            bus_us: 0,
        }
    }
}

/// What theory says of a point.
#[derive(Clone, Copy, Debug)]
pub enum Expectation {
    Value(f64),
    /// From the lower to the greater.
    Between(f64, f64),
    /// A value of many blocks, and from where to where it lies as drives of few of them come to it.
    Near {
        value: f64,
        low: f64,
        high: f64,
    },
}

impl Point {
    fn op(&self) -> f64 {
        f64::from(self.op_per_10000) / 1e4
    }

    fn shares(&self) -> (f64, f64) {
        (f64::from(self.hot_writes) / 1e3, f64::from(self.hot_pages) / 1e3)
    }

    pub fn in_use(&self) -> f64 {
        formulas::in_use_under_trim(f64::from(self.trimmed) / 1e3)
    }

    /// What theory says. Write amplification, thousand reads a second, or microseconds.
    pub fn theory(&self) -> Expectation {
        let (op, b, (r, f)) = (self.op(), self.pages, self.shares());
        let per_millisecond = 1e6 / READ_NANOS as f64;
        Expectation::Value(match self.kind {
            Kind::Greedy => formulas::greedy(op, b),
            Kind::Compressed => formulas::greedy_compressed(op, b, f64::from(self.size) / 1e3),
            Kind::Fifo => formulas::fifo(op),
            Kind::DChoices => formulas::d_choices(op, b, self.choices),
            Kind::WindowedGreedy if self.choices == 1 => formulas::fifo(op),
            Kind::WindowedGreedy => return Expectation::Between(formulas::greedy(op, b), formulas::fifo(op)),
            Kind::Random => formulas::random(op),
            Kind::HotColdFifo => temperature::fifo_hot_cold(op, r, f),
            Kind::HotColdGreedy => temperature::greedy_hot_cold(op, b, r, f, self.ties),
            Kind::HotColdApart => {
                let [none, ahead] = [0, READ_AHEAD_PAGES].map(|read_ahead_pages| {
                    let collector = Collector { victim: Victim::Greedy(self.ties), apart: true, read_ahead_pages };
                    bare_map::hot_cold(op, b, (r, f), collector, BARE_BLOCKS, (BARE_WARM_UP, BARE_MEASURED))
                });
                if (ahead / none - 1.0).abs() * 100.0 > self.tolerance_percent() {
                    return Expectation::Between(none.min(ahead), none.max(ahead));
                }
                ahead
            }
            Kind::CostBenefit | Kind::CostBenefitApart => {
                let collector = Collector {
                    victim: Victim::CostBenefit,
                    apart: self.kind == Kind::CostBenefitApart,
                    read_ahead_pages: READ_AHEAD_PAGES,
                };
                bare_map::hot_cold(op, b, (r, f), collector, BARE_BLOCKS_SCANNED, (BARE_WARM_UP, BARE_MEASURED))
            }
            Kind::TwoStreams => {
                let (first, last) = (temperature::two_streams_first_come(op, b, r, f), formulas::greedy(op, b));
                let value = if self.ties == Ties::FirstCome { first } else { last };
                // Where all data are alike the two are one, but for the last digits.
                return Expectation::Near { value, low: first.min(last), high: first.max(last) };
            }
            Kind::Trim => formulas::greedy(formulas::effective_op(op, self.in_use()), b),
            Kind::StaticTrim => formulas::greedy(formulas::effective_op(op, 1.0 - f64::from(self.trimmed) / 1e3), b),
            Kind::Reads => queueing::busy_dies_deterministic(self.dies, self.depth) * per_millisecond,
            Kind::ReadsExponential => queueing::busy_dies_exponential(self.dies, self.depth) * per_millisecond,
            Kind::DemandMap => formulas::map_pages_per_write(self.entries, measure::DEMAND_MAP_PAGES),
            Kind::DemandMapSteady => {
                let share = f64::from(self.entries) / f64::from(measure::STEADY_MAP_PAGES);
                formulas::map_pages_per_write_with_hits(share)
            }
            Kind::BastMerges => self.log_build().bast_merges(),
            Kind::BastTime => self.log_build().bast_ms(),
            Kind::FastMerges => self.log_build().fast_merges(),
            Kind::FastMergesMeanWait => self.log_build().fast_merges_mean_wait(),
            Kind::FastTime => self.log_build().fast_ms(),
            Kind::FixedMapTime => self.log_build().fixed_map_ms(),
            Kind::FixedMapData => self.log_build().fixed_map_amplification(),
            Kind::OpenArrivals => READ_NANOS as f64 / 1e3 * queueing::m_d_1(f64::from(self.load) / 1e3),
        })
    }

    /// Greatest error allowed, per cent.
    pub fn tolerance_percent(&self) -> f64 {
        match self.kind {
            Kind::Greedy | Kind::WindowedGreedy | Kind::ReadsExponential => 0.3,
            // The formula is that of pages of one size.
            Kind::Compressed if [1000, 500, 250, 125].contains(&self.size) => 0.3,
            Kind::Compressed => 0.5,
            Kind::Fifo => 0.2,
            Kind::CostBenefit | Kind::CostBenefitApart | Kind::TwoStreams => 1.0,
            Kind::FastMergesMeanWait => 0.6,
            Kind::DemandMap | Kind::BastMerges | Kind::BastTime | Kind::FastMerges | Kind::FastTime => 2.0,
            Kind::Reads | Kind::FixedMapTime | Kind::FixedMapData => 0.1,
            Kind::DChoices
            | Kind::DemandMapSteady
            | Kind::Random
            | Kind::HotColdFifo
            | Kind::HotColdGreedy
            | Kind::HotColdApart
            | Kind::Trim
            | Kind::StaticTrim
            | Kind::OpenArrivals => 0.5,
        }
    }

    /// The point in words, as the first column of a table.
    pub fn label(&self) -> String {
        let op = format!("{} %", f64::from(self.op_per_10000) / 100.0);
        let ties = if self.ties == Ties::FirstCome { "first" } else { "last" };
        let hot = format!("{}/{}", f64::from(self.hot_writes) / 10.0, f64::from(self.hot_pages) / 10.0);
        match self.kind {
            Kind::Greedy | Kind::Fifo | Kind::Random => format!("{op}, {}", self.pages),
            Kind::DChoices | Kind::WindowedGreedy => format!("{op}, {}, {}", self.pages, self.choices),
            Kind::HotColdFifo | Kind::CostBenefit | Kind::CostBenefitApart => format!("{op}, {}, {hot}", self.pages),
            Kind::HotColdGreedy | Kind::HotColdApart | Kind::TwoStreams => {
                format!("{op}, {}, {hot}, {ties}", self.pages)
            }
            Kind::Trim | Kind::StaticTrim => format!("{op}, {}, {}", self.pages, f64::from(self.trimmed) / 1e3),
            Kind::Reads | Kind::ReadsExponential => format!("{}, {}", self.dies, self.depth),
            Kind::OpenArrivals => format!("{}", f64::from(self.load) / 1e3),
            Kind::DemandMap | Kind::DemandMapSteady => format!("{}", self.entries),
            Kind::Compressed => format!("{op}, {}, {} %", self.pages, f64::from(self.size) / 10.0),
            Kind::BastMerges | Kind::FastMerges | Kind::FastMergesMeanWait => {
                format!("{}, {}, {}", self.blocks, self.pages, self.logs)
            }
            Kind::BastTime | Kind::FastTime => {
                format!("{}, {}, {}, {:?}, {}", self.blocks, self.pages, self.logs, self.cell, self.bus_us)
            }
            Kind::FixedMapTime | Kind::FixedMapData => {
                format!("{}, {}, {:?}, {}", self.blocks, self.pages, self.cell, self.bus_us)
            }
        }
    }

    /// What a drive that translates by blocks is made of.
    pub fn log_build(&self) -> LogBuild {
        let scheme = match self.kind {
            Kind::BastMerges | Kind::BastTime => LogScheme::Bast,
            Kind::FastMerges | Kind::FastMergesMeanWait | Kind::FastTime => LogScheme::Fast,
            // With one lane a replacement is what a fixed map does: each page of the block is written again, in order.
            _ => LogScheme::Replacement,
        };
        LogBuild {
            scheme,
            cell: self.cell,
            pages: self.pages,
            data_blocks: self.blocks,
            logs: self.logs,
            bus_us: self.bus_us,
        }
    }

    fn build(&self, effort: Effort) -> Build {
        let policy = match self.kind {
            Kind::Fifo | Kind::HotColdFifo => VictimPolicy::Fifo,
            Kind::DChoices => VictimPolicy::DChoices,
            Kind::WindowedGreedy => VictimPolicy::WindowedGreedy,
            Kind::CostBenefit | Kind::CostBenefitApart => VictimPolicy::CostBenefit,
            Kind::Random => VictimPolicy::Random,
            _ => VictimPolicy::Greedy,
        };
        // On two streams the few hot blocks are what makes a small drive differ from theory's: they all go to one die.
        // Where data are compressed a row holds several pages, and the last row of a victim is not always full: a matter
        // of large blocks, of which there may be fewer.
        let (dies, blocks) = match self.kind {
            // Where the collector has an open block of its own, its share of a block is known only to a half.
            Kind::TwoStreams | Kind::HotColdApart => (1, 4 * effort.blocks),
            Kind::CostBenefitApart => (1, 2 * effort.blocks),
            Kind::Compressed => (2, effort.blocks / 4),
            _ => (2, effort.blocks),
        };
        Build {
            dies,
            data_blocks: blocks,
            pages: self.pages,
            spare_per_10000: self.op_per_10000,
            policy,
            choices: self.choices,
            tie_break: if policy == VictimPolicy::Greedy && self.ties == Ties::LastCome {
                TieBreak::Lifo
            } else {
                TieBreak::Fifo
            },
            frontier: match self.kind {
                Kind::TwoStreams => Frontier::ByStream,
                Kind::HotColdApart | Kind::CostBenefitApart => Frontier::Separate,
                _ => Frontier::Shared,
            },
            map_cache_kib: None,
            compressibility_per_1000: (self.kind == Kind::Compressed).then_some(1000 - self.size as u16),
            seed: 1,
        }
    }

    /// Puts a drive into the state that theory speaks of, and measures.
    pub fn measure(&self, effort: Effort) -> Measured {
        let build = self.build(effort);
        let (r, f) = (u64::from(self.hot_writes), self.shares().1);
        match self.kind {
            Kind::Greedy | Kind::Fifo | Kind::DChoices | Kind::WindowedGreedy | Kind::Random | Kind::Compressed => {
                measure::uniform(&build, effort)
            }
            Kind::HotColdFifo
            | Kind::HotColdGreedy
            | Kind::HotColdApart
            | Kind::CostBenefit
            | Kind::CostBenefitApart
            | Kind::TwoStreams => measure::hot_cold(&build, r, f, effort),
            Kind::Trim => measure::trim_under_load(&build, self.trimmed.into(), effort),
            Kind::StaticTrim => measure::static_trim(&build, f64::from(self.trimmed) / 1e3, effort),
            Kind::Reads => measure::random_reads(self.dies, self.depth, false, effort),
            Kind::ReadsExponential => measure::random_reads(self.dies, self.depth, true, effort),
            Kind::OpenArrivals => measure::open_arrivals(f64::from(self.load) / 1e3, effort),
            Kind::DemandMap => measure::demand_map(self.entries),
            Kind::DemandMapSteady => measure::demand_map_steady(self.entries, effort),
            Kind::BastMerges | Kind::FastMerges | Kind::FastMergesMeanWait => {
                log_blocks::random_writes(&self.log_build(), UNIT_BYTES, Figure::Merges, effort)
            }
            Kind::BastTime | Kind::FastTime => {
                log_blocks::random_writes(&self.log_build(), UNIT_BYTES, Figure::Milliseconds, effort)
            }
            Kind::FixedMapTime => {
                log_blocks::random_writes(&self.log_build(), SECTOR_BYTES, Figure::Milliseconds, effort)
            }
            Kind::FixedMapData => {
                log_blocks::random_writes(&self.log_build(), SECTOR_BYTES, Figure::Amplification, effort)
            }
        }
    }

    /// Reads a point as the command line has it.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right.
    pub fn parse(text: &str) -> Result<Point, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let Some(&(kind, _, keys)) = KINDS.iter().find(|k| k.1 == name) else {
            let names: Vec<&str> = KINDS.iter().map(|k| k.1).collect();
            return Err(format!("{text}: no such kind of point: {name}; use one of {}", names.join(", ")));
        };
        let mut point = Point::new(kind);
        for pair in rest.split(',').filter(|p| !p.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| format!("{text}: {pair} is not KEY=VALUE"))?;
            if !keys.split(' ').any(|k| k == key) {
                return Err(format!("{text}: {name} has no {key}; its keys are {keys}"));
            }
            point.set(key, value).map_err(|what| format!("{text}: {key}: {what}"))?;
        }
        let (logs, blocks) = (point.logs, point.blocks);
        if matches!(kind, Kind::BastMerges | Kind::BastTime) && logs >= blocks {
            return Err(format!("{text}: logs: {logs} are no fewer than blocks of data; use 1 to {}", blocks - 1));
        }
        // Before their logs are closed, nearly all pages would have been written again: too few merges to be counted.
        if matches!(kind, Kind::FastMerges | Kind::FastMergesMeanWait | Kind::FastTime) && logs > blocks {
            return Err(format!("{text}: logs: {logs} are more than blocks of data; use 1 to {blocks}"));
        }
        Ok(point)
    }

    /// Why what theory says of a point cannot be held against a drive, and where it could be.
    #[must_use]
    pub fn doubt(&self) -> Option<String> {
        let pages = self.pages;
        match self.kind {
            Kind::FastMerges => {
                let off_percent = self.log_build().fast_merges_too_many_percent();
                (off_percent.abs() > FIRST_ORDER_PERCENT_MAX).then(|| {
                    format!(
                        "the formula is of first order, and {off_percent:+.1} % off fast-merges-mean-wait, which counts whole logs \
                         and pages written again"
                    )
                })
            }
            Kind::FixedMapTime | Kind::FixedMapData if self.blocks < FIXED_MAP_BLOCKS_MIN => Some(format!(
                "one write in {} is to the block that is open and saves half of it, which the formula does not count; points are \
                 judged from {FIXED_MAP_BLOCKS_MIN} blocks on",
                self.blocks
            )),
            Kind::Fifo | Kind::Random => self.doubt_of_few_pages(),
            Kind::WindowedGreedy if self.choices == 1 => self.doubt_of_few_pages(),
            Kind::Compressed if pages < COMPRESSED_PAGES_MIN => Some(format!(
                "no formula counts how rows are padded at the end of a victim, which blocks of fewer than {COMPRESSED_PAGES_MIN} \
                 pages show"
            )),
            Kind::Compressed if self.size > MIXED_SIZE_MAX && self.size < 1000 => Some(format!(
                "the formula knows only the mean of two sizes, which are too far apart above {} %",
                f64::from(MIXED_SIZE_MAX) / 10.0
            )),
            Kind::DemandMap => {
                let hits_percent = self.hits_percent();
                (hits_percent > self.tolerance_percent()).then(|| {
                    format!(
                        "the formula leaves out hits, which make it {hits_percent:.1} % more in the steady state; demand-map-steady \
                         counts them"
                    )
                })
            }
            Kind::HotColdFifo
            | Kind::HotColdGreedy
            | Kind::HotColdApart
            | Kind::CostBenefit
            | Kind::CostBenefitApart
            | Kind::TwoStreams => self.doubt_of_hot_data(),
            _ => None,
        }
    }

    /// How much more than the formula of a map loaded on demand says the one that counts hits does, per cent.
    fn hits_percent(&self) -> f64 {
        let share = f64::from(self.entries) / f64::from(measure::DEMAND_MAP_PAGES);
        let without = formulas::map_pages_per_write(self.entries, measure::DEMAND_MAP_PAGES);
        (formulas::map_pages_per_write_with_hits(share) / without - 1.0) * 100.0
    }

    /// Pages of the host in the drive of the tables.
    fn units(&self) -> f64 {
        let build = self.build(Effort::FULL);
        f64::from(build.dies * build.data_blocks * self.pages) / (1.0 + self.op())
    }

    /// The same of uniform writes, where the value hangs on the spare area as a whole and not on the size of a block.
    fn doubt_of_few_pages(&self) -> Option<String> {
        let units = self.units();
        // A write replaces one that waits if it is to the same unit; and amplification falls about as the spare area grows.
        let uncounted = (f64::from(BUFFER_UNITS) / units + SPARE_PAGES_BESIDE / (units * self.op())) * 100.0;
        (uncounted > UNCOUNTED_SHARE_MAX * self.tolerance_percent()).then(|| {
            format!(
                "the drive has only {units:.0} pages, beside which its write buffer counts and what is spare besides: some \
                 {uncounted:.2} % less, which no formula counts"
            )
        })
    }

    /// The same of data of which some are hot, whichever of the two kinds they are.
    fn doubt_of_hot_data(&self) -> Option<String> {
        if self.kind == Kind::TwoStreams {
            let within = |lo: u32, value: u32| (lo..=1000 - lo).contains(&value);
            if self.op_per_10000 < TWO_STREAMS_OP_MIN
                || self.pages < TWO_STREAMS_PAGES_MIN
                || !within(TWO_STREAMS_SHARE_MIN, self.hot_pages)
                || !within(1000 - TWO_STREAMS_WRITES_MAX, self.hot_writes)
            {
                return Some(format!(
                    "the drive has too few hot blocks: points are judged from op={} and b={TWO_STREAMS_PAGES_MIN} on, for r of \
                     {} to {} and f of {} to {}",
                    TWO_STREAMS_OP_MIN / 100,
                    100 - TWO_STREAMS_WRITES_MAX / 10,
                    TWO_STREAMS_WRITES_MAX / 10,
                    TWO_STREAMS_SHARE_MIN / 10,
                    100 - TWO_STREAMS_SHARE_MIN / 10
                ));
            }
        }
        let (units, (r, f)) = (self.units(), self.shares());
        // A write replaces one that waits if it is to the same unit.
        let replaced = f64::from(BUFFER_UNITS) / units * (r * r / f + (1.0 - r) * (1.0 - r) / (1.0 - f)) * 100.0;
        (replaced > REPLACED_PERCENT_MAX).then(|| {
            format!("{replaced:.2} % of the writes replace one in the drive's write buffer, which no formula counts")
        })
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        if key == "ties" {
            self.ties = match value {
                "first" => Ties::FirstCome,
                "last" => Ties::LastCome,
                _ => return Err(format!("{value} is not an order of ties; use first or last")),
            };
            return Ok(());
        }
        if key == "cell" {
            self.cell = match value {
                "slc" => Cell::Slc,
                "mlc" => Cell::Mlc,
                _ => return Err(format!("{value} is not a kind of cell; use slc or mlc")),
            };
            return Ok(());
        }
        let number: f64 = value.parse().map_err(|_| format!("{value} is not a number"))?;
        let scaled = |scale: f64, lo: f64, hi: f64| {
            if (lo..=hi).contains(&number) {
                Ok((number * scale + 0.5) as u32)
            } else {
                Err(format!("{value} is out of range; use {lo} to {hi}"))
            }
        };
        match key {
            "op" => self.op_per_10000 = scaled(100.0, 1.0, 400.0)?,
            "b" => self.pages = scaled(1.0, 4.0, 4096.0)?,
            "d" => self.choices = scaled(1.0, 1.0, 100_000.0)?,
            "r" => self.hot_writes = scaled(10.0, 1.0, 99.9)?,
            "f" => self.hot_pages = scaled(10.0, 0.1, 99.0)?,
            "q" => self.trimmed = scaled(1000.0, 0.0, 0.45)?,
            "share" => self.trimmed = scaled(1000.0, 0.0, 0.9)?,
            "dies" => self.dies = scaled(1.0, 1.0, 32.0)?,
            "depth" => self.depth = scaled(1.0, 1.0, 32.0)?,
            "rho" => self.load = scaled(1000.0, 0.01, 0.99)?,
            "size" => self.size = scaled(10.0, 12.5, 100.0)?,
            "blocks" => self.blocks = scaled(1.0, 16.0, 65_536.0)?,
            "logs" => self.logs = scaled(1.0, 1.0, 1024.0)?,
            "bus" => self.bus_us = scaled(1.0, 0.0, 1000.0)?,
            // What whole KiB of DRAM hold. Fewer have no sharp age at which they leave; of more, map pages are written out too
            // seldom to be counted.
            "entries" if self.kind == Kind::DemandMapSteady => {
                self.entries = scaled(1.0, 1024.0, 16_384.0)? / 128 * 128
            }
            // More lie outside the formula.
            "entries" => self.entries = scaled(1.0, 128.0, 262_144.0)? / 128 * 128,
            _ => unreachable!("keys are checked against the kind's own"),
        }
        Ok(())
    }
}
