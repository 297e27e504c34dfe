//! Roots and maxima of functions of one variable, by fixed numbers of steps: the same bits everywhere.

/// The root of a rising function between positive bounds, by bisection on a logarithmic scale; a bound if the
/// function does not change its sign.
pub(crate) fn rising(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..100 {
        let middle = libm::sqrt(low * high);
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
    libm::sqrt(low * high)
}

/// Where a function with one peak is largest, by golden section.
pub(crate) fn peak(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut low, mut high) = (low, high);
    let mut a = high - GOLDEN * (high - low);
    let mut b = low + GOLDEN * (high - low);
    let (mut fa, mut fb) = (f(a), f(b));
    for _ in 0..60 {
        if fa < fb {
            low = a;
            (a, fa) = (b, fb);
            b = low + GOLDEN * (high - low);
            fb = f(b);
        } else {
            high = b;
            (b, fb) = (a, fa);
            a = high - GOLDEN * (high - low);
            fa = f(a);
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_root_and_a_peak() {
        assert!((rising(1e-9, 10.0, |x| x * x - 2.0) - std::f64::consts::SQRT_2).abs() < 1e-12);
        assert!((peak(0.0, 3.0, |x| -(x - 1.25) * (x - 1.25)) - 1.25).abs() < 1e-6);
    }
}
