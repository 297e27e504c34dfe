//! The parameters of the tests: one declaration feeds `--set`, `ssdlab list tests` and the published `params`.

use std::collections::BTreeMap;

use ssdlab_core::nearest;
use ssdlab_workload::fio::RandomDistribution;

/// What values a parameter may have. Bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Integer {
        min: u64,
        max: u64,
    },
    /// A number of bytes, which must be a multiple of `multiple`; `8GB` and `128KiB` are understood.
    Bytes {
        min: u64,
        max: u64,
        multiple: u64,
    },
    Number {
        min: f64,
        max: f64,
    },
    Choice(&'static [&'static str]),
    /// Comma-separated integers.
    List {
        min: u64,
        max: u64,
    },
    /// Which addresses are how likely, as fio's `random_distribution`.
    Distribution,
}

/// One parameter of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParamDef {
    pub key: &'static str,
    /// As one would write it after `--set key=`; `auto` lets the test decide (its documentation says how).
    pub default: &'static str,
    /// Printed beside the value; empty for choices and counts.
    pub unit: &'static str,
    /// What it does; whether the value is published, or ours because nobody published one.
    pub doc: &'static str,
    pub kind: Kind,
    /// What `--quick` divides the default by; 1 leaves it alone. Only durations and counts are shortened.
    pub quick_divisor: u64,
    /// Whether another value makes another test of it, whose figures stand beside none of those that it is known for. Not so
    /// how long or how far it goes, which whoever compares looks at, nor how its figures are drawn and judged.
    pub of_method: bool,
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Integer(u64),
    Number(f64),
    Text(String),
    List(Vec<u64>),
    /// The test decides.
    Auto,
}

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParamError {
    #[error("test {test}: unknown parameter `{key}`; {}", hint(nearest, known))]
    Unknown { test: String, key: String, nearest: Vec<String>, known: Vec<String> },
    #[error("test {test}: {key}={value}: {expected}")]
    Value { test: String, key: String, value: String, expected: String },
    #[error("setting `{0}` is not of the form KEY=VALUE")]
    Form(String),
    #[error("{key} is set twice, to {} and to {}", values[0], values[1])]
    Twice { key: String, values: [String; 2] },
    #[error("unknown test `{name}`; {}", hint(nearest, known))]
    UnknownTest { name: String, nearest: Vec<String>, known: Vec<String> },
}

fn hint(nearest: &[String], known: &[String]) -> String {
    if nearest.is_empty() {
        format!("there are {}", known.join(", "))
    } else {
        format!("did you mean {}?", nearest.join(" or "))
    }
}

/// Splits each `KEY=VALUE`.
///
/// # Errors
/// If there is no `=` or no key, or if a key is there twice.
pub fn parse_settings(texts: &[impl AsRef<str>]) -> Result<Vec<(String, String)>, ParamError> {
    let mut settings: Vec<(String, String)> = Vec::with_capacity(texts.len());
    for text in texts.iter().map(AsRef::as_ref) {
        let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
            return Err(ParamError::Form(text.to_owned()));
        };
        let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
        if let Some((_, first)) = settings.iter().find(|(other, _)| *other == key) {
            return Err(ParamError::Twice { values: [first.clone(), value], key });
        }
        settings.push((key, value));
    }
    Ok(settings)
}

/// A number of bytes as people write it: `65536`, `128KiB`, `8 GB`.
#[must_use]
pub fn parse_bytes(text: &str) -> Option<u64> {
    const SUFFIXES: [(&str, u64); 9] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("B", 1),
    ];
    let (digits, factor) =
        SUFFIXES.iter().find_map(|&(s, f)| text.strip_suffix(s).map(|d| (d.trim_end(), f))).unwrap_or((text, 1));
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// What the keys end in of sizes and places that are in proportion to the drive.
const IN_PROPORTION: [&str; 4] = ["span_bytes", "file_bytes", "length_bytes", "file_offset_bytes"];

impl ParamDef {
    /// Whether it is an address range, or a file or where that begins, so that it shrinks with the drive.
    #[must_use]
    pub fn shrinks_with_drive(&self) -> bool {
        matches!(self.kind, Kind::Bytes { .. }) && IN_PROPORTION.iter().any(|ending| self.key.ends_with(ending))
    }

    /// Reads a value as written on the command line.
    ///
    /// # Errors
    /// What would be right.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        if text == "auto" && self.default == "auto" {
            return Ok(Value::Auto);
        }
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.kind {
            Kind::Integer { min, max } => text
                .parse()
                .ok()
                .filter(|v| (min..=max).contains(v))
                .map(Value::Integer)
                .ok_or_else(|| format!("expected a whole number from {min} to {max}{unit}")),
            Kind::Bytes { min, max, multiple } => parse_bytes(text)
                .filter(|v| (min..=max).contains(v) && v % multiple == 0)
                .map(Value::Integer)
                .ok_or_else(|| {
                    format!(
                        "expected bytes from {min} to {max}, a multiple of {multiple} (8GB and 128KiB are understood)"
                    )
                }),
            Kind::Number { min, max } => text
                .parse()
                .ok()
                .filter(|v| (min..=max).contains(v))
                .map(Value::Number)
                .ok_or_else(|| format!("expected a number from {min} to {max}{unit}")),
            Kind::Choice(choices) => {
                if choices.contains(&text) {
                    Ok(Value::Text(text.to_owned()))
                } else {
                    Err(format!("expected one of {}", choices.join(", ")))
                }
            }
            Kind::List { min, max } => {
                let list: Option<Vec<u64>> =
                    text.split(',').map(|p| p.trim().parse().ok().filter(|v| (min..=max).contains(v))).collect();
                list.map(Value::List)
                    .ok_or_else(|| format!("expected whole numbers from {min} to {max}, separated by commas"))
            }
            Kind::Distribution => RandomDistribution::parse(text).map(|_| Value::Text(text.to_owned())),
        }
    }
}

/// The parameters of one run, resolved: defaults, `--quick` and `--set` applied.
#[derive(Clone, Debug)]
pub struct Params {
    test: &'static str,
    defs: Vec<ParamDef>,
    values: BTreeMap<&'static str, Value>,
    set_by_user: Vec<&'static str>,
    quick: bool,
    whole_times: bool,
    /// Key, and what it is instead of what.
    shortened: Vec<(&'static str, String)>,
}

impl Params {
    /// Of a test that takes `defs`; with `whole_times`, a quick run shortens numbers of requests and no time.
    ///
    /// # Errors
    /// An unknown key (with the nearest names), or a value that does not parse or is out of range.
    pub(crate) fn resolve(
        test: &'static str,
        defs: Vec<ParamDef>,
        settings: &[(String, String)],
        quick: bool,
        whole_times: bool,
    ) -> Result<Self, ParamError> {
        let mut params = Params {
            test,
            values: BTreeMap::new(),
            set_by_user: Vec::new(),
            quick,
            whole_times,
            shortened: Vec::new(),
            defs: defs.clone(),
        };
        for (key, text) in settings {
            let Some(def) = defs.iter().find(|d| d.key == key) else {
                let known: Vec<&str> = defs.iter().map(|d| d.key).collect();
                return Err(ParamError::Unknown {
                    test: test.to_owned(),
                    key: key.clone(),
                    nearest: nearest(key, known.iter().copied()).into_iter().map(str::to_owned).collect(),
                    known: known.iter().map(|&k| k.to_owned()).collect(),
                });
            };
            let value = def.parse(text).map_err(|expected| params.value_error(key, text, &expected))?;
            if value != Value::Auto {
                params.set_by_user.push(def.key);
            }
            params.values.insert(def.key, value);
        }
        for def in &defs {
            let published = def
                .parse(def.default)
                .unwrap_or_else(|e| panic!("test {test}: default {}={} is not valid: {e}", def.key, def.default));
            if !params.values.contains_key(def.key) {
                params.values.insert(def.key, published.clone());
            }
            if let Value::Integer(published) = published {
                params.shorten(def, published);
            }
        }
        Ok(params)
    }

    /// Applies `--quick` to a length that the user did not set, and remembers every length below the published one.
    fn shorten(&mut self, def: &ParamDef, published: u64) {
        if def.quick_divisor <= 1 {
            return;
        }
        let is_left = self.whole_times && def.unit == "s";
        if self.quick && !is_left && !self.set_by_user.contains(&def.key) {
            let exact = published as f64 / def.quick_divisor as f64;
            // A time is exact, 7.5 s of 60: as many drive writes. What is counted is so to the nearest.
            let shortened = if def.unit == "s" && exact.fract() != 0.0 {
                Value::Number(exact)
            } else {
                Value::Integer((exact.round() as u64).max(1))
            };
            self.values.insert(def.key, shortened);
        }
        self.say_if_shorter(def, published);
    }

    fn say_if_shorter(&mut self, def: &ParamDef, published: u64) {
        let (value, words) = match *self.value(def.key) {
            Value::Integer(v) => (v as f64, v.to_string()),
            Value::Number(v) => (v, v.to_string()),
            _ => return,
        };
        if value < published as f64 {
            let unit = if def.unit.is_empty() { String::new() } else { format!(" {}", def.unit) };
            let how = format!("{} is {words}{unit} instead of {published}{unit}", def.key.replace('_', " "));
            self.shortened.push((def.key, how));
        }
    }

    /// A length in seconds; a quick run's need not be whole.
    ///
    /// # Panics
    /// If the test did not declare `key` as a number or left it to be decided: a bug in the test.
    #[must_use]
    pub fn seconds(&self, key: &str) -> f64 {
        match *self.value(key) {
            Value::Integer(v) => v as f64,
            _ => self.number(key),
        }
    }

    /// Divides a number of requests that the user did not set by `by`, as the drive in small has been, and says so.
    pub fn shrink_requests(&mut self, key: &str, by: u64) {
        let def = self.def(key);
        if !self.set_by_user.contains(&def.key) {
            let published = self.integer(key);
            self.values.insert(def.key, Value::Integer((published / by).max(1)));
            self.say_if_shorter(&def, published);
        }
    }

    /// Whether `--quick` was asked for.
    #[must_use]
    pub const fn is_quick(&self) -> bool {
        self.quick
    }

    /// Whether the user did.
    #[must_use]
    pub fn is_set(&self, key: &str) -> bool {
        self.set_by_user.contains(&key)
    }

    /// Divides address ranges and files that the user did not set by `by`, as the drive in small has been.
    pub fn shrink_spans(&mut self, by: u64) {
        for def in self.defs.clone() {
            if def.shrinks_with_drive()
                && !self.set_by_user.contains(&def.key)
                && let Some(Value::Integer(bytes)) = self.values.get_mut(def.key)
            {
                // Whole MiB: every block size divides them.
                *bytes = (*bytes / by) >> 20 << 20;
            }
        }
    }

    fn def(&self, key: &str) -> ParamDef {
        *self
            .defs
            .iter()
            .find(|d| d.key == key)
            .unwrap_or_else(|| panic!("test {} reads parameter `{key}`, which it does not declare", self.test))
    }

    fn value(&self, key: &str) -> &Value {
        self.values
            .get(key)
            .unwrap_or_else(|| panic!("test {} reads parameter `{key}`, which it does not declare", self.test))
    }

    /// An error about a value that is fine by itself but not here.
    #[must_use]
    pub fn value_error(&self, key: &str, value: &str, expected: &str) -> ParamError {
        ParamError::Value {
            test: self.test.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
            expected: expected.to_owned(),
        }
    }

    /// Fixes a parameter that was left to the test: `published` unless the user set it; shortened by `--quick` as
    /// its declaration says.
    pub fn decide(&mut self, key: &'static str, published: u64) -> u64 {
        let def = self.def(key);
        if *self.value(key) == Value::Auto {
            self.values.insert(def.key, Value::Integer(published));
        }
        self.shorten(&def, published);
        self.integer(key)
    }

    /// As [`Params::decide`], for a number that is no length.
    pub fn decide_number(&mut self, key: &'static str, published: f64) -> f64 {
        let def = self.def(key);
        if *self.value(key) == Value::Auto {
            self.values.insert(def.key, Value::Number(published));
        }
        self.number(key)
    }

    /// As [`Params::decide`], for a list.
    pub fn decide_list(&mut self, key: &'static str, published: impl FnOnce() -> Vec<u64>) -> Vec<u64> {
        let def = self.def(key);
        if *self.value(key) == Value::Auto {
            self.values.insert(def.key, Value::List(published()));
        }
        self.list(key).to_vec()
    }

    /// # Panics
    /// If the test did not declare `key` as an integer or bytes, or left it to be decided: a bug in the test.
    #[must_use]
    pub fn integer(&self, key: &str) -> u64 {
        match self.value(key) {
            Value::Integer(v) => *v,
            other => panic!("test {}: parameter `{key}` is {other:?}, not an integer", self.test),
        }
    }

    /// As [`Params::integer`], for queue depths.
    ///
    /// # Panics
    /// As [`Params::integer`], and if the declared bounds reach beyond 32 bits.
    #[must_use]
    pub fn depth(&self, key: &str) -> u32 {
        u32::try_from(self.integer(key)).expect("a queue depth's declared bounds fit 32 bits")
    }

    /// # Panics
    /// If the test did not declare `key` as a number: a bug in the test.
    #[must_use]
    pub fn number(&self, key: &str) -> f64 {
        match self.value(key) {
            Value::Number(v) => *v,
            other => panic!("test {}: parameter `{key}` is {other:?}, not a number", self.test),
        }
    }

    /// # Panics
    /// If the test did not declare `key` as a choice: a bug in the test.
    #[must_use]
    pub fn choice(&self, key: &str) -> &str {
        match self.value(key) {
            Value::Text(v) => v,
            other => panic!("test {}: parameter `{key}` is {other:?}, not a choice", self.test),
        }
    }

    /// # Panics
    /// If the test did not declare `key` as a distribution: a bug in the test.
    #[must_use]
    pub fn distribution(&self, key: &str) -> RandomDistribution {
        match self.value(key) {
            Value::Text(v) => RandomDistribution::parse(v).expect("it was read when it was set"),
            other => panic!("test {}: parameter `{key}` is {other:?}, not a distribution", self.test),
        }
    }

    /// # Panics
    /// If the test did not declare `key` as a list: a bug in the test.
    #[must_use]
    pub fn list(&self, key: &str) -> &[u64] {
        match self.value(key) {
            Value::List(v) => v,
            other => panic!("test {}: parameter `{key}` is {other:?}, not a list", self.test),
        }
    }

    /// For the outcome's `params`.
    #[must_use]
    pub fn to_json(&self) -> BTreeMap<String, serde_json::Value> {
        let json = |v: &Value| match v {
            Value::Integer(v) => (*v).into(),
            Value::Number(v) => (*v).into(),
            Value::Text(v) => v.clone().into(),
            Value::List(v) => v.clone().into(),
            Value::Auto => "auto".into(),
        };
        self.values.iter().map(|(&k, v)| (k.to_owned(), json(v))).collect()
    }

    /// What is shorter than published, in a sentence; `None` for a full-length run.
    #[must_use]
    pub fn shortened(&self) -> Option<String> {
        let how: Vec<&str> = self.shortened.iter().map(|(_, how)| how.as_str()).collect();
        (!how.is_empty()).then(|| format!("{}.", how.join(", ")))
    }

    /// The keys of these lengths.
    #[must_use]
    pub fn shortened_keys(&self) -> Vec<String> {
        self.shortened.iter().map(|&(key, _)| key.to_owned()).collect()
    }

    /// The keys that were set to something else than their default.
    #[must_use]
    pub fn set_keys(&self) -> Vec<String> {
        self.defs.iter().filter(|def| self.is_set_otherwise(def.key)).map(|def| def.key.to_owned()).collect()
    }

    /// Whether the user set it to something else than its default: a run of full length that says what the test does anyway is the
    /// same run.
    #[must_use]
    pub fn is_set_otherwise(&self, key: &str) -> bool {
        let def = self.def(key);
        self.is_set(key) && def.parse(def.default).ok().as_ref() != Some(self.value(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFS: &[ParamDef] = &[
        ParamDef {
            key: "seconds",
            default: "180",
            unit: "s",
            doc: "",
            kind: Kind::Integer { min: 1, max: 1000 },
            quick_divisor: 10,
            of_method: true,
        },
        ParamDef {
            key: "half_minute",
            default: "30",
            unit: "s",
            doc: "",
            kind: Kind::Integer { min: 1, max: 1000 },
            quick_divisor: 8,
            of_method: true,
        },
        ParamDef {
            key: "requests",
            default: "25000",
            unit: "",
            doc: "",
            kind: Kind::Integer { min: 1, max: 1_000_000 },
            quick_divisor: 1,
            of_method: true,
        },
        ParamDef {
            key: "span_bytes",
            default: "8GB",
            unit: "B",
            doc: "",
            kind: Kind::Bytes { min: 4096, max: u64::MAX, multiple: 512 },
            quick_divisor: 1,
            of_method: true,
        },
        ParamDef {
            key: "file_offset_bytes",
            default: "1GiB",
            unit: "B",
            doc: "",
            kind: Kind::Bytes { min: 0, max: u64::MAX, multiple: 512 },
            quick_divisor: 1,
            of_method: true,
        },
        ParamDef {
            key: "block_bytes",
            default: "16MiB",
            unit: "B",
            doc: "",
            kind: Kind::Bytes { min: 512, max: u64::MAX, multiple: 512 },
            quick_divisor: 1,
            of_method: true,
        },
        ParamDef {
            key: "length",
            default: "auto",
            unit: "s",
            doc: "",
            kind: Kind::Integer { min: 1, max: 9999 },
            quick_divisor: 10,
            of_method: true,
        },
        ParamDef {
            key: "depths",
            default: "1,2",
            unit: "",
            doc: "",
            kind: Kind::List { min: 1, max: 32 },
            quick_divisor: 1,
            of_method: true,
        },
    ];

    fn resolve(settings: &[(&str, &str)], quick: bool) -> Result<Params, ParamError> {
        let settings: Vec<_> = settings.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        Params::resolve("demo", DEFS.to_vec(), &settings, quick, false)
    }

    #[test]
    fn quick_shortens_what_the_user_did_not_set_and_says_so() {
        let mut p = resolve(&[], true).unwrap();
        assert_eq!(p.integer("seconds"), 18);
        assert_eq!(p.integer("span_bytes"), 8_000_000_000);
        assert_eq!(p.decide("length", 2000), 200);
        let said = p.shortened().unwrap();
        assert!(said.starts_with("seconds is 18 s instead of 180 s, "), "{said}");
        assert!(said.ends_with("length is 200 s instead of 2000 s."), "{said}");
        let p = resolve(&[("seconds", "200"), ("length", "7"), ("half_minute", "30")], true).unwrap();
        assert_eq!(p.integer("seconds"), 200);
        assert_eq!(p.shortened(), None);
    }

    #[test]
    fn times_are_shortened_exactly_and_requests_only_with_the_drive() {
        let mut p = resolve(&[], true).unwrap();
        assert_eq!((p.seconds("half_minute"), p.integer("requests")), (3.75, 25_000));
        assert!(p.shortened().unwrap().contains("half minute is 3.75 s instead of 30 s"));
        p.shrink_requests("requests", 8);
        assert_eq!(p.integer("requests"), 3_125);
        assert!(p.shortened().unwrap().ends_with("requests is 3125 instead of 25000."));
        let whole = Params::resolve("demo", DEFS.to_vec(), &[], true, true).unwrap();
        assert_eq!((whole.seconds("half_minute"), whole.shortened()), (30.0, None));
        let mut p = resolve(&[("requests", "7"), ("half_minute", "29")], true).unwrap();
        p.shrink_requests("requests", 8);
        assert_eq!((p.seconds("half_minute"), p.integer("requests")), (29.0, 7));
    }

    #[test]
    fn spans_shrink_with_the_drive_unless_the_user_set_them() {
        let mut p = resolve(&[], true).unwrap();
        p.shrink_spans(8);
        assert_eq!(p.integer("span_bytes"), 953 << 20);
        assert_eq!((p.integer("file_offset_bytes"), p.integer("block_bytes")), (128 << 20, 16 << 20));
        let mut p = resolve(&[("span_bytes", "8GB")], true).unwrap();
        p.shrink_spans(8);
        assert_eq!(p.integer("span_bytes"), 8_000_000_000);
    }

    #[test]
    fn a_length_set_below_the_published_one_is_said_even_without_quick() {
        let mut p = resolve(&[("seconds", "5"), ("length", "7")], false).unwrap();
        assert_eq!(p.decide("length", 2000), 7);
        assert!(p.shortened().unwrap().contains("length is 7 s instead of 2000 s"));
    }

    #[test]
    fn a_default_that_is_set_is_no_other_value() {
        let p = resolve(&[("requests", "25000"), ("span_bytes", "8000 MB"), ("half_minute", "29")], false).unwrap();
        assert!(p.is_set("requests") && !p.is_set_otherwise("requests") && !p.is_set_otherwise("seconds"));
        assert_eq!(p.set_keys(), ["half_minute"]);
    }

    #[test]
    fn an_unknown_key_names_the_nearest() {
        let e = resolve(&[("second", "5")], false).unwrap_err().to_string();
        assert_eq!(e, "test demo: unknown parameter `second`; did you mean seconds?");
    }

    #[test]
    fn values_out_of_range_or_of_the_wrong_form_are_refused_with_what_would_be_right() {
        for (key, value) in [
            ("seconds", "0"),
            ("seconds", "1001"),
            ("seconds", "ten"),
            ("seconds", "-1"),
            ("seconds", "auto"),
            ("span_bytes", "8 gigs"),
            ("span_bytes", "5000"),
            ("span_bytes", "99999999999TB"),
            ("depths", "1,,2"),
            ("depths", "1,64"),
        ] {
            let e = resolve(&[(key, value)], false).unwrap_err().to_string();
            assert!(e.contains(key) && e.contains(value) && e.contains("expected"), "{e}");
        }
        assert_eq!(resolve(&[("span_bytes", "128 KiB")], false).unwrap().integer("span_bytes"), 131_072);
    }

    #[test]
    fn settings_split_at_the_first_equals_sign() {
        assert_eq!(parse_settings(&["a=b=c"]).unwrap(), [("a".to_owned(), "b=c".to_owned())]);
        assert!(parse_settings(&["a"]).is_err() && parse_settings(&["=b"]).is_err());
        let twice = parse_settings(&["a=1", "b=1", "a = 2"]).unwrap_err();
        assert_eq!(twice.to_string(), "a is set twice, to 1 and to 2");
    }
}
