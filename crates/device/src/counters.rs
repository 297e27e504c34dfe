//! What a device has done since it was powered on.

use serde::{Deserialize, Serialize};
use ssdlab_core::{Nanos, Op};

/// Whether a device can have counted so far in its life, of bytes or anything else: 288 PB are beyond any. A number from a file
/// that is greater is nonsense; sums of sixty-four that are not stay numbers.
#[must_use]
pub fn is_plausible(count: u64) -> bool {
    count < 1 << 58
}

/// The same for the time on its clock: 73 years.
#[must_use]
pub fn is_plausible_time(nanos: Nanos) -> bool {
    nanos < 1 << 61
}

/// Defines a group of counters from its one list of fields.
macro_rules! counters {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: u64),*
        }

        impl $name {
            /// Every counter with its name.
            #[must_use]
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($field), self.$field)),*]
            }

            /// Whether each is one that a device can have counted to in its life, so that it can count on.
            #[must_use]
            pub fn is_plausible(&self) -> bool {
                [$(self.$field),*].into_iter().all(is_plausible)
            }

            /// By how much each is greater than the other's; 0 where it is not.
            #[must_use]
            pub fn beyond(&self, other: &Self) -> Self {
                self.combined(other, u64::saturating_sub)
            }

            /// Both together.
            #[must_use]
            pub fn plus(&self, other: &Self) -> Self {
                self.combined(other, |a, b| a + b)
            }

            fn combined(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
                $name { $($field: f(self.$field, other.$field)),* }
            }
        }
    };
}

counters! {
    /// What the host has asked for and got.
    HostCounters {
        reads,
        writes,
        read_bytes,
        write_bytes,
        trim_bytes,
    }
}

impl HostCounters {
    /// A command has been answered without error.
    #[inline]
    pub fn record(&mut self, op: Op, bytes: u64) {
        match op {
            Op::Read => {
                self.reads += 1;
                self.read_bytes += bytes;
            }
            Op::Write => {
                self.writes += 1;
                self.write_bytes += bytes;
            }
            Op::Trim => self.trim_bytes += bytes,
            Op::Flush | Op::WriteZeroes => {}
        }
    }
}

counters! {
    /// What the flash has done for it, and the write buffer and the map before it.
    FlashCounters {
        /// Bytes of user data programmed for the host, padding included. If the device compresses: as they are then.
        host_program_bytes,
        /// Moved by garbage collection, and out of blocks that have gone bad: among these the row whose program failed, which was
        /// programmed twice and counts here the second time.
        gc_program_bytes,
        fold_program_bytes,
        metadata_program_bytes,
        /// Copies of older pages, made before a program endangered them.
        safety_program_bytes,
        host_read_bytes,
        gc_read_bytes,
        /// Read because a mapping unit was written in part.
        rmw_read_bytes,
        /// One for each plane block.
        block_erases,
        /// Writes that overwrote data still in the write buffer.
        buffer_overwrites,
        /// Mapping units (4 KiB, where the drive file does not say otherwise) that reads were answered with from the
        /// drive's RAM: its write buffer, or what it had read ahead.
        buffer_read_units,
        /// Bytes that were read where there is nothing.
        unmapped_read_bytes,
        /// Mapping units that the first read did not decode. Of these: decoded by a soft decision or later; rebuilt
        /// from the rest of the stripe; lost. Zero from a device without a model of errors.
        reread_units,
        soft_units,
        rebuilt_units,
        lost_units,
    }
}

counters! {
    /// What arm, platters and cache of a disk have done.
    DiskCounters {
        /// Accesses that moved the arm to another cylinder or changed heads, and the time that took.
        seeks,
        seek_nanos,
        /// Waiting for the first sector of an access to come round.
        rotation_nanos,
        /// Sectors passing under the heads, reading ahead included.
        transfer_nanos,
        /// Accesses to the platters.
        media_reads,
        media_writes,
        /// Reads answered from the cache.
        cache_hits,
        /// Bytes written from the cache to the platters.
        destaged_bytes,
        /// Bytes in the cache that were written again before they reached the platters.
        replaced_bytes,
    }
}

counters! {
    /// What the cache of a host adapter has done.
    CacheCounters {
        /// Reads answered by the cache alone, and those that needed the device behind it.
        read_hits,
        read_misses,
        /// Reads that waited for the end of a flush.
        held_reads,
        read_ahead_bytes,
        /// Bytes in the cache that were written again before they went to the device.
        overwritten_bytes,
        /// Times that writing out began at the lowest address.
        sweeps,
        /// Writes to the device, their bytes, and of these the bytes beyond the first line of a write.
        flush_writes,
        flushed_bytes,
        merged_bytes,
        /// Lines that became clean.
        flushed_lines,
    }
}

counters! {
    /// What the device has drawn.
    EnergyCounters {
        nanojoules,
    }
}

counters! {
    /// How warm the device was, and what it did about it.
    HeatCounters {
        /// Temperature added up over time: what it has grown by, over the time watched, is the mean temperature.
        celsius_microseconds,
        watched_microseconds,
        /// Time for which commands were held back for it.
        held_nanos,
    }
}

impl HeatCounters {
    /// Mean temperature; of several devices together, the mean of them. `None` where no time has passed.
    #[must_use]
    pub fn mean_celsius(&self) -> Option<f64> {
        (self.watched_microseconds > 0).then(|| self.celsius_microseconds as f64 / self.watched_microseconds as f64)
    }
}

impl FlashCounters {
    /// All bytes programmed.
    #[must_use]
    pub fn program_bytes(&self) -> u64 {
        self.host_program_bytes
            + self.gc_program_bytes
            + self.fold_program_bytes
            + self.metadata_program_bytes
            + self.safety_program_bytes
    }
}

/// Counters of a device since power on, in groups: those that it has. All of them count up; differences tell of a window
/// of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub host: HostCounters,
    /// `None` for a device without flash, or one that does not tell.
    pub flash: Option<FlashCounters>,
    /// `None` for a device without platters.
    pub disk: Option<DiskCounters>,
    /// `None` for a device without an adapter that has a cache.
    pub cache: Option<CacheCounters>,
    /// `None` for a device that does not meter what it draws.
    pub energy: Option<EnergyCounters>,
    /// `None` for a device that does not know its temperature.
    pub heat: Option<HeatCounters>,
}

impl Counters {
    /// Write amplification: flash bytes programmed over host bytes written. `None` before the first write, for a device
    /// without flash, and for one that has platters as well.
    #[must_use]
    pub fn waf(&self) -> Option<f64> {
        let (flash, host) = self.written_to_flash()?;
        Some(flash.program_bytes() as f64 / host as f64)
    }

    /// What write amplification is the sum of, by name, without what is zero: what was programmed for the host (less than 1 where
    /// data are overwritten in the buffer, or compressed), moved by garbage collection, folded out of an SLC cache, for the map,
    /// and to keep older pages safe.
    pub fn waf_parts(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let parts = self.written_to_flash().map(|(flash, host)| {
            [
                ("host", flash.host_program_bytes),
                ("gc", flash.gc_program_bytes),
                ("fold", flash.fold_program_bytes),
                ("metadata", flash.metadata_program_bytes),
                ("safety", flash.safety_program_bytes),
            ]
            .map(|(name, bytes)| (name, bytes, host))
        });
        let some = parts.into_iter().flatten().filter(|part| part.1 > 0);
        some.map(|(name, bytes, host)| (name, bytes as f64 / host as f64))
    }

    /// The flash, and the bytes that the host wrote to it, if it wrote any. Of a set of drives and disks nobody counts how many of
    /// its bytes went to the flash.
    fn written_to_flash(&self) -> Option<(FlashCounters, u64)> {
        let flash = self.flash.filter(|_| self.disk.is_none())?;
        (self.host.write_bytes > 0).then_some((flash, self.host.write_bytes))
    }

    /// Energy drawn; 0 where it is not metered.
    #[must_use]
    pub fn nanojoules(&self) -> u64 {
        self.energy.map_or(0, |e| e.nanojoules)
    }

    /// What happened after `earlier`, a reading of the same device.
    #[must_use]
    pub fn since(&self, earlier: &Counters) -> Counters {
        self.combined(earlier, |a, b| a - b)
    }

    /// This window and another one together, or the sum of two devices.
    #[must_use]
    pub fn plus(&self, other: &Counters) -> Counters {
        self.combined(other, |a, b| a + b)
    }

    fn combined(&self, other: &Counters, f: impl Fn(u64, u64) -> u64) -> Counters {
        Counters {
            host: self.host.combined(&other.host, &f),
            flash: either(self.flash, other.flash, |a, b| a.combined(b, &f)),
            disk: either(self.disk, other.disk, |a, b| a.combined(b, &f)),
            cache: either(self.cache, other.cache, |a, b| a.combined(b, &f)),
            energy: either(self.energy, other.energy, |a, b| a.combined(b, &f)),
            heat: either(self.heat, other.heat, |a, b| a.combined(b, &f)),
        }
    }
}

/// A group that either side has; a side that lacks it counts as zero.
fn either<G: Copy + Default>(a: Option<G>, b: Option<G>, f: impl Fn(&G, &G) -> G) -> Option<G> {
    (a.is_some() || b.is_some()).then(|| f(&a.unwrap_or_default(), &b.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters that are all different, so that none can be taken for another.
    fn distinct(from: u64) -> Counters {
        let f = |k: u64| from + k * k;
        Counters {
            host: HostCounters { reads: f(1), writes: f(2), read_bytes: f(3), write_bytes: f(4), trim_bytes: f(5) },
            flash: Some(FlashCounters {
                host_program_bytes: f(6),
                gc_program_bytes: f(7),
                fold_program_bytes: f(8),
                metadata_program_bytes: f(9),
                host_read_bytes: f(10),
                gc_read_bytes: f(11),
                rmw_read_bytes: f(12),
                block_erases: f(13),
                buffer_overwrites: f(14),
                buffer_read_units: f(15),
                unmapped_read_bytes: f(16),
                reread_units: f(17),
                soft_units: f(18),
                rebuilt_units: f(19),
                lost_units: f(20),
                safety_program_bytes: f(44),
            }),
            disk: Some(DiskCounters {
                seeks: f(21),
                seek_nanos: f(22),
                rotation_nanos: f(23),
                transfer_nanos: f(24),
                media_reads: f(25),
                media_writes: f(26),
                cache_hits: f(27),
                destaged_bytes: f(28),
                replaced_bytes: f(29),
            }),
            cache: Some(CacheCounters {
                read_hits: f(30),
                read_misses: f(31),
                held_reads: f(32),
                read_ahead_bytes: f(33),
                overwritten_bytes: f(34),
                sweeps: f(35),
                flush_writes: f(36),
                flushed_bytes: f(37),
                merged_bytes: f(38),
                flushed_lines: f(39),
            }),
            energy: Some(EnergyCounters { nanojoules: f(40) }),
            heat: Some(HeatCounters { celsius_microseconds: f(41), watched_microseconds: f(42), held_nanos: f(43) }),
        }
    }

    fn values(c: &Counters) -> Vec<u64> {
        let mut all = c.host.named();
        all.extend(c.flash.map_or(Vec::new(), |f| f.named()));
        all.extend(c.disk.map_or(Vec::new(), |d| d.named()));
        all.extend(c.cache.map_or(Vec::new(), |d| d.named()));
        all.extend(c.energy.map_or(Vec::new(), |e| e.named()));
        all.extend(c.heat.map_or(Vec::new(), |h| h.named()));
        all.into_iter().map(|named| named.1).collect()
    }

    #[test]
    fn every_counter_of_every_group_is_added_and_subtracted() {
        let (a, b) = (distinct(1000), distinct(30));
        let added: Vec<u64> = (1..=44).map(|k| 1030 + 2 * k * k).collect();
        let mut sums = values(&a.plus(&b));
        sums.sort_unstable();
        assert_eq!(sums, added);
        assert_eq!(values(&a.since(&b)), [970; 44]);
        assert_eq!(a.plus(&b).since(&b), a);
    }

    #[test]
    fn a_group_that_only_one_side_has_is_kept() {
        let plain = Counters { host: HostCounters { reads: 3, ..Default::default() }, ..Counters::default() };
        let sum = plain.plus(&distinct(7));
        assert_eq!((sum.flash, sum.energy), (distinct(7).flash, distinct(7).energy));
        assert_eq!(sum.host.reads, 3 + distinct(7).host.reads);
        assert_eq!(plain.plus(&plain).flash, None);
        assert_eq!(distinct(7).since(&Counters::default()), distinct(7));
    }

    #[test]
    fn write_amplification_needs_flash_and_a_write() {
        let written = HostCounters { write_bytes: 200, ..Default::default() };
        let programmed = FlashCounters {
            host_program_bytes: 200,
            gc_program_bytes: 60,
            fold_program_bytes: 30,
            metadata_program_bytes: 6,
            safety_program_bytes: 4,
            ..Default::default()
        };
        let c = Counters { host: written, flash: Some(programmed), ..Counters::default() };
        assert_eq!(c.waf(), Some(1.5));
        assert_eq!(Counters { flash: None, ..c }.waf(), None);
        assert_eq!(Counters { host: HostCounters::default(), ..c }.waf(), None);
        assert_eq!(c.waf_parts().map(|part| part.1).sum::<f64>(), 1.5);
        // Some of what the host wrote went to platters.
        let mixed = Counters { disk: Some(DiskCounters::default()), ..c };
        assert_eq!((mixed.waf(), mixed.waf_parts().count()), (None, 0));
    }
}
