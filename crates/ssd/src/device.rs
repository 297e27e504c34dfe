//! The one trait that everything meets at.

use ssdlab_core::{Completion, Nanos, Request};

use crate::life::Life;
use crate::power::LinkPolicy;

/// What a device says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceInfo {
    /// Catalog name, or the path it was made from.
    pub name: String,
    /// `ssd`, `hdd`, `array`, `host`.
    pub kind: &'static str,
    /// A line for people: controller, flash, capacity.
    pub description: String,
    pub capacity_bytes: u64,
    /// Commands that the device accepts at once (NCQ: 32).
    pub queue_depth: u32,
    pub supports_trim: bool,
    /// The dearest fact for anyone who reads a result: what the spare area is, in per cent of the capacity sold.
    pub over_provisioning_percent: f64,
}

/// Bytes and operations since power on. All figures count up; take differences for a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub host_reads: u64,
    pub host_writes: u64,
    pub host_read_bytes: u64,
    pub host_write_bytes: u64,
    pub host_trim_bytes: u64,
    /// Flash pages' worth of user units programmed for the host, in bytes (padding included), as they are after
    /// compression if the drive compresses.
    pub flash_host_program_bytes: u64,
    /// Units moved by garbage collection, and out of blocks that have gone bad.
    pub flash_gc_program_bytes: u64,
    pub flash_fold_program_bytes: u64,
    pub flash_metadata_program_bytes: u64,
    pub flash_host_read_bytes: u64,
    pub flash_gc_read_bytes: u64,
    pub flash_rmw_read_bytes: u64,
    /// Dies' worth of blocks erased (one count per plane block).
    pub block_erases: u64,
    /// Writes that overwrote data still in the write buffer.
    pub buffer_overwrites: u64,
    /// Reads answered from the write buffer or from unmapped addresses, in 4 KiB units.
    pub buffer_read_units: u64,
    pub unmapped_read_units: u64,
    /// Units of 4 KiB that the plain read did not bring; and of these: by a soft decision or more, from the rest of the
    /// stripe, and not at all. Zero where the drive file has no `[ecc]`.
    pub reread_units: u64,
    pub soft_units: u64,
    pub rebuilt_units: u64,
    pub lost_units: u64,
    /// Energy drawn so far, in nanojoules; zero where the drive file gives no power figures.
    pub energy_nanojoules: u64,
}

impl Counters {
    /// All bytes programmed into flash.
    #[must_use]
    pub fn flash_program_bytes(&self) -> u64 {
        self.flash_host_program_bytes
            + self.flash_gc_program_bytes
            + self.flash_fold_program_bytes
            + self.flash_metadata_program_bytes
    }

    /// Write amplification: flash bytes programmed over host bytes written; `None` before the first write.
    #[must_use]
    pub fn waf(&self) -> Option<f64> {
        (self.host_write_bytes > 0).then(|| self.flash_program_bytes() as f64 / self.host_write_bytes as f64)
    }

    /// What happened after `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Counters) -> Counters {
        self.combined(earlier, |a, b| a - b)
    }

    /// This window and another one together.
    #[must_use]
    pub fn plus(&self, other: &Counters) -> Counters {
        self.combined(other, |a, b| a + b)
    }

    fn combined(&self, other: &Counters, f: impl Fn(u64, u64) -> u64) -> Counters {
        macro_rules! each { ($($field:ident),* $(,)?) => { Counters { $($field: f(self.$field, other.$field)),* } } }
        each!(
            host_reads,
            host_writes,
            host_read_bytes,
            host_write_bytes,
            host_trim_bytes,
            flash_host_program_bytes,
            flash_gc_program_bytes,
            flash_fold_program_bytes,
            flash_metadata_program_bytes,
            flash_host_read_bytes,
            flash_gc_read_bytes,
            flash_rmw_read_bytes,
            block_erases,
            buffer_overwrites,
            buffer_read_units,
            unmapped_read_units,
            reread_units,
            soft_units,
            rebuilt_units,
            lost_units,
            energy_nanojoules,
        )
    }
}

/// Something that serves I/O over time.
///
/// A device is polled in its own time, so that devices compose: a RAID set is a device made of devices. Time never
/// runs backwards: `now` and `to` must not be smaller than in any earlier call.
pub trait Device {
    fn info(&self) -> &DeviceInfo;

    /// Hands over a command at time `now`. More than `queue_depth` commands may be handed over; those beyond it
    /// wait outside the drive, and the wait counts as [`ssdlab_core::Cause::Queue`].
    ///
    /// # Panics
    /// If the request is not a whole number of sectors or reaches beyond the capacity: a host driver checks first.
    fn submit(&mut self, now: Nanos, request: Request);

    /// Streams that the host may name with its writes; 1: it does not keep data of different lifetimes apart.
    fn streams(&self) -> u8 {
        1
    }

    /// [`Device::submit`] with a hint (as NVMe and SATA streams have it): data of one stream will be overwritten at
    /// about the same time, and belong together. Devices of one stream take it for a plain command.
    fn submit_to_stream(&mut self, now: Nanos, request: Request, stream: u8) {
        let _ = stream;
        self.submit(now, request);
    }

    /// Tells the device how the host treats its link while it has no commands for it: [`LinkPolicy::Active`] unless
    /// told. Returns whether the device knows the states that this asks for; if not, nothing changes. The device must
    /// have no commands under way.
    fn set_link_policy(&mut self, now: Nanos, policy: LinkPolicy) -> bool {
        let _ = now;
        policy == LinkPolicy::Active
    }

    /// Tells how far the data can be compressed of writes that are submitted from now on, in thousandths: 0 (so unless told):
    /// not at all; 750: to a quarter of their size; 1000: they are all the same byte. Returns whether that makes any
    /// difference to the device.
    fn set_compressibility(&mut self, per_1000: u32) -> bool {
        let _ = per_1000;
        false
    }

    /// When something will happen by itself (a completion, or work inside); `None` if the device is at rest.
    fn next_event(&self) -> Option<Nanos>;

    /// Lets time pass to `to`, and appends every completion up to and including that time, in time order.
    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>);

    /// Lets time pass until the first instant at which a command completes, but not past `limit`, and returns the
    /// time reached: the instant of the completions appended, or `limit`.
    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        let before = done.len();
        while let Some(at) = self.next_event().filter(|&at| at <= limit) {
            self.advance(at, done);
            if done.len() > before {
                return at;
            }
        }
        self.advance(limit, done);
        limit
    }

    /// ATA SECURITY ERASE UNIT: every block erased, nothing mapped, wear kept. Takes the time it takes; returns
    /// the time at which the device is ready again. The device must be at rest. A read-only drive stays as it is.
    fn secure_erase(&mut self, now: Nanos) -> Nanos;

    fn counters(&self) -> Counters;

    /// The life of its flash, for who wants to look ahead in it. Simulated drives only.
    fn life(&mut self) -> Option<&mut dyn Life> {
        None
    }

    /// Checks the books (map against reverse map, valid counts, bytes in and out, time in queue); an error is a
    /// bug in the device, told in full.
    ///
    /// # Errors
    /// The first discrepancy found.
    fn check_books(&self) -> Result<(), String>;
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn info(&self) -> &DeviceInfo {
        (**self).info()
    }
    fn submit(&mut self, now: Nanos, request: Request) {
        (**self).submit(now, request);
    }
    fn streams(&self) -> u8 {
        (**self).streams()
    }
    fn submit_to_stream(&mut self, now: Nanos, request: Request, stream: u8) {
        (**self).submit_to_stream(now, request, stream);
    }
    fn set_link_policy(&mut self, now: Nanos, policy: LinkPolicy) -> bool {
        (**self).set_link_policy(now, policy)
    }
    fn set_compressibility(&mut self, per_1000: u32) -> bool {
        (**self).set_compressibility(per_1000)
    }
    fn next_event(&self) -> Option<Nanos> {
        (**self).next_event()
    }
    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        (**self).advance(to, done);
    }
    fn advance_to_completion(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        (**self).advance_to_completion(limit, done)
    }
    fn secure_erase(&mut self, now: Nanos) -> Nanos {
        (**self).secure_erase(now)
    }
    fn counters(&self) -> Counters {
        (**self).counters()
    }
    fn life(&mut self) -> Option<&mut dyn Life> {
        (**self).life()
    }
    fn check_books(&self) -> Result<(), String> {
        (**self).check_books()
    }
}
