//! The access control elements of the Locking SP (Opal SSC 2.01, section 4.3.1.6): which there are, and for whom they hold.

use crate::expression::Expression;
use crate::memory::{Memory, RANGES, USERS};
use crate::uid::{ADMINS, ANYBODY, USERS_FROM, table, uid};

/// Rows of the access control elements of the Locking SP; those of ranges and users are followed by their siblings.
pub mod ace {
    pub const ANYBODY: u32 = 0x0_0001;
    pub const ADMIN: u32 = 0x0_0002;
    pub const ACE_GET: u32 = 0x3_8000;
    pub const ACE_SET: u32 = 0x3_8001;
    pub const AUTHORITY_GET: u32 = 0x3_9000;
    pub const AUTHORITY_SET_ENABLED: u32 = 0x3_9001;
    pub const PIN_GET: u32 = 0x3_a000;
    pub const PIN_SET_ADMINS: u32 = 0x3_a001;
    /// Less one, of the first user.
    pub const PIN_SET_USERS_FROM: u32 = 0x3_a800;
    /// Of the global range; the others follow.
    pub const KEY_CHANGE: u32 = 0x3_b800;
    pub const KEY_GET_MODE: u32 = 0x3_bfff;
    pub const RANGE_GET: u32 = 0x3_d000;
    pub const READ_LOCK: u32 = 0x3_e000;
    pub const WRITE_LOCK: u32 = 0x3_e800;
    pub const GLOBAL_RANGE_SET: u32 = 0x3_f000;
    pub const RANGES_SET: u32 = 0x3_f001;
    pub const MBR_CONTROL_SET: u32 = 0x3_f800;
    pub const MBR_CONTROL_DONE: u32 = 0x3_f801;
    pub const DATA_STORE_GET: u32 = 0x3_fc00;
    pub const DATA_STORE_SET: u32 = 0x3_fc01;
    /// Less one, of the first user.
    pub const COMMON_NAME_USERS_FROM: u32 = 0x4_4000;
}

/// The access control elements of the Locking SP whose expression the administrators may change.
#[must_use]
pub fn changeable(row: u32) -> bool {
    let ranges = |first: u32| (first..=first + RANGES as u32).contains(&row);
    let users = |from: u32| (from + 1..=from + USERS as u32).contains(&row);
    [ace::KEY_CHANGE, ace::RANGE_GET, ace::READ_LOCK, ace::WRITE_LOCK].into_iter().any(ranges)
        || [ace::PIN_SET_USERS_FROM, ace::COMMON_NAME_USERS_FROM].into_iter().any(users)
        || [ace::MBR_CONTROL_DONE, ace::DATA_STORE_GET, ace::DATA_STORE_SET].contains(&row)
}

/// Whether the Locking SP has this access control element.
#[must_use]
pub fn exists(row: u32) -> bool {
    let fixed = [
        ace::ANYBODY,
        ace::ADMIN,
        ace::ACE_GET,
        ace::ACE_SET,
        ace::AUTHORITY_GET,
        ace::AUTHORITY_SET_ENABLED,
        ace::PIN_GET,
        ace::PIN_SET_ADMINS,
        ace::KEY_GET_MODE,
        ace::GLOBAL_RANGE_SET,
        ace::RANGES_SET,
        ace::MBR_CONTROL_SET,
    ];
    fixed.contains(&row) || changeable(row)
}

/// The expression of an access control element of the Locking SP, as it is now.
#[must_use]
pub fn expression(memory: &Memory, row: u32) -> Expression {
    let set = memory.state.locking.as_ref().and_then(|locking| locking.expressions.get(&row));
    set.cloned().unwrap_or_else(|| match row {
        ace::ANYBODY | ace::KEY_GET_MODE => Expression::any_of(&[ANYBODY]),
        _ => {
            let user = |from: u32| {
                let number = row.wrapping_sub(from);
                (1..=USERS as u32).contains(&number).then(|| uid(table::AUTHORITY, USERS_FROM + number))
            };
            match user(ace::PIN_SET_USERS_FROM) {
                Some(user) => Expression::any_of(&[ADMINS, user]),
                None => Expression::any_of(&[ADMINS]),
            }
        }
    })
}
