//! When the requests of a trace are sent.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use ssdlab_core::Nanos;
use thiserror::Error;

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Speed {
    /// At their times of arrival, this many times as fast as recorded.
    Times(f64),
    /// In order, as soon as a tag is free.
    AsSoonAsPossible,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a speed; {forms}", forms = Speed::forms())]
pub struct SpeedError(pub String);

impl Speed {
    pub const RECORDED: Speed = Speed::Times(1.0);
    /// The factors that are taken.
    const FACTORS: RangeInclusive<f64> = 1e-6..=1e6;

    /// What a speed is written as.
    #[must_use]
    pub fn forms() -> String {
        let (least, most) = (Self::FACTORS.start(), Self::FACTORS.end());
        format!("use recorded, asap, or a factor from {least} to {most} such as 2x or 0.5x")
    }

    /// When something recorded at `at` happens. Zero if sent as soon as possible.
    #[must_use]
    pub fn scaled(self, at: Nanos) -> Nanos {
        match self {
            Speed::AsSoonAsPossible => 0,
            Speed::Times(1.0) => at,
            Speed::Times(factor) => (at as f64 / factor) as Nanos,
        }
    }
}

impl FromStr for Speed {
    type Err = SpeedError;

    fn from_str(text: &str) -> Result<Self, SpeedError> {
        let factor = || {
            let number = ['x', '×'].iter().find_map(|&x| text.strip_prefix(x).or_else(|| text.strip_suffix(x)))?;
            number.parse::<f64>().ok().filter(|v| Speed::FACTORS.contains(v))
        };
        match text {
            "recorded" => Ok(Speed::RECORDED),
            "asap" => Ok(Speed::AsSoonAsPossible),
            _ => factor().map(Speed::Times).ok_or_else(|| SpeedError(text.to_owned())),
        }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Speed::Times(1.0) => f.write_str("recorded"),
            Speed::Times(factor) => write!(f, "{factor}x"),
            Speed::AsSoonAsPossible => f.write_str("asap"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_names_or_factors() {
        for (text, speed) in [
            ("recorded", Speed::RECORDED),
            ("asap", Speed::AsSoonAsPossible),
            ("2x", Speed::Times(2.0)),
            ("x0.5", Speed::Times(0.5)),
            ("×2.5", Speed::Times(2.5)),
            ("2.5×", Speed::Times(2.5)),
        ] {
            assert_eq!(text.parse(), Ok(speed), "{text}");
            assert_eq!(speed.to_string().parse(), Ok(speed));
        }
        for wrong in ["", "x", "x0", "-1x", "nanx", "2", "fast", "1e9x", "x2x"] {
            assert_eq!(wrong.parse::<Speed>(), Err(SpeedError(wrong.to_owned())));
        }
        let told = SpeedError("fast".to_owned()).to_string();
        let words =
            "`fast` is not a speed; use recorded, asap, or a factor from 0.000001 to 1000000 such as 2x or 0.5x";
        assert_eq!(told, words);
    }

    #[test]
    fn a_factor_divides_times_and_one_leaves_them_exactly() {
        assert_eq!(Speed::RECORDED.scaled(u64::MAX - 1), u64::MAX - 1);
        assert_eq!(Speed::Times(4.0).scaled(1_000), 250);
        assert_eq!(Speed::Times(0.5).scaled(1_000), 2_000);
        assert_eq!(Speed::AsSoonAsPossible.scaled(1_000), 0);
    }
}
