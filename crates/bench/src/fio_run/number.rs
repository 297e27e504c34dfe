//! Numbers as fio prints them.

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    None,
    Bytes,
    BytesPerSecond,
}

/// A number in at most `digits` characters and a prefix: of two powers (`39.1MiB/s`) or of ten (`41.0MB/s`).
pub(super) fn short(value: u64, digits: usize, binary: bool, unit: Unit) -> String {
    let thousand: u64 = if binary { 1024 } else { 1000 };
    let prefixes = if binary { ["", "Ki", "Mi", "Gi", "Ti", "Pi"] } else { ["", "k", "M", "G", "T", "P"] };
    let word = match unit {
        Unit::None => "",
        Unit::Bytes => "B",
        Unit::BytesPerSecond => "B/s",
    };
    let (mut whole, mut rest, mut prefix) = (value, None, 0);
    while whole.to_string().len() > digits && prefix + 1 < prefixes.len() {
        rest = Some(whole % thousand);
        whole /= thousand;
        prefix += 1;
    }
    let end = format!("{}{word}", prefixes[prefix]);
    let Some(rest) = rest else { return format!("{whole}{end}") };
    // The decimal point takes a character too.
    let decimals = digits.saturating_sub(whole.to_string().len() + 1) as u32;
    if decimals == 0 {
        whole += u64::from(rest >= thousand / 2);
        return format!("{whole}{end}");
    }
    let scale = 10u64.pow(decimals);
    let fraction = (rest * scale + thousand / 2) / thousand;
    let (whole, fraction) = if fraction == scale { (whole + 1, 0) } else { (whole, fraction) };
    format!("{whole}.{fraction:0width$}{end}", width = decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_fio() {
        assert_eq!(short(9_999, 4, false, Unit::None), "9999");
        assert_eq!(short(10_000, 4, false, Unit::None), "10.0k");
        assert_eq!(short(81_234, 4, false, Unit::None), "81.2k");
        assert_eq!(short(40_960_000, 4, true, Unit::BytesPerSecond), "39.1MiB/s");
        assert_eq!(short(40_960_000, 4, false, Unit::BytesPerSecond), "41.0MB/s");
        assert_eq!(short(540_000_000, 4, false, Unit::BytesPerSecond), "540MB/s");
        assert_eq!(short(512, 4, true, Unit::Bytes), "512B");
        assert_eq!(short(1_073_741_824, 4, true, Unit::Bytes), "1024MiB");
        assert_eq!(short(1_234_567, 6, false, Unit::None), "1234.6k");
        assert_eq!(short(0, 4, true, Unit::BytesPerSecond), "0B/s");
        assert_eq!(short(99_999, 4, false, Unit::None), "100.0k");
    }
}
