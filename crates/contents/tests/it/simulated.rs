//! Bytes on simulated drives of every kind whose plug is pulled: what was flushed is there, and every page is some version
//! that was written, also on drives whose FLUSH lies.

use proptest::prelude::*;
use ssdlab_contents::{ContentDevice, ContentOptions};
use ssdlab_core::{Nanos, Op, Rng, UNIT_BYTES};
use ssdlab_device::{Device, PayloadId, Request, Status};
use ssdlab_testkit::{DrawnDrive, any_drive};

/// A version of a page: every eighth byte group says which; 0: zeroes.
type Stamp = u64;

#[derive(Clone, Copy, Debug)]
struct Version {
    stamp: Stamp,
    /// The command that made it.
    tag: u64,
    answered: bool,
}

struct Host {
    device: ContentDevice,
    rng: Rng,
    now: Nanos,
    tag: u64,
    /// What each page may hold after a cut, oldest first.
    pages: Vec<Vec<Version>>,
    /// Flushes under way, with the last answered write of each page when they were sent; 0: none, or trimmed since.
    flushes: Vec<(u64, Vec<u64>)>,
    payloads: Vec<(u64, PayloadId)>,
    stamps: Stamp,
    done: Vec<ssdlab_device::Completion>,
    lost: u64,
    read: u64,
    /// Pages that the drive maps as one.
    unit_pages: u64,
    /// Whether the drive keeps trims, and knows of what it overwrote.
    has_journal: bool,
    /// A flush keeps nothing.
    flush_lies: bool,
    /// The drive has too little spare area left to go on writing.
    is_read_only: bool,
}

fn bytes_of(stamp: Stamp) -> Vec<u8> {
    stamp.to_le_bytes().repeat(UNIT_BYTES as usize / 8)
}

impl Host {
    fn send(&mut self, op: Op, first: u64, count: u64, fua: bool) {
        self.tag += 1;
        let mut request = Request::new(self.tag, op, first * UNIT_BYTES, count * UNIT_BYTES).with_fua(fua);
        match op {
            Op::Write | Op::Trim => {
                let mut bytes = Vec::new();
                for page in &mut self.pages[first as usize..(first + count) as usize] {
                    self.stamps += 1;
                    let stamp = if op == Op::Trim { 0 } else { self.stamps };
                    page.push(Version { stamp, tag: self.tag, answered: false });
                    bytes.extend(bytes_of(stamp));
                }
                if op == Op::Write {
                    let id = self.device.insert(bytes);
                    self.payloads.push((self.tag, id));
                    request = request.with_payload(id);
                }
            }
            Op::Flush => {
                // A trim that was flushed may still be forgotten, and what was there before may be back.
                let newest = |page: &Vec<Version>| {
                    page.iter().rfind(|v| v.answered).filter(|v| v.stamp != 0).map_or(0, |v| v.tag)
                };
                self.flushes.push((self.tag, self.pages.iter().map(newest).collect()));
                request = Request::flush(self.tag);
            }
            Op::Read | Op::WriteZeroes => unreachable!(),
        }
        self.device.submit(self.now, request).unwrap();
    }

    /// Lets the drive do something.
    fn step(&mut self) {
        if let Some(at) = self.device.next_event() {
            self.now = self.now.max(at);
        }
        let mut done = std::mem::take(&mut self.done);
        self.device.advance(self.now, &mut done);
        for c in done.drain(..) {
            self.is_read_only |= c.status == Status::ReadOnly;
            // A write of a part of a unit that a cut has destroyed.
            let unmergeable = c.status == Status::MediaError && self.unit_pages > 1 && self.lost > 0;
            assert!(c.status == Status::Ok || self.is_read_only || unmergeable, "{c:?}");
            if unmergeable {
                self.pages.iter_mut().for_each(|page| page.retain(|v| v.tag != c.tag));
            }
            if let Some(at) = self.payloads.iter().position(|p| p.0 == c.tag) {
                drop(self.device.take(self.payloads.swap_remove(at).1));
            }
            let versions = self.pages.iter_mut().flatten();
            versions.filter(|v| v.tag == c.tag).for_each(|v| v.answered = true);
            if let Some(at) = self.flushes.iter().position(|f| f.0 == c.tag) {
                let (_, newest) = self.flushes.swap_remove(at);
                if self.flush_lies {
                    continue;
                }
                for (page, newest) in self.pages.iter_mut().zip(newest) {
                    // What is trimmed while it waits for the flush need not come to flash.
                    if !page.iter().any(|v| v.stamp == 0 && v.tag > newest) {
                        page.retain(|v| v.tag >= newest);
                    }
                }
            }
        }
        self.done = done;
    }

    fn cut(&mut self) {
        self.device.cut(self.now);
        self.payloads.clear();
        self.flushes.clear();
        self.now += self.rng.below(1_000_000);
        self.device.restore(self.now);
        let after = self.device.after_cut().unwrap();
        // Without a journal a drive that has forgotten a trim may find a version that was overwritten long before.
        let may_be_old = |page: &&Vec<Version>| !self.has_journal && page.iter().any(|v| v.stamp == 0 && v.tag > 0);
        let trimmed = self.pages.iter().filter(may_be_old).count();
        assert!(after.forgotten <= trimmed as u64, "{after:?}, {trimmed} pages trimmed");
        for unit in 0..self.pages.len() {
            let id = self.device.insert(Vec::new());
            self.tag += 1;
            let request = Request::read(self.tag, unit as u64 * UNIT_BYTES, UNIT_BYTES).with_payload(id);
            self.device.submit(self.now, request).unwrap();
            let mut done = Vec::new();
            while done.is_empty() {
                self.now = self.now.max(self.device.next_event().expect("a drive that is not stuck"));
                self.device.advance(self.now, &mut done);
            }
            let bytes = self.device.take(id);
            let allowed = &mut self.pages[unit];
            if done[0].status == Status::MediaError {
                self.lost += 1;
                continue;
            }
            assert_eq!(done[0].status, Status::Ok);
            let stamp = Stamp::from_le_bytes(bytes[..8].try_into().unwrap());
            assert!(bytes == bytes_of(stamp), "page {unit} is a mixture");
            assert!(allowed.iter().any(|v| v.stamp == stamp), "page {unit} holds {stamp}: {allowed:?}");
            self.read += u64::from(stamp != 0);
            if stamp != 0 || self.has_journal {
                allowed.retain(|v| v.stamp == stamp);
                allowed.iter_mut().for_each(|v| v.answered = true);
            } else {
                // What is empty now may hold what was trimmed after the next cut.
                allowed.push(Version { stamp, tag: self.tag, answered: true });
            }
        }
    }
}

/// Writes, trims, flushes and cuts of a drive, and looks at every page after each cut.
fn cuts_of(drawn: &DrawnDrive, seed: u64, flush_lies: bool) -> Result<(), TestCaseError> {
    let Some((mut drive, die)) = drawn.build() else { return Ok(()) };
    if flush_lies {
        drive.power_loss.get_or_insert_default().flush_lies = true;
    }
    let inner = ssdlab_ssd::build("small", &drive, &die, drawn.seed).unwrap();
    let device = ContentDevice::new(inner, ContentOptions::default());
    prop_assert!(device.has_plug());
    // Pages that the drive maps as one.
    let unit_pages = u64::from(drive.mapping.unit_bytes()) / UNIT_BYTES;
    let units = (device.info().capacity_bytes / UNIT_BYTES).min(200) / unit_pages * unit_pages;
    let page = vec![Version { stamp: 0, tag: 0, answered: true }];
    let mut host = Host {
        device,
        rng: Rng::new(seed),
        now: 0,
        tag: 0,
        pages: vec![page; units as usize],
        flushes: Vec::new(),
        payloads: Vec::new(),
        stamps: 0,
        done: Vec::new(),
        lost: 0,
        read: 0,
        unit_pages,
        has_journal: drive.mapping.journal,
        flush_lies,
        is_read_only: false,
    };
    for _ in 0..4 {
        for _ in 0..150 {
            if host.is_read_only {
                return Ok(());
            }
            let first = host.rng.below(units);
            let count = (1 + host.rng.below(6)).min(units - first);
            let fua = host.rng.chance(1, 16);
            match host.rng.below(16) {
                0 => host.send(Op::Flush, 0, 0, false),
                1 if host.device.info().supports_trim => {
                    let (from, to) = (first / unit_pages, (first + count).div_ceil(unit_pages));
                    host.send(Op::Trim, from * unit_pages, (to - from) * unit_pages, false);
                }
                _ => host.send(Op::Write, first, count, fua),
            }
            while host.device.in_flight() > 20 {
                host.step();
            }
            for _ in 0..host.rng.below(12) {
                host.step();
            }
        }
        host.cut();
    }
    prop_assert!(flush_lies || host.read > 0, "{} pages were lost", host.lost);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn what_was_flushed_is_there_and_no_page_is_a_mixture(drawn in any_drive(), seed in any::<u64>()) {
        cuts_of(&drawn, seed, false)?;
    }

    #[test]
    fn what_shares_a_unit_with_a_write_stays_what_it_was(
        drawn in any_drive(),
        unit_kib in 3u32..=4,
        seed in any::<u64>(),
    ) {
        cuts_of(&drawn.mapping_units_of_kib(1 << unit_kib), seed, false)?;
    }

    #[test]
    fn what_a_lying_flush_has_lost_is_back_as_it_was_before(drawn in any_drive(), seed in any::<u64>()) {
        cuts_of(&drawn, seed, true)?;
    }
}
