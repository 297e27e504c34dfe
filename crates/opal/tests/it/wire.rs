//! What passes over the wire, byte by byte.

use crate::host::{
    ADMIN_SP, COM_ID, GEOMETRY, Host, LOCKING_SP, NO_SESSIONS, b, call, identity, list, n, name, packet,
};
use ssdlab_opal::{Erased, Refused, Tper};

/// The begin of a session with the Admin SP, and its answer, as the specifications' examples have them.
#[test]
fn a_session_begins_with_the_bytes_of_the_specification() {
    let mut host = Host::new();
    let begin = [
        0xf8, 0xa8, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xa8, 0, 0, 0, 0, 0, 0, 0xff, 0x02, 0xf0, 0x01, 0xa8, 0, 0, 0x02, 0x05,
        0, 0, 0, 0x01, 0x01, 0xf1, 0xf9, 0xf0, 0, 0, 0, 0xf1,
    ];
    let answer = host.exchange((0, 0), &begin);
    let expected = [
        0xf8, 0xa8, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xa8, 0, 0, 0, 0, 0, 0, 0xff, 0x03, 0xf0, 0x01, 0x82, 0x10, 0x01, 0xf1,
        0xf9, 0xf0, 0, 0, 0, 0xf1,
    ];
    assert_eq!(answer, expected);
    // Another one has to wait for its end.
    assert_eq!(host.begin_as(ADMIN_SP, None), Err(NO_SESSIONS));
    assert_eq!(host.exchange((0x1001, 1), &[0xfa]), [0xfa]);
    assert_eq!(host.begin_as(ADMIN_SP, None), Ok(()));
}

#[test]
fn discovery_tells_what_the_drive_has() {
    let mut host = Host::new();
    let found = host.tper.receive(0, 1, 1, 512).unwrap();
    assert_eq!(u32::from_be_bytes(found[..4].try_into().unwrap()) as usize + 4, found.len());
    let feature = |code: u16| {
        let mut at = 48;
        while at < found.len() {
            let length = usize::from(found[at + 3]);
            if found[at..at + 2] == code.to_be_bytes() {
                return found[at + 4..at + 4 + length].to_vec();
            }
            at += 4 + length;
        }
        panic!("no feature {code:04x}");
    };
    let next = |&at: &usize| Some(at + 4 + usize::from(found[at + 3])).filter(|&at| at < found.len());
    let features = std::iter::successors(Some(48), next);
    let codes: Vec<_> = features.map(|at| u16::from_be_bytes([found[at], found[at + 1]])).collect();
    assert_eq!(codes, [1, 2, 3, 0x202, 0x203], "in rising order");
    assert_eq!(feature(1)[0], 0x11, "synchronous, streaming");
    assert_eq!(feature(2)[0], 0b1001, "locking supported, not enabled; media encrypted");
    assert_eq!(feature(3)[8..12], 512_u32.to_be_bytes());
    assert_eq!(feature(3)[12..20], 8_u64.to_be_bytes());
    assert_eq!(feature(0x203), [0x10, 0, 0, 1, 0, 0, 4, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(feature(0x202)[2..8], [0, 1, 0, 0xa0, 0, 0]);
    assert_eq!(host.tper.receive(0, 0, 0, 512).unwrap(), [0, 0, 0, 0, 0, 0, 0, 3, 0, 1, 2]);
    assert_eq!(host.tper.receive(0, 0, 0, 4).unwrap(), [0; 4]);
    for (protocol, specific, error) in
        [(0xee, 0, Refused::NoProtocol), (1, 0x1001, Refused::BadField), (0, 9, Refused::BadField)]
    {
        assert_eq!(host.tper.receive(0, protocol, specific, 512), Err(error));
    }
}

#[test]
fn discovery_calls_a_shadow_done_only_while_it_is_enabled() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.with(LOCKING_SP, crate::host::ADMIN1, b"own", |host| {
        for (enabled, done, flags) in [(0, 1, 0), (1, 1, 0x30), (1, 0, 0x10)] {
            host.set(crate::host::MBR_CONTROL, &[(1, n(enabled)), (2, n(done))]).unwrap();
            assert_eq!(host.tper.receive(0, 1, 1, 512).unwrap()[48 + 16 + 4], 0b1011 | flags);
        }
    });
}

#[test]
fn properties_say_what_both_sides_take() {
    let mut host = Host::new();
    let theirs = name(n(0), list(&[name(b(b"MaxComPacketSize"), n(4096)), name(b(b"Nonsense"), n(1))]));
    let answer = host.exchange((0, 0), &call(0xff, 0xff01, &[theirs]));
    let text = |bytes: &[u8]| answer.windows(bytes.len()).any(|found| found == bytes);
    assert!(text(b"MaxComPacketSize\x84\0\x01\0\0") && text(b"MaxComPacketSize\x82\x10\0") && !text(b"Nonsense"));
    assert_eq!(crate::host::status(&answer), 0);
    // Parameters that it does not have, and one that is no list of them.
    let size = list(&[name(b(b"MaxComPacketSize"), n(4096))]);
    for wrong in [size.clone(), n(1), name(n(1), size), name(n(0), n(4096))] {
        let answer = host.exchange((0, 0), &call(0xff, 0xff01, &[wrong]));
        assert_eq!(answer, [&call(0xff, 0xff01, &[])[..21], &[0xf9, 0xf0, 0x0c, 0, 0, 0xf1]].concat());
    }
}

/// The least of what a host says counts, but no less than any host takes.
#[test]
fn what_a_host_takes_is_what_all_of_its_properties_leave() {
    let said = |properties: &[(&[u8], u64)]| {
        let theirs = properties.iter().map(|(what, bytes)| name(b(what), n(*bytes))).collect::<Vec<_>>();
        let answer = Host::new().exchange((0, 0), &call(0xff, 0xff01, &[name(n(0), list(&theirs))]));
        let what = b"MaxIndTokenSize\x82";
        // Its own come first.
        let at = answer.windows(what.len()).rposition(|found| found == what).expect("it is said") + what.len();
        usize::from(u16::from_be_bytes([answer[at], answer[at + 1]])) + 56
    };
    assert_eq!(said(&[(b"MaxComPacketSize", 8192)]), 8192);
    assert_eq!(said(&[(b"MaxComPacketSize", 8192), (b"MaxPacketSize", 4076)]), 4096);
    assert_eq!(said(&[(b"MaxIndTokenSize", 3000), (b"MaxPacketSize", 4076), (b"MaxComPacketSize", 8192)]), 3056);
    assert_eq!(said(&[(b"MaxComPacketSize", 8192), (b"MaxIndTokenSize", 1)]), 2048);
    assert_eq!(said(&[(b"MaxPacketSize", 60_000)]), 2048, "of the ComPacket it has said nothing");
}

#[test]
fn an_answer_that_the_host_has_no_room_for_waits() {
    let mut host = Host::new();
    let begin = call(0xff, 0xff01, &[]);
    host.tper.send(0, 1, COM_ID, &packet(0, 0, &begin)).unwrap();
    let told = host.tper.receive(0, 1, COM_ID, 64).unwrap();
    let u32_at = |at: usize| u32::from_be_bytes(told[at..at + 4].try_into().unwrap());
    assert_eq!((told.len(), u32_at(16)), (20, 0));
    assert!(u32_at(8) > 64 && u32_at(8) == u32_at(12));
    // Meanwhile nothing else is taken.
    assert_eq!(host.tper.send(0, 1, COM_ID, &packet(0, 0, &begin)), Err(Refused::Sequence));
    assert_eq!(host.tper.receive(0, 1, COM_ID, 65_536).unwrap().len(), u32_at(8) as usize);
    assert_eq!(host.tper.receive(0, 1, COM_ID, 65_536).unwrap()[8..20], [0; 12], "nothing is left");
}

/// Linux reads a table in pieces that fill its 2048 bytes to the last.
#[test]
fn an_answer_may_fill_what_the_host_takes_and_what_it_takes_ends_with_a_reset() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let rows = |last: u64| list(&[name(n(1), n(0)), name(n(2), n(last))]);
    host.with(LOCKING_SP, crate::host::ADMIN1, b"own", |host| {
        let get = host.invoke(crate::host::DATA_STORE, crate::host::GET, &[rows(0x7bd)]);
        assert_eq!(get.map(|row| row.len()), Ok(2 + 0x7be));
        let get = host.invoke(crate::host::DATA_STORE, crate::host::GET, &[rows(0x7be)]);
        assert_eq!(get, Err(crate::host::RESPONSE_OVERFLOW));
    });
    let theirs = name(n(0), list(&[name(b(b"MaxComPacketSize"), n(65536))]));
    host.exchange((0, 0), &call(0xff, 0xff01, &[theirs]));
    let read = |host: &mut Host| {
        host.with(LOCKING_SP, crate::host::ADMIN1, b"own", |host| {
            host.invoke(crate::host::DATA_STORE, crate::host::GET, &[rows(9999)]).map(|row| row.len())
        })
    };
    assert_eq!(read(&mut host), Ok(4 + 10_000));
    host.tper.send(0, 2, COM_ID, &[0x10, 0, 0, 0, 0, 0, 0, 2]).unwrap();
    assert_eq!(read(&mut host), Err(crate::host::RESPONSE_OVERFLOW));
    assert_eq!(host.tper.receive(0, 1, COM_ID, 4).unwrap().len(), 4);
}

/// While the drive erases, the host is told to ask again.
#[test]
fn an_answer_comes_when_the_erase_has_ended() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, Some((crate::host::ADMIN1, b"own"))).unwrap();
    let tokens = call(1, crate::host::REVERT_SP, &[]);
    let session = packet(0x1003, 0x41, &tokens);
    assert_eq!(host.tper.send(host.now, 1, COM_ID, &session), Ok(Erased::Everything));
    assert!(host.tper.is_erasing());
    // Longer than a host may be silent.
    assert_eq!(host.tper.receive(1 << 40, 1, COM_ID, 512).unwrap()[8..12], [0, 0, 0, 1]);
    let outstanding = |tper: &mut Tper, now| tper.receive(now, 1, COM_ID, 512).unwrap()[8..20].to_vec();
    let wait = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(outstanding(&mut host.tper, 50), wait);
    host.tper.erased(100);
    assert_eq!(outstanding(&mut host.tper, 99), wait);
    assert_ne!(outstanding(&mut host.tper, 100), wait);
    assert!(!host.tper.is_activated());
}

#[test]
fn an_erase_that_failed_is_said_in_its_session_however_long_it_took() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, Some((crate::host::ADMIN1, b"own"))).unwrap();
    let session = packet(0x1003, 0x41, &call(1, crate::host::REVERT_SP, &[]));
    assert_eq!(host.tper.send(0, 1, COM_ID, &session), Ok(Erased::Everything));
    assert_eq!(host.tper.receive(1 << 40, 1, COM_ID, 512).unwrap()[8..12], [0, 0, 0, 1]);
    host.tper.not_erased(1 << 40);
    host.now = 1 << 40;
    let answer = host.fetch((0x1003, 0x41));
    assert_eq!((crate::host::status(&answer), host.tper.is_activated()), (crate::host::FAIL, true));
}

/// A reset is obeyed then, too: session and answer go, and the erase comes to its end.
#[test]
fn a_reset_while_the_drive_erases_ends_session_and_answer_but_not_the_erase() {
    let own = Some((crate::host::ADMIN1, &b"own"[..]));
    let resets = ["the TPer", "the stack", "the unit"];
    for (what, happens) in resets.into_iter().flat_map(|what| [(what, true), (what, false)]) {
        let locks = what == "the TPer";
        let reset = |tper: &mut Tper| match what {
            "the TPer" => drop(tper.send(0, 2, 4, &[0; 512]).unwrap()),
            "the stack" => drop(tper.send(0, 2, COM_ID, &[0x10, 0, 0, 0, 0, 0, 0, 2]).unwrap()),
            _ => tper.reset_stack(),
        };
        let mut host = Host::new();
        host.take_ownership(b"own");
        host.with(ADMIN_SP, crate::host::SID, b"own", |host| host.set(0x201_0003_0001, &[(8, n(1))]).unwrap());
        host.begin_as(LOCKING_SP, own).unwrap();
        host.set(crate::host::GLOBAL_RANGE, &[(5, n(1)), (9, list(&[n(0), n(3)]))]).unwrap();
        let numbers = host.numbers();
        let revert = packet(numbers.0, numbers.1, &call(1, crate::host::REVERT_SP, &[]));
        assert_eq!(host.tper.send(0, 1, COM_ID, &revert), Ok(Erased::Everything));
        reset(&mut host.tper);
        assert!(host.tper.is_erasing());
        let nothing = |host: &mut Host| host.tper.receive(0, 1, COM_ID, 512).unwrap()[8..20] == [0; 12];
        assert!(nothing(&mut host), "nobody waits for it");
        assert_eq!((host.tper.is_activated(), host.tper.is_locked()), (true, locks));
        // The next host is answered, and has to wait with its session.
        assert_eq!(crate::host::status(&host.exchange((0, 0), &call(0xff, 0xff01, &[]))), 0);
        assert_eq!(host.begin_as(LOCKING_SP, own), Err(NO_SESSIONS));
        if happens {
            host.tper.erased(5);
        } else {
            host.tper.not_erased(5);
        }
        assert!(nothing(&mut host), "it has no answer");
        assert_eq!((host.tper.is_activated(), host.tper.is_locked()), (!happens, locks && !happens));
        assert_eq!(host.begin_as(ADMIN_SP, None), Ok(()));
    }
}

#[test]
fn packets_of_other_sessions_and_without_sense_are_not_answered() {
    let mut host = Host::new();
    host.begin_as(ADMIN_SP, None).unwrap();
    assert_eq!(host.exchange((0x1001, 0x42), &[0xfa]), [0_u8; 0]);
    assert_eq!(host.exchange((0x1002, 0x41), &[0xfa]), [0_u8; 0]);
    assert_eq!(host.exchange((0, 0), &[0xf8]), [0_u8; 0]);
    host.tper.send(0, 1, COM_ID, &[1, 2, 3]).unwrap();
    // What cannot be understood in a session ends it.
    assert_eq!(host.exchange((0x1001, 0x41), &[0xf8, 0xf0]), [0xfa]);
    assert_eq!(host.exchange((0x1001, 0x41), &[0xfa]), [0_u8; 0]);
    assert_eq!(host.begin_as(ADMIN_SP, None), Ok(()));
}

#[test]
fn a_reset_of_the_stack_and_silence_end_a_session() {
    let mut host = Host::new();
    host.begin_as(ADMIN_SP, None).unwrap();
    let request = |code: u8| [0x10, 0, 0, 0, 0, 0, 0, code];
    host.tper.send(0, 2, COM_ID, &request(1)).unwrap();
    let state = host.tper.receive(0, 2, COM_ID, 512).unwrap();
    assert_eq!((state.len(), &state[..16]), (46, &[0x10, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x22, 0, 0, 0, 3][..]));
    host.tper.send(0, 2, COM_ID, &request(2)).unwrap();
    assert_eq!(host.tper.receive(0, 2, COM_ID, 512).unwrap(), [0x10, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 0]);
    assert_eq!(host.begin_as(ADMIN_SP, None), Ok(()));
    // What it does not know is taken, and there is no response: not that of the request before, either.
    for unknown in [request(0), request(3), [0x10, 0, 0, 0, 1, 0, 0, 1]] {
        host.tper.send(0, 2, COM_ID, &request(1)).unwrap();
        assert_eq!(host.tper.send(0, 2, COM_ID, &unknown), Ok(Erased::Nothing));
        assert_eq!(host.tper.receive(0, 2, COM_ID, 512).unwrap(), [&[0x10, 0][..], &[0; 14]].concat());
    }
    for wrong in [&[0x10, 1, 0, 0, 0, 0, 0, 1][..], &[0x10, 0, 0, 0, 0, 0, 0]] {
        assert_eq!(host.tper.send(0, 2, COM_ID, wrong), Err(Refused::BadField));
    }
    host.now += 119_000_000_000;
    assert_eq!(host.begin_as(ADMIN_SP, None), Err(NO_SESSIONS));
    host.now += 2_000_000_000;
    assert_eq!(host.begin_as(ADMIN_SP, None), Ok(()));
    // Who only asks hears of it, too: first in a session, then issued.
    for state in [3, 2] {
        host.tper.send(host.now, 2, COM_ID, &request(1)).unwrap();
        assert_eq!(host.tper.receive(host.now, 2, COM_ID, 512).unwrap()[15], state);
        host.now += 121_000_000_000;
    }
}

#[test]
fn a_host_says_how_long_it_may_be_silent() {
    let mut host = Host::new();
    let answer = host.exchange((0, 0), &call(0xff, 0xff01, &[]));
    // In milliseconds.
    for (name, bytes) in [
        (&b"DefSessionTimeout"[..], &[0x84, 0, 1, 0xd4, 0xc0][..]),
        (b"MaxSessionTimeout", &[0x84, 0, 9, 0x27, 0xc0]),
        (b"MinSessionTimeout", &[0x82, 0x13, 0x88]),
    ] {
        let whole = [name, bytes].concat();
        assert!(answer.windows(whole.len()).any(|found| found == whole), "{}", String::from_utf8_lossy(name));
    }
    let begin = |host: &mut Host, timeout: Vec<u8>| {
        let parameters = [n(0x41), crate::host::u(ADMIN_SP), n(1), name(n(5), timeout)];
        crate::host::status(&host.exchange((0, 0), &call(0xff, 0xff02, &parameters)))
    };
    for wrong in [n(0), n(4999), n(600_001), n(u64::MAX), b(b"long")] {
        assert_eq!(begin(&mut host, wrong), crate::host::INVALID_PARAMETER);
    }
    let transactions = [n(0x41), crate::host::u(ADMIN_SP), n(1), name(n(6), n(10_000))];
    let answer = host.exchange((0, 0), &call(0xff, 0xff02, &transactions));
    assert_eq!(crate::host::status(&answer), crate::host::INVALID_PARAMETER, "a time that the drive does not have");
    for (asked, seconds) in [(5000, 5), (600_000, 600)] {
        assert_eq!(begin(&mut host, n(asked)), 0);
        host.now += seconds * 1_000_000_000;
        assert_eq!(host.begin_as(ADMIN_SP, None), Err(NO_SESSIONS));
        host.now += 1;
        assert_eq!(host.begin_as(ADMIN_SP, None), Ok(()));
        host.end();
    }
    // What the SP says of it is 0: it has no say.
    host.begin_as(ADMIN_SP, None).unwrap();
    assert_eq!(host.number(0x2_0000_0001, 5), 0);
}

/// A host that is switched off between its packet and the answer would else be in the way of every other for ever.
#[test]
fn an_answer_that_nobody_fetches_goes_with_its_host() {
    let mut host = Host::new();
    let second = 1_000_000_000;
    for begins_session in [false, true] {
        let call = match begins_session {
            true => call(0xff, 0xff02, &[n(0x41), crate::host::u(ADMIN_SP), n(1)]),
            false => call(0xff, 0xff01, &[]),
        };
        host.tper.send(host.now, 1, COM_ID, &packet(0, 0, &call)).unwrap();
        host.now += 120 * second;
        assert_eq!(host.tper.send(host.now, 1, COM_ID, &packet(0, 0, &call)), Err(Refused::Sequence));
        host.now += 1;
        host.begin_as(ADMIN_SP, None).unwrap();
        host.end();
    }
}

#[test]
fn an_erase_counts_for_nobody_before_it_has_ended() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, Some((crate::host::ADMIN1, b"own"))).unwrap();
    host.set(crate::host::GLOBAL_RANGE, &[(5, n(1)), (7, n(1))]).unwrap();
    let session = packet(0x1003, 0x41, &call(1, crate::host::REVERT_SP, &[]));
    assert_eq!(host.tper.send(0, 1, COM_ID, &session), Ok(Erased::Everything));
    let locking = |host: &mut Host| host.tper.receive(0, 1, 1, 512).unwrap()[48 + 16 + 4];
    assert_eq!((host.tper.is_activated(), host.tper.is_locked(), locking(&mut host)), (true, true, 0b1111));
    assert_eq!(host.tper.access(0, 8, false), ssdlab_opal::Access::Locked);
    host.tper.erased(5);
    assert_eq!((host.tper.is_activated(), locking(&mut host)), (false, 0b1001));
    assert_eq!(host.tper.access(0, 8, false), ssdlab_opal::Access::Allowed);
}

#[test]
fn pages_that_are_none_of_a_drive_are_refused() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let mut pages: Vec<_> = host.tper.take_changed().into_iter().map(|(at, page)| (at, page.unwrap())).collect();
    let load = |pages: &[(u32, Vec<u8>)]| Tper::new(identity(), GEOMETRY).load(pages.iter().cloned());
    assert_eq!(load(&pages), Ok(()));
    assert!(load(&[(0, vec![0; 100])]).is_err() && load(&[(3, vec![0; 4096])]).is_err());
    assert!(load(&[(0x9_0000, vec![0; 4096])]).is_err() && load(&[(0, vec![0xff; 4096])]).is_err());
    pages[0].1[8] ^= 0xff;
    pages[0].1.truncate(4095);
    assert!(load(&pages).is_err());
}

/// Whatever pages say, they are refused, or make a drive that answers.
#[test]
fn spoiled_pages_are_refused_or_harmless() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.with(LOCKING_SP, crate::host::ADMIN1, b"own", |host| {
        let both = crate::host::any_of(&[crate::host::ADMIN1, crate::host::USER1]);
        host.set(crate::host::ACE_READ_LOCK_1, &[(3, both)]).unwrap();
        host.set(crate::host::RANGE1, &[(3, n(800)), (4, n(80))]).unwrap();
    });
    let pages = host.tper.pages();
    let (mut refused, mut seed) = (0, 7_u32);
    for _ in 0..300 {
        let mut page = pages[0].1.clone().unwrap();
        let length = 4 + usize::from(page[0]) + 256 * usize::from(page[1]);
        for _ in 0..2 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            page[seed as usize / 256 % length] = seed as u8;
        }
        let mut host = Host::new();
        if host.tper.load([(0, page)]).is_err() {
            refused += 1;
            continue;
        }
        let _ = host.tper.access(0, 1 << 21, true);
        host.tper.take_changed();
        if host.tper.is_activated() && host.begin_as(LOCKING_SP, None).is_ok() {
            let lock = crate::host::values(&[(7, n(1))]);
            drop(host.say(&call(crate::host::RANGE1, crate::host::SET, &[lock])));
        }
    }
    assert!((10..290).contains(&refused), "{refused} of 300");
}

/// Bytes drawn at random, and messages with some of them changed, neither end the program nor open anything.
#[test]
fn nonsense_is_survived() {
    let mut seed = 1_u64;
    let mut draw = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, None).unwrap();
    let models = [
        call(0xff, 0xff02, &[n(0x41), crate::host::u(LOCKING_SP), n(1)]),
        call(crate::host::GLOBAL_RANGE, crate::host::SET, &[crate::host::values(&[(7, n(0))])]),
        call(crate::host::MBR, crate::host::GET, &[list(&[name(n(1), n(0)), name(n(2), n(9))])]),
        call(
            crate::host::ACE_READ_LOCK_1,
            crate::host::SET,
            &[crate::host::values(&[(3, crate::host::any_of(&[crate::host::ADMIN1]))])],
        ),
    ];
    for k in 0..20_000 {
        let mut tokens = models[k % models.len()].clone();
        for _ in 0..1 + draw() % 4 {
            let at = draw() as usize % tokens.len();
            tokens[at] = draw() as u8;
        }
        let numbers = if k % 3 == 0 { (0, 0) } else { (0x1003, 0x41) };
        let mut bytes = packet(numbers.0, numbers.1, &tokens);
        if k % 5 == 0 {
            let at = draw() as usize % 60;
            bytes[at] = draw() as u8;
        }
        let erased = host.tper.send(0, 1, COM_ID, &bytes);
        assert_eq!(erased, Ok(Erased::Nothing));
        host.tper.receive(0, 1, COM_ID, 65_536).unwrap();
    }
}
