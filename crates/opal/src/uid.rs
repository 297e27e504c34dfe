//! Names of objects and methods: table in the upper half, row in the lower. From the TCG Core Specification 2.01 and
//! the Opal SSC 2.01, section 4; the numbers are also those of Linux (`block/opal_proto.h`).

/// An object or a method.
pub type Uid = u64;

#[must_use]
pub const fn uid(table: u32, row: u32) -> Uid {
    (table as u64) << 32 | row as u64
}

/// The upper half.
#[must_use]
pub const fn table_of(uid: Uid) -> u32 {
    (uid >> 32) as u32
}

/// The lower half.
#[must_use]
pub const fn row_of(uid: Uid) -> u32 {
    uid as u32
}

/// Tables.
pub mod table {
    pub const TABLE: u32 = 0x01;
    pub const SP_INFO: u32 = 0x02;
    pub const SP_TEMPLATES: u32 = 0x03;
    pub const METHOD_ID: u32 = 0x06;
    pub const ACCESS_CONTROL: u32 = 0x07;
    pub const ACE: u32 = 0x08;
    pub const AUTHORITY: u32 = 0x09;
    pub const C_PIN: u32 = 0x0b;
    pub const SECRET_PROTECT: u32 = 0x1d;
    pub const TPER_INFO: u32 = 0x201;
    pub const TEMPLATE: u32 = 0x204;
    pub const SP: u32 = 0x205;
    pub const LOCKING_INFO: u32 = 0x801;
    pub const LOCKING: u32 = 0x802;
    pub const MBR_CONTROL: u32 = 0x803;
    pub const MBR: u32 = 0x804;
    pub const K_AES_256: u32 = 0x806;
    pub const DATA_STORE: u32 = 0x1001;
}

/// Templates: what an SP is made of.
pub const BASE_TEMPLATE: Uid = uid(table::TEMPLATE, 1);
pub const ADMIN_TEMPLATE: Uid = uid(table::TEMPLATE, 2);
pub const LOCKING_TEMPLATE: Uid = uid(table::TEMPLATE, 6);

/// The SP of the session itself.
pub const THIS_SP: Uid = 1;
pub const SESSION_MANAGER: Uid = 0xff;
pub const ADMIN_SP: Uid = uid(table::SP, 1);
pub const LOCKING_SP: Uid = uid(table::SP, 2);

/// Methods of the session manager.
pub const PROPERTIES: Uid = 0xff01;
pub const START_SESSION: Uid = 0xff02;
pub const SYNC_SESSION: Uid = 0xff03;

const METHOD: u32 = table::METHOD_ID;
pub const NEXT: Uid = uid(METHOD, 0x08);
pub const GET_ACL: Uid = uid(METHOD, 0x0d);
pub const GEN_KEY: Uid = uid(METHOD, 0x10);
pub const REVERT_SP: Uid = uid(METHOD, 0x11);
pub const GET: Uid = uid(METHOD, 0x16);
pub const SET: Uid = uid(METHOD, 0x17);
pub const AUTHENTICATE: Uid = uid(METHOD, 0x1c);
pub const REVERT: Uid = uid(METHOD, 0x202);
pub const ACTIVATE: Uid = uid(METHOD, 0x203);
pub const RANDOM: Uid = uid(METHOD, 0x601);

/// Authorities.
pub const ANYBODY: Uid = uid(table::AUTHORITY, 0x01);
/// The class of all administrators of an SP.
pub const ADMINS: Uid = uid(table::AUTHORITY, 0x02);
pub const MAKERS: Uid = uid(table::AUTHORITY, 0x03);
pub const SID: Uid = uid(table::AUTHORITY, 0x06);
pub const ADMIN_OF_ADMIN_SP: Uid = uid(table::AUTHORITY, 0x201);
pub const PSID: Uid = uid(table::AUTHORITY, 0x1_ff01);
/// The class of all users of the Locking SP.
pub const USERS: Uid = uid(table::AUTHORITY, 0x3_0000);

/// Row of the first administrator of the Locking SP less one, in the tables of authorities and of PINs.
pub const ADMINS_FROM: u32 = 0x1_0000;
/// Row of the first user less one.
pub const USERS_FROM: u32 = 0x3_0000;
/// Row of the first range less one, in the tables of ranges and of keys. The global range is row 1.
pub const RANGES_FROM: u32 = 0x3_0000;
pub const GLOBAL_RANGE: u32 = 1;

/// The PIN of an authority that has one.
#[must_use]
pub const fn pin_of(authority: Uid) -> Uid {
    match authority {
        SID => uid(table::C_PIN, 1),
        _ => uid(table::C_PIN, row_of(authority)),
    }
}
/// What the drive's maker has set, for all to read.
pub const PIN_MSID: Uid = uid(table::C_PIN, 0x8402);

/// The kinds of terms in an expression of authorities: a reference to one, and an operator.
pub const AUTHORITY_REFERENCE: [u8; 4] = [0x00, 0x00, 0x0c, 0x05];
pub const OPERATOR: [u8; 4] = [0x00, 0x00, 0x04, 0x0e];
