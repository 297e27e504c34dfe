//! The section `[heat]` of a drive file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssdlab_keys::SpecError;

/// How a drive warms up by what it draws, and what its firmware does about it: one body with its sensor, in air. Needs
/// `[power]`. Absent: the drive stays as cold as its surroundings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-heading" = "Heat"))]
pub struct HeatSpec {
    /// Temperature of the air around the drive.
    #[schemars(range(min = 0.0, max = 125.0), extend("x-unit" = "°C"))]
    pub ambient_c: f64,
    /// Heat that warms the drive by one kelvin.
    #[schemars(range(min = 0.001, max = 1e6), extend("x-unit" = "J/K"))]
    pub heat_capacity_j_per_k: f64,
    /// By how much the sensor is warmer than the air for each watt that the drive draws for long.
    #[schemars(range(min = 0.001, max = 1e4), extend("x-unit" = "K/W"))]
    pub thermal_resistance_k_per_w: f64,
    /// How often the firmware reads the sensor.
    #[serde(default = "default_sample")]
    #[schemars(range(min = 1.0, max = 3.6e6))]
    pub sample_ms: f64,
    /// Temperatures from which the firmware holds the host back, one after the other. None: it never does.
    #[serde(default)]
    #[schemars(inner(range(min = 0.0, max = 200.0)), extend("x-unit" = "°C"))]
    pub throttle_from_c: Vec<f64>,
    /// Most that is read from each of these temperatures on; 0 for the last one: no command at all.
    #[serde(default)]
    #[schemars(inner(range(min = 0.0, max = 1e6)))]
    pub throttled_read_mb_per_s: Vec<f64>,
    /// The same of writes.
    #[serde(default)]
    #[schemars(inner(range(min = 0.0, max = 1e6)))]
    pub throttled_write_mb_per_s: Vec<f64>,
    /// How far the drive must cool below such a temperature before its limit is lifted.
    #[serde(default = "default_hysteresis")]
    #[schemars(range(min = 0.0, max = 100.0), extend("x-unit" = "K"))]
    pub hysteresis_k: f64,
}

/// WD X600 SATA: "in the flash, read each second".
fn default_sample() -> f64 {
    1000.0
}

/// Estimate.
fn default_hysteresis() -> f64 {
    3.0
}

impl HeatSpec {
    /// Checks that the lists belong together, that hotter is slower, and that a drive that stops cools down.
    /// `waiting_watts` is what it draws then.
    ///
    /// # Errors
    /// The first value for which that is not so.
    pub fn validate(&self, waiting_watts: Option<f64>) -> Result<(), SpecError> {
        let Some(waiting_watts) = waiting_watts else {
            return Err(SpecError::new(
                "heat",
                "a drive without [power] draws nothing",
                "add [power], or leave [heat] out",
            ));
        };
        let steps = self.throttle_from_c.len();
        let ascends = self.throttle_from_c.windows(2).all(|w| w[0] < w[1]);
        if !ascends {
            return Err(SpecError::new("heat.throttle_from_c", "not in ascending order", "put the lowest first"));
        }
        for (key, rates) in [
            ("heat.throttled_read_mb_per_s", &self.throttled_read_mb_per_s),
            ("heat.throttled_write_mb_per_s", &self.throttled_write_mb_per_s),
        ] {
            if rates.len() != steps {
                let fault = format!("{} rates for {steps} temperatures of heat.throttle_from_c", rates.len());
                return Err(SpecError::new(key, fault, "give one for each"));
            }
            if rates.windows(2).any(|w| w[0] < w[1]) {
                return Err(SpecError::new(key, "faster when hotter", "let no rate be above the one before it"));
            }
            if rates.iter().enumerate().any(|(i, &rate)| (rate > 0.0 && rate < 0.001) || (rate == 0.0 && i + 1 < steps))
            {
                return Err(SpecError::new(key, "a rate of 0, or nearly", "use 0 for the last temperature only"));
            }
        }
        let stops = |rates: &[f64]| rates.last() == Some(&0.0);
        if stops(&self.throttled_read_mb_per_s) != stops(&self.throttled_write_mb_per_s) {
            return Err(SpecError::new(
                "heat.throttled_write_mb_per_s",
                "reads stop and writes do not, or the other way round",
                "end both lists with 0, or neither",
            ));
        }
        if let (true, Some(&from)) = (stops(&self.throttled_read_mb_per_s), self.throttle_from_c.last()) {
            let rests_at = self.ambient_c + waiting_watts * self.thermal_resistance_k_per_w;
            let resumes_at = from - self.hysteresis_k;
            // Half a kelvin: else it would be at rest for hours.
            if rests_at + 0.5 > resumes_at {
                return Err(SpecError::new(
                    "heat.throttle_from_c",
                    format!(
                        "a drive that stops at {from} °C cools to {rests_at:.1} °C at best, and resumes at {resumes_at} °C"
                    ),
                    "use a higher last temperature, or a lower heat.ambient_c",
                ));
            }
        }
        Ok(())
    }
}
