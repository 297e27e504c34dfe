//! The estimates of a drive, and how far each might be off.

use ssdlab_catalog::{DIE_PREFIX, Diagnostic, Drive, Origin, SpecRow};
use ssdlab_keys::{Key, KeyTable, Kind};
use ssdlab_nand::die_keys;
use ssdlab_ssd::drive_keys;
use toml::Value;

/// Words in the comment behind a value, before two numbers: `band 166 to 333`. Of a list, the band of its mean.
pub const STATED_BAND: &str = "band ";

/// Of a value of which the file says neither where it is from nor that it is an estimate.
const UNSTATED: &str = "the file does not say";

/// A value that nobody has published, as far as its file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// As a sweep names it: keys of the die file with `die.` in front.
    pub key: String,
    /// As written in the file.
    pub value: String,
    pub unit: String,
    /// What the file says about the choice.
    pub reason: String,
    pub band: Band,
    /// Ends of the band that are not tried, where the file states none: the key has no such value.
    pub without: Vec<NoEnd>,
}

/// An end of a band that is not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoEnd {
    /// The number that it would be.
    pub value: String,
    pub reason: String,
}

/// Other values that an estimate might have.
#[derive(Clone, Debug, PartialEq)]
pub enum Band {
    /// The lowest and the highest. One of them may be the value itself, where the key allows no other.
    Numbers(Vec<Value>),
    /// The other names, or the other truth.
    Choices(Vec<Value>),
}

impl Estimate {
    /// Whether its file states a band of it.
    pub(crate) fn has_stated_band(&self) -> bool {
        stated(&self.reason).is_ok_and(|band| band.is_some())
    }
}

impl Band {
    /// The values other than the estimate itself; none where there is no saying which.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        match self {
            Band::Numbers(values) | Band::Choices(values) => values,
        }
    }
}

/// Sections and keys that decide on what a drive is rather than how fast it is, or on what the tests here do not
/// reach: errors of worn and aged flash, power cuts, and erases by key.
const LEFT_ALONE: &[&str] = &[
    "description",
    "capacity_bytes",
    "flash.",
    "die.description",
    "die.geometry.",
    "die.wear.",
    "die.errors.",
    "power_loss.",
    "encryption.",
];
const POWER: &[&str] = &["power.", "die.power."];

/// The estimates of `drive`. Numbers are varied by `percent` each way, unless the file states a band
/// ([`STATED_BAND`]). Those that only decide on power are left out unless `power` asks for them.
///
/// # Errors
/// If a comment begins to state a band, and it is none, or does not hold the value: a slip must not make it another.
pub fn estimates(drive: &Drive, percent: f64, power: bool) -> Result<Vec<Estimate>, Diagnostic> {
    let of_drive = drive.rows.iter().map(|row| (row.key.clone(), row, drive_keys()));
    let of_die = drive.die.rows.iter().map(|row| (format!("{DIE_PREFIX}{}", row.key), row, die_keys()));
    of_drive
        .chain(of_die)
        .filter(|(key, _, _)| !LEFT_ALONE.iter().any(|left| key.starts_with(left)))
        .filter(|(key, _, _)| power || !POWER.iter().any(|left| key.starts_with(left)))
        .filter_map(|(key, row, table)| estimate(key, row, table, percent).transpose())
        .collect()
}

fn estimate(path: String, row: &SpecRow, table: &KeyTable, percent: f64) -> Result<Option<Estimate>, Diagnostic> {
    let reason = match &row.origin {
        Origin::Estimate(reason) => reason.as_str(),
        // Of what nobody vouches for, nobody knows more than of an estimate. Files of the catalog have no such value.
        Origin::Unstated => UNSTATED,
        Origin::Source(_) => return Ok(None),
    };
    let Some(key) = table.key(&row.key) else { return Ok(None) };
    let mut without = Vec::new();
    let band = match &key.kind {
        Kind::Truth => Band::Choices(vec![Value::Boolean(row.value != "true")]),
        Kind::Choice(choices) => {
            let others = choices.iter().filter(|c| c.name != row.value).map(|c| Value::String(c.name.clone()));
            Band::Choices(others.collect())
        }
        Kind::Whole | Kind::Number | Kind::List(_) => {
            let stated = stated(reason).map_err(|NoBand| {
                Diagnostic::new(format!("{path}: the comment \"{reason}\" states no band that can be read"))
                    .help("write two numbers, the lower one first, and the unit behind both: `band 2 to 5 us`")
            })?;
            holds(stated, row).map_err(|value| {
                Diagnostic::new(format!("{path}: the band of the comment \"{reason}\" does not hold the value, {value}"))
                    .help("a band is in the unit of its key, and goes from below the value, or of a list its mean, to above it")
            })?;
            let Some(ends) = numbers(row, key, stated, percent) else { return Ok(None) };
            let mut numbers = Vec::new();
            for end in ends {
                match end {
                    Ok(number) => numbers.push(number),
                    Err(no_end) => without.push(no_end),
                }
            }
            Band::Numbers(numbers)
        }
        Kind::Text => return Ok(None),
    };
    let (value, unit) = (row.value.clone(), row.unit.clone());
    Ok(Some(Estimate { key: path, value, unit, reason: reason.to_owned(), band, without }))
}

/// The value with which a file that says `text` is read.
fn value_of(text: &str) -> Option<Value> {
    toml::from_str::<toml::Table>(&format!("value = {text}")).ok()?.remove("value")
}

/// The number, or the list of numbers, with which a file is read that says `text` of a key of this kind: one that need not be
/// whole has a point, whether it is written with one or not.
pub(crate) fn number_of(text: &str, kind: &Kind) -> Option<Value> {
    fn of_kind(value: Value, kind: &Kind) -> Option<Value> {
        Some(match (value, kind) {
            (Value::Integer(v), Kind::Number) => Value::Float(v as f64),
            (number @ Value::Integer(_), Kind::Whole) | (number @ Value::Float(_), Kind::Number) => number,
            (Value::Array(all), Kind::List(of)) => {
                Value::Array(all.into_iter().map(|one| of_kind(one, of)).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }
    of_kind(value_of(text)?, kind)
}

/// The ends of the band of a number or a list, or why one of them is not tried; `None` where the value is no number.
fn numbers(row: &SpecRow, key: &Key, band: Option<(f64, f64)>, percent: f64) -> Option<Vec<Result<Value, NoEnd>>> {
    let value = number_of(&row.value, &key.kind)?;
    let mean = mean(&value)?;
    if !key.range.one_of.is_empty() {
        return Some(neighbours(&value, band, &key.range.one_of).into_iter().map(Ok).collect());
    }
    if mean == 0.0 {
        // No share of nothing is a change; a band says what there may be.
        let Some((low, high)) = band else { return Some(Vec::new()) };
        let ends = [low, high].map(|end| in_place_of_zero(&value, end, key));
        return Some(ends.into_iter().flatten().filter(|end| *end != value).map(Ok).collect());
    }
    let Some((low, high)) = band else {
        return [-percent, percent].iter().map(|by| scaled(&value, 1.0 + by / 100.0, key)).collect();
    };
    // A value at the end of its band goes no further there.
    let ends = [low, high].into_iter().filter(|end| *end != mean);
    let ends = ends.map(|end| match &value {
        Value::Integer(from) => Some(Ok(last_whole(*from, end, key))),
        _ => scaled(&value, end / mean, key),
    });
    let ends: Vec<_> = ends.collect::<Option<_>>()?;
    Some(ends.into_iter().filter(|end| !end.as_ref().is_ok_and(|end| *end == value)).collect())
}

/// Of a key that allows some numbers only: the next ones each way, or the ends of the band.
fn neighbours(value: &Value, band: Option<(f64, f64)>, allowed: &[f64]) -> Vec<Value> {
    let Some(now) = number(value) else { return Vec::new() };
    let in_band = |other: &f64| band.is_none_or(|(low, high)| (low..=high).contains(other));
    let lower = allowed.iter().copied().filter(|other| *other < now && in_band(other));
    let higher = allowed.iter().copied().filter(|other| *other > now && in_band(other));
    let ends = match band {
        None => [lower.max_by(f64::total_cmp), higher.min_by(f64::total_cmp)],
        Some(_) => [lower.min_by(f64::total_cmp), higher.max_by(f64::total_cmp)],
    };
    let of_its_kind = |end: f64| match value {
        Value::Integer(_) => Value::Integer(end as i64),
        _ => Value::Float(end),
    };
    ends.into_iter().flatten().map(of_its_kind).collect()
}

fn in_place_of_zero(zero: &Value, number: f64, key: &Key) -> Option<Value> {
    Some(match zero {
        Value::Integer(_) => last_whole(0, number, key),
        Value::Float(_) => Value::Float(within(four_digits(number), key)),
        _ => return None,
    })
}

/// The last whole number on the way to an end of a stated band, which none may leave.
fn last_whole(from: i64, end: f64, key: &Key) -> Value {
    let whole = if end < from as f64 { libm::ceil(end) } else { libm::floor(end) };
    Value::Integer(within(whole, key) as i64)
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(v) => Some(*v as f64),
        Value::Float(v) => Some(*v),
        _ => None,
    }
}

fn mean(value: &Value) -> Option<f64> {
    match value {
        Value::Array(values) if !values.is_empty() => {
            let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
            numbers.map(|n| n.iter().sum::<f64>() / n.len() as f64)
        }
        other => number(other),
    }
}

/// The value times `factor`, within what the key allows, or why there is none such.
fn scaled(value: &Value, factor: f64, key: &Key) -> Option<Result<Value, NoEnd>> {
    Some(match value {
        // The shape of a list stays, at a limit of the key as well: it is another list if any of its values is another.
        Value::Array(values) => {
            let scaled: Vec<_> = values.iter().map(|v| scaled(v, factor, key)).collect::<Option<_>>()?;
            let list: Vec<Value> =
                scaled.iter().zip(values).map(|(end, v)| end.clone().unwrap_or_else(|_| v.clone())).collect();
            match scaled.into_iter().find_map(Result::err) {
                Some(no_end) if list == *values => Err(no_end),
                _ => Ok(Value::Array(list)),
            }
        }
        Value::Integer(v) => {
            let wanted = libm::round(*v as f64 * factor);
            let by_one = *v as f64 + if factor < 1.0 { -1.0 } else { 1.0 };
            // By less than one there is no other; it is the least by which such an estimate can be wrong.
            moved_to(*v as f64, if wanted == *v as f64 { by_one } else { wanted }, key).and_then(|end| match end {
                0.0 => Err(NoEnd {
                    value: "0".to_owned(),
                    reason:
                        "0 is no smaller amount but has a meaning of its own; a band from 0 in its comment tries it"
                            .to_owned(),
                }),
                end => Ok(Value::Integer(end as i64)),
            })
        }
        Value::Float(v) => moved_to(*v, four_digits(v * factor), key).map(Value::Float),
        _ => return None,
    })
}

/// The number that is wanted in place of one, or what the key allows on the way there.
fn moved_to(from: f64, wanted: f64, key: &Key) -> Result<f64, NoEnd> {
    let end = within(wanted, key);
    if end != from || from == 0.0 {
        return Ok(end);
    }
    let reason = match (key.range.least, key.range.most) {
        (Some(least), _) if wanted < least => format!("the key allows no less than {least}"),
        (_, Some(most)) if wanted > most => format!("the key allows no more than {most}"),
        _ => "so small a share of it changes nothing".to_owned(),
    };
    Err(NoEnd { value: wanted.to_string(), reason })
}

/// As a person would write it.
fn four_digits(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let digits = libm::pow(10.0, 3.0 - libm::floor(libm::log10(value.abs())));
    libm::round(value * digits) / digits
}

fn within(value: f64, key: &Key) -> f64 {
    let range = &key.range;
    value.max(range.least.unwrap_or(f64::NEG_INFINITY)).min(range.most.unwrap_or(f64::INFINITY))
}

/// A band is begun, and not two numbers in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NoBand;

/// The band that a comment states, if it does: a number follows the word.
fn stated(reason: &str) -> Result<Option<(f64, f64)>, NoBand> {
    let begins = |rest: &&str| rest.starts_with(|c: char| c.is_ascii_digit());
    let after = reason.match_indices(STATED_BAND).map(|(at, word)| reason[at + word.len()..].trim_start());
    let Some(rest) = after.into_iter().find(begins) else { return Ok(None) };
    let mut words = rest.split([' ', ',', ':', ';', ')']).filter(|word| !word.is_empty());
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<f64>().ok()).ok_or(NoBand);
    let (low, to, high) = (number(words.next())?, words.next(), number(words.next())?);
    if to == Some("to") && low < high { Ok(Some((low, high))) } else { Err(NoBand) }
}

/// Whether a band has the value inside, which in another unit it seldom has; `Err` is the value, or the mean of a list.
fn holds(band: Option<(f64, f64)>, row: &SpecRow) -> Result<(), f64> {
    match (band, value_of(&row.value).as_ref().and_then(mean)) {
        (Some((low, high)), Some(value)) if !(low..=high).contains(&value) => Err(value),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_catalog::resolve;

    use super::*;

    fn of(key: &str, percent: f64) -> Estimate {
        let drive = resolve("jmf667h-toshiba-128gb").unwrap();
        let all = estimates(&drive, percent, false).unwrap();
        all.into_iter().find(|e| e.key == key).unwrap_or_else(|| panic!("{key} is no estimate"))
    }

    #[test]
    fn numbers_go_both_ways_lists_as_a_whole_and_names_to_every_other() {
        let program = of("die.timing.program_us", 10.0);
        assert_eq!(program.value, "[600.0, 2250.0]");
        let (low, high) = (&program.band.values()[0], &program.band.values()[1]);
        assert_eq!((low.to_string(), high.to_string()), ("[540.0, 2025.0]".into(), "[660.0, 2475.0]".into()));
        // Two superblocks by a tenth are still two: one more and one less.
        let start = of("gc.start_free_superblocks", 10.0);
        assert!(start.band.values().contains(&Value::Integer(start.value.parse::<i64>().unwrap() + 1)), "{start:?}");
        let policy = of("gc.policy", 10.0);
        assert!(policy.band.values().len() > 2 && !policy.band.values().contains(&Value::String("greedy".into())));
    }

    #[test]
    fn what_a_file_does_not_vouch_for_is_an_estimate() {
        let text =
            "base = \"jmf667h-toshiba-128gb\"\n[controller]\nwrite_unit_us = 10.0\nread_unit_us = 5.0 # the maker\n";
        let drive = ssdlab_catalog::parse_drive("mine.toml", text).unwrap();
        let all = estimates(&drive, 20.0, false).unwrap();
        let of = |key: &str| all.iter().find(|e| e.key == key);
        let varied = of("controller.write_unit_us").expect("nobody vouches for it");
        assert_eq!(varied.band.values(), [Value::Float(8.0), Value::Float(12.0)]);
        assert!(of("controller.read_unit_us").is_none());
    }

    #[test]
    fn a_number_is_varied_as_its_key_has_it_and_not_as_it_is_written() {
        let of = |value: &str| {
            let text = format!("base = \"jmf667h-toshiba-128gb\"\n[controller]\nread_unit_us = {value}\n");
            let drive = ssdlab_catalog::parse_drive("mine.toml", &text).unwrap();
            let all = estimates(&drive, 20.0, false).unwrap();
            all.into_iter().find(|e| e.key == "controller.read_unit_us").unwrap().band
        };
        for written in ["2", "2.0", "0x2"] {
            assert_eq!(of(written), Band::Numbers(vec![Value::Float(1.6), Value::Float(2.4)]), "{written}");
        }
        // The ends of a band are tried as they are stated.
        let stated = of("5 # estimate: a guess; band 2.5 to 7.5 us");
        assert_eq!(stated, Band::Numbers(vec![Value::Float(2.5), Value::Float(7.5)]));
        let list = number_of("[1, 2.5]", &Kind::List(Box::new(Kind::Number)));
        assert_eq!(list, Some(Value::Array(vec![Value::Float(1.0), Value::Float(2.5)])));
    }

    #[test]
    fn what_a_source_says_is_left_alone_and_power_only_moves_power() {
        let drive = resolve("jmf667h-toshiba-128gb").unwrap();
        let keys = |power: bool| -> Vec<String> {
            estimates(&drive, 20.0, power).unwrap().into_iter().map(|e| e.key).collect()
        };
        assert!(!keys(false).iter().any(|k| k == "controller.channels" || k.starts_with("power.")));
        assert!(keys(true).iter().any(|k| k.starts_with("power.")));
    }

    #[test]
    fn nothing_is_varied_by_a_stated_band_alone_and_no_value_leaves_its_band() {
        let any = resolve("jmf667h-toshiba-128gb").unwrap().rows[0].clone();
        let row = |value: &str| SpecRow { value: value.to_owned(), ..any.clone() };
        let key = drive_keys().key("controller.move_unit_us").unwrap();
        let whole = |value: i64| Ok(Value::Integer(value));
        assert_eq!(numbers(&row("0.0"), key, None, 20.0), Some(vec![]));
        assert_eq!(numbers(&row("0.0"), key, Some((0.0, 50.0)), 20.0), Some(vec![Ok(Value::Float(50.0))]));
        let key = drive_keys().key("controller.programs_at_once").unwrap();
        assert_eq!(numbers(&row("8"), key, Some((4.0, 8.0)), 20.0), Some(vec![whole(4)]));
        assert_eq!(numbers(&row("2"), key, None, 20.0), Some(vec![whole(1), whole(3)]));
        // Nor for the sake of being whole.
        assert_eq!(numbers(&row("2"), key, Some((1.6, 2.4)), 20.0), Some(vec![]));
        assert_eq!(numbers(&row("2"), key, Some((0.6, 3.6)), 20.0), Some(vec![whole(1), whole(3)]));
    }

    #[test]
    fn an_end_that_is_not_tried_says_why() {
        let any = resolve("jmf667h-toshiba-128gb").unwrap().rows[0].clone();
        let ends = |path: &str, value: &str, band: Option<(f64, f64)>| {
            let key = drive_keys().key(path).unwrap();
            numbers(&SpecRow { value: value.to_owned(), ..any.clone() }, key, band, 20.0).unwrap()
        };
        let whole = |value: i64| Ok(Value::Integer(value));
        let why = |end: &Result<Value, NoEnd>| end.clone().map_err(|no| format!("{}: {}", no.value, no.reason));
        // 0 is a value that this key has, and means something else: until enough are free.
        let victims = ends("gc.victims_per_start", "1", None);
        assert!(why(&victims[0]).unwrap_err().starts_with("0: 0 is no smaller amount"), "{victims:?}");
        assert_eq!(victims[1..], [whole(2)]);
        assert_eq!(ends("gc.victims_per_start", "2", None), [whole(1), whole(3)]);
        // Who states it has it tried.
        assert_eq!(ends("gc.victims_per_start", "1", Some((0.0, 2.0))), [whole(0), whole(2)]);
        let at_once = ends("controller.programs_at_once", "1", None);
        assert_eq!(why(&at_once[0]), Err("0: the key allows no less than 1".to_owned()));
        assert_eq!(at_once[1..], [whole(2)]);
        let at_once = ends("controller.programs_at_once", "512", None);
        assert_eq!(
            (&at_once[0], why(&at_once[1])),
            (&whole(410), Err("614: the key allows no more than 512".to_owned()))
        );
    }

    #[test]
    fn no_value_that_is_tried_is_beyond_what_its_key_allows() {
        for percent in [0.001, 10.0, 100.0, 1000.0] {
            for name in ssdlab_catalog::drive_names() {
                for e in estimates(&resolve(name).unwrap(), percent, true).unwrap() {
                    let table = if e.key.starts_with(DIE_PREFIX) { die_keys() } else { drive_keys() };
                    let key = table.key(e.key.trim_start_matches(DIE_PREFIX)).unwrap();
                    let Band::Numbers(values) = &e.band else { continue };
                    let numbers = values.iter().flat_map(|v| v.as_array().cloned().unwrap_or_else(|| vec![v.clone()]));
                    for tried in numbers.map(|v| number(&v).unwrap()) {
                        assert!(within(tried, key) == tried, "{name} {e:?}");
                    }
                    assert!(values.iter().all(|v| v.to_string() != e.value), "{name} {e:?}");
                    let of_zero = mean(&value_of(&e.value).unwrap()) == Some(0.0);
                    let is_free = key.range.one_of.is_empty() && !of_zero && !e.has_stated_band();
                    assert!(
                        !is_free || values.len() + e.without.len() == 2,
                        "{name}: an end that nobody tells of: {e:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn of_numbers_in_a_list_the_next_ones_are_tried_or_the_ends_of_the_band() {
        let drive = resolve("600p-256gb").unwrap();
        let row = drive.rows.iter().find(|row| row.key == "link.pcie.max_payload_bytes").unwrap();
        let key = drive_keys().key(&row.key).unwrap();
        let of = |value: &str, band: Option<(f64, f64)>| {
            let values = numbers(&SpecRow { value: value.to_owned(), ..row.clone() }, key, band, 20.0).unwrap();
            values.iter().map(|v| v.as_ref().unwrap().as_integer().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(of("256", None), [128, 512]);
        assert_eq!(of("128", None), [256]);
        assert_eq!(of("512", Some((100.0, 2048.0))), [128, 2048]);
    }

    #[test]
    fn a_band_can_be_stated() {
        assert_eq!(stated("band 166 to 333: the part codes allow both"), Ok(Some((166.0, 333.0))));
        assert_eq!(stated("of the size usual, band 0.5 to 2, guessed"), Ok(Some((0.5, 2.0))));
        assert_eq!(stated("a band of players"), Ok(None));
        assert_eq!(stated("a band of players, band 1 to 4"), Ok(Some((1.0, 4.0))));
    }

    #[test]
    fn a_band_that_cannot_be_read_is_an_error_and_not_another_band() {
        for slip in ["band 1 to 12us", "band 2-5 us", "band 3 to 2", "band 3", "band 2 till 5", "band  5us to 7"] {
            assert_eq!(stated(slip), Err(NoBand), "{slip}");
        }
        let text =
            "base = \"jmf667h-toshiba-128gb\"\n[controller]\nread_unit_us = 5.0 # estimate: a guess; band 2-5 us\n";
        let drive = ssdlab_catalog::parse_drive("mine.toml", text).unwrap();
        let told = estimates(&drive, 20.0, false).unwrap_err().what;
        assert!(told.starts_with("controller.read_unit_us: the comment ") && told.contains("band 2-5 us"), "{told}");
    }

    #[test]
    fn a_band_that_does_not_hold_the_value_is_an_error() {
        let of = |value: &str, band: &str| {
            let base = "base = \"jmf667h-toshiba-128gb\"\n[controller]\n";
            let text = format!("{base}read_unit_us = {value} # estimate: a guess; band {band}\n");
            estimates(&ssdlab_catalog::parse_drive("mine.toml", &text).unwrap(), 20.0, false).map_err(|e| e.what)
        };
        let told = of("5.0", "2000 to 8000 ns").unwrap_err();
        assert!(
            told.starts_with("controller.read_unit_us: ") && told.ends_with("does not hold the value, 5"),
            "{told}"
        );
        // An end of it may be the value.
        assert!(of("5.0", "5 to 8 us").is_ok() && of("5.0", "2 to 5 us").is_ok());
    }

    #[test]
    fn every_band_of_the_catalog_can_be_read_and_has_its_value_inside() {
        let mut bands = 0;
        for drive in ssdlab_catalog::drive_names().map(|name| resolve(name).unwrap()) {
            for e in estimates(&drive, 20.0, true).unwrap() {
                bands += usize::from(stated(&e.reason).unwrap().is_some());
            }
        }
        assert!(bands > 100, "{bands}");
    }
}
