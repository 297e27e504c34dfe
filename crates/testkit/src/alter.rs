//! Nonsense for loaders: a saved state in which one value is another one, and whose form is right.
//!
//! The bytes are decoded, one value of them is changed, and the whole is encoded again: what checksums and lengths say is true.

use postcard::{from_bytes, to_stdvec};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ssdlab_core::Rng;
use ssdlab_ftl::{SavedLogBlock, SavedMap};
use ssdlab_ssd::SavedDrive;

/// A state with one value changed; `None` if what was drawn cannot be such a value, or changes nothing. `inner` may change what
/// a field of bytes has inside, by the name of the field; it returns whether it did.
///
/// # Panics
/// If the bytes are no such state.
#[must_use]
pub fn altered<T: Serialize + DeserializeOwned>(
    bytes: &[u8],
    rng: &mut Rng,
    inner: &mut dyn FnMut(&str, &mut Vec<u8>, &mut Rng) -> bool,
) -> Option<Vec<u8>> {
    let state: T = from_bytes(bytes).expect("it was saved");
    let mut tree = serde_json::to_value(&state).expect("every state is a tree");
    let mut words = Vec::new();
    collect_words(&tree, &mut words);
    change(&mut tree, &words, rng, inner);
    let other: T = serde_json::from_value(tree).ok()?;
    let other = to_stdvec(&other).expect("a vector takes everything");
    (other != bytes).then_some(other)
}

/// A saved drive of which one value is another one: its own, its translation layer's, or one of the spare areas.
///
/// # Panics
/// If the bytes are no such drive.
#[must_use]
// Not generic, so that the states of drives are taken apart here alone.
pub fn altered_drive(saved: &[u8], by_blocks: bool, rng: &mut Rng) -> Option<Vec<u8>> {
    let mut inner = |name: &str, bytes: &mut Vec<u8>, rng: &mut Rng| {
        let mut spare_areas = |name: &str, bytes: &mut Vec<u8>, rng: &mut Rng| {
            let rows = name == "rows";
            if rows {
                alter_differences(bytes, rng);
            }
            rows
        };
        let other = match name {
            "translation" if by_blocks => altered::<SavedLogBlock>(bytes, rng, &mut spare_areas),
            "translation" => altered::<SavedMap>(bytes, rng, &mut spare_areas),
            _ => None,
        };
        other.map(|other| *bytes = other).is_some()
    };
    altered::<SavedDrive>(saved, rng, &mut inner)
}

/// Where two saved drives differ first, and how.
///
/// # Panics
/// If the bytes are no such drives.
#[must_use]
pub fn difference_of_drives(one: &[u8], other: &[u8], by_blocks: bool) -> String {
    first_difference::<SavedDrive>(one, other, &|name, old, new| match name {
        "translation" if by_blocks => Some(first_difference::<SavedLogBlock>(old, new, &|_, _, _| None)),
        "translation" => Some(first_difference::<SavedMap>(old, new, &|_, _, _| None)),
        _ => None,
    })
}

/// By the name of a field of bytes, what is different in it.
type Within<'a> = dyn Fn(&str, &[u8], &[u8]) -> Option<String> + 'a;

/// Where two states differ first, and how: for messages. `inner` tells it of what fields of bytes have inside.
fn first_difference<T: Serialize + DeserializeOwned>(one: &[u8], other: &[u8], inner: &Within<'_>) -> String {
    let tree = |bytes: &[u8]| {
        let state: T = from_bytes(bytes).expect("it was saved");
        serde_json::to_value(&state).expect("every state is a tree")
    };
    difference(&tree(one), &tree(other), inner).unwrap_or_default()
}

fn difference(one: &Value, other: &Value, inner: &Within<'_>) -> Option<String> {
    let bytes = |value: &Value| -> Option<Vec<u8>> {
        value.as_array()?.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect()
    };
    match (one, other) {
        (Value::Object(fields), Value::Object(others)) if fields.keys().eq(others.keys()) => {
            fields.iter().zip(others.values()).find_map(|((name, one), other)| {
                let told = bytes(one).zip(bytes(other)).filter(|_| one != other);
                let told = told.and_then(|(one, other)| inner(name, &one, &other));
                told.or_else(|| difference(one, other, inner)).map(|found| format!("{name}.{found}"))
            })
        }
        (Value::Array(each), Value::Array(others)) if each.len() == others.len() => {
            (0..each.len()).find_map(|k| difference(&each[k], &others[k], inner).map(|found| format!("{k}.{found}")))
        }
        _ => (one != other).then(|| {
            let short = |value: &Value| value.to_string().chars().take(60).collect::<String>();
            format!(" {} is {}", short(one), short(other))
        }),
    }
}

/// Names of enumerated values.
fn collect_words(tree: &Value, words: &mut Vec<String>) {
    match tree {
        Value::String(word) if !words.contains(word) => words.push(word.clone()),
        Value::Array(each) => each.iter().for_each(|value| collect_words(value, words)),
        Value::Object(fields) => fields.values().for_each(|value| collect_words(value, words)),
        _ => {}
    }
}

fn change(
    tree: &mut Value,
    words: &[String],
    rng: &mut Rng,
    inner: &mut dyn FnMut(&str, &mut Vec<u8>, &mut Rng) -> bool,
) {
    match tree {
        Value::Null => *tree = Value::from(rng.below(3)),
        Value::Bool(value) => *value = !*value,
        Value::Number(number) => *tree = Value::from(another(number.as_u64().unwrap_or(0), rng)),
        Value::String(word) => word.clone_from(&words[rng.below(words.len() as u64) as usize]),
        Value::Array(each) if each.is_empty() => each.push(Value::from(rng.below(3))),
        Value::Array(each) => {
            let (k, other) = (rng.below(each.len() as u64) as usize, rng.below(each.len() as u64) as usize);
            match rng.below(12) {
                0 => _ = each.remove(k),
                1 => each.insert(k, each[other].clone()),
                2 => each.swap(k, other),
                3 => each[k] = each[other].clone(),
                _ => change(&mut each[k], words, rng, inner),
            }
        }
        Value::Object(fields) => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let Some(name) = (!names.is_empty()).then(|| &names[rng.below(names.len() as u64) as usize]) else {
                fields.insert(rng.below(100).to_string(), Value::from(rng.below(100)));
                return;
            };
            // A table by number.
            if let Ok(number) = name.parse()
                && rng.chance(1, 3)
            {
                let value = fields.remove(name).expect("it is there");
                if rng.chance(3, 4) {
                    fields.insert(another(number, rng).to_string(), value);
                }
                return;
            }
            let value = &mut fields[name];
            let bytes = value.as_array().filter(|each| each.len() > 64);
            let bytes = bytes.and_then(|each| each.iter().map(|byte| u8::try_from(byte.as_u64()?).ok()).collect());
            if let Some(mut bytes) = bytes
                && inner(name, &mut bytes, rng)
            {
                *value = Value::from(bytes);
                return;
            }
            change(value, words, rng, inner);
        }
    }
}

/// A number near another one, or at an end of what may be.
fn another(number: u64, rng: &mut Rng) -> u64 {
    match rng.below(10) {
        0 => 0,
        1 => number.wrapping_sub(1),
        2 | 3 => number.wrapping_add(1 + rng.below(4)),
        4 => [u64::from(u8::MAX), u16::MAX.into(), u32::MAX.into(), u64::MAX][rng.below(4) as usize],
        5 => [1 << 7, 1 << 15, 1 << 31, 1 << 63][rng.below(4) as usize],
        6 => rng.below(16),
        7 => rng.below(1 << 16),
        _ => number ^ 1 << rng.below(64 - u64::from(number.leading_zeros().min(56))),
    }
}

/// The same for a list of numbers that are kept as differences, in bytes of seven bits ([`ssdlab_nand::SavedMedium`]): one
/// number is another one, and those behind it are as they were.
///
/// # Panics
/// If there are no numbers.
fn alter_differences(bytes: &mut Vec<u8>, rng: &mut Rng) {
    let mut numbers: Vec<u64> = Vec::new();
    let mut next = (0, 0);
    for &byte in &*bytes {
        next = (next.0 | u64::from(byte & 0x7F) << next.1, next.1 + 7);
        if byte < 0x80 {
            numbers.push(next.0);
            next = (0, 0);
        }
    }
    let unfold = |folded: u64| (folded >> 1) as i64 ^ -((folded & 1) as i64);
    let fold = |difference: i64| u64::from((difference << 1 ^ difference >> 31) as u32);
    let k = rng.below(numbers.len() as u64) as usize;
    let by = i64::from(another(rng.below(1000), rng) as i32);
    numbers[k] = fold(i64::from((unfold(numbers[k]) + by) as i32));
    // The number after it in its own list is as before: the next one, or the one behind a row's own number.
    if let Some(after) = numbers.get_mut(k + 1 + rng.below(2) as usize) {
        *after = fold(i64::from((unfold(*after) - by) as i32));
    }
    bytes.clear();
    for mut left in numbers {
        while left >= 0x80 {
            bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        bytes.push(left as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
    struct State {
        numbers: Vec<u32>,
        choice: Option<u64>,
        bytes: Vec<u8>,
    }

    #[test]
    fn one_value_is_another_one_and_the_rest_is_as_it_was() {
        let state = State { numbers: vec![1, 2, 3], choice: Some(7), bytes: vec![0; 100] };
        let bytes = to_stdvec(&state).unwrap();
        let mut rng = Rng::new(1);
        let all: Vec<_> = (0..100).filter_map(|_| altered::<State>(&bytes, &mut rng, &mut |_, _, _| false)).collect();
        assert!(all.len() > 30, "{}", all.len());
        for other in all {
            assert_ne!(first_difference::<State>(&bytes, &other, &|_, _, _| None), "");
            let other: State = from_bytes(&other).unwrap();
            let same = [other.numbers == state.numbers, other.choice == state.choice, other.bytes == state.bytes];
            assert_eq!(same.iter().filter(|same| !**same).count(), 1, "{other:?}");
        }
    }

    #[test]
    fn of_differences_one_is_another_one_and_one_behind_it_makes_up_for_it() {
        let mut rng = Rng::new(2);
        for _ in 0..200 {
            let before: Vec<u8> = (0..40).map(|k| k * 3).collect();
            let mut after = before.clone();
            alter_differences(&mut after, &mut rng);
            let ends = after.iter().enumerate().filter(|(_, byte)| **byte < 0x80).map(|(at, _)| at + 1);
            let starts = std::iter::once(0).chain(ends.clone());
            let numbers: Vec<&[u8]> = starts.zip(ends).map(|(from, to)| &after[from..to]).collect();
            let same = numbers.iter().zip(&before).filter(|(number, byte)| ***number == [**byte]).count();
            assert!(numbers.len() == 40 && same >= 38, "{after:?}");
        }
    }
}
