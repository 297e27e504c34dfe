//! The JSON Schema of plans, for editors and other programs.

use serde_json::{Value, json};
use ssdlab_bench::suite::TESTS;
use ssdlab_catalog::drive_names;

use super::MAX_SEED;

/// JSON Schema (draft 2020-12) of a plan. Keys of drive and die files stand in `set`, `grid` and `list` by their dotted
/// path; docs/drive-files.md has them, and `ssdlab check` checks them.
#[must_use]
pub fn plan_schema() -> Value {
    let changes = |what: &str| json!({ "type": "object", "description": what });
    let better = json!({ "enum": ["lower", "higher"], "description": "which end of the axis is the good one" });
    let names = |what: &str| json!({ "type": "array", "items": { "type": "string" }, "description": what });
    let figure = |what: &str| json!({ "type": "string", "description": what });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Plan of a sweep",
        "type": "object",
        "additionalProperties": false,
        "required": ["drive", "test"],
        "$defs": {
            "swept": {
                "description": "the values of a key, or keys of a section",
                "anyOf": [
                    { "type": "array", "minItems": 1 },
                    { "type": "object", "additionalProperties": { "$ref": "#/$defs/swept" } },
                ],
            },
        },
        "properties": {
            "drive": {
                "type": "string",
                "description": "a drive of the catalog, a drive file beside the plan, or a device expression",
                "examples": drive_names().collect::<Vec<_>>(),
            },
            "title": { "type": "string", "description": "heading of the page" },
            "seeds": {
                "type": "array",
                "minItems": 1,
                "uniqueItems": true,
                "items": { "type": "integer", "minimum": 0, "maximum": MAX_SEED },
                "default": [1],
                "description": "every point is run once with each; several give intervals",
            },
            "set": changes("changes of drive and die that hold for every point"),
            "grid": {
                "type": "object",
                "additionalProperties": { "$ref": "#/$defs/swept" },
                "description": "lists of values by key: every combination is a point",
            },
            "list": {
                "type": "array",
                "items": { "type": "object", "minProperties": 1 },
                "description": "drives that differ in several keys at once; each goes through the whole grid",
            },
            "test": {
                "type": "array",
                "minItems": 1,
                "description": "what every drive is put through",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "oneOf": [{ "required": ["name"] }, { "required": ["job"] }],
                    // A test has parameters, a job what is written before it.
                    "not": { "required": ["name", "prefill"] },
                    "if": { "required": ["job"] },
                    "then": { "properties": { "set": { "maxProperties": 0 } } },
                    "properties": {
                        "name": {
                            "enum": TESTS.iter().map(|t| t.name).collect::<Vec<_>>(),
                            "description": "a test of the bench",
                        },
                        "job": { "type": "string", "description": "a fio job file beside the plan" },
                        "set": changes("parameters of the test"),
                        "prefill": {
                            "enum": ["read", "drive", "none"],
                            "default": "read",
                            "description": "of a fio job: what is written first",
                        },
                    },
                },
            },
            "charts": {
                "type": "object",
                "additionalProperties": false,
                "description": "what to draw; what is usual, if it does not say",
                "properties": {
                    "metrics": names("metrics, each a picture"),
                    "x": names("swept keys to lay along the horizontal axis"),
                    "pareto": {
                        "type": "array",
                        "description": "figures that cannot both be had",
                        "items": {
                            "type": "object",
                            "additionalProperties": false,
                            "required": ["x", "y"],
                            "properties": {
                                "x": figure("a metric, a swept number, capacity_bytes or spare_percent"),
                                "y": figure("likewise"),
                                "x_better": better.clone(),
                                "y_better": better,
                            },
                        },
                    },
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::plan::file::PlanFile;

    /// A plan in which everything that the schema knows stands once.
    const WHOLE: &str = "drive = \"ideal-32die\"\ntitle = \"t\"\nseeds = [1]\n[set]\n[grid]\n[[list]]\n\
                         [[test]]\nname = \"trim\"\nset = {}\n[[test]]\njob = \"a.fio\"\nprefill = \"drive\"\n\
                         [charts]\nmetrics = []\nx = []\n\
                         [[charts.pareto]]\nx = \"waf\"\ny = \"iops\"\nx_better = \"lower\"\ny_better = \"higher\"\n";

    fn keys(value: &toml::Value, prefix: &str, into: &mut Vec<String>) {
        match value {
            toml::Value::Table(table) => {
                for (key, value) in table {
                    into.push(format!("{prefix}{key}"));
                    keys(value, &format!("{prefix}{key}."), into);
                }
            }
            toml::Value::Array(items) => items.iter().for_each(|item| keys(item, prefix, into)),
            _ => {}
        }
    }

    fn declared(schema: &Value, prefix: &str, into: &mut Vec<String>) {
        for (key, field) in schema["properties"].as_object().into_iter().flatten() {
            into.push(format!("{prefix}{key}"));
            declared(field, &format!("{prefix}{key}."), into);
            declared(&field["items"], &format!("{prefix}{key}."), into);
        }
    }

    fn sorted(mut names: Vec<String>) -> Vec<String> {
        names.sort();
        names.dedup();
        names
    }

    #[test]
    fn the_schema_has_the_keys_of_a_plan_and_no_others() {
        assert!(toml::from_str::<PlanFile>(WHOLE).is_ok());
        let (mut in_plan, mut in_schema) = (Vec::new(), Vec::new());
        keys(&toml::from_str(WHOLE).unwrap(), "", &mut in_plan);
        declared(&plan_schema(), "", &mut in_schema);
        assert_eq!(sorted(in_plan), sorted(in_schema.clone()));
        // The reader knows each, and no other: a key of another name is refused wherever one stands.
        for key in in_schema.iter().filter(|k| !k.contains("set") && !k.contains("grid") && !k.contains("list")) {
            let last = key.rsplit('.').next().unwrap_or(key);
            assert!(toml::from_str::<PlanFile>(&WHOLE.replace(last, "nonsense")).is_err(), "{key}");
        }
    }

    #[test]
    fn the_schema_refuses_what_no_plan_may_say() {
        let schema = plan_schema();
        let test = "[[test]]\nname = \"trim\"\n";
        let (no_prefill, one, unique) = (json!(["name", "prefill"]), json!(1), json!(true));
        for (place, says, text, refusal) in [
            ("/properties/seeds/uniqueItems", &unique, format!("seeds = [1, 1]\n{test}"), "is there twice"),
            (
                "/properties/seeds/items/maximum",
                &json!(MAX_SEED),
                format!("seeds = [{}]\n{test}", MAX_SEED + 1),
                "digits",
            ),
            ("/properties/test/items/not/required", &no_prefill, format!("{test}prefill = \"read\"\n"), "for fio jobs"),
            ("/properties/list/items/minProperties", &one, format!("{test}[[list]]\n"), "has no keys"),
            ("/$defs/swept/anyOf/0/minItems", &one, format!("{test}[grid]\ngc.policy = []\n"), "has no values"),
            ("/$defs/swept/anyOf/0/type", &json!("array"), format!("{test}[grid]\ngc.policy = \"fifo\"\n"), "no list"),
        ] {
            assert_eq!(schema.pointer(place), Some(says), "{place}");
            let plan = format!("drive = \"ideal-32die\"\n{text}");
            let error = Plan::parse("plan.toml", &plan).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(refusal), "{plan}\n{error}");
        }
    }

    #[test]
    fn the_schema_in_the_documents_is_this_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/plan.json");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text == format!("{:#}\n", plan_schema()), "`ssdlab schema plan > docs/schema/plan.json` writes it");
    }
}
