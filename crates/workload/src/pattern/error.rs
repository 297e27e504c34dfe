//! What can be wrong with a description of a pattern.

use thiserror::Error;

/// Why a [`super::Pattern`] cannot be built. The message says what would be right.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PatternError {
    #[error("{what} is {value} bytes; it must be a multiple of 512 greater than zero")]
    NotSectors { what: &'static str, value: u64 },
    #[error("{what} is {value} bytes; it must be a multiple of 512")]
    OffsetNotSectors { what: &'static str, value: u64 },
    #[error(
        "a block of {block} bytes does not fit into {what} of {span} bytes; make the span larger or the block smaller"
    )]
    TooSmall { what: &'static str, block: u64, span: u64 },
    #[error("the span from {start} bytes, {length} bytes long, reaches past 2^64 bytes")]
    Overflow { start: u64, length: u64 },
    #[error("a mix of block sizes needs at least one size with a weight above zero")]
    NoSizes,
    #[error("block sizes from {min} to {max} bytes: the smaller must come first")]
    SizesReversed { min: u64, max: u64 },
    #[error("{percent} % reads; it must be 0 to 100")]
    Percent { percent: u32 },
    #[error(
        "touching every block exactly once needs reads and writes of the same smallest size, aligned to it; use a plain uniform \
         distribution"
    )]
    OnceNeedsOneSize,
    #[error(
        "a random map of {blocks} blocks; it must have {most} at most: use larger blocks, or a uniform distribution"
    )]
    MapTooLarge { blocks: u64, most: u64 },
    #[error("zipf theta is {theta}; it must be greater than 0 and not 1")]
    ZipfTheta { theta: f64 },
    #[error("pareto h is {h}; it must lie between 0 and 1, both excluded")]
    ParetoH { h: f64 },
    #[error("the centre of the distribution is {center}; it must be 0 to 1")]
    Center { center: f64 },
    #[error("the zones receive {sum} % of the accesses; it must be 100")]
    ZoneAccess { sum: u64 },
    #[error("the zones cover {sum} % of the span; it must be 100 at most")]
    ZoneExtent { sum: u64 },
    #[error("zone {zone} ends at {end} bytes, beyond the span of {span} bytes")]
    ZoneBeyond { zone: usize, end: u64, span: u64 },
}
