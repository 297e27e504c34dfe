//! What a method answers (Core Specification 2.01, section 5.1.5).

/// See the module's own page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    NotAuthorized = 0x01,
    NoSessionsAvailable = 0x07,
    InsufficientSpace = 0x09,
    InvalidParameter = 0x0c,
    ResponseOverflow = 0x11,
    AuthorityLockedOut = 0x12,
    Fail = 0x3f,
}
pub const SUCCESS: u64 = 0;
