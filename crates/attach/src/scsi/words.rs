//! Numbers of SCSI: operation codes, sense keys, status codes.

pub const TEST_UNIT_READY: u8 = 0x00;
pub const REQUEST_SENSE: u8 = 0x03;
pub const READ_6: u8 = 0x08;
pub const WRITE_6: u8 = 0x0a;
pub const INQUIRY: u8 = 0x12;
pub const MODE_SENSE_6: u8 = 0x1a;
pub const START_STOP_UNIT: u8 = 0x1b;
pub const READ_CAPACITY_10: u8 = 0x25;
pub const READ_10: u8 = 0x28;
pub const WRITE_10: u8 = 0x2a;
pub const WRITE_AND_VERIFY_10: u8 = 0x2e;
pub const VERIFY_10: u8 = 0x2f;
pub const SYNCHRONIZE_CACHE_10: u8 = 0x35;
pub const WRITE_SAME_10: u8 = 0x41;
pub const UNMAP: u8 = 0x42;
pub const LOG_SENSE: u8 = 0x4d;
pub const MODE_SENSE_10: u8 = 0x5a;
pub const ATA_PASS_THROUGH_16: u8 = 0x85;
pub const READ_16: u8 = 0x88;
pub const WRITE_16: u8 = 0x8a;
pub const WRITE_AND_VERIFY_16: u8 = 0x8e;
pub const VERIFY_16: u8 = 0x8f;
pub const SYNCHRONIZE_CACHE_16: u8 = 0x91;
pub const WRITE_SAME_16: u8 = 0x93;
/// With a service action.
pub const SERVICE_ACTION_IN_16: u8 = 0x9e;
pub const REPORT_LUNS: u8 = 0xa0;
pub const ATA_PASS_THROUGH_12: u8 = 0xa1;
pub const SECURITY_PROTOCOL_IN: u8 = 0xa2;
/// With a service action.
pub const MAINTENANCE_IN: u8 = 0xa3;
pub const READ_12: u8 = 0xa8;
pub const WRITE_12: u8 = 0xaa;
pub const WRITE_AND_VERIFY_12: u8 = 0xae;
pub const VERIFY_12: u8 = 0xaf;
pub const SECURITY_PROTOCOL_OUT: u8 = 0xb5;

/// Of [`SERVICE_ACTION_IN_16`].
pub const READ_CAPACITY_16: u8 = 0x10;
/// Of [`SERVICE_ACTION_IN_16`].
pub const GET_LBA_STATUS: u8 = 0x12;
/// Of [`MAINTENANCE_IN`].
pub const REPORT_SUPPORTED_OPERATION_CODES: u8 = 0x0c;
/// Of [`MAINTENANCE_IN`].
pub const REPORT_SUPPORTED_TASK_MANAGEMENT: u8 = 0x0d;

pub const NO_SENSE: u8 = 0x0;
pub const RECOVERED_ERROR: u8 = 0x1;
pub const NOT_READY: u8 = 0x2;
pub const MEDIUM_ERROR: u8 = 0x3;
pub const ILLEGAL_REQUEST: u8 = 0x5;
pub const UNIT_ATTENTION: u8 = 0x6;
pub const DATA_PROTECT: u8 = 0x7;
pub const ABORTED_COMMAND: u8 = 0xb;
pub const MISCOMPARE: u8 = 0xe;

pub const STATUS_GOOD: u8 = 0x00;
pub const STATUS_CHECK_CONDITION: u8 = 0x02;
pub const STATUS_BUSY: u8 = 0x08;
pub const STATUS_TASK_SET_FULL: u8 = 0x28;
