//! Where logical pages live.
mod spec;
pub use spec::{
    Buffering, Frontier, GcSpec, HostShare, MappingSpec, SuperblockSpan, TieBreak, VictimPolicy,
    WearLevellingSpec,
};
