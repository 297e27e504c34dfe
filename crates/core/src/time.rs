//! Simulated time: whole nanoseconds since the device was powered on.

/// A point in simulated time or a span of it, in nanoseconds. 2^64 ns are 584 years.
pub type Nanos = u64;

pub const MICROSECOND: Nanos = 1_000;
pub const MILLISECOND: Nanos = 1_000_000;
pub const SECOND: Nanos = 1_000_000_000;

/// The longest simulated time of a run: 366 days. Longer ones are those of broken numbers.
pub const MAX_DURATION: Nanos = 366 * 86_400 * SECOND;

/// Converts a datasheet figure in microseconds, rounding to the nearest nanosecond.
#[must_use]
pub fn nanos_from_us(us: f64) -> Nanos {
    (us * 1e3 + 0.5) as Nanos
}

/// Converts a datasheet figure in milliseconds, rounding to the nearest nanosecond.
#[must_use]
pub fn nanos_from_ms(ms: f64) -> Nanos {
    (ms * 1e6 + 0.5) as Nanos
}

/// Nanoseconds as microseconds, the unit in which latencies are reported.
#[must_use]
pub fn to_us(t: Nanos) -> f64 {
    t as f64 / 1e3
}

/// A duration for people: `850 ns`, `12.3 us`, `4.56 ms`, `1.23 s`.
#[must_use]
pub fn format_duration(t: Nanos) -> String {
    let v = t as f64;
    if t < MICROSECOND {
        format!("{t} ns")
    } else if t < MILLISECOND {
        format!("{:.1} us", v / 1e3)
    } else if t < SECOND {
        format!("{:.2} ms", v / 1e6)
    } else {
        format!("{:.2} s", v / 1e9)
    }
}
