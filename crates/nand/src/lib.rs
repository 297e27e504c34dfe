//! The medium.
mod spec;
pub use spec::{Bus, DieSpec, Geometry, PageKind, PageOrder, SpecError, Timing, Wear};
