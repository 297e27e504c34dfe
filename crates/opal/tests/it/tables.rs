//! The tables that tell what the drive has and who may use it.

use crate::host::{
    ACCESS_CONTROL, ACTIVATE, ADMIN_SP, ADMIN1, AUTHENTICATE, DATA_STORE, GEN_KEY, GET, GET_ACL, GLOBAL_RANGE, Host,
    INVALID_PARAMETER, KEY1, LOCKING_SP, MBR, MBR_CONTROL, NEXT, NOT_AUTHORIZED, PIN_MSID, PIN_SID, PIN_USER1, PSID,
    RANDOM, RANGE1, REVERT, REVERT_SP, SET, SID, USER1, USER2, any_of, b, list, n, name, u,
};

const ADMIN_OF_ADMIN_SP: u64 = 0x9_0000_0201;
const TPER_INFO: u64 = 0x201_0003_0001;

fn acl(host: &mut Host, object: u64, method: u64) -> Result<Vec<u32>, u8> {
    let found = host.invoke(ACCESS_CONTROL, GET_ACL, &[u(object), u(method)])?;
    let (Some(0xf0), Some(0xf1)) = (found.first(), found.last()) else { panic!("no list: {found:02x?}") };
    let names = found[1..found.len() - 1].chunks(9).map(|name| {
        assert_eq!(name[..5], [0xa8, 0, 0, 0, 8], "an access control element");
        u32::from_be_bytes(name[5..].try_into().unwrap())
    });
    Ok(names.collect())
}

/// The rows of a table, in the order in which the drive gives them.
fn rows(host: &mut Host, table: u64) -> Result<Vec<u64>, u8> {
    // In pieces that a host of 2048 bytes has room for.
    let (mut all, mut after) = (Vec::new(), vec![]);
    loop {
        let from: Vec<_> = [after, name(n(1), n(50))].into_iter().filter(|part: &Vec<u8>| !part.is_empty()).collect();
        let found = host.invoke(table << 32, NEXT, &from)?;
        let names = found[1..found.len() - 1].chunks(9).map(|row| u64::from_be_bytes(row[1..].try_into().unwrap()));
        all.extend(names);
        if found.len() < 50 * 9 {
            return Ok(all);
        }
        after = name(n(0), u(all[all.len() - 1]));
    }
}

/// From the tables of the Opal SSC 2.01, sections 4.2.1.5 and 4.3.1.6; for the PSID those of its feature set.
#[test]
fn anybody_may_ask_who_may_do_what() {
    let mut host = Host::new();
    host.begin_as(ADMIN_SP, None).unwrap();
    for (object, method, expected) in [
        (1, AUTHENTICATE, &[1][..]),
        (1, RANDOM, &[1]),
        (0x1_0000_0000, NEXT, &[1]),
        (0x1_0000_0007, GET, &[1]),
        (0x8_0003_0002, GET, &[1]),
        (PSID, GET, &[1]),
        (0x9_0000_0003, SET, &[0x3_0001]),
        (ADMIN_OF_ADMIN_SP, SET, &[0x3_0001]),
        (PIN_SID, GET, &[0x8c02]),
        (PIN_SID, SET, &[0x8c03]),
        (PIN_MSID, GET, &[0x8c04]),
        (0xb_0000_0201, GET, &[0x8c02]),
        (0xb_0000_0201, SET, &[0x3_a001]),
        (0xb_0001_ff01, GET, &[0x1_00e1]),
        (TPER_INFO, SET, &[0x3_0003]),
        (ADMIN_SP, REVERT, &[0x3_0002, 2, 0x1_00e0]),
        (LOCKING_SP, REVERT, &[0x3_0002, 2]),
        (LOCKING_SP, ACTIVATE, &[0x3_0002]),
    ] {
        assert_eq!(acl(&mut host, object, method), Ok(expected.to_vec()), "{object:x} {method:x}");
    }
    for (object, method) in [
        // Nobody may; no such object, no such method, none of this SP.
        (SID, SET),
        (PIN_MSID, SET),
        (0xb_0001_ff01, SET),
        (ACCESS_CONTROL, GET),
        (ACCESS_CONTROL, NEXT),
        (1, REVERT_SP),
        (0x9_0000_0999, GET),
        (TPER_INFO, 0x6_0000_0099),
        (KEY1, GEN_KEY),
    ] {
        assert_eq!(acl(&mut host, object, method), Err(INVALID_PARAMETER), "{object:x} {method:x}");
    }
    assert_eq!(host.invoke(ACCESS_CONTROL, GET_ACL, &[u(PIN_SID)]), Err(INVALID_PARAMETER));
    assert_eq!(host.invoke(PIN_SID, GET_ACL, &[u(PIN_SID), u(GET)]), Err(NOT_AUTHORIZED));
    assert_eq!(host.invoke(ACCESS_CONTROL, NEXT, &[]), Err(NOT_AUTHORIZED));
    assert_eq!(host.get(ACCESS_CONTROL, 0, 4), Err(NOT_AUTHORIZED));
    host.end();

    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, None).unwrap();
    for (object, method, expected) in [
        (1, REVERT_SP, &[2][..]),
        (0x8_0003_b801, GET, &[0x3_8000]),
        (0x8_0003_b801, SET, &[0x3_8001]),
        (0x8_0003_8000, SET, &[0x3_8001]),
        (0x8_0003_9000, SET, &[0x3_8001]),
        (ADMIN1, GET, &[0x3_9000, 3]),
        (ADMIN1, SET, &[4]),
        (ADMIN1 + 1, SET, &[0x3_9001, 4]),
        (USER2, SET, &[0x3_9001, 0x4_4002]),
        (PIN_USER1, GET, &[0x3_a000]),
        (PIN_USER1, SET, &[0x3_a801]),
        (0xb_0001_0001, SET, &[0x3_a001]),
        (0x1d_0000_001e, GET, &[1]),
        (GLOBAL_RANGE, GET, &[0x3_d000, 3]),
        (GLOBAL_RANGE, SET, &[0x3_f000, 0x3_e000, 0x3_e800, 4]),
        (RANGE1, SET, &[0x3_f001, 0x3_e001, 0x3_e801, 4]),
        (MBR_CONTROL, SET, &[0x3_f800, 0x3_f801]),
        (MBR, GET, &[1]),
        (MBR, SET, &[2]),
        (KEY1, GET, &[0x3_bfff]),
        (KEY1, GEN_KEY, &[0x3_b801]),
        (DATA_STORE, GET, &[0x3_fc00]),
        (DATA_STORE, SET, &[0x3_fc01]),
    ] {
        assert_eq!(acl(&mut host, object, method), Ok(expected.to_vec()), "{object:x} {method:x}");
    }
    for (object, method) in [(0x8_0003_8001, SET), (0x8_0000_0001, SET), (RANGE1, GEN_KEY), (PIN_SID, GET)] {
        assert_eq!(acl(&mut host, object, method), Err(INVALID_PARAMETER), "{object:x} {method:x}");
    }
}

/// What GetACL says and what the drive does are the same: whoever no element lets through is refused.
#[test]
fn what_a_method_is_refused_for_is_what_its_list_says() {
    let mut host = Host::new();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, Some((ADMIN1, b"own"))).unwrap();
    let objects: Vec<u64> = [0x1, 0x2, 0x3, 0x6, 0x8, 0x9, 0xb, 0x1d, 0x801, 0x802, 0x803, 0x806]
        .into_iter()
        .flat_map(|table| match table {
            0x2 | 0x801 | 0x803 => vec![table << 32 | 1],
            0x806 => vec![GLOBAL_RANGE + (4 << 32), KEY1],
            _ => rows(&mut host, table).expect("its rows may be asked for"),
        })
        .collect();
    assert!(objects.len() > 130, "{}", objects.len());
    host.end();
    host.begin_as(LOCKING_SP, None).unwrap();
    for &object in &objects {
        let list = acl(&mut host, object, GET).expect("every object can be read by somebody");
        let row = host.get(object, 0, 99).expect("that is never refused");
        let anybody = [1, 3, 0x3_bfff].iter().any(|open| list.contains(open));
        assert_eq!(row != [0xf0, 0xf1], anybody, "{object:x}");
        let set = acl(&mut host, object, SET);
        assert_eq!(host.set(object, &[(5, n(1))]), Err(NOT_AUTHORIZED), "{object:x} {set:x?}");
    }
}

#[test]
fn tables_tell_what_each_sp_is_made_of() {
    let mut host = Host::new();
    host.begin_as(ADMIN_SP, None).unwrap();
    let lower = |rows: Vec<u64>| rows.into_iter().map(|row| row as u32).collect::<Vec<_>>();
    let tables = [1, 2, 3, 6, 7, 8, 9, 0xb, 0x201, 0x204, 0x205];
    assert_eq!(lower(rows(&mut host, 1).unwrap()), tables);
    assert_eq!(lower(rows(&mut host, 6).unwrap()), [8, 0xd, 0x16, 0x17, 0x1c, 0x202, 0x203, 0x601]);
    assert_eq!(host.get(0x6_0000_000d, 0, 1).unwrap(), list(&[name(n(0), u(GET_ACL)), name(n(1), b(b"GetACL"))]));
    let template = list(&[
        name(n(0), u(0x3_0000_0002)),
        name(n(1), u(0x204_0000_0002)),
        name(n(2), b(b"Admin")),
        name(n(3), b(&[0, 0, 0, 2])),
    ]);
    assert_eq!((rows(&mut host, 3).unwrap().len(), host.get(0x3_0000_0002, 0, 3)), (2, Ok(template)));
    assert_eq!(rows(&mut host, 0x204).unwrap(), [0x204_0000_0001, 0x204_0000_0002, 0x204_0000_0006]);
    assert_eq!((host.number(0x204_0000_0001, 3), host.number(0x204_0000_0006, 3)), (2, 1));
    let aces = lower(rows(&mut host, 8).unwrap());
    assert_eq!(aces, [1, 2, 0x8c02, 0x8c03, 0x8c04, 0x1_00e0, 0x1_00e1, 0x3_0001, 0x3_0002, 0x3_0003, 0x3_a001]);
    let element = list(&[name(n(1), b(b"ACE_C_PIN_SID_Get_NOPIN")), name(n(3), any_of(&[0x9_0000_0002, SID]))]);
    assert_eq!(host.get(0x8_0000_8c02, 1, 3), Ok(element));
    // Rows of object tables have no granularity; those of bytes have.
    assert_eq!((host.number(0x1_0000_0008, 7), host.number(0x1_0000_0008, 13)), (11, 0));
    assert_eq!(host.number(0x9_0000_0003, 3), 1, "makers are a class");
    // A single row is not gone through.
    assert_eq!(rows(&mut host, 0x201), Err(NOT_AUTHORIZED));
    host.end();

    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, None).unwrap();
    let tables = [1, 2, 3, 6, 7, 8, 9, 0xb, 0x1d, 0x801, 0x802, 0x803, 0x804, 0x806, 0x1001];
    assert_eq!(lower(rows(&mut host, 1).unwrap()), tables);
    assert_eq!(lower(rows(&mut host, 6).unwrap()), [8, 0xd, 0x10, 0x11, 0x16, 0x17, 0x1c, 0x601]);
    assert_eq!(host.get(0x3_0000_0002, 2, 2).unwrap(), list(&[name(n(2), b(b"Locking"))]));
    assert_eq!(rows(&mut host, 0x1d).unwrap(), [0x1d_0000_001e]);
    assert_eq!(host.get(0x1d_0000_001e, 1, 1).unwrap(), list(&[name(n(1), u(0x1_0000_0806))]));
    assert_eq!((host.number(0x1_0000_1001, 13), host.number(0x1_0000_1001, 14)), (1, 4096));
    assert_eq!(host.number(0x1_0000_0802, 7), 9);
    assert_eq!(host.get(0x1_0000_0007, 7, 7), Ok(vec![0xf0, 0xf1]), "of access control it is not told");
    assert_eq!(rows(&mut host, 0x806), Err(NOT_AUTHORIZED));
}

#[test]
fn names_and_pins_are_shown_to_whom_they_may_be() {
    let mut host = Host::new();
    let column = |row: &[u8], column: u8| row.windows(2).any(|pair| pair == [0xf2, column]);
    host.begin_as(ADMIN_SP, None).unwrap();
    let msid = host.get(PIN_MSID, 0, 7).unwrap();
    assert!(column(&msid, 0) && column(&msid, 3) && !column(&msid, 1));
    assert_eq!(host.get(PIN_SID, 0, 7), Ok(vec![0xf0, 0xf1]));
    let psid = host.get(0xb_0001_ff01, 0, 7).unwrap();
    assert!([0, 4, 5, 6, 7].iter().all(|&k| column(&psid, k)) && !column(&psid, 3) && !column(&psid, 1));
    assert_eq!(host.get(PSID, 2, 2).unwrap(), list(&[name(n(2), b(b"PhysicalDriveOwner"))]));
    let sid = host.get(SID, 0, 12).unwrap();
    assert!((0..=12).all(|k| column(&sid, k)));
    host.end();
    host.take_ownership(b"own");
    host.begin_as(LOCKING_SP, None).unwrap();
    for object in [USER1, RANGE1] {
        let row = host.get(object, 0, 20).unwrap();
        assert!(column(&row, 0) && column(&row, 2) && !column(&row, 1), "{object:x}");
    }
    assert_eq!(host.get(KEY1, 0, 4).unwrap(), list(&[name(n(4), n(7))]), "how it encrypts, and no more");
    host.end();
    host.with(LOCKING_SP, ADMIN1, b"own", |host| {
        // Who may see what there is of authorities is for the administrators to say.
        host.set(0x8_0003_9000, &[(3, any_of(&[0x9_0000_0001]))]).unwrap();
        host.set(ADMIN1, &[(2, b(b"the boss"))]).unwrap();
        host.set(USER2, &[(2, b(b"the guest"))]).unwrap();
    });
    host.begin_as(LOCKING_SP, None).unwrap();
    assert_eq!(host.number(USER1, 5), 0);
    assert_eq!(host.get(ADMIN1, 2, 2).unwrap(), list(&[name(n(2), b(b"the boss"))]));
}
