//! What the drive does while the host is silent: it writes its buffer out, folds its SLC cache, collects ahead of need, and
//! moves data that are old.
//!
//! Each has an idle time of its own, and all begin when the host's last command ends: none waits for another. The collector
//! needs no empty buffer, neither now nor beside the host.

use ssdlab_core::{Nanos, nanos_from_ms};
use ssdlab_ftl::{Translation, Unfolded};

use super::idle_folding::IdleFolding;
use crate::SimulatedSsd;
use crate::backend::NEVER;
use crate::spec::DriveSpec;

/// Idle work: when it is due, and how far it is.
#[derive(Clone, Debug)]
pub struct Idle {
    flush_after: Nanos,
    collect_after: Option<Nanos>,
    folding: IdleFolding,
    /// What can wait goes on beside the host.
    beside_host: bool,
    /// When the host's last command ended.
    since: Nanos,
    /// The buffer is being written out, or has been, since then.
    flushes: bool,
    /// The collector works ahead of need, since then.
    collects: bool,
}

impl Idle {
    /// A drive that has just been made has nothing to do.
    #[must_use]
    pub fn new(drive: &DriveSpec) -> Self {
        Idle {
            flush_after: nanos_from_ms(drive.write_buffer.flush_after_idle_ms),
            collect_after: drive.gc.background_after_idle_ms.map(nanos_from_ms),
            folding: IdleFolding::new(drive.slc_cache.as_ref()),
            beside_host: drive.gc.background_beside_host,
            since: 0,
            flushes: true,
            collects: true,
        }
    }

    /// When idle work is due, if the drive is idle; [`NEVER`]: not at all.
    #[inline]
    fn next_event(&self) -> Nanos {
        self.flush_at().min(self.collect_at()).min(self.folding.next())
    }

    #[inline]
    fn flush_at(&self) -> Nanos {
        if self.flushes { NEVER } else { self.since + self.flush_after }
    }

    #[inline]
    fn collect_at(&self) -> Nanos {
        match self.collect_after {
            Some(after) if !self.collects => self.since + after,
            _ => NEVER,
        }
    }

    /// The host's last command has ended.
    #[inline]
    pub fn begin(&mut self, at: Nanos) {
        self.since = at;
        (self.flushes, self.collects) = (false, false);
        self.folding.rest(at);
    }

    /// The drive holds nothing, and has nothing to do from this time on.
    pub fn begin_empty(&mut self, at: Nanos) {
        self.since = at;
        (self.flushes, self.collects) = (true, true);
    }

    /// The drive does nothing by itself until the host has been back.
    pub fn rest_for_good(&mut self, at: Nanos) {
        self.begin_empty(at);
        self.folding.stop();
    }

    /// Whether what can wait goes on beside the host.
    #[inline]
    #[must_use]
    pub fn goes_on_beside_host(&self) -> bool {
        self.beside_host
    }

    /// Whether idle work has been begun that the host's next command ends.
    #[inline]
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.flushes || self.works()
    }

    /// Whether the drive may be collecting or folding because it is idle.
    #[inline]
    #[must_use]
    pub fn works(&self) -> bool {
        self.collects || self.folding.has_started()
    }
}

impl<const EXPLAIN: bool, const CHECK: bool, T: Translation> SimulatedSsd<EXPLAIN, CHECK, T> {
    /// When idle work is due, if the drive is idle and has any.
    #[inline]
    pub(crate) fn idle_work_at(&self) -> Nanos {
        if self.frontend.in_flight.is_none() { self.firmware.idle.next_event() } else { NEVER }
    }

    pub(crate) fn idle_work(&mut self, at: Nanos) {
        self.now = at;
        if at == self.firmware.idle.folding.next() {
            let mut left = Unfolded::Nothing;
            self.ask(|translation, queues| left = translation.fold_in_background(queues));
            let collect_after = self.firmware.idle.collect_after;
            self.firmware.idle.folding.stepped(at, left, collect_after);
            if self.firmware.rounds.are_used() {
                self.follow_rounds();
            }
        } else if at == self.firmware.idle.flush_at() {
            self.firmware.idle.flushes = true;
            self.flush_rows();
            if self.firmware.idle.collects {
                // What is written out may have taken a superblock that had been won.
                self.collect_ahead();
            }
        } else {
            self.firmware.idle.collects = true;
            self.collect_ahead();
            self.refresh_while_idle();
        }
    }

    fn collect_ahead(&mut self) {
        self.ask(|translation, queues| {
            translation.collect_in_background(queues);
        });
    }

    /// Sees to it that all that waits in the buffer is written, rows that are not full as well.
    pub(crate) fn flush_rows(&mut self) {
        let up_to = self.translation.accepted_units();
        self.ask(|translation, queues| translation.force(up_to, queues));
    }

    /// A command has ended on a drive that works beside its host.
    #[cold]
    #[inline(never)]
    pub(crate) fn work_beside_host(&mut self, at: Nanos) {
        self.now = at;
        self.ask(|translation, queues| translation.work_beside_host(queues));
    }

    #[cold]
    pub(crate) fn wake_from_idle(&mut self, now: Nanos) {
        if self.firmware.idle.works() {
            self.now = self.now.max(now);
            self.ask(|translation, queues| translation.stop_background(queues));
        }
        (self.firmware.idle.flushes, self.firmware.idle.collects) = (false, false);
        self.firmware.idle.folding.stop();
        self.frontend.link_sleep.wake(now);
        self.security.host_is_back(now);
        self.plug.host_is_back();
    }

    /// As [`Self::idle_work_at`], with no commands under way: what the last event has begun or ended is the drive's own
    /// work, which keeps it from sleeping.
    #[cold]
    pub(crate) fn rest(&mut self) -> Nanos {
        if self.frontend.link_sleep.is_watched() {
            let at_rest = self.is_at_rest();
            self.frontend.link_sleep.inside(self.now, at_rest);
        }
        self.idle_work_at()
    }
}

#[cfg(test)]
mod tests {
    use ssdlab_core::{Op, Rng, SECOND};
    use ssdlab_device::{Device, Request};
    use ssdlab_ftl::{GcSpec, SlcCachePolicy, SlcCacheSpec, WhenFull};
    use ssdlab_nand::{CellModes, DieSpec, Geometry, PageOrder, ReducedMode};

    use super::*;
    use crate::Ssd;
    use crate::spec::WriteBufferSpec;

    const MIB: u64 = 1 << 20;

    fn die() -> DieSpec {
        let geometry = Geometry {
            planes: 1,
            blocks_per_plane: 64,
            pages_per_block: 32,
            page_bytes: 16_384,
            spare_bytes: 0,
            bits_per_cell: 2,
            page_order: PageOrder::Alternating,
        };
        let slc = ReducedMode {
            read_us: vec![35.0],
            program_us: vec![450.0],
            erase_ms: 3.0,
            rated_program_erase_cycles: 20_000,
        };
        let plain = DieSpec::plain(geometry);
        DieSpec { modes: CellModes { slc: Some(slc), ..CellModes::default() }, ..plain }
    }

    /// Four dies of which a part is set aside at one bit per cell.
    fn spec() -> DriveSpec {
        let cache = SlcCacheSpec {
            policy: SlcCachePolicy::Fixed,
            keep_free_per_1000: None,
            host_while_folding: None,
            capacity_gb: Some(0.006),
            blocks_per_1000: None,
            when_full: Some(WhenFull::Direct),
            largest_write_kib: None,
            fold_after_idle_ms: Some(50.0),
            fold_pause_ms: 10.0,
        };
        DriveSpec { slc_cache: Some(cache), ..DriveSpec::plain("small", 4, 64 * MIB) }
    }

    /// Writes at random until few superblocks are free, and a page at last. Returns when that has ended.
    fn overwrite(drive: &mut Ssd) -> Nanos {
        let (mut rng, mut done, mut now) = (Rng::new(1), Vec::new(), 0);
        for k in 0..64_000_u64 {
            drive
                .submit(now, Request::new(k, Op::Write, rng.below(64 * MIB / 4096) * 4096, 4096))
                .expect("it takes it");
            now = drive.advance_to_completion(Nanos::MAX - 1, &mut done);
        }
        now
    }

    #[test]
    fn collection_does_not_wait_for_the_buffer_nor_the_buffer_for_collection() {
        let after_ms = |flush: f64, collect: f64| {
            let plain = DriveSpec { slc_cache: None, ..spec() };
            let spec = DriveSpec {
                gc: GcSpec {
                    background_after_idle_ms: Some(collect),
                    background_free_superblocks: 20,
                    ..plain.gc.clone()
                },
                write_buffer: WriteBufferSpec { flush_after_idle_ms: flush, ..plain.write_buffer.clone() },
                ..plain
            };
            let mut drive = Ssd::new("small", &spec, &die(), 1).expect("it can be built");
            let (began, mut done) = (overwrite(&mut drive), Vec::new());
            // Whether it has been collecting, and whether anything waits still, within 5 ms, 50 ms, and 3 s.
            [5, 50, 3000].map(|ms| {
                drive.advance(began + ms * 1_000_000, &mut done);
                drive.check_books().expect("they are in order");
                (drive.firmware.idle.works(), drive.translation.waiting_units() > 0)
            })
        };
        let (neither, collects, flushed, both) = ((false, true), (true, true), (false, false), (true, false));
        assert_eq!(after_ms(2000.0, 20.0), [neither, collects, both]);
        assert_eq!(after_ms(1e6, 20.0), [neither, collects, collects]);
        assert_eq!(after_ms(20.0, 2000.0), [neither, flushed, both]);
    }

    #[test]
    fn once_the_host_is_back_nothing_of_the_rest_goes_on() {
        let mut drive = Ssd::new("small", &spec(), &die(), 1).expect("it can be built");
        let (mut done, mut now) = (Vec::new(), 0);
        for k in 0..32 {
            drive.submit(now, Request::new(k, Op::Write, k * MIB / 4, MIB / 4)).expect("it takes it");
            now = drive.advance_to_completion(now + SECOND, &mut done);
        }
        assert!(!drive.firmware.idle.works());
        now += 60_000_000;
        drive.advance(now, &mut done);
        assert!(drive.firmware.idle.has_begun() && drive.firmware.idle.works());
        assert!(drive.firmware.idle.folding.next() > now && drive.firmware.idle.folding.next() != NEVER);
        drive.submit(now, Request::new(99, Op::Read, 0, 4096)).expect("it takes it");
        assert!(!drive.firmware.idle.has_begun() && !drive.firmware.idle.works());
        assert_eq!(drive.firmware.idle.folding.next(), NEVER);
    }
}
