//! Adapters before a device of which a cut destroys what it held, or that cannot read.

use std::sync::{Arc, Mutex};

use ssdlab_arrays::{Adapter, AdapterCacheSpec, AdapterKind, AdapterLinkSpec, AdapterSpec, FlushChoice};
use ssdlab_core::{MILLISECOND, Nanos, Op, SECOND, UNIT_BYTES};
use ssdlab_device::{
    Completion, Counters, Device, DeviceInfo, Held, HostCounters, LoadError, Plug, Refusal, Request, Status,
};

const UNITS: usize = 64;

#[derive(Default)]
struct Inside {
    out: bool,
    commands: Vec<(Nanos, Nanos, Request)>,
    /// Writes of each unit; `None`: what was there cannot be read.
    units: Vec<Option<u8>>,
    host: HostCounters,
}

/// It keeps every write that has ended, and the test says what cannot be read.
#[derive(Clone)]
struct Spoilt {
    info: DeviceInfo,
    inside: Arc<Mutex<Inside>>,
}

impl Spoilt {
    fn new() -> Self {
        let info = DeviceInfo { capacity_bytes: UNITS as u64 * UNIT_BYTES, ..DeviceInfo::new("spoilt", "ssd") };
        let inside = Inside { units: vec![Some(0); UNITS], ..Inside::default() };
        Spoilt { info, inside: Arc::new(Mutex::new(inside)) }
    }

    fn spoil(&self, unit: usize) {
        self.inside.lock().unwrap().units[unit] = None;
    }
}

impl Device for Spoilt {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn submit(&mut self, now: Nanos, request: Request) -> Result<(), Refusal> {
        self.info.check(&request)?;
        self.inside.lock().unwrap().commands.push((now + MILLISECOND, now, request));
        Ok(())
    }

    fn next_event(&self) -> Option<Nanos> {
        self.inside.lock().unwrap().commands.iter().map(|command| command.0).min()
    }

    fn advance(&mut self, to: Nanos, done: &mut Vec<Completion>) {
        let inside = &mut *self.inside.lock().unwrap();
        let mut ended: Vec<_> = inside.commands.extract_if(.., |command| command.0 <= to).collect();
        ended.sort_by_key(|command| command.0);
        for (completed, submitted, Request { tag, op, offset_bytes, length_bytes, .. }) in ended {
            let (first, end) = (offset_bytes / UNIT_BYTES, (offset_bytes + length_bytes).div_ceil(UNIT_BYTES));
            let units = &mut inside.units[first as usize..end as usize];
            let mut status = Status::Ok;
            match op {
                Op::Read if units.contains(&None) => status = Status::MediaError,
                Op::Write => units.iter_mut().for_each(|unit| *unit = Some(unit.unwrap_or(0) + 1)),
                _ => {}
            }
            if status == Status::Ok {
                inside.host.record(op, length_bytes);
            }
            let breakdown = Default::default();
            done.push(Completion { tag, op, status, offset_bytes, length_bytes, submitted, completed, breakdown });
        }
    }

    fn counters(&self) -> Counters {
        Counters { host: self.inside.lock().unwrap().host, ..Counters::default() }
    }

    fn check_books(&self) -> Result<(), String> {
        Ok(())
    }

    fn plug(&mut self) -> Option<&mut dyn Plug> {
        Some(self)
    }

    fn plug_seen(&self) -> Option<&dyn Plug> {
        Some(self)
    }
}

impl Plug for Spoilt {
    fn has_power(&self) -> bool {
        !self.inside.lock().unwrap().out
    }

    fn cut(&mut self, _: Nanos) {
        let mut inside = self.inside.lock().unwrap();
        inside.out = true;
        inside.commands.clear();
    }

    fn restore(&mut self, now: Nanos) -> Nanos {
        self.inside.lock().unwrap().out = false;
        now + 10
    }

    fn stand_by(&mut self, now: Nanos) -> Nanos {
        now
    }

    fn save(&self) -> Vec<u8> {
        self.inside.lock().unwrap().units.iter().map(|unit| unit.unwrap_or(u8::MAX)).collect()
    }

    fn load(&mut self, saved: &[u8]) -> Result<(), LoadError> {
        let mut inside = self.inside.lock().unwrap();
        inside.units = saved.iter().map(|&unit| (unit != u8::MAX).then_some(unit)).collect();
        inside.out = true;
        Ok(())
    }

    fn unclean_shutdowns(&self) -> u64 {
        0
    }

    fn power_cycles(&self) -> u64 {
        1
    }

    fn time_powered(&self, now: Nanos) -> Nanos {
        now
    }

    fn held(&self, unit: u64) -> Held {
        match self.inside.lock().unwrap().units[unit as usize] {
            Some(0) => Held::Nothing,
            Some(write) => Held::Write(write),
            None => Held::Unreadable,
        }
    }

    fn unreadable(&self) -> Vec<u64> {
        (0..UNITS as u64).filter(|&unit| self.held(unit) == Held::Unreadable).collect()
    }

    fn greatest_write_number(&self) -> u8 {
        200
    }
}

fn before(device: Spoilt, flush_policy: FlushChoice, flush_threshold_percent: u32) -> Adapter {
    let cache = AdapterCacheSpec {
        capacity_mib: 1,
        line_kib: 4,
        flush_policy,
        flush_threshold_percent,
        dirty_limit_percent: 50,
        flush_after_idle_ms: 500.0,
        drive_queue_depth: 4,
        merge_kib: 128,
        read_ahead_kib: 0,
        battery: true,
        drive_write_cache: false,
    };
    let link = AdapterLinkSpec { name: "bus".to_owned(), megabytes_per_s: 200.0, command_us: 10.0 };
    let (kind, description) = (AdapterKind::Adapter, "drawn".to_owned());
    Adapter::new("adapter", &AdapterSpec { kind, description, ports: 1, link, cache: Some(cache) }, Box::new(device))
}

/// The cache has sectors of a unit of which the rest is gone: it keeps them over every cut, in the next process, too.
#[test]
fn a_part_of_a_unit_that_a_cut_destroyed_is_kept_over_the_next_cut_and_saved() {
    let device = Spoilt::new();
    let mut own = before(device.clone(), FlushChoice::Polite, 50);
    let mut done = Vec::new();
    own.submit(0, Request::write(1, 0, 4096)).unwrap();
    own.advance(2 * SECOND, &mut done);
    assert_eq!(device.held(0), Held::Write(1), "it has been written out");
    own.submit(2 * SECOND, Request::write(2, 0, 512)).unwrap();
    let mut now = 2 * SECOND + MILLISECOND;
    own.advance(now, &mut done);
    assert_eq!(done.len(), 2);
    for cut in 0..3 {
        own.plug().unwrap().cut(now);
        device.spoil(0);
        let saved = own.plug_seen().unwrap().save();
        let mut heir = before(Spoilt::new(), FlushChoice::Polite, 50);
        assert_eq!(heir.plug().unwrap().load(&saved), Ok(()), "after cut {cut}");
        heir.plug().unwrap().restore(0);
        assert_eq!(heir.plug_seen().unwrap().held(0), Held::Unreadable);
        heir.advance(2 * SECOND, &mut Vec::new());
        assert_eq!(heir.counters().cache.unwrap().flushed_bytes, 512);
        heir.check_books().unwrap_or_else(|e| panic!("{e}"));
        now = own.plug().unwrap().restore(now) + MILLISECOND;
        own.advance(now, &mut done);
    }
}

/// Of two reads that wait for the same bytes, one needs less than what could not be read, and is read once more.
#[test]
fn a_read_counts_once_however_often_the_cache_looks() {
    let device = Spoilt::new();
    let mut cached = before(device.clone(), FlushChoice::Polite, 50);
    device.spoil(1);
    let mut done = Vec::new();
    cached.submit(0, Request::read(1, 0, 8192)).unwrap();
    cached.submit(0, Request::read(2, 0, 4096)).unwrap();
    cached.advance(SECOND, &mut done);
    done.sort_by_key(|c| c.tag);
    assert_eq!([done[0].status, done[1].status], [Status::MediaError, Status::Ok]);
    let counters = cached.counters().cache.unwrap();
    assert_eq!((counters.read_misses, counters.read_hits, counters.held_reads), (2, 0, 0));
}

/// It is read once more, and meanwhile a second sweep holds reads back.
#[test]
fn a_read_that_is_held_back_twice_counts_once() {
    let device = Spoilt::new();
    let mut cached = before(device.clone(), FlushChoice::Burst, 0);
    device.spoil(1);
    let mut done = Vec::new();
    // A sweep of a millisecond, which holds both reads; and once they are under way, another one.
    cached.submit(0, Request::write(1, 32768, 4096)).unwrap();
    cached.advance(MILLISECOND / 2, &mut done);
    cached.submit(MILLISECOND / 2, Request::read(2, 0, 8192)).unwrap();
    cached.submit(MILLISECOND / 2, Request::read(3, 0, 4096)).unwrap();
    cached.advance(MILLISECOND * 3 / 2, &mut done);
    cached.submit(MILLISECOND * 3 / 2, Request::write(4, 65536, 4096)).unwrap();
    cached.advance(SECOND, &mut done);
    done.sort_by_key(|c| c.tag);
    assert_eq!([1, 2].map(|k| done[k].status), [Status::MediaError, Status::Ok]);
    let counters = cached.counters().cache.unwrap();
    assert_eq!((counters.read_misses, counters.read_hits, counters.held_reads, counters.sweeps), (2, 0, 2, 2));
}
