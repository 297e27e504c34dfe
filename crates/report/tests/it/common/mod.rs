//! Fixture data: figures invented for tests, in the shapes that the bench produces. They describe no real drive.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;
use ssdlab_bench::{Axis, Chart, ClaimKind, Mark, Metric, Outcome, Series, SlowIo, TimeShare, Verdict};
use ssdlab_core::Rng;
use ssdlab_report::{ClaimRow, ClaimState, DeviceFacts, Review, ReviewedDevice, SpecRow};

/// A folder for one test, empty at the start.
pub fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn series(name: &str, points: Vec<[f64; 2]>) -> Series {
    Series { name: name.into(), points }
}

fn chart(id: &str, title: &str, mark: Mark, x: Axis, y: Axis, series: Vec<Series>) -> Chart {
    let overlay_drives = mark != Mark::Scatter;
    Chart { id: id.into(), title: title.into(), caption: String::new(), mark, x, y, series, overlay_drives }
}

fn outcome(test: &str, device: &str, title: &str, method: &str) -> Outcome {
    Outcome {
        test: test.into(),
        variant: String::new(),
        device: device.into(),
        title: title.into(),
        method: method.into(),
        params: BTreeMap::new(),
        metrics: BTreeMap::new(),
        charts: vec![],
        tables: vec![],
        time_shares: vec![],
        slowest: vec![],
        verdict: None,
        notes: vec![],
        shortened: None,
        shortened_params: Vec::new(),
        set_params: Vec::new(),
        small_by: None,
        not_steady: vec![],
        slowest_seen: None,
    }
}

fn metrics(of: &[(&str, f64, &str)]) -> BTreeMap<String, Metric> {
    of.iter().map(|&(k, v, u)| (k.to_owned(), Metric::new(v, u))).collect()
}

fn causes(of: &[(&str, f64)]) -> BTreeMap<String, f64> {
    of.iter().map(|&(k, v)| (k.to_owned(), v)).collect()
}

/// What makes one fixture drive differ from the other.
struct Drive {
    name: &'static str,
    speed: f64,
    steady_iops: f64,
    stalls: bool,
    trims: bool,
}

fn consistency(drive: &Drive) -> Outcome {
    let mut rng = Rng::new(1).stream(drive.name);
    let points: Vec<[f64; 2]> = (0..2000)
        .map(|t| {
            let settled = 1.0 - (-f64::from(t) / 130.0).exp_();
            let level = 52_000.0 * drive.speed * (1.0 - settled) + drive.steady_iops * settled;
            let dip = rng.chance(1, 6) && t > 90;
            let noise = 1.0 + 0.18 * (rng.unit() - 0.5);
            let iops = level * noise * if dip { 0.08 + 0.5 * rng.unit() } else { 1.0 };
            [f64::from(t), if drive.stalls && t > 150 && rng.chance(1, 25) { 0.0 } else { iops.round() }]
        })
        .collect();
    let tail: Vec<[f64; 2]> = points[1400..].to_vec();
    let mut o = outcome(
        "consistency",
        drive.name,
        "Performance consistency",
        "The drive is filled once with sequential data, then written with 4 KiB random writes over all of its \
         addresses at a queue depth of 32 for 2000 seconds. Each dot is one second.",
    );
    o.params = BTreeMap::from([
        ("block_size".into(), json!(4096)),
        ("queue_depth".into(), json!(32)),
        ("seconds".into(), json!(2000)),
    ]);
    let zeros = points.iter().filter(|p| p[1] == 0.0).count() as f64;
    o.metrics = metrics(&[
        ("iops", 8_412.3 * drive.speed, "IOPS"),
        ("iops_mean_tail", drive.steady_iops * 0.93, "IOPS"),
        ("iops_stddev_tail", drive.steady_iops * 0.31, "IOPS"),
        ("iops_min", if drive.stalls { 0.0 } else { 412.0 }, "IOPS"),
        ("zero_iops_seconds", zeros, "count"),
        ("bandwidth", 34.4 * drive.speed, "MB/s"),
        ("latency_mean", 3_801.0, "us"),
        ("latency_p99", 21_400.0, "us"),
        ("latency_p99_9", 88_100.0, "us"),
        ("latency_max", 1_204_000.0, "us"),
        ("waf", 5.8123, "ratio"),
    ]);
    let time = Axis::linear("Time", "s");
    let run = |points: &[[f64; 2]]| vec![series("4 KiB random write", points.to_vec())];
    o.charts = vec![
        Chart {
            caption: "Dense bands are levels at which the drive works most of the time; dots below them are pauses."
                .into(),
            ..chart(
                "run-log",
                "IOPS, second by second",
                Mark::Scatter,
                time.clone(),
                Axis::log("IOPS", ""),
                run(&points),
            )
        },
        chart(
            "run-linear",
            "IOPS, second by second, linear",
            Mark::Scatter,
            time.clone(),
            Axis { max: Some(40_000.0), ..Axis::linear("IOPS", "IOPS") },
            run(&points),
        ),
        chart(
            "steady-linear",
            "Steady state, from 1400 s",
            Mark::Scatter,
            time,
            Axis::linear("IOPS", "IOPS"),
            run(&tail),
        ),
    ];
    o.time_shares = vec![TimeShare {
        label: "4 KiB random write, QD32".into(),
        ios: 16_824_600,
        latency_mean_us: 3_801.0,
        mean_us: causes(&[
            ("link", 11.0),
            ("queue", 402.0),
            ("controller", 18.0),
            ("buffer_full", 905.0 / drive.speed),
            ("program", 311.0),
            ("erase", 95.0),
            ("garbage_collection", 1_820.0),
            ("metadata", 77.0),
        ]),
    }];
    o.slowest = (0..4)
        .map(|i| SlowIo {
            run: None,
            at_s: 1_204.118 + 31.7 * f64::from(i),
            op: "write".into(),
            offset_bytes: 52_428_800 * u64::from(1 + i as u32),
            length_bytes: 4096,
            latency_us: 1_204_000.0 - 100_000.0 * f64::from(i),
            causes_us: causes(&[("garbage_collection", 1_100_000.0), ("erase", 4_000.0)]),
            sentence: "1.1 s behind garbage collection: the spare area was used up and the firmware stopped the host \
                       until two blocks were free; 4 ms of it were erases."
                .into(),
        })
        .collect();
    o.notes = vec!["Steady state was reached after 640 s by the rule of five rounds.".into()];
    o
}

/// `exp` by `libm`, as in the program itself.
trait Exp {
    fn exp_(self) -> f64;
}

impl Exp for f64 {
    fn exp_(self) -> f64 {
        let terms = 60;
        let eighth = (1..terms).rev().fold(1.0, |acc, n| 1.0 + self / 8.0 / f64::from(n) * acc);
        let quarter = eighth * eighth;
        let half = quarter * quarter;
        half * half
    }
}

fn queue_depths(drive: &Drive) -> Outcome {
    let mut o = outcome(
        "qd-scaling",
        drive.name,
        "Queue depth scaling",
        "4 KiB random reads and writes at queue depths from 1 to 32, three minutes each.",
    );
    let curve = |top: f64, knee: f64| -> Vec<[f64; 2]> {
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].into_iter().map(|q| [q, (top * q / (q + knee)).round()]).collect()
    };
    let qd = Axis::log("Queue depth", "");
    o.charts = vec![chart(
        "iops-by-queue-depth",
        "IOPS by queue depth",
        Mark::Line,
        qd,
        Axis::linear("IOPS", "IOPS"),
        vec![series("read", curve(95_000.0 * drive.speed, 7.0)), series("write", curve(82_000.0 * drive.speed, 1.2))],
    )];
    o.metrics = metrics(&[("iops_qd1", 11_875.0, "IOPS"), ("iops_qd32", 81_202.0 * drive.speed, "IOPS")]);
    let share = |label: &str, us: &[(&str, f64)]| TimeShare {
        label: label.into(),
        ios: 1_000_000,
        latency_mean_us: us.iter().map(|c| c.1).sum(),
        mean_us: causes(us),
    };
    o.time_shares = vec![
        share("4 KiB random read, QD1", &[("link", 9.0), ("controller", 12.0), ("bus", 14.0), ("read", 55.0)]),
        share(
            "4 KiB random read, QD32",
            &[
                ("link", 12.0),
                ("queue", 210.0),
                ("controller", 12.0),
                ("bus", 61.0),
                ("read", 98.0),
                ("ecc_retry", 3.0),
            ],
        ),
    ];
    o
}

fn atto(drive: &Drive) -> Outcome {
    let mut o = outcome("atto", drive.name, "ATTO", "Sequential transfers from 0.5 KiB to 64 MiB, queue depth 4.");
    let sizes = ["0.5 KiB", "1 KiB", "2 KiB", "4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "1 MiB"];
    let x = Axis { categories: sizes.map(String::from).into(), ..Axis::linear("Transfer size", "") };
    let rates = |top: f64| -> Vec<[f64; 2]> {
        (0..sizes.len()).map(|i| [i as f64, top * (i as f64 + 1.0) / (i as f64 + 3.0)]).collect()
    };
    o.charts = vec![chart(
        "rate-by-size",
        "Rate by transfer size",
        Mark::Bars,
        x,
        Axis::linear("Rate", "MB/s"),
        vec![series("read", rates(540.0 * drive.speed)), series("write", rates(330.0 * drive.speed))],
    )];
    o.metrics = metrics(&[("bandwidth", 421.7 * drive.speed, "MB/s")]);
    o
}

fn trim(drive: &Drive) -> Outcome {
    let mut o = outcome(
        "trim",
        drive.name,
        "TRIM",
        "A sequential sweep over the clean drive, after an hour of random writes, and again after TRIM.",
    );
    let mut rng = Rng::new(2).stream(drive.name);
    let mut sweep = |name: &str, level: f64| {
        let points = (0..256).map(|i| [f64::from(i) * 0.5, level * (0.97 + 0.06 * rng.unit())]).collect();
        series(name, points)
    };
    o.charts = vec![Chart {
        overlay_drives: false,
        ..chart(
            "rate-by-position",
            "Write rate by position",
            Mark::Line,
            Axis::linear("Position", "GB"),
            Axis::linear("Rate", "MB/s"),
            vec![
                sweep("clean", 330.0 * drive.speed),
                sweep("after torture", 92.0),
                sweep("after TRIM", if drive.trims { 328.0 * drive.speed } else { 95.0 }),
            ],
        )
    }];
    o.metrics = metrics(&[("recovered", if drive.trims { 99.4 } else { 28.8 }, "%")]);
    o.verdict = Some(Verdict {
        pass: Some(drive.trims),
        sentence: if drive.trims {
            "TRIM restores the clean curve: 99.4 % of the rate of the clean drive.".into()
        } else {
            "TRIM does not restore the clean curve: 28.8 % of the rate of the clean drive.".into()
        },
    });
    o.shortened = Some("10 minutes of random writes instead of 60.".into());
    o
}

fn random_write(drive: &Drive) -> Outcome {
    let mut o = outcome(
        "random-write",
        drive.name,
        "4 KiB random write",
        "4 KiB random writes over 8 GB, three minutes at each queue depth.",
    );
    let x = Axis { categories: vec!["QD3".into(), "QD32".into()], ..Axis::linear("", "") };
    o.charts = vec![chart(
        "iops",
        "4 KiB random write",
        Mark::Bars,
        x,
        Axis::linear("Rate", "IOPS"),
        vec![series("IOPS", vec![[0.0, 58_123.0 * drive.speed], [1.0, 75_900.0 * drive.speed]])],
    )];
    o.metrics =
        metrics(&[("iops", 75_900.0 * drive.speed, "IOPS"), ("latency_p99", 800.0, "us"), ("waf", 1.02, "ratio")]);
    o
}

fn device(name: &str, description: &str) -> ReviewedDevice {
    let row = |section: &str, key: &str, value: &str, unit: &str, source: &str, estimate: bool| SpecRow {
        section: section.into(),
        key: key.into(),
        value: value.into(),
        unit: unit.into(),
        source: source.into(),
        estimate,
    };
    ReviewedDevice {
        facts: DeviceFacts {
            name: name.into(),
            kind: "ssd".into(),
            description: description.into(),
            capacity_bytes: 128_035_676_160,
            queue_depth: 32,
            supports_trim: true,
            over_provisioning_percent: Some(7.37),
            ..DeviceFacts::default()
        },
        specification: vec![
            row("Controller", "channels", "4", "", "data sheet of the controller", false),
            row("Controller", "host link", "6", "Gb/s", "data sheet of the controller", false),
            row("Controller", "time per command", "9.5", "us", "fitted to the QD1 read rate", true),
            row("Flash", "dies", "16", "", "photograph of the board", false),
            row("Flash", "array read time, lower page", "40", "us", "maker's data sheet, table 7", false),
            row("Flash", "program time, mean", "1300", "us", "scaled from the 24 nm part", true),
            row("Firmware", "garbage collection", "greedy, paced", "", "behaviour in the published scatter", true),
        ],
        traits: vec!["Fixture controller".into(), "16 dies".into()],
        superblock_bytes: Some(64 << 20),
        ..ReviewedDevice::default()
    }
}

fn claim(id: &str, device: &str, quantity: &str, published: &str, value: f64, unit: &str, ours: f64) -> ClaimRow {
    let met = (ours / value - 1.0).abs() <= 0.1;
    ClaimRow {
        id: id.into(),
        kind: ClaimKind::Measured,
        repeated: false,
        device: device.into(),
        quantity: quantity.into(),
        published: published.into(),
        published_says_unit: false,
        published_value: Some(value),
        unit: unit.into(),
        ours: Some(ours),
        ours_text: String::new(),
        tolerance: "±10 %".into(),
        margin: if met { "8 % to spare".into() } else { "9 % beyond".into() },
        state: if met { ClaimState::Met } else { ClaimState::Missed },
        source: "vendor's specification".into(),
        reason: if met { String::new() } else { "The program time of this die is an estimate.".into() },
        headline: true,
    }
}

pub const FIRST: &str = "fixture-alpha-128gb";
pub const SECOND: &str = "fixture-beta-128gb";
/// As people write them.
pub const NAMES: [&str; 2] = ["Fixture Alpha 128 GB", "Fixture Beta 128 GB"];

/// Two drives, five tests, every kind of chart, claims in every state.
pub fn two_drives() -> Review {
    let drives = [
        Drive { name: FIRST, speed: 1.0, steady_iops: 11_000.0, stalls: false, trims: true },
        Drive { name: SECOND, speed: 0.81, steady_iops: 4_800.0, stalls: true, trims: false },
    ];
    let tests: [fn(&Drive) -> Outcome; 5] = [consistency, queue_depths, random_write, atto, trim];
    let mut claims = vec![
        claim("X001", FIRST, "sequential read", "540", 540.0, "MB/s", 531.2),
        claim("X002", FIRST, "4 KiB random write", "76K", 76_000.0, "IOPS", 75_900.0),
        claim("X003", SECOND, "4 KiB random write", "74K", 74_000.0, "IOPS", 61_479.0),
    ];
    claims.push(ClaimRow {
        state: ClaimState::Qualitative,
        published: "drops to zero".into(),
        published_value: None,
        ours: None,
        ours_text: "71 seconds at zero".into(),
        tolerance: String::new(),
        headline: false,
        reason: "A behaviour, not a figure.".into(),
        unit: "-".into(),
        ..claim("X004", SECOND, "sustained random write", "0", 1.0, "IOPS", 0.0)
    });
    claims.push(ClaimRow {
        state: ClaimState::NotRun,
        ours: None,
        headline: false,
        reason: "The power test is not part of this review.".into(),
        ..claim("X005", FIRST, "power in Slumber", "30", 30.0, "mW", 30.0)
    });
    Review {
        version: "0.1.0".into(),
        seed: 1,
        quick: true,
        devices: vec![
            device(FIRST, "Fixture controller, 16 dies of fixture MLC, 128 GB"),
            device(SECOND, "Fixture controller with older firmware, 8 dies of fixture MLC, 128 GB"),
        ],
        outcomes: tests.iter().flat_map(|t| drives.iter().map(t)).collect(),
        left_out: Vec::new(),
        claims,
    }
}

/// The first drive of [`two_drives`] alone.
pub fn one_drive() -> Review {
    let mut review = two_drives();
    review.devices.truncate(1);
    review.outcomes.retain(|o| o.device == FIRST);
    review.claims.retain(|c| c.device == FIRST);
    review
}
