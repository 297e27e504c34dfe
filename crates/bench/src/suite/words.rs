//! Numbers in sentences.

/// Decimal gigabytes for a sentence: `8`, `0.064`, `128.04`.
pub(super) fn gigabytes(bytes: u64) -> String {
    let digits = if bytes >= 10_000_000_000 { 2 } else { 3 };
    let text = format!("{:.digits$}", bytes as f64 / 1e9);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number of bytes that a user has chosen, in the decimal unit that fits, for a sentence: `8 GB`, `0.064 GB`, `4.096 kB`.
pub(crate) fn amount(bytes: u64) -> String {
    let (unit, name) = match bytes {
        10_000_000.. => return format!("{} GB", gigabytes(bytes)),
        1_000_000.. => (1e6, "MB"),
        1_000.. => (1e3, "kB"),
        _ => return format!("{bytes} B"),
    };
    let text = format!("{:.3}", bytes as f64 / unit);
    format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// MB/s for a sentence, with three digits at least where there are so many: `412`, `41.2`, `4.12`.
pub(super) fn rate(mb_per_s: f64) -> String {
    let digits = match mb_per_s {
        100.0.. => return format!("{mb_per_s:.0}"),
        10.0.. => 1,
        _ => 2,
    };
    let text = format!("{mb_per_s:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A request size for a sentence: `512 B`, `4 KiB`, `64 MiB`.
pub(super) fn size(bytes: u64) -> String {
    if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 9) {
        let half_kib = bytes >> 9;
        if half_kib.is_multiple_of(2) { format!("{} KiB", half_kib / 2) } else { format!("{}.5 KiB", half_kib / 2) }
    } else {
        format!("{bytes} B")
    }
}

#[cfg(test)]
mod tests {
    use super::{amount, rate};

    #[test]
    fn an_amount_has_the_unit_that_fits() {
        let amounts = [0, 4096, 1_000_000, 1 << 20, 9_999_999, 64_000_000, 8_000_000_000].map(amount);
        assert_eq!(amounts, ["0 B", "4.096 kB", "1 MB", "1.049 MB", "10 MB", "0.064 GB", "8 GB"]);
    }

    #[test]
    fn a_rate_has_the_digits_that_tell_slow_drives_apart() {
        assert_eq!([412.4, 41.26, 40.0, 4.126, 0.5, 0.0].map(rate), ["412", "41.3", "40", "4.13", "0.5", "0"]);
    }
}
