//! Numbers as messages and documents print them.

/// A limit: whole where it is whole, with separators from 10,000 on.
pub(crate) fn limit(v: f64) -> String {
    if v.fract() != 0.0 || v.abs() >= 1e15 {
        return format!("{v}");
    }
    let digits = format!("{}", v.abs());
    let sign = if v < 0.0 { "-" } else { "" };
    if digits.len() < 5 {
        return format!("{sign}{digits}");
    }
    let mut text = String::from(sign);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A value as it was given.
pub(crate) fn value(v: f64) -> String {
    if v != 0.0 && v.is_finite() && !(1e-6..1e15).contains(&v.abs()) { format!("{v:e}") } else { format!("{v}") }
}

/// A number with its unit, if it has one.
pub(crate) fn with_unit(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_at_a_glance() {
        let texts = [0.0, 0.01, 4096.0, 10_000.0, 1e6, 4_398_046_507_008.0, -12_345.0].map(limit);
        assert_eq!(texts, ["0", "0.01", "4096", "10,000", "1,000,000", "4,398,046,507,008", "-12,345"]);
    }

    #[test]
    fn absurd_values_take_little_room() {
        assert_eq!([-3.3, 1e300, 1e-300, 50.0].map(value), ["-3.3", "1e300", "1e-300", "50"]);
        assert_eq!(value(f64::NAN), "NaN");
    }
}
