//! A key is declared once, at its field: the table, the check and the schema all follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_keys::{Choice, KeyTable, Kind, unit_of_ending};

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Whole"))]
struct Whole {
    /// Bytes of it,
    /// on two lines.
    #[schemars(range(min = 4, max = 32_768), extend("multipleOf" = 4))]
    size_kib: Option<u32>,
    part: Part,
    /// Said of the field.
    #[schemars(extend("x-heading" = "Second part"))]
    second: Option<Part>,
}

/// Said of the type.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Part"))]
struct Part {
    #[schemars(inner(range(min = 0.0, max = 1e6)), length(min = 1))]
    times_us: Vec<f64>,
    #[schemars(extend("enum" = [2, 4, 8]))]
    #[serde(default = "two")]
    ratio: u32,
    policy: Policy,
    #[schemars(range(min = 0.0, max = 1e5), extend("x-heading" = "speed", "x-unit" = "furlongs"))]
    rate: f64,
}

fn two() -> u32 {
    2
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Policy {
    /// The first.
    FirstOne,
    /// The second.
    Other,
}

fn part() -> Part {
    Part { times_us: vec![1.0], ratio: 4, policy: Policy::FirstOne, rate: 1.0 }
}

fn whole() -> Whole {
    Whole { size_kib: Some(8), part: part(), second: None }
}

fn refused(change: impl FnOnce(&mut Whole)) -> String {
    let mut whole = whole();
    change(&mut whole);
    KeyTable::of::<Whole>().check(&whole).unwrap_err().to_string()
}

#[test]
fn the_table_has_what_the_field_says() {
    let table = KeyTable::of::<Whole>();
    let paths: Vec<&str> = table.keys.iter().map(|k| k.path.as_str()).collect();
    let of_part = ["times_us", "ratio", "policy", "rate"];
    let all: Vec<String> = ["part", "second"].iter().flat_map(|p| of_part.map(|k| format!("{p}.{k}"))).collect();
    assert_eq!(paths[0], "size_kib");
    assert_eq!(paths[1..], all);
    let size = table.key("size_kib").unwrap();
    assert_eq!((size.heading.as_str(), size.unit.as_str()), ("size", "KiB"));
    assert_eq!((size.doc.as_str(), size.required, &size.kind), ("Bytes of it, on two lines.", false, &Kind::Whole));
    assert_eq!(size.range_in_words(), "a multiple of 4, from 4 to 32,768");
    let ratio = table.key("part.ratio").unwrap();
    assert_eq!((ratio.default.clone(), ratio.required), (Some(2.into()), false));
    let rate = table.key("second.rate").unwrap();
    assert_eq!((rate.heading.as_str(), rate.unit.as_str(), rate.required), ("speed", "furlongs", true));
    let choice = |name: &str, doc: &str| Choice { name: name.into(), doc: doc.into() };
    let choices = vec![choice("first-one", "The first."), choice("other", "The second.")];
    assert_eq!(table.key("part.policy").unwrap().kind, Kind::Choice(choices));
    assert_eq!(table.key("part.times_us").unwrap().kind, Kind::List(Box::new(Kind::Number)));
}

#[test]
fn a_value_is_told_in_words_with_its_range_and_unit() {
    let table = KeyTable::of::<Whole>();
    let words = |path: &str| table.key(path).unwrap().value_in_words();
    assert_eq!(words("size_kib"), "a whole number, a multiple of 4 KiB, from 4 to 32,768");
    assert_eq!(words("part.ratio"), "a whole number, 2, 4 or 8");
    assert_eq!(words("part.rate"), "a number, 0 to 100,000 furlongs");
    assert_eq!(words("part.policy"), "one of these in double quotes: first-one, other");
    assert_eq!(words("part.times_us"), "a list in brackets, each value a number, 0 to 1,000,000 µs");
}

#[test]
fn the_longest_ending_is_the_unit() {
    let unit = |key| unit_of_ending(key).map(|unit| (unit.ending, unit.sign, unit.words));
    assert_eq!(unit("read_mb_per_s"), Some(("_mb_per_s", "MB/s", "megabytes per second")));
    assert_eq!(unit("idle_mw"), Some(("_mw", "mW", "milliwatts")));
    assert_eq!(unit("dies"), None);
}

#[test]
fn what_is_said_of_a_section_goes_before_what_is_said_of_its_type() {
    let table = KeyTable::of::<Whole>();
    let said = |path: &str| {
        let section = table.section_of(path).unwrap();
        (section.heading.clone(), section.doc.clone(), section.required)
    };
    assert_eq!(said("part"), ("Part".into(), "Said of the type.".into(), true));
    assert_eq!(said("second"), ("Second part".into(), "Said of the field.".into(), false));
}

#[test]
fn values_out_of_range_are_refused_with_what_would_be_right() {
    assert_eq!(KeyTable::of::<Whole>().check(&whole()), Ok(()));
    let absent = Whole { size_kib: None, ..whole() };
    assert_eq!(KeyTable::of::<Whole>().check(&absent), Ok(()));
    let size = "use a multiple of 4 KiB, from 4 to 32,768, or leave it out";
    assert_eq!(refused(|w| w.size_kib = Some(0)), format!("size_kib: 0 KiB is impossible; {size}"));
    assert_eq!(refused(|w| w.size_kib = Some(18)), format!("size_kib: 18 is not a multiple of 4 KiB; {size}"));
    assert_eq!(refused(|w| w.part.times_us.push(-1.0)), "part.times_us: -1 µs is impossible; use 0 to 1,000,000 µs");
    assert_eq!(refused(|w| w.part.times_us.clear()), "part.times_us: 0 value(s) are too few; give 1 or more");
    assert_eq!(refused(|w| w.part.ratio = 3), "part.ratio: 3 is impossible; use 2, 4 or 8");
    for wrong in [-0.5, f64::NAN, f64::INFINITY, 1e300] {
        let error = refused(|w| w.second = Some(Part { rate: wrong, ..part() }));
        assert!(error.starts_with("second.rate: ") && error.ends_with("use 0 to 100,000 furlongs"), "{error}");
    }
}

#[test]
fn the_schema_of_a_file_knows_its_base_and_what_is_needed_without_one() {
    let schema = KeyTable::of::<Whole>().file_schema("A whole", "another whole");
    assert_eq!(schema["title"], "A whole");
    assert_eq!(schema["anyOf"][1]["required"], serde_json::json!(["part"]));
    let part = &schema["properties"]["part"];
    assert_eq!(part["properties"]["rate"]["x-required"], true);
    assert_eq!(part["properties"]["rate"]["x-unit"], "furlongs");
    assert_eq!(schema["properties"]["size_kib"]["x-unit"], "KiB");
    assert_eq!(schema["properties"]["size_kib"]["type"], "integer");
    assert_eq!(part.get("required"), None);
    assert_eq!(part["properties"]["ratio"].get("x-required"), None);
    assert_eq!(schema["properties"]["base"]["type"], "string");
}

#[test]
fn two_specs_are_told_apart_by_what_is_not_default_alone() {
    let table = KeyTable::of::<Whole>();
    let base = || Whole { part: Part { ratio: two(), ..part() }, ..whole() };
    let said = table.identity(&base());
    assert!(!said.contains("part.ratio"), "the default says nothing: {said}");
    assert!(said.contains("part.rate = "), "{said}");
    let absent = table.identity(&Whole { size_kib: None, second: None, ..base() });
    assert!(!absent.contains("size_kib") && !absent.contains("second."), "{absent}");
    let changes: [fn(&mut Whole); 5] = [
        |w| w.size_kib = Some(64),
        |w| w.part.ratio = 4,
        |w| w.part.rate = 0.125,
        |w| w.part.times_us.push(3.0),
        |w| w.second = Some(Part { ratio: 8, ..part() }),
    ];
    let mut all: Vec<String> = changes
        .map(|change| {
            let mut other = base();
            change(&mut other);
            table.identity(&other)
        })
        .into();
    all.push(said);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6, "{all:?}");
}
