//! Numbers in sentences.

/// Decimal gigabytes for a sentence: `8`, `0.064`, `128.04`.
pub(super) fn gigabytes(bytes: u64) -> String {
    let digits = if bytes >= 10_000_000_000 { 2 } else { 3 };
    let text = format!("{:.digits$}", bytes as f64 / 1e9);
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
