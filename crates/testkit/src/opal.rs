//! The words of a host that locks a drive by TCG Opal. They are written here once more, so that a mistake of the drive's own
//! encoder is not made twice.

pub const COM_ID: u16 = 0x1000;

pub const ADMIN_SP: u64 = 0x205_0000_0001;
pub const LOCKING_SP: u64 = 0x205_0000_0002;
pub const ACCESS_CONTROL: u64 = 0x7_0000_0000;

pub const SID: u64 = 0x9_0000_0006;
pub const PSID: u64 = 0x9_0001_ff01;
pub const ADMIN1: u64 = 0x9_0001_0001;
pub const USER1: u64 = 0x9_0003_0001;
pub const USER2: u64 = 0x9_0003_0002;
pub const PIN_SID: u64 = 0xb_0000_0001;
pub const PIN_MSID: u64 = 0xb_0000_8402;
pub const PIN_USER1: u64 = 0xb_0003_0001;
pub const GLOBAL_RANGE: u64 = 0x802_0000_0001;
pub const RANGE1: u64 = 0x802_0003_0001;
pub const KEY1: u64 = 0x806_0003_0001;
pub const MBR_CONTROL: u64 = 0x803_0000_0001;
pub const MBR: u64 = 0x804_0000_0000;
pub const DATA_STORE: u64 = 0x1001_0000_0000;
pub const ACE_READ_LOCK_1: u64 = 0x8_0003_e001;
pub const ACE_WRITE_LOCK_1: u64 = 0x8_0003_e801;
pub const ACE_RANGE_GET_1: u64 = 0x8_0003_d001;

pub const GET_ACL: u64 = 0x6_0000_000d;
pub const GET: u64 = 0x6_0000_0016;
pub const SET: u64 = 0x6_0000_0017;
pub const NEXT: u64 = 0x6_0000_0008;
pub const GEN_KEY: u64 = 0x6_0000_0010;
pub const REVERT_SP: u64 = 0x6_0000_0011;
pub const AUTHENTICATE: u64 = 0x6_0000_001c;
pub const REVERT: u64 = 0x6_0000_0202;
pub const ACTIVATE: u64 = 0x6_0000_0203;
pub const RANDOM: u64 = 0x6_0000_0601;

pub const NOT_AUTHORIZED: u8 = 1;
pub const NO_SESSIONS: u8 = 7;
pub const INVALID_PARAMETER: u8 = 0x0c;
pub const RESPONSE_OVERFLOW: u8 = 0x11;
pub const LOCKED_OUT: u8 = 0x12;
pub const FAIL: u8 = 0x3f;

/// An atom for a number, as Linux writes it: one byte, or a short atom of 8.
pub fn n(number: u64) -> Vec<u8> {
    if number < 64 {
        vec![number as u8]
    } else {
        let mut out = vec![0x88];
        out.extend(number.to_be_bytes());
        out
    }
}

/// A name of an object.
pub fn u(uid: u64) -> Vec<u8> {
    b(&uid.to_be_bytes())
}

pub fn b(bytes: &[u8]) -> Vec<u8> {
    let mut out = if bytes.len() < 16 {
        vec![0xa0 | bytes.len() as u8]
    } else {
        vec![0xd0 | (bytes.len() >> 8) as u8, bytes.len() as u8]
    };
    out.extend_from_slice(bytes);
    out
}

pub fn list(parts: &[Vec<u8>]) -> Vec<u8> {
    [vec![0xf0], parts.concat(), vec![0xf1]].concat()
}

pub fn name(name: Vec<u8>, value: Vec<u8>) -> Vec<u8> {
    [vec![0xf2], name, value, vec![0xf3]].concat()
}

/// Columns for Set.
pub fn values(columns: &[(u64, Vec<u8>)]) -> Vec<u8> {
    name(n(1), list(&columns.iter().map(|(column, value)| name(n(*column), value.clone())).collect::<Vec<_>>()))
}

/// One of these authorities, for an access control element.
pub fn any_of(authorities: &[u64]) -> Vec<u8> {
    let mut terms: Vec<_> = authorities.iter().map(|&authority| name(b(&[0, 0, 0x0c, 5]), u(authority))).collect();
    terms.extend(vec![name(b(&[0, 0, 4, 0x0e]), n(1)); authorities.len() - 1]);
    list(&terms)
}

pub fn packet(tper: u32, host: u32, tokens: &[u8]) -> Vec<u8> {
    let padded = tokens.len().div_ceil(4) * 4;
    let mut out = vec![0; 56];
    out[4..6].copy_from_slice(&COM_ID.to_be_bytes());
    out[16..20].copy_from_slice(&(36 + padded as u32).to_be_bytes());
    out[20..24].copy_from_slice(&tper.to_be_bytes());
    out[24..28].copy_from_slice(&host.to_be_bytes());
    out[40..44].copy_from_slice(&(12 + padded as u32).to_be_bytes());
    out[52..56].copy_from_slice(&(tokens.len() as u32).to_be_bytes());
    out.extend_from_slice(tokens);
    // As hosts send it: whole sectors.
    out.resize((56 + padded).div_ceil(512) * 512, 0);
    out
}

pub fn call(object: u64, method: u64, parameters: &[Vec<u8>]) -> Vec<u8> {
    [vec![0xf8], u(object), u(method), list(parameters), vec![0xf9, 0xf0, 0, 0, 0, 0xf1]].concat()
}

/// The status list that ends an answer.
pub fn status(answer: &[u8]) -> u8 {
    let [.., 0xf9, 0xf0, status, 0, 0, 0xf1] = *answer else { panic!("an answer without a status: {answer:02x?}") };
    status
}
