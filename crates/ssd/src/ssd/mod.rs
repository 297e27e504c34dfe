//! A simulated SSD: host link, command queue, firmware time, write buffer, dies and channels, and the translation
//! layer that decides what they do.
//!
//! How a write travels: command frame → firmware (one processor, in order) → room in the write buffer → data over
//! the link → acknowledged (write cache on) → a row of units is given to a die → bus → array → buffer room freed.
//! How a read travels: command frame → firmware → map → die (array, then bus), or buffer → data over the link.
//! Garbage collection, journal and erases are more operations on the same dies and channels.
//!
//! Liberties, stated: the bus is booked ahead (see `channel.rs`); a die that has begun an operation is not
//! interrupted (no suspend); the sub-microsecond control frames add to a command's latency and to the link time of
//! its data, but do not queue.

mod array_times;
mod as_device;
mod books;
mod channel;
mod command;
mod correction;
mod durable;
mod events;
mod front_end;
mod idle;
mod idle_folding;
mod life;
mod link;
mod link_power;
mod look_ahead;
mod losses;
mod map_read;
mod power;
mod processor;
mod read;
mod read_ahead;
mod read_only;
mod schedule;
mod wanted;
mod write;

use ssdlab_core::{Nanos, Op, Rng, SECTOR_BYTES, UNIT_BYTES, nanos_from_ms, nanos_from_us};
use ssdlab_device::{Completion, DeviceInfo, FlashCounters, HostCounters, Request};
use ssdlab_ftl::{OpKind, PageMap, PageMapConfig, SlcCacheSpec};
use ssdlab_nand::{DieSpec, GrowingFaults, SpecError};

use crate::power::PowerSpec;
use crate::spec::DriveSpec;
use crate::timing::{Interval, LinkReferee};
use command::Commands;
pub use correction::ladder_of_unit;
use correction::{Climb, Correction};
use events::NEVER;
use idle_folding::IdleFolding;
use life::WearNotes;
use link::Link;
use link_power::LinkPower;
pub use losses::{Loss, LossReader};
use power::PowerMeter;
use read_ahead::ReadAhead;
use schedule::{Schedule, Wake};

/// A drive as reviews and tests use it: every completion explained, every read checked.
pub type Ssd = SimulatedSsd<true, true>;
/// A drive that only counts: for measuring the simulator's own speed.
pub type BareSsd = SimulatedSsd<false, false>;

/// See the module's own page. `EXPLAIN`: completions carry their breakdown. `CHECK`: every read is checked against
/// the host's last write of that unit, by the low bits of a write count kept on both sides (see
/// [`ssdlab_nand::TagFormat`]; addresses are checked always); and every flash operation and every transfer on the link
/// is judged by the referee of time ([`crate::timing`]).
#[derive(Clone, Debug)]
pub struct SimulatedSsd<const EXPLAIN: bool, const CHECK: bool> {
    info: DeviceInfo,
    ftl: PageMap,
    schedule: Schedule<CHECK>,
    link: Link,
    link_referee: LinkReferee,
    link_power: LinkPower,
    power: Option<Box<(PowerSpec, PowerMeter)>>,
    commands: Commands,
    read_ahead: ReadAhead,
    /// Units on their way from flash because they are written in part, and the commands that wait for them.
    merges: Vec<(u32, u32)>,
    times: FirmwareTimes,
    write_cache: bool,
    /// Of longer writes the data go past the SLC cache.
    largest_cached_bytes: u64,
    /// Room of the write buffer, in units of flash.
    buffer_units: u32,
    flush_after_idle: Nanos,
    background_after_idle: Option<Nanos>,
    folding: IdleFolding,
    /// When the host's last command ended, and what idle work has been started since.
    idle_since: Nanos,
    idle_step: IdleStep,
    /// What the host wrote last, by unit: a count from 1 to `max_generation`, over and over; 0: nothing, or trimmed.
    written: Vec<u8>,
    max_generation: u8,
    host: HostCounters,
    /// What is counted here; the rest is counted where it happens.
    flash: FlashCounters,
    wear_notes: WearNotes,
    /// Integral of commands in the drive over time, and sum of latencies: Little's law.
    in_flight_time: u128,
    latency_sum: u128,
    in_flight_changed: Nanos,
    in_flight: u64,
}

#[derive(Clone, Copy, Debug)]
struct FirmwareTimes {
    read_command: Nanos,
    read_unit: Nanos,
    write_command: Nanos,
    write_unit: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdleStep {
    Busy,
    Flushed,
    Collecting,
}

impl<const EXPLAIN: bool, const CHECK: bool> SimulatedSsd<EXPLAIN, CHECK> {
    /// Builds a drive, fresh from the factory.
    ///
    /// # Errors
    /// A value of the drive or die file that cannot be built.
    pub fn new(name: &str, drive: &DriveSpec, die: &DieSpec, seed: u64) -> Result<Self, SpecError> {
        drive.validate(die)?;
        let rng = Rng::new(seed).stream(name);
        let logical_pages = u32::try_from(drive.capacity_bytes / UNIT_BYTES).map_err(|_| {
            SpecError::new("capacity_bytes", "more than 2^32 mapping units", "use at most 17,592,186,040,320 bytes")
        })?;
        let buffer_units = drive.write_buffer.capacity_kib / 4;
        let config = PageMapConfig {
            die,
            dies: drive.flash.dies,
            blocks: drive.blocks_per_die(die),
            withheld_blocks: drive.withheld_blocks(die),
            logical_pages,
            buffer_units,
            mapping: &drive.mapping,
            gc: &drive.gc,
            wear_levelling: &drive.wear_levelling,
            slc_cache: drive.slc_cache.as_ref(),
            compression: drive.compression.as_ref(),
        };
        let ftl = PageMap::new(&config, &rng);
        let usable = ftl.usable_units() * u64::from(ftl.medium().layout().unit_bytes);
        let needed = drive.capacity_bytes + drive.superblock_bytes(die) * u64::from(drive.spare_superblocks_needed());
        // An exact spare is as small as it was asked for, but nothing may eat into it.
        let whole = drive.flash.exact_spare_per_10000.is_some() && usable == drive.built_bytes(die);
        if usable < needed && !whole {
            return Err(SpecError::new(
                "capacity_bytes",
                format!("bad, reserved and system blocks leave {usable} bytes, and {needed} are needed"),
                "use a smaller capacity, more flash, or a smaller reserve",
            ));
        }
        let max_generation = ftl.medium().format().max_generation();
        let mut schedule = Schedule::new(drive, die);
        if let (Some(ecc), Some(errors)) = (&drive.ecc, &die.errors) {
            let size = (drive.flash.dies, ftl.medium().layout().block_count());
            schedule.correction = Some(Box::new(Correction::new(ecc, die, errors, size, &rng)?));
        }
        let info = DeviceInfo {
            name: name.to_owned(),
            kind: "ssd",
            description: drive.description.clone(),
            capacity_bytes: drive.capacity_bytes,
            sector_bytes: SECTOR_BYTES as u32,
            queue_depth: drive.controller.queue_depth,
            streams: ftl.streams(),
            supports_trim: true,
            supports_write_zeroes: false,
            compresses: ftl.compresses(),
            holds_contents: false,
            over_provisioning_percent: Some(match drive.flash.exact_spare_per_10000 {
                Some(spare) => f64::from(spare) / 100.0,
                None => (usable as f64 / drive.capacity_bytes as f64 - 1.0) * 100.0,
            }),
        };
        let c = &drive.controller;
        Ok(SimulatedSsd {
            info,
            ftl,
            schedule,
            link: Link::new(&drive.link),
            link_referee: LinkReferee::new(drive.link.generation),
            link_power: LinkPower::default(),
            power: drive.power.clone().zip(PowerMeter::new(drive, die)).map(Box::new),
            commands: Commands::new(c.queue_depth),
            read_ahead: ReadAhead::new(c.read_ahead_kib / 4),
            merges: Vec::new(),
            times: FirmwareTimes {
                read_command: nanos_from_us(c.read_command_us),
                read_unit: nanos_from_us(c.read_unit_us),
                write_command: nanos_from_us(c.write_command_us),
                write_unit: nanos_from_us(c.write_unit_us),
            },
            write_cache: drive.write_buffer.write_cache,
            largest_cached_bytes: drive.slc_cache.as_ref().map_or(u64::MAX, SlcCacheSpec::largest_write_bytes),
            buffer_units: buffer_units * drive.compression_ratio(),
            flush_after_idle: nanos_from_ms(drive.write_buffer.flush_after_idle_ms),
            background_after_idle: drive.gc.background_after_idle_ms.map(nanos_from_ms),
            folding: IdleFolding::new(drive.slc_cache.as_ref()),
            idle_since: 0,
            idle_step: IdleStep::Collecting,
            written: if CHECK { ssdlab_nand::memory::filled(logical_pages as usize, 0) } else { Vec::new() },
            max_generation,
            host: HostCounters::default(),
            flash: FlashCounters::default(),
            wear_notes: WearNotes::default(),
            in_flight_time: 0,
            latency_sum: 0,
            in_flight_changed: 0,
            in_flight: 0,
        })
    }

    /// From now on blocks go bad in use, at moments drawn from `seed`.
    pub fn inject(&mut self, faults: GrowingFaults, seed: u64) {
        self.ftl.inject(faults, &Rng::new(seed).stream(&self.info.name));
    }

    /// The translation layer, for whoever wants to look inside.
    #[must_use]
    pub fn ftl(&self) -> &PageMap {
        &self.ftl
    }

    /// For experiments: gives every page of a block a read time (tR) of its own, as the layers of a stack or the
    /// quantiles of a distribution have it, instead of the die file's one time for each kind of page.
    ///
    /// # Panics
    /// If there is not one time for each page of a block.
    pub fn set_page_read_times(&mut self, by_page: &[Nanos]) {
        self.schedule.set_page_read_times(by_page);
    }

    /// Lets the translation layer decide something, and begins what it asked of idle dies. `woken` are dies that have
    /// become idle themselves.
    #[inline]
    fn ask(&mut self, woken: u64, question: impl FnOnce(&mut PageMap, &mut Wake<CHECK>)) {
        let mut wake = Wake { schedule: &mut self.schedule, dies: woken };
        question(&mut self.ftl, &mut wake);
        let dies = wake.dies;
        self.schedule.begin_idle(dies, &mut self.ftl, EXPLAIN);
        if self.schedule.processor.rounds.kept {
            self.keep_rounds();
        }
    }

    /// Puts `bytes` on the link, from now on at the earliest; returns when they begin and end.
    #[inline]
    fn transfer_on_link(&mut self, bytes: u64) -> (Nanos, Nanos) {
        let (from, to) = self.link.transfer(self.schedule.now, bytes);
        if CHECK && let Err(violation) = self.link_referee.issue(Interval::new(from, to), bytes) {
            panic!("the drive broke a rule of the link: {violation}");
        }
        (from, to)
    }

    // ---- from the dies ------------------------------------------------------------------------------------------

    /// The operation of a die ends.
    #[inline]
    fn die_event(&mut self, at: Nanos, d: usize) {
        self.schedule.now = at;
        if self.schedule.climbs(d) {
            return self.climbed(d);
        }
        self.op_ended(d, None);
    }

    /// A read has taken a step up the ladder of error correction: its last, or one before.
    #[cold]
    fn climbed(&mut self, d: usize) {
        if !self.schedule.climb_on(d, EXPLAIN) {
            let mut climb = self.schedule.take_climb(d);
            if let Some(climb) = climb.as_mut().filter(|climb| !climb.lost.is_empty()) {
                self.settle_lost(d, climb);
            }
            self.op_ended(d, climb.as_deref());
        }
    }

    // The usual way never climbs, and is compiled without.
    #[inline(always)]
    fn op_ended(&mut self, d: usize, climb: Option<&Climb>) {
        let finished = self.schedule.end(d);
        self.schedule.look_ahead.step(&self.ftl);
        let op = finished.op;
        let woken = 1 << d;
        match op.kind() {
            OpKind::HostRead => {
                self.read_part_done(&finished, climb);
                self.schedule.begin_idle(woken, &mut self.ftl, EXPLAIN);
            }
            OpKind::MergeRead => {
                self.merge_read_done(&finished, climb);
                self.schedule.begin_idle(woken, &mut self.ftl, EXPLAIN);
            }
            OpKind::MapRead => {
                self.map_read_done(&finished);
                self.schedule.begin_idle(woken, &mut self.ftl, EXPLAIN);
            }
            OpKind::HostProgram => {
                self.ask(woken, |ftl, wake| ftl.done(d as u32, op, wake));
                self.admit();
                self.settle_durable();
            }
            OpKind::GcRead
            | OpKind::GcProgram
            | OpKind::FoldRead
            | OpKind::FoldProgram
            | OpKind::FoldCopy
            | OpKind::Erase
            | OpKind::MetadataProgram
            | OpKind::RetireRead
            | OpKind::RetireProgram => {
                self.ask(woken, |ftl, wake| ftl.done(d as u32, op, wake));
            }
        }
        if self.ftl.is_read_only() {
            self.settle_read_only();
        }
    }

    // ---- time ---------------------------------------------------------------------------------------------------

    /// Runs events up to `limit`, or up to the first completion if `stop` is set. Returns the time reached.
    #[inline]
    fn run(&mut self, limit: Nanos, stop: bool, done: &mut Vec<Completion>) -> Nanos {
        loop {
            let (die_at, d) = self.schedule.first();
            let decoded_at = self.schedule.processor.queue.front().map_or(NEVER, |(at, _)| at);
            let finished_at = self.commands.finished.front().map_or(NEVER, |f| f.0);
            let idle_at = if self.in_flight > 0 { NEVER } else { self.rest() };
            let next = die_at.min(decoded_at).min(finished_at).min(idle_at);
            if next > limit || next == NEVER {
                if limit != NEVER {
                    self.schedule.now = self.schedule.now.max(limit);
                }
                return limit;
            }
            if die_at == next {
                self.die_event(die_at, d);
            } else if decoded_at == next {
                self.decoded();
            } else if finished_at == next {
                self.deliver(finished_at, done);
                if stop {
                    return finished_at;
                }
            } else {
                self.idle_work(idle_at);
            }
        }
    }
}

/// Units that a request touches, the last excluded; one for a command without data.
#[inline]
fn unit_range(r: &Request) -> (u32, u32) {
    if r.op == Op::Flush {
        return (0, 1);
    }
    let first = r.offset_bytes / UNIT_BYTES;
    let last = (r.offset_bytes + r.length_bytes).div_ceil(UNIT_BYTES);
    (first as u32, last as u32)
}
