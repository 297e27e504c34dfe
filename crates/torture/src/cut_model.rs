//! What power cuts may do, told apart from how they are drawn.

/// What a power cut may do to a drive, as its file says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    /// Data at rest may be destroyed: so many pages at most by each cut.
    pub(crate) may_destroy: bool,
    pub(crate) most_destroyed: u64,
    /// The capacitors keep all that was answered.
    pub(crate) keeps_all: bool,
}
