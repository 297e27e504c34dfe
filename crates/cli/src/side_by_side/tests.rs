//! Pairs of results that nobody should draw a wrong conclusion from.

use ssdlab_bench::fio_run;
use ssdlab_bench::replay::TRACE_DIGEST;

use super::*;
use crate::args::CompareArgs;
use crate::commands::compare::text;

fn row(test: &str, more: Value) -> ResultRow {
    let figure = json!({ "value": 5.0, "unit": "IOPS" });
    let mut row = json!({ "test": test, "params": {}, "metrics": { "iops": figure } });
    row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(row).unwrap()
}

fn document(results: Vec<ResultRow>) -> ResultsDocument {
    let document = json!({ "schema": "ssdlab.results/1", "version": "0", "seed": 1, "quick": false, "results": [] });
    ResultsDocument { results, ..serde_json::from_value(document).unwrap() }
}

#[test]
fn runs_that_cannot_be_compared_as_they_are_say_so_and_tests_of_one_say_whose_they_are() {
    let unsettled = json!({ "small_by": 8, "not_steady": [{ "reason": "drifts", "why": "the mean falls" }] });
    let documents = [
        document(vec![row("consistency", unsettled), row("trim", json!({}))]),
        document(vec![row("consistency", json!({})), row("power", json!({}))]),
    ];
    let compared = compared(&documents).unwrap_or_else(|_| panic!("both have a test"));
    let states = ["the first ran on a drive 8 times smaller", "the first had not settled: the mean falls"];
    assert_eq!(compared.pairs[0].states, states);
    assert_eq!(compared.alone, [["trim"], ["power"]]);
}

#[test]
fn rates_of_seconds_and_of_parts_of_one_are_not_called_steadier_than_each_other() {
    let of = |iops: f64| {
        let iops = json!({ "value": iops, "unit": "IOPS" });
        let small = json!({ "small_by": 8, "metrics": { "iops": iops } });
        document(vec![row("consistency", small)])
    };
    let states = |a: f64, b: f64| {
        let compared = compared(&[of(a), of(b)]).unwrap_or_else(|e| panic!("{e}"));
        compared.pairs[0].states.clone()
    };
    assert_eq!(states(40.0, 120.0), ["the first has 1 a second of its rates, the second 8, and fewer vary less"]);
    assert!(states(120.0, 300.0).is_empty() && states(39.0, 40.0).is_empty());
}

/// What is said of one figure of two runs of a test on one specimen.
fn told(test: &str, metric: &str, unit: &str, values: [f64; 2]) -> Verdict {
    let documents = values.map(|value| {
        let figure = json!({ metric: { "value": value, "unit": unit } });
        about(document(vec![row(test, json!({ "metrics": figure }))]), &["a"])
    });
    compared(&documents).unwrap_or_else(|e| panic!("{e}")).pairs.remove(0).verdict
}

#[test]
fn the_better_one_is_told_where_a_figure_has_a_better_end() {
    let better = |metric: &str, unit: &str, values| told("consistency", metric, unit, values).is_better();
    assert_eq!(better("iops", "IOPS", [100.0, 103.0]), Some(true));
    assert_eq!(better("iops", "IOPS", [100.0, 97.0]), Some(false));
    assert_eq!(better("latency_p99", "us", [100.0, 80.0]), Some(true));
    assert_eq!(better("waf", "ratio", [2.0, 3.0]), Some(false));
    assert_eq!(better("zero_iops_seconds", "s", [0.0, 3.0]), Some(false));
    // Who does less in a given time draws less; a trace is the same work for both.
    let energy = |test: &str, figure: &str| told(test, figure, "J", [2.0, 1.0]).is_better();
    assert_eq!([energy("consistency", "energy"), energy("run", "energy")], [None, None]);
    assert_eq!([energy("heavy", "energy"), energy("heavy", "energy_full")], [Some(true), Some(true)]);
    assert_eq!(energy("replay", "energy"), Some(true));
    // Ends of specimens go by the figure whose ends they are.
    assert_eq!(better("iops_stddev_tail_highest", "IOPS", [100.0, 201.0]), Some(false));
    // A figure that is neither good nor bad, and one that is the same.
    assert_eq!(told("consistency", "iops_autocorrelation_max", "ratio", [0.1, 0.9]), Verdict::None);
    assert_eq!(told("consistency", "iops", "IOPS", [100.0, 100.0]), Verdict::None);
}

#[test]
fn a_difference_that_chance_can_make_tells_nothing() {
    let is_level = |metric: &str, unit: &str, values| matches!(told("consistency", metric, unit, values), Verdict::NotToldApart(why) if why.contains("chance"));
    assert!(is_level("iops", "IOPS", [100.0, 101.9]) && !is_level("iops", "IOPS", [100.0, 102.1]));
    assert!(is_level("latency_mean", "us", [100.0, 104.0]) && !is_level("latency_mean", "us", [100.0, 106.0]));
    assert!(is_level("latency_p99", "us", [100.0, 110.0]) && !is_level("latency_p99", "us", [100.0, 115.0]));
    // Per cent are compared by their difference, which may scatter around zero.
    for shortfall in [[0.0033, -0.0452], [0.0033, 0.0452], [-0.0033, 0.0452], [0.1, 0.5]] {
        assert!(is_level("trimmed_shortfall", "%", shortfall), "{shortfall:?}");
    }
    assert!(!is_level("trimmed_shortfall", "%", [-0.1, 5.0]));
}

/// One drive by two names: each is drawn by its own.
#[test]
fn specimens_of_their_own_are_told_apart_by_more_than_one_specimen_that_was_changed() {
    let of = |name: &str, identity: &str, drawn_as: &str, rate: f64| {
        let figure = json!({ "iops": { "value": rate, "unit": "IOPS" } });
        let mut document = about(document(vec![row("random-read", json!({ "metrics": figure }))]), &[name]);
        let facts = document.device.as_mut().unwrap();
        (facts.identity, facts.drawn_as) = (Some(identity.to_owned()), Some(vec![drawn_as.to_owned()]));
        document
    };
    let told = |documents: [ResultsDocument; 2]| {
        let json = super::document(&documents).unwrap_or_else(|e| panic!("{e}"));
        let compared = compared(&documents).unwrap_or_else(|e| panic!("{e}"));
        (
            json["differ_by_chance_alone"] == true,
            compared.pairs[0].verdict.is_better(),
            compared.pairs[0].remarks.clone(),
        )
    };
    let (chance, better, remarks) = told([of("a", "d", "a", 100.0), of("b", "d", "b", 200.0)]);
    assert_eq!((chance, better, remarks), (true, None, vec![]), "nothing but the names by which they are drawn");
    for (rate, expected) in [(104.0, None), (106.0, Some(true))] {
        let (chance, better, remarks) = told([of("a", "d", "a", 100.0), of("b", "e", "b", rate)]);
        assert_eq!((chance, better, remarks), (false, expected, vec![OTHER_DRAWS.to_owned()]));
        let one_specimen = told([of("a", "d", "a", 100.0), of("b", "e", "a", rate)]);
        assert_eq!(one_specimen, (false, Some(true), vec![]));
    }
}

#[test]
fn figures_whose_intervals_or_bands_overlap_are_not_told_apart() {
    let told = |test: &str, unit: &str, keys: [&str; 3], figures: [[f64; 3]; 2]| {
        let metric = |value: f64| json!({ "value": value, "unit": unit });
        let of = |values: [f64; 3]| -> Value {
            keys.into_iter().zip(values).map(|(key, value)| (key.to_owned(), metric(value))).collect()
        };
        let documents = figures.map(|values| document(vec![row(test, json!({ "metrics": of(values) }))]));
        let compared = compared(&documents).unwrap_or_else(|e| panic!("{e}"));
        let pairs = keys.map(|key| compared.pairs.iter().find(|pair| pair.metric == key));
        pairs.map(|pair| pair.and_then(|pair| pair.verdict.is_better()))
    };
    let life = ["life_at_error", "life_at_error_least", "life_at_error_most"];
    assert_eq!(told("endurance", "%", life, [[120.0, 100.0, 150.0], [140.0, 130.0, 160.0]]), [None; 3]);
    assert_eq!(told("endurance", "%", life, [[120.0, 100.0, 125.0], [140.0, 130.0, 160.0]]), [Some(true); 3]);
    let written = ["tb_until_error", "life_at_error_least", "life_at_error_most"];
    assert_eq!(told("endurance", "TB", written, [[12.0, 100.0, 150.0], [14.0, 130.0, 160.0]])[0], None);
    let band = ["iops", "iops_lowest", "iops_highest"];
    assert_eq!(told("consistency", "IOPS", band, [[100.0, 90.0, 110.0], [120.0, 110.0, 130.0]]), [None; 3]);
    assert_eq!(told("consistency", "IOPS", band, [[100.0, 90.0, 109.0], [120.0, 110.0, 130.0]])[0], Some(true));
}

#[test]
fn a_figure_of_consistency_says_which_part_of_the_run_it_is_of() {
    let figures = json!({ "waf": { "value": 2.0, "unit": "ratio" }, "waf_tail": { "value": 3.0, "unit": "ratio" } });
    let documents = || document(vec![row("consistency", json!({ "metrics": figures })), row("trim", json!({}))]);
    let compared = compared(&[documents(), documents()]).unwrap_or_else(|e| panic!("{e}"));
    let labels: Vec<&str> = compared.pairs.iter().map(|pair| pair.label.as_str()).collect();
    let of_part = ["Write amplification, whole run", "Write amplification, last part of the run"];
    assert_eq!(labels, [of_part[0], of_part[1], "IOPS"]);
}

#[test]
fn what_only_chance_sets_apart_is_said_to_be_chance() {
    let by = |seed: u64, params: Value| {
        let document = about(document(vec![row("consistency", json!({ "params": params }))]), &["a"]);
        ResultsDocument { seed, ..document }
    };
    let chance = |documents: [ResultsDocument; 2]| {
        let compared = compared(&documents).unwrap_or_else(|e| panic!("{e}"));
        compared.pairs.iter().all(|pair| pair.by_chance)
    };
    assert!(chance([by(1, json!({})), by(2, json!({}))]));
    assert!(!chance([by(1, json!({})), by(1, json!({}))]), "nothing differs");
    assert!(!chance([by(1, json!({})), by(2, json!({ "seconds": 9 }))]), "a parameter was set");
    let mut other = ResultsDocument { seed: 2, ..about(document(vec![row("consistency", json!({}))]), &["b"]) };
    other.device.as_mut().unwrap().identity = Some("e".to_owned());
    assert!(!chance([by(1, json!({})), other]), "two drives");
    let mut old = by(2, json!({}));
    old.device.as_mut().unwrap().identity = None;
    assert!(!chance([by(1, json!({})), old]), "an earlier program did not say which drive it was");
}

#[test]
fn what_was_changed_between_two_runs_is_not_chance() {
    let of = |seed: u64, test: &str, params: Value, drive: &str, begins_as: Option<&str>| {
        let mut document = about(document(vec![row(test, json!({ "params": params }))]), &["a"]);
        let facts = document.device.as_mut().unwrap();
        (facts.identity, facts.begins_as) = (Some(drive.to_owned()), begins_as.map(str::to_owned));
        ResultsDocument { seed, ..document }
    };
    let told = |documents: [ResultsDocument; 2]| {
        let document = super::document(&documents).unwrap_or_else(|e| panic!("{e}"));
        let figure = &document["figures"][0];
        assert_eq!(figure["settings"], json!([]));
        let state = figure["states"][0].as_str().unwrap_or_default().to_owned();
        (document["differ_by_chance_alone"].as_bool().unwrap(), state)
    };
    let test = |seed, drive, begins_as| of(seed, "trim", json!({}), drive, begins_as);
    assert_eq!(told([test(1, "d", None), test(2, "d", None)]), (true, String::new()));
    assert_eq!(told([test(1, "d", Some("s")), test(2, "d", Some("s"))]), (true, String::new()));
    let (chance, state) = told([test(1, "d", None), test(1, "e", None)]);
    assert!(!chance && state.starts_with("the drive is not the same: its file"), "{state}");
    assert_eq!(told([test(1, "d", None), test(2, "e", None)]), (false, OTHER_SEEDS.to_owned()));
    let (chance, state) = told([test(1, "d", None), test(2, "d", Some("s"))]);
    assert!(!chance && state == "the first began new, the second as it was saved", "{state}");
    let (chance, state) = told([test(1, "d", Some("r")), test(2, "d", Some("s"))]);
    assert!(!chance && state == "they began as saved drives that are not the same", "{state}");
    let replay = |seed, params| of(seed, "replay", params, "d", None);
    let trace = |digest: &str| json!({ "trace": "t.csv", TRACE_DIGEST: digest });
    assert_eq!(told([replay(1, trace("a")), replay(2, trace("a"))]), (true, String::new()));
    assert_eq!(
        told([replay(1, trace("a")), replay(2, trace("b"))]),
        (false, "the traces are not the same, though both are called t.csv".to_owned())
    );
    // The same requests, by standard input and from a file of another format.
    let source = |name: &str, format: &str| json!({ "trace": name, "format": format, TRACE_DIGEST: "a" });
    let (file, input) = (source("t.vscsi", "vscsi1"), source("standard input", "mqsim"));
    assert_eq!(told([replay(1, file.clone()), replay(2, input.clone())]), (true, String::new()));
    let mut faster = replay(1, input);
    faster.results[0].metrics.values_mut().for_each(|figure| figure.value *= 2.0);
    let of_one_trace = super::compared(&[replay(1, file), faster]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(of_one_trace.pairs[0].verdict.is_better(), Some(true));
    let (chance, _) = told([replay(1, trace("a")), replay(2, json!({ "trace": "t.csv" }))]);
    assert!(!chance, "an earlier program did not say which trace it was");
    // A drive that was changed is better or worse all the same: that is what was run for.
    let mut faster = test(1, "e", None);
    faster.results[0].metrics.values_mut().for_each(|figure| figure.value *= 2.0);
    let compared = compared(&[test(1, "d", None), faster]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(compared.pairs[0].verdict.is_better(), Some(true));
}

#[test]
fn a_changed_drive_with_another_seed_is_not_called_better() {
    let of = |seed: u64, identity: &str, rate: f64| {
        let figure = json!({ "iops": { "value": rate, "unit": "IOPS" } });
        let mut document = about(document(vec![row("random-read", json!({ "metrics": figure }))]), &["a"]);
        document.device.as_mut().unwrap().identity = Some(identity.to_owned());
        ResultsDocument { seed, ..document }
    };
    let better = |seed: u64| {
        let compared = compared(&[of(1, "d", 100.0), of(seed, "e", 120.0)]).unwrap_or_else(|e| panic!("{e}"));
        compared.pairs[0].verdict.is_better()
    };
    assert_eq!([better(1), better(2)], [Some(true), None]);
    // A change of `--set` stands in the name.
    let mut changed = of(2, "e", 120.0);
    changed.device.as_mut().unwrap().name = "a with gc.policy=fifo".to_owned();
    let compared = compared(&[of(1, "d", 100.0), changed]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(compared.pairs[0].verdict.is_better(), None);
}

#[test]
fn what_a_function_of_a_program_chose_is_not_called_chance() {
    let of = |seed: u64, functions: &[&str]| {
        let mut document = about(document(vec![row("random-read", json!({}))]), &["a with victim=mine"]);
        let functions = functions.iter().map(|&function| function.to_owned()).collect();
        document.device.as_mut().unwrap().functions = functions;
        ResultsDocument { seed, ..document }
    };
    let by_chance = |functions: &[&str]| {
        let json = super::document(&[of(1, functions), of(2, functions)]).unwrap_or_else(|e| panic!("{e}"));
        json["differ_by_chance_alone"].as_bool()
    };
    assert_eq!([by_chance(&[]), by_chance(&["victim=mine"])], [Some(true), Some(false)]);
}

#[test]
fn figures_of_a_real_device_and_those_of_chance_are_in_no_order() {
    let by = |iops: f64, seed: u64, kind: &str| {
        let figure = json!({ "iops": { "value": iops, "unit": "IOPS" } });
        let mut document = about(document(vec![row("random-read", json!({ "metrics": figure }))]), &["a"]);
        document.seed = seed;
        document.device.as_mut().unwrap().kind = kind.to_owned();
        document
    };
    let args = CompareArgs { first: "a".into(), second: "b".into(), json: false };
    let told = |documents: [ResultsDocument; 2]| {
        let json = super::document(&documents).unwrap_or_else(|e| panic!("{e}"));
        let compared = compared(&documents).unwrap_or_else(|e| panic!("{e}"));
        (json["figures"][0]["second_is_better"].clone(), text(&args, &documents, &compared))
    };
    let (is_better, text) = told([by(100.0, 1, "ssd"), by(120.0, 1, "ssd")]);
    assert!(is_better == json!(true) && text.contains("+20.0 %  better"), "{text}");
    for (first, second, whose) in
        [("host", "host", "both are"), ("host", "ssd", "the first is"), ("ssd", "host", "the second is")]
    {
        let (is_better, text) = told([by(100.0, 1, first), by(120.0, 2, second)]);
        assert!(is_better.is_null() && !text.contains("  better") && !text.contains("chance"), "{text}");
        assert!(text.contains(&format!("{whose} of a real device, whose figures differ from run to run")), "{text}");
    }
    let (is_better, text) = told([by(100.0, 1, "ssd"), by(120.0, 2, "ssd")]);
    assert!(is_better.is_null() && !text.contains("better") && text.contains("is chance"), "{text}");
}

#[test]
fn figures_that_a_page_puts_in_no_order_have_no_verdict() {
    let of = |test: &str, params: Value, more: Value, capacity: u64, rate: f64| {
        let figure = json!({ "bandwidth": { "value": rate, "unit": "MB/s" } });
        let mut row = row(test, json!({ "params": params, "metrics": figure }));
        if let Some(by) = more.as_u64() {
            (row.small_by, row.shortened) = (Some(by as u32), Some("It is shorter.".to_owned()));
        }
        let mut document = about(document(vec![row]), &["a"]);
        document.device.as_mut().unwrap().capacity_bytes = capacity;
        document
    };
    let told = |documents: [ResultsDocument; 2]| {
        let json = super::document(&documents).unwrap_or_else(|e| panic!("{e}"));
        let figure = &json["figures"][0];
        (figure["second_is_better"].clone(), figure["states"].as_array().unwrap().clone())
    };
    // A hundredth of a trace on an eighth of a drive, and an eighth of it.
    let light = |requests: u64, rate| of("light", json!({ "requests": requests }), json!(8), 128 << 30, rate);
    let too_short = json!("a trace was too short to put drives in an order");
    assert_eq!(told([light(8_323, 300.0), light(8_323, 100.0)]), (Value::Null, vec![too_short]));
    assert_eq!(told([light(104_042, 300.0), light(104_042, 100.0)]), (json!(false), vec![]));
    // Eight gigabytes of a drive, and all of a file that has two.
    let span = |capacity, rate| {
        let params = json!({ "span_bytes": 8_000_000_000_u64, "seconds": 180 });
        of("random-write", params, Value::Null, capacity, rate)
    };
    let (is_better, states) = told([span(1 << 40, 300.0), span(2 << 30, 400.0)]);
    assert!(is_better.is_null() && states[0].as_str().unwrap().ends_with("are in no order"), "{states:?}");
    assert_eq!(told([span(1 << 40, 300.0), span(1 << 41, 400.0)]), (json!(true), vec![]));
    // What only chance sets apart is chance all the same.
    let again = ResultsDocument { seed: 2, ..light(8_323, 100.0) };
    let json = super::document(&[light(8_323, 300.0), again]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(json["differ_by_chance_alone"], true);
}

#[test]
fn what_is_chance_beside_what_is_not_has_no_verdict() {
    let of = |seed: u64, queue_depth: u64| {
        let rows = vec![row("random-read", json!({})), row("trim", json!({ "params": { "qd": queue_depth } }))];
        let mut document = about(document(rows), &["a"]);
        document.seed = seed;
        document.results[0].metrics.values_mut().for_each(|figure| figure.value *= seed as f64);
        document
    };
    let json = super::document(&[of(1, 1), of(2, 4)]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(json["differ_by_chance_alone"], false);
    assert_eq!(json["figures"][0]["second_is_better"], Value::Null);
    assert_eq!(json["figures"][0]["states"], json!([CHANCE]));
    assert_eq!(json["figures"][1]["states"], json!([OTHER_SEEDS]));
}

/// A job of a job file: with what the drive was filled, how long it rested, and what ran beside the job.
fn job(prefill: &str, rest_seconds: f64, others: &str) -> Value {
    json!({ "rw": "randread", "prefill": prefill, "rest_seconds": rest_seconds, "other_jobs_digest": others })
}

#[test]
fn jobs_that_began_otherwise_or_ran_beside_others_are_not_called_better() {
    let of = |seed: u64, params: Value, rate: f64| {
        let figures = json!({
            "iops": { "value": rate, "unit": "IOPS" }, "asked_iops": { "value": rate, "unit": "IOPS" }
        });
        let row = row(fio_run::TEST, json!({ "params": params, "metrics": figures }));
        ResultsDocument { seed, ..about(document(vec![row]), &["a"]) }
    };
    let told = |seed: u64, first: Value, second: Value| {
        let json = super::document(&[of(1, first, 100.0), of(seed, second, 200.0)]).unwrap_or_else(|e| panic!("{e}"));
        let of = |i: usize, key: &str| json["figures"][i][key].clone();
        assert!(of(0, "second_is_better").is_null(), "what the file asks for is no figure of the drive");
        let settings: Vec<Value> = of(1, "settings").as_array().unwrap().iter().map(|s| s["key"].clone()).collect();
        (of(1, "second_is_better"), settings, of(1, "states"), json["differ_by_chance_alone"].clone())
    };
    let as_usual = || job("read", 10.0, "none");
    let (none, no) = (json!([]), json!(false));
    assert_eq!(told(1, as_usual(), as_usual()), (json!(true), vec![], none.clone(), no.clone()));
    assert_eq!(told(2, as_usual(), as_usual()), (Value::Null, vec![], none.clone(), json!(true)));
    let settings = vec![json!("prefill"), json!("rest_seconds")];
    assert_eq!(told(1, as_usual(), job("none", 0.0, "none")), (Value::Null, settings, none, no.clone()));
    let others = json!(["the jobs beside it are not the same"]);
    assert_eq!(told(1, as_usual(), job("read", 10.0, "d")), (Value::Null, vec![], others, no.clone()));
    // An earlier version wrote the options of the job, and nothing else.
    let old = || json!({ "rw": "randread" });
    let silent = |who: &str| json!([format!("{who} with what the drive was filled, and which jobs ran beside it")]);
    assert_eq!(told(1, old(), as_usual()), (Value::Null, vec![], silent("the first does not say"), no.clone()));
    assert_eq!(told(1, as_usual(), old()), (Value::Null, vec![], silent("the second does not say"), no.clone()));
    assert_eq!(told(1, old(), old()), (Value::Null, vec![], silent("neither says"), no));
}

#[test]
fn a_job_that_was_stopped_is_neither_better_nor_worse_than_a_whole_one() {
    let of = |shortened: Option<&str>, rate: f64| {
        let figure = json!({ "bandwidth": { "value": rate, "unit": "MB/s" } });
        let row = row(fio_run::TEST, json!({ "params": job("read", 10.0, "none"), "metrics": figure }));
        about(document(vec![ResultRow { shortened: shortened.map(str::to_owned), ..row }]), &["a"])
    };
    let told = |first, second| {
        let json = super::document(&[of(first, 100.0), of(second, 120.0)]).unwrap_or_else(|e| panic!("{e}"));
        (json["figures"][0]["second_is_better"].clone(), json["figures"][0]["states"].clone())
    };
    let (at_3, at_9) = (Some("stopped after 3.00 s."), Some("stopped after 9.00 s."));
    assert_eq!(told(None, None), (json!(true), json!([])));
    assert_eq!(told(None, at_3), (Value::Null, json!(["the second was stopped after 3.00 s"])));
    let both = ["the first was stopped after 9.00 s", "the second was stopped after 3.00 s"];
    assert_eq!(told(at_9, at_3), (Value::Null, json!(both)));
    assert_eq!(told(at_3, at_3), (json!(true), json!([])));
}

fn about(document: ResultsDocument, devices: &[&str]) -> ResultsDocument {
    let facts = |name: &&str| json!({ "name": name, "description": "", "kind": "ssd", "capacity_bytes": 1, "queue_depth": 1, "supports_trim": true, "identity": "d" });
    let facts: Vec<Value> = devices.iter().map(facts).collect();
    let mut whole = serde_json::to_value(&document).unwrap();
    match facts.as_slice() {
        [one] => whole["device"] = one.clone(),
        several => whole["devices"] = several.into(),
    }
    serde_json::from_value(whole).unwrap()
}

#[test]
fn a_drive_is_found_again_among_several() {
    let several = vec![row("trim", json!({ "device": "a" })), row("trim", json!({ "device": "b" }))];
    let several = about(document(several), &["a", "b"]);
    let alone = |name: &str| about(document(vec![row("trim", json!({}))]), &[name]);
    for documents in [[several.clone(), alone("b")], [alone("b"), several.clone()]] {
        let compared = compared(&documents).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(compared.pairs.iter().map(|p| p.test.as_str()).collect::<Vec<_>>(), ["trim on b"]);
        assert_eq!(compared.alone.concat(), ["trim on a"]);
    }
    let Err(error) = compared(&[several, alone("c")]) else { panic!("there is nothing in common") };
    assert!(error.to_string().contains("here they are a, b and c"), "{error}");
    let compared = compared(&[alone("b"), alone("c")]).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(compared.pairs[0].test, "trim", "two drives");
}
