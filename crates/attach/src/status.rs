//! What the control socket tells.

use std::time::Duration;

use serde_json::{Map, Value, json};
use ssdlab_core::{Histogram, Nanos, Op, SECOND, SECTOR_BYTES, to_us};
use ssdlab_device::Security;

use crate::came_back;
use crate::clock::Clock;
use crate::drive::Drive;
use crate::health::{Health, health};
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
                "latency_us": percentiles(&served.latency),
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
        "lateness": lateness(statistics),
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
    json!({ "ssc": "Opal 2.0", "state": state, "psid": tper.identity().psid, "msid": tper.identity().msid })
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
    let attributes: Vec<Value> =
        attributes.into_iter().map(|a| json!({ "id": a.id, "name": a.name, "raw": a.raw })).collect();
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
