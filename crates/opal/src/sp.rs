//! The two parts of the drive that sessions are held with, and their methods.

use crate::uid::{
    ACTIVATE, ADMIN_SP, AUTHENTICATE, GEN_KEY, GET, GET_ACL, LOCKING_SP, NEXT, RANDOM, REVERT, REVERT_SP, SET, Uid,
};

/// A security provider: one of the two parts of the drive that sessions are held with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sp {
    Admin,
    Locking,
}

impl Sp {
    #[must_use]
    pub fn uid(self) -> Uid {
        match self {
            Sp::Admin => ADMIN_SP,
            Sp::Locking => LOCKING_SP,
        }
    }
}

/// The methods of each SP, with their names (Opal SSC 2.01, sections 4.2.1.4 and 4.3.1.5).
const ADMIN_METHODS: [(Uid, &str); 8] = [
    (NEXT, "Next"),
    (GET_ACL, "GetACL"),
    (GET, "Get"),
    (SET, "Set"),
    (AUTHENTICATE, "Authenticate"),
    (REVERT, "Revert"),
    (ACTIVATE, "Activate"),
    (RANDOM, "Random"),
];
const LOCKING_METHODS: [(Uid, &str); 8] = [
    (NEXT, "Next"),
    (GET_ACL, "GetACL"),
    (GEN_KEY, "GenKey"),
    (REVERT_SP, "RevertSP"),
    (GET, "Get"),
    (SET, "Set"),
    (AUTHENTICATE, "Authenticate"),
    (RANDOM, "Random"),
];

#[must_use]
pub fn methods(sp: Sp) -> &'static [(Uid, &'static str)] {
    match sp {
        Sp::Admin => &ADMIN_METHODS,
        Sp::Locking => &LOCKING_METHODS,
    }
}

/// `table`, of the global range or of another.
#[must_use]
pub fn range_name(table: &str, range: u32) -> String {
    if range == 0 { format!("{table}_GlobalRange") } else { format!("{table}_Range{range}") }
}
