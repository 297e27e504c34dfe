//! The commands that a logical unit knows, and which bits of each mean something.

use super::words::*;
use crate::drive::Drive;

/// A command: its operation code, its service action if it has one, and by byte of its CDB the bits that mean
/// something: those that are looked at, and DPO and FUA, which change nothing where there is nothing to pass by.
struct Operation {
    code: u8,
    action: Option<u8>,
    usage: &'static [u8],
    known: fn(&Drive) -> bool,
}

const fn plain(code: u8, usage: &'static [u8]) -> Operation {
    Operation { code, action: None, usage, known: always }
}

fn always(_: &Drive) -> bool {
    true
}

fn trims(drive: &Drive) -> bool {
    drive.export().trim
}

fn never_trims(drive: &Drive) -> bool {
    !trims(drive)
}

fn has_protocols(drive: &Drive) -> bool {
    drive.has_security_protocols()
}

const OPERATIONS: &[Operation] = &[
    plain(TEST_UNIT_READY, &[0x00, 0, 0, 0, 0, 0]),
    plain(REQUEST_SENSE, &[0x03, 1, 0, 0, 0xff, 0]),
    plain(READ_6, &[0x08, 0x1f, 0xff, 0xff, 0xff, 0]),
    plain(WRITE_6, &[0x0a, 0x1f, 0xff, 0xff, 0xff, 0]),
    plain(INQUIRY, &[0x12, 1, 0xff, 0xff, 0xff, 0]),
    plain(MODE_SENSE_6, &[0x1a, 0x08, 0xff, 0xff, 0xff, 0]),
    plain(START_STOP_UNIT, &[0x1b, 0, 0, 0, 0xf1, 0]),
    plain(READ_CAPACITY_10, &[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    plain(READ_10, &[0x28, 0x18, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]),
    plain(WRITE_10, &[0x2a, 0x18, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]),
    plain(WRITE_AND_VERIFY_10, &[0x2e, 0x16, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]),
    plain(VERIFY_10, &[0x2f, 0x16, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]),
    plain(SYNCHRONIZE_CACHE_10, &[0x35, 0, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]),
    Operation { known: trims, ..plain(UNMAP, &[0x42, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0]) },
    Operation { known: trims, ..plain(WRITE_SAME_10, &[0x41, 0x08, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]) },
    Operation { known: never_trims, ..plain(WRITE_SAME_10, &[0x41, 0, 0xff, 0xff, 0xff, 0xff, 0, 0xff, 0xff, 0]) },
    plain(LOG_SENSE, &[0x4d, 0, 0x3f, 0xff, 0, 0xff, 0xff, 0xff, 0xff, 0]),
    plain(MODE_SENSE_10, &[0x5a, 0x18, 0xff, 0xff, 0, 0, 0, 0xff, 0xff, 0]),
    plain(
        ATA_PASS_THROUGH_16,
        &[0x85, 0x1f, 0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0],
    ),
    plain(READ_16, &[0x88, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]),
    plain(WRITE_16, &[0x8a, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]),
    plain(
        WRITE_AND_VERIFY_16,
        &[0x8e, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0],
    ),
    plain(VERIFY_16, &[0x8f, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]),
    plain(
        SYNCHRONIZE_CACHE_16,
        &[0x91, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0],
    ),
    // UNMAP and NDOB; or NDOB alone.
    Operation {
        known: trims,
        ..plain(
            WRITE_SAME_16,
            &[0x93, 0x09, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0],
        )
    },
    Operation {
        known: never_trims,
        ..plain(
            WRITE_SAME_16,
            &[0x93, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0],
        )
    },
    Operation {
        action: Some(READ_CAPACITY_16),
        ..plain(SERVICE_ACTION_IN_16, &[0x9e, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0])
    },
    Operation {
        action: Some(GET_LBA_STATUS),
        ..plain(
            SERVICE_ACTION_IN_16,
            &[0x9e, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0],
        )
    },
    plain(REPORT_LUNS, &[0xa0, 0, 0xff, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0]),
    plain(ATA_PASS_THROUGH_12, &[0xa1, 0x1e, 0x3f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]),
    Operation {
        known: has_protocols,
        ..plain(SECURITY_PROTOCOL_IN, &[0xa2, 0xff, 0xff, 0xff, 0x80, 0, 0xff, 0xff, 0xff, 0xff, 0, 0])
    },
    Operation {
        action: Some(REPORT_SUPPORTED_OPERATION_CODES),
        ..plain(MAINTENANCE_IN, &[0xa3, 0x1f, 0x87, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0])
    },
    Operation {
        action: Some(REPORT_SUPPORTED_TASK_MANAGEMENT),
        ..plain(MAINTENANCE_IN, &[0xa3, 0x1f, 0x80, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0])
    },
    plain(READ_12, &[0xa8, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]),
    plain(WRITE_12, &[0xaa, 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]),
    plain(WRITE_AND_VERIFY_12, &[0xae, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]),
    plain(VERIFY_12, &[0xaf, 0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]),
    Operation {
        known: has_protocols,
        ..plain(SECURITY_PROTOCOL_OUT, &[0xb5, 0xff, 0xff, 0xff, 0x80, 0, 0xff, 0xff, 0xff, 0xff, 0, 0])
    },
];

fn known(drive: &Drive) -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().filter(|operation| (operation.known)(drive))
}

/// Whether the unit has a command at all.
#[must_use]
pub fn is_known(drive: &Drive, code: u8) -> bool {
    known(drive).any(|operation| operation.code == code)
}

/// All commands (REPORT SUPPORTED OPERATION CODES). `timeouts`: with a descriptor of timeouts, which says nothing.
#[must_use]
pub fn all(drive: &Drive, timeouts: bool) -> Vec<u8> {
    let mut list = Vec::new();
    for operation in known(drive) {
        let flags = if operation.action.is_some() { 1 } else { 0 } | if timeouts { 2 } else { 0 };
        let action = operation.action.unwrap_or(0);
        list.extend_from_slice(&[operation.code, 0, 0, action, 0, flags, 0, operation.usage.len() as u8]);
        if timeouts {
            list.extend_from_slice(&NO_TIMEOUTS);
        }
    }
    let mut out = (list.len() as u32).to_be_bytes().to_vec();
    out.extend_from_slice(&list);
    out
}

/// One command. `None` if the question makes no sense: a service action of a command that has none, or the other way round.
#[must_use]
pub fn one(drive: &Drive, options: u8, code: u8, action: u16, timeouts: bool) -> Option<Vec<u8>> {
    let mut of_code = known(drive).filter(|operation| operation.code == code);
    let has_actions = known(drive).any(|operation| operation.code == code && operation.action.is_some());
    let found = match options {
        1 if has_actions => return None,
        1 => of_code.next(),
        2 if !has_actions && is_known(drive, code) => return None,
        // Whatever the command is: without service actions, zero is asked for.
        3 if !has_actions && action == 0 => of_code.next(),
        _ => of_code.find(|operation| operation.action.map(u16::from) == Some(action)),
    };
    let Some(operation) = found else { return Some(vec![0, 1, 0, 0]) };
    let mut out = vec![0, 3 | if timeouts { 0x80 } else { 0 }, 0, operation.usage.len() as u8];
    out.extend_from_slice(operation.usage);
    if let Some(action) = operation.action {
        out[4 + 1] = action;
    }
    if timeouts {
        out.extend_from_slice(&NO_TIMEOUTS);
    }
    Some(out)
}

const NO_TIMEOUTS: [u8; 12] = [0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
