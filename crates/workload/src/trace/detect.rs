//! Which format is it? By its name, or from the first bytes: by shape, so that a wrong number in a recognisable line is
//! reported as that and not as an unknown format.

use std::str::FromStr;

use ssdlab_core::input;

use super::error::TraceError;
use super::format::{FORMATS, Format};
use super::iolog::{HEADER_V2, HEADER_V3};
use super::{blkparse, vscsi};

impl FromStr for Format {
    type Err = TraceError;

    fn from_str(name: &str) -> Result<Self, TraceError> {
        let found = FORMATS.iter().find(|f| f.1.eq_ignore_ascii_case(name));
        found.map(|f| f.0).ok_or_else(|| TraceError::UnknownFormatName { name: name.to_owned() })
    }
}

/// `start` is the beginning of the file, or all of it.
pub(super) fn detect(start: &[u8]) -> Option<Format> {
    vscsi_version(start).or_else(|| {
        let start = input::without_mark(start);
        // A multi-byte character may be cut at the end of the window.
        let text = match std::str::from_utf8(start) {
            Ok(text) => text,
            Err(e) if e.error_len().is_none() => std::str::from_utf8(&start[..e.valid_up_to()]).ok()?,
            Err(_) => return None,
        };
        let lines = || text.lines().map(str::trim).filter(|l| !l.is_empty()).take(20);
        // Of Tencent, all of them would be of the first seconds of 1970.
        lines().find_map(text_format).or_else(|| lines().any(fits_two_formats).then_some(Format::CloudPhysics))
    })
}

/// Binary records: the version field must be right in each that can be seen.
fn vscsi_version(start: &[u8]) -> Option<Format> {
    [Format::VscsiV1, Format::VscsiV2].into_iter().find(|&format| {
        let size = format.record_bytes().unwrap_or(usize::MAX);
        start.len() >= size && start.chunks_exact(size).take(64).all(|r| vscsi::looks_like(format, r))
    })
}

/// Digits, perhaps with a sign: a number, right or wrong.
fn numeric(field: &str) -> bool {
    let digits = field.trim().trim_start_matches('-');
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

fn letter(field: &str) -> bool {
    ["R", "r", "W", "w"].contains(&field)
}

fn split(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

fn numbers(fields: &[&str], places: &[usize]) -> bool {
    places.iter().all(|&i| numeric(fields[i]))
}

fn is_tencent(fields: &[&str]) -> bool {
    fields.len() == 5 && ["0", "1"].contains(&fields[3]) && numbers(fields, &[0, 1, 2, 4])
}

fn is_cloud_physics(fields: &[&str]) -> bool {
    let hexadecimal = |field: &str| field.len() == 2 && field.bytes().all(|b| b.is_ascii_hexdigit());
    // No command moves a single byte.
    let size = |field: &str| field != "1" && numeric(field);
    fields.len() == 5
        && ["1", "2"].contains(&fields[0])
        && hexadecimal(fields[2])
        && numbers(fields, &[1, 4])
        && size(fields[3])
}

/// A command that moves nothing, of the one, is a read of the other.
fn fits_two_formats(line: &str) -> bool {
    let fields = split(line);
    is_tencent(&fields) && is_cloud_physics(&fields)
}

/// `None`, too, if it fits two formats.
fn text_format(line: &str) -> Option<Format> {
    if line == HEADER_V2 {
        return Some(Format::IologV2);
    }
    if line == HEADER_V3 {
        return Some(Format::IologV3);
    }
    // A machine of many CPUs has more of these than lines are looked at.
    if blkparse::names_input(line) {
        return Some(Format::Blkparse);
    }
    let commas = split(line);
    if commas.len() == 7 && numeric(commas[0]) && ["read", "write"].iter().any(|k| k.eq_ignore_ascii_case(commas[3])) {
        return Some(Format::Msr);
    }
    if commas.len() >= 5 && commas[..3].iter().all(|f| numeric(f)) && letter(commas[3]) {
        return Some(Format::Spc);
    }
    if commas.len() == 5 && letter(commas[1]) && numbers(&commas, &[0, 2, 3, 4]) {
        return Some(Format::Alibaba);
    }
    match (is_tencent(&commas), is_cloud_physics(&commas)) {
        (true, true) => return None,
        (true, false) => return Some(Format::Tencent),
        (false, true) => return Some(Format::CloudPhysics),
        (false, false) => {}
    }
    if commas.len() == 6 && (letter(commas[2]) || commas[2].is_empty()) && numbers(&commas, &[0, 3, 4, 5]) {
        return Some(Format::Systor);
    }
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    if words.len() == 5 && words.iter().all(|w| numeric(w)) {
        return Some(Format::Mqsim);
    }
    let device = words.first().and_then(|w| w.split_once(',')).is_some_and(|(a, b)| numeric(a) && numeric(b));
    (device && words.len() >= 6 && words[1..5].iter().all(|w| numeric(w))).then_some(Format::Blkparse)
}
