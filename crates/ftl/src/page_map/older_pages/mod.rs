//! What firmware does for older pages of a word line, where a cut in a program would destroy them: one file a policy.

mod copies;
mod padding;
mod parity;

/// Pages between the first and the last of a word line at most, in any order of pages.
const WIDEST: usize = 16;

pub use copies::{BLOCKS_OF_A_DIE, CopyArea};
pub use padding::Padding;
pub use parity::{Parity, blocks_for_parity};
