//! fio's numbers: bytes with unit prefixes, percentages, times.
//!
//! With `kb_base=1024`, fio's default, `k`, `kb` and `ki` are 1024 and `kib` is **1000**: the reverse of the
//! standards, kept by fio for the sake of old scripts. With `kb_base=1000`, `k` and `kb` are 1000 and `kib` is
//! 1024. Prefixes go up to `p`, in either case. A number may be hexadecimal (`0x1000`).

use ssdlab_core::{MAX_DURATION, MICROSECOND, MILLISECOND, Nanos, SECOND, SECTOR_BYTES};

use super::job::Amount;

/// The unit that a time has when none is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Second,
    Millisecond,
    Microsecond,
}

/// Splits a number from what follows it.
fn number(text: &str) -> Result<(u64, &str), String> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(format!("`{text}` is negative; it must be zero or more"));
    }
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        _ => (text, 10),
    };
    // A hexadecimal number takes no unit: its suffix could not be told from its digits.
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (value, rest) = digits.split_at(end);
    if value.is_empty() {
        return Err(format!("`{text}` is not a number"));
    }
    let value = u64::from_str_radix(value, radix).map_err(|_| format!("`{text}` is too large; the limit is 2^64-1"))?;
    Ok((value, rest.trim()))
}

/// Bytes, such as `4096`, `4k`, `1g`.
pub(super) fn bytes(text: &str, kb_base: u64) -> Result<u64, String> {
    match amount(text, kb_base)? {
        Amount::Bytes(n) => Ok(n),
        Amount::Percent(_) => Err(format!("`{text}`: a percentage has no meaning here; give bytes, such as 4k")),
    }
}

/// Bytes or per cent.
pub(super) fn amount(text: &str, kb_base: u64) -> Result<Amount, String> {
    let (value, unit) = number(text)?;
    if unit == "%" {
        return match u32::try_from(value) {
            Ok(p) if p <= 100 => Ok(Amount::Percent(p)),
            _ => Err(format!("`{text}` must be 0% to 100%")),
        };
    }
    let lower = unit.to_ascii_lowercase();
    let power = match lower.chars().next() {
        None => 0,
        Some('b') if lower == "b" => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some('p') => 5,
        Some(_) => 6,
    };
    let base: u64 = match (power, lower.get(1..)) {
        (0, _) => 1,
        (1..=5, Some("" | "b" | "i")) => kb_base,
        (1..=5, Some("ib")) => 2024 - kb_base,
        _ => {
            return Err(format!("`{text}`: unknown unit `{unit}`; use k, m, g, t or p"));
        }
    };
    base.checked_pow(power)
        .and_then(|m| value.checked_mul(m))
        .map(Amount::Bytes)
        .ok_or_else(|| format!("`{text}` is too large; the limit is 2^64-1 bytes"))
}

/// Whether the text uses a suffix such as `kib`, which means 1000 unless `kb_base=1000`.
pub(super) fn has_reversed_suffix(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["kib", "mib", "gib", "tib", "pib"].iter().any(|s| lower.contains(s))
}

/// A time, such as `30`, `500ms`, `2m`.
pub(super) fn time(text: &str, default: TimeUnit) -> Result<Nanos, String> {
    let (value, unit) = number(text)?;
    let nanos: Nanos = match unit.to_ascii_lowercase().as_str() {
        "" if default == TimeUnit::Microsecond => MICROSECOND,
        "" if default == TimeUnit::Millisecond => MILLISECOND,
        "" | "s" | "sec" => SECOND,
        "us" | "usec" => MICROSECOND,
        "ms" | "msec" => MILLISECOND,
        "m" | "min" => 60 * SECOND,
        "h" => 3600 * SECOND,
        "d" => 86_400 * SECOND,
        _ => {
            return Err(format!("`{text}`: unknown unit `{unit}`; use us, ms, s, m, h or d"));
        }
    };
    let time = value.checked_mul(nanos).filter(|&time| time <= MAX_DURATION);
    time.ok_or_else(|| format!("`{text}` is too long; the limit is 366 days"))
}

/// A number of bytes, perhaps negative.
pub(super) fn signed_bytes(text: &str, kb_base: u64) -> Result<i64, String> {
    let (negative, digits) = match text.trim().strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = i64::try_from(bytes(digits, kb_base)?).map_err(|_| format!("`{text}` is too large"))?;
    if value % SECTOR_BYTES as i64 != 0 {
        return Err(format!("`{text}` is {value} bytes; it must be a multiple of 512"));
    }
    Ok(if negative { -value } else { value })
}

/// A plain whole number within bounds; fio's `k` and so on are understood.
pub(super) fn integer(text: &str, kb_base: u64, min: u64, max: u64) -> Result<u64, String> {
    let value = bytes(text, kb_base)?;
    if (min..=max).contains(&value) {
        Ok(value)
    } else if max == u64::MAX {
        Err(format!("`{text}` must be at least {min}"))
    } else {
        Err(format!("`{text}` must be {min} to {max}"))
    }
}

/// 0 or 1. An option without a value is switched on.
pub(super) fn boolean(text: Option<&str>) -> Result<bool, String> {
    match text {
        None | Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(other) => Err(format!("`{other}` must be 0 or 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_fio_in_both_bases() {
        for (text, by_1024, by_1000) in [
            ("4096", 4096, 4096),
            ("4k", 4096, 4000),
            ("4K", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4ki", 4096, 4000),
            ("4kib", 4000, 4096),
            ("2M", 2 << 20, 2_000_000),
            ("1gb", 1 << 30, 1_000_000_000),
            ("1GiB", 1_000_000_000, 1 << 30),
            ("1t", 1 << 40, 1_000_000_000_000),
            ("0x200", 512, 512),
            ("7b", 7, 7),
        ] {
            assert_eq!(bytes(text, 1024), Ok(by_1024), "{text}");
            assert_eq!(bytes(text, 1000), Ok(by_1000), "{text}");
        }
    }

    #[test]
    fn times_have_the_unit_of_their_option_unless_one_is_written() {
        assert_eq!(time("30", TimeUnit::Second), Ok(30 * SECOND));
        assert_eq!(time("30", TimeUnit::Microsecond), Ok(30 * MICROSECOND));
        assert_eq!(time("2m", TimeUnit::Microsecond), Ok(120 * SECOND));
        assert_eq!(time("500ms", TimeUnit::Second), Ok(500 * MILLISECOND));
        assert_eq!(time("1d", TimeUnit::Second), Ok(86_400 * SECOND));
        assert!(time("1y", TimeUnit::Second).is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "k", "-1", "4q", "4kx", "18446744073709551616", "99999999p", "1.5g", "101%", "é", "0x"] {
            assert!(amount(text, 1024).is_err(), "{text}");
        }
        assert!(bytes("10%", 1024).is_err());
        assert!(integer("0", 1024, 1, 9).is_err());
    }
}
