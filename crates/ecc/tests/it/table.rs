//! The stored table of decoded frames, and the curves read from it.

use ssdlab_ecc::channel::Sensing;
use ssdlab_ecc::ldpc::code::LdpcCode;
use ssdlab_ecc::ldpc::table::{self, curve};

#[test]
fn curves_rise_with_the_error_rate_and_soft_decisions_lie_below_hard_ones() {
    for code in LdpcCode::ALL {
        for sensing in Sensing::ALL {
            let curve = curve(code, sensing);
            let mut before = (f64::NEG_INFINITY, 0.0);
            for step in 0..400 {
                let rber = libm::pow(10.0, -6.0 + 5.5 * f64::from(step) / 400.0);
                let now = (curve.log10_failure(rber), curve.mean_iterations(rber));
                assert!(now.0 >= before.0 && now.1 >= before.1 && now.0 <= 0.0, "{} {sensing:?} {rber}", code.name());
                before = now;
            }
            assert!(curve.log10_failure(1e-3) < -12.0);
            assert_eq!(curve.log10_failure(0.0), f64::NEG_INFINITY);
        }
        for rber in [0.005, 0.008, 0.012, 0.016, 0.02] {
            let [hard, soft3, soft7] = Sensing::ALL.map(|s| curve(code, s).log10_failure(rber));
            assert!(hard >= soft3 && soft3 >= soft7, "{} {rber}: {hard} {soft3} {soft7}", code.name());
        }
    }
}

/// Points with too few errors to shape the curve, or none, are where its extrapolation can be checked.
#[test]
fn extrapolations_run_through_the_intervals_of_thinly_counted_points() {
    let thin = table::rows().iter().filter(|r| r.counts.errors < table::ENOUGH_ERRORS);
    let mut checked = 0;
    for row in thin {
        let failure = libm::pow(10.0, curve(row.point.code, row.point.sensing).log10_failure(row.point.rber));
        let (low, high) = row.counts.interval();
        assert!((low..=high).contains(&failure), "{row:?}: {failure:.2e} outside {low:.2e} to {high:.2e}");
        checked += usize::from(row.counts.errors > 0);
    }
    assert!(checked >= 4, "{checked} thinly counted points");
}
