//! Turns what `toml` and `serde` say about a file into words for whoever wrote the file.

use std::ops::Range;

use ssdlab_core::nearest;
use ssdlab_keys::{Key, KeyTable, unit_of_ending};

use crate::keys::{OVER_PROVISIONING, key_at};

/// Units in which one may think of a quantity, and in which no key is.
const OTHER_ENDINGS: &[&str] = &["_gib", "_tib", "_kb", "_mb", "_tb"];

/// A problem with a file, before it is known where the file's text came from.
#[derive(Debug)]
pub(crate) struct Problem {
    pub what: String,
    pub span: Option<Range<usize>>,
    pub help: Vec<String>,
}

/// Explains an error of the deserializer. `elsewhere` lists the keys that a file of this kind may have.
pub(crate) fn explain(error: &toml::de::Error, elsewhere: &[Key]) -> Problem {
    let message = error.message();
    let quoted = quoted_words(message);
    let mut problem = Problem { what: message.replace('\n', ", "), span: error.span(), help: Vec::new() };
    if message.starts_with("unknown field") {
        if let Some((key, known)) = quoted.split_first() {
            problem.what = format!("unknown key `{key}`");
            problem.help = help_for_key(key, known, elsewhere);
        }
    } else if message.starts_with("unknown variant") {
        if let Some((value, known)) = quoted.split_first() {
            problem.what = format!("unknown value \"{value}\"");
            // Another number is no slip of the pen.
            let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
            let close = nearest(value, known.iter().copied());
            problem.help = match close.first().filter(|name| letters(name) != letters(value)) {
                Some(name) => vec![format!("did you mean \"{name}\"?")],
                None => Vec::new(),
            };
            problem.help.push(format!("possible values: {}", known.join(", ")));
        }
    } else if message.starts_with("missing field") {
        if let Some(key) = quoted.first() {
            problem.what = format!("missing key `{key}`");
            problem.help = vec![format!(
                "add it, or start from a drive or die of the catalog: base = \"NAME\" (see docs/drive-files.md)"
            )];
        }
    } else if let Some(rest) =
        message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))
        && let Some((found, expected)) = rest.split_once(", expected ")
    {
        problem.what = format!("{} does not fit here", plain_found(found));
        problem.help = vec![format!("give {}", plain_type(expected))];
    } else if is_no_name(message) {
        problem.what = "this does not fit here".to_owned();
        problem.help = vec![format!("give {}", plain_type("enum"))];
    } else {
        problem.what = format!("this is not TOML: {}", problem.what);
        problem.help = vec!["docs/drive-files.md shows what these files look like".to_owned()];
    }
    problem
}

/// What is right for the key of `text` whose value an error is about; `None` if it is about no value of a known key.
pub(crate) fn help_for_value(error: &toml::de::Error, text: &str, keys: &KeyTable) -> Option<String> {
    let message = error.message();
    let is_of_value = ["invalid type: ", "invalid value: "].iter().any(|begin| message.starts_with(begin));
    let at = error.span().filter(|_| is_of_value || is_no_name(message))?.start;
    let key = keys.key(&key_at(text, at)?.path)?;
    Some(format!("give {}", key.value_in_words()))
}

/// Whether a value is neither a name of a list nor looks like one: `toml` does not say what it is.
fn is_no_name(message: &str) -> bool {
    message == "wanted string or table" || message.starts_with("wanted exactly 1 element")
}

fn help_for_key(key: &str, known: &[&str], elsewhere: &[Key]) -> Vec<String> {
    let mut help = Vec::new();
    if key == OVER_PROVISIONING {
        help.push(format!(
            "`{key}` is a key of sweeps and of --set; in a drive file `capacity_bytes` leaves as much spare area as the flash has beyond it"
        ));
    } else if let Some((right, unit)) = same_quantity(key, known) {
        help.push(format!("the unit is wrong: use `{right}`, in {unit}"));
    } else if let Some(section) = elsewhere
        .iter()
        .map(Key::split)
        .find_map(|(section, name)| (name == key && !section.is_empty()).then_some(section))
    {
        help.push(format!("`{key}` belongs into [{section}]"));
    } else if let Some(name) = nearest(key, known.iter().copied()).first() {
        help.push(format!("did you mean `{name}`?"));
    }
    help.push(format!("known keys here: {}", known.join(", ")));
    help
}

/// The known key that is `key` in another unit (or without one), and that unit.
fn same_quantity<'a>(key: &str, known: &[&'a str]) -> Option<(&'a str, &'static str)> {
    let endings = unit_of_ending(key).map(|unit| unit.ending).into_iter().chain(OTHER_ENDINGS.iter().copied());
    let stem = endings.into_iter().find_map(|ending| key.strip_suffix(ending)).unwrap_or(key);
    if stem.is_empty() {
        return None;
    }
    known.iter().find_map(|&candidate| {
        let unit = unit_of_ending(candidate)?;
        (candidate.strip_suffix(unit.ending)? == stem).then_some((candidate, unit.words))
    })
}

/// Words between backticks.
fn quoted_words(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

fn plain_found(found: &str) -> String {
    for (technical, plain) in [
        ("string ", "the text "),
        ("integer ", "the number "),
        ("floating point ", "the number "),
        ("boolean ", "the truth value "),
    ] {
        if let Some(value) = found.strip_prefix(technical) {
            // Numbers beyond 64 bits come with the name of their type.
            let value = value.split("` as ").next().unwrap_or(value);
            return format!("{plain}{}", value.trim_matches('`'));
        }
    }
    match found {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        other => other.to_owned(),
    }
}

fn plain_type(expected: &str) -> String {
    match expected {
        "f64" => "a number".to_owned(),
        "u8" => "a whole number from 0 to 255".to_owned(),
        "u16" => "a whole number from 0 to 65535".to_owned(),
        "u32" => "a whole number from 0 to 4294967295".to_owned(),
        "u64" => "a whole number from 0 to 9223372036854775807".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "a text in double quotes".to_owned(),
        "a sequence" => "a list, as in [850.0, 2300.0]".to_owned(),
        "string or table" | "a string or table" | "enum" => {
            "one of the names that docs/drive-files.md lists, in double quotes".to_owned()
        }
        "any valid TOML value" => "a number that fits 64 bits".to_owned(),
        other if other.starts_with("struct ") => "a [section] of keys".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_in_another_unit_is_led_to_the_right_one() {
        let known = ["description", "capacity_bytes", "erase_ms"];
        assert_eq!(same_quantity("capacity_gb", &known), Some(("capacity_bytes", "bytes")));
        assert_eq!(same_quantity("erase_us", &known), Some(("erase_ms", "milliseconds")));
        assert_eq!(same_quantity("erase", &known), Some(("erase_ms", "milliseconds")));
        assert_eq!(same_quantity("size_gb", &known), None);
        // As the table of keys knows units, so does this.
        let known = ["idle_mw", "spread_percent", "reserved_blocks_per_1000", "mega_transfers_per_s"];
        assert_eq!(same_quantity("idle_ua", &known), Some(("idle_mw", "milliwatts")));
        assert_eq!(same_quantity("spread_per_1000", &known), Some(("spread_percent", "per cent")));
        assert_eq!(same_quantity("reserved_blocks", &known), Some(("reserved_blocks_per_1000", "thousandths")));
        assert_eq!(same_quantity("megabytes_per_s", &known), None);
    }

    #[test]
    fn a_key_in_the_wrong_section_is_told_where_it_belongs() {
        let help = help_for_key("channels", &["die", "dies"], &ssdlab_ssd::drive_keys().keys);
        assert_eq!(help[0], "`channels` belongs into [controller]");
        let help = help_for_key(OVER_PROVISIONING, &["capacity_bytes"], &ssdlab_ssd::drive_keys().keys);
        assert!(help[0].contains("in a drive file `capacity_bytes`"), "{}", help[0]);
    }
}
