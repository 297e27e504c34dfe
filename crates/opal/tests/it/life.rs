//! Locks, keys, resets and the power, over the life of a drive.

use std::collections::BTreeMap;

use crate::host::{
    ACE_READ_LOCK_1, ADMIN_SP, ADMIN1, AUTHENTICATE, COM_ID, DATA_STORE, FAIL, GEN_KEY, GET, GLOBAL_RANGE, Host, KEY1,
    LOCKED_OUT, LOCKING_SP, MBR, MBR_CONTROL, NOT_AUTHORIZED, PIN_SID, PIN_USER1, PSID, RANGE1, REVERT, REVERT_SP, SET,
    SID, USER1, any_of, b, call, identity, list, n, name, packet, status, u, values,
};
use ssdlab_opal::{Access, Erased, Refused};

fn locked(host: &Host, lba: u64) -> (bool, bool) {
    let is = |writes| host.tper.access(lba, 8, writes) == Access::Locked;
    (is(false), is(true))
}

#[test]
fn ranges_lock_when_the_power_comes_back() {
    let mut host = Host::new();
    let mut kept = BTreeMap::new();
    host.take_ownership(b"own");
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        host.set(RANGE1, &[(3, n(800)), (4, n(800)), (5, n(1)), (6, n(1))]).unwrap();
        host.set(GLOBAL_RANGE, &[(6, n(1))]).unwrap();
    });
    assert_eq!((locked(&host, 800), locked(&host, 0)), ((false, false), (false, false)));
    host.cycle_power(&mut kept);
    assert_eq!((locked(&host, 800), locked(&host, 0)), ((true, true), (false, true)));
    assert_eq!(host.tper.access(792, 16, false), Access::Locked, "a command needs the right of all its sectors");
    host.with(LOCKING_SP, ADMIN1, b"own", |host| host.set(RANGE1, &[(7, n(0)), (9, list(&[n(3), n(0)]))]).unwrap());
    assert_eq!(locked(&host, 800), (false, true));
    host.cycle_power(&mut kept);
    assert_eq!(locked(&host, 800), (true, true));
    // Nobody can say that the power shall leave a range, or the drive, open.
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        for resets in [&[][..], &[n(3)], &[n(0), n(0)], &[n(0), n(1)], &[n(2)]] {
            assert_eq!(host.set(RANGE1, &[(9, list(resets))]), Err(crate::host::INVALID_PARAMETER), "{resets:?}");
            assert_eq!(host.set(MBR_CONTROL, &[(3, list(resets))]), Err(crate::host::INVALID_PARAMETER));
        }
    });
}

/// Linux sets begin, length and what is enabled, and expects a range that is open.
#[test]
fn the_power_does_not_lock_what_is_not_enabled() {
    let mut host = Host::new();
    let mut kept = BTreeMap::new();
    host.take_ownership(b"own");
    host.cycle_power(&mut kept);
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        host.set(RANGE1, &[(3, n(800)), (4, n(800)), (5, n(1)), (6, n(1))]).unwrap();
    });
    assert_eq!(locked(&host, 800), (false, false));
}

#[test]
fn a_reset_by_the_host_locks_only_if_both_sides_have_agreed() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let reset = |host: &mut Host| host.tper.send(0, 2, 4, &[0; 512]);
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        host.set(GLOBAL_RANGE, &[(5, n(1)), (9, list(&[n(0), n(3)]))]).unwrap();
    });
    assert_eq!(reset(&mut host), Err(Refused::BadField));
    assert_eq!(locked(&host, 0), (false, false));
    host.with(ADMIN_SP, SID, b"own", |host| host.set(0x201_0003_0001, &[(8, n(1))]).unwrap());
    host.begin_as(LOCKING_SP, None).unwrap();
    assert_eq!(reset(&mut host), Ok(Erased::Nothing));
    assert_eq!(locked(&host, 0), (true, false));
    assert_eq!(host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))), Ok(()), "and no session is left");
    assert_eq!((host.number(GLOBAL_RANGE, 8), host.number(RANGE1, 7)), (1, 0), "both locks, and of no other range");
}

/// Nor does a reset obey what a transaction has set that is still open.
#[test]
fn a_reset_is_not_permitted_by_an_open_transaction() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(ADMIN_SP, Some((SID, b"own"))).unwrap();
    host.say(&[0xfb, 0]);
    host.set(0x201_0003_0001, &[(8, n(1))]).unwrap();
    assert_eq!(host.tper.send(0, 2, 4, &[0; 512]), Err(Refused::BadField));
    host.say(&[0xfc, 0]);
    assert_eq!(host.tper.send(0, 2, 4, &[0; 512]), Ok(Erased::Nothing));
}

#[test]
fn what_could_not_be_kept_has_failed_and_is_as_before() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    host.set(RANGE1, &[(3, n(800)), (4, n(800)), (5, n(1)), (7, n(1))]).unwrap();
    host.tper.take_changed();
    let fails = |host: &mut Host, tokens: &[u8]| {
        let before = host.tper.checkpoint();
        let numbers = host.numbers();
        host.tper.send(host.now, 1, COM_ID, &packet(numbers.0, numbers.1, tokens)).unwrap();
        assert!(!host.tper.has_only_unlocked(&before) && !host.tper.take_changed().is_empty());
        assert!(host.tper.not_kept(host.now, before), "it has an answer");
        // What is to be kept is what was before.
        host.tper.take_changed();
        host.fetch(numbers)
    };
    let pages = host.tper.pages();
    for (object, columns) in [
        (0xb_0001_0001, vec![(3, b(b"new"))]),
        (RANGE1, vec![(7, n(0)), (6, n(1))]),
        (RANGE1, vec![(8, n(1)), (7, n(0))]),
    ] {
        assert_eq!(status(&fails(&mut host, &call(object, SET, &[values(&columns)]))), 0x3f, "{columns:?}");
        assert!(host.tper.pages() == pages, "{columns:?}");
    }
    host.say(&[0xfb, 0]);
    host.set(RANGE1, &[(8, n(1))]).unwrap();
    assert_eq!(fails(&mut host, &[0xfc, 0]), [0xfc, 0x3f]);
    assert!(host.tper.pages() == pages);
    let before = host.tper.checkpoint();
    host.set(RANGE1, &[(7, n(0))]).unwrap();
    assert!(host.tper.has_only_unlocked(&before) && locked(&host, 1) == (false, false));
    host.end();
    host.with(LOCKING_SP, ADMIN1, b"own", |host| assert_eq!(host.number(RANGE1, 8), 0));
}

/// What the last packet of a session would have been answered with is no answer to what comes after it, but for its own erase.
#[test]
fn a_reset_that_could_not_be_kept_has_no_answer_though_a_session_was_open() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.with(ADMIN_SP, SID, b"own", |host| host.set(0x201_0003_0001, &[(8, n(1))]).unwrap());
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    host.set(GLOBAL_RANGE, &[(5, n(1)), (9, list(&[n(0), n(3)]))]).unwrap();
    host.tper.take_changed();
    let (before, numbers) = (host.tper.checkpoint(), host.numbers());
    assert_eq!(host.tper.send(0, 2, 4, &[0; 512]), Ok(Erased::Nothing));
    assert!(!host.tper.has_only_unlocked(&before) && !host.tper.take_changed().is_empty());
    assert!(!host.tper.not_kept(0, before), "it has no answer");
    assert_eq!((locked(&host, 0), host.fetch(numbers)), ((false, false), vec![]));
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    let numbers = host.numbers();
    let new_key = packet(numbers.0, numbers.1, &call(0x806_0000_0001, GEN_KEY, &[]));
    let erased = host.tper.send(0, 1, COM_ID, &new_key);
    assert_ne!(erased, Ok(Erased::Nothing));
    let id = COM_ID.to_be_bytes();
    assert_eq!(host.tper.send(0, 2, COM_ID, &[id[0], id[1], 0, 0, 0, 0, 0, 1]), Ok(Erased::Nothing));
    host.tper.not_erased(0);
    assert_eq!(status(&host.fetch(numbers)), 0x3f);
}

/// Nothing is erased: nobody has set up a range.
#[test]
fn a_revert_that_could_not_be_kept_has_not_ended_its_session() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    let keeps_global = name(vec![0x83, 6, 0, 0], n(1));
    let (before, numbers) = (host.tper.checkpoint(), host.numbers());
    let revert = packet(numbers.0, numbers.1, &call(1, REVERT_SP, std::slice::from_ref(&keeps_global)));
    assert_eq!(host.tper.send(0, 1, COM_ID, &revert), Ok(Erased::Nothing));
    assert!(host.tper.not_kept(0, before));
    assert_eq!((status(&host.fetch(numbers)), host.tper.is_activated()), (0x3f, true));
    host.set(GLOBAL_RANGE, &[(5, n(1))]).unwrap();
    host.invoke(1, REVERT_SP, &[keeps_global]).unwrap();
    assert_eq!(host.say(&[0xfa]), [0_u8; 0], "the drive has ended the session");
}

/// Neither of the label's authority, whose PIN a revert leaves, nor of the SID, whatever PIN it had; nor by a PIN that was not kept.
#[test]
fn a_lockout_outlasts_what_could_not_be_erased_or_kept() {
    for own in [identity().msid.as_bytes(), b"own"] {
        let mut host = Host::new();
        host.take_ownership(own);
        host.begin_as(ADMIN_SP, Some((SID, own))).unwrap();
        let show = |host: &mut Host, who: u64, pin: &[u8]| host.invoke(1, AUTHENTICATE, &[u(who), name(n(0), b(pin))]);
        for who in [SID, PSID] {
            (0..5).for_each(|_| assert_eq!(show(&mut host, who, b"guess"), Ok(n(0))));
        }
        let psid = identity().psid;
        let are_locked_out = |host: &mut Host| {
            let found = [show(host, SID, own), show(host, PSID, psid.as_bytes())];
            assert_eq!(found, [Err(LOCKED_OUT), Err(LOCKED_OUT)]);
        };
        let numbers = host.numbers();
        let says = |host: &mut Host, tokens: &[u8]| {
            host.tper.send(host.now, 1, COM_ID, &packet(numbers.0, numbers.1, tokens)).unwrap()
        };
        assert_eq!(says(&mut host, &call(ADMIN_SP, REVERT, &[])), Erased::Everything);
        host.tper.not_erased(0);
        assert_eq!(status(&host.fetch(numbers)), FAIL);
        are_locked_out(&mut host);
        let before = host.tper.checkpoint();
        says(&mut host, &call(PIN_SID, SET, &[values(&[(3, b(b"new"))])]));
        assert!(host.tper.not_kept(0, before));
        assert_eq!(status(&host.fetch(numbers)), FAIL);
        are_locked_out(&mut host);
        host.invoke(ADMIN_SP, REVERT, &[]).unwrap();
        let msid = identity().msid;
        for (who, pin) in [(SID, &msid), (PSID, &psid)] {
            host.with(ADMIN_SP, who, pin.as_bytes(), |_| ());
        }
    }
}

#[test]
fn a_new_key_erases_the_sectors_of_its_range() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        host.set(RANGE1, &[(3, n(800)), (4, n(800))]).unwrap();
        host.invoke(KEY1, GEN_KEY, &[]).unwrap();
        host.invoke(0x806_0000_0001, GEN_KEY, &[]).unwrap();
        host.set(RANGE1, &[(4, n(400))]).unwrap();
        // The same again moves nothing.
        host.set(RANGE1, &[(3, n(800)), (4, n(400))]).unwrap();
    });
    let sectors = |all: &[std::ops::Range<u64>]| Erased::Sectors(all.to_vec());
    let expected =
        [sectors(&[800..1600]), sectors(&[800..1600]), sectors(&[0..800, 1600..1 << 21]), sectors(&[1200..1600])];
    assert_eq!(host.erased, expected);
}

#[test]
fn the_shadow_stands_before_the_drive_until_it_is_done() {
    let mut host = Host::new();
    let mut kept = BTreeMap::new();
    host.take_ownership(b"own");
    let shadow = (128 << 20) / 512;
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        host.invoke(MBR, SET, &[name(n(0), n(512)), name(n(1), b(b"an image that asks for a password"))]).unwrap();
        host.set(MBR_CONTROL, &[(1, n(1)), (2, n(1))]).unwrap();
    });
    assert_eq!((host.tper.access(0, 8, false), host.tper.has_shadow()), (Access::Allowed, false));
    host.cycle_power(&mut kept);
    assert_eq!((host.tper.access(0, 8, false), host.tper.has_shadow()), (Access::Shadow, true));
    assert_eq!(host.tper.access(0, 8, true), Access::Locked);
    assert_eq!(host.tper.access(shadow - 8, 16, false), Access::Locked);
    assert_eq!(
        (host.tper.access(shadow, 8, false), host.tper.access(shadow, 8, true)),
        (Access::Allowed, Access::Allowed)
    );
    let mut bytes = [0xff; 1024];
    host.tper.read_shadow(0, &mut bytes);
    assert!(bytes[..512].iter().all(|&byte| byte == 0) && bytes[512..].starts_with(b"an image"));
    host.with(LOCKING_SP, ADMIN1, b"own", |host| host.set(MBR_CONTROL, &[(2, n(1))]).unwrap());
    assert_eq!(host.tper.access(0, 8, true), Access::Allowed);
}

#[test]
fn what_is_kept_comes_back_and_what_is_reverted_does_not() {
    let mut host = Host::new();
    let mut kept = BTreeMap::new();
    assert!(host.tper.take_changed().is_empty(), "a new drive has nothing to keep");
    host.take_ownership(b"own");
    let read = |host: &mut Host| host.invoke(DATA_STORE, GET, &[list(&[name(n(1), n(9000)), name(n(2), n(9003))])]);
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        host.invoke(DATA_STORE, SET, &[name(n(0), n(9000)), name(n(1), b(b"kept"))]).unwrap();
        host.set(RANGE1, &[(2, b(b"home")), (3, n(800)), (4, n(800))]).unwrap();
    });
    host.cycle_power(&mut kept);
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        assert_eq!((read(host), host.number(RANGE1, 3)), (Ok(b(b"kept")), 800));
        assert_eq!(host.get(RANGE1, 2, 2).unwrap(), list(&[name(n(2), b(b"home"))]));
    });
    assert_eq!(kept.len(), 1 + 1, "a page of state and one of the data store: {:?}", kept.keys());
    // PSID is on the label; the drive is as new, and erased.
    host.erased.clear();
    host.begin_as(ADMIN_SP, Some((PSID, identity().psid.as_bytes()))).unwrap();
    host.invoke(ADMIN_SP, REVERT, &[]).unwrap();
    assert_eq!(host.erased, [Erased::Everything]);
    assert_eq!(host.say(&[0xfa]), [0_u8; 0], "the drive has ended the session");
    host.cycle_power(&mut kept);
    assert!(!host.tper.is_activated());
    assert_eq!(kept.keys().filter(|&&number| number >= 0x1_0000).count(), 0);
    host.take_ownership(b"again");
    host.with(LOCKING_SP, ADMIN1, b"again", |host| {
        assert_eq!((read(host), host.number(RANGE1, 4)), (Ok(b(&[0; 4])), 0));
    });
}

#[test]
fn the_global_range_may_keep_its_key() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let revert = |host: &mut Host| {
        host.with(LOCKING_SP, ADMIN1, b"own", |host| host.set(RANGE1, &[(3, n(800)), (4, n(800))]).unwrap());
        host.erased.clear();
        host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
        host.invoke(1, REVERT_SP, &[name([vec![0x83], vec![6, 0, 0]].concat(), n(1))])
    };
    assert_eq!(revert(&mut host), Ok(vec![]));
    assert_eq!(host.erased, [Erased::Sectors(vec![800..1600])]);
    assert!(!host.tper.is_activated());
    // The SID has its PIN still.
    host.with(ADMIN_SP, SID, b"own", |host| host.invoke(LOCKING_SP, crate::host::ACTIVATE, &[]).unwrap());
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        host.set(GLOBAL_RANGE, &[(5, n(1)), (6, n(1)), (7, n(1)), (8, n(1))]).unwrap();
    });
    assert_eq!(revert(&mut host), Err(crate::host::FAIL), "not while nobody can read it");
    assert!(host.tper.is_activated());
}

#[test]
fn an_erase_that_the_power_ends_has_not_happened() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.with(LOCKING_SP, ADMIN1, b"own", |host| host.set(GLOBAL_RANGE, &[(5, n(1))]).unwrap());
    host.begin_as(ADMIN_SP, Some((SID, b"own"))).unwrap();
    let session = packet(0x1004, 0x41, &call(ADMIN_SP, REVERT, &[]));
    assert_eq!(host.tper.send(0, 1, COM_ID, &session), Ok(Erased::Everything));
    host.tper.power_cycled();
    assert!(host.tper.is_activated() && !host.tper.is_erasing());
    assert_eq!(locked(&host, 0), (true, false));
    assert_eq!(host.begin_as(ADMIN_SP, Some((SID, identity().msid.as_bytes()))), Err(NOT_AUTHORIZED));
    assert_eq!(host.begin_as(ADMIN_SP, Some((SID, b"own"))), Ok(()));
}

#[test]
fn activation_and_reverts_leave_the_pins_and_tables_that_the_standard_names() {
    let mut host = Host::new();
    let (tper_info, makers, admin) = (0x201_0003_0001, 0x9_0000_0003, 0x9_0000_0201);
    let number = |host: &mut Host, object: u64, column: u64| {
        host.begin_as(ADMIN_SP, None).unwrap();
        let found = host.number(object, column);
        host.end();
        found
    };
    let personal = |host: &mut Host| {
        host.set(0x9_0001_0002, &[(5, n(1))]).unwrap();
        host.set(USER1, &[(5, n(1)), (2, b(b"guest"))]).unwrap();
        host.set(PIN_USER1, &[(3, b(b"user"))]).unwrap();
        host.set(ACE_READ_LOCK_1, &[(3, any_of(&[USER1]))]).unwrap();
        host.set(RANGE1, &[(3, n(800)), (4, n(800)), (5, n(1)), (9, list(&[n(0), n(3)]))]).unwrap();
        host.invoke(MBR, SET, &[name(n(0), n(0)), name(n(1), b(b"boot"))]).unwrap();
        host.invoke(DATA_STORE, SET, &[name(n(0), n(0)), name(n(1), b(b"kept"))]).unwrap();
        host.set(MBR_CONTROL, &[(1, n(1)), (3, list(&[n(0), n(3)]))]).unwrap();
    };
    let as_new = |host: &mut Host| {
        assert_eq!((host.number(0x9_0001_0002, 5), host.number(USER1, 5)), (0, 0));
        assert_eq!(host.get(USER1, 2, 2).unwrap(), list(&[name(n(2), b(b""))]));
        assert_eq!(host.get(ACE_READ_LOCK_1, 3, 3).unwrap(), list(&[name(n(3), any_of(&[0x9_0000_0002]))]));
        assert!((3..=8).all(|column| host.number(RANGE1, column) == 0));
        assert_eq!(host.get(RANGE1, 9, 9).unwrap(), list(&[name(n(9), list(&[n(0)]))]));
        assert_eq!((host.number(MBR_CONTROL, 1), host.number(MBR_CONTROL, 2)), (0, 0));
        for table in [MBR, DATA_STORE] {
            assert_eq!(host.invoke(table, GET, &[list(&[name(n(1), n(0)), name(n(2), n(3))])]), Ok(b(&[0; 4])));
        }
        host.set(USER1, &[(5, n(1))]).unwrap();
        let show = |pin: &[u8]| [u(USER1), name(n(0), b(pin))];
        assert_eq!(host.invoke(1, AUTHENTICATE, &show(b"user")), Ok(n(0)));
        assert_eq!(host.invoke(1, AUTHENTICATE, &show(b"")), Ok(n(1)));
    };

    // A drive that nobody has activated loses nothing by a revert.
    host.begin_as(ADMIN_SP, Some((PSID, identity().psid.as_bytes()))).unwrap();
    host.invoke(ADMIN_SP, REVERT, &[]).unwrap();
    assert!(host.erased.is_empty());

    host.take_ownership(b"own");
    host.with(ADMIN_SP, SID, b"own", |host| {
        host.set(PIN_SID, &[(3, b(b"another"))]).unwrap();
        host.set(tper_info, &[(8, n(1))]).unwrap();
        host.set(makers, &[(5, n(0))]).unwrap();
        host.set(admin, &[(5, n(1))]).unwrap();
        host.set(0xb_0000_0201, &[(3, b(b"admin"))]).unwrap();
    });
    // The first administrator has the PIN that the SID had.
    host.with(LOCKING_SP, ADMIN1, b"own", personal);
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    host.invoke(1, REVERT_SP, &[]).unwrap();
    // The other SP has nothing to do with that.
    assert_eq!((number(&mut host, tper_info, 8), number(&mut host, makers, 5), number(&mut host, admin, 5)), (1, 0, 1));
    host.with(ADMIN_SP, SID, b"another", |host| host.invoke(LOCKING_SP, crate::host::ACTIVATE, &[]).unwrap());
    host.with(LOCKING_SP, ADMIN1, b"another", as_new);
    host.with(LOCKING_SP, ADMIN1, b"another", personal);
    host.with(ADMIN_SP, SID, b"another", |host| {
        host.invoke(LOCKING_SP, REVERT, &[]).unwrap();
        assert_eq!(host.number(LOCKING_SP, 6), 8);
        host.invoke(LOCKING_SP, crate::host::ACTIVATE, &[]).unwrap();
    });
    host.with(LOCKING_SP, ADMIN1, b"another", as_new);

    // Whatever is forgotten, and however often it was tried.
    for _ in 0..5 {
        assert_eq!(host.begin_as(ADMIN_SP, Some((SID, b"guess"))), Err(NOT_AUTHORIZED));
    }
    assert_eq!(host.begin_as(ADMIN_SP, Some((SID, b"another"))), Err(crate::host::LOCKED_OUT));
    host.begin_as(ADMIN_SP, Some((PSID, identity().psid.as_bytes()))).unwrap();
    host.invoke(ADMIN_SP, REVERT, &[]).unwrap();
    assert_eq!((number(&mut host, tper_info, 8), number(&mut host, makers, 5), number(&mut host, admin, 5)), (0, 1, 0));
    let msid = host.msid();
    host.with(ADMIN_SP, SID, &msid, |host| {
        host.set(admin, &[(5, n(1))]).unwrap();
        let show = |pin: &[u8]| [u(admin), name(n(0), b(pin))];
        assert_eq!(host.invoke(1, AUTHENTICATE, &show(b"admin")), Ok(n(0)));
        assert_eq!(host.invoke(1, AUTHENTICATE, &show(b"")), Ok(n(1)));
        host.invoke(LOCKING_SP, crate::host::ACTIVATE, &[]).unwrap();
    });
    host.with(LOCKING_SP, ADMIN1, &msid, as_new);
    host.with(ADMIN_SP, PSID, identity().psid.as_bytes(), |_| ());
}

/// What programs kept before the lengths of PINs stood behind the state.
#[test]
fn a_state_of_an_earlier_form_is_taken_back_and_its_pins_count() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let mut kept: Vec<(u32, Vec<u8>)> =
        host.tper.pages().into_iter().map(|(number, page)| (number, page.expect("it is not empty"))).collect();
    let state = &mut kept[0].1;
    let length = u32::from_le_bytes(state[..4].try_into().unwrap());
    let behind = 4 + length as usize;
    // SID, PSID, one administrator; four more, and nine users.
    assert_eq!(state[behind - 16..behind], [3, 31, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let now = kept.clone();
    let state = &mut kept[0].1;
    state[behind - 16..behind].fill(0);
    state[..4].copy_from_slice(&(length - 16).to_le_bytes());
    for (kept, forgets) in [(&kept, true), (&now, false)] {
        host.tper.load(kept.clone()).unwrap();
        host.with(LOCKING_SP, ADMIN1, b"own", |_| ());
        assert_eq!(host.begin_as(LOCKING_SP, Some((ADMIN1, b"own\0"))).is_ok(), forgets);
        if forgets {
            host.end();
        }
    }
    let mut spoilt = now;
    spoilt[0].1[behind - 1] = 33;
    assert!(host.tper.load(spoilt).is_err());
}

/// It ends with the lengths of PINs, most of which are 0, and no image keeps a page of zeroes.
#[test]
fn a_state_whose_last_page_is_all_zeroes_is_taken_back() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let bytes = |host: &Host| {
        let first = host.tper.pages().swap_remove(0).1.expect("it is not empty");
        4 + u32::from_le_bytes(first[..4].try_into().unwrap()) as usize
    };
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    let users: Vec<u64> = (0..16).map(|k| USER1 + k % 9).collect();
    for row in [0x8_0003_d000_u64, 0x8_0003_e000, 0x8_0003_e800].into_iter().flat_map(|first| first..first + 9) {
        if bytes(&host) + 200 <= 4096 {
            host.set(row, &[(3, any_of(&users))]).unwrap();
        }
    }
    let names = vec![7; 4096 + 6 - bytes(&host)];
    for (range, name) in (RANGE1..).zip(names.chunks(32)) {
        host.set(range, &[(2, b(name))]).unwrap();
    }
    host.end();
    assert_eq!(bytes(&host), 4096 + 6);
    let kept = host.tper.pages().into_iter().map(|(number, page)| (number, page.expect("it is not empty")));
    let kept: Vec<_> = kept.filter(|page| page.1.iter().any(|&byte| byte != 0)).collect();
    assert_eq!(kept.iter().map(|page| page.0).collect::<Vec<_>>(), [0]);
    host.tper.load(kept).unwrap();
    assert_eq!(bytes(&host), 4096 + 6);
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        assert_eq!(host.get(RANGE1, 2, 2).unwrap(), list(&[name(n(2), b(&[7; 32]))]));
    });
}
