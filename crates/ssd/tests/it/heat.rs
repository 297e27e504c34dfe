//! Heat, on a small drive of known power: warming up by the closed form, energy that goes nowhere else, and what the
//! throttle table does to the host.

use ssdlab_core::{Cause, Nanos, Op, SECOND};
use ssdlab_device::{Completion, Device, Plug, Request};
use ssdlab_nand::DieSpec;
use ssdlab_ssd::{ControllerSpec, Cores, DriveSpec, HeatSpec, Ssd};
use ssdlab_testkit::ideal_die;

use crate::power;

const AMBIENT_C: f64 = 25.0;
const J_PER_K: f64 = 0.5;
const K_PER_W: f64 = 40.0;
const BLOCK_BYTES: u64 = 128 << 10;

fn heat(from_c: &[f64], mb_per_s: &[f64]) -> HeatSpec {
    HeatSpec {
        ambient_c: AMBIENT_C,
        heat_capacity_j_per_k: J_PER_K,
        thermal_resistance_k_per_w: K_PER_W,
        sample_ms: 1000.0,
        throttle_from_c: from_c.to_vec(),
        throttled_read_mb_per_s: mb_per_s.to_vec(),
        throttled_write_mb_per_s: mb_per_s.to_vec(),
        hysteresis_k: 2.0,
    }
}

fn drive(heat: Option<HeatSpec>) -> DriveSpec {
    DriveSpec { heat, ..power::drive() }
}

fn die() -> DieSpec {
    power::die(2)
}

struct Bench {
    ssd: Ssd,
    now: Nanos,
    next_offset: u64,
}

impl Bench {
    fn new(drive: &DriveSpec) -> Self {
        Bench { ssd: Ssd::new("small", drive, &die(), 1).unwrap(), now: 0, next_offset: 0 }
    }

    fn write(&mut self) -> Completion {
        let request = Request::write(0, self.next_offset, BLOCK_BYTES);
        self.next_offset = (self.next_offset + BLOCK_BYTES) % self.ssd.info().capacity_bytes;
        self.run(request)
    }

    fn run(&mut self, request: Request) -> Completion {
        self.ssd.submit(self.now, request).unwrap();
        let mut done = Vec::new();
        self.now = self.ssd.advance_to_completion(Nanos::MAX - 1, &mut done);
        done[0]
    }

    fn rest(&mut self, time: Nanos) {
        self.now += time;
        self.ssd.advance(self.now, &mut Vec::new());
    }

    /// Writes for so long; how many bytes a second were accepted, in MB/s, and the share of the time held for heat.
    fn rate_for(&mut self, time: Nanos) -> (f64, f64) {
        let (from, mut bytes, mut held) = (self.now, 0, 0);
        while self.now < from + time {
            let done = self.write();
            bytes += BLOCK_BYTES;
            held += done.breakdown.get(Cause::Heat);
        }
        let elapsed = (self.now - from) as f64;
        (bytes as f64 * 1e3 / elapsed, held as f64 / elapsed)
    }

    fn watts_idle(&self) -> f64 {
        power::IDLE_UW as f64 / 1e6
    }
}

#[test]
fn an_idle_drive_warms_up_by_the_closed_form() {
    let mut b = Bench::new(&drive(Some(heat(&[], &[]))));
    for _ in 0..50 {
        b.rest(SECOND * 7 / 5);
        let seconds = b.now as f64 / SECOND as f64;
        let expected = AMBIENT_C + b.watts_idle() * K_PER_W * -libm::expm1(-seconds / (J_PER_K * K_PER_W));
        let celsius = b.ssd.celsius().unwrap();
        assert!((celsius - expected).abs() < 1e-6, "{celsius} against {expected} after {seconds} s");
    }
    assert_eq!(Bench::new(&drive(None)).ssd.celsius(), None);
}

#[test]
fn heat_kept_and_heat_given_off_are_the_energy_drawn() {
    let mut b = Bench::new(&drive(Some(heat(&[], &[]))));
    for seconds in 1..40 {
        b.rate_for(SECOND);
        if seconds % 7 == 0 {
            b.rest(3 * SECOND);
        }
        let counters = b.ssd.counters();
        let warmth = counters.heat.unwrap();
        let elapsed_s = warmth.watched_microseconds as f64 / 1e6;
        let kept = J_PER_K * (b.ssd.celsius().unwrap() - AMBIENT_C);
        let given_off = (warmth.celsius_microseconds as f64 / 1e6 - AMBIENT_C * elapsed_s) / K_PER_W;
        let drawn = counters.nanojoules() as f64 / 1e9;
        assert!((kept + given_off - drawn).abs() < 1e-4 * drawn, "{kept} + {given_off} J of {drawn} J");
    }
}

#[test]
fn a_warm_drive_writes_as_fast_as_its_table_allows_and_a_cool_one_is_not_held() {
    // It settles at 25 + 0.34 * 40 = 38.6 °C when idle; writing draws more.
    let free = Bench::new(&drive(None)).rate_for(20 * SECOND).0;
    let mut b = Bench::new(&drive(Some(heat(&[42.0], &[6.0]))));
    let (cold, held) = b.rate_for(SECOND / 2);
    assert!(held == 0.0 && cold > 10.0, "{cold} MB/s, held {held}");
    while b.ssd.celsius().unwrap() < 42.0 {
        b.write();
    }
    b.rate_for(SECOND);
    let (warm, held) = b.rate_for(SECOND);
    assert!((warm - 6.0).abs() < 0.06, "{warm} MB/s in the first step; {free} without one");
    assert!(held > 0.5, "held for {held} of the time");
    // Above its limit, by less than the hysteresis, the limit stays.
    assert!(b.ssd.celsius().unwrap() > 40.0);
    b.rest(60 * SECOND);
    assert!(b.ssd.celsius().unwrap() < 40.0);
    let (cool, held) = b.rate_for(SECOND / 2);
    assert!(held == 0.0 && cool > 10.0, "{cool} MB/s after a rest, held {held}");
}

/// Eight commands are held one behind the other. Neither their turn nor what they will need of the processor is taken before they
/// come in, which others would wait for.
#[test]
fn commands_that_are_held_take_nobodys_time_before_they_come_in() {
    let controller = ControllerSpec { cores: Cores::HostAndFlash, dma_extent_us: 1.0, ..drive(None).controller };
    let mut b = Bench::new(&DriveSpec { controller, ..drive(Some(heat(&[42.0], &[6.0]))) });
    while b.ssd.celsius().unwrap() < 42.0 {
        b.write();
    }
    b.rate_for(SECOND);
    for tag in 0..8 {
        b.ssd.submit(b.now, Request::read(tag, tag * BLOCK_BYTES, BLOCK_BYTES)).unwrap();
    }
    let mut done = Vec::new();
    b.ssd.advance(b.now + SECOND, &mut done);
    assert_eq!(done.len(), 8);
    for c in done {
        let controller = c.breakdown.get(Cause::Controller);
        assert!(controller < 1_000_000, "{controller} ns in the controller, {} for heat", c.breakdown.get(Cause::Heat));
    }
}

#[test]
fn a_step_is_kept_by_the_hysteresis_although_the_next_is_close() {
    for steps in [1, 2] {
        let mut b = Bench::new(&drive(Some(heat(&[42.0, 43.0][..steps], &[6.0, 5.0][..steps]))));
        while b.ssd.celsius().unwrap() < 42.0 {
            b.write();
        }
        // The limit cools the drive to below the step, but not out of the hysteresis.
        for second in 0..8 {
            let (rate, _) = b.rate_for(SECOND);
            let celsius = b.ssd.celsius().unwrap();
            assert!((40.0..43.0).contains(&celsius), "{celsius} °C");
            assert!(
                second == 0 || (rate - 6.0).abs() < 0.2,
                "{steps} steps, second {second}: {rate} MB/s at {celsius} °C"
            );
        }
    }
}

#[test]
fn a_drive_that_stops_takes_the_next_command_when_it_has_cooled() {
    let mut b = Bench::new(&drive(Some(heat(&[43.0], &[0.0]))));
    let hot = loop {
        let celsius = b.ssd.celsius().unwrap();
        let done = b.write();
        let held = done.breakdown.get(Cause::Heat);
        if held > 0 {
            break (celsius, held);
        }
    };
    let (celsius, held) = hot;
    let settled = AMBIENT_C + b.watts_idle() * K_PER_W;
    let cooling_s = J_PER_K * K_PER_W * libm::log((celsius - settled) / (41.0 - settled));
    let held_s = held as f64 / SECOND as f64;
    // In whole readings of the sensor, from the reading that found it too hot.
    assert!(held_s > cooling_s - 1.0 && held_s < cooling_s + 1.5, "held for {held_s} s; {cooling_s} s to cool");
    assert!(b.ssd.celsius().unwrap() < 41.2, "{} °C", b.ssd.celsius().unwrap());
    let read = b.run(Request::new(0, Op::Read, 0, 4096));
    assert_eq!(read.breakdown.get(Cause::Heat), 0, "the limit is lifted");
}

#[test]
fn time_held_ends_with_a_cut_and_is_counted_anew_after_it() {
    let mut b = Bench::new(&drive(Some(heat(&[42.0], &[6.0]))));
    while b.ssd.celsius().unwrap() < 42.0 {
        b.write();
    }
    b.rate_for(SECOND);
    let held = |b: &Bench| b.ssd.counters().heat.unwrap().held_nanos;
    let before = held(&b);
    // 128 KiB at 6 MB/s are paid for in 22 ms: of the last of these, which wait for 400 ms, nobody hears again.
    for tag in 0..20 {
        b.ssd.submit(b.now, Request::write(tag, tag * BLOCK_BYTES, BLOCK_BYTES)).unwrap();
    }
    b.rest(SECOND / 10);
    b.ssd.cut(b.now);
    let at_cut = held(&b) - before;
    assert!((SECOND / 20..=SECOND / 10).contains(&at_cut), "{at_cut} ns of a tenth of a second");
    b.now = b.ssd.restore(b.now + 1_000_000);
    let waited: Nanos = (0..40).map(|_| b.write().breakdown.get(Cause::Heat)).sum();
    assert!(waited > SECOND / 2, "{waited} ns");
    assert_eq!(held(&b) - before, at_cut + waited);
}

/// Degrees after so long at a constant power, by the closed form.
fn later(celsius: f64, watts: f64, time: Nanos) -> f64 {
    let settled = AMBIENT_C + watts * K_PER_W;
    let ratio = time as f64 / SECOND as f64 / (J_PER_K * K_PER_W);
    settled + (celsius - settled) * libm::exp(-ratio)
}

#[test]
fn a_drive_without_power_cools_down_and_one_that_is_put_in_again_begins_from_there() {
    let mut b = Bench::new(&drive(Some(heat(&[], &[]))));
    b.rate_for(20 * SECOND);
    let hot = b.ssd.celsius().unwrap();
    assert!(hot > 35.0, "{hot} °C");
    b.ssd.cut(b.now);
    let off = 15 * SECOND;
    b.rest(off);
    let celsius = b.ssd.celsius().unwrap();
    assert!((celsius - later(hot, 0.0, off)).abs() < 0.01, "{celsius} °C");
    b.now = b.ssd.restore(b.now);
    b.rest(20 * SECOND);
    let expected = later(celsius, b.watts_idle(), 20 * SECOND);
    let warm = b.ssd.celsius().unwrap();
    // While it starts, it warms up a little.
    assert!((warm - expected).abs() < 0.2, "{warm} °C instead of {expected} °C");
}

#[test]
fn a_drive_that_rests_after_work_cools_down_from_where_the_work_has_left_it() {
    for awake_mw in [None, Some(300.0)] {
        let mut spec = drive(Some(heat(&[], &[])));
        spec.power.as_mut().unwrap().controller_awake_mw = awake_mw;
        let mut b = Bench::new(&spec);
        // The last reading is as old as it gets.
        b.rate_for(59 * SECOND / 10);
        b.rest(SECOND);
        let before = b.ssd.celsius().unwrap();
        b.rest(40 * SECOND);
        let expected = later(before, b.watts_idle(), 40 * SECOND);
        let (celsius, _) = (b.ssd.celsius().unwrap(), b.write());
        let read = b.ssd.celsius().unwrap();
        for celsius in [celsius, read] {
            assert!((celsius - expected).abs() < 0.01, "{celsius} °C instead of {expected} °C");
        }
    }
}

#[test]
fn a_drive_that_never_gets_hot_answers_as_one_without_a_sensor() {
    let completions = |drive: &DriveSpec| {
        let mut b = Bench::new(drive);
        (0..2000).map(|_| b.write()).collect::<Vec<_>>()
    };
    assert_eq!(completions(&drive(Some(heat(&[120.0], &[1.0])))), completions(&drive(None)));
}

#[test]
fn a_table_that_makes_no_sense_is_refused() {
    let refused = |heat: HeatSpec, key: &str, fault: &str| {
        let error = Ssd::new("small", &drive(Some(heat)), &die(), 1).expect_err("it is refused").to_string();
        assert!(error.contains(key) && error.contains(fault), "{error}");
    };
    refused(heat(&[70.0, 60.0], &[20.0, 10.0]), "throttle_from_c", "ascending");
    refused(heat(&[60.0, 70.0], &[20.0]), "throttled_read_mb_per_s", "1 rates for 2");
    refused(heat(&[60.0, 70.0], &[20.0, 30.0]), "throttled_read_mb_per_s", "faster when hotter");
    refused(heat(&[60.0, 70.0], &[0.0, 0.0]), "throttled_read_mb_per_s", "rate of 0");
    let only_reads = HeatSpec { throttled_write_mb_per_s: vec![5.0], ..heat(&[60.0], &[0.0]) };
    refused(only_reads, "throttled_write_mb_per_s", "reads stop and writes do not");
    // It would never cool: idle, it settles at 38.6 °C.
    refused(heat(&[40.0], &[0.0]), "throttle_from_c", "cools to 38.6");
    let unpowered = DriveSpec { power: None, ..drive(Some(heat(&[], &[]))) };
    let error = Ssd::new("small", &unpowered, &ideal_die(), 1).expect_err("it is refused").to_string();
    assert!(error.contains("without [power]"), "{error}");
}
