//! Every key of a kind of file, read from its schema.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::number::{limit, with_unit};
use crate::order::declared;

/// Every section and key of a drive or die file, in the order of declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyTable {
    pub sections: Vec<Section>,
    pub keys: Vec<Key>,
    pub(crate) schema: Value,
}

/// A section such as `[gc]`, or `[ecc.bch]` within it.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Dotted path; empty for what stands before the first section.
    pub path: String,
    /// For people: "Garbage collection".
    pub heading: String,
    pub doc: String,
    /// Whether a file must have it.
    pub required: bool,
}

/// One key.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Dotted path, such as `gc.policy`.
    pub path: String,
    /// For people, without the unit: "start free superblocks".
    pub heading: String,
    /// Such as `µs`; empty for counts, names and truths.
    pub unit: String,
    pub doc: String,
    pub kind: Kind,
    /// For lists: of each value.
    pub range: Range,
    /// Whether a file without `base` must have it, if it has the section.
    pub required: bool,
    /// What holds if a file does not say; `None` if then nothing holds.
    pub default: Option<Value>,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Text,
    Truth,
    Whole,
    Number,
    /// One of some names.
    Choice(Vec<Choice>),
    List(Box<Kind>),
}

/// A name that a value can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub name: String,
    /// Empty where the name says it.
    pub doc: String,
}

/// Numbers that a value can be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Range {
    pub least: Option<f64>,
    /// Below the least that is allowed.
    pub above: Option<f64>,
    pub most: Option<f64>,
    pub multiple_of: Option<f64>,
    /// All that are allowed, if they are few.
    pub one_of: Vec<f64>,
    /// Of a list: how many values it must have.
    pub least_values: Option<usize>,
}

/// Endings of keys that are units, with the unit as printed and in words. The longest fit counts.
const ENDINGS: &[(&str, &str, &str)] = &[
    ("_bytes", "B", "bytes"),
    ("_kib", "KiB", "KiB"),
    ("_mib", "MiB", "MiB"),
    ("_gb", "GB", "gigabytes"),
    ("_ns", "ns", "nanoseconds"),
    ("_us", "µs", "microseconds"),
    ("_ms", "ms", "milliseconds"),
    ("_s", "s", "seconds"),
    ("_mw", "mW", "milliwatts"),
    ("_ua", "µA", "microamperes"),
    ("_ma", "mA", "milliamperes"),
    ("_v", "V", "volts"),
    ("_percent", "%", "per cent"),
    ("_per_1000", "‰", "thousandths"),
    ("_per_10000", "per 10,000", "ten-thousandths"),
    ("_pj_per_byte", "pJ/B", "picojoules per byte"),
    ("_uw_per_mib", "µW/MiB", "microwatts per MiB"),
    ("mega_transfers_per_s", "MT/s", "million transfers per second"),
    ("megabytes_per_s", "MB/s", "megabytes per second"),
    ("_mb_per_s", "MB/s", "megabytes per second"),
];

/// A unit that keys can end in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// As in `erase_ms`: `_ms`.
    pub ending: &'static str,
    /// As printed: `ms`.
    pub sign: &'static str,
    /// In words: `milliseconds`.
    pub words: &'static str,
}

/// The unit that the ending of a key names.
#[must_use]
pub fn unit_of_ending(key: &str) -> Option<Unit> {
    let fits = ENDINGS.iter().filter(|(ending, ..)| key.ends_with(ending));
    fits.max_by_key(|(ending, ..)| ending.len()).map(|&(ending, sign, words)| Unit { ending, sign, words })
}

impl KeyTable {
    /// The keys of a file that is read into a `T`.
    ///
    /// # Panics
    /// If only some of the names of a choice are documented, if a section has no heading, takes keys that it does not know, or has a field that is none of the kinds in
    /// [`Kind`]: slips in a declaration.
    #[must_use]
    pub fn of<T: JsonSchema + DeserializeOwned>() -> KeyTable {
        let mut settings = SchemaSettings::draft2020_12();
        settings.inline_subschemas = true;
        let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        without_null(&mut schema);
        let mut table = KeyTable { sections: Vec::new(), keys: Vec::new(), schema: Value::Null };
        table.section("", as_object(&schema), true, &declared::<T>());
        table.schema = schema;
        table
    }

    /// The key of this path.
    #[must_use]
    pub fn key(&self, path: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.path == path)
    }

    /// The section of this path.
    #[must_use]
    pub fn section_of(&self, path: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.path == path)
    }

    fn section(&mut self, path: &str, schema: &Map<String, Value>, required: bool, order: &[String]) {
        let heading = text(schema, "x-heading");
        assert!(!heading.is_empty(), "section `{path}` has no x-heading");
        self.sections.push(Section { path: path.to_owned(), heading, doc: text(schema, "description"), required });
        let required: Vec<&str> = list(schema, "required").filter_map(Value::as_str).collect();
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let place = |name: &str| {
            let path = below(name);
            let within = |known: &String| known.strip_prefix(&path).is_some_and(|r| r.is_empty() || r.starts_with('.'));
            order.iter().position(within).unwrap_or_else(|| panic!("`{path}` needs #[serde(deny_unknown_fields)]"))
        };
        let mut fields: Vec<_> = schema.get("properties").map(as_object).into_iter().flatten().collect();
        fields.sort_by_key(|(name, _)| place(name));
        // Keys before the sections below this one, as a file has them.
        let (sections, keys): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(_, f)| f.get("properties").is_some());
        for (name, field) in keys {
            self.keys.push(Key::new(name, below(name), as_object(field), required.contains(&name.as_str())));
        }
        for (name, field) in sections {
            self.section(&below(name), as_object(field), required.contains(&name.as_str()), order);
        }
    }
}

impl Key {
    fn new(name: &str, path: String, field: &Map<String, Value>, required: bool) -> Key {
        let unit = unit_of_ending(name);
        let stem = unit.map_or(name, |unit| name.strip_suffix(unit.ending).unwrap_or(name));
        let stated = |what: &str| Some(text(field, what)).filter(|t| !t.is_empty());
        let kind = Kind::of(&path, field);
        let heading = stated("x-heading").unwrap_or_else(|| stem.replace('_', " "));
        assert!(!heading.ends_with(" per"), "`{path}` needs an x-heading: its ending is no unit of its own");
        let numbers = field.get("items").map_or(field, as_object);
        let mut range = Range::of(numbers);
        range.least_values = field.get("minItems").and_then(Value::as_u64).map(|n| n as usize);
        Key {
            heading,
            unit: stated("x-unit").unwrap_or_else(|| unit.map_or("", |unit| unit.sign).to_owned()),
            doc: text(field, "description"),
            kind,
            range,
            required,
            default: field.get("default").cloned(),
            path,
        }
    }

    /// The section that the key is in, and its name there.
    #[must_use]
    pub fn split(&self) -> (&str, &str) {
        self.path.rsplit_once('.').unwrap_or(("", &self.path))
    }

    /// What its numbers can be, in words: `1 to 64`, `2, 4, 8 or 16`. Empty if any will do, or if it is no number.
    #[must_use]
    pub fn range_in_words(&self) -> String {
        self.range.words("")
    }

    /// What its value can be, in words: `a whole number, 1 to 64 KiB`.
    #[must_use]
    pub fn value_in_words(&self) -> String {
        let (kind, range) = (self.kind.words(), self.range.words(&self.unit));
        if range.is_empty() { kind } else { format!("{kind}, {range}") }
    }
}

impl Kind {
    fn of(path: &str, field: &Map<String, Value>) -> Kind {
        let names = |of: &Map<String, Value>| -> Vec<Choice> {
            let doc = text(of, "description");
            let names = of.get("const").into_iter().chain(list(of, "enum")).filter_map(Value::as_str);
            names.map(|name| Choice { name: name.to_owned(), doc: doc.clone() }).collect()
        };
        if field.contains_key("oneOf") {
            let choices: Vec<Choice> = list(field, "oneOf").flat_map(|one| names(as_object(one))).collect();
            // A schema moves names without a meaning to the front.
            assert!(choices.iter().all(|c| !c.doc.is_empty()), "`{path}`: only some of its names are documented");
            return Kind::Choice(choices);
        }
        match text(field, "type").as_str() {
            "string" if field.contains_key("enum") => {
                let undocumented = |choice: Choice| Choice { doc: String::new(), ..choice };
                Kind::Choice(names(field).into_iter().map(undocumented).collect())
            }
            "string" => Kind::Text,
            "boolean" => Kind::Truth,
            "integer" => Kind::Whole,
            "number" => Kind::Number,
            "array" => Kind::List(Box::new(Kind::of(path, as_object(&field["items"])))),
            other => panic!("`{path}` is a {other}: not a kind of value that a file can have"),
        }
    }

    fn words(&self) -> String {
        match self {
            Kind::Text => "a text in double quotes".to_owned(),
            Kind::Truth => "true or false".to_owned(),
            Kind::Whole => "a whole number".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::Choice(names) => {
                let names: Vec<&str> = names.iter().map(|choice| choice.name.as_str()).collect();
                format!("one of these in double quotes: {}", names.join(", "))
            }
            Kind::List(of) => format!("a list in brackets, each value {}", of.words()),
        }
    }
}

impl Range {
    fn of(field: &Map<String, Value>) -> Range {
        let number = |name: &str| field.get(name).and_then(Value::as_f64);
        Range {
            least: number("minimum"),
            above: number("exclusiveMinimum"),
            most: number("maximum"),
            multiple_of: number("multipleOf"),
            one_of: list(field, "enum").filter_map(Value::as_f64).collect(),
            least_values: None,
        }
    }

    pub(crate) fn allows(&self, v: f64) -> bool {
        let within = self.least.is_none_or(|least| v >= least)
            && self.above.is_none_or(|above| v > above)
            && self.most.is_none_or(|most| v <= most);
        // No comparison holds of what is not a number.
        within && !v.is_nan() && self.fits_steps(v) && (self.one_of.is_empty() || self.one_of.contains(&v))
    }

    pub(crate) fn fits_steps(&self, v: f64) -> bool {
        self.multiple_of.is_none_or(|step| v % step == 0.0)
    }

    /// What would be right: `1 to 64 KiB`.
    pub(crate) fn words(&self, unit: &str) -> String {
        if let [few @ .., last] = self.one_of.as_slice() {
            let few: Vec<String> = few.iter().map(|&v| limit(v)).collect();
            let last = limit(*last);
            return with_unit(&if few.is_empty() { last } else { format!("{} or {last}", few.join(", ")) }, unit);
        }
        let bounds = match (self.least, self.above, self.most) {
            (Some(least), _, Some(most)) if self.multiple_of.is_some() => {
                format!("from {} to {}", limit(least), limit(most))
            }
            (Some(least), _, Some(most)) => with_unit(&format!("{} to {}", limit(least), limit(most)), unit),
            (Some(least), _, None) if least > 0.0 => format!("{} or more", with_unit(&limit(least), unit)),
            (None, Some(above), Some(most)) => {
                format!("more than {}, {} at most", limit(above), with_unit(&limit(most), unit))
            }
            _ => String::new(),
        };
        match self.multiple_of {
            Some(step) => format!("a multiple of {}, {bounds}", with_unit(&limit(step), unit)),
            None => bounds,
        }
    }
}

/// Files have no null: what is optional is simply not there.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Array(types)) = map.get("type")
                && let [one, null] = types.as_slice()
                && null == "null"
            {
                let one = one.clone();
                map.insert("type".to_owned(), one);
            }
            if let Some(Value::Array(either)) = map.get("anyOf")
                && let [one, null] = either.as_slice()
                && null.get("type").is_some_and(|t| t == "null")
            {
                let mut one = one.clone();
                let outer = std::mem::take(map);
                // What is said of the field goes before what is said of its type.
                let inner = one.as_object_mut().expect("a schema of a type");
                inner.extend(outer.into_iter().filter(|(key, _)| key != "anyOf"));
                *map = std::mem::take(inner);
            }
            if map.get("default").is_some_and(Value::is_null) {
                map.remove("default");
            }
            map.values_mut().for_each(without_null);
        }
        Value::Array(list) => list.iter_mut().for_each(without_null),
        _ => {}
    }
}

fn as_object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("a schema is an object")
}

fn list<'a>(schema: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    schema.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// A text of a schema, on one line.
fn text(schema: &Map<String, Value>, name: &str) -> String {
    schema.get(name).and_then(Value::as_str).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
