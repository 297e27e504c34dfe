//! The shape of `results.json`, which scripts and checks rely on.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use ssdlab_bench::{NotSteady, Table, Unsettled};
use ssdlab_report::{ResultsDocument, results_json};

use crate::common::{FIRST, SECOND, one_drive, two_drives};

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn one_device_stands_at_the_top() {
    let text = results_json(&one_drive()).unwrap();
    let document = parse(&text);
    assert_eq!(document["schema"], json!("ssdlab.results/1"));
    assert_eq!(document["seed"], json!(1));
    assert_eq!(document["device"]["name"], json!(FIRST));
    assert_eq!(document["device"]["kind"], json!("ssd"));
    assert_eq!(document["device"]["capacity_bytes"], json!(128_035_676_160u64));
    assert!(document.get("devices").is_none());
    let result = &document["results"][2];
    assert_eq!(result["test"], json!("random-write"));
    assert!(result.get("device").is_none() && result.get("shortened").is_none());
    assert_eq!(result["metrics"]["iops"], json!({"value": 75_900.0, "unit": "IOPS"}));
    assert_eq!(document["results"][0]["params"]["queue_depth"], json!(32));
    assert!(text.contains("\"value\": 75900.0"), "a float stays a float");
}

#[test]
fn its_document_names_every_cause_and_every_reason() {
    let document = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results-json.md"));
    let table = document.lines().skip_while(|line| *line != "| cause | time |").skip(2);
    let first_cells = table.map_while(|line| line.strip_prefix("| ")?.split(" | ").next());
    let named: Vec<&str> = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert_eq!(named, ssdlab_core::CAUSES.map(ssdlab_core::Cause::key));
    for reason in [
        Unsettled::SpareNotWritten,
        Unsettled::TooFewSeconds,
        Unsettled::TooFewRequests,
        Unsettled::TooFewTurnovers,
        Unsettled::Drifts,
        Unsettled::LeftToFullRun,
    ] {
        let key = serde_json::to_value(reason).unwrap();
        assert!(document.contains(&format!("`{}`", key.as_str().unwrap())), "{reason:?}");
    }
}

#[test]
fn its_document_names_every_key_of_a_result_and_no_other() {
    let document = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results-json.md"));
    let table = document.lines().skip_while(|line| *line != "## A result").skip(4);
    let named: BTreeSet<&str> = table.map_while(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let mut review = two_drives();
    let outcome = &mut review.outcomes[0];
    outcome.variant = "QD4".to_owned();
    outcome.set_params = vec!["queue_depth".to_owned()];
    (outcome.shortened, outcome.small_by) = (Some("a minute".to_owned()), Some(8));
    outcome.tables = vec![Table {
        title: "A table".to_owned(),
        caption: String::new(),
        columns: vec!["Rank".to_owned()],
        rows: vec![vec!["1".to_owned()]],
    }];
    outcome.not_steady = vec![NotSteady::new(Unsettled::Drifts, "it drifts".to_owned())];
    let results = parse(&results_json(&review).unwrap())["results"].take();
    let rows = results.as_array().unwrap().iter().flat_map(|row| row.as_object().unwrap().keys());
    assert_eq!(rows.map(String::as_str).collect::<BTreeSet<_>>(), named);
    assert_eq!(results[0]["set_params"], json!(["queue_depth"]));
}

#[test]
fn several_devices_stand_in_a_list_and_results_name_theirs() {
    let document = parse(&results_json(&two_drives()).unwrap());
    assert!(document.get("device").is_none());
    assert_eq!(document["devices"][1]["name"], json!(SECOND));
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), 10);
    assert!(results.iter().all(|r| r["device"] == json!(FIRST) || r["device"] == json!(SECOND)));
}

#[test]
fn keys_are_sorted_at_every_level() {
    let text = results_json(&two_drives()).unwrap();
    // The last key seen at each depth of indentation; an opening brace starts a new object one level deeper.
    let mut last: Vec<Option<String>> = vec![None; 32];
    let mut compared = 0;
    for line in text.lines() {
        let depth = (line.len() - line.trim_start().len()) / 2;
        if let Some(key) = line.trim_start().strip_prefix('"').and_then(|l| l.split_once("\":")).map(|(k, _)| k) {
            if let Some(before) = &last[depth] {
                assert!(before.as_str() < key, "{before} stands before {key}");
                compared += 1;
            }
            last[depth] = Some(key.to_owned());
        }
        if line.ends_with('{') {
            last[depth + 1] = None;
        }
    }
    assert!(compared > 200, "{compared}");
}

#[test]
fn a_document_survives_the_way_to_disk_and_back() {
    for review in [one_drive(), two_drives()] {
        let document = ResultsDocument::from_review(&review).unwrap();
        let text = document.to_json().unwrap();
        let back = ResultsDocument::from_json(&text, "test").unwrap();
        assert_eq!(back, document);
        assert_eq!(back.to_json().unwrap(), text);
        assert_eq!(back.all_devices().count(), review.devices.len());
    }
}

#[test]
fn documents_of_another_schema_are_refused() {
    let text = results_json(&one_drive()).unwrap();
    let other = text.replace("ssdlab.results/1", "ssdlab.results/9");
    let error = ResultsDocument::from_json(&other, "old.json").unwrap_err().to_string();
    assert_eq!(error, "old.json: schema is \"ssdlab.results/9\"; this version reads \"ssdlab.results/1\"");
    let error = ResultsDocument::from_json(r#"{"schema":"ssdlab.results/2"}"#, "new.json").unwrap_err().to_string();
    assert!(error.starts_with("new.json: schema is \"ssdlab.results/2\""), "{error}");
    let error = ResultsDocument::from_json("{}", "none.json").unwrap_err().to_string();
    assert!(error.starts_with("none.json: missing field `schema`"), "{error}");
    let error = ResultsDocument::from_json("{", "cut.json").unwrap_err().to_string();
    assert!(error.starts_with("cut.json: EOF"), "{error}");
    let without = text.replace("\"device\": {", "\"gadget\": {");
    let error = ResultsDocument::from_json(&without, "x").unwrap_err().to_string();
    assert!(error.contains("exactly one of"), "{error}");
}

#[test]
fn contradictions_are_named() {
    let mut review = two_drives();
    review.outcomes[0].device = "nobody".into();
    let error = results_json(&review).unwrap_err().to_string();
    assert_eq!(error, "nobody: consistency: device \"nobody\" is not part of the review");

    let mut review = one_drive();
    let again = review.outcomes[0].clone();
    review.outcomes.push(again);
    assert!(results_json(&review).unwrap_err().to_string().contains("there twice"));

    let mut review = one_drive();
    review.outcomes[0].charts[0].series[0].points[7][1] = f64::INFINITY;
    let error = results_json(&review).unwrap_err().to_string();
    assert!(error.contains("chart run-log: series 4 KiB random write is inf"), "{error}");

    let mut review = one_drive();
    review.outcomes[3].charts[0].series[0].points[0][0] = 10.0;
    assert!(results_json(&review).unwrap_err().to_string().contains("position 10 has no category; there are 10"));

    let mut review = one_drive();
    review.outcomes[0].time_shares[0].mean_us.insert("magic".into(), 1.0);
    assert!(results_json(&review).unwrap_err().to_string().contains("\"magic\" is not a cause"));
}
