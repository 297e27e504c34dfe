//! Bytes of a disk whose plug is pulled: every sector is that of a write that was sent, and no older than promised.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ssdlab_contents::{ContentDevice, ContentOptions};
use ssdlab_core::{MILLISECOND, Nanos, Op, Rng, SECOND};
use ssdlab_device::{Completion, Device, Request};
use ssdlab_disks::{Disk, DiskSpec};

const SECTORS: usize = 512;

/// A sector: the writes of it, oldest first, and how many were answered and flushed.
#[derive(Clone, Default)]
struct Sector {
    writes: Vec<u64>,
    answered: usize,
    flushed: usize,
}

struct Host {
    device: ContentDevice,
    now: Nanos,
    sectors: Vec<Sector>,
    in_flight: Vec<Request>,
    flushes: Vec<(u64, Vec<usize>)>,
    next: u64,
}

impl Host {
    fn new() -> Self {
        let mut spec = DiskSpec::plain();
        (spec.cache.write_segments, spec.cache.read_ahead_kib) = (6, 0);
        spec.media.spin_up_ms = 5.0;
        let disk = Disk::new("disk", spec, 1).expect("it can be built");
        let device = ContentDevice::new(Box::new(disk), ContentOptions::default());
        let sectors = vec![Sector::default(); SECTORS];
        Host { device, now: 0, sectors, in_flight: Vec::new(), flushes: Vec::new(), next: 1 }
    }

    fn write(&mut self, first: usize, count: usize) {
        let (tag, bytes) = (self.next, 512 * count);
        let overlaps = |r: &Request| {
            let (from, to) =
                (r.offset_bytes as usize / 4096, (r.offset_bytes + r.length_bytes).div_ceil(4096) as usize);
            r.op == Op::Write && from < (first + count).div_ceil(8) && first / 8 < to
        };
        if self.in_flight.iter().any(overlaps) {
            return;
        }
        let data: Vec<u8> = tag.to_le_bytes().into_iter().cycle().take(bytes).collect();
        let payload = self.device.insert(data);
        let request = Request { payload: Some(payload), ..Request::write(tag, first as u64 * 512, bytes as u64) };
        self.sectors[first..first + count].iter_mut().for_each(|sector| sector.writes.push(tag));
        self.send(request);
    }

    fn flush(&mut self) {
        self.flushes.push((self.next, self.sectors.iter().map(|sector| sector.answered).collect()));
        self.send(Request::flush(self.next));
    }

    fn send(&mut self, request: Request) {
        self.device.submit(self.now, request).expect("it is within the device");
        self.in_flight.push(request);
        self.next += 1;
    }

    fn pass(&mut self, time: Nanos) {
        let mut done: Vec<Completion> = Vec::new();
        self.now += time;
        self.device.advance(self.now, &mut done);
        for c in done {
            let k = self.in_flight.iter().position(|r| r.tag == c.tag).expect("it was in flight");
            let request = self.in_flight.swap_remove(k);
            if let Some(payload) = request.payload {
                self.device.take(payload);
            }
            if request.op == Op::Flush {
                let k = self.flushes.iter().position(|f| f.0 == c.tag).expect("it was sent");
                let covered = self.flushes.swap_remove(k).1;
                self.sectors.iter_mut().zip(covered).for_each(|(s, covered)| s.flushed = s.flushed.max(covered));
            } else {
                let first = (request.offset_bytes / 512) as usize;
                let sectors = &mut self.sectors[first..first + (request.length_bytes / 512) as usize];
                sectors.iter_mut().for_each(|sector| sector.answered = sector.writes.len());
            }
        }
    }

    /// Returns how many units have sectors that come from before a later write of the same unit.
    fn cut(&mut self) -> usize {
        self.device.cut(self.now);
        self.now = self.device.restore(self.now + SECOND);
        self.in_flight.clear();
        self.flushes.clear();
        assert_eq!(self.device.after_cut().map(|after| (after.unreadable, after.forgotten)), Some((0, 0)));
        let mut bytes = Vec::new();
        self.device.store().read(0, SECTORS as u64 * 512, &mut bytes);
        let mut lost = [false; SECTORS / 8];
        let mut kept = [false; SECTORS / 8];
        for (k, (sector, bytes)) in self.sectors.iter_mut().zip(bytes.chunks_exact(512)).enumerate() {
            let tag = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
            assert!(bytes.chunks_exact(8).all(|word| word == &bytes[..8]), "sector {k} is torn");
            let found = if tag == 0 { Some(0) } else { sector.writes.iter().position(|&w| w == tag).map(|w| w + 1) };
            let found = found.unwrap_or_else(|| panic!("sector {k} holds write {tag}, which was never sent to it"));
            assert!(found >= sector.flushed, "sector {k} holds write {found}, {} were flushed", sector.flushed);
            lost[k / 8] |= found < sector.writes.len();
            kept[k / 8] |= found == sector.writes.len() && found > sector.flushed;
            sector.writes.truncate(found);
            (sector.answered, sector.flushed) = (found, found);
        }
        (0..SECTORS / 8).filter(|&unit| lost[unit] && kept[unit]).count()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(16), failure_persistence: None,
        ..ProptestConfig::with_cases(40) })]

    #[test]
    fn each_sector_is_of_a_write_that_was_sent_and_no_older_than_promised(seed in any::<u64>()) {
        let mut rng = Rng::new(seed).stream("mixed");
        let (mut host, mut mixed) = (Host::new(), 0);
        for _ in 0..30 {
            for _ in 0..1 + rng.below(30) {
                let count = [1, 2, 5, 8, 40][rng.below(5) as usize];
                host.write(rng.below((SECTORS - count) as u64) as usize, count);
                if rng.chance(1, 10) {
                    host.flush();
                }
                let pause = [0, MILLISECOND, 20 * MILLISECOND][rng.below(3) as usize];
                host.pass(rng.below(pause + 1));
            }
            mixed += host.cut();
        }
        prop_assert!(mixed > 0, "no unit was mixed");
    }
}
