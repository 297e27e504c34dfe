//! Clients that mean harm, or are broken.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ssdlab_attach::nbd::words::*;
use ssdlab_attach::nbd::{Event, Session};
use ssdlab_attach::{Export, Limits, Order, ServerOptions};
use ssdlab_core::Rng;
use ssdlab_device::Device;

use crate::client::{name, now, options, serve};
use crate::steady::{CAPACITY, Steady};

fn option_bytes(option: u32, data: &[u8]) -> Vec<u8> {
    let mut out = OPTION_MAGIC.to_be_bytes().to_vec();
    out.extend_from_slice(&option.to_be_bytes());
    out.extend_from_slice(&(data.len() as u32).to_be_bytes());
    out.extend_from_slice(data);
    out
}

fn request_bytes(command: u16, flags: u16, offset: u64, length: u32, data: &[u8]) -> Vec<u8> {
    let mut out = REQUEST_MAGIC.to_be_bytes().to_vec();
    out.extend_from_slice(&flags.to_be_bytes());
    out.extend_from_slice(&command.to_be_bytes());
    out.extend_from_slice(&7u64.to_be_bytes());
    out.extend_from_slice(&offset.to_be_bytes());
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(data);
    out
}

/// All that a client can say, from the greeting to a few requests.
fn transcript() -> Vec<u8> {
    let set = [&name("")[..], &1u32.to_be_bytes(), &name("base:allocation")].concat();
    [
        3u32.to_be_bytes().to_vec(),
        option_bytes(OPT_LIST, &[]),
        option_bytes(OPT_STRUCTURED_REPLY, &[]),
        option_bytes(OPT_SET_META_CONTEXT, &set),
        option_bytes(OPT_INFO, &[name("steady"), vec![0, 1, 0, 3]].concat()),
        option_bytes(OPT_GO, &[name(""), vec![0, 0]].concat()),
        request_bytes(CMD_WRITE, CMD_FLAG_FUA, 4096, 8192, &[9; 8192]),
        request_bytes(CMD_READ, CMD_FLAG_DF, 0, 65536, &[]),
        request_bytes(CMD_BLOCK_STATUS, 0, 0, 1 << 20, &[]),
        request_bytes(CMD_WRITE_ZEROES, 0, 0, 1 << 20, &[]),
        request_bytes(CMD_TRIM, 0, 0, 1 << 20, &[]),
        request_bytes(CMD_CACHE, 0, 0, 4096, &[]),
        request_bytes(CMD_FLUSH, 0, 0, 0, &[]),
    ]
    .concat()
}

/// The transcript with some bytes other than they should be, some missing and some too many.
fn spoiled(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = transcript();
    for _ in 0..=rng.below(4) {
        let at = rng.below(bytes.len() as u64) as usize;
        // Most of what can go wrong is in heads.
        let at = if rng.chance(3, 4) { at % 400 } else { at };
        match rng.below(4) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = [0, 255, 127, 128][rng.below(4) as usize],
            2 => drop(bytes.drain(at..(at + 1 + rng.below(16) as usize).min(bytes.len()))),
            _ => bytes.insert(at, rng.below(256) as u8),
        }
    }
    bytes
}

#[test]
fn sessions_take_whatever_comes_in_pieces_of_any_size() {
    let export = Export::new(Steady::new(1, false).info(), false);
    let mut rng = Rng::new(1);
    let (mut whole, mut broken) = (0, 0);
    for case in 0..20_000 {
        let bytes = if case == 0 { transcript() } else { spoiled(&mut rng) };
        let (mut session, _) = Session::new();
        let mut rest = &bytes[..];
        let mut out = Vec::new();
        let mut requests = 0;
        'bytes: while !rest.is_empty() {
            let space = session.space();
            let count = (1 + rng.below(3000) as usize).min(rest.len()).min(space.len());
            space[..count].copy_from_slice(&rest[..count]);
            rest = &rest[count..];
            session.filled(count);
            loop {
                match session.next(&export, &mut out) {
                    Ok(Event::Wait) => break,
                    Ok(Event::Request(_)) => requests += 1,
                    Ok(Event::Ready) => {}
                    Ok(Event::Ended) => break 'bytes,
                    Err(_) => {
                        broken += 1;
                        break 'bytes;
                    }
                }
            }
            assert!(out.len() < 1 << 20);
        }
        assert!(case > 0 || requests == 7, "{requests} requests of the sound transcript");
        whole += requests;
    }
    assert!(whole > 10_000 && broken > 5_000, "{whole} requests, {broken} sessions broken off");
}

#[test]
fn a_served_drive_survives_spoiled_clients_and_serves_the_others() {
    let server = serve(Steady::new(1000, false), options());
    let mut good = server.client();
    assert_eq!(good.write(0, 1 << 26, &[4; 4096]), 0);
    let mut rng = Rng::new(2);
    for case in 0..400u64 {
        let mut bad = UnixStream::connect(&server.path).unwrap();
        bad.set_nonblocking(true).unwrap();
        let bytes = spoiled(&mut rng);
        drop(bad.write(&bytes));
        if rng.chance(1, 2) {
            // Some hang up before they are answered.
            drop(bad.read(&mut [0; 4096]));
        }
        drop(bad);
        if case % 20 == 0 {
            assert_eq!(good.read(1 << 26, 4096), Ok(vec![4; 4096]));
        }
    }
    assert_eq!(good.read(1 << 26, 4096), Ok(vec![4; 4096]));
}

#[test]
fn who_does_not_get_on_is_hung_up_on() {
    let limits =
        Limits { handshake: Duration::from_millis(300), stall: Duration::from_millis(500), ..Limits::default() };
    let server = serve(Steady::new(1000, false), ServerOptions { limits, ..options() });
    let begun = now();
    let mut silent = server.connect();
    silent.greet(3);
    let mut half = server.client();
    half.stream.write_all(&request_bytes(CMD_WRITE, 0, 0, 4096, &[1; 100])).unwrap();
    let mut idle = server.client();
    // One that never reads what it asks for.
    let mut greedy = server.client();
    greedy.stream.set_nonblocking(true).unwrap();
    for _ in 0..40 {
        if let Err(e) = greedy.stream.write_all(&request_bytes(CMD_READ, 0, 0, 32 << 20, &[])) {
            assert_eq!(e.kind(), ErrorKind::WouldBlock);
        }
    }
    let mut good = server.client();
    for _ in 0..50 {
        assert_eq!(good.read(0, 4096), Ok(vec![0; 4096]));
    }
    assert!(silent.is_gone() && half.is_gone());
    assert!(begun.elapsed() < Duration::from_secs(10));
    std::thread::sleep(Duration::from_millis(1500));
    greedy.stream.set_nonblocking(false).unwrap();
    let mut bytes = 0;
    let mut buffer = vec![0; 1 << 20];
    while let Ok(count) = greedy.stream.read(&mut buffer) {
        if count == 0 {
            break;
        }
        bytes += count;
    }
    assert!(bytes < 64 << 20, "{bytes} bytes were kept for a client that did not read");
    assert_eq!(idle.read(0, 512), Ok(vec![0; 512]), "doing nothing between requests is no offence");
    assert_eq!(server.stop().disconnected, 3);
}

#[test]
fn one_client_too_many_is_hung_up_on() {
    let limits = Limits { connections: 3, ..Limits::default() };
    let server = serve(Steady::new(1000, false), ServerOptions { limits, ..options() });
    let mut clients: Vec<_> = (0..3).map(|_| server.client()).collect();
    assert!(server.connect().is_gone());
    drop(clients.pop());
    let mut tries = 0;
    while server.connect().is_gone() {
        tries += 1;
        assert!(tries < 100);
    }
    assert_eq!(clients[0].read(0, 512), Ok(vec![0; 512]));
}

/// A system that closes a socket with something unread takes back what the client has not read, and kills a client that goes on
/// writing.
#[test]
fn who_breaks_the_protocol_gets_what_was_answered_and_may_go_on_for_a_while() {
    let server = serve(Steady::new(1000, false), options());
    let mut wrong = server.client();
    wrong.send(CMD_READ, 0, 0, 4096, &[]);
    while server.order(&Order::Status)["requests"]["read"]["requests"] != 1 {}
    wrong.stream.write_all(&[0x55; 28]).unwrap();
    while server.order(&Order::Status)["disconnected"] != 1 {}
    assert_eq!(server.order(&Order::Status)["connections"], 0);
    for _ in 0..100 {
        wrong.stream.write_all(&[0x55; 10_000]).expect("it is read, and thrown away");
    }
    let answer = wrong.take_many(16 + 4096);
    assert_eq!((&answer[..4], &answer[16..]), (&SIMPLE_REPLY_MAGIC.to_be_bytes()[..], &[0; 4096][..]));
    assert!(wrong.is_gone());
    let begun = now();
    while wrong.stream.write_all(&[0x55]).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(10), "not for ever");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The same holds for who says goodbye and goes on talking.
#[test]
fn who_has_said_goodbye_gets_what_was_answered_and_may_go_on_for_a_while() {
    let server = serve(Steady::new(1000, false), options());
    let mut leaves = server.client();
    leaves.send(CMD_READ, 0, 0, 4096, &[]);
    leaves.send(CMD_DISC, 0, 0, 0, &[]);
    while server.order(&Order::Status)["connections"] != 0 {}
    for _ in 0..100 {
        leaves.stream.write_all(&[0x55; 10_000]).expect("it is read, and thrown away");
    }
    assert_eq!(leaves.take_many(16 + 4096)[16..], [0; 4096]);
    assert!(leaves.is_gone());
    assert_eq!(server.stop().disconnected, 0);
}

/// What was read of it comes first, or it would pile up while the drive is busy.
#[test]
fn who_asks_faster_than_the_drive_answers_is_read_no_faster() {
    let server = serve(Steady::new(2_000_000, false), ServerOptions { limits: few_requests(4), ..options() });
    let mut fast = server.client();
    let mut answers = fast.stream.try_clone().unwrap();
    // They are taken, so that one request after another begins.
    let reader = std::thread::spawn(move || while matches!(answers.read(&mut [0; 65536]), Ok(count) if count > 0) {});
    fast.stream.set_nonblocking(true).unwrap();
    let many = request_bytes(CMD_CACHE, 0, 0, 4096, &[]).repeat(10_000);
    let (begun, mut sent) = (now(), 0);
    while begun.elapsed() < Duration::from_millis(500) {
        match fast.stream.write(&many[sent % many.len()..]) {
            Ok(count) => sent += count,
            Err(_) => std::thread::sleep(Duration::from_micros(200)),
        }
    }
    assert!(sent < 4 << 20, "{sent} bytes of requests were taken, of which the drive has served a few kilobytes");
    assert_eq!(server.client().read(0, 4096), Ok(vec![0; 4096]));
    drop(server.stop());
    reader.join().unwrap();
}

fn few_requests(requests: u32) -> Limits {
    Limits { requests, ..Limits::default() }
}

/// Who leaves has still its data at the drive. Coming again and again must not take more memory than staying does.
#[test]
fn who_leaves_requests_behind_counts_until_they_have_ended() {
    let limits = Limits { connections: 3, ..Limits::default() };
    let server = serve(Steady::new(400_000_000, false), ServerOptions { limits, ..options() });
    let mut stays = server.client();
    for gone in 0..2 {
        let mut leaves = server.client();
        leaves.send(CMD_WRITE, 0, 4096 * gone, 4096, &[gone as u8 + 1; 4096]);
        while server.order(&Order::Status)["requests_under_way"] != gone + 1 {}
    }
    while server.order(&Order::Status)["connections"] != 1 {}
    assert!(server.connect().is_gone(), "two are gone, and the drive is still at what they wrote");
    assert_eq!(stays.read(0, 8192), Ok([[1; 4096], [2; 4096]].concat()));
    drop(server.client());
}

/// A block status looks at one page after the other, and 4 GiB of them take milliseconds: thousands must not stop the others.
#[test]
fn questions_that_take_long_leave_the_others_their_turn() {
    let mut greedy_says = Vec::new();
    let server = serve(Steady::new(1000, false), options());
    let mut good = server.client();
    for at in 0..CAPACITY >> 20 {
        // Zeroes that were written are no hole: each page is looked at.
        assert_eq!(good.ask(CMD_WRITE_ZEROES, 0, at << 20, 1 << 20), 0);
    }
    let mut greedy = server.structured_client();
    assert_eq!(greedy.block_status(0, 0, CAPACITY as u32), Ok(vec![(CAPACITY as u32, STATE_ZERO)]));
    (0..4000).for_each(|_| greedy_says.extend(request_bytes(CMD_BLOCK_STATUS, 0, 0, CAPACITY as u32, &[])));
    greedy.stream.set_nonblocking(true).unwrap();
    let sent = greedy.stream.write(&greedy_says).unwrap();
    assert!(sent > 28 * 1000, "too few to tell: {sent} bytes");
    std::thread::sleep(Duration::from_millis(20));
    let begun = now();
    assert_eq!(good.read(0, 4096), Ok(vec![0; 4096]));
    let took = begun.elapsed();
    greedy.stream.set_nonblocking(false).unwrap();
    greedy.take_many(32 * (sent / 28));
    let all = begun.elapsed();
    assert!(10 * took < all, "a read took {took:?} beside questions of another client that took {all:?} in all");
}

/// Nor who leaves while the drive is at what it has asked for, as much as it may ask for.
#[cfg(target_os = "linux")]
#[test]
fn who_says_half_a_request_does_not_keep_the_server_busy() {
    let server = serve(Steady::new(900_000_000, false), ServerOptions { limits: few_requests(4), ..options() });
    let (mut half, mut initiator) = (server.client(), server.initiator());
    half.stream.write_all(&request_bytes(CMD_WRITE, 0, 0, 1 << 20, &[1; 70_000])).unwrap();
    initiator.stream.write_all(&[0; 20]).unwrap();
    let mut leaves = server.client();
    (0..4).for_each(|_| _ = leaves.send(CMD_READ, 0, 0, 4096, &[]));
    while server.order(&Order::Status)["requests_under_way"] != 4 {}
    drop(leaves);
    let before = server.processor_time();
    std::thread::sleep(Duration::from_millis(500));
    let took = server.processor_time() - before;
    assert!(took < Duration::from_millis(50), "{took:?} of 500 ms, in which there was nothing to do");
}
