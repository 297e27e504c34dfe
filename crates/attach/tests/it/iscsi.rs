//! The drive over iSCSI.

use std::io::Write;

use ssdlab_attach::iscsi::Header;
use ssdlab_attach::iscsi::words::*;
use ssdlab_attach::nbd::words::CMD_WRITE;
use ssdlab_attach::scsi::words::*;
use ssdlab_attach::{Limits, OnCut, Order, ServerOptions};
use ssdlab_core::Rng;

use crate::client::{options, serve};
use crate::initiator::{TARGET, cdb_16, text};
use crate::steady::{CAPACITY, Steady};

const BLOCKS: u64 = CAPACITY / 512;

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|k| (k * 7 + k / 4096) as u8).collect()
}

#[test]
fn data_come_at_once_unasked_and_when_they_are_asked_for() {
    let server = serve(Steady::new(1000, false), options());
    let free = [("InitialR2T", "No"), ("FirstBurstLength", "16384"), ("MaxBurstLength", "65536")];
    let strict = [("ImmediateData", "No"), ("MaxBurstLength", "8192"), ("MaxRecvDataSegmentLength", "4096")];
    let default = [("InitialR2T", "Yes"), ("FirstBurstLength", "4096"), ("MaxRecvDataSegmentLength", "262144")];
    let cases = [(&free, 8192, 16384), (&strict, 0, 0), (&default, 4096, 0)];
    for (number, (keys, immediate, unsolicited)) in cases.into_iter().enumerate() {
        let mut i = server.initiator_with(1, keys);
        (i.immediate_bytes, i.unsolicited_bytes, i.segment_bytes) = (immediate, unsolicited, 4096);
        for (blocks, lba) in [(8, 1), (64, 100), (600, 1000), (5000, 10_000)] {
            let lba = lba + 50_000 * number as u64;
            let data = pattern(512 * blocks);
            let ended = i.write(&cdb_16(WRITE_16, 8, lba, blocks as u32), &data);
            assert_eq!((ended.status, ended.residual), (0, 0), "{blocks} blocks, {keys:?}");
            let back = i.read(&cdb_16(READ_16, 0, lba, blocks as u32), data.len());
            assert_eq!((back.status, back.residual), (0, 0));
            assert!(back.data == data, "{blocks} blocks, {keys:?}");
        }
    }
    // Over NBD it is the same drive.
    assert_eq!(server.client().read(512, 4096).unwrap(), pattern(4096));
    let status = server.order(&Order::Status);
    assert_eq!(status["disconnected"], 0);
}

#[test]
fn commands_at_the_end_of_the_drive_reach_its_last_block_and_no_further() {
    let server = serve(Steady::new(1000, false), options());
    let mut i = server.initiator();
    for blocks in [1u32, 2, 255, 256, 300] {
        let bytes = 512 * blocks as usize;
        let there = i.read(&cdb_16(READ_16, 0, BLOCKS - u64::from(blocks), blocks), bytes);
        assert_eq!((there.status, there.data.len()), (0, bytes), "{blocks}");
        let beyond = i.read(&cdb_16(READ_16, 0, BLOCKS - u64::from(blocks) + 1, blocks), bytes);
        assert_eq!((beyond.status, beyond.sense), (2, (5, 0x21, 0)), "{blocks}");
    }
    assert_eq!(i.read(&cdb_16(READ_16, 0, u64::MAX, 2), 1024).sense, (5, 0x21, 0));
    assert_eq!(i.ask(&cdb_16(READ_16, 0, BLOCKS, 0)).status, 0, "nothing, at the end");
    assert_eq!(i.read(&cdb_16(READ_16, 0, 0, 16385), 512 * 16385).sense, (5, 0x24, 0), "more than a command carries");
    let ten = |code, lba: u32, blocks: u16| {
        let (lba, blocks) = (lba.to_be_bytes(), blocks.to_be_bytes());
        [code, 0, lba[0], lba[1], lba[2], lba[3], 0, blocks[0], blocks[1], 0]
    };
    assert_eq!(i.write(&ten(WRITE_10, BLOCKS as u32 - 2, 2), &[5; 1024]).status, 0);
    assert_eq!(i.read(&ten(READ_10, BLOCKS as u32 - 2, 2), 1024).data, [5; 1024]);
    // Bits that are BYTCHK in a VERIFY are none here.
    let mut odd = ten(WRITE_10, BLOCKS as u32 - 2, 2);
    odd[1] = 6;
    assert_eq!(i.write(&odd, &[5; 1024]).status, 0);
    assert_eq!(i.read(&[READ_6, 7, 0xff, 0xfe, 2, 0], 1024).data, [5; 1024]);
    let capacity = i.read(&[READ_CAPACITY_10, 0, 0, 0, 0, 0, 0, 0, 0, 0], 8).data;
    assert_eq!(capacity, [(BLOCKS as u32 - 1).to_be_bytes(), 512u32.to_be_bytes()].concat());
}

#[test]
fn less_or_more_than_a_command_is_about_is_told_as_a_residue() {
    let server = serve(Steady::new(1000, false), options());
    let mut i = server.initiator();
    assert_eq!(i.read(&cdb_16(READ_16, 0, 0, 2), 4096).residual, -3072);
    let short = i.read(&cdb_16(READ_16, 0, 0, 2), 600);
    assert_eq!((short.residual, short.data.len()), (424, 600));
    assert_eq!(i.write(&cdb_16(WRITE_16, 0, 0, 2), &[1; 4096]).residual, -3072);
    assert_eq!(i.write(&cdb_16(WRITE_16, 0, 0, 4), &[2; 600]).residual, 1448);
    assert_eq!(i.read(&cdb_16(READ_16, 0, 0, 3), 1536).data, [vec![2; 512], vec![1; 512], vec![0; 512]].concat());
}

#[test]
fn blocks_are_unmapped_filled_and_compared() {
    let server = serve(Steady::new(1000, false), options());
    let mut i = server.initiator();
    assert_eq!(i.write(&cdb_16(WRITE_16, 0, 0, 64), &pattern(32768)).status, 0);
    let unmap = |ranges: &[(u64, u32)]| {
        let mut list = vec![0; 8];
        list[2..4].copy_from_slice(&(16 * ranges.len() as u16).to_be_bytes());
        for (lba, blocks) in ranges {
            list.extend_from_slice(&lba.to_be_bytes());
            list.extend_from_slice(&blocks.to_be_bytes());
            list.extend_from_slice(&[0; 4]);
        }
        list[1] = list.len() as u8 - 2;
        let length = (list.len() as u16).to_be_bytes();
        ([UNMAP, 0, 0, 0, 0, 0, 0, length[0], length[1], 0], list)
    };
    let (cdb, list) = unmap(&[(0, 8), (16, 8), (20, 0)]);
    assert_eq!(i.write(&cdb, &list).status, 0);
    let mut expected = pattern(32768);
    expected[..4096].fill(0);
    expected[8192..12288].fill(0);
    assert_eq!(i.read(&cdb_16(READ_16, 0, 0, 64), 32768).data, expected);
    let (cdb, list) = unmap(&[(0, 8), (BLOCKS, 1)]);
    assert_eq!(i.write(&cdb, &list).sense, (5, 0x21, 0));
    assert_eq!(i.write(&cdb[..], &list[..4]).sense, (5, 0x1a, 0));
    // What is mapped, and what not.
    let mut status = cdb_16(SERVICE_ACTION_IN_16, GET_LBA_STATUS, 4, 1 << 16);
    status[14] = 0;
    let told = i.read(&status, 1 << 16).data;
    assert_eq!((&told[8..16], &told[16..20], told[20]), (&4u64.to_be_bytes()[..], &4u32.to_be_bytes()[..], 1));
    assert_eq!((&told[32..36], told[36]), (&8u32.to_be_bytes()[..], 0));
    // Filled with one block; with zeroes; unmapped with edges.
    assert_eq!(i.write(&cdb_16(WRITE_SAME_16, 0, 1, 40), &[9; 512]).status, 0);
    assert_eq!(
        i.read(&cdb_16(READ_16, 0, 0, 42), 21504).data,
        [&[0; 512][..], &[9; 20480], &expected[20992..21504]].concat()
    );
    assert_eq!(i.ask(&cdb_16(WRITE_SAME_16, 9, 3, 30)).status, 0, "UNMAP and NDOB");
    let filled = [&[0; 512][..], &[9; 1024], &[0; 15360], &[9; 4096]].concat();
    assert_eq!(i.read(&cdb_16(READ_16, 0, 0, 41), 20992).data, filled);
    assert_eq!(i.write(&cdb_16(WRITE_SAME_16, 0, 0, 0), &[9; 512]).sense, (5, 0x24, 0), "not the whole drive");
    assert_eq!(i.write(&cdb_16(WRITE_SAME_16, 0x10, 0, 1), &[9; 512]).sense, (5, 0x24, 0), "an anchor");
    // Compared.
    assert_eq!(i.write(&cdb_16(VERIFY_16, 2, 0, 41), &filled).status, 0);
    assert_eq!(i.write(&cdb_16(VERIFY_16, 2, 1, 41), &filled).sense, (0xe, 0x1d, 0));
    assert_eq!(i.write(&cdb_16(VERIFY_16, 6, 33, 8), &[9; 512]).status, 0, "one block for all");
    assert_eq!(i.ask(&cdb_16(VERIFY_16, 0, 0, 100)).status, 0);
    assert_eq!(i.write(&cdb_16(WRITE_AND_VERIFY_16, 2, 0, 8), &pattern(4096)).status, 0);
    assert_eq!(i.ask(&cdb_16(SYNCHRONIZE_CACHE_16, 0, 0, 0)).status, 0);
    assert_eq!(i.ask(&[START_STOP_UNIT, 0, 0, 0, 0, 0]).status, 0);
}

#[test]
fn the_unit_says_what_it_is() {
    let server = serve(Steady::new(1000, true), options());
    let mut i = server.initiator();
    let inquiry = i.read(&[INQUIRY, 0, 0, 0, 96, 0], 96).data;
    assert_eq!((&inquiry[8..16], &inquiry[16..24]), (&b"ATA     "[..], &b"steady  "[..]));
    // SAM-5, SAT-3, SPC-4, SBC-3, iSCSI.
    assert_eq!(inquiry[58..68], [0x00, 0xa0, 0x1e, 0xe0, 0x04, 0x60, 0x04, 0xc0, 0x09, 0x60]);
    assert_eq!(i.read(&[INQUIRY, 1, 0xb1, 1, 0, 0], 256).data[4..8], [0, 1, 0, 0], "no form factor");
    let pages = i.read(&[INQUIRY, 1, 0, 1, 0, 0], 256).data;
    for page in &pages[4..] {
        let data = i.read(&[INQUIRY, 1, *page, 4, 0, 0], 1024).data;
        assert_eq!((data[1], data.len()), (*page, 4 + usize::from(u16::from_be_bytes([data[2], data[3]]))));
    }
    assert_eq!(i.read(&[INQUIRY, 1, 0xc0, 1, 0, 0], 256).sense, (5, 0x24, 0));
    let capacity = i.read(&cdb_16(SERVICE_ACTION_IN_16, READ_CAPACITY_16, 0, 32), 32).data;
    assert_eq!((&capacity[..8], capacity[13], capacity[14]), (&(BLOCKS - 1).to_be_bytes()[..], 3, 0xc0));
    let caching = i.read(&[MODE_SENSE_6, 8, 8, 0, 255, 0], 255).data;
    assert_eq!((caching.len(), caching[4], caching[6] & 4), (24, 8, 4), "the write cache is on");
    assert_eq!(i.read(&[MODE_SENSE_6, 8, 5, 0, 255, 0], 255).sense, (5, 0x24, 0));
    // Blocks are told in a long descriptor, and as long where there is none.
    for (flags, long, descriptor_bytes) in [(0x10, 1, 16), (0x18, 0, 0), (0, 0, 8)] {
        let modes = i.read(&[MODE_SENSE_10, flags, 8, 0, 0, 0, 0, 0, 255, 0], 255).data;
        assert_eq!((modes[4], modes[7]), (long, descriptor_bytes), "{flags:#x}");
    }
    assert_eq!(i.read(&[REPORT_LUNS, 0, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0], 64).data.len(), 16);
    // One command: there, not there, with a service action.
    let one = |options, code, action| {
        [MAINTENANCE_IN, REPORT_SUPPORTED_OPERATION_CODES, options, code, 0, action, 0, 0, 2, 0, 0, 0]
    };
    assert_eq!(i.read(&one(1, WRITE_SAME_16, 0), 512).data[1], 3);
    assert_eq!(i.read(&one(1, SECURITY_PROTOCOL_IN, 0), 512).data[1], 1);
    assert_eq!(i.read(&one(2, SERVICE_ACTION_IN_16, READ_CAPACITY_16), 512).data[1], 3);
    assert_eq!(i.read(&one(1, SERVICE_ACTION_IN_16, 0), 512).sense, (5, 0x24, 0));
    let all = i.read(&[MAINTENANCE_IN, REPORT_SUPPORTED_OPERATION_CODES, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0], 4096).data;
    for listed in all[4..].chunks_exact(8) {
        let ended = i.ask(&[&[listed[0], listed[3]][..], &[0; 14]].concat());
        assert_ne!(ended.sense, (5, 0x20, 0), "{:#x} is listed", listed[0]);
    }
    for unknown in [0x16, 0x17, 0x5e, 0x5f, 0xa2, 0xb5, 0xff] {
        assert_eq!(i.ask(&[unknown, 0, 0, 0, 0, 0]).sense, (5, 0x20, 0), "{unknown:#x}");
    }
    // Parameters of a log from one on: its only one is 0.
    let log = |code| [LOG_SENSE, 0, 0x6f, 0, 0, 0, code, 0, 255, 0];
    assert_eq!(i.read(&log(0), 255).data[..6], [0x2f, 0, 0, 8, 0, 0]);
    assert_eq!(i.read(&log(1), 255).sense, (5, 0x24, 0));
    let mut other = i.command(FINAL | READS, 36, &[INQUIRY, 0, 0, 0, 36, 0]);
    other.0[9] = 3;
    i.send(&other, &[]);
    assert_eq!(i.finish(other.task_tag(), &[]).data[0], 0x7f, "there is no LUN 3");
    let mut other = i.command(FINAL, 0, &[TEST_UNIT_READY, 0, 0, 0, 0, 0]);
    other.0[9] = 3;
    i.send(&other, &[]);
    assert_eq!(i.finish(other.task_tag(), &[]).sense, (5, 0x25, 0));
    // Data are asked for by the LUN that was said.
    let mut other = i.command(FINAL | WRITES, 512, &cdb_16(WRITE_16, 0, 0, 1));
    other.put_lun_field([0x41, 1, 0, 0, 0, 0, 0, 0]);
    i.send(&other, &[]);
    let (asked, _) = i.pdu();
    assert_eq!((asked.code(), asked.lun_field()), (READY_TO_TRANSFER, other.lun_field()));
    let data = i.data_out(other.task_tag(), asked.u32_at(20), 0, 0, true);
    i.send(&data, &[1; 512]);
    assert_eq!(i.finish(other.task_tag(), &[]).sense, (5, 0x25, 0));
}

#[test]
fn what_no_unit_like_this_has_is_refused() {
    let server = serve(Steady::new(1000, true), options());
    let mut i = server.initiator();
    // NACA: an auto contingent allegiance.
    for cdb in
        [&[TEST_UNIT_READY, 0, 0, 0, 0, 4][..], &[INQUIRY, 0, 0, 0, 36, 4], &[READ_10, 0, 0, 0, 0, 0, 0, 0, 0, 4]]
    {
        assert_eq!(i.ask(cdb).sense, (5, 0x24, 0), "{cdb:?}");
    }
    assert_eq!(i.ask(&[0xff, 0, 0, 0, 0, 4]).sense, (5, 0x20, 0));
    // Power conditions that are reserved, or of timers.
    for condition in [4, 6, 7, 9, 0xa, 0xb] {
        assert_eq!(i.ask(&[START_STOP_UNIT, 0, 0, 0, condition << 4, 0]).sense, (5, 0x24, 0), "{condition}");
    }
}

/// A bit that is refused, or means nothing, is not told as one that means something.
#[test]
fn which_bits_of_a_command_mean_something_is_told_by_device() {
    let usage = |i: &mut crate::initiator::Initiator, code: u8| {
        let one = [MAINTENANCE_IN, REPORT_SUPPORTED_OPERATION_CODES, 1, code, 0, 0, 0, 0, 2, 0, 0, 0];
        i.read(&one, 512).data.split_off(4)
    };
    for (steady, unmap) in [(Steady::new(1000, true), 8), (Steady::new(1000, true).without_trims(), 0)] {
        let server = serve(steady, options());
        let mut i = server.initiator();
        assert_eq!([WRITE_SAME_10, WRITE_SAME_16].map(|code| usage(&mut i, code)[1]), [unmap, unmap | 1]);
        let ended = i.ask(&cdb_16(WRITE_SAME_16, unmap | 1, 0, 8));
        assert_eq!(ended.status, 0, "what is told is taken");
        let refused = if unmap == 0 { (5, 0x24, 0) } else { (0, 0, 0) };
        assert_eq!(i.ask(&cdb_16(WRITE_SAME_16, 9, 0, 8)).sense, refused);
        assert_eq!(usage(&mut i, START_STOP_UNIT), [START_STOP_UNIT, 0, 0, 0, 0xf1, 0]);
        let listed = i.read(&[MAINTENANCE_IN, REPORT_SUPPORTED_OPERATION_CODES, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0], 4096);
        let same = listed.data[4..].chunks_exact(8).filter(|command| command[0] == WRITE_SAME_16);
        assert_eq!(same.count(), 1);
    }
}

/// The initiator says that nothing comes from it.
#[test]
fn a_command_that_takes_data_is_refused_where_none_are_sent() {
    let server = serve(Steady::new(1000, false), options());
    let mut i = server.initiator();
    assert_eq!(i.write(&cdb_16(WRITE_16, 0, 0, 1), &[7; 512]).status, 0);
    for flags in [FINAL | READS, FINAL] {
        for code in [WRITE_16, WRITE_AND_VERIFY_16] {
            let command = i.command(flags, 512, &cdb_16(code, 0, 0, 1));
            i.send(&command, &[]);
            let ended = i.finish(command.task_tag(), &[]);
            assert_eq!((ended.sense, ended.residual), ((5, 0x24, 0), -512), "{code:#x}, {flags:#x}");
        }
    }
    assert_eq!(i.read(&cdb_16(READ_16, 0, 0, 1), 512).data, [7; 512]);
    assert_eq!(server.order(&Order::Status)["requests"]["write"]["errors"], 4);
    // One that expects no transfer at all is told how much it would have been.
    let ended = i.ask(&cdb_16(WRITE_16, 0, 0, 1));
    assert_eq!((ended.status, ended.residual), (0, 512));
}

#[test]
fn commands_of_ata_pass_through() {
    let server = serve(Steady::new(1000, false), options());
    let mut i = server.initiator();
    let ata = |protocol: u8, flags: u8, feature: u8, count: u8, lba: u32, command: u8| {
        let lba = lba.to_le_bytes();
        [0x85, protocol << 1, flags, 0, feature, 0, count, 0, lba[0], 0, lba[1], 0, lba[2], 0, command, 0]
    };
    let identify = i.read(&ata(4, 0x0e, 0, 1, 0, 0xec), 512).data;
    let word = |k: usize| u16::from_le_bytes([identify[2 * k], identify[2 * k + 1]]);
    // Pages are larger than sectors: not every trimmed sector reads as zeroes.
    assert_eq!(word(69), 0x4000);
    assert_eq!((word(169), word(48), word(75), word(217)), (1, 0x4000, 31, 1));
    assert_eq!(u64::from(word(100)) | u64::from(word(101)) << 16, BLOCKS);
    assert_eq!((word(54 / 2), identify.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte))), (0x7374, 0));
    let smart = i.read(&ata(4, 0x0e, 0xd0, 1, 0xc2_4f00, 0xb0), 512).data;
    let ids: Vec<u8> = smart[2..362].chunks(12).map(|slot| slot[0]).filter(|id| *id > 0).collect();
    assert_eq!(ids, [9, 12, 241, 242]);
    // The registers come back if they are asked for.
    let status = i.ask(&ata(3, 0x20, 0xda, 0, 0xc2_4f00, 0xb0));
    assert_eq!((status.status, status.sense), (2, (1, 0, 0x1d)));
    let d = &status.sense_bytes[8..];
    assert_eq!((d[0], d[1], d[9], d[11], d[13]), (9, 12, 0x4f, 0xc2, 0x50));
    assert_eq!(i.ask(&ata(3, 0, 0, 0, 0, 0xea)).status, 0);
    assert_eq!(i.ask(&ata(3, 0x20, 0, 0, 0, 0xe5)).sense_bytes[8 + 5], 0xff, "active");
    assert_eq!(i.write(&cdb_16(WRITE_16, 0, 0, 16), &[7; 8192]).status, 0);
    let mut ranges = vec![0; 512];
    ranges[..8].copy_from_slice(&(8u64 | 8 << 48).to_le_bytes());
    assert_eq!(i.write(&ata(6, 0x06, 1, 1, 0, 0x06), &ranges).status, 0);
    assert_eq!(i.read(&cdb_16(READ_16, 0, 0, 16), 8192).data, [[7; 4096], [0; 4096]].concat());
    ranges[..8].copy_from_slice(&(BLOCKS | 8 << 48).to_le_bytes());
    assert_eq!(i.write(&ata(6, 0x06, 1, 1, 0, 0x06), &ranges).sense, (0xb, 0, 0));
    for unknown in [0x5c, 0x5e, 0x25, 0xf1] {
        let ended = i.read(&ata(4, 0x0e, 1, 1, 0, unknown), 512);
        assert_eq!((ended.sense, ended.sense_bytes[8 + 13]), ((0xb, 0, 0), 0x51), "{unknown:#x} is aborted");
    }
}

#[test]
fn logins_fail_with_the_reason() {
    let server = serve(Steady::new(1000, false), options());
    let name = ("InitiatorName", "iqn.2000-01.test:it");
    let cases = [
        (0, vec![name, ("TargetName", TARGET), ("AuthMethod", "CHAP")], LOGIN_AUTHENTICATION_FAILED),
        (1, vec![name, ("TargetName", "iqn.2000-01.test:other")], LOGIN_TARGET_NOT_FOUND),
        (1, vec![name], LOGIN_MISSING_PARAMETER),
        (1, vec![("TargetName", TARGET)], LOGIN_MISSING_PARAMETER),
        (1, vec![name, ("SessionType", "Other")], LOGIN_SESSION_TYPE),
        (1, vec![name, ("TargetName", TARGET), ("HeaderDigest", "CRC32C")], LOGIN_INITIATOR_ERROR),
        (2, vec![name, ("TargetName", TARGET)], LOGIN_INVALID_REQUEST),
    ];
    for (stage, keys, expected) in cases {
        let mut i = server.iscsi_connect();
        assert_eq!(i.log_in(1, stage, &keys).0, expected, "{keys:?}");
        assert!(i.is_gone());
    }
    let mut i = server.iscsi_connect();
    let command = i.command(FINAL, 0, &[TEST_UNIT_READY, 0, 0, 0, 0, 0]);
    i.send(&command, &[]);
    assert!(i.is_gone(), "nothing before the login");
    // A session for questions.
    let mut i = server.iscsi_connect();
    assert_eq!(i.log_in(1, 1, &[name, ("SessionType", "Discovery")]).0, 0);
    let mut header = Header::new(TEXT, FINAL, 5);
    header.put_u32(20, NO_TAG);
    header.put_u32(24, i.cmd_sn);
    i.cmd_sn += 1;
    i.send(&header, &text(&[("SendTargets", "All")]));
    let (answer, data) = i.pdu();
    assert_eq!(
        (answer.code(), data),
        (TEXT_RESPONSE, text(&[("TargetName", TARGET), ("TargetAddress", "localhost,1")]))
    );
    let mut header = Header::new(LOGOUT | IMMEDIATE, FINAL, 6);
    header.put_u32(24, i.cmd_sn);
    i.send(&header, &[]);
    assert_eq!(i.pdu().0.code(), LOGOUT_RESPONSE);
    assert!(i.is_gone());
}

#[test]
fn keys_of_a_text_are_answered_one_by_one() {
    let server = serve(Steady::new(1000, false), options());
    let mut i = server.initiator();
    let mut say = |flags: u8, keys: &[(&str, &str)]| {
        let mut header = Header::new(TEXT, flags, 5);
        header.put_u32(20, NO_TAG);
        let (answer, data) = i.exchange(header, &text(keys));
        assert_eq!(answer.code(), TEXT_RESPONSE);
        (answer.flags(), answer.u32_at(20) == NO_TAG, data)
    };
    let keys = [
        ("X-foo.bar", "1"),
        ("MaxBurstLength", "4096"),
        ("InitiatorName", "iqn.2000-01.test:other"),
        ("MaxRecvDataSegmentLength", "3"),
        ("MaxRecvDataSegmentLength", "8192"),
        ("SendTargets", "All"),
        ("SendTargets", "iqn.2000-01.test:none"),
        ("SendTargets", ""),
    ];
    let answers = [
        ("X-foo.bar", "NotUnderstood"),
        ("MaxBurstLength", "Reject"),
        ("InitiatorName", "Reject"),
        ("MaxRecvDataSegmentLength", "Reject"),
        ("SendTargets", "Reject"),
        ("TargetName", TARGET),
        ("TargetAddress", "localhost,1"),
    ];
    assert_eq!(say(FINAL, &keys), (FINAL, true, text(&answers)));
    // More may come for as long as the initiator says so.
    assert_eq!(say(0, &keys[..1]), (0, false, text(&answers[..1])));
    assert_eq!(say(CONTINUE, &[]), (0, false, Vec::new()));
    assert_eq!(say(FINAL, &[]), (FINAL, true, Vec::new()));
}

#[test]
fn a_connection_is_closed_by_its_own_number() {
    let server = serve(Steady::new(1000, false), options());
    for reason in [LOGOUT_SESSION, LOGOUT_CONNECTION] {
        let mut i = server.initiator();
        let mut leave = |reason: u8, connection: u32| {
            let mut header = Header::new(LOGOUT, FINAL | reason, 6);
            header.put_u32(20, connection << 16);
            i.exchange(header, &[]).0.0[2]
        };
        assert_eq!(leave(LOGOUT_CONNECTION, 0x1234), LOGOUT_NO_SUCH_CONNECTION);
        assert_eq!(leave(2, 0), LOGOUT_NO_RECOVERY);
        assert_eq!(leave(reason, 0), LOGOUT_DONE);
        assert!(i.is_gone());
    }
}

/// It has no number, and must say that it has none: the next command would be taken for one that was there before.
#[test]
fn a_ping_that_wants_no_answer_is_immediate() {
    let server = serve(Steady::new(1000, false), options());
    let mut i = server.initiator();
    let mut ping = Header::new(NOP_OUT | IMMEDIATE, FINAL, NO_TAG);
    ping.put_u32(20, NO_TAG);
    ping.put_u32(24, i.cmd_sn);
    i.send(&ping, &[]);
    assert_eq!(i.ask(&[TEST_UNIT_READY, 0, 0, 0, 0, 0]).status, 0);
    ping.0[0] = NOP_OUT;
    ping.put_u32(24, i.cmd_sn);
    i.send(&ping, &[]);
    let (answer, about) = i.pdu();
    assert_eq!((answer.code(), answer.0[2], about), (REJECT, REJECT_INVALID_FIELD, ping.0.to_vec()));
    assert_eq!(answer.u32_at(28), i.cmd_sn, "it is not counted");
    assert!(i.is_gone());
}

#[test]
fn who_comes_again_has_one_session() {
    let server = serve(Steady::new(1000, false), options());
    let (mut first, mut other) = (server.initiator_with(1, &[]), server.initiator_with(2, &[]));
    let mut again = server.initiator_with(1, &[]);
    assert!(first.is_gone());
    let ready = [TEST_UNIT_READY, 0, 0, 0, 0, 0];
    assert_eq!((other.ask(&ready).status, again.ask(&ready).status), (0, 0));
}

#[test]
fn data_that_are_not_due_end_the_connection_and_no_other() {
    let server = serve(Steady::new(1000, false), options());
    let keys = [("InitialR2T", "No"), ("FirstBurstLength", "1024"), ("MaxBurstLength", "1024")];
    let mut good = server.initiator_with(99, &keys);
    let cdb = cdb_16(WRITE_16, 0, 0, 8);
    for case in 0..11 {
        let mut i = server.initiator_with(case, &keys);
        let mut header = i.command(FINAL | WRITES, 4096, &cdb);
        let tag = header.task_tag();
        let asked = |i: &mut crate::initiator::Initiator| {
            i.send(&header, &[]);
            let (r2t, _) = i.pdu();
            assert_eq!((r2t.code(), r2t.u32_at(44)), (READY_TO_TRANSFER, 1024));
            r2t.u32_at(20)
        };
        match case {
            0 => i.send(&header, &[1; 1536]),
            1 => {
                let transfer = asked(&mut i);
                let out = i.data_out(tag, transfer, 0, 0, true);
                i.send(&out, &[1; 1536]);
            }
            2 => {
                let transfer = asked(&mut i);
                let out = i.data_out(tag, transfer, 0, 512, true);
                i.send(&out, &[1; 1024]);
            }
            3 => {
                let transfer = asked(&mut i);
                let out = i.data_out(tag, transfer.wrapping_add(1), 0, 0, true);
                i.send(&out, &[1; 1024]);
            }
            4 => {
                let transfer = asked(&mut i);
                let out = i.data_out(tag, transfer, 1, 0, true);
                i.send(&out, &[1; 1024]);
            }
            5 => {
                let transfer = asked(&mut i);
                let out = i.data_out(tag, transfer, 0, 0, true);
                i.send(&out, &[1; 512]);
            }
            6 => {
                header.0[1] = WRITES;
                i.send(&header, &[]);
                let out = i.data_out(tag, NO_TAG, 0, 0, true);
                i.send(&out, &[1; 1536]);
            }
            7 => {
                header.0[1] = FINAL | READS;
                i.send(&header, &[1; 512]);
            }
            8 => {
                // A gap in the numbers.
                header.put_u32(24, header.u32_at(24) + 1);
                i.send(&header, &[]);
            }
            9 => i.send(&header.with_length(0), &vec![1; (256 << 10) + 1]),
            _ => i.send(&Header::new(0x1c, FINAL, 9), &[]),
        }
        assert!(i.is_gone(), "case {case}");
        assert_eq!(good.write(&cdb, &[2; 4096]).status, 0);
    }
    assert_eq!(good.read(&cdb_16(READ_16, 0, 0, 8), 4096).data, [2; 4096]);
    assert_eq!(server.stop().disconnected, 11);
}

#[test]
fn numbers_outside_the_window_are_ignored_and_data_of_nobody_too() {
    let server = serve(
        Steady::new(1000, false),
        ServerOptions { limits: Limits { requests: 4, ..Limits::default() }, ..options() },
    );
    let mut i = server.initiator();
    let ready = [TEST_UNIT_READY, 0, 0, 0, 0, 0];
    for ahead in [4u32, 5, 1000, 1 << 31, u32::MAX] {
        let mut command = i.command(FINAL, 0, &ready);
        i.cmd_sn = i.cmd_sn.wrapping_sub(1);
        command.put_u32(24, i.cmd_sn.wrapping_add(ahead));
        i.send(&command, &[]);
    }
    let data = i.data_out(4711, 1, 0, 0, true);
    i.send(&data, &[1; 512]);
    assert!(i.hears_nothing());
    assert_eq!(i.ask(&ready).status, 0);
    assert_eq!(i.max_cmd_sn, i.cmd_sn + 3);
}

#[test]
fn tasks_are_aborted_and_the_others_hear_of_a_reset() {
    let server = serve(Steady::new(150_000_000, false), options());
    let (mut i, mut other) = (server.initiator_with(1, &[]), server.initiator_with(2, &[]));
    let manage = |i: &mut crate::initiator::Initiator, function: u8, about: u32| {
        let mut header = Header::new(TASK_MANAGEMENT | IMMEDIATE, FINAL | function, 9000);
        header.put_u32(20, about);
        header.put_u32(24, i.cmd_sn);
        i.send(&header, &[]);
        let (answer, _) = i.pdu();
        assert_eq!((answer.code(), answer.task_tag()), (TASK_MANAGEMENT_RESPONSE, 9000));
        answer.0[2]
    };
    let write = i.command(FINAL | WRITES, 4096, &cdb_16(WRITE_16, 0, 0, 8));
    i.send(&write, &[]);
    assert_eq!(i.pdu().0.code(), READY_TO_TRANSFER);
    assert_eq!(manage(&mut i, ABORT_TASK, write.task_tag()), FUNCTION_COMPLETE);
    let late = i.data_out(write.task_tag(), 0, 0, 0, true);
    i.send(&late, &[1; 4096]);
    assert_eq!(manage(&mut i, ABORT_TASK, write.task_tag()), NO_SUCH_TASK);
    // A read that the drive is at: the answer comes when it has ended there.
    let read = i.command(FINAL | READS, 512, &cdb_16(READ_16, 0, 0, 1));
    i.send(&read, &[]);
    assert_eq!(manage(&mut i, LOGICAL_UNIT_RESET, 0), FUNCTION_COMPLETE);
    assert!(i.hears_nothing());
    let ready = [TEST_UNIT_READY, 0, 0, 0, 0, 0];
    assert_eq!((i.ask(&ready).status, other.ask(&ready).sense), (0, (6, 0x29, 3)));
    assert_eq!(other.ask(&ready).status, 0, "it is told once");
    assert_eq!(manage(&mut i, 8, 0), FUNCTION_NOT_SUPPORTED);
    // All connections would have to end.
    assert_eq!(manage(&mut i, TARGET_COLD_RESET, 0), FUNCTION_NOT_SUPPORTED);
    assert_eq!(other.ask(&ready).status, 0);
    // It would be about the commands of others, too. Nor does the unit say that it has it.
    let read = other.command(FINAL | READS, 512, &cdb_16(READ_16, 0, 0, 1));
    other.send(&read, &[]);
    assert_eq!(manage(&mut i, CLEAR_TASK_SET, 0), FUNCTION_NOT_SUPPORTED);
    assert_eq!(other.finish(read.task_tag(), &[]).data, [0; 512]);
    let mut supported = [MAINTENANCE_IN, REPORT_SUPPORTED_TASK_MANAGEMENT, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0];
    assert_eq!(i.read(&supported, 4).data, [0xca, 0, 0, 0]);
    supported[9] = 3;
    assert_eq!(i.read(&supported, 4).sense, (5, 0x24, 0));
    assert_eq!(i.read(&cdb_16(READ_16, 0, 0, 8), 4096).data, [0; 4096], "nothing was written");
}

/// Whatever was asked, and by which command.
#[test]
fn every_command_that_fails_is_counted() {
    let server = serve(Steady::new(1000, true), options());
    let mut i = server.initiator();
    assert_eq!(i.write(&cdb_16(VERIFY_16, 2, 0, 1), &[1; 512]).sense, (0xe, 0x1d, 0));
    assert_eq!(i.ask(&[START_STOP_UNIT, 0, 0, 0, 0, 0]).status, 0);
    // DATA SET MANAGEMENT without TRIM; a SMART command without its signature; a command that no drive has.
    for (protocol, length, command) in [(6, 0x26, 0x06), (3, 0, 0xb0), (3, 0, 0xff)] {
        let mut cdb = [0; 16];
        (cdb[0], cdb[1], cdb[2], cdb[14]) = (ATA_PASS_THROUGH_16, protocol << 1, length, command);
        assert_eq!(i.ask(&cdb).status, 2);
    }
    assert_eq!(i.ask(&[0xfe, 0, 0, 0, 0, 0]).sense, (5, 0x20, 0));
    let status = server.order(&Order::Status);
    let counts = ["read", "flush", "trim"].map(|kind| {
        let requests = &status["requests"][kind];
        (requests["requests"].as_u64(), requests["errors"].as_u64())
    });
    assert_eq!(counts, [(Some(1), Some(1)), (Some(1), Some(0)), (Some(1), Some(1))]);
    assert_eq!(status["other_errors"], 3);
}

#[test]
fn a_cut_is_heard_of() {
    let server = serve(Steady::new(100_000_000, true), ServerOptions { on_cut: OnCut::Errors, ..options() });
    let mut i = server.initiator();
    let write = cdb_16(WRITE_16, 8, 0, 1);
    assert_eq!(i.write(&write, &[3; 512]).status, 0);
    let read = i.command(FINAL | READS, 512, &cdb_16(READ_16, 0, 0, 1));
    i.send(&read, &[]);
    server.order(&Order::Status);
    server.order(&Order::Cut);
    assert_eq!(i.finish(read.task_tag(), &[]).sense, (2, 4, 0), "it was under way");
    assert_eq!(i.write(&write, &[4; 512]).sense, (2, 4, 0));
    assert_eq!(i.ask(&[TEST_UNIT_READY, 0, 0, 0, 0, 0]).sense, (2, 4, 0));
    assert_eq!(i.read(&[INQUIRY, 0, 0, 0, 36, 0], 36).status, 0);
    server.order(&Order::Restore);
    assert_eq!(i.write(&write, &[5; 512]).sense, (6, 0x29, 0));
    assert_eq!(i.read(&cdb_16(READ_16, 0, 0, 1), 512).data, [3; 512]);
    let requests = server.order(&Order::Status)["requests"].clone();
    for kind in ["read", "write"] {
        let counts = (requests[kind]["requests"].as_u64(), requests[kind]["errors"].as_u64());
        assert_eq!(
            counts,
            (Some(2), Some(1)),
            "{kind}: what a unit attention stands before was not asked of the drive"
        );
    }
    // A standby is a flush that goes with the power, too.
    let stand_by = i.command(FINAL, 0, &[START_STOP_UNIT, 0, 0, 0, 0, 0]);
    i.send(&stand_by, &[]);
    server.order(&Order::Status);
    server.order(&Order::Cut);
    assert_eq!(i.finish(stand_by.task_tag(), &[]).sense, (2, 4, 0));
    let flushes = &server.order(&Order::Status)["requests"]["flush"];
    assert_eq!((&flushes["requests"], &flushes["errors"]), (&1.into(), &1.into()));
    let gone = serve(Steady::new(1000, true), options());
    let mut i = gone.initiator();
    gone.order(&Order::Cut);
    assert!(i.is_gone() && gone.iscsi_connect().is_gone());
}

#[test]
fn a_served_drive_survives_spoiled_initiators() {
    let server = serve(Steady::new(1000, false), options());
    let mut good = server.initiator_with(99, &[]);
    assert_eq!(good.write(&cdb_16(WRITE_16, 0, 1 << 17, 8), &[4; 4096]).status, 0);
    let mut rng = Rng::new(3);
    for case in 0..400u64 {
        let mut bad = server.iscsi_connect();
        let names = [("InitiatorName", "iqn.2000-01.test:bad"), ("TargetName", TARGET), ("InitialR2T", "No")];
        let mut login = Header::new(LOGIN | IMMEDIATE, TRANSIT | 1 << 2 | 3, 1);
        login.0[13] = case as u8;
        login.put_u32(24, bad.cmd_sn);
        let mut bytes = login.bytes(&text(&names));
        let untouched = if rng.chance(1, 4) { 0 } else { bytes.len() };
        for k in 0..4 {
            let write = bad.command(FINAL | WRITES, 2048, &cdb_16(WRITE_16, 0, 8 * k, 4));
            bytes.extend_from_slice(&write.bytes(&[1; 1024]));
            bytes.extend_from_slice(&bad.data_out(write.task_tag(), k as u32, 0, 1024, true).bytes(&[2; 1024]));
            bytes.extend_from_slice(&bad.command(FINAL | READS, 4096, &cdb_16(READ_16, 0, 0, 8)).bytes(&[]));
            bytes.extend_from_slice(&Header::new(TASK_MANAGEMENT | IMMEDIATE, FINAL | 2, 77).bytes(&[]));
        }
        for _ in 0..=rng.below(4) {
            let at = untouched + rng.below((bytes.len() - untouched) as u64) as usize;
            match rng.below(4) {
                0 => bytes[at] ^= 1 << rng.below(8),
                1 => bytes[at] = [0, 255, 127, 128][rng.below(4) as usize],
                2 => drop(bytes.drain(at..(at + 1 + rng.below(16) as usize).min(bytes.len()))),
                _ => bytes.insert(at, rng.below(256) as u8),
            }
        }
        drop(bad.stream.write_all(&bytes));
        drop(bad);
        if case % 20 == 0 {
            assert_eq!(good.read(&cdb_16(READ_16, 0, 1 << 17, 8), 4096).data, [4; 4096]);
        }
    }
    assert_eq!(good.read(&cdb_16(READ_16, 0, 1 << 17, 8), 4096).data, [4; 4096]);
}

#[test]
fn a_flood_of_pings_that_nobody_reads_is_not_kept() {
    let server = serve(Steady::new(1000, false), options());
    let mut greedy = server.initiator();
    greedy.stream.set_nonblocking(true).unwrap();
    let mut ping = Header::new(IMMEDIATE, FINAL, 5);
    ping.put_u32(20, NO_TAG);
    let bytes = ping.bytes(&vec![1; 256 << 10]);
    let mut sent = 0;
    for _ in 0..400 {
        match greedy.stream.write(&bytes[sent % bytes.len()..]) {
            Ok(count) => sent += count,
            Err(_) => std::thread::sleep(std::time::Duration::from_micros(500)),
        }
    }
    assert!(sent < 40 << 20, "{sent} bytes were taken of a client that reads nothing");
    assert_eq!(server.initiator_with(2, &[]).ask(&[TEST_UNIT_READY, 0, 0, 0, 0, 0]).status, 0);
}

/// STANDBY IMMEDIATE and its like: the drive is at rest first, what comes meanwhile waits, and a cut after it is a clean one.
#[test]
fn a_client_can_shut_the_drive_down() {
    let ata = |command: u8| [0x85, 3 << 1, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, command, 0];
    let stops: [&[u8]; 4] =
        [&ata(0xe0), &ata(0xe6), &[START_STOP_UNIT, 0, 0, 0, 0, 0], &[START_STOP_UNIT, 0, 0, 0, 0x31, 0]];
    let errors = || ServerOptions { on_cut: OnCut::Errors, ..options() };
    for (number, stop) in stops.into_iter().enumerate() {
        let server = serve(Steady::new(150_000_000, true), errors());
        let (mut i, mut other) = (server.initiator_with(1, &[]), server.initiator_with(2, &[]));
        let mode = |i: &mut crate::initiator::Initiator| i.ask(&ata(0xe5)).sense_bytes[8 + 5];
        let unclean = || server.order(&Order::Smart)["nvme_smart_log"]["unsafe_shutdowns"].as_u64().unwrap();
        // A read is at the drive, and another one comes while it goes to stand by.
        let read = |i: &mut crate::initiator::Initiator| {
            let read = i.command(FINAL | READS, 512, &cdb_16(READ_16, 0, 0, 1));
            i.send(&read, &[]);
            read.task_tag()
        };
        let earlier = read(&mut other);
        server.order(&Order::Status);
        let stopping = i.command(FINAL, 0, stop);
        i.send(&stopping, &[]);
        server.order(&Order::Status);
        let began = crate::client::now();
        let later = read(&mut other);
        assert_eq!(other.finish(earlier, &[]).data, [0; 512], "case {number}");
        let ended = i.finish(stopping.task_tag(), &[]);
        assert!(ended.status == 0 || ended.sense == (1, 0, 0x1d), "case {number}: {ended:?}");
        assert_eq!(other.finish(later, &[]).data, [0; 512]);
        assert!(began.elapsed() >= std::time::Duration::from_millis(300), "it waited");
        assert_eq!(mode(&mut i), 0xff, "the read has woken it");
        server.order(&Order::Cut);
        server.order(&Order::Restore);
        assert_eq!((unclean(), i.ask(&ata(0xe5)).sense), (1, (6, 0x29, 0)));
        assert_eq!(i.write(&cdb_16(WRITE_16, 0, 0, 1), &[7; 512]).status, 0);
        let ended = i.ask(stop);
        assert!(ended.status == 0 || ended.sense == (1, 0, 0x1d));
        assert_eq!(mode(&mut i), 0);
        server.order(&Order::Cut);
        server.order(&Order::Restore);
        assert_eq!((unclean(), i.ask(&ata(0xe5)).sense), (1, (6, 0x29, 0)), "case {number}");
        assert_eq!(i.read(&cdb_16(READ_16, 0, 0, 1), 512).data, [7; 512]);
        // The power goes while it waits for what is under way.
        let under_way = read(&mut i);
        server.order(&Order::Status);
        let stopping = i.command(FINAL, 0, stop);
        i.send(&stopping, &[]);
        let behind = read(&mut i);
        server.order(&Order::Status);
        server.order(&Order::Cut);
        let tags = [under_way, stopping.task_tag(), behind];
        let mut lost: Vec<u32> = tags.iter().map(|_| i.pdu().0.task_tag()).collect();
        lost.sort_unstable();
        assert_eq!(lost, tags);
        server.order(&Order::Restore);
        assert_eq!(unclean(), 2);
    }
}

#[test]
fn a_drive_that_is_not_ready_says_that_it_becomes_so() {
    let server =
        serve(Steady::new(1000, true).starting_in(300_000_000), ServerOptions { on_cut: OnCut::Errors, ..options() });
    let mut i = server.initiator();
    let ready = [TEST_UNIT_READY, 0, 0, 0, 0, 0];
    assert_eq!(i.ask(&ready).status, 0);
    server.order(&Order::Cut);
    server.order(&Order::Restore);
    assert_eq!((i.ask(&ready).sense, i.ask(&ready).sense), ((6, 0x29, 0), (2, 4, 1)));
    assert_eq!(i.read(&[REQUEST_SENSE, 0, 0, 0, 18, 0], 18).data[12..14], [4, 1]);
    std::thread::sleep(std::time::Duration::from_millis(350));
    assert_eq!(i.ask(&ready).status, 0);
}

/// A drive may forget trims in a cut, even behind a flush.
#[test]
fn blocks_that_were_written_the_same_stay_so_after_a_flush_and_a_cut() {
    let server =
        serve(Steady::new(1000, true).forgetting_trims(), ServerOptions { on_cut: OnCut::Errors, ..options() });
    let mut i = server.initiator();
    let flush = cdb_16(SYNCHRONIZE_CACHE_16, 0, 0, 0);
    assert_eq!(i.write(&cdb_16(WRITE_16, 0, 0, 64), &[9; 32768]).status, 0);
    assert_eq!(i.ask(&flush).status, 0);
    assert_eq!(i.ask(&cdb_16(WRITE_SAME_16, 9, 0, 32)).status, 0, "UNMAP and NDOB");
    assert_eq!(i.ask(&flush).status, 0);
    server.order(&Order::Cut);
    server.order(&Order::Restore);
    assert_eq!(i.ask(&[TEST_UNIT_READY, 0, 0, 0, 0, 0]).sense, (6, 0x29, 0));
    assert_eq!(i.read(&cdb_16(READ_16, 0, 0, 64), 32768).data, [[0; 16384], [9; 16384]].concat());
}

/// Of whoever's: of another initiator, of a client of NBD, and of one that is gone.
#[test]
fn a_reset_is_answered_once_nothing_is_at_the_drive_any_more() {
    let server = serve(Steady::new(300_000_000, true), options());
    let (mut i, mut other) = (server.initiator_with(1, &[]), server.initiator_with(2, &[]));
    let write = other.command(FINAL | WRITES, 4096, &cdb_16(WRITE_16, 0, 0, 8));
    other.send(&write, &[]);
    let (asked, _) = other.pdu();
    let data = other.data_out(write.task_tag(), asked.u32_at(20), 0, 0, true);
    other.send(&data, &[1; 4096]);
    let (mut stays, mut leaves) = (server.client(), server.client());
    stays.send(CMD_WRITE, 0, 4096, 4096, &[2; 4096]);
    leaves.send(CMD_WRITE, 0, 8192, 4096, &[3; 4096]);
    let under_way = |count: u64| server.order(&Order::Status)["requests_under_way"] == count;
    while !under_way(3) {}
    drop(leaves);
    let mut reset = Header::new(TASK_MANAGEMENT | IMMEDIATE, FINAL | LOGICAL_UNIT_RESET, 9000);
    reset.put_u32(24, i.cmd_sn);
    i.send(&reset, &[]);
    let (answer, _) = i.pdu();
    assert_eq!((answer.code(), answer.0[2]), (TASK_MANAGEMENT_RESPONSE, FUNCTION_COMPLETE));
    assert!(under_way(0), "it is answered too early");
    assert!(other.hears_nothing(), "its command was aborted");
    assert_eq!(stays.reply(0).1, 0, "one of NBD goes on");
    // With nothing under way it is answered at once.
    i.send(&reset, &[]);
    assert_eq!(i.pdu().0.code(), TASK_MANAGEMENT_RESPONSE);
}

#[test]
fn a_reset_aborts_what_others_have_under_way() {
    for function in [LOGICAL_UNIT_RESET, TARGET_WARM_RESET] {
        let server = serve(Steady::new(150_000_000, false), options());
        let (mut i, mut other) = (server.initiator_with(1, &[]), server.initiator_with(2, &[]));
        let write = other.command(FINAL | WRITES, 4096, &cdb_16(WRITE_16, 0, 0, 8));
        other.send(&write, &[]);
        let (asked, _) = other.pdu();
        assert_eq!(asked.code(), READY_TO_TRANSFER);
        let read = other.command(FINAL | READS, 512, &cdb_16(READ_16, 0, 0, 1));
        other.send(&read, &[]);
        server.order(&Order::Status);
        let mut reset = Header::new(TASK_MANAGEMENT | IMMEDIATE, FINAL | function, 9000);
        reset.put_u32(24, i.cmd_sn);
        i.send(&reset, &[]);
        let (answer, _) = i.pdu();
        assert_eq!((answer.code(), answer.0[2]), (TASK_MANAGEMENT_RESPONSE, FUNCTION_COMPLETE));
        let late = other.data_out(write.task_tag(), asked.u32_at(20), 0, 0, true);
        other.send(&late, &[1; 4096]);
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(other.hears_nothing());
        assert_eq!(other.ask(&[TEST_UNIT_READY, 0, 0, 0, 0, 0]).sense, (6, 0x29, 3));
        assert_eq!(other.read(&cdb_16(READ_16, 0, 0, 8), 4096).data, [0; 4096], "nothing was written");
    }
}

/// They come without counting in the window, and each waits for all that is under way.
#[test]
fn functions_that_wait_are_few() {
    let server = serve(Steady::new(300_000_000, false), options());
    let mut i = server.initiator();
    let read = i.command(FINAL | READS, 512, &cdb_16(READ_16, 0, 0, 1));
    i.send(&read, &[]);
    for tag in 0..50 {
        let mut reset = Header::new(TASK_MANAGEMENT | IMMEDIATE, FINAL | LOGICAL_UNIT_RESET, tag);
        reset.put_u32(24, i.cmd_sn);
        i.send(&reset, &[]);
    }
    let mut answers: Vec<(u32, u8)> = (0..50).map(|_| i.pdu().0).map(|h| (h.task_tag(), h.0[2])).collect();
    answers.sort_unstable();
    let waited = |tag| if tag < 16 { FUNCTION_COMPLETE } else { FUNCTION_REJECTED };
    assert_eq!(answers, (0..50).map(|tag| (tag, waited(tag))).collect::<Vec<_>>());
    assert_eq!(i.ask(&[TEST_UNIT_READY, 0, 0, 0, 0, 0]).status, 0);
}
