//! Numbers of iSCSI: what PDUs are, what flags and reasons they have.

pub const NOP_OUT: u8 = 0x00;
pub const SCSI_COMMAND: u8 = 0x01;
pub const TASK_MANAGEMENT: u8 = 0x02;
pub const LOGIN: u8 = 0x03;
pub const TEXT: u8 = 0x04;
pub const DATA_OUT: u8 = 0x05;
pub const LOGOUT: u8 = 0x06;
pub const SNACK: u8 = 0x10;

pub const NOP_IN: u8 = 0x20;
pub const SCSI_RESPONSE: u8 = 0x21;
pub const TASK_MANAGEMENT_RESPONSE: u8 = 0x22;
pub const LOGIN_RESPONSE: u8 = 0x23;
pub const TEXT_RESPONSE: u8 = 0x24;
pub const DATA_IN: u8 = 0x25;
pub const LOGOUT_RESPONSE: u8 = 0x26;
pub const READY_TO_TRANSFER: u8 = 0x31;
pub const REJECT: u8 = 0x3f;

/// Of the operation code's byte: the PDU is for immediate delivery.
pub const IMMEDIATE: u8 = 0x40;
/// The last PDU of a sequence.
pub const FINAL: u8 = 0x80;
/// Of a login or a text: more of it follows.
pub const CONTINUE: u8 = 0x40;
/// Of a login: to the next stage.
pub const TRANSIT: u8 = 0x80;
/// Of a command.
pub const READS: u8 = 0x40;
pub const WRITES: u8 = 0x20;
/// Of Data-In: there is a status in it.
pub const HAS_STATUS: u8 = 0x01;
/// Of Data-In and responses.
pub const UNDERFLOW: u8 = 0x02;
pub const OVERFLOW: u8 = 0x04;

/// No tag.
pub const NO_TAG: u32 = 0xffff_ffff;

/// Why an initiator leaves: it closes its session, or one connection of it.
pub const LOGOUT_SESSION: u8 = 0;
pub const LOGOUT_CONNECTION: u8 = 1;

pub const LOGOUT_DONE: u8 = 0;
pub const LOGOUT_NO_SUCH_CONNECTION: u8 = 1;
pub const LOGOUT_NO_RECOVERY: u8 = 2;

pub const REJECT_PROTOCOL_ERROR: u8 = 0x04;
pub const REJECT_NOT_SUPPORTED: u8 = 0x05;
pub const REJECT_TOO_MANY_IMMEDIATE: u8 = 0x06;
pub const REJECT_TASK_IN_PROGRESS: u8 = 0x07;
pub const REJECT_INVALID_FIELD: u8 = 0x09;

/// Why a login fails: class and detail.
pub const LOGIN_INITIATOR_ERROR: u16 = 0x0200;
pub const LOGIN_AUTHENTICATION_FAILED: u16 = 0x0201;
pub const LOGIN_TARGET_NOT_FOUND: u16 = 0x0203;
pub const LOGIN_UNSUPPORTED_VERSION: u16 = 0x0205;
pub const LOGIN_MISSING_PARAMETER: u16 = 0x0207;
pub const LOGIN_SESSION_TYPE: u16 = 0x0209;
pub const LOGIN_NO_SUCH_SESSION: u16 = 0x020a;
pub const LOGIN_INVALID_REQUEST: u16 = 0x020b;

pub const ABORT_TASK: u8 = 1;
pub const ABORT_TASK_SET: u8 = 2;
pub const CLEAR_TASK_SET: u8 = 4;
pub const LOGICAL_UNIT_RESET: u8 = 5;
pub const TARGET_WARM_RESET: u8 = 6;
pub const TARGET_COLD_RESET: u8 = 7;

pub const FUNCTION_COMPLETE: u8 = 0;
pub const NO_SUCH_TASK: u8 = 1;
pub const NO_SUCH_UNIT: u8 = 2;
pub const FUNCTION_NOT_SUPPORTED: u8 = 5;
pub const FUNCTION_REJECTED: u8 = 255;
