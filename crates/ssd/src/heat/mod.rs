//! Heat: a drive is one body of a heat capacity `C` behind a thermal resistance `R`, warmed by the energy that it draws
//! ([`crate::power`]), in air that stays as it is:
//!
//! ```text
//! C dT/dt = P - (T - ambient) / R
//! ```
//!
//! The firmware reads its sensor every so often and compares it with the temperatures of its throttle table. While one of
//! them is exceeded, commands come in no faster than the table allows: each is held until those before it are paid for at
//! the rate of their kind. In the last step a drive may take no command at all until it has cooled.
//!
//! Liberties: a reading is taken with the first command that comes after it was due, and when the power goes and comes; between
//! two readings the mean power counts, of each of the last long rests by itself and of all else together; one sensor for all,
//! no hot spot of the controller; commands are held in their order, so that a held write also holds the reads behind it;
//! flash that warms up does not lose its charge sooner.

mod spec;

use ssdlab_core::{Nanos, Op, SECOND, nanos_from_ms};
use ssdlab_device::HeatCounters;
use ssdlab_ftl::Translation;

use crate::SimulatedSsd;

pub use spec::HeatSpec;

/// Temperature of a drive, and what it does to its commands.
#[derive(Clone, Debug)]
pub struct Heat {
    spec: HeatSpec,
    /// Seconds in which a difference falls to 1/e.
    time_constant_s: f64,
    /// At the last reading, when that was, and the energy drawn by then.
    celsius: f64,
    read_at: Nanos,
    nanojoules: u64,
    next_reading: Nanos,
    /// Integral of the temperature up to the last reading.
    celsius_seconds: f64,
    /// Which entry of the throttle table is in force.
    step: Option<usize>,
    /// When the next command may come in.
    open_at: Nanos,
    held: Nanos,
    /// Up to when that is counted.
    held_until: Nanos,
}

/// A temperature at some time, and its integral up to then.
#[derive(Clone, Copy)]
struct Later {
    celsius: f64,
    celsius_seconds: f64,
}

impl Heat {
    #[must_use]
    pub fn new(spec: &HeatSpec) -> Self {
        Heat {
            spec: spec.clone(),
            time_constant_s: spec.heat_capacity_j_per_k * spec.thermal_resistance_k_per_w,
            celsius: spec.ambient_c,
            read_at: 0,
            nanojoules: 0,
            next_reading: 0,
            celsius_seconds: 0.0,
            step: None,
            open_at: 0,
            held: 0,
            held_until: 0,
        }
    }

    /// What `seconds` at constant power come to.
    fn after(&self, before: Later, seconds: f64, watts: f64) -> Later {
        if seconds == 0.0 {
            return before;
        }
        let settled = self.spec.ambient_c + watts * self.spec.thermal_resistance_k_per_w;
        let decayed = -libm::expm1(-seconds / self.time_constant_s);
        let excess = before.celsius - settled;
        Later {
            celsius: settled + excess * (1.0 - decayed),
            celsius_seconds: before.celsius_seconds + settled * seconds + excess * self.time_constant_s * decayed,
        }
    }

    /// `rests`: stretches of known power, in their order.
    fn at(&self, now: Nanos, nanojoules: u64, rests: &[(Nanos, Nanos, f64)]) -> Later {
        let since = |from: Nanos, to: Nanos| to.saturating_sub(from) as f64 / SECOND as f64;
        let within = |&(from, to, watts): &(Nanos, Nanos, f64)| (from.max(self.read_at), to.min(now), watts);
        let rests = || rests.iter().map(within).filter(|&(from, to, _)| from < to);
        let mut seconds = since(self.read_at, now);
        let mut joules = nanojoules.saturating_sub(self.nanojoules) as f64 / 1e9;
        for (from, to, watts) in rests() {
            seconds -= since(from, to);
            joules -= watts * since(from, to);
        }
        // What rounding leaves is neither time nor energy.
        let watts = if seconds > 1e-9 { joules.max(0.0) / seconds } else { 0.0 };
        let mut later = Later { celsius: self.celsius, celsius_seconds: self.celsius_seconds };
        let mut at = self.read_at;
        for (from, to, resting) in rests() {
            later = self.after(later, since(at, from), watts);
            later = self.after(later, since(from, to), resting);
            at = to;
        }
        self.after(later, since(at, now), watts)
    }

    /// From one reading of the sensor to the next.
    fn interval(&self) -> Nanos {
        nanos_from_ms(self.spec.sample_ms)
    }

    /// The firmware reads its sensor.
    fn read(&mut self, now: Nanos, nanojoules: u64, later: Later) {
        (self.celsius, self.celsius_seconds) = (later.celsius, later.celsius_seconds);
        (self.read_at, self.nanojoules) = (now, nanojoules);
        self.next_reading = (now / self.interval() + 1) * self.interval();
        let from = &self.spec.throttle_from_c;
        let reached = from.iter().rposition(|&c| self.celsius >= c);
        let held = from.iter().rposition(|&c| self.celsius >= c - self.spec.hysteresis_k);
        // A step is left where it is cool enough for that; none is reached before its time.
        let kept = held.min(self.step);
        self.step = reached.max(kept);
    }

    /// When a command that arrives now or later may come in, if it is of `bytes`.
    fn admit(&mut self, arrived: Nanos, op: Op, bytes: u64, waiting_watts: f64) -> Nanos {
        let open = arrived.max(self.open_at);
        let Some(step) = self.step else { return open };
        let rate = match op {
            Op::Read => self.spec.throttled_read_mb_per_s[step],
            Op::Write | Op::Flush | Op::Trim | Op::WriteZeroes => self.spec.throttled_write_mb_per_s[step],
        };
        let enters = if rate > 0.0 { open } else { open.max(self.read_at + self.cooling(step, waiting_watts)) };
        // A megabyte a second is a byte a microsecond. What brings no data has nothing to pay.
        let has_data = matches!(op, Op::Read | Op::Write);
        let paid = if rate > 0.0 && has_data { (bytes as f64 * 1e3 / rate) as Nanos } else { 0 };
        self.open_at = enters + paid;
        // Time in which one command waits, or several, counts once.
        self.held += enters.saturating_sub(arrived.max(self.held_until));
        self.held_until = self.held_until.max(enters);
        enters
    }

    /// How long after the last reading a drive that does nothing has cooled enough to leave a step, in whole readings.
    fn cooling(&self, step: usize, waiting_watts: f64) -> Nanos {
        let settled = self.spec.ambient_c + waiting_watts * self.spec.thermal_resistance_k_per_w;
        let target = self.spec.throttle_from_c[step] - self.spec.hysteresis_k;
        let ratio = (self.celsius - settled) / (target - settled);
        let seconds = self.time_constant_s * libm::log(ratio.max(1.0));
        ((seconds * SECOND as f64) as Nanos).div_ceil(self.interval()).max(1) * self.interval()
    }

    /// Commands are gone, and with them what they had to pay.
    pub fn drop_commands(&mut self, now: Nanos) {
        self.open_at = 0;
        // None of them waits any longer.
        self.held = self.held.saturating_sub(self.held_until.saturating_sub(now));
        self.held_until = self.held_until.min(now);
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// When a command that has arrived may come in: at once, unless the drive is too hot.
    #[cold]
    #[inline(never)]
    pub(crate) fn hold_for_heat(&mut self, now: Nanos, arrived: Nanos, op: Op, bytes: u64) -> Nanos {
        if self.heat.as_deref().is_some_and(|heat| now >= heat.next_reading) {
            self.feel(now);
        }
        // What it draws then counts by itself.
        self.frontend.link_sleep.note_rest();
        let waiting_watts = self.power.as_deref().map_or(0.0, |(_, meter)| meter.waiting_watts());
        let Some(heat) = self.heat.as_deref_mut() else { return arrived };
        heat.admit(arrived, op, bytes, waiting_watts)
    }

    /// The firmware reads its sensor, if it has one.
    pub(crate) fn feel(&mut self, now: Nanos) {
        let Some(heat) = self.heat.as_deref() else { return };
        let drawn = self.drawn_at(now);
        let later = heat.at(now, drawn, &self.rests(now).collect::<Vec<_>>());
        if let Some(heat) = self.heat.as_deref_mut() {
            heat.read(now, drawn, later);
        }
    }

    fn drawn_at(&self, now: Nanos) -> u64 {
        self.energy_at(now).map_or(0, |energy| energy.nanojoules)
    }

    /// What the sensor says and has said, whether the firmware reads it now or not.
    fn sensed(&self) -> Option<(&Heat, Nanos, Later)> {
        let heat = self.heat.as_deref()?;
        let now = self.now.max(self.frontend.in_flight.changed()).max(heat.read_at);
        Some((heat, now, heat.at(now, self.drawn_at(now), &self.rests(now).collect::<Vec<_>>())))
    }

    pub(crate) fn temperature(&self) -> Option<f64> {
        self.sensed().map(|(_, _, later)| later.celsius)
    }

    /// Temperature and throttling since power on, of a drive that warms up.
    pub(crate) fn warmth(&self) -> Option<HeatCounters> {
        let (heat, now, later) = self.sensed()?;
        Some(HeatCounters {
            celsius_microseconds: (later.celsius_seconds * 1e6) as u64,
            watched_microseconds: now / 1000,
            held_nanos: heat.held,
        })
    }
}
