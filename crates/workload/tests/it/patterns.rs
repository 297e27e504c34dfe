//! What access patterns promise.

use ssdlab_core::{Op, Rng};
use ssdlab_workload::pattern::{Zone, ZoneExtent, named};
use ssdlab_workload::{BlockSizes, Command, Distribution, Mix, Order, Pattern, PatternError, Source};

fn all(p: &Pattern) -> Vec<Command> {
    let mut source = p.build(&Rng::new(1)).unwrap();
    std::iter::from_fn(|| source.next()).collect()
}

fn some(p: &Pattern, n: usize) -> Vec<Command> {
    let mut source = p.build(&Rng::new(1)).unwrap();
    (0..n).map(|_| source.next().unwrap()).collect()
}

#[test]
fn a_pass_in_sequence_covers_every_byte_once_and_then_ends_for_good() {
    let p = Pattern::sequential_write(10 * 4096 + 512, 4096).starting_at(8192).passes(2);
    let mut source = p.build(&Rng::new(1)).unwrap();
    for _ in 0..2 {
        let mut at = 8192;
        while at < 8192 + 10 * 4096 + 512 {
            let c = source.next().unwrap();
            assert_eq!(c.offset_bytes, at);
            at += c.length_bytes;
        }
        assert_eq!(at, 8192 + 10 * 4096 + 512);
    }
    assert_eq!((source.next(), source.next()), (None, None));
}

#[test]
fn without_a_short_tail_the_remainder_is_left_out() {
    let mut p = Pattern::sequential_read(10 * 4096 + 512, 4096).passes(1);
    p.short_tail = false;
    let commands = all(&p);
    assert_eq!(commands.len(), 10);
    assert!(commands.iter().all(|c| c.length_bytes == 4096));
}

#[test]
fn a_random_map_covers_every_block_exactly_once_per_pass() {
    let p = Pattern::random_write(1000 * 4096, 4096).distribution(Distribution::EachBlockOnce).passes(2);
    let commands = all(&p);
    assert_eq!(commands.len(), 2000);
    let pass =
        |range: std::ops::Range<usize>| -> Vec<u64> { commands[range].iter().map(|c| c.offset_bytes / 4096).collect() };
    let (first, second) = (pass(0..1000), pass(1000..2000));
    assert_ne!(first, second, "the order changes from pass to pass");
    for mut blocks in [first, second] {
        blocks.sort_unstable();
        assert!(blocks.into_iter().eq(0..1000));
    }
}

#[test]
fn uniform_blocks_are_uniform_and_stay_inside_the_span() {
    let p = Pattern::random_write(64 * 4096, 4096).starting_at(1 << 20);
    let mut count = [0f64; 64];
    for c in some(&p, 64_000) {
        count[((c.offset_bytes - (1 << 20)) / 4096) as usize] += 1.0;
    }
    let chi2: f64 = count.iter().map(|n| (n - 1000.0) * (n - 1000.0) / 1000.0).sum();
    // 63 degrees of freedom; 1 in 10^6 exceeds 131 by chance.
    assert!(chi2 < 131.0, "{chi2}");
}

#[test]
fn misalignment_shifts_every_offset_and_stays_inside_the_span() {
    for order in [Order::Sequential, Order::Random(Distribution::Uniform)] {
        let p = Pattern::new(order, Mix::Write, 100 * 4096, 4096).misaligned_by(512);
        for c in some(&p, 1000) {
            assert!(c.offset_bytes + c.length_bytes <= 100 * 4096);
            assert_eq!(c.offset_bytes % 4096, 512);
        }
    }
}

#[test]
fn a_mix_has_its_percentages_of_reads_and_sizes() {
    let commands = some(&named::file_server(1 << 30), 100_000);
    let reads = commands.iter().filter(|c| c.op == Op::Read).count() as f64 / 1e5;
    assert!((reads - 0.8).abs() < 0.007, "{reads}");
    for (bytes, share) in [(512, 0.10), (1024, 0.05), (4096, 0.60), (65_536, 0.10)] {
        let got = commands.iter().filter(|c| c.length_bytes == bytes).count() as f64 / 1e5;
        assert!((got - share).abs() < 0.008, "{bytes}: {got}");
    }
    assert!(commands.iter().all(|c| c.offset_bytes % 512 == 0 && c.offset_bytes + c.length_bytes <= 1 << 30));
    assert!(commands.iter().any(|c| c.length_bytes == 65_536 && c.offset_bytes % 4096 != 0));
}

#[test]
fn zones_receive_their_shares() {
    let zone = |access_percent, extent| Zone { access_percent, extent };
    let zones =
        vec![zone(60, ZoneExtent::Percent(10)), zone(30, ZoneExtent::Percent(20)), zone(10, ZoneExtent::Percent(70))];
    let p = Pattern::random_read(1000 * 4096, 4096).distribution(Distribution::Zoned([
        zones.clone(),
        zones.clone(),
        zones,
    ]));
    let mut count = [0u32; 3];
    for c in some(&p, 100_000) {
        let block = c.offset_bytes / 4096;
        count[if block < 100 {
            0
        } else if block < 300 {
            1
        } else {
            2
        }] += 1;
    }
    for (n, expected) in count.iter().zip([60_000f64, 30_000.0, 10_000.0]) {
        assert!((f64::from(*n) - expected).abs() < 800.0, "{count:?}");
    }
}

#[test]
fn reads_and_writes_in_sequence_each_keep_their_place() {
    let p = Pattern::sequential(Mix::ReadWrite { read_percent: 50 }, 1 << 30, 4096);
    let (mut read, mut write) = (0, 0);
    for c in some(&p, 1000) {
        let next = if c.op == Op::Read { &mut read } else { &mut write };
        assert_eq!(c.offset_bytes, *next);
        *next += 4096;
    }
    assert!(read > 0 && write > 0);
}

#[test]
fn reads_and_writes_in_sequence_may_share_one_place() {
    let p = Pattern::sequential(Mix::ReadWrite { read_percent: 50 }, 100 * 4096, 4096).at_one_place();
    let (mut next, mut reads) = (0, 0);
    for c in some(&p, 1000) {
        assert_eq!(c.offset_bytes, next, "each address comes once in a pass, read or written");
        next = (next + 4096) % (100 * 4096);
        reads += u32::from(c.op == Op::Read);
    }
    assert!((400..600).contains(&reads), "{reads}");
}

#[test]
fn trimwrite_writes_each_block_that_it_trimmed() {
    let p = Pattern::sequential(Mix::TrimWrite, 3 * 4096, 4096).passes(1);
    let got: Vec<_> = all(&p).iter().map(|c| (c.op, c.offset_bytes)).collect();
    let expected: Vec<_> = (0..3).flat_map(|i| [(Op::Trim, i * 4096), (Op::Write, i * 4096)]).collect();
    assert_eq!(got, expected);
}

#[test]
fn the_same_seed_gives_the_same_commands_and_another_seed_others() {
    let p = named::file_server(1 << 30);
    let take = |seed| {
        let mut s = p.build(&Rng::new(seed)).unwrap();
        (0..100).map(|_| s.next().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(take(1), take(1));
    assert_ne!(take(1), take(2));
}

#[test]
fn contradictions_are_errors() {
    let err = |p: Pattern| p.build(&Rng::new(1)).unwrap_err();
    assert_eq!(
        err(Pattern::random_read(2048, 4096)),
        PatternError::TooSmall { what: "the span", block: 4096, span: 2048 }
    );
    assert!(matches!(err(Pattern::random_read(1 << 20, 1000)), PatternError::NotSectors { value: 1000, .. }));
    assert!(matches!(err(Pattern::random_read(0, 512)), PatternError::NotSectors { value: 0, .. }));
    assert!(matches!(err(Pattern::random_read(1 << 20, 512).misaligned_by(3)), PatternError::OffsetNotSectors { .. }));
    assert!(matches!(
        err(Pattern::random_read(1 << 20, 512).starting_at(u64::MAX - 511)),
        PatternError::Overflow { .. }
    ));
    let once = Pattern::random_read(1 << 20, 512).distribution(Distribution::EachBlockOnce);
    let apart = Pattern { align_bytes: [Some(1024); 3], ..once.block_sizes(BlockSizes::Range { min: 512, max: 1024 }) };
    assert_eq!(err(apart), PatternError::OnceNeedsOneSize);
    let skew = |d| err(Pattern::random_read(1 << 20, 512).distribution(d));
    assert_eq!(skew(Distribution::Zipf { theta: 1.0, center: None }), PatternError::ZipfTheta { theta: 1.0 });
    assert_eq!(skew(Distribution::Pareto { h: 1.0, center: None }), PatternError::ParetoH { h: 1.0 });
}

#[test]
fn at_one_place_a_larger_block_begins_again_where_a_smaller_one_would_still_fit() {
    let sizes = [4096, 16_384, 4096].map(BlockSizes::Fixed);
    let mix = Mix::ReadWrite { read_percent: 50 };
    let p = Pattern { sizes, short_tail: false, ..Pattern::sequential(mix, 100 * 4096, 4096).at_one_place() };
    let mut begun_again = 0;
    let mut at = 0;
    for c in some(&p, 10_000) {
        begun_again += u32::from(c.offset_bytes == 0 && 100 * 4096 - at >= 4096);
        assert!(c.offset_bytes == 0 || c.offset_bytes == at);
        at = c.offset_bytes + c.length_bytes;
        assert!(at <= 100 * 4096);
    }
    assert!(begun_again > 10);
}
