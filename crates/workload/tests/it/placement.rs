//! What placing a trace on a drive promises: inside the drive, whole sectors, and books that balance.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ssdlab_core::Op;
use ssdlab_workload::Command;
use ssdlab_workload::trace::{Devices, Fit, Placement, PlacementSpec, TraceRecord, TraceSummary};

fn write(device: u32, offset_bytes: u64, length_bytes: u64) -> TraceRecord {
    TraceRecord { at: 0, op: Op::Write, device, offset_bytes, length_bytes, fua: false }
}

fn place(spec: PlacementSpec, records: &[TraceRecord], capacity: u64) -> (Placement, Vec<Command>) {
    let mut summary = TraceSummary::default();
    records.iter().for_each(|r| summary.add(r));
    let mut placement = Placement::new(spec, &summary, capacity);
    let commands = records.iter().flat_map(|r| placement.place(r)).collect();
    (placement, commands)
}

fn places(commands: &[Command]) -> Vec<(u64, u64)> {
    commands.iter().map(|c| (c.offset_bytes, c.length_bytes)).collect()
}

#[test]
fn what_fits_stays_where_it_was_and_nothing_is_reported() {
    let (p, commands) = place(PlacementSpec::default(), &[write(0, 4096, 8192)], 1 << 20);
    assert_eq!(places(&commands), [(4096, 8192)]);
    assert!(p.report().lines().is_empty(), "{:?}", p.report());
}

#[test]
fn addresses_beyond_the_drive_wrap_or_scale() {
    let records = [write(0, 0, 4096), write(0, 96 << 20, 4096), write(0, (127 << 20) + 8192, 4096)];
    let (p, wrapped) = place(PlacementSpec::default(), &records, 64 << 20);
    assert_eq!(places(&wrapped), [(0, 4096), (32 << 20, 4096), ((63 << 20) + 8192, 4096)]);
    assert_eq!(p.report().moved, 2);
    let (p, scaled) = place(PlacementSpec { fit: Fit::Scale, ..Default::default() }, &records, 64 << 20);
    assert_eq!(places(&scaled), [(0, 4096), (48 << 20, 4096), ((63 << 20) + 8192, 4096)]);
    assert_eq!(p.report().moved, 2);
}

#[test]
fn devices_lie_side_by_side_or_folded() {
    let records = [write(0, 8192, 4096), write(1, 0, 4096)];
    let (p, beside) = place(PlacementSpec::default(), &records, 1 << 20);
    assert_eq!(places(&beside), [(8192, 4096), (12_288, 4096)]);
    assert_eq!((p.report().devices, p.report().trace_span_bytes, p.report().moved), (2, 16_384, 0));
    let folded = PlacementSpec { devices: Devices::Folded, ..Default::default() };
    assert_eq!(places(&place(folded, &records, 1 << 20).1), [(8192, 4096), (0, 4096)]);
}

#[test]
fn requests_across_the_end_are_split_and_larger_ones_than_the_drive_are_clipped() {
    let records = [write(0, (1 << 20) - 4096, 12_288)];
    let (p, split) = place(PlacementSpec::default(), &records, 1 << 20);
    assert_eq!(places(&split), [((1 << 20) - 4096, 4096), (0, 8192)]);
    assert_eq!((p.report().splits, p.report().clipped), (1, 0));
    let (p, clipped) = place(PlacementSpec::default(), &[write(0, 0, (1 << 20) + 8192)], 1 << 20);
    assert_eq!(places(&clipped), [(0, 1 << 20)]);
    assert_eq!((p.report().splits, p.report().clipped, p.report().clipped_bytes), (0, 1, 8192));
}

#[test]
fn requests_that_are_not_whole_sectors_are_widened() {
    let (p, commands) = place(PlacementSpec::default(), &[write(0, 1000, 100)], 1 << 20);
    assert_eq!(places(&commands), [(512, 1024)]);
    assert_eq!((p.report().widened, p.report().widened_bytes), (1, 924));
    // Of a drive with sectors of 4 KiB, eight sectors of another one behind its sector 63.
    let large = PlacementSpec { sector_bytes: 4096, ..Default::default() };
    let (p, commands) = place(large, &[write(0, 63 * 512, 4096)], 1 << 20);
    assert_eq!(places(&commands), [(7 * 4096, 8192)]);
    assert_eq!((p.report().widened, p.report().widened_bytes), (1, 4096));
}

fn any_record() -> impl Strategy<Value = TraceRecord> {
    let op = prop_oneof![Just(Op::Read), Just(Op::Write), Just(Op::Trim), Just(Op::Flush)];
    // Small numbers, so that edges are hit, and enormous ones.
    let offset = prop_oneof![0..100_000u64, 0..u64::MAX / 2];
    let length = prop_oneof![1..20_000u64, 1..u64::MAX / 2];
    (op, 0..4u32, offset, length, any::<bool>()).prop_map(|(op, device, offset, length, fua)| {
        let (offset_bytes, length_bytes) = if op == Op::Flush { (0, 0) } else { (offset, length) };
        TraceRecord { at: 0, op, device, offset_bytes, length_bytes, fua }
    })
}

/// The same cases in every run.
fn fixed(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(fixed(1000))]
    #[test]
    fn every_command_lies_on_the_drive_and_the_books_balance(
        records in prop::collection::vec(any_record(), 0..30),
        capacity in prop_oneof![16_384..200_000u64, 16_384..1u64 << 40],
        scale in any::<bool>(), folded in any::<bool>(), shift in 9..15u32,
    ) {
        let spec = PlacementSpec {
            fit: if scale { Fit::Scale } else { Fit::Wrap },
            devices: if folded { Devices::Folded } else { Devices::SideBySide },
            sector_bytes: 1 << shift,
        };
        let (p, commands) = place(spec, &records, capacity);
        for c in &commands {
            prop_assert_eq!((c.offset_bytes % (1 << shift), c.length_bytes % (1 << shift)), (0, 0));
            prop_assert!(c.offset_bytes + c.length_bytes <= capacity);
            prop_assert!(c.op == Op::Flush || c.length_bytes > 0);
        }
        let r = p.report();
        prop_assert_eq!(r.requests, records.len() as u64);
        prop_assert_eq!(r.commands, commands.len() as u64);
        prop_assert_eq!(r.commands, r.requests + r.splits);
        // Sums near 2^64 saturate; below, they are exact.
        let bytes: u128 = records.iter().map(|r| u128::from(r.length_bytes)).sum();
        if bytes < 1 << 63 {
            prop_assert_eq!(u128::from(r.bytes), bytes);
            prop_assert_eq!(r.placed_bytes, commands.iter().map(|c| c.length_bytes).sum::<u64>());
            prop_assert_eq!(r.placed_bytes, r.bytes + r.widened_bytes - r.clipped_bytes);
        }
    }
}
