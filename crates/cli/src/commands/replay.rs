//! `ssdlab replay`: a block trace on a drive.

use crate::args::ReplayArgs;
use crate::failure::Failure;

pub fn run(args: &ReplayArgs) -> Result<(), Failure> {
    Err(Failure::run(format!("{}: traces cannot be replayed yet", args.trace.display())))
}
