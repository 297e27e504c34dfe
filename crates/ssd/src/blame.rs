//! Whose fault a wait is.

use ssdlab_core::Cause;
use ssdlab_ftl::OpKind;

/// Whose time an operation is, seen by somebody who waits for the die.
#[inline]
#[must_use]
pub fn cause_of(kind: OpKind) -> Cause {
    match kind {
        OpKind::HostRead | OpKind::MergeRead => Cause::Read,
        // A program over older pages takes their copies first.
        OpKind::HostProgram | OpKind::SafetyRead | OpKind::SafetyProgram => Cause::Program,
        OpKind::GcRead | OpKind::GcProgram | OpKind::RetireRead | OpKind::RetireProgram => Cause::GarbageCollection,
        OpKind::FoldRead | OpKind::FoldProgram | OpKind::FoldCopy => Cause::Fold,
        OpKind::CopyRead | OpKind::CopyProgram => Cause::Merge,
        OpKind::MapRead | OpKind::MetadataProgram => Cause::Metadata,
        OpKind::Erase => Cause::Erase,
    }
}
