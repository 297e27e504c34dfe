//! A drive that hosts lock: what they may read and write, and what an erase does to requests that come meanwhile.

use std::path::{Path, PathBuf};
use std::process::Command;

use ssdlab_attach::client::{Client, Step};
use ssdlab_attach::nbd::NbdClient;
use ssdlab_attach::nbd::words::*;
use ssdlab_attach::output::Output;
use ssdlab_attach::request::{DriveError, DriveRequest, Started};
use ssdlab_attach::scsi::words::{GET_LBA_STATUS, SECURITY_PROTOCOL_OUT, SERVICE_ACTION_IN_16};
use ssdlab_attach::scsi::{Command as ScsiCommand, LogicalUnit, Progress, Sense};
use ssdlab_attach::{Drive, Export, Lock};
use ssdlab_contents::{ContentDevice, ContentOptions, Image, ImageContents, MediaKey};
use ssdlab_core::{Cause, MILLISECOND, Nanos, Op};
use ssdlab_device::{Device, Security};
use ssdlab_opal::{Geometry, Identity, Tper};
use ssdlab_testkit::opal::*;

use crate::steady::Steady;

/// How long a command of the device takes, and a change of its key.
const LATENCY: Nanos = 1000;
const ERASE: Nanos = 20 * MILLISECOND;

struct Bench {
    drive: Drive,
    now: Nanos,
    cookie: u64,
}

impl Bench {
    fn new() -> Bench {
        Bench::serving(false)
    }

    fn serving(read_only: bool) -> Bench {
        Bench::of(Steady::new(LATENCY, true), read_only)
    }

    fn of(device: Steady, read_only: bool) -> Bench {
        let device = device.erasing(ERASE, true).telling();
        let sectors = device.info().capacity_bytes / 512;
        let export = Export::new(device.info(), read_only);
        let device = ContentDevice::new(Box::new(device), ContentOptions::default());
        let geometry = Geometry { sectors, sector_bytes: 512, alignment_sectors: 8 };
        let tper = Tper::new(Identity::of("steady", 1), geometry);
        Bench { drive: Drive::new(device, export, 1 << 30).with_lock(Lock::new(tper)), now: 0, cookie: 0 }
    }

    fn receive(&mut self) -> Vec<u8> {
        self.drive.security_receive(self.now, 1, COM_ID, 4096).unwrap()
    }

    fn send(&mut self, session: u32, tokens: &[u8]) {
        let host = if session == 0 { 0 } else { 0x41 };
        self.drive.security_send(self.now, 1, COM_ID, &packet(session, host, tokens)).unwrap();
    }

    fn say(&mut self, session: u32, tokens: &[u8]) -> Vec<u8> {
        self.send(session, tokens);
        self.wait();
        let answer = self.receive();
        answer[56..56 + u32::from_be_bytes(answer[52..56].try_into().unwrap()) as usize].to_vec()
    }

    /// A session; its number.
    fn begin(&mut self, sp: u64, authority: u64, pin: &[u8]) -> u32 {
        let parameters = [n(0x41), u(sp), n(1), name(n(0), b(pin)), name(n(3), u(authority))];
        let answer = self.say(0, &call(0xff, 0xff02, &parameters));
        assert_eq!(status(&answer), 0);
        u32::from(u16::from_be_bytes([answer[23], answer[24]]))
    }

    fn ok(&mut self, session: u32, tokens: &[u8]) {
        assert_eq!(status(&self.say(session, tokens)), 0);
    }

    fn set(&mut self, session: u32, object: u64, columns: &[(u64, Vec<u8>)]) {
        self.ok(session, &call(object, SET, &[values(columns)]));
    }

    /// Activates locking; an administrator's session of it.
    fn own(&mut self) -> u32 {
        let msid = Identity::of("steady", 1).msid;
        let session = self.begin(ADMIN_SP, SID, msid.as_bytes());
        self.ok(session, &call(LOCKING_SP, ACTIVATE, &[]));
        assert_eq!(self.say(session, &[0xfa]), [0xfa]);
        self.begin(LOCKING_SP, ADMIN1, msid.as_bytes())
    }

    fn start(&mut self, op: Op, at: u64, data: &[u8]) -> Result<Started, DriveError> {
        self.cookie += 1;
        let data = data.to_vec();
        let request = DriveRequest::new(1, self.cookie, op, at, if op == Op::Flush { 0 } else { 4096 });
        self.drive.start(self.now, DriveRequest { data, ..request })
    }

    /// Until nothing is under way.
    fn wait(&mut self) -> Vec<Result<Vec<u8>, DriveError>> {
        let mut outcomes = Vec::new();
        self.drive.advance(self.now, &mut outcomes);
        while self.drive.under_way() > 0 {
            self.now = self.drive.next_event().expect("something will happen").max(self.now);
            self.drive.advance(self.now, &mut outcomes);
        }
        outcomes.into_iter().map(|outcome| outcome.result.map(|pieces| pieces.concat())).collect()
    }

    fn run(&mut self, op: Op, at: u64, data: &[u8]) -> Result<Vec<u8>, DriveError> {
        self.start(op, at, data)?;
        self.wait().remove(0)
    }
}

#[test]
fn what_is_locked_is_neither_read_nor_changed() {
    let mut bench = Bench::new();
    let session = bench.own();
    bench.run(Op::Write, 8192, &[7; 4096]).unwrap();
    bench.set(session, GLOBAL_RANGE, &[(5, n(1)), (6, n(1)), (7, n(1)), (8, n(1))]);
    bench.set(session, RANGE1, &[(3, n(800)), (4, n(800))]);
    for op in [Op::Read, Op::Write, Op::WriteZeroes, Op::Trim] {
        assert_eq!(bench.run(op, 8192, &[]), Err(DriveError::Locked), "{op:?}");
        assert_eq!(bench.run(op, 799 * 512, &[]), Err(DriveError::Locked), "{op:?} on the edge");
        assert!(bench.run(op, 800 * 512, &[]).is_ok(), "{op:?} beside");
    }
    assert_eq!(bench.run(Op::Flush, 0, &[]), Ok(vec![]));
    bench.set(session, GLOBAL_RANGE, &[(7, n(0))]);
    assert_eq!(bench.run(Op::Read, 8192, &[]), Ok(vec![7; 4096]));
    assert_eq!(bench.run(Op::Write, 8192, &[8; 4096]), Err(DriveError::Locked));
}

#[test]
fn a_power_cut_locks_again_and_ends_sessions() {
    let mut bench = Bench::new();
    let session = bench.own();
    bench.set(session, GLOBAL_RANGE, &[(5, n(1)), (6, n(1))]);
    bench.run(Op::Write, 0, &[7; 4096]).unwrap();
    bench.drive.cut(bench.now);
    assert_eq!(bench.drive.security_send(bench.now, 1, COM_ID, &[]), Err(DriveError::NoPower));
    bench.now = bench.drive.restore(bench.now);
    assert_eq!(bench.run(Op::Read, 0, &[]), Err(DriveError::Locked));
    bench.send(session, &[0xfa]);
    assert_eq!(bench.receive()[16..20], [0; 4], "nobody answers in a session that is over");
}

#[test]
fn the_shadow_is_read_before_the_drive() {
    let mut bench = Bench::new();
    let session = bench.own();
    bench.run(Op::Write, 4096, &[7; 4096]).unwrap();
    bench.ok(session, &call(MBR, SET, &[name(n(0), n(4096)), name(n(1), b(b"who are you?"))]));
    bench.set(session, MBR_CONTROL, &[(1, n(1))]);
    let before = bench.now;
    let found = bench.run(Op::Read, 4096, &[]).unwrap();
    assert_eq!((found.len(), &found[..13], bench.now - before), (4096, &b"who are you?\0"[..], LATENCY));
    assert_eq!(bench.run(Op::Write, 4096, &[9; 4096]), Err(DriveError::Locked));
    // Of what nobody wants nothing is copied.
    let verified = DriveRequest { cache_only: true, ..DriveRequest::new(1, 9, Op::Read, 0, 128 << 20) };
    bench.drive.start(bench.now, verified).unwrap();
    assert_eq!(bench.wait(), [Ok(vec![])]);
    bench.set(session, MBR_CONTROL, &[(2, n(1))]);
    assert_eq!(bench.run(Op::Read, 4096, &[]), Ok(vec![7; 4096]));
}

/// A read of it takes as long as one of the medium, more parts of it than are sent at once, and fails no more than the first.
#[test]
fn what_a_cut_has_destroyed_under_the_shadow_does_not_matter_to_who_reads_the_shadow() {
    let mut bench = Bench::of(Steady::new(LATENCY, true).losing(2), false);
    let session = bench.own();
    let first = |found: Result<Vec<u8>, DriveError>| found.map(|bytes| bytes.first().copied());
    bench.run(Op::Write, 8192, &[6; 4096]).unwrap();
    bench.set(session, MBR_CONTROL, &[(1, n(1))]);
    bench.drive.cut(bench.now);
    bench.now = bench.drive.restore(bench.now);
    bench.run(Op::Read, 0, &[]).unwrap();
    let before = bench.now;
    bench.drive.start(bench.now, DriveRequest::new(1, 9, Op::Read, 0, 40 << 20)).unwrap();
    assert!(bench.wait() == [Ok(vec![0; 40 << 20])]);
    assert_eq!((bench.now - before, bench.drive.served[Op::Read as usize].errors), (2 * LATENCY, 0));
    let session = bench.begin(LOCKING_SP, ADMIN1, Identity::of("steady", 1).msid.as_bytes());
    bench.set(session, MBR_CONTROL, &[(2, n(1))]);
    assert_eq!(first(bench.run(Op::Read, 8192, &[])), Err(DriveError::Medium));
    // Nor does a new key make it readable, until it is written.
    bench.set(session, RANGE1, &[(3, n(0)), (4, n(800))]);
    assert_eq!(first(bench.run(Op::Read, 8192, &[])), Err(DriveError::Medium));
    bench.run(Op::Write, 8192, &[7; 4096]).unwrap();
    assert_eq!(first(bench.run(Op::Read, 8192, &[])), Ok(Some(7)));
}

/// An erase waits for what is under way, and what comes meanwhile waits for the erase.
#[test]
fn a_new_key_empties_its_range_in_order_with_the_requests_around_it() {
    for everything in [false, true] {
        let mut bench = Bench::new();
        let session = bench.own();
        bench.set(session, RANGE1, &[(3, n(800)), (4, n(800))]);
        bench.run(Op::Write, 0, &[1; 4096]).unwrap();
        bench.run(Op::Write, 800 * 512, &[2; 4096]).unwrap();
        let began = bench.now;
        bench.start(Op::Write, 808 * 512, &[3; 4096]).unwrap();
        let method = if everything { call(1, REVERT_SP, &[]) } else { call(KEY1, GEN_KEY, &[]) };
        bench.send(session, &method);
        bench.start(Op::Write, 816 * 512, &[4; 4096]).unwrap();
        bench.start(Op::Read, 808 * 512, &[]).unwrap();
        assert_eq!((bench.drive.under_way(), &bench.receive()[8..12]), (4, &[0, 0, 0, 1][..]));
        let outcomes = bench.wait();
        assert_eq!(bench.now, began + LATENCY + ERASE + LATENCY);
        assert_eq!(outcomes, [Ok(vec![]), Ok(vec![]), Ok(vec![0; 4096])]);
        // Those that waited for the erase have taken that long, and say so.
        for slow in bench.drive.slow().take(2) {
            let waited = (slow.latency, slow.breakdown.get(Cause::Queue), slow.breakdown.sum());
            assert_eq!(waited, (LATENCY + ERASE + LATENCY, LATENCY + ERASE, slow.latency), "{:?}", slow.op);
        }
        assert_ne!(bench.receive()[16..20], [0; 4], "it is answered");
        assert_eq!(bench.run(Op::Read, 816 * 512, &[]), Ok(vec![4; 4096]));
        assert_eq!(bench.run(Op::Read, 800 * 512, &[]), Ok(vec![0; 4096]));
        assert_eq!(bench.run(Op::Read, 0, &[]), Ok(vec![if everything { 0 } else { 1 }; 4096]));
    }
}

#[test]
fn an_erase_that_the_power_ends_has_not_happened_and_what_waited_is_never_answered() {
    for everything in [false, true] {
        let mut bench = Bench::new();
        let session = bench.own();
        bench.set(session, RANGE1, &[(3, n(800)), (4, n(800)), (5, n(1))]);
        bench.run(Op::Write, 0, &[1; 4096]).unwrap();
        bench.run(Op::Flush, 0, &[]).unwrap();
        let method = if everything { call(1, REVERT_SP, &[]) } else { call(0x806_0000_0001, GEN_KEY, &[]) };
        bench.send(session, &method);
        bench.drive.advance(bench.now, &mut Vec::new());
        bench.start(Op::Read, 0, &[]).unwrap();
        bench.now += ERASE - 1;
        let mut outcomes = Vec::new();
        bench.drive.advance(bench.now, &mut outcomes);
        assert!(outcomes.is_empty());
        let lost: Vec<_> =
            bench.drive.cut(bench.now).into_iter().map(|lost| (lost.cookie, lost.result.err())).collect();
        assert_eq!(lost, [(bench.cookie, Some(DriveError::NoPower))]);
        bench.now = bench.drive.restore(bench.now);
        assert_eq!((bench.drive.under_way(), bench.run(Op::Read, 0, &[])), (0, Ok(vec![1; 4096])));
        assert_eq!(bench.run(Op::Read, 800 * 512, &[]), Err(DriveError::Locked), "and locking is active still");
    }
}

/// By the logical unit: its next host finds a drive that listens.
#[test]
fn a_reset_during_an_erase_leaves_neither_session_nor_answer() {
    let mut bench = Bench::new();
    let session = bench.own();
    bench.run(Op::Write, 0, &[1; 4096]).unwrap();
    bench.send(session, &call(1, REVERT_SP, &[]));
    bench.drive.advance(bench.now, &mut Vec::new());
    LogicalUnit::new(&bench.drive).reset(&mut bench.drive);
    assert_eq!(bench.receive()[8..20], [0; 12]);
    assert_eq!(bench.drive.under_way(), 1, "the erase goes on");
    bench.wait();
    assert_eq!(bench.receive()[8..20], [0; 12]);
    assert_eq!(status(&bench.say(0, &call(0xff, 0xff01, &[]))), 0);
    assert_eq!(bench.run(Op::Read, 0, &[]), Ok(vec![0; 4096]));
    assert!(!bench.drive.lock().is_some_and(|lock| lock.tper().is_activated()));
}

/// A drive with an image of this name.
fn with_image(name: &str, key: bool) -> (Bench, PathBuf) {
    with_image_in(&folder(name), key)
}

/// An empty one.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn with_image_in(folder: &Path, key: bool) -> (Bench, PathBuf) {
    let path = folder.join("drive.ssd");
    let mut bench = Bench::new();
    let key = key.then(|| MediaKey::random(0).unwrap());
    let image = Image::create(&path, "steady", 7, bench.drive.device.store(), key).unwrap();
    bench.drive.device.set_image(image);
    bench.drive.device.keep_state(0);
    (bench, path)
}

#[test]
fn an_erase_that_the_image_does_not_take_has_failed_and_nothing_is_set_afterwards() {
    let (mut bench, path) = with_image("not-erased", true);
    let session = bench.own();
    bench.set(session, RANGE1, &[(3, n(800)), (4, n(800))]);
    bench.run(Op::Write, 800 * 512, &[0xa7; 4096]).unwrap();
    // Something is in the way of the new file.
    let mut new = path.clone().into_os_string();
    new.push(".ssdlab-new");
    std::fs::create_dir(&new).unwrap();
    // The key of the global range is that of all the rest of the image, too.
    assert_eq!(status(&bench.say(session, &call(0x806_0000_0001, GEN_KEY, &[]))), FAIL);
    assert!(bench.drive.device.image_error().is_some());
    let pin = call(0xb_0001_0001, SET, &[values(&[(3, b(b"new pin"))])]);
    assert_eq!(status(&bench.say(session, &pin)), FAIL);
}

/// What an image holds now, and the locks of a drive that goes on with it.
fn kept(path: &Path) -> (ImageContents, Tper) {
    let copy = path.with_extension("copy");
    std::fs::copy(path, &copy).unwrap();
    let contents = Image::inspect(&copy).unwrap();
    std::fs::remove_file(&copy).unwrap();
    let geometry = Geometry { sectors: contents.header.capacity_bytes / 512, sector_bytes: 512, alignment_sectors: 8 };
    let mut tper = Tper::new(Identity::of("steady", 1), geometry);
    tper.load(contents.reserved.pages().map(|(number, page)| (number, page.to_vec()))).unwrap();
    (contents, tper)
}

/// Once there is space again, only the data are gone. The test runs itself where a small file system is mounted.
#[test]
fn what_an_erase_without_space_would_have_set_is_not_set_once_there_is_space() {
    const NAME: &str = "locking::what_an_erase_without_space_would_have_set_is_not_set_once_there_is_space";
    let small = Path::new(env!("CARGO_TARGET_TMPDIR")).join("erase-without-space");
    if small.join("is-small").exists() {
        return without_space(&small);
    }
    let small = folder("erase-without-space");
    let mount = |line: &str| {
        let line = format!("mount -t tmpfs -o size=2m none \"$0\" {line}");
        Command::new("unshare")
            .args(["-rm", "sh", "-c", &line])
            .arg(&small)
            .arg(std::env::current_exe().unwrap())
            .output()
    };
    if !mount("").is_ok_and(|output| output.status.success()) {
        eprintln!("not tested: this machine does not let its users mount file systems of their own");
        return;
    }
    let output = mount(&format!("&& touch \"$0/is-small\" && \"$1\" --exact {NAME}")).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn without_space(small: &Path) {
    let keeps_global = name(vec![0x83, 6, 0, 0], n(1));
    let methods =
        [call(1, REVERT_SP, &[keeps_global]), call(1, REVERT_SP, &[]), call(RANGE1, SET, &[values(&[(3, n(1600))])])];
    for method in methods {
        let (mut bench, path) = with_image_in(small, true);
        let session = bench.own();
        bench.ok(session, &call(DATA_STORE, SET, &[name(n(0), n(0)), name(n(1), b(b"kept"))]));
        bench.set(session, RANGE1, &[(3, n(800)), (4, n(800)), (5, n(1)), (7, n(1))]);
        for page in 0..20 {
            bench.run(Op::Write, (100 + page) * 4096, &[0xa7; 4096]).unwrap();
        }
        let filler = small.join("filler");
        assert!(std::fs::write(&filler, vec![1; 4 << 20]).is_err(), "it is larger than the file system");
        assert_eq!(status(&bench.say(session, &method)), FAIL);
        assert!(bench.drive.device.image_is_full());
        // Nor does anything else hold, but that locks are opened.
        let stored = call(DATA_STORE, SET, &[name(n(0), n(0)), name(n(1), b(b"lost"))]);
        assert_eq!(status(&bench.say(session, &stored)), FAIL);
        assert_eq!(status(&bench.say(session, &call(RANGE1, SET, &[values(&[(6, n(1)), (7, n(0))])]))), FAIL);
        assert_eq!(bench.run(Op::Read, 800 * 512, &[0; 4096]), Err(DriveError::Locked));
        bench.set(session, RANGE1, &[(7, n(0))]);
        bench.run(Op::Read, 800 * 512, &[0; 4096]).unwrap();
        std::fs::remove_file(&filler).unwrap();
        bench.drive.device.catch_up_image();
        let (contents, tper) = kept(&path);
        assert!(tper.is_activated() && tper.is_locked());
        assert!(contents.reserved.pages().any(|page| page.1.starts_with(b"kept")));
        assert!(contents.store.page(100).is_none(), "the data are gone");
        drop(bench);
        std::fs::remove_file(&path).unwrap();
    }
}

/// The process may end between any two steps: the erase and what is kept with it come into the image in one.
#[test]
fn a_revert_is_in_the_image_whole_with_nothing_of_the_old_owner() {
    for everything in [true, false] {
        let (mut bench, path) = with_image(if everything { "reverted" } else { "kept-global" }, false);
        let session = bench.own();
        let secret = b"a key that the old owner had wrapped";
        bench.ok(session, &call(DATA_STORE, SET, &[name(n(0), n(0)), name(n(1), b(secret))]));
        bench.set(session, RANGE1, &[(3, n(800)), (4, n(800)), (5, n(1)), (6, n(1))]);
        bench.run(Op::Write, 800 * 512, &[0xa7; 4096]).unwrap();
        let kept = |path: &Path| {
            let (contents, tper) = kept(path);
            (contents.store.page(100).is_some(), tper.is_activated(), tper.is_locked())
        };
        let keep_global = name(vec![0x83, 6, 0, 0], n((!everything).into()));
        bench.send(session, &call(1, REVERT_SP, &[keep_global]));
        // Whether the ComID is in use: asked while the erase waits for its turn.
        let id = COM_ID.to_be_bytes();
        bench.drive.security_send(bench.now, 2, COM_ID, &[id[0], id[1], 0, 0, 0, 0, 0, 1]).unwrap();
        assert_eq!(kept(&path), (true, true, true), "not begun");
        bench.drive.advance(bench.now, &mut Vec::new());
        assert_eq!(kept(&path), (true, true, true), "not begun");
        bench.now += ERASE;
        if everything {
            // What the device does by itself, before the rest of the server hears of it.
            bench.drive.device.advance(bench.now, &mut Vec::new());
            assert_eq!(kept(&path), (false, false, false), "done");
        }
        bench.wait();
        assert_eq!(kept(&path), (false, false, false), "done");
        assert!(!std::fs::read(&path).unwrap().windows(secret.len()).any(|bytes| bytes == secret));
    }
}

/// What an erase would have brought that the power has ended is not brought by the next one.
#[test]
fn a_revert_that_did_not_happen_does_not_come_with_a_later_key() {
    let (mut bench, path) = with_image("not-reverted", true);
    let session = bench.own();
    bench.set(session, RANGE1, &[(3, n(800)), (4, n(800)), (5, n(1))]);
    bench.ok(session, &call(DATA_STORE, SET, &[name(n(0), n(0)), name(n(1), b(b"kept"))]));
    let keeps_global = name(vec![0x83, 6, 0, 0], n(1));
    bench.send(session, &call(1, REVERT_SP, &[keeps_global]));
    bench.drive.advance(bench.now, &mut Vec::new());
    bench.now += ERASE - 1;
    bench.drive.cut(bench.now);
    bench.now = bench.drive.restore(bench.now);
    let session = bench.begin(LOCKING_SP, ADMIN1, Identity::of("steady", 1).msid.as_bytes());
    bench.ok(session, &call(KEY1, GEN_KEY, &[]));
    let (contents, tper) = kept(&path);
    assert!(tper.is_activated() && tper.is_locked());
    assert!(contents.reserved.pages().any(|page| page.1.starts_with(b"kept")));
}

/// The process may end at any time afterwards, without a further command.
#[test]
fn what_a_reset_sets_while_an_erase_is_under_way_is_in_the_image_when_that_has_ended() {
    let (mut bench, path) = with_image("reset-while-erasing", true);
    let session = bench.own();
    bench.set(session, RANGE1, &[(3, n(800)), (4, n(800)), (9, list(&[n(0), n(3)]))]);
    assert_eq!(bench.say(session, &[0xfa]), [0xfa]);
    let session = bench.begin(ADMIN_SP, SID, Identity::of("steady", 1).msid.as_bytes());
    // TPER_RESET has an effect.
    bench.set(session, 0x201_0003_0001, &[(8, n(1))]);
    assert_eq!(bench.say(session, &[0xfa]), [0xfa]);
    let session = bench.begin(LOCKING_SP, ADMIN1, Identity::of("steady", 1).msid.as_bytes());
    bench.send(session, &call(KEY1, GEN_KEY, &[]));
    bench.drive.advance(bench.now, &mut Vec::new());
    let pages = |bench: &Bench| bench.drive.lock().expect("it has locks").pages();
    let before = pages(&bench);
    bench.drive.security_send(bench.now, 2, 4, &[0; 512]).unwrap();
    bench.wait();
    assert_ne!(pages(&bench), before, "both locks are closed");
    let kept: Vec<_> = kept(&path).0.reserved.pages().map(|(number, page)| (number, Some(page.to_vec()))).collect();
    assert!(kept == pages(&bench));
}

/// A new key of a range is one header of the image: what others hold is neither read nor written for it.
#[test]
fn a_new_key_of_a_range_leaves_the_rest_of_the_image_alone() {
    let (mut bench, path) = with_image("own-key", true);
    let session = bench.own();
    bench.run(Op::Write, 0, &[1; 4096]).unwrap();
    bench.set(session, RANGE1, &[(3, n(800)), (4, n(800))]);
    bench.run(Op::Write, 800 * 512, &[2; 4096]).unwrap();
    bench.run(Op::Write, 1600 * 512, &[3; 4096]).unwrap();
    let before = std::fs::read(&path).unwrap();
    bench.ok(session, &call(KEY1, GEN_KEY, &[]));
    bench.run(Op::Write, 808 * 512, &[4; 4096]).unwrap();
    let after = std::fs::read(&path).unwrap();
    assert!(after[8192..].starts_with(&before[8192..]), "records are written behind those that there were");
    assert_ne!(after[..8192], before[..8192]);
    let read = |page: usize| {
        let copy = path.with_extension("copy");
        std::fs::copy(&path, &copy).unwrap();
        Image::inspect(&copy).unwrap().store.page(page as u32).map_or(0, |bytes| bytes[0])
    };
    assert_eq!([0, 100, 101, 200].map(read), [1, 0, 4, 3]);
}

/// What GET LBA STATUS tells from a block on: blocks of each stretch, and whether they are unmapped.
fn lba_status(bench: &mut Bench, lba: u64) -> Result<Vec<(u32, bool)>, Sense> {
    let mut unit = LogicalUnit::new(&bench.drive);
    let mut cdb = [0; 16];
    (cdb[0], cdb[1], cdb[12]) = (SERVICE_ACTION_IN_16, GET_LBA_STATUS, 0x10);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    let command = ScsiCommand { owner: 1, cookie: 1, lun: 0, cdb, data: Vec::new(), sends_none: false };
    let Progress::Done(answer) = unit.begin(bench.now, &mut bench.drive, command) else { panic!("it takes no time") };
    let told = answer.data.concat();
    let blocks = |found: &[u8]| (u32::from_be_bytes(found[8..12].try_into().unwrap()), found[12] == 1);
    answer.sense.map_or_else(|| Ok(told[8..].chunks_exact(16).map(blocks).collect()), Err)
}

#[test]
fn lba_status_of_what_may_not_be_read_is_refused_and_under_the_shadow_all_is_data() {
    let mut bench = Bench::new();
    let session = bench.own();
    bench.set(session, RANGE1, &[(3, n(800)), (4, n(800))]);
    bench.run(Op::Write, 4096, &[7; 4096]).unwrap();
    let global = Ok(vec![(8, true), (8, false), (784, true)]);
    assert_eq!((lba_status(&mut bench, 0), lba_status(&mut bench, 800)), (global.clone(), Ok(vec![(800, true)])));
    bench.set(session, RANGE1, &[(5, n(1)), (7, n(1))]);
    assert_eq!(lba_status(&mut bench, 0), global);
    for lba in [800, 1599] {
        assert_eq!(lba_status(&mut bench, lba), Err(Sense::of(DriveError::Locked, Op::Read)), "{lba}");
    }
    assert!(lba_status(&mut bench, 1600).is_ok());
    assert_eq!(lba_status(&mut bench, u64::MAX), Err(Sense::LBA_OUT_OF_RANGE));
    bench.set(session, MBR_CONTROL, &[(1, n(1))]);
    let data = Ok(vec![(800, false)]);
    assert_eq!((lba_status(&mut bench, 0), lba_status(&mut bench, 800)), (data.clone(), data));
}

/// A client of NBD that is through the handshake, and has agreed on `base:allocation`.
struct Nbd {
    client: NbdClient,
    out: Output,
}

impl Nbd {
    fn new(bench: &mut Bench) -> Nbd {
        let mut nbd = Nbd { client: NbdClient::new(1), out: Output::default() };
        let string = |text: &str| [&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat();
        let allocation = [string(""), vec![0, 0, 0, 1], string("base:allocation")].concat();
        let options = [
            (OPT_STRUCTURED_REPLY, vec![]),
            (OPT_SET_META_CONTEXT, allocation),
            (OPT_GO, [string(""), vec![0, 0]].concat()),
        ];
        let mut said = vec![0, 0, 0, 3];
        for (option, data) in options {
            said.extend([&OPTION_MAGIC.to_be_bytes()[..], &option.to_be_bytes()].concat());
            said.extend([&(data.len() as u32).to_be_bytes()[..], &data].concat());
        }
        nbd.say(bench, &said);
        nbd
    }

    /// What is answered at once.
    fn say(&mut self, bench: &mut Bench, bytes: &[u8]) -> Vec<u8> {
        self.client.space()[..bytes.len()].copy_from_slice(bytes);
        self.client.filled(bytes.len());
        while self.client.step(bench.now, &mut bench.drive, &mut self.out) == Step::Went {}
        self.out.take()
    }

    fn ask(&mut self, bench: &mut Bench, command: u16, offset_bytes: u64, length_bytes: u32) -> Vec<u8> {
        let head = [&REQUEST_MAGIC.to_be_bytes()[..], &[0, 0], &command.to_be_bytes(), &[0; 8]].concat();
        self.say(bench, &[&head[..], &offset_bytes.to_be_bytes(), &length_bytes.to_be_bytes()].concat())
    }
}

#[test]
fn block_status_of_what_stands_under_the_shadow_is_one_extent_of_data() {
    let mut bench = Bench::new();
    let session = bench.own();
    bench.run(Op::Write, 4096, &[7; 4096]).unwrap();
    let mut nbd = Nbd::new(&mut bench);
    let extents = |answer: &[u8]| -> Vec<(u32, u32)> {
        let pairs = answer[24..].chunks_exact(8);
        let u32_of = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
        pairs.map(|pair| (u32_of(&pair[..4]), u32_of(&pair[4..]))).collect()
    };
    let hole = STATE_HOLE | STATE_ZERO;
    let found = nbd.ask(&mut bench, CMD_BLOCK_STATUS, 0, 16_384);
    assert_eq!(extents(&found), [(4096, hole), (4096, 0), (8192, hole)]);
    bench.set(session, MBR_CONTROL, &[(1, n(1))]);
    let found = nbd.ask(&mut bench, CMD_BLOCK_STATUS, 0, 16_384);
    assert_eq!(extents(&found), [(16_384, 0)]);
}

/// What is locked while an erase is under way may not be once its turn has come.
#[test]
fn requests_of_nbd_wait_for_an_erase_that_ends_the_locks() {
    let mut bench = Bench::new();
    let session = bench.own();
    bench.set(session, RANGE1, &[(3, n(800)), (4, n(800)), (5, n(1)), (7, n(1))]);
    let mut nbd = Nbd::new(&mut bench);
    assert!(!nbd.ask(&mut bench, CMD_READ, 800 * 512, 4096).is_empty(), "it is locked");
    bench.send(session, &call(1, REVERT_SP, &[name(vec![0x83, 6, 0, 0], n(1))]));
    assert!(nbd.ask(&mut bench, CMD_READ, 800 * 512, 4096).is_empty());
    assert!(!nbd.ask(&mut bench, CMD_BLOCK_STATUS, 800 * 512, 4096).is_empty(), "that is told as it is now");
    assert!(matches!(&bench.wait()[..], [Ok(_)]));
}

/// Nothing of it is kept: whoever has the PIN can read.
#[test]
fn a_drive_that_is_served_read_only_can_be_unlocked_and_not_erased() {
    let mut bench = Bench::serving(true);
    let session = bench.own();
    bench.set(session, GLOBAL_RANGE, &[(5, n(1)), (7, n(1))]);
    assert_eq!(bench.run(Op::Read, 0, &[]), Err(DriveError::Locked));
    let global_key = 0x806_0000_0001;
    let set_up = call(RANGE1, SET, &[values(&[(3, n(800)), (4, n(800))])]);
    for method in [call(1, REVERT_SP, &[]), call(global_key, GEN_KEY, &[]), set_up] {
        assert_eq!(status(&bench.say(session, &method)), FAIL);
        assert_eq!(bench.drive.under_way(), 0);
    }
    assert_eq!(bench.run(Op::Read, 0, &[]), Err(DriveError::Locked));
    bench.set(session, GLOBAL_RANGE, &[(7, n(0))]);
    assert_eq!(bench.run(Op::Read, 0, &[]), Ok(vec![0; 4096]));
    assert_eq!(bench.run(Op::Write, 0, &[1; 4096]), Err(DriveError::NotPermitted));
}

/// Of a session, too: a cut after it is no clean one.
#[test]
fn a_command_of_a_security_protocol_wakes_a_drive_that_stands_by() {
    for (before, after) in [(false, false), (true, false), (false, true)] {
        let mut bench = Bench::new();
        let stand_by = DriveRequest { stands_by: true, ..DriveRequest::new(1, 1, Op::Flush, 0, 0) };
        bench.drive.start(bench.now, stand_by).unwrap();
        bench.drive.advance(bench.now, &mut Vec::new());
        let discovery = |bench: &mut Bench| drop(bench.drive.security_receive(bench.now, 1, 1, 512).unwrap());
        if before {
            discovery(&mut bench);
        }
        assert_eq!(bench.wait(), [Ok(vec![])]);
        if after {
            discovery(&mut bench);
        }
        let awake = before || after;
        assert_eq!(bench.drive.stands_by(), !awake);
        bench.drive.cut(bench.now);
        bench.drive.restore(bench.now);
        assert_eq!(bench.drive.device.unclean_shutdowns(), Some(u64::from(awake)));
    }
}

/// The device's own time does not pass at once meanwhile: a cut finds it at the erase.
#[test]
fn a_standby_begins_once_the_erase_of_every_block_has_ended() {
    for cut_after in [0, ERASE / 2, ERASE + LATENCY] {
        let mut bench = Bench::new();
        bench.drive.device.secure_erase(bench.now);
        let stand_by = DriveRequest { stands_by: true, ..DriveRequest::new(1, 1, Op::Flush, 0, 0) };
        bench.drive.start(bench.now, stand_by).unwrap();
        let mut outcomes = Vec::new();
        while bench.now < cut_after {
            bench.now = bench.drive.next_event().expect("it is at an erase").min(cut_after);
            bench.drive.advance(bench.now, &mut outcomes);
        }
        let is_over = cut_after > ERASE;
        assert_eq!((outcomes.len(), bench.drive.stands_by()), (usize::from(is_over), is_over), "after {cut_after} ns");
        assert_eq!(bench.drive.device_time(bench.now), bench.now, "after {cut_after} ns");
        bench.drive.cut(bench.now);
        bench.drive.restore(bench.now);
        assert_eq!(bench.drive.device.unclean_shutdowns(), Some(u64::from(!is_over)), "after {cut_after} ns");
    }
}

/// To start one is to wake it: a cut after that is no clean one. To ask whether it is there is not.
#[test]
fn start_wakes_a_drive_that_stands_by_and_test_unit_ready_does_not() {
    for (cdb, wakes) in [([0x1b, 0, 0, 0, 1, 0], true), ([0x1b, 0, 0, 0, 0x10, 0], true), ([0; 6], false)] {
        let mut bench = Bench::new();
        let mut unit = LogicalUnit::new(&bench.drive);
        let stand_by = DriveRequest { stands_by: true, ..DriveRequest::new(1, 1, Op::Flush, 0, 0) };
        bench.drive.start(bench.now, stand_by).unwrap();
        assert_eq!(bench.wait(), [Ok(vec![])]);
        let mut command =
            ScsiCommand { owner: 1, cookie: 1, lun: 0, cdb: [0; 16], data: Vec::new(), sends_none: false };
        command.cdb[..6].copy_from_slice(&cdb);
        assert!(matches!(unit.begin(bench.now, &mut bench.drive, command), Progress::Done(a) if a.sense.is_none()));
        assert_eq!(bench.drive.stands_by(), !wakes);
        bench.drive.cut(bench.now);
        bench.drive.restore(bench.now);
        assert_eq!(bench.drive.device.unclean_shutdowns(), Some(u64::from(wakes)));
    }
}

#[test]
fn a_packet_before_the_answer_to_the_last_is_fetched_is_out_of_sequence() {
    let mut bench = Bench::new();
    let mut unit = LogicalUnit::new(&bench.drive);
    let mut cdb = [0; 16];
    let id = COM_ID.to_be_bytes();
    // One block of 512 bytes.
    cdb[..10].copy_from_slice(&[SECURITY_PROTOCOL_OUT, 1, id[0], id[1], 0x80, 0, 0, 0, 0, 1]);
    for expected in [None, Some(Sense::new(5, 0x2c, 0))] {
        let data = packet(0, 0, &call(0xff, 0xff01, &[]));
        let command = ScsiCommand { owner: 1, cookie: 1, lun: 0, cdb, data, sends_none: false };
        let Progress::Done(answer) = unit.begin(bench.now, &mut bench.drive, command) else {
            panic!("it takes no time")
        };
        assert_eq!(answer.sense, expected);
    }
}
