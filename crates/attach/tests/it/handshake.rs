//! What client and server agree on.

use std::io::Write;

use ssdlab_attach::nbd::words::*;

use crate::client::{Running, name, options, serve};
use crate::steady::{CAPACITY, Steady};

fn server() -> Running {
    serve(Steady::new(1000, false), options())
}

#[test]
fn options_are_answered_as_the_protocol_says() {
    let server = server();
    let mut c = server.connect();
    c.greet(3);
    let kind = |replies: Vec<(u32, Vec<u8>)>| replies.last().unwrap().0;
    assert_eq!(kind(c.option(77, b"whatever")), REP_ERR_UNSUP);
    assert_eq!(kind(c.option(OPT_STARTTLS, &[])), REP_ERR_POLICY);
    assert_eq!(kind(c.option(11, &[])), REP_ERR_UNSUP, "extended headers");
    assert_eq!(kind(c.option(OPT_LIST, b"x")), REP_ERR_INVALID);
    assert_eq!(c.option(OPT_LIST, &[]), [(REP_SERVER, vec![0, 0, 0, 0]), (REP_ACK, vec![])]);
    assert_eq!(kind(c.option(OPT_INFO, &name(""))), REP_ERR_INVALID, "the number of kinds is missing");
    assert_eq!(kind(c.option(OPT_INFO, &[name(""), vec![0, 1]].concat())), REP_ERR_INVALID, "a kind is missing");
    assert_eq!(kind(c.option(OPT_INFO, &[255, 255, 255, 255, 0, 0])), REP_ERR_INVALID);
    assert_eq!(kind(c.option(OPT_GO, &[name("other"), vec![0, 0]].concat())), REP_ERR_UNKNOWN);
    assert_eq!(kind(c.option(OPT_GO, &[name(&"x".repeat(5000)), vec![0, 0]].concat())), REP_ERR_TOO_BIG);
    let info = c.option(OPT_INFO, &[name("steady"), vec![0, 2, 0, 1, 0, 2]].concat());
    assert_eq!(info.len(), 5, "export, block sizes, name, description, acknowledgement");
    assert_eq!(&info[0].1[..2], [0, 0]);
    assert_eq!(u64::from_be_bytes(info[0].1[2..10].try_into().unwrap()), CAPACITY);
    let flags = u16::from_be_bytes(info[0].1[10..12].try_into().unwrap());
    assert_eq!(
        flags & (FLAG_HAS_FLAGS | FLAG_SEND_TRIM | FLAG_CAN_MULTI_CONN),
        1 | FLAG_SEND_TRIM | FLAG_CAN_MULTI_CONN
    );
    assert_eq!(flags & (FLAG_SEND_DF | FLAG_READ_ONLY), 0, "DF needs structured replies");
    let sizes: Vec<u32> = info[1].1[2..].chunks(4).map(|s| u32::from_be_bytes(s.try_into().unwrap())).collect();
    assert_eq!(sizes, [512, 4096, 32 << 20]);
    assert_eq!(info[2].1, [&[0, 1][..], b"steady"].concat());
    c.go();
    assert_eq!(c.read(0, 512), Ok(vec![0; 512]));
}

#[test]
fn contexts_need_structured_replies_and_the_last_choice_counts() {
    let server = server();
    let mut c = server.connect();
    c.greet(3);
    let query = |text: &str| [&name(""), &1u32.to_be_bytes()[..], &name(text)].concat();
    assert_eq!(c.option(OPT_SET_META_CONTEXT, &query("base:allocation"))[0].0, REP_ERR_INVALID);
    c.agree_on_structured();
    let allocation = (REP_META_CONTEXT, [&1u32.to_be_bytes()[..], b"base:allocation"].concat());
    let listed = (REP_META_CONTEXT, [&0u32.to_be_bytes()[..], b"base:allocation"].concat());
    let none = [&name("")[..], &[0; 4]].concat();
    assert_eq!(c.option(OPT_LIST_META_CONTEXT, &none), [listed.clone(), (REP_ACK, vec![])]);
    assert_eq!(c.option(OPT_LIST_META_CONTEXT, &query("base:")), [listed, (REP_ACK, vec![])]);
    assert_eq!(c.option(OPT_LIST_META_CONTEXT, &query("qemu:")), [(REP_ACK, vec![])]);
    assert_eq!(c.option(OPT_SET_META_CONTEXT, &query("base:allocation")), [allocation, (REP_ACK, vec![])]);
    assert_eq!(c.option(OPT_SET_META_CONTEXT, &query("base:")), [(REP_ACK, vec![])]);
    c.go();
    assert_eq!(c.block_status(0, 0, 4096), Err(NbdError::Invalid as u32), "nothing was agreed on in the end");
    let mut c = server.structured_client();
    assert_eq!(c.block_status(0, 0, 4096), Ok(vec![(4096, 3)]));
}

#[test]
fn the_old_way_in_has_its_zeroes_unless_they_are_not_wanted() {
    let server = server();
    for (flags, zeroes) in [(1, 124), (3, 0)] {
        let mut c = server.connect();
        c.greet(flags);
        c.send_option(OPT_EXPORT_NAME, b"");
        assert_eq!(u64::from_be_bytes(c.take()), CAPACITY);
        assert_ne!(u16::from_be_bytes(c.take()) & FLAG_HAS_FLAGS, 0);
        assert_eq!(c.take_many(zeroes), vec![0; zeroes]);
        assert_eq!(c.write(0, 0, &[1; 512]), 0);
        assert_eq!(c.read(0, 512), Ok(vec![1; 512]));
    }
    let mut c = server.connect();
    c.greet(3);
    c.send_option(OPT_EXPORT_NAME, b"other");
    assert!(c.is_gone());
}

#[test]
fn clients_that_leave_or_err_are_left() {
    let server = server();
    let mut c = server.connect();
    c.greet(3);
    assert_eq!(c.option(OPT_ABORT, &[]), [(REP_ACK, vec![])]);
    assert!(c.is_gone());
    let mut c = server.connect();
    c.greet(0x8000_0000);
    assert!(c.is_gone(), "an unknown flag");
    let mut c = server.connect();
    c.greet(3);
    c.stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(c.is_gone(), "another protocol");
    let mut c = server.connect();
    c.greet(3);
    let mut head = OPTION_MAGIC.to_be_bytes().to_vec();
    head.extend_from_slice(&OPT_LIST.to_be_bytes());
    head.extend_from_slice(&u32::MAX.to_be_bytes());
    c.stream.write_all(&head).unwrap();
    assert!(c.is_gone(), "an option of 4 GiB");
    let mut c = server.connect();
    c.greet(3);
    for _ in 0..128 {
        c.option(OPT_LIST, &[]);
    }
    c.send_option(OPT_LIST, &[]);
    assert!(c.is_gone(), "a flood of options");
    server.client();
}
