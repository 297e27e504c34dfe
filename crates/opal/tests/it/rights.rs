//! Who may do what.

use crate::host::{
    ACE_RANGE_GET_1, ACE_READ_LOCK_1, ACE_WRITE_LOCK_1, ACTIVATE, ADMIN_SP, ADMIN1, AUTHENTICATE, DATA_STORE, FAIL,
    GEN_KEY, GET, GLOBAL_RANGE, Host, INVALID_PARAMETER, KEY1, LOCKED_OUT, LOCKING_SP, MBR, MBR_CONTROL, NEXT,
    NOT_AUTHORIZED, PIN_MSID, PIN_SID, PIN_USER1, RANDOM, RANGE1, RESPONSE_OVERFLOW, REVERT, SET, SID, USER1, USER2,
    any_of, b, list, n, name, u,
};
use ssdlab_opal::Access;

#[test]
fn a_new_drive_is_opened_with_the_pin_that_it_tells() {
    let mut host = Host::new();
    let msid = host.msid();
    assert_eq!(msid, crate::host::identity().msid.as_bytes());
    assert_eq!(host.begin_as(ADMIN_SP, Some((SID, b"another"))), Err(NOT_AUTHORIZED));
    // Nobody reads the PIN of the SID, and nobody without a PIN sets it, or activates anything.
    host.begin_as(ADMIN_SP, None).unwrap();
    assert_eq!(host.get(PIN_SID, 3, 3), Ok(vec![0xf0, 0xf1]));
    assert_eq!(host.set(PIN_SID, &[(3, b(b"mine"))]), Err(NOT_AUTHORIZED));
    assert_eq!(host.invoke(LOCKING_SP, ACTIVATE, &[]), Err(NOT_AUTHORIZED));
    assert_eq!(host.number(LOCKING_SP, 6), 8, "manufactured, inactive");
    host.end();
    assert_eq!(host.begin_as(LOCKING_SP, None), Err(INVALID_PARAMETER));
    host.take_ownership(b"own");
    assert_eq!(host.begin_as(ADMIN_SP, Some((SID, &msid))), Err(NOT_AUTHORIZED));
    host.with(ADMIN_SP, SID, b"own", |host| {
        assert_eq!(host.number(LOCKING_SP, 6), 9);
        assert_eq!(host.get(PIN_MSID, 3, 3).map(|row| row.len()), Ok(5 + msid.len() + 2));
    });
    assert_eq!(host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))), Ok(()));
}

#[test]
fn nobody_is_a_whole_class() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let (admins, users) = (0x9_0000_0002, 0x9_0003_0000);
    assert_eq!(host.begin_as(LOCKING_SP, Some((admins, b""))), Err(INVALID_PARAMETER));
    host.begin_as(LOCKING_SP, None).unwrap();
    for who in [admins, users] {
        assert_eq!(show(&mut host, who, b""), Err(INVALID_PARAMETER));
    }
    assert_eq!(show(&mut host, 0x9_0000_0001, b"whatever"), Ok(n(1)), "anybody is anybody");
}

#[test]
fn the_administrator_of_the_admin_sp_may_revert_and_not_activate() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let (admin, pin) = (0x9_0000_0201, 0xb_0000_0201);
    assert_eq!(host.begin_as(ADMIN_SP, Some((admin, b""))), Err(NOT_AUTHORIZED), "it is not enabled");
    host.with(ADMIN_SP, SID, b"own", |host| {
        host.set(admin, &[(5, n(1))]).unwrap();
        host.set(pin, &[(3, b(b"of the makers"))]).unwrap();
        assert_eq!(host.set(SID, &[(5, n(0))]), Err(NOT_AUTHORIZED));
        assert_eq!(host.set(0x9_0000_0002, &[(5, n(0))]), Err(NOT_AUTHORIZED), "nor is a class of administrators");
        // What is active already stays as it is.
        assert_eq!(host.invoke(ADMIN_SP, ACTIVATE, &[]), Ok(vec![]));
        assert_eq!(host.invoke(LOCKING_SP, ACTIVATE, &[]), Ok(vec![]));
    });
    host.begin_as(ADMIN_SP, Some((admin, b"of the makers"))).unwrap();
    assert_eq!(host.invoke(LOCKING_SP, ACTIVATE, &[]), Err(NOT_AUTHORIZED));
    assert_eq!(host.set(PIN_SID, &[(3, b(b"mine"))]), Err(NOT_AUTHORIZED));
    assert_eq!(host.invoke(LOCKING_SP, REVERT, &[]), Ok(vec![]));
    assert!(!host.tper.is_activated());
    assert_eq!(host.invoke(ADMIN_SP, REVERT, &[]), Ok(vec![]), "and the session went on until now");
    let msid = crate::host::identity().msid;
    assert_eq!(host.begin_as(ADMIN_SP, Some((admin, b"of the makers"))), Err(NOT_AUTHORIZED));
    assert_eq!(host.begin_as(ADMIN_SP, Some((SID, msid.as_bytes()))), Ok(()));
    // Activating the Admin SP does not activate the other one.
    assert_eq!((host.invoke(ADMIN_SP, ACTIVATE, &[]), host.tper.is_activated()), (Ok(vec![]), false));
}

#[test]
fn too_many_tries_lock_an_authority_out_until_the_power_goes() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    for _ in 0..5 {
        assert_eq!(host.begin_as(LOCKING_SP, Some((ADMIN1, b"guess"))), Err(NOT_AUTHORIZED));
    }
    assert_eq!(host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))), Err(LOCKED_OUT));
    host.cycle_power(&mut Default::default());
    assert_eq!(host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))), Ok(()));
}

#[test]
fn a_user_may_what_the_administrators_give_to_it_and_no_more() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let user = b"user";
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        assert_eq!(host.number(USER1, 5), 0);
        host.set(RANGE1, &[(3, n(800)), (4, n(1600)), (5, n(1)), (6, n(1))]).unwrap();
        host.set(USER1, &[(5, n(1))]).unwrap();
        host.set(PIN_USER1, &[(3, b(user))]).unwrap();
        // As Linux gives a range to a user.
        host.set(ACE_READ_LOCK_1, &[(3, any_of(&[ADMIN1, USER1]))]).unwrap();
        host.set(ACE_WRITE_LOCK_1, &[(3, any_of(&[USER1, USER1]))]).unwrap();
        host.set(RANGE1, &[(7, n(1))]).unwrap();
        host.set(RANGE1, &[(8, n(1))]).unwrap();
        assert_eq!(host.get(ACE_READ_LOCK_1, 3, 3).unwrap(), list(&[name(n(3), any_of(&[ADMIN1, USER1]))]));
    });
    assert_eq!(host.tper.access(800, 8, false), Access::Locked);
    assert_eq!(host.begin_as(LOCKING_SP, Some((USER2, b""))), Err(NOT_AUTHORIZED), "a user that is not enabled");
    host.with(LOCKING_SP, USER1, user, |host| {
        // The user sees what was not given to it without the columns that it may not.
        assert_eq!(host.get(RANGE1, 3, 8), Ok(vec![0xf0, 0xf1]));
        assert_eq!(host.set(RANGE1, &[(3, n(0))]), Err(NOT_AUTHORIZED));
        assert_eq!(host.set(GLOBAL_RANGE, &[(7, n(0))]), Err(NOT_AUTHORIZED));
        assert_eq!(host.set(USER2, &[(5, n(1))]), Err(NOT_AUTHORIZED));
        assert_eq!(host.set(ACE_READ_LOCK_1, &[(3, any_of(&[USER2]))]), Err(NOT_AUTHORIZED));
        assert_eq!(host.invoke(KEY1, GEN_KEY, &[]), Err(NOT_AUTHORIZED));
        assert_eq!(host.invoke(MBR, SET, &[name(n(0), n(0)), name(n(1), b(b"boot"))]), Err(NOT_AUTHORIZED));
        assert_eq!(host.set(MBR_CONTROL, &[(1, n(1))]), Err(NOT_AUTHORIZED));
        // One column of several that may not be set leaves all as they were.
        assert_eq!(host.set(RANGE1, &[(7, n(0)), (5, n(0))]), Err(NOT_AUTHORIZED));
        assert_eq!(host.tper.access(800, 8, false), Access::Locked);
        host.set(RANGE1, &[(7, n(0)), (8, n(0))]).unwrap();
        host.set(PIN_USER1, &[(3, b(b"changed"))]).unwrap();
    });
    assert_eq!(host.tper.access(800, 8, false), Access::Allowed);
    assert_eq!(host.begin_as(LOCKING_SP, Some((USER1, user))), Err(NOT_AUTHORIZED));
    host.with(LOCKING_SP, ADMIN1, b"own", |host| host.set(ACE_RANGE_GET_1, &[(3, any_of(&[USER1]))]).unwrap());
    host.with(LOCKING_SP, USER1, b"changed", |host| assert_eq!(host.number(RANGE1, 4), 1600));
}

#[test]
fn more_is_opened_by_showing_another_pin_within_a_session() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, None).unwrap();
    assert_eq!(host.set(GLOBAL_RANGE, &[(5, n(1))]), Err(NOT_AUTHORIZED));
    let show = |host: &mut Host, pin: &[u8]| host.invoke(1, AUTHENTICATE, &[u(ADMIN1), name(n(0), b(pin))]);
    assert_eq!(show(&mut host, b"guess"), Ok(n(0)));
    assert_eq!(host.set(GLOBAL_RANGE, &[(5, n(1))]), Err(NOT_AUTHORIZED));
    assert_eq!(show(&mut host, b"own"), Ok(n(1)));
    assert_eq!(host.set(GLOBAL_RANGE, &[(5, n(1))]), Ok(()));
    host.end();
    // A session that only reads changes nothing, whoever holds it.
    host.begin_with(LOCKING_SP, Some((ADMIN1, b"own")), 0).unwrap();
    assert_eq!(host.set(GLOBAL_RANGE, &[(5, n(0))]), Err(NOT_AUTHORIZED));
    assert_eq!(host.number(GLOBAL_RANGE, 5), 1);
}

#[test]
fn values_that_mean_nothing_change_nothing() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        for (object, column, value) in [
            (RANGE1, 3, n(4)),
            (RANGE1, 4, n(1 << 21 | 8)),
            (RANGE1, 5, n(2)),
            (RANGE1, 9, list(&[n(1)])),
            (RANGE1, 3, b(b"begin")),
            (PIN_USER1, 3, b(&[7; 33])),
            (ACE_READ_LOCK_1, 3, list(&[])),
            (ACE_READ_LOCK_1, 3, any_of(&[SID])),
        ] {
            assert_eq!(host.set(object, &[(column, value)]), Err(INVALID_PARAMETER), "{object:x} {column}");
        }
        assert_eq!(host.set(GLOBAL_RANGE, &[(3, n(8))]), Err(NOT_AUTHORIZED), "the global range has no begin");
        assert_eq!(host.set(ADMIN1, &[(5, n(0))]), Err(NOT_AUTHORIZED), "somebody has to be left");
        assert_eq!(host.set(0x9_0001_0002, &[(5, n(1))]), Ok(()));
        // A column twice, in whatever order.
        assert_eq!(host.set(RANGE1, &[(5, n(1)), (5, n(0))]), Err(INVALID_PARAMETER));
        assert_eq!(host.number(RANGE1, 5), 0);
        // Columns of an object, rows of a table of bytes; an object is a row already.
        let rows = list(&[name(n(1), n(0)), name(n(2), n(0))]);
        assert_eq!(host.invoke(RANGE1, GET, std::slice::from_ref(&rows)), Err(INVALID_PARAMETER));
        assert_eq!(host.get(DATA_STORE, 0, 1), Err(INVALID_PARAMETER));
        let both = [name(n(0), u(RANGE1)), crate::host::values(&[(5, n(1))])];
        assert_eq!(host.invoke(RANGE1, SET, &both), Err(INVALID_PARAMETER));
        // Parameters that a method does not have.
        assert_eq!(host.invoke(KEY1, GEN_KEY, &[name(n(0), n(3))]), Err(INVALID_PARAMETER));
        assert_eq!(host.invoke(1, RANDOM, &[n(4), name(n(0), u(RANGE1))]), Err(INVALID_PARAMETER));
        assert_eq!(host.invoke(1, crate::host::REVERT_SP, &[name(n(9), n(1))]), Err(INVALID_PARAMETER));
        assert_eq!(host.invoke(0x802_0000_0000, NEXT, &[name(n(2), n(1))]), Err(INVALID_PARAMETER));
        for more in [list(&[]), n(1), name(n(1), n(0))] {
            assert_eq!(host.invoke(RANGE1, GET, &[list(&[]), more.clone()]), Err(INVALID_PARAMETER));
            assert_eq!(host.invoke(DATA_STORE, GET, &[rows.clone(), more]), Err(INVALID_PARAMETER));
        }
        assert!(host.tper.is_activated() && host.erased.is_empty());
        // Begin and length are looked at together, whatever comes first.
        host.set(RANGE1, &[(4, n(64)), (3, n((1 << 21) - 64))]).unwrap();
        assert_eq!(host.set(RANGE1, &[(4, n(72))]), Err(INVALID_PARAMETER));
        assert_eq!(host.number(RANGE1, 4), 64);
    });
}

#[test]
fn a_set_without_values_succeeds_and_changes_nothing() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    let pages = host.tper.pages();
    for object in [RANGE1, MBR_CONTROL, MBR, DATA_STORE] {
        assert_eq!(host.invoke(object, SET, &[]), Ok(vec![]), "{object:x}");
        assert_eq!(host.invoke(object, SET, &[name(n(1), n(0))]), Err(INVALID_PARAMETER), "{object:x}: no values");
    }
    assert_eq!(host.invoke(DATA_STORE, SET, &[name(n(0), n(9))]), Ok(vec![]));
    assert_eq!(host.invoke(DATA_STORE, SET, &[name(n(0), n(128 << 20))]), Err(INVALID_PARAMETER));
    assert!(host.tper.pages() == pages);
}

/// Not even of an authority whose PIN is empty.
#[test]
fn what_is_no_pin_is_no_try() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let number = |who: u64| [u(who), name(n(0), n(5))];
    let begin = [n(0x41), u(LOCKING_SP), n(1), name(n(0), n(5)), name(n(3), u(ADMIN1))];
    for _ in 0..6 {
        let answer = host.exchange((0, 0), &crate::host::call(0xff, 0xff02, &begin));
        assert_eq!(crate::host::status(&answer), INVALID_PARAMETER);
    }
    host.begin_as(LOCKING_SP, None).unwrap();
    for _ in 0..6 {
        assert_eq!(host.invoke(1, AUTHENTICATE, &number(ADMIN1)), Err(INVALID_PARAMETER));
    }
    assert_eq!(show(&mut host, ADMIN1, b"own"), Ok(n(1)));
    host.set(USER1, &[(5, n(1))]).unwrap();
    assert_eq!(host.invoke(1, AUTHENTICATE, &number(USER1)), Err(INVALID_PARAMETER));
    assert_eq!(host.invoke(1, AUTHENTICATE, &[u(USER1)]), Ok(n(1)));
}

#[test]
fn byte_tables_are_read_and_written_in_pieces() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let rows = |from: u64, to: u64| list(&[name(n(1), n(from)), name(n(2), n(to))]);
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        let write = |at: u64, bytes: &[u8]| [name(n(0), n(at)), name(n(1), b(bytes))];
        assert_eq!(host.number(0x1_0000_0804, 7), 128 << 20, "the table of tables tells its size");
        assert_eq!(host.number(0x1_0000_1001, 7), 10 << 20);
        for table in [MBR, DATA_STORE] {
            host.invoke(table, SET, &write(4090, b"across a page")).unwrap();
            assert_eq!(host.invoke(table, GET, &[rows(4090, 4102)]), Ok(b(b"across a page")));
            assert_eq!(host.invoke(table, GET, &[rows(0, 5000)]), Err(RESPONSE_OVERFLOW));
            assert_eq!(host.invoke(table, GET, &[rows(9, 8)]), Err(INVALID_PARAMETER));
            assert_eq!(host.invoke(table, SET, &write(128 << 20, b"x")), Err(INVALID_PARAMETER));
        }
    });
    host.begin_as(LOCKING_SP, None).unwrap();
    assert_eq!(host.invoke(MBR, GET, &[rows(4090, 4092)]), Ok(b(b"acr")), "the shadow is for all to read");
    assert_eq!(host.invoke(DATA_STORE, GET, &[rows(4090, 4092)]), Err(NOT_AUTHORIZED));
}

#[test]
fn tables_are_gone_through_row_by_row() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    let mut found = Vec::new();
    let mut after = Vec::new();
    loop {
        let parameters: Vec<_> =
            [after.clone(), name(n(1), n(4))].into_iter().filter(|part| !part.is_empty()).collect();
        let rows = host.invoke(0x802_0000_0000, NEXT, &parameters).unwrap();
        let rows: Vec<u64> =
            rows[1..rows.len() - 1].chunks(9).map(|row| u64::from_be_bytes(row[1..].try_into().unwrap())).collect();
        let Some(&last) = rows.last() else { break };
        found.extend(rows);
        after = name(n(0), u(last));
    }
    let ranges: Vec<u64> = std::iter::once(GLOBAL_RANGE).chain(RANGE1..RANGE1 + 8).collect();
    assert_eq!(found, ranges);
    let random = host.invoke(1, RANDOM, &[n(32)]).unwrap();
    assert_eq!((random.len(), random[..2].to_vec()), (34, vec![0xd0, 32]));
    assert_ne!(host.invoke(1, RANDOM, &[n(32)]).unwrap(), random);
    assert_eq!(host.invoke(1, RANDOM, &[n(33)]), Err(INVALID_PARAMETER));
}

fn show(host: &mut Host, who: u64, pin: &[u8]) -> Result<Vec<u8>, u8> {
    host.invoke(1, AUTHENTICATE, &[u(who), name(n(0), b(pin))])
}

#[test]
fn a_transaction_that_does_not_hold_has_not_happened() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    let write = |bytes: &[u8]| [name(n(0), n(0)), name(n(1), b(bytes))];
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    host.set(GLOBAL_RANGE, &[(5, n(1)), (7, n(1))]).unwrap();
    drop(host.tper.take_changed());
    assert_eq!(host.say(&[0xfb, 0]), [0xfb, 0]);
    assert_eq!(host.say(&[0xfb, 0]), [0xfb, FAIL], "one within another");
    host.set(GLOBAL_RANGE, &[(7, n(0))]).unwrap();
    host.invoke(MBR, SET, &write(b"boot")).unwrap();
    assert_eq!(host.tper.take_changed(), Vec::<ssdlab_opal::Page>::new(), "it may still not hold");
    assert_eq!(host.tper.access(0, 8, false), Access::Locked, "nor does it count for anybody");
    assert_eq!(host.say(&[0xfc, 1]), [0xfc, 0]);
    assert_eq!(host.number(GLOBAL_RANGE, 7), 1);
    assert_eq!(host.say(&[0xfb, 0]), [0xfb, 0]);
    host.set(GLOBAL_RANGE, &[(7, n(0))]).unwrap();
    host.invoke(MBR, SET, &write(b"boot")).unwrap();
    assert_eq!(host.say(&[0xfc, 0]), [0xfc, 0]);
    assert_eq!((host.number(GLOBAL_RANGE, 7), host.tper.access(0, 8, false)), (0, Access::Allowed));
    assert_eq!(host.tper.take_changed().len(), 2);
    assert_eq!(host.say(&[0xfc, 0]), [0xfc, FAIL]);
    // Nor does one whose session ends.
    host.say(&[0xfb, 0]);
    host.set(GLOBAL_RANGE, &[(7, n(1))]).unwrap();
    host.end();
    assert_eq!(host.tper.access(0, 8, false), Access::Allowed);
}

#[test]
fn what_erases_fails_in_a_transaction_and_opens_nothing() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    host.set(0xb_0001_0001, &[(3, b(b"another"))]).unwrap();
    host.set(RANGE1, &[(3, n(800)), (4, n(800)), (5, n(1)), (7, n(1))]).unwrap();
    host.erased.clear();
    host.say(&[0xfb, 0]);
    assert_eq!(host.set(RANGE1, &[(3, n(0)), (4, n(0))]), Err(FAIL));
    assert_eq!(host.invoke(KEY1, GEN_KEY, &[]), Err(FAIL));
    assert_eq!(host.invoke(1, crate::host::REVERT_SP, &[]), Err(FAIL));
    assert_eq!((host.number(RANGE1, 4), host.tper.access(800, 8, false)), (800, Access::Locked));
    host.end();
    host.begin_as(ADMIN_SP, Some((SID, b"own"))).unwrap();
    host.say(&[0xfb, 0]);
    assert_eq!(host.invoke(LOCKING_SP, REVERT, &[]), Err(FAIL));
    assert_eq!((host.tper.access(800, 8, false), host.erased.len()), (Access::Locked, 0));
    host.end();
    host.begin_as(ADMIN_SP, Some((SID, b"own"))).unwrap();
    assert_eq!(host.invoke(ADMIN_SP, REVERT, &[]), Ok(vec![]));
    assert!(!host.tper.is_activated());
}

#[test]
fn wrong_tries_count_whatever_becomes_of_the_transaction() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, None).unwrap();
    for _ in 0..5 {
        host.say(&[0xfb, 0]);
        assert_eq!(show(&mut host, ADMIN1, b"guess"), Ok(n(0)));
        host.say(&[0xfc, 1]);
    }
    assert_eq!(show(&mut host, ADMIN1, b"own"), Err(LOCKED_OUT));
}

/// Nor is anybody's lockout lifted by a new PIN that does not hold, or forgotten what was tried just before it.
#[test]
fn a_pin_that_does_not_hold_leaves_the_wrong_tries_of_the_one_before() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    for (user, pin) in [(USER1, PIN_USER1), (USER2, PIN_USER1 + 1)] {
        host.set(user, &[(5, n(1))]).unwrap();
        host.set(pin, &[(3, b(b"user"))]).unwrap();
    }
    host.say(&[0xfb, 0]);
    for _ in 0..5 {
        assert_eq!(show(&mut host, USER1, b"guess"), Ok(n(0)));
    }
    host.set(PIN_USER1, &[(3, b(b"other"))]).unwrap();
    assert_eq!((host.number(PIN_USER1, 6), show(&mut host, USER1, b"other")), (0, Ok(n(1))));
    host.say(&[0xfc, 1]);
    assert_eq!((host.number(PIN_USER1, 6), show(&mut host, USER1, b"user")), (5, Err(LOCKED_OUT)));
    assert_eq!(show(&mut host, USER2, b"user"), Ok(n(1)), "each has tries of its own");
    // One that holds lifts it.
    host.say(&[0xfb, 0]);
    host.set(PIN_USER1, &[(3, b(b"other"))]).unwrap();
    host.say(&[0xfc, 0]);
    assert_eq!(show(&mut host, USER1, b"other"), Ok(n(1)));
}

#[test]
fn an_authority_ends_with_its_being_enabled_and_with_a_pin_that_did_not_hold() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    host.set(USER1, &[(5, n(1))]).unwrap();
    host.set(PIN_USER1, &[(3, b(b"only the user knows"))]).unwrap();
    host.set(0x8_0003_fc01, &[(3, any_of(&[USER1]))]).unwrap();
    let write = |host: &mut Host| host.invoke(DATA_STORE, SET, &[name(n(0), n(0)), name(n(1), b(b"x"))]);
    host.say(&[0xfb, 0]);
    host.set(PIN_USER1, &[(3, b(b"for a while"))]).unwrap();
    assert_eq!(show(&mut host, USER1, b"for a while"), Ok(n(1)));
    assert_eq!(write(&mut host), Ok(vec![]));
    host.say(&[0xfc, 1]);
    assert_eq!(write(&mut host), Err(NOT_AUTHORIZED));
    assert_eq!(show(&mut host, USER1, b"only the user knows"), Ok(n(1)));
    assert_eq!(write(&mut host), Ok(vec![]));
    host.set(USER1, &[(5, n(0))]).unwrap();
    assert_eq!(write(&mut host), Err(NOT_AUTHORIZED));
}
