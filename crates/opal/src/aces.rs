//! The access control elements of both SPs (Opal SSC 2.01, sections 4.2.1.6 and 4.3.1.7; the PSID's: Opal SSC Feature Set: PSID):
//! which there are, for whom they hold, and which columns they open.

use crate::expression::Expression;
use crate::memory::{Memory, RANGES, USERS};
use crate::sp::{Sp, range_name};
use crate::uid::{ADMINS, ANYBODY, PSID, SID, USERS_FROM, Uid, table, uid};

/// Rows of the access control elements; those of ranges and users are followed by their siblings.
pub mod ace {
    /// Of both SPs.
    pub const ANYBODY: u32 = 0x0_0001;
    pub const ADMIN: u32 = 0x0_0002;

    /// Of the Admin SP.
    pub const SID_PIN_GET: u32 = 0x0_8c02;
    pub const SID_PIN_SET: u32 = 0x0_8c03;
    pub const MSID_GET: u32 = 0x0_8c04;
    pub const SP_PSID: u32 = 0x1_00e0;
    pub const PSID_PIN_GET: u32 = 0x1_00e1;
    pub const SET_ENABLED: u32 = 0x3_0001;
    pub const SP_SID: u32 = 0x3_0002;
    pub const PROGRAMMATIC_RESET_SET: u32 = 0x3_0003;

    /// Of the Locking SP.
    pub const COMMON_NAME_GET: u32 = 0x0_0003;
    pub const COMMON_NAME_SET: u32 = 0x0_0004;
    pub const ACE_GET: u32 = 0x3_8000;
    pub const ACE_SET: u32 = 0x3_8001;
    pub const AUTHORITY_GET: u32 = 0x3_9000;
    pub const AUTHORITY_SET_ENABLED: u32 = 0x3_9001;
    pub const PIN_GET: u32 = 0x3_a000;
    /// Of both SPs, for different authorities.
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

/// What an element opens: all columns of an object, or these.
pub type Columns = Option<&'static [u64]>;

/// Of a PIN, all but the PIN itself and its names.
const NO_PIN: Columns = Some(&[0, 4, 5, 6, 7]);
const PIN: Columns = Some(&[3]);
const ENABLED: Columns = Some(&[5]);
const COMMON_NAME: Columns = Some(&[2]);

/// Of such elements there is one for each range, the global one first.
const OF_RANGES: [(u32, &str, &str, Columns); 4] = [
    (ace::KEY_CHANGE, "K_AES_256", "GenKey", None),
    (ace::RANGE_GET, "Locking", "Get_RangeStartToActiveKey", Some(&[3, 4, 5, 6, 7, 8, 9, 10])),
    (ace::READ_LOCK, "Locking", "Set_RdLocked", Some(&[7])),
    (ace::WRITE_LOCK, "Locking", "Set_WrLocked", Some(&[8])),
];

/// Of such elements there is one for each user.
const OF_USERS: [(u32, &str, &str, Columns); 2] = [
    (ace::PIN_SET_USERS_FROM, "C_PIN_User", "Set_PIN", PIN),
    (ace::COMMON_NAME_USERS_FROM, "User", "Set_CommonName", COMMON_NAME),
];

const ADMIN_SP: [(u32, &str, &[Uid], Columns); 11] = [
    (ace::ANYBODY, "ACE_Anybody", &[ANYBODY], None),
    (ace::ADMIN, "ACE_Admin", &[ADMINS], None),
    (ace::SID_PIN_GET, "ACE_C_PIN_SID_Get_NOPIN", &[ADMINS, SID], NO_PIN),
    (ace::SID_PIN_SET, "ACE_C_PIN_SID_Set_PIN", &[SID], PIN),
    (ace::MSID_GET, "ACE_C_PIN_MSID_Get_PIN", &[ANYBODY], Some(&[0, 3])),
    (ace::SP_PSID, "ACE_SP_PSID", &[PSID], None),
    (ace::PSID_PIN_GET, "ACE_C_PIN_Get_PSID_NoPIN", &[ANYBODY], NO_PIN),
    (ace::SET_ENABLED, "ACE_Set_Enabled", &[SID], ENABLED),
    (ace::SP_SID, "ACE_SP_SID", &[SID], None),
    (ace::PROGRAMMATIC_RESET_SET, "ACE_TPerInfo_Set_ProgrammaticResetEnable", &[SID], Some(&[8])),
    (ace::PIN_SET_ADMINS, "ACE_C_PIN_Admins_Set_PIN", &[ADMINS, SID], PIN),
];

const LOCKING_SP: [(u32, &str, &[Uid], Columns); 17] = [
    (ace::ANYBODY, "ACE_Anybody", &[ANYBODY], None),
    (ace::ADMIN, "ACE_Admin", &[ADMINS], None),
    (ace::COMMON_NAME_GET, "ACE_Anybody_Get_CommonName", &[ANYBODY], Some(&[0, 2])),
    (ace::COMMON_NAME_SET, "ACE_Admins_Set_CommonName", &[ADMINS], COMMON_NAME),
    (ace::ACE_GET, "ACE_ACE_Get_All", &[ADMINS], None),
    (ace::ACE_SET, "ACE_ACE_Set_BooleanExpression", &[ADMINS], Some(&[3])),
    (ace::AUTHORITY_GET, "ACE_Authority_Get_All", &[ADMINS], None),
    (ace::AUTHORITY_SET_ENABLED, "ACE_Authority_Set_Enabled", &[ADMINS], ENABLED),
    (ace::PIN_GET, "ACE_C_PIN_Admins_Get_All_NOPIN", &[ADMINS], NO_PIN),
    (ace::PIN_SET_ADMINS, "ACE_C_PIN_Admins_Set_PIN", &[ADMINS], PIN),
    (ace::KEY_GET_MODE, "ACE_K_AES_Mode", &[ANYBODY], Some(&[4])),
    (ace::GLOBAL_RANGE_SET, "ACE_Locking_GlblRng_Admins_Set", &[ADMINS], Some(&[5, 6, 7, 8, 9])),
    (ace::RANGES_SET, "ACE_Locking_Admins_RangeStartToLOR", &[ADMINS], Some(&[3, 4, 5, 6, 7, 8, 9])),
    (ace::MBR_CONTROL_SET, "ACE_MBRControl_Admins_Set", &[ADMINS], Some(&[1, 2, 3])),
    (ace::MBR_CONTROL_DONE, "ACE_MBRControl_Set_DoneToDOR", &[ADMINS], Some(&[2, 3])),
    (ace::DATA_STORE_GET, "ACE_DataStore_Get_All", &[ADMINS], None),
    (ace::DATA_STORE_SET, "ACE_DataStore_Set_All", &[ADMINS], None),
];

/// An element as the maker has set it.
pub struct Ace {
    pub row: u32,
    pub name: String,
    pub columns: Columns,
    expression: Expression,
}

/// All of an SP, in no order.
#[must_use]
pub fn all(sp: Sp) -> Vec<Ace> {
    let single = match sp {
        Sp::Admin => &ADMIN_SP[..],
        Sp::Locking => &LOCKING_SP,
    };
    let single = single.iter().map(|&(row, name, who, columns)| Ace {
        row,
        name: name.to_owned(),
        columns,
        expression: Expression::any_of(who),
    });
    let mut all: Vec<Ace> = single.collect();
    if sp == Sp::Locking {
        let admins = || Expression::any_of(&[ADMINS]);
        for (first, table, what, columns) in OF_RANGES {
            all.extend((0..=RANGES as u32).map(|range| Ace {
                row: first + range,
                name: format!("ACE_{}_{what}", range_name(table, range)),
                columns,
                expression: admins(),
            }));
        }
        for (from, begin, what, columns) in OF_USERS {
            all.extend((1..=USERS as u32).map(|number| Ace {
                row: from + number,
                name: format!("ACE_{begin}{number}_{what}"),
                columns,
                // A user sets the PIN of its own.
                expression: match from {
                    ace::PIN_SET_USERS_FROM => {
                        Expression::any_of(&[ADMINS, uid(table::AUTHORITY, USERS_FROM + number)])
                    }
                    _ => admins(),
                },
            }));
        }
    }
    all
}

/// The element of an SP with this row.
#[must_use]
pub fn find(sp: Sp, row: u32) -> Option<Ace> {
    all(sp).into_iter().find(|ace| ace.row == row)
}

/// The elements of the Locking SP whose expression the administrators may change.
#[must_use]
pub fn changeable(row: u32) -> bool {
    let ranges = |first: u32| (first..=first + RANGES as u32).contains(&row);
    let users = |from: u32| (from + 1..=from + USERS as u32).contains(&row);
    OF_RANGES.iter().any(|of| ranges(of.0))
        || OF_USERS.iter().any(|of| users(of.0))
        || [ace::ACE_GET, ace::AUTHORITY_GET, ace::MBR_CONTROL_DONE, ace::DATA_STORE_GET, ace::DATA_STORE_SET]
            .contains(&row)
}

impl Ace {
    /// For whom it holds now.
    #[must_use]
    pub fn expression(self, memory: &Memory, sp: Sp) -> Expression {
        let locking = memory.state.locking.as_ref().filter(|_| sp == Sp::Locking);
        let set = locking.and_then(|locking| locking.expressions.get(&self.row));
        set.cloned().unwrap_or(self.expression)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_elements_have_a_row_in_common_and_their_names_fit_a_column() {
        for (sp, count) in [(Sp::Admin, 11), (Sp::Locking, 17 + 4 * 9 + 2 * 9)] {
            let mut rows: Vec<u32> = all(sp).iter().map(|ace| ace.row).collect();
            rows.sort_unstable();
            rows.dedup();
            assert_eq!((rows.len(), all(sp).len()), (count, count));
        }
        let name = |row| find(Sp::Locking, row).expect("it is there").name;
        assert_eq!(name(0x3_d000), "ACE_Locking_GlobalRange_Get_RangeStartToActiveKey");
        assert_eq!(name(0x3_b808), "ACE_K_AES_256_Range8_GenKey");
        assert_eq!(name(0x3_a803), "ACE_C_PIN_User3_Set_PIN");
        assert_eq!(name(0x4_4009), "ACE_User9_Set_CommonName");
    }
}
