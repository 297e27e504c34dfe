//! A disk of round numbers: where tests and experiments begin.

use crate::spec::{
    CacheSpec, ControllerSpec, DiskKind, DiskSpec, MediaSpec, NotQueued, SeekSpec, ServiceOrder, TrackOrder,
};

impl DiskSpec {
    /// 6,000 rpm, two heads, two zones of 1,000 cylinders with 400 and 200 sectors a track, seeks of 1 to 19 ms with a
    /// mean of about 10, a command queue of 32, eight segments of 128 KiB for reading and eight for writing, commands
    /// that take no time. Fields are meant to be replaced.
    #[must_use]
    pub fn plain() -> DiskSpec {
        DiskSpec {
            kind: DiskKind::Disk,
            description: "a disk of round numbers".to_owned(),
            capacity_bytes: 2 * 1000 * (400 + 200) * 512,
            media: MediaSpec {
                rotations_per_minute: 6000,
                heads: 2,
                zone_cylinders: vec![1000, 1000],
                zone_sectors_per_track: vec![400, 200],
                track_order: TrackOrder::Cylinder,
                serpentine_cylinders: 1,
                track_skew_us: 1000.0,
                cylinder_skew_us: 1500.0,
                spin_up_ms: 10_000.0,
            },
            seek: SeekSpec {
                single_track_read_ms: 1.0,
                single_track_write_ms: 1.5,
                average_read_ms: 10.0,
                average_write_ms: 11.0,
                full_stroke_read_ms: None,
                head_switch_ms: 0.5,
                curve_distance_ppm: vec![0, 1_000_000],
                curve_time_ms: vec![1.0, 10.0],
            },
            controller: ControllerSpec {
                link_mb_per_s: 300,
                command_us: 0.0,
                queue_depth: 32,
                not_queued: NotQueued::Nothing,
                order: ServiceOrder::ShortestAccess,
                longest_wait_ms: 5000.0,
            },
            cache: CacheSpec {
                segment_kib: 128,
                read_segments: 8,
                write_segments: 8,
                read_ahead_kib: 128,
                write_back: true,
            },
            power: None,
        }
    }
}
