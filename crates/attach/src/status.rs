//! What the control socket tells.

use std::time::Duration;

use serde_json::{Map, Value, json};
use ssdlab_core::{Histogram, Nanos, Op, SECOND, SECTOR_BYTES, format_duration, to_us};
use ssdlab_device::Security;

use crate::came_back;
use crate::clock::Clock;
use crate::drive::Drive;
use crate::health::{Attribute, Health, health};
use crate::lock::Lock;

/// What is known of a server.
#[derive(Clone, Default)]
pub struct Statistics {
    pub connections: u64,
    /// Thrown out, or refused.
    pub disconnected: u64,
    /// Of the machine, in nanoseconds: how much later than its time a reply was given to the system.
    pub lateness: Histogram,
    pub cuts: u64,
    /// From the last restore until the drive was ready.
    pub last_mount: Option<Nanos>,
}

/// What is looked at.
pub struct View<'a> {
    pub drive: &'a mut Drive,
    pub clock: Clock,
    pub statistics: &'a Statistics,
    pub connections: usize,
    /// The drive's time.
    pub now: Nanos,
    /// When it is ready after the last restore.
    pub ready_at: Nanos,
}

/// Everything that is known of a server and its drive.
pub fn status(view: &mut View<'_>) -> Value {
    let View { drive, clock, statistics, connections, now, ready_at } = view;
    let now = *now;
    let power = match (drive.device.has_power(), *ready_at > now) {
        (false, _) => "off",
        (true, true) => "on, recovering",
        (true, false) => "on",
    };
    let requests: Map<String, Value> = Op::ALL
        .iter()
        .zip(&drive.served)
        .filter(|(_, served)| served.requests > 0)
        .map(|(op, served)| {
            let value = json!({
                "requests": served.requests,
                "bytes": served.bytes,
                "errors": served.errors,
                "latency_us": (served.latency.count() > 0).then(|| percentiles(&served.latency)),
            });
            (op.name().to_owned(), value)
        })
        .collect();
    let (superseded_bytes, superseded_dropped) = drive.device.superseded();
    let after_cut = drive.device.after_cut().zip(drive.device.after_cut_places());
    let after_cut = after_cut.map(|(counts, places)| came_back::json(&counts, places));
    json!({
        "device": drive.export().name,
        "capacity_bytes": drive.export().size_bytes,
        "power": power,
        "has_plug": drive.device.has_plug(),
        "time_s": seconds(clock.since_start(now)),
        "time_scale": clock.scale(),
        "connections": *connections,
        "connections_so_far": statistics.connections,
        "disconnected": statistics.disconnected,
        "requests_under_way": drive.under_way(),
        "requests": requests,
        "other_errors": drive.other_errors,
        "lateness": lateness(statistics),
        "warning": lateness_warning(statistics, drive, clock.scale()),
        "cuts": statistics.cuts,
        "unclean_shutdowns": drive.device.unclean_shutdowns(),
        "ready_after_restore_ms": statistics.last_mount.map(|t| t as f64 / 1e6),
        "pages_after_last_cut": after_cut,
        "contents": {
            "stored_bytes": drive.device.store().stored_pages() * ssdlab_contents::PAGE_BYTES as u64,
            "overwritten_kept_bytes": superseded_bytes,
            "overwritten_let_go": superseded_dropped,
            "unreadable_pages": drive.device.store().lost().len(),
        },
        "locking": drive.lock().map(locking),
        "media_key_changes": drive.device.encrypts().then(|| drive.device.key_changes()),
        "image_error": drive.device.image_error(),
    })
}

/// Of a drive that can be locked: how it is, and what is printed on its label.
fn locking(lock: &Lock) -> Value {
    let tper = lock.tper();
    let state = match (tper.is_activated(), tper.is_locked()) {
        (false, _) => "not activated",
        (true, false) => "unlocked",
        (true, true) => "locked",
    };
    let label = tper.identity();
    json!({
        "ssc": "Opal 2.0",
        "state": state,
        "shadow": tper.has_shadow(),
        "psid": label.psid,
        "msid": label.msid,
    })
}

/// For people and JSON.
pub fn seconds(t: Nanos) -> f64 {
    t as f64 / SECOND as f64
}

fn percentiles(h: &Histogram) -> Value {
    json!({
        "mean": h.mean() / 1e3,
        "p50": to_us(h.percentile(50.0)),
        "p99": to_us(h.percentile(99.0)),
        "max": to_us(h.max()),
    })
}

/// How late replies were.
#[must_use]
pub fn lateness(statistics: &Statistics) -> Value {
    let late = &statistics.lateness;
    json!({
        "replies": late.count(),
        "p50_us": to_us(late.percentile(50.0)),
        "p99_us": to_us(late.percentile(99.0)),
        "max_us": to_us(late.max()),
    })
}

/// How late replies were, for people.
#[must_use]
pub fn lateness_line(statistics: &Statistics) -> String {
    let late = &statistics.lateness;
    if late.count() == 0 {
        return "no request was served".to_owned();
    }
    format!(
        "{} replies; later than the drive: {:.1} us at the median, {:.1} us at the 99th percentile, {:.1} us at most",
        late.count(),
        to_us(late.percentile(50.0)),
        to_us(late.percentile(99.0)),
        to_us(late.max()),
    )
}

/// So few replies say nothing of a machine: the first of a large drive are late whatever it is.
const LEAST_REPLIES: u64 = 100;

/// That the machine did not keep up, and what helps: replies were late by more than what the drive itself took, at the median
/// or at the 99th percentile. Clients then see more of the machine than of the drive.
#[must_use]
pub fn lateness_warning(statistics: &Statistics, drive: &Drive, time_scale: f64) -> Option<String> {
    warning(&statistics.lateness, drive.latencies(), time_scale)
}

/// `late` is in the machine's time, `own` in the drive's.
fn warning(late: &Histogram, own: &Histogram, time_scale: f64) -> Option<String> {
    if late.count() < LEAST_REPLIES {
        return None;
    }
    let own = |percent| (own.percentile(percent) as f64 * time_scale) as Nanos;
    let parts = [(50.0, "median"), (99.0, "99th percentile")];
    // What takes no time takes none at any scale.
    let is_late = |percent| own(percent) > 0 && late.percentile(percent) > own(percent);
    let (percent, name) = parts.into_iter().rfind(|&(percent, _)| is_late(percent))?;
    Some(format!(
        "replies were late by {} at the {name}, where the drive itself takes {}: this machine does not keep up, and clients \
         measure it more than the drive. Attach with --time-scale {} or more, or on a machine with a core to spare",
        format_duration(late.percentile(percent)),
        format_duration(own(percent)),
        10.0 * time_scale,
    ))
}

/// Counters by the names that smartctl and nvme-cli print, as far as the device has them.
///
/// # Errors
/// While the power is off.
pub fn smart(view: &mut View<'_>) -> Result<Value, String> {
    if !view.drive.device.has_power() {
        return Err("the power is off".into());
    }
    let Health { attributes, counters, power_cycles, power_on_hours, unclean_shutdowns, celsius, used } =
        health(view.drive, view.now);
    let host = counters.host;
    let units = |bytes: u64| bytes.div_ceil(1000 * SECTOR_BYTES);
    let mut log = json!({
        "data_units_read": units(host.read_bytes),
        "data_units_written": units(host.write_bytes),
        "host_read_commands": host.reads,
        "host_write_commands": host.writes,
        "power_cycles": power_cycles,
        "power_on_hours": power_on_hours,
    });
    if let Some(unclean) = unclean_shutdowns {
        log["unsafe_shutdowns"] = unclean.into();
    }
    if let Some(celsius) = celsius {
        log["temperature"] = ((celsius + 273.15).round() as u64).into();
    }
    if let Some(used) = used {
        log["percentage_used"] = ((100.0 * used).min(255.0).round() as u64).into();
    }
    if let Some(flash) = counters.flash {
        log["media_errors"] = flash.lost_units.into();
    }
    let mut groups = Map::new();
    let mut group = |name: &str, named: Vec<(&'static str, u64)>| {
        let values: Map<String, Value> = named.into_iter().map(|(k, v)| (k.to_owned(), v.into())).collect();
        groups.insert(name.to_owned(), values.into());
    };
    group("host", host.named());
    counters.flash.into_iter().for_each(|flash| group("flash", flash.named()));
    counters.disk.into_iter().for_each(|disk| group("disk", disk.named()));
    counters.cache.into_iter().for_each(|cache| group("cache", cache.named()));
    let told = |a: Attribute| {
        let (value, threshold) = (a.value(), Attribute::THRESHOLD);
        json!({ "id": a.id, "name": a.name, "value": value, "worst": value, "threshold": threshold, "raw": a.raw })
    };
    let attributes: Vec<Value> = attributes.into_iter().map(told).collect();
    Ok(
        json!({ "attributes": attributes, "nvme_smart_log": log, "counters": groups, "write_amplification": counters.waf() }),
    )
}

/// What the parts of the device did while the slowest request waited, as [`ssdlab_bench::host::SlowestSeen`] is written.
///
/// # Errors
/// If the device does not tell, or nothing has been asked of it since the last time.
pub fn timeline(view: &mut View<'_>) -> Result<Value, String> {
    let name = view.drive.export().name.clone();
    if !view.drive.tells_what_it_does() {
        return Err(format!(
            "{name} has no timeline: only simulated drives, disks and sets of them tell what their parts do"
        ));
    }
    let seen = view.drive.slowest_seen().ok_or("no request has ended since the last timeline")?;
    Ok(json!({ "device": name, "seen": seen }))
}

/// What a client of the control socket waits for at most, snapshots apart.
pub const CONTROL_PATIENCE: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use ssdlab_opal::{Geometry, Identity, Tper};

    use super::*;

    #[test]
    fn what_a_drive_that_can_be_locked_tells_of_itself() {
        let geometry = Geometry { sectors: 1 << 20, sector_bytes: 512, alignment_sectors: 8 };
        let identity = Identity::of("a", 1);
        let told = locking(&Lock::new(Tper::new(identity.clone(), geometry)));
        let expected = json!({
            "ssc": "Opal 2.0",
            "state": "not activated",
            "shadow": false,
            "psid": identity.psid,
            "msid": identity.msid,
        });
        assert_eq!(told, expected);
    }

    fn of(values: [(u64, Nanos); 2]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&(count, value)| (0..count).for_each(|_| histogram.record(value)));
        histogram
    }

    #[test]
    fn a_machine_that_is_later_than_the_drive_takes_is_warned_of() {
        let drive = of([(980, 90_000), (20, 190_000)]);
        assert_eq!(
            warning(&of([(980, 40_000), (20, 180_000)]), &drive, 1.0),
            None,
            "that much is the way there and back"
        );
        assert_eq!(
            warning(&of([(980, 40_000), (20, 4_584_000)]), &drive, 1.0).as_deref(),
            Some(
                "replies were late by 4.58 ms at the 99th percentile, where the drive itself takes 190.0 us: this machine does \
                 not keep up, and clients measure it more than the drive. Attach with --time-scale 10 or more, or on a machine \
                 with a core to spare"
            )
        );
        let late = of([(980, 100_000), (20, 180_000)]);
        assert!(warning(&late, &drive, 1.0).is_some_and(|said| said.contains("100.0 us at the median")));
        assert_eq!(warning(&late, &drive, 10.0), None, "a drive ten times as slow");
        let said = warning(&of([(980, 0), (20, 4_584_000)]), &drive, 2.0).unwrap();
        assert!(said.contains("takes 380.0 us") && said.contains("--time-scale 20 "), "{said}");
        assert_eq!(warning(&late, &of([(980, 0), (20, 0)]), 1.0), None, "no scale helps there");
        assert_eq!(warning(&of([(50, 1_000_000), (49, 1_000_000)]), &drive, 1.0), None, "too few to say");
    }
}
