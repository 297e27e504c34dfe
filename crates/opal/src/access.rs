//! Who may do what: the access control tables of both SPs (Opal SSC 2.01, sections 4.2.1.5 and 4.3.1.6), as lists of access
//! control elements.

use crate::aces::{Columns, ace, changeable, find};
use crate::memory::{Memory, USERS};
use crate::object::Object;
use crate::sp::Sp;
use crate::uid::{
    ACTIVATE, ADMIN_OF_ADMIN_SP, ADMINS_FROM, AUTHENTICATE, GEN_KEY, GET, MAKERS, NEXT, PSID, RANDOM, REVERT,
    REVERT_SP, SET, SID, USERS_FROM, Uid, row_of, table, table_of,
};

/// Tables whose rows can be asked for one after the other.
const ADMIN_NEXT: [u32; 8] = [
    table::TABLE,
    table::SP_TEMPLATES,
    table::METHOD_ID,
    table::ACE,
    table::AUTHORITY,
    table::C_PIN,
    table::TEMPLATE,
    table::SP,
];
const LOCKING_NEXT: [u32; 8] = [
    table::TABLE,
    table::SP_TEMPLATES,
    table::METHOD_ID,
    table::ACE,
    table::AUTHORITY,
    table::C_PIN,
    table::SECRET_PROTECT,
    table::LOCKING,
];

/// The rows of the access control elements that open an object to a method; one of them suffices. `None`: the access control
/// table has no row for the two.
#[must_use]
pub fn list(sp: Sp, object: Object, method: Uid) -> Option<Vec<u32>> {
    match (method, object) {
        (AUTHENTICATE | RANDOM, Object::ThisSp) => Some(vec![ace::ANYBODY]),
        (NEXT, Object::Rows(table)) => {
            let tables = if sp == Sp::Admin { &ADMIN_NEXT } else { &LOCKING_NEXT };
            tables.contains(&table).then(|| vec![ace::ANYBODY])
        }
        (GET, Object::ThisSp | Object::Rows(_)) => None,
        _ if sp == Sp::Admin => of_admin_sp(object, method),
        _ => of_locking_sp(object, method),
    }
}

fn of_admin_sp(object: Object, method: Uid) -> Option<Vec<u32>> {
    Some(match (method, object) {
        (GET, Object::MsidPin) => vec![ace::MSID_GET],
        (GET, Object::Pin(PSID)) => vec![ace::PSID_PIN_GET],
        (GET, Object::Pin(_)) => vec![ace::SID_PIN_GET],
        (GET, _) => vec![ace::ANYBODY],
        (SET, Object::Pin(SID)) => vec![ace::SID_PIN_SET],
        (SET, Object::Pin(ADMIN_OF_ADMIN_SP)) => vec![ace::PIN_SET_ADMINS],
        (SET, Object::Authority(MAKERS | ADMIN_OF_ADMIN_SP)) => vec![ace::SET_ENABLED],
        (SET, Object::TperInfo) => vec![ace::PROGRAMMATIC_RESET_SET],
        (REVERT, Object::Sp(Sp::Admin)) => vec![ace::SP_SID, ace::ADMIN, ace::SP_PSID],
        (REVERT, Object::Sp(Sp::Locking)) => vec![ace::SP_SID, ace::ADMIN],
        (ACTIVATE, Object::Sp(_)) => vec![ace::SP_SID],
        _ => return None,
    })
}

fn of_locking_sp(object: Object, method: Uid) -> Option<Vec<u32>> {
    Some(match (method, object) {
        (GET, Object::Ace(_)) => vec![ace::ACE_GET],
        (SET, Object::Ace(row)) if changeable(row) => vec![ace::ACE_SET],
        (GET, Object::Authority(_)) => vec![ace::AUTHORITY_GET, ace::COMMON_NAME_GET],
        (SET, Object::Authority(authority)) => match (user_of(authority), admin_of(authority)) {
            (Some(user), _) => vec![ace::AUTHORITY_SET_ENABLED, ace::COMMON_NAME_USERS_FROM + user],
            // Somebody has to be left: the first one cannot be disabled.
            (_, Some(1)) => vec![ace::COMMON_NAME_SET],
            (_, Some(_)) => vec![ace::AUTHORITY_SET_ENABLED, ace::COMMON_NAME_SET],
            _ => return None,
        },
        (GET, Object::Pin(_)) => vec![ace::PIN_GET],
        (SET, Object::Pin(authority)) => {
            vec![user_of(authority).map_or(ace::PIN_SET_ADMINS, |user| ace::PIN_SET_USERS_FROM + user)]
        }
        (GET, Object::Range(k)) => vec![ace::RANGE_GET + k, ace::COMMON_NAME_GET],
        (SET, Object::Range(k)) => {
            let all = if k == 0 { ace::GLOBAL_RANGE_SET } else { ace::RANGES_SET };
            vec![all, ace::READ_LOCK + k, ace::WRITE_LOCK + k, ace::COMMON_NAME_SET]
        }
        (GET, Object::Key(_)) => vec![ace::KEY_GET_MODE],
        (GEN_KEY, Object::Key(k)) => vec![ace::KEY_CHANGE + k],
        (SET, Object::MbrControl) => vec![ace::MBR_CONTROL_SET, ace::MBR_CONTROL_DONE],
        (SET, Object::Mbr) => vec![ace::ADMIN],
        (GET, Object::DataStore) => vec![ace::DATA_STORE_GET],
        (SET, Object::DataStore) => vec![ace::DATA_STORE_SET],
        (REVERT_SP, Object::ThisSp) => vec![ace::ADMIN],
        (GET, _) => vec![ace::ANYBODY],
        _ => return None,
    })
}

fn numbered(authority: Uid, from: u32, most: usize) -> Option<u32> {
    let number = (table_of(authority) == table::AUTHORITY).then(|| row_of(authority).wrapping_sub(from));
    number.filter(|number| (1..=most as u32).contains(number))
}

fn user_of(authority: Uid) -> Option<u32> {
    numbered(authority, USERS_FROM, USERS)
}

fn admin_of(authority: Uid) -> Option<u32> {
    numbered(authority, ADMINS_FROM, crate::memory::ADMINS)
}

/// What those of the elements open that hold now. `is`: whether the session is of this authority.
#[must_use]
pub fn open(memory: &Memory, sp: Sp, list: &[u32], is: impl Fn(Uid) -> bool) -> Vec<Columns> {
    let elements = list.iter().map(|&row| find(sp, row).expect("lists name what is there"));
    let holding = elements.filter_map(|ace| {
        let columns = ace.columns;
        ace.expression(memory, sp).holds(&is).then_some(columns)
    });
    holding.collect()
}

/// Whether one of these opens a column.
#[must_use]
pub fn opens(open: &[Columns], column: u64) -> bool {
    open.iter().any(|columns| columns.is_none_or(|columns| columns.contains(&column)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sp::methods;
    use crate::uid::{THIS_SP, uid};

    /// Every list names elements that are there: `open` relies on it.
    #[test]
    fn lists_name_elements_that_the_sp_has() {
        for sp in [Sp::Admin, Sp::Locking] {
            let mut named = Vec::new();
            let tables = Object::rows(sp, table::TABLE).into_iter().map(row_of);
            let rows = tables.flat_map(|table| [vec![uid(table, 0)], Object::rows(sp, table)].concat());
            for object in std::iter::once(THIS_SP).chain(rows).filter_map(|name| Object::find(sp, name)) {
                for (method, _) in methods(sp) {
                    named.extend(list(sp, object, *method).unwrap_or_default());
                }
            }
            assert!(named.iter().all(|&row| find(sp, row).is_some()));
            // And each element that is there opens something.
            for ace in crate::aces::all(sp) {
                assert!(named.contains(&ace.row), "{}", ace.name);
            }
        }
    }
}
