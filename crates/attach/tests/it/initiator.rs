//! An iSCSI initiator that builds every PDU by hand.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ssdlab_attach::iscsi::words::*;
use ssdlab_attach::iscsi::{HEADER_BYTES, Header};

use crate::client::Running;

pub const TARGET: &str = "iqn.2014-09.lab.ssdlab:steady";

/// What a command came to.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended {
    pub status: u8,
    pub data: Vec<u8>,
    /// Key, code and qualifier of the sense, and all of it.
    pub sense: (u8, u8, u8),
    pub sense_bytes: Vec<u8>,
    /// Positive: more could have been transferred; negative: less was.
    pub residual: i64,
}

pub struct Initiator {
    pub stream: UnixStream,
    pub cmd_sn: u32,
    pub max_cmd_sn: u32,
    tag: u32,
    /// Of what was sent: unsolicited data with the command, and after it.
    pub immediate_bytes: usize,
    pub unsolicited_bytes: usize,
    /// Data of a PDU that we send.
    pub segment_bytes: usize,
}

pub fn text(pairs: &[(&str, &str)]) -> Vec<u8> {
    pairs.iter().flat_map(|(key, value)| format!("{key}={value}\0").into_bytes()).collect()
}

impl Running {
    pub fn iscsi_connect(&self) -> Initiator {
        let stream = UnixStream::connect(self.path.with_extension("iscsi")).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        let (immediate_bytes, unsolicited_bytes, segment_bytes) = (0, 0, 65536);
        Initiator { stream, cmd_sn: 7, max_cmd_sn: 0, tag: 100, immediate_bytes, unsolicited_bytes, segment_bytes }
    }

    /// An initiator that is logged in, with these operational keys.
    pub fn initiator_with(&self, isid: u8, keys: &[(&str, &str)]) -> Initiator {
        let mut initiator = self.iscsi_connect();
        let names = [("InitiatorName", "iqn.2000-01.test:it"), ("TargetName", TARGET)];
        let (status, _) = initiator.log_in(isid, 1, &[&names, keys].concat());
        assert_eq!(status, 0);
        initiator
    }

    pub fn initiator(&self) -> Initiator {
        self.initiator_with(1, &[("MaxRecvDataSegmentLength", "262144")])
    }
}

impl Initiator {
    pub fn send(&mut self, header: &Header, data: &[u8]) {
        // A server that has hung up already is found out by what is read next.
        drop(self.stream.write_all(&header.bytes(data)));
    }

    pub fn pdu(&mut self) -> (Header, Vec<u8>) {
        let mut header = Header([0; HEADER_BYTES]);
        self.stream.read_exact(&mut header.0).unwrap();
        let mut data = vec![0; header.data_bytes().next_multiple_of(4)];
        self.stream.read_exact(&mut data).unwrap();
        data.truncate(header.data_bytes());
        self.max_cmd_sn = header.u32_at(32);
        (header, data)
    }

    /// Whether the server has hung up; PDUs that come before that are skipped.
    pub fn is_gone(&mut self) -> bool {
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(e) => return e.kind() == ErrorKind::ConnectionReset,
            }
        }
    }

    /// Whether nothing comes for a while.
    pub fn hears_nothing(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(60))).unwrap();
        let silent = matches!(self.stream.read(&mut [0]), Err(e) if e.kind() == ErrorKind::WouldBlock);
        self.stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        silent
    }

    /// One login PDU to the full-feature phase. Returns the status and the answer's text.
    pub fn log_in(&mut self, isid: u8, stage: u8, keys: &[(&str, &str)]) -> (u16, Vec<u8>) {
        let mut header = Header::new(LOGIN | IMMEDIATE, TRANSIT | stage << 2 | 3, 1);
        header.0[13] = isid;
        header.put_u32(24, self.cmd_sn);
        self.send(&header, &text(keys));
        let (answer, data) = self.pdu();
        assert_eq!(answer.code(), LOGIN_RESPONSE);
        (u16::from_be_bytes([answer.0[36], answer.0[37]]), data)
    }

    /// A PDU that is no command of SCSI, next in turn; the answer to it.
    pub fn exchange(&mut self, mut header: Header, data: &[u8]) -> (Header, Vec<u8>) {
        header.put_u32(24, self.cmd_sn);
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        self.send(&header, data);
        self.pdu()
    }

    /// The header of a command that is next in turn.
    pub fn command(&mut self, flags: u8, expected_bytes: usize, cdb: &[u8]) -> Header {
        self.tag += 1;
        let mut header = Header::new(SCSI_COMMAND, flags, self.tag);
        header.put_u32(20, expected_bytes as u32);
        header.put_u32(24, self.cmd_sn);
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        header.0[32..32 + cdb.len()].copy_from_slice(cdb);
        header
    }

    pub fn data_out(&self, tag: u32, transfer_tag: u32, number: u32, offset: usize, last: bool) -> Header {
        let mut header = Header::new(DATA_OUT, if last { FINAL } else { 0 }, tag);
        header.put_u32(20, transfer_tag);
        header.put_u32(36, number);
        header.put_u32(40, offset as u32);
        header
    }

    fn send_sequence(&mut self, tag: u32, transfer_tag: u32, from: usize, data: &[u8]) {
        let count = data.chunks(self.segment_bytes).count();
        for (k, chunk) in data.chunks(self.segment_bytes).enumerate() {
            let offset = from + k * self.segment_bytes;
            let header = self.data_out(tag, transfer_tag, k as u32, offset, k + 1 == count);
            self.send(&header, chunk);
        }
    }

    /// A command that brings data, as much of it at once as was agreed on, the rest when it is asked for.
    pub fn write(&mut self, cdb: &[u8], data: &[u8]) -> Ended {
        let immediate = data.len().min(self.immediate_bytes);
        let unsolicited = data.len().min(self.unsolicited_bytes).max(immediate);
        let last = if unsolicited > immediate { 0 } else { FINAL };
        let header = self.command(WRITES | last, data.len(), cdb);
        self.send(&header, &data[..immediate]);
        if unsolicited > immediate {
            self.send_sequence(header.task_tag(), NO_TAG, immediate, &data[immediate..unsolicited]);
        }
        self.finish(header.task_tag(), data)
    }

    /// A command that may bring data back.
    pub fn read(&mut self, cdb: &[u8], expected_bytes: usize) -> Ended {
        let flags = if expected_bytes > 0 { READS } else { 0 };
        let header = self.command(FINAL | flags, expected_bytes, cdb);
        self.send(&header, &[]);
        self.finish(header.task_tag(), &[])
    }

    pub fn ask(&mut self, cdb: &[u8]) -> Ended {
        self.read(cdb, 0)
    }

    /// Serves requests for data until the command ends.
    pub fn finish(&mut self, tag: u32, out: &[u8]) -> Ended {
        let mut data = Vec::new();
        loop {
            let (header, bytes) = self.pdu();
            assert_eq!(header.task_tag(), tag, "{header:?}");
            let residual = match header.flags() & (UNDERFLOW | OVERFLOW) {
                OVERFLOW => i64::from(header.u32_at(44)),
                UNDERFLOW => -i64::from(header.u32_at(44)),
                _ => 0,
            };
            match header.code() {
                READY_TO_TRANSFER => {
                    let (from, length) = (header.u32_at(40) as usize, header.u32_at(44) as usize);
                    self.send_sequence(tag, header.u32_at(20), from, &out[from..from + length]);
                }
                DATA_IN => {
                    assert_eq!(header.u32_at(40) as usize, data.len());
                    data.extend_from_slice(&bytes);
                    if header.flags() & HAS_STATUS != 0 {
                        return Ended { status: 0, data, sense: (0, 0, 0), sense_bytes: Vec::new(), residual };
                    }
                }
                SCSI_RESPONSE => {
                    let sense_bytes = bytes.get(2..).unwrap_or_default().to_vec();
                    let sense = match sense_bytes.first() {
                        None => (0, 0, 0),
                        Some(0x72) => (sense_bytes[1], sense_bytes[2], sense_bytes[3]),
                        Some(_) => (sense_bytes[2], sense_bytes[12], sense_bytes[13]),
                    };
                    return Ended { status: header.0[3], data, sense, sense_bytes, residual };
                }
                other => panic!("a PDU of code {other:#x}"),
            }
        }
    }
}

/// READ (16) or WRITE (16) and their like.
pub fn cdb_16(code: u8, flags: u8, lba: u64, blocks: u32) -> [u8; 16] {
    let mut cdb = [0; 16];
    (cdb[0], cdb[1]) = (code, flags);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
    cdb
}
