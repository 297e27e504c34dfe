use std::collections::BTreeMap;

use ssdlab_bench::{Axis, Chart, Mark, Metric, Outcome, Series, SlowIo, Verdict};

use super::super::tally::Tally;
use super::*;

fn claim(text: &str) -> Vec<Claim> {
    #[derive(serde::Deserialize)]
    struct File {
        claim: Vec<Claim>,
    }
    let head = "[[claim]]\nid = \"X1\"\nquantity = \"q\"\npublished = \"p\"\nsource = \"s\"\n";
    toml::from_str::<File>(&format!("{head}{text}")).unwrap().claim
}

fn outcome(device: &str, params: &[(&str, i64)], metrics: &[(&str, f64, &str)]) -> Outcome {
    Outcome {
        test: "t".into(),
        device: device.into(),
        params: params.iter().map(|&(k, v)| (k.to_owned(), v.into())).collect(),
        metrics: metrics.iter().map(|&(k, v, u)| (k.to_owned(), Metric::new(v, u))).collect(),
        ..Outcome::default()
    }
}

const VALUE: &str = "devices = [\"d\"]\ncheck.value = { test = \"t\", params = { queue_depth = 32 }, metric = \"iops\", value = 100.0, unit = \"IOPS\", tolerance_percent = 10.0 }";

#[test]
fn a_value_is_met_up_to_its_tolerance_and_missed_beyond() {
    for (ours, state) in
        [(90.0, ClaimState::Met), (110.0, ClaimState::Met), (89.9, ClaimState::Missed), (110.1, ClaimState::Missed)]
    {
        let outcomes = [outcome("d", &[("queue_depth", 32)], &[("iops", ours, "IOPS")])];
        let rows = evaluate(&claim(VALUE), &["d"], &outcomes);
        assert_eq!(rows[0].state, state, "{ours}");
        assert_eq!(rows[0].ours, Some(ours));
        assert_eq!(rows[0].reason.is_empty(), state == ClaimState::Met);
    }
}

#[test]
fn an_interval_meets_what_it_meets_at_every_choice() {
    let (depths, pauses) = ("how sizes go with depths", "how long its pauses were in playback");
    for (ends, depends_on) in [
        ([95.0, 105.0, 100.0], String::new()),
        ([80.0, 105.0, 100.0], depths.to_owned()),
        ([80.0, 120.0, 100.0], depths.to_owned()),
        ([95.0, 105.0, 120.0], pauses.to_owned()),
        ([95.0, 120.0, 120.0], format!("{depths} and on {pauses}")),
    ] {
        let metrics = [
            ("iops", 100.0, "IOPS"),
            ("iops_small_deep", ends[0], "IOPS"),
            ("iops_large_deep", ends[1], "IOPS"),
            ("iops_idle_kept", ends[2], "IOPS"),
        ];
        let outcomes = [outcome("d", &[("queue_depth", 32)], &metrics)];
        let rows = evaluate(&claim(VALUE), &["d"], &outcomes);
        let state = if depends_on.is_empty() { ClaimState::Met } else { ClaimState::Inconclusive };
        assert_eq!(rows[0].state, state, "{:?}", rows[0]);
        assert!(
            depends_on.is_empty() || rows[0].reason.ends_with(&format!("it depends on {depends_on}")),
            "{:?}",
            rows[0]
        );
        assert!(rows[0].ours_text.contains("small deep: ") && rows[0].ours_text.contains("large deep: "));
    }
    // An order is one of the same choice on both sides: the intervals may overlap.
    let order = "check.order = { higher = { device = \"a\", test = \"t\", metric = \"iops\" }, lower = { device = \"b\", \
                 test = \"t\", metric = \"iops\" }, ratio_above = 1.0 }";
    let of = |device: &str, v: [f64; 3]| {
        outcome(device, &[], &[("iops", v[0], "x"), ("iops_small_deep", v[1], "x"), ("iops_large_deep", v[2], "x")])
    };
    let state = |a: [f64; 3], b: [f64; 3]| evaluate(&claim(order), &["a", "b"], &[of("a", a), of("b", b)])[0].state;
    assert_eq!(state([10.0, 5.0, 20.0], [9.0, 4.0, 19.0]), ClaimState::Met);
    assert_eq!(state([10.0, 5.0, 20.0], [9.0, 6.0, 19.0]), ClaimState::Inconclusive);
    assert_eq!(state([10.0, 5.0, 20.0], [11.0, 6.0, 21.0]), ClaimState::Missed);
    // A side without an interval is the same at every choice.
    let one_sided = |a: [f64; 3], b: f64| {
        evaluate(&claim(order), &["a", "b"], &[of("a", a), outcome("b", &[], &[("iops", b, "x")])]).remove(0)
    };
    assert_eq!(one_sided([10.0, 5.0, 20.0], 4.0).state, ClaimState::Met);
    assert_eq!(one_sided([10.0, 5.0, 20.0], 21.0).state, ClaimState::Missed);
    let open = one_sided([10.0, 5.0, 20.0], 9.0);
    assert_eq!(open.state, ClaimState::Inconclusive, "{open:?}");
    assert_eq!(open.ours_text, "10 x against 9 x; small deep: 5 x against 9 x; large deep: 20 x against 9 x");
}

#[test]
fn another_drive_depth_metric_or_unit_does_not_count() {
    for (device, depth, metric, unit) in [
        ("e", 32, "iops", "IOPS"),
        ("d", 3, "iops", "IOPS"),
        ("d", 32, "bandwidth", "IOPS"),
        ("d", 32, "iops", "KIOPS"),
    ] {
        let outcomes = [outcome(device, &[("queue_depth", depth)], &[(metric, 100.0, unit)])];
        let rows = evaluate(&claim(VALUE), &["d"], &outcomes);
        // Nothing has run on `d`, and the catalog does not know it.
        let want = if device == "e" { ClaimState::NotSimulated } else { ClaimState::NotRun };
        assert_eq!(rows[0].state, want, "{device} {depth} {metric} {unit}");
        assert!(!rows[0].reason.is_empty());
    }
    assert!(evaluate(&claim(VALUE), &["e"], &[]).is_empty(), "no row for drives that it does not speak of");
}

#[test]
fn a_range_includes_its_bounds() {
    let claims =
        claim("devices = [\"d\"]\ncheck.range = { test = \"t\", metric = \"zero\", unit = \"s\", at_most = 0.0 }");
    for (ours, state) in [(0.0, ClaimState::Met), (1.0, ClaimState::Missed)] {
        let rows = evaluate(&claims, &["d"], &[outcome("d", &[], &[("zero", ours, "s")])]);
        assert_eq!(rows[0].state, state);
    }
}

#[test]
fn an_order_needs_both_drives_and_more_than_the_ratio() {
    let claims = claim(
        "check.order = { higher = { device = \"a\", test = \"t\", metric = \"m\" }, lower = { device = \"b\", test = \"t\", metric = \"m\" }, ratio_above = 2.0 }",
    );
    let with = |a: f64, b: f64| {
        let outcomes = [outcome("a", &[], &[("m", a, "x")]), outcome("b", &[], &[("m", b, "x")])];
        evaluate(&claims, &["a", "b"], &outcomes)[0].state
    };
    assert_eq!(with(2.1, 1.0), ClaimState::Met);
    assert_eq!(with(2.0, 1.0), ClaimState::Missed);
    assert_eq!(with(0.0, 1.0), ClaimState::Missed);
    let alone = evaluate(&claims, &["a"], &[outcome("a", &[], &[("m", 1.0, "x")])]);
    assert_eq!((alone[0].state, alone[0].reason.as_str()), (ClaimState::NotSimulated, "b is not in the catalog"));
    assert!(super::super::needed(&claims, &["a"]).is_empty());
    assert_eq!(super::super::needed(&claims, &["a", "b"]).len(), 2);
}

#[test]
fn the_share_of_points_within_a_band_is_compared() {
    let claims = claim(
        "check.order = { higher = { device = \"a\", test = \"t\", band = { chart = \"c\", from = 3.0, to = 6.0 } }, lower = { device = \"b\", test = \"t\", band = { chart = \"c\", from = 3.0, to = 6.0 } }, ratio_above = 1.0 }",
    );
    let with_points = |device: &str, ys: &[f64]| {
        let mut o = outcome(device, &[], &[]);
        o.charts.push(Chart {
            id: "c".into(),
            title: String::new(),
            caption: String::new(),
            mark: Mark::Scatter,
            x: Axis::linear("time", "s"),
            y: Axis::linear("rate", "IOPS"),
            series: vec![Series { name: String::new(), points: ys.iter().map(|&y| [0.0, y]).collect() }],
            overlay_drives: false,
        });
        o
    };
    let rows = evaluate(
        &claims,
        &["a", "b"],
        &[with_points("a", &[3.0, 6.0, 9.0, 1.0]), with_points("b", &[5.0, 0.0, 0.0, 0.0])],
    );
    assert_eq!(rows[0].ours_text, "50 % against 25 %");
    assert_eq!(rows[0].state, ClaimState::Met);
}

#[test]
fn a_verdict_and_the_main_cause_of_slow_ios_are_judged() {
    let mut o = outcome("d", &[], &[]);
    o.verdict = Some(Verdict { pass: Some(false), sentence: "it did not come back".into() });
    let slow = |gc: f64, bus: f64| SlowIo {
        run: None,
        at_s: 0.0,
        op: "write".into(),
        offset_bytes: 0,
        length_bytes: 4096,
        latency_us: gc + bus,
        causes_us: BTreeMap::from([("garbage_collection".to_owned(), gc), ("bus".to_owned(), bus)]),
        sentence: String::new(),
    };
    o.slowest = vec![slow(9.0, 1.0), slow(8.0, 1.0), slow(1.0, 2.0)];
    let rows = evaluate(
        &claim("devices = [\"d\"]\ncheck.verdict = { test = \"t\", pass = true }"),
        &["d"],
        std::slice::from_ref(&o),
    );
    assert_eq!((rows[0].state, rows[0].reason.as_str()), (ClaimState::Missed, "it did not come back"));
    let claims = claim("devices = [\"d\"]\ncheck.main-cause = { test = \"t\", causes = [\"garbage_collection\"] }");
    let rows = evaluate(&claims, &["d"], std::slice::from_ref(&o));
    assert_eq!((rows[0].state, rows[0].ours_text.as_str()), (ClaimState::Met, "2 of 3"));
    o.slowest.push(slow(1.0, 2.0));
    assert_eq!(evaluate(&claims, &["d"], std::slice::from_ref(&o))[0].state, ClaimState::Missed, "half is not most");
    // Of equal causes the first in report order is the main one, as in the rest of a report.
    o.slowest = vec![slow(2.0, 2.0)];
    assert_eq!(evaluate(&claims, &["d"], std::slice::from_ref(&o))[0].state, ClaimState::Missed);
    let bus = claim("devices = [\"d\"]\ncheck.main-cause = { test = \"t\", causes = [\"bus\"] }");
    assert_eq!(evaluate(&bus, &["d"], &[o])[0].state, ClaimState::Met);
}

#[test]
fn a_method_is_judged_by_the_parameters_of_the_run() {
    let claims =
        claim("devices = [\"d\"]\ncheck.method = { test = \"t\", select = { depth = 3 }, params = { seconds = 180 } }");
    let run = |seconds| [outcome("d", &[("depth", 3), ("seconds", seconds)], &[])];
    assert_eq!(evaluate(&claims, &["d"], &run(180))[0].state, ClaimState::Met);
    let rows = evaluate(&claims, &["d"], &run(18));
    assert_eq!(rows[0].state, ClaimState::Missed);
    assert_eq!(rows[0].reason, "seconds should be 180");
}

#[test]
fn a_method_with_a_unit_is_read_as_the_test_reads_it() {
    let state = |size: &str| {
        let text = format!(
            "devices = [\"d\"]\ncheck.method = {{ test = \"random-read\", params = {{ block_size = \"{size}\" }} }}"
        );
        evaluate(&claim(&text), &["d"], &[run_of(&[], false, 1.0)]).remove(0).state
    };
    assert_eq!((state("4KiB"), state("8KiB")), (ClaimState::Met, ClaimState::Missed));
    // What the test would not take can have been published, and is not what it has.
    assert_eq!(state("4 pages"), ClaimState::Missed);
}

#[test]
fn a_list_of_values_selects_a_run_as_the_command_line_would() {
    let claims = claim(
        "devices = [\"d\"]\ncheck.range = { test = \"t\", params = { idle = [0, 60] }, metric = \"m\", unit = \"x\", at_least = 1.0 }",
    );
    let needed = super::super::needed(&claims, &["d"]);
    assert_eq!(needed[0].settings["idle"], "0,60");
    let mut o = outcome("d", &[], &[("m", 1.0, "x")]);
    o.params.insert("idle".into(), vec![0, 60].into());
    assert_eq!(evaluate(&claims, &["d"], std::slice::from_ref(&o))[0].state, ClaimState::Met);
    o.params.insert("idle".into(), vec![0].into());
    assert_eq!(evaluate(&claims, &["d"], &[o])[0].state, ClaimState::NotRun);
}

#[test]
fn a_shortened_run_neither_meets_nor_misses() {
    for iops in [100.0, 10.0] {
        let mut o = outcome("d", &[("queue_depth", 32)], &[("iops", iops, "IOPS")]);
        o.shortened = Some("18 s.".into());
        let row = evaluate(&claim(VALUE), &["d"], &[o]).remove(0);
        assert_eq!((row.state, row.ours, row.margin_percent), (ClaimState::NotRun, Some(iops), None));
        assert_eq!(row.reason, "shortened run: 18 s.");
    }
    for metric in ["iops", "bandwidth"] {
        let reports =
            claim(&format!("devices = [\"d\"]\ncheck.reports = {{ test = \"t\", metrics = [\"{metric}\"] }}"));
        let mut o = outcome("d", &[], &[("iops", 1.0, "IOPS")]);
        o.shortened = Some("18 s.".into());
        assert_eq!(evaluate(&reports, &["d"], &[o]).remove(0).state, ClaimState::NotRun, "{metric}");
    }
}

#[test]
fn a_length_that_the_figure_gives_is_the_published_one() {
    let text = VALUE.replace("queue_depth = 32", "queue_depth = 32, seconds = 10");
    assert_ne!(text, VALUE);
    let run = |keys: &[&str], small_by| {
        let mut o = outcome("d", &[("queue_depth", 32), ("seconds", 10)], &[("iops", 100.0, "IOPS")]);
        o.shortened = Some("seconds is 10 s instead of 180 s.".into());
        o.shortened_params = keys.iter().map(|&key| key.to_owned()).collect();
        o.small_by = small_by;
        evaluate(&claim(&text), &["d"], &[o]).remove(0).state
    };
    assert_eq!(run(&["seconds"], None), ClaimState::Met);
    // Something else was shortened as well, or the drive was.
    assert_eq!(run(&["seconds", "requests"], None), ClaimState::NotRun);
    assert_eq!(run(&["seconds"], Some(8)), ClaimState::NotRun);
}

/// A run of `random-read` with these settings, and what it measured.
fn run_of(settings: &[(&str, &str)], quick: bool, iops: f64) -> Outcome {
    run_of_test("random-read", settings, quick, iops)
}

fn run_of_test(test: &str, settings: &[(&str, &str)], quick: bool, iops: f64) -> Outcome {
    let settings: Vec<(String, String)> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
    let params = find_test(test).unwrap().resolve(&settings, quick).unwrap();
    Outcome {
        test: test.into(),
        params: params.to_json(),
        shortened: params.shortened(),
        shortened_params: params.shortened_keys(),
        set_params: params.set_keys(),
        ..outcome("d", &[], &[("iops", iops, "IOPS")])
    }
}

#[test]
fn what_a_test_decides_by_default_is_another_run_once_somebody_has_set_it() {
    let claims = claim(&VALUE.replace("\"t\"", "\"consistency\"").replace("queue_depth = 32", ""));
    let state = |settings: &[(&str, &str)]| {
        let mut run = run_of_test("consistency", settings, false, 100.0);
        // As the test leaves them.
        run.params.insert("seconds".into(), 2000.into());
        run.params.entry("tail_from_seconds".into()).and_modify(|v| *v = 1400.into());
        evaluate(&claims, &["d"], &[run]).remove(0).state
    };
    assert_eq!((state(&[]), state(&[("seconds", "auto")])), (ClaimState::Met, ClaimState::Met));
    assert_eq!(state(&[("tail_from_seconds", "10")]), ClaimState::NotRun);
    assert_eq!(state(&[("seconds", "3000")]), ClaimState::NotRun);
}

#[test]
fn a_figure_is_judged_on_its_own_run_whatever_else_has_run() {
    let claims = claim(&VALUE.replace("\"t\"", "\"random-read\""));
    let judged = |outcomes: &[Outcome]| evaluate(&claims, &["d"], outcomes).remove(0);
    let plain = run_of(&[("queue_depth", "32")], false, 100.0);
    let larger = run_of(&[("block_size", "128KiB"), ("queue_depth", "32")], false, 1.0);
    let longer = run_of(&[("queue_depth", "32"), ("seconds", "999")], false, 2.0);
    let shorter = run_of(&[("queue_depth", "32"), ("seconds", "1")], false, 3.0);
    let met = judged(&[larger.clone(), longer, shorter.clone(), plain]);
    assert_eq!((met.state, met.ours), (ClaimState::Met, Some(100.0)));
    let alone = judged(&[larger]);
    assert_eq!((alone.state, alone.ours), (ClaimState::NotRun, None));
    assert_eq!(alone.reason, "`random-read` has not run on d with queue_depth=32");
    // A shortened run is laid beside it; rather one that `--quick` has shortened than one for another figure.
    let quick = run_of(&[("queue_depth", "32")], true, 4.0);
    let rows = [judged(std::slice::from_ref(&shorter)), judged(&[shorter, quick])];
    assert_eq!(rows.map(|row| (row.state, row.ours)), [3.0, 4.0].map(|ours| (ClaimState::NotRun, Some(ours))));
    // A run at full length comes before one for another figure with just the length that `--quick` has.
    let claims =
        claim(&VALUE.replace("\"t\"", "\"storagemark-boot\"").replace("queue_depth = 32", "settle_seconds = 20"));
    let of = |settings: &[(&str, &str)], iops| run_of_test("storagemark-boot", settings, false, iops);
    let as_quick = find_test("storagemark-boot").unwrap().resolve(&[], true).unwrap().integer("requests").to_string();
    let short = of(&[("requests", &as_quick), ("settle_seconds", "20")], 1.0);
    let full = of(&[("settle_seconds", "20")], 100.0);
    for outcomes in [[short.clone(), full.clone()], [full, short]] {
        let row = evaluate(&claims, &["d"], &outcomes).remove(0);
        assert_eq!((row.state, row.ours), (ClaimState::Met, Some(100.0)), "{row:?}");
    }
}

#[test]
fn what_a_test_decides_by_itself_may_be_anything() {
    let text = "devices = [\"d\"]\ncheck.value = { test = \"heavy\", metric = \"m\", value = 1.0, unit = \"x\", \
                tolerance_percent = 10.0 }";
    let mut run = Outcome { test: "heavy".into(), ..outcome("d", &[], &[("m", 1.0, "x")]) };
    run.params = find_test("heavy").unwrap().resolve(&[], false).unwrap().to_json();
    assert_eq!(run.params.insert("state".into(), "empty".into()), Some("by-form".into()));
    assert_eq!(evaluate(&claim(text), &["d"], &[run]).remove(0).state, ClaimState::Met);
}

#[test]
fn facts_are_compared_as_numbers() {
    let text =
        "devices = [\"600p-1tb\"]\ncheck.fact = { \"die.nominal_gib\" = 48.0, \"link.generation\" = \"pcie-3\" }";
    let row = evaluate(&claim(text), &["600p-1tb"], &[]).remove(0);
    assert_eq!((row.state, row.reason.as_str()), (ClaimState::Met, ""));
    let disk = claim("devices = [\"spinpoint-f1-1tb\"]\ncheck.fact = { capacity_bytes = 1 }");
    let row = evaluate(&disk, &["spinpoint-f1-1tb"], &[]).remove(0);
    assert_eq!(row.state, ClaimState::NotRun);
    assert_eq!(row.reason, "spinpoint-f1-1tb is no single SSD, and facts are of those");
}

#[test]
fn the_margin_is_how_far_ours_may_move() {
    let margin = |text: &str, ours: f64| {
        evaluate(&claim(text), &["d"], &[outcome("d", &[("queue_depth", 32)], &[("iops", ours, "IOPS")])]).remove(0)
    };
    // 110 is the end of what is allowed: 105 may rise by 5 of 105.
    let met = margin(VALUE, 105.0);
    assert!((met.margin_percent.unwrap() - 100.0 * 5.0 / 105.0).abs() < 1e-9);
    assert_eq!(met.margin(), "4.76 % to spare");
    let missed = margin(VALUE, 120.0);
    assert_eq!((missed.state, missed.margin().as_str()), (ClaimState::Missed, "8.33 % beyond"));
    let range = "devices = [\"d\"]\ncheck.range = { test = \"t\", metric = \"iops\", unit = \"IOPS\", at_least = 50.0, at_most = 90.0 }";
    assert_eq!(margin(range, 80.0).margin(), "12.50 % to spare", "the nearer bound counts");
    assert_eq!(margin(range, 40.0).margin(), "25 % beyond");
}

#[test]
fn a_ratio_to_zero_says_nothing() {
    let claims = claim(
        "check.order = { higher = { device = \"a\", test = \"t\", metric = \"m\" }, lower = { device = \"b\", test = \"t\", metric = \"m\" }, ratio_above = 2.0 }",
    );
    let with = |a: f64, b: f64| {
        let outcomes = [outcome("a", &[], &[("m", a, "x")]), outcome("b", &[], &[("m", b, "x")])];
        evaluate(&claims, &["a", "b"], &outcomes).remove(0)
    };
    assert_eq!(with(5.0, 0.0).state, ClaimState::Inconclusive);
    assert_eq!(with(0.0, 0.0).state, ClaimState::Inconclusive);
    let met = with(5.0, 2.0);
    assert_eq!((met.state, met.margin().as_str()), (ClaimState::Met, "20 % to spare"));
}

#[test]
fn only_what_a_run_could_have_missed_is_counted_as_measured() {
    let with = |extra: &str| claim(&format!("{extra}{VALUE}")).remove(0);
    assert_eq!(with("").kind(), ClaimKind::Measured);
    assert_eq!(with("calibrates = [\"controller.read_unit_us\"]\n").kind(), ClaimKind::Calibration);
    assert_eq!(with("counts_as = \"as-built\"\n").kind(), ClaimKind::AsBuilt);
    let reports = claim("devices = [\"d\"]\ncheck.reports = { test = \"t\", metrics = [\"iops\"] }").remove(0);
    assert_eq!(reports.kind(), ClaimKind::ByMethod);
    let o = [outcome("d", &[("queue_depth", 32)], &[("iops", 100.0, "IOPS")])];
    assert_eq!(evaluate(&[reports], &["d"], &o)[0].state, ClaimState::Met);

    let claims = [with(""), with("repeats = \"X1\"\n"), with("calibrates = [\"k\"]\n")];
    let rows = evaluate(&claims, &["d"], &o);
    assert!(rows.iter().all(|row| row.state == ClaimState::Met));
    assert_eq!(Tally::of(&rows, ClaimKind::Measured).met, 1, "a repeated figure counts once");
    assert_eq!(Tally::of(&rows, ClaimKind::Calibration).met, 1);
    // Without the one that they repeat, the first of them counts.
    let claims = [with("repeats = \"Y\"\n"), with("repeats = \"Y\"\n")];
    let rows = evaluate(&claims, &["d"], &o);
    assert_eq!(rows.iter().map(|row| row.repeats.as_deref()).collect::<Vec<_>>(), [None, Some("Y")]);
    assert_eq!(Tally::of(&rows, ClaimKind::Measured).met, 1);
}

#[test]
fn a_figure_that_repeats_one_that_was_not_judged_is_counted_in_its_place() {
    let named = |id: &str, extra: &str| Claim { id: id.to_owned(), ..claim(&format!("{extra}{VALUE}")).remove(0) };
    let mut longer = named("X", "");
    let Check::Value(check) = &mut longer.check else { unreachable!("it is a value") };
    check.params.insert("seconds".to_owned(), toml::Value::Integer(9));
    let repeats = |id: &str| named(id, "repeats = \"X\"\n");
    let rows = |outcomes: &[Outcome]| evaluate(&[longer.clone(), repeats("Y"), repeats("Z")], &["d"], outcomes);
    let repeated = |rows: &[ClaimRow]| rows.iter().map(|row| row.repeats.clone()).collect::<Vec<_>>();
    let said = |id: &str| Some(id.to_owned());
    // The run of the first has not been made, that of the others has.
    let judged = rows(&[outcome("d", &[("queue_depth", 32)], &[("iops", 100.0, "IOPS")])]);
    assert_eq!((judged[0].state, judged[1].state), (ClaimState::NotRun, ClaimState::Met));
    assert_eq!(repeated(&judged), [said("Y"), None, said("X")]);
    let tally = Tally::of(&judged, ClaimKind::Measured);
    assert_eq!((tally.met, tally.open), (1, 0));
    // Where none was judged, it is one figure that is open.
    let none = rows(&[outcome("d", &[("queue_depth", 1)], &[("iops", 100.0, "IOPS")])]);
    assert_eq!(repeated(&none), [None, said("X"), said("X")]);
    assert_eq!(Tally::of(&none, ClaimKind::Measured).open, 1);
}

#[test]
fn an_order_is_counted_in_place_of_a_ranking_of_more_drives_that_was_not_judged() {
    let ranking = "check.ranking = { test = \"t\", metric = \"m\", published = { a = 1.0, b = 2.0, c = 3.0 }, \
                   wrong_pairs_at_most_percent = 10 }";
    let order = "repeats = \"X1\"\ncheck.order = { higher = { device = \"b\", test = \"t\", metric = \"m\" }, \
                 lower = { device = \"a\", test = \"t\", metric = \"m\" }, ratio_above = 1.0 }";
    let claims = [claim(ranking).remove(0), Claim { id: "Y".to_owned(), ..claim(order).remove(0) }];
    assert!(claims[1].can_repeat(&claims[0]));
    let mut outcomes = vec![outcome("a", &[], &[("m", 1.0, "x")]), outcome("b", &[], &[("m", 2.0, "x")])];
    // The row of the ranking is of the best of its drives, which has not run.
    let rows = evaluate(&claims, &["a", "b", "c"], &outcomes);
    assert_eq!((rows[0].device.as_str(), rows[1].device.as_str()), ("c", "b"));
    assert!(!rows[0].state.is_judged());
    assert_eq!((rows[1].state, rows[1].repeats.clone()), (ClaimState::Met, None));
    assert_eq!(rows[0].repeats.as_deref(), Some("Y"));
    assert_eq!(Tally::of(&rows, ClaimKind::Measured).met, 1);
    outcomes.push(outcome("c", &[], &[("m", 3.0, "x")]));
    let rows = evaluate(&claims, &["a", "b", "c"], &outcomes);
    assert_eq!((rows[0].repeats.clone(), rows[1].repeats.as_deref()), (None, Some("X1")));
}

#[test]
fn a_ranking_in_which_no_two_drives_differ_says_nothing() {
    let ranking = claim(
        "check.ranking = { test = \"t\", metric = \"m\", published = { a = 1.0 }, wrong_pairs_at_most_percent = 10 }",
    );
    let rows = evaluate(&ranking, &["a"], &[outcome("a", &[], &[("m", 5.0, "x")])]);
    assert_eq!(rows[0].state, ClaimState::Inconclusive, "{:?}", rows[0]);
}

#[test]
fn a_calibration_that_is_missed_is_a_measured_miss_whether_that_was_known_or_not() {
    for known in ["", "known_miss = \"k\"\n"] {
        let claims = claim(&format!("calibrates = [\"k\"]\n{known}{VALUE}"));
        for (ours, kind) in [(100.0, ClaimKind::Calibration), (50.0, ClaimKind::Measured)] {
            let outcomes = [outcome("d", &[("queue_depth", 32)], &[("iops", ours, "IOPS")])];
            assert_eq!(evaluate(&claims, &["d"], &outcomes)[0].kind, kind, "{known}{ours}");
        }
        assert_eq!(evaluate(&claims, &["d"], &[])[0].kind, ClaimKind::Calibration);
    }
}

#[test]
fn a_miss_with_a_reason_stays_a_miss_and_tells_it() {
    let known = claim(&format!("known_miss = \"no such cache\"\n{VALUE}"));
    let judge = |claims: &[Claim], ours: f64| {
        let outcomes = [outcome("d", &[("queue_depth", 32)], &[("iops", ours, "IOPS")])];
        evaluate(claims, &["d"], &outcomes).remove(0)
    };
    let missed = judge(&known, 50.0);
    assert_eq!((missed.state, missed.known_miss), (ClaimState::Missed, true));
    assert_eq!(missed.reason, "off by -50.0 %; no such cache");
    assert!(!missed.is_unexplained_miss());

    let met = judge(&known, 100.0);
    assert_eq!((met.state, met.known_miss, met.reason.as_str()), (ClaimState::Met, false, ""));
    assert!(judge(&claim(VALUE), 50.0).is_unexplained_miss());
}

#[test]
fn a_ranking_allows_its_share_of_pairs_in_the_wrong_order() {
    let text = |percent: f64| {
        format!(
            "check.ranking = {{ test = \"t\", metric = \"index\", published = {{ a = 500.0, b = 400.0, c = 100.0, d = 100.0 }}, \
             wrong_pairs_at_most_percent = {percent:?} }}"
        )
    };
    let judged = |percent: f64, ours: [f64; 4]| {
        let outcomes: Vec<Outcome> =
            ["a", "b", "c", "d"].iter().zip(ours).map(|(d, v)| outcome(d, &[], &[("index", v, "points")])).collect();
        let mut rows = evaluate(&claim(&text(percent)), &["b"], &outcomes);
        assert_eq!(rows.len(), 1);
        rows.remove(0)
    };
    let right = judged(0.0, [9.0, 8.0, 1.0, 2.0]);
    assert_eq!((right.state, right.device.as_str()), (ClaimState::Met, "a"));
    // Of six pairs, c and d have no published order.
    assert_eq!(right.ours_text, "0 of 5 pairs in the wrong order");
    let swapped = judged(10.0, [8.0, 9.0, 1.0, 2.0]);
    assert_eq!((swapped.state, swapped.reason.as_str()), (ClaimState::Missed, "b before a"));
    assert_eq!(judged(20.0, [8.0, 9.0, 1.0, 2.0]).state, ClaimState::Met);
    // Equal figures are not in order.
    assert_eq!(judged(10.0, [9.0, 9.0, 1.0, 2.0]).state, ClaimState::Missed);
    // A drive of it that was not measured, and that the catalog does not have.
    let rows = evaluate(&claim(&text(10.0)), &["a"], &[outcome("a", &[], &[("index", 9.0, "points")])]);
    assert_eq!(rows[0].state, ClaimState::NotSimulated);
    let needed = super::super::needed(&claim(&text(10.0)), &["a", "b"]);
    assert!(needed.is_empty(), "without all of its drives there is nothing to rank: {needed:?}");
    assert_eq!(super::super::needed(&claim(&text(10.0)), &["a", "b", "c", "d"]).len(), 4);
}

#[test]
fn a_size_with_its_unit_is_the_number_of_bytes_that_the_test_had() {
    let value = VALUE.replace("\"t\"", "\"random-write\"").replace("queue_depth = 32", "span_bytes = \"64MB\"");
    let state = |span: i64| {
        let run = Outcome {
            test: "random-write".into(),
            ..outcome("d", &[("span_bytes", span)], &[("iops", 100.0, "IOPS")])
        };
        evaluate(&claim(&value), &["d"], &[run])[0].state
    };
    assert_eq!((state(64_000_000), state(64 << 20)), (ClaimState::Met, ClaimState::NotRun));
}

#[test]
fn every_figure_of_the_catalog_finds_its_own_run_among_all_others() {
    let of_run = |run: &crate::claims::NeededRun| {
        let settings: Vec<(String, String)> = run.settings.clone().into_iter().collect();
        let params = find_test(&run.test).unwrap().resolve(&settings, false).unwrap();
        Outcome {
            test: run.test.clone(),
            device: run.device.clone(),
            method: format!("{:?}", run.settings),
            params: params.to_json(),
            shortened_params: params.shortened_keys(),
            ..Outcome::default()
        }
    };
    let claims = crate::claims::all();
    let outcomes: Vec<Outcome> = claims.iter().flat_map(Claim::runs).map(|run| of_run(&run)).collect();
    for claim in &claims {
        let sides = match &claim.check {
            Check::Value(c) => vec![&c.params],
            Check::Range(c) => vec![&c.params],
            Check::Verdict(c) => vec![&c.params],
            Check::MainCause(c) => vec![&c.params],
            Check::Reports(c) => vec![&c.params],
            Check::Ranking(c) => vec![&c.params],
            Check::Method(c) => vec![&c.select],
            Check::Order(c) => vec![&c.higher.params, &c.lower.params],
            Check::Fact(_) | Check::NotSimulated(_) => Vec::new(),
        };
        for run in claim.runs() {
            let asked = |params: &&&Values| {
                params.iter().map(|(k, v)| (k.clone(), crate::claims::setting(v))).eq(run.settings.clone())
            };
            let params = sides.iter().find(asked).unwrap();
            let found = find(&outcomes, &run.device, &run.test, params).unwrap_or_else(|e| panic!("{}: {e}", claim.id));
            assert_eq!(found.method, format!("{:?}", run.settings), "{}", claim.id);
        }
    }
}
