//! BCH tails, capacities, parity and the latency of the ladder against published and independently computed values.

use ssdlab_ecc::bch::Bch;
use ssdlab_ecc::channel::{Sensing, capacity_limit, finite_length_limit};
use ssdlab_ecc::ladder::{Ladder, Level};
use ssdlab_ecc::ldpc::code::LdpcCode;
use ssdlab_ecc::ldpc::table;
use ssdlab_ecc::spec::{BchSpec, EccSpec, LdpcSpec, RetrySpec};
use ssdlab_nand::rber::Rber;

const RBERS: [f64; 9] = [1e-4, 5e-4, 1e-3, 1.5e-3, 2e-3, 2.5e-3, 3e-3, 4e-3, 5e-3];

/// Data bytes, t, n, log10 of codeword failures at [`RBERS`], RBER at UBER 1e-15, 1e-16, 1e-17.
type BchRow = (u32, u32, u32, [f64; 9], [f64; 3]);

const BCH: [BchRow; 8] = [
    (512, 8, 4200, [-9.12, -3.47, -1.55, -0.73, -0.33, -0.14, -0.06, -0.01, 0.0], [5.490e-5, 4.229e-5, 3.261e-5]),
    (512, 15, 4291, [-19.39, -8.90, -4.95, -2.98, -1.83, -1.10, -0.65, -0.19, -0.04], [3.354e-4, 2.869e-4, 2.459e-4]),
    (512, 24, 4408, [-34.30, -17.55, -10.94, -7.44, -5.22, -3.70, -2.61, -1.25, -0.54], [9.518e-4, 8.539e-4, 7.676e-4]),
    (1024, 24, 8528, [-27.29, -11.23, -5.46, -2.79, -1.38, -0.62, -0.24, -0.02, 0.0], [5.080e-4, 4.554e-4, 4.092e-4]),
    (
        1024,
        40,
        8752,
        [-52.31, -25.13, -14.62, -9.24, -5.94, -3.78, -2.34, -0.76, -0.17],
        [1.297e-3, 1.202e-3, 1.117e-3],
    ),
    (
        1024,
        60,
        9032,
        [-86.87, -45.77, -29.32, -20.49, -14.78, -10.78, -7.85, -4.01, -1.86],
        [2.455e-3, 2.318e-3, 2.192e-3],
    ),
    (
        1024,
        72,
        9200,
        [-108.81, -59.35, -39.33, -28.43, -21.26, -16.13, -12.30, -7.06, -3.86],
        [3.191e-3, 3.032e-3, 2.885e-3],
    ),
    (
        2048,
        72,
        17464,
        [-88.78, -40.74, -22.48, -13.33, -7.91, -4.52, -2.40, -0.43, -0.02],
        [1.706e-3, 1.620e-3, 1.541e-3],
    ),
];

#[test]
fn bch_tails_meet_the_reference_to_its_last_digit() {
    for (bytes, t, n, tails, limits) in BCH {
        let code = Bch::new(bytes, t).unwrap();
        assert_eq!(code.codeword_bits(), n);
        for (rber, log10) in RBERS.into_iter().zip(tails) {
            let ours = code.log10_failure(rber);
            assert!((ours - log10).abs() < 0.0055, "{bytes} B t={t} at {rber}: {ours:.4}, reference {log10}");
        }
        for (uber, limit) in [1e-15, 1e-16, 1e-17].into_iter().zip(limits) {
            let ours = code.rber_limit(uber);
            assert!(
                (ours / limit - 1.0).abs() < 4e-4,
                "{bytes} B t={t} UBER {uber}: {ours:.4e}, reference {limit:.4e}"
            );
        }
    }
}

/// Hetzler's published example: 15 bits in 512 bytes reach 1e-15 at 3.4e-4, where 4.1e-12 of the sectors fail.
#[test]
fn bch_meets_the_published_example() {
    let code = Bch::new(512, 15).unwrap();
    let rber = code.rber_limit(1e-15);
    assert!((rber - 3.354e-4).abs() < 1e-7);
    assert!((code.log10_failure(rber) - -11.387).abs() < 0.005);
}

#[test]
fn capacity_limits_meet_the_reference() {
    for (rate, limits) in [
        (7156.0 / 8176.0, [0.01709, 0.02855, 0.03185]),
        (0.889, [0.01478, 0.02512, 0.02812]),
        (0.90, [0.01299, 0.02241, 0.02517]),
        (0.91, [0.01141, 0.01999, 0.02252]),
        (0.93, [0.00840, 0.01523, 0.01728]),
    ] {
        for (sensing, limit) in Sensing::ALL.into_iter().zip(limits) {
            let ours = capacity_limit(rate, sensing);
            assert!((ours - limit).abs() < 1.1e-5, "rate {rate:.4} {sensing:?}: {ours:.5}, reference {limit}");
        }
    }
}

#[test]
fn finite_length_limits_meet_the_reference() {
    for (n, rate, limits) in [
        (8176, 7156.0 / 8176.0, [0.01319, 0.01136, 0.00948]),
        (9102, 0.9, [0.00980, 0.00833, 0.00685]),
        (18_204, 0.9, [0.01064, 0.00950, 0.00830]),
        (36_409, 0.9, [0.01128, 0.01042, 0.00949]),
    ] {
        for (failure, limit) in [1e-3, 1e-6, 1e-11].into_iter().zip(limits) {
            let ours = finite_length_limit(n, rate, failure);
            assert!((ours - limit).abs() < 2.5e-5, "n {n} at {failure}: {ours:.5}, reference {limit}");
        }
    }
}

/// A decoder that does better than capacity, or a hard one better than the normal approximation, would be wrong.
#[test]
fn every_counted_failure_rate_lies_left_of_capacity() {
    for row in table::rows() {
        let code = row.point.code;
        let limit = capacity_limit(code.rate(), row.point.sensing);
        let mostly_right = row.counts.interval().0 < 0.5;
        assert!(!mostly_right || row.point.rber < limit, "{}: {:?}", code.name(), row);
        let (low, _) = row.counts.interval();
        if row.point.sensing == Sensing::Hard && row.counts.errors >= table::ENOUGH_ERRORS && low < 0.3 {
            let limit = finite_length_limit(code.codeword_bits(), code.rate(), low);
            assert!(row.point.rber < limit, "{}: {row:?} beyond {limit}", code.name());
        }
    }
}

#[test]
fn c2_agrees_with_an_independent_decoder() {
    for point in table::INDEPENDENT {
        let ours = table::curve(LdpcCode::CcsdsC2, point.sensing).log10_failure(point.rber);
        let theirs = libm::log10(point.failure());
        // Two decoders of one family: within a factor of two beside the spread of the reference's own count.
        let tolerance = 0.30 + 1.96 / libm::sqrt(f64::from(point.errors)) / std::f64::consts::LN_10;
        assert!((ours - theirs).abs() < tolerance, "{point:?}: {ours:.2}, reference {theirs:.2}");
    }
}

fn bch(t: u32, page: u32, parity: Option<u32>) -> Ladder {
    let spec = EccSpec {
        codeword_bytes: 1024,
        bch: Some(BchSpec { correctable_bits: t, decode_us: 5.0 }),
        ldpc: None,
        retry: RetrySpec::default(),
        parity_stripe: parity,
    };
    Ladder::new(&spec, page).unwrap()
}

fn c2(progressive: bool) -> Ladder {
    let spec = EccSpec {
        codeword_bytes: 512,
        bch: None,
        ldpc: Some(LdpcSpec {
            code: LdpcCode::CcsdsC2,
            soft_reads: 7,
            iteration_us: 5.0 / 30.0,
            setup_us: 0.0,
            progressive,
        }),
        retry: RetrySpec::default(),
        parity_stripe: None,
    };
    Ladder::new(&spec, 2048).unwrap()
}

/// tR 50 us, transfer 25 us, decoding 5 us an attempt.
fn latency_us(ladder: &Ladder, level: usize) -> f64 {
    let cost = ladder.cost(level);
    50.0 * f64::from(1 + cost.extra_senses)
        + 25.0 * f64::from(1 + cost.extra_transfers)
        + libm::round(cost.decode_ns as f64 / 1e3)
}

#[test]
fn ladder_latencies_meet_the_reference() {
    for (progressive, expected) in [(true, [80.0, 210.0, 440.0]), (false, [80.0, 285.0, 715.0])] {
        let ladder = c2(progressive);
        let levels = [Level::First, Level::Soft(Sensing::Soft3), Level::Soft(Sensing::Soft7), Level::Uncorrectable];
        assert_eq!(ladder.levels(), levels);
        for (level, us) in expected.into_iter().enumerate() {
            assert_eq!(latency_us(&ladder, level), us);
        }
    }
}

/// Mean read of a page of four C2 codewords, from the independently measured failure rates.
#[test]
fn mean_read_latency_follows_the_reference() {
    let ladder = c2(true);
    for (rber, us, tolerance) in [(0.0075, 80.8, 0.6), (0.008, 82.4, 1.6), (0.009, 107.1, 6.0), (0.01, 157.4, 8.0)] {
        let odds = ladder.odds(Rber::settled(rber));
        let mean: f64 = (0..3).map(|level| odds.ends_on(level) * latency_us(&ladder, level)).sum();
        assert!((mean - us).abs() < tolerance, "{rber}: {mean:.1} us, reference {us}");
    }
}

#[test]
fn parity_fails_when_two_pages_of_a_stripe_do() {
    for (n, losses) in
        [(15, [1.40e-3, 1.50e-7, 1.50e-11]), (63, [4.69e-3, 6.28e-7, 6.30e-11]), (127, [7.21e-3, 1.26e-6, 1.27e-10])]
    {
        // One codeword a page, so that the page's chance is the codeword's.
        let (plain, ladder) = (bch(40, 1024, None), bch(40, 1024, Some(n)));
        for (failure, loss) in [1e-2, 1e-4, 1e-6].into_iter().zip(losses) {
            let rber = rber_at(&plain, failure);
            let ours = ladder.odds(rber).beyond(1);
            assert!((ours / loss - 1.0).abs() < 0.004, "N={n} f={failure}: {ours:.3e}, reference {loss:.3e}");
        }
        assert_eq!(ladder.cost(1).stripe_reads, n);
    }
}

/// The error rate at which a ladder's first rung fails with this chance.
fn rber_at(ladder: &Ladder, failure: f64) -> Rber {
    let (mut low, mut high) = (1e-6, 0.1);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if ladder.odds(Rber::settled(middle)).beyond(0) < failure { low = middle } else { high = middle }
    }
    Rber::settled(low)
}
