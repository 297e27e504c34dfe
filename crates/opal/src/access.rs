//! Who may do what: what each method of each object asks for (Opal SSC 2.01, sections 4.2 and 4.3).

use crate::aces::{ace, changeable, expression};
use crate::expression::Expression;
use crate::memory::{Memory, USERS};
use crate::object::{Object, Sp};
use crate::uid::{
    ACTIVATE, ADMINS, ANYBODY, AUTHENTICATE, GEN_KEY, GET, NEXT, PSID, RANDOM, REVERT, REVERT_SP, SET, SID, USERS_FROM,
    Uid,
};

/// What a method may do to an object, if an expression holds.
pub struct Grant {
    pub expression: Expression,
    /// Of Get and Set: the columns that are opened.
    pub columns: std::ops::RangeInclusive<u64>,
}

/// All that may do something with an object by this method.
#[must_use]
pub fn grants(memory: &Memory, sp: Sp, object: Object, method: Uid) -> Vec<Grant> {
    let to = |authorities: &[Uid], columns| Grant { expression: Expression::any_of(authorities), columns };
    match method {
        RANDOM | AUTHENTICATE if object == Object::ThisSp => vec![to(&[ANYBODY], ALL)],
        NEXT => vec![to(&[ANYBODY], ALL)],
        _ if sp == Sp::Admin => admin_grants(object, method, to),
        _ => locking_grants(memory, object, method),
    }
}

const ALL: std::ops::RangeInclusive<u64> = 0..=u64::MAX;

fn admin_grants(
    object: Object,
    method: Uid,
    to: impl Fn(&[Uid], std::ops::RangeInclusive<u64>) -> Grant,
) -> Vec<Grant> {
    match (method, object) {
        (GET, Object::MsidPin) => vec![to(&[ANYBODY], ALL)],
        // All but the PIN itself.
        (GET, Object::Pin(_)) => vec![to(&[ADMINS, SID], 0..=2), to(&[ADMINS, SID], 4..=7)],
        (GET, _) => vec![to(&[ANYBODY], ALL)],
        (SET, Object::Pin(SID)) => vec![to(&[SID], 3..=3)],
        (SET, Object::Pin(authority)) if authority != PSID => vec![to(&[ADMINS, SID], 3..=3)],
        (SET, Object::Authority(authority)) if authority != SID && authority != PSID => vec![to(&[SID], 5..=5)],
        (SET, Object::TperInfo) => vec![to(&[SID], 8..=8)],
        (REVERT, Object::Sp(Sp::Admin)) => vec![to(&[SID, PSID], ALL)],
        (REVERT, Object::Sp(Sp::Locking)) | (ACTIVATE, Object::Sp(Sp::Locking)) => vec![to(&[SID], ALL)],
        _ => Vec::new(),
    }
}

fn locking_grants(memory: &Memory, object: Object, method: Uid) -> Vec<Grant> {
    let by = |row: u32, columns| Grant { expression: expression(memory, row), columns };
    let user = |authority: Uid, from: u32| {
        let number = (authority as u32).wrapping_sub(USERS_FROM);
        (1..=USERS as u32).contains(&number).then(|| from + number)
    };
    match (method, object) {
        (GET, Object::Ace(_)) => vec![by(ace::ACE_GET, ALL)],
        (SET, Object::Ace(row)) if changeable(row) => vec![by(ace::ACE_SET, 3..=3)],
        // Everybody may see who there is.
        (GET, Object::Authority(_)) => vec![by(ace::ANYBODY, 0..=2), by(ace::AUTHORITY_GET, ALL)],
        (SET, Object::Authority(authority)) => {
            let mut all = vec![by(ace::AUTHORITY_SET_ENABLED, 5..=5), by(ace::ADMIN, 2..=2)];
            all.extend(user(authority, ace::COMMON_NAME_USERS_FROM).map(|row| by(row, 2..=2)));
            all
        }
        (GET, Object::Pin(_)) => vec![by(ace::PIN_GET, 0..=2), by(ace::PIN_GET, 4..=7)],
        (SET, Object::Pin(authority)) => {
            let row = user(authority, ace::PIN_SET_USERS_FROM).unwrap_or(ace::PIN_SET_ADMINS);
            vec![by(row, 3..=3)]
        }
        (GET, Object::Range(k)) => vec![by(ace::ANYBODY, 0..=2), by(ace::RANGE_GET + k, 3..=10)],
        (SET, Object::Range(k)) => {
            let all = if k == 0 { by(ace::GLOBAL_RANGE_SET, 5..=9) } else { by(ace::RANGES_SET, 3..=9) };
            vec![all, by(ace::READ_LOCK + k, 7..=7), by(ace::WRITE_LOCK + k, 8..=8), by(ace::ADMIN, 2..=2)]
        }
        (GET, Object::Key(_)) => vec![by(ace::ANYBODY, 0..=2), by(ace::KEY_GET_MODE, 4..=4)],
        (GEN_KEY, Object::Key(k)) => vec![by(ace::KEY_CHANGE + k, ALL)],
        (SET, Object::MbrControl) => vec![by(ace::MBR_CONTROL_SET, 1..=3), by(ace::MBR_CONTROL_DONE, 2..=3)],
        (SET, Object::Mbr) => vec![by(ace::ADMIN, ALL)],
        (GET, Object::DataStore) => vec![by(ace::DATA_STORE_GET, ALL)],
        (SET, Object::DataStore) => vec![by(ace::DATA_STORE_SET, ALL)],
        (REVERT_SP, Object::ThisSp) => vec![by(ace::ADMIN, ALL)],
        (GET, _) => vec![by(ace::ANYBODY, ALL)],
        _ => Vec::new(),
    }
}
