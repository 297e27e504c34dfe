//! Numbers in trace files, refused with a reason.

const SECTOR: u64 = ssdlab_core::SECTOR_BYTES;

/// A whole number without sign.
pub(super) fn whole(text: &str, what: &str) -> Result<u64, String> {
    let text = text.trim();
    if text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() {
        return text.parse().map_err(|_| format!("{what} `{text}` is too large; the limit is 2^64-1"));
    }
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| b.is_ascii_digit()) && !rest.is_empty() => {
            Err(format!("{what} `{text}` is negative; it must be zero or more"))
        }
        _ => Err(format!("{what} `{text}` is not a whole number")),
    }
}

/// A number of 512-byte sectors, as bytes.
pub(super) fn sectors(text: &str, what: &str) -> Result<u64, String> {
    let n = whole(text, what)?;
    n.checked_mul(SECTOR).ok_or_else(|| format!("{what} `{}` sectors are more than 2^64 bytes", text.trim()))
}

/// Decimal seconds such as `0.551706`, as nanoseconds. Digits beyond the ninth are cut.
pub(super) fn seconds(text: &str, what: &str) -> Result<u128, String> {
    let text = text.trim();
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (before, after) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    if before.is_empty() || !before.bytes().chain(after.bytes()).all(|b| b.is_ascii_digit()) {
        return Err(format!("{what} `{text}` is not a number of seconds"));
    }
    if unsigned != text {
        return Err(format!("{what} `{text}` is negative; it must be zero or more"));
    }
    let whole_seconds: u64 =
        before.parse().map_err(|_| format!("{what} `{text}` is too large; the limit is 2^64-1 seconds"))?;
    let mut nanos = 0;
    for i in 0..9 {
        nanos = nanos * 10 + u128::from(after.as_bytes().get(i).map_or(0, |d| d - b'0'));
    }
    Ok(u128::from(whole_seconds) * 1_000_000_000 + nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_exactly_or_refused() {
        assert_eq!(whole(" 42 ", "x"), Ok(42));
        assert!(whole("-1", "x").unwrap_err().contains("negative"));
        assert!(whole("18446744073709551616", "x").unwrap_err().contains("too large"));
        for bad in ["", "-", "+1", "1.5", "0x10", "é"] {
            assert!(whole(bad, "x").unwrap_err().contains("not a whole number"), "{bad}");
        }
        assert_eq!(sectors("8", "x"), Ok(4096));
        assert!(sectors("36028797018963968", "x").is_err());
        assert_eq!(seconds("5.000005462", "x"), Ok(5_000_005_462));
        assert_eq!(seconds("0.551706", "x"), Ok(551_706_000));
        assert_eq!(seconds("7", "x"), Ok(7_000_000_000));
        assert_eq!(seconds("-0.556202", "x").unwrap_err(), "x `-0.556202` is negative; it must be zero or more");
        assert!(seconds("18446744073709551616.5", "x").unwrap_err().contains("`18446744073709551616.5` is too large"));
        for bad in ["1.2.3", ".5", "-.5", "", "-", "1.x", "one"] {
            assert!(seconds(bad, "x").unwrap_err().contains("is not a number of seconds"), "{bad}");
        }
    }
}
