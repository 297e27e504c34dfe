//! A drive whose image was closed, or whose process was killed, goes on: with every byte that was answered, and with the wear
//! that it had.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError, TestRunner};
use ssdlab_contents::{
    AfterCut, Change, ContentDevice, ContentOptions, Image, MediaKey, ResumeError, Store, TrimmedReads, Version,
    lay_out, page_of, resume, saved_at_rest,
};
use ssdlab_core::{Nanos, Op, Rng, UNIT_BYTES};
use ssdlab_device::{Counters, Device, Request, Security, Status};
use ssdlab_disks::{Disk, DiskSpec};
use ssdlab_ssd::{PowerLossSpec, Protection, Ssd};
use ssdlab_testkit::{DrawnDrive, altered_drive, any_drive, ideal_die, ideal_drive};

/// Of 1,600 pages, so that all that is begun anew for each process is small.
fn small_drive() -> Ssd {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 16);
    (drive.flash.dies, drive.flash.exact_spare_per_10000) = (4, None);
    drive.capacity_bytes = 1600 * UNIT_BYTES;
    Ssd::new("small", &drive, &die, 1).expect("it can be built")
}

pub struct Host {
    pub device: ContentDevice,
    rng: Rng,
    pub now: Nanos,
    /// What each page holds; `None`: nothing is known of it, since a cut may have brought an older version back.
    pub bytes: Vec<Option<u8>>,
}

impl Host {
    pub fn new(device: ContentDevice, rng: Rng, now: Nanos, bytes: Option<Vec<Option<u8>>>) -> Self {
        let pages = (device.info().capacity_bytes / UNIT_BYTES) as usize;
        Host { device, rng, now, bytes: bytes.unwrap_or_else(|| vec![Some(0); pages]) }
    }

    /// Sends a command and waits for its end.
    pub fn run(&mut self, request: Request) -> Status {
        let mut done = Vec::new();
        self.device.submit(self.now, request).expect("it is within the device");
        self.now = self.device.advance_to_completion(Nanos::MAX / 2, &mut done);
        done[0].status
    }

    pub fn work(&mut self, commands: u64) {
        for tag in 0..commands {
            let count = 1 + self.rng.below(4.min(self.bytes.len() as u64 / 2)) as usize;
            let first = self.rng.below((self.bytes.len() - count + 1) as u64) as usize;
            let (offset, length) = (first as u64 * UNIT_BYTES, count as u64 * UNIT_BYTES);
            let (status, byte) = match self.rng.below(12) {
                0 => (self.run(Request::flush(tag)), None),
                1 if self.device.info().supports_trim => {
                    (self.run(Request::new(tag, Op::Trim, offset, length)), Some(0))
                }
                _ => {
                    let byte = self.rng.below(250) as u8;
                    let payload = self.device.insert(vec![byte; length as usize]);
                    let status = self.run(Request::write(tag, offset, length).with_payload(payload));
                    drop(self.device.take(payload));
                    (status, Some(byte))
                }
            };
            if status == Status::ReadOnly {
                return;
            }
            assert_eq!(status, Status::Ok);
            if let Some(byte) = byte {
                self.bytes[first..first + count].fill(Some(byte));
            }
        }
    }

    fn cut(&mut self) {
        self.device.cut(self.now);
        self.now = self.device.restore(self.now);
        self.bytes.fill(None);
    }

    /// Reads every page, and from now on expects what it says.
    pub fn check(&mut self) {
        self.check_but_for_losses(false);
    }

    /// The same; a page may be lost where the power went while something was programmed on the same cells.
    pub fn check_but_for_losses(&mut self, may_be_lost: bool) {
        for page in 0..self.bytes.len() {
            let payload = self.device.insert(Vec::new());
            let read = Request::read(0, page as u64 * UNIT_BYTES, UNIT_BYTES).with_payload(payload);
            let status = self.run(read);
            let found = self.device.take(payload);
            let Some(expected) = self.bytes[page] else {
                self.bytes[page] = found.first().copied().filter(|_| status == Status::Ok);
                continue;
            };
            if may_be_lost && status == Status::MediaError {
                continue;
            }
            assert_eq!(status, Status::Ok, "page {page}");
            assert!(found.iter().all(|&byte| byte == expected), "page {page}: {} for {expected}", found[0]);
        }
    }
}

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A new drive with a new image, encrypted if the drive encrypts.
pub fn begin(path: &Path, mut inner: Box<dyn Device>, options: ContentOptions) -> ContentDevice {
    drop(std::fs::remove_file(path));
    let store = Store::new(inner.info().capacity_bytes);
    let key = inner.security().is_some_and(Security::encrypts).then(|| MediaKey::random(0).unwrap());
    let image = Image::create(path, "small", 7, &store, key).unwrap();
    let mut device = ContentDevice::with_store(inner, options, store);
    device.set_image(image);
    device.keep_state(0);
    device
}

pub fn again(
    path: &Path,
    mut inner: Box<dyn Device>,
    options: ContentOptions,
) -> Result<(ContentDevice, Nanos), ResumeError> {
    let (mut image, contents) = Image::open(path).unwrap();
    let mut store = contents.store;
    let state = contents.state.expect("it was saved");
    let resumed = resume(inner.as_mut(), &mut store, &state, contents.header.clean, &|| true)?;
    let kept = resumed.cut.or_else(|| saved_at_rest(&*inner, resumed.ready));
    resumed.lost.iter().for_each(|&page| image.append(&store, page..page + 1).unwrap());
    image.append_state(&kept.expect("it has a plug")).unwrap();
    image.set_totals(inner.plug().expect("it has one").totals(resumed.ready));
    image.commit().unwrap();
    let mut device = ContentDevice::with_store(inner, options, store);
    device.set_image(image);
    Ok((device, resumed.ready))
}

/// What a drive is left with goes on in another one, three times over.
fn goes_on(choice: &DrawnDrive, cuts: bool, image: &str) -> Result<(), TestCaseError> {
    let Some((mut drive, die)) = choice.build() else { return Ok(()) };
    drive.power_loss = Some(PowerLossSpec {
        protects: [Protection::Nothing, Protection::Everything][(choice.seed % 2) as usize],
        energy_mj: Some(1e5),
        ..PowerLossSpec::default()
    });
    let new_drive =
        || -> Box<dyn Device> { Box::new(Ssd::new("small", &drive, &die, choice.seed).expect("it can be built")) };
    let path = path(image);
    let mut rng = Rng::new(choice.seed).stream("resumed");
    let trimmed = [TrimmedReads::Zeroes, TrimmedReads::OldData][rng.below(2) as usize];
    let options = ContentOptions { trimmed, ..ContentOptions::default() };
    let device = begin(&path, new_drive(), options);
    let mut host = Host::new(device, rng.clone(), 0, None);
    for _ in 0..3 {
        host.work(rng.below(400));
        if cuts {
            host.cut();
            host.check();
            host.work(rng.below(100));
        }
        let (written, wear) = (host.device.counters().host.write_bytes, host.device.flash().unwrap().wear());
        let (unclean, killed) = (host.device.unclean_shutdowns().unwrap(), rng.chance(1, 2));
        if !killed {
            host.device.put_away(host.now);
            host.device.take_image().expect("it can be written").close().unwrap();
        }
        let Host { device, bytes, .. } = host;
        drop(device);
        let (device, now) = again(&path, new_drive(), options).expect("it goes on");
        host = Host::new(device, rng.stream("next"), now, Some(bytes));
        if trimmed == TrimmedReads::OldData {
            host.bytes.iter_mut().filter(|byte| **byte == Some(0)).for_each(|byte| *byte = None);
        }
        host.check();
        host.device.check_books().expect("the books balance");
        prop_assert!(host.device.counters().host.write_bytes >= written);
        prop_assert!(killed || host.device.flash().unwrap().wear().erases_mean >= wear.erases_mean);
        prop_assert_eq!(host.device.unclean_shutdowns(), Some(unclean + u64::from(killed)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(23), failure_persistence: None,
        ..ProptestConfig::with_cases(40) })]

    #[test]
    fn a_drive_goes_on_as_its_image_left_it(choice in any_drive(), cuts in any::<bool>()) {
        goes_on(&choice, cuts, "resumed.ssd")?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(23), failure_persistence: None,
        ..ProptestConfig::with_cases(3000) })]

    /// Among them a drive on which a FLUSH takes no time, and one that power cuts leave read-only, with trims forgotten.
    #[test]
    #[ignore = "four minutes; `make properties` runs it, and 40 cases of the same run always"]
    fn thousands_more_drives_go_on_as_their_images_left_them(choice in any_drive(), cuts in any::<bool>()) {
        goes_on(&choice, cuts, "resumed-again.ssd")?;
    }
}

#[test]
fn an_image_of_another_drive_is_refused() {
    let path = path("other-drive.ssd");
    let drive = || Box::new(Ssd::new("ideal", &ideal_drive(), &ideal_die(), 1).unwrap());
    let mut device = begin(&path, drive(), ContentOptions::default());
    device.put_away(0);
    device.take_image().unwrap().close().unwrap();
    let mut other = ideal_drive();
    other.write_buffer.capacity_kib *= 2;
    let other = Box::new(Ssd::new("other", &other, &ideal_die(), 1).unwrap());
    let refused = again(&path, other, ContentOptions::default()).err().expect("it is another drive");
    assert_eq!(
        refused.to_string(),
        "the state of the drive in it cannot be used: its drive file or die file has other values, or another name"
    );
    assert!(again(&path, drive(), ContentOptions::default()).is_ok());
}

/// A FLUSH makes no difference to that: the image has each trim before it is answered. Nor does a power cut of the drive that went on
/// bring anything back, whether it has kept the trim or not; a drive without a journal keeps none.
#[test]
fn what_was_trimmed_stays_trimmed_when_the_process_is_killed() {
    let path = path("trimmed.ssd");
    let all = [
        (TrimmedReads::Zeroes, true, true),
        (TrimmedReads::Zeroes, true, false),
        (TrimmedReads::Zeroes, false, true),
        (TrimmedReads::Zeroes, false, false),
        (TrimmedReads::OldData, true, true),
        (TrimmedReads::OldData, false, true),
    ];
    for (trimmed, journal, flushes) in all {
        let (mut drive, mut die) = (ideal_drive(), ideal_die());
        (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 16);
        (drive.flash.dies, drive.flash.exact_spare_per_10000, drive.mapping.journal) = (4, None, journal);
        drive.capacity_bytes = 1600 * UNIT_BYTES;
        let new_drive = || Box::new(Ssd::new("small", &drive, &die, 1).unwrap());
        let options = ContentOptions { trimmed, ..ContentOptions::default() };
        let mut host = Host::new(begin(&path, new_drive(), options), Rng::new(1), 0, None);
        let payload = host.device.insert(vec![0xA7; 64 << 10]);
        assert_eq!(host.run(Request::write(1, 0, 64 << 10).with_payload(payload)), Status::Ok);
        assert_eq!(host.run(Request::flush(2)), Status::Ok);
        assert_eq!(host.run(Request::new(3, Op::Trim, 8 << 10, 40 << 10)), Status::Ok);
        if flushes {
            assert_eq!(host.run(Request::flush(4)), Status::Ok);
        }
        // As it is after a kill, after another one, and after a cut of the drive itself.
        for round in 0..3 {
            if round < 2 {
                drop(host.device);
                let (device, now) = again(&path, new_drive(), options).expect("it fits");
                host = Host::new(device, Rng::new(1), now, None);
            } else {
                host.device.cut(host.now);
                host.now = host.device.restore(host.now);
            }
            let store = host.device.store();
            for page in 0..16 {
                let gone = (2..12).contains(&page);
                let byte = if gone && trimmed == TrimmedReads::Zeroes { 0 } else { 0xA7 };
                let what = format!("page {page}, {trimmed:?}, journal {journal}, flush {flushes}, round {round}");
                assert_eq!(store.page(page).map_or(0, |page| page[0]), byte, "{what}");
                assert!(round == 2 || (store.number(page) == 0) == gone, "{what}: number {}", store.number(page));
            }
        }
    }
}

/// A cut takes back what a disk had in its cache, and the process is killed before the disk is saved, as it may be where there is
/// no room for that. A disk knows no trims: it holds zeroes where it held nothing.
#[test]
fn a_disk_goes_on_that_was_not_saved_after_a_cut() {
    let path = path("disk-not-saved.ssd");
    let new_disk =
        || -> Box<dyn Device> { Box::new(Disk::new("disk", DiskSpec::plain(), 1).expect("it can be built")) };
    let options = ContentOptions::default();
    let mut host = Host::new(begin(&path, new_disk(), options), Rng::new(1), 0, None);
    for page in [3, 7] {
        let payload = host.device.insert(vec![0xA7; UNIT_BYTES as usize]);
        let write = Request::write(page, page * UNIT_BYTES, UNIT_BYTES).with_payload(payload);
        assert_eq!(host.run(write), Status::Ok);
    }
    drop(host.device);
    let contents = Image::inspect(&path).expect("it is whole");
    let (mut store, mut state) = (contents.store, contents.state.expect("it was saved"));
    store.forget(7..8, |_, _| {});
    state.since.push(Change { pages: 7..8, written: false });
    let holds = |store: &Store, page: u32| (store.number(page) != 0, store.page(page).map_or(0, |page| page[0]));
    let check =
        |store: &Store| assert_eq!([3, 7, 8].map(|page| holds(store, page)), [(true, 0xA7), (true, 0), (false, 0)]);
    let left = store.clone();
    let resumed = resume(&mut *new_disk(), &mut store, &state, false, &|| true).expect("it fits");
    check(&store);
    // The process that went on is killed as well.
    drop(std::fs::remove_file(&path));
    let mut image = Image::create(&path, "disk", 7, &left, None).expect("it can be written");
    image.append_state(&resumed.cut.expect("it was cut")).expect("it can be written");
    drop(image);
    check(again(&path, new_disk(), options).expect("it fits").0.store());
}

/// A disk has no erase: it goes on with its wear and its counters, and without the bytes.
#[test]
fn a_disk_whose_image_was_erased_goes_on_with_pages_of_zeroes() {
    let path = path("erased-disk.ssd");
    let new_disk =
        || -> Box<dyn Device> { Box::new(Disk::new("disk", DiskSpec::plain(), 1).expect("it can be built")) };
    let options = ContentOptions::default();
    let mut host = Host::new(begin(&path, new_disk(), options), Rng::new(1), 0, None);
    host.work(60);
    host.device.put_away(host.now);
    let written = host.device.counters().host.write_bytes;
    host.device.take_image().expect("it was written").close().expect("it can be written");
    let (mut image, _) = Image::open(&path).expect("it is whole");
    image.erase(None).and_then(|()| image.close()).expect("it can be written");
    let (device, now) = again(&path, new_disk(), options).expect("it fits");
    assert_eq!((device.store().stored_pages(), device.store().lost().len()), (0, 0));
    assert!(device.counters().host.write_bytes >= written && written > 0);
    let mut heir = Host::new(device, Rng::new(2), now, None);
    heir.check();
    heir.work(60);
    heir.check();
}

/// The drive has units of four pages. All of a unit counts as written, also where a process was killed that had written a part of it.
#[test]
fn a_drive_goes_on_of_whose_image_a_unit_was_cut_short() {
    let path = path("unit-cut-short.ssd");
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block, die.geometry.page_bytes) = (40, 16, 16384);
    (drive.flash.dies, drive.flash.exact_spare_per_10000, drive.mapping.unit_kib) = (4, None, 16);
    drive.capacity_bytes = 1600 * 4 * UNIT_BYTES;
    let new_drive = || Box::new(Ssd::new("small", &drive, &die, 1).expect("it can be built"));
    let options = ContentOptions::default();
    for kept in [4..5, 4..7, 5..8] {
        let mut store = Store::new(drive.capacity_bytes);
        drop(begin(&path, new_drive(), options));
        let (mut image, _) = Image::open(&path).expect("it is whole");
        for page in kept.clone() {
            store.replace(page, Version { number: 1, page: None });
        }
        image.append(&store, kept.clone()).expect("it can be written");
        drop(image);
        for _ in 0..2 {
            let (device, _) = again(&path, new_drive(), options).unwrap_or_else(|e| panic!("{kept:?}: {e}"));
            let numbers: Vec<bool> = (3..9).map(|page| device.store().number(page) != 0).collect();
            assert_eq!(numbers, [false, true, true, true, true, false], "{kept:?}");
        }
    }
}

/// Its power comes back once for each process that was killed.
#[test]
fn each_process_that_is_killed_counts_as_one_power_cycle() {
    let path = path("cycles.ssd");
    let drive = || Box::new(small_drive());
    let mut host = Host::new(begin(&path, drive(), ContentOptions::default()), Rng::new(1), 0, None);
    let mut counted = Vec::new();
    for _ in 0..4 {
        host.work(30);
        let bytes = host.bytes;
        drop(host.device);
        let (device, now) = again(&path, drive(), ContentOptions::default()).expect("it fits");
        host = Host::new(device, Rng::new(now), now, Some(bytes));
        let cycles = host.device.power_history(host.now).expect("it has a plug").0;
        counted.push((cycles, host.device.unclean_shutdowns().unwrap()));
    }
    assert_eq!(counted, [(2, 1), (3, 2), (4, 3), (5, 4)]);
    let first: Vec<_> = host.bytes.iter().map(|byte| byte.unwrap_or(0)).collect();
    assert!(
        (0..first.len()).all(|page| host.device.store().page(page as u32).map_or(0, |page| page[0]) == first[page])
    );
}

/// What was read, or overwritten since the image was written anew, is not there to be done once more; nor are the hours. All that was
/// counted by the last flush stays counted.
#[test]
fn what_a_drive_has_counted_by_its_last_flush_outlives_its_process() {
    let mut disk = DiskSpec::plain();
    disk.capacity_bytes = disk.capacity_bytes.min(1600 * UNIT_BYTES);
    let new_ssd = || -> Box<dyn Device> { Box::new(small_drive()) };
    let new_disk = || -> Box<dyn Device> { Box::new(Disk::new("disk", disk.clone(), 1).expect("it can be built")) };
    for (name, new_device) in
        [("counted.ssd", &new_ssd as &dyn Fn() -> Box<dyn Device>), ("counted-disk.ssd", &new_disk)]
    {
        let path = path(name);
        let mut host = Host::new(begin(&path, new_device(), ContentOptions::default()), Rng::new(3), 0, None);
        for round in 1..4 {
            host.work(2000);
            host.check();
            host.now += 3_600_000_000_000;
            host.device.advance(host.now, &mut Vec::new());
            assert_eq!(host.run(Request::flush(0)), Status::Ok);
            let counted = |device: &mut ContentDevice, now: Nanos| {
                let wear = device.flash().map_or(0.0, |flash| flash.wear().erases_mean);
                (device.counters(), device.power_history(now).expect("it has a plug"), wear)
            };
            let (before, (cycles, powered), wear) = counted(&mut host.device, host.now);
            // An hour without a command, of which nothing is known.
            host.device.advance(host.now + 3_600_000_000_000, &mut Vec::new());
            drop(host.device);
            let (device, now) = again(&path, new_device(), ContentOptions::default()).expect("it fits");
            host = Host::new(device, Rng::new(now), now, Some(host.bytes));
            let (after, (cycles_after, powered_after), wear_after) = counted(&mut host.device, now);
            assert_eq!((cycles, cycles_after), (round, round + 1));
            assert!(powered_after >= powered && wear_after > wear - 0.01, "{powered_after} {wear_after} of {wear}");
            let named = |counters: &Counters| {
                [counters.host.named(), counters.flash.map_or_else(Vec::new, |flash| flash.named())].concat()
            };
            for ((name, before), (_, after)) in named(&before).into_iter().zip(named(&after)) {
                assert!(after >= before, "{name}: {after} after {before}");
            }
            host.device.check_books().unwrap();
            host.check();
        }
        // Once it is closed, it is all in the state.
        let now = host.now;
        host.device.put_away(now);
        host.device.take_image().expect("it was written").close().unwrap();
        assert!(Image::inspect(&path).unwrap().header.totals.is_none());
    }
}

/// Nor does the drive forget its wear.
#[test]
fn after_a_secure_erase_nobody_finds_the_bytes_in_the_image() {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (die.geometry.blocks_per_plane, die.geometry.pages_per_block) = (40, 16);
    (drive.flash.dies, drive.flash.exact_spare_per_10000) = (4, None);
    drive.capacity_bytes = 1600 * UNIT_BYTES;
    for supports_trim in [true, false] {
        drive.supports_trim = supports_trim;
        let new_drive =
            || -> Box<dyn Device> { Box::new(Ssd::new("small", &drive, &die, 1).expect("it can be built")) };
        let path = path("erased.ssd");
        let mut device = begin(&path, new_drive(), ContentOptions::default());
        let payload = device.insert(vec![0xA7; 64 << 10]);
        device.submit(0, Request::write(1, 0, 64 << 10).with_payload(payload)).expect("it is within the device");
        let now = device.advance_to_completion(Nanos::MAX / 2, &mut Vec::new());
        let holds = |path: &Path| std::fs::read(path).unwrap().windows(64).any(|bytes| bytes == [0xA7; 64]);
        assert!(holds(&path));
        device.security().expect("it has the commands").secure_erase(now + 1_000_000_000);
        assert!(!holds(&path) && device.image_error().is_none());
        // The process is killed.
        drop(device);
        let (mut device, _) = again(&path, new_drive(), ContentOptions::default()).expect("it fits");
        assert_eq!(device.store().stored_pages(), 0);
        assert_eq!((device.counters().host.writes, device.power_history(0).map(|history| history.0)), (1, Some(2)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(31), failure_persistence: None,
        ..ProptestConfig::with_cases(15) })]

    /// With commands under way, and once the power is back; without it there is none. The drive itself goes on.
    #[test]
    fn a_copy_of_a_drive_goes_on_with_its_bytes_and_its_wear(choice in any_drive(), without_power in any::<bool>()) {
        if let Some((drive, die)) = choice.build() {
            let new_drive = || -> Box<dyn Device> {
                Box::new(Ssd::new("small", &drive, &die, choice.seed).expect("it can be built"))
            };
            let rng = Rng::new(choice.seed).stream("host");
            let paths = [path("copied.ssd"), path("copy.ssd")];
            let mut host = Host::new(begin(&paths[0], new_drive(), ContentOptions::default()), rng.clone(), 0, None);
            host.work(200);
            if without_power {
                host.device.stand_by(host.now);
                host.device.cut(host.now);
                prop_assert!(host.device.copy_to_save(host.now).is_none());
                host.now = host.device.restore(host.now);
            }
            for tag in 0..6 {
                let payload = host.device.insert(vec![251; UNIT_BYTES as usize]);
                let write = Request::write(tag, tag % 3 * UNIT_BYTES, UNIT_BYTES).with_payload(payload);
                host.device.submit(host.now, write).expect("it is within the device");
            }
            let copy = host.device.copy_to_save(host.now).expect("it can be copied");
            drop(std::fs::remove_file(&paths[1]));
            let mut image = Image::create(&paths[1], "small", 8, host.device.store(), None).expect("it can be written");
            let written = host.device.counters().host.write_bytes;
            image.append_state(&copy.save()).and_then(|()| image.close()).expect("it can be written");
            let (device, now) = again(&paths[1], new_drive(), ContentOptions::default()).expect("it fits");
            prop_assert!(device.counters().host.write_bytes >= written);
            let mut heir = Host::new(device, rng, now, Some(host.bytes.clone()));
            heir.check();
            heir.work(50);
            heir.check();
            heir.device.check_books().expect("the books balance");
            // The one that was copied knows nothing of it.
            let mut done = Vec::new();
            while done.len() < 6 {
                host.now = host.device.advance_to_completion(Nanos::MAX / 2, &mut done);
            }
            host.bytes[..3].fill(Some(251));
            host.check();
        }
    }
}

/// Whatever value of a drive is another one: it is refused, or every page reads as it was, or with an error. How many were refused,
/// and how many taken.
fn with_other_values(choice: &DrawnDrive) -> [u32; 2] {
    let [mut refused, mut taken] = [0; 2];
    let Some((drive, die)) = choice.build() else { return [0; 2] };
    let new_drive =
        || -> Box<dyn Device> { Box::new(Ssd::new("small", &drive, &die, choice.seed).expect("it can be built")) };
    let mut rng = Rng::new(choice.seed).stream("nonsense");
    let path = path("nonsense-state.ssd");
    let device = begin(&path, new_drive(), ContentOptions::default());
    let mut host = Host::new(device, rng.stream("host"), 0, None);
    host.work(150);
    host.device.put_away(host.now);
    host.device.take_image().expect("it was written").close().expect("it can be written");
    let whole = Image::inspect(&path).expect("it was closed");
    let pages = host.bytes.len() as u64;
    let saved = whole.state.expect("it was saved").saved(pages).expect("it can be read");
    for _ in 0..5 {
        let Some(spoilt) = altered_drive(&saved, false, &mut rng) else { continue };
        drop(std::fs::remove_file(&path));
        let mut image = Image::create(&path, "small", 7, &whole.store, None).expect("it can be written");
        image.append_state(&spoilt).and_then(|()| image.close()).expect("it can be written");
        let Ok((device, now)) = again(&path, new_drive(), ContentOptions::default()) else {
            refused += 1;
            continue;
        };
        taken += 1;
        let mut heir = Host::new(device, rng.stream("host"), now, Some(host.bytes.clone()));
        heir.check();
        heir.work(40);
        heir.now = heir.device.stand_by(heir.now);
        heir.check();
    }
    [refused, taken]
}

#[test]
fn bytes_beside_a_drive_that_is_nonsense_are_never_wrong() {
    let config =
        ProptestConfig { rng_seed: RngSeed::Fixed(29), failure_persistence: None, ..ProptestConfig::with_cases(10) };
    let of_all = Cell::new([0; 2]);
    let case = |choice| {
        let ([refused, taken], [r, t]) = (of_all.get(), with_other_values(&choice));
        of_all.set([refused + r, taken + t]);
        Ok(())
    };
    TestRunner::new(config).run(&any_drive(), case).unwrap_or_else(|e| panic!("{e}"));
    let [refused, taken] = of_all.get();
    assert!(refused > 0 && taken > 0, "{refused} refused, {taken} taken");
}

/// A drive without a journal forgets a trim in a cut, and counts its writes on from the page that came back.
#[test]
fn what_is_flushed_after_a_trim_that_was_forgotten_is_there_after_the_next_cut() {
    for (attached_again, limit) in [(true, 512 << 20), (false, 0)] {
        let path = path("forgotten-trim.ssd");
        let options = ContentOptions { superseded_limit_bytes: limit, ..ContentOptions::default() };
        let drive = || Box::new(small_drive());
        let mut device = begin(&path, drive(), options);
        let mut now = 0;
        let run = |device: &mut ContentDevice, now: &mut Nanos, request: Request, byte: u8| {
            let data = (request.op != Op::Trim).then(|| device.insert(vec![byte; 1 << 20]));
            device.submit(*now, Request { payload: data, ..request }).unwrap();
            let mut done = Vec::new();
            *now = device.advance_to_completion(Nanos::MAX / 2, &mut done);
            device.submit(*now, Request::flush(2)).unwrap();
            *now = device.advance_to_completion(Nanos::MAX / 2, &mut done);
            assert!(done.iter().all(|c| c.status == ssdlab_device::Status::Ok), "{done:?}");
            let last = data.map(|id| device.take(id));
            last.map(|bytes| (bytes[0], bytes[(1 << 20) - 1]))
        };
        run(&mut device, &mut now, Request::write(1, 0, 1 << 20), 0xA1);
        run(&mut device, &mut now, Request::new(1, Op::Trim, 0, 1 << 20), 0);
        if attached_again {
            device.put_away(now);
            device.take_image().unwrap().close().unwrap();
            (device, now) = again(&path, drive(), options).unwrap();
        }
        device.cut(now);
        now = device.restore(now);
        run(&mut device, &mut now, Request::write(1, 0, 1 << 20), 0xB2);
        device.cut(now);
        _ = device.restore(now);
        assert_eq!((device.store().lost().len(), device.store().page(7).map(|page| page[5])), (0, Some(0xB2)));
        device.check_books().unwrap();
    }
}

/// The second write has another number than the first, although a trim came between them: what came back is told from it.
#[test]
fn a_write_behind_a_trim_that_a_cut_takes_is_not_taken_for_the_one_before_it() {
    let path = path("trimmed-and-rewritten.ssd");
    let options = ContentOptions::default();
    let mut device = begin(&path, Box::new(small_drive()), options);
    let mut now = 0;
    for attached_again in [false, true] {
        if attached_again {
            device.put_away(now);
            device.take_image().unwrap().close().unwrap();
            (device, now) = again(&path, Box::new(small_drive()), options).unwrap();
        }
        for (op, byte) in [(Op::Write, Some(0xA1)), (Op::Flush, None), (Op::Trim, None), (Op::Write, Some(0xB2))] {
            let payload = byte.map(|byte| device.insert(vec![byte; 8192]));
            let bytes = if op == Op::Flush { 0 } else { 8192 };
            device.submit(now, Request { payload, ..Request::new(1, op, 0, bytes) }).unwrap();
            let mut done = Vec::new();
            now = device.advance_to_completion(Nanos::MAX / 2, &mut done);
            assert_eq!(done[0].status, Status::Ok);
            payload.into_iter().for_each(|id| drop(device.take(id)));
        }
        assert_eq!(device.store().page(1).map(|page| page[7]), Some(0xB2));
        device.cut(now);
        now = device.restore(now);
        let reverted = device.after_cut().expect("it was cut").reverted;
        assert_eq!((device.store().page(1).map(|page| page[7]), reverted), (Some(0xA1), 2));
        device.check_books().unwrap();
    }
}

/// Of a drive that maps several pages as one, each is written once, however the pages lie in them: what it holds is what is known
/// of it, and a cut loses nothing.
#[test]
fn what_is_laid_out_on_larger_units_outlasts_a_cut() {
    let (mut drive, mut die) = (ideal_drive(), ideal_die());
    (drive.mapping.unit_kib, die.geometry.page_bytes) = (16, 16384);
    let mut inner = Ssd::new("coarse", &drive, &die, 1).expect("it can be built");
    let mut store = Store::new(drive.capacity_bytes);
    let there = [1, 3, 4, 5, 11, 40];
    for page in there {
        store.replace(page, Version { number: 1, page: page_of(&[page as u8; 4096]) });
    }
    let ready = lay_out(&mut inner, &mut store, 0, &|| true).unwrap();
    let mut device = ContentDevice::with_store(Box::new(inner), ContentOptions::default(), store);
    device.cut(ready);
    device.restore(ready);
    assert_eq!(device.after_cut(), Some(AfterCut::default()));
    assert!(there.iter().all(|&page| device.store().page(page).is_some_and(|bytes| bytes[9] == page as u8)));
    assert_eq!(device.store().lost().len(), 0);
}
