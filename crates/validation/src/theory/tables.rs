//! The tables of `docs/theory.md`.

use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::log_blocks::Cell;
use super::measure::Effort;
use super::point::{Expectation, Kind, Point};
use super::rig::Measured;
use super::temperature::Ties;

#[derive(Default)]
pub struct Page {
    pub text: String,
    /// Points out of tolerance.
    pub misses: Vec<String>,
}

const INTRODUCTION: &str = "\
# Theory

What a drive must do can be computed for some drives and workloads. This page lays the theory beside what the
simulated drive does: the same code as in every review (command queue, buffer, translation layer, scheduler, dies),
on dies with 4 KiB pages, a bus and a link that take no time, and one superblock a die and block; for write
amplification two dies of 2,048 blocks, unless a table says otherwise. Every figure of
theory is computed from its definition (`crates/validation/src/theory`, which names the sources); none is stored.

This page is written by `make theory`, which fails if a point is out of tolerance. Points of one's own:

    cargo run --release -p ssdlab-validation --bin theory -- greedy:op=15,b=1024 d-choices:op=20,d=5 \\
        hot-cold:op=7,r=95,f=5 hot-cold-apart:op=25,r=80,f=20 two-streams:op=12,r=90,f=10,ties=first \\
        trim:op=7,q=0.4 static-trim:op=28,share=0.3 \\
        reads:depth=10 reads-exponential:dies=16,depth=20 open:rho=0.95 demand-map:entries=32768 \\
        compressed:op=15,size=40 bast-time:blocks=2048,logs=4,bus=100 fast-merges:logs=64 fixed-map-time:cell=slc

The over-provisioning that theory means is that of the blocks which are full when a victim is picked. A drive has a
free block and an open one besides; `exact_spare_per_10000` in a drive file adds them (see `DriveSpec::blocks_per_die`).
Where host and collector share the open block and the collector paces the host, their number is exact.

";

/// A heading, what it is about, the first column, and the points.
struct Table {
    name: &'static str,
    about: &'static str,
    first: &'static str,
    points: Vec<Point>,
}

const OPS: [u32; 4] = [700, 1200, 2500, 2800];

fn waf(kind: Kind, op_per_10000: u32, pages: u32) -> Point {
    Point { op_per_10000, pages, ..Point::new(kind) }
}

/// All combinations, the first changing slowest.
fn pairs<A: Copy, B: Copy>(first: &[A], second: &[B]) -> Vec<(A, B)> {
    first.iter().flat_map(|&a| second.iter().map(move |&b| (a, b))).collect()
}

fn tables() -> Vec<Table> {
    let mut tables = write_amplification();
    tables.extend(temperature());
    tables.extend(trim());
    tables.extend(queues());
    tables.push(Table {
        name: "Compression",
        about: "Uniform random writes of data that take a share of their size after compression; the block with the \
            fewest valid bytes goes. What compression saves is spare. Large blocks, of 512 pages or more: the row that ends a \
            victim is padded, which the formula does not count. Sizes of a half and a quarter are those of every page; the others, \
            up to 90 %, are means of two sizes, a power of two apart, of which the formula knows only the mean (0.5 %). \
            (Two dies of 512 blocks.)",
        first: "over-provisioning, pages per block, size",
        points: pairs(&[700, 2800], &[1000, 900, 750, 600, 500, 250])
            .into_iter()
            .map(|(op, size)| Point { size, ..waf(Kind::Compressed, op, 512) })
            .collect(),
    });
    tables.push(Table {
        name: "Map loaded on demand",
        about: "DRAM holds so many entries of a map of 4,194,304, 1,024 of which share a map page (DFTL); uniform random \
            writes. Map pages written for each page of the host: (1 - h)/(1 + m e/L). The formula leaves out that hits keep \
            entries in DRAM: with more of them it says too little (the next table). Measured over one drive write, after half of \
            one: where DRAM holds many entries, that is before the steady state.",
        first: "entries in DRAM",
        points: [1024, 4096, 16_384, 65_536, 262_144]
            .map(|entries| Point { entries, ..Point::new(Kind::DemandMap) })
            .to_vec(),
    });
    tables.push(Table {
        name: "Map loaded on demand, with hits",
        about: "The same with a map of 65,536, once its pages are no longer written out all together, as they are at \
            first. Where hits count: 1/(1/(1 - h) - e ln(1 - h)), with h the share of the entries that DRAM holds, whatever \
            the size of the map.",
        first: "entries in DRAM",
        points: [1024, 2048, 4096, 8192, 16_384]
            .map(|entries| Point { entries, ..Point::new(Kind::DemandMapSteady) })
            .to_vec(),
    });
    tables.extend(log_blocks());
    tables
}

fn log_blocks() -> Vec<Table> {
    let by_logs = |kind, logs: &[u32]| logs.iter().map(|&logs| Point { logs, ..Point::new(kind) }).collect::<Vec<_>>();
    let cells = |kind| [Cell::Slc, Cell::Mlc].map(|cell| Point { cell, ..Point::new(kind) }).to_vec();
    let times = |kind, logs: &[u32]| {
        let of = |(logs, (cell, bus_us))| Point { logs, cell, bus_us, ..Point::new(kind) };
        pairs(logs, &[(Cell::Slc, 0), (Cell::Mlc, 0), (Cell::Mlc, 100)]).into_iter().map(of).collect::<Vec<_>>()
    };
    let mut mean_waits = by_logs(Kind::FastMergesMeanWait, &[1, 2, 16, 64]);
    // Where most of what a log holds, or a good part of it, has been written again when it is closed.
    let many = [16, 64].map(|logs| Point { blocks: 64, pages: 8, logs, ..Point::new(Kind::FastMergesMeanWait) });
    mean_waits.extend(many);
    let mut fixed_map_times = cells(Kind::FixedMapTime);
    fixed_map_times.push(Point { cell: Cell::Slc, bus_us: 100, ..Point::new(Kind::FixedMapTime) });
    vec![
        Table {
            name: "Log blocks of one block each (BAST): merges",
            about: "One die, random writes of 4 KiB, one after the other, to a drive that is full. Merges for each write: \
                (1 - h)/(1 - h^b), with h = L/D: L log blocks over D blocks of data, of which each is full with b pages. With few \
                logs that is 1 - L/D.",
            first: "blocks of data, pages of each, log blocks",
            points: by_logs(Kind::BastMerges, &[1, 8, 128]),
        },
        Table {
            name: "Log blocks of one block each (BAST): time",
            about: "Milliseconds of such a write: b (tR + tP + bus) + 2 tE for a merge, and bus + tP for the page itself. \
                SLC: 25 and 250 us, MLC: 50 and 900; an erase 2 ms. One log in b begins with its block's first page and \
                becomes the block, for a copy and an erase less, which is taken off (and so is what longer logs in order save).",
            first: "blocks of data, pages of each, log blocks, cells, us of a page on the bus",
            points: times(Kind::BastTime, &[1, 8]),
        },
        Table {
            name: "Shared log blocks (FAST): merges",
            about: "The same writes; logs take the pages of all blocks. Merges for each write: 1/(1 + L b/D). \
                A page waits half a log less than the L b writes of the formula, in the mean: few logs merge somewhat more often. \
                Of first order in b/D and L/D: where it is more than 1.6 % off the next table's, a point is not judged.",
            first: "blocks of data, pages of each, log blocks",
            points: by_logs(Kind::FastMerges, &[4, 8, 32, 128]),
        },
        Table {
            name: "Shared log blocks (FAST): merges, with the mean wait",
            about: "The same for any D and L up to D, as logs are closed whole and as a page that was written again meanwhile is \
                not valid in the log that is closed, so that its block may wait on: D/(b (J + L - 1)). The Jth log after a merge is, in \
                the mean, the next one that has a page of the block which none of the L - 1 logs behind it has. J is the sum of g(n)^b \
                from n = 0 on, where g(n) = g(n - 1) - p (1 - p)^(L - 1) g(n - L), with p = 1/D and with 1 up to n = 0, is the chance \
                that a given page is in none of n logs in that way. With one log that is 1/(1 - (1 - p)^b); with few, merges are those \
                of half a log less: 1/(1 + (L - 1/2) b/D).",
            first: "blocks of data, pages of each, log blocks",
            points: mean_waits,
        },
        Table {
            name: "Shared log blocks (FAST): time",
            about: "Milliseconds of such a write in the mean: b (tR + tP + bus) + tE for each merge with the mean wait, tE/b for \
                the log, and bus + tP.",
            first: "blocks of data, pages of each, log blocks, cells, us of a page on the bus",
            points: times(Kind::FastTime, &[32]),
        },
        Table {
            name: "A fixed map of blocks: time",
            about: "Random writes of one sector, each of which has a block of many read, erased and programmed: \
                b (tR + tP + bus) + bus + tE, in milliseconds, as what is left of the sector's page crosses the bus to the controller \
                and back. The article on JMF602B drives gives 37.2 for SLC and 123.6 for MLC, without the bus.",
            first: "blocks of data, pages of each, cells, us of a page on the bus",
            points: fixed_map_times,
        },
        Table {
            name: "A fixed map of blocks: data",
            about: "The same writes to a drive of many blocks: bytes programmed for each of the host's 512. The article gives 1,024.",
            first: "blocks of data, pages of each, cells, us of a page on the bus",
            points: cells(Kind::FixedMapData),
        },
    ]
}

fn write_amplification() -> Vec<Table> {
    let grid = |kind, sizes: &[u32]| pairs(&OPS, sizes).into_iter().map(|(op, b)| waf(kind, op, b)).collect::<Vec<_>>();
    let mut greedy = grid(Kind::Greedy, &[64, 128, 256, 512]);
    greedy.extend([(1000, 32), (1500, 128), (2000, 64), (4000, 16)].map(|(op, b)| waf(Kind::Greedy, op, b)));
    let choices = pairs(&OPS, &[2, 3, 10]).into_iter();
    vec![
        Table {
            name: "Write amplification: greedy",
            about: "Uniform random writes; the block with the fewest valid pages goes. Exact for many blocks.",
            first: "over-provisioning, pages per block",
            points: greedy,
        },
        Table {
            name: "Write amplification: FIFO",
            about: "Uniform random writes; the block closed longest ago goes. Drives of so few pages that the write buffer, of 16, \
                counts beside them are not judged, here and with random victims; the program says so of each.",
            first: "over-provisioning, pages per block",
            points: grid(Kind::Fifo, &[64, 256]),
        },
        Table {
            name: "Write amplification: random",
            about: "Uniform random writes; any closed block goes.",
            first: "over-provisioning, pages per block",
            points: grid(Kind::Random, &[64]),
        },
        Table {
            name: "Write amplification: d-choices",
            about: "Uniform random writes; the best of d blocks drawn at random goes.",
            first: "over-provisioning, pages per block, d",
            points: choices.map(|(op, choices)| Point { choices, ..waf(Kind::DChoices, op, 64) }).collect(),
        },
        Table {
            name: "Write amplification: windowed greedy",
            about: "Uniform random writes; the best of the d blocks closed longest ago goes. A window of one block is FIFO, a \
                window of all is greedy, and the others lie between.",
            first: "over-provisioning, pages per block, d",
            points: pairs(&[700, 2800], &[1, 64, 1024, 4096])
                .into_iter()
                .map(|(op, choices)| Point { choices, ..waf(Kind::WindowedGreedy, op, 64) })
                .collect(),
        },
    ]
}

fn mixed(kind: Kind, ties: Ties, ops: &[u32]) -> Vec<Point> {
    let of = |(op, (hot_writes, hot_pages))| Point { hot_writes, hot_pages, ties, ..waf(kind, op, 64) };
    pairs(ops, &[(800, 200), (900, 100)]).into_iter().map(of).collect()
}

fn cost_benefit(kind: Kind) -> Vec<Point> {
    let of = |(op, (hot_writes, hot_pages))| Point { hot_writes, hot_pages, ..waf(kind, op, 64) };
    pairs(&[700, 2800], &[(500, 500), (800, 200), (950, 50)]).into_iter().map(of).collect()
}

fn temperature() -> Vec<Table> {
    let ops = [700, 1200, 2800];
    let mut greedy = mixed(Kind::HotColdGreedy, Ties::LastCome, &ops);
    greedy.extend(mixed(Kind::HotColdGreedy, Ties::FirstCome, &ops));
    let mut apart = mixed(Kind::HotColdApart, Ties::LastCome, &ops);
    apart.extend(mixed(Kind::HotColdApart, Ties::FirstCome, &ops));
    let mut streams = mixed(Kind::TwoStreams, Ties::FirstCome, &ops);
    streams.extend(mixed(Kind::TwoStreams, Ties::LastCome, &ops));
    vec![
        Table {
            name: "Hot and cold data, FIFO",
            about: "A share r of the writes goes to a share f of the pages; one stream. Where hot pages are so few that more than \
                0.3 % of the writes would replace one that waits in the write buffer, of 16 pages, the point is not judged: no formula \
                counts these.",
            first: "over-provisioning, pages per block, r/f",
            points: mixed(Kind::HotColdFifo, Ties::LastCome, &ops),
        },
        Table {
            name: "Hot and cold data, greedy",
            about: "As before; of the blocks with the fewest valid pages goes the one that came to that count first, or \
                last. (With uniform writes that makes no difference.)",
            first: "over-provisioning, pages per block, r/f, ties",
            points: greedy,
        },
        Table {
            name: "Hot and cold data, the collector's apart",
            about: "As before, but what is moved goes to an open block of its own. With uniform writes that changes nothing; \
                here it keeps the data that have proved cold from lying among the host's. The host names nothing. No formula is \
                known; theory's column is a map of 8,192 blocks alone, without time, queue or dies, in a loop of its own, in which \
                the host is paced as in the drives: for each page that is moved, as many as the victim's dead share frees. The \
                drives read 8 pages of a victim ahead, so that what these free is free at once. With few pages a block and few hot \
                ones the value jumps with that (20 %, 16, 95/5, first: 3.16 up to 6 pages, 2.70 from 7 on): where 8 pages and none \
                differ by more than the tolerance, theory's column has both, and a drive lies between. (One die of 8,192 blocks.)",
            first: "over-provisioning, pages per block, r/f, ties",
            points: apart,
        },
        Table {
            name: "Hot and cold data, cost-benefit",
            about: "The block with the greatest (1 - u) / 2u x age goes: u is the valid share, age how much was programmed since \
                the block was written to its end. What is moved goes to the host's open block. 50/50 is uniform. No formula is \
                known; theory's column is that map alone, of 4,096 blocks.",
            first: "over-provisioning, pages per block, r/f",
            points: cost_benefit(Kind::CostBenefit),
        },
        Table {
            name: "Hot and cold data, cost-benefit, the collector's apart",
            about: "As before, but what is moved goes to an open block of its own. (One die of 4,096 blocks.)",
            first: "over-provisioning, pages per block, r/f",
            points: cost_benefit(Kind::CostBenefitApart),
        },
        Table {
            name: "Hot and cold data on two streams",
            about: "The host names the stream of each write; each has open blocks of its own, for the host's data and for \
                moved data, and one greedy collector looks after all. With large blocks nothing would be lost against \
                uniform writes; with small ones it depends on the order of ties: the value is that of uniform writes where \
                the last goes, and a smaller one where the first goes. Drives with few hot blocks lie somewhat off that; points \
                with fewer are not judged (less than 7 %, 64 pages a block or a twentieth of the pages, or more than 95 % of the \
                writes). (One die of 8,192 blocks.)",
            first: "over-provisioning, pages per block, r/f, ties",
            points: streams,
        },
    ]
}

fn trim() -> Vec<Table> {
    let points = |kind, ops: &[u32], pages, shares: &[u32]| -> Vec<Point> {
        pairs(ops, shares).into_iter().map(|(op, trimmed)| Point { trimmed, ..waf(kind, op, pages) }).collect()
    };
    vec![
        Table {
            name: "TRIM under load",
            about: "A share q of the requests trims a random page in use, the others write random pages; greedy. Exactly \
                as a drive with the share (1 - 2q)/(1 - q) of its pages.",
            first: "over-provisioning, pages per block, q",
            points: points(Kind::Trim, &[700, 1200, 2800], 64, &[50, 100, 200, 300, 400]),
        },
        Table {
            name: "Static TRIM",
            about: "A share of the drive is trimmed and never written again; greedy.",
            first: "over-provisioning, pages per block, share trimmed",
            points: points(Kind::StaticTrim, &[700, 1200, 2800], 256, &[100, 200, 300, 500]),
        },
    ]
}

fn queues() -> Vec<Table> {
    let depths = [1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32];
    let of = |kind| depths.map(|depth| Point { depth, ..Point::new(kind) }).to_vec();
    vec![
        Table {
            name: "Queue depth, reads that all take the same time",
            about: "Thousand random 4 KiB reads a second over 32 dies of 50 us. As all reads take the same time, the dies \
                move in step; the chain on how the reads are spread over them is solved exactly.",
            first: "dies, commands under way",
            points: of(Kind::Reads),
        },
        Table {
            name: "Queue depth, exponential read times",
            about: "The same with read times of 50 us in the mean whose distribution is exponential: each of the 4096 \
                pages of a block has its own, a quantile of that distribution. n q/(n + q - 1) dies are busy.",
            first: "dies, commands under way",
            points: of(Kind::ReadsExponential),
        },
        Table {
            name: "Open arrivals",
            about: "Reads of one die of 50 us arrive at random; mean response in us (M/D/1: s (1 + rho / (2 (1 - rho)))). \
                Every single response is checked against Lindley's recursion for the same arrivals, to the nanosecond; \
                what is left is the sample's, with its 95 % interval.",
            first: "utilisation",
            points: [100, 300, 500, 700, 800, 900, 950]
                .map(|load| Point { load, ..Point::new(Kind::OpenArrivals) })
                .to_vec(),
        },
    ]
}

/// Measures all points on all cores; results in order.
fn measure(points: &[Point], effort: Effort) -> Vec<(Expectation, Measured)> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![None; points.len()]);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(point) = points.get(at) else { return };
                    let result = (point.theory(), point.measure(effort));
                    eprintln!("{:?} {}: {:.4} {:?}", point.kind, point.label(), result.1.value, result.0);
                    results.lock().expect("no worker has failed")[at] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().expect("no worker has failed");
    results.into_iter().map(|r| r.expect("every point was measured")).collect()
}

pub fn page() -> Page {
    let mut page = Page { text: INTRODUCTION.to_owned(), ..Page::default() };
    let tables = tables();
    let points: Vec<Point> = tables.iter().flat_map(|t| t.points.clone()).collect();
    let mut results = measure(&points, Effort::FULL).into_iter();
    let mut totals = Totals::default();
    for table in &tables {
        let rows: Vec<_> = table.points.iter().map(|&p| (p, results.next().expect("one for each point"))).collect();
        page.table(table, &rows, &mut totals);
    }
    totals.write(&mut page);
    page
}

/// Points named on the command line, one table for each kind.
pub fn of_points(points: &[Point]) -> Page {
    let mut page = Page::default();
    let mut totals = Totals::default();
    let results = measure(points, Effort::FULL);
    for known in tables() {
        let kind = known.points[0].kind;
        let rows: Vec<_> =
            points.iter().copied().zip(results.iter().copied()).filter(|(p, _)| p.kind == kind).collect();
        if !rows.is_empty() {
            page.table(&known, &rows, &mut totals);
        }
    }
    totals.write(&mut page);
    page
}

#[derive(Default)]
struct Totals {
    runs: u64,
    commands: u64,
    bytes: u64,
    little_worst_percent: f64,
}

impl Totals {
    fn add(&mut self, point: &Point, m: &Measured) {
        self.runs += 1;
        self.commands += m.commands;
        self.bytes += m.bytes;
        if m.little > 0.0 {
            self.little_worst_percent =
                self.little_worst_percent.max(percent_off(m.little, f64::from(point.depth)).abs());
        }
    }

    fn write(&self, page: &mut Page) {
        let _ = write!(
            page.text,
            "## Little's law and conservation\n\nHeld in all {} runs, or the run would have failed: {} commands, {:.1} TB. \
             The time integral of the commands under way, as the host has seen it, is the sum of their latencies to the \
             nanosecond; the bytes that the host has seen completed are those that the drive has counted; every unit \
             written was accepted or replaced one that waited in the buffer; every unit programmed is the host's, the \
             collector's or padding; every row programmed is on flash or was erased; map, spare areas and valid counts \
             agree; and every read returned the host's last write.\n",
            self.runs,
            self.commands,
            self.bytes as f64 / 1e12
        );
        if self.little_worst_percent > 0.0 {
            let _ = writeln!(
                page.text,
                "\nIn the queue-depth tables rate times mean latency is the number of commands under way to {:.3} % (the \
                 run's ends count in one and not in the other).",
                self.little_worst_percent
            );
        }
    }
}

fn percent_off(ours: f64, theory: f64) -> f64 {
    (ours / theory - 1.0) * 100.0
}

impl Page {
    fn table(&mut self, table: &Table, rows: &[(Point, (Expectation, Measured))], totals: &mut Totals) {
        let tolerance = table.points[0].tolerance_percent();
        let near = table.points[0].kind == Kind::TwoStreams;
        let trims = table.points[0].kind == Kind::Trim;
        let interval = table.points[0].kind == Kind::OpenArrivals;
        let meaning = match near {
            true => format!(
                "; a point further off lies “between” if it is no more than {BELOW_BRACKET_PERCENT} % below both orders' values \
                 and {ABOVE_BRACKET_PERCENT} % above. The two orders must differ by half of what theory says, at least"
            ),
            false => String::new(),
        };
        let _ = write!(
            self.text,
            "## {}\n\n{} Tolerance {tolerance} %{meaning}.\n\n| {} | theory | ssdlab | error |{}{} |\n|---|---:|---:|---:|{}{}---|\n",
            table.name,
            table.about,
            table.first,
            if trims { " in use: theory | ssdlab | error |" } else { "" },
            if interval { " 95 % interval |" } else { "" },
            if trims { "---:|---:|---:|" } else { "" },
            if interval { "---:|" } else { "" },
        );
        let (mut worst, mut doubts) = (0.0f64, Vec::new());
        for (point, (theory, m)) in rows {
            totals.add(point, m);
            let Judged { theory: words, error, mut verdict } = judge(*theory, m.value, point.tolerance_percent());
            if let Some(why) = point.doubt() {
                verdict = Verdict::Open;
                doubts.push(format!("{}: not judged: {why}.", point.label()));
            } else {
                worst = worst.max(error.unwrap_or(0.0).abs());
            }
            let error = error.map_or("inside".to_owned(), |error| format!("{error:+.2} %"));
            let _ = write!(self.text, "| {} | {words} | {:.4} | {error} |", point.label(), m.value);
            if let Some(in_use) = m.in_use {
                let off = percent_off(in_use, point.in_use());
                if off.abs() > point.tolerance_percent() && verdict != Verdict::Open {
                    verdict = Verdict::Missed;
                }
                let _ = write!(self.text, " {:.4} | {in_use:.4} | {off:+.2} % |", point.in_use());
            }
            if let (Some(half), Expectation::Value(theory)) = (m.half_width, *theory) {
                let _ = write!(self.text, " ±{:.2} % |", half / theory * 100.0);
            }
            let _ = writeln!(self.text, " {} |", verdict.words());
            if verdict == Verdict::Missed {
                self.misses.push(format!("{}: {}: theory {words}, ours {:.4}", table.name, point.label(), m.value));
            }
        }
        self.text.push('\n');
        if doubts.len() < rows.len() {
            let _ = writeln!(self.text, "Greatest error: {worst:.2} %.\n");
        }
        for doubt in doubts {
            let _ = writeln!(self.text, "{doubt}\n");
        }
        for (point, theory, ours) in orders_too_alike(rows) {
            let [theory, ours] = [theory, ours].map(|more| format!("{:.2} %", (more - 1.0) * 100.0));
            self.misses.push(format!(
                "{}: {}: the other order takes {ours} more, not {theory}",
                table.name,
                point.label()
            ));
        }
    }
}

/// Points whose value with the last of equals must be greater than with the first, and is so by less than half of what theory
/// says: the point, what theory and the drive say as ratios. A value within tolerance of one order's may be that of the other.
fn orders_too_alike(rows: &[(Point, (Expectation, Measured))]) -> Vec<(Point, f64, f64)> {
    let value = |theory: Expectation| match theory {
        Expectation::Near { value, .. } => Some(value),
        Expectation::Value(_) | Expectation::Between(..) => None,
    };
    let last_of = |point: &Point| rows.iter().find(|row| row.0 == Point { ties: Ties::LastCome, ..*point });
    let firsts = rows.iter().filter(|row| row.0.ties == Ties::FirstCome && row.0.doubt().is_none());
    let pairs = firsts.filter_map(|(point, (theory, ours))| {
        let (_, (last_theory, last_ours)) = last_of(point)?;
        Some((*point, value(*last_theory)? / value(*theory)?, last_ours.value / ours.value))
    });
    pairs.filter(|(_, theory, ours)| ours - 1.0 < (theory - 1.0) / 2.0).collect()
}

/// How far a drive of few blocks may lie below the values of both orders of ties, and how far above, per cent: what a
/// sample may differ by.
const BELOW_BRACKET_PERCENT: f64 = 1.5;
const ABOVE_BRACKET_PERCENT: f64 = 0.3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Met,
    /// Off the value by more than the tolerance, and between those that a drive of few blocks may come to.
    Between,
    Missed,
    /// Theory does not hold there: see [`Point::doubt`].
    Open,
}

impl Verdict {
    fn words(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Between => "between",
            Verdict::Missed => "**missed**",
            Verdict::Open => "not judged",
        }
    }
}

pub struct Judged {
    /// Theory in words.
    pub theory: String,
    /// How far off, per cent; none inside a bracket.
    pub error: Option<f64>,
    pub verdict: Verdict,
}

pub fn judge(theory: Expectation, ours: f64, tolerance: f64) -> Judged {
    let within = |met| if met { Verdict::Met } else { Verdict::Missed };
    match theory {
        Expectation::Value(v) => {
            let error = percent_off(ours, v);
            Judged { theory: format!("{v:.4}"), error: Some(error), verdict: within(error.abs() <= tolerance) }
        }
        Expectation::Between(low, high) => {
            let error = Some(percent_off(ours, ours.clamp(low, high))).filter(|&error| error != 0.0);
            let verdict = within(error.unwrap_or(0.0).abs() <= tolerance);
            Judged { theory: format!("{low:.4} … {high:.4}"), error, verdict }
        }
        Expectation::Near { value, low, high } => {
            let error = percent_off(ours, value);
            let outside = percent_off(ours, ours.clamp(low, high));
            let verdict = match error.abs() <= tolerance {
                true => Verdict::Met,
                false if (-BELOW_BRACKET_PERCENT..=ABOVE_BRACKET_PERCENT).contains(&outside) => Verdict::Between,
                false => Verdict::Missed,
            };
            Judged { theory: format!("{value:.4}"), error: Some(error), verdict }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_orders_of_ties_are_judged_by_their_own_values() {
        let of = |value| move |ours| judge(Expectation::Near { value, low: 6.4, high: 7.0 }, ours, 1.0);
        let (first, last) = (of(6.4), of(7.0));
        assert_eq!(first(6.45).verdict, Verdict::Met);
        assert_eq!(last(6.45).verdict, Verdict::Between);
        assert_eq!(first(6.95).verdict, Verdict::Between);
        assert!((first(6.45).error.expect("of a value") - 0.78125).abs() < 1e-9);
        for value in [6.4, 7.0] {
            assert_eq!(of(value)(6.4 * 0.984).verdict, Verdict::Missed);
            assert_eq!(of(value)(7.0 * 1.011).verdict, Verdict::Missed);
        }
    }

    #[test]
    fn a_drive_that_ignores_the_order_of_ties_is_found_out() {
        let rows = |first: f64, last: f64| {
            [(Ties::FirstCome, 6.8, first), (Ties::LastCome, 7.0, last)].map(|(ties, value, ours)| {
                let point = Point { ties, ..Point::new(Kind::TwoStreams) };
                (
                    point,
                    (Expectation::Near { value, low: 6.8, high: 7.0 }, Measured { value: ours, ..Measured::default() }),
                )
            })
        };
        assert!(orders_too_alike(&rows(6.84, 7.01)).is_empty());
        for (first, last) in [(6.9, 6.9), (6.95, 7.0), (7.0, 6.8)] {
            let alike = orders_too_alike(&rows(first, last));
            assert_eq!(alike.len(), 1, "{first} {last}");
            assert!((alike[0].1 - 7.0 / 6.8).abs() < 1e-12);
        }
    }

    #[test]
    fn what_lies_inside_a_bracket_has_no_error() {
        let judged = |ours| judge(Expectation::Between(2.4, 2.5), ours, 0.3);
        assert_eq!((judged(2.45).error, judged(2.45).verdict), (None, Verdict::Met));
        assert_eq!(judged(2.4 * 0.998).verdict, Verdict::Met);
        assert_eq!(judged(2.5 * 1.004).verdict, Verdict::Missed);
    }

    #[test]
    fn a_point_for_which_theory_does_not_hold_is_no_miss() {
        let [far, near] = [128, 8192].map(|blocks| Point { blocks, ..Point::new(Kind::FastMerges) });
        let measured = Measured { value: 1.0, ..Measured::default() };
        let row = |point: Point| (point, (Expectation::Value(0.5), measured));
        let table = Table { name: "", about: "", first: "", points: vec![far] };
        let mut page = Page { text: String::new(), misses: Vec::new() };
        page.table(&table, &[row(far)], &mut Totals::default());
        assert!(page.misses.is_empty(), "{:?}", page.misses);
        assert!(page.text.contains("| not judged |") && page.text.contains("is of first order"), "{}", page.text);
        assert!(!page.text.contains("Greatest error"), "{}", page.text);
        page.table(&table, &[row(far), row(near)], &mut Totals::default());
        assert_eq!(page.misses.len(), 1);
    }
}
