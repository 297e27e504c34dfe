//! The ladder and the life it gives: properties, and what the issue of three levels of correction promises.

use proptest::prelude::*;
use ssdlab_core::Rng;
use ssdlab_ecc::endurance::{self, Target};
use ssdlab_ecc::ladder::{Ladder, Level};
use ssdlab_ecc::ldpc::code::LdpcCode;
use ssdlab_ecc::spec::{BchSpec, EccSpec, LdpcSpec, RetrySpec};
use ssdlab_nand::CellMode;
use ssdlab_nand::rber::{ErrorSpec, Rber, Stress, YEAR_HOURS};

const PAGE_BYTES: u32 = 16_384;

fn bch(t: u32) -> EccSpec {
    EccSpec {
        codeword_bytes: 1024,
        bch: Some(BchSpec { correctable_bits: t, decode_us: 4.0 }),
        ldpc: None,
        retry: RetrySpec::default(),
        parity_stripe: None,
    }
}

fn ldpc(soft_reads: u32, parity_stripe: Option<u32>) -> EccSpec {
    let ldpc = LdpcSpec { code: LdpcCode::Qc2k, soft_reads, iteration_us: 0.5, setup_us: 1.0, progressive: true };
    EccSpec { codeword_bytes: 2048, bch: None, ldpc: Some(ldpc), retry: RetrySpec::default(), parity_stripe }
}

fn with_retries(spec: EccSpec) -> EccSpec {
    EccSpec {
        retry: RetrySpec { max_retries: 6, recovered_per_retry_percent: 50.0, at_once: None, follows_drift: true },
        ..spec
    }
}

fn ladder(spec: &EccSpec) -> Ladder {
    Ladder::new(spec, PAGE_BYTES).unwrap()
}

fn tlc_cycles(spec: &EccSpec) -> f64 {
    let errors = ErrorSpec::planar_estimate();
    endurance::cycles(errors.mode(CellMode::Tlc).unwrap(), &ladder(spec), &Target::client())
}

#[test]
fn each_level_of_correction_lengthens_life() {
    let lives = [bch(60), ldpc(0, None), ldpc(3, None), ldpc(7, None), ldpc(7, Some(127))].map(|s| tlc_cycles(&s));
    assert!(lives.windows(2).all(|w| w[1] > w[0]), "{lives:?}");
    // The maker of such a controller claims up to three.
    let factor = lives[4] / lives[0];
    assert!((2.0..4.0).contains(&factor), "{factor}");
    assert!(tlc_cycles(&with_retries(bch(60))) > lives[0]);
}

#[test]
fn endurance_is_where_the_target_is_met() {
    let errors = ErrorSpec::planar_estimate();
    let tlc = errors.mode(CellMode::Tlc).unwrap();
    let ladder = ladder(&bch(40));
    let cycles = endurance::cycles(tlc, &ladder, &Target::client());
    let uber = |cycles: f64| {
        let rber = tlc.rber(&Stress { cycles, retention_hours: YEAR_HOURS, block_reads: 0.0 });
        tlc.page_factors().map(|f| ladder.uber(rber.times(f))).sum::<f64>() / 3.0
    };
    assert!(uber(cycles * 0.999) < 1e-15 && uber(cycles * 1.001) > 1e-15);
    let worse_block = Target { block_factor: 1.5, ..Target::client() };
    assert!(endurance::cycles(tlc, &ladder, &worse_block) < cycles);
    let hopeless = Target { block_factor: 1e4, ..Target::client() };
    assert_eq!(endurance::cycles(tlc, &ladder, &hopeless), 0.0);
}

/// The tail of the binomial distribution over 8,192 bits and 14 for each that is corrected, summed term by term in a program
/// of its own at `1e-5 + 1.9e-4 c^2.05 + 8e-4 c^1.4` errors a bit, for pages with 3/7, 6/7 and 12/7 of them: the worst
/// kind fails with a chance of 2.4576e-11, a third of which is 1e-15 for each of 8,192 bits. To the cycle.
#[test]
fn endurance_is_that_of_a_tail_summed_elsewhere() {
    for (bits, cycles) in [(40, 851.00), (60, 1289.89), (72, 1526.33)] {
        let ours = tlc_cycles(&bch(bits));
        assert!((ours - cycles).abs() < 0.05, "{bits} bits: {ours}, not {cycles}");
    }
}

#[test]
fn one_bit_per_cell_outlives_two_and_two_outlive_three() {
    let errors = ErrorSpec::planar_estimate();
    let ladder = ladder(&bch(40));
    let modes = [CellMode::Slc, CellMode::Mlc, CellMode::Tlc];
    let lives = modes.map(|m| endurance::cycles(errors.mode(m).unwrap(), &ladder, &Target::client()));
    assert!(lives[0] > 5.0 * lives[1] && lives[1] > 2.0 * lives[2], "{lives:?}");
}

/// Worn data a year old need retries that the same data did not need when fresh.
#[test]
fn old_data_need_retries() {
    let errors = ErrorSpec::planar_estimate();
    let tlc = errors.mode(CellMode::Tlc).unwrap();
    let ladder = ladder(&with_retries(bch(40)));
    let at = |retention_hours| {
        let rber = tlc.rber(&Stress { cycles: 1400.0, retention_hours, block_reads: 0.0 });
        ladder.odds(rber.times(12.0 / 7.0))
    };
    assert!(at(24.0).beyond(0) < 1e-6, "{}", at(24.0).beyond(0));
    assert!(at(YEAR_HOURS).beyond(0) > 1e-3, "{}", at(YEAR_HOURS).beyond(0));
    let last = ladder.levels().len() - 2;
    assert!(at(YEAR_HOURS).beyond(last) < 1e-6 * at(YEAR_HOURS).beyond(0));
}

#[test]
fn draws_follow_the_odds() {
    let ladder = ladder(&ldpc(7, Some(15)));
    // Hard decisions sometimes fail at the first error rate, three reads at the second.
    for (rber, busy) in [(0.0066, 0..2), (0.0148, 1..3)] {
        let odds = ladder.odds(Rber::settled(rber));
        let mut rng = Rng::new(9).stream("draws");
        let mut count = vec![0u32; ladder.levels().len()];
        let draws = 400_000u32;
        for _ in 0..draws {
            count[odds.draw(&mut rng)] += 1;
        }
        for (level, &n) in count.iter().enumerate() {
            let (n, p) = (f64::from(n), odds.ends_on(level));
            let (expected, deviation) = (f64::from(draws) * p, libm::sqrt(f64::from(draws) * p * (1.0 - p)) + 1.0);
            assert!((n - expected).abs() < 5.0 * deviation, "{rber}, level {level}: {n} of {draws}, chance {p}");
            assert!(!busy.contains(&level) || n > 1000.0, "{rber}, level {level}: {n}");
        }
    }
}

/// A chance far below 2^-32 survives the 32-bit draw: given that the draw escapes, the second one restores it.
#[test]
fn rare_ends_keep_their_chance() {
    let ladder = ladder(&bch(40));
    let odds = ladder.odds(Rber::settled(1.27e-3));
    let chance = odds.beyond(0);
    assert!((1e-12..2e-10).contains(&chance), "{chance}");
    assert_eq!(odds.escape, 1);
    let mut rng = Rng::new(2);
    let lost = (0..1_000_000).filter(|_| odds.climb(&mut rng) > 0).count() as f64;
    let expected = 1e6 * chance * 4_294_967_296.0;
    assert!((lost - expected).abs() <= 5.0 * libm::sqrt(expected) + 1.0, "{lost} and {expected}");
}

#[test]
fn specs_are_read_by_their_keys_and_bad_ones_are_refused() {
    let text = "codeword_bytes = 2048\nparity_stripe = 127\n[retry]\nmax_retries = 6\nrecovered_per_retry_percent = 50.0\n\
                [ldpc]\ncode = \"qc-2k\"\nsoft_reads = 7\niteration_us = 0.5\nsetup_us = 1.0\nprogressive = true\n";
    let spec: EccSpec = toml::from_str(text).unwrap();
    assert_eq!(spec, with_retries(ldpc(7, Some(127))));
    let levels = ladder(&spec);
    assert_eq!(levels.levels().len(), 11);
    assert_eq!(levels.levels()[10], Level::Uncorrectable);
    assert_eq!(levels.codewords_per_page(), 8);
    assert!(toml::from_str::<EccSpec>(&text.replace("soft_reads", "soft_readz")).is_err());

    let refused = |change: &dyn Fn(&mut EccSpec)| {
        let mut spec = spec.clone();
        change(&mut spec);
        Ladder::new(&spec, PAGE_BYTES).unwrap_err().key
    };
    assert_eq!(refused(&|s| s.ldpc.as_mut().unwrap().soft_reads = 5), "ldpc.soft_reads");
    assert_eq!(refused(&|s| s.ldpc.as_mut().unwrap().iteration_us = f64::NAN), "ldpc.iteration_us");
    assert_eq!(refused(&|s| s.bch = bch(8).bch), "ldpc");
    assert_eq!(refused(&|s| s.ldpc = None), "codeword_bytes");
    assert_eq!(refused(&|s| s.codeword_bytes = 4096), "codeword_bytes");
    assert_eq!(refused(&|s| s.codeword_bytes = 1500), "codeword_bytes");
    assert_eq!(refused(&|s| s.retry.max_retries = 99), "retry.max_retries");
    assert_eq!(refused(&|s| s.retry.recovered_per_retry_percent = 101.0), "retry.recovered_per_retry_percent");
    assert_eq!(refused(&|s| s.parity_stripe = Some(0)), "parity_stripe");
}

proptest! {
    /// Chances fall from rung to rung, add up to one, and rise with the error rate; costs only grow.
    #[test]
    fn rungs_are_nested(
        log10_rber in -5.0f64..-1.0, shift in 0.0f64..3.0, soft in prop::sample::select(vec![0u32, 3, 7]),
        hard_code in any::<bool>(), parity in prop::option::of(1u32..200), retries in 0u32..12,
    ) {
        let mut spec = if hard_code { bch(40) } else { ldpc(soft, None) };
        spec.parity_stripe = parity;
        spec.retry = RetrySpec { max_retries: retries, recovered_per_retry_percent: 40.0, at_once: None, follows_drift: true };
        let ladder = ladder(&spec);
        let settled = libm::pow(10.0, log10_rber);
        let rber = Rber { settled, shifted: settled * shift };
        let (odds, worse) = (ladder.odds(rber), ladder.odds(rber.times(1.1)));
        let last = ladder.levels().len() - 1;
        let mut sum = 0.0;
        for level in 0..=last {
            prop_assert!((0.0..=1.0).contains(&odds.ends_on(level)));
            prop_assert!(worse.beyond(level) >= odds.beyond(level));
            sum += odds.ends_on(level);
            if level > 0 {
                let (cost, before) = (ladder.cost(level), ladder.cost(level - 1));
                prop_assert!(cost.extra_senses >= before.extra_senses && cost.decode_ns >= before.decode_ns);
            }
        }
        prop_assert!((sum - 1.0).abs() < 1e-9);
        prop_assert_eq!(odds.beyond(last), 0.0);
    }
}
