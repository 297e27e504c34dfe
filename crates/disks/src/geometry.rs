//! Where a sector lies: zone, cylinder, head, and the angle at which it passes under the head.
//!
//! Angles within a turn are in nanoseconds of rotation. The angle at which a track begins is kept as a 32-bit fraction
//! of a turn, which wraps around by itself; a sector's angle within its track is its share of the turn.

use ssdlab_core::{FastDiv, Nanos, SECOND, nanos_from_us};

use crate::spec::{MediaSpec, TrackOrder};

/// Where the arm is, or has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Track {
    pub cylinder: u32,
    pub head: u32,
}

/// Where a sector lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub track: Track,
    /// When it begins, in nanoseconds of rotation from the index mark.
    pub angle: u32,
}

/// A sector within its zone.
#[derive(Clone, Copy, Debug)]
struct Spot {
    zone: usize,
    /// Track within the zone, in the order of sector numbers.
    track: u32,
    sector: u32,
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    first_sector: u32,
    /// The first that lies beyond it.
    end: u32,
    first_cylinder: u32,
    cylinders: u32,
    tracks: u32,
    /// At which its first track begins.
    angle: Turn,
    per_track: FastDiv,
    /// Nanoseconds of a sector, times 2^20, rounded up: exact at both ends of a track.
    sector_nanos: u64,
}

/// A fraction of a turn, in units of 2^-32.
type Turn = u32;

/// See the module's own page.
#[derive(Clone, Debug)]
pub struct Geometry {
    zones: Vec<Zone>,
    /// The zone in which each group of sectors begins, to start looking from.
    zone_of: Vec<u8>,
    group_bits: u32,
    turn: u32,
    order: Order,
    track_skew: Turn,
    cylinder_skew: Turn,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Cylinder {
        heads: FastDiv,
    },
    /// A group is so many cylinders of all heads; `bend` is the skew from one group to the next.
    Serpentine {
        cylinders: FastDiv,
        heads: FastDiv,
        bend: Turn,
    },
}

/// Fixed-point bits of [`Zone::sector_nanos`].
const FINE: u32 = 20;
const GROUPS: u32 = 1024;

impl Geometry {
    /// `seek` gives the time of a seek over so many cylinders.
    pub fn new(spec: &MediaSpec, seek: impl Fn(u32) -> Nanos) -> Geometry {
        let turn = turn_of(spec);
        let part = |time: Nanos| ((u128::from(time) << 32) / u128::from(turn)) as Turn;
        // Two nanoseconds more, for what is lost where angles become whole nanoseconds: an arm that needs exactly as long
        // as the skew is in time.
        let [track_skew, cylinder_skew] = [spec.track_skew_us, spec.cylinder_skew_us].map(|us| nanos_from_us(us) + 2);
        let heads = FastDiv::new(spec.heads);
        let order = match spec.track_order {
            TrackOrder::Cylinder => Order::Cylinder { heads },
            TrackOrder::Serpentine => {
                // With an even number of heads the last one ends where the group began.
                // A single group of all cylinders is followed by none.
                let whole = spec.serpentine_cylinders.min(spec.cylinders() - 1);
                let ahead = if spec.heads.is_multiple_of(2) { whole } else { 1 };
                let longer = seek(ahead) - seek(1).min(seek(ahead));
                let cylinders = FastDiv::new(spec.serpentine_cylinders);
                Order::Serpentine { cylinders, heads, bend: part(cylinder_skew + longer) }
            }
        };
        let mut geometry = Geometry {
            zones: Vec::new(),
            zone_of: Vec::new(),
            group_bits: 0,
            turn,
            order,
            track_skew: part(track_skew),
            cylinder_skew: part(cylinder_skew),
        };
        let (mut first_sector, mut first_cylinder, mut angle) = (0, 0, 0);
        for (&cylinders, &per_track) in spec.zone_cylinders.iter().zip(&spec.zone_sectors_per_track) {
            let tracks = cylinders * spec.heads;
            let zone = Zone {
                first_sector,
                end: first_sector + tracks * per_track,
                first_cylinder,
                cylinders,
                tracks,
                angle,
                per_track: FastDiv::new(per_track),
                sector_nanos: (u64::from(turn) << FINE).div_ceil(per_track.into()),
            };
            first_sector = zone.end;
            first_cylinder += cylinders;
            let last = geometry.track_of(&zone, tracks - 1);
            angle = last.1.wrapping_add(geometry.cylinder_skew);
            geometry.zones.push(zone);
        }
        let sectors = first_sector;
        while sectors >> geometry.group_bits >= GROUPS {
            geometry.group_bits += 1;
        }
        let zones = &geometry.zones;
        let in_zone = |sector: u32| zones.partition_point(|z| z.end <= sector).min(zones.len() - 1) as u8;
        geometry.zone_of = (0..=sectors >> geometry.group_bits).map(|g| in_zone(g << geometry.group_bits)).collect();
        geometry
    }

    #[inline]
    fn spot(&self, sector: u32) -> Spot {
        let mut zone = usize::from(self.zone_of[(sector >> self.group_bits) as usize]);
        while self.zones[zone].end <= sector {
            zone += 1;
        }
        let z = &self.zones[zone];
        let (track, within) = z.per_track.split(sector - z.first_sector);
        Spot { zone, track, sector: within }
    }

    /// Where the track of this number within a zone lies, and the angle at which it begins.
    #[inline]
    fn track_of(&self, zone: &Zone, track: u32) -> (Track, Turn) {
        match self.order {
            Order::Cylinder { heads } => {
                let (cylinder, head) = heads.split(track);
                let switches = cylinder.wrapping_mul(heads.divisor() - 1) + head;
                let angle = zone
                    .angle
                    .wrapping_add(cylinder.wrapping_mul(self.cylinder_skew))
                    .wrapping_add(switches.wrapping_mul(self.track_skew));
                (Track { cylinder: zone.first_cylinder + cylinder, head }, angle)
            }
            Order::Serpentine { cylinders, heads, bend } => {
                // The last group of a zone may have fewer cylinders.
                let whole = cylinders.divisor() * heads.divisor();
                let (group, within) = (track / whole, track % whole);
                let first = group * cylinders.divisor();
                let here = cylinders.divisor().min(zone.cylinders - first);
                let (head, step) = (within / here, within % here);
                let inwards = head.is_multiple_of(2);
                let cylinder = if inwards { step } else { here - 1 - step };
                // All groups before this one are whole.
                let steps = group * (cylinders.divisor() - 1) * heads.divisor() + head * (here - 1) + step;
                let switches = group * (heads.divisor() - 1) + head;
                let angle = zone
                    .angle
                    .wrapping_add(steps.wrapping_mul(self.cylinder_skew))
                    .wrapping_add(switches.wrapping_mul(self.track_skew))
                    .wrapping_add(group.wrapping_mul(bend));
                (Track { cylinder: zone.first_cylinder + first + cylinder, head }, angle)
            }
        }
    }

    /// Nanoseconds of rotation of a fraction of a turn.
    #[inline]
    fn nanos(&self, angle: Turn) -> u32 {
        ((u64::from(angle) * u64::from(self.turn)) >> 32) as u32
    }

    /// The track on which a sector lies.
    #[inline]
    pub fn track(&self, sector: u32) -> Track {
        let spot = self.spot(sector);
        self.track_of(&self.zones[spot.zone], spot.track).0
    }

    /// Where a sector lies.
    #[inline]
    pub fn place(&self, sector: u32) -> Place {
        let spot = self.spot(sector);
        let zone = &self.zones[spot.zone];
        let (track, angle) = self.track_of(zone, spot.track);
        let angle = self.nanos(angle) + zone.nanos(spot.sector);
        Place { track, angle: if angle >= self.turn { angle - self.turn } else { angle } }
    }

    /// Sectors from `from` to `to` pass under the heads: how long that takes, and where the arm is then. `switch` says
    /// how long the arm takes from one track to the next.
    #[inline]
    pub fn pass(&self, from: u32, to: u32, switch: impl Fn(Track, Track) -> u32) -> (Nanos, Track) {
        let spot = self.spot(from);
        let zone = &self.zones[spot.zone];
        let end = spot.sector + (to - from);
        let (track, angle) = self.track_of(zone, spot.track);
        if end <= zone.per_track.divisor() {
            return (Nanos::from(zone.nanos(end) - zone.nanos(spot.sector)), track);
        }
        self.pass_tracks(spot, (track, angle), to - from, switch)
    }

    fn pass_tracks(
        &self,
        spot: Spot,
        mut at: (Track, Turn),
        mut left: u32,
        switch: impl Fn(Track, Track) -> u32,
    ) -> (Nanos, Track) {
        let Spot { mut zone, mut track, mut sector } = spot;
        let mut time = 0;
        loop {
            let z = &self.zones[zone];
            let here = left.min(z.per_track.divisor() - sector);
            time += Nanos::from(z.nanos(sector + here) - z.nanos(sector));
            left -= here;
            if left == 0 {
                return (time, at.0);
            }
            (zone, track) = if track + 1 < z.tracks { (zone, track + 1) } else { (zone + 1, 0) };
            let next = self.track_of(&self.zones[zone], track);
            time += self.gap(at, next, &switch);
            (at, sector) = (next, 0);
        }
    }

    /// From the end of one track, where it also begins, to the start of the next: the skew between them, and another turn
    /// where the arm is not there in time.
    fn gap(&self, from: (Track, Turn), to: (Track, Turn), switch: impl Fn(Track, Track) -> u32) -> Nanos {
        let (from_angle, to_angle) = (self.nanos(from.1), self.nanos(to.1));
        let skew = if to_angle < from_angle { to_angle + self.turn - from_angle } else { to_angle - from_angle };
        let late = Nanos::from(switch(from.0, to.0).saturating_sub(skew));
        Nanos::from(skew) + late.div_ceil(self.turn.into()) * Nanos::from(self.turn)
    }

    /// The first sector that has not passed as a whole `time` after `from` began to pass, `limit` at most.
    pub fn reached(&self, from: u32, limit: u32, time: Nanos, switch: impl Fn(Track, Track) -> u32) -> u32 {
        let Spot { mut zone, mut track, mut sector } = self.spot(from);
        let (mut at, mut reached, mut left) = (None, from, time);
        loop {
            let z = &self.zones[zone];
            let here = (limit - reached).min(z.per_track.divisor() - sector);
            let takes = Nanos::from(z.nanos(sector + here) - z.nanos(sector));
            if takes > left {
                // The last sector that begins no later than this.
                let angle = left + Nanos::from(z.nanos(sector));
                return reached + ((((angle + 1) << FINE) - 1) / z.sector_nanos) as u32 - sector;
            }
            left -= takes;
            reached += here;
            if reached == limit {
                return reached;
            }
            let from = at.unwrap_or_else(|| self.track_of(z, track));
            (zone, track) = if track + 1 < z.tracks { (zone, track + 1) } else { (zone + 1, 0) };
            let next = self.track_of(&self.zones[zone], track);
            let gap = self.gap(from, next, &switch);
            if gap > left {
                return reached;
            }
            left -= gap;
            (at, sector) = (Some(next), 0);
        }
    }

    /// How long a sector takes to pass.
    #[inline]
    pub fn sector_time(&self, sector: u32) -> u32 {
        let spot = self.spot(sector);
        let zone = &self.zones[spot.zone];
        zone.nanos(spot.sector + 1) - zone.nanos(spot.sector)
    }
}

impl Zone {
    /// Nanoseconds from the start of a track to that of a sector; to the track's end for the sector after the last.
    #[inline]
    fn nanos(&self, sector: u32) -> u32 {
        ((u64::from(sector) * self.sector_nanos) >> FINE) as u32
    }
}

/// Nanoseconds of a turn.
pub fn turn_of(spec: &MediaSpec) -> u32 {
    let rpm = u64::from(spec.rotations_per_minute);
    ((60 * SECOND + rpm / 2) / rpm) as u32
}
