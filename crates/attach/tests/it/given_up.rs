//! Requests for which nobody waits any more.

use ssdlab_attach::iscsi::Header;
use ssdlab_attach::iscsi::words::*;
use ssdlab_attach::nbd::words::{CMD_FLAG_FUA, CMD_WRITE_ZEROES};
use ssdlab_attach::request::{DriveError, DriveRequest, Extent, Outcome, Started};
use ssdlab_attach::scsi::words::*;
use ssdlab_attach::{Drive, Export, Limits, Order, ServerOptions};
use ssdlab_contents::{ContentDevice, ContentOptions};
use ssdlab_core::{MILLISECOND, Nanos, Op};
use ssdlab_device::Device;

use crate::client::{Running, options, serve};
use crate::initiator::cdb_16;
use crate::steady::{CAPACITY, Steady};

/// The last page of the drive, to which long requests come last.
const LAST: u64 = CAPACITY - 4096;

struct Bench {
    drive: Drive,
    now: Nanos,
}

impl Bench {
    fn new() -> Bench {
        let device = Steady::new(MILLISECOND, true);
        let export = Export::new(device.info(), false);
        let device = ContentDevice::new(Box::new(device), ContentOptions::default());
        Bench { drive: Drive::new(device, export, 1 << 30), now: 0 }
    }

    fn start(&mut self, request: DriveRequest) {
        assert!(matches!(self.drive.start(self.now, request), Ok(Started::Later { .. })));
    }

    fn write(&mut self, owner: u64, cookie: u64) {
        let request = DriveRequest::new(owner, cookie, Op::Write, LAST, 4096);
        self.start(DriveRequest { data: vec![owner as u8; 4096], fua: true, ..request });
    }

    /// Until nothing is under way: outcomes by owner and cookie.
    fn wait(&mut self) -> Vec<(u64, u64, Result<Vec<u8>, DriveError>)> {
        let mut outcomes: Vec<Outcome> = Vec::new();
        while let Some(at) = self.drive.next_event() {
            self.now = self.now.max(at);
            self.drive.advance(self.now, &mut outcomes);
        }
        outcomes.into_iter().map(|o| (o.owner, o.cookie, o.result.map(|pieces| pieces.concat()))).collect()
    }

    fn last_page(&mut self) -> u8 {
        self.start(DriveRequest::new(9, 0, Op::Read, LAST, 4096));
        self.wait()[0].2.as_ref().unwrap()[0]
    }
}

/// One more than are at the device together, the last page of the drive at the end.
fn extents() -> Vec<Extent> {
    let at = |offset_bytes| Extent { offset_bytes, length_bytes: 4096 };
    (0..40).map(|k| at(8192 * k)).chain([at(LAST)]).collect()
}

#[test]
fn a_long_request_of_who_is_gone_leaves_alone_what_is_written_later() {
    let zeroes = DriveRequest::new(1, 5, Op::WriteZeroes, 0, CAPACITY);
    let first = extents()[0];
    let trim = DriveRequest::new(1, 5, Op::Trim, first.offset_bytes, first.length_bytes);
    for request in [zeroes, DriveRequest { further: extents()[1..].to_vec(), fua: true, ..trim }] {
        let mut bench = Bench::new();
        bench.start(request);
        bench.drive.abandon(1);
        bench.write(2, 0);
        assert_eq!(bench.wait(), [(1, 5, Err(DriveError::Aborted)), (2, 0, Ok(vec![]))]);
        assert_eq!((bench.now, bench.last_page()), (MILLISECOND, 2), "parts at the device and no others");
        assert_eq!(bench.drive.requests_served(), 2, "the write and the read");
    }
}

#[test]
fn who_is_gone_waits_for_nothing_and_nobody_waits_for_long() {
    let mut bench = Bench::new();
    bench.start(DriveRequest::new(1, 0, Op::WriteZeroes, 0, CAPACITY));
    assert!(bench.drive.settle(bench.now, 2, 7) && bench.drive.settle(bench.now, 3, 8));
    bench.now = 1;
    bench.start(DriveRequest::new(4, 0, Op::Read, 0, CAPACITY));
    bench.drive.abandon(1);
    bench.drive.abandon(2);
    let ended: Vec<_> = bench.wait().iter().map(|(owner, cookie, _)| (*owner, *cookie)).collect();
    assert_eq!(ended, [(1, 0), (3, 8), (4, 0)], "what has come later is not waited for");
}

#[test]
fn what_has_not_begun_never_does() {
    let mut bench = Bench::new();
    bench.start(DriveRequest { stands_by: true, ..DriveRequest::new(1, 0, Op::Flush, 0, 0) });
    bench.write(2, 0);
    bench.write(2, 1);
    bench.drive.give_up(2, 1);
    assert_eq!(bench.drive.owners().into_iter().collect::<Vec<_>>(), [2]);
    bench.drive.give_up(2, 0);
    assert_eq!(bench.drive.under_way(), 1, "the standby");
    let aborted = |cookie| (2, cookie, Err(DriveError::Aborted));
    assert_eq!(bench.wait(), [aborted(1), aborted(0), (1, 0, Ok(vec![]))]);
    assert!(bench.drive.stands_by());
    // Whoever hears of a cut hears of these, too.
    bench.start(DriveRequest { stands_by: true, ..DriveRequest::new(1, 0, Op::Flush, 0, 0) });
    bench.write(2, 0);
    bench.drive.give_up(2, 0);
    assert_eq!(bench.drive.cut(bench.now).len(), 2);
    assert_eq!(bench.drive.next_event(), None);
}

fn under_way(server: &Running, count: u64) -> bool {
    server.order(&Order::Status)["requests_under_way"] == count
}

/// Requests that have run to their end.
fn served(server: &Running, op: &str) -> u64 {
    server.order(&Order::Status)["requests"][op]["requests"].as_u64().unwrap_or(0)
}

/// One that has as much under way as it may have is not read: its hanging up is noticed all the same.
#[test]
fn who_hangs_up_has_given_up_what_was_not_answered() {
    let limits = Limits { requests: 2, ..Limits::default() };
    let server = serve(Steady::new(20_000_000, false), ServerOptions { limits, ..options() });
    let mut leaves = server.client();
    (0..2).for_each(|_| _ = leaves.send(CMD_WRITE_ZEROES, 0, 0, CAPACITY as u32, &[]));
    while !under_way(&server, 2) {}
    drop(leaves);
    while server.order(&Order::Status)["connections"] != 0 {}
    let mut stays = server.client();
    assert_eq!(stays.write(CMD_FLAG_FUA, LAST, &[7; 4096]), 0);
    while !under_way(&server, 0) {}
    assert_eq!(served(&server, "write"), 1);
    assert!(stays.read(LAST, 4096) == Ok(vec![7; 4096]), "it was overwritten");
}

#[test]
fn what_an_earlier_session_has_under_way_ends_with_it() {
    let server = serve(Steady::new(50_000_000, false), options());
    let mut earlier = server.initiator_with(1, &[("ImmediateData", "Yes")]);
    let list: Vec<u8> = extents().iter().flat_map(|extent| unmapped(*extent)).collect();
    let length = list.len() as u16;
    let mut list = [vec![0; 8], list].concat();
    list[2..4].copy_from_slice(&length.to_be_bytes());
    let [high, low] = (list.len() as u16).to_be_bytes();
    let unmap = earlier.command(FINAL | WRITES, list.len(), &[UNMAP, 0, 0, 0, 0, 0, 0, high, low, 0]);
    earlier.send(&unmap, &list);
    while !under_way(&server, 1) {}
    let mut again = server.initiator_with(1, &[]);
    assert_eq!(again.write(&cdb_16(WRITE_16, 8, LAST / 512, 8), &[7; 4096]).status, 0);
    while !under_way(&server, 0) {}
    assert!(again.read(&cdb_16(READ_16, 0, LAST / 512, 8), 4096).data == [7; 4096], "it was trimmed");
}

fn unmapped(extent: Extent) -> Vec<u8> {
    let blocks = (extent.length_bytes / 512) as u32;
    [&(extent.offset_bytes / 512).to_be_bytes()[..], &blocks.to_be_bytes(), &[0; 4]].concat()
}

#[test]
fn a_command_that_is_aborted_goes_no_further() {
    let server = serve(Steady::new(20_000_000, false), options());
    let (mut i, mut other) = (server.initiator_with(1, &[]), server.initiator_with(2, &[]));
    for function in [ABORT_TASK, ABORT_TASK_SET, LOGICAL_UNIT_RESET] {
        let verify = i.command(FINAL, 0, &cdb_16(VERIFY_16, 0, 0, (CAPACITY / 512) as u32));
        i.send(&verify, &[]);
        while !under_way(&server, 1) {}
        let resets = function == LOGICAL_UNIT_RESET;
        let asks = if resets { &mut other } else { &mut i };
        let mut about = Header::new(TASK_MANAGEMENT | IMMEDIATE, FINAL | function, 9000);
        about.put_u32(20, verify.task_tag());
        about.put_u32(24, asks.cmd_sn);
        asks.send(&about, &[]);
        let (answer, _) = asks.pdu();
        assert_eq!((answer.code(), answer.0[2]), (TASK_MANAGEMENT_RESPONSE, FUNCTION_COMPLETE));
        assert_eq!((under_way(&server, 0), served(&server, "read")), (true, 0));
    }
}

#[test]
fn a_server_that_ends_leaves_the_drive_no_more_than_it_is_at() {
    let server = serve(Steady::new(20 * MILLISECOND, false), options());
    let mut client = server.client();
    client.send(CMD_WRITE_ZEROES, 0, 0, CAPACITY as u32, &[]);
    while !under_way(&server, 1) {}
    let (mut drive, now, _) = server.stop_and_keep();
    drive.advance(now + 20 * MILLISECOND, &mut Vec::new());
    assert_eq!(drive.under_way(), 0);
}
