//! Random commands, overlapping and in parts of pages, and power cuts, against a host that writes everything down.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ssdlab_contents::{AfterCut, ContentDevice, ContentOptions, Image, Kind, TrimmedReads};
use ssdlab_core::{Nanos, Op, Rng, SECTOR_BYTES, UNIT_BYTES};
use ssdlab_device::{Device, Held, PayloadId, Plug, Request, Status};

use crate::fake::{Fake, UNITS};

type PageBytes = Vec<u8>;

/// A page as the host knows it: every version that it may hold after a cut, by number, the youngest of each; and what it
/// holds now.
#[derive(Clone)]
struct Known {
    number: u8,
    /// The number of the last write, whether the page was trimmed since or not.
    last: u8,
    bytes: Option<PageBytes>,
    /// `None`: a page of which a cut has destroyed the bytes, and a write has brought a part.
    versions: BTreeMap<u8, Option<PageBytes>>,
}

struct Host {
    fake: Fake,
    device: ContentDevice,
    now: Nanos,
    rng: Rng,
    pages: Vec<Known>,
    /// What was sent and not answered, in order.
    sent: Vec<(Request, Option<PayloadId>, Vec<u8>)>,
    tag: u64,
    reads_checked: u64,
    lost: u64,
    /// Writes of a part of a lost page.
    in_part: u64,
}

const GREATEST: u8 = 200;

fn zeroes() -> PageBytes {
    vec![0; UNIT_BYTES as usize]
}

impl Host {
    fn new(seed: u64) -> Self {
        let fake = Fake::new(seed);
        let options = ContentOptions { superseded_limit_bytes: 64 << 20, trimmed: TrimmedReads::Zeroes };
        let page = Known { number: 0, last: 0, bytes: Some(zeroes()), versions: BTreeMap::from([(0, Some(zeroes()))]) };
        Host {
            device: ContentDevice::new(Box::new(fake.clone()), options),
            fake,
            now: 0,
            rng: Rng::new(seed).stream("host"),
            pages: vec![page; UNITS],
            sent: Vec::new(),
            tag: 0,
            reads_checked: 0,
            lost: 0,
            in_part: 0,
        }
    }

    fn send(&mut self) {
        let sectors = UNITS as u64 * 8;
        let op = [Op::Read, Op::Write, Op::Write, Op::Write, Op::Trim, Op::WriteZeroes, Op::Flush]
            [self.rng.below(7) as usize];
        let whole_pages = self.rng.chance(1, 2);
        let (offset, length) = if whole_pages {
            let first = self.rng.below(UNITS as u64);
            (first * UNIT_BYTES, (1 + self.rng.below(4)).min(UNITS as u64 - first) * UNIT_BYTES)
        } else {
            let first = self.rng.below(sectors);
            (first * SECTOR_BYTES, (1 + self.rng.below(20)).min(sectors - first) * SECTOR_BYTES)
        };
        self.tag += 1;
        let mut request = Request::new(self.tag, op, offset, length);
        let mut data = Vec::new();
        match op {
            Op::Write => {
                data = (0..length).map(|_| self.rng.below(256) as u8).collect();
                let id = self.device.insert(data.clone());
                request = request.with_payload(id).with_fua(self.rng.chance(1, 8));
            }
            Op::Read => request = request.with_payload(self.device.insert(Vec::new())),
            Op::Flush => request = Request::flush(self.tag),
            _ => {}
        }
        self.device.submit(self.now, request).unwrap();
        self.sent.push((request, request.payload, data));
    }

    fn pass(&mut self, time: Nanos) {
        let mut done = Vec::new();
        self.now += time;
        self.device.advance(self.now, &mut done);
        for c in done {
            let at = self.sent.iter().position(|s| s.0.tag == c.tag).unwrap();
            let (request, payload, data) = self.sent.remove(at);
            match request.op {
                Op::Read => {
                    let bytes = self.device.take(payload.unwrap());
                    self.check_read(&request, c.status, &bytes);
                }
                Op::Write | Op::WriteZeroes | Op::Trim => {
                    let all_there = self.apply(&request, &data);
                    assert_eq!(c.status, if all_there { Status::Ok } else { Status::MediaError });
                    self.in_part += u64::from(!all_there);
                    payload.into_iter().for_each(|id| drop(self.device.take(id)));
                }
                Op::Flush => {}
            }
        }
    }

    /// A write or trim has happened: every page of it has a new version. Whether the bytes of all of them are known.
    fn apply(&mut self, request: &Request, data: &[u8]) -> bool {
        let mut all_there = true;
        let first = (request.offset_bytes / UNIT_BYTES) as usize;
        let end = (request.offset_bytes + request.length_bytes).div_ceil(UNIT_BYTES) as usize;
        for unit in first..end {
            if let Some((number, bytes)) = self.changed(unit, request, data) {
                let page = &mut self.pages[unit];
                let before = std::mem::replace(&mut page.number, number);
                page.last = if number == 0 { page.last } else { number };
                all_there &= bytes.is_some();
                if request.op == Op::Trim {
                    // What was lost before, the host has given up: if the trim is forgotten it may be zeroes.
                    page.versions.entry(before).or_default().get_or_insert_with(zeroes);
                }
                page.versions.insert(number, bytes.clone());
                page.bytes = bytes;
            }
        }
        all_there
    }

    fn changed(&self, unit: usize, request: &Request, data: &[u8]) -> Option<(u8, Option<PageBytes>)> {
        let page = &self.pages[unit];
        let begin = unit as u64 * UNIT_BYTES;
        let from = request.offset_bytes.max(begin);
        let to = (request.offset_bytes + request.length_bytes).min(begin + UNIT_BYTES);
        if request.op == Op::Trim {
            return (to - from == UNIT_BYTES && (page.number != 0 || page.bytes.is_none()))
                .then(|| (0, Some(zeroes())));
        }
        let number = if page.last == GREATEST { 1 } else { page.last + 1 };
        let before = page.bytes.clone().or_else(|| (to - from == UNIT_BYTES).then(zeroes));
        let Some(mut bytes) = before else { return Some((number, None)) };
        let part = &mut bytes[(from - begin) as usize..(to - begin) as usize];
        if data.is_empty() {
            part.fill(0);
        } else {
            part.copy_from_slice(&data[(from - request.offset_bytes) as usize..(to - request.offset_bytes) as usize]);
        }
        Some((number, Some(bytes)))
    }

    fn check_read(&mut self, request: &Request, status: Status, bytes: &[u8]) {
        let first = (request.offset_bytes / UNIT_BYTES) as usize;
        let end = (request.offset_bytes + request.length_bytes).div_ceil(UNIT_BYTES) as usize;
        let whole: Option<Vec<u8>> =
            self.pages[first..end].iter().map(|p| p.bytes.clone()).collect::<Option<Vec<_>>>().map(|p| p.concat());
        let Some(whole) = whole else {
            assert_eq!(status, Status::MediaError);
            return;
        };
        assert_eq!(status, Status::Ok);
        let from = (request.offset_bytes - first as u64 * UNIT_BYTES) as usize;
        assert!(bytes == &whole[from..from + request.length_bytes as usize], "a read of other bytes than were written");
        self.reads_checked += 1;
    }

    fn cut_and_restore(&mut self) {
        self.device.cut(self.now);
        // What was under way may have happened: it is one more version of its pages. Of several commands for a page only
        // the first was at the device, also if that was a read or a trim.
        let mut under_way = [false; UNITS];
        for (request, _, data) in std::mem::take(&mut self.sent) {
            if request.op == Op::Flush {
                continue;
            }
            let first = (request.offset_bytes / UNIT_BYTES) as usize;
            let end = (request.offset_bytes + request.length_bytes).div_ceil(UNIT_BYTES) as usize;
            for unit in first..end {
                let is_first = !std::mem::replace(&mut under_way[unit], true);
                if is_first
                    && matches!(request.op, Op::Write | Op::WriteZeroes)
                    && let Some((number, bytes)) = self.changed(unit, &request, &data)
                {
                    self.pages[unit].versions.insert(number, bytes);
                }
            }
        }
        self.now += 100;
        let ready = self.device.restore(self.now);
        assert_eq!(ready, self.now + 500);
        let mut unknown = 0;
        for unit in 0..UNITS {
            let page = &mut self.pages[unit];
            let held = self.fake.held(unit as u64);
            page.number = match held {
                Held::Write(number) => number,
                _ => 0,
            };
            page.last = self.fake.inside.lock().unwrap().last_number(unit);
            page.bytes = if held == Held::Unreadable { None } else { page.versions[&page.number].clone() };
            self.lost += u64::from(page.bytes.is_none());
            // Younger versions than this one are gone; their numbers are given again.
            let kept = if page.number == 0 { Some(zeroes()) } else { page.bytes.clone() };
            unknown += u64::from(kept.is_none());
            page.versions = BTreeMap::from([(0, Some(zeroes())), (page.number, kept)]);
        }
        // What is told as forgotten was lost before, and written in part since.
        assert!(self.device.after_cut().unwrap().forgotten <= unknown);
    }

    fn read_everything(&mut self) {
        for unit in 0..UNITS as u64 {
            let id = self.device.insert(Vec::new());
            self.tag += 1;
            let request = Request::read(self.tag, unit * UNIT_BYTES, UNIT_BYTES).with_payload(id);
            self.device.submit(self.now, request).unwrap();
            self.sent.push((request, Some(id), Vec::new()));
        }
        self.pass(1_000_000);
        assert!(self.sent.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_read_is_what_was_written_and_survived(seed in any::<u64>()) {
        let mut host = Host::new(seed);
        for round in 0..6 {
            for _ in 0..40 {
                host.send();
                if host.rng.chance(1, 2) {
                    let time = host.rng.below(600);
                    host.pass(time);
                }
            }
            if round % 2 == 1 {
                host.cut_and_restore();
            }
            host.pass(1_000_000);
            host.read_everything();
        }
        prop_assert!(host.reads_checked > 100);
        prop_assert!(host.device.in_flight() == 0);
    }
}

#[test]
fn a_copy_goes_on_by_itself() {
    let mut device = ContentDevice::new(Box::new(Fake::new(1)), ContentOptions::default());
    let id = device.insert(vec![1; 4096]);
    device.submit(0, Request::write(1, 0, 4096).with_payload(id)).unwrap();
    device.advance(2000, &mut Vec::new());
    let before = device.store().clone();
    let id = device.insert(vec![2; 4096]);
    device.submit(2000, Request::write(2, 0, 4096).with_payload(id)).unwrap();
    device.advance(4000, &mut Vec::new());
    let first = |store: &ssdlab_contents::Store| store.page(0).unwrap()[0];
    assert_eq!((first(&before), first(device.store())), (1, 2));
}

#[test]
fn versions_beyond_the_limit_are_unreadable_and_counted() {
    let fake = Fake::new(3);
    let options = ContentOptions { superseded_limit_bytes: 6000, ..ContentOptions::default() };
    let mut device = ContentDevice::new(Box::new(fake.clone()), options);
    let mut now = 0;
    let mut counted = AfterCut::default();
    for round in 0..40 {
        for byte in 1..=8 {
            let id = device.insert(vec![byte; 4096]);
            device.submit(now, Request::write(1, 0, 4096).with_payload(id)).unwrap();
            now += 2000;
            device.advance(now, &mut Vec::new());
            device.take(id);
        }
        device.cut(now);
        device.restore(now);
        let after = device.after_cut().unwrap();
        assert!(device.superseded().1 >= 6 * (round + 1), "{:?}", device.superseded());
        let id = device.insert(Vec::new());
        device.submit(now, Request::read(1, 0, 4096).with_payload(id)).unwrap();
        now += 2000;
        let mut done = Vec::new();
        device.advance(now, &mut done);
        device.take(id);
        assert_eq!(done[0].status == Status::MediaError, after.forgotten + after.unreadable > 0);
        counted.forgotten += after.forgotten;
        counted.reverted += after.reverted;
    }
    assert!(counted.forgotten > 0 && counted.reverted > 0, "{counted:?}");
}

/// Reads, or writes these bytes.
fn run(device: &mut ContentDevice, now: &mut Nanos, request: Request, data: Vec<u8>) -> (Status, Vec<u8>) {
    let id = device.insert(data);
    device.submit(*now, request.with_payload(id)).unwrap();
    let mut done = Vec::new();
    *now = device.advance_to_completion(*now + 10_000, &mut done);
    (done[0].status, device.take(id))
}

/// Also after a cut that takes the write of all of it back.
#[test]
fn a_write_of_a_part_of_a_lost_page_ends_in_an_error_and_the_page_stays_lost() {
    for seed in 0..20 {
        let fake = Fake::new(seed);
        let mut device = ContentDevice::new(Box::new(fake.clone()), ContentOptions::default());
        let mut now = 0;
        assert_eq!(run(&mut device, &mut now, Request::write(1, 0, 4096), vec![1; 4096]).0, Status::Ok);
        device.cut(now);
        fake.inside.lock().unwrap().lose(0);
        now = device.restore(now);
        assert_eq!(device.after_cut().unwrap().unreadable, 1);
        assert_eq!(run(&mut device, &mut now, Request::write(1, 512, 512), vec![2; 512]).0, Status::MediaError);
        let read =
            |device: &mut ContentDevice, now: &mut Nanos| run(device, now, Request::read(1, 0, 4096), Vec::new());
        assert_eq!(read(&mut device, &mut now).0, Status::MediaError);
        assert_eq!(device.store().stretches(0, 4096).next(), Some((4096, Kind::Data)), "a read of it fails");
        assert_eq!(run(&mut device, &mut now, Request::write(1, 0, 4096), vec![3; 4096]).0, Status::Ok);
        assert_eq!(read(&mut device, &mut now), (Status::Ok, vec![3; 4096]));
        device.cut(now);
        now = device.restore(now);
        let (status, bytes) = read(&mut device, &mut now);
        match fake.held(0) {
            Held::Write(2) => assert_eq!((status, bytes), (Status::Ok, vec![3; 4096])),
            _ => assert_eq!(status, Status::MediaError),
        }
    }
}

/// Where what was trimmed reads as before, nobody knows what that was.
#[test]
fn a_lost_page_that_was_written_in_part_and_trimmed_stays_lost_where_trimmed_pages_keep_their_data() {
    let fake = Fake::new(1);
    let options = ContentOptions { trimmed: TrimmedReads::OldData, ..ContentOptions::default() };
    let mut device = ContentDevice::new(Box::new(fake.clone()), options);
    let mut now = 0;
    assert_eq!(run(&mut device, &mut now, Request::write(1, 0, 4096), vec![1; 4096]).0, Status::Ok);
    device.cut(now);
    fake.inside.lock().unwrap().lose(0);
    now = device.restore(now);
    assert_eq!(run(&mut device, &mut now, Request::write(1, 512, 512), vec![2; 512]).0, Status::MediaError);
    assert_eq!(run(&mut device, &mut now, Request::new(1, Op::Trim, 0, 4096), Vec::new()).0, Status::Ok);
    assert_eq!(run(&mut device, &mut now, Request::read(1, 0, 4096), Vec::new()).0, Status::MediaError);
    assert_eq!(run(&mut device, &mut now, Request::write(1, 0, 4096), vec![3; 4096]).0, Status::Ok);
    assert_eq!(run(&mut device, &mut now, Request::read(1, 0, 4096), Vec::new()), (Status::Ok, vec![3; 4096]));
}

#[test]
fn a_secure_erase_forgets_what_it_has_emptied_and_nothing_else() {
    let fake = Fake::new(5);
    let mut device = ContentDevice::new(Box::new(fake.clone()), ContentOptions::default());
    let mut now = 0;
    assert_eq!(run(&mut device, &mut now, Request::write(1, 0, 4 * 4096), vec![7; 4 * 4096]).0, Status::Ok);
    for (erases, left) in [(2..3, [7, 7, 0, 7]), (0..2, [0, 0, 0, 7]), (0..UNITS, [0; 4])] {
        fake.inside.lock().unwrap().erases = Some(erases);
        now = device.security().unwrap().secure_erase(now);
        let (status, bytes) = run(&mut device, &mut now, Request::read(1, 0, 4 * 4096), Vec::new());
        assert_eq!((status, [0, 1, 2, 3].map(|page| bytes[page * 4096])), (Status::Ok, left));
    }
}

#[test]
fn what_a_secure_erase_has_emptied_is_not_left_in_the_image() {
    let path = std::env::temp_dir().join(format!("ssdlab-emptied-{}.ssd", std::process::id()));
    drop(std::fs::remove_file(&path));
    let fake = Fake::new(5);
    let mut device = ContentDevice::new(Box::new(fake.clone()), ContentOptions::default());
    device.set_image(Image::create(&path, "fake", 7, device.store(), None).unwrap());
    let mut now = 0;
    for page in 0..4 {
        let write = Request::write(1, u64::from(page) * 4096, 4096);
        assert_eq!(run(&mut device, &mut now, write, vec![0xA0 + page; 4096]).0, Status::Ok);
    }
    fake.inside.lock().unwrap().erases = Some(1..3);
    device.security().unwrap().secure_erase(now);
    assert_eq!(device.image_error(), None);
    device.take_image().expect("it was written").close().unwrap();
    let file = std::fs::read(&path).unwrap();
    let left = [0xA0, 0xA1, 0xA2, 0xA3].map(|byte| file.windows(64).any(|bytes| bytes == [byte; 64]));
    assert_eq!(left, [true, false, false, true]);
    let store = Image::inspect(&path).unwrap().store;
    assert_eq!([0, 1, 2, 3].map(|page| store.number(page) != 0), left);
    std::fs::remove_file(&path).unwrap();
}
