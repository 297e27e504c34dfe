//! Sums over straight lines: how far along each of several directions leads to where one wants to be.

/// The sum of the products.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// How much of each of `directions` makes up `wanted` together, as nearly as they can. Of those that do the same, each has a part.
pub(super) fn least_squares(directions: &[Vec<f64>], wanted: &[f64]) -> Vec<f64> {
    /// Added to the diagonal, so that directions which are nearly the same do not lead far to and fro.
    const DAMPING: f64 = 1e-4;
    let n = directions.len();
    let mut rows: Vec<Vec<f64>> = directions
        .iter()
        .map(|row| directions.iter().map(|column| dot(row, column)).chain([dot(row, wanted)]).collect())
        .collect();
    for (i, row) in rows.iter_mut().enumerate() {
        // What moves nothing stays.
        row[i] = if row[i] > 0.0 { row[i] * (1.0 + DAMPING) } else { 1.0 };
    }
    // The matrix is symmetric, and its diagonal the larger: no row must be looked for.
    for i in 0..n {
        for j in (0..n).filter(|&j| j != i) {
            let part = rows[j][i] / rows[i][i];
            for k in i..=n {
                rows[j][k] -= part * rows[i][k];
            }
        }
    }
    rows.iter().enumerate().map(|(i, row)| row[n] / row[i]).collect()
}

/// How many times as wide the interval of an unknown is with all others free as with them kept, where figures are straight lines:
/// by the share of its slopes that the others' do not make up.
pub(super) fn times_as_wide(slopes: &[Vec<f64>], unknown: usize) -> f64 {
    let without = |from: &[f64], directions: &[Vec<f64>]| {
        let mut rest = from.to_vec();
        for direction in directions {
            let along = dot(&rest, direction);
            rest.iter_mut().zip(direction).for_each(|(r, d)| *r -= along * d);
        }
        rest
    };
    let length = |v: &[f64]| libm::sqrt(dot(v, v));
    let mut others: Vec<Vec<f64>> = Vec::new();
    for slope in slopes.iter().enumerate().filter(|(u, _)| *u != unknown).map(|(_, slope)| slope) {
        let rest = without(slope, &others);
        let rest_length = length(&rest);
        if rest_length > 1e-6 * length(slope) {
            others.push(rest.iter().map(|r| r / rest_length).collect());
        }
    }
    let whole = length(&slopes[unknown]);
    if whole == 0.0 { 1.0 } else { whole / length(&without(&slopes[unknown], &others)).max(1e-9 * whole) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_are_found_also_of_directions_that_do_the_same_or_nothing() {
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 0.01);
        let found = least_squares(&[vec![1.0, 1.0], vec![1.0, 2.0]], &[3.0, 5.0]);
        assert!(near(&found, &[1.0, 2.0]), "{found:?}");
        let found = least_squares(&[vec![1.0, 1.0], vec![1.0, 1.0], vec![0.0, 0.0]], &[3.0, 1.0]);
        assert!(near(&found, &[1.0, 1.0, 0.0]), "{found:?}");
    }
}
