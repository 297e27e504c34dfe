//! Flash that errs and the correction of it, drawn from a seed: from drives that hardly notice to drives that lose much
//! of what they hold.

use ssdlab_core::Rng;
use ssdlab_ecc::ldpc::code::LdpcCode;
use ssdlab_ecc::spec::{BchSpec, EccSpec, LdpcSpec, RetrySpec};
use ssdlab_nand::rber::{ErrorSpec, ModeErrors};
use ssdlab_nand::{CellMode, DieSpec, PageOrder};
use ssdlab_ssd::{DriveSpec, RefreshSpec, UsedSpec};

use crate::draw::{between, one};

/// One drive in five of those that do not compress corrects errors: from a stream of its own, so that a seed's drive is
/// otherwise as it would be without.
pub fn add_correction(die: &mut DieSpec, drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("flash errors");
    if drive.compression.is_some() || !rng.chance(1, 5) {
        return;
    }
    let (mut ecc, limit) = draw_code(&mut rng);
    // Of a stream of its own: a seed keeps its drive.
    ecc.retry.at_once = one(&mut Rng::new(seed).stream("reads retried at once"), &[None, None, Some(1), Some(2)]);
    ecc.retry.follows_drift = Rng::new(seed).stream("drift is followed").chance(1, 2);
    let parity = ecc.parity_bytes(die.geometry.page_bytes);
    die.geometry.spare_bytes = die.geometry.spare_bytes.max(parity);
    let mut errors = draw_errors(&mut rng, die, limit);
    let drift = one(&mut Rng::new(seed).stream("drift of new cells"), &[0.0, 0.0, 0.0, 1.0]) * limit;
    errors.slc.iter_mut().chain(&mut errors.mlc).for_each(|mode| mode.drift_rber_per_year = drift.min(0.1));
    die.errors = Some(errors);
    drive.ecc = Some(ecc);
}

/// Half of the drives that correct errors refresh. A run reads a block some hundreds of times; the host lets years pass.
pub fn add_refresh(drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("refresh");
    if drive.ecc.is_none() || !rng.chance(1, 2) {
        return;
    }
    let idles = drive.gc.background_after_idle_ms.is_some();
    drive.refresh = Some(RefreshSpec {
        after_days: one(&mut rng, &[None, Some(1.0), Some(100.0)]).filter(|_| idles),
        after_block_reads: one(&mut rng, &[None, Some(1), Some(50), Some(500)]),
    });
}

/// One drive in four of those that correct errors has been used before: as many cycles as bring its flash near its end.
pub fn add_earlier_use(die: &DieSpec, drive: &mut DriveSpec, seed: u64) {
    let mut rng = Rng::new(seed).stream("used before");
    if drive.ecc.is_none() || !rng.chance(1, 4) {
        return;
    }
    let cycles = f64::from(between(&mut rng, 1, 30));
    drive.used = Some(UsedSpec {
        life_percent: cycles * 100.0 / f64::from(die.wear.rated_program_erase_cycles),
        spread_percent: one(&mut rng, &[0.0, 5.0, 25.0]),
    });
}

/// A code with what comes after it, and the raw bit error rate at which it is at its end.
fn draw_code(rng: &mut Rng) -> (EccSpec, f64) {
    let retry = RetrySpec {
        max_retries: one(rng, &[0, 0, 1, 2, 5]),
        recovered_per_retry_percent: one(rng, &[0.0, 30.0, 60.0, 100.0]),
        at_once: None,
        follows_drift: true,
    };
    let parity_stripe = rng.chance(2, 5).then(|| between(rng, 1, 15));
    if rng.chance(1, 2) {
        let codeword_bytes = one(rng, &[512, 1024, 2048, 4096]);
        let correctable_bits = between(rng, 6, 40);
        let bch = BchSpec { correctable_bits, decode_us: f64::from(between(rng, 0, 20)) };
        let limit = f64::from(correctable_bits) / f64::from(codeword_bytes * 8);
        return (EccSpec { codeword_bytes, bch: Some(bch), ldpc: None, retry, parity_stripe }, limit);
    }
    let (code, codeword_bytes, limits) = one(
        rng,
        &[
            (LdpcCode::CcsdsC2, 512, [0.009, 0.0185, 0.021]),
            (LdpcCode::Qc2k, 1024, [0.007, 0.015, 0.017]),
            (LdpcCode::Qc2k, 2048, [0.007, 0.015, 0.017]),
        ],
    );
    let (soft_reads, limit) = one(rng, &[(0, limits[0]), (3, limits[1]), (7, limits[2])]);
    let ldpc = LdpcSpec {
        code,
        soft_reads,
        iteration_us: f64::from(between(rng, 0, 3)),
        setup_us: f64::from(between(rng, 0, 5)),
        progressive: rng.chance(1, 2),
    };
    (EccSpec { codeword_bytes, bch: None, ldpc: Some(ldpc), retry, parity_stripe }, limit)
}

/// Error rates that bring flash near `limit`: from the start, by the few cycles that a run wears it, by reads, or by the
/// time that the host lets pass.
fn draw_errors(rng: &mut Rng, die: &DieSpec, limit: f64) -> ErrorSpec {
    let mut share = |percent: &[u32]| (limit * f64::from(one(rng, percent)) / 100.0).min(0.1);
    let (fresh_rber, wear_rber) = (share(&[0, 10, 25, 35, 50]), share(&[0, 0, 20, 40]));
    let (retention, disturb) = (share(&[0, 0, 20, 50, 100]), share(&[0, 0, 40, 100]));
    let errors = ModeErrors {
        reference_cycles: f64::from(between(rng, 2, 30)),
        fresh_rber,
        wear_rber,
        wear_exponent: one(rng, &[0.5, 1.0, 2.0]),
        retention_rber_per_year: retention,
        retention_cycle_exponent: one(rng, &[0.0, 0.2, 1.0]),
        retention_time_exponent: one(rng, &[0.5, 1.0]),
        drift_rber_per_year: 0.0,
        disturb_rber_per_million_reads: disturb,
        disturb_cycle_exponent: one(rng, &[0.0, 0.3]),
        // A run reads a block some hundreds of times.
        disturb_read_exponent: one(rng, &[0.1, 0.2]),
        recoverable_percent: one(rng, &[0.0, 50.0, 80.0, 100.0]),
        references_per_page: vec![1],
    };
    let native = ModeErrors {
        references_per_page: if die.geometry.page_order == PageOrder::Uniform { vec![1] } else { vec![1, 2] },
        ..errors.clone()
    };
    let several = die.geometry.bits_per_cell > 1;
    let slc = if several { die.mode(CellMode::Slc).map(|_| errors) } else { Some(native.clone()) };
    let block_spread = one(rng, &[0.0, 0.2, 0.5]);
    ErrorSpec { slc, mlc: several.then_some(native), tlc: None, qlc: None, block_spread }
}
