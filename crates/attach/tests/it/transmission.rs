//! Requests and their replies.

use std::time::Duration;

use ssdlab_attach::Order;
use ssdlab_attach::nbd::words::*;

use crate::client::{now, options, serve, serve_with};
use crate::steady::{CAPACITY, Steady};

const INVALID: u32 = NbdError::Invalid as u32;
const NO_SPACE: u32 = NbdError::NoSpace as u32;

#[test]
fn what_was_written_is_read_by_every_client_in_either_form() {
    let server = serve(Steady::new(1000, false), options());
    let mut writer = server.client();
    let data: Vec<u8> = (0..3 << 20).map(|k: u32| (k * 7 + k / 4096) as u8).collect();
    assert_eq!(writer.write(CMD_FLAG_FUA, 512, &data), 0);
    assert_eq!(server.client().ask(CMD_FLUSH, 0, 0, 0), 0);
    assert_eq!(server.client().read(512, 3 << 20).unwrap(), data);
    let mut c = server.structured_client();
    assert_eq!(c.read_flagged(CMD_FLAG_DF, 1024, 2 << 20).unwrap(), data[512..512 + (2 << 20)]);
    assert_eq!(c.ask(CMD_CACHE, 0, 0, 1 << 20), 0);
    let status = server.order(&Order::Status);
    assert_eq!(status["requests"]["read"]["requests"], 3);
    assert_eq!(status["requests"]["write"]["bytes"], 3 << 20);
    assert_eq!(status["contents"]["stored_bytes"], (3 << 20) + 4096);
}

#[test]
fn wrong_requests_fail_and_the_client_stays() {
    let server = serve(Steady::new(1000, false), options());
    for mut c in [server.client(), server.structured_client()] {
        assert_eq!(c.read(0, 100), Err(INVALID));
        assert_eq!(c.read(100, 512), Err(INVALID));
        assert_eq!(c.read(CAPACITY, 512), Err(INVALID));
        assert_eq!(c.read(u64::MAX - 511, 512), Err(INVALID));
        assert_eq!(c.write(0, CAPACITY - 512, &[0; 1024]), NO_SPACE);
        assert_eq!(c.ask(CMD_WRITE_ZEROES, 0, CAPACITY, 512), NO_SPACE);
        assert_eq!(c.ask(CMD_TRIM, 0, CAPACITY, 512), INVALID);
        assert_eq!(c.ask(CMD_WRITE_ZEROES, CMD_FLAG_FAST_ZERO, 0, 512), NbdError::NotSupported as u32);
        assert_eq!(c.ask(99, 0, 0, 512), INVALID);
        assert_eq!(c.ask(CMD_FLUSH, 1 << 9, 0, 0), INVALID, "an unknown flag");
        assert_eq!(c.read(0, (32 << 20) + 512), Err(INVALID));
        assert_eq!(c.write(0, 0, &vec![1; (32 << 20) + 512]), INVALID, "its data are skipped");
        assert_eq!(c.write(0, 0, &[]), 0);
        assert_eq!(c.ask(CMD_TRIM, 0, 0, 0), 0);
        assert_eq!(c.block_status(0, 0, 0), Err(INVALID));
        assert_eq!(c.read(0, 512), Ok(vec![0; 512]));
    }
    let mut c = server.client();
    c.send(CMD_READ, CMD_FLAG_DF, 0, 512, &[]);
    assert_eq!(c.reply(0).1, INVALID, "DF without structured replies");
    c.send(CMD_WRITE, 0, 0, 129 << 20, &[]);
    assert!(c.is_gone(), "more than is skipped");
}

#[test]
fn block_status_tells_holes_zeroes_and_data() {
    let server = serve(Steady::new(1000, false), options());
    let mut c = server.structured_client();
    assert_eq!(c.write(0, 8192, &[5; 16384]), 0);
    assert_eq!(c.ask(CMD_WRITE_ZEROES, CMD_FLAG_NO_HOLE, 8192, 4096), 0);
    assert_eq!(c.ask(CMD_TRIM, CMD_FLAG_FUA, 12288, 4096 + 512), 0);
    let expected = vec![(8192, 3), (4096, 2), (4096, 3), (8192, 0), (4096, 3)];
    assert_eq!(c.block_status(0, 0, 28672), Ok(expected));
    assert_eq!(c.block_status(CMD_FLAG_REQ_ONE, 16384, 65536), Ok(vec![(8192, 0)]));
    assert_eq!(c.read(8192, 16384).unwrap(), [vec![0; 8192], vec![5; 8192]].concat());
    assert_eq!(c.ask(CMD_TRIM, 0, 0, CAPACITY as u32), 0);
    assert_eq!(c.block_status(0, 0, CAPACITY as u32), Ok(vec![(CAPACITY as u32, 3)]));
}

#[test]
fn many_requests_are_under_way_at_once() {
    let server = serve(Steady::new(5_000_000, false), options());
    let mut c = server.client();
    let begun = now();
    for k in 0..400 {
        c.send(CMD_WRITE, 0, k * 4096, 4096, &[k as u8; 4096]);
    }
    let mut cookies: Vec<u64> = (0..400).map(|_| c.reply(0).0).collect();
    cookies.sort_unstable();
    assert_eq!(cookies, (1..=400).collect::<Vec<_>>());
    assert!(begun.elapsed() < Duration::from_secs(1), "not one after the other: {:?}", begun.elapsed());
    assert_eq!(c.read(399 * 4096, 512), Ok(vec![143; 512]));
}

#[test]
fn replies_leave_at_the_drives_time_which_can_be_slowed_down() {
    for (scale, latency) in [(1.0, 20), (5.0, 100)] {
        let server = serve(Steady::new(20_000_000, false), crate::client::options_with_scale(scale));
        let mut c = server.client();
        let begun = now();
        c.read(0, 4096).unwrap();
        let taken = begun.elapsed();
        assert!(taken >= Duration::from_millis(latency), "{taken:?} with a scale of {scale}");
        let mean = server.order(&Order::Status)["requests"]["read"]["latency_us"]["mean"].as_f64().unwrap();
        assert_eq!(mean, 20_000.0, "in the drive's time");
        assert_eq!(server.stop().lateness.count(), 1);
    }
}

#[test]
fn memory_is_bounded_and_read_only_is_read_only() {
    let server = serve_with(Steady::new(1000, false), options(), 1 << 20, false);
    let mut c = server.client();
    assert_eq!(c.write(0, 0, &vec![1; 1 << 19]), 0);
    assert_eq!(c.write(0, 1 << 20, &vec![1; (1 << 19) + 4096]), NO_SPACE);
    assert_eq!(c.write(0, 1 << 20, &vec![1; 1 << 19]), 0, "it is full");
    assert_eq!(c.write(0, (1 << 20) - 512, &[1; 1024]), NO_SPACE, "an edge needs a page of its own");
    assert_eq!(c.write(0, 1 << 20, &vec![2; 1 << 19]), 0, "what is there needs no more");
    assert_eq!(c.write(0, 2 << 20, &vec![0; 1 << 19]), 0, "zeroes take no memory");
    assert_eq!(c.write(0, (3 << 20) + 512, &[0; 512]), 0, "nor in a part of a page that is not there");
    assert_eq!(c.ask(CMD_WRITE_ZEROES, 0, 0, 1 << 19), 0, "zeroes take no memory");
    assert_eq!(c.write(0, 1 << 20, &vec![1; 1 << 19]), 0);
    assert_eq!(c.write(0, CAPACITY, &[1; 512]), NO_SPACE, "it ends there");
    let writes = &server.order(&Order::Status)["requests"]["write"];
    assert_eq!(
        (&writes["requests"], &writes["errors"]),
        (&10.into(), &3.into()),
        "zeroes count as the writes they become"
    );
    let server = serve_with(Steady::new(1000, false), options(), 1 << 20, true);
    let mut c = server.client();
    assert_eq!(c.write(0, 0, &[1; 512]), NbdError::NotPermitted as u32);
    assert_eq!(c.ask(CMD_WRITE_ZEROES, 0, 0, 512), NbdError::NotPermitted as u32);
    assert_eq!(c.ask(CMD_FLUSH, 0, 0, 0), 0);
    assert_eq!(c.read(0, 512), Ok(vec![0; 512]));
    let requests = &server.order(&Order::Status)["requests"];
    let refused = serde_json::json!({ "requests": 2, "bytes": 0, "errors": 2, "latency_us": null });
    assert_eq!((&requests["write"], &requests["read"]["errors"]), (&refused, &0.into()), "no time of the drive");
}

#[test]
fn what_was_asked_for_before_a_goodbye_is_answered() {
    let server = serve(Steady::new(100_000_000, false), options());
    let mut leaves = server.client();
    let write = leaves.send(CMD_WRITE, 0, 4096, 4096, &[6; 4096]);
    let read = leaves.send(CMD_READ, 0, 4096, 4096, &[]);
    leaves.send(CMD_DISC, 0, 0, 0, &[]);
    assert_eq!(leaves.reply(0), (write, 0, 0, vec![]));
    assert_eq!(leaves.reply(4096), (read, 0, 0, vec![6; 4096]));
    assert!(leaves.is_gone());
    // With nothing under way it is over at once.
    let mut leaves = server.client();
    leaves.send(CMD_DISC, 0, 0, 0, &[]);
    assert!(leaves.is_gone());
    assert_eq!(server.stop().disconnected, 0);
}
