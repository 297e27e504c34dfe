//! Figures in the words of sentences.

use crate::number;

pub(super) fn iops(value: f64) -> String {
    if value < 10.0 {
        return number::trimmed(value, 1);
    }
    number::grouped(rounded(value), 0)
}

/// Three significant digits from a hundred on: more would pretend.
pub(super) fn rounded(value: f64) -> f64 {
    let step = match value {
        v if v >= 10_000.0 => 100.0,
        v if v >= 1_000.0 => 10.0,
        _ => 1.0,
    };
    (value / step).round() * step
}

pub(super) fn times(ratio: f64) -> String {
    // Two significant digits: a ratio carries no more than the lesser of its figures.
    let mut step = 1.0;
    while ratio / step >= 100.0 {
        step *= 10.0;
    }
    let number =
        if ratio < 10.0 { number::trimmed(ratio, 1) } else { number::grouped((ratio / step).round() * step, 0) };
    format!("{number} times")
}

pub(super) fn seconds(value: f64) -> String {
    match value.round() as u64 {
        0 | 1 => "every second".to_owned(),
        n => format!("every {n} s"),
    }
}

/// What a request waits for, by the key of the cause, so that "it waits for" can stand before it.
pub(super) fn awaited(key: &str) -> &str {
    match key {
        "link" => "the transfer over the host link",
        "controller" => "the controller to process the command",
        "buffer_full" => "room in the write buffer",
        "queue" => "requests before it in the queue",
        "bus" => "the bus to the flash",
        "read" => "a flash read",
        "program" => "a flash program",
        "erase" => "an erase",
        "metadata" => "the mapping table to be written",
        "ecc_retry" => "a read to be tried again",
        "fold" => "the SLC cache to be emptied",
        "merge" => "a block merge",
        "seek" => "a seek",
        "rotation" => "the platter to come round",
        "media_transfer" => "the platter to pass by",
        "destage" => "cached writes to be written back",
        "adapter_cache_full" => "room in the adapter's cache",
        "adapter_flush" => "a flush of the adapter's cache",
        "heat" => "the drive to cool down",
        key => ssdlab_core::CAUSES.iter().find(|c| c.key() == key).map_or("something else", |c| c.label()),
    }
}
