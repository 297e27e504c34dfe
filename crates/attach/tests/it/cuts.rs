//! The plug is pulled.

use std::sync::Mutex;
use std::time::Duration;

use ssdlab_attach::nbd::words::*;
use ssdlab_attach::{CutPlan, OnCut, Order, ServerOptions};
use ssdlab_bench::host::SlowestSeen;

use crate::client::{Running, now, options, serve, serve_with};
use crate::steady::Steady;

const IO: u32 = NbdError::Io as u32;

#[test]
fn what_was_flushed_survives_and_clients_are_hung_up_on() {
    let server = serve(Steady::new(100_000, true), options());
    let mut c = server.client();
    assert_eq!(c.write(0, 0, &[1; 8192]), 0);
    assert_eq!(c.ask(CMD_FLUSH, 0, 0, 0), 0);
    assert_eq!(c.write(0, 0, &[2; 4096]), 0);
    assert_eq!(c.write(CMD_FLAG_FUA, 8192, &[3; 4096]), 0);
    assert_eq!(server.order(&Order::Restore)["error"], "the power is on already");
    let status = server.order(&Order::Cut);
    assert_eq!((status["power"].as_str(), status["connections"].as_u64()), (Some("off"), Some(0)));
    assert!(c.is_gone());
    assert!(server.connect().is_gone(), "refused while the power is off");
    assert_eq!(server.order(&Order::Cut)["error"], "the power is off already");
    assert_eq!(server.order(&Order::Smart)["error"], "the power is off");
    let status = server.order(&Order::Restore);
    assert_eq!(status["pages_after_last_cut"]["reverted"], 1);
    assert_eq!(status["ready_after_restore_ms"], 1.0);
    let mut c = server.client();
    assert_eq!(c.read(0, 12288).unwrap(), [vec![1; 8192], vec![3; 4096]].concat());
    let smart = server.order(&Order::Smart);
    assert_eq!((&smart["nvme_smart_log"]["unsafe_shutdowns"], &smart["attributes"][1]["raw"]), (&1.into(), &2.into()));
}

/// Notices of the one test that looks at them.
static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

#[test]
fn what_came_back_is_told_with_its_places() {
    let notice = |text: &str| TOLD.lock().unwrap().push(text.to_owned());
    let server = serve(Steady::new(1000, true), ServerOptions { notice, ..options() });
    let mut c = server.client();
    assert_eq!(c.write(CMD_FLAG_FUA, 0, &[1; 16384]), 0);
    for offset in [4096, 8192, 40960] {
        assert_eq!(c.write(0, offset, &[2; 4096]), 0);
    }
    server.order(&Order::Cut);
    let after = server.order(&Order::Restore)["pages_after_last_cut"].clone();
    let what = "of pages of 4 KiB, 3 went back to what they were before a TRIM, or writes that were answered but not flushed (bytes 4096 to \
                12287, 40960 to 45055)";
    assert_eq!((&after["reverted"], &after["sentence"]), (&3.into(), &what.into()));
    let first = &after["first"];
    assert_eq!(first["reverted"][0], serde_json::json!({ "offset_bytes": 4096, "length_bytes": 8192 }));
    assert_eq!((&first["unreadable"], first["reverted"][2].is_null()), (&serde_json::json!([]), true));
    server.order(&Order::Cut);
    server.order(&Order::Restore);
    let told = TOLD.lock().unwrap();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(
        told[0].starts_with("notice: the power of steady was cut at ") && told[0].ends_with("0 requests under way")
    );
    assert!(
        told[1].starts_with("notice: the power of steady is back at ") && told[1].contains("ready after 1.00 ms; ")
    );
    assert!(told[1].ends_with(what) && told[3].ends_with("; no page was lost or went back"), "{told:?}");
}

#[test]
fn a_wait_for_a_drive_to_be_ready_is_told_as_that() {
    let server = serve(Steady::new(100_000, true).starting_in(60_000 * MS), options());
    assert_eq!(server.client().read(0, 512), Ok(vec![0; 512]));
    server.order(&Order::Cut);
    server.order(&Order::Restore);
    drop(server.order(&Order::Timeline));
    assert_eq!(server.client().read(0, 512), Ok(vec![0; 512]));
    assert_eq!(server.order(&Order::Timeline)["seen"]["starting"], 100_000);
    let blame = server.order(&Order::Blame);
    let [after, before] = [0, 1].map(|k| blame["slow"][k]["where"].as_str().unwrap());
    assert_eq!(after, "100.0 us: 100.0 us until the device was ready after its power came back");
    assert!(before.ends_with("the device does not say where"), "{before}");
    let all = &blame["summary"];
    assert_eq!((&all["requests"], &all["by_request"]["read"]), (&2.into(), &2.into()));
    assert!(
        all["sentence"].as_str().unwrap().ends_with("of their time: 100 % not ready after its power came back"),
        "{all}"
    );
}

/// What takes a nanosecond is answered later than that by any machine.
#[test]
fn a_machine_that_does_not_keep_up_is_warned_of() {
    let server = serve(Steady::new(1, true), options());
    let mut c = server.client();
    assert_eq!(c.read(0, 512), Ok(vec![0; 512]));
    assert!(server.order(&Order::Status)["warning"].is_null(), "one reply says nothing");
    (0..120).for_each(|_| assert_eq!(c.read(0, 512), Ok(vec![0; 512])));
    let status = server.order(&Order::Status);
    let warning = status["warning"].as_str().unwrap();
    assert!(warning.starts_with("replies were late by ") && warning.contains("--time-scale 10 or more"), "{warning}");
}

#[test]
fn with_errors_clients_stay_and_every_request_fails() {
    let server = serve(Steady::new(300_000_000, true), ServerOptions { on_cut: OnCut::Errors, ..options() });
    let mut c = server.structured_client();
    let cookie = c.send(CMD_READ, 0, 0, 4096, &[]);
    server.order(&Order::Status);
    server.order(&Order::Cut);
    let (found, error, kind, _) = c.reply(0);
    assert_eq!((found, error, kind), (cookie, IO, REPLY_ERROR), "it was under way");
    assert_eq!(c.read(0, 512), Err(IO));
    assert_eq!(c.write(0, 0, &[1; 512]), IO);
    assert_eq!(c.ask(CMD_FLUSH, 0, 0, 0), IO);
    assert_eq!(server.client().read(0, 512), Err(IO), "new clients may come");
    server.order(&Order::Restore);
    assert_eq!(c.read(0, 512), Ok(vec![0; 512]));
    let requests = server.order(&Order::Status)["requests"].clone();
    let counts = ["read", "write", "flush"]
        .map(|kind| [&requests[kind]["requests"], &requests[kind]["errors"]].map(|n| n.as_u64()));
    assert_eq!(counts, [[Some(4), Some(3)], [Some(1); 2], [Some(1); 2]], "{requests}");
}

#[test]
fn planned_cuts_come_by_themselves_and_end() {
    let cuts = CutPlan { at: vec![100_000_000], every: 0, off_for: 100_000_000 };
    let server = serve(Steady::new(1000, true), ServerOptions { cuts, ..options() });
    let mut c = server.client();
    assert_eq!(c.write(0, 0, &[1; 512]), 0);
    assert!(c.is_gone(), "the cut");
    let mut waited = 0;
    while server.order(&Order::Status)["power"] == "off" {
        std::thread::sleep(Duration::from_millis(10));
        waited += 1;
        assert!(waited < 500);
    }
    assert_eq!(server.client().read(0, 512), Ok(vec![0; 512]), "it was not flushed");
    assert_eq!(server.stop().cuts, 1);
}

#[test]
fn a_device_without_a_plug_says_so() {
    let server = serve(Steady::new(1000, false), options());
    assert_eq!(server.order(&Order::Cut)["error"], "steady has no plug that can be pulled");
    assert_eq!(server.order(&Order::Status)["has_plug"], false);
}

#[test]
fn orders_that_make_no_sense_are_refused() {
    let server = serve(Steady::new(1000, true), options());
    for line in ["\n", "cut\n", "[]\n", "[\"cut\", 1]\n", "{}\n", "[\"snapshot\"]\n", "[\"snapshot\", 1, 2]\n"] {
        assert!(server.line(line)["error"].is_string(), "{line}");
    }
    assert_eq!(server.order(&Order::Status)["power"], "on");
}

#[test]
fn a_timeline_is_of_the_slowest_request_since_the_last_one() {
    let server = serve(Steady::new(100_000, true), options());
    assert_eq!(server.order(&Order::Timeline)["error"], "no request has ended since the last timeline");
    let mut c = server.client();
    assert_eq!(c.write(0, 4096, &[7; 8192]), 0);
    let answer = server.order(&Order::Timeline);
    let seen: SlowestSeen = serde_json::from_value(answer["seen"].clone()).unwrap();
    let request = &seen.request;
    assert_eq!((request.offset_bytes, request.length_bytes, request.latency()), (4096, 8192, 100_000));
    assert!(seen.from <= request.submitted && seen.timeline.tracks[0].part == "wheel", "{seen:?}");
    assert_eq!(server.order(&Order::Timeline)["error"], "no request has ended since the last timeline");
    server.order(&Order::Cut);
    server.order(&Order::Restore);
    assert_eq!(server.client().read(0, 512), Ok(vec![0; 512]));
    assert_eq!(server.order(&Order::Timeline)["seen"]["request"]["length_bytes"], 512);
}

/// Whoever asks while a drive stalls is shown the stall the next time.
#[test]
fn a_request_that_waits_while_a_timeline_is_asked_for_is_of_the_next() {
    let server = serve(Steady::new(300_000_000, true), options());
    let mut c = server.structured_client();
    c.send(CMD_READ, 0, 0, 4096, &[]);
    server.order(&Order::Status);
    assert_eq!(server.order(&Order::Timeline)["error"], "no request has ended since the last timeline");
    c.reply(4096);
    assert_eq!(server.order(&Order::Timeline)["seen"]["request"]["length_bytes"], 4096);
}

#[test]
fn a_snapshot_is_an_image_of_bytes_and_drive_as_they_were() {
    let server = serve(Steady::new(1000, true), options());
    let mut c = server.client();
    assert_eq!(c.write(0, 4096, &[7; 4096]), 0);
    let path = std::env::temp_dir().join(format!("ssdlab-snapshot-{}.ssd", std::process::id()));
    drop(std::fs::remove_file(&path));
    let order = Order::Snapshot { path: path.clone(), number: 1 };
    let told = server.order(&order);
    assert_eq!((&told["stored_bytes"], &told["with_drive"]), (&4096.into(), &true.into()));
    assert_eq!(c.write(0, 4096, &[8; 4096]), 0);
    let contents = ssdlab_contents::Image::inspect(&path).unwrap();
    assert_eq!(contents.store.page(1).unwrap()[..], [7; 4096]);
    let drive = contents.state.expect("the drive is there").saved(1 << 20).unwrap();
    assert_eq!(drive[..3], [0, 1, 0], "as it was after the first write");
    assert!(
        server.order(&order)["error"].as_str().unwrap().contains("there is a file of that name"),
        "images are not overwritten"
    );
    std::fs::remove_file(&path).unwrap();
}

/// A server that is told to end lets a snapshot become whole first.
#[test]
fn a_snapshot_outlasts_its_server() {
    let server = serve(Steady::new(1000, true), options());
    let mut c = server.client();
    for at in 0..60 {
        assert_eq!(c.write(0, at << 20, &[at as u8 + 1; 1 << 20]), 0);
    }
    let path = std::env::temp_dir().join(format!("ssdlab-last-snapshot-{}.ssd", std::process::id()));
    let beside = path.with_extension("ssd.ssdlab-new");
    drop(std::fs::remove_file(&path));
    std::thread::scope(|scope| {
        let told = scope.spawn(|| server.order(&Order::Snapshot { path: path.clone(), number: 1 }));
        while !beside.exists() && !path.exists() {
            std::thread::yield_now();
        }
        server.end();
        assert_eq!(told.join().unwrap()["stored_bytes"], 60 << 20);
    });
    server.stop();
    let contents = ssdlab_contents::Image::inspect(&path).unwrap();
    assert!(contents.header.clean && contents.state.is_some() && !beside.exists());
    assert!((0..60).all(|at| contents.store.page(at << 8).unwrap()[..] == [at as u8 + 1; 4096]));
    std::fs::remove_file(&path).unwrap();
}

const MS: u64 = 1_000_000;

#[test]
fn an_erase_is_answered_when_it_has_ended_and_everything_reads_as_zeroes() {
    for crypto in [false, true] {
        let server = serve(Steady::new(1000, true).erasing(300 * MS, true), options());
        let mut c = server.client();
        assert_eq!(c.write(CMD_FLAG_FUA, 4096, &[7; 4096]), 0);
        let began = now();
        let told = server.order(&Order::Erase { crypto });
        assert!(began.elapsed() >= Duration::from_millis(300));
        assert_eq!(told["erased"], if crypto { "crypto" } else { "secure" });
        assert_eq!((&told["took_ms"], &told["media_key_changes"]), (&300.0.into(), &1.into()));
        assert_eq!(c.read(4096, 4096).unwrap(), [0; 4096]);
        assert_eq!(server.order(&Order::Status)["contents"]["stored_bytes"], 0);
        server.order(&Order::Cut);
        server.order(&Order::Restore);
        assert_eq!(server.client().read(4096, 4096).unwrap(), [0; 4096]);
    }
}

#[test]
fn an_erase_that_the_power_cuts_short_has_happened_or_not_and_says_so() {
    for (crypto, what) in [
        (true, "the power went before the erase had ended: the erase has not happened"),
        (
            false,
            "the power went before the erase had ended: the drive is erased, and erases the rest of its blocks when the power is back",
        ),
    ] {
        let server = serve(Steady::new(1000, true).erasing(60_000 * MS, true), options());
        let mut c = server.client();
        assert_eq!(c.write(CMD_FLAG_FUA, 4096, &[7; 4096]), 0);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| server.order(&Order::Erase { crypto }));
            std::thread::sleep(Duration::from_millis(300));
            let again = server.order(&Order::Erase { crypto });
            assert_eq!(again["error"], "an erase is under way already");
            let path = std::env::temp_dir().join("never-written.ssd");
            assert_eq!(server.order(&Order::Snapshot { path, number: 1 })["error"], "an erase is under way");
            // What waits for its end does not bring that about.
            c.send(CMD_READ, 0, 4096, 4096, &[]);
            c.send(CMD_WRITE, 0, 4096, 4096, &[8; 4096]);
            until_under_way(&server, 2);
            server.order(&Order::Cut);
            assert_eq!(waiting.join().unwrap()["error"], what);
        });
        server.order(&Order::Restore);
        assert_eq!(server.client().read(4096, 4096).unwrap(), [if crypto { 7 } else { 0 }; 4096]);
    }
}

/// Waits for so many requests to be under way.
fn until_under_way(server: &Running, requests: u64) {
    let mut waited_ms = 0;
    while server.order(&Order::Status)["requests_under_way"] != requests {
        std::thread::sleep(Duration::from_millis(1));
        waited_ms += 1;
        assert!(waited_ms < 5000, "{requests} requests never come");
    }
}

/// A client that is told of a hole does not read it, and takes zeroes for what is lost.
#[test]
fn a_page_that_a_cut_has_destroyed_is_no_hole() {
    let server = serve(Steady::new(1000, true).losing(2), options());
    let mut c = server.structured_client();
    assert_eq!(c.write(0, 0, &[1; 4 * 4096]), 0);
    assert_eq!(c.ask(CMD_FLUSH, 0, 0, 0), 0);
    server.order(&Order::Cut);
    assert_eq!(server.order(&Order::Restore)["pages_after_last_cut"]["unreadable"], 1);
    let mut c = server.structured_client();
    assert_eq!(c.block_status(0, 0, 6 * 4096), Ok(vec![(4 * 4096, 0), (2 * 4096, STATE_HOLE | STATE_ZERO)]));
    assert_eq!(c.read(8192, 4096), Err(IO));
    assert_eq!(c.write(0, 8192, &[2; 512]), IO, "the rest of it is lost");
    assert_eq!(c.read(8192, 4096), Err(IO));
    assert_eq!(c.write(0, 8192, &[3; 4096]), 0);
    assert_eq!(c.read(8192, 4096), Ok(vec![3; 4096]));
}

#[test]
fn without_power_there_is_no_snapshot() {
    let server = serve(Steady::new(1000, true), options());
    assert_eq!(server.client().write(0, 0, &[1; 4096]), 0);
    server.order(&Order::Cut);
    let path = std::env::temp_dir().join(format!("without-power-{}.ssd", std::process::id()));
    let snapshot = || server.order(&Order::Snapshot { path: path.clone(), number: 1 });
    let why =
        "the power is off, and what the cut has taken back shows when it is on again: restore it before the snapshot";
    assert_eq!(snapshot()["error"], why);
    assert!(!path.exists());
    server.order(&Order::Restore);
    assert_eq!(snapshot()["with_drive"], true);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn an_erase_that_cannot_be_is_refused_with_the_reason() {
    let erase = |crypto| Order::Erase { crypto };
    let server = serve(Steady::new(1000, true), options());
    assert_eq!(server.order(&erase(false))["error"], "steady has no erase");
    let server = serve(Steady::new(1000, true).erasing(MS, false), options());
    let no_key = "steady does not encrypt what it stores, and has no crypto erase";
    assert_eq!(server.order(&erase(true))["error"], no_key);
    assert_eq!(server.order(&erase(false))["media_key_changes"], serde_json::Value::Null);
    server.order(&Order::Cut);
    assert_eq!(server.order(&erase(false))["error"], "the power is off");
    let server = serve(Steady::new(2_000 * MS, true).erasing(MS, true), options());
    let mut c = server.client();
    c.send(CMD_READ, 0, 0, 4096, &[]);
    std::thread::sleep(Duration::from_millis(300));
    let busy = "1 requests are under way: an erase needs a drive at rest";
    assert_eq!(server.order(&erase(true))["error"], busy);
    let server = serve_with(Steady::new(1000, true).erasing(MS, true), options(), 1 << 30, true);
    assert_eq!(server.order(&erase(true))["error"], "steady is served read-only");
}
