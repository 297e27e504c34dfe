//! What firmware does for older pages of a word line, where a cut in a program would destroy them: one file a policy.

mod copies;
mod padding;
mod parity;

pub use copies::{BLOCKS_OF_A_DIE, CopyArea};
pub use padding::Padding;
pub use parity::{Parity, blocks_for_parity};
