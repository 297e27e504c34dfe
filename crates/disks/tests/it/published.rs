//! Published figures of the disks of the catalog that were not used to describe them. `examples/published.rs` prints
//! them all, the missed ones too.

use crate::support::{anywhere, build, keep_busy, mean_ms, of_catalog};

#[test]
fn buffered_writes_of_a_sector_take_what_was_measured() {
    // Tweakers, JMicron RAID review: 25,000 single sectors over the whole disk.
    for (name, published_ms) in
        [("spinpoint-f1-1tb", 5.84), ("ultrastar-15k300-73gb", 2.50), ("travelstar-7k200-120gb", 7.98)]
    {
        let mut disk = build(of_catalog(name));
        let requests = anywhere(&disk, 1, true);
        let mean = mean_ms(&keep_busy(&mut disk, 0, 1, 25_000, requests));
        assert!((mean / published_ms - 1.0).abs() < 0.1, "{name}: {mean} ms, published {published_ms} ms");
    }
}

#[test]
fn the_spinpoint_f1_reaches_a_sector_in_the_time_measured() {
    // HD Tune: 13.6 ms.
    let mut disk = build(of_catalog("spinpoint-f1-1tb"));
    let requests = anywhere(&disk, 1, false);
    let mean = mean_ms(&keep_busy(&mut disk, 0, 1, 25_000, requests));
    assert!((mean / 13.6 - 1.0).abs() < 0.05, "{mean} ms");
}
